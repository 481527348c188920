//! Clients that say nothing, that do not read what they asked for, or are too many (docs/security.md).

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

use crate::support::{Answer, App};

/// What is to happen soon has happened by then, on a machine that has other things to do.
const SOON: Duration = Duration::from_secs(10);
/// Long enough for a client of a test to be idle or stuck, several times over.
const MOMENT: Duration = Duration::from_millis(300);
/// The same where something else is to be done meanwhile.
const WHILE: Duration = Duration::from_secs(3);
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";

async fn connect(app: &App, said: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(app.server.address).await.unwrap();
    stream.write_all(said).await.unwrap();
    stream
}

/// What comes until the server ends the connection.
async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut heard = Vec::new();
    // A reset is an end, too.
    drop(timeout(SOON, stream.read_to_end(&mut heard)).await.expect("the connection ends"));
    heard
}

async fn is_open(stream: &mut TcpStream) -> bool {
    timeout(Duration::from_millis(50), stream.read_u8()).await.is_err()
}

/// A connection with a request under way: half of its body is there.
async fn half_a_request(app: &App, token: &str) -> TcpStream {
    let head =
        format!("POST /api/v1/portals HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: 17\r\n\r\n{{\"name\":");
    let mut stream = connect(app, head.as_bytes()).await;
    // It is under way once it has been read.
    assert!(timeout(MOMENT, stream.read_u8()).await.is_err());
    stream
}

async fn other_half(mut stream: TcpStream) -> String {
    stream.write_all(b"\"Casa 1\"}").await.unwrap();
    let mut answer = vec![0; 12];
    timeout(SOON, stream.read_exact(&mut answer)).await.unwrap().unwrap();
    String::from_utf8(answer).unwrap()
}

async fn health(app: &App) -> u16 {
    Answer::of(reqwest::Client::new().get(format!("{}/healthz", app.base)).timeout(SOON)).await.status
}

/// An HTTP/2 client that lets `window` bytes of an answer come before it has read them.
async fn http2(app: &App, window: u32) -> (SendRequest<Bytes>, tokio::task::JoinHandle<()>) {
    let stream = TcpStream::connect(app.server.address).await.unwrap();
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(window).initial_connection_window_size(1 << 24);
    let (send, connection) = builder.handshake(stream).await.unwrap();
    (send, tokio::spawn(async move { drop(connection.await) }))
}

/// Asks, and hears the headers of the answer.
async fn ask(send: &mut SendRequest<Bytes>, path: &str, token: &str) -> h2::RecvStream {
    ask_for(send, path, token, "identity").await
}

/// The same, for an answer in a coding.
async fn ask_for(send: &mut SendRequest<Bytes>, path: &str, token: &str, coding: &str) -> h2::RecvStream {
    let request = Request::get(format!("http://x{path}")).header("authorization", format!("Bearer {token}"));
    let request = request.header("accept-encoding", coding).body(()).unwrap();
    *send = send.clone().ready().await.unwrap();
    let (answer, _) = send.send_request(request, true).unwrap();
    let answer = timeout(SOON, answer).await.unwrap().unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    answer.into_body()
}

/// A list of some 300 KB, and the token for it.
async fn long_list(app: &App) -> String {
    let org = app.org().await;
    let record = |number| json!({ "kind": "payment_account", "id": crate::support::new_id(), "data": { "name": format!("{number:01000}"), "isActive": true, "isDefault": false } });
    org.sync((0..300).map(record).collect()).await.data();
    org.key().await.token.unwrap()
}

