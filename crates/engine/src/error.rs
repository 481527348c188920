//! All errors of the interface (rules: errors#errors), in one table.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};
use strum::VariantArray;
use uuid::Uuid;

mod reason;

pub use reason::Reason;

/// A result whose error can be sent to the caller.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of errors, in the order in which the rules list them. Only the platform interface
/// returns `Gone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub enum ErrorKind {
    /// Status 400: the request is not valid.
    Validation,
    /// Status 401: the credential is missing or not valid.
    Authentication,
    /// Status 403: the caller is known, but may not make this request.
    Authorization,
    /// Status 403: the organization requires two-factor authentication, and the member has not
    /// enrolled.
    TwoFactor,
    /// Status 404: the object does not exist, or the caller may not see it.
    NotFound,
    /// Status 409: the request conflicts with the current state.
    Conflict,
    /// Status 410, only on the platform interface: the data existed, and the service has deleted
    /// it.
    Gone,
    /// Status 422, type `business_rule_error`. There is one such rule: an `Idempotency-Key` may not
    /// be used for two different requests.
    BusinessRule,
    /// Status 429: the caller has sent too many requests.
    RateLimit,
    /// Status 500: the service has a defect.
    Internal,
    /// Status 502: another service refused the request or did not answer.
    Provider,
    /// Status 503: the service cannot process the request at the moment.
    Unavailable,
}

impl ErrorKind {
    /// Returns the HTTP status, `error.type`, `error.code` and the default message.
    #[must_use]
    pub const fn row(self) -> (u16, &'static str, &'static str, &'static str) {
        match self {
            Self::Validation => (
                400,
                "validation_error",
                "VALIDATION_ERROR",
                "The request is not valid.",
            ),
            Self::Authentication => (
                401,
                "authentication_error",
                "UNAUTHORIZED",
                "A valid credential is required.",
            ),
            Self::Authorization => (
                403,
                "authorization_error",
                "FORBIDDEN",
                "This is not allowed.",
            ),
            Self::TwoFactor => (
                403,
                "authorization_error",
                "TWO_FACTOR_REQUIRED",
                "The organization requires two-factor authentication, and this member has not \
                    enrolled.",
            ),
            Self::NotFound => (
                404,
                "not_found_error",
                "NOT_FOUND",
                "Nothing was found under this id or address.",
            ),
            Self::Conflict => (
                409,
                "conflict_error",
                "CONFLICT",
                "This conflicts with the current state.",
            ),
            Self::Gone => (
                410,
                "gone_error",
                "GONE",
                "This existed and is no longer kept.",
            ),
            Self::BusinessRule => (
                422,
                "business_rule_error",
                "PERMANENT_MUTATION_ERROR",
                "This Idempotency-Key was used for another request; send a new key.",
            ),
            Self::RateLimit => (
                429,
                "rate_limit_error",
                "RATE_LIMITED",
                "Too many requests; try again after the seconds in Retry-After.",
            ),
            Self::Internal => (
                500,
                "internal_error",
                "INTERNAL_ERROR",
                "Something went wrong on our side.",
            ),
            Self::Provider => (
                502,
                "provider_error",
                "CONNECTOR_ERROR",
                "A service that this request needs refused it or did not answer.",
            ),
            Self::Unavailable => (
                503,
                "service_unavailable",
                "SERVICE_UNAVAILABLE",
                "Not available right now; try again.",
            ),
        }
    }

    #[must_use]
    pub const fn status(self) -> u16 {
        self.row().0
    }

    /// Returns whether the public interface may return this error (rules: errors#errors).
    #[must_use]
    pub const fn is_public(self) -> bool {
        !matches!(self, Self::Gone)
    }
}

/// A segment of the path from the root of a body to the failing field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub enum PathSegment {
    /// The name of a field of an object.
    Key(String),
    /// The position of an item in a list, from 0.
    Index(usize),
}

impl From<&str> for PathSegment {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<usize> for PathSegment {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// An issue of a request: a field or parameter that is invalid, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Issue {
    /// The path from the body's root, or the name of a query parameter.
    pub path: Vec<PathSegment>,
    /// The reason for the failure. The JSON contains its text as `message`.
    #[serde(rename = "message")]
    pub reason: Reason,
}

impl Issue {
    /// Creates an issue at a path of field names.
    pub fn new(path: &[&str], reason: impl Into<Reason>) -> Self {
        Self::at(
            path.iter().map(|key| PathSegment::from(*key)).collect(),
            reason,
        )
    }

