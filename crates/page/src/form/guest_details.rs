//! Parses the details of guests in a form: the details of the guest who booked, and those of the
//! other guests.

use engine::operation::Object;
use engine::typed;
use features::guest::StepView;
use features::precheck::has_field_value;
use jiff::civil::Date;
use serde_json::{Value, json};
use vestibule_http::browser::first_value;

use super::super::fault::{FaultKind, Faults, FieldFault};
use super::super::guest_fields::{self, GuestField, RequestedFields, Requirement};
use super::{FilledForm, MAX_GUESTS, every, id_field, shown_value_field};

/// The fields of one guest in a form.
struct GuestFields<'f> {
    fields: &'f [(String, String)],
    /// The number of the guest in the form, starting with 0; `None` for the guest who booked.
    guest: Option<usize>,
}

impl<'f> GuestFields<'f> {
    fn name(&self, detail: &str) -> String {
        self.guest.map_or_else(
            || detail.to_owned(),
            |guest| guest_fields::field_of(guest, detail),
        )
    }

    /// Returns the trimmed value of a field.
    fn value(&self, detail: &str) -> &'f str {
        typed::trim(first_value(self.fields, &self.name(detail)).unwrap_or_default())
    }

    /// Returns the value that a field had when the guest opened the form.
    fn was(&self, detail: &str) -> &'f str {
        typed::trim(
            first_value(self.fields, &shown_value_field(&self.name(detail))).unwrap_or_default(),
        )
    }

    /// Returns the id of the guest; `None` if the guest was not saved when the form was opened.
    fn id(&self) -> Option<&'f str> {
        first_value(self.fields, &id_field(self.guest?))
    }

    fn is_blank(&self, asked: &RequestedFields<'_>) -> bool {
        asked
            .details
            .iter()
            .all(|detail| self.value(detail.name).is_empty())
    }

    /// Returns the values that the fields had when the guest opened the form, without empty values.
    fn shown(&self, asked: &RequestedFields<'_>) -> Object {
        let value =
            |detail: &GuestField<'_>| (detail.name.to_owned(), json!(self.was(detail.name)));
        let values = asked.details.iter().map(value);
        values.filter(|(_, value)| value != "").collect()
    }

    /// Returns the changed details of the guest, and a fault for each required detail that is
    /// missing after the change. If `is_strict` is false, missing details are no faults.
    fn changes(
        &self,
        asked: &RequestedFields<'_>,
        saved: Option<&Object>,
        is_strict: bool,
    ) -> (Object, Vec<FieldFault>) {
        let (mut changes, mut faults) = (Object::new(), Vec::new());
        let mut after = saved.cloned().unwrap_or_default();
        for GuestField { name, need } in &asked.details {
            if every(self.fields, &self.name(name)).len() > 1 {
                let field = self.name(name);
                faults.push(FieldFault {
                    field,
                    kind: FaultKind::Invalid,
                });
                continue;
            }
            let (value, was) = (self.value(name), self.was(name));
            // The form can show a value that is not saved. Either the value comes from the
            // reservation, or another person has deleted the saved value since the form was opened.
            // The value is saved even if the guest has not changed it, unless the guest has saved
            // details and the field is optional.
            let is_unsaved = !value.is_empty()
                && !has_field_value(&after, name)
                && (saved.is_none() || *need != Requirement::Never);
            if value == was && !is_unsaved {
                continue;
            }
            let value = if value.is_empty() {
                Value::Null
            } else {
                json!(value)
            };
            after.insert((*name).to_owned(), value.clone());
            changes.insert((*name).to_owned(), value);
        }
        let lacking = asked.details.iter().filter(|detail| {
            is_strict && !has_field_value(&after, detail.name) && asked.requires(detail, &after)
        });
        let mut has_name = false;
        for detail in lacking {
            let kind = match detail.need {
                Requirement::OneOf if has_name => continue,
                Requirement::OneOf => FaultKind::Name,
                _ => FaultKind::Value,
            };
            has_name = has_name || kind == FaultKind::Name;
            let field = self.name(detail.name);
            if !faults.iter().any(|fault| fault.field == field) {
                faults.push(FieldFault { field, kind });
            }
        }
        (changes, faults)
    }
}

