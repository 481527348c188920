//! Tests of the flags of submissions: the answers and check results that raise a flag, and the
//! effects of a flag.

use serde_json::{Value, json};
use test_support::house::{House, with};
use test_support::{App, Org, on_both, reservation};
use uuid::Uuid;

use super::waiting::{read, report, state};
use super::{BED, CAR, Chosen, DRIVE, EXTRAS, QuestionStep, Written};

/// A row of a table of tests: chosen options, written answers, expected flags, and expected status.
type FlagRow = (Chosen, Written, Vec<(String, Value)>, &'static str);

/// Returns the kind and the key of each flag.
async fn flags(house: &House<'_>) -> Vec<(String, Value)> {
    let read = read(house).await;
    let flags = read["flags"].as_array().unwrap();
    let kind = |flag: &Value| {
        (
            flag["kind"].as_str().unwrap().to_owned(),
            flag["key"].clone(),
        )
    };
    for flag in flags {
        assert!(
            !flag["message"].as_str().unwrap().trim().is_empty(),
            "{flag}"
        );
        let has_key = ["answer", "check"].contains(&flag["kind"].as_str().unwrap());
        assert_eq!(flag["key"].is_string(), has_key, "{flag}");
    }
    flags.iter().map(kind).collect()
}

fn check(name: &str) -> (String, Value) {
    ("check".to_owned(), json!(name))
}

fn external() -> (String, Value) {
    ("external".to_owned(), Value::Null)
}

/// Returns a copy of `house` whose stay is a new reservation of the same flat.
async fn with_another_stay<'a>(house: &House<'a>) -> House<'a> {
    let org = Org {
        app: house.org.app,
        id: house.org.id,
        oauth_app: house.org.oauth_app,
    };
    let stay = org.reservation(Some(house.flat)).await;
    let token = org.stay_token(stay).await;
    House {
        org,
        api: house.api.clone(),
        group: house.group,
        tag: house.tag,
        flat: house.flat,
        portal: house.portal,
        stay,
        token,
    }
}

/// Creates a house with an identity check that has these fields, for example `identityFlagPolicy`,
/// and with a document upload that needs no review and is answered. Returns the house and the id of
/// the identity check.
async fn with_policy(app: &App, fields: Value) -> (House<'_>, Uuid) {
    let house = House::build(app).await;
    let step = house.step("identity_check", fields).await;
    let papers = house
        .step("document_upload", json!({ "isManualReviewEnabled": false }))
        .await;
    house.answer(papers, json!({})).await.data();
    (house, step)
}

on_both!(a_check_has_the_consequence_of_its_policy);
async fn a_check_has_the_consequence_of_its_policy(app: App) {
    let policy = json!({
        "identityFlagPolicy": {
            "document_expired": "ignore",
            "name_mismatch": "review",
            "face_mismatch": "fail",
        },
    });
    for (body, is_done, expected, status) in [
        (
            json!({ "status": "completed", "checks": ["document_expired"] }),
            true,
            vec![],
            "approved",
        ),
        (
            json!({ "status": "failed", "checks": ["document_expired"] }),
            true,
            vec![],
            "approved",
        ),
        (
            json!({ "status": "completed", "checks": ["name_mismatch", "name_mismatch"] }),
            true,
            vec![check("name_mismatch")],
            "in_review",
        ),
        (
            json!({ "status": "failed", "checks": ["name_mismatch"] }),
            true,
            vec![check("name_mismatch")],
            "in_review",
        ),
        (
            json!({ "status": "completed", "checks": ["name_mismatch", "document_unreadable"] }),
            true,
            vec![check("document_unreadable"), check("name_mismatch")],
            "in_review",
        ),
        (
            json!({ "status": "completed", "checks": ["face_mismatch"] }),
            false,
            vec![],
            "",
        ),
        (
            json!({ "status": "completed", "checks": ["face_mismatch", "name_mismatch"] }),
            false,
            vec![],
            "",
        ),
        (json!({ "status": "failed" }), false, vec![], ""),
    ] {
        let (house, step) = with_policy(&app, policy.clone()).await;
        report(&house, step, body.clone()).await;
        assert_eq!(
            state(&house, step).await,
            if is_done { "done" } else { "action_required" },
            "{body}"
        );
        if !is_done {
            house.submit().await.error(409);
            continue;
        }
        assert_eq!(house.submit().await.data()["status"], status, "{body}");
        assert_eq!(flags(&house).await, expected, "{body}");
    }
}

