//! Tests of clients whose id is the URL of a metadata document (draft client-id-metadata-document).

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::App;

use super::site::{Page, Site};
use super::{MemberScene, Pairs, Tokens, ask, encoded, token, with};
use crate::people::{Browser, html, signed_in};

const REDIRECT: &str = "https://notes.example/cb";

fn document(url: &str) -> Value {
    json!({
        "client_id": url,
        "client_name": "Notes",
        "redirect_uris": [REDIRECT, "cursor://x/cb"],
        "token_endpoint_auth_method": "none",
    })
}

/// Checks that the member gets an error page. The page says that the service cannot check the
/// client.
async fn assert_refused(scene: &MemberScene<'_>, url: &str) {
    let response = scene
        .browser
        .get(&format!(
            "/oauth/authorize?{}",
            encoded(&ask(url, REDIRECT))
        ))
        .await;
    assert_eq!(
        (response.status, response.header("location")),
        (400, None),
        "{url}"
    );
    assert!(
        html(&response).contains("This app cannot be checked"),
        "{url}"
    );
}

fn exchange_of(scene: &MemberScene<'_>, url: &str, code: &str) -> Pairs {
    with(
        with(scene.exchange_of(code), "client_id", url),
        "redirect_uri",
        REDIRECT,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_document_is_used_for_a_day() {
    let site = Site::start().await;
    for app in site.servers().await {
        let scene = MemberScene::build(&app).await;
        let url = format!("{}/client.json", site.base);
        site.put("/client.json", Page::json(&document(&url)));
        let requests_before = site.request_count();
        // The server fetches no document before the member has signed in.
        let stranger = Browser::new(&app)
            .get(&format!(
                "/oauth/authorize?{}",
                encoded(&ask(&url, REDIRECT))
            ))
            .await;
        assert!(
            stranger
                .header("location")
                .unwrap()
                .starts_with("/sign-in?")
        );
        assert_eq!(site.request_count(), requests_before);
        let page = scene.page(&ask(&url, REDIRECT)).await;
        assert!(
            page.contains("Connect Notes?") && page.contains("described at 127.0.0.1"),
            "{page}"
        );
        let code = scene.code(&ask(&url, REDIRECT)).await;
        let tokens = Tokens::of(&token(&app, &exchange_of(&scene, &url, &code)).await);
        assert_eq!(site.request_count(), requests_before + 1, "it is kept");
        // The server uses a fetched document for a day, so a change of the document takes effect
        // after that day.
        site.put(
            "/client.json",
            Page::json(&json!({ "client_id": url, "redirect_uris": ["https://other.example/"] })),
        );
        scene.page(&ask(&url, REDIRECT)).await;
        app.clock.advance(Duration::from_secs(86_400));
        let scene = MemberScene {
            browser: signed_in(&scene.org, scene.member).await,
            ..scene
        };
        let response = scene
            .browser
            .get(&format!(
                "/oauth/authorize?{}",
                encoded(&ask(&url, REDIRECT))
            ))
            .await;
        assert!(html(&response).contains("This link is not correct"));
        assert_eq!(site.request_count(), requests_before + 2);
        // Existing grants stay valid while the client's metadata document is invalid.
        let refresh = super::pairs(&[
            ("grant_type", "refresh_token"),
            ("client_id", &url),
            ("refresh_token", &tokens.refresh),
        ]);
        Tokens::of(&token(&app, &refresh).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_client_document_is_refused() {
    let site = Site::start().await;
    for app in site.servers().await {
        let scene = MemberScene::build(&app).await;
        let good = site.put(
            "/good.json",
            Page::json(&document(&format!("{}/good.json", site.base))),
        );
        let head = |status: &str, location: &str| {
            format!("HTTP/1.1 {status}\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
        };
        let large =
            document(&format!("{}/large.json", site.base)).to_string() + &" ".repeat(65_536);
        for (path, page) in [
            ("/moved.json", Page::Raw(head("302 Found", &good))),
            (
                "/moved-for-good.json",
                Page::Raw(head("308 Permanent Redirect", "/good.json")),
            ),
            ("/liar.json", Page::json(&document(&good))),
            (
                "/nobody.json",
                Page::json(&json!({ "redirect_uris": [REDIRECT] })),
            ),
            ("/large.json", Page::of(&large)),
            ("/endless.json", Page::Endless),
            ("/html", Page::of("<!doctype html>")),
            (
                "/broken",
                Page::Raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".into()),
            ),
            ("/no-http", Page::Raw("hello".into())),
            (
                "/secret.json",
                Page::json(&json!({
                    "client_id": format!("{}/secret.json", site.base),
                    "redirect_uris": [REDIRECT],
                    "token_endpoint_auth_method": "client_secret_basic",
                })),
            ),
            (
                "/nul.json",
                Page::json(&json!({
                    "client_id": format!("{}/nul.json", site.base),
                    "client_name": "a\u{0}",
                    "redirect_uris": [REDIRECT],
                })),
            ),
            (
                "/nowhere.json",
                Page::json(&json!({
                    "client_id": format!("{}/nowhere.json", site.base),
                    "redirect_uris": ["javascript:alert(1)"],
                })),
            ),
            (
                "/created.json",
                Page::Raw("HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}".into()),
            ),
        ] {
            assert_refused(&scene, &site.put(path, page)).await;
        }
        assert_refused(&scene, &format!("{}/missing.json", site.base)).await;
        assert_refused(&scene, "https://127.0.0.1:1/client.json").await;
        let began = Instant::now();
        assert_refused(&scene, &site.put("/hangs.json", Page::Hangs)).await;
        // The site never responds, so the server gives up after its own time limit.
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{:?}",
            began.elapsed()
        );
        scene.page(&ask(&good, REDIRECT)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn client_documents_are_never_fetched_from_private_networks() {
    let site = Site::start().await;
    let url = site.put(
        "/client.json",
        Page::json(&document(&format!("{}/client.json", site.base))),
    );
    let ca = &site.flags()[1];
    let app = App::on_sqlite(&[ca.as_str()]).await;
    let scene = MemberScene::build(&app).await;
    for url in [
        url.as_str(),
        "https://localhost/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/client.json",
        "https://[::1]/client.json",
        "https://db.internal/client.json",
    ] {
        assert_refused(&scene, url).await;
    }
    assert_eq!(site.request_count(), 0);
}
