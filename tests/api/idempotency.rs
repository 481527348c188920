//! Tests of idempotency keys (rules: errors#idempotency).

use std::time::{Duration, Instant};
use strum::VariantArray;

use engine::access::Permission;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use test_support::waiting::{WAIT_LIMIT, in_time};
use test_support::{ApiResponse, App, on_both};

on_both!(a_retry_gets_the_first_answer);
async fn a_retry_gets_the_first_answer(app: App) {
    let api = app.org().await.key().await;
    let first = api
        .post_with_key(
            "/portals",
            "k",
            json!({ "name": "Once", "supportNotes": "x" }),
        )
        .await;
    let spaced = api
        .request(Method::POST, "/portals")
        .header("idempotency-key", "k")
        .body("{ \"supportNotes\" : \"x\",\n \"name\":\"Once\" }");
    let again = ApiResponse::of(spaced).await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.body, again.body);
    assert_eq!(
        (
            first.header("idempotency-replayed"),
            again.header("idempotency-replayed")
        ),
        (None, Some("true"))
    );
    assert_ne!(first.header("x-request-id"), again.header("x-request-id"));
    assert_eq!(
        again.body["meta"]["requestId"],
        first.header("x-request-id").unwrap()
    );
    assert_eq!(
        api.get("/portals").await.data().as_array().unwrap().len(),
        1
    );
}

on_both!(replays_do_not_change_the_revisions);
/// Replayed responses do not change the organization's revisions, even if one commit contains
/// several replays.
async fn replays_do_not_change_the_revisions(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let post = |number: usize| {
        let (api, key) = (&api, format!("k{number}"));
        async move {
            api.post_with_key("/portals", &key, json!({ "name": key }))
                .await
        }
    };
    join_all((0..16).map(post))
        .await
        .into_iter()
        .for_each(|answer| drop(answer.data()));
    let revisions = async || {
        let read = |row: &store::Row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?));
        app.query(
            "select revision, stream_revision from organization where id = ?1",
            vec![org.id.into()],
            read,
        )
        .await
    };
    let before = revisions().await;
    for _ in 0..4 {
        for answer in join_all((0..16).map(post)).await {
            assert_eq!(
                (answer.status, answer.header("idempotency-replayed")),
                (201, Some("true"))
            );
        }
    }
    assert_eq!(revisions().await, before);
}

on_both!(an_idempotency_key_belongs_to_its_request);
async fn an_idempotency_key_belongs_to_its_request(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    api.post_with_key("/portals", "k", json!({ "name": "Once" }))
        .await
        .data();
    for (path, body) in [
        ("/portals", json!({ "name": "Other" })),
        ("/portal-brandings", json!({ "name": "Once" })),
        ("/portals?x=1", json!({ "name": "Once" })),
    ] {
        let error = api.post_with_key(path, "k", body).await.error(422);
        assert_eq!(error["code"], "PERMANENT_MUTATION_ERROR");
    }
    // Another credential may use the same idempotency key for another request. Keys that differ
    // only in case are different keys.
    org.key()
        .await
        .post_with_key("/portals", "k", json!({ "name": "Twice" }))
        .await
        .data();
    api.post_with_key("/portals", "K", json!({ "name": "Thrice" }))
        .await
        .data();
}

on_both!(errors_release_the_idempotency_key);
async fn errors_release_the_idempotency_key(app: App) {
    let api = app.org().await.key().await;
    api.post("/portals", json!({ "name": "Taken" }))
        .await
        .data();
    api.post_with_key("/portals", "k", json!({ "name": "Taken" }))
        .await
        .error(409);
    api.post_with_key("/portals", "k", json!({ "name": "" }))
        .await
        .error(400);
    let fresh = api
        .post_with_key("/portals", "k", json!({ "name": "Free" }))
        .await;
    assert_eq!(
        (fresh.status, fresh.header("idempotency-replayed")),
        (201, None)
    );
}

on_both!(an_idempotency_key_expires_after_24_hours);
async fn an_idempotency_key_expires_after_24_hours(app: App) {
    let api = app.org().await.key().await;
    api.post_with_key("/portals", "k", json!({ "name": "One" }))
        .await
        .data();
    app.clock.advance(Duration::from_secs(24 * 3600 - 1));
    assert_eq!(
        api.post_with_key("/portals", "k", json!({ "name": "One" }))
            .await
            .header("idempotency-replayed"),
        Some("true")
    );
    app.clock.advance(Duration::from_secs(1));
    let fresh = api
        .post_with_key("/portals", "k", json!({ "name": "Two" }))
        .await;
    assert_eq!(
        (fresh.status, fresh.header("idempotency-replayed")),
        (201, None)
    );
    app.clock.advance(Duration::from_secs(24 * 3600));
    let (now, retention) = (app.clock.now(), Duration::from_secs(24 * 3600));
    let store = app.server.service.store.clone();
    let more = store
        .write(move |tx| engine::pipeline::sweep(tx, now, retention))
        .await
        .unwrap();
    assert!(!more);
}

