//! Tests of texts: who may read, write and link a text, and which rules apply to each write (rules:
//! translations#writing).

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use test_support::{Api, ApiResponse, App, on_both};

use crate::manuals::texts;
use crate::precheck::{change, create, path, read, translation, try_create, with};

/// Writes `version` as the hand-written version of a text in `language`. `text` is the id of the
/// translation.
async fn write(api: &Api, text: &Value, language: &str, version: &str) -> ApiResponse {
    let path = format!(
        "/translations/{}/entries/{language}",
        text.as_str().unwrap()
    );
    api.send(Method::PUT, &path, Some(json!({ "text": version })))
        .await
}

/// Reads the entries of a text.
async fn versions(api: &Api, text: &Value) -> ApiResponse {
    api.get(&format!("/translations/{}/entries", text.as_str().unwrap()))
        .await
}

/// Creates a text that no resource uses.
async fn text(api: &Api, source_table: &str, version: &str) -> Value {
    api.post(
        "/translations",
        json!({ "sourceTable": source_table, "text": version }),
    )
    .await
    .data()["id"]
        .clone()
}

/// Creates two texts for each of three source tables. The English entry of the first text has
/// `longest` characters, which the fields that show the text still accept. The French entry of the
/// second text has one character more.
async fn fitting_and_too_long(api: &Api, longest: usize) -> [[Value; 2]; 3] {
    let mut created = [const { [Value::Null, Value::Null] }; 3];
    for ([fits, long], source) in
        created
            .iter_mut()
            .zip(["precheck_step_detail", "manual", "portal_branding"])
    {
        (*fits, *long) = (
            text(api, source, &"x".repeat(longest)).await,
            text(api, source, "Short").await,
        );
        write(api, long, "fr", &"x".repeat(longest + 1))
            .await
            .data();
    }
    created
}

async fn manual(api: &Api, fields: Value) -> Value {
    api.post(
        "/portal-manuals",
        with(json!({ "nickname": "Manual", "title": "Title" }), fields),
    )
    .await
    .data()
}

async fn category(api: &Api, title: &str) -> Value {
    api.post("/portal-manual-categories", json!({ "title": title }))
        .await
        .data()
}

async fn read_category(api: &Api, category: &Value) -> Value {
    let listed = api.get("/portal-manual-categories").await.data();
    listed
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"] == category["id"])
        .unwrap()
        .clone()
}

async fn read_portal(api: &Api, portal: &Value) -> Value {
    api.get(&format!("/portals/{}", portal["id"].as_str().unwrap()))
        .await
        .data()
}

async fn assign(api: &Api, entity_type: &str, thing: &Value, targets: Value) {
    let body = with(
        json!({ "entityType": entity_type, "entityId": thing["id"] }),
        targets,
    );
    api.post("/entity-scopes/add", body).await.data();
}

