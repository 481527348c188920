//! Tests of callers whose access is limited to some properties (rules: access#limited-callers;
//! access#portals-of-limited-callers).

use serde_json::{Value, json};
use uuid::Uuid;

use test_support::{Api, App, arrays, new_id, on_both};

async fn portal(api: &Api, body: Value) -> String {
    api.post("/portals", body).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn scope(api: &Api, portal: &str, fields: Value) {
    let mut body = json!({ "entityType": "portal_settings", "entityId": portal });
    body.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    api.post("/entity-scopes/add", body).await.data();
}

fn ids(rows: &Value) -> Vec<Uuid> {
    let mut ids: Vec<Uuid> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap().parse().unwrap())
        .collect();
    ids.sort();
    ids
}

on_both!(access_to_a_portal_depends_on_the_properties_it_serves);
async fn access_to_a_portal_depends_on_the_properties_it_serves(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let group = org.group().await;
    let (mine, theirs) = (
        org.property(Some(group), &[]).await,
        org.property(Some(group), &[]).await,
    );
    let (idle, own, shared, foreign) = (
        portal(&api, json!({ "name": "idle" })).await,
        portal(&api, json!({ "name": "own" })).await,
        portal(&api, json!({ "name": "shared" })).await,
        portal(&api, json!({ "name": "foreign" })).await,
    );
    scope(&api, &own, json!({ "propertyIds": [mine] })).await;
    scope(&api, &foreign, json!({ "propertyIds": [theirs] })).await;
    let limited = org.limited(&[mine]).await;
    let rename = |id: &str, name: &str| {
        let (path, body) = (
            format!("/portals/{id}"),
            json!({ "data": { "name": name } }),
        );
        let api = limited.clone();
        async move { api.patch(&path, body).await }
    };

    assert_eq!(
        limited
            .get("/portals")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        4,
        "the list has every portal"
    );
    limited.get(&format!("/portals/{own}")).await.data();
    limited.get(&format!("/portals/{idle}")).await.data();
    limited.get(&format!("/portals/{foreign}")).await.error(404);
    rename(&own, "mine").await.data();
    rename(&idle, "idle still").await.data();
    rename(&foreign, "no").await.error(404);

    // Both properties get the portal of their group when no portal is assigned to them
    // directly.
    scope(&api, &shared, json!({ "propertyGroupIds": [group] })).await;
    for flat in [mine, theirs] {
        api.post(
            &format!("/properties/{flat}/assign-portal"),
            json!({ "portalSettingsId": null }),
        )
        .await
        .data();
    }
    limited.get(&format!("/portals/{shared}")).await.data();
    rename(&shared, "no").await.error(404);
    limited.get(&format!("/portals/{foreign}")).await.data();

    let writable = ids(&limited.get("/portals?writableOnly=Yes").await.data());
    let mut expected: Vec<Uuid> = [&idle, &own, &foreign]
        .iter()
        .map(|id| id.parse().unwrap())
        .collect();
    expected.sort();
    assert_eq!(writable, expected);
    assert_eq!(
        api.get("/portals?writableOnly=true")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        4
    );
}

on_both!(a_limited_caller_cannot_choose_the_default_portal);
async fn a_limited_caller_cannot_choose_the_default_portal(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let default = portal(&api, json!({ "name": "default", "isDefault": true })).await;
    let own = portal(&api, json!({ "name": "own" })).await;
    let limited = org.limited(&[mine]).await;
    limited
        .post("/portals", json!({ "name": "new", "isDefault": true }))
        .await
        .error(403);
    limited
        .patch(
            &format!("/portals/{own}"),
            json!({ "data": { "isDefault": true } }),
        )
        .await
        .error(403);
    let assign = format!("/properties/{mine}/assign-portal");
    limited
        .post(&assign, json!({ "portalSettingsId": default }))
        .await
        .data();
    limited
        .post(&assign, json!({ "portalSettingsId": own }))
        .await
        .data();
    // The default portal now serves only a property that this caller cannot access. So the caller
    // can no longer read the portal, and may not assign a property to it.
    limited
        .post(&assign, json!({ "portalSettingsId": default }))
        .await
        .error(403);
    limited
        .post(
            &format!("/properties/{theirs}/assign-portal"),
            json!({ "portalSettingsId": own }),
        )
        .await
        .error(404);
}

