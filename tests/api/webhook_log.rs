//! Tests of the delivery log, of redelivery, of pings, of the rotation of secrets, and of
//! subscriptions that end together with their credential (rules: webhooks#log; webhooks#ends).

use std::time::Duration;
use strum::VariantArray;

use delivery::backlog;
use engine::access::Permission;
use engine::operation::Surface;
use features::events::Event;
use reqwest::Method;
use serde_json::{Value, json};
use store::Statement;
use uuid::Uuid;
use vestibule_http::surface::openapi;

use test_support::receiver::{
    Receiver, retried, signature, subscribe, until, until_read, while_time_passes,
};
use test_support::{Api, App, Org, new_id, on_both, on_both_with, reservation};

const SECOND: Duration = Duration::from_secs(1);
/// Time after which the sweep deletes an ended delivery from the log.
const RETENTION: Duration = Duration::from_secs(168 * 3_600);
/// An HTTPS address on which nothing listens.
const CLOSED_ADDRESS: &str = "https://127.0.0.1:9/";

static REASONS: Statement = Statement::new(
    "select disabled_reason from webhook_subscription where organization_id = ?1 \
        order by created_at, id",
);

fn path(subscription: &Value, rest: &str) -> String {
    format!(
        "/webhook-subscriptions/{}{rest}",
        subscription["id"].as_str().unwrap()
    )
}

fn redelivery(subscription: &Value, delivery: &str) -> String {
    path(subscription, &format!("/deliveries/{delivery}/redeliver"))
}

/// Waits until the log satisfies `condition`. Meanwhile advances the clock, so that retries become
/// due. Returns the log.
async fn until_log(
    app: &App,
    api: &Api,
    subscription: &Value,
    condition: impl Fn(&Value) -> bool,
) -> Value {
    let deliveries = path(subscription, "/deliveries");
    while_time_passes(app, until_read(api, &deliveries, condition)).await
}

fn statuses(log: &Value) -> Vec<&str> {
    log.as_array()
        .unwrap()
        .iter()
        .map(|row| row["status"].as_str().unwrap())
        .collect()
}

fn attempts(row: &Value) -> usize {
    row["attempts"].as_array().map_or(0, Vec::len)
}

on_both_with!(the_delivery_log_lists_every_attempt, Receiver);
async fn the_delivery_log_lists_every_attempt(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    let deliveries = path(&subscription, "/deliveries");
    assert_eq!(api.get(&deliveries).await.data(), json!([]));
    receiver.answer(&[500, 204]);
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    let sent = receiver.next().await;
    let log = until_read(&api, &deliveries, |log| attempts(&log[0]) == 1).await;
    let refused = json!({
        "attemptedAt": "2026-11-21T09:30:00.000Z",
        "statusCode": 500,
        "error": null,
        "durationMs": 0,
    });
    assert_eq!(
        (&log[0]["status"], &log[0]["attempts"]),
        (&json!("pending"), &json!([refused]))
    );
    assert!(log[0]["nextAttemptAt"].as_str().unwrap() > "2026-11-21T09:30:00.000Z");
    let fields: Vec<_> = log[0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        fields,
        [
            "attempts",
            "createdAt",
            "event",
            "id",
            "nextAttemptAt",
            "recordId",
            "recordType",
            "status"
        ]
    );
    assert_eq!(
        (&log[0]["id"], &log[0]["event"]),
        (
            &json!(sent.header("webhook-id")),
            &json!("reservation.created")
        )
    );
    assert_eq!(
        (&log[0]["recordType"], &log[0]["recordId"]),
        (&json!("reservation"), &sent.body["data"]["id"])
    );
    assert_eq!(log[0]["createdAt"], "2026-11-21T09:30:00.000Z");
    retried(&app, &receiver).await;
    let log = until_read(&api, &deliveries, |log| log[0]["status"] == "delivered").await;
    assert_eq!(
        (
            attempts(&log[0]),
            &log[0]["attempts"][1]["statusCode"],
            &log[0]["nextAttemptAt"]
        ),
        (2, &json!(204), &Value::Null)
    );

    app.clock.advance(SECOND);
    org.reservation(Some(flat)).await;
    let newer = receiver.next().await;
    let log = until_read(&api, &deliveries, |log| {
        statuses(log) == ["delivered", "delivered"]
    })
    .await;
    assert_eq!(
        (&log[0]["id"], &log[1]["id"]),
        (
            &json!(newer.header("webhook-id")),
            &json!(sent.header("webhook-id"))
        )
    );
    let page = api.get(&format!("{deliveries}?limit=1&offset=1")).await;
    assert_eq!(page.data(), json!([log[1]]));
    assert_eq!(
        page.body["meta"]["pagination"],
        json!({ "limit": 1, "offset": 1, "total": 2 })
    );
    assert_eq!(
        api.get(&deliveries).await.body["meta"]["pagination"],
        json!({ "limit": 50, "offset": 0, "total": 2 })
    );
    assert_eq!(
        api.get(&format!("{deliveries}?offset=2")).await.data(),
        json!([])
    );
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("offset=-1", "offset"),
    ] {
        assert_eq!(
            api.get(&format!("{deliveries}?{query}")).await.issues(),
            [field]
        );
    }
    org.key().await.get(&deliveries).await.error(404);
    app.org()
        .await
        .key()
        .await
        .get(&deliveries)
        .await
        .error(404);
    api.get(&format!("/webhook-subscriptions/{}/deliveries", new_id()))
        .await
        .error(404);
}

