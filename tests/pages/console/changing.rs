//! Tests of console forms that create and change resources: the requests that they send, refusals
//! and conflicts.

use engine::access::Permission;
use serde_json::{Value, json};
use test_support::{App, on_both};

use super::{Form, marta, member_with, page, portal, read};

on_both!(a_double_submission_creates_a_single_portal);
async fn a_double_submission_creates_a_single_portal(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let browser = marta(&org).await;
    let form = Form::of(
        &page(&browser, "/console/portals/new").await,
        "/console/portals/new",
    )
    .with("name", "Casa Azul");
    let (first, second) = tokio::join!(form.send(&browser), form.send(&browser));
    assert_eq!(
        (first.status, second.status),
        (303, 303),
        "{} {}",
        first.body,
        second.body
    );
    assert_eq!(first.header("location"), second.header("location"));
    assert_eq!(
        api.get("/portals").await.data().as_array().unwrap().len(),
        1
    );
    // This form has already created a portal. Sent again with another name, the form creates
    // another portal only after a warning.
    let again = form
        .clone()
        .with("name", "Casa Verde")
        .refused(&browser, 422)
        .await;
    assert!(
        again.contains("has already created something") && again.contains("value=\"Casa Verde\""),
        "{again}"
    );
    Form::of(&again, "/console/portals/new")
        .done(&browser, "created")
        .await;
    assert_eq!(
        api.get("/portals").await.data().as_array().unwrap().len(),
        2
    );
}

on_both!(only_changed_fields_are_sent);
async fn only_changed_fields_are_sent(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (id, path) = portal(&api, "Casa Azul").await;
    let before = read(&api, &format!("/portals/{id}")).await;
    let browser = marta(&org).await;
    let form = Form::of(&page(&browser, &path).await, &path);
    form.done(&browser, "unchanged").await;
    assert_eq!(read(&api, &format!("/portals/{id}")).await, before);

    let filled = form
        .with("supportPhone", "+34 93 412 34 56")
        .with("supportNotes", "From 9 to 21\r\nevery day")
        .with("excludedQuickAccessTypes.set", "yes")
        .with("excludedQuickAccessTypes", "uber")
        .with("specialOfferTitle", "Late check-out")
        .without("isChatEnabled");
    let (_, saved) = filled.done(&browser, "saved").await;
    let after = read(&api, &format!("/portals/{id}")).await;
    let mut expected = before.clone();
    for (field, value) in [
        ("supportPhone", json!("+34934123456")),
        ("supportNotes", json!("From 9 to 21\nevery day")),
        ("excludedQuickAccessTypes", json!(["uber"])),
        ("isChatEnabled", json!(false)),
    ] {
        expected[field] = value;
    }
    for field in ["updatedAt", "specialOfferTitleId"] {
        expected[field] = after[field].clone();
    }
    assert_eq!(after, expected);
    let again = Form::of(&saved, &path);
    assert_eq!(again.value("specialOfferTitle"), Some("Late check-out"));
    assert_eq!(
        again.value("supportNotes"),
        Some("From 9 to 21\r\nevery day")
    );
    again.done(&browser, "unchanged").await;
    // An empty field becomes null. If the member ticks no tile to hide, the list of hidden
    // tiles becomes empty.
    let (_, cleared) = again
        .with("supportPhone", "")
        .without("excludedQuickAccessTypes")
        .done(&browser, "saved")
        .await;
    let cleared_portal = read(&api, &format!("/portals/{id}")).await;
    assert_eq!(
        (
            &cleared_portal["supportPhone"],
            &cleared_portal["excludedQuickAccessTypes"]
        ),
        (&Value::Null, &json!([]))
    );
    Form::of(&cleared, &path)
        .with("excludedQuickAccessTypes.set", "no")
        .done(&browser, "saved")
        .await;
    assert_eq!(
        read(&api, &format!("/portals/{id}")).await["excludedQuickAccessTypes"],
        Value::Null
    );
}

