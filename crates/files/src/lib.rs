//! Stores files outside of the database: in a directory, or in a bucket of S3 or a compatible
//! service.
//!
//! An object is written once, while its bytes arrive. It appears as a whole or not at all. In a
//! directory, the file gets its final name after its bytes are on the disk. In a bucket, the upload
//! is completed at the end. Until then no object exists under the key. This crate does not know the
//! meaning of the bytes.

#[cfg(test)]
mod bucket;
mod location;

use std::fmt;
use std::path::Path as FilePath;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use tokio::io::AsyncWriteExt as _;

use location::Directory;

/// An error of a file storage. It contains the message.
#[derive(Debug, Clone)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// A result with an error of this crate, unless `E` names another error type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<object_store::Error> for Error {
    fn from(error: object_store::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// A file storage that is open: a directory, or a bucket.
#[derive(Debug, Clone)]
pub struct Files {
    store: Arc<dyn ObjectStore>,
    /// The directory, if the storage is a directory.
    directory: Option<Directory>,
    /// Maximum number of bytes of an object that are buffered before they are written.
    piece: usize,
}

/// The free space and the size of a directory's file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that the user of this process may still write.
    pub free: u64,
    /// Size of the file system, including the bytes in use.
    pub total: u64,
}

/// An object that is being written. Dropping this value before [`ObjectWriter::finish`] aborts the
/// write.
pub struct ObjectWriter {
    files: Files,
    key: String,
    writer: Option<BufWriter>,
}

/// A stored object that is being read: its size and its content.
pub struct ObjectReader {
    /// Size of the object in bytes.
    pub size: u64,
    /// The content of the object, in pieces. Polling the stream reads the next piece from the
    /// storage.
    pub stream: BoxStream<'static, Result<Bytes>>,
}

impl Files {
    /// Opens the storage that a URL names. `file:///…` is a directory, which is created if it does
    /// not exist. `s3://bucket/prefix` is a prefix in a bucket, configured by the `AWS_…`
    /// environment variables of Amazon's tools.
    pub fn open(url: &str) -> Result<Self> {
        location::open(url)
    }

    /// Opens a directory of this machine, and creates it if it does not exist.
    pub fn in_directory(path: &FilePath) -> Result<Self> {
        location::in_directory(path)
    }

    /// Begins to write an object. Its key consists of lower-case letters, digits, `-` and `/`.
    pub async fn create(&self, key: &str) -> Result<ObjectWriter> {
        if let Some(directory) = &self.directory {
            directory.create_folder(key).await?;
        }
        // One piece of the object is sent while the next piece is filled, so at most two pieces are
        // in memory.
        let writer = BufWriter::with_capacity(self.store.clone(), Path::from(key), self.piece)
            .with_max_concurrency(1);
        Ok(ObjectWriter {
            files: self.clone(),
            key: key.to_owned(),
            writer: Some(writer),
        })
    }

