//! The guest's choice between a damage deposit, a damage waiver and neither.

use engine::operation::Object;
use serde_json::Value;
use uuid::Uuid;

use super::FoundIssues;
use crate::precheck::costs::{DepositChoice, DepositOption};

/// Returns whether the answers complete the step. Answers without a `choice` complete it, because a
/// guest only confirms a step that offers no choice. The choice itself is checked when the guest
/// sends it.
pub(super) fn is_deposit_answered(answers: &Object) -> bool {
    !answers.contains_key("choice") || deposit_choice(answers).is_some()
}

/// Returns the option that the answers choose, and the id of the waiver if the guest takes a
/// waiver. Returns `None` if the answers contain no known option, or the option `waiver` without a
/// valid id.
#[must_use]
pub fn deposit_choice(answers: &Object) -> Option<(DepositOption, Option<Uuid>)> {
    match answers.get("choice")?.as_str()? {
        "deposit" => Some((DepositOption::Deposit, None)),
        "none" => Some((DepositOption::None, None)),
        "waiver" => waiver(answers).map(|id| (DepositOption::Waiver, Some(id))),
        _ => None,
    }
}

/// Returns the offered choice that the guest's answers name; `None` if the step does not offer the
/// choice in the answers.
#[must_use]
pub fn chosen_deposit<'c>(
    answers: &Object,
    offered: &'c [DepositChoice],
) -> Option<&'c DepositChoice> {
    let (option, waiver) = deposit_choice(answers)?;
    offered
        .iter()
        .find(|offer| offer.choice == option && offer.damage_waiver_id == waiver)
}

/// Returns the id of the damage waiver that the answers choose; `None` if the id is missing or is
/// not a UUID.
fn waiver(answers: &Object) -> Option<Uuid> {
    answers.get("damageWaiverId")?.as_str()?.parse().ok()
}

/// Adds an issue if the step does not offer the choice in the answers. A guest who chooses a waiver
/// may send its id later, if the step offers any waiver.
pub(super) fn validate_deposit_choice(
    answers: &Object,
    offered: &[DepositChoice],
    issues: &mut FoundIssues,
) {
    let offers = |option| offered.iter().any(|offer| offer.choice == option);
    match answers.get("choice") {
        None => {}
        Some(Value::String(choice)) if choice == "deposit" && !offers(DepositOption::Deposit) => {
            issues.add(&["choice"], "the step offers no deposit to this stay");
        }
        Some(Value::String(choice)) if choice == "none" && !offers(DepositOption::None) => {
            issues.add(
                &["choice"],
                "the step lets no guest off both deposit and waiver",
            );
        }
        Some(Value::String(choice)) if choice == "deposit" || choice == "none" => {}
        Some(Value::String(choice)) if choice == "waiver" => match answers.get("damageWaiverId") {
            None | Some(Value::Null) if !offers(DepositOption::Waiver) => {
                issues.add(&["choice"], "the step offers no damage waiver to this stay");
            }
            None | Some(Value::Null) => {}
            Some(Value::String(_)) if chosen_deposit(answers, offered).is_some() => {}
            Some(Value::String(_)) => issues.add(
                &["damageWaiverId"],
                "is not a damage waiver that the step offers",
            ),
            Some(_) => issues.add(&["damageWaiverId"], "must be of type string"),
        },
        Some(_) => issues.add(&["choice"], r#"must be one of ["deposit","waiver","none"]"#),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn offer(choice: DepositOption, damage_waiver_id: Option<Uuid>) -> DepositChoice {
        DepositChoice {
            choice,
            damage_waiver_id,
            name: None,
            amount_cents: None,
            currency: "EUR".into(),
            pricing_basis: None,
            total_cents: None,
            payment_account_id: None,
        }
    }

    #[test]
    fn a_choice_is_one_that_is_offered() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let deposit = offer(DepositOption::Deposit, None);
        let none = offer(DepositOption::None, None);
        let [first, second] = [one, other].map(|id| offer(DepositOption::Waiver, Some(id)));
        let waiver = |id: Value| json!({ "choice": "waiver", "damageWaiverId": id });
        // Inputs: the answers, the offered choices. Results: the field with an issue, and whether
        // the answers complete the step.
        for (answers, offered, at_fault, is_complete) in [
            (json!({}), vec![], None, true),
            (
                json!({ "isConfirmed": true, "damageWaiverId": 7 }),
                vec![],
                None,
                true,
            ),
            (json!({ "choice": "deposit" }), vec![&deposit], None, true),
            (
                json!({ "choice": "deposit" }),
                vec![&first, &none],
                Some("choice"),
                true,
            ),
            (
                json!({ "choice": "deposit", "damageWaiverId": other }),
                vec![&deposit, &first],
                None,
                true,
            ),
            (waiver(json!(one)), vec![&first, &second], None, true),
            (json!({ "choice": "waiver" }), vec![&first], None, false),
            (waiver(Value::Null), vec![&first], None, false),
            (
                json!({ "choice": "waiver" }),
                vec![&deposit],
                Some("choice"),
                false,
            ),
            (
                waiver(json!(other)),
                vec![&first],
                Some("damageWaiverId"),
                true,
            ),
            (waiver(json!(one)), vec![], Some("damageWaiverId"), true),
            (
                waiver(json!("gold")),
                vec![&first],
                Some("damageWaiverId"),
                false,
            ),
            (
                waiver(json!([one])),
                vec![&first],
                Some("damageWaiverId"),
                false,
            ),
            (json!({ "choice": "none" }), vec![&none], None, true),
            (
                json!({ "choice": "none" }),
                vec![&deposit],
                Some("choice"),
                true,
            ),
            (
                json!({ "choice": null }),
                vec![&deposit],
                Some("choice"),
                false,
            ),
            (
                json!({ "choice": ["deposit"] }),
                vec![&deposit],
                Some("choice"),
                false,
            ),
        ] {
            let offered: Vec<DepositChoice> = offered.into_iter().cloned().collect();
            let answers = answers.as_object().unwrap();
            let mut issues = FoundIssues::default();
            validate_deposit_choice(answers, &offered, &mut issues);
            let paths: Vec<Value> = issues.0.iter().map(|issue| json!(issue.path)).collect();
            let expected: Vec<Value> = at_fault.map(|field| json!([field])).into_iter().collect();
            assert_eq!(paths, expected, "{answers:?} {offered:?}");
            assert_eq!(is_deposit_answered(answers), is_complete, "{answers:?}");
            let is_made = at_fault.is_none() && deposit_choice(answers).is_some();
            assert_eq!(
                chosen_deposit(answers, &offered).is_some(),
                is_made,
                "{answers:?}"
            );
        }
    }
}
