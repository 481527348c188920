//! Metadata documents of this server and of its resources (RFC 8414, section 2; RFC 9728, section
//! 2). A client finds the URLs of the server's endpoints in these documents.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use engine::access::{Permission, Resource};
use engine::pipeline::Service;
use serde_json::{Value, json};
use strum::VariantArray as _;
use url::Url;
use vestibule_http::surface::{attach_operation, method_not_found};

use super::{paths, pkce, reply};
use crate::people::LANGUAGES;

/// The path of the authorization server's metadata (RFC 8414, section 3).
const SERVER: &str = "/.well-known/oauth-authorization-server";

/// Returns the routes of the metadata documents.
///
/// If the public URL has a path, clients look for the documents at the well-known path followed by
/// this path (RFC 8414, section 3.1; RFC 9728, section 3.1). So the server publishes the documents
/// at that path as well. Some clients use the address of the tool interface as the address of the
/// server. For them, both documents are also below the path of the tool interface.
pub(super) fn routes(service: &Arc<Service>) -> Router<Arc<Service>> {
    let prefix = Url::parse(&service.app_state.public_url)
        .map(|url| url.path().trim_end_matches('/').to_owned())
        .unwrap_or_default();
    // Ignore the path of the public URL if it has characters that the router would read as a
    // pattern.
    let prefix = if prefix.contains(['{', '}', '*', ':']) {
        String::new()
    } else {
        prefix
    };
    let mut routes = Router::new();
    let is_tool_interface = |resource: &&Resource| **resource != Resource::Api;
    let servers: BTreeSet<String> = [SERVER.to_owned(), format!("{SERVER}{prefix}")]
        .into_iter()
        .chain(
            Resource::VARIANTS
                .iter()
                .filter(is_tool_interface)
                .map(|resource| format!("{}{SERVER}", resource.path())),
        )
        .collect();
    for path in servers {
        routes = routes.route(
            &path,
            get(server)
                .options(reply::preflight)
                .fallback(method_not_found),
        );
    }
    for resource in Resource::VARIANTS {
        let path = resource.path();
        let mut paths: BTreeSet<String> = [
            format!("{}{path}", Resource::METADATA),
            format!("{}{prefix}{path}", Resource::METADATA),
        ]
        .into();
        if is_tool_interface(&resource) {
            paths.insert(format!("{path}{}", Resource::METADATA));
        }
        if *resource == Resource::Mcp {
            // The tool interface is the default resource. So its metadata document is also served
            // at the well-known path alone, without the path of a resource.
            paths.extend([
                Resource::METADATA.to_owned(),
                format!("{}{prefix}", Resource::METADATA),
            ]);
        }
        for path in paths {
            let handler = move |State(service): State<Arc<Service>>| async move {
                resource_response(&service, *resource)
            };
            routes = routes.route(
                &path,
                get(handler)
                    .options(reply::preflight)
                    .fallback(method_not_found),
            );
        }
    }
    routes
}

/// Responds with the metadata of the server.
async fn server(State(service): State<Arc<Service>>) -> Response {
    let mut response = reply::document(&server_document(&service.app_state.public_url));
    attach_operation(&mut response, "getAuthorizationServerMetadata", None);
    response
}

/// Returns the metadata document of a protected resource, such as the tool interface, as a response
/// (RFC 9728).
fn resource_response(service: &Service, resource: Resource) -> Response {
    let mut response = reply::document(&resource_document(&service.app_state.public_url, resource));
    attach_operation(&mut response, "getProtectedResourceMetadata", None);
    response
}

/// Builds the server's metadata (RFC 8414, section 2; RFC 9207, section 3; draft on client id
/// metadata documents, section 5).
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
        "protected_resources": Resource::VARIANTS
            .iter()
            .map(|resource| resource.url(public_url))
            .collect::<Vec<_>>(),
        "ui_locales_supported": LANGUAGES,
        "service_documentation": at("/docs"),
    })
}

/// Builds the metadata of a resource (RFC 9728, section 2).
fn resource_document(public_url: &str, resource: Resource) -> Value {
    json!({
        "resource": resource.url(public_url),
        "authorization_servers": [public_url],
        "scopes_supported": Permission::VARIANTS,
        "bearer_methods_supported": ["header"],
        "resource_name": match resource {
            Resource::Api => "Vestibule, REST interface",
            Resource::Mcp => "Vestibule, tool interface",
            Resource::McpReadOnly => "Vestibule, tools that read",
        },
        "resource_documentation": format!("{public_url}/docs"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_lists_the_languages_of_sign_in_and_consent() {
        let listed = &server_document("https://vestibule.example")["ui_locales_supported"];
        assert_eq!(*listed, json!(texts::sign_in::LANGUAGES));
        assert_eq!(*listed, json!(texts::consent::LANGUAGES));
    }
}
