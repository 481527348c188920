//! Tests of the lists of manuals, of the assignments of manuals, and of the callers who may see and
//! change a manual and its assignments (rules: manuals#order; assignments#entity-scopes;
//! access#limited-callers).

use std::time::Duration;

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use test_support::house::{id, with};
use test_support::{Api, App, Org, new_id, on_both};
use uuid::Uuid;

use crate::manuals::{change, create, four, listed, nicknames, row, scope, scopes, try_create};
use crate::precheck::translation;

/// Creates a manual with this nickname and assigns it to `targets`. The manual is newer than all
/// manuals before it.
async fn assigned(app: &App, api: &Api, nickname: &str, targets: Value) -> Value {
    app.clock.advance(Duration::from_millis(5));
    let manual = create(api, nickname, json!({})).await;
    scope(api, "/add", &manual, targets).await.data();
    manual
}

async fn listed_of(api: &Api, property: Uuid) -> String {
    nicknames(
        &api.get(&format!("/properties/{property}/portal-manuals"))
            .await
            .data(),
    )
    .join(" ")
}

/// Two properties with tags, and a manual for each way to assign a manual to them. The caller
/// `limited` can access the property `mine`, but not the property `theirs`.
struct Neighbours {
    mine: Uuid,
    theirs: Uuid,
    group: Uuid,
    inside: Uuid,
    across: Uuid,
    empty: Uuid,
    limited: Api,
    manuals: Vec<(&'static str, Value)>,
}

impl Neighbours {
    async fn build(app: &App, org: &Org<'_>, api: &Api) -> Self {
        let group = org.group().await;
        let (inside, across, empty) = (org.tag().await, org.tag().await, org.tag().await);
        let mine = org.property(Some(group), &[inside, across]).await;
        let theirs = org.property(None, &[across]).await;
        let mut manuals = Vec::new();
        for (nickname, targets) in [
            ("a_own", json!({ "propertyIds": [mine] })),
            ("b_group", json!({ "propertyGroupIds": [group] })),
            (
                "c_tag",
                json!({ "tagIds": [inside], "propertyIds": [mine] }),
            ),
            ("d_nowhere", json!({})),
            ("e_across", json!({ "tagIds": [across] })),
            ("f_both", json!({ "propertyIds": [mine, theirs] })),
            (
                "g_empty",
                json!({ "propertyIds": [mine], "tagIds": [empty] }),
            ),
            ("h_theirs", json!({ "propertyIds": [theirs] })),
            ("i_nobodys", json!({ "tagIds": [empty] })),
        ] {
            manuals.push((nickname, assigned(app, api, nickname, targets).await));
        }
        Self {
            mine,
            theirs,
            group,
            inside,
            across,
            empty,
            limited: org.limited(&[mine]).await,
            manuals,
        }
    }

