//! The progress of steps that other systems carry out, as the platform reports it (rules:
//! pre-check-in#other-systems). `precheck/state.rs` derives the state of a step from the last
//! report.

use engine::context::Context;
use engine::error::{Error, Result};
use engine::field::{Cents, Text200};
use engine::moment::Moment;
use engine::operation::Operation;
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Json;
use uuid::Uuid;

use super::precheckin::Precheckin;
use super::setup;
use super::stored_answers;
use crate::precheck::{
    self, IdentityVerdict, RETAKE_LIMIT, Step, StepProvider, StepReport, StepType,
};
use crate::records::{RecordKind, get_record};

store::statements! {
    /// Selects the progress of a step of a stay.
    PROGRESS = "select doc, updated_at from step_progress where organization_id = ?1
        and reservation_id = ?2 and step_id = ?3";
    /// Saves the progress of a step of a stay.
    PUT_PROGRESS = "insert into step_progress
        (organization_id, reservation_id, step_id, updated_at, doc) values (?1, ?2, ?3, ?4, ?5)
        on conflict (organization_id, reservation_id, step_id) do update
        set updated_at = excluded.updated_at, doc = excluded.doc";
    /// Deletes the progress of deleted reservations.
    FORGET_PROGRESS = "delete from step_progress where organization_id = ?1
        and reservation_id = any(?2)";
}

/// Status of a step that another system carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgressStatus {
    Pending,
    ActionRequired,
    Completed,
    Failed,
}

/// State of a step that another system carries out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Status that the system reported.
    pub status: ProgressStatus,
    /// Https address where the guest continues.
    #[serde(default)]
    pub action_url: Option<String>,
    /// Message to the guest.
    #[serde(default)]
    pub message: Option<String>,
    /// Amount of money that the system reported with the status, in cents.
    #[serde(default)]
    pub amount_cents: Option<u64>,
    /// ISO 4217 code of the amount's currency.
    #[serde(default)]
    pub currency: Option<String>,
}

/// The last report of the system that carries a step out, as it is stored. It includes the
/// consequences of the report, such as a retake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProgressReport {
    #[serde(flatten)]
    pub progress: Progress,
    /// The names of the identity checks that found a problem, as the platform reported them.
    #[serde(default)]
    pub checks: Vec<String>,
    /// The sentences in the report that are meant for the host's team. Each sentence becomes a flag
    /// of the submission.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The names of the identity checks for which this report flags the submission. The step's
    /// policy at the time of the report decided which checks do so.
    #[serde(default)]
    pub raised: Vec<String>,
    /// Whether this report returns the step to the guest for a retake.
    #[serde(default)]
    pub is_returned: bool,
    /// Whether this report or an earlier one has returned the step to the guest.
    #[serde(default)]
    pub is_retaken: bool,
}

impl ProgressReport {
    /// Builds a report about a step. `before` is the previous report. If `flags` is `None`, the new
    /// report gets the flags of the previous report.
    fn new(
        step: &Step,
        progress: Progress,
        checks: Vec<String>,
        flags: Option<Vec<String>>,
        before: Option<&Self>,
    ) -> Self {
        let is_retaken = before.is_some_and(|before| before.is_retaken);
        let verdict = if step.step_type.checks_identity() {
            let has_failed = progress.status == ProgressStatus::Failed;
            let policy = step.write_only.identity_flag_policy.as_ref();
            precheck::identity_verdict(&checks, has_failed, policy, is_retaken)
        } else {
            IdentityVerdict::Passed
        };
        let is_returned = verdict == IdentityVerdict::Returned;
        let raised = match verdict {
            IdentityVerdict::Flagged(raised) => raised.into_iter().map(str::to_owned).collect(),
            IdentityVerdict::Passed | IdentityVerdict::Returned => Vec::new(),
        };
        let earlier = || before.map(|before| before.flags.clone());
        Self {
            progress,
            checks,
            flags: flags.or_else(earlier).unwrap_or_default(),
            raised,
            is_returned,
            is_retaken: is_retaken || is_returned,
        }
    }

