//! Tests of the review of submissions by staff: the list, the details, approval, and requests for
//! changes.

use std::time::Duration;

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use test_support::house::{House, guest, id, ids, with};
use test_support::receiver::subscribe;
use test_support::{Api, ApiResponse, App, new_id, on_both, reservation};
use uuid::Uuid;

use super::{AGE, BED, CAR, DRIVE, EXTRAS, QuestionStep};

const LIST: &str = "/precheckin-submissions";

fn path(stay: Uuid, rest: &str) -> String {
    format!("/reservations/{stay}/precheckin{rest}")
}

async fn approve(api: &Api, stay: Uuid) -> ApiResponse {
    api.send(Method::POST, &path(stay, "/approve"), None).await
}

async fn request_changes(api: &Api, stay: Uuid, message: &str, steps: &[Uuid]) -> ApiResponse {
    api.post(
        &path(stay, "/request-changes"),
        json!({ "message": message, "stepIds": steps }),
    )
    .await
}

/// Returns the ids of the reservations in a list of submissions. `query` selects the list.
async fn listed(api: &Api, query: &str) -> Vec<Uuid> {
    let rows = api.get(&format!("{LIST}{query}")).await.data();
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| id(&row["reservationId"]))
        .collect()
}

/// Creates another stay and submits its pre-check-in without answers. Its only step is completed by
/// another system.
async fn submitted_stay(house: &House<'_>, property: Uuid) -> Uuid {
    let stay = house.org.reservation(Some(property)).await;
    let token = house.org.stay_token(stay).await;
    let steps = async || {
        let view = house.org.guest_view(stay).await;
        ids(&view["precheckin"]["steps"])
    };
    if steps().await.is_empty() {
        let step = house.unassigned_step("screen_and_protect", json!({})).await;
        let target = json!({ "propertyIds": [property] });
        house.scopes("add", "precheck_step", step, target).await;
    }
    for step in steps().await {
        let path = format!("/reservations/{stay}/steps/{step}");
        let body = json!({ "status": "completed" });
        let platform = house.org.app.platform();
        platform
            .ok(Method::PUT, &house.org.path(&path), Some(body))
            .await;
    }
    guest(house.org.app, &token, Method::POST, "/submit", None)
        .await
        .data();
    stay
}

/// Returns for each step whether the guest can change it.
async fn open_states(house: &House<'_>) -> Vec<bool> {
    let steps = house.precheckin().await["steps"].clone();
    steps
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["isOpen"].as_bool().unwrap())
        .collect()
}

