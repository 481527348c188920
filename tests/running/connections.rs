//! Tests of clients that send nothing, do not read their responses, or open too many connections
//! (docs/explanation/security.md).

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use h2::client::SendRequest;
use http::Request;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use vestibule::server::Limits;

use test_support::waiting::{in_time, read_until, wait_until_within};
use test_support::{ApiResponse, App};

/// Time limit of a wait for an event that takes milliseconds on an idle machine.
const SOON: Duration = Duration::from_secs(10);
/// Time limit that most tests set for idle clients and for clients that do not read.
const IDLE_TIMEOUT: Duration = Duration::from_millis(300);
/// A longer timeout, for tests that make other requests before an idle connection times out. The
/// responses to those requests must arrive before the timeout.
const LONG_IDLE_TIMEOUT: Duration = Duration::from_secs(3);
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";

async fn connect(app: &App, text: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(app.server.address).await.unwrap();
    stream.write_all(text).await.unwrap();
    stream
}

/// Reads until the server closes the connection. Returns the bytes.
async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut received = Vec::new();
    // A reset also closes the connection, so the test ignores the read error.
    drop(
        timeout(SOON, stream.read_to_end(&mut received))
            .await
            .expect("the connection ends"),
    );
    received
}

async fn is_open(stream: &mut TcpStream) -> bool {
    timeout(Duration::from_millis(50), stream.read_u8())
        .await
        .is_err()
}

/// Opens a connection and sends a request with half of its body.
async fn half_a_request(app: &App, token: &str) -> TcpStream {
    let head = format!(
        "POST /api/v1/portals HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \
            {token}\r\ncontent-length: 17\r\n\r\n{{\"name\":"
    );
    let mut stream = connect(app, head.as_bytes()).await;
    // The wait gives the server time to read the head and the first half of the body.
    assert!(timeout(IDLE_TIMEOUT, stream.read_u8()).await.is_err());
    stream
}

async fn other_half(mut stream: TcpStream) -> String {
    stream.write_all(b"\"Casa 1\"}").await.unwrap();
    let mut answer = vec![0; 12];
    timeout(SOON, stream.read_exact(&mut answer))
        .await
        .unwrap()
        .unwrap();
    String::from_utf8(answer).unwrap()
}

async fn health(app: &App) -> u16 {
    ApiResponse::of(
        reqwest::Client::new()
            .get(format!("{}/healthz", app.base))
            .timeout(SOON),
    )
    .await
    .status
}

/// Opens an HTTP/2 connection with a flow-control window of `window` bytes for each stream.
async fn http2(app: &App, window: u32) -> (SendRequest<Bytes>, tokio::task::JoinHandle<()>) {
    let stream = TcpStream::connect(app.server.address).await.unwrap();
    let mut builder = h2::client::Builder::new();
    builder
        .initial_window_size(window)
        .initial_connection_window_size(1 << 24);
    let (send, connection) = builder.handshake(stream).await.unwrap();
    (send, tokio::spawn(async move { drop(connection.await) }))
}

/// Sends a request and waits for the headers of the response.
async fn ask(send: &mut SendRequest<Bytes>, path: &str, token: &str) -> h2::RecvStream {
    ask_for(send, path, token, "identity").await
}

/// Sends a request that accepts only the content coding `coding`, and waits for the headers of the
/// response.
async fn ask_for(
    send: &mut SendRequest<Bytes>,
    path: &str,
    token: &str,
    coding: &str,
) -> h2::RecvStream {
    let request =
        Request::get(format!("http://x{path}")).header("authorization", format!("Bearer {token}"));
    let request = request.header("accept-encoding", coding).body(()).unwrap();
    *send = timeout(SOON, send.clone().ready()).await.unwrap().unwrap();
    let (answer, _) = send.send_request(request, true).unwrap();
    let answer = timeout(SOON, answer).await.unwrap().unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    answer.into_body()
}

/// Creates an organization whose list of portals is about 300 KB long. Returns a token that can
/// read the list.
async fn long_list(app: &App) -> String {
    let org = app.org().await;
    let record = |number| {
        json!({
            "kind": "payment_account",
            "id": test_support::new_id(),
            "data": { "name": format!("{number:01000}"), "isActive": true, "isDefault": false },
        })
    };
    org.sync((0..300).map(record).collect()).await.data();
    org.key().await.token.unwrap()
}

