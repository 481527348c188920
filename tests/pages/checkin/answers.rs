//! Tests of answers to questions: validation, completeness, and which answers remain when the step
//! changes.

use reqwest::Method;
use serde_json::{Value, json};
use test_support::house::House;
use test_support::{App, new_id, on_both};

use super::{AGE, BED, CAR, Chosen, DRIVE, EXTRAS, QuestionStep, Written};

on_both!(missing_answers_can_be_saved_later);
async fn missing_answers_can_be_saved_later(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionStep::build(&house).await;
    let rows: [(Chosen, Written, bool); 10] = [
        (&[], &[], false),
        (&[(DRIVE, &[])], &[], false),
        (&[(BED, &[1])], &[], false),
        (&[(DRIVE, &[0])], &[], false),
        (&[(DRIVE, &[0])], &[(CAR, " ")], false),
        (&[(DRIVE, &[0])], &[(CAR, "A red one")], true),
        // The required question CAR is asked only of guests who drive, so a guest who does not
        // drive need not answer it.
        (&[(DRIVE, &[1])], &[], true),
        (&[(DRIVE, &[1])], &[(CAR, "")], true),
        (
            &[(DRIVE, &[1]), (BED, &[0]), (EXTRAS, &[0, 1])],
            &[(AGE, "Two")],
            true,
        ),
        (&[], &[(CAR, "A red one")], false),
    ];
    for (chosen, written, is_complete) in rows {
        let answers = survey.answers(chosen, written);
        let saved = house.answer(survey.step, answers.clone()).await;
        assert_eq!(saved.status, 200, "{answers}");
        assert_eq!(saved.data()["isComplete"], is_complete, "{answers}");
        assert_eq!(
            house.step_view(survey.step, "en").await["isComplete"],
            is_complete,
            "{answers}"
        );
    }
    house.submit().await.error(409);
    house
        .answer(survey.step, survey.answers(&[(DRIVE, &[1])], &[]))
        .await
        .data();
    house.submit().await.data();
}

on_both!(every_wrong_answer_is_named);
async fn every_wrong_answer_is_named(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionStep::build(&house).await;
    let agreement = house.step("agreement", json!({})).await;
    let [drive, car, bed, extras] = [DRIVE, CAR, BED, EXTRAS].map(|number| survey.question(number));
    let (yes, double, twins, crib) = (
        survey.option(DRIVE, 0),
        survey.option(BED, 0),
        survey.option(BED, 1),
        survey.option(EXTRAS, 0),
    );
    let stranger = new_id();
    let at = |question: &str, rest: &str| format!("answers.{question}{rest}");
    for (answers, mut issues) in [
        (
            json!({ drive: { "optionIds": [double] } }),
            vec![at(drive, ".optionIds.0")],
        ),
        (
            json!({ drive: { "optionIds": [stranger] } }),
            vec![at(drive, ".optionIds.0")],
        ),
        (
            json!({ drive: { "optionIds": ["yes"] } }),
            vec![at(drive, ".optionIds.0")],
        ),
        (
            json!({ drive: { "optionIds": [true] } }),
            vec![at(drive, ".optionIds.0")],
        ),
        (
            json!({ extras: { "optionIds": [crib, yes] } }),
            vec![at(extras, ".optionIds.1")],
        ),
        (
            json!({ bed: { "optionIds": [double, twins] } }),
            vec![at(bed, ".optionIds")],
        ),
        (
            json!({ bed: { "optionIds": double } }),
            vec![at(bed, ".optionIds")],
        ),
        (json!({ bed: { "text": "Double" } }), vec![at(bed, ".text")]),
        (
            json!({ car: { "optionIds": [yes] } }),
            vec![at(car, ".optionIds")],
        ),
        (json!({ car: { "text": 911 } }), vec![at(car, ".text")]),
        (
            json!({ car: { "text": "A red one", "colour": "red" } }),
            vec![at(car, ".colour")],
        ),
        (json!({ drive: "yes" }), vec![at(drive, "")]),
        (
            json!({ stranger.to_string(): { "text": "Hello" } }),
            vec![at(&stranger.to_string(), "")],
        ),
        (
            json!({ "nonsense": { "text": "Hello" }, drive: { "optionIds": [yes] } }),
            vec![at("nonsense", "")],
        ),
        (
            json!({ drive: { "optionIds": [double] }, car: { "text": [] } }),
            vec![at(drive, ".optionIds.0"), at(car, ".text")],
        ),
    ] {
        issues.sort();
        assert_eq!(
            house.answer(survey.step, answers.clone()).await.issues(),
            issues,
            "{answers}"
        );
    }
    assert_eq!(
        house
            .answer(agreement, json!({ "isAccepted": "yes" }))
            .await
            .issues(),
        ["answers.isAccepted"]
    );
    // The refused requests saved nothing, so the type of the step can still change.
    assert_eq!(house.status().await, "not_started");
    house
        .update(agreement, json!({ "stepType": "main" }))
        .await
        .data();
}

