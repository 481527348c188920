//! How much a transaction does, so that a test can see that work does not grow with a list it should not grow with.
//!
//! A test forgets what was before, has something done, and looks at the heaviest transaction since:
//!
//! ```ignore
//! store.heaviest();
//! api.get("/portals").await.data();
//! let Effort { statements, rows, steps } = store.heaviest();
//! assert!(statements <= 5, "{statements}");
//! ```
//!
//! The heaviest, because background work has transactions of its own in between, and those are small. A list is looked at
//! twice, with few and with many things behind it: statements stay the same, and on SQLite `steps` grow no faster than what is
//! returned. In tests of the product the store is `app.server.service.store`. An answer from memory has no transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Transaction;
use crate::job::Work;

/// What a transaction has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Statements it has run; `begin`, `commit` and savepoints are not counted. One that is run for many rows at once is one.
    pub statements: u64,
    /// Rows that were returned to it.
    pub rows: u64,
    /// Instructions of SQLite that took, which grow with the rows and index entries looked at. 0 on PostgreSQL.
    pub steps: u64,
}

/// The greatest effort, each number by itself.
#[derive(Debug, Default)]
pub(crate) struct Heaviest {
    statements: AtomicU64,
    rows: AtomicU64,
    steps: AtomicU64,
}

impl Heaviest {
    /// Work whose effort is noted here when it is done.
    pub(crate) fn of<T, E>(self: &Arc<Self>, work: impl Work<T, E>) -> impl Work<T, E> {
        let heaviest = self.clone();
        move |transaction: &mut Transaction<'_>| {
            let outcome = work(transaction);
            heaviest.note(transaction.effort);
            outcome
        }
    }

    /// What it is; from here on it begins anew.
    pub(crate) fn take(&self) -> Effort {
        let take = |number: &AtomicU64| number.swap(0, Ordering::Relaxed);
        Effort { statements: take(&self.statements), rows: take(&self.rows), steps: take(&self.steps) }
    }

    fn note(&self, effort: Effort) {
        for (greatest, number) in [(&self.statements, effort.statements), (&self.rows, effort.rows), (&self.steps, effort.steps)] {
            // Most are not the greatest, and reading leaves the line with all cores.
            if greatest.load(Ordering::Relaxed) < number {
                greatest.fetch_max(number, Ordering::Relaxed);
            }
        }
    }
}
