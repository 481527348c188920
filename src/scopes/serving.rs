//! Which properties each portal, group and tag covers, and so what a limited caller may see and write
//! (spec: Property-limited OAuth callers; contract: Limited callers).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use engine::access::Reach;
use engine::context::Context;
use engine::error::Result;
use engine::kit::Weighed;
use engine::values;
use store::Row;
use uuid::Uuid;

use super::resolution::{Assignments, Placement, Resolved, resolve};
use super::{Target, TargetKind};

store::statements! {
    /// The organization's default portal.
    DEFAULT_PORTAL = "select id from portal where organization_id = ?1 and is_default = true";
    /// What portals are assigned to, in the order in which the portals were created.
    ASSIGNMENTS = "select s.entity_id, s.target_kind, s.target_id from entity_scope s
        join portal p on p.organization_id = s.organization_id and p.id = s.entity_id
        where s.organization_id = ?1 and s.entity_type = 'portal_settings' order by p.created_at, p.id";
    /// The same for some targets only.
    ASSIGNMENTS_TO = "select s.entity_id, s.target_kind, s.target_id from entity_scope s
        join portal p on p.organization_id = s.organization_id and p.id = s.entity_id
        where s.organization_id = ?1 and s.target_kind in ('property', 'property_group', 'tag') and s.target_id = any(?2)
        and s.entity_type = 'portal_settings' order by p.created_at, p.id";
    /// Every property, by creation.
    PROPERTIES = "select id from record where organization_id = ?1 and kind = 'property' order by created_at, id";
    /// The groups and tags of every property, by property.
    PLACEMENTS = "select from_id, to_id, to_kind = 'tag' from record_link
        where organization_id = ?1 and from_kind = 'property' and to_kind in ('property_group', 'tag') order by from_id";
}

/// The portal that a property with this placement gets.
pub(crate) fn effective_portal(context: &mut Context<'_, '_>, placement: &Placement) -> Result<Option<Resolved>> {
    let targets: Vec<Uuid> = placement.tags.iter().copied().chain(placement.group).chain([placement.property]).collect();
    let default = default_portal(context)?;
    let rows = context.rows(&ASSIGNMENTS_TO, values![targets])?;
    Ok(resolve(placement, &assignments(&rows, default)?))
}

/// Where every property stands, by creation, and the portal that serves it.
pub(super) fn served(context: &mut Context<'_, '_>) -> Result<Vec<(Placement, Option<Uuid>)>> {
    let default = default_portal(context)?;
    let assignments = assignments(&context.rows(&ASSIGNMENTS, [])?, default)?;
    let portal = |placement: &Placement| resolve(placement, &assignments).map(|resolved| resolved.portal);
    Ok(placements(context)?
        .into_iter()
        .map(|placement| {
            let portal = portal(&placement);
            (placement, portal)
        })
        .collect())
}

fn default_portal(context: &mut Context<'_, '_>) -> Result<Option<Uuid>> {
    Ok(context.row(&DEFAULT_PORTAL, [])?.map(|row| row.get(0)).transpose()?)
}

fn assignments(rows: &[Row], default: Option<Uuid>) -> Result<Assignments> {
    let mut assignments = Assignments::new(default);
    for row in rows {
        let (portal, target): (Uuid, Uuid) = (row.get(0)?, row.get(2)?);
        match row.get::<String>(1)?.parse().ok() {
            Some(TargetKind::Property) => assignments.add_direct(target, portal),
            Some(TargetKind::PropertyGroup) => assignments.add_group(target, portal),
            Some(TargetKind::Tag) => assignments.add_tag(target, portal),
            _ => {}
        }
    }
    Ok(assignments)
}

/// Whether a thing covers properties within a caller's reach, and outside of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cover {
    /// It covers one of theirs.
    pub is_inside: bool,
    /// It covers one that is not theirs.
    pub is_outside: bool,
}

/// What portals, groups and tags cover, as one caller sees it. For an unlimited caller everything is visible and writable.
pub(crate) struct Coverage(Option<Limited>);

#[derive(Default)]
struct Limited {
    reach: HashSet<Uuid>,
    covers: HashMap<Target, Cover>,
}

impl Coverage {
    /// What covers what, as long as nothing of that changes; reads nothing for an unlimited caller.
    pub(crate) fn load(context: &mut Context<'_, '_>) -> Result<Arc<Self>> {
        let Reach::Properties(ids) = context.reach() else { return Ok(Arc::new(Self(None))) };
        // What a credential reaches is configured, like what covers it.
        context.cached(&context.access.credential.key(), |context| Self::of(context, ids))
    }

