//! The costs of a step for the guest, read from synchronized records (rules:
//! pre-check-in#deposits). They are the deposit, the waivers that a guest can choose instead of the
//! deposit, and the fees.
//!
//! The amount of a waiver or a fee is the `amountCents` of its record, or else the `priceCents`.
//! The amount is null if the record has neither field. Amounts are in the minor unit of their
//! currency. Every amount has a currency: the currency of the charged account, else of the record,
//! else of the organization.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use engine::context::Context;
use engine::currency;
use engine::error::Result;
use engine::operation::Object;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::charging::{accounts_of, has_usable_damage_waiver};
use super::step::{Charges, PricingBasis, Step};
use super::step_type::CostKind;
use crate::records::{RecordKind, all_records, records_as};

/// An option of a step of type `damage_deposit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DepositOption {
    /// The guest takes a damage waiver.
    Waiver,
    /// The guest pays the deposit.
    Deposit,
    /// The guest takes neither a waiver nor the deposit.
    None,
}

/// A choice in a step of type `damage_deposit`. Amounts are in the minor unit of the currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DepositChoice {
    /// Whether this is a deposit, a waiver or neither. The guest sends this value as `choice` in
    /// the answers.
    pub choice: DepositOption,
    /// Id of the damage waiver; null if the option is not a waiver.
    pub damage_waiver_id: Option<Uuid>,
    /// Name of the damage waiver; null if the option is not a waiver.
    pub name: Option<String>,
    /// Price of the waiver for a stay or for a night, as `pricingBasis` says, or amount of the
    /// deposit. Null if no amount is set.
    pub amount_cents: Option<u64>,
    /// Currency of the amounts, as an ISO 4217 code.
    pub currency: String,
    /// Whether the price of the waiver is for a stay or for a night; null if the option is not a
    /// waiver.
    pub pricing_basis: Option<PricingBasis>,
    /// The amount for the whole stay; null if no amount is set.
    pub total_cents: Option<u64>,
    /// Id of the payment account that is charged. Guests do not see it.
    #[serde(skip)]
    pub payment_account_id: Option<Uuid>,
}

/// A fee that the guest pays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fee {
    /// Id of the fee product.
    pub fee_product_id: Uuid,
    /// Name of the fee product.
    pub name: String,
    /// The amount in the minor unit of the currency; null if the platform does not state one.
    pub amount_cents: Option<u64>,
    /// Currency of the amounts, as an ISO 4217 code.
    pub currency: String,
    /// The amount for the whole stay, which is `amountCents`: a fee is charged once for a stay.
    pub total_cents: Option<u64>,
    /// Id of the payment account that is charged. Guests do not see it.
    #[serde(skip)]
    pub payment_account_id: Option<Uuid>,
}

/// The amounts that a guest can pay for a step.
#[derive(Debug, Clone, Serialize)]
pub enum Cost {
    /// For a step of type `damage_deposit`: all choices that the step can offer, with the totals
    /// for a stay of one night. For a particular stay, [`choices_for`] computes the totals again,
    /// and removes waivers if the stay is too short.
    Deposit(Vec<DepositChoice>),
    /// For a step of type `mandatory_fee`: its fees, in the order of the step's `feeProductIds`.
    Fees(Vec<Fee>),
}

