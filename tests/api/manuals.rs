//! Tests of manuals over HTTP: fields, texts, covers and visibility rules (rules: manuals;
//! assignments#entity-scopes).

use std::time::Duration;

use serde_json::{Value, json};
use test_support::house::{id, with};
use test_support::{Api, ApiResponse, App, arrays, new_id, of_arrays, on_both};

use crate::precheck::{keys, translation};

const NOW: &str = "2026-11-21T09:30:00.000Z";

pub async fn try_create(api: &Api, body: Value) -> ApiResponse {
    api.post("/portal-manuals", body).await
}

/// Creates a manual whose title is its nickname.
pub async fn create(api: &Api, nickname: &str, more: Value) -> Value {
    try_create(
        api,
        with(json!({ "nickname": nickname, "title": nickname }), more),
    )
    .await
    .data()
}

pub async fn change(api: &Api, manual: &Value, data: Value) -> ApiResponse {
    api.patch(
        &format!("/portal-manuals/{}", id(&manual["id"])),
        json!({ "data": data }),
    )
    .await
}

/// Writes the assignments of a manual. `how` is the end of the path: empty to replace them, `/add`
/// or `/remove`.
pub async fn scope(api: &Api, how: &str, manual: &Value, targets: Value) -> ApiResponse {
    of_arrays(
        api.post(
            &format!("/entity-scopes{how}"),
            with(
                json!({ "entityType": "manual", "entityId": manual["id"] }),
                targets,
            ),
        )
        .await,
    )
}

pub async fn scopes(api: &Api, manual: &Value) -> Value {
    arrays(
        api.get(&format!(
            "/entity-scopes?entityType=manual&entityId={}",
            id(&manual["id"])
        ))
        .await
        .data(),
    )
}

/// Returns an object with all four arrays of assignments. Arrays that `some` does not contain are
/// empty.
pub fn four(some: Value) -> Value {
    with(
        json!({ "propertyIds": [], "propertyGroupIds": [], "tagIds": [], "portalSettingsIds": [] }),
        some,
    )
}

/// Returns a manual as the list of manuals shows it.
pub async fn row(api: &Api, manual: &Value) -> Value {
    let rows = api.get("/portal-manuals").await.data();
    rows.as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"] == manual["id"])
        .unwrap()
        .clone()
}

pub fn nicknames(rows: &Value) -> Vec<&str> {
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| row["nickname"].as_str().unwrap())
        .collect()
}

/// Returns the nicknames of a list of manuals, joined by spaces.
pub async fn listed(api: &Api, query: &str) -> String {
    nicknames(&api.get(&format!("/portal-manuals?{query}")).await.data()).join(" ")
}

/// Returns for each entry of a text the language, the text, and whether the entry is a machine
/// translation.
pub async fn texts(api: &Api, translation: &Value) -> Value {
    let entries = api
        .get(&format!("/translations/{}/entries", id(translation)))
        .await
        .data();
    entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            json!([
                entry["language"],
                entry["text"],
                entry["isMachineTranslated"]
            ])
        })
        .collect()
}

/// Returns whether an image record exists. Updates the manual `probe` with a reference to the image
/// and with an invalid `titleId`. The service reports a missing image with 404 before it reports
/// the invalid field with 400.
async fn is_there(api: &Api, probe: &Value, image: &Value) -> bool {
    match change(api, probe, json!({ "imageId": image, "titleId": null }))
        .await
        .status
    {
        400 => true,
        404 => false,
        status => panic!("{status}"),
    }
}

/// Returns the values of fields that a new manual has if the request does not contain them.
fn defaults() -> Value {
    json!({
        "isActive": false,
        "manualCategoryId": null,
        "descriptionId": null,
        "displayMode": "multi_lingual_text",
        "customFieldId": null,
        "videoUrl": null,
        "internalDescription": null,
        "imageId": null,
        "iconName": null,
        "visibilityRules": [],
    })
}

