//! Tests of API keys in the console: managers of the organization see them, and can create them if
//! `--console-keys` allows it.

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use test_support::{App, new_id, on_both};

use super::{Form, html, marta, member_with, page, plain, portal};
use crate::people::signed_in;

const NASTY: &str = "<script>alert(1)</script>";

on_both!(api_keys_are_listed_with_their_last_use);
async fn api_keys_are_listed_with_their_last_use(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let listed = api.get("/api-keys").await.data()[0].clone();
    assert_eq!(
        (&listed["name"], &listed["lastWrite"], listed.get("token")),
        (&json!("key"), &Value::Null, None)
    );
    assert_eq!(listed["lastUsedAt"], "2026-11-21T09:30:00.000Z");
    let (id, _) = portal(&api, "Casa").await;
    app.clock.advance(std::time::Duration::from_secs(90));
    api.patch(
        &format!("/portals/{id}"),
        json!({ "data": { "name": "Casa Azul" } }),
    )
    .await
    .data();
    app.server.sweep_once().await;
    let response = api.get("/api-keys").await;
    let listed = response.data()[0].clone();
    assert_eq!(
        listed["lastWrite"],
        json!({
            "operation": "updatePortal",
            "occurredAt": "2026-11-21T09:31:30.000Z",
            "target": { "type": "portal", "id": id, "name": "Casa Azul" },
        })
    );
    assert_eq!(
        (
            &listed["lastUsedAt"],
            &response.body["meta"]["pagination"]["total"]
        ),
        (&json!("2026-11-21T09:31:30.000Z"), &json!(1))
    );
    org.key_without(Permission::ManageOrganization)
        .await
        .get("/api-keys")
        .await
        .error(403);

    let browser = marta(&org).await;
    let keys = page(&browser, "/console/access/keys").await;
    assert!(
        plain(&keys).contains("key changed the portal Casa Azul") && !keys.contains("updatePortal"),
        "{keys}"
    );
    assert!(
        keys.contains("The platform creates and revokes them"),
        "{keys}"
    );
    assert!(
        !keys.contains("/access/keys/new") && !keys.contains("/revoke"),
        "{keys}"
    );
    let history = plain(
        keys.split("/console/audit?actor=")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap(),
    );
    let log = page(&browser, &format!("/console/audit?actor={history}")).await;
    assert!(
        log.contains("The activity of one API key or member")
            && log.contains("Casa Azul")
            && !log.contains("signed in"),
        "{log}"
    );

    // In the list of API keys, `lastWrite` comes from the audit log. It is null for a caller
    // limited to some properties, who may not read that audit entry.
    let flat = org.property(None, &[]).await;
    let listed = org.limited(&[flat]).await.get("/api-keys").await.data()[0].clone();
    assert_eq!(
        (&listed["name"], &listed["lastWrite"]),
        (&json!("key"), &Value::Null)
    );
    let keys = page(
        &member_with(&org, Permission::VARIANTS, Some(&[flat])).await,
        "/console/access/keys",
    )
    .await;
    assert!(
        keys.contains("Last used")
            && !keys.contains("changed the portal")
            && !keys.contains("Last change"),
        "{keys}"
    );
    assert!(!keys.contains("/console/audit?actor="), "{keys}");
}

on_both!(without_the_flag_api_keys_cannot_be_created_in_the_console);
async fn without_the_flag_api_keys_cannot_be_created_in_the_console(app: App) {
    let org = app.org().await;
    let id = org.key_and_id(Permission::VARIANTS).await.1;
    let browser = marta(&org).await;
    for place in [
        "new".to_owned(),
        format!("{id}/rotate"),
        format!("{id}/revoke"),
    ] {
        assert_eq!(
            browser
                .get(&format!("/console/access/keys/{place}"))
                .await
                .status,
            404,
            "{place}"
        );
    }
    let api = org.key().await;
    let refused = api
        .post("/api-keys", json!({ "name": "Mine", "permissions": [] }))
        .await
        .error(403);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("--console-keys"),
        "{refused}"
    );
    assert!(
        api.post(&format!("/api-keys/{id}/rotate"), json!({}))
            .await
            .error(403)["message"]
            .as_str()
            .unwrap()
            .contains("--console-keys")
    );
    let revoked = api
        .send(Method::DELETE, &format!("/api-keys/{id}"), None)
        .await
        .error(403);
    assert!(
        revoked["message"]
            .as_str()
            .unwrap()
            .contains("--console-keys"),
        "{revoked}"
    );
}

