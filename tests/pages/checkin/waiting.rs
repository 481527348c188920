//! Tests of the states of steps that wait for the result of another system.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::files::{Part, send, uploads};
use test_support::house::{House, id, with};
use test_support::{App, on_both, reservation};

/// Reports the status of a step over the platform interface, for the other system that carries the
/// step out.
pub async fn report(house: &House<'_>, step: Uuid, body: Value) -> Value {
    let path = house
        .org
        .path(&format!("/reservations/{}/steps/{step}", house.stay));
    let platform = house.org.app.platform();
    platform.send(Method::PUT, &path, Some(body)).await.data()
}

/// Returns the state of a step in the guest view, after checking that `isComplete` agrees with it.
pub async fn state(house: &House<'_>, step: Uuid) -> String {
    let view = house.step_view(step, "en").await;
    assert_eq!(view["isComplete"], view["state"] == "done", "{view}");
    view["state"].as_str().unwrap().to_owned()
}

/// Returns the submission of the house's stay as the API shows it to staff.
pub async fn read(house: &House<'_>) -> Value {
    let path = format!("/reservations/{}/precheckin", house.stay);
    house.api.get(&path).await.data()
}

async fn upload(house: &House<'_>, step: Uuid, kind: Option<&str>) {
    let file: Part<'_> = ("file", Some("1.pdf"), b"%PDF-1.7 a passport");
    let kind = kind.map(|kind| ("documentType", None, kind.as_bytes()));
    let parts: Vec<Part<'_>> = [Some(file), kind].into_iter().flatten().collect();
    send(house.org.app, &house.token, step, &parts).await.data();
}

on_both!(an_identity_check_is_done_by_files, uploads());
async fn an_identity_check_is_done_by_files(app: App) {
    let house = House::build(&app).await;
    let free = house.step("identity_check", json!({})).await;
    let named = house
        .step(
            "identity_check",
            json!({ "requiredDocumentTypes": ["passport", "visa"] }),
        )
        .await;
    for step in [free, named] {
        house
            .answer(step, json!({ "isConfirmed": true }))
            .await
            .data();
        assert_eq!(state(&house, step).await, "todo", "saving is not enough");
        assert_eq!(
            house.step_view(step, "en").await.get("isUploadUnavailable"),
            None
        );
    }
    house.submit().await.error(409);
    upload(&house, free, None).await;
    upload(&house, named, Some("visa")).await;
    assert_eq!(
        (state(&house, free).await, state(&house, named).await),
        ("done".into(), "todo".into())
    );
    upload(&house, named, Some(" Passport")).await;
    assert_eq!(state(&house, named).await, "done");
    assert_eq!(house.submit().await.data()["status"], "in_review");
}

on_both!(a_background_check_waits_for_its_result_after_consent);
async fn a_background_check_waits_for_its_result_after_consent(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    let step = house.step("background_check", json!({})).await;
    assert_eq!(state(&house, step).await, "todo");
    for (answers, issue) in [
        (json!({ "isAccepted": "yes" }), "answers.isAccepted"),
        (
            json!({ "isAccepted": true, "signedName": "Ada" }),
            "answers.signedName",
        ),
    ] {
        assert_eq!(house.answer(step, answers).await.issues(), [issue]);
    }
    for refusal in [json!({}), json!({ "isAccepted": false })] {
        assert_eq!(house.answer(step, refusal).await.data()["state"], "todo");
    }
    house.submit().await.error(409);
    let saved = house
        .answer(step, json!({ "isAccepted": true }))
        .await
        .data();
    assert_eq!(
        (&saved["state"], &saved["isComplete"]),
        (&json!("pending"), &json!(false))
    );
    assert_eq!(
        house.submit().await.data()["status"],
        "in_review",
        "the result is missing"
    );
    report(&house, step, json!({ "status": "pending" })).await;
    assert_eq!(house.status().await, "in_review");
    report(&house, step, json!({ "status": "completed" })).await;
    assert_eq!(
        (state(&house, step).await, house.status().await),
        ("done".into(), "approved".into())
    );
    let item = read(&house).await;
    assert_eq!(
        (&item["decidedBy"], &item["decidedAt"], &item["flags"]),
        (&Value::Null, &Value::Null, &json!([]))
    );
}

