//! Tests of the list of steps, their assignments, and what limited callers see of them (rules:
//! steps#list; steps#order; assignments#entity-scopes; access#limited-callers).

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use test_support::{Api, ApiResponse, App, arrays, new_id, of_arrays, on_both};
use uuid::Uuid;

use crate::precheck::{change, create, path, read, row, with};

/// Creates a step with this nickname. Advances the clock first, because the default order of the
/// list is by creation time.
async fn named(app: &App, api: &Api, nickname: &str, fields: Value) -> Value {
    app.clock.advance(Duration::from_millis(5));
    create(api, "main", with(json!({ "nickname": nickname }), fields)).await
}

async fn portal(api: &Api, fields: Value) -> Uuid {
    let portal = api.post("/portals", fields).await.data();
    portal["id"].as_str().unwrap().parse().unwrap()
}

/// Writes the assignments of a step. `how` is the end of the path: `/add`, `/remove`, or empty. If
/// it is empty, `targets` replace the earlier assignments.
async fn scope(api: &Api, how: &str, step: &Value, targets: Value) -> ApiResponse {
    let body = with(
        json!({ "entityType": "precheck_step", "entityId": step["id"] }),
        targets,
    );
    of_arrays(api.post(&format!("/entity-scopes{how}"), body).await)
}

async fn scopes(api: &Api, step: &Value) -> Value {
    arrays(
        api.get(&format!(
            "/entity-scopes?entityType=precheck_step&entityId={}",
            step["id"].as_str().unwrap()
        ))
        .await
        .data(),
    )
}

/// Returns an object with all four arrays of assignments. An array that `some` does not contain is
/// empty.
fn four(some: Value) -> Value {
    with(
        json!({ "propertyIds": [], "propertyGroupIds": [], "tagIds": [], "portalSettingsIds": [] }),
        some,
    )
}

fn sorted(mut ids: Vec<Uuid>) -> Vec<Uuid> {
    ids.sort();
    ids
}

fn nicknames(rows: &Value) -> Vec<&str> {
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| row["nickname"].as_str().unwrap())
        .collect()
}

/// Returns the nicknames of the steps that `GET /precheck-steps` lists for `query`, joined by
/// spaces.
async fn listed(api: &Api, query: &str) -> String {
    nicknames(&api.get(&format!("/precheck-steps?{query}")).await.data()).join(" ")
}

// Tests of the list of steps.
on_both!(the_list_is_filtered_by_direct_assignments);
async fn the_list_is_filtered_by_direct_assignments(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, tag) = (org.group().await, org.tag().await);
    let flat = org.property(Some(group), &[tag]).await;
    let casa = portal(&api, json!({ "name": "Casa" })).await;
    api.post(
        &format!("/properties/{flat}/assign-portal"),
        json!({ "portalSettingsId": casa }),
    )
    .await
    .data();
    for (nickname, targets) in [
        ("direct", json!({ "propertyIds": [flat] })),
        ("group", json!({ "propertyGroupIds": [group] })),
        ("tag", json!({ "tagIds": [tag] })),
        ("portal", json!({ "portalSettingsIds": [casa] })),
        ("both", json!({ "propertyIds": [flat], "tagIds": [tag] })),
        ("none", json!({})),
    ] {
        let step = named(
            &app,
            &api,
            nickname,
            json!({ "isActive": nickname == "direct" }),
        )
        .await;
        scope(&api, "/add", &step, targets).await.data();
    }
    let unknown = new_id();
    let table = [
        (String::new(), "direct group tag portal both none"),
        (format!("propertyIds={flat}"), "direct both"),
        (
            format!("propertyIds={unknown}&propertyIds={flat}"),
            "direct both",
        ),
        (format!("propertyGroupIds={group}"), "group"),
        (format!("tagIds={tag}"), "tag both"),
        (format!("portalSettingsIds={casa}"), "portal"),
        (format!("propertyIds={flat}&tagIds={tag}"), "both"),
        (format!("propertyIds={flat}&propertyGroupIds={group}"), ""),
        (format!("propertyIds={unknown}"), ""),
        // The id is the id of a tag, not of a property, so the filter finds no step.
        (format!("propertyIds={tag}"), ""),
        (format!("tagIds={tag}&portalSettingsIds={unknown}"), ""),
        ("assignment=assigned".into(), "direct group tag portal both"),
        ("assignment=unassigned".into(), "none"),
        (format!("assignment=assigned&tagIds={tag}"), "tag both"),
        (format!("assignment=unassigned&tagIds={tag}"), ""),
        (format!("assignment=unassigned&propertyIds={unknown}"), ""),
        ("whatever=1".into(), "direct group tag portal both none"),
    ];
    for (query, expected) in table {
        assert_eq!(listed(&api, &query).await, expected, "{query}");
    }
    for (query, parameters) in [
        ("propertyIds=x", vec!["propertyIds"]),
        ("assignment=some", vec!["assignment"]),
        ("assignment=&tagIds=", vec!["assignment", "tagIds"]),
        (
            "assignment=assigned&assignment=assigned",
            vec!["assignment"],
        ),
    ] {
        assert_eq!(
            api.get(&format!("/precheck-steps?{query}")).await.issues(),
            parameters,
            "{query}"
        );
    }
    assert_eq!(
        api.get(&format!("/precheck-steps?tagIds={tag},{tag}"))
            .await
            .issues(),
        ["tagIds"],
        "commas do not split"
    );
    let response = api.get("/precheck-steps").await;
    assert_eq!(response.body["meta"].get("pagination"), None);
    let both = response
        .data()
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["nickname"] == "both")
        .unwrap()
        .clone();
    assert_eq!(
        both["scope"],
        json!({ "propertyCount": 1, "portalCount": 0, "propertyGroupCount": 0, "tagCount": 1 })
    );
}

