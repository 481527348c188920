//! Measures the work of a transaction, so that tests can detect queries that grow with the size of
//! a list.
//!
//! A test resets the maximum, runs a request, and reads the heaviest transaction since:
//!
//! ```ignore
//! store.heaviest();
//! api.get("/portals").await.data();
//! let Effort { statements, rows, steps } = store.heaviest();
//! assert!(statements <= 5, "{statements}");
//! ```
//!
//! The maximum is used because background work runs small transactions of its own in between. A
//! test measures a list twice, with few and with many rows behind it. The number of statements must
//! stay the same, and on SQLite `steps` must grow no faster than the returned rows. In tests of the
//! product the store is `app.server.service.store`. An answer from memory has no transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Transaction;
use crate::job::Work;

/// The work that a transaction has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkCount {
    /// Number of statements, without `begin`, `commit` and savepoints. A statement that is run for
    /// many rows at once counts as one.
    pub statements: u64,
    /// Number of rows returned by the statements.
    pub rows: u64,
    /// Number of SQLite instructions, which grows with the rows and index entries read. 0 on
    /// PostgreSQL.
    pub steps: u64,
}

/// The maximum of each number of a [`WorkCount`]. The maxima may come from different transactions.
#[derive(Debug, Default)]
pub(crate) struct MaxWork {
    statements: AtomicU64,
    rows: AtomicU64,
    steps: AtomicU64,
}

impl MaxWork {
    /// Wraps work so that its count is noted here when the work is done.
    pub(crate) fn of<T, E>(self: &Arc<Self>, work: impl Work<T, E>) -> impl Work<T, E> {
        let heaviest = self.clone();
        move |transaction: &mut Transaction<'_>| {
            let outcome = work(transaction);
            heaviest.note(transaction.work);
            outcome
        }
    }

    /// Returns the maximum and resets it.
    pub(crate) fn take(&self) -> WorkCount {
        let take = |number: &AtomicU64| number.swap(0, Ordering::Relaxed);
        WorkCount {
            statements: take(&self.statements),
            rows: take(&self.rows),
            steps: take(&self.steps),
        }
    }

    fn note(&self, count: WorkCount) {
        for (greatest, number) in [
            (&self.statements, count.statements),
            (&self.rows, count.rows),
            (&self.steps, count.steps),
        ] {
            // Most efforts are below the maximum, and a plain load leaves the cache line shared by
            // all cores.
            if greatest.load(Ordering::Relaxed) < number {
                greatest.fetch_max(number, Ordering::Relaxed);
            }
        }
    }
}
