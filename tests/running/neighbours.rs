//! Tests of isolation. Idempotency keys and rate limits of one organization do not affect another.
//! Data of a commit that failed does not stay in memory. A request has no effect if its credential
//! is revoked while its body arrives.

use std::time::Duration;

use engine::access::Permission;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use store::Value as Column;
use strum::VariantArray;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use uuid::Uuid;

use test_support::house::House;
use test_support::queueing::{ATTEMPTS, hold, until_queued};
use test_support::waiting::in_time;
use test_support::{Api, ApiResponse, App, Org, new_id, on_both};

store::statements! {
    /// Reads the two revisions of an organization.
    REVISIONS = "select revision, stream_revision from organization where id = ?1";
    /// Sets the revisions to earlier values, as happens in a fail-over that loses commits.
    RESET_REVISIONS = "update organization set revision = ?2, stream_revision = ?3 where id = ?1";
    /// Deletes a portal, as if the commit that created it had been lost.
    DELETE_PORTAL = "delete from portal where organization_id = ?1 and name_key = ?2";
    /// Makes SQLite check references at the commit instead of at each statement.
    DEFER_REFERENCES = "pragma defer_foreign_keys = 1";
    /// Inserts a translation that belongs to an organization that does not exist. The commit fails
    /// because of this row.
    INSERT_ORPHAN = "insert into translation
        (organization_id, id, source_table, created_at, updated_at) \
        values (?1, ?1, 'manual', 0, 0)";
}

/// Creates the same member and the same app in two organizations.
async fn member_of_both(one: &Org<'_>, other: &mut Org<'_>) -> Uuid {
    let member = new_id();
    other.oauth_app = one.oauth_app;
    for org in [one, &*other] {
        org.member(member, None, Permission::VARIANTS, true).await;
    }
    member
}

async fn names(api: &Api) -> Vec<Value> {
    api.get("/portals")
        .await
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].clone())
        .collect()
}

on_both!(an_idempotency_key_is_separate_in_each_organization);
async fn an_idempotency_key_is_separate_in_each_organization(app: App) {
    let (one, mut other) = (app.org().await, app.org().await);
    let member = member_of_both(&one, &mut other).await;
    let here = one.token_of(member, Permission::VARIANTS).await;
    let body = json!({ "name": "Casa", "supportNotes": "Only for those of the first." });
    let first = here.post_with_key("/portals", "key", body.clone()).await;
    first.data();
    let there = other.token_of(member, Permission::VARIANTS).await;
    let second = there.post_with_key("/portals", "key", body.clone()).await;
    assert_eq!(
        (second.status, second.header("idempotency-replayed")),
        (201, None),
        "{}",
        second.body
    );
    assert_ne!(second.body["data"]["id"], first.body["data"]["id"]);
    assert_eq!(
        names(&there).await,
        ["Casa"],
        "it was done, not only answered"
    );
    assert_eq!(
        there.post_with_key("/portals", "key", body).await.body,
        second.body
    );
}

on_both!(
    a_rate_limit_is_separate_in_each_organization,
    "--rate-limit-per-minute=3"
);
async fn a_rate_limit_is_separate_in_each_organization(app: App) {
    let (one, mut other) = (app.org().await, app.org().await);
    let member = member_of_both(&one, &mut other).await;
    let here = one.token_of(member, Permission::VARIANTS).await;
    for _ in 0..3 {
        here.get("/portals").await.data();
    }
    here.get("/portals").await.error(429);
    let there = other.token_of(member, Permission::VARIANTS).await;
    assert_eq!(
        there.get("/portals").await.header("x-ratelimit-remaining"),
        Some("2")
    );
}

on_both!(answers_of_a_lost_commit_are_not_served_from_memory);
async fn answers_of_a_lost_commit_are_not_served_from_memory(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let limited = org.limited(&[org.property(None, &[]).await]).await;
    let create =
        async |name: &str| drop(api.post("/portals", json!({ "name": name })).await.data());
    create("First").await;
    let (store, id) = (app.server.service.store.clone(), org.id);
    let row = store
        .read(move |tx| tx.row(&REVISIONS, &[id.into()]))
        .await
        .unwrap()
        .unwrap();
    let (configuration, stream): (i64, i64) = (row.get(0).unwrap(), row.get(1).unwrap());
    create("Lost").await;
    assert_eq!(
        (names(&api).await.len(), names(&limited).await.len()),
        (2, 2)
    );
    store
        .write(move |tx| {
            tx.execute(&DELETE_PORTAL, &[id.into(), Column::from("lost")])?;
            tx.execute(
                &RESET_REVISIONS,
                &[id.into(), configuration.into(), stream.into()],
            )
        })
        .await
        .unwrap();
    create("Second").await;
    assert_eq!(
        (names(&api).await, names(&limited).await),
        (
            vec![json!("First"), json!("Second")],
            vec![json!("First"), json!("Second")]
        )
    );
}

