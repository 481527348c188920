//! Returns memory to the operating system after many connections or large bodies.
//!
//! The memory of connections and bodies consists of many small objects. When they are freed, the
//! allocator does not return most of their pages to the system ([`allocator`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Interval at which the server checks [`Work`]. Memory is returned at most two intervals after the
/// end of a burst of requests.
const INTERVAL: Duration = Duration::from_secs(4);
/// Bytes of [`Work`] after which memory is returned: bytes that clients sent, and bytes for ended
/// connections. After less work, there is too little free memory to justify the search for it in
/// every heap of the allocator.
const MIN_WORK: u64 = 1 << 20;
/// Bytes that each ended connection adds to [`Work`], for the objects that the server had allocated
/// for the connection. The bytes that the client sent are added separately.
const WORK_PER_CONNECTION: u64 = 16 << 10;

/// The work since memory was last returned: the bytes that clients sent, and
/// [`WORK_PER_CONNECTION`] for each ended connection.
#[derive(Default)]
pub(super) struct Work(AtomicU64);

impl Work {
    /// Counts bytes that a client sent.
    pub(super) fn add(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds [`WORK_PER_CONNECTION`] bytes to the work, for one connection that has ended.
    pub(super) fn add_connection(&self) {
        self.0.fetch_add(WORK_PER_CONNECTION, Ordering::Relaxed);
    }

    /// Returns free memory to the system after each burst of work. Never ends.
    pub(super) async fn return_memory(&self) {
        // When a check returns memory, some request bodies may still be in use. So the next check
        // returns memory once more, even if there was little work in between.
        let mut is_due_again = false;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let is_due = self.0.load(Ordering::Relaxed) >= MIN_WORK;
            if !is_due && !is_due_again {
                continue;
            }
            self.0.store(0, Ordering::Relaxed);
            is_due_again = is_due;
            if let Ok(has_returned) =
                tokio::task::spawn_blocking(allocator::return_free_memory).await
            {
                tracing::debug!(has_returned, "returned free memory to the system");
            }
        }
    }
}
