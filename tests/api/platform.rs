//! Tests of the platform interface: the platform key, and synchronized records (rules:
//! organizations#platform-key; sync).

use std::time::Duration;
use strum::VariantArray;

use engine::access::Permission;
use features::records::RecordKind;
use reqwest::Method;
use serde_json::{Value, json};

use test_support::{ApiResponse, App, new_id, on_both, reservation};

on_both!(the_platform_interface_accepts_only_its_key);
async fn the_platform_interface_accepts_only_its_key(app: App) {
    let org = app.org().await;
    let path = format!("{}/platform/v1/organizations/{}", app.base, org.id);
    ApiResponse::of(app.http.get(&path)).await.error(401);
    ApiResponse::of(app.http.get(&path).bearer_auth("pk_other"))
        .await
        .error(401);
    let key = org.key().await;
    ApiResponse::of(
        app.http
            .get(&path)
            .bearer_auth(key.token.as_deref().unwrap()),
    )
    .await
    .error(401);
    let read = app.platform().get(&org.path("")).await.data();
    assert_eq!(
        (&read["country"], &read["languages"]),
        (&json!("ES"), &json!(["en", "es", "fr"]))
    );
    app.platform()
        .get(&format!("/organizations/{}", new_id()))
        .await
        .error(404);
    app.api(test_support::PLATFORM_KEY)
        .get("/portals")
        .await
        .error(401);
    let replaced = org
        .put("", json!({ "name": "New", "languages": ["PT-br", "en"] }))
        .await;
    assert_eq!(
        (
            &replaced["country"],
            &replaced["languages"],
            &replaced["isTwoFactorRequired"]
        ),
        (&json!("ES"), &json!(["en", "pt-BR"]), &json!(false))
    );
    let bad = app
        .platform()
        .send(
            Method::PUT,
            &org.path(""),
            Some(json!({ "country": "ZZ", "languages": ["e"], "nmae": 1 })),
        )
        .await;
    assert_eq!(bad.issues(), ["country", "languages.0", "nmae"]);
}

on_both!(an_organization_id_that_is_not_a_uuid_gets_a_404_that_says_so);
async fn an_organization_id_that_is_not_a_uuid_gets_a_404_that_says_so(app: App) {
    let body = Some(json!({ "name": "New", "country": "ES", "languages": ["en"] }));
    for (method, path, body) in [
        (Method::GET, "/organizations/xx", None),
        (Method::GET, "/organizations/xx/api-keys", None),
        (
            Method::POST,
            "/organizations/xx/guest-links",
            Some(json!({})),
        ),
        (Method::PUT, "/organizations/xx", body),
        (Method::DELETE, "/organizations/xx", None),
    ] {
        let response = app.platform().send(method, path, body).await;
        let issues = &response.error(404)["details"]["issues"];
        assert_eq!(
            *issues,
            json!([{ "path": ["organizationId"], "message": "must be a UUID" }]),
            "{path}"
        );
    }
    let path = format!("{}/platform/v1/organizations/xx", app.base);
    ApiResponse::of(app.http.get(path)).await.error(401);
}

on_both!(tokens_are_shown_once_and_revoked_keys_get_401_at_once);
async fn tokens_are_shown_once_and_revoked_keys_get_401_at_once(app: App) {
    let org = app.org().await;
    let (key, id) = org.key_and_id(Permission::VARIANTS).await;
    assert!(key.token.as_deref().unwrap().starts_with("sk_"));
    key.get("/portals").await.data();
    let listed = app.platform().get(&org.path("/api-keys")).await.data();
    assert_eq!(
        (listed[0]["id"].as_str(), listed[0].get("token")),
        (Some(id.as_str()), None)
    );
    app.platform()
        .send(Method::DELETE, &org.path(&format!("/api-keys/{id}")), None)
        .await
        .data();
    key.get("/portals").await.error(401);
    app.platform()
        .send(Method::DELETE, &org.path(&format!("/api-keys/{id}")), None)
        .await
        .error(404);
    let bad =
        json!({ "name": "k", "permissions": ["view_all"], "expiresAt": "2020-01-01T00:00:00Z" });
    assert_eq!(
        app.platform()
            .post(&org.path("/api-keys"), bad)
            .await
            .issues(),
        ["expiresAt", "permissions.0"]
    );
    let brief = json!({
        "name": "k",
        "permissions": ["view_properties"],
        "expiresAt": "2026-11-21T09:31:00Z",
    });
    let brief = app
        .platform()
        .post(&org.path("/api-keys"), brief)
        .await
        .data();
    let brief = app.api(brief["token"].as_str().unwrap());
    brief.get("/portals").await.data();
    app.clock.advance(Duration::from_secs(60));
    brief.get("/portals").await.error(401);
}

