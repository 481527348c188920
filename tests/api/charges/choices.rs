//! The charges that the choices of a guest create: deposits, fees without a price, accounts, and
//! currencies.

use reqwest::Method;
use serde_json::{Value, json};
use test_support::house::{House, with};
use test_support::{App, on_both};
use uuid::Uuid;

use super::{account, brief, change_stay, charges, deposit, fee, report, resubmit, waiver};

on_both!(a_resubmission_charges_only_new_choices);
async fn a_resubmission_charges_only_new_choices(app: App) {
    let house = House::build(&app).await;
    account(&house, true, json!("EUR")).await;
    let gold = waiver(&house, "Gold", 1_200).await;
    let silver = waiver(&house, "Silver", 500).await;
    let step = house
        .step(
            "damage_deposit",
            with(deposit(), json!({ "isDamageWaiverEnabled": true })),
        )
        .await;
    let take = |waiver: Uuid| json!({ "choice": "waiver", "damageWaiverId": waiver });
    house.answer(step, take(gold)).await.data();
    house.submit().await.data();
    // The amount of a submitted choice stays the same if the stay gets more nights or the price
    // changes.
    change_stay(&house, json!({ "checkOut": "2026-12-20" })).await;
    house
        .org
        .put_record(
            "damage_waiver",
            gold,
            json!({ "name": "Gold", "amountCents": 9_900 }),
        )
        .await;
    resubmit(&house, step, take(gold)).await;
    assert_eq!(
        brief(&house).await,
        json!([["waiver", 4_800, "EUR", "due"]])
    );
    resubmit(&house, step, take(silver)).await;
    assert_eq!(
        brief(&house).await,
        json!([
            ["waiver", 4_800, "EUR", "cancelled"],
            ["waiver", 4_500, "EUR", "due"]
        ])
    );
    report(
        &house,
        &charges(&house).await[1],
        json!({ "status": "paid" }),
    )
    .await
    .data();
    resubmit(&house, step, json!({ "choice": "deposit" })).await;
    let rows = json!([
        ["waiver", 4_800, "EUR", "cancelled"],
        ["waiver", 4_500, "EUR", "paid"],
        ["deposit", 30_000, "EUR", "due"]
    ]);
    assert_eq!(brief(&house).await, rows);
    resubmit(&house, step, take(silver)).await;
    assert_eq!(
        brief(&house).await[2],
        json!(["deposit", 30_000, "EUR", "cancelled"])
    );
    assert_eq!(charges(&house).await.len(), 3, "the waiver is paid already");
}

on_both!(a_deposit_step_offers_the_enabled_choices);
async fn a_deposit_step_offers_the_enabled_choices(app: App) {
    let house = House::build(&app).await;
    account(&house, true, Value::Null).await;
    let gold = waiver(&house, "Gold", 1_200).await;
    let step = house.step("damage_deposit", json!({})).await;
    let offered = async || {
        let view = house.step_view(step, "en").await;
        let choices = view["deposit"]["choices"].as_array().unwrap();
        choices
            .iter()
            .map(|choice| {
                json!([
                    choice["choice"],
                    choice["amountCents"],
                    choice["currency"],
                    choice["totalCents"]
                ])
            })
            .collect::<Value>()
    };
    let choose = async |choice: &str| {
        house
            .answer(step, json!({ "choice": choice, "damageWaiverId": gold }))
            .await
    };
    assert_eq!(offered().await, json!([]));
    for choice in ["deposit", "none"] {
        assert_eq!(choose(choice).await.issues(), ["answers.choice"]);
    }
    assert_eq!(choose("waiver").await.issues(), ["answers.damageWaiverId"]);
    assert_eq!(
        house.answer(step, json!({})).await.data()["isComplete"],
        true,
        "nothing is to be chosen"
    );
    // Each row has changes of the step's fields, and the choices that the step offers after the
    // change. Amounts are in euros, because the organization is in Spain.
    for (fields, choices) in [
        (
            json!({ "isSecurityDepositEnabled": true, "securityDepositAmountCents": 30_000 }),
            json!([["deposit", 30_000, "EUR", 30_000]]),
        ),
        (
            json!({ "isDamageWaiverEnabled": true }),
            json!([
                ["waiver", 1_200, "EUR", 4_800],
                ["deposit", 30_000, "EUR", 30_000]
            ]),
        ),
        (
            json!({ "isSecurityDepositEnabled": false }),
            json!([["waiver", 1_200, "EUR", 4_800]]),
        ),
        (
            json!({ "damageWaiverDepositAmountCents": 9_900 }),
            json!([
                ["waiver", 1_200, "EUR", 4_800],
                ["deposit", 9_900, "EUR", 9_900]
            ]),
        ),
        (
            json!({ "damageWaiverCapCents": 4_000 }),
            json!([
                ["waiver", 1_200, "EUR", 4_000],
                ["deposit", 9_900, "EUR", 9_900]
            ]),
        ),
        (
            json!({ "damageWaiverPricingBasis": "per_stay" }),
            json!([
                ["waiver", 1_200, "EUR", 1_200],
                ["deposit", 9_900, "EUR", 9_900]
            ]),
        ),
        (
            json!({ "damageWaiverMinLos": 5, "isDamageWaiverWaivable": true }),
            json!([["deposit", 9_900, "EUR", 9_900], ["none", 0, "EUR", 0]]),
        ),
        (
            json!({ "isDamageWaiverEnabled": false }),
            json!([["none", 0, "EUR", 0]]),
        ),
    ] {
        house.update(step, fields.clone()).await.data();
        assert_eq!(offered().await, choices, "{fields}");
        let names: Vec<&str> = choices
            .as_array()
            .unwrap()
            .iter()
            .map(|choice| choice[0].as_str().unwrap())
            .collect();
        for choice in ["waiver", "deposit", "none"] {
            let expected = if names.contains(&choice) { 200 } else { 400 };
            assert_eq!(choose(choice).await.status, expected, "{choice} {fields}");
        }
    }
    choose("none").await.data();
    house.submit().await.data();
    assert_eq!(charges(&house).await, Vec::<Value>::new());
}

