//! JSON responses of the OAuth endpoints. Their headers allow scripts of any origin to read them.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL, CONTENT_TYPE, PRAGMA,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;
use vestibule_http::surface::EXPOSED_HEADERS;

/// Returns a JSON response that must not be cached, because it may contain secrets (RFC 6749,
/// section 5.1).
pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    without_caching(json_response(status, body))
}

/// Returns a public JSON document that may be cached for five minutes.
pub(super) fn document(body: &impl Serialize) -> Response {
    let mut response = json_response(StatusCode::OK, body);
    response.headers_mut().insert(
        CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=300"),
    );
    allow_any_origin(response)
}

fn json_response(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_string(body) {
        Ok(text) => (
            status,
            [(CONTENT_TYPE, HeaderValue::from_static("application/json"))],
            text,
        )
            .into_response(),
        Err(error) => {
            tracing::error!(%error, "could not serialize an answer; answered 500");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Adds the headers that forbid caching.
pub(super) fn without_caching(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
        .headers_mut()
        .insert(PRAGMA, HeaderValue::from_static("no-cache"));
    allow_any_origin(response)
}

/// Adds the headers that allow scripts of any origin to read the response. This is safe: a script
/// must put the credentials into its request, because the browser does not add any.
fn allow_any_origin(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    let names = EXPOSED_HEADERS.map(|name| name.as_str().to_owned());
    if let Ok(names) = HeaderValue::from_str(&names.join(", ")) {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, names);
    }
    response
}

/// Responds to a CORS preflight request, which a browser sends before a script's request.
pub(super) async fn preflight() -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, OPTIONS"),
    );
    // The value `*` does not include the header `Authorization` (Fetch, section 4.9).
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("*, authorization"),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    (StatusCode::NO_CONTENT, headers, Body::empty()).into_response()
}
