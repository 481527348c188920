//! Pre-check-in of one stay: its steps, the guest's answers and its status (rules: pre-check-in;
//! submissions#status). `openness.rs` decides which steps a guest may save, `stored_answers.rs`
//! reads the stored answers, and `review.rs` has the decisions of staff.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use engine::context::Context;
use engine::error::{Error, Issue, Reason, Result};
use engine::moment::Moment;
use engine::operation::Object;
use engine::values;
use jiff::Timestamp;
use uuid::Uuid;

use super::acceptance::{self, StoredAcceptance};
use super::bounds;
use super::decision::{Decision, StoredSubmission};
use super::flags::{self, StoredFlag};
use super::openness::{self, StayStage};
use super::progress::ProgressReport;
use super::review;
use super::setup::{GuestSetup, SetupScope, length_of};
use super::stay::{Stay, StayFlat};
use super::step_of_stay::StepOfStay;
use super::step_view::{StepView, agreement_text};
use super::stored_answers::{
    SavedAnswers, StoredAnswers, add_files, has_storage, load_answers, submission,
};
use crate::portals::Portal;
use crate::precheck::{
    self, AnswerContext, AnswerForm, MergeContext, SortKey, Step, StepReport, StepState,
};
use crate::scopes::{self, EntityType};

store::statements! {
    /// Inserts or replaces the saved answers to a step.
    PUT_ANSWER = "insert into precheck_answer
        (organization_id, reservation_id, step_id, saved_at, doc, acceptance)
        values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (organization_id, reservation_id, step_id) do update
        set saved_at = excluded.saved_at, doc = excluded.doc,
        acceptance = excluded.acceptance";
    /// Inserts the submission of a stay, or replaces the previous submission.
    SUBMIT = "insert into precheckin (organization_id, reservation_id, status, submitted_at,
        property_id, doc)
        values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (organization_id, reservation_id) do update
        set status = excluded.status, submitted_at = excluded.submitted_at,
        property_id = excluded.property_id, doc = excluded.doc";
}

engine::stored_enum! {
    /// Status of a guest's pre-check-in.
    pub enum PrecheckinStatus {
        /// Nothing has been answered yet.
        NotStarted,
        /// The guest has saved data for a step, but has not submitted the pre-check-in.
        InProgress,
        /// Waiting for staff review.
        InReview,
        /// Staff asked the guest for changes to some steps of the pre-check-in.
        ChangesRequested,
        /// The submission is approved, by staff or without a review.
        Approved,
    }
}

impl PrecheckinStatus {
    /// Returns whether the guest has submitted and staff request no changes.
    #[must_use]
    pub const fn is_submitted(self) -> bool {
        matches!(self, Self::InReview | Self::Approved)
    }
}

/// The pre-check-in of one stay: its steps with their stored data, and its submission.
pub(super) struct Precheckin {
    /// Whether the portal has pre-check-in enabled and the stay is not cancelled.
    pub is_enabled: bool,
    /// The steps that the stay gets, in the order in which the guest sees them.
    pub steps: Vec<StepOfStay>,
    /// Stored data of steps that are not in `steps`, because the stay does not get them now. The
    /// key is the id of the step.
    pub earlier: HashMap<Uuid, StoredAnswers>,
    /// The length of the stay in nights.
    pub nights: i64,
    /// The submission and its review; `None` before the first submission.
    pub submitted: Option<StoredSubmission>,
    /// The stage of the stay at the time of the view.
    stage: StayStage,
}

impl Precheckin {
    /// Loads the pre-check-in of a stay. `steps` are the steps that are assigned to the flat, as
    /// returned by [`steps_reaching`].
    pub(super) fn load(
        context: &mut Context<'_, '_>,
        stay: &Stay,
        steps: &[Arc<Step>],
    ) -> Result<Self> {
        let mut answers_by_step = load_answers(context, stay.id)?;
        if steps.iter().any(|step| step.step_type.takes_files()) {
            add_files(context, stay.id, &mut answers_by_step)?;
        }
        let submitted = submission(context, stay.id)?;
        let stored = StoredPrecheckin {
            answers_by_step,
            submitted,
            has_storage: has_storage(context),
        };
        Ok(Self::of(stay, steps, stored).at(stay, context.now()))
    }