/// Returns the costs of active steps by step id. Steps without costs are left out.
pub(crate) fn costs(
    context: &mut Context<'_, '_>,
    steps: &[Arc<Step>],
) -> Result<HashMap<Uuid, Cost>> {
    let of_kind = |kind| {
        steps
            .iter()
            .filter(move |step| step.step_type.cost_kind() == kind)
    };
    let (has_deposits, has_fees) = (
        of_kind(CostKind::Deposit).next().is_some(),
        of_kind(CostKind::Fees).next().is_some(),
    );
    let mut costs = HashMap::new();
    if !has_deposits && !has_fees {
        return Ok(costs);
    }
    let payment: Vec<(Uuid, Object)> = all_records(context, RecordKind::PaymentAccount)?;
    let accounts = PaymentAccounts {
        payment: &payment,
        currency: context.organization.settings.currency().to_owned(),
    };
    if has_deposits {
        let mut waivers: Vec<(Uuid, Object)> = all_records(context, RecordKind::DamageWaiver)?;
        // Two names can be equal or empty, so the id breaks ties.
        waivers.sort_by_cached_key(|(id, data)| (name(data), *id));
        costs.extend(
            of_kind(CostKind::Deposit)
                .map(|step| (step.id, Cost::Deposit(choices(step, &accounts, &waivers)))),
        );
    }
    if has_fees {
        let product_ids: BTreeSet<Uuid> = of_kind(CostKind::Fees)
            .flat_map(|step| step.fee_product_ids.iter().copied())
            .collect();
        let products = records_as::<Object>(
            context,
            RecordKind::FeeProduct,
            product_ids.into_iter().collect(),
        )?;
        costs.extend(
            of_kind(CostKind::Fees)
                .map(|step| (step.id, Cost::Fees(fees(step, &accounts, &products)))),
        );
    }
    Ok(costs)
}

/// The payment accounts of an organization, and the organization's currency.
struct PaymentAccounts<'p> {
    payment: &'p [(Uuid, Object)],
    currency: String,
}

impl PaymentAccounts<'_> {
    /// Returns the id of the payment account that is charged, and the currency of the charge.
    ///
    /// If `account_id` is set, the account is the active account with this id. Otherwise it is the
    /// active default account. The id is `None` if there is no such account. The currency is that
    /// of the account, otherwise of `record` (the waiver or the fee product), otherwise of the
    /// organization.
    fn of(&self, account_id: Option<Uuid>, record: Option<&Object>) -> (Option<Uuid>, String) {
        let is_true = |data: &Object, field: &str| data.get(field) == Some(&Value::Bool(true));
        let account = self.payment.iter().find(|(id, data)| {
            is_true(data, "isActive")
                && account_id.map_or_else(
                    || is_true(data, "isDefault"),
                    |account_id| *id == account_id,
                )
        });
        let currency = account
            .and_then(|(_, data)| currency_in(data))
            .or_else(|| record.and_then(currency_in))
            .unwrap_or_else(|| self.currency.clone());
        (account.map(|(id, _)| *id), currency)
    }
}

/// Returns the choices that a deposit step offers to the guest, in this order: the damage waivers,
/// the deposit, and neither of them.
fn choices(
    step: &Step,
    accounts: &PaymentAccounts<'_>,
    waivers: &[(Uuid, Object)],
) -> Vec<DepositChoice> {
    let charges = &step.charges;
    let mut choices = Vec::new();
    if has_usable_damage_waiver(step, &accounts_of(accounts.payment, &[])) {
        choices.extend(
            waivers
                .iter()
                .map(|(id, data)| waiver(charges, accounts, *id, data)),
        );
    }
    let (payment_account_id, currency) =
        accounts.of(charges.security_deposit_payment_account_id, None);
    let plain = |choice, amount_cents| DepositChoice {
        choice,
        damage_waiver_id: None,
        name: None,
        amount_cents,
        currency: currency.clone(),
        pricing_basis: None,
        total_cents: amount_cents,
        payment_account_id,
    };
    let (is_offered, amount) = offered_deposit(charges);
    if is_offered {
        choices.push(plain(DepositOption::Deposit, amount));
    }
    if charges.is_damage_waiver_waivable {
        choices.push(plain(DepositOption::None, Some(0)));
    }
    choices
}

/// Returns whether the step offers a deposit, and the amount of the deposit. The amount of an
/// offered deposit can be unknown.
fn offered_deposit(charges: &Charges) -> (bool, Option<u64>) {
    if charges.is_security_deposit_enabled {
        return (true, charges.security_deposit_amount_cents);
    }
    let amount = charges
        .damage_waiver_deposit_amount_cents
        .filter(|_| charges.is_damage_waiver_enabled);
    (amount.is_some(), amount)
}

