//! Tests of pre-check-in steps over HTTP: fields, titles and linked texts (rules: steps).

use std::collections::BTreeSet;

use engine::access::Permission;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::{Api, ApiResponse, App, Org, STEP_TYPES, new_id, on_both};

/// The fields of a step that refer to texts, except the title.
const LINKED_TEXTS: [&str; 8] = [
    "damageDepositSubtitleMlTextId",
    "securityDepositSubtitleMlTextId",
    "contractTemplateTextMlTextId",
    "esignATitleMlTextId",
    "esignASubtitleMlTextId",
    "esignBHeadingMlTextId",
    "esignBSubtitleMlTextId",
    "guestDescriptionMlTextId",
];

const STALE: &str = "2020-01-01T00:00:00.000Z";

/// Returns an object with the fields of `base` and `fields`. A field that both contain has the
/// value of `fields`.
pub fn with(mut base: Value, fields: Value) -> Value {
    base.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    base
}

/// Creates a step whose nickname is its type.
pub async fn create(api: &Api, step_type: &str, fields: Value) -> Value {
    try_create(api, step_type, fields).await.data()
}

pub async fn try_create(api: &Api, step_type: &str, fields: Value) -> ApiResponse {
    api.post(
        "/precheck-steps",
        with(
            json!({ "stepType": step_type, "nickname": step_type }),
            fields,
        ),
    )
    .await
}

pub fn path(step: &Value) -> String {
    format!("/precheck-steps/{}", step["id"].as_str().unwrap())
}

pub async fn read(api: &Api, step: &Value) -> Value {
    api.get(&path(step)).await.data()
}

/// Returns a step as the list of steps shows it.
pub async fn row(api: &Api, step: &Value) -> Value {
    let rows = api.get("/precheck-steps").await.data();
    rows.as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"] == step["id"])
        .unwrap()
        .clone()
}

pub async fn change(api: &Api, step: &Value, data: Value) -> ApiResponse {
    api.patch(&path(step), json!({ "data": data })).await
}

/// Creates a translation. Returns its id.
pub async fn translation(api: &Api, source_table: &str) -> Value {
    api.post(
        "/translations",
        json!({ "sourceTable": source_table, "text": "Text" }),
    )
    .await
    .data()["id"]
        .clone()
}

/// Returns the language and the text of each entry of a step's title.
async fn headings(api: &Api, step: &Value) -> Value {
    let entries = api
        .get(&format!(
            "/translations/{}/entries",
            step["displayTitleMlTextId"].as_str().unwrap()
        ))
        .await
        .data();
    entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| json!([entry["language"], entry["text"]]))
        .collect()
}

pub async fn account(org: &Org<'_>, is_active: bool, is_default: bool) -> Uuid {
    org.record(
        "payment_account",
        json!({ "name": "Account", "isActive": is_active, "isDefault": is_default }),
    )
    .await
}

