//! Returns memory to the system after many connections or large bodies.
//!
//! The memory of connections and bodies consists of many small objects. When they are freed, the
//! allocator keeps most of their pages ([`allocator`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Interval between two looks at the amount of work. Memory is back within twice this time after a
/// burst.
const INTERVAL: Duration = Duration::from_secs(4);
/// Bytes of work after which memory is returned. Less work leaves too little behind to be worth a
/// visit to every heap.
const WORTHWHILE: u64 = 1 << 20;
/// Bytes of work that a connection counts for, in addition to the bytes that it sent.
const CONNECTION: u64 = 16 << 10;

/// The work since memory was last returned, in bytes.
#[derive(Default)]
pub(super) struct Work(AtomicU64);

impl Work {
    /// Counts bytes that a client sent.
    pub(super) fn add(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a connection that ended.
    pub(super) fn add_connection(&self) {
        self.0.fetch_add(CONNECTION, Ordering::Relaxed);
    }

    /// Returns memory to the system, now and then, for as long as it is polled.
    pub(super) async fn return_memory(&self) {
        // The last look of a burst comes while its bodies are still in use.
        let mut is_due_again = false;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let is_due = self.0.load(Ordering::Relaxed) >= WORTHWHILE;
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
