//! Tests of reads from a replica. A caller always sees the caller's own writes, even if the replica
//! lags, does not respond, or is unavailable.

use std::time::{Duration, Instant};

use engine::access::Permission;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray as _;
use uuid::Uuid;

use test_support::middle_box::MiddleBox;
use test_support::node::Node;
use test_support::standby::Standby;
use test_support::{Api, new_id, postgres, reservation};

/// A primary and its replica, a proxy in front of the replica, a node that uses the primary and the
/// replica, an organization of the node, and a client with an API key of the organization.
struct ReplicaPair {
    standby: Standby,
    proxy: MiddleBox,
    node: Node,
    organization: Uuid,
    api: Api,
    key: Uuid,
}

impl ReplicaPair {
    async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    async fn start_with(flags: &[&str]) -> Option<Self> {
        let primary = tokio::task::spawn_blocking(postgres::fresh_cluster)
            .await
            .unwrap()?;
        let url = primary.clone();
        let standby = tokio::task::spawn_blocking(move || Standby::of(&url))
            .await
            .unwrap();
        let proxy = MiddleBox::in_front_of(&standby.database_url).await;
        let node = Node::start(
            &primary,
            &[&["--replica-url", &proxy.database_url], flags].concat(),
        );
        let (platform, organization) = (node.platform(), new_id());
        platform
            .ok(
                Method::PUT,
                &format!("/organizations/{organization}"),
                Some(json!({ "name": "O" })),
            )
            .await;
        let body = json!({ "name": "k", "permissions": Permission::VARIANTS });
        let key = platform
            .ok(
                Method::POST,
                &format!("/organizations/{organization}/api-keys"),
                Some(body),
            )
            .await;
        let (api, key) = (
            node.api(key["token"].as_str().unwrap()),
            key["id"].as_str().unwrap().parse().unwrap(),
        );
        Some(Self {
            standby,
            proxy,
            node,
            organization,
            api,
            key,
        })
    }

    /// Syncs a tag with this name.
    async fn tag(&self, name: &str) {
        self.record("tag", json!({ "name": name })).await;
    }

    async fn record(&self, kind: &str, data: Value) -> Uuid {
        let id = new_id();
        let records = json!({ "records": [{ "kind": kind, "id": id, "data": data }] });
        let synced = self
            .node
            .platform()
            .post(
                &format!("/organizations/{}/sync", self.organization),
                records,
            )
            .await
            .data();
        assert_eq!(synced["applied"], 1);
        id
    }

    async fn is_found(&self, name: &str) -> bool {
        let results = self.api.get(&format!("/search?query={name}")).await.data();
        results
            .as_array()
            .unwrap()
            .iter()
            .any(|results| results["name"] == name)
    }

    async fn is_listed(&self, name: &str) -> bool {
        self.api
            .get("/tags")
            .await
            .data()
            .as_array()
            .unwrap()
            .iter()
            .any(|tag| tag["name"] == name)
    }