    fn of(context: &mut Context<'_, '_>, ids: &BTreeSet<Uuid>) -> Result<Self> {
        let mut limited = Limited { reach: ids.iter().copied().collect(), ..Limited::default() };
        for (placement, portal) in served(context)? {
            let portal = portal.map(|portal| (TargetKind::Portal, portal));
            let is_inside = limited.reach.contains(&placement.property);
            let tags = placement.tags.iter().map(|tag| (TargetKind::Tag, *tag));
            let group = placement.group.map(|group| (TargetKind::PropertyGroup, group));
            for target in tags.chain(group).chain(portal) {
                let cover = limited.covers.entry(target).or_default();
                cover.is_inside |= is_inside;
                cover.is_outside |= !is_inside;
            }
        }
        Ok(Self(Some(limited)))
    }

    /// Whether the caller may know of a property, group, tag or portal as a target.
    pub(crate) fn is_visible(&self, kind: TargetKind, id: Uuid) -> bool {
        self.0.as_ref().is_none_or(|limited| limited.cover((kind, id)).is_inside)
    }

    /// Whether the caller may assign something to a property, group, tag or portal.
    pub(crate) fn is_writable(&self, kind: TargetKind, id: Uuid) -> bool {
        self.0.as_ref().is_none_or(|limited| {
            let cover = limited.cover((kind, id));
            // What a portal that serves nothing is assigned to is nobody else's.
            !cover.is_outside && (cover.is_inside || kind == TargetKind::Portal)
        })
    }

    /// Whether the caller may read a portal: it serves one of their properties, or none at all.
    pub(crate) fn may_read_portal(&self, id: Uuid) -> bool {
        self.0.as_ref().is_none_or(|limited| {
            let cover = limited.cover((TargetKind::Portal, id));
            cover.is_inside || !cover.is_outside
        })
    }

    /// Whether the caller may change a portal: they hold every property it serves, or it serves none.
    pub(crate) fn may_write_portal(&self, id: Uuid) -> bool {
        self.is_writable(TargetKind::Portal, id)
    }

    /// What some targets cover together. For an unlimited caller nothing is outside.
    pub(crate) fn cover_of(&self, targets: &[Target]) -> Cover {
        let Some(limited) = &self.0 else { return Cover { is_inside: true, is_outside: false } };
        targets.iter().fold(Cover::default(), |all, target| {
            let cover = limited.cover(*target);
            Cover { is_inside: all.is_inside || cover.is_inside, is_outside: all.is_outside || cover.is_outside }
        })
    }
}

impl Weighed for Coverage {
    fn weight(&self) -> u64 {
        self.0.as_ref().map_or(0, |limited| {
            let bytes = limited.reach.len() * size_of::<Uuid>() + limited.covers.len() * size_of::<(Target, Cover)>();
            2 * u64::try_from(bytes).unwrap_or(u64::MAX / 2)
        })
    }
}

impl Limited {
    fn cover(&self, target: Target) -> Cover {
        match target {
            (TargetKind::Property, id) => {
                let is_inside = self.reach.contains(&id);
                Cover { is_inside, is_outside: !is_inside }
            }
            _ => self.covers.get(&target).copied().unwrap_or_default(),
        }
    }
}

/// Where every property stands, by creation.
fn placements(context: &mut Context<'_, '_>) -> Result<Vec<Placement>> {
    let mut placements = Vec::new();
    context.each(&PROPERTIES, [], |row| {
        placements.push(Placement { property: row.get(0)?, group: None, tags: Vec::new() });
        Ok(())
    })?;
    // In the order in which their groups and tags come.
    let mut by_id: Vec<&mut Placement> = placements.iter_mut().collect();
    by_id.sort_unstable_by_key(|placement| placement.property);
    let mut by_id = by_id.into_iter().peekable();
    context.each(&PLACEMENTS, [], |row| {
        let property: Uuid = row.get(0)?;
        while by_id.next_if(|placement| placement.property < property).is_some() {}
        let Some(placement) = by_id.peek_mut().filter(|placement| placement.property == property) else { return Ok(()) };
        let target = row.get(1)?;
        if row.get(2)? {
            placement.tags.push(target);
        } else {
            placement.group = Some(target);
        }
        Ok(())
    })?;
    Ok(placements)
}
