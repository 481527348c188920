//! Tests a rolling upgrade of two nodes on one PostgreSQL. `just upgrade FROM` builds the older
//! version from git.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use super::{Client, Process, fresh_postgres};

/// Duration of each phase of the upgrade.
const PHASE_DURATION: Duration = Duration::from_secs(3);
/// Time limit of one write, including its repetitions.
const WAIT_LIMIT: Duration = Duration::from_secs(20);

/// Number of responses by status. Status 0 is a request without a response.
type Statuses = BTreeMap<u16, usize>;

/// Two nodes of the older version run first. A node of this version then starts and migrates the
/// schema, and the old nodes end one after the other. Meanwhile clients create manuals. Each client
/// sends a creation to two nodes in turn, with the same idempotency key, until one node succeeds.
/// The client then reads the new manual from the other one of these two nodes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a binary of an older version; `just upgrade FROM` builds it and runs the test"]
async fn a_rolling_upgrade_loses_no_writes() {
    let older = PathBuf::from(
        std::env::var_os("VESTIBULE_UPGRADE_FROM").expect("the binary of an older version"),
    );
    let Some(url) = fresh_postgres().await else {
        return;
    };
    let start = async |program: Option<PathBuf>| {
        let url = url.clone();
        let started = move || {
            program.map_or_else(
                || Process::start(&url),
                |program| Process::start_of(&program, &url, &[]),
            )
        };
        tokio::task::spawn_blocking(started).await.unwrap()
    };
    let mut first = start(Some(older.clone())).await;
    let mut second = start(Some(older)).await;
    let one = Client::of(&first).await;
    let two = Client {
        base: Arc::new(Mutex::new(second.base.clone())),
        ..one.clone()
    };
    let (is_over, mut clients) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for number in 0..16 {
        let pair = if number % 2 == 0 {
            [one.clone(), two.clone()]
        } else {
            [two.clone(), one.clone()]
        };
        clients.spawn(write_and_read(pair, number, is_over.clone()));
    }
    let began = Instant::now();
    tokio::time::sleep(PHASE_DURATION).await;
    let third = start(None).await;
    eprintln!(
        "{:.1?}: a node of this version has brought the schema to its own, beside two of the older \
            one",
        began.elapsed()
    );
    tokio::time::sleep(PHASE_DURATION).await;
    third.base.clone_into(&mut one.base.lock().unwrap());
    stop_node(&mut first);
    eprintln!(
        "{:.1?}: the first of the older version has gone",
        began.elapsed()
    );
    tokio::time::sleep(PHASE_DURATION).await;
    let fourth = start(None).await;
    fourth.base.clone_into(&mut two.base.lock().unwrap());
    stop_node(&mut second);
    eprintln!(
        "{:.1?}: the last of the older version has gone",
        began.elapsed()
    );
    tokio::time::sleep(PHASE_DURATION).await;
    is_over.store(true, Ordering::Relaxed);
    let (mut acknowledged, mut statuses, mut longest) =
        (Vec::new(), Statuses::new(), Duration::ZERO);
    for (names, heard, took) in clients.join_all().await {
        acknowledged.extend(names);
        longest = longest.max(took);
        for (status, count) in heard {
            *statuses.entry(status).or_default() += count;
        }
    }
    for client in [&one, &two] {
        let manuals = client.manuals().await;
        let lost: Vec<_> = acknowledged
            .iter()
            .filter(|name| !manuals.contains_key(*name))
            .collect();
        assert!(lost.is_empty(), "lost: {lost:?}");
        assert_eq!(manuals.len(), acknowledged.len(), "each was applied once");
    }
    for node in [&first, &second, &third, &fourth] {
        node.assert_sound();
    }
    eprintln!(
        "{} writes acknowledged, 0 lost, 0 doubled; statuses {statuses:?}; the longest answer took \
            {longest:.2?}",
        acknowledged.len()
    );
    // A node that stops closes its idle connections. If a client sends a request on one of them at
    // that moment, the client gets no response (status 0).
    assert!(
        statuses
            .keys()
            .all(|status| [0, 200, 201, 409, 503].contains(status)),
        "{statuses:?}"
    );
    assert!(
        statuses.get(&0).copied().unwrap_or_default() <= 32,
        "{statuses:?}"
    );
}

/// Stops a node with SIGTERM and waits until it has ended.
fn stop_node(node: &mut Process) {
    node.signal("-TERM");
    assert!(node.server.wait().success());
}

async fn write_and_read(
    pair: [Client; 2],
    number: usize,
    is_over: Arc<AtomicBool>,
) -> (Vec<String>, Statuses, Duration) {
    let (mut names, mut statuses, mut longest) = (Vec::new(), Statuses::new(), Duration::ZERO);
    while !is_over.load(Ordering::Relaxed) {
        let name = format!("n{number}-{}", names.len());
        let start = Instant::now();
        for attempt in 0.. {
            let attempt_start = Instant::now();
            let received = pair[attempt % 2].create(&name).await;
            longest = longest.max(attempt_start.elapsed());
            let status = received.as_ref().map_or(0, |received| received.status);
            *statuses.entry(status).or_default() += 1;
            if status == 201 {
                break;
            }
            assert!(
                received
                    .as_ref()
                    .is_none_or(super::ServerResponse::is_retryable),
                "{name}: {status} {}",
                received.unwrap().body
            );
            assert!(start.elapsed() < WAIT_LIMIT, "{name} is not answered");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let path = format!("/api/v1/portal-manuals?search={name}");
        for attempt in 1.. {
            let received = pair[attempt % 2].ask(Method::GET, &path, None, None).await;
            let status = received.as_ref().map_or(0, |received| received.status);
            *statuses.entry(status).or_default() += 1;
            if status == 200 {
                let rows = received.unwrap().body["data"].as_array().unwrap().clone();
                assert!(
                    rows.iter().any(|row| row["nickname"] == json!(name)),
                    "{name} is seen by the other node"
                );
                break;
            }
            assert!(
                received.is_none_or(|received| received.is_retryable())
                    && start.elapsed() < 2 * WAIT_LIMIT,
                "{name}: {status}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        names.push(name);
    }
    (names, statuses, longest)
}
