//! Tests of the OpenAPI documents: complete, with descriptions, bounds and valid examples.

use std::collections::BTreeSet;

use engine::operation::Surface;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use vestibule::app::app;
use vestibule_http::surface::openapi;

#[test]
fn the_committed_document_equals_the_served_document() {
    let committed =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json")).unwrap();
    assert!(
        committed == openapi::json(app(), Surface::Public, "http://127.0.0.1:8080"),
        "openapi.json is not what the operations say; write it anew with `just openapi`"
    );
}

#[test]
fn every_public_operation_is_documented() {
    let document = openapi::document(app(), Surface::Public, "http://127.0.0.1:8080");
    let operations = |paths: &Map<String, Value>| -> BTreeSet<String> {
        let listed = paths
            .values()
            .flat_map(|path| path.as_object().unwrap().values());
        listed
            .filter_map(|operation| operation["operationId"].as_str())
            .map(str::to_owned)
            .collect()
    };
    let documented = operations(document["paths"].as_object().unwrap());
    let declared: Vec<&str> = vestibule::app::app()
        .operations
        .iter()
        .filter(|operation| operation.surface == Surface::Public)
        .map(|operation| operation.id)
        .collect();
    assert_eq!(documented.len(), declared.len(), "no name stands twice");
    assert!(declared.iter().all(|id| documented.contains(*id)));
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert!(document["webhooks"]["reservation.created"].is_object());
    assert!(document["components"]["securitySchemes"].is_object());
}

/// The document states the maximum number of ids for every list of ids in a request.
#[test]
fn every_list_of_ids_in_a_request_has_a_bound() {
    fn unbounded(schema: &Value, path: &str, results: &mut Vec<String>) {
        if schema["items"]["format"] == "uuid" && schema["maxItems"].as_u64().is_none() {
            results.push(path.to_owned());
        }
        match schema {
            Value::Object(fields) => fields
                .iter()
                .for_each(|(name, schema)| unbounded(schema, &format!("{path}.{name}"), results)),
            Value::Array(items) => items
                .iter()
                .for_each(|schema| unbounded(schema, path, results)),
            _ => {}
        }
    }
    let mut results = Vec::new();
    for operation in &vestibule::app::app().operations {
        unbounded(
            &operation.input_schema(&mut engine::operation::inline_generator()),
            operation.id,
            &mut results,
        );
    }
    assert!(results.is_empty(), "{results:?}");
}

/// Minimum length of a field's description, in characters.
const MIN_LENGTH: usize = 15;

/// Returns the paths of the fields of a schema that have no description. `named` maps the name in a
/// `$ref` to its schema. The description of a field's type is not enough, because a field must
/// state its own purpose.
pub(crate) fn undescribed(
    schema: &Value,
    named: &Map<String, Value>,
    path: &str,
) -> BTreeSet<String> {
    /// Adds to `results` the paths of fields whose description is missing or too short. `named` has
    /// the schemas to which a `$ref` refers. `beside` has the names of fields of the same object
    /// that the schema describes outside of its branches. A branch may repeat such a field without
    /// a description to restrict its values.
    fn collect(
        schema: &Value,
        named: &Map<String, Value>,
        path: &str,
        beside: &BTreeSet<&str>,
        results: &mut BTreeSet<String>,
    ) {
        let reference = schema["$ref"]
            .as_str()
            .and_then(|reference| reference.rsplit('/').next());
        let schema = reference.map_or(schema, |name| &named[name]);
        let fields: Vec<(&str, &Value)> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, field)| (name.as_str(), field))
            .collect();
        for (name, field) in &fields {
            let path = format!("{path}.{name}");
            let length = field["description"]
                .as_str()
                .map_or(0, |description| description.chars().count());
            collect(field, named, &path, &BTreeSet::new(), results);
            if length < MIN_LENGTH && !beside.contains(name) {
                results.insert(path);
            }
        }
        for inner in ["items", "additionalProperties"]
            .iter()
            .filter_map(|keyword| schema.get(keyword))
        {
            collect(inner, named, path, &BTreeSet::new(), results);
        }
        let beside = beside
            .iter()
            .copied()
            .chain(fields.iter().map(|(name, _)| *name))
            .collect();
        let shapes = ["allOf", "anyOf", "oneOf"]
            .into_iter()
            .filter_map(|keyword| schema[keyword].as_array())
            .flatten();
        for branch in shapes.chain(
            ["then", "else"]
                .iter()
                .filter_map(|keyword| schema.get(keyword)),
        ) {
            collect(branch, named, path, &beside, results);
        }
    }
    let mut results = BTreeSet::new();
    collect(schema, named, path, &BTreeSet::new(), &mut results);
    results
}

