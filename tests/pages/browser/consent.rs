//! Browser tests of the OAuth consent page and its redirects to the app (rules: oauth).

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use reqwest::Method;
use serde_json::json;
use test_support::waiting::wait_until;
use test_support::{App, Org, new_id};
use tokio::net::TcpListener;
use uuid::Uuid;

use super::axe;
use super::driver::browse;
use super::people::{app_with_provider, collect_problems, press, speak};
use super::window::Window;
use crate::oauth::site::{Page, Site};
use crate::oauth::{ask, encoded, query, register, with};
use crate::people::idp::Idp;
use crate::people::{ada, link_for, member};

const DEADLINE: Duration = Duration::from_secs(240);
/// Time limit of a redirect.
const WAIT_LIMIT: Duration = Duration::from_secs(20);

/// Starts an app on this loopback address and returns its base URL; `None` if the machine has no
/// such address.
pub(super) async fn local(host: &str) -> Option<String> {
    let listener = TcpListener::bind((host.trim_matches(['[', ']']), 0))
        .await
        .ok()?;
    let base = format!("http://{host}:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        axum::serve(listener, Router::new().fallback(|| async { "arrived" })).await
    });
    Some(base)
}

/// Signs a member in with a sign-in link and continues to `return_to`.
async fn sign_in(window: &Window, org: &Org<'_>, id: Uuid, return_to: &str) {
    let link = link_for(org, id, json!({ "returnTo": return_to }))
        .await
        .data();
    window.go(link["url"].as_str().unwrap()).await;
    press(window, "main button").await;
}

/// Waits until the browser requests the app's redirect URI. Checks that the query of the requested
/// URI contains the parameter `name` and the `state` of the authorization request.
async fn assert_redirected(window: &Window, redirect: &str, name: &str) {
    let there = window.requested(&format!("{redirect}?")).await;
    assert!(
        query(&there, name).is_some() && query(&there, "state").as_deref() == Some("s p&=é"),
        "{there}"
    );
    let errors: Vec<_> = window
        .console_errors()
        .await
        .into_iter()
        .filter(|complaint| !complaint.contains("Failed to load"))
        .collect();
    assert_eq!(errors, [""; 0], "{redirect}");
    if redirect.starts_with("http") {
        let script = format!("return location.href.startsWith('{redirect}?')");
        window.until("the app", &script).await;
    }
}

/// Each redirect URI gets its own window, because the browser's prompt to open an external app
/// stays open in that window.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consent_and_refusal_reach_every_kind_of_app() {
    let app = App::on_sqlite(&[]).await;
    let org = app.org().await;
    let (id, site) = (ada(&org).await, Site::start().await);
    let mut redirects = vec![
        format!("{}/cb", site.base),
        "com.example.app:/cb".into(),
        "com.example.app://cb/there".into(),
    ];
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        redirects.extend(local(host).await.map(|base| format!("{base}/cb")));
    }
    for redirect in &redirects {
        let client = new_id();
        let named = json!({ "name": "Notes", "redirectUris": [redirect] });
        app.platform()
            .ok(Method::PUT, &format!("/oauth-apps/{client}"), Some(named))
            .await;
        let asked = format!(
            "/oauth/authorize?{}",
            encoded(&ask(&client.to_string(), redirect))
        );
        for (decision, name) in [("approve", "code"), ("deny", "error")] {
            browse(DEADLINE, async |window| {
                sign_in(window, &org, id, &asked).await;
                window.requests().await;
                window.clicks(&format!("button[value={decision}]")).await;
                assert_redirected(window, redirect, name).await;
            })
            .await;
        }
    }
}

