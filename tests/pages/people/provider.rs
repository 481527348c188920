//! Tests of signing in with an OpenID provider.

use std::time::{Duration, Instant};

use serde_json::json;
use test_support::ports::free_port;
use test_support::{ApiResponse, App, new_id};

use super::idp::{CLIENT_ID, Idp, ResponseKind, SigningKey};
use super::{Browser, ada, field, fields, html, member};

/// Starts servers that use the provider, one on SQLite and one on PostgreSQL.
async fn apps(idp: &Idp, more: &[&str]) -> Vec<App> {
    let flags = idp.flags();
    let flags: Vec<&str> = flags
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    let mut apps = vec![App::on_sqlite(&flags).await];
    apps.extend(App::on_postgres(&flags).await);
    for app in &apps {
        idp.use_clock(&app.clock);
    }
    apps
}

/// Starts a provider, and a server on SQLite that uses it. Tests use this server for failures that
/// do not depend on the database.
async fn provider_and_server() -> (Idp, App) {
    let idp = Idp::start().await;
    let flags = idp.flags();
    let app = App::on_sqlite(&flags.each_ref().map(String::as_str)).await;
    idp.use_clock(&app.clock);
    (idp, app)
}

fn callback(query: &[(String, String)]) -> String {
    format!(
        "/sign-in/callback?{}",
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(query)
            .finish()
    )
}

/// Starts a sign-in in the browser and accepts it at the provider. Returns the query of the
/// callback.
async fn provider_callback(browser: &Browser, idp: &Idp, from: &str) -> Vec<(String, String)> {
    let off = browser.get(from).await;
    assert_eq!(off.status, 303, "{}", off.body);
    assert_eq!(off.header("cache-control"), Some("no-store"));
    idp.accept_sign_in(off.header("location").unwrap())
}

/// Signs in at the provider. Returns the response to the callback.
pub(super) async fn sign_in_at_provider(browser: &Browser, idp: &Idp) -> ApiResponse {
    let callback_query = provider_callback(browser, idp, "/sign-in/provider").await;
    browser.get(&callback(&callback_query)).await
}

