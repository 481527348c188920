//! Clients that hold connections open: they send nothing, do not read, or send byte by byte.

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

/// Number of silent connections, more than the service accepts.
const SILENT: usize = 9_000;
/// Number of addresses they come from, so that none exceeds the limit for one address.
const ADDRESSES: usize = 5;
/// Open files that are reserved for other purposes.
const FILES: usize = 1_000;
/// Number of connections that do not read.
const UNREAD: usize = 40;
/// Streams of one HTTP/2 connection, as many as the service permits.
const STREAMS: u8 = 32;
/// Requests that one connection sends without reading an answer.
const PIPELINED: usize = 200;
/// Number of connections with a body that does not end.
const SLOW: usize = 500;
/// The pause between two bytes.
const DRIBBLE: Duration = Duration::from_millis(250);
/// The pause before a closed connection is opened again.
const REOPEN: Duration = Duration::from_millis(250);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DOCUMENT: &str = "/api/v1/openapi.json";

/// The number of open connections: now, at most, and in total.
#[derive(Debug, Default)]
pub struct Open {
    now: AtomicUsize,
    most: AtomicUsize,
    all: AtomicUsize,
}

/// An open connection, counted until it is dropped.
struct CountedConnection(Arc<Open>);

impl Open {
    fn one(self: &Arc<Self>) -> CountedConnection {
        self.all.fetch_add(1, Ordering::Relaxed);
        self.most.fetch_max(
            self.now.fetch_add(1, Ordering::Relaxed) + 1,
            Ordering::Relaxed,
        );
        CountedConnection(self.clone())
    }

    pub fn describe(&self, what: &str) -> String {
        let [most, all] = [&self.most, &self.all]
            .map(|count| grouped(count.load(Ordering::Relaxed).try_into().unwrap_or(u64::MAX)));
        format!("{most} {what} at once, {all} in all")
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The behaviour of a connection after its first bytes.
#[derive(Clone, Copy)]
pub enum ClientBehaviour {
    /// Reads and sends nothing more.
    Listens,
    /// Reads nothing and sends these bytes at intervals.
    Dribbles(&'static [u8]),
}

/// Opens a connection from one of several loopback addresses and keeps it until the other side ends
/// it.
pub async fn hold(
    address: SocketAddr,
    who: usize,
    open: Arc<Open>,
    text: Arc<[u8]>,
    habit: ClientBehaviour,
) -> Option<u16> {
    let from = Ipv4Addr::new(127, 0, 0, u8::try_from(2 + who % ADDRESSES).ok()?);
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind((from, 0).into()).ok()?;
    let stream = socket.connect(address).await.ok()?;
    let counted = open.one();
    // An error is expected: the server closes the connection.
    drop(keep(stream, &text, habit).await);
    drop(counted);
    tokio::time::sleep(REOPEN).await;
    Some(200)
}

async fn keep(mut stream: TcpStream, text: &[u8], habit: ClientBehaviour) -> std::io::Result<()> {
    stream.write_all(text).await?;
    match habit {
        ClientBehaviour::Listens => {
            let mut ignored = vec![0; 16 << 10];
            while stream.read(&mut ignored).await? > 0 {}
            Ok(())
        }
        ClientBehaviour::Dribbles(more) => loop {
            tokio::time::sleep(DRIBBLE).await;
            stream.write_all(more).await?;
        },
    }
}

pub async fn silence(stage: &mut Stage) -> anyhow::Result<String> {
    silent(stage, SILENT).await
}

/// Opens connections that say nothing or next to nothing, and opens each again once it is closed.
pub async fn silent(stage: &mut Stage, count: usize) -> anyhow::Result<String> {
    let (address, open) = (stage.server.target.address()?, Arc::<Open>::default());
    let count = count.min(machine::open_files()?.saturating_sub(FILES));
    let end = stage.begin();
    let held = open.clone();
    crowd(count, end, move |who, _| {
        let text = [&b""[..], b"P", &PREFACE[..12]][who % 3];
        hold(
            address,
            who,
            open.clone(),
            text.into(),
            ClientBehaviour::Listens,
        )
    })
    .await;
    Ok(held.describe("connections"))
}

/// Returns the bytes that open an HTTP/2 connection with closed windows and request `path` on every
/// stream.
fn closed_windows(path: &str, token: &str) -> anyhow::Result<Vec<u8>> {
    // SETTINGS: an initial window of zero.
    let mut text = [PREFACE, &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]].concat();
    // GET, http, and three literals without Huffman coding: the path, the authority, the
    // credential.
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
        // HEADERS, with the flags that end both the headers and the stream.
        text.extend([0, 0, length, 1, 5, 0, 0, 0, 2 * number + 1]);
        text.extend(&block);
    }
    Ok(text)
}

/// Opens connections that request something and do not read it, in both protocols.
async fn not_read(stage: &mut Stage, path: &str, token: &str) -> anyhow::Result<String> {
    let (address, open) = (stage.server.target.address()?, Arc::<Open>::default());
    let streams: Arc<[u8]> = closed_windows(path, token)?.into();
    let pipelined =
        format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n")
            .repeat(PIPELINED);
    let pipelined: Arc<[u8]> = pipelined.into_bytes().into();
    let end = stage.begin();
    let held = open.clone();
    crowd(UNREAD, end, move |who, _| {
        // Half of the connections read frames but leave the windows closed, so no body arrives. The
        // others read nothing at all.
        let (text, habit) = if who % 2 == 0 {
            (&streams, ClientBehaviour::Listens)
        } else {
            (&pipelined, ClientBehaviour::Dribbles(b"\r\n"))
        };
        hold(address, who, open.clone(), text.clone(), habit)
    })
    .await;
    Ok(format!(
        "{}, half with {STREAMS} streams, half with {PIPELINED} requests",
        held.describe("connections")
    ))
}

pub async fn unread(stage: &mut Stage) -> anyhow::Result<String> {
    not_read(stage, DOCUMENT, "none").await
}

pub async fn unread_lists(stage: &mut Stage) -> anyhow::Result<String> {
    let bytes = neighbours::heavy_list(&stage.neighbour).await?;
    let token = stage.neighbour.key.token().to_owned();
    let held = not_read(stage, neighbours::MANUALS, &token).await?;
    Ok(format!("{held} for {} KB", grouped(bytes / 1_000)))
}

pub async fn slow_bodies(stage: &mut Stage) -> anyhow::Result<String> {
    let (address, open) = (stage.server.target.address()?, Arc::<Open>::default());
    let portal = stage
        .neighbour
        .key
        .created("/api/v1/portals", json!({ "name": "Slow" }))
        .await?;
    let token = stage.neighbour.key.token();
    let head = format!(
        "PATCH /api/v1/portals/{portal} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
    );
    let head = format!("{head}content-type: application/json\r\ncontent-length: 100000\r\n\r\n{{");
    let head: Arc<[u8]> = head.into_bytes().into();
    let end = stage.begin();
    let (opened, begun) = (open.clone(), Instant::now());
    crowd(SLOW, end, move |who, _| {
        hold(
            address,
            who,
            open.clone(),
            head.clone(),
            ClientBehaviour::Dribbles(b" "),
        )
    })
    .await;
    Ok(format!(
        "{}, for {:.0} s",
        opened.describe("connections"),
        begun.elapsed().as_secs_f64()
    ))
}