on_both!(an_api_key_is_created_rotated_and_revoked, "--console-keys");
async fn an_api_key_is_created_rotated_and_revoked(app: App) {
    let org = app.org().await;
    let browser = member_with(
        &org,
        &[Permission::ManageOrganization, Permission::ViewTasks],
        None,
    )
    .await;
    let new = Form::of(
        &page(&browser, "/console/access/keys/new").await,
        "/keys/new",
    );
    let form = page(&browser, "/console/access/keys/new").await;
    assert!(
        form.contains("view_tasks") && !form.contains("view_devices"),
        "{form}"
    );
    let refused = new
        .clone()
        .with("name", NASTY)
        .with("permission", "view_tasks")
        .with("expiresAt", "2020-01-01T00:00")
        .refused(&browser, 400)
        .await;
    assert!(
        !refused.contains(NASTY)
            && plain(&refused).contains(NASTY)
            && refused.contains("value=\"view_tasks\" checked"),
        "{refused}"
    );
    // The service refuses a permission that the form does not offer, even if a member sends a
    // forged form.
    new.clone()
        .with("name", "More")
        .with("permission", "view_devices")
        .refused(&browser, 403)
        .await;
    let created = html(
        &new.with("name", NASTY)
            .with("permission", "view_tasks")
            .send(&browser)
            .await,
    );
    let token = |page: &str| {
        format!(
            "sk_{}",
            page.split("sk_").nth(1).unwrap().split('"').next().unwrap()
        )
    };
    let api = app.api(&token(&created));
    assert_eq!(
        (
            api.get("/tasks").await.status,
            api.get("/devices").await.status
        ),
        (200, 403)
    );

    let keys = page(&browser, "/console/access/keys").await;
    assert!(
        !keys.contains(NASTY) && plain(&keys).contains(NASTY) && !keys.contains("sk_"),
        "{keys}"
    );
    let path = format!(
        "/console/access/keys/{}",
        keys.split("/console/access/keys/")
            .filter(|rest| rest.contains("/revoke"))
            .last()
            .unwrap()
            .split('/')
            .next()
            .unwrap()
    );
    let rotated = html(
        &Form::of(&page(&browser, &format!("{path}/rotate")).await, "/rotate")
            .with("hours", "0")
            .send(&browser)
            .await,
    );
    assert_eq!(
        (
            api.get("/tasks").await.status,
            app.api(&token(&rotated)).get("/tasks").await.status
        ),
        (401, 200)
    );
    Form::of(&page(&browser, &format!("{path}/revoke")).await, "/revoke")
        .done(&browser, "removed")
        .await;
    assert_eq!(app.api(&token(&rotated)).get("/tasks").await.status, 401);
    assert_eq!(browser.get(&format!("{path}/revoke")).await.status, 404);
    let log = plain(&page(&browser, "/console/audit").await);
    for text in [
        "created the API key",
        "created a new token for the API key",
        "revoked the API key",
    ] {
        assert!(log.contains(text), "{text}: {log}");
    }
    assert!(!log.contains("sk_"), "{log}");
}

