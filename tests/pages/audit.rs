//! Tests of the audit log: the content of entries, the right to read them, and their removal.
//! The tests in `every_write` call each write operation once.

mod every_write;

use std::time::Duration;

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use test_support::house::{House, id};
use test_support::{Api, App, new_id, on_both};
use uuid::Uuid;

use crate::oauth::MemberScene;

const LOG: &str = "/audit-log?limit=100";
const DAY: Duration = Duration::from_secs(24 * 3_600);

async fn log(api: &Api) -> Vec<Value> {
    api.get(LOG).await.data().as_array().unwrap().clone()
}

/// Returns the newest entry of the audit log.
async fn newest(api: &Api) -> Value {
    api.get("/audit-log?limit=1").await.data()[0].clone()
}

/// Returns the parts of an entry that are the same in every run: operation, kind of actor, target
/// and changes.
fn summary(entry: &Value) -> Value {
    json!([
        entry["operation"],
        entry["actor"]["kind"],
        entry["target"]["type"],
        entry["target"]["name"],
        entry["changes"]
    ])
}

fn change(field: &str, before: Value, after: Value) -> Value {
    json!({ "field": field, "before": before, "after": after })
}

fn fields(entry: &Value) -> Vec<&str> {
    entry["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["field"].as_str().unwrap())
        .collect()
}

/// Returns every row of the audit log as the database stores it.
async fn stored(app: &App) -> Vec<String> {
    let rows = "select coalesce(actor_name, '') || cast(doc as text) from audit_log";
    app.query(rows, Vec::new(), |row| row.get::<String>(0))
        .await
}

fn path(collection: &str, of: &Value) -> String {
    format!("/{collection}/{}", of["id"].as_str().unwrap())
}

on_both!(audit_entries_record_old_and_new_values);
#[expect(clippy::too_many_lines, reason = "one case for each kind of change")]
async fn audit_entries_record_old_and_new_values(app: App) {
    let house = House::build(&app).await;
    let House {
        org,
        api,
        flat,
        portal,
        ..
    } = &house;
    let created = api
        .post(
            "/portals",
            json!({
                "name": " Beach ",
                "supportPhone": "93 412 34 56",
                "specialOfferTitle": "Offer",
            }),
        )
        .await
        .data();
    let entry = newest(api).await;
    assert_eq!(
        summary(&entry),
        json!([
            "createPortal",
            "api_key",
            "portal",
            " Beach ",
            [
                change("name", Value::Null, json!(" Beach ")),
                change("specialOfferTitle", Value::Null, Value::Null),
                change("supportPhone", Value::Null, json!("+34934123456")),
            ]
        ])
    );
    assert_eq!(
        (&entry["target"]["id"], &entry["actor"]["name"]),
        (&created["id"], &json!("key"))
    );
    assert_eq!(entry["occurredAt"], "2026-11-21T09:30:00.000Z");

    let patched = api
        .patch(
            &path("portals", &created),
            json!({ "data": { "isChatEnabled": false, "supportPhone": null } }),
        )
        .await;
    let entry = newest(api).await;
    assert_eq!(
        summary(&entry),
        json!([
            "updatePortal",
            "api_key",
            "portal",
            " Beach ",
            [
                change("isChatEnabled", json!(true), json!(false)),
                change("supportPhone", json!("+34934123456"), Value::Null),
            ]
        ])
    );
    assert_eq!(entry["requestId"], patched.body["meta"]["requestId"]);
    api.patch(
        &path("portals", &created),
        json!({ "data": { "specialOfferTitle": "Another" } }),
    )
    .await
    .data();
    assert_eq!(
        newest(api).await["changes"],
        json!([change("specialOfferTitle", Value::Null, Value::Null)])
    );

    let step = json!({
        "stepType": "agreement",
        "nickname": "Rules",
        "displayTitle": "House rules",
        "contractTemplateText": "No parties.",
    });
    let step = api.post("/precheck-steps", step).await.data();
    assert_eq!(
        newest(api).await["changes"],
        json!([
            change("contractTemplateText", Value::Null, Value::Null),
            change("displayTitle", Value::Null, json!("House rules")),
            change("nickname", Value::Null, json!("Rules")),
            change("stepType", Value::Null, json!("agreement")),
        ])
    );
    let data = json!({
        "displayTitle": "Règles",
        "displayTitleLanguage": "fr",
        "contractTemplateText": "Parties.",
        "isActive": true,
    });
    api.patch(&path("precheck-steps", &step), json!({ "data": data }))
        .await
        .data();
    assert_eq!(
        newest(api).await["changes"],
        json!([
            change("contractTemplateText", Value::Null, Value::Null),
            change("displayTitle.fr", Value::Null, json!("Règles")),
            change("isActive", json!(false), json!(true)),
        ])
    );

    let assign = format!("/properties/{flat}/assign-portal");
    api.post(&assign, json!({ "portalSettingsId": portal }))
        .await
        .data();
    api.post(&assign, json!({ "portalSettingsId": created["id"] }))
        .await
        .data();
    assert_eq!(
        summary(&newest(api).await),
        json!([
            "assignPortalToProperty",
            "api_key",
            "property",
            "Flat",
            [change(
                "portalSettingsId",
                json!(portal),
                created["id"].clone()
            ),]
        ])
    );
    let (first, second) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let scopes = |flats: &[Uuid]| {
        json!({
            "entityType": "precheck_step",
            "entityId": step["id"],
            "propertyIds": flats,
        })
    };
    api.post("/entity-scopes/add", scopes(&[first]))
        .await
        .data();
    assert_eq!(
        summary(&newest(api).await),
        json!([
            "addEntityScopes",
            "api_key",
            "precheck_step",
            "Rules",
            [change("propertyIds", Value::Null, json!([first])),]
        ])
    );
    api.post("/entity-scopes", scopes(&[second])).await.data();
    assert_eq!(
        newest(api).await["changes"],
        json!([change("propertyIds", json!([first]), json!([second]))])
    );
    api.post("/entity-scopes/remove", scopes(&[first, second]))
        .await
        .data();
    assert_eq!(
        newest(api).await["changes"],
        json!([change("propertyIds", json!([second]), Value::Null)])
    );

    let category = api
        .post("/portal-manual-categories", json!({ "title": "Inside" }))
        .await
        .data();
    api.send(
        Method::DELETE,
        &path("portal-manual-categories", &category),
        None,
    )
    .await
    .data();
    let entry = newest(api).await;
    assert_eq!(
        (&entry["target"]["name"], fields(&entry)),
        (&json!("Inside"), vec!["sortOrder", "title", "titleId"])
    );
    assert_eq!(
        entry["changes"][1],
        change("title", json!("Inside"), Value::Null)
    );
    let text = house.text(&[("en", "Why?")]).await;
    api.ok(
        Method::PUT,
        &format!("/translations/{text}/entries/pt-br"),
        Some(json!({ "text": "Porquê?" })),
    )
    .await;
    assert_eq!(
        summary(&newest(api).await),
        json!([
            "setTranslationEntry",
            "api_key",
            "translation",
            "Why?",
            [change("pt-BR", Value::Null, json!("Porquê?")),]
        ])
    );
}

on_both!(audit_entries_name_their_actors);
async fn audit_entries_name_their_actors(app: App) {
    let scene = MemberScene::build(&app).await;
    let org = &scene.org;
    let key = org.key().await;
    let api = org.token_of(scene.member, Permission::VARIANTS).await;
    api.post("/portals", json!({ "name": "By token" }))
        .await
        .data();
    let actor = |kind: &str, name: &str| json!({ "kind": kind, "id": scene.member, "name": name });
    assert_eq!(
        newest(&key).await["actor"],
        actor("oauth", "Member via Client")
    );
    let entries = log(&key).await;
    let of = |operation: &str| {
        entries
            .iter()
            .find(|entry| entry["operation"] == operation)
            .unwrap()
    };
    assert_eq!(of("signIn")["actor"], actor("session", "Member"));
    assert_eq!(
        summary(of("signIn")),
        json!([
            "signIn",
            "session",
            "member",
            "Member",
            [change("by", Value::Null, json!("link"))]
        ])
    );
    assert_eq!(
        of("createAccessToken")["actor"],
        json!({ "kind": "platform", "id": null, "name": null })
    );
    assert_eq!(
        fields(of("createAccessToken")),
        ["id", "oauthAppId", "permissions", "token"]
    );
    assert_eq!(
        of("putOrganization")["target"],
        json!({ "type": "organization", "id": org.id, "name": "Casa" })
    );
    scene.code(&scene.ask_for_api()).await;
    let allowed = newest(&key).await;
    assert_eq!(
        (&allowed["operation"], &allowed["actor"]),
        (&json!("allowApp"), &actor("session", "Member"))
    );
    assert_eq!(
        allowed["changes"][0]["after"],
        json!({ "oauthAppId": org.oauth_app, "name": "Client" })
    );
    // An entry contains the actor's name at the time of the write, even if the actor gets
    // another name later.
    let nameless = json!({
        "name": "",
        "email": "marta@example.com",
        "permissions": Permission::VARIANTS,
        "propertyIds": null,
        "isActive": true,
        "isTwoFactorEnrolled": true,
    });
    org.put(&format!("/members/{}", scene.member), nameless)
        .await;
    assert_eq!(
        newest(&key).await["changes"],
        json!([
            change(
                "email",
                json!("member@example.com"),
                json!("marta@example.com")
            ),
            change("name", json!("Member"), Value::Null),
        ])
    );
    api.post("/portals", json!({ "name": "Again" }))
        .await
        .data();
    assert_eq!(
        newest(&key).await["actor"]["name"],
        "marta@example.com via Client"
    );
    assert!(
        log(&key)
            .await
            .iter()
            .any(|entry| entry["actor"]["name"] == "Member via Client")
    );
    // A tool call adds the same audit entry as the REST request.
    let call = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": "createPortal", "arguments": { "name": "Tool" } },
    });
    let request = app
        .http
        .post(format!("{}/mcp", app.base))
        .bearer_auth(key.token.as_ref().unwrap())
        .json(&call);
    request
        .header("accept", "application/json, text/event-stream")
        .send()
        .await
        .unwrap();
    assert_eq!(summary(&newest(&key).await)[3], "Tool");
}

