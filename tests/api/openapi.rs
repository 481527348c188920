//! Tests of the OpenAPI documents as a whole. Each document describes every operation of its
//! interface, and every reference in a document has a target.

use std::collections::BTreeSet;

use engine::operation::Surface;
use features::events::Event;
use serde_json::{Value, json};
use strum::VariantArray as _;
use vestibule::app::app;
use vestibule_http::surface::openapi;

/// Adds to `matches` each value of a document that satisfies `predicate`, with the value's path.
fn collect<'v>(
    value: &'v Value,
    path: &str,
    predicate: &dyn Fn(&Value) -> bool,
    matches: &mut Vec<(String, &'v Value)>,
) {
    if predicate(value) {
        matches.push((path.to_owned(), value));
    }
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, inner)| collect(inner, &format!("{path}/{key}"), predicate, matches)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(n, inner)| collect(inner, &format!("{path}/{n}"), predicate, matches)),
        _ => {}
    }
}

fn all<'v>(document: &'v Value, predicate: &dyn Fn(&Value) -> bool) -> Vec<(String, &'v Value)> {
    let mut matches = Vec::new();
    collect(document, "#", predicate, &mut matches);
    matches
}

/// Returns the documents of all interfaces.
fn documents() -> Vec<Value> {
    Surface::VARIANTS
        .iter()
        .map(|surface| openapi::document(app(), *surface, "http://127.0.0.1:8080"))
        .collect()
}

#[test]
fn the_document_describes_every_public_operation_once() {
    let document = openapi::document(app(), Surface::Public, "http://127.0.0.1:8080");
    let ids: Vec<_> = all(&document["paths"], &|value| {
        value["operationId"].is_string()
    })
    .into_iter()
    .map(|(_, entry)| entry["operationId"].clone())
    .collect();
    let public: Vec<_> = app()
        .operations
        .iter()
        .filter(|operation| operation.surface == Surface::Public)
        .map(|operation| operation.id)
        .collect();
    assert_eq!(ids.len(), public.len());
    assert!(public.iter().all(|id| ids.iter().any(|named| named == id)));
    assert_eq!(
        ids.iter()
            .map(Value::to_string)
            .collect::<BTreeSet<_>>()
            .len(),
        ids.len()
    );
    assert_eq!(
        document["webhooks"].as_object().unwrap().len(),
        Event::VARIANTS.len() + 1
    );
}

#[test]
fn the_document_has_the_statuses_that_the_specification_promises() {
    let document = openapi::document(app(), Surface::Public, "http://127.0.0.1:8080");
    for (path, method) in [
        ("/properties/{propertyId}/assign-portal", "post"),
        ("/instructions/{id}", "delete"),
    ] {
        let responses = document["paths"][path][method]["responses"]
            .as_object()
            .unwrap();
        for status in [
            "400", "401", "403", "404", "409", "422", "429", "500", "503",
        ] {
            assert!(
                responses.contains_key(status),
                "{status} of {method} {path}"
            );
        }
    }
}