    /// Creates an issue about the field at `path` in the request's body.
    pub fn at(path: Vec<PathSegment>, reason: impl Into<Reason>) -> Self {
        Self {
            path,
            reason: reason.into(),
        }
    }
}

/// The maximum number of issues that an error lists. The rest are only counted.
pub const MAX_ISSUES: usize = 100;

/// An error, as a response reports it.
#[derive(Debug, Clone)]
pub struct Error(Box<ErrorInner>);

#[derive(Debug, Clone)]
struct ErrorInner {
    kind: ErrorKind,
    message: Reason,
    issues: Vec<Issue>,
    /// The number of issues that are not listed.
    more: usize,
    key: Option<&'static str>,
    /// The id of the object that was not found; `None` if the error does not name an object.
    missing: Option<Uuid>,
    /// Whether another request with the same `Idempotency-Key` is in progress.
    is_in_flight: bool,
    /// Whether a retry is useless until the operator changes a setting.
    is_lasting: bool,
    /// The cause of the error, for the log. Responses never contain it.
    cause: Option<String>,
}

impl Error {
    /// Creates an error of this kind with a message for the caller.
    pub fn new(kind: ErrorKind, message: impl Into<Reason>) -> Self {
        Self(Box::new(ErrorInner {
            kind,
            message: message.into(),
            issues: Vec::new(),
            more: 0,
            key: None,
            missing: None,
            is_in_flight: false,
            is_lasting: false,
            cause: None,
        }))
    }

    /// Creates a 400 for a single field.
    pub fn invalid(path: &[&str], reason: impl Into<Reason>) -> Self {
        Self::issues(vec![Issue::new(path, reason)])
    }

    /// Creates a 400 for all failing fields. The first hundred issues are listed, the rest are
    /// counted.
    #[must_use]
    pub fn issues(issues: Vec<Issue>) -> Self {
        Self::issues_and(issues, 0)
    }

    /// Creates a 400 for all failing fields. `more` is the number of issues that were counted but
    /// are not in `issues`.
    #[must_use]
    pub fn issues_and(mut issues: Vec<Issue>, more: usize) -> Self {
        let mut error = Self::from(ErrorKind::Validation);
        error.0.more = more + issues.len().saturating_sub(MAX_ISSUES);
        issues.truncate(MAX_ISSUES);
        error.0.issues = issues;
        error
    }

    /// Creates a 404. The message does not reveal whether the object does not exist or the caller
    /// may not see it.
    #[must_use]
    pub fn not_found(what: &str) -> Self {
        Self::new(ErrorKind::NotFound, format!("{what} not found."))
    }

    /// Creates a 404 for an id in the path that is not a UUID. `field` is the name of the id in the
    /// path, such as `organizationId`.
    #[must_use]
    pub(crate) fn malformed_id(what: &str, field: &str) -> Self {
        let issue = Issue::new(&[field], Reason::Format("uuid".into(), "a UUID"));
        Self::not_found(what).with_issues(vec![issue])
    }

    /// Sets the id of the object that was not found, so that the response can name the field of the
    /// body that contains it.
    #[must_use]
    pub fn of(mut self, id: Uuid) -> Self {
        self.0.missing = Some(id);
        self
    }

    /// Sets the invalid fields of an error whose status is not 400.
    #[must_use]
    pub(crate) fn with_issues(mut self, issues: Vec<Issue>) -> Self {
        self.0.issues = issues;
        self
    }

    /// Adds an issue for each field of `body` that contains the id of the object that was not
    /// found.
    #[must_use]
    pub(crate) fn located_in(mut self, body: &Value) -> Self {
        if let Some(id) = self.0.missing {
            let text = id.to_string();
            let mut paths = Vec::new();
            paths_of(body, &text, &mut Vec::new(), &mut paths);
            let reason = || {
                Reason::rule(
                    "missing_reference",
                    "is not the id of anything that you can see",
                )
            };
            self.0.issues = paths
                .into_iter()
                .take(MAX_ISSUES)
                .map(|path| Issue::at(path, reason()))
                .collect();
        }
        self
    }

    /// Creates a 409: the request conflicts with the current state.
    pub fn conflict(message: impl Into<Reason>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// Creates a 409 for a request whose `Idempotency-Key` is in use by another request in
    /// progress.
    #[must_use]
    pub fn in_flight() -> Self {
        let mut error = Self::conflict(Reason::rule(
            "in_flight",
            "A request with this Idempotency-Key is still in progress; wait and retry.",
        ));
        error.0.is_in_flight = true;
        error
    }

    /// Returns whether another request with the same `Idempotency-Key` is in progress.
    #[must_use]
    pub fn is_in_flight(&self) -> bool {
        self.0.is_in_flight
    }

    /// Creates a 410: the requested data existed, and the service has deleted it.
    pub fn gone(message: impl Into<Reason>) -> Self {
        Self::new(ErrorKind::Gone, message)
    }

    /// Creates a 403: the caller may not do this.
    pub fn forbidden(message: impl Into<Reason>) -> Self {
        Self::new(ErrorKind::Authorization, message)
    }

    /// Creates a 500. `cause` is only logged.
    pub fn internal(cause: impl fmt::Display) -> Self {
        let mut error = Self::from(ErrorKind::Internal);
        error.0.cause = Some(cause.to_string());
        error
    }

    /// Creates a 503. `cause` is only logged.
    pub fn unavailable(cause: impl fmt::Display) -> Self {
        let mut error = Self::from(ErrorKind::Unavailable);
        error.0.cause = Some(cause.to_string());
        error
    }

    /// Creates a 503 for an extension of the service that is not configured. A retry does not help.
    pub fn not_configured(message: impl Into<Reason>) -> Self {
        let mut error = Self::new(ErrorKind::Unavailable, message);
        error.0.is_lasting = true;
        error
    }

    /// Creates a 502. `cause` is only logged.
    pub fn provider(cause: impl fmt::Display) -> Self {
        let mut error = Self::from(ErrorKind::Provider);
        error.0.cause = Some(cause.to_string());
        error
    }

    /// Replaces the default message of the error's kind.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Reason>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Returns whether the failed operation may have taken effect: after an internal error, or if
    /// the commit was not confirmed.
    #[must_use]
    pub fn may_have_taken_effect(&self) -> bool {
        self.kind() == ErrorKind::Internal || self.0.key == Some(UNKNOWN_KEY)
    }

    /// Adds a machine-readable key of the error's reason, such as `credential.missing`. The
    /// response contains the key as `details.key`.
    #[must_use]
    pub fn with_key(mut self, key: &'static str) -> Self {
        self.0.key = Some(key);
        self
    }

    /// Returns the machine-readable key of the error's reason, if there is one.
    #[must_use]
    pub const fn key(&self) -> Option<&'static str> {
        self.0.key
    }

    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message: its English text and, if the request breaks a named rule of a module,
    /// the name of that rule.
    #[must_use]
    pub fn message(&self) -> &Reason {
        &self.0.message
    }