    fn manual(&self, nickname: &str) -> &Value {
        &self
            .manuals
            .iter()
            .find(|(name, _)| *name == nickname)
            .unwrap()
            .1
    }
}

// Tests of the lists of manuals.
on_both!(manuals_are_listed_by_nickname_regardless_of_case);
async fn manuals_are_listed_by_nickname_regardless_of_case(app: App) {
    let api = app.org().await.key().await;
    for nickname in ["banana", "Apple", "STRASSE", "apple", "straße", "Cherry"] {
        assigned(&app, &api, nickname, json!({})).await;
    }
    assert_eq!(
        listed(&api, "").await,
        "Apple apple banana Cherry STRASSE straße"
    );
}

on_both!(a_search_matches_part_of_the_nickname);
async fn a_search_matches_part_of_the_nickname(app: App) {
    let api = app.org().await.key().await;
    for nickname in ["Wi-Fi", "CAFÉ", "café_2", "100%", "Heating"] {
        let manual = create(
            &api,
            nickname,
            json!({ "title": "Zebra", "internalDescription": "Zebra" }),
        )
        .await;
        assert_eq!(manual["nickname"], nickname);
    }
    for (search, expected) in [
        ("wi-FI", "Wi-Fi"),
        ("afé", "CAFÉ café_2"),
        ("AFÉ", "CAFÉ café_2"),
        ("%25", "100%"),
        ("_", "café_2"),
        ("zebra", ""),
        ("EATIN", "Heating"),
        ("nothing", ""),
        ("x".repeat(200).as_str(), ""),
    ] {
        assert_eq!(
            listed(&api, &format!("search={search}")).await,
            expected,
            "{search}"
        );
    }
    for query in [
        format!("search={}", "x".repeat(201)),
        "search=".into(),
        "search=a&search=b".into(),
    ] {
        assert_eq!(
            api.get(&format!("/portal-manuals?{query}")).await.issues(),
            ["search"],
            "{query}"
        );
    }
}

on_both!(spaces_are_part_of_the_search_text);
async fn spaces_are_part_of_the_search_text(app: App) {
    let api = app.org().await.key().await;
    for nickname in ["wi-fi", "wi fi"] {
        create(&api, nickname, json!({})).await;
    }
    assert_eq!(listed(&api, "search=%20fi").await, "wi fi");
}

on_both!(the_list_is_filtered_by_assignments);
async fn the_list_is_filtered_by_assignments(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, tag) = (org.group().await, org.tag().await);
    let flat = org.property(Some(group), &[tag]).await;
    for (nickname, targets) in [
        ("none", json!({})),
        ("tag", json!({ "tagIds": [tag] })),
        ("group", json!({ "propertyGroupIds": [group] })),
        ("direct", json!({ "propertyIds": [flat] })),
        ("both", json!({ "propertyIds": [flat], "tagIds": [tag] })),
    ] {
        assigned(&app, &api, nickname, targets).await;
    }
    let unknown = new_id();
    for (query, expected) in [
        (String::new(), "both direct group none tag"),
        (format!("propertyIds={flat}"), "both direct"),
        (
            format!("propertyIds={unknown}&propertyIds={flat}"),
            "both direct",
        ),
        (format!("propertyGroupIds={group}"), "group"),
        (format!("tagIds={tag}"), "both tag"),
        (format!("propertyIds={flat}&tagIds={tag}"), "both"),
        (format!("propertyIds={flat}&propertyGroupIds={group}"), ""),
        (format!("propertyIds={unknown}"), ""),
        (format!("propertyIds={tag}"), ""),
        (format!("tagIds={tag}&propertyGroupIds={unknown}"), ""),
        (format!("search=O&tagIds={tag}"), "both"),
        (format!("search=none&tagIds={tag}"), ""),
        (
            format!("portalSettingsIds={unknown}"),
            "both direct group none tag",
        ),
    ] {
        assert_eq!(listed(&api, &query).await, expected, "{query}");
    }
    for (query, fields) in [
        ("propertyIds=x&tagIds=", vec!["propertyIds", "tagIds"]),
        (
            format!("propertyGroupIds={group},{group}").as_str(),
            vec!["propertyGroupIds"],
        ),
    ] {
        assert_eq!(
            api.get(&format!("/portal-manuals?{query}")).await.issues(),
            fields,
            "{query}"
        );
    }
}

