//! `vestibule backup`: copies the database, as it is when the command begins, into one file; or the
//! database with the files of guests into a directory of sets, again and again.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use engine::clock::Clock;
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};

use super::guest_files::GuestFiles;
use crate::config::BackupFlags;
use crate::platform::BackupNote;

/// The database in a set.
pub(super) const DATABASE: &str = "vestibule.db";
/// The files of guests in a set.
pub(super) const UPLOADS: &str = "uploads";
/// The beginning of the names of unfinished sets.
const PARTIAL: &str = ".vestibule-backup-";
/// The name of a set: the moment at which it was begun.
const NAME: &str = "%Y-%m-%dT%H-%M-%S-%3fZ";
/// Only their owner may open the directories, because they hold data of guests.
const DIRECTORY_MODE: u32 = 0o700;

/// Copies the database into a file that appears whole or not at all, and prints its size. With
/// `--every` or `--keep`, makes sets in a directory.
pub async fn backup(flags: BackupFlags) -> Result<(), String> {
    if flags.every.is_some() || flags.keep.is_some() {
        return keep_sets(flags).await;
    }
    let shown = flags.file.display().to_string();
    let url = flags.database.url()?;
    let now = Clock::system().now();
    let copied = tokio::task::spawn_blocking(move || {
        let bytes = copy(&url, &flags.file)?;
        note(&url, now, None);
        Ok::<_, String>(bytes)
    })
    .await;
    let bytes = copied.map_err(|error| error.to_string())??;
    super::print(&format!("{shown}: {bytes} bytes\n"))
}

/// Makes a set now and at every interval, until SIGTERM or SIGINT arrives. The first failure ends
/// the command; a later one is logged, and the next set is tried in its time.
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
        let made = tokio::task::spawn_blocking(move || plan.make(now)).await;
        match made.map_err(|error| error.to_string())? {
            Ok(line) => super::print(&line)?,
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

/// The parts of a set, and their places.
#[derive(Debug, Clone)]
struct SetPlan {
    database_url: String,
    /// The files of guests, if there is a storage for them.
    uploads: Option<GuestFiles>,
    /// The directory of the sets.
    sets: PathBuf,
    /// The number of sets that are kept; `None` keeps all.
    keep: Option<usize>,
}

impl SetPlan {
    fn of(flags: &BackupFlags) -> Result<Self, String> {
        let database_url = flags.database.url()?;
        Ok(Self {
            uploads: GuestFiles::of(&database_url, flags.uploads_url.as_deref())?,
            database_url,
            sets: flags.file.clone(),
            keep: flags.keep.map(std::num::NonZeroUsize::get),
        })
    }

    /// Makes a set and removes the oldest ones. Returns a line about it.
    fn make(&self, now: Timestamp) -> Result<String, String> {
        let made = self.make_set(now);
        note(&self.database_url, now, made.as_ref().err());
        let (set, bytes, files) = made?;
        self.prune()?;
        Ok(format!("{}: {bytes} bytes, {files} files\n", set.display()))
    }

    /// Makes a set, which appears whole or not at all.
    fn make_set(&self, now: Timestamp) -> Result<(PathBuf, u64, usize), String> {
        private_directory(&self.sets)?;
        let previous = sets_in(&self.sets)?.pop();
        let partial = tempfile::Builder::new()
            .prefix(PARTIAL)
            .tempdir_in(&self.sets)
            .map_err(|error| failed(&self.sets, &error))?;
        let bytes = copy(&self.database_url, &partial.path().join(DATABASE))?;
        let mut files = 0;
        // The files follow the database: a file is written before the row that names it.
        if let Some(uploads) = &self.uploads {
            let before = previous.map(|set| set.join(UPLOADS));
            let into = partial.path().join(UPLOADS);
            files = uploads.back_up(&into, before.as_deref())?;
        }
        let set = self.sets.join(now.strftime(NAME).to_string());
        let partial = partial.keep();
        fs::rename(&partial, &set).map_err(|error| failed(&set, &error))?;
        sync_directory(&self.sets)?;
        Ok((set, bytes, files))
    }

    /// Removes the oldest sets. Nothing else in the directory is touched.
    fn prune(&self) -> Result<(), String> {
        let Some(keep) = self.keep else { return Ok(()) };
        let sets = sets_in(&self.sets)?;
        let surplus = sets.len().saturating_sub(keep);
        for set in &sets[..surplus] {
            fs::remove_dir_all(set).map_err(|error| failed(set, &error))?;
        }
        Ok(())
    }
}

/// Returns the sets in a directory, the oldest first.
pub(super) fn sets_in(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(directory).map_err(|error| failed(directory, &error))?;
    let is_set = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_named = name.is_some_and(|name| {
            !name.starts_with('.') && name.ends_with('Z') && name.contains('T')
        });
        is_named && path.join(DATABASE).is_file()
    };
    let mut sets: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_set)
        .collect();
    sets.sort();
    Ok(sets)
}

/// Creates a directory that only its owner may open, with its parents.
pub(super) fn private_directory(path: &Path) -> Result<(), String> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)
        .map_err(|error| failed(path, &error))
}

pub(super) fn sync_directory(path: &Path) -> Result<(), String> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| failed(path, &error))
}

pub(super) fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Notes beside the database when a backup was made, for the console. A note that cannot be written
/// is no fault of the backup.
fn note(database_url: &str, now: Timestamp, error: Option<&String>) {
    let Some(note) = BackupNote::note_of(database_url) else {
        return;
    };
    if let Err(error) = note.write(now, error.map(String::as_str)) {
        tracing::warn!(%error, "could not note the backup; the console does not show it");
    }
}

pub(super) fn copy(url: &str, file: &Path) -> Result<u64, String> {
    let failed = |error: io::Error| failed(file, &error);
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
    // Only its owner may read the file, because it holds answers of guests, and secrets.
    let partial = tempfile::Builder::new()
        .prefix(PARTIAL)
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
    // The file's contents are on the disk. This syncs its name too.
    sync_directory(directory)?;
    Ok(bytes)
}