// Tests of the fields of manuals.
on_both!(a_new_manual_has_the_defaults_of_the_spec);
async fn a_new_manual_has_the_defaults_of_the_spec(app: App) {
    let api = app.org().await.key().await;
    let response = try_create(&api, json!({ "nickname": " Wi-Fi ", "title": "Internet" })).await;
    let created = response.data();
    assert_eq!(
        (response.status, id(&created["id"]).get_version_num()),
        (201, 7)
    );
    let own = json!({
        "id": created["id"],
        "nickname": " Wi-Fi ",
        "titleId": created["titleId"],
        "createdAt": NOW,
        "updatedAt": NOW,
    });
    assert_eq!(created, with(defaults(), own));
    assert_eq!(
        texts(&api, &created["titleId"]).await,
        json!([["en", "Internet", false]])
    );
    assert_eq!(change(&api, &created, json!({})).await.data(), created);
    assert_eq!(
        row(&api, &created).await,
        with(created.clone(), json!({ "imageUrl": null }))
    );
    assert_eq!(
        scopes(&api, &created).await,
        four(json!({})),
        "without a property it is the organization's"
    );
    let list = api.get("/portal-manuals").await;
    assert_eq!(list.body["meta"].get("pagination"), None);

    let nulls = json!({
        "description": null,
        "titleId": null,
        "descriptionId": null,
        "manualCategoryId": null,
        "customFieldId": null,
        "videoUrl": null,
        "internalDescription": null,
        "iconName": null,
        "imageUrl": null,
        "propertyId": null,
    });
    let other = create(&api, " Wi-Fi ", nulls).await;
    assert_eq!(
        other,
        with(
            created,
            json!({ "id": other["id"], "titleId": other["titleId"] })
        ),
        "null on create is nothing said"
    );
}

on_both!(written_manual_fields_are_read_back);
async fn written_manual_fields_are_read_back(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let category = api
        .post("/portal-manual-categories", json!({ "title": "Arrival" }))
        .await
        .data()["id"]
        .clone();
    let fields = json!({
        "isActive": true,
        "manualCategoryId": category,
        "titleId": translation(&api, "manual").await,
        "descriptionId": translation(&api, "manual").await,
        "videoUrl": "https://Video.example/a?b=c#d",
        "internalDescription": " For staff ",
        "iconName": "no-such-icon",
        "visibilityRules": [
            {
                "ruleCategory": "length_of_stay",
                "lengthOfStayFromDays": 2,
                "lengthOfStayToDays": 2,
            },
        ],
    });
    let created = try_create(
        &api,
        with(
            json!({ "nickname": "Wi-Fi", "propertyId": flat }),
            fields.clone(),
        ),
    )
    .await
    .data();
    assert_eq!(with(created.clone(), fields.clone()), created);
    assert_eq!(
        scopes(&api, &created).await,
        four(json!({ "propertyIds": [flat] }))
    );
    let written = create(&api, "Wi-Fi", json!({ "description": "**Casa**\n" })).await;
    assert_eq!(
        texts(&api, &written["descriptionId"]).await,
        json!([["en", "**Casa**\n", false]])
    );
    let changed = change(
        &api,
        &written,
        with(fields.clone(), json!({ "nickname": "Internet" })),
    )
    .await;
    assert_eq!(
        (changed.status, keys(&changed.data())),
        (200, keys(&created))
    );
    assert_eq!(
        with(
            changed.data(),
            with(fields, json!({ "nickname": "Internet" }))
        ),
        changed.data()
    );
    let cleared = json!({
        "isActive": false,
        "manualCategoryId": null,
        "descriptionId": null,
        "videoUrl": null,
        "internalDescription": null,
        "iconName": null,
        "visibilityRules": [],
    });
    let changed = change(&api, &written, cleared.clone()).await.data();
    assert_eq!(with(changed.clone(), cleared), changed);
}