on_both!(a_property_lists_the_manuals_that_reach_it);
async fn a_property_lists_the_manuals_that_reach_it(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, tag, other_tag) = (org.group().await, org.tag().await, org.tag().await);
    let (flat, neighbour) = (
        org.property(Some(group), &[tag, other_tag]).await,
        org.property(None, &[]).await,
    );
    for (nickname, targets) in [
        ("z_direct", json!({ "propertyIds": [flat] })),
        ("y_tag", json!({ "tagIds": [tag] })),
        ("x_nowhere", json!({})),
        ("w_group", json!({ "propertyGroupIds": [group] })),
        ("v_elsewhere", json!({ "propertyIds": [neighbour] })),
        (
            "u_often",
            json!({ "propertyIds": [flat, neighbour], "tagIds": [tag, other_tag] }),
        ),
    ] {
        assigned(&app, &api, nickname, targets).await;
    }
    let response = api.get(&format!("/properties/{flat}/portal-manuals")).await;
    assert_eq!(response.body["meta"].get("pagination"), None);
    assert_eq!(
        nicknames(&response.data()),
        ["z_direct", "y_tag", "w_group", "u_often"],
        "by creation; the inactive ones too"
    );
    for placed in response.data().as_array().unwrap() {
        assert_eq!(
            *placed,
            with(row(&api, placed).await, json!({ "sortOrder": null }))
        );
    }
    assert_eq!(listed_of(&api, neighbour).await, "v_elsewhere u_often");
    let moved = json!({
        "name": "Flat",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "tagIds": [other_tag],
    });
    org.put_record("property", flat, moved).await;
    assert_eq!(listed_of(&api, flat).await, "z_direct u_often");

    let elsewhere = app.org().await.property(None, &[]).await;
    let limited = org.limited(&[flat]).await;
    assert_eq!(listed_of(&limited, flat).await, "z_direct u_often");
    for unknown in [elsewhere, new_id()] {
        api.get(&format!("/properties/{unknown}/portal-manuals"))
            .await
            .error(404);
        assert_eq!(listed_of(&limited, unknown).await, "");
    }
    assert_eq!(listed_of(&limited, neighbour).await, "");
    limited
        .get("/properties/nonsense/portal-manuals")
        .await
        .error(404);
}

// Tests of the assignments and references of manuals, and of deleted records.
on_both!(references_of_a_manual_must_exist);
async fn references_of_a_manual_must_exist(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let stranger = app.org().await.key().await;
    let field = org
        .record("custom_field", json!({ "name": "Door code" }))
        .await;
    let theirs = stranger
        .post("/portal-manual-categories", json!({ "title": "Arrival" }))
        .await
        .data()["id"]
        .clone();
    let base = json!({ "nickname": "N", "displayMode": "pms_variable", "customFieldId": field });
    let manual = try_create(&api, base.clone()).await.data();
    for (field, value) in [
        ("manualCategoryId", json!(new_id())),
        ("manualCategoryId", theirs),
        ("titleId", json!(new_id())),
        ("titleId", translation(&stranger, "manual").await),
        ("descriptionId", json!(new_id())),
        ("customFieldId", json!(new_id())),
    ] {
        try_create(&api, with(base.clone(), json!({ field: value })))
            .await
            .error(404);
        change(&api, &manual, json!({ "nickname": "M", field: value }))
            .await
            .error(404);
    }
    try_create(&api, with(base.clone(), json!({ "propertyId": new_id() })))
        .await
        .error(404);
    change(&api, &manual, json!({ "imageId": new_id() }))
        .await
        .error(404);
    let question = translation(&api, "precheck_question").await;
    for field in ["titleId", "descriptionId"] {
        assert_eq!(
            try_create(&api, with(base.clone(), json!({ field: question })))
                .await
                .issues(),
            [field]
        );
        assert_eq!(
            change(&api, &manual, json!({ field: question }))
                .await
                .issues(),
            [format!("data.{field}")]
        );
    }
    change(&api, &json!({ "id": new_id() }), json!({}))
        .await
        .error(404);
    change(&stranger, &manual, json!({})).await.error(404);
    api.patch("/portal-manuals/nonsense", json!({ "data": {} }))
        .await
        .error(404);
    assert_eq!(listed(&api, "").await, "N");
    assert_eq!(listed(&stranger, "").await, "");
}