#[test]
fn every_reference_has_a_target() {
    for document in documents() {
        let named = all(&document, &|value| value["$ref"].is_string());
        let target = |value: &Value| value["$ref"].as_str().unwrap()[1..].to_owned();
        let lost: Vec<_> = named
            .iter()
            .filter(|(_, value)| document.pointer(&target(value)).is_none())
            .collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
}

/// Checks that the document contains no construct that breaks programs that generate clients from
/// it.
#[test]
fn the_document_avoids_constructs_that_break_generators() {
    let is_schema = |value: &Value| value["type"].is_string() || value["type"].is_array();
    for document in documents() {
        let is_of = |value: &Value, kind: &str| {
            value["type"] == kind
                || value["type"]
                    .as_array()
                    .is_some_and(|kinds| kinds.contains(&json!(kind)))
        };
        let title = &document["info"]["title"];
        let lists = all(&document, &|value| {
            is_schema(value) && is_of(value, "array") && !value["items"].is_object()
        });
        assert_eq!(lists, [], "{title}: lists of who knows what");
        let choices = all(&document, &|value| {
            value["oneOf"]
                .as_array()
                .is_some_and(|shapes| shapes.iter().all(|shape| shape.get("const").is_some()))
        });
        assert_eq!(
            choices,
            [],
            "{title}: values to choose from that are no enumeration"
        );
        let is_open = |value: &Value| {
            value.get("additionalProperties").is_none()
                && ["oneOf", "allOf", "anyOf"]
                    .iter()
                    .all(|part| value.get(part).is_none())
        };
        let objects = all(&document["components"], &|value| {
            is_schema(value)
                && is_of(value, "object")
                && value.get("properties").is_none()
                && is_open(value)
        });
        assert_eq!(objects, [], "{title}: objects of whatever");
        assert!(
            document["servers"][0]["url"]
                .as_str()
                .unwrap()
                .starts_with("http"),
            "{title}"
        );
        for tag in document["tags"].as_array().unwrap() {
            assert!(
                tag["description"]
                    .as_str()
                    .is_some_and(|words| !words.is_empty()),
                "{title}: {tag} is not described"
            );
        }
    }
    let document = openapi::document(app(), Surface::Public, "http://127.0.0.1:8080");
    let webhooks = document["webhooks"].as_object().unwrap();
    assert!(
        webhooks
            .values()
            .all(|webhook| webhook["post"]["operationId"].is_string())
    );
    assert_eq!(
        document["webhooks"]["reservation.created"]["post"]["operationId"],
        "onReservationCreated"
    );
}

#[test]
fn every_subject_belongs_to_an_operation() {
    let is_used = |subject: &str| {
        app()
            .operations
            .iter()
            .any(|operation| operation.path.split('/').any(|part| part == subject))
    };
    let unused: Vec<_> = app()
        .subjects
        .iter()
        .filter(|(subject, _)| !is_used(subject))
        .collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn oauth_scopes_match_the_permissions_of_operations() {
    let document = openapi::document(app(), Surface::Public, "https://stay.example.com");
    let scheme = &document["components"]["securitySchemes"]["oauth2"]["flows"]["authorizationCode"];
    assert_eq!(scheme["tokenUrl"], "https://stay.example.com/oauth/token");
    assert_eq!(scheme["scopes"].as_object().unwrap().len(), 11);
    let security = |path: &str| document["paths"][path]["get"]["security"].clone();
    assert_eq!(
        security("/precheck-steps"),
        json!([{ "bearer": [] }, { "oauth2": ["view_properties"] }])
    );
    assert_eq!(
        document["servers"][0]["url"],
        "https://stay.example.com/api/v1"
    );
}

/// Developers of a platform learn the fields of each record kind from this document.
#[test]
fn every_record_kind_is_described_with_its_fields() {
    let document = openapi::document(app(), Surface::Platform, "http://127.0.0.1:8080");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for kind in features::records::RecordKind::VARIANTS {
        let name = format!("{}Data", openapi::pascal(kind.as_ref()));
        let schema = schemas.get(&name).unwrap_or(&schemas["NamedData"]);
        let fields = schema["properties"].as_object().unwrap();
        assert!(
            !fields.is_empty()
                && fields
                    .values()
                    .all(|field| field["description"].is_string()),
            "{name}: {fields:?}"
        );
    }
}

#[test]
fn every_path_parameter_is_described() {
    let document = openapi::document(app(), Surface::Public, "http://127.0.0.1:8080");
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, entry) in item.as_object().unwrap() {
            let named = path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .collect::<Vec<_>>();
            let parameters = entry["parameters"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            let described = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| parameter["name"].as_str().unwrap());
            assert_eq!(named, described.collect::<Vec<_>>(), "{method} {path}");
        }
    }
}

#[test]
fn every_paged_list_documents_limit_and_offset() {
    let document = openapi::document(app(), Surface::Public, "http://127.0.0.1:8080");
    for operation in app()
        .operations
        .iter()
        .filter(|operation| operation.surface == Surface::Public && operation.paging.is_some())
    {
        let entry = &document["paths"][operation.path]["get"];
        let has = |name: &str| {
            entry["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|parameter| parameter["name"] == name)
        };
        assert!(has("limit") && has("offset"), "{}", operation.id);
    }
}

/// A generator ignores formats that it does not know, so each format of this service also has a
/// pattern. Time zones and currencies have no pattern, because their names come from lists.
#[test]
fn every_format_that_only_this_service_knows_has_a_pattern() {
    let others = [
        "uuid",
        "date-time",
        "date",
        "email",
        "uri",
        "time-zone",
        "currency",
    ];
    for document in documents() {
        let matches = all(&document, &|schema| {
            schema["format"]
                .as_str()
                .is_some_and(|format| !others.contains(&format) && !schema["pattern"].is_string())
        });
        assert!(matches.is_empty(), "{matches:#?}");
    }
}

#[test]
fn every_example_fits_its_schema() {
    documents().iter().for_each(examples_fit);
}

fn examples_fit(document: &Value) {
    let media = all(document, &|value| {
        value["schema"].is_object()
            && (value["example"].is_object() || value["examples"].is_object())
    });
    assert!(!media.is_empty());
    for (place, media) in media {
        // References are relative to the root of a schema, so the test adds the components to that
        // root.
        let schema = json!({ "components": document["components"], "allOf": [media["schema"]] });
        let validator = jsonschema::draft202012::options().build(&schema).unwrap();
        let several = media["examples"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, example)| &example["value"]);
        for example in media.get("example").into_iter().chain(several) {
            let failures: Vec<_> = validator
                .iter_errors(example)
                .map(|error| format!("{} {error}", error.instance_path()))
                .collect();
            assert!(failures.is_empty(), "{place}: {failures:?} in {example}");
        }
    }
}

#[test]
fn the_document_is_deterministic() {
    assert_eq!(
        format!(
            "{:#}\n",
            openapi::document(app(), Surface::Public, "http://127.0.0.1:8080")
        ),
        openapi::json(app(), Surface::Public, "http://127.0.0.1:8080")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_served_without_webhooks_on_request() {
    let app = test_support::App::on_sqlite(&[]).await;
    let fetch = async |query: &str| -> Value {
        let url = format!("{}/api/v1/openapi.json{query}", app.base);
        app.http
            .get(url)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    };
    let (whole, without) = (fetch("").await, fetch("?webhooks=false").await);
    assert!(whole.get("webhooks").is_some() && without.get("webhooks").is_none());
    assert_eq!(whole["paths"], without["paths"]);
}
