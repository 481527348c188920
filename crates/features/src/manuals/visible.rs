//! Decides which manuals a limited caller can see and change (rules: access#limited-callers, 7 and
//! 8).

use std::collections::HashSet;

use engine::context::Context;
use engine::error::{Error, Result};
use uuid::Uuid;

use super::manual::Manual;
use super::records;
use crate::scopes::{self, Coverage, EntityType};

/// Returns the manuals in `ids` that the caller can see: those assigned to one of the caller's
/// properties, and those without assignments.
pub(crate) fn visible_ids(
    context: &mut Context<'_, '_>,
    ids: impl IntoIterator<Item = Uuid>,
) -> Result<HashSet<Uuid>> {
    let ids: Vec<Uuid> = ids.into_iter().collect();
    if !context.property_scope().is_limited() {
        return Ok(ids.into_iter().collect());
    }
    let coverage = Coverage::load(context)?;
    let targets = scopes::targets_of(context, EntityType::Manual, &ids)?;
    Ok(ids
        .into_iter()
        .filter(|id| {
            targets
                .get(id)
                .is_none_or(|targets| coverage.combined_coverage(targets).is_inside)
        })
        .collect())
}

/// Returns those of `ids` that belong to manuals which the caller may change. A limited caller may
/// change a manual if every target that it is assigned to is writable for the caller.
pub(super) fn writable_ids(context: &mut Context<'_, '_>, ids: &[Uuid]) -> Result<HashSet<Uuid>> {
    if !context.property_scope().is_limited() {
        return Ok(ids.iter().copied().collect());
    }
    let coverage = Coverage::load(context)?;
    let targets = scopes::targets_of(context, EntityType::Manual, ids)?;
    let is_writable = |id: &Uuid| {
        targets.get(id).is_none_or(|targets| {
            targets
                .iter()
                .all(|(kind, id)| coverage.is_writable(*kind, *id))
        })
    };
    Ok(ids.iter().copied().filter(is_writable).collect())
}

/// Fails with 404 for a manual that does not exist, or that the caller cannot see.
pub(crate) fn check_exists(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    records::find(context, id)?.ok_or_else(not_found)?;
    if visible_ids(context, [id])?.contains(&id) {
        Ok(())
    } else {
        Err(not_found())
    }
}

/// Reads a manual that the caller may change; 404 for any other manual.
pub(super) fn check_writable(context: &mut Context<'_, '_>, id: Uuid) -> Result<Manual> {
    let manual = records::find(context, id)?.ok_or_else(not_found)?;
    if writable_ids(context, &[id])?.contains(&id) {
        Ok(manual)
    } else {
        Err(not_found())
    }
}

/// Returns the ids of the manuals that are assigned to at least one property that the caller may
/// not access. Returns no ids for a caller who may access all properties.
pub(super) fn manuals_outside_access(context: &mut Context<'_, '_>) -> Result<HashSet<Uuid>> {
    if !context.property_scope().is_limited() {
        return Ok(HashSet::new());
    }
    let coverage = Coverage::load(context)?;
    let targets = scopes::all_targets(context, EntityType::Manual)?;
    Ok(targets
        .into_iter()
        .filter(|(_, targets)| coverage.combined_coverage(targets).is_outside)
        .map(|(id, _)| id)
        .collect())
}

fn not_found() -> Error {
    Error::not_found("Manual")
}