/// Parses the details of the guest who booked.
pub(super) fn details(
    step: &StepView,
    check_in: Date,
    fields: &[(String, String)],
) -> Result<Object, Faults> {
    let asked = RequestedFields::of(step, false, check_in);
    let mut faults = Faults::unknown_fields(fields, |name| {
        asked.has(name.strip_suffix(".was").unwrap_or(name))
    });
    let guest_fields = GuestFields {
        fields,
        guest: None,
    };
    let (answers, found) = guest_fields.changes(&asked, step.answers.as_ref(), true);
    faults.0.extend(found);
    faults.into_result(answers)
}

/// Parses the details of all guests except the guest who booked. Omits an unsaved guest whose
/// fields are blank. Removes a saved guest whose fields were all emptied. The buttons that add or
/// remove a guest also save the details, even if required details are missing.
pub(super) fn guests(
    step: &StepView,
    check_in: Date,
    fields: &[(String, String)],
) -> Result<FilledForm, Faults> {
    let asked = RequestedFields::of(step, true, check_in);
    let mut faults = Faults::unknown_fields(fields, |name| is_of_guests(&asked, name));
    let adds = first_value(fields, "add").is_some();
    let removed: Option<usize> =
        first_value(fields, "remove").and_then(|number| number.parse().ok());
    let numbers = fields
        .iter()
        .filter_map(|(name, _)| guest_fields::guest_of(name).map(|(guest, _)| guest));
    let count = numbers.max().map_or(0, |last| last + 1).min(MAX_GUESTS);
    let saved = saved_guests(step);
    let (mut named, mut places) = (Vec::new(), Vec::new());
    for guest in 0..count {
        let guest_fields = GuestFields {
            fields,
            guest: Some(guest),
        };
        let known = guest_fields
            .id()
            .and_then(|id| saved.iter().find(|saved| saved["id"] == id));
        let is_emptied = guest_fields.is_blank(&asked)
            && (known.is_none() || !guest_fields.shown(&asked).is_empty());
        let item = if removed == Some(guest) || is_emptied {
            known.map(|known| {
                Object::from_iter([id_of(known), ("isRemoved".to_owned(), json!(true))])
            })
        } else {
            let is_strict = !adds && removed.is_none();
            // Another person may have removed the saved guest since the form was opened. Then the
            // values that the form showed are used instead of the saved values.
            let shown = guest_fields.id().map(|_| guest_fields.shown(&asked));
            let before = known.and_then(Value::as_object).or(shown.as_ref());
            let (changes, found) = guest_fields.changes(&asked, before, is_strict);
            faults.0.extend(found);
            match known {
                Some(_) if changes.is_empty() => None,
                Some(known) => Some(changes.into_iter().chain([id_of(known)]).collect()),
                // Another person has removed the guest. If this form changes the guest, all details
                // of the form are saved as a new guest. Otherwise the guest stays removed.
                None if guest_fields.id().is_some() && changes.is_empty() => None,
                None => Some(all_values(&guest_fields, &asked)),
            }
        };
        if let Some(item) = item {
            named.push(item);
            places.push(guest);
        }
    }
    let again = if adds {
        Some((count + 1).min(MAX_GUESTS))
    } else {
        removed.map(|_| count.saturating_sub(1))
    };
    let answers = Object::from_iter([("guests".to_owned(), json!(named))]);
    faults.into_result(FilledForm {
        guests: again,
        positions: places,
        ..FilledForm::of(answers)
    })
}

/// Returns whether the form of the step `other_guests` has a field or a button with this name.
fn is_of_guests(asked: &RequestedFields<'_>, name: &str) -> bool {
    let of_guest = guest_fields::guest_of(name.strip_suffix(".was").unwrap_or(name))
        .is_some_and(|(guest, name)| guest < MAX_GUESTS && asked.has(name));
    let is_id = || (0..MAX_GUESTS).any(|guest| name == id_field(guest));
    of_guest || ["add", "remove"].contains(&name) || is_id()
}

/// Returns the saved other guests of a step.
#[must_use]
pub fn saved_guests(step: &StepView) -> &[Value] {
    step.answers
        .as_ref()
        .and_then(|answers| answers.get("guests"))
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Returns the `id` field of a saved guest.
fn id_of(guest: &Value) -> (String, Value) {
    ("id".to_owned(), guest["id"].clone())
}

/// Returns all details of a guest that are not blank.
fn all_values(guest_fields: &GuestFields<'_>, asked: &RequestedFields<'_>) -> Object {
    let value = |detail: &GuestField<'_>| {
        (
            detail.name.to_owned(),
            json!(guest_fields.value(detail.name)),
        )
    };
    let values = asked.details.iter().map(value);
    values.filter(|(_, value)| value != "").collect()
}
