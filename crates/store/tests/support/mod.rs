//! A SQLite database of a test's own, with one table.

use store::{Migrations, Store};
use tempfile::TempDir;

/// An open database, and where it is.
pub struct Opened {
    pub store: Store,
    pub url: String,
    pub directory: TempDir,
}

/// Migrations that make the table.
pub fn migrations(table: &str) -> Migrations {
    let runner = || Migrations::runner(&[("V1__thing", table)]);
    Migrations { sqlite: runner(), postgres: runner() }
}

/// Opens a fresh one.
pub fn open(table: &str) -> Opened {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("store.db").display());
    Opened { store: Store::open(&url, &migrations(table)).unwrap(), url, directory }
}
