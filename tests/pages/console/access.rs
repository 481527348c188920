//! Tests of access to the console: sign-in, navigation, and separation of organizations.

use engine::access::Permission;
use reqwest::Method;
use serde_json::json;
use strum::VariantArray;
use test_support::{App, new_id, on_both};

use super::{Form, html, marta, member_with, page, plain, portal};
use crate::people::{Browser, field};

/// Each screen of the console, and a path of the REST interface that needs the same permissions.
const SCREENS: [(&str, &str); 7] = [
    ("/console/portals", "/portals"),
    ("/console/brandings", "/portal-brandings"),
    ("/console/steps", "/precheck-steps"),
    ("/console/manuals", "/portal-manuals"),
    ("/console/categories", "/portal-manual-categories"),
    ("/console/translations", "/portals"),
    ("/console/portals/new", "/portals"),
];

on_both!(a_visitor_without_a_session_is_sent_to_sign_in);
async fn a_visitor_without_a_session_is_sent_to_sign_in(app: App) {
    let browser = Browser::new(&app);
    for (path, back) in [
        ("/console", "%2Fconsole"),
        ("/console/portals", "%2Fconsole%2Fportals"),
        (
            "/console/portals?from=50",
            "%2Fconsole%2Fportals%3Ffrom%3D50",
        ),
        ("/console/nothing/here", "%2Fconsole%2Fnothing%2Fhere"),
    ] {
        let response = browser.get(path).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, Some(&*format!("/sign-in?return_to={back}"))),
            "{path}"
        );
    }
}

on_both!(unknown_addresses_show_a_404_page);
async fn unknown_addresses_show_a_404_page(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let id = new_id();
    for path in [
        "/console/",
        "/console/nothing",
        "/console/portals/x",
        &format!("/console/portals/{id}"),
        &format!("/console/steps/{id}"),
        &format!("/console/manuals/{id}/visibility"),
        &format!("/console/assignments/portals/{id}"),
        "/console/assignments/nothing/x",
        &format!("/console/translations/{id}"),
        "/console/portals/%ff",
        "/console/portals/%00",
    ] {
        let response = browser.get(path).await;
        assert_eq!(response.status, 404, "{path}: {}", response.body);
        assert!(html(&response).contains("There is nothing here"));
    }
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let response = browser
            .send(browser.request(method.clone(), "/console/portals"))
            .await;
        assert_eq!(response.status, 404, "{method}");
    }
}

on_both!(console_pages_follow_the_members_permissions);
async fn console_pages_follow_the_members_permissions(app: App) {
    let org = app.org().await;
    for permission in Permission::VARIANTS {
        let id = new_id();
        org.member(id, None, &[*permission], true).await;
        let browser = crate::people::signed_in(&org, id).await;
        let api = org.token_of(id, &[*permission]).await;
        let home = page(&browser, "/console").await;
        for (screen, call) in SCREENS {
            let (shown, called) = (browser.get(screen).await.status, api.get(call).await.status);
            if !screen.ends_with("/new") {
                assert_eq!(shown, called, "{screen} {}", permission.as_ref());
                assert_eq!(
                    home.contains(&format!("href=\"{screen}\"")),
                    called == 200,
                    "{screen} {}",
                    permission.as_ref()
                );
            }
        }
        let may_create = api
            .post("/portals", json!({ "name": permission.as_ref() }))
            .await
            .status
            == 201;
        if browser.get("/console/portals").await.status == 200 {
            let list = page(&browser, "/console/portals").await;
            assert_eq!(list.contains("/console/portals/new"), may_create);
        }
        let form = home
            .split("name=\"form\" value=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .to_owned();
        let created = browser
            .post(
                "/console/portals/new",
                &[
                    ("form", &form),
                    ("name", &format!("by {}", permission.as_ref())),
                ],
            )
            .await;
        assert_eq!(
            created.status == 303,
            may_create,
            "{}: {}",
            permission.as_ref(),
            created.body
        );
    }
}

on_both!(resources_of_another_organization_are_404);
async fn resources_of_another_organization_are_404(app: App) {
    let (org, other) = (app.org().await, app.org().await);
    let api = other.key().await;
    let (portal, _) = portal(&api, "Theirs").await;
    let text = |path: &'static str, body| {
        let api = &api;
        async move {
            api.post(path, body).await.data()["id"]
                .as_str()
                .unwrap()
                .to_owned()
        }
    };
    let branding = text("/portal-brandings", json!({ "name": "Theirs" })).await;
    let step = text(
        "/precheck-steps",
        json!({ "stepType": "main", "nickname": "Theirs" }),
    )
    .await;
    let manual = text(
        "/portal-manuals",
        json!({ "nickname": "Theirs", "title": "Theirs" }),
    )
    .await;
    let category = text("/portal-manual-categories", json!({ "title": "Theirs" })).await;
    let translation = text(
        "/translations",
        json!({ "sourceTable": "manual", "text": "Theirs" }),
    )
    .await;
    let browser = marta(&org).await;
    let home = page(&browser, "/console").await;
    let form = field(&home, "form");
    for path in [
        format!("/console/portals/{portal}"),
        format!("/console/brandings/{branding}"),
        format!("/console/steps/{step}"),
        format!("/console/steps/{step}/questions"),
        format!("/console/manuals/{manual}"),
        format!("/console/manuals/{manual}/visibility"),
        format!("/console/manuals/{manual}/icon"),
        format!("/console/categories/{category}"),
        format!("/console/translations/{translation}"),
        format!("/console/assignments/portals/{portal}"),
        format!("/console/assignments/steps/{step}"),
        format!("/console/assignments/manuals/{manual}"),
    ] {
        let response = browser.get(&path).await;
        assert_eq!(response.status, 404, "{path}");
        assert!(!html(&response).contains("Theirs"), "{path}");
        let sent = browser
            .post(
                &path,
                &[
                    ("form", &form),
                    ("name", "Mine"),
                    ("nickname", "Mine"),
                    ("title", "Mine"),
                    ("text.en", "Mine"),
                    ("was.en", "Theirs"),
                    ("shown", &portal),
                    ("assigned", &portal),
                    ("act", "save"),
                    ("iconName", "wifi"),
                ],
            )
            .await;
        assert_eq!(sent.status, 404, "POST {path}: {}", sent.body);
    }
    for path in [
        format!("/console/portals/{portal}/preview"),
        format!("/console/brandings/{branding}/preview"),
        format!("/console/categories/{category}/remove"),
    ] {
        assert_eq!(
            browser.post(&path, &[("form", &form)]).await.status,
            404,
            "{path}"
        );
    }
    assert_eq!(
        api.get(&format!("/portals/{portal}")).await.data()["name"],
        "Theirs"
    );
}

