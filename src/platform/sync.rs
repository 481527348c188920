//! Sync: the platform pushes records, all or nothing, and changes become events. `putRecords` does
//! the same by hand (rules: sync; records#records-by-hand).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;
use std::time::Duration;

use engine::access::Permission;
use engine::app::Named;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, MOST_ISSUES, PathSegment, Reason, Result};
use engine::moment::Moment;
use engine::operation::{Needs, Object, Operation, Surface};
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Json;
use strum::VariantArray;
use uuid::Uuid;
use vestibule_http::surface::openapi::{pascal, reference};

use super::audited;
use super::batch::{SyncBatch, SyncRecord};
use crate::events::data_name;
use crate::guest;
use crate::records::{
    Record, RecordKind, RecordOrigin, canonical, get_record, is_set_by_the_service, stored,
};

/// Maximum number of records in a request.
pub const MAX_RECORDS: usize = 10_000;
/// Maximum number of records of `putRecords`.
const MAX_BY_HAND: usize = 1_000;
/// Maximum body size of a sync: 16 MiB.
const BODY_LIMIT: usize = 16 << 20;
/// Maximum body size of `putRecords`: 1 MiB, as of every other operation.
const BODY_LIMIT_BY_HAND: usize = 1 << 20;
/// Time limit of a full batch, enough for a slow disk.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum number of warnings in an answer.
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
    #[serde(default)]
    on_invalid: Option<OnInvalid>,
    records: Vec<SyncRecord>,
    /// The records that validation left out ([`engine::operation::Sifts`]).
    #[serde(default)]
    left_out: Vec<LeftOut>,
}

/// A record that validation left out.
#[derive(Debug, Deserialize)]
struct LeftOut {
    index: usize,
    item: Value,
    issues: Vec<Value>,
}

impl LeftOut {
    /// Returns the kind and the id of the record, as far as it has them.
    fn place(&self) -> Option<(RecordKind, Uuid)> {
        let kind = self.item["kind"].as_str()?.parse().ok()?;
        Some((kind, self.item["id"].as_str()?.parse().ok()?))
    }
}

impl From<LeftOut> for Rejected {
    fn from(left_out: LeftOut) -> Self {
        Self {
            index: left_out.index,
            id: left_out.item["id"].as_str().map(str::to_owned),
            issues: left_out.issues,
        }
    }
}

/// The treatment of a request with an invalid record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnInvalid {
    /// The whole request is refused.
    #[default]
    Refuse,
    /// The record is left out, and so are those that refer to it.
    Skip,
}

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
                "organizationId": { "type": "string", "format": "uuid", "description": "Id of the organization that the records are of." },
                "isInitialSync": {
                    "type": ["boolean", "null"],
                    "description": "Whether the records are history, which fires no events. Null or left out: `false`.",
                },
                "dryRun": {
                    "type": ["boolean", "null"],
                    "description": "Whether everything is judged and answered as if it were applied, and nothing is. Null or left out: `false`.",
                },
                "onInvalid": {
                    "type": ["string", "null"],
                    "enum": ["refuse", "skip", null],
                    "description": "What happens if a record is invalid: `refuse` applies nothing; `skip` leaves the record out, and those that \
                        refer to it, and applies the others. Null or left out: `refuse`.",
                },
                "records": records_schema(MAX_RECORDS, documented()),
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

/// Returns the JSON Schema of a list of at most `most` records. `published` is its items' form in
/// the published document.
fn records_schema(most: usize, published: Value) -> Value {
    // One branch for each kind, so that an error names the failing field and not "none of 23
    // shapes".
    let shapes: Vec<Value> = RecordKind::VARIANTS
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
    json!({
        "type": "array",
        "description": "What to insert, replace and delete, in this order, all or nothing. A reference to a record that is \
            neither there nor earlier in the list is a 400.",
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
                    "description": "The caller's own id of the record, unique within organization and kind. One that is known is replaced.",
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
                "version": version(),
            },
            "allOf": shapes,
            "x-document": published,
        },
    })
}

/// Records that a person or a program of the organization writes.
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
                "kind": { "type": "string", "enum": RecordKind::VARIANTS, "description": "The kind of the record." },
                "id": { "type": "string", "format": "uuid", "description": "The caller's own id of the record." },
                "data": {
                    "type": "object",
                    "description": "The whole record as it is from now on, in the shape of a sync of the platform interface.",
                },
                "isDeleted": {
                    "type": ["boolean", "null"],
                    "description": "Whether the record is deleted. `data` is required unless it is.",
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
                    "description": "Whether everything is judged and answered as if it were applied, and nothing is. Null or left out: `false`.",
                },
                "records": records_schema(MAX_BY_HAND, published),
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

