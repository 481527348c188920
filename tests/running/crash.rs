//! Tests of webhook deliveries when processes are killed: no acknowledged event is lost, and no
//! failure is counted twice (rules: webhooks#deliveries).

use engine::access::Permission;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use strum::VariantArray;

use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use uuid::Uuid;

use test_support::authority::{Presents, TestAuthority};
use test_support::node::Node;
use test_support::raw_receiver::{Act, RawReceiver};
use test_support::waiting::{WAIT_LIMIT, wait_until};
use test_support::{PLATFORM_KEY, new_id, postgres, reservation};

/// Value of `--webhook-timeout`. A delivery's lease ends five seconds after this timeout, even if
/// the node that claimed the delivery was killed.
const WEBHOOK_TIMEOUT: &str = "2s";
/// Maximum number of deliveries that a node sends to one receiver at the same time. After a kill,
/// at most this number of deliveries arrive twice.
const MAX_CONCURRENT_DELIVERIES: usize = 16;
const ALL_ATTEMPTS: usize = 5;

/// Starts a server that trusts the webhook receivers that have a certificate of this authority.
fn start(database_url: &str, authority: &TestAuthority) -> Node {
    let [allow, ca] = authority.flags();
    let flags = [
        "--webhook-timeout",
        WEBHOOK_TIMEOUT,
        "--webhook-retry-base=50ms",
        &allow,
        &ca,
    ];
    Node::start(database_url, &flags)
}

/// An organization with its API key. Its requests can go to any node.
#[derive(Clone)]
struct OrganizationClient {
    http: Client,
    organization: Uuid,
    token: String,
    property: Uuid,
}

impl OrganizationClient {
    /// Creates an organization with a property and a subscription for the receiver.
    async fn new(node: &Node, receiver: &RawReceiver) -> Self {
        let http = Client::builder().timeout(WAIT_LIMIT).build().unwrap();
        let (organization, property) = (new_id(), new_id());
        let mut client = Self {
            http,
            organization,
            token: String::new(),
            property,
        };
        let path = format!("/platform/v1/organizations/{organization}");
        client
            .call(node, "PUT", &path, PLATFORM_KEY, json!({ "name": "O" }))
            .await
            .unwrap();
        let body = json!({ "name": "k", "permissions": Permission::VARIANTS });
        let key = client
            .call(
                node,
                "POST",
                &format!("{path}/api-keys"),
                PLATFORM_KEY,
                body,
            )
            .await
            .unwrap();
        client.token = key["token"].as_str().unwrap().to_owned();
        let flat = json!({
            "name": "Flat",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "checkInTime": "15:00",
            "checkOutTime": "11:00",
            "propertyGroupId": null,
            "tagIds": [],
        });
        let records = json!({ "records": [{ "kind": "property", "id": property, "data": flat }] });
        client
            .call(node, "POST", &format!("{path}/sync"), PLATFORM_KEY, records)
            .await
            .unwrap();
        let subscription = json!({ "event": "reservation.created", "targetUrl": receiver.url });
        client
            .call(
                node,
                "POST",
                "/api/v1/webhook-subscriptions",
                &client.token,
                subscription,
            )
            .await
            .unwrap();
        client
    }

    /// Returns the `data` of a response; `None` if the node was killed before it responded.
    async fn call(
        &self,
        node: &Node,
        method: &str,
        path: &str,
        token: &str,
        body: Value,
    ) -> Option<Value> {
        self.call_at(&node.base, method, path, token, body).await
    }

    async fn call_at(
        &self,
        base: &str,
        method: &str,
        path: &str,
        token: &str,
        body: Value,
    ) -> Option<Value> {
        let request = self
            .http
            .request(method.parse().unwrap(), format!("{base}{path}"))
            .bearer_auth(token)
            .json(&body);
        let response = request.send().await.ok()?;
        let status = response.status();
        let answer: Value = response.json().await.ok()?;
        assert!(status.is_success(), "{method} {path}: {answer}");
        Some(answer["data"].clone())
    }

    /// Syncs new reservations. Each of them fires an event. Returns their ids if the node
    /// acknowledged the sync.
    async fn reservations(&self, base: &str, count: usize) -> Option<Vec<Uuid>> {
        let ids: Vec<Uuid> = (0..count).map(|_| new_id()).collect();
        let far_off = |id: &Uuid| {
            json!({
                "kind": "reservation",
                "id": id,
                "data": stay_far_off(self.property),
            })
        };
        let records: Vec<Value> = ids.iter().map(far_off).collect();
        let path = format!("/platform/v1/organizations/{}/sync", self.organization);
        self.call_at(
            base,
            "POST",
            &path,
            PLATFORM_KEY,
            json!({ "records": records }),
        )
        .await
        .map(|_| ids)
    }

