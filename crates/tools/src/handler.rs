//! The responses to MCP requests.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use engine::access::Identified;
use engine::error::{Error, Result};
use engine::operation::Operation;
use engine::pipeline::{self, Outcome, Payload, Request, Service};
use futures_util::FutureExt as _;
use http::request::Parts;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult,
    CompleteRequestMethod, CompleteRequestParams, CompleteResult, ConstString, ContentBlock,
    CustomRequest, CustomResult, ErrorCode, Implementation, InitializeResultMethod,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
    ListToolsRequestMethod, ListToolsResult, PaginatedRequestParams, PingRequestMethod,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use vestibule_http::surface::RequestId;

use super::catalogue::{self, Catalogue};
use super::selection::Selection;

/// Handles one MCP request.
pub(super) struct Handler {
    service: Arc<Service>,
    catalogue: Arc<OnceLock<Catalogue>>,
}

impl Handler {
    pub(super) const fn new(service: Arc<Service>, catalogue: Arc<OnceLock<Catalogue>>) -> Self {
        Self { service, catalogue }
    }

    fn catalogue(&self) -> &Catalogue {
        self.catalogue
            .get_or_init(|| Catalogue::of(self.service.app))
    }

    async fn run(&self, operation: &'static Operation, request: Request) -> Result<Outcome> {
        // The MCP library runs the call in a separate task. A panic there would leave the client
        // without a response.
        let outcome = AssertUnwindSafe(pipeline::handle(&self.service, operation, request))
            .catch_unwind()
            .await;
        outcome.map_err(|_| Error::internal("a tool call panicked"))
    }
}

/// Returns a value that a layer around this handler has attached to the HTTP request.
fn extension_of<T: Clone + Send + Sync + 'static>(
    context: &RequestContext<RoleServer>,
) -> Option<T> {
    context
        .extensions
        .get::<Parts>()
        .and_then(|parts| parts.extensions.get::<T>())
        .cloned()
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(
                Implementation::new("vestibule", env!("CARGO_PKG_VERSION")).with_title("Vestibule"),
            )
            .with_instructions(self.service.app.about.instructions)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let selection = extension_of::<Selection>(&context).unwrap_or_default();
        let caller = extension_of::<Arc<Identified>>(&context)
            .ok_or_else(|| ErrorData::internal_error("nobody asks", None))?;
        Ok(ListToolsResult::with_all_items(self.catalogue().listed(
            &selection,
            &caller.access,
            &self.service.app_state,
        )))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.catalogue().by_name(name).cloned()
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let selection = extension_of::<Selection>(&context).unwrap_or_default();
        let Some(operation) =
            catalogue::find_operation(self.service.app, &call.name).filter(|operation| {
                selection.has(operation)
                    && catalogue::is_offered(operation, &self.service.app_state)
            })
        else {
            return Err(ErrorData::invalid_params(
                format!("there is no tool named {}", call.name),
                None,
            ));
        };
        let parts = context.extensions.get::<Parts>();
        let request = Request {
            // The call uses the id of its HTTP request, so that the log has the id that the client
            // gets in `X-Request-Id`.
            id: extension_of::<RequestId>(&context).map_or_else(
                || self.service.app_state.ids.uuid(self.service.clock.now()),
                |id| id.0,
            ),
            path: Vec::new(),
            query: Vec::new(),
            headers: parts.map(|parts| parts.headers.clone()).unwrap_or_default(),
            payload: Payload::Arguments(call.arguments.unwrap_or_default()),
            caller: extension_of::<Arc<Identified>>(&context),
        };
        let advice = self.service.app.about.advice;
        let result = self
            .run(operation, request)
            .await
            .and_then(|outcome| result(outcome, advice));
        Ok(result
            .unwrap_or_else(|error| error_result(&error.body(), None))
            .into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    /// Responds to requests that the MCP library cannot parse: an unknown method, or wrong
    /// parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let methods = [
            InitializeResultMethod::VALUE,
            PingRequestMethod::VALUE,
            ListToolsRequestMethod::VALUE,
            CallToolRequestMethod::VALUE,
        ];
        if methods.contains(&method.as_str()) {
            return Err(ErrorData::invalid_params(
                format!("the parameters are not valid for {method}"),
                None,
            ));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}

/// Converts an outcome of the pipeline to an MCP result.
fn result(outcome: Outcome, advice: fn(&Value) -> Option<String>) -> Result<CallToolResult> {
    let Outcome {
        status,
        body,
        retry_after,
        ..
    } = outcome;
    let mut body: Value = serde_json::from_str(&body.into_text()).map_err(Error::internal)?;
    let mut take = |pointer: &str| body.pointer_mut(pointer).map(Value::take);
    if !(200..300).contains(&status) {
        let mut error = take("/error").unwrap_or_default();
        if let Some(seconds) = retry_after {
            // A tool's result has no headers. The error's details therefore contain the value of
            // `Retry-After`.
            error["details"]["retryAfterSeconds"] = seconds.into();
        }
        let advice = advice(&error);
        return Ok(error_result(&error, advice));
    }
    let mut data = take("/data").unwrap_or_default();
    remove_empty(&mut data);
    let mut content = json!({ "data": data });
    if let Some(pagination) = take("/meta/pagination") {
        content["pagination"] = pagination;
    }
    Ok(CallToolResult::structured(content))
}

/// Removes the fields of a result that are null, false or an empty list, to save tokens. The
/// instructions of the tool interface explain to language models what a missing field means.
fn remove_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_empty = |value: &Value| {
                matches!(value, Value::Null | Value::Bool(false))
                    || value.as_array().is_some_and(Vec::is_empty)
            };
            fields.retain(|_, value| !is_empty(value));
            fields.values_mut().for_each(remove_empty);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_empty),
        _ => {}
    }
}

