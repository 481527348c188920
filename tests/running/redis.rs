//! Tests of rate limits that several nodes share in Redis, and of these limits while Redis is
//! unavailable (rules: limits#rate-limits).

use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use engine::access::{Credential, Owner};
use engine::clock::Clock;
use engine::pipeline::RateLimits;
use futures_util::future::join_all;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use test_support::node::Node;
use test_support::redis::Redis;
use test_support::server_process::{output_of, serve};
use test_support::waiting::wait_until;
use test_support::{ApiResponse, new_id, postgres};

const DOWN: &str = "Redis does not answer";
const BACK: &str = "Redis answers again";
const FALLBACKS: &str = "vestibule_rate_limit_fallback_total";

/// Starts two nodes that share one database and one Redis.
async fn two_nodes(redis: &Redis, per_minute: u32) -> Option<[Node; 2]> {
    let database = tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()?;
    let (url, limit) = (redis.url(), per_minute.to_string());
    let start = || {
        Node::start(
            &database,
            &["--redis-url", &url, "--rate-limit-per-minute", &limit],
        )
    };
    Some([start(), start()])
}

async fn get(node: &Node, token: &str) -> ApiResponse {
    node.api(token).get("/portals").await
}

/// Returns the number of requests that a node counted for the rate limit without Redis, according
/// to the node's metrics.
async fn fallbacks(node: &Node) -> u64 {
    let metrics = node.text("/metrics").await;
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(FALLBACKS))
        .unwrap_or_else(|| panic!("{metrics}"));
    line.trim().parse().unwrap()
}

/// Sends three times as many requests as the limit allows, to both nodes at once. Checks that both
/// nodes together accept exactly the allowed number.
async fn assert_shared_exactly(nodes: &[Node; 2], limit: u32) {
    // On a busy machine Redis may respond too late. The node then counts without Redis and the
    // round proves nothing, so the test repeats the round.
    for _ in 0..10 {
        let token = nodes[0].key().await;
        let before = fallbacks(&nodes[0]).await + fallbacks(&nodes[1]).await;
        let answers =
            join_all((0..3 * limit as usize).map(|number| get(&nodes[number % 2], &token))).await;
        if fallbacks(&nodes[0]).await + fallbacks(&nodes[1]).await > before {
            tokio::time::sleep(Duration::from_secs(2)).await;
            continue;
        }
        let (accepted, refused): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 200);
        let mut remaining: Vec<u32> = accepted
            .iter()
            .map(|answer| {
                answer
                    .header("x-ratelimit-remaining")
                    .unwrap()
                    .parse()
                    .unwrap()
            })
            .collect();
        remaining.sort_unstable();
        assert_eq!(
            remaining,
            (0..limit).collect::<Vec<_>>(),
            "each place is given once"
        );
        for answer in refused {
            answer.error(429);
            assert_eq!(answer.header("x-ratelimit-remaining"), Some("0"));
            let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=60).contains(&wait), "{wait}");
        }
        return;
    }
    panic!("Redis was too slow ten times over");
}

