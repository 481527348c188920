//! `vestibule backup`: copies the database, in its state at the start of the command, into one
//! file.
//!
//! With `--every` or `--keep`, the command makes backup sets in a directory instead. A backup set
//! is a directory with a copy of the database and the files of guests. `super::restore` reads both
//! forms.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use engine::clock::Clock;
use features::platform::BackupStatusFile;
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};

use super::guest_files::GuestFiles;
use crate::config::BackupFlags;

/// The file name of the database in a backup set.
pub(super) const DATABASE_FILE_NAME: &str = "vestibule.db";
/// The name of the directory in a backup set that contains the files of guests.
pub(super) const UPLOADS_FOLDER_NAME: &str = "uploads";
/// The prefix of the names of backup sets and backup files that are not complete yet.
const PARTIAL_PREFIX: &str = ".vestibule-backup-";
/// The format of the name of a backup set: the UTC time at which the backup started.
const NAME_FORMAT: &str = "%Y-%m-%dT%H-%M-%S-%3fZ";
/// The mode of the directories with backups. Only their owner may open them, because they contain
/// data of guests.
const DIRECTORY_MODE: u32 = 0o700;

/// Copies the database into a file, and prints the size of the file. A failed copy leaves no
/// incomplete file. With `--every` or `--keep`, makes backup sets in a directory instead.
pub async fn backup(flags: BackupFlags) -> Result<(), String> {
    if flags.every.is_some() || flags.keep.is_some() {
        return keep_sets(flags).await;
    }
    let file_name = flags.file.display().to_string();
    let url = flags.database.url()?;
    let now = Clock::system().now();
    let result = tokio::task::spawn_blocking(move || {
        let bytes = copy_database(&url, &flags.file)?;
        record_backup(&url, now, None);
        Ok::<_, String>(bytes)
    })
    .await;
    let bytes = result.map_err(|error| error.to_string())??;
    super::print_text(&format!("{file_name}: {bytes} bytes\n"))
}

/// Makes a backup set now and, with `--every`, after every interval, until SIGTERM or SIGINT
/// arrives. If the first backup fails, the command fails, because the settings are probably wrong.
/// A later failure is logged, and the command tries again after the interval.
async fn keep_sets(flags: BackupFlags) -> Result<(), String> {
    let watch = |kind| signal(kind).map_err(|error| error.to_string());
    let (mut terminate, mut interrupt) = (
        watch(SignalKind::terminate())?,
        watch(SignalKind::interrupt())?,
    );
    let plan = SetPlan::of(&flags)?;
    let mut is_first = true;
    loop {
        let (plan, now) = (plan.clone(), Clock::system().now());
        let result = tokio::task::spawn_blocking(move || plan.make(now)).await;
        match result.map_err(|error| error.to_string())? {
            Ok(line) => super::print_text(&line)?,
            Err(error) if is_first => return Err(error),
            Err(error) => tracing::error!(error, "could not make a backup; the next one is tried"),
        }
        is_first = false;
        let Some(every) = flags.every else {
            return Ok(());
        };
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        }
    }
}

/// The data to copy into each backup set, and the directory of the sets.
#[derive(Debug, Clone)]
struct SetPlan {
    database_url: String,
    /// The storage of the files that guests uploaded; `None` if the service has no file storage.
    uploads: Option<GuestFiles>,
    sets: PathBuf,
    /// Number of backup sets that stay in the directory: the newest ones. With `None`, all sets
    /// stay.
    keep: Option<usize>,
}

impl SetPlan {
    fn of(flags: &BackupFlags) -> Result<Self, String> {
        let database_url = flags.database.url()?;
        Ok(Self {
            uploads: GuestFiles::open(&database_url, flags.uploads_url.as_deref())?,
            database_url,
            sets: flags.file.clone(),
            keep: flags.keep.map(std::num::NonZeroUsize::get),
        })
    }

    /// Makes a backup set and removes the oldest sets. Returns the line to print about the new set.
    fn make(&self, now: Timestamp) -> Result<String, String> {
        let result = self.make_set(now);
        record_backup(&self.database_url, now, result.as_ref().err());
        let (set, bytes, files) = result?;
        self.prune()?;
        Ok(format!("{}: {bytes} bytes, {files} files\n", set.display()))
    }

