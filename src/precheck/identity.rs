//! What each identity check leads to (spec: Identity check policy; contract: `identityFlagPolicy`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a flagged check leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlagAction {
    /// Nothing.
    Ignore,
    /// Sends the guest straight to the team.
    Review,
    /// Lets the guest retake once before it goes to the team.
    Fail,
}

use FlagAction::{Fail, Ignore, Review};

/// How much of a check's action an organization decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// Any action.
    Free,
    /// The default alone.
    Fixed,
    /// Any action, but `fail` behaves as `review`.
    NoRetake,
}

use Choice::{Fixed, Free, NoRetake};

/// Each check, what it leads to by default, what an organization may make of it, and what it finds.
const CHECKS: [(&str, FlagAction, Choice, &str); 13] = [
    ("document_not_official", Fail, Fixed, "The document is no official identity document."),
    ("document_expired", Review, Free, "The document has expired."),
    ("document_unreadable", Review, Free, "The document cannot be read."),
    ("no_face_on_document", Review, Free, "The document has no photo of its holder."),
    ("face_mismatch", Review, Free, "The guest's face is not the one on the document."),
    ("selfie_spoof", Fail, Fixed, "The guest's picture of themselves is not a live one."),
    ("name_mismatch", Review, Free, "The name on the document is not the guest's on the reservation."),
    ("name_unavailable", Review, Fixed, "There is no name to compare with the document's."),
    ("name_unconfirmed", Review, Fixed, "Whether the names are the same could not be made sure of."),
    ("guest_is_local", Ignore, NoRetake, "The guest lives where the property is."),
    ("guest_underage", Ignore, NoRetake, "The guest is younger than `minimumGuestAge`, which must be set unless this is `ignore`."),
    ("retake_limit", Review, Fixed, "The guest has retaken as often as they may."),
    ("verification_unavailable", Fail, Fixed, "The identity could not be verified at all."),
];

/// The check that needs an age.
const UNDERAGE: &str = "guest_underage";

/// The overrides of an organization, by check. A check that is not named keeps its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdentityFlagPolicy(BTreeMap<String, FlagAction>);

impl JsonSchema for IdentityFlagPolicy {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "IdentityFlagPolicy".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let check = |(name, default, choice, finding): (&str, FlagAction, Choice, &str)| {
            let allowed = if choice == Fixed { vec![default] } else { vec![Ignore, Review, Fail] };
            let bound = match choice {
                Free => "",
                Fixed => " Only its default is accepted.",
                NoRetake => " `fail` behaves as `review`.",
            };
            (name.to_owned(), json!({ "type": "string", "enum": allowed, "default": default, "description": format!("{finding}{bound}") }))
        };
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": false,
            "properties": CHECKS.into_iter().map(check).collect::<serde_json::Map<String, Value>>(),
        })
    }
}

/// What every check leads to under a policy, `fail` written as what it behaves as.
#[must_use]
pub fn actions(policy: Option<&IdentityFlagPolicy>) -> BTreeMap<&'static str, FlagAction> {
    let action = |(name, default, choice, _): (&'static str, FlagAction, Choice, &str)| {
        let chosen = policy.and_then(|policy| policy.0.get(name)).copied().unwrap_or(default);
        (name, if choice == NoRetake && chosen == Fail { Review } else { chosen })
    };
    CHECKS.into_iter().map(action).collect()
}

/// Whether a policy needs `minimumGuestAge` to be set.
#[must_use]
pub fn needs_minimum_age(policy: Option<&IdentityFlagPolicy>) -> bool {
    actions(policy).get(UNDERAGE).is_some_and(|action| *action != Ignore)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy() -> impl Strategy<Value = IdentityFlagPolicy> {
        let names: Vec<&str> = CHECKS.iter().map(|(name, ..)| *name).collect();
        let action = prop_oneof![Just(Ignore), Just(Review), Just(Fail)];
        prop::collection::btree_map(prop::sample::select(names).prop_map(str::to_owned), action, 0..13).prop_map(IdentityFlagPolicy)
    }

    fn admits(policy: &IdentityFlagPolicy) -> bool {
        let schema = IdentityFlagPolicy::json_schema(&mut engine::operation::inline_generator()).to_value();
        jsonschema::is_valid(&schema, &serde_json::to_value(policy).unwrap())
    }

    proptest! {
        /// Against the spec's paragraph, sentence by sentence.
        #[test]
        fn agrees_with_the_paragraph(policy in policy()) {
            let six = ["document_not_official", "selfie_spoof", "verification_unavailable", "name_unavailable", "name_unconfirmed", "retake_limit"];
            let default_of_six = |name: &str| if six[..3].contains(&name) { Fail } else { Review };
            let keeps_the_six = policy.0.iter().all(|(name, action)| !six.contains(&name.as_str()) || *action == default_of_six(name));
            prop_assert_eq!(admits(&policy), keeps_the_six);
            for (name, action) in actions(Some(&policy)) {
                let is_one_of_two = matches!(name, "guest_is_local" | "guest_underage");
                let expected = match policy.0.get(name) {
                    Some(Fail) if is_one_of_two => Review,
                    Some(chosen) => *chosen,
                    None if six.contains(&name) => default_of_six(name),
                    None if is_one_of_two => Ignore,
                    None => Review,
                };
                prop_assert_eq!(action, expected, "{}", name);
            }
            prop_assert_eq!(needs_minimum_age(Some(&policy)), policy.0.get("guest_underage").is_some_and(|action| *action != Ignore));
        }
    }

    #[test]
    fn without_a_policy_every_check_has_its_default() {
        assert_eq!(actions(None).len(), 13);
        assert_eq!(actions(None), actions(Some(&IdentityFlagPolicy::default())));
        assert!(!needs_minimum_age(None));
    }
}
