//! Receivers that do not do what a receiver should, on raw sockets: what they send is said byte by byte.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;

/// Between two bytes of a receiver that drips.
const DRIP: Duration = Duration::from_millis(20);
/// Written at once by a receiver that floods.
const GUSH: [u8; 16 * 1024] = [b'x'; 16 * 1024];

/// A certificate authority, and the file that a server is told of it by.
pub struct Authority {
    /// A PEM file.
    pub file: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    _directory: TempDir,
}

/// What a receiver presents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presents {
    /// A certificate for its address, of the authority.
    Right,
    /// One for another name and another address.
    OtherName,
    /// One that ran out.
    Expired,
    /// One that is not valid yet.
    Early,
    /// One that it signed itself.
    SelfSigned,
    /// One of another authority of the same name.
    OtherAuthority,
}

/// What a receiver does once it has read a request; `Mute` and `Plain` before.
#[derive(Debug, Clone)]
pub enum Act {
    /// Says these bytes, and waits for the next request.
    Say(String),
    /// Says these bytes, and closes the connection.
    SayAndClose(String),
    /// Says these bytes, and resets the connection.
    SayAndReset(String),
    /// Says the first bytes at once, then the second ones over and over, one byte at a time.
    Drip(String, &'static str),
    /// Says the first bytes at once, then the second ones over and over, as fast as they go.
    Flood(String, String),
    /// Says nothing at all, with the connection open.
    Hang,
    /// Accepts the connection, and does not even begin with TLS.
    Mute,
    /// Speaks HTTP without TLS.
    Plain(String),
    /// Speaks HTTP/2, and answers with this status and no body.
    Http2(u16),
    /// Speaks HTTP/2, and answers with this status and a body that does not end.
    Http2Flood(u16),
}

/// What a receiver has seen.
#[derive(Default)]
pub struct Seen {
    /// Requests, by their `webhook-id`.
    requests: Mutex<HashMap<String, usize>>,
    /// The records that the requests were about.
    records: Mutex<HashMap<String, usize>>,
    /// Connections that were accepted.
    pub connections: AtomicUsize,
    /// Connections that are over.
    pub ended: AtomicUsize,
    /// Bytes that were said.
    pub said: AtomicUsize,
}

impl Seen {
    /// How often each delivery was attempted.
    pub fn attempts(&self) -> HashMap<String, usize> {
        self.requests.lock().unwrap().clone()
    }

    /// How often each record was told of.
    pub fn records(&self) -> HashMap<String, usize> {
        self.records.lock().unwrap().clone()
    }

    /// Requests in all.
    pub fn count(&self) -> usize {
        self.requests.lock().unwrap().values().sum()
    }

    fn note(&self, id: &str, body: &[u8]) {
        *self.requests.lock().unwrap().entry(id.to_owned()).or_default() += 1;
        let body: Value = serde_json::from_slice(body).unwrap();
        let record = body["data"]["id"].as_str().unwrap_or_default().to_owned();
        *self.records.lock().unwrap().entry(record).or_default() += 1;
    }
}

/// A receiver on loopback; it listens as long as the test runs.
pub struct RawReceiver {
    pub url: String,
    pub seen: Arc<Seen>,
}

impl Authority {
    pub fn new() -> Self {
        let (certificate, issuer) = authority();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ca.pem");
        std::fs::write(&file, certificate.pem()).unwrap();
        Self { file, issuer, _directory: directory }
    }

    /// The flags of a server that trusts it and may post to loopback.
    pub fn flags(&self) -> Vec<String> {
        vec!["--webhook-allow=127.0.0.0/8".into(), format!("--webhook-ca-file={}", self.file.display())]
    }