#[track_caller]
fn refused(response: &ApiResponse, status: u16, text: &str) {
    assert_eq!(response.status, status, "{}", response.body);
    let page = html(response);
    assert!(page.contains(text), "{page}");
    assert!(
        response
            .headers
            .get_all("set-cookie")
            .iter()
            .all(|line| !line.to_str().unwrap().contains("session=vs_"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_signs_in_by_a_verified_email_address() {
    let idp = Idp::start().await;
    for app in apps(&idp, &[]).await {
        let org = app.org().await;
        let id = ada(&org).await;
        let browser = Browser::new(&app);
        let page = browser
            .page("/sign-in?return_to=%2Fsign-in%3Freturn_to%3D%252Fconsole")
            .await;
        let way = page
            .split("href=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .replace("&#38;", "&");
        for signed in [SigningKey::Rsa, SigningKey::EdDsa] {
            idp.sign_with(signed);
            idp.override_claims(json!({ "email": "ADA@Example.COM", "name": "somebody" }));
            let callback_query = provider_callback(&browser, &idp, &way).await;
            let response = browser.get(&callback(&callback_query)).await;
            assert_eq!(
                (response.status, response.header("location")),
                (303, Some("/sign-in?return_to=%2Fconsole")),
                "{}",
                response.body
            );
            assert!(browser.is_signed_in().await);
            assert_eq!(browser.cookie("vestibule_provider"), None);
            // The service refuses a second request with the same callback.
            refused(
                &browser.get(&callback(&callback_query)).await,
                403,
                "start again",
            );
        }
        // Each of the two sign-ins created a session, and the second session replaced the first.
        // Neither sign-in created a member.
        assert_eq!(
            app.query("select member_id from member_session", Vec::new(), |row| {
                row.get::<uuid::Uuid>(0)
            })
            .await,
            [id]
        );
        assert_eq!(
            app.query("select count(*) from member", Vec::new(), |row| row
                .get::<i64>(0))
                .await,
            [1]
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_of_several_organizations_chooses_among_them() {
    let idp = Idp::start().await;
    for app in apps(&idp, &[]).await {
        let (one, two, closed, strict) = (
            app.org_with(json!({ "name": "One" })).await,
            app.org_with(json!({ "name": "Two" })).await,
            app.org_with(json!({ "name": "Closed" })).await,
            app.org_with(json!({ "name": "Strict", "isTwoFactorRequired": true }))
                .await,
        );
        ada(&one).await;
        let there = ada(&two).await;
        let mut inactive = member("ada@example.com");
        inactive["isActive"] = json!(false);
        closed
            .put(&format!("/members/{}", new_id()), inactive)
            .await;
        let mut simple = member("ada@example.com");
        simple["isTwoFactorEnrolled"] = json!(false);
        strict.put(&format!("/members/{}", new_id()), simple).await;
        let browser = Browser::new(&app);
        let response = sign_in_at_provider(&browser, &idp).await;
        assert_eq!(response.status, 200, "{}", response.body);
        assert!(!browser.is_signed_in().await);
        let page = html(&response);
        assert!(
            page.contains("One")
                && page.contains("Two")
                && !page.contains("Closed")
                && !page.contains("Strict"),
            "{page}"
        );
        let (form, tickets) = (field(&page, "form"), fields(&page, "ticket"));
        assert_eq!(tickets.len(), 2);
        assert_eq!(
            Browser::new(&app)
                .post("/sign-in", &[("form", &form), ("ticket", &tickets[1])])
                .await
                .status,
            403
        );
        let place = page.find("Two").unwrap();
        let ticket = &fields(&page[..place], "ticket").pop().unwrap();
        let response = browser
            .post("/sign-in", &[("form", &form), ("ticket", ticket)])
            .await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, Some("/console"))
        );
        assert_eq!(
            app.query("select member_id from member_session", Vec::new(), |row| {
                row.get::<uuid::Uuid>(0)
            })
            .await,
            [there]
        );
        assert_eq!(
            browser
                .post("/sign-in", &[("form", &form), ("ticket", ticket)])
                .await
                .status,
            403
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_sign_in_is_explained() {
    let idp = Idp::start().await;
    for app in apps(&idp, &[]).await {
        assert_refusals_explained(&idp, &app).await;
    }
}

async fn assert_refusals_explained(idp: &Idp, app: &App) {
    idp.override_claims(json!({}));
    let browser = Browser::new(app);
    refused(
        &sign_in_at_provider(&browser, idp).await,
        403,
        "No account here",
    );
    let org = app.org().await;
    let id = ada(&org).await;
    for claims in [
        json!({ "email_verified": false }),
        json!({ "email_verified": null }),
        json!({ "email": null }),
    ] {
        idp.override_claims(claims);
        refused(
            &sign_in_at_provider(&browser, idp).await,
            403,
            "is not confirmed",
        );
    }
    for (email, text) in [
        ("ada@example.org", "No account here"),
        ("äda@example.com", "No account here"),
        ("ada@example.com\u{0}", "No account here"),
        ("%", "No account here"),
    ] {
        idp.override_claims(json!({ "email": email }));
        refused(&sign_in_at_provider(&browser, idp).await, 403, text);
    }
    idp.override_claims(json!({}));
    let mut inactive = member("ada@example.com");
    inactive["isActive"] = json!(false);
    org.put(&format!("/members/{id}"), inactive).await;
    refused(
        &sign_in_at_provider(&browser, idp).await,
        403,
        "switched off",
    );
    let mut simple = member("ada@example.com");
    simple["isTwoFactorEnrolled"] = json!(false);
    org.put(&format!("/members/{id}"), simple).await;
    org.put("", json!({ "name": "Casa", "isTwoFactorRequired": true }))
        .await;
    refused(&sign_in_at_provider(&browser, idp).await, 403, "Two-factor");
    assert!(!browser.is_signed_in().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_id_token_is_refused() {
    let (idp, app) = provider_and_server().await;
    ada(&app.org().await).await;
    let browser = Browser::new(&app);
    let now = app.clock.now().as_second();
    for claims in [
        json!({ "nonce": "another" }),
        json!({ "nonce": null }),
        json!({ "aud": "another" }),
        json!({ "aud": ["vestibule", "another"] }),
        json!({ "aud": [] }),
        json!({ "iss": "https://evil.example" }),
        json!({ "exp": now }),
        json!({ "exp": now - 1 }),
        json!({ "exp": null }),
        json!({ "exp": "tomorrow" }),
        json!({ "iat": now + 120 }),
        json!({ "nbf": now + 120 }),
        json!({ "email_verified": { "no": "boolean" } }),
        json!({ "azp": "another" }),
        json!({ "aud": ["vestibule", "another"], "azp": "another" }),
    ] {
        idp.override_claims(claims.clone());
        let response = sign_in_at_provider(&browser, &idp).await;
        assert!(
            [403, 502].contains(&response.status),
            "{claims}: {}",
            response.status
        );
        refused(&response, response.status, "Sign-in is not available");
    }
    idp.override_claims(json!({}));
    for signed in [
        SigningKey::Forged,
        SigningKey::Unknown,
        SigningKey::Shared,
        SigningKey::None,
    ] {
        idp.sign_with(signed);
        let response = sign_in_at_provider(&browser, &idp).await;
        assert!(
            [403, 502].contains(&response.status),
            "{signed:?}: {}",
            response.status
        );
        refused(&response, response.status, "Sign-in is not available");
    }
    assert!(!browser.is_signed_in().await);
    idp.sign_with(SigningKey::Rsa);
    assert_eq!(sign_in_at_provider(&browser, &idp).await.status, 303);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unused_invalid_claim_does_not_prevent_a_sign_in() {
    let (idp, app) = provider_and_server().await;
    ada(&app.org().await).await;
    for claims in [
        json!({ "azp": CLIENT_ID, "aud": [CLIENT_ID] }),
        json!({ "azp": CLIENT_ID, "aud": [CLIENT_ID, "project"] }),
        json!({ "azp": CLIENT_ID, "aud": ["project", CLIENT_ID, "343516"] }),
        json!({ "email_verified": "true" }),
        json!({ "updated_at": "2026-11-21T09:30:00Z", "amr": "pwd", "acr": 1, "auth_time": "now" }),
        json!({ "locale": { "language": "es" }, "name": ["Ada"], "given_name": 5, "picture": "" }),
        json!({ "address": "Carrer Gran 7", "phone_number_verified": "yes", "at_hash": 5 }),
        json!({ "website": "", "profile": "no address", "birthdate": 1815, "zoneinfo": null }),
    ] {
        idp.override_claims(claims.clone());
        let response = sign_in_at_provider(&Browser::new(&app), &idp).await;
        assert_eq!(response.status, 303, "{claims}: {}", response.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unused_invalid_metadata_does_not_prevent_a_sign_in() {
    let (idp, app) = provider_and_server().await;
    ada(&app.org().await).await;
    for metadata in [
        json!({ "op_tos_uri": "", "op_policy_uri": "", "service_documentation": "" }),
        json!({ "op_tos_uri": 5, "registration_endpoint": "", "userinfo_endpoint": "" }),
        json!({
            "subject_types_supported": "public",
            "response_types_supported": {},
            "claims_supported": [1],
        }),
        json!({
            "scopes_supported": null,
            "grant_types_supported": 5,
            "display_values_supported": "page",
        }),
        json!({
            "id_token_signing_alg_values_supported": ["RS256", 5, "XY99"],
            "acr_values_supported": 1,
        }),
    ] {
        idp.override_metadata(metadata.clone());
        app.clock.advance(Duration::from_secs(301));
        let response = sign_in_at_provider(&Browser::new(&app), &idp).await;
        assert_eq!(response.status, 303, "{metadata}: {}", response.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_email_claim_is_fetched_from_userinfo() {
    let (idp, app) = provider_and_server().await;
    ada(&app.org().await).await;
    let silent = json!({ "email": null, "email_verified": null });
    idp.override_claims(silent.clone());
    refused(
        &sign_in_at_provider(&Browser::new(&app), &idp).await,
        403,
        "not confirmed",
    );
    app.clock.advance(Duration::from_secs(301));
    idp.add_userinfo(ResponseKind::Correct);
    for claims in [
        silent.clone(),
        json!({ "email": null }),
        json!({ "email_verified": null }),
    ] {
        idp.override_claims(claims.clone());
        idp.requests();
        assert_eq!(
            sign_in_at_provider(&Browser::new(&app), &idp).await.status,
            303,
            "{claims}"
        );
        assert_eq!(idp.requests().last().unwrap(), "userinfo");
    }
    // The ID token contains the claim, so the service does not call the userinfo endpoint.
    idp.override_claims(json!({ "email_verified": false }));
    idp.requests();
    refused(
        &sign_in_at_provider(&Browser::new(&app), &idp).await,
        403,
        "not confirmed",
    );
    assert_eq!(idp.requests(), ["token"]);
    idp.override_claims(silent);
    let says = |text: serde_json::Value| ResponseKind::Custom(200, text.to_string());
    for (text, status, reported) in [
        (
            says(json!({ "sub": "another", "email": "ada@example.com", "email_verified": true })),
            502,
            "Sign-in is not available",
        ),
        (
            says(json!({ "email": "ada@example.com", "email_verified": true })),
            502,
            "Sign-in is not available",
        ),
        (
            says(json!({ "sub": "ada", "email": "ada@example.com", "email_verified": false })),
            403,
            "not confirmed",
        ),
        (
            says(json!({ "sub": "ada", "email": "ada@example.com" })),
            403,
            "not confirmed",
        ),
        (
            says(json!({ "sub": "ada", "email_verified": true })),
            403,
            "not confirmed",
        ),
        (says(json!([])), 502, "Sign-in is not available"),
        (
            ResponseKind::Custom(401, "{}".into()),
            502,
            "Sign-in is not available",
        ),
        (ResponseKind::Huge, 502, "Sign-in is not available"),
        (ResponseKind::Redirect, 502, "Sign-in is not available"),
    ] {
        idp.add_userinfo(text.clone());
        let response = sign_in_at_provider(&Browser::new(&app), &idp).await;
        assert!(
            response.status == status || (status == 502 && response.status == 403),
            "{text:?}: {}",
            response.status
        );
        refused(&response, response.status, reported);
    }
    idp.override_metadata(json!({ "userinfo_endpoint": "http://evil.example/userinfo" }));
    app.clock.advance(Duration::from_secs(301));
    refused(
        &sign_in_at_provider(&Browser::new(&app), &idp).await,
        502,
        "Sign-in is not available",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_return_path_survives_the_provider_sign_in() {
    let (idp, app) = provider_and_server().await;
    ada(&app.org().await).await;
    let browser = Browser::new(&app);
    for length in [8_000, 3_000, 2_600, 5_400, 20] {
        let there = format!("/console?x={}", "%C3%A9".repeat(length))[..length]
            .trim_end_matches(['%', 'C', '3', 'A'])
            .to_owned();
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("return_to", &there)
            .finish();
        let callback_query =
            provider_callback(&browser, &idp, &format!("/sign-in/provider?{query}")).await;
        let response = browser.get(&callback(&callback_query)).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, Some(there.as_str()))
        );
        for part in ["", "_2", "_3"] {
            assert_eq!(browser.cookie(&format!("vestibule_provider{part}")), None);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_provider_key_is_fetched() {
    let (idp, app) = provider_and_server().await;
    ada(&app.org().await).await;
    let browser = Browser::new(&app);
    assert_eq!(sign_in_at_provider(&browser, &idp).await.status, 303);
    assert_eq!(idp.requests(), ["discovery", "keys", "token"]);
    assert_eq!(sign_in_at_provider(&browser, &idp).await.status, 303);
    assert_eq!(idp.requests(), ["token"]);
    idp.sign_with(SigningKey::Unknown);
    idp.publish_all_keys();
    app.clock.advance(Duration::from_secs(31));
    assert_eq!(sign_in_at_provider(&browser, &idp).await.status, 303);
    assert_eq!(idp.requests(), ["token", "discovery", "keys"]);
    app.clock.advance(Duration::from_secs(300));
    assert_eq!(sign_in_at_provider(&browser, &idp).await.status, 303);
    assert_eq!(idp.requests(), ["discovery", "keys", "token"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_callback_is_valid_only_in_its_browser() {
    let (idp, app) = provider_and_server().await;
    ada(&app.org().await).await;
    let (browser, other) = (Browser::new(&app), Browser::new(&app));
    let callback_query = provider_callback(&browser, &idp, "/sign-in/provider").await;
    // The service refuses a callback from a browser that did not start this sign-in, even if that
    // browser has started a different sign-in.
    refused(
        &other.get(&callback(&callback_query)).await,
        403,
        "start again",
    );
    let own = other.get("/sign-in/provider").await;
    let cookie = other.cookie("vestibule_provider").unwrap();
    assert_eq!(own.status, 303);
    refused(
        &other.get(&callback(&callback_query)).await,
        403,
        "start again",
    );
    idp.requests();
    let state = &callback_query[1].1;
    for query in [
        vec![("code", "the code")],
        vec![("code", "the code"), ("state", "")],
        vec![("code", "the code"), ("state", "x")],
        vec![("code", "the code"), ("state", state), ("state", state)],
        vec![("state", state)],
        vec![
            ("code", "the code"),
            ("state", state),
            ("iss", "https://evil.example"),
        ],
    ] {
        let browser = browser.copy();
        let query: Vec<_> = query
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        refused(&browser.get(&callback(&query)).await, 403, "start again");
        assert_eq!(browser.cookie("vestibule_provider"), None);
    }
    // Without a valid `state` the service does not call the provider.
    assert_eq!(idp.requests(), [""; 0]);
    for forged in ["", ".", "x", "x.y", &cookie[..20], &format!("{cookie}é")] {
        let browser = Browser::new(&app);
        browser.set("vestibule_provider", forged);
        let raw = browser.request(reqwest::Method::GET, &callback(&callback_query));
        refused(&browser.send(raw).await, 403, "start again");
    }
    let denied = vec![
        ("error".to_owned(), "access_denied<script>\n".to_owned()),
        callback_query[1].clone(),
    ];
    refused(
        &browser.copy().get(&callback(&denied)).await,
        403,
        "were not signed in",
    );
    let wrong = vec![
        ("code".to_owned(), "another".to_owned()),
        callback_query[1].clone(),
    ];
    refused(
        &browser.copy().get(&callback(&wrong)).await,
        403,
        "were not signed in",
    );
    let callback_query = provider_callback(
        &browser,
        &idp,
        "/sign-in/provider?return_to=%2F%2Fevil.example",
    )
    .await;
    let named = [callback_query, vec![("iss".to_owned(), idp.issuer.clone())]].concat();
    let response = browser.get(&callback(&named)).await;
    assert_eq!(
        (response.status, response.header("location")),
        (303, Some("/console"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_provider_answers_show_an_error_page() {
    let (idp, app) = provider_and_server().await;
    ada(&app.org().await).await;
    let browser = Browser::new(&app);
    let correct = || ResponseKind::Correct;
    let bad = || {
        [
            ResponseKind::Custom(500, "<html>".into()),
            ResponseKind::Custom(200, "{}".into()),
            ResponseKind::Custom(200, "no JSON".into()),
            ResponseKind::Custom(200, "[".repeat(100_000)),
            ResponseKind::Custom(400, "{\"error\": \"<b>\\u0000\"}".into()),
            ResponseKind::Huge,
            ResponseKind::Redirect,
        ]
    };
    let later = || app.clock.advance(Duration::from_secs(301));
    for manner in bad() {
        idp.set_responses(manner.clone(), correct(), correct());
        refused(
            &browser.get("/sign-in/provider").await,
            502,
            "Please try again",
        );
        // Shortly after a failure of the provider, the service does not call the provider again.
        idp.requests();
        refused(
            &browser.get("/sign-in/provider").await,
            502,
            "Please try again",
        );
        assert_eq!(idp.requests(), [""; 0]);
        later();
    }
    for manner in bad()
        .into_iter()
        .filter(|manner| *manner != ResponseKind::Custom(200, "{}".into()))
    {
        idp.set_responses(correct(), manner, correct());
        refused(
            &browser.get("/sign-in/provider").await,
            502,
            "Please try again",
        );
        later();
    }
    for manner in bad() {
        idp.set_responses(correct(), correct(), manner.clone());
        let response = sign_in_at_provider(&browser, &idp).await;
        assert!(
            [403, 502].contains(&response.status),
            "{manner:?}: {}",
            response.status
        );
        html(&response);
    }
    for metadata in [
        json!({ "issuer": "https://evil.example" }),
        json!({ "authorization_endpoint": "http://evil.example/authorize" }),
        json!({ "authorization_endpoint": "javascript:alert(1)" }),
        json!({ "jwks_uri": "http://evil.example/keys" }),
    ] {
        idp.set_responses(correct(), correct(), correct());
        idp.override_metadata(metadata);
        later();
        refused(
            &browser.get("/sign-in/provider").await,
            502,
            "Please try again",
        );
    }
    for metadata in [
        json!({ "token_endpoint": "http://evil.example/token" }),
        json!({ "token_endpoint": "file:///etc/passwd" }),
    ] {
        idp.override_metadata(metadata);
        later();
        refused(
            &sign_in_at_provider(&browser, &idp).await,
            502,
            "Please try again",
        );
    }
    idp.override_metadata(json!({}));
    later();
    assert_eq!(sign_in_at_provider(&browser, &idp).await.status, 303);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_provider_times_out_after_ten_seconds() {
    let (idp, app) = provider_and_server().await;
    ada(&app.org().await).await;
    let (browser, start) = (Browser::new(&app), Instant::now());
    let callback_query = provider_callback(&browser, &idp, "/sign-in/provider").await;
    idp.set_responses(
        ResponseKind::Correct,
        ResponseKind::Correct,
        ResponseKind::Silent,
    );
    refused(
        &browser.get(&callback(&callback_query)).await,
        502,
        "Please try again",
    );
    idp.set_responses(
        ResponseKind::Silent,
        ResponseKind::Correct,
        ResponseKind::Correct,
    );
    app.clock.advance(Duration::from_secs(301));
    // Many sign-ins wait for the provider at the same time. The time limit for the provider's
    // response applies to each of them alone.
    let many: Vec<Browser> = (0..40).map(|_| Browser::new(&app)).collect();
    let answers =
        futures_util::future::join_all(many.iter().map(|browser| browser.get("/sign-in/provider")))
            .await;
    for answer in answers {
        refused(&answer, 502, "Please try again");
    }
    assert!(
        start.elapsed() < Duration::from_secs(26),
        "{:?}",
        start.elapsed()
    );
    // Requests for other pages do not wait for the provider.
    assert!(!browser.is_signed_in().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_provider_shows_an_error_page() {
    let issuer = format!("--oidc-issuer=http://127.0.0.1:{}", free_port());
    let app = App::on_sqlite(&[&issuer, "--oidc-client-id=x"]).await;
    let browser = Browser::new(&app);
    assert!(
        browser
            .page("/sign-in")
            .await
            .contains("href=\"/sign-in/provider\"")
    );
    refused(
        &browser.get("/sign-in/provider").await,
        502,
        "Please try again",
    );
}
