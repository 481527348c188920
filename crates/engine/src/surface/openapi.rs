//! The OpenAPI 3.1 document: the operation list, written down.
//!
//! The schemas are those that requests are validated by, so the document cannot say one thing and the service do another.

mod components;
mod example;

use http::{HeaderValue, Method};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use strum::VariantArray;

use super::packed::Packed;
use crate::app::{App, Named};
use crate::error::Kind as Refusal;
use crate::operation::{self, Effect, Needs, Operation, Surface, Work};
use crate::pipeline;
pub use components::reference;
pub use example::{Detail, of as example};

/// Where the document keeps its named schemas.
const SCHEMAS: &str = "/components/schemas";
/// The document as it is served.
pub(super) struct Document {
    pub(super) packed: Packed,
    pub(super) etag: HeaderValue,
}

impl Document {
    pub(super) fn of(app: &App) -> Self {
        let text = json(app);
        Self { etag: pipeline::tag(&[&text]), packed: Packed::new(text) }
    }
}

/// The document as it is printed and served.
#[must_use]
pub fn json(app: &App) -> String {
    format!("{:#}\n", document(app))
}

/// The OpenAPI document of the public interface.
#[must_use]
pub fn document(app: &App) -> Value {
    let annex = app.about.annex;
    let (described, schemas) = describe(app);
    let mut paths = Map::new();
    let mut tags: Vec<Value> = Vec::new();
    for described in &described {
        let path = paths.entry(described.operation.path).or_insert_with(|| json!({}));
        path[described.operation.method.as_str().to_lowercase()] = described.entry(&schemas);
        let tag = json!({ "name": tag(described.operation) });
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    let mut parameters = components::parameters();
    if let (Some(parameters), Value::Object(others)) = (parameters.as_object_mut(), (annex.parameters)()) {
        parameters.extend(others);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Vestibule",
            "version": env!("CARGO_PKG_VERSION"),
            "description": app.about.description,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": Surface::Public.base() }],
        "security": [{ "bearer": [] }],
        "tags": tags,
        "paths": paths,
        "webhooks": (annex.webhooks)(&schemas),
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key (`sk_…`), which acts across the whole organization, or an OAuth access token \
                        (`at_…`), which reaches the properties of the member who authorized it.",
                },
            },
            "parameters": parameters,
            "headers": components::headers(),
            "responses": components::responses(),
            "schemas": schemas,
        },
    })
}

/// An operation with its schemas.
struct Described<'a> {
    operation: &'a Operation,
    input: Value,
    output: Value,
}

/// The public operations, and the schemas they name.
fn describe(app: &App) -> (Vec<Described<'_>>, Map<String, Value>) {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.definitions_path = SCHEMAS.into();
            settings.meta_schema = None;
        })
        .into_generator();
    let public = app.operations.iter().filter(|operation| operation.surface == Surface::Public);
    let mut described: Vec<_> = public
        .map(|operation| Described {
            operation,
            input: operation.input_schema(&mut generator),
            output: operation.output_schema(&mut generator),
        })
        .collect();
    let mut schemas = generator.take_definitions(true);
    schemas.values_mut().for_each(operation::tidy);
    let named = (app.about.annex.schemas)();
    for described in &mut described {
        name_schema(&mut described.output, &named, &mut schemas);
    }
    for Named { name, schema, .. } in named.into_iter().filter(|named| named.is_always) {
        schemas.insert(name, schema);
    }
    schemas.extend(components::envelope_schemas());
    (described, schemas)
}

/// Puts a reference in the place of a schema with a name, alone or as the items of a list: it is described once.
fn name_schema(output: &mut Value, named: &[Named], schemas: &mut Map<String, Value>) {
    let place = if output.get("items").is_some() { &mut output["items"] } else { output };
    if let Some(Named { name, schema, .. }) = named.iter().find(|named| named.schema == *place) {
        *place = reference("schemas", name);
        schemas.insert(name.clone(), schema.clone());
    }
}