    /// Makes a backup set under a temporary name, and renames it when it is complete. So no
    /// incomplete set has the name of a backup set. Returns the path of the set, the size of the
    /// database in bytes and the number of files.
    fn make_set(&self, now: Timestamp) -> Result<(PathBuf, u64, usize), String> {
        private_directory(&self.sets)?;
        let previous = list_backup_sets(&self.sets)?.pop();
        let partial = tempfile::Builder::new()
            .prefix(PARTIAL_PREFIX)
            .tempdir_in(&self.sets)
            .map_err(|error| describe_file_error(&self.sets, &error))?;
        let bytes = copy_database(&self.database_url, &partial.path().join(DATABASE_FILE_NAME))?;
        let mut files = 0;
        // The database must be copied before the files. The service stores each file before it
        // commits the row that refers to the file. So each row in the copied database refers to a
        // file that exists.
        if let Some(uploads) = &self.uploads {
            let previous = previous.map(|set| set.join(UPLOADS_FOLDER_NAME));
            let target = partial.path().join(UPLOADS_FOLDER_NAME);
            files = uploads.back_up(&target, previous.as_deref())?;
        }
        let set = self.sets.join(now.strftime(NAME_FORMAT).to_string());
        let partial = partial.keep();
        fs::rename(&partial, &set).map_err(|error| describe_file_error(&set, &error))?;
        sync_directory(&self.sets)?;
        Ok((set, bytes, files))
    }

    /// Removes the oldest backup sets, so that at most `keep` sets stay. Does not touch other
    /// entries of the directory.
    fn prune(&self) -> Result<(), String> {
        let Some(keep) = self.keep else { return Ok(()) };
        let sets = list_backup_sets(&self.sets)?;
        let surplus = sets.len().saturating_sub(keep);
        for set in &sets[..surplus] {
            fs::remove_dir_all(set).map_err(|error| describe_file_error(set, &error))?;
        }
        Ok(())
    }
}

/// Returns the backup sets in a directory, the oldest first.
pub(super) fn list_backup_sets(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries =
        fs::read_dir(directory).map_err(|error| describe_file_error(directory, &error))?;
    let is_set = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let has_set_name = name.is_some_and(|name| {
            !name.starts_with('.') && name.ends_with('Z') && name.contains('T')
        });
        has_set_name && path.join(DATABASE_FILE_NAME).is_file()
    };
    let mut sets: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_set)
        .collect();
    sets.sort();
    Ok(sets)
}

/// Creates a directory, and the directories above it that are missing. Only their owner may open
/// the new directories.
pub(super) fn private_directory(path: &Path) -> Result<(), String> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)
        .map_err(|error| describe_file_error(path, &error))
}

/// Writes the entries of a directory to the disk, so that new and changed file names survive a
/// power failure.
pub(super) fn sync_directory(path: &Path) -> Result<(), String> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| describe_file_error(path, &error))
}

/// Describes a failed file operation: the path, and the error.
pub(super) fn describe_file_error(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Records the time and the error of a backup in a file beside the database, for the console. If
/// this file cannot be written, the backup is still valid, so the failure is only logged.
fn record_backup(database_url: &str, now: Timestamp, error: Option<&String>) {
    let Some(note) = BackupStatusFile::for_database(database_url) else {
        return;
    };
    if let Err(error) = note.write(now, error.map(String::as_str)) {
        tracing::warn!(%error, "could not note the backup; the console does not show it");
    }
}

/// Copies a database into a new file, which appears complete or not at all. Returns its size in
/// bytes.
pub(super) fn copy_database(url: &str, file: &Path) -> Result<u64, String> {
    let failed = |error: io::Error| describe_file_error(file, &error);
    if file.try_exists().map_err(failed)? {
        return Err(format!(
            "{}: already exists and was not changed; choose another file",
            file.display()
        ));
    }
    let directory = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // `tempfile` lets only the owner read the file, which has answers of guests, and secrets.
    let partial = tempfile::Builder::new()
        .prefix(PARTIAL_PREFIX)
        .tempfile_in(directory)
        .map_err(failed)?;
    store::back_up(url, partial.path()).map_err(|error| match error {
        store::Error::Configuration(text) => text,
        other => other.to_string(),
    })?;
    partial.as_file().sync_all().map_err(failed)?;
    let bytes = partial.as_file().metadata().map_err(failed)?.len();
    partial
        .persist_noclobber(file)
        .map_err(|error| failed(error.error))?;
    // The content of the file is already durable. This call makes its new name durable.
    sync_directory(directory)?;
    Ok(bytes)
}