// Tests of the rules that apply to the content of a text.
on_both!(a_text_is_limited_to_the_length_of_its_field);
async fn a_text_is_limited_to_the_length_of_its_field(app: App) {
    let api = app.org().await.key().await;
    let step = create(&api, "main", json!({ "displayTitle": "Title" })).await;
    let manual = manual(&api, json!({ "description": "Body" })).await;
    let category = category(&api, "Heading").await;
    let copy = json!({
        "name": "Casa",
        "specialOfferTitle": "T",
        "specialOfferType": "K",
        "specialOfferCtaText": "C",
        "precheckinPromptMessage": "P",
    });
    let portal = api.post("/portals", copy).await.data();
    let branding = api
        .post(
            "/portal-brandings",
            json!({ "name": "Casa", "calloutMessage": "Hello" }),
        )
        .await
        .data();
    let (subtitle, question) = (
        translation(&api, "precheck_step_detail").await,
        translation(&api, "precheck_question").await,
    );
    create(
        &api,
        "damage_deposit",
        json!({ "damageDepositSubtitleMlTextId": subtitle }),
    )
    .await;
    create(
        &api,
        "additional_questions",
        json!({ "questions": [{ "kind": "yes_no", "textMlTextId": question }] }),
    )
    .await;
    let unused = text(&api, "manual", "Unused").await;
    // Each row has a field, its text, the maximum length of an entry, and whether the service
    // trims spaces.
    for (field, text, longest, is_trimmed) in [
        ("displayTitle", &step["displayTitleMlTextId"], 200, false),
        ("subtitle", &subtitle, 6000, false),
        ("question", &question, 6000, false),
        ("manual's title", &manual["titleId"], 200, false),
        ("description", &manual["descriptionId"], 5000, false),
        ("category's title", &category["titleId"], 200, true),
        ("offer's title", &portal["specialOfferTitleId"], 200, true),
        ("offer's type", &portal["specialOfferTypeId"], 200, true),
        ("offer's call", &portal["specialOfferCtaTextId"], 200, true),
        ("prompt", &portal["precheckinPromptMessageId"], 6000, true),
        ("callout", &branding["calloutMessageId"], 2000, false),
        ("unused", &unused, 6000, false),
    ] {
        let before = texts(&api, text).await;
        for language in ["en", "fr"] {
            for wrong in [
                "x".repeat(longest + 1),
                "\u{1F3E0}".repeat(longest + 1),
                " \n".into(),
            ] {
                assert_eq!(
                    write(&api, text, language, &wrong).await.issues(),
                    ["text"],
                    "{field}, {language}"
                );
            }
        }
        assert_eq!(texts(&api, text).await, before, "{field}: nothing is saved");
        for language in ["en", "fr"] {
            let longest = "\u{1F3E0}".repeat(longest);
            assert_eq!(
                write(&api, text, language, &longest).await.data()["text"],
                longest,
                "{field}, {language}"
            );
            let stored = if is_trimmed { "Short" } else { " Short " };
            assert_eq!(
                write(&api, text, language, " Short ").await.data()["text"],
                stored,
                "{field}, {language}"
            );
        }
    }
}

on_both!(a_linked_text_must_fit_the_length_of_the_field);
async fn a_linked_text_must_fit_the_length_of_the_field(app: App) {
    let api = app.org().await.key().await;
    let [titles, manual_titles, _] = fitting_and_too_long(&api, 200).await;
    let step = create(&api, "main", json!({})).await;
    let own = manual(&api, json!({})).await;
    let manual_path = format!("/portal-manuals/{}", own["id"].as_str().unwrap());
    assert_eq!(
        change(&api, &step, json!({ "displayTitleMlTextId": titles[1] }))
            .await
            .issues(),
        ["data.displayTitleMlTextId"]
    );
    assert_eq!(
        try_create(&api, "main", json!({ "displayTitleMlTextId": titles[1] }))
            .await
            .issues(),
        ["displayTitleMlTextId"]
    );
    assert_eq!(
        api.patch(
            &manual_path,
            json!({ "data": { "titleId": manual_titles[1] } })
        )
        .await
        .issues(),
        ["data.titleId"]
    );
    // `titles[1]` is too long for a title, but not for `guestDescriptionMlTextId`. The second
    // update is identical and changes no link, so the service accepts it as well.
    let subtitle =
        json!({ "displayTitleMlTextId": titles[0], "guestDescriptionMlTextId": titles[1] });
    change(&api, &step, subtitle.clone()).await.data();
    change(&api, &step, subtitle).await.data();
    api.patch(
        &manual_path,
        json!({ "data": { "titleId": manual_titles[0], "descriptionId": manual_titles[1] } }),
    )
    .await
    .data();
    // The step now links `titles[0]` as its title, so the limit of titles applies to this text.
    assert_eq!(
        write(&api, &titles[0], "de", &"x".repeat(201))
            .await
            .issues(),
        ["text"]
    );

    let [_, bodies, _] = fitting_and_too_long(&api, 5000).await;
    assert_eq!(
        api.patch(
            &manual_path,
            json!({ "data": { "descriptionId": bodies[1] } })
        )
        .await
        .issues(),
        ["data.descriptionId"]
    );
    api.patch(
        &manual_path,
        json!({ "data": { "descriptionId": bodies[0] } }),
    )
    .await
    .data();
    let [_, _, callouts] = fitting_and_too_long(&api, 2000).await;
    let callout = |id: &Value| json!({ "name": "Casa", "calloutMessageId": id });
    assert_eq!(
        api.post("/portal-brandings", callout(&callouts[1]))
            .await
            .issues(),
        ["calloutMessageId"]
    );
    api.post("/portal-brandings", callout(&callouts[0]))
        .await
        .data();
}

