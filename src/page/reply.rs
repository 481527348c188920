//! How the page answers: always as HTML, never kept by anybody in between, and telling nobody where it was.

use std::sync::LazyLock;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use engine::error::Result;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::frame::SCRIPT_HASH;
use super::memory::Page;
use super::notice;

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
const SERVICE_WORKER_ALLOWED: HeaderName = HeaderName::from_static("service-worker-allowed");

/// The page loads pictures and what keeps it offline; its forms go to where it came from; its one script is its own.
static PAGE_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src '{}'; worker-src 'self'; manifest-src 'self'; connect-src 'self'; \
         img-src http: https: data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        *SCRIPT_HASH
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// What is no page runs nothing.
const FILE_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";
/// The worker asks for the page again, and for its pictures.
const WORKER_POLICY: &str = "default-src 'none'; connect-src 'self' http: https:";

/// Nothing of the device is asked for.
const PERMISSIONS: &str = "accelerometer=(), autoplay=(), bluetooth=(), camera=(), display-capture=(), encrypted-media=(), fullscreen=(), \
     geolocation=(), gyroscope=(), hid=(), magnetometer=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(), serial=(), \
     usb=(), xr-spatial-tracking=()";

/// A page; one that does not render is one that is not to be had.
pub fn page(status: u16, html: Result<String>, tag: &str) -> Response {
    let (status, html) = match html {
        Ok(html) => (status, html),
        Err(error) => {
            tracing::error!(cause = error.cause(), "a page did not render");
            (500, notice::instead(500, tag).unwrap_or_default())
        }
    };
    let mut response = kept_to_the_guest("text/html; charset=utf-8", PAGE_POLICY.clone(), Body::from(html));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

/// A page that was kept, as a browser takes it.
pub async fn kept(page: &Page, headers: &HeaderMap) -> Response {
    let (html, coding) = page.html().for_client(headers).await;
    let mut response = kept_to_the_guest("text/html; charset=utf-8", PAGE_POLICY.clone(), Body::from(html));
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(coding) = coding {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

/// A page that pages of this service may show in a frame: a preview, which does nothing.
pub fn in_our_frames(response: &mut Response) {
    let Some(policy) = response.headers().get(CONTENT_SECURITY_POLICY).and_then(|policy| policy.to_str().ok()) else { return };
    if let Ok(policy) = HeaderValue::from_str(&policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'")) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
}

/// What is no page, of this type.
pub fn file(content_type: &'static str, body: impl Into<Body>) -> Response {
    kept_to_the_guest(content_type, HeaderValue::from_static(FILE_POLICY), body.into())
}

/// The worker, which works below this path.
pub fn worker(script: String, scope: &str) -> Response {
    let policy = HeaderValue::from_static(WORKER_POLICY);
    let mut response = kept_to_the_guest("text/javascript; charset=utf-8", policy, Body::from(script));
    if let Ok(scope) = HeaderValue::from_str(scope) {
        response.headers_mut().insert(SERVICE_WORKER_ALLOWED, scope);
    }
    response
}

/// To another address, by GET: going back or loading it again sends no form twice.
pub fn redirect(address: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let headers = [
        (LOCATION, location),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_ROBOTS_TAG, HeaderValue::from_static("noindex")),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// An answer that says when to try again, where there is something to say.
pub fn retriable(mut response: Response, retry_after: Option<u64>) -> Response {
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

fn kept_to_the_guest(content_type: &'static str, policy: HeaderValue, body: Body) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_ROBOTS_TAG, HeaderValue::from_static("noindex")),
        (PERMISSIONS_POLICY, HeaderValue::from_static(PERMISSIONS)),
    ];
    (headers, body).into_response()
}
