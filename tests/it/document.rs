//! The OpenAPI document.

use std::collections::BTreeSet;

use engine::operation::Surface;
use engine::surface::openapi;
use serde_json::{Map, Value};
use vestibule::app::app;

#[test]
fn the_committed_document_is_the_one_that_is_served() {
    let committed = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json")).unwrap();
    assert!(committed == openapi::json(app()), "openapi.json is not what the operations say; write it anew with `just openapi`");
}

#[test]
fn every_public_operation_is_in_it() {
    let document = openapi::document(app());
    let operations = |paths: &Map<String, Value>| -> BTreeSet<String> {
        let listed = paths.values().flat_map(|path| path.as_object().unwrap().values());
        listed.filter_map(|operation| operation["operationId"].as_str()).map(str::to_owned).collect()
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

/// Whoever reads the document learns how many ids a request may name.
#[test]
fn every_list_of_ids_in_a_request_has_a_bound() {
    fn unbounded(schema: &Value, path: &str, found: &mut Vec<String>) {
        if schema["items"]["format"] == "uuid" && schema["maxItems"].as_u64().is_none() {
            found.push(path.to_owned());
        }
        match schema {
            Value::Object(fields) => fields.iter().for_each(|(name, schema)| unbounded(schema, &format!("{path}.{name}"), found)),
            Value::Array(items) => items.iter().for_each(|schema| unbounded(schema, path, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for operation in &vestibule::app::app().operations {
        unbounded(&operation.input_schema(&mut engine::operation::inline_generator()), operation.id, &mut found);
    }
    assert!(found.is_empty(), "{found:?}");
}

/// Examples are what people copy, so each must be what the schema beside it asks for.
#[test]
fn every_example_fits_its_schema() {
    let document = openapi::document(app());
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
                let Some(example) = media.get("example") else { continue };
                let mut schema = media["schema"].clone();
                schema["components"] = document["components"].clone();
                let validator = jsonschema::draft202012::new(&schema).unwrap();
                let errors: Vec<_> = validator.iter_errors(example).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{method} {path}: {errors:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "{checked}");
}
