//! Builds the HTTP responses of the guest's page. Their headers forbid caches to store the
//! responses, and forbid browsers to send the page's address as referrer.

use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use engine::error::Result;
use http::header::{CONTENT_ENCODING, VARY};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::frame::{FILES_SCRIPT_HASH, SCRIPT_HASH};
use super::missing_page;
use super::page_cache::CachedPage;
use super::page_stay::PageStay;
use vestibule_http::browser::{self, HTML, Policy, Referrer};

pub use vestibule_http::browser::retriable;

const SERVICE_WORKER_ALLOWED: HeaderName = HeaderName::from_static("service-worker-allowed");

/// The content security policy of pages. It allows images, the web manifest and the service worker.
/// It allows no scripts except the page's own.
static PAGE: LazyLock<Policy> = LazyLock::new(|| {
    let loads = format!(
        "style-src 'unsafe-inline'; script-src '{}' '{}'; worker-src 'self'; manifest-src 'self'; \
            connect-src 'self'; img-src http: https: data:",
        *SCRIPT_HASH, *FILES_SCRIPT_HASH
    );
    Policy::new(loads, Referrer::Nobody)
});

/// The content security policy of pages that other pages of this service may show in a frame.
static FRAMED_PAGE: LazyLock<Policy> = LazyLock::new(|| PAGE.clone().framed());

/// The content security policy of downloaded files. It forbids a file to run scripts or to load
/// anything.
static FILE: LazyLock<Policy> = LazyLock::new(|| Policy::new("", Referrer::Nobody));

/// The content security policy of the service worker. It allows the worker to fetch the page and
/// its images.
static WORKER: LazyLock<Policy> =
    LazyLock::new(|| Policy::new("connect-src 'self' http: https:", Referrer::Nobody));

/// Responds with a page, or with a 500 page if rendering failed.
pub fn page(status: u16, html: Result<String>, tag: &str) -> Response {
    under(&PAGE, status, html, tag)
}

/// Responds with a page of a stay. If the page is a preview, pages of this service may show it in a
/// frame. That is safe because the forms of a preview cannot be sent.
pub fn page_of_stay(page_stay: &PageStay, status: u16, html: Result<String>) -> Response {
    let policy = if page_stay.view.preview.is_some() {
        &FRAMED_PAGE
    } else {
        &PAGE
    };
    under(policy, status, html, page_stay.language)
}

/// Responds with a page that other pages of this service may show in a frame.
pub fn framed_page(status: u16, html: Result<String>, tag: &str) -> Response {
    under(&FRAMED_PAGE, status, html, tag)
}

fn under(policy: &Policy, status: u16, html: Result<String>, tag: &str) -> Response {
    browser::page(policy, status, html, || {
        missing_page::error_page(500, tag).unwrap_or_default()
    })
}

/// Responds with a cached page. Compresses it if the browser accepts that.
pub async fn cached_page(page: &CachedPage, headers: &HeaderMap) -> Response {
    let (html, coding) = page.html().for_client(headers).await;
    let mut response = browser::file(&PAGE, HTML, html);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

/// Responds with a file of this media type.
pub fn file(content_type: &'static str, body: impl Into<Body>) -> Response {
    browser::file(&FILE, content_type, body)
}

/// Responds with the service worker. The worker handles requests below the path `scope`.
pub fn worker(script: String, scope: &str) -> Response {
    let mut response = browser::file(&WORKER, "text/javascript; charset=utf-8", script);
    if let Ok(scope) = HeaderValue::from_str(scope) {
        response.headers_mut().insert(SERVICE_WORKER_ALLOWED, scope);
    }
    response
}

/// Redirects the browser to the URL or path `address`, which the browser then requests with GET.
pub fn redirect(address: &str) -> Response {
    browser::redirect(address, Referrer::Nobody)
}
