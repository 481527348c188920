//! The consequences of identity checks (rules: steps#identity-checks). This file defines the
//! checks, an organization's policy about them, and the verdict on a provider's report.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::civil::Date;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The action that the service takes if an identity check flags a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlagAction {
    /// Takes no action.
    Ignore,
    /// Sends the guest to the team for review at once.
    Review,
    /// Lets the guest repeat the identity check once. If the check flags the guest again, flags the
    /// submission for review by staff.
    Fail,
}

use FlagAction::{Fail, Ignore, Review};

/// The actions that an organization can choose for an identity check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActionChoice {
    /// The organization can choose any action.
    Free,
    /// The organization cannot choose an action. The default action of the check always applies.
    Fixed,
    /// The organization can choose any action. The action `fail` has the effect of `review`,
    /// because a new photo cannot change the guest's age or home.
    NoRetake,
}

use ActionChoice::{Fixed, Free, NoRetake};

/// For each identity check: its name, its default action, the actions that an organization can
/// choose, and a sentence for staff about the finding.
const CHECKS: [(&str, FlagAction, ActionChoice, &str); 13] = [
    (
        "document_not_official",
        Fail,
        Fixed,
        "The document is no official identity document.",
    ),
    (
        "document_expired",
        Review,
        Free,
        "The document has expired.",
    ),
    (
        "document_unreadable",
        Review,
        Free,
        "The document cannot be read.",
    ),
    (
        "no_face_on_document",
        Review,
        Free,
        "The document has no photo of its holder.",
    ),
    (
        "face_mismatch",
        Review,
        Free,
        "The guest's face is not the one on the document.",
    ),
    (
        "selfie_spoof",
        Fail,
        Fixed,
        "The guest's picture of themselves is not a live one.",
    ),
    (
        "name_mismatch",
        Review,
        Free,
        "The name on the document is not the guest's on the reservation.",
    ),
    (
        "name_unavailable",
        Review,
        Fixed,
        "There is no name to compare with the document's.",
    ),
    (
        "name_unconfirmed",
        Review,
        Fixed,
        "Whether the names are the same could not be made sure of.",
    ),
    (
        "guest_is_local",
        Ignore,
        NoRetake,
        "The guest lives where the property is.",
    ),
    (
        "guest_underage",
        Ignore,
        NoRetake,
        "The guest is younger than `minimumGuestAge`, which must be set unless this is `ignore`.",
    ),
    (
        "retake_limit",
        Review,
        Fixed,
        "The guest has retaken as often as they may.",
    ),
    (
        "verification_unavailable",
        Fail,
        Fixed,
        "The identity could not be verified at all.",
    ),
];

/// The identity check of the guest's age. A step with this check needs a value in its field
/// `minimumGuestAge`.
pub const UNDERAGE: &str = "guest_underage";
/// The flag of a guest who repeats the identity check and fails it a second time.
pub const RETAKE_LIMIT: &str = "retake_limit";
/// The check that counts as failed if the provider reports a failed verification and names no
/// failed check.
const UNAVAILABLE: &str = "verification_unavailable";

/// The consequence of a provider's report for the identity check of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityVerdict {
    /// The report names no identity check, or only checks that the policy ignores. The step gets
    /// the status that the provider reported.
    Passed,
    /// The step is complete, but the submission is flagged. The value has the names of the identity
    /// checks that cause the flag.
    Flagged(Vec<&'static str>),
    /// The guest is asked to repeat the identity check.
    Returned,
}

/// Returns the consequence of a provider's report under an organization's policy. `checks` are the
/// names of the checks that the report lists. `has_failed`: the report states a failure.
/// `is_retaken`: the guest has already been asked to repeat the identity check.
#[must_use]
pub fn identity_verdict(
    checks: &[String],
    has_failed: bool,
    policy: Option<&IdentityFlagPolicy>,
    is_retaken: bool,
) -> IdentityVerdict {
    let is_raised = |name: &str| {
        checks.iter().any(|check| check == name)
            || (checks.is_empty() && has_failed && name == UNAVAILABLE)
    };
    let raised = || {
        let actions = identity_actions(policy);
        let raised = CHECKS.into_iter().filter(|(name, ..)| is_raised(name));
        raised.map(move |(name, ..)| (name, actions.get(name).copied().unwrap_or(Review)))
    };
    let is_failed = raised().any(|(_, action)| action == Fail);
    if is_failed && !is_retaken {
        return IdentityVerdict::Returned;
    }
    let mut flags: Vec<&str> = raised()
        .filter(|(name, action)| *action == Review && !(is_failed && *name == RETAKE_LIMIT))
        .map(|(name, _)| name)
        .collect();
    flags.extend(is_failed.then_some(RETAKE_LIMIT));
    if flags.is_empty() {
        IdentityVerdict::Passed
    } else {
        IdentityVerdict::Flagged(flags)
    }
}

