//! Tests of objects in a bucket, against a local S3 server. The server stores the objects in a
//! directory and verifies the signatures of requests.

use std::net::SocketAddr;
use std::path::PathBuf;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use object_store::aws::AmazonS3Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::location::open_with_account;
use super::tests::{keys, read, write};
use super::{Files, Result};

/// The access key id and the secret that the server accepts.
const ACCOUNT: (&str, &str) = ("an-account", "its-secret");

/// An S3 server with one bucket, `bucket`. Dropping this value stops the server.
struct Server {
    address: SocketAddr,
    root: TempDir,
    /// The server's tasks. Dropping them closes the server's connections.
    _server_task: JoinSet<()>,
}

impl Server {
    async fn start() -> Self {
        // The client requires a TLS provider, although these tests send no encrypted request.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("bucket")).unwrap();
        let mut service = S3ServiceBuilder::new(s3s_fs::FileSystem::new(root.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(ACCOUNT.0, ACCOUNT.1));
        let service = service.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server_task = JoinSet::new();
        server_task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let service = service.clone();
                connections.spawn(async move {
                    let builder = Builder::new(TokioExecutor::new());
                    builder
                        .serve_connection(TokioIo::new(stream), service)
                        .await
                        .ok();
                });
            }
        });
        Self {
            address,
            root,
            _server_task: server_task,
        }
    }

    /// Opens a file storage in the server's bucket, with this access key id and secret.
    fn files(&self, url: &str, (account, secret): (&str, &str)) -> Result<Files> {
        let endpoint = format!("http://{}", self.address);
        let builder = || {
            AmazonS3Builder::new()
                .with_access_key_id(account)
                .with_secret_access_key(secret)
        };
        open_with_account(url, || {
            builder().with_region("eu-west-3").with_endpoint(endpoint)
        })
    }

    /// Returns the paths of the bucket's objects in the server's directory.
    fn on_disk(&self) -> Vec<String> {
        let bucket = self.root.path().join("bucket");
        let (mut open, mut paths) = (vec![bucket.clone()], Vec::new());
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path: PathBuf = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    paths.push(path.strip_prefix(&bucket).unwrap().display().to_string());
                }
            }
        }
        paths.sort();
        paths
    }

    /// Returns the number of parts of unfinished uploads. The server stores these parts beside the
    /// bucket's directory.
    fn parts(&self) -> usize {
        let entries = std::fs::read_dir(self.root.path()).unwrap();
        entries
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .file_name()
                    .to_string_lossy()
                    .starts_with(".upload_id-")
            })
            .count()
    }
}

#[tokio::test]
async fn objects_are_written_read_listed_and_deleted() {
    let server = Server::start().await;
    let files = server.files("s3://bucket/guests/files/", ACCOUNT).unwrap();
    let neighbour = server.files("s3://bucket", ACCOUNT).unwrap();
    write(&neighbour, "other/1", &[b"not ours"]).await;
    assert_eq!(
        (keys(&files, None).await, read(&files, "a/1").await),
        (Vec::new(), None)
    );
    write(&files, "a/1", &[b"one ", b"two"]).await;
    write(&files, "a/2", &[]).await;
    write(&files, "b/3", &[b"three"]).await;
    assert_eq!(
        server.on_disk(),
        [
            "guests/files/a/1",
            "guests/files/a/2",
            "guests/files/b/3",
            "other/1"
        ]
    );
    assert_eq!(read(&files, "a/1").await.as_deref(), Some(&b"one two"[..]));
    assert_eq!(read(&files, "a/2").await.as_deref(), Some(&b""[..]));
    assert_eq!(keys(&files, None).await, ["a/1", "a/2", "b/3"]);
    assert_eq!(keys(&files, Some("a")).await, ["a/1", "a/2"]);
    assert_eq!(keys(&files, Some("c")).await, [""; 0]);
    write(&files, "a/1", &[b"anew"]).await;
    assert_eq!(read(&files, "a/1").await.as_deref(), Some(&b"anew"[..]));
    for _ in 0..2 {
        files.delete("a/1").await.unwrap();
    }
    assert_eq!(keys(&files, None).await, ["a/2", "b/3"]);
    assert_eq!(
        read(&neighbour, "other/1").await.as_deref(),
        Some(&b"not ours"[..])
    );
    files.clear_unfinished(|_| true).await.unwrap();
}

