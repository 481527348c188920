//! Tests that the service accepts a sign-in form only from the browser that opened its page.

use reqwest::Method;
use test_support::{ApiResponse, App, on_both};

use super::{Browser, ada, field, html, link, signed_in};

on_both!(a_link_is_used_only_by_the_form_of_its_browser);
async fn a_link_is_used_only_by_the_form_of_its_browser(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let (path, browser, other) = (link(&org, id).await, Browser::new(&app), Browser::new(&app));
    let (page, foreign) = (
        browser.page(&path).await,
        field(&other.page(&path).await, "form"),
    );
    let (form, ticket) = (field(&page, "form"), field(&page, "ticket"));
    let mut changed = form.clone();
    changed.replace_range(..1, if form.starts_with('A') { "B" } else { "A" });
    for fields in [
        vec![("ticket", ticket.as_str())],
        vec![("ticket", &ticket), ("form", "")],
        vec![("ticket", &ticket), ("form", "x")],
        vec![("ticket", &ticket), ("form", &changed)],
        vec![("ticket", &ticket), ("form", &foreign)],
        vec![("ticket", &ticket), ("form", &form), ("form", &form)],
    ] {
        let refused = browser.post("/sign-in", &fields).await;
        assert_eq!(refused.status, 403, "{fields:?}");
        html(&refused);
    }
    // The service refuses a form if the request lacks the cookie with the form secret, or has the
    // cookie of another browser.
    assert_eq!(
        Browser::new(&app)
            .post("/sign-in", &[("ticket", &ticket), ("form", &form)])
            .await
            .status,
        403
    );
    assert_eq!(
        other
            .post("/sign-in", &[("ticket", &ticket), ("form", &form)])
            .await
            .status,
        403
    );
    // The service refuses a body with another content type, with invalid fields, or above the
    // size limit.
    for (kind, body) in [
        ("application/json", "{}".to_owned()),
        ("text/plain", format!("ticket={ticket}&form={form}")),
        ("application/x-www-form-urlencoded", "&=%%%".to_owned()),
        (
            "application/x-www-form-urlencoded",
            format!("form={form}&ticket={ticket}&x={}", "x".repeat(64 << 10)),
        ),
    ] {
        let refused = browser
            .send(
                browser
                    .request(Method::POST, "/sign-in")
                    .header("content-type", kind)
                    .body(body),
            )
            .await;
        assert_eq!(refused.status, 403, "{kind}");
        html(&refused);
    }
    // The first form stays valid when the browser opens another page. The refused submissions
    // have not used up the sign-in link.
    browser.page(&path).await;
    assert_eq!(
        browser
            .post("/sign-in", &[("ticket", &ticket), ("form", &form)])
            .await
            .status,
        303
    );
}

on_both!(a_client_without_cookies_signs_in_by_the_form_alone);
async fn a_client_without_cookies_signs_in_by_the_form_alone(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let url = format!("{}{}", app.base, link(&org, id).await);
    // This client stores no cookies and follows no redirects.
    let http = Browser::new(&app).http;
    for _ in 0..2 {
        let looked = ApiResponse::of(http.get(&url)).await;
        assert_eq!((looked.status, looked.header("set-cookie")), (200, None));
    }
    let page = html(&ApiResponse::of(http.get(&url)).await);
    let (form, ticket) = (field(&page, "form"), field(&page, "ticket"));
    let post = |form: &str, from: Option<(&'static str, &'static str)>| {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("ticket", &*ticket), ("form", form)])
            .finish();
        let kind = "application/x-www-form-urlencoded";
        let request = http
            .post(format!("{}/sign-in", app.base))
            .header("content-type", kind)
            .body(body);
        ApiResponse::of(from.into_iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        }))
    };
    assert_eq!(post("", None).await.status, 403);
    // An attacker's site could send the form with the attacker's own sign-in link, so that the
    // victim would be signed in as the attacker. The service therefore refuses a form from another
    // site.
    assert_eq!(
        post(&form, Some(("origin", "https://evil.example")))
            .await
            .status,
        403
    );
    assert_eq!(
        post(&form, Some(("sec-fetch-site", "cross-site")))
            .await
            .status,
        403
    );
    assert_eq!(post(&form, None).await.status, 303);
    assert_eq!(post(&form, None).await.status, 410);
}

on_both!(a_session_is_ended_only_by_its_own_form);
async fn a_session_is_ended_only_by_its_own_form(app: App) {
    let org = app.org().await;
    let id = ada(&org).await;
    let (browser, other) = (signed_in(&org, id).await, signed_in(&org, id).await);
    let form = field(&browser.page("/sign-out").await, "form");
    let foreign = field(&other.page("/sign-out").await, "form");
    let session = browser.cookie("vestibule_session").unwrap();
    for forged in ["", "x", &foreign, &session] {
        let refused = browser.post("/sign-out", &[("form", forged)]).await;
        assert_eq!(refused.status, 403, "{forged}");
        html(&refused);
    }
    assert_eq!(browser.post("/sign-out", &[]).await.status, 403);
    assert!(browser.is_signed_in().await);
    assert_eq!(
        browser.post("/sign-out", &[("form", &form)]).await.status,
        303
    );
    assert!(!browser.is_signed_in().await && other.is_signed_in().await);
}
