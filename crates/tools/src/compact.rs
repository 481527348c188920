//! Compact schemas for tool arguments.
//!
//! A language model reads the schemas of all tools before it calls one. So a compact schema
//! contains only what is necessary for a call: names, types, enums, required fields and purposes.
//! It contains no lengths and patterns, because the error of a failed call states them. Of a
//! description, it contains only the first sentence. The tool that updates an object refers to the
//! tool that creates it for the meaning of the fields.

use serde_json::{Map, Value, json};

/// Maximum number of enums that the compact schema of an object lists separately. If every field of
/// an object is an enum and there are more fields than this, the compact schema has one enum for
/// all fields.
const MAX_SEPARATE_ENUMS: usize = 8;
/// The keywords that a compact schema copies.
const COPIED_KEYWORDS: [&str; 5] = ["type", "enum", "const", "default", "required"];
/// The formats that a compact schema copies. UUIDs need no format, because their description says
/// that they are ids.
const COPIED_FORMATS: [&str; 2] = ["date", "date-time"];

/// The tool that creates the object which another tool updates. The schema of the creating tool
/// describes the fields, and the schema of the updating tool refers to it.
pub(super) struct CreatingTool {
    pub(super) tool: &'static str,
    pub(super) fields: Value,
}

/// Returns the compact schema of a tool's arguments. The schema permits null only if `takes_null`
/// is true: for such a tool, a null differs from a missing field. If `creating_tool` is given, the
/// schema refers to that tool for the fields of `data` that it describes.
pub(super) fn arguments(
    schema: &Value,
    takes_null: bool,
    creating_tool: Option<&CreatingTool>,
) -> Map<String, Value> {
    let compact = CompactSchema { takes_null };
    let mut compact_schema = compact.of(schema);
    // The tool's description already contains the purpose of the arguments.
    compact_schema.remove("description");
    if let Some(creating_tool) = creating_tool
        && let (Some(data), Some(compact_schema)) = (
            schema.pointer("/properties/data"),
            compact_schema
                .get_mut("properties")
                .and_then(|fields| fields.get_mut("data")),
        )
    {
        *compact_schema = compact.change(data, creating_tool).into();
    }
    compact_schema
}

struct CompactSchema {
    takes_null: bool,
}

impl CompactSchema {
    /// Returns the schema of an update: the fields that the creating tool does not describe, and a
    /// reference to that tool for the other fields.
    fn change(
        &self,
        data: &Value,
        CreatingTool { tool, fields }: &CreatingTool,
    ) -> Map<String, Value> {
        let creatable_fields = fields["properties"].as_object().into_iter().flatten();
        let missing: Vec<&str> = creatable_fields
            .filter(|(name, _)| data["properties"].get(name.as_str()).is_none())
            .map(|(name, _)| name.as_str())
            .collect();
        let exception = if missing.is_empty() {
            String::new()
        } else {
            format!(" but {}", missing.join(", "))
        };
        let own_fields = data["properties"].as_object().into_iter().flatten();
        let own_fields = own_fields.filter(|(name, field)| {
            fields["properties"][name.as_str()]["description"] != field["description"]
        });
        let own_fields: Map<String, Value> = own_fields
            .map(|(name, field)| (name.clone(), self.of(field).into()))
            .collect();
        let description =
            format!("What to change: any fields of `{tool}`{exception}, as described there.");
        let mut result = Map::from_iter([
            ("type".to_owned(), Value::from("object")),
            ("description".to_owned(), description.into()),
        ]);
        if !own_fields.is_empty() {
            result.insert("properties".into(), own_fields.into());
        }
        result
    }

