//! Tests of parts of the guest view: the flat, its Wi-Fi network, the open steps, and upcoming
//! manuals.

use std::time::Duration;

use serde_json::{Value, json};

use test_support::house::{House, guest, with};
use test_support::receiver::{Receiver, subscribe};
use test_support::{App, on_both, on_both_with, reservation};

const PASSWORD: &str = "hunter2 is no secret";

fn flat(house: &House<'_>) -> Value {
    json!({
        "name": "Flat",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "checkInTime": "15:00",
        "checkOutTime": "11:00",
        "propertyGroupId": house.group,
        "tagIds": [house.tag],
    })
}

/// Creates a manual for the flat. If `hours` is set, guests see the manual from this number of
/// hours before check-in. `more` has additional fields and visibility rules.
async fn manual(house: &House<'_>, title: &str, hours: Option<u32>, more: Value) -> Value {
    let start = |hours: u32| {
        json!({
            "ruleCategory": "relative_date",
            "startDateRelativeType": "before_check_in",
            "daysBefore": hours,
            "daysBeforeTimeUnit": "hour",
        })
    };
    let mut rules: Vec<Value> = hours.map(start).into_iter().collect();
    rules.extend(more["rules"].as_array().into_iter().flatten().cloned());
    let fields = with(
        json!({
            "nickname": title,
            "title": title,
            "isActive": true,
            "propertyId": house.flat,
            "visibilityRules": rules,
        }),
        more["fields"]
            .as_object()
            .cloned()
            .map_or(json!({}), Value::Object),
    );
    house.org.app.clock.advance(Duration::from_millis(1));
    house.api.post("/portal-manuals", fields).await.data()
}

