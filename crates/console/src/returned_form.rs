//! Returns a submitted form to the member if the console could not handle it, because the member's
//! session had ended or because of a temporary problem.
//!
//! The response contains the values in hidden fields, and a button that sends them again. If the
//! session has ended, the member signs in first, in any browser window. The console then shows the
//! form with the typed values. Nothing changes until the member sends the form once more. The
//! server stores nothing for a visitor without a session. It returns only a small form to such a
//! visitor ([`super::routes`] has the limits).

use access::people;
use askama::Template;
use axum::response::Response;
use engine::pipeline::Service;
use http::header::ORIGIN;
use http::{HeaderMap, HeaderName};
use url::Url;
use vestibule_http::browser;

use super::refusal::ConsoleRefusal;
use super::request::ConsoleFields;
use super::words::{self, ConsoleWords};
use super::{frame, reply};

/// The header in which a browser says whether a request comes from the same site (Fetch Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The hidden field that marks a form which was returned because its session had ended.
const KEPT: &str = "kept";

/// Returns whether the submitted form is one that the console returned to the member after the
/// member's session had ended.
pub fn is_returned(fields: &ConsoleFields) -> bool {
    fields.iter().any(|(name, _)| name == KEPT)
}

/// Returns whether a page of this service sent a form, according to the browser's headers.
pub fn is_same_origin(service: &Service, headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    if let (Some(site), None) = (sites.next(), sites.next()) {
        return site == "same-origin";
    }
    let own = Url::parse(&service.app_state.public_url)
        .map(|url| url.origin().ascii_serialization())
        .unwrap_or_default();
    let mut origins = headers.get_all(ORIGIN).iter();
    matches!(
        (origins.next(), origins.next()),
        (Some(origin), None) if origin.as_bytes() == own.as_bytes()
    )
}

#[derive(Template)]
#[template(path = "kept.html")]
struct SavedPage<'k> {
    frame: frame::Bare,
    words: &'static ConsoleWords,
    /// The address to which the form is sent again.
    action: String,
    /// The address of the sign-in page. `None` if the session is still valid.
    sign_in: Option<String>,
    fields: Vec<&'k (String, String)>,
}

/// Returns the page that says that the session has ended. The page contains the typed values.
pub fn page(
    service: &Service,
    headers: &HeaderMap,
    path: &str,
    fields: &ConsoleFields,
) -> Response {
    let language = people::language(service, headers);
    let words = words::of(language);
    let page = SavedPage {
        frame: frame::Bare::new(language, words.frame.session_ended),
        words,
        action: people::address(service, path),
        sign_in: Some(people::address(service, "/sign-in")),
        // The submitted form contains the form token of the session that has ended. The page omits
        // that token.
        fields: fields
            .iter()
            .filter(|(name, _)| name != "form" && name != KEPT)
            .collect(),
    };
    reply::page(401, reply::rendered(&page), language)
}

/// Returns whether the reason for a refusal is temporary. The same form can then succeed later.
pub const fn is_temporary(refusal: &ConsoleRefusal) -> bool {
    matches!(refusal.status, 429 | 500..)
}

/// Returns the page that reports a temporary problem. The page contains the form as the member sent
/// it.
pub fn again(
    service: &Service,
    headers: &HeaderMap,
    path: &str,
    fields: &ConsoleFields,
    refusal: &ConsoleRefusal,
) -> Response {
    let language = people::language(service, headers);
    let words = words::of(language);
    let page = SavedPage {
        frame: frame::Bare::new(language, frame::heading_and_text(refusal, words).0),
        words,
        action: people::address(service, path),
        sign_in: None,
        fields: fields.iter().collect(),
    };
    let response = reply::page(refusal.status, reply::rendered(&page), language);
    browser::retriable(response, refusal.retry_after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returned_form_is_marked_by_a_field() {
        assert!(is_returned(&vec![
            ("name".into(), String::new()),
            ("kept".into(), String::new())
        ]));
        assert!(!is_returned(&vec![("name".into(), "kept".into())]));
    }
}
