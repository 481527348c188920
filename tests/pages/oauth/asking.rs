//! Tests of the authorization endpoint: its parameters, and the errors that must not redirect to
//! the app.

use reqwest::Method;
use serde_json::json;
use test_support::{ApiResponse, App, on_both};

use super::{
    CHALLENGE, MemberScene, Pairs, REDIRECT, ask, encoded, form, leads_to, pairs, query, register,
    with,
};
use crate::people::{Browser, html, path_of};

/// Opens the authorization endpoint with a query string.
async fn authorize(browser: &Browser, query: &str) -> ApiResponse {
    browser.get(&format!("/oauth/authorize?{query}")).await
}

/// Checks that the response is an error page and no redirect.
#[track_caller]
fn assert_error_page(response: &ApiResponse) {
    assert_eq!(
        (response.status, response.header("location")),
        (400, None),
        "{}",
        response.body
    );
    html(response);
}

on_both!(a_wrong_client_or_redirect_address_never_redirects);
async fn a_wrong_client_or_redirect_address_never_redirects(app: App) {
    let scene = MemberScene::build(&app).await;
    let (right, stranger) = (scene.ask(), Browser::new(&app));
    for browser in [&scene.browser, &stranger] {
        for client in [
            "",
            "nonsense",
            "0192f0c1-2345-7abc-8def-0123456789ab",
            "http://app.example/client.json",
            "\0",
            "' or 1=1",
        ] {
            assert_error_page(
                &authorize(browser, &encoded(&with(right.clone(), "client_id", client))).await,
            );
        }
        for address in [
            "https://client.example/CB",
            "https://client.example/cb/",
            "https://client.example/cb?x=1",
            "https://client.example/cb#x",
            "https://client.example:443/cb",
            "https://client.example:8443/cb",
            "https://client.example%2Fcb",
            "https://client.example/%63b",
            "https://client.example/x/../cb",
            "https://client.example@evil.example/cb",
            "https://evil.example@client.example/cb",
            "https://client.example.evil.example/cb",
            "http://client.example/cb",
            "//client.example/cb",
            "https://evil.example/cb",
            "javascript:alert(1)",
            "data:text/html,x",
            "https://client.example/cb\0",
            "https://client.example/cb\r\nset-cookie:x=y",
            "https://client.example/cb ",
            "http://127.0.0.1/cb",
        ] {
            assert_error_page(
                &authorize(
                    browser,
                    &encoded(&with(right.clone(), "redirect_uri", address)),
                )
                .await,
            );
        }
        for twice in ["client_id", "redirect_uri"] {
            let value = &right.iter().find(|(name, _)| name == twice).unwrap().1;
            assert_error_page(
                &authorize(
                    browser,
                    &format!("{}&{}", encoded(&right), encoded(&pairs(&[(twice, value)]))),
                )
                .await,
            );
        }
        for raw in [
            "",
            "client_id=%ff",
            "client_id=%00",
            "&&&",
            "=",
            "client_id[]=x",
        ] {
            assert_error_page(&authorize(browser, raw).await);
        }
    }
    // The platform interface, too, refuses an app with an invalid redirect URI.
    let path = format!("/oauth-apps/{}", scene.org.oauth_app);
    for address in [
        "http://client.example/cb",
        "javascript:alert(1)",
        "app:/cb",
        "https://client.example/cb#x",
        "https://a@client.example/cb",
    ] {
        let response = app
            .platform()
            .send(
                Method::PUT,
                &path,
                Some(json!({ "name": "X", "redirectUris": [address] })),
            )
            .await;
        assert_eq!(response.issues(), ["redirectUris.0"], "{address}");
    }
}