on_both!(a_manual_is_assigned_to_properties_groups_and_tags_only);
async fn a_manual_is_assigned_to_properties_groups_and_tags_only(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, tag, flat) = (
        org.group().await,
        org.tag().await,
        org.property(None, &[]).await,
    );
    let portal = api.post("/portals", json!({ "name": "Casa" })).await.data()["id"].clone();
    let manual = create(&api, "N", json!({})).await;
    let all = json!({
        "propertyIds": [flat],
        "propertyGroupIds": [group],
        "tagIds": [tag],
        "portalSettingsIds": [],
    });
    for _ in 0..2 {
        assert_eq!(scope(&api, "/add", &manual, all.clone()).await.data(), all);
    }
    let unknown = json!({ "id": new_id() });
    for how in ["", "/add", "/remove"] {
        for manual in [&manual, &unknown] {
            let rejected = scope(
                &api,
                how,
                manual,
                json!({ "propertyIds": [flat], "portalSettingsIds": [portal] }),
            )
            .await;
            assert_eq!(rejected.issues(), ["portalSettingsIds"]);
        }
        scope(&api, how, &unknown, json!({ "portalSettingsIds": [] }))
            .await
            .error(404);
    }
    for (targets, how) in [
        (json!({ "propertyIds": [tag] }), ""),
        (json!({ "tagIds": [new_id()] }), "/add"),
    ] {
        scope(&api, how, &manual, targets).await.error(404);
    }
    assert_eq!(scopes(&api, &manual).await, all);
    assert_eq!(
        scope(
            &api,
            "/remove",
            &manual,
            json!({ "tagIds": [tag, new_id()] })
        )
        .await
        .data(),
        with(all, json!({ "tagIds": [] }))
    );
    assert_eq!(
        scope(&api, "", &manual, json!({ "tagIds": [tag] }))
            .await
            .data(),
        four(json!({ "tagIds": [tag] }))
    );
    change(&api, &manual, json!({ "isActive": true }))
        .await
        .data();
    change(&api, &manual, json!({ "isActive": false }))
        .await
        .data();
    assert_eq!(
        scopes(&api, &manual).await,
        four(json!({ "tagIds": [tag] })),
        "switched off, it keeps its assignments"
    );
    org.delete_record("tag", tag).await;
    assert_eq!(scopes(&api, &manual).await, four(json!({})));
}

on_both!(references_to_a_deleted_record_become_null);
async fn references_to_a_deleted_record_become_null(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let field = org
        .record("custom_field", json!({ "name": "Door code" }))
        .await;
    let image = org
        .record("image", json!({ "url": "https://a.example/1.jpg" }))
        .await;
    let manual = create(
        &api,
        "N",
        json!({ "displayMode": "pms_variable", "customFieldId": field }),
    )
    .await;
    change(&api, &manual, json!({ "imageId": image }))
        .await
        .data();
    org.delete_record("image", image).await;
    let stored = row(&api, &manual).await;
    assert_eq!(
        (
            &stored["imageId"],
            &stored["imageUrl"],
            &stored["customFieldId"]
        ),
        (&Value::Null, &Value::Null, &json!(field))
    );
    org.delete_record("custom_field", field).await;
    let stored = row(&api, &manual).await;
    assert_eq!(
        (&stored["displayMode"], &stored["customFieldId"]),
        (&json!("pms_variable"), &Value::Null)
    );
}

// Tests of the permissions for manuals.
on_both!(modify_guides_does_not_include_view_guides);
async fn modify_guides_does_not_include_view_guides(app: App) {
    let org = app.org().await;
    let flat = org.property(None, &[]).await;
    let (writer, reader) = (
        org.key_with(&[Permission::ModifyGuides]).await,
        org.key_with(&[Permission::ViewGuides]).await,
    );
    let manual = create(&writer, "N", json!({ "propertyId": flat })).await;
    let path = format!("/portal-manuals/{}", id(&manual["id"]));
    let reads = [
        "/portal-manuals".to_owned(),
        format!("/properties/{flat}/portal-manuals"),
        "/portal-manual-categories".to_owned(),
    ];
    let mut refused = Vec::new();
    for read in &reads {
        reader.get(read).await.data();
        refused.push(writer.get(read).await);
    }
    refused.push(
        reader
            .post("/portal-manuals", json!({ "nickname": "N", "title": "T" }))
            .await,
    );
    refused.push(reader.patch(&path, json!({ "data": {} })).await);
    // The service checks the permission before the body and before it looks the resource up.
    refused.push(reader.post("/portal-manuals", json!({})).await);
    refused.push(
        reader
            .patch(&format!("/portal-manuals/{}", new_id()), json!({}))
            .await,
    );
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
    writer
        .patch(&path, json!({ "data": { "nickname": "M" } }))
        .await
        .data();
    app.anonymous().get("/portal-manuals").await.error(401);
}