on_both!(a_submission_waits_for_review_and_is_approved);
async fn a_submission_waits_for_review_and_is_approved(app: App) {
    let house = House::build(&app).await;
    let step = house.step("your_details", json!({})).await;
    let House { api, stay, .. } = &house;
    let read = async || api.get(&path(*stay, "")).await.data();
    let mut item = json!({
        "reservationId": stay,
        "propertyId": house.flat,
        "propertyName": "Flat",
        "guestName": "Ada L",
        "checkIn": "2026-12-11",
        "status": "not_started",
        "submittedAt": null,
        "decidedAt": null,
        "decidedBy": null,
        "message": null,
        "openSteps": [],
    });
    let steps = |answers: Value, is_open: bool| {
        json!([
            {
                "id": step,
                "stepType": "your_details",
                "title": "Your details",
                "isShown": true,
                "isComplete": !answers.is_null(),
                "state": if answers.is_null() { "todo" } else { "done" },
                "isOpen": is_open,
                "answers": answers,
            },
        ])
    };
    assert_eq!(
        read().await,
        with(
            item.clone(),
            json!({ "flags": [], "steps": steps(Value::Null, true) })
        )
    );
    let answers = json!({ "firstName": "Ada" });
    house.answer(step, answers.clone()).await.data();
    item["status"] = json!("in_progress");
    assert_eq!(
        read().await,
        with(
            item.clone(),
            json!({ "flags": [], "steps": steps(answers.clone(), true) })
        )
    );
    assert!(listed(api, "").await.is_empty());
    for refused in [
        approve(api, *stay).await,
        request_changes(api, *stay, "Why?", &[step]).await,
    ] {
        assert_eq!(refused.error(409)["code"], "CONFLICT");
    }

    house.submit().await.data();
    item["status"] = json!("in_review");
    item["submittedAt"] = json!("2026-11-21T09:30:00.001Z");
    assert_eq!(
        read().await,
        with(
            item.clone(),
            json!({ "flags": [], "steps": steps(answers.clone(), false) })
        )
    );
    for query in [
        "",
        "?status=in_review",
        &format!("?propertyId={}", house.flat),
        &format!("?status=in_review&propertyId={}", house.flat),
    ] {
        assert_eq!(
            api.get(&format!("{LIST}{query}")).await.data(),
            json!([item]),
            "{query}"
        );
    }
    for query in [
        "?status=approved",
        "?status=changes_requested",
        &format!("?propertyId={}", new_id()),
    ] {
        assert!(listed(api, query).await.is_empty(), "{query}");
    }

    app.clock.advance(Duration::from_secs(60));
    let approved = approve(api, *stay).await;
    item["status"] = json!("approved");
    item["decidedAt"] = json!("2026-11-21T09:31:00.001Z");
    item["decidedBy"] = json!("key");
    assert_eq!((approved.status, approved.data()), (200, item.clone()));
    assert_eq!(
        api.get(&format!("{LIST}?status=approved")).await.data(),
        json!([item])
    );
    assert_eq!(
        read().await,
        with(item, json!({ "flags": [], "steps": steps(answers, false) }))
    );
    assert_eq!(
        (house.status().await.as_str(), open_states(&house).await),
        ("approved", vec![false])
    );
    assert!(listed(api, "?status=in_review").await.is_empty());
    approve(api, *stay).await.error(409);
    house.answer(step, json!({})).await.error(409);
    house.submit().await.error(409);
}