    /// Returns whether the guest failed the identity check again, after the service had asked the
    /// guest to repeat it.
    pub(super) fn has_reached_retake_limit(&self) -> bool {
        self.raised.iter().any(|check| check == RETAKE_LIMIT)
    }

    /// Returns the result of the report for a step of this type. `is_handed_in_again` is true if
    /// the guest has uploaded a file since the report.
    pub(super) fn reported(&self, step_type: StepType, is_handed_in_again: bool) -> StepReport {
        let is_check = match step_type.step_provider() {
            StepProvider::IdentityCheck | StepProvider::BackgroundCheck => true,
            StepProvider::Service
            | StepProvider::ServiceOrSignatureProvider
            | StepProvider::AnotherSystem => false,
        };
        match self.progress.status {
            _ if self.is_returned && is_handed_in_again => StepReport::HandedInAgain,
            _ if self.is_returned => StepReport::Returned,
            _ if !self.raised.is_empty() => StepReport::Result,
            ProgressStatus::Pending => StepReport::Pending,
            ProgressStatus::ActionRequired => StepReport::ActionRequired,
            ProgressStatus::Completed => StepReport::Result,
            ProgressStatus::Failed if is_check => StepReport::Result,
            ProgressStatus::Failed => StepReport::Failed,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "status": "action_required",
    "actionUrl": "https://verify.example.com/s/1",
    "message": "Please take a photo.",
}))]
struct SetProgress {
    /// Id of the reservation's organization.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the step's reservation; an unknown id is a 404.
    reservation_id: Uuid,
    /// Id of the step; an unknown id is a 404. Another system must carry out the step:
    /// `identity_check`, `background_check`, `authority_reporting`, `mandatory_fee`,
    /// `damage_deposit`, `screen_and_protect`, or an `agreement` signed electronically.
    step_id: Uuid,
    /// Status of the step: `pending`, `action_required` while the guest must act, `completed`, or
    /// `failed`. A failed `background_check` is completed and flags the submission. A
    /// failed `identity_check` whose report has no `checks` counts as failed in the check
    /// `verification_unavailable`. For any other failed step, the guest must act.
    status: ProgressStatus,
    /// The page of the other system on which the guest continues the step, as an absolute https
    /// URL. Null or left out: none.
    #[serde(default)]
    #[schemars(length(max = 2048), extend("format" = "https-url"))]
    action_url: Option<String>,
    /// Message to the guest, 1 to 2000 characters and not blank. Null or left out: none.
    #[serde(default)]
    #[schemars(length(min = 1, max = 2000), extend("format" = "not-blank"))]
    message: Option<String>,
    /// Amount of money that belongs to the status, such as an amount to pay, in cents of
    /// `currency`. Null or left out: none.
    #[serde(default)]
    amount_cents: Option<Cents>,
    /// Currency of `amountCents`, an ISO 4217 code such as `EUR`. Null or left out: none.
    #[serde(default)]
    #[schemars(length(min = 3, max = 3), extend("pattern" = "^[A-Z]{3}$"))]
    currency: Option<String>,
    /// Names of the checks of `identityFlagPolicy` that found a problem, only for `identity_check`.
    /// The policy's `review` for a check completes the step and flags the submission. `fail`
    /// returns the step to the guest once; the second failure flags the submission with
    /// `retake_limit`. Null or left out: none.
    #[serde(default)]
    #[schemars(schema_with = "precheck::check_list")]
    checks: Option<Vec<String>>,
    /// Sentences that flag the submission for the team, at most 10. Null or left out: the sentences
    /// of the previous report remain; `[]` removes them.
    #[serde(default)]
    #[schemars(length(max = 10))]
    flags: Option<Vec<Text200>>,
}

/// State of a step, and the time of its last change.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StepProgress {
    step_id: Uuid,
    #[serde(flatten)]
    progress: Progress,
    /// Names of the identity checks that found a problem.
    checks: Vec<String>,
    /// Sentences for the team. Each sentence flags the submission.
    flags: Vec<String>,
    /// Time of the last change.
    updated_at: Moment,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform(
            "setStepProgress",
            Method::PUT,
            "/organizations/{organizationId}/reservations/{reservationId}/steps/{stepId}",
        )
        .summary("Say how a step stands that another system carries out")
        .touches_stream()
        .run(set),
    ]
}

