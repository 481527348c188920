//! Loads the assignments of portals and finds the portal of one flat or of many, by the rule in
//! `resolution.rs`. From these it computes which properties each portal, group and tag covers. They
//! decide which portals, groups and tags a limited caller can see and change (rules:
//! access#limited-callers; access#portals-of-limited-callers).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use engine::access::PropertyScope;
use engine::app_state::Cacheable;
use engine::context::Context;
use engine::error::Result;
use engine::values;
use store::Row;
use uuid::Uuid;

use super::resolution::{Assignments, Placement, ResolvedPortal, resolve};
use super::{Target, TargetKind};
use crate::records::{Property, RecordKind, records_as};

/// Up to this number of properties, the portal of each property is found by queries for that
/// property alone. For more properties, all assignments of the organization are read at once.
const MAX_SINGLE_READS: usize = 8;

store::statements! {
    /// Selects the organization's default portal.
    DEFAULT_PORTAL = "select id from portal where organization_id = ?1 and is_default = true";
    /// Selects the assignments of portals, in the order in which the portals were created.
    ASSIGNMENTS = "select s.entity_id, s.target_kind, s.target_id from entity_scope s
        join portal p on p.organization_id = s.organization_id and p.id = s.entity_id
        where s.organization_id = ?1 and s.entity_type = 'portal_settings'
        order by p.created_at, p.id";
    /// Selects the assignments of portals to the given targets, in the order in which the portals
    /// were created.
    ASSIGNMENTS_TO = "select s.entity_id, s.target_kind, s.target_id from entity_scope s
        join portal p on p.organization_id = s.organization_id and p.id = s.entity_id
        where s.organization_id = ?1 and s.target_kind in ('property', 'property_group', 'tag')
        and s.target_id = any(?2)
        and s.entity_type = 'portal_settings' order by p.created_at, p.id";
    /// Selects every property in the order of creation.
    PROPERTIES = "select id from record where organization_id = ?1 and kind = 'property'
        order by created_at, id";
    /// Selects the groups and tags of every property, in the order of property ids.
    PLACEMENTS = "select from_id, to_id, to_kind = 'tag' from record_link
        where organization_id = ?1 and from_kind = 'property'
        and to_kind in ('property_group', 'tag') order by from_id";
}

/// Returns the portal that a property gets, from its group and tags and from the assignments.
pub(crate) fn effective_portal(
    context: &mut Context<'_, '_>,
    placement: &Placement,
) -> Result<Option<ResolvedPortal>> {
    let targets: Vec<Uuid> = placement
        .tags
        .iter()
        .copied()
        .chain(placement.group)
        .chain([placement.property])
        .collect();
    let default = default_portal(context)?;
    let rows = context.rows(&ASSIGNMENTS_TO, values![targets])?;
    Ok(resolve(placement, &assignments(&rows, default)?))
}

/// Returns the portal that serves each of these properties. Properties without a portal are left
/// out.
pub(crate) fn portals_of(
    context: &mut Context<'_, '_>,
    properties: Vec<Uuid>,
) -> Result<HashMap<Uuid, Uuid>> {
    let mut portals = HashMap::new();
    if properties.len() > MAX_SINGLE_READS {
        let requested: HashSet<Uuid> = properties.into_iter().collect();
        for (placement, portal) in placements_with_portals(context)? {
            if let Some(portal) = portal.filter(|_| requested.contains(&placement.property)) {
                portals.insert(placement.property, portal);
            }
        }
        return Ok(portals);
    }
    for (id, property) in records_as::<Property>(context, RecordKind::Property, properties)? {
        let placement = Placement {
            property: id,
            group: property.property_group_id,
            tags: property.tag_ids.unwrap_or_default(),
        };
        if let Some(resolved) = effective_portal(context, &placement)? {
            portals.insert(id, resolved.portal);
        }
    }
    Ok(portals)
}

/// Returns every property in the order of creation, with its group, its tags, and the portal that
/// serves it.
pub(super) fn placements_with_portals(
    context: &mut Context<'_, '_>,
) -> Result<Vec<(Placement, Option<Uuid>)>> {
    let default = default_portal(context)?;
    let assignments = assignments(&context.rows(&ASSIGNMENTS, [])?, default)?;
    let portal =
        |placement: &Placement| resolve(placement, &assignments).map(|resolved| resolved.portal);
    Ok(placements(context)?
        .into_iter()
        .map(|placement| {
            let portal = portal(&placement);
            (placement, portal)
        })
        .collect())
}

fn default_portal(context: &mut Context<'_, '_>) -> Result<Option<Uuid>> {
    Ok(context
        .row(&DEFAULT_PORTAL, [])?
        .map(|row| row.get(0))
        .transpose()?)
}

fn assignments(rows: &[Row], default: Option<Uuid>) -> Result<Assignments> {
    let mut assignments = Assignments::new(default);
    for row in rows {
        let (portal, target): (Uuid, Uuid) = (row.get(0)?, row.get(2)?);
        match row.get::<String>(1)?.parse().ok() {
            Some(TargetKind::Property) => assignments.add_direct(target, portal),
            Some(TargetKind::PropertyGroup) => assignments.add_group(target, portal),
            Some(TargetKind::Tag) => assignments.add_tag(target, portal),
            Some(TargetKind::Portal) | None => {}
        }
    }
    Ok(assignments)
}

/// Whether a target, such as a tag, covers properties that one caller can access, and whether it
/// covers properties that this caller cannot access. Both can be true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TargetCoverage {
    /// Whether the target covers a property that the caller can access.
    pub is_inside: bool,
    /// Whether the target covers a property that the caller cannot access.
    pub is_outside: bool,
}