on_both!(a_guest_retakes_once);
async fn a_guest_retakes_once(app: App) {
    let policy = json!({
        "identityFlagPolicy": {
            "face_mismatch": "fail",
            "document_expired": "fail",
            "name_mismatch": "review",
        },
    });
    for (second, expected) in [
        (
            json!({ "status": "failed", "checks": ["document_expired"] }),
            vec![check("retake_limit")],
        ),
        (
            json!({ "status": "completed", "checks": ["face_mismatch"] }),
            vec![check("retake_limit")],
        ),
        (json!({ "status": "failed" }), vec![check("retake_limit")]),
        (
            json!({ "status": "completed", "checks": ["name_mismatch", "document_expired"] }),
            vec![check("name_mismatch"), check("retake_limit")],
        ),
        (json!({ "status": "completed" }), vec![]),
    ] {
        let (house, step) = with_policy(&app, policy.clone()).await;
        report(
            &house,
            step,
            json!({ "status": "completed", "checks": ["face_mismatch"] }),
        )
        .await;
        report(&house, step, json!({ "status": "pending" })).await;
        assert_eq!(state(&house, step).await, "pending");
        report(&house, step, second.clone()).await;
        assert_eq!(
            (state(&house, step).await, flags(&house).await),
            ("done".into(), expected.clone()),
            "{second}"
        );
        // A second report with the same content changes nothing.
        let before = report(&house, step, second.clone()).await;
        assert_eq!(
            (report(&house, step, second).await, flags(&house).await),
            (before, expected)
        );
    }
}

on_both!(a_check_that_returns_a_step_sends_the_submission_back);
async fn a_check_that_returns_a_step_sends_the_submission_back(app: App) {
    let (house, step) = with_policy(
        &app,
        json!({ "identityFlagPolicy": { "face_mismatch": "fail" } }),
    )
    .await;
    let details = house.step("your_details", json!({})).await;
    house.answer(details, json!({})).await.data();
    report(&house, step, json!({ "status": "pending" })).await;
    assert_eq!(house.submit().await.data()["status"], "in_review");
    report(
        &house,
        step,
        json!({
            "status": "action_required",
            "checks": ["face_mismatch"],
            "message": "Once more, please.",
        }),
    )
    .await;
    assert_eq!(house.status().await, "changes_requested");
    let view = house.step_view(step, "en").await;
    assert_eq!(
        (
            &view["state"],
            &view["isOpen"],
            &view["progress"]["message"]
        ),
        (
            &json!("action_required"),
            &json!(true),
            &json!("Once more, please.")
        )
    );
    assert!(
        view["progress"].get("checks").is_none(),
        "the guest is not told of checks"
    );
    assert_eq!(
        house.step_view(details, "en").await["isOpen"],
        false,
        "the others stay as they are"
    );
    house.answer(details, json!({})).await.error(409);
    report(&house, step, json!({ "status": "completed" })).await;
    assert_eq!(house.submit().await.data()["status"], "approved");
}

