//! The operation `getPropertySetup`: the portal that serves a property, and the steps that are
//! assigned to the property, directly or through its group, tags or portal. Inactive steps are
//! included, and the targeting rules of the steps are not applied.

use engine::access::Permission;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::operation::{CacheBasis, Needs, Operation, OperationName};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::explain::{self, Reason};
use super::precheckin;
use super::stay::StayFlat;
use crate::precheck::{self, StepType};
use crate::records::{RecordKind, get_record};
use crate::scopes::{self, EntityType};

/// Reads the portal that serves a property, and the steps that are assigned to the property.
pub const GET_PROPERTY_SETUP: OperationName<PropertySetup> = OperationName::new("getPropertySetup");

/// The property whose setup is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReadPropertySetup {
    /// Id of the property.
    property_id: Uuid,
}

/// The portal and the steps of a property.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = example())]
pub struct PropertySetup {
    /// The portal that serves the property.
    pub portal: ServingPortal,
    /// The steps that are assigned to the property, in the order in which guests get steps,
    /// including inactive steps. The targeting rules of a step decide for each stay whether the
    /// guest gets the step.
    pub steps: Vec<ReachingStep>,
}

/// The portal of a property, and the assignment that selects it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServingPortal {
    /// Id of the portal; null if no portal serves the property.
    pub id: Option<Uuid>,
    /// Name of the portal.
    pub name: Option<String>,
    /// The rule that selected the portal.
    pub reason: Reason,
}

/// A step that is assigned to a property, directly or through its group, tags or portal.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReachingStep {
    /// Id of the step.
    pub id: Uuid,
    /// Internal label of the step.
    pub nickname: String,
    /// Type of the step.
    step_type: StepType,
    /// Whether portals show the step.
    pub is_active: bool,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            GET_PROPERTY_SETUP.id(),
            Method::GET,
            "/properties/{propertyId}/setup",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary("The portal that serves a property, and the steps that reach it")
        .rest_only()
        .cached(CacheBasis::Configuration)
        .run_as(GET_PROPERTY_SETUP, read),
    ]
}

fn read(context: &mut Context<'_, '_>, input: ReadPropertySetup) -> Result<PropertySetup> {
    get_record(context, RecordKind::Property, input.property_id)?;
    let flat = StayFlat::load(context, Some(input.property_id))?
        .ok_or_else(|| Error::not_found("Property"))?;
    let names = explain::names(context, Some(&flat))?;
    let portal = explain::portal(Some(&flat), &names);
    let step_ids = scopes::reaching_ids(context, EntityType::PrecheckStep, &flat.targets())?;
    let mut steps = precheck::steps_by_id(context, step_ids)?;
    let visible = precheck::visible_ids(context, &steps)?;
    steps.retain(|step| visible.contains(&step.id));
    precheckin::sort(&mut steps, flat.portal());
    let steps = steps.into_iter().map(|step| ReachingStep {
        id: step.id,
        nickname: step.nickname,
        step_type: step.step_type,
        is_active: step.is_active,
    });
    Ok(PropertySetup {
        portal: ServingPortal {
            id: portal.id,
            name: portal.name,
            reason: portal.reason,
        },
        steps: steps.collect(),
    })
}

fn example() -> Value {
    json!({
        "portal": {
            "id": "0192f0c1-2345-7abc-8def-0123456789ab", "name": "Casa Azul",
            "reason": { "key": "property", "message": "The portal is assigned to the property." },
        },
        "steps": [
            {
                "id": "0192f0c1-2345-7abc-8def-0123456789ac",
                "nickname": "House rules",
                "stepType": "agreement",
                "isActive": true,
            },
        ],
    })
}
