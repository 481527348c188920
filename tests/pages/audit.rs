//! Tests of the audit log: it has exactly one entry for each write, with the actor and the changes,
//! and no entry contains a secret.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::access::Permission;
use engine::operation::{Effect, Surface};
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use test_support::house::{House, id};
use test_support::waiting::wait_until;
use test_support::{Api, ApiResponse, App, Org, new_id, on_both};
use uuid::Uuid;

use crate::console::{Form, html, page};
use crate::oauth::{MemberScene, Tokens, pairs, post};
use crate::people::{Browser, link_for, signed_in};

const LOG: &str = "/audit-log?limit=100";
/// An HTTPS address on which nothing listens.
const CLOSED_ADDRESS: &str = "https://127.0.0.1:9/hook";
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Write operations of the platform interface that create no audit entry. They change no credential
/// and no setting, or belong to no single organization.
const UNAUDITED: [&str; 7] = [
    "createClientSecret",
    "createGuestLink",
    "eraseOrganization",
    "putOauthApp",
    "reportCharge",
    "setStepProgress",
    "sync",
];

/// Values of `operation` in audit entries about sign-ins and OAuth. No operation of an interface
/// has these names.
const WITHOUT_OPERATION: [&str; 4] = ["allowApp", "revokeToken", "signIn", "signOut"];

/// Operations that need a device connector. The tests in `devices.rs` check the audit entries of
/// these operations.
const DEVICE_OPERATIONS: [&str; 4] = [
    "lockDevice",
    "setDeviceMode",
    "setDeviceTemperature",
    "unlockDevice",
];

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

#[test]
fn every_public_write_declares_its_audit_entry() {
    let mut unaudited: Vec<&str> = Vec::new();
    for operation in &vestibule::app::app().operations {
        let is_told = operation.audits.is_some();
        match (operation.surface, operation.effect) {
            (Surface::Public, Effect::Write) => assert!(
                is_told,
                "{} is a public write, and nothing is told of it",
                operation.id
            ),
            (Surface::Platform, Effect::Write) if !is_told => unaudited.push(operation.id),
            (Surface::Platform, Effect::Write) => {}
            (Surface::Guest, _) | (_, Effect::Read) => assert!(!is_told, "{}", operation.id),
        }
    }
    unaudited.sort_unstable();
    assert_eq!(unaudited, UNAUDITED);
}

