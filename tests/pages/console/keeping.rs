//! Tests of a form that a member submits after the session has ended: the typed values return after
//! a new sign-in.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use test_support::{App, on_both};

use super::{Form, html, marta, plain, portal, read};
use crate::console::page;
use crate::people::{Browser, ada, signed_in};

on_both!(typed_values_return_after_signing_in_again);
async fn typed_values_return_after_signing_in_again(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (id, path) = portal(&api, "Casa Azul").await;
    let member = ada(&org).await;
    let browser = signed_in(&org, member).await;
    let form = Form::of(&page(&browser, &path).await, &path)
        .with("name", "Casa \"Verde\"")
        .with("supportNotes", "a\r\nb");
    app.clock.advance(Duration::from_secs(3 * 3_600));
    let ended = form.refused(&browser, 401).await;
    assert!(ended.contains("What you typed is not lost"), "{ended}");
    let kept = Form::of(&ended, &path);
    assert_eq!(
        (kept.value("name"), kept.value("form")),
        (Some("Casa \"Verde\""), None)
    );

    let again = signed_in(&org, member).await;
    let filled = kept.refused(&again, 200).await;
    assert!(filled.contains("when your session ended"), "{filled}");
    assert_eq!(
        read(&api, &format!("/portals/{id}")).await["name"],
        "Casa Azul",
        "nothing is saved by coming back"
    );
    Form::of(&filled, &path).done(&again, "saved").await;
    let portal = read(&api, &format!("/portals/{id}")).await;
    assert_eq!(
        (portal["name"].as_str(), portal["supportNotes"].as_str()),
        (Some("Casa \"Verde\""), Some("a\nb"))
    );
}

on_both!(a_typed_category_returns_after_signing_in_again);
async fn a_typed_category_returns_after_signing_in_again(app: App) {
    let org = app.org().await;
    let member = ada(&org).await;
    let browser = signed_in(&org, member).await;
    let form = Form::of(
        &page(&browser, "/console/categories").await,
        "/console/categories",
    )
    .with("title", "Kitchen");
    app.clock.advance(Duration::from_secs(3 * 3_600));
    let ended = form.refused(&browser, 401).await;
    let again = signed_in(&org, member).await;
    let filled = Form::of(&ended, "/console/categories")
        .refused(&again, 200)
        .await;
    assert!(
        filled.contains("when your session ended")
            && !filled.contains("does not belong to your session"),
        "{filled}"
    );
    let form = Form::of(&filled, "/console/categories");
    assert_eq!(form.value("title"), Some("Kitchen"));
    form.done(&again, "created").await;
}