on_both!(refused_and_unchanged_writes_are_not_audited);
async fn refused_and_unchanged_writes_are_not_audited(app: App) {
    let house = House::build(&app).await;
    let House {
        org,
        api,
        flat,
        portal,
        ..
    } = &house;
    let step = house
        .step("main", json!({ "authorityProvider": "Same" }))
        .await;
    let text = house.text(&[("en", "Why?")]).await;
    org.put("", json!({ "name": "Casa" })).await;
    api.post_with_key("/portals", "once", json!({ "name": "Keyed" }))
        .await
        .data();
    let before = log(api).await.len();
    // A refused write adds no audit entry.
    api.post("/portals", json!({ "name": "Keyed" }))
        .await
        .error(409);
    api.post(
        "/portals",
        json!({ "name": "x", "supportEmail": "nonsense" }),
    )
    .await
    .error(400);
    api.patch(
        &format!("/portals/{}", new_id()),
        json!({ "data": { "name": "x" } }),
    )
    .await
    .error(404);
    org.key_with(&[Permission::ViewProperties])
        .await
        .post("/portals", json!({ "name": "x" }))
        .await
        .error(403);
    app.platform()
        .send(
            Method::DELETE,
            &org.path(&format!("/api-keys/{}", new_id())),
            None,
        )
        .await
        .error(404);
    // A response that is replayed for its idempotency key adds no audit entry.
    assert_eq!(
        api.post_with_key("/portals", "once", json!({ "name": "Keyed" }))
            .await
            .status,
        201
    );
    // A write that changes nothing adds no audit entry.
    house
        .update_portal(
            *portal,
            json!({ "name": "Casa", "isDefault": true, "supportEmail": null }),
        )
        .await;
    house
        .update(
            step,
            json!({ "authorityProvider": "Same", "isActive": true }),
        )
        .await
        .data();
    let scopes = json!({ "entityType": "precheck_step", "entityId": step, "propertyIds": [flat] });
    api.post("/entity-scopes/add", scopes.clone()).await.data();
    api.post("/entity-scopes", scopes).await.data();
    api.post(
        &format!("/properties/{flat}/assign-portal"),
        json!({ "portalSettingsId": null }),
    )
    .await
    .data();
    api.ok(
        Method::PUT,
        &format!("/translations/{text}/entries/en"),
        Some(json!({ "text": "Why?" })),
    )
    .await;
    org.put("", json!({ "name": "Casa" })).await;
    // The audit log records neither a sync of records nor the actions of guests.
    org.property(None, &[]).await;
    house.say("Hello").await.data();
    let made_a_key = 1;
    assert_eq!(log(api).await.len(), before + made_a_key);
}