on_both_with!(a_resent_delivery_keeps_its_id, Receiver);
async fn a_resent_delivery_keeps_its_id(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    let flat = org.property(None, &[]).await;
    let stay = org.reservation(Some(flat)).await;
    let first = receiver.next().await;
    let deliveries = path(&subscription, "/deliveries");
    until_read(&api, &deliveries, |log| log[0]["status"] == "delivered").await;

    receiver.answer(&[500]);
    app.clock.advance(SECOND);
    let again = redelivery(&subscription, first.header("webhook-id"));
    let response = api.post(&again, json!({})).await;
    let queued = response.data();
    assert_eq!(
        (response.status, &queued["status"], attempts(&queued)),
        (200, &json!("pending"), 1)
    );
    assert_eq!(
        (&queued["id"], &queued["nextAttemptAt"]),
        (
            &json!(first.header("webhook-id")),
            &json!("2026-11-21T09:30:01.000Z")
        )
    );
    let second = receiver.next().await;
    assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(
        (&second.body["id"], &second.body["occurredAt"]),
        (&first.body["id"], &first.body["occurredAt"])
    );
    until_read(&api, &deliveries, |log| attempts(&log[0]) == 2).await;
    assert_eq!(
        api.post(&again, json!({})).await.error(409)["code"],
        "CONFLICT"
    );
    receiver.answer(&[200]);
    retried(&app, &receiver).await;
    let log = until_read(&api, &deliveries, |log| log[0]["status"] == "delivered").await;
    assert_eq!((log.as_array().unwrap().len(), attempts(&log[0])), (1, 3));

    // The service discards a delivery about a deleted reservation. After the platform has sent the
    // reservation again, the delivery can be repeated.
    org.delete_record("reservation", stay).await;
    api.post(&again, json!({})).await.data();
    until_read(&api, &deliveries, |log| log[0]["status"] == "discarded").await;
    assert!(receiver.is_quiet().await);
    org.put_record("reservation", stay, test_support::reservation(Some(flat)))
        .await;
    let anew = receiver.next().await;
    assert_ne!(
        anew.header("webhook-id"),
        first.header("webhook-id"),
        "it arrived once more"
    );
    api.post(&again, json!({})).await.data();
    assert_eq!(
        receiver.next().await.header("webhook-id"),
        first.header("webhook-id")
    );

    let other = subscribe(&api, "task.created", &receiver.url).await;
    for missing in [
        redelivery(&subscription, &new_id().to_string()),
        redelivery(&subscription, "x"),
        redelivery(&other, first.header("webhook-id")),
    ] {
        api.post(&missing, json!({})).await.error(404);
    }
    org.key().await.post(&again, json!({})).await.error(404);
}

on_both_with!(a_resent_delivery_gets_five_more_attempts, Receiver);
async fn a_resent_delivery_gets_five_more_attempts(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    receiver.answer(&[500]);
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    let log = until_log(&app, &api, &subscription, |log| {
        log[0]["status"] == "failed"
    })
    .await;
    assert_eq!(attempts(&log[0]), 5);
    api.post(
        &redelivery(&subscription, log[0]["id"].as_str().unwrap()),
        json!({}),
    )
    .await
    .data();
    let log = until_log(&app, &api, &subscription, |log| {
        log[0]["status"] == "failed"
    })
    .await;
    assert_eq!(attempts(&log[0]), 10, "those before are in the log still");
    for _ in 0..10 {
        assert_eq!(
            receiver.next().await.header("webhook-id"),
            log[0]["id"].as_str().unwrap()
        );
    }
    app.clock.advance(60 * SECOND);
    app.server.dependencies.due.notify_one();
    assert!(receiver.is_quiet().await);
    until(&api, |listed| listed[0]["consecutiveFailures"] == 2).await;
}

