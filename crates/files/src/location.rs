//! Opens the file storage that a URL names, and restricts the permissions in a directory.

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

use super::{Error, Files, Result, Space};

/// The mode of directories: only this process's user may open them.
const DIRECTORY_MODE: u32 = 0o700;
/// The mode of files: only this process's user may read them.
const FILE_MODE: u32 = 0o600;
/// Buffer for one object in a directory, in bytes.
const FILE_PIECE: usize = 256 << 10;
/// Buffer for one object in a bucket, in bytes. It has the size of one part of a multipart upload,
/// because each part except the last must have at least 5 MiB.
const BUCKET_PIECE: usize = 5 << 20;
/// Maximum number of times that a failed request to a bucket is sent again.
const RETRIES: usize = 3;
/// For how long after the first attempt a failed request to a bucket may be sent again.
const RETRY_TIME: Duration = Duration::from_secs(30);

/// A directory in which objects are stored.
#[derive(Debug, Clone)]
pub(super) struct Directory(PathBuf);

pub(super) fn open(text: &str) -> Result<Files> {
    open_with_account(text, AmazonS3Builder::from_env)
}

/// Does the same as [`open`], but takes a bucket's credentials, region and address from `account`
/// instead of the environment variables.
pub(super) fn open_with_account(
    text: &str,
    account: impl FnOnce() -> AmazonS3Builder,
) -> Result<Files> {
    let invalid_url = || {
        Error(format!(
            "{text:?} is not a storage URL such as file:///var/lib/vestibule/uploads or \
                s3://bucket/prefix"
        ))
    };
    let url = Url::parse(text).map_err(|_| invalid_url())?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid_url());
    }
    match url.scheme() {
        "file" => match url.to_file_path() {
            Ok(path) if path.parent().is_some() => in_directory(&path),
            _ => Err(invalid_url()),
        },
        "s3" if url.username().is_empty() && url.password().is_none() && url.port().is_none() => {
            let bucket = url
                .host_str()
                .filter(|bucket| !bucket.is_empty())
                .ok_or_else(invalid_url)?;
            in_bucket(account(), bucket, url.path())
                .map_err(|Error(error)| Error(format!("{text:?}: {error}")))
        }
        _ => Err(invalid_url()),
    }
}

pub(super) fn in_directory(path: &Path) -> Result<Files> {
    let with_path = |error: &dyn std::fmt::Display| Error(format!("{}: {error}", path.display()));
    private_directories()
        .create(path)
        .map_err(|error| with_path(&error))?;
    let store = LocalFileSystem::new_with_prefix(path).map_err(|error| with_path(&error))?;
    // An object must survive a power cut, because a row of the database names it.
    let store = store.with_fsync(true).with_automatic_cleanup(true);
    Ok(Files {
        store: Arc::new(store),
        directory: Some(Directory(path.to_owned())),
        piece: FILE_PIECE,
    })
}

fn in_bucket(account: AmazonS3Builder, bucket: &str, prefix: &str) -> Result<Files> {
    let builder = account.with_bucket_name(bucket);
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
    let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
    let builder = if is_plain {
        builder.with_allow_http(true)
    } else {
        builder
    };
    let retry = RetryConfig {
        max_retries: RETRIES,
        retry_timeout: RETRY_TIME,
        ..RetryConfig::default()
    };
    let store = builder.with_retry(retry).build()?;
    let prefix =
        object_store::path::Path::from_url_path(prefix).map_err(object_store::Error::from)?;
    Ok(Files {
        store: Arc::new(PrefixStore::new(store, prefix)),
        directory: None,
        piece: BUCKET_PIECE,
    })
}

fn private_directories() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(DIRECTORY_MODE);
    builder
}

impl Directory {
    /// Returns the free space and the size of the directory's file system.
    pub(super) fn space(&self) -> Result<Space> {
        let system = rustix::fs::statvfs(&self.0).map_err(std::io::Error::from)?;
        Ok(Space {
            free: system.f_bavail.saturating_mul(system.f_frsize),
            total: system.f_blocks.saturating_mul(system.f_frsize),
        })
    }

    /// Creates the folder of a key with private permissions, so that no other user can read an
    /// object while it is written.
    pub(super) async fn create_folder(&self, key: &str) -> Result<()> {
        let Some(folder) = self.0.join(key).parent().map(Path::to_owned) else {
            return Ok(());
        };
        let created =
            tokio::task::spawn_blocking(move || private_directories().create(folder)).await;
        Ok(created.map_err(std::io::Error::other)??)
    }

    /// Removes the permissions of other users from an object.
    pub(super) async fn make_private(&self, key: &str) -> Result<()> {
        Ok(tokio::fs::set_permissions(self.0.join(key), Permissions::from_mode(FILE_MODE)).await?)
    }

    /// Removes the file `key#1` of each unfinished object for whose key `is_old` returns true. A
    /// process that was killed leaves such a file behind.
    pub(super) async fn clear_unfinished(&self, is_old: impl Fn(&str) -> bool) -> Result<()> {
        let mut folders = tokio::fs::read_dir(&self.0).await?;
        while let Some(folder) = folders.next_entry().await? {
            if !folder.file_type().await?.is_dir() {
                continue;
            }
            let mut entries = tokio::fs::read_dir(folder.path()).await?;
            while let Some(entry) = entries.next_entry().await? {
                let (folder, name) = (folder.file_name(), entry.file_name());
                let key = name
                    .to_str()
                    .and_then(|name| name.split_once('#'))
                    .zip(folder.to_str());
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
    fn an_invalid_storage_url_is_refused_with_a_message() {
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
            assert!(
                error.starts_with(&format!("{text:?} is not a storage URL such as ")),
                "{error}"
            );
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let error = open(&format!("file://{}", file.display()))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(&file.display().to_string()), "{error}");
    }

    #[test]
    fn a_missing_directory_is_created() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a b/uploads");
        open(&format!("file://{}", path.display()).replace(' ', "%20")).unwrap();
        assert!(path.is_dir());
    }
}