on_both!(the_view_shows_address_photo_and_coordinates_of_the_flat);
async fn the_view_shows_address_photo_and_coordinates_of_the_flat(app: App) {
    let house = House::build(&app).await;
    let view = app.stay(&house.token, "").await.data();
    assert_eq!(
        (&view["property"]["latitude"], &view["property"]["photoUrl"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(view["languages"], json!(["en", "es", "fr"]));
    let more = json!({
        "latitude": 41.38412,
        "longitude": 2,
        "photoUrl": "https://img.example/1.jpg",
        "address": { "street": "C/ Mar 1" },
    });
    house
        .org
        .put_record("property", house.flat, with(flat(&house), more))
        .await;
    let property = app.stay(&house.token, "").await.data()["property"].clone();
    assert_eq!(
        (&property["latitude"], property["longitude"].as_f64()),
        (&json!(41.38412), Some(2.0))
    );
    assert_eq!(
        (&property["photoUrl"], &property["address"]["street"]),
        (&json!("https://img.example/1.jpg"), &json!("C/ Mar 1"))
    );
    // Records from before the schema was strict may have values of any type in these fields.
    for (field, value) in [
        ("latitude", json!("41.4")),
        ("photoUrl", json!("javascript:alert(1)")),
        ("wifiName", json!({ "ssid": "Casa" })),
    ] {
        let doc = store::Value::json(&with(flat(&house), json!({ field: value }))).unwrap();
        let text = "update record set doc = ?2 where organization_id = ?1 and kind = 'property'";
        app.change(text, vec![house.org.id.into(), doc]).await;
        house.org.put("", json!({})).await;
        let view = app.stay(&house.token, "").await.data();
        assert_eq!(
            view["property"].get(field).cloned().unwrap_or_default(),
            Value::Null,
            "{value}"
        );
    }
}

on_both!(a_step_is_open_until_submission);
async fn a_step_is_open_until_submission(app: App) {
    let house = House::build(&app).await;
    let step = house.step("main", json!({})).await;
    assert_eq!(house.step_view(step, "en").await["isOpen"], true);
    assert_eq!(
        house
            .answer(step, json!({ "isConfirmed": true }))
            .await
            .data()["isOpen"],
        true
    );
    house.submit().await.data();
    let view = house.step_view(step, "en").await;
    assert_eq!(
        (&view["isOpen"], &view["answers"]),
        (&json!(false), &json!({ "isConfirmed": true }))
    );
}

on_both!(the_wifi_manual_shows_the_network_and_password);
async fn the_wifi_manual_shows_the_network_and_password(app: App) {
    let house = House::build(&app).await;
    let wifi = json!({ "fields": { "iconName": "wifi" } });
    manual(&house, "Wi-Fi", None, wifi.clone()).await;
    manual(
        &house,
        "Door",
        None,
        json!({ "fields": { "iconName": "key" } }),
    )
    .await;
    manual(&house, "Heating", None, json!({})).await;
    manual(&house, "Later", Some(1), wifi).await;
    let reported = async || {
        let view = app.stay(&house.token, "").await.data();
        let manuals = view["manualCategories"][0]["manuals"]
            .as_array()
            .unwrap()
            .clone();
        assert_eq!(manuals.len(), 3, "{manuals:?}");
        assert!(
            manuals[1..]
                .iter()
                .all(|manual| manual.get("wifi").is_none())
        );
        manuals[0].get("wifi").cloned()
    };
    for (fields, expected) in [
        (json!({}), None),
        (json!({ "wifiPassword": PASSWORD }), None),
        (json!({ "wifiName": " ", "wifiPassword": PASSWORD }), None),
        (
            json!({ "wifiName": "Casa" }),
            Some(json!({ "name": "Casa", "password": null })),
        ),
        (
            json!({ "wifiName": "Casa", "wifiPassword": "" }),
            Some(json!({ "name": "Casa", "password": null })),
        ),
        (
            json!({ "wifiName": "Casa", "wifiPassword": PASSWORD }),
            Some(json!({ "name": "Casa", "password": PASSWORD })),
        ),
    ] {
        house
            .org
            .put_record("property", house.flat, with(flat(&house), fields.clone()))
            .await;
        assert_eq!(reported().await, expected, "{fields}");
    }
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
    assert!(
        !app.stay(&house.token, "")
            .await
            .data()
            .to_string()
            .contains(PASSWORD)
    );
}

on_both!(upcoming_manuals_are_listed_if_the_portal_enables_them);
/// The view lists upcoming manuals only if the portal enables the list, and only manuals that
/// are hidden by time alone.
async fn upcoming_manuals_are_listed_if_the_portal_enables_them(app: App) {
    let house = House::build(&app).await;
    let short = json!({ "rules": [{ "ruleCategory": "length_of_stay", "lengthOfStayToDays": 2 }] });
    let long =
        json!({ "rules": [{ "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 2 }] });
    manual(&house, "Door code", Some(2), json!({})).await;
    manual(&house, "Parking", Some(48), long).await;
    manual(&house, "Not for them", Some(2), short).await;
    manual(&house, "Read now", Some(10_000), json!({})).await;
    manual(
        &house,
        "Switched off",
        Some(2),
        json!({ "fields": { "isActive": false } }),
    )
    .await;
    manual(
        &house,
        "Elsewhere",
        Some(2),
        json!({ "fields": { "propertyId": null } }),
    )
    .await;
    let over = json!({
        "rules": [
            {
                "ruleCategory": "relative_date",
                "endDateRelativeType": "before_check_in",
                "daysAfter": 90,
            },
        ],
    });
    manual(&house, "Over", None, over).await;
    let upcoming = async || app.stay(&house.token, "").await.data()["upcoming"].clone();
    assert_eq!(upcoming().await, json!([]));
    assert_eq!(
        house
            .api
            .get(&format!("/portals/{}", house.portal))
            .await
            .data()["isUnlockHintShown"],
        false
    );
    house
        .update_portal(house.portal, json!({ "isUnlockHintShown": true }))
        .await;
    let door = json!({ "title": "Door code", "visibleFrom": "2026-12-11T12:00:00.000Z" });
    let parking = json!({ "title": "Parking", "visibleFrom": "2026-12-09T14:00:00.000Z" });
    assert_eq!(upcoming().await, json!([parking, door]));
    // The manual is shown exactly from its start time on.
    let start = "2026-12-09T14:00:00Z".parse::<jiff::Timestamp>().unwrap();
    let just_before = start - jiff::SignedDuration::from_millis(1);
    app.clock
        .advance(just_before.duration_since(app.clock.now()).unsigned_abs());
    assert_eq!(upcoming().await, json!([parking, door]));
    app.clock.advance(Duration::from_millis(1));
    assert_eq!(upcoming().await, json!([door]));
    let view = app.stay(&house.token, "").await.data();
    assert!(view["manualCategories"].to_string().contains("Parking"));
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
    assert_eq!(upcoming().await, json!([]));
}

on_both!(steps_of_other_systems_need_no_more_statements);
/// A read of the guest view takes the same number of database statements, however many of the steps
/// are completed by other systems.
async fn steps_of_other_systems_need_no_more_statements(app: App) {
    let house = House::build(&app).await;
    let mut steps = Vec::new();
    for step_type in [
        "your_details",
        "identity_check",
        "damage_deposit",
        "mandatory_fee",
    ] {
        steps.push(house.step(step_type, json!({})).await);
    }
    let statements = async || {
        let store = &app.server.service.store;
        app.stay(&house.token, "").await.data();
        // The message changes the stay, so the view does not come from the cache.
        house.say("Hello").await.data();
        let _ = store.max_work();
        app.stay(&house.token, "").await.data();
        store.max_work().statements
    };
    let before = statements().await;
    for step in &steps[1..] {
        let path = house
            .org
            .path(&format!("/reservations/{}/steps/{step}", house.stay));
        app.platform()
            .send(
                reqwest::Method::PUT,
                &path,
                Some(json!({ "status": "pending" })),
            )
            .await
            .data();
        house
            .answer(*step, json!({ "isConfirmed": true }))
            .await
            .data();
    }
    let after = statements().await;
    // The number of statements includes one that reads the uploaded files, because a step accepts
    // files.
    assert!(after <= before && after <= 5, "{before}, {after}");
}

on_both_with!(the_wifi_password_is_shown_only_to_the_guest, Receiver);
/// No response under `/api/v1` and no webhook contains the Wi-Fi password.
async fn the_wifi_password_is_shown_only_to_the_guest(app: App, receiver: Receiver) {
    let house = House::build(&app).await;
    let network = json!({ "name": "Casa Wifi", "wifiName": "Casa Wifi", "wifiPassword": PASSWORD });
    house
        .org
        .put_record("property", house.flat, with(flat(&house), network))
        .await;
    let shown = manual(
        &house,
        "Wi-Fi",
        None,
        json!({ "fields": { "iconName": "wifi" } }),
    )
    .await;
    let view = guest(&app, &house.token, reqwest::Method::GET, "", None)
        .await
        .data();
    assert_eq!(
        view["manualCategories"][0]["manuals"][0]["wifi"]["password"],
        PASSWORD
    );
    assert!(!view["property"].to_string().contains("wifi"));
    subscribe(&house.api, "reservation.created", &receiver.url).await;
    let stay = house.org.reservation(Some(house.flat)).await;
    let delivery = receiver.next().await;
    assert!(!delivery.body.to_string().contains("hunter2"));
    for path in [
        "/properties".to_owned(),
        "/search?query=wifi".into(),
        "/search?query=hunter2".into(),
        format!("/reservations/{stay}"),
        format!("/reservations/{stay}/explain"),
        format!("/properties/{}/portal-manuals", house.flat),
        format!("/portal-manuals/{}", shown["id"].as_str().unwrap()),
    ] {
        let response = house.api.get(&path).await;
        assert!(
            response.status == 200 && !response.body.to_string().contains("hunter2"),
            "{path} {}",
            response.body
        );
    }
}
