//! The arguments of a tool in few words.
//!
//! All tools together are read by a language model before it does anything. So of the schema that a request is held to only that
//! is told by which it is filled in: names, types, values to choose from, what must be there, what a field is for. Lengths and
//! patterns are left to the refusal of whoever breaks them; of a description so many clauses are kept as are soon read; and what
//! changes a thing refers to what makes one for what its fields mean.

use serde_json::{Map, Value, json};

/// A description is cut after the clause within which it reaches so many characters.
const SOON_READ: usize = 70;
/// So many fields of like values are told as one.
const MANY: usize = 8;
/// What is told of a value as it stands.
const TOLD: [&str; 5] = ["type", "enum", "const", "default", "required"];
/// The formats that are told: of an id the description says that it is one.
const FORMATS: [&str; 2] = ["date", "date-time"];

/// The tool that makes what another changes, and says what the fields mean.
pub(super) struct Beside {
    pub(super) tool: &'static str,
    pub(super) fields: Value,
}

/// The schema of a tool's arguments. Null is told where the tool `takes_null` for something else than leaving a field out.
pub(super) fn arguments(schema: &Value, takes_null: bool, beside: Option<&Beside>) -> Map<String, Value> {
    let lean = Lean { takes_null };
    let mut told = lean.of(schema);
    // What the arguments are together is what the tool is for.
    told.remove("description");
    if let Some(beside) = beside
        && let (Some(data), Some(told)) =
            (schema.pointer("/properties/data"), told.get_mut("properties").and_then(|fields| fields.get_mut("data")))
    {
        *told = lean.change(data, beside).into();
    }
    told
}

struct Lean {
    takes_null: bool,
}

impl Lean {
    /// What may be changed of a thing: in full what its maker does not describe, the rest as the maker has it.
    fn change(&self, data: &Value, Beside { tool, fields }: &Beside) -> Map<String, Value> {
        let made = fields["properties"].as_object().into_iter().flatten();
        let lacking: Vec<&str> =
            made.filter(|(name, _)| data["properties"].get(name.as_str()).is_none()).map(|(name, _)| name.as_str()).collect();
        let but = if lacking.is_empty() { String::new() } else { format!(" but {}", lacking.join(", ")) };
        let own = data["properties"].as_object().into_iter().flatten();
        let own = own.filter(|(name, field)| fields["properties"][name.as_str()]["description"] != field["description"]);
        let own: Map<String, Value> = own.map(|(name, field)| (name.clone(), self.of(field).into())).collect();
        let description = format!("What to change: any fields of `{tool}`{but}, as described there.");
        let mut told = Map::from_iter([("type".to_owned(), Value::from("object")), ("description".to_owned(), description.into())]);
        if !own.is_empty() {
            told.insert("properties".into(), own.into());
        }
        told
    }

    /// What is told of a schema.
    fn of(&self, schema: &Value) -> Map<String, Value> {
        let mut told = Map::new();
        for name in TOLD {
            if let Some(value) = schema.get(name).and_then(|value| self.plain(name, value)) {
                told.insert(name.into(), value);
            }
        }
        if let Some(format) = schema["format"].as_str().filter(|format| FORMATS.contains(format)) {
            told.insert("format".into(), format.into());
        }
        if let Some(most) = schema["maximum"].as_u64().filter(|most| *most <= 10_000) {
            told.insert("maximum".into(), most.into());
        }
        if let Some(items) = schema.get("items") {
            let mut items = self.of(items);
            // The list says what it is a list of.
            items.remove("description");
            told.insert("items".into(), items.into());
        }
        if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            told.insert("additionalProperties".into(), self.of(values).into());
        }
        for shapes in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = schema.get(shapes) {
                self.tell_branches(shapes, branches, &mut told);
            }
        }
        let mut description = schema["description"].as_str().map(first_clauses).unwrap_or_default();
        if let Some(fields) = schema["properties"].as_object() {
            if let Some(values) = like_values(fields) {
                told.insert("additionalProperties".into(), values);
                let keys = fields.keys().cloned().collect::<Vec<_>>().join(", ");
                description = format!("{description} Keys: {keys}.");
            } else {
                let fields = fields.iter().filter(|(_, field)| field["deprecated"] != true);
                told.insert(
                    "properties".into(),
                    fields.map(|(name, field)| (name.clone(), self.of(field).into())).collect::<Map<_, _>>().into(),
                );
            }
        }
        // What tells shapes apart is told by its value.
        if !description.is_empty() && schema.get("const").is_none() {
            told.insert("description".into(), description.into());
        }
        told
    }

    /// What stands in a schema under a name, if there is anything left to tell of it.
    fn plain(&self, name: &str, value: &Value) -> Option<Value> {
        let is_told = |one: &&Value| self.takes_null || (!one.is_null() && *one != "null");
        Some(match (name, value) {
            ("required", Value::Array(names)) if names.is_empty() => return None,
            ("type" | "enum", Value::Array(values)) => match &values.iter().filter(is_told).collect::<Vec<_>>()[..] {
                [one] if name == "type" => (*one).clone(),
                several => json!(several),
            },
            _ => value.clone(),
        })
    }

    /// Values to choose from are a list of them, a shape that may be null is told as that shape.
    fn tell_branches(&self, shapes: &str, branches: &[Value], told: &mut Map<String, Value>) {
        let some: Vec<_> = branches.iter().filter(|branch| branch["type"] != "null").collect();
        let choices: Option<Vec<_>> = some.iter().map(|branch| branch.get("const")).collect();
        match (choices, &some[..]) {
            (Some(choices), _) => {
                told.insert("type".into(), "string".into());
                told.insert("enum".into(), json!(choices));
            }
            (None, [one]) => told.extend(self.of(one)),
            (None, several) => {
                told.insert(shapes.into(), several.iter().map(|branch| Value::from(self.of(branch))).collect::<Vec<_>>().into());
            }
        }
    }
}