pub fn keys(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// Returns the default values of a step's fields. A new step has the default of each field that the
/// request does not contain.
fn defaults() -> Value {
    let rules = json!({
        "isActive": false,
        "isEnabled": false,
        "sortOrder": null,
        "displayTitleMlTextId": null,
        "isManualReviewEnabled": true,
        "feeProductIds": [],
        "questions": [],
        "damageWaivers": [],
        "minLos": 0,
        "maxLos": 1000,
        "leadTimeMinDays": null,
        "leadTimeMaxDays": null,
        "inclusionType": null,
        "excludedSources": null,
        "includedSourcesReturning": null,
        "isReturningGuestExcluded": false,
        "isAlwaysShown": false,
    });
    let charges = json!({
        "damageWaiverDepositAmountCents": null,
        "isDamageWaiverEnabled": false,
        "damageWaiverCapCents": null,
        "damageWaiverMinLos": 0,
        "damageWaiverPricingBasis": "per_night",
        "isDamageWaiverWaivable": false,
        "damageWaiverPaymentAccountId": null,
        "damageDepositSubtitleMlTextId": null,
        "securityDepositAmountCents": null,
        "isSecurityDepositEnabled": false,
        "securityDepositDaysBeforeCheckin": null,
        "securityDepositReleaseDaysAfterCheckout": 3,
        "securityDepositPaymentAccountId": null,
        "securityDepositSubtitleMlTextId": null,
    });
    let agreement = json!({
        "agreementType": null,
        "contractTemplateTextMlTextId": null,
        "esignATemplateId": null,
        "esignATitleMlTextId": null,
        "esignASubtitleMlTextId": null,
        "esignBTemplateId": null,
        "esignBHeadingMlTextId": null,
        "esignBSubtitleMlTextId": null,
        "isMandatorySigning": false,
    });
    with(with(rules, charges), agreement)
}

/// Converts the response of a write of a step into the response of a read of that step. A read
/// returns `displayTitle` instead of the id of the title's text.
fn as_read(mut written: Value) -> Value {
    written
        .as_object_mut()
        .unwrap()
        .remove("displayTitleMlTextId");
    with(written, json!({ "displayTitle": null }))
}

// Tests of the fields of steps.
on_both!(a_new_step_of_any_type_has_the_defaults_of_the_spec);
async fn a_new_step_of_any_type_has_the_defaults_of_the_spec(app: App) {
    let api = app.org().await.key().await;
    for step_type in STEP_TYPES {
        let response = try_create(&api, step_type, json!({ "nickname": " A step " })).await;
        let created = response.data();
        assert_eq!(response.status, 201);
        assert_eq!(
            created["id"]
                .as_str()
                .unwrap()
                .parse::<Uuid>()
                .unwrap()
                .get_version_num(),
            7
        );
        let own = json!({
            "id": created["id"],
            "nickname": " A step ",
            "stepType": step_type,
            "updatedAt": "2026-11-21T09:30:00.000Z",
        });
        assert_eq!(created, with(defaults(), own), "{step_type}");
        assert_eq!(change(&api, &created, json!({})).await.data(), created);
        assert_eq!(read(&api, &created).await, as_read(created.clone()));
        let additions = json!({
            "scope": {
                "propertyCount": 0,
                "portalCount": 0,
                "propertyGroupCount": 0,
                "tagCount": 0,
            },
            "configurationIssue": null,
            "hasUsableDamageWaiver": false,
        });
        assert_eq!(row(&api, &created).await, with(created, additions));
    }
}

on_both!(write_only_settings_are_accepted_and_never_returned);
async fn write_only_settings_are_accepted_and_never_returned(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let settings = json!({
        "guestDescriptionMlTextId": translation(&api, "precheck_step_detail").await,
        "contractTemplateText": "No parties.",
        "esignPrefillValues": { "name": "Ada" },
        "identityFlagPolicy": { "face_mismatch": "fail" },
        "minimumGuestAge": 18,
        "isPhotoIdRequired": true,
        "isAuthorityProviderPropertyInfoEmailEnabled": true,
        "feesPaymentAccountId": account(&org, true, false).await,
        "backgroundCheckAccountId": org.record("background_check_account", json!({
            "name": "Checks",
        })).await,
        "requiredGuestFields": ["phone"],
        "requiredDocumentTypes": ["passport"],
        "authorityProvider": "hospederias",
        "displayTitle": "Title",
        "displayTitleLanguage": "en",
    });
    for step_type in STEP_TYPES {
        let created = create(&api, step_type, settings.clone()).await;
        let own = json!({ "id": 0, "nickname": 0, "stepType": 0, "updatedAt": 0 });
        let written = with(defaults(), own);
        assert_eq!(keys(&created), keys(&written));
        assert_eq!(
            keys(&change(&api, &created, settings.clone()).await.data()),
            keys(&written)
        );
        assert_eq!(
            keys(&read(&api, &created).await),
            keys(&as_read(written.clone()))
        );
        let listed = with(
            written,
            json!({ "scope": 0, "configurationIssue": 0, "hasUsableDamageWaiver": 0 }),
        );
        assert_eq!(keys(&row(&api, &created).await), keys(&listed));
    }
}

on_both!(null_in_a_new_step_is_the_default);
async fn null_in_a_new_step_is_the_default(app: App) {
    let api = app.org().await.key().await;
    let days = "securityDepositReleaseDaysAfterCheckout";
    let step = create(
        &api,
        "damage_deposit",
        json!({ days: null, "leadTimeMaxDays": null }),
    )
    .await;
    assert_eq!(
        (&step[days], &step["leadTimeMaxDays"]),
        (&json!(3), &Value::Null)
    );
    assert_eq!(
        change(&api, &step, json!({ days: null })).await.data()[days],
        Value::Null,
        "an update stores null"
    );
}

on_both!(written_step_fields_are_read_back);
async fn written_step_fields_are_read_back(app: App) {
    let api = app.org().await.key().await;
    let fields = json!({
        "sortOrder": 4,
        "isManualReviewEnabled": false,
        "minLos": 2,
        "maxLos": 9,
        "leadTimeMinDays": 1,
        "leadTimeMaxDays": 30,
        "inclusionType": "all_except_selected",
        "excludedSources": ["direct"],
        "includedSourcesReturning": [],
        "isReturningGuestExcluded": true,
        "isAlwaysShown": true,
        "damageWaiverDepositAmountCents": 1000,
        "isDamageWaiverEnabled": true,
        "damageWaiverCapCents": 50_000,
        "damageWaiverMinLos": 2,
        "damageWaiverPricingBasis": "per_stay",
        "isDamageWaiverWaivable": true,
        "securityDepositAmountCents": 20_000,
        "isSecurityDepositEnabled": true,
        "securityDepositDaysBeforeCheckin": 2,
        "securityDepositReleaseDaysAfterCheckout": 0,
        "agreementType": "esign_b",
        "esignATemplateId": "a",
        "esignBTemplateId": "b",
        "isMandatorySigning": true,
    });
    // The service also stores fields that belong to other types of steps.
    let created = create(&api, "your_details", fields.clone()).await;
    let empty = create(&api, "your_details", json!({})).await;
    let changed = change(
        &api,
        &empty,
        with(
            fields.clone(),
            json!({ "nickname": "Renamed", "stepType": "main", "minLos": 3.0 }),
        ),
    )
    .await
    .data();
    for step in [&created, &read(&api, &created).await] {
        assert_eq!(&with(step.clone(), fields.clone()), step);
    }
    let expected = with(
        fields,
        json!({ "nickname": "Renamed", "stepType": "main", "minLos": 3 }),
    );
    assert_eq!(with(changed.clone(), expected), changed);
    assert_eq!(read(&api, &empty).await["minLos"], 3);
    assert_eq!(
        change(&api, &created, json!({ "sortOrder": null }))
            .await
            .data()["sortOrder"],
        Value::Null
    );
}

on_both!(every_wrong_field_of_a_step_is_reported);
async fn every_wrong_field_of_a_step_is_reported(app: App) {
    let api = app.org().await.key().await;
    let body = json!({
        "nickname": " \u{a0} ",
        "stepType": "house",
        "isActive": null,
        "isEnabled": "no",
        "sortOrder": -1,
        "displayTitle": "",
        "displayTitleLanguage": "!",
        "displayTitleMlTextId": "x",
        "minimumGuestAge": "18",
        "feeProductIds": ["x"],
        "minLos": 1.5,
        "identityFlagPolicy": { "nonsense": "ignore", "face_mismatch": "pass" },
        "questions": [{ "kind": "essay" }, 3],
        "maxLos": null,
        "leadTimeMinDays": "3",
        "inclusionType": "some",
        "excludedSources": ["direct", 3],
        "isReturningGuestExcluded": 1,
        "damageWaiverPricingBasis": "per_week",
        "securityDepositAmountCents": "ten",
        "securityDepositPaymentAccountId": "x",
        "agreementType": "oral",
        "esignPrefillValues": { "name": 1 },
        "requiredGuestFields": "phone",
        "damageWaivers": [],
        "id": new_id(),
        "updatedAt": STALE,
        "nicknme": "x",
    });
    let response = api.post("/precheck-steps", body).await;
    assert_eq!(
        response.issues(),
        [
            "agreementType",
            "damageWaiverPricingBasis",
            "damageWaivers",
            "displayTitle",
            "displayTitleLanguage",
            "displayTitleMlTextId",
            "esignPrefillValues.name",
            "excludedSources.1",
            "feeProductIds.0",
            "id",
            "identityFlagPolicy.face_mismatch",
            "identityFlagPolicy.nonsense",
            "inclusionType",
            "isActive",
            "isEnabled",
            "isReturningGuestExcluded",
            "leadTimeMinDays",
            "maxLos",
            "minLos",
            "minimumGuestAge",
            "nickname",
            "nicknme",
            "questions.0.kind",
            "questions.0.textMlTextId",
            "questions.1",
            "requiredGuestFields",
            "securityDepositAmountCents",
            "securityDepositPaymentAccountId",
            "sortOrder",
            "stepType",
            "updatedAt",
        ]
    );
    let issues = response.body["error"]["details"]["issues"]
        .as_array()
        .unwrap()
        .clone();
    for (field, message) in [
        ("nicknme", "unrecognized field; did you mean \"nickname\"?"),
        ("damageWaivers", "read-only field"),
        ("id", "read-only field"),
    ] {
        let issue = issues
            .iter()
            .find(|issue| issue["path"] == json!([field]))
            .unwrap();
        assert_eq!(issue["message"], message, "{field}");
    }
    assert_eq!(
        api.post("/precheck-steps", json!({})).await.issues(),
        ["nickname", "stepType"]
    );
    assert_eq!(api.get("/precheck-steps").await.data(), json!([]));

    let step = create(&api, "main", json!({})).await;
    let data = json!({
        "nickname": null,
        "isActive": null,
        "questions": null,
        "damageWaivers": [],
        "nicknme": 1,
    });
    let response = api
        .patch(
            &path(&step),
            json!({ "data": data, "expectedUpdatedAt": "yesterday", "dta": 1 }),
        )
        .await;
    assert_eq!(
        response.issues(),
        [
            "data.damageWaivers",
            "data.isActive",
            "data.nickname",
            "data.nicknme",
            "data.questions",
            "dta",
            "expectedUpdatedAt",
        ]
    );
    assert_eq!(api.patch(&path(&step), json!({})).await.issues(), ["data"]);
    for (field, wrong) in [
        ("nickname", json!("  ")),
        ("nickname", json!("x".repeat(201))),
        ("displayTitle", json!("x".repeat(201))),
    ] {
        assert_eq!(
            try_create(&api, "main", json!({ field: wrong }))
                .await
                .issues(),
            [field]
        );
        assert_eq!(
            change(&api, &step, json!({ field: wrong })).await.issues(),
            [format!("data.{field}")]
        );
    }
    let longest = "\u{1F3E0}".repeat(200);
    change(
        &api,
        &step,
        json!({ "nickname": longest, "displayTitle": longest }),
    )
    .await
    .data();
    assert_eq!(read(&api, &step).await["displayTitle"], longest);
}

on_both!(null_on_create_means_the_default);
async fn null_on_create_means_the_default(app: App) {
    let api = app.org().await.key().await;
    let nulls = defaults()
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| value.is_null())
        .map(|(name, _)| (name.clone(), Value::Null))
        .collect();
    let more = json!({
        "displayTitle": null,
        "guestDescriptionMlTextId": null,
        "contractTemplateText": null,
        "identityFlagPolicy": null,
        "minimumGuestAge": null,
        "feesPaymentAccountId": null,
        "esignPrefillValues": null,
        "backgroundCheckAccountId": null,
    });
    let body = with(Value::Object(nulls), more);
    let created = create(&api, "your_details", body).await;
    let own = json!({
        "id": created["id"],
        "nickname": "your_details",
        "stepType": "your_details",
        "updatedAt": created["updatedAt"],
    });
    assert_eq!(created, with(defaults(), own));
    let linked = translation(&api, "precheck_step_detail").await;
    let titled = create(
        &api,
        "main",
        json!({ "displayTitle": null, "displayTitleMlTextId": linked }),
    )
    .await;
    assert_eq!(titled["displayTitleMlTextId"], linked);
    create(
        &api,
        "main",
        json!({ "displayTitle": "Own", "displayTitleMlTextId": null }),
    )
    .await;
}

