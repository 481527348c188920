//! Calls operations of the public interface through the pipeline, as the signed-in member.

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

use super::refusal::ConsoleRefusal;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Returns the public operation with this id. The console calls only operations that integrators
/// can call.
pub fn operation(service: &Service, id: &str) -> Option<&'static Operation> {
    service
        .app
        .operation(id)
        .filter(|operation| operation.surface == Surface::Public)
}

/// The answer of an operation.
#[derive(Debug, Clone)]
pub struct OperationAnswer<T> {
    /// The data of the answer.
    pub data: T,
    /// The total number of rows, for a list that is returned in pages.
    pub total: Option<usize>,
}

/// The envelope of an answer.
#[derive(Deserialize)]
struct ConsoleEnvelope<T> {
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

/// An answer before it is parsed.
pub struct RawOperationAnswer {
    text: String,
    operation: &'static str,
    id: Uuid,
}

impl RawOperationAnswer {
    /// Parses the answer.
    pub fn understood<T: DeserializeOwned>(self) -> Result<OperationAnswer<T>, ConsoleRefusal> {
        match serde_json::from_str::<ConsoleEnvelope<T>>(&self.text) {
            Ok(ConsoleEnvelope { data, meta }) => Ok(OperationAnswer {
                data,
                total: meta.pagination.map(|pagination| pagination.total),
            }),
            Err(error) => Err(not_understood(self.id, self.operation, &error)),
        }
    }
}

/// Calls an operation as a caller. A refusal is in the given language. Path, query and body
/// parameters stand together in `arguments`.
pub async fn ask(
    service: &Arc<Service>,
    caller: Arc<Identified>,
    id: Uuid,
    operation: &'static Operation,
    arguments: Value,
    key: Option<&str>,
    language: &str,
) -> Result<RawOperationAnswer, ConsoleRefusal> {
    let request = request(id, operation, arguments, key, caller);
    let outcome = pipeline::handle(service, operation, request).await;
    if let Some(error) = &outcome.error {
        return Err(ConsoleRefusal {
            retry_after: outcome.retry_after,
            ..ConsoleRefusal::of(error, language)
        });
    }
    Ok(RawOperationAnswer {
        text: outcome.body.into_text(),
        operation: operation.id,
        id,
    })
}

/// Logs that an answer could not be parsed, and returns the refusal for the member.
pub fn not_understood(id: Uuid, operation: &str, cause: &serde_json::Error) -> ConsoleRefusal {
    tracing::error!(request_id = %id, operation, %cause, "the console cannot parse an answer of an operation");
    ConsoleRefusal::broken()
}

/// Returns the request that a REST client would send with these arguments.
fn request(
    id: Uuid,
    operation: &Operation,
    arguments: Value,
    key: Option<&str>,
    caller: Arc<Identified>,
) -> Request {
    let (mut path, mut query, mut body) = (Vec::new(), Vec::new(), Map::new());
    let Value::Object(arguments) = arguments else {
        return empty(id, caller);
    };
    for (name, value) in arguments {
        if operation.is_path_field(&name) {
            path.push((name, plain(&value)));
        } else if operation.has_body() {
            body.insert(name, value);
        } else {
            match value {
                Value::Null => {}
                Value::Array(values) => {
                    query.extend(values.iter().map(|value| (name.clone(), plain(value))));
                }
                value => query.push((name, plain(&value))),
            }
        }
    }
    let mut headers = HeaderMap::new();
    if let Some(key) = key.and_then(|key| HeaderValue::from_str(key).ok()) {
        headers.insert(IDEMPOTENCY_KEY, key);
    }
    let payload = if operation.has_body() {
        Body::from(Value::Object(body).to_string())
    } else {
        Body::empty()
    };
    Request {
        id,
        path,
        query,
        headers,
        payload: Payload::Body(payload, None),
        caller: Some(caller),
    }
}

fn empty(id: Uuid, caller: Arc<Identified>) -> Request {
    let payload = Payload::Body(Body::empty(), None);
    Request {
        id,
        path: Vec::new(),
        query: Vec::new(),
        headers: HeaderMap::new(),
        payload,
        caller: Some(caller),
    }
}

/// Returns a value as a text for the path or the query.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
