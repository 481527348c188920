//! Tests of stays without steps: pre-check-in is off, the flat has no portal, or the stay is
//! cancelled or deleted.

use reqwest::Method;
use serde_json::{Value, json};

use test_support::house::{House, guest, with};
use test_support::{App, on_both, reservation};

on_both!(without_precheckin_no_step_is_shown);
async fn without_precheckin_no_step_is_shown(app: App) {
    let house = House::build(&app).await;
    let step = house.step("main", json!({})).await;
    house.answer(step, json!({})).await.data();
    house
        .update_portal(house.portal, json!({ "isPrecheckinEnabled": false }))
        .await;
    let precheckin = house.precheckin().await;
    assert_eq!(
        (&precheckin["isEnabled"], &precheckin["steps"]),
        (&json!(false), &json!([]))
    );
    house.answer(step, json!({})).await.error(404);
    house.submit().await.error(403);
    house
        .update_portal(house.portal, json!({ "isPrecheckinEnabled": true }))
        .await;
    assert_eq!(house.status().await, "in_progress");
    house.submit().await.data();
}

on_both!(without_a_portal_every_feature_is_off);
async fn without_a_portal_every_feature_is_off(app: App) {
    let house = House::build(&app).await;
    let homeless = house.org.reservation(None).await;
    let bare = app.org().await;
    let flat = bare.property(None, &[]).await;
    let unserved = bare.reservation(Some(flat)).await;
    let step = house.step("main", json!({ "isAlwaysShown": true })).await;
    for token in [
        house.org.stay_token(homeless).await,
        bare.stay_token(unserved).await,
    ] {
        let view = app.stay(&token, "").await.data();
        assert_eq!(
            (&view["portal"], &view["contact"], &view["quickAccess"]),
            (&Value::Null, &Value::Null, &json!([]))
        );
        assert_eq!(
            (
                &view["precheckin"]["isEnabled"],
                &view["precheckin"]["steps"]
            ),
            (&json!(false), &json!([]))
        );
        guest(
            &app,
            &token,
            Method::PUT,
            &format!("/steps/{step}"),
            Some(json!({ "answers": {} })),
        )
        .await
        .error(404);
        guest(&app, &token, Method::POST, "/submit", None)
            .await
            .error(403);
        guest(
            &app,
            &token,
            Method::POST,
            "/messages",
            Some(json!({ "text": "Hello" })),
        )
        .await
        .error(403);
    }
}

on_both!(a_cancelled_stay_shows_no_steps_and_no_manuals);
async fn a_cancelled_stay_shows_no_steps_and_no_manuals(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "agreement",
            json!({ "contractTemplateText": "No parties." }),
        )
        .await;
    let manual = json!({
        "nickname": "Door",
        "title": "Door code",
        "isActive": true,
        "propertyId": house.flat,
    });
    house.api.post("/portal-manuals", manual).await.data();
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
    let view = house.org.guest_view(house.stay).await;
    assert_eq!(
        (
            &view["precheckin"]["isEnabled"],
            &view["precheckin"]["steps"]
        ),
        (&json!(false), &json!([]))
    );
    assert_eq!(view["manualCategories"], json!([]));
    house
        .answer(step, json!({ "isAccepted": true }))
        .await
        .error(404);
    house.submit().await.error(403);
    let explained = house
        .api
        .get(&format!("/reservations/{}/explain", house.stay))
        .await
        .data();
    for item in [&explained["steps"][0], &explained["manuals"][0]] {
        assert_eq!(
            (&item["isShown"], &item["reason"]["key"]),
            (&json!(false), &json!("cancelled"))
        );
    }
}

