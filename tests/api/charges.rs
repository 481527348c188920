//! Tests of charges: due dates, notices to the platform, and reports of outcomes. The tests in
//! `choices` check which charges the choices of a guest create.

mod choices;

use std::collections::BTreeSet;
use std::time::Duration;

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::{House, guest, id, with};
use test_support::{ApiResponse, App, new_id, on_both, reservation};

const DAY: Duration = Duration::from_secs(24 * 3_600);

async fn account(house: &House<'_>, is_default: bool, currency: Value) -> Uuid {
    let data = json!({
        "name": "Account",
        "isActive": true,
        "isDefault": is_default,
        "currency": currency,
    });
    house.org.record("payment_account", data).await
}

async fn fee(house: &House<'_>, name: &str, cents: u32, currency: Value) -> Uuid {
    let data = json!({ "name": name, "amountCents": cents, "currency": currency });
    house.org.record("fee_product", data).await
}

async fn waiver(house: &House<'_>, name: &str, cents: u32) -> Uuid {
    let data = json!({ "name": name, "amountCents": cents, "currency": "EUR" });
    house.org.record("damage_waiver", data).await
}

async fn charges(house: &House<'_>) -> Vec<Value> {
    let path = format!("/reservations/{}/charges", house.stay);
    let listed = house.api.get(&path).await.data();
    listed.as_array().unwrap().clone()
}

/// Returns kind, amount, currency and status of each charge.
async fn brief(house: &House<'_>) -> Value {
    let row = |charge: &Value| {
        json!([
            charge["kind"],
            charge["amountCents"],
            charge["currency"],
            charge["status"]
        ])
    };
    charges(house).await.iter().map(row).collect()
}

async fn report(house: &House<'_>, charge: &Value, body: Value) -> ApiResponse {
    let path = house
        .org
        .path(&format!("/charges/{}", charge["id"].as_str().unwrap()));
    house
        .org
        .app
        .platform()
        .send(Method::PUT, &path, Some(body))
        .await
}

/// Returns the kind and the charge of each notice about a charge in the list of guest changes.
async fn notices(house: &House<'_>) -> Vec<(String, Value)> {
    house.org.app.server.fire_due_charges().await;
    let path = house.org.path("/guest-changes?limit=1000");
    let page = house.org.app.platform().get(&path).await.data();
    let items = page["items"].as_array().unwrap();
    let notices = items
        .iter()
        .filter(|item| item["kind"].as_str().unwrap().starts_with("charge_"));
    notices
        .map(|item| {
            assert!(item["stepId"].is_string() && item["reservationId"].is_string());
            let kind = item["kind"].as_str().unwrap().to_owned();
            (kind, item["chargeId"].clone())
        })
        .collect()
}

/// Writes the reservation of the house again: the default reservation, with the fields of `more`
/// added or replaced.
async fn change_stay(house: &House<'_>, more: Value) {
    let data = with(reservation(Some(house.flat)), more);
    house.org.put_record("reservation", house.stay, data).await;
}

/// Makes staff request changes to a step, and makes the guest submit the step again.
async fn resubmit(house: &House<'_>, step: Uuid, answers: Value) {
    let path = format!("/reservations/{}/precheckin/request-changes", house.stay);
    let body = json!({ "message": "Again", "stepIds": [step] });
    house.api.post(&path, body).await.data();
    house.answer(step, answers).await.data();
    house.submit().await.data();
}

/// Returns the fields of a step with a deposit of 300.00 in the organization's currency. The
/// deposit is due two days before check-in and is released five days after check-out.
fn deposit() -> Value {
    json!({
        "isSecurityDepositEnabled": true,
        "securityDepositAmountCents": 30_000,
        "securityDepositDaysBeforeCheckin": 2,
        "securityDepositReleaseDaysAfterCheckout": 5,
    })
}