on_both!(a_limited_caller_sees_and_changes_only_their_assignments);
async fn a_limited_caller_sees_and_changes_only_their_assignments(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (inside, across, empty) = (org.tag().await, org.tag().await, org.tag().await);
    let mine = org.property(None, &[inside, across]).await;
    let theirs = org.property(None, &[across]).await;
    let own = portal(&api, json!({ "name": "own" })).await;
    scope(&api, &own, json!({ "propertyIds": [mine] })).await;
    let limited = org.limited(&[mine]).await;
    let write = |path: &str, fields: Value| {
        let mut body = json!({ "entityType": "portal_settings", "entityId": own });
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let (api, path) = (limited.clone(), format!("/entity-scopes{path}"));
        async move { api.post(&path, body).await }
    };
    assert_eq!(
        write("/add", json!({ "tagIds": [inside] })).await.data()["tagIds"],
        json!([inside])
    );
    for fields in [
        json!({ "tagIds": [across] }),
        json!({ "tagIds": [empty] }),
        json!({ "propertyIds": [theirs] }),
        json!({ "tagIds": [new_id()] }),
    ] {
        for path in ["", "/add", "/remove"] {
            write(path, fields.clone()).await.error(404);
        }
    }
    // A replacement does not remove assignments that the caller may not change. The caller sees
    // the tag `across` but not the tag `empty`.
    scope(&api, &own, json!({ "tagIds": [empty] })).await;
    let replaced = write("", json!({ "propertyIds": [mine] })).await.data();
    assert_eq!(
        arrays(replaced),
        json!({
            "propertyIds": [mine],
            "propertyGroupIds": [],
            "tagIds": [],
            "portalSettingsIds": [],
        })
    );
    let all = api
        .get(&format!(
            "/entity-scopes?entityType=portal_settings&entityId={own}"
        ))
        .await
        .data();
    assert_eq!(all["tagIds"], json!([empty]));
}

on_both!(a_limited_caller_reads_only_records_of_their_properties);
async fn a_limited_caller_reads_only_records_of_their_properties(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let (stay, other, homeless) = (
        org.reservation(Some(mine)).await,
        org.reservation(Some(theirs)).await,
        org.reservation(None).await,
    );
    let limited = org.limited(&[mine]).await;
    assert_eq!(ids(&limited.get("/properties").await.data()), [mine]);
    let listed = limited.get("/reservations").await;
    assert_eq!(ids(&listed.data()), [stay, homeless]);
    assert_eq!(
        listed.body["meta"]["pagination"],
        json!({ "limit": 20, "offset": 0, "total": 2 })
    );
    limited.get(&format!("/reservations/{stay}")).await.data();
    limited
        .get(&format!("/reservations/{other}"))
        .await
        .error(404);
    api.get(&format!("/reservations/{other}")).await.data();
    limited
        .get(&format!("/reservations/{other}/guest-link"))
        .await
        .error(404);
}

