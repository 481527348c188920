//! Tests of clients that register themselves (RFC 7591).

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use test_support::{ApiResponse, App, on_both};

use super::{MemberScene, Tokens, ask, pairs, refused, register, token, with};

on_both!(a_self_registered_client_exchanges_codes);
async fn a_self_registered_client_exchanges_codes(app: App) {
    let scene = MemberScene::build(&app).await;
    let uri = "https://notes.example/cb";
    let public = register(
        &app,
        json!({
            "client_name": "Notes",
            "redirect_uris": [uri],
            "token_endpoint_auth_method": "none",
            "software_id": "x",
        }),
    )
    .await;
    assert_eq!(
        (public.status, public.header("cache-control")),
        (201, Some("no-store"))
    );
    assert_eq!(public.body["client_name"], "Notes");
    assert_eq!(public.body["redirect_uris"], json!([uri]));
    assert!(public.body.get("client_secret").is_none());
    let confidential = register(&app, json!({ "redirect_uris": [uri] })).await.body;
    assert_eq!(
        (
            &confidential["token_endpoint_auth_method"],
            &confidential["client_secret_expires_at"]
        ),
        (&json!("client_secret_basic"), &json!(0))
    );
    for (client, secret) in [
        (&public.body, None),
        (&confidential, confidential["client_secret"].as_str()),
    ] {
        let id = client["client_id"].as_str().unwrap();
        let code = scene.code(&ask(id, uri)).await;
        let form = with(
            with(scene.exchange_of(&code), "client_id", id),
            "redirect_uri",
            uri,
        );
        if let Some(secret) = secret {
            refused(&token(&app, &form).await, 401, "invalid_client");
            Tokens::of(&token(&app, &with(form, "client_secret", secret)).await);
        } else {
            refused(
                &token(&app, &with(form.clone(), "client_secret", "cs_x")).await,
                401,
                "invalid_client",
            );
            Tokens::of(&token(&app, &form).await);
        }
    }
}

on_both!(invalid_client_registrations_are_refused);
async fn invalid_client_registrations_are_refused(app: App) {
    let uri = "https://notes.example/cb";
    for (metadata, error) in [
        (json!({}), "invalid_redirect_uri"),
        (
            json!({ "redirect_uris": ["http://notes.example/"] }),
            "invalid_redirect_uri",
        ),
        (
            json!({ "redirect_uris": ["javascript:alert(1)"] }),
            "invalid_redirect_uri",
        ),
        (
            json!({ "redirect_uris": vec![uri; 11] }),
            "invalid_redirect_uri",
        ),
        (
            json!({ "redirect_uris": ["https://a;b.example/"] }),
            "invalid_redirect_uri",
        ),
        (
            json!({ "redirect_uris": [uri], "client_name": "a\u{0}b" }),
            "invalid_client_metadata",
        ),
        (
            json!({ "redirect_uris": [uri], "client_name": "a".repeat(201) }),
            "invalid_client_metadata",
        ),
        (
            json!({ "redirect_uris": [uri], "token_endpoint_auth_method": "private_key_jwt" }),
            "invalid_client_metadata",
        ),
        (
            json!({ "redirect_uris": [uri], "grant_types": ["implicit"] }),
            "invalid_client_metadata",
        ),
        (json!([]), "invalid_client_metadata"),
        (json!({ "redirect_uris": uri }), "invalid_client_metadata"),
    ] {
        refused(&register(&app, metadata).await, 400, error);
    }
    for (kind, body) in [
        ("application/json", vec![0xff]),
        ("application/json", vec![b'['; 60_000]),
        ("application/json", vec![b' '; 70_000]),
        ("text/plain", b"{}".to_vec()),
        ("application/json", Vec::new()),
    ] {
        let request = app
            .http
            .request(Method::POST, format!("{}/oauth/register", app.base))
            .header("content-type", kind)
            .body(body);
        refused(
            &ApiResponse::of(request).await,
            400,
            "invalid_client_metadata",
        );
    }
}

