//! An HTTPS site whose pages are set by a test.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::support::App;

/// The response at a path.
#[derive(Debug, Clone)]
pub enum Page {
    /// These bytes, unchanged.
    Raw(String),
    /// No response for a minute.
    Hangs,
    /// A body that never ends.
    Endless,
}

impl Page {
    pub fn json(document: &Value) -> Self {
        Self::of(&document.to_string())
    }

    pub fn of(body: &str) -> Self {
        Self::Raw(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    }
}

pub struct Site {
    pub base: String,
    pub asked: Arc<AtomicUsize>,
    authority: PathBuf,
    pages: Arc<Mutex<HashMap<String, Page>>>,
    _directory: TempDir,
}

impl Site {
    pub async fn start() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut wanted = CertificateParams::new(Vec::new()).unwrap();
        wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = wanted.self_signed(&key).unwrap();
        let issuer = Issuer::new(wanted, key);
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(vec!["127.0.0.1".to_owned()])
            .unwrap()
            .signed_by(&key, &issuer)
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let authority = directory.path().join("ca.pem");
        std::fs::write(&authority, certificate.pem()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = builder
            .with_no_client_auth()
            .with_single_cert(vec![own.der().clone()], key)
            .unwrap();
        let (acceptor, listener) = (
            TlsAcceptor::from(Arc::new(config)),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        );
        let base = format!(
            "https://127.0.0.1:{}",
            listener.local_addr().unwrap().port()
        );
        let (pages, asked) = (
            Arc::<Mutex<HashMap<String, Page>>>::default(),
            Arc::new(AtomicUsize::new(0)),
        );
        let shared = (pages.clone(), asked.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, (pages, asked)) = (acceptor.clone(), shared.clone());
                tokio::spawn(async move {
                    asked.fetch_add(1, Ordering::Relaxed);
                    let Ok(mut stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let (mut head, mut chunk) = (Vec::new(), [0; 4_096]);
                    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
                        match stream.read(&mut chunk).await {
                            Ok(0) | Err(_) => return,
                            Ok(count) => head.extend_from_slice(&chunk[..count]),
                        }
                    }
                    let head = String::from_utf8(head).unwrap();
                    let path = head.split(' ').nth(1).unwrap().to_owned();
                    let page = pages.lock().unwrap().get(&path).cloned();
                    match page {
                        Some(Page::Raw(bytes)) => drop(stream.write_all(bytes.as_bytes()).await),
                        Some(Page::Hangs) => tokio::time::sleep(Duration::from_secs(60)).await,
                        Some(Page::Endless) => {
                            let mut is_heard =
                                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.is_ok();
                            while is_heard {
                                is_heard = stream.write_all(&[b' '; 16_384]).await.is_ok();
                            }
                        }
                        None => drop(
                            stream
                                .write_all(
                                    b"HTTP/1.1 404 Not Found\r\ncontent-length: 7\r\n\r\nnothing",
                                )
                                .await,
                        ),
                    }
                    stream.shutdown().await.ok();
                });
            }
        });
        Self {
            base,
            asked,
            authority,
            pages,
            _directory: directory,
        }
    }

    /// Returns the flags that let a server trust the site and connect to it.
    pub fn flags(&self) -> [String; 2] {
        [
            "--webhook-allow=127.0.0.0/8".into(),
            format!("--webhook-ca-file={}", self.authority.display()),
        ]
    }

    /// Starts a server on each database that may connect to the site.
    pub async fn servers(&self) -> Vec<App> {
        let flags = self.flags();
        let flags = flags.each_ref().map(String::as_str);
        [
            Some(App::on_sqlite(&flags).await),
            App::on_postgres(&flags).await,
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub fn put(&self, path: &str, page: Page) -> String {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
        format!("{}{path}", self.base)
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}
