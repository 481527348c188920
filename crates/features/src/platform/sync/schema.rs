//! The JSON Schemas for records that a request contains. One schema validates the records, the
//! other one is published.

use std::borrow::Cow;
use std::collections::BTreeMap;

use engine::app::Named;
use engine::operation::Surface;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};
use strum::VariantArray;
use vestibule_http::surface::openapi::{pascal, reference};

use super::{MAX_RECORDS, Sync};
use crate::events::data_name;
use crate::records::RecordKind;

impl JsonSchema for Sync {
    fn schema_name() -> Cow<'static, str> {
        "Sync".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": false,
            "required": ["organizationId", "records"],
            "properties": {
                "organizationId": {
                    "type": "string",
                    "format": "uuid",
                    "description": "Id of the organization that the records are of.",
                },
                "isInitialSync": {
                    "type": ["boolean", "null"],
                    "description": "Whether the records are history, which fires no events. Null \
                        or left out: `false`.",
                },
                "dryRun": {
                    "type": ["boolean", "null"],
                    "description": "Whether everything is judged and answered as if it were \
                        applied, and nothing is. Null or left out: `false`.",
                },
                "onInvalid": {
                    "type": ["string", "null"],
                    "enum": ["refuse", "skip", null],
                    "description": "What happens if a record is invalid: `refuse` applies nothing; \
                        `skip` leaves the record out, and those that refer to it, and applies the \
                        others. Null or left out: `refuse`.",
                },
                "records": records_schema(MAX_RECORDS, documented()),
            },
            "examples": [
                {
                    "records": [
                        {
                            "kind": "property",
                            "id": "0192f0c1-2345-7abc-8def-0123456789ab",
                            "data": {
                                "name": "Casa Azul 2-1",
                                "timezone": "Europe/Madrid",
                                "country": "ES",
                            },
                        },
                    ],
                },
            ],
        })
    }
}

/// Returns the JSON Schema that validates a list of at most `most` records. The published document
/// shows `published` as the schema of the items instead.
pub(in crate::platform) fn records_schema(most: usize, published: Value) -> Value {
    // Each kind has its own branch, so that an error names the failing field. Without branches, an
    // error would only say that none of the 23 schemas matches.
    let shapes: Vec<Value> = RecordKind::VARIANTS
        .iter()
        .map(|kind| {
            json!({
                "if": {
                    "properties": { "kind": { "const": kind.as_ref() } },
                    "required": ["kind"],
                },
                "then": { "properties": { "data": kind.schema() } },
            })
        })
        .chain([json!({
            "if": { "properties": { "isDeleted": { "const": true } }, "required": ["isDeleted"] },
            "else": { "properties": { "data": {} }, "required": ["data"] },
        })])
        .collect();
    json!({
        "type": "array",
        "description": "What to insert, replace and delete, in this order, all or nothing. A \
            reference to a record that is neither there nor earlier in the list is a 400.",
        "maxItems": most,
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["kind", "id"],
            "properties": {
                "kind": {
                    "type": "string",
                    "enum": RecordKind::VARIANTS,
                    "description": "What the record is; it decides what `data` holds.",
                },
                "id": {
                    "type": "string",
                    "format": "uuid",
                    "description": "The caller's own id of the record, unique within organization \
                        and kind. One that is known is replaced.",
                },
                "data": {
                    "type": "object",
                    "description": "The whole record as it is from now on; required unless \
                        `isDeleted`. At most 64 KiB as JSON, 256 KiB for a review or a workflow. \
                        Fields that the kind does not know are kept.",
                },
                "isDeleted": {
                    "type": ["boolean", "null"],
                    "description": "Whether the record is deleted; what still points at it then \
                        points at nothing. Null or left out: `false`.",
                },
                "version": version(),
            },
            "allOf": shapes,
            "x-document": published,
        },
    })
}

/// Returns the published schema of a record. It has one schema for each kind, and `kind` is the
/// discriminator. It accepts the same records as the validating schema, in a form that client
/// generators understand.
fn documented() -> Value {
    let mapping: BTreeMap<_, _> = RecordKind::VARIANTS
        .iter()
        .map(|kind| {
            let path = format!("#/components/schemas/{}", name(*kind));
            (kind.as_ref(), path)
        })
        .collect();
    let shapes: Vec<_> = RecordKind::VARIANTS
        .iter()
        .map(|kind| reference("schemas", &name(*kind)))
        .collect();
    json!({
        "oneOf": shapes,
        "discriminator": { "propertyName": "kind", "mapping": mapping },
    })
}

/// Returns the published schemas of records, each under its own name.
#[must_use]
pub fn schemas(surface: Surface) -> Vec<Named> {
    let kinds = RecordKind::VARIANTS
        .iter()
        .filter(|_| surface == Surface::Platform);
    kinds
        .map(|kind| Named {
            name: name(*kind),
            schema: shape(*kind),
            is_always: true,
        })
        .collect()
}

fn name(kind: RecordKind) -> String {
    format!("Sync{}", pascal(kind.as_ref()))
}

/// Returns the schema of a record's version.
pub(in crate::platform) fn version() -> Value {
    json!({
        "type": ["integer", "string", "null"],
        "format": "date-time",
        "minimum": i64::MIN,
        "maximum": i64::MAX,
        "description": "The sender's version of the record: a whole number or a timestamp that \
            grows with each change. A record whose known version is higher is left out. Null or \
            left out: the record is applied, and keeps the version that it has.",
    })
}

fn shape(kind: RecordKind) -> Value {
    json!({
        "title": name(kind),
        "type": "object",
        "additionalProperties": false,
        "required": ["kind", "id"],
        "properties": {
            "kind": {
                "type": "string",
                "enum": [kind.as_ref()],
                "description": "The kind of the record.",
            },
            "id": {
                "type": "string",
                "format": "uuid",
                "description": "The platform's own id of the record.",
            },
            "data": reference("schemas", &data_name(kind)),
            "isDeleted": {
                "type": ["boolean", "null"],
                "description": "Whether the record is deleted. `data` is required unless it is.",
            },
            "version": version(),
        },
    })
}
