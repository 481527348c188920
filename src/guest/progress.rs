//! How a step of a stay stands that another system carries out, as the platform says (contract: Steps that are really done).

use engine::context::Context;
use engine::error::{Error, Result};
use engine::field::Cents;
use engine::moment::Moment;
use engine::operation::Operation;
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Json;
use uuid::Uuid;

use crate::precheck;
use crate::records::{Kind, get_record};

store::statements! {
    /// How a step of a stay stands.
    PROGRESS = "select doc, updated_at from step_progress where organization_id = ?1 and reservation_id = ?2 and step_id = ?3";
    /// Notes how it stands.
    PUT_PROGRESS = "insert into step_progress (organization_id, reservation_id, step_id, updated_at, doc) values (?1, ?2, ?3, ?4, ?5)
        on conflict (organization_id, reservation_id, step_id) do update set updated_at = excluded.updated_at, doc = excluded.doc";
    /// Forgets what was said of the stays of these reservations.
    FORGET_PROGRESS = "delete from step_progress where organization_id = ?1 and reservation_id = any(?2)";
}

/// Where a step stands that another system carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum ProgressStatus {
    Pending,
    ActionRequired,
    Completed,
    Failed,
}

/// How a step stands that another system carries out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Where it stands.
    pub status: ProgressStatus,
    /// Where the guest goes on, an https address.
    #[serde(default)]
    pub action_url: Option<String>,
    /// What the guest is told.
    #[serde(default)]
    pub message: Option<String>,
    /// What it is about in money, in cents.
    #[serde(default)]
    pub amount_cents: Option<u64>,
    /// ISO 4217 code of that.
    #[serde(default)]
    pub currency: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "status": "action_required", "actionUrl": "https://verify.example.com/s/1", "message": "Please take a photo." }))]
struct SetProgress {
    /// Id of the organization that the reservation is of.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the reservation whose step it is; an unknown one is a 404.
    reservation_id: Uuid,
    /// Id of the step, an unknown one is a 404. Of a type that another system carries out: `identity_check`, `background_check`,
    /// `authority_reporting`, `mandatory_fee`, `damage_deposit`, `screen_and_protect`, or an `agreement` signed electronically.
    step_id: Uuid,
    /// How the step stands: `pending`, `action_required` while the guest has to go on, `completed`, which alone completes the step, or
    /// `failed`.
    status: ProgressStatus,
    /// Where the guest goes on, an absolute https URL. Null or left out: nowhere.
    #[serde(default)]
    #[schemars(length(max = 2048), extend("format" = "https-url"))]
    action_url: Option<String>,
    /// What the guest is told about it, 1 to 2000 characters and not blank. Null or left out: nothing.
    #[serde(default)]
    #[schemars(length(min = 1, max = 2000), extend("pattern" = "\\S"))]
    message: Option<String>,
    /// The amount that it is about, in cents of `currency`. Null or left out: none.
    #[serde(default)]
    amount_cents: Option<Cents>,
    /// Currency of `amountCents`, an ISO 4217 code such as `EUR`. Null or left out: not said.
    #[serde(default)]
    #[schemars(length(min = 3, max = 3), extend("pattern" = "^[A-Z]{3}$"))]
    currency: Option<String>,
}

/// How a step stands, and since when.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StepProgress {
    step_id: Uuid,
    #[serde(flatten)]
    progress: Progress,
    /// When that last changed.
    updated_at: Moment,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform("setStepProgress", Method::PUT, "/organizations/{organizationId}/reservations/{reservationId}/steps/{stepId}")
            .summary("Say how a step stands that another system carries out")
            .touches_stream()
            .run(set),
    ]
}

/// 404 for what is not there, 400 for a step that the guest carries out alone. What is said again as it stands changes nothing.
fn set(context: &mut Context<'_, '_>, input: SetProgress) -> Result<StepProgress> {
    let SetProgress { reservation_id, step_id, status, action_url, message, amount_cents, currency, .. } = input;
    get_record(context, Kind::Reservation, reservation_id)?;
    let step = precheck::one(context, step_id)?.ok_or_else(|| Error::not_found("Step"))?;
    if !step.is_carried_out_elsewhere() {
        return Err(Error::invalid(&["stepId"], "is no step that another system carries out"));
    }
    let progress = Progress { status, action_url, message, amount_cents: amount_cents.map(|cents| cents.0), currency };
    let now = context.now();
    let before = context.row(&PROGRESS, values![reservation_id, step_id])?;
    let updated_at = match before {
        Some(row) => {
            let (Json(said), at): (Json<Progress>, _) = (row.get(0)?, Moment(row.get(1)?));
            if said == progress {
                return Ok(StepProgress { step_id, progress, updated_at: at });
            }
            at.advanced_to(now)
        }
        None => Moment(now),
    };
    context.execute_along(&PUT_PROGRESS, values![reservation_id, step_id, updated_at, store::Value::json(&progress)?])?;
    Ok(StepProgress { step_id, progress, updated_at })
}

/// Forgets what was said of the stays of deleted reservations.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_along(&FORGET_PROGRESS, values![reservations])
}
