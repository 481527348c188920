//! The reason why a request was not authenticated, as the client sees it.
//!
//! The reason is determined only after a refusal, so accepted requests are not slower. The reasons
//! "expired" and "valid for another resource" need a look-up by the hash of the whole token. Only a
//! client that knows the whole token can therefore get them.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;

use super::Service;
use super::authenticate::{bearer, is_platform_key};
use crate::access::{self, Identified, Resource};
use crate::error::{Error, ErrorKind};
use crate::operation::Surface;

/// Values of `details.key` in a 401, by which programs distinguish the reasons.
const MISSING: &str = "credential.missing";
const MALFORMED: &str = "credential.malformed";
const UNKNOWN: &str = "credential.unknown";
const REVOKED: &str = "credential.revoked";
const EXPIRED: &str = "credential.expired";
const ELSEWHERE: &str = "credential.wrong_interface";

/// The message for an unknown token. After a connection to an app was ended, the access tokens of
/// the app are unknown too.
const UNKNOWN_TOKEN: &str =
    "The token is unknown: it was never issued, or its connection was ended.";

/// The credential that an interface requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredCredential {
    /// A token of an organization, valid for this resource.
    Token(Resource),
    /// The platform's key.
    PlatformKey,
}

impl RequiredCredential {
    pub(super) const fn at(surface: Surface) -> Self {
        match surface {
            Surface::Platform => Self::PlatformKey,
            Surface::Public | Surface::Guest => Self::Token(Resource::Api),
        }
    }

    const fn describe(self) -> &'static str {
        match self {
            Self::Token(_) => "an API key (sk_…) or an access token (at_…)",
            Self::PlatformKey => "the platform key",
        }
    }
}

/// Returns the error for a request without a valid credential.
pub async fn refusal(
    service: &Arc<Service>,
    headers: &HeaderMap,
    required: RequiredCredential,
) -> Error {
    let (key, message) = match reason_of_header(headers, required) {
        Some(reason) => reason,
        None => reason_of_token(service, bearer(headers).unwrap_or_default(), required).await,
    };
    Error::new(ErrorKind::Authentication, message).with_key(key)
}

/// Returns whether the error is about a credential that the client sent. Otherwise the response has
/// no error code in `WWW-Authenticate` (RFC 6750, section 3.1).
#[must_use]
pub fn was_sent(error: &Error) -> bool {
    error.key().is_some_and(|key| key != MISSING)
}

/// Returns an error code and a message if the `Authorization` header is missing, repeated or
/// malformed. Returns `None` for a header with a bearer token.
fn reason_of_header(
    headers: &HeaderMap,
    required: RequiredCredential,
) -> Option<(&'static str, String)> {
    let values: Vec<_> = headers.get_all(AUTHORIZATION).iter().collect();
    let credentials = required.describe();
    let malformed = |message: String| Some((MALFORMED, message));
    let value = match values[..] {
        [] => {
            let message =
                format!("The Authorization header is missing; send `Bearer` and {credentials}.");
            return Some((MISSING, message));
        }
        [value] => value.to_str().unwrap_or_default(),
        _ => return malformed("There is more than one Authorization header.".into()),
    };
    if bearer(headers).is_some() {
        return None;
    }
    let scheme = value.split(' ').next().unwrap_or_default();
    if scheme.eq_ignore_ascii_case("bearer") {
        return malformed(format!("The bearer token is blank; send {credentials}."));
    }
    malformed(format!(
        "The Authorization header must be `Bearer`, a space, and {credentials}."
    ))
}

async fn reason_of_token(
    service: &Arc<Service>,
    token: &str,
    required: RequiredCredential,
) -> (&'static str, String) {
    let is_of_organization = token.starts_with("sk_") || token.starts_with("at_");
    match required {
        RequiredCredential::PlatformKey if is_of_organization => (
            ELSEWHERE,
            "API keys and access tokens are for /api/v1 and /mcp; this interface takes the \
                platform key."
                .into(),
        ),
        RequiredCredential::PlatformKey => (UNKNOWN, "The platform key is unknown.".into()),
        RequiredCredential::Token(_) if is_platform_key(service, token) => (
            ELSEWHERE,
            "The platform key is for /platform/v1; send an API key (sk_…) or an access token \
                (at_…)."
                .into(),
        ),
        RequiredCredential::Token(_) if !is_of_organization => (
            UNKNOWN,
            "The token is neither an API key (sk_…) nor an access token (at_…).".into(),
        ),
        RequiredCredential::Token(resource) => match find_even_expired(service, token).await {
            Some((Some(identified), _)) => reason_of_caller(&identified, resource),
            Some((None, Some(revoked_at))) => (
                REVOKED,
                format!("The API key was revoked at {revoked_at:.0}."),
            ),
            Some((None, None)) | None => (UNKNOWN, UNKNOWN_TOKEN.into()),
        },
    }
}

/// Looks up a token, even one that has expired. Returns its caller, and for the token of a revoked
/// API key the time of the revocation. Returns `None` if the database does not answer.
async fn find_even_expired(
    service: &Arc<Service>,
    token: &str,
) -> Option<(Option<Identified>, Option<Timestamp>)> {
    let (share, token) = (service.organization_hints.of_token(token), token.to_owned());
    let find = move |tx: &mut store::Transaction<'_>| {
        let identified = access::find(tx, &token, Timestamp::MIN)?;
        let revoked_at = if identified.is_none() {
            access::revoked_at(tx, &token)?
        } else {
            None
        };
        Ok::<_, Error>((identified, revoked_at))
    };
    service.store.read_for(share, find).await.ok()
}

fn reason_of_caller(identified: &Identified, resource: Resource) -> (&'static str, String) {
    if !identified.is_valid_at(resource) {
        let (issued_for, requested) = (
            identified.resource.map_or("", Resource::path),
            resource.path(),
        );
        return (
            ELSEWHERE,
            format!(
                "The access token was issued for {issued_for}, and is not valid at {requested}."
            ),
        );
    }
    match identified.valid_until {
        Some(end) => (EXPIRED, format!("The token expired at {end:.0}.")),
        None => (UNKNOWN, UNKNOWN_TOKEN.into()),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_missing_or_malformed_authorization_header_is_explained() {
        let required = RequiredCredential::Token(Resource::Api);
        let key_of = |values: &[&'static str]| {
            let headers = values
                .iter()
                .map(|value| (AUTHORIZATION, HeaderValue::from_static(value)));
            reason_of_header(&headers.collect(), required).map(|(key, _)| key)
        };
        assert_eq!(key_of(&[]), Some(MISSING));
        assert_eq!(key_of(&["Bearer a", "Bearer a"]), Some(MALFORMED));
        for value in ["sk_a", "Basic c2tfYQ==", "Bearer ", "Bearer", ""] {
            assert_eq!(key_of(&[value]), Some(MALFORMED), "{value:?}");
        }
        assert_eq!(key_of(&["Bearer sk_a"]), None);
        let messages = ["sk_a", "Bearer "].map(|value| {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(value))]);
            reason_of_header(&headers, required).unwrap().1
        });
        assert_ne!(messages[0], messages[1]);
    }
}