    async fn subscription(&self, node: &Node) -> Value {
        self.call(
            node,
            "GET",
            "/api/v1/webhook-subscriptions",
            &self.token,
            json!({}),
        )
        .await
        .unwrap()[0]
            .clone()
    }
}

/// Returns a reservation in the distant future, because the servers of these tests use the
/// machine's clock instead of a test clock.
fn stay_far_off(property: Uuid) -> Value {
    let mut stay = reservation(Some(property));
    stay["checkIn"] = json!("2999-12-11");
    stay["checkOut"] = json!("2999-12-15");
    stay
}

/// Clients that sync one reservation at a time through several servers, until the test stops them.
struct SyncLoad {
    /// The ids of reservations whose sync was acknowledged.
    acknowledged: Arc<Mutex<Vec<Uuid>>>,
    stop: Arc<AtomicBool>,
    senders: JoinSet<()>,
}

impl SyncLoad {
    fn start(client: &OrganizationClient, bases: &[&str]) -> Self {
        let mut load = Self {
            acknowledged: Arc::default(),
            stop: Arc::default(),
            senders: JoinSet::new(),
        };
        for base in bases.iter().flat_map(|base| std::iter::repeat_n(*base, 4)) {
            let (client, base) = (client.clone(), base.to_owned());
            let (acknowledged, stop) = (load.acknowledged.clone(), load.stop.clone());
            load.senders.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    // The node was killed, so this client stops.
                    let Some(ids) = client.reservations(&base, 1).await else {
                        return;
                    };
                    acknowledged.lock().unwrap().extend(ids);
                }
            });
        }
        load
    }

    /// Returns the number of reservations acknowledged so far.
    fn count(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }

    /// Stops the clients. Returns the ids of all acknowledged reservations.
    async fn end(mut self) -> Vec<Uuid> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.senders.join_next().await {
            ended.unwrap();
        }
        self.acknowledged.lock().unwrap().clone()
    }
}

/// Waits until the receiver has got an event about each of these records. A node finds the
/// deliveries of a killed node only when it searches for due deliveries. New events start such a
/// search, so this function syncs a reservation from time to time.
async fn all_arrive(
    client: &OrganizationClient,
    node: &Node,
    receiver: &RawReceiver,
    acknowledged: &[Uuid],
) {
    let mut looks = 0_u32;
    wait_until("every acknowledged event arrives", async || {
        looks += 1;
        if looks.is_multiple_of(25) {
            client
                .reservations(&node.base, 1)
                .await
                .expect("this node is up");
        }
        let reported = receiver.seen.records();
        acknowledged
            .iter()
            .all(|id| reported.contains_key(&id.to_string()))
    })
    .await;
}

/// Returns a delay that differs from run to run. Prints the delay, so that a failure can be
/// repeated.
fn random_delay(round: u64) -> Duration {
    let noise = u64::from(std::process::id())
        .wrapping_mul(0x9e37_79b9)
        .wrapping_add(round.wrapping_mul(7_919))
        % 61;
    let time = Duration::from_millis(20 + noise);
    eprintln!("round {round}: the kill comes after {time:?}");
    time
}

async fn databases(directory: &std::path::Path) -> Vec<String> {
    let sqlite = format!("sqlite:{}", directory.join("crash.db").display());
    std::iter::once(sqlite)
        .chain(
            tokio::task::spawn_blocking(postgres::fresh_database)
                .await
                .unwrap(),
        )
        .collect()
}

fn ok() -> Act {
    Act::Say("HTTP/1.1 204 No Content\r\n\r\n".to_owned())
}