on_both!(a_submission_creates_its_charges_and_due_notices);
async fn a_submission_creates_its_charges_and_due_notices(app: App) {
    let house = House::build(&app).await;
    let main = account(&house, true, json!("EUR")).await;
    let other = account(&house, false, Value::Null).await;
    let linen = fee(&house, "Linen", 2_500, json!("USD")).await;
    let pets = fee(&house, "Pets", 900, json!("GBP")).await;
    let gold = waiver(&house, "Gold", 1_200).await;
    let fees = house
        .step("mandatory_fee", json!({ "feeProductIds": [linen] }))
        .await;
    let more = house
        .step(
            "mandatory_fee",
            json!({ "feeProductIds": [pets], "feesPaymentAccountId": other }),
        )
        .await;
    let of_waiver = house
        .step("damage_deposit", json!({ "isDamageWaiverEnabled": true }))
        .await;
    let of_deposit = house
        .step(
            "damage_deposit",
            with(
                deposit(),
                json!({ "securityDepositPaymentAccountId": other }),
            ),
        )
        .await;
    for step in [fees, more] {
        house
            .answer(step, json!({ "isConfirmed": true }))
            .await
            .data();
    }
    house
        .answer(
            of_waiver,
            json!({ "choice": "waiver", "damageWaiverId": gold }),
        )
        .await
        .data();
    house
        .answer(of_deposit, json!({ "choice": "deposit" }))
        .await
        .data();
    assert_eq!(
        charges(&house).await,
        Vec::<Value>::new(),
        "nothing is charged before the submission"
    );
    app.clock.advance(Duration::from_secs(60));
    house.submit().await.data();

    let all = charges(&house).await;
    let of = |step: Uuid| {
        all.iter()
            .find(|charge| id(&charge["stepId"]) == step)
            .unwrap()
    };
    let now = of(fees)["createdAt"].clone();
    let expected = |step: Uuid, more: Value| {
        with(
            json!({
                "id": of(step)["id"],
                "reservationId": house.stay,
                "stepId": step,
                "feeProductId": null,
                "damageWaiverId": null,
                "status": "due",
                "dueAt": now,
                "releaseAt": null,
                "message": null,
                "reference": null,
                "createdAt": now,
                "updatedAt": now,
            }),
            more,
        )
    };
    assert_eq!(
        of(fees),
        &expected(
            fees,
            json!({
                "kind": "fee",
                "feeProductId": linen,
                "amountCents": 2_500,
                "currency": "EUR",
                "paymentAccountId": main,
            })
        )
    );
    assert_eq!(
        of(more),
        &expected(
            more,
            json!({
                "kind": "fee",
                "feeProductId": pets,
                "amountCents": 900,
                "currency": "GBP",
                "paymentAccountId": other,
            })
        )
    );
    // The damage waiver costs 12.00 for each of the four nights.
    assert_eq!(
        of(of_waiver),
        &expected(
            of_waiver,
            json!({
                "kind": "waiver",
                "damageWaiverId": gold,
                "amountCents": 4_800,
                "currency": "EUR",
                "paymentAccountId": main,
            })
        )
    );
    assert_eq!(
        of(of_deposit),
        &expected(
            of_deposit,
            json!({
                "kind": "deposit",
                "amountCents": 30_000,
                "currency": "EUR",
                "paymentAccountId": other,
                "dueAt": "2026-12-09T14:00:00.000Z",
                "releaseAt": "2026-12-20T10:00:00.000Z",
            })
        )
    );
    assert_eq!(all.len(), 4);
    // The list of guest changes begins with the submission. The notices of the charges that are due
    // at once come after it.
    let changes = app
        .platform()
        .get(&house.org.path("/guest-changes"))
        .await
        .data();
    let changes: Vec<&str> = changes["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        changes[4..],
        ["submitted", "charge_due", "charge_due", "charge_due"]
    );
    assert_eq!(notices(&house).await.len(), 3, "once");
}

