//! Tests of stays that change after the guest has submitted the pre-check-in (rules:
//! submissions#open-steps).

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use test_support::files::{Part, send, uploads};
use test_support::house::{House, id, ids, with};
use test_support::receiver::subscribe;
use test_support::{ApiResponse, App, on_both, reservation};

/// Time from the start of the tests' clock until check-in. Stays in tests begin on 2026-12-11 at
/// 15:00 in Madrid.
const UNTIL_CHECK_IN: Duration = Duration::from_secs(20 * 86_400 + 4 * 3_600 + 1_800);
/// Time from the start of the tests' clock until one minute before check-in.
const ALMOST_CHECK_IN: Duration = Duration::from_secs(20 * 86_400 + 4 * 3_600 + 1_740);

/// Replaces the reservation of the house by a default reservation of the same flat, with the fields
/// in `more` set.
async fn change_reservation(house: &House<'_>, more: Value) {
    let data = with(reservation(Some(house.flat)), more);
    house.org.put_record("reservation", house.stay, data).await;
}

/// Returns the open steps of a stay, after checking that guest, staff and platform read the same
/// list.
async fn open_steps(house: &House<'_>) -> Vec<Uuid> {
    let view = house.precheckin().await["openSteps"].clone();
    let read = house
        .api
        .get(&format!("/reservations/{}/precheckin", house.stay))
        .await
        .data();
    assert_eq!(read["openSteps"], view);
    assert_eq!(house.submission().await["openSteps"], view);
    let listed = house.api.get("/precheckin-submissions").await.data();
    if let Some(item) = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|item| id(&item["reservationId"]) == house.stay)
    {
        assert_eq!(item["openSteps"], view);
    } else {
        assert_eq!(view, json!([]));
    }
    view.as_array().unwrap().iter().map(id).collect()
}

async fn request(house: &House<'_>, steps: &[Uuid]) -> ApiResponse {
    let path = format!("/reservations/{}/precheckin/request-changes", house.stay);
    house
        .api
        .post(
            &path,
            json!({ "message": "Again, please.", "stepIds": steps }),
        )
        .await
}

async fn page(app: &App, house: &House<'_>, rest: &str) -> String {
    let address = format!("{}/stay/{}{rest}", app.base, house.token);
    app.http
        .get(address)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap()
}

