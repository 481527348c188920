//! listEntityScopes, updateEntityScopes, addEntityScopes, removeEntityScopes.

use std::collections::BTreeSet;

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::{EntityType, SCOPES, Scopes, add, assign_portal, remove};
use crate::access::Permission;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::operation::{Needs, Operation};
use crate::platform::{Kind, exists};
use crate::portals::{self, Coverage};
use crate::values;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfEntity {
    entity_type: EntityType,
    entity_id: Uuid,
}

/// The assignments to replace, add or remove.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "entityType": "portal_settings", "entityId": "0192f0c1-2345-7abc-8def-0123456789ac",
    "propertyIds": ["0192f0c1-2345-7abc-8def-0123456789ab"]
}))]
struct WriteScopes {
    entity_type: EntityType,
    entity_id: Uuid,
    #[serde(default)]
    property_ids: Option<Vec<Uuid>>,
    #[serde(default)]
    property_group_ids: Option<Vec<Uuid>>,
    #[serde(default)]
    tag_ids: Option<Vec<Uuid>>,
    #[serde(default)]
    portal_settings_ids: Option<Vec<Uuid>>,
}

/// What a write does with the assignments sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Replace,
    Add,
    Remove,
}

type Target = (Kind, Uuid);

impl WriteScopes {
    fn targets(&self) -> BTreeSet<Target> {
        let of = |kind, ids: &Option<Vec<Uuid>>| ids.iter().flatten().map(|id| (kind, *id)).collect::<Vec<_>>();
        [of(Kind::Property, &self.property_ids), of(Kind::PropertyGroup, &self.property_group_ids), of(Kind::Tag, &self.tag_ids)]
            .concat()
            .into_iter()
            .collect()
    }
}

pub(super) fn operations() -> Vec<Operation> {
    use Permission::{ModifyProperties, ViewProperties};
    let write = |id, path, summary, change| {
        Operation::public(id, Method::POST, path, Needs::Permission(ModifyProperties))
            .summary(summary)
            .destructive()
            .run(move |context, input: WriteScopes| write(context, &input, change))
    };
    vec![
        Operation::public("listEntityScopes", Method::GET, "/entity-scopes", Needs::Permission(ViewProperties))
            .summary("Read what a step, manual or portal is assigned to")
            .run(list),
        write("updateEntityScopes", "/entity-scopes", "Replace every assignment with the arrays sent", Change::Replace),
        write("addEntityScopes", "/entity-scopes/add", "Add assignments, keep the rest", Change::Add),
        write("removeEntityScopes", "/entity-scopes/remove", "Remove assignments, keep the rest", Change::Remove),
    ]
}

fn list(context: &mut Context<'_, '_>, input: OfEntity) -> Result<Scopes> {
    let coverage = Coverage::load(context)?;
    Scopes::visible(context, input.entity_type, input.entity_id, &coverage)
}

fn write(context: &mut Context<'_, '_>, input: &WriteScopes, change: Change) -> Result<Scopes> {
    let takes_portals = input.entity_type == EntityType::PrecheckStep;
    if !takes_portals && input.portal_settings_ids.as_ref().is_some_and(|ids| !ids.is_empty()) {
        return Err(Error::invalid(&["portalSettingsIds"], "cannot be assigned to portals"));
    }
    find_entity(context, input.entity_type, input.entity_id)?;
    if input.entity_type == EntityType::Manual {
        context.require(Permission::ModifyGuides)?;
    }
    let coverage = Coverage::load(context)?;
    let sent = input.targets();
    for (kind, id) in &sent {
        check_target(context, *kind, *id, change, &coverage)?;
    }
    let stored = stored(context, input.entity_type, input.entity_id)?;
    let leaves: Vec<Target> = match change {
        Change::Replace => stored.difference(&sent).filter(|(kind, id)| coverage.is_writable(*kind, *id)).copied().collect(),
        Change::Remove => stored.intersection(&sent).copied().collect(),
        Change::Add => Vec::new(),
    };
    for (kind, id) in leaves {
        remove(context, input.entity_type, input.entity_id, kind, id)?;
    }
    if change != Change::Remove {
        for (kind, id) in sent.difference(&stored) {
            if input.entity_type == EntityType::PortalSettings && *kind == Kind::Property {
                assign_portal(context, input.entity_id, *id)?;
            } else {
                add(context, input.entity_type, input.entity_id, *kind, *id)?;
            }
        }
    }
    Scopes::visible(context, input.entity_type, input.entity_id, &coverage)
}

/// 404 for an entity that is not there, or that the caller may not change.
fn find_entity(context: &mut Context<'_, '_>, entity_type: EntityType, id: Uuid) -> Result<()> {
    match entity_type {
        EntityType::PortalSettings => portals::writable_portal(context, id).map(drop),
        EntityType::PrecheckStep => Err(Error::not_found("Pre-check step")),
        EntityType::Manual => Err(Error::not_found("Manual")),
    }
}

/// 404 for a target that is not there or not writable. Removing what is not there changes nothing, but for a limited
/// caller an id must not tell whether it exists.
fn check_target(context: &mut Context<'_, '_>, kind: Kind, id: Uuid, change: Change, coverage: &Coverage) -> Result<()> {
    let is_fine =
        coverage.is_writable(kind, id) && ((change == Change::Remove && !context.reach().is_limited()) || exists(context, kind, id)?);
    if is_fine { Ok(()) } else { Err(Error::not_found(&kind.label())) }
}

fn stored(context: &mut Context<'_, '_>, entity_type: EntityType, id: Uuid) -> Result<BTreeSet<Target>> {
    let rows = context.rows(&SCOPES, values![entity_type.name(), id])?;
    let target = |row: &store::Row| -> Result<Option<Target>> {
        Ok(Kind::named(&row.get::<String>(0)?).map(|kind| row.get(1).map(|id| (kind, id))).transpose()?)
    };
    rows.iter().filter_map(|row| target(row).transpose()).collect()
}
