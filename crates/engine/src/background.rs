//! Work that goes on beside the requests: begun again where it ends before its time, and told of while it is down.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long work that has ended is left alone; doubled each time it ends again soon.
const RESPITE: Duration = Duration::from_secs(1);
/// The longest of these pauses, and what work has to go on for to begin with the shortest again.
const LONGEST: Duration = Duration::from_secs(60);

/// Which work is down.
#[derive(Default)]
pub struct Background(Mutex<BTreeSet<&'static str>>);

impl Background {
    /// The names of what is down now.
    #[must_use]
    pub fn down(&self) -> Vec<&'static str> {
        self.names().iter().copied().collect()
    }

    /// Keeps `work` going until `stop` is cancelled, and until it ends after that: it is begun again, after a pause, whenever it
    /// panics or ends by itself. While it is down it has this name.
    pub async fn keep_up<W: Future<Output = ()>>(&self, name: &'static str, stop: CancellationToken, work: impl Fn() -> W) {
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
            tracing::error!(name, has_panicked, seconds = pause.as_secs(), "background work has ended and is begun again after a pause");
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

/// Work that claims what is due and deals with each piece beside the claiming.
pub trait Claiming: Sync {
    /// What is said where a piece ends by a panic. That ends no more than this one, which is claimed anew.
    const ABNORMAL: &str;
    /// Whether the end of a piece makes room for another, so that it is a reason to claim.
    const CLAIMS_AT_END: bool;

    /// Begins what is due, as far as there is room; how long until there may be more.
    fn begin_due(&self, pieces: &mut JoinSet<()>) -> impl Future<Output = Duration> + Send;

    /// Returns when there may be more than that.
    fn woken(&self) -> impl Future<Output = ()> + Send;
}

/// Claims whenever something may be due, until `stop` is cancelled; then finishes what it began.
pub async fn keep_claiming<C: Claiming>(claiming: &C, stop: &CancellationToken) {
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

/// Waits until all pieces have ended.
pub async fn finish<C: Claiming>(mut pieces: JoinSet<()>) {
    while let Some(ended) = pieces.join_next().await {
        note::<C>(ended);
    }
}

fn note<C: Claiming>(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "{}", C::ABNORMAL);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_ends_is_begun_again_after_a_pause_that_grows() {
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