/// Returns the number of submissions in the platform's list of guest changes.
async fn submission_notices(house: &House<'_>) -> usize {
    let path = house.org.path("/guest-changes?limit=1000");
    let changes = house.org.app.platform().get(&path).await.data();
    changes["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|change_reservation| change_reservation["kind"] == "submitted")
        .count()
}

on_both!(a_longer_stay_opens_a_step_that_can_be_saved_and_submitted);
async fn a_longer_stay_opens_a_step_that_can_be_saved_and_submitted(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    let details = house.step("your_details", json!({})).await;
    let rules = house.step("agreement", json!({ "minLos": 7 })).await;
    let hook = subscribe(
        &house.api,
        "reservation.precheckin_submitted",
        "https://receiver.invalid/",
    )
    .await;
    let fired = async || {
        let log = house
            .api
            .get(&format!(
                "/webhook-subscriptions/{}/deliveries",
                hook["id"].as_str().unwrap()
            ))
            .await;
        log.data();
        log.body["meta"]["pagination"]["total"].as_u64().unwrap()
    };
    house
        .answer(details, json!({ "firstName": "Ada" }))
        .await
        .data();
    assert!(
        open_steps(&house).await.is_empty(),
        "nothing is submitted yet"
    );
    house.submit().await.data();
    assert_eq!(
        (house.status().await.as_str(), open_steps(&house).await),
        ("approved", vec![])
    );
    assert!(
        page(&app, &house, "")
            .await
            .contains("There is nothing left to do.")
    );

    change_reservation(&house, json!({ "checkOut": "2026-12-31" })).await;
    assert_eq!(
        (house.status().await.as_str(), open_steps(&house).await),
        ("approved", vec![rules])
    );
    let home = page(&app, &house, "").await;
    assert!(
        home.contains("Something is new since you submitted.")
            && !home.contains("nothing left to do"),
        "{home}"
    );
    assert!(
        home.contains(&format!(
            "class=\"button first\" href=\"/stay/{}/steps/{rules}\"",
            house.token
        )),
        "{home}"
    );
    house.submit().await.error(409);
    house
        .answer(details, json!({ "firstName": "Eve" }))
        .await
        .error(409);
    let saved = house
        .answer(rules, json!({ "isAccepted": true }))
        .await
        .data();
    assert_eq!(
        (&saved["isOpen"], open_steps(&house).await),
        (&json!(true), vec![rules]),
        "saved since the last submission"
    );
    let review = page(&app, &house, "/review").await;
    assert!(
        review.contains("/submit") && !review.contains(" disabled"),
        "{review}"
    );
    let submitted = house.submit().await.data();
    assert_eq!(
        (&submitted["status"], &submitted["openSteps"]),
        (&json!("approved"), &json!([]))
    );
    assert_eq!(
        (
            open_steps(&house).await,
            fired().await,
            submission_notices(&house).await
        ),
        (vec![], 2, 2)
    );
    house.submit().await.error(409);
    house
        .answer(rules, json!({ "isAccepted": true }))
        .await
        .error(409);

    // The stay becomes shorter and then longer again. The saved answers remain, so no completed
    // step opens a second time.
    change_reservation(&house, json!({})).await;
    assert!(open_steps(&house).await.is_empty());
    change_reservation(&house, json!({ "checkOut": "2026-12-31" })).await;
    assert!(open_steps(&house).await.is_empty());
    assert_eq!(house.step_view(rules, "en").await["isComplete"], true);
}

on_both!(a_step_that_no_longer_applies_leaves_the_open_steps);
async fn a_step_that_no_longer_applies_leaves_the_open_steps(app: App) {
    let house = House::build(&app).await;
    let details = house.step("your_details", json!({})).await;
    house.answer(details, json!({})).await.data();
    house.submit().await.data();
    let added = house.step("document_upload", json!({})).await;
    assert_eq!(open_steps(&house).await, [added]);
    house.answer(added, json!({})).await.data();
    house
        .update(added, json!({ "isActive": false }))
        .await
        .data();
    assert_eq!(
        (open_steps(&house).await, house.status().await.as_str()),
        (vec![], "in_review")
    );
    house.submit().await.error(409);
    house
        .update(added, json!({ "isActive": true }))
        .await
        .data();
    assert_eq!(
        open_steps(&house).await,
        [added],
        "what was saved is still to be submitted"
    );
    house.submit().await.data();
    assert_eq!(
        (open_steps(&house).await, submission_notices(&house).await),
        (vec![], 2)
    );
}

on_both!(more_people_another_flat_and_new_requirements_open_steps);
async fn more_people_another_flat_and_new_requirements_open_steps(app: App) {
    let house = House::build(&app).await;
    change_reservation(&house, json!({ "adults": 2, "children": 0 })).await;
    let details = house
        .step(
            "your_details",
            json!({ "requiredGuestFields": ["firstName"] }),
        )
        .await;
    let others = house
        .step(
            "other_guests",
            json!({ "requiredGuestFields": ["firstName"] }),
        )
        .await;
    house
        .answer(details, json!({ "firstName": "Ada" }))
        .await
        .data();
    house
        .answer(others, json!({ "guests": [{ "firstName": "Bob" }] }))
        .await
        .data();
    house.submit().await.data();
    change_reservation(&house, json!({ "adults": 4, "children": 0 })).await;
    assert_eq!(open_steps(&house).await, [others]);
    change_reservation(&house, json!({ "adults": 2, "children": 0 })).await;
    assert!(open_steps(&house).await.is_empty());
    house
        .update(
            details,
            json!({ "requiredGuestFields": ["firstName", "phone"] }),
        )
        .await
        .data();
    assert_eq!(open_steps(&house).await, [details]);
    house
        .answer(details, json!({ "phone": "+34 612 34 56 78" }))
        .await
        .data();
    house.submit().await.data();
    assert!(open_steps(&house).await.is_empty());

    let other_flat = house.org.property(None, &[]).await;
    let there = house.unassigned_step("main", json!({})).await;
    house
        .scopes(
            "add",
            "precheck_step",
            there,
            json!({ "propertyIds": [other_flat] }),
        )
        .await;
    let moved = reservation(Some(other_flat));
    house.org.put_record("reservation", house.stay, moved).await;
    assert_eq!(
        (
            ids(&house.precheckin().await["steps"]),
            open_steps(&house).await
        ),
        (vec![there], vec![there])
    );
    change_reservation(&house, json!({ "adults": 2, "children": 0 })).await;
    assert!(
        open_steps(&house).await.is_empty(),
        "back in the first flat nothing is asked again"
    );
    assert_eq!(
        house.step_view(others, "en").await["answers"]["guests"][0]["firstName"],
        "Bob"
    );
}

on_both!(open_steps_close_at_check_in_and_all_steps_at_the_end_of_the_stay);
async fn open_steps_close_at_check_in_and_all_steps_at_the_end_of_the_stay(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    let details = house.step("your_details", json!({})).await;
    house.answer(details, json!({})).await.data();
    house.submit().await.data();
    let late = house.step("main", json!({})).await;
    app.clock.advance(ALMOST_CHECK_IN);
    assert_eq!(open_steps(&house).await, [late]);
    request(&house, &[details]).await.data();
    assert_eq!(open_steps(&house).await, [details, late]);
    house.answer(late, json!({})).await.data();
    house.submit().await.data();
    let later = house.step("document_upload", json!({})).await;
    assert_eq!(open_steps(&house).await, [later]);

    app.clock.advance(Duration::from_secs(120));
    assert!(open_steps(&house).await.is_empty());
    for refused in [
        house.answer(later, json!({})).await,
        house.submit().await,
        request(&house, &[details]).await,
    ] {
        assert_eq!(refused.error(409)["details"].get("key"), None);
    }
    let home = page(&app, &house, "").await;
    assert!(
        home.contains("nothing left to do") && !home.contains(&format!("/steps/{later}")),
        "{home}"
    );

    // After the check-out, the guest can neither save answers nor submit.
    app.clock.advance(Duration::from_secs(4 * 86_400));
    let view = house.step_view(details, "en").await;
    assert_eq!(view["isOpen"], false);
    for refused in [house.answer(details, json!({})).await, house.submit().await] {
        assert_eq!(refused.error(409)["details"]["key"], "stay.over");
    }
    house.answer(Uuid::nil(), json!({})).await.error(404);
}

on_both!(a_first_submission_is_possible_until_the_check_out_time);
async fn a_first_submission_is_possible_until_the_check_out_time(app: App) {
    let house = House::build(&app).await;
    let details = house.step("your_details", json!({})).await;
    app.clock
        .advance(UNTIL_CHECK_IN + Duration::from_secs(86_400));
    house.answer(details, json!({})).await.data();
    house.submit().await.data();
    request(&house, &[details]).await.data();
    assert!(
        open_steps(&house).await.is_empty(),
        "none are listed from the check-in time on"
    );
    house
        .answer(details, json!({ "firstName": "Ada" }))
        .await
        .data();
    house.submit().await.data();
    app.clock.advance(Duration::from_secs(3 * 86_400));
    assert_eq!(
        house.answer(details, json!({})).await.error(409)["details"]["key"],
        "stay.over"
    );
    let home = page(&app, &house, "").await;
    assert!(!home.contains("class=\"button first\""), "{home}");
}

on_both!(the_page_says_that_the_stay_ended_before_anything_was_submitted);
async fn the_page_says_that_the_stay_ended_before_anything_was_submitted(app: App) {
    let house = House::build(&app).await;
    let details = house.step("your_details", json!({})).await;
    app.clock
        .advance(UNTIL_CHECK_IN + Duration::from_secs(5 * 86_400));
    for rest in [format!("/steps/{details}"), "/review".to_owned()] {
        let page = page(&app, &house, &rest).await;
        assert!(
            page.contains("Your stay is over, so nothing can be changed here any more."),
            "{rest}: {page}"
        );
        assert!(
            !page.contains("then submit") && !page.contains("no longer, part of"),
            "{rest}: {page}"
        );
    }
}

on_both!(approved_steps_can_be_sent_back_until_the_check_in_time);
async fn approved_steps_can_be_sent_back_until_the_check_in_time(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    let (details, last) = (
        house.step("your_details", json!({})).await,
        house.step("main", json!({})).await,
    );
    request(&house, &[details]).await.error(409);
    for step in [details, last] {
        house.answer(step, json!({})).await.data();
    }
    house.submit().await.data();
    let item = request(&house, &[details]).await.data();
    assert_eq!(
        (&item["status"], &item["openSteps"]),
        (&json!("changes_requested"), &json!([details]))
    );
    assert_eq!(open_steps(&house).await, [details]);
    request(&house, &[last]).await.error(409);
    house.answer(last, json!({})).await.error(409);
    house
        .answer(details, json!({ "firstName": "Ada" }))
        .await
        .data();
    house.submit().await.data();
    assert_eq!(
        (house.status().await.as_str(), open_steps(&house).await),
        ("approved", vec![])
    );
}

on_both!(a_guest_who_travels_alone_need_not_name_other_guests);
async fn a_guest_who_travels_alone_need_not_name_other_guests(app: App) {
    let house = House::build(&app).await;
    let others = house
        .step(
            "other_guests",
            json!({ "requiredGuestFields": ["firstName"] }),
        )
        .await;
    for (adults, children, is_complete) in [
        (json!(1), json!(0), true),
        (json!(1), Value::Null, true),
        (json!(2), Value::Null, false),
        (Value::Null, Value::Null, false),
    ] {
        change_reservation(&house, json!({ "adults": adults, "children": children })).await;
        assert_eq!(
            house.step_view(others, "en").await["isComplete"],
            is_complete,
            "{adults} {children}"
        );
    }
    change_reservation(&house, json!({ "adults": 1 })).await;
    house.submit().await.data();
    change_reservation(&house, json!({ "adults": 2 })).await;
    assert_eq!(open_steps(&house).await, [others]);
}

on_both!(the_console_shows_which_steps_are_open_again);
async fn the_console_shows_which_steps_are_open_again(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    let details = house.step("your_details", json!({})).await;
    house.answer(details, json!({})).await.data();
    house.submit().await.data();
    house.step("main", json!({})).await;
    let browser = crate::console::marta(&house.org).await;
    let stay = house.stay;
    for path in [
        "/console/submissions?status=approved".to_owned(),
        format!("/console/submissions/{stay}"),
        format!("/console/stays/{stay}"),
    ] {
        let html = crate::console::page(&browser, &path).await;
        assert!(
            html.contains("Open to the guest again: 1"),
            "{path}: {html}"
        );
    }
    let html = crate::console::page(&browser, &format!("/console/submissions/{stay}")).await;
    assert!(
        html.contains("/changes\"") && !html.contains("/approve\""),
        "an approved one can be sent back: {html}"
    );
}

on_both!(a_file_opens_its_step_until_it_is_submitted, uploads());
async fn a_file_opens_its_step_until_it_is_submitted(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
        .await;
    let papers = house
        .step(
            "document_upload",
            json!({ "requiredDocumentTypes": ["passport"] }),
        )
        .await;
    let upload = async |kind: &'static str| {
        let parts: [Part<'_>; 2] = [
            ("file", Some("1.pdf"), b"%PDF-1.7 a paper"),
            ("documentType", None, kind.as_bytes()),
        ];
        send(&app, &house.token, papers, &parts).await.status
    };
    assert_eq!(upload("passport").await, 201);
    house.submit().await.data();
    assert_eq!(upload("visa").await, 409);
    house
        .update(
            papers,
            json!({ "requiredDocumentTypes": ["passport", "visa"] }),
        )
        .await
        .data();
    assert_eq!(
        (open_steps(&house).await, upload("visa").await),
        (vec![papers], 201)
    );
    assert_eq!(open_steps(&house).await, [papers]);
    house.submit().await.data();
    assert!(open_steps(&house).await.is_empty());
}
