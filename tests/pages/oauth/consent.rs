//! Tests of the consent page and the member's decision.

use engine::access::Permission;
use serde_json::json;
use strum::VariantArray as _;
use test_support::{App, new_id, on_both};

use super::{MemberScene, borrowed, encoded, form, leads_to, query, register, with};
use crate::people::{Browser, html, signed_in};

on_both!(the_consent_page_names_the_app_and_its_scopes);
async fn the_consent_page_names_the_app_and_its_scopes(app: App) {
    let scene = MemberScene::build(&app).await;
    let page = scene
        .page(&with(scene.ask(), "scope", "view_tasks view_guides"))
        .await;
    for text in [
        "Connect Client?",
        "client.example",
        "Casa",
        "member@example.com",
        "the tools for assistants",
        "all of them",
        "read house manuals",
        "see tasks and shifts",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(
        !page.contains("see devices") && !page.contains("Please check carefully"),
        "{page}"
    );
    let page = scene.page(&scene.ask_for_api()).await;
    assert!(
        page.contains("the REST interface") && page.matches("<li>").count() == 11,
        "{page}"
    );
    for (language, text) in [
        ("es-ES,es", "¿Conectar Client?"),
        ("fr", "Connecter Client ?"),
    ] {
        let request = scene.browser.request(
            reqwest::Method::GET,
            &format!("/oauth/authorize?{}", encoded(&scene.ask())),
        );
        let page = html(
            &scene
                .browser
                .send(request.header("accept-language", language))
                .await,
        );
        assert!(page.contains(text), "{page}");
    }
}

on_both!(permissions_the_member_lacks_are_not_granted);
async fn permissions_the_member_lacks_are_not_granted(app: App) {
    let org = app.org().await;
    let flats = [org.property(None, &[]).await, org.property(None, &[]).await];
    let (held, member) = ([Permission::ViewTasks, Permission::ViewGuides], new_id());
    org.member(member, Some(&flats), &held, true).await;
    let browser = signed_in(&org, member).await;
    let scene = MemberScene {
        org,
        member,
        browser,
    };
    let ask = with(
        scene.ask_for_api(),
        "scope",
        "view_tasks manage_organization",
    );
    let page = scene.page(&ask).await;
    assert!(
        page.contains("Flat, Flat") && page.contains("It will not be allowed to"),
        "{page}"
    );
    let tokens = scene.tokens(&ask).await;
    assert_eq!(tokens.scope, "view_tasks");
    // A grant does not include permissions that the member gains later.
    scene
        .org
        .member(scene.member, Some(&flats), Permission::VARIANTS, true)
        .await;
    scene.api(&tokens).get("/members").await.error(403);
    scene.api(&tokens).get("/tasks").await.data();
    scene
        .org
        .member(scene.member, Some(&flats), &held, true)
        .await;
    let nothing = with(scene.ask(), "scope", "manage_organization view_devices");
    let page = scene.page(&nothing).await;
    assert!(
        page.contains("you cannot give it any") && !page.contains("value=\"approve\""),
        "{page}"
    );
    assert_eq!(
        query(&scene.decide(&nothing, "approve").await, "error").as_deref(),
        Some("access_denied")
    );
}

on_both!(the_consent_page_warns_about_unverified_apps);
async fn the_consent_page_warns_about_unverified_apps(app: App) {
    let scene = MemberScene::build(&app).await;
    let name = "<script>alert(1)</script> {host}";
    let client = register(
        &app,
        json!({
            "redirect_uris": ["https://evil.example/"],
            "client_name": name,
            "token_endpoint_auth_method": "none",
        }),
    )
    .await;
    let page = scene
        .page(&crate::oauth::ask(
            client.body["client_id"].as_str().unwrap(),
            "https://evil.example/",
        ))
        .await;
    assert!(
        page.contains("Please check carefully")
            && page.contains("evil.example")
            && page.contains("script&"),
        "{page}"
    );
}

on_both!(only_the_members_own_form_grants_consent);
async fn only_the_members_own_form_grants_consent(app: App) {
    let scene = MemberScene::build(&app).await;
    let page = scene.page(&scene.ask()).await;
    let right = form(&page, "approve");
    let send = async |browser: &Browser, fields: &crate::oauth::Pairs| {
        browser
            .post(
                "/oauth/consent",
                &fields.iter().map(borrowed).collect::<Vec<_>>(),
            )
            .await
    };
    let other = signed_in(&scene.org, scene.member).await;
    let foreign = crate::people::fields(
        &html(
            &other
                .get(&format!("/oauth/authorize?{}", encoded(&scene.ask())))
                .await,
        ),
        "form",
    )
    .pop()
    .unwrap();
    for token in ["", "nonsense", &foreign, "\0", &"a".repeat(9_999)] {
        let response = send(&scene.browser, &with(right.clone(), "form", token)).await;
        assert_eq!(
            (response.status, response.header("location")),
            (403, None),
            "{token}"
        );
        html(&response);
    }
    let twice = [right.clone(), vec![("form".into(), foreign)]].concat();
    assert_eq!(send(&scene.browser, &twice).await.status, 403);
    // A browser without the session cookie has no signed-in member, so the form redirects to the
    // sign-in page.
    let response = send(&Browser::new(&app), &right).await;
    assert!(
        response
            .header("location")
            .unwrap()
            .starts_with("/sign-in?"),
        "{response:?}"
    );
    // The service checks the parameters of the submitted form again, because a member can
    // change them.
    for (name, value) in [
        ("redirect_uri", "https://evil.example/"),
        ("client_id", "x"),
        ("client_id", ""),
    ] {
        assert_eq!(
            send(&scene.browser, &with(right.clone(), name, value))
                .await
                .status,
            400,
            "{name}"
        );
    }
    let there = leads_to(
        &send(
            &scene.browser,
            &with(right.clone(), "code_challenge_method", "plain"),
        )
        .await,
    );
    assert_eq!(query(&there, "error").as_deref(), Some("invalid_request"));
    // Without a valid decision the service shows the consent page again.
    for decision in ["", "maybe"] {
        assert_eq!(
            send(&scene.browser, &with(right.clone(), "decision", decision))
                .await
                .status,
            200
        );
    }
    for _ in 0..3 {
        assert!(
            query(&leads_to(&send(&scene.browser, &right).await), "code").is_some(),
            "going back and saying yes again is no fault"
        );
    }
    let no = leads_to(&send(&scene.browser, &with(right, "decision", "deny")).await);
    assert_eq!(
        (
            query(&no, "error").as_deref(),
            query(&no, "state").as_deref()
        ),
        (Some("access_denied"), Some("s p&=é"))
    );
    assert_eq!(query(&no, "iss"), Some(app.base.clone()));
    let raw = scene
        .browser
        .request(reqwest::Method::POST, "/oauth/consent");
    for body in [vec![0xff, 0xfe], vec![b'a'; 70_000], Vec::new()] {
        let request = raw
            .try_clone()
            .unwrap()
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        assert!([400, 403].contains(&scene.browser.send(request).await.status));
    }
    assert_eq!(scene.browser.send(raw.json(&json!({}))).await.status, 400);
}

on_both!(the_consent_page_forbids_frames_and_binds_no_later_address_of_the_app);
async fn the_consent_page_forbids_frames_and_binds_no_later_address_of_the_app(app: App) {
    let scene = MemberScene::build(&app).await;
    let response = scene
        .browser
        .get(&format!("/oauth/authorize?{}", encoded(&scene.ask())))
        .await;
    html(&response);
    let policy = response.header("content-security-policy").unwrap();
    assert!(
        policy.contains("frame-ancestors 'none'")
            && policy.contains("default-src 'none'")
            && !policy.contains("form-action"),
        "{policy}"
    );
}

on_both!(consent_is_requested_every_time);
async fn consent_is_requested_every_time(app: App) {
    let scene = MemberScene::build(&app).await;
    for _ in 0..2 {
        scene.tokens(&scene.ask()).await;
    }
    assert!(scene.page(&scene.ask()).await.contains("value=\"approve\""));
}
