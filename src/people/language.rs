//! The language that pages for members are in: members have none of their own, so the one chosen in the browser, or else the browser's.

use axum::response::Response;
use engine::format;
use engine::pipeline::Service;
use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;

use super::cookie::Cookie;
use super::reply::with_cookies;
use super::words::{self, Words};

/// Tags of an `Accept-Language` header that are looked at, at the most.
const MOST_TAGS: usize = 16;
/// How long a choice is kept, in seconds: a year.
const CHOICE_LASTS: u64 = 365 * 24 * 3_600;

/// The language a browser is spoken to in: the one that was chosen in it, else that of `en`, `es` and `fr` which it wants most (RFC 9110,
/// 12.5.4), else English.
#[must_use]
pub fn language(service: &Service, headers: &HeaderMap) -> &'static str {
    let header = headers.get(ACCEPT_LANGUAGE).and_then(|header| header.to_str().ok()).unwrap_or_default();
    let chosen = Cookie::Language.read(service, headers).and_then(|tag| known(&tag));
    chosen.or_else(|| wanted(header)).unwrap_or(format::ENGLISH)
}

/// Keeps a choice of language in the browser; of no other than those there are.
#[must_use]
pub fn with_language(response: Response, service: &Service, tag: &str) -> Response {
    let cookie = known(tag).and_then(|language| Cookie::Language.keep(service, language, CHOICE_LASTS));
    with_cookies(response, cookie)
}

/// The words of the language a browser is spoken to in.
pub(super) fn words(service: &Service, headers: &HeaderMap) -> &'static Words {
    words::of(language(service, headers))
}

fn known(tag: &str) -> Option<&'static str> {
    words::LANGUAGES.into_iter().find(|language| *language == tag)
}

fn wanted(header: &str) -> Option<&'static str> {
    let weighed = |item: &str| {
        let mut parts = item.split(';').map(str::trim);
        let tag = format::language(parts.next()?)?;
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |weight| weight.parse::<f32>().ok())?;
        let language = words::LANGUAGES.into_iter().find(|language| tag.split('-').next() == Some(language))?;
        (weight > 0.0 && weight <= 1.0).then_some((weight, language))
    };
    // Of those wanted as much as each other, the first.
    let best = |best: Option<(f32, &'static str)>, next: (f32, &'static str)| match best {
        Some((weight, _)) if weight >= next.0 => best,
        _ => Some(next),
    };
    header.split(',').take(MOST_TAGS).filter_map(weighed).fold(None, best).map(|(_, language)| language)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_most_wanted_language_of_ours_is_spoken() {
        for (header, expected) in [
            ("", None),
            ("de, it;q=0.9", None),
            ("de, es;q=0.5, fr-CA;q=0.7", Some("fr")),
            ("es-419, fr", Some("es")),
            ("en-GB,en;q=0.9,es;q=0.8", Some("en")),
            ("es;q=0, *", None),
            ("fr;q=2, es;q=x", None),
        ] {
            assert_eq!(wanted(header), expected, "{header}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_browser_sends_is_read(header in ".{0,200}") {
            wanted(&header);
        }
    }
}
