//! The steps that a limited caller can access: those that reach one of the caller's properties, and
//! those without any assignment (rules: access#limited-callers, 5).

use std::collections::HashSet;

use engine::context::Context;
use engine::error::{Error, Result};
use uuid::Uuid;

use super::records;
use super::step::Step;
use crate::scopes::{self, Coverage, EntityType};

/// Fails with 404 if a limited caller cannot access the step. Otherwise returns whether the step
/// also reaches properties that the caller cannot access. For an unlimited caller, always returns
/// false and does not check that the step exists.
pub(crate) fn check(context: &mut Context<'_, '_>, id: Uuid) -> Result<bool> {
    if !context.property_scope().is_limited() {
        return Ok(false);
    }
    let targets = scopes::targets(context, EntityType::PrecheckStep, id)?;
    let cover = Coverage::load(context)?.combined_coverage(&targets);
    if targets.is_empty() || cover.is_inside {
        Ok(cover.is_outside)
    } else {
        Err(Error::not_found("Pre-check step"))
    }
}

/// Returns 404 if the step does not exist or the caller cannot access it.
pub(crate) fn check_exists(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    records::find(context, id)?.ok_or_else(|| Error::not_found("Pre-check step"))?;
    check(context, id).map(drop)
}

/// Returns the ids of the given steps, except steps that the caller cannot access.
pub(crate) fn visible_ids(context: &mut Context<'_, '_>, steps: &[Step]) -> Result<HashSet<Uuid>> {
    accessible_step_ids(
        context,
        &steps.iter().map(|step| step.id).collect::<Vec<_>>(),
    )
}

/// Returns those of the given ids that are ids of steps that the caller can access.
pub(super) fn accessible_step_ids(
    context: &mut Context<'_, '_>,
    ids: &[Uuid],
) -> Result<HashSet<Uuid>> {
    if !context.property_scope().is_limited() {
        return Ok(ids.iter().copied().collect());
    }
    let coverage = Coverage::load(context)?;
    let targets = scopes::targets_of(context, EntityType::PrecheckStep, ids)?;
    let is_visible = |id: &Uuid| {
        targets
            .get(id)
            .is_none_or(|targets| coverage.combined_coverage(targets).is_inside)
    };
    Ok(ids.iter().copied().filter(is_visible).collect())
}