/// The portals, groups and tags that cover properties which the caller can access. `None` for an
/// unlimited caller, who can see and change all of them.
pub(crate) struct Coverage(Option<LimitedCaller>);

#[derive(Default)]
struct LimitedCaller {
    property_scope: HashSet<Uuid>,
    covers: HashMap<Target, TargetCoverage>,
}

impl Coverage {
    /// Returns the coverage for the caller from the cache. The cached value is valid until the
    /// configuration changes. Reads nothing for an unlimited caller.
    pub(crate) fn load(context: &mut Context<'_, '_>) -> Result<Arc<Self>> {
        let PropertyScope::Properties(ids) = context.property_scope() else {
            return Ok(Arc::new(Self(None)));
        };
        // The list of properties that a credential may access is part of the configuration. So a
        // change of this list invalidates the cache entry.
        context.cached(&context.access.credential.key(), |context| {
            Self::of(context, ids)
        })
    }

    fn of(context: &mut Context<'_, '_>, ids: &BTreeSet<Uuid>) -> Result<Self> {
        let mut limited = LimitedCaller {
            property_scope: ids.iter().copied().collect(),
            ..LimitedCaller::default()
        };
        for (placement, portal) in placements_with_portals(context)? {
            let portal = portal.map(|portal| (TargetKind::Portal, portal));
            let is_inside = limited.property_scope.contains(&placement.property);
            let tags = placement.tags.iter().map(|tag| (TargetKind::Tag, *tag));
            let group = placement
                .group
                .map(|group| (TargetKind::PropertyGroup, group));
            for target in tags.chain(group).chain(portal) {
                let cover = limited.covers.entry(target).or_default();
                cover.is_inside |= is_inside;
                cover.is_outside |= !is_inside;
            }
        }
        Ok(Self(Some(limited)))
    }

    /// Returns whether the caller can see a property, group, tag or portal as a target.
    pub(crate) fn is_visible(&self, kind: TargetKind, id: Uuid) -> bool {
        self.0
            .as_ref()
            .is_none_or(|limited| limited.cover((kind, id)).is_inside)
    }

    /// Returns whether the caller may assign a step, a manual or a portal to this property, group,
    /// tag or portal.
    pub(crate) fn is_writable(&self, kind: TargetKind, id: Uuid) -> bool {
        self.0.as_ref().is_none_or(|limited| {
            let cover = limited.cover((kind, id));
            // A portal that serves no property affects no property outside the caller's access, so
            // the caller may change it.
            !cover.is_outside && (cover.is_inside || kind == TargetKind::Portal)
        })
    }

    /// Returns whether the caller can read a portal. A caller with access to all properties can
    /// read every portal. A limited caller can read a portal that serves at least one property of
    /// the caller, and a portal that serves no property at all.
    pub(crate) fn may_read_portal(&self, id: Uuid) -> bool {
        self.0.as_ref().is_none_or(|limited| {
            let cover = limited.cover((TargetKind::Portal, id));
            cover.is_inside || !cover.is_outside
        })
    }

    /// Returns whether the caller may change a portal: the caller can access every property that
    /// the portal serves, or the portal serves none.
    pub(crate) fn may_write_portal(&self, id: Uuid) -> bool {
        self.is_writable(TargetKind::Portal, id)
    }

    /// Returns whether any of these targets covers a property inside the caller's access, and
    /// whether any of them covers a property outside. For an unlimited caller, every property is
    /// inside.
    pub(crate) fn combined_coverage(&self, targets: &[Target]) -> TargetCoverage {
        let Some(limited) = &self.0 else {
            return TargetCoverage {
                is_inside: true,
                is_outside: false,
            };
        };
        targets
            .iter()
            .fold(TargetCoverage::default(), |all, target| {
                let cover = limited.cover(*target);
                TargetCoverage {
                    is_inside: all.is_inside || cover.is_inside,
                    is_outside: all.is_outside || cover.is_outside,
                }
            })
    }
}

impl Cacheable for Coverage {
    fn weight(&self) -> u64 {
        self.0.as_ref().map_or(0, |limited| {
            let bytes = limited.property_scope.len() * size_of::<Uuid>()
                + limited.covers.len() * size_of::<(Target, TargetCoverage)>();
            2 * u64::try_from(bytes).unwrap_or(u64::MAX / 2)
        })
    }
}

impl LimitedCaller {
    fn cover(&self, target: Target) -> TargetCoverage {
        match target {
            (TargetKind::Property, id) => {
                let is_inside = self.property_scope.contains(&id);
                TargetCoverage {
                    is_inside,
                    is_outside: !is_inside,
                }
            }
            (TargetKind::PropertyGroup | TargetKind::Tag | TargetKind::Portal, _) => {
                self.covers.get(&target).copied().unwrap_or_default()
            }
        }
    }
}

/// Returns every property in the order of creation, with its group and tags.
fn placements(context: &mut Context<'_, '_>) -> Result<Vec<Placement>> {
    let mut placements = Vec::new();
    context.each(&PROPERTIES, [], |row| {
        placements.push(Placement {
            property: row.get(0)?,
            group: None,
            tags: Vec::new(),
        });
        Ok(())
    })?;
    // The placements are sorted by the id of the property, because the groups and tags are read in
    // this order.
    let mut by_id: Vec<&mut Placement> = placements.iter_mut().collect();
    by_id.sort_unstable_by_key(|placement| placement.property);
    let mut by_id = by_id.into_iter().peekable();
    context.each(&PLACEMENTS, [], |row| {
        let property: Uuid = row.get(0)?;
        while by_id
            .next_if(|placement| placement.property < property)
            .is_some()
        {}
        let Some(placement) = by_id
            .peek_mut()
            .filter(|placement| placement.property == property)
        else {
            return Ok(());
        };
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
