//! Bytes that are kept outside of the database: in a directory, or in a bucket of S3 or its like.
//!
//! An object is written once, while its bytes arrive, and is there as a whole or not at all: in a directory it is renamed into
//! its place once it is on the disk, in a bucket it is completed. What is not finished is not found by any key. This crate knows
//! no word of what the bytes are.

#[cfg(test)]
mod bucket;
mod place;

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

use place::Directory;

/// Something that went wrong with a place for objects, in its words.
#[derive(Debug, Clone)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// A result of this crate.
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

/// A place for objects.
#[derive(Debug, Clone)]
pub struct Files {
    store: Arc<dyn ObjectStore>,
    /// Where it is a directory.
    directory: Option<Directory>,
    /// Bytes of an object that are held while it is written, before they are handed on.
    piece: usize,
}

/// An object that is being written. Dropped before it is finished, it is given up.
pub struct Writing {
    files: Files,
    key: String,
    writer: Option<BufWriter>,
}

/// An object that is being read.
pub struct Reading {
    /// Its bytes.
    pub size: u64,
    /// The bytes, piece by piece.
    pub stream: BoxStream<'static, Result<Bytes>>,
}

impl Files {
    /// The place that a URL names: `file:///…` a directory, which is made where there is none, `s3://bucket/prefix` what begins so
    /// in a bucket, by the usual `AWS_…` variables.
    pub fn open(url: &str) -> Result<Self> {
        place::open(url)
    }

    /// A directory of this machine, made where there is none.
    pub fn in_directory(path: &FilePath) -> Result<Self> {
        place::in_directory(path)
    }

    /// Begins to write an object. Its key is a path of lower-case letters, digits, `-` and `/`.
    pub async fn create(&self, key: &str) -> Result<Writing> {
        if let Some(directory) = &self.directory {
            directory.make_room(key).await?;
        }
        // One piece on its way and one being filled: no more of an object is ever held.
        let writer = BufWriter::with_capacity(self.store.clone(), Path::from(key), self.piece).with_max_concurrency(1);
        Ok(Writing { files: self.clone(), key: key.to_owned(), writer: Some(writer) })
    }

    /// Reads an object; nothing where there is none.
    pub async fn read(&self, key: &str) -> Result<Option<Reading>> {
        match self.store.get(&Path::from(key)).await {
            Ok(found) => Ok(Some(Reading { size: found.meta.size, stream: found.into_stream().map_err(Error::from).boxed() })),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an object. That there is none is no error.
    pub async fn delete(&self, key: &str) -> Result<()> {
        match self.store.delete(&Path::from(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The keys there are, those below a folder or all, in no order; asked for a page at a time as they are taken.
    #[must_use]
    pub fn list(&self, folder: Option<&str>) -> BoxStream<'static, Result<String>> {
        let folder = folder.map(Path::from);
        self.store.list(folder.as_ref()).map_ok(|object| object.location.to_string()).map_err(Error::from).boxed()
    }

    /// Removes what is left of objects that were never finished, where those can be found: in a directory. `is_old` says by the key
    /// whether one is that nobody can be writing any more.
    pub async fn clear_unfinished(&self, is_old: impl Fn(&str) -> bool + Send) -> Result<()> {
        match &self.directory {
            Some(directory) => directory.clear_unfinished(is_old).await,
            None => Ok(()),
        }
    }
}

impl Writing {
    /// Writes on.
    pub async fn append(&mut self, bytes: Bytes) -> Result<()> {
        let writer = self.writer.as_mut().ok_or_else(|| Error("an object is finished".into()))?;
        Ok(writer.put(bytes).await?)
    }

    /// Has the object there, as it has been written: on the disk, where it is one of this machine.
    pub async fn finish(mut self) -> Result<()> {
        let mut writer = self.writer.take().ok_or_else(|| Error("an object is finished".into()))?;
        writer.shutdown().await?;
        match &self.files.directory {
            Some(directory) => directory.close_to_others(&self.key).await,
            None => Ok(()),
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let (Some(mut writer), Ok(runtime)) = (self.writer.take(), tokio::runtime::Handle::try_current()) {
            // Nobody waits for it. What it leaves behind is not found by any key.
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
        let mut writing = files.create(key).await.unwrap();
        for piece in pieces {
            writing.append(Bytes::from_static(piece)).await.unwrap();
        }
        writing.finish().await.unwrap();
    }

    pub(super) async fn read(files: &Files, key: &str) -> Option<Vec<u8>> {
        let Reading { size, stream } = files.read(key).await.unwrap()?;
        let bytes: Vec<Bytes> = stream.try_collect().await.unwrap();
        let bytes = bytes.concat();
        assert_eq!(u64::try_from(bytes.len()).unwrap(), size);
        Some(bytes)
    }

    #[tokio::test]
    async fn what_is_written_is_read_listed_and_removed() {
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
    async fn files_are_their_owners_alone() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("uploads");
        let files = Files::in_directory(&root).unwrap();
        write(&files, "a/1", &[b"x"]).await;
        let mode = |path: &FilePath| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&root), mode(&root.join("a")), mode(&root.join("a/1"))), (0o700, 0o700, 0o600));
    }

    #[tokio::test]
    async fn what_is_not_finished_is_not_there() {
        static LARGE: [u8; 400_000] = [7; 400_000];
        let directory = tempfile::tempdir().unwrap();
        let files = Files::in_directory(directory.path()).unwrap();
        let mut writing = files.create("a/1").await.unwrap();
        writing.append(Bytes::from_static(&LARGE)).await.unwrap();
        assert_eq!((keys(&files, None).await, read(&files, "a/1").await), (Vec::new(), None));
        drop(writing);
        // What a process that was killed leaves behind.
        std::fs::create_dir_all(directory.path().join("b")).unwrap();
        for name in ["b/old#1", "b/new#1", "b/kept"] {
            std::fs::write(directory.path().join(name), "x").unwrap();
        }
        files.clear_unfinished(|key| key == "b/old").await.unwrap();
        assert_eq!(keys(&files, None).await, ["b/kept"]);
        assert!(!directory.path().join("b/old#1").exists() && directory.path().join("b/new#1").exists());
    }
}