/// Returns the REST error as JSON text, and then the advice on the next step, if there is any.
fn error_result(error: &Value, advice: Option<String>) -> CallToolResult {
    CallToolResult::error(
        [Some(error.to_string()), advice]
            .into_iter()
            .flatten()
            .map(ContentBlock::text)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn no_advice(_: &Value) -> Option<String> {
        None
    }

    fn outcome(status: u16, body: &str) -> Outcome {
        Outcome {
            status,
            body: pipeline::Body::Text(body.into()),
            etag: None,
            quota: None,
            is_replay: false,
            retry_after: None,
            requester: None,
            error: None,
        }
    }

    #[test]
    fn a_tool_result_omits_null_false_and_empty_fields() {
        let mut data = json!([
            {
                "id": 1,
                "name": null,
                "isActive": false,
                "tags": [],
                "count": 0,
                "text": "",
                "of": { "a": null, "b": true },
            },
            null,
        ]);
        remove_empty(&mut data);
        assert_eq!(
            data,
            json!([{ "id": 1, "count": 0, "text": "", "of": { "b": true } }, null])
        );
        let mut empty = json!([]);
        remove_empty(&mut empty);
        assert_eq!(empty, json!([]));
    }

    #[test]
    fn a_successful_result_has_pagination_beside_its_data() {
        let body = concat!(
            r#"{"data":[1],"meta":{"requestId":"r","#,
            r#""pagination":{"limit":1,"offset":0,"total":9}}}"#
        );
        let result = result(outcome(200, body), no_advice).unwrap();
        let content = json!({ "data": [1], "pagination": { "limit": 1, "offset": 0, "total": 9 } });
        assert_eq!(result.structured_content.as_ref(), Some(&content));
        assert_eq!(result.content, [ContentBlock::text(content.to_string())]);
        assert_eq!(result.is_error, Some(false));
        let plain = super::result(
            outcome(201, r#"{"data":{"id":1},"meta":{"requestId":"r"}}"#),
            no_advice,
        )
        .unwrap();
        assert_eq!(
            plain.structured_content,
            Some(json!({ "data": { "id": 1 } }))
        );
    }

    #[test]
    fn a_refused_call_returns_the_rest_error_as_text() {
        let body = pipeline::error_body(&Error::invalid(&["nickname"], "is required"), Uuid::nil());
        let result = result(outcome(400, &body), no_advice).unwrap();
        assert_eq!(result.is_error, Some(true));
        assert_eq!(result.structured_content, None);
        let text = Error::invalid(&["nickname"], "is required")
            .body()
            .to_string();
        assert_eq!(result.content, [ContentBlock::text(text)]);
    }

    #[test]
    fn a_rate_limited_call_returns_the_wait_time_and_advice() {
        let body = pipeline::error_body(&engine::error::ErrorKind::RateLimit.into(), Uuid::nil());
        let waiting = Outcome {
            retry_after: Some(7),
            ..outcome(429, &body)
        };
        let result = result(waiting, |error| error["code"].as_str().map(str::to_owned)).unwrap();
        let texts: Vec<_> = result
            .content
            .iter()
            .map(|content| content.as_text().unwrap().text.clone())
            .collect();
        let error: Value = serde_json::from_str(&texts[0]).unwrap();
        assert_eq!(
            (&error["details"]["retryAfterSeconds"], &*texts[1]),
            (&json!(7), "RATE_LIMITED")
        );
    }
}
