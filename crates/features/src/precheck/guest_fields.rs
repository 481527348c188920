//! Decides for which guests a field of a step is required (rules:
//! pre-check-in#fields-of-some-guests).

use std::borrow::Cow;
use std::collections::BTreeMap;

use engine::error::{Issue, PathSegment, Reason};
use engine::field::fold_name;
use engine::operation::Object;
use engine::typed;
use jiff::civil::Date;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::identity::age_on;
use super::step::Step;
use super::step_type::{AnswerForm, StepType};

/// Fields that the service adds to each guest in the answers to a step of type `other_guests`. A
/// step cannot ask for a field with one of these names.
pub(super) const RESERVED: [&str; 2] = ["id", "isRemoved"];

/// The role of a guest in the booking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuestPart {
    /// The guest who booked.
    Lead,
    /// All other guests.
    Others,
}

/// The conditions under which a field is required of a guest. All of them must be met; without
/// conditions, the field is required of every guest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GuestFieldRule {
    /// Youngest age in years on the check-in date; null or left out: any age.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 150))]
    pub minimum_age: Option<u32>,
    /// Oldest age in years on the check-in date; null or left out: any age.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 150))]
    pub maximum_age: Option<u32>,
    /// Nationalities, at most 250, as ISO 3166 codes such as `ES`; null or left out: any
    /// nationality.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 250), inner(length(min = 1, max = 200)))]
    pub nationalities: Option<Vec<String>>,
    /// `lead` for the guest who booked, `others` for all other guests. Null or left out: every
    /// guest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<GuestPart>,
}

/// The rules for required fields, by the name of the field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GuestFieldRules(pub BTreeMap<String, GuestFieldRule>);

impl JsonSchema for GuestFieldRules {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "GuestFieldRules".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "object",
            "maxProperties": 100,
            "propertyNames": { "type": "string", "maxLength": 200 },
            "additionalProperties": GuestFieldRule::json_schema(generator),
        })
    }
}

/// The details of a guest that decide whether a step asks this guest for a field, and whether the
/// field is required.
#[derive(Debug, Clone, Copy)]
pub struct GuestCategory<'g> {
    pub part: GuestPart,
    /// The known details of the guest.
    pub fields: &'g Object,
    /// The check-in date, if it is known.
    pub check_in: Option<Date>,
}

impl GuestCategory<'_> {
    fn text(&self, field: &str) -> Option<&str> {
        let text = typed::trim(self.fields.get(field)?.as_str()?);
        (!text.is_empty()).then_some(text)
    }

    /// Returns the guest's age on the check-in date; `None` while the birth date or the check-in
    /// date is not known.
    fn age(&self) -> Option<i64> {
        let birth = self.text("birthDate")?.parse().ok()?;
        Some(age_on(birth, self.check_in?).into())
    }
}

impl GuestPart {
    /// Returns the role of the guests whose details a step of this type asks for; `None` if the
    /// step asks for no details.
    #[must_use]
    pub const fn asked_in(step_type: StepType) -> Option<Self> {
        match step_type.answer_form() {
            AnswerForm::LeadGuest => Some(Self::Lead),
            AnswerForm::OtherGuests => Some(Self::Others),
            AnswerForm::Confirmation
            | AnswerForm::Questions
            | AnswerForm::Agreement
            | AnswerForm::Consent
            | AnswerForm::DepositChoice => None,
        }
    }
}

impl GuestFieldRule {
    /// Returns whether the rule can make its field required for a guest with this role in the
    /// booking: the guest who booked, or another guest.
    fn is_about(&self, part: GuestPart) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    /// Returns whether the rule requires its field of a guest. While the guest's birth date or
    /// nationality is not known, a condition on this detail is treated as met.
    fn holds(&self, guest: &GuestCategory<'_>) -> bool {
        let is_of_age = guest.age().is_none_or(|age| {
            self.minimum_age.is_none_or(|minimum| age >= minimum.into())
                && self.maximum_age.is_none_or(|maximum| age <= maximum.into())
        });
        let is_national = match (&self.nationalities, guest.text("nationality")) {
            (Some(listed), Some(nationality)) => is_among(nationality, listed),
            _ => true,
        };
        self.is_about(guest.part) && is_of_age && is_national
    }
}

