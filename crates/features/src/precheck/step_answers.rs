//! The forms of a step in responses: the form for the organization after a write of the step, and
//! the form for the platform.

use engine::moment::Moment;
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::question::Question;
use super::step::{Agreement, AgreementType, Charges, Core, Step, WriteOnly};
use super::step_type::StepType;
use crate::records::RecordKind;

/// The settings of a step that the platform acts on, including write-only settings.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepSettings {
    is_manual_review_enabled: bool,
    fee_product_ids: Vec<Uuid>,
    #[serde(flatten)]
    charges: Charges,
    #[serde(flatten)]
    agreement: Agreement,
    #[serde(flatten)]
    write_only: WriteOnly,
}

impl From<Step> for StepSettings {
    fn from(step: Step) -> Self {
        let Step {
            is_manual_review_enabled,
            fee_product_ids,
            charges,
            agreement,
            write_only,
            ..
        } = step;
        Self {
            is_manual_review_enabled,
            fee_product_ids,
            charges,
            agreement,
            write_only,
        }
    }
}

/// The response of `createPrecheckStep` and `updatePrecheckStep`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PrecheckStep", example = WrittenStep::from(&example()))]
pub struct WrittenStep {
    #[serde(flatten)]
    core: Core,
    /// Id of the translation of the heading; null means the built-in title of the type.
    display_title_ml_text_id: Option<Uuid>,
    /// Always empty in this response; `getPrecheckStep` returns the questions.
    questions: Vec<Question>,
    /// Always empty in this response; `getPrecheckStep` returns the damage waivers.
    #[schemars(schema_with = "damage_waivers")]
    damage_waivers: Vec<Value>,
}

impl From<&Step> for WrittenStep {
    fn from(step: &Step) -> Self {
        Self {
            core: step.into(),
            display_title_ml_text_id: step.display_title_ml_text_id,
            questions: Vec::new(),
            damage_waivers: Vec::new(),
        }
    }
}

/// Returns the schema of a list of damage waivers. A waiver has the form in which
/// `listDamageWaivers` returns it.
pub(super) fn damage_waivers(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "array", "items": RecordKind::DamageWaiver.view_schema() })
}

/// Returns an example of a step: an agreement directly after its creation.
pub(super) fn example() -> Step {
    let id = Uuid::from_u128(0x0192_f0c1_2345_7abc_8def_0123_4567_89ab);
    let mut step = Step::new(
        id,
        StepType::Agreement,
        "House rules".into(),
        Moment(Timestamp::constant(1_795_253_400, 0)),
    );
    step.is_active = true;
    step.sort_order = Some(0);
    step.agreement.agreement_type = Some(AgreementType::Text);
    step
}