on_both!(each_notice_is_sent_once_even_if_dates_move_later);
async fn each_notice_is_sent_once_even_if_dates_move_later(app: App) {
    let house = House::build(&app).await;
    account(&house, true, json!("EUR")).await;
    let step = house.step("damage_deposit", deposit()).await;
    house
        .answer(step, json!({ "choice": "deposit" }))
        .await
        .data();
    house.submit().await.data();
    let charge = charges(&house).await[0].clone();
    assert_eq!(notices(&house).await, []);
    app.clock
        .advance(18 * DAY + Duration::from_secs(4 * 3_600 + 29 * 60));
    assert_eq!(notices(&house).await, [], "a minute is missing");
    app.clock.advance(Duration::from_secs(61));
    let both = [app.server.fire_due_charges(), app.server.fire_due_charges()];
    futures_util::future::join_all(both).await;
    let due = ("charge_due".to_owned(), charge["id"].clone());
    assert_eq!(notices(&house).await, std::slice::from_ref(&due));
    // Later dates of the stay change the due date of a charge, but cause no second notice.
    change_stay(
        &house,
        json!({ "checkIn": "2026-12-13", "checkOut": "2026-12-16" }),
    )
    .await;
    let moved = charges(&house).await[0].clone();
    assert_eq!(
        (&moved["dueAt"], &moved["releaseAt"]),
        (
            &json!("2026-12-11T14:00:00.000Z"),
            &json!("2026-12-21T10:00:00.000Z")
        )
    );
    assert!(moved["updatedAt"].as_str() > charge["updatedAt"].as_str());
    app.clock.advance(3 * DAY);
    assert_eq!(notices(&house).await, std::slice::from_ref(&due));

    report(
        &house,
        &charge,
        json!({ "status": "paid", "reference": "pi_1" }),
    )
    .await
    .data();
    change_stay(
        &house,
        json!({ "checkIn": "2026-12-13", "checkOut": "2026-12-17" }),
    )
    .await;
    let paid = charges(&house).await[0].clone();
    assert_eq!(
        (&paid["dueAt"], &paid["releaseAt"]),
        (&moved["dueAt"], &json!("2026-12-22T10:00:00.000Z"))
    );
    app.clock.advance(11 * DAY);
    let release = ("charge_release_due".to_owned(), charge["id"].clone());
    assert_eq!(notices(&house).await, [due.clone(), release.clone()]);
    change_stay(
        &house,
        json!({ "checkIn": "2026-12-13", "checkOut": "2027-01-17" }),
    )
    .await;
    app.clock.advance(60 * DAY);
    assert_eq!(notices(&house).await, [due, release]);
}

on_both!(an_unpaid_deposit_gets_no_release_notice);
async fn an_unpaid_deposit_gets_no_release_notice(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "damage_deposit",
            with(
                deposit(),
                json!({ "securityDepositDaysBeforeCheckin": null }),
            ),
        )
        .await;
    house
        .answer(step, json!({ "choice": "deposit" }))
        .await
        .data();
    house.submit().await.data();
    let charge = charges(&house).await[0].clone();
    assert_eq!(
        (&charge["dueAt"], &charge["paymentAccountId"]),
        (&charge["createdAt"], &Value::Null)
    );
    report(
        &house,
        &charge,
        json!({ "status": "failed", "message": "Card declined" }),
    )
    .await
    .data();
    app.clock.advance(60 * DAY);
    assert_eq!(notices(&house).await.len(), 1);
    // The release date has passed, so a deposit that is paid now is due for release at once.
    report(&house, &charge, json!({ "status": "paid" }))
        .await
        .data();
    assert_eq!(notices(&house).await[1].0, "charge_release_due");
}