on_both!(is_enabled_can_only_switch_off);
async fn is_enabled_can_only_switch_off(app: App) {
    let api = app.org().await.key().await;
    let states = [
        (json!({ "isEnabled": true }), false),
        (json!({ "isActive": true, "isEnabled": false }), false),
        (json!({ "isActive": true, "isEnabled": true }), true),
        (json!({ "isEnabled": true }), true),
        (json!({ "isEnabled": false }), false),
        (json!({ "isEnabled": true }), false),
        (json!({ "isActive": true }), true),
        (json!({ "isActive": true, "isEnabled": false }), false),
    ];
    let step = create(&api, "main", json!({})).await;
    for (fields, is_active) in &states {
        let changed = change(&api, &step, fields.clone()).await.data();
        assert_eq!(
            (&changed["isActive"], &changed["isEnabled"]),
            (&json!(is_active), &json!(is_active)),
            "{fields}"
        );
    }
    for (fields, is_active) in &states[..3] {
        assert_eq!(
            create(&api, "main", fields.clone()).await["isActive"],
            json!(is_active),
            "{fields}"
        );
    }
}

on_both!(unknown_and_foreign_steps_are_404);
async fn unknown_and_foreign_steps_are_404(app: App) {
    let api = app.org().await.key().await;
    let stranger = app.org().await.key().await;
    let step = create(&api, "main", json!({})).await;
    stranger.get(&path(&step)).await.error(404);
    change(&stranger, &step, json!({ "nickname": "Theirs" }))
        .await
        .error(404);
    assert_eq!(stranger.get("/precheck-steps").await.data(), json!([]));
    for path in [
        "/precheck-steps/nonsense".to_owned(),
        format!("/precheck-steps/{}", new_id()),
    ] {
        api.get(&path).await.error(404);
        api.patch(&path, json!({ "data": {} })).await.error(404);
    }
    api.send(reqwest::Method::DELETE, &path(&step), None)
        .await
        .error(404);
    api.post(&format!("{}/duplicate", path(&step)), json!({}))
        .await
        .error(404);
}

