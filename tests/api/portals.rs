//! Tests of portals over HTTP (rules: portals).

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};

use test_support::{App, new_id, on_both};

on_both!(a_new_portal_has_the_defaults_of_the_spec);
async fn a_new_portal_has_the_defaults_of_the_spec(app: App) {
    let api = app.org().await.key().await;
    let mut portal = api
        .post("/portals", json!({ "name": "Casa Azul" }))
        .await
        .data();
    let id = portal["id"].take();
    assert!(
        id.as_str()
            .unwrap()
            .parse::<uuid::Uuid>()
            .unwrap()
            .get_version_num()
            == 7
    );
    insta::assert_json_snapshot!("new_portal", portal);
}

on_both!(every_wrong_field_of_a_portal_is_reported);
async fn every_wrong_field_of_a_portal_is_reported(app: App) {
    let api = app.org().await.key().await;
    let body = json!({
        "name": "",
        "supportNotes": "x".repeat(2001),
        "isChatEnabled": "yes",
        "nmae": "x",
        "supportPhone": "12",
        "id": new_id(),
        "supportEmail": "nobody",
        "specialOfferUrl": "ftp://x",
        "communicationMethod": "pigeon",
        "brandingId": "x",
        "excludedQuickAccessTypes": ["uber", "tram"],
        "isDefault": null,
    });
    let response = api.post("/portals", body).await;
    assert_eq!(
        response.issues(),
        [
            "brandingId",
            "communicationMethod",
            "excludedQuickAccessTypes.1",
            "id",
            "isChatEnabled",
            "isDefault",
            "name",
            "nmae",
            "specialOfferUrl",
            "supportEmail",
            "supportNotes",
            "supportPhone",
        ]
    );
    let issues = response.body["error"]["details"]["issues"]
        .as_array()
        .unwrap()
        .clone();
    let message = |field: &str| {
        issues
            .iter()
            .find(|issue| issue["path"] == json!([field]))
            .unwrap()["message"]
            .clone()
    };
    assert_eq!(
        (message("nmae"), message("id")),
        (
            json!("unrecognized field; did you mean \"name\"?"),
            json!("read-only field")
        )
    );
    let response = api
        .patch(
            &format!("/portals/{}", new_id()),
            json!({ "data": { "nmae": 1, "createdAt": 1 }, "dta": {} }),
        )
        .await;
    assert_eq!(response.issues(), ["data.createdAt", "data.nmae", "dta"]);
    assert_eq!(api.post("/portals", json!([])).await.issues(), [""]);
    assert_eq!(
        api.post("/portals", json!({ "name": " \u{a0} " }))
            .await
            .issues(),
        ["name"]
    );
    assert_eq!(
        api.post("/portals", json!({ "name": "x".repeat(61) }))
            .await
            .issues(),
        ["name"]
    );
    assert_eq!(
        api.post("/portals", json!({ "name": "\u{1F3E0}".repeat(60) }))
            .await
            .status,
        201
    );
}

on_both!(phone_numbers_use_the_country_and_contact_methods_need_them);
async fn phone_numbers_use_the_country_and_contact_methods_need_them(app: App) {
    let api = app.org().await.key().await;
    let body =
        json!({ "name": "A", "supportPhone": "93 412 34 56", "communicationMethod": "phone" });
    let portal = api.post("/portals", body).await.data();
    assert_eq!(portal["supportPhone"], "+34934123456");
    let path = format!("/portals/{}", portal["id"].as_str().unwrap());
    assert_eq!(
        api.post(
            "/portals",
            json!({ "name": "B", "communicationMethod": "text" })
        )
        .await
        .issues(),
        ["communicationMethod"]
    );
    assert_eq!(
        api.patch(&path, json!({ "data": { "supportPhone": null } }))
            .await
            .issues(),
        ["data.supportPhone"]
    );
    assert_eq!(
        api.patch(
            &path,
            json!({ "data": { "communicationMethod": "whatsapp" } })
        )
        .await
        .issues(),
        ["data.communicationMethod"]
    );
    let both = json!({ "data": { "supportPhone": null, "communicationMethod": null } });
    assert_eq!(
        api.patch(&path, both).await.data()["communicationMethod"],
        Value::Null
    );
    let american = app
        .org_with(json!({ "name": "Brooklyn" }))
        .await
        .key()
        .await;
    let portal = american
        .post(
            "/portals",
            json!({ "name": "A", "supportPhone": "(415) 555-2671" }),
        )
        .await
        .data();
    assert_eq!(portal["supportPhone"], "+14155552671");
}

