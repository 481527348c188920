//! Records the outcomes of deliveries, in one transaction for each subscription and tick. Ticks are
//! 4 ms apart and are the same for all subscriptions, so that the database can commit the
//! transactions of a tick together.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use tokio::time::Instant;
use uuid::Uuid;

use super::dependencies::Dependencies;
use super::disabled::log_disabled;
use super::ledger::{self, Entry, Settlement, SubscriptionChange};
use super::limiter::Permit;
use super::queue;

/// The interval between two ticks. If the process is killed before a tick, the deliveries sent
/// since the last tick are not recorded and are sent again.
const TICK: Duration = Duration::from_millis(4);
/// The delay after a failed attempt to record outcomes in the database.
const ERROR_DELAY: Duration = Duration::from_secs(1);

/// An outcome that waits to be recorded, and the delivery's permit. The permit is dropped after the
/// outcome was recorded.
type Unrecorded = (Entry, Permit);

/// Records outcomes in the database, in batches.
pub(super) struct Recorder {
    dependencies: Arc<Dependencies>,
    /// The time from which the ticks are counted. There is one tick every [`TICK`], and waiting
    /// outcomes are recorded at the next tick.
    started_at: Instant,
    /// Waiting outcomes by subscription. A subscription has an entry here exactly while a task
    /// records outcomes for it.
    waiting: Mutex<HashMap<Uuid, Vec<Unrecorded>>>,
}

impl Recorder {
    pub(super) fn new(dependencies: Arc<Dependencies>) -> Self {
        Self {
            dependencies,
            started_at: Instant::now(),
            waiting: Mutex::default(),
        }
    }

    /// Records an outcome. If another task already records for this subscription, that task also
    /// records this outcome, and this method returns at once. Otherwise this method records the
    /// outcome, and all outcomes that arrive for the subscription until none is waiting.
    pub(super) async fn record(
        &self,
        organization: Uuid,
        subscription: Uuid,
        entry: Entry,
        permit: Permit,
    ) {
        match self.waiting().entry(subscription) {
            Slot::Occupied(mut others) => return others.get_mut().push((entry, permit)),
            Slot::Vacant(free) => drop(free.insert(vec![(entry, permit)])),
        }
        loop {
            self.tick().await;
            let Some(batch) = self.take(subscription) else {
                return;
            };
            self.write(organization, subscription, batch).await;
        }
    }

    /// Waits until the next tick. The waiting outcomes are recorded then.
    async fn tick(&self) {
        let passed = self.started_at.elapsed().as_nanos() / TICK.as_nanos();
        let next = TICK.saturating_mul(u32::try_from(passed + 1).unwrap_or(u32::MAX));
        tokio::time::sleep_until(self.started_at + next).await;
    }

    /// Removes the waiting outcomes of a subscription and returns them. If there are none, removes
    /// the subscription's entry and returns `None`.
    fn take(&self, subscription: Uuid) -> Option<Vec<Unrecorded>> {
        let mut waiting = self.waiting();
        let batch = waiting
            .get_mut(&subscription)
            .map(mem::take)
            .filter(|batch| !batch.is_empty());
        if batch.is_none() {
            waiting.remove(&subscription);
        }
        batch
    }

    /// Writes a batch of outcomes, and tries again until the database has recorded it. Without the
    /// retries, a receiver that has answered would get the delivery again after an outage of the
    /// database.
    async fn write(&self, organization: Uuid, subscription: Uuid, batch: Vec<Unrecorded>) {
        let (entries, permits): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let entries = Arc::new(entries);
        loop {
            let (now, shared) = (self.dependencies.clock.now(), entries.clone());
            let write = async {
                if let Some(due) = first_retry(&shared) {
                    queue::note_due_first(&self.dependencies.store, organization, due).await?;
                }
                self.dependencies
                    .store
                    .write(move |tx| ledger::settle(tx, organization, subscription, &shared, now))
                    .await
            };
            match AssertUnwindSafe(write).catch_unwind().await {
                Ok(Ok(change)) => {
                    match change {
                        Some(SubscriptionChange::Disabled(reason)) => {
                            log_disabled(organization, subscription, reason);
                        }
                        Some(SubscriptionChange::Deleted) => {
                            tracing::info!(
                                %organization,
                                %subscription,
                                "deleted a webhook subscription because its target answered 410 \
                                    Gone"
                            );
                            self.dependencies.deleted.notify_one();
                        }
                        None => {}
                    }
                    drop(permits);
                    if first_retry(&entries).is_some() {
                        // The dispatcher does not know yet when the first retry is due, so wake the
                        // dispatcher.
                        self.dependencies.due.notify_one();
                    }
                    return;
                }
                Ok(Err(error)) => {
                    tracing::warn!(
                        %subscription,
                        cause = error.cause(),
                        "could not record the outcomes of webhook deliveries; retrying shortly"
                    );
                }
                Err(_) => {
                    tracing::error!(
                        %subscription,
                        "recording the outcomes of webhook deliveries panicked; retrying shortly"
                    );
                }
            }
            tokio::time::sleep(ERROR_DELAY).await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Uuid, Vec<Unrecorded>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time of the earliest retry among these outcomes. Returns `None` if none of them is a
/// retry.
fn first_retry(entries: &[Entry]) -> Option<Timestamp> {
    let retries = entries.iter().filter_map(|entry| match entry.settlement {
        Settlement::Retry(next) => Some(next),
        _ => None,
    });
    retries.min()
}