/// A language model, or a developer who builds a form, knows a field only by its description.
#[test]
fn every_request_field_has_a_description() {
    let mut results = BTreeSet::new();
    for operation in &vestibule::app::app().operations {
        // The generator does not inline types, so a field without a description does not get the
        // description of its type.
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let schema = operation.input_schema(&mut generator);
        results.extend(undescribed(&schema, generator.definitions(), operation.id));
    }
    let document = openapi::document(app(), Surface::Public, "http://127.0.0.1:8080");
    let named = document["components"]["schemas"].as_object().unwrap();
    for operation in document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|path| path.as_object().unwrap().values())
    {
        let id = operation["operationId"].as_str().unwrap();
        results.extend(undescribed(
            &operation["requestBody"]["content"]["application/json"]["schema"],
            named,
            id,
        ));
        for parameter in operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["name"].is_string())
        {
            if parameter["description"]
                .as_str()
                .is_none_or(|description| description.chars().count() < MIN_LENGTH)
            {
                results.insert(format!("{id}.{}", parameter["name"]));
            }
        }
    }
    assert!(
        results.is_empty(),
        "{} fields have no description, or next to none: {results:#?}",
        results.len()
    );
}

/// Checks which fields `undescribed` reports and which it accepts.
#[test]
fn a_field_without_a_description_is_named_by_its_path() {
    let described = json!({ "type": "string", "description": "Which of them is meant." });
    let schema = json!({
        "properties": {
            "data": { "description": "What there is to say of it.", "$ref": "#/$defs/Data" },
            "short": { "description": "Too short." },
            "typed": { "$ref": "#/$defs/Typed" },
            "kind": described,
        },
        "allOf": [{ "then": { "properties": { "kind": { "const": "a" }, "size": {} } } }],
    });
    let named = json!({
        "Data": {
            "properties": {
                "items": {
                    "description": "One thing after another.",
                    "items": {
                        "anyOf": [
                            { "properties": { "id": described, "name": {} } },
                            { "type": "null" },
                        ],
                    },
                },
            },
        },
        "Typed": { "description": "What the type says of itself." },
    });
    let found = undescribed(&schema, named.as_object().unwrap(), "do");
    assert_eq!(
        Vec::from_iter(found),
        ["do.data.items.name", "do.short", "do.size", "do.typed"]
    );
}

/// People copy examples, so each example must be valid under its schema.
#[test]
fn every_example_fits_its_schema() {
    let document = openapi::document(app(), Surface::Public, "http://127.0.0.1:8080");
    let mut checked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let contents = [&operation["requestBody"]["content"]].into_iter().chain(
                operation["responses"]
                    .as_object()
                    .into_iter()
                    .flat_map(|responses| responses.values().map(|response| &response["content"])),
            );
            for content in contents {
                let media = &content["application/json"];
                let Some(example) = media.get("example") else {
                    continue;
                };
                let mut schema = media["schema"].clone();
                schema["components"] = document["components"].clone();
                let validator = jsonschema::draft202012::new(&schema).unwrap();
                let errors: Vec<_> = validator
                    .iter_errors(example)
                    .map(|error| error.to_string())
                    .collect();
                assert!(errors.is_empty(), "{method} {path}: {errors:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "{checked}");
}
