//! An agreement: accepted, and signed with a name where that is asked.

use engine::operation::Object;
use serde_json::Value;

use super::Found;

/// Characters in a name that signs at the most.
const NAME_LENGTH: usize = 200;

/// Whether the guest accepts.
#[must_use]
pub fn is_accepted(answers: &Object) -> bool {
    answers.get("isAccepted") == Some(&Value::Bool(true))
}

/// Whether that is all it takes.
pub(super) fn is_given(answers: &Object, is_signature_required: bool) -> bool {
    let is_signed = || answers.get("signedName").and_then(Value::as_str).is_some_and(|name| !name.trim().is_empty());
    is_accepted(answers) && (!is_signature_required || is_signed())
}

/// Notes what is wrong with it. A name that is blank is one that is missing yet.
pub(super) fn judge(answers: &Object, found: &mut Found) {
    if answers.get("isAccepted").is_some_and(|accepted| !accepted.is_boolean()) {
        found.add(&["isAccepted"], "must be of type boolean");
    }
    match answers.get("signedName") {
        None | Some(Value::Null) => {}
        Some(Value::String(name)) if name.chars().count() <= NAME_LENGTH => {}
        Some(Value::String(_)) => found.add(&["signedName"], "must have at most 200 characters"),
        Some(_) => found.add(&["signedName"], "must be of type string"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_that_signs_is_a_text_of_200_characters_at_the_most() {
        let at_fault = |answers: Value| {
            let mut found = Found::default();
            judge(answers.as_object().unwrap(), &mut found);
            found.0.into_iter().map(|issue| json!(issue.path)).collect::<Vec<_>>()
        };
        for fine in [json!(null), json!(""), json!("Ada L"), json!("é".repeat(200))] {
            assert!(at_fault(json!({ "isAccepted": true, "signedName": fine })).is_empty(), "{fine}");
        }
        for wrong in [json!(1), json!(["Ada"]), json!({ "name": "Ada" }), json!("é".repeat(201))] {
            assert_eq!(at_fault(json!({ "signedName": wrong })), [json!(["signedName"])], "{wrong}");
        }
        assert_eq!(at_fault(json!({ "isAccepted": "yes", "signedName": 1 })), [json!(["isAccepted"]), json!(["signedName"])]);
    }
}
