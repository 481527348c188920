//! Answers with details of guests: of the guest who booked, or of the other guests. A step names
//! the fields that it requires of each guest.
//!
//! Only the fields that the step requires are checked. A step without required fields accepts any
//! values, but not more than `MAX_OTHER_GUESTS` guests.
//!
//! Several people fill in the same step, each on their own phone. So the service gives each saved
//! guest an id, and a request can list only the guests that it changes (rules:
//! pre-check-in#several-people).

use std::collections::HashSet;

use engine::error::{Issue, PathSegment, Reason};
use engine::field::fold_name;
use engine::operation::Object;
use engine::{format, typed};
use jiff::civil::Date;
use serde_json::{Value, json};

use super::super::guest_fields::{GuestPart, has_field_value};
use super::super::step::Step;
use super::{AnswerContext, FoundIssues, MergeContext, Requirements};

/// Maximum number of other guests, in addition to the guest who booked.
const MAX_OTHER_GUESTS: usize = 50;
/// The message of the issue for more than [`MAX_OTHER_GUESTS`] guests.
const TOO_MANY: &str = "must have at most 50 items";
/// Maximum length of the value of a guest's field, in characters.
const TEXT_LENGTH: usize = 500;
/// The fields that are normalized before they are checked and stored. Normalization converts digits
/// to ASCII and removes invisible characters.
const NORMALIZED_FIELDS: [&str; 4] = ["phone", "email", "documentNumber", "postalCode"];
/// The earliest date of birth that a guest can have.
pub const FIRST_BIRTH_DATE: Date = Date::constant(1900, 1, 1);

/// Returns the details of a guest with normalized fields. Details are checked and stored in this
/// form (rules: pre-check-in#details-of-guests).
pub(super) fn normalize_guest(mut guest: Object) -> Object {
    for field in NORMALIZED_FIELDS {
        if let Some(Value::String(text)) = guest.get_mut(field) {
            *text = typed::normalize_input(text);
        }
    }
    guest
}

/// Returns the details of the other guests with normalized fields. Details are checked and stored
/// in this form.
pub(super) fn normalize_other_guests(mut answers: Object) -> Object {
    if let Some(Value::Array(guests)) = answers.get_mut("guests") {
        for guest in guests {
            if let Value::Object(fields) = guest {
                *fields = normalize_guest(std::mem::take(fields));
            }
        }
    }
    answers
}

/// Returns the fields that a step asks of its guests, in order and without duplicates. A step asks
/// either the guest who booked or the other guests. A field that is required only of guests in the
/// other role is left out.
#[must_use]
pub fn required_fields(step: &Step) -> Vec<&str> {
    let mut seen = HashSet::new();
    let part = GuestPart::asked_in(step.step_type);
    let rules = step.write_only.guest_field_rules.as_ref();
    let is_asked = |name: &str| {
        part.zip(rules)
            .is_none_or(|(part, rules)| rules.is_asked_of(name, part))
    };
    let field_names = step
        .write_only
        .required_guest_fields
        .iter()
        .flatten()
        .map(String::as_str);
    field_names
        .filter(|name| !typed::is_blank(name) && is_asked(name) && seen.insert(*name))
        .collect()
}

/// Returns whether a guest has filled in every field that the step requires of this guest.
pub(super) fn is_complete(requirements: &Requirements<'_>, guest: &Object) -> bool {
    requirements
        .of_guest(guest)
        .all(|field| has_field_value(guest, field))
}

/// Returns true if every listed guest has all required fields and enough guests are listed. Enough
/// means as many guests as the reservation has besides the guest who booked, but at most
/// [`MAX_OTHER_GUESTS`]. If the reservation does not state their number, any number is enough.
pub(super) fn are_complete(
    requirements: &Requirements<'_>,
    answers: &Object,
    others: Option<u32>,
) -> bool {
    let guests = match answers.get("guests") {
        Some(Value::Array(guests)) => guests.as_slice(),
        _ => &[],
    };
    let complete_count = guests
        .iter()
        .filter(|guest| {
            guest
                .as_object()
                .is_some_and(|guest| is_complete(requirements, guest))
        })
        .count();
    let is_enough = others.is_none_or(|others| {
        usize::try_from(others).is_ok_and(|others| complete_count >= others.min(MAX_OTHER_GUESTS))
    });
    is_enough && (requirements.required.is_empty() || complete_count == guests.len())
}

