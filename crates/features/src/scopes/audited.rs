//! Describes assignments for the audit log. The log records which assignments a request added and
//! removed.

use engine::audit::{AuditedObject, id};
use engine::context::Context;
use engine::error::{Error, Result};
use engine::values;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::operations::{WriteScopes, assignable};
use super::{EntityType, Target, TargetKind, target, targets};

store::statements! {
    /// Selects those assignments of an entity whose targets have the given ids.
    AMONG = "select target_kind, target_id from entity_scope where organization_id = ?1
        and entity_type = ?2 and entity_id = ?3
        and target_id = any(?4)";
}

/// Describes, for the audit log, the step, manual or portal that an input names, with all its
/// assignments. Returns `None` if this object does not exist.
pub(super) fn all_assignments(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let Some((entity_type, id)) = entity_of(input) else {
        return Ok(None);
    };
    let assigned = targets(context, entity_type, id)?;
    describe(context, entity_type, id, &assigned)
}

/// Describes for the audit log the assignments of an entity to the targets that the input names.
/// The request does not change any other assignment of the entity.
pub(super) fn assignments_in_request(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let Some((entity_type, id)) = entity_of(input) else {
        return Ok(None);
    };
    let targets_of_input = WriteScopes::deserialize(input)
        .map_err(Error::internal)?
        .targets();
    let ids: Vec<Uuid> = targets_of_input.iter().map(|(_, id)| *id).collect();
    let assigned = context
        .rows(&AMONG, values![entity_type.as_ref(), id, ids])?
        .iter()
        .map(target)
        .collect::<Result<Vec<_>>>()?;
    // Targets of different kinds can have the same id, and the query compares only ids. So this
    // filter also compares the kinds.
    let assigned: Vec<Target> = assigned
        .into_iter()
        .filter(|target| targets_of_input.contains(target))
        .collect();
    describe(context, entity_type, id, &assigned)
}

fn entity_of(input: &Value) -> Option<(EntityType, Uuid)> {
    Some((
        EntityType::deserialize(&input["entityType"]).ok()?,
        id(input, "entityId")?,
    ))
}

fn describe(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
    id: Uuid,
    assigned: &[Target],
) -> Result<Option<AuditedObject>> {
    let name = (assignable(context, entity_type)?.name)(context, id)?;
    let kind = match entity_type {
        EntityType::PortalSettings => "portal",
        EntityType::PrecheckStep | EntityType::Manual => entity_type.as_ref(),
    };
    let of = |target_kind: TargetKind| {
        assigned
            .iter()
            .filter(|(kind, _)| *kind == target_kind)
            .map(|(_, id)| *id)
            .collect::<Vec<_>>()
    };
    let lists = json!({
        "propertyIds": of(TargetKind::Property),
        "propertyGroupIds": of(TargetKind::PropertyGroup),
        "tagIds": of(TargetKind::Tag),
        "portalSettingsIds": of(TargetKind::Portal),
    });
    AuditedObject::new(kind, Some(id), name)
        .with_lists(&lists)
        .map(Some)
}
