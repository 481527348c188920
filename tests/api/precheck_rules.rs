//! Tests of rules that apply to a step after an update is merged into it, and of platform records
//! that a step refers to (rules: steps#activation; steps#identity-checks; steps#deposit).

use serde_json::{Value, json};
use test_support::STEP_TYPES;
use test_support::{ApiResponse, App, new_id, on_both};
use uuid::Uuid;

use crate::precheck::{account, change, create, read, row, translation, try_create, with};

// Tests of the rules for the state of a step after an update is merged into it.
on_both!(an_active_step_must_have_its_required_configuration);
async fn an_active_step_must_have_its_required_configuration(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let check = org
        .record("background_check_account", json!({ "name": "Checks" }))
        .await;
    let fee = org
        .record("fee_product", json!({ "name": "Cleaning" }))
        .await;
    let question = json!({
        "kind": "yes_no",
        "textMlTextId": translation(&api, "precheck_question").await,
        "isRequired": true,
    });
    let table = [
        (
            "agreement",
            "contractTemplateText",
            json!("No parties."),
            Value::Null,
        ),
        (
            "agreement",
            "contractTemplateTextMlTextId",
            translation(&api, "precheck_step_detail").await,
            Value::Null,
        ),
        ("agreement", "esignATemplateId", json!("a"), Value::Null),
        ("agreement", "esignBTemplateId", json!("b"), Value::Null),
        (
            "additional_questions",
            "questions",
            json!([question]),
            json!([]),
        ),
        ("mandatory_fee", "feeProductIds", json!([fee]), json!([])),
        (
            "background_check",
            "backgroundCheckAccountId",
            json!(check),
            Value::Null,
        ),
    ];
    let refused = |answer: ApiResponse| {
        assert_eq!(
            answer.error(400)["details"]["key"],
            "precheck_step.configuration_required"
        );
    };
    for (step_type, field, enough, nothing) in table {
        refused(try_create(&api, step_type, json!({ "isActive": true })).await);
        create(
            &api,
            step_type,
            json!({ "isActive": true, "isEnabled": false }),
        )
        .await;
        assert_eq!(
            create(&api, step_type, json!({ "isActive": true, field: enough })).await["isActive"],
            true,
            "{field}"
        );
        let step = create(&api, step_type, json!({})).await;
        refused(change(&api, &step, json!({ "isActive": true })).await);
        change(&api, &step, json!({ field: enough })).await.data();
        assert_eq!(
            change(&api, &step, json!({ "isActive": true }))
                .await
                .data()["isActive"],
            true,
            "{field}"
        );
        refused(change(&api, &step, json!({ field: nothing })).await);
        change(&api, &step, json!({ field: nothing, "isActive": false }))
            .await
            .data();
        let other = create(&api, "main", json!({ "isActive": true })).await;
        refused(change(&api, &other, json!({ "stepType": step_type })).await);
    }
    let needy = [
        "agreement",
        "additional_questions",
        "mandatory_fee",
        "background_check",
    ];
    for step_type in STEP_TYPES
        .into_iter()
        .filter(|step_type| !needy.contains(step_type))
    {
        assert_eq!(
            create(&api, step_type, json!({ "isActive": true })).await["isActive"],
            true
        );
    }
    // The platform deletes a record that the active step requires. The step can still be
    // deactivated.
    let step = create(
        &api,
        "mandatory_fee",
        json!({ "isActive": true, "feeProductIds": [fee] }),
    )
    .await;
    org.delete_record("fee_product", fee).await;
    refused(change(&api, &step, json!({ "nickname": "Renamed" })).await);
    change(
        &api,
        &step,
        json!({ "nickname": "Renamed", "isActive": false }),
    )
    .await
    .data();
}