on_both!(every_wrong_field_of_a_manual_is_reported);
async fn every_wrong_field_of_a_manual_is_reported(app: App) {
    let api = app.org().await.key().await;
    let body = json!({
        "nickname": " \u{a0} ",
        "title": "x".repeat(201),
        "descriptionId": "x",
        "manualCategoryId": "x",
        "displayMode": "html",
        "customFieldId": 7,
        "videoUrl": "ftp://a.example/v",
        "internalDescription": 7,
        "iconName": 7,
        "imageUrl": "a.jpg",
        "imageId": new_id(),
        "visibilityRules": {},
        "isActive": "yes",
        "propertyId": "x",
        "nicknme": 1,
        "id": new_id(),
        "createdAt": NOW,
        "updatedAt": NOW,
    });
    let response = try_create(&api, body).await;
    assert_eq!(
        response.issues(),
        [
            "createdAt",
            "customFieldId",
            "descriptionId",
            "displayMode",
            "iconName",
            "id",
            "imageId",
            "imageUrl",
            "internalDescription",
            "isActive",
            "manualCategoryId",
            "nickname",
            "nicknme",
            "propertyId",
            "title",
            "updatedAt",
            "videoUrl",
            "visibilityRules",
        ]
    );
    let issues = response.body["error"]["details"]["issues"]
        .as_array()
        .unwrap()
        .clone();
    for (field, message) in [
        ("nicknme", "unrecognized field; did you mean \"nickname\"?"),
        ("id", "read-only field"),
        ("updatedAt", "read-only field"),
    ] {
        assert!(
            issues
                .iter()
                .any(|issue| issue["path"] == json!([field]) && issue["message"] == message),
            "{field}"
        );
    }
    assert_eq!(
        try_create(&api, json!({ "title": "T" })).await.issues(),
        ["nickname"]
    );
    assert_eq!(api.get("/portal-manuals").await.data(), json!([]));

    let manual = create(&api, "Wi-Fi", json!({})).await;
    let path = format!("/portal-manuals/{}", id(&manual["id"]));
    let data = json!({
        "nickname": null,
        "title": "T",
        "description": "D",
        "propertyId": null,
        "isActive": null,
        "displayMode": null,
        "imageUrl": "a.jpg",
        "visibilityRules": null,
        "id": manual["id"],
        "nicknme": 1,
    });
    assert_eq!(
        api.patch(
            &path,
            json!({ "data": data, "expectedUpdatedAt": NOW, "dta": 1 })
        )
        .await
        .issues(),
        [
            "data.description",
            "data.displayMode",
            "data.id",
            "data.imageUrl",
            "data.isActive",
            "data.nickname",
            "data.nicknme",
            "data.propertyId",
            "data.title",
            "data.visibilityRules",
            "dta",
            "expectedUpdatedAt",
        ]
    );
    assert_eq!(
        api.patch(&path, json!({ "data": {}, "expectedUpdatedAt": NOW }))
            .await
            .issues(),
        ["expectedUpdatedAt"]
    );
    assert_eq!(api.patch(&path, json!({})).await.issues(), ["data"]);
    for (field, wrong) in [
        ("nickname", json!("  ")),
        ("nickname", json!("")),
        ("nickname", json!("x".repeat(201))),
        ("title", json!(" ")),
        ("title", json!("")),
        ("description", json!("x".repeat(5001))),
    ] {
        assert_eq!(
            try_create(&api, json!({ "nickname": "N", "title": "T", field: wrong }))
                .await
                .issues(),
            [field]
        );
        assert_eq!(
            change(&api, &manual, json!({ field: wrong }))
                .await
                .issues(),
            [format!("data.{field}")]
        );
    }
    let longest = "\u{1F3E0}".repeat(200);
    let created = create(
        &api,
        &longest,
        json!({ "description": "\u{1F3E0}".repeat(5000) }),
    )
    .await;
    assert_eq!(
        change(&api, &manual, json!({ "nickname": longest }))
            .await
            .data()["nickname"],
        created["nickname"]
    );
}

on_both!(cross_field_faults_are_reported_together);
async fn cross_field_faults_are_reported_together(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let field = org
        .record("custom_field", json!({ "name": "Door code" }))
        .await;
    let wrong = json!({
        "customFieldId": field,
        "imageUrl": "https://a.example/1.jpg",
        "iconName": "wifi",
        "visibilityRules": [
            {
                "ruleCategory": "length_of_stay",
                "lengthOfStayFromDays": 3,
                "lengthOfStayToDays": 2,
            },
            { "ruleCategory": "length_of_stay" },
        ],
    });
    let below = [
        "visibilityRules.0.lengthOfStayFromDays",
        "visibilityRules.1.ruleCategory",
    ];
    let fields = ["customFieldId", "iconName", "imageUrl", "title"]
        .into_iter()
        .chain(below)
        .collect::<Vec<_>>();
    assert_eq!(
        try_create(&api, with(json!({ "nickname": "N" }), wrong.clone()))
            .await
            .issues(),
        fields
    );
    let manual = create(&api, "N", json!({})).await;
    let fields: Vec<_> = ["customFieldId", "iconName", "imageUrl", "titleId"]
        .into_iter()
        .chain(below)
        .map(|field| format!("data.{field}"))
        .collect();
    assert_eq!(
        change(&api, &manual, with(wrong, json!({ "titleId": null })))
            .await
            .issues(),
        fields
    );
    assert_eq!(
        change(&api, &manual, json!({})).await.data(),
        manual,
        "nothing is saved"
    );
}

