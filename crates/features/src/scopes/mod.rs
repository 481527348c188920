//! Entity scopes: the assignments of steps, manuals and portals to properties, groups, tags and
//! portals (rules: assignments#entity-scopes).
//!
//! `resolution.rs` chooses the portal of a property, and `serving.rs` decides on the access of a
//! limited caller. `operations.rs` changes assignments.

mod audited;
mod erased;
mod operations;
mod reach_counts;
mod resolution;
mod serving;

use std::collections::{BTreeMap, HashMap, HashSet};

use engine::access::Permission;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::module::Module;
use engine::values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Row;
use strum::{AsRefStr, EnumString, VariantArray};
use uuid::Uuid;

use crate::records::{Dependents, OnDeleted, RecordKind, record_names};
pub use operations::LIST_ENTITY_SCOPES;
pub use reach_counts::COUNT_REACHED_PROPERTIES;
pub(crate) use reach_counts::first_served_property;
pub use resolution::{Assignments, Placement, PortalSource, ResolvedPortal, resolve};
pub(crate) use serving::{Coverage, effective_portal, portals_of};

store::statements! {
    /// Selects the assignments of an entity.
    SCOPES = "select target_kind, target_id from entity_scope where organization_id = ?1
        and entity_type = ?2 and entity_id = ?3 order by target_id";
    /// Selects the assignments of the entities with the given ids. All these entities have the same
    /// type.
    SCOPES_OF = "select target_kind, target_id, entity_id from entity_scope
        where organization_id = ?1 and entity_type = ?2 and entity_id = any(?3)";
    /// Selects the assignments of every entity of a type.
    ALL_SCOPES = "select target_kind, target_id, entity_id from entity_scope
        where organization_id = ?1 and entity_type = ?2";
    /// Counts the targets of each kind, for every entity of a type.
    COUNTS = "select target_kind, count(*), entity_id from entity_scope where organization_id = ?1
        and entity_type = ?2 group by entity_id, target_kind";
    /// Selects the assignments of all entities of a type to the given targets.
    REACHING = "select target_kind, target_id, entity_id from entity_scope
        where organization_id = ?1 and target_kind in
        ('property', 'property_group', 'tag', 'portal_settings')
        and target_id = any(?3) and entity_type = ?2";
    /// Assigns an entity to those records of the kind `?4` whose ids are in `?5`. Ids that belong
    /// to no record are ignored.
    ADD = "insert into entity_scope (organization_id, entity_type, entity_id, target_kind,
        target_id, created_at)
        select organization_id, ?2, ?3, kind, id, ?6 from record where organization_id = ?1
        and kind = ?4 and id = any(?5)
        on conflict do nothing";
    /// Assigns an entity to the portals with the given ids. Ids that belong to no portal are
    /// ignored.
    ADD_PORTALS = "insert into entity_scope
        (organization_id, entity_type, entity_id, target_kind, target_id, created_at)
        select organization_id, ?2, ?3, 'portal_settings', id, ?5 from portal
        where organization_id = ?1 and id = any(?4)
        on conflict do nothing";
    /// Deletes the assignments of an entity to the targets of one kind with the given ids.
    REMOVE = "delete from entity_scope where organization_id = ?1 and entity_type = ?2
        and entity_id = ?3 and target_kind = ?4 and target_id = any(?5)";
    /// Deletes the direct assignments of portals to the given properties. Without the index hint,
    /// SQLite reads the assignments of all portals.
    CLEAR_PORTAL = "delete from entity_scope indexed by entity_scope_by_target
        where organization_id = ?1 and target_kind = 'property' and target_id = any(?2)
        and entity_type = 'portal_settings'";
    /// Deletes every assignment to the given targets, because the targets are deleted.
    FORGET = "delete from entity_scope indexed by entity_scope_by_target
        where organization_id = ?1 and target_kind = ?2 and target_id = any(?3)";
}

/// The registration of this module.
pub static MODULE: Module = Module {
    operations: || {
        operations::operations()
            .into_iter()
            .chain(reach_counts::operations())
            .collect()
    },
    statements: || [STATEMENTS, audited::STATEMENTS, serving::STATEMENTS].concat(),
    erased: erased::STATEMENTS,
    lists: |lists| lists.add(OnDeleted(forget_targets)),
    subjects: &[(
        "entity-scopes",
        "What a step, manual or portal is assigned to: properties, groups, tags, portals.",
    )],
    ..Module::new("scopes")
};

/// A type of entity that can be assigned, such as a step. The module that defines the type
/// registers it.
pub(crate) struct Assignable {
    pub entity_type: EntityType,
    /// Fails with 404 for an entity that does not exist, and for an entity whose assignments the
    /// caller may not see or change.
    pub check: fn(&mut Context<'_, '_>, Uuid) -> Result<()>,
    /// Returns the name of an entity, without a check of the caller's access.
    pub name: fn(&mut Context<'_, '_>, Uuid) -> Result<Option<String>>,
    /// An additional permission that a caller needs to change the assignments of an entity of this
    /// type. `None` if no additional permission is needed.
    pub needs: Option<Permission>,
}