/// Returns the age in years below which a guest is flagged; `None` if the policy ignores the
/// guest's age.
#[must_use]
pub fn flagged_below(policy: Option<&IdentityFlagPolicy>, minimum: Option<u32>) -> Option<u32> {
    minimum.filter(|_| needs_minimum_age(policy))
}

/// Returns the age in years that a person has on a day. In a year without 29 February, a person
/// born on that day becomes a year older on 1 March.
#[must_use]
pub fn age_on(birth: Date, day: Date) -> i32 {
    let is_before_birthday = (day.month(), day.day()) < (birth.month(), birth.day());
    i32::from(day.year()) - i32::from(birth.year()) - i32::from(is_before_birthday)
}

/// Returns the sentence for staff about an identity check that flagged a guest; `None` for an
/// unknown name of a check.
#[must_use]
pub fn finding(check: &str) -> Option<&'static str> {
    let (.., finding) = CHECKS.into_iter().find(|(name, ..)| *name == check)?;
    Some(if check == UNDERAGE {
        "A guest is younger than the minimum age on the day of check-in."
    } else {
        finding
    })
}

/// Returns the JSON Schema of a value that is null or a list of names of identity checks.
#[must_use]
pub fn check_list(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = CHECKS.into_iter().map(|(name, ..)| name).collect();
    schemars::json_schema!({
        "type": ["array", "null"],
        "maxItems": 50,
        "items": { "type": "string", "enum": names },
    })
}

/// The actions that an organization has chosen, by the name of the identity check. A check without
/// an entry has its default action.
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
        let check = |(name, default, choice, finding): (&str, FlagAction, ActionChoice, &str)| {
            let allowed = if choice == Fixed {
                vec![default]
            } else {
                vec![Ignore, Review, Fail]
            };
            let bound = match choice {
                Free => "",
                Fixed => " Only its default is accepted.",
                NoRetake => " `fail` behaves as `review`.",
            };
            (
                name.to_owned(),
                json!({
                    "type": "string",
                    "enum": allowed,
                    "default": default,
                    "description": format!("{finding}{bound}"),
                }),
            )
        };
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": false,
            "properties": CHECKS.into_iter().map(check).collect::<serde_json::Map<String, Value>>(),
        })
    }
}

/// Returns the effective action of every identity check under a policy. For a check with
/// [`ActionChoice::NoRetake`], `fail` becomes `review`.
#[must_use]
pub fn identity_actions(policy: Option<&IdentityFlagPolicy>) -> BTreeMap<&'static str, FlagAction> {
    let action = |(name, default, choice, _): (&'static str, FlagAction, ActionChoice, &str)| {
        let chosen = policy
            .and_then(|policy| policy.0.get(name))
            .copied()
            .unwrap_or(default);
        (
            name,
            if choice == NoRetake && chosen == Fail {
                Review
            } else {
                chosen
            },
        )
    };
    CHECKS.into_iter().map(action).collect()
}

