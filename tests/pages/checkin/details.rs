//! Tests of the step that asks the guest for their details, and of the step for the details of the
//! other guests.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::{House, guest, with};
use test_support::{App, on_both, reservation};

const REQUIRED: [&str; 5] = ["firstName", "email", "phone", "birthDate", "shoe size"];

/// Checks that no two guests have the same id. Returns the guests without the ids.
fn nameless(guests: &Value) -> Value {
    let mut guests = guests.clone();
    let mut seen = std::collections::HashSet::new();
    for guest in guests.as_array_mut().unwrap() {
        let id = guest.as_object_mut().unwrap().remove("id").unwrap();
        assert!(seen.insert(id.as_str().unwrap().parse::<Uuid>().unwrap()));
    }
    guests
}

/// Writes the reservation of the house again with these numbers of adults and children. All other
/// fields get their default values.
async fn party(house: &House<'_>, adults: Value, children: Value) {
    let data = with(
        reservation(Some(house.flat)),
        json!({ "adults": adults, "children": children }),
    );
    house.org.put_record("reservation", house.stay, data).await;
}

async fn saved(house: &House<'_>, step: Uuid) -> Value {
    house.step_view(step, "en").await["answers"].clone()
}

on_both!(guest_fields_that_are_not_sent_keep_their_values);
async fn guest_fields_that_are_not_sent_keep_their_values(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "your_details",
            json!({ "requiredGuestFields": ["lastName", "email", "lastName"] }),
        )
        .await;
    let view = house.step_view(step, "en").await;
    assert_eq!(
        (
            &view["requiredFields"],
            &view["isComplete"],
            view.get("answers")
        ),
        (&json!(["lastName", "email"]), &json!(false), None)
    );
    // Each row has the request, the answers that are then saved, and whether the step is
    // complete.
    for (sent, expected, is_complete) in [
        (
            json!({ "lastName": "L", "hat": ["red", null] }),
            json!({ "lastName": "L", "hat": ["red", null] }),
            false,
        ),
        (
            json!({ "email": "ada@example.com" }),
            json!({ "lastName": "L", "hat": ["red", null], "email": "ada@example.com" }),
            true,
        ),
        (
            json!({}),
            json!({ "lastName": "L", "hat": ["red", null], "email": "ada@example.com" }),
            true,
        ),
        (
            json!({ "hat": null, "lastName": " " }),
            json!({ "lastName": " ", "email": "ada@example.com" }),
            false,
        ),
        (
            json!({ "lastName": null, "shoes": null }),
            json!({ "email": "ada@example.com" }),
            false,
        ),
        (
            json!({ "lastName": "Lovelace" }),
            json!({ "lastName": "Lovelace", "email": "ada@example.com" }),
            true,
        ),
    ] {
        let answer = house.answer(step, sent.clone()).await.data();
        assert_eq!(
            (&answer["answers"], &answer["isComplete"]),
            (&expected, &json!(is_complete)),
            "{sent}"
        );
        assert_eq!(saved(&house, step).await, expected, "{sent}");
    }
    // A refused request changes no saved answer.
    assert_eq!(
        house
            .answer(step, json!({ "email": "ada", "lastName": "B" }))
            .await
            .issues(),
        ["answers.email"]
    );
    assert_eq!(saved(&house, step).await["lastName"], "Lovelace");
    assert_eq!(
        house.submission().await["steps"][0]["answers"],
        json!({ "lastName": "Lovelace", "email": "ada@example.com" })
    );
}

on_both!(answers_of_other_steps_are_replaced_as_sent);
async fn answers_of_other_steps_are_replaced_as_sent(app: App) {
    let house = House::build(&app).await;
    for step_type in ["main", "identity_check", "document_upload"] {
        let step = house.step(step_type, json!({})).await;
        house
            .answer(step, json!({ "one": 1, "two": null }))
            .await
            .data();
        house.answer(step, json!({ "three": 3 })).await.data();
        assert_eq!(
            saved(&house, step).await,
            json!({ "three": 3 }),
            "{step_type}"
        );
    }
}