    /// Loads the pre-check-in of a stay. Compares the saved choices and the accepted texts with the
    /// offered choices and the current texts in `setup`.
    pub(super) fn load_for(
        context: &mut Context<'_, '_>,
        stay: &Stay,
        setup: &GuestSetup,
    ) -> Result<Self> {
        let mut precheckin = Self::load(context, stay, &setup.steps)?;
        precheckin.compare(context, stay, setup)?;
        Ok(precheckin)
    }

    /// Builds the pre-check-in of a stay for an item of a list. The calling function has read the
    /// answers, the files and the submissions of all stays in the list at once.
    pub(super) fn of_list(
        context: &mut Context<'_, '_>,
        stay: &Stay,
        setup: &GuestSetup,
        answers_by_step: HashMap<Uuid, StoredAnswers>,
        submitted: StoredSubmission,
    ) -> Result<Self> {
        let stored = StoredPrecheckin {
            answers_by_step,
            submitted: Some(submitted),
            has_storage: has_storage(context),
        };
        let mut precheckin = Self::of(stay, &setup.steps, stored).at(stay, context.now());
        precheckin.compare(context, stay, setup)?;
        Ok(precheckin)
    }

    /// Compares the guest's deposit choices with the choices that the steps offer now, and the
    /// accepted agreement texts with the current texts. Marks the steps in which the guest must
    /// choose or accept again. A submitted choice or acceptance stays valid. If a step offered no
    /// choices at the submission and offers some now, the guest must choose.
    fn compare(
        &mut self,
        context: &mut Context<'_, '_>,
        stay: &Stay,
        setup: &GuestSetup,
    ) -> Result<()> {
        let (nights, submitted) = (self.nights, self.submitted.as_ref());
        for stay_step in &mut self.steps {
            let (step, given_at) = (&stay_step.step, stay_step.stored.last_input_at());
            let is_submitted = openness::is_submitted(submitted, step.id, given_at);
            let saved = stay_step.stored.saved.as_ref();
            if let Some(accepted) = saved.and_then(|saved| saved.acceptance.as_ref()) {
                stay_step.is_text_current =
                    acceptance::is_current(context, stay, (step, setup), accepted)?;
            }
            stay_step.is_text_changed = !is_submitted && !stay_step.is_text_current;
            let is_kept = is_submitted && stay_step.has_chosen_deposit();
            stay_step.is_choice_missing = !is_kept && stay_step.lacks_offered_choice(setup, nights);
        }
        Ok(())
    }

    /// Returns the same pre-check-in, but with the stage that the stay has at the time `at`.
    pub(super) fn at(mut self, stay: &Stay, at: Timestamp) -> Self {
        self.stage = StayStage::of(stay, at);
        self
    }

    /// Builds the pre-check-in of a stay for which nothing is stored.
    pub(super) fn unanswered(context: &Context<'_, '_>, stay: &Stay, steps: &[Arc<Step>]) -> Self {
        let stored = StoredPrecheckin {
            answers_by_step: HashMap::new(),
            submitted: None,
            has_storage: has_storage(context),
        };
        Self::of(stay, steps, stored)
    }

    fn of(stay: &Stay, steps: &[Arc<Step>], stored: StoredPrecheckin) -> Self {
        let StoredPrecheckin {
            mut answers_by_step,
            submitted,
            has_storage,
        } = stored;
        let is_enabled = !stay.is_cancelled()
            && stay
                .portal()
                .is_some_and(|portal| portal.is_precheckin_enabled);
        let targeting_input = stay.targeting_input();
        let relevant_steps = steps.iter().filter(|step| {
            is_enabled && precheck::decide(&step.targeting, &targeting_input).is_shown()
        });
        let stay_step = |step: &Arc<Step>| {
            let answers_of_step = answers_by_step.remove(&step.id).unwrap_or_default();
            StepOfStay::new(step.clone(), answers_of_step, stay, has_storage)
        };
        let steps = relevant_steps.map(stay_step).collect();
        let nights = precheck::days_between(targeting_input.check_in, targeting_input.check_out);
        Self {
            is_enabled,
            steps,
            earlier: answers_by_step,
            nights,
            submitted,
            stage: StayStage::Ahead,
        }
    }