    /// Returns the compact form of a schema.
    fn of(&self, schema: &Value) -> Map<String, Value> {
        let mut result = Map::new();
        for name in COPIED_KEYWORDS {
            if let Some(value) = schema.get(name).and_then(|value| self.plain(name, value)) {
                result.insert(name.into(), value);
            }
        }
        if let Some(format) = schema["format"]
            .as_str()
            .filter(|format| COPIED_FORMATS.contains(format))
        {
            result.insert("format".into(), format.into());
        }
        if let Some(maximum) = schema["maximum"]
            .as_u64()
            .filter(|maximum| *maximum <= 10_000)
        {
            result.insert("maximum".into(), maximum.into());
        }
        if let Some(items) = schema.get("items") {
            let mut items = self.of(items);
            // The description of a list covers its items, so the schema of the items has none.
            items.remove("description");
            result.insert("items".into(), items.into());
        }
        if let Some(values) = schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            result.insert("additionalProperties".into(), self.of(values).into());
        }
        for shapes in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = schema.get(shapes) {
                self.add_branches(shapes, branches, &mut result);
            }
        }
        let mut description = schema["description"]
            .as_str()
            .map(|text| first_sentence(text).to_owned())
            .unwrap_or_default();
        if let Some(fields) = schema["properties"].as_object() {
            if let Some(values) = common_enum(fields) {
                result.insert("additionalProperties".into(), values);
                let keys = fields.keys().cloned().collect::<Vec<_>>().join(", ");
                description = format!("{description} Keys: {keys}.");
            } else {
                let fields = fields
                    .iter()
                    .filter(|(_, field)| field["deprecated"] != true);
                result.insert(
                    "properties".into(),
                    fields
                        .map(|(name, field)| (name.clone(), self.of(field).into()))
                        .collect::<Map<_, _>>()
                        .into(),
                );
            }
        }
        // A constant needs no description, because its value is its meaning.
        if !description.is_empty() && schema.get("const").is_none() {
            result.insert("description".into(), description.into());
        }
        split_types(result)
    }

    /// Returns the value of the JSON Schema keyword `name` in the compact schema. Unless
    /// `takes_null` is set, leaves `null` out of lists of types and of allowed values. Returns
    /// `None` for an empty `required`, because the compact schema omits it.
    fn plain(&self, name: &str, value: &Value) -> Option<Value> {
        let is_included =
            |value: &&Value| self.takes_null || (!value.is_null() && *value != "null");
        Some(match (name, value) {
            ("required", Value::Array(names)) if names.is_empty() => return None,
            ("type" | "enum", Value::Array(values)) => {
                match &values.iter().filter(is_included).collect::<Vec<_>>()[..] {
                    [value] if name == "type" => (*value).clone(),
                    values => json!(values),
                }
            }
            _ => value.clone(),
        })
    }

    /// Adds the branches of the keyword `shapes` (`oneOf` or `anyOf`) to the compact schema
    /// `result`, without the branch `null`. If all branches are constants, adds an enum of the
    /// constants instead. If there is only one branch, adds its keywords instead.
    fn add_branches(&self, shapes: &str, branches: &[Value], result: &mut Map<String, Value>) {
        let non_null_branches: Vec<_> = branches
            .iter()
            .filter(|branch| branch["type"] != "null")
            .collect();
        let choices: Option<Vec<_>> = non_null_branches
            .iter()
            .map(|branch| branch.get("const"))
            .collect();
        match (choices, &non_null_branches[..]) {
            (Some(choices), _) => {
                result.insert("type".into(), "string".into());
                result.insert("enum".into(), json!(choices));
            }
            (None, [branch]) => result.extend(self.of(branch)),
            (None, branches) => {
                result.insert(
                    shapes.into(),
                    branches
                        .iter()
                        .map(|branch| Value::from(self.of(branch)))
                        .collect::<Vec<_>>()
                        .into(),
                );
            }
        }
    }
}

/// Replaces an array of types by `anyOf` with a branch for each type. Some assistants refuse tools
/// whose schemas have an array of types.
fn split_types(mut schema: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(types)) = schema.get("type").cloned() else {
        return schema;
    };
    schema.remove("type");
    if schema.contains_key("anyOf") || schema.contains_key("oneOf") {
        // The branches of `anyOf` or `oneOf` contain the types, so the array of types is not
        // needed.
        return schema;
    }
    let branches: Vec<Value> = types.iter().map(|kind| branch(&schema, kind)).collect();
    schema.retain(|keyword, _| ["description", "default"].contains(&keyword.as_str()));
    schema.insert("anyOf".into(), branches.into());
    schema
}

/// Returns the schema for values of the type `kind`. `schema` allows several types; the result has
/// only those of its keywords that concern this type.
fn branch(schema: &Map<String, Value>, kind: &Value) -> Value {
    let applies = |keyword: &str| match keyword {
        "properties" | "additionalProperties" | "required" => kind == "object",
        "items" => kind == "array",
        "maximum" => kind == "integer" || kind == "number",
        "format" => kind == "string",
        "enum" | "const" => kind != "null",
        _ => false,
    };
    let mut branch = Map::from_iter([("type".to_owned(), kind.clone())]);
    for (keyword, value) in schema.iter().filter(|(keyword, _)| applies(keyword)) {
        let mut value = value.clone();
        if let Value::Array(values) = &mut value {
            values.retain(|value| !value.is_null());
        }
        branch.insert(keyword.clone(), value);
    }
    branch.into()
}

