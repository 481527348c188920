//! Webhook receivers that misbehave. They write to raw sockets, so a test can choose each byte of
//! the response.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::authority::{Presents, TestAuthority};

/// Pause between two bytes of a response with the behaviour [`Act::Drip`].
const DRIP: Duration = Duration::from_millis(20);
/// The chunk of bytes that an endless HTTP/2 body repeats.
const FLOOD_CHUNK: [u8; 16 * 1024] = [b'x'; 16 * 1024];

/// Behaviour of a receiver. `Mute` and `Plain` take effect before the receiver reads a request, and
/// all other behaviour after that.
#[derive(Debug, Clone)]
pub enum Act {
    /// Sends these bytes and waits for the next request.
    Say(String),
    /// Sends these bytes and closes the connection.
    SayAndClose(String),
    /// Sends these bytes and resets the connection.
    SayAndReset(String),
    /// Sends the first text at once, then repeats the second text, one byte at a time.
    Drip(String, &'static str),
    /// Sends the first text at once, then repeats the second text as fast as possible.
    Flood(String, String),
    /// Answers the first request of a connection with these bytes, and later requests according to
    /// the boxed `Act`.
    Once(String, Box<Act>),
    /// Speaks HTTP/2. Answers the request on the receiver's first connection with these frames,
    /// which refuse the request. On later connections, sends the status 200.
    Http2Refusing(&'static [u8]),
    /// Speaks HTTP/2. Answers every request with these frames, which refuse the request.
    Http2AllRefusing(&'static [u8]),
    /// Sends nothing and keeps the connection open.
    Hang,
    /// Accepts the connection, but does not begin the TLS handshake.
    Mute,
    /// Sends this response as plain HTTP, without TLS.
    Plain(String),
    /// Sends this status without a body over HTTP/2.
    Http2(u16),
    /// Sends this status and an endless body over HTTP/2.
    Http2Flood(u16),
}

/// Counters of a receiver.
#[derive(Default)]
pub struct Seen {
    /// Number of received requests by their `webhook-id`.
    requests: Mutex<HashMap<String, usize>>,
    /// For each id of a record, the number of received requests about that record.
    records: Mutex<HashMap<String, usize>>,
    /// Number of accepted connections.
    pub connections: AtomicUsize,
    /// Number of ended connections.
    pub ended: AtomicUsize,
    /// Number of bytes that the receiver has sent.
    pub bytes_sent: AtomicUsize,
}

impl Seen {
    /// Returns the number of attempts of each delivery, by the `webhook-id` of the delivery.
    pub fn attempts(&self) -> HashMap<String, usize> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the number of requests about each record, by the id of the record.
    pub fn records(&self) -> HashMap<String, usize> {
        self.records.lock().unwrap().clone()
    }

    /// Returns the number of all requests that the receiver has got.
    pub fn count(&self) -> usize {
        self.requests.lock().unwrap().values().sum()
    }

    fn count_request(&self, id: &str, body: &[u8]) {
        *self
            .requests
            .lock()
            .unwrap()
            .entry(id.to_owned())
            .or_default() += 1;
        let body: Value = serde_json::from_slice(body).unwrap();
        let record = body["data"]["id"].as_str().unwrap_or_default().to_owned();
        *self.records.lock().unwrap().entry(record).or_default() += 1;
    }
}

/// A receiver on loopback. It listens until the test ends.
pub struct RawReceiver {
    pub url: String,
    pub seen: Arc<Seen>,
}

impl TestAuthority {
    /// Starts a receiver with this certificate and this behaviour at every request.
    pub async fn receiver(&self, presents: Presents, act: Act) -> RawReceiver {
        let speaks_http2 = matches!(
            act,
            Act::Http2(_) | Act::Http2Flood(_) | Act::Http2Refusing(_) | Act::Http2AllRefusing(_)
        );
        let protocol = if speaks_http2 { "h2" } else { "http/1.1" };
        let acceptor = TlsAcceptor::from(Arc::new(self.config(presents, protocol)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!(
            "https://127.0.0.1:{}/hook",
            listener.local_addr().unwrap().port()
        );
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

/// Serves one connection until it ends.
async fn attend(mut stream: TcpStream, acceptor: TlsAcceptor, act: &Act, seen: &Arc<Seen>) {
    match act {
        Act::Mute => wait_for_the_end(&mut stream).await,
        Act::Plain(text) => {
            // A TLS client begins with a handshake message. The receiver ignores that message and
            // answers without TLS.
            let mut chunk = [0; 64];
            if stream.read(&mut chunk).await.is_ok_and(|count| count > 0)
                && stream.write_all(text.as_bytes()).await.is_ok()
            {
                wait_for_the_end(&mut stream).await;
            }
        }
        Act::Http2Refusing(_) if seen.connections.load(Ordering::Relaxed) > 1 => {
            if let Ok(stream) = acceptor.accept(stream).await {
                speak_http2(stream, 200, false, seen.clone()).await;
            }
        }
        Act::Http2Refusing(frames) | Act::Http2AllRefusing(frames) => {
            if let Ok(stream) = acceptor.accept(stream).await {
                refuse_http2(stream, frames).await;
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

/// Reads the HTTP/2 preface and frames of a client until its request has arrived. Then sends
/// `frames`.
async fn refuse_http2(mut stream: TlsStream<TcpStream>, frames: &[u8]) {
    const PREFACE: usize = 24;
    const HEADERS: u8 = 1;
    const RST_STREAM: u8 = 3;
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let mut preface = [0; PREFACE];
    if stream.read_exact(&mut preface).await.is_err() || stream.write_all(&SETTINGS).await.is_err()
    {
        return;
    }
    let mut head = [0; 9];
    while stream.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        if stream.read_exact(&mut payload).await.is_err() {
            return;
        }
        if head[3] == HEADERS {
            let mut frames = frames.to_vec();
            // The frame `RST_STREAM` must contain the number of the request's stream.
            if frames[3] == RST_STREAM {
                frames[5..9].copy_from_slice(&head[5..9]);
            }
            stream.write_all(&frames).await.ok();
            stream.flush().await.ok();
        }
    }
}

async fn speak(mut stream: TlsStream<TcpStream>, act: &Act, seen: &Seen) {
    let mut is_first = true;
    while let Some((id, body)) = request(&mut stream).await {
        seen.count_request(&id, &body);
        let act = match act {
            Act::Once(text, _) if std::mem::take(&mut is_first) => &Act::Say(text.clone()),
            Act::Once(_, next) => next,
            act => act,
        };
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
            seen.count_request(&id, &request.into_body().collect().await?.to_bytes());
            let body = if is_endless {
                let frames = futures_util::stream::repeat_with(move || {
                    seen.bytes_sent
                        .fetch_add(FLOOD_CHUNK.len(), Ordering::Relaxed);
                    Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from_static(&FLOOD_CHUNK)))
                });
                StreamBody::new(frames).boxed()
            } else {
                Empty::new().boxed()
            };
            Ok::<_, hyper::Error>(http::Response::builder().status(status).body(body).unwrap())
        }
    });
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service);
    connection.await.ok();
}

/// Writes bytes and adds their number to the counter. Returns `None` if the connection is closed.
async fn say(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8], seen: &Seen) -> Option<()> {
    stream.write_all(bytes).await.ok()?;
    stream.flush().await.ok()?;
    seen.bytes_sent.fetch_add(bytes.len(), Ordering::Relaxed);
    Some(())
}

async fn wait_for_the_end(stream: &mut (impl AsyncRead + Unpin)) {
    let mut chunk = [0; 4096];
    while stream.read(&mut chunk).await.is_ok_and(|count| count > 0) {}
}

/// Reads the next request. Returns its `webhook-id` and its body; `None` if the connection ends
/// first.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<(String, Vec<u8>)> {
    let mut buffer = Vec::new();
    let (mut chunk, mut wanted, mut id) = ([0; 4096], None, String::new());
    loop {
        if wanted.is_none()
            && let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n")
        {
            let head = std::str::from_utf8(&buffer[..end])
                .unwrap()
                .to_ascii_lowercase();
            let header = |name: &str| {
                head.lines().find_map(|line| {
                    line.strip_prefix(name)?
                        .strip_prefix(": ")
                        .map(str::to_owned)
                })
            };
            id = header("webhook-id").unwrap();
            wanted = Some((
                end + 4,
                header("content-length").unwrap().parse::<usize>().unwrap(),
            ));
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