/// Returns whether a policy has an action for guests who are too young, so that `minimumGuestAge`
/// must be set.
#[must_use]
pub fn needs_minimum_age(policy: Option<&IdentityFlagPolicy>) -> bool {
    identity_actions(policy)
        .get(UNDERAGE)
        .is_some_and(|action| *action != Ignore)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy() -> impl Strategy<Value = IdentityFlagPolicy> {
        let names: Vec<&str> = CHECKS.iter().map(|(name, ..)| *name).collect();
        let action = prop_oneof![Just(Ignore), Just(Review), Just(Fail)];
        prop::collection::btree_map(
            prop::sample::select(names).prop_map(str::to_owned),
            action,
            0..13,
        )
        .prop_map(IdentityFlagPolicy)
    }

    fn admits(policy: &IdentityFlagPolicy) -> bool {
        let schema =
            IdentityFlagPolicy::json_schema(&mut engine::operation::inline_generator()).to_value();
        jsonschema::is_valid(&schema, &serde_json::to_value(policy).unwrap())
    }

    proptest! {
        /// Compares the effective actions with a second implementation of the rules (rules:
        /// steps#identity-checks).
        #[test]
        fn identity_actions_agree_with_the_spec(policy in policy()) {
            let six = [
                "document_not_official",
                "selfie_spoof",
                "verification_unavailable",
                "name_unavailable",
                "name_unconfirmed",
                "retake_limit",
            ];
            let default_of_six = |name: &str| {
                if six[..3].contains(&name) {
                    Fail
                } else {
                    Review
                }
            };
            let keeps_the_six = policy.0.iter().all(|(name, action)| {
                !six.contains(&name.as_str()) || *action == default_of_six(name)
            });
            prop_assert_eq!(admits(&policy), keeps_the_six);
            for (name, action) in identity_actions(Some(&policy)) {
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
            prop_assert_eq!(
                needs_minimum_age(Some(&policy)),
                policy
                    .0
                    .get("guest_underage")
                    .is_some_and(|action| *action != Ignore)
            );
        }
    }

    proptest! {
        /// Checks that the verdict on a provider's report follows from the actions that the policy
        /// has for the identity checks in the report.
        #[test]
        fn a_verdict_agrees_with_the_sentences(
            policy in policy(),
            places in prop::collection::vec(0..13_usize, 0..4),
            has_failed: bool,
            is_retaken: bool,
        ) {
            let mut checks: Vec<String> = places
                .iter()
                .map(|place| CHECKS[*place].0.to_owned())
                .collect();
            let verdict = identity_verdict(&checks, has_failed, Some(&policy), is_retaken);
            if checks.is_empty() && has_failed {
                checks.push(UNAVAILABLE.to_owned());
            }
            let actions = identity_actions(Some(&policy));
            let has = |action| checks.iter().any(|check| actions[check.as_str()] == action);
            match verdict {
                IdentityVerdict::Returned => prop_assert!(has(Fail) && !is_retaken),
                IdentityVerdict::Passed => prop_assert!(!has(Fail) && !has(Review)),
                IdentityVerdict::Flagged(flags) => {
                    prop_assert!(has(Review) || has(Fail) && is_retaken);
                    let is_named = checks.iter().any(|check| check == RETAKE_LIMIT)
                        && actions[RETAKE_LIMIT] == Review;
                    prop_assert_eq!(flags.contains(&RETAKE_LIMIT), has(Fail) || is_named);
                    for check in &checks {
                        let is_flagged = actions[check.as_str()] == Review;
                        prop_assert!(!is_flagged || flags.contains(&check.as_str()));
                    }
                    let mut once = flags.clone();
                    once.sort_unstable();
                    once.dedup();
                    prop_assert_eq!(once.len(), flags.len());
                }
            }
        }
    }

    #[test]
    fn an_age_is_that_of_the_day() {
        let date = |text: &str| text.parse::<Date>().unwrap();
        for (birth, day, age) in [
            ("2008-12-11", "2026-12-11", 18),
            ("2008-12-12", "2026-12-11", 17),
            ("2008-02-29", "2026-02-28", 17),
            ("2008-02-29", "2026-03-01", 18),
            ("2008-02-29", "2028-02-28", 19),
            ("2008-02-29", "2028-02-29", 20),
            ("2027-01-01", "2026-12-11", -1),
        ] {
            assert_eq!(age_on(date(birth), date(day)), age, "{birth} {day}");
        }
    }

    #[test]
    fn without_a_policy_every_check_has_its_default() {
        assert_eq!(identity_actions(None).len(), 13);
        assert_eq!(
            identity_actions(None),
            identity_actions(Some(&IdentityFlagPolicy::default()))
        );
        assert!(!needs_minimum_age(None));
    }
}