on_both!(steps_are_listed_in_guest_order);
async fn steps_are_listed_in_guest_order(app: App) {
    let api = app.org().await.key().await;
    let steps = [
        ("a", "main", json!(0)),
        ("b", "screen_and_protect", json!(1)),
        ("c", "damage_deposit", json!(1)),
        ("d", "your_details", Value::Null),
        ("e", "agreement", json!(5)),
        ("f", "identity_check", json!(2)),
        ("g", "authority_reporting", Value::Null),
        ("h", "other_guests", json!(3)),
    ];
    let mut created = Vec::new();
    for (nickname, step_type, sort_order) in steps {
        created.push(
            named(
                &app,
                &api,
                nickname,
                json!({ "stepType": step_type, "sortOrder": sort_order }),
            )
            .await,
        );
    }
    let (automatic, by_position) = ("d f h g e b c a", "a b c f h e d g");
    assert_eq!(
        listed(&api, "").await,
        automatic,
        "without a default portal the order is automatic"
    );
    let mut portals = Vec::new();
    for (name, is_automatic, is_default) in [
        ("automatic", true, false),
        ("by position", false, false),
        ("default", false, true),
    ] {
        let fields = json!({
            "name": name,
            "isPrecheckOrderAutomatic": is_automatic,
            "isDefault": is_default,
        });
        portals.push(portal(&api, fields).await);
    }
    for step in &created {
        scope(&api, "/add", step, json!({ "portalSettingsIds": portals }))
            .await
            .data();
    }
    let [sorting, positional, default] = portals.as_slice() else {
        panic!("{portals:?}")
    };
    assert_eq!(listed(&api, "").await, by_position, "the default portal's");
    assert_eq!(listed(&api, "assignment=assigned").await, by_position);
    assert_eq!(
        listed(&api, &format!("portalSettingsIds={sorting}")).await,
        automatic
    );
    assert_eq!(
        listed(
            &api,
            &format!("portalSettingsIds={sorting}&portalSettingsIds={positional}")
        )
        .await,
        by_position,
        "two: the default's"
    );
    api.patch(
        &format!("/portals/{default}"),
        json!({ "data": { "isPrecheckOrderAutomatic": true } }),
    )
    .await
    .data();
    assert_eq!(listed(&api, "").await, automatic);
    assert_eq!(
        listed(&api, &format!("portalSettingsIds={positional}")).await,
        by_position
    );
}

on_both!(a_retried_create_makes_a_single_step);
async fn a_retried_create_makes_a_single_step(app: App) {
    let api = app.org().await.key().await;
    let body = json!({
        "stepType": "agreement",
        "nickname": "Once",
        "displayTitle": "Rules",
        "contractTemplateText": "No parties.",
    });
    let first = api
        .post_with_key("/precheck-steps", "k", body.clone())
        .await;
    let again = api.post_with_key("/precheck-steps", "k", body).await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.body, again.body);
    assert_eq!(
        (
            first.header("idempotency-replayed"),
            again.header("idempotency-replayed")
        ),
        (None, Some("true"))
    );
    assert_eq!(listed(&api, "").await, "Once");
    api.post_with_key(
        "/precheck-steps",
        "k",
        json!({ "stepType": "main", "nickname": "Once" }),
    )
    .await
    .error(422);
}

