//! Examples for schemas that contain no example.

use std::borrow::Cow;

use regex::Regex;
use serde_json::{Map, Value, json};

/// The id in all examples.
pub(super) const ID: &str = "0192f0c1-2345-7abc-8def-0123456789ab";
/// From this depth on, examples contain only required fields. So the example of a recursive schema
/// ends.
const REQUIRED_ONLY_DEPTH: usize = 6;
/// Maximum depth of the values in an example. At greater depths, all values are null, even those of
/// required fields.
const MAX_DEPTH: usize = 16;

/// The choice of the fields that an example of an object contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Every object in the example has only its required fields, or one field if it has no required
    /// field.
    Required,
    /// Every field of each object down to `REQUIRED_ONLY_DEPTH`. Deeper objects have only their
    /// required fields.
    Everything,
}

/// Returns an example of a schema. References are resolved in `definitions`.
#[must_use]
pub fn of(schema: &Value, definitions: &Map<String, Value>, detail: Detail) -> Value {
    ExampleWriter {
        definitions,
        detail,
    }
    .write(schema, 0)
}

struct ExampleWriter<'s> {
    definitions: &'s Map<String, Value>,
    detail: Detail,
}

impl ExampleWriter<'_> {
    fn write(&self, schema: &Value, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(name) = schema["$ref"]
            .as_str()
            .and_then(|path| path.rsplit('/').next())
        {
            return self
                .definitions
                .get(name)
                .map_or(Value::Null, |schema| self.write(schema, depth + 1));
        }
        let candidates = [
            &schema["examples"][0],
            &schema["const"],
            &schema["default"],
            &schema["enum"][0],
        ];
        if let Some(value) = candidates
            .into_iter()
            .find(|value| !value.is_null() && !value.is_array())
        {
            return value.clone();
        }
        let shapes = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
        if let Some(shape) =
            shapes.and_then(|shapes| shapes.iter().find(|shape| shape["type"] != "null"))
        {
            return self.write(shape, depth + 1);
        }
        match kind(schema) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => text(schema).into(),
            "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
            "boolean" => true.into(),
            _ => Value::Null,
        }
    }

    fn includes_all_fields(&self, depth: usize) -> bool {
        self.detail == Detail::Everything && depth < REQUIRED_ONLY_DEPTH
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        for part in schema["allOf"].as_array().into_iter().flatten() {
            if let Value::Object(fields) = self.write(part, depth + 1) {
                object.extend(fields);
            }
        }
        let required: Vec<_> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let needs_one_field = depth == 0 && required.is_empty();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let is_first = needs_one_field && object.is_empty();
            if is_first || required.contains(&name.as_str()) || self.includes_all_fields(depth) {
                object.insert(name.clone(), self.write(field, depth + 1));
            }
        }
        object.into()
    }

    fn array(&self, schema: &Value, depth: usize) -> Value {
        let needs_item = schema["minItems"]
            .as_u64()
            .is_some_and(|minimum| minimum > 0);
        let items = schema
            .get("items")
            .filter(|_| needs_item || self.includes_all_fields(depth));
        items.map_or_else(|| json!([]), |items| json!([self.write(items, depth + 1)]))
    }
}

/// Returns the JSON type of the example for a schema: the first type in `type` that is not `null`.
/// A schema without `type` gets `object` if it has `properties` or `allOf`, and otherwise `null`.
fn kind(schema: &Value) -> &str {
    let mut types = match &schema["type"] {
        Value::Array(types) => types.iter(),
        kind => std::slice::from_ref(kind).iter(),
    };
    let type_name = types.find_map(|kind| kind.as_str().filter(|kind| *kind != "null"));
    let has = |keyword: &str| schema.get(keyword).is_some();
    type_name.unwrap_or(if has("properties") || has("allOf") {
        "object"
    } else {
        "null"
    })
}

fn text(schema: &Value) -> Cow<'static, str> {
    let default_text = || format!("{ID}:node-1").into();
    if let Some(pattern) = schema["pattern"]
        .as_str()
        .and_then(|pattern| Regex::new(pattern).ok())
    {
        let matching = ["Casa Azul", "#2563EB", "casa-azul", "1"]
            .into_iter()
            .find(|text| pattern.is_match(text));
        return matching.map_or_else(default_text, Cow::from);
    }
    match schema["format"].as_str().unwrap_or_default() {
        "uuid" => ID,
        "date-time" => "2026-11-21T09:30:00.000Z",
        "future-date-time" => "2030-01-01T00:00:00.000Z",
        "date" => "2026-11-21",
        "time-of-day" => "15:00",
        "uri" | "http-url" | "http-url-or-empty" => "https://example.com/",
        "webhook-target" => "https://hooks.example.com/vestibule",
        "redirect-uri" => "https://client.example/callback",
        "email" => "ada@example.com",
        "phone" => "+34934123456",
        "language" => "en",
        "country" => "ES",
        "time-zone" => "Europe/Madrid",
        "permission" => "view_properties",
        _ => "Casa Azul",
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(schema: &Value, detail: Detail) -> Value {
        let definitions = json!({
            "Node": {
                "type": "object",
                "properties": {
                    "name": { "type": "string" },
                    "children": {
                        "type": "array",
                        "items": { "$ref": "#/components/schemas/Node" },
                    },
                },
                "required": ["name", "children"],
            },
        });
        of(schema, definitions.as_object().unwrap(), detail)
    }

    #[test]
    fn an_example_shows_required_fields_or_all_fields() {
        let schema = json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "format": "uuid" },
                "color": { "type": ["string", "null"], "pattern": "^#[0-9A-F]{6}$" },
                "sizes": {
                    "type": "array",
                    "items": { "anyOf": [{ "type": "null" }, { "type": "integer", "minimum": 3 }] },
                },
                "kind": { "enum": ["a", "b"] },
            },
            "required": ["id"],
        });
        assert_eq!(example(&schema, Detail::Required), json!({ "id": ID }));
        assert_eq!(
            example(&schema, Detail::Everything),
            json!({ "id": ID, "color": "#2563EB", "sizes": [3], "kind": "a" })
        );
    }

    #[test]
    fn an_example_without_required_fields_shows_a_single_field() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "type": "boolean" }, "b": { "type": "boolean" } },
        });
        assert_eq!(example(&schema, Detail::Required), json!({ "a": true }));
    }

    #[test]
    fn the_example_of_a_recursive_schema_is_finite() {
        let tree = example(
            &json!({ "$ref": "#/components/schemas/Node" }),
            Detail::Everything,
        );
        assert_eq!(tree["children"][0]["name"], "Casa Azul");
        assert!(!tree.to_string().contains("null"));
    }
}
