//! The two resources that an access token may be good at.

use serde::{Deserialize, Serialize};
use strum::{AsRefStr, VariantArray};

/// What a token is asked for and is good at (RFC 8707, section 2): the address of one of the interfaces that take access tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, AsRefStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Resource {
    /// The REST interface.
    Api,
    /// The tool interface.
    Mcp,
}

impl Resource {
    /// Its path, below the public address.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Api => "/api/v1",
            Self::Mcp => "/mcp",
        }
    }

    /// What it is called outside.
    #[must_use]
    pub fn url(self, public_url: &str) -> String {
        format!("{public_url}{}", self.path())
    }

    /// Where it says who may let people in (RFC 9728, section 3.1: the well-known part stands before the path).
    #[must_use]
    pub fn metadata_url(self, public_url: &str) -> String {
        format!("{public_url}{}{}", Self::METADATA, self.path())
    }

    /// Below which path the resources describe themselves.
    pub const METADATA: &'static str = "/.well-known/oauth-protected-resource";

    /// How a caller without a good token is told where to get one (RFC 9728, section 5.1).
    #[must_use]
    pub fn challenge(self, public_url: &str) -> String {
        format!("Bearer resource_metadata=\"{}\"", self.metadata_url(public_url))
    }
}