on_both!(the_strictest_field_that_shows_a_text_sets_its_limit);
async fn the_strictest_field_that_shows_a_text_sets_its_limit(app: App) {
    let api = app.org().await.key().await;
    let shared = text(&api, "manual", "Shared").await;
    let body = manual(&api, json!({ "descriptionId": shared })).await;
    write(&api, &shared, "fr", &"x".repeat(5000)).await.data();
    write(&api, &shared, "fr", "Partagé").await.data();
    let title = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Other", "titleId": shared }),
        )
        .await
        .data();
    assert_eq!(
        write(&api, &shared, "fr", &"x".repeat(201)).await.issues(),
        ["text"]
    );
    let other = text(&api, "manual", "Other").await;
    api.patch(
        &format!("/portal-manuals/{}", title["id"].as_str().unwrap()),
        json!({ "data": { "titleId": other } }),
    )
    .await
    .data();
    write(&api, &shared, "fr", &"x".repeat(5000)).await.data();
    api.patch(
        &format!("/portal-manuals/{}", body["id"].as_str().unwrap()),
        json!({ "data": { "descriptionId": null } }),
    )
    .await
    .data();
    write(&api, &shared, "fr", &"x".repeat(6000)).await.data();
}

on_both!(an_english_category_title_stays_unique);
async fn an_english_category_title_stays_unique(app: App) {
    let api = app.org().await.key().await;
    let (arrival, street) = (
        category(&api, "Arrival").await,
        category(&api, "Straße").await,
    );
    for taken in ["Arrival", " aRRIVAL ", "arrival"] {
        assert_eq!(
            write(&api, &street["titleId"], "en", taken)
                .await
                .error(409)["code"],
            "CONFLICT",
            "{taken}"
        );
    }
    assert_eq!(
        read_category(&api, &street).await,
        street,
        "nothing is saved"
    );
    // Two categories cannot have the same English title. This rule applies to entries in English of
    // any region, such as `en-GB`.
    assert_eq!(
        write(&api, &street["titleId"], "en-GB", "Arrival")
            .await
            .error(409)["code"],
        "CONFLICT"
    );
    assert_eq!(
        write(&api, &street["titleId"], "en", " STRASSE ")
            .await
            .data()["text"],
        "STRASSE",
        "no other has it"
    );
    let renamed = read_category(&api, &street).await;
    assert_eq!(renamed["title"], "STRASSE");
    assert!(
        renamed["updatedAt"].as_str() > street["updatedAt"].as_str(),
        "it is a change of the category"
    );
    api.post("/portal-manual-categories", json!({ "title": "straße" }))
        .await
        .error(409);
    for category in [&arrival, &street] {
        write(&api, &category["titleId"], "fr", "Arrivée")
            .await
            .data();
    }
    assert_eq!(
        read_category(&api, &street).await,
        renamed,
        "another language is none"
    );
}