on_both!(only_identity_checks_have_checks);
async fn only_identity_checks_have_checks(app: App) {
    let house = House::build(&app).await;
    let path = |step: Uuid| {
        house
            .org
            .path(&format!("/reservations/{}/steps/{step}", house.stay))
    };
    let identity = house.step("identity_check", json!({})).await;
    let fee = house.step("mandatory_fee", json!({})).await;
    let long = "é".repeat(201);
    for (step, body, issues) in [
        (
            identity,
            json!({ "status": "completed", "checks": ["passport"] }),
            vec!["checks.0"],
        ),
        (
            identity,
            json!({ "status": "completed", "checks": "face_mismatch" }),
            vec!["checks"],
        ),
        (
            fee,
            json!({ "status": "completed", "checks": ["face_mismatch"] }),
            vec!["checks"],
        ),
        (
            fee,
            json!({ "status": "completed", "flags": ["", " ", long, "fine"] }),
            vec!["flags.0", "flags.1", "flags.2"],
        ),
        (
            fee,
            json!({ "status": "completed", "flags": vec!["x"; 11] }),
            vec!["flags"],
        ),
        (
            fee,
            json!({ "status": "completed", "flags": "x" }),
            vec!["flags"],
        ),
    ] {
        let response = app
            .platform()
            .send(reqwest::Method::PUT, &path(step), Some(body.clone()))
            .await;
        assert_eq!(response.issues(), issues, "{body}");
    }
    assert_eq!(house.step_view(fee, "en").await.get("progress"), None);
    report(
        &house,
        fee,
        json!({ "status": "completed", "checks": [], "flags": vec!["é".repeat(200); 10] }),
    )
    .await;
}

