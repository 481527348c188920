//! Waits with a time limit. If the awaited event does not happen in time, the test panics with a
//! message that names the event.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Time limit of a wait for an event that takes milliseconds on an idle machine.
pub const WAIT_LIMIT: Duration = Duration::from_secs(20);
/// Pause between two checks of a condition.
pub const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `holds` returns true. Panics after [`WAIT_LIMIT`]. `event` describes the condition
/// for the message, for example `the request arrives`.
pub async fn wait_until(event: &str, holds: impl AsyncFnMut() -> bool) {
    wait_until_within(WAIT_LIMIT, event, holds).await;
}

/// Does the same as [`wait_until`], with `limit` in place of [`WAIT_LIMIT`].
pub async fn wait_until_within(limit: Duration, event: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    in_time_within(limit, event, waiting).await;
}

/// Reads a value again and again until it satisfies `holds`, and returns it. Panics after
/// [`WAIT_LIMIT`]. The message contains the value that was read last.
pub async fn read_until<T: Debug>(
    mut read: impl AsyncFnMut() -> T,
    holds: impl Fn(&T) -> bool,
) -> T {
    let start = Instant::now();
    loop {
        let value = read().await;
        if holds(&value) {
            return value;
        }
        assert!(
            start.elapsed() < WAIT_LIMIT,
            "not within {WAIT_LIMIT:?}: {value:?}"
        );
        tokio::time::sleep(PAUSE).await;
    }
}

/// Does the same as [`wait_until`], but blocks the thread.
pub fn block_until(event: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < WAIT_LIMIT,
            "not within {WAIT_LIMIT:?}: {event}"
        );
        std::thread::sleep(PAUSE);
    }
}

/// Returns the output of a future, for example of a read from a socket. Panics after
/// [`WAIT_LIMIT`]. `event` describes the end of the future for the message.
pub async fn in_time<T>(event: &str, future: impl Future<Output = T>) -> T {
    in_time_within(WAIT_LIMIT, event, future).await
}

/// Does the same as [`in_time`], with `limit` in place of [`WAIT_LIMIT`].
pub async fn in_time_within<T>(limit: Duration, event: &str, future: impl Future<Output = T>) -> T {
    // The future is boxed, so that the futures of tests that wait stay small.
    tokio::time::timeout(limit, Box::pin(future))
        .await
        .unwrap_or_else(|_| panic!("not within {limit:?}: {event}"))
}
