//! The details of a guest that a step asks for, with the label, the input type and the form name of
//! each.

use std::borrow::Cow;

use engine::operation::Object;
use jiff::civil::Date;

use features::guest::StepView;
use features::precheck::{GuestCategory, GuestFieldRules, GuestPart, has_field_value};
use features::words::{Words, fill};

/// The default fields for the guest who booked. The form shows them if the step requires no fields.
const USUAL: [(&str, Requirement); 4] = [
    ("firstName", Requirement::OneOf),
    ("lastName", Requirement::OneOf),
    ("email", Requirement::Always),
    ("phone", Requirement::Never),
];
/// The default fields for each guest other than the guest who booked. The form shows them if the
/// step requires no fields.
const OTHERS: [(&str, Requirement); 2] = [
    ("firstName", Requirement::OneOf),
    ("lastName", Requirement::OneOf),
];

/// Whether guests must fill in a field: every guest, some guests, one field of several, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// The field is required of every guest.
    Always,
    /// The field is required only of guests to whom the field's rule applies, for example by age.
    Sometimes,
    /// The guest must fill in this field or another `OneOf` field.
    OneOf,
    /// The field is optional.
    Never,
}

/// A form field for one detail of a guest, such as the e-mail address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestField<'n> {
    /// The name of the field in the step's answers, such as `firstName`.
    pub name: &'n str,
    pub need: Requirement,
}

/// The fields that a step requests from guests with one role (`part`), and the rules that make some
/// of the fields required. Rules about the age of guests use the age on the day `check_in`.
pub struct RequestedFields<'n> {
    pub details: Vec<GuestField<'n>>,
    rules: &'n GuestFieldRules,
    part: GuestPart,
    check_in: Date,
}

impl<'n> RequestedFields<'n> {
    /// Returns the fields that a step asks for: those of the other guests if `is_other` is true,
    /// otherwise those of the guest who booked. Rules about the age of guests use their age on the
    /// day `check_in`.
    #[must_use]
    pub fn of(step: &'n StepView, is_other: bool, check_in: Date) -> Self {
        Self {
            details: requested_fields(step, is_other),
            rules: &step.guest_field_rules,
            part: if is_other {
                GuestPart::Others
            } else {
                GuestPart::Lead
            },
            check_in,
        }
    }

    /// Returns whether the step asks for a field.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.details.iter().any(|detail| detail.name == name)
    }

    /// Returns whether the guest whose details are in `fields` must fill in this field.
    #[must_use]
    pub fn requires(&self, detail: &GuestField<'_>, fields: &Object) -> bool {
        let guest = GuestCategory {
            part: self.part,
            fields,
            check_in: Some(self.check_in),
        };
        let is_either = |other: &GuestField<'_>| other.need == Requirement::OneOf;
        match detail.need {
            Requirement::Always => true,
            Requirement::Sometimes => self.rules.is_required_of(detail.name, &guest),
            Requirement::OneOf => {
                let mut others = self.details.iter().filter(|other| is_either(other));
                !others.any(|other| has_field_value(fields, other.name))
            }
            Requirement::Never => false,
        }
    }
}

/// Returns the names of the fields that the step requires, such as `email`. A rule of the step can
/// require a field of some guests only.
#[must_use]
pub fn required(step: &StepView) -> &[String] {
    step.required_fields.as_deref().unwrap_or_default()
}

/// Returns the fields that a step asks for: those for any other guest if `is_other` is true, and
/// otherwise those for the guest who booked.
#[must_use]
pub fn requested_fields(step: &StepView, is_other: bool) -> Vec<GuestField<'_>> {
    asked_of(required(step), &step.guest_field_rules, is_other)
}

fn asked_of<'n>(
    required: &'n [String],
    rules: &GuestFieldRules,
    is_other: bool,
) -> Vec<GuestField<'n>> {
    if required.is_empty() {
        let usual: &'static [(&'static str, Requirement)] = if is_other { &OTHERS } else { &USUAL };
        return usual
            .iter()
            .map(|(name, need)| GuestField { name, need: *need })
            .collect();
    }
    let need = |name: &String| {
        if rules.0.contains_key(name) {
            Requirement::Sometimes
        } else {
            Requirement::Always
        }
    };
    required
        .iter()
        .map(|name| GuestField {
            name,
            need: need(name),
        })
        .collect()
}