on_both!(the_whole_log_is_for_managers_without_limits);
async fn the_whole_log_is_for_managers_without_limits(app: App) {
    let org = app.org().await;
    let (api, flat) = (org.key().await, org.property(None, &[]).await);
    let limited = org.limited(&[flat]).await;
    assert_eq!(
        limited.get(LOG).await.data(),
        json!([]),
        "nothing that others did"
    );
    let own = limited
        .post("/portals", json!({ "name": "Mine" }))
        .await
        .data();
    let entries = log(&limited).await;
    assert_eq!(
        entries
            .iter()
            .map(|entry| &entry["target"]["id"])
            .collect::<Vec<_>>(),
        [&own["id"]]
    );
    let member = entries[0]["actor"]["id"].as_str().unwrap();
    let of = |query: String| {
        let limited = limited.clone();
        async move { limited.get(&format!("/audit-log?{query}")).await.data() }
    };
    assert_eq!(
        of(format!(
            "actorId={member}&targetId={}",
            own["id"].as_str().unwrap()
        ))
        .await,
        json!(entries)
    );
    assert_eq!(of(format!("actorId={}", new_id())).await, json!([]));
    assert_eq!(
        of(format!("targetId={member}")).await,
        json!([]),
        "what the platform did to them"
    );
    assert_eq!(
        api.get(&format!("/audit-log?actorId={member}"))
            .await
            .data(),
        json!(entries)
    );
    org.key_without(Permission::ManageOrganization)
        .await
        .get("/audit-log")
        .await
        .error(403);
    org.key_with(&[Permission::ManageOrganization])
        .await
        .get("/audit-log")
        .await
        .data();
    let other = app.org().await;
    let theirs = other.key().await;
    let portal = theirs
        .post("/portals", json!({ "name": "Theirs" }))
        .await
        .data();
    let of = format!("/audit-log?targetId={}", portal["id"].as_str().unwrap());
    assert_eq!(theirs.get(&of).await.data().as_array().unwrap().len(), 1);
    assert_eq!(api.get(&of).await.data(), json!([]));
    let place = theirs.get(&of).await.data()[0]["id"].clone();
    let behind = api
        .get(&format!("/audit-log?after={}", place.as_str().unwrap()))
        .await
        .data();
    assert!(
        behind
            .as_array()
            .unwrap()
            .iter()
            .all(|entry| entry["target"]["id"] != portal["id"])
    );
}