on_both!(windows_and_channels_are_checked_on_the_merged_step);
async fn windows_and_channels_are_checked_on_the_merged_step(app: App) {
    let api = app.org().await.key().await;
    assert_eq!(
        try_create(&api, "main", json!({ "minLos": 5, "maxLos": 4 }))
            .await
            .issues()
            .len(),
        1
    );
    assert_eq!(
        try_create(&api, "main", json!({ "minLos": 1001 }))
            .await
            .issues(),
        ["minLos"]
    );
    assert_eq!(
        try_create(
            &api,
            "main",
            json!({ "leadTimeMinDays": 5, "leadTimeMaxDays": 4 })
        )
        .await
        .issues()
        .len(),
        1
    );
    let only = json!({ "inclusionType": "only_selected" });
    assert_eq!(
        try_create(&api, "main", only.clone()).await.issues(),
        ["includedSourcesReturning"]
    );
    let empty = with(only.clone(), json!({ "includedSourcesReturning": [] }));
    assert_eq!(
        try_create(&api, "main", empty).await.issues(),
        ["includedSourcesReturning"]
    );
    create(
        &api,
        "main",
        json!({ "inclusionType": "all_except_selected" }),
    )
    .await;

    let fields = json!({
        "minLos": 3,
        "maxLos": 5,
        "leadTimeMinDays": 3,
        "leadTimeMaxDays": 5,
        "includedSourcesReturning": ["direct"],
    });
    let step = create(&api, "main", with(fields, only)).await;
    let table = [
        (json!({ "minLos": 6 }), vec!["data.minLos"]),
        (json!({ "maxLos": 2 }), vec!["data.maxLos"]),
        (
            json!({ "leadTimeMinDays": 6 }),
            vec!["data.leadTimeMinDays"],
        ),
        (
            json!({ "leadTimeMaxDays": 2 }),
            vec!["data.leadTimeMaxDays"],
        ),
        (
            json!({ "includedSourcesReturning": null }),
            vec!["data.includedSourcesReturning"],
        ),
        (
            json!({ "maxLos": 2, "leadTimeMaxDays": 2, "includedSourcesReturning": [] }),
            vec![
                "data.includedSourcesReturning",
                "data.leadTimeMaxDays",
                "data.maxLos",
            ],
        ),
    ];
    for (data, expected) in table {
        assert_eq!(change(&api, &step, data).await.issues(), expected);
    }
    for data in [
        json!({ "minLos": 5 }),
        json!({ "minLos": 6, "maxLos": 6 }),
        json!({ "leadTimeMaxDays": null }),
        json!({ "leadTimeMinDays": 9 }),
        json!({ "inclusionType": null, "includedSourcesReturning": null }),
    ] {
        change(&api, &step, data).await.data();
    }
}

on_both!(the_identity_policy_is_validated_and_replaced_as_a_whole);
async fn the_identity_policy_is_validated_and_replaced_as_a_whole(app: App) {
    let api = app.org().await.key().await;
    let fixed = [
        ("document_not_official", "fail"),
        ("selfie_spoof", "fail"),
        ("verification_unavailable", "fail"),
        ("name_unavailable", "review"),
        ("name_unconfirmed", "review"),
        ("retake_limit", "review"),
    ];
    let free = [
        "document_expired",
        "document_unreadable",
        "no_face_on_document",
        "face_mismatch",
        "name_mismatch",
        "guest_is_local",
        "guest_underage",
    ];
    for action in ["ignore", "review", "fail"] {
        for (key, default) in fixed {
            let response = try_create(
                &api,
                "identity_check",
                json!({ "identityFlagPolicy": { key: action } }),
            )
            .await;
            if action == default {
                response.data();
            } else {
                assert_eq!(response.issues(), [format!("identityFlagPolicy.{key}")]);
            }
        }
        for key in free {
            create(
                &api,
                "identity_check",
                json!({ "identityFlagPolicy": { key: action }, "minimumGuestAge": 18 }),
            )
            .await;
        }
    }
    let underage = json!({ "identityFlagPolicy": { "guest_underage": "review" } });
    assert_eq!(
        try_create(&api, "identity_check", underage.clone())
            .await
            .issues(),
        ["minimumGuestAge"]
    );
    create(
        &api,
        "identity_check",
        json!({ "identityFlagPolicy": { "guest_underage": "ignore" } }),
    )
    .await;
    let step = create(
        &api,
        "identity_check",
        with(
            underage.clone(),
            json!({ "minimumGuestAge": 18, "isActive": true }),
        ),
    )
    .await;
    let ageless = async || change(&api, &step, json!({ "minimumGuestAge": null })).await;
    assert_eq!(ageless().await.issues(), ["data.minimumGuestAge"]);
    assert_eq!(
        change(
            &api,
            &step,
            json!({ "identityFlagPolicy": { "nonsense": "fail" } })
        )
        .await
        .issues(),
        ["data.identityFlagPolicy.nonsense"]
    );
    // If the policy has no entry for `guest_underage`, the service ignores the guest's age, and the
    // step needs no minimum age.
    for policy in [json!({ "face_mismatch": "fail" }), json!({}), Value::Null] {
        change(
            &api,
            &step,
            with(underage.clone(), json!({ "minimumGuestAge": 18 })),
        )
        .await
        .data();
        change(&api, &step, json!({ "identityFlagPolicy": policy }))
            .await
            .data();
        ageless().await.data();
        assert_eq!(
            change(&api, &step, underage.clone()).await.issues(),
            ["data.minimumGuestAge"]
        );
    }
}