    /// Searches for `name` until the replica has answered three more requests. Every search must
    /// find the name. Panics after 20 s.
    async fn until_replica_answers(&self, name: &str) {
        let (before, start) = (self.count("answered").await, Instant::now());
        while self.count("answered").await < before + 3 {
            assert!(self.is_found(name).await, "{name}");
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "it is not asked, or does not answer"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Returns how many reads had this outcome at the replica, for example `answered`, according to
    /// the metrics.
    async fn count(&self, outcome: &str) -> u64 {
        let (metrics, name) = (
            self.node.text("/metrics").await,
            format!("\nvestibule_replica_reads_total{{outcome=\"{outcome}\"}} "),
        );
        metrics
            .split_once(&name)
            .unwrap_or_else(|| panic!("{metrics}"))
            .1
            .lines()
            .next()
            .unwrap()
            .parse()
            .unwrap()
    }

    async fn until_caught_up(self) -> Self {
        tokio::task::spawn_blocking(move || {
            self.standby.until_caught_up();
            self
        })
        .await
        .unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_caller_always_sees_their_own_writes() {
    let Some(pair) = ReplicaPair::start().await else {
        return;
    };
    // The replica replays changes as fast as it can, so each read races with the replay.
    for number in 0..40 {
        let name = format!("Quick{number}");
        pair.tag(&name).await;
        assert!(
            pair.is_found(&name).await && pair.is_listed(&name).await,
            "{name}"
        );
    }
    let pair = pair.until_caught_up().await;
    // The organization has not changed since the replica caught up, so the node may read from the
    // replica.
    pair.until_replica_answers("Quick7").await;
    let log = pair.api.get("/audit-log").await.data();
    assert!(log.is_array());
    let stay = pair.record("reservation", reservation(None)).await;
    let pair = pair.until_caught_up().await;
    pair.until_replica_answers("Quick7").await;
    let began = Instant::now();
    loop {
        let answered = pair.count("answered").await;
        assert_eq!(
            pair.api.get(&format!("/reservations/{stay}")).await.data()["id"],
            stay.to_string()
        );
        if pair.count("answered").await == answered + 1 {
            break;
        }
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "single records are read there as well"
        );
    }

    // The replica's replay is paused, so the node does not read from the replica.
    let pair = tokio::task::spawn_blocking(move || {
        pair.standby.pause();
        pair
    })
    .await
    .unwrap();
    let remaining = async || pair.count("behind").await + pair.count("unavailable").await;
    let before = (pair.count("answered").await, remaining().await);
    for number in 0..10 {
        let name = format!("Paused{number}");
        pair.tag(&name).await;
        assert!(
            pair.is_found(&name).await && pair.is_listed(&name).await,
            "{name}"
        );
    }
    // After a change of the configuration the replica is outdated, just as after a change of a
    // record.
    let manual = pair
        .api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Standstill", "title": "Wi-Fi" }),
        )
        .await
        .data();
    assert!(pair.is_found("Standstill").await, "{manual}");
    assert_eq!(pair.count("answered").await, before.0);
    assert!(remaining().await >= before.1 + 11);
    // Authentication never reads from a replica. A deleted key is invalid even while the replica
    // still has its row.
    let gone = format!("/organizations/{}/api-keys/{}", pair.organization, pair.key);
    let deleted = pair.node.platform().send(Method::DELETE, &gone, None).await;
    assert!((200..300).contains(&deleted.status), "{}", deleted.body);
    assert_eq!(pair.api.get("/search?query=Quick7").await.status, 401);
    assert_eq!(pair.api.get("/tags").await.status, 401);

    let body = json!({ "name": "k", "permissions": Permission::VARIANTS });
    let key = pair
        .node
        .platform()
        .ok(
            Method::POST,
            &format!("/organizations/{}/api-keys", pair.organization),
            Some(body),
        )
        .await;
    let pair = ReplicaPair {
        api: pair.node.api(key["token"].as_str().unwrap()),
        ..pair
    };
    pair.resume_standby();
    let pair = pair.until_caught_up().await;
    pair.until_replica_answers("Paused9").await;
}

impl ReplicaPair {
    fn resume_standby(&self) {
        std::thread::scope(|scope| scope.spawn(|| self.standby.resume()).join().unwrap());
    }
}

/// The replica falls silent, becomes unavailable, and returns. The responses are always correct,
/// and no request waits long for the replica.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_silent_replica_is_bypassed() {
    let Some(pair) = ReplicaPair::start().await else {
        return;
    };
    pair.tag("Steady").await;
    let pair = pair.until_caught_up().await;
    pair.until_replica_answers("Steady").await;
    let before = pair.count("answered").await;
    pair.proxy.close();
    let mut longest = Duration::ZERO;
    for _ in 0..30 {
        let asked = Instant::now();
        assert!(pair.is_found("Steady").await);
        longest = longest.max(asked.elapsed());
    }
    assert!(longest < Duration::from_secs(3), "{longest:?}");
    assert!(pair.count("unavailable").await >= 30);
    assert_eq!(pair.count("answered").await, before);
    pair.proxy.open();
    pair.until_replica_answers("Steady").await;
}

/// The node stops using a replica that responds too slowly. Even before the node stops using it, no
/// request waits until the only connection to the replica is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_slow_replica_is_bypassed() {
    let Some(pair) = ReplicaPair::start_with(&["--database-connections", "2"]).await else {
        return;
    };
    pair.tag("Steady").await;
    let pair = pair.until_caught_up().await;
    pair.until_replica_answers("Steady").await;
    pair.proxy.delay(Duration::from_millis(350));
    let ask = async |_| {
        let start = Instant::now();
        assert!(pair.is_found("Steady").await);
        start.elapsed()
    };
    let mut rounds = 0;
    while join_all((0..4).map(ask)).await.into_iter().min() > Some(Duration::from_millis(400)) {
        rounds += 1;
        assert!(rounds < 5, "who has no turn at it does not wait for one");
    }
    let start = Instant::now();
    for _ in 0..10 {
        assert!(pair.is_found("Steady").await);
    }
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(pair.node.logged("a replica does not answer"), 1);
    pair.proxy.delay(Duration::ZERO);
    pair.until_replica_answers("Steady").await;
}

/// The node starts although its replica is unavailable.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_starts_without_its_replica() {
    let Some(url) = tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()
    else {
        return;
    };
    let node = Node::start(
        &url,
        &[
            "--replica-url",
            "postgres://vestibule@127.0.0.1:9/vestibule",
        ],
    );
    let api = node.api(&node.key().await);
    for _ in 0..3 {
        assert_eq!(
            api.get("/search?query=anything").await.data(),
            Value::Array(Vec::new())
        );
    }
    assert_eq!(node.logged("a replica does not answer"), 1);
}
