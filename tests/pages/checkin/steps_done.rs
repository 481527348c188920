//! Tests of the completion of agreements, deposits, and steps that other systems complete.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::STEP_TYPES;
use test_support::house::{House, id, with};
use test_support::{ApiResponse, App, new_id, on_both, reservation};

/// SHA-256 of `No parties.` and of `Sin fiestas.`, in hexadecimal.
const ENGLISH: &str = "99c789cf1eb6536a9bde3bfaa2788d3eb68c31353d0ebb6d75e5607b54a062bc";
const SPANISH: &str = "7c8776d81b4dd07a4a217ecee0a30b6b2cc39552a7ef3de65503e897babbdee7";

/// Step types that are always completed by another system.
const EXTERNAL_TYPES: [&str; 6] = [
    "identity_check",
    "background_check",
    "authority_reporting",
    "mandatory_fee",
    "damage_deposit",
    "screen_and_protect",
];

async fn report_progress(house: &House<'_>, step: Uuid, body: Value) -> ApiResponse {
    let path = house
        .org
        .path(&format!("/reservations/{}/steps/{step}", house.stay));
    house
        .org
        .app
        .platform()
        .send(Method::PUT, &path, Some(body))
        .await
}

async fn submitted_step(house: &House<'_>, step: Uuid) -> Value {
    let read = house.submission().await;
    read["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| id(&row["id"]) == step)
        .cloned()
        .unwrap()
}

async fn waiver(house: &House<'_>, data: Value) -> Uuid {
    house.org.record("damage_waiver", data).await
}

async fn account(house: &House<'_>, more: Value) -> Uuid {
    house
        .org
        .record(
            "payment_account",
            with(
                json!({ "name": "Main", "isActive": true, "isDefault": true }),
                more,
            ),
        )
        .await
}

on_both!(the_accepted_text_is_recorded_beside_the_answers);
async fn the_accepted_text_is_recorded_beside_the_answers(app: App) {
    let house = House::build(&app).await;
    let text = json!({ "sourceTable": "precheck_step_detail", "text": "No parties." });
    let text = id(&house.api.post("/translations", text).await.data()["id"]);
    let spanish = Some(json!({ "text": "Sin fiestas." }));
    house
        .api
        .ok(
            Method::PUT,
            &format!("/translations/{text}/entries/es"),
            spanish,
        )
        .await;
    let linked = house
        .step("agreement", json!({ "contractTemplateTextMlTextId": text }))
        .await;
    let written = house.step("agreement", json!({})).await;
    let elsewhere = house
        .step(
            "agreement",
            json!({ "contractTemplateText": null, "esignATemplateId": "t-1" }),
        )
        .await;
    let accept = async |step: Uuid, language: Option<&str>| {
        let mut body = json!({ "answers": { "isAccepted": true, "signedName": "Ada L" } });
        if let Some(language) = language {
            body["language"] = json!(language);
        }
        house
            .guest(Method::PUT, &format!("/steps/{step}"), Some(body))
            .await
            .data()
    };
    let expected = |hash: Value, language: Value| {
        json!({
            "acceptedAt": "2026-11-21T09:30:01.000Z",
            "textSha256": hash,
            "language": language,
        })
    };
    app.clock
        .advance(std::time::Duration::from_secs(1) - std::time::Duration::from_millis(3));
    for (step, language, hash, of_text) in [
        (linked, None, json!(ENGLISH), json!("en")),
        (linked, Some("es-MX"), json!(SPANISH), json!("es")),
        (linked, Some("fr"), json!(ENGLISH), json!("en")),
        (written, None, json!(ENGLISH), json!("en")),
        (written, Some("fr"), json!(ENGLISH), json!("fr")),
        (elsewhere, Some("fr"), Value::Null, Value::Null),
    ] {
        let view = accept(step, language).await;
        let state = if step == elsewhere { "pending" } else { "done" };
        assert_eq!(view["state"], state);
        let text = match of_text.as_str() {
            Some("es") => json!("Sin fiestas."),
            Some(_) => json!("No parties."),
            None => Value::Null,
        };
        let recorded = expected(hash, of_text);
        assert_eq!(
            submitted_step(&house, step).await["acceptance"],
            recorded,
            "{language:?}"
        );
        let expected = with(
            recorded,
            json!({ "signedName": "Ada L", "text": text, "isCurrent": true }),
        );
        assert_eq!(view["acceptance"], expected);
        let read = house
            .api
            .get(&format!("/reservations/{}/precheckin", house.stay))
            .await
            .data();
        let steps = read["steps"].as_array().unwrap();
        assert_eq!(
            steps.iter().find(|row| id(&row["id"]) == step).unwrap()["acceptance"],
            expected
        );
    }
    // The acceptance still has the hash of the text that the guest accepted.
    house
        .api
        .ok(
            Method::PUT,
            &format!("/translations/{text}/entries/en"),
            Some(json!({ "text": "Parties!" })),
        )
        .await;
    assert_eq!(
        submitted_step(&house, linked).await["acceptance"]["textSha256"],
        ENGLISH
    );
    for refusal in [
        json!({ "isAccepted": false, "signedName": "Ada L" }),
        json!({ "signedName": "Ada L" }),
        json!({}),
    ] {
        accept(linked, None).await;
        house.answer(linked, refusal.clone()).await.data();
        let read = submitted_step(&house, linked).await;
        assert_eq!(
            (read.get("acceptance"), &read["isComplete"]),
            (None, &json!(false)),
            "{refusal}"
        );
    }
    assert_eq!(
        house
            .guest(
                Method::PUT,
                &format!("/steps/{linked}"),
                Some(json!({ "answers": {}, "language": "!" }))
            )
            .await
            .issues(),
        ["language"]
    );
}

on_both!(the_agreement_type_decides_whether_a_signed_name_is_required);
async fn the_agreement_type_decides_whether_a_signed_name_is_required(app: App) {
    let house = House::build(&app).await;
    for (agreement_type, is_required) in [
        (Value::Null, false),
        (json!("text"), true),
        (json!("template"), false),
        (json!("esign_a"), false),
        (json!("esign_b"), true),
    ] {
        let step = house
            .step(
                "agreement",
                json!({ "agreementType": agreement_type, "isMandatorySigning": is_required }),
            )
            .await;
        assert_eq!(
            house.step_view(step, "en").await["isSignatureRequired"],
            is_required,
            "{agreement_type}"
        );
        for name in [json!(""), json!(" \n"), Value::Null] {
            let saved = house
                .answer(step, json!({ "isAccepted": true, "signedName": name }))
                .await
                .data();
            assert_eq!(saved["isComplete"], !is_required, "{agreement_type} {name}");
        }
        for name in [json!(7), json!(["Ada"]), json!({}), json!("x".repeat(201))] {
            assert_eq!(
                house
                    .answer(step, json!({ "isAccepted": true, "signedName": name }))
                    .await
                    .issues(),
                ["answers.signedName"]
            );
        }
        let saved = house
            .answer(
                step,
                json!({ "isAccepted": true, "signedName": "é".repeat(200) }),
            )
            .await
            .data();
        assert_eq!(
            (&saved["isComplete"], &saved["answers"]["isAccepted"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(
            house
                .answer(step, json!({ "isAccepted": false, "signedName": "Ada" }))
                .await
                .data()["isComplete"],
            false
        );
    }
}

on_both!(a_guest_chooses_the_deposit_or_an_offered_waiver);
async fn a_guest_chooses_the_deposit_or_an_offered_waiver(app: App) {
    let house = House::build(&app).await;
    let gold = waiver(&house, json!({ "name": "Gold", "priceCents": 1200 })).await;
    let silver = waiver(
        &house,
        json!({ "name": "Silver", "priceCents": null, "amountCents": 700 }),
    )
    .await;
    account(&house, json!({ "currency": "EUR" })).await;
    let fields = json!({
        "isSecurityDepositEnabled": true,
        "securityDepositAmountCents": 30000,
        "securityDepositDaysBeforeCheckin": 2,
        "securityDepositReleaseDaysAfterCheckout": 5,
        "isDamageWaiverEnabled": true,
        "damageWaiverMinLos": 4,
        "damageWaiverCapCents": 150_000,
        "damageWaiverPricingBasis": "per_stay",
    });
    let step = house.step("damage_deposit", fields).await;
    let offered = |waiver: Uuid, name: &str, price: u32| {
        json!({
            "choice": "waiver",
            "damageWaiverId": waiver,
            "name": name,
            "amountCents": price,
            "currency": "EUR",
            "pricingBasis": "per_stay",
            "totalCents": price,
        })
    };
    assert_eq!(
        house.step_view(step, "en").await["deposit"],
        json!({
            "subtitle": null,
            "releaseDaysAfterCheckout": 5,
            "daysBeforeCheckin": 2,
            "choices": [
                offered(gold, "Gold", 1200),
                offered(silver, "Silver", 700),
                {
                    "choice": "deposit",
                    "damageWaiverId": null,
                    "name": null,
                    "amountCents": 30000,
                    "currency": "EUR",
                    "pricingBasis": null,
                    "totalCents": 30000,
                },
            ],
        })
    );
    let elsewhere = House::build(&app).await;
    let theirs = waiver(&elsewhere, json!({ "name": "Gold" })).await;
    for (answers, at_fault) in [
        (json!({ "choice": "none" }), "answers.choice"),
        (json!({ "choice": null }), "answers.choice"),
        (json!({ "choice": ["deposit"] }), "answers.choice"),
        (
            json!({ "choice": "waiver", "damageWaiverId": theirs }),
            "answers.damageWaiverId",
        ),
        (
            json!({ "choice": "waiver", "damageWaiverId": new_id() }),
            "answers.damageWaiverId",
        ),
        (
            json!({ "choice": "waiver", "damageWaiverId": "gold" }),
            "answers.damageWaiverId",
        ),
        (
            json!({ "choice": "waiver", "damageWaiverId": [gold] }),
            "answers.damageWaiverId",
        ),
    ] {
        assert_eq!(
            house.answer(step, answers.clone()).await.issues(),
            [at_fault],
            "{answers}"
        );
    }
    for (answers, is_complete) in [
        (json!({}), false),
        (json!({ "isConfirmed": true }), false),
        (json!({ "choice": "waiver" }), false),
        (json!({ "choice": "deposit" }), true),
        (json!({ "choice": "waiver", "damageWaiverId": gold }), true),
    ] {
        assert_eq!(
            house.answer(step, answers.clone()).await.data()["isComplete"],
            is_complete,
            "{answers}"
        );
    }
    assert_eq!(
        submitted_step(&house, step).await["answers"],
        json!({ "choice": "waiver", "damageWaiverId": gold })
    );
}

on_both!(a_deposit_that_is_offered_after_submission_opens_its_step);
async fn a_deposit_that_is_offered_after_submission_opens_its_step(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    account(&house, json!({ "currency": "EUR" })).await;
    let step = house.step("damage_deposit", json!({})).await;
    house.answer(step, json!({})).await.data();
    house.submit().await.data();
    assert_eq!(house.precheckin().await["openSteps"], json!([]));
    house
        .update(
            step,
            json!({ "isSecurityDepositEnabled": true, "securityDepositAmountCents": 30_000 }),
        )
        .await
        .data();
    assert_eq!(house.precheckin().await["openSteps"], json!([step]));
    house
        .answer(step, json!({ "choice": "deposit" }))
        .await
        .data();
    house.submit().await.data();
    assert_eq!(house.precheckin().await["openSteps"], json!([]));
    // The guest submitted the choice of a deposit. The step stays complete, although it no
    // longer offers that choice.
    house
        .update(step, json!({ "isSecurityDepositEnabled": false }))
        .await
        .data();
    assert_eq!(house.precheckin().await["openSteps"], json!([]));
}

on_both!(a_waiver_is_offered_only_if_usable);
/// A waiver is offered if it is enabled, the stay is long enough, and the waiver's payment
/// account is active.
async fn a_waiver_is_offered_only_if_usable(app: App) {
    let house = House::build(&app).await;
    let gold = waiver(&house, json!({ "name": "Gold" })).await;
    let (used, idle) = (
        account(&house, json!({ "isDefault": false })).await,
        account(&house, json!({ "isDefault": false })).await,
    );
    let step = house
        .step(
            "damage_deposit",
            json!({ "isDamageWaiverEnabled": true, "damageWaiverPaymentAccountId": used }),
        )
        .await;
    let take = json!({ "choice": "waiver", "damageWaiverId": gold });
    let check = async |is_offered: bool, why: &str| {
        let view = house.step_view(step, "en").await;
        assert_eq!(
            view["deposit"]["choices"].as_array().unwrap().len(),
            usize::from(is_offered),
            "{why}"
        );
        let response = house.answer(step, take.clone()).await;
        assert_eq!(response.status, if is_offered { 200 } else { 400 }, "{why}");
    };
    check(true, "all is there").await;
    house
        .update(step, json!({ "isDamageWaiverEnabled": false }))
        .await
        .data();
    check(false, "switched off").await;
    house
        .update(
            step,
            json!({ "isDamageWaiverEnabled": true, "damageWaiverMinLos": 5 }),
        )
        .await
        .data();
    check(false, "four nights").await;
    house
        .org
        .put_record(
            "reservation",
            house.stay,
            with(
                reservation(Some(house.flat)),
                json!({ "checkOut": "2026-12-16" }),
            ),
        )
        .await;
    check(true, "five nights").await;
    house
        .update(step, json!({ "damageWaiverPaymentAccountId": null }))
        .await
        .data();
    check(false, "no default").await;
    house
        .org
        .put_record(
            "payment_account",
            idle,
            json!({ "name": "Other", "isActive": true, "isDefault": true }),
        )
        .await;
    check(true, "the default").await;
    house
        .org
        .put_record(
            "payment_account",
            idle,
            json!({ "name": "Other", "isActive": false, "isDefault": true }),
        )
        .await;
    check(false, "an inactive default").await;
    assert_eq!(
        house
            .answer(step, json!({ "choice": "waiver" }))
            .await
            .issues(),
        ["answers.choice"]
    );
}

on_both!(fees_are_shown_with_their_amounts);
async fn fees_are_shown_with_their_amounts(app: App) {
    let house = House::build(&app).await;
    let mut ids = Vec::new();
    for data in [
        json!({ "name": "Tax", "amountCents": 450, "currency": "EUR" }),
        json!({ "name": "Linen", "price": 12 }),
    ] {
        ids.push(house.org.record("fee_product", data).await);
    }
    let step = house
        .step("mandatory_fee", json!({ "feeProductIds": ids }))
        .await;
    assert_eq!(
        house.step_view(step, "en").await["fees"],
        json!([
            {
                "feeProductId": ids[0],
                "name": "Tax",
                "amountCents": 450,
                "currency": "EUR",
                "totalCents": 450,
            },
            {
                "feeProductId": ids[1],
                "name": "Linen",
                "amountCents": null,
                "currency": "EUR",
                "totalCents": null,
            },
        ])
    );
    house
        .org
        .put_record(
            "fee_product",
            ids[1],
            json!({ "name": "Linen", "amountCents": 1200 }),
        )
        .await;
    assert_eq!(
        house.step_view(step, "en").await["fees"][1]["amountCents"],
        1200
    );
    house.org.delete_record("fee_product", ids[0]).await;
    assert_eq!(
        house.step_view(step, "en").await["fees"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

on_both!(another_system_reports_the_progress_of_a_step);
async fn another_system_reports_the_progress_of_a_step(app: App) {
    let house = House::build(&app).await;
    let mut steps = Vec::new();
    for step_type in EXTERNAL_TYPES {
        steps.push(house.step(step_type, json!({})).await);
    }
    for agreement_type in ["esign_a", "esign_b"] {
        steps.push(
            house
                .step("agreement", json!({ "agreementType": agreement_type }))
                .await,
        );
    }
    let full = json!({
        "status": "action_required",
        "actionUrl": "https://verify.example.com/s/1?a=b",
        "message": "Please take a photo.",
        "amountCents": 4500,
        "currency": "EUR",
    });
    for (number, step) in steps.iter().enumerate() {
        let step_type = EXTERNAL_TYPES.get(number).copied().unwrap_or("agreement");
        assert_eq!(house.step_view(*step, "en").await.get("progress"), None);
        let text = report_progress(&house, *step, full.clone()).await.data();
        assert_eq!(
            (
                &text["stepId"],
                &text["status"],
                text["updatedAt"].is_string()
            ),
            (&json!(step), &json!("action_required"), true)
        );
        let view = house.step_view(*step, "en").await;
        assert_eq!(
            (&view["progress"], &view["isComplete"]),
            (&full, &json!(false))
        );
        // The status that the other system reported takes precedence over the guest's answer.
        let saved = house
            .answer(*step, json!({ "isAccepted": true }))
            .await
            .data();
        assert_eq!(
            (&saved["isComplete"], &saved["progress"]["status"]),
            (&json!(false), &json!("action_required"))
        );
        let is_done_by_failure = step_type == "background_check";
        for (status, is_complete) in [
            ("pending", false),
            ("completed", true),
            ("failed", is_done_by_failure),
            ("completed", true),
        ] {
            report_progress(&house, *step, json!({ "status": status }))
                .await
                .data();
            let view = house.step_view(*step, "en").await;
            let expected = json!({
                "status": status,
                "actionUrl": null,
                "message": null,
                "amountCents": null,
                "currency": null,
            });
            assert_eq!(
                (&view["progress"], &view["isComplete"]),
                (&expected, &json!(is_complete)),
                "what is not said again is gone"
            );
            let read = submitted_step(&house, *step).await;
            assert_eq!(
                (&read["progress"], &read["isComplete"]),
                (&expected, &json!(is_complete))
            );
        }
    }
    house.submit().await.data();
    report_progress(&house, steps[0], json!({ "status": "failed" }))
        .await
        .data();
    assert_eq!(
        house.status().await,
        "in_review",
        "what is submitted stays so"
    );
}

on_both!(without_reported_progress_the_guest_completes_a_step);
async fn without_reported_progress_the_guest_completes_a_step(app: App) {
    let house = House::build(&app).await;
    let (own, other) = (
        house.step("authority_reporting", json!({})).await,
        house.org.reservation(Some(house.flat)).await,
    );
    house
        .answer(own, json!({ "isConfirmed": true }))
        .await
        .data();
    let path = house
        .org
        .path(&format!("/reservations/{other}/steps/{own}"));
    app.platform()
        .send(Method::PUT, &path, Some(json!({ "status": "failed" })))
        .await
        .data();
    assert_eq!(
        house.step_view(own, "en").await["isComplete"],
        true,
        "it was said of another stay"
    );
    // The platform reports this step as completed, so the step does not block the submission,
    // although the guest has saved nothing.
    let unsaved = house.step("screen_and_protect", json!({})).await;
    report_progress(&house, unsaved, json!({ "status": "completed" }))
        .await
        .data();
    house.submit().await.data();
}

on_both!(updated_at_changes_only_with_new_progress);
async fn updated_at_changes_only_with_new_progress(app: App) {
    let house = House::build(&app).await;
    let step = house.step("identity_check", json!({})).await;
    let first = report_progress(&house, step, json!({ "status": "pending" }))
        .await
        .data();
    assert_eq!(
        report_progress(
            &house,
            step,
            json!({ "status": "pending", "message": null })
        )
        .await
        .data(),
        first,
        "nothing is new"
    );
    let second = report_progress(
        &house,
        step,
        json!({ "status": "pending", "message": "Soon." }),
    )
    .await
    .data();
    assert!(second["updatedAt"].as_str() > first["updatedAt"].as_str());
}

on_both!(every_wrong_field_of_a_progress_report_is_named);
async fn every_wrong_field_of_a_progress_report_is_named(app: App) {
    let house = House::build(&app).await;
    let step = house.step("identity_check", json!({})).await;
    for (body, issues) in [
        (json!({}), vec!["status"]),
        (json!({ "status": "done" }), vec!["status"]),
        (json!({ "status": ["completed"] }), vec!["status"]),
        (
            json!({ "status": "pending", "actionUrl": "http://verify.example.com" }),
            vec!["actionUrl"],
        ),
        (
            json!({ "status": "pending", "actionUrl": "javascript:alert(1)" }),
            vec!["actionUrl"],
        ),
        (
            json!({
                "status": "pending",
                "actionUrl": format!("https://verify.example.com/{}", "x".repeat(2048)),
            }),
            vec!["actionUrl"],
        ),
        (
            json!({ "status": "pending", "message": "" }),
            vec!["message"],
        ),
        (
            json!({ "status": "pending", "message": " \n" }),
            vec!["message"],
        ),
        (
            json!({ "status": "pending", "message": "x".repeat(2001) }),
            vec!["message"],
        ),
        (
            json!({ "status": "pending", "amountCents": -1, "currency": "euro" }),
            vec!["amountCents", "currency"],
        ),
        (
            json!({ "status": "pending", "amountCents": "12", "currency": 7 }),
            vec!["amountCents", "currency"],
        ),
        (
            json!({ "status": "pending", "amountCents": 1.5, "currency": "eur" }),
            vec!["amountCents", "currency"],
        ),
        (
            json!({ "status": "pending", "progress": 1 }),
            vec!["progress"],
        ),
    ] {
        assert_eq!(
            report_progress(&house, step, body.clone()).await.issues(),
            issues,
            "{body}"
        );
    }
    report_progress(&house, step, json!([])).await.error(400);
    assert_eq!(house.step_view(step, "en").await.get("progress"), None);
    report_progress(
        &house,
        step,
        json!({ "status": "pending", "message": "é".repeat(2000), "amountCents": 0 }),
    )
    .await
    .data();
}

on_both!(progress_is_refused_for_unknown_stays_and_steps);
async fn progress_is_refused_for_unknown_stays_and_steps(app: App) {
    let house = House::build(&app).await;
    let other = House::build(&app).await;
    let (step, theirs) = (
        house.step("identity_check", json!({})).await,
        other.step("identity_check", json!({})).await,
    );
    let (stay, body) = (house.stay, json!({ "status": "completed" }));
    for (reservation, step) in [
        (stay, theirs),
        (stay, new_id()),
        (other.stay, step),
        (new_id(), step),
    ] {
        let path = house
            .org
            .path(&format!("/reservations/{reservation}/steps/{step}"));
        app.platform()
            .send(Method::PUT, &path, Some(body.clone()))
            .await
            .error(404);
    }
    for path in [
        format!("/reservations/{stay}/steps/nonsense"),
        format!("/reservations/nonsense/steps/{step}"),
    ] {
        app.platform()
            .send(Method::PUT, &house.org.path(&path), Some(body.clone()))
            .await
            .error(404);
    }
    let mut stranger = app.platform();
    stranger.token = house.api.token.clone();
    let path = house
        .org
        .path(&format!("/reservations/{stay}/steps/{step}"));
    stranger
        .send(Method::PUT, &path, Some(body.clone()))
        .await
        .error(401);
    // The platform cannot set the status of a step that the guest completes.
    for step_type in STEP_TYPES
        .iter()
        .filter(|step_type| !EXTERNAL_TYPES.contains(step_type))
    {
        let own = house.step(step_type, json!({})).await;
        assert_eq!(
            report_progress(&house, own, body.clone()).await.issues(),
            ["stepId"],
            "{step_type}"
        );
    }
    let signed = house
        .step("agreement", json!({ "agreementType": "esign_a" }))
        .await;
    report_progress(&house, signed, body.clone()).await.data();
    house
        .update(signed, json!({ "agreementType": "text" }))
        .await
        .data();
    let view = house.step_view(signed, "en").await;
    assert_eq!(
        (view.get("progress"), &view["isComplete"]),
        (None, &json!(false)),
        "it is signed here now"
    );
}

on_both!(progress_is_deleted_with_its_stay);
async fn progress_is_deleted_with_its_stay(app: App) {
    let house = House::build(&app).await;
    let step = house.step("identity_check", json!({})).await;
    report_progress(&house, step, json!({ "status": "completed" }))
        .await
        .data();
    let rows = async || {
        app.query(
            "select step_id from step_progress where organization_id = ?1",
            vec![house.org.id.into()],
            |row| row.get::<Uuid>(0),
        )
        .await
    };
    assert_eq!(rows().await, [step]);
    house.org.delete_record("reservation", house.stay).await;
    assert!(rows().await.is_empty());
    house
        .org
        .put_record("reservation", house.stay, reservation(Some(house.flat)))
        .await;
    let view = house.org.guest_view(house.stay).await;
    assert_eq!(view["precheckin"]["steps"][0].get("progress"), None);
}
