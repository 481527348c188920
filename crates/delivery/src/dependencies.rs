//! The shared dependencies and settings of deliveries.

use std::sync::Arc;
use std::time::Duration;

use engine::clock::Clock;
use engine::ids::Ids;
use store::Store;
use tokio::sync::Notify;

use super::target::Targets;

/// The parts of the process that the dispatcher and the sweeps use.
pub struct Dependencies {
    /// The database with the deliveries.
    pub store: Store,
    pub clock: Clock,
    /// The source of random numbers for jitter.
    pub ids: Ids,
    /// The guard that decides which targets are permitted.
    pub targets: Targets,
    /// The settings that the operator can change.
    pub settings: Settings,
    /// The wake signal for due deliveries.
    pub due: Arc<Notify>,
    /// The wake signal for deleted subscriptions.
    pub deleted: Arc<Notify>,
}

/// The settings of deliveries that the operator can change.
#[derive(Debug, Clone)]

pub struct Settings {
    /// The longest delay after the first attempt. It doubles with each further attempt.
    pub retry_base: Duration,
    /// The time limit for a receiver's response.
    pub timeout: Duration,
    /// How long a delivery stays in the log after it has ended.
    pub retention: Duration,
}