on_both!(a_token_is_limited_to_the_current_rights_of_its_member);
async fn a_token_is_limited_to_the_current_rights_of_its_member(app: App) {
    let org = app
        .org_with(json!({ "name": "Strict", "isTwoFactorRequired": true }))
        .await;
    let member = new_id();
    org.member(member, None, &[Permission::ViewProperties], true)
        .await;
    let token = org.token_of(member, Permission::VARIANTS).await;
    token.get("/portals").await.data();
    token
        .post("/portals", json!({ "name": "No" }))
        .await
        .error(403);
    org.member(member, None, Permission::VARIANTS, false).await;
    assert_eq!(
        token.get("/portals").await.error(403)["code"],
        "TWO_FACTOR_REQUIRED"
    );
    org.key().await.get("/portals").await.data();
    org.member(member, None, Permission::VARIANTS, true).await;
    token
        .post("/portals", json!({ "name": "Yes" }))
        .await
        .data();
    let path = org.path(&format!("/connections/{}/{member}", org.oauth_app));
    app.platform()
        .send(Method::DELETE, &path, None)
        .await
        .data();
    token.get("/portals").await.error(401);
    let unknown = json!({ "memberId": new_id(), "oauthAppId": org.oauth_app, "permissions": [] });
    app.platform()
        .post(&org.path("/access-tokens"), unknown)
        .await
        .error(404);
    let unknown = json!({ "memberId": member, "oauthAppId": new_id(), "permissions": [] });
    app.platform()
        .post(&org.path("/access-tokens"), unknown)
        .await
        .error(404);
}

on_both!(a_sync_with_an_invalid_record_applies_nothing);
async fn a_sync_with_an_invalid_record_applies_nothing(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let response = org
        .sync(json!([
            { "kind": "tag", "id": new_id(), "data": { "name": "" } },
            {
                "kind": "property",
                "id": new_id(),
                "data": { "name": "F", "timezone": "Europe/Nowhere", "country": "es" },
            },
            { "kind": "tram", "id": "x", "data": {} },
            { "kind": "tag", "id": new_id() },
            { "kind": "tag", "id": new_id(), "data": { "name": "x" }, "colour": 1 },
        ]))
        .await;
    assert_eq!(
        response.issues(),
        [
            "records.1.data.country",
            "records.1.data.timezone",
            "records.2.id",
            "records.2.kind",
            "records.3.data",
            "records.4.colour",
        ]
    );
    let response = org
        .sync(json!([
            { "kind": "tag", "id": new_id(), "data": { "name": "Sea" } },
            {
                "kind": "property",
                "id": new_id(),
                "data": {
                    "name": "F",
                    "timezone": "Europe/Madrid",
                    "country": "ES",
                    "tagIds": [new_id()],
                    "propertyGroupId": new_id(),
                },
            },
        ]))
        .await;
    assert_eq!(
        response.issues(),
        ["records.1.data.propertyGroupId", "records.1.data.tagIds"]
    );
    assert_eq!(api.get("/tags").await.data(), json!([]));
    // The wrong reference of one record causes no issues for later, correct records of the same
    // sync.
    let later = new_id();
    let response = org
        .sync(json!([
            { "kind": "reservation", "id": new_id(), "data": reservation(Some(new_id())) },
            {
                "kind": "property",
                "id": later,
                "data": { "name": "F", "timezone": "Europe/Madrid", "country": "ES" },
            },
            { "kind": "reservation", "id": new_id(), "data": reservation(Some(later)) },
        ]))
        .await;
    assert_eq!(response.issues(), ["records.0.data.propertyId"]);
    // A record may refer to a record before it in the batch, but not to one after it.
    let (tag, flat) = (new_id(), new_id());
    let tag_record = json!({ "kind": "tag", "id": tag, "data": { "name": "Sea" } });
    let flat_record = json!({
        "kind": "property",
        "id": flat,
        "data": { "name": "F", "timezone": "Europe/Madrid", "country": "ES", "tagIds": [tag] },
    });
    assert_eq!(
        org.sync(json!([flat_record, tag_record])).await.issues(),
        ["records.0.data.tagIds"]
    );
    assert_eq!(
        org.sync(json!([tag_record, flat_record])).await.data(),
        json!({ "applied": 2, "events": 0, "warnings": [] })
    );
}