/// Merges the sent fields of a guest into the saved fields of this guest. A field that is sent as
/// null is removed.
pub(super) fn merge_guest_fields(saved: Option<&Object>, update: Object) -> Object {
    let mut merged = saved.cloned().unwrap_or_default();
    for (name, value) in update {
        if value.is_null() {
            merged.remove(&name);
        } else {
            merged.insert(name, value);
        }
    }
    merged
}

/// Merges the sent list of guests into the saved list (rules: pre-check-in#several-people).
pub(super) fn merge_other_guests(
    mut merging: MergeContext<'_>,
    mut update: Object,
) -> Result<Object, Vec<Issue>> {
    if let Some(Value::Array(items)) = update.get_mut("guests") {
        let before = merging
            .saved
            .and_then(|saved| saved.get("guests"))
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let issues = identity_issues(before, items);
        if !issues.is_empty() {
            return Err(issues);
        }
        let items = std::mem::take(items);
        let is_change = merging.is_change || items.iter().any(|item| id_of(item).is_some());
        let guests = if is_change {
            apply_changes(before, items, &mut merging)
        } else {
            replace_list(before, items, &mut merging)
        };
        if guests.len() > MAX_OTHER_GUESTS {
            return Err(vec![Issue::new(&["guests"], TOO_MANY)]);
        }
        update.insert("guests".to_owned(), Value::Array(guests));
    }
    Ok(merge_guest_fields(merging.saved, update))
}

/// Returns an issue for each item whose `id` no saved guest has, for each repeated `id`, and for
/// each `isRemoved` that removes no guest.
fn identity_issues(before: &[Value], items: &[Value]) -> Vec<Issue> {
    let mut seen_ids = HashSet::new();
    let mut issues = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let mut add = |field: &str, reason: Reason| {
            let path = vec!["guests".into(), index.into(), field.into()];
            issues.push(Issue::at(path, reason));
        };
        let id = item.get("id").filter(|id| !id.is_null());
        match id {
            Some(id) if !before.iter().any(|guest| guest.get("id") == Some(id)) => {
                add("id", "is not the id of a saved guest".into());
            }
            Some(id) if !seen_ids.insert(id.as_str()) => add("id", Reason::Twice),
            _ => {}
        }
        match item.get("isRemoved") {
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(Value::Bool(true)) if id.is_some() => {}
            Some(Value::Bool(true)) => {
                add("isRemoved", "must be sent with the id of a guest".into());
            }
            Some(_) => add("isRemoved", "must be of type boolean".into()),
        }
    }
    issues
}

fn id_of(guest: &Value) -> Option<&str> {
    guest.get("id")?.as_str()
}

/// Returns the guests that result from a list of changes. An item with `isRemoved` removes its
/// guest. An item without an id is a new guest. The exception is a list from a form, which may have
/// been sent twice: there, an item without an id updates the saved guest of the same name.
fn apply_changes(
    before: &[Value],
    items: Vec<Value>,
    merging: &mut MergeContext<'_>,
) -> Vec<Value> {
    let index_of = |item: &Value| {
        let id = id_of(item)?;
        before.iter().position(|guest| id_of(guest) == Some(id))
    };
    let mut matched: HashSet<usize> = items.iter().filter_map(index_of).collect();
    let mut guests: Vec<Option<Value>> = before.iter().cloned().map(Some).collect();
    let mut new = Vec::new();
    for item in items {
        let is_removed = item.get("isRemoved") == Some(&Value::Bool(true));
        let index = index_of(&item).or_else(|| {
            (merging.is_change && id_of(&item).is_none())
                .then(|| {
                    (0..before.len()).find(|index| {
                        !matched.contains(index) && has_same_name(&item, &before[*index])
                    })
                })
                .flatten()
        });
        match index {
            Some(index) if is_removed => guests[index] = None,
            Some(index) => {
                matched.insert(index);
                guests[index] = Some(merge_guest(before.get(index), item, merging));
            }
            None => new.push(merge_guest(None, item, merging)),
        }
    }
    guests.into_iter().flatten().chain(new).collect()
}

