//! A damage deposit, or a waiver in its place.

use engine::operation::Object;
use serde_json::Value;
use uuid::Uuid;

use super::Found;

/// Whether the choice is made. What was saved without any choice confirms the step, as it does other steps.
pub(super) fn is_chosen(answers: &Object) -> bool {
    match answers.get("choice") {
        Some(Value::String(choice)) if choice == "waiver" => waiver(answers).is_some(),
        _ => true,
    }
}

/// The waiver that is named.
fn waiver(answers: &Object) -> Option<Uuid> {
    answers.get("damageWaiverId")?.as_str()?.parse().ok()
}

/// Notes what is wrong with the choice; `offered` are the waivers there are to choose from. Which waiver it is to be can
/// follow, where there is any.
pub(super) fn judge(answers: &Object, offered: &[Uuid], found: &mut Found) {
    match answers.get("choice") {
        None => {}
        Some(Value::String(choice)) if choice == "deposit" => {}
        Some(Value::String(choice)) if choice == "waiver" => match answers.get("damageWaiverId") {
            None | Some(Value::Null) if offered.is_empty() => found.add(&["choice"], "the step offers no damage waiver"),
            None | Some(Value::Null) => {}
            Some(Value::String(_)) if waiver(answers).is_some_and(|id| offered.contains(&id)) => {}
            Some(Value::String(_)) => found.add(&["damageWaiverId"], "is not a damage waiver that the step offers"),
            Some(_) => found.add(&["damageWaiverId"], "must be of type string"),
        },
        Some(_) => found.add(&["choice"], r#"must be one of ["deposit","waiver"]"#),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_choice_is_the_deposit_or_a_waiver_that_is_offered() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let waiver = |id: Value| json!({ "choice": "waiver", "damageWaiverId": id });
        // Answers, what is offered → the field at fault, whether the step is complete once they are saved.
        for (answers, offered, at_fault, is_complete) in [
            (json!({}), &[][..], None, true),
            (json!({ "isConfirmed": true, "damageWaiverId": 7 }), &[], None, true),
            (json!({ "choice": "deposit" }), &[], None, true),
            (json!({ "choice": "deposit", "damageWaiverId": other }), &[one], None, true),
            (waiver(json!(one)), &[one, other], None, true),
            (json!({ "choice": "waiver" }), &[one], None, false),
            (waiver(Value::Null), &[one], None, false),
            (json!({ "choice": "waiver" }), &[], Some("choice"), false),
            (waiver(json!(other)), &[one], Some("damageWaiverId"), true),
            (waiver(json!(one)), &[], Some("damageWaiverId"), true),
            (waiver(json!("gold")), &[one], Some("damageWaiverId"), false),
            (waiver(json!([one])), &[one], Some("damageWaiverId"), false),
            (json!({ "choice": "none" }), &[one], Some("choice"), true),
            (json!({ "choice": null }), &[one], Some("choice"), true),
            (json!({ "choice": ["deposit"] }), &[one], Some("choice"), true),
        ] {
            let mut found = Found::default();
            judge(answers.as_object().unwrap(), offered, &mut found);
            let paths: Vec<Value> = found.0.iter().map(|issue| json!(issue.path)).collect();
            assert_eq!(paths, at_fault.map(|field| json!([field])).into_iter().collect::<Vec<_>>(), "{answers} {offered:?}");
            assert_eq!(is_chosen(answers.as_object().unwrap()), is_complete, "{answers}");
        }
    }
}