const LONG_LIST: &str = "/api/v1/payment-accounts";

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_nothing_is_let_go() {
    let app = App::on_sqlite_within(&[], Limits { idle: MOMENT, ..Limits::default() }).await;
    let token = app.org().await.key().await.token.unwrap();
    let busy = half_a_request(&app, &token).await;
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let (begun, headers) = ([PREFACE, &settings].concat(), [PREFACE, &settings, &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]].concat());
    let said: [&[u8]; 8] = [b"", b"P", &PREFACE[..12], PREFACE, &begun, &headers, b"GET /healthz HTTP/1.1\r\nhost", HEALTH];
    let start = Instant::now();
    let ends = join_all(said.map(async |said| rest(&mut connect(&app, said).await).await)).await;
    assert!(ends[7].starts_with(b"HTTP/1.1 200"), "what is whole is answered first");
    // It answers pings, and asks for nothing.
    let (_send, polite) = http2(&app, 1_000).await;
    timeout(SOON, polite).await.expect("it is told to go").unwrap();
    assert!(start.elapsed() > MOMENT);
    assert!(other_half(busy).await.starts_with("HTTP/1.1 201"), "a request under way is not silence");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_been_silent_for_longest_gives_way() {
    let app = App::on_sqlite_within(&[], Limits { connections: 8, ..Limits::default() }).await;
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
async fn an_address_has_so_many_connections_and_no_more() {
    let app = App::on_sqlite(&["--connections-per-address=4"]).await;
    let token = app.org().await.key().await.token.unwrap();
    let mut silent = Vec::new();
    for _ in 0..6 {
        silent.push(connect(&app, b"").await);
    }
    // Of its own, the silent ones give way.
    assert_eq!(health(&app).await, 200);
    assert!(rest(&mut silent[0]).await.is_empty());
    let mut busy = Vec::new();
    for _ in 0..4 {
        busy.push(half_a_request(&app, &token).await);
    }
    assert!(rest(&mut connect(&app, HEALTH).await).await.is_empty(), "none can give way");
    let elsewhere = TcpSocket::new_v4().unwrap();
    elsewhere.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut elsewhere = elsewhere.connect(app.server.address).await.unwrap();
    elsewhere.write_all(HEALTH).await.unwrap();
    assert_eq!(timeout(SOON, elsewhere.read_u8()).await.expect("an answer is there").unwrap(), b'H');
    for answer in join_all(busy.into_iter().take(1).map(other_half)).await {
        assert!(answer.starts_with("HTTP/1.1 201"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_is_let_go() {
    let app = App::on_sqlite_within(&[], Limits { headway: MOMENT, ..Limits::default() }).await;
    let asked = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(200);
    let mut stream = connect(&app, asked.as_bytes()).await;
    // More than the kernel takes is asked for, and nothing read.
    let start = Instant::now();
    while stream.write_all(b"\r\n").await.is_ok() {
        assert!(start.elapsed() < SOON, "the connection ends");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(health(&app).await, 200);
}

/// Over HTTP/2, with windows that are wide open: nothing is read from the socket.
#[tokio::test(flavor = "multi_thread")]
async fn who_reads_nothing_at_all_is_let_go() {
    let app = App::on_sqlite_within(&[], Limits { headway: MOMENT, ..Limits::default() }).await;
    let mut stream = connect(&app, PREFACE).await;
    let window =
        [&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4][..], &[0x7f, 0xff, 0xff, 0xff], &[0, 0, 4, 8, 0, 0, 0, 0, 0], &[0x7f, 0, 0, 0]].concat();
    stream.write_all(&window).await.unwrap();
    // A path that is no static entry: a literal without Huffman's code.
    let path = b"/api/v1/openapi.json";
    let block = [&[0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()][..], path, &[0x01, 1, b'x']].concat();
    for number in 0..32_u8 {
        let head = [0, 0, u8::try_from(block.len()).unwrap(), 1, 5, 0, 0, 0, 2 * number + 1];
        stream.write_all(&[&head[..], &block].concat()).await.unwrap();
    }
    let start = Instant::now();
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    while stream.write_all(&ping).await.is_ok() {
        assert!(start.elapsed() < SOON, "the connection ends");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_not_read_ends_and_those_beside_it_go_on() {
    let app = App::on_sqlite_within(&[], Limits { headway: MOMENT, ..Limits::default() }).await;
    let (mut send, _connection) = http2(&app, 1_000).await;
    let mut stuck = Vec::new();
    for _ in 0..31 {
        stuck.push(ask(&mut send, "/api/v1/openapi.json", "").await);
    }
    assert_eq!(send.current_max_send_streams(), 32);
    for mut stuck in stuck {
        let mut heard = 0;
        // What is heard is not acknowledged.
        let ended = timeout(SOON, async {
            loop {
                match stuck.data().await.unwrap() {
                    Ok(bytes) => heard += bytes.len(),
                    Err(error) => return error,
                }
            }
        });
        assert_eq!((ended.await.unwrap().reason(), heard), (Some(h2::Reason::CANCEL), 1_000));
    }
    let mut healthy = ask(&mut send, "/healthz", "").await;
    assert_eq!(healthy.data().await.unwrap().unwrap(), "ok\n");
    // The end comes by itself, once the rest has been taken.
    assert!(healthy.data().await.is_none_or(|last| last.unwrap().is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_to_be_sent_has_a_bound() {
    let limits = Limits { unsent: 200_000, room: MOMENT, hurried_headway: SOON * 6, ..Limits::default() };
    let app = App::on_sqlite_within(&[], limits).await;
    let token = long_list(&app).await;
    let (mut send, connection) = http2(&app, 1_000).await;
    let stuck = ask(&mut send, LONG_LIST, &token).await;
    assert!(app.server.service.unsent.held() > 300_000);
    let refused = app.api(&token).get("/portals").await;
    refused.error(503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(health(&app).await, 200);
    let metrics = app.http.get(format!("{}/metrics", app.base)).send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("\nvestibule_unsent_bytes 3"), "{metrics}");
    drop((stuck, send));
    connection.abort();
    let start = Instant::now();
    while app.api(&token).get("/portals").await.status != 200 {
        assert!(start.elapsed() < SOON);
    }
    // A reader that takes what it asked for never meets the bound.
    for _ in 0..3 {
        app.api(&token).get("/payment-accounts").await.data();
    }
}

/// It is compressed as it is sent, so all that it is made of waits.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_compressed_on_its_way_counts_as_what_it_is_made_of() {
    let limits = Limits { unsent: 200_000, room: MOMENT, hurried_headway: SOON * 6, ..Limits::default() };
    let app = App::on_sqlite_within(&[], limits).await;
    let token = long_list(&app).await;
    let (mut send, _connection) = http2(&app, 1_000).await;
    let stuck = ask_for(&mut send, LONG_LIST, &token, "br").await;
    assert!(app.server.service.unsent.held() > 300_000);
    app.api(&token).get("/portals").await.error(503);
    // One that finds no room when it is there is not given, either.
    let (mut other, _connection) = http2(&app, 1_000).await;
    let asked = ["/api/v1/payment-accounts?n=1", "/api/v1/payment-accounts?n=2", "/api/v1/payment-accounts?n=3"];
    drop((stuck, send));
    let start = Instant::now();
    while app.server.service.unsent.held() > 0 {
        assert!(start.elapsed() < SOON);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut answers = Vec::new();
    for path in asked {
        let request = Request::get(format!("http://x{path}")).header("authorization", format!("Bearer {token}"));
        other = other.ready().await.unwrap();
        answers.push(other.send_request(request.header("accept-encoding", "br").body(()).unwrap(), true).unwrap().0);
    }
    let refused = join_all(answers).await.iter().filter(|answer| answer.as_ref().unwrap().status() == 503).count();
    assert_eq!(refused, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_takes_no_room_of_another_organization() {
    let limits = Limits { unsent: 900_000, room: SOON, hurried_headway: WHILE, ..Limits::default() };
    let app = App::on_sqlite_within(&[], limits).await;
    let (greedy, slow, other) = (long_list(&app).await, long_list(&app).await, app.org().await.key().await.token.unwrap());
    let (mut send, _connection) = http2(&app, 1_000).await;
    // A third of the room each: one is slow to read its only list, the other reads nothing and asks for more.
    let mut read = ask(&mut send, LONG_LIST, &slow).await;
    let mut stuck = ask(&mut send, LONG_LIST, &greedy).await;
    let start = Instant::now();
    app.api(&other).get("/portals").await.data();
    assert!(start.elapsed() < WHILE, "others have room at once");
    app.api(&greedy).get("/portals").await.data();
    let given_up = async { while stuck.data().await.is_some_and(|heard| heard.is_ok()) {} };
    timeout(SOON, given_up).await.expect("for who is in the way of itself there is less time");
    assert_eq!(read.data().await.unwrap().unwrap().len(), 1_000);
    let mut more = async || {
        read.flow_control().release_capacity(1_000).unwrap();
        read.data().await.unwrap()
    };
    assert!(timeout(SOON, more()).await.unwrap().is_ok(), "and nobody else has less");
}

/// They are let in together, before any of them is answered.
#[tokio::test(flavor = "multi_thread")]
async fn many_long_answers_at_once_take_no_more_room_than_one_after_another() {
    let limits = Limits { unsent: 1_200_000, room: WHILE, hurried_headway: SOON * 6, ..Limits::default() };
    let app = App::on_sqlite_within(&[], limits).await;
    let (greedy, other) = (long_list(&app).await, app.org().await.key().await.token.unwrap());
    let (mut send, _connection) = http2(&app, 1_000).await;
    let mut answers = Vec::new();
    for number in 0..16 {
        // Each is another question, so that none is answered from memory.
        let uri = format!("http://x{LONG_LIST}?n={number}");
        let request = Request::get(uri).header("authorization", format!("Bearer {greedy}")).body(()).unwrap();
        send = send.ready().await.unwrap();
        answers.push(send.send_request(request, true).unwrap().0);
    }
    let statuses = join_all(answers).await;
    let refused = statuses.iter().filter(|answer| answer.as_ref().unwrap().status() == 503).count();
    assert!(refused >= 12, "{refused}");
    assert!(app.server.service.unsent.held() < 1_200_000);
    let start = Instant::now();
    app.api(&other).get("/portals").await.data();
    assert!(start.elapsed() < WHILE);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_others_wait_who_does_not_read_has_less_time() {
    let limits = Limits { unsent: 200_000, room: SOON, hurried_headway: MOMENT, ..Limits::default() };
    let app = App::on_sqlite_within(&[], limits).await;
    let token = long_list(&app).await;
    let (mut send, _connection) = http2(&app, 1_000).await;
    let _stuck = ask(&mut send, LONG_LIST, &token).await;
    app.api(&token).send(Method::GET, "/portals", None).await.data();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_does_not_wait_for_who_does_not_read() {
    let app = App::on_sqlite_within(&[], Limits { hurried_headway: MOMENT, ..Limits::default() }).await;
    let (mut send, _connection) = http2(&app, 0).await;
    let _stuck = [ask(&mut send, "/api/v1/openapi.json", "").await, ask(&mut send, "/docs/start.js", "").await];
    let asked = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(200);
    let _unread = connect(&app, asked.as_bytes()).await;
    let _silent = [connect(&app, b"").await, connect(&app, b"P").await, connect(&app, PREFACE).await];
    let start = Instant::now();
    app.server.stop().await;
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}
