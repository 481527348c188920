//! Tests of refresh tokens and of the revocation of tokens.

use std::time::Duration;

use futures_util::future::join;
use serde_json::json;
use test_support::{ApiResponse, App, on_both};

use super::{MemberScene, Tokens, pairs, post, refused, register, with};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

async fn revoke(app: &App, client: &str, token: &str) -> ApiResponse {
    ApiResponse::of(post(
        app,
        "/oauth/revoke",
        &pairs(&[("client_id", client), ("token", token)]),
    ))
    .await
}

on_both!(a_refresh_token_works_for_a_minute_after_its_exchange);
async fn a_refresh_token_works_for_a_minute_after_its_exchange(app: App) {
    let scene = MemberScene::build(&app).await;
    let first = scene.tokens(&scene.ask_for_api()).await;
    let second = Tokens::of(&scene.refresh(&first.refresh).await);
    assert!(
        second.refresh != first.refresh
            && second.access != first.access
            && second.scope == first.scope
    );
    // If a client did not receive the response to a refresh, it can send the old refresh token
    // again within a minute.
    app.clock.advance(Duration::from_secs(59));
    let again = Tokens::of(&scene.refresh(&first.refresh).await);
    let third = Tokens::of(&scene.refresh(&again.refresh).await);
    for tokens in [&first, &second, &again, &third] {
        scene.api(tokens).get("/portals").await.data();
    }
}

on_both!(a_late_reuse_of_a_refresh_token_ends_the_grant);
async fn a_late_reuse_of_a_refresh_token_ends_the_grant(app: App) {
    let scene = MemberScene::build(&app).await;
    let (first, bystander) = (
        scene.tokens(&scene.ask_for_api()).await,
        scene.tokens(&scene.ask_for_api()).await,
    );
    let second = Tokens::of(&scene.refresh(&first.refresh).await);
    app.clock.advance(MINUTE);
    let third = Tokens::of(&scene.refresh(&second.refresh).await);
    refused(&scene.refresh(&first.refresh).await, 400, "invalid_grant");
    for tokens in [&first, &second, &third] {
        scene.api(tokens).get("/portals").await.error(401);
        refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
    }
    scene.api(&bystander).get("/portals").await.data();
    Tokens::of(&scene.refresh(&bystander.refresh).await);
}

on_both!(two_concurrent_refreshes_return_the_same_tokens);
async fn two_concurrent_refreshes_return_the_same_tokens(app: App) {
    let scene = MemberScene::build(&app).await;
    let first = scene.tokens(&scene.ask_for_api()).await;
    let (one, other) = join(scene.refresh(&first.refresh), scene.refresh(&first.refresh)).await;
    let (one, other) = (Tokens::of(&one), Tokens::of(&other));
    assert_eq!((&one.refresh, &one.access), (&other.refresh, &other.access));
    scene.api(&one).get("/portals").await.data();
}

on_both!(reusing_a_refresh_token_returns_the_same_tokens_for_a_minute_and_then_ends_the_grant);
async fn reusing_a_refresh_token_returns_the_same_tokens_for_a_minute_and_then_ends_the_grant(
    app: App,
) {
    let scene = MemberScene::build(&app).await;
    let first = scene
        .tokens(&with(
            scene.ask_for_api(),
            "scope",
            "view_tasks view_devices",
        ))
        .await;
    let second = Tokens::of(
        &scene
            .refresh_with(&first.refresh, &[("scope", "view_tasks")])
            .await,
    );
    app.clock.advance(Duration::from_secs(59));
    // The response to the repeated request has the scope of the first response, although the
    // repeated request names no scope.
    let again = Tokens::of(&scene.refresh(&first.refresh).await);
    assert_eq!(
        (&again.refresh, &again.access, again.scope.as_str()),
        (&second.refresh, &second.access, "view_tasks")
    );
    // A repeated request does not extend the access token. The token expires an hour after it
    // was first issued.
    app.clock.advance(Duration::from_secs(3_599));
    scene.api(&again).get("/tasks").await.data();
    app.clock.advance(Duration::from_secs(1));
    scene.api(&again).get("/tasks").await.error(401);
    refused(&scene.refresh(&first.refresh).await, 400, "invalid_grant");
    refused(&scene.refresh(&second.refresh).await, 400, "invalid_grant");
}

on_both!(a_revoked_access_token_stays_revoked_when_its_refresh_is_repeated);
async fn a_revoked_access_token_stays_revoked_when_its_refresh_is_repeated(app: App) {
    let scene = MemberScene::build(&app).await;
    let first = scene.tokens(&scene.ask_for_api()).await;
    let second = Tokens::of(&scene.refresh(&first.refresh).await);
    let id = scene.org.oauth_app.to_string();
    assert_eq!(revoke(&app, &id, &second.access).await.status, 200);
    let again = Tokens::of(&scene.refresh(&first.refresh).await);
    scene.api(&again).get("/portals").await.error(401);
    scene
        .api(&Tokens::of(&scene.refresh(&again.refresh).await))
        .get("/portals")
        .await
        .data();
}

on_both!(two_processes_of_one_assistant_keep_their_grant_for_days);
async fn two_processes_of_one_assistant_keep_their_grant_for_days(app: App) {
    let scene = MemberScene::build(&app).await;
    let first = scene.tokens(&scene.ask_for_api()).await;
    let (mut one, mut other) = (first.clone(), first);
    for round in 0..48_u64 {
        // Both processes of the assistant refresh shortly before their access token expires, some
        // seconds apart, in either order.
        app.clock.advance(Duration::from_secs(3_540));
        let [early, late] = if round % 2 == 0 {
            [&mut one, &mut other]
        } else {
            [&mut other, &mut one]
        };
        *early = Tokens::of(&scene.refresh(&early.refresh).await);
        app.clock.advance(Duration::from_secs(round % 60));
        *late = Tokens::of(&scene.refresh(&late.refresh).await);
        for tokens in [&one, &other] {
            scene.api(tokens).get("/portals").await.data();
        }
    }
}