on_both!(a_token_is_shown_once_and_never_again, "--console-keys");
async fn a_token_is_shown_once_and_never_again(app: App) {
    let org = app.org().await;
    let id = new_id();
    org.member(id, None, Permission::VARIANTS, true).await;
    let browser = signed_in(&org, id).await;
    let new = Form::of(
        &page(&browser, "/console/access/keys/new").await,
        "/keys/new",
    )
    .with("name", NASTY)
    .with("permission", "view_tasks");
    let again = async |form: &Form| {
        let shown = html(&form.send(&browser).await);
        assert!(
            shown.contains("sk_") && !shown.contains("is not stored"),
            "{shown}"
        );
        let shown = html(&form.send(&browser).await);
        assert!(
            !shown.contains("sk_")
                && shown.contains("is not stored")
                && plain(&shown).contains(NASTY),
            "{shown}"
        );
        shown
    };
    let shown = again(&new).await;
    let path = format!(
        "/console/access/keys/{}",
        shown
            .split("/console/access/keys/")
            .find_map(|rest| rest.split_once("/rotate"))
            .unwrap()
            .0
    );
    let rotate =
        Form::of(&page(&browser, &format!("{path}/rotate")).await, "/rotate").with("hours", "1");
    again(&rotate).await;
    let kept = app
        .query("select body from idempotency_record", Vec::new(), |row| {
            row.get::<String>(0)
        })
        .await;
    assert_eq!(kept.len(), 2);
    assert!(
        kept.iter()
            .all(|body| body.contains("\"token\":null") && !body.contains("sk_")),
        "{kept:?}"
    );
    assert_eq!(
        app.platform()
            .get(&org.path("/api-keys"))
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    // The member loses access to some flats, so the member may no longer create keys. The member
    // then repeats the requests that created and rotated a key. The service does not replay the
    // stored responses.
    let flat = org.property(None, &[]).await;
    org.member(id, Some(&[flat]), Permission::VARIANTS, true)
        .await;
    assert_eq!(new.send(&browser).await.status, 404);
    let refused = rotate.refused(&browser, 403).await;
    assert!(refused.contains("access to every flat"), "{refused}");
}

on_both!(only_unlimited_managers_create_api_keys, "--console-keys");
async fn only_unlimited_managers_create_api_keys(app: App) {
    let org = app.org().await;
    let id = org.key_and_id(Permission::VARIANTS).await.1;
    let flat = org.property(None, &[]).await;
    let limited = member_with(&org, Permission::VARIANTS, Some(&[flat])).await;
    assert_eq!(limited.get("/console/access/keys/new").await.status, 404);
    let few = member_with(&org, &[Permission::ManageOrganization], None).await;
    let rotate = Form::of(
        &page(&few, &format!("/console/access/keys/{id}/rotate")).await,
        "/rotate",
    );
    let refused = rotate.refused(&few, 403).await;
    assert!(
        refused.contains("can have only permissions that you have"),
        "{refused}"
    );
    // Neither an API key nor an app can create an API key, whatever permissions it has.
    let api = org.key().await;
    let ada = test_support::new_id();
    org.member(ada, None, Permission::VARIANTS, true).await;
    for caller in [&api, &org.token_of(ada, Permission::VARIANTS).await] {
        let refused = caller
            .post("/api-keys", json!({ "name": "Mine", "permissions": [] }))
            .await
            .error(403);
        assert!(
            refused["message"].as_str().unwrap().contains("signed-in"),
            "{refused}"
        );
        assert_eq!(
            caller
                .post(&format!("/api-keys/{id}/rotate"), json!({}))
                .await
                .status,
            403
        );
    }
    let elsewhere = marta(&app.org().await).await;
    assert_eq!(
        elsewhere
            .get(&format!("/console/access/keys/{id}/revoke"))
            .await
            .status,
        404
    );
}

on_both!(each_screen_shows_who_changed_its_resource);
async fn each_screen_shows_who_changed_its_resource(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let create = |path: &'static str, body: Value| {
        let api = &api;
        async move {
            api.post(path, body).await.data()["id"]
                .as_str()
                .unwrap()
                .to_owned()
        }
    };
    let things = [
        (
            "portals",
            create("/portals", json!({ "name": format!("Casa {NASTY}") })).await,
        ),
        (
            "brandings",
            create("/portal-brandings", json!({ "name": "Azul" })).await,
        ),
        (
            "steps",
            create(
                "/precheck-steps",
                json!({ "stepType": "main", "nickname": "Step" }),
            )
            .await,
        ),
        (
            "manuals",
            create(
                "/portal-manuals",
                json!({ "nickname": "Wifi", "title": "Wifi" }),
            )
            .await,
        ),
        (
            "categories",
            create("/portal-manual-categories", json!({ "title": "House" })).await,
        ),
    ];
    let others: Vec<Permission> = Permission::VARIANTS
        .iter()
        .copied()
        .filter(|known| *known != Permission::ManageOrganization)
        .collect();
    let (manager, other) = (marta(&org).await, member_with(&org, &others, None).await);
    for (place, id) in &things {
        let path = format!("/console/{place}/{id}");
        let html = page(&manager, &path).await;
        assert!(
            html.contains("Who changed this")
                && html.contains("key created the")
                && html.contains(&format!("/console/audit?target={id}")),
            "{path}: {html}"
        );
        assert!(!html.contains(NASTY), "{html}");
        assert!(
            !page(&other, &path).await.contains("Who changed this"),
            "{path}"
        );
    }
}
