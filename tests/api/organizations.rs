//! Tests of organizations, their members and their API keys in the platform interface (rules:
//! organizations; members).

use std::time::Duration;

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use uuid::Uuid;

use test_support::receiver::{Receiver, subscribe, until};
use test_support::{Api, App, Org, new_id, on_both, on_both_with};

const SECOND: Duration = Duration::from_secs(1);

fn ids(listed: &Value) -> Vec<Uuid> {
    listed
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap().parse().unwrap())
        .collect()
}

/// Rotates the token of a key. Returns a client with the new token.
async fn rotate(org: &Org<'_>, id: &str, body: Value) -> Api {
    let rotated = org
        .app
        .platform()
        .post(&org.path(&format!("/api-keys/{id}/rotate")), body)
        .await;
    assert_eq!(
        (rotated.status, rotated.data()["id"].as_str()),
        (201, Some(id))
    );
    org.app.api(rotated.data()["token"].as_str().unwrap())
}

on_both!(organizations_are_listed_by_id);
async fn organizations_are_listed_by_id(app: App) {
    let mut created = Vec::new();
    for _ in 0..5 {
        created.push(app.org().await.id);
    }
    created.sort();
    let platform = app.platform();
    let listed = platform.get("/organizations").await;
    assert_eq!(ids(&listed.data()), created);
    assert_eq!(
        listed.body["meta"]["pagination"],
        json!({ "limit": 50, "offset": 0, "total": 5 })
    );
    assert_eq!(
        listed.data()[0],
        platform
            .get(&format!("/organizations/{}", created[0]))
            .await
            .data()
    );
    let page = platform.get("/organizations?limit=2&offset=3").await;
    assert_eq!(
        (ids(&page.data()), &page.body["meta"]["pagination"]["total"]),
        (created[3..].to_vec(), &json!(5))
    );
    assert_eq!(
        platform
            .get("/organizations?limit=200&offset=9")
            .await
            .data(),
        json!([])
    );
    for query in ["limit=201", "limit=0", "offset=-1"] {
        assert_eq!(
            platform
                .get(&format!("/organizations?{query}"))
                .await
                .status,
            400,
            "{query}"
        );
    }
}

on_both!(omitted_organization_fields_stay_unchanged);
async fn omitted_organization_fields_stay_unchanged(app: App) {
    let org = app
        .org_with(json!({
            "name": "Casa",
            "country": "ES",
            "languages": ["en", "es"],
            "isTwoFactorRequired": true,
        }))
        .await;
    let settings = |read: &Value| {
        json!([
            read["name"],
            read["country"],
            read["languages"],
            read["isTwoFactorRequired"]
        ])
    };
    for (sent, expected) in [
        (json!({}), json!(["Casa", "ES", ["en", "es"], true])),
        (
            json!({ "name": "Casa Mar" }),
            json!(["Casa Mar", "ES", ["en", "es"], true]),
        ),
        (
            json!({ "country": "FR" }),
            json!(["Casa Mar", "FR", ["en", "es"], true]),
        ),
        (
            json!({ "languages": ["fr"] }),
            json!(["Casa Mar", "FR", ["en", "fr"], true]),
        ),
        (
            json!({ "isTwoFactorRequired": false, "country": null }),
            json!(["Casa Mar", "FR", ["en", "fr"], false]),
        ),
    ] {
        let put = org.put("", sent.clone()).await;
        assert_eq!(settings(&put), expected, "{sent}");
        assert_eq!(
            app.platform().get(&org.path("")).await.data(),
            put,
            "{sent}"
        );
    }
    // A request that changes nothing does not change `updatedAt`.
    let before = app.platform().get(&org.path("")).await.data();
    app.clock.advance(Duration::from_secs(1));
    for same in [
        json!({}),
        json!({ "name": null }),
        json!({ "name": "Casa Mar", "languages": ["fr", "en"] }),
    ] {
        assert_eq!(org.put("", same).await, before);
    }
    assert!(
        org.put("", json!({ "name": "Casa" })).await["updatedAt"].as_str()
            > before["updatedAt"].as_str()
    );
    let fresh = format!("/organizations/{}", new_id());
    assert_eq!(
        app.platform()
            .send(Method::PUT, &fresh, Some(json!({ "country": "ES" })))
            .await
            .issues(),
        ["name"]
    );
    assert_eq!(
        app.platform()
            .send(Method::PUT, &fresh, Some(json!({ "name": null })))
            .await
            .issues(),
        ["name"]
    );
    app.platform().get(&fresh).await.error(404);
    let created = app
        .platform()
        .ok(Method::PUT, &fresh, Some(json!({ "name": "Bare" })))
        .await;
    assert_eq!(settings(&created), json!(["Bare", "US", ["en"], false]));
}

