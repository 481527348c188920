//! Tests of SIGTERM under load: every accepted request gets a complete response.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use test_support::waiting::in_time;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Client, Process, on_each};

/// Opens a connection. Sends the head of a request and the first `sent` bytes of its body.
async fn begin(address: &str, token: &str, body: &str, sent: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let head = format!(
        "POST /api/v1/portal-manuals HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \
            {token}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body.as_bytes()[..sent]).await.unwrap();
    stream
}

/// Reads until the connection ends. Treats a connection error like the end of the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let (mut responses, mut bytes) = (Vec::new(), vec![0; 4096]);
    let reading = async {
        while let Ok(count @ 1..) = stream.read(&mut bytes).await {
            responses.extend_from_slice(&bytes[..count]);
        }
    };
    in_time("the connection ends", reading).await;
    String::from_utf8(responses).unwrap()
}

/// Returns whether a response is complete.
fn is_complete(answer: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("content-length:")?
            .trim()
            .parse::<usize>()
            .ok()
    });
    length == Some(body.len())
}

on_each!(sigterm_under_load_loses_no_response);
/// Sends SIGTERM under load. A request whose head the server read before the signal gets a
/// response, even if its body arrives later. A later request is refused completely. No response
/// is truncated. A request without a response is not applied.
async fn sigterm_under_load_loses_no_response(database_url: String) {
    const BEGUN: usize = 40;
    let mut server = Process::start(&database_url);
    let client = Client::of(&server).await;
    let (address, token) = (server.address().to_owned(), client.token.clone());
    let body = |name: &str| json!({ "nickname": name, "title": "Wi-Fi" }).to_string();

    // The test sends only the first half of each body, so the server waits for the second half.
    let mut pending = Vec::new();
    for number in 0..BEGUN {
        let body = body(&format!("begun {number}"));
        pending.push((begin(&address, &token, &body, body.len() / 2).await, body));
    }
    // While the requests in `pending` are incomplete, other clients send complete requests, each on
    // a new connection.
    let mut others: JoinSet<Vec<(String, String)>> = JoinSet::new();
    let count = Arc::new(AtomicUsize::new(0));
    for sender in 0..16 {
        let (address, token, count) = (address.clone(), token.clone(), count.clone());
        others.spawn(async move {
            let mut responses = Vec::new();
            for number in 0.. {
                let name = format!("other {sender} {number}");
                // If the server has closed its listening socket, connecting fails at once, and
                // this client stops.
                let Ok(mut stream) = TcpStream::connect(&address).await else {
                    break;
                };
                let body = json!({ "nickname": name, "title": "Wi-Fi" }).to_string();
                let request = format!(
                    "POST /api/v1/portal-manuals HTTP/1.1\r\nhost: x\r\nconnection: \
                        close\r\nauthorization: Bearer {token}\r\ncontent-type: \
                        application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(request.as_bytes()).await.ok();
                responses.push((name, rest(&mut stream).await));
                count.fetch_add(1, Ordering::Relaxed);
            }
            responses
        });
    }
    let soon = Instant::now() + Duration::from_secs(15);
    while count.load(Ordering::Relaxed) < 50 {
        assert!(Instant::now() < soon, "they are answered");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.signal("-TERM");
    let soon = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(&address).await.is_ok() {
        assert!(Instant::now() < soon, "nobody is let in any more");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(
        server.server.is_running(),
        "it waits for those that have begun"
    );
    for (stream, body) in &mut pending {
        stream
            .write_all(&body.as_bytes()[body.len() / 2..])
            .await
            .unwrap();
    }
    for (stream, _) in &mut pending {
        let response = rest(stream).await;
        assert!(
            response.starts_with("HTTP/1.1 201") && is_complete(&response),
            "{response:?}"
        );
    }
    let responses = others.join_all().await.concat();
    let ending = Instant::now();
    assert_eq!(server.server.wait().code(), Some(0));
    assert!(
        ending.elapsed() < Duration::from_secs(5),
        "it waits for nobody else"
    );
    server.assert_sound();

    let server = Process::start(&database_url);
    client.base.lock().unwrap().clone_from(&server.base);
    let manuals = client.manuals().await;
    let mut unanswered = 0;
    for (name, response) in &responses {
        assert!(
            response.is_empty() || (response.starts_with("HTTP/1.1 201") && is_complete(response)),
            "{response:?}"
        );
        assert_eq!(
            manuals.contains_key(name),
            !response.is_empty(),
            "{name}: {response:?}"
        );
        unanswered += usize::from(response.is_empty());
    }
    assert_eq!(manuals.len(), BEGUN + responses.len() - unanswered);
    // The kernel accepted the connections of the unanswered requests, but the server did not.
    // Each client has at most one such connection.
    assert!(
        unanswered <= 16 && responses.len() >= 50,
        "{unanswered} of {} without an answer",
        responses.len()
    );
    eprintln!(
        "{} answered under load, {unanswered} never taken up",
        responses.len() - unanswered
    );
}