/// The names of entities or targets, with their ids. The name is `None` for an object without a
/// name.
pub(crate) type ScopeNames = Vec<(Uuid, Option<String>)>;

/// A kind of target that is not a synchronized record, such as a portal. The module that defines
/// the kind registers it.
pub(crate) struct TargetSource {
    pub kind: TargetKind,
    /// Returns the names of the targets of this kind that have the given ids.
    pub names: fn(&mut Context<'_, '_>, Vec<Uuid>) -> Result<ScopeNames>,
    /// Returns the first of these ids for which the organization has no target of this kind; `None`
    /// if it has a target for every id.
    pub first_missing: fn(&mut Context<'_, '_>, Vec<Uuid>) -> Result<Option<Uuid>>,
}

impl TargetSource {
    fn of(context: &Context<'_, '_>, kind: TargetKind) -> Result<&'static Self> {
        let source = context
            .listed::<Self>()
            .iter()
            .find(|source| source.kind == kind);
        source.ok_or_else(|| Error::internal("no module has this kind of target"))
    }
}

/// Type of an entity that can be assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, AsRefStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EntityType {
    PrecheckStep,
    Manual,
    // A portal. The interface calls it `portal_settings`.
    PortalSettings,
}

/// Kind of a target of assignments.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    AsRefStr,
    EnumString,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TargetKind {
    /// A property itself.
    Property,
    /// A property group. The assignment reaches all properties of the group.
    PropertyGroup,
    /// A tag. The assignment reaches all properties with the tag.
    Tag,
    /// A portal. The assignment reaches all properties that the portal serves. Only steps can be
    /// assigned to portals.
    #[serde(rename = "portal_settings")]
    #[strum(serialize = "portal_settings")]
    Portal,
}

impl TargetKind {
    /// Returns the record kind of the target; `None` for a portal, which is not a record.
    #[must_use]
    pub const fn record(self) -> Option<RecordKind> {
        match self {
            Self::Property => Some(RecordKind::Property),
            Self::PropertyGroup => Some(RecordKind::PropertyGroup),
            Self::Tag => Some(RecordKind::Tag),
            Self::Portal => None,
        }
    }

    /// Returns the kinds of records that can be targets: properties, groups and tags.
    pub(crate) fn record_kinds() -> impl Iterator<Item = RecordKind> + Clone {
        Self::VARIANTS.iter().filter_map(|kind| kind.record())
    }
}

/// A target of an assignment: its kind and its id.
pub type Target = (TargetKind, Uuid);

/// The assignments of an entity, each list sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "propertyIds": ["0192f0c1-2345-7abc-8def-0123456789ab"],
    "propertyGroupIds": [],
    "tagIds": [],
    "portalSettingsIds": [],
    "names": { "0192f0c1-2345-7abc-8def-0123456789ab": "Casa Azul 2-1" },
}))]
pub struct EntityScopes {
    /// Ids of the properties that the entity is assigned to directly.
    pub property_ids: Vec<Uuid>,
    /// Ids of the property groups that the entity is assigned to.
    pub property_group_ids: Vec<Uuid>,
    /// Ids of the tags that the entity is assigned to.
    pub tag_ids: Vec<Uuid>,
    /// Ids of the portals that the entity is assigned to; steps only.
    pub portal_settings_ids: Vec<Uuid>,
    /// Name of each property, group, tag and portal above, by id; null if the object has no name.
    pub names: BTreeMap<Uuid, Option<String>>,
}

impl EntityScopes {
    /// Returns the assignments of an entity to those targets that the caller can see.
    fn visible(
        context: &mut Context<'_, '_>,
        entity_type: EntityType,
        id: Uuid,
        coverage: &Coverage,
    ) -> Result<Self> {
        let mut scopes = Self::default();
        for (kind, target) in targets(context, entity_type, id)? {
            if coverage.is_visible(kind, target) {
                scopes.of_mut(kind).push(target);
            }
        }
        for kind in TargetKind::VARIANTS.iter().copied() {
            let ids = scopes.of_mut(kind).clone();
            if !ids.is_empty() {
                scopes.names.extend(names(context, kind, ids)?);
            }
        }
        Ok(scopes)
    }

    fn of_mut(&mut self, kind: TargetKind) -> &mut Vec<Uuid> {
        match kind {
            TargetKind::Property => &mut self.property_ids,
            TargetKind::PropertyGroup => &mut self.property_group_ids,
            TargetKind::Tag => &mut self.tag_ids,
            TargetKind::Portal => &mut self.portal_settings_ids,
        }
    }
}

/// Returns the names of the targets with these ids, all of which are of the kind `kind`.
fn names(context: &mut Context<'_, '_>, kind: TargetKind, ids: Vec<Uuid>) -> Result<ScopeNames> {
    match kind.record() {
        Some(record) => record_names(context, record, ids),
        None => (TargetSource::of(context, kind)?.names)(context, ids),
    }
}

