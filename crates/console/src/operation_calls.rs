//! Calls operations of the REST interface through the pipeline, with the signed-in member as
//! caller.

use std::sync::Arc;

use axum::body::Body;
use engine::access::Identified;
use engine::operation::{Operation, Surface};
use engine::pipeline::{self, LocalAnswer, Payload, Request, Service};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::refusal::ConsoleRefusal;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Returns the public operation with this id. The console calls no other operations, so a REST
/// client can do everything that the console does.
pub fn operation(service: &Service, id: &str) -> Option<&'static Operation> {
    service
        .app
        .operation(id)
        .filter(|operation| operation.surface == Surface::Public)
}

/// Calls an operation as `caller`. `arguments` has the parameters of the path, the query and the
/// body. `key` is the idempotency key. The messages of a refusal are in `language`.
pub async fn call(
    service: &Arc<Service>,
    caller: Arc<Identified>,
    id: Uuid,
    operation: &'static Operation,
    arguments: Value,
    key: Option<&str>,
    language: &str,
) -> Result<LocalAnswer, ConsoleRefusal> {
    let request = request(id, operation, arguments, key, caller);
    let outcome = pipeline::call(service, operation, request).await;
    outcome.answer.map_err(|error| ConsoleRefusal {
        retry_after: outcome.retry_after,
        ..ConsoleRefusal::of(&error, language)
    })
}

/// Returns the data of an operation's answer. If the console cannot use the answer, logs the error
/// and returns the refusal that the member sees.
pub fn understood<T>(id: Uuid, answer: engine::error::Result<T>) -> Result<T, ConsoleRefusal> {
    answer.map_err(|error| {
        let cause = error.cause();
        tracing::error!(
            request_id = %id,
            cause,
            "the console cannot use an answer of an operation"
        );
        ConsoleRefusal::broken()
    })
}

/// Logs that a part of an operation's answer could not be parsed. Returns the refusal that the
/// member sees.
pub fn unparsable(id: Uuid, operation: &str, cause: &serde_json::Error) -> ConsoleRefusal {
    tracing::error!(
        request_id = %id,
        operation,
        %cause,
        "the console cannot parse an answer of an operation"
    );
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

/// Formats an argument as the text of a path parameter or a query parameter.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