// Tests of the assignments of steps.
on_both!(a_step_can_be_assigned_to_all_four_kinds_of_targets);
async fn a_step_can_be_assigned_to_all_four_kinds_of_targets(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, tag, one, two) = (
        org.group().await,
        org.tag().await,
        org.property(None, &[]).await,
        org.property(None, &[]).await,
    );
    let (casa, mar) = (
        portal(&api, json!({ "name": "Casa" })).await,
        portal(&api, json!({ "name": "Mar" })).await,
    );
    let step = create(&api, "main", json!({})).await;
    assert_eq!(
        scopes(&api, &step).await,
        four(json!({})),
        "a new step has no assignments"
    );
    let all = json!({
        "propertyIds": [two, one, two],
        "propertyGroupIds": [group],
        "tagIds": [tag],
        "portalSettingsIds": [mar, casa],
    });
    let expected = json!({
        "propertyIds": [one, two],
        "propertyGroupIds": [group],
        "tagIds": [tag],
        "portalSettingsIds": sorted(vec![casa, mar]),
    });
    let added = scope(&api, "/add", &step, all.clone()).await;
    assert_eq!((added.status, added.data()), (200, expected.clone()));
    assert_eq!(
        scope(&api, "/add", &step, all).await.data(),
        expected,
        "what is there already changes nothing"
    );
    assert_eq!(scope(&api, "/add", &step, json!({})).await.data(), expected);
    assert_eq!(
        scope(&api, "/remove", &step, json!({})).await.data(),
        expected
    );
    let counts =
        json!({ "propertyCount": 2, "portalCount": 2, "propertyGroupCount": 1, "tagCount": 1 });
    assert_eq!(row(&api, &step).await["scope"], counts);
    assert_eq!(
        read(&api, &step).await["updatedAt"],
        step["updatedAt"],
        "assignments are no change of the step"
    );

    let fewer = json!({
        "propertyIds": [two, new_id()],
        "tagIds": [tag],
        "portalSettingsIds": [mar, new_id()],
    });
    let removed = scope(&api, "/remove", &step, fewer).await.data();
    assert_eq!(
        removed,
        four(json!({
            "propertyIds": [one],
            "propertyGroupIds": [group],
            "portalSettingsIds": [casa],
        }))
    );
    let replaced = scope(
        &api,
        "",
        &step,
        json!({ "propertyIds": [two], "portalSettingsIds": [mar] }),
    )
    .await
    .data();
    assert_eq!(
        replaced,
        four(json!({ "propertyIds": [two], "portalSettingsIds": [mar] })),
        "an omitted array is empty"
    );
    assert_eq!(scopes(&api, &step).await, replaced);
    // A property can have several steps, but only one portal.
    let other = create(&api, "main", json!({})).await;
    scope(&api, "/add", &other, json!({ "propertyIds": [two] }))
        .await
        .data();
    assert_eq!(scopes(&api, &step).await, replaced);
    assert_eq!(
        scope(&api, "", &step, json!({})).await.data(),
        four(json!({}))
    );
}