// Tests of the texts and display modes of manuals.
on_both!(a_title_is_given_as_text_or_as_id);
async fn a_title_is_given_as_text_or_as_id(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let field = org
        .record("custom_field", json!({ "name": "Door code" }))
        .await;
    let other = translation(&api, "manual").await;
    for body in [
        json!({}),
        json!({ "title": null }),
        json!({ "description": "D" }),
        json!({ "titleId": null }),
    ] {
        assert_eq!(
            try_create(&api, with(json!({ "nickname": "N" }), body))
                .await
                .issues(),
            ["title"]
        );
    }
    assert_eq!(
        try_create(&api, json!({ "nickname": "N", "titleId": other }))
            .await
            .data()["titleId"],
        other
    );
    let shown = try_create(
        &api,
        json!({ "nickname": "N", "displayMode": "pms_variable", "customFieldId": field }),
    )
    .await
    .data();
    assert_eq!(
        (&shown["titleId"], &shown["customFieldId"]),
        (&Value::Null, &json!(field))
    );
    let wrong_sort = translation(&api, "precheck_question").await;
    for beside in [other, json!(new_id()), wrong_sort, Value::Null] {
        let body = json!({ "titleId": beside, "description": "Mine too", "descriptionId": beside });
        let created = create(&api, "Mine", body).await;
        assert_ne!(created["titleId"], beside);
        assert_eq!(
            texts(&api, &created["titleId"]).await,
            json!([["en", "Mine", false]])
        );
        assert_eq!(
            texts(&api, &created["descriptionId"]).await,
            json!([["en", "Mine too", false]])
        );
    }
}

on_both!(cross_field_faults_are_reported_with_other_faults);
async fn cross_field_faults_are_reported_with_other_faults(app: App) {
    let api = app.org().await.key().await;
    for (path, body, expected) in [
        ("/portal-manuals", json!({}), &["nickname", "title"][..]),
        (
            "/portal-manuals",
            json!({ "nickname": "", "title": "T", "customFieldId": test_support::new_id() }),
            &["customFieldId", "nickname"],
        ),
        (
            "/portal-manuals",
            json!({ "nickname": "N", "titleId": "x" }),
            &["titleId"],
        ),
        (
            "/portal-manuals",
            json!({ "nickname": "N", "displayMode": "song" }),
            &["displayMode"],
        ),
        (
            "/precheck-steps",
            json!({ "stepType": "main", "minLos": 5, "maxLos": 1 }),
            &["minLos", "nickname"],
        ),
        (
            "/precheck-steps",
            json!({ "stepType": "main", "nickname": "", "displayTitleLanguage": "es" }),
            &["displayTitleLanguage", "nickname"],
        ),
        (
            "/precheck-steps",
            json!({
                "stepType": "main",
                "nickname": "N",
                "displayTitle": "",
                "displayTitleLanguage": "es",
            }),
            &["displayTitle"],
        ),
        (
            "/portals",
            json!({ "name": "", "communicationMethod": "phone" }),
            &["communicationMethod", "name"],
        ),
        (
            "/portals",
            json!({ "name": "", "communicationMethod": "phone", "supportPhone": "12" }),
            &["name", "supportPhone"],
        ),
    ] {
        assert_eq!(
            api.post(path, body.clone()).await.issues(),
            expected,
            "{path} {body}"
        );
    }
}

on_both!(an_invalid_id_is_reported_even_beside_a_text);
async fn an_invalid_id_is_reported_even_beside_a_text(app: App) {
    let api = app.org().await.key().await;
    for beside in [json!("nonsense"), json!(7)] {
        let body = json!({
            "nickname": "Mine",
            "title": "Mine",
            "titleId": beside,
            "description": "Mine too",
            "descriptionId": beside,
        });
        assert_eq!(
            api.post("/portal-manuals", body).await.issues(),
            ["descriptionId", "titleId"]
        );
    }
}

