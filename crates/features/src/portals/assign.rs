//! The operation `assignPortalToProperty`, which assigns a portal directly to a property. A
//! property has at most one direct portal.

use engine::access::Permission;
use engine::audit::{self, AuditedObject, Audits};
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::field::Field;
use engine::operation::{Needs, Operation};
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::portal::Portal;
use super::portal_operations::find as find_portal;
use crate::records::{RecordKind, exists, record_names};
use crate::scopes::{Coverage, EntityType, TargetKind, assign_portal, remove};

store::statements! {
    /// Selects the portal that is directly assigned to a property.
    PORTAL_OF = "select entity_id from entity_scope where organization_id = ?1
        and target_kind = 'property' and target_id = ?2 and entity_type = 'portal_settings'";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "portalSettingsId": "0192f0c1-2345-7abc-8def-0123456789ab" }))]
struct AssignPortal {
    /// Id of the property that gets the portal.
    property_id: Uuid,
    /// Id of the portal to assign directly, in place of the old one. An unknown portal is a 404.
    /// Null removes the direct assignment, so that the property gets the portal of its group, of a
    /// tag, or the default portal.
    portal_settings_id: Field<Option<Uuid>>,
}

/// A property, and the portal that is now assigned directly to it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "id": "0192f0c1-2345-7abc-8def-0123456789ac",
    "portalSettingsId": "0192f0c1-2345-7abc-8def-0123456789ab",
}))]
struct AssignedPortal {
    /// Id of the property.
    id: Uuid,
    portal_settings_id: Option<Uuid>,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            "assignPortalToProperty",
            Method::POST,
            "/properties/{propertyId}/assign-portal",
            Needs::Permission(Permission::ModifyProperties),
        )
        .summary("Point a property at a portal, or clear its assignment")
        .tool(
            "portals",
            "Assign a portal to a property",
            "Points one property at a portal, before any by group or tag; null lets group, tag or \
                default decide again. For groups and tags use `addEntityScopes`.",
        )
        .destructive()
        .idempotent()
        .audited(Audits::changes(audited))
        .run(assign),
    ]
}

fn assign(context: &mut Context<'_, '_>, input: AssignPortal) -> Result<AssignedPortal> {
    let property = input.property_id;
    if !context.property_scope().covers(property)
        || !exists(context, RecordKind::Property, property)?
    {
        return Err(Error::not_found("Property"));
    }
    let portal = input.portal_settings_id.into_sent().flatten();
    if let Some(id) = portal {
        let portal_to_assign =
            find_portal(context, id)?.ok_or_else(|| Error::not_found("Portal").of(id))?;
        if !may_assign(context, &portal_to_assign)? {
            return Err(Error::forbidden(Reason::rule(
                "portal_of_others",
                "This portal cannot be assigned by a caller limited to some properties.",
            )));
        }
    }
    let current = portal_of(context, property)?;
    if current != portal {
        if let Some(current) = current {
            remove(
                context,
                EntityType::PortalSettings,
                current,
                TargetKind::Property,
                &[property],
            )?;
        }
        if let Some(portal) = portal {
            assign_portal(context, portal, &[property])?;
        }
    }
    Ok(AssignedPortal {
        id: property,
        portal_settings_id: portal,
    })
}

fn portal_of(context: &mut Context<'_, '_>, property: Uuid) -> Result<Option<Uuid>> {
    Ok(context
        .row(&PORTAL_OF, values![property])?
        .map(|row| row.get(0))
        .transpose()?)
}

/// Describes for the audit log which portal is assigned to a property.
fn audited(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<AuditedObject>> {
    let Some(property) = audit::id(input, "propertyId") else {
        return Ok(None);
    };
    let name = record_names(context, RecordKind::Property, vec![property])?
        .pop()
        .and_then(|(_, name)| name);
    let portal = portal_of(context, property)?;
    AuditedObject::new("property", Some(property), name)
        .showing(&json!({ "portalSettingsId": portal }))
        .map(Some)
}

/// Returns whether the caller may assign a portal to properties that the caller can access. The
/// caller may assign every portal except a default portal that the caller cannot read. A portal
/// that serves no property is readable (rules: access#portals-of-limited-callers).
fn may_assign(context: &mut Context<'_, '_>, portal: &Portal) -> Result<bool> {
    Ok(!portal.is_default || Coverage::load(context)?.may_read_portal(portal.id))
}

/// Fails with 404 for a portal that the caller may not assign: an unknown portal, or a default
/// portal that a limited caller cannot read (rules: access#portals-of-limited-callers).
pub(super) fn check(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    let is_assignable = match find_portal(context, id)? {
        Some(portal) => may_assign(context, &portal)?,
        None => false,
    };
    if is_assignable {
        Ok(())
    } else {
        Err(Error::not_found("Portal"))
    }
}
