//! What was typed into a form whose session has ended in between.
//!
//! It is carried through: the page that says so has it in hidden fields, and a button that sends it again once the person has signed in,
//! in whatever way and window. Then the form is shown as it was typed, with nothing changed yet. So nothing is stored of somebody who is
//! not signed in, and it is as large as a form may be.

use askama::Template;
use axum::response::Response;
use engine::pipeline::Service;
use http::header::ORIGIN;
use http::{HeaderMap, HeaderName};
use url::Url;

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
    sign_in: String,
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
        sign_in: people::address(service, "/sign-in"),
        // The token was that of the session that has ended.
        fields: fields.iter().filter(|(name, _)| name != "form" && name != KEPT).collect(),
    };
    reply::page(401, reply::rendered(&page), language)
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
