//! Finds active steps without the account that they need, such as a deposit step whose payment
//! account is inactive (rules: steps#deposit, 4 and 5).

use std::collections::HashMap;

use engine::operation::Object;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::step::Step;
use super::step_type::{ActivationNeed, CostKind};

/// Configuration that an active step lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfigurationIssue {
    /// The payment account that the step charges is missing or inactive.
    MissingPaymentAccount,
    /// There is no active account at the background-check provider. In the interface,
    /// `authenticate` is the name of the background check.
    MissingAuthenticateAccount,
}

/// An organization's accounts at payment providers and at providers of background checks. Steps
/// charge guests or check their backgrounds through these accounts.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// For each payment account, by id: whether the account is active.
    pub payment: HashMap<Uuid, bool>,
    /// Whether there is an active default payment account.
    pub has_active_default: bool,
    /// For each background-check account, by id: whether the account is active.
    pub background_check: HashMap<Uuid, bool>,
}

impl Accounts {
    /// Returns whether the payment account with the id `own` is active. Without an id, returns
    /// whether there is an active default payment account.
    fn can_charge(&self, own: Option<Uuid>) -> bool {
        own.map_or(self.has_active_default, |id| {
            self.payment.get(&id) == Some(&true)
        })
    }
}

/// Reads the accounts of an organization from the records of payment accounts and background-check
/// accounts.
#[must_use]
pub fn accounts_of(payment: &[(Uuid, Object)], background_check: &[(Uuid, Object)]) -> Accounts {
    let is_true = |data: &Object, field: &str| data.get(field) == Some(&true.into());
    Accounts {
        payment: payment
            .iter()
            .map(|(id, data)| (*id, is_true(data, "isActive")))
            .collect(),
        has_active_default: payment
            .iter()
            .any(|(_, data)| is_true(data, "isActive") && is_true(data, "isDefault")),
        background_check: background_check
            .iter()
            .map(|(id, data)| (*id, data.get("isActive") != Some(&false.into())))
            .collect(),
    }
}

/// Returns the account that an active step lacks for payments or for background checks. Returns
/// `None` for an inactive step, and for a step that lacks no account.
#[must_use]
pub fn configuration_issue(step: &Step, accounts: &Accounts) -> Option<ConfigurationIssue> {
    if !step.is_active {
        return None;
    }
    match step.step_type.activation_need() {
        ActivationNeed::PaymentAccount => (!can_charge_deposit(step, accounts))
            .then_some(ConfigurationIssue::MissingPaymentAccount),
        ActivationNeed::BackgroundCheckAccount => {
            let own = step.write_only.background_check_account_id;
            let is_active = own.is_some_and(|id| accounts.background_check.get(&id) == Some(&true));
            (!is_active).then_some(ConfigurationIssue::MissingAuthenticateAccount)
        }
        ActivationNeed::Nothing
        | ActivationNeed::ContractText
        | ActivationNeed::Questions
        | ActivationNeed::FeeProducts => None,
    }
}

/// Returns whether a deposit step can charge guests. The step can name a payment account for the
/// damage waiver and one for the deposit. If it names none for one of them, the organization's
/// default account applies. The account for each charge that the step offers must be active. If
/// the step offers no charge, all accounts that it names must be active, or the default account if
/// it names none.
fn can_charge_deposit(step: &Step, accounts: &Accounts) -> bool {
    let charges = &step.charges;
    let (waiver, deposit) = (
        charges.damage_waiver_payment_account_id,
        charges.security_deposit_payment_account_id,
    );
    match (
        charges.is_damage_waiver_enabled,
        charges.is_security_deposit_enabled,
    ) {
        (true, true) => accounts.can_charge(waiver) && accounts.can_charge(deposit),
        (true, false) => accounts.can_charge(waiver),
        (false, true) => accounts.can_charge(deposit),
        (false, false) => match (waiver, deposit) {
            (None, None) => accounts.has_active_default,
            (waiver, deposit) => [waiver, deposit]
                .into_iter()
                .flatten()
                .all(|id| accounts.can_charge(Some(id))),
        },
    }
}

