//! What a step costs its guest, as far as the records behind it say: the deposit with the waivers that can be taken in its
//! place, and the fees (contract: Steps that are really done).
//!
//! The platform owns the shapes of these records. A price is read where it plainly stands, and is null anywhere else.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use engine::context::Context;
use engine::error::Result;
use engine::operation::Object;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::charging::{Accounts, accounts_of, has_usable_damage_waiver};
use super::step::{PricingBasis, Step, StepType};
use crate::records::{Kind, all_records, typed_among};

/// The deposit of a step. Amounts are in cents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deposit {
    /// Null where none is set.
    pub amount_cents: Option<u64>,
    /// Of the account that is charged, where it says so.
    pub currency: Option<String>,
    /// How many days after check-out it is released.
    pub release_days_after_checkout: u32,
    /// How many days before check-in it is taken; null where no day is set.
    pub days_before_checkin: Option<u32>,
    /// What can be taken in its place.
    pub waivers: Vec<Waiver>,
}

/// A damage waiver that can be taken. Amounts are in cents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waiver {
    /// Which one.
    pub id: Uuid,
    /// What it is called.
    pub name: String,
    /// Null where the platform does not say.
    pub price_cents: Option<u64>,
    /// What the price is for.
    pub pricing_basis: PricingBasis,
    /// The most that it covers; null where no cap is set.
    pub cap_cents: Option<u64>,
}

/// A fee that the guest pays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fee {
    /// Which fee product.
    pub id: Uuid,
    /// What it is called.
    pub name: String,
    /// In cents; null where the platform does not say.
    pub amount_cents: Option<u64>,
    /// Null where the platform does not say.
    pub currency: Option<String>,
}

/// What a step costs.
#[derive(Debug, Clone, Serialize)]
pub enum Cost {
    /// Of a step of type `damage_deposit`, for a stay of any length.
    Deposit(Deposit),
    /// Of one of type `mandatory_fee`, in its order.
    Fees(Vec<Fee>),
}

/// What of some active steps costs something, by step.
pub(crate) fn costs(context: &mut Context<'_, '_>, steps: &[Arc<Step>]) -> Result<HashMap<Uuid, Cost>> {
    let of_type = |step_type| steps.iter().filter(move |step| step.step_type == step_type);
    let mut costs = HashMap::new();
    if of_type(StepType::DamageDeposit).next().is_some() {
        let payment = all_records(context, Kind::PaymentAccount)?;
        let mut waivers: Vec<(Uuid, Object)> = all_records(context, Kind::DamageWaiver)?;
        // Names may be alike, or empty.
        waivers.sort_by_cached_key(|(id, data)| (name(data), *id));
        costs.extend(of_type(StepType::DamageDeposit).map(|step| (step.id, Cost::Deposit(deposit(step, &payment, &waivers)))));
    }
    if of_type(StepType::MandatoryFee).next().is_some() {
        let wanted: BTreeSet<Uuid> = of_type(StepType::MandatoryFee).flat_map(|step| step.fee_product_ids.iter().copied()).collect();
        let products = typed_among::<Object>(context, Kind::FeeProduct, wanted.into_iter().collect())?;
        costs.extend(of_type(StepType::MandatoryFee).map(|step| (step.id, Cost::Fees(fees(step, &products)))));
    }
    Ok(costs)
}

fn deposit(step: &Step, payment: &[(Uuid, Object)], waivers: &[(Uuid, Object)]) -> Deposit {
    let charges = &step.charges;
    let accounts = accounts_of(payment, &[]);
    let (amount_cents, account) = if charges.is_security_deposit_enabled {
        (charges.security_deposit_amount_cents, charges.security_deposit_payment_account_id)
    } else if charges.is_damage_waiver_enabled {
        (charges.damage_waiver_deposit_amount_cents, charges.damage_waiver_payment_account_id)
    } else {
        (None, None)
    };
    Deposit {
        amount_cents,
        currency: currency_of(account, payment),
        release_days_after_checkout: charges.security_deposit_release_days_after_checkout,
        days_before_checkin: charges.security_deposit_days_before_checkin,
        waivers: usable(step, &accounts, waivers),
    }
}

/// The waivers that can be taken, for stays long enough.
fn usable(step: &Step, accounts: &Accounts, waivers: &[(Uuid, Object)]) -> Vec<Waiver> {
    if !has_usable_damage_waiver(step, accounts) {
        return Vec::new();
    }
    let waiver = |(id, data): &(Uuid, Object)| Waiver {
        id: *id,
        name: name(data),
        price_cents: cents(data, ["priceCents", "amountCents"]),
        pricing_basis: step.charges.damage_waiver_pricing_basis,
        cap_cents: step.charges.damage_waiver_cap_cents,
    };
    waivers.iter().map(waiver).collect()
}

/// The currency of the account that is charged: the one that is named, else the active default one.
fn currency_of(named: Option<Uuid>, payment: &[(Uuid, Object)]) -> Option<String> {
    let is_true = |data: &Object, field: &str| data.get(field) == Some(&Value::Bool(true));
    let (_, data) = payment.iter().find(|(id, data)| match named {
        Some(named) => *id == named,
        None => is_true(data, "isActive") && is_true(data, "isDefault"),
    })?;
    currency(data)
}