on_both!(steps_sent_back_are_open_again);
async fn steps_sent_back_are_open_again(app: App) {
    let house = House::build(&app).await;
    let [details, papers, last] = ["your_details", "document_upload", "main"];
    let details = house.step(details, json!({})).await;
    let papers = house.step(papers, json!({})).await;
    let last = house.step(last, json!({})).await;
    let House { api, stay, .. } = &house;
    let hook = subscribe(
        api,
        "reservation.precheckin_submitted",
        "https://receiver.invalid/",
    )
    .await;
    let fired = async || {
        let log = api
            .get(&format!(
                "/webhook-subscriptions/{}/deliveries",
                hook["id"].as_str().unwrap()
            ))
            .await;
        log.data();
        log.body["meta"]["pagination"]["total"].clone()
    };
    for step in [details, papers, last] {
        house.answer(step, json!({ "kept": true })).await.data();
    }
    assert_eq!(open_states(&house).await, [true, true, true]);
    house.submit().await.data();
    assert_eq!(
        (fired().await, open_states(&house).await),
        (json!(1), vec![false, false, false])
    );

    app.clock.advance(Duration::from_secs(60));
    let member = new_id();
    house
        .org
        .member(member, Some(&[house.flat]), Permission::VARIANTS, true)
        .await;
    let theirs = house.org.token_of(member, Permission::VARIANTS).await;
    let asked = request_changes(
        &theirs,
        *stay,
        "  The passport cannot be read.\n",
        &[papers, details],
    )
    .await;
    assert_eq!(asked.status, 200);
    let asked = asked.data();
    assert_eq!(
        (&asked["status"], &asked["decidedBy"]),
        (&json!("changes_requested"), &json!("Member"))
    );
    assert_eq!(asked["message"], "  The passport cannot be read.\n");
    assert_eq!(listed(api, "?status=changes_requested").await, [*stay]);
    let view = house.precheckin().await;
    assert_eq!(
        (&view["status"], &view["message"]),
        (&json!("changes_requested"), &asked["message"])
    );
    assert_eq!(view["requestedAt"], asked["decidedAt"]);
    assert_eq!(open_states(&house).await, [true, true, false]);
    // Staff have requested changes, so only the guest can act next.
    approve(api, *stay).await.error(409);
    request_changes(api, *stay, "And that?", &[last])
        .await
        .error(409);

    house
        .answer(last, json!({ "kept": false }))
        .await
        .error(409);
    let saved = house.answer(papers, json!({ "kept": false })).await.data();
    assert_eq!(
        (&saved["isComplete"], &saved["isOpen"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(house.status().await, "changes_requested");
    let read = api.get(&path(*stay, "")).await.data();
    let kept: Vec<&Value> = read["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["answers"]["kept"])
        .collect();
    assert_eq!(kept, [true, false, true]);

    // Staff have requested changes to a step. The guest may submit again without changing that
    // step.
    app.clock.advance(Duration::from_secs(60));
    let again = house.submit().await.data();
    assert_eq!(
        (&again["status"], &again["message"], &again["requestedAt"]),
        (&json!("in_review"), &Value::Null, &Value::Null)
    );
    assert_eq!(
        (fired().await, open_states(&house).await),
        (json!(2), vec![false, false, false])
    );
    let item = api.get(LIST).await.data()[0].clone();
    assert_eq!(
        (&item["decidedAt"], &item["decidedBy"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&item["message"], &item["submittedAt"]),
        (&asked["message"], &json!("2026-11-21T09:32:00.003Z"))
    );
    house.submit().await.error(409);
    house.answer(papers, json!({})).await.error(409);

    // The host has switched manual review off, so the service approves the next submission at
    // once. No member decides, so `decidedBy` is null.
    request_changes(api, *stay, "Both sides, please.", &[papers])
        .await
        .data();
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    assert_eq!(house.submit().await.data()["status"], "approved");
    let item = api.get(LIST).await.data()[0].clone();
    assert_eq!(
        (&item["decidedAt"], &item["decidedBy"], &item["message"]),
        (&Value::Null, &Value::Null, &json!("Both sides, please."))
    );
    assert_eq!(fired().await, 3);
}

on_both!(incomplete_steps_stay_open_while_changes_are_requested);
async fn incomplete_steps_stay_open_while_changes_are_requested(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionStep::build(&house).await;
    let details = house.step("your_details", json!({})).await;
    house
        .answer(survey.step, survey.answers(&[(DRIVE, &[1])], &[]))
        .await
        .data();
    house.answer(details, json!({})).await.data();
    house.submit().await.data();
    request_changes(&house.api, house.stay, "Your name?", &[details])
        .await
        .data();
    assert_eq!(open_states(&house).await, [true, false]);
    // A new step and a newly required question make the submission incomplete. All steps are
    // then open to the guest.
    let rules = house.step("agreement", json!({})).await;
    let mut questions = survey.questions.clone();
    questions[BED]["isRequired"] = json!(true);
    house
        .update(survey.step, json!({ "questions": questions }))
        .await
        .data();
    house.submit().await.error(409);
    assert_eq!(open_states(&house).await, [true, true, true]);
    house
        .answer(rules, json!({ "isAccepted": true }))
        .await
        .data();
    let saved = house
        .answer(
            survey.step,
            survey.answers(&[(DRIVE, &[1]), (BED, &[0])], &[]),
        )
        .await
        .data();
    assert_eq!(
        saved["isOpen"], true,
        "what was saved since can be changed until it is submitted"
    );
    house.submit().await.data();
    assert_eq!(open_states(&house).await, [false, false, false]);
}

on_both!(changes_can_be_requested_only_for_shown_steps);
async fn changes_can_be_requested_only_for_shown_steps(app: App) {
    let house = House::build(&app).await;
    let other = House::build(&app).await;
    let step = house.step("your_details", json!({})).await;
    let hidden = house.step("main", json!({ "minLos": 30 })).await;
    let inactive = house.step("main", json!({ "isActive": false })).await;
    let theirs = other.step("main", json!({})).await;
    let House { api, stay, .. } = &house;
    // The service reports unknown steps (404) before conflicts (409).
    request_changes(api, *stay, "Why?", &[new_id()])
        .await
        .error(404);
    house.answer(step, json!({})).await.data();
    house.submit().await.data();
    for wrong in [hidden, inactive, theirs, new_id()] {
        assert_eq!(
            request_changes(api, *stay, "Why?", &[step, wrong])
                .await
                .error(404)["code"],
            "NOT_FOUND"
        );
    }
    for unknown in [new_id(), other.stay] {
        request_changes(api, unknown, "Why?", &[step])
            .await
            .error(404);
        approve(api, unknown).await.error(404);
        api.get(&path(unknown, "")).await.error(404);
    }
    let long = "é".repeat(2_001);
    for (body, issues) in [
        (json!({}), vec!["message", "stepIds"]),
        (
            json!({ "message": "", "stepIds": [] }),
            vec!["message", "stepIds"],
        ),
        (
            json!({ "message": " \n", "stepIds": [step, step] }),
            vec!["message", "stepIds"],
        ),
        (
            json!({ "message": long, "stepIds": "all" }),
            vec!["message", "stepIds"],
        ),
        (
            json!({ "message": null, "stepIds": ["all"] }),
            vec!["message", "stepIds.0"],
        ),
        (
            json!({ "message": "Why?", "stepIds": [step], "status": "approved" }),
            vec!["status"],
        ),
    ] {
        assert_eq!(
            api.post(&path(*stay, "/request-changes"), body.clone())
                .await
                .issues(),
            issues,
            "{body}"
        );
    }
    assert_eq!(
        api.post(&path(*stay, "/approve"), json!({ "by": "me" }))
            .await
            .issues(),
        ["by"]
    );
    assert_eq!(house.status().await, "in_review");
    request_changes(api, *stay, &"é".repeat(2_000), &[step])
        .await
        .data();
    // A cancelled stay shows no steps, so a request for changes to one of them gets a 404.
    house.submit().await.data();
    house
        .org
        .put_record(
            "reservation",
            *stay,
            with(
                reservation(Some(house.flat)),
                json!({ "status": "cancelled" }),
            ),
        )
        .await;
    request_changes(api, *stay, "Why?", &[step])
        .await
        .error(404);
    assert_eq!(approve(api, *stay).await.data()["status"], "approved");
}

on_both!(reviews_show_the_texts_of_questions_and_options);
async fn reviews_show_the_texts_of_questions_and_options(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionStep::build(&house).await;
    house
        .update(survey.step, json!({ "displayTitle": "Your arrival" }))
        .await
        .data();
    let answers = survey.answers(
        &[(DRIVE, &[0]), (BED, &[1]), (EXTRAS, &[0, 1])],
        &[(CAR, "A red one")],
    );
    house.answer(survey.step, answers).await.data();
    let question = |number: usize, text: &str, kind: &str, chosen: Value, written: Value| {
        json!({
            "questionId": survey.question(number),
            "question": text,
            "kind": kind,
            "options": chosen,
            "text": written,
        })
    };
    let option = |number: usize, place: usize, name: &str| {
        json!({
            "id": survey.option(number, place),
            "name": name,
        })
    };
    let given = json!([
        question(
            DRIVE,
            "Will you drive?",
            "yes_no",
            json!([option(DRIVE, 0, "Yes")]),
            Value::Null
        ),
        question(
            CAR,
            "Which car?",
            "free_form_input",
            json!([]),
            json!("A red one")
        ),
        question(
            BED,
            "Which bed?",
            "single_select",
            json!([option(BED, 1, "Twins")]),
            Value::Null
        ),
        question(
            EXTRAS,
            "Extras?",
            "multi_select",
            json!([option(EXTRAS, 0, "Crib"), option(EXTRAS, 1, "Sauna")]),
            Value::Null
        ),
        question(
            AGE,
            "How old is the child?",
            "free_form_input",
            json!([]),
            Value::Null
        ),
    ]);
    let read = async || house.api.get(&path(house.stay, "")).await.data()["steps"].clone();
    let steps = read().await;
    assert_eq!(
        (&steps[0]["title"], &steps[0]["answers"]),
        (&json!("Your arrival"), &given)
    );
    // The details of a submission also list answers to steps that no longer apply to the stay.
    // These answers come last.
    let details = house.step("your_details", json!({})).await;
    house
        .update(survey.step, json!({ "isActive": false }))
        .await
        .data();
    let steps = read().await;
    assert_eq!(ids(&steps), [details, survey.step]);
    assert_eq!(
        (&steps[0]["isShown"], &steps[0]["answers"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(
        (
            &steps[1]["isShown"],
            &steps[1]["isOpen"],
            &steps[1]["answers"]
        ),
        (&json!(false), &json!(false), &given)
    );
}

on_both!(submissions_are_listed_longest_waiting_first);
async fn submissions_are_listed_longest_waiting_first(app: App) {
    let house = House::build(&app).await;
    let mut stays = Vec::new();
    for _ in 0..3 {
        // Two stays are submitted in the same millisecond, so the list of submissions orders them
        // by id.
        for _ in 0..2 {
            stays.push(submitted_stay(&house, house.flat).await);
        }
        app.clock.advance(Duration::from_secs(1));
    }
    let by_id: Vec<Uuid> = stays
        .chunks(2)
        .flat_map(|pair| [pair[0].min(pair[1]), pair[0].max(pair[1])])
        .collect();
    let api = &house.api;
    assert_eq!(listed(api, "").await, by_id);
    assert_eq!(
        listed(api, &format!("?propertyId={}", house.flat)).await,
        by_id
    );
    let page = api
        .get(&format!("{LIST}?status=in_review&limit=2&offset=3"))
        .await;
    assert_eq!(
        page.body["meta"]["pagination"],
        json!({ "limit": 2, "offset": 3, "total": 6 })
    );
    assert_eq!(
        page.data()
            .as_array()
            .unwrap()
            .iter()
            .map(|row| id(&row["reservationId"]))
            .collect::<Vec<_>>(),
        by_id[3..5]
    );
    let beyond = api.get(&format!("{LIST}?offset=7")).await;
    assert_eq!(
        (beyond.data(), &beyond.body["meta"]["pagination"]["total"]),
        (json!([]), &json!(6))
    );
    assert_eq!(
        api.get(LIST).await.body["meta"]["pagination"],
        json!({ "limit": 50, "offset": 0, "total": 6 })
    );
    approve(api, by_id[0]).await.data();
    assert_eq!(listed(api, "?status=in_review").await, by_id[1..]);
    for (query, issue) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("offset=-1", "offset"),
        ("status=not_started", "status"),
        ("status=in_progress", "status"),
        ("propertyId=x", "propertyId"),
    ] {
        assert_eq!(
            api.get(&format!("{LIST}?{query}")).await.issues(),
            [issue],
            "{query}"
        );
    }
    house.org.delete_record("reservation", by_id[2]).await;
    assert_eq!(listed(api, "").await.len(), 5);
    api.get(&path(by_id[2], "")).await.error(404);
}

on_both!(a_limited_caller_reviews_only_stays_of_their_properties);
async fn a_limited_caller_reviews_only_stays_of_their_properties(app: App) {
    let house = House::build(&app).await;
    let (org, theirs, others) = (&house.org, house.flat, house.org.property(None, &[]).await);
    let limited = org.limited(&[theirs]).await;
    let (inside, outside) = (
        submitted_stay(&house, theirs).await,
        submitted_stay(&house, others).await,
    );
    for query in ["", "?status=in_review", &format!("?propertyId={theirs}")] {
        assert_eq!(listed(&limited, query).await, [inside], "{query}");
    }
    assert!(
        listed(&limited, &format!("?propertyId={others}"))
            .await
            .is_empty()
    );
    assert!(listed(&org.limited(&[]).await, "").await.is_empty());
    let refused = async |stay: Uuid| {
        limited.get(&path(stay, "")).await.error(404);
        approve(&limited, stay).await.error(404);
        request_changes(&limited, stay, "Why?", &[new_id()])
            .await
            .error(404);
    };
    refused(outside).await;
    // One stay moves into the property of the limited caller. Another stay moves out of it.
    org.put_record("reservation", outside, reservation(Some(theirs)))
        .await;
    org.put_record("reservation", inside, reservation(Some(others)))
        .await;
    assert_eq!(
        (
            listed(&limited, "").await,
            listed(&house.api, "").await.len()
        ),
        (vec![outside], 2)
    );
    assert_eq!(
        listed(&house.api, &format!("?propertyId={others}")).await,
        [inside]
    );
    refused(inside).await;
    approve(&limited, outside).await.data();
    // No limited caller can access a stay without a property.
    org.delete_record("property", others).await;
    let item = house.api.get(&path(inside, "")).await.data();
    assert_eq!(
        (&item["propertyId"], &item["propertyName"], &item["steps"]),
        (&Value::Null, &Value::Null, &json!([]))
    );
    assert_eq!(listed(&house.api, "?status=in_review").await, [inside]);
    assert_eq!(listed(&limited, "").await, [outside]);
    refused(inside).await;
    approve(&house.api, inside).await.data();
}

on_both!(a_decision_needs_both_permissions);
async fn a_decision_needs_both_permissions(app: App) {
    use Permission::{ModifyProperties, ViewReservations};
    let house = House::build(&app).await;
    let stay = submitted_stay(&house, house.flat).await;
    let both = house
        .org
        .key_with(&[ViewReservations, ModifyProperties])
        .await;
    for (held, reads) in [(ViewReservations, 200), (ModifyProperties, 403)] {
        let api = house.org.key_with(&[held]).await;
        assert_eq!(api.get(LIST).await.status, reads);
        assert_eq!(api.get(&path(stay, "")).await.status, reads);
        for refused in [
            approve(&api, stay).await,
            api.post(&path(stay, "/request-changes"), json!({})).await,
        ] {
            assert!(
                refused.error(403)["message"]
                    .as_str()
                    .unwrap()
                    .starts_with("Missing permission")
            );
        }
    }
    approve(&both, stay).await.data();
}

on_both!(a_repeated_decision_is_replayed_by_its_key);
async fn a_repeated_decision_is_replayed_by_its_key(app: App) {
    let house = House::build(&app).await;
    let stay = submitted_stay(&house, house.flat).await;
    let first = house
        .api
        .post_with_key(&path(stay, "/approve"), "once", json!({}))
        .await;
    app.clock.advance(Duration::from_secs(1));
    let again = house
        .api
        .post_with_key(&path(stay, "/approve"), "once", json!({}))
        .await;
    assert_eq!(
        (&again.body, again.header("idempotency-replayed")),
        (&first.body, Some("true"))
    );
    house
        .api
        .post_with_key(&path(stay, "/approve"), "twice", json!({}))
        .await
        .error(409);
}

on_both!(the_page_allows_another_submission_after_requested_changes);
async fn the_page_allows_another_submission_after_requested_changes(app: App) {
    let house = House::build(&app).await;
    let step = house.step("agreement", json!({})).await;
    house
        .answer(step, json!({ "isAccepted": true }))
        .await
        .data();
    house.submit().await.data();
    request_changes(&house.api, house.stay, "Read it again.", &[step])
        .await
        .data();
    let page = async |path: &str| {
        let address = format!("{}/stay/{}{path}?language=fr", app.base, house.token);
        app.http
            .get(address)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    };
    let home = page("").await;
    assert!(
        home.contains("Modifications demandées") && home.contains("Read it again."),
        "{home}"
    );
    assert!(page("/review").await.contains("/submit"));
    house.submit().await.data();
    let (home, review) = (page("").await, page("/review").await);
    assert!(
        !home.contains("Read it again.") && !review.contains("/submit"),
        "{home}{review}"
    );
}
