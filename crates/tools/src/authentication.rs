//! Authentication of messages to the tool interface: allowed origins, valid tokens, and well-formed
//! messages.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use engine::app::App;
use engine::error::{Error, ErrorKind, Result};
use engine::pipeline::{self, Receiving, Requester, RequiredCredential, Service};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Collected, LengthLimitError, Limited};
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use tokio::time::Instant;
use url::Url;
use uuid::Uuid;
use vestibule_http::surface::{
    RequestId, add_quota_headers, attach_operation, refuse, with_challenge,
};

use super::selection::{self, Selection};
use super::{BODY_LIMIT, catalogue};

/// The time that a client has to send a message.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// If a message takes at least this time to arrive, its caller is authenticated again, because the
/// credential may have been revoked in this time.
const AUTHENTICATION_LIFETIME: Duration = Duration::from_millis(100);
/// The header with the version of MCP that the client uses.
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The content type of MCP messages.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The content types that the MCP library requires in a client's `Accept` header.
const JSON_AND_EVENTS: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");

/// Returns whether a client accepts JSON: by the content type, by a range such as `*/*`, or by
/// sending no `Accept`. A content type or range with the weight 0 does not count.
fn takes_json(headers: &HeaderMap) -> bool {
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .flat_map(|value| value.to_str().unwrap_or_default().split(','))
        .map(|range| {
            let (essence, parameters) = range.split_once(';').unwrap_or((range, ""));
            let is_refused = parameters
                .split(';')
                .filter_map(|parameter| parameter.trim().strip_prefix("q="))
                .any(|weight| {
                    weight
                        .trim()
                        .parse::<f32>()
                        .is_ok_and(|weight| weight <= 0.0)
                });
            (essence.trim().to_ascii_lowercase(), is_refused)
        })
        .filter(|(essence, _)| !essence.is_empty())
        .peekable();
    ranges.peek().is_none()
        || ranges.any(|(essence, is_refused)| {
            !is_refused && ["*/*", "application/*", "application/json"].contains(&essence.as_str())
        })
}

/// Authenticates the messages to the tool interface, and checks the origin of the page that sent
/// them.
pub(super) struct MessageAuthentication {
    service: Arc<Service>,
    /// The origins whose pages may call the tools.
    origins: HashSet<String>,
}

impl MessageAuthentication {
    pub(super) fn new(service: Arc<Service>, origins: &[String]) -> Self {
        let own_origin =
            Url::parse(&service.app_state.public_url).map(|url| url.origin().ascii_serialization());
        Self {
            origins: origins.iter().cloned().chain(own_origin).collect(),
            service,
        }
    }

    /// Refuses a request from a web page whose origin is not allowed, even if the credential is
    /// valid. Browsers send the origin of the page in the header `Origin`.
    fn check_origin(&self, headers: &HeaderMap) -> Result<()> {
        let is_allowed = |origin: &HeaderValue| {
            origin
                .to_str()
                .is_ok_and(|origin| self.origins.contains(origin))
        };
        if headers.get_all(ORIGIN).iter().all(is_allowed) {
            Ok(())
        } else {
            Err(Error::forbidden(
                "Requests from this origin are not allowed.",
            ))
        }
    }
}

/// The JSON-RPC error for a malformed message.
struct Fault {
    code: ErrorCode,
    message: String,
    /// The id of the message, or null if the id cannot be read.
    id: Value,
}

/// The reason why the body of a tool request cannot be read as a JSON-RPC message.
enum Unreadable {
    /// The message is malformed.
    Fault(Fault),
    /// The memory budget for request bodies has no space for this body. Contains the error with
    /// which the request is refused.
    Refused(Error),
}

impl From<Fault> for Unreadable {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Fault {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            id: Value::Null,
        }
    }

    fn response(&self, status: StatusCode) -> Response {
        let body = json!({
            "jsonrpc": "2.0",
            "id": self.id,
            "error": { "code": self.code.0, "message": self.message },
        });
        (status, [(CONTENT_TYPE, JSON)], body.to_string()).into_response()
    }
}