on_both!(every_wrong_guest_field_is_named);
async fn every_wrong_guest_field_is_named(app: App) {
    let house = House::build(&app).await;
    let (own, others) = (
        house
            .step("your_details", json!({ "requiredGuestFields": REQUIRED }))
            .await,
        house
            .step("other_guests", json!({ "requiredGuestFields": REQUIRED }))
            .await,
    );
    for (field, value) in [
        ("firstName", json!(7)),
        ("firstName", json!({ "given": "Ada" })),
        ("firstName", json!("x".repeat(501))),
        ("email", json!("ada")),
        ("email", json!(["ada@example.com"])),
        ("phone", json!("+34 1")),
        ("phone", json!("call me")),
        ("birthDate", json!("10.12.1990")),
        ("birthDate", json!("2027-01-01")),
        ("shoe size", json!(38)),
    ] {
        let guest = json!({ field: value, "hat": [1, 2], "city": 7 });
        assert_eq!(
            house.answer(own, guest.clone()).await.issues(),
            [format!("answers.{field}")],
            "{value}"
        );
        let guests = json!({ "guests": [{}, guest] });
        assert_eq!(
            house.answer(others, guests).await.issues(),
            [format!("answers.guests.1.{field}")],
            "{value}"
        );
    }
    for (guests, at_fault) in [
        (json!("Ana, Luis"), "answers.guests"),
        (json!({ "firstName": "Ana" }), "answers.guests"),
        (json!(["Ana"]), "answers.guests.0"),
        (json!([{}, null]), "answers.guests.1"),
        (json!([[{}]]), "answers.guests.0"),
        (vec![json!({}); 51].into(), "answers.guests"),
    ] {
        assert_eq!(
            house
                .answer(others, json!({ "guests": guests }))
                .await
                .issues(),
            [at_fault],
            "{guests}"
        );
    }
    // A refusal lists at most 100 issues and counts the others.
    let wrong: Value = REQUIRED
        .iter()
        .map(|field| ((*field).to_owned(), json!(1)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let refused = house
        .answer(others, json!({ "guests": vec![wrong; 50] }))
        .await
        .error(400);
    assert_eq!(
        (
            refused["details"]["issues"].as_array().unwrap().len(),
            &refused["details"]["more"]
        ),
        (100, &json!(150))
    );
    assert_eq!(house.status().await, "not_started");
    // Empty texts and null are saved, but do not complete the step.
    let blank = json!({ "firstName": "", "email": " ", "phone": null, "birthDate": "" });
    assert_eq!(house.answer(own, blank).await.data()["isComplete"], false);
    let full = json!({
        "firstName": "Ada",
        "email": "ada@example.com",
        "phone": "934 12 34 56",
        "birthDate": "1990-12-10",
        "shoe size": "38",
    });
    assert_eq!(
        house.answer(own, full.clone()).await.data()["isComplete"],
        true
    );
    house
        .answer(others, json!({ "guests": vec![full; 50] }))
        .await
        .data();
}

on_both!(without_required_fields_any_object_completes_the_step);
async fn without_required_fields_any_object_completes_the_step(app: App) {
    let house = House::build(&app).await;
    for step_type in ["your_details", "other_guests"] {
        for more in [
            json!({}),
            json!({ "requiredGuestFields": [] }),
            json!({ "requiredGuestFields": null }),
        ] {
            let step = house.step(step_type, more).await;
            assert_eq!(
                house.step_view(step, "en").await["requiredFields"],
                json!([])
            );
            let sent = json!({ "email": 7, "guests": { "all": ["of", "us"] }, "birthDate": [] });
            assert_eq!(
                house.answer(step, sent).await.data()["isComplete"],
                true,
                "{step_type}"
            );
            assert_eq!(
                house.answer(step, json!({})).await.data()["isComplete"],
                true,
                "{step_type}"
            );
        }
    }
    let others = house.step("other_guests", json!({})).await;
    assert_eq!(
        house
            .answer(others, json!({ "guests": vec![json!({}); 51] }))
            .await
            .issues(),
        ["answers.guests"]
    );
}

on_both!(a_list_without_ids_is_merged_by_name_or_by_position);
async fn a_list_without_ids_is_merged_by_name_or_by_position(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "other_guests",
            json!({ "requiredGuestFields": ["firstName", "birthDate"] }),
        )
        .await;
    let (ana, luis) = (
        json!({ "firstName": "Ana", "birthDate": "1990-01-02" }),
        json!({ "firstName": "Luis" }),
    );
    for (sent, expected, is_complete) in [
        (
            json!({ "guests": [{ "firstName": "Ana" }, luis], "note": "vegan" }),
            json!([{ "firstName": "Ana" }, luis]),
            false,
        ),
        (
            json!({ "guests": [{ "birthDate": "1990-01-02" }, {}] }),
            json!([ana, luis]),
            false,
        ),
        (json!({ "note": "none" }), json!([ana, luis]), false),
        (
            json!({ "guests": [{}, { "firstName": null, "hat": 1 }] }),
            json!([ana, { "hat": 1 }]),
            false,
        ),
        // A list of another length replaces the saved list. A guest whose name is in both lists
        // keeps the details that were saved.
        (
            json!({ "guests": [{ "firstName": "Ana" }] }),
            json!([ana]),
            true,
        ),
        (
            json!({ "guests": [{ "firstName": "Ana" }, luis] }),
            json!([ana, luis]),
            false,
        ),
        (json!({ "guests": [luis] }), json!([luis]), false),
        (json!({ "guests": [{}, {}] }), json!([{}, {}]), false),
        (json!({ "guests": [] }), json!([]), true),
        (json!({ "guests": [luis] }), json!([luis]), false),
    ] {
        let answer = house.answer(step, sent.clone()).await.data();
        assert_eq!(
            (
                nameless(&answer["answers"]["guests"]),
                &answer["isComplete"]
            ),
            (expected, &json!(is_complete)),
            "{sent}"
        );
    }
    let kept = saved(&house, step).await;
    assert_eq!(
        (nameless(&kept["guests"]), &kept["note"]),
        (json!([luis]), &json!("none"))
    );
    house
        .answer(step, json!({ "guests": null, "note": null }))
        .await
        .data();
    assert_eq!(saved(&house, step).await, json!({}));
}

on_both!(the_other_guests_step_needs_all_booked_guests);
async fn the_other_guests_step_needs_all_booked_guests(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "other_guests",
            json!({ "requiredGuestFields": ["firstName"] }),
        )
        .await;
    let free = house.step("other_guests", json!({})).await;
    let guests = |count: usize| json!({ "guests": vec![json!({ "firstName": "Ana" }); count] });
    for (adults, children, expected) in [
        (Value::Null, Value::Null, Value::Null),
        (json!(1), Value::Null, json!(0)),
        (json!(0), json!(0), json!(0)),
        (json!(2), json!(1), json!(2)),
        (Value::Null, json!(3), json!(2)),
        (json!(1000), json!(1000), json!(1999)),
    ] {
        party(&house, adults.clone(), children.clone()).await;
        assert_eq!(
            house.step_view(step, "en").await["expectedGuests"],
            expected,
            "{adults} {children}"
        );
        let enough = expected.as_u64().unwrap_or(0).min(50) as usize;
        for step in [step, free] {
            assert_eq!(
                house.answer(step, guests(enough)).await.data()["isComplete"],
                true,
                "{adults} {children}"
            );
            assert_eq!(house.step_view(step, "en").await["isComplete"], true);
            if enough > 0 {
                assert_eq!(
                    house.answer(step, guests(enough - 1)).await.data()["isComplete"],
                    false,
                    "{adults} {children}"
                );
            }
        }
    }
    // The current reservation decides how many guests the step needs. For a reservation with four
    // adults, two saved guests are too few.
    party(&house, json!(3), json!(0)).await;
    house.answer(step, guests(2)).await.data();
    house.answer(free, guests(2)).await.data();
    party(&house, json!(4), json!(0)).await;
    house.submit().await.error(409);
    party(&house, json!(2), json!(1)).await;
    house.submit().await.data();
    assert_eq!(house.step_view(step, "en").await["isOpen"], false);
}