/// Performs every write operation once. Returns all secrets in the requests and the responses.
#[expect(
    clippy::too_many_lines,
    reason = "every operation is called once, in one story"
)]
async fn everything(house: &House<'_>) -> Vec<String> {
    let House {
        org,
        api,
        flat,
        group,
        portal,
        stay,
        ..
    } = house;
    let (app, platform) = (org.app, org.app.platform());
    let mut secrets = Vec::new();
    let mut secret =
        |answer: &Value, field: &str| secrets.push(answer[field].as_str().unwrap().to_owned());
    // These requests write steps. Some settings of a step, such as `authorityProvider`, are
    // secrets.
    let text = house.text(&[("en", "Why?")]).await;
    let questions = json!([{ "kind": "free_form_input", "textMlTextId": text }]);
    let step = json!({
        "stepType": "additional_questions",
        "nickname": "Q",
        "questions": questions,
        "authorityProvider": "hush-one",
    });
    let step = api.post("/precheck-steps", step).await.data();
    let hushed = json!({
        "data": { "authorityProvider": "hush-two", "esignPrefillValues": { "a": "hush-three" } },
    });
    api.patch(&path("precheck-steps", &step), hushed)
        .await
        .data();
    // These requests write manuals, with their categories and assignments.
    let category = api
        .post("/portal-manual-categories", json!({ "title": "Inside" }))
        .await
        .data();
    let empty = api
        .post("/portal-manual-categories", json!({ "title": "Outside" }))
        .await
        .data();
    api.patch(
        &path("portal-manual-categories", &category),
        json!({ "title": "Within" }),
    )
    .await
    .data();
    api.post(
        "/portal-manual-categories/reorder",
        json!({ "orderedIds": [empty["id"], category["id"]] }),
    )
    .await
    .data();
    api.send(
        Method::DELETE,
        &path("portal-manual-categories", &empty),
        None,
    )
    .await
    .data();
    let manual = json!({
        "nickname": "Wi-Fi",
        "title": "Wi-Fi",
        "manualCategoryId": category["id"],
        "propertyId": flat,
    });
    let manual = api.post("/portal-manuals", manual).await.data();
    api.patch(
        &path("portal-manuals", &manual),
        json!({ "data": { "isActive": true } }),
    )
    .await
    .data();
    let instruction = org
        .record(
            "instruction",
            json!({ "scopeId": flat, "title": "Keys", "position": 0 }),
        )
        .await;
    api.send(
        Method::DELETE,
        &format!("/instructions/{instruction}"),
        None,
    )
    .await
    .data();
    // These requests write portals, brandings and previews. The URL of a preview is a secret.
    house
        .update_portal(
            *portal,
            json!({ "isChatEnabled": false, "specialOfferTitle": "hush-four" }),
        )
        .await;
    let branding = api
        .post("/portal-brandings", json!({ "name": "Blue" }))
        .await
        .data();
    api.patch(
        &path("portal-brandings", &branding),
        json!({ "data": { "name": "Green" } }),
    )
    .await
    .data();
    api.post(
        &format!("/properties/{flat}/assign-portal"),
        json!({ "portalSettingsId": portal }),
    )
    .await
    .data();
    let preview = api
        .post(
            &format!("/portals/{portal}/preview"),
            json!({ "propertyId": flat }),
        )
        .await
        .data();
    secret(&preview, "url");
    // These requests write assignments and texts.
    let of = |target: Value| {
        test_support::house::with(
            json!({ "entityType": "manual", "entityId": manual["id"] }),
            target,
        )
    };
    api.post(
        "/entity-scopes/add",
        of(json!({ "propertyGroupIds": [group] })),
    )
    .await
    .data();
    api.post(
        "/entity-scopes/remove",
        of(json!({ "propertyGroupIds": [group] })),
    )
    .await
    .data();
    api.post("/entity-scopes", of(json!({ "propertyGroupIds": [group] })))
        .await
        .data();
    api.ok(
        Method::PUT,
        &format!("/translations/{text}/entries/fr"),
        Some(json!({ "text": "Pourquoi ?" })),
    )
    .await;
    api.ok(
        Method::DELETE,
        &format!("/translations/{text}/entries/fr"),
        None,
    )
    .await;
    // These requests write webhook subscriptions. The responses contain the signing secrets.
    let hook = api
        .post(
            "/webhook-subscriptions",
            json!({ "event": "task.created", "targetUrl": CLOSED_ADDRESS }),
        )
        .await
        .data();
    secret(&hook, "signingSecret");
    secret(
        &api.post(
            &format!("{}/rotate-secret", path("webhook-subscriptions", &hook)),
            json!({}),
        )
        .await
        .data(),
        "signingSecret",
    );
    let ping = api
        .send(
            Method::POST,
            &format!("{}/ping", path("webhook-subscriptions", &hook)),
            None,
        )
        .await
        .data();
    let deliveries = format!("{}/deliveries", path("webhook-subscriptions", &hook));
    wait_until("the ping fails", async || {
        app.server.dependencies.due.notify_one();
        api.get(&deliveries).await.data()[0]["status"] == "failed"
    })
    .await;
    api.send(
        Method::POST,
        &format!("{deliveries}/{}/redeliver", ping["id"].as_str().unwrap()),
        None,
    )
    .await
    .data();
    let since = json!({ "since": "2026-11-21T00:00:00.000Z" });
    api.post(
        &format!("{}/redeliver-failed", path("webhook-subscriptions", &hook)),
        since,
    )
    .await
    .data();
    api.send(
        Method::DELETE,
        &format!("/webhook-subscriptions?target_url={CLOSED_ADDRESS}"),
        None,
    )
    .await
    .data();
    // A guest answers and submits. Staff request changes and approve.
    let asked = house.step("main", json!({})).await;
    house
        .answer(asked, json!({ "a": "hush-five" }))
        .await
        .data();
    house.submit().await.data();
    let changes = json!({ "message": "Again, please.", "stepIds": [asked] });
    api.post(
        &format!("/reservations/{stay}/precheckin/request-changes"),
        changes,
    )
    .await
    .data();
    house.submit().await.data();
    api.send(
        Method::POST,
        &format!("/reservations/{stay}/precheckin/approve"),
        None,
    )
    .await
    .data();
    // These requests write API keys and other credentials. The responses contain the tokens, which
    // are secrets.
    let key = platform
        .post(
            &org.path("/api-keys"),
            json!({ "name": "Short", "permissions": [] }),
        )
        .await
        .data();
    secret(&key, "token");
    let key = org.path(&path("api-keys", &key));
    secret(
        &platform
            .send(
                Method::POST,
                &format!("{key}/rotate"),
                Some(json!({ "graceSeconds": 0 })),
            )
            .await
            .data(),
        "token",
    );
    platform.ok(Method::DELETE, &key, None).await;
    let member = new_id();
    org.member(member, None, Permission::VARIANTS, true).await;
    let token = json!({
        "memberId": member,
        "oauthAppId": org.oauth_app,
        "permissions": ["view_properties"],
    });
    secret(
        &platform
            .ok(Method::POST, &org.path("/access-tokens"), Some(token))
            .await,
        "token",
    );
    platform
        .ok(
            Method::DELETE,
            &org.path(&format!("/connections/{}/{member}", org.oauth_app)),
            None,
        )
        .await;
    // A member signs in and gives an app access. The app then revokes its own token.
    let link = link_for(org, member, json!({})).await.data();
    secret(&link, "url");
    let own = Org {
        app,
        id: org.id,
        oauth_app: org.oauth_app,
    };
    let scene = MemberScene {
        browser: signed_in(&own, member).await,
        org: own,
        member,
    };
    secrets.push(scene.browser.cookie("vestibule_session").unwrap());
    secrets.extend(keys_of_their_own(&scene.browser).await);
    secrets.extend(members_of_their_own(&scene.browser).await);
    secrets.extend(records_by_hand(api).await);
    secrets.push(calendar(api, *flat).await);
    let Tokens {
        access, refresh, ..
    } = scene.tokens(&scene.ask_for_api()).await;
    let client = org.oauth_app.to_string();
    for token in [&access, &refresh] {
        assert_eq!(
            ApiResponse::of(post(
                app,
                "/oauth/revoke",
                &pairs(&[("token", token), ("client_id", &client)])
            ))
            .await
            .status,
            200
        );
    }
    secrets.extend([access, refresh]);
    let Tokens {
        access, refresh, ..
    } = scene.tokens(&scene.ask_for_api()).await;
    secrets.extend([access, refresh]);
    api.send(
        Method::DELETE,
        &format!("/connections/{client}/{member}"),
        None,
    )
    .await
    .data();
    sign_out(&scene.browser).await;
    platform
        .ok(
            Method::DELETE,
            &org.path(&format!("/members/{member}")),
            None,
        )
        .await;
    org.put("", json!({ "name": "Casa Mar" })).await;
    secrets.extend(
        [
            "hush-one",
            "hush-two",
            "hush-three",
            "hush-four",
            "hush-five",
        ]
        .map(str::to_owned),
    );
    secrets
}