/// Returns whether a list of country codes contains a guest's nationality. Returns `true` for any
/// text other than a code of two letters, because guests also write names of countries.
fn is_among(nationality: &str, listed: &[String]) -> bool {
    let is_code =
        nationality.len() == 2 && nationality.bytes().all(|byte| byte.is_ascii_alphabetic());
    let nationality = fold_name(nationality);
    !is_code
        || listed
            .iter()
            .any(|nationality_in_list| fold_name(nationality_in_list) == nationality)
}

impl GuestFieldRules {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a field is required of a guest. A field without a rule is required of every
    /// guest whom the step asks.
    #[must_use]
    pub fn is_required_of(&self, field: &str, guest: &GuestCategory<'_>) -> bool {
        self.0.get(field).is_none_or(|rule| rule.holds(guest))
    }

    /// Returns whether a step asks guests with this role for a field. A rule can limit a field to
    /// the guest who booked, or to the other guests.
    #[must_use]
    pub fn is_asked_of(&self, field: &str, part: GuestPart) -> bool {
        self.0.get(field).is_none_or(|rule| rule.is_about(part))
    }
}

/// Returns the rules of a step that can apply to the guests whom the step asks; empty if the step
/// asks for no details of guests.
#[must_use]
pub fn field_rules(step: &Step) -> GuestFieldRules {
    let Some(part) = GuestPart::asked_in(step.step_type) else {
        return GuestFieldRules::default();
    };
    let rules = step.write_only.guest_field_rules.iter();
    GuestFieldRules(
        rules
            .flat_map(|rules| &rules.0)
            .filter(|(_, rule)| rule.is_about(part))
            .map(|(field, rule)| (field.clone(), rule.clone()))
            .collect(),
    )
}

/// Returns an issue for each broken rule about fields of guests. If the request contains the rules
/// (`are_rules_sent`), an issue is reported at the rule, otherwise at `requiredGuestFields`. `base`
/// is the path of the fields in the body.
#[must_use]
pub(super) fn issues(step: &Step, are_rules_sent: bool, base: &[&str]) -> Vec<Issue> {
    let required = step.write_only.required_guest_fields.as_deref();
    let required = required.unwrap_or_default();
    let at = |rest: Vec<PathSegment>, reason: Reason| {
        let base = base.iter().map(|name| PathSegment::from(*name));
        Issue::at(base.chain(rest).collect(), reason)
    };
    let is_reserved = |name: &&String| RESERVED.contains(&name.as_str());
    let reserved = required.iter().filter(is_reserved).map(|_| {
        at(
            vec!["requiredGuestFields".into()],
            Reason::rule(
                "reserved_guest_field",
                "must not name id or isRemoved, which the service uses itself",
            ),
        )
    });
    let rules = step.write_only.guest_field_rules.iter();
    let of_rules = rules
        .flat_map(|rules| &rules.0)
        .filter_map(|(field, rule)| {
            let path = || vec!["guestFieldRules".into(), field.as_str().into()];
            if !required.contains(field) {
                let path = if are_rules_sent {
                    path()
                } else {
                    vec!["requiredGuestFields".into()]
                };
                return Some(at(
                    path,
                    Reason::rule(
                        "rule_without_field",
                        "must be a field that requiredGuestFields names, as guestFieldRules has a \
                            rule for it",
                    ),
                ));
            }
            let is_inverted = rule
                .minimum_age
                .zip(rule.maximum_age)
                .is_some_and(|(minimum, maximum)| minimum > maximum);
            is_inverted.then(|| {
                at(
                    [path(), vec!["minimumAge".into()]].concat(),
                    Reason::rule(
                        "ages_turned",
                        "is not valid: minimumAge must not be greater than maximumAge",
                    ),
                )
            })
        });
    reserved.take(1).chain(of_rules).collect()
}

