//! Tests of webhooks, from a change by the platform to a signed delivery (rules: webhooks;
//! sync#events).

use std::time::Duration;
use strum::VariantArray;

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};

use test_support::receiver::{Receiver, retried, signature, subscribe, until};
use test_support::{Api, App, new_id, on_both, on_both_with, reservation};

on_both_with!(a_reservation_event_is_delivered_signed, Receiver);
async fn a_reservation_event_is_delivered_signed(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let created = subscribe(&api, "reservation.created", &receiver.url).await;
    let flat = org.property(None, &[]).await;
    let pushed = org
        .sync(json!([{ "kind": "reservation", "id": new_id(), "data": reservation(Some(flat)) }]))
        .await
        .data();
    assert_eq!(pushed, json!({ "applied": 1, "events": 1, "warnings": [] }));
    let delivery = receiver.next().await;
    assert_eq!(delivery.header("user-agent"), "Vestibule-Webhooks/1");
    assert_eq!(delivery.header("content-type"), "application/json");
    assert_eq!(
        delivery.header("webhook-id"),
        delivery.body["id"].as_str().unwrap()
    );
    let expected = signature(
        created["signingSecret"].as_str().unwrap(),
        delivery.header("webhook-id"),
        delivery.header("webhook-timestamp"),
        &delivery.raw,
    );
    assert_eq!(delivery.header("webhook-signature"), expected);
    let fields: Vec<_> = delivery.body.as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, ["data", "event", "id", "occurredAt"]);
    assert_eq!(
        (&delivery.body["event"], &delivery.body["occurredAt"]),
        (
            &json!("reservation.created"),
            &json!("2026-11-21T09:30:00.000Z")
        )
    );
    let read = api
        .get(&format!(
            "/reservations/{}",
            delivery.body["data"]["id"].as_str().unwrap()
        ))
        .await
        .data();
    assert_eq!(delivery.body["data"], read, "data is what the read returns");
    let listed = until(&api, |listed| !listed[0]["lastDeliveredAt"].is_null()).await;
    assert_eq!(
        (
            &listed[0]["consecutiveFailures"],
            listed[0].get("signingSecret")
        ),
        (&json!(0), None)
    );
    let history = json!({
        "isInitialSync": true,
        "records": [{ "kind": "reservation", "id": new_id(), "data": reservation(Some(flat)) }],
    });
    assert_eq!(
        app.platform()
            .post(&org.path("/sync"), history)
            .await
            .data()["events"],
        0
    );
    assert!(receiver.is_quiet().await);
}

on_both_with!(failed_deliveries_are_retried_with_the_same_id, Receiver);
async fn failed_deliveries_are_retried_with_the_same_id(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    subscribe(&api, "reservation.created", &receiver.url).await;
    receiver.answer(&[500, 302, 204]);
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    let first = receiver.next().await;
    app.clock.advance(Duration::from_secs(1));
    let second = retried(&app, &receiver).await;
    let third = retried(&app, &receiver).await;
    assert_eq!(
        (first.header("webhook-id"), second.header("webhook-id")),
        (second.header("webhook-id"), third.header("webhook-id"))
    );
    until(&api, |listed| !listed[0]["lastDeliveredAt"].is_null()).await;
    assert!(receiver.is_quiet().await);
}

on_both_with!(
    five_attempts_count_as_a_single_failure_and_410_deletes,
    Receiver
);
async fn five_attempts_count_as_a_single_failure_and_410_deletes(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    subscribe(&api, "reservation.created", &receiver.url).await;
    receiver.answer(&[500]);
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    receiver.next().await;
    for _ in 0..4 {
        retried(&app, &receiver).await;
    }
    until(&api, |listed| listed[0]["consecutiveFailures"] == 1).await;
    app.clock.advance(Duration::from_secs(60));
    app.server.dependencies.due.notify_one();
    assert!(receiver.is_quiet().await, "five attempts in all");
    receiver.answer(&[410]);
    org.reservation(Some(flat)).await;
    receiver.next().await;
    until(&api, |listed| listed == &json!([])).await;
}

on_both_with!(events_of_other_properties_are_not_delivered, Receiver);
async fn events_of_other_properties_are_not_delivered(app: App, receiver: Receiver) {
    let org = app.org().await;
    let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let limited = org.limited(&[mine]).await;
    subscribe(&limited, "reservation.created", &receiver.url).await;
    let unseen = json!({
        "event": "reservation.created",
        "targetUrl": receiver.url,
        "filters": { "propertyIds": [theirs] },
    });
    limited
        .post("/webhook-subscriptions", unseen.clone())
        .await
        .error(404);
    org.key()
        .await
        .post("/webhook-subscriptions", unseen)
        .await
        .data();
    org.reservation(Some(mine)).await;
    assert_eq!(
        receiver.next().await.body["data"]["propertyId"],
        json!(mine)
    );
    org.reservation(Some(theirs)).await;
    assert_eq!(
        receiver.next().await.body["data"]["propertyId"],
        json!(theirs)
    );
    assert!(receiver.is_quiet().await, "once, to the one who sees it");
}

