//! Supervises background tasks. A task that ends by itself is restarted after a delay, during which
//! it is listed as down.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The delay before the first restart of a task. The delay doubles each time the task ends again
/// before it has run for [`MAX_BACKOFF`].
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
/// The longest delay before a restart. After a task has run for this long, the delay before its
/// next restart is [`INITIAL_BACKOFF`] again.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// The work of a background task.
///
/// The crate that defines the work boxes it. A crate that awaits an `async fn` compiles it again,
/// so without the box the program would compile all background work a second time, at its own
/// optimization level.
pub type BackgroundTask = BoxFuture<'static, ()>;

/// The names of the background tasks that have ended and are not restarted yet.
#[derive(Default)]
pub struct Background(Mutex<BTreeSet<&'static str>>);

impl Background {
    /// Returns the names of the background tasks that have ended and are not restarted yet.
    #[must_use]
    pub fn down(&self) -> Vec<&'static str> {
        self.names().iter().copied().collect()
    }

    /// Runs `work` until `stop` is cancelled and the task has ended. If the task panics or ends by
    /// itself, restarts it after a delay. Until the restart, [`Background::down`] lists `name`.
    pub async fn supervise<W: Future<Output = ()>>(
        &self,
        name: &'static str,
        stop: CancellationToken,
        work: impl Fn() -> W,
    ) {
        metrics::describe_counter!(
            "vestibule_background_restarts_total",
            "Restarts of background tasks, by name."
        );
        let restarts = metrics::counter!("vestibule_background_restarts_total", "name" => name);
        restarts.increment(0);
        let mut delay = INITIAL_BACKOFF;
        loop {
            let start = Instant::now();
            let result = AssertUnwindSafe(work()).catch_unwind().await;
            if stop.is_cancelled() {
                return;
            }
            if start.elapsed() >= MAX_BACKOFF {
                delay = INITIAL_BACKOFF;
            }
            let has_panicked = result.is_err();
            tracing::error!(
                name,
                has_panicked,
                seconds = delay.as_secs(),
                "background work ended unexpectedly; it restarts after a pause"
            );
            restarts.increment(1);
            self.names().insert(name);
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(delay) => {}
            }
            delay = MAX_BACKOFF.min(2 * delay);
            self.names().remove(name);
        }
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Background work that claims due items, such as webhook deliveries, and processes each item in a
/// separate task.
pub trait ClaimingWork: Sync {
    /// The log message for an item whose task panicked. The item is claimed again, and other items
    /// are not affected.
    const PANIC_MESSAGE: &str;
    /// Whether [`keep_claiming`] claims more items as soon as a running item ends. If false, it
    /// waits for [`ClaimingWork::until_due`], or for the time that [`ClaimingWork::begin_due`] has
    /// returned.
    const CLAIMS_AT_END: bool;

    /// Claims and starts due items, up to the maximum number of running items. Returns the time
    /// until more items may be due.
    fn begin_due(&self, tasks: &mut JoinSet<()>) -> impl Future<Output = Duration> + Send;

    /// Waits for a signal that more items may be due.
    fn until_due(&self) -> impl Future<Output = ()> + Send;
}

/// Claims items whenever some may be due, until `stop` is cancelled. Then waits until the started
/// items have ended.
pub async fn keep_claiming<C: ClaimingWork>(claiming: &C, stop: &CancellationToken) {
    let mut tasks = JoinSet::new();
    while !stop.is_cancelled() {
        let sleep = claiming.begin_due(&mut tasks).await;
        tokio::select! {
            () = stop.cancelled() => break,
            () = claiming.until_due() => {}
            Some(result) = tasks.join_next(), if C::CLAIMS_AT_END => log_panic::<C>(result),
            () = tokio::time::sleep(sleep) => {}
        }
        while let Some(result) = tasks.try_join_next() {
            log_panic::<C>(result);
        }
    }
    finish::<C>(tasks).await;
}

/// Waits until all started items have ended.
pub async fn finish<C: ClaimingWork>(mut tasks: JoinSet<()>) {
    while let Some(result) = tasks.join_next().await {
        log_panic::<C>(result);
    }
}

fn log_panic<C: ClaimingWork>(result: Result<(), JoinError>) {
    if let Err(error) = result {
        tracing::error!(%error, "{}", C::PANIC_MESSAGE);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ended_background_tasks_restart_after_growing_delays() {
        let stop = CancellationToken::new();
        let (background, starts) = (Background::default(), Cell::new(0));
        let start = Instant::now();
        let work = || async {
            starts.set(starts.get() + 1);
            match starts.get() {
                1 => panic!("the first"),
                2 | 3 => {}
                _ => stop.cancel(),
            }
        };
        let check_down = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(background.down(), ["work"]);
        };
        tokio::join!(background.supervise("work", stop.clone(), work), check_down);
        assert_eq!((starts.get(), background.down()), (4, Vec::new()));
        assert_eq!(start.elapsed(), Duration::from_secs(1 + 2 + 4));
    }
}