on_both!(pages_of_the_log_are_complete_and_equally_fast);
async fn pages_of_the_log_are_complete_and_equally_fast(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let portal = api
        .post("/portals", json!({ "name": "Start" }))
        .await
        .data();
    for number in 0..60 {
        app.clock.advance(Duration::from_millis(number % 3));
        api.patch(
            &path("portals", &portal),
            json!({ "data": { "name": format!("Name {number}") } }),
        )
        .await
        .data();
    }
    let whole = log(&api).await;
    let names: Vec<&Value> = whole
        .iter()
        .take(60)
        .map(|entry| &entry["changes"][0]["after"])
        .collect();
    assert_eq!(
        names,
        (0..60)
            .rev()
            .map(|number| json!(format!("Name {number}")))
            .collect::<Vec<_>>()
            .iter()
            .collect::<Vec<_>>()
    );
    let mut seen = Vec::new();
    let mut query = "limit=7".to_owned();
    loop {
        let page = api
            .get(&format!("/audit-log?{query}"))
            .await
            .data()
            .as_array()
            .unwrap()
            .clone();
        let Some(last) = page.last() else { break };
        query = format!("limit=7&after={}", last["id"].as_str().unwrap());
        seen.extend(page);
        assert!(seen.len() < 1_000, "the log has no last page");
        // The test adds an entry before it reads the next page. The new entry is newer than all
        // entries of the first page, so the other entries do not move to other pages.
        api.post("/portals", json!({ "name": format!("New {}", seen.len()) }))
            .await
            .data();
    }
    assert_eq!(seen, whole);
    let of_portal = api
        .get(&format!("/audit-log?targetId={}", id(&portal["id"])))
        .await
        .data();
    assert_eq!(
        (of_portal.as_array().unwrap().len(), &of_portal[0]),
        (50, &whole[0])
    );
    let behind = format!(
        "/audit-log?targetId={}&after={}",
        id(&portal["id"]),
        of_portal[49]["id"].as_str().unwrap()
    );
    assert_eq!(api.get(&behind).await.data().as_array().unwrap().len(), 11);
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("after=x", "after"),
        ("targetId=1", "targetId"),
        ("limit=x&after=", "after limit"),
    ] {
        assert_eq!(
            api.get(&format!("/audit-log?{query}"))
                .await
                .issues()
                .join(" "),
            field,
            "{query}"
        );
    }
    // Reading a page of old entries reads no more rows than reading the page of the newest entries.
    let effort = async |query: &str| {
        app.server.service.store.max_work();
        api.get(&format!("/audit-log?limit=5{query}")).await.data();
        app.server.service.store.max_work()
    };
    let (first, last) = (
        effort("").await,
        effort(&format!(
            "&after={}",
            whole[whole.len() - 6]["id"].as_str().unwrap()
        ))
        .await,
    );
    assert!(
        last.rows <= first.rows && last.instructions <= first.instructions + 10,
        "{first:?} {last:?}"
    );
}