on_both_with!(failed_deliveries_are_resent_together, Receiver);
async fn failed_deliveries_are_resent_together(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    let again = path(&subscription, "/redeliver-failed");
    receiver.answer(&[500]);
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    app.clock.advance(SECOND);
    let since = app.clock.now().to_string();
    api.post(&path(&subscription, "/ping"), json!({}))
        .await
        .data();
    org.reservation(Some(flat)).await;
    org.reservation(Some(flat)).await;
    let log = until_log(&app, &api, &subscription, |log| {
        statuses(log) == ["failed"; 4]
    })
    .await;
    let ids: Vec<_> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    for _ in 0..16 {
        receiver.next().await;
    }

    assert_eq!(
        api.post(&again, json!({ "since": app.clock.now().to_string() }))
            .await
            .data(),
        json!({ "redelivered": 0 })
    );
    receiver.answer(&[200]);
    let response = api.post(&again, json!({ "since": since })).await;
    assert_eq!(
        (response.status, response.data()),
        (200, json!({ "redelivered": 2 }))
    );
    let arrived = [receiver.next().await, receiver.next().await];
    for id in &ids[..2] {
        assert!(
            arrived
                .iter()
                .any(|delivery| delivery.header("webhook-id") == *id),
            "{id}"
        );
    }
    // The log has the newest delivery first: the two redeliveries, then the ping, then the
    // earlier delivery.
    until_log(&app, &api, &subscription, |log| {
        statuses(log) == ["delivered", "delivered", "failed", "failed"]
    })
    .await;
    assert_eq!(
        api.post(&again, json!({ "since": "-009000-01-01T00:00:00Z" }))
            .await
            .data(),
        json!({ "redelivered": 1 })
    );
    assert_eq!(receiver.next().await.header("webhook-id"), ids[3]);
    assert!(receiver.is_quiet().await, "and no ping");

    assert_eq!(api.post(&again, json!({})).await.issues(), ["since"]);
    assert_eq!(
        api.post(&again, json!({ "since": "yesterday", "until": 1 }))
            .await
            .issues(),
        ["since", "until"]
    );
    org.key()
        .await
        .post(&again, json!({ "since": since }))
        .await
        .error(404);
}

on_both_with!(a_ping_does_not_change_the_failure_count, Receiver);
async fn a_ping_does_not_change_the_failure_count(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "task.created", &receiver.url).await;
    let (to_ping, deliveries) = (
        path(&subscription, "/ping"),
        path(&subscription, "/deliveries"),
    );
    let response = api.post(&to_ping, json!({})).await;
    assert_eq!(
        (
            response.status,
            &response.data()["event"],
            &response.data()["status"]
        ),
        (200, &json!("ping"), &json!("pending"))
    );
    let ping = receiver.next().await;
    assert_eq!(
        (&ping.body["event"], &ping.body["data"]),
        (
            &json!("ping"),
            &json!({ "subscriptionId": subscription["id"] })
        )
    );
    assert_eq!(
        (&ping.body["id"], &json!(ping.header("webhook-id"))),
        (&response.data()["id"], &response.data()["id"])
    );
    let signed = signature(
        subscription["signingSecret"].as_str().unwrap(),
        ping.header("webhook-id"),
        ping.header("webhook-timestamp"),
        &ping.raw,
    );
    assert_eq!(ping.header("webhook-signature"), signed);
    until_read(&api, &deliveries, |log| statuses(log) == ["delivered"]).await;

    // The service sends a ping once. Even status 410 does not change the subscription.
    for (status, expected) in [
        (500, &["failed", "delivered"][..]),
        (410, &["failed", "failed", "delivered"][..]),
    ] {
        receiver.answer(&[status]);
        api.post(&to_ping, json!({})).await.data();
        receiver.next().await;
        let log = until_read(&api, &deliveries, |log| statuses(log) == expected).await;
        assert_eq!(
            (attempts(&log[0]), &log[0]["attempts"][0]["statusCode"]),
            (1, &json!(status))
        );
    }
    app.clock.advance(60 * SECOND);
    app.server.dependencies.due.notify_one();
    assert!(receiver.is_quiet().await);
    let untouched = |listed: &Value, failures: i64| {
        listed[0]["consecutiveFailures"] == failures
            && listed[0]["lastDeliveredAt"].is_null()
            && listed[0]["disabledAt"].is_null()
    };
    assert!(untouched(
        &api.get("/webhook-subscriptions").await.data(),
        0
    ));

    // A successful ping does not reset the failure count.
    receiver.answer(&[500]);
    let flat = org.property(None, &[]).await;
    org.record(
        "task",
        json!({ "propertyId": flat, "title": "Linen", "status": "open" }),
    )
    .await;
    until_log(&app, &api, &subscription, |log| {
        statuses(log).len() == 4 && log[0]["status"] == "failed"
    })
    .await;
    until(&api, |listed| untouched(listed, 1)).await;
    receiver.answer(&[200]);
    api.post(&to_ping, json!({})).await.data();
    until_read(&api, &deliveries, |log| {
        statuses(log).len() == 5 && log[0]["status"] == "delivered"
    })
    .await;
    assert!(untouched(
        &api.get("/webhook-subscriptions").await.data(),
        1
    ));
    org.key().await.post(&to_ping, json!({})).await.error(404);
}