on_both!(assigning_manuals_needs_both_permissions);
async fn assigning_manuals_needs_both_permissions(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let manual = create(&api, "N", json!({})).await;
    let step = api
        .post(
            "/precheck-steps",
            json!({ "stepType": "main", "nickname": "N" }),
        )
        .await
        .data();
    let properties = org.key_with(&[Permission::ModifyProperties]).await;
    for (key, how) in [
        (&properties, ""),
        (&properties, "/add"),
        (&properties, "/remove"),
        (&org.key_with(&[Permission::ModifyGuides]).await, "/add"),
    ] {
        scope(key, how, &manual, json!({ "propertyIds": [flat] }))
            .await
            .error(403);
    }
    assert_eq!(scopes(&api, &manual).await, four(json!({})));
    let body =
        json!({ "entityType": "precheck_step", "entityId": step["id"], "propertyIds": [flat] });
    properties.post("/entity-scopes/add", body).await.data();
    let both = org
        .key_with(&[Permission::ModifyProperties, Permission::ModifyGuides])
        .await;
    assert_eq!(
        scope(&both, "/add", &manual, json!({ "propertyIds": [flat] }))
            .await
            .data(),
        four(json!({ "propertyIds": [flat] }))
    );
    let query = format!(
        "/entity-scopes?entityType=manual&entityId={}",
        id(&manual["id"])
    );
    both.get(&query).await.error(403);
    org.key_with(&[Permission::ViewProperties])
        .await
        .get(&query)
        .await
        .data();
}

on_both!(a_limited_caller_sees_their_and_unassigned_manuals);
async fn a_limited_caller_sees_their_and_unassigned_manuals(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let all = Neighbours::build(&app, &org, &api).await;
    let Neighbours {
        mine,
        theirs,
        group,
        inside,
        across,
        empty,
        limited,
        ..
    } = &all;
    for (query, expected) in [
        (
            String::new(),
            "a_own b_group c_tag d_nowhere e_across f_both g_empty",
        ),
        (format!("propertyIds={mine}"), "a_own c_tag f_both g_empty"),
        (format!("propertyIds={theirs}"), ""),
        (format!("propertyGroupIds={group}"), "b_group"),
        (format!("tagIds={inside}"), "c_tag"),
        (format!("tagIds={across}"), "e_across"),
        (format!("tagIds={empty}"), ""),
        (
            format!("propertyIds={theirs}&propertyIds={mine}&search=f_"),
            "f_both",
        ),
    ] {
        assert_eq!(listed(limited, &query).await, expected, "{query}");
    }
    assert_eq!(
        listed_of(limited, *mine).await,
        "a_own b_group c_tag e_across f_both g_empty"
    );
    assert_eq!(listed_of(limited, *theirs).await, "");
    assert_eq!(listed(&org.limited(&[]).await, "").await, "d_nowhere");
    for (nickname, _) in &all.manuals {
        let manual = all.manual(nickname);
        // The caller may change a manual whose assignments are all within the caller's
        // properties.
        let is_writable = ["a_own", "b_group", "c_tag", "d_nowhere"].contains(nickname);
        let response = change(limited, manual, json!({ "internalDescription": "Mine" })).await;
        assert_eq!(
            response.status,
            if is_writable { 200 } else { 404 },
            "{nickname}"
        );
        let stored = row(&api, manual).await["internalDescription"].clone();
        assert_eq!(
            stored,
            if is_writable {
                json!("Mine")
            } else {
                Value::Null
            },
            "{nickname}"
        );
    }
    // The service answers 404 before any check that would confirm that the manual exists.
    change(
        limited,
        all.manual("h_theirs"),
        json!({ "titleId": new_id(), "manualCategoryId": new_id() }),
    )
    .await
    .error(404);
    change(limited, all.manual("h_theirs"), json!({ "titleId": null }))
        .await
        .error(404);
}