/// Passes a request to the MCP handler if its credential is valid, its message is well-formed and
/// the rate limit permits it. Does not count a tool call for the rate limit, because the pipeline
/// counts the call.
pub(super) async fn admit(
    State(authentication): State<Arc<MessageAuthentication>>,
    request: HttpRequest,
    next: Next,
) -> Response {
    let service = &authentication.service;
    let id = request
        .extensions()
        .get::<RequestId>()
        .map_or(Uuid::nil(), |id| id.0);
    if let Err(error) = authentication.check_origin(request.headers()) {
        return refuse(&error, id);
    }
    let headers = request.headers().clone();
    let selection = Selection::of(service.app, request.uri());
    let resource = selection::resource(request.uri());
    let refuse_with_challenge = async |error: Error| {
        let error = if error.kind() == ErrorKind::Authentication {
            pipeline::unauthenticated(service, &headers, RequiredCredential::Token(resource)).await
        } else {
            error
        };
        let url = &service.app_state.public_url;
        with_challenge(refuse(&error, id), resource, url, Some(&error))
    };
    let mut identified = match pipeline::at_tools(service, &headers, resource).await {
        Ok(identified) => identified,
        Err(error) => return refuse_with_challenge(error).await,
    };
    let organization = Some(identified.organization.id);
    if let Some(receiving) = request.extensions().get::<Receiving>() {
        receiving.release();
    }
    let (request, started) = (
        request.map(|body| pipeline::counted_for(service, identified.organization.id, body)),
        Instant::now(),
    );
    let body_result = read_message(request).await;
    if started.elapsed() >= AUTHENTICATION_LIFETIME {
        // If the token was revoked while the body arrived, the caller must be refused.
        identified = match pipeline::at_tools(service, &headers, resource).await {
            Ok(identified) => identified,
            Err(error) => return refuse_with_challenge(error).await,
        };
    }
    if let Err(error) = service.wait_for_outbound_space(organization).await {
        return refuse(&error, id);
    }
    let requester = Requester {
        organization,
        credential: identified.access.credential,
    };
    let operation_id = body_result
        .as_ref()
        .ok()
        .and_then(|(_, message)| called_operation(service.app, message))
        .filter(|_| selection.is_ok());
    let quota = if operation_id.is_some() {
        None
    } else {
        service
            .limits
            .quota(identified.owner(), &service.clock)
            .await
    };
    let mut response = match (selection, body_result) {
        _ if quota.is_some_and(|quota| quota.retry_after.is_some()) => {
            refuse(&ErrorKind::RateLimit.into(), id)
        }
        (Err(error), _) | (Ok(_), Err(Unreadable::Refused(error))) => refuse(&error, id),
        (Ok(_), Ok((request, message))) if requests_session(request.headers(), &message) => Fault {
            id: self::id(&message),
            ..Fault::new(
                ErrorCode::METHOD_NOT_FOUND,
                "this revision of the protocol has no initialize; send requests without it",
            )
        }
        .response(StatusCode::NOT_FOUND),
        (Ok(selection), Ok((mut request, message))) => {
            let extensions = request.extensions_mut();
            extensions.insert(identified);
            extensions.insert(selection);
            to_json_rpc_error(next.run(request).await, &message).await
        }
        (Ok(_), Err(Unreadable::Fault(fault))) => fault.response(StatusCode::BAD_REQUEST),
    };
    if let Some(quota) = quota {
        add_quota_headers(quota, response.headers_mut());
    }
    attach_operation(
        &mut response,
        operation_id.unwrap_or("mcp"),
        Some(requester),
    );
    response
}

/// Reads the body of a request and parses the message in it. Returns the request with its body, and
/// the message. The MCP library's reader is not used, because it has no deadline and accepts
/// duplicate keys.
async fn read_message(request: HttpRequest) -> Result<(HttpRequest, Value), Unreadable> {
    let (mut parts, body) = request.into_parts();
    if parts.method != Method::POST {
        return Ok((HttpRequest::from_parts(parts, Body::empty()), Value::Null));
    }
    let invalid_request =
        |message: String| Err(Fault::new(ErrorCode::INVALID_REQUEST, message).into());
    let bytes =
        match tokio::time::timeout(BODY_DEADLINE, Limited::new(body, BODY_LIMIT).collect()).await {
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return invalid_request(format!("the body is larger than {BODY_LIMIT} bytes"));
            }
            Ok(Err(error)) => {
                return Err(pipeline::out_of_memory(&*error).map_or_else(
                    || {
                        Unreadable::Fault(Fault::new(
                            ErrorCode::INVALID_REQUEST,
                            format!("the body could not be read: {error}"),
                        ))
                    },
                    Unreadable::Refused,
                ));
            }
            Err(_) => return invalid_request("the body did not arrive in time".into()),
        };
    // A body without a content type is treated as JSON, as in REST.
    let kind = parts.headers.entry(CONTENT_TYPE).or_insert(JSON);
    let essence = kind
        .to_str()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    if !essence.trim().eq_ignore_ascii_case("application/json") {
        return invalid_request("the content type must be application/json".into());
    }
    // The MCP library refuses some values of `Content-Type` and `Accept` that clients send. So both
    // headers are replaced by values that the library accepts.
    *kind = JSON;
    if takes_json(&parts.headers) {
        parts.headers.insert(ACCEPT, JSON_AND_EVENTS);
    }
    let message =
        engine::json::parse(&bytes).map_err(|reason| Fault::new(ErrorCode::PARSE_ERROR, reason))?;
    check(&message)?;
    Ok((HttpRequest::from_parts(parts, Body::from(bytes)), message))
}

