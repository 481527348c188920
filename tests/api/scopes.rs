//! Tests of entity scopes of portals, and of the operation `assign-portal`.

use serde_json::{Value, json};

use test_support::{Api, App, arrays, new_id, on_both};

async fn portal(api: &Api, name: &str) -> String {
    api.post("/portals", json!({ "name": name })).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

on_both!(assignments_are_added_replaced_and_removed);
async fn assignments_are_added_replaced_and_removed(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, tag) = (org.group().await, org.tag().await);
    let (one, two) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let (first, second) = (portal(&api, "First").await, portal(&api, "Second").await);
    let body = |portal: &str, fields: Value| {
        let mut body = json!({ "entityType": "portal_settings", "entityId": portal });
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        body
    };
    let added = api
        .post(
            "/entity-scopes/add",
            body(
                &first,
                json!({ "propertyIds": [two, one, one], "tagIds": [tag] }),
            ),
        )
        .await;
    assert_eq!(added.status, 200);
    assert_eq!(
        arrays(added.data()),
        json!({
            "propertyIds": [one, two],
            "propertyGroupIds": [],
            "tagIds": [tag],
            "portalSettingsIds": [],
        })
    );
    // A property is assigned to at most one portal. Adding the property to a second portal
    // therefore removes it from the first.
    let moved = api
        .post(
            "/entity-scopes/add",
            body(&second, json!({ "propertyIds": [two] })),
        )
        .await
        .data();
    assert_eq!(moved["propertyIds"], json!([two]));
    let read = |id: String| {
        let api = api.clone();
        async move {
            api.get(&format!(
                "/entity-scopes?entityType=portal_settings&entityId={id}"
            ))
            .await
        }
    };
    assert_eq!(
        read(first.clone()).await.data()["propertyIds"],
        json!([one])
    );
    let replaced = api
        .post(
            "/entity-scopes",
            body(
                &first,
                json!({ "propertyGroupIds": [group], "propertyIds": [two] }),
            ),
        )
        .await
        .data();
    assert_eq!(
        arrays(replaced),
        json!({
            "propertyIds": [two],
            "propertyGroupIds": [group],
            "tagIds": [],
            "portalSettingsIds": [],
        })
    );
    let removed = api
        .post(
            "/entity-scopes/remove",
            body(&first, json!({ "propertyIds": [two, one, new_id()] })),
        )
        .await
        .data();
    assert_eq!(removed["propertyIds"], json!([]));
    let emptied = api
        .post("/entity-scopes", body(&first, json!({})))
        .await
        .data();
    assert_eq!(emptied["propertyGroupIds"], json!([]));
    let nothing = api
        .post("/entity-scopes/add", body(&first, json!({})))
        .await
        .data();
    assert_eq!(nothing, emptied);
    assert_eq!(read(new_id().to_string()).await.data(), emptied);
    api.post(
        "/entity-scopes/add",
        body(&first, json!({ "tagIds": [new_id()] })),
    )
    .await
    .error(404);
    api.post("/entity-scopes/add", body(&new_id().to_string(), json!({})))
        .await
        .error(404);
    assert_eq!(
        api.post(
            "/entity-scopes/add",
            body(&first, json!({ "portalSettingsIds": [second] }))
        )
        .await
        .issues(),
        ["portalSettingsIds"]
    );
    api.post(
        "/entity-scopes/add",
        body(&first, json!({ "portalSettingsIds": [] })),
    )
    .await
    .data();
    assert_eq!(
        api.get(&format!("/entity-scopes?entityId={first}"))
            .await
            .issues(),
        ["entityType"]
    );
    assert_eq!(
        api.get("/entity-scopes?entityType=house&entityId=x")
            .await
            .issues(),
        ["entityId", "entityType"]
    );
}

