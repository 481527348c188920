//! Calls operations of the REST interface through the pipeline, with the signed-in member as
//! caller.

use std::sync::Arc;

use axum::body::Body;
use engine::access::Identified;
use engine::operation::{Operation, Surface};
use engine::pipeline::{self, LocalAnswer, LocalData, Payload, Request, Service};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::refusal::ConsoleRefusal;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Returns the operation with this id. The console calls only operations that REST clients can also
/// call.
pub fn operation(service: &Service, id: &str) -> Option<&'static Operation> {
    service
        .app
        .operation(id)
        .filter(|operation| operation.surface == Surface::Public)
}

/// The parsed answer of an operation.
#[derive(Debug, Clone)]
pub struct OperationResponse<T> {
    pub data: T,
    /// The total number of rows in the list, if the answer is one page of a list.
    pub total: Option<usize>,
}

/// The answer of an operation, before the screen has chosen a type for it.
pub struct RawOperationResponse {
    answer: LocalAnswer,
    id: Uuid,
}

impl RawOperationResponse {
    /// Returns the answer as the operation's output type.
    pub fn value<O>(self) -> Result<OperationResponse<Arc<O>>, ConsoleRefusal>
    where
        O: Send + Sync + 'static,
    {
        understood(self.id, self.answer.value())
    }

    /// Returns the answer of an operation that creates something, as the operation's output type.
    /// If the same form was sent before, the answer comes from the idempotency record. That record
    /// is text, so it must be parsed.
    pub fn created<O>(self) -> Result<OperationResponse<Arc<O>>, ConsoleRefusal>
    where
        O: DeserializeOwned + Send + Sync + 'static,
    {
        understood(self.id, self.answer.value_or_text())
    }

    /// Parses the answer as any type with the same JSON.
    pub fn parse<T: DeserializeOwned>(self) -> Result<OperationResponse<T>, ConsoleRefusal> {
        understood(self.id, self.answer.json())
    }
}

/// Calls an operation with this caller. `arguments` has the parameters of the path, the query and
/// the body. The messages of a refusal are in `language`.
pub async fn call(
    service: &Arc<Service>,
    caller: Arc<Identified>,
    id: Uuid,
    operation: &'static Operation,
    arguments: Value,
    key: Option<&str>,
    language: &str,
) -> Result<RawOperationResponse, ConsoleRefusal> {
    let request = request(id, operation, arguments, key, caller);
    let outcome = pipeline::call(service, operation, request).await;
    match outcome.answer {
        Ok(answer) => Ok(RawOperationResponse { answer, id }),
        Err(error) => Err(ConsoleRefusal {
            retry_after: outcome.retry_after,
            ..ConsoleRefusal::of(&error, language)
        }),
    }
}

fn understood<T>(
    id: Uuid,
    answer: engine::error::Result<LocalData<T>>,
) -> Result<OperationResponse<T>, ConsoleRefusal> {
    match answer {
        Ok(LocalData { data, total }) => Ok(OperationResponse {
            data,
            total: total.and_then(|total| usize::try_from(total).ok()),
        }),
        Err(error) => {
            let cause = error.cause();
            tracing::error!(request_id = %id, cause, "the console cannot use an answer of an operation");
            Err(ConsoleRefusal::broken())
        }
    }
}

/// Logs that a part of an operation's answer could not be parsed. Returns the refusal that the
/// member sees.
pub fn unparsable(id: Uuid, operation: &str, cause: &serde_json::Error) -> ConsoleRefusal {
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

/// Formats a value for the path or the query.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