on_both!(members_are_listed_and_removed);
async fn members_are_listed_and_removed(app: App) {
    let org = app.org().await;
    let mut members: Vec<Uuid> = (0..3).map(|_| new_id()).collect();
    for member in members.iter().rev() {
        org.member(*member, None, Permission::VARIANTS, true).await;
    }
    members.sort();
    let listed = app.platform().get(&org.path("/members")).await;
    assert_eq!(
        (
            ids(&listed.data()),
            &listed.body["meta"]["pagination"]["total"]
        ),
        (members.clone(), &json!(3))
    );
    assert_eq!(
        ids(&app
            .platform()
            .get(&org.path("/members?limit=1&offset=1"))
            .await
            .data()),
        members[1..2]
    );
    assert_eq!(
        app.platform()
            .get(&org.path("/members?limit=201"))
            .await
            .issues(),
        ["limit"]
    );

    let (leaving, staying) = (
        org.token_of(members[0], Permission::VARIANTS).await,
        org.token_of(members[1], Permission::VARIANTS).await,
    );
    let subscription = subscribe(&leaving, "task.created", "https://receiver.example/").await;
    for api in [&leaving, &staying, &leaving] {
        api.get("/portals").await.data();
    }
    let path = org.path(&format!("/members/{}", members[0]));
    assert_eq!(
        app.platform().ok(Method::DELETE, &path, None).await,
        json!({ "success": true })
    );
    leaving.get("/portals").await.error(401);
    staying.get("/portals").await.data();
    assert_eq!(
        ids(&app.platform().get(&org.path("/members")).await.data()),
        members[1..]
    );
    app.platform()
        .send(Method::DELETE, &path, None)
        .await
        .error(404);

    // A member who is added again with the id of a removed member has the credential of the removed
    // member. The subscriptions of that credential still exist, and are disabled.
    org.member(members[0], None, Permission::VARIANTS, true)
        .await;
    leaving.get("/portals").await.error(401);
    let listed = org
        .token_of(members[0], Permission::VARIANTS)
        .await
        .get("/webhook-subscriptions")
        .await
        .data();
    assert_eq!(
        (&listed[0]["id"], &listed[0]["disabledReason"]),
        (&subscription["id"], &json!("credential_invalid"))
    );
    let elsewhere = app.org().await;
    app.platform()
        .send(
            Method::DELETE,
            &elsewhere.path(&format!("/members/{}", members[1])),
            None,
        )
        .await
        .error(404);
    staying.get("/portals").await.data();
}

