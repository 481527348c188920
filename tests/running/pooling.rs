//! Tests of PostgreSQL behind PgBouncer in transaction mode. The node has more connections to
//! PgBouncer than PgBouncer has to PostgreSQL. `opening.rs` tests how the service detects a pooler,
//! and `reliability/outages.rs` kills a pooler. With `VESTIBULE_TEST_POOLER=1` every test on
//! PostgreSQL uses a pooler.

use futures_util::future::join_all;
use serde_json::json;

use test_support::receiver::{Receiver, subscribe};
use test_support::{App, new_id, reservation};

const FEW: &str = "default_pool_size = 3";
const MANY: [&str; 2] = ["--database-connections", "24"];

/// Sends reads, writes, repeated writes with the same idempotency key, and concurrent writes that
/// share commits. Receives the webhook deliveries of the writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_behind_a_pooler_serves_reads_writes_and_webhooks() {
    let receiver = Receiver::start().await;
    let flags = receiver.flags();
    let flags: Vec<_> = flags.iter().map(String::as_str).chain(MANY).collect();
    let Some(app) = App::behind_a_pooler(FEW, &flags).await else {
        return;
    };
    let org = app.org().await;
    let api = org.key().await;
    let create = async |number: usize| {
        let name = format!("manual {number}");
        api.post_with_key(
            "/portal-manuals",
            &name,
            json!({ "nickname": name, "title": "Wi-Fi" }),
        )
        .await
    };
    // The test sends a single write first. It then sends many concurrent writes of the same
    // organization, which share commits.
    let first = create(0).await.data();
    let created = join_all((1..80).map(create)).await;
    let mut ids: Vec<_> = created
        .iter()
        .map(|answer| answer.data()["id"].clone())
        .collect();
    ids.push(first["id"].clone());
    for answer in join_all((0..80).map(create)).await {
        assert_eq!(
            (answer.status, answer.header("idempotency-replayed")),
            (201, Some("true"))
        );
        assert!(ids.contains(&answer.body["data"]["id"]));
    }
    // Each client writes a record and reads it back, while other clients do the same.
    let seen = join_all((0..40).map(async |number| {
        let name = format!("seen {number}");
        let made = api
            .post(
                "/portal-manuals",
                json!({ "nickname": name, "title": "Wi-Fi" }),
            )
            .await
            .data();
        let listed = api
            .get(&format!(
                "/portal-manuals?search={}",
                name.replace(' ', "%20")
            ))
            .await
            .data();
        listed
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["id"] == made["id"])
    }));
    assert!(seen.await.into_iter().all(|is_seen| is_seen));
    // The two writes can be in one group commit. Only the refused write is rolled back.
    let (good, bad) = tokio::join!(
        create(1_000),
        api.post("/portal-manuals", json!({ "nickname": "no title" }))
    );
    assert_eq!((good.status, bad.status), (201, 400));
    subscribe(&api, "reservation.created", &receiver.url).await;
    let flat = org.property(None, &[]).await;
    let records: Vec<_> = (0..50)
        .map(|_| json!({ "kind": "reservation", "id": new_id(), "data": reservation(Some(flat)) }))
        .collect();
    assert_eq!(org.sync(json!(records)).await.data()["applied"], 50);
    for _ in 0..50 {
        receiver.next().await;
    }
    assert!(receiver.is_quiet().await);
    assert_eq!(app.server.service.store.dropped_connections(), 0);
}

/// The pooler may run each transaction on another connection. The service therefore sets its time
/// limits in each transaction, and changes no setting of a connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pooled_connections_keep_no_session_settings() {
    let Some(app) = App::behind_a_pooler("default_pool_size = 1", &MANY).await else {
        return;
    };
    let org = app.org().await;
    let api = org.key().await;
    assert_eq!(
        api.post("/portal-manuals", json!({ "nickname": "N", "title": "T" }))
            .await
            .status,
        201
    );
    assert_eq!(api.get("/portal-manuals").await.status, 200);
    let url = app.database_url.clone();
    let remaining = tokio::task::spawn_blocking(move || {
        let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
        let word = |client: &mut ::postgres::Client, sql: &str| {
            let messages = client.simple_query(sql).unwrap();
            messages.iter().find_map(|message| match message {
                ::postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap().to_owned()),
                _ => None,
            })
        };
        let statements = word(&mut client, "select count(*) from pg_prepared_statements").unwrap();
        let limit = word(&mut client, "show statement_timeout").unwrap();
        let locks = word(
            &mut client,
            "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
        )
        .unwrap();
        (statements, limit, locks)
    });
    assert_eq!(
        remaining.await.unwrap(),
        ("0".to_owned(), "0".to_owned(), "0".to_owned())
    );
}

/// Two nodes use the same pooler and share its connections to PostgreSQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_nodes_share_a_pooler() {
    let Some(app) = App::behind_a_pooler(FEW, &MANY).await else {
        return;
    };
    let other = app.second_node(&MANY).await;
    let org = app.org().await;
    let one = org.key().await;
    let two = other.api(one.token.as_ref().unwrap());
    let created = join_all((0..60).map(async |number: usize| {
        let (here, there) = if number.is_multiple_of(2) {
            (&one, &two)
        } else {
            (&two, &one)
        };
        let name = format!("manual {number}");
        let created = here
            .post_with_key(
                "/portal-manuals",
                &name,
                json!({ "nickname": name, "title": "T" }),
            )
            .await
            .data();
        let again = there
            .post_with_key(
                "/portal-manuals",
                &name,
                json!({ "nickname": name, "title": "T" }),
            )
            .await;
        assert_eq!(
            (again.status, &again.body["data"]["id"]),
            (201, &created["id"])
        );
        there
            .get(&format!(
                "/portal-manuals/{}",
                created["id"].as_str().unwrap()
            ))
            .await
            .status
    }));
    assert!(created.await.into_iter().all(|status| status == 200));
}
