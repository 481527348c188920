//! Tests of manual categories over HTTP (rules: categories).

use std::time::Duration;

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use test_support::house::{id, with};
use test_support::{Api, ApiResponse, App, new_id, on_both};

use crate::manuals::{change, create as create_manual, row, scope, texts};
use crate::translator::TranslationProvider;

const NOW: &str = "2026-11-21T09:30:00.000Z";

async fn create(api: &Api, title: &str) -> Value {
    api.post("/portal-manual-categories", json!({ "title": title }))
        .await
        .data()
}

fn path(category: &Value) -> String {
    format!("/portal-manual-categories/{}", id(&category["id"]))
}

async fn rename(api: &Api, category: &Value, title: &str) -> ApiResponse {
    api.patch(&path(category), json!({ "title": title })).await
}

async fn delete(api: &Api, category: &Value) -> ApiResponse {
    api.send(Method::DELETE, &path(category), None).await
}

async fn reorder(api: &Api, categories: &[&Value]) -> ApiResponse {
    let ids: Vec<_> = categories.iter().map(|category| &category["id"]).collect();
    api.post(
        "/portal-manual-categories/reorder",
        json!({ "orderedIds": ids }),
    )
    .await
}

async fn list(api: &Api) -> Value {
    api.get("/portal-manual-categories").await.data()
}

/// Returns the title and position of each category in the list. `query` selects the language.
async fn titles(api: &Api, query: &str) -> String {
    let rows = api
        .get(&format!("/portal-manual-categories{query}"))
        .await
        .data();
    let title = |row: &Value| {
        format!(
            "{}:{}",
            row["title"].as_str().unwrap_or("-"),
            row["sortOrder"]
        )
    };
    rows.as_array()
        .unwrap()
        .iter()
        .map(title)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the title and position of each category, sorted by title. The list of categories may
/// return categories of equal position in any order.
async fn numbered(api: &Api) -> Vec<String> {
    let rows = list(api).await;
    let numbers: Vec<i64> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["sortOrder"].as_i64().unwrap())
        .collect();
    assert!(numbers.is_sorted(), "{rows}");
    let mut numbered: Vec<String> = titles(api, "")
        .await
        .split(' ')
        .map(str::to_owned)
        .collect();
    numbered.sort();
    numbered
}

// Tests of the titles of categories.
on_both!(a_new_category_comes_last);
async fn a_new_category_comes_last(app: App) {
    let api = app.org().await.key().await;
    let response = api
        .post(
            "/portal-manual-categories",
            json!({ "title": "  Getting in\u{a0}" }),
        )
        .await;
    let created = response.data();
    assert_eq!(response.status, 201);
    assert_eq!(id(&created["id"]).get_version_num(), 7);
    assert_eq!(
        created,
        json!({
            "id": created["id"],
            "title": "Getting in",
            "titleId": created["titleId"],
            "sortOrder": 0,
            "createdAt": NOW,
            "updatedAt": NOW,
        })
    );
    assert_eq!(
        texts(&api, &created["titleId"]).await,
        json!([["en", "Getting in", false]])
    );
    assert_eq!(create(&api, "Away").await["sortOrder"], 1);
    assert_eq!(titles(&api, "").await, "Getting in:0 Away:1");
    let listed = api.get("/portal-manual-categories").await;
    assert_eq!(
        (&listed.data()[0], listed.body["meta"].get("pagination")),
        (&created, None)
    );

    let longest = "\u{1F3E0}".repeat(200);
    assert_eq!(
        create(&api, &format!(" {longest} ")).await["title"],
        longest
    );
    for (body, fields) in [
        (json!({}), vec!["title"]),
        (json!({ "title": null }), vec!["title"]),
        (json!({ "title": " \u{a0}" }), vec!["title"]),
        (json!({ "title": "" }), vec!["title"]),
        (json!({ "title": "x".repeat(201) }), vec!["title"]),
        (json!({ "title": 7 }), vec!["title"]),
        (
            json!({ "title": "T", "titleId": new_id(), "sortOrder": 0, "tite": 1 }),
            vec!["sortOrder", "tite", "titleId"],
        ),
        (json!({ "data": { "title": "T" } }), vec!["data", "title"]),
    ] {
        assert_eq!(
            api.post("/portal-manual-categories", body.clone())
                .await
                .issues(),
            fields,
            "{body}"
        );
        assert_eq!(
            api.patch(&path(&created), body.clone()).await.issues(),
            fields,
            "{body}"
        );
    }
    let read_only = api
        .patch(
            &path(&created),
            json!({ "title": "T", "titleId": new_id() }),
        )
        .await;
    assert_eq!(
        read_only.error(400)["details"]["issues"][0]["message"],
        "read-only field"
    );
}