on_both_with!(
    failed_deliveries_of_a_disabled_subscription_go_to_a_successor,
    Receiver
);
async fn failed_deliveries_of_a_disabled_subscription_go_to_a_successor(
    app: App,
    receiver: Receiver,
) {
    let org = app.org().await;
    let api = org.key().await;
    let former = subscribe(&api, "reservation.created", &receiver.url).await;
    receiver.answer(&[500]);
    let flat = org.property(None, &[]).await;
    let records: Vec<Value> = (0..60)
        .map(|_| json!({ "kind": "reservation", "id": new_id(), "data": reservation(Some(flat)) }))
        .collect();
    org.sync(json!(records)).await.data();
    let all = |subscription: &Value| path(subscription, "/deliveries?limit=100");
    let finished = |log: &Value| statuses(log).iter().all(|status| *status != "pending");
    let log = while_time_passes(&app, until_read(&api, &all(&former), finished)).await;
    // The log of a disabled subscription can still be read. It still names the record of each
    // delivery.
    let failed = statuses(&log)
        .into_iter()
        .filter(|status| *status == "failed")
        .count();
    assert!(
        failed >= 50
            && log
                .as_array()
                .unwrap()
                .iter()
                .all(|row| row["recordType"] == "reservation" && row["recordId"].is_string()),
        "{log}"
    );
    let again = path(&former, "/redeliver-failed");
    let to = |id: &Value| json!({ "since": "2026-11-21T00:00:00Z", "toSubscriptionId": id });
    let other = subscribe(&api, "task.created", &receiver.url).await;
    api.post(&again, to(&other["id"])).await.error(409);
    api.post(&again, to(&former["id"])).await.error(409);
    let of_another_key = subscribe(&org.key().await, "reservation.created", &receiver.url).await;
    api.post(&again, to(&of_another_key["id"])).await.error(404);

    receiver.answer(&[200]);
    let successor = subscribe(&api, "reservation.created", &receiver.url).await;
    assert_eq!(
        api.post(&again, to(&successor["id"])).await.data(),
        json!({ "redelivered": 60 })
    );
    let moved = until_read(&api, &all(&successor), |log| {
        statuses(log)
            .iter()
            .filter(|status| **status == "delivered")
            .count()
            == 60
    })
    .await;
    let ids = |log: &Value| {
        log.as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(ids(&moved), ids(&log), "under the same ids");
    assert_eq!(api.get(&all(&former)).await.data(), json!([]));
    assert_eq!(
        api.post(&again, to(&successor["id"])).await.data(),
        json!({ "redelivered": 0 })
    );
}

on_both_with!(nothing_is_sent_for_a_disabled_subscription, Receiver);
async fn nothing_is_sent_for_a_disabled_subscription(app: App, receiver: Receiver) {
    let org = app.org().await;
    let member = new_id();
    org.member(member, None, Permission::VARIANTS, true).await;
    let token = org.token_of(member, Permission::VARIANTS).await;
    let subscription = subscribe(&token, "reservation.created", &receiver.url).await;
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    let sent = receiver.next().await;
    let deliveries = path(&subscription, "/deliveries");
    until_read(&token, &deliveries, |log| statuses(log) == ["delivered"]).await;
    org.member(member, None, &[Permission::ViewProperties], true)
        .await;
    for (path, body) in [
        (path(&subscription, "/ping"), json!({})),
        (
            redelivery(&subscription, sent.header("webhook-id")),
            json!({}),
        ),
        (
            path(&subscription, "/redeliver-failed"),
            json!({ "since": "2026-11-21T00:00:00Z" }),
        ),
    ] {
        token.post(&path, body).await.error(409);
    }
    token
        .post(&redelivery(&subscription, &new_id().to_string()), json!({}))
        .await
        .error(404);
    assert_eq!(
        statuses(&token.get(&deliveries).await.data()),
        ["delivered"],
        "owning it is enough to read its log"
    );
    assert!(receiver.is_quiet().await);
}

on_both_with!(both_secrets_sign_until_the_grace_period_ends, Receiver);
async fn both_secrets_sign_until_the_grace_period_ends(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    let rotate = path(&subscription, "/rotate-secret");
    let flat = org.property(None, &[]).await;
    // Makes the service send a delivery. Checks that the delivery has one signature for each of
    // these secrets, in this order.
    let assert_signed_by = async |secrets: &[&Value]| {
        org.reservation(Some(flat)).await;
        let delivery = receiver.next().await;
        let (id, timestamp) = (
            delivery.header("webhook-id"),
            delivery.header("webhook-timestamp"),
        );
        let expected: Vec<_> = secrets
            .iter()
            .map(|secret| signature(secret.as_str().unwrap(), id, timestamp, &delivery.raw))
            .collect();
        assert_eq!(delivery.header("webhook-signature"), expected.join(" "));
        // If the outcome of a delivery is not recorded when the lease of the delivery ends, the
        // service sends the delivery again. Later steps move the clock past the lease, so the test
        // waits for the outcome first.
        until_read(&api, &path(&subscription, "/deliveries"), |log| {
            statuses(log).iter().all(|status| *status == "delivered")
        })
        .await;
    };
    let first = subscription["signingSecret"].clone();
    let response = api.post(&rotate, json!({ "graceSeconds": 3600 })).await;
    let mut rotated = response.data();
    let second = rotated["signingSecret"].take();
    rotated.as_object_mut().unwrap().remove("signingSecret");
    assert_eq!(
        (response.status, &json!([rotated])),
        (200, &api.get("/webhook-subscriptions").await.data())
    );
    assert!(second.as_str().unwrap().starts_with("whsec_") && second != first);
    assert_signed_by(&[&second, &first]).await;
    app.clock.advance(3_599 * SECOND);
    assert_signed_by(&[&second, &first]).await;
    app.clock.advance(SECOND);
    assert_signed_by(&[&second]).await;
    // By default, deliveries also have a signature with the previous secret for one day after a
    // rotation.
    let third = api.post(&rotate, json!({})).await.data()["signingSecret"].clone();
    app.clock.advance(86_399 * SECOND);
    assert_signed_by(&[&third, &second]).await;
    app.clock.advance(SECOND);
    assert_signed_by(&[&third]).await;
    let fourth =
        api.post(&rotate, json!({ "graceSeconds": 0 })).await.data()["signingSecret"].clone();
    assert_signed_by(&[&fourth]).await;
    for grace in [json!(-1), json!(604_801), json!(1.5), json!("1h")] {
        assert_eq!(
            api.post(&rotate, json!({ "graceSeconds": grace }))
                .await
                .issues(),
            ["graceSeconds"]
        );
    }
    api.post(&rotate, json!({ "graceSeconds": 604_800 }))
        .await
        .data();
    org.key().await.post(&rotate, json!({})).await.error(404);
}

on_both_with!(an_app_acts_for_a_member_in_a_single_organization, Receiver);
async fn an_app_acts_for_a_member_in_a_single_organization(app: App, receiver: Receiver) {
    let (org, other) = (app.org().await, app.org().await);
    let member = new_id();
    for here in [&org, &other] {
        here.member(member, None, &[Permission::ViewTasks], true)
            .await;
    }
    let token = org.token_of(member, &[Permission::ViewTasks]).await;
    subscribe(&token, "task.created", &receiver.url).await;
    // The platform creates a token for the same member and app in the second organization. This
    // moves the app's connection there. The connection to the first organization ends, and so
    // does its subscription.
    let body =
        json!({ "memberId": member, "oauthAppId": org.oauth_app, "permissions": ["view_tasks"] });
    let there = app
        .platform()
        .ok(Method::POST, &other.path("/access-tokens"), Some(body))
        .await;
    token.get("/tasks").await.error(401);
    app.api(there["token"].as_str().unwrap())
        .get("/tasks")
        .await
        .data();
    assert_eq!(reasons(&org).await, [reason("credential_invalid")]);
}

on_both_with!(ended_deliveries_are_swept_after_their_retention, Receiver);
async fn ended_deliveries_are_swept_after_their_retention(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    let deliveries = path(&subscription, "/deliveries");
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    until_read(&api, &deliveries, |log| statuses(log) == ["delivered"]).await;
    receiver.answer(&[500]);
    org.reservation(Some(flat)).await;
    until_read(&api, &deliveries, |log| attempts(&log[0]) == 1).await;
    app.clock.advance(RETENTION);
    app.server.sweep_once().await;
    assert_eq!(
        statuses(&api.get(&deliveries).await.data()),
        ["pending", "delivered"],
        "to the millisecond"
    );
    app.clock.advance(Duration::from_millis(1));
    app.server.sweep_once().await;
    assert_eq!(
        statuses(&api.get(&deliveries).await.data()),
        ["pending"],
        "what is still to be sent stays"
    );
    until_log(&app, &api, &subscription, |log| {
        log[0]["status"] == "failed"
    })
    .await;
    app.server.sweep_once().await;
    assert_eq!(api.get(&deliveries).await.data(), json!([]));
}

on_both_with!(metrics_show_the_backlog_of_deliveries, Receiver);
async fn metrics_show_the_backlog_of_deliveries(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let measured = async || {
        app.http
            .get(format!("{}/metrics", app.base))
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    };
    assert!(
        measured()
            .await
            .contains("\nvestibule_webhook_deliveries_pending 0\n")
    );
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    receiver.answer(&[500]);
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    until_read(&api, &path(&subscription, "/deliveries"), |log| {
        attempts(&log[0]) == 1
    })
    .await;
    let text = measured().await;
    for line in [
        "vestibule_webhook_deliveries_pending 1",
        "vestibule_webhook_oldest_due_seconds 0",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line}\n{text}");
    }
    // The delivery is not due yet and the test clock does not advance, so it is still pending
    // when the metrics are read.
    let later = app.clock.now().checked_add(90 * SECOND).unwrap();
    let waiting = app
        .server
        .service
        .store
        .read(move |tx| backlog(tx, later))
        .await
        .unwrap();
    assert_eq!(waiting.pending, 1);
    assert!(
        (89 * SECOND..=90 * SECOND).contains(&waiting.oldest_due),
        "{waiting:?}"
    );
}

