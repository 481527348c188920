//! Entity scopes: what steps, manuals and portals are assigned to (spec: Entity scopes).

mod assign_portal;
mod operations;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::context::Context;
use crate::error::Result;
use crate::operation::Operation;
use crate::platform::Kind;
use crate::portals::Coverage;
use crate::values;

store::statements! {
    /// What an entity is assigned to.
    SCOPES = "select target_kind, target_id from entity_scope where organization_id = ?1 and entity_type = ?2 and entity_id = ?3 order by target_id";
    /// Assigns an entity to a target.
    ADD = "insert into entity_scope (organization_id, entity_type, entity_id, target_kind, target_id, created_at)
        values (?1, ?2, ?3, ?4, ?5, ?6) on conflict do nothing";
    /// Takes an assignment back.
    REMOVE = "delete from entity_scope where organization_id = ?1 and entity_type = ?2 and entity_id = ?3 and target_kind = ?4 and target_id = ?5";
    /// Takes a property from whichever portal it is assigned to.
    CLEAR_PORTAL = "delete from entity_scope where organization_id = ?1 and entity_type = 'portal_settings' and target_kind = 'property' and target_id = ?2";
    /// Takes back every assignment to a target.
    FORGET = "delete from entity_scope where organization_id = ?1 and target_kind = ?2 and target_id = ?3";
}

pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [STATEMENTS, assign_portal::STATEMENTS].concat()
}

pub(crate) fn operations() -> Vec<Operation> {
    [operations::operations(), assign_portal::operations()].into_iter().flatten().collect()
}

/// What can be assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum EntityType {
    PrecheckStep,
    Manual,
    PortalSettings,
}

impl EntityType {
    /// As it is written and stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PrecheckStep => "precheck_step",
            Self::Manual => "manual",
            Self::PortalSettings => "portal_settings",
        }
    }
}

/// The assignments of an entity, each list sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "propertyIds": ["0192f0c1-2345-7abc-8def-0123456789ab"], "propertyGroupIds": [], "tagIds": [], "portalSettingsIds": []
}))]
pub struct Scopes {
    /// Properties it is assigned to directly.
    pub property_ids: Vec<Uuid>,
    /// Property groups.
    pub property_group_ids: Vec<Uuid>,
    /// Tags.
    pub tag_ids: Vec<Uuid>,
    /// Portals; steps only.
    pub portal_settings_ids: Vec<Uuid>,
}

impl Scopes {
    /// What an entity is assigned to, as far as the caller may see it.
    fn visible(context: &mut Context<'_, '_>, entity_type: EntityType, id: Uuid, coverage: &Coverage) -> Result<Self> {
        let mut scopes = Self::default();
        for row in context.rows(&SCOPES, values![entity_type.name(), id])? {
            let Some(kind) = Kind::named(&row.get::<String>(0)?) else { continue };
            let target = row.get(1)?;
            if coverage.is_visible(kind, target) {
                scopes.of_mut(kind).push(target);
            }
        }
        Ok(scopes)
    }

    fn of_mut(&mut self, kind: Kind) -> &mut Vec<Uuid> {
        match kind {
            Kind::PropertyGroup => &mut self.property_group_ids,
            Kind::Tag => &mut self.tag_ids,
            _ => &mut self.property_ids,
        }
    }
}

/// Assigns a portal to a property itself, taking it from the one that had it.
pub(crate) fn assign_portal(context: &mut Context<'_, '_>, portal: Uuid, property: Uuid) -> Result<()> {
    context.execute(&CLEAR_PORTAL, values![property])?;
    add(context, EntityType::PortalSettings, portal, Kind::Property, property)
}

/// Takes a portal back from a property.
pub(crate) fn unassign_portal(context: &mut Context<'_, '_>, portal: Uuid, property: Uuid) -> Result<()> {
    remove(context, EntityType::PortalSettings, portal, Kind::Property, property)
}

fn add(context: &mut Context<'_, '_>, entity_type: EntityType, id: Uuid, kind: Kind, target: Uuid) -> Result<()> {
    let now = context.now();
    context.execute(&ADD, values![entity_type.name(), id, kind.name(), target, now]).map(drop)
}

fn remove(context: &mut Context<'_, '_>, entity_type: EntityType, id: Uuid, kind: Kind, target: Uuid) -> Result<()> {
    context.execute(&REMOVE, values![entity_type.name(), id, kind.name(), target]).map(drop)
}

/// Takes back every assignment to a record that is gone.
pub(crate) fn forget_target(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<()> {
    if matches!(kind, Kind::Property | Kind::PropertyGroup | Kind::Tag) {
        context.execute(&FORGET, values![kind.name(), id])?;
    }
    Ok(())
}
