//! Tests of failover from a primary to its standby while two nodes write, with two PostgreSQL
//! servers, Patroni and etcd. The primary is demoted, killed, frozen, or lost with its machine. No
//! acknowledged write is lost, no write is applied twice, and no node is restarted.
//! `VESTIBULE_FAILOVER_ROUNDS` sets the number of rounds of the long run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use test_support::patroni::PatroniPair;
use tokio::task::JoinSet;

use super::{Client, Process, number};

/// Maximum time without an acknowledged write.
const MAX_WRITE_GAP: Duration = Duration::from_secs(10);
/// Time limit of a response: the guaranteed five seconds, and half a second for a busy machine.
const RESPONSE_LIMIT: Duration = Duration::from_millis(5_500);
/// Duration of the load before and after a failover.
const LOAD_DURATION: Duration = Duration::from_secs(2);
const CLIENTS_A_NODE: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakeoverEnd {
    /// The two servers exchange their roles on request.
    SwitchOver,
    /// `kill -9` kills PostgreSQL. Patroni on the same machine notices it.
    Killed,
    /// All processes of the machine stop without closing their connections. They continue after the
    /// standby has taken over.
    Frozen,
    /// The machine is lost: `kill -9` ends all its processes. They start again after the standby
    /// has taken over.
    Lost,
}

/// Clients that write continuously. A client repeats each write with the same idempotency key until
/// it succeeds.
struct RepeatedWriteLoad {
    is_over: Arc<AtomicBool>,
    writers: JoinSet<Vec<String>>,
    acknowledged: Arc<Mutex<Vec<Instant>>>,
}

impl RepeatedWriteLoad {
    fn start(clients: &[Client]) -> Self {
        let mut load = Self {
            is_over: Arc::default(),
            writers: JoinSet::new(),
            acknowledged: Arc::default(),
        };
        for writer in 0..clients.len() * CLIENTS_A_NODE {
            let client = clients[writer % clients.len()].clone();
            load.writers.spawn(write_repeatedly(
                client,
                writer,
                load.is_over.clone(),
                load.acknowledged.clone(),
            ));
        }
        load
    }

    /// Returns the longest time without an acknowledged write between `since` and now.
    fn longest_gap(&self, since: Instant) -> Duration {
        let acknowledged = self.acknowledged.lock().unwrap();
        let moments = [since]
            .into_iter()
            .chain(acknowledged.iter().copied().filter(|time| *time > since))
            .chain([Instant::now()]);
        let moments: Vec<Instant> = moments.collect();
        moments
            .windows(2)
            .map(|pair| pair[1].saturating_duration_since(pair[0]))
            .max()
            .unwrap()
    }

    async fn end(self) -> Vec<String> {
        self.is_over.store(true, Ordering::Relaxed);
        self.writers.join_all().await.concat()
    }
}

async fn write_repeatedly(
    client: Client,
    writer: usize,
    is_over: Arc<AtomicBool>,
    acknowledged: Arc<Mutex<Vec<Instant>>>,
) -> Vec<String> {
    let mut written = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let (name, sent_first) = (format!("s{writer}-{}", written.len()), Instant::now());
        loop {
            let sent = Instant::now();
            let received = client.create(&name).await.expect("an answer in any case");
            assert!(
                sent.elapsed() < RESPONSE_LIMIT,
                "{name}: {} after {:?}",
                received.status,
                sent.elapsed()
            );
            if received.status == 201 {
                break;
            }
            assert!(
                received.is_retryable(),
                "{name}: {} {}",
                received.status,
                received.body
            );
            assert!(
                sent_first.elapsed() < 6 * MAX_WRITE_GAP,
                "{name} is not answered"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        acknowledged.lock().unwrap().push(Instant::now());
        written.push(name);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    written
}

/// Ends the primary in the way that `end` names. Waits until the pair has a primary and a standby
/// again.
async fn end_primary(end: TakeoverEnd, pair: &mut PatroniPair) {
    let primary = pair.until_synchronous().await;
    match end {
        TakeoverEnd::SwitchOver => pair.switch_over(primary).await,
        TakeoverEnd::Killed => pair.kill_server(primary),
        TakeoverEnd::Frozen => {
            let frozen = pair.freeze(primary);
            pair.until_replaced(primary).await;
            tokio::time::sleep(LOAD_DURATION).await;
            frozen.resume();
        }
        TakeoverEnd::Lost => {
            pair.lose_machine(primary);
            pair.until_replaced(primary).await;
            tokio::time::sleep(LOAD_DURATION).await;
            pair.bring_back(primary);
        }
    }
    pair.until_replaced(primary).await;
    assert_eq!(pair.until_synchronous().await, 1 - primary, "{end:?}");
}

async fn assert_failures_survived(ends: &[TakeoverEnd]) {
    let Some(mut pair) = PatroniPair::start().await else {
        return;
    };
    let nodes = [
        Process::start(&pair.database_url),
        Process::start(&pair.database_url),
    ];
    let one = Client::of(&nodes[0]).await;
    let two = Client {
        base: Arc::new(Mutex::new(nodes[1].base.clone())),
        ..one.clone()
    };
    let load = RepeatedWriteLoad::start(&[one.clone(), two.clone()]);
    let mut gaps = Vec::new();
    for end in ends {
        tokio::time::sleep(LOAD_DURATION).await;
        let before = Instant::now();
        end_primary(*end, &mut pair).await;
        tokio::time::sleep(LOAD_DURATION).await;
        let gap = load.longest_gap(before);
        eprintln!("{end:?}: {gap:.1?} without an acknowledged write");
        gaps.push((*end, gap));
    }
    let acknowledged = load.end().await;
    let mut lost_or_doubled = Vec::new();
    for client in [&one, &two] {
        let listed = client.get("/api/v1/portal-manuals").await.unwrap();
        let mut results: HashMap<String, usize> = HashMap::new();
        for row in listed.body["data"].as_array().unwrap() {
            *results
                .entry(row["nickname"].as_str().unwrap().to_owned())
                .or_default() += 1;
        }
        let lost = acknowledged
            .iter()
            .filter(|name| !results.contains_key(*name))
            .count();
        let doubled = results.values().filter(|count| **count > 1).count();
        lost_or_doubled.push((lost, doubled));
    }
    let longest = gaps.iter().map(|(_, gap)| *gap).max().unwrap();
    eprintln!(
        "{} ends of a primary, {} writes acknowledged: at most {longest:.1?} without one, {} lost, \
            {} doubled",
        ends.len(),
        acknowledged.len(),
        lost_or_doubled[0].0,
        lost_or_doubled[0].1,
    );
    assert_eq!(lost_or_doubled, [(0, 0); 2]);
    assert!(longest <= MAX_WRITE_GAP, "{gaps:?}");
    for node in &nodes {
        node.assert_sound();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn failover_to_a_standby_loses_no_acknowledged_writes() {
    assert_failures_survived(&[TakeoverEnd::SwitchOver, TakeoverEnd::Killed]).await;
}

#[ignore = "takes minutes; `just failover` runs it"]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_kind_of_primary_failure_is_survived() {
    let rounds = number("VESTIBULE_FAILOVER_ROUNDS", 3);
    assert_failures_survived(
        &[
            TakeoverEnd::SwitchOver,
            TakeoverEnd::Killed,
            TakeoverEnd::Frozen,
            TakeoverEnd::Lost,
        ]
        .repeat(rounds),
    )
    .await;
}