    /// Returns the listed issues, and the number of issues that are not listed.
    #[must_use]
    pub fn listed_issues(&self) -> (&[Issue], usize) {
        (&self.0.issues, self.0.more)
    }

    /// Returns the cause of the error, for the log.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        self.0.cause.as_deref()
    }

    /// Returns the seconds to wait before a retry; `None` if a retry needs no wait or does not
    /// help.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        (self.kind() == ErrorKind::Unavailable && !self.0.is_lasting).then_some(1)
    }

    /// Returns the `error` object of the envelope.
    #[must_use]
    pub fn body(&self) -> Value {
        let (_, kind, code, _) = self.kind().row();
        let mut details = Map::new();
        if !self.0.issues.is_empty() {
            details.insert("issues".into(), json!(self.0.issues));
        }
        if self.0.more > 0 {
            details.insert("more".into(), json!(self.0.more));
        }
        if let Some(key) = self.0.key {
            details.insert("key".into(), json!(key));
        }
        let mut body = json!({ "type": kind, "code": code, "message": self.0.message });
        if !details.is_empty() {
            body["details"] = Value::Object(details);
        }
        body
    }
}

/// Adds to `paths` the path of each text below `value` that equals `id`, ignoring case. `path` is
/// the path of `value` in the body of the request.
fn paths_of(
    value: &Value,
    id: &str,
    path: &mut Vec<PathSegment>,
    paths: &mut Vec<Vec<PathSegment>>,
) {
    let mut descend = |segment: PathSegment, value: &Value| {
        path.push(segment);
        paths_of(value, id, path, paths);
        path.pop();
    };
    match value {
        Value::String(text) if text.eq_ignore_ascii_case(id) => paths.push(path.clone()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                descend(index.into(), item);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                descend(name.as_str().into(), field);
            }
        }
        _ => {}
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind, kind.row().3)
    }
}

/// The message for a write whose commit was not confirmed. Any other 503 for a write means that the
/// write was not done.
const OUTCOME_UNKNOWN: &str = "It is not known whether this was done. Send a POST with its \
    Idempotency-Key again to get its result; otherwise read the data first.";

/// The value of `details.key` in the 503 error for a write whose commit was not confirmed.
const UNKNOWN_KEY: &str = "outcome_unknown";

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let mut result = match error {
            store::Error::Unavailable(_) => Self::from(ErrorKind::Unavailable),
            store::Error::Unknown(_) => Self::new(
                ErrorKind::Unavailable,
                Reason::rule(UNKNOWN_KEY, OUTCOME_UNKNOWN),
            )
            .with_key(UNKNOWN_KEY),
            store::Error::Configuration(_) | store::Error::Defect(_) => {
                Self::from(ErrorKind::Internal)
            }
        };
        result.0.cause = Some(error.to_string());
        result
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.message.fmt(f)
    }
}

impl std::error::Error for Error {}

/// Returns the root cause of an error. The message of the root cause is the shortest and most
/// specific one.
#[must_use]
pub fn innermost<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> &'e (dyn std::error::Error + 'static) {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_100_issues_and_counts_the_rest() {
        let issues = |count: usize| {
            (0..count)
                .map(|number| Issue::at(vec![number.into()], ""))
                .collect::<Vec<_>>()
        };
        for (count, more_counted, listed, more) in [
            (1, 0, 1, None),
            (100, 0, 100, None),
            (101, 0, 100, Some(1)),
            (100, 7, 100, Some(7)),
            (250, 7, 100, Some(157)),
        ] {
            let details = Error::issues_and(issues(count), more_counted).body()["details"].clone();
            assert_eq!(
                (
                    details["issues"].as_array().map(Vec::len),
                    details["more"].as_u64()
                ),
                (Some(listed), more)
            );
        }
    }
}
