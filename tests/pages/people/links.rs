//! Tests of sign-in links. Each link expires after some minutes and can be used only once.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use test_support::{App, new_id, on_both};

use super::{Browser, ada, field, html, link, link_for, member, path_of, signed_in};

on_both!(a_link_names_the_member_and_works_once);
async fn a_link_names_the_member_and_works_once(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let created = link_for(
        &org,
        id,
        json!({ "returnTo": "/sign-in?return_to=%2Fconsole" }),
    )
    .await;
    assert_eq!(created.status, 201);
    let created = created.data();
    assert_eq!(created["expiresAt"], "2026-11-21T09:35:00.000Z");
    assert!(
        created["url"]
            .as_str()
            .unwrap()
            .starts_with(&format!("{}/sign-in?ticket=", app.base)),
        "{created}"
    );
    let (path, browser) = (path_of(&created), Browser::new(&app));

    // Opening a sign-in link does not redeem its ticket, because mail programs prefetch links.
    for _ in 0..2 {
        let head = browser.send(browser.request(Method::HEAD, &path)).await;
        assert_eq!((head.status, head.body), (200, json!("")));
        browser.page(&path).await;
    }
    let page = Browser::new(&app).page(&path).await;
    for text in ["Casa", "Ada", "ada@example.com", "Sign in"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!browser.is_signed_in().await);

    assert_eq!(
        browser.sign_in(&path).await,
        "/sign-in?return_to=%2Fconsole"
    );
    assert!(browser.is_signed_in().await);
    let page = browser.page("/sign-in?return_to=%2Fconsole").await;
    assert!(page.contains("href=\"/console\""), "{page}");

    // After a link has been used, no browser can use it again, not even the same browser.
    for browser in [browser, Browser::new(&app)] {
        let again = browser.get(&path).await;
        assert_eq!(again.status, 410);
        assert_eq!(html(&again).matches("<a ").count(), 1);
    }
}

on_both!(a_link_that_is_used_concurrently_signs_in_once);
async fn a_link_that_is_used_concurrently_signs_in_once(app: App) {
    let org = app.org().await;
    let path = &link(&org, ada(&org).await).await;
    let browsers: Vec<Browser> = (0..6).map(|_| Browser::new(&app)).collect();
    let pressing = browsers.iter().map(|browser| async move {
        let page = browser.page(path).await;
        ((field(&page, "form"), field(&page, "ticket")), browser)
    });
    let ready = join_all(pressing).await;
    let answers = join_all(ready.iter().map(|((form, ticket), browser)| async move {
        browser
            .post("/sign-in", &[("form", form), ("ticket", ticket)])
            .await
            .status
    }))
    .await;
    let count = |wanted: u16| answers.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(303), count(410)), (1, 5), "{answers:?}");
    let sessions = app
        .query("select count(*) from member_session", Vec::new(), |row| {
            row.get::<i64>(0)
        })
        .await;
    assert_eq!(sessions, [1]);
}

on_both!(a_link_expires_after_five_minutes);
async fn a_link_expires_after_five_minutes(app: App) {
    let org = app.org().await;
    let path = link(&org, ada(&org).await).await;
    let browser = Browser::new(&app);
    app.clock.advance(Duration::from_secs(299));
    let page = browser.page(&path).await;
    app.clock.advance(Duration::from_secs(1));
    assert_eq!(browser.get(&path).await.status, 410);
    let late = browser
        .post(
            "/sign-in",
            &[
                ("form", &field(&page, "form")),
                ("ticket", &field(&page, "ticket")),
            ],
        )
        .await;
    assert_eq!(late.status, 410);
    assert!(
        late.header("set-cookie")
            .is_none_or(|cookie| !cookie.contains("session")),
        "{:?}",
        late.headers
    );
    for ticket in [
        "",
        "st_",
        "st_x",
        "x",
        "%00",
        "st_%F0%9F",
        &"a".repeat(5_000),
    ] {
        let response = browser.get(&format!("/sign-in?ticket={ticket}")).await;
        assert_eq!(response.status, 410, "{ticket}");
        html(&response);
    }
    app.server.sweep_once().await;
    assert_eq!(
        app.query("select count(*) from sign_in_ticket", Vec::new(), |row| row
            .get::<i64>(0))
            .await,
        [0]
    );
}