/// Returns the assignments of an entity, in the order of target ids.
pub(crate) fn targets(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
    id: Uuid,
) -> Result<Vec<Target>> {
    context
        .rows(&SCOPES, values![entity_type.as_ref(), id])?
        .iter()
        .map(target)
        .collect()
}

/// Returns the assignments of each entity of a type. Entities without assignments are left out.
pub(crate) fn all_targets(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
) -> Result<HashMap<Uuid, Vec<Target>>> {
    by_entity(&context.rows(&ALL_SCOPES, values![entity_type.as_ref()])?)
}

/// Returns the assignments of the entities with these ids. All these entities have the same type.
/// Entities without assignments are left out.
pub(crate) fn targets_of(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, Vec<Target>>> {
    by_entity(&context.rows(&SCOPES_OF, values![entity_type.as_ref(), ids])?)
}

fn by_entity(rows: &[Row]) -> Result<HashMap<Uuid, Vec<Target>>> {
    let mut all = HashMap::<Uuid, Vec<Target>>::new();
    for row in rows {
        all.entry(row.get(2)?).or_default().push(target(row)?);
    }
    Ok(all)
}

/// For each entity of the type `entity_type`, returns how many targets of each kind the entity is
/// assigned to.
pub(crate) fn counts(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
) -> Result<Vec<(Uuid, TargetKind, i64)>> {
    let rows = context.rows(&COUNTS, values![entity_type.as_ref()])?;
    rows.iter()
        .map(|row| Ok((row.get(2)?, target_kind(row)?, row.get(1)?)))
        .collect()
}

/// Returns the ids of all entities of a type that are assigned to any of these targets. Each id is
/// paired with the target; an entity with several of these targets occurs several times.
pub(crate) fn reaching(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
    targets: &[Target],
) -> Result<Vec<(Uuid, Target)>> {
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let target_set: HashSet<Target> = targets.iter().copied().collect();
    let ids: Vec<Uuid> = targets.iter().map(|(_, id)| *id).collect();
    let rows = context.rows(&REACHING, values![entity_type.as_ref(), ids])?;
    let assignments = rows
        .iter()
        .map(|row| Ok((row.get(2)?, target(row)?)))
        .collect::<Result<Vec<_>>>()?;
    // Targets of different kinds can have the same id, and the query compares only ids.
    Ok(assignments
        .into_iter()
        .filter(|(_, target)| target_set.contains(target))
        .collect())
}

/// Returns the ids of all entities of a type that are assigned to any of these targets, each id
/// once.
pub(crate) fn reaching_ids(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
    targets: &[Target],
) -> Result<Vec<Uuid>> {
    let mut ids: Vec<Uuid> = reaching(context, entity_type, targets)?
        .into_iter()
        .map(|(entity, _)| entity)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Reads a target from the columns `target_kind, target_id`.
fn target(row: &Row) -> Result<Target> {
    Ok((target_kind(row)?, row.get(1)?))
}

fn target_kind(row: &Row) -> Result<TargetKind> {
    row.get::<String>(0)?
        .parse()
        .map_err(|_| Error::internal("an assignment has an unknown kind of target"))
}

/// Assigns a portal directly to properties, and removes their previous direct assignments.
pub(crate) fn assign_portal(
    context: &mut Context<'_, '_>,
    portal: Uuid,
    properties: &[Uuid],
) -> Result<()> {
    context.execute_deferred(&CLEAR_PORTAL, values![properties])?;
    add(
        context,
        EntityType::PortalSettings,
        portal,
        TargetKind::Property,
        properties,
    )
}

/// Assigns an entity to existing targets of a kind.
pub(crate) fn add(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
    id: Uuid,
    kind: TargetKind,
    targets: &[Uuid],
) -> Result<()> {
    let now = context.now();
    match kind.record() {
        Some(record) => context.execute(
            &ADD,
            values![entity_type.as_ref(), id, record.as_ref(), targets, now],
        ),
        None => context.execute(
            &ADD_PORTALS,
            values![entity_type.as_ref(), id, targets, now],
        ),
    }
    .map(drop)
}

/// Removes the assignments of an entity to these targets, all of which are of the same kind.
pub(crate) fn remove(
    context: &mut Context<'_, '_>,
    entity_type: EntityType,
    id: Uuid,
    kind: TargetKind,
    targets: &[Uuid],
) -> Result<()> {
    context.execute_deferred(
        &REMOVE,
        values![entity_type.as_ref(), id, kind.as_ref(), targets],
    )
}

/// Deletes every assignment to deleted records.
fn forget_targets(context: &mut Context<'_, '_>, kind: RecordKind, ids: &[Uuid]) -> Result<()> {
    match kind.dependents() {
        Dependents::Flat | Dependents::Assignments => {
            context.execute_deferred(&FORGET, values![kind.as_ref(), ids])
        }
        Dependents::Stay | Dependents::Brandings | Dependents::None => Ok(()),
    }
}
