//! Returns the values of a form that could not be handled because its session had ended or because
//! of a temporary problem.
//!
//! The response contains the values in hidden fields, and a button that sends them again. If the
//! session has ended, the member signs in first, in any browser window. The form is then shown with
//! the typed values and changes nothing until the member sends it. The server stores nothing for a
//! visitor without a session. The size of the form is limited like that of any form.

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
use crate::people;

/// The header in which a browser says whether a request comes from the same site (Fetch Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The hidden field of a form that the server kept while the member signed in again.
const KEPT: &str = "kept";

/// Returns whether the server kept the form while the member signed in again.
pub fn is_returned(fields: &ConsoleFields) -> bool {
    fields.iter().any(|(name, _)| name == KEPT)
}

/// Returns whether a form was sent by a page of this service, according to the browser's headers.
pub fn is_same_origin(service: &Service, headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    if let (Some(site), None) = (sites.next(), sites.next()) {
        return site == "same-origin";
    }
    let own = Url::parse(&service.app_state.public_url)
        .map(|url| url.origin().ascii_serialization())
        .unwrap_or_default();
    let mut origins = headers.get_all(ORIGIN).iter();
    matches!((origins.next(), origins.next()), (Some(origin), None) if origin.as_bytes() == own.as_bytes())
}

#[derive(Template)]
#[template(path = "console/kept.html")]
struct SavedPage<'k> {
    frame: frame::Bare,
    words: &'static ConsoleWords,
    /// The address that handles the form.
    action: String,
    /// The address of the sign-in page. `None` if the session has not ended.
    sign_in: Option<String>,
    fields: Vec<&'k (String, String)>,
}

/// Returns the page that says that the session has ended and contains the typed values.
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
        // The token of the form belongs to the ended session, so it is omitted.
        fields: fields
            .iter()
            .filter(|(name, _)| name != "form" && name != KEPT)
            .collect(),
    };
    reply::page(401, reply::rendered(&page), language)
}

/// Returns whether the reason for a refusal is temporary, so that the same form can succeed later.
pub const fn is_temporary(refusal: &ConsoleRefusal) -> bool {
    matches!(refusal.status, 429 | 500..)
}

/// Returns the page that reports a temporary problem and contains the form as it was sent.
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
