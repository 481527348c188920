//! The OpenAPI 3.1 documents, generated from the operation list. There is one document for each
//! interface.
//!
//! The schemas are those that validate requests, so the documents cannot differ from the behaviour.

mod components;
mod example;
mod security;

use std::collections::BTreeSet;

use http::{HeaderValue, Method};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use strum::VariantArray;

use super::compressed::CompressedText;
pub use components::reference;
use engine::app::{App, Named};
use engine::error::ErrorKind as Refusal;
use engine::field::{PLACE, SECTION};
use engine::format;
use engine::operation::{self, Effect, Needs, Operation, PAGE_SIZE, Surface};
use engine::pipeline;
pub use example::{Detail, of as example};

/// The path of the named schemas within the document.
const SCHEMAS: &str = "/components/schemas";
/// The path of an OpenAPI document, relative to the base path of its interface.
pub(super) const PATH: &str = "/openapi.json";

/// A document in the form in which it is served.
pub(super) struct Document {
    pub(super) text: CompressedText,
    pub(super) etag: HeaderValue,
}

impl Document {
    /// Builds the OpenAPI document of an interface. Omits the section of webhooks if `has_webhooks`
    /// is false.
    pub(super) fn of(
        app: &'static App,
        surface: Surface,
        public_url: &str,
        has_webhooks: bool,
    ) -> Self {
        let mut document = document(app, surface, public_url);
        if !has_webhooks && let Some(sections) = document.as_object_mut() {
            sections.remove("webhooks");
            remove_unused_components(&mut document);
        }
        let text = format!("{document:#}\n");
        Self {
            etag: pipeline::tag(&[&text]),
            text: CompressedText::new(text),
        }
    }
}

/// Returns the OpenAPI document of an interface as JSON text, in the form in which it is printed
/// and served.
#[must_use]
pub fn json(app: &'static App, surface: Surface, public_url: &str) -> String {
    format!("{:#}\n", document(app, surface, public_url))
}

/// Returns the OpenAPI document of an interface for a service at `public_url`.
#[must_use]
pub fn document(app: &'static App, surface: Surface, public_url: &str) -> Value {
    let annex = app.about.annex;
    let (title, description) = (app.about.interface)(surface);
    let (described, schemas) = describe(app, surface);
    let mut paths = Map::new();
    let mut subjects: Vec<&str> = Vec::new();
    for described in &described {
        let path = paths
            .entry(described.operation.path)
            .or_insert_with(|| json!({}));
        path[described.operation.method.as_str().to_lowercase()] = described.entry(&schemas);
        let subject = subject(described.operation);
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let description_of = |subject: &str| {
        app.subjects
            .iter()
            .find(|(name, _)| *name == subject)
            .map(|(_, description)| *description)
    };
    let tags: Vec<Value> = subjects
        .iter()
        .map(|subject| {
            json!({
                "name": tag(subject),
                "description": description_of(subject).unwrap_or_default(),
            })
        })
        .collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": env!("CARGO_PKG_VERSION"),
            "description": description,
            "contact": { "name": "Vestibule" },
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": format!("{public_url}{}", surface.base()) }],
        "tags": tags,
        "paths": paths,
        "components": {
            "parameters": components::parameters(surface),
            "headers": components::headers(surface),
            "responses": components::responses(surface),
            "schemas": schemas,
        },
    });
    match security::schemes(surface, public_url) {
        Some(security) => document["components"]["securitySchemes"] = security,
        None => document["security"] = json!([]),
    }
    if surface == Surface::Public {
        document["webhooks"] = (annex.webhooks)(&schemas).into();
        if let (Some(parameters), Value::Object(additional)) = (
            document["components"]["parameters"].as_object_mut(),
            (annex.parameters)(),
        ) {
            parameters.extend(additional);
        }
    }
    publish(&mut document);
    remove_unused_components(&mut document);
    document
}

/// Makes a schema ready for publication. Replaces each schema that is only for validation by its
/// published form (`x-document`). Adds a pattern to each format that only this service knows.
/// Removes the keywords that only this process reads.
pub fn publish(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(mut published) = map.remove("x-document") {
                publish(&mut published);
                *value = published;
                return;
            }
            // A condition names fields that only the schema around it declares. Linters report that
            // as an error, so conditions are not published.
            for condition in ["if", "then", "else"] {
                map.remove(condition);
            }
            for extension in [SECTION, PLACE, PAGE_SIZE] {
                map.remove(extension);
            }
            if let Some(Value::String(name)) = map.get("format")
                && let Some(pattern) = format::pattern(name)
                && !map.contains_key("pattern")
            {
                map.insert("pattern".into(), pattern.into());
            }
            map.values_mut().for_each(publish);
        }
        Value::Array(items) => items.iter_mut().for_each(publish),
        _ => {}
    }
}

