//! Generates the published schemas.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Returns the schema of an object without fields.
pub(super) fn json_object() -> Schema {
    schemars::json_schema!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// Returns a generator that inlines all referenced schemas.
#[must_use]
pub fn inline_generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .into_generator()
}

/// Removes keywords that have no meaning for clients: null defaults and Rust's number formats.
/// Turns a choice of constants into an `enum`, which every client generator supports.
pub fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            if map
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|format| {
                    format.starts_with("uint") || format.starts_with("int") || format == "double"
                })
            {
                map.remove("format");
            }
            if let Some(Value::String(description)) = map.get_mut("description") {
                // The line breaks of a description come from the source code and have no meaning.
                *description = description.replace('\n', " ");
            }
            let fields = map
                .get_mut("properties")
                .and_then(Value::as_object_mut)
                .map(|fields| fields.values_mut());
            fields.into_iter().flatten().for_each(replace_true);
            map.get_mut("items").into_iter().for_each(replace_true);
            map.values_mut().for_each(simplify);
            merge_constants(map);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Replaces `true` by an empty object schema, which more tools support.
fn replace_true(schema: &mut Value) {
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
}

/// Replaces a `oneOf` of constants by one enum, and joins the descriptions of the constants.
fn merge_constants(map: &mut Map<String, Value>) {
    let Some(shapes) = map.get("oneOf").and_then(Value::as_array) else {
        return;
    };
    let values = |shape: &Value| match (shape.get("const"), shape.get("enum")) {
        (Some(value), _) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    };
    let Some(constants) = shapes.iter().map(values).collect::<Option<Vec<_>>>() else {
        return;
    };
    let constants: Vec<Value> = constants.concat();
    let describe = |shape: &Value| {
        Some(format!(
            "`{}`: {}",
            shape["const"].as_str()?,
            shape["description"].as_str()?
        ))
    };
    let descriptions: Vec<String> = map
        .get("description")
        .and_then(Value::as_str)
        .map(str::to_owned)
        .into_iter()
        .chain(shapes.iter().filter_map(describe))
        .collect();
    map.remove("oneOf");
    map.insert("type".into(), json!("string"));
    map.insert("enum".into(), constants.into());
    if !descriptions.is_empty() {
        map.insert("description".into(), descriptions.join(" ").into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_of_constants_become_one_enumeration() {
        let mut schema = json!({
            "anyOf": [
                {
                    "description": "How it went.",
                    "oneOf": [
                        { "type": "string", "enum": ["a", "b"] },
                        { "type": "string", "const": "c", "description": "Well." },
                    ],
                },
                { "type": "null" },
            ],
        });
        simplify(&mut schema);
        let expected = json!({
            "type": "string",
            "enum": ["a", "b", "c"],
            "description": "How it went. `c`: Well.",
        });
        assert_eq!(schema["anyOf"][0], expected);
        let mut schema_of_shapes = json!({ "oneOf": [{ "const": 1 }, { "type": "object" }] });
        simplify(&mut schema_of_shapes);
        assert_eq!(schema_of_shapes["oneOf"].as_array().unwrap().len(), 2);
    }
}
