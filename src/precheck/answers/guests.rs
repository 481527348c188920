//! What guests tell of themselves and of those who come with them: the fields a step requires, guest by guest.
//!
//! Only what a step requires is judged. A step that requires nothing takes any object, whatever it holds.

use std::collections::HashSet;

use engine::error::PathSegment;
use engine::format;
use engine::operation::Object;
use jiff::civil::Date;
use serde_json::Value;

use super::super::step::Step;
use super::{Found, Ground};

/// Guests that can be named besides the one who booked.
const MOST: usize = 50;
/// Characters in what a guest tells at the most.
const TEXT_LENGTH: usize = 500;

/// The fields that a step requires of each guest, in order, each once.
#[must_use]
pub fn required(step: &Step) -> Vec<&str> {
    let mut seen = HashSet::new();
    let named = step.write_only.required_guest_fields.iter().flatten().map(String::as_str);
    named.filter(|name| !name.trim().is_empty() && seen.insert(*name)).collect()
}

/// Whether a guest has told all that is required.
pub(super) fn is_told(required: &[&str], guest: &Object) -> bool {
    let is_there = |field: &&str| guest.get(*field).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    required.iter().all(is_there)
}

/// Whether all is told of each of the others, and of as many as come where that is known. More than can be named are not
/// waited for.
pub(super) fn are_told(required: &[&str], answers: &Object, others: Option<u32>) -> bool {
    let named = match answers.get("guests") {
        Some(Value::Array(guests)) => guests.as_slice(),
        _ => &[],
    };
    let told = named.iter().filter(|guest| guest.as_object().is_some_and(|guest| is_told(required, guest))).count();
    let is_enough = others.is_none_or(|others| usize::try_from(others).is_ok_and(|others| told >= others.min(MOST)));
    is_enough && (required.is_empty() || told == named.len())
}

/// The fields that were saved with those that are sent in their place; one that is sent as null is gone.
pub(super) fn merged(saved: Option<&Object>, sent: Object) -> Object {
    let mut merged = saved.cloned().unwrap_or_default();
    for (name, value) in sent {
        if value.is_null() {
            merged.remove(&name);
        } else {
            merged.insert(name, value);
        }
    }
    merged
}

/// The same, and guest by guest, each found by its place: there are as many as are sent, and what is not sent of one is kept.
pub(super) fn merged_all(saved: Option<&Object>, mut sent: Object) -> Object {
    if let Some(Value::Array(guests)) = sent.get_mut("guests") {
        let before = saved.and_then(|saved| saved.get("guests")).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (place, guest) in guests.iter_mut().enumerate() {
            if let Value::Object(fields) = guest {
                *fields = merged(before.get(place).and_then(Value::as_object), std::mem::take(fields));
            }
        }
    }
    merged(saved, sent)
}

/// Notes what is wrong with the fields that a guest tells, which stand at `path`.
pub(super) fn judge(required: &[&str], guest: &Object, path: &[PathSegment], ground: &Ground<'_>, found: &mut Found) {
    for field in required {
        if let Some(message) = guest.get(*field).and_then(|value| fault(field, value, ground)) {
            found.add_at([path, &[PathSegment::from(*field)]].concat(), message);
        }
    }
}

/// Notes what is wrong with what is told of the others.
pub(super) fn judge_all(required: &[&str], sent: &Object, ground: &Ground<'_>, found: &mut Found) {
    match sent.get("guests") {
        Some(Value::Array(guests)) if guests.len() > MOST => found.add(&["guests"], "must have at most 50 items"),
        Some(_) if required.is_empty() => {}
        None | Some(Value::Null) => {}
        Some(Value::Array(guests)) => {
            for (place, guest) in guests.iter().enumerate() {
                let path = [PathSegment::from("guests"), place.into()];
                match guest {
                    Value::Object(fields) => judge(required, fields, &path, ground, found),
                    _ => found.add_at(path.to_vec(), "must be of type object"),
                }
            }
        }
        Some(_) => found.add(&["guests"], "must be of type array"),
    }
}

/// What is wrong with the value of a field. A blank one is one that is missing yet.
#[must_use]
pub fn fault(field: &str, value: &Value, ground: &Ground<'_>) -> Option<&'static str> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) if text.chars().count() > TEXT_LENGTH => return Some("must have at most 500 characters"),
        Value::String(text) => text.trim(),
        _ => return Some("must be of type string"),
    };
    match field {
        _ if text.is_empty() => None,
        "email" => (!format::is_email(text)).then_some("must be a mail address"),
        "phone" => (!is_phone(text, ground.country)).then_some("is not a valid phone number"),
        "birthDate" => match text.parse::<Date>() {
            Ok(date) if format::is_date(text) => (date > ground.today).then_some("must not be in the future"),
            _ => Some("must be a date such as 1990-11-21"),
        },
        _ => None,
    }
}

