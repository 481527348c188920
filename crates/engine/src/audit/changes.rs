//! Computes the changes that an audit row records. The functions are pure, and their output is
//! bounded.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AuditFields, AuditedObject};

/// The maximum number of bytes of a value that a change records, as JSON. A longer value is
/// shortened.
const MAX_VALUE_BYTES: usize = 2_000;
/// The number of characters to which an overlong text is cut.
const KEPT_CHARACTERS: usize = 400;
/// The maximum number of bytes of all recorded changes in one audit entry. If changes are left out,
/// the entry has one more change with their number. Its bytes are not counted.
const MAX_BYTES: usize = 16_000;
/// The maximum number of changes in one audit entry. If changes are left out, the entry has one
/// more change, which contains the number of changes that were left out.
const MAX_CHANGES: usize = 100;
/// The field name of the last change in an audit entry that exceeds [`MAX_CHANGES`] or
/// [`MAX_BYTES`]. That change records the number of changes that the entry leaves out.
const REST: &str = "…";

/// Fields that are not recorded as changes, because every audit entry has the id of the object and
/// the time of the write.
const BOOKKEEPING: [&str; 3] = ["id", "createdAt", "updatedAt"];
/// The field that every update of an object changes.
const UPDATED_AT: &str = "updatedAt";

/// A changed field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct Change {
    /// The name of the field.
    pub field: String,
    /// The value before the change; null if there was none. For assignments: the removed
    /// assignments.
    pub before: Value,
    /// The value after the change; null if there is none. For assignments: the added assignments.
    /// If both values are null, the field was written, but its value is not shown.
    pub after: Value,
}

impl Change {
    /// Creates a change from no value to `after`.
    #[must_use]
    pub fn to(field: &str, after: Value) -> Self {
        Self {
            field: field.to_owned(),
            before: Value::Null,
            after,
        }
    }

    /// Creates a change that records the name of the field but not its value.
    #[must_use]
    pub fn withheld(field: &str) -> Self {
        Self::to(field, Value::Null)
    }

    fn length(&self) -> usize {
        self.field.len() + length(&self.before) + length(&self.after)
    }
}

/// Returns the changes of a create: the sent fields, with their values in the answer. For a field
/// that the answer lacks, returns the sent value if `tells` lists the field, and otherwise only the
/// field's name.
#[must_use]
pub fn created<'s>(
    sent: impl Iterator<Item = (&'s String, &'s Value)>,
    answer: &Value,
    tells: &[&str],
) -> Vec<Change> {
    let change = |(name, value): (&String, &Value)| {
        let value_in_answer = answer.get(name).filter(|value| !is_empty(value));
        let value_in_answer =
            value_in_answer.or_else(|| tells.contains(&name.as_str()).then_some(value));
        value_in_answer.map_or_else(
            || Change::withheld(name),
            |value| Change::to(name, value.clone()),
        )
    };
    sent.filter(|(_, value)| !is_empty(value))
        .map(change)
        .collect()
}

/// Compares two states of an object, and returns the fields that differ, sorted by name. A state is
/// `None` if the object does not exist. Returns `None` if the states are equal. Returns an empty
/// list if the object was created, deleted or updated, but no recorded field differs.
#[must_use]
pub fn difference(
    before: Option<&AuditedObject>,
    after: Option<&AuditedObject>,
) -> Option<Vec<Change>> {
    let of = |thing: Option<&AuditedObject>, fields: fn(&AuditedObject) -> &AuditFields| {
        thing.map(|thing| fields(thing).clone()).unwrap_or_default()
    };
    let pairs =
        |fields: fn(&AuditedObject) -> &AuditFields| pairs(of(before, fields), of(after, fields));
    let visible_changes =
        pairs(|thing| &thing.shown).filter(|(name, ..)| !BOOKKEEPING.contains(&name.as_str()));
    let visible_changes = visible_changes.map(|(field, before, after)| Change {
        field,
        before,
        after,
    });
    let withheld = pairs(|thing| &thing.withheld).map(|(field, ..)| Change::withheld(&field));
    let sets = pairs(|thing| &thing.sets).map(|(field, before, after)| {
        let (removed, added) = (without(before.clone(), &after), without(after, &before));
        let [before, after] =
            [removed, added].map(|items| if is_empty(&items) { Value::Null } else { items });
        Change {
            field,
            before,
            after,
        }
    });
    let mut changes: Vec<Change> = visible_changes.chain(withheld).chain(sets).collect();
    changes.sort_by(|one, other| one.field.cmp(&other.field));
    let was_updated = before.and_then(|thing| thing.shown.get(UPDATED_AT))
        != after.and_then(|thing| thing.shown.get(UPDATED_AT));
    let was_created_or_deleted = before.is_some() != after.is_some();
    (!changes.is_empty() || was_updated || was_created_or_deleted).then_some(changes)
}

