//! Where objects lie: what a URL names, and what a directory asks for besides.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use object_store::RetryConfig;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::local::LocalFileSystem;
use object_store::prefix::PrefixStore;
use url::Url;

use super::{Error, Files, Result};

/// Directories are for this process's user alone.
const DIRECTORY_MODE: u32 = 0o700;
/// And so are files.
const FILE_MODE: u32 = 0o600;
/// Bytes held of an object that goes into a directory.
const FILE_PIECE: usize = 256 << 10;
/// Bytes held of one that goes into a bucket: its parts, but the last, have 5 MiB at the least.
const BUCKET_PIECE: usize = 5 << 20;
/// How often a request to a bucket is repeated that found no answer, or none that it can use.
const RETRIES: usize = 3;
/// And for how long.
const RETRY_TIME: Duration = Duration::from_secs(30);

/// A directory with objects, by its path.
#[derive(Debug, Clone)]
pub(super) struct Directory(PathBuf);

pub(super) fn open(text: &str) -> Result<Files> {
    open_by(text, AmazonS3Builder::from_env)
}

/// The same, with a bucket's account, region and address from elsewhere.
pub(super) fn open_by(text: &str, account: impl FnOnce() -> AmazonS3Builder) -> Result<Files> {
    let wrong = || Error(format!("{text:?} is not a place such as file:///var/lib/vestibule/uploads or s3://bucket/prefix"));
    let url = Url::parse(text).map_err(|_| wrong())?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong());
    }
    match url.scheme() {
        "file" => match url.to_file_path() {
            Ok(path) if path.parent().is_some() => in_directory(&path),
            _ => Err(wrong()),
        },
        "s3" if url.username().is_empty() && url.password().is_none() && url.port().is_none() => {
            let bucket = url.host_str().filter(|bucket| !bucket.is_empty()).ok_or_else(wrong)?;
            in_bucket(account(), bucket, url.path()).map_err(|Error(error)| Error(format!("{text:?}: {error}")))
        }
        _ => Err(wrong()),
    }
}

pub(super) fn in_directory(path: &Path) -> Result<Files> {
    let told = |error: &dyn std::fmt::Display| Error(format!("{}: {error}", path.display()));
    private_directories().create(path).map_err(|error| told(&error))?;
    let store = LocalFileSystem::new_with_prefix(path).map_err(|error| told(&error))?;
    // What a row of the database names has to be there after a loss of power, too.
    let store = store.with_fsync(true).with_automatic_cleanup(true);
    Ok(Files { store: Arc::new(store), directory: Some(Directory(path.to_owned())), piece: FILE_PIECE })
}

fn in_bucket(account: AmazonS3Builder, bucket: &str, prefix: &str) -> Result<Files> {
    let builder = account.with_bucket_name(bucket);
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
    let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
    let builder = if is_plain { builder.with_allow_http(true) } else { builder };
    let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_TIME, ..RetryConfig::default() };
    let store = builder.with_retry(retry).build()?;
    let prefix = object_store::path::Path::from_url_path(prefix).map_err(object_store::Error::from)?;
    Ok(Files { store: Arc::new(PrefixStore::new(store, prefix)), directory: None, piece: BUCKET_PIECE })
}

fn private_directories() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(DIRECTORY_MODE);
    builder
}

impl Directory {
    /// Makes the folder of a key, so that nobody else looks into it, not even while an object is written.
    pub(super) async fn make_room(&self, key: &str) -> Result<()> {
        let Some(folder) = self.0.join(key).parent().map(Path::to_owned) else { return Ok(()) };
        let made = tokio::task::spawn_blocking(move || private_directories().create(folder)).await;
        Ok(made.map_err(std::io::Error::other)??)
    }

    /// Sees to it that nobody else reads an object that is there.
    pub(super) async fn close_to_others(&self, key: &str) -> Result<()> {
        Ok(tokio::fs::set_permissions(self.0.join(key), Permissions::from_mode(FILE_MODE)).await?)
    }

    /// Removes the files that objects were written into which were never finished: `key#1`, of keys that are old.
    pub(super) async fn clear_unfinished(&self, is_old: impl Fn(&str) -> bool) -> Result<()> {
        let mut folders = tokio::fs::read_dir(&self.0).await?;
        while let Some(folder) = folders.next_entry().await? {
            if !folder.file_type().await?.is_dir() {
                continue;
            }
            let mut entries = tokio::fs::read_dir(folder.path()).await?;
            while let Some(entry) = entries.next_entry().await? {
                let (folder, name) = (folder.file_name(), entry.file_name());
                let key = name.to_str().and_then(|name| name.split_once('#')).zip(folder.to_str());
                if key.is_some_and(|((name, _), folder)| is_old(&format!("{folder}/{name}"))) {
                    tokio::fs::remove_file(entry.path()).await?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_names_no_place_is_told_in_words() {
        for text in [
            "",
            "uploads",
            "/var/uploads",
            "file://host/uploads",
            "file:///",
            "https://bucket.example/",
            "s3://",
            "s3:///x",
            "s3://a?b",
            "gs://a",
        ] {
            let error = open(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} is not a place such as ")), "{error}");
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let error = open(&format!("file://{}", file.display())).unwrap_err().to_string();
        assert!(error.starts_with(&file.display().to_string()), "{error}");
    }

    #[test]
    fn a_directory_is_made_where_there_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a b/uploads");
        open(&format!("file://{}", path.display()).replace(' ', "%20")).unwrap();
        assert!(path.is_dir());
    }
}
