//! The operations `listInstructions` and `deleteInstruction`. An instruction belongs to a scope: a
//! property, a group or a tag. The scope decides who may see and change the instruction (rules:
//! access#records-of-limited-callers). The positions of the instructions in a scope have no gaps.

use std::collections::HashMap;

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::operation::{ById, Needs, Nothing, Object, Operation};
use engine::values;
use http::Method;
use serde_json::Value;
use store::{Json, Row};
use uuid::Uuid;

use super::audited;
use super::category_operations::DeletedObject;
use crate::records::{
    Record, RecordKind, cache_basis, list_all, list_schema, record_as, remove_record,
    replace_record,
};
use crate::scopes::{Coverage, Target, TargetKind};

store::statements! {
    /// Selects the instructions of a property, a group or a tag, in the order of creation.
    OF_SCOPE = "select id, doc from record where organization_id = ?1 and kind = 'instruction'
        and lower(doc ->> 'scopeId') = ?2
        order by created_at, id";
    /// Selects the properties, groups and tags with these ids.
    SCOPES = "select kind, id from record
        where organization_id = ?1 and kind in ('property', 'property_group', 'tag')
        and id = any(?2)";
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            "listInstructions",
            Method::GET,
            "/instructions",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary("List every record of this kind within the caller's reach, by creation")
        .tool(
            "manuals",
            "List instructions",
            "Instructions that guests read until the day of arrival, each for a property, group or \
                tag (`scopeId`). What they read besides are manuals: `listPortalManuals`.",
        )
        .cached(cache_basis(RecordKind::Instruction))
        .run(list)
        .with_output_schema(|| list_schema(RecordKind::Instruction)),
        Operation::public(
            "deleteInstruction",
            Method::DELETE,
            "/instructions/{id}",
            Needs::Permission(Permission::ModifyGuides),
        )
        .summary("Delete an instruction; those after it in its scope move up")
        .tool(
            "manuals",
            "Delete an instruction",
            "Deletes an instruction for guests for good; those after it move up. Find its id with \
                `listInstructions`.",
        )
        .audited(Audits::changes(audited::instruction))
        .run(delete),
    ]
}

fn list(context: &mut Context<'_, '_>, _: Nothing) -> Result<Vec<Record>> {
    let mut instructions = list_all(context, RecordKind::Instruction)?;
    retain_visible(context, &mut instructions)?;
    Ok(instructions)
}

fn delete(context: &mut Context<'_, '_>, input: ById) -> Result<DeletedObject> {
    let not_found = || Error::not_found(&RecordKind::Instruction.label());
    let data =
        record_as::<Object>(context, RecordKind::Instruction, input.id)?.ok_or_else(not_found)?;
    if !may_change_instruction(context, &data)? {
        return Err(not_found());
    }
    remove_record(context, RecordKind::Instruction, input.id)?;
    let scope = data
        .get("scopeId")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let rows = context.rows(&OF_SCOPE, values![scope])?;
    let read = |row: &Row| -> Result<(Uuid, Object)> {
        Ok((row.get(0)?, row.get(1).map(|Json(data)| data)?))
    };
    let mut remaining = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    // The platform can send any number as a position, so positions are compared as floats.
    let position = |data: &Object| data.get("position").and_then(Value::as_f64).unwrap_or(0.0);
    remaining.sort_by(|(_, one), (_, other)| position(one).total_cmp(&position(other)));
    for (position, (id, mut data)) in remaining.into_iter().enumerate() {
        let position = Value::from(position);
        if data.insert("position".into(), position.clone()) != Some(position) {
            replace_record(context, RecordKind::Instruction, id, data)?;
        }
    }
    Ok(DeletedObject::DONE)
}

/// Removes the instructions that a limited caller cannot see.
fn retain_visible(context: &mut Context<'_, '_>, instructions: &mut Vec<Record>) -> Result<()> {
    if !context.property_scope().is_limited() {
        return Ok(());
    }
    let mut kinds_by_id = HashMap::<Uuid, Vec<TargetKind>>::new();
    for (kind, id) in targets_of(context, instructions.iter().filter_map(scope).collect())? {
        kinds_by_id.entry(id).or_default().push(kind);
    }
    let coverage = Coverage::load(context)?;
    instructions.retain(|record| {
        let of = scope(record).and_then(|id| kinds_by_id.get(&id).map(|kinds| (id, kinds)));
        of.is_none_or(|(id, kinds)| kinds.iter().any(|kind| coverage.is_visible(*kind, id)))
    });
    Ok(())
}

/// Returns whether the caller may change an instruction: the caller may change assignments to the
/// scope of the instruction, or the scope is not a property, a group or a tag.
fn may_change_instruction(context: &mut Context<'_, '_>, instruction: &Object) -> Result<bool> {
    if !context.property_scope().is_limited() {
        return Ok(true);
    }
    let scope = instruction
        .get("scopeId")
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok());
    let targets = targets_of(context, scope.into_iter().collect())?;
    let coverage = Coverage::load(context)?;
    Ok(targets.is_empty()
        || targets
            .iter()
            .any(|(kind, id)| coverage.is_writable(*kind, *id)))
}

/// Returns the id of the property, group or tag to which an instruction applies.
fn scope(instruction: &Record) -> Option<Uuid> {
    instruction.field("scopeId")
}

/// Returns the targets with these ids: properties, groups and tags. A property and a tag can have
/// the same id, so the result can contain several targets for one id.
fn targets_of(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for row in context.rows(&SCOPES, values![ids])? {
        if let Ok(kind) = row.get::<String>(0)?.parse::<TargetKind>() {
            targets.push((kind, row.get(1)?));
        }
    }
    Ok(targets)
}