on_both!(the_display_mode_decides_whether_a_custom_field_is_required);
async fn the_display_mode_decides_whether_a_custom_field_is_required(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let field = org
        .record("custom_field", json!({ "name": "Door code" }))
        .await;
    let base = json!({ "nickname": "N", "title": "T" });
    for wrong in [
        json!({ "customFieldId": field }),
        json!({ "displayMode": "pms_variable" }),
        json!({ "displayMode": "pms_variable", "customFieldId": null }),
    ] {
        assert_eq!(
            try_create(&api, with(base.clone(), wrong)).await.issues(),
            ["customFieldId"]
        );
    }
    let manual = try_create(&api, base).await.data();
    let (text, variable) = ("multi_lingual_text", "pms_variable");
    // Each row is an update of the same manual, after the updates of the rows before it. If a
    // row names a field, the service refuses the update with an issue of that field.
    for (data, fault) in [
        (json!({ "displayMode": variable }), "customFieldId"),
        (
            json!({ "displayMode": variable, "customFieldId": null }),
            "customFieldId",
        ),
        (json!({ "customFieldId": field }), "customFieldId"),
        (json!({ "titleId": null }), "titleId"),
        (
            json!({ "displayMode": variable, "customFieldId": field }),
            "",
        ),
        (json!({ "customFieldId": null }), "customFieldId"),
        (json!({ "displayMode": text }), "customFieldId"),
        (json!({ "displayMode": text, "customFieldId": null }), ""),
        (
            json!({ "displayMode": variable, "customFieldId": field, "titleId": null }),
            "",
        ),
        (
            json!({ "displayMode": text, "customFieldId": null }),
            "titleId",
        ),
        (
            json!({ "displayMode": text, "customFieldId": null, "titleId": manual["titleId"] }),
            "",
        ),
    ] {
        let response = change(&api, &manual, data.clone()).await;
        if fault.is_empty() {
            assert_eq!(
                with(response.data(), data.clone()),
                response.data(),
                "{data}"
            );
        } else {
            assert_eq!(response.issues(), [format!("data.{fault}")], "{data}");
        }
    }
}

// Tests of the covers of manuals.
on_both!(a_cover_is_an_image_or_an_icon);
async fn a_cover_is_an_image_or_an_icon(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (one, two, bound) = (
        "https://Images.example/%7Ea.jpg?w=1#x",
        "http://images.example/2.jpg",
        "https://images.example/bound.jpg",
    );
    let record = org.record("image", json!({ "url": bound })).await;
    let both = json!({ "nickname": "N", "title": "T", "imageUrl": one, "iconName": "wifi" });
    assert_eq!(
        try_create(&api, both.clone()).await.issues(),
        ["iconName", "imageUrl"]
    );
    for (iconless, nothing) in [(json!(""), json!("")), (Value::Null, Value::Null)] {
        let created = try_create(&api, with(both.clone(), json!({ "iconName": iconless })))
            .await
            .data();
        assert_eq!(
            (
                &created["iconName"],
                row(&api, &created).await["imageUrl"].as_str()
            ),
            (&Value::Null, Some(one))
        );
        let created = try_create(&api, with(both.clone(), json!({ "imageUrl": nothing })))
            .await
            .data();
        assert_eq!(
            (&created["iconName"], &created["imageId"]),
            (&json!("wifi"), &Value::Null)
        );
    }
    let manual = create(&api, "Cover", json!({ "imageUrl": one })).await;
    assert_eq!(
        (
            manual.get("imageUrl"),
            row(&api, &manual).await["imageUrl"].as_str()
        ),
        (None, Some(one))
    );
    let (none, icon) = (Value::Null, json!("wifi"));
    for (data, image_url, icon_name) in [
        (json!({ "iconName": "wifi" }), &none, &icon),
        (json!({ "imageUrl": "" }), &none, &icon),
        (json!({ "imageUrl": null }), &none, &icon),
        (json!({ "imageId": null }), &none, &icon),
        (json!({ "imageUrl": two }), &json!(two), &none),
        (json!({ "iconName": null }), &json!(two), &none),
        (json!({ "iconName": "" }), &json!(two), &none),
        (
            json!({ "imageUrl": one, "iconName": "" }),
            &json!(one),
            &none,
        ),
        (json!({ "imageUrl": "" }), &none, &none),
        (json!({ "imageId": record }), &json!(bound), &none),
        (
            json!({ "iconName": "wifi", "imageUrl": null }),
            &none,
            &icon,
        ),
        (json!({ "imageId": record }), &json!(bound), &none),
        (json!({ "imageId": null }), &none, &none),
        (json!({ "imageUrl": two }), &json!(two), &none),
        (json!({ "imageUrl": null }), &none, &none),
        (json!({ "iconName": "wifi" }), &none, &icon),
        (json!({ "iconName": "" }), &none, &none),
        (json!({ "iconName": "wifi" }), &none, &icon),
        (json!({ "iconName": null }), &none, &none),
    ] {
        let changed = change(&api, &manual, data.clone()).await.data();
        assert_eq!(
            (&changed["iconName"], changed.get("imageUrl")),
            (icon_name, None),
            "{data}"
        );
        let row = row(&api, &manual).await;
        assert_eq!(
            (&row["imageUrl"], row["imageId"].is_null()),
            (image_url, image_url.is_null()),
            "{data}"
        );
    }
    for (data, fields) in [
        (
            json!({ "imageUrl": one, "iconName": "wifi" }),
            ["data.iconName", "data.imageUrl"],
        ),
        (
            json!({ "imageId": record, "iconName": "wifi" }),
            ["data.iconName", "data.imageId"],
        ),
        (
            json!({ "imageId": record, "imageUrl": one }),
            ["data.imageId", "data.imageUrl"],
        ),
    ] {
        assert_eq!(change(&api, &manual, data).await.issues(), fields);
    }
}