on_both!(category_titles_are_unique_regardless_of_case_and_spaces);
async fn category_titles_are_unique_regardless_of_case_and_spaces(app: App) {
    let api = app.org().await.key().await;
    let (arrival, street) = (create(&api, "Arrival").await, create(&api, "Straße").await);
    create(&app.org().await.key().await, "Wi-Fi").await;
    for taken in ["Arrival", "  aRRIVAL ", "STRASSE", "straße"] {
        let error = api
            .post("/portal-manual-categories", json!({ "title": taken }))
            .await
            .error(409);
        assert_eq!(error["code"], "CONFLICT", "{taken}");
    }
    rename(&api, &arrival, "STRASSE ").await.error(409);
    assert_eq!(
        rename(&api, &street, "STRASSE").await.data()["title"],
        "STRASSE",
        "no other has it"
    );
    create(&api, "Arrival 2").await;
    create(&api, "Wi-Fi").await;
    delete(&api, &arrival).await.data();
    create(&api, "arrival").await;
    assert_eq!(
        titles(&api, "").await,
        "STRASSE:1 Arrival 2:2 Wi-Fi:3 arrival:4"
    );
}

on_both!(category_titles_are_read_in_the_requested_language);
async fn category_titles_are_read_in_the_requested_language(app: App) {
    let api = app.org().await.key().await;
    let (arrival, away) = (create(&api, "Arrival").await, create(&api, "Away").await);
    for (category, language, text) in [
        (&arrival, "fr", "Arrivée"),
        (&arrival, "pt", "Chegada"),
        (&arrival, "pt-BR", "Chegando"),
        (&away, "pt", "Fora"),
    ] {
        let entry = format!(
            "/translations/{}/entries/{language}",
            id(&category["titleId"])
        );
        api.ok(Method::PUT, &entry, Some(json!({ "text": text })))
            .await;
    }
    for (query, expected) in [
        ("", "Arrival:0 Away:1"),
        ("?language=en", "Arrival:0 Away:1"),
        ("?language=fr", "Arrivée:0 Away:1"),
        ("?language=fr-CA", "Arrivée:0 Away:1"),
        ("?language=pt-BR", "Chegando:0 Fora:1"),
        ("?language=pt", "Chegada:0 Fora:1"),
        ("?language=de", "Arrival:0 Away:1"),
    ] {
        assert_eq!(titles(&api, query).await, expected, "{query}");
    }
    for query in ["?language=!", "?language=", "?language=fr&language=en"] {
        assert_eq!(
            api.get(&format!("/portal-manual-categories{query}"))
                .await
                .issues(),
            ["language"],
            "{query}"
        );
    }
}

on_both!(a_renamed_category_keeps_its_manuals);
async fn a_renamed_category_keeps_its_manuals(app: App) {
    let api = app.org().await.key().await;
    let category = create(&api, "Arrival").await;
    let manual = create_manual(&api, "N", json!({ "manualCategoryId": category["id"] })).await;
    assert_eq!(
        rename(&api, &category, " Arrival ").await.data(),
        category,
        "no change"
    );
    let renamed = rename(&api, &category, " Getting in ").await;
    let expected = with(
        category.clone(),
        json!({ "title": "Getting in", "updatedAt": "2026-11-21T09:30:00.001Z" }),
    );
    assert_eq!((renamed.status, renamed.data()), (200, expected.clone()));
    assert_eq!(list(&api).await, json!([expected]));
    assert_eq!(
        row(&api, &manual).await,
        with(manual, json!({ "imageUrl": null })),
        "manuals stay filed"
    );
    rename(&api, &json!({ "id": new_id() }), "T")
        .await
        .error(404);
    rename(&app.org().await.key().await, &category, "T")
        .await
        .error(404);
    api.patch(
        "/portal-manual-categories/nonsense",
        json!({ "title": "T" }),
    )
    .await
    .error(404);
}