/// Starts an app whose callback redirects to another address. Returns the app's base URL.
async fn redirecting_app(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let answer = move || {
        let to = to.clone();
        async move { (http::StatusCode::FOUND, [(http::header::LOCATION, to)]) }
    };
    let router = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    base
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consent_and_refusal_reach_an_app_whose_callback_redirects() {
    let app = App::on_sqlite(&[]).await;
    let org = app.org().await;
    let id = ada(&org).await;
    let last = local("127.0.0.1").await.unwrap();
    let ends = [
        "claude-like://done".to_owned(),
        format!("{last}/done"),
        redirecting_app(format!("{last}/twice")).await,
    ];
    for end in ends {
        let redirect = format!("{}/cb", redirecting_app(end.clone()).await);
        let client = new_id();
        let named = json!({ "name": "Notes", "redirectUris": [redirect] });
        app.platform()
            .ok(Method::PUT, &format!("/oauth-apps/{client}"), Some(named))
            .await;
        let asked = encoded(&ask(&client.to_string(), &redirect));
        for decision in ["approve", "deny"] {
            browse(DEADLINE, async |window| {
                sign_in(window, &org, id, &format!("/oauth/authorize?{asked}")).await;
                window.requests().await;
                window.clicks(&format!("button[value={decision}]")).await;
                let (begun, mut seen) = (Instant::now(), Vec::new());
                while !seen
                    .iter()
                    .any(|address: &String| address.starts_with(&end))
                {
                    seen.extend(window.requests().await);
                    let errors = window.console_errors().await;
                    let is_blocked = errors.iter().any(|one| one.contains("form-action"));
                    assert!(!is_blocked, "{end}: {errors:?}");
                    assert!(begun.elapsed() < WAIT_LIMIT, "{end}: {seen:?}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            })
            .await;
        }
    }
}

/// Checks that Chromium logs an error for a redirect that `form-action` blocks. The other tests
/// detect a blocked redirect by that error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chromium_reports_redirects_blocked_by_form_action() {
    browse(DEADLINE, async |window| {
        let elsewhere = local("127.0.0.1").await.unwrap();
        let there = Arc::new(Mutex::new(String::new()));
        let shared = there.clone();
        let page = Router::new().fallback(move |method: Method| async move {
            if method == Method::POST {
                return http::Response::builder()
                    .status(303)
                    .header("location", shared.lock().unwrap().clone())
                    .body(String::new())
                    .unwrap();
            }
            let html = http::Response::builder()
                .header("content-type", "text/html")
                .header("content-security-policy", "form-action 'self'");
            html.body("<form method=post><button>Go</button></form>".to_owned())
                .unwrap()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, page).await });
        for redirect in [format!("{elsewhere}/cb"), "com.example.app:/cb".to_owned()] {
            there.lock().unwrap().clone_from(&redirect);
            window.go(&base).await;
            window.console_errors().await;
            window.run("document.querySelector('button').click()").await;
            let is_blocked = async || {
                let errors = window.console_errors().await;
                errors.iter().any(|error| error.contains("form-action"))
            };
            wait_until(
                &format!("the redirect to {redirect} is blocked"),
                is_blocked,
            )
            .await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_reach_the_app_after_the_sign_in() {
    let app = App::on_sqlite(&[]).await;
    let org = app.org().await;
    let id = ada(&org).await;
    let mut redirects = vec!["com.example.app:/cb".to_owned()];
    for host in ["127.0.0.1", "[::1]"] {
        redirects.extend(local(host).await.map(|base| format!("{base}/cb")));
    }
    for redirect in &redirects {
        let client = register(
            &app,
            json!({ "redirect_uris": [redirect], "token_endpoint_auth_method": "none" }),
        )
        .await;
        let wrong = with(
            ask(client.body["client_id"].as_str().unwrap(), redirect),
            "scope",
            "everything",
        );
        let link = link_for(
            &org,
            id,
            json!({ "returnTo": format!("/oauth/authorize?{}", encoded(&wrong)) }),
        )
        .await
        .data();
        browse(DEADLINE, async |window| {
            window.go(link["url"].as_str().unwrap()).await;
            window.requests().await;
            window.clicks("main button").await;
            assert_redirected(window, redirect, "error").await;
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_whose_session_ended_is_sent_to_sign_in() {
    browse(DEADLINE, async |window| {
        let platform = local("127.0.0.1").await.unwrap();
        let app = App::on_sqlite(&[&format!("--sign-in-url={platform}/enter")]).await;
        let org = app.org().await;
        let id = ada(&org).await;
        let asked = encoded(&ask(&org.oauth_app.to_string(), crate::oauth::REDIRECT));
        sign_in(window, &org, id, &format!("/oauth/authorize?{asked}")).await;
        window
            .devtools("Network.clearBrowserCookies", json!({}))
            .await;
        press(window, "button[value=approve]").await;
        let at = window.path().await;
        assert!(
            at.starts_with("/enter?return_to=%2Foauth%2Fauthorize%3F"),
            "{at}"
        );
    })
    .await;
}

async fn scenes(
    window: &Window,
    org: &Org<'_>,
    (id, poor): (Uuid, Uuid),
    site: &Site,
    language: &str,
    problems: &mut Vec<String>,
) {
    let (app, name) = (org.app, |scene: &str| format!("{scene}-{language}"));
    let redirect = "http://127.0.0.1:49152/cb";
    let named = json!({
        "client_name": "A notebook with rather a long name, for everything",
        "redirect_uris": [redirect],
    });
    let registered = register(app, named).await.body["client_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let asked = |client: &str| format!("/oauth/authorize?{}", encoded(&ask(client, redirect)));
    sign_in(window, org, id, &asked(&registered)).await;
    collect_problems(window, &name("registered"), problems).await;
    let document = format!("{}/client.json", site.base);
    site.put(
        "/client.json",
        Page::json(
            &json!({ "client_id": document, "client_name": "Notes", "redirect_uris": [redirect] }),
        ),
    );
    for (scene, path) in [
        ("described", asked(&document)),
        ("unknown", asked(&new_id().to_string())),
        (
            "bad-document",
            asked(&format!("{}/nothing.json", site.base)),
        ),
        (
            "bad-redirect",
            format!(
                "/oauth/authorize?{}",
                encoded(&ask(&registered, "https://evil.example/cb"))
            ),
        ),
    ] {
        window.go(&format!("{}{path}", app.base)).await;
        collect_problems(window, &name(scene), problems).await;
    }
    sign_in(window, org, poor, &asked(&registered)).await;
    collect_problems(window, &name("nothing-to-give"), problems).await;
    window
        .devtools("Network.clearBrowserCookies", json!({}))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consent_pages_pass_the_accessibility_checks() {
    if !axe::is_there() {
        return;
    }
    browse(DEADLINE, async |window| {
        let (idp, site) = (Idp::start().await, Site::start().await);
        let flags = site.flags();
        let app = app_with_provider(&idp, &[&flags[0], &flags[1]]).await;
        let org = app.org().await;
        let (id, poor) = (ada(&org).await, new_id());
        let mut nobody = member("eve@example.com");
        nobody["permissions"] = json!([]);
        org.put(&format!("/members/{poor}"), nobody).await;
        axe::install(window).await;
        let mut problems = Vec::new();
        for language in ["en", "es", "fr"] {
            speak(window, language).await;
            scenes(window, &org, (id, poor), &site, language, &mut problems).await;
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    })
    .await;
}