/// Returns a change for each field whose name is in `tells`. The change has the value of the field
/// in the input, or else its value in the answer. Omits a field whose value is missing or empty in
/// both.
#[must_use]
pub fn recorded(tells: &[&str], input: &Value, answer: &Value) -> Vec<Change> {
    let value = |name: &str| {
        [input, answer]
            .into_iter()
            .filter_map(|fields| fields.get(name))
            .find(|value| !is_empty(value))
    };
    tells
        .iter()
        .filter_map(|name| value(name).map(|value| Change::to(name, value.clone())))
        .collect()
}

/// Limits the changes to the size of an audit entry. Cuts long values, and replaces the changes
/// beyond the limits by one change with their number.
pub(super) fn bounded(changes: Vec<Change>) -> Vec<Change> {
    let count = changes.len();
    let (mut bounded, mut size) = (Vec::with_capacity(count.min(MAX_CHANGES)), 0);
    for Change {
        field,
        before,
        after,
    } in changes.into_iter().take(MAX_CHANGES)
    {
        let change = Change {
            field: cut_text(&field),
            before: cut(&before, &after),
            after: cut(&after, &before),
        };
        size += change.length();
        if size > MAX_BYTES {
            break;
        }
        bounded.push(change);
    }
    let rest = count - bounded.len();
    if rest > 0 {
        bounded.push(Change::to(REST, format!("{rest} more fields").into()));
    }
    bounded
}

/// Returns the fields that differ, each with the value before and the value after.
fn pairs(
    mut before: AuditFields,
    mut after: AuditFields,
) -> impl Iterator<Item = (String, Value, Value)> {
    let names: Vec<String> = before
        .keys()
        .chain(after.keys())
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .cloned()
        .collect();
    names.into_iter().filter_map(move |name| {
        let take = |fields: &mut AuditFields| {
            fields
                .remove(&name)
                .filter(|value| !is_empty(value))
                .unwrap_or_default()
        };
        let (before, after) = (take(&mut before), take(&mut after));
        (before != after).then_some((name, before, after))
    })
}

/// Returns whether a value is null or empty. The audit log treats a field with such a value as
/// missing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Shortens a value to [`MAX_VALUE_BYTES`]. `other` is the value of the same field on the other
/// side of the change. A long list is shortened to its first items that are not in `other`, or to
/// its first items if all are in `other`. The last item of a shortened list is a text with the
/// number of omitted items.
fn cut(value: &Value, other: &Value) -> Value {
    if length(value) <= MAX_VALUE_BYTES {
        return value.clone();
    }
    match value {
        Value::String(text) => cut_text(text).into(),
        Value::Array(items) => {
            let not_in_other = without(value.clone(), other);
            cut_list(
                items,
                if is_empty(&not_in_other) {
                    value
                } else {
                    &not_in_other
                },
            )
        }
        other => cut_text(&other.to_string()).into(),
    }
}

fn cut_list(all: &[Value], preferred: &Value) -> Value {
    let (mut items_kept, mut size) = (Vec::new(), 0);
    for item in preferred.as_array().into_iter().flatten() {
        let item = if length(item) > KEPT_CHARACTERS {
            cut_text(&text_of(item)).into()
        } else {
            item.clone()
        };
        size += length(&item) + 1;
        if size > MAX_VALUE_BYTES {
            break;
        }
        items_kept.push(item);
    }
    let rest = all.len() - items_kept.len();
    if rest > 0 {
        items_kept.push(format!("… {rest} more").into());
    }
    Value::Array(items_kept)
}