/// Removes the components that the document does not refer to, except the security schemes.
fn remove_unused_components(document: &mut Value) {
    loop {
        let mut references = BTreeSet::new();
        collect_references(document, &mut references);
        let mut is_done = true;
        for (section, components) in document["components"].as_object_mut().into_iter().flatten() {
            if section == "securitySchemes" {
                continue;
            }
            if let Some(components) = components.as_object_mut() {
                let before = components.len();
                components.retain(|name, _| {
                    references.contains(&format!("#/components/{section}/{name}"))
                });
                is_done &= components.len() == before;
            }
        }
        // A removed component may have contained the only reference to another component, so the
        // loop searches again.
        if is_done {
            return;
        }
    }
}

fn collect_references(value: &Value, references: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            references.extend(
                fields
                    .get("$ref")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            fields
                .values()
                .for_each(|inner| collect_references(inner, references));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|inner| collect_references(inner, references)),
        _ => {}
    }
}

/// An operation, with the schemas that the document publishes for it.
struct OperationSchemas {
    operation: &'static Operation,
    input: Value,
    output: Value,
}

/// Returns the operations of an interface, and the named schemas that they use.
fn describe(app: &'static App, surface: Surface) -> (Vec<OperationSchemas>, Map<String, Value>) {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.definitions_path = SCHEMAS.into();
            settings.meta_schema = None;
        })
        .into_generator();
    let operations = app
        .operations
        .iter()
        .filter(|operation| operation.surface == surface);
    let mut described: Vec<_> = operations
        .map(|operation| OperationSchemas {
            operation,
            input: operation.input_schema(&mut generator),
            output: operation.output_schema(&mut generator),
        })
        .collect();
    let mut schemas = generator.take_definitions(true);
    schemas.values_mut().for_each(operation::simplify);
    let named_schemas = (app.about.annex.schemas)(surface);
    let mut used = BTreeSet::new();
    for described in &mut described {
        name_schemas(&mut described.input, &named_schemas, &mut used);
        name_schemas(&mut described.output, &named_schemas, &mut used);
    }
    schemas
        .values_mut()
        .for_each(|schema| name_schemas(schema, &named_schemas, &mut used));
    for Named {
        name,
        schema,
        is_always,
    } in named_schemas
    {
        if is_always || used.contains(&name) {
            schemas.insert(name, schema);
        }
    }
    schemas.extend(components::envelope_schemas(surface));
    (described, schemas)
}

/// Replaces each inline copy of a named schema by a reference, at any depth. A copy equals the
/// schema, but may have an additional description.
fn name_schemas(schema: &mut Value, named: &[Named], used: &mut BTreeSet<String>) {
    let is_copy = |named: &&Named| match (&named.schema, &*schema) {
        (Value::Object(expected), Value::Object(copy)) => {
            copy.iter().all(|(key, value)| {
                expected
                    .get(key)
                    .map_or(key == "description", |expected| expected == value)
            }) && expected.keys().all(|key| copy.contains_key(key))
        }
        _ => false,
    };
    if let Some(Named { name, .. }) = named.iter().find(is_copy) {
        *schema = reference("schemas", name);
        used.insert(name.clone());
        return;
    }
    match schema {
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|inner| name_schemas(inner, named, used)),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|inner| name_schemas(inner, named, used)),
        _ => {}
    }
}

