//! Background work that becomes due at moments in the database, one organization at a time.
//!
//! Every node runs a [`DueWorker`]. One transaction locks the organization, does its due work and
//! notes that it is done. So only one node does it, and only once.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use store::Transaction;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::app_state::WakeSignal;
use crate::error::{Error, Result};
use crate::pipeline::Service;

/// A kind of work that becomes due.
pub trait DueWork: 'static {
    /// Minimum pause between two searches for due work.
    const SHORTEST_PAUSE: Duration;
    /// Pause after a failure.
    const RETRY_PAUSE: Duration;
    /// The log message for a failure.
    const FAILED: &str;

    /// Returns the maximum pause between two searches. It bounds the delay of work that another
    /// node has stored in the meantime.
    fn longest_pause(service: &Service) -> Duration;

    /// Returns how long after its stored moment work is due.
    fn delay(_service: &Service) -> Duration {
        Duration::ZERO
    }

    /// Returns an organization with work whose moment is `until` or earlier. Skips those of
    /// `except`.
    fn find(tx: &mut Transaction<'_>, until: Timestamp, except: Vec<Uuid>) -> Result<Option<Uuid>>;

    /// Does the work of an organization whose moment is `until` or earlier, up to the limit of one
    /// transaction. Returns the number of pieces, and the wake signals to send.
    fn perform(
        tx: &mut Transaction<'_>,
        service: &Service,
        organization: Uuid,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(usize, BTreeSet<WakeSignal>)>;

    /// Returns the earliest stored moment.
    fn first(tx: &mut Transaction<'_>) -> Result<Option<Timestamp>>;
}

/// Does the due work of one kind.
pub struct DueWorker<W> {
    service: Arc<Service>,
    work: PhantomData<fn() -> W>,
}

impl<W> Clone for DueWorker<W> {
    fn clone(&self) -> Self {
        Self {
            service: self.service.clone(),
            work: PhantomData,
        }
    }
}

impl<W: DueWork> DueWorker<W> {
    /// Makes a worker.
    #[must_use]
    pub fn new(service: Arc<Service>) -> Self {
        Self {
            service,
            work: PhantomData,
        }
    }

    /// Does due work until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let now = self.service.clock.now();
            let mut unavailable = Vec::new();
            while self.perform_some(now, &mut unavailable).await.is_some() {
                if stop.is_cancelled() {
                    return;
                }
            }
            let pause = if unavailable.is_empty() {
                self.pause().await
            } else {
                W::RETRY_PAUSE
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Does all work that is due now. Returns the number of pieces.
    pub async fn step(&self) -> usize {
        let now = self.service.clock.now();
        let (mut count, mut unavailable) = (0, Vec::new());
        while let Some(done) = self.perform_some(now, &mut unavailable).await {
            count += done;
        }
        count
    }

    /// Does the work of one organization that was due at `now`, up to the limit of one transaction.
    /// Returns `None` if none is left. An organization that cannot be locked is noted as
    /// unavailable and delays no other.
    async fn perform_some(&self, now: Timestamp, unavailable: &mut Vec<Uuid>) -> Option<usize> {
        let (until, except) = (self.until(now), unavailable.clone());
        let found = self
            .service
            .store
            .read(move |tx| W::find(tx, until, except))
            .await;
        let organization = match found {
            Ok(found) => found?,
            Err(error) => {
                warn::<W>(&error);
                return None;
            }
        };
        let (shared, now) = (self.service.clone(), self.service.clock.now());
        let done = self
            .service
            .store
            .write(move |tx| W::perform(tx, &shared, organization, until, now))
            .await;
        match done {
            Ok((count, wake_signals)) => {
                self.service.app_state.wake(&wake_signals);
                // A standby may still list work that is done already.
                if count == 0 {
                    unavailable.push(organization);
                }
                Some(count)
            }
            Err(error) => {
                warn::<W>(&error);
                unavailable.push(organization);
                Some(0)
            }
        }
    }

    /// Returns the time until the next search.
    async fn pause(&self) -> Duration {
        let longest = W::longest_pause(&self.service);
        let pause = match self.service.store.read(W::first).await {
            Ok(Some(first)) => {
                let due = first
                    .checked_add(W::delay(&self.service))
                    .unwrap_or(Timestamp::MAX);
                Duration::try_from(self.service.clock.now().duration_until(due))
                    .unwrap_or(Duration::ZERO)
                    .min(longest)
            }
            Ok(None) => longest,
            Err(error) => {
                warn::<W>(&error);
                W::RETRY_PAUSE
            }
        };
        pause.max(W::SHORTEST_PAUSE)
    }

    /// Returns the latest stored moment of work that is due at `now`.
    fn until(&self, now: Timestamp) -> Timestamp {
        // No work is older than this. The databases differ in the earliest moment that they can
        // store.
        now.checked_sub(W::delay(&self.service))
            .unwrap_or(Timestamp::UNIX_EPOCH)
            .max(Timestamp::UNIX_EPOCH)
    }
}

fn warn<W: DueWork>(error: &Error) {
    tracing::warn!(cause = error.cause().unwrap_or_default(), "{}", W::FAILED);
}