on_both!(a_replaced_image_of_a_manual_is_deleted);
async fn a_replaced_image_of_a_manual_is_deleted(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let url = |name: &str| json!({ "imageUrl": format!("https://a.example/{name}.jpg") });
    let probe = create(&api, "Probe", json!({})).await;
    let manual = create(&api, "Cover", url("first")).await;
    let mut image = manual["imageId"].clone();
    for next in [
        url("second"),
        json!({ "iconName": "wifi" }),
        url("third"),
        json!({ "imageUrl": null }),
        url("fourth"),
        json!({ "imageUrl": "" }),
    ] {
        assert!(image.is_null() || is_there(&api, &probe, &image).await);
        let before = std::mem::replace(
            &mut image,
            change(&api, &manual, next.clone()).await.data()["imageId"].clone(),
        );
        assert_ne!(image, before);
        assert!(
            before.is_null() || !is_there(&api, &probe, &before).await,
            "{next}"
        );
    }
    // When a manual gets another cover, the service does not delete the former image if the
    // platform created it, or if another manual uses it.
    let bound = json!(
        org.record("image", json!({ "url": "https://a.example/bound.jpg" }))
            .await
    );
    for next in [
        json!({ "iconName": "wifi" }),
        json!({ "imageUrl": "" }),
        json!({ "imageId": null }),
        url("other"),
    ] {
        change(&api, &manual, json!({ "imageId": bound }))
            .await
            .data();
        change(&api, &manual, next.clone()).await.data();
        assert!(is_there(&api, &probe, &bound).await, "{next}");
    }
    let shared = change(&api, &manual, url("shared")).await.data()["imageId"].clone();
    let other = create(&api, "Other", json!({})).await;
    change(&api, &other, json!({ "imageId": shared }))
        .await
        .data();
    change(&api, &manual, json!({ "imageUrl": null }))
        .await
        .data();
    assert!(is_there(&api, &probe, &shared).await);
    assert_eq!(
        row(&api, &other).await["imageUrl"],
        "https://a.example/shared.jpg"
    );
}

on_both!(setting_the_same_cover_changes_nothing);
async fn setting_the_same_cover_changes_nothing(app: App) {
    let api = app.org().await.key().await;
    let manual = create(
        &api,
        "Cover",
        json!({ "imageUrl": "https://a.example/1.jpg" }),
    )
    .await;
    assert_eq!(
        change(&api, &manual, json!({ "imageId": manual["imageId"] }))
            .await
            .data(),
        manual
    );
    assert_eq!(
        change(
            &api,
            &manual,
            json!({ "imageUrl": "https://a.example/1.jpg" })
        )
        .await
        .data(),
        manual
    );
}

