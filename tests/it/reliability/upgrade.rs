//! A version that is replaced by the next, node by node, on one PostgreSQL: `just upgrade FROM` builds an older one from git.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use super::{Client, Process, fresh_postgres};

/// How long each state of the house is lived in.
const WHILE: Duration = Duration::from_secs(3);
/// How long a client asks for one thing.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often each status was answered; 0 where no answer came.
type Statuses = BTreeMap<u16, usize>;

/// Two nodes of the older version serve; one of this comes beside them and brings the schema to its own, and the old ones go, one after
/// another. All the while clients write at both, each under a key that is sent again, to the other node, until it is answered, and read
/// what they have written, by the other node.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes a binary of an older version: just upgrade FROM"]
async fn a_version_is_replaced_by_the_next() {
    let older = PathBuf::from(std::env::var_os("VESTIBULE_UPGRADE_FROM").expect("the binary of an older version"));
    let Some(url) = fresh_postgres().await else { return };
    let start = async |program: Option<PathBuf>| {
        let url = url.clone();
        let started = move || program.map_or_else(|| Process::start(&url), |program| Process::start_of(&program, &url, &[]));
        tokio::task::spawn_blocking(started).await.unwrap()
    };
    let mut first = start(Some(older.clone())).await;
    let mut second = start(Some(older)).await;
    let one = Client::of(&first).await;
    let two = Client { base: Arc::new(Mutex::new(second.base.clone())), ..one.clone() };
    let (is_over, mut clients) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for number in 0..16 {
        let pair = if number % 2 == 0 { [one.clone(), two.clone()] } else { [two.clone(), one.clone()] };
        clients.spawn(write_and_read(pair, number, is_over.clone()));
    }
    let began = Instant::now();
    tokio::time::sleep(WHILE).await;
    let third = start(None).await;
    eprintln!("{:.1?}: a node of this version has brought the schema to its own, beside two of the older one", began.elapsed());
    tokio::time::sleep(WHILE).await;
    third.base.clone_into(&mut one.base.lock().unwrap());
    leave(&mut first);
    eprintln!("{:.1?}: the first of the older version has gone", began.elapsed());
    tokio::time::sleep(WHILE).await;
    let fourth = start(None).await;
    fourth.base.clone_into(&mut two.base.lock().unwrap());
    leave(&mut second);
    eprintln!("{:.1?}: the last of the older version has gone", began.elapsed());
    tokio::time::sleep(WHILE).await;
    is_over.store(true, Ordering::Relaxed);
    let (mut acknowledged, mut statuses, mut longest) = (Vec::new(), Statuses::new(), Duration::ZERO);
    for (names, heard, took) in clients.join_all().await {
        acknowledged.extend(names);
        longest = longest.max(took);
        for (status, count) in heard {
            *statuses.entry(status).or_default() += count;
        }
    }
    for client in [&one, &two] {
        let manuals = client.manuals().await;
        let lost: Vec<_> = acknowledged.iter().filter(|name| !manuals.contains_key(*name)).collect();
        assert!(lost.is_empty(), "lost: {lost:?}");
        assert_eq!(manuals.len(), acknowledged.len(), "each was applied once");
    }
    for node in [&first, &second, &third, &fourth] {
        node.assert_sound();
    }
    eprintln!(
        "{} writes acknowledged, 0 lost, 0 doubled; statuses {statuses:?}; the longest answer took {longest:.2?}",
        acknowledged.len()
    );
    // A node that goes tells its clients by closing connections that are at rest, and one may be asked on just then.
    assert!(statuses.keys().all(|status| [0, 200, 201, 409, 503].contains(status)), "{statuses:?}");
    assert!(statuses.get(&0).copied().unwrap_or_default() <= 32, "{statuses:?}");
}

/// Ends a node as those who run it do, and waits for its end.
fn leave(node: &mut Process) {
    node.signal("-TERM");
    assert!(node.child.wait().unwrap().success());
}

async fn write_and_read(pair: [Client; 2], number: usize, is_over: Arc<AtomicBool>) -> (Vec<String>, Statuses, Duration) {
    let (mut names, mut statuses, mut longest) = (Vec::new(), Statuses::new(), Duration::ZERO);
    while !is_over.load(Ordering::Relaxed) {
        let name = format!("n{number}-{}", names.len());
        let began = Instant::now();
        for attempt in 0.. {
            let asked = Instant::now();
            let heard = pair[attempt % 2].create(&name).await;
            longest = longest.max(asked.elapsed());
            let status = heard.as_ref().map_or(0, |heard| heard.status);
            *statuses.entry(status).or_default() += 1;
            if status == 201 {
                break;
            }
            assert!(heard.as_ref().is_none_or(super::Heard::is_passing), "{name}: {status} {}", heard.unwrap().body);
            assert!(began.elapsed() < PATIENCE, "{name} is not answered");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let path = format!("/api/v1/portal-manuals?search={name}");
        for attempt in 1.. {
            let heard = pair[attempt % 2].ask(Method::GET, &path, None, None).await;
            let status = heard.as_ref().map_or(0, |heard| heard.status);
            *statuses.entry(status).or_default() += 1;
            if status == 200 {
                let rows = heard.unwrap().body["data"].as_array().unwrap().clone();
                assert!(rows.iter().any(|row| row["nickname"] == json!(name)), "{name} is seen by the other node");
                break;
            }
            assert!(heard.is_none_or(|heard| heard.is_passing()) && began.elapsed() < 2 * PATIENCE, "{name}: {status}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        names.push(name);
    }
    (names, statuses, longest)
}