// Tests of the resources that change together with a text, and of the permissions for that change.
on_both!(changing_the_english_text_of_a_portal_changes_the_portal);
async fn changing_the_english_text_of_a_portal_changes_the_portal(app: App) {
    let org = app.org().await;
    let (api, weak) = (
        org.key().await,
        org.key_without(Permission::ManageOrganization).await,
    );
    let portal = api
        .post(
            "/portals",
            json!({ "name": "Casa", "specialOfferTitle": "Late check-out" }),
        )
        .await
        .data();
    let title = &portal["specialOfferTitleId"];
    for english in ["en", "en-GB", "EN-us"] {
        write(&weak, title, english, "Free wine").await.error(403);
    }
    assert_eq!(
        texts(&api, title).await,
        json!([["en", "Late check-out", false]]),
        "nothing is saved"
    );
    write(&weak, title, "en", " Late check-out ").await.data();
    write(&weak, title, "es", "Salida tardía").await.data();
    assert_eq!(
        read_portal(&api, &portal).await,
        portal,
        "what is there already is no change, and Spanish is none of the portal"
    );

    write(&api, title, "en", "Free wine").await.data();
    let changed = read_portal(&api, &portal).await;
    assert!(changed["updatedAt"].as_str() > portal["updatedAt"].as_str());
    assert_eq!(
        changed,
        with(portal.clone(), json!({ "updatedAt": changed["updatedAt"] }))
    );
    let path = format!("/portals/{}", portal["id"].as_str().unwrap());
    let stale =
        json!({ "data": { "supportNotes": "Hi" }, "expectedUpdatedAt": portal["updatedAt"] });
    api.patch(&path, stale).await.error(409);
    api.patch(
        &path,
        json!({ "data": { "supportNotes": "Hi" }, "expectedUpdatedAt": changed["updatedAt"] }),
    )
    .await
    .data();
    write(&weak, &portal["id"], "en", "x").await.error(404);
    let before = read_portal(&api, &portal).await;
    write(&api, title, "en-GB", "Free port").await.data();
    assert!(read_portal(&api, &portal).await["updatedAt"].as_str() > before["updatedAt"].as_str());
}

on_both!(changing_a_heading_changes_every_step_that_shows_it);
async fn changing_a_heading_changes_every_step_that_shows_it(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let one = create(&api, "main", json!({ "displayTitle": "Hello" })).await;
    let title = &one["displayTitleMlTextId"];
    let other = create(&api, "main", json!({ "displayTitleMlTextId": title })).await;
    let beside = create(&api, "main", json!({ "guestDescriptionMlTextId": title })).await;
    let moments = || {
        let (api, steps) = (api.clone(), [one.clone(), other.clone(), beside.clone()]);
        async move {
            let mut moments = Vec::new();
            for step in &steps {
                moments.push(
                    read(&api, step).await["updatedAt"]
                        .as_str()
                        .unwrap()
                        .to_owned(),
                );
            }
            moments
        }
    };
    let mut before = moments().await;
    for (language, version) in [("en", "Goodbye"), ("fr", "Au revoir")] {
        write(&api, title, language, version).await.data();
        let after = moments().await;
        assert!(
            after[0] > before[0] && after[1] > before[1],
            "{language}: {before:?} {after:?}"
        );
        assert_eq!(
            after[2], before[2],
            "{language}: a description is no heading"
        );
        write(&api, title, language, version).await.data();
        assert_eq!(
            moments().await,
            after,
            "{language}: the same again changes nothing"
        );
        before = after;
    }
    assert_eq!(read(&api, &one).await["displayTitle"], "Goodbye");
    let row = api.get("/precheck-steps").await.data();
    let listed = row
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"] == other["id"])
        .unwrap()["updatedAt"]
        .clone();
    assert_eq!(listed, json!(before[1]), "the list says so, too");
    // Two steps use the text. A change of the text through one of them changes `updatedAt` of both.
    change(&api, &one, json!({ "displayTitle": "Farewell" }))
        .await
        .data();
    let after = moments().await;
    assert!(
        after[0] > before[0] && after[1] > before[1] && after[2] == before[2],
        "{before:?} {after:?}"
    );
    api.patch(
        &path(&other),
        json!({ "data": { "nickname": "N" }, "expectedUpdatedAt": before[1] }),
    )
    .await
    .error(409);
    assert_eq!(read(&api, &other).await["displayTitle"], "Farewell");
}

