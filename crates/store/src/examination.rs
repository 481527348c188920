//! Examines a database without changing it, and lists its faults for an operator.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::location::Location;
use crate::{Options, postgres, sqlite};

/// The facts about a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examination {
    /// The kind and state of the database, in words.
    pub facts: Vec<String>,
    /// Whether it has no schema of this program yet.
    pub is_new: bool,
    /// The server's time in milliseconds since 1970; none for a file.
    pub now: Option<i64>,
    /// The faults that make it unusable, each with the remedy.
    pub faults: Vec<(String, String)>,
    /// Remarks for an operator, each with a remedy.
    pub notes: Vec<(String, String)>,
}

/// Looks at a database. Returns an error if it cannot be reached or read. Blocks.
pub fn examine(url: &str, options: &Options) -> Result<Examination> {
    match Location::of(url)? {
        Location::Postgres(url) => postgres::examine(&url, options),
        Location::Sqlite(path) => examine_file(&path),
    }
}

fn examine_file(path: &Path) -> Result<Examination> {
    let mut examination = Examination::default();
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent().unwrap_or(Path::new("/")).to_owned();
    if let Err(error) = is_writable(&folder) {
        examination.faults.push((
            format!("{}: {error}", folder.display()),
            "make the directory, and let the user of this process write to it; SQLite keeps two \
             files beside the database"
                .into(),
        ));
        return Ok(examination);
    }
    if !whole.exists() {
        examination.is_new = true;
        examination
            .facts
            .push("the file does not exist yet; the first start creates it".into());
        return Ok(examination);
    }
    match OpenOptions::new().read(true).write(true).open(&whole) {
        Ok(file) => {
            if is_in_use(&file) {
                examination
                    .facts
                    .push("another process serves it now".into());
            }
        }
        Err(error) => {
            examination.faults.push((
                format!("{}: {error}", whole.display()),
                "let the user of this process read and write the file".into(),
            ));
            return Ok(examination);
        }
    }
    examination.is_new = !sqlite::has_schema(&whole)?;
    Ok(examination)
}

/// Returns whether another process has the lock of [`crate::claim`].
fn is_in_use(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Creates a file in a directory and removes it again.
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
    fn a_file_is_examined_without_being_made() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.db");
        let url = format!("sqlite:{}", path.display());
        let examined = examine(&url, &Options::default()).unwrap();
        assert!(examined.is_new && examined.faults.is_empty() && !path.exists());
        let lost = directory.path().join("none/t.db");
        let url = format!("sqlite:{}", lost.display());
        let examined = examine(&url, &Options::default()).unwrap();
        assert_eq!(examined.faults.len(), 1, "{examined:?}");
        std::fs::write(
            &path,
            "this is no database, and long enough to be read as one",
        )
        .unwrap();
        let url = format!("sqlite:{}", path.display());
        assert!(examine(&url, &Options::default()).is_err());
    }
}