on_both!(a_form_of_another_session_changes_nothing);
async fn a_form_of_another_session_changes_nothing(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (id, path) = portal(&api, "Casa Azul").await;
    let (browser, other) = (marta(&org).await, marta(&org).await);
    let form = Form::of(&page(&browser, &path).await, &path).with("name", "Casa Verde");
    let foreign = Form::of(&page(&other, &path).await, &path);
    for token in ["", "x", foreign.value("form").unwrap()] {
        let refused = form
            .clone()
            .with("form", token)
            .refused(&browser, 403)
            .await;
        assert!(
            refused.contains("This form does not belong to your session"),
            "{refused}"
        );
    }
    form.clone().without("form").refused(&browser, 403).await;
    assert_eq!(
        api.get(&format!("/portals/{id}")).await.data()["name"],
        "Casa Azul"
    );
    form.done(&browser, "saved").await;
}

on_both!(a_limited_member_reaches_only_their_own_resources);
async fn a_limited_member_reaches_only_their_own_resources(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let ids: Vec<String> = {
        let mut ids = Vec::new();
        for name in ["Mine", "Theirs"] {
            ids.push(portal(&api, name).await.0);
        }
        ids
    };
    for (portal, property) in ids.iter().zip([mine, theirs]) {
        api.post(
            "/entity-scopes/add",
            json!({
                "entityType": "portal_settings",
                "entityId": portal,
                "propertyIds": [property],
            }),
        )
        .await
        .data();
    }
    let browser = member_with(&org, Permission::VARIANTS, Some(&[mine])).await;
    page(&browser, &format!("/console/portals/{}", ids[0])).await;
    assert_eq!(
        browser
            .get(&format!("/console/portals/{}", ids[1]))
            .await
            .status,
        404
    );
    let list = page(
        &browser,
        &format!("/console/assignments/portals/{}", ids[0]),
    )
    .await;
    assert!(
        list.contains(&mine.to_string()) && !list.contains(&theirs.to_string()),
        "{list}"
    );
}