fn waiver(
    charges: &Charges,
    accounts: &PaymentAccounts<'_>,
    id: Uuid,
    data: &Object,
) -> DepositChoice {
    let (payment_account_id, currency) =
        accounts.of(charges.damage_waiver_payment_account_id, Some(data));
    let mut choice = DepositChoice {
        choice: DepositOption::Waiver,
        damage_waiver_id: Some(id),
        name: Some(name(data)),
        amount_cents: cents(data),
        currency,
        pricing_basis: Some(charges.damage_waiver_pricing_basis),
        total_cents: None,
        payment_account_id,
    };
    choice.total_cents = choice.total(charges, 1);
    choice
}

impl DepositChoice {
    /// Returns the amount for a stay of `nights` nights; `None` if the price is unknown. A waiver
    /// costs at most the step's `damageWaiverCapCents`.
    fn total(&self, charges: &Charges, nights: i64) -> Option<u64> {
        let amount = self.amount_cents?;
        let nights = u64::try_from(nights).unwrap_or_default();
        let total = match self.pricing_basis {
            Some(PricingBasis::PerNight) => amount.saturating_mul(nights),
            Some(PricingBasis::PerStay) | None => amount,
        };
        let cap = charges
            .damage_waiver_cap_cents
            .filter(|_| self.choice == DepositOption::Waiver);
        Some(cap.map_or(total, |cap| total.min(cap)))
    }
}

/// Returns the choices for a stay of `nights` nights, with their totals. A stay that is too short
/// gets no waivers.
#[must_use]
pub fn choices_for(step: &Step, choices: &[DepositChoice], nights: i64) -> Vec<DepositChoice> {
    let charges = &step.charges;
    let is_long_enough = nights >= i64::from(charges.damage_waiver_min_los);
    choices
        .iter()
        .filter(|choice| is_long_enough || choice.choice != DepositOption::Waiver)
        .map(|choice| DepositChoice {
            total_cents: choice.total(charges, nights),
            ..choice.clone()
        })
        .collect()
}

/// Returns the sum of the fees. Returns `None` if an amount is unknown or if the fees have
/// different currencies.
#[must_use]
pub fn total_of(fees: &[Fee]) -> Option<u64> {
    let is_mixed = fees
        .windows(2)
        .any(|pair| pair[0].currency != pair[1].currency);
    if is_mixed {
        return None;
    }
    fees.iter().try_fold(0_u64, |sum, fee| {
        fee.total_cents.map(|cents| sum.saturating_add(cents))
    })
}

fn fees(step: &Step, accounts: &PaymentAccounts<'_>, products: &HashMap<Uuid, Object>) -> Vec<Fee> {
    let fee = |id: &Uuid| {
        let data = products.get(id)?;
        let (payment_account_id, currency) =
            accounts.of(step.write_only.fees_payment_account_id, Some(data));
        Some(Fee {
            fee_product_id: *id,
            name: name(data),
            amount_cents: cents(data),
            currency,
            total_cents: cents(data),
            payment_account_id,
        })
    };
    step.fee_product_ids.iter().filter_map(fee).collect()
}