on_both!(portal_names_are_unique_regardless_of_case);
async fn portal_names_are_unique_regardless_of_case(app: App) {
    let api = app.org().await.key().await;
    let first = api
        .post("/portals", json!({ "name": "Stra\u{df}e" }))
        .await
        .data();
    let error = api
        .post("/portals", json!({ "name": " STRASSE " }))
        .await
        .error(409);
    assert_eq!(
        (&error["type"], &error["code"]),
        (&json!("conflict_error"), &json!("CONFLICT"))
    );
    let other = api
        .post("/portals", json!({ "name": " Other " }))
        .await
        .data();
    assert_eq!(other["name"], " Other ");
    let path = format!("/portals/{}", other["id"].as_str().unwrap());
    api.patch(&path, json!({ "data": { "name": "strasse" } }))
        .await
        .error(409);
    let own = format!("/portals/{}", first["id"].as_str().unwrap());
    assert_eq!(
        api.patch(&own, json!({ "data": { "name": "STRASSE" } }))
            .await
            .data()["name"],
        "STRASSE"
    );
}

on_both!(only_the_last_chosen_portal_is_the_default);
async fn only_the_last_chosen_portal_is_the_default(app: App) {
    let api = app.org().await.key().await;
    let first = api
        .post("/portals", json!({ "name": "One", "isDefault": true }))
        .await
        .data();
    api.post("/portals", json!({ "name": "Two", "isDefault": true }))
        .await
        .data();
    let defaults = api.get("/portals").await.data();
    let defaults: Vec<_> = defaults
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["isDefault"].clone())
        .collect();
    assert_eq!(defaults, [json!(false), json!(true)]);
    let path = format!("/portals/{}", first["id"].as_str().unwrap());
    let one = api.get(&path).await.data();
    assert!(
        one["updatedAt"].as_str() > first["updatedAt"].as_str(),
        "losing the flag is a change"
    );
    let again = api
        .patch(&path, json!({ "data": { "isDefault": true } }))
        .await
        .data();
    assert_eq!(again["isDefault"], true);
    api.patch(&path, json!({ "data": { "isDefault": false } }))
        .await
        .error(409);
}

on_both!(a_stale_update_of_a_portal_gets_409);
async fn a_stale_update_of_a_portal_gets_409(app: App) {
    let api = app.org().await.key().await;
    let portal = api.post("/portals", json!({ "name": "One" })).await.data();
    let path = format!("/portals/{}", portal["id"].as_str().unwrap());
    let stale = json!({
        "data": { "supportNotes": "hi" },
        "expectedUpdatedAt": "2020-01-01T00:00:00.000Z",
    });
    api.patch(&path, stale).await.error(409);
    // This timestamp equals `updatedAt` of the portal, but has another UTC offset. The service
    // accepts it.
    let fresh = json!({
        "data": { "supportNotes": "hi" },
        "expectedUpdatedAt": "2026-11-21T10:30:00.000+01:00",
    });
    let changed = api.patch(&path, fresh).await.data();
    assert_eq!(
        changed["updatedAt"], "2026-11-21T09:30:00.001Z",
        "it advances though the clock stands still"
    );
    let unchanged = api
        .patch(&path, json!({ "data": { "supportNotes": "hi" } }))
        .await
        .data();
    assert_eq!(unchanged["updatedAt"], changed["updatedAt"]);
    assert_eq!(
        api.patch(
            &path,
            json!({ "data": {}, "expectedUpdatedAt": "yesterday" })
        )
        .await
        .issues(),
        ["expectedUpdatedAt"]
    );
    assert_eq!(api.patch(&path, json!({})).await.issues(), ["data"]);
}

