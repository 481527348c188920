//! The tool interface: the operations as MCP tools, over streamable HTTP at `/mcp`.
//!
//! A tool is an operation read another way, so nothing is declared here. Each call enters the pipeline like a REST
//! request and is authenticated, limited and validated there; the check in front keeps strangers from the protocol, and counts
//! what calls no tool.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::header::{CONTENT_TYPE, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use url::Url;
use uuid::Uuid;

use super::router::{RequestId, challenged, note, refuse, tell};
use crate::access::{Identified, Resource};
use crate::app::App;
use crate::error::{Error, Kind, Result};
use crate::operation::{Effect, Operation, Surface, Work, inline_generator};
use crate::pipeline::{self, Outcome, Payload, Request, Requester, Service};

/// Where it is found.
pub const PATH: &str = "/mcp";
/// The greatest message in bytes.
const BODY_LIMIT: usize = 1 << 20;
/// How long a client may take to send one.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// The routes of the tool interface, for pages of these origins and of the service's own.
pub fn router(service: Arc<Service>, origins: &[String]) -> Router {
    // Without sessions any node answers any request. The Host is not checked, because that guards servers that trust whoever
    // can reach them, and here every request needs a token that a rebound browser page does not have.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_LIMIT)
        .disable_allowed_hosts();
    let shared = service.clone();
    let tools = Arc::<OnceLock<Vec<Tool>>>::default();
    let handler = move || Ok(Handler { service: shared.clone(), tools: tools.clone() });
    let protocol = StreamableHttpService::new(handler, Arc::new(NeverSessionManager::default()), config);
    let own = Url::parse(&service.kit.public_url).map(|url| url.origin().ascii_serialization());
    let admission = Admission { service, origins: origins.iter().cloned().chain(own).collect() };
    Router::new().route_service(PATH, protocol).route_layer(middleware::from_fn_with_state(Arc::new(admission), admit))
}

/// What is to be known of whoever comes in.
struct Admission {
    service: Arc<Service>,
    /// The origins whose pages may.
    origins: HashSet<String>,
}

impl Admission {
    /// A browser says which page asks, and no other page gets in, whatever credential it may have come by.
    fn check_origin(&self, headers: &HeaderMap) -> Result<()> {
        let is_known = |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| self.origins.contains(origin));
        if headers.get_all(ORIGIN).iter().all(is_known) { Ok(()) } else { Err(Error::forbidden("This origin is not let in.")) }
    }
}

/// Lets those with a valid credential through, with a body that is strict JSON, as often as their limit allows. A call of a tool
/// is counted where all operations are.
async fn admit(State(admission): State<Arc<Admission>>, request: HttpRequest, next: Next) -> Response {
    let service = &admission.service;
    let id = request.extensions().get::<RequestId>().map_or(Uuid::nil(), |id| id.0);
    if let Err(error) = admission.check_origin(request.headers()) {
        return refuse(&error, id);
    }
    let headers = request.headers().clone();
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
    let called = read.as_ref().ok().and_then(|(_, message)| called(service.app, message));
    let quota = if called.is_some() { None } else { service.limits.quota(identified.owner(), &service.clock).await };
    let mut response = match read {
        _ if quota.is_some_and(|quota| quota.retry_after.is_some()) => refuse(&Kind::RateLimit.into(), id),
        Ok((mut request, _)) => {
            request.extensions_mut().insert(identified);
            next.run(request).await
        }
        Err((code, message)) => protocol_error(code, &message),
    };
    if let Some(quota) = quota {
        tell(quota, response.headers_mut());
    }
    note(&mut response, called.unwrap_or("mcp"), Some(requester));
    response
}

/// The request with its body read, and what the body says. The protocol's own reader knows no deadline, and of duplicate
/// keys it would keep the last.
async fn buffered(request: HttpRequest) -> Result<(HttpRequest, Value), (ErrorCode, String)> {
    let (parts, body) = request.into_parts();
    if parts.method != Method::POST {
        return Ok((HttpRequest::from_parts(parts, Body::empty()), Value::Null));
    }
    let refuse = |message: String| Err((ErrorCode::INVALID_REQUEST, message));
    let bytes = match tokio::time::timeout(BODY_DEADLINE, Limited::new(body, BODY_LIMIT).collect()).await {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return refuse(format!("the body is larger than {BODY_LIMIT} bytes")),
        Ok(Err(error)) => return refuse(format!("the body could not be read: {error}")),
        Err(_) => return refuse("the body did not arrive in time".into()),
    };
    let message = crate::json::parse(&bytes).map_err(|reason| (ErrorCode::PARSE_ERROR, reason))?;
    Ok((HttpRequest::from_parts(parts, Body::from(bytes)), message))
}

/// The operation that a message calls.
fn called(app: &'static App, message: &Value) -> Option<&'static str> {
    let name = message["params"]["name"].as_str().filter(|_| message["method"] == "tools/call");
    name.and_then(|name| find(app, name)).map(|operation| operation.id)
}

/// A refusal as the protocol writes it, for a body of which no request id can be read.
fn protocol_error(code: ErrorCode, message: &str) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code.0, "message": message } });
    let kind = HeaderValue::from_static("application/json");
    (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, kind)], body.to_string()).into_response()
}

/// Every operation that is a tool, as one.
#[must_use]
pub fn describe_all(app: &App) -> Vec<Tool> {
    operations(app).map(describe).collect()
}

fn operations(app: &App) -> impl Iterator<Item = &Operation> {
    app.operations.iter().filter(|operation| operation.surface == Surface::Public && operation.is_tool)
}

