//! Sync: the platform pushes records, all or nothing, and what changed becomes events.

use std::borrow::Cow;
use std::time::Duration;

use engine::context::Context;
use engine::error::{Error, PathSegment, Result};
use engine::operation::{Object, Operation};
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strum::VariantArray;
use uuid::Uuid;

use super::batch::{Batch, SyncRecord};
use crate::records::Kind;

/// Records in one request at the most.
pub const MAX_RECORDS: usize = 10_000;
/// 16 MiB: the greatest body of a sync.
const BODY_LIMIT: usize = 16 << 20;
/// How long a full batch may take on a slow disk.
const PATIENCE: Duration = Duration::from_secs(120);

/// Warnings in one answer at the most.
const MAX_WARNINGS: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Sync {
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    #[serde(default)]
    is_initial_sync: Option<bool>,
    #[serde(default)]
    dry_run: Option<bool>,
    records: Vec<SyncRecord>,
}

impl JsonSchema for Sync {
    fn schema_name() -> Cow<'static, str> {
        "Sync".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // A branch a kind, so that a failing field is reported where it stands and not as "none of 23 shapes".
        let shapes: Vec<Value> = Kind::VARIANTS
            .iter()
            .map(|kind| {
                json!({
                    "if": { "properties": { "kind": { "const": kind.as_ref() } }, "required": ["kind"] },
                    "then": { "properties": { "data": kind.schema() } },
                })
            })
            .chain([json!({
                "if": { "properties": { "isDeleted": { "const": true } }, "required": ["isDeleted"] },
                "else": { "properties": { "data": {} }, "required": ["data"] },
            })])
            .collect();
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": false,
            "required": ["organizationId", "records"],
            "properties": {
                "organizationId": { "type": "string", "format": "uuid", "description": "Id of the organization that the records are of." },
                "isInitialSync": {
                    "type": ["boolean", "null"],
                    "description": "Whether the records are history, which fires no events. Null or left out: `false`.",
                },
                "dryRun": {
                    "type": ["boolean", "null"],
                    "description": "Whether everything is judged and answered as if it were applied, and nothing is. Null or left out: `false`.",
                },
                "records": {
                    "type": "array",
                    "description": "What to insert, replace and delete, in this order, all or nothing. A reference to a record that is \
                        neither there nor earlier in the list is a 400.",
                    "maxItems": MAX_RECORDS,
                    "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["kind", "id"],
                        "properties": {
                            "kind": {
                                "type": "string",
                                "enum": Kind::VARIANTS,
                                "description": "What the record is; it decides what `data` holds.",
                            },
                            "id": {
                                "type": "string",
                                "format": "uuid",
                                "description": "The platform's own id of the record, unique within organization and kind. One that is known is replaced.",
                            },
                            "data": {
                                "type": "object",
                                "description": "The whole record as it is from now on; required unless `isDeleted`. At most 64 KiB as JSON, \
                                    256 KiB for a review or a workflow. Fields that the kind does not know are kept.",
                            },
                            "isDeleted": {
                                "type": ["boolean", "null"],
                                "description": "Whether the record is deleted; what still points at it then points at nothing. Null or left out: `false`.",
                            },
                        },
                        "allOf": shapes,
                    },
                },
            },
            "examples": [{
                "records": [{
                    "kind": "property", "id": "0192f0c1-2345-7abc-8def-0123456789ab",
                    "data": { "name": "Casa Azul 2-1", "timezone": "Europe/Madrid", "country": "ES" },
                }],
            }],
        })
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Synced {
    /// Records that were sent and now stand as they were sent.
    applied: usize,
    /// Events that fired.
    events: usize,
    /// Fields of the data that its kind does not know, which may be misspelt; they are kept. At most 100.
    warnings: Vec<Warning>,
}

/// Something about a record that is accepted, and may not be meant.
#[derive(Debug, Serialize, JsonSchema)]
struct Warning {
    /// From the body's root to the field.
    #[schemars(with = "Vec<Value>")]
    path: Vec<PathSegment>,
    /// What there is to say of it.
    message: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneReservation {
    /// Id of the organization that the reservation is of.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the reservation whose guest's link is wanted.
    reservation_id: Uuid,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StayLink {
    /// Where the guest's browser goes.
    url: String,
    /// What the guest interface takes.
    token: String,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform("sync", Method::POST, "/organizations/{organizationId}/sync")
            .summary("Insert, replace and delete records, all or nothing")
            .bulk(BODY_LIMIT, PATIENCE)
            .keeps_numbers()
            .touches_stream()
            .run(sync),
        Operation::platform("createGuestLink", Method::POST, "/organizations/{organizationId}/reservations/{reservationId}/guest-link")
            .summary("The guest's link to a stay; the same one each time")
            .run(|context, input: OneReservation| {
                let token = crate::guest::stay_token(context, input.reservation_id)?;
                Ok(StayLink { url: crate::guest::stay_url(context, &token), token })
            }),
    ]
}

fn sync(context: &mut Context<'_, '_>, input: Sync) -> Result<Synced> {
    let is_rehearsal = input.dry_run.unwrap_or(false);
    if is_rehearsal {
        context.rehearse();
    }
    let applied = input.records.len();
    let fires = !input.is_initial_sync.unwrap_or(false);
    let warnings = warnings(&input.records);
    let mut batch = Batch::load(context, &input.records)?;
    for (index, record) in input.records.into_iter().enumerate() {
        match record.data {
            Some(data) if record.is_deleted != Some(true) => batch.put(context, index, record.kind, record.id, data, fires)?,
            _ => batch.delete(context.now(), record.kind, record.id),
        }
    }
    if !batch.issues.is_empty() {
        return Err(Error::issues(batch.issues));
    }
    let events = batch.happenings.len();
    if !is_rehearsal {
        batch.write(context)?;
    }
    Ok(Synced { applied, events, warnings })
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// The fields that the kinds of some records do not know, as far as an answer has room for them.
fn warnings(records: &[SyncRecord]) -> Vec<Warning> {
    let stays = records.iter().enumerate().filter(|(_, record)| record.is_deleted != Some(true));
    let fields = stays.flat_map(|(index, record)| record.data.iter().flat_map(Object::keys).map(move |field| (index, record.kind, field)));
    let strange = fields.filter(|(_, kind, field)| !kind.knows(field)).take(MAX_WARNINGS);
    let warning = |(index, kind, field): (usize, Kind, &String)| Warning {
        path: vec!["records".into(), index.into(), "data".into(), field.as_str().into()],
        message: format!("is no field of {}; it is kept", with_article(&kind.label().to_lowercase())),
    };
    strange.map(warning).collect()
}
