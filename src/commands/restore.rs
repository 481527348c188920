//! `vestibule restore`: replaces a SQLite database and the files of guests by a backup that
//! `vestibule backup` made.

use std::fs;
use std::path::{Path, PathBuf};

use engine::clock::Clock;
use store::Location;

use super::backup::{
    DATABASE_FILE_NAME, UPLOADS_FOLDER_NAME, copy_database, describe_file_error, list_backup_sets,
    sync_directory,
};
use super::guest_files::GuestFiles;
use crate::config::RestoreFlags;

/// The suffixes of the files that SQLite creates beside a database file.
const SQLITE_SUFFIXES: [&str; 2] = ["-wal", "-shm"];

/// Restores a backup. The service must not run. Renames the former database instead of deleting it.
pub async fn restore(flags: RestoreFlags) -> Result<(), String> {
    let line = tokio::task::spawn_blocking(move || restore_backup(&flags)).await;
    super::print_text(&line.map_err(|error| error.to_string())??)
}

fn restore_backup(flags: &RestoreFlags) -> Result<String, String> {
    let url = flags.database.url()?;
    let Location::Sqlite(database) = Location::of(&url).map_err(|error| error.to_string())? else {
        return Err("restore is for SQLite databases; use pg_restore for PostgreSQL".into());
    };
    let backup = BackupPaths::at(&flags.from)?;
    let exists = database
        .try_exists()
        .map_err(|error| describe_file_error(&database, &error))?;
    if exists && !flags.replace {
        return Err(format!(
            "{}: already exists; --replace restores in its place, and keeps it under another name",
            database.display()
        ));
    }
    // A running service holds the lock of its database. If a service runs on this database, the
    // command fails here.
    let _claim = store::claim(&url).map_err(|error| error.to_string())?;
    let stamp = Clock::system()
        .now()
        .strftime("%Y-%m-%dT%H-%M-%SZ")
        .to_string();
    let restored = with_suffix(&database, &format!(".restoring-{stamp}"));
    let bytes = copy_database(&format!("sqlite:{}", backup.database.display()), &restored)?;
    let storage = GuestFiles::open(&url, flags.uploads_url.as_deref())?;
    let files = match (&backup.uploads, &storage) {
        (Some(from), Some(storage)) => storage.restore(from)?,
        _ => 0,
    };
    set_aside(&database, &stamp, exists)?;
    fs::rename(&restored, &database).map_err(|error| describe_file_error(&database, &error))?;
    let directory = database
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    sync_directory(directory.unwrap_or(Path::new(".")))?;
    Ok(format!(
        "restored {} from {}: {bytes} bytes, {files} files\n",
        database.display(),
        backup.database.display()
    ))
}

/// The paths of a backup: of its database, and of the files of guests, if the backup has them.
struct BackupPaths {
    database: PathBuf,
    uploads: Option<PathBuf>,
}

impl BackupPaths {
    /// Finds the backup at a path. The path is a database file, a backup set, or a directory of
    /// backup sets. From a directory, selects the newest set.
    fn at(path: &Path) -> Result<Self, String> {
        if path.is_file() {
            return Ok(Self {
                database: path.to_owned(),
                uploads: None,
            });
        }
        let set = if path.join(DATABASE_FILE_NAME).is_file() {
            path.to_owned()
        } else {
            list_backup_sets(path)?
                .pop()
                .ok_or_else(|| format!("{}: there is no backup", path.display()))?
        };
        let uploads = set.join(UPLOADS_FOLDER_NAME);
        Ok(Self {
            database: set.join(DATABASE_FILE_NAME),
            uploads: uploads.is_dir().then_some(uploads),
        })
    }
}

/// Renames the former database and its write-ahead log, because SQLite would apply that log to the
/// restored database. If there was no database, removes the empty file that the lock created.
fn set_aside(database: &Path, stamp: &str, exists: bool) -> Result<(), String> {
    let former = with_suffix(database, &format!(".replaced-{stamp}"));
    for suffix in SQLITE_SUFFIXES.iter().copied().chain([""]) {
        let from = with_suffix(database, suffix);
        if !from.exists() {
            continue;
        }
        let result = if exists {
            fs::rename(&from, with_suffix(&former, suffix))
        } else {
            fs::remove_file(&from)
        };
        result.map_err(|error| describe_file_error(&from, &error))?;
    }
    Ok(())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
