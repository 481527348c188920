//! Measures the work of a transaction. With this measure, tests detect queries that read more rows
//! as a list grows.
//!
//! A test resets the maximum, runs a request, and reads the heaviest transaction since the reset:
//!
//! ```ignore
//! store.max_work();
//! api.get("/portals").await.data();
//! let WorkCount { statements, rows, instructions } = store.max_work();
//! assert!(statements <= 5, "{statements}");
//! ```
//!
//! The maximum is used because a request runs several transactions. Transactions without a share
//! are left out: most of them are background work, such as the dispatcher's search for due
//! deliveries, and could run between the reset and the reading.
//!
//! A test measures a list twice, with few and with many rows in the table. The number of statements
//! must be the same in both. On SQLite, `instructions` must grow no faster than the number of
//! returned rows. In tests of the product, the store is `app.server.service.store`. A response from
//! the cache in memory runs no transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::job::Work;
use crate::{Share, Transaction};

/// The work that a transaction has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkCount {
    /// Number of statements, without `begin`, `commit` and savepoints. A statement that runs for
    /// many rows at once is counted once.
    pub statements: u64,
    /// Number of rows returned by the statements.
    pub rows: u64,
    /// Number of SQLite instructions, which grows with the number of rows and index entries that
    /// are read. 0 on PostgreSQL.
    pub instructions: u64,
}

/// The maximum of each number of a [`WorkCount`], among the transactions on behalf of a share. Two
/// maxima may come from different transactions.
#[derive(Debug, Default)]
pub(crate) struct MaxWork {
    statements: AtomicU64,
    rows: AtomicU64,
    instructions: AtomicU64,
}

impl MaxWork {
    /// Returns `work` with an additional last step: if the transaction runs on behalf of a share,
    /// each number of its [`WorkCount`] that is greater than the recorded maximum replaces that
    /// maximum.
    pub(crate) fn record_after<T, E>(
        self: &Arc<Self>,
        share: Share,
        work: impl Work<T, E>,
    ) -> impl Work<T, E> {
        let max_work = self.clone();
        move |transaction: &mut Transaction<'_>| {
            let outcome = work(transaction);
            if share.is_some() {
                max_work.record(transaction.work);
            }
            outcome
        }
    }

    /// Returns the highest number of statements, of rows and of instructions of a transaction since
    /// the last call. Resets all three numbers to 0.
    pub(crate) fn take(&self) -> WorkCount {
        let take = |number: &AtomicU64| number.swap(0, Ordering::Relaxed);
        WorkCount {
            statements: take(&self.statements),
            rows: take(&self.rows),
            instructions: take(&self.instructions),
        }
    }

    fn record(&self, work: WorkCount) {
        for (maximum, work) in [
            (&self.statements, work.statements),
            (&self.rows, work.rows),
            (&self.instructions, work.instructions),
        ] {
            // Most counts do not exceed the maximum. For these counts a plain load is enough, and
            // unlike `fetch_max` it does not take the cache line away from other cores.
            if maximum.load(Ordering::Relaxed) < work {
                maximum.fetch_max(work, Ordering::Relaxed);
            }
        }
    }
}
