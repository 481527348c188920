//! Records that a person or a program of the organization writes (rules: records#records-by-hand).

use std::borrow::Cow;
use std::sync::LazyLock;

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, PathSegment, Reason, Result};
use engine::moment::Moment;
use engine::operation::{Needs, Object, Operation};
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Value, json};
use store::Json;
use strum::VariantArray;
use uuid::Uuid;

use super::audited;
use super::batch::SyncRecord;
use super::sync::{
    OnInvalid, SyncSettings, Synced, TIMEOUT, Warning, apply_records, records_schema, version,
};
use crate::records::{Record, RecordKind, RecordOrigin, get_record, stored};

/// Maximum number of records in one request of `putRecords`.
const MAX_BY_HAND: usize = 1_000;
/// Maximum body size of `putRecords`: 1 MiB, which is the default for operations.
const BODY_LIMIT_BY_HAND: usize = 1 << 20;

/// A request to write records, from a person or a program of the organization.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PutRecords {
    #[serde(default)]
    dry_run: Option<bool>,
    records: Vec<SyncRecord>,
}

impl JsonSchema for PutRecords {
    fn schema_name() -> Cow<'static, str> {
        "PutRecords".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let published = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["kind", "id"],
            "properties": {
                "kind": {
                    "type": "string",
                    "enum": RecordKind::VARIANTS,
                    "description": "The kind of the record.",
                },
                "id": {
                    "type": "string",
                    "format": "uuid",
                    "description": "The caller's own id of the record.",
                },
                "data": {
                    "type": "object",
                    "description": "The whole record as it is from now on, in the shape of a sync \
                        of the platform interface.",
                },
                "isDeleted": {
                    "type": ["boolean", "null"],
                    "description": "Whether the record is deleted. `data` is required unless it \
                        is.",
                },
                "version": version(),
            },
        });
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": false,
            "required": ["records"],
            "properties": {
                "dryRun": {
                    "type": ["boolean", "null"],
                    "description": "Whether everything is judged and answered as if it were \
                        applied, and nothing is. Null or left out: `false`.",
                },
                "records": records_schema(MAX_BY_HAND, published),
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

pub(super) fn operations() -> Vec<Operation> {
    vec![
        put_operation(),
        Operation::public(
            "updateRecord",
            Method::PATCH,
            "/records/{kind}/{id}",
            Needs::Permission(Permission::ManageOrganization),
        )
        .summary("Change some fields of a record by hand")
        .rest_only()
        .keeps_numbers()
        .touches_stream()
        .audited(Audits::changes(audited::audited_record))
        .run(update_record),
    ]
}

fn put_operation() -> Operation {
    Operation::public(
        "putRecords",
        Method::POST,
        "/records",
        Needs::Permission(Permission::ManageOrganization),
    )
    .summary("Insert, replace and delete records by hand, all or nothing")
    .tool(
        "records",
        "Put records",
        "Creates, replaces and deletes records without a platform: flats, groups, tags, \
            reservations and every other kind, at most 1000. `data` is the whole record. A record \
            that the platform manages (`origin` `platform`) is refused. Try with `dryRun` first.",
    )
    .bulk(BODY_LIMIT_BY_HAND, TIMEOUT)
    .keeps_numbers()
    .touches_stream()
    .destructive()
    .idempotent()
    .audited(Audits::changes(audited::audited_records).recording(&["applied", "events"]))
    .run(put_records)
}

fn put_records(context: &mut Context<'_, '_>, input: PutRecords) -> Result<Synced> {
    require_every_property(context)?;
    let manner = SyncSettings {
        writer: RecordOrigin::Manual,
        fires: true,
        is_dry_run: input.dry_run.unwrap_or(false),
        on_invalid: OnInvalid::Refuse,
    };
    apply_records(context, input.records, manner)
}

/// A request to change fields of a record.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UpdateRecord {
    kind: RecordKind,
    id: Uuid,
    data: Object,
    #[serde(default)]
    expected_updated_at: Option<Moment>,
}

impl JsonSchema for UpdateRecord {
    fn schema_name() -> Cow<'static, str> {
        "UpdateRecord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": false,
            "required": ["kind", "id", "data"],
            "properties": {
                "kind": {
                    "type": "string",
                    "enum": RecordKind::VARIANTS,
                    "description": "Kind of the record.",
                },
                "id": { "type": "string", "format": "uuid", "description": "Id of the record." },
                "data": {
                    "type": "object",
                    "description": "The fields to change; those left out keep their value, also \
                        within an object. Null clears a field.",
                },
                "expectedUpdatedAt": {
                    "type": ["string", "null"],
                    "format": "date-time",
                    "description": "The `updatedAt` that this was made against: 409 when it is \
                        another by now. Null or left out: the change overwrites whatever is there.",
                },
            },
            "examples": [{ "data": { "wifiName": "Casa Azul" } }],
        })
    }
}

