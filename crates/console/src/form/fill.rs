//! Converts values into form fields, and form fields into values. The form fields are those that a
//! browser sends when it submits a form with these values.
//!
//! In this list, `a` stands for the name of the field:
//! - A text, a number or a choice sends `a` once.
//! - A switch sends `a` if it is on, and always `a.here`.
//! - A choice of several values sends `a` for each chosen value, and always `a.here`. If the field
//!   may be null, it also sends `a.set` with `yes` or `no`.
//! - A list of texts, some of which are known, sends `a` for each chosen known text, always
//!   `a.here`, and `a.others` once with the other texts.
//! - An object sends each of its fields with a name that begins with the object's name, such as
//!   `a.b`.
//! - A list of objects sends the fields of each row. Their names contain the number of the row,
//!   such as `a.0.b`. For a row to remove, it also sends `a.0.remove`. A field whose value maps
//!   names to rules, such as `guestFieldRules`, sends the same: one row for each rule.
//!
//! If the read operation omits a field, the form cannot show its value. If such a field is sent
//! empty, the stored value does not change. `a.clear` deletes the value.

use features::precheck::NO_MAXIMUM;
use serde_json::{Map, Value, json};

use super::spec::{FieldSpec, InputKind, RULE_NAME_FIELD};
use crate::request::{ConsoleFields, first_value};

/// Maximum number of rows in one list of objects in a form.
const MOST_ROWS: usize = 200;

/// Numbers that mean "no limit", by the name of the field. A form shows such a number as an empty
/// field.
const NO_LIMIT: [(&str, u32); 1] = [("maxLos", NO_MAXIMUM)];

fn nothing_of(spec: &FieldSpec) -> Option<u32> {
    NO_LIMIT
        .iter()
        .find(|(name, _)| *name == spec.name)
        .map(|(_, none)| *none)
}

/// Adds the form fields that a browser sends if the form shows this value and the member does not
/// change it.
pub fn fill(spec: &FieldSpec, value: Option<&Value>, name: &str, fields: &mut ConsoleFields) {
    let mut push = |name: String, value: String| fields.push((name, value));
    match &spec.kind {
        // A single-line input cannot contain line ends.
        InputKind::Line(_) => push(name.into(), text(value).replace(['\r', '\n'], "")),
        InputKind::Area => push(name.into(), text(value).replace("\r\n", "\n")),
        InputKind::Suggested(known) => {
            let value = text(value);
            let label = known
                .iter()
                .find(|(known, _)| *known == value)
                .map(|(_, label)| label.clone());
            push(name.into(), label.unwrap_or(value));
        }
        InputKind::Number if nothing_of(spec).is_some_and(|none| value == Some(&json!(none))) => {
            push(name.into(), String::new());
        }
        InputKind::Number
        | InputKind::Choice(_)
        | InputKind::Colour
        | InputKind::Date
        | InputKind::Reference(_) => {
            push(name.into(), text(value));
        }
        InputKind::Text(_) => push(
            name.into(),
            text(value.and_then(|value| value.get("text"))).replace("\r\n", "\n"),
        ),
        InputKind::Switch if !is_plain_switch(spec) => push(name.into(), text(value)),
        InputKind::Switch => {
            push(presence_field(name), "1".into());
            if value == Some(&Value::Bool(true)) {
                push(name.into(), "true".into());
            }
        }
        InputKind::Choices(_) | InputKind::References(_) => {
            push(presence_field(name), "1".into());
            if spec.is_nullable {
                push(
                    format!("{name}.set"),
                    if value.is_none_or(Value::is_null) {
                        "no"
                    } else {
                        "yes"
                    }
                    .into(),
                );
            }
            value
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .for_each(|item| push(name.into(), text(Some(item))));
        }
        InputKind::Lines => {
            let lines: Vec<String> = value
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|item| text(Some(item)))
                .collect();
            push(name.into(), lines.join("\n"));
        }
        InputKind::Names(known) => {
            push(presence_field(name), "1".into());
            let items = value
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|item| text(Some(item)));
            let (ticked, others): (Vec<String>, Vec<String>) =
                items.partition(|item| known.contains(&item.as_str()));
            for item in ticked {
                push(name.into(), item);
            }
            push(other_texts_field(name), others.join("\n"));
        }
        InputKind::Pairs => {
            let pairs = value.and_then(Value::as_object).into_iter().flatten();
            push(
                name.into(),
                pairs
                    .map(|(name, value)| format!("{name} = {}", text(Some(value))))
                    .collect::<Vec<_>>()
                    .join("\n"),
            );
        }
        InputKind::Object(specs) => {
            for part in specs {
                fill(
                    part,
                    value.and_then(|value| value.get(&part.name)),
                    &format!("{name}.{}", part.name),
                    fields,
                );
            }
        }
        InputKind::Objects(specs) => {
            for (number, row) in value
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .enumerate()
            {
                for part in specs {
                    fill(
                        part,
                        row.get(&part.name),
                        &format!("{name}.{number}.{}", part.name),
                        fields,
                    );
                }
            }
        }
        InputKind::Rules(specs) => {
            let rules = value.and_then(Value::as_object).into_iter().flatten();
            for (number, (about, rule)) in rules.enumerate() {
                for part in specs {
                    let about = json!(about);
                    let value = if part.name == RULE_NAME_FIELD {
                        Some(&about)
                    } else {
                        rule.get(&part.name)
                    };
                    fill(
                        part,
                        value,
                        &format!("{name}.{number}.{}", part.name),
                        fields,
                    );
                }
            }
        }
        InputKind::Other => {}
    }
}

