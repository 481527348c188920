//! Properties of a schema that this service reads itself, outside of the validator library: which
//! fields have [`Contextual`] formats, which texts are trimmed, and at which length each list is
//! cut before the validation.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::format::Contextual;

/// One part of the path from the root of an input to a list in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathStep {
    /// A field.
    Key(String),
    /// Every item of a list.
    Each,
}

/// Cuts the lists at a path to `length` items.
///
/// The calling function passes a `length` that is one more than the maximum in the schema. The
/// validator then still reports the list as too long, and checks only a limited number of items.
pub(super) fn cut(value: &mut Value, path: &[PathStep], length: usize) {
    match (path.split_first(), value) {
        (None, Value::Array(items)) => items.truncate(length),
        (Some((PathStep::Key(name), rest)), Value::Object(fields)) => {
            if let Some(field) = fields.get_mut(name) {
                cut(field, rest, length);
            }
        }
        (Some((PathStep::Each, rest)), Value::Array(items)) => {
            for item in items {
                cut(item, rest, length);
            }
        }
        _ => {}
    }
}

/// Rules for fields of a schema that the pipeline applies itself, because the validator library
/// does not apply them. Each entry contains the path of the field to which its rule applies.
#[derive(Default)]
pub(super) struct Notes {
    /// Paths of the texts with a [`Contextual`] format, such as `phone`, each with that format.
    pub(super) contextual: Vec<(Vec<String>, Contextual)>,
    /// Paths of the texts that are trimmed before validation.
    pub(super) trimmed: Vec<Vec<String>>,
    /// The maximum lengths of lists, by the path of the list; `None` if any length is allowed.
    pub(super) lists: BTreeMap<Vec<PathStep>, Option<usize>>,
}

impl Notes {
    /// Collects the rules for all fields in `schema`.
    pub(super) fn of(schema: &Value) -> Self {
        let mut notes = Self::default();
        notes.collect(schema, &mut Vec::new());
        notes.measure(schema, &mut Vec::new());
        notes
    }

    /// Records the maximum length of each list in the schema. An outer list comes before the lists
    /// in its items.
    fn measure(&mut self, schema: &Value, path: &mut Vec<PathStep>) {
        let has_array = |kind: &Value| {
            kind == "array"
                || kind
                    .as_array()
                    .is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"))
        };
        if has_array(&schema["type"]) {
            let max_items = schema["maxItems"]
                .as_u64()
                .and_then(|max_items| usize::try_from(max_items).ok());
            let max_length = self.lists.entry(path.clone()).or_insert(max_items);
            *max_length = (*max_length)
                .zip(max_items)
                .map(|(one, other)| one.max(other));
        }
        let mut descend = |step: PathStep, schema: &Value| {
            path.push(step);
            self.measure(schema, path);
            path.pop();
        };
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            descend(PathStep::Key(name.clone()), field);
        }
        if schema["items"].is_object() {
            descend(PathStep::Each, &schema["items"]);
        }
        for branch in ["anyOf", "oneOf", "allOf"]
            .into_iter()
            .filter_map(|keyword| schema[keyword].as_array())
            .flatten()
        {
            self.measure(branch, path);
        }
        if schema["then"].is_object() {
            self.measure(&schema["then"], path);
        }
    }

    fn collect(&mut self, schema: &Value, path: &mut Vec<String>) {
        if let Some(kind) = schema["format"].as_str().and_then(Contextual::of_name) {
            self.contextual.push((path.clone(), kind));
        }
        if schema["x-trimmed"] == true {
            self.trimmed.push(path.clone());
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            path.push(name.clone());
            self.collect(field, path);
            path.pop();
        }
    }
}
