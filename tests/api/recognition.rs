//! Tests of the rules that decide whether a guest is a returning guest, and whether a guest's
//! identity is verified.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::House;
use test_support::{App, new_id, on_both, reservation};

/// Returns a stay in the flat with these dates. The guest booked it with the address `email`.
fn stay(flat: Uuid, email: &str, check_in: &str, check_out: &str) -> Value {
    let mut stay = reservation(Some(flat));
    (stay["checkIn"], stay["checkOut"]) = (json!(check_in), json!(check_out));
    stay["bookedAt"] = json!("2026-10-01T10:00:00.000Z");
    stay["guest"]["email"] = json!(email);
    stay
}

/// Returns whether a step is shown to the guest of a stay. Checks that the guest view and the
/// explanation agree about the step.
async fn shows(house: &House<'_>, step: Uuid, of: Uuid) -> bool {
    let view = house.org.guest_view(of).await;
    let is_in = |steps: &Value| {
        steps
            .as_array()
            .unwrap()
            .iter()
            .any(|item| item["id"] == json!(step))
    };
    let shown = is_in(&view["precheckin"]["steps"]);
    let explained = house
        .api
        .get(&format!("/reservations/{of}/explain?stepId={step}"))
        .await
        .data();
    let explained = &explained["steps"][0];
    assert_eq!(explained["isShown"], shown, "{explained}");
    let reason = if shown {
        "all_rules_pass"
    } else {
        "returning_guest"
    };
    assert_eq!(explained["reason"]["key"], reason);
    shown
}

async fn report(house: &House<'_>, step: Uuid, status: &str) {
    let path = format!("/reservations/{}/steps/{step}", house.stay);
    house.org.put(&path, json!({ "status": status })).await;
    // Two reports about the step in the same millisecond would have no order, so the clock
    // advances.
    house.org.app.clock.advance(Duration::from_millis(1));
}

on_both!(a_guest_with_the_address_of_an_earlier_stay_is_returning);
async fn a_guest_with_the_address_of_an_earlier_stay_is_returning(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step("other_guests", json!({ "isReturningGuestExcluded": true }))
        .await;
    house
        .org
        .put_record(
            "reservation",
            house.stay,
            stay(house.flat, "ada@example.com", "2026-12-11", "2026-12-15"),
        )
        .await;
    assert!(shows(&house, step, house.stay).await);
    let other = house.org.property(None, &[]).await;
    let earlier = new_id();
    for (data, is_returning) in [
        (
            stay(other, "  ADA@Example.COM ", "2026-11-01", "2026-11-05"),
            true,
        ),
        (
            stay(other, "ada@example.com", "2026-11-01", "2026-11-25"),
            false,
        ),
        (
            stay(other, "ada@example.com", "2026-12-01", "2026-12-02"),
            false,
        ),
        (
            stay(other, "ben@example.com", "2026-11-01", "2026-11-05"),
            false,
        ),
        (stay(other, " ", "2026-11-01", "2026-11-05"), false),
    ] {
        house
            .org
            .put_record("reservation", earlier, data.clone())
            .await;
        assert_eq!(
            !shows(&house, step, house.stay).await,
            is_returning,
            "{data}"
        );
    }
    for status in ["tentative", "cancelled"] {
        let mut data = stay(other, "ada@example.com", "2026-11-01", "2026-11-05");
        data["status"] = json!(status);
        house.org.put_record("reservation", earlier, data).await;
        assert!(shows(&house, step, house.stay).await, "{status}");
    }
    // The platform can mark the guest of a reservation as a returning guest. A guest with an
    // earlier stay is a returning guest even if the platform sends false.
    let mut own = stay(house.flat, "ada@example.com", "2026-12-11", "2026-12-15");
    own["isReturningGuest"] = json!(true);
    house
        .org
        .put_record("reservation", house.stay, own.clone())
        .await;
    assert!(!shows(&house, step, house.stay).await);
    own["isReturningGuest"] = json!(false);
    house.org.put_record("reservation", house.stay, own).await;
    assert!(shows(&house, step, house.stay).await);
    house
        .org
        .put_record(
            "reservation",
            earlier,
            stay(other, "ada@example.com", "2026-11-01", "2026-11-05"),
        )
        .await;
    assert!(!shows(&house, step, house.stay).await);
    // A guest with the same email address in another organization is another guest.
    house.org.delete_record("reservation", earlier).await;
    let elsewhere = app.org().await;
    let flat = elsewhere.property(None, &[]).await;
    elsewhere
        .record(
            "reservation",
            stay(flat, "ada@example.com", "2026-11-01", "2026-11-05"),
        )
        .await;
    assert!(shows(&house, step, house.stay).await);
    // The earlier stay is the first stay of the guest, so during that stay the guest is a new
    // guest.
    let data = stay(house.flat, "ada@example.com", "2026-11-01", "2026-11-05");
    house.org.put_record("reservation", earlier, data).await;
    assert!(shows(&house, step, earlier).await);
}

