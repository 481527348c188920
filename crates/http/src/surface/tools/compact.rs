//! Compact schemas for tool arguments.
//!
//! A language model reads the schemas of all tools before it calls one. So a compact schema
//! contains only the facts that are needed to fill it in: names, types, enums, required fields and
//! purposes. Lengths and patterns are left out; the error of a failed call states them. Of a
//! description there is only the first sentence. The tool that updates an object refers to the tool
//! that creates it for the meaning of the fields.

use serde_json::{Map, Value, json};

/// An object with more fields than this, all with an enum, is described by one common enum.
const MANY: usize = 8;
/// The keywords that are copied as they are.
const KEPT_KEYWORDS: [&str; 5] = ["type", "enum", "const", "default", "required"];
/// The formats that are kept. A UUID's description says that it is an id.
const FORMATS: [&str; 2] = ["date", "date-time"];

/// The tool that creates the object which another tool updates. It describes the fields.
pub(super) struct CreatingTool {
    pub(super) tool: &'static str,
    pub(super) fields: Value,
}

/// Returns the compact schema of a tool's arguments. Null is only listed for a tool that
/// `takes_null`, which means something else than leaving the field out.
pub(super) fn arguments(
    schema: &Value,
    takes_null: bool,
    beside: Option<&CreatingTool>,
) -> Map<String, Value> {
    let compact = CompactSchema { takes_null };
    let mut reported = compact.of(schema);
    // The tool's description already says the purpose of the arguments.
    reported.remove("description");
    if let Some(beside) = beside
        && let (Some(data), Some(reported)) = (
            schema.pointer("/properties/data"),
            reported
                .get_mut("properties")
                .and_then(|fields| fields.get_mut("data")),
        )
    {
        *reported = compact.change(data, beside).into();
    }
    reported
}

struct CompactSchema {
    takes_null: bool,
}

impl CompactSchema {
    /// Returns the schema of an update: the fields that the creating tool does not describe, and a
    /// reference to that tool for the rest.
    fn change(
        &self,
        data: &Value,
        CreatingTool { tool, fields }: &CreatingTool,
    ) -> Map<String, Value> {
        let made = fields["properties"].as_object().into_iter().flatten();
        let lacking: Vec<&str> = made
            .filter(|(name, _)| data["properties"].get(name.as_str()).is_none())
            .map(|(name, _)| name.as_str())
            .collect();
        let but = if lacking.is_empty() {
            String::new()
        } else {
            format!(" but {}", lacking.join(", "))
        };
        let own = data["properties"].as_object().into_iter().flatten();
        let own = own.filter(|(name, field)| {
            fields["properties"][name.as_str()]["description"] != field["description"]
        });
        let own: Map<String, Value> = own
            .map(|(name, field)| (name.clone(), self.of(field).into()))
            .collect();
        let description =
            format!("What to change: any fields of `{tool}`{but}, as described there.");
        let mut told = Map::from_iter([
            ("type".to_owned(), Value::from("object")),
            ("description".to_owned(), description.into()),
        ]);
        if !own.is_empty() {
            told.insert("properties".into(), own.into());
        }
        told
    }