fn name(data: &Object) -> String {
    data.get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Returns the amount of a record: `amountCents`, or else `priceCents`; `None` if neither is a
/// whole number of at least 0.
fn cents(data: &Object) -> Option<u64> {
    ["amountCents", "priceCents"]
        .into_iter()
        .find_map(|field| data.get(field)?.as_u64())
}

fn currency_in(data: &Object) -> Option<String> {
    currency::code(data.get("currency")?.as_str()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::step_type::StepType;
    use super::*;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn data(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    fn step(step_type: StepType) -> Step {
        Step {
            is_active: true,
            step_type,
            ..Step::default()
        }
    }

    fn account(number: u128, is_active: bool, is_default: bool, more: Value) -> (Uuid, Object) {
        let mut account =
            json!({ "name": "Account", "isActive": is_active, "isDefault": is_default });
        account
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        (id(number), data(account))
    }

    fn accounts(payment: &[(Uuid, Object)]) -> PaymentAccounts<'_> {
        PaymentAccounts {
            payment,
            currency: "CHF".into(),
        }
    }

    #[test]
    fn prices_are_read_only_from_unambiguous_fields() {
        let mut step = step(StepType::MandatoryFee);
        step.fee_product_ids = (1..=6).map(id).collect();
        let products = [
            (
                1,
                json!({ "name": "Linen", "amountCents": 2_500, "currency": "EUR" }),
            ),
            (
                2,
                json!({ "name": "Pets", "priceCents": 900, "currency": "usd" }),
            ),
            (
                3,
                json!({ "name": "", "amountCents": "12", "priceCents": -1, "currency": 7 }),
            ),
            (
                4,
                json!({ "name": "Tax", "amount": 12.5, "currency": "euro" }),
            ),
            (
                6,
                json!({ "name": "Late", "amountCents": null, "priceCents": 0 }),
            ),
        ];
        let products = products
            .into_iter()
            .map(|(number, value)| (id(number), data(value)))
            .collect();
        let read: Vec<_> = fees(&step, &accounts(&[]), &products)
            .into_iter()
            .map(|fee| (fee.name, fee.amount_cents, fee.currency))
            .collect();
        let expected = [
            ("Linen", Some(2_500), "EUR"),
            ("Pets", Some(900), "USD"),
            ("", None, "CHF"),
            ("Tax", None, "CHF"),
            ("Late", Some(0), "CHF"),
        ];
        let expected =
            expected.map(|(name, amount, code)| (name.to_owned(), amount, code.to_owned()));
        assert_eq!(read, expected);
    }

    #[test]
    fn the_account_is_the_named_one_else_the_active_default_one() {
        let record = data(json!({ "currency": "gbp" }));
        let active = account(1, true, true, json!({ "currency": "EUR" }));
        let plain = account(2, true, false, json!({}));
        let idle = account(3, false, false, json!({ "currency": "USD" }));
        let idle_default = account(4, false, true, json!({ "currency": "USD" }));
        let all = [idle_default, active, plain, idle];
        // Each row has the payment account that a step names, the payment account that is charged,
        // and the currency of the charge in two cases: for an item whose record has a currency, and
        // for an item without a record.
        for (named, charged, with_record, without) in [
            (None, Some(id(1)), "EUR", "EUR"),
            (Some(id(1)), Some(id(1)), "EUR", "EUR"),
            (Some(id(2)), Some(id(2)), "GBP", "CHF"),
            (Some(id(3)), None, "GBP", "CHF"),
            (Some(id(9)), None, "GBP", "CHF"),
        ] {
            let accounts = accounts(&all);
            assert_eq!(
                accounts.of(named, Some(&record)),
                (charged, with_record.into())
            );
            assert_eq!(accounts.of(named, None), (charged, without.into()));
        }
        assert_eq!(accounts(&all[..1]).of(None, None), (None, "CHF".into()));
    }

    #[test]
    fn a_waiver_is_offered_if_chargeable_and_the_stay_is_long_enough() {
        let payment = [
            account(1, true, true, json!({ "currency": "EUR" })),
            account(2, false, false, json!({ "currency": "USD" })),
        ];
        let waivers = [(id(7), data(json!({ "name": "Gold", "priceCents": 1_200 })))];
        // Inputs: whether the waiver is enabled, its account, its minimum number of nights, the
        // number of nights of the stay. Result: whether the waiver is offered.
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
            let offered = choices_for(
                &step,
                &choices(&step, &accounts(&payment), &waivers),
                nights,
            );
            assert_eq!(
                !offered.is_empty(),
                is_offered,
                "{is_enabled} {account:?} {least} {nights}"
            );
        }
    }

    #[test]
    fn the_deposit_amount_is_that_of_the_enabled_option() {
        let payment = [
            account(1, true, true, json!({ "currency": "EUR" })),
            account(2, true, false, json!({ "currency": "USD" })),
        ];
        // Inputs: whether the security deposit is enabled, its amount, whether waivers are enabled,
        // the amount of the deposit that is offered beside waivers. Result: the offered amounts.
        for (is_on, amount, has_waivers, with_waivers, offered) in [
            (false, Some(300), false, Some(100), vec![]),
            (true, Some(300), false, Some(100), vec![Some(300)]),
            (true, Some(300), true, Some(100), vec![Some(300)]),
            (true, None, true, Some(100), vec![None]),
            (false, Some(300), true, Some(100), vec![Some(100)]),
            (false, Some(300), true, None, vec![]),
        ] {
            let mut step = step(StepType::DamageDeposit);
            step.charges.is_security_deposit_enabled = is_on;
            step.charges.security_deposit_amount_cents = amount;
            step.charges.is_damage_waiver_enabled = has_waivers;
            step.charges.damage_waiver_deposit_amount_cents = with_waivers;
            step.charges.damage_waiver_payment_account_id = Some(id(1));
            step.charges.security_deposit_payment_account_id = Some(id(2));
            let choices = choices(&step, &accounts(&payment), &[]);
            let read: Vec<_> = choices.iter().map(|choice| choice.amount_cents).collect();
            assert_eq!(read, offered, "{is_on} {has_waivers}");
            // Even if waivers are enabled, the deposit is charged on the account for deposits, not
            // on the account for waivers.
            for choice in choices {
                assert_eq!(
                    (choice.payment_account_id, choice.currency.as_str()),
                    (Some(id(2)), "USD")
                );
            }
        }
        let mut step = step(StepType::DamageDeposit);
        step.charges.is_damage_waiver_waivable = true;
        let none = choices(&step, &accounts(&payment), &[]);
        let [none] = none.as_slice() else {
            panic!("{none:?}")
        };
        assert_eq!(
            (none.choice, none.amount_cents, none.total_cents),
            (DepositOption::None, Some(0), Some(0))
        );
    }

    #[test]
    fn fees_have_a_total_where_they_have_one_currency() {
        let fee = |amount: Option<u64>, currency: &str| Fee {
            fee_product_id: id(1),
            name: String::new(),
            amount_cents: amount,
            currency: currency.into(),
            total_cents: amount,
            payment_account_id: None,
        };
        for (fees, total) in [
            (vec![], Some(0)),
            (vec![fee(Some(5), "EUR"), fee(Some(7), "EUR")], Some(12)),
            (vec![fee(Some(5), "EUR"), fee(Some(7), "USD")], None),
            (vec![fee(Some(5), "EUR"), fee(None, "EUR")], None),
            (
                vec![fee(Some(u64::MAX), "EUR"), fee(Some(7), "EUR")],
                Some(u64::MAX),
            ),
        ] {
            assert_eq!(total_of(&fees), total, "{fees:?}");
        }
    }

    proptest! {
        /// A price per night is charged for each night, and the cap limits the total of a stay.
        #[test]
        fn a_waiver_costs_its_price_up_to_the_cap(
            price in 0..100_000_u64,
            nights in 1..400_i64,
            cap in prop::option::of(0..1_000_000_u64),
            is_per_night: bool,
        ) {
            let mut step = step(StepType::DamageDeposit);
            step.charges.is_damage_waiver_enabled = true;
            step.charges.damage_waiver_cap_cents = cap;
            if !is_per_night {
                step.charges.damage_waiver_pricing_basis = PricingBasis::PerStay;
            }
            let payment = [account(1, true, true, json!({}))];
            let waivers = [(
                id(7),
                data(json!({ "name": "Gold", "amountCents": price, "currency": "EUR" })),
            )];
            let offered = choices_for(
                &step,
                &choices(&step, &accounts(&payment), &waivers),
                nights,
            );
            let whole = if is_per_night {
                price * u64::try_from(nights).unwrap()
            } else {
                price
            };
            prop_assert_eq!(
                offered[0].total_cents,
                Some(cap.map_or(whole, |cap| cap.min(whole)))
            );
            prop_assert_eq!(
                (offered[0].amount_cents, offered[0].currency.as_str()),
                (Some(price), "EUR")
            );
        }
    }
}