fn update_record(context: &mut Context<'_, '_>, input: UpdateRecord) -> Result<Record> {
    let UpdateRecord {
        kind,
        id,
        data,
        expected_updated_at,
    } = input;
    let rows = stored::find_rows(context, kind, vec![id])?;
    let row = rows
        .first()
        .ok_or_else(|| Error::not_found(&kind.label()))?;
    require_every_property(context)?;
    let (Json(before), updated_at): (Json<Object>, Moment) = (row.get(2)?, Moment(row.get(4)?));
    if expected_updated_at.is_some_and(|expected| expected != updated_at) {
        return Err(Error::conflict(Reason::rule(
            "changed_since",
            "The record has changed since it was read.",
        )));
    }
    let sent: Vec<String> = data.keys().cloned().collect();
    let after = merged(before, data);
    let mut issues = issues_of_record(kind, id, &after);
    for issue in &mut issues {
        issue.path.insert(0, "data".into());
    }
    if !issues.is_empty() {
        return Err(Error::issues(issues));
    }
    let record = SyncRecord {
        kind,
        id,
        data: Some(after),
        is_deleted: None,
        version: None,
    };
    let manner = SyncSettings {
        writer: RecordOrigin::Manual,
        fires: true,
        is_dry_run: false,
        on_invalid: OnInvalid::Refuse,
    };
    let applied = apply_records(context, vec![record], manner)?;
    for warning in applied.warnings {
        warn_of_field(context, &warning, &sent);
    }
    get_record(context, kind, id)
}

/// Adds a warning to the response if the request sent the field of the warning. Without this
/// condition, each change of the record would repeat the warnings about all its fields.
fn warn_of_field(context: &mut Context<'_, '_>, warning: &Warning, sent: &[String]) {
    /// Number of segments before the name of a field in the path of a warning: `records`, the index
    /// of the record, and `data`.
    const LEVELS_ABOVE_FIELD: usize = 3;
    let path: Vec<String> = warning
        .path
        .iter()
        .skip(LEVELS_ABOVE_FIELD)
        .map(|segment| match segment {
            PathSegment::Key(key) => key.clone(),
            PathSegment::Index(index) => index.to_string(),
        })
        .collect();
    if path.first().is_some_and(|field| sent.contains(field)) {
        context.warn("data", format!("{} {}", path.join("."), warning.message));
    }
}

/// Returns the data of a record with the sent fields in place of the stored ones. If both values of
/// a field are objects, replaces only the sent parts of the object.
fn merged(mut before: Object, sent: Object) -> Object {
    for (field, value) in sent {
        match (before.remove(&field), value) {
            (Some(Value::Object(parts)), Value::Object(value)) => {
                before.insert(field, merged(parts, value).into());
            }
            (_, value) => drop(before.insert(field, value)),
        }
    }
    before
}

/// Returns 403 if the caller is limited to some properties, because records that are written by
/// hand belong to the whole organization (rules: records#records-by-hand).
pub(crate) fn require_every_property(context: &Context<'_, '_>) -> Result<()> {
    if context.property_scope().is_limited() {
        return Err(Error::forbidden(Reason::rule(
            "records_of_every_property",
            "A caller limited to some properties cannot change records.",
        )));
    }
    Ok(())
}

/// Returns the issues of a record that comes from a CSV file. The path of each issue is relative to
/// the record's `data`.
pub(crate) fn issues_of_record(kind: RecordKind, id: Uuid, data: &Object) -> Vec<Issue> {
    static PUT: LazyLock<Operation> = LazyLock::new(put_operation);
    /// Number of segments before the name of a field in the path of an issue: `records`, the index
    /// of the record, and `data`.
    const LEVELS_ABOVE_FIELD: usize = 3;
    let record = json!({ "kind": kind, "id": id, "data": data });
    let mut issues = PUT.issues_of(&json!({ "records": [record] }));
    for issue in &mut issues {
        issue.path.drain(..issue.path.len().min(LEVELS_ABOVE_FIELD));
    }
    issues
}
