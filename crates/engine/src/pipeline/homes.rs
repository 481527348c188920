//! Whose share of the database a read takes before its caller is known.

use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use store::Share;
use uuid::Uuid;

use super::Head;
use super::authenticate::token;
use crate::operation::Operation;

/// Tokens remembered at once.
const TOKENS: usize = 16_384;

/// Where tokens were last found to belong. It decides about turns only, never about who somebody is: a token that has moved
/// on, or is no more, takes a turn it should not, once.
pub struct Homes(Cache<[u8; 32], Uuid>);

impl Default for Homes {
    fn default() -> Self {
        Self(Cache::new(TOKENS))
    }
}

impl Homes {
    /// The share of the organization that a request's token belongs to, or else one of the token's own.
    pub(super) fn of(&self, operation: &Operation, request: &Head) -> Share {
        self.of_token(token(operation, request)?)
    }

    /// The share of the organization that a token belongs to, or else one of its own.
    #[must_use]
    pub fn of_token(&self, token: &str) -> Share {
        let digest = digest(token);
        Some(self.0.get(&digest).unwrap_or_else(|| Uuid::from_slice(&digest[..16]).unwrap_or_default()))
    }

    /// Remembers where the token of a request belongs.
    pub(super) fn remember(&self, operation: &Operation, request: &Head, organization: Uuid) {
        let Some(token) = token(operation, request) else { return };
        let digest = digest(token);
        if self.0.get(&digest) != Some(organization) {
            self.0.insert(digest, organization);
        }
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
