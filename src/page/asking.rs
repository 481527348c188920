//! How the page asks: the operations of the guest interface, through the pipeline, as any other caller would.

use std::sync::Arc;

use axum::body::Body;
use engine::error::{Error, Kind};
use engine::pipeline::{self, Payload, Request, Requester, Service};
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use crate::guest::is_reached;

/// A refusal, as far as the page makes use of it.
#[derive(Debug, Clone, Default)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// Whether the stay holds as much as it may.
    pub is_full: bool,
    /// What is wrong, field by field: where it is, from the root of the body, and in which words.
    pub issues: Vec<(Vec<String>, String)>,
    /// Whole seconds to wait before trying again.
    pub retry_after: Option<u64>,
}

impl Refusal {
    /// A refusal of the page's own.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        let Value::Object(mut body) = error.body() else { return Self::default() };
        let details = body.remove("details").unwrap_or_default();
        Self { status: error.kind().status(), retry_after: error.retry_after(), ..Self::read(&details) }
    }

    /// What `details` of an answer say.
    fn read(details: &Value) -> Self {
        let segment = |segment: &Value| match segment {
            Value::String(key) => key.clone(),
            other => other.to_string(),
        };
        let issue = |issue: &Value| {
            let path = issue["path"].as_array().into_iter().flatten().map(segment).collect();
            (path, issue["message"].as_str().unwrap_or_default().to_owned())
        };
        Self {
            is_full: details["key"].as_str().is_some_and(is_reached),
            issues: details["issues"].as_array().into_iter().flatten().map(issue).collect(),
            ..Self::default()
        }
    }
}

/// What an operation answered, before it is read.
pub struct Said {
    text: String,
    /// Names the state of it, where it is a read.
    pub state: Option<HeaderValue>,
}

/// What stands around an answer.
#[derive(Deserialize)]
struct Envelope<T> {
    data: T,
}

impl Said {
    /// The answer, as what the page makes use of.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::from_str(&self.text).map(|Envelope { data }| data).map_err(|error| {
            tracing::error!(cause = %error, "the page does not understand an answer");
            broken()
        })
    }
}

fn broken() -> Refusal {
    Refusal::of(&Kind::Internal.into())
}

/// What an operation answers the page, and whom.
pub async fn ask(service: &Arc<Service>, operation: &str, request: Request) -> (Option<Requester>, Result<Said, Refusal>) {
    let Some(operation) = service.app.operation(operation) else { return (None, Err(broken())) };
    let outcome = pipeline::handle(service, operation, request).await;
    let text = outcome.body.into_text();
    if outcome.status < 400 {
        return (outcome.requester, Ok(Said { text, state: outcome.etag }));
    }
    let envelope: Value = serde_json::from_str(&text).unwrap_or_default();
    let refusal = Refusal::read(&envelope["error"]["details"]);
    (outcome.requester, Err(Refusal { status: outcome.status, retry_after: outcome.retry_after, ..refusal }))
}

/// A request of the page's own, with these parameters of the path beside the token. Of what the browser sent it has no header
/// but those that are given: the token is the credential.
#[must_use]
pub fn request(id: Uuid, token: &str, path: &[(&str, Uuid)], query: Vec<(String, String)>, headers: HeaderMap, body: Body) -> Request {
    let rest = path.iter().map(|(name, id)| ((*name).to_owned(), id.to_string()));
    let path = [("token".to_owned(), token.to_owned())].into_iter().chain(rest).collect();
    Request { id, path, query, headers, payload: Payload::Body(body), caller: None }
}