    pub(super) fn status(&self) -> PrecheckinStatus {
        match &self.submitted {
            Some(submitted) => submitted.status,
            None if self
                .steps
                .iter()
                .any(|stay_step| stay_step.stored.has_guest_input()) =>
            {
                PrecheckinStatus::InProgress
            }
            None => PrecheckinStatus::NotStarted,
        }
    }

    /// Returns the ids of the steps that are open again after a submission, in the order in which
    /// the guest sees them.
    pub(super) fn open_steps(&self) -> Vec<Uuid> {
        let steps = self.steps.iter().map(StepOfStay::open_step_input);
        openness::open_steps(self.submitted.as_ref(), steps, self.stage)
    }

    /// Returns whether the guest may save a step now.
    pub(super) fn is_open(&self, stay_step: &StepOfStay) -> bool {
        openness::is_open(
            self.submitted.as_ref(),
            stay_step.open_step_input(),
            self.stage,
        )
    }

    /// Returns whether the guest can submit now: for the first time, after a request for changes,
    /// or because steps are open again.
    fn may_submit(&self) -> bool {
        self.submitted
            .as_ref()
            .is_none_or(|submitted| submitted.request().is_some())
            || !self.open_steps().is_empty()
    }

    /// Submits the pre-check-in. Fails with 409 if a step is not complete or if the stay has no
    /// steps. A second submission also fails with 409, unless staff requested changes or a step is
    /// open again.
    pub(super) fn submit(&mut self, context: &mut Context<'_, '_>, stay: &Stay) -> Result<()> {
        self.require_open(None)?;
        if self.steps.is_empty() {
            return Err(Error::conflict(Reason::rule(
                "nothing_to_submit",
                "This stay is asked for nothing, so there is nothing to submit.",
            )));
        }
        let missing = self
            .steps
            .iter()
            .filter(|stay_step| !stay_step.state().is_ready())
            .count();
        if missing > 0 {
            return Err(Error::conflict(format!(
                "{missing} of the steps are not complete yet."
            )));
        }
        let raised = flags::raised_flags(&self.steps, stay.reservation.check_in);
        let status = self.outcome(stay, &raised);
        // If the clock went back after the latest answer was saved, the submission gets the time of
        // that answer. With an earlier time, the answer would look like one that was saved after
        // the submission.
        let input_times = self
            .steps
            .iter()
            .filter_map(|stay_step| stay_step.stored.last_input_at());
        let now = Moment(context.now());
        let at = input_times.max().map_or(now, |latest| latest.max(now));
        let decision = self
            .submitted
            .take()
            .map(|before| before.decision.into_resubmitted())
            .unwrap_or_default();
        let decision = Decision {
            flags: raised,
            ..decision
        };
        let doc = store::Value::json(&decision)?;
        context.execute_deferred(
            &SUBMIT,
            values![
                stay.id,
                status.as_ref(),
                at,
                stay.reservation.property_id,
                doc
            ],
        )?;
        self.submitted = Some(StoredSubmission {
            status,
            at,
            decision,
        });
        Ok(())
    }

    /// Returns the status that a submission with these flags gets.
    fn outcome(&self, stay: &Stay, raised: &[StoredFlag]) -> PrecheckinStatus {
        let is_waiting = self.steps.iter().any(|stay_step| {
            matches!(
                stay_step.state(),
                StepState::Pending | StepState::ActionRequired
            )
        });
        let input = ReviewInput {
            is_waiting,
            is_reviewed: stay
                .portal()
                .is_none_or(|portal| portal.is_manual_review_enabled),
            has_reviewable: self
                .steps
                .iter()
                .any(|stay_step| stay_step.step.step_type.is_reviewable()),
            is_flagged: !flags::all_flags(&self.steps, raised).is_empty(),
        };
        input.outcome()
    }