on_both!(a_step_is_created_by_a_tool_call);
async fn a_step_is_created_by_a_tool_call(app: App) {
    let api = app.org().await.key().await;
    let arguments = json!({
        "stepType": "agreement",
        "nickname": "By tool",
        "contractTemplateText": "No parties.",
        "isActive": true,
    });
    let request = app
        .http
        .post(format!("{}/mcp", app.base))
        .bearer_auth(api.token.as_deref().unwrap())
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .json(&json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": { "name": "createPrecheckStep", "arguments": arguments },
        }));
    let result = ApiResponse::of(request).await.body["result"].clone();
    assert_eq!(result["isError"], json!(false), "{result}");
    let step = &result["structuredContent"]["data"];
    assert_eq!(
        (&step["nickname"], &step["isActive"]),
        (&json!("By tool"), &json!(true))
    );
    let stored = read(&api, step).await;
    for (field, value) in step.as_object().unwrap() {
        assert_eq!(&stored[field], value, "{field}");
    }
}

// Tests of the titles and linked texts of steps, and of the permission to write these texts.
on_both!(the_first_text_of_a_heading_must_be_english);
async fn the_first_text_of_a_heading_must_be_english(app: App) {
    let api = app.org().await.key().await;
    let french = json!({ "displayTitle": "R\u{e8}gles", "displayTitleLanguage": "fr" });
    let refused = "precheck_step.display_title_english_required";
    assert_eq!(
        try_create(&api, "main", french.clone()).await.error(400)["message"],
        refused
    );
    let step = create(
        &api,
        "main",
        json!({ "displayTitle": "Rules", "displayTitleLanguage": "en-GB" }),
    )
    .await;
    assert_eq!(
        headings(&api, &step).await,
        json!([["en", "Rules"]]),
        "any English counts as English"
    );

    let changed = change(&api, &step, french.clone()).await.data();
    assert_eq!(
        changed["displayTitleMlTextId"],
        step["displayTitleMlTextId"]
    );
    assert!(
        changed["updatedAt"].as_str() > step["updatedAt"].as_str(),
        "another text is a change"
    );
    assert_eq!(
        change(&api, &step, french.clone()).await.data(),
        changed,
        "the same text is none"
    );
    assert_eq!(read(&api, &step).await["displayTitle"], "Rules");
    change(
        &api,
        &step,
        json!({ "displayTitle": "Regras", "displayTitleLanguage": "pt-br" }),
    )
    .await
    .data();
    change(&api, &step, json!({ "displayTitle": "House rules" }))
        .await
        .data();
    assert_eq!(
        headings(&api, &step).await,
        json!([
            ["en", "House rules"],
            ["fr", "R\u{e8}gles"],
            ["pt-BR", "Regras"]
        ])
    );
    change(
        &api,
        &step,
        json!({ "displayTitle": "The rules", "displayTitleLanguage": "en-AU" }),
    )
    .await
    .data();
    let kept = change(&api, &step, json!({ "nickname": "Rules" }))
        .await
        .data();
    assert_eq!(kept["displayTitleMlTextId"], step["displayTitleMlTextId"]);
    assert_eq!(read(&api, &step).await["displayTitle"], "The rules");

    let linked = translation(&api, "precheck_step_detail").await;
    for cleared in [
        json!({ "displayTitle": null }),
        json!({ "displayTitleMlTextId": null }),
    ] {
        change(&api, &step, json!({ "displayTitleMlTextId": linked }))
            .await
            .data();
        assert_eq!(read(&api, &step).await["displayTitle"], "Text");
        assert_eq!(
            change(&api, &step, cleared).await.data()["displayTitleMlTextId"],
            Value::Null
        );
        assert_eq!(read(&api, &step).await["displayTitle"], Value::Null);
        assert_eq!(
            change(&api, &step, french.clone()).await.error(400)["message"],
            refused
        );
    }
    let english = change(
        &api,
        &step,
        json!({ "displayTitle": "Again", "displayTitleLanguage": "en" }),
    )
    .await
    .data();
    assert_eq!(headings(&api, &english).await, json!([["en", "Again"]]));
}