on_both!(
    audit_entries_are_deleted_after_their_retention,
    "--audit-retention=240h"
);
async fn audit_entries_are_deleted_after_their_retention(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let old = log(&api).await.len();
    app.clock.advance(6 * DAY);
    api.post("/portals", json!({ "name": "Later" }))
        .await
        .data();
    app.server.sweep_once().await;
    assert_eq!(log(&api).await.len(), old + 1);
    app.clock.advance(4 * DAY);
    app.server.sweep_once().await;
    assert_eq!(
        log(&api)
            .await
            .iter()
            .map(|entry| &entry["operation"])
            .collect::<Vec<_>>(),
        ["createPortal"]
    );
}

on_both!(audit_entries_are_swept_in_bounded_batches);
async fn audit_entries_are_swept_in_bounded_batches(app: App) {
    let org = app.org().await;
    let (id, now, service) = (org.id, app.clock.now(), app.server.service.clone());
    let text =
        "insert into audit_log (organization_id, id, occurred_at, doc) values (?1, ?2, ?3, ?4)";
    for _ in 0..1_100 {
        app.change(
            text,
            vec![
                id.into(),
                new_id().into(),
                now.into(),
                store::Value::Json("{}".into()),
            ],
        )
        .await;
    }
    app.clock.advance(DAY);
    let (now, count) = (app.clock.now(), async || {
        app.query("select count(*) from audit_log", Vec::new(), |row| {
            row.get::<i64>(0)
        })
        .await[0]
    });
    let all = count().await;
    for (has_more, left) in [(true, all - 500), (true, all - 1_000), (false, 0)] {
        let swept = service
            .store
            .write(move |tx| engine::audit::sweep(tx, now, DAY))
            .await
            .unwrap();
        assert_eq!((swept, count().await), (has_more, left));
    }
}

on_both!(long_values_in_audit_entries_are_cut);
async fn long_values_in_audit_entries_are_cut(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flats: Vec<Uuid> = (0..1_000).map(|_| new_id()).collect();
    let data = json!({ "name": "Flat", "timezone": "Europe/Madrid", "country": "ES" });
    org.sync(
        flats
            .iter()
            .map(|id| json!({ "kind": "property", "id": id, "data": data }))
            .collect(),
    )
    .await
    .data();
    let portal = api.post("/portals", json!({ "name": "Casa" })).await.data();
    let body =
        json!({ "entityType": "portal_settings", "entityId": portal["id"], "propertyIds": flats });
    api.post("/entity-scopes", body).await.data();
    let entry = newest(&api).await;
    let listed = entry["changes"][0]["after"].as_array().unwrap();
    assert_eq!(
        listed.last().unwrap(),
        &json!(format!("… {} more", 1_000 - (listed.len() - 1)))
    );
    api.patch(
        &path("portals", &portal),
        json!({ "data": { "supportNotes": "ñ".repeat(2_000) } }),
    )
    .await
    .data();
    let after = newest(&api).await["changes"][0]["after"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        after.ends_with("… (2000 characters)") && after.chars().count() < 450,
        "{after}"
    );
}