on_both!(the_last_result_approves_a_submission_without_flags);
/// A submission waits until each step has a result. After the last result, the usual rules
/// decide whether the submission needs a review.
async fn the_last_result_approves_a_submission_without_flags(app: App) {
    for (is_reviewed, has_upload, outcome, expected) in [
        (true, true, json!({ "status": "completed" }), "approved"),
        (true, false, json!({ "status": "completed" }), "in_review"),
        (true, true, json!({ "status": "failed" }), "in_review"),
        (
            true,
            true,
            json!({ "status": "completed", "flags": ["Another name."] }),
            "in_review",
        ),
        (
            false,
            false,
            json!({ "status": "failed", "flags": ["Another name."] }),
            "approved",
        ),
    ] {
        let house = House::build(&app).await;
        house
            .update_portal(
                house.portal,
                json!({ "isManualReviewEnabled": is_reviewed }),
            )
            .await;
        let (check, filing) = (
            house.step("background_check", json!({})).await,
            house.step("authority_reporting", json!({})).await,
        );
        if has_upload {
            let step = house
                .step("document_upload", json!({ "isManualReviewEnabled": false }))
                .await;
            house.answer(step, json!({})).await.data();
        }
        house
            .answer(check, json!({ "isAccepted": true }))
            .await
            .data();
        report(&house, filing, json!({ "status": "pending" })).await;
        assert_eq!(
            state(&house, filing).await,
            "pending",
            "before the guest has acted"
        );
        assert_eq!(house.submit().await.data()["status"], "in_review");
        report(&house, check, outcome.clone()).await;
        assert_eq!(house.status().await, "in_review", "one is missing still");
        report(&house, filing, json!({ "status": "completed" })).await;
        assert_eq!(
            house.status().await,
            expected,
            "{is_reviewed} {has_upload} {outcome}"
        );
    }
}

on_both!(the_last_result_does_not_decide_a_held_submission);
async fn the_last_result_does_not_decide_a_held_submission(app: App) {
    let house = House::build(&app).await;
    let (check, papers) = (
        house.step("background_check", json!({})).await,
        house.step("document_upload", json!({})).await,
    );
    house
        .answer(check, json!({ "isAccepted": true }))
        .await
        .data();
    house.answer(papers, json!({})).await.data();
    house.submit().await.data();
    house
        .update(papers, json!({ "isManualReviewEnabled": false }))
        .await
        .data();
    report(&house, check, json!({ "status": "completed" })).await;
    assert_eq!(
        house.status().await,
        "in_review",
        "its flag was raised when it was submitted"
    );
    let approve = format!("/reservations/{}/precheckin/approve", house.stay);
    assert_eq!(
        house.api.post(&approve, json!({})).await.data()["status"],
        "approved"
    );
    assert_eq!(
        read(&house).await["flags"].as_array().unwrap().len(),
        1,
        "an approval keeps the flags"
    );
    report(&house, check, json!({ "status": "pending" })).await;
    assert_eq!(
        (house.status().await, state(&house, check).await),
        ("approved".into(), "pending".into())
    );
}

on_both!(a_failure_in_another_system_needs_the_guest);
async fn a_failure_in_another_system_needs_the_guest(app: App) {
    let house = House::build(&app).await;
    for step_type in [
        "authority_reporting",
        "mandatory_fee",
        "damage_deposit",
        "screen_and_protect",
    ] {
        let step = house.step(step_type, json!({})).await;
        for (status, expected) in [
            ("pending", "pending"),
            ("failed", "action_required"),
            ("action_required", "action_required"),
            ("completed", "done"),
        ] {
            report(&house, step, json!({ "status": status })).await;
            assert_eq!(state(&house, step).await, expected, "{step_type} {status}");
        }
    }
    let last = house.step("screen_and_protect", json!({})).await;
    report(&house, last, json!({ "status": "failed" })).await;
    house.submit().await.error(409);
}

on_both!(a_signature_is_asked_for_only_if_it_is_mandatory);
async fn a_signature_is_asked_for_only_if_it_is_mandatory(app: App) {
    let house = House::build(&app).await;
    for agreement_type in [
        Value::Null,
        json!("text"),
        json!("template"),
        json!("esign_a"),
        json!("esign_b"),
    ] {
        for is_mandatory in [false, true] {
            let fields =
                json!({ "agreementType": agreement_type, "isMandatorySigning": is_mandatory });
            let step = house.step("agreement", fields).await;
            assert_eq!(
                house.step_view(step, "en").await["isSignatureRequired"],
                is_mandatory
            );
            let saved = house
                .answer(step, json!({ "isAccepted": true }))
                .await
                .data();
            assert_eq!(
                saved["state"],
                if is_mandatory { "todo" } else { "done" },
                "{agreement_type}"
            );
            let saved = house
                .answer(step, json!({ "isAccepted": true, "signedName": "Ada L" }))
                .await
                .data();
            assert_eq!(saved["state"], "done", "{agreement_type}");
        }
    }
}