on_both!(only_existing_targets_can_be_assigned);
async fn only_existing_targets_can_be_assigned(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let elsewhere = app.org().await;
    let stranger = elsewhere.key().await;
    let step = create(&api, "main", json!({})).await;
    let tag = org.tag().await;
    scope(&api, "/add", &step, json!({ "tagIds": [tag] }))
        .await
        .data();
    let foreign = portal(&stranger, json!({ "name": "Theirs" })).await;
    let missing = [
        json!({ "propertyIds": [new_id()] }),
        json!({ "propertyGroupIds": [new_id()] }),
        json!({ "tagIds": [new_id()] }),
        json!({ "portalSettingsIds": [new_id()] }),
        json!({ "portalSettingsIds": [foreign] }),
        json!({ "propertyIds": [tag] }),
        json!({ "tagIds": [elsewhere.tag().await] }),
    ];
    for targets in missing {
        for how in ["", "/add"] {
            scope(&api, how, &step, targets.clone()).await.error(404);
        }
    }
    assert_eq!(
        scopes(&api, &step).await,
        four(json!({ "tagIds": [tag] })),
        "nothing is saved"
    );
    for how in ["", "/add", "/remove"] {
        scope(&api, how, &json!({ "id": new_id() }), json!({}))
            .await
            .error(404);
        scope(&stranger, how, &step, json!({})).await.error(404);
        for entity_type in ["manual", "portal_settings"] {
            let body = json!({ "entityType": entity_type, "entityId": step["id"] });
            api.post(&format!("/entity-scopes{how}"), body)
                .await
                .error(404);
        }
        assert_eq!(
            scope(&api, how, &step, json!({ "tagIds": ["x"], "stepIds": [] }))
                .await
                .issues(),
            ["stepIds", "tagIds.0"]
        );
    }
    assert_eq!(scopes(&stranger, &step).await, four(json!({})));
    assert_eq!(
        scopes(&api, &json!({ "id": new_id() })).await,
        four(json!({}))
    );
    for entity_type in ["manual", "portal_settings"] {
        let query = format!(
            "/entity-scopes?entityType={entity_type}&entityId={}",
            step["id"].as_str().unwrap()
        );
        assert_eq!(
            arrays(api.get(&query).await.data()),
            four(json!({})),
            "a wrong entity type"
        );
    }
    org.delete_record("tag", tag).await;
    assert_eq!(scopes(&api, &step).await, four(json!({})));
    assert_eq!(listed(&api, "assignment=unassigned").await, "main");
}

on_both!(concurrent_additions_are_all_kept);
async fn concurrent_additions_are_all_kept(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let step = create(&api, "main", json!({})).await;
    let mut tags = Vec::new();
    for _ in 0..16 {
        tags.push(org.tag().await);
    }
    let additions = tags
        .iter()
        .map(|tag| scope(&api, "/add", &step, json!({ "tagIds": [tag] })));
    for answer in join_all(additions).await {
        answer.data();
    }
    assert_eq!(
        scopes(&api, &step).await,
        four(json!({ "tagIds": sorted(tags) }))
    );
    assert_eq!(row(&api, &step).await["scope"]["tagCount"], 16);
}

