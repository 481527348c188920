//! The authentication schemes of the interfaces.

use serde_json::{Map, Value, json};
use strum::VariantArray;

use engine::access::Permission;
use engine::operation::{Needs, Operation, Surface};

/// Returns the OpenAPI security schemes of an interface. The guest interface has no scheme, because
/// its token is in the path.
pub(super) fn schemes(surface: Surface, public_url: &str) -> Option<Value> {
    match surface {
        Surface::Public => Some(json!({
            "bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "An API key (`sk_…`), which acts across the whole organization, or \
                    an OAuth access token (`at_…`), which reaches the properties of the member who \
                    authorized it.",
            },
            "oauth2": {
                "type": "oauth2",
                "description": "How an app gets an access token: a member signs in and allows it \
                    some of what they may do. Authorization code with PKCE (S256).",
                "flows": { "authorizationCode": {
                    "authorizationUrl": format!("{public_url}/oauth/authorize"),
                    "tokenUrl": format!("{public_url}/oauth/token"),
                    "refreshUrl": format!("{public_url}/oauth/token"),
                    "scopes": scopes(),
                } },
            },
        })),
        Surface::Platform => Some(json!({
            "bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "The platform key (`--platform-key`).",
            },
        })),
        Surface::Guest => None,
    }
}

fn scopes() -> Map<String, Value> {
    Permission::VARIANTS
        .iter()
        .map(|permission| (permission.as_ref().to_owned(), permission.allows().into()))
        .collect()
}

/// Returns the security requirement of an operation. A public operation accepts an API key, or an
/// access token with the operation's scopes. The list of scopes is empty if the operation needs no
/// particular permission, or if the permission depends on the body. A platform operation accepts
/// only a key. A guest operation has no requirement.
pub(super) fn of(operation: &Operation) -> Option<Value> {
    match operation.surface {
        Surface::Public => {
            let scopes: Vec<&str> = match operation.needs {
                Needs::Permission(permission) => vec![permission.into()],
                Needs::Permissions(permissions) => permissions.iter().map(AsRef::as_ref).collect(),
                Needs::Credential | Needs::ByBody(_) => Vec::new(),
            };
            Some(json!([{ "bearer": [] }, { "oauth2": scopes }]))
        }
        Surface::Platform => Some(json!([{ "bearer": [] }])),
        Surface::Guest => None,
    }
}
