//! Brandings over HTTP (rules: brandings).

use serde_json::{Value, json};

use test_support::{App, new_id, on_both};

on_both!(a_branding_is_created_listed_and_changed);
async fn a_branding_is_created_listed_and_changed(app: App) {
    let api = app.org().await.key().await;
    let mut first = api
        .post(
            "/portal-brandings",
            json!({ "name": "Look", "showPoweredBy": true }),
        )
        .await
        .data();
    let id = first["id"].take();
    insta::assert_json_snapshot!("new_branding", first);
    app.clock.advance(std::time::Duration::from_secs(1));
    let body = json!({
        "name": "Look",
        "isDefault": true,
        "primaryColor": "#aB3",
        "facebookUrl": "https://facebook.com/x",
    });
    let second = api.post("/portal-brandings", body).await.data();
    assert_eq!(second["primaryColor"], "#aaBB33");
    let listed = api.get("/portal-brandings").await.data();
    assert_eq!((&listed[0]["id"], &listed[1]["id"]), (&second["id"], &id));

    let path = format!("/portal-brandings/{}", second["id"].as_str().unwrap());
    api.patch(&path, json!({ "data": { "isDefault": false } }))
        .await
        .error(409);
    let cleared =
        json!({ "data": { "facebookUrl": "", "backgroundColor": "#FFF", "nickname": "Blue" } });
    let changed = api.patch(&path, cleared).await.data();
    assert_eq!(
        (
            &changed["facebookUrl"],
            &changed["backgroundColor"],
            &changed["nickname"]
        ),
        (&Value::Null, &json!("#FFFFFF"), &json!("Blue"))
    );
    let stale = json!({ "data": { "name": "X" }, "expectedUpdatedAt": second["updatedAt"] });
    api.patch(&path, stale).await.error(409);
    api.patch(
        &format!("/portal-brandings/{}", new_id()),
        json!({ "data": {} }),
    )
    .await
    .error(404);
}

on_both!(every_wrong_field_of_a_branding_is_named);
async fn every_wrong_field_of_a_branding_is_named(app: App) {
    let api = app.org().await.key().await;
    let body = json!({
        "name": " ",
        "nickname": null,
        "textColor": null,
        "primaryColor": "blue",
        "footerColor": "#12345",
        "facebookUrl": "facebook.com",
        "calloutMessage": "x".repeat(2001),
        "isDefault": 1,
    });
    assert_eq!(
        api.post("/portal-brandings", body).await.issues(),
        [
            "calloutMessage",
            "facebookUrl",
            "footerColor",
            "isDefault",
            "name",
            "nickname",
            "primaryColor",
            "textColor",
        ]
    );
    let branding = api
        .post("/portal-brandings", json!({ "name": "Look" }))
        .await
        .data();
    let path = format!("/portal-brandings/{}", branding["id"].as_str().unwrap());
    assert_eq!(
        api.patch(
            &path,
            json!({ "data": { "calloutMessage": "Hi", "nickname": " " } })
        )
        .await
        .issues(),
        ["data.calloutMessage", "data.nickname"]
    );
}

on_both!(linked_records_must_exist_and_be_of_the_right_kind);
async fn linked_records_must_exist_and_be_of_the_right_kind(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let guest = org
        .record(
            "custom_url",
            json!({ "host": "stay.example.com", "isGuestPortal": true }),
        )
        .await;
    let other = org
        .record(
            "custom_url",
            json!({ "host": "www.example.com", "isGuestPortal": false }),
        )
        .await;
    api.post(
        "/portal-brandings",
        json!({ "name": "L", "customUrlId": new_id() }),
    )
    .await
    .error(404);
    assert_eq!(
        api.post(
            "/portal-brandings",
            json!({ "name": "L", "customUrlId": other })
        )
        .await
        .issues(),
        ["customUrlId"]
    );
    let branding = api
        .post(
            "/portal-brandings",
            json!({ "name": "L", "customUrlId": guest, "calloutMessage": "Hello" }),
        )
        .await
        .data();
    assert_eq!(branding["customUrlId"], json!(guest));
    let text = api
        .post(
            "/translations",
            json!({ "sourceTable": "portal_branding", "text": "Hola", "language": "es" }),
        )
        .await
        .data();
    let wrong = api
        .post(
            "/translations",
            json!({ "sourceTable": "manual", "text": "Hola" }),
        )
        .await
        .data();
    let path = format!("/portal-brandings/{}", branding["id"].as_str().unwrap());
    let linked = api
        .patch(&path, json!({ "data": { "calloutMessageId": text["id"] } }))
        .await
        .data();
    assert_eq!(linked["calloutMessageId"], text["id"]);
    assert_eq!(
        api.patch(
            &path,
            json!({ "data": { "calloutMessageId": wrong["id"] } })
        )
        .await
        .issues(),
        ["data.calloutMessageId"]
    );
    let stale = |link: Value| {
        json!({
            "data": { "calloutMessageId": link },
            "expectedUpdatedAt": "2020-01-01T00:00:00.000Z",
        })
    };
    api.patch(&path, stale(wrong["id"].clone()))
        .await
        .error(409);
    api.patch(&path, stale(json!(new_id()))).await.error(404);
    api.patch(&path, json!({ "data": { "calloutMessageId": new_id() } }))
        .await
        .error(404);
    org.delete_record("custom_url", guest).await;
    assert_eq!(
        api.get("/portal-brandings").await.data()[0]["customUrlId"],
        Value::Null,
        "what is gone is pointed at no more"
    );
}