on_both!(guest_links_are_returned_in_the_requested_order);
async fn guest_links_are_returned_in_the_requested_order(app: App) {
    let org = app.org().await;
    let stays: Vec<Uuid> = (0..1_000).map(|_| new_id()).collect();
    let records: Vec<Value> = stays
        .iter()
        .map(|id| {
            json!({
                "kind": "reservation",
                "id": id,
                "data": test_support::reservation(None),
            })
        })
        .collect();
    app.platform()
        .post(
            &org.path("/sync"),
            json!({ "isInitialSync": true, "records": records }),
        )
        .await
        .data();
    let path = org.path("/guest-links");
    let backwards: Vec<Uuid> = stays.iter().rev().copied().collect();
    let links = app
        .platform()
        .post(&path, json!({ "reservationIds": backwards }))
        .await;
    assert_eq!(links.status, 200);
    let links = links.data();
    let links = links.as_array().unwrap();
    assert!(
        links.iter().map(|link| &link["reservationId"]).eq(backwards
            .iter()
            .map(|id| json!(id))
            .collect::<Vec<_>>()
            .iter())
    );
    let one = app
        .platform()
        .post(
            &org.path(&format!("/reservations/{}/guest-link", backwards[7])),
            json!({}),
        )
        .await
        .data();
    assert_eq!(
        (&links[7]["url"], &links[7]["token"]),
        (&one["url"], &one["token"])
    );
    let twice = app
        .platform()
        .post(
            &path,
            json!({ "reservationIds": [stays[0], stays[1], stays[0]] }),
        )
        .await
        .data();
    assert_eq!(
        (&twice[0], &twice[2], twice.as_array().unwrap().len()),
        (&links[999], &links[999], 3)
    );
    assert_eq!(
        app.platform()
            .post(&path, json!({ "reservationIds": [] }))
            .await
            .data(),
        json!([])
    );

    app.platform()
        .post(&path, json!({ "reservationIds": [stays[0], new_id()] }))
        .await
        .error(404);
    org.delete_record("reservation", stays[1]).await;
    app.platform()
        .post(&path, json!({ "reservationIds": [stays[1]] }))
        .await
        .error(404);
    let elsewhere = app.org().await;
    app.platform()
        .post(
            &elsewhere.path("/guest-links"),
            json!({ "reservationIds": [stays[0]] }),
        )
        .await
        .error(404);
    let many: Vec<Uuid> = std::iter::repeat_n(stays[0], 1_001).collect();
    assert_eq!(
        app.platform()
            .post(&path, json!({ "reservationIds": many }))
            .await
            .issues(),
        ["reservationIds"]
    );
}

on_both!(a_rotated_key_keeps_its_old_token_for_the_grace_period);
async fn a_rotated_key_keeps_its_old_token_for_the_grace_period(app: App) {
    let org = app.org().await;
    let (first, id) = org.key_and_id(&[Permission::ViewProperties]).await;
    let created = app.platform().get(&org.path("/api-keys")).await.data()[0].clone();
    app.clock.advance(SECOND);
    let path = org.path(&format!("/api-keys/{id}/rotate"));
    let rotated = app
        .platform()
        .post(&path, json!({ "graceSeconds": 60 }))
        .await
        .data();
    let second = app.api(rotated["token"].as_str().unwrap());
    let mut without_token = rotated;
    assert!(
        without_token
            .as_object_mut()
            .unwrap()
            .remove("token")
            .unwrap()
            .as_str()
            .unwrap()
            .starts_with("sk_")
    );
    assert_eq!(
        without_token, created,
        "the credential is the one that was there"
    );
    assert_eq!(
        app.platform().get(&org.path("/api-keys")).await.data(),
        json!([created])
    );
    for _ in 0..2 {
        // In the second round, the responses may come from the cache. The old token must expire
        // nevertheless.
        first.get("/portals").await.data();
        second.get("/portals").await.data();
    }
    app.clock.advance(59 * SECOND);
    first.get("/portals").await.data();
    app.clock.advance(SECOND);
    first.get("/portals").await.error(401);
    second.get("/portals").await.data();

    let third = rotate(&org, &id, json!({})).await;
    app.clock.advance(Duration::from_secs(86_399));
    second.get("/portals").await.data();
    app.clock.advance(SECOND);
    second.get("/portals").await.error(401);
    let fourth = rotate(&org, &id, json!({ "graceSeconds": 604_800 })).await;
    let fifth = rotate(&org, &id, json!({ "graceSeconds": 604_800 })).await;
    third.get("/portals").await.error(401);
    fourth.get("/portals").await.data();
    fifth.get("/portals").await.data();
    let sixth = rotate(&org, &id, json!({ "graceSeconds": 0 })).await;
    for (api, status) in [(&fourth, 401), (&fifth, 401), (&sixth, 200)] {
        assert_eq!(api.get("/portals").await.status, status);
    }
    let seventh = rotate(&org, &id, json!({ "graceSeconds": 60 })).await;
    app.platform()
        .ok(Method::DELETE, &org.path(&format!("/api-keys/{id}")), None)
        .await;
    sixth.get("/portals").await.error(401);
    seventh.get("/portals").await.error(401);
    app.platform().post(&path, json!({})).await.error(404);
    let other = org.key_and_id(Permission::VARIANTS).await.1;
    for grace in [json!(-1), json!(604_801), json!("1")] {
        let refused = app
            .platform()
            .post(
                &org.path(&format!("/api-keys/{other}/rotate")),
                json!({ "graceSeconds": grace }),
            )
            .await;
        assert_eq!(refused.issues(), ["graceSeconds"]);
    }
    let elsewhere = app.org().await;
    app.platform()
        .post(
            &elsewhere.path(&format!("/api-keys/{other}/rotate")),
            json!({}),
        )
        .await
        .error(404);
}