/// Returns whether the step is an active deposit step whose damage waiver can be charged.
#[must_use]
pub fn has_usable_damage_waiver(step: &Step, accounts: &Accounts) -> bool {
    let charges = &step.charges;
    step.is_active
        && step.step_type.cost_kind() == CostKind::Deposit
        && charges.is_damage_waiver_enabled
        && accounts.can_charge(charges.damage_waiver_payment_account_id)
}

#[cfg(test)]
mod tests {
    use super::super::step_type::StepType;
    use super::*;
    use engine::moment::Moment;

    const ACTIVE: Uuid = Uuid::from_u128(1);
    const INACTIVE: Uuid = Uuid::from_u128(2);

    fn accounts(has_active_default: bool) -> Accounts {
        let both = HashMap::from([(ACTIVE, true), (INACTIVE, false)]);
        Accounts {
            payment: both.clone(),
            has_active_default,
            background_check: both,
        }
    }

    fn step(step_type: StepType) -> Step {
        let now = Moment("2026-11-21T09:30:00Z".parse().unwrap());
        Step {
            is_active: true,
            ..Step::new(Uuid::nil(), step_type, "Step".into(), now)
        }
    }

    #[test]
    fn a_deposit_needs_its_own_account_or_the_default() {
        use ConfigurationIssue::MissingPaymentAccount;
        // Each row has inputs and results. The inputs are: whether the waiver is enabled, the
        // waiver's account, whether the deposit is enabled, the deposit's account, and whether
        // there is an active default account. The results are: whether an account is missing, and
        // whether the waiver is usable.
        let table = [
            ((false, None, false, None, true), (false, false)),
            ((false, None, false, None, false), (true, false)),
            ((false, None, false, Some(ACTIVE), false), (false, false)),
            ((false, None, false, Some(INACTIVE), true), (true, false)),
            ((false, None, true, None, false), (true, false)),
            ((false, None, true, Some(ACTIVE), false), (false, false)),
            ((false, None, true, Some(INACTIVE), true), (true, false)),
            ((true, None, false, Some(INACTIVE), true), (false, true)),
            ((true, Some(ACTIVE), true, None, false), (true, true)),
            ((true, Some(INACTIVE), true, None, true), (true, false)),
            (
                (true, Some(Uuid::from_u128(3)), false, None, true),
                (true, false),
            ),
        ];
        for (input, (is_missing, is_usable)) in table {
            let (waiver, waiver_account, deposit, deposit_account, default) = input;
            let mut step = step(StepType::DamageDeposit);
            step.charges.is_damage_waiver_enabled = waiver;
            step.charges.damage_waiver_payment_account_id = waiver_account;
            step.charges.is_security_deposit_enabled = deposit;
            step.charges.security_deposit_payment_account_id = deposit_account;
            assert_eq!(
                configuration_issue(&step, &accounts(default)),
                is_missing.then_some(MissingPaymentAccount),
                "{input:?}"
            );
            assert_eq!(
                has_usable_damage_waiver(&step, &accounts(default)),
                is_usable,
                "{input:?}"
            );
            step.is_active = false;
            assert_eq!(configuration_issue(&step, &accounts(default)), None);
            assert!(!has_usable_damage_waiver(&step, &accounts(default)));
        }
    }

    #[test]
    fn a_background_check_needs_its_own_active_account() {
        for (account, is_missing) in [(Some(ACTIVE), false), (Some(INACTIVE), true), (None, true)] {
            let mut step = step(StepType::BackgroundCheck);
            step.write_only.background_check_account_id = account;
            let expected = is_missing.then_some(ConfigurationIssue::MissingAuthenticateAccount);
            assert_eq!(
                configuration_issue(&step, &accounts(false)),
                expected,
                "{account:?}"
            );
        }
        assert_eq!(
            configuration_issue(&step(StepType::Agreement), &accounts(false)),
            None
        );
    }
}