/// The published schema of a record: one schema for each kind, told apart by `kind`. It says the
/// same as the validating schema, in a form that generators of clients understand.
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

/// Returns the published schemas of records, each under a name of its own.
pub(crate) fn schemas(surface: Surface) -> Vec<Named> {
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

/// The schema of a record's version.
fn version() -> Value {
    json!({
        "type": ["integer", "string", "null"],
        "format": "date-time",
        "minimum": i64::MIN,
        "maximum": i64::MAX,
        "description": "The sender's version of the record: a whole number or a timestamp that grows with each change. A record whose \
            known version is higher is left out. Null or left out: the record is applied, and keeps the version that it has.",
    })
}

fn shape(kind: RecordKind) -> Value {
    json!({
        "title": name(kind),
        "type": "object",
        "additionalProperties": false,
        "required": ["kind", "id"],
        "properties": {
            "kind": { "type": "string", "enum": [kind.as_ref()], "description": "The kind of the record." },
            "id": { "type": "string", "format": "uuid", "description": "The platform's own id of the record." },
            "data": reference("schemas", &data_name(kind)),
            "isDeleted": {
                "type": ["boolean", "null"],
                "description": "Whether the record is deleted. `data` is required unless it is.",
            },
            "version": version(),
        },
    })
}

/// The result of a write of records.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Synced {
    /// Number of sent records that were not left out; applied unless `dryRun`.
    pub(crate) applied: usize,
    /// Number of events.
    pub(crate) events: usize,
    /// Fields that the kind does not know, which may be misspelt, and values that may be
    /// unintended; they are kept. At most 100.
    pub(crate) warnings: Vec<Warning>,
    /// Number of records that were left out, because a newer version of them is known; absent where
    /// no record has a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<usize>,
    /// The records that were left out, by place, with `onInvalid: "skip"`; absent otherwise. At
    /// most
    /// 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: Option<Vec<Rejected>>,
    /// Number of records that were left out, with `onInvalid: "skip"`; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected_count: Option<usize>,
}

/// A record that was left out because it is invalid, or refers to a record that was left out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Rejected {
    /// Place of the record in the request, from 0.
    index: usize,
    /// Id of the record; null if it has no text there.
    id: Option<String>,
    /// Issues of the record: `path` from the body's root, and `message`. At most 20.
    issues: Vec<Value>,
}

impl Rejected {
    /// The most issues of a record.
    const MOST: usize = 20;

    /// Makes an entry from the issues of a record.
    pub(super) fn of(index: usize, id: Uuid, issues: &[Issue]) -> Self {
        let issue =
            |issue: &Issue| json!({ "path": issue.path, "message": issue.reason.to_string() });
        Self {
            index,
            id: Some(id.to_string()),
            issues: issues.iter().take(Self::MOST).map(issue).collect(),
        }
    }
}

/// An accepted part of a record that may be unintended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Warning {
    /// Path from the body's root.
    #[schemars(with = "Vec<Value>")]
    pub(crate) path: Vec<PathSegment>,
    /// The warning itself.
    pub(crate) message: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SyncedReservation {
    /// Id of the organization that the reservation is of.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the reservation whose guest's link is wanted.
    reservation_id: Uuid,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StayLink {
    /// Page for the browser.
    url: String,
    /// The stay token.
    token: String,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform("sync", Method::POST, "/organizations/{organizationId}/sync")
            .summary(
                "Insert, replace and delete records: all or nothing, or without the invalid ones",
            )
            .bulk(BODY_LIMIT, TIMEOUT)
            .keeps_numbers()
            .sifts("records", "onInvalid", "skip")
            .touches_stream()
            .run(sync),
        by_hand(),
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
        .audited(Audits::changes(audited::one_record))
        .run(update_record),
        Operation::platform(
            "createGuestLink",
            Method::POST,
            "/organizations/{organizationId}/reservations/{reservationId}/guest-link",
        )
        .summary("The guest's link to a stay; the same one each time")
        .run(|context, input: SyncedReservation| {
            let token = guest::stay_token(context, input.reservation_id)?;
            Ok(StayLink {
                url: guest::stay_url(context, input.reservation_id, &token)?,
                token,
            })
        }),
    ]
}