/// The first segment of the path, as words.
fn tag(operation: &Operation) -> String {
    capital(&operation.path.split('/').nth(1).unwrap_or_default().replace('-', " "))
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// `TaskTemplate` for `task_template`.
#[must_use]
pub fn pascal(name: &str) -> String {
    name.split('_').map(capital).collect()
}

impl Described<'_> {
    fn entry(&self, schemas: &Map<String, Value>) -> Value {
        let Self { operation, .. } = self;
        let needed = match operation.needs {
            Needs::Credential => "Needs a valid credential only.".to_owned(),
            Needs::Permission(permission) => format!("Needs the permission `{}`.", permission.as_ref()),
            Needs::Permissions(permissions) => {
                let names: Vec<_> = permissions.iter().map(|permission| format!("`{}`", permission.as_ref())).collect();
                format!("Needs the permissions {}.", names.join(" and "))
            }
            Needs::ByBody(_) => "What is sent decides which permission it needs.".to_owned(),
        };
        let description = if operation.about.is_empty() { needed } else { format!("{}\n\n{needed}", operation.about) };
        let mut entry = json!({
            "operationId": operation.id,
            "summary": operation.summary,
            "description": description,
            "tags": [tag(operation)],
            "responses": self.responses(schemas),
        });
        let parameters = self.parameters();
        if !parameters.is_empty() {
            entry["parameters"] = parameters.into();
        }
        if let Some(body) = self.request_body(schemas) {
            entry["requestBody"] = body;
        }
        entry
    }

    /// The fields of the input, and whether each must be sent.
    fn fields(&self) -> impl Iterator<Item = (&String, &Value, bool)> {
        let fields = self.input["properties"].as_object().into_iter().flatten();
        fields.map(|(name, schema)| (name, schema, is_required(&self.input, name)))
    }

    fn parameters(&self) -> Vec<Value> {
        let operation = self.operation;
        let mut parameters: Vec<_> = self
            .fields()
            .filter(|(name, ..)| operation.is_path_field(name) || !operation.has_body())
            .map(|(name, schema, is_required)| parameter(name, schema.clone(), operation.is_path_field(name), is_required))
            .collect();
        // Those of the path first, as they stand in it; the others keep their order.
        parameters.sort_by_key(|parameter| {
            let name = parameter["name"].as_str().filter(|_| parameter["in"] == "path");
            name.and_then(|name| operation.path.find(&format!("{{{name}}}"))).unwrap_or(usize::MAX)
        });
        if operation.method == Method::POST {
            parameters.push(reference("parameters", "IdempotencyKey"));
        }
        if operation.method == Method::GET {
            parameters.push(reference("parameters", "IfNoneMatch"));
        }
        parameters
    }

    /// The body of an operation that has fields to send in one.
    fn request_body(&self, schemas: &Map<String, Value>) -> Option<Value> {
        let operation = self.operation;
        if !operation.has_body() || self.fields().all(|(name, ..)| operation.is_path_field(name)) {
            return None;
        }
        let mut schema = self.input.clone();
        let given = schema.as_object_mut().and_then(|schema| schema.remove("examples"));
        if let Some(Value::Object(fields)) = schema.get_mut("properties") {
            fields.retain(|name, _| !operation.is_path_field(name));
        }
        let names = schema["required"].as_array().into_iter().flatten();
        let required: Vec<_> = names.filter(|name| !name.as_str().is_some_and(|name| operation.is_path_field(name))).cloned().collect();
        let is_required = !required.is_empty();
        schema["required"] = required.into();
        if !is_required && let Some(schema) = schema.as_object_mut() {
            schema.remove("required");
        }
        let mut example =
            given.and_then(|examples| examples.get(0).cloned()).unwrap_or_else(|| example::of(&schema, schemas, Detail::Required));
        if let Some(fields) = example.as_object_mut() {
            fields.retain(|name, _| !operation.is_path_field(name));
        }
        Some(json!({ "required": is_required, "content": { "application/json": { "schema": schema, "example": example } } }))
    }

    fn responses(&self, schemas: &Map<String, Value>) -> Value {
        let operation = self.operation;
        let mut responses = json!({ operation.status.to_string(): self.success(schemas) });
        if operation.method == Method::GET {
            responses["304"] = reference("responses", "NotModified");
        }
        for kind in Refusal::VARIANTS.iter().copied() {
            let may_happen = match kind {
                Refusal::Conflict => operation.effect == Effect::Write,
                Refusal::BusinessRule => operation.method == Method::POST,
                Refusal::Provider => matches!(operation.work, Work::Provider(_)),
                _ => kind.is_public(),
            };
            if may_happen {
                responses[kind.status().to_string()] = reference("responses", &components::refusal_name(kind));
            }
        }
        responses
    }

    fn success(&self, schemas: &Map<String, Value>) -> Value {
        let operation = self.operation;
        let mut headers: Vec<_> = vec!["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
        if operation.method == Method::POST {
            headers.push("Idempotency-Replayed");
        }
        if operation.method == Method::GET {
            headers.push("ETag");
        }
        let data = example::of(&self.output, schemas, Detail::Everything);
        let mut meta = json!({ "requestId": example::ID });
        let mut described = "Meta";
        if let Some(limits) = operation.paging {
            meta["pagination"] = json!({ "limit": limits.default, "offset": 0, "total": data.as_array().map_or(0, Vec::len) });
            described = "PageMeta";
        }
        let schema = json!({
            "type": "object",
            "properties": { "data": self.output, "meta": reference("schemas", described) },
            "required": ["data", "meta"],
        });
        json!({
            "description": if operation.status == 201 { "Created." } else { "Done." },
            "headers": components::header_references(&headers),
            "content": { "application/json": { "schema": schema, "example": { "data": data, "meta": meta } } },
        })
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
}

fn parameter(name: &str, mut schema: Value, is_in_path: bool, is_required: bool) -> Value {
    without_null(&mut schema);
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    let mut parameter = json!({
        "name": name,
        "in": if is_in_path { "path" } else { "query" },
        "required": is_in_path || is_required,
    });
    if let Some(description) = description {
        parameter["description"] = description;
    }
    if !is_in_path && schema["type"] == "string" && ["format", "enum", "pattern"].iter().all(|keyword| schema.get(keyword).is_none()) {
        // A parameter that is sent says something (contract: Requests).
        schema["pattern"] = "\\S".into();
    }
    if schema["type"] == "array" {
        parameter["style"] = "form".into();
        parameter["explode"] = true.into();
    }
    parameter["schema"] = schema;
    parameter
}

/// A parameter cannot be null: it is left out.
fn without_null(schema: &mut Value) {
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &kinds[..] {
            schema["type"] = kind.clone();
        }
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
    if let Some(shapes) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        shapes.retain(|shape| shape["type"] != "null");
        if let [shape] = &mut shapes[..]
            && let (Value::Object(inner), Some(outer)) = (shape.take(), schema.as_object_mut())
        {
            outer.remove("anyOf");
            for (key, value) in inner {
                outer.entry(key).or_insert(value);
            }
        }
    }
}