/// Returns the subject of an operation: the first segment of its path that is not a parameter such
/// as `{id}`. If this segment is `organizations`, returns the next such segment, if there is one.
fn subject(operation: &'static Operation) -> &'static str {
    let mut segments = operation
        .path
        .split('/')
        .filter(|part| !part.is_empty() && !part.starts_with('{'));
    let first = segments.next().unwrap_or_default();
    if first == "organizations" {
        segments.next().unwrap_or(first)
    } else {
        first
    }
}

/// Returns a subject as the title of a section, such as `Guest links` for `guest-links`.
fn tag(subject: &str) -> String {
    capitalize(&subject.replace('-', " "))
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

/// Returns a name in Pascal case: `TaskTemplate` for `task_template`.
#[must_use]
pub fn pascal(name: &str) -> String {
    name.split('_').map(capitalize).collect()
}

impl OperationSchemas {
    fn entry(&self, schemas: &Map<String, Value>) -> Value {
        let Self { operation, .. } = self;
        let permissions_text = match operation.needs {
            Needs::Credential => "Needs a valid credential only.".to_owned(),
            Needs::Permission(permission) => {
                format!("Needs the permission `{}`.", permission.as_ref())
            }
            Needs::Permissions(permissions) => {
                let names: Vec<_> = permissions
                    .iter()
                    .map(|permission| format!("`{}`", permission.as_ref()))
                    .collect();
                format!("Needs the permissions {}.", names.join(" and "))
            }
            Needs::ByBody(_) => "What is sent decides which permission it needs.".to_owned(),
        };
        let description = if operation.about.is_empty() {
            permissions_text
        } else {
            format!("{}\n\n{permissions_text}", operation.about)
        };
        let mut entry = json!({
            "operationId": operation.id,
            "summary": operation.summary,
            "description": description,
            "tags": [tag(subject(operation))],
            "responses": self.responses(schemas),
        });
        if let Some(security) = security::of(operation) {
            entry["security"] = security;
        }
        let parameters = self.parameters();
        if !parameters.is_empty() {
            entry["parameters"] = parameters.into();
        }
        if let Some(body) = self.request_body(schemas) {
            entry["requestBody"] = body;
        }
        entry
    }

    /// Returns the name and the schema of each field of the operation's input, and whether the
    /// field is required.
    fn fields(&self) -> impl Iterator<Item = (&String, &Value, bool)> {
        let fields = self.input["properties"].as_object().into_iter().flatten();
        fields.map(|(name, schema)| (name, schema, is_required(&self.input, name)))
    }

    fn parameters(&self) -> Vec<Value> {
        let operation = self.operation;
        let mut parameters: Vec<_> = self
            .fields()
            .filter(|(name, ..)| operation.is_path_field(name) || !operation.has_body())
            .map(|(name, schema, is_required)| {
                parameter(
                    name,
                    schema.clone(),
                    operation.is_path_field(name),
                    is_required,
                )
            })
            .collect();
        // Sort the path parameters first, in path order. The order of the other parameters does not
        // change.
        parameters.sort_by_key(|parameter| {
            let name = parameter["name"]
                .as_str()
                .filter(|_| parameter["in"] == "path");
            name.and_then(|name| operation.path.find(&format!("{{{name}}}")))
                .unwrap_or(usize::MAX)
        });
        if operation.method == Method::POST && operation.surface == Surface::Public {
            parameters.push(reference("parameters", "IdempotencyKey"));
        }
        if operation.method == Method::PATCH && operation.surface == Surface::Public {
            parameters.push(reference("parameters", "IfMatch"));
        }
        if operation.method == Method::GET {
            parameters.push(reference("parameters", "IfNoneMatch"));
        }
        parameters
    }

    /// Returns the request body, or `None` if the operation has no body fields.
    fn request_body(&self, schemas: &Map<String, Value>) -> Option<Value> {
        let operation = self.operation;
        if !operation.has_body()
            || self
                .fields()
                .all(|(name, ..)| operation.is_path_field(name))
        {
            return None;
        }
        let mut schema = self.input.clone();
        let examples = schema
            .as_object_mut()
            .and_then(|schema| schema.remove("examples"));
        if let Some(Value::Object(fields)) = schema.get_mut("properties") {
            fields.retain(|name, _| !operation.is_path_field(name));
        }
        let names = schema["required"].as_array().into_iter().flatten();
        let required: Vec<_> = names
            .filter(|name| {
                !name
                    .as_str()
                    .is_some_and(|name| operation.is_path_field(name))
            })
            .cloned()
            .collect();
        let is_required = !required.is_empty();
        schema["required"] = required.into();
        if !is_required && let Some(schema) = schema.as_object_mut() {
            schema.remove("required");
        }
        let mut example = examples
            .and_then(|examples| examples.get(0).cloned())
            .unwrap_or_else(|| example::of(&schema, schemas, Detail::Required));
        if let Some(fields) = example.as_object_mut() {
            fields.retain(|name, _| !operation.is_path_field(name));
        }
        if let Some(file) = operation.file {
            // The file is a part of a multipart form: raw bytes of any type.
            schema["properties"][file.field] = json!({
                "type": "string",
                "contentMediaType": "application/octet-stream",
                "description": format!(
                    "The file: {}, at most {} MiB.",
                    file.kinds,
                    file.max_bytes >> 20
                ),
            });
            return Some(json!({
                "required": true,
                "content": { "multipart/form-data": { "schema": schema } },
            }));
        }
        Some(json!({
            "required": is_required,
            "content": { "application/json": { "schema": schema, "example": example } },
        }))
    }

    fn responses(&self, schemas: &Map<String, Value>) -> Value {
        let operation = self.operation;
        let mut responses = json!({ operation.status.to_string(): self.success(schemas) });
        if operation.method == Method::GET {
            responses["304"] = reference("responses", "NotModified");
        }
        for kind in Refusal::VARIANTS.iter().copied() {
            let is_possible = match kind {
                Refusal::Conflict => operation.effect == Effect::Write,
                // A POST request gets this refusal if its idempotency key was used for another
                // request. The document lists the refusal for deletions too, although they take no
                // key.
                Refusal::BusinessRule => {
                    operation.surface == Surface::Public
                        && (operation.method == Method::POST || operation.method == Method::DELETE)
                }
                // A guest operation returns 404 if the token in the guest's link is unknown, so
                // most guest operations return no 401. A view at another time (`at`) can return
                // 401, because it needs a credential in addition to the link.
                Refusal::Authentication => {
                    operation.surface != Surface::Guest
                        || self.input["properties"].get("at").is_some()
                }
                Refusal::RateLimit => operation.surface != Surface::Platform,
                Refusal::Gone => {
                    operation.surface == Surface::Platform && operation.effect == Effect::Read
                }
                Refusal::Provider => operation.work.calls_another_service(),
                _ => kind.is_public(),
            };
            if is_possible {
                responses[kind.status().to_string()] =
                    reference("responses", &components::refusal_name(kind));
            }
        }
        responses
    }

    fn success(&self, schemas: &Map<String, Value>) -> Value {
        let operation = self.operation;
        let mut headers = components::common_headers(operation.surface);
        if operation.method == Method::POST && operation.surface == Surface::Public {
            headers.push("Idempotency-Replayed");
        }
        if operation.method == Method::GET {
            headers.push("ETag");
        }
        let data = example::of(&self.output, schemas, Detail::Everything);
        let mut meta = json!({ "requestId": example::ID });
        let mut meta_schema = "Meta";
        if let Some(limits) = operation.paging {
            meta["pagination"] = json!({
                "limit": limits.default,
                "offset": 0,
                "total": data.as_array().map_or(0, Vec::len),
            });
            meta_schema = "PageMeta";
        }
        let schema = json!({
            "type": "object",
            "properties": { "data": self.output, "meta": reference("schemas", meta_schema) },
            "required": ["data", "meta"],
        });
        json!({
            "description": if operation.status == 201 { "Created." } else { "Done." },
            "headers": components::header_references(&headers),
            "content": {
                "application/json": { "schema": schema, "example": { "data": data, "meta": meta } },
            },
        })
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"]
        .as_array()
        .is_some_and(|names| names.iter().any(|required| required == name))
}

fn parameter(name: &str, mut schema: Value, is_in_path: bool, is_required: bool) -> Value {
    remove_null(&mut schema);
    let description = schema
        .as_object_mut()
        .and_then(|schema| schema.remove("description"));
    let mut parameter = json!({
        "name": name,
        "in": if is_in_path { "path" } else { "query" },
        "required": is_in_path || is_required,
    });
    if let Some(description) = description {
        parameter["description"] = description;
    }
    if !is_in_path
        && schema["type"] == "string"
        && ["format", "enum", "pattern"]
            .iter()
            .all(|keyword| schema.get(keyword).is_none())
    {
        // A parameter must not be blank (rules: errors#requests).
        schema["pattern"] = "\\S".into();
    }
    if schema["type"] == "array" {
        parameter["style"] = "form".into();
        parameter["explode"] = true.into();
    }
    parameter["schema"] = schema;
    parameter
}

/// Removes null from a schema, because a parameter cannot be null.
fn remove_null(schema: &mut Value) {
    if let Some(types) = schema.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|type_name| type_name != "null");
        if let [type_name] = &types[..] {
            schema["type"] = type_name.clone();
        }
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
    if let Some(branches) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        branches.retain(|branch| branch["type"] != "null");
        if let [branch] = &mut branches[..]
            && let (Value::Object(inner), Some(outer)) = (branch.take(), schema.as_object_mut())
        {
            outer.remove("anyOf");
            for (key, value) in inner {
                outer.entry(key).or_insert(value);
            }
        }
    }
}