on_both!(machine_translations_follow_the_english_title);
async fn machine_translations_follow_the_english_title(app: App) {
    let provider = TranslationProvider::start().await;
    let translator = provider.translator(&app, None);
    let api = app.org().await.key().await;
    let category = create(&api, "Arrival").await;
    let title = &category["titleId"];
    assert_eq!(translator.step().await, 2);
    assert_eq!(
        texts(&api, title).await,
        json!([
            ["en", "Arrival", false],
            ["es", "[es] Arrival", true],
            ["fr", "[fr] Arrival", true]
        ])
    );
    rename(&api, &category, "Getting in").await.data();
    assert_eq!(translator.step().await, 2);
    let renewed = json!([
        ["en", "Getting in", false],
        ["es", "[es] Getting in", true],
        ["fr", "[fr] Getting in", true]
    ]);
    assert_eq!(texts(&api, title).await, renewed);
    assert_eq!(titles(&api, "?language=es").await, "[es] Getting in:0");
    // The Spanish entry was edited by hand, so a rename changes only the English entry.
    let entry = format!("/translations/{}/entries/es", id(title));
    api.ok(Method::PUT, &entry, Some(json!({ "text": "Llegada" })))
        .await;
    let renamed = rename(&api, &category, "Arriving").await.data();
    assert_eq!((&renamed["titleId"], translator.step().await), (title, 0));
    assert_eq!(
        texts(&api, title).await,
        json!([
            ["en", "Arriving", false],
            ["es", "Llegada", false],
            ["fr", "[fr] Getting in", true]
        ])
    );
}

// Tests of the order and the deletion of categories.
on_both!(categories_are_reordered);
async fn categories_are_reordered(app: App) {
    let api = app.org().await.key().await;
    let (a, b, c, d) = (
        create(&api, "a").await,
        create(&api, "b").await,
        create(&api, "c").await,
        create(&api, "d").await,
    );
    let response = reorder(&api, &[&c, &a, &d, &b]).await;
    assert_eq!(
        (response.status, response.data()),
        (200, json!({ "reordered": 4 }))
    );
    assert_eq!(titles(&api, "").await, "c:0 a:1 d:2 b:3");
    let before = list(&api).await;
    assert_eq!(
        reorder(&api, &[&c, &a]).await.data(),
        json!({ "reordered": 2 })
    );
    assert_eq!(list(&api).await, before, "where they were is no change");
    // A category that the request does not name keeps its old position. Another category may
    // then have the same position.
    assert_eq!(
        reorder(&api, &[&b, &d]).await.data(),
        json!({ "reordered": 2 })
    );
    assert_eq!(numbered(&api).await, ["a:1", "b:0", "c:0", "d:1"]);
    create(&api, "e").await;
    assert!(
        titles(&api, "")
            .await
            .split(' ')
            .next_back()
            .unwrap()
            .starts_with("e:")
    );
    assert_eq!(reorder(&api, &[&d]).await.data(), json!({ "reordered": 1 }));
    assert_eq!(numbered(&api).await[..4], ["a:1", "b:0", "c:0", "d:0"]);
}

on_both!(a_wrong_id_refuses_the_whole_reordering);
async fn a_wrong_id_refuses_the_whole_reordering(app: App) {
    let api = app.org().await.key().await;
    let (a, b) = (create(&api, "a").await, create(&api, "b").await);
    let elsewhere = create(&app.org().await.key().await, "c").await;
    let before = list(&api).await;
    for unknown in [elsewhere, json!({ "id": new_id() })] {
        reorder(&api, &[&b, &a, &unknown]).await.error(404);
    }
    let many = (0..201)
        .map(|_| json!({ "id": new_id() }))
        .collect::<Vec<_>>();
    for categories in [vec![&b, &a, &b], vec![], many.iter().collect()] {
        let issues = reorder(&api, &categories).await.issues();
        assert!(
            !issues.is_empty() && issues.iter().all(|field| field.starts_with("orderedIds")),
            "{issues:?}"
        );
    }
    for (body, field) in [
        (json!({}), "orderedIds"),
        (json!({ "orderedIds": null }), "orderedIds"),
        (json!({ "orderedIds": ["x"] }), "orderedIds.0"),
        (json!({ "orderedIds": [a["id"]], "data": {} }), "data"),
    ] {
        assert_eq!(
            api.post("/portal-manual-categories/reorder", body)
                .await
                .issues(),
            [field]
        );
    }
    assert_eq!(list(&api).await, before);
}

on_both!(a_category_is_deleted_with_its_translations);
async fn a_category_is_deleted_with_its_translations(app: App) {
    let api = app.org().await.key().await;
    let (arrival, away) = (create(&api, "Arrival").await, create(&api, "Away").await);
    let manual = create_manual(
        &api,
        "N",
        json!({ "manualCategoryId": arrival["id"], "isActive": false }),
    )
    .await;
    delete(&app.org().await.key().await, &arrival)
        .await
        .error(404);
    assert_eq!(delete(&api, &arrival).await.error(409)["code"], "CONFLICT");
    change(&api, &manual, json!({ "manualCategoryId": away["id"] }))
        .await
        .data();
    let response = delete(&api, &arrival).await;
    assert_eq!(
        (response.status, response.data()),
        (200, json!({ "success": true }))
    );
    api.get(&format!(
        "/translations/{}/entries",
        id(&arrival["titleId"])
    ))
    .await
    .error(404);
    assert_eq!(titles(&api, "").await, "Away:1");
    delete(&api, &arrival).await.error(404);
    change(&api, &manual, json!({ "manualCategoryId": arrival["id"] }))
        .await
        .error(404);
    delete(&api, &away).await.error(409);
    change(&api, &manual, json!({ "manualCategoryId": null }))
        .await
        .data();
    delete(&api, &away).await.data();
    assert_eq!(list(&api).await, json!([]));
}