on_both!(forms_of_other_sites_are_not_returned_after_sign_in);
async fn forms_of_other_sites_are_not_returned_after_sign_in(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (id, path) = portal(&api, "Casa Azul").await;
    let browser = marta(&org).await;
    let body = "kept=1&name=Evil";
    for (header, value) in [
        ("origin", "https://evil.example"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let request = browser
            .request(Method::POST, &path)
            .header("content-type", "application/x-www-form-urlencoded");
        let response = browser.send(request.header(header, value).body(body)).await;
        assert_eq!(response.status, 403, "{header}: {value}");
        html(&response);
    }
    let stranger = Browser::new(&app);
    let request = stranger
        .request(Method::POST, &path)
        .header("content-type", "application/x-www-form-urlencoded");
    let response = stranger
        .send(request.header("sec-fetch-site", "cross-site").body(body))
        .await;
    assert_eq!(response.status, 303);
    assert!(!plain(&response.body.to_string()).contains("Evil"));
    assert_eq!(
        read(&api, &format!("/portals/{id}")).await["name"],
        "Casa Azul"
    );
}

on_both!(a_too_large_form_is_refused);
async fn a_too_large_form_is_refused(app: App) {
    let org = app.org().await;
    let (_, path) = portal(&org.key().await, "Casa Azul").await;
    let browser = marta(&org).await;
    let form = Form::of(&page(&browser, &path).await, &path);
    form.clone()
        .with("supportNotes", &"x".repeat(2_001))
        .refused(&browser, 400)
        .await;
    let response = form
        .with("supportNotes", &"x".repeat(1 << 20))
        .send(&browser)
        .await;
    assert_eq!(response.status, 400, "{}", response.body);
}

/// Sends requests until the rate limit of [`a_rate_limited_form_is_not_lost`] refuses one.
async fn use_up_rate_limit(browser: &Browser) {
    for _ in 0..100 {
        if browser.get("/console/portals").await.status != 200 {
            return;
        }
    }
    panic!("100 requests do not reach the rate limit");
}

on_both!(
    a_rate_limited_form_is_not_lost,
    "--console-rate-limit-per-minute=30"
);
async fn a_rate_limited_form_is_not_lost(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (id, path) = portal(&api, "Casa Azul").await;
    let step = api
        .post(
            "/precheck-steps",
            json!({ "stepType": "additional_questions", "nickname": "Questions" }),
        )
        .await
        .data();
    let questions = format!("/console/steps/{}/questions", step["id"].as_str().unwrap());
    let browser = marta(&org).await;
    let form = Form::of(&page(&browser, &path).await, &path)
        .with("name", "Casa \"Verde\"")
        .with("supportNotes", "a\r\nb");
    let asked = Form::of(&page(&browser, &questions).await, &questions)
        .with("act", "add")
        .refused(&browser, 200)
        .await;
    let asked = Form::of(&asked, &questions)
        .with("q0.text", "Do you bring a pet?")
        .with("q0.kind", "yes_no")
        .with("act", "save");
    use_up_rate_limit(&browser).await;
    for form in [form, asked] {
        let response = form.send(&browser).await;
        assert!(
            response.header("retry-after").is_some(),
            "{}",
            response.body
        );
        let later = form.refused(&browser, 429).await;
        assert!(
            later.contains("They are not lost") && later.contains("Send it again"),
            "{later}"
        );
        assert_eq!(
            read(&api, &format!("/portals/{id}")).await["name"],
            "Casa Azul"
        );
        let again = Form::of(&later, &form.action);
        assert_eq!(
            again.fields,
            form.fields
                .iter()
                .map(|(name, value)| (name.clone(), value.replace("\r\n", "\n")))
                .collect::<Vec<_>>()
        );
        app.clock.advance(Duration::from_secs(61));
        let response = again.send(&browser).await;
        assert_eq!(response.status, 303, "{}", response.body);
        if form.action.ends_with("questions") {
            break;
        }
        assert_eq!(
            read(&api, &format!("/portals/{id}")).await["name"],
            "Casa \"Verde\""
        );
        app.clock.advance(Duration::from_secs(61));
        api.patch(
            &format!("/portals/{id}"),
            json!({ "data": { "name": "Casa Azul" } }),
        )
        .await
        .data();
        use_up_rate_limit(&browser).await;
    }
    let step = read(
        &api,
        &format!("/precheck-steps/{}", step["id"].as_str().unwrap()),
    )
    .await;
    assert_eq!(step["questions"][0]["kind"], "yes_no");
}

on_both!(
    typed_times_and_hours_return_after_signing_in_again,
    "--webhook-allow=127.0.0.0/8",
    "--console-keys"
);
async fn typed_times_and_hours_return_after_signing_in_again(app: App) {
    let org = app.org().await;
    let key = org.key_and_id(&[]).await.1;
    let member = ada(&org).await;
    let browser = signed_in(&org, member).await;
    let (webhook, _) = crate::console::things::subscribed(&browser, "task.created")
        .await
        .unwrap();
    let (log, rotate) = (
        format!("/console/webhooks/{webhook}"),
        format!("/console/webhooks/{webhook}/rotate"),
    );
    let token = format!("/console/access/keys/{key}/rotate");
    let forms = [
        (
            Form::of(&page(&browser, &log).await, "/failed"),
            "since",
            "yesterday",
        ),
        (
            Form::of(&page(&browser, &rotate).await, "/rotate"),
            "hours",
            "777",
        ),
        (
            Form::of(&page(&browser, &token).await, "/rotate"),
            "hours",
            "777",
        ),
    ];
    for (form, name, value) in &forms {
        let refused = form.clone().with(name, value).refused(&browser, 400).await;
        assert_eq!(
            Form::of(&refused, &form.action).value(name),
            Some(*value),
            "{refused}"
        );
        assert!(refused.contains("role=\"alert\""), "{refused}");
    }
    app.clock.advance(Duration::from_secs(3 * 3_600));
    for (form, name, value) in forms {
        let ended = form.clone().with(name, value).refused(&browser, 401).await;
        let again = signed_in(&org, member).await;
        let filled = Form::of(&ended, &form.action).refused(&again, 200).await;
        assert_eq!(
            Form::of(&filled, &form.action).value(name),
            Some(value),
            "{filled}"
        );
        assert!(filled.contains("when your session ended"), "{filled}");
    }
}
