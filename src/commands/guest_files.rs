//! The files of guests as `vestibule backup` and `vestibule restore` handle them: in a directory or
//! in a bucket.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use files::Files;
use futures_util::TryStreamExt as _;
use store::Location;
use tempfile::NamedTempFile;
use tokio::runtime::Handle;
use url::Url;

use super::backup::{failed, private_directory, sync_directory};

/// Bytes of a file that are sent to a bucket at once.
const PIECE: usize = 256 << 10;

/// The storage of the files of guests.
#[derive(Debug, Clone)]
pub(super) enum GuestFiles {
    /// A directory of this machine.
    Directory(PathBuf),
    /// A bucket, and its URL.
    Bucket(Files, String),
}

impl GuestFiles {
    /// Opens the storage: that of the URL, or else the directory beside a SQLite database.
    pub(super) fn of(
        database_url: &str,
        uploads_url: Option<&str>,
    ) -> Result<Option<Self>, String> {
        let Some(text) = uploads_url.filter(|url| !url.is_empty()) else {
            let location = Location::of(database_url).map_err(|error| error.to_string())?;
            return Ok(location.with_suffix(".uploads").map(Self::Directory));
        };
        let url = Url::parse(text).map_err(|error| format!("--uploads-url: {error}"))?;
        if url.scheme() != "file" {
            let files = Files::open(text).map_err(|error| format!("--uploads-url: {error}"))?;
            return Ok(Some(Self::Bucket(files, text.to_owned())));
        }
        url.to_file_path()
            .map(|path| Some(Self::Directory(path)))
            .map_err(|()| "--uploads-url: is not the URL of a directory".to_owned())
    }

    /// Copies all files into a folder of a backup. A file that the backup before has is linked, not
    /// copied. Returns the number of files. Blocks, on a thread of the runtime that may block.
    pub(super) fn back_up(&self, into: &Path, before: Option<&Path>) -> Result<usize, String> {
        match self {
            Self::Directory(from) => copy_files(from, into, before),
            Self::Bucket(files, url) => {
                let fetched = fetch_all(files, into, before);
                Handle::current()
                    .block_on(fetched)
                    .map_err(|error| format!("{url}: {error}"))
            }
        }
    }

    /// Puts the files of a backup into the storage. Returns the number of files. Blocks, on a
    /// thread of the runtime that may block.
    pub(super) fn restore(&self, from: &Path) -> Result<usize, String> {
        match self {
            Self::Directory(into) => copy_files(from, into, None),
            Self::Bucket(files, url) => {
                let sent = send_all(files, from);
                Handle::current()
                    .block_on(sent)
                    .map_err(|error| format!("{url}: {error}"))
            }
        }
    }
}

/// Copies files of guests into a directory. A file that `before` has in the same size is linked,
/// not copied: files never change. Returns the number of files.
fn copy_files(from: &Path, into: &Path, before: Option<&Path>) -> Result<usize, String> {
    private_directory(into)?;
    let entries = match fs::read_dir(from) {
        Ok(entries) => entries,
        // Nobody has sent a file yet, or the folder was removed meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(failed(from, &error)),
    };
    let mut count = 0;
    for entry in entries {
        let entry = entry.map_err(|error| failed(from, &error))?;
        let (path, name) = (entry.path(), entry.file_name());
        let target = into.join(&name);
        let earlier = before.map(|before| before.join(&name));
        let kind = entry.file_type().map_err(|error| failed(&path, &error))?;
        if kind.is_dir() {
            count += copy_files(&path, &target, earlier.as_deref())?;
        } else if kind.is_file() && !name.to_string_lossy().contains('#') {
            // A name with `#` is a file that is still being written.
            count += usize::from(copy_file(&path, &target, earlier.as_deref())?);
        }
    }
    sync_directory(into)?;
    Ok(count)
}

/// Copies a file. Returns false if it was deleted meanwhile.
fn copy_file(from: &Path, into: &Path, earlier: Option<&Path>) -> Result<bool, String> {
    let size = |path: &Path| fs::metadata(path).map(|found| found.len()).ok();
    if let Some(earlier) = earlier
        && size(earlier).is_some()
        && size(earlier) == size(from)
        && fs::hard_link(earlier, into).is_ok()
    {
        return Ok(true);
    }
    if size(into).is_some() && size(into) == size(from) {
        return Ok(true);
    }
    match fs::copy(from, into) {
        Ok(_) => {
            let synced = File::open(into).and_then(|file| file.sync_all());
            synced.map(|()| true).map_err(|error| failed(into, &error))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(from, &error)),
    }
}