// Tests of the steps that a caller with access to only some properties may read and write.
on_both!(a_limited_caller_sees_the_steps_that_reach_them);
async fn a_limited_caller_sees_the_steps_that_reach_them(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, tag, empty) = (org.group().await, org.tag().await, org.tag().await);
    let (mine, theirs) = (
        org.property(Some(group), &[tag]).await,
        org.property(Some(group), &[]).await,
    );
    let loose = org.property(None, &[]).await;
    let (own, foreign) = (
        portal(&api, json!({ "name": "own" })).await,
        portal(&api, json!({ "name": "foreign" })).await,
    );
    let default = portal(&api, json!({ "name": "default", "isDefault": true })).await;
    for (flat, portal) in [(mine, own), (theirs, foreign)] {
        api.post(
            &format!("/properties/{flat}/assign-portal"),
            json!({ "portalSettingsId": portal }),
        )
        .await
        .data();
    }
    let mut steps = std::collections::HashMap::new();
    for (nickname, targets) in [
        ("direct", json!({ "propertyIds": [mine] })),
        ("by_group", json!({ "propertyGroupIds": [group] })),
        ("by_tag", json!({ "tagIds": [tag] })),
        ("by_portal", json!({ "portalSettingsIds": [own] })),
        ("by_default", json!({ "portalSettingsIds": [default] })),
        (
            "mixed",
            json!({
                "propertyIds": [mine, theirs],
                "portalSettingsIds": [foreign],
                "tagIds": [empty],
            }),
        ),
        ("unassigned", json!({})),
        ("foreign", json!({ "propertyIds": [theirs] })),
        ("foreign_portal", json!({ "portalSettingsIds": [foreign] })),
        ("nobodys", json!({ "tagIds": [empty] })),
    ] {
        let step = named(&app, &api, nickname, json!({})).await;
        scope(&api, "/add", &step, targets).await.data();
        steps.insert(nickname, step);
    }
    let limited = org.limited(&[mine, loose]).await;
    assert_eq!(
        listed(&limited, "").await,
        "direct by_group by_tag by_portal by_default mixed unassigned"
    );
    for nickname in [
        "direct",
        "by_group",
        "by_tag",
        "by_portal",
        "by_default",
        "mixed",
        "unassigned",
    ] {
        read(&limited, &steps[nickname]).await;
        change(
            &limited,
            &steps[nickname],
            json!({ "isManualReviewEnabled": false }),
        )
        .await
        .data();
    }
    for nickname in ["foreign", "foreign_portal", "nobodys"] {
        let step = &steps[nickname];
        limited.get(&path(step)).await.error(404);
        change(&limited, step, json!({ "nickname": "Mine" }))
            .await
            .error(404);
        let stale = json!({
            "data": { "feeProductIds": [new_id()] },
            "expectedUpdatedAt": "2020-01-01T00:00:00.000Z",
        });
        limited.patch(&path(step), stale).await.error(404);
        scope(&limited, "/add", step, json!({ "propertyIds": [mine] }))
            .await
            .error(404);
        assert_eq!(scopes(&limited, step).await, four(json!({})));
    }
    // For a limited caller, counts and lists contain only items of the caller's properties.
    let counts =
        json!({ "propertyCount": 1, "portalCount": 0, "propertyGroupCount": 0, "tagCount": 0 });
    assert_eq!(row(&limited, &steps["mixed"]).await["scope"], counts);
    assert_eq!(
        scopes(&limited, &steps["mixed"]).await,
        four(json!({ "propertyIds": [mine] }))
    );
    let counts =
        json!({ "propertyCount": 2, "portalCount": 1, "propertyGroupCount": 0, "tagCount": 1 });
    assert_eq!(row(&api, &steps["mixed"]).await["scope"], counts);
    let table = [
        (format!("propertyIds={mine}"), "direct mixed"),
        (format!("propertyIds={theirs}"), ""),
        (format!("tagIds={empty}"), ""),
        (format!("portalSettingsIds={foreign}"), ""),
        (format!("portalSettingsIds={own}"), "by_portal"),
        (
            format!("propertyIds={theirs}&propertyIds={mine}"),
            "direct mixed",
        ),
        (format!("propertyGroupIds={group}"), "by_group"),
        ("assignment=unassigned".into(), "unassigned"),
        (
            "assignment=assigned".into(),
            "direct by_group by_tag by_portal by_default mixed",
        ),
        (format!("assignment=unassigned&propertyIds={theirs}"), ""),
    ];
    for (query, expected) in table {
        assert_eq!(listed(&limited, &query).await, expected, "{query}");
    }
    // The property gets another portal. A caller limited to the property then sees the steps of
    // the new portal instead.
    api.post(
        &format!("/properties/{mine}/assign-portal"),
        json!({ "portalSettingsId": foreign }),
    )
    .await
    .data();
    limited.get(&path(&steps["by_portal"])).await.error(404);
    read(&limited, &steps["foreign_portal"]).await;
    assert_eq!(listed(&org.limited(&[]).await, "").await, "unassigned");
}

on_both!(a_limited_caller_cannot_change_fees_of_others);
async fn a_limited_caller_cannot_change_fees_of_others(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (across, inside) = (org.tag().await, org.tag().await);
    let mine = org.property(None, &[across, inside]).await;
    let theirs = org.property(None, &[across]).await;
    let default = portal(&api, json!({ "name": "default", "isDefault": true })).await;
    let fee = org
        .record("fee_product", json!({ "name": "Cleaning" }))
        .await;
    let linen = org.record("fee_product", json!({ "name": "Linen" })).await;
    let limited = org.limited(&[mine]).await;
    let table = [
        (json!({}), true),
        (json!({ "propertyIds": [mine] }), true),
        (json!({ "tagIds": [inside] }), true),
        (json!({ "propertyIds": [mine, theirs] }), false),
        (json!({ "tagIds": [across] }), false),
        (
            json!({ "propertyIds": [mine], "portalSettingsIds": [default] }),
            false,
        ),
    ];
    for (targets, is_allowed) in table {
        let step = create(&api, "mandatory_fee", json!({})).await;
        scope(&api, "/add", &step, targets.clone()).await.data();
        let body = json!({
            "data": { "feeProductIds": [fee], "nickname": "Fee" },
            "expectedUpdatedAt": step["updatedAt"],
        });
        let response = limited.patch(&path(&step), body).await;
        assert_eq!(
            response.status,
            if is_allowed { 200 } else { 403 },
            "{targets}"
        );
        let expected = if is_allowed {
            json!(["Fee", [fee]])
        } else {
            json!(["mandatory_fee", []])
        };
        let stored = read(&api, &step).await;
        assert_eq!(
            json!([stored["nickname"], stored["feeProductIds"]]),
            expected,
            "{targets}"
        );
        // A list of fees that equals the stored one is no change, so this caller may send it with
        // other fields. In a change of the list, the service checks first whether each fee exists
        // (404), then the permission (403), then `expectedUpdatedAt` (409).
        change(
            &limited,
            &step,
            json!({ "feeProductIds": stored["feeProductIds"], "nickname": "Renamed" }),
        )
        .await
        .data();
        let stale = |id: Uuid| {
            json!({
                "data": { "feeProductIds": [fee, id] },
                "expectedUpdatedAt": "2020-01-01T00:00:00.000Z",
            })
        };
        limited
            .patch(&path(&step), stale(new_id()))
            .await
            .error(404);
        limited
            .patch(&path(&step), stale(linen))
            .await
            .error(if is_allowed { 409 } else { 403 });
    }
}