/// Returns the guests after a request that contains a complete list of guests. Each item of the
/// list updates the saved guest with the same first and last name. If no saved guest has these
/// names, but both lists have the same length, the item updates the saved guest at the same index,
/// unless both names differ ([`has_other_names`]). Every other item is a new guest.
fn replace_list(before: &[Value], items: Vec<Value>, merging: &mut MergeContext<'_>) -> Vec<Value> {
    let mut matched = vec![false; before.len()];
    let mut saved_indexes = vec![None; items.len()];
    for is_own_place in [true, false] {
        for (index, item) in items.iter().enumerate() {
            let is_free = |saved_index: &usize| {
                !matched[*saved_index] && has_same_name(item, &before[*saved_index])
            };
            let saved_index = if is_own_place {
                Some(index)
                    .filter(|index| *index < before.len())
                    .filter(is_free)
            } else {
                (0..before.len()).find(is_free)
            };
            if let (None, Some(saved_index)) = (saved_indexes[index], saved_index) {
                (saved_indexes[index], matched[saved_index]) = (Some(saved_index), true);
            }
        }
    }
    if items.len() == before.len() {
        for (index, item) in items.iter().enumerate() {
            if saved_indexes[index].is_none()
                && !matched[index]
                && !has_other_names(item, &before[index])
            {
                saved_indexes[index] = Some(index);
            }
        }
    }
    let guests = items.into_iter().zip(saved_indexes);
    guests
        .map(|(item, saved_index)| {
            merge_guest(
                saved_index.and_then(|saved_index| before.get(saved_index)),
                item,
                merging,
            )
        })
        .collect()
}

/// Merges an item of a list into the saved guest `before`. Without a saved guest, makes a new guest
/// from the item.
fn merge_guest(before: Option<&Value>, item: Value, merging: &mut MergeContext<'_>) -> Value {
    let Value::Object(mut fields) = item else {
        return item;
    };
    fields.remove("id");
    fields.remove("isRemoved");
    let mut guest = merge_guest_fields(before.and_then(Value::as_object), fields);
    if !guest.contains_key("id") {
        guest.insert("id".to_owned(), json!((merging.new_id)()));
    }
    Value::Object(guest)
}

/// Returns the first or last name of a guest, in the form in which names are compared; empty if the
/// name is missing.
fn comparable_name(guest: &Value, field: &str) -> String {
    fold_name(guest.get(field).and_then(Value::as_str).unwrap_or_default())
}

/// Returns whether two guests have the same first and last name.
fn has_same_name(one: &Value, other: &Value) -> bool {
    let names = |guest: &Value| {
        [
            comparable_name(guest, "firstName"),
            comparable_name(guest, "lastName"),
        ]
    };
    let names_of_one = names(one);
    names_of_one.iter().any(|name| !name.is_empty()) && names_of_one == names(other)
}

/// Returns whether both the first and the last name of an item differ from those of a saved guest,
/// so that the item is another person. A missing name does not differ from any name.
fn has_other_names(item: &Value, saved: &Value) -> bool {
    ["firstName", "lastName"].into_iter().all(|field| {
        let (new, saved) = (comparable_name(item, field), comparable_name(saved, field));
        !new.is_empty() && !saved.is_empty() && new != saved
    })
}

/// Adds an issue for each invalid field of one guest. `path` is the path of the guest in the
/// answers.
pub(super) fn validate_guest(
    required: &[&str],
    guest: &Object,
    path: &[PathSegment],
    context: &AnswerContext<'_>,
    issues: &mut FoundIssues,
) {
    for field in required {
        if let Some(message) = guest
            .get(*field)
            .and_then(|value| guest_field_fault(field, value, context))
        {
            issues.add_at([path, &[PathSegment::from(*field)]].concat(), message);
        }
    }
}

/// Adds an issue for each invalid field in the answers about the other guests.
pub(super) fn validate_other_guests(
    required: &[&str],
    answers: &Object,
    context: &AnswerContext<'_>,
    issues: &mut FoundIssues,
) {
    match answers.get("guests") {
        Some(Value::Array(guests)) if guests.len() > MAX_OTHER_GUESTS => {
            issues.add(&["guests"], TOO_MANY);
        }
        Some(_) if required.is_empty() => {}
        None | Some(Value::Null) => {}
        Some(Value::Array(guests)) => {
            for (index, guest) in guests.iter().enumerate() {
                let path = [PathSegment::from("guests"), index.into()];
                match guest {
                    Value::Object(fields) => {
                        validate_guest(required, fields, &path, context, issues);
                    }
                    _ => issues.add_at(path.to_vec(), "must be of type object"),
                }
            }
        }
        Some(_) => issues.add(&["guests"], "must be of type array"),
    }
}