on_both!(unknown_fields_are_kept_and_identical_records_change_nothing);
async fn unknown_fields_are_kept_and_identical_records_change_nothing(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let data = json!({
        "name": "F",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "beds": 2,
        "nested": { "a": [1, null, "\u{1F600}"] },
    });
    let flat = org.record("property", data.clone()).await;
    let read = api.get("/properties").await.data()[0].clone();
    assert_eq!(
        (&read["beds"], &read["nested"], &read["id"]),
        (&json!(2), &data["nested"], &json!(flat))
    );
    app.clock.advance(Duration::from_secs(1));
    org.put_record("property", flat, data.clone()).await;
    assert_eq!(api.get("/properties").await.data()[0], read);
    let mut other = data;
    other["beds"] = json!(3);
    org.put_record("property", flat, other).await;
    let changed = api.get("/properties").await.data()[0].clone();
    assert_eq!(
        (&changed["createdAt"], &changed["updatedAt"]),
        (&read["createdAt"], &json!("2026-11-21T09:30:01.000Z"))
    );
    assert_eq!(
        org.sync(json!([{ "kind": "tag", "id": new_id(), "isDeleted": true }]))
            .await
            .data()["applied"],
        1
    );
}

on_both!(references_to_a_deleted_record_become_null);
async fn references_to_a_deleted_record_become_null(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, one, two) = (org.group().await, org.tag().await, org.tag().await);
    let flat = org.property(Some(group), &[one, two]).await;
    let stay = org.reservation(Some(flat)).await;
    org.delete_record("tag", one).await;
    org.delete_record("property_group", group).await;
    let bare = json!({
        "name": "F",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "tagIds": null,
        "propertyGroupId": null,
        "checkInTime": null,
    });
    let bare = org.record("property", bare).await;
    assert_eq!(
        org.guest_view(org.reservation(Some(bare)).await).await["property"]["id"],
        json!(bare)
    );
    org.delete_record("property", bare).await;
    let read = api.get("/properties").await.data()[0].clone();
    assert_eq!(
        (&read["tagIds"], &read["propertyGroupId"]),
        (&json!([two]), &Value::Null)
    );
    org.delete_record("property", flat).await;
    assert_eq!(
        api.get(&format!("/reservations/{stay}")).await.data()["propertyId"],
        Value::Null
    );
}

