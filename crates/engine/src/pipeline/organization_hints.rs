//! Organization hints. A read waits for the turn of its organization before its token is
//! authenticated, so its organization is not yet certain. The hint is the organization to which the
//! same token belonged in an earlier request.

use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use store::Share;
use uuid::Uuid;

use super::Head;
use super::authenticate::token;
use crate::operation::Operation;

/// The maximum number of tokens whose organization is stored.
const MAX_TOKENS: usize = 16_384;

/// Remembers the organization to which each token belonged at its last look-up. This organization
/// is a hint: it decides in which share a read waits for its turn, and never whether the request is
/// authenticated. A hint can be outdated: a read with a deleted token waits in the share of the
/// former organization, and is then refused.
pub struct OrganizationHints(Cache<[u8; 32], Uuid>);

impl Default for OrganizationHints {
    fn default() -> Self {
        Self(Cache::new(MAX_TOKENS))
    }
}

impl OrganizationHints {
    /// Returns the share of the organization to which the token of a request belongs. If that
    /// organization is not known yet, returns a separate share for the token. Returns `None`, the
    /// share of no organization, if the request has no token.
    pub(super) fn of(&self, operation: &Operation, request: &Head) -> Share {
        self.of_token(token(operation, request)?)
    }

    /// Returns the share of the organization to which a token belongs. If that organization is not
    /// known yet, returns a separate share for the token.
    #[must_use]
    pub fn of_token(&self, token: &str) -> Share {
        let digest = digest(token);
        Some(
            self.0
                .get(&digest)
                .unwrap_or_else(|| Uuid::from_slice(&digest[..16]).unwrap_or_default()),
        )
    }

    /// Stores the organization of a request's token.
    pub(super) fn remember(&self, operation: &Operation, request: &Head, organization: Uuid) {
        let Some(token) = token(operation, request) else {
            return;
        };
        let digest = digest(token);
        if self.0.get(&digest) != Some(organization) {
            self.0.insert(digest, organization);
        }
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