on_both!(a_refresh_may_narrow_but_not_widen_its_scope);
async fn a_refresh_may_narrow_but_not_widen_its_scope(app: App) {
    let scene = MemberScene::build(&app).await;
    let first = scene
        .tokens(&with(
            scene.ask_for_api(),
            "scope",
            "view_tasks view_devices",
        ))
        .await;
    for (scope, error) in [
        ("view_tasks manage_organization", "invalid_scope"),
        ("view_everything", "invalid_scope"),
        ("openid view_everything", "invalid_scope"),
    ] {
        refused(
            &scene
                .refresh_with(&first.refresh, &[("scope", scope)])
                .await,
            400,
            error,
        );
    }
    let mcp = scene.resource("/mcp");
    refused(
        &scene
            .refresh_with(&first.refresh, &[("resource", &mcp)])
            .await,
        400,
        "invalid_target",
    );
    let less = Tokens::of(
        &scene
            .refresh_with(
                &first.refresh,
                &[
                    ("scope", "view_tasks"),
                    ("resource", &scene.resource("/api/v1")),
                ],
            )
            .await,
    );
    assert_eq!(less.scope, "view_tasks");
    let openid = Tokens::of(
        &scene
            .refresh_with(&less.refresh, &[("scope", " view_tasks  offline_access")])
            .await,
    );
    assert_eq!(openid.scope, "view_tasks");
    let less = Tokens::of(
        &scene
            .refresh_with(&openid.refresh, &[("scope", "view_tasks view_everything")])
            .await,
    );
    assert_eq!(less.scope, "view_tasks");
    scene.api(&less).get("/tasks").await.data();
    scene.api(&less).get("/devices").await.error(403);
    // A refresh that asks for a narrower scope does not change the scope of the grant (RFC
    // 6749, section 6).
    let all = Tokens::of(&scene.refresh(&less.refresh).await);
    assert_eq!(all.scope, "view_tasks view_devices");
    let all = Tokens::of(
        &scene
            .refresh_with(&all.refresh, &[("scope", "openid profile email")])
            .await,
    );
    assert_eq!(all.scope, "view_tasks view_devices");
}

on_both!(a_grant_ends_after_30_days_without_use);
async fn a_grant_ends_after_30_days_without_use(app: App) {
    let scene = MemberScene::build(&app).await;
    let mut tokens = scene.tokens(&scene.ask_for_api()).await;
    for _ in 0..3 {
        app.clock.advance(29 * DAY);
        app.server.sweep_once().await;
        tokens = Tokens::of(&scene.refresh(&tokens.refresh).await);
    }
    app.clock.advance(30 * DAY);
    refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
    app.server.sweep_once().await;
    refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
}

on_both!(a_refresh_token_belongs_to_a_single_client);
async fn a_refresh_token_belongs_to_a_single_client(app: App) {
    let scene = MemberScene::build(&app).await;
    let tokens = scene.tokens(&scene.ask_for_api()).await;
    let other = register(
        &app,
        json!({ "redirect_uris": ["https://x.example/"], "token_endpoint_auth_method": "none" }),
    )
    .await;
    let other = other.body["client_id"].as_str().unwrap().to_owned();
    let stolen = pairs(&[
        ("grant_type", "refresh_token"),
        ("client_id", &other),
        ("refresh_token", &tokens.refresh),
    ]);
    refused(
        &crate::oauth::token(&app, &stolen).await,
        400,
        "invalid_grant",
    );
    for token in [&tokens.refresh, &tokens.access] {
        refused(&revoke(&app, &other, token).await, 400, "invalid_grant");
    }
    scene.api(&tokens).get("/portals").await.data();
    Tokens::of(&scene.refresh(&tokens.refresh).await);
    for token in ["", "rt_", "rt_x", "ac_x", "at_x", "\0", &"a".repeat(5_000)] {
        let response = scene.refresh(token).await;
        assert_eq!(response.status, 400, "{token}: {}", response.body);
    }
}

on_both!(a_client_revokes_its_own_tokens);
async fn a_client_revokes_its_own_tokens(app: App) {
    let scene = MemberScene::build(&app).await;
    let id = scene.org.oauth_app.to_string();
    let (one, other) = (
        scene.tokens(&scene.ask_for_api()).await,
        scene.tokens(&scene.ask_for_api()).await,
    );
    assert_eq!(revoke(&app, &id, &one.access).await.status, 200);
    scene.api(&one).get("/portals").await.error(401);
    let one = Tokens::of(&scene.refresh(&one.refresh).await);
    scene.api(&one).get("/portals").await.data();
    assert_eq!(revoke(&app, &id, &one.refresh).await.status, 200);
    scene.api(&one).get("/portals").await.error(401);
    refused(&scene.refresh(&one.refresh).await, 400, "invalid_grant");
    scene.api(&other).get("/portals").await.data();
    for unknown in [
        one.refresh.as_str(),
        one.access.as_str(),
        "rt_x",
        "at_x",
        "x",
    ] {
        assert_eq!(revoke(&app, &id, unknown).await.status, 200, "{unknown}");
    }
    refused(&revoke(&app, &id, "").await, 400, "invalid_request");
    refused(
        &revoke(&app, "nobody", &other.access).await,
        401,
        "invalid_client",
    );
    scene.api(&other).get("/portals").await.data();
}
