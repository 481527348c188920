//! Background work whose due times are stored in the database. A worker processes one organization
//! at a time.
//!
//! Every node runs a [`DueWorker`]. One transaction locks the organization, does its due work and
//! records that the work is done. Each piece of work is therefore done exactly once, by one node.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use store::Transaction;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::app_state::WakeSignal;
use crate::background::BackgroundTask;
use crate::error::{Error, Result};
use crate::pipeline::Service;

/// A kind of background work that becomes due at stored times.
pub trait DueWork: 'static {
    /// Minimum delay between two searches for due work.
    const MIN_DELAY: Duration;
    /// Delay before the next search after a failure.
    const RETRY_DELAY: Duration;
    /// The log message for a failure.
    const FAILED: &str;

    /// Returns the maximum delay between two searches. It limits how late a node notices work that
    /// another node has stored since the last search.
    fn max_delay(service: &Service) -> Duration;

    /// Returns the delay from the stored time of a piece of work to the moment at which it becomes
    /// due.
    fn delay(_service: &Service) -> Duration {
        Duration::ZERO
    }

    /// Returns an organization that has a piece of work whose time in the database is `until` or
    /// earlier. Skips the organizations in `except`.
    fn find(tx: &mut Transaction<'_>, until: Timestamp, except: Vec<Uuid>) -> Result<Option<Uuid>>;

    /// Does the organization's pieces of work whose stored time is `until` or earlier, up to the
    /// limit of one transaction. Returns the number of completed pieces, and the wake signals to
    /// send.
    fn perform(
        tx: &mut Transaction<'_>,
        service: &Service,
        organization: Uuid,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(usize, BTreeSet<WakeSignal>)>;

    /// Returns the earliest stored time of all work, in the past or in the future; `None` if there
    /// is no work. The work becomes due [`DueWork::delay`] after its stored time.
    fn first(tx: &mut Transaction<'_>) -> Result<Option<Timestamp>>;
}

/// A background worker for one kind of due work.
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
    /// Creates a worker.
    #[must_use]
    pub fn new(service: Arc<Service>) -> Self {
        Self {
            service,
            work: PhantomData,
        }
    }

    /// Searches for organizations with due work and does this work, until `stop` is cancelled.
    #[must_use]
    pub fn run(self, stop: CancellationToken) -> BackgroundTask {
        async move {
            while !stop.is_cancelled() {
                let now = self.service.clock.now();
                let mut unavailable = Vec::new();
                while self.perform_some(now, &mut unavailable).await.is_some() {
                    if stop.is_cancelled() {
                        return;
                    }
                }
                let delay = if unavailable.is_empty() {
                    self.delay().await
                } else {
                    W::RETRY_DELAY
                };
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(delay) => {}
                }
            }
        }
        .boxed()
    }

    /// Does all work that is due now. Returns how many pieces of work were completed.
    pub async fn run_once(&self) -> usize {
        let now = self.service.clock.now();
        let (mut count, mut unavailable) = (0, Vec::new());
        while let Some(completed) = self.perform_some(now, &mut unavailable).await {
            count += completed;
        }
        count
    }

    /// Does the work of one organization that has work due at `now`, up to the limit of one
    /// transaction. Returns how many pieces of work were completed, or `None` if no organization
    /// has due work or the search for one fails. If the work fails, returns 0 and adds the
    /// organization to `unavailable`, so that the next call chooses another one.
    async fn perform_some(&self, now: Timestamp, unavailable: &mut Vec<Uuid>) -> Option<usize> {
        let (until, except) = (self.until(now), unavailable.clone());
        let result = self
            .service
            .store
            .read(move |tx| W::find(tx, until, except))
            .await;
        let organization = match result {
            Ok(result) => result?,
            Err(error) => {
                log_failure::<W>(&error);
                return None;
            }
        };
        let (shared, now) = (self.service.clone(), self.service.clock.now());
        let result = self
            .service
            .store
            .write(move |tx| W::perform(tx, &shared, organization, until, now))
            .await;
        match result {
            Ok((count, wake_signals)) => {
                self.service.app_state.wake(&wake_signals);
                // The search may have run on a standby, which can list work that is already done.
                // Exclude this organization from the other searches of this run.
                if count == 0 {
                    unavailable.push(organization);
                }
                Some(count)
            }
            Err(error) => {
                log_failure::<W>(&error);
                unavailable.push(organization);
                Some(0)
            }
        }
    }

    /// Returns the delay until the next search.
    async fn delay(&self) -> Duration {
        let max_delay = W::max_delay(&self.service);
        let delay = match self.service.store.read(W::first).await {
            Ok(Some(first)) => {
                let due = first
                    .checked_add(W::delay(&self.service))
                    .unwrap_or(Timestamp::MAX);
                Duration::try_from(self.service.clock.now().duration_until(due))
                    .unwrap_or(Duration::ZERO)
                    .min(max_delay)
            }
            Ok(None) => max_delay,
            Err(error) => {
                log_failure::<W>(&error);
                W::RETRY_DELAY
            }
        };
        delay.max(W::MIN_DELAY)
    }

    /// Returns the time at or before which the stored time of due work is. Work becomes due
    /// `W::delay` after its stored time.
    fn until(&self, now: Timestamp) -> Timestamp {
        // Stored times are never before 1970. The two databases accept different earliest times, so
        // a parameter before 1970 could be refused.
        now.checked_sub(W::delay(&self.service))
            .unwrap_or(Timestamp::UNIX_EPOCH)
            .max(Timestamp::UNIX_EPOCH)
    }
}

fn log_failure<W: DueWork>(error: &Error) {
    tracing::warn!(cause = error.cause().unwrap_or_default(), "{}", W::FAILED);
}
