//! The background work: fires the events that a change brings about only if nothing happens for a while.

use std::sync::Arc;
use std::time::Duration;

use engine::error::Error;
use engine::pipeline::Service;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::timer;

/// The longest without a look.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// The shortest, however short the delay is set.
const SHORTEST_SLEEP: Duration = Duration::from_millis(50);
/// How long to leave a database alone that could not be asked.
const RESPITE: Duration = Duration::from_secs(1);

/// How long a device has to be back before that is told.
#[derive(Debug, Clone, Copy)]
pub struct ReconnectDelay(pub Duration);

/// Fires `device.reconnected` for devices that have stayed. Every node has one; a timer is fired by whichever comes first.
#[derive(Clone)]
pub struct Timekeeper(Arc<Service>);

impl Timekeeper {
    /// A timekeeper.
    #[must_use]
    pub fn new(service: Arc<Service>) -> Self {
        Self(service)
    }

    /// Fires what is due, whenever something is, until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let now = self.0.clock.now();
            let mut unavailable = Vec::new();
            while self.fire_some(now, &mut unavailable).await.is_some() {
                if stop.is_cancelled() {
                    return;
                }
            }
            let sleep = if unavailable.is_empty() { self.sleep().await } else { RESPITE };
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// Fires what is due now, once; how many timers that were.
    pub async fn step(&self) -> usize {
        let now = self.0.clock.now();
        let (mut count, mut unavailable) = (0, Vec::new());
        while let Some(fired) = self.fire_some(now, &mut unavailable).await {
            count += fired;
        }
        count
    }

    /// Fires what was due at `now` of one organization, as far as it goes into one transaction; `None` where none is left. One
    /// that cannot be locked is noted as unavailable and holds up no other.
    async fn fire_some(&self, now: Timestamp, unavailable: &mut Vec<Uuid>) -> Option<usize> {
        let (since, except) = (self.since(now), unavailable.clone());
        let organization = match self.0.store.read(move |tx| timer::due(tx, since, except)).await {
            Ok(found) => found?,
            Err(error) => {
                warn(&error);
                return None;
            }
        };
        let (shared, now) = (self.0.clone(), self.0.clock.now());
        match self.0.store.write(move |tx| timer::expire(tx, &shared, organization, since, now)).await {
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

    /// How long until something becomes due.
    async fn sleep(&self) -> Duration {
        // What comes back from now on is due a delay later, so a look after as long is in time for it. Nobody has to tell,
        // and what another node or an import has begun is found just so.
        let longest = LONGEST_SLEEP.min(self.delay());
        let sleep = match self.0.store.read(timer::first).await {
            Ok(Some(first)) => {
                let due = first.checked_add(self.delay()).unwrap_or(Timestamp::MAX);
                Duration::try_from(self.0.clock.now().duration_until(due)).unwrap_or(Duration::ZERO).min(longest)
            }
            Ok(None) => longest,
            Err(error) => {
                warn(&error);
                RESPITE
            }
        };
        sleep.max(SHORTEST_SLEEP)
    }

    /// Since when a device has to have been back at `now` to be told of.
    fn since(&self, now: Timestamp) -> Timestamp {
        // No timer is older than that, and how far back a moment can lie differs between the databases.
        now.checked_sub(self.delay()).unwrap_or(Timestamp::UNIX_EPOCH).max(Timestamp::UNIX_EPOCH)
    }

    fn delay(&self) -> Duration {
        self.0.kit.part::<ReconnectDelay>().map_or(Duration::ZERO, |delay| delay.0)
    }
}

fn warn(error: &Error) {
    tracing::warn!(cause = error.cause().unwrap_or_default(), "timers of devices are left for later");
}