on_both!(a_manual_is_read_by_its_id);
async fn a_manual_is_read_by_its_id(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let all = Neighbours::build(&app, &org, &api).await;
    for (nickname, manual) in &all.manuals {
        let path = format!("/portal-manuals/{}", id(&manual["id"]));
        let read = api.get(&path).await.data();
        assert_eq!(
            read,
            row(&api, manual).await,
            "the row of the list: {nickname}"
        );
        // The caller can read a manual by its id if the list of manuals shows it to this caller,
        // and gets 404 otherwise.
        let is_listed = [
            "a_own",
            "b_group",
            "c_tag",
            "d_nowhere",
            "e_across",
            "f_both",
            "g_empty",
        ]
        .contains(nickname);
        let response = all.limited.get(&path).await;
        assert_eq!(
            response.status,
            if is_listed { 200 } else { 404 },
            "{nickname}"
        );
        if is_listed {
            assert_eq!(response.data(), read);
        }
        app.org().await.key().await.get(&path).await.error(404);
        org.key_without(Permission::ViewGuides)
            .await
            .get(&path)
            .await
            .error(403);
    }
    let own = all.manual("a_own");
    change(
        &api,
        own,
        json!({ "imageUrl": "https://a.example/1.jpg", "nickname": "Renamed" }),
    )
    .await
    .data();
    let read = api
        .get(&format!("/portal-manuals/{}", id(&own["id"])))
        .await
        .data();
    assert_eq!(
        (&read["imageUrl"], &read["nickname"]),
        (&json!("https://a.example/1.jpg"), &json!("Renamed"))
    );
    api.get(&format!("/portal-manuals/{}", new_id()))
        .await
        .error(404);
    api.get("/portal-manuals/nonsense").await.error(404);
}

on_both!(a_limited_caller_changes_only_their_manuals);
async fn a_limited_caller_changes_only_their_manuals(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let all = Neighbours::build(&app, &org, &api).await;
    let Neighbours {
        mine,
        theirs,
        across,
        empty,
        limited,
        ..
    } = &all;
    for property in [*theirs, new_id()] {
        limited
            .post(
                "/portal-manuals",
                json!({ "nickname": "N", "title": "T", "propertyId": property }),
            )
            .await
            .error(404);
    }
    let own = create(limited, "own", json!({ "propertyId": mine })).await;
    assert_eq!(
        scopes(limited, &own).await,
        four(json!({ "propertyIds": [mine] }))
    );
    change(limited, &own, json!({ "nickname": "still own" }))
        .await
        .data();
    let loose = create(limited, "loose", json!({})).await;
    change(limited, &loose, json!({ "nickname": "loose still" }))
        .await
        .data();

    for targets in [
        json!({ "propertyIds": [theirs] }),
        json!({ "tagIds": [across] }),
        json!({ "tagIds": [empty] }),
        json!({ "tagIds": [new_id()] }),
    ] {
        for how in ["", "/add", "/remove"] {
            scope(limited, how, &own, targets.clone()).await.error(404);
        }
    }
    for nickname in ["h_theirs", "i_nobodys"] {
        scope(
            limited,
            "/add",
            all.manual(nickname),
            json!({ "propertyIds": [mine] }),
        )
        .await
        .error(404);
        assert_eq!(scopes(limited, all.manual(nickname)).await, four(json!({})));
    }
    let both = all.manual("f_both");
    assert_eq!(
        scopes(limited, both).await,
        four(json!({ "propertyIds": [mine] }))
    );
    scope(limited, "", both, json!({})).await.data();
    assert_eq!(
        scopes(&api, both).await,
        four(json!({ "propertyIds": [theirs] })),
        "what is not theirs stays"
    );
    scope(limited, "/add", both, json!({ "propertyIds": [mine] }))
        .await
        .error(404);
}