on_both!(the_body_holds_only_an_object_of_answers);
async fn the_body_holds_only_an_object_of_answers(app: App) {
    let house = House::build(&app).await;
    let step = house.step("your_details", json!({})).await;
    for (body, issues) in [
        (json!({}), vec!["answers"]),
        (json!({ "answers": null }), vec!["answers"]),
        (json!({ "answers": [] }), vec!["answers"]),
        (json!({ "answers": "none" }), vec!["answers"]),
        (
            json!({ "answers": {}, "isComplete": true }),
            vec!["isComplete"],
        ),
        (json!({ "answers": 1, "more": 2 }), vec!["answers", "more"]),
    ] {
        let response = house
            .guest(Method::PUT, &format!("/steps/{step}"), Some(body.clone()))
            .await;
        assert_eq!(response.issues(), issues, "{body}");
    }
    house
        .guest(Method::PUT, &format!("/steps/{step}"), Some(json!([])))
        .await
        .error(400);
    assert_eq!(house.status().await, "not_started");
    house
        .answer(step, json!({ "anything": ["goes", { "here": null }] }))
        .await
        .data();
    assert_eq!(house.step_view(step, "en").await["isComplete"], true);
}

on_both!(only_shown_steps_can_be_answered);
async fn only_shown_steps_can_be_answered(app: App) {
    let house = House::build(&app).await;
    let other = House::build(&app).await;
    let hidden = [
        house.step("main", json!({ "isActive": false })).await,
        house.step("main", json!({ "minLos": 30 })).await,
        house
            .unassigned_step("main", json!({ "isAlwaysShown": true }))
            .await,
        other.step("main", json!({})).await,
        new_id(),
    ];
    for step in hidden {
        house.answer(step, json!({})).await.error(404);
    }
    house
        .guest(
            Method::PUT,
            "/steps/nonsense",
            Some(json!({ "answers": {} })),
        )
        .await
        .error(404);
    assert_eq!(house.status().await, "not_started");
}

on_both!(a_saved_answer_locks_the_step_type);
async fn a_saved_answer_locks_the_step_type(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let rules = house.step("agreement", json!({})).await;
    house
        .update(step, json!({ "stepType": "your_details" }))
        .await
        .data();
    house.answer(step, json!({})).await.data();
    house
        .answer(rules, json!({ "isAccepted": false }))
        .await
        .data();
    for (step, own, other) in [(step, "your_details", "main"), (rules, "agreement", "main")] {
        let error = house
            .update(step, json!({ "stepType": other, "nickname": "Other" }))
            .await
            .error(409);
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!("CONFLICT"), &json!("PRECHECK_STEP_TYPE_LOCKED"))
        );
        let kept = house
            .update(step, json!({ "stepType": own, "sortOrder": 4 }))
            .await
            .data();
        assert_eq!(
            (&kept["stepType"], &kept["sortOrder"]),
            (&json!(own), &json!(4))
        );
        assert_ne!(
            kept["nickname"], "Other",
            "a refused update changes nothing"
        );
    }
}

on_both!(questions_that_remain_keep_their_saved_answers);
async fn questions_that_remain_keep_their_saved_answers(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionStep::build(&house).await;
    let answers = survey.answers(
        &[(DRIVE, &[0]), (BED, &[1]), (EXTRAS, &[0])],
        &[(CAR, "A red one"), (AGE, "Two")],
    );
    house.answer(survey.step, answers.clone()).await.data();

    // The new order of the questions begins with BED. The update removes EXTRAS, and AGE, which
    // depends on EXTRAS.
    let kept = json!([
        survey.questions[BED],
        survey.questions[DRIVE],
        survey.questions[CAR]
    ]);
    house
        .update(survey.step, json!({ "questions": kept }))
        .await
        .data();
    let view = house.step_view(survey.step, "en").await;
    assert_eq!(
        (survey.shown_questions(&view), &view["isComplete"]),
        (vec![BED, DRIVE, CAR], &json!(true))
    );
    for question in view["questions"].as_array().unwrap() {
        assert_eq!(
            question["answer"],
            answers[question["id"].as_str().unwrap()]
        );
    }
    let gone = survey.question(EXTRAS);
    assert_eq!(
        house
            .answer(survey.step, json!({ gone: { "optionIds": [] } }))
            .await
            .issues(),
        [format!("answers.{gone}")]
    );

    // A new required question makes the step incomplete, and so does a question whose chosen
    // option was removed.
    let mut bed = survey.questions[BED].clone();
    bed["options"].as_array_mut().unwrap().remove(1);
    bed["isRequired"] = json!(true);
    house
        .update(
            survey.step,
            json!({ "questions": [bed, survey.questions[DRIVE]] }),
        )
        .await
        .data();
    let view = house.step_view(survey.step, "en").await;
    assert_eq!(
        (survey.shown_questions(&view), &view["isComplete"]),
        (vec![BED, DRIVE], &json!(false))
    );
    house
        .answer(
            survey.step,
            survey.answers(&[(BED, &[0]), (DRIVE, &[1])], &[]),
        )
        .await
        .data();
    assert_eq!(house.step_view(survey.step, "en").await["isComplete"], true);

    // The host removes all questions, and then adds another question.
    house
        .update(survey.step, json!({ "questions": [], "isActive": false }))
        .await
        .data();
    assert_eq!(house.precheckin().await["steps"], json!([]));
    let text = house.text(&[("en", "When?")]).await;
    let questions =
        json!([{ "kind": "free_form_input", "textMlTextId": text, "isRequired": true }]);
    house
        .update(
            survey.step,
            json!({ "questions": questions, "isActive": true }),
        )
        .await
        .data();
    let view = house.step_view(survey.step, "en").await;
    assert_eq!(
        (&view["isComplete"], &view["questions"][0]["answer"]),
        (&json!(false), &Value::Null)
    );
}