// Tests of visibility rules, and of `updatedAt` of manuals.
on_both!(every_fault_of_a_rule_is_reported_by_path);
async fn every_fault_of_a_rule_is_reported_by_path(app: App) {
    let api = app.org().await.key().await;
    let manual = create(&api, "N", json!({})).await;
    let rule =
        |category: &str, fields: Value| json!([with(json!({ "ruleCategory": category }), fields)]);
    let window = |start: &str, end: &str| json!({ "startDate": start, "endDate": end });
    for (rules, paths) in [
        (Value::Null, ""),
        (json!({}), ""),
        (json!([7]), ".0"),
        (json!([{}]), ".0.ruleCategory"),
        (rule("weather", json!({})), ".0.ruleCategory"),
        (rule("length_of_stay", json!({ "nights": 3 })), ".0.nights"),
        (rule("relative_date", json!({})), ".0.startDateRelativeType"),
        (
            rule("relative_date", json!({ "daysBefore": 2, "daysAfter": 2 })),
            ".0.startDateRelativeType",
        ),
        (
            rule(
                "relative_date",
                json!({
                    "startDateRelativeType": "on_check_in",
                    "daysBefore": -1,
                    "daysBeforeTimeUnit": "week",
                    "endDateRelativeType": 7,
                    "daysAfter": 1.5,
                    "daysAfterTimeUnit": "minute",
                }),
            ),
            ".0.startDateRelativeType .0.daysBefore .0.daysBeforeTimeUnit .0.endDateRelativeType \
                .0.daysAfter .0.daysAfterTimeUnit",
        ),
        (rule("seasonal", json!({})), ".0.seasonalWindows"),
        (
            rule("seasonal", json!({ "seasonalWindows": [] })),
            ".0.seasonalWindows",
        ),
        (
            rule("seasonal", json!({ "seasonalWindows": [{}] })),
            ".0.seasonalWindows.0.startDate .0.seasonalWindows.0.endDate",
        ),
        (
            rule(
                "seasonal",
                json!({ "seasonalWindows": [window("2027-02-30", "summer")] }),
            ),
            ".0.seasonalWindows.0.startDate .0.seasonalWindows.0.endDate",
        ),
        (
            rule(
                "seasonal",
                json!({
                    "seasonalWindows": [
                        window("2027-06-01", "2027-06-01"),
                        window("2027-06-02", "2027-06-01"),
                    ],
                }),
            ),
            ".0.seasonalWindows.1.startDate",
        ),
        (
            rule(
                "length_of_stay",
                json!({ "lengthOfStayFromDays": -1, "lengthOfStayToDays": "3" }),
            ),
            ".0.lengthOfStayFromDays .0.lengthOfStayToDays",
        ),
        (
            rule(
                "length_of_stay",
                json!({ "lengthOfStayFromDays": 4, "lengthOfStayToDays": 3 }),
            ),
            ".0.lengthOfStayFromDays",
        ),
        (rule("booking_source", json!({})), ".0.sourceRuleType"),
        (
            rule("booking_source", json!({ "sourceRuleType": "some" })),
            ".0.sourceRuleType",
        ),
        (
            rule(
                "booking_source",
                json!({ "sourceRuleType": "only_selected" }),
            ),
            ".0.includedBookingSources",
        ),
        (
            rule(
                "booking_source",
                json!({ "sourceRuleType": "only_selected", "includedBookingSources": [] }),
            ),
            ".0.includedBookingSources",
        ),
        (
            rule(
                "booking_source",
                json!({ "sourceRuleType": "only_selected", "excludedBookingSources": ["direct"] }),
            ),
            ".0.includedBookingSources",
        ),
        (
            rule(
                "booking_source",
                json!({
                    "sourceRuleType": "all_except_selected",
                    "excludedBookingSources": ["direct", 7],
                }),
            ),
            ".0.excludedBookingSources.1",
        ),
        (
            rule("verification_status", json!({})),
            ".0.verificationStatuses",
        ),
        (
            rule("verification_status", json!({ "verificationStatuses": [] })),
            ".0.verificationStatuses",
        ),
        (
            rule(
                "verification_status",
                json!({ "verificationStatuses": ["verified", "maybe"] }),
            ),
            ".0.verificationStatuses.1",
        ),
        (
            json!([
                { "ruleCategory": "length_of_stay" },
                { "ruleCategory": "length_of_stay", "lengthOfStayToDays": 3 },
            ]),
            ".1.ruleCategory",
        ),
        (
            json!([{ "ruleCategory": "seasonal" }, { "ruleCategory": "booking_source" }]),
            ".0.seasonalWindows .1.sourceRuleType",
        ),
    ] {
        let mut fields: Vec<String> = paths
            .split(' ')
            .map(|path| format!("visibilityRules{path}"))
            .collect();
        fields.sort();
        let body = json!({ "nickname": "N", "title": "T", "visibilityRules": rules });
        assert_eq!(try_create(&api, body).await.issues(), fields, "{rules}");
        let fields: Vec<String> = fields.iter().map(|field| format!("data.{field}")).collect();
        assert_eq!(
            change(&api, &manual, json!({ "visibilityRules": rules }))
                .await
                .issues(),
            fields,
            "{rules}"
        );
    }
    assert_eq!(row(&api, &manual).await["visibilityRules"], json!([]));
}

