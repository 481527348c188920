//! Who gets to the protocol: pages that are known, callers with a good token, messages that are some.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Collected, LengthLimitError, Limited};
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;

use super::selection::Selection;
use super::{BODY_LIMIT, catalogue};
use crate::access::Resource;
use crate::app::App;
use crate::error::{Error, Kind, Result};
use crate::pipeline::{self, Requester, Service};
use crate::surface::router::{RequestId, challenged, note, refuse, tell};

/// How long a client may take to send a message.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// What the protocol's messages are sent as.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What is to be known of whoever comes in.
pub(super) struct Admission {
    service: Arc<Service>,
    /// The origins whose pages may.
    origins: HashSet<String>,
}

impl Admission {
    pub(super) fn new(service: Arc<Service>, origins: &[String]) -> Self {
        let own = Url::parse(&service.kit.public_url).map(|url| url.origin().ascii_serialization());
        Self { origins: origins.iter().cloned().chain(own).collect(), service }
    }

    /// A browser says which page asks, and no other page gets in, whatever credential it may have come by.
    fn check_origin(&self, headers: &HeaderMap) -> Result<()> {
        let is_known = |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| self.origins.contains(origin));
        if headers.get_all(ORIGIN).iter().all(is_known) { Ok(()) } else { Err(Error::forbidden("This origin is not let in.")) }
    }
}

/// A message that is none, as the protocol refuses it.
struct Fault {
    code: ErrorCode,
    message: String,
    /// The id of the message, where one can be read.
    id: Value,
}

impl Fault {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), id: Value::Null }
    }

    fn response(&self, status: StatusCode) -> Response {
        let body = json!({ "jsonrpc": "2.0", "id": self.id, "error": { "code": self.code.0, "message": self.message } });
        (status, [(CONTENT_TYPE, JSON)], body.to_string()).into_response()
    }
}

/// Lets those with a valid credential through, with a body that is a message, as often as their limit allows. A call of a tool
/// is counted where all operations are.
pub(super) async fn admit(State(admission): State<Arc<Admission>>, request: HttpRequest, next: Next) -> Response {
    let service = &admission.service;
    let id = request.extensions().get::<RequestId>().map_or(Uuid::nil(), |id| id.0);
    if let Err(error) = admission.check_origin(request.headers()) {
        return refuse(&error, id);
    }
    let headers = request.headers().clone();
    let selection = Selection::of(service.app, request.uri());
    // Read first: whoever is let in is let in as of when all of it was there.
    let read = buffered(request).await;
    let identified = match pipeline::at_tools(service, &headers).await {
        Ok(identified) => identified,
        Err(error) => return challenged(refuse(&error, id), Resource::Mcp, &service.kit.public_url),
    };
    let organization = Some(identified.organization.id);
    if let Err(error) = service.room(organization).await {
        return refuse(&error, id);
    }
    let requester = Requester { organization, credential: identified.access.credential };
    let called = read.as_ref().ok().and_then(|(_, message)| called(service.app, message)).filter(|_| selection.is_ok());
    let quota = if called.is_some() { None } else { service.limits.quota(identified.owner(), &service.clock).await };
    let mut response = match (selection, read) {
        _ if quota.is_some_and(|quota| quota.retry_after.is_some()) => refuse(&Kind::RateLimit.into(), id),
        (Err(error), _) => refuse(&error, id),
        (Ok(selection), Ok((mut request, message))) => {
            let extensions = request.extensions_mut();
            extensions.insert(identified);
            extensions.insert(selection);
            in_json(next.run(request).await, &message).await
        }
        (Ok(_), Err(fault)) => fault.response(StatusCode::BAD_REQUEST),
    };
    if let Some(quota) = quota {
        tell(quota, response.headers_mut());
    }
    note(&mut response, called.unwrap_or("mcp"), Some(requester));
    response
}