on_both!(an_earlier_stay_counts_from_its_check_out);
async fn an_earlier_stay_counts_from_its_check_out(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step("other_guests", json!({ "isReturningGuestExcluded": true }))
        .await;
    // Check-out is at 11:00 in Madrid, half an hour after the start of the tests' clock.
    house
        .org
        .record(
            "reservation",
            stay(house.flat, "ada@example.com", "2026-11-18", "2026-11-21"),
        )
        .await;
    assert!(shows(&house, step, house.stay).await);
    app.clock.advance(Duration::from_secs(29 * 60));
    assert!(shows(&house, step, house.stay).await);
    app.clock.advance(Duration::from_secs(60));
    assert!(!shows(&house, step, house.stay).await);
}

on_both!(the_identity_check_decides_if_the_reservation_has_no_status);
async fn the_identity_check_decides_if_the_reservation_has_no_status(app: App) {
    let house = House::build(&app).await;
    let step = house.step("identity_check", json!({})).await;
    let mut manuals = Vec::new();
    for status in ["unverified", "pending", "verified", "failed"] {
        let body = json!({
            "nickname": status,
            "title": status,
            "description": "1234",
            "isActive": true,
            "propertyId": house.flat,
            "visibilityRules": [
                { "ruleCategory": "verification_status", "verificationStatuses": [status] },
            ],
        });
        let manual = house.api.post("/portal-manuals", body).await.data()["id"].clone();
        manuals.push((manual, status));
    }
    let status = async || {
        let view = house.org.guest_view(house.stay).await;
        let shown: Vec<&str> = manuals
            .iter()
            .filter(|(id, _)| {
                view["manualCategories"]
                    .to_string()
                    .contains(id.as_str().unwrap())
            })
            .map(|(_, status)| *status)
            .collect();
        assert_eq!(shown.len(), 1, "{view}");
        let explained = house
            .api
            .get(&format!("/reservations/{}/explain", house.stay))
            .await
            .data();
        for item in explained["manuals"].as_array().unwrap() {
            assert_eq!(item["isShown"], item["nickname"] == shown[0], "{item}");
        }
        shown[0]
    };
    assert_eq!(status().await, "unverified");
    for (reported, expected) in [
        ("pending", "pending"),
        ("action_required", "pending"),
        ("failed", "failed"),
        ("completed", "verified"),
    ] {
        report(&house, step, reported).await;
        assert_eq!(status().await, expected, "{reported}");
    }
    let mut own = reservation(Some(house.flat));
    for (stated, expected) in [
        ("unverified", "verified"),
        ("failed", "failed"),
        ("pending", "pending"),
    ] {
        own["verificationStatus"] = json!(stated);
        house
            .org
            .put_record("reservation", house.stay, own.clone())
            .await;
        assert_eq!(status().await, expected, "{stated}");
    }
    // Only a report about the identity-check step decides whether the identity is verified.
    // This report is about another step.
    own["verificationStatus"] = Value::Null;
    house.org.put_record("reservation", house.stay, own).await;
    let background = house.step("background_check", json!({})).await;
    report(&house, background, "failed").await;
    assert_eq!(status().await, "verified");
}