fn repeated(attempts: &HashMap<String, usize>) -> usize {
    attempts.values().filter(|count| **count > 1).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_events_arrive_despite_repeated_kills() {
    const KILLS: u64 = 4;
    test_support::choose_tls_provider();
    let authority = TestAuthority::create();
    let directory = tempfile::tempdir().unwrap();
    for url in databases(directory.path()).await {
        let receiver = authority.receiver(Presents::Right, ok()).await;
        let mut node = start(&url, &authority);
        let client = OrganizationClient::new(&node, &receiver).await;
        let mut acknowledged = Vec::new();
        for round in 0..KILLS {
            let load = SyncLoad::start(&client, &[&node.base]);
            wait_until("the load gets going", async || load.count() > 0).await;
            tokio::time::sleep(random_delay(round)).await;
            node.kill();
            acknowledged.extend(load.end().await);
            node = start(&url, &authority);
        }
        all_arrive(&client, &node, &receiver, &acknowledged).await;
        let attempts = receiver.seen.attempts();
        let kills = usize::try_from(KILLS).unwrap();
        assert!(
            repeated(&attempts) <= kills * MAX_CONCURRENT_DELIVERIES,
            "{} of {} arrived again",
            repeated(&attempts),
            attempts.len()
        );
        wait_until("an event has one delivery id", async || {
            receiver.seen.records().len() == receiver.seen.attempts().len()
        })
        .await;
        let subscription = client.subscription(&node).await;
        assert_eq!(
            (
                &subscription["consecutiveFailures"],
                &subscription["disabledAt"]
            ),
            (&json!(0), &Value::Null)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_counted_once_despite_kills() {
    const EVENTS: usize = 24;
    test_support::choose_tls_provider();
    let authority = TestAuthority::create();
    let directory = tempfile::tempdir().unwrap();
    for url in databases(directory.path()).await {
        // On PostgreSQL a delivery of a killed node waits until its lease has ended. Each kill
        // therefore makes the test seconds longer, and the test kills the node only once. SQLite
        // has no leases.
        let kills = if url.starts_with("sqlite:") { 4 } else { 1 };
        let receiver = authority
            .receiver(
                Presents::Right,
                Act::Say("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n".to_owned()),
            )
            .await;
        let mut node = start(&url, &authority);
        let client = OrganizationClient::new(&node, &receiver).await;
        client.reservations(&node.base, EVENTS).await.unwrap();
        for round in 0..kills {
            tokio::time::sleep(random_delay(round)).await;
            node.kill();
            node = start(&url, &authority);
        }
        let subscription = async || client.subscription(&node).await["consecutiveFailures"].clone();
        let quiet = authority.receiver(Presents::Right, ok()).await;
        let other = OrganizationClient::new(&node, &quiet).await;
        wait_until("every delivery has failed", async || {
            // Events of another organization make the node search for due deliveries. The search
            // also finds the deliveries of a killed node.
            other.reservations(&node.base, 1).await.unwrap();
            subscription().await == json!(EVENTS)
        })
        .await;
        let attempts = receiver.seen.attempts();
        assert_eq!(attempts.len(), EVENTS);
        let max_attempts = ALL_ATTEMPTS + usize::try_from(kills).unwrap();
        assert!(
            attempts
                .values()
                .all(|count| (ALL_ATTEMPTS..=max_attempts).contains(count)),
            "{attempts:?}"
        );
        // Deliveries are sent in the order of their events. When this last delivery has arrived, no
        // earlier delivery is still pending.
        let last = other.reservations(&node.base, 1).await.unwrap();
        all_arrive(&other, &node, &quiet, &last).await;
        let sum: usize = attempts.values().sum();
        assert_eq!(
            (subscription().await, receiver.seen.count()),
            (json!(EVENTS), sum)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_continue_when_a_node_of_two_is_killed() {
    test_support::choose_tls_provider();
    let Some(url) = tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()
    else {
        return;
    };
    let authority = TestAuthority::create();
    let receiver = authority.receiver(Presents::Right, ok()).await;
    let (mut one, two) = (start(&url, &authority), start(&url, &authority));
    let client = OrganizationClient::new(&one, &receiver).await;

    // Although both nodes look for deliveries, the receiver gets each delivery once.
    let load = SyncLoad::start(&client, &[&one.base, &two.base]);
    wait_until("the load gets going", async || load.count() >= 100).await;
    let acknowledged = load.end().await;
    all_arrive(&client, &two, &receiver, &acknowledged).await;
    let attempts = receiver.seen.attempts();
    assert_eq!(repeated(&attempts), 0, "of {}", attempts.len());

    let load = SyncLoad::start(&client, &[&one.base, &two.base]);
    wait_until("the load gets going again", async || load.count() >= 20).await;
    tokio::time::sleep(random_delay(0)).await;
    one.kill();
    let acknowledged = load.end().await;
    all_arrive(&client, &two, &receiver, &acknowledged).await;
    let attempts = receiver.seen.attempts();
    assert!(
        repeated(&attempts) <= MAX_CONCURRENT_DELIVERIES,
        "{} of {} arrived again",
        repeated(&attempts),
        attempts.len()
    );
    assert!(attempts.values().all(|count| *count <= 2), "{attempts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_is_sent_after_its_pause_without_other_activity() {
    test_support::choose_tls_provider();
    let authority = TestAuthority::create();
    let directory = tempfile::tempdir().unwrap();
    for url in databases(directory.path()).await {
        let receiver = authority
            .receiver(
                Presents::Right,
                Act::Say("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n".to_owned()),
            )
            .await;
        let node = start(&url, &authority);
        let client = OrganizationClient::new(&node, &receiver).await;
        // The four pauses between the attempts of a delivery are at most 50, 100, 200 and 400 ms. A
        // dispatcher that looked for retries at fixed intervals would take a second for each.
        let mut shortest = Duration::MAX;
        for round in 1..=3 {
            let start = std::time::Instant::now();
            client.reservations(&node.base, 1).await.unwrap();
            wait_until("five attempts are made", async || {
                receiver.seen.count() == round * ALL_ATTEMPTS
            })
            .await;
            shortest = shortest.min(start.elapsed());
        }
        assert!(shortest < Duration::from_secs(3), "{shortest:?}");
    }
}
