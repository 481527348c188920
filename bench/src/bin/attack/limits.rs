//! Attacks on what is limited in total: memory of unfinished requests, disk, places for clients,
//! files.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::connections::{ClientBehaviour, Open, hold, silent};
use crate::crowd::{crowd, describe, grouped};
use crate::stage::Stage;

/// Address space of the server in the scenario of unfinished bodies, in bytes.
pub const ADDRESS_SPACE: u64 = 1_500_000_000;
/// Open files of the server in the scenario of few files: the usual soft limit of a service.
pub const FEW_FILES: u64 = 1_024;

/// HTTP/1.1 connections with an unfinished body, the length that each announces, and the bytes that
/// it sends.
const UNFINISHED: usize = 1_500;
const ANNOUNCED: usize = 1_048_000;
const SENT: usize = 1_040_000;
/// HTTP/2 connections with unfinished bodies, and the bytes that each of their streams sends.
const CONNECTIONS: usize = 220;
const STREAMS: u8 = 32;
const STREAM_BYTES: usize = 2_000;
/// The time after which memory is measured, and the rise over its level at rest that is allowed, in
/// MiB: pages that the C library keeps between objects that are still in use.
const REST: Duration = Duration::from_secs(10);
const RISE: f64 = 32.0;
/// Steps of one stay that take files, the size of a file, and the uploads at once.
const STEPS: usize = 12;
const FILE: usize = 10_000_000;
const UPLOADS: usize = 8;
/// Networks that register clients, and addresses in each.
const NETWORKS: u8 = 4;
const ADDRESSES: u8 = 50;
/// Silent connections to a server with few files.
const SILENT: usize = 1_500;

/// Sends bodies without a credential that never end, in both protocols; then looks at the memory.
pub async fn unfinished_bodies(stage: &mut Stage) -> anyhow::Result<String> {
    let (address, open) = (stage.server.target.address()?, Arc::<Open>::default());
    let at_rest = stage.server.target.resident()?;
    let mut first = format!("POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {ANNOUNCED}\r\n\r\n").into_bytes();
    first.resize(first.len() + SENT, b' ');
    let (first, second): (Arc<[u8]>, Arc<[u8]>) = (first.into(), unfinished_streams()?.into());
    let end = stage.begin();
    let held = open.clone();
    crowd(UNFINISHED + CONNECTIONS, end, move |who, _| {
        let bytes = if who < UNFINISHED { &first } else { &second };
        hold(
            address,
            who,
            open.clone(),
            bytes.clone(),
            ClientBehaviour::Listens,
        )
    })
    .await;
    let closed = Instant::now();
    let mut memory = stage.server.target.resident()?;
    while memory > at_rest + RISE && closed.elapsed() < REST {
        tokio::time::sleep(Duration::from_millis(200)).await;
        memory = stage.server.target.resident()?;
    }
    if memory > at_rest + RISE {
        stage.wrong.push(format!(
            "{memory:.0} MiB {} s after the connections closed, {at_rest:.0} MiB at rest",
            REST.as_secs()
        ));
    }
    Ok(format!(
        "{} of up to {} KB, 1.5 GB of address space; {memory:.0} MiB {:.1} s after",
        held.describe("connections"),
        grouped(u64::try_from(SENT / 1_000)?),
        closed.elapsed().as_secs_f64()
    ))
}

