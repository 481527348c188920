//! Examines a database without changing its contents, and lists the problems that an operator has
//! to solve.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::location::Location;
use crate::{Options, postgres, sqlite};

/// The results of an examination of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examination {
    /// Facts about the database that need no action of the operator.
    pub facts: Vec<String>,
    /// Whether the database has no schema of this program yet.
    pub is_new: bool,
    /// The clock of the database server, in milliseconds since 1970. `None` for SQLite.
    pub now: Option<i64>,
    /// The faults that make the database unusable, each with the remedy.
    pub faults: Vec<(String, String)>,
    /// Problems that leave the database usable but that an operator should know of, each with the
    /// remedy.
    pub notes: Vec<(String, String)>,
}

/// Examines a database. Returns an error if the database cannot be reached or read. Blocks.
pub fn examine(url: &str, options: &Options) -> Result<Examination> {
    match Location::of(url)? {
        Location::Postgres(url) => postgres::examine(&url, options),
        Location::Sqlite(path) => examine_file(&path),
    }
}

fn examine_file(path: &Path) -> Result<Examination> {
    let mut examination = Examination::default();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute.parent().unwrap_or(Path::new("/")).to_owned();
    if let Err(error) = is_writable(&folder) {
        examination.faults.push((
            format!("{}: {error}", folder.display()),
            "make the directory, and let the user of this process write to it; SQLite keeps two \
             files beside the database"
                .into(),
        ));
        return Ok(examination);
    }
    if !absolute.exists() {
        examination.is_new = true;
        examination
            .facts
            .push("the file does not exist yet; the first start creates it".into());
        return Ok(examination);
    }
    match OpenOptions::new().read(true).write(true).open(&absolute) {
        Ok(file) => {
            if is_in_use(&file) {
                examination
                    .facts
                    .push("another process serves it now".into());
            }
        }
        Err(error) => {
            examination.faults.push((
                format!("{}: {error}", absolute.display()),
                "let the user of this process read and write the file".into(),
            ));
            return Ok(examination);
        }
    }
    examination.is_new = !sqlite::has_schema(&absolute)?;
    Ok(examination)
}

/// Returns whether another process has the lock that [`crate::claim`] takes.
fn is_in_use(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Checks that this process can create a file in a directory.
fn is_writable(folder: &Path) -> std::io::Result<()> {
    let probe: PathBuf = folder.join(format!(".vestibule-doctor-{}", std::process::id()));
    match File::create_new(&probe) {
        Ok(_) => std::fs::remove_file(&probe),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examining_a_missing_file_does_not_create_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.db");
        let url = format!("sqlite:{}", path.display());
        let examination = examine(&url, &Options::default()).unwrap();
        assert!(examination.is_new && examination.faults.is_empty() && !path.exists());
        let missing_folder = directory.path().join("none/t.db");
        let url = format!("sqlite:{}", missing_folder.display());
        let examination = examine(&url, &Options::default()).unwrap();
        assert_eq!(examination.faults.len(), 1, "{examination:?}");
        std::fs::write(
            &path,
            "this is no database, and long enough to be read as one",
        )
        .unwrap();
        let url = format!("sqlite:{}", path.display());
        assert!(examine(&url, &Options::default()).is_err());
    }
}
