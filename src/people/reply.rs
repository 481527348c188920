//! Answers with pages for members: not cached, not framed, and without content from elsewhere.

use std::sync::LazyLock;

use axum::response::Response;
use engine::error::Result;
use engine::pipeline::Service;
use http::HeaderValue;
use http::header::{CONTENT_LANGUAGE, VARY};

use super::addresses::{SIGN_IN, address, returning};
use super::frame::STYLE_HASH;
use super::settings;
use vestibule_http::browser::{self, FormTargets, Policy, Referrer};

pub(super) use vestibule_http::browser::{rendered, with_cookies};

/// Returns the source, for a content security policy, to which another module's page at a path may
/// redirect by itself. That module registers the function. A sign-in form may lead back to such a
/// page, and browsers check every redirect of a form against the policy.
pub(crate) struct FormRedirects(pub(crate) fn(&str) -> Option<String>);

/// Returns the sources to which a form may redirect if it leads to this path.
pub(super) fn leads_on(service: &Service, path: &str) -> Vec<String> {
    service
        .app_state
        .lists
        .all::<FormRedirects>()
        .iter()
        .filter_map(|FormRedirects(there)| there(path))
        .collect()
}

/// The `Content-Security-Policy` of pages permits no script, and only the page's own style. No
/// other host gets the address of a page as a referrer, because the address may contain a ticket.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let loads = format!("style-src '{}'; img-src 'self'", *STYLE_HASH);
    Policy::new(loads, Referrer::ThisService)
});

/// Returns a page. A page that fails to render is an empty 500. Its forms may lead to this service
/// and to `form_action`, a list of policy sources.
#[must_use]
pub fn page(status: u16, html: Result<String>, language: &str, form_action: &[String]) -> Response {
    let forms = FormTargets::Here(form_action.to_vec());
    page_under(&POLICY.clone().with_forms(forms), status, html, language)
}

/// Returns a page whose form redirects to an address outside of this service. The form's own
/// address is written by this server.
#[must_use]
pub fn page_leading_anywhere(status: u16, html: Result<String>, language: &str) -> Response {
    page_under(
        &POLICY.clone().with_forms(FormTargets::Anywhere),
        status,
        html,
        language,
    )
}

/// Returns a page with its own policy.
#[must_use]
pub fn page_under(policy: &Policy, status: u16, html: Result<String>, language: &str) -> Response {
    let mut response = browser::page(policy, status, html, String::new);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-language, cookie"));
    if let Ok(language) = HeaderValue::from_str(language) {
        headers.insert(CONTENT_LANGUAGE, language);
    }
    response
}

/// Redirects to another address by GET.
#[must_use]
pub fn redirect(address: &str) -> Response {
    browser::redirect(address, Referrer::ThisService)
}

/// Redirects to the sign-in, which leads back to a path of this service with its query. The sign-in
/// is at `/sign-in` or at `--sign-in-url`. An invalid return path is left out.
#[must_use]
pub fn sign_in_first(service: &Service, return_to: &str) -> Response {
    let elsewhere = settings::elsewhere(service, Some(return_to));
    redirect(&elsewhere.unwrap_or_else(|| address(service, &returning(SIGN_IN, Some(return_to)))))
}