/// Reads the value of a field from a form. Returns `None` if the form leaves the stored value
/// unchanged.
pub fn read(spec: &FieldSpec, name: &str, fields: &ConsoleFields) -> Option<Value> {
    if !spec.is_readable && first_value(fields, &format!("{name}.clear")).is_some() {
        return Some(Value::Null);
    }
    let sent = first_value(fields, name);
    match &spec.kind {
        InputKind::Line(_) | InputKind::Area | InputKind::Colour | InputKind::Date => {
            sent.and_then(|sent| parsed(spec, sent, |sent| json!(sent)))
        }
        InputKind::Suggested(known) => sent.and_then(|sent| {
            parsed(spec, engine::typed::trim(sent), |sent| {
                json!(meant(known, sent))
            })
        }),
        InputKind::Reference(_) | InputKind::Choice(_) => {
            // If no option is selected, the field becomes null. If the field may not be null, the
            // stored value does not change.
            sent.filter(|sent| !sent.is_empty() || spec.is_nullable)
                .and_then(|sent| parsed(spec, sent, |sent| json!(sent)))
        }
        InputKind::Number => {
            sent.and_then(
                |sent| match nothing_of(spec).filter(|_| sent.trim().is_empty()) {
                    Some(none) => Some(json!(none)),
                    None => parsed(spec, sent.trim(), number),
                },
            )
        }
        InputKind::Text(_) => {
            let is_blank = |sent: &str| sent.trim().is_empty();
            sent.map(|sent| {
                if is_blank(sent) && spec.is_nullable {
                    Value::Null
                } else {
                    json!({ "text": sent })
                }
            })
            .filter(|value| spec.is_readable || !value.is_null())
        }
        InputKind::Switch if !is_plain_switch(spec) => match sent? {
            "true" => Some(json!(true)),
            "false" => Some(json!(false)),
            _ if spec.is_readable && spec.is_nullable => Some(Value::Null),
            _ => None,
        },
        InputKind::Switch => is_here(name, fields).then(|| json!(sent == Some("true"))),
        InputKind::Choices(_) | InputKind::References(_) => {
            let all: Vec<&str> = fields
                .iter()
                .filter(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
                .collect();
            let is_set =
                !spec.is_nullable || first_value(fields, &format!("{name}.set")) == Some("yes");
            let is_said = is_here(name, fields) && (spec.is_readable || !all.is_empty());
            is_said.then(|| if is_set { json!(all) } else { Value::Null })
        }
        InputKind::Lines => sent.and_then(|sent| {
            let lines: Vec<&str> = lines(sent).collect();
            if lines.is_empty() {
                nothing(spec, || json!([]))
            } else {
                Some(json!(lines))
            }
        }),
        InputKind::Names(_) if !is_here(name, fields) => None,
        InputKind::Names(known) => {
            let typed: Vec<&str> =
                lines(first_value(fields, &other_texts_field(name)).unwrap_or_default()).collect();
            let is_ticked = |item: &&str| {
                fields
                    .iter()
                    .any(|(field, value)| field == name && value == item)
            };
            let ticked = known
                .iter()
                .copied()
                .filter(|item| is_ticked(item) || typed.contains(item));
            let all: Vec<&str> = ticked
                .chain(typed.iter().copied().filter(|line| !known.contains(line)))
                .collect();
            if all.is_empty() {
                nothing(spec, || json!([]))
            } else {
                Some(json!(all))
            }
        }
        InputKind::Pairs => sent.and_then(|sent| {
            let pair = |line: &str| {
                line.split_once('=')
                    .map_or((line.to_owned(), Value::Null), |(name, text)| {
                        (name.trim().into(), json!(text.trim()))
                    })
            };
            let pairs: Map<String, Value> = lines(sent).map(pair).collect();
            if pairs.is_empty() {
                nothing(spec, || json!({}))
            } else {
                Some(pairs.into())
            }
        }),
        InputKind::Object(specs) => {
            let parts = specs.iter().filter_map(|part| {
                let value = read(part, &format!("{name}.{}", part.name), fields)
                    .filter(|value| !value.is_null() && value != "")?;
                Some((part.name.clone(), value))
            });
            let parts: Map<String, Value> = parts.collect();
            if parts.is_empty() {
                nothing(spec, || json!({}))
            } else {
                Some(parts.into())
            }
        }
        InputKind::Rules(specs) => {
            let rules = objects(specs, name, fields)
                .into_iter()
                .map(|(_, mut rule)| {
                    let about = rule.remove(RULE_NAME_FIELD);
                    (text(about.as_ref()), Value::Object(rule))
                });
            let rules: Map<String, Value> = rules.collect();
            if rules.is_empty() {
                nothing(spec, || json!({}))
            } else {
                Some(rules.into())
            }
        }
        InputKind::Objects(specs) => {
            let rows = objects(specs, name, fields).into_iter();
            let rows: Vec<Map<String, Value>> = rows.map(|(_, row)| row).collect();
            if rows.is_empty() {
                nothing(spec, || json!([]))
            } else {
                Some(json!(rows))
            }
        }
        InputKind::Other => None,
    }
}

/// Returns whether a value shows that the member filled in its row. An unticked checkbox is no such
/// value. The browser sends the hidden field `….here` for each checkbox, so every empty row has
/// one.
fn is_filled_in(spec: &FieldSpec, value: &Value) -> bool {
    !(is_plain_switch(spec) && *value == Value::Bool(false))
}

/// Returns the known value that a typed text means: the value that equals the text, or the value
/// whose label equals it. Returns the text itself if there is no such value.
fn meant<'t>(known: &'t [(String, String)], typed: &'t str) -> &'t str {
    let is_label = |label: &str| label.to_lowercase() == typed.to_lowercase();
    known
        .iter()
        .find(|(value, _)| value == typed)
        .or_else(|| known.iter().find(|(_, label)| is_label(label)))
        .map_or(typed, |(value, _)| value.as_str())
}

/// Returns the name in one row of a list of rules. The rule applies to the field or check of this
/// name, such as the guest field `phone`. Returns an empty text if the row has no name.
pub fn subject(specs: &[FieldSpec], row: &str, fields: &ConsoleFields) -> String {
    let about = specs.iter().find(|part| part.name == RULE_NAME_FIELD);
    let about = about.and_then(|part| read(part, &format!("{row}.{RULE_NAME_FIELD}"), fields));
    text(about.as_ref())
}

/// Returns, for each row of a list of rules, the row's number and the name of the thing that the
/// rule applies to, such as a guest field. The name is the value of the field [`RULE_NAME_FIELD`].
/// It may be empty.
pub fn subjects(specs: &[FieldSpec], name: &str, fields: &ConsoleFields) -> Vec<(usize, String)> {
    objects(specs, name, fields)
        .into_iter()
        .map(|(number, rule)| (number, text(rule.get(RULE_NAME_FIELD))))
        .collect()
}

/// Reads the rows of a list of objects, each with its number. Omits empty rows, and rows that the
/// member removes.
fn objects(
    specs: &[FieldSpec],
    name: &str,
    fields: &ConsoleFields,
) -> Vec<(usize, Map<String, Value>)> {
    let row = |number: usize| -> Option<(usize, Map<String, Value>)> {
        if first_value(fields, &removal_field(&format!("{name}.{number}"))).is_some() {
            return None;
        }
        let parts = specs.iter().filter_map(|part| {
            let value = read(part, &format!("{name}.{number}.{}", part.name), fields)?;
            (!value.is_null() && value != "").then_some((part, value))
        });
        let parts: Vec<(&FieldSpec, Value)> = parts.collect();
        let is_row = parts.iter().any(|(part, value)| is_filled_in(part, value));
        let named = parts
            .into_iter()
            .map(|(part, value)| (part.name.clone(), value));
        is_row.then(|| (number, named.collect()))
    };
    (0..rows(name, fields)).filter_map(row).collect()
}

/// Returns the number of rows that a list of objects has in a form.
pub fn rows(name: &str, fields: &ConsoleFields) -> usize {
    let number = |field: &str| {
        field
            .strip_prefix(name)?
            .strip_prefix('.')?
            .split('.')
            .next()?
            .parse::<usize>()
            .ok()
    };
    fields
        .iter()
        .filter_map(|(field, _)| number(field))
        .max()
        .map_or(0, |last| last.saturating_add(1).min(MOST_ROWS))
}

/// Returns whether a switch is shown as a single checkbox. This requires that its field cannot be
/// null, and that the read operation returns the field.
pub fn is_plain_switch(spec: &FieldSpec) -> bool {
    spec.is_readable && !spec.is_nullable
}

/// Returns the name of the hidden field that tells the console that the form contains a field. It
/// is needed because a browser sends nothing for an unticked checkbox.
pub fn presence_field(name: &str) -> String {
    format!("{name}.here")
}

/// Returns the name of the checkbox that removes a row.
pub fn removal_field(row: &str) -> String {
    format!("{row}.remove")
}

/// Returns the name of the text area for a list field that offers known texts. In this text area
/// the member types the texts of the list that are not among the known ones.
pub fn other_texts_field(name: &str) -> String {
    format!("{name}.others")
}

fn lines(sent: &str) -> impl Iterator<Item = &str> {
    sent.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn is_here(name: &str, fields: &ConsoleFields) -> bool {
    first_value(fields, &presence_field(name)).is_some()
}

/// Converts a text from the form by calling `value`. An empty text becomes null if the field may be
/// null, and otherwise stays an empty text. Returns `None` for an empty text if the form cannot
/// show the stored value, so that the stored value does not change.
fn parsed(spec: &FieldSpec, sent: &str, value: impl Fn(&str) -> Value) -> Option<Value> {
    if sent.is_empty() {
        nothing(spec, || json!(""))
    } else {
        Some(value(sent))
    }
}

fn nothing(spec: &FieldSpec, empty: impl FnOnce() -> Value) -> Option<Value> {
    match (spec.is_readable, spec.is_nullable) {
        (false, _) => None,
        (true, true) => Some(Value::Null),
        (true, false) => Some(empty()),
    }
}

/// Returns the number that a text contains. If the text is not a number, returns the text, so that
/// the operation refuses it with a message.
fn number(sent: &str) -> Value {
    sent.parse::<i64>()
        .map_or_else(|_| json!(sent), |number| json!(number))
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spec(kind: InputKind, is_nullable: bool, is_readable: bool) -> FieldSpec {
        let (name, summary) = ("field".to_owned(), String::new());
        FieldSpec {
            name,
            custom_label: None,
            summary,
            kind,
            is_nullable,
            is_required: false,
            is_readable,
            when: None,
            needs: None,
            linked_by: None,
            place: None,
        }
    }

    fn again(spec: &FieldSpec, value: &Value) -> Option<Value> {
        let mut fields = ConsoleFields::new();
        fill(spec, Some(value), "field", &mut fields);
        read(spec, "field", &fields)
    }

    #[test]
    fn untouched_fields_keep_their_values() {
        let windows = || InputKind::Objects(vec![spec(InputKind::Date, false, true)]);
        let rules = || {
            let (mut about, mut day) = (
                spec(InputKind::Line("text"), true, true),
                spec(InputKind::Date, true, true),
            );
            (about.name, day.name) = (RULE_NAME_FIELD.into(), "field2".into());
            InputKind::Rules(vec![about, day])
        };
        for (kind, is_nullable, value) in [
            (InputKind::Line("text"), false, json!("a")),
            (InputKind::Line("text"), true, json!(null)),
            (InputKind::Area, true, json!("a\nb\n")),
            (InputKind::Number, true, json!(7)),
            (InputKind::Number, true, json!(null)),
            (InputKind::Switch, false, json!(true)),
            (InputKind::Switch, false, json!(false)),
            (InputKind::Switch, true, json!(null)),
            (InputKind::Switch, true, json!(false)),
            (InputKind::Choice(vec!["a".into()]), true, json!("a")),
            (InputKind::Choice(vec!["a".into()]), true, json!(null)),
            (
                InputKind::Choices(vec!["a".into(), "b".into()]),
                true,
                json!([]),
            ),
            (
                InputKind::Choices(vec!["a".into(), "b".into()]),
                true,
                json!(null),
            ),
            (
                InputKind::Choices(vec!["a".into(), "b".into()]),
                true,
                json!(["b"]),
            ),
            (InputKind::Lines, false, json!(["a b", "c"])),
            (InputKind::Lines, true, json!(null)),
            (
                InputKind::Names(&["a", "b"]),
                true,
                json!(["a", "b", "c d"]),
            ),
            (InputKind::Names(&["a", "b"]), false, json!([])),
            (InputKind::Names(&["a", "b"]), true, json!(null)),
            (InputKind::Pairs, true, json!({ "a": "b = c" })),
            (windows(), false, json!([{ "field": "2026-01-01" }])),
            (windows(), false, json!([])),
            (
                rules(),
                false,
                json!({ "phone": { "field2": "2026-01-01" }, "email": {} }),
            ),
        ] {
            assert_eq!(
                again(&spec(kind.clone(), is_nullable, true), &value),
                Some(value),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn values_that_a_field_cannot_show_are_kept_or_cleared() {
        let choice = InputKind::Choice(vec!["a".into()]);
        for kind in [
            InputKind::Line("text"),
            InputKind::Area,
            InputKind::Number,
            InputKind::Switch,
            choice,
            InputKind::Lines,
            InputKind::Names(&["a"]),
            InputKind::Pairs,
        ] {
            let spec = spec(kind, true, false);
            assert_eq!(again(&spec, &json!(null)), None, "{spec:?}");
            assert_eq!(
                read(&spec, "field", &vec![("field.clear".into(), "1".into())]),
                Some(json!(null))
            );
        }
        let switch = spec(InputKind::Switch, false, false);
        assert_eq!(
            read(&switch, "field", &vec![("field".into(), "false".into())]),
            Some(json!(false))
        );
    }

    #[test]
    fn a_row_with_only_an_unticked_box_is_blank() {
        let (mut day, mut is_yearly) = (
            spec(InputKind::Date, false, true),
            spec(InputKind::Switch, false, true),
        );
        (day.name, is_yearly.name) = ("day".into(), "isYearly".into());
        let windows = spec(InputKind::Objects(vec![day, is_yearly]), false, true);
        let sent = [
            ("field.0.day", "2026-01-01"),
            ("field.0.isYearly.here", "1"),
            ("field.1.day", ""),
            ("field.1.isYearly.here", "1"),
            ("field.2.day", ""),
            ("field.2.isYearly.here", "1"),
            ("field.2.isYearly", "true"),
        ];
        let sent: ConsoleFields = sent
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        assert_eq!(
            read(&windows, "field", &sent),
            Some(json!([{ "day": "2026-01-01", "isYearly": false }, { "isYearly": true }]))
        );
    }

    #[test]
    fn known_names_are_checkboxes_and_other_names_are_typed() {
        let spec = spec(InputKind::Names(&["a", "b", "c"]), true, false);
        let sent = [
            ("field.here", "1"),
            ("field", "c"),
            ("field", "a"),
            ("field.others", " d e \n\nb\n"),
        ];
        let sent: ConsoleFields = sent
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        assert_eq!(
            read(&spec, "field", &sent),
            Some(json!(["a", "b", "c", "d e"]))
        );
    }

    /// Returns the specification of a field whose value is an object: the keys are names of guest
    /// details, and the value of a key is the rule for that detail. The form suggests the keys
    /// `phone` and `Plate`.
    fn rules() -> FieldSpec {
        let known = [("phone", "Phone"), ("Plate", "Plate")];
        let known = known.map(|(value, label)| (value.to_owned(), label.to_owned()));
        let (mut about, mut age) = (
            spec(InputKind::Suggested(known.into()), true, true),
            spec(InputKind::Number, true, true),
        );
        (about.name, age.name) = (RULE_NAME_FIELD.into(), "age".into());
        spec(InputKind::Rules(vec![about, age]), true, true)
    }

    #[test]
    fn a_suggested_value_is_shown_and_typed_by_its_label() {
        let stored = json!({ "phone": { "age": 3 }, "Plate": {}, "shoe size": { "age": 4 } });
        assert_eq!(again(&rules(), &stored), Some(stored.clone()));
        let mut shown = ConsoleFields::new();
        fill(&rules(), Some(&stored), "field", &mut shown);
        let of = |name: &str| first_value(&shown, name).map(str::to_owned);
        assert_eq!(of("field.1.field").as_deref(), Some("Phone"));
        let typed = |text: &str| {
            let sent = vec![("field.0.field".to_owned(), text.to_owned())];
            read(&rules(), "field", &sent).unwrap()
        };
        for (text, about) in [
            ("Phone", "phone"),
            (" PHONE ", "phone"),
            ("phone", "phone"),
            ("Fax", "Fax"),
        ] {
            assert_eq!(typed(text), json!({ about: {} }), "{text}");
        }
        assert_eq!(typed("\u{200b}"), Value::Null);
    }

    #[test]
    fn a_removed_rule_is_omitted() {
        let mut sent = ConsoleFields::new();
        let stored = json!({ "phone": { "age": 3 }, "Plate": {} });
        fill(&rules(), Some(&stored), "field", &mut sent);
        sent.push((removal_field("field.1"), "1".to_owned()));
        assert_eq!(read(&rules(), "field", &sent), Some(json!({ "Plate": {} })));
        sent.push((removal_field("field.0"), "1".to_owned()));
        assert_eq!(read(&rules(), "field", &sent), Some(Value::Null));
    }

    #[test]
    fn an_invalid_number_is_sent_as_typed() {
        let spec = spec(InputKind::Number, true, true);
        for (typed, expected) in [
            (" 7 ", json!(7)),
            ("7.5", json!("7.5")),
            ("seven", json!("seven")),
            ("", json!(null)),
        ] {
            assert_eq!(
                read(&spec, "field", &vec![("field".into(), typed.into())]),
                Some(expected)
            );
        }
    }

    #[test]
    fn a_number_that_means_no_limit_is_shown_empty() {
        let spec = FieldSpec {
            name: "maxLos".into(),
            ..spec(InputKind::Number, false, true)
        };
        let shown = |value: Value| {
            let mut fields = ConsoleFields::new();
            fill(&spec, Some(&value), "field", &mut fields);
            fields
        };
        assert_eq!(shown(json!(1_000)), [("field".to_owned(), String::new())]);
        for value in [json!(1_000), json!(999), json!(0)] {
            assert_eq!(read(&spec, "field", &shown(value.clone())), Some(value));
        }
    }

    #[test]
    fn a_field_missing_from_the_form_is_not_sent() {
        for kind in [
            InputKind::Switch,
            InputKind::Choices(vec!["a".into()]),
            InputKind::Line("text"),
            InputKind::Lines,
        ] {
            assert_eq!(
                read(&spec(kind, false, true), "field", &ConsoleFields::new()),
                None
            );
        }
    }

    proptest! {
        /// If the member changes nothing in a form, sending the form changes no stored value.
        #[test]
        fn an_untouched_form_changes_nothing(
            text in "\\PC{0,40}",
            number: i32,
            lines in prop::collection::vec("[a-z][a-z ]{0,6}[a-z]", 0..4),
        ) {
            prop_assert_eq!(
                again(&spec(InputKind::Line("text"), false, true), &json!(text)),
                Some(json!(text))
            );
            prop_assert_eq!(
                again(&spec(InputKind::Number, false, true), &json!(number)),
                Some(json!(number))
            );
            prop_assert_eq!(
                again(&spec(InputKind::Lines, false, true), &json!(lines)),
                Some(json!(lines))
            );
        }

        #[test]
        fn reading_arbitrary_form_fields_never_panics(
            fields in prop::collection::vec(("field(\\.[a-z0-9]{1,5}){0,2}", ".{0,12}"), 0..8),
        ) {
            let rows = InputKind::Objects(vec![spec(InputKind::Number, false, true)]);
            for kind in [
                InputKind::Number,
                InputKind::Switch,
                InputKind::Lines,
                InputKind::Names(&["a"]),
                InputKind::Pairs,
                InputKind::Choices(Vec::new()),
                rows,
            ] {
                read(&spec(kind, true, true), "field", &fields);
            }
        }
    }
}