on_both!(an_agreement_without_a_text_is_signed_at_its_provider);
async fn an_agreement_without_a_text_is_signed_at_its_provider(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    let elsewhere = json!({ "contractTemplateText": null, "esignBTemplateId": "b-1" });
    let step = house.step("agreement", elsewhere.clone()).await;
    assert_eq!(state(&house, step).await, "todo");
    let view = house.step_view(step, "en").await;
    assert_eq!(
        view["agreement"],
        json!({ "title": null, "subtitle": null, "text": null, "isSignedElsewhere": true })
    );
    assert_eq!(
        house
            .answer(step, json!({ "isAccepted": true }))
            .await
            .data()["state"],
        "pending",
        "the guest has seen it"
    );
    let signed = house
        .step(
            "agreement",
            with(elsewhere, json!({ "isMandatorySigning": true })),
        )
        .await;
    house
        .answer(signed, json!({ "isAccepted": true, "signedName": "Ada L" }))
        .await
        .data();
    for status in ["pending", "action_required", "failed"] {
        report(&house, signed, json!({ "status": status })).await;
        house.submit().await.error(409);
    }
    report(&house, signed, json!({ "status": "completed" })).await;
    assert_eq!(state(&house, signed).await, "done");
    assert_eq!(house.submit().await.data()["status"], "in_review");
    report(&house, step, json!({ "status": "completed" })).await;
    assert_eq!(house.status().await, "approved");
}

on_both!(an_agreement_has_the_title_of_its_provider);
async fn an_agreement_has_the_title_of_its_provider(app: App) {
    let house = House::build(&app).await;
    let text = async |english: &str, spanish: &str| {
        let body = json!({ "sourceTable": "precheck_step_detail", "text": english });
        let text = id(&house.api.post("/translations", body).await.data()["id"]);
        house
            .api
            .ok(
                Method::PUT,
                &format!("/translations/{text}/entries/es"),
                Some(json!({ "text": spanish })),
            )
            .await;
        text
    };
    let texts = json!({
        "esignATitleMlTextId": text("Sign A", "Firma A").await,
        "esignASubtitleMlTextId": text("Below A", "Debajo A").await,
        "esignBHeadingMlTextId": text("Sign B", "Firma B").await,
        "esignBSubtitleMlTextId": text("Below B", "Debajo B").await,
    });
    for (fields, expected) in [
        (
            json!({ "agreementType": "esign_a" }),
            [json!("Firma A"), json!("Debajo A")],
        ),
        (
            json!({ "agreementType": "esign_b", "esignATemplateId": "a-1" }),
            [json!("Firma B"), json!("Debajo B")],
        ),
        (
            json!({ "esignATemplateId": "a-1", "esignBTemplateId": "b-1" }),
            [json!("Firma A"), json!("Debajo A")],
        ),
        (
            json!({ "esignBTemplateId": "b-1" }),
            [json!("Firma B"), json!("Debajo B")],
        ),
        (json!({}), [Value::Null, Value::Null]),
        (
            json!({ "agreementType": "text", "esignATemplateId": "a-1" }),
            [Value::Null, Value::Null],
        ),
    ] {
        let step = house
            .step("agreement", with(texts.clone(), fields.clone()))
            .await;
        let agreement = house.step_view(step, "es").await["agreement"].clone();
        assert_eq!(
            [&agreement["title"], &agreement["subtitle"]],
            [&expected[0], &expected[1]],
            "{fields}"
        );
        assert_eq!(
            (&agreement["text"], &agreement["isSignedElsewhere"]),
            (&json!("No parties."), &json!(false))
        );
    }
}

on_both!(a_report_locks_the_type_of_its_step);
async fn a_report_locks_the_type_of_its_step(app: App) {
    let house = House::build(&app).await;
    let step = house.step("screen_and_protect", json!({})).await;
    report(&house, step, json!({ "status": "pending" })).await;
    let refused = house
        .update(step, json!({ "stepType": "main" }))
        .await
        .error(409);
    assert_eq!(refused["message"], "PRECHECK_STEP_TYPE_LOCKED");
}