on_both!(writing_a_text_needs_the_permission_of_its_object);
async fn writing_a_text_needs_the_permission_of_its_object(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let step = create(&api, "main", json!({ "displayTitle": "Title" })).await;
    let manual = manual(&api, json!({})).await;
    let category = category(&api, "Heading").await;
    let portal = api
        .post(
            "/portals",
            json!({ "name": "Casa", "specialOfferTitle": "T" }),
        )
        .await
        .data();
    let branding = api
        .post(
            "/portal-brandings",
            json!({ "name": "Casa", "calloutMessage": "Hello" }),
        )
        .await
        .data();
    let unused = text(&api, "manual", "Unused").await;
    let (no_guides, no_properties) = (
        org.key_without(Permission::ModifyGuides).await,
        org.key_without(Permission::ModifyProperties).await,
    );
    for (text, guides, properties) in [
        (&step["displayTitleMlTextId"], 200, 403),
        (&manual["titleId"], 403, 200),
        (&category["titleId"], 403, 200),
        (&portal["specialOfferTitleId"], 200, 403),
        (&branding["calloutMessageId"], 200, 403),
        (&unused, 200, 200),
    ] {
        for language in ["en", "fr"] {
            for (key, who, expected) in [
                (&no_guides, "one", guides),
                (&no_properties, "another", properties),
            ] {
                let response = write(key, text, language, &format!("By {who} in {language}")).await;
                assert_eq!(
                    response.status, expected,
                    "{text} {language} {}",
                    response.body
                );
            }
        }
    }
}

// Tests of the texts that a caller with access to only some properties may read and write.
on_both!(a_limited_caller_writes_texts_of_their_objects_only);
async fn a_limited_caller_writes_texts_of_their_objects_only(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (across, empty) = (org.tag().await, org.tag().await);
    let (mine, theirs) = (
        org.property(None, &[across]).await,
        org.property(None, &[across]).await,
    );
    // No portal is assigned directly to these two properties. Each therefore gets the portal
    // that is assigned to its tag.
    let (beside, _) = (
        org.property(None, &[across]).await,
        org.property(None, &[across]).await,
    );
    let limited = org.limited(&[mine, beside]).await;
    let places = [
        json!({ "propertyIds": [mine] }),
        json!({ "propertyIds": [theirs] }),
        json!({ "tagIds": [across] }),
        json!({ "tagIds": [empty] }),
        json!({}),
    ];
    let [own, foreign, shared, nobodys, loose] = [0, 1, 2, 3, 4];
    // Each row has a resource, its assignment, its text, and the expected status of a read and
    // of a write of the text.
    let mut table = Vec::new();
    for (place, reads, writes) in [
        (own, 200, 200),
        (foreign, 404, 404),
        (shared, 200, 200),
        (nobodys, 404, 404),
        (loose, 200, 200),
    ] {
        let step = create(&api, "main", json!({ "displayTitle": "Title" })).await;
        assign(&api, "precheck_step", &step, places[place].clone()).await;
        table.push((
            "step",
            place,
            step["displayTitleMlTextId"].clone(),
            reads,
            writes,
        ));
    }
    for (place, reads, writes) in [
        (own, 200, 200),
        (foreign, 404, 404),
        (shared, 200, 404),
        (nobodys, 404, 404),
        (loose, 200, 200),
    ] {
        let filed = category(&api, &format!("Heading {place}")).await;
        let manual = manual(&api, json!({ "manualCategoryId": filed["id"] })).await;
        assign(&api, "manual", &manual, places[place].clone()).await;
        table.push(("manual", place, manual["titleId"].clone(), reads, writes));
        // Every caller can read the title of a category. A caller who may rename the category
        // may write its title.
        let renames = if [foreign, shared].contains(&place) {
            404
        } else {
            200
        };
        table.push(("category", place, filed["titleId"].clone(), 200, renames));
    }
    for (place, reads, writes) in [
        (own, 200, 200),
        (foreign, 404, 404),
        (shared, 200, 404),
        (loose, 200, 200),
    ] {
        let portal = api
            .post(
                "/portals",
                json!({ "name": format!("Portal {place}"), "specialOfferTitle": "T" }),
            )
            .await
            .data();
        assign(&api, "portal_settings", &portal, places[place].clone()).await;
        table.push((
            "portal",
            place,
            portal["specialOfferTitleId"].clone(),
            reads,
            writes,
        ));
    }
    let branding = api
        .post(
            "/portal-brandings",
            json!({ "name": "Casa", "calloutMessage": "Hello" }),
        )
        .await
        .data();
    table.push((
        "branding",
        loose,
        branding["calloutMessageId"].clone(),
        200,
        200,
    ));
    table.push((
        "unused",
        loose,
        text(&api, "manual", "Unused").await,
        200,
        200,
    ));
    for (what, place, text, reads, writes) in table {
        let before = texts(&api, &text).await;
        assert_eq!(
            versions(&limited, &text).await.status,
            reads,
            "{what} {place}"
        );
        for language in ["en", "fr"] {
            let response = write(
                &limited,
                &text,
                language,
                &format!("{what} {place} {language}"),
            )
            .await;
            assert_eq!(
                response.status, writes,
                "{what} {place} {language}: {}",
                response.body
            );
        }
        assert_eq!(
            texts(&api, &text).await == before,
            writes == 404,
            "{what} {place}"
        );
    }
}

