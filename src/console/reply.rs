//! How the console answers: as other pages for members, with a style and a script of its own.

use std::sync::LazyLock;

use askama::Template;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::error::{Error, Result};
use engine::pipeline::Service;
use http::header::{CONTENT_SECURITY_POLICY, X_FRAME_OPTIONS};
use http::{HeaderMap, HeaderValue};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::visit::Visit;
use super::words;
use super::{frame, refusal::Refusal};
use crate::people;

/// How the console looks.
pub static STYLE: LazyLock<String> = LazyLock::new(|| include_str!("../../templates/console/console.css").replace('\n', ""));

/// What makes it handier where scripts run. Nothing needs it.
pub const SCRIPT: &str = include_str!("../../templates/console/console.js");

/// Its own style and script, by their hashes; pictures from wherever covers and logos are; the guest's page in a frame.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; frame-src 'self'; img-src 'self' http: \
         https: data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
        hash(&STYLE),
        hash(SCRIPT)
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"))
});

/// What a template comes to.
pub fn rendered(template: &impl Template) -> Result<String> {
    template.render().map_err(Error::internal)
}

/// A page.
pub fn page(status: u16, html: Result<String>, language: &str) -> Response {
    people::page_under(POLICY.clone(), status, html, language)
}

/// A page of a template.
pub fn of(visit: &Visit, status: u16, template: &impl Template) -> Response {
    page(status, rendered(template), visit.language)
}

/// A page that stands in a frame of this service.
pub fn in_our_frames(mut response: Response) -> Response {
    let framed = POLICY.to_str().map(|policy| HeaderValue::from_str(&policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'")));
    if let Ok(Ok(framed)) = framed {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, framed);
        response.headers_mut().insert(X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
    }
    response
}

/// On to a path below the console, after a form: going back or loading it again sends nothing twice.
pub fn to(visit: &Visit, path: &str) -> Response {
    people::redirect(&visit.address(path))
}

/// On to a path below the console, where it is said what was done.
pub fn done(visit: &Visit, path: &str, done: frame::Done) -> Response {
    let address = visit.address(path);
    let (address, place) = address.split_once('#').unwrap_or((&address, ""));
    let joint = if address.contains('?') { '&' } else { '?' };
    let place = if place.is_empty() { String::new() } else { format!("#{place}") };
    people::redirect(&format!("{address}{joint}done={}{place}", done.as_ref()))
}

/// That nothing is to be had at the moment, where it is not even known who asks.
pub fn unavailable(service: &Service, headers: &HeaderMap, id: Uuid, error: &Error) -> Response {
    tracing::warn!(request_id = %id, cause = error.cause().unwrap_or_default(), "not available");
    let language = people::language(service, headers);
    let refusal = Refusal::from(error);
    page(refusal.status, rendered(&frame::Instead::new(language, &refusal, words::of(language))), language)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They come with every page.
    #[test]
    fn style_and_script_are_small() {
        assert!(SCRIPT.len() <= 10 << 10 && STYLE.len() <= 16 << 10, "{} {}", SCRIPT.len(), STYLE.len());
    }
}