on_both!(other_errors_return_to_the_app_with_state_and_issuer);
async fn other_errors_return_to_the_app_with_state_and_issuer(app: App) {
    let scene = MemberScene::build(&app).await;
    let (right, stranger) = (scene.ask(), Browser::new(&app));
    let back = async |browser: &Browser, query_: &str, error: &str| {
        let there = leads_to(&authorize(browser, query_).await);
        assert!(
            there.as_str().starts_with(&format!("{REDIRECT}?")),
            "{there}"
        );
        assert_eq!(query(&there, "error").as_deref(), Some(error), "{query_}");
        assert_eq!(
            (query(&there, "iss"), query(&there, "code")),
            (Some(app.base.clone()), None)
        );
        query(&there, "state")
    };
    // The platform's apps are trusted, so the authorization endpoint redirects errors to them even
    // without a sign-in.
    for browser in [&scene.browser, &stranger] {
        for (name, value, error) in [
            ("response_type", "", "invalid_request"),
            ("response_type", "token", "unsupported_response_type"),
            ("code_challenge", "", "invalid_request"),
            ("code_challenge", "short", "invalid_request"),
            ("code_challenge_method", "", "invalid_request"),
            ("code_challenge_method", "plain", "invalid_request"),
            ("code_challenge_method", "S512", "invalid_request"),
            ("scope", "view_everything", "invalid_scope"),
            ("scope", "openid view_everything", "invalid_scope"),
            ("resource", "https://evil.example/mcp", "invalid_target"),
            ("resource", &format!("{}/mcp/", app.base), "invalid_target"),
        ] {
            let state = back(browser, &encoded(&with(right.clone(), name, value)), error).await;
            assert_eq!(state.as_deref(), Some("s p&=é"), "{name}={value}");
        }
        for (name, value) in [
            ("scope", "view_tasks"),
            ("resource", "x"),
            ("code_challenge", CHALLENGE),
            ("response_type", "code"),
            ("x", "y"),
        ] {
            let twice = format!(
                "{}&{}",
                encoded(&with(right.clone(), name, value)),
                encoded(&pairs(&[(name, value)]))
            );
            assert!(
                back(browser, &twice, "invalid_request").await.is_some(),
                "{name}"
            );
        }
        let states = format!("{}&state=other", encoded(&right));
        assert_eq!(
            back(browser, &states, "invalid_request").await,
            None,
            "which of two is not known"
        );
        for state in ["%00", "%ff", "a%0d%0ab", &"a".repeat(4_097)] {
            let odd = format!(
                "{}&state={state}",
                encoded(&with(right.clone(), "state", ""))
            );
            assert_eq!(back(browser, &odd, "invalid_request").await, None);
        }
    }
    let none = with(right, "state", "");
    let there = leads_to(&authorize(&scene.browser, &encoded(&with(none, "scope", "x"))).await);
    assert_eq!(query(&there, "state"), None);
}

on_both!(a_visitor_signs_in_and_returns_to_the_request);
async fn a_visitor_signs_in_and_returns_to_the_request(app: App) {
    let scene = MemberScene::build(&app).await;
    let stranger = Browser::new(&app);
    let query_ = encoded(&scene.ask());
    let response = authorize(&stranger, &format!("{query_}&prompt=none&nonce=1")).await;
    assert_eq!(response.status, 303);
    let there = response.header("location").unwrap();
    let sent: Pairs = form_urlencoded::parse(there.strip_prefix("/sign-in?").unwrap().as_bytes())
        .into_owned()
        .collect();
    let return_to = sent[0].1.clone();
    assert_eq!(return_to, format!("/oauth/authorize?{query_}"));
    // The authorization endpoint also accepts its parameters in a POST. It redirects to the same
    // sign-in address as for a GET.
    let fields = scene.ask();
    let by_form = stranger
        .post(
            "/oauth/authorize",
            &fields
                .iter()
                .map(crate::oauth::borrowed)
                .collect::<Vec<_>>(),
        )
        .await;
    assert_eq!(by_form.header("location"), Some(there));
    assert_eq!(scene.browser.get(&return_to).await.status, 200);
    let page = scene
        .browser
        .post(
            "/oauth/authorize",
            &fields
                .iter()
                .map(crate::oauth::borrowed)
                .collect::<Vec<_>>(),
        )
        .await;
    assert_eq!(page.status, 200);
    let head = scene
        .browser
        .send(scene.browser.request(Method::HEAD, &return_to))
        .await;
    assert_eq!((head.status, head.body), (200, json!("")));
}

on_both!(a_long_request_survives_the_sign_in);
async fn a_long_request_survives_the_sign_in(app: App) {
    let scene = MemberScene::build(&app).await;
    let long = with(scene.ask(), "state", &"abcdefghijklmn+/".repeat(256));
    let stranger = Browser::new(&app);
    let response = authorize(&stranger, &encoded(&long)).await;
    let query_ = response
        .header("location")
        .unwrap()
        .split_once('?')
        .unwrap()
        .1
        .to_owned();
    let (name, return_to) = form_urlencoded::parse(query_.as_bytes()).next().unwrap();
    assert_eq!((&*name, return_to.len() > 3_000), ("return_to", true));
    let path = scene
        .org
        .path(&format!("/members/{}/sign-in-links", scene.member));
    let link = app
        .platform()
        .post(&path, json!({ "returnTo": return_to }))
        .await
        .data();
    assert_eq!(stranger.sign_in(&path_of(&link)).await, return_to);
    let page = html(&stranger.get(&return_to).await);
    assert_eq!(
        form(&page, "deny")
            .iter()
            .find(|(name, _)| name == "state")
            .unwrap()
            .1
            .len(),
        4_096
    );
    // The address of the sign-in page must contain the authorization request, and this request is
    // too long for it. A visitor without a session gets an error page at once. A signed-in member
    // needs no sign-in page and gets the consent page.
    assert_error_page(
        &authorize(
            &Browser::new(&app),
            &encoded(&with(scene.ask(), "state", &"=".repeat(4_000))),
        )
        .await,
    );
    assert_eq!(
        authorize(
            &scene.browser,
            &encoded(&with(scene.ask(), "state", &"=".repeat(4_000)))
        )
        .await
        .status,
        200
    );
}