/// Returns the items of `value` that `other` lacks. Returns `value` unchanged if one of them is not
/// a list.
fn without(value: Value, other: &Value) -> Value {
    let (Value::Array(items), Value::Array(others)) = (&value, other) else {
        return value;
    };
    let in_other: HashSet<String> = others.iter().map(Value::to_string).collect();
    items
        .iter()
        .filter(|item| !in_other.contains(&item.to_string()))
        .cloned()
        .collect()
}

fn cut_text(text: &str) -> String {
    let count = text.chars().count();
    if count <= KEPT_CHARACTERS {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(KEPT_CHARACTERS).collect();
    format!("{beginning}… ({count} characters)")
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 24,
        other => other.to_string().len(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn fields(value: &Value) -> AuditFields {
        value.as_object().cloned().unwrap_or_default()
    }

    fn thing(shown: &Value) -> AuditedObject {
        AuditedObject {
            shown: fields(shown),
            ..AuditedObject::default()
        }
    }

    fn change(field: &str, before: Value, after: Value) -> Change {
        Change {
            field: field.into(),
            before,
            after,
        }
    }

    #[test]
    fn changed_fields_are_recorded_with_old_and_new_values() {
        let before = thing(&json!({
            "id": 1,
            "name": "Casa",
            "note": null,
            "tags": [],
            "isActive": true,
            "updatedAt": 1,
        }));
        let after = thing(
            &json!({ "id": 1, "name": "Azul", "note": "x", "isActive": false, "updatedAt": 2 }),
        );
        let changes = vec![
            change("isActive", json!(true), json!(false)),
            change("name", json!("Casa"), json!("Azul")),
            change("note", json!(null), json!("x")),
        ];
        assert_eq!(difference(Some(&before), Some(&after)), Some(changes));
        let deletion = vec![
            change("isActive", json!(true), json!(null)),
            change("name", json!("Casa"), json!(null)),
        ];
        assert_eq!(difference(Some(&before), None), Some(deletion));
        assert_eq!(difference(Some(&before), Some(&before)), None);
        assert_eq!(difference(None, None), None);
        let updated = thing(&json!({ "id": 1, "name": "Casa", "isActive": true, "updatedAt": 2 }));
        assert_eq!(difference(Some(&before), Some(&updated)), Some(Vec::new()));
    }

    #[test]
    fn a_changed_set_records_removed_and_added_members() {
        let of = |ids: Value| AuditedObject {
            sets: fields(&json!({ "ids": ids })),
            ..AuditedObject::default()
        };
        let changes = difference(Some(&of(json!([1, 2, 3]))), Some(&of(json!([4, 3, 1]))));
        assert_eq!(changes, Some(vec![change("ids", json!([2]), json!([4]))]));
    }

    #[test]
    fn a_created_object_records_the_answered_values() {
        let sent = json!({
            "name": " Casa ",
            "secret": "s",
            "note": null,
            "tags": [],
            "questions": [1],
            "empty": "",
        });
        let answer = json!({ "id": 7, "name": "Casa", "questions": [], "isActive": false });
        let changes = vec![
            change("name", json!(null), json!("Casa")),
            change("questions", json!(null), json!([1])),
            Change::withheld("secret"),
        ];
        assert_eq!(
            created(fields(&sent).iter(), &answer, &["questions"]),
            changes
        );
    }

    #[test]
    fn long_values_and_many_fields_are_cut_with_a_note() {
        let text = "x".repeat(5_000);
        let ids = |range: std::ops::Range<u32>| -> Value {
            range.map(|number| json!(format!("{number:036}"))).collect()
        };
        let changes = bounded(vec![
            change("text", json!(null), json!(text)),
            change("ids", ids(0..1_000), ids(3..1_001)),
            change("object", json!({ "a": text }), json!(null)),
        ]);
        assert_eq!(
            changes[0].after,
            json!(format!("{}… (5000 characters)", "x".repeat(400)))
        );
        assert_eq!(changes[1].before.as_array().unwrap().len(), 4);
        assert_eq!(
            (&changes[1].before[2], &changes[1].before[3]),
            (&json!(format!("{:036}", 2)), &json!("… 997 more"))
        );
        assert_eq!(
            changes[1].after,
            json!([format!("{:036}", 1_000), "… 997 more"])
        );
        assert!(changes[2].before.as_str().unwrap().ends_with("characters)"));
        let many: Vec<Change> = (0..150)
            .map(|number| Change::to(&number.to_string(), json!(1)))
            .collect();
        let changes = bounded(many);
        assert_eq!(
            (changes.len(), &changes[100]),
            (101, &Change::to("…", json!("50 more fields")))
        );
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,40}".prop_map(Value::from),
            (0_usize..1_500).prop_map(|times| Value::from("ñ".repeat(times))),
        ];
        leaf.prop_recursive(2, 24, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map("[a-e]{1,3}", inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn any_fields() -> impl Strategy<Value = AuditFields> {
        prop::collection::btree_map("[a-f]{1,2}", any_value(), 0..12)
            .prop_map(|fields| fields.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn applying_the_changes_gives_the_new_object(
            before in any_fields(),
            after in any_fields(),
        ) {
            let changes = difference(Some(&thing(&json!(before))), Some(&thing(&json!(after))))
                .unwrap_or_default();
            let mut patched = before;
            for Change {
                field,
                before,
                after,
            } in changes
            {
                prop_assert_eq!(
                    patched
                        .remove(&field)
                        .filter(|value| !is_empty(value))
                        .unwrap_or_default(),
                    before
                );
                patched.insert(field, after);
            }
            patched.retain(|_, value| !is_empty(value));
            let mut expected = after;
            expected.retain(|_, value| !is_empty(value));
            prop_assert_eq!(patched, expected);
        }

        #[test]
        fn withheld_fields_are_recorded_without_values(
            before in any_fields(),
            after in any_fields(),
        ) {
            let of = |withheld: &AuditFields| AuditedObject {
                withheld: withheld.clone(),
                ..AuditedObject::default()
            };
            let changes = difference(Some(&of(&before)), Some(&of(&after))).unwrap_or_default();
            prop_assert!(
                changes
                    .iter()
                    .all(|change| change.before.is_null() && change.after.is_null())
            );
            let differs = |name: &String| {
                before.get(name).filter(|value| !is_empty(value))
                    != after.get(name).filter(|value| !is_empty(value))
            };
            let expected: std::collections::BTreeSet<&String> = before
                .keys()
                .chain(after.keys())
                .filter(|name| differs(name))
                .collect();
            prop_assert_eq!(
                changes
                    .iter()
                    .map(|change| &change.field)
                    .collect::<Vec<_>>(),
                expected.into_iter().collect::<Vec<_>>()
            );
            let created_changes = created(before.iter(), &json!({}), &[]);
            prop_assert!(created_changes.iter().all(|change| change.after.is_null()));
        }

        #[test]
        fn recorded_changes_are_bounded_in_number_and_size(
            changes in prop::collection::vec(("[a-z]{1,9}", any_value(), any_value()), 0..130),
        ) {
            let count = changes.len();
            let changes = changes
                .into_iter()
                .map(|(field, before, after)| Change {
                    field,
                    before,
                    after,
                })
                .collect::<Vec<_>>();
            let result = bounded(changes.clone());
            prop_assert!(
                result.len() <= MAX_CHANGES + 1
                    && serde_json::to_string(&result).unwrap().len() < 2 * MAX_BYTES
            );
            let is_truncated = result.last().is_some_and(|last| last.field == REST);
            prop_assert_eq!(result.len() - usize::from(is_truncated) == count, !is_truncated);
            for (result, whole) in result
                .iter()
                .zip(&changes)
                .filter(|(result, _)| result.field != REST)
            {
                if length(&whole.before) <= MAX_VALUE_BYTES {
                    prop_assert_eq!(&result.before, &whole.before);
                }
            }
        }
    }
}