/// Checks that a JSON value is one JSON-RPC message (section 4 of its specification). MCP has had
/// no batches of messages since its version 2025-06-18.
fn check(message: &Value) -> Result<(), Fault> {
    let fault = |reason: &str| {
        Err(Fault {
            id: id(message),
            ..Fault::new(ErrorCode::INVALID_REQUEST, reason)
        })
    };
    let Value::Object(fields) = message else {
        return fault(if message.is_array() {
            "batches are not supported; send one message per request"
        } else {
            "the message must be a JSON object"
        });
    };
    if message["jsonrpc"] != "2.0" {
        return fault("\"jsonrpc\" must be \"2.0\"");
    }
    if fields.contains_key("id") && id(message).is_null() {
        return fault("\"id\" must be a string or an integer");
    }
    let is_answer = fields.contains_key("result") || fields.contains_key("error");
    if !is_answer && !message["method"].is_string() {
        return fault("\"method\" must be a string");
    }
    if fields
        .get("params")
        .is_some_and(|params| !params.is_object())
    {
        return fault("\"params\" must be an object");
    }
    Ok(())
}

/// Returns the id of a JSON-RPC message; null if the id is missing or has a wrong type.
fn id(message: &Value) -> Value {
    let id = &message["id"];
    if id.is_string() || id.is_i64() || id.is_u64() {
        id.clone()
    } else {
        Value::Null
    }
}

/// The first version of MCP in which clients send no `initialize` message.
const FIRST_STATELESS_VERSION: &str = "2026-07-28";

/// Returns whether a message requests a session in a version of MCP that has no sessions. Versions
/// are dates, so they are compared as text.
fn requests_session(headers: &HeaderMap, message: &Value) -> bool {
    let header_version = headers
        .get(PROTOCOL_VERSION)
        .and_then(|version| version.to_str().ok());
    let message_version = message["params"]["protocolVersion"].as_str();
    let is_stateless =
        |version: Option<&str>| version.is_some_and(|version| version >= FIRST_STATELESS_VERSION);
    message["method"] == "initialize"
        && (is_stateless(header_version) || is_stateless(message_version))
}

/// Returns the operation that a message calls.
fn called_operation(app: &'static App, message: &Value) -> Option<&'static str> {
    let name = message["params"]["name"]
        .as_str()
        .filter(|_| message["method"] == "tools/call");
    name.and_then(|name| catalogue::find_operation(app, name))
        .map(|operation| operation.id)
}

/// Converts a plain-text error of the MCP library to an error of JSON-RPC.
async fn to_json_rpc_error(response: Response, message: &Value) -> Response {
    let is_json = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(JSON.as_bytes()));
    if !response.status().is_client_error() || is_json {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = Limited::new(body, BODY_LIMIT)
        .collect()
        .await
        .map(Collected::to_bytes)
        .unwrap_or_default();
    let reason = String::from_utf8_lossy(&text).into_owned();
    let fault = Fault {
        id: id(message),
        ..Fault::new(ErrorCode::INVALID_REQUEST, reason)
    };
    // For a wrong method, `Accept` header or path, the response has the library's HTTP status. All
    // other errors concern the message and get the status 400.
    let is_http_error = [
        StatusCode::METHOD_NOT_ALLOWED,
        StatusCode::NOT_ACCEPTABLE,
        StatusCode::NOT_FOUND,
    ]
    .contains(&parts.status);
    let error_response = fault.response(if is_http_error {
        parts.status
    } else {
        StatusCode::BAD_REQUEST
    });
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, JSON);
    parts.status = error_response.status();
    Response::from_parts(parts, error_response.into_body())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_accepted_by_name_by_a_range_and_by_silence() {
        let accepts = |lines: &[&'static str]| {
            let lines = lines
                .iter()
                .map(|line| (ACCEPT, HeaderValue::from_static(line)));
            takes_json(&lines.collect())
        };
        assert!(accepts(&[]) && accepts(&[""]));
        for line in [
            "application/json",
            "*/*",
            "Application/JSON; charset=utf-8",
            "text/html, */*;q=0.8",
            "application/*",
            "text/event-stream, application/json",
        ] {
            assert!(accepts(&[line]), "{line}");
        }
        for line in [
            "text/html",
            "text/event-stream",
            "application/json;q=0",
            "image/*",
        ] {
            assert!(!accepts(&[line]), "{line}");
        }
    }

    #[test]
    fn json_that_is_not_a_json_rpc_message_is_refused() {
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
            (
                json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }]),
                json!(null),
            ),
            (json!({ "id": 7, "method": "ping" }), json!(7)),
            (
                json!({ "jsonrpc": "1.0", "id": 7, "method": "ping" }),
                json!(7),
            ),
            (
                json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }),
                json!(null),
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1.5, "method": "ping" }),
                json!(null),
            ),
            (json!({ "jsonrpc": "2.0", "id": 7 }), json!(7)),
            (json!({ "jsonrpc": "2.0", "id": 7, "method": 1 }), json!(7)),
            (
                json!({ "jsonrpc": "2.0", "id": 7, "method": "ping", "params": [] }),
                json!(7),
            ),
        ] {
            let fault = check(&message).err().unwrap();
            assert_eq!(
                (fault.code, fault.id),
                (ErrorCode::INVALID_REQUEST, id),
                "{message}"
            );
        }
    }
}