on_both!(rules_are_replaced_as_a_whole);
async fn rules_are_replaced_as_a_whole(app: App) {
    let api = app.org().await.key().await;
    let all = json!([
        {
            "ruleCategory": "relative_date",
            "startDateRelativeType": "before_check_in",
            "daysBefore": 2,
            "daysBeforeTimeUnit": "hour",
            "endDateRelativeType": "check_out_time",
            "daysAfter": 0,
            "daysAfterTimeUnit": "day",
        },
        {
            "ruleCategory": "seasonal",
            "seasonalWindows": [{ "startDate": "2027-06-01", "endDate": "2027-06-01" }],
        },
        { "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 0, "lengthOfStayToDays": 0 },
        {
            "ruleCategory": "booking_source",
            "sourceRuleType": "only_selected",
            "includedBookingSources": ["direct"],
        },
        {
            "ruleCategory": "verification_status",
            "verificationStatuses": ["unverified", "pending", "verified", "failed"],
        },
    ]);
    let manual = create(&api, "N", json!({ "visibilityRules": all })).await;
    assert_eq!(manual["visibilityRules"], all);
    let rules =
        async |sent: Value| change(&api, &manual, sent).await.data()["visibilityRules"].clone();
    assert_eq!(rules(json!({ "nickname": "M" })).await, all);
    // These fields belong to other categories of rules. The service ignores their content.
    let foreign = json!({
        "startDateRelativeType": 7,
        "daysBefore": -3,
        "daysAfterTimeUnit": "year",
        "seasonalWindows": "never",
        "sourceRuleType": "some",
        "includedBookingSources": {},
        "verificationStatuses": ["maybe"],
    });
    let own = json!({ "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 2 });
    assert_eq!(
        rules(json!({ "visibilityRules": [with(foreign, own.clone())] })).await,
        json!([own])
    );
    for alone in [
        json!({ "ruleCategory": "length_of_stay" }),
        json!({ "ruleCategory": "booking_source", "sourceRuleType": "all_except_selected" }),
        json!({
            "ruleCategory": "booking_source",
            "sourceRuleType": "all_except_selected",
            "excludedBookingSources": [],
        }),
        json!({ "ruleCategory": "relative_date", "startDateRelativeType": "after_check_in" }),
        json!({ "ruleCategory": "relative_date", "endDateRelativeType": "before_check_out" }),
        json!({
            "ruleCategory": "relative_date",
            "startDateRelativeType": "check_in_time",
            "endDateRelativeType": "after_check_out",
        }),
    ] {
        assert_eq!(
            rules(json!({ "visibilityRules": [alone] })).await,
            json!([alone])
        );
    }
    assert_eq!(rules(json!({ "visibilityRules": [] })).await, json!([]));
}

on_both!(every_change_advances_updated_at);
async fn every_change_advances_updated_at(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let manual = create(&api, "N", json!({ "iconName": "wifi" })).await;
    let moved = async |data: Value| {
        change(&api, &manual, data).await.data()["updatedAt"]
            .as_str()
            .unwrap()[17..23]
            .to_owned()
    };
    assert_eq!(moved(json!({ "nickname": "M" })).await, "00.001");
    let mut same = row(&api, &manual).await;
    for field in ["id", "createdAt", "updatedAt", "imageUrl", "imageId"] {
        same.as_object_mut().unwrap().remove(field);
    }
    assert_eq!(moved(same).await, "00.001", "the same again is no change");
    assert_eq!(
        moved(json!({ "visibilityRules": [{ "ruleCategory": "length_of_stay" }] })).await,
        "00.002"
    );
    scope(
        &api,
        "/add",
        &manual,
        json!({ "tagIds": [org.tag().await] }),
    )
    .await
    .data();
    assert_eq!(
        moved(json!({})).await,
        "00.002",
        "assignments are no change of the manual"
    );
    app.clock.advance(Duration::from_secs(1));
    assert_eq!(moved(json!({ "isActive": true })).await, "01.000");
    assert_eq!(row(&api, &manual).await["createdAt"], NOW);
}
