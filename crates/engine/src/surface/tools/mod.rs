//! The tool interface: the operations as MCP tools, over streamable HTTP at `/mcp`.
//!
//! A tool is an operation read another way, so nothing is declared here. Each call enters the pipeline like a REST
//! request and is limited and validated there; the check in front ([`door`]) keeps strangers from the protocol, and counts
//! what calls no tool. What a caller is shown of the tools is in [`catalogue`], how each is described in few words in [`lean`].

mod catalogue;
mod door;
mod handler;
mod lean;
mod selection;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::middleware;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

pub use self::catalogue::describe_all;
use self::door::Admission;
use self::handler::Handler;
use crate::pipeline::Service;

/// Where all tools are found.
pub const PATH: &str = "/mcp";
/// Where only those that read are.
const READ_ONLY_PATH: &str = "/mcp/read-only";
/// The greatest message in bytes.
const BODY_LIMIT: usize = 1 << 20;

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
    let catalogue = Arc::<OnceLock<_>>::default();
    let handler = move || Ok(Handler::new(shared.clone(), catalogue.clone()));
    let protocol = StreamableHttpService::new(handler, Arc::new(NeverSessionManager::default()), config);
    let admission = Arc::new(Admission::new(service, origins));
    Router::new()
        .route_service(PATH, protocol.clone())
        .route_service(READ_ONLY_PATH, protocol)
        .route_layer(middleware::from_fn_with_state(admission, door::admit))
}
