//! What deliveries are made with.

use std::sync::Arc;
use std::time::Duration;

use engine::clock::Clock;
use engine::ids::Ids;
use store::Store;
use tokio::sync::Notify;

use super::target::Targets;

/// What deliveries are made with.
pub struct Means {
    /// Where they are kept.
    pub store: Store,
    /// The time.
    pub clock: Clock,
    /// Jitter.
    pub ids: Ids,
    /// Which targets are let through.
    pub targets: Targets,
    /// How it is done.
    pub settings: Settings,
    /// Rings when there is something to deliver.
    pub due: Arc<Notify>,
    /// Is rung when a subscription was deleted.
    pub deleted: Arc<Notify>,
}

/// How deliveries are made.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The longest first pause between two attempts.
    pub retry_base: Duration,
    /// How long a receiver may take to answer.
    pub timeout: Duration,
    /// How long a delivery that is over stays in the log.
    pub retention: Duration,
}
