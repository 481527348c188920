//! A SQLite database for one test, with one table.

use store::{Migrations, Store};
use tempfile::TempDir;

/// An open database, and its location.
pub struct Opened {
    pub store: Store,
    pub url: String,
    pub directory: TempDir,
}

/// Returns the migrations of a database with one table. `table` is the SQL that creates the table.
pub fn migrations(table: &str) -> Migrations {
    let runner = || Migrations::runner(&[("V1__thing", table)]);
    Migrations {
        sqlite: runner(),
        postgres: runner(),
    }
}

/// Opens a new database with one table. `table` is the SQL that creates the table.
pub fn open(table: &str) -> Opened {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("store.db").display());
    Opened {
        store: Store::open(&url, &migrations(table)).unwrap(),
        url,
        directory,
    }
}