/// Sets the progress of a step. Fails with 404 for a missing reservation or step. Fails with 400
/// for a step that the guest completes alone, and for `checks` of a step that is no identity check.
/// A report that equals the stored one changes nothing.
fn set(context: &mut Context<'_, '_>, input: SetProgress) -> Result<StepProgress> {
    let SetProgress {
        reservation_id,
        step_id,
        status,
        action_url,
        message,
        amount_cents,
        currency,
        checks,
        flags,
        ..
    } = input;
    get_record(context, RecordKind::Reservation, reservation_id)?;
    let step = precheck::step_by_id(context, step_id)?.ok_or_else(|| Error::not_found("Step"))?;
    if !step.is_carried_out_elsewhere() {
        return Err(Error::invalid(
            &["stepId"],
            "is not a step that another system carries out",
        ));
    }
    let checks = checks.unwrap_or_default();
    if !checks.is_empty() && !step.step_type.checks_identity() {
        return Err(Error::invalid(
            &["checks"],
            "is for a step of type identity_check",
        ));
    }
    let progress = Progress {
        status,
        action_url,
        message,
        amount_cents: amount_cents.map(|cents| cents.0),
        currency,
    };
    let flags = flags.map(|flags| flags.into_iter().map(|flag| flag.0).collect());
    let before = context
        .row(&PROGRESS, values![reservation_id, step_id])?
        .map(|row| {
            let Json(report) = row.get(0)?;
            Ok::<(ProgressReport, Moment), Error>((report, Moment(row.get(1)?)))
        })
        .transpose()?;
    let last = before.as_ref().map(|(report, _)| report);
    let report = ProgressReport::new(&step, progress, checks, flags, last);
    let updated_at = match &before {
        Some((last, at)) if *last == report => {
            return Ok(StepProgress::new(step_id, report, *at));
        }
        Some((_, at)) => at.advanced_to(context.now()),
        None => Moment(context.now()),
    };
    let submitted = if stored_answers::submission(context, reservation_id)?.is_some() {
        let (stay, setup) = setup::load_with_setup(context, reservation_id, None)?;
        let precheckin = Precheckin::load(context, &stay, &setup.steps)?;
        Some((stay, precheckin))
    } else {
        None
    };
    let doc = store::Value::json(&report)?;
    context.execute_deferred(
        &PUT_PROGRESS,
        values![reservation_id, step_id, updated_at, doc],
    )?;
    precheck::mark_used(context, step_id)?;
    if let Some((stay, mut precheckin)) = submitted {
        precheckin.apply_report(context, &stay, step_id, report.clone(), updated_at)?;
    }
    Ok(StepProgress::new(step_id, report, updated_at))
}

impl StepProgress {
    fn new(step_id: Uuid, report: ProgressReport, updated_at: Moment) -> Self {
        let ProgressReport {
            progress,
            checks,
            flags,
            ..
        } = report;
        Self {
            step_id,
            progress,
            checks,
            flags,
            updated_at,
        }
    }
}

/// Deletes the progress of deleted reservations.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_deferred(&FORGET_PROGRESS, values![reservations])
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn the_description_of_a_report_names_the_types_that_another_system_carries_out() {
        let schema = schemars::schema_for!(SetProgress).to_value();
        let description = schema["properties"]["stepId"]["description"].as_str();
        let description = description.unwrap();
        for step_type in StepType::VARIANTS {
            let is_possible = match step_type.step_provider() {
                StepProvider::AnotherSystem
                | StepProvider::IdentityCheck
                | StepProvider::BackgroundCheck
                | StepProvider::ServiceOrSignatureProvider => true,
                StepProvider::Service => false,
            };
            let name: &str = step_type.as_ref();
            let is_named = description.contains(&format!("`{name}`"));
            assert_eq!(is_named, is_possible, "{name}");
        }
    }
}
