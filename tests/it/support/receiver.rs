//! An HTTPS receiver of webhooks on loopback, with a certificate authority of its own.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// What a receiver was sent.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub headers: Vec<(String, String)>,
    pub raw: String,
    pub body: Value,
}

impl Delivery {
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

pub struct Receiver {
    pub url: String,
    /// A PEM file of the authority that a server has to trust.
    pub authority: PathBuf,
    /// The statuses to answer with, the last one for good.
    answers: Arc<Mutex<Vec<u16>>>,
    deliveries: tokio::sync::Mutex<mpsc::UnboundedReceiver<Delivery>>,
    _directory: TempDir,
}

impl Receiver {
    pub async fn start() -> Self {
        let authority_key = KeyPair::generate().unwrap();
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_certificate = authority.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate().unwrap();
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        std::fs::write(&path, authority_certificate.pem()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://127.0.0.1:{}/hook", listener.local_addr().unwrap().port());
        let answers = Arc::new(Mutex::new(vec![200]));
        let (sender, deliveries) = mpsc::unbounded_channel();
        let shared = answers.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, sender, answers) = (acceptor.clone(), sender.clone(), shared.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        converse(stream, sender, answers).await;
                    }
                });
            }
        });
        Self { url, authority: path, answers, deliveries: tokio::sync::Mutex::new(deliveries), _directory: directory }
    }

    /// What to answer to the next deliveries; the last status stays.
    pub fn answer(&self, statuses: &[u16]) {
        *self.answers.lock().unwrap() = statuses.to_vec();
    }

    pub async fn next(&self) -> Delivery {
        let waiting = async { self.deliveries.lock().await.recv().await };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("a delivery within 20 s").unwrap()
    }

    /// Whether nothing arrives for a while.
    pub async fn is_quiet(&self) -> bool {
        let waiting = async { self.deliveries.lock().await.recv().await };
        tokio::time::timeout(Duration::from_millis(300), waiting).await.is_err()
    }
}

async fn converse(
    mut stream: tokio_rustls::server::TlsStream<tokio::net::TcpStream>,
    sender: mpsc::UnboundedSender<Delivery>,
    answers: Arc<Mutex<Vec<u16>>>,
) {
    let mut buffer = Vec::new();
    loop {
        let Some(end) = find(&buffer, b"\r\n\r\n") else {
            let mut chunk = [0; 4096];
            match stream.read(&mut chunk).await {
                Ok(0) | Err(_) => return,
                Ok(count) => buffer.extend_from_slice(&chunk[..count]),
            }
            continue;
        };
        let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
        let headers: Vec<(String, String)> = head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
        while buffer.len() < end + 4 + length {
            let mut chunk = [0; 4096];
            match stream.read(&mut chunk).await {
                Ok(0) | Err(_) => return,
                Ok(count) => buffer.extend_from_slice(&chunk[..count]),
            }
        }
        let raw = String::from_utf8(buffer[end + 4..end + 4 + length].to_vec()).unwrap();
        buffer.drain(..end + 4 + length);
        let status = {
            let mut answers = answers.lock().unwrap();
            if answers.len() > 1 { answers.remove(0) } else { answers[0] }
        };
        let body = serde_json::from_str(&raw).unwrap();
        sender.send(Delivery { headers, raw, body }).ok();
        let answer = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: 0\r\n\r\n");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