on_both!(the_type_of_a_used_step_is_locked);
async fn the_type_of_a_used_step_is_locked(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    api.post("/portals", json!({ "name": "Casa", "isDefault": true }))
        .await
        .data();
    let step = create(&api, "main", json!({ "isActive": true })).await;
    let scope =
        json!({ "entityType": "precheck_step", "entityId": step["id"], "propertyIds": [flat] });
    api.post("/entity-scopes/add", scope).await.data();
    change(&api, &step, json!({ "stepType": "your_details" }))
        .await
        .data();
    let token = org.stay_token(org.reservation(Some(flat)).await).await;
    let url = format!(
        "{}/guest/v1/stays/{token}/steps/{}",
        app.base,
        step["id"].as_str().unwrap()
    );
    ApiResponse::of(
        app.http
            .put(url)
            .json(&json!({ "answers": { "city": "Barcelona" } })),
    )
    .await
    .data();
    let error = change(&api, &step, json!({ "stepType": "main" }))
        .await
        .error(409);
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!("CONFLICT"), &json!("PRECHECK_STEP_TYPE_LOCKED"))
    );
    change(
        &api,
        &step,
        json!({ "stepType": "your_details", "nickname": "Used", "isActive": false }),
    )
    .await
    .data();
    change(&api, &step, json!({ "stepType": "main" }))
        .await
        .error(409);
}

// Tests of the platform records that a step refers to: payment accounts, fees and damage waivers.
on_both!(references_of_a_step_must_exist);
async fn references_of_a_step_must_exist(app: App) {
    let org = app.org().await;
    let (api, stranger) = (org.key().await, app.org().await);
    let (active, inactive, foreign) = (
        account(&org, true, false).await,
        account(&org, false, true).await,
        account(&stranger, true, false).await,
    );
    let step = create(&api, "damage_deposit", json!({})).await;
    for field in [
        "damageWaiverPaymentAccountId",
        "securityDepositPaymentAccountId",
        "feesPaymentAccountId",
    ] {
        for id in [new_id(), inactive, foreign] {
            try_create(&api, "damage_deposit", json!({ field: id }))
                .await
                .error(404);
            change(&api, &step, json!({ field: id })).await.error(404);
        }
        let written = change(&api, &step, json!({ field: active })).await.data();
        assert_eq!(
            written.get(field),
            (field != "feesPaymentAccountId").then_some(&json!(active))
        );
    }
    let named = json!({ "name": "Theirs" });
    let (fee, check) = (
        stranger.record("fee_product", named.clone()).await,
        stranger.record("background_check_account", named).await,
    );
    for body in [
        json!({ "feeProductIds": [new_id()] }),
        json!({ "feeProductIds": [fee] }),
        json!({ "backgroundCheckAccountId": new_id() }),
        json!({ "backgroundCheckAccountId": check }),
        json!({ "feeProductIds": [active] }),
    ] {
        try_create(&api, "main", body.clone()).await.error(404);
        change(&api, &step, body).await.error(404);
    }
}

on_both!(references_to_deleted_records_are_read_as_missing);
async fn references_to_deleted_records_are_read_as_missing(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let own = account(&org, true, false).await;
    let named = json!({ "name": "Fee" });
    let (one, two) = (
        org.record("fee_product", named.clone()).await,
        org.record("fee_product", named).await,
    );
    let fields = json!({
        "feeProductIds": [two, one],
        "damageWaiverPaymentAccountId": own,
        "securityDepositPaymentAccountId": own,
    });
    let step = create(&api, "mandatory_fee", fields.clone()).await;
    assert_eq!(
        with(read(&api, &step).await, fields),
        read(&api, &step).await
    );
    org.delete_record("payment_account", own).await;
    org.delete_record("fee_product", two).await;
    for answer in [
        read(&api, &step).await,
        row(&api, &step).await,
        change(&api, &step, json!({})).await.data(),
    ] {
        assert_eq!(answer["feeProductIds"], json!([one]));
        assert_eq!(
            (
                &answer["damageWaiverPaymentAccountId"],
                &answer["securityDepositPaymentAccountId"]
            ),
            (&Value::Null, &Value::Null)
        );
    }
    assert_eq!(
        change(&api, &step, json!({ "feeProductIds": [] }))
            .await
            .data()["feeProductIds"],
        json!([])
    );
}