on_both!(a_limited_caller_assigns_steps_only_to_their_properties);
async fn a_limited_caller_assigns_steps_only_to_their_properties(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (inside, across, empty) = (org.tag().await, org.tag().await, org.tag().await);
    let (mine, theirs) = (
        org.property(None, &[inside, across]).await,
        org.property(None, &[across]).await,
    );
    let (own, idle, foreign) = (
        portal(&api, json!({ "name": "own" })).await,
        portal(&api, json!({ "name": "idle" })).await,
        portal(&api, json!({ "name": "foreign" })).await,
    );
    for (flat, portal) in [(mine, own), (theirs, foreign)] {
        api.post(
            &format!("/properties/{flat}/assign-portal"),
            json!({ "portalSettingsId": portal }),
        )
        .await
        .data();
    }
    let limited = org.limited(&[mine]).await;
    let step = create(&limited, "main", json!({})).await;
    // The caller may assign a portal that serves no property. The response does not show that
    // portal, because the portal serves none of the caller's properties.
    let targets =
        json!({ "propertyIds": [mine], "tagIds": [inside], "portalSettingsIds": [own, idle] });
    let added = scope(&limited, "/add", &step, targets).await.data();
    assert_eq!(
        added,
        four(json!({ "propertyIds": [mine], "tagIds": [inside], "portalSettingsIds": [own] }))
    );
    assert_eq!(scopes(&limited, &step).await, added);
    assert_eq!(
        scopes(&api, &step).await,
        with(
            added,
            json!({ "portalSettingsIds": sorted(vec![own, idle]) })
        )
    );
    let portal_count = |row: Value| row["scope"]["portalCount"].clone();
    assert_eq!(
        (
            portal_count(row(&limited, &step).await),
            portal_count(row(&api, &step).await)
        ),
        (json!(1), json!(2))
    );

    scope(
        &api,
        "/add",
        &step,
        json!({
            "propertyIds": [theirs],
            "tagIds": [across, empty],
            "portalSettingsIds": [foreign],
        }),
    )
    .await
    .data();
    for targets in [
        json!({ "tagIds": [across] }),
        json!({ "tagIds": [empty] }),
        json!({ "tagIds": [new_id()] }),
        json!({ "propertyIds": [theirs] }),
        json!({ "propertyIds": [mine, new_id()] }),
        json!({ "portalSettingsIds": [foreign] }),
        json!({ "portalSettingsIds": [new_id()] }),
    ] {
        for how in ["", "/add", "/remove"] {
            scope(&limited, how, &step, targets.clone())
                .await
                .error(404);
        }
    }
    let replaced = scope(&limited, "", &step, json!({ "propertyIds": [mine] }))
        .await
        .data();
    assert_eq!(
        replaced,
        four(json!({ "propertyIds": [mine], "tagIds": [across] }))
    );
    let kept = json!({
        "propertyIds": [mine, theirs],
        "tagIds": sorted(vec![across, empty]),
        "portalSettingsIds": [foreign],
    });
    assert_eq!(
        scopes(&api, &step).await,
        four(kept),
        "what is not writable stays assigned"
    );
    assert_eq!(
        scope(&limited, "/remove", &step, json!({ "propertyIds": [mine] }))
            .await
            .data(),
        four(json!({ "tagIds": [across] }))
    );
    // The step is assigned only to a portal that serves no property, so the caller does not see
    // it.
    let lost = create(&limited, "main", json!({})).await;
    assert_eq!(
        scope(&limited, "", &lost, json!({ "portalSettingsIds": [idle] }))
            .await
            .data(),
        four(json!({}))
    );
    limited.get(&path(&lost)).await.error(404);
}
