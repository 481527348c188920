//! An HTTP server on loopback that a test starts. It records the requests and sends the responses
//! that the test chooses.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::authority::{Presents, TestAuthority};

/// The bytes at the end of the head of a request.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// A request that the server has received.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// The request line and the headers.
    pub head: String,
    pub body: String,
}

/// Behaviour of the server after it has read a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Sends this response and waits for the next request.
    Response(String),
    /// Sends this response and closes the connection.
    Last(String),
    /// Sends this beginning of a response, and then nothing.
    Stalled(String),
    /// Sends the first text, then repeats the second text until the client closes the connection.
    Endless(String, String),
}

/// A server that runs until the test ends.
pub struct HttpServer {
    /// Scheme, host and port of the server.
    pub base: String,
    /// The authority that issued the server's certificate; `None` without TLS.
    authority: Option<TestAuthority>,
    log: Arc<RequestLog>,
}

#[derive(Default)]
struct RequestLog {
    connections: AtomicUsize,
    requests: Mutex<Vec<RecordedRequest>>,
}

impl RecordedRequest {
    pub fn method(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }

    /// Returns the path and the query of the request.
    pub fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    /// Returns the headers of the request, with their names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (String, &str)> {
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
    }

    /// Returns the value of a header. `name` is in lower case. If the request does not have the
    /// header, the value is empty.
    pub fn header(&self, name: &str) -> &str {
        self.headers()
            .find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }

    /// Parses the body of the request as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Returns the text of a response with this status, header and body. If `header` is empty, the
/// response has no such header.
pub fn response(status: u16, header: &str, body: &str) -> String {
    let line_break = if header.is_empty() { "" } else { "\r\n" };
    format!(
        "HTTP/1.1 {status} Whatever\r\n{header}{line_break}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

impl HttpServer {
    /// Starts a server without TLS.
    pub async fn start<W>(answer: impl Fn(RecordedRequest) -> W + Send + Sync + 'static) -> Self
    where
        W: Future<Output = Reply> + Send + 'static,
    {
        Self::start_as(None, answer).await
    }

    /// Starts a server with TLS. A new authority issues its certificate.
    pub async fn start_tls<W>(answer: impl Fn(RecordedRequest) -> W + Send + Sync + 'static) -> Self
    where
        W: Future<Output = Reply> + Send + 'static,
    {
        Self::start_as(Some(TestAuthority::create()), answer).await
    }

    async fn start_as<W>(
        authority: Option<TestAuthority>,
        answer: impl Fn(RecordedRequest) -> W + Send + Sync + 'static,
    ) -> Self
    where
        W: Future<Output = Reply> + Send + 'static,
    {
        let acceptor = authority.as_ref().map(|authority| {
            TlsAcceptor::from(Arc::new(authority.config(Presents::Right, "http/1.1")))
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if acceptor.is_some() { "https" } else { "http" };
        let base = format!("{scheme}://{}", listener.local_addr().unwrap());
        let log = Arc::new(RequestLog::default());
        let (shared, answer) = (log.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let (acceptor, log, answer) = (acceptor.clone(), shared.clone(), answer.clone());
                tokio::spawn(async move {
                    let Some(acceptor) = acceptor else {
                        return converse(stream, &log, &*answer).await;
                    };
                    if let Ok(stream) = acceptor.accept(stream).await {
                        converse(stream, &log, &*answer).await;
                    }
                });
            }
        });
        Self {
            base,
            authority,
            log,
        }
    }

    /// Returns the flags with which the server under test trusts this server and may connect to it.
    pub fn flags(&self) -> [String; 2] {
        self.authority.as_ref().unwrap().flags()
    }

    /// Returns how many connections the server has accepted so far.
    pub fn connections(&self) -> usize {
        self.log.connections.load(Ordering::Relaxed)
    }

    /// Returns all requests that the server has received so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.log.requests.lock().unwrap().clone()
    }

    /// Returns the requests that the server has received since the last call.
    pub fn take_requests(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut *self.log.requests.lock().unwrap())
    }
}

/// Serves one connection until it ends.
async fn converse<W: Future<Output = Reply>>(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    log: &RequestLog,
    answer: &impl Fn(RecordedRequest) -> W,
) {
    let mut buffer = Vec::new();
    while let Some(request) = next_request(&mut stream, &mut buffer).await {
        log.requests.lock().unwrap().push(request.clone());
        match answer(request).await {
            Reply::Response(text) => {
                if send(&mut stream, &text).await.is_err() {
                    return;
                }
            }
            Reply::Last(text) => {
                send(&mut stream, &text).await.ok();
                break;
            }
            Reply::Stalled(text) => {
                send(&mut stream, &text).await.ok();
                return std::future::pending().await;
            }
            Reply::Endless(beginning, text) => {
                let mut sent = send(&mut stream, &beginning).await;
                while sent.is_ok() {
                    sent = send(&mut stream, &text).await;
                }
                return;
            }
        }
    }
    stream.shutdown().await.ok();
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), text: &str) -> std::io::Result<()> {
    stream.write_all(text.as_bytes()).await?;
    stream.flush().await
}

/// Reads the next request; `None` if the connection ends first. The buffer contains bytes of later
/// requests that were already read.
async fn next_request(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Option<RecordedRequest> {
    let end = loop {
        let found = buffer
            .windows(END_OF_HEAD.len())
            .position(|window| window == END_OF_HEAD);
        if let Some(end) = found {
            break end;
        }
        read_more(stream, buffer).await?;
    };
    let mut request = RecordedRequest {
        head: String::from_utf8(buffer[..end].to_vec()).unwrap(),
        body: String::new(),
    };
    let length = match request.header("content-length") {
        "" => 0,
        length => length.parse().unwrap(),
    };
    let start = end + END_OF_HEAD.len();
    while buffer.len() < start + length {
        read_more(stream, buffer).await?;
    }
    request.body = String::from_utf8(buffer[start..start + length].to_vec()).unwrap();
    buffer.drain(..start + length);
    Some(request)
}

async fn read_more(stream: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> Option<()> {
    match stream.read_buf(buffer).await {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(()),
    }
}