    /// Returns the compact form of a schema.
    fn of(&self, schema: &Value) -> Map<String, Value> {
        let mut reported = Map::new();
        for name in KEPT_KEYWORDS {
            if let Some(value) = schema.get(name).and_then(|value| self.plain(name, value)) {
                reported.insert(name.into(), value);
            }
        }
        if let Some(format) = schema["format"]
            .as_str()
            .filter(|format| FORMATS.contains(format))
        {
            reported.insert("format".into(), format.into());
        }
        if let Some(most) = schema["maximum"].as_u64().filter(|most| *most <= 10_000) {
            reported.insert("maximum".into(), most.into());
        }
        if let Some(items) = schema.get("items") {
            let mut items = self.of(items);
            // The description of the list covers its items.
            items.remove("description");
            reported.insert("items".into(), items.into());
        }
        if let Some(values) = schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            reported.insert("additionalProperties".into(), self.of(values).into());
        }
        for shapes in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = schema.get(shapes) {
                self.tell_branches(shapes, branches, &mut reported);
            }
        }
        let mut description = schema["description"]
            .as_str()
            .map(|text| first_sentence(text).to_owned())
            .unwrap_or_default();
        if let Some(fields) = schema["properties"].as_object() {
            if let Some(values) = like_values(fields) {
                reported.insert("additionalProperties".into(), values);
                let keys = fields.keys().cloned().collect::<Vec<_>>().join(", ");
                description = format!("{description} Keys: {keys}.");
            } else {
                let fields = fields
                    .iter()
                    .filter(|(_, field)| field["deprecated"] != true);
                reported.insert(
                    "properties".into(),
                    fields
                        .map(|(name, field)| (name.clone(), self.of(field).into()))
                        .collect::<Map<_, _>>()
                        .into(),
                );
            }
        }
        // A constant is described by its value.
        if !description.is_empty() && schema.get("const").is_none() {
            reported.insert("description".into(), description.into());
        }
        one_type_each(reported)
    }

    /// Returns the compact value of a keyword; `None` if nothing is left of it.
    fn plain(&self, name: &str, value: &Value) -> Option<Value> {
        let is_told = |one: &&Value| self.takes_null || (!one.is_null() && *one != "null");
        Some(match (name, value) {
            ("required", Value::Array(names)) if names.is_empty() => return None,
            ("type" | "enum", Value::Array(values)) => {
                match &values.iter().filter(is_told).collect::<Vec<_>>()[..] {
                    [one] if name == "type" => (*one).clone(),
                    several => json!(several),
                }
            }
            _ => value.clone(),
        })
    }

    /// Writes a choice of constants as an enum, and a nullable schema as the schema itself.
    fn tell_branches(&self, shapes: &str, branches: &[Value], reported: &mut Map<String, Value>) {
        let some: Vec<_> = branches
            .iter()
            .filter(|branch| branch["type"] != "null")
            .collect();
        let choices: Option<Vec<_>> = some.iter().map(|branch| branch.get("const")).collect();
        match (choices, &some[..]) {
            (Some(choices), _) => {
                reported.insert("type".into(), "string".into());
                reported.insert("enum".into(), json!(choices));
            }
            (None, [one]) => reported.extend(self.of(one)),
            (None, several) => {
                reported.insert(
                    shapes.into(),
                    several
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
fn one_type_each(mut reported: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(types)) = reported.get("type").cloned() else {
        return reported;
    };
    reported.remove("type");
    if reported.contains_key("anyOf") || reported.contains_key("oneOf") {
        // The branches state their types already.
        return reported;
    }
    let branches: Vec<Value> = types.iter().map(|kind| branch(&reported, kind)).collect();
    reported.retain(|keyword, _| ["description", "default"].contains(&keyword.as_str()));
    reported.insert("anyOf".into(), branches.into());
    reported
}

/// Returns the part of a schema of several types that concerns one of them.
fn branch(reported: &Map<String, Value>, kind: &Value) -> Value {
    let concerns = |keyword: &str| match keyword {
        "properties" | "additionalProperties" | "required" => kind == "object",
        "items" => kind == "array",
        "maximum" => kind == "integer" || kind == "number",
        "format" => kind == "string",
        "enum" | "const" => kind != "null",
        _ => false,
    };
    let mut branch = Map::from_iter([("type".to_owned(), kind.clone())]);
    for (keyword, value) in reported.iter().filter(|(keyword, _)| concerns(keyword)) {
        let mut value = value.clone();
        if let Value::Array(values) = &mut value {
            values.retain(|value| !value.is_null());
        }
        branch.insert(keyword.clone(), value);
    }
    branch.into()
}

/// Returns the union of the enums of many fields; `None` if the fields are few or one has no enum.
fn like_values(fields: &Map<String, Value>) -> Option<Value> {
    let lists: Option<Vec<_>> = fields
        .values()
        .map(|field| field["enum"].as_array())
        .collect();
    let lists = lists.filter(|lists| lists.len() > MANY)?;
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
            "type": "object", "additionalProperties": false, "required": ["name"], "examples": [{}],
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": 60, "pattern": "\\S", "description": "What it is called." },
                "id": { "type": ["string", "null"], "format": "uuid", "description": "Which one." },
                "kind": { "anyOf": [{ "oneOf": [{ "const": "a" }, { "const": "b" }] }, { "type": "null" }], "description": "What kind." },
                "ids": { "type": "array", "maxItems": 100, "items": { "type": "string", "description": "One." }, "description": "Which ones." },
            },
        });
        let reported = json!({
            "type": "object", "required": ["name"],
            "properties": {
                "name": { "type": "string", "description": "What it is called." },
                "id": { "type": "string", "description": "Which one." },
                "kind": { "type": "string", "enum": ["a", "b"], "description": "What kind." },
                "ids": { "type": "array", "items": { "type": "string" }, "description": "Which ones." },
            },
        });
        assert_eq!(Value::from(arguments(&schema, false, None)), reported);
    }

    #[test]
    fn several_types_become_a_branch_each() {
        let schema = json!({ "type": "object", "properties": {
            "day": { "type": ["string", "null"], "format": "date", "default": null, "description": "Which day." },
            "kind": { "type": ["string", "null"], "enum": ["a", "b", null], "description": "What kind." },
            "ids": { "type": ["array", "integer", "null"], "maximum": 9, "items": { "type": ["string", "null"] }, "description": "Which ones." },
        } });
        let reported = json!({ "type": "object", "properties": {
            "day": {
                "anyOf": [{ "type": "string", "format": "date" }, { "type": "null" }], "default": null, "description": "Which day.",
            },
            "kind": { "anyOf": [{ "type": "string", "enum": ["a", "b"] }, { "type": "null" }], "description": "What kind." },
            "ids": {
                "anyOf": [
                    { "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "null" }] } },
                    { "type": "integer", "maximum": 9 },
                    { "type": "null" },
                ],
                "description": "Which ones.",
            },
        } });
        assert_eq!(Value::from(arguments(&schema, true, None)), reported);
    }

    #[test]
    fn the_schema_of_a_change_refers_to_the_create_tool() {
        let fields = json!({ "properties": {
            "name": { "type": "string", "description": "What it is called." },
            "kind": { "type": "string", "description": "What only a new one has." },
        } });
        let change = json!({ "type": "object", "properties": { "data": { "type": "object", "properties": {
            "name": { "type": ["string", "null"], "description": "What it is called." },
            "extra": { "type": "integer", "description": "What only a change has." },
        } } } });
        let reported = arguments(
            &change,
            true,
            Some(&CreatingTool {
                tool: "make",
                fields,
            }),
        );
        assert_eq!(
            reported["properties"]["data"],
            json!({
                "type": "object",
                "description": "What to change: any fields of `make` but kind, as described there.",
                "properties": { "extra": { "type": "integer", "description": "What only a change has." } },
            })
        );
    }
}