on_both!(a_stay_without_steps_needs_nothing_from_the_guest);
async fn a_stay_without_steps_needs_nothing_from_the_guest(app: App) {
    let house = House::build(&app).await;
    let hidden = house.step("main", json!({ "minLos": 30 })).await;
    let precheckin = house.precheckin().await;
    assert_eq!(
        (&precheckin["isEnabled"], &precheckin["promptMessage"]),
        (&json!(true), &Value::Null)
    );
    let refused = house.submit().await.error(409);
    assert_eq!(
        refused["message"],
        "This stay is asked for nothing, so there is nothing to submit."
    );
    assert_eq!(house.status().await, "not_started");
    house.update(hidden, json!({ "minLos": 0 })).await.data();
    assert!(house.precheckin().await["promptMessage"].is_string());
}

on_both!(a_retake_here_waits_for_another_result, uploads());
async fn a_retake_here_waits_for_another_result(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    let step = house
        .step(
            "identity_check",
            json!({ "identityFlagPolicy": { "face_mismatch": "fail" } }),
        )
        .await;
    upload(&house, step, Some("passport")).await;
    house.submit().await.data();
    assert_eq!(house.status().await, "approved");
    app.clock.advance(Duration::from_secs(60));
    report(
        &house,
        step,
        json!({ "status": "failed", "checks": ["face_mismatch"] }),
    )
    .await;
    assert_eq!(
        (state(&house, step).await, house.status().await),
        ("action_required".into(), "changes_requested".into())
    );
    house.submit().await.error(409);
    app.clock.advance(Duration::from_secs(60));
    upload(&house, step, Some("selfie")).await;
    assert_eq!(state(&house, step).await, "pending");
    assert_eq!(house.submit().await.data()["status"], "in_review");
    report(&house, step, json!({ "status": "completed" })).await;
    assert_eq!(
        (state(&house, step).await, house.status().await),
        ("done".into(), "approved".into())
    );
}

on_both!(every_reader_sees_the_state);
/// Staff and the platform read the same state of a step as the guest.
async fn every_reader_sees_the_state(app: App) {
    let house = House::build(&app).await;
    let step = house.step("background_check", json!({})).await;
    house
        .answer(step, json!({ "isAccepted": true }))
        .await
        .data();
    assert_eq!(read(&house).await["steps"][0]["state"], "pending");
    assert_eq!(house.submission().await["steps"][0]["state"], "pending");
    // A preview shows the progress of a stay, but none of the guest's answers.
    let path = format!("/portals/{}/guest-view", house.portal);
    let view = house
        .api
        .post(&path, json!({ "reservationId": house.stay }))
        .await
        .data();
    let shown = &view["precheckin"]["steps"][0];
    assert_eq!(
        (&shown["state"], shown.get("answers")),
        (&json!("pending"), None)
    );
    house
        .org
        .put_record(
            "reservation",
            house.stay,
            with(
                reservation(Some(house.flat)),
                json!({ "status": "cancelled" }),
            ),
        )
        .await;
    report(&house, step, json!({ "status": "completed" })).await;
}

/// Without file storage the guest cannot upload documents, so saving the identity check completes
/// it.
#[tokio::test(flavor = "multi_thread")]
async fn an_identity_check_is_done_by_saving_where_files_cannot_be_stored() {
    let Some(app) = App::on_postgres(&[]).await else {
        return;
    };
    let house = House::build(&app).await;
    let step = house
        .step(
            "identity_check",
            json!({ "requiredDocumentTypes": ["passport"] }),
        )
        .await;
    assert_eq!(state(&house, step).await, "todo");
    let view = house.step_view(step, "en").await;
    assert_eq!(view["isUploadUnavailable"], true);
    let path = format!("{}/stay/{}/steps/{step}", app.base, house.token);
    let page = app.http.get(&path).send().await.unwrap();
    let page = page.text().await.unwrap();
    assert!(
        page.contains("Your host will check your document."),
        "{page}"
    );
    assert!(!page.contains("type=\"file\""), "{page}");
    house
        .answer(step, json!({ "isConfirmed": true }))
        .await
        .data();
    assert_eq!(state(&house, step).await, "done");
}
