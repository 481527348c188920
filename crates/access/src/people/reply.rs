//! Responses with HTML pages for members. Their headers forbid caching, framing, and content of
//! other hosts.

use std::sync::LazyLock;

use axum::response::Response;
use engine::error::Result;
use engine::pipeline::Service;
use http::HeaderValue;
use http::header::{CONTENT_LANGUAGE, VARY};

use super::addresses::{SIGN_IN, address, with_return_path};
use super::frame::STYLE_HASH;
use super::settings;
use vestibule_http::browser::{self, FormTargets, Policy, Referrer};

pub(super) use vestibule_http::browser::{rendered, with_cookies};

/// A function that returns the site to which a page of this service redirects, as a source for the
/// directive `form-action` of a content security policy. Its argument is the path of the page.
/// Returns `None` if the page does not redirect to another site. A module registers such a function
/// for its pages.
///
/// A sign-in form can lead to such a page. Browsers check every redirect after a form against the
/// policy, so the policy of the sign-in form must allow the other site.
pub(crate) struct FormRedirects(pub(crate) fn(&str) -> Option<String>);

/// Returns the sites to which the page at this path can redirect. A form that leads to this page
/// needs them as sources in the content security policy.
pub(super) fn form_redirect_sources(service: &Service, path: &str) -> Vec<String> {
    service
        .app_state
        .lists
        .all::<FormRedirects>()
        .iter()
        .filter_map(|FormRedirects(source_of)| source_of(path))
        .collect()
}

/// The content security policy of the pages. It permits no script, and only the page's own style
/// sheet. The referrer policy forbids sending a page's address to other hosts as a referrer,
/// because the address may contain a ticket.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let loads = format!("style-src '{}'; img-src 'self'", *STYLE_HASH);
    Policy::new(loads, Referrer::ThisService)
});

/// Returns a page. If the page cannot be rendered, returns an empty response with status 500. Forms
/// of the page may lead to this service and to the sites in `form_action`.
#[must_use]
pub fn page(status: u16, html: Result<String>, language: &str, form_action: &[String]) -> Response {
    let forms = FormTargets::Here(form_action.to_vec());
    page_with_policy(&POLICY.clone().with_forms(forms), status, html, language)
}

/// Returns a page whose form may redirect to any address, for example to the address of an OAuth
/// app.
#[must_use]
pub fn page_with_external_form(status: u16, html: Result<String>, language: &str) -> Response {
    page_with_policy(
        &POLICY.clone().with_forms(FormTargets::Anywhere),
        status,
        html,
        language,
    )
}

/// Returns a page with the given content security policy instead of the default one.
#[must_use]
pub fn page_with_policy(
    policy: &Policy,
    status: u16,
    html: Result<String>,
    language: &str,
) -> Response {
    let mut response = browser::page(policy, status, html, String::new);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-language, cookie"));
    if let Ok(language) = HeaderValue::from_str(language) {
        headers.insert(CONTENT_LANGUAGE, language);
    }
    response
}

/// Returns a redirect to another address. The browser requests that address with GET.
#[must_use]
pub fn redirect(address: &str) -> Response {
    browser::redirect(address, Referrer::ThisService)
}

/// Redirects to the sign-in page of this service, or to the page that the flag `--sign-in-url`
/// names. After the sign-in, the browser returns to `return_to`, a path of this service with its
/// query. Omits an invalid return path.
#[must_use]
pub fn redirect_to_sign_in(service: &Service, return_to: &str) -> Response {
    let external_url = settings::external_sign_in_url(service, Some(return_to));
    redirect(
        &external_url
            .unwrap_or_else(|| address(service, &with_return_path(SIGN_IN, Some(return_to)))),
    )
}
