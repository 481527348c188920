//! Tests of clocks that jump ahead or are set back.

use std::time::Duration;

use engine::access::Permission;
use engine::clock::Clock;
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use store::{Statement, Transaction};
use strum::VariantArray;
use uuid::Uuid;
use vestibule::server::Server;

use test_support::receiver::{Receiver, subscribe, until_read};
use test_support::{ApiResponse, App, Org, new_id, on_both, on_both_with, serve_flags};

/// A second server on the database of the test's app. Its clock differs from the app's clock.
struct OtherClockServer {
    server: Server,
    http: reqwest::Client,
}

impl OtherClockServer {
    async fn start(app: &App, now: &str) -> Self {
        let clock = Clock::manual(now.parse().unwrap());
        let server = Server::start(serve_flags(&app.database_url, &[]), clock)
            .await
            .unwrap();
        Self {
            server,
            http: app.http.clone(),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        token: &str,
        key: &str,
        body: Value,
    ) -> ApiResponse {
        let request = self
            .http
            .request(
                method,
                format!("http://{}/api/v1{path}", self.server.address),
            )
            .bearer_auth(token);
        ApiResponse::of(request.header("idempotency-key", key).json(&body)).await
    }
}

async fn expiring_key(org: &Org<'_>, expires_at: &str) -> String {
    let body =
        json!({ "name": "key", "permissions": Permission::VARIANTS, "expiresAt": expires_at });
    let key = org
        .app
        .platform()
        .ok(Method::POST, &org.path("/api-keys"), Some(body))
        .await;
    key["token"].as_str().unwrap().to_owned()
}

static JOBS: Statement = Statement::new(
    "select next_attempt_at, leased_until from translation_job where organization_id = ?1",
);
static TIMERS: Statement =
    Statement::new("select online_since from device_timer where organization_id = ?1");

/// Returns the timestamps in the first row of a statement's result.
async fn timestamps<const N: usize>(
    app: &App,
    statement: &'static Statement,
    organization: Uuid,
) -> [Option<Timestamp>; N] {
    let store = &app.server.service.store;
    let read = store.read(move |tx: &mut Transaction<'_>| {
        let rows = tx.rows(statement, &[organization.into()])?;
        let mut columns = [None; N];
        for (column, columns) in columns.iter_mut().enumerate() {
            *columns = rows[0].get(column)?;
        }
        Ok::<_, store::Error>(columns)
    });
    read.await.unwrap()
}

on_both!(timers_and_translations_that_a_fast_clock_scheduled_are_due_soon);
async fn timers_and_translations_that_a_fast_clock_scheduled_are_due_soon(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    app.clock.advance(Duration::from_secs(2 * 86_400));
    api.post(
        "/translations",
        json!({ "sourceTable": "manual", "text": "Hello" }),
    )
    .await
    .data();
    let lease =
        "update translation_job set leased_until = next_attempt_at where organization_id = ?1";
    app.change(lease, vec![org.id.into()]).await;
    let device = |is_online: bool| {
        json!({
            "propertyId": flat,
            "name": "Lock",
            "vendor": "Acme",
            "isOnline": is_online,
            "deviceType": "lock",
        })
    };
    let id = new_id();
    for is_online in [true, false, true] {
        org.put_record("device", id, device(is_online)).await;
    }
    let [since] = timestamps(&app, &TIMERS, org.id).await;
    assert_eq!(since, Some("2026-11-23T09:30:00Z".parse().unwrap()));

    let server_with_right_clock = OtherClockServer::start(&app, "2026-11-21T09:30:00Z").await;
    server_with_right_clock.server.sweep_once().await;
    server_with_right_clock.server.stop().await;
    let [since] = timestamps(&app, &TIMERS, org.id).await;
    assert_eq!(since, Some("2026-11-21T09:30:00Z".parse().unwrap()));
    let [due, leased_until] = timestamps(&app, &JOBS, org.id).await;
    assert_eq!(
        (due, leased_until),
        (Some("2026-11-21T09:40:00Z".parse().unwrap()), None)
    );
}

on_both!(a_clock_jump_of_a_day_expires_api_and_idempotency_keys);
async fn a_clock_jump_of_a_day_expires_api_and_idempotency_keys(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (tonight, next_week) = (
        expiring_key(&org, "2026-11-22T02:00:00Z").await,
        expiring_key(&org, "2026-11-28T00:00:00Z").await,
    );
    let stay = org.reservation(Some(org.property(None, &[]).await)).await;
    let token = org.stay_token(stay).await;
    let first = api
        .post_with_key("/portals", "k", json!({ "name": "One" }))
        .await
        .data();
    let path = format!("/portals/{}", first["id"].as_str().unwrap());
    app.api(&tonight).get("/portals").await.data();

    app.clock.advance(Duration::from_secs(25 * 3_600));
    app.api(&tonight).get("/portals").await.error(401);
    app.api(&next_week).get("/portals").await.data();
    app.stay(&token, "").await.data();
    // The idempotency key has expired, although no sweep has run. The server therefore treats
    // the request as a new one and refuses it, because a portal has the name already.
    api.post_with_key("/portals", "k", json!({ "name": "One" }))
        .await
        .error(409);
    app.server.sweep_once().await;
    let other = api
        .post_with_key("/portals", "k", json!({ "name": "Two" }))
        .await;
    assert_eq!(
        (other.status, other.header("idempotency-replayed")),
        (201, None)
    );
    let changed = api
        .patch(&path, json!({ "data": { "supportNotes": "later" } }))
        .await
        .data();
    assert_eq!(changed["updatedAt"], "2026-11-22T10:30:00.000Z");
    app.platform()
        .ok(
            Method::PUT,
            &org.path(""),
            Some(json!({ "name": "Still there" })),
        )
        .await;
    for pages in ["/readyz", "/metrics", "/healthz"] {
        assert_eq!(
            app.http
                .get(format!("{}{pages}", app.base))
                .send()
                .await
                .unwrap()
                .status(),
            200,
            "{pages}"
        );
    }
}

