//! Copies a SQLite database while other processes write to it.

use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::WAIT_LIMIT;
use crate::error::{Error, Result};

/// Makes [`Backup::step`] copy all pages in one call.
const ALL_PAGES: i32 = -1;

/// Copies the committed contents of the database into an empty file, and checks the integrity of
/// the copy.
pub(crate) fn back_up(database: &Path, into: &Path) -> Result<()> {
    let source = open(database)?;
    let mut copy = Connection::open(into)?;
    // One step is one read transaction, so the copy shows a single state of the database. In WAL
    // mode no writer waits for this transaction. A copy in several steps would start again after
    // every commit of another process.
    let step = Backup::new(&source, &mut copy)?.step(ALL_PAGES)?;
    if step != StepResult::Done {
        return Err(Error::Unavailable(
            "another process has locked the database; try again".into(),
        ));
    }
    // Damage in the source is copied too. The operator should learn of the damage now, not when the
    // backup is needed.
    let report: String = copy.query_row("pragma integrity_check(1)", [], |row| row.get(0))?;
    if report != "ok" {
        return Err(Error::Configuration(format!(
            "the database is damaged: {report}"
        )));
    }
    copy.close().map_err(|(_, error)| error.into())
}

/// Opens an existing database. Fails if the path is misspelt, because SQLite would otherwise create
/// an empty database there.
fn open(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
    let unusable =
        |error: rusqlite::Error| Error::Configuration(format!("{}: {error}", path.display()));
    let connection = Connection::open_with_flags(path, flags).map_err(unusable)?;
    connection.busy_timeout(WAIT_LIMIT)?;
    Ok(connection)
}