    /// Returns the flags of the stored submission, and the flags that other systems reported.
    pub(super) fn flags(&self) -> Vec<StoredFlag> {
        let submitted = self.submitted.as_ref();
        let stored = submitted.map(|submitted| submitted.decision.flags.as_slice());
        flags::all_flags(&self.steps, stored.unwrap_or_default())
    }

    /// Updates the submission after a new report about a step. If the report returns the step to
    /// the guest, the status of the submission becomes `changes_requested`. If the report was the
    /// last missing result and the submission needs no review, the submission is approved.
    pub(super) fn apply_report(
        &mut self,
        context: &mut Context<'_, '_>,
        stay: &Stay,
        step: Uuid,
        report: ProgressReport,
        at: Moment,
    ) -> Result<()> {
        let Some(stay_step) = self
            .steps
            .iter_mut()
            .find(|stay_step| stay_step.step.id == step)
        else {
            return Ok(());
        };
        let before = stay_step.state();
        (stay_step.stored.report, stay_step.stored.reported_at) = (Some(report), Some(at));
        let after = stay_step.state();
        let is_returned = stay_step.reported() == Some(StepReport::Returned);
        let Some(submitted) = &self.submitted else {
            return Ok(());
        };
        let earlier = &submitted.decision;
        let is_now_done = before != StepState::Done && after == StepState::Done;
        let (status, decision) = if submitted.status.is_submitted() && is_returned {
            let decision = Decision {
                requested_step_ids: vec![step],
                flags: earlier.flags.clone(),
                ..Decision::default()
            };
            (PrecheckinStatus::ChangesRequested, decision)
        } else if submitted.status == PrecheckinStatus::InReview
            && is_now_done
            && self.outcome(stay, &earlier.flags) == PrecheckinStatus::Approved
        {
            (PrecheckinStatus::Approved, earlier.clone())
        } else {
            return Ok(());
        };
        review::put_decision(context, stay.id, status, &decision)
    }

    /// Checks that the guest may save `step`, or that the guest may submit if `step` is `None`.
    /// Fails with 403 if pre-check-in is switched off. Fails with 409 after the stay, for a step
    /// that is not open, and for a submission without any change.
    pub(super) fn require_open(&self, step: Option<Uuid>) -> Result<()> {
        if !self.is_enabled {
            return Err(Error::forbidden("Pre-check-in is switched off."));
        }
        if self.stage == StayStage::Over {
            return Err(Error::conflict(Reason::rule(
                "stay_over",
                "The stay is over, so nothing can be saved or submitted any more.",
            ))
            .with_key(STAY_OVER));
        }
        let is_open = match step {
            Some(id) => self
                .steps
                .iter()
                .all(|stay_step| stay_step.step.id != id || self.is_open(stay_step)),
            None => self.may_submit(),
        };
        if is_open {
            return Ok(());
        }
        let request = self.submitted.as_ref().and_then(StoredSubmission::request);
        Err(Error::conflict(if request.is_some() {
            "Changes were requested for other steps; this step cannot be changed."
        } else {
            "Pre-check-in has been submitted already."
        }))
    }

    /// Returns the time to store with answers that the guest saves or a file that the guest uploads
    /// now. This time is always after the last submission.
    pub(super) fn input_time(&self, now: Timestamp) -> Moment {
        self.submitted
            .as_ref()
            .map_or(Moment(now), |submitted| submitted.at.advanced_to(now))
    }

    /// Returns the number of bytes of all answers of the stay.
    fn stored_bytes(&self) -> u64 {
        let earlier = self
            .earlier
            .values()
            .filter_map(|answers_of_step| answers_of_step.saved.as_ref())
            .map(|saved| &saved.answers);
        self.steps
            .iter()
            .filter_map(StepOfStay::answers)
            .chain(earlier)
            .map(length_of)
            .sum()
    }