on_both!(a_cancelled_stay_cancels_unpaid_charges_and_releases_a_paid_deposit);
async fn a_cancelled_stay_cancels_unpaid_charges_and_releases_a_paid_deposit(app: App) {
    let house = House::build(&app).await;
    let linen = fee(&house, "Linen", 2_500, json!("EUR")).await;
    let pets = fee(&house, "Pets", 900, json!("EUR")).await;
    let fees = house
        .step("mandatory_fee", json!({ "feeProductIds": [linen, pets] }))
        .await;
    let step = house.step("damage_deposit", deposit()).await;
    house.answer(fees, json!({})).await.data();
    house
        .answer(step, json!({ "choice": "deposit" }))
        .await
        .data();
    house.submit().await.data();
    let all = charges(&house).await;
    report(&house, &all[0], json!({ "status": "paid" }))
        .await
        .data();
    report(&house, &all[2], json!({ "status": "paid" }))
        .await
        .data();
    app.clock.advance(DAY);
    change_stay(&house, json!({ "status": "cancelled" })).await;
    let rows = json!([
        ["fee", 2_500, "EUR", "paid"],
        ["fee", 900, "EUR", "cancelled"],
        ["deposit", 30_000, "EUR", "paid"]
    ]);
    assert_eq!(brief(&house).await, rows);
    let after = charges(&house).await;
    assert_eq!(after[2]["releaseAt"], after[2]["updatedAt"]);
    assert_eq!(
        notices(&house).await.pop(),
        Some(("charge_release_due".into(), after[2]["id"].clone()))
    );
    report(&house, &after[1], json!({ "status": "paid" }))
        .await
        .error(409);
    report(&house, &after[2], json!({ "status": "released" }))
        .await
        .data();
    assert_eq!(charges(&house).await[2]["status"], "released");

    // A cancelled stay is confirmed again. The stay gets new charges; the cancelled charges remain
    // cancelled.
    change_stay(&house, json!({})).await;
    let renewed = charges(&house).await;
    assert_eq!(brief(&house).await[3], json!(["fee", 900, "EUR", "due"]));
    assert_eq!((renewed.len(), &renewed[1]), (4, &after[1]));
    assert_eq!(
        notices(&house).await.pop(),
        Some(("charge_due".into(), renewed[3]["id"].clone()))
    );
    change_stay(&house, json!({ "adults": 2 })).await;
    assert_eq!(charges(&house).await, renewed, "only once");
}

on_both!(the_platform_reports_outcomes_of_charges);
async fn the_platform_reports_outcomes_of_charges(app: App) {
    let house = House::build(&app).await;
    let linen = fee(&house, "Linen", 2_500, json!("EUR")).await;
    let fees = house
        .step("mandatory_fee", json!({ "feeProductIds": [linen] }))
        .await;
    let step = house.step("damage_deposit", deposit()).await;
    house.answer(fees, json!({})).await.data();
    house
        .answer(step, json!({ "choice": "deposit" }))
        .await
        .data();
    house.submit().await.data();
    let [fee, held] = <[Value; 2]>::try_from(charges(&house).await).unwrap();
    report(&house, &held, json!({ "status": "released" }))
        .await
        .error(409);
    let failed = report(
        &house,
        &held,
        json!({ "status": "failed", "message": "Card declined" }),
    )
    .await
    .data();
    assert_eq!(
        (&failed["status"], &failed["message"]),
        (&json!("failed"), &json!("Card declined"))
    );
    let paid = report(
        &house,
        &held,
        json!({ "status": "paid", "reference": "pi_1" }),
    )
    .await
    .data();
    assert_eq!(
        json!([paid["status"], paid["message"], paid["reference"]]),
        json!(["paid", null, "pi_1"])
    );
    assert_eq!(
        report(
            &house,
            &held,
            json!({ "status": "paid", "reference": "pi_1" })
        )
        .await
        .data(),
        paid,
        "nothing is new"
    );
    let released = report(&house, &held, json!({ "status": "released" }))
        .await
        .data();
    assert!(released["updatedAt"].as_str() > paid["updatedAt"].as_str());
    for status in ["released", "paid", "failed"] {
        report(&house, &held, json!({ "status": status }))
            .await
            .error(409);
    }
    report(&house, &fee, json!({ "status": "paid" }))
        .await
        .data();
    report(&house, &fee, json!({ "status": "released" }))
        .await
        .error(409);
    for (body, issues) in [
        (json!({}), vec!["status"]),
        (json!({ "status": "due" }), vec!["status"]),
        (
            json!({ "status": "cancelled", "message": "" }),
            vec!["message", "status"],
        ),
        (
            json!({ "status": "paid", "message": "x".repeat(2_001), "reference": " " }),
            vec!["message", "reference"],
        ),
        (
            json!({ "status": "paid", "reference": "x".repeat(201), "amountCents": 1 }),
            vec!["amountCents", "reference"],
        ),
    ] {
        let mut found = report(&house, &fee, body.clone()).await.issues();
        found.sort();
        assert_eq!(found, issues, "{body}");
    }
    report(
        &house,
        &json!({ "id": new_id() }),
        json!({ "status": "paid" }),
    )
    .await
    .error(404);
    let other = House::build(&app).await;
    report(&other, &fee, json!({ "status": "paid" }))
        .await
        .error(404);
}