on_both!(a_property_is_assigned_to_a_portal);
async fn a_property_is_assigned_to_a_portal(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let first = portal(&api, "First").await;
    let path = format!("/properties/{flat}/assign-portal");
    let response = api.post(&path, json!({ "portalSettingsId": first })).await;
    assert_eq!(
        (response.status, response.data()),
        (200, json!({ "id": flat, "portalSettingsId": first }))
    );
    let scopes = api
        .get(&format!(
            "/entity-scopes?entityType=portal_settings&entityId={first}"
        ))
        .await
        .data();
    assert_eq!(scopes["propertyIds"], json!([flat]));
    assert_eq!(
        api.post(&path, json!({})).await.issues(),
        ["portalSettingsId"]
    );
    api.post(&path, json!({ "portalSettingsId": new_id() }))
        .await
        .error(404);
    api.post(
        &format!("/properties/{}/assign-portal", new_id()),
        json!({ "portalSettingsId": first }),
    )
    .await
    .error(404);
    assert_eq!(
        api.post(&path, json!({ "portalSettingsId": null }))
            .await
            .data()["portalSettingsId"],
        Value::Null
    );
    let scopes = api
        .get(&format!(
            "/entity-scopes?entityType=portal_settings&entityId={first}"
        ))
        .await
        .data();
    assert_eq!(scopes["propertyIds"], json!([]));
}

on_both!(assignments_are_removed_with_their_targets);
async fn assignments_are_removed_with_their_targets(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (tag, flat) = (org.tag().await, org.property(None, &[]).await);
    let first = portal(&api, "First").await;
    let body = json!({
        "entityType": "portal_settings",
        "entityId": first,
        "propertyIds": [flat],
        "tagIds": [tag],
    });
    api.post("/entity-scopes", body).await.data();
    org.delete_record("tag", tag).await;
    org.delete_record("property", flat).await;
    let scopes = api
        .get(&format!(
            "/entity-scopes?entityType=portal_settings&entityId={first}"
        ))
        .await
        .data();
    assert_eq!(
        arrays(scopes),
        json!({ "propertyIds": [], "propertyGroupIds": [], "tagIds": [], "portalSettingsIds": [] })
    );
}

on_both!(assignments_are_listed_with_the_names_of_their_targets);
async fn assignments_are_listed_with_the_names_of_their_targets(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (called, nameless) = (
        org.record("tag", json!({ "name": "Sea view" })).await,
        org.record("tag", json!({ "name": "" })).await,
    );
    let flat = org
        .record(
            "property",
            json!({
                "name": "Casa Azul",
                "timezone": "Europe/Madrid",
                "country": "ES",
                "tagIds": [called],
            }),
        )
        .await;
    let other = org
        .record(
            "property",
            json!({
                "name": "Casa Mar",
                "timezone": "Europe/Madrid",
                "country": "ES",
                "tagIds": [called],
            }),
        )
        .await;
    let group = org.group().await;
    let portal = portal(&api, "First").await;
    let step = api
        .post(
            "/precheck-steps",
            json!({ "nickname": "Step", "stepType": "main" }),
        )
        .await
        .data()["id"]
        .clone();
    let targets = json!({
        "propertyIds": [flat, other],
        "propertyGroupIds": [group],
        "tagIds": [called, nameless],
        "portalSettingsIds": [portal],
    });
    let mut body = json!({ "entityType": "precheck_step", "entityId": step });
    body.as_object_mut()
        .unwrap()
        .extend(targets.as_object().unwrap().clone());
    let path = format!(
        "/entity-scopes?entityType=precheck_step&entityId={}",
        step.as_str().unwrap()
    );
    let mut names = json!({});
    for (id, name) in [
        (flat, "Casa Azul"),
        (other, "Casa Mar"),
        (group, "District"),
        (called, "Sea view"),
        (nameless, ""),
        (portal.parse().unwrap(), "First"),
    ] {
        names[id.to_string()] = name.into();
    }
    assert_eq!(
        api.post("/entity-scopes", body).await.data()["names"],
        names
    );
    assert_eq!(api.get(&path).await.data()["names"], names);
    let limited = org.limited(&[flat]).await.get(&path).await.data();
    let seen = json!({ flat.to_string(): "Casa Azul", called.to_string(): "Sea view" });
    assert_eq!(
        (
            &limited["names"],
            arrays(limited.clone())["propertyIds"].clone()
        ),
        (&seen, json!([flat]))
    );
}