    /// Merges the answers into the saved ones, and stores the result. Fails with 404 for a step
    /// that the stay does not get, with 409 for a step that is not open, and with 400 for invalid
    /// answers. Fails with 400 if all answers of the stay together would exceed their limit and the
    /// answers of this step grow. Fails with 409 if the guest accepts an agreement whose text has
    /// changed since the guest read it.
    pub(super) fn save(
        &mut self,
        context: &mut Context<'_, '_>,
        stay: &Stay,
        setup: &GuestSetup,
        step: Uuid,
        mut sent: AnswersInRequest,
    ) -> Result<()> {
        let is_shown = self.steps.iter().any(|stay_step| stay_step.step.id == step);
        if is_shown {
            self.require_open(Some(step))?;
        }
        let (stored_bytes, nights, now) = (self.stored_bytes(), self.nights, context.now());
        let saved_at = self.input_time(now);
        let stay_step = self
            .steps
            .iter_mut()
            .find(|stay_step| stay_step.step.id == step)
            .ok_or_else(|| Error::not_found("Step"))?;
        let offered = stay_step
            .deposit(setup, nights)
            .map(|deposit| deposit.choices)
            .unwrap_or_default();
        let today = now.to_zoned(stay.zone()).date();
        let answer_context = AnswerContext {
            today,
            country: &context.organization.settings.country,
            choices: &offered,
        };
        sent.answers = precheck::normalize_answers(stay_step.step.step_type, sent.answers);
        let issues = precheck::answer_issues(&stay_step.step, &sent.answers, &answer_context);
        if !issues.is_empty() {
            return Err(below_answers(issues));
        }
        let merging = MergeContext {
            saved: stay_step.answers(),
            is_change: sent.is_change,
            new_id: &mut || context.new_id(),
        };
        let answers = precheck::merged_answers(stay_step.step.step_type, merging, sent.answers)
            .map_err(below_answers)?;
        let (before, after) = (
            stay_step.answers().map_or(0, length_of),
            length_of(&answers),
        );
        if after > before && stored_bytes - before + after > bounds::MAX_ANSWER_BYTES {
            return Err(bounds::too_long_answers());
        }
        let is_accepted = stay_step.step.step_type.answer_form() == AnswerForm::Agreement
            && precheck::is_accepted(&answers);
        let acceptance =
            is_accepted.then(|| StoredAcceptance::of(&stay_step.step, setup, Moment(now)));
        let accepted_text = acceptance
            .as_ref()
            .and_then(|_| agreement_text(&stay_step.step, &setup.texts));
        if let Some(acceptance) = &acceptance {
            acceptance.require_shown(sent.shown_text_sha256.as_deref())?;
            acceptance.keep_text(context, accepted_text.as_deref())?;
        }
        let proof = acceptance
            .as_ref()
            .map(store::Value::json)
            .transpose()?
            .unwrap_or(store::Value::Null);
        context.execute_deferred(
            &PUT_ANSWER,
            values![
                stay.id,
                step,
                saved_at,
                store::Value::json(&answers)?,
                proof
            ],
        )?;
        precheck::mark_used(context, step)?;
        stay_step.stored.saved = Some(SavedAnswers {
            answers,
            saved_at,
            acceptance,
            accepted_text,
        });
        self.compare(context, stay, setup)
    }

    /// Returns the steps as the guest sees them.
    pub(super) fn views(&self, setup: &GuestSetup) -> Vec<StepView> {
        self.steps
            .iter()
            .map(|stay_step| self.view_of(stay_step, setup))
            .collect()
    }

    /// Returns a step as the guest sees it; 404 for a step that the stay does not get.
    pub(super) fn view(&self, step: Uuid, setup: &GuestSetup) -> Result<StepView> {
        let stay_step = self
            .steps
            .iter()
            .find(|stay_step| stay_step.step.id == step)
            .ok_or_else(|| Error::not_found("Step"))?;
        Ok(self.view_of(stay_step, setup))
    }

    fn view_of(&self, stay_step: &StepOfStay, setup: &GuestSetup) -> StepView {
        stay_step.view(setup, self.nights, self.is_open(stay_step))
    }
}

/// The stored answers and the stored submission of a stay, and whether the service can store files.
struct StoredPrecheckin {
    answers_by_step: HashMap<Uuid, StoredAnswers>,
    submitted: Option<StoredSubmission>,
    /// Whether the service can store files.
    has_storage: bool,
}