on_both!(errors_are_shown_at_their_fields_and_typed_values_are_kept);
async fn errors_are_shown_at_their_fields_and_typed_values_are_kept(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (id, path) = portal(&api, "Casa Azul").await;
    portal(&api, "Taken").await;
    let browser = marta(&org).await;
    let form = Form::of(&page(&browser, &path).await, &path);
    let typed = form
        .with("name", " ")
        .with("supportPhone", "nonsense")
        .with("supportEmail", "nobody")
        .with("supportNotes", "Kept <as> typed");
    let refused = typed.refused(&browser, 400).await;
    assert!(
        refused.contains(">Name: ") && refused.contains(">Support email: "),
        "the list says which field: {refused}"
    );
    for field in ["name", "supportPhone", "supportEmail"] {
        assert!(
            refused.contains(&format!("id=\"f-{field}-error\""))
                && refused.contains(&format!("href=\"#f-{field}\"")),
            "{field}: {refused}"
        );
    }
    let again = Form::of(&refused, &path);
    for (name, value) in [
        ("name", " "),
        ("supportPhone", "nonsense"),
        ("supportEmail", "nobody"),
        ("supportNotes", "Kept <as> typed"),
    ] {
        assert_eq!(again.value(name), Some(value));
    }
    let conflict = again
        .with("name", "taken")
        .with("supportPhone", "")
        .with("supportEmail", "")
        .refused(&browser, 409)
        .await;
    assert!(
        conflict.contains("role=\"alert\"")
            && Form::of(&conflict, &path).value("name") == Some("taken"),
        "{conflict}"
    );
    Form::of(&conflict, &path)
        .with("name", "Free")
        .done(&browser, "saved")
        .await;
    let portal = read(&api, &format!("/portals/{id}")).await;
    assert_eq!(
        (&portal["name"], &portal["supportNotes"]),
        (&json!("Free"), &json!("Kept <as> typed"))
    );
}

on_both!(concurrent_changes_of_a_field_show_both_versions);
async fn concurrent_changes_of_a_field_show_both_versions(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (id, path) = portal(&api, "Casa Azul").await;
    let browser = marta(&org).await;
    let form = Form::of(&page(&browser, &path).await, &path);
    app.clock.advance(std::time::Duration::from_secs(5));
    api.patch(
        &format!("/portals/{id}"),
        json!({ "data": { "name": "Theirs", "supportEmail": "theirs@example.com" } }),
    )
    .await
    .data();
    let mine = form.with("name", "Mine").with("supportNotes", "My notes");
    let both = mine.refused(&browser, 409).await;
    assert!(
        both.contains("Somebody has changed this") && both.contains("Theirs: Theirs"),
        "{both}"
    );
    let merged = Form::of(&both, &path);
    assert_eq!(merged.value("name"), Some("Mine"));
    assert_eq!(
        merged.value("supportEmail"),
        Some("theirs@example.com"),
        "what the other alone has changed is taken over"
    );
    assert_eq!(merged.value("supportNotes"), Some("My notes"));
    assert_eq!(
        read(&api, &format!("/portals/{id}")).await["name"],
        "Theirs"
    );

    merged
        .clone()
        .with("choose.name", "theirs")
        .done(&browser, "saved")
        .await;
    let portal = read(&api, &format!("/portals/{id}")).await;
    assert_eq!(
        (
            &portal["name"],
            &portal["supportNotes"],
            &portal["supportEmail"]
        ),
        (
            &json!("Theirs"),
            &json!("My notes"),
            &json!("theirs@example.com")
        )
    );
    // The portal changed again after the page showed both versions to the member, so the
    // service refuses the member's choice.
    let stale = merged
        .with("choose.name", "mine")
        .refused(&browser, 409)
        .await;
    Form::of(&stale, &path).done(&browser, "saved").await;
    assert_eq!(read(&api, &format!("/portals/{id}")).await["name"], "Mine");
}

on_both!(a_branding_shows_the_readability_of_its_colours);
async fn a_branding_shows_the_readability_of_its_colours(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let browser = marta(&org).await;
    let form = Form::of(
        &page(&browser, "/console/brandings/new").await,
        "/console/brandings/new",
    );
    let (location, created) = form
        .with("name", "Casa")
        .with("calloutMessage", "Welcome")
        .done(&browser, "created")
        .await;
    let path = location.split('?').next().unwrap();
    let form = Form::of(&created, path);
    assert_eq!(form.value("calloutMessageId"), Some("Welcome"));
    let refused = form
        .clone()
        .with("primaryColor", "red")
        .refused(&browser, 400)
        .await;
    assert!(refused.contains("f-primaryColor-error"), "{refused}");
    let (_, saved) = form
        .with("primaryColor", "#eeeeee")
        .with("backgroundColor", "#fff")
        .with("calloutMessageId", "Welcome back")
        .done(&browser, "saved")
        .await;
    assert!(saved.contains("1.2 · adjusted"), "{saved}");
    let id = path.rsplit('/').next().unwrap();
    let branding = api.get("/portal-brandings").await.data()[0].clone();
    assert_eq!(
        (branding["id"].as_str(), &branding["backgroundColor"]),
        (Some(id), &json!("#ffffff"))
    );
    let entries = read(
        &api,
        &format!(
            "/translations/{}/entries",
            branding["calloutMessageId"].as_str().unwrap()
        ),
    )
    .await;
    assert_eq!(entries[0]["text"], "Welcome back");
}