on_both!(the_platform_pages_through_the_charges);
async fn the_platform_pages_through_the_charges(app: App) {
    let house = House::build(&app).await;
    let list = async |query: &str| {
        app.platform()
            .get(&house.org.path(&format!("/charges{query}")))
            .await
    };
    assert_eq!(list("").await.data(), json!({ "items": [], "next": null }));
    let mut products = Vec::new();
    for cents in [100, 200, 300] {
        products.push(fee(&house, "Fee", cents, json!("EUR")).await);
    }
    let fees = house
        .step("mandatory_fee", json!({ "feeProductIds": products }))
        .await;
    house.answer(fees, json!({})).await.data();
    house.submit().await.data();
    let all = list("").await.data();
    assert_eq!(all["items"], json!(charges(&house).await));
    assert_eq!(all["next"], all["items"][2]["id"]);
    let mut after = String::new();
    for place in 0..3 {
        let page = list(&format!("?limit=1{after}")).await.data();
        assert_eq!(page["items"], json!([all["items"][place]]));
        after = format!("&after={}", page["next"].as_str().unwrap());
    }
    assert_eq!(
        list(&format!("?limit=1{after}")).await.data(),
        json!({ "items": [], "next": all["next"] })
    );
    report(&house, &all["items"][1], json!({ "status": "paid" }))
        .await
        .data();
    let of = async |status: &str| {
        list(&format!("?status={status}")).await.data()["items"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(
        [of("due").await, of("paid").await, of("released").await],
        [2, 1, 0]
    );
    for (query, issue) in [
        ("?status=open", "status"),
        ("?after=1", "after"),
        ("?limit=0", "limit"),
        ("?limit=1001", "limit"),
    ] {
        assert_eq!(list(query).await.issues(), [issue], "{query}");
    }
    app.platform()
        .get(&format!("/organizations/{}/charges", new_id()))
        .await
        .error(404);
}

on_both!(times_of_stay_and_flat_determine_the_due_dates);
async fn times_of_stay_and_flat_determine_the_due_dates(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "damage_deposit",
            with(
                deposit(),
                json!({ "securityDepositReleaseDaysAfterCheckout": 0 }),
            ),
        )
        .await;
    assert_eq!(
        house
            .update(
                step,
                json!({ "securityDepositReleaseDaysAfterCheckout": null })
            )
            .await
            .data()["securityDepositReleaseDaysAfterCheckout"],
        Value::Null
    );
    house
        .answer(step, json!({ "choice": "deposit" }))
        .await
        .data();
    house.submit().await.data();
    let due_and_release = async || {
        let charge = charges(&house).await[0].clone();
        [charge["dueAt"].clone(), charge["releaseAt"].clone()]
    };
    assert_eq!(
        due_and_release().await,
        ["2026-12-09T14:00:00.000Z", "2026-12-15T10:00:00.000Z"]
    );
    // Check-in and check-out times of the stay take precedence over the times of the flat.
    change_stay(
        &house,
        json!({ "checkInTime": "13:00", "checkOutTime": "17:30" }),
    )
    .await;
    assert_eq!(
        due_and_release().await,
        ["2026-12-09T12:00:00.000Z", "2026-12-15T16:30:00.000Z"]
    );
    change_stay(&house, json!({})).await;
    let flat = |times: [Value; 2], zone: &str| {
        json!({
            "name": "Flat",
            "timezone": zone,
            "country": "ES",
            "checkInTime": times[0],
            "checkOutTime": times[1],
        })
    };
    house
        .org
        .put_record(
            "property",
            house.flat,
            flat([json!("16:00"), Value::Null], "Europe/Madrid"),
        )
        .await;
    assert_eq!(
        due_and_release().await,
        ["2026-12-09T15:00:00.000Z", "2026-12-15T22:59:59.999Z"]
    );
    let other = house
        .org
        .record(
            "property",
            flat([Value::Null, json!("10:00")], "Asia/Tokyo"),
        )
        .await;
    change_stay(&house, json!({ "propertyId": other })).await;
    assert_eq!(
        due_and_release().await,
        ["2026-12-08T15:00:00.000Z", "2026-12-15T01:00:00.000Z"]
    );
    change_stay(&house, json!({ "propertyId": null })).await;
    assert_eq!(
        due_and_release().await,
        ["2026-12-08T15:00:00.000Z", "2026-12-15T01:00:00.000Z"],
        "the flat is not known"
    );
    // If the due date has passed before the submission, the charge is due at the time of the
    // submission.
    change_stay(
        &house,
        json!({ "checkIn": "2026-11-22", "checkOut": "2026-11-24" }),
    )
    .await;
    assert_eq!(
        due_and_release().await[0],
        charges(&house).await[0]["createdAt"]
    );
}

on_both!(callers_with_access_to_a_stay_read_its_charges);
async fn callers_with_access_to_a_stay_read_its_charges(app: App) {
    let house = House::build(&app).await;
    let linen = fee(&house, "Linen", 2_500, json!("EUR")).await;
    let fees = house
        .step("mandatory_fee", json!({ "feeProductIds": [linen] }))
        .await;
    house.answer(fees, json!({})).await.data();
    house.submit().await.data();
    let path = format!("/reservations/{}/charges", house.stay);
    house
        .org
        .key_without(Permission::ViewReservations)
        .await
        .get(&path)
        .await
        .error(403);
    let elsewhere = house.org.property(None, &[]).await;
    house
        .org
        .limited(&[elsewhere])
        .await
        .get(&path)
        .await
        .error(404);
    assert_eq!(
        house
            .org
            .limited(&[house.flat])
            .await
            .get(&path)
            .await
            .data(),
        json!(charges(&house).await)
    );
    House::build(&app).await.api.get(&path).await.error(404);
    house
        .api
        .get(&format!("/reservations/{}/charges", new_id()))
        .await
        .error(404);
    let page = house.api.get(&format!("{path}?limit=1&offset=1")).await;
    assert_eq!(
        (page.data(), &page.body["meta"]["pagination"]["total"]),
        (json!([]), &json!(1))
    );
    // Deleting the stay deletes its charges, so the list of guest changes gets no further notice
    // about them.
    house.org.delete_record("reservation", house.stay).await;
    let listed = app.platform().get(&house.org.path("/charges")).await.data();
    assert_eq!(listed["items"], json!([]));
    app.clock.advance(60 * DAY);
    assert_eq!(notices(&house).await.len(), 1);
}

on_both!(the_page_shows_totals_and_never_says_that_money_was_taken);
async fn the_page_shows_totals_and_never_says_that_money_was_taken(app: App) {
    let house = House::build(&app).await;
    account(&house, true, Value::Null).await;
    let text = async |text: &str| {
        let body = json!({ "sourceTable": "precheck_step_detail", "text": text });
        house.api.post("/translations", body).await.data()["id"].clone()
    };
    let (both, alone) = (text("Choose one.").await, text("Comes back in full.").await);
    let linen = fee(&house, "Linen", 2_500, json!("EUR")).await;
    let pets = fee(&house, "Pets", 900, json!("EUR")).await;
    house
        .org
        .record(
            "damage_waiver",
            json!({ "name": "Gold", "amountCents": 1_200, "currency": "JPY" }),
        )
        .await;
    let fees = house
        .step("mandatory_fee", json!({ "feeProductIds": [linen, pets] }))
        .await;
    let step = house
        .step(
            "damage_deposit",
            with(
                deposit(),
                json!({
                    "isDamageWaiverEnabled": true, "isDamageWaiverWaivable": true,
                    "damageDepositSubtitleMlTextId": both, "securityDepositSubtitleMlTextId": alone,
                }),
            ),
        )
        .await;
    let page = async |step: Uuid| {
        let address = format!("{}/stay/{}/steps/{step}?language=en", app.base, house.token);
        app.http
            .get(address)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    };
    let html = page(fees).await;
    for message in ["Linen", "€25.00", "€9.00", "Total", "€34.00"] {
        assert!(html.contains(message), "{message}: {html}");
    }
    let html = page(step).await;
    for message in [
        "Choose one.",
        "Security deposit of €300.00",
        "Gold, ¥1,200 per night",
        "¥4,800 in total for your stay.",
        "No deposit and no waiver",
        "Due when you submit.",
        "Due 2 days before you arrive.",
        "No money is taken on this page",
    ] {
        assert!(html.contains(message), "{message}: {html}");
    }
    assert_eq!(
        house.step_view(step, "en").await["deposit"]["subtitle"],
        "Choose one."
    );
    house
        .update(
            step,
            json!({ "isDamageWaiverEnabled": false, "isDamageWaiverWaivable": false }),
        )
        .await
        .data();
    assert_eq!(
        house.step_view(step, "en").await["deposit"]["subtitle"],
        "Comes back in full."
    );
    let address = format!("{}/stay/{}/steps/{step}", app.base, house.token);
    let form = app
        .http
        .post(address)
        .header("content-type", "application/x-www-form-urlencoded")
        .body("choice=deposit");
    let sent = form.send().await.unwrap();
    assert!(
        sent.status().is_success() || sent.status().is_redirection(),
        "{}",
        sent.status()
    );
    assert_eq!(
        house.step_view(step, "en").await["answers"],
        json!({ "choice": "deposit" })
    );
    let review = format!("{}/stay/{}/review?language=en", app.base, house.token);
    let html = app
        .http
        .get(review)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    for message in [
        "€34.00",
        "Security deposit of €300.00 · Due 2 days before you arrive.",
    ] {
        assert!(html.contains(message), "{message}: {html}");
    }
    // Without a security deposit, the guest has nothing to choose and only confirms the step.
    house
        .update(step, json!({ "isSecurityDepositEnabled": false }))
        .await
        .data();
    let html = page(step).await;
    assert!(
        html.contains("name=\"isConfirmed\"") && !html.contains("name=\"choice\""),
        "{html}"
    );
}

/// Both nodes process the same due charges at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_send_each_notice_once() {
    const STAYS: usize = 20;
    let Some(app) = App::on_postgres(&[]).await else {
        return;
    };
    let second = app.second_node(&[]).await;
    let house = House::build(&app).await;
    let step = house.step("damage_deposit", deposit()).await;
    for _ in 0..STAYS {
        let stay = house.org.reservation(Some(house.flat)).await;
        let token = house.org.stay_token(stay).await;
        let answers = json!({ "answers": { "choice": "deposit" } });
        let path = format!("/steps/{step}");
        guest(&app, &token, Method::PUT, &path, Some(answers))
            .await
            .data();
        guest(&app, &token, Method::POST, "/submit", None)
            .await
            .data();
    }
    assert_eq!(notices(&house).await, []);
    app.clock.advance(30 * DAY);
    second.clock.advance(30 * DAY);
    let rounds = (0..4).map(async |_| {
        app.server.fire_due_charges().await;
        second.server.fire_due_charges().await;
    });
    futures_util::future::join_all(rounds).await;
    let reported = notices(&house).await;
    let distinct: BTreeSet<String> = reported.iter().map(|(_, id)| id.to_string()).collect();
    assert_eq!((reported.len(), distinct.len()), (STAYS, STAYS));
}