impl<'n> GuestField<'n> {
    /// Returns the label of the field. An unknown field is labelled with its name.
    #[must_use]
    pub fn label(&self, words: &'static Words) -> &'n str {
        words.guest_field(self.name).unwrap_or(self.name)
    }

    /// Returns a hint on what to enter. If only some guests must fill in the field, the hint says
    /// which guests.
    #[must_use]
    pub fn hint(
        &self,
        rules: &GuestFieldRules,
        words: &'static Words,
    ) -> Option<Cow<'static, str>> {
        let fields = &words.fields;
        let decides = rules.0.values().any(|rule| rule.nationalities.is_some());
        let usual = match self.name {
            "nationality" if decides => Some(fields.nationality_hint),
            name => words.guest_field_hint(name),
        };
        match (self.need, rules.0.get(self.name)) {
            (Requirement::OneOf, _) => Some(fields.either_name_hint.into()),
            (Requirement::Sometimes, Some(rule)) => {
                let of_age = |text: &str, age: u32| fill(text, &[("n", &age.to_string())]);
                let whom = match (rule.minimum_age, rule.maximum_age, &rule.nationalities) {
                    (Some(age), None, None) => of_age(fields.from_age, age),
                    (None, Some(age), None) => of_age(fields.up_to_age, age),
                    (None, None, None) => return usual.map(Cow::Borrowed),
                    _ => fields.some_guests.to_owned(),
                };
                Some(Cow::Owned(
                    usual.map_or(whom.clone(), |usual| format!("{usual} {whom}")),
                ))
            }
            _ => usual.map(Cow::Borrowed),
        }
    }

    /// Returns the HTML `type` of the field's input.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.name {
            "email" => "email",
            "phone" => "tel",
            "birthDate" => "date",
            _ => "text",
        }
    }

    /// Returns the `autocomplete` value of the field. It lets a browser fill in the user's stored
    /// data.
    #[must_use]
    pub fn autocomplete(&self) -> &'static str {
        match self.name {
            "firstName" => "given-name",
            "lastName" => "family-name",
            "email" => "email",
            "phone" => "tel",
            "birthDate" => "bday",
            "gender" => "sex",
            "address" => "street-address",
            "city" => "address-level2",
            "postalCode" => "postal-code",
            "country" => "country-name",
            _ => "off",
        }
    }

    /// Returns the options of a field that is a selection list. Each option has its form value and
    /// its label.
    #[must_use]
    pub fn choices(&self, words: &'static Words) -> Vec<(&'static str, &'static str)> {
        match self.name {
            "gender" => words.genders().to_vec(),
            "documentType" => words.document_types().to_vec(),
            _ => Vec::new(),
        }
    }
}

/// Returns the label of a document type; `None` for a type that has no built-in label.
#[must_use]
pub fn document(kind: &str, words: &'static Words) -> Option<&'static str> {
    let kind = match kind {
        "id_card" | "national_id" | "id" => "identity_card",
        "driving_license" | "driver_license" | "drivers_license" => "driving_licence",
        other => other,
    };
    words
        .document_types()
        .into_iter()
        .find(|(known, _)| *known == kind)
        .map(|(_, name)| name)
}

/// Returns the name of the form field for a detail of one of the other guests, such as `g.0.email`.
#[must_use]
pub fn field_of(guest: usize, name: &str) -> String {
    format!("g.{guest}.{name}")
}

/// Splits the name of a form field into the guest's number and the name of the detail.
#[must_use]
pub fn guest_of(field: &str) -> Option<(usize, &str)> {
    let (number, name) = field.strip_prefix("g.")?.split_once('.')?;
    let guest = number.parse().ok()?;
    (field == field_of(guest, name)).then_some((guest, name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_step_asks_for_its_required_fields_or_the_default_fields() {
        let names = |details: Vec<GuestField<'_>>| {
            details
                .iter()
                .map(|detail| (detail.name.to_owned(), detail.need))
                .collect::<Vec<_>>()
        };
        let none = GuestFieldRules::default();
        let usual = names(asked_of(&[], &none, false));
        let needed = usual
            .iter()
            .filter(|(_, need)| *need == Requirement::Always);
        assert_eq!(needed.count(), 1, "the mail address");
        let rules = serde_json::from_str(r#"{ "Car": { "minimumAge": 18 } }"#).unwrap();
        assert_eq!(
            names(asked_of(&["birthDate".into(), "Car".into()], &rules, true)),
            [
                ("birthDate".into(), Requirement::Always),
                ("Car".into(), Requirement::Sometimes)
            ]
        );
    }

    proptest! {
        #[test]
        fn field_names_of_guests_read_back(
            guest in 0..60_usize,
            name in "[a-zA-Z .]{1,12}",
            other in ".{0,12}",
        ) {
            let field = field_of(guest, &name);
            prop_assert_eq!(guest_of(&field), Some((guest, name.as_str())));
            if let Some((guest, name)) = guest_of(&other) {
                prop_assert_eq!(field_of(guest, name), other);
            }
        }
    }
}