on_both!(a_heading_is_given_as_text_or_as_link);
async fn a_heading_is_given_as_text_or_as_link(app: App) {
    let api = app.org().await.key().await;
    let linked = translation(&api, "precheck_step_detail").await;
    let step = create(&api, "main", json!({ "displayTitle": "Rules" })).await;
    for fields in [
        json!({ "displayTitleLanguage": "en" }),
        json!({ "displayTitle": null, "displayTitleLanguage": "en" }),
        json!({ "displayTitleMlTextId": linked, "displayTitleLanguage": "en" }),
    ] {
        assert_eq!(
            try_create(&api, "main", fields.clone()).await.issues(),
            ["displayTitleLanguage"],
            "{fields}"
        );
        assert_eq!(
            change(&api, &step, fields.clone()).await.issues(),
            ["data.displayTitleLanguage"],
            "{fields}"
        );
    }
    let both = json!({ "displayTitle": "Both", "displayTitleMlTextId": linked });
    assert_eq!(
        try_create(&api, "main", both.clone()).await.issues().len(),
        1
    );
    assert_eq!(change(&api, &step, both).await.issues().len(), 1);
    assert_eq!(
        read(&api, &step).await["displayTitle"],
        "Rules",
        "nothing is saved"
    );
}

on_both!(linked_texts_must_be_texts_of_steps);
async fn linked_texts_must_be_texts_of_steps(app: App) {
    let api = app.org().await.key().await;
    let stranger = app.org().await.key().await;
    let (linked, wrong) = (
        translation(&api, "precheck_step_detail").await,
        translation(&api, "precheck_question").await,
    );
    let foreign = translation(&stranger, "precheck_step_detail").await;
    let step = create(&api, "agreement", json!({})).await;
    for field in LINKED_TEXTS.into_iter().chain(["displayTitleMlTextId"]) {
        for missing in [json!(new_id()), foreign.clone()] {
            try_create(&api, "agreement", json!({ field: missing }))
                .await
                .error(404);
            change(&api, &step, json!({ field: missing }))
                .await
                .error(404);
        }
        assert_eq!(
            try_create(&api, "agreement", json!({ field: wrong }))
                .await
                .issues(),
            [field]
        );
        assert_eq!(
            change(&api, &step, json!({ field: wrong })).await.issues(),
            [format!("data.{field}")]
        );
        let written = change(&api, &step, json!({ field: linked })).await.data();
        if field != "guestDescriptionMlTextId" {
            assert_eq!(written[field], linked);
            assert_eq!(
                change(&api, &step, json!({ field: null })).await.data()[field],
                Value::Null
            );
        }
    }
}

