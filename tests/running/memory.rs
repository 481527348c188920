//! Tests of responses from the server's cache: they are never older than the last commit of any
//! node, and a response has another `ETag` whenever its data has changed.

use std::io::Read as _;
use strum::VariantArray;

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};

use test_support::{Api, ApiResponse, App, on_both};

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

async fn with_header(api: &Api, path: &str, name: &str, value: &str) -> ApiResponse {
    ApiResponse::of(api.request(Method::GET, path).header(name, value)).await
}

on_both!(a_write_on_any_node_is_seen_at_once);
async fn a_write_on_any_node_is_seen_at_once(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let other_node = app.second_node(&[]).await;
    let there = other_node.api(api.token.as_deref().unwrap());
    for number in 0..5 {
        let writer = if number % 2 == 0 { &api } else { &there };
        writer
            .post("/portals", json!({ "name": format!("Portal {number}") }))
            .await
            .data();
        for reader in [&api, &there] {
            // Only the second of two equal requests gets its response from the cache, so the test
            // reads twice.
            assert_eq!(
                (names(reader).await.len(), names(reader).await.len()),
                (number + 1, number + 1)
            );
        }
    }
}

on_both!(a_revoked_token_gets_401_at_once_on_every_node);
async fn a_revoked_token_gets_401_at_once_on_every_node(app: App) {
    let org = app.org().await;
    let (api, id) = org.key_and_id(Permission::VARIANTS).await;
    let other_node = app.second_node(&[]).await;
    let there = other_node.api(api.token.as_deref().unwrap());
    for reader in [&api, &there, &api, &there] {
        reader.get("/portals").await.data();
    }
    app.platform()
        .ok(Method::DELETE, &org.path(&format!("/api-keys/{id}")), None)
        .await;
    for reader in [&api, &there] {
        reader.get("/portals").await.error(401);
    }
}

on_both!(a_cached_token_expires_without_any_write);
async fn a_cached_token_expires_without_any_write(app: App) {
    let org = app.org().await;
    let body = json!({
        "name": "key",
        "permissions": ["view_properties"],
        "expiresAt": "2026-11-21T09:31:00Z",
    });
    let key = app
        .platform()
        .ok(Method::POST, &org.path("/api-keys"), Some(body))
        .await;
    let api = app.api(key["token"].as_str().unwrap());
    api.get("/portals").await.data();
    api.get("/portals").await.data();
    app.clock.advance(std::time::Duration::from_secs(60));
    api.get("/portals").await.error(401);
}

