//! How these endpoints answer programs: as JSON, to browsers of every origin where a program in a browser asks.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL, CONTENT_TYPE, PRAGMA, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;

/// A JSON answer that is kept by nobody, as those are that hold secrets (RFC 6749, section 5.1).
pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    kept_by_nobody(written(status, body))
}

/// A JSON answer that says the same to everybody for a while.
pub(super) fn document(body: &impl Serialize) -> Response {
    let mut response = written(StatusCode::OK, body);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    open(response)
}

fn written(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_string(body) {
        Ok(text) => (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer is not written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// An answer that nobody in between keeps.
pub(super) fn kept_by_nobody(mut response: Response) -> Response {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
    open(response)
}

/// An answer that a program in a browser may read, wherever it comes from: who asks shows who they are by what they send, and the
/// browser sends nothing by itself.
fn open(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("www-authenticate, retry-after, x-request-id"));
    response
}

/// What a browser asks before it lets a program ask.
pub(super) async fn preflight() -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
    // `*` does not stand for this one (Fetch, section 4.9).
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*, authorization"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    (StatusCode::NO_CONTENT, headers, Body::empty()).into_response()
}