on_both!(the_number_of_ids_in_a_request_is_bounded);
async fn the_number_of_ids_in_a_request_is_bounded(app: App) {
    let api = app.org().await.key().await;
    let portal = portal(&api, "First").await;
    let ids: Vec<_> = (0..=25_000).map(|_| new_id()).collect();
    let body = |ids: &[uuid::Uuid]| {
        json!({
            "entityType": "portal_settings",
            "entityId": portal,
            "propertyIds": ids,
        })
    };
    api.post("/entity-scopes/remove", body(&ids[1..]))
        .await
        .data();
    assert_eq!(
        api.post("/entity-scopes/remove", body(&ids)).await.issues(),
        ["propertyIds"]
    );
}

on_both!(a_property_with_two_assignments_is_counted_once);
async fn a_property_with_two_assignments_is_counted_once(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, tag) = (org.group().await, org.tag().await);
    let both = org.property(Some(group), &[tag]).await;
    let (grouped, tagged, alone) = (
        org.property(Some(group), &[]).await,
        org.property(None, &[tag]).await,
        org.property(None, &[]).await,
    );
    let portal = portal(&api, "Casa").await;
    let step = api
        .post(
            "/precheck-steps",
            json!({ "stepType": "agreement", "nickname": "Rules" }),
        )
        .await
        .data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let manual = api
        .post(
            "/portal-manuals",
            json!({ "nickname": "Pool", "title": "Pool" }),
        )
        .await
        .data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let add = async |kind: &str, id: &str, mut targets: Value| {
        (targets["entityType"], targets["entityId"]) = (json!(kind), json!(id));
        api.post("/entity-scopes/add", targets).await.data();
    };
    let count = async |api: &Api, kind: &str, id: &str| {
        let counted = api
            .get(&format!(
                "/entity-scopes/reach?entityType={kind}&entityIds={id}&entityIds={id}"
            ))
            .await
            .data();
        assert_eq!(
            (counted.as_array().unwrap().len(), &counted[0]["entityId"]),
            (1, &json!(id))
        );
        counted[0]["propertyCount"].as_u64().unwrap()
    };
    assert_eq!(count(&api, "precheck_step", &step).await, 0);
    add(
        "precheck_step",
        &step,
        json!({ "propertyGroupIds": [group], "tagIds": [tag], "propertyIds": [both] }),
    )
    .await;
    add("manual", &manual, json!({ "propertyIds": [alone, both] })).await;
    add(
        "portal_settings",
        &portal,
        json!({ "propertyIds": [alone] }),
    )
    .await;
    assert_eq!(count(&api, "precheck_step", &step).await, 3);
    assert_eq!(count(&api, "manual", &manual).await, 2);
    assert_eq!(count(&api, "manual", &step).await, 0, "a step is no manual");
    assert_eq!(count(&api, "portal_settings", &portal).await, 1);
    // The number of properties of a step includes those that the step's portal serves. So deleting
    // such a property reduces the number.
    add(
        "precheck_step",
        &step,
        json!({ "portalSettingsIds": [portal] }),
    )
    .await;
    assert_eq!(count(&api, "precheck_step", &step).await, 4);
    org.delete_record("property", tagged).await;
    assert_eq!(count(&api, "precheck_step", &step).await, 3);
    let limited = org.limited(&[grouped, alone]).await;
    assert_eq!(
        (
            count(&limited, "precheck_step", &step).await,
            count(&limited, "manual", &manual).await
        ),
        (2, 1)
    );
    assert_eq!(
        api.get("/entity-scopes/reach?entityType=manual&entityIds=x")
            .await
            .issues(),
        ["entityIds"]
    );
}