/// A part has 5 MiB, so this object has several parts. The bytes of the parts differ, so that the
/// test detects parts in the wrong order.
#[tokio::test]
async fn a_large_object_is_uploaded_in_parts() {
    let server = Server::start().await;
    let files = server.files("s3://bucket/guests", ACCOUNT).unwrap();
    let piece = |number: usize| {
        Bytes::from(
            (0..1 << 20)
                .map(|byte| u8::try_from((byte / 7 + number) % 251).unwrap())
                .collect::<Vec<u8>>(),
        )
    };
    let mut writer = files.create("a/large").await.unwrap();
    for number in 0..12 {
        writer.append(piece(number)).await.unwrap();
    }
    assert!(
        server.parts() > 0,
        "the first parts are uploaded before the object is complete"
    );
    assert_eq!(
        keys(&files, None).await,
        [""; 0],
        "an incomplete object is not listed"
    );
    writer.finish().await.unwrap();
    let expected: Vec<u8> = (0..12).flat_map(piece).collect();
    assert!(
        read(&files, "a/large")
            .await
            .is_some_and(|bytes| bytes == expected)
    );
    assert_eq!(
        (keys(&files, None).await, server.parts()),
        (vec!["a/large".to_owned()], 0)
    );
}

#[tokio::test]
async fn an_abandoned_upload_leaves_nothing_in_the_bucket() {
    let server = Server::start().await;
    let files = server.files("s3://bucket", ACCOUNT).unwrap();
    let mut writer = files.create("a/1").await.unwrap();
    for _ in 0..8 {
        writer.append(Bytes::from(vec![7; 1 << 20])).await.unwrap();
    }
    assert!(server.parts() > 0);
    drop(writer);
    for _ in 0..500 {
        if server.parts() == 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!((server.parts(), server.on_disk()), (0, Vec::new()));
}

/// The server lists a thousand keys on each page.
#[tokio::test]
async fn listing_follows_all_pages() {
    let server = Server::start().await;
    let folder = server.root.path().join("bucket/guests/a");
    std::fs::create_dir_all(&folder).unwrap();
    for number in 0..1_002 {
        std::fs::write(folder.join(format!("{number:04}")), "x").unwrap();
    }
    let files = server.files("s3://bucket/guests", ACCOUNT).unwrap();
    let expected: Vec<String> = (0..1_002).map(|number| format!("a/{number:04}")).collect();
    assert_eq!(keys(&files, Some("a")).await, expected);
}

#[tokio::test]
async fn wrong_credentials_and_buckets_are_errors_without_secrets() {
    let server = Server::start().await;
    write(
        &server.files("s3://bucket", ACCOUNT).unwrap(),
        "a/1",
        &[b"x"],
    )
    .await;
    for account in [(ACCOUNT.0, "another-secret"), ("nobody", ACCOUNT.1)] {
        let files = server.files("s3://bucket", account).unwrap();
        assert!(keys_or_error(&files).await.is_err(), "{account:?}");
        assert!(
            files.read("a/1").await.is_err() && files.delete("a/1").await.is_err(),
            "{account:?}"
        );
        let mut writer = files.create("a/2").await.unwrap();
        writer.append(Bytes::from_static(b"x")).await.unwrap();
        let error = writer.finish().await.unwrap_err().to_string();
        assert!(
            !error.contains(ACCOUNT.1) && !error.contains("another-secret"),
            "{error}"
        );
    }
    assert_eq!(server.on_disk(), ["a/1"]);
    let nowhere = server.files("s3://no-such-bucket", ACCOUNT).unwrap();
    assert!(keys_or_error(&nowhere).await.is_err());
}

#[tokio::test]
async fn an_unreachable_server_is_an_error_for_every_call() {
    let server = Server::start().await;
    let files = server.files("s3://bucket", ACCOUNT).unwrap();
    write(&files, "a/1", &[b"x"]).await;
    let mut writer = files.create("a/2").await.unwrap();
    writer.append(Bytes::from_static(b"x")).await.unwrap();
    drop(server);
    let (read, deleted, finished) =
        tokio::join!(files.read("a/1"), files.delete("a/1"), writer.finish());
    assert!(read.is_err() && deleted.is_err() && finished.is_err());
    assert!(keys_or_error(&files).await.is_err());
}

async fn keys_or_error(files: &Files) -> Result<Vec<String>> {
    files.list(None).try_collect().await
}