const LONG_LIST: &str = "/api/v1/payment-accounts";

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_is_closed() {
    let app = App::on_sqlite_with_limits(
        &[],
        Limits {
            idle: IDLE_TIMEOUT,
            ..Limits::default()
        },
    )
    .await;
    let token = app.org().await.key().await.token.unwrap();
    let busy = half_a_request(&app, &token).await;
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let (begun, headers) = (
        [PREFACE, &settings].concat(),
        [PREFACE, &settings, &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]].concat(),
    );
    let text: [&[u8]; 8] = [
        b"",
        b"P",
        &PREFACE[..12],
        PREFACE,
        &begun,
        &headers,
        b"GET /healthz HTTP/1.1\r\nhost",
        HEALTH,
    ];
    let start = Instant::now();
    let ends = join_all(text.map(async |text| rest(&mut connect(&app, text).await).await)).await;
    assert!(
        ends[7].starts_with(b"HTTP/1.1 200"),
        "what is whole is answered first"
    );
    // The server also closes the connection of a client that answers pings but makes no request.
    let (_send, polite) = http2(&app, 1_000).await;
    timeout(SOON, polite)
        .await
        .expect("it is told to go")
        .unwrap();
    assert!(start.elapsed() > IDLE_TIMEOUT);
    assert!(
        other_half(busy).await.starts_with("HTTP/1.1 201"),
        "a request under way is not silence"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_silent_connection_is_closed_for_a_new_client() {
    let app = App::on_sqlite_with_limits(
        &[],
        Limits {
            connections: 8,
            ..Limits::default()
        },
    )
    .await;
    let token = app.org().await.key().await.token.unwrap();
    let busy = half_a_request(&app, &token).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(connect(&app, b"P").await);
    }
    assert_eq!(health(&app).await, 200);
    assert!(rest(&mut silent[0]).await.is_empty());
    assert!(is_open(&mut silent[19]).await);
    assert!(other_half(busy).await.starts_with("HTTP/1.1 201"));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_limited_per_address() {
    let app = App::on_sqlite(&["--connections-per-address=4"]).await;
    let token = app.org().await.key().await.token.unwrap();
    let mut silent = Vec::new();
    for _ in 0..6 {
        silent.push(connect(&app, b"").await);
    }
    // A new connection from an address closes the connection of that address that has been silent
    // for the longest time.
    assert_eq!(health(&app).await, 200);
    assert!(rest(&mut silent[0]).await.is_empty());
    let mut busy = Vec::new();
    for _ in 0..4 {
        busy.push(half_a_request(&app, &token).await);
    }
    assert!(
        rest(&mut connect(&app, HEALTH).await).await.is_empty(),
        "none can give way"
    );
    let elsewhere = TcpSocket::new_v4().unwrap();
    elsewhere.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut elsewhere = elsewhere.connect(app.server.address).await.unwrap();
    elsewhere.write_all(HEALTH).await.unwrap();
    assert_eq!(
        timeout(SOON, elsewhere.read_u8())
            .await
            .expect("an answer is there")
            .unwrap(),
        b'H'
    );
    for answer in join_all(busy.into_iter().take(1).map(other_half)).await {
        assert!(answer.starts_with("HTTP/1.1 201"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_disconnected() {
    let app = App::on_sqlite_with_limits(
        &[],
        Limits {
            progress_timeout: IDLE_TIMEOUT,
            ..Limits::default()
        },
    )
    .await;
    let asked = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(200);
    let mut stream = connect(&app, asked.as_bytes()).await;
    // The responses are larger than the kernel's buffers, and the client reads nothing.
    wait_until_within(SOON, "the connection ends", async || {
        stream.write_all(b"\r\n").await.is_err()
    })
    .await;
    assert_eq!(health(&app).await, 200);
}

/// The flow-control windows are at their maximum, so only the unread socket stops the response.
#[tokio::test(flavor = "multi_thread")]
async fn an_http2_client_that_reads_nothing_is_disconnected() {
    let app = App::on_sqlite_with_limits(
        &[],
        Limits {
            progress_timeout: IDLE_TIMEOUT,
            ..Limits::default()
        },
    )
    .await;
    let mut stream = connect(&app, PREFACE).await;
    let window = [
        &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4][..],
        &[0x7f, 0xff, 0xff, 0xff],
        &[0, 0, 4, 8, 0, 0, 0, 0, 0],
        &[0x7f, 0, 0, 0],
    ]
    .concat();
    stream.write_all(&window).await.unwrap();
    // HPACK's static table does not contain the path, so the test encodes it as a literal without
    // Huffman coding.
    let path = b"/api/v1/openapi.json";
    let block = [
        &[0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()][..],
        path,
        &[0x01, 1, b'x'],
    ]
    .concat();
    for number in 0..32_u8 {
        let head = [
            0,
            0,
            u8::try_from(block.len()).unwrap(),
            1,
            5,
            0,
            0,
            0,
            2 * number + 1,
        ];
        stream
            .write_all(&[&head[..], &block].concat())
            .await
            .unwrap();
    }
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    wait_until_within(SOON, "the connection ends", async || {
        stream.write_all(&ping).await.is_err()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_stream_ends_and_other_streams_continue() {
    let app = App::on_sqlite_with_limits(
        &[],
        Limits {
            progress_timeout: IDLE_TIMEOUT,
            ..Limits::default()
        },
    )
    .await;
    let (mut send, _connection) = http2(&app, 1_000).await;
    let mut stuck = Vec::new();
    for _ in 0..31 {
        stuck.push(ask(&mut send, "/api/v1/openapi.json", "").await);
    }
    assert_eq!(send.current_max_send_streams(), 32);
    for mut stuck in stuck {
        let mut received = 0;
        // The client reads the bytes without releasing flow-control capacity, so the stream stalls.
        let ended = timeout(SOON, async {
            loop {
                match stuck.data().await.unwrap() {
                    Ok(bytes) => received += bytes.len(),
                    Err(error) => return error,
                }
            }
        });
        assert_eq!(
            (ended.await.unwrap().reason(), received),
            (Some(h2::Reason::CANCEL), 1_000)
        );
    }
    let mut healthy = ask(&mut send, "/healthz", "").await;
    assert_eq!(healthy.data().await.unwrap().unwrap(), "ok\n");
    // The body of the response to `/healthz` ends after `ok` without an error, although other
    // streams of its connection were stuck and cancelled.
    assert!(
        healthy
            .data()
            .await
            .is_none_or(|last| last.unwrap().is_empty())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_outbound_buffer_is_bounded() {
    let limits = Limits {
        outbound_bytes: 200_000,
        space_timeout: IDLE_TIMEOUT,
        short_progress_timeout: SOON * 6,
        ..Limits::default()
    };
    let app = App::on_sqlite_with_limits(&[], limits).await;
    let token = long_list(&app).await;
    let (mut send, connection) = http2(&app, 1_000).await;
    let stuck = ask(&mut send, LONG_LIST, &token).await;
    assert!(app.server.service.outbound.bytes() > 300_000);
    let refused = app.api(&token).get("/portals").await;
    refused.error(503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(health(&app).await, 200);
    let metrics = app
        .http
        .get(format!("{}/metrics", app.base))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(metrics.contains("\nvestibule_unsent_bytes 3"), "{metrics}");
    drop((stuck, send));
    connection.abort();
    wait_until_within(SOON, "the outbound buffer has space again", async || {
        app.api(&token).get("/portals").await.status == 200
    })
    .await;
    // A client that reads its responses frees the outbound buffer, so its requests always succeed.
    for _ in 0..3 {
        app.api(&token).get("/payment-accounts").await.data();
    }
}

/// The service compresses a response while it sends the response, so the outbound buffer contains
/// the uncompressed content.
#[tokio::test(flavor = "multi_thread")]
async fn compressed_answers_count_with_their_uncompressed_size() {
    let limits = Limits {
        outbound_bytes: 200_000,
        space_timeout: IDLE_TIMEOUT,
        short_progress_timeout: SOON * 6,
        ..Limits::default()
    };
    let app = App::on_sqlite_with_limits(&[], limits).await;
    let token = long_list(&app).await;
    let (mut send, _connection) = http2(&app, 1_000).await;
    let stuck = ask_for(&mut send, LONG_LIST, &token, "br").await;
    assert!(app.server.service.outbound.bytes() > 300_000);
    app.api(&token).get("/portals").await.error(503);
    // The service computes a response before it reserves space for the response in the outbound
    // buffer. If the buffer has no space, the service drops the response.
    let (mut other, _connection) = http2(&app, 1_000).await;
    let asked = [
        "/api/v1/payment-accounts?n=1",
        "/api/v1/payment-accounts?n=2",
        "/api/v1/payment-accounts?n=3",
    ];
    drop((stuck, send));
    wait_until_within(SOON, "the outbound buffer is empty", async || {
        app.server.service.outbound.bytes() == 0
    })
    .await;
    let mut answers = Vec::new();
    for path in asked {
        let request = Request::get(format!("http://x{path}"))
            .header("authorization", format!("Bearer {token}"));
        other = timeout(SOON, other.ready()).await.unwrap().unwrap();
        answers.push(
            other
                .send_request(
                    request.header("accept-encoding", "br").body(()).unwrap(),
                    true,
                )
                .unwrap()
                .0,
        );
    }
    let refused = join_all(answers)
        .await
        .iter()
        .filter(|answer| answer.as_ref().unwrap().status() == 503)
        .count();
    assert_eq!(refused, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_takes_no_buffer_space_of_other_organizations() {
    let limits = Limits {
        outbound_bytes: 900_000,
        space_timeout: SOON,
        short_progress_timeout: LONG_IDLE_TIMEOUT,
        ..Limits::default()
    };
    let app = App::on_sqlite_with_limits(&[], limits).await;
    let (greedy, slow, other) = (
        long_list(&app).await,
        long_list(&app).await,
        app.org().await.key().await.token.unwrap(),
    );
    let (mut send, _connection) = http2(&app, 1_000).await;
    // Each response with a list takes a third of the outbound buffer. The client `slow` reads its
    // response slowly. The client `greedy` reads nothing of its response and sends a second
    // request.
    let mut read = ask(&mut send, LONG_LIST, &slow).await;
    let mut stuck = ask(&mut send, LONG_LIST, &greedy).await;
    let start = Instant::now();
    app.api(&other).get("/portals").await.data();
    assert!(
        start.elapsed() < LONG_IDLE_TIMEOUT,
        "others have room at once"
    );
    app.api(&greedy).get("/portals").await.data();
    let given_up = async { while stuck.data().await.is_some_and(|received| received.is_ok()) {} };
    timeout(SOON, given_up)
        .await
        .expect("a client that fills the buffer itself has less time");
    assert_eq!(read.data().await.unwrap().unwrap().len(), 1_000);
    let mut more = async || {
        read.flow_control().release_capacity(1_000).unwrap();
        read.data().await.unwrap()
    };
    assert!(
        timeout(SOON, more()).await.unwrap().is_ok(),
        "other clients keep their full time"
    );
}

/// Sixteen requests arrive on one connection before the server sends the first response. Their
/// responses do not fit into the outbound buffer together, so most of them get a 503.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_long_answers_stay_within_the_outbound_buffer() {
    let limits = Limits {
        outbound_bytes: 1_200_000,
        space_timeout: LONG_IDLE_TIMEOUT,
        short_progress_timeout: SOON * 6,
        ..Limits::default()
    };
    let app = App::on_sqlite_with_limits(&[], limits).await;
    let (greedy, other) = (
        long_list(&app).await,
        app.org().await.key().await.token.unwrap(),
    );
    let (mut send, _connection) = http2(&app, 1_000).await;
    let mut answers = Vec::new();
    for number in 0..16 {
        // Each request has a different query string, so no response comes from the cache.
        let uri = format!("http://x{LONG_LIST}?n={number}");
        let request = Request::get(uri)
            .header("authorization", format!("Bearer {greedy}"))
            .body(())
            .unwrap();
        send = send.ready().await.unwrap();
        answers.push(send.send_request(request, true).unwrap().0);
    }
    let statuses = join_all(answers).await;
    let refused = statuses
        .iter()
        .filter(|answer| answer.as_ref().unwrap().status() == 503)
        .count();
    assert!(refused >= 12, "{refused}");
    assert!(app.server.service.outbound.bytes() < 1_200_000);
    let start = Instant::now();
    app.api(&other).get("/portals").await.data();
    assert!(start.elapsed() < LONG_IDLE_TIMEOUT);
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_readers_have_less_time_while_others_wait() {
    let limits = Limits {
        outbound_bytes: 200_000,
        space_timeout: SOON,
        short_progress_timeout: IDLE_TIMEOUT,
        ..Limits::default()
    };
    let app = App::on_sqlite_with_limits(&[], limits).await;
    let token = long_list(&app).await;
    let (mut send, _connection) = http2(&app, 1_000).await;
    let _stuck = ask(&mut send, LONG_LIST, &token).await;
    app.api(&token)
        .send(Method::GET, "/portals", None)
        .await
        .data();
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_does_not_wait_for_slow_readers() {
    let app = App::on_sqlite_with_limits(
        &[],
        Limits {
            short_progress_timeout: IDLE_TIMEOUT,
            ..Limits::default()
        },
    )
    .await;
    let (mut send, _connection) = http2(&app, 0).await;
    let _stuck = [
        ask(&mut send, "/api/v1/openapi.json", "").await,
        ask(&mut send, "/docs/start.js", "").await,
    ];
    let asked = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(200);
    let _unread = connect(&app, asked.as_bytes()).await;
    let _silent = [
        connect(&app, b"").await,
        connect(&app, b"P").await,
        connect(&app, PREFACE).await,
    ];
    let start = Instant::now();
    app.server.stop().await;
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

/// A trusted proxy may open any number of connections. Instead, the number of concurrent requests
/// of each client behind it is limited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_behind_a_trusted_proxy_has_its_own_limit() {
    let flags = ["--trusted-proxy=127.0.0.1", "--connections-per-address=2"];
    let app = App::on_sqlite(&flags).await;
    let address = app.base.trim_start_matches("http://").to_owned();
    // Sends a request with an incomplete body and returns the open connection.
    let begun = async |client: &str| {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let head = format!(
            "POST /oauth/register HTTP/1.1\r\nhost: x\r\nx-forwarded-for: \
                {client}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    };
    let asked = async |client: &str| {
        let request = app.http.get(format!("{}/healthz", app.base));
        let answer = request.header("x-forwarded-for", client).send().await;
        answer.unwrap().status().as_u16()
    };
    let mut held = vec![begun("203.0.113.1").await, begun("203.0.113.1").await];
    for number in 0..4 {
        held.push(begun(&format!("198.51.{number}.1")).await);
    }
    read_until(async || asked("203.0.113.1").await, |status| *status == 429).await;
    assert_eq!(asked("203.0.113.2").await, 200);
    for stream in &mut held {
        stream.write_all(b"12345678").await.unwrap();
        let mut answer = [0; 12];
        in_time("the server responds", stream.read_exact(&mut answer))
            .await
            .unwrap();
        assert_eq!(&answer, b"HTTP/1.1 400");
    }
    drop(held);
    read_until(async || asked("203.0.113.1").await, |status| *status == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keep_alive_sets_how_long_a_connection_without_a_request_stays_open() {
    for (flags, least, most) in [
        (vec!["--keep-alive=400ms"], 300, 3_000),
        (vec!["--keep-alive=3s"], 2_000, 9_000),
    ] {
        let app = App::on_sqlite(&flags).await;
        let address = app.base.trim_start_matches("http://").to_owned();
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut stream, request)
            .await
            .unwrap();
        let start = std::time::Instant::now();
        let mut received = Vec::new();
        let reading = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut received);
        in_time("the server closes the connection", reading)
            .await
            .unwrap();
        let took = start.elapsed().as_millis();
        assert!((least..most).contains(&took), "{flags:?}: {took} ms");
        let plain = String::from_utf8(received).unwrap();
        assert!(
            !plain.contains("strict-transport-security"),
            "not without TLS"
        );
    }
}