on_both!(cached_answers_are_separated_by_access_and_permissions);
async fn cached_answers_are_separated_by_access_and_permissions(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let count = async |api: &Api| {
        api.get("/properties")
            .await
            .data()
            .as_array()
            .unwrap()
            .len()
    };
    let (one, both) = (
        org.limited(&[mine]).await,
        org.limited(&[mine, theirs]).await,
    );
    for _ in 0..2 {
        assert_eq!(
            (count(&api).await, count(&one).await, count(&both).await),
            (2, 1, 2)
        );
    }
    assert_eq!(
        api.get("/properties?limit=1")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    org.key_with(&[Permission::ViewTasks])
        .await
        .get("/properties")
        .await
        .error(403);
    app.org()
        .await
        .key()
        .await
        .get("/properties")
        .await
        .data()
        .as_array()
        .map(|rows| assert!(rows.is_empty()))
        .unwrap();
}

on_both!(cached_lists_follow_changes_of_records);
async fn cached_lists_follow_changes_of_records(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let limited = org.limited(&[flat]).await;
    for number in 1..4 {
        let stay = org.reservation(Some(flat)).await;
        for reader in [&api, &limited] {
            let listed = async || {
                reader
                    .get("/reservations")
                    .await
                    .data()
                    .as_array()
                    .unwrap()
                    .len()
            };
            assert_eq!((listed().await, listed().await), (number, number));
            reader.get(&format!("/reservations/{stay}")).await.data();
        }
    }
    // The steps that a limited caller sees also depend on records, here on the tags of the
    // caller's flat.
    let tag = org.tag().await;
    let step = api
        .post(
            "/precheck-steps",
            json!({ "stepType": "main", "nickname": "Main" }),
        )
        .await
        .data()["id"]
        .clone();
    let scopes = json!({ "entityType": "precheck_step", "entityId": step, "tagIds": [tag] });
    api.post("/entity-scopes/add", scopes).await.data();
    assert_eq!(limited.get("/precheck-steps").await.data(), json!([]));
    let data =
        json!({ "name": "Flat", "timezone": "Europe/Madrid", "country": "ES", "tagIds": [tag] });
    org.put_record("property", flat, data).await;
    assert_eq!(
        limited
            .get("/precheck-steps")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

on_both!(large_answers_are_cached_on_any_machine, "--processors=32");
async fn large_answers_are_cached_on_any_machine(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let record = |number| {
        json!({
            "kind": "payment_account",
            "id": test_support::new_id(),
            "data": { "name": format!("{number:01000}"), "isActive": true, "isDefault": false },
        })
    };
    org.sync((0..1_000).map(record).collect()).await.data();
    let before = app.server.service.memory.tally();
    for _ in 0..3 {
        assert_eq!(
            api.get("/payment-accounts")
                .await
                .data()
                .as_array()
                .unwrap()
                .len(),
            1_000
        );
    }
    let after = app.server.service.memory.tally();
    assert_eq!(
        (
            after.hits - before.hits,
            after.misses - before.misses,
            after.refusals
        ),
        (2, 1, 0)
    );
    assert!(after.bytes > 2_000_000, "{after:?}");
    let metrics = app
        .http
        .get(format!("{}/metrics", app.base))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    for name in ["hits_total", "misses_total", "refusals_total", "bytes"] {
        assert!(
            metrics.contains(&format!("\nvestibule_kept_answers_{name} ")),
            "{name}: {metrics}"
        );
    }
}

on_both!(each_state_of_an_answer_has_an_etag);
async fn each_state_of_an_answer_has_an_etag(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    api.post("/portals", json!({ "name": "First" }))
        .await
        .data();
    let token = org.stay_token(org.reservation(None).await).await;
    let paths = [
        "/portals",
        "/portal-brandings",
        "/reservations",
        "/members",
        "/webhook-event-types",
        "/cover-icons?query=wifi",
    ];
    for path in paths {
        let (one, other) = (api.get(path).await, api.get(path).await);
        let tag = one.header("etag").unwrap().to_owned();
        assert_eq!(other.header("etag"), Some(&*tag), "{path}");
        assert_ne!(
            one.body["meta"]["requestId"], other.body["meta"]["requestId"],
            "{path}"
        );
        let unchanged =
            with_header(&api, path, "if-none-match", &format!("\"other\", W/{tag}")).await;
        assert_eq!(
            (unchanged.status, &unchanged.body, unchanged.header("etag")),
            (304, &json!(""), Some(&*tag)),
            "{path}"
        );
        assert!(unchanged.header("x-request-id").is_some());
        assert_eq!(
            with_header(&api, path, "if-none-match", "\"other\"")
                .await
                .data(),
            one.data(),
            "{path}"
        );
    }
    let view = app.stay(&token, "").await;
    assert!(view.header("etag").is_some() && view.header("cache-control") == Some("no-store"));
    let before = api.get("/portals").await.header("etag").unwrap().to_owned();
    api.post("/portals", json!({ "name": "Second" }))
        .await
        .data();
    let after = with_header(&api, "/portals", "if-none-match", &before).await;
    assert_eq!(
        (after.status, after.data().as_array().unwrap().len()),
        (200, 2)
    );
}

on_both!(compressed_answers_have_the_same_content);
async fn compressed_answers_have_the_same_content(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    for number in 0..20 {
        api.post("/portals", json!({ "name": format!("Casa {number}") }))
            .await
            .data();
    }
    let plain = api.get("/portals").await;
    for _ in 0..2 {
        let sent = api
            .request(Method::GET, "/portals")
            .header("accept-encoding", "br;q=0.1, gzip")
            .send()
            .await
            .unwrap();
        assert_eq!(sent.headers()["content-encoding"], "gzip");
        assert_eq!(sent.headers()["vary"], "accept-encoding");
        let (tag, id) = (
            sent.headers()["etag"].to_str().unwrap().to_owned(),
            sent.headers()["x-request-id"].clone(),
        );
        let bytes = sent.bytes().await.unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(&bytes[..])
            .read_to_string(&mut text)
            .unwrap();
        let body: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&body["data"], body["meta"]["requestId"].as_str().unwrap()),
            (&plain.body["data"], id.to_str().unwrap())
        );
        assert_eq!(
            with_header(&api, "/portals", "if-none-match", &tag)
                .await
                .status,
            304
        );
    }
}

on_both!(each_content_coding_has_its_own_etag);
async fn each_content_coding_has_its_own_etag(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    // The service answers the first path from the cache, computes the response for the second path
    // each time, and serves the OpenAPI document at the third.
    for path in [
        "/cover-icons?limit=100",
        "/webhook-event-types",
        "/openapi.json",
    ] {
        let mut tags = std::collections::BTreeSet::new();
        for coding in ["identity", "gzip", "br"] {
            let sent = api
                .request(Method::GET, path)
                .header("accept-encoding", coding)
                .send()
                .await
                .unwrap();
            let tag = sent.headers()["etag"].to_str().unwrap().to_owned();
            assert_eq!(
                with_header(&api, path, "if-none-match", &tag).await.status,
                304,
                "{path} {coding}"
            );
            tags.insert(tag);
        }
        assert_eq!(tags.len(), 3, "{path}: {tags:?}");
    }
}

on_both!(a_guest_sees_every_change_at_once_on_every_node);
async fn a_guest_sees_every_change_at_once_on_every_node(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (tag, field) = (
        org.tag().await,
        org.record(
            "custom_field",
            json!({ "name": "Door code", "value": "1111" }),
        )
        .await,
    );
    let (flat, other) = (
        org.property(None, &[tag]).await,
        org.property(None, &[]).await,
    );
    let stay = org.reservation(Some(flat)).await;
    let token = org.stay_token(stay).await;
    let create = async |path: &str, body: Value| api.post(path, body).await.data();
    let id = |thing: &Value| thing["id"].as_str().unwrap().to_owned();
    let branding = create(
        "/portal-brandings",
        json!({ "name": "Mar", "isDefault": true, "calloutMessage": "Hello" }),
    )
    .await;
    let portal = create("/portals", json!({ "name": "Casa", "isDefault": true })).await;
    let step = create(
        "/precheck-steps",
        json!({ "stepType": "main", "nickname": "Main", "displayTitle": "One", "isActive": true }),
    )
    .await;
    let heading = create("/portal-manual-categories", json!({ "title": "Kitchen" })).await;
    let manual = json!({
        "nickname": "Oven",
        "title": "Oven",
        "description": "Hot",
        "isActive": true,
        "manualCategoryId": heading["id"],
    });
    let manual = create("/portal-manuals", manual).await;
    let code = json!({
        "nickname": "Door",
        "displayMode": "pms_variable",
        "customFieldId": field,
        "isActive": true,
    });
    let code = create("/portal-manuals", code).await;
    let scope = |entity: &str, thing: &Value| {
        json!({
            "entityType": entity,
            "entityId": thing["id"],
            "tagIds": [tag],
        })
    };

    let other_node = app.second_node(&[]).await;
    let see = async |pointer: &str, expected: Value| {
        for node in [&app, &other_node] {
            // Only the second of two equal requests gets its response from the cache, so the test
            // reads twice.
            for _ in 0..2 {
                let view = node.stay(&token, "").await.data();
                assert_eq!(
                    view.pointer(pointer),
                    Some(&expected),
                    "{pointer} of {view}"
                );
            }
        }
    };
    see("/precheckin/steps", json!([])).await;
    create("/entity-scopes/add", scope("precheck_step", &step)).await;
    see("/precheckin/steps/0/title", json!("One")).await;
    api.patch(
        &format!("/precheck-steps/{}", id(&step)),
        json!({ "data": { "displayTitle": "Two" } }),
    )
    .await
    .data();
    see("/precheckin/steps/0/title", json!("Two")).await;
    create("/entity-scopes/add", scope("manual", &manual)).await;
    see(
        "/manualCategories/0/manuals/0/descriptionHtml",
        json!("<p>Hot</p>\n"),
    )
    .await;
    let text = format!(
        "/translations/{}/entries/en",
        manual["descriptionId"].as_str().unwrap()
    );
    api.ok(Method::PUT, &text, Some(json!({ "text": "Cold" })))
        .await;
    see(
        "/manualCategories/0/manuals/0/descriptionHtml",
        json!("<p>Cold</p>\n"),
    )
    .await;
    api.patch(
        &format!("/portal-manual-categories/{}", id(&heading)),
        json!({ "title": "Cellar" }),
    )
    .await
    .data();
    see("/manualCategories/0/title", json!("Cellar")).await;
    create("/entity-scopes/add", scope("manual", &code)).await;
    see("/manualCategories/1/manuals/0/description", json!("1111")).await;
    org.put_record(
        "custom_field",
        field,
        json!({ "name": "Door code", "value": "2222" }),
    )
    .await;
    see("/manualCategories/1/manuals/0/description", json!("2222")).await;
    api.patch(
        &format!("/portals/{}", id(&portal)),
        json!({ "data": { "name": "Casa Azul" } }),
    )
    .await
    .data();
    see("/portal/name", json!("Casa Azul")).await;
    api.patch(
        &format!("/portal-brandings/{}", id(&branding)),
        json!({ "data": { "primaryColor": "#123456" } }),
    )
    .await
    .data();
    see("/branding/primaryColor", json!("#123456")).await;
    let data =
        json!({ "name": "Renamed", "timezone": "Europe/Madrid", "country": "ES", "tagIds": [tag] });
    org.put_record("property", flat, data).await;
    see("/property/name", json!("Renamed")).await;
    // These writes change the stay, but not the organization's configuration. The cached view is
    // now outdated, so the service must not send it.
    let saved = app
        .http
        .put(format!(
            "{}/guest/v1/stays/{token}/steps/{}",
            app.base,
            id(&step)
        ))
        .json(&json!({ "answers": {} }));
    ApiResponse::of(saved).await.data();
    see("/precheckin/status", json!("in_progress")).await;
    org.put_record("reservation", stay, test_support::reservation(Some(other)))
        .await;
    see("/precheckin/steps", json!([])).await;
    org.put_record("reservation", stay, test_support::reservation(Some(flat)))
        .await;
    see("/precheckin/steps/0/title", json!("Two")).await;
    // The cached response depends on the time: the service computes it again when a rule begins
    // to show or to hide a manual.
    let until_check_in =
        json!({ "ruleCategory": "relative_date", "endDateRelativeType": "check_in_time" });
    api.patch(
        &format!("/portal-manuals/{}", id(&manual)),
        json!({ "data": { "visibilityRules": [until_check_in] } }),
    )
    .await
    .data();
    see("/manualCategories/0/title", json!("Cellar")).await;
    for node in [&app, &other_node] {
        node.clock
            .advance(std::time::Duration::from_secs(21 * 24 * 3_600));
    }
    see("/manualCategories/0/title", Value::Null).await;
    org.delete_record("property", flat).await;
    see("/property", Value::Null).await;
}

on_both!(manuals_appear_and_disappear_to_the_second);
async fn manuals_appear_and_disappear_to_the_second(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let (ada, other) = (
        org.reservation(Some(flat)).await,
        org.reservation(Some(flat)).await,
    );
    let (ada, other) = (org.stay_token(ada).await, org.stay_token(other).await);
    api.post("/portals", json!({ "name": "Casa", "isDefault": true }))
        .await
        .data();
    let rule = json!({
        "ruleCategory": "relative_date",
        "startDateRelativeType": "before_check_in",
        "daysBefore": 2,
        "daysBeforeTimeUnit": "hour",
        "endDateRelativeType": "check_in_time",
    });
    let manual =
        json!({ "nickname": "Door", "title": "Door", "isActive": true, "visibilityRules": [rule] });
    let manual = api.post("/portal-manuals", manual).await.data();
    let scope = json!({ "entityType": "manual", "entityId": manual["id"], "propertyIds": [flat] });
    api.post("/entity-scopes/add", scope).await.data();
    let count = async |token: &str| {
        let answers = [
            app.stay(token, "").await.data(),
            app.stay(token, "").await.data(),
        ];
        let [first, second] =
            answers.map(|view| view["manualCategories"].as_array().unwrap().len());
        assert_eq!(first, second);
        first
    };
    let check_in = app.stay(&ada, "").await.data()["reservation"]["checkIn"]
        .as_str()
        .unwrap()
        .to_owned();
    let arrival = format!("{check_in}T15:00:00[Europe/Madrid]")
        .parse::<jiff::Zoned>()
        .unwrap()
        .timestamp();
    let wait = |until: jiff::Timestamp| {
        let now = app.clock.now();
        app.clock.advance(until.duration_since(now).unsigned_abs());
    };
    let second = jiff::SignedDuration::from_secs(1);
    let start = arrival - jiff::SignedDuration::from_hours(2);
    assert_eq!(count(&ada).await, 0);
    for (time, shown) in [
        (start - second, 0),
        (start, 1),
        (arrival - second, 1),
        (arrival, 0),
    ] {
        wait(time);
        assert_eq!(
            (count(&ada).await, count(&other).await),
            (shown, shown),
            "{time}"
        );
    }
}

on_both!(cached_guest_links_and_bearer_tokens_are_not_interchangeable);
async fn cached_guest_links_and_bearer_tokens_are_not_interchangeable(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let stay = org.reservation(None).await;
    let token = org.stay_token(stay).await;
    for _ in 0..2 {
        app.stay(&token, "").await.data();
        api.get("/portals").await.data();
    }
    app.api(&token).get("/portals").await.error(401);
    app.stay(api.token.as_deref().unwrap(), "").await.error(404);
    app.stay(&token, "?at=2026-11-21T09:31:00Z")
        .await
        .error(401);
    org.delete_record("reservation", stay).await;
    app.stay(&token, "").await.error(404);
}
