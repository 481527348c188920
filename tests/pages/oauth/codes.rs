//! Tests of authorization codes, and of attempts to exchange a code without permission.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::future::join;
use reqwest::Method;
use serde_json::json;
use test_support::{ApiResponse, App, on_both};

use super::{MemberScene, Tokens, VERIFIER, encoded, pairs, post, refused, register, token, with};

on_both!(exchanged_tokens_are_valid_only_at_their_resource);
async fn exchanged_tokens_are_valid_only_at_their_resource(app: App) {
    let scene = MemberScene::build(&app).await;
    let tokens = scene
        .tokens(&with(
            scene.ask_for_api(),
            "scope",
            "view_tasks view_properties",
        ))
        .await;
    assert_eq!(tokens.scope, "view_properties view_tasks");
    scene.api(&tokens).get("/portals").await.data();
    scene.api(&tokens).get("/devices").await.error(403);
    let tool = |tokens: &Tokens| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        let request = app
            .http
            .request(Method::POST, format!("{}/mcp", app.base))
            .bearer_auth(&tokens.access)
            .json(&body);
        ApiResponse::of(request.header("accept", "application/json, text/event-stream"))
    };
    assert_eq!(tool(&tokens).await.status, 401);
    let at_tools = scene.tokens(&scene.ask()).await;
    assert_eq!(tool(&at_tools).await.status, 200);
    scene.api(&at_tools).get("/portals").await.error(401);
    // An access token is valid for an hour.
    app.clock.advance(Duration::from_secs(3_599));
    scene.api(&tokens).get("/portals").await.data();
    app.clock.advance(Duration::from_secs(1));
    scene.api(&tokens).get("/portals").await.error(401);
}

on_both!(a_refused_exchange_does_not_use_the_code);
async fn a_refused_exchange_does_not_use_the_code(app: App) {
    let scene = MemberScene::build(&app).await;
    let code = scene.code(&scene.ask_for_api()).await;
    let right = scene.exchange_of(&code);
    let other = register(
        &app,
        json!({
            "redirect_uris": ["https://client.example/cb"],
            "token_endpoint_auth_method": "none",
        }),
    )
    .await;
    let other = other.body["client_id"].as_str().unwrap();
    let mcp = scene.resource("/mcp");
    for (name, value, status, error) in [
        ("code_verifier", "", 400, "invalid_request"),
        (
            "code_verifier",
            "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXx",
            400,
            "invalid_grant",
        ),
        ("code_verifier", "short", 400, "invalid_grant"),
        ("client_id", other, 400, "invalid_grant"),
        ("client_id", "nobody", 401, "invalid_client"),
        ("client_id", "", 401, "invalid_client"),
        (
            "redirect_uri",
            "https://client.example/cb2",
            400,
            "invalid_grant",
        ),
        ("resource", &mcp, 400, "invalid_target"),
        ("resource", "https://evil.example/", 400, "invalid_target"),
        ("grant_type", "", 400, "invalid_request"),
        ("grant_type", "password", 400, "unsupported_grant_type"),
        (
            "grant_type",
            "client_credentials",
            400,
            "unsupported_grant_type",
        ),
        ("code", "", 400, "invalid_request"),
        ("code", "ac_other", 400, "invalid_grant"),
        ("code", "\0", 400, "invalid_request"),
        ("client_secret", "cs_x", 401, "invalid_client"),
    ] {
        refused(
            &token(&app, &with(right.clone(), name, value)).await,
            status,
            error,
        );
    }
    let twice = format!("{}&code={code}", encoded(&right));
    let raw = |kind: &str, body: Vec<u8>| {
        ApiResponse::of(
            app.http
                .request(Method::POST, format!("{}/oauth/token", app.base))
                .header("content-type", kind)
                .body(body),
        )
    };
    let kind = "application/x-www-form-urlencoded";
    for (kind, body) in [
        (kind, twice.into_bytes()),
        (kind, vec![b'a'; 70_000]),
        (
            "application/json",
            json!({ "grant_type": "authorization_code" })
                .to_string()
                .into_bytes(),
        ),
        (kind, b"grant_type=%ff%fe".to_vec()),
        ("text/plain", encoded(&right).into_bytes()),
    ] {
        refused(&raw(kind, body).await, 400, "invalid_request");
    }
    refused(&raw(kind, Vec::new()).await, 401, "invalid_client");
    // The refused exchanges above have not used the code up.
    let tokens =
        Tokens::of(&token(&app, &with(right, "resource", &scene.resource("/api/v1"))).await);
    scene.api(&tokens).get("/portals").await.data();
}

on_both!(a_reused_code_revokes_its_tokens);
async fn a_reused_code_revokes_its_tokens(app: App) {
    let scene = MemberScene::build(&app).await;
    let (code, bystander) = (
        scene.code(&scene.ask_for_api()).await,
        scene.tokens(&scene.ask_for_api()).await,
    );
    let tokens = Tokens::of(&scene.exchange(&code).await);
    let renewed = Tokens::of(&scene.refresh(&tokens.refresh).await);
    for tokens in [&tokens, &renewed] {
        scene.api(tokens).get("/portals").await.data();
    }
    // A second exchange means that the code has leaked. The service therefore revokes the
    // tokens, even ten minutes after the first exchange.
    app.clock.advance(Duration::from_secs(600));
    refused(&scene.exchange(&code).await, 400, "invalid_grant");
    for tokens in [&tokens, &renewed] {
        scene.api(tokens).get("/portals").await.error(401);
        refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
    }
    scene.api(&bystander).get("/portals").await.data();
    refused(&scene.exchange(&code).await, 400, "invalid_grant");
}