on_both!(a_limited_caller_assigns_a_shared_portal_to_their_flats);
async fn a_limited_caller_assigns_a_shared_portal_to_their_flats(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (inside, across) = (org.tag().await, org.tag().await);
    let (mine, loose) = (
        org.property(None, &[inside, across]).await,
        org.property(None, &[]).await,
    );
    let (theirs, other) = (
        org.property(None, &[across]).await,
        org.property(None, &[]).await,
    );
    let (shared, foreign, default) = (
        portal(&api, json!({ "name": "shared" })).await,
        portal(&api, json!({ "name": "foreign" })).await,
        portal(&api, json!({ "name": "default", "isDefault": true })).await,
    );
    scope(
        &api,
        &shared,
        json!({ "propertyIds": [mine, theirs], "tagIds": [across] }),
    )
    .await;
    scope(&api, &foreign, json!({ "propertyIds": [other] })).await;
    let limited = org.limited(&[mine, loose]).await;
    let read = |api: &Api, portal: &str| {
        let (api, path) = (
            api.clone(),
            format!("/entity-scopes?entityType=portal_settings&entityId={portal}"),
        );
        async move { arrays(api.get(&path).await.data()) }
    };
    let write = |path: &str, portal: &str, fields: Value| {
        let mut body = json!({ "entityType": "portal_settings", "entityId": portal });
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let (api, path) = (limited.clone(), format!("/entity-scopes{path}"));
        async move { api.post(&path, body).await }
    };
    let four = |properties: &[Uuid], tags: &[Uuid]| {
        let mut properties = properties.to_vec();
        properties.sort();
        json!({
            "propertyIds": properties,
            "propertyGroupIds": [],
            "tagIds": tags,
            "portalSettingsIds": [],
        })
    };
    assert_eq!(
        read(&limited, &shared).await,
        four(&[mine], &[across]),
        "others' assignments are invisible"
    );
    limited
        .patch(
            &format!("/portals/{shared}"),
            json!({ "data": { "name": "no" } }),
        )
        .await
        .error(404);

    // The limited caller may add and remove the properties in its access. If it replaces the list
    // of properties, the properties outside of its access stay assigned.
    assert_eq!(
        arrays(
            write("/add", &shared, json!({ "propertyIds": [loose] }))
                .await
                .data()
        ),
        four(&[mine, loose], &[across])
    );
    assert_eq!(
        arrays(
            write("", &shared, json!({ "propertyIds": [loose] }))
                .await
                .data()
        ),
        four(&[loose], &[across])
    );
    assert_eq!(read(&api, &shared).await, four(&[loose, theirs], &[across]));
    assert_eq!(
        arrays(
            write("/remove", &shared, json!({ "propertyIds": [loose] }))
                .await
                .data()
        ),
        four(&[], &[across])
    );
    assert_eq!(
        arrays(write("", &shared, json!({})).await.data()),
        four(&[], &[across])
    );
    assert_eq!(read(&api, &shared).await, four(&[theirs], &[across]));
    for fields in [
        json!({ "propertyIds": [theirs] }),
        json!({ "propertyIds": [mine, other] }),
        json!({ "tagIds": [across] }),
        json!({ "propertyIds": [new_id()] }),
    ] {
        for path in ["", "/add", "/remove"] {
            write(path, &shared, fields.clone()).await.error(404);
        }
    }
    assert_eq!(read(&api, &shared).await, four(&[theirs], &[across]));
    // The caller may assign a property to a portal that so far serves only properties outside the
    // caller's access. `assignPortalToProperty` allows the same. The property leaves its previous
    // portal.
    scope(&api, &shared, json!({ "propertyIds": [mine] })).await;
    assert_eq!(
        arrays(
            write("/add", &foreign, json!({ "propertyIds": [mine] }))
                .await
                .data()
        ),
        four(&[mine], &[])
    );
    assert_eq!(read(&api, &shared).await, four(&[theirs], &[across]));
    assert_eq!(read(&api, &foreign).await, four(&[mine, other], &[]));
    // The caller may assign the default portal while the caller can read this portal. That is the
    // case while the portal serves one of the caller's properties, or no property at all.
    write("/add", &default, json!({ "propertyIds": [loose] }))
        .await
        .data();
    write("/add", &foreign, json!({ "propertyIds": [loose] }))
        .await
        .data();
    let rest = org.property(None, &[]).await;
    for path in ["", "/add", "/remove"] {
        write(path, &default, json!({ "propertyIds": [loose] }))
            .await
            .error(404);
        write(
            path,
            &new_id().to_string(),
            json!({ "propertyIds": [loose] }),
        )
        .await
        .error(404);
    }
    limited
        .post(
            &format!("/properties/{loose}/assign-portal"),
            json!({ "portalSettingsId": default }),
        )
        .await
        .error(403);
    assert_eq!(
        read(&api, &default).await,
        four(&[], &[]),
        "{rest} has it by falling back"
    );
}