on_both!(links_are_for_active_members_and_local_paths_only);
async fn links_are_for_active_members_and_local_paths_only(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    assert_eq!(
        link_for(&org, new_id(), json!({})).await.error(404)["code"],
        "NOT_FOUND"
    );
    for path in [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "",
        "console",
        "/a\tb",
        "/%2Fevil.example",
        "/a#b",
        "/../b",
    ] {
        assert_eq!(
            link_for(&org, id, json!({ "returnTo": path }))
                .await
                .issues(),
            ["returnTo"],
            "{path}"
        );
    }
    assert_eq!(
        link_for(&org, id, json!({ "returnTo": 5, "more": 1 }))
            .await
            .issues(),
        ["more", "returnTo"]
    );
    let console = link_for(&org, id, json!({ "returnTo": null })).await.data();
    assert_eq!(
        Browser::new(&app).sign_in(&path_of(&console)).await,
        "/console"
    );
    let mut inactive = member("ada@example.com");
    inactive["isActive"] = json!(false);
    org.put(&format!("/members/{id}"), inactive).await;
    assert_eq!(
        link_for(&org, id, json!({})).await.error(409)["code"],
        "CONFLICT"
    );
    assert_eq!(
        app.anonymous()
            .post(
                &format!(
                    "/../../platform/v1{}",
                    org.path(&format!("/members/{id}/sign-in-links"))
                ),
                json!({})
            )
            .await
            .status,
        401
    );
}

on_both!(a_link_depends_on_the_current_state_of_its_member);
async fn a_link_depends_on_the_current_state_of_its_member(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let (path, browser) = (link(&org, id).await, Browser::new(&app));
    let page = browser.page(&path).await;
    let press = || async {
        browser
            .post(
                "/sign-in",
                &[
                    ("form", &field(&page, "form")),
                    ("ticket", &field(&page, "ticket")),
                ],
            )
            .await
    };
    let mut changed = member("ada@example.com");
    changed["isActive"] = json!(false);
    org.put(&format!("/members/{id}"), changed).await;
    for answer in [press().await, browser.get(&path).await] {
        assert_eq!(answer.status, 403);
        assert!(html(&answer).contains("switched off"));
    }
    let mut changed = member("ada@example.com");
    changed["isTwoFactorEnrolled"] = json!(false);
    org.put(&format!("/members/{id}"), changed).await;
    org.put("", json!({ "name": "Casa", "isTwoFactorRequired": true }))
        .await;
    for answer in [press().await, browser.get(&path).await] {
        assert_eq!(answer.status, 403);
        assert!(html(&answer).contains("Two-factor"));
    }
    // The refused sign-ins have not used up the sign-in link. Now that the member is enrolled in
    // two-factor authentication, the link works.
    org.put(&format!("/members/{id}"), member("ada@example.com"))
        .await;
    assert_eq!(press().await.status, 303);
    let path = link(&org, id).await;
    app.platform()
        .ok(Method::DELETE, &org.path(&format!("/members/{id}")), None)
        .await;
    assert_eq!(browser.get(&path).await.status, 410);
}

on_both!(the_numbers_of_links_and_sessions_are_bounded);
async fn the_numbers_of_links_and_sessions_are_bounded(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let oldest = link(&org, id).await;
    let first = signed_in(&org, id).await;
    for _ in 0..100 {
        app.clock.advance(Duration::from_millis(1));
        signed_in(&org, id).await;
    }
    assert!(!first.is_signed_in().await);
    for _ in 0..100 {
        app.clock.advance(Duration::from_millis(1));
        link(&org, id).await;
    }
    assert_eq!(first.get(&oldest).await.status, 410);
    let count = |table: &str| {
        app.query(format!("select count(*) from {table}"), Vec::new(), |row| {
            row.get::<i64>(0)
        })
    };
    assert_eq!(
        (count("sign_in_ticket").await, count("member_session").await),
        (vec![100], vec![100])
    );
}
