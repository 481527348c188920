//! Descriptions of organizations, API keys, members and records for the audit log. An audited
//! operation reads the description of its object before and after the change.

use engine::access::ApiKey;
use engine::audit::{AuditedObject, Target, id};
use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::operation::Object;
use engine::values;
use serde_json::{Value, json};
use store::Json;
use uuid::Uuid;

use crate::records::{RecordKind, stored};

store::statements! {
    /// Selects an API key and the hash of its token.
    KEY = "select doc, token_hash from api_key where organization_id = ?1 and id = ?2";
}

/// Describes, for the audit log, the API key with the id in the field `apiKeyId` of the input.
/// Returns `None` if no such key exists.
pub(super) fn audited_api_key(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let Some(id) = id(input, "apiKeyId") else {
        return Ok(None);
    };
    let Some(row) = context.row(&KEY, values![id])? else {
        return Ok(None);
    };
    let (Json(key), hash): (Json<ApiKey>, Vec<u8>) = (row.get(0)?, row.get(1)?);
    AuditedObject::new("api_key", Some(id), Some(key.name.clone()))
        .showing(&key)?
        .withholding(&json!({ "token": hash }))
        .map(Some)
}

/// Describes the member with the input's `memberId` for the audit log.
pub fn audited_member(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let Some(id) = id(input, "memberId") else {
        return Ok(None);
    };
    let Some(member) = context.member(id)? else {
        return Ok(None);
    };
    AuditedObject::new("member", Some(id), Some(member.name.clone()))
        .showing(&member)
        .map(Some)
}

/// Returns the audit log's target for the member with the input's `memberId`.
pub fn member_target(context: &mut Context<'_, '_>, input: &Value) -> Result<Target> {
    let target = audited_member(context, input)?.map(|thing| thing.target);
    Ok(target.unwrap_or_else(|| Target::new("member", id(input, "memberId"), None)))
}

/// Describes the caller's organization for the audit log.
pub(super) fn audited_organization(
    context: &mut Context<'_, '_>,
    _: &Value,
) -> Result<Option<AuditedObject>> {
    let organization = context.organization.clone();
    AuditedObject::new(
        "organization",
        Some(organization.id),
        Some(organization.settings.name.clone()),
    )
    .showing(&organization.settings)
    .map(Some)
}

/// Describes the records in the input for the audit log. A single record is described with its
/// fields. If there are several records, the description has only the time of each record's last
/// change, so that the audit log entry lists the changed records.
pub(super) fn audited_records(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let mut records: Vec<(RecordKind, Uuid)> = input["records"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|record| {
            let kind = record["kind"].as_str()?.parse().ok()?;
            Some((kind, id(record, "id")?))
        })
        .collect();
    records.sort_unstable();
    records.dedup();
    if let [(kind, id)] = records[..] {
        return record(context, kind, id);
    }
    let mut update_times = Object::new();
    for group in records.chunk_by(|(one, _), (other, _)| one == other) {
        let kind = group[0].0;
        let ids = group.iter().map(|(_, id)| *id).collect();
        for row in stored::find_rows(context, kind, ids)? {
            let (id, updated_at): (Uuid, Moment) = (row.get(0)?, Moment(row.get(4)?));
            update_times.insert(format!("{} {id}", kind.as_ref()), json!(updated_at));
        }
    }
    AuditedObject::new("record", None, None)
        .showing(&update_times)
        .map(Some)
}

/// Describes the record with the input's `kind` and `id` for the audit log.
pub(super) fn audited_record(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let kind = input["kind"].as_str().and_then(|kind| kind.parse().ok());
    match (kind, id(input, "id")) {
        (Some(kind), Some(id)) => record(context, kind, id),
        _ => Ok(None),
    }
}

fn record(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    id: Uuid,
) -> Result<Option<AuditedObject>> {
    let rows = stored::find_rows(context, kind, vec![id])?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let Json(data): Json<Object> = row.get(2)?;
    let name = data.get("name").or_else(|| data.get("title"));
    let name = name.and_then(Value::as_str).map(str::to_owned);
    let (withheld, visible): (Object, Object) = data
        .into_iter()
        .partition(|(field, _)| is_withheld(kind, field));
    AuditedObject::new(kind.as_ref(), Some(id), name)
        .showing(&visible)?
        .withholding(&withheld)
        .map(Some)
}

/// Returns whether the audit log omits the value of a field, because the value is a secret or data
/// of a guest. The log then has only the field's name.
fn is_withheld(kind: RecordKind, field: &str) -> bool {
    match kind {
        RecordKind::Reservation => field == "guest",
        RecordKind::LockCode => field != "name",
        RecordKind::Property
        | RecordKind::PropertyGroup
        | RecordKind::Tag
        | RecordKind::Task
        | RecordKind::Device
        | RecordKind::Review
        | RecordKind::Workflow
        | RecordKind::WorkflowStepRun
        | RecordKind::PaymentAccount
        | RecordKind::BackgroundCheckAccount
        | RecordKind::FeeProduct
        | RecordKind::DamageWaiver
        | RecordKind::CustomField
        | RecordKind::CustomUrl
        | RecordKind::Image
        | RecordKind::Upsell
        | RecordKind::TaskTemplate
        | RecordKind::Department
        | RecordKind::Shift
        | RecordKind::ClockedShift
        | RecordKind::Instruction => kind
            .withheld_fields()
            .iter()
            .any(|withheld| withheld == field),
    }
}
