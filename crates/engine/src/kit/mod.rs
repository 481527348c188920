//! What work over a transaction has at hand besides it, whichever chapter it is of: what the chapters have put there, what
//! they have listed, what is kept from one request to the next, and the bells that wake the work in the background.

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

/// What work over a transaction has at hand.
pub struct Kit {
    /// Fresh ids and secrets.
    pub ids: Ids,
    /// The address guests and receivers see, without a slash at its end.
    pub public_url: String,
    /// When API keys were last used, as far as that is not written down.
    pub uses: Uses,
    /// What the chapters have listed.
    pub lists: &'static Lists,
    parts: Parts,
    bells: Bells,
    /// What is kept under the revision of what is configured.
    pub(crate) cache: Cache,
}

impl Kit {
    /// A kit with what the chapters need of their own.
    #[must_use]
    pub fn new(ids: Ids, public_url: &str, lists: &'static Lists, parts: Parts) -> Self {
        let public_url = public_url.trim_end_matches('/').to_owned();
        Self { ids, public_url, uses: Uses::default(), lists, parts, bells: Bells::default(), cache: Cache::default() }
    }

    /// What a chapter has put there, if it has.
    #[must_use]
    pub fn part<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.parts.get()
    }

    /// What rings when a bell is rung.
    #[must_use]
    pub fn bell(&self, bell: Bell) -> Arc<Notify> {
        self.bells.get(bell)
    }

    /// Rings bells.
    pub fn ring(&self, rung: &BTreeSet<Bell>) {
        for bell in rung {
            self.bell(*bell).notify_one();
        }
    }
}