/// A number that names its country is held against that country's plan. A guest comes from anywhere, so any other is held
/// against that of the organization, and else only has to look like one.
fn is_phone(text: &str, country: &str) -> bool {
    let is_international = ["+", "\u{ff0b}", "00"].iter().any(|prefix| text.starts_with(prefix));
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let looks_like_one = || (6..=15).contains(&digits) && text.chars().all(|c| c.is_ascii_digit() || " ()-./\u{a0}".contains(c));
    format::phone(text, country).is_some() || (!is_international && looks_like_one())
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const GROUND: Ground<'_> = Ground { today: Date::constant(2026, 11, 21), country: "ES", waivers: &[] };

    fn object(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    fn at_fault(required: &[&str], sent: Value) -> Vec<Value> {
        let mut found = Found::default();
        judge_all(required, &object(sent), &GROUND, &mut found);
        found.0.into_iter().map(|issue| json!(issue.path)).collect()
    }

    #[test]
    fn what_is_required_is_asked_once_and_in_order() {
        let mut step = Step::default();
        assert!(required(&step).is_empty());
        step.write_only.required_guest_fields = Some(["email", "lastName", "email", " ", "shoe size"].map(String::from).to_vec());
        assert_eq!(required(&step), ["email", "lastName", "shoe size"]);
    }

    #[test]
    fn a_value_is_judged_by_what_it_is_known_to_be() {
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
            ("birthDate", json!("1815-12-10"), true),
            ("birthDate", json!("2026-11-21"), true),
            ("birthDate", json!("2026-11-22"), false),
            ("birthDate", json!("2023-02-29"), false),
            ("birthDate", json!("10.12.1815"), false),
            ("birthDate", json!("1815-12-10T00:00:00"), false),
            ("nationality", json!("ES"), true),
            ("nationality", json!("Española"), true),
            ("country", json!({ "code": "ES" }), false),
        ] {
            assert_eq!(fault(field, &value, &GROUND).is_none(), is_fine, "{field} {value}");
        }
    }

    #[test]
    fn every_wrong_field_of_every_guest_is_named() {
        let required = ["firstName", "email"];
        let wrong = json!({ "guests": [{ "firstName": "Ada", "email": "ada" }, 7, { "firstName": 1, "email": 2, "hat": 3 }] });
        let expected =
            [json!(["guests", 0, "email"]), json!(["guests", 1]), json!(["guests", 2, "firstName"]), json!(["guests", 2, "email"])];
        assert_eq!(at_fault(&required, wrong.clone()), expected);
        assert!(at_fault(&[], wrong).is_empty(), "nothing is asked");
        for (guests, is_fine) in [(json!("Ana, Luis"), false), (json!({}), false), (json!(null), true), (json!([]), true)] {
            assert_eq!(at_fault(&required, json!({ "guests": guests })).is_empty(), is_fine, "{guests}");
            assert!(at_fault(&[], json!({ "guests": guests })).is_empty());
        }
        for required in [&required[..], &[]] {
            assert!(at_fault(required, json!({ "guests": vec![json!({}); MOST] })).is_empty());
            assert_eq!(at_fault(required, json!({ "guests": vec![json!({}); MOST + 1] })), [json!(["guests"])]);
        }
    }

    #[test]
    fn others_are_told_of_when_there_are_as_many_as_come() {
        let ada = json!({ "firstName": "Ada" });
        // What is required, what is saved, how many come → whether that is all.
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
            (&["firstName"], json!({ "guests": [ada, {}] }), Some(1), false),
            (&["firstName"], json!({ "guests": [ada, ada] }), Some(1), true),
            (&["firstName"], json!({ "guests": [ada] }), Some(2), false),
            (&["firstName"], json!({ "guests": [ada, { "firstName": " " }] }), Some(2), false),
            (&["firstName"], json!({ "guests": [ada, "Luis"] }), Some(2), false),
            (&["firstName"], json!({ "guests": vec![ada.clone(); MOST] }), Some(1_999), true),
        ] {
            assert_eq!(are_told(required, &object(answers.clone()), others), is_complete, "{required:?} {answers} {others:?}");
        }
    }

    /// The fields of a guest; a number stands for what was sent, nothing for null.
    fn guest() -> impl Strategy<Value = Object> {
        let field = prop::sample::select(vec!["firstName", "email", "hat"]).prop_map(str::to_owned);
        btree_map(field, prop::option::of(0..3_u8), 0..4)
            .prop_map(|fields| fields.into_iter().map(|(name, value)| (name, json!(value))).collect())
    }

    proptest! {
        /// Field by field: what is sent, else what was saved; and nothing that is null.
        #[test]
        fn what_is_not_sent_is_kept(saved in guest(), sent in guest()) {
            let before = merged(None, saved);
            let after = merged(Some(&before), sent.clone());
            for field in ["firstName", "email", "hat"] {
                let expected = sent.get(field).or(before.get(field)).filter(|value| !value.is_null());
                prop_assert_eq!(after.get(field), expected);
            }
            prop_assert_eq!(merged(Some(&after), sent), after.clone(), "again changes nothing");
            prop_assert_eq!(merged(Some(&after), Object::new()), after);
        }

        /// Guest by guest, as many as are sent; none sent leaves them alone.
        #[test]
        fn guests_are_merged_by_their_place(saved in vec(guest(), 0..4), sent in prop::option::of(vec(guest(), 0..4))) {
            let before = merged_all(None, object(json!({ "guests": saved, "note": 1 })));
            let is_sent = sent.as_ref().map_or_else(Object::new, |guests| object(json!({ "guests": guests })));
            let after = merged_all(Some(&before), is_sent);
            prop_assert_eq!(&after["note"], 1);
            let Some(sent) = sent else {
                prop_assert_eq!(&after, &before);
                return Ok(());
            };
            let expected: Vec<Object> = sent.into_iter().enumerate().map(|(place, guest)| {
                merged(before["guests"].get(place).and_then(Value::as_object), guest)
            }).collect();
            prop_assert_eq!(&after["guests"], &json!(expected));
        }
    }
}