on_both!(a_text_shared_with_others_is_read_only_for_limited_callers);
async fn a_text_shared_with_others_is_read_only_for_limited_callers(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let limited = org.limited(&[mine]).await;
    let shared = text(&api, "precheck_step_detail", "Shared").await;
    let (own, foreign) = (
        create(&api, "main", json!({ "displayTitleMlTextId": shared })).await,
        create(&api, "main", json!({ "displayTitleMlTextId": shared })).await,
    );
    assign(
        &api,
        "precheck_step",
        &own,
        json!({ "propertyIds": [mine] }),
    )
    .await;
    assign(
        &api,
        "precheck_step",
        &foreign,
        json!({ "propertyIds": [theirs] }),
    )
    .await;
    versions(&limited, &shared).await.data();
    write(&limited, &shared, "en", "Mine").await.error(403);
    write(&limited, &shared, "fr", "Mien").await.error(403);
    let stale = json!({
        "data": { "displayTitle": "Mine" },
        "expectedUpdatedAt": "2020-01-01T00:00:00.000Z",
    });
    limited.patch(&path(&own), stale).await.error(403);
    change(
        &limited,
        &own,
        json!({ "displayTitle": "Mine", "nickname": "Mine" }),
    )
    .await
    .error(403);
    assert_eq!(texts(&api, &shared).await, json!([["en", "Shared", false]]));
    assert_eq!(
        read(&api, &own).await["nickname"],
        "main",
        "nothing is saved"
    );
    // The limited caller may send the text that the step already shows, because that changes
    // nothing. The caller may also link a new text to the step in place of the text that other
    // resources share.
    change(
        &limited,
        &own,
        json!({ "displayTitle": "Shared", "nickname": "Mine" }),
    )
    .await
    .data();
    write(&limited, &shared, "en", "Shared").await.data();
    change(&limited, &own, json!({ "displayTitle": null }))
        .await
        .data();
    change(&limited, &own, json!({ "displayTitle": "Mine" }))
        .await
        .data();
    versions(&limited, &shared).await.error(404);
    write(&limited, &shared, "en", "Mine").await.error(404);
}

