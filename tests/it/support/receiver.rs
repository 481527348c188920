//! An HTTPS receiver of webhooks on loopback, with its own certificate authority.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use sha2::Sha256;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::{Api, App};

/// Runs a test on both databases, with a receiver that the server trusts:
/// `with_receiver! { async fn name(app: App, receiver: Receiver) { … } }`.
macro_rules! with_receiver {
    ($($(#[$meta:meta])* async fn $name:ident($app:ident: App, $receiver:ident: Receiver) $body:block)*) => {
        $($(#[$meta])* mod $name {
            use super::*;

            async fn run($app: crate::support::App, $receiver: crate::support::receiver::Receiver) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                let receiver = crate::support::receiver::Receiver::start().await;
                let flags = receiver.flags();
                run(crate::support::App::on_sqlite(&flags.each_ref().map(String::as_str)).await, receiver).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                let receiver = crate::support::receiver::Receiver::start().await;
                let flags = receiver.flags();
                if let Some(app) = crate::support::App::on_postgres(&flags.each_ref().map(String::as_str)).await {
                    run(app, receiver).await;
                }
            }
        })*
    };
}
pub(crate) use with_receiver;

/// A webhook request that the receiver got.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub headers: Vec<(String, String)>,
    pub raw: String,
    pub body: Value,
}

impl Delivery {
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value)
    }
}

pub struct Receiver {
    pub url: String,
    /// PEM file of the authority that a server has to trust.
    pub authority: PathBuf,
    /// Statuses of the next answers. The last status repeats.
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
        let certificate = CertificateParams::new(names)
            .unwrap()
            .signed_by(&key, &issuer)
            .unwrap();

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
        let url = format!(
            "https://127.0.0.1:{}/hook",
            listener.local_addr().unwrap().port()
        );
        let answers = Arc::new(Mutex::new(vec![200]));
        let (sender, deliveries) = mpsc::unbounded_channel();
        let shared = answers.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, sender, answers) =
                    (acceptor.clone(), sender.clone(), shared.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        converse(stream, sender, answers).await;
                    }
                });
            }
        });
        Self {
            url,
            authority: path,
            answers,
            deliveries: tokio::sync::Mutex::new(deliveries),
            _directory: directory,
        }
    }

    /// Returns the flags that let a server send to this receiver.
    pub fn flags(&self) -> [String; 2] {
        [
            "--webhook-allow=127.0.0.0/8".into(),
            format!("--webhook-ca-file={}", self.authority.display()),
        ]
    }

    /// Sets the statuses of the next answers. The last status repeats.
    pub fn answer(&self, statuses: &[u16]) {
        *self.answers.lock().unwrap() = statuses.to_vec();
    }

    pub async fn next(&self) -> Delivery {
        let waiting = async { self.deliveries.lock().await.recv().await };
        tokio::time::timeout(Duration::from_secs(20), waiting)
            .await
            .expect("a delivery within 20 s")
            .unwrap()
    }

    /// Returns whether no delivery arrives within 300 ms.
    pub async fn is_quiet(&self) -> bool {
        let waiting = async { self.deliveries.lock().await.recv().await };
        tokio::time::timeout(Duration::from_millis(300), waiting)
            .await
            .is_err()
    }
}

pub async fn subscribe(api: &Api, event: &str, url: &str) -> Value {
    api.post(
        "/webhook-subscriptions",
        json!({ "event": event, "targetUrl": url }),
    )
    .await
    .data()
}

/// Computes a signature according to Standard Webhooks 1.0.
pub fn signature(secret: &str, id: &str, timestamp: &str, body: &str) -> String {
    let key = STANDARD
        .decode(secret.strip_prefix("whsec_").unwrap())
        .unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// Waits until the subscriptions look as wanted. The server updates a subscription only after the
/// receiver has answered.
pub async fn until(api: &Api, wanted: impl Fn(&Value) -> bool) -> Value {
    until_read(api, "/webhook-subscriptions", wanted).await
}

/// Waits until the data at a path looks as wanted.
pub async fn until_read(api: &Api, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..800 {
        let read = api.get(path).await.data();
        if wanted(&read) {
            return read;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{}", api.get(path).await.data());
}

/// Returns the next retry. Moves the clock on until the retry is due.
pub async fn retried(app: &App, receiver: &Receiver) -> Delivery {
    let moving = async {
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            // Longer than any back-off here, and much shorter than the lease of a running delivery.
            app.clock.advance(Duration::from_millis(100));
            app.server.dependencies.due.notify_one();
        }
    };
    tokio::select! {
        delivery = receiver.next() => delivery,
        () = moving => unreachable!("it goes on for good"),
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
        let length = headers
            .iter()
            .find(|(name, _)| name == "content-length")
            .map_or(0, |(_, value)| value.parse().unwrap());
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
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers[0]
            }
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
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}
