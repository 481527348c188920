//! Tests of a pre-check-in from the first answer to the approval, and of the data about the
//! pre-check-in that the platform reads.

use reqwest::Method;
use serde_json::{Value, json};

use test_support::house::{House, ids};
use test_support::receiver::{Receiver, subscribe};
use test_support::{App, new_id, on_both, on_both_with};

on_both!(a_stay_changes_from_not_started_to_in_review);
async fn a_stay_changes_from_not_started_to_in_review(app: App) {
    let house = House::build(&app).await;
    let rules = house.step("agreement", json!({})).await;
    let details = house.step("your_details", json!({})).await;
    assert_eq!(house.status().await, "not_started");
    house.submit().await.error(409);
    assert_eq!(house.status().await, "not_started");
    house
        .answer(rules, json!({ "isAccepted": false }))
        .await
        .data();
    assert_eq!(
        house.status().await,
        "in_progress",
        "a refusal is an answer"
    );
    house
        .answer(details, json!({ "firstName": "Ada" }))
        .await
        .data();
    assert_eq!(house.step_view(rules, "en").await["isComplete"], false);
    assert_eq!(house.submit().await.error(409)["code"], "CONFLICT");
    house
        .answer(rules, json!({ "isAccepted": true }))
        .await
        .data();
    assert_eq!(house.status().await, "in_progress");

    let submitted = house.submit().await;
    assert_eq!(submitted.status, 200);
    submitted.data();
    assert_eq!(house.status().await, "in_review");
    house.submit().await.error(409);
    house
        .answer(rules, json!({ "isAccepted": false }))
        .await
        .error(409);
    assert_eq!(
        (
            house.status().await,
            &house.step_view(rules, "en").await["isComplete"]
        ),
        ("in_review".to_owned(), &json!(true))
    );
}

on_both!(unreviewed_submissions_are_approved_at_once);
async fn unreviewed_submissions_are_approved_at_once(app: App) {
    type Row = (bool, &'static [(&'static str, bool)], &'static str);
    let rows: [Row; 9] = [
        (true, &[], "in_review"),
        (true, &[("document_upload", false)], "approved"),
        (true, &[("document_upload", true)], "in_review"),
        (
            true,
            &[
                ("document_upload", false),
                ("damage_deposit", false),
                ("additional_questions", false),
            ],
            "approved",
        ),
        (
            true,
            &[("document_upload", false), ("damage_deposit", true)],
            "in_review",
        ),
        // The step type `agreement` has no review setting, so the service ignores `false`.
        (true, &[("agreement", false)], "in_review"),
        (
            true,
            &[("agreement", true), ("damage_deposit", false)],
            "approved",
        ),
        (false, &[("document_upload", true)], "approved"),
        (false, &[], "approved"),
    ];
    for (is_reviewed, reviewable, status) in rows {
        let house = House::build(&app).await;
        house
            .update_portal(
                house.portal,
                json!({ "isManualReviewEnabled": is_reviewed }),
            )
            .await;
        let mut steps = vec![house.step("your_details", json!({})).await];
        for (step_type, is_held) in reviewable {
            steps.push(
                house
                    .step(step_type, json!({ "isManualReviewEnabled": is_held }))
                    .await,
            );
        }
        // The guest does not get this step, because the stay has fewer than 30 nights. So the step
        // causes no review.
        house.step("document_upload", json!({ "minLos": 30 })).await;
        for step in steps {
            let question = house.step_view(step, "en").await["questions"][0]["id"].clone();
            let answers = question.as_str().map_or(
                json!({ "isAccepted": true }),
                |id| json!({ id: { "text": "At noon" } }),
            );
            house.answer(step, answers).await.data();
        }
        house.submit().await.data();
        assert_eq!(house.status().await, status, "{is_reviewed} {reviewable:?}");
    }
}

on_both!(only_the_first_of_concurrent_submissions_counts);
async fn only_the_first_of_concurrent_submissions_counts(app: App) {
    let house = House::build(&app).await;
    let step = house.step("main", json!({})).await;
    house.answer(step, json!({})).await.data();
    let answers = futures_util::future::join_all((0..6).map(|_| house.submit())).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409]);
}

