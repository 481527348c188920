//! A guest's submission as the platform reads it. The platform verifies identities, reports guests
//! to authorities and charges deposits. For this work the platform needs settings that no public
//! operation returns, so the submission contains these settings as well.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::operation::Object;
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::acceptance::Acceptance;
use super::decision::Decision;
use super::files::{AddressedFile, with_addresses};
use super::messages::{self, Message};
use super::precheckin::{Precheckin, PrecheckinStatus};
use super::progress::Progress;
use super::setup;
use super::stay::Stay;
use super::step_of_stay::StepOfStay;
use super::stored_answers::{self, SavedAnswers, StoredAnswers};
use crate::precheck::{
    self, FlagAction, Step, StepSettings, StepState, StepType, identity_actions,
};

/// A guest's submission.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Submission {
    status: PrecheckinStatus,
    submitted_at: Option<Moment>,
    /// Time of the staff's decision on the last submission. Null before the decision, and if the
    /// submission was approved without review.
    decided_at: Option<Moment>,
    /// Name of the member or API key that decided.
    decided_by: Option<String>,
    /// Message of the last request for changes.
    message: Option<String>,
    /// Ids of shown steps that are open to the guest again since the last submission.
    open_steps: Vec<Uuid>,
    /// The stay's steps, in guest order, then answered steps that are no longer shown.
    steps: Vec<SubmittedStep>,
    /// The guest's messages, oldest first, up to the limit of a stay; `listGuestMessages` returns
    /// them in pages.
    messages: Vec<Message>,
}

/// A step, its answers, and the settings by which the platform acts on the answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SubmittedStep {
    id: Uuid,
    nickname: String,
    step_type: StepType,
    /// Whether the stay gets the step now. Answers remain stored after the step is no longer shown.
    is_shown: bool,
    /// State of the step.
    state: StepState,
    is_complete: bool,
    /// The guest's answers.
    answers: Option<Object>,
    saved_at: Option<Moment>,
    /// Time and text hash of the acceptance, for an accepted agreement.
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance: Option<Acceptance>,
    /// Progress that another system reported, if that system carries the step out and has sent a
    /// report.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
    /// Files that the guest uploaded in a document upload or an identity check, each with an
    /// address that is valid for 10 minutes. Absent for other steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<AddressedFile>>,
    settings: StepSettings,
    /// For an identity check: by the name of each identity check, such as `guest_underage`, the
    /// action that the step's policy takes if that check finds a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    identity_actions: Option<BTreeMap<&'static str, FlagAction>>,
}

impl SubmittedStep {
    fn new(context: &Context<'_, '_>, stay_step: StepOfStay, is_shown: bool) -> Result<Self> {
        let state = stay_step.state();
        let StepOfStay {
            step,
            stored:
                StoredAnswers {
                    saved,
                    files,
                    report,
                    ..
                },
            ..
        } = stay_step;
        let files = step
            .step_type
            .takes_files()
            .then(|| with_addresses(context, &files))
            .transpose()?;
        let (answers, saved_at, acceptance) = match saved {
            Some(SavedAnswers {
                answers,
                saved_at,
                acceptance,
                ..
            }) => (
                Some(answers),
                Some(saved_at),
                acceptance.map(|stored| stored.proof),
            ),
            None => (None, None, None),
        };
        let step = Arc::unwrap_or_clone(step);
        let identity_actions = step
            .step_type
            .checks_identity()
            .then(|| identity_actions(step.write_only.identity_flag_policy.as_ref()));
        Ok(Self {
            id: step.id,
            nickname: step.nickname.clone(),
            step_type: step.step_type,
            is_shown,
            state,
            is_complete: state == StepState::Done,
            answers,
            saved_at,
            acceptance,
            progress: report.map(|report| report.progress),
            files,
            settings: StepSettings::from(step),
            identity_actions,
        })
    }
}

/// Reads the submission of a reservation's guest.
pub(super) fn read(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<Submission> {
    let (stay, setup) = setup::load_with_setup(context, reservation, None)?;
    let precheckin = Precheckin::load_for(context, &stay, &setup)?;
    let (status, open_steps) = (precheckin.status(), precheckin.open_steps());
    let Precheckin {
        mut steps,
        earlier,
        submitted,
        ..
    } = precheckin;
    // The platform gets the settings of each step as they are stored. No values are filled in for
    // placeholders.
    let stored: HashMap<Uuid, &Arc<Step>> = setup
        .source()
        .steps
        .iter()
        .map(|step| (step.id, step))
        .collect();
    for stay_step in &mut steps {
        if let Some(&step) = stored.get(&stay_step.step.id) {
            stay_step.step = Arc::clone(step);
        }
    }
    let earlier_steps = former_steps(context, &stay, &steps, earlier)?;
    let current_steps = steps.into_iter().map(|stay_step| (stay_step, true));
    let earlier = earlier_steps
        .into_iter()
        .map(|stay_step| (stay_step, false));
    let (submitted_at, decision) = submitted
        .map(|submitted| (submitted.at, submitted.decision))
        .unzip();
    let Decision {
        decided_at,
        decided_by,
        message,
        ..
    } = decision.unwrap_or_default();
    Ok(Submission {
        status,
        submitted_at,
        decided_at,
        decided_by,
        message,
        open_steps,
        steps: current_steps
            .chain(earlier)
            .map(|(stay_step, is_shown)| SubmittedStep::new(context, stay_step, is_shown))
            .collect::<Result<_>>()?,
        messages: messages::latest(context, reservation)?,
    })
}

/// Returns the steps that a guest answered and no longer gets, in the order of their creation.
/// Deleted steps are left out.
pub(super) fn former_steps(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    current_steps: &[StepOfStay],
    mut earlier: HashMap<Uuid, StoredAnswers>,
) -> Result<Vec<StepOfStay>> {
    stored_answers::add_files(context, stay.id, &mut earlier)?;
    let has_storage = stored_answers::has_storage(context);
    let mut steps = Vec::new();
    for (id, stored_answers_of_step) in earlier {
        if stored_answers_of_step.has_guest_input()
            && current_steps
                .iter()
                .all(|stay_step| stay_step.step.id != id)
        {
            let step = precheck::step_by_id(context, id)?;
            steps.extend(step.map(|step| {
                StepOfStay::new(Arc::new(step), stored_answers_of_step, stay, has_storage)
            }));
        }
    }
    steps.sort_by_key(|stay_step| stay_step.step.created_at);
    Ok(steps)
}
