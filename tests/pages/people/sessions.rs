//! Tests of sessions: how long they last, and what ends them.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use test_support::waiting::read_until;
use test_support::{App, on_both};

use super::{Browser, ada, field, html, link, member, signed_in};

const MINUTE: Duration = Duration::from_secs(60);

/// Waits until the service has stored the last use of `sessions` sessions. The service stores these
/// times in the background.
async fn until_uses_are_stored(app: &App, sessions: usize) {
    let expected = app.clock.now();
    let statement = "select used_at from member_session";
    read_until(
        async || {
            app.query(statement, Vec::new(), |row| row.get::<jiff::Timestamp>(0))
                .await
        },
        |used| used.iter().filter(|used| **used == expected).count() == sessions,
    )
    .await;
}

on_both!(use_extends_a_session_to_at_most_twelve_hours);
async fn use_extends_a_session_to_at_most_twelve_hours(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let browser = signed_in(&org, id).await;
    let idle = signed_in(&org, id).await;
    // Each request extends a session. Two hours after its last request, the session ends.
    app.clock.advance(MINUTE * 119);
    assert!(browser.is_signed_in().await);
    until_uses_are_stored(&app, 1).await;
    app.clock.advance(MINUTE);
    assert!(browser.is_signed_in().await);
    assert!(!idle.is_signed_in().await);
    app.server.sweep_once().await;
    assert_eq!(
        app.query("select count(*) from member_session", Vec::new(), |row| row
            .get::<i64>(0))
            .await,
        [1]
    );
    for _ in 0..10 {
        app.clock.advance(MINUTE * 59);
        assert!(browser.is_signed_in().await);
        until_uses_are_stored(&app, 1).await;
    }
    // The session is 11 h 50 min old. When it is 12 hours old it ends, even if the member is
    // still using it.
    app.clock.advance(Duration::from_millis(599_999));
    assert!(browser.is_signed_in().await);
    until_uses_are_stored(&app, 1).await;
    app.clock.advance(Duration::from_millis(1));
    assert!(!browser.is_signed_in().await);
    app.server.sweep_once().await;
    assert_eq!(
        app.query("select count(*) from member_session", Vec::new(), |row| row
            .get::<i64>(0))
            .await,
        [0]
    );
}

on_both!(the_use_of_a_session_is_recorded_once_a_minute);
async fn the_use_of_a_session_is_recorded_once_a_minute(app: App) {
    let org = app.org().await;
    let browser = signed_in(&org, ada(&org).await).await;
    let began = app.clock.now();
    app.clock.advance(Duration::from_millis(59_999));
    assert!(browser.is_signed_in().await);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(
        app.query("select used_at from member_session", Vec::new(), |row| {
            row.get::<jiff::Timestamp>(0)
        })
        .await,
        [began]
    );
    app.clock.advance(Duration::from_millis(1));
    assert!(browser.is_signed_in().await);
    until_uses_are_stored(&app, 1).await;
}

on_both!(a_session_depends_on_the_current_state_of_its_member);
async fn a_session_depends_on_the_current_state_of_its_member(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let browser = signed_in(&org, id).await;
    let mut inactive = member("ada@example.com");
    inactive["isActive"] = json!(false);
    org.put(&format!("/members/{id}"), inactive).await;
    assert!(!browser.is_signed_in().await);
    // Every request reads the member's current state. A session of an inactive member is not
    // valid. When the member is active again, the session is valid again until it expires.
    org.put(&format!("/members/{id}"), member("ada@example.com"))
        .await;
    assert!(browser.is_signed_in().await);
    let mut simple = member("ada@example.com");
    simple["isTwoFactorEnrolled"] = json!(false);
    org.put(&format!("/members/{id}"), simple).await;
    assert!(browser.is_signed_in().await);
    org.put("", json!({ "name": "Casa", "isTwoFactorRequired": true }))
        .await;
    assert!(!browser.is_signed_in().await);
    org.put("", json!({ "name": "Casa", "isTwoFactorRequired": false }))
        .await;
    assert!(browser.is_signed_in().await);
    app.platform()
        .ok(Method::DELETE, &org.path(&format!("/members/{id}")), None)
        .await;
    assert!(!browser.is_signed_in().await);
    // If a member is added again with the id of a removed member, the old session stays
    // invalid.
    org.put(&format!("/members/{id}"), member("ada@example.com"))
        .await;
    assert!(!browser.is_signed_in().await);
    let browser = signed_in(&org, id).await;
    app.platform()
        .ok(Method::DELETE, &format!("/organizations/{}", org.id), None)
        .await;
    assert!(!browser.is_signed_in().await);
}

