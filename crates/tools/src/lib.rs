//! The tool interface: the operations as MCP tools, over streamable HTTP at `/mcp`.
//!
//! The tools are derived from operations, so this module declares none. Each call enters the
//! pipeline like a REST request, with its limits and validation. The middleware in
//! [`authentication`] authenticates every message, and limits the rate of messages that call no
//! tool. [`catalogue`] decides which tools a caller can list. [`compact`] makes their schemas
//! compact.

mod authentication;
mod catalogue;
mod compact;
mod handler;
mod selection;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::middleware;
use engine::access::Resource;
use engine::pipeline::Service;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use self::authentication::MessageAuthentication;
pub use self::catalogue::describe_all;
use self::handler::Handler;

/// The path of the tool interface. It has all tools, those that read and those that write.
pub const PATH: &str = "/mcp";
/// The path of a second tool interface, which has only the tools that read.
const READ_ONLY_PATH: &str = Resource::McpReadOnly.path();
/// The maximum size of a message in bytes.
const BODY_LIMIT: usize = 1 << 20;

/// Returns the routes of the tool interface. Browsers may call it from the origins in `origins` and
/// from the service's own origin.
pub fn router(service: Arc<Service>, origins: &[String]) -> Router {
    // Sessions are disabled, so any node can respond to any request. The Host header is not
    // checked: that check protects servers without authentication against DNS rebinding. Here every
    // request needs a token, which an attacker's page does not have.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_LIMIT)
        .disable_allowed_hosts();
    let handler_service = service.clone();
    let catalogue = Arc::<OnceLock<_>>::default();
    let handler = move || Ok(Handler::new(handler_service.clone(), catalogue.clone()));
    let protocol =
        StreamableHttpService::new(handler, Arc::new(NeverSessionManager::default()), config);
    let authentication = Arc::new(MessageAuthentication::new(service, origins));
    Router::new()
        .route_service(PATH, protocol.clone())
        .route_service(READ_ONLY_PATH, protocol)
        .route_layer(middleware::from_fn_with_state(
            authentication,
            authentication::admit,
        ))
}
