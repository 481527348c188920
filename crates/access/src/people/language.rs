//! The language of pages for members: the language that the member chose in this browser, else the
//! browser's preferred language. The choice is stored in a cookie; members have no language
//! setting.

use axum::response::Response;
use engine::format;
use engine::language::LanguageReader;
use engine::pipeline::Service;
use http::HeaderMap;
use texts::sign_in::{self, SignInWords};
use vestibule_http::browser::accepted_languages;

use super::cookie::Cookie;
use super::reply::with_cookies;

/// Lifetime of the language cookie in seconds: a year.
const COOKIE_SECONDS: u64 = 365 * 24 * 3_600;

/// Returns the language of the pages for members. The member's choice in this browser comes first,
/// then the browser's preferred language among those of the sign-in pages (RFC 9110, 12.5.4). The
/// default is English.
#[must_use]
pub fn language(service: &Service, headers: &HeaderMap) -> &'static str {
    let chosen = Cookie::Language
        .read(service, headers)
        .and_then(|tag| supported(&tag));
    chosen
        .or_else(|| preferred(&accepted_languages(headers)))
        .unwrap_or(format::ENGLISH)
}

/// Adds a cookie to the response that stores the language `tag` in the browser. Adds no cookie for
/// an unsupported language.
#[must_use]
pub fn with_language(response: Response, service: &Service, tag: &str) -> Response {
    let cookie =
        supported(tag).and_then(|language| Cookie::Language.set(service, language, COOKIE_SECONDS));
    with_cookies(response, cookie)
}

/// Returns the texts of the sign-in pages, in the language of the browser that sent the request.
pub(super) fn words(service: &Service, headers: &HeaderMap) -> &'static SignInWords {
    sign_in::table(language(service, headers))
}

fn supported(tag: &str) -> Option<&'static str> {
    sign_in::LANGUAGES
        .into_iter()
        .find(|language| *language == tag)
}

/// Returns the first of the browser's accepted languages in which the sign-in pages have texts.
fn preferred(accepted: &[String]) -> Option<&'static str> {
    accepted
        .iter()
        .find_map(|tag| LanguageReader::of(tag).exact_match(sign_in::LANGUAGES))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::ACCEPT_LANGUAGE;
    use proptest::prelude::*;

    use super::*;

    fn preferred_of(header: &str) -> Option<&'static str> {
        let header = HeaderValue::from_bytes(header.as_bytes()).ok();
        let headers = header.map(|header| (ACCEPT_LANGUAGE, header));
        preferred(&accepted_languages(&headers.into_iter().collect()))
    }

    #[test]
    fn the_preferred_supported_language_is_chosen() {
        for (header, expected) in [
            ("", None),
            ("de, it;q=0.9", None),
            ("de, es;q=0.5, fr-CA;q=0.7", Some("fr")),
            ("es-419, fr", Some("es")),
            ("en-GB,en;q=0.9,es;q=0.8", Some("en")),
            ("es;q=0, *", None),
            ("fr;q=2, es;q=x", None),
        ] {
            assert_eq!(preferred_of(header), expected, "{header}");
        }
    }

    proptest! {
        #[test]
        fn parsing_accept_language_never_panics(header in ".{0,200}") {
            preferred_of(&header);
        }
    }
}
