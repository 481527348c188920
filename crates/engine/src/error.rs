//! Every refusal and failure of the interface (spec: Errors), in one table.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};
use strum::VariantArray;

mod reason;

pub use reason::Reason;

/// A result whose error is an answer to the caller.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The categories of the spec's error table, in its order, and what only the platform interface answers besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub enum Kind {
    /// 400
    Validation,
    /// 401
    Authentication,
    /// 403
    Authorization,
    /// 403, the organization's two-factor rule
    TwoFactor,
    /// 404
    NotFound,
    /// 409
    Conflict,
    /// 410, on the platform interface alone
    Gone,
    /// 422
    BusinessRule,
    /// 429
    RateLimit,
    /// 500
    Internal,
    /// 502
    Provider,
    /// 503
    Unavailable,
}

impl Kind {
    /// Status, `error.type`, `error.code`, and the message where none more telling is given.
    #[must_use]
    pub const fn row(self) -> (u16, &'static str, &'static str, &'static str) {
        match self {
            Self::Validation => (400, "validation_error", "VALIDATION_ERROR", "The request is not valid."),
            Self::Authentication => (401, "authentication_error", "UNAUTHORIZED", "A valid credential is required."),
            Self::Authorization => (403, "authorization_error", "FORBIDDEN", "This is not allowed."),
            Self::TwoFactor => (
                403,
                "authorization_error",
                "TWO_FACTOR_REQUIRED",
                "The organization requires two-factor authentication, and this member has not enrolled.",
            ),
            Self::NotFound => (404, "not_found_error", "NOT_FOUND", "There is nothing here."),
            Self::Conflict => (409, "conflict_error", "CONFLICT", "This conflicts with the current state."),
            Self::Gone => (410, "gone_error", "GONE", "This was there and is kept no longer."),
            Self::BusinessRule => {
                (422, "business_rule_error", "PERMANENT_MUTATION_ERROR", "The Idempotency-Key belongs to another request.")
            }
            Self::RateLimit => (429, "rate_limit_error", "RATE_LIMITED", "Too many requests; wait as Retry-After says."),
            Self::Internal => (500, "internal_error", "INTERNAL_ERROR", "Something went wrong on our side."),
            Self::Provider => (502, "provider_error", "CONNECTOR_ERROR", "A service this depends on refused or did not answer."),
            Self::Unavailable => (503, "service_unavailable", "SERVICE_UNAVAILABLE", "Not available right now; try again."),
        }
    }

    /// The HTTP status.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.row().0
    }

    /// Whether the spec's table has it, so that the public interface may answer it.
    #[must_use]
    pub const fn is_public(self) -> bool {
        !matches!(self, Self::Gone)
    }
}

/// A segment of the path from the root of a body to the field at fault.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub enum PathSegment {
    /// A field.
    Key(String),
    /// An item of a list.
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

/// One failing field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Issue {
    /// From the body's root, or a query parameter's name.
    pub path: Vec<PathSegment>,
    /// What is wrong with it; answered as the sentence that says so.
    #[serde(rename = "message")]
    pub reason: Reason,
}

impl Issue {
    /// An issue at a path of field names.
    pub fn new(path: &[&str], reason: impl Into<Reason>) -> Self {
        Self::at(path.iter().map(|key| PathSegment::from(*key)).collect(), reason)
    }

    /// An issue at a path.
    pub fn at(path: Vec<PathSegment>, reason: impl Into<Reason>) -> Self {
        Self { path, reason: reason.into() }
    }
}

/// How many issues a refusal names; the rest are counted.
pub const MOST_ISSUES: usize = 100;

/// A refusal or failure, as it is answered.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: Kind,
    message: Reason,
    issues: Vec<Issue>,
    /// How many issues there are besides.
    more: usize,
    key: Option<&'static str>,
    /// Whether another request with the same `Idempotency-Key` is under way.
    is_in_flight: bool,
    /// For the log only.
    cause: Option<String>,
}