/// Returns for each subscription of an organization, in order of creation, the reason why the
/// service disabled it. For an active subscription the reason is `None`.
async fn reasons(org: &Org<'_>) -> Vec<Option<String>> {
    let id = org.id;
    let rows = org
        .app
        .server
        .service
        .store
        .read(move |tx| tx.rows(&REASONS, &[id.into()]))
        .await
        .unwrap();
    rows.iter().map(|row| row.get(0).unwrap()).collect()
}

/// Converts the name of a reason into an item of the result of [`reasons`]. `None` stands for an
/// active subscription.
fn reason(name: impl Into<Option<&'static str>>) -> Option<String> {
    name.into().map(str::to_owned)
}

on_both!(
    an_expired_credential_is_detected_without_a_delivery,
    "--webhook-allow=127.0.0.0/8"
);
async fn an_expired_credential_is_detected_without_a_delivery(app: App) {
    let org = app.org().await;
    let soon = "2026-11-21T09:31:00Z";
    let body = json!({ "name": "Brief", "permissions": Permission::VARIANTS, "expiresAt": soon });
    let brief = app
        .platform()
        .post(&org.path("/api-keys"), body)
        .await
        .data();
    subscribe(
        &app.api(brief["token"].as_str().unwrap()),
        "task.created",
        CLOSED_ADDRESS,
    )
    .await;
    subscribe(&org.key().await, "task.created", CLOSED_ADDRESS).await;
    // The permissions of a connection between an app and a member are those of its unexpired
    // tokens.
    let member = new_id();
    org.member(member, None, Permission::VARIANTS, true).await;
    let body = json!({
        "memberId": member,
        "oauthAppId": org.oauth_app,
        "permissions": Permission::VARIANTS,
        "expiresAt": soon,
    });
    let full = app
        .platform()
        .post(&org.path("/access-tokens"), body)
        .await
        .data();
    let full = app.api(full["token"].as_str().unwrap());
    subscribe(&full, "task.created", CLOSED_ADDRESS).await;
    subscribe(&full, "device.offline", CLOSED_ADDRESS).await;
    let tasks_only = org.token_of(member, &[Permission::ViewTasks]).await;
    let other = new_id();
    org.member(other, None, Permission::VARIANTS, true).await;
    let body = json!({
        "memberId": other,
        "oauthAppId": org.oauth_app,
        "permissions": Permission::VARIANTS,
        "expiresAt": soon,
    });
    let only = app
        .platform()
        .post(&org.path("/access-tokens"), body)
        .await
        .data();
    subscribe(
        &app.api(only["token"].as_str().unwrap()),
        "task.created",
        CLOSED_ADDRESS,
    )
    .await;

    app.clock.advance(59 * SECOND);
    app.server.sweep_once().await;
    assert_eq!(reasons(&org).await, [None, None, None, None, None]);
    app.clock.advance(SECOND);
    app.server.sweep_once().await;
    let invalid = || reason("credential_invalid");
    assert_eq!(
        reasons(&org).await,
        [invalid(), None, None, reason("permission_lost"), invalid()]
    );
    let listed = tasks_only.get("/webhook-subscriptions").await.data();
    assert_eq!(
        (&listed[0]["disabledAt"], &listed[1]["disabledAt"]),
        (&Value::Null, &json!("2026-11-21T09:31:00.000Z"))
    );
    // A disabled subscription stays disabled, even if the member gets a new token.
    org.token_of(member, Permission::VARIANTS).await;
    app.clock.advance(60 * SECOND);
    app.server.sweep_once().await;
    assert_eq!(
        reasons(&org).await,
        [invalid(), None, None, reason("permission_lost"), invalid()]
    );
}