/// Creates an API key in the console as a member, rotates the key's token, and revokes the key.
/// Returns both tokens of the key.
async fn keys_of_their_own(browser: &Browser) -> [String; 2] {
    let shown = |answer: &ApiResponse| {
        format!(
            "sk_{}",
            html(answer)
                .split("sk_")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap()
        )
    };
    let form = Form::of(
        &page(browser, "/console/access/keys/new").await,
        "/keys/new",
    );
    let first = shown(
        &form
            .with("name", "Own")
            .with("permission", "view_tasks")
            .send(browser)
            .await,
    );
    let keys = page(browser, "/console/access/keys").await;
    let row = keys
        .split("<section")
        .find(|row| row.contains("Own") && row.contains("/revoke"))
        .unwrap()
        .to_owned();
    let key = row
        .split("/console/access/keys/")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    let form = Form::of(
        &page(browser, &format!("/console/access/keys/{key}/rotate")).await,
        "/rotate",
    );
    let second = shown(&form.send(browser).await);
    let form = Form::of(
        &page(browser, &format!("/console/access/keys/{key}/revoke")).await,
        "/revoke",
    );
    assert_eq!(form.send(browser).await.status, 303);
    [first, second]
}

/// Writes a flat and a lock code with `putRecords`, and imports a CSV file of tags. Returns the
/// Wi-Fi password of the flat and the lock code.
async fn records_by_hand(api: &Api) -> [String; 2] {
    let (flat, code) = (new_id(), new_id());
    let secrets = ["hush-wifi".to_owned(), "hush-code".to_owned()];
    let home = json!({
        "name": "Own",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "wifiPassword": secrets[0],
    });
    let door = json!({ "name": "Door", "code": secrets[1] });
    for (kind, id, data) in [("property", flat, home), ("lock_code", code, door)] {
        let records = json!([{ "kind": kind, "id": id, "data": data }]);
        api.post("/records", json!({ "records": records }))
            .await
            .data();
    }
    let change = json!({ "data": { "wifiName": "Own" } });
    api.patch(&format!("/records/property/{flat}"), change)
        .await
        .data();
    let table = json!({ "kind": "tag", "csv": "external_id,name\n1,Sea\n" });
    api.post("/records/import", table).await.data();
    secrets
}