on_both!(sentences_for_staff_remain_until_they_are_replaced);
async fn sentences_for_staff_remain_until_they_are_replaced(app: App) {
    let (house, step) = with_policy(&app, json!({})).await;
    let reported = async |body: Value, expected: &[&str]| {
        let text = report(&house, step, body).await;
        assert_eq!(text["flags"], json!(expected));
        let read = read(&house).await;
        let messages: Vec<&str> = read["flags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flag| flag["message"].as_str().unwrap())
            .collect();
        assert_eq!(messages, expected);
    };
    reported(
        json!({ "status": "pending", "flags": ["Two names.", "A copy."] }),
        &["Two names.", "A copy."],
    )
    .await;
    reported(json!({ "status": "completed" }), &["Two names.", "A copy."]).await;
    reported(
        json!({ "status": "completed", "flags": null }),
        &["Two names.", "A copy."],
    )
    .await;
    reported(json!({ "status": "completed", "flags": [] }), &[]).await;
    assert_eq!(house.submit().await.data()["status"], "approved");
    // If a flag is reported after the approval, the submission lists the flag and stays approved.
    reported(
        json!({ "status": "completed", "flags": ["Late."] }),
        &["Late."],
    )
    .await;
    assert_eq!(
        (house.status().await, flags(&house).await),
        ("approved".into(), vec![external()])
    );
    let view = app.stay(&house.token, "").await.data();
    assert!(!view.to_string().contains("Late."), "the guest is not told");
}

on_both!(a_failed_background_check_is_done_and_flagged);
async fn a_failed_background_check_is_done_and_flagged(app: App) {
    let house = House::build(&app).await;
    let step = house.step("background_check", json!({})).await;
    report(
        &house,
        step,
        json!({ "status": "failed", "flags": ["A match."] }),
    )
    .await;
    assert_eq!(
        (state(&house, step).await, flags(&house).await),
        ("done".into(), vec![external(), external()])
    );
    assert_eq!(house.submit().await.data()["status"], "in_review");
}

on_both!(an_option_with_a_flag_holds_the_submission);
async fn an_option_with_a_flag_holds_the_submission(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionStep::build(&house).await;
    let answers = survey.answers(&[(DRIVE, &[1]), (BED, &[0]), (EXTRAS, &[1])], &[]);
    house.answer(survey.step, answers.clone()).await.data();
    house.submit().await.data();
    let key = |number: usize| ("answer".to_owned(), json!(survey.question(number)));
    assert_eq!(
        flags(&house).await,
        [key(DRIVE), key(BED), key(EXTRAS)],
        "without a flagged option, every answer"
    );
    let read_es = house
        .api
        .get(&format!(
            "/reservations/{}/precheckin?language=es",
            house.stay
        ))
        .await
        .data();
    assert_eq!(read_es["flags"][0]["message"], "“¿Vienes en coche?”: No");

    // A flagged option makes the submission wait for review only if the guest chose that
    // option.
    let mut questions = survey.questions.clone();
    assert_eq!(questions[BED]["options"][1]["isFlagged"], false);
    questions[BED]["options"][1]["isFlagged"] = json!(true);
    questions[DRIVE]["options"][0]["isFlagged"] = json!(true);
    house
        .update(survey.step, json!({ "questions": questions }))
        .await
        .data();
    let stored = house
        .api
        .get(&format!("/precheck-steps/{}", survey.step))
        .await
        .data()["questions"]
        .clone();
    assert_eq!(
        (
            &stored[BED]["options"][1]["isFlagged"],
            &stored[DRIVE]["options"][0]["isFlagged"]
        ),
        (&json!(true), &json!(true))
    );
    let rows: [FlagRow; 3] = [
        (&[(DRIVE, &[1]), (BED, &[0])], &[], vec![], "approved"),
        (
            &[(DRIVE, &[1]), (BED, &[1]), (EXTRAS, &[0])],
            &[],
            vec![key(BED)],
            "in_review",
        ),
        (
            &[(DRIVE, &[0]), (BED, &[1])],
            &[(CAR, "A red one")],
            vec![key(DRIVE), key(BED)],
            "in_review",
        ),
    ];
    for (chosen, written, expected, status) in rows {
        let other = with_another_stay(&house).await;
        other
            .answer(survey.step, survey.answers(chosen, written))
            .await
            .data();
        assert_eq!(other.submit().await.data()["status"], status);
        assert_eq!(flags(&other).await, expected);
    }

    // An update that sends an option without `isFlagged` does not change whether the option is
    // flagged.
    let mut questions = stored;
    questions[BED]["options"][1]
        .as_object_mut()
        .unwrap()
        .remove("isFlagged");
    questions[DRIVE].as_object_mut().unwrap().remove("options");
    house
        .update(survey.step, json!({ "questions": questions }))
        .await
        .data();
    let stored = house
        .api
        .get(&format!("/precheck-steps/{}", survey.step))
        .await
        .data()["questions"]
        .clone();
    assert_eq!(
        (
            &stored[BED]["options"][1]["isFlagged"],
            &stored[DRIVE]["options"][0]["isFlagged"]
        ),
        (&json!(true), &json!(true))
    );
    let wrong = json!([
        {
            "kind": "yes_no",
            "textMlTextId": stored[DRIVE]["textMlTextId"],
            "options": [{ "isFlagged": true }],
        },
    ]);
    assert_eq!(
        house
            .update(survey.step, json!({ "questions": wrong }))
            .await
            .issues(),
        ["data.questions.0.options.0"]
    );
}

on_both!(documents_and_deposits_are_always_reviewed);
async fn documents_and_deposits_are_always_reviewed(app: App) {
    let house = House::build(&app).await;
    for step_type in ["document_upload", "damage_deposit"] {
        let step = house.step(step_type, json!({})).await;
        house.answer(step, json!({})).await.data();
        let idle = house
            .step(step_type, json!({ "isManualReviewEnabled": false }))
            .await;
        house.answer(idle, json!({})).await.data();
    }
    assert!(flags(&house).await.is_empty(), "nothing is submitted yet");
    house.submit().await.data();
    assert_eq!(
        flags(&house).await,
        vec![("step".to_owned(), Value::Null); 2]
    );
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    let other = with_another_stay(&house).await;
    for step in other.precheckin().await["steps"].as_array().unwrap() {
        other
            .answer(step["id"].as_str().unwrap().parse().unwrap(), json!({}))
            .await
            .data();
    }
    assert_eq!(other.submit().await.data()["status"], "approved");
    assert_eq!(flags(&other).await.len(), 2, "whatever is flagged");
}

on_both!(a_guest_who_is_too_young_is_flagged);
/// The minimum age is 18 years on the day of check-in, 11 December 2026. With the policy
/// `ignore` the service does not check the age.
async fn a_guest_who_is_too_young_is_flagged(app: App) {
    for (policy, own, others, is_flagged) in [
        (json!("review"), "2008-12-11", vec![], false),
        (json!("review"), "2008-12-12", vec![], true),
        (json!("fail"), "2008-12-12", vec![], true),
        (json!("ignore"), "2008-12-12", vec![], false),
        (
            json!("review"),
            "1990-01-01",
            vec!["1991-01-01", "2020-01-01"],
            true,
        ),
        (json!("review"), "", vec!["1991-01-01", "soon"], false),
    ] {
        let (house, step) = with_policy(
            &app,
            json!({ "identityFlagPolicy": { "guest_underage": policy }, "minimumGuestAge": 18 }),
        )
        .await;
        let (details, companions) = (
            house.step("your_details", json!({})).await,
            house.step("other_guests", json!({})).await,
        );
        house
            .answer(details, json!({ "birthDate": own }))
            .await
            .data();
        let guests: Vec<Value> = others
            .iter()
            .map(|birth| json!({ "birthDate": birth }))
            .collect();
        house
            .answer(companions, json!({ "guests": guests }))
            .await
            .data();
        report(&house, step, json!({ "status": "completed" })).await;
        let status = house.submit().await.data()["status"].clone();
        let expected = if is_flagged {
            vec![check("guest_underage")]
        } else {
            Vec::new()
        };
        assert_eq!(
            (flags(&house).await, status == "in_review"),
            (expected, is_flagged),
            "{policy} {own} {others:?}"
        );
        // The platform reports the failed age check for which the service has already raised a
        // flag. The submission still has a single flag.
        if is_flagged {
            report(
                &house,
                step,
                json!({ "status": "completed", "checks": ["guest_underage"] }),
            )
            .await;
            assert_eq!(flags(&house).await, [check("guest_underage")]);
        }
    }
}

on_both!(a_birthday_on_a_leap_day_comes_on_the_first_of_march);
async fn a_birthday_on_a_leap_day_comes_on_the_first_of_march(app: App) {
    for (check_in, is_flagged) in [("2027-02-28", true), ("2027-03-01", false)] {
        let (house, step) = with_policy(
            &app,
            json!({ "identityFlagPolicy": { "guest_underage": "review" }, "minimumGuestAge": 19 }),
        )
        .await;
        let dates = json!({ "checkIn": check_in, "checkOut": "2027-03-05" });
        house
            .org
            .put_record(
                "reservation",
                house.stay,
                with(reservation(Some(house.flat)), dates),
            )
            .await;
        let details = house.step("your_details", json!({})).await;
        house
            .answer(details, json!({ "birthDate": "2008-02-29" }))
            .await
            .data();
        report(&house, step, json!({ "status": "completed" })).await;
        house.submit().await.data();
        assert_eq!(!flags(&house).await.is_empty(), is_flagged, "{check_in}");
    }
}

on_both!(only_the_service_records_an_acceptance);
async fn only_the_service_records_an_acceptance(app: App) {
    let house = House::build(&app).await;
    let step = house.step("agreement", json!({})).await;
    for forged in ["acceptedAt", "textSha256", "language", "acceptance", "odd"] {
        let refused = house
            .answer(step, json!({ "isAccepted": true, forged: "2000-01-01" }))
            .await;
        assert_eq!(refused.issues(), [format!("answers.{forged}")]);
    }
    assert_eq!(read(&house).await["steps"][0].get("acceptance"), None);
    house
        .answer(step, json!({ "isAccepted": true, "signedName": "Ada L" }))
        .await
        .data();
    let read = read(&house).await;
    let own = &read["steps"][0];
    assert_eq!(
        own["answers"],
        json!({ "isAccepted": true, "signedName": "Ada L" })
    );
    assert_eq!(
        (
            own["acceptance"]["language"].clone(),
            own["acceptance"]["acceptedAt"].is_string()
        ),
        (json!("en"), true)
    );
    assert_eq!(own["acceptance"]["textSha256"].as_str().unwrap().len(), 64);
}