on_both!(the_platform_reads_the_submitted_answers);
async fn the_platform_reads_the_submitted_answers(app: App) {
    let house = House::build(&app).await;
    let policy = json!({
        "document_expired": "ignore",
        "guest_is_local": "review",
        "guest_underage": "fail",
    });
    let identity = house
        .step(
            "identity_check",
            json!({ "identityFlagPolicy": policy, "minimumGuestAge": 21 }),
        )
        .await;
    let papers = house
        .step(
            "document_upload",
            json!({ "requiredDocumentTypes": [], "nickname": "Papers" }),
        )
        .await;
    house.step("agreement", json!({ "isActive": false })).await;
    let rules = house
        .step(
            "agreement",
            json!({ "contractTemplateText": "Quiet from 22:00." }),
        )
        .await;
    let answers = json!({ "key": "passport.jpg", "pages": [1, 2], "note": null });
    house.answer(papers, answers.clone()).await.data();
    house.say("Sent!").await.data();

    let read = house.submission().await;
    assert_eq!(
        (&read["status"], &read["submittedAt"]),
        (&json!("in_progress"), &Value::Null)
    );
    assert_eq!(
        ids(&read["steps"]),
        [identity, papers, rules],
        "in guest order, and only what is shown"
    );
    let [first, second, third] = [&read["steps"][0], &read["steps"][1], &read["steps"][2]];
    assert_eq!(
        (&first["answers"], &first["savedAt"], &first["isComplete"]),
        (&Value::Null, &Value::Null, &json!(false))
    );
    assert_eq!(
        (
            &first["settings"]["identityFlagPolicy"],
            &first["settings"]["minimumGuestAge"]
        ),
        (&policy, &json!(21))
    );
    assert_eq!(
        first["identityActions"],
        json!({
            "document_not_official": "fail",
            "document_expired": "ignore",
            "document_unreadable": "review",
            "no_face_on_document": "review",
            "face_mismatch": "review",
            "selfie_spoof": "fail",
            "name_mismatch": "review",
            "name_unavailable": "review",
            "name_unconfirmed": "review",
            "guest_is_local": "review",
            "guest_underage": "review",
            "retake_limit": "review",
            "verification_unavailable": "fail",
        }),
        "fail behaves as review for the guest's age"
    );
    assert_eq!(
        (&second["nickname"], &second["stepType"]),
        (&json!("Papers"), &json!("document_upload"))
    );
    assert_eq!(
        (
            &second["answers"],
            &second["isComplete"],
            second["savedAt"].is_string()
        ),
        (&answers, &json!(true), true)
    );
    assert_eq!(
        (
            &second["settings"]["requiredDocumentTypes"],
            second.get("identityActions")
        ),
        (&json!([]), None)
    );
    assert_eq!(
        (&second["files"], &first["files"], third.get("files")),
        (&json!([]), &json!([]), None)
    );
    assert_eq!(
        third["settings"]["contractTemplateText"],
        "Quiet from 22:00."
    );
    assert_eq!(read["messages"][0]["text"], "Sent!");
    // The platform reads settings such as `requiredDocumentTypes` with the submission. The public
    // interface does not return this setting.
    let public = house
        .api
        .get(&format!("/precheck-steps/{papers}"))
        .await
        .data();
    assert_eq!(public.get("requiredDocumentTypes"), None);

    let path = house
        .org
        .path(&format!("/reservations/{}/steps/{identity}", house.stay));
    app.platform()
        .ok(Method::PUT, &path, Some(json!({ "status": "completed" })))
        .await;
    house
        .answer(rules, json!({ "isAccepted": true }))
        .await
        .data();
    house.submit().await.data();
    let read = house.submission().await;
    assert_eq!(
        (&read["status"], read["submittedAt"].is_string()),
        (&json!("in_review"), true)
    );

    let path = house
        .org
        .path(&format!("/reservations/{}/precheckin", house.stay));
    let mut stranger = app.platform();
    stranger.token = house.api.token.clone();
    stranger.get(&path).await.error(401);
    let unknown = house
        .org
        .path(&format!("/reservations/{}/precheckin", new_id()));
    let elsewhere = app
        .org()
        .await
        .path(&format!("/reservations/{}/precheckin", house.stay));
    for path in [unknown, elsewhere] {
        app.platform().get(&path).await.error(404);
    }
}

on_both_with!(a_submission_fires_a_single_event, Receiver);
/// A submission causes exactly one event. The refused submissions before and after it cause none.
async fn a_submission_fires_a_single_event(app: App, receiver: Receiver) {
    let house = House::build(&app).await;
    subscribe(
        &house.api,
        "reservation.precheckin_submitted",
        &receiver.url,
    )
    .await;
    let step = house.step("agreement", json!({})).await;
    house
        .answer(step, json!({ "isAccepted": false }))
        .await
        .data();
    house.submit().await.error(409);
    house
        .answer(step, json!({ "isAccepted": true }))
        .await
        .data();
    house.submit().await.data();
    house.submit().await.error(409);
    let delivery = receiver.next().await;
    assert_eq!(delivery.body["event"], "reservation.precheckin_submitted");
    let read = house
        .api
        .get(&format!("/reservations/{}", house.stay))
        .await
        .data();
    assert_eq!(delivery.body["data"], read, "data is what the read returns");
    assert!(receiver.is_quiet().await);
}