on_both!(
    a_new_2fa_rule_disables_subscriptions_of_members_without_it,
    "--webhook-allow=127.0.0.0/8"
);
async fn a_new_2fa_rule_disables_subscriptions_of_members_without_it(app: App) {
    let org = app.org().await;
    let (enrolled, lax) = (new_id(), new_id());
    org.member(enrolled, None, Permission::VARIANTS, true).await;
    org.member(lax, None, Permission::VARIANTS, false).await;
    for api in [
        org.token_of(enrolled, Permission::VARIANTS).await,
        org.token_of(lax, Permission::VARIANTS).await,
        org.key().await,
    ] {
        subscribe(&api, "task.created", CLOSED_ADDRESS).await;
    }
    org.put("", json!({ "name": "Strict", "isTwoFactorRequired": true }))
        .await;
    app.server.sweep_once().await;
    assert_eq!(
        reasons(&org).await,
        [None, reason("credential_invalid"), None],
        "the rule is for members"
    );
}

on_both!(every_subscribable_event_is_described);
async fn every_subscribable_event_is_described(app: App) {
    let api = app.org().await.key_with(&[]).await;
    app.anonymous().get("/webhook-event-types").await.error(401);
    let types = api.get("/webhook-event-types").await.data();
    let types = types.as_array().unwrap();
    assert_eq!(types.len(), Event::VARIANTS.len());
    let document = openapi::document(
        vestibule::app::app(),
        Surface::Public,
        "http://127.0.0.1:8080",
    );
    for (reported, event) in types.iter().zip(Event::VARIANTS) {
        let fields: Vec<_> = reported.as_object().unwrap().keys().cloned().collect();
        assert_eq!(
            fields,
            ["description", "event", "example", "permission", "schema"]
        );
        assert_eq!(
            (reported["event"].as_str(), reported["permission"].as_str()),
            (Some(event.as_ref()), Some(event.permission().as_ref()))
        );
        assert_eq!(reported["description"].as_str(), Some(event.fires()));
        let schema = jsonschema::draft202012::new(&reported["schema"]).unwrap();
        let failures: Vec<_> = schema
            .iter_errors(&reported["example"])
            .map(|error| error.to_string())
            .collect();
        assert!(failures.is_empty(), "{}: {failures:?}", event.as_ref());
        // The list of event types and the OpenAPI document contain the same schema for each
        // event.
        let operation = &document["webhooks"][event.as_ref()]["post"];
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let meant = |schema: &Value| match schema["$ref"].as_str() {
            Some(place) => document.pointer(&place[1..]).unwrap().clone(),
            None => schema.clone(),
        };
        let mut data = meant(&meant(body)["properties"]["data"]);
        data.as_object_mut().unwrap().remove("examples");
        assert_eq!(data, reported["schema"], "{}", event.as_ref());
    }
}