fn by_hand() -> Operation {
    Operation::public("putRecords", Method::POST, "/records", Needs::Permission(Permission::ManageOrganization))
            .summary("Insert, replace and delete records by hand, all or nothing")
            .tool(
                "records",
                "Put records",
                "Creates, replaces and deletes records without a platform: flats, groups, tags, reservations and every other \
                    kind, at most 1000. `data` is the whole record. A record that the platform manages (`origin` `platform`) \
                    is refused. Try with `dryRun` first.",
            )
            .bulk(BODY_LIMIT_BY_HAND, TIMEOUT)
            .keeps_numbers()
            .touches_stream()
            .destructive()
            .idempotent()
            .audited(Audits::changes(audited::records).telling(&["applied", "events"]))
            .run(put_records)
}

fn sync(context: &mut Context<'_, '_>, input: Sync) -> Result<Synced> {
    let manner = SyncSettings {
        writer: RecordOrigin::Platform,
        fires: !input.is_initial_sync.unwrap_or(false),
        is_dry_run: input.dry_run.unwrap_or(false),
        on_invalid: input.on_invalid.unwrap_or_default(),
    };
    apply_sifted(context, input.records, input.left_out, manner)
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

/// Changes of a record.
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
                "kind": { "type": "string", "enum": RecordKind::VARIANTS, "description": "Kind of the record." },
                "id": { "type": "string", "format": "uuid", "description": "Id of the record." },
                "data": {
                    "type": "object",
                    "description": "The fields to change; those left out keep their value, also within an object. Null clears a field.",
                },
                "expectedUpdatedAt": {
                    "type": ["string", "null"],
                    "format": "date-time",
                    "description": "The `updatedAt` that this was made against: 409 when it is another by now. Null or left out: \
                        the change overwrites whatever is there.",
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

/// Passes on a warning about a record, if it is about a field that was sent. A warning about a
/// field that the record had before would be repeated with each change.
fn warn_of_field(context: &mut Context<'_, '_>, warning: &Warning, sent: &[String]) {
    /// Number of segments of the path to the data of the record.
    const BELOW: usize = 3;
    let path: Vec<String> = warning
        .path
        .iter()
        .skip(BELOW)
        .map(|segment| match segment {
            PathSegment::Key(key) => key.clone(),
            PathSegment::Index(index) => index.to_string(),
        })
        .collect();
    if path.first().is_some_and(|field| sent.contains(field)) {
        context.warn("data", format!("{} {}", path.join("."), warning.message));
    }
}

/// Returns the data of a record with the sent fields replaced. Parts of an object are replaced one
/// by one.
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

/// Returns 403 to a caller who is limited to some properties: records by hand are the whole
/// organization's (rules: records#records-by-hand).
pub(crate) fn require_every_property(context: &Context<'_, '_>) -> Result<()> {
    if context.property_scope().is_limited() {
        return Err(Error::forbidden(Reason::rule(
            "records_of_every_property",
            "A caller limited to some properties cannot change records.",
        )));
    }
    Ok(())
}

/// Returns the issues of a record that a table makes, each with its path below `data`.
pub(crate) fn issues_of_record(kind: RecordKind, id: Uuid, data: &Object) -> Vec<Issue> {
    static BY_HAND: LazyLock<Operation> = LazyLock::new(by_hand);
    /// Number of segments of the path to `data`.
    const BELOW: usize = 3;
    let record = json!({ "kind": kind, "id": id, "data": data });
    let mut issues = BY_HAND.issues_of(&json!({ "records": [record] }));
    for issue in &mut issues {
        issue.path.drain(..issue.path.len().min(BELOW));
    }
    issues
}

/// The settings for a write of records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SyncSettings {
    /// The writer, which is the origin of new records.
    pub(crate) writer: RecordOrigin,
    /// Whether changes fire events.
    pub(crate) fires: bool,
    /// Whether everything is judged and nothing is written.
    pub(crate) is_dry_run: bool,
    /// The treatment of a record with an issue.
    pub(crate) on_invalid: OnInvalid,
}

/// Inserts, replaces and deletes records in order.
pub(crate) fn apply_records(
    context: &mut Context<'_, '_>,
    records: Vec<SyncRecord>,
    manner: SyncSettings,
) -> Result<Synced> {
    apply_sifted(context, records, Vec::new(), manner)
}

/// Does the same with records among which validation has left some out.
fn apply_sifted(
    context: &mut Context<'_, '_>,
    records: Vec<SyncRecord>,
    left_out: Vec<LeftOut>,
    manner: SyncSettings,
) -> Result<Synced> {
    let SyncSettings {
        writer,
        fires,
        is_dry_run,
        on_invalid,
    } = manner;
    if is_dry_run {
        context.dry_run();
    }
    let sent = records.len();
    let places = places(sent, &left_out);
    let (records, mut warnings) = made_canonical(records, &places);
    let rewritten = rewritten(&records);
    let has_versions = records.iter().any(|record| record.version.is_some());
    let mut batch = SyncBatch::load(context, &records, writer, on_invalid)?;
    let mut earlier_left_out = left_out.iter().peekable();
    for ((index, record), is_rewritten) in places.into_iter().zip(records).zip(rewritten) {
        while let Some(earlier) = earlier_left_out.next_if(|earlier| earlier.index < index) {
            batch.refuse(earlier.place());
        }
        batch.apply(context, index, record, is_rewritten, fires)?;
    }
    batch.finish();
    if let Some(conflict) = batch.conflict {
        return Err(conflict);
    }
    if !batch.issues.is_empty() {
        return Err(Error::issues(batch.issues));
    }
    let events = batch.happenings.len();
    warnings.append(&mut batch.warnings);
    warnings.truncate(MAX_WARNINGS);
    let stale = batch.stale;
    let applied = sent - stale - batch.rejected.len();
    let mut rejected: Vec<Rejected> = left_out.into_iter().map(Rejected::from).collect();
    rejected.append(&mut batch.rejected);
    rejected.sort_by_key(|rejected| rejected.index);
    let rejected_count = rejected.len();
    rejected.truncate(MOST_ISSUES);
    if !is_dry_run {
        batch.write(context)?;
    }
    let skips = on_invalid == OnInvalid::Skip;
    Ok(Synced {
        applied,
        events,
        warnings,
        stale: has_versions.then_some(stale),
        rejected: skips.then_some(rejected),
        rejected_count: skips.then_some(rejected_count),
    })
}

/// Returns the place in the request of each record that validation has not left out.
fn places(count: usize, left_out: &[LeftOut]) -> Vec<usize> {
    let left_out: HashSet<usize> = left_out.iter().map(|rejected| rejected.index).collect();
    (0..count + left_out.len())
        .filter(|place| !left_out.contains(place))
        .collect()
}

/// Brings records into their canonical form. Returns them with the warnings about their fields, up
/// to the maximum of an answer.
fn made_canonical(
    mut records: Vec<SyncRecord>,
    places: &[usize],
) -> (Vec<SyncRecord>, Vec<Warning>) {
    let mut warnings = warnings(&records, places);
    for (record, place) in records.iter_mut().zip(places) {
        let Some(data) = &mut record.data else {
            continue;
        };
        for (field, message) in canonical(record.kind, data) {
            if warnings.len() < MAX_WARNINGS {
                warnings.push(Warning {
                    path: vec![
                        "records".into(),
                        (*place).into(),
                        "data".into(),
                        field.into(),
                    ],
                    message: message.into(),
                });
            }
        }
    }
    (records, warnings)
}

/// Returns of each record whether it is a deletion, and the record is written again later.
fn rewritten(records: &[SyncRecord]) -> Vec<bool> {
    let mut later = HashSet::new();
    let mut rewritten: Vec<bool> = records
        .iter()
        .rev()
        .map(|record| {
            let place = (record.kind, record.id);
            if record.written().is_some() {
                later.insert(place);
                return false;
            }
            later.contains(&place)
        })
        .collect();
    rewritten.reverse();
    rewritten
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}

/// Returns a warning for each field that its kind does not know, up to the maximum of an answer.
fn warnings(records: &[SyncRecord], places: &[usize]) -> Vec<Warning> {
    let fields = places.iter().zip(records).flat_map(|(index, record)| {
        record
            .written()
            .into_iter()
            .flat_map(Object::keys)
            .map(move |field| (*index, record.kind, field))
    });
    let strange = fields
        .filter(|(_, kind, field)| !kind.knows(field) && !is_set_by_the_service(field))
        .take(MAX_WARNINGS);
    let warning = |(index, kind, field): (usize, RecordKind, &String)| Warning {
        path: vec![
            "records".into(),
            index.into(),
            "data".into(),
            field.as_str().into(),
        ],
        message: format!(
            "is not a known field of {}; it is stored unchanged",
            with_article(&kind.label().to_lowercase())
        ),
    };
    strange.map(warning).collect()
}
