//! Calls operations of the guest interface through the pipeline. The pipeline checks the page's
//! requests like those of any other client. So the page has no additional access.

use std::sync::Arc;

use axum::body::Body;
use engine::error::{Error, ErrorKind};
use engine::operation::{Operation, OperationName};
use engine::pipeline::{self, LocalAnswer, LocalOutcome, Payload, Request, Requester, Service};
use http::HeaderMap;
use serde_json::Value;
use uuid::Uuid;

use features::guest::is_reached;

/// The parts of a refusal that the page uses.
#[derive(Debug, Clone, Default)]
pub struct PageRefusal {
    pub status: u16,
    /// The `details.key` of the error, which names the reason of the refusal, such as `stay.over`.
    pub key: Option<String>,
    /// Whether the operation refused the request because a limit, such as the number of messages of
    /// the stay, is reached.
    pub is_full: bool,
    /// The issues that the operation found in its input. Each issue has its path from the root of
    /// the body, and its message.
    pub issues: Vec<(Vec<String>, String)>,
    /// The number of whole seconds that the guest should wait before the next attempt.
    pub retry_after: Option<u64>,
}

impl PageRefusal {
    /// Creates a refusal from an error.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        let Value::Object(mut body) = error.body() else {
            return Self::default();
        };
        let details = body.remove("details").unwrap_or_default();
        Self {
            status: error.kind().status(),
            retry_after: error.retry_after(),
            ..Self::read(&details)
        }
    }

    /// Reads the `details` of an error response.
    fn read(details: &Value) -> Self {
        let segment = |segment: &Value| match segment {
            Value::String(key) => key.clone(),
            other => other.to_string(),
        };
        let issue = |issue: &Value| {
            let path = issue["path"]
                .as_array()
                .into_iter()
                .flatten()
                .map(segment)
                .collect();
            (
                path,
                issue["message"].as_str().unwrap_or_default().to_owned(),
            )
        };
        Self {
            key: details["key"].as_str().map(str::to_owned),
            is_full: details["key"].as_str().is_some_and(is_reached),
            issues: details["issues"]
                .as_array()
                .into_iter()
                .flatten()
                .map(issue)
                .collect(),
            ..Self::default()
        }
    }
}

/// Returns the operation of the guest interface with this id.
pub fn operation(service: &Service, id: &str) -> Result<&'static Operation, PageRefusal> {
    service.app.operation(id).ok_or_else(|| {
        tracing::error!(
            operation = id,
            "the guest's page calls an operation that does not exist"
        );
        PageRefusal::of(&ErrorKind::Internal.into())
    })
}

/// Calls an operation. Returns the caller, which the page logs, and the operation's answer or
/// refusal.
pub async fn call(
    service: &Arc<Service>,
    operation: &'static Operation,
    request: Request,
) -> (Option<Requester>, Result<LocalAnswer, PageRefusal>) {
    let LocalOutcome {
        answer,
        retry_after,
        requester,
    } = pipeline::call(service, operation, request).await;
    let answer = answer.map_err(|error| PageRefusal {
        retry_after,
        ..PageRefusal::of(&error)
    });
    (requester, answer)
}

/// Returns the value in an operation's answer. The type of the value is the operation's output
/// type.
pub fn value<O: Send + Sync + 'static>(
    _: OperationName<O>,
    answer: LocalAnswer,
) -> Result<Arc<O>, PageRefusal> {
    answer.value().map(|value| value.data).map_err(|error| {
        tracing::error!(
            cause = error.cause(),
            "the guest's page cannot use an answer of an operation"
        );
        PageRefusal::of(&error)
    })
}

/// Builds the request for an operation. The path parameters are the stay's token and the ids in
/// `path`. The request has the headers `headers` and no others. The browser's cookies are not
/// copied, because the token alone gives access.
#[must_use]
pub fn request(
    id: Uuid,
    token: &str,
    path: &[(&str, Uuid)],
    query: Vec<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Request {
    let rest = path
        .iter()
        .map(|(name, id)| ((*name).to_owned(), id.to_string()));
    let path = [("token".to_owned(), token.to_owned())]
        .into_iter()
        .chain(rest)
        .collect();
    Request {
        id,
        path,
        query,
        headers,
        payload: Payload::Body(body, None),
        caller: None,
    }
}