fn fees(step: &Step, products: &HashMap<Uuid, Object>) -> Vec<Fee> {
    let fee = |id: &Uuid| {
        let data = products.get(id)?;
        Some(Fee { id: *id, name: name(data), amount_cents: cents(data, ["amountCents", "priceCents"]), currency: currency(data) })
    };
    step.fee_product_ids.iter().filter_map(fee).collect()
}

fn name(data: &Object) -> String {
    data.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The first of these fields that holds an amount.
fn cents(data: &Object, fields: [&str; 2]) -> Option<u64> {
    fields.into_iter().find_map(|field| data.get(field)?.as_u64())
}

fn currency(data: &Object) -> Option<String> {
    let code = data.get("currency")?.as_str()?;
    (code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())).then(|| code.to_owned())
}

impl Deposit {
    /// The same for a stay of so many nights, which may be too short for a waiver.
    #[must_use]
    pub fn for_nights(&self, step: &Step, nights: i64) -> Self {
        let is_long_enough = nights >= i64::from(step.charges.damage_waiver_min_los);
        Self { waivers: if is_long_enough { self.waivers.clone() } else { Vec::new() }, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn data(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    fn step(step_type: StepType) -> Step {
        Step { is_active: true, step_type, ..Step::default() }
    }

    #[test]
    fn prices_are_read_where_they_plainly_stand() {
        let mut step = step(StepType::MandatoryFee);
        step.fee_product_ids = (1..=6).map(id).collect();
        let products = HashMap::from([
            (id(1), data(json!({ "name": "Linen", "amountCents": 2_500, "currency": "EUR" }))),
            (id(2), data(json!({ "name": "Pets", "priceCents": 900, "currency": "euro" }))),
            (id(3), data(json!({ "name": "", "amountCents": "12", "priceCents": -1, "currency": 7 }))),
            (id(4), data(json!({ "name": "Tax", "amount": 12.5 }))),
            (id(6), data(json!({ "name": "Late", "amountCents": null, "priceCents": 0 }))),
        ]);
        let read: Vec<_> = fees(&step, &products).into_iter().map(|fee| (fee.name, fee.amount_cents, fee.currency)).collect();
        let expected = [("Linen", Some(2_500), Some("EUR")), ("Pets", Some(900), None), ("", None, None), ("Tax", None, None)];
        let expected = expected.into_iter().chain([("Late", Some(0), None)]);
        assert_eq!(read, expected.map(|(name, amount, code)| (name.to_owned(), amount, code.map(str::to_owned))).collect::<Vec<_>>());
    }

    #[test]
    fn a_waiver_is_offered_where_it_can_be_charged_and_the_stay_is_long_enough() {
        let payment = [
            (id(1), data(json!({ "name": "A", "isActive": true, "isDefault": true, "currency": "EUR" }))),
            (id(2), data(json!({ "name": "B", "isActive": false, "isDefault": false, "currency": "USD" }))),
        ];
        let waivers = [(id(7), data(json!({ "name": "Gold", "priceCents": 1_200 })))];
        // Whether it is enabled, its account, the fewest nights, the nights → whether it is offered.
        for (is_enabled, account, least, nights, is_offered) in [
            (true, None, 0, 1, true),
            (true, None, 3, 3, true),
            (true, None, 3, 2, false),
            (false, None, 0, 9, false),
            (true, Some(id(1)), 0, 1, true),
            (true, Some(id(2)), 0, 1, false),
        ] {
            let mut step = step(StepType::DamageDeposit);
            step.charges.is_damage_waiver_enabled = is_enabled;
            step.charges.damage_waiver_payment_account_id = account;
            step.charges.damage_waiver_min_los = least;
            let offered = deposit(&step, &payment, &waivers).for_nights(&step, nights).waivers;
            assert_eq!(!offered.is_empty(), is_offered, "{is_enabled} {account:?} {least} {nights}");
        }
        assert!(usable(&step(StepType::DamageDeposit), &accounts_of(&payment, &[]), &waivers).is_empty());
    }

    #[test]
    fn the_deposit_is_that_of_what_is_switched_on() {
        let payment = [
            (id(1), data(json!({ "name": "A", "isActive": true, "isDefault": true, "currency": "EUR" }))),
            (id(2), data(json!({ "name": "B", "isActive": true, "isDefault": false, "currency": "USD" }))),
        ];
        let mut step = step(StepType::DamageDeposit);
        step.charges.security_deposit_amount_cents = Some(30_000);
        step.charges.damage_waiver_deposit_amount_cents = Some(10_000);
        step.charges.security_deposit_payment_account_id = Some(id(2));
        let read = |step: &Step| {
            let deposit = deposit(step, &payment, &[]);
            (deposit.amount_cents, deposit.currency, deposit.release_days_after_checkout)
        };
        assert_eq!(read(&step), (None, Some("EUR".into()), 3));
        step.charges.is_damage_waiver_enabled = true;
        assert_eq!(read(&step), (Some(10_000), Some("EUR".into()), 3));
        step.charges.is_security_deposit_enabled = true;
        assert_eq!(read(&step), (Some(30_000), Some("USD".into()), 3));
    }
}