on_both!(a_deposit_cannot_be_passed_by_making_no_choice);
async fn a_deposit_cannot_be_passed_by_making_no_choice(app: App) {
    let house = House::build(&app).await;
    account(&house, true, json!("EUR")).await;
    let step = house.step("damage_deposit", deposit()).await;
    for answers in [json!({}), json!({ "isConfirmed": true })] {
        let saved = house.answer(step, answers).await.data();
        assert_eq!(
            (&saved["state"], &saved["isComplete"]),
            (&json!("todo"), &json!(false))
        );
        house.submit().await.error(409);
    }
    house
        .answer(step, json!({ "choice": "deposit" }))
        .await
        .data();
    house.submit().await.data();
    assert_eq!(
        brief(&house).await,
        json!([["deposit", 30_000, "EUR", "due"]])
    );
    // The guest submits while the step offers no choice. The host then enables a deposit, so the
    // step offers a choice and is open again.
    let other = House::build(&app).await;
    account(&other, true, json!("EUR")).await;
    let plain = other.step("damage_deposit", json!({})).await;
    other.answer(plain, json!({})).await.data();
    other.submit().await.data();
    other.update(plain, deposit()).await.data();
    assert_eq!(other.step_view(plain, "en").await["state"], "todo");
    assert_eq!(other.precheckin().await["openSteps"], json!([plain]));
}

on_both!(a_choice_that_is_no_longer_offered_must_be_made_again);
async fn a_choice_that_is_no_longer_offered_must_be_made_again(app: App) {
    let house = House::build(&app).await;
    account(&house, true, json!("EUR")).await;
    let gold = waiver(&house, "Gold", 1_200).await;
    let step = house
        .step(
            "damage_deposit",
            with(
                deposit(),
                json!({ "isDamageWaiverEnabled": true, "damageWaiverMinLos": 3 }),
            ),
        )
        .await;
    house
        .answer(step, json!({ "choice": "waiver", "damageWaiverId": gold }))
        .await
        .data();
    change_stay(&house, json!({ "checkOut": "2026-12-12" })).await;
    assert_eq!(
        house.step_view(step, "en").await["isComplete"],
        false,
        "one night"
    );
    assert_eq!(
        house.submission().await["steps"][0]["state"],
        "todo",
        "the platform reads the same"
    );
    house.submit().await.error(409);
    house
        .answer(step, json!({ "choice": "deposit" }))
        .await
        .data();
    assert_eq!(house.step_view(step, "en").await["isComplete"], true);
    house.submit().await.data();
    house
        .update(step, json!({ "isSecurityDepositEnabled": false }))
        .await
        .data();
    assert_eq!(
        house.step_view(step, "en").await["isComplete"],
        true,
        "what is submitted stays"
    );
    assert_eq!(
        brief(&house).await,
        json!([["deposit", 30_000, "EUR", "due"]])
    );
}

