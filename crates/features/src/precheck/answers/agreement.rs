//! The guest's answers to an agreement: the acceptance, and the signed name if the step requires
//! one.

use engine::operation::Object;
use serde_json::Value;

use super::FoundIssues;

/// Maximum length of the signed name, in characters.
const NAME_LENGTH: usize = 200;

/// Returns whether the answers contain `isAccepted: true`.
#[must_use]
pub fn is_accepted(answers: &Object) -> bool {
    answers.get("isAccepted") == Some(&Value::Bool(true))
}

/// Returns whether the guest accepts the agreement and, if the step requires a signature, also
/// signs it.
pub(super) fn is_accepted_and_signed(answers: &Object, is_signature_required: bool) -> bool {
    let is_signed = || {
        answers
            .get("signedName")
            .and_then(Value::as_str)
            .is_some_and(|name| !engine::typed::is_blank(name))
    };
    is_accepted(answers) && (!is_signature_required || is_signed())
}

/// Adds an issue for each invalid field, and for each field that an agreement does not have. An
/// example is the time of acceptance, which only the service records. A blank name is treated as a
/// missing name.
pub(super) fn validate_agreement(answers: &Object, issues: &mut FoundIssues) {
    validate_consent(answers, &["signedName"], issues);
    match answers.get("signedName") {
        None | Some(Value::Null) => {}
        Some(Value::String(name)) if name.chars().count() <= NAME_LENGTH => {}
        Some(Value::String(_)) => issues.add(&["signedName"], "must have at most 200 characters"),
        Some(_) => issues.add(&["signedName"], "must be of type string"),
    }
}

/// Adds an issue if `isAccepted` is not a boolean, and for each field that is neither `isAccepted`
/// nor in `other_fields`.
pub(super) fn validate_consent(answers: &Object, other_fields: &[&str], issues: &mut FoundIssues) {
    if answers
        .get("isAccepted")
        .is_some_and(|accepted| !accepted.is_boolean())
    {
        issues.add(&["isAccepted"], "must be of type boolean");
    }
    for name in answers.keys() {
        if name != "isAccepted" && !other_fields.contains(&name.as_str()) {
            issues.add(&[name.as_str()], "unrecognized field");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_signed_name_has_at_most_200_characters() {
        let at_fault = |answers: Value| {
            let mut issues = FoundIssues::default();
            validate_agreement(answers.as_object().unwrap(), &mut issues);
            issues
                .0
                .into_iter()
                .map(|issue| json!(issue.path))
                .collect::<Vec<_>>()
        };
        for fine in [
            json!(null),
            json!(""),
            json!("Ada L"),
            json!("é".repeat(200)),
        ] {
            assert!(
                at_fault(json!({ "isAccepted": true, "signedName": fine })).is_empty(),
                "{fine}"
            );
        }
        for wrong in [
            json!(1),
            json!(["Ada"]),
            json!({ "name": "Ada" }),
            json!("é".repeat(201)),
        ] {
            assert_eq!(
                at_fault(json!({ "signedName": wrong })),
                [json!(["signedName"])],
                "{wrong}"
            );
        }
        assert_eq!(
            at_fault(json!({ "isAccepted": "yes", "signedName": 1 })),
            [json!(["isAccepted"]), json!(["signedName"])]
        );
        let forged = json!({ "isAccepted": true, "acceptedAt": "2000-01-01", "textSha256": "00" });
        assert_eq!(
            at_fault(forged),
            [json!(["acceptedAt"]), json!(["textSha256"])]
        );
    }
}
