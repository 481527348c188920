//! Clients that do not close their connections: they send nothing, do not read, or send byte by
//! byte.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use bench::machine;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::crowd::{crowd, grouped};
use crate::neighbours;
use crate::stage::Stage;

/// Number of silent connections that the attack tries to open. The service accepts fewer.
const SILENT_CONNECTIONS: usize = 9_000;
/// Number of client addresses. The connections are spread over them, so that no address exceeds the
/// limit of connections for each address.
const ADDRESSES: usize = 5;
/// Number of open files that this process needs besides the connections.
const RESERVED_FILES: usize = 1_000;
/// Number of connections whose client does not read the responses.
const UNREAD_CONNECTIONS: usize = 40;
/// Number of streams of one HTTP/2 connection. The service permits no more.
const STREAMS: u8 = 32;
/// Number of requests that a client sends on one connection without reading a response.
const PIPELINED_REQUESTS: usize = 200;
/// Number of connections on which a client sends an endless body.
const SLOW_CONNECTIONS: usize = 500;
/// The pause between two bytes of an endless body.
const BYTE_INTERVAL: Duration = Duration::from_millis(250);
/// The pause before a closed connection is opened again.
const REOPEN_DELAY: Duration = Duration::from_millis(250);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DOCUMENT: &str = "/api/v1/openapi.json";

/// Counts connections: those that are open now, the most that were open at once, and all that were
/// ever open.
#[derive(Debug, Default)]
pub struct ConnectionCounter {
    now: AtomicUsize,
    max: AtomicUsize,
    total: AtomicUsize,
}

/// An open connection. [`ConnectionCounter`] counts it as open until it is dropped.
struct CountedConnection(Arc<ConnectionCounter>);

impl ConnectionCounter {
    fn add(self: &Arc<Self>) -> CountedConnection {
        self.total.fetch_add(1, Ordering::Relaxed);
        self.max.fetch_max(
            self.now.fetch_add(1, Ordering::Relaxed) + 1,
            Ordering::Relaxed,
        );
        CountedConnection(self.clone())
    }

