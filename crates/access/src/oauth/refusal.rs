//! Errors of the OAuth endpoints, and their log entries. The responses have the format of the OAuth
//! RFCs, which differs from the errors of the REST interface.

use axum::response::{IntoResponse as _, Response};
use engine::error::{Error, ErrorKind};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::json;
use strum::AsRefStr;
use uuid::Uuid;

use super::reply;

/// The error codes of the OAuth RFCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, AsRefStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum OauthErrorCode {
    /// A parameter is missing, repeated or malformed (RFC 6749, sections 4.1.2.1 and 5.2).
    InvalidRequest,
    /// The client is unknown, or its credentials are wrong (RFC 6749, section 5.2).
    InvalidClient,
    /// The authorization code or refresh token is invalid, or the request's values differ from
    /// those of the authorization request (RFC 6749, section 5.2).
    InvalidGrant,
    /// The grant type is not supported (RFC 6749, section 5.2).
    UnsupportedGrantType,
    /// The response type is not supported (RFC 6749, section 4.1.2.1).
    UnsupportedResponseType,
    /// The scope is unknown, or exceeds the granted scope (RFC 6749, sections 4.1.2.1 and 5.2).
    InvalidScope,
    /// The member denied the app access (RFC 6749, section 4.1.2.1).
    AccessDenied,
    /// The resource does not belong to this server, or the member has not granted access to it (RFC
    /// 8707, section 2).
    InvalidTarget,
    /// The redirect address is not allowed (RFC 7591, section 3.2.2).
    InvalidRedirectUri,
    /// This server does not accept the client's metadata (RFC 7591, section 3.2.2).
    InvalidClientMetadata,
    /// The client sends too many requests, or the server is temporarily unavailable (RFC 6749,
    /// section 4.1.2.1).
    TemporarilyUnavailable,
    /// An internal error of this server (RFC 6749, section 4.1.2.1).
    ServerError,
}

/// An error of an OAuth endpoint, with the reason for the client's developer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OauthError {
    pub(super) code: OauthErrorCode,
    /// The reason, for the developer of the client: plain ASCII without quotes (RFC 6749, section
    /// 5.2), and without secrets.
    pub(super) description: &'static str,
    /// The number of seconds after which the client may retry; `None` if the client has not sent
    /// too many requests.
    pub(super) retry_after: Option<u64>,
}

impl OauthError {
    /// Creates an error with its code and reason.
    pub(super) const fn new(code: OauthErrorCode, description: &'static str) -> Self {
        Self {
            code,
            description,
            retry_after: None,
        }
    }

    /// Creates the error for a client that sends too many requests.
    pub(super) const fn too_many_requests(description: &'static str, retry_after: u64) -> Self {
        Self {
            code: OauthErrorCode::TemporarilyUnavailable,
            description,
            retry_after: Some(retry_after),
        }
    }

    /// Creates the error for a missing, repeated or malformed parameter.
    pub(super) const fn invalid_request(description: &'static str) -> Self {
        Self::new(OauthErrorCode::InvalidRequest, description)
    }

    /// Creates the error for an invalid authorization code or refresh token.
    pub(super) const fn invalid_grant(description: &'static str) -> Self {
        Self::new(OauthErrorCode::InvalidGrant, description)
    }

    const fn status(&self) -> StatusCode {
        match self.code {
            OauthErrorCode::InvalidClient => StatusCode::UNAUTHORIZED,
            OauthErrorCode::TemporarilyUnavailable if self.retry_after.is_some() => {
                StatusCode::TOO_MANY_REQUESTS
            }
            OauthErrorCode::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            OauthErrorCode::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// Returns the error as a JSON response (RFC 6749, section 5.2; RFC 7591, section 3.2.2). A 401
    /// has the required `WWW-Authenticate` header (RFC 9110, section 15.5.2). A 503, and an error
    /// with a retry time, have `Retry-After`.
    pub(super) fn response(&self) -> Response {
        let body = json!({ "error": self.code.as_ref(), "error_description": self.description })
            .to_string();
        let status = self.status();
        let mut response = (
            status,
            [(CONTENT_TYPE, HeaderValue::from_static("application/json"))],
            body,
        )
            .into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(
                WWW_AUTHENTICATE,
                HeaderValue::from_static("Basic realm=\"vestibule\", charset=\"UTF-8\""),
            );
        }
        if let Some(seconds) = self
            .retry_after
            .or((status == StatusCode::SERVICE_UNAVAILABLE).then_some(1))
        {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        reply::without_caching(response)
    }

    /// Logs endpoint, client and reason, without secrets. `client` is empty if the request names no
    /// client.
    pub(super) fn log(&self, endpoint: &'static str, client: &str, request_id: Uuid) {
        tracing::info!(
            %request_id,
            endpoint,
            client,
            error = self.code.as_ref(),
            reason = self.description,
            "refused an OAuth request"
        );
    }
}

impl From<Error> for OauthError {
    fn from(error: Error) -> Self {
        let cause = error.cause().unwrap_or_default();
        match error.kind() {
            ErrorKind::Unavailable => {
                tracing::warn!(
                    cause,
                    "an OAuth request failed because a service it needs is not available"
                );
                Self::new(
                    OauthErrorCode::TemporarilyUnavailable,
                    "Not available right now; try again.",
                )
            }
            // The organization that the code or token belongs to was erased during the request.
            ErrorKind::NotFound => {
                Self::invalid_grant("The organization or the client no longer exists.")
            }
            _ => {
                tracing::error!(cause, "an OAuth request failed with an internal error");
                Self::new(
                    OauthErrorCode::ServerError,
                    "Something went wrong on our side.",
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_status_of_its_code() {
        for (error, status, retry_after) in [
            (OauthError::invalid_request("x"), 400, None),
            (
                OauthError::new(OauthErrorCode::InvalidClient, "x"),
                401,
                None,
            ),
            (
                OauthError::new(OauthErrorCode::TemporarilyUnavailable, "x"),
                503,
                Some("1"),
            ),
            (OauthError::too_many_requests("x", 60), 429, Some("60")),
            (Error::internal("x").into(), 500, None),
        ] {
            let response = error.response();
            assert_eq!(response.status(), status, "{error:?}");
            assert_eq!(
                response
                    .headers()
                    .get(RETRY_AFTER)
                    .map(|value| value.to_str().unwrap()),
                retry_after
            );
            assert_eq!(
                response.headers().contains_key(WWW_AUTHENTICATE),
                status == 401
            );
        }
    }
}
