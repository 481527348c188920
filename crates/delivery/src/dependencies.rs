//! The database, the clock and other objects that all parts of this crate share, and the settings
//! of deliveries.

use std::sync::Arc;
use std::time::Duration;

use engine::clock::Clock;
use engine::ids::Ids;
use store::Store;
use tokio::sync::Notify;

use super::target::Targets;

/// The objects that the dispatcher and the sweeps share.
pub struct Dependencies {
    /// The database with the deliveries.
    pub store: Store,
    pub clock: Clock,
    /// The generator of ids, whose random numbers also give the jitter of retries.
    pub ids: Ids,
    /// The guard that decides which targets are permitted.
    pub targets: Targets,
    /// The settings of webhook deliveries that the operator can change.
    pub settings: Settings,
    /// The wake signal that is sent when deliveries become due.
    pub due: Arc<Notify>,
    /// The wake signal that is sent when subscriptions are deleted.
    pub deleted: Arc<Notify>,
}

/// The settings of deliveries that the operator can change.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The longest delay between the first attempt and the second. This bound doubles with each
    /// later attempt.
    pub retry_base: Duration,
    /// The time limit for one attempt, from the request to the receiver's response.
    pub timeout: Duration,
    /// How long an ended delivery stays in the log, counted from the creation of the delivery.
    pub retention: Duration,
}
