//! A session that ends while somebody types.

use std::time::Duration;

use reqwest::Method;

use super::{Form, html, marta, plain, portal, read};
use crate::console::page;
use crate::people::{ada, signed_in};
use crate::support::{App, on_both};

on_both! {
    async fn what_was_typed_comes_back_after_signing_in_again(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let (id, path) = portal(&api, "Casa Azul").await;
        let member = ada(&org).await;
        let browser = signed_in(&org, member).await;
        let form = Form::of(&page(&browser, &path).await, &path).with("name", "Casa \"Verde\"").with("supportNotes", "a\r\nb");
        app.clock.advance(Duration::from_secs(3 * 3_600));
        let ended = form.refused(&browser, 401).await;
        assert!(ended.contains("What you typed is not lost"), "{ended}");
        let kept = Form::of(&ended, &path);
        assert_eq!((kept.value("name"), kept.value("form")), (Some("Casa \"Verde\""), None));

        let again = signed_in(&org, member).await;
        let filled = kept.refused(&again, 200).await;
        assert!(filled.contains("when your session ended"), "{filled}");
        assert_eq!(read(&api, &format!("/portals/{id}")).await["name"], "Casa Azul", "nothing is saved by coming back");
        Form::of(&filled, &path).done(&again, "saved").await;
        let portal = read(&api, &format!("/portals/{id}")).await;
        assert_eq!((portal["name"].as_str(), portal["supportNotes"].as_str()), (Some("Casa \"Verde\""), Some("a\nb")));
    }

    async fn what_comes_from_elsewhere_is_not_kept(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let (id, path) = portal(&api, "Casa Azul").await;
        let browser = marta(&org).await;
        let body = "kept=1&name=Evil";
        for (header, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site")] {
            let request = browser.request(Method::POST, &path).header("content-type", "application/x-www-form-urlencoded");
            let answer = browser.send(request.header(header, value).body(body)).await;
            assert_eq!(answer.status, 403, "{header}: {value}");
            html(&answer);
        }
        let stranger = crate::people::Browser::new(&app);
        let request = stranger.request(Method::POST, &path).header("content-type", "application/x-www-form-urlencoded");
        let answer = stranger.send(request.header("sec-fetch-site", "cross-site").body(body)).await;
        assert_eq!(answer.status, 303);
        assert!(!plain(&answer.body.to_string()).contains("Evil"));
        assert_eq!(read(&api, &format!("/portals/{id}")).await["name"], "Casa Azul");
    }

    async fn a_form_that_is_too_large_is_refused(app: App) {
        let org = app.org().await;
        let (_, path) = portal(&org.key().await, "Casa Azul").await;
        let browser = marta(&org).await;
        let form = Form::of(&page(&browser, &path).await, &path);
        form.clone().with("supportNotes", &"x".repeat(2_001)).refused(&browser, 400).await;
        let answer = form.with("supportNotes", &"x".repeat(1 << 20)).send(&browser).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
    }
}
