//! Describes assignments for the audit log: the removed and the added ones, in any number.

use engine::audit::{Thing, id};
use engine::context::Context;
use engine::error::{Error, Result};
use engine::values;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::operations::{WriteScopes, assignable};
use super::{EntityType, Target, TargetKind, target, targets};

store::statements! {
    /// The assignments of an entity to some targets.
    AMONG = "select target_kind, target_id from entity_scope where organization_id = ?1 and entity_type = ?2 and entity_id = ?3
        and target_id = any(?4)";
}

/// Describes all assignments of the entity that an input names.
pub(super) fn all(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<Thing>> {
    let Some((entity_type, id)) = named(input) else {
        return Ok(None);
    };
    let assigned = targets(context, entity_type, id)?;
    thing(context, entity_type, id, &assigned)
}

/// Describes its assignments to the sent targets, because no others change.
pub(super) fn sent(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<Thing>> {
    let Some((entity_type, id)) = named(input) else {
        return Ok(None);
    };
    let sent = WriteScopes::deserialize(input)
        .map_err(Error::internal)?
        .targets();
    let ids: Vec<Uuid> = sent.iter().map(|(_, id)| *id).collect();
    let assigned = context
        .rows(&AMONG, values![entity_type.as_ref(), id, ids])?
        .iter()
        .map(target)
        .collect::<Result<Vec<_>>>()?;
    // An id is unique only within a kind.
    let assigned: Vec<Target> = assigned
        .into_iter()
        .filter(|target| sent.contains(target))
        .collect();
    thing(context, entity_type, id, &assigned)
}

fn named(input: &Value) -> Option<(EntityType, Uuid)> {
    Some((
        EntityType::deserialize(&input["entityType"]).ok()?,
        id(input, "entityId")?,
    ))
}

fn thing(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
    id: Uuid,
    assigned: &[Target],
) -> Result<Option<Thing>> {
    let name = (assignable(context, entity_type)?.name)(context, id)?;
    let kind = match entity_type {
        EntityType::PortalSettings => "portal",
        EntityType::PrecheckStep | EntityType::Manual => entity_type.as_ref(),
    };
    let of = |wanted: TargetKind| {
        assigned
            .iter()
            .filter(|(kind, _)| *kind == wanted)
            .map(|(_, id)| *id)
            .collect::<Vec<_>>()
    };
    let lists = json!({
        "propertyIds": of(TargetKind::Property), "propertyGroupIds": of(TargetKind::PropertyGroup), "tagIds": of(TargetKind::Tag),
        "portalSettingsIds": of(TargetKind::Portal),
    });
    Thing::new(kind, Some(id), name)
        .with_lists(&lists)
        .map(Some)
}
