//! What a guest has handed in, for the platform that acts on it: it verifies identities, files with authorities, charges
//! deposits, and its staff read the answers. So it also gets the settings that no public read returns.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::operation::Object;
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::acceptance::Acceptance;
use super::messages::{self, Message};
use super::precheckin::{self, Asked, Precheckin, PrecheckinStatus, Saved};
use super::progress::Progress;
use super::stay::Stay;
use crate::precheck::{self, FlagAction, StepSettings, StepType, identity_actions};

/// What a guest has handed in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Submission {
    status: PrecheckinStatus,
    submitted_at: Option<Moment>,
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
    settings: StepSettings,
    /// What each identity check leads to, for an identity check.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    identity_actions: Option<BTreeMap<&'static str, FlagAction>>,
}

impl SubmittedStep {
    fn new(asked: Asked, is_shown: bool) -> Self {
        let is_complete = asked.is_complete();
        let Asked { step, answers: saved, progress, .. } = asked;
        let (answers, saved_at, acceptance) = match saved {
            Some(Saved { answers, saved_at, acceptance }) => (Some(answers), Some(saved_at), acceptance),
            None => (None, None, None),
        };
        let step = Arc::unwrap_or_clone(step);
        let identity_actions =
            (step.step_type == StepType::IdentityCheck).then(|| identity_actions(step.write_only.identity_flag_policy.as_ref()));
        Self {
            id: step.id,
            nickname: step.nickname.clone(),
            step_type: step.step_type,
            is_shown,
            is_complete,
            answers,
            saved_at,
            acceptance,
            progress,
            settings: StepSettings::from(step),
            identity_actions,
        }
    }
}

/// What the guest of a reservation has handed in.
pub(super) fn read(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<Submission> {
    let stay = Stay::load(context, reservation)?;
    let steps = stay.flat.as_deref().map(|flat| precheckin::reaching(context, flat)).transpose()?.unwrap_or_default();
    let precheckin = Precheckin::load(context, &stay, &steps)?;
    let status = precheckin.status();
    let Precheckin { steps, earlier, mut said, submitted, .. } = precheckin;
    let mut earlier_steps = Vec::new();
    for (id, saved) in earlier {
        let step = precheck::one(context, id)?;
        earlier_steps.extend(step.map(|step| Asked::new(Arc::new(step), Some(saved), said.remove(&id), &stay)));
    }
    earlier_steps.sort_by_key(|asked| asked.step.created_at);
    let shown = steps.into_iter().map(|asked| SubmittedStep::new(asked, true));
    let earlier = earlier_steps.into_iter().map(|asked| SubmittedStep::new(asked, false));
    Ok(Submission {
        status,
        submitted_at: submitted.map(|(_, at)| at),
        steps: shown.chain(earlier).collect(),
        messages: messages::latest(context, reservation)?,
    })
}