// Tests of instructions.
on_both!(deleting_an_instruction_closes_the_gap_in_its_scope);
async fn deleting_an_instruction_closes_the_gap_in_its_scope(app: App) {
    let org = app.org().await;
    let (api, flat, other) = (
        org.key().await,
        org.property(None, &[]).await,
        org.property(None, &[]).await,
    );
    let mut records = Vec::new();
    for (title, scope, position) in [
        ("d", flat, 7),
        ("a", flat, 0),
        ("c", flat, 2),
        ("b", flat, 1),
        ("x", other, 4),
        ("y", other, 9),
    ] {
        records.push((
            title,
            org.record(
                "instruction",
                json!({ "scopeId": scope, "title": title, "position": position, "kept": [title] }),
            )
            .await,
        ));
    }
    let delete = async |api: &Api, title: &str| {
        let record = records.iter().find(|(name, _)| *name == title).unwrap().1;
        api.send(Method::DELETE, &format!("/instructions/{record}"), None)
            .await
    };
    let order = async || {
        let rows = api.get("/instructions").await.data();
        let mut rows: Vec<String> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| format!("{}{}", row["kept"][0].as_str().unwrap(), row["position"]))
            .collect();
        rows.sort();
        rows.join(" ")
    };
    assert_eq!(delete(&api, "b").await.data(), json!({ "success": true }));
    assert_eq!(
        order().await,
        "a0 c1 d2 x4 y9",
        "the other scope keeps its numbers"
    );
    assert_eq!(delete(&api, "y").await.data(), json!({ "success": true }));
    assert_eq!(order().await, "a0 c1 d2 x0");
    delete(&api, "b").await.error(404);
    delete(&app.org().await.key().await, "a").await.error(404);
    delete(&org.key_without(Permission::ModifyGuides).await, "a")
        .await
        .error(403);
    delete(&org.key_with(&[Permission::ModifyGuides]).await, "a")
        .await
        .data();
    assert_eq!(order().await, "c0 d1 x0");
    api.send(Method::DELETE, "/instructions/nonsense", None)
        .await
        .error(404);
}

on_both!(extreme_instruction_positions_do_no_harm);
async fn extreme_instruction_positions_do_no_harm(app: App) {
    let org = app.org().await;
    let (api, flat) = (org.key().await, org.property(None, &[]).await);
    for position in [json!(u64::MAX), json!(1e30)] {
        let first = org
            .record(
                "instruction",
                json!({ "scopeId": flat, "title": "first", "position": 0 }),
            )
            .await;
        let far = json!({ "scopeId": flat, "title": "far", "position": position });
        let response = org
            .sync(json!([{ "kind": "instruction", "id": new_id(), "data": far }]))
            .await;
        assert!(
            [200, 400].contains(&response.status),
            "{position}: {}",
            response.body
        );
        assert_eq!(
            api.send(Method::DELETE, &format!("/instructions/{first}"), None)
                .await
                .data(),
            json!({ "success": true }),
            "{position}"
        );
    }
}

on_both!(an_instruction_of_another_property_is_404);
async fn an_instruction_of_another_property_is_404(app: App) {
    let org = app.org().await;
    let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let limited = org.limited(&[mine]).await;
    for (property, status) in [(theirs, 404), (mine, 200)] {
        let data =
            json!({ "scopeId": property, "propertyId": property, "title": "Ring", "position": 0 });
        let record = org.record("instruction", data).await;
        assert_eq!(
            limited
                .send(Method::DELETE, &format!("/instructions/{record}"), None)
                .await
                .status,
            status
        );
    }
}
