//! Attacks on resources that the server limits in total: memory for unfinished requests, disk,
//! registered OAuth clients, open files.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::connections::{ClientBehaviour, ConnectionCounter, keep_open, open_silent};
use crate::crowd::{crowd, describe, grouped};
use crate::stage::Stage;

/// The limit of the server's address space in the scenario of unfinished bodies, in bytes.
pub const ADDRESS_SPACE: u64 = 1_500_000_000;
/// Maximum number of open files of the server in the scenario with few open files. Many systems
/// give a service this soft limit by default.
pub const FEW_FILES: u64 = 1_024;

/// Number of HTTP/1.1 connections with an unfinished body.
const HTTP1_CONNECTIONS: usize = 1_500;
/// The length of the body that each HTTP/1.1 request announces, in bytes.
const ANNOUNCED_LENGTH: usize = 1_048_000;
/// Number of bytes of the body that each HTTP/1.1 connection sends.
const SENT_BYTES: usize = 1_040_000;
/// Number of HTTP/2 connections with unfinished bodies.
const HTTP2_CONNECTIONS: usize = 220;
/// Number of streams of each HTTP/2 connection.
const STREAMS: u8 = 32;
/// Number of bytes that each HTTP/2 stream sends.
const STREAM_BYTES: usize = 2_000;
/// The time within which the server's memory must fall after the attack.
const MEMORY_DEADLINE: Duration = Duration::from_secs(10);
/// How much more memory than before the attack the server may use at `MEMORY_DEADLINE`, in MiB.
/// Some more is permitted, because the C library does not return free pages between objects in use.
const MAX_MEMORY_RISE: f64 = 32.0;
/// Number of steps of one stay to which files are uploaded.
const STEPS: usize = 12;
/// Size of an uploaded file, in bytes.
const FILE_SIZE: usize = 10_000_000;
/// Number of uploads that are in progress at the same time.
const CONCURRENT_UPLOADS: usize = 8;
/// Number of networks from which OAuth clients are registered.
const NETWORKS: u8 = 4;
/// Number of client addresses in each network from which OAuth clients are registered.
const ADDRESSES: u8 = 50;
/// Number of silent connections that a client opens to a server. The server may open only
/// `FEW_FILES` files, including sockets.
const SILENT_CONNECTIONS: usize = 1_500;

/// Keeps requests with incomplete bodies open, without a credential, over HTTP/1.1 and HTTP/2. Then
/// checks the server's memory.
pub async fn unfinished_bodies(stage: &mut Stage) -> anyhow::Result<String> {
    let (address, open) = (
        stage.server.target.address()?,
        Arc::<ConnectionCounter>::default(),
    );
    let at_rest = stage.server.target.resident()?;
    let mut http1_bytes = format!(
        "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-type: \
            application/json\r\ncontent-length: {ANNOUNCED_LENGTH}\r\n\r\n"
    )
    .into_bytes();
    http1_bytes.resize(http1_bytes.len() + SENT_BYTES, b' ');
    let (http1_bytes, http2_bytes): (Arc<[u8]>, Arc<[u8]>) =
        (http1_bytes.into(), unfinished_streams()?.into());
    let end = stage.begin();
    let counter = open.clone();
    crowd(
        HTTP1_CONNECTIONS + HTTP2_CONNECTIONS,
        end,
        move |number, _| {
            let bytes = if number < HTTP1_CONNECTIONS {
                &http1_bytes
            } else {
                &http2_bytes
            };
            keep_open(
                address,
                number,
                open.clone(),
                bytes.clone(),
                ClientBehaviour::Listens,
            )
        },
    )
    .await;
    let closed = Instant::now();
    let mut memory = stage.server.target.resident()?;
    while memory > at_rest + MAX_MEMORY_RISE && closed.elapsed() < MEMORY_DEADLINE {
        tokio::time::sleep(Duration::from_millis(200)).await;
        memory = stage.server.target.resident()?;
    }
    if memory > at_rest + MAX_MEMORY_RISE {
        stage.defects.push(format!(
            "{memory:.0} MiB {} s after the connections closed, {at_rest:.0} MiB at rest",
            MEMORY_DEADLINE.as_secs()
        ));
    }
    Ok(format!(
        "{} of up to {} KB, 1.5 GB of address space; {memory:.0} MiB {:.1} s after",
        counter.describe("connections"),
        grouped(u64::try_from(SENT_BYTES / 1_000)?),
        closed.elapsed().as_secs_f64()
    ))
}

/// Returns the bytes that open an HTTP/2 connection and begin an unfinished body on every stream.
fn unfinished_streams() -> anyhow::Result<Vec<u8>> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    // The header block: POST, the scheme http, and two literals without Huffman coding for the path
    // and the authority.
    let mut block = vec![0x83, 0x86];
    for (name, value) in [(0x04, "/console/sign-in"), (0x01, "x")] {
        block.extend([name, u8::try_from(value.len())?]);
        block.extend(value.as_bytes());
    }
    for number in 0..STREAMS {
        // The HEADERS frame has the flag that ends the headers, but not the flag that ends the
        // stream. A DATA frame follows.
        bytes.extend([
            0,
            0,
            u8::try_from(block.len())?,
            1,
            4,
            0,
            0,
            0,
            2 * number + 1,
        ]);
        bytes.extend(&block);
        let [_, length @ ..] = u32::try_from(STREAM_BYTES)?.to_be_bytes();
        bytes.extend(length);
        bytes.extend([0, 0, 0, 0, 0, 2 * number + 1]);
        bytes.resize(bytes.len() + STREAM_BYTES, b' ');
    }
    Ok(bytes)
}

