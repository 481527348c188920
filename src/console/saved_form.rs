//! Keeps the values of a form that could not be handled, because its session ended or because of a
//! temporary problem.
//!
//! The answer contains the values in hidden fields, and a button that sends them again. After the
//! end of a session, the person first signs in, in any way and any window. The form is then shown
//! as it was typed, and nothing is changed yet. Nothing is stored for a person who is not signed
//! in. The size is limited like that of any form.

use askama::Template;
use axum::response::Response;
use engine::pipeline::Service;
use http::header::ORIGIN;
use http::{HeaderMap, HeaderName};
use url::Url;
use vestibule_http::browser;

use super::refusal::ConsoleRefusal;
use super::visit::ConsoleFields;
use super::words::{self, ConsoleWords};
use super::{frame, reply};
use crate::people;

/// The header in which a browser states how the sending page is related to this service (Fetch
/// Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The field that marks a form as kept.
const KEPT: &str = "kept";

/// Returns whether a form is marked as kept.
pub fn is_kept(fields: &ConsoleFields) -> bool {
    fields.iter().any(|(name, _)| name == KEPT)
}

/// Returns whether a form comes from a page of this service, according to the browser's headers.
pub fn is_from_here(service: &Service, headers: &HeaderMap) -> bool {
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
    /// The address that the form was sent to.
    action: String,
    /// The address for signing in. `None` if the session has not ended.
    sign_in: Option<String>,
    fields: Vec<&'k (String, String)>,
}

/// Returns the page that reports the end of the session and contains the typed values.
pub fn page(
    service: &Service,
    headers: &HeaderMap,
    asked_for: &str,
    fields: &ConsoleFields,
) -> Response {
    let language = people::language(service, headers);
    let words = words::of(language);
    let page = SavedPage {
        frame: frame::Bare::new(language, words.frame.session_ended),
        words,
        action: people::address(service, asked_for),
        sign_in: Some(people::address(service, "/sign-in")),
        // The token belonged to the session that has ended.
        fields: fields
            .iter()
            .filter(|(name, _)| name != "form" && name != KEPT)
            .collect(),
    };
    reply::page(401, reply::rendered(&page), language)
}

/// Returns whether the same form may succeed a moment later.
pub const fn is_for_a_moment(refusal: &ConsoleRefusal) -> bool {
    matches!(refusal.status, 429 | 500..)
}

/// Returns the page that reports a temporary problem and contains the form exactly as it was sent.
pub fn again(
    service: &Service,
    headers: &HeaderMap,
    asked_for: &str,
    fields: &ConsoleFields,
    refusal: &ConsoleRefusal,
) -> Response {
    let language = people::language(service, headers);
    let words = words::of(language);
    let page = SavedPage {
        frame: frame::Bare::new(language, frame::notice(refusal, words).0),
        words,
        action: people::address(service, asked_for),
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
    fn a_kept_form_is_marked_by_a_field() {
        assert!(is_kept(&vec![
            ("name".into(), String::new()),
            ("kept".into(), String::new())
        ]));
        assert!(!is_kept(&vec![("name".into(), "kept".into())]));
    }
}