on_both!(portal_copy_is_written_as_text_and_read_as_a_translation);
async fn portal_copy_is_written_as_text_and_read_as_a_translation(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let portal = api
        .post(
            "/portals",
            json!({ "name": "One", "specialOfferTitle": "  Late check-out  " }),
        )
        .await
        .data();
    assert!(portal.get("specialOfferTitle").is_none());
    let entries = format!(
        "/translations/{}/entries",
        portal["specialOfferTitleId"].as_str().unwrap()
    );
    let read = api.get(&entries).await.data();
    assert_eq!(
        (&read[0]["language"], &read[0]["text"]),
        (&json!("en"), &json!("Late check-out"))
    );
    let path = format!("/portals/{}", portal["id"].as_str().unwrap());
    let weak = org.key_without(Permission::ManageOrganization).await;
    weak.patch(
        &path,
        json!({ "data": { "specialOfferTitle": "Other", "name": "Two" } }),
    )
    .await
    .error(403);
    assert_eq!(
        api.get(&path).await.data()["name"],
        "One",
        "nothing is saved"
    );
    weak.post(
        "/portals",
        json!({ "name": "Three", "precheckinPromptMessage": "Hi" }),
    )
    .await
    .error(403);
    let same = weak
        .patch(
            &path,
            json!({ "data": { "specialOfferTitle": "Late check-out ", "specialOfferType": "" } }),
        )
        .await
        .data();
    assert_eq!(same["updatedAt"], portal["updatedAt"]);
    let changed = api
        .patch(&path, json!({ "data": { "specialOfferTitle": "Later" } }))
        .await
        .data();
    assert_eq!(
        changed["specialOfferTitleId"],
        portal["specialOfferTitleId"]
    );
    assert_ne!(changed["updatedAt"], portal["updatedAt"]);
    assert_eq!(api.get(&entries).await.data()[0]["text"], "Later");
    weak.patch(&path, json!({ "data": { "specialOfferTitle": null } }))
        .await
        .error(403);
    assert_eq!(
        api.patch(&path, json!({ "data": { "specialOfferTitle": null } }))
            .await
            .data()["specialOfferTitleId"],
        Value::Null
    );
    weak.patch(&path, json!({ "data": { "specialOfferTitle": null } }))
        .await
        .data();
    let long = json!({
        "name": "Long",
        "specialOfferTitle": format!(" {} ", "x".repeat(200)),
        "precheckinPromptMessage": "x".repeat(6000),
    });
    api.post("/portals", long).await.data();
    let longer = json!({
        "name": "Longer",
        "specialOfferTitle": "x".repeat(201),
        "precheckinPromptMessage": "x".repeat(6001),
    });
    assert_eq!(
        api.post("/portals", longer).await.issues(),
        ["precheckinPromptMessage", "specialOfferTitle"]
    );
}

on_both!(unknown_and_foreign_portals_are_404);
async fn unknown_and_foreign_portals_are_404(app: App) {
    let api = app.org().await.key().await;
    let stranger = app.org().await.key().await;
    let portal = api.post("/portals", json!({ "name": "Mine" })).await.data();
    let path = format!("/portals/{}", portal["id"].as_str().unwrap());
    for (method, path) in [
        (Method::GET, path.as_str()),
        (Method::GET, "/portals/nonsense"),
        (Method::GET, "/portals/"),
    ] {
        stranger.send(method, path, None).await.error(404);
    }
    stranger
        .patch(&path, json!({ "data": { "name": "Theirs" } }))
        .await
        .error(404);
    assert_eq!(stranger.get("/portals").await.data(), json!([]));
    api.get(&path.to_uppercase().replace("/PORTALS", "/portals"))
        .await
        .data();
    let branding = stranger
        .post("/portal-brandings", json!({ "name": "Look" }))
        .await
        .data();
    api.post(
        "/portals",
        json!({ "name": "Other", "brandingId": branding["id"] }),
    )
    .await
    .error(404);
    api.patch(&path, json!({ "data": { "brandingId": branding["id"] } }))
        .await
        .error(404);
}
