//! The application state for work in a transaction: the state that modules have registered, their
//! lists, the cache, and the wake signals for background tasks.

mod bells;
mod cache;
mod types;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::access::Uses;
use crate::ids::Ids;
pub use bells::Bell;
use bells::Bells;
use cache::Cache;
pub use cache::{Weighed, sharded};
pub use types::{Lists, Parts};

/// The application state for work in a transaction.
pub struct Kit {
    /// The source of fresh ids and secrets.
    pub ids: Ids,
    /// The public address of the service, without a trailing slash.
    pub public_url: String,
    /// The last uses of API keys that are not stored yet.
    pub uses: Uses,
    /// The values that modules have listed.
    pub lists: &'static Lists,
    parts: Parts,
    bells: Bells,
    /// The cache of values that depend on the configuration.
    pub(crate) cache: Cache,
}

impl Kit {
    /// Creates the application state with the parts that modules need.
    #[must_use]
    pub fn new(ids: Ids, public_url: &str, lists: &'static Lists, parts: Parts) -> Self {
        let public_url = public_url.trim_end_matches('/').to_owned();
        Self {
            ids,
            public_url,
            uses: Uses::default(),
            lists,
            parts,
            bells: Bells::default(),
            cache: Cache::default(),
        }
    }

    /// Returns the state of this type that a module registered, if there is any.
    #[must_use]
    pub fn part<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.parts.get()
    }

    /// Returns the `Notify` behind a wake signal.
    #[must_use]
    pub fn bell(&self, bell: Bell) -> Arc<Notify> {
        self.bells.get(bell)
    }

    /// Sends wake signals.
    pub fn ring(&self, rung: &BTreeSet<Bell>) {
        for bell in rung {
            self.bell(*bell).notify_one();
        }
    }
}