on_both!(a_clock_set_back_loses_no_writes_or_replays);
/// The clock of a server is set back, as can happen when a machine restarts. A second node
/// whose clock is behind has the same effect.
async fn a_clock_set_back_loses_no_writes_or_replays(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let key = api.token.clone().unwrap();
    let soon = expiring_key(&org, "2026-11-21T09:35:00Z").await;
    let first = api
        .post_with_key("/portals", "k", json!({ "name": "One" }))
        .await;
    let path = format!("/portals/{}", first.body["data"]["id"].as_str().unwrap());
    let mut last = first.body["data"]["updatedAt"].as_str().unwrap().to_owned();
    let behind = OtherClockServer::start(&app, "2026-11-21T09:20:00Z").await;

    let again = behind
        .send(
            Method::POST,
            "/portals",
            &key,
            "k",
            json!({ "name": "One" }),
        )
        .await;
    assert_eq!(
        (
            again.status,
            again.header("idempotency-replayed"),
            &again.body
        ),
        (201, Some("true"), &first.body)
    );
    for number in 0..6 {
        let body =
            json!({ "data": { "supportNotes": format!("{number}") }, "expectedUpdatedAt": last });
        let changed = if number % 3 == 2 {
            api.patch(&path, body).await.data()
        } else {
            behind
                .send(Method::PATCH, &path, &key, "-", body)
                .await
                .data()
        };
        let now = changed["updatedAt"].as_str().unwrap().to_owned();
        assert!(now > last, "{last}, then {now}");
        last = now;
    }
    let second = behind
        .send(
            Method::POST,
            "/portals",
            &key,
            "later",
            json!({ "name": "Two" }),
        )
        .await
        .data();
    assert_eq!(
        api.post_with_key("/portals", "later", json!({ "name": "Two" }))
            .await
            .header("idempotency-replayed"),
        Some("true")
    );
    assert!(
        second["updatedAt"].as_str() >= Some("2026-11-21T09:20:00.000Z"),
        "{second}"
    );
    behind
        .send(Method::GET, "/portals", &soon, "-", json!({}))
        .await
        .data();
    app.clock.advance(Duration::from_secs(6 * 60));
    app.api(&soon).get("/portals").await.error(401);
    behind.server.sweep_once().await;
    let again = api
        .post_with_key("/portals", "k", json!({ "name": "One" }))
        .await;
    assert_eq!(
        again.header("idempotency-replayed"),
        Some("true"),
        "a slow node sweeps nothing away"
    );
    behind.server.stop().await;
}

on_both_with!(
    a_delivery_of_a_clock_that_was_ahead_is_due_within_the_longest_pause,
    Receiver
);
async fn a_delivery_of_a_clock_that_was_ahead_is_due_within_the_longest_pause(
    app: App,
    receiver: Receiver,
) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    receiver.answer(&[500]);
    app.clock.advance(Duration::from_secs(2 * 86_400));
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    receiver.next().await;
    let path = format!(
        "/webhook-subscriptions/{}/deliveries",
        subscription["id"].as_str().unwrap()
    );
    let attempts = |log: &Value| log[0]["attempts"].as_array().map_or(0, Vec::len);
    // If a sweep began before the clock moved, it may make the delivery due once more. The test
    // therefore waits until the next attempt is planned for 23 November or later, by the clock that
    // was moved ahead by two days.
    let log = until_read(&api, &path, |log| {
        attempts(log) > 0 && log[0]["nextAttemptAt"].as_str() > Some("2026-11-23")
    })
    .await;
    let before = attempts(&log);
    let server_with_right_clock = OtherClockServer::start(&app, "2026-11-21T09:30:00Z").await;
    server_with_right_clock.server.sweep_once().await;
    // The node whose clock is ahead may send the delivery again before the due time is corrected.
    // That attempt fails, too, and the next attempt is again planned for 23 November. The test
    // therefore waits until the due time is corrected or a second attempt was made, and accepts
    // both.
    let is_sent = |log: &Value| attempts(log) > before;
    let log = until_read(&api, &path, |log| {
        is_sent(log) || log[0]["nextAttemptAt"].as_str() < Some("2026-11-22")
    })
    .await;
    assert!(
        is_sent(&log) || log[0]["nextAttemptAt"] == "2026-11-21T10:30:00.000Z",
        "{log}"
    );
    server_with_right_clock.server.stop().await;
}