/// Uploads files to twelve steps of one stay until the stay's limit is reached.
pub async fn full_stay(stage: &mut Stage) -> anyhow::Result<String> {
    let (_, token) = stage.neighbour.stay().await?;
    let key = &stage.neighbour.key;
    let portal = json!({ "name": "Full", "isDefault": true });
    key.create("/api/v1/portals", portal).await?;
    let mut paths = Vec::new();
    for number in 0..STEPS {
        let step = json!({
            "stepType": "document_upload",
            "nickname": format!("Files {number}"),
            "isActive": true,
        });
        let step = key.create("/api/v1/precheck-steps", step).await?;
        let flat = json!({
            "entityType": "precheck_step",
            "entityId": step,
            "propertyIds": [stage.neighbour.flat],
        });
        key.ok(Method::POST, "/api/v1/entity-scopes/add", flat)
            .await?;
        paths.push(format!("/guest/v1/stays/{token}/steps/{step}/files"));
    }
    let paths: Arc<[String]> = paths.into();
    let content = [b"%PDF-1.7 ".as_slice(), &vec![b'x'; FILE_SIZE]].concat();
    let caller = stage.neighbour.key.clone();
    let end = stage.begin();
    let tally = crowd(CONCURRENT_UPLOADS, end, move |number, round| {
        let (caller, paths, content) = (caller.clone(), paths.clone(), content.clone());
        async move {
            let step = (number + usize::try_from(round).ok()? * CONCURRENT_UPLOADS) % paths.len();
            // The content of each file is different. The server would treat a file with equal
            // content as a repetition of an earlier upload.
            let head = format!(
                "--XX\r\ncontent-disposition: form-data; name=\"file\"; \
                    filename=\"a.pdf\"\r\ncontent-type: application/pdf\r\n\r\n%PDF-1.7 {number} \
                    {round} "
            );
            let body = [head.as_bytes(), &content, b"\r\n--XX--\r\n"].concat();
            let request = caller.send_form(
                &paths[step],
                "multipart/form-data; boundary=XX",
                body.into(),
            );
            request.await.ok()
        }
    })
    .await;
    let stored_bytes = tally.get(&201).copied().unwrap_or_default() * u64::try_from(FILE_SIZE)?;
    if stored_bytes > 210_000_000 {
        stage
            .defects
            .push(format!("one stay keeps {stored_bytes} bytes"));
    }
    ensure!(
        stored_bytes > 0,
        "no upload was accepted: {}",
        describe(&tally)
    );
    Ok(format!(
        "{CONCURRENT_UPLOADS} clients, files of {} MB: {}; {} MB kept",
        FILE_SIZE / 1_000_000,
        describe(&tally),
        stored_bytes / 1_000_000
    ))
}

/// Registers OAuth clients from many addresses of four networks. Then checks that a client can be
/// registered from another network.
pub async fn registrations(stage: &mut Stage) -> anyhow::Result<String> {
    let address = stage.server.target.address()?;
    let end = stage.begin();
    let tally = crowd(
        usize::from(NETWORKS) * usize::from(ADDRESSES),
        end,
        move |number, _| async move {
            let network = u8::try_from(number / usize::from(ADDRESSES)).ok()?;
            let host = u8::try_from(number % usize::from(ADDRESSES)).ok()?;
            register(address, Ipv4Addr::new(127, 1, network, 2 + host))
                .await
                .ok()
        },
    )
    .await;
    let other_network_status = register(address, Ipv4Addr::new(127, 9, 9, 9)).await?;
    if other_network_status != 201 {
        stage.defects.push(format!(
            "a newcomer from another network registers: {other_network_status}"
        ));
    }
    Ok(format!(
        "{} addresses of {NETWORKS} networks: {}; a newcomer then: {other_network_status}",
        u16::from(NETWORKS) * u16::from(ADDRESSES),
        describe(&tally)
    ))
}

/// Registers an OAuth client from the address `source`. Returns the status of the response.
async fn register(server: SocketAddr, source: Ipv4Addr) -> anyhow::Result<u16> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((source, 0).into())?;
    let mut stream: TcpStream = socket.connect(server).await?;
    let body = json!({
        "client_name": "A",
        "redirect_uris": ["https://app.example/callback"],
        "token_endpoint_auth_method": "none",
    })
    .to_string();
    let head = format!(
        "POST /oauth/register HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: \
            application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await?;
    let text = String::from_utf8_lossy(&response);
    Ok(text.split(' ').nth(1).context("no status")?.parse()?)
}

/// Opens `SILENT_CONNECTIONS` silent connections to a server that may open only `FEW_FILES` files,
/// including sockets.
pub async fn few_files(stage: &mut Stage) -> anyhow::Result<String> {
    let description = open_silent(stage, SILENT_CONNECTIONS).await?;
    Ok(format!("{description}, {} open files", grouped(FEW_FILES)))
}