impl Error {
    /// An error with a message of its own.
    pub fn new(kind: Kind, message: impl Into<Reason>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), issues: Vec::new(), more: 0, key: None, is_in_flight: false, cause: None }))
    }

    /// 400 for a single field.
    pub fn invalid(path: &[&str], reason: impl Into<Reason>) -> Self {
        Self::issues(vec![Issue::new(path, reason)])
    }

    /// 400 for all failing fields at once: the first hundred by name, the rest by their number.
    #[must_use]
    pub fn issues(issues: Vec<Issue>) -> Self {
        Self::issues_and(issues, 0)
    }

    /// The same, with so many issues besides that nobody kept.
    #[must_use]
    pub fn issues_and(mut issues: Vec<Issue>, more: usize) -> Self {
        let mut error = Self::from(Kind::Validation);
        error.0.more = more + issues.len().saturating_sub(MOST_ISSUES);
        issues.truncate(MOST_ISSUES);
        error.0.issues = issues;
        error
    }

    /// 404, whatever the reason that the thing is not visible.
    #[must_use]
    pub fn not_found(what: &str) -> Self {
        Self::new(Kind::NotFound, format!("{what} not found."))
    }

    /// 409.
    pub fn conflict(message: impl Into<Reason>) -> Self {
        Self::new(Kind::Conflict, message)
    }

    /// 409 while another request with the same `Idempotency-Key` is under way.
    #[must_use]
    pub fn in_flight() -> Self {
        let mut error =
            Self::conflict(Reason::rule("in_flight", "A request with this Idempotency-Key is still in flight; wait and retry."));
        error.0.is_in_flight = true;
        error
    }

    /// Whether another request with the same `Idempotency-Key` is under way.
    #[must_use]
    pub fn is_in_flight(&self) -> bool {
        self.0.is_in_flight
    }

    /// 410: what was asked for is kept no longer.
    pub fn gone(message: impl Into<Reason>) -> Self {
        Self::new(Kind::Gone, message)
    }

    /// 403.
    pub fn forbidden(message: impl Into<Reason>) -> Self {
        Self::new(Kind::Authorization, message)
    }

    /// 500; `cause` goes to the log only.
    pub fn internal(cause: impl fmt::Display) -> Self {
        let mut error = Self::from(Kind::Internal);
        error.0.cause = Some(cause.to_string());
        error
    }

    /// 503; `cause` goes to the log only.
    pub fn unavailable(cause: impl fmt::Display) -> Self {
        let mut error = Self::from(Kind::Unavailable);
        error.0.cause = Some(cause.to_string());
        error
    }

    /// 502; `cause` goes to the log only.
    pub fn provider(cause: impl fmt::Display) -> Self {
        let mut error = Self::from(Kind::Provider);
        error.0.cause = Some(cause.to_string());
        error
    }

    /// Says it in these words, which the spec or the contract fixes.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Reason>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Whether what failed may have been done all the same, as far as can be told from here.
    #[must_use]
    pub fn may_be_done(&self) -> bool {
        self.kind() == Kind::Internal || self.0.key == Some(UNKNOWN_KEY)
    }

    /// Adds the machine key of a business reason (`details.key`).
    #[must_use]
    pub fn with_key(mut self, key: &'static str) -> Self {
        self.0.key = Some(key);
        self
    }

    /// The category.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// What is said of it as a whole: as text in English, and by name where a chapter gave it one.
    #[must_use]
    pub fn message(&self) -> &Reason {
        &self.0.message
    }

    /// The failing fields that it names, and how many there are besides.
    #[must_use]
    pub fn failing(&self) -> (&[Issue], usize) {
        (&self.0.issues, self.0.more)
    }

    /// What only the log should say.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        self.0.cause.as_deref()
    }

    /// Whole seconds to wait before a retry, where the answer says so by itself.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        (self.kind() == Kind::Unavailable).then_some(1)
    }

    /// The `error` object of the envelope.
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

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self::new(kind, kind.row().3)
    }
}

/// What a caller hears whose write was not confirmed; a plain 503 of a write says that it was not done.
const OUTCOME_UNKNOWN: &str =
    "Whether this was done is not known. A POST with an Idempotency-Key tells when it is sent again; anything else when it is read.";

/// And the machine key of that.
const UNKNOWN_KEY: &str = "outcome_unknown";

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let mut answer = match error {
            store::Error::Unavailable(_) => Self::from(Kind::Unavailable),
            store::Error::Unknown(_) => Self::new(Kind::Unavailable, Reason::rule(UNKNOWN_KEY, OUTCOME_UNKNOWN)).with_key(UNKNOWN_KEY),
            store::Error::Configuration(_) | store::Error::Defect(_) => Self::from(Kind::Internal),
        };
        answer.0.cause = Some(error.to_string());
        answer
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.message.fmt(f)
    }
}

impl std::error::Error for Error {}

/// The cause of the cause: what says most in the fewest words.
#[must_use]
pub fn innermost<'e>(error: &'e (dyn std::error::Error + 'static)) -> &'e (dyn std::error::Error + 'static) {
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
    fn a_hundred_issues_are_named_and_the_rest_are_counted() {
        let issues = |count: usize| (0..count).map(|number| Issue::at(vec![number.into()], "")).collect::<Vec<_>>();
        for (found, besides, named, more) in
            [(1, 0, 1, None), (100, 0, 100, None), (101, 0, 100, Some(1)), (100, 7, 100, Some(7)), (250, 7, 100, Some(157))]
        {
            let details = Error::issues_and(issues(found), besides).body()["details"].clone();
            assert_eq!((details["issues"].as_array().map(Vec::len), details["more"].as_u64()), (Some(named), more));
        }
    }
}
