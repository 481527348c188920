//! Records what came of deliveries: those of one subscription together, and those of all subscriptions at the same moments,
//! so that they share a commit.

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

use super::disabled::tell_disabled;
use super::ledger::{self, Entry, Settlement, Turn};
use super::limiter::Permit;
use super::means::Means;
use super::queue;

/// From one moment of recording to the next. What is sent in between and not recorded, because the process is killed, is
/// sent again.
const TICK: Duration = Duration::from_millis(4);
/// How long to leave a database alone that could not record something.
const RESPITE: Duration = Duration::from_secs(1);

/// What is to be recorded, with the permit that is given back then.
type Unrecorded = (Entry, Permit);

/// Puts outcomes into the ledger.
pub(super) struct Recorder {
    means: Arc<Means>,
    /// What the moments of recording are counted from.
    began: Instant,
    /// What waits, by subscription. One that is here is being recorded for.
    waiting: Mutex<HashMap<Uuid, Vec<Unrecorded>>>,
}

impl Recorder {
    pub(super) fn new(means: Arc<Means>) -> Self {
        Self { means, began: Instant::now(), waiting: Mutex::default() }
    }

    /// Has an outcome recorded. Who finds nobody at it for this subscription records, also for those who come meanwhile;
    /// for them this returns at once.
    pub(super) async fn record(&self, organization: Uuid, subscription: Uuid, entry: Entry, permit: Permit) {
        match self.waiting().entry(subscription) {
            Slot::Occupied(mut others) => return others.get_mut().push((entry, permit)),
            Slot::Vacant(free) => drop(free.insert(vec![(entry, permit)])),
        }
        loop {
            self.tick().await;
            let Some(batch) = self.take(subscription) else { return };
            self.write(organization, subscription, batch).await;
        }
    }

    /// Returns at the next moment of recording.
    async fn tick(&self) {
        let passed = self.began.elapsed().as_nanos() / TICK.as_nanos();
        let next = TICK.saturating_mul(u32::try_from(passed + 1).unwrap_or(u32::MAX));
        tokio::time::sleep_until(self.began + next).await;
    }

    /// What has come for a subscription. Where nothing has, it is nobody's again.
    fn take(&self, subscription: Uuid) -> Option<Vec<Unrecorded>> {
        let mut waiting = self.waiting();
        let batch = waiting.get_mut(&subscription).map(mem::take).filter(|batch| !batch.is_empty());
        if batch.is_none() {
            waiting.remove(&subscription);
        }
        batch
    }

    /// Writes until it is written: a receiver that has answered is not asked again because the database was away.
    async fn write(&self, organization: Uuid, subscription: Uuid, batch: Vec<Unrecorded>) {
        let (entries, places): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let entries = Arc::new(entries);
        loop {
            let (now, shared) = (self.means.clock.now(), entries.clone());
            let write = async {
                // Before it is given back, and by itself: together they would hold two rows that another may hold the other way round.
                if let Some(due) = first_retry(&shared).filter(|_| self.means.store.is_spread()) {
                    self.means.store.write(move |tx| queue::note(tx, organization, due)).await?;
                }
                self.means.store.write(move |tx| ledger::settle(tx, organization, subscription, &shared, now)).await
            };
            match AssertUnwindSafe(write).catch_unwind().await {
                Ok(Ok(turn)) => {
                    match turn {
                        Some(Turn::Disabled(reason)) => tell_disabled(organization, subscription, reason),
                        Some(Turn::Deleted) => {
                            tracing::info!(%organization, %subscription, "a webhook subscription is deleted: its receiver is gone");
                            self.means.deleted.notify_one();
                        }
                        None => {}
                    }
                    drop(places);
                    if first_retry(&entries).is_some() {
                        // The dispatcher does not know yet when that is due.
                        self.means.due.notify_one();
                    }
                    return;
                }
                Ok(Err(error)) => tracing::warn!(%subscription, cause = error.cause(), "webhook deliveries are not recorded yet"),
                Err(_) => tracing::error!(%subscription, "recording webhook deliveries ended abnormally"),
            }
            tokio::time::sleep(RESPITE).await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Uuid, Vec<Unrecorded>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When the first of some deliveries is tried again, if any is.
fn first_retry(entries: &[Entry]) -> Option<Timestamp> {
    let retries = entries.iter().filter_map(|entry| match entry.settlement {
        Settlement::Retry(next) => Some(next),
        _ => None,
    });
    retries.min()
}