/// Returns whether a guest's field has a text that is not blank.
#[must_use]
pub fn has_field_value(guest: &Object, field: &str) -> bool {
    guest
        .get(field)
        .and_then(Value::as_str)
        .is_some_and(|text| !typed::is_blank(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const CHECK_IN: Date = Date::constant(2026, 12, 11);

    fn rule(value: Value) -> GuestFieldRule {
        serde_json::from_value(value).unwrap()
    }

    fn holds(value: Value, guest: Value, part: GuestPart) -> bool {
        let fields = serde_json::from_value(guest).unwrap();
        let check_in = Some(CHECK_IN);
        rule(value).holds(&GuestCategory {
            part,
            fields: &fields,
            check_in,
        })
    }

    #[test]
    fn a_rule_holds_by_age_nationality_and_part() {
        for (rule, guest, part, expected) in [
            (json!({}), json!({}), GuestPart::Lead, true),
            (
                json!({ "minimumAge": 14 }),
                json!({}),
                GuestPart::Others,
                true,
            ),
            (
                json!({ "minimumAge": 14 }),
                json!({ "birthDate": "2012-12-12" }),
                GuestPart::Others,
                false,
            ),
            (
                json!({ "minimumAge": 14 }),
                json!({ "birthDate": "2012-12-11" }),
                GuestPart::Others,
                true,
            ),
            (
                json!({ "maximumAge": 2 }),
                json!({ "birthDate": "2023-12-12" }),
                GuestPart::Others,
                true,
            ),
            (
                json!({ "maximumAge": 2 }),
                json!({ "birthDate": "2023-12-11" }),
                GuestPart::Others,
                false,
            ),
            (
                json!({ "maximumAge": 2 }),
                json!({ "birthDate": "soon" }),
                GuestPart::Others,
                true,
            ),
            (
                json!({ "nationalities": ["ES"] }),
                json!({ "nationality": " es " }),
                GuestPart::Lead,
                true,
            ),
            (
                json!({ "nationalities": ["ES"] }),
                json!({ "nationality": "FR" }),
                GuestPart::Lead,
                false,
            ),
            (
                json!({ "nationalities": ["ES"] }),
                json!({ "nationality": "French" }),
                GuestPart::Lead,
                true,
            ),
            (
                json!({ "nationalities": ["ES"] }),
                json!({ "nationality": " " }),
                GuestPart::Lead,
                true,
            ),
            (json!({ "only": "lead" }), json!({}), GuestPart::Lead, true),
            (
                json!({ "only": "lead" }),
                json!({}),
                GuestPart::Others,
                false,
            ),
            (
                json!({ "only": "others", "minimumAge": 18 }),
                json!({ "birthDate": "1990-01-01" }),
                GuestPart::Lead,
                false,
            ),
        ] {
            assert_eq!(
                holds(rule.clone(), guest.clone(), part),
                expected,
                "{rule} {guest}"
            );
        }
    }

    #[test]
    fn a_rule_without_its_field_is_blamed_where_it_was_sent() {
        let mut step = Step::default();
        step.write_only.required_guest_fields = Some(vec!["email".into()]);
        let rules = json!({ "email": { "minimumAge": 9, "maximumAge": 3 }, "phone": {} });
        step.write_only.guest_field_rules = serde_json::from_value(rules).unwrap();
        let blamed = |are_rules_sent| -> Vec<String> {
            issues(&step, are_rules_sent, &["data"])
                .into_iter()
                .map(|issue| serde_json::to_string(&issue.path).unwrap())
                .collect()
        };
        let turned = r#"["data","guestFieldRules","email","minimumAge"]"#;
        assert_eq!(
            blamed(true),
            [turned, r#"["data","guestFieldRules","phone"]"#]
        );
        assert_eq!(blamed(false), [turned, r#"["data","requiredGuestFields"]"#]);
    }

    proptest! {
        /// A rule requires its field of a guest without any known detail, whatever ages and
        /// nationalities the rule names. The exception is a rule whose `only` names a role that the
        /// guest does not have.
        #[test]
        fn unknown_guests_are_asked_for_the_field(
            minimum in prop::option::of(0..150_u32),
            maximum in prop::option::of(0..150_u32),
            has_nations: bool,
            is_lead: bool,
            only in prop::option::of(prop::sample::select(
                &[GuestPart::Lead, GuestPart::Others][..],
            )),
        ) {
            let rule = GuestFieldRule {
                minimum_age: minimum,
                maximum_age: maximum,
                nationalities: has_nations.then(|| vec!["ES".into()]),
                only,
            };
            let part = if is_lead {
                GuestPart::Lead
            } else {
                GuestPart::Others
            };
            let fields = Object::new();
            let guest = GuestCategory {
                part,
                fields: &fields,
                check_in: Some(CHECK_IN),
            };
            prop_assert_eq!(rule.holds(&guest), only.is_none_or(|only| only == part));
        }
    }
}
