//! The OpenAPI document as a whole: nothing is missing in it, and nothing leads nowhere.

use std::collections::BTreeSet;

use engine::operation::Surface;
use engine::surface::openapi;
use serde_json::{Value, json};
use strum::VariantArray as _;
use vestibule::app::app;
use vestibule::events::Event;

/// Every value of the document that satisfies a test, with its place.
fn collect<'v>(value: &'v Value, path: &str, wanted: &dyn Fn(&Value) -> bool, found: &mut Vec<(String, &'v Value)>) {
    if wanted(value) {
        found.push((path.to_owned(), value));
    }
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, inner)| collect(inner, &format!("{path}/{key}"), wanted, found)),
        Value::Array(items) => items.iter().enumerate().for_each(|(n, inner)| collect(inner, &format!("{path}/{n}"), wanted, found)),
        _ => {}
    }
}

fn all<'v>(document: &'v Value, wanted: &dyn Fn(&Value) -> bool) -> Vec<(String, &'v Value)> {
    let mut found = Vec::new();
    collect(document, "#", wanted, &mut found);
    found
}

#[test]
fn describes_every_public_operation_once() {
    let document = openapi::document(app());
    let ids: Vec<_> = all(&document["paths"], &|value| value["operationId"].is_string())
        .into_iter()
        .map(|(_, entry)| entry["operationId"].clone())
        .collect();
    let public: Vec<_> =
        app().operations.iter().filter(|operation| operation.surface == Surface::Public).map(|operation| operation.id).collect();
    assert_eq!(ids.len(), public.len());
    assert!(public.iter().all(|id| ids.iter().any(|named| named == id)));
    assert_eq!(ids.iter().map(Value::to_string).collect::<BTreeSet<_>>().len(), ids.len());
    assert_eq!(document["webhooks"].as_object().unwrap().len(), Event::VARIANTS.len() + 1);
}

#[test]
fn every_reference_leads_somewhere() {
    let document = openapi::document(app());
    for (place, value) in all(&document, &|value| value["$ref"].is_string()) {
        let target = value["$ref"].as_str().unwrap();
        assert!(document.pointer(&target[1..]).is_some(), "{place} names {target}");
    }
}

#[test]
fn every_parameter_of_a_path_is_described() {
    let document = openapi::document(app());
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, entry) in item.as_object().unwrap() {
            let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect::<Vec<_>>();
            let parameters = entry["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
            let described =
                parameters.iter().filter(|parameter| parameter["in"] == "path").map(|parameter| parameter["name"].as_str().unwrap());
            assert_eq!(named, described.collect::<Vec<_>>(), "{method} {path}");
        }
    }
}

#[test]
fn every_page_can_be_asked_for() {
    let document = openapi::document(app());
    for operation in app().operations.iter().filter(|operation| operation.surface == Surface::Public && operation.paging.is_some()) {
        let entry = &document["paths"][operation.path]["get"];
        let has = |name: &str| entry["parameters"].as_array().into_iter().flatten().any(|parameter| parameter["name"] == name);
        assert!(has("limit") && has("offset"), "{}", operation.id);
    }
}

#[test]
fn every_example_fits_its_schema() {
    let document = openapi::document(app());
    let media = all(&document, &|value| value["schema"].is_object() && (value["example"].is_object() || value["examples"].is_object()));
    assert!(!media.is_empty());
    for (place, media) in media {
        // References lead from the root, so the schema is put beside what they name.
        let schema = json!({ "components": document["components"], "allOf": [media["schema"]] });
        let validator = jsonschema::draft202012::options().build(&schema).unwrap();
        let several = media["examples"].as_object().into_iter().flatten().map(|(_, example)| &example["value"]);
        for example in media.get("example").into_iter().chain(several) {
            let failures: Vec<_> = validator.iter_errors(example).map(|error| format!("{} {error}", error.instance_path())).collect();
            assert!(failures.is_empty(), "{place}: {failures:?} in {example}");
        }
    }
}

#[test]
fn is_the_same_each_time() {
    assert_eq!(format!("{:#}\n", openapi::document(app())), openapi::json(app()));
}