on_both!(saved_answers_outlive_a_cancellation);
async fn saved_answers_outlive_a_cancellation(app: App) {
    let house = House::build(&app).await;
    let (done, _) = (
        house.step("your_details", json!({})).await,
        house.step("main", json!({})).await,
    );
    house
        .answer(done, json!({ "firstName": "Ada" }))
        .await
        .data();
    let with_status =
        |status: &str| with(reservation(Some(house.flat)), json!({ "status": status }));
    house
        .org
        .put_record("reservation", house.stay, with_status("cancelled"))
        .await;
    // The guest can still send messages and sees the host's contact details.
    house
        .update_portal(
            house.portal,
            json!({ "supportPhone": "934 12 34 56", "communicationMethod": "phone" }),
        )
        .await;
    house.say("Will I be paid back?").await.data();
    let view = house.org.guest_view(house.stay).await;
    assert_eq!(
        (&view["contact"]["method"], &view["reservation"]["status"]),
        (&json!("phone"), &json!("cancelled"))
    );
    assert_eq!(
        (
            &view["precheckin"]["status"],
            &view["precheckin"]["promptMessage"]
        ),
        (&json!("not_started"), &Value::Null)
    );
    // The guest gets no steps for the cancelled stay, but the platform can still read the answers
    // that the guest saved before.
    let submission = house.submission().await;
    assert_eq!(submission["steps"].as_array().unwrap().len(), 1);
    let step = &submission["steps"][0];
    assert_eq!(
        (&step["isShown"], &step["answers"]["firstName"]),
        (&json!(false), &json!("Ada"))
    );
    house
        .org
        .put_record("reservation", house.stay, with_status("confirmed"))
        .await;
    let precheckin = house.precheckin().await;
    assert_eq!(
        (&precheckin["status"], &precheckin["steps"][0]["isComplete"]),
        (&json!("in_progress"), &json!(true))
    );
}

on_both!(a_wrong_guest_token_gets_404);
async fn a_wrong_guest_token_gets_404(app: App) {
    let house = House::build(&app).await;
    let step = house.step("main", json!({})).await;
    let deleted_stay = house.org.reservation(Some(house.flat)).await;
    let gone_token = house.org.stay_token(deleted_stay).await;
    house.org.delete_record("reservation", deleted_stay).await;
    for token in [
        "nonsense".to_owned(),
        house.stay.to_string(),
        gone_token,
        house.token[1..].to_owned(),
    ] {
        for (method, path, body) in [
            (Method::GET, String::new(), None),
            (
                Method::PUT,
                format!("/steps/{step}"),
                Some(json!({ "answers": {} })),
            ),
            (Method::POST, "/submit".into(), None),
            (
                Method::POST,
                "/messages".into(),
                Some(json!({ "text": "Hello" })),
            ),
        ] {
            assert_eq!(
                guest(&app, &token, method, &path, body).await.error(404)["code"],
                "NOT_FOUND",
                "{path}"
            );
        }
    }
    assert_eq!(house.status().await, "not_started");
}

on_both!(a_deleted_reservation_leaves_no_answers);
async fn a_deleted_reservation_leaves_no_answers(app: App) {
    let house = House::build(&app).await;
    let step = house.step("your_details", json!({})).await;
    house
        .answer(step, json!({ "firstName": "Ada" }))
        .await
        .data();
    house.say("Hello").await.data();
    house.submit().await.data();
    house.org.delete_record("reservation", house.stay).await;
    app.stay(&house.token, "").await.error(404);
    app.platform()
        .get(
            &house
                .org
                .path(&format!("/reservations/{}/precheckin", house.stay)),
        )
        .await
        .error(404);

    house
        .org
        .put_record("reservation", house.stay, reservation(Some(house.flat)))
        .await;
    let view = house.org.guest_view(house.stay).await;
    assert_eq!(
        (
            &view["precheckin"]["status"],
            &view["precheckin"]["steps"][0]["isComplete"]
        ),
        (&json!("not_started"), &json!(false))
    );
    let submission = house.submission().await;
    assert_eq!(
        (&submission["submittedAt"], &submission["messages"]),
        (&Value::Null, &json!([]))
    );
    assert_eq!(
        (
            &submission["steps"][0]["answers"],
            &submission["steps"][0]["savedAt"]
        ),
        (&Value::Null, &Value::Null)
    );
    house
        .update(step, json!({ "stepType": "main" }))
        .await
        .error(409);
}