/// Returns the union of the enums of all fields. Returns `None` if there are at most
/// [`MAX_SEPARATE_ENUMS`] fields, or if a field has no enum.
fn common_enum(fields: &Map<String, Value>) -> Option<Value> {
    let lists: Option<Vec<_>> = fields
        .values()
        .map(|field| field["enum"].as_array())
        .collect();
    let lists = lists.filter(|lists| lists.len() > MAX_SEPARATE_ENUMS)?;
    let mut texts: Vec<&Value> = Vec::new();
    for text in lists.into_iter().flatten().filter(|text| text.is_string()) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    Some(json!({ "type": "string", "enum": texts }))
}

/// Returns the first sentence of a description.
fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").map_or(text.len(), |end| end + 1);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_its_first_sentence() {
        for (text, sentence) in [
            ("Short.", "Short."),
            ("Short; and more. And yet more.", "Short; and more."),
            (
                "Amount of 9.5 euros, without an end",
                "Amount of 9.5 euros, without an end",
            ),
        ] {
            assert_eq!(first_sentence(text), sentence);
        }
    }

    #[test]
    fn compact_schemas_keep_types_descriptions_and_enumerations() {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["name"],
            "examples": [{}],
            "properties": {
                "name": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 60,
                    "pattern": "\\S",
                    "description": "What it is called.",
                },
                "id": { "type": ["string", "null"], "format": "uuid", "description": "Which one." },
                "kind": {
                    "anyOf": [
                        { "oneOf": [{ "const": "a" }, { "const": "b" }] },
                        { "type": "null" },
                    ],
                    "description": "What kind.",
                },
                "ids": {
                    "type": "array",
                    "maxItems": 100,
                    "items": { "type": "string", "description": "One." },
                    "description": "Which ones.",
                },
            },
        });
        let expected = json!({
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": { "type": "string", "description": "What it is called." },
                "id": { "type": "string", "description": "Which one." },
                "kind": { "type": "string", "enum": ["a", "b"], "description": "What kind." },
                "ids": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "Which ones.",
                },
            },
        });
        assert_eq!(Value::from(arguments(&schema, false, None)), expected);
    }

    #[test]
    fn several_types_become_a_branch_each() {
        let schema = json!({
            "type": "object",
            "properties": {
                "day": {
                    "type": ["string", "null"],
                    "format": "date",
                    "default": null,
                    "description": "Which day.",
                },
                "kind": {
                    "type": ["string", "null"],
                    "enum": ["a", "b", null],
                    "description": "What kind.",
                },
                "ids": {
                    "type": ["array", "integer", "null"],
                    "maximum": 9,
                    "items": { "type": ["string", "null"] },
                    "description": "Which ones.",
                },
            },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "day": {
                    "anyOf": [{ "type": "string", "format": "date" }, { "type": "null" }],
                    "default": null,
                    "description": "Which day.",
                },
                "kind": {
                    "anyOf": [{ "type": "string", "enum": ["a", "b"] }, { "type": "null" }],
                    "description": "What kind.",
                },
                "ids": {
                    "anyOf": [
                        {
                            "type": "array",
                            "items": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                        },
                        { "type": "integer", "maximum": 9 },
                        { "type": "null" },
                    ],
                    "description": "Which ones.",
                },
            },
        });
        assert_eq!(Value::from(arguments(&schema, true, None)), expected);
    }

    #[test]
    fn the_schema_of_a_change_refers_to_the_create_tool() {
        let fields = json!({ "properties": {
            "name": { "type": "string", "description": "What it is called." },
            "kind": { "type": "string", "description": "What only a new one has." },
        } });
        let change = json!({
            "type": "object",
            "properties": { "data": { "type": "object", "properties": {
                "name": { "type": ["string", "null"], "description": "What it is called." },
                "extra": { "type": "integer", "description": "What only a change has." },
            } } },
        });
        let result = arguments(
            &change,
            true,
            Some(&CreatingTool {
                tool: "make",
                fields,
            }),
        );
        assert_eq!(
            result["properties"]["data"],
            json!({
                "type": "object",
                "description": "What to change: any fields of `make` but kind, as described there.",
                "properties": {
                    "extra": { "type": "integer", "description": "What only a change has." },
                },
            })
        );
    }
}