on_both!(a_concurrent_second_exchange_revokes_the_tokens);
async fn a_concurrent_second_exchange_revokes_the_tokens(app: App) {
    let scene = MemberScene::build(&app).await;
    for _ in 0..5 {
        let code = scene.code(&scene.ask_for_api()).await;
        let (one, other) = join(scene.exchange(&code), scene.exchange(&code)).await;
        let (won, lost) = if one.status == 200 {
            (one, other)
        } else {
            (other, one)
        };
        let tokens = Tokens::of(&won);
        refused(&lost, 400, "invalid_grant");
        scene.api(&tokens).get("/portals").await.error(401);
    }
}

on_both!(a_code_expires_after_a_minute);
async fn a_code_expires_after_a_minute(app: App) {
    let scene = MemberScene::build(&app).await;
    let (late, early) = (
        scene.code(&scene.ask()).await,
        scene.code(&scene.ask()).await,
    );
    app.clock.advance(Duration::from_secs(59));
    Tokens::of(&scene.exchange(&early).await);
    app.clock.advance(Duration::from_secs(1));
    refused(&scene.exchange(&late).await, 400, "invalid_grant");
}

on_both!(a_confidential_app_must_present_its_secret);
async fn a_confidential_app_must_present_its_secret(app: App) {
    let scene = MemberScene::build(&app).await;
    let id = scene.org.oauth_app;
    let make = async || {
        app.platform()
            .post(&format!("/oauth-apps/{id}/client-secret"), json!({}))
            .await
    };
    let first = make().await;
    assert_eq!(first.status, 201);
    let first = first.data()["clientSecret"].as_str().unwrap().to_owned();
    app.platform()
        .post(
            &format!("/oauth-apps/{}/client-secret", test_support::new_id()),
            json!({}),
        )
        .await
        .error(404);
    let basic = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
    let attempt = async |header: Option<String>, secret: &str| {
        let code = scene.code(&scene.ask()).await;
        let form = with(scene.exchange_of(&code), "client_secret", secret);
        let form = if header.is_some() {
            with(form, "client_id", "")
        } else {
            form
        };
        let request = post(&app, "/oauth/token", &form);
        ApiResponse::of(match header {
            Some(header) => request.header("authorization", header),
            None => request,
        })
        .await
    };
    let wrong = attempt(None, "").await;
    refused(&wrong, 401, "invalid_client");
    let wrong = attempt(Some(basic(&format!("{id}:cs_wrong"))), "").await;
    refused(&wrong, 401, "invalid_client");
    assert!(
        wrong
            .header("www-authenticate")
            .unwrap()
            .starts_with("Basic ")
    );
    refused(&attempt(None, "cs_wrong").await, 401, "invalid_client");
    refused(
        &attempt(Some("Basic !".into()), "").await,
        401,
        "invalid_client",
    );
    refused(
        &attempt(Some(basic(&format!("{id}:{first}"))), &first).await,
        400,
        "invalid_request",
    );
    Tokens::of(&attempt(None, &first).await);
    Tokens::of(
        &attempt(
            Some(basic(&format!("{id}:{}", first.replace('_', "%5F")))),
            "",
        )
        .await,
    );
    // The previous client secret stays valid for a day after a new secret is created.
    let second = make().await.data()["clientSecret"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_ne!(first, second);
    Tokens::of(&attempt(None, &first).await);
    Tokens::of(&attempt(None, &second).await);
    let path = format!("/oauth-apps/{id}");
    app.platform()
        .ok(
            Method::PUT,
            &path,
            Some(json!({ "name": "Client", "redirectUris": ["https://client.example/cb"] })),
        )
        .await;
    refused(&attempt(None, "").await, 401, "invalid_client");
    app.clock.advance(Duration::from_secs(3_600));
    Tokens::of(&attempt(None, &first).await);
    // The previous client secret expires in this time. The member's session expires even earlier,
    // so the member signs in again.
    app.clock.advance(Duration::from_secs(82_800));
    let scene = MemberScene {
        browser: crate::people::signed_in(&scene.org, scene.member).await,
        ..scene
    };
    let code = scene.code(&scene.ask()).await;
    refused(
        &token(
            &app,
            &with(scene.exchange_of(&code), "client_secret", &first),
        )
        .await,
        401,
        "invalid_client",
    );
    Tokens::of(
        &token(
            &app,
            &with(scene.exchange_of(&code), "client_secret", &second),
        )
        .await,
    );
}

on_both!(redirect_address_and_resource_are_optional_in_an_exchange);
async fn redirect_address_and_resource_are_optional_in_an_exchange(app: App) {
    let scene = MemberScene::build(&app).await;
    let code = scene.code(&with(scene.ask(), "redirect_uri", "")).await;
    let id = scene.org.oauth_app.to_string();
    let form = pairs(&[
        ("grant_type", "authorization_code"),
        ("client_id", &id),
        ("code", &code),
        ("code_verifier", VERIFIER),
    ]);
    Tokens::of(&token(&app, &form).await);
}