on_both!(a_revocation_during_the_body_takes_effect);
async fn a_revocation_during_the_body_takes_effect(app: App) {
    let org = app.org().await;
    let (api, id) = org.key_and_id(Permission::VARIANTS).await;
    let member = new_id();
    org.member(member, None, Permission::VARIANTS, true).await;
    let of_member = org.token_of(member, Permission::VARIANTS).await;
    let less: Vec<_> = Permission::VARIANTS
        .iter()
        .copied()
        .filter(|held| *held != Permission::ModifyProperties)
        .collect();

    let pending_post = PendingPost::begin(
        &app,
        &of_member,
        "/api/v1/portals",
        &json!({ "name": "Too late" }),
        None,
    )
    .await;
    org.member(member, None, &less, true).await;
    pending_post
        .end()
        .await
        .starts_with("HTTP/1.1 403")
        .then_some(())
        .expect("the permission was lost");

    let pending_post = PendingPost::begin(
        &app,
        &api,
        "/api/v1/portals",
        &json!({ "name": "Too late" }),
        None,
    )
    .await;
    app.platform()
        .ok(Method::DELETE, &org.path(&format!("/api-keys/{id}")), None)
        .await;
    pending_post
        .end()
        .await
        .starts_with("HTTP/1.1 401")
        .then_some(())
        .expect("the key was revoked");

    // A replay returns the response of an earlier request. The service checks the credential
    // before a replay too.
    let (again, id) = org.key_and_id(Permission::VARIANTS).await;
    again
        .post_with_key("/portals", "key", json!({ "name": "Casa" }))
        .await
        .data();
    let pending_post = PendingPost::begin(
        &app,
        &again,
        "/api/v1/portals",
        &json!({ "name": "Casa" }),
        Some("key"),
    )
    .await;
    app.platform()
        .ok(Method::DELETE, &org.path(&format!("/api-keys/{id}")), None)
        .await;
    pending_post
        .end()
        .await
        .starts_with("HTTP/1.1 401")
        .then_some(())
        .expect("the key was revoked");
    assert_eq!(names(&org.key().await).await, ["Casa"]);
}

on_both!(an_expiry_during_the_body_takes_effect);
async fn an_expiry_during_the_body_takes_effect(app: App) {
    let org = app.org().await;
    let body = json!({
        "name": "key",
        "permissions": Permission::VARIANTS,
        "expiresAt": "2026-11-21T09:31:00Z",
    });
    let key = app
        .platform()
        .ok(Method::POST, &org.path("/api-keys"), Some(body))
        .await;
    let api = app.api(key["token"].as_str().unwrap());
    let pending_post = PendingPost::begin(
        &app,
        &api,
        "/api/v1/portals",
        &json!({ "name": "Too late" }),
        None,
    )
    .await;
    app.clock.advance(Duration::from_secs(60));
    assert!(pending_post.end().await.starts_with("HTTP/1.1 401"));
}

/// A POST whose headers the server has accepted. The test has not sent its body yet.
struct PendingPost {
    stream: TcpStream,
    body: String,
}