    /// Opens an object for reading. Returns `None` if no object has this key.
    pub async fn read(&self, key: &str) -> Result<Option<ObjectReader>> {
        match self.store.get(&Path::from(key)).await {
            Ok(object) => Ok(Some(ObjectReader {
                size: object.meta.size,
                stream: object.into_stream().map_err(Error::from).boxed(),
            })),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an object. Succeeds even if no object has this key.
    pub async fn delete(&self, key: &str) -> Result<()> {
        match self.store.delete(&Path::from(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Lists the keys below a folder, or all keys, in no particular order. The stream requests a
    /// page of keys only when its reader needs the page.
    #[must_use]
    pub fn list(&self, folder: Option<&str>) -> BoxStream<'static, Result<String>> {
        let folder = folder.map(Path::from);
        self.store
            .list(folder.as_ref())
            .map_ok(|object| object.location.to_string())
            .map_err(Error::from)
            .boxed()
    }

    /// Returns the free space and the size of the directory's file system. Returns `None` for a
    /// bucket.
    pub fn space(&self) -> Result<Option<Space>> {
        self.directory.as_ref().map(Directory::space).transpose()
    }

    /// Removes the remains of unfinished objects from a directory. Does nothing for a bucket,
    /// because a bucket does not list unfinished objects. The argument of `is_old` is the key of an
    /// object. `is_old` returns true if the object is so old that nothing is writing it any more.
    pub async fn clear_unfinished(&self, is_old: impl Fn(&str) -> bool + Send) -> Result<()> {
        match &self.directory {
            Some(directory) => directory.clear_unfinished(is_old).await,
            None => Ok(()),
        }
    }
}

impl ObjectWriter {
    /// Appends bytes to the object.
    pub async fn append(&mut self, bytes: Bytes) -> Result<()> {
        let writer = self
            .writer
            .as_mut()
            .ok_or_else(|| Error("the object is already finished".into()))?;
        Ok(writer.put(bytes).await?)
    }

    /// Completes the object. In a directory the object's bytes are on the disk when this method
    /// returns.
    pub async fn finish(mut self) -> Result<()> {
        let mut writer = self
            .writer
            .take()
            .ok_or_else(|| Error("the object is already finished".into()))?;
        writer.shutdown().await?;
        match &self.files.directory {
            Some(directory) => directory.make_private(&self.key).await,
            None => Ok(()),
        }
    }
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        if let (Some(mut writer), Ok(runtime)) =
            (self.writer.take(), tokio::runtime::Handle::try_current())
        {
            // The abort runs in the background. If it fails, parts of the object remain in the
            // bucket, but the bucket lists no such object.
            runtime.spawn(async move { writer.abort().await.ok() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    pub(super) async fn keys(files: &Files, folder: Option<&str>) -> Vec<String> {
        let mut keys: Vec<String> = files.list(folder).try_collect().await.unwrap();
        keys.sort();
        keys
    }

    pub(super) async fn write(files: &Files, key: &str, pieces: &[&'static [u8]]) {
        let mut writer = files.create(key).await.unwrap();
        for piece in pieces {
            writer.append(Bytes::from_static(piece)).await.unwrap();
        }
        writer.finish().await.unwrap();
    }

    pub(super) async fn read(files: &Files, key: &str) -> Option<Vec<u8>> {
        let ObjectReader { size, stream } = files.read(key).await.unwrap()?;
        let bytes: Vec<Bytes> = stream.try_collect().await.unwrap();
        let bytes = bytes.concat();
        assert_eq!(u64::try_from(bytes.len()).unwrap(), size);
        Some(bytes)
    }

    #[tokio::test]
    async fn files_are_written_read_listed_and_deleted() {
        static LARGE: [u8; 700_000] = [7; 700_000];
        let directory = tempfile::tempdir().unwrap();
        let files = Files::in_directory(&directory.path().join("db.uploads")).unwrap();
        assert_eq!(keys(&files, None).await, [""; 0]);
        assert_eq!(read(&files, "a/1").await, None);
        write(&files, "a/1", &[b"one ", b"two"]).await;
        write(&files, "a/2", &[&LARGE, &LARGE]).await;
        write(&files, "b/3", &[]).await;
        assert_eq!(read(&files, "a/1").await.as_deref(), Some(&b"one two"[..]));
        assert_eq!(read(&files, "a/2").await.unwrap().len(), 1_400_000);
        assert_eq!(read(&files, "b/3").await.as_deref(), Some(&b""[..]));
        assert_eq!(keys(&files, None).await, ["a/1", "a/2", "b/3"]);
        assert_eq!(keys(&files, Some("a")).await, ["a/1", "a/2"]);
        assert_eq!(keys(&files, Some("c")).await, [""; 0]);
        for _ in 0..2 {
            files.delete("a/1").await.unwrap();
        }
        assert_eq!(keys(&files, None).await, ["a/2", "b/3"]);
    }

    #[tokio::test]
    async fn files_are_accessible_to_their_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("uploads");
        let files = Files::in_directory(&root).unwrap();
        write(&files, "a/1", &[b"x"]).await;
        let mode = |path: &FilePath| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&root), mode(&root.join("a")), mode(&root.join("a/1"))),
            (0o700, 0o700, 0o600)
        );
    }

    #[tokio::test]
    async fn unfinished_files_are_not_listed_and_are_cleared() {
        static LARGE: [u8; 400_000] = [7; 400_000];
        let directory = tempfile::tempdir().unwrap();
        let files = Files::in_directory(directory.path()).unwrap();
        let mut writer = files.create("a/1").await.unwrap();
        writer.append(Bytes::from_static(&LARGE)).await.unwrap();
        assert_eq!(
            (keys(&files, None).await, read(&files, "a/1").await),
            (Vec::new(), None)
        );
        drop(writer);
        // A name with `#` is the file of an unfinished object, as a killed process leaves it
        // behind.
        std::fs::create_dir_all(directory.path().join("b")).unwrap();
        for name in ["b/old#1", "b/new#1", "b/kept"] {
            std::fs::write(directory.path().join(name), "x").unwrap();
        }
        files.clear_unfinished(|key| key == "b/old").await.unwrap();
        assert_eq!(keys(&files, None).await, ["b/kept"]);
        assert!(
            !directory.path().join("b/old#1").exists() && directory.path().join("b/new#1").exists()
        );
    }
}
