//! Background work that fires `device.reconnected` when a device's timer expires. The timers are in
//! `timer.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use engine::app_state::WakeSignal;
use engine::background::BackgroundTask;
use engine::due::{DueWork, DueWorker};
use engine::error::Result;
use engine::pipeline::Service;
use jiff::Timestamp;
use store::Transaction;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::timer;

/// Maximum pause between two searches for due timers.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The time for which a device must stay online before `device.reconnected` fires.
#[derive(Debug, Clone, Copy)]
pub struct ReconnectDelay(pub Duration);

/// The worker that fires `device.reconnected` for devices that have stayed online. Every node runs
/// this worker, and the first node that finds a due timer fires the event.
pub type Timekeeper = DueWorker<DeviceTimers>;

/// Fires the events of due timers until `stop` is cancelled.
#[must_use]
pub fn run(service: Arc<Service>, stop: CancellationToken) -> BackgroundTask {
    Timekeeper::new(service).run(stop)
}

/// The background work that processes the due timers of devices that are back online.
pub struct DeviceTimers;

impl DueWork for DeviceTimers {
    const MIN_DELAY: Duration = Duration::from_millis(50);
    const RETRY_DELAY: Duration = Duration::from_secs(1);
    const FAILED: &str = "could not process the timers of devices; retrying shortly";

    fn max_delay(service: &Service) -> Duration {
        // A timer that starts during the pause of the search is due one `delay` after its start. If
        // the pause is not longer than the delay, the next search begins before that timer is due,
        // so a new timer needs no wake signal. The search also finds timers that other nodes have
        // started.
        MAX_PAUSE.min(Self::delay(service))
    }

    fn delay(service: &Service) -> Duration {
        service
            .app_state
            .extension::<ReconnectDelay>()
            .map_or(Duration::ZERO, |delay| delay.0)
    }

    fn find(tx: &mut Transaction<'_>, until: Timestamp, except: Vec<Uuid>) -> Result<Option<Uuid>> {
        timer::due_organization(tx, until, except)
    }

    fn perform(
        tx: &mut Transaction<'_>,
        service: &Service,
        organization: Uuid,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(usize, BTreeSet<WakeSignal>)> {
        timer::expire(tx, service, organization, until, now)
    }

    fn first(tx: &mut Transaction<'_>) -> Result<Option<Timestamp>> {
        timer::earliest_timer(tx)
    }
}
