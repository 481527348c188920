//! assignPortalToProperty: the direct assignment of a portal, one a property.

use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{EntityType, TargetKind, assign_portal, remove};
use crate::access::Permission;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::operation::{Needs, Operation};
use crate::platform::{Kind, exists};
use crate::portals::{find_portal, may_assign};
use crate::values;

store::statements! {
    /// The portal assigned to a property itself.
    PORTAL_OF = "select entity_id from entity_scope where organization_id = ?1 and target_kind = 'property' and target_id = ?2 and entity_type = 'portal_settings'";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "portalSettingsId": "0192f0c1-2345-7abc-8def-0123456789ab" }))]
struct AssignPortal {
    /// Id of the property that gets the portal.
    property_id: Uuid,
    /// Id of the portal to assign directly, in place of the one there; an unknown one is a 404. Null clears the assignment, so that the
    /// property gets the portal of its group, of a tag, or the default one.
    portal_settings_id: Field<Option<Uuid>>,
}

/// What the property now points at.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "id": "0192f0c1-2345-7abc-8def-0123456789ac", "portalSettingsId": "0192f0c1-2345-7abc-8def-0123456789ab"
}))]
struct AssignedPortal {
    /// The property.
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
        .destructive()
        .run(assign),
    ]
}

fn assign(context: &mut Context<'_, '_>, input: AssignPortal) -> Result<AssignedPortal> {
    let property = input.property_id;
    if !context.reach().covers(property) || !exists(context, Kind::Property, property)? {
        return Err(Error::not_found("Property"));
    }
    let portal = input.portal_settings_id.into_sent().flatten();
    if let Some(id) = portal {
        let found = find_portal(context, id)?.ok_or_else(|| Error::not_found("Portal"))?;
        if !may_assign(context, &found)? {
            return Err(Error::forbidden("This portal cannot be assigned by a caller limited to some properties."));
        }
    }
    let current = context.row(&PORTAL_OF, values![property])?.map(|row| row.get::<Uuid>(0)).transpose()?;
    if current != portal {
        if let Some(current) = current {
            remove(context, EntityType::PortalSettings, current, TargetKind::Property, &[property])?;
        }
        if let Some(portal) = portal {
            assign_portal(context, portal, &[property])?;
        }
    }
    Ok(AssignedPortal { id: property, portal_settings_id: portal })
}