on_both!(malformed_keys_are_refused_on_post_only);
async fn malformed_keys_are_refused_on_post_only(app: App) {
    let api = app.org().await.key().await;
    let send = |key: Vec<u8>| {
        let value = reqwest::header::HeaderValue::from_bytes(&key).unwrap();
        ApiResponse::of(
            api.request(Method::POST, "/portals")
                .header("idempotency-key", value)
                .json(&json!({ "name": "N" })),
        )
    };
    for key in [
        b" ".to_vec(),
        b"".to_vec(),
        vec![b'x'; 256],
        vec![0xff, 0xfe],
    ] {
        assert_eq!(send(key).await.issues(), ["Idempotency-Key"]);
    }
    let twice = api
        .request(Method::POST, "/portals")
        .header("idempotency-key", "a")
        .header("idempotency-key", "b")
        .json(&json!({ "name": "N" }));
    assert_eq!(ApiResponse::of(twice).await.issues(), ["Idempotency-Key"]);
    let accented = "\u{e9}".repeat(255);
    assert_eq!(send(accented.into_bytes()).await.status, 201);
    ApiResponse::of(
        api.request(Method::GET, "/portals")
            .header("idempotency-key", " "),
    )
    .await
    .data();
}

on_both!(only_the_first_of_concurrent_requests_is_applied);
async fn only_the_first_of_concurrent_requests_is_applied(app: App) {
    let api = app.org().await.key().await;
    let answers = join_all(
        (0..32).map(|_| api.post_with_key("/portals", "raced", json!({ "name": "Raced" }))),
    )
    .await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.status == 201 || answer.status == 409),
        "{answers:?}"
    );
    assert!(answers.iter().any(|answer| answer.status == 201));
    assert_eq!(
        api.get("/portals").await.data().as_array().unwrap().len(),
        1
    );
    assert_eq!(
        api.post_with_key("/portals", "raced", json!({ "name": "Raced" }))
            .await
            .header("idempotency-replayed"),
        Some("true")
    );
}

on_both!(a_replay_checks_permissions_again);
async fn a_replay_checks_permissions_again(app: App) {
    let org = app.org().await;
    let member = test_support::new_id();
    org.member(member, None, Permission::VARIANTS, true).await;
    let api = org.token_of(member, Permission::VARIANTS).await;
    api.post_with_key("/portals", "k", json!({ "name": "One" }))
        .await
        .data();
    // Another token of the same app and member is the same credential.
    let other = org.token_of(member, Permission::VARIANTS).await;
    assert_eq!(
        other
            .post_with_key("/portals", "k", json!({ "name": "One" }))
            .await
            .header("idempotency-replayed"),
        Some("true")
    );
    org.member(member, None, &[Permission::ViewProperties], true)
        .await;
    api.post_with_key("/portals", "k", json!({ "name": "One" }))
        .await
        .error(403);
}

/// Another node runs a write of the same organization. That write delays neither a replayed
/// response nor the refusal of a request whose idempotency key is in use.
#[tokio::test(flavor = "multi_thread")]
async fn replays_do_not_wait_for_writes_of_another_node() {
    let Some(app) = App::on_postgres(&[]).await else {
        return;
    };
    if app.server.service.store.is_sharded() {
        // On Citus the write waits for a lock on another server. The test queries a single server,
        // so it could not see the wait.
        return;
    }
    let elsewhere = app.second_node(&[]).await;
    let org = app.org().await;
    let api = org.key().await;
    let kept = json!({ "name": "Kept" });
    api.post_with_key("/portals", "kept", kept.clone())
        .await
        .data();

    let (url, id) = (app.database_url.clone(), org.id.to_string());
    let (locked, release) = (
        tokio::sync::oneshot::channel(),
        std::sync::mpsc::channel::<()>(),
    );
    let (waits, has_waited) = (
        std::sync::mpsc::channel::<()>(),
        tokio::sync::oneshot::channel(),
    );
    let holder = tokio::task::spawn_blocking(move || {
        let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
        let mut transaction = client.transaction().unwrap();
        transaction
            .execute(
                "select 1 from organization where id = $1::text::uuid for no key update",
                &[&id],
            )
            .unwrap();
        locked.0.send(()).unwrap();
        waits.1.recv_timeout(WAIT_LIMIT).expect("the write is sent");
        let waiting = "select 1 from pg_stat_activity where datname = current_database() and \
            wait_event_type = 'Lock'";
        let start = Instant::now();
        while transaction.query(waiting, &[]).unwrap().is_empty() {
            assert!(
                start.elapsed() < Duration::from_secs(4),
                "it waits for the organization"
            );
            std::thread::sleep(Duration::from_millis(5));
            // PostgreSQL caches statistics within a transaction, so the test clears the cache
            // before it reads them again.
            transaction
                .execute("select pg_stat_clear_snapshot()", &[])
                .unwrap();
        }
        has_waited.0.send(()).unwrap();
        release
            .1
            .recv_timeout(2 * WAIT_LIMIT)
            .expect("the other requests end");
    });
    in_time("the organization is locked", locked.1)
        .await
        .unwrap();
    let under_way = json!({ "name": "Under way" });
    let first = tokio::spawn({
        let (api, body) = (api.clone(), under_way.clone());
        async move { api.post_with_key("/portals", "under way", body).await }
    });
    waits.0.send(()).unwrap();
    in_time("the write waits for the lock", has_waited.1)
        .await
        .unwrap();
    let again = elsewhere.api(api.token.as_deref().unwrap());
    assert_eq!(
        again
            .post_with_key("/portals", "kept", kept)
            .await
            .header("idempotency-replayed"),
        Some("true")
    );
    again
        .post_with_key("/portals", "under way", under_way)
        .await
        .error(409);
    release.0.send(()).unwrap();
    holder.await.unwrap();
    first.await.unwrap().data();
}