on_both!(the_list_shows_missing_configuration_of_active_deposits);
async fn the_list_shows_missing_configuration_of_active_deposits(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let fields = json!({
        "isActive": true,
        "isSecurityDepositEnabled": true,
        "isDamageWaiverEnabled": true,
    });
    let step = create(&api, "damage_deposit", fields.clone()).await;
    let other = create(&api, "main", fields).await;
    let says = async |is_missing: bool, has_usable_waiver: bool, when: &str| {
        let row = row(&api, &step).await;
        let issue = if is_missing {
            json!("missing_payment_account")
        } else {
            Value::Null
        };
        assert_eq!(
            (&row["configurationIssue"], &row["hasUsableDamageWaiver"]),
            (&issue, &json!(has_usable_waiver)),
            "{when}"
        );
    };
    let put = async |id: Uuid, is_active: bool, is_default: bool| {
        org.put_record(
            "payment_account",
            id,
            json!({ "name": "Account", "isActive": is_active, "isDefault": is_default }),
        )
        .await;
    };
    says(true, false, "no account at all").await;
    let (default, own) = (
        account(&org, true, true).await,
        account(&org, true, false).await,
    );
    says(false, true, "the default").await;
    put(default, false, true).await;
    says(true, false, "an inactive default").await;
    let both =
        json!({ "damageWaiverPaymentAccountId": own, "securityDepositPaymentAccountId": own });
    change(&api, &step, both).await.data();
    says(false, true, "its own").await;
    put(default, true, true).await;
    put(own, false, false).await;
    says(true, false, "its own, inactive, whatever the default").await;
    org.delete_record("payment_account", own).await;
    says(false, true, "its own is gone, so the default").await;
    change(&api, &step, json!({ "isDamageWaiverEnabled": false }))
        .await
        .data();
    says(false, false, "no waiver").await;
    change(
        &api,
        &step,
        json!({ "isDamageWaiverEnabled": true, "isActive": false }),
    )
    .await
    .data();
    put(default, false, true).await;
    says(false, false, "inactive").await;
    let other = row(&api, &other).await;
    assert_eq!(
        (
            &other["configurationIssue"],
            &other["hasUsableDamageWaiver"]
        ),
        (&Value::Null, &json!(false))
    );
}

on_both!(the_list_shows_missing_accounts_of_active_background_checks);
async fn the_list_shows_missing_accounts_of_active_background_checks(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let check = org
        .record("background_check_account", json!({ "name": "Checks" }))
        .await;
    let step = create(
        &api,
        "background_check",
        json!({ "isActive": true, "backgroundCheckAccountId": check }),
    )
    .await;
    let issue = async || row(&api, &step).await["configurationIssue"].clone();
    assert_eq!(
        issue().await,
        Value::Null,
        "active unless it says otherwise"
    );
    for (is_active, expected) in [
        (false, json!("missing_authenticate_account")),
        (true, Value::Null),
    ] {
        org.put_record(
            "background_check_account",
            check,
            json!({ "name": "Checks", "isActive": is_active }),
        )
        .await;
        assert_eq!(issue().await, expected);
    }
    org.delete_record("background_check_account", check).await;
    assert_eq!(issue().await, "missing_authenticate_account");
    change(&api, &step, json!({ "isActive": false }))
        .await
        .data();
    assert_eq!(issue().await, Value::Null);
}

on_both!(the_single_read_includes_the_damage_waivers);
async fn the_single_read_includes_the_damage_waivers(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (one, two) = (
        org.record("damage_waiver", json!({ "name": "Basic" }))
            .await,
        org.record("damage_waiver", json!({ "name": "Full" })).await,
    );
    app.org()
        .await
        .record("damage_waiver", json!({ "name": "Theirs" }))
        .await;
    let step = create(
        &api,
        "damage_deposit",
        json!({ "isDamageWaiverEnabled": true }),
    )
    .await;
    assert_eq!(step["damageWaivers"], json!([]));
    let waivers: Value = read(&api, &step).await["damageWaivers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|waiver| json!([waiver["id"], waiver["name"]]))
        .collect();
    assert_eq!(waivers, json!([[one, "Basic"], [two, "Full"]]));
    assert_eq!(
        change(&api, &step, json!({ "nickname": "Deposit" }))
            .await
            .data()["damageWaivers"],
        json!([])
    );
    change(&api, &step, json!({ "isDamageWaiverEnabled": false }))
        .await
        .data();
    assert_eq!(read(&api, &step).await["damageWaivers"], json!([]));
}
