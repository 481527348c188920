//! Schemas as they are generated and published.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

/// The schema of an object without fields.
pub(super) fn json_object() -> Schema {
    schemars::json_schema!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// A generator whose schemas stand by themselves.
#[must_use]
pub fn inline_generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .into_generator()
}

/// Removes what a reader of the schema has no use for: the defaults of fields that may be left out, Rust's number formats.
pub(crate) fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            if map
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|format| format.starts_with("uint") || format.starts_with("int") || format == "double")
            {
                map.remove("format");
            }
            if let Some(Value::String(description)) = map.get_mut("description") {
                // Where a line of it ends says something of the source alone.
                *description = description.replace('\n', " ");
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