impl PendingPost {
    /// Sends the headers of a POST request and waits for `100 Continue`. The server sends this
    /// response after it has checked the credential and the permission.
    async fn begin(app: &App, api: &Api, path: &str, body: &Value, key: Option<&str>) -> Self {
        let (token, body) = (api.token.as_ref().unwrap(), body.to_string());
        let key = key
            .map(|key| format!("idempotency-key: {key}\r\n"))
            .unwrap_or_default();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer \
                {token}\r\ncontent-length: {}\r\n{key}expect: 100-continue\r\nconnection: \
                close\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(app.server.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut reported = [0; 25];
        in_time(
            "the interim response arrives",
            stream.read_exact(&mut reported),
        )
        .await
        .unwrap();
        assert_eq!(&reported, b"HTTP/1.1 100 Continue\r\n\r\n");
        Self { stream, body }
    }

    /// Sends the body of the request that [`Self::begin`] started. Returns the response.
    async fn end(mut self) -> String {
        self.stream.write_all(self.body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        in_time(
            "the response arrives",
            self.stream.read_to_string(&mut answer),
        )
        .await
        .unwrap();
        answer
    }
}

/// On SQLite several operations share a commit, and one operation can make the commit fail. Other
/// operations may have read data of that commit. The data must not stay in memory after the
/// failure.
#[tokio::test(flavor = "multi_thread")]
async fn uncommitted_data_is_not_cached() {
    let app = App::on_sqlite(&[]).await;
    let house = House::build(&app).await;
    let step = house.step("main", json!({})).await;
    let view = async || app.stay(&house.token, "").await.data()["portal"]["name"].clone();
    assert_eq!(view().await, "Casa");
    let store = app.server.service.store.clone();

    for attempt in 0.. {
        assert!(attempt < ATTEMPTS, "the operations never shared a commit");
        let (go, holding) = hold(&store, None).await;
        let renamed = tokio::spawn({
            let (api, path) = (house.api.clone(), format!("/portals/{}", house.portal));
            async move {
                api.patch(&path, json!({ "data": { "name": "Never" } }))
                    .await
            }
        });
        until_queued(&store, 1).await;
        let saved = tokio::spawn({
            let request = app.http.put(format!(
                "{}/guest/v1/stays/{}/steps/{step}",
                app.base, house.token
            ));
            async move {
                ApiResponse::of(request.json(&json!({
                    "answers": { "isDone": true },
                })))
                .await
            }
        });
        until_queued(&store, 2).await;
        let failed = tokio::spawn({
            let store = store.clone();
            async move {
                // This write must share a commit with the two writes before it. For a slow
                // organization, `write_for` makes a separate commit for each write. So this write
                // is in the name of another organization, which is not slow.
                store
                    .write_for(Some(Uuid::max()), store::WORK_LIMIT, |tx| {
                        tx.execute(&DEFER_REFERENCES, &[])?;
                        tx.execute(&INSERT_ORPHAN, &[Uuid::max().into()])
                    })
                    .await
            }
        });
        until_queued(&store, 3).await;
        drop(go);
        holding.await.unwrap().unwrap();
        assert!(failed.await.unwrap().is_err());
        let (renamed, saved) = (renamed.await.unwrap(), saved.await.unwrap());
        if renamed.status == 200 {
            house
                .update_portal(house.portal, json!({ "name": "Casa" }))
                .await;
        }
        if renamed.status == 200 || saved.status == 200 {
            continue;
        }
        assert!(
            renamed.status >= 500 && saved.status >= 500,
            "{} {}",
            renamed.status,
            saved.status
        );
        break;
    }
    assert_eq!(view().await, "Casa");
    house
        .update_portal(
            house.portal,
            json!({ "supportNotes": "Raises the revision." }),
        )
        .await;
    assert_eq!(view().await, "Casa");
}

/// A dry run or a refused operation may have read uncommitted data of another operation. Its own
/// response therefore waits for the commit of that other operation, and is an error if that commit
/// fails.
#[tokio::test(flavor = "multi_thread")]
async fn operations_that_read_a_failed_commit_fail_with_it() {
    type Work = fn(&mut store::Transaction<'_>) -> Result<(), store::Error>;
    let app = App::on_sqlite(&[]).await;
    let store = app.server.service.store.clone();
    let works: [Work; 4] = [
        |_| Ok(()),
        |tx| {
            tx.dry_run();
            Ok(())
        },
        |_| Err(store::Error::Configuration("taken".into())),
        |tx| {
            tx.execute(&DEFER_REFERENCES, &[])?;
            tx.execute(&INSERT_ORPHAN, &[Uuid::max().into()]).map(drop)
        },
    ];
    for attempt in 0.. {
        assert!(attempt < ATTEMPTS, "the operations never shared a commit");
        let (go, holding) = hold(&store, None).await;
        let mut writes = Vec::new();
        for work in works {
            let store = store.clone();
            writes.push(tokio::spawn(async move {
                store
                    .write_for(Some(Uuid::max()), store::WORK_LIMIT, work)
                    .await
            }));
            until_queued(&app.server.service.store, writes.len()).await;
        }
        drop(go);
        holding.await.unwrap().unwrap();
        let outcomes: Vec<_> = join_all(writes)
            .await
            .into_iter()
            .map(Result::unwrap)
            .collect();
        if outcomes[0].is_err() {
            let texts: Vec<_> = outcomes
                .into_iter()
                .map(|outcome| outcome.unwrap_err().to_string())
                .collect();
            assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
            break;
        }
    }
}