    fn config(&self, presents: Presents, protocol: &str) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let names: &[&str] = if presents == Presents::OtherName { &["hooks.example", "127.0.0.2"] } else { &["127.0.0.1", "localhost"] };
        let mut wanted = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        match presents {
            Presents::Expired => (wanted.not_before, wanted.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1)),
            Presents::Early => wanted.not_before = date_time_ymd(3000, 1, 1),
            _ => {}
        }
        let certificate = match presents {
            Presents::SelfSigned => wanted.self_signed(&key),
            Presents::OtherAuthority => wanted.signed_by(&key, &authority().1),
            _ => wanted.signed_by(&key, &self.issuer),
        };
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.unwrap().der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        config
    }

    /// A receiver that does this, whatever it is sent.
    pub async fn receiver(&self, presents: Presents, act: Act) -> RawReceiver {
        let protocol = if matches!(act, Act::Http2(_) | Act::Http2Flood(_)) { "h2" } else { "http/1.1" };
        let acceptor = TlsAcceptor::from(Arc::new(self.config(presents, protocol)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://127.0.0.1:{}/hook", listener.local_addr().unwrap().port());
        let seen = Arc::new(Seen::default());
        let shared = seen.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let (acceptor, act, seen) = (acceptor.clone(), act.clone(), shared.clone());
                tokio::spawn(async move {
                    attend(stream, acceptor, &act, &seen).await;
                    seen.ended.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        RawReceiver { url, seen }
    }
}

fn authority() -> (Certificate, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut wanted = CertificateParams::new(Vec::new()).unwrap();
    wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (wanted.self_signed(&key).unwrap(), Issuer::new(wanted, key))
}

/// One connection, to its end.
async fn attend(mut stream: TcpStream, acceptor: TlsAcceptor, act: &Act, seen: &Arc<Seen>) {
    match act {
        Act::Mute => wait_for_the_end(&mut stream).await,
        Act::Plain(text) => {
            // What comes is no HTTP, but the beginning of TLS.
            let mut chunk = [0; 64];
            if stream.read(&mut chunk).await.is_ok_and(|count| count > 0) && stream.write_all(text.as_bytes()).await.is_ok() {
                wait_for_the_end(&mut stream).await;
            }
        }
        Act::Http2(status) | Act::Http2Flood(status) => {
            let is_endless = matches!(act, Act::Http2Flood(_));
            if let Ok(stream) = acceptor.accept(stream).await {
                speak_http2(stream, *status, is_endless, seen.clone()).await;
            }
        }
        _ => {
            if let Ok(stream) = acceptor.accept(stream).await {
                speak(stream, act, seen).await;
            }
        }
    }
}

async fn speak(mut stream: TlsStream<TcpStream>, act: &Act, seen: &Seen) {
    while let Some((id, body)) = request(&mut stream).await {
        seen.note(&id, &body);
        match act {
            Act::Say(text) => {
                if say(&mut stream, text.as_bytes(), seen).await.is_none() {
                    return;
                }
            }
            Act::SayAndClose(text) => {
                say(&mut stream, text.as_bytes(), seen).await;
                stream.shutdown().await.ok();
                return;
            }
            Act::SayAndReset(text) => {
                say(&mut stream, text.as_bytes(), seen).await;
                stream.get_ref().0.set_zero_linger().unwrap();
                return;
            }
            Act::Drip(head, drops) => {
                let mut is_heard = say(&mut stream, head.as_bytes(), seen).await;
                for byte in drops.bytes().cycle() {
                    if is_heard.is_none() {
                        return;
                    }
                    tokio::time::sleep(DRIP).await;
                    is_heard = say(&mut stream, &[byte], seen).await;
                }
            }
            Act::Flood(head, flood) => {
                let mut is_heard = say(&mut stream, head.as_bytes(), seen).await;
                while is_heard.is_some() {
                    is_heard = say(&mut stream, flood.as_bytes(), seen).await;
                }
                return;
            }
            _ => return wait_for_the_end(&mut stream).await,
        }
    }
}

async fn speak_http2(stream: TlsStream<TcpStream>, status: u16, is_endless: bool, seen: Arc<Seen>) {
    let service = hyper::service::service_fn(move |request: http::Request<Incoming>| {
        let seen = seen.clone();
        async move {
            assert_eq!(request.version(), http::Version::HTTP_2);
            let id = request.headers()["webhook-id"].to_str().unwrap().to_owned();
            seen.note(&id, &request.into_body().collect().await?.to_bytes());
            let body = if is_endless {
                let frames = futures_util::stream::repeat_with(move || {
                    seen.said.fetch_add(GUSH.len(), Ordering::Relaxed);
                    Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from_static(&GUSH)))
                });
                StreamBody::new(frames).boxed()
            } else {
                Empty::new().boxed()
            };
            Ok::<_, hyper::Error>(http::Response::builder().status(status).body(body).unwrap())
        }
    });
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
    connection.await.ok();
}

/// Says something, if there still is somebody to hear it.
async fn say(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8], seen: &Seen) -> Option<()> {
    stream.write_all(bytes).await.ok()?;
    stream.flush().await.ok()?;
    seen.said.fetch_add(bytes.len(), Ordering::Relaxed);
    Some(())
}

async fn wait_for_the_end(stream: &mut (impl AsyncRead + Unpin)) {
    let mut chunk = [0; 4096];
    while stream.read(&mut chunk).await.is_ok_and(|count| count > 0) {}
}

/// The `webhook-id` and the body of the next request; `None` where there is none.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<(String, Vec<u8>)> {
    let mut buffer = Vec::new();
    let (mut chunk, mut wanted, mut id) = ([0; 4096], None, String::new());
    loop {
        if wanted.is_none()
            && let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n")
        {
            let head = std::str::from_utf8(&buffer[..end]).unwrap().to_ascii_lowercase();
            let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned));
            id = header("webhook-id").unwrap();
            wanted = Some((end + 4, header("content-length").unwrap().parse::<usize>().unwrap()));
        }
        if let Some((start, length)) = wanted
            && buffer.len() >= start + length
        {
            return Some((id, buffer[start..start + length].to_vec()));
        }
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => buffer.extend_from_slice(&chunk[..count]),
        }
    }
}
