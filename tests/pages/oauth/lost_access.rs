//! Tests of apps whose member loses permissions, properties or access.

use engine::access::Permission;
use reqwest::Method;
use serde_json::json;
use strum::VariantArray;
use test_support::{App, new_id, on_both};

use super::{MemberScene, Tokens, refused};
use crate::people::signed_in;

/// Lists the tools at a path below the tool interface. Returns the status.
async fn tools_at(app: &App, path: &str, token: &str) -> u16 {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let request = app
        .http
        .request(Method::POST, format!("{}{path}", app.base));
    let request = request
        .bearer_auth(token)
        .header("accept", "application/json");
    test_support::ApiResponse::of(request.json(&message))
        .await
        .status
}

/// Calls the tool `listTags` at a path of the tool interface, such as `/mcp/read-only`. Returns
/// whether the call succeeded.
async fn calls_at(app: &App, path: &str, token: &str) -> bool {
    let params = json!({ "name": "listTags", "arguments": {} });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = app
        .http
        .request(Method::POST, format!("{}{path}", app.base));
    let response = test_support::ApiResponse::of(request.bearer_auth(token).json(&message)).await;
    response.body["result"]["isError"] == false
}

on_both!(a_token_for_all_tools_covers_the_read_only_address_and_not_vice_versa);
async fn a_token_for_all_tools_covers_the_read_only_address_and_not_vice_versa(app: App) {
    let scene = MemberScene::build(&app).await;
    let ask = |path: &str| crate::oauth::with(scene.ask(), "resource", &scene.resource(path));
    for (resource, good, bad) in [
        (
            "/mcp",
            &["/mcp", "/mcp/read-only", "/mcp?toolsets=records"][..],
            &[][..],
        ),
        (
            "/mcp?toolsets=records",
            &["/mcp", "/mcp/read-only"][..],
            &[][..],
        ),
        (
            "/mcp/read-only",
            &["/mcp/read-only", "/mcp/read-only?toolsets=records"][..],
            &["/mcp", "/mcp?toolsets=records"][..],
        ),
        ("/api/v1", &[][..], &["/mcp", "/mcp/read-only"][..]),
    ] {
        let tokens = scene.tokens(&ask(resource)).await;
        for path in good {
            assert_eq!(
                tools_at(&app, path, &tokens.access).await,
                200,
                "{resource} {path}"
            );
            assert!(
                calls_at(&app, path, &tokens.access).await,
                "{resource} {path}"
            );
        }
        for path in bad {
            assert_eq!(
                tools_at(&app, path, &tokens.access).await,
                401,
                "{resource} {path}"
            );
        }
        assert_eq!(
            scene.api(&tokens).get("/tags").await.status == 200,
            resource == "/api/v1"
        );
    }
}

on_both!(apps_lose_the_access_that_their_member_loses);
async fn apps_lose_the_access_that_their_member_loses(app: App) {
    let org = app.org().await;
    let (mine, other, member) = (
        org.property(None, &[]).await,
        org.property(None, &[]).await,
        new_id(),
    );
    org.member(member, Some(&[mine, other]), Permission::VARIANTS, true)
        .await;
    let browser = signed_in(&org, member).await;
    let scene = MemberScene {
        org,
        member,
        browser,
    };
    let tokens = scene.tokens(&scene.ask_for_api()).await;
    let api = scene.api(&tokens);
    assert_eq!(
        api.get("/properties")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        2
    );
    scene
        .org
        .member(member, Some(&[mine]), Permission::VARIANTS, true)
        .await;
    assert_eq!(
        api.get("/properties")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    scene
        .org
        .member(member, Some(&[mine]), &[Permission::ViewTasks], true)
        .await;
    api.get("/properties").await.error(403);
    api.get("/tasks").await.data();
    let renewed = Tokens::of(&scene.refresh(&tokens.refresh).await);
    scene.api(&renewed).get("/properties").await.error(403);
}

on_both!(apps_cannot_act_for_inactive_members);
async fn apps_cannot_act_for_inactive_members(app: App) {
    let scene = MemberScene::build(&app).await;
    let (tokens, code) = (
        scene.tokens(&scene.ask_for_api()).await,
        scene.code(&scene.ask_for_api()).await,
    );
    let member = |is_active: bool, is_enrolled: bool| {
        json!({
            "name": "Member",
            "email": "member@example.com",
            "permissions": Permission::VARIANTS,
            "propertyIds": null,
            "isActive": is_active,
            "isTwoFactorEnrolled": is_enrolled,
        })
    };
    let path = format!("/members/{}", scene.member);
    scene.org.put(&path, member(false, true)).await;
    scene.api(&tokens).get("/portals").await.error(401);
    refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
    refused(&scene.exchange(&code).await, 400, "invalid_grant");
    scene.org.put(&path, member(true, false)).await;
    scene
        .org
        .put("", json!({ "name": "Casa", "isTwoFactorRequired": true }))
        .await;
    assert_eq!(
        scene.api(&tokens).get("/portals").await.error(403)["code"],
        "TWO_FACTOR_REQUIRED"
    );
    refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
    refused(&scene.exchange(&code).await, 400, "invalid_grant");
    // When the member is active and enrolled in two-factor authentication again, the refresh token
    // and the authorization code are valid again.
    scene.org.put(&path, member(true, true)).await;
    Tokens::of(&scene.refresh(&tokens.refresh).await);
    Tokens::of(&scene.exchange(&code).await);
    app.platform()
        .ok(Method::DELETE, &scene.org.path(&path), None)
        .await;
    scene.api(&tokens).get("/portals").await.error(401);
    refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
}

on_both!(a_removed_member_cannot_give_consent);
async fn a_removed_member_cannot_give_consent(app: App) {
    let scene = MemberScene::build(&app).await;
    let page = scene.page(&scene.ask()).await;
    let form = crate::oauth::form(&page, "approve");
    app.platform()
        .ok(
            Method::DELETE,
            &scene.org.path(&format!("/members/{}", scene.member)),
            None,
        )
        .await;
    let response = scene
        .browser
        .post(
            "/oauth/consent",
            &form.iter().map(crate::oauth::borrowed).collect::<Vec<_>>(),
        )
        .await;
    assert!(
        response
            .header("location")
            .unwrap()
            .starts_with("/sign-in?"),
        "{response:?}"
    );
}

on_both!(erasing_an_organization_ends_all_its_grants);
async fn erasing_an_organization_ends_all_its_grants(app: App) {
    let scene = MemberScene::build(&app).await;
    let (tokens, code) = (
        scene.tokens(&scene.ask_for_api()).await,
        scene.code(&scene.ask()).await,
    );
    app.platform()
        .ok(
            Method::DELETE,
            &format!("/organizations/{}", scene.org.id),
            None,
        )
        .await;
    scene.api(&tokens).get("/portals").await.error(401);
    refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
    refused(&scene.exchange(&code).await, 400, "invalid_grant");
    app.server.sweep_once().await;
    for table in ["oauth_grant", "oauth_refresh_token", "access_token"] {
        let remaining = app
            .query(
                format!("select count(*) from {table} where organization_id = ?1"),
                vec![scene.org.id.into()],
                |row| row.get::<i64>(0),
            )
            .await;
        assert_eq!(remaining, [0], "{table}");
    }
}
