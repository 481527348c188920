//! Copies of the files that guests uploaded, from and to a directory or a bucket, for
//! `vestibule backup` and `vestibule restore`.

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

use super::backup::{describe_file_error, private_directory, sync_directory};

/// Size of the parts in which a file is uploaded to a bucket, in bytes.
const CHUNK_SIZE: usize = 256 << 10;

/// The storage of the files of guests.
#[derive(Debug, Clone)]
pub(super) enum GuestFiles {
    /// A directory on this machine.
    Directory(PathBuf),
    /// A bucket, and its URL.
    Bucket(Files, String),
}

impl GuestFiles {
    /// Opens the storage at `uploads_url`. Without this URL, opens the directory beside a SQLite
    /// database. Returns `None` for PostgreSQL without a URL.
    pub(super) fn open(
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

    /// Copies all files into a folder of a backup. If the previous backup has a file already, makes
    /// a hard link to it instead of a copy. Returns the number of files. The function blocks, so
    /// call it on a blocking thread of the runtime.
    pub(super) fn back_up(&self, target: &Path, previous: Option<&Path>) -> Result<usize, String> {
        match self {
            Self::Directory(source) => copy_files(source, target, previous),
            Self::Bucket(files, url) => {
                let download = fetch_all(files, target, previous);
                Handle::current()
                    .block_on(download)
                    .map_err(|error| format!("{url}: {error}"))
            }
        }
    }

    /// Copies the files of a backup into the storage. Returns the number of files. The function
    /// blocks, so call it on a blocking thread of the runtime.
    pub(super) fn restore(&self, source: &Path) -> Result<usize, String> {
        match self {
            Self::Directory(target) => copy_files(source, target, None),
            Self::Bucket(files, url) => {
                let upload = send_all(files, source);
                Handle::current()
                    .block_on(upload)
                    .map_err(|error| format!("{url}: {error}"))
            }
        }
    }
}

/// Copies the files of guests in `source` and its subdirectories to `target`. If `previous`, the
/// earlier backup, has a file of the same name and size, makes a hard link to that file instead of
/// a copy, because a file never changes. Returns the number of files in `target`.
fn copy_files(source: &Path, target: &Path, previous: Option<&Path>) -> Result<usize, String> {
    private_directory(target)?;
    let entries = match fs::read_dir(source) {
        Ok(entries) => entries,
        // The folder does not exist: no guest has sent a file yet, or the service has just removed
        // the folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(describe_file_error(source, &error)),
    };
    let mut count = 0;
    for entry in entries {
        let entry = entry.map_err(|error| describe_file_error(source, &error))?;
        let (path, name) = (entry.path(), entry.file_name());
        let copy = target.join(&name);
        let previous = previous.map(|previous| previous.join(&name));
        let kind = entry
            .file_type()
            .map_err(|error| describe_file_error(&path, &error))?;
        if kind.is_dir() {
            count += copy_files(&path, &copy, previous.as_deref())?;
        } else if kind.is_file() && !name.to_string_lossy().contains('#') {
            // The service is still writing a file with `#` in its name. Such a file is incomplete,
            // so this loop does not copy it.
            count += usize::from(copy_file(&path, &copy, previous.as_deref())?);
        }
    }
    sync_directory(target)?;
    Ok(count)
}

/// Copies a file. If the file `previous` of an earlier backup has the same size, makes a hard link
/// to that file instead. Does nothing if `target` already has this size. Returns false if the file
/// was deleted after its folder was listed.
fn copy_file(source: &Path, target: &Path, previous: Option<&Path>) -> Result<bool, String> {
    let size = |path: &Path| fs::metadata(path).map(|metadata| metadata.len()).ok();
    if let Some(previous) = previous
        && size(previous).is_some()
        && size(previous) == size(source)
        && fs::hard_link(previous, target).is_ok()
    {
        return Ok(true);
    }
    if size(target).is_some() && size(target) == size(source) {
        return Ok(true);
    }
    match fs::copy(source, target) {
        Ok(_) => {
            let result = File::open(target).and_then(|file| file.sync_all());
            result
                .map(|()| true)
                .map_err(|error| describe_file_error(target, &error))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(describe_file_error(source, &error)),
    }
}

/// Fetches all files of a bucket into a directory of a backup. A file that the backup `previous`
/// contains is linked from there instead. Returns the number of files.
async fn fetch_all(
    files: &Files,
    directory: &Path,
    previous: Option<&Path>,
) -> Result<usize, String> {
    private_directory(directory)?;
    let (mut count, mut folders) = (0, HashSet::from([directory.to_owned()]));
    let mut keys = files.list(None);
    while let Some(key) = keys.try_next().await.map_err(|error| error.to_string())? {
        if !is_plain(&key) {
            tracing::warn!(
                key,
                "left an object out of the backup, because its name is none of this service"
            );
            continue;
        }
        let target = directory.join(&key);
        let folder = target.parent().unwrap_or(directory);
        if folders.insert(folder.to_owned()) {
            private_directory(folder)?;
        }
        let previous = previous.map(|previous| previous.join(&key));
        let is_linked = previous.is_some_and(|previous| fs::hard_link(previous, &target).is_ok());
        count += usize::from(is_linked || fetch(files, &key, folder, &target).await?);
    }
    for folder in folders {
        sync_directory(&folder)?;
    }
    Ok(count)
}

/// Fetches a file. Returns false if the file was deleted after the bucket was listed.
async fn fetch(files: &Files, key: &str, folder: &Path, target: &Path) -> Result<bool, String> {
    let text = |error: files::Error| format!("{key}: {error}");
    let Some(mut object) = files.read(key).await.map_err(text)? else {
        return Ok(false);
    };
    let mut file =
        NamedTempFile::new_in(folder).map_err(|error| describe_file_error(folder, &error))?;
    while let Some(piece) = object.stream.try_next().await.map_err(text)? {
        file.write_all(&piece)
            .map_err(|error| describe_file_error(target, &error))?;
    }
    let result = file.as_file().sync_all();
    let result = result.and_then(|()| file.persist(target).map_err(|error| error.error));
    result
        .map(|_| true)
        .map_err(|error| describe_file_error(target, &error))
}

/// Sends the files of a directory to a bucket. Skips the keys that the bucket has, because a file
/// never changes.
async fn send_all(files: &Files, directory: &Path) -> Result<usize, String> {
    let present = files.list(None).try_collect::<HashSet<String>>();
    let present = present.await.map_err(|error| error.to_string())?;
    let mut keys = Vec::new();
    collect_keys(directory, "", &mut keys)?;
    for key in keys.iter().filter(|key| !present.contains(*key)) {
        send(files, key, &directory.join(key)).await?;
    }
    Ok(keys.len())
}

async fn send(files: &Files, key: &str, path: &Path) -> Result<(), String> {
    let text = |error: files::Error| format!("{key}: {error}");
    let content = fs::read(path).map_err(|error| describe_file_error(path, &error))?;
    let content = Bytes::from(content);
    let mut writing = files.create(key).await.map_err(text)?;
    for offset in (0..content.len()).step_by(CHUNK_SIZE) {
        let chunk = content.slice(offset..content.len().min(offset + CHUNK_SIZE));
        writing.append(chunk).await.map_err(text)?;
    }
    writing.finish().await.map_err(text)
}

/// Collects the keys of the files below a directory.
fn collect_keys(directory: &Path, prefix: &str, keys: &mut Vec<String>) -> Result<(), String> {
    let entries =
        fs::read_dir(directory).map_err(|error| describe_file_error(directory, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| describe_file_error(directory, &error))?;
        let name = entry.file_name();
        let key = format!("{prefix}{}", name.to_string_lossy());
        let kind = entry.file_type();
        let kind = kind.map_err(|error| describe_file_error(&entry.path(), &error))?;
        if kind.is_dir() {
            collect_keys(&entry.path(), &format!("{key}/"), keys)?;
        } else if kind.is_file() {
            keys.push(key);
        }
    }
    Ok(())
}

/// Returns whether the key of a file is a path that cannot lead out of the folder to which the file
/// is written.
fn is_plain(key: &str) -> bool {
    key.split('/')
        .all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_leads_out_of_the_folder_is_not_plain() {
        for (key, expected) in [
            ("ab/0192f0c1", true),
            ("file", true),
            ("../file", false),
            ("ab/../../file", false),
            ("/etc/file", false),
            ("ab//file", false),
            ("", false),
        ] {
            assert_eq!(is_plain(key), expected, "{key}");
        }
    }
}