on_both!(the_chosen_language_is_used_on_every_page);
async fn the_chosen_language_is_used_on_every_page(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let response = browser
        .send(
            browser
                .request(Method::GET, "/console/portals")
                .header("accept-language", "fr-CA, es;q=0.5"),
        )
        .await;
    assert!(html(&response).contains("<html lang=\"fr\">") && html(&response).contains("Portails"));
    let form = Form::of(
        &page(&browser, "/console/portals").await,
        "/console/language",
    )
    .with("language", "es");
    let response = form.send(&browser).await;
    assert_eq!(
        (response.status, response.header("location")),
        (303, Some("/console/portals"))
    );
    assert!(
        page(&browser, "/console/portals")
            .await
            .contains("<html lang=\"es\">")
    );
    assert!(
        browser
            .get("/sign-out")
            .await
            .body
            .as_str()
            .unwrap()
            .contains("¿Cerrar sesión?")
    );
    for here in ["//evil.example", "https://evil.example", "/../x", "/a?b"] {
        let response = form.clone().with("here", here).send(&browser).await;
        assert_eq!(response.header("location"), Some("/console"), "{here}");
    }
}

on_both!(names_and_texts_are_escaped);
async fn names_and_texts_are_escaped(app: App) {
    let org = app
        .org_with(json!({ "name": "<script>alert(1)</script>" }))
        .await;
    let api = org.key().await;
    let evil = "\"><img src=x onerror=alert(1)><script>alert(2)</script>";
    let (id, path) = portal(&api, &evil[..40]).await;
    api.patch(&format!("/portals/{id}"), json!({
        "data": { "supportNotes": evil, "specialOfferTitle": evil, "supportEmail": "a@b.example" },
    })).await.data();
    let text = |path: &'static str, body| {
        let api = &api;
        async move {
            api.post(path, body).await.data()["id"]
                .as_str()
                .unwrap()
                .to_owned()
        }
    };
    let branding = text(
        "/portal-brandings",
        json!({ "name": &evil[..40], "calloutMessage": evil }),
    )
    .await;
    let step = text(
        "/precheck-steps",
        json!({
            "stepType": "agreement",
            "nickname": evil,
            "displayTitle": evil,
            "excludedSources": [evil],
            "inclusionType": "all_except_selected",
        }),
    )
    .await;
    let manual = text(
        "/portal-manuals",
        json!({
            "nickname": evil,
            "title": evil,
            "description": evil,
            "iconName": evil,
            "internalDescription": evil,
        }),
    )
    .await;
    let category = text("/portal-manual-categories", json!({ "title": evil })).await;
    org.put_record(
        "property",
        new_id(),
        json!({ "name": evil, "timezone": "Europe/Madrid", "country": "ES" }),
    )
    .await;
    let title = api.get(&format!("/portal-manuals/{manual}")).await.data()["titleId"]
        .as_str()
        .unwrap()
        .to_owned();
    let browser = marta(&org).await;
    for path in [
        "/console".to_owned(),
        "/console/portals".to_owned(),
        path,
        "/console/brandings".to_owned(),
        format!("/console/brandings/{branding}"),
        "/console/steps".to_owned(),
        format!("/console/steps/{step}"),
        format!("/console/assignments/steps/{step}"),
        "/console/manuals".to_owned(),
        format!("/console/manuals/{manual}"),
        format!("/console/manuals/{manual}/icon"),
        format!("/console/manuals/{manual}/visibility"),
        "/console/categories".to_owned(),
        format!("/console/categories/{category}"),
        "/console/translations?of=manuals".to_owned(),
        "/console/translations?of=steps".to_owned(),
        "/console/translations?of=brandings".to_owned(),
        format!("/console/translations/{title}"),
        format!("/console/manuals?search={}", "%22%3E%3Cimg%20src%3Dx"),
    ] {
        let html = page(&browser, &path).await;
        assert!(
            !html.contains("<img src=x") && !html.contains("<script>alert"),
            "{path}: {html}"
        );
        assert!(
            path == "/console" || plain(&html).contains("<img src=x"),
            "{path} shows nothing of it: {html}"
        );
    }
}

on_both!(a_preview_may_be_framed_and_a_stay_page_may_not);
async fn a_preview_may_be_framed_and_a_stay_page_may_not(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (_, path) = portal(&api, "Casa Azul").await;
    let browser = marta(&org).await;
    let form = Form::of(&page(&browser, &path).await, "/preview");
    let response = form.send(&browser).await;
    assert_eq!(response.status, 303, "{}", response.body);
    let address = response.header("location").unwrap().to_owned();
    let policy = |response: &test_support::ApiResponse| {
        response
            .header("content-security-policy")
            .unwrap()
            .to_owned()
    };
    assert!(policy(&browser.get(&address).await).contains("frame-ancestors 'self'"));
    let reservation = org.reservation(Some(org.property(None, &[]).await)).await;
    let token = org.stay_token(reservation).await;
    assert!(
        policy(&browser.get(&format!("/stay/{token}")).await).contains("frame-ancestors 'none'")
    );
}