on_both!(step_texts_are_changed_only_with_modify_tasks);
async fn step_texts_are_changed_only_with_modify_tasks(app: App) {
    let org = app.org().await;
    let (api, weak) = (
        org.key().await,
        org.key_without(Permission::ModifyTasks).await,
    );
    let (linked, other) = (
        translation(&api, "precheck_step_detail").await,
        translation(&api, "precheck_step_detail").await,
    );
    let links = LINKED_TEXTS
        .into_iter()
        .map(|field| (field.to_owned(), linked.clone()))
        .collect();
    let step = create(
        &weak,
        "agreement",
        with(Value::Object(links), json!({ "displayTitle": "Rules" })),
    )
    .await;
    let own = step["displayTitleMlTextId"].clone();
    let mut table = vec![
        (json!({ "displayTitle": "Rules" }), false),
        (json!({ "displayTitle": "Other" }), false),
        (json!({ "displayTitle": null }), false),
        (
            json!({ "displayTitle": "R", "displayTitleLanguage": "fr" }),
            false,
        ),
        (json!({ "displayTitleMlTextId": own }), true),
        (json!({ "displayTitleMlTextId": other }), false),
        (json!({ "displayTitleMlTextId": null }), false),
        (json!({ "contractTemplateText": "No parties." }), true),
        (json!({ "questions": [] }), true),
    ];
    for field in LINKED_TEXTS {
        table.extend([
            (json!({ field: linked }), true),
            (json!({ field: other }), false),
            (json!({ field: null }), false),
        ]);
    }
    for (data, is_allowed) in table {
        let response = change(
            &weak,
            &step,
            with(data.clone(), json!({ "nickname": data.to_string() })),
        )
        .await;
        let nickname = read(&weak, &step).await["nickname"].clone();
        assert_eq!(
            nickname == *data.to_string(),
            is_allowed,
            "nothing is saved by what is refused: {data}"
        );
        if !is_allowed {
            assert!(
                response.error(403)["message"]
                    .as_str()
                    .unwrap()
                    .starts_with("Missing permission"),
                "{data}"
            );
        }
    }
    let bare = create(&weak, "main", json!({})).await;
    change(&weak, &bare, json!({ "displayTitle": null }))
        .await
        .error(403);
    change(&weak, &bare, json!({ "displayTitleMlTextId": null }))
        .await
        .data();
}

