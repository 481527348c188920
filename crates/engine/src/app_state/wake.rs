//! Wake signals. A transaction collects the signals to send. After its commit, the background tasks
//! that wait for these signals wake up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The name of a wake signal. All tasks that wait for this name wake up together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WakeSignal(pub &'static str);

#[derive(Default)]
pub(super) struct WakeSignals(Mutex<HashMap<WakeSignal, Arc<Notify>>>);

impl WakeSignals {
    pub(super) fn get(&self, wake_signal: WakeSignal) -> Arc<Notify> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(wake_signal)
            .or_default()
            .clone()
    }
}