/// The request with its body read, and the message that it is. The protocol's own reader knows no deadline, and of duplicate
/// keys it would keep the last.
async fn buffered(request: HttpRequest) -> Result<(HttpRequest, Value), Fault> {
    let (mut parts, body) = request.into_parts();
    if parts.method != Method::POST {
        return Ok((HttpRequest::from_parts(parts, Body::empty()), Value::Null));
    }
    let refuse = |message: String| Err(Fault::new(ErrorCode::INVALID_REQUEST, message));
    let bytes = match tokio::time::timeout(BODY_DEADLINE, Limited::new(body, BODY_LIMIT).collect()).await {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return refuse(format!("the body is larger than {BODY_LIMIT} bytes")),
        Ok(Err(error)) => return refuse(format!("the body could not be read: {error}")),
        Err(_) => return refuse("the body did not arrive in time".into()),
    };
    // A body that does not say what it is is taken as JSON, as everywhere.
    let kind = parts.headers.entry(CONTENT_TYPE).or_insert(JSON);
    let essence = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    if !essence.trim().eq_ignore_ascii_case("application/json") {
        return refuse("the content type must be application/json".into());
    }
    let message = crate::json::parse(&bytes).map_err(|reason| Fault::new(ErrorCode::PARSE_ERROR, reason))?;
    check(&message)?;
    Ok((HttpRequest::from_parts(parts, Body::from(bytes)), message))
}

/// Whether JSON is one message of JSON-RPC (its section 4; the protocol has no batches since its revision 2025-06-18).
fn check(message: &Value) -> Result<(), Fault> {
    let fault = |reason: &str| Err(Fault { id: id(message), ..Fault::new(ErrorCode::INVALID_REQUEST, reason) });
    let Value::Object(fields) = message else {
        return fault(if message.is_array() { "batches are not taken: send one message at a time" } else { "a message is a JSON object" });
    };
    if message["jsonrpc"] != "2.0" {
        return fault("a message has \"jsonrpc\": \"2.0\"");
    }
    if fields.contains_key("id") && id(message).is_null() {
        return fault("\"id\" must be a text or a whole number");
    }
    let is_answer = fields.contains_key("result") || fields.contains_key("error");
    if !is_answer && !message["method"].is_string() {
        return fault("a request has a \"method\", a text");
    }
    if fields.get("params").is_some_and(|params| !params.is_object()) {
        return fault("\"params\" must be an object");
    }
    Ok(())
}

/// The id of a message, or null.
fn id(message: &Value) -> Value {
    let id = &message["id"];
    if id.is_string() || id.is_i64() || id.is_u64() { id.clone() } else { Value::Null }
}

/// The operation that a message calls.
fn called(app: &'static App, message: &Value) -> Option<&'static str> {
    let name = message["params"]["name"].as_str().filter(|_| message["method"] == "tools/call");
    name.and_then(|name| catalogue::find(app, name)).map(|operation| operation.id)
}

/// What the protocol's library refuses in plain text, as an error of JSON-RPC.
async fn in_json(response: Response, message: &Value) -> Response {
    let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(JSON.as_bytes()));
    if !response.status().is_client_error() || is_json {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = Limited::new(body, BODY_LIMIT).collect().await.map(Collected::to_bytes).unwrap_or_default();
    let reason = String::from_utf8_lossy(&text).into_owned();
    let fault = Fault { id: id(message), ..Fault::new(ErrorCode::INVALID_REQUEST, reason) };
    // A method that is not let in, and an answer that is not taken, are matters of HTTP; the rest is of the message.
    let is_of_http = [StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_ACCEPTABLE, StatusCode::NOT_FOUND].contains(&parts.status);
    let refused = fault.response(if is_of_http { parts.status } else { StatusCode::BAD_REQUEST });
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, JSON);
    parts.status = refused.status();
    Response::from_parts(parts, refused.into_body())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_from_json_that_is_none() {
        for message in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
            json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": {} }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        ] {
            assert!(check(&message).is_ok(), "{message}");
        }
        for (message, id) in [
            (json!(5), json!(null)),
            (json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }]), json!(null)),
            (json!({ "id": 7, "method": "ping" }), json!(7)),
            (json!({ "jsonrpc": "1.0", "id": 7, "method": "ping" }), json!(7)),
            (json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }), json!(null)),
            (json!({ "jsonrpc": "2.0", "id": 1.5, "method": "ping" }), json!(null)),
            (json!({ "jsonrpc": "2.0", "id": 7 }), json!(7)),
            (json!({ "jsonrpc": "2.0", "id": 7, "method": 1 }), json!(7)),
            (json!({ "jsonrpc": "2.0", "id": 7, "method": "ping", "params": [] }), json!(7)),
        ] {
            let fault = check(&message).err().unwrap();
            assert_eq!((fault.code, fault.id), (ErrorCode::INVALID_REQUEST, id), "{message}");
        }
    }
}