on_both!(refusals_follow_the_order_of_the_contract);
async fn refusals_follow_the_order_of_the_contract(app: App) {
    let org = app.org().await;
    let (api, weak) = (
        org.key().await,
        org.key_without(Permission::ModifyTasks).await,
    );
    let step = create(&api, "agreement", json!({ "minLos": 4 })).await;
    let data = json!({ "displayTitle": "Rules", "maxLos": 3 });
    let unknown = json!({ "securityDepositPaymentAccountId": new_id() });
    let send = async |api: &Api, step: &Value, data: &Value| {
        api.patch(
            &path(step),
            json!({ "data": data, "expectedUpdatedAt": STALE }),
        )
        .await
    };
    let missing = json!({ "id": new_id() });
    assert_eq!(
        send(
            &weak,
            &missing,
            &with(data.clone(), json!({ "nickname": "" }))
        )
        .await
        .issues(),
        ["data.nickname"]
    );
    send(&weak, &missing, &data).await.error(404);
    send(&weak, &step, &with(data.clone(), unknown))
        .await
        .error(404);
    send(&weak, &step, &data).await.error(403);
    assert_eq!(
        send(&api, &step, &data).await.error(409)["code"],
        "CONFLICT"
    );
    assert_eq!(change(&api, &step, data).await.issues(), ["data.maxLos"]);
    assert_eq!(
        read(&api, &step).await["updatedAt"],
        step["updatedAt"],
        "nothing is saved"
    );
}

on_both!(a_stale_update_of_a_step_gets_409);
async fn a_stale_update_of_a_step_gets_409(app: App) {
    let api = app.org().await.key().await;
    let step = create(&api, "main", json!({})).await;
    let send = async |expected: &str, nickname: &str| {
        api.patch(
            &path(&step),
            json!({ "data": { "nickname": nickname }, "expectedUpdatedAt": expected }),
        )
        .await
    };
    send(STALE, "Stale").await.error(409);
    send("2030-01-01T00:00:00.000Z", "Later").await.error(409);
    // This timestamp equals `updatedAt` of the step, but has another UTC offset. The service
    // accepts it.
    let changed = send("2026-11-21T10:30:00.000+01:00", "Fresh").await.data();
    assert_eq!(
        changed["updatedAt"], "2026-11-21T09:30:00.001Z",
        "it advances though the clock stands still"
    );
    send("2026-11-21T09:30:00.000Z", "Fresh").await.error(409);
    assert_eq!(
        change(
            &api,
            &step,
            json!({ "nickname": "Fresh", "isEnabled": true })
        )
        .await
        .data(),
        changed
    );
    assert_eq!(
        change(&api, &step, json!({ "nickname": "Overwritten" }))
            .await
            .data()["updatedAt"],
        "2026-11-21T09:30:00.002Z"
    );
}
