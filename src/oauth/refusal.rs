//! What these endpoints refuse, in the words of the RFCs rather than the interface's envelope, and what the log says of it.

use axum::response::{IntoResponse as _, Response};
use engine::error::{Error, Kind};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::json;
use strum::AsRefStr;
use uuid::Uuid;

use super::reply;

/// The codes of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, AsRefStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Code {
    /// A parameter is missing, repeated or malformed (RFC 6749, sections 4.1.2.1 and 5.2).
    InvalidRequest,
    /// The client is unknown, or does not show who it is (RFC 6749, section 5.2).
    InvalidClient,
    /// The code or refresh token is not good, or not good for this (RFC 6749, section 5.2).
    InvalidGrant,
    /// A grant type that there is not (RFC 6749, section 5.2).
    UnsupportedGrantType,
    /// A response type that there is not (RFC 6749, section 4.1.2.1).
    UnsupportedResponseType,
    /// A scope that there is not, or that exceeds what was granted (RFC 6749, sections 4.1.2.1 and 5.2).
    InvalidScope,
    /// The member said no (RFC 6749, section 4.1.2.1).
    AccessDenied,
    /// A resource that is none of ours, or another than what was granted (RFC 8707, section 2).
    InvalidTarget,
    /// An address that nobody may be sent back to (RFC 7591, section 3.2.2).
    InvalidRedirectUri,
    /// A client that this server has no use for (RFC 7591, section 3.2.2).
    InvalidClientMetadata,
    /// Too much, or not right now (RFC 6749, section 4.1.2.1).
    TemporarilyUnavailable,
    /// A defect of ours (RFC 6749, section 4.1.2.1).
    ServerError,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// What kind it is.
    pub(super) code: Code,
    /// What is wrong, for the one who wrote the client: plain ASCII without quotes (RFC 6749, section 5.2), and no secret.
    pub(super) description: &'static str,
    /// Seconds after which it is worth trying again, where somebody asks too often.
    pub(super) retry_after: Option<u64>,
}

impl Refusal {
    /// A refusal with its reason.
    pub(super) const fn new(code: Code, description: &'static str) -> Self {
        Self { code, description, retry_after: None }
    }

    /// For who asks too often.
    pub(super) const fn too_often(description: &'static str, retry_after: u64) -> Self {
        Self { code: Code::TemporarilyUnavailable, description, retry_after: Some(retry_after) }
    }

    /// What is missing, repeated or malformed.
    pub(super) const fn request(description: &'static str) -> Self {
        Self::new(Code::InvalidRequest, description)
    }

    /// What is wrong with a code or a refresh token.
    pub(super) const fn grant(description: &'static str) -> Self {
        Self::new(Code::InvalidGrant, description)
    }

    const fn status(&self) -> StatusCode {
        match self.code {
            Code::InvalidClient => StatusCode::UNAUTHORIZED,
            Code::TemporarilyUnavailable if self.retry_after.is_some() => StatusCode::TOO_MANY_REQUESTS,
            Code::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Code::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// As a client is answered that asked by itself (RFC 6749, section 5.2; RFC 7591, section 3.2.2). Who is not known is told how
    /// to show who they are, as every 401 must (RFC 9110, section 15.5.2).
    pub(super) fn answer(&self) -> Response {
        let body = json!({ "error": self.code.as_ref(), "error_description": self.description }).to_string();
        let status = self.status();
        let mut response = (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"vestibule\", charset=\"UTF-8\""));
        }
        if let Some(seconds) = self.retry_after.or((status == StatusCode::SERVICE_UNAVAILABLE).then_some(1)) {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        reply::kept_by_nobody(response)
    }

    /// Writes it down: who asked, as far as that is known, what for, and why not. Never a secret.
    pub(super) fn log(&self, endpoint: &'static str, client: &str, request_id: Uuid) {
        tracing::info!(%request_id, endpoint, client, error = self.code.as_ref(), reason = self.description, "refused");
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let cause = error.cause().unwrap_or_default();
        match error.kind() {
            Kind::Unavailable => {
                tracing::warn!(cause, "not available");
                Self::new(Code::TemporarilyUnavailable, "Not available right now; try again.")
            }
            // What was found is gone, with its organization.
            Kind::NotFound => Self::grant("What this belongs to is gone."),
            _ => {
                tracing::error!(cause, "failed");
                Self::new(Code::ServerError, "Something went wrong on our side.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_status_of_its_code() {
        for (refusal, status, retry_after) in [
            (Refusal::request("x"), 400, None),
            (Refusal::new(Code::InvalidClient, "x"), 401, None),
            (Refusal::new(Code::TemporarilyUnavailable, "x"), 503, Some("1")),
            (Refusal::too_often("x", 60), 429, Some("60")),
            (Error::internal("x").into(), 500, None),
        ] {
            let response = refusal.answer();
            assert_eq!(response.status(), status, "{refusal:?}");
            assert_eq!(response.headers().get(RETRY_AFTER).map(|value| value.to_str().unwrap()), retry_after);
            assert_eq!(response.headers().contains_key(WWW_AUTHENTICATE), status == 401);
        }
    }
}
