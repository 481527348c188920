//! The interfaces to which an access token can be limited, such as the REST interface.

use serde::{Deserialize, Serialize};
use strum::{AsRefStr, VariantArray};

/// A resource of an access token (RFC 8707, section 2): an interface that accepts access tokens.
/// Clients identify the interface by its URL.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, AsRefStr, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Resource {
    /// The REST interface.
    Api,
    /// The tool interface at `/mcp` and at all paths below it except `/mcp/read-only`.
    Mcp,
    /// The tool interface at `/mcp/read-only`, which has only the tools that read.
    McpReadOnly,
}

impl Resource {
    /// Returns the path of the resource, below the public address.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Api => "/api/v1",
            Self::Mcp => "/mcp",
            Self::McpReadOnly => "/mcp/read-only",
        }
    }

    /// Returns whether a token for this resource is also valid for `other`. It is valid if `other`
    /// is the same resource, or if the path of `other` is below the path of this resource.
    #[must_use]
    pub const fn includes(self, other: Self) -> bool {
        match self {
            Self::Api => matches!(other, Self::Api),
            Self::Mcp => matches!(other, Self::Mcp | Self::McpReadOnly),
            Self::McpReadOnly => matches!(other, Self::McpReadOnly),
        }
    }

    /// Returns the public URL of the resource.
    #[must_use]
    pub fn url(self, public_url: &str) -> String {
        format!("{public_url}{}", self.path())
    }

    /// Returns the URL of the resource's metadata, which name the authorization server. In this
    /// URL, the well-known prefix is before the path of the resource (RFC 9728, section 3.1).
    #[must_use]
    pub fn metadata_url(self, public_url: &str) -> String {
        format!("{public_url}{}{}", Self::METADATA, self.path())
    }

    /// The path prefix of the metadata of resources.
    pub const METADATA: &'static str = "/.well-known/oauth-protected-resource";

    /// Returns the `WWW-Authenticate` value, which tells a client where to get a token (RFC 9728,
    /// section 5.1).
    #[must_use]
    pub fn challenge(self, public_url: &str) -> String {
        format!(
            "Bearer resource_metadata=\"{}\"",
            self.metadata_url(public_url)
        )
    }
}