// Tests of the permissions for categories.
on_both!(writing_categories_needs_modify_guides);
async fn writing_categories_needs_modify_guides(app: App) {
    let org = app.org().await;
    let (writer, reader) = (
        org.key_with(&[Permission::ModifyGuides]).await,
        org.key_with(&[Permission::ViewGuides]).await,
    );
    let (one, other) = (
        create(&writer, "Arrival").await,
        create(&writer, "Away").await,
    );
    assert_eq!(titles(&reader, "").await, "Arrival:0 Away:1");
    let refused = [
        writer.get("/portal-manual-categories").await,
        reader
            .post("/portal-manual-categories", json!({ "title": "T" }))
            .await,
        rename(&reader, &one, "T").await,
        reorder(&reader, &[&other, &one]).await,
        delete(&reader, &one).await,
    ];
    for answer in refused {
        let error = answer.error(403);
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .starts_with("Missing permission"),
            "{error}"
        );
    }
    reorder(&writer, &[&other, &one]).await.data();
    rename(&writer, &one, "Getting in").await.data();
    delete(&writer, &other).await.data();
    assert_eq!(titles(&reader, "").await, "Getting in:1");
}

on_both!(a_limited_caller_cannot_change_categories_of_others);
async fn a_limited_caller_cannot_change_categories_of_others(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (across, inside) = (org.tag().await, org.tag().await);
    let mine = org.property(None, &[across, inside]).await;
    let theirs = org.property(None, &[across]).await;
    let limited = org.limited(&[mine]).await;
    let mut categories = Vec::new();
    for (title, targets, is_writable) in [
        ("unused", None, true),
        ("nowhere", Some(json!({})), true),
        ("own", Some(json!({ "propertyIds": [mine] })), true),
        ("tag", Some(json!({ "tagIds": [inside] })), true),
        ("across", Some(json!({ "tagIds": [across] })), false),
        (
            "both",
            Some(json!({ "propertyIds": [mine, theirs] })),
            false,
        ),
        ("theirs", Some(json!({ "propertyIds": [theirs] })), false),
    ] {
        app.clock.advance(Duration::from_millis(5));
        let category = create(&limited, title).await;
        if let Some(targets) = targets {
            let manual =
                create_manual(&api, title, json!({ "manualCategoryId": category["id"] })).await;
            scope(&api, "/add", &manual, targets).await.data();
        }
        categories.push((category, is_writable));
    }
    assert_eq!(list(&limited).await, list(&api).await);
    for (category, is_writable) in &categories {
        let title = format!("{} still", category["title"].as_str().unwrap());
        let before = list(&api).await;
        let statuses = (
            rename(&limited, category, &title).await.status,
            reorder(&limited, &[&categories[0].0, category])
                .await
                .status,
        );
        // `reorder` sends the first category and the category of this round. In the first round
        // both are the same category, and the service refuses a repeated id of any caller with 400.
        let reordered = if categories[0].0 == *category {
            400
        } else {
            200
        };
        assert_eq!(
            statuses,
            if *is_writable {
                (200, reordered)
            } else {
                (403, 403)
            },
            "{category}"
        );
        assert_eq!(list(&api).await == before, !is_writable, "{category}");
    }
    let (unused, theirs) = (&categories[0].0, &categories[categories.len() - 1].0);
    // The order of checks: a missing category (404), a category without access (403), a title
    // in use (409).
    reorder(&limited, &[theirs, &json!({ "id": new_id() })])
        .await
        .error(404);
    rename(&limited, &json!({ "id": new_id() }), "T")
        .await
        .error(404);
    rename(&limited, theirs, "unused still").await.error(403);
    assert_eq!(
        rename(&limited, unused, "own still").await.error(409)["code"],
        "CONFLICT"
    );
    delete(&limited, theirs).await.error(409);
    delete(&limited, unused).await.data();
    rename(&api, theirs, "others").await.data();
    reorder(&api, &[theirs]).await.data();
}