/// Answers that a guest sends for a step.
pub(super) struct AnswersInRequest {
    pub answers: Object,
    /// Whether `answers` contains only changes, so that all other answers stay as they are saved.
    pub is_change: bool,
    /// The hash of the agreement text that the guest read; `None` if the request does not contain
    /// it.
    pub shown_text_sha256: Option<String>,
}

/// The key of the error for a request after the end of the stay.
pub const STAY_OVER: &str = "stay.over";

/// Returns the error for issues of answers. The path of each issue gets the prefix `answers`.
fn below_answers(mut issues: Vec<Issue>) -> Error {
    for issue in &mut issues {
        issue.path.insert(0, "answers".into());
    }
    Error::issues(issues)
}

/// The data that decides whether a submission waits for review by staff.
#[derive(Debug, Clone, Copy)]
struct ReviewInput {
    /// Whether another system has not yet reported the result of a step.
    is_waiting: bool,
    /// Whether the portal has manual review switched on.
    is_reviewed: bool,
    /// Whether a step has a type that can flag a submission. If no step has such a type, manual
    /// review applies to every submission.
    has_reviewable: bool,
    is_flagged: bool,
}

impl ReviewInput {
    /// Returns the status of the submission: in review, or approved at once.
    const fn outcome(self) -> PrecheckinStatus {
        let is_held = self.is_flagged || !self.has_reviewable;
        if self.is_waiting || (self.is_reviewed && is_held) {
            PrecheckinStatus::InReview
        } else {
            PrecheckinStatus::Approved
        }
    }
}

/// Returns the steps that are assigned to a flat, directly or through its group, tags or portal, in
/// the order in which guests see them. The targeting rules of the steps are not applied yet.
/// Returns no steps if no portal serves the flat, or if its portal has pre-check-in switched off.
pub(super) fn steps_reaching(
    context: &mut Context<'_, '_>,
    flat: &StayFlat,
    which: SetupScope,
) -> Result<Vec<Arc<Step>>> {
    if !flat
        .portal()
        .is_some_and(|portal| portal.is_precheckin_enabled)
    {
        return Ok(Vec::new());
    }
    let ids = scopes::reaching_ids(context, EntityType::PrecheckStep, &flat.targets())?;
    let reaching_steps = match which {
        SetupScope::Active => precheck::active_steps_by_id(context, ids)?,
        SetupScope::All => precheck::steps_by_id(context, ids)?,
    };
    let mut steps: Vec<Arc<Step>> = reaching_steps.into_iter().map(Arc::new).collect();
    sort(&mut steps, flat.portal());
    Ok(steps)
}

/// Sorts steps into the order in which guests of this portal see them.
pub(super) fn sort<S: Borrow<Step>>(steps: &mut [S], portal: Option<&Portal>) {
    let is_automatic = portal.is_none_or(|portal| portal.is_precheck_order_automatic);
    let key = |step: &Step| SortKey {
        step_type: step.step_type,
        sort_order: step.sort_order,
        created_at: step.created_at,
        id: step.id,
    };
    steps.sort_by(|one, other| {
        precheck::compare(&key(one.borrow()), &key(other.borrow()), is_automatic)
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray as _;

    use super::*;

    proptest! {
        /// Compares `outcome` with the rule (rules: submissions#status, 2). A submission that waits
        /// for no other system is approved at once in two cases: the portal's manual review is off,
        /// or the stay has steps that can flag the submission and none of them flags it.
        #[test]
        fn approval_agrees_with_the_sentences(
            is_waiting: bool,
            is_reviewed: bool,
            has_reviewable: bool,
            is_flagged: bool,
        ) {
            let input = ReviewInput {
                is_waiting,
                is_reviewed,
                has_reviewable,
                is_flagged,
            };
            let is_approved = !is_waiting && (!is_reviewed || (has_reviewable && !is_flagged));
            prop_assert_eq!(input.outcome() == PrecheckinStatus::Approved, is_approved);
        }
    }

    #[test]
    fn every_status_parses_from_its_name() {
        for status in PrecheckinStatus::VARIANTS {
            assert_eq!(status.as_ref().parse(), Ok(*status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_ref());
        }
    }
}
