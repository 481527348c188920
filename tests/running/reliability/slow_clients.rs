//! Tests of clients that send one byte at a time. The server closes their connections. Until it
//! does, it still serves other clients.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Client, Process, sqlite_in};

/// Sends `beginning`, and then `byte` every 250 ms until the server closes the connection. Returns
/// the time from the first byte to the close.
async fn send_slowly(address: String, beginning: String, byte: &'static [u8]) -> Duration {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let start = Instant::now();
    stream.write_all(beginning.as_bytes()).await.unwrap();
    let (mut from, mut to) = stream.split();
    let mut bytes = [0; 1024];
    loop {
        let reported =
            tokio::time::timeout(Duration::from_millis(250), from.read(&mut bytes)).await;
        let is_over = match reported {
            Ok(read) => !matches!(read, Ok(1..)),
            Err(_) => to.write_all(byte).await.is_err(),
        };
        if is_over {
            return start.elapsed();
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the server does not close the connection"
        );
    }
}

/// Opens a hundred slow connections. Checks that other clients are served meanwhile, and that the
/// server closes each slow connection after `from` to `to` seconds.
async fn assert_slow_clients_disconnected(
    beginning: impl Fn(&Client) -> String,
    byte: &'static [u8],
    from: u64,
    to: u64,
) {
    let directory = tempfile::tempdir().unwrap();
    let server = Process::start(&sqlite_in(directory.path()));
    let client = Client::of(&server).await;
    let mut slow = JoinSet::new();
    for _ in 0..100 {
        slow.spawn(send_slowly(
            server.address().to_owned(),
            beginning(&client),
            byte,
        ));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    for number in 0..50 {
        let began = Instant::now();
        assert_eq!(
            client
                .create(&format!("meanwhile {number}"))
                .await
                .unwrap()
                .status,
            201
        );
        assert_eq!(client.get("/api/v1/portals").await.unwrap().status, 200);
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "{:?}",
            began.elapsed()
        );
    }
    let (from, to) = (Duration::from_secs(from), Duration::from_secs(to));
    for lasted in slow.join_all().await {
        assert!((from..to).contains(&lasted), "{lasted:?}");
    }
    server.assert_sound();
}

/// Each byte arrives soon after the previous one. Nevertheless the server closes the connection,
/// because the deadline applies to the whole head of the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn headers_sent_byte_by_byte_time_out() {
    assert_slow_clients_disconnected(
        |_| "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ".to_owned(),
        b"x",
        9,
        13,
    )
    .await;
}

/// Sends the body of an authenticated request byte by byte.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "waits for the thirty seconds that a body may take; `just soak` runs it"]
async fn bodies_sent_byte_by_byte_time_out() {
    let beginning = |client: &Client| {
        let token = &client.token;
        format!(
            "POST /api/v1/portal-manuals HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \
                {token}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n"
        )
    };
    assert_slow_clients_disconnected(beginning, b" ", 29, 34).await;
}

/// Sends forms without a credential byte by byte, to the token endpoint and to the sign-in page.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "waits for the thirty seconds that a form may take; `just soak` runs it"]
async fn forms_sent_byte_by_byte_time_out() {
    let beginning = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: \
                application/x-www-form-urlencoded\r\ncontent-length: 60000\r\n\r\n"
        )
    };
    for path in ["/oauth/token", "/sign-in"] {
        assert_slow_clients_disconnected(|_| beginning(path), b"x", 29, 34).await;
    }
}