on_both!(signing_in_replaces_the_session_and_signing_out_ends_it);
async fn signing_in_replaces_the_session_and_signing_out_ends_it(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let browser = signed_in(&org, id).await;
    let old = browser.copy();
    let first = browser.cookie("vestibule_session").unwrap();
    browser.sign_in(&link(&org, id).await).await;
    assert_ne!(browser.cookie("vestibule_session").unwrap(), first);
    assert!(browser.is_signed_in().await && !old.is_signed_in().await);

    let copy = browser.copy();
    let page = browser.page("/sign-out").await;
    let remaining = browser
        .post("/sign-out", &[("form", &field(&page, "form"))])
        .await;
    assert_eq!(
        (remaining.status, remaining.header("location")),
        (303, Some("/sign-out"))
    );
    assert_eq!(browser.cookie("vestibule_session"), None);
    assert!(
        browser
            .page("/sign-out")
            .await
            .contains("You are signed out")
    );
    assert!(!copy.is_signed_in().await);
    // The browser `copy` has a copy of the cookie, and still sends it after the session has ended.
    // Its request to sign out succeeds nevertheless.
    assert_eq!(copy.post("/sign-out", &[]).await.status, 303);
}

on_both!(a_planted_session_cookie_is_not_accepted);
async fn a_planted_session_cookie_is_not_accepted(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let browser = Browser::new(&app);
    let planted = format!("vs_{}", "A".repeat(43));
    browser.set("vestibule_session", &planted);
    assert!(!browser.is_signed_in().await);
    browser.sign_in(&link(&org, id).await).await;
    assert_ne!(browser.cookie("vestibule_session").unwrap(), planted);
    let good = browser.cookie("vestibule_session").unwrap();
    for line in [
        format!("vestibule_session={good}; vestibule_session={planted}"),
        format!("vestibule_session={planted}; vestibule_session={good}"),
        format!("vestibule_session={good}x"),
        format!("vestibule_session=\"{good}\""),
        "vestibule_session".into(),
        "vestibule_session=".into(),
        "=;;;=,".into(),
        format!("vestibule_session={}", "vs_".repeat(2_000)),
        "vestibule_forms=x; vestibule_provider=.".into(),
    ] {
        for path in [
            "/sign-in",
            "/sign-out",
            "/sign-in?ticket=st_x",
            "/sign-in/callback?state=x&code=y",
        ] {
            let response = browser
                .send(
                    browser
                        .http
                        .get(format!("{}{path}", app.base))
                        .header("cookie", &line),
                )
                .await;
            assert!(
                response.status < 500 && !html(&response).contains("Ada"),
                "{line}: {}",
                response.status
            );
        }
    }
    let raw = browser.http.get(format!("{}/sign-in", app.base)).header(
        "cookie",
        http::HeaderValue::from_bytes(b"vestibule_session=\xff\xfe").unwrap(),
    );
    assert_eq!(browser.send(raw).await.status, 200);
}

on_both!(only_hashes_of_secrets_are_stored);
async fn only_hashes_of_secrets_are_stored(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let browser = signed_in(&org, id).await;
    let unused = link(&org, id).await;
    for (table, secret) in [
        (
            "member_session",
            browser.cookie("vestibule_session").unwrap(),
        ),
        (
            "sign_in_ticket",
            unused.split_once('=').unwrap().1.to_owned(),
        ),
    ] {
        let stored = app
            .query(
                format!("select token_hash from {table}"),
                Vec::new(),
                |row| row.get::<Vec<u8>>(0),
            )
            .await;
        assert_eq!(stored, [engine::access::hash(&secret)], "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_valid_on_both_nodes() {
    let Some(app) = App::on_postgres(&[]).await else {
        return;
    };
    let other = app.second_node(&[]).await;
    let org = app.org().await;
    let id = ada(&org).await;
    // The member opens the sign-in link at one node and submits the form of the sign-in page at the
    // other node.
    let (path, browser) = (link(&org, id).await, Browser::new(&app));
    let page = browser.page(&path).await;
    let there = Browser {
        base: other.base.clone(),
        ..browser.copy()
    };
    let response = there
        .post(
            "/sign-in",
            &[
                ("form", &field(&page, "form")),
                ("ticket", &field(&page, "ticket")),
            ],
        )
        .await;
    assert_eq!(response.status, 303, "{}", response.body);
    let here = Browser {
        base: app.base.clone(),
        ..there.copy()
    };
    assert!(here.is_signed_in().await && there.is_signed_in().await);
    let page = here.page("/sign-out").await;
    assert_eq!(
        there
            .copy()
            .post("/sign-out", &[("form", &field(&page, "form"))])
            .await
            .status,
        303
    );
    assert!(!here.is_signed_in().await && !there.is_signed_in().await);
}
