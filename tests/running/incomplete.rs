//! Tests of requests whose body never arrives completely. Their bodies use bounded memory, and no
//! other client waits for them.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use vestibule::server::Limits;

use test_support::App;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use test_support::node::Node;
use test_support::waiting::in_time;

/// Time limit of a response, even on a busy machine.
const SOON: Duration = Duration::from_secs(10);

async fn post(app: &App, path: &str, token: &str, announced: usize, sent: usize) -> TcpStream {
    let mut stream = TcpStream::connect(app.server.address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: \
            application/json\r\ncontent-length: {announced}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The server may respond and close the connection before it has read everything.
    let body = vec![b' '; sent];
    in_time("the server reads the body", stream.write_all(&body))
        .await
        .ok();
    stream
}

/// Returns the bytes that the server sends until it closes the connection.
async fn answer(stream: &mut TcpStream) -> String {
    let mut received = Vec::new();
    timeout(SOON, stream.read_to_end(&mut received))
        .await
        .expect("the server closes the connection")
        .expect("the connection is not reset");
    String::from_utf8(received).unwrap()
}

async fn until_memory(app: &App, condition: impl Fn(u64) -> bool) -> u64 {
    let until = Instant::now() + SOON;
    loop {
        let held = app.server.service.incoming.used();
        if condition(held) || Instant::now() > until {
            return held;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unauthenticated_requests_are_answered_before_the_body() {
    let app = App::on_sqlite(&[]).await;
    let org = app.org().await;
    for (path, status) in [
        ("/mcp".to_owned(), "401"),
        ("/api/v1/portals".to_owned(), "401"),
        (format!("/platform/v1{}", org.path("/sync")), "401"),
        ("/guest/v1/stays/unknown/submit".to_owned(), "404"),
    ] {
        let mut stream = post(&app, &path, "sk_unknown", 1 << 20, 1_000).await;
        let response = answer(&mut stream).await;
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status}")),
            "{path}: {response}"
        );
    }
    assert_eq!(app.server.service.incoming.used(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_its_whole_body_reads_the_early_answer() {
    let app = App::on_sqlite(&[]).await;
    for _ in 0..5 {
        let size = 5 << 20;
        let mut stream = post(&app, "/api/v1/portals", "sk_unknown", size, size).await;
        assert!(answer(&mut stream).await.starts_with("HTTP/1.1 401"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_requests_use_bounded_memory() {
    let limits = Limits {
        incoming_bytes: 1 << 20,
        space_timeout: Duration::from_millis(300),
        ..Limits::default()
    };
    let app = App::on_sqlite_with_limits(&[], limits).await;
    let token = app.org().await.key().await.token.unwrap();
    let (announced, sent) = (900 << 10, 800 << 10);
    let mut streams =
        join_all((0..8).map(|_| post(&app, "/api/v1/portals", &token, announced, sent))).await;
    assert!(until_memory(&app, |held| held > 200 << 10).await <= 2 << 20);
    let mut refused = 0;
    for stream in &mut streams {
        let mut head = [0; 12];
        let is_answered = timeout(Duration::from_secs(2), stream.read_exact(&mut head)).await;
        if is_answered.is_ok_and(|read| read.is_ok()) && head.ends_with(b"503") {
            refused += 1;
        }
    }
    assert!(refused > 0, "some find no room");
    assert!(app.server.service.incoming.used() <= 1 << 20);
    // The requests of this client's address use all the memory for bodies that one address may use.
    // When they end, the memory is free again.
    drop(streams);
    assert_eq!(until_memory(&app, |held| held == 0).await, 0);
    app.api(&token)
        .post("/portals", json!({ "name": "Casa" }))
        .await
        .data();
}

/// A budget of 2 MiB allows 64 unfinished bodies, of which one address may have half.
#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_unfinished_bodies_is_limited() {
    let limits = Limits {
        incoming_bytes: 2 << 20,
        space_timeout: Duration::from_secs(60),
        ..Limits::default()
    };
    let app = App::on_sqlite_with_limits(&[], limits).await;
    let begin = async || {
        let mut stream = post(&app, "/oauth/register", "none", 100, 1).await;
        let mut head = [0; 12];
        let is_answered = timeout(Duration::from_secs(1), stream.read_exact(&mut head)).await;
        (
            is_answered.is_ok_and(|read| read.is_ok()).then_some(head),
            stream,
        )
    };
    let streams = join_all((0..40).map(|_| begin())).await;
    let answers: Vec<_> = streams.iter().filter_map(|(head, _)| *head).collect();
    assert_eq!(answers, [*b"HTTP/1.1 503"; 8]);
    drop(streams);
    let until = Instant::now() + SOON;
    while begin().await.0.is_some() {
        assert!(
            Instant::now() < until,
            "closed connections free their places"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_for_lack_of_memory_names_a_retry_time() {
    let limits = Limits {
        incoming_bytes: 1_000,
        space_timeout: Duration::from_millis(100),
        ..Limits::default()
    };
    let app = App::on_sqlite_with_limits(&[], limits).await;
    let token = app.org().await.key().await.token.unwrap();
    let mut holder = post(&app, "/api/v1/portals", &token, 10_000, 2_000).await;
    assert!(until_memory(&app, |held| held > 1_000).await > 1_000);
    let mut stream = post(&app, "/api/v1/portals", &token, 20, 20).await;
    let mut answer = vec![0; 4_096];
    let count = timeout(SOON, stream.read(&mut answer))
        .await
        .unwrap()
        .unwrap();
    let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(
        answer.contains("retry-after: ") && answer.contains("SERVICE_UNAVAILABLE"),
        "{answer}"
    );
    let metrics = app
        .http
        .get(format!("{}/metrics", app.base))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        metrics.contains("\nvestibule_requests_out_of_memory_total 1\n"),
        "{metrics}"
    );
    holder.shutdown().await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_small_forms_without_a_session_are_returned() {
    let app = App::on_sqlite(&[]).await;
    let send = async |size: usize| {
        let request = app
            .http
            .post(format!("{}/console/portals/new", app.base))
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("name={}", "x".repeat(size)));
        request.send().await.unwrap()
    };
    let small = send(1_000).await;
    assert_eq!(small.status(), 401);
    assert!(
        small.text().await.unwrap().contains(&"x".repeat(1_000)),
        "it is given back"
    );
    assert!(!send(100 << 10).await.text().await.unwrap().contains("xxxx"));
    let mut given_back = 0;
    for _ in 0..210 {
        given_back += usize::from(send(10).await.text().await.unwrap().contains("xxxxxxxxxx"));
    }
    assert!((150..=200).contains(&given_back), "{given_back}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_does_not_wait_for_incomplete_requests_of_unknown_senders() {
    let app = App::on_sqlite(&[]).await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(post(&app, "/oauth/register", "none", 1_000, 500).await);
    }
    assert!(until_memory(&app, |held| held > 2_000).await > 2_000);
    let start = Instant::now();
    app.server.stop().await;
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

/// Opens an HTTP/2 connection and begins a request with a body on each of 32 streams.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
async fn begin_streams(address: &str) -> TcpStream {
    const STREAMS: u32 = 32;
    const BYTES: u32 = 2_000;
    let mut frames = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    // The headers in HPACK: the method POST and the scheme http from the static table, then the
    // path and the authority as literals.
    let mut headers = vec![0x83, 0x86];
    for (name, value) in [(0x04, "/console/sign-in"), (0x01, "x")] {
        headers.extend([name, u8::try_from(value.len()).unwrap()]);
        headers.extend(value.as_bytes());
    }
    let mut frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        frames.extend(&length[1..]);
        frames.extend([kind, flags]);
        frames.extend(stream.to_be_bytes());
        frames.extend(payload);
    };
    for number in 0..STREAMS {
        // Each stream gets a HEADERS frame with all headers and a DATA frame. Neither frame ends
        // the stream.
        frame(1, 4, 2 * number + 1, &headers);
        frame(0, 0, 2 * number + 1, &vec![b' '; BYTES as usize]);
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&frames).await.unwrap();
    stream
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[tokio::test(flavor = "multi_thread")]
async fn memory_returns_to_its_level_at_rest_after_unfinished_bodies() {
    /// Maximum increase of the node's memory, in MiB, from before the requests until after them.
    const RISE: u64 = 12;
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/memory.db", directory.path().display());
    let node = Node::start(&database, &[]);
    let resident = || node.resident().unwrap();
    let at_rest = resident();
    let address = node.base.trim_start_matches("http://");
    let connections = join_all((0..400).map(|_| begin_streams(address))).await;
    let until = Instant::now() + SOON;
    while resident() < at_rest + 2 * RISE && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let held = resident();
    assert!(held >= at_rest + 2 * RISE, "{at_rest} MiB, then {held} MiB");
    drop(connections);
    let until = Instant::now() + 2 * SOON;
    while resident() > at_rest + RISE && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let after = resident();
    assert!(
        after <= at_rest + RISE,
        "{at_rest} MiB at rest, {held} MiB with the bodies, {after} MiB after"
    );
}
