//! How the console asks: any operation of the public interface, as the member who is signed in, through the pipeline.

use std::sync::Arc;

use axum::body::Body;
use engine::access::Identified;
use engine::operation::{Operation, Surface};
use engine::pipeline::{self, Payload, Request, Service};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::refusal::Refusal;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The operation of an id. Only what integrators can ask for is asked for.
pub fn operation(service: &Service, id: &str) -> Option<&'static Operation> {
    service.app.operation(id).filter(|operation| operation.surface == Surface::Public)
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    /// What was asked for.
    pub data: T,
    /// How many there are in all, of a list that is given in pages.
    pub total: Option<usize>,
}

/// What stands around an answer.
#[derive(Deserialize)]
struct Envelope<T> {
    data: T,
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    pagination: Option<Pagination>,
}

#[derive(Deserialize)]
struct Pagination {
    total: usize,
}

/// An answer as it came.
pub struct Told {
    text: String,
    operation: &'static str,
    id: Uuid,
}

impl Told {
    /// What it says.
    pub fn understood<T: DeserializeOwned>(self) -> Result<Answer<T>, Refusal> {
        match serde_json::from_str::<Envelope<T>>(&self.text) {
            Ok(Envelope { data, meta }) => Ok(Answer { data, total: meta.pagination.map(|pagination| pagination.total) }),
            Err(error) => Err(not_understood(self.id, self.operation, &error)),
        }
    }
}

/// What an operation answers a caller; a refusal in a language. The arguments stand side by side, wherever they travel.
pub async fn ask(
    service: &Arc<Service>,
    caller: Arc<Identified>,
    id: Uuid,
    operation: &'static Operation,
    arguments: Value,
    key: Option<&str>,
    language: &str,
) -> Result<Told, Refusal> {
    let request = request(id, operation, arguments, key, caller);
    let outcome = pipeline::handle(service, operation, request).await;
    if let Some(error) = &outcome.error {
        return Err(Refusal { retry_after: outcome.retry_after, ..Refusal::said(error, language) });
    }
    Ok(Told { text: outcome.body.into_text(), operation: operation.id, id })
}

/// What is said where an answer is not what it is taken for; the log says why.
pub fn not_understood(id: Uuid, operation: &str, cause: &serde_json::Error) -> Refusal {
    tracing::error!(request_id = %id, operation, %cause, "the console does not understand an answer");
    Refusal::broken()
}

/// The request that REST would make of these arguments.
fn request(id: Uuid, operation: &Operation, arguments: Value, key: Option<&str>, caller: Arc<Identified>) -> Request {
    let (mut path, mut query, mut body) = (Vec::new(), Vec::new(), Map::new());
    let Value::Object(arguments) = arguments else { return empty(id, caller) };
    for (name, value) in arguments {
        if operation.is_path_field(&name) {
            path.push((name, plain(&value)));
        } else if operation.has_body() {
            body.insert(name, value);
        } else {
            match value {
                Value::Null => {}
                Value::Array(values) => query.extend(values.iter().map(|value| (name.clone(), plain(value)))),
                value => query.push((name, plain(&value))),
            }
        }
    }
    let mut headers = HeaderMap::new();
    if let Some(key) = key.and_then(|key| HeaderValue::from_str(key).ok()) {
        headers.insert(IDEMPOTENCY_KEY, key);
    }
    let payload = if operation.has_body() { Body::from(Value::Object(body).to_string()) } else { Body::empty() };
    Request { id, path, query, headers, payload: Payload::Body(payload), caller: Some(caller) }
}

fn empty(id: Uuid, caller: Arc<Identified>) -> Request {
    let payload = Payload::Body(Body::empty());
    Request { id, path: Vec::new(), query: Vec::new(), headers: HeaderMap::new(), payload, caller: Some(caller) }
}

/// A value as it stands in an address.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