/// Opens an HTTP/2 connection and begins a body on every stream.
fn unfinished_streams() -> anyhow::Result<Vec<u8>> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    // POST, http, and two literals without Huffman's code: the path and the authority.
    let mut block = vec![0x83, 0x86];
    for (name, value) in [(0x04, "/console/sign-in"), (0x01, "x")] {
        block.extend([name, u8::try_from(value.len())?]);
        block.extend(value.as_bytes());
    }
    for number in 0..STREAMS {
        // HEADERS, which end the headers and not the request, then DATA.
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

/// Uploads files to twelve steps of one stay until the stay has no room.
pub async fn full_stay(stage: &mut Stage) -> anyhow::Result<String> {
    let (_, token) = stage.neighbour.stay().await?;
    let key = &stage.neighbour.key;
    let portal = json!({ "name": "Full", "isDefault": true });
    key.created("/api/v1/portals", portal).await?;
    let mut paths = Vec::new();
    for number in 0..STEPS {
        let step = json!({ "stepType": "document_upload", "nickname": format!("Files {number}"), "isActive": true });
        let step = key.created("/api/v1/precheck-steps", step).await?;
        let flat = json!({ "entityType": "precheck_step", "entityId": step, "propertyIds": [stage.neighbour.flat] });
        key.ok(Method::POST, "/api/v1/entity-scopes/add", flat)
            .await?;
        paths.push(format!("/guest/v1/stays/{token}/steps/{step}/files"));
    }
    let paths: Arc<[String]> = paths.into();
    let content = [b"%PDF-1.7 ".as_slice(), &vec![b'x'; FILE]].concat();
    let caller = stage.neighbour.key.clone();
    let end = stage.begin();
    let tally = crowd(UPLOADS, end, move |who, round| {
        let (caller, paths, content) = (caller.clone(), paths.clone(), content.clone());
        async move {
            let step = (who + usize::try_from(round).ok()? * UPLOADS) % paths.len();
            // Each file differs, so none is taken for a repeated upload.
            let head = format!("--XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\ncontent-type: application/pdf\r\n\r\n%PDF-1.7 {who} {round} ");
            let body = [head.as_bytes(), &content, b"\r\n--XX--\r\n"].concat();
            let sent = caller.send_form(&paths[step], "multipart/form-data; boundary=XX", body.into());
            sent.await.ok()
        }
    })
    .await;
    let kept = tally.get(&201).copied().unwrap_or_default() * u64::try_from(FILE)?;
    if kept > 210_000_000 {
        stage.wrong.push(format!("one stay keeps {kept} bytes"));
    }
    ensure!(kept > 0, "no upload was accepted: {}", describe(&tally));
    Ok(format!(
        "{UPLOADS} clients, files of {} MB: {}; {} MB kept",
        FILE / 1_000_000,
        describe(&tally),
        kept / 1_000_000
    ))
}

/// Registers clients from many addresses of four networks; then a newcomer from another network
/// registers.
pub async fn registrations(stage: &mut Stage) -> anyhow::Result<String> {
    let address = stage.server.target.address()?;
    let end = stage.begin();
    let tally = crowd(
        usize::from(NETWORKS) * usize::from(ADDRESSES),
        end,
        move |who, _| async move {
            let network = u8::try_from(who / usize::from(ADDRESSES)).ok()?;
            let host = u8::try_from(who % usize::from(ADDRESSES)).ok()?;
            register(address, Ipv4Addr::new(127, 1, network, 2 + host))
                .await
                .ok()
        },
    )
    .await;
    let newcomer = register(address, Ipv4Addr::new(127, 9, 9, 9)).await?;
    if newcomer != 201 {
        stage.wrong.push(format!(
            "a newcomer from another network registers: {newcomer}"
        ));
    }
    Ok(format!(
        "{} addresses of {NETWORKS} networks: {}; a newcomer then: {newcomer}",
        u16::from(NETWORKS) * u16::from(ADDRESSES),
        describe(&tally)
    ))
}

/// Registers a client from an address; returns the status of the answer.
async fn register(server: SocketAddr, from: Ipv4Addr) -> anyhow::Result<u16> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let mut stream: TcpStream = socket.connect(server).await?;
    let body = json!({ "client_name": "A", "redirect_uris": ["https://app.example/callback"], "token_endpoint_auth_method": "none" }).to_string();
    let head = format!(
        "POST /oauth/register HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let line = String::from_utf8_lossy(&answer);
    Ok(line.split(' ').nth(1).context("no status")?.parse()?)
}

/// Opens more silent connections than the server has files for.
pub async fn few_files(stage: &mut Stage) -> anyhow::Result<String> {
    let held = silent(stage, SILENT).await?;
    Ok(format!("{held}, {} open files", grouped(FEW_FILES)))
}
