//! What this server and its two resources say of themselves (RFC 8414, section 2; RFC 9728, section 2): where clients that know
//! nothing of it begin.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use engine::access::{Permission, Resource};
use engine::pipeline::Service;
use engine::surface::{not_found, note};
use serde_json::{Value, json};
use strum::VariantArray as _;
use url::Url;

use super::{paths, pkce, reply};

/// Below which path the server describes itself (RFC 8414, section 3).
const SERVER: &str = "/.well-known/oauth-authorization-server";

/// The routes of these documents. Where the public URL has a path, the documents are at the addresses that clients make of that, too,
/// with the well-known part before the path (RFC 8414, section 3.1; RFC 9728, section 3.1).
pub(super) fn routes(service: &Arc<Service>) -> Router<Arc<Service>> {
    let prefix = Url::parse(&service.kit.public_url).map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    // A path that would be a pattern of the router's is nobody's.
    let prefix = if prefix.contains(['{', '}', '*', ':']) { String::new() } else { prefix };
    let mut routes = Router::new();
    let servers: BTreeSet<String> = [SERVER.to_owned(), format!("{SERVER}{prefix}")].into();
    for path in servers {
        routes = routes.route(&path, get(server).options(reply::preflight).fallback(not_found));
    }
    for resource in Resource::VARIANTS {
        let path = resource.path();
        let mut paths: BTreeSet<String> = [format!("{}{path}", Resource::METADATA), format!("{}{prefix}{path}", Resource::METADATA)].into();
        if *resource == Resource::Mcp {
            // Who does not say which resource means the one that clients come to by themselves.
            paths.extend([Resource::METADATA.to_owned(), format!("{}{prefix}", Resource::METADATA)]);
        }
        for path in paths {
            let answer = move |State(service): State<Arc<Service>>| async move { of_resource(&service, *resource) };
            routes = routes.route(&path, get(answer).options(reply::preflight).fallback(not_found));
        }
    }
    routes
}

async fn server(State(service): State<Arc<Service>>) -> Response {
    let mut response = reply::document(&server_document(&service.kit.public_url));
    note(&mut response, "getAuthorizationServerMetadata", None);
    response
}

fn of_resource(service: &Service, resource: Resource) -> Response {
    let mut response = reply::document(&resource_document(&service.kit.public_url, resource));
    note(&mut response, "getProtectedResourceMetadata", None);
    response
}

/// RFC 8414, section 2; with RFC 9207, section 3, and the draft on client id metadata documents, section 5.
fn server_document(public_url: &str) -> Value {
    let at = |path: &str| format!("{public_url}{path}");
    let methods = ["none", "client_secret_basic", "client_secret_post"];
    json!({
        "issuer": public_url,
        "authorization_endpoint": at(paths::AUTHORIZE),
        "token_endpoint": at(paths::TOKEN),
        "revocation_endpoint": at(paths::REVOKE),
        "registration_endpoint": at(paths::REGISTER),
        "scopes_supported": Permission::VARIANTS,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": [pkce::METHOD],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "client_id_metadata_document_supported": true,
        "authorization_response_iss_parameter_supported": true,
        "protected_resources": Resource::VARIANTS.iter().map(|resource| resource.url(public_url)).collect::<Vec<_>>(),
        "ui_locales_supported": ["en", "es", "fr"],
        "service_documentation": at("/docs"),
    })
}

/// RFC 9728, section 2.
fn resource_document(public_url: &str, resource: Resource) -> Value {
    json!({
        "resource": resource.url(public_url),
        "authorization_servers": [public_url],
        "scopes_supported": Permission::VARIANTS,
        "bearer_methods_supported": ["header"],
        "resource_name": match resource {
            Resource::Api => "Vestibule, REST interface",
            Resource::Mcp => "Vestibule, tool interface",
        },
        "resource_documentation": format!("{public_url}/docs"),
    })
}
