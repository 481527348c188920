//! Each write operation creates one audit entry, and no entry contains a secret.

use std::collections::BTreeSet;

use engine::access::Permission;
use engine::operation::{Effect, Surface};
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use test_support::house::House;
use test_support::waiting::wait_until;
use test_support::{Api, ApiResponse, App, Org, new_id, on_both};
use uuid::Uuid;

use super::{LOG, log, path, stored};
use crate::console::{Form, html, page};
use crate::oauth::{MemberScene, Tokens, pairs, post};
use crate::people::{Browser, link_for, signed_in};

/// An HTTPS address on which nothing listens.
const CLOSED_ADDRESS: &str = "https://127.0.0.1:9/hook";

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