/// Returns the error in the value of a guest's field; `None` for a valid value. A blank value is
/// valid, because the guest can send it later.
#[must_use]
pub fn guest_field_fault(
    field: &str,
    value: &Value,
    context: &AnswerContext<'_>,
) -> Option<&'static str> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) if text.chars().count() > TEXT_LENGTH => {
            return Some("must have at most 500 characters");
        }
        Value::String(text) if NORMALIZED_FIELDS.contains(&field) => &typed::normalize_input(text),
        Value::String(text) => typed::trim(text),
        _ => return Some("must be of type string"),
    };
    match field {
        _ if text.is_empty() => None,
        "email" => (!format::is_email(text)).then_some("must be a mail address"),
        "phone" => (!is_phone(text, context.country)).then_some("is not a valid phone number"),
        "birthDate" => match text.parse::<Date>() {
            Ok(date) if format::is_date(text) => (date < FIRST_BIRTH_DATE || date > context.today)
                .then_some(
                    "must be between 1900-01-01 and today; write the year with four figures",
                ),
            _ => Some("must be a date such as 1990-11-21"),
        },
        _ => None,
    }
}

/// Returns whether a text is a phone number. A number with a country code must fit the numbering
/// plan of that country. A number without a country code must fit the plan of the organization's
/// country, or at least have the form of a phone number. The form is enough, because guests come
/// from any country.
fn is_phone(text: &str, country: &str) -> bool {
    let is_international = ["+", "\u{ff0b}", "00"]
        .iter()
        .any(|prefix| text.starts_with(prefix));
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let looks_like_one = || {
        (6..=15).contains(&digits)
            && text
                .chars()
                .all(|c| c.is_ascii_digit() || " ()-./\u{a0}".contains(c))
    };
    format::phone(text, country).is_some() || (!is_international && looks_like_one())
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::super::super::guest_fields::GuestFieldRules;
    use super::*;

    const CONTEXT: AnswerContext<'_> = AnswerContext {
        today: Date::constant(2026, 11, 21),
        country: "ES",
        choices: &[],
    };

    fn object(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    fn at_fault(required: &[&str], sent: Value) -> Vec<Value> {
        let mut issues = FoundIssues::default();
        validate_other_guests(required, &object(sent), &CONTEXT, &mut issues);
        issues
            .0
            .into_iter()
            .map(|issue| json!(issue.path))
            .collect()
    }

    #[test]
    fn required_guest_fields_are_deduplicated_in_order() {
        let mut step = Step::default();
        assert!(required_fields(&step).is_empty());
        step.write_only.required_guest_fields = Some(
            ["email", "lastName", "email", " ", "shoe size"]
                .map(String::from)
                .to_vec(),
        );
        assert_eq!(required_fields(&step), ["email", "lastName", "shoe size"]);
    }

    #[test]
    fn guest_values_are_checked_by_their_field() {
        for (field, value, is_fine) in [
            ("firstName", json!("Ada"), true),
            ("firstName", json!(""), true),
            ("firstName", json!(null), true),
            ("firstName", json!(7), false),
            ("firstName", json!(["Ada"]), false),
            ("firstName", json!("é".repeat(500)), true),
            ("firstName", json!("é".repeat(501)), false),
            ("shoe size", json!("38 or so"), true),
            ("shoe size", json!(38), false),
            ("email", json!(" ada@example.com "), true),
            ("email", json!("ada"), false),
            ("email", json!(" "), true),
            ("phone", json!("934 12 34 56"), true),
            ("phone", json!("+44 (0)20 7946 0958"), true),
            ("phone", json!("0170 1234567"), true),
            ("phone", json!("+34 1"), false),
            ("phone", json!("+999 123456789"), false),
            ("phone", json!("call me"), false),
            ("phone", json!("12345"), false),
            ("birthDate", json!("1900-01-01"), true),
            ("birthDate", json!("1899-12-31"), false),
            ("birthDate", json!("2026-11-21"), true),
            ("birthDate", json!("2026-11-22"), false),
            ("birthDate", json!("2023-02-29"), false),
            ("birthDate", json!("10.12.1815"), false),
            ("birthDate", json!("1815-12-10T00:00:00"), false),
            ("nationality", json!("ES"), true),
            ("nationality", json!("Española"), true),
            ("country", json!({ "code": "ES" }), false),
        ] {
            assert_eq!(
                guest_field_fault(field, &value, &CONTEXT).is_none(),
                is_fine,
                "{field} {value}"
            );
        }
    }

    #[test]
    fn every_wrong_field_of_every_guest_is_named() {
        let required = ["firstName", "email"];
        let wrong = json!({
            "guests": [
                { "firstName": "Ada", "email": "ada" },
                7,
                { "firstName": 1, "email": 2, "hat": 3 },
            ],
        });
        let expected = [
            json!(["guests", 0, "email"]),
            json!(["guests", 1]),
            json!(["guests", 2, "firstName"]),
            json!(["guests", 2, "email"]),
        ];
        assert_eq!(at_fault(&required, wrong.clone()), expected);
        assert!(at_fault(&[], wrong).is_empty(), "nothing is asked");
        for (guests, is_fine) in [
            (json!("Ana, Luis"), false),
            (json!({}), false),
            (json!(null), true),
            (json!([]), true),
        ] {
            assert_eq!(
                at_fault(&required, json!({ "guests": guests })).is_empty(),
                is_fine,
                "{guests}"
            );
            assert!(at_fault(&[], json!({ "guests": guests })).is_empty());
        }
        for required in [&required[..], &[]] {
            assert!(
                at_fault(
                    required,
                    json!({ "guests": vec![json!({}); MAX_OTHER_GUESTS] })
                )
                .is_empty()
            );
            assert_eq!(
                at_fault(
                    required,
                    json!({ "guests": vec![json!({}); MAX_OTHER_GUESTS + 1] })
                ),
                [json!(["guests"])]
            );
        }
    }

    #[test]
    fn the_other_guests_step_is_complete_with_all_guests() {
        let ada = json!({ "firstName": "Ada" });
        // Inputs: the required fields, the saved answers, the number of other guests. Result:
        // whether the step is complete.
        for (required, answers, others, is_complete) in [
            (&[][..], json!({}), None, true),
            (&[], json!({ "guests": "Ana" }), None, true),
            (&[], json!({}), Some(0), true),
            (&[], json!({}), Some(1), false),
            (&[], json!({ "guests": "Ana" }), Some(1), false),
            (&[], json!({ "guests": ["Ana"] }), Some(1), false),
            (&[], json!({ "guests": [{}] }), Some(1), true),
            (&["firstName"], json!({}), None, true),
            (&["firstName"], json!({ "guests": [ada, {}] }), None, false),
            (
                &["firstName"],
                json!({ "guests": [ada, {}] }),
                Some(1),
                false,
            ),
            (
                &["firstName"],
                json!({ "guests": [ada, ada] }),
                Some(1),
                true,
            ),
            (&["firstName"], json!({ "guests": [ada] }), Some(2), false),
            (
                &["firstName"],
                json!({ "guests": [ada, { "firstName": " " }] }),
                Some(2),
                false,
            ),
            (
                &["firstName"],
                json!({ "guests": [ada, "Luis"] }),
                Some(2),
                false,
            ),
            (
                &["firstName"],
                json!({ "guests": vec![ada.clone(); MAX_OTHER_GUESTS] }),
                Some(1_999),
                true,
            ),
        ] {
            let requirements = Requirements {
                required: required.to_vec(),
                rules: GuestFieldRules::default(),
                part: GuestPart::Others,
                check_in: None,
            };
            assert_eq!(
                are_complete(&requirements, &object(answers.clone()), others),
                is_complete,
                "{required:?} {answers} {others:?}"
            );
        }
    }

    /// Generates the fields of a guest. The value of a field is a number, or null to remove the
    /// field.
    fn guest() -> impl Strategy<Value = Object> {
        let field = prop::sample::select(vec!["firstName", "email", "hat"]).prop_map(str::to_owned);
        btree_map(field, prop::option::of(0..3_u8), 0..4).prop_map(|fields| {
            fields
                .into_iter()
                .map(|(name, value)| (name, json!(value)))
                .collect()
        })
    }

    proptest! {
        /// After a merge, a field has the value that was sent. A field that was not sent has its
        /// saved value. A field that was sent as null is removed.
        #[test]
        fn fields_that_are_not_sent_keep_their_saved_values(saved in guest(), sent in guest()) {
            let before = merge_guest_fields(None, saved);
            let after = merge_guest_fields(Some(&before), sent.clone());
            for field in ["firstName", "email", "hat"] {
                let expected = sent
                    .get(field)
                    .or(before.get(field))
                    .filter(|value| !value.is_null());
                prop_assert_eq!(after.get(field), expected);
            }
            prop_assert_eq!(
                merge_guest_fields(Some(&after), sent),
                after.clone(),
                "again changes nothing"
            );
            prop_assert_eq!(merge_guest_fields(Some(&after), Object::new()), after);
        }

        /// A list that a request sends without ids and names is merged with the saved list by
        /// position, if both have the same length. Each saved guest then has the same id as before.
        /// A list of another length replaces all guests. Without a list, nothing changes.
        #[test]
        fn guests_without_names_are_merged_by_place(
            saved in vec(guest(), 0..4),
            sent in prop::option::of(vec(guest(), 0..4)),
        ) {
            let saved: Vec<Value> = nameless(saved);
            let before = after(None, json!({ "guests": saved, "note": 1 }), false);
            let is_sent = sent
                .clone()
                .map_or_else(|| json!({}), |guests| json!({ "guests": nameless(guests) }));
            let result = after(Some(&before), is_sent, false);
            prop_assert_eq!(&result["note"], 1);
            let Some(sent) = sent else {
                prop_assert_eq!(&result, &before);
                return Ok(());
            };
            let (guests, known) = (
                result["guests"].as_array().unwrap(),
                before["guests"].as_array().unwrap(),
            );
            prop_assert_eq!(guests.len(), sent.len());
            for (place, guest) in guests.iter().enumerate() {
                let is_kept = guests.len() == known.len();
                prop_assert_eq!(
                    known.iter().any(|before| before["id"] == guest["id"]),
                    is_kept
                );
                if is_kept {
                    prop_assert_eq!(&guest["id"], &known[place]["id"]);
                }
            }
        }

        /// For every input, no guest gets a field of another guest, and the ids of guests are
        /// unique.
        #[test]
        fn guests_are_never_mixed(
            saved in vec(person(), 0..4),
            sent in vec((person(), prop::option::of(0..4_usize)), 0..4),
            is_change: bool,
        ) {
            let own = |people: &[u8]| -> Vec<Value> {
                people
                    .iter()
                    .map(|number| {
                        json!({
                            "firstName": format!("F{number}"),
                            "lastName": format!("L{number}"),
                            "birthDate": format!("B{number}"),
                        })
                    })
                    .collect()
            };
            let before = after(None, json!({ "guests": own(&saved) }), false);
            let known = before["guests"].as_array().unwrap().clone();
            let mut named = HashSet::new();
            let items: Vec<Value> = sent
                .iter()
                .map(|(number, place)| {
                    let id = place
                        .and_then(|place| known.get(place))
                        .filter(|guest| named.insert(guest["id"].to_string()));
                    match id {
                        Some(guest) => json!({
                            "id": guest["id"],
                            "email": guest["firstName"],
                        }),
                        None => json!({
                            "firstName": format!("F{number}"),
                            "lastName": format!("L{number}"),
                        }),
                    }
                })
                .collect();
            let result = after(Some(&before), json!({ "guests": items }), is_change);
            let mut ids = HashSet::new();
            for guest in result["guests"].as_array().unwrap() {
                let number = &guest["firstName"].as_str().unwrap()[1..];
                for (field, letter) in [("lastName", "L"), ("birthDate", "B"), ("email", "F")] {
                    let value = &guest[field];
                    prop_assert!(
                        value.is_null() || *value == json!(format!("{letter}{number}")),
                        "{guest}"
                    );
                }
                prop_assert!(ids.insert(guest["id"].to_string()));
            }
            if is_change || !named.is_empty() {
                for guest in &known {
                    prop_assert!(ids.contains(&guest["id"].to_string()), "nobody is lost");
                }
            }
        }
    }

    fn person() -> impl Strategy<Value = u8> {
        0..3_u8
    }

    /// Removes the first names of guests, so that guests are not matched by name.
    fn nameless(guests: Vec<Object>) -> Vec<Value> {
        let nameless = |mut guest: Object| {
            guest.remove("firstName");
            Value::Object(guest)
        };
        guests.into_iter().map(nameless).collect()
    }

    /// Merges `sent` into the saved answers and returns the result. The ids of new guests begin
    /// after a hundred times the number of saved guests, so they differ from the ids of saved
    /// guests.
    fn after(saved: Option<&Object>, sent: Value, is_change: bool) -> Object {
        let count = saved.map_or(0, |saved| saved["guests"].as_array().map_or(0, Vec::len));
        let mut next = u128::try_from(count).unwrap() * 100;
        let merging = MergeContext {
            saved,
            is_change,
            new_id: &mut || {
                next += 1;
                Uuid::from_u128(next)
            },
        };
        merge_other_guests(merging, object(sent)).unwrap()
    }

    #[test]
    fn a_shorter_list_does_not_give_a_guest_the_data_of_another() {
        let guest = |first: &str, last: &str| json!({ "firstName": first, "lastName": last });
        let with_birth = |first: &str, last: &str, birth: &str| {
            json!({
                "firstName": first,
                "lastName": last,
                "birthDate": birth,
            })
        };
        let saved = [
            with_birth("Ana", "A", "1990-01-01"),
            with_birth("Bob", "B", "1991-01-01"),
            with_birth("Cy", "C", "1992-01-01"),
        ];
        let before = after(None, json!({ "guests": saved }), false);
        let id = |place: usize| before["guests"][place]["id"].clone();
        let names = |result: &Object| -> Vec<Value> {
            let guests = result["guests"].as_array().unwrap().iter();
            guests
                .map(|guest| json!([guest["firstName"], guest["birthDate"], guest["id"]]))
                .collect()
        };
        let shorter = after(
            Some(&before),
            json!({ "guests": [guest("Ana", "A"), guest("cy ", "C")] }),
            false,
        );
        assert_eq!(
            names(&shorter),
            [
                json!(["Ana", "1990-01-01", id(0)]),
                json!(["cy ", "1992-01-01", id(2)])
            ]
        );
        let other = after(
            Some(&before),
            json!({ "guests": [guest("Ana", "A"), guest("Di", "D"), guest("Cy", "C")] }),
            false,
        );
        assert_eq!(names(&other)[1][1], Value::Null, "Di is not Bob");
        let swapped = after(
            Some(&before),
            json!({ "guests": [guest("Cy", "C"), guest("Bob", "B"), {}] }),
            false,
        );
        assert_eq!(names(&swapped)[0], json!(["Cy", "1992-01-01", id(2)]));
        assert_eq!(
            names(&swapped)[2][1],
            Value::Null,
            "Cy is taken, so the third guest is new"
        );
    }

    #[test]
    fn a_list_with_ids_names_only_what_changes() {
        let saved = json!({
            "guests": [{ "firstName": "Ana" }, { "firstName": "Bob", "email": "b@b.co" }],
        });
        let before = after(None, saved, false);
        let (ana, bob) = (
            before["guests"][0]["id"].clone(),
            before["guests"][1]["id"].clone(),
        );
        let changed = after(
            Some(&before),
            json!({
                "guests": [{ "id": bob, "email": null, "firstName": "Rob" }, { "firstName": "Cy" }],
            }),
            false,
        );
        let guests = changed["guests"].as_array().unwrap();
        assert_eq!(
            guests[..2],
            [
                json!({ "firstName": "Ana", "id": ana }),
                json!({ "firstName": "Rob", "id": bob })
            ]
        );
        assert_eq!((guests.len(), &guests[2]["firstName"]), (3, &json!("Cy")));
        let removed = after(
            Some(&before),
            json!({ "guests": [{ "id": ana, "isRemoved": true }] }),
            false,
        );
        assert_eq!(
            removed["guests"],
            json!([{ "firstName": "Bob", "email": "b@b.co", "id": bob }])
        );
        let twice = after(
            Some(&before),
            json!({ "guests": [{ "firstName": "Bob" }] }),
            true,
        );
        assert_eq!(
            twice["guests"], before["guests"],
            "a form that is sent twice adds one guest"
        );
        let paths = |items: Value| -> Vec<String> {
            let items = items.as_array().unwrap().clone();
            let issues = identity_issues(before["guests"].as_array().unwrap(), &items);
            issues
                .into_iter()
                .map(|issue| serde_json::to_string(&issue.path).unwrap())
                .collect()
        };
        assert_eq!(
            paths(json!([
                { "id": Uuid::nil() },
                { "id": 7 },
                { "id": ana },
                { "id": ana },
                { "isRemoved": true },
                { "id": bob, "isRemoved": 1 },
            ])),
            [
                r#"["guests",0,"id"]"#,
                r#"["guests",1,"id"]"#,
                r#"["guests",3,"id"]"#,
                r#"["guests",4,"isRemoved"]"#,
                r#"["guests",5,"isRemoved"]"#,
            ]
        );
    }
}