on_both!(self_registered_apps_get_no_redirect_before_the_sign_in);
async fn self_registered_apps_get_no_redirect_before_the_sign_in(app: App) {
    let scene = MemberScene::build(&app).await;
    let evil = register(
        &app,
        json!({ "redirect_uris": ["https://evil.example/"], "token_endpoint_auth_method": "none" }),
    )
    .await;
    let right = ask(
        evil.body["client_id"].as_str().unwrap(),
        "https://evil.example/",
    );
    for query_ in [
        encoded(&right),
        encoded(&with(right.clone(), "scope", "x")),
        encoded(&with(right.clone(), "response_type", "")),
    ] {
        let response = authorize(&Browser::new(&app), &query_).await;
        assert!(
            response
                .header("location")
                .unwrap()
                .starts_with("/sign-in?"),
            "{query_}"
        );
    }
    let there = leads_to(&authorize(&scene.browser, &encoded(&with(right, "scope", "x"))).await);
    assert_eq!(query(&there, "error").as_deref(), Some("invalid_scope"));
}

on_both!(scopes_that_clients_always_send_are_accepted);
async fn scopes_that_clients_always_send_are_accepted(app: App) {
    let scene = MemberScene::build(&app).await;
    for (scope, granted) in [
        ("view_properties offline_access", Some("view_properties")),
        (
            " view_properties  view_tasks ",
            Some("view_properties view_tasks"),
        ),
        ("view_tasks claudeai mcp:tools", Some("view_tasks")),
        ("openid profile email", None),
        (" ", None),
    ] {
        let tokens = scene
            .tokens(&with(scene.ask_for_api(), "scope", scope))
            .await;
        match granted {
            Some(granted) => assert_eq!(tokens.scope, granted, "{scope:?}"),
            None => assert_eq!(tokens.scope.split(' ').count(), 11, "{scope:?}"),
        }
    }
}

on_both!(an_editor_with_its_own_uri_scheme_is_accepted);
async fn an_editor_with_its_own_uri_scheme_is_accepted(app: App) {
    let scene = MemberScene::build(&app).await;
    let uri = "cursor://anysphere.cursor-mcp/oauth/callback";
    let client = register(
        &app,
        json!({ "redirect_uris": [uri], "token_endpoint_auth_method": "none" }),
    )
    .await;
    assert_eq!(client.status, 201, "{}", client.body);
    let asked = ask(client.body["client_id"].as_str().unwrap(), uri);
    let page = scene.page(&asked).await;
    assert!(page.contains("a program on this device (cursor)"), "{page}");
    for decision in ["approve", "deny"] {
        let there = scene.decide(&asked, decision).await;
        assert!(there.as_str().starts_with(&format!("{uri}?")), "{there}");
    }
    for wrong in [
        "cursor://anysphere/callback",
        "cursor://a.b",
        "javascript://a.b/c",
        "data://a.b/c",
        "intent://a.b/c",
        "ws://a.b/c",
        "http://a.b/c",
        "tel:1",
        "cursor:/callback",
    ] {
        let refused = register(
            &app,
            json!({ "redirect_uris": [wrong], "token_endpoint_auth_method": "none" }),
        )
        .await;
        assert_eq!(refused.status, 400, "{wrong}");
    }
}

on_both!(loopback_apps_may_use_any_port);
async fn loopback_apps_may_use_any_port(app: App) {
    let scene = MemberScene::build(&app).await;
    let uris = [
        "http://127.0.0.1/cb",
        "http://localhost:3000/cb",
        "com.example.app:/cb",
    ];
    let client = register(
        &app,
        json!({ "redirect_uris": uris, "token_endpoint_auth_method": "none" }),
    )
    .await;
    let client = client.body["client_id"].as_str().unwrap();
    for address in [
        "http://127.0.0.1:49152/cb",
        "http://localhost:49152/cb",
        "com.example.app:/cb",
    ] {
        let response = authorize(&scene.browser, &encoded(&ask(client, address))).await;
        assert_eq!(response.status, 200, "{address}");
        assert!(html(&response).contains("a program on this device"));
        let there = scene.decide(&ask(client, address), "approve").await;
        assert!(
            there.as_str().starts_with(&format!("{address}?code=")),
            "{there}"
        );
    }
    for address in [
        "http://[::1]:1/cb",
        "http://127.0.0.2/cb",
        "http://localhost:1/cb/",
        "http://127.0.0.1:1/cb?x",
        "http://localhost.evil.example/cb",
        "https://localhost/cb",
        "com.example.app:/cb2",
        "com.example.app.evil:/cb",
    ] {
        assert_error_page(&authorize(&scene.browser, &encoded(&ask(client, address))).await);
    }
    // The client has registered three redirect URIs. The service refuses a request that names
    // none of them.
    assert_error_page(
        &authorize(
            &scene.browser,
            &encoded(&with(ask(client, ""), "redirect_uri", "")),
        )
        .await,
    );
}