on_both!(every_kind_is_synced_and_read);
async fn every_kind_is_synced_and_read(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let workflow = org
        .record(
            "workflow",
            json!({
                "name": "W",
                "liveNodes": [{ "id": "n", "nodeType": "external_automation", "label": "L" }],
            }),
        )
        .await;
    let of_kind = |kind: RecordKind| match kind {
        RecordKind::Property => {
            json!({ "name": "F", "timezone": "Europe/Madrid", "country": "ES" })
        }
        RecordKind::Reservation => reservation(Some(flat)),
        RecordKind::Task => json!({ "propertyId": flat, "title": "T", "status": "open" }),
        RecordKind::Device => {
            json!({
                "propertyId": flat,
                "name": "D",
                "deviceType": "lock",
                "vendor": "V",
                "isOnline": true,
            })
        }
        RecordKind::Review => {
            json!({
                "propertyId": flat,
                "source": "pms",
                "submittedAt": "2026-11-02T10:00:00Z",
                "privateReview": "p",
                "photoKeys": [],
            })
        }
        RecordKind::WorkflowStepRun => {
            json!({ "workflowId": workflow, "nodeId": "n", "occurredAt": "2026-11-02T10:00:00Z" })
        }
        RecordKind::PaymentAccount => json!({ "name": "P", "isActive": true, "isDefault": false }),
        RecordKind::CustomUrl => json!({ "host": "h", "isGuestPortal": true }),
        RecordKind::Image => json!({ "url": "https://example.com/i.png" }),
        RecordKind::Instruction => json!({ "scopeId": flat, "title": "I", "position": 0 }),
        _ => json!({ "name": "N" }),
    };
    for kind in RecordKind::VARIANTS.iter().copied() {
        org.record(kind.as_ref(), of_kind(kind)).await;
        assert_eq!(
            org.sync(json!([{ "kind": kind.as_ref(), "id": new_id(), "data": {} }]))
                .await
                .status,
            400,
            "{}",
            kind.as_ref()
        );
    }
    for (path, limits) in [
        ("/properties", Some((50, 500))),
        ("/tags", Some((100, 500))),
        ("/property-groups", Some((200, 200))),
        ("/reservations", Some((20, 100))),
        ("/tasks", Some((20, 100))),
        ("/task-templates", Some((20, 100))),
        ("/departments", Some((50, 100))),
        ("/shifts", Some((50, 1000))),
        ("/clocked-shifts", Some((50, 200))),
        ("/devices", Some((20, 100))),
        ("/lock-codes", Some((20, 100))),
        ("/upsells", Some((50, 200))),
        ("/members", Some((50, 100))),
        ("/payment-accounts", None),
        ("/instructions", None),
        ("/custom-fields", None),
        ("/fee-products", None),
        ("/custom-urls", None),
        ("/background-check-accounts", None),
        ("/damage-waivers", None),
    ] {
        let response = api.get(path).await;
        let count = response.data().as_array().unwrap().len();
        let Some((default, max)) = limits else {
            assert_eq!(response.body["meta"].get("pagination"), None, "{path}");
            assert_eq!(count, 1, "{path}");
            continue;
        };
        assert_eq!(
            response.body["meta"]["pagination"]["limit"], default,
            "{path}"
        );
        assert_eq!(
            api.get(&format!("{path}?limit={max}")).await.status,
            200,
            "{path}"
        );
        for query in [
            format!("limit={}", max + 1),
            "limit=0".into(),
            "limit=x".into(),
            "limit=".into(),
            "limit=1&limit=2".into(),
        ] {
            assert_eq!(
                api.get(&format!("{path}?{query}")).await.issues(),
                ["limit"],
                "{path}?{query}"
            );
        }
        assert_eq!(
            api.get(&format!("{path}?offset=-1")).await.issues(),
            ["offset"],
            "{path}"
        );
        let beyond = api
            .get(&format!("{path}?offset=99999999999&unknown=1"))
            .await;
        assert_eq!(
            (beyond.data(), &beyond.body["meta"]["pagination"]["total"]),
            (json!([]), &json!(count)),
            "{path}"
        );
    }
    let review = api.get("/tasks").await.data()[0]["id"].clone();
    api.get(&format!("/reviews/{}", review.as_str().unwrap()))
        .await
        .error(404);
}

on_both!(the_private_text_of_a_review_needs_a_permission);
async fn the_private_text_of_a_review_needs_a_permission(app: App) {
    let org = app.org().await;
    let flat = org.property(None, &[]).await;
    let review = org
        .record(
            "review",
            json!({
                "propertyId": flat,
                "source": "pms",
                "submittedAt": "2026-11-02T10:00:00Z",
                "publicText": "Nice",
                "privateReview": "Hm",
                "photoKeys": ["a"],
            }),
        )
        .await;
    let path = format!("/reviews/{review}");
    let full = org.key().await.get(&path).await.data();
    assert_eq!(
        (&full["privateReview"], full.get("photoKeys")),
        (&json!("Hm"), None)
    );
    let part = org
        .key_without(Permission::ViewAnalytics)
        .await
        .get(&path)
        .await
        .data();
    assert_eq!(
        (
            part.get("privateReview"),
            &part["publicText"],
            part.get("overallRating")
        ),
        (None, &json!("Nice"), Some(&Value::Null))
    );
}

on_both!(a_review_names_its_ratings_and_its_text_also_where_it_has_none);
async fn a_review_names_its_ratings_and_its_text_also_where_it_has_none(app: App) {
    let org = app.org().await;
    let flat = org.property(None, &[]).await;
    let bare =
        json!({ "propertyId": flat, "source": "pms", "submittedAt": "2026-11-02T10:00:00Z" });
    let review = org.record("review", bare).await;
    let read = org
        .key()
        .await
        .get(&format!("/reviews/{review}"))
        .await
        .data();
    for field in ["overallRating", "categoryRatings", "publicText"] {
        assert_eq!(read.get(field), Some(&Value::Null), "{field}");
    }
    assert_eq!(read["photoUrls"], json!([]));
}