on_both!(
    workflow_steps_are_listed_for_subscriptions,
    "--webhook-allow=127.0.0.0/8"
);
async fn workflow_steps_are_listed_for_subscriptions(app: App) {
    let org = app.org().await;
    let node = |id: &str, label: &str| {
        json!({
            "id": id,
            "nodeType": "external_automation",
            "label": label,
        })
    };
    let wait = json!({ "id": "w", "nodeType": "delay", "label": "Wait" });
    let welcome = org
        .record(
            "workflow",
            json!({
                "name": "Welcome",
                "draftNodes": [node("b", "Draft B"), node("a", "Draft A")],
                "liveNodes": [wait, node("b", "Live B")],
            }),
        )
        .await;
    app.clock.advance(SECOND);
    let farewell = org
        .record(
            "workflow",
            json!({ "name": "Farewell", "liveNodes": [node("z", "Wave")] }),
        )
        .await;
    app.org()
        .await
        .record(
            "workflow",
            json!({ "name": "Elsewhere", "liveNodes": [node("x", "X")] }),
        )
        .await;
    let step = |workflow: Uuid, name: &str, node: &str, label: &str, is_live: bool| {
        json!({
            "id": format!("{workflow}:{node}"),
            "name": format!("{name} → {label}"),
            "workflowId": workflow,
            "nodeId": node,
            "label": label,
            "isLive": is_live,
        })
    };
    let all = json!([
        step(welcome, "Welcome", "b", "Live B", true),
        step(welcome, "Welcome", "a", "Draft A", false),
        step(farewell, "Farewell", "z", "Wave", true),
    ]);
    let api = org.limited(&[]).await;
    let listed = api.get("/workflow-zapier-steps").await;
    assert_eq!(
        (listed.data(), &listed.body["meta"]["pagination"]),
        (
            all.clone(),
            &json!({ "limit": 50, "offset": 0, "total": 3 })
        )
    );
    let page = api.get("/workflow-zapier-steps?limit=1&offset=1").await;
    assert_eq!(
        (page.data(), &page.body["meta"]["pagination"]["total"]),
        (json!([all[1]]), &json!(3))
    );
    assert_eq!(
        api.get("/workflow-zapier-steps?offset=9223372036854775807")
            .await
            .data(),
        json!([])
    );
    assert_eq!(
        api.get("/workflow-zapier-steps?limit=101").await.issues(),
        ["limit"]
    );
    org.key_without(Permission::ViewWorkflows)
        .await
        .get("/workflow-zapier-steps")
        .await
        .error(403);
    // A client can subscribe to each workflow step in the list at `/workflow-zapier-steps`.
    let body = json!({
        "event": "workflow.step",
        "targetUrl": CLOSED_ADDRESS,
        "filters": { "workflowStep": all[1]["id"] },
    });
    assert_eq!(
        api.post("/webhook-subscriptions", body).await.data()["filters"]["workflowStep"],
        all[1]["id"]
    );
}