    pub fn describe(&self, what: &str) -> String {
        let [max, total] = [&self.max, &self.total]
            .map(|count| grouped(count.load(Ordering::Relaxed).try_into().unwrap_or(u64::MAX)));
        format!("{max} {what} at once, {total} in all")
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The behaviour of a client after it has sent its first bytes.
#[derive(Clone, Copy)]
pub enum ClientBehaviour {
    /// The client reads, and sends nothing more.
    Listens,
    /// The client does not read, and sends these bytes repeatedly.
    Dribbles(&'static [u8]),
}

/// Opens a connection from one of several loopback addresses, and waits until the server closes it.
/// Returns `None` if the connection could not be opened, and otherwise 200 in place of the HTTP
/// status of a request.
pub async fn keep_open(
    address: SocketAddr,
    number: usize,
    open: Arc<ConnectionCounter>,
    text: Arc<[u8]>,
    behaviour: ClientBehaviour,
) -> Option<u16> {
    let source = Ipv4Addr::new(127, 0, 0, u8::try_from(2 + number % ADDRESSES).ok()?);
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind((source, 0).into()).ok()?;
    let stream = socket.connect(address).await.ok()?;
    let counted_connection = open.add();
    // An error is expected, because the server closes the connection.
    drop(send_and_wait(stream, &text, behaviour).await);
    drop(counted_connection);
    tokio::time::sleep(REOPEN_DELAY).await;
    Some(200)
}

async fn send_and_wait(
    mut stream: TcpStream,
    text: &[u8],
    behaviour: ClientBehaviour,
) -> std::io::Result<()> {
    stream.write_all(text).await?;
    match behaviour {
        ClientBehaviour::Listens => {
            let mut buffer = vec![0; 16 << 10];
            while stream.read(&mut buffer).await? > 0 {}
            Ok(())
        }
        ClientBehaviour::Dribbles(bytes) => loop {
            tokio::time::sleep(BYTE_INTERVAL).await;
            stream.write_all(bytes).await?;
        },
    }
}

pub async fn silence(stage: &mut Stage) -> anyhow::Result<String> {
    open_silent(stage, SILENT_CONNECTIONS).await
}

/// Opens connections on which the client sends nothing or a few bytes. Opens a new connection when
/// the server closes one.
pub async fn open_silent(stage: &mut Stage, count: usize) -> anyhow::Result<String> {
    let (address, open) = (
        stage.server.target.address()?,
        Arc::<ConnectionCounter>::default(),
    );
    let count = count.min(machine::open_files()?.saturating_sub(RESERVED_FILES));
    let end = stage.begin();
    let counter = open.clone();
    crowd(count, end, move |number, _| {
        let text = [&b""[..], b"P", &PREFACE[..12]][number % 3];
        keep_open(
            address,
            number,
            open.clone(),
            text.into(),
            ClientBehaviour::Listens,
        )
    })
    .await;
    Ok(counter.describe("connections"))
}

/// Returns the bytes that a client sends on an HTTP/2 connection: settings with flow-control
/// windows of zero, and on every stream a request for `path`.
fn closed_windows(path: &str, token: &str) -> anyhow::Result<Vec<u8>> {
    // The SETTINGS frame sets an initial window of zero.
    let mut bytes = [PREFACE, &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]].concat();
    // The header block: GET, the scheme http, and three literals without Huffman coding for the
    // path, the authority and the credential.
    let mut block = vec![0x82, 0x86];
    let bearer = format!("Bearer {token}");
    for (name, value) in [
        (&[0x04][..], path),
        (&[0x01][..], "x"),
        (&[0x0f, 0x08][..], bearer.as_str()),
    ] {
        ensure!(value.len() < 127, "too long for one byte");
        block.extend([name, &[u8::try_from(value.len())?], value.as_bytes()].concat());
    }
    let length = u8::try_from(block.len())?;
    for number in 0..STREAMS {
        // The HEADERS frame has the flags that end the headers and the stream.
        bytes.extend([0, 0, length, 1, 5, 0, 0, 0, 2 * number + 1]);
        bytes.extend(&block);
    }
    Ok(bytes)
}

/// Opens connections, over HTTP/1.1 and HTTP/2, on which the client requests `path` and does not
/// read the response.
async fn not_read(stage: &mut Stage, path: &str, token: &str) -> anyhow::Result<String> {
    let (address, open) = (
        stage.server.target.address()?,
        Arc::<ConnectionCounter>::default(),
    );
    let streams: Arc<[u8]> = closed_windows(path, token)?.into();
    let pipelined =
        format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n")
            .repeat(PIPELINED_REQUESTS);
    let pipelined: Arc<[u8]> = pipelined.into_bytes().into();
    let end = stage.begin();
    let counter = open.clone();
    crowd(UNREAD_CONNECTIONS, end, move |number, _| {
        // Half of the clients read frames, but their flow-control windows stay at zero, so no body
        // arrives. The other clients read nothing.
        let (bytes, behaviour) = if number % 2 == 0 {
            (&streams, ClientBehaviour::Listens)
        } else {
            (&pipelined, ClientBehaviour::Dribbles(b"\r\n"))
        };
        keep_open(address, number, open.clone(), bytes.clone(), behaviour)
    })
    .await;
    Ok(format!(
        "{}, half with {STREAMS} streams, half with {PIPELINED_REQUESTS} requests",
        counter.describe("connections")
    ))
}

pub async fn unread(stage: &mut Stage) -> anyhow::Result<String> {
    not_read(stage, DOCUMENT, "none").await
}

pub async fn unread_lists(stage: &mut Stage) -> anyhow::Result<String> {
    let bytes = neighbours::heavy_list(&stage.neighbour).await?;
    let token = stage.neighbour.key.token().to_owned();
    let description = not_read(stage, neighbours::MANUALS, &token).await?;
    Ok(format!("{description} for {} KB", grouped(bytes / 1_000)))
}

pub async fn slow_bodies(stage: &mut Stage) -> anyhow::Result<String> {
    let (address, open) = (
        stage.server.target.address()?,
        Arc::<ConnectionCounter>::default(),
    );
    let portal = stage
        .neighbour
        .key
        .create("/api/v1/portals", json!({ "name": "Slow" }))
        .await?;
    let token = stage.neighbour.key.token();
    let head = format!(
        "PATCH /api/v1/portals/{portal} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
    );
    let head = format!("{head}content-type: application/json\r\ncontent-length: 100000\r\n\r\n{{");
    let head: Arc<[u8]> = head.into_bytes().into();
    let end = stage.begin();
    let (counter, started) = (open.clone(), Instant::now());
    crowd(SLOW_CONNECTIONS, end, move |number, _| {
        keep_open(
            address,
            number,
            open.clone(),
            head.clone(),
            ClientBehaviour::Dribbles(b" "),
        )
    })
    .await;
    Ok(format!(
        "{}, for {:.0} s",
        counter.describe("connections"),
        started.elapsed().as_secs_f64()
    ))
}