/// Many fields that each take one of some texts: the texts that any of them takes.
fn like_values(fields: &Map<String, Value>) -> Option<Value> {
    let lists: Option<Vec<_>> = fields.values().map(|field| field["enum"].as_array()).collect();
    let lists = lists.filter(|lists| lists.len() > MANY)?;
    let mut texts: Vec<&Value> = Vec::new();
    for text in lists.into_iter().flatten().filter(|text| text.is_string()) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    Some(json!({ "type": "string", "enum": texts }))
}

/// The first clause of a description, and those after it that are soon read.
fn first_clauses(text: &str) -> String {
    let ends = text.match_indices(['.', ';']).filter(|(end, _)| text[end + 1..].starts_with(' ')).map(|(end, _)| end);
    let within = |end: &usize| text[..*end].chars().count() <= SOON_READ;
    let ends: Vec<usize> = ends.collect();
    let last = ends.iter().copied().rfind(within).or(ends.first().copied());
    match last {
        Some(_) if text.chars().count() <= SOON_READ => text.to_owned(),
        Some(end) => format!("{}.", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_ends_with_a_clause() {
        for (text, told) in [
            ("Short.", "Short."),
            ("Short. And more; and more.", "Short. And more; and more."),
            (
                "Whether every guest gets the step, all rules on length of stay, lead time, channels and returning guests ignored; it still \
                 has to be assigned. Default `false`.",
                "Whether every guest gets the step, all rules on length of stay, lead time, channels and returning guests ignored.",
            ),
            (
                "Id of the account, as another tool gives it. An active one needs one; an unknown one is a 404; never answered.",
                "Id of the account, as another tool gives it. An active one needs one.",
            ),
            ("At 9.5 euros, which is no end of a clause", "At 9.5 euros, which is no end of a clause"),
        ] {
            assert_eq!(first_clauses(text), told);
        }
    }

    #[test]
    fn what_a_value_is_filled_in_by_is_kept() {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["name"], "examples": [{}],
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": 60, "pattern": "\\S", "description": "What it is called." },
                "id": { "type": ["string", "null"], "format": "uuid", "description": "Which one." },
                "kind": { "anyOf": [{ "oneOf": [{ "const": "a" }, { "const": "b" }] }, { "type": "null" }], "description": "What kind." },
                "ids": { "type": "array", "maxItems": 100, "items": { "type": "string", "description": "One." }, "description": "Which ones." },
            },
        });
        let told = json!({
            "type": "object", "required": ["name"],
            "properties": {
                "name": { "type": "string", "description": "What it is called." },
                "id": { "type": "string", "description": "Which one." },
                "kind": { "type": "string", "enum": ["a", "b"], "description": "What kind." },
                "ids": { "type": "array", "items": { "type": "string" }, "description": "Which ones." },
            },
        });
        assert_eq!(Value::from(arguments(&schema, false, None)), told);
    }

    #[test]
    fn a_change_refers_to_what_makes_the_thing() {
        let fields = json!({ "properties": {
            "name": { "type": "string", "description": "What it is called." },
            "kind": { "type": "string", "description": "What only a new one has." },
        } });
        let change = json!({ "type": "object", "properties": { "data": { "type": "object", "properties": {
            "name": { "type": ["string", "null"], "description": "What it is called." },
            "extra": { "type": "integer", "description": "What only a change has." },
        } } } });
        let told = arguments(&change, true, Some(&Beside { tool: "make", fields }));
        assert_eq!(
            told["properties"]["data"],
            json!({
                "type": "object",
                "description": "What to change: any fields of `make` but kind, as described there.",
                "properties": { "extra": { "type": "integer", "description": "What only a change has." } },
            })
        );
    }
}