/// The dispatcher skips locked rows when it claims deliveries. Nodes therefore wait neither for
/// each other nor for the deletion of a subscription.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_delivery_does_not_delay_others() {
    let receiver = Receiver::start().await;
    let flags = receiver.flags();
    let Some(app) = App::on_postgres(&flags.each_ref().map(String::as_str)).await else {
        return;
    };
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    receiver.answer(&[500, 200]);
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    let held = receiver.next().await;
    until_read(&api, &path(&subscription, "/deliveries"), |log| {
        attempts(&log[0]) == 1
    })
    .await;

    let url = app.database_url.clone();
    let (locked, release) = (
        tokio::sync::oneshot::channel(),
        std::sync::mpsc::channel::<()>(),
    );
    let holder = tokio::task::spawn_blocking(move || {
        let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
        let mut transaction = client.transaction().unwrap();
        assert_eq!(
            transaction
                .query("select 1 from webhook_delivery for update", &[])
                .unwrap()
                .len(),
            1
        );
        locked.0.send(()).unwrap();
        release.1.recv().unwrap();
    });
    locked.1.await.unwrap();
    app.clock.advance(SECOND);
    org.reservation(Some(flat)).await;
    assert_ne!(
        receiver.next().await.header("webhook-id"),
        held.header("webhook-id")
    );
    release.0.send(()).unwrap();
    holder.await.unwrap();
    assert_eq!(
        retried(&app, &receiver).await.header("webhook-id"),
        held.header("webhook-id")
    );
}
