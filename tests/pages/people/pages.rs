//! Tests of the sign-in pages: their texts and their languages.

use reqwest::Method;
use test_support::{App, on_both};

use super::{Browser, ada, field, html, link, link_for, member, path_of};
use serde_json::json;

on_both!(unknown_sign_in_addresses_and_methods_show_a_404_page);
async fn unknown_sign_in_addresses_and_methods_show_a_404_page(app: App) {
    let browser = Browser::new(&app);
    for path in [
        "/sign-in/",
        "/sign-in/x",
        "/sign-in/provider",
        "/sign-in/callback",
        "/sign-in/a/b",
        "/sign-out/",
        "/sign-out/x",
        "/sign-in/%00",
        "/sign-in/%ff",
    ] {
        let response = browser.get(path).await;
        assert_eq!(response.status, 404, "{path}");
        html(&response);
    }
    for path in [
        "/sign-in",
        "/sign-out",
        "/sign-in/provider",
        "/sign-in/callback",
    ] {
        for method in [Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS] {
            let response = browser.send(browser.request(method.clone(), path)).await;
            assert_eq!(response.status, 404, "{method} {path}");
            html(&response);
        }
    }
    assert_eq!(
        browser
            .send(browser.request(Method::POST, "/sign-in/callback"))
            .await
            .status,
        404
    );
}

on_both!(sign_in_pages_use_the_language_of_the_browser);
async fn sign_in_pages_use_the_language_of_the_browser(app: App) {
    let org = app.org().await;
    let path = link(&org, ada(&org).await).await;
    let browser = Browser::new(&app);
    for (accepted, language, button) in [
        ("es-MX, en;q=0.5", "es", "Iniciar sesión"),
        ("fr", "fr", "Se connecter"),
        ("de", "en", "Sign in"),
        ("*", "en", "Sign in"),
    ] {
        for path in [&path, "/sign-in"] {
            let response = browser
                .send(
                    browser
                        .request(Method::GET, path)
                        .header("accept-language", accepted),
                )
                .await;
            assert_eq!(response.header("content-language"), Some(language));
            let page = html(&response);
            assert!(
                page.contains(&format!("<html lang=\"{language}\">")) && page.contains(button),
                "{page}"
            );
        }
    }
}

on_both!(the_sign_in_page_without_a_ticket_explains_how_to_sign_in);
async fn the_sign_in_page_without_a_ticket_explains_how_to_sign_in(app: App) {
    let browser = Browser::new(&app);
    for path in [
        "/sign-in",
        "/sign-in?return_to=%2Fconsole",
        "/sign-in?return_to=%2F%2Fevil.example",
        "/sign-in?return_to=a&return_to=b",
    ] {
        let page = browser.page(path).await;
        assert!(
            page.contains("no passwords here") && !page.contains("evil"),
            "{page}"
        );
    }
    assert!(
        browser
            .page("/sign-out")
            .await
            .contains("You are signed out")
    );
}

on_both!(names_are_escaped_on_sign_in_pages);
async fn names_are_escaped_on_sign_in_pages(app: App) {
    let org = app
        .org_with(json!({ "name": "<b>Casa</b> & \"Co\"" }))
        .await;
    let id = ada(&org).await;
    let mut named = member("ada@example.com");
    named["name"] = json!("</dd><script>alert(1)</script>");
    org.put(&format!("/members/{id}"), named).await;
    let browser = Browser::new(&app);
    let path = link(&org, id).await;
    browser.page(&path).await;
    browser.sign_in(&path).await;
    assert!(!browser.page("/sign-in").await.contains("<b>"));
}

on_both!(
    visitors_are_sent_to_a_configured_sign_in_address,
    "--sign-in-url=https://app.example/enter?from=stay"
);
async fn visitors_are_sent_to_a_configured_sign_in_address(app: App) {
    let browser = Browser::new(&app);
    let away = browser.get("/sign-in").await;
    assert_eq!(
        (away.status, away.header("location")),
        (303, Some("https://app.example/enter?from=stay"))
    );
    let away = browser
        .get("/sign-in?return_to=%2Fconsole%3Fa%3Db%26c")
        .await;
    assert_eq!(
        away.header("location"),
        Some("https://app.example/enter?from=stay&return_to=%2Fconsole%3Fa%3Db%26c")
    );
    let away = browser.get("/sign-in?return_to=%2F%2Fevil.example").await;
    assert_eq!(
        away.header("location"),
        Some("https://app.example/enter?from=stay")
    );
    // This server sends members to another site for the sign-in. A sign-in link of the service
    // still works.
    let org = app.org().await;
    browser.sign_in(&link(&org, ada(&org).await).await).await;
    assert!(browser.is_signed_in().await);
}

/// If the public URL begins with `https://` and has a path, cookies have the `__Host-` prefix and
/// links contain that path.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_https_cookies_have_the_host_prefix() {
    let app = App::on_sqlite(&["--public-url=https://stay.example/guests"]).await;
    let org = app.org().await;
    let created = link_for(&org, ada(&org).await, json!({ "returnTo": "/sign-in" }))
        .await
        .data();
    assert!(
        created["url"]
            .as_str()
            .unwrap()
            .starts_with("https://stay.example/guests/sign-in?ticket="),
        "{created}"
    );
    let browser = Browser::new(&app);
    let opened = browser.get(&path_of(&created)).await;
    let page = html(&opened);
    assert!(page.contains("action=\"/guests/sign-in\""), "{page}");
    let forms = opened.header("set-cookie").unwrap();
    assert!(
        forms.starts_with("__Host-vestibule_forms=")
            && forms.ends_with("; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax; Secure"),
        "{forms}"
    );
    let response = browser
        .post(
            "/sign-in",
            &[
                ("form", &field(&page, "form")),
                ("ticket", &field(&page, "ticket")),
            ],
        )
        .await;
    assert_eq!(response.header("location"), Some("/guests/sign-in"));
    let session = response.header("set-cookie").unwrap();
    assert!(
        session.starts_with("__Host-vestibule_session=vs_")
            && session.ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure"),
        "{session}"
    );
    assert!(browser.is_signed_in().await);
    // If the public URL begins with `https://`, the service does not accept the session cookie
    // without the prefix `__Host-`.
    let value = browser.cookie("__Host-vestibule_session").unwrap();
    let plain = Browser::new(&app);
    plain.set("vestibule_session", &value);
    assert!(!plain.is_signed_in().await);
}
