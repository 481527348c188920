//! Which steps a limited caller may know of: those that reach one of their properties, and those not assigned anywhere
//! (spec: Authentication, 6).

use std::collections::HashSet;

use engine::context::Context;
use engine::error::{Error, Result};
use uuid::Uuid;

use super::records;
use super::step::Step;
use crate::scopes::{self, Coverage, EntityType};

/// 404 for a step the caller may not know of. Whether it serves properties outside their reach.
pub(crate) fn check(context: &mut Context<'_, '_>, id: Uuid) -> Result<bool> {
    if !context.reach().is_limited() {
        return Ok(false);
    }
    let targets = scopes::targets(context, EntityType::PrecheckStep, id)?;
    let cover = Coverage::load(context)?.cover_of(&targets);
    if targets.is_empty() || cover.is_inside { Ok(cover.is_outside) } else { Err(Error::not_found("Pre-check step")) }
}

/// 404 for a step that is not there, or that the caller may not know of.
pub(crate) fn check_exists(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    records::find(context, id)?.ok_or_else(|| Error::not_found("Pre-check step"))?;
    check(context, id).map(drop)
}

/// The steps among these that the caller may know of.
pub(crate) fn visible_ids(context: &mut Context<'_, '_>, steps: &[Step]) -> Result<HashSet<Uuid>> {
    known_ids(context, &steps.iter().map(|step| step.id).collect::<Vec<_>>())
}

/// The same by their ids.
pub(super) fn known_ids(context: &mut Context<'_, '_>, ids: &[Uuid]) -> Result<HashSet<Uuid>> {
    if !context.reach().is_limited() {
        return Ok(ids.iter().copied().collect());
    }
    let coverage = Coverage::load(context)?;
    let targets = scopes::targets_of(context, EntityType::PrecheckStep, ids)?;
    let is_visible = |id: &Uuid| targets.get(id).is_none_or(|targets| coverage.cover_of(targets).is_inside);
    Ok(ids.iter().copied().filter(is_visible).collect())
}