on_both!(an_account_that_became_inactive_is_not_charged);
async fn an_account_that_became_inactive_is_not_charged(app: App) {
    let house = House::build(&app).await;
    let main = account(&house, true, json!("USD")).await;
    let own = account(&house, false, json!("GBP")).await;
    let linen = fee(&house, "Linen", 2_500, json!("EUR")).await;
    let fees = house
        .step(
            "mandatory_fee",
            json!({ "feeProductIds": [linen], "feesPaymentAccountId": own }),
        )
        .await;
    let read = async || {
        let fee = house.step_view(fees, "en").await["fees"][0].clone();
        assert_eq!(
            fee.get("paymentAccountId"),
            None,
            "the guest does not see the account"
        );
        fee["currency"].clone()
    };
    assert_eq!(read().await, "GBP");
    house
        .org
        .put_record(
            "payment_account",
            own,
            json!({ "name": "Own", "isActive": false, "isDefault": false, "currency": "GBP" }),
        )
        .await;
    assert_eq!(read().await, "EUR");
    house.answer(fees, json!({})).await.data();
    house.submit().await.data();
    let charge = charges(&house).await[0].clone();
    assert_eq!(
        (&charge["paymentAccountId"], &charge["currency"]),
        (&Value::Null, &json!("EUR"))
    );
    house.org.delete_record("payment_account", own).await;
    assert_eq!(
        read().await,
        "USD",
        "the default account is charged in place of a deleted one"
    );
    assert_eq!(
        house
            .org
            .sync(json!([{ "kind": "payment_account", "id": main, "data": {
        "name": "Main", "isActive": true, "isDefault": true, "currency": "euro",
    } }]))
            .await
            .issues(),
        ["records.0.data.currency"]
    );
}

on_both!(amounts_without_a_currency_use_the_organizations_currency);
async fn amounts_without_a_currency_use_the_organizations_currency(app: App) {
    let house = House::build(&app).await;
    let linen = fee(&house, "Linen", 2_500, Value::Null).await;
    let pets = fee(&house, "Pets", 900, json!("usd")).await;
    let fees = house
        .step("mandatory_fee", json!({ "feeProductIds": [linen] }))
        .await;
    let organization =
        async || app.platform().get(&house.org.path("")).await.data()["currency"].clone();
    // Each row has the fields that were sent and the resulting currency of the organization.
    for (sent, expected) in [
        (json!({}), "EUR"),
        (json!({ "country": "CH" }), "CHF"),
        (json!({ "currency": "jpy" }), "JPY"),
        (json!({ "country": "GB" }), "JPY"),
        (json!({ "currency": null }), "GBP"),
        (json!({ "country": "US" }), "USD"),
    ] {
        assert_eq!(
            house.org.put("", sent.clone()).await["currency"],
            expected,
            "{sent}"
        );
        assert_eq!(organization().await, expected);
        let view = house.step_view(fees, "en").await;
        assert_eq!(
            (&view["fees"][0]["currency"], &view["totalCents"]),
            (&json!(expected), &json!(2_500)),
            "{sent}"
        );
    }
    for currency in [json!("EURO"), json!("XXX"), json!(7), json!("")] {
        let response = app
            .platform()
            .send(
                Method::PUT,
                &house.org.path(""),
                Some(json!({ "currency": currency })),
            )
            .await;
        assert_eq!(response.issues(), ["currency"], "{currency}");
    }
    house
        .update(fees, json!({ "feeProductIds": [linen, pets] }))
        .await
        .data();
    assert_eq!(house.step_view(fees, "en").await["totalCents"], 3_400);
    house.org.put("", json!({ "currency": "EUR" })).await;
    let view = house.step_view(fees, "en").await;
    assert_eq!(
        (&view["totalCents"], &view["fees"][1]["currency"]),
        (&Value::Null, &json!("USD")),
        "there are two currencies"
    );
}

on_both!(choices_without_a_price_are_not_charged);
async fn choices_without_a_price_are_not_charged(app: App) {
    let house = House::build(&app).await;
    let free = fee(&house, "Free", 0, json!("EUR")).await;
    let unknown = house
        .org
        .record("fee_product", json!({ "name": "Tax" }))
        .await;
    let fees = house
        .step("mandatory_fee", json!({ "feeProductIds": [free, unknown] }))
        .await;
    let step = house
        .step(
            "damage_deposit",
            json!({ "isSecurityDepositEnabled": true }),
        )
        .await;
    // The platform reports this fee step as completed, so the service charges nothing.
    let taken = fee(&house, "Taken", 100, json!("EUR")).await;
    let elsewhere = house
        .step("mandatory_fee", json!({ "feeProductIds": [taken] }))
        .await;
    let path = house
        .org
        .path(&format!("/reservations/{}/steps/{elsewhere}", house.stay));
    app.platform()
        .ok(Method::PUT, &path, Some(json!({ "status": "completed" })))
        .await;
    assert_eq!(house.step_view(fees, "en").await["totalCents"], Value::Null);
    house.answer(fees, json!({})).await.data();
    house
        .answer(step, json!({ "choice": "deposit" }))
        .await
        .data();
    house.submit().await.data();
    assert_eq!(charges(&house).await, Vec::<Value>::new());
}
