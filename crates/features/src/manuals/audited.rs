//! Describes manuals, categories of manuals, and instructions for entries of the audit log.

use engine::audit::{AuditedObject, id};
use engine::context::Context;
use engine::error::Result;
use engine::operation::Object;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{categories, records};
use crate::records::{RecordKind, record_as};
use crate::translations::{self, ENGLISH};

/// Describes the manual with the id in `input`, with all fields that responses contain.
pub(super) fn manual(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let manual = id(input, "id").map_or(Ok(None), |id| records::find(context, id))?;
    let describe = |manual: super::WrittenManual| {
        AuditedObject::new("manual", Some(manual.id), Some(manual.nickname.clone()))
            .showing(&manual)
    };
    manual.map(|manual| describe(manual.answered)).transpose()
}

/// Describes the category with the id in `input`. Its name in the audit log is its English title.
pub(super) fn category(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let Some(category) = id(input, "id").map_or(Ok(None), |id| categories::find(context, id))?
    else {
        return Ok(None);
    };
    let title = translations::texts(context, category.title_id, ENGLISH)?;
    AuditedObject::new(
        "manual_category",
        Some(category.id),
        title.of(category.title_id),
    )
    .showing(&category.view(&title))
    .map(Some)
}

/// Returns the ids of all categories in the order in which portals show them. The audit log
/// compares this order before and after a change.
pub(super) fn order(context: &mut Context<'_, '_>, _: &Value) -> Result<Option<AuditedObject>> {
    let ids: Vec<Uuid> = categories::in_order(context)?
        .iter()
        .map(|category| category.id)
        .collect();
    AuditedObject::new("manual_category_order", None, None)
        .showing(&json!({ "orderedIds": ids }))
        .map(Some)
}

/// Describes, for the audit log, the instruction whose id is in `input`. The fields of the
/// description are those that the platform sent for the instruction. Returns `None` if the
/// instruction does not exist.
pub(super) fn instruction(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let Some(id) = id(input, "id") else {
        return Ok(None);
    };
    let Some(data) = record_as::<Object>(context, RecordKind::Instruction, id)? else {
        return Ok(None);
    };
    let title = data.get("title").and_then(Value::as_str).map(str::to_owned);
    AuditedObject::new("instruction", Some(id), title)
        .showing(&data)
        .map(Some)
}
