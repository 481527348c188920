//! What was typed into a form that is not dealt with: because its session has ended in between, or because that is not possible at the
//! moment.
//!
//! It is carried through: the page that says so has it in hidden fields, and a button that sends it again. Where the session has ended
//! that is once the person has signed in, in whatever way and window; then the form is shown as it was typed, with nothing changed yet. So
//! nothing is stored of somebody who is not signed in, and it is as large as a form may be.

use askama::Template;
use axum::response::Response;
use engine::pipeline::Service;
use http::header::{ORIGIN, RETRY_AFTER};
use http::{HeaderMap, HeaderName};
use url::Url;

use super::refusal::Refusal;
use super::visit::Fields;
use super::words::{self, Words};
use super::{frame, reply};
use crate::people;

/// By what a browser says whose page asks (Fetch Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The field by which a form says that it was kept.
const KEPT: &str = "kept";

/// Whether a form says that it was kept.
pub fn is_kept(fields: &Fields) -> bool {
    fields.iter().any(|(name, _)| name == KEPT)
}

/// Whether a form comes from a page of this service, as far as the browser says: whoever typed, typed here.
pub fn is_from_here(service: &Service, headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    if let (Some(site), None) = (sites.next(), sites.next()) {
        return site == "same-origin";
    }
    let own = Url::parse(&service.kit.public_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let mut origins = headers.get_all(ORIGIN).iter();
    matches!((origins.next(), origins.next()), (Some(origin), None) if origin.as_bytes() == own.as_bytes())
}

#[derive(Template)]
#[template(path = "console/kept.html")]
struct Kept<'k> {
    frame: frame::Bare,
    words: &'static Words,
    /// Where the form was sent.
    action: String,
    /// Where somebody signs in whose session has ended.
    sign_in: Option<String>,
    fields: Vec<&'k (String, String)>,
}

/// The page that says that the session has ended, and has what was typed.
pub fn page(service: &Service, headers: &HeaderMap, asked_for: &str, fields: &Fields) -> Response {
    let language = people::language(service, headers);
    let words = words::of(language);
    let page = Kept {
        frame: frame::Bare::new(language, words.frame.session_ended),
        words,
        action: people::address(service, asked_for),
        sign_in: Some(people::address(service, "/sign-in")),
        // The token was that of the session that has ended.
        fields: fields.iter().filter(|(name, _)| name != "form" && name != KEPT).collect(),
    };
    reply::page(401, reply::rendered(&page), language)
}

/// Whether a form that was refused so may well be dealt with in a moment, just as it is.
pub const fn is_for_a_moment(refusal: &Refusal) -> bool {
    matches!(refusal.status, 429 | 500..)
}

/// The page that says that a form cannot be dealt with at the moment, and has it just as it was sent.
pub fn again(service: &Service, headers: &HeaderMap, asked_for: &str, fields: &Fields, refusal: &Refusal) -> Response {
    let language = people::language(service, headers);
    let words = words::of(language);
    let page = Kept {
        frame: frame::Bare::new(language, frame::notice(refusal, words).0),
        words,
        action: people::address(service, asked_for),
        sign_in: None,
        fields: fields.iter().collect(),
    };
    let mut response = reply::page(refusal.status, reply::rendered(&page), language);
    if let Some(seconds) = refusal.retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_says_that_it_was_kept() {
        assert!(is_kept(&vec![("name".into(), String::new()), ("kept".into(), String::new())]));
        assert!(!is_kept(&vec![("name".into(), "kept".into())]));
    }
}