on_both!(
    both_tokens_of_a_key_are_the_same_credential,
    "--rate-limit-per-minute=6"
);
async fn both_tokens_of_a_key_are_the_same_credential(app: App) {
    let org = app.org().await;
    let (old, id) = org.key_and_id(Permission::VARIANTS).await;
    let created = old
        .post_with_key("/portals", "once", json!({ "name": "Casa" }))
        .await;
    let new = rotate(&org, &id, json!({})).await;
    let again = new
        .post_with_key("/portals", "once", json!({ "name": "Casa" }))
        .await;
    assert_eq!(
        (&again.body, again.header("idempotency-replayed")),
        (&created.body, Some("true"))
    );
    old.post_with_key("/portals", "once", json!({ "name": "Other" }))
        .await
        .error(422);
    let subscription = subscribe(&old, "task.created", "https://receiver.example/").await;
    assert_eq!(
        new.get("/webhook-subscriptions").await.data()[0]["id"],
        subscription["id"]
    );
    old.get("/portals").await.data();
    new.get("/portals").await.error(429);
    old.get("/portals").await.error(429);
}

on_both!(an_expired_key_expires_with_all_its_tokens);
async fn an_expired_key_expires_with_all_its_tokens(app: App) {
    let org = app.org().await;
    let body = json!({
        "name": "k",
        "permissions": ["view_properties"],
        "expiresAt": "2026-11-21T09:31:00Z",
    });
    let created = app
        .platform()
        .post(&org.path("/api-keys"), body)
        .await
        .data();
    let old = app.api(created["token"].as_str().unwrap());
    let new = rotate(&org, created["id"].as_str().unwrap(), json!({})).await;
    for api in [&old, &new, &old, &new] {
        api.get("/portals").await.data();
    }
    app.clock.advance(60 * SECOND);
    old.get("/portals").await.error(401);
    new.get("/portals").await.error(401);
}

on_both_with!(a_rotated_key_keeps_its_subscriptions, Receiver);
async fn a_rotated_key_keeps_its_subscriptions(app: App, receiver: Receiver) {
    let org = app.org().await;
    let (old, id) = org.key_and_id(Permission::VARIANTS).await;
    subscribe(&old, "reservation.created", &receiver.url).await;
    let new = rotate(&org, &id, json!({ "graceSeconds": 60 })).await;
    let flat = org.property(None, &[]).await;
    for _ in 0..2 {
        org.reservation(Some(flat)).await;
        receiver.next().await;
        app.server.sweep_once().await;
        app.clock.advance(61 * SECOND);
    }
    old.get("/webhook-subscriptions").await.error(401);
    until(&new, |listed| {
        listed[0]["disabledAt"].is_null() && !listed[0]["lastDeliveredAt"].is_null()
    })
    .await;
}