on_both!(a_limited_caller_sees_only_visible_groups_and_tags);
async fn a_limited_caller_sees_only_visible_groups_and_tags(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, foreign_group, empty_group) =
        (org.group().await, org.group().await, org.group().await);
    let (inside, foreign, across, empty) = (
        org.tag().await,
        org.tag().await,
        org.tag().await,
        org.tag().await,
    );
    let mine = org.property(Some(group), &[across, inside]).await;
    org.property(Some(foreign_group), &[foreign, across]).await;
    let beside = org.property(Some(group), &[inside]).await;
    let limited = org.limited(&[mine, beside]).await;
    let listed = |path: &str| {
        let (api, path) = (limited.clone(), path.to_owned());
        async move { api.get(&path).await }
    };
    let sorted = |mut ids: Vec<Uuid>| {
        ids.sort();
        ids
    };
    let tags = listed("/tags").await;
    assert_eq!(ids(&tags.data()), sorted(vec![inside, across]));
    assert_eq!(
        tags.body["meta"]["pagination"],
        json!({ "limit": 100, "offset": 0, "total": 2 })
    );
    let groups = listed("/property-groups").await;
    assert_eq!(
        (
            ids(&groups.data()),
            &groups.body["meta"]["pagination"]["total"]
        ),
        (vec![group], &json!(1))
    );
    let all = api.get("/tags").await.data();
    let rows = tags.data();
    assert_eq!(
        rows[0],
        *all.as_array()
            .unwrap()
            .iter()
            .find(|row| row["id"] == rows[0]["id"])
            .unwrap(),
        "the same shape"
    );
    let paged = listed("/tags?limit=1&offset=1").await;
    assert_eq!(
        (&paged.data()[0], paged.body["meta"]["pagination"].clone()),
        (&rows[1], json!({ "limit": 1, "offset": 1, "total": 2 }))
    );
    assert_eq!(
        ids(&api.get("/tags").await.data()),
        sorted(vec![inside, foreign, across, empty])
    );
    assert_eq!(
        ids(&api.get("/property-groups").await.data()),
        sorted(vec![group, foreign_group, empty_group])
    );
    // When the property has left its group, the caller no longer sees the group.
    for flat in [mine, beside] {
        org.put_record(
            "property",
            flat,
            json!({
                "name": "Flat",
                "timezone": "Europe/Madrid",
                "country": "ES",
                "tagIds": [empty],
            }),
        )
        .await;
    }
    assert_eq!(
        (
            ids(&listed("/property-groups").await.data()),
            ids(&listed("/tags").await.data())
        ),
        (vec![], vec![empty])
    );
    let nobody = org.limited(&[]).await;
    assert_eq!(
        nobody.get("/tags").await.body["meta"]["pagination"]["total"],
        0
    );
}

on_both!(access_to_an_instruction_follows_its_scope);
async fn access_to_an_instruction_follows_its_scope(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (inside, foreign, across) = (org.tag().await, org.tag().await, org.tag().await);
    let (group, empty) = (org.group().await, org.group().await);
    let mine = org.property(Some(group), &[inside, across]).await;
    let theirs = org.property(None, &[foreign, across]).await;
    let limited = org.limited(&[mine]).await;
    // Each row has the `scopeId` of an instruction, whether the caller sees the instruction, and
    // whether the caller may delete it.
    for (of, is_seen, is_theirs) in [
        (mine, true, true),
        (inside, true, true),
        (group, true, true),
        (across, true, false),
        (theirs, false, false),
        (foreign, false, false),
        (empty, false, false),
        (new_id(), true, true),
    ] {
        let instruction = org
            .record(
                "instruction",
                json!({ "scopeId": of, "title": "Ring the bell", "position": 0 }),
            )
            .await;
        assert_eq!(ids(&api.get("/instructions").await.data()), [instruction]);
        assert_eq!(
            ids(&limited.get("/instructions").await.data()) == [instruction],
            is_seen,
            "{of}"
        );
        let path = format!("/instructions/{instruction}");
        let status = limited
            .send(reqwest::Method::DELETE, &path, None)
            .await
            .status;
        assert_eq!(status, if is_theirs { 200 } else { 404 }, "{of}");
        assert_eq!(
            api.send(reqwest::Method::DELETE, &path, None).await.status,
            if is_theirs { 404 } else { 200 },
            "{of}"
        );
    }
}