on_both!(an_address_may_register_20_clients_an_hour);
async fn an_address_may_register_20_clients_an_hour(app: App) {
    let good = json!({
        "redirect_uris": ["https://notes.example/cb"],
        "token_endpoint_auth_method": "none",
    });
    for _ in 0..20 {
        assert_eq!(register(&app, good.clone()).await.status, 201);
    }
    // Without a trusted proxy, the rate limit of registrations counts requests by the address of
    // the connection. An address in a forwarding header has no effect.
    let request = app
        .http
        .request(Method::POST, format!("{}/oauth/register", app.base))
        .json(&good);
    let response = ApiResponse::of(
        request
            .header("x-forwarded-for", "203.0.113.9")
            .header("forwarded", "for=203.0.113.9"),
    )
    .await;
    refused(&response, 429, "temporarily_unavailable");
    assert_eq!(response.header("retry-after"), Some("3600"));
    app.clock.advance(Duration::from_secs(3_600));
    assert_eq!(register(&app, good).await.status, 201);
}

on_both!(
    each_client_behind_a_trusted_proxy_registers_for_itself,
    "--trusted-proxy=127.0.0.0/8"
);
async fn each_client_behind_a_trusted_proxy_registers_for_itself(app: App) {
    let good = json!({
        "redirect_uris": ["https://notes.example/cb"],
        "token_endpoint_auth_method": "none",
    });
    let from = async |name: &'static str, value: String| {
        let request = app
            .http
            .request(Method::POST, format!("{}/oauth/register", app.base))
            .json(&good);
        ApiResponse::of(request.header(name, value)).await
    };
    for network in 0..25 {
        assert_eq!(
            from("x-forwarded-for", format!("198.51.{network}.7, 127.0.0.2"))
                .await
                .status,
            201
        );
        assert_eq!(
            from(
                "forwarded",
                format!("for=\"203.0.{network}.7:4711\";proto=https")
            )
            .await
            .status,
            201
        );
    }
    // The rate limit of registrations uses the last entry of `X-Forwarded-For`, which the proxy
    // appended. The entries before the last one are forged and have no effect.
    for forged in 0..19 {
        assert_eq!(
            from("x-forwarded-for", format!("192.0.2.{forged}, 198.51.0.7"))
                .await
                .status,
            201
        );
    }
    refused(
        &from("x-forwarded-for", "192.0.2.99, 198.51.0.7".into()).await,
        429,
        "temporarily_unavailable",
    );
    // A request without `X-Forwarded-For`, or with an invalid address in it, counts towards the
    // rate limit of the proxy's own address.
    for _ in 0..20 {
        assert_eq!(register(&app, good.clone()).await.status, 201);
    }
    refused(
        &register(&app, good.clone()).await,
        429,
        "temporarily_unavailable",
    );
    refused(
        &from("x-forwarded-for", "unknown".into()).await,
        429,
        "temporarily_unavailable",
    );
}

on_both!(a_client_serves_members_of_any_organization);
async fn a_client_serves_members_of_any_organization(app: App) {
    // An app belongs to no organization. Each grant belongs to the member's organization.
    let (one, other) = (
        MemberScene::build(&app).await,
        MemberScene::build(&app).await,
    );
    let ask_by = |scene: &MemberScene| {
        with(
            scene.ask_for_api(),
            "client_id",
            &one.org.oauth_app.to_string(),
        )
    };
    let code = other.code(&ask_by(&other)).await;
    refused(
        &token(&app, &other.exchange_of(&code)).await,
        400,
        "invalid_grant",
    );
    let tokens = Tokens::of(&one.exchange(&code).await);
    let members = app.api(&tokens.access).get("/members").await.data();
    assert_eq!(members.as_array().unwrap().len(), 1);
    assert_eq!(members[0]["id"], json!(other.member));
    let foreign = pairs(&[
        ("grant_type", "refresh_token"),
        ("client_id", &other.org.oauth_app.to_string()),
        ("refresh_token", &tokens.refresh),
    ]);
    refused(&token(&app, &foreign).await, 400, "invalid_grant");
    one.refresh(&tokens.refresh).await;
    app.api(&tokens.access).get("/portals").await.data();
}