on_both!(a_refused_text_does_not_undo_the_saved_fields);
async fn a_refused_text_does_not_undo_the_saved_fields(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let manual = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Wi-Fi", "title": "Wi-Fi", "description": "Old" }),
        )
        .await
        .data();
    let path = format!("/console/manuals/{}", manual["id"].as_str().unwrap());
    let branding = api
        .post(
            "/portal-brandings",
            json!({ "name": "Casa", "calloutMessage": "Welcome" }),
        )
        .await
        .data();
    let browser = marta(&org).await;
    for (path, read_at, name, title, text, most) in [
        (
            path,
            format!("/portal-manuals/{}", manual["id"].as_str().unwrap()),
            "nickname",
            "titleId",
            "descriptionId",
            5_000,
        ),
        (
            format!("/console/brandings/{}", branding["id"].as_str().unwrap()),
            String::new(),
            "name",
            "nickname",
            "calloutMessageId",
            2_000,
        ),
    ] {
        let form = Form::of(&page(&browser, &path).await, &path)
            .with(name, "Renamed")
            .with(title, "Retitled")
            .with(text, &"x".repeat(most + 1));
        app.clock.advance(std::time::Duration::from_secs(5));
        let refused = form.refused(&browser, 400).await;
        assert!(
            refused.contains("Your other changes are saved.")
                && refused.contains(&format!("f-{text}-error")),
            "{refused}"
        );
        let stored = if read_at.is_empty() {
            api.get("/portal-brandings").await.data()[0].clone()
        } else {
            read(&api, &read_at).await
        };
        assert_eq!(stored[name], "Renamed");
        app.clock.advance(std::time::Duration::from_secs(5));
        // Some fields of the refused form were saved. They cause no conflict when the member
        // sends the form again.
        let (_, saved) = Form::of(&refused, &path)
            .with(text, "Short")
            .done(&browser, "saved")
            .await;
        let form = Form::of(&saved, &path);
        assert_eq!(
            (form.value(name), form.value(title), form.value(text)),
            (Some("Renamed"), Some("Retitled"), Some("Short"))
        );
    }
}

on_both!(a_text_that_the_member_may_not_read_is_not_overwritten);
async fn a_text_that_the_member_may_not_read_is_not_overwritten(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let manual = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Wi-Fi", "title": "Wi-Fi", "description": "The real text" }),
        )
        .await
        .data();
    let id = manual["id"].as_str().unwrap();
    let path = format!("/console/manuals/{id}");
    let browser = member_with(
        &org,
        &[Permission::ViewGuides, Permission::ModifyGuides],
        None,
    )
    .await;
    let html = page(&browser, &path).await;
    let form = Form::of(&html, &path);
    assert_eq!(
        (
            form.value("titleId"),
            form.value("descriptionId"),
            form.value("nickname")
        ),
        (None, None, Some("Wi-Fi"))
    );
    assert!(
        html.contains("To change this, you need the permission see the setup and flats"),
        "{html}"
    );
    form.with("nickname", "Internet")
        .done(&browser, "saved")
        .await;
    let stored = read(&api, &format!("/portal-manuals/{id}")).await;
    assert_eq!(
        (
            &stored["nickname"],
            &stored["titleId"],
            &stored["descriptionId"]
        ),
        (
            &json!("Internet"),
            &manual["titleId"],
            &manual["descriptionId"]
        )
    );
    let text = read(
        &api,
        &format!(
            "/translations/{}/entries",
            manual["descriptionId"].as_str().unwrap()
        ),
    )
    .await;
    assert_eq!(text[0]["text"], "The real text");
}

on_both!(a_missing_permission_is_shown_by_its_label);
async fn a_missing_permission_is_shown_by_its_label(app: App) {
    let org = app.org().await;
    let (_, path) = portal(&org.key().await, "Casa Azul").await;
    let browser = member_with(
        &org,
        &[Permission::ViewProperties, Permission::ModifyProperties],
        None,
    )
    .await;
    let html = page(&browser, &path).await;
    assert!(
        html.contains("manage the organization") && !html.contains("manage_organization"),
        "{html}"
    );
}
