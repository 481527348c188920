//! A load test of several minutes that runs only on request (`just soak`). `VESTIBULE_SOAK_SECONDS`
//! sets its duration.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Client, Process, assert_intact, number, sqlite_in};

/// Sixteen clients read and write, and every response must be a success. The memory of the server
/// must stop growing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes ten minutes; `just soak` runs it"]
async fn memory_stays_stable_under_sustained_load() {
    const MOST: u64 = 150 * 1024;
    let seconds = number("VESTIBULE_SOAK_SECONDS", 600) as u64;
    let directory = tempfile::tempdir().unwrap();
    let database_url = std::env::var("VESTIBULE_SOAK_DATABASE_URL")
        .unwrap_or_else(|_| sqlite_in(directory.path()));
    let server = Process::start(&database_url);
    let client = Client::of(&server).await;
    let (requests, is_over) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let mut clients = JoinSet::new();
    for number in 0..16 {
        clients.spawn(use_portals(
            client.clone(),
            number,
            requests.clone(),
            is_over.clone(),
        ));
    }
    let (began, mut samples) = (Instant::now(), Vec::new());
    while began.elapsed() < Duration::from_secs(seconds) {
        tokio::time::sleep(Duration::from_secs(seconds.clamp(10, 600) / 10)).await;
        let memory = server.memory().unwrap_or_default();
        println!(
            "{:>4} s {:>9} requests {:>7} KiB",
            began.elapsed().as_secs(),
            requests.load(Ordering::Relaxed),
            memory
        );
        samples.push(memory);
    }
    is_over.store(true, Ordering::Relaxed);
    clients.join_all().await;
    server.assert_sound();
    assert_intact(&database_url);
    assert!(
        samples.iter().all(|memory| *memory < MOST),
        "{samples:?} KiB"
    );
    // By the middle of the test every bounded cache is full, so memory should not grow in the
    // second half.
    let (first, second) = samples.split_at(samples.len() / 2);
    let most = |samples: &[u64]| samples.iter().copied().max().unwrap_or_default();
    assert!(
        most(second) <= most(first) + most(first) / 10,
        "memory grows: {samples:?} KiB"
    );
}

/// Sends a request and checks that it succeeds. Returns `data` of the response.
async fn send_successfully(
    client: &Client,
    requests: &AtomicUsize,
    method: Method,
    path: &str,
    key: Option<&str>,
    body: Option<Value>,
) -> Value {
    let received = client
        .ask(method, path, key, body)
        .await
        .unwrap_or_else(|| panic!("no answer: {path}"));
    assert!(
        matches!(received.status, 200 | 201),
        "{path}: {} {}",
        received.status,
        received.body
    );
    requests.fetch_add(1, Ordering::Relaxed);
    received.body["data"].clone()
}

/// Changes and reads one portal and one category repeatedly. The amount of data stays the same, so
/// the memory of the server should stay the same too. Only the number of idempotency records grows,
/// and they are on disk.
async fn use_portals(
    client: Client,
    number: usize,
    requests: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
) {
    let portal = Some(json!({ "name": format!("Portal {number}") }));
    let portal = send_successfully(
        &client,
        &requests,
        Method::POST,
        "/api/v1/portals",
        None,
        portal,
    )
    .await;
    let path = format!("/api/v1/portals/{}", portal["id"].as_str().unwrap());
    let heading = Some(json!({ "title": format!("Heading {number}") }));
    let heading = send_successfully(
        &client,
        &requests,
        Method::POST,
        "/api/v1/portal-manual-categories",
        None,
        heading,
    )
    .await;
    let mut round = 0;
    while !is_over.load(Ordering::Relaxed) {
        round += 1;
        let notes = format!("round {round}");
        let change = Some(json!({ "data": { "supportNotes": notes } }));
        send_successfully(&client, &requests, Method::PATCH, &path, None, change).await;
        let read = send_successfully(&client, &requests, Method::GET, &path, None, None).await;
        assert_eq!(read["supportNotes"], notes.as_str());
        for list in [
            "/api/v1/portals",
            "/api/v1/precheck-steps",
            "/api/v1/properties?limit=10",
            "/api/v1/search?query=portal",
        ] {
            send_successfully(&client, &requests, Method::GET, list, None, None).await;
        }
        let (key, order) = (
            format!("{number} {round}"),
            Some(json!({ "orderedIds": [heading["id"]] })),
        );
        send_successfully(
            &client,
            &requests,
            Method::POST,
            "/api/v1/portal-manual-categories/reorder",
            Some(&key),
            order,
        )
        .await;
    }
}
