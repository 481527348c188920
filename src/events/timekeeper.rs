//! Background work that fires events which depend on time: those of a device that has stayed
//! online.

use std::sync::Arc;
use std::time::Duration;

use engine::error::Error;
use engine::pipeline::Service;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::timer;

/// Maximum pause between two searches for due timers.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// Minimum pause between two searches, even with a very short delay.
const SHORTEST_SLEEP: Duration = Duration::from_millis(50);
/// Pause after a failed query.
const RESPITE: Duration = Duration::from_secs(1);

/// How long a device has to be back online before its event fires.
#[derive(Debug, Clone, Copy)]
pub struct ReconnectDelay(pub Duration);

/// Fires `device.reconnected` for devices that have stayed online. Every node runs one, and the
/// first node that finds a due timer fires it.
#[derive(Clone)]
pub struct Timekeeper(Arc<Service>);

impl Timekeeper {
    /// Makes a timekeeper.
    #[must_use]
    pub fn new(service: Arc<Service>) -> Self {
        Self(service)
    }

    /// Fires due timers until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let now = self.0.clock.now();
            let mut unavailable = Vec::new();
            while self.fire_some(now, &mut unavailable).await.is_some() {
                if stop.is_cancelled() {
                    return;
                }
            }
            let sleep = if unavailable.is_empty() {
                self.sleep().await
            } else {
                RESPITE
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// Fires all timers that are due now. Returns their number.
    pub async fn step(&self) -> usize {
        let now = self.0.clock.now();
        let (mut count, mut unavailable) = (0, Vec::new());
        while let Some(fired) = self.fire_some(now, &mut unavailable).await {
            count += fired;
        }
        count
    }

    /// Fires the timers of one organization that were due at `now`, up to the limit of one
    /// transaction. Returns `None` if no timer is left. An organization that cannot be locked is
    /// noted as unavailable and delays no other.
    async fn fire_some(&self, now: Timestamp, unavailable: &mut Vec<Uuid>) -> Option<usize> {
        let (since, except) = (self.since(now), unavailable.clone());
        let organization = match self
            .0
            .store
            .read(move |tx| timer::due(tx, since, except))
            .await
        {
            Ok(found) => found?,
            Err(error) => {
                warn(&error);
                return None;
            }
        };
        let (shared, now) = (self.0.clone(), self.0.clock.now());
        match self
            .0
            .store
            .write(move |tx| timer::expire(tx, &shared, organization, since, now))
            .await
        {
            Ok((count, rung)) => {
                self.0.kit.ring(&rung);
                Some(count)
            }
            Err(error) => {
                warn(&error);
                unavailable.push(organization);
                Some(0)
            }
        }
    }

    /// Returns the time until the next search.
    async fn sleep(&self) -> Duration {
        // A device that comes back from now on is due one delay later, so a search after that time
        // is early enough. No wake signal is needed, and the search also finds timers that another
        // node or an import has started.
        let longest = LONGEST_SLEEP.min(self.delay());
        let sleep = match self.0.store.read(timer::first).await {
            Ok(Some(first)) => {
                let due = first.checked_add(self.delay()).unwrap_or(Timestamp::MAX);
                Duration::try_from(self.0.clock.now().duration_until(due))
                    .unwrap_or(Duration::ZERO)
                    .min(longest)
            }
            Ok(None) => longest,
            Err(error) => {
                warn(&error);
                RESPITE
            }
        };
        sleep.max(SHORTEST_SLEEP)
    }

    /// Returns the latest moment at which a device must have come back for its timer to be due at
    /// `now`.
    fn since(&self, now: Timestamp) -> Timestamp {
        // No timer is older than this. The databases differ in the earliest moment that they can
        // store.
        now.checked_sub(self.delay())
            .unwrap_or(Timestamp::UNIX_EPOCH)
            .max(Timestamp::UNIX_EPOCH)
    }

    fn delay(&self) -> Duration {
        self.0
            .kit
            .part::<ReconnectDelay>()
            .map_or(Duration::ZERO, |delay| delay.0)
    }
}

fn warn(error: &Error) {
    tracing::warn!(
        cause = error.cause().unwrap_or_default(),
        "could not process the timers of devices; retrying shortly"
    );
}