on_both!(a_text_used_only_by_others_cannot_be_linked);
async fn a_text_used_only_by_others_cannot_be_linked(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let limited = org.limited(&[mine]).await;
    let (title, question, name) = (
        text(&api, "precheck_step_detail", "T").await,
        text(&api, "precheck_question", "Q").await,
        text(&api, "precheck_question", "N").await,
    );
    let questions = |text: &Value, name: &Value| {
        json!([
            {
                "kind": "single_select",
                "textMlTextId": text,
                "options": [{ "nameMlTextId": name }],
            },
        ])
    };
    let foreign = create(
        &api,
        "additional_questions",
        json!({ "displayTitleMlTextId": title, "questions": questions(&question, &name) }),
    )
    .await;
    assign(
        &api,
        "precheck_step",
        &foreign,
        json!({ "propertyIds": [theirs] }),
    )
    .await;
    let foreign_manual = manual(&api, json!({ "propertyId": theirs, "description": "Body" })).await;
    let free = text(&api, "precheck_question", "Free").await;
    let step = create(&limited, "additional_questions", json!({})).await;
    let own_manual = manual(&limited, json!({ "propertyId": mine })).await;
    for fields in [
        json!({ "displayTitleMlTextId": title }),
        json!({ "guestDescriptionMlTextId": title }),
        json!({ "questions": questions(&question, &free) }),
        json!({ "questions": questions(&free, &name) }),
    ] {
        try_create(&limited, "additional_questions", fields.clone())
            .await
            .error(404);
        change(&limited, &step, fields).await.error(404);
    }
    for fields in [
        json!({ "titleId": foreign_manual["titleId"] }),
        json!({ "descriptionId": foreign_manual["descriptionId"] }),
    ] {
        limited
            .post(
                "/portal-manuals",
                with(
                    json!({ "nickname": "N", "titleId": own_manual["titleId"] }),
                    fields.clone(),
                ),
            )
            .await
            .error(404);
        let path = format!("/portal-manuals/{}", own_manual["id"].as_str().unwrap());
        limited
            .patch(&path, json!({ "data": fields }))
            .await
            .error(404);
    }
    change(
        &limited,
        &step,
        json!({ "questions": questions(&free, &free) }),
    )
    .await
    .data();
    // If a step already links the text, the caller may send that link again, even if other
    // resources use the text too.
    let kept = create(&api, "main", json!({ "displayTitleMlTextId": title })).await;
    assign(
        &api,
        "precheck_step",
        &kept,
        json!({ "propertyIds": [mine] }),
    )
    .await;
    change(
        &limited,
        &kept,
        json!({ "displayTitleMlTextId": title, "nickname": "Kept" }),
    )
    .await
    .data();
    versions(&limited, &title).await.data();
}

on_both!(each_link_to_a_text_is_recorded_once_per_field);
async fn each_link_to_a_text_is_recorded_once_per_field(app: App) {
    let api = app.org().await.key().await;
    let (title, question) = (
        text(&api, "precheck_step_detail", "T").await,
        text(&api, "precheck_question", "Q").await,
    );
    let questions = json!([
        { "kind": "yes_no", "textMlTextId": question },
        {
            "kind": "multi_select",
            "textMlTextId": question,
            "options": [{ "nameMlTextId": question }, { "nameMlTextId": question }],
        },
    ]);
    let fields = json!({
        "displayTitleMlTextId": title,
        "securityDepositSubtitleMlTextId": title,
        "esignBHeadingMlTextId": title,
        "questions": questions,
    });
    create(
        &api,
        "additional_questions",
        with(fields, json!({ "guestDescriptionMlTextId": title })),
    )
    .await;
    create(&api, "main", json!({})).await;
    manual(&api, json!({ "description": "Body" })).await;
    category(&api, "Heading").await;
    api.post(
        "/portals",
        json!({ "name": "Casa", "specialOfferTitle": "T", "precheckinPromptMessage": "P" }),
    )
    .await
    .data();
    api.post("/portals", json!({ "name": "Bare" })).await.data();
    api.post(
        "/portal-brandings",
        json!({ "name": "Casa", "calloutMessage": "Hello" }),
    )
    .await
    .data();
    assert_eq!(recorded_uses(&app).await.len(), 6 + 2 + 1 + 2 + 1);
}

static NOTED: store::Statement = store::Statement::new(
    "select translation_id, thing_id, field from translation_use order by 1, 2, 3",
);

async fn recorded_uses(app: &App) -> Vec<(uuid::Uuid, uuid::Uuid, String)> {
    let rows = app
        .server
        .service
        .store
        .read(|tx| tx.rows(&NOTED, &[]))
        .await
        .unwrap();
    rows.iter()
        .map(|row| {
            (
                row.get(0).unwrap(),
                row.get(1).unwrap(),
                row.get(2).unwrap(),
            )
        })
        .collect()
}
