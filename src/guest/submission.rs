//! What a guest has handed in, for the platform that acts on it: it verifies identities, files with authorities, charges
//! deposits, and its staff read the answers. So it also gets the settings that no public read returns.

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
use super::decision::{Decision, Hold};
use super::files::{AddressedFile, addressed};
use super::messages::{self, Message};
use super::precheckin::{self, Asked, Given, Precheckin, PrecheckinStatus, Saved};
use super::progress::Progress;
use super::setup::Which;
use super::stay::Stay;
use crate::precheck::{self, FlagAction, StepSettings, StepType, identity_actions};

/// What a guest has handed in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Submission {
    status: PrecheckinStatus,
    submitted_at: Option<Moment>,
    /// When staff decided on what was submitted last; null while they have not, and where it was approved without them.
    decided_at: Option<Moment>,
    /// The name of the member or API key who decided.
    decided_by: Option<String>,
    /// What the guest was last asked to change.
    message: Option<String>,
    /// The steps the stay gets, in guest order, and after them those that were answered and are no longer shown.
    steps: Vec<SubmittedStep>,
    /// What the guest wrote, oldest first, as much as a guest may write; `listGuestMessages` pages it.
    messages: Vec<Message>,
}

/// A step, what was answered to it, and how it is to be acted on.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SubmittedStep {
    id: Uuid,
    nickname: String,
    step_type: StepType,
    /// Whether the stay gets it now. What was answered before it no longer did is kept.
    is_shown: bool,
    is_complete: bool,
    /// As the guest sent them.
    answers: Option<Object>,
    saved_at: Option<Moment>,
    /// When the guest accepted and what the text said, for an agreement that is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance: Option<Acceptance>,
    /// How it stands with the system that carries it out, where that has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
    /// What was handed in with it, for document uploads and identity checks, each with an address that is good for 10 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<AddressedFile>>,
    settings: StepSettings,
    /// What each identity check leads to, for an identity check.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    identity_actions: Option<BTreeMap<&'static str, FlagAction>>,
}

impl SubmittedStep {
    fn new(context: &Context<'_, '_>, asked: Asked, is_shown: bool) -> Result<Self> {
        let is_complete = asked.is_complete();
        let Asked { step, given: Given { saved, files, progress }, .. } = asked;
        let files = step.step_type.takes_files().then(|| addressed(context, &files)).transpose()?;
        let (answers, saved_at, acceptance) = match saved {
            Some(Saved { answers, saved_at, acceptance }) => (Some(answers), Some(saved_at), acceptance),
            None => (None, None, None),
        };
        let step = Arc::unwrap_or_clone(step);
        let identity_actions =
            (step.step_type == StepType::IdentityCheck).then(|| identity_actions(step.write_only.identity_flag_policy.as_ref()));
        Ok(Self {
            id: step.id,
            nickname: step.nickname.clone(),
            step_type: step.step_type,
            is_shown,
            is_complete,
            answers,
            saved_at,
            acceptance,
            progress,
            files,
            settings: StepSettings::from(step),
            identity_actions,
        })
    }
}

/// What the guest of a reservation has handed in.
pub(super) fn read(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<Submission> {
    let stay = Stay::load(context, reservation)?;
    let steps = stay.flat.as_deref().map(|flat| precheckin::reaching(context, flat, Which::Active)).transpose()?.unwrap_or_default();
    let precheckin = Precheckin::load(context, &stay, &steps)?;
    let status = precheckin.status();
    let Precheckin { steps, earlier, submitted, .. } = precheckin;
    let earlier_steps = answered_earlier(context, &stay, &steps, earlier)?;
    let shown = steps.into_iter().map(|asked| (asked, true));
    let earlier = earlier_steps.into_iter().map(|asked| (asked, false));
    let (submitted_at, decision) = submitted.map(|submitted| (submitted.at, submitted.decision)).unzip();
    let Decision { decided_at, decided_by, message, .. } = decision.unwrap_or_default();
    Ok(Submission {
        status,
        submitted_at,
        decided_at,
        decided_by,
        message,
        steps: shown.chain(earlier).map(|(asked, is_shown)| SubmittedStep::new(context, asked, is_shown)).collect::<Result<_>>()?,
        messages: messages::latest(context, reservation)?,
    })
}

/// The steps that a guest has answered and no longer gets, by creation; those that were deleted are left out.
pub(super) fn answered_earlier(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    shown: &[Asked],
    mut earlier: HashMap<Uuid, Given>,
) -> Result<Vec<Asked>> {
    precheckin::add_files(context, stay.id, &mut earlier)?;
    let mut steps = Vec::new();
    for (id, given) in earlier {
        if given.is_of_guest() && shown.iter().all(|asked| asked.step.id != id) {
            let step = precheck::one(context, id)?;
            steps.extend(step.map(|step| Asked::new(Arc::new(step), given, stay, Hold::Submitted)));
        }
    }
    steps.sort_by_key(|asked| asked.step.created_at);
    Ok(steps)
}
