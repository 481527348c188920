//! The application state for work in a transaction: extensions and lists of modules, the cache, and
//! the wake signals for background tasks.

mod cache;
mod types;
mod wake;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::access::Uses;
use crate::ids::Ids;
use cache::Cache;
pub use cache::{Cacheable, sharded};
pub use types::{Extensions, Lists};
pub use wake::WakeSignal;
use wake::WakeSignals;

/// The state that all operations share.
pub struct AppState {
    /// The source of fresh ids and secrets.
    pub ids: Ids,
    /// The URL at which clients and browsers reach the service, without a trailing slash.
    pub public_url: String,
    /// For each API key, the last use that is not yet stored in the database.
    pub last_uses: Uses,
    /// The lists: functions and values that higher modules offer to lower ones.
    pub lists: &'static Lists,
    extensions: Extensions,
    wake_signals: WakeSignals,
    /// The cache of values that depend on the configuration.
    pub(crate) cache: Cache,
}

impl AppState {
    /// Creates the application state with the extensions that modules registered.
    #[must_use]
    pub fn new(ids: Ids, public_url: &str, lists: &'static Lists, extensions: Extensions) -> Self {
        let public_url = public_url.trim_end_matches('/').to_owned();
        Self {
            ids,
            public_url,
            last_uses: Uses::default(),
            lists,
            extensions,
            wake_signals: WakeSignals::default(),
            cache: Cache::default(),
        }
    }

    /// Returns the extension of this type, if a module registered one.
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// Returns the `Notify` behind a wake signal.
    #[must_use]
    pub fn wake_signal(&self, wake_signal: WakeSignal) -> Arc<Notify> {
        self.wake_signals.get(wake_signal)
    }

    /// Sends wake signals.
    pub fn wake(&self, wake_signals: &BTreeSet<WakeSignal>) {
        for wake_signal in wake_signals {
            self.wake_signal(*wake_signal).notify_one();
        }
    }
}