#[test]
fn the_redis_script_agrees_with_the_local_rate_limit() {
    let Some(redis) = Redis::start() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let step = prop_oneof![
        4 => 0..5_000_000_u64,
        1 => Just(0),
        1 => Just(1_000_000),
        1 => Just(60_000_000),
    ];
    let sequence = (prop::collection::vec(step, 1..150), 0..20_u32, 0..5_u32);
    let mut runner = TestRunner::new(Config {
        cases: 64,
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(&sequence, |(steps, per_minute, per_second)| {
        prop_assume!(per_minute + per_second > 0);
        let alone = RateLimits::new(per_minute, per_second);
        let shared = RateLimits::new(per_minute, per_second)
            .shared_in(&redis.url())
            .unwrap();
        let (credential, clock) = (
            Owner {
                organization: new_id(),
                credential: Credential::ApiKey(new_id()),
            },
            Clock::manual("2026-11-21T09:30:00Z".parse().unwrap()),
        );
        runtime.block_on(async {
            let running = CancellationToken::new().drop_guard();
            let log = shared.shared_log().unwrap();
            let attempt = log.next_attempt();
            tokio::spawn(log.keep(running.token().clone()));
            attempt.await;
            for microseconds in steps {
                clock.advance(Duration::from_micros(microseconds));
                let expected = alone.take(credential, clock.elapsed(), clock.now());
                let judged = shared.take_shared(credential, &clock, clock.now()).await;
                // On a busy machine Redis may respond too late. This test then skips the case,
                // because another test covers slow responses.
                prop_assert_eq!(
                    judged.ok_or_else(|| TestCaseError::reject("Redis was too slow"))?,
                    expected.unwrap()
                );
            }
            Ok(())
        })
    });
    outcome.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_share_a_rate_limit_exactly() {
    let Some(redis) = Redis::start() else { return };
    let Some(nodes) = two_nodes(&redis, 20).await else {
        return;
    };
    assert_shared_exactly(&nodes, 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_each_node_counts_requests_locally() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    let Some(nodes) = two_nodes(&redis, 5).await else {
        return;
    };
    let token = nodes[0].key().await;
    for _ in 0..5 {
        get(&nodes[0], &token).await.data();
    }
    redis.kill();
    // The count of the first node includes the requests that it accepted while Redis was available.
    // The second node begins to count at zero.
    for (node, expected) in nodes.iter().zip([[429; 6], [200, 200, 200, 200, 200, 429]]) {
        let mut statuses = Vec::new();
        for _ in 0..6 {
            statuses.push(get(node, &token).await.status);
        }
        assert_eq!(statuses, expected);
        assert!(fallbacks(node).await >= 6);
    }
    for node in &nodes {
        wait_until("the node logs the loss", async || {
            node.logged(DOWN) == node.logged(BACK) + 1
        })
        .await;
    }
    redis.restart();
    for node in &nodes {
        wait_until("the node logs the return", async || {
            node.logged(DOWN) == node.logged(BACK)
        })
        .await;
    }
    assert_shared_exactly(&nodes, 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unresponsive_redis_does_not_fail_or_block_requests() {
    let Some(redis) = Redis::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", directory.path().join("frozen.db").display());
    let node = Node::start(
        &database,
        &[
            "--redis-url",
            &redis.url(),
            "--rate-limit-per-minute",
            "1000",
        ],
    );
    let token = node.key().await;
    get(&node, &token).await.data();
    redis.signal("-STOP");
    let mut waited = 0;
    for _ in 0..200 {
        let asked = Instant::now();
        get(&node, &token).await.data();
        waited += usize::from(asked.elapsed() >= Duration::from_millis(50));
    }
    // A request waits for Redis at most until the deadline, and then marks the connection as lost.
    // Until Redis answers again, the node counts requests in its own memory, without a wait for
    // Redis.
    assert!(waited < 100, "{waited} of 200 waited");
    assert!(fallbacks(&node).await >= 200);
    redis.signal("-CONT");
    wait_until("the node logs the return", async || {
        node.logged(BACK) > 0 && node.logged(DOWN) == node.logged(BACK)
    })
    .await;
    assert_eq!(
        get(&node, &token).await.header("x-ratelimit-limit"),
        Some("1000")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_starts_without_redis() {
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", directory.path().join("alone.db").display());
    let node = Node::start(
        &database,
        &[
            "--redis-url",
            "redis://127.0.0.1:1",
            "--rate-limit-per-minute",
            "2",
        ],
    );
    let token = node.key().await;
    for status in [200, 200, 429] {
        assert_eq!(get(&node, &token).await.status, status);
    }
    assert_eq!(
        (node.logged(DOWN), node.logged(BACK), fallbacks(&node).await),
        (1, 0, 3)
    );
}

#[test]
fn an_invalid_redis_url_is_reported_without_its_password() {
    for url in [
        "http://:secret@127.0.0.1",
        "rediss://:secret@127.0.0.1/#insecure",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", directory.path().join("never.db").display());
        let output = output_of(&mut serve(&database, &["--redis-url", url]));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(
            message.contains("--redis-url") && !message.contains("secret"),
            "{message}"
        );
    }
}
