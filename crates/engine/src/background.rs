//! Supervision of background tasks: a task that ends is restarted, and reported as down until then.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The first pause before a restart. It doubles each time the task ends again soon.
const RESPITE: Duration = Duration::from_secs(1);
/// The longest pause. A task that runs for this long starts with the shortest pause again.
const LONGEST: Duration = Duration::from_secs(60);

/// The names of the tasks that are down.
#[derive(Default)]
pub struct Background(Mutex<BTreeSet<&'static str>>);

impl Background {
    /// Returns the names of the tasks that are down now.
    #[must_use]
    pub fn down(&self) -> Vec<&'static str> {
        self.names().iter().copied().collect()
    }

    /// Runs `work` until `stop` is cancelled and the task has ended. If the task panics or ends by
    /// itself, it is restarted after a pause. While it is down, `name` is listed.
    pub async fn keep_up<W: Future<Output = ()>>(
        &self,
        name: &'static str,
        stop: CancellationToken,
        work: impl Fn() -> W,
    ) {
        metrics::describe_counter!(
            "vestibule_background_restarts_total",
            "How often background work had to be begun again, by its name."
        );
        let restarts = metrics::counter!("vestibule_background_restarts_total", "name" => name);
        restarts.increment(0);
        let mut pause = RESPITE;
        loop {
            let start = Instant::now();
            let ended = AssertUnwindSafe(work()).catch_unwind().await;
            if stop.is_cancelled() {
                return;
            }
            if start.elapsed() >= LONGEST {
                pause = RESPITE;
            }
            let has_panicked = ended.is_err();
            tracing::error!(
                name,
                has_panicked,
                seconds = pause.as_secs(),
                "background work ended unexpectedly; it restarts after a pause"
            );
            restarts.increment(1);
            self.names().insert(name);
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = LONGEST.min(2 * pause);
            self.names().remove(name);
        }
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work that claims due items and processes each one in its own task.
pub trait ClaimingWork: Sync {
    /// The log message for an item whose task panicked. Only that item is affected; it is claimed
    /// again.
    const ABNORMAL: &str;
    /// Whether a finished item makes space for another, so that items are claimed then.
    const CLAIMS_AT_END: bool;

    /// Starts the due items for which there is space. Returns the time until more may be due.
    fn begin_due(&self, pieces: &mut JoinSet<()>) -> impl Future<Output = Duration> + Send;

    /// Returns when more items may be due.
    fn woken(&self) -> impl Future<Output = ()> + Send;
}

/// Claims items whenever some may be due, until `stop` is cancelled. Then waits for the started
/// items.
pub async fn keep_claiming<C: ClaimingWork>(claiming: &C, stop: &CancellationToken) {
    let mut pieces = JoinSet::new();
    while !stop.is_cancelled() {
        let sleep = claiming.begin_due(&mut pieces).await;
        tokio::select! {
            () = stop.cancelled() => break,
            () = claiming.woken() => {}
            Some(ended) = pieces.join_next(), if C::CLAIMS_AT_END => note::<C>(ended),
            () = tokio::time::sleep(sleep) => {}
        }
        while let Some(ended) = pieces.try_join_next() {
            note::<C>(ended);
        }
    }
    finish::<C>(pieces).await;
}

/// Waits for all started items.
pub async fn finish<C: ClaimingWork>(mut pieces: JoinSet<()>) {
    while let Some(ended) = pieces.join_next().await {
        note::<C>(ended);
    }
}

fn note<C: ClaimingWork>(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "{}", C::ABNORMAL);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ended_background_tasks_restart_after_growing_pauses() {
        let stop = CancellationToken::new();
        let (background, begun) = (Background::default(), Cell::new(0));
        let start = Instant::now();
        let work = || async {
            begun.set(begun.get() + 1);
            match begun.get() {
                1 => panic!("the first"),
                2 | 3 => {}
                _ => stop.cancel(),
            }
        };
        let look = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(background.down(), ["work"]);
        };
        tokio::join!(background.keep_up("work", stop.clone(), work), look);
        assert_eq!((begun.get(), background.down()), (4, Vec::new()));
        assert_eq!(start.elapsed(), Duration::from_secs(1 + 2 + 4));
    }
}
