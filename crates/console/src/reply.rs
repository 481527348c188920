//! The HTTP responses of the console: HTML pages with style, script and security headers, and
//! redirects.

use std::sync::LazyLock;

use access::people;
use askama::Template;
use axum::response::Response;
use engine::error::{Error, Result};
use engine::pipeline::Service;
use http::HeaderMap;
use uuid::Uuid;

use super::request::ConsoleRequest;
use super::words;
use super::{frame, refusal::ConsoleRefusal};
use vestibule_http::browser::{self, Policy, Referrer};

pub use vestibule_http::browser::rendered;

/// The style sheet of the console.
pub static STYLE: LazyLock<String> =
    LazyLock::new(|| include_str!("../templates/console.css").replace('\n', ""));

/// The script of the console. Every page also works without the script.
pub const SCRIPT: &str = include_str!("../templates/console.js");

/// The content security policy of pages. It allows the style and the script by their hashes. It
/// allows images from any host, because an organization can use any address for a cover or a logo.
/// It also allows frames with the guest page.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let loads = format!(
        "style-src '{}'; script-src '{}'; connect-src 'self'; frame-src 'self'; img-src 'self' \
            http: https: data:",
        browser::hash(&STYLE),
        browser::hash(SCRIPT)
    );
    Policy::new(loads, Referrer::ThisService)
});

/// The content security policy of pages that other pages of this service may show in a frame.
static FRAMED: LazyLock<Policy> = LazyLock::new(|| POLICY.clone().framed());

/// Responds with a page that has this HTML.
pub fn page(status: u16, html: Result<String>, language: &str) -> Response {
    people::page_with_policy(&POLICY, status, html, language)
}

/// Responds with the page that a template renders.
pub fn page_of_template(
    request: &ConsoleRequest,
    status: u16,
    template: &impl Template,
) -> Response {
    page(status, rendered(template), request.language)
}

/// Responds with the page that a template renders. Other pages of this service may show that page
/// in a frame.
pub fn framed(request: &ConsoleRequest, status: u16, template: &impl Template) -> Response {
    people::page_with_policy(&FRAMED, status, rendered(template), request.language)
}

/// Redirects to a path below the console. If the redirect follows a form, reloading the page does
/// not send the form again.
pub fn redirect(request: &ConsoleRequest, path: &str) -> Response {
    people::redirect(&request.address(path))
}

/// Redirects to a path below the console. The page there confirms the action that was completed.
pub fn redirect_with_confirmation(
    request: &ConsoleRequest,
    path: &str,
    done: frame::CompletedAction,
) -> Response {
    let address = request.address(path);
    let (address, place) = address.split_once('#').unwrap_or((&address, ""));
    let joint = if address.contains('?') { '&' } else { '?' };
    let place = if place.is_empty() {
        String::new()
    } else {
        format!("#{place}")
    };
    people::redirect(&format!("{address}{joint}done={}{place}", done.as_ref()))
}

/// Returns the page for an error that occurred before the caller was identified.
pub fn unavailable(service: &Service, headers: &HeaderMap, id: Uuid, error: &Error) -> Response {
    tracing::warn!(
        request_id = %id,
        cause = error.cause().unwrap_or_default(),
        "a console request failed because a service it needs is not available"
    );
    let language = people::language(service, headers);
    let refusal = ConsoleRefusal::from(error);
    page(
        refusal.status,
        rendered(&frame::ReplacementPage::new(
            language,
            &refusal,
            words::of(language),
        )),
        language,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every page contains the style and the script, so they must be small.
    #[test]
    fn console_style_and_script_are_small() {
        assert!(
            SCRIPT.len() <= 10 << 10 && STYLE.len() <= 16 << 10,
            "{} {}",
            SCRIPT.len(),
            STYLE.len()
        );
    }
}