/// Creates a calendar feed of a flat, fetches it and deletes it. Returns the feed's address. The
/// address is a secret, because it is the only credential of the calendar.
async fn calendar(api: &Api, flat: Uuid) -> String {
    let url = "https://127.0.0.1:9/hush-calendar.ics";
    let feed = json!({ "propertyId": flat, "url": url, "channel": "airbnb" });
    let feed = path(
        "calendar-feeds",
        &api.post("/calendar-feeds", feed).await.data(),
    );
    api.post(&format!("{feed}/refresh"), json!({})).await.data();
    api.ok(Method::DELETE, &feed, None).await;
    url.to_owned()
}

/// Invites a person in the console as a member, changes the invited member's name, and makes a
/// sign-in link for that member. Returns the link of the invitation and the sign-in link.
async fn members_of_their_own(browser: &Browser) -> [String; 2] {
    let shown = |answer: &ApiResponse| {
        let html = html(answer);
        let link = html.split("value=\"http").nth(1);
        let link = link.unwrap_or_else(|| panic!("no link: {html}"));
        format!("http{}", link.split('"').next().unwrap())
    };
    let form = Form::of(
        &page(browser, "/console/access/members/new").await,
        "/members/new",
    );
    let form = form
        .with("name", "Invited")
        .with("email", "invited@example.com");
    let first = shown(&form.with("permissions", "view_tasks").send(browser).await);
    let members = page(browser, "/console/access/members").await;
    let row = members
        .split("<section")
        .find(|row| row.contains("Invited"));
    let own = row.unwrap().split("href=\"").nth(1).unwrap();
    let own = own.split('"').next().unwrap().to_owned();
    let shown_page = page(browser, &own).await;
    let changed = Form::of(&shown_page, &own).with("name", "Changed");
    assert_eq!(changed.send(browser).await.status, 303);
    let second = shown(&Form::of(&shown_page, "/link").send(browser).await);
    [first, second]
}

async fn sign_out(browser: &Browser) {
    let page = browser.get("/sign-out").await;
    let form = crate::people::field(page.body.as_str().unwrap(), "form");
    assert_eq!(
        browser.post("/sign-out", &[("form", &form)]).await.status,
        303
    );
}

on_both!(
    every_write_is_audited_and_no_secret_is_logged,
    "--webhook-allow=127.0.0.0/8",
    "--console-keys"
);
async fn every_write_is_audited_and_no_secret_is_logged(app: App) {
    let house = House::build(&app).await;
    let other = app.org().await.key().await;
    let before = log(&other).await.len();
    let secrets = everything(&house).await;
    let mut entries = log(&house.api).await;
    while let Some(last) = entries.last() {
        let older = house
            .api
            .get(&format!("{LOG}&after={}", last["id"].as_str().unwrap()))
            .await
            .data();
        if older == json!([]) {
            break;
        }
        entries.extend(older.as_array().unwrap().iter().cloned());
        assert!(entries.len() < 10_000, "the log has no last page");
    }
    let done: BTreeSet<&str> = entries
        .iter()
        .map(|entry| entry["operation"].as_str().unwrap())
        .collect();
    let reported = vestibule::app::app()
        .operations
        .iter()
        .filter(|operation| operation.audits.is_some())
        .map(|operation| operation.id);
    let reported = reported.filter(|id| !DEVICE_OPERATIONS.contains(id));
    assert_eq!(
        done,
        reported.chain(WITHOUT_OPERATION).collect::<BTreeSet<_>>()
    );
    for entry in &entries {
        assert!(
            !entry["target"]["type"].as_str().unwrap().is_empty(),
            "{entry}"
        );
        let has_name = entry["actor"]["name"]
            .as_str()
            .is_some_and(|name| !name.is_empty());
        assert_eq!(has_name, entry["actor"]["kind"] != "platform", "{entry}");
        assert_eq!(
            entry["actor"]["id"].is_null(),
            entry["actor"]["kind"] == "platform",
            "{entry}"
        );
    }
    let rows = stored(&app).await;
    for secret in &secrets {
        // If a secret is a URL, only the part after its last `/` or `=` is confidential.
        let secret = if secret.starts_with("http") {
            secret.rsplit(['/', '=']).next().unwrap()
        } else {
            secret
        };
        assert!(
            secret.len() > 7 && !rows.iter().any(|row| row.contains(secret)),
            "{secret}"
        );
    }
    for sign in [
        "sk_", "at_", "rt_", "st_", "pv_", "vs_", "whsec_", "cs_", "ac_",
    ] {
        assert!(
            !rows.iter().any(|row| row.contains(&format!("\"{sign}"))),
            "{sign}"
        );
    }
    assert_eq!(
        log(&other).await.len(),
        before,
        "another organization's log"
    );
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
