//! Tests that two nodes on one PostgreSQL are as consistent as a single node. Other files test two
//! nodes as well: `process.rs` tests portal names and idempotency keys, `redis.rs` rate limits, and
//! `crash.rs` webhook deliveries.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Client, Process, fresh_postgres};

/// Starts two nodes on one PostgreSQL, each with a client. Both clients use the same API key.
/// Returns `None` on a machine without PostgreSQL.
async fn two_nodes() -> Option<([Process; 2], [Client; 2])> {
    let database_url = fresh_postgres().await?;
    let nodes = [Process::start(&database_url), Process::start(&database_url)];
    let one = Client::of(&nodes[0]).await;
    let two = Client {
        base: Arc::new(Mutex::new(nodes[1].base.clone())),
        ..one.clone()
    };
    Some((nodes, [one, two]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_nodes_enforce_the_limit_of_100_subscriptions() {
    let Some((nodes, clients)) = two_nodes().await else {
        return;
    };
    let subscribing = (0..130).map(|number| {
        let client = &clients[number % 2];
        let body = json!({
            "event": "task.created",
            "targetUrl": format!("https://hooks.invalid/{number}"),
        });
        async move {
            client
                .ask(
                    Method::POST,
                    "/api/v1/webhook-subscriptions",
                    None,
                    Some(body),
                )
                .await
                .unwrap()
                .status
        }
    });
    let statuses = join_all(subscribing).await;
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(201), count(409)), (100, 30), "{statuses:?}");
    for client in &clients {
        let listed = client.get("/api/v1/webhook-subscriptions").await.unwrap();
        assert_eq!(listed.body["data"].as_array().unwrap().len(), 100);
    }
    for node in &nodes {
        node.assert_sound();
    }
}

/// For each idempotency key, sends four requests to each node at the same time. The nodes apply
/// only one of these requests. Every 201 contains the same manual.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_idempotency_key_is_applied_once_across_two_nodes() {
    let Some((nodes, clients)) = two_nodes().await else {
        return;
    };
    for round in 0..8 {
        let name = |number: usize| format!("raced {round} {}", number / 8);
        let sent = (0..64).map(|number| {
            let (client, name) = (&clients[number % 2], name(number));
            async move { client.create(&name).await.unwrap() }
        });
        let mut ids: HashMap<String, Value> = HashMap::new();
        for (number, received) in join_all(sent).await.into_iter().enumerate() {
            assert!(
                received.status == 201 || received.is_retryable(),
                "{} {}",
                received.status,
                received.body
            );
            if received.status == 201 {
                let id = received.body["data"]["id"].clone();
                assert_eq!(*ids.entry(name(number)).or_insert_with(|| id.clone()), id);
            }
        }
        assert_eq!(ids.len(), 8, "each was applied");
    }
    for client in &clients {
        assert_eq!(client.manuals().await.len(), 64);
    }
    for node in &nodes {
        node.assert_sound();
    }
}

/// Both nodes change the default portal at the same time. After each write exactly one portal is
/// the default.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_nodes_have_exactly_one_default_portal_at_any_time() {
    let Some((nodes, clients)) = two_nodes().await else {
        return;
    };
    let mut ids = Vec::new();
    for number in 0..6 {
        let body = json!({ "name": format!("Portal {number}"), "isDefault": true });
        let created = clients[number % 2]
            .ask(Method::POST, "/api/v1/portals", None, Some(body))
            .await
            .unwrap();
        ids.push(created.body["data"]["id"].as_str().unwrap().to_owned());
    }
    let moving = (0..48).map(|number| {
        let (client, path) = (
            &clients[number % 2],
            format!("/api/v1/portals/{}", ids[number % ids.len()]),
        );
        async move {
            client
                .ask(
                    Method::PATCH,
                    &path,
                    None,
                    Some(json!({ "data": { "isDefault": true } })),
                )
                .await
                .unwrap()
                .status
        }
    });
    let looking = (0..48).map(|number| {
        let client = &clients[number % 2];
        async move {
            let listed = client.get("/api/v1/portals").await.unwrap();
            listed.body["data"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|row| row["isDefault"] == true)
                .count()
        }
    });
    let (statuses, defaults) = tokio::join!(join_all(moving), join_all(looking));
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    assert!(defaults.iter().all(|count| *count == 1), "{defaults:?}");
    for node in &nodes {
        node.assert_sound();
    }
}