/// Fetches all files of a bucket into a directory.
async fn fetch_all(files: &Files, into: &Path, before: Option<&Path>) -> Result<usize, String> {
    private_directory(into)?;
    let (mut count, mut folders) = (0, HashSet::from([into.to_owned()]));
    let mut keys = files.list(None);
    while let Some(key) = keys.try_next().await.map_err(|error| error.to_string())? {
        if !is_plain(&key) {
            tracing::warn!(
                key,
                "left an object out of the backup, because its name is none of this service"
            );
            continue;
        }
        let target = into.join(&key);
        let folder = target.parent().unwrap_or(into);
        if folders.insert(folder.to_owned()) {
            private_directory(folder)?;
        }
        let earlier = before.map(|before| before.join(&key));
        let is_linked = earlier.is_some_and(|earlier| fs::hard_link(earlier, &target).is_ok());
        count += usize::from(is_linked || fetch(files, &key, folder, &target).await?);
    }
    for folder in folders {
        sync_directory(&folder)?;
    }
    Ok(count)
}

/// Fetches a file. Returns false if it was deleted meanwhile.
async fn fetch(files: &Files, key: &str, folder: &Path, target: &Path) -> Result<bool, String> {
    let text = |error: files::Error| format!("{key}: {error}");
    let Some(mut found) = files.read(key).await.map_err(text)? else {
        return Ok(false);
    };
    let mut file = NamedTempFile::new_in(folder).map_err(|error| failed(folder, &error))?;
    while let Some(piece) = found.stream.try_next().await.map_err(text)? {
        file.write_all(&piece)
            .map_err(|error| failed(target, &error))?;
    }
    let kept = file.as_file().sync_all();
    let kept = kept.and_then(|()| file.persist(target).map_err(|error| error.error));
    kept.map(|_| true).map_err(|error| failed(target, &error))
}

/// Sends the files of a directory to a bucket. A file that the bucket has stays: files never
/// change.
async fn send_all(files: &Files, from: &Path) -> Result<usize, String> {
    let present = files.list(None).try_collect::<HashSet<String>>();
    let present = present.await.map_err(|error| error.to_string())?;
    let mut keys = Vec::new();
    collect_keys(from, "", &mut keys)?;
    for key in keys.iter().filter(|key| !present.contains(*key)) {
        send(files, key, &from.join(key)).await?;
    }
    Ok(keys.len())
}

async fn send(files: &Files, key: &str, path: &Path) -> Result<(), String> {
    let text = |error: files::Error| format!("{key}: {error}");
    let content = fs::read(path).map_err(|error| failed(path, &error))?;
    let content = Bytes::from(content);
    let mut writing = files.create(key).await.map_err(text)?;
    for at in (0..content.len()).step_by(PIECE) {
        let piece = content.slice(at..content.len().min(at + PIECE));
        writing.append(piece).await.map_err(text)?;
    }
    writing.finish().await.map_err(text)
}

/// Collects the keys of the files below a directory.
fn collect_keys(directory: &Path, prefix: &str, keys: &mut Vec<String>) -> Result<(), String> {
    let entries = fs::read_dir(directory).map_err(|error| failed(directory, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed(directory, &error))?;
        let name = entry.file_name();
        let key = format!("{prefix}{}", name.to_string_lossy());
        let kind = entry.file_type();
        let kind = kind.map_err(|error| failed(&entry.path(), &error))?;
        if kind.is_dir() {
            collect_keys(&entry.path(), &format!("{key}/"), keys)?;
        } else if kind.is_file() {
            keys.push(key);
        }
    }
    Ok(())
}

/// Returns whether a key stays within the folder that it is written to.
fn is_plain(key: &str) -> bool {
    key.split('/')
        .all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_lead_out_of_the_folder_are_left_out() {
        for (key, wanted) in [
            ("ab/0192f0c1", true),
            ("file", true),
            ("../file", false),
            ("ab/../../file", false),
            ("/etc/file", false),
            ("ab//file", false),
            ("", false),
        ] {
            assert_eq!(is_plain(key), wanted, "{key}");
        }
    }
}