fn find(app: &'static App, name: &str) -> Option<&'static Operation> {
    operations(app).find(|operation| operation.id == name)
}

fn describe(operation: &Operation) -> Tool {
    let mut generator = inline_generator();
    let input = arguments_schema(operation, operation.input_schema(&mut generator));
    let output = result_schema(operation, &operation.output_schema(&mut generator));
    let annotations = ToolAnnotations::new()
        .read_only(operation.effect == Effect::Read)
        .destructive(operation.is_destructive)
        .idempotent(operation.method != Method::POST)
        .open_world(matches!(operation.work, Work::Provider(_)));
    Tool::new(operation.id, operation.summary, input).with_raw_output_schema(output.into()).with_annotations(annotations)
}

/// The operation's fields, without those a tool caller cannot send.
fn arguments_schema(operation: &Operation, schema: Value) -> Map<String, Value> {
    let mut schema = object(schema);
    let is_left_out = |name: &str| operation.not_for_tools.contains(&name);
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.retain(|name, _| !is_left_out(name));
    }
    if let Some(Value::Array(names)) = schema.get_mut("required") {
        names.retain(|name| !name.as_str().is_some_and(is_left_out));
    }
    // The examples are of REST bodies, which are not the whole of the arguments.
    schema.remove("examples");
    schema.insert("type".into(), "object".into());
    schema
}

fn result_schema(operation: &Operation, data: &Value) -> Map<String, Value> {
    let mut properties = json!({ "data": data });
    if operation.paging.is_some() {
        properties["pagination"] = json!({
            "type": "object",
            "properties": { "limit": { "type": "integer" }, "offset": { "type": "integer" }, "total": { "type": "integer" } },
            "required": ["limit", "offset", "total"],
        });
    }
    object(json!({ "type": "object", "properties": properties, "required": ["data"] }))
}

fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Answers one request of the protocol.
struct Handler {
    service: Arc<Service>,
    /// The tools, described once: they are the same for every caller.
    tools: Arc<OnceLock<Vec<Tool>>>,
}

impl Handler {
    fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(|| describe_all(self.service.app))
    }

    async fn run(&self, operation: &'static Operation, request: Request) -> Result<Outcome> {
        // The call runs in a task of the protocol's; a panic there would leave the client waiting for an answer.
        let outcome = AssertUnwindSafe(pipeline::handle(&self.service, operation, request)).catch_unwind().await;
        outcome.map_err(|_| Error::internal("a tool call panicked"))
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("vestibule", env!("CARGO_PKG_VERSION")).with_title("Vestibule"))
            .with_instructions(self.service.app.about.instructions)
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(&self, call: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let Some(operation) = find(self.service.app, &call.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool named {}", call.name), None));
        };
        let parts = context.extensions.get::<Parts>();
        // The id of the HTTP request is the call's, so that the header and the log say the same.
        let id = parts.and_then(|parts| parts.extensions.get::<RequestId>());
        let request = Request {
            id: id.map_or_else(|| self.service.kit.ids.uuid(self.service.clock.now()), |id| id.0),
            path: Vec::new(),
            query: Vec::new(),
            headers: parts.map(|parts| parts.headers.clone()).unwrap_or_default(),
            payload: Payload::Arguments(call.arguments.unwrap_or_default()),
            caller: parts.and_then(|parts| parts.extensions.get::<Arc<Identified>>()).cloned(),
        };
        let result = self.run(operation, request).await.and_then(result);
        Ok(result.unwrap_or_else(|error| refused(&error.body())).into())
    }
}

/// An outcome of the pipeline as the protocol puts it.
fn result(outcome: Outcome) -> Result<CallToolResult> {
    let Outcome { status, body, .. } = outcome;
    let mut body: Value = serde_json::from_str(&body.into_text()).map_err(Error::internal)?;
    let mut take = |pointer: &str| body.pointer_mut(pointer).map(Value::take);
    if !(200..300).contains(&status) {
        return Ok(refused(&take("/error").unwrap_or_default()));
    }
    let mut content = json!({ "data": take("/data") });
    if let Some(pagination) = take("/meta/pagination") {
        content["pagination"] = pagination;
    }
    Ok(CallToolResult::structured(content))
}

fn refused(error: &Value) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: u16, body: &str) -> Outcome {
        Outcome {
            status,
            body: pipeline::Body::Text(body.into()),
            etag: None,
            quota: None,
            is_replay: false,
            retry_after: None,
            requester: None,
        }
    }

    #[test]
    fn a_success_moves_its_pagination_beside_its_data() {
        let body = r#"{"data":[1],"meta":{"requestId":"r","pagination":{"limit":1,"offset":0,"total":9}}}"#;
        let result = result(outcome(200, body)).unwrap();
        let content = json!({ "data": [1], "pagination": { "limit": 1, "offset": 0, "total": 9 } });
        assert_eq!(result.structured_content.as_ref(), Some(&content));
        assert_eq!(result.content, [ContentBlock::text(content.to_string())]);
        assert_eq!(result.is_error, Some(false));
        let plain = super::result(outcome(201, r#"{"data":{"id":1},"meta":{"requestId":"r"}}"#)).unwrap();
        assert_eq!(plain.structured_content, Some(json!({ "data": { "id": 1 } })));
    }

    #[test]
    fn a_refusal_is_the_error_of_rest_as_text() {
        let body = pipeline::error_body(&Error::invalid(&["nickname"], "is required"), Uuid::nil());
        let result = result(outcome(400, &body)).unwrap();
        assert_eq!(result.is_error, Some(true));
        assert_eq!(result.structured_content, None);
        let text = Error::invalid(&["nickname"], "is required").body().to_string();
        assert_eq!(result.content, [ContentBlock::text(text)]);
    }
}