on_both_with!(a_revoked_credential_receives_no_more_events, Receiver);
async fn a_revoked_credential_receives_no_more_events(app: App, receiver: Receiver) {
    let org = app.org().await;
    let (key, id) = org.key_and_id(Permission::VARIANTS).await;
    subscribe(&key, "reservation.created", &receiver.url).await;
    let member = new_id();
    org.member(member, None, Permission::VARIANTS, true).await;
    let token = org.token_of(member, Permission::VARIANTS).await;
    subscribe(&token, "reservation.created", &receiver.url).await;
    app.platform()
        .send(Method::DELETE, &org.path(&format!("/api-keys/{id}")), None)
        .await
        .data();
    org.member(member, None, &[Permission::ViewProperties], true)
        .await;
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    let listed = until(&token, |listed| !listed[0]["disabledAt"].is_null()).await;
    assert_eq!(listed[0]["disabledReason"], "permission_lost");
    assert!(receiver.is_quiet().await);
}

on_both!(targets_must_be_public_and_https);
async fn targets_must_be_public_and_https(app: App) {
    let api = app.org().await.key().await;
    for url in [
        "http://example.com/x",
        "https://u:p@example.com/",
        "https://@example.com/",
        "https://10.0.0.8/",
        "https://[::1]/",
        "https://0x7f.1.2.3.4/",
        "https://2130706433/",
        "https://127.1/",
        "https://localhost/",
        "https://db.internal/",
        "https://[::ffff:127.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://169.254.169.254/",
        "nonsense",
        "",
    ] {
        let response = api
            .post(
                "/webhook-subscriptions",
                json!({ "event": "task.created", "targetUrl": url }),
            )
            .await;
        assert_eq!(response.issues(), ["targetUrl"], "{url}");
    }
    let kept = api
        .post(
            "/webhook-subscriptions",
            json!({ "event": "task.created", "targetUrl": "https://hooks.invalid/x" }),
        )
        .await
        .data();
    assert_eq!(
        kept["filters"],
        json!({ "propertyIds": [], "workflowStep": null })
    );
}

on_both!(subscriptions_belong_to_their_credential);
async fn subscriptions_belong_to_their_credential(app: App) {
    let org = app.org().await;
    let (api, other) = (org.key().await, org.key().await);
    let url = "https://hooks.invalid/x";
    let first = subscribe(&api, "task.created", url).await;
    subscribe(&api, "task.started", url).await;
    subscribe(&api, "task.started", "https://hooks.invalid/x/").await;
    assert_eq!(other.get("/webhook-subscriptions").await.data(), json!([]));
    let remove = |api: &Api, query: String| {
        let (api, path) = (api.clone(), format!("/webhook-subscriptions{query}"));
        async move { api.send(Method::DELETE, &path, None).await }
    };
    let id = first["id"].as_str().unwrap().to_owned();
    remove(&other, format!("?id={id}")).await.error(404);
    for query in [
        String::new(),
        format!("?id={id}&target_url={url}"),
        "?id=x".into(),
    ] {
        remove(&api, query).await.error(400);
    }
    assert_eq!(
        remove(&api, format!("?id={id}")).await.data(),
        json!({ "deleted": 1 })
    );
    assert_eq!(
        remove(&api, format!("?target_url={url}")).await.data(),
        json!({ "deleted": 1 })
    );
    remove(&api, format!("?target_url={url}")).await.error(404);
    assert_eq!(
        api.get("/webhook-subscriptions")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

on_both!(deactivating_a_member_disables_their_subscriptions);
async fn deactivating_a_member_disables_their_subscriptions(app: App) {
    let org = app.org().await;
    let member = new_id();
    org.member(member, None, Permission::VARIANTS, true).await;
    let token = org.token_of(member, Permission::VARIANTS).await;
    subscribe(&token, "task.created", "https://hooks.invalid/x").await;
    let mut off = json!({
        "name": "Member",
        "email": "member@example.com",
        "permissions": Permission::VARIANTS,
        "propertyIds": null,
        "isActive": false,
        "isTwoFactorEnrolled": true,
    });
    org.put(&format!("/members/{member}"), off.clone()).await;
    token.get("/webhook-subscriptions").await.error(401);
    off["isActive"] = json!(true);
    org.put(&format!("/members/{member}"), off).await;
    let listed = token.get("/webhook-subscriptions").await.data();
    assert_eq!(
        (
            &listed[0]["disabledReason"],
            listed[0]["disabledAt"].is_string()
        ),
        (&json!("credential_invalid"), true)
    );
    subscribe(&token, "device.offline", "https://hooks.invalid/x").await;
    subscribe(&token, "task.created", "https://hooks.invalid/x").await;
    org.member(member, None, &[Permission::ViewDevices], true)
        .await;
    let reasons: Vec<_> = token
        .get("/webhook-subscriptions")
        .await
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["disabledReason"].clone())
        .collect();
    assert_eq!(
        reasons,
        [
            json!("credential_invalid"),
            Value::Null,
            json!("permission_lost")
        ]
    );
}

on_both!(
    a_credential_has_at_most_100_subscriptions,
    "--webhook-allow=127.0.0.0/8"
);
async fn a_credential_has_at_most_100_subscriptions(app: App) {
    let api = app.org().await.key().await;
    let racing = (0..104).map(|number| {
        let api = api.clone();
        async move {
            api.post(
                "/webhook-subscriptions",
                json!({
                    "event": "task.created",
                    "targetUrl": format!("https://127.0.0.1:9/{number}"),
                }),
            )
            .await
            .status
        }
    });
    let statuses = futures_util::future::join_all(racing).await;
    assert_eq!(
        statuses.iter().filter(|status| **status == 201).count(),
        100
    );
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 4);
}