on_both!(answers_over_the_size_limit_are_refused_whole);
async fn answers_over_the_size_limit_are_refused_whole(app: App) {
    let house = House::build(&app).await;
    let step = house.step("your_details", json!({})).await;
    house
        .answer(step, json!({ "one": "x".repeat(600 << 10) }))
        .await
        .data();
    // The size limit applies to the saved and the new answers together, not to the request alone.
    let refused = house
        .answer(step, json!({ "two": "x".repeat(600 << 10) }))
        .await;
    assert_eq!(refused.issues(), ["answers"]);
    assert_eq!(refused.error(400)["details"]["key"], "guest.answers_limit");
    house
        .answer(step, json!({ "one": null, "two": "x".repeat(600 << 10) }))
        .await
        .data();
    house
        .answer(step, json!({ "three": "x".repeat(2 << 20) }))
        .await
        .error(400);
    assert_eq!(
        saved(&house, step)
            .await
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["two"]
    );
}

on_both!(saved_answers_are_shown_only_to_their_guest);
/// Neither the guest view of another stay nor the step's configuration contains the answers.
async fn saved_answers_are_shown_only_to_their_guest(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "your_details",
            json!({ "requiredGuestFields": ["documentNumber"] }),
        )
        .await;
    house
        .answer(step, json!({ "documentNumber": "X-4711" }))
        .await
        .data();
    let neighbour = house.org.reservation(Some(house.flat)).await;
    let token = house.org.stay_token(neighbour).await;
    let theirs = guest(&app, &token, Method::GET, "", None).await.data();
    assert_eq!(
        (
            &theirs["precheckin"]["steps"][0]["id"],
            theirs.to_string().contains("X-4711")
        ),
        (&json!(step), false)
    );
    guest(
        &app,
        &token,
        Method::PUT,
        &format!("/steps/{step}"),
        Some(json!({ "answers": { "documentNumber": "Y" } })),
    )
    .await
    .data();
    assert_eq!(
        saved(&house, step).await,
        json!({ "documentNumber": "X-4711" })
    );
    assert!(
        !house
            .api
            .get(&format!("/precheck-steps/{step}"))
            .await
            .body
            .to_string()
            .contains("X-4711")
    );
}
