//! Callers limited to some properties (spec: Property-limited OAuth callers; contract: Limited callers).

use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Api, App, new_id, on_both};

async fn portal(api: &Api, body: Value) -> String {
    api.post("/portals", body).await.data()["id"].as_str().unwrap().to_owned()
}

async fn scope(api: &Api, portal: &str, fields: Value) {
    let mut body = json!({ "entityType": "portal_settings", "entityId": portal });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    api.post("/entity-scopes/add", body).await.data();
}

fn ids(rows: &Value) -> Vec<Uuid> {
    let mut ids: Vec<Uuid> = rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().parse().unwrap()).collect();
    ids.sort();
    ids
}

on_both! {
    async fn a_portal_is_readable_and_writable_by_what_it_serves(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let group = org.group().await;
        let (mine, theirs) = (org.property(Some(group), &[]).await, org.property(Some(group), &[]).await);
        let (idle, own, shared, foreign) = (
            portal(&api, json!({ "name": "idle" })).await, portal(&api, json!({ "name": "own" })).await,
            portal(&api, json!({ "name": "shared" })).await, portal(&api, json!({ "name": "foreign" })).await,
        );
        scope(&api, &own, json!({ "propertyIds": [mine] })).await;
        scope(&api, &foreign, json!({ "propertyIds": [theirs] })).await;
        let limited = org.limited(&[mine]).await;
        let rename = |id: &str, name: &str| { let (path, body) = (format!("/portals/{id}"), json!({ "data": { "name": name } })); let api = limited.clone(); async move { api.patch(&path, body).await } };

        assert_eq!(limited.get("/portals").await.data().as_array().unwrap().len(), 4, "the list has every portal");
        limited.get(&format!("/portals/{own}")).await.data();
        limited.get(&format!("/portals/{idle}")).await.data();
        limited.get(&format!("/portals/{foreign}")).await.error(404);
        rename(&own, "mine").await.data();
        rename(&idle, "idle still").await.data();
        rename(&foreign, "no").await.error(404);

        // Both flats fall back to the portal of their group once nothing is assigned to them.
        scope(&api, &shared, json!({ "propertyGroupIds": [group] })).await;
        for flat in [mine, theirs] {
            api.post(&format!("/properties/{flat}/assign-portal"), json!({ "portalSettingsId": null })).await.data();
        }
        limited.get(&format!("/portals/{shared}")).await.data();
        rename(&shared, "no").await.error(404);
        limited.get(&format!("/portals/{foreign}")).await.data();

        let writable = ids(&limited.get("/portals?writableOnly=Yes").await.data());
        let mut expected: Vec<Uuid> = [&idle, &own, &foreign].iter().map(|id| id.parse().unwrap()).collect();
        expected.sort();
        assert_eq!(writable, expected);
        assert_eq!(api.get("/portals?writableOnly=true").await.data().as_array().unwrap().len(), 4);
    }

    async fn the_default_is_not_theirs_to_choose(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
        let default = portal(&api, json!({ "name": "default", "isDefault": true })).await;
        let own = portal(&api, json!({ "name": "own" })).await;
        let limited = org.limited(&[mine]).await;
        limited.post("/portals", json!({ "name": "new", "isDefault": true })).await.error(403);
        limited.patch(&format!("/portals/{own}"), json!({ "data": { "isDefault": true } })).await.error(403);
        let assign = format!("/properties/{mine}/assign-portal");
        limited.post(&assign, json!({ "portalSettingsId": default })).await.data();
        limited.post(&assign, json!({ "portalSettingsId": own })).await.data();
        // Now the default serves only the other flat: unreadable, the default, and serving something.
        limited.post(&assign, json!({ "portalSettingsId": default })).await.error(403);
        limited.post(&format!("/properties/{theirs}/assign-portal"), json!({ "portalSettingsId": own })).await.error(404);
    }

    async fn scopes_are_theirs_as_far_as_they_reach(app: App) {
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
            body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let (api, path) = (limited.clone(), format!("/entity-scopes{path}"));
            async move { api.post(&path, body).await }
        };
        assert_eq!(write("/add", json!({ "tagIds": [inside] })).await.data()["tagIds"], json!([inside]));
        for fields in [json!({ "tagIds": [across] }), json!({ "tagIds": [empty] }), json!({ "propertyIds": [theirs] }), json!({ "tagIds": [new_id()] })] {
            for path in ["", "/add", "/remove"] {
                write(path, fields.clone()).await.error(404);
            }
        }
        // Replacing leaves alone what they may not write; `across` is visible to them, `empty` is not.
        scope(&api, &own, json!({ "tagIds": [empty] })).await;
        let replaced = write("", json!({ "propertyIds": [mine] })).await.data();
        assert_eq!(replaced, json!({ "propertyIds": [mine], "propertyGroupIds": [], "tagIds": [], "portalSettingsIds": [] }));
        let all = api.get(&format!("/entity-scopes?entityType=portal_settings&entityId={own}")).await.data();
        assert_eq!(all["tagIds"], json!([empty]));
    }

    async fn records_are_theirs_as_far_as_they_reach(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
        let (stay, other, homeless) = (org.reservation(Some(mine)).await, org.reservation(Some(theirs)).await, org.reservation(None).await);
        let limited = org.limited(&[mine]).await;
        assert_eq!(ids(&limited.get("/properties").await.data()), [mine]);
        let listed = limited.get("/reservations").await;
        assert_eq!(ids(&listed.data()), [stay, homeless]);
        assert_eq!(listed.body["meta"]["pagination"], json!({ "limit": 20, "offset": 0, "total": 2 }));
        limited.get(&format!("/reservations/{stay}")).await.data();
        limited.get(&format!("/reservations/{other}")).await.error(404);
        api.get(&format!("/reservations/{other}")).await.data();
        limited.get(&format!("/reservations/{other}/guest-link")).await.error(404);
    }
}
