//! Pre-check-in of one stay: its steps, the guest's answers and its status (rules: pre-check-in;
//! submissions#status).

use std::borrow::Borrow;
use std::collections::HashMap;
use std::ops::Not;
use std::sync::Arc;

use engine::context::Context;
use engine::error::{Error, Issue, Reason, Result};
use engine::moment::Moment;
use engine::operation::Object;
use engine::uploads::Uploads;
use engine::values;
use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{Json, Row};
use uuid::Uuid;

use super::acceptance::{self, AcceptanceView, StoredAcceptance};
use super::bounds;
use super::charges::{self, DepositView};
use super::decision::{Decision, Submitted};
use super::files::{self, FileView, GuestFile};
use super::flags::{self, Flag};
use super::openness::{self, StayStage, StepFacts};
use super::progress::{self, Progress, Report};
use super::review;
use super::setup::{Setup, Which, length_of};
use super::stay::{Flat, Stay};
use crate::portals::Portal;
use crate::precheck::{
    self, AnswerForm, Cost, Fee, FileUse, Ground, GuestFieldRules, GuestPart, HandedIn, Merging,
    Question, QuestionKind, QuestionOption, Reported, SortKey, Step, StepState, StepType,
};
use crate::scopes::{self, EntityType};
use crate::translations::{TextLanguages, Texts};
use crate::words::in_language;

store::statements! {
    /// Selects the guest's answers, and the progress that other systems reported, by step.
    ANSWERS = "select a.step_id, a.doc, a.saved_at, a.acceptance, false, t.text, a.reservation_id from precheck_answer a
        left join accepted_text t on t.organization_id = a.organization_id and t.organization_id = ?1
        and t.sha256 = a.acceptance ->> 'textSha256'
        where a.organization_id = ?1 and a.reservation_id = ?2
        union all select step_id, doc, updated_at, null, true, null, reservation_id from step_progress
        where organization_id = ?1 and reservation_id = ?2";
    /// Selects the same data of several stays, without accepted texts.
    ANSWERS_OF_STAYS = "select step_id, doc, saved_at, acceptance, false, null, reservation_id from precheck_answer
        where organization_id = ?1 and reservation_id = any(?2)
        union all select step_id, doc, updated_at, null, true, null, reservation_id from step_progress
        where organization_id = ?1 and reservation_id = any(?2)";
    /// Saves the answers to a step.
    PUT_ANSWER = "insert into precheck_answer (organization_id, reservation_id, step_id, saved_at, doc, acceptance) values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (organization_id, reservation_id, step_id) do update set saved_at = excluded.saved_at, doc = excluded.doc,
        acceptance = excluded.acceptance";
    /// Selects the submission of a stay.
    SUBMISSION = "select status, submitted_at, doc from precheckin where organization_id = ?1 and reservation_id = ?2";
    /// Submits, for the first time or again.
    SUBMIT = "insert into precheckin (organization_id, reservation_id, status, submitted_at, property_id, doc)
        values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (organization_id, reservation_id) do update set status = excluded.status, submitted_at = excluded.submitted_at,
        property_id = excluded.property_id, doc = excluded.doc";
    /// Deletes the answers of deleted reservations.
    FORGET_ANSWERS = "delete from precheck_answer where organization_id = ?1 and reservation_id = any(?2)";
    /// Deletes the submissions of deleted reservations.
    FORGET_SUBMISSION = "delete from precheckin where organization_id = ?1 and reservation_id = any(?2)";
}

engine::stored_enum! {
    /// Status of a guest's pre-check-in.
    pub enum PrecheckinStatus {
        /// Nothing has been answered yet.
        NotStarted,
        /// Some data is saved.
        InProgress,
        /// Waiting for staff review.
        InReview,
        /// Staff asked for changes to some of its steps.
        ChangesRequested,
        /// Submitted and done.
        Approved,
    }
}

impl PrecheckinStatus {
    /// Returns whether a submission stands, so that the guest has nothing to hand in.
    #[must_use]
    pub const fn is_submitted(self) -> bool {
        matches!(self, Self::InReview | Self::Approved)
    }
}

/// The data saved for a step.
pub(super) struct Saved {
    /// The answers as the guest gave them.
    pub answers: Object,
    /// The time of the last save.
    pub saved_at: Moment,
    /// The proof that the guest accepted an agreement; `None` without an acceptance.
    pub acceptance: Option<StoredAcceptance>,
    /// The text that the guest accepted; `None` where none was shown.
    pub accepted_text: Option<String>,
}

/// Everything stored for one step of a stay.
#[derive(Default)]
pub(super) struct Given {
    /// The answers that the guest saved.
    pub saved: Option<Saved>,
    /// The files that the guest handed in with the step, oldest first.
    pub files: Vec<GuestFile>,
    /// The last report of another system, where that system carries out the step.
    pub report: Option<Report>,
    /// The time of that report.
    pub reported_at: Option<Moment>,
}

impl Given {
    /// Returns whether the guest saved answers or handed in files.
    pub(super) fn is_of_guest(&self) -> bool {
        self.saved.is_some() || !self.files.is_empty()
    }

    /// Returns when the guest last saved answers or added a file.
    pub(super) fn given_at(&self) -> Option<Moment> {
        let saved_at = self.saved.as_ref().map(|saved| saved.saved_at);
        let files = self.files.iter().map(|file| file.created_at);
        saved_at.into_iter().chain(files).max()
    }
}

/// A step that the stay gets, with the data stored for it.
pub(super) struct Asked {
    pub step: Arc<Step>,
    /// The data stored for the step.
    pub given: Given,
    /// The number of guests besides the one who booked; `None` where it is unknown.
    others: Option<u32>,
    /// Whether the service can store files.
    has_storage: bool,
    /// The check-in date, on which the ages of guests count.
    check_in: Date,
    /// Whether the saved choice of a deposit is no longer offered, before it is submitted.
    is_choice_gone: bool,
    /// Whether the accepted text is today's text in the language that was accepted.
    is_text_current: bool,
    /// Whether the text of an agreement has changed since it was accepted, before it is submitted.
    is_text_changed: bool,
}

impl Asked {
    /// Combines a step with its data. Reported progress counts only while other systems carry out
    /// the step.
    pub(super) fn new(step: Arc<Step>, mut given: Given, stay: &Stay, has_storage: bool) -> Self {
        given.report = given.report.filter(|_| step.is_carried_out_elsewhere());
        Self {
            step,
            given,
            others: stay.others(),
            has_storage,
            check_in: stay.reservation.check_in,
            is_choice_gone: false,
            is_text_current: true,
            is_text_changed: false,
        }
    }

    pub(super) fn answers(&self) -> Option<&Object> {
        self.given.saved.as_ref().map(|saved| &saved.answers)
    }

    /// Returns the state of the step. A report of another system decides; without a report, the
    /// guest's data decides.
    pub(super) fn state(&self) -> StepState {
        let documents: Vec<Option<&str>> = self
            .given
            .files
            .iter()
            .map(GuestFile::document_type)
            .collect();
        if (self.is_choice_gone || self.is_text_changed) && self.reported().is_none() {
            return StepState::Todo;
        }
        let handed_in = HandedIn {
            answers: self.answers(),
            documents: &documents,
            others: self.others,
            has_storage: self.has_storage,
            check_in: Some(self.check_in),
        };
        precheck::state(&self.step, &handed_in, self.reported())
    }

    /// Returns the last report of another system about the step; `None` without a report.
    fn reported(&self) -> Option<Reported> {
        let report = self.given.report.as_ref()?;
        let is_later = |file: &GuestFile| Some(file.created_at) > self.given.reported_at;
        let is_handed_in_again = self.given.files.iter().any(is_later);
        Some(report.reported(self.step.step_type, is_handed_in_again))
    }

    /// Returns whether the step is done.
    pub(super) fn is_complete(&self) -> bool {
        self.state() == StepState::Done
    }

    /// Returns the choices of a deposit for a stay of this many nights; `None` where the step asks
    /// for no deposit.
    fn deposit(&self, setup: &Setup, nights: i64) -> Option<DepositView> {
        charges::deposit(
            &self.step,
            setup.costs.get(&self.step.id),
            &setup.texts,
            nights,
        )
    }

    /// Returns whether the saved choice of a deposit is no longer offered.
    fn has_lost_choice(&self, setup: &Setup, nights: i64) -> bool {
        self.answers().is_some_and(|answers| {
            precheck::deposit_choice(answers).is_some()
                && self.deposit(setup, nights).is_some_and(|deposit| {
                    precheck::chosen_deposit(answers, &deposit.choices).is_none()
                })
        })
    }

    /// Returns the acceptance of an agreement, with the text that was accepted.
    pub(super) fn acceptance(&self) -> Option<AcceptanceView> {
        let saved = self.given.saved.as_ref()?;
        let acceptance = saved.acceptance.clone()?.proof;
        let signed_name = saved.answers.get("signedName").and_then(Value::as_str);
        Some(AcceptanceView {
            accepted_at: acceptance.accepted_at,
            language: acceptance.language,
            text_sha256: acceptance.text_sha256,
            signed_name: signed_name.map(str::to_owned),
            text: saved.accepted_text.clone(),
            is_current: self.is_text_current,
        })
    }

    fn facts(&self) -> StepFacts {
        StepFacts {
            id: self.step.id,
            is_ready: self.state().is_ready(),
            given_at: self.given.given_at(),
        }
    }
}

/// Pre-check-in of one stay.
pub(super) struct Precheckin {
    /// Whether the portal has pre-check-in enabled and the stay is not cancelled.
    pub is_enabled: bool,
    /// The steps that the stay gets, in guest order.
    pub steps: Vec<Asked>,
    /// Data of steps that the stay does not get, or no longer gets.
    pub earlier: HashMap<Uuid, Given>,
    /// The length of the stay in nights.
    pub nights: i64,
    /// The submission and its review; `None` before the first submission.
    pub submitted: Option<Submitted>,
    /// The part of the stay that the shown moment belongs to.
    stage: StayStage,
}

impl Precheckin {
    /// Loads the data of a stay. `steps` are the steps that reach the flat, as [`reaching`] returns
    /// them.
    pub(super) fn load(
        context: &mut Context<'_, '_>,
        stay: &Stay,
        steps: &[Arc<Step>],
    ) -> Result<Self> {
        let mut given = handed_in(context, stay.id)?;
        if steps.iter().any(|step| step.step_type.takes_files()) {
            add_files(context, stay.id, &mut given)?;
        }
        let submitted = submission(context, stay.id)?;
        let stored = Stored {
            given,
            submitted,
            has_storage: has_storage(context),
        };
        Ok(Self::of(stay, steps, stored).at(stay, context.now()))
    }

    /// Loads the data of a stay for which `setup` is known, and compares the saved choices and the
    /// accepted texts with those of today.
    pub(super) fn load_for(
        context: &mut Context<'_, '_>,
        stay: &Stay,
        setup: &Setup,
    ) -> Result<Self> {
        let mut precheckin = Self::load(context, stay, &setup.steps)?;
        precheckin.compare(context, stay, setup)?;
        Ok(precheckin)
    }

    /// Builds the pre-check-in of a stay of a list, of which the answers, the files and the
    /// submission are read already.
    pub(super) fn of_list(
        context: &mut Context<'_, '_>,
        stay: &Stay,
        setup: &Setup,
        given: HashMap<Uuid, Given>,
        submitted: Submitted,
    ) -> Result<Self> {
        let stored = Stored {
            given,
            submitted: Some(submitted),
            has_storage: has_storage(context),
        };
        let mut precheckin = Self::of(stay, &setup.steps, stored).at(stay, context.now());
        precheckin.compare(context, stay, setup)?;
        Ok(precheckin)
    }

    /// Compares the saved choices and the accepted texts with those of today. A step that belongs to
    /// the last submission is not asked again because of them.
    fn compare(&mut self, context: &mut Context<'_, '_>, stay: &Stay, setup: &Setup) -> Result<()> {
        let (nights, submitted) = (self.nights, self.submitted.as_ref());
        for asked in &mut self.steps {
            let (step, given_at) = (&asked.step, asked.given.given_at());
            let is_submitted = openness::is_submitted(submitted, step.id, given_at);
            let saved = asked.given.saved.as_ref();
            if let Some(accepted) = saved.and_then(|saved| saved.acceptance.as_ref()) {
                asked.is_text_current =
                    acceptance::is_current(context, stay, (step, setup), accepted)?;
            }
            asked.is_text_changed = !is_submitted && !asked.is_text_current;
            asked.is_choice_gone = !is_submitted && asked.has_lost_choice(setup, nights);
        }
        Ok(())
    }

    /// Shows the pre-check-in at another moment.
    pub(super) fn at(mut self, stay: &Stay, at: Timestamp) -> Self {
        self.stage = StayStage::of(stay, at);
        self
    }

    /// Builds the pre-check-in of a stay for which nothing is stored.
    pub(super) fn unanswered(context: &Context<'_, '_>, stay: &Stay, steps: &[Arc<Step>]) -> Self {
        let stored = Stored {
            given: HashMap::new(),
            submitted: None,
            has_storage: has_storage(context),
        };
        Self::of(stay, steps, stored)
    }

    fn of(stay: &Stay, steps: &[Arc<Step>], stored: Stored) -> Self {
        let Stored {
            mut given,
            submitted,
            has_storage,
        } = stored;
        let is_enabled = !stay.is_cancelled()
            && stay
                .portal()
                .is_some_and(|portal| portal.is_precheckin_enabled);
        let facts = stay.facts();
        let shown = steps
            .iter()
            .filter(|step| is_enabled && precheck::decide(&step.targeting, &facts).is_shown());
        let asked = |step: &Arc<Step>| {
            let given = given.remove(&step.id).unwrap_or_default();
            Asked::new(step.clone(), given, stay, has_storage)
        };
        let steps = shown.map(asked).collect();
        let nights = precheck::days(facts.check_in, facts.check_out);
        Self {
            is_enabled,
            steps,
            earlier: given,
            nights,
            submitted,
            stage: StayStage::Ahead,
        }
    }

    pub(super) fn status(&self) -> PrecheckinStatus {
        match &self.submitted {
            Some(submitted) => submitted.status,
            None if self.steps.iter().any(|asked| asked.given.is_of_guest()) => {
                PrecheckinStatus::InProgress
            }
            None => PrecheckinStatus::NotStarted,
        }
    }

    /// Returns the ids of the shown steps that are open again after a submission, in guest order.
    pub(super) fn open_steps(&self) -> Vec<Uuid> {
        let steps = self.steps.iter().map(Asked::facts);
        openness::open_steps(self.submitted.as_ref(), steps, self.stage)
    }

    /// Returns whether the guest may save a shown step now.
    pub(super) fn is_open(&self, asked: &Asked) -> bool {
        openness::is_open(self.submitted.as_ref(), asked.facts(), self.stage)
    }

    /// Returns whether there is something to submit: a first submission, the answer to a request for
    /// changes, or steps that are open again.
    fn may_submit(&self) -> bool {
        self.submitted
            .as_ref()
            .is_none_or(|submitted| submitted.request().is_some())
            || !self.open_steps().is_empty()
    }

    /// Submits the pre-check-in. Fails with 409 where a step waits for the guest, and where the stay
    /// has no steps. Fails with 409 also for a submission after which nothing is open again.
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
            .filter(|asked| !asked.state().is_ready())
            .count();
        if missing > 0 {
            return Err(Error::conflict(format!(
                "{missing} of the steps are not complete yet."
            )));
        }
        let raised = flags::raised(&self.steps, stay.reservation.check_in);
        let status = self.outcome(stay, &raised);
        // Answers that were saved before belong to the submission, even within the same millisecond.
        let given = self.steps.iter().filter_map(|asked| asked.given.given_at());
        let now = Moment(context.now());
        let at = given.max().map_or(now, |given| given.max(now));
        let decision = self
            .submitted
            .take()
            .map(|before| before.decision.superseded())
            .unwrap_or_default();
        let decision = Decision {
            flags: raised,
            ..decision
        };
        let doc = store::Value::json(&decision)?;
        context.execute_along(
            &SUBMIT,
            values![
                stay.id,
                status.as_ref(),
                at,
                stay.reservation.property_id,
                doc
            ],
        )?;
        self.submitted = Some(Submitted {
            status,
            at,
            decision,
        });
        Ok(())
    }

    /// Returns the status of a submission with these flags of its own.
    fn outcome(&self, stay: &Stay, raised: &[Flag]) -> PrecheckinStatus {
        let is_waiting = self.steps.iter().any(|asked| {
            matches!(
                asked.state(),
                StepState::Pending | StepState::ActionRequired
            )
        });
        let judged = Judged {
            is_waiting,
            is_reviewed: stay
                .portal()
                .is_none_or(|portal| portal.is_manual_review_enabled),
            has_reviewable: self
                .steps
                .iter()
                .any(|asked| asked.step.step_type.is_reviewable()),
            is_flagged: !flags::all(&self.steps, raised).is_empty(),
        };
        judged.outcome()
    }

    /// Returns the flags of the submission, and those that other systems reported.
    pub(super) fn flags(&self) -> Vec<Flag> {
        let submitted = self.submitted.as_ref();
        let stored = submitted.map(|submitted| submitted.decision.flags.as_slice());
        flags::all(&self.steps, stored.unwrap_or_default())
    }

    /// Brings the submission up to date with a new report about a step. A check that returns the
    /// step asks the guest for changes. The last result that was missing approves a submission
    /// that nothing else holds.
    pub(super) fn follow(
        &mut self,
        context: &mut Context<'_, '_>,
        stay: &Stay,
        step: Uuid,
        report: Report,
        at: Moment,
    ) -> Result<()> {
        let Some(asked) = self.steps.iter_mut().find(|asked| asked.step.id == step) else {
            return Ok(());
        };
        let before = asked.state();
        (asked.given.report, asked.given.reported_at) = (Some(report), Some(at));
        let after = asked.state();
        let is_returned = asked.reported() == Some(Reported::Returned);
        let Some(submitted) = &self.submitted else {
            return Ok(());
        };
        let earlier = &submitted.decision;
        let is_waiting_no_more = before != StepState::Done && after == StepState::Done;
        let (status, decision) = if submitted.status.is_submitted() && is_returned {
            let decision = Decision {
                requested_step_ids: vec![step],
                flags: earlier.flags.clone(),
                ..Decision::default()
            };
            (PrecheckinStatus::ChangesRequested, decision)
        } else if submitted.status == PrecheckinStatus::InReview
            && is_waiting_no_more
            && self.outcome(stay, &earlier.flags) == PrecheckinStatus::Approved
        {
            (PrecheckinStatus::Approved, earlier.clone())
        } else {
            return Ok(());
        };
        review::put_decision(context, stay.id, status, &decision)
    }

    /// Checks that the guest may save a `step`, or submit. Fails with 403 where pre-check-in is off,
    /// with 409 after the stay, and with 409 for a step that is not open or a submission that adds
    /// nothing.
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
                .all(|asked| asked.step.id != id || self.is_open(asked)),
            None => self.may_submit(),
        };
        if is_open {
            return Ok(());
        }
        let request = self.submitted.as_ref().and_then(Submitted::request);
        Err(Error::conflict(if request.is_some() {
            "Changes were requested for other steps; this step cannot be changed."
        } else {
            "Pre-check-in has been submitted already."
        }))
    }

    /// Returns the time of something that the guest gives now. It is later than the last submission.
    pub(super) fn given_now(&self, now: Timestamp) -> Moment {
        self.submitted
            .as_ref()
            .map_or(Moment(now), |submitted| submitted.at.advanced_to(now))
    }

    /// Returns the bytes of all answers of the stay.
    fn held(&self) -> u64 {
        let earlier = self
            .earlier
            .values()
            .filter_map(|given| given.saved.as_ref())
            .map(|saved| &saved.answers);
        self.steps
            .iter()
            .filter_map(Asked::answers)
            .chain(earlier)
            .map(length_of)
            .sum()
    }

    /// Merges the answers into those saved for the step, and saves them. Fails with 404 for a step
    /// that is not shown, and with 409 for a step that is not open. Fails with 400 for invalid
    /// answers, and where the stay's answers would exceed their limit. This limit never refuses
    /// answers that do not enlarge the step's data. Fails with 409 for an agreement to another text
    /// than the one that the guest read.
    pub(super) fn save(
        &mut self,
        context: &mut Context<'_, '_>,
        stay: &Stay,
        setup: &Setup,
        step: Uuid,
        mut sent: SentAnswers,
    ) -> Result<()> {
        let is_shown = self.steps.iter().any(|asked| asked.step.id == step);
        if is_shown {
            self.require_open(Some(step))?;
        }
        let (held, nights, now) = (self.held(), self.nights, context.now());
        let saved_at = self.given_now(now);
        let asked = self
            .steps
            .iter_mut()
            .find(|asked| asked.step.id == step)
            .ok_or_else(|| Error::not_found("Step"))?;
        let offered = asked
            .deposit(setup, nights)
            .map(|deposit| deposit.choices)
            .unwrap_or_default();
        let today = now.to_zoned(stay.zone()).date();
        let ground = Ground {
            today,
            country: &context.organization.settings.country,
            choices: &offered,
        };
        sent.answers = precheck::tidied_answers(asked.step.step_type, sent.answers);
        let issues = precheck::answer_issues(&asked.step, &sent.answers, &ground);
        if !issues.is_empty() {
            return Err(below_answers(issues));
        }
        let merging = Merging {
            saved: asked.answers(),
            is_change: sent.is_change,
            new_id: &mut || context.new_id(),
        };
        let answers = precheck::merged_answers(asked.step.step_type, merging, sent.answers)
            .map_err(below_answers)?;
        let (before, after) = (asked.answers().map_or(0, length_of), length_of(&answers));
        if after > before && held - before + after > bounds::ANSWERS {
            return Err(bounds::too_long_answers());
        }
        let is_accepted = asked.step.step_type.answer_form() == AnswerForm::Agreement
            && precheck::is_accepted(&answers);
        let acceptance = is_accepted.then(|| StoredAcceptance::of(&asked.step, setup, Moment(now)));
        let accepted_text = acceptance
            .as_ref()
            .and_then(|_| agreement_text(&asked.step, &setup.texts));
        if let Some(acceptance) = &acceptance {
            acceptance.require_shown(sent.shown_text_sha256.as_deref())?;
            acceptance.keep_text(context, accepted_text.as_deref())?;
        }
        let noted = acceptance
            .as_ref()
            .map(store::Value::json)
            .transpose()?
            .unwrap_or(store::Value::Null);
        context.execute_along(
            &PUT_ANSWER,
            values![
                stay.id,
                step,
                saved_at,
                store::Value::json(&answers)?,
                noted
            ],
        )?;
        precheck::mark_used(context, step)?;
        asked.given.saved = Some(Saved {
            answers,
            saved_at,
            acceptance,
            accepted_text,
        });
        self.compare(context, stay, setup)
    }

    /// Returns the steps as the guest sees them.
    pub(super) fn views(&self, setup: &Setup) -> Vec<StepView> {
        self.steps
            .iter()
            .map(|asked| self.view_of(asked, setup))
            .collect()
    }

    /// Returns a step as the guest sees it; 404 for a step that is not shown.
    pub(super) fn view(&self, step: Uuid, setup: &Setup) -> Result<StepView> {
        let asked = self
            .steps
            .iter()
            .find(|asked| asked.step.id == step)
            .ok_or_else(|| Error::not_found("Step"))?;
        Ok(self.view_of(asked, setup))
    }

    fn view_of(&self, asked: &Asked, setup: &Setup) -> StepView {
        asked.view(setup, self.nights, self.is_open(asked))
    }
}

/// The stored data of a stay.
struct Stored {
    given: HashMap<Uuid, Given>,
    submitted: Option<Submitted>,
    /// Whether the service can store files.
    has_storage: bool,
}

/// Answers that a guest sends for a step.
pub(super) struct SentAnswers {
    pub answers: Object,
    /// Whether the answers contain only changes.
    pub is_change: bool,
    /// The hash of the agreement text that the guest read; `None` where the sender does not say it.
    pub shown_text_sha256: Option<String>,
}

/// The key of the refusal after a stay.
pub const STAY_OVER: &str = "stay.over";

/// Returns the refusal for issues whose paths begin below `answers`.
fn below_answers(mut issues: Vec<Issue>) -> Error {
    for issue in &mut issues {
        issue.path.insert(0, "answers".into());
    }
    Error::issues(issues)
}

/// The facts that decide whether a submission is held.
#[derive(Debug, Clone, Copy)]
struct Judged {
    /// Whether the result of another system is missing.
    is_waiting: bool,
    /// Whether the portal has submissions reviewed.
    is_reviewed: bool,
    /// Whether a step has a type that can leave out the review.
    has_reviewable: bool,
    is_flagged: bool,
}

impl Judged {
    /// Returns the status of the submission: held, or approved without a person.
    const fn outcome(self) -> PrecheckinStatus {
        let is_held = self.is_flagged || !self.has_reviewable;
        if self.is_waiting || (self.is_reviewed && is_held) {
            PrecheckinStatus::InReview
        } else {
            PrecheckinStatus::Approved
        }
    }
}

/// Returns whether the service can store files of guests.
pub(super) fn has_storage(context: &Context<'_, '_>) -> bool {
    context.part::<Uploads>().is_ok()
}

/// Returns the steps that reach a flat, in guest order, whoever stays there. Returns none where no
/// portal serves the flat, or where its portal has pre-check-in off.
pub(super) fn reaching(
    context: &mut Context<'_, '_>,
    flat: &Flat,
    which: Which,
) -> Result<Vec<Arc<Step>>> {
    if !flat
        .portal()
        .is_some_and(|portal| portal.is_precheckin_enabled)
    {
        return Ok(Vec::new());
    }
    let ids = scopes::reaching_ids(context, EntityType::PrecheckStep, &flat.targets())?;
    let found = match which {
        Which::Active => precheck::among(context, ids)?,
        Which::All => precheck::some(context, ids)?,
    };
    let mut steps: Vec<Arc<Step>> = found.into_iter().map(Arc::new).collect();
    sort(&mut steps, flat.portal());
    Ok(steps)
}

/// Sorts steps into the order in which guests of this portal meet them.
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

/// Reads the saved answers and the reported progress of a stay, by step. Files are read separately.
fn handed_in(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<HashMap<Uuid, Given>> {
    let mut given = HashMap::new();
    for row in context.rows(&ANSWERS, values![reservation])? {
        add_row(&mut given, &row)?;
    }
    Ok(given)
}

/// Reads the saved answers, the reported progress and the files of several stays, by stay and step.
pub(super) fn handed_in_of(
    context: &mut Context<'_, '_>,
    reservations: Vec<Uuid>,
) -> Result<HashMap<Uuid, HashMap<Uuid, Given>>> {
    let mut of_stays = HashMap::<Uuid, HashMap<Uuid, Given>>::new();
    if reservations.is_empty() {
        return Ok(of_stays);
    }
    for row in context.rows(&ANSWERS_OF_STAYS, values![reservations.clone()])? {
        add_row(of_stays.entry(row.get(6)?).or_default(), &row)?;
    }
    for (stay, step, file) in files::of_stays(context, reservations)? {
        let given = of_stays.entry(stay).or_default().entry(step).or_default();
        given.files.push(file);
    }
    Ok(of_stays)
}

/// Adds a row with the columns of [`ANSWERS`] to the data of a stay.
fn add_row(given: &mut HashMap<Uuid, Given>, row: &Row) -> Result<()> {
    let of_step = given.entry(row.get(0)?).or_default();
    if row.get(4)? {
        let Json(report) = row.get(1)?;
        of_step.report = Some(report);
        of_step.reported_at = Some(Moment(row.get(2)?));
    } else {
        let (Json(answers), acceptance): (_, Option<Json<StoredAcceptance>>) =
            (row.get(1)?, row.get(3)?);
        of_step.saved = Some(Saved {
            answers,
            saved_at: Moment(row.get(2)?),
            acceptance: acceptance.map(|Json(acceptance)| acceptance),
            accepted_text: row.get(5)?,
        });
    }
    Ok(())
}

/// Adds the files of a stay to the data of its steps.
pub(super) fn add_files(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
    given: &mut HashMap<Uuid, Given>,
) -> Result<()> {
    for (step, files) in files::of_stay(context, reservation)? {
        given.entry(step).or_default().files = files;
    }
    Ok(())
}

/// Reads the submission of a stay; `None` before the first submission.
pub(super) fn submission(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
) -> Result<Option<Submitted>> {
    context
        .row(&SUBMISSION, values![reservation])?
        .map(|row| Submitted::from_row(&row, 0))
        .transpose()
}

/// Deletes the answers, the progress and the submissions of deleted reservations.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_along(&FORGET_ANSWERS, values![reservations])?;
    progress::forget(context, reservations)?;
    context.execute_along(&FORGET_SUBMISSION, values![reservations])
}

/// A step as the guest sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// Step id.
    pub id: Uuid,
    /// Step type.
    pub step_type: StepType,
    /// Title of the step, or else of its type.
    pub title: String,
    /// How it stands: `todo`, `done`, `pending` while another system's result is missing, or
    /// `action_required` where the guest must act again.
    pub state: StepState,
    /// Whether the step is done. Another system's report decides, where there is one; else the
    /// guest's data.
    pub is_complete: bool,
    /// Whether the guest may save it now: before submission, and while it is open again after it.
    pub is_open: bool,
    /// Description for guests; absent where none is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Text to agree to and its heading, for an agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<AgreementView>,
    /// Visible questions, for additional questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<Vec<QuestionView>>,
    /// Saved answers, if any. Each answer to a question stands beside the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Object>,
    /// Fields each guest must fill, for guest details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_fields: Option<Vec<String>>,
    /// Guests of whom a required field is required, by field; absent where no field has such a rule.
    #[serde(default, skip_serializing_if = "GuestFieldRules::is_empty")]
    pub guest_field_rules: GuestFieldRules,
    /// Number of other guests, for details of other guests; null where the reservation omits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_guests: Option<Option<u32>>,
    /// Whether the guest must sign, for an agreement: with their name, or elsewhere where it has no
    /// text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_signature_required: Option<bool>,
    /// Time of acceptance, for accepted agreements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Moment>,
    /// The accepted text and its proof, for accepted agreements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<AcceptanceView>,
    /// Whether the text has changed since the guest accepted it, so that they are asked again;
    /// absent otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_text_changed: bool,
    /// Deposit, or waivers to take instead, for a damage deposit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deposit: Option<DepositView>,
    /// Fees to be paid, for mandatory fees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fees: Option<Vec<Fee>>,
    /// Sum of the fees, for mandatory fees. Null where they have several currencies, and where an
    /// amount is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cents: Option<Option<u64>>,
    /// Progress reported by the system that carries the step out, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Files handed in, oldest first, for document uploads and identity checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<FileView>>,
    /// Document types that are all required, for the same steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_document_types: Option<Vec<String>>,
    /// Whether files cannot be stored, so that saving is enough, for an identity check; absent
    /// otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_upload_unavailable: bool,
    /// Whether the step is inactive, so guests do not get it; previews only, absent otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_inactive: bool,
    /// Language of each text that is not in the language asked for, by field; absent where there is
    /// none.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
}

/// The text of an agreement, in the guest's language.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgreementView {
    /// Title of the signature; null where none is written.
    pub title: Option<String>,
    /// Text below the title; null where none is written.
    pub subtitle: Option<String>,
    /// Text to agree to; null where an e-signature provider has it.
    pub text: Option<String>,
    /// Whether the guest signs at an e-signature provider instead of here.
    pub is_signed_elsewhere: bool,
}

/// A question as the guest sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionView {
    /// Question id.
    pub id: Uuid,
    /// Kind of answer.
    pub kind: QuestionKind,
    /// Question text.
    pub text: Option<String>,
    /// Whether the step is incomplete without an answer.
    pub is_required: bool,
    /// Answer options.
    pub options: Vec<OptionView>,
    /// The guest's answer: `{optionIds}` or `{text}`.
    pub answer: Option<Value>,
    /// Language of each text that is not in the language asked for, by field; absent where there is
    /// none.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
}

/// An option as the guest sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionView {
    /// Option id.
    pub id: Uuid,
    /// Option name.
    pub name: Option<String>,
    /// Language of each text that is not in the language asked for, by field; absent where there is
    /// none.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
}

/// Lists the translations that are needed to show a step.
pub(super) fn linked_texts(step: &Step) -> impl Iterator<Item = Uuid> {
    let own = [
        step.display_title_ml_text_id,
        step.write_only.guest_description_ml_text_id,
        agreement_text_id(step),
    ];
    let questions: &[Question] = if step.step_type.answer_form() == AnswerForm::Questions {
        &step.questions
    } else {
        &[]
    };
    let of_questions = questions.iter().flat_map(|question| {
        let names = question
            .options
            .iter()
            .filter_map(|option| option.name_ml_text_id);
        [question.text_ml_text_id].into_iter().chain(names)
    });
    let heading = step.agreement_heading();
    own.into_iter()
        .chain(heading)
        .flatten()
        .chain(charges::subtitles(step))
        .chain(of_questions)
}

/// Returns the translation that has the text of an agreement; `None` for another step.
pub(super) fn agreement_text_id(step: &Step) -> Option<Uuid> {
    if step.step_type.answer_form() == AnswerForm::Agreement {
        step.agreement.contract_template_text_ml_text_id
    } else {
        None
    }
}

/// Returns the agreement's text in the guest's language; `None` where the text is kept elsewhere.
pub(super) fn agreement_text(step: &Step, texts: &Texts) -> Option<String> {
    let written = || {
        (step.step_type.answer_form() == AnswerForm::Agreement)
            .then(|| step.write_only.contract_template_text.clone())
            .flatten()
    };
    texts.of(agreement_text_id(step)).or_else(written)
}

impl Asked {
    /// Returns the heading of the step in the guest's language.
    pub(super) fn title(&self, texts: &Texts, language: &str) -> String {
        let step = &self.step;
        texts.of(step.display_title_ml_text_id).unwrap_or_else(|| {
            in_language(language)
                .0
                .step_title(step.step_type)
                .to_owned()
        })
    }

    /// Returns the questions that are asked now; `None` for steps of another type.
    pub(super) fn questions(&self, texts: &Texts, language: &str) -> Option<Vec<QuestionView>> {
        let given = self.answers().cloned().unwrap_or_default();
        (self.step.step_type.answer_form() == AnswerForm::Questions).then(|| {
            let shown = precheck::shown_questions(&self.step.questions, &given);
            shown
                .into_iter()
                .map(|question| question_view(question, &given, texts, language))
                .collect()
        })
    }

    /// Builds the guest's view of the step, for a stay of this many nights. `is_open` says that the
    /// guest may save it.
    fn view(&self, setup: &Setup, nights: i64, is_open: bool) -> StepView {
        let Setup {
            texts,
            language,
            costs,
            ..
        } = setup;
        let step = &self.step;
        let of_form = |form| step.step_type.answer_form() == form;
        let questions = self.questions(texts, language);
        let required = || {
            precheck::required_fields(step)
                .into_iter()
                .map(str::to_owned)
                .collect()
        };
        let agreement = || {
            let [title, subtitle] = step.agreement_heading().map(|id| texts.of(id));
            AgreementView {
                title,
                subtitle,
                text: agreement_text(step, texts),
                is_signed_elsewhere: step.is_signed_elsewhere(),
            }
        };
        let state = self.state();
        let fees = costs.get(&step.id).and_then(|cost| {
            if let Cost::Fees(fees) = cost {
                Some(fees.clone())
            } else {
                None
            }
        });
        StepView {
            id: step.id,
            step_type: step.step_type,
            title: self.title(texts, language),
            state,
            is_complete: state == StepState::Done,
            is_open,
            description: texts.of(step.write_only.guest_description_ml_text_id),
            answers: self.answers().filter(|_| questions.is_none()).cloned(),
            agreement: of_form(AnswerForm::Agreement).then(agreement),
            questions,
            required_fields: GuestPart::asked_in(step.step_type).map(|_| required()),
            guest_field_rules: precheck::field_rules(step),
            expected_guests: of_form(AnswerForm::OtherGuests).then_some(self.others),
            is_signature_required: of_form(AnswerForm::Agreement)
                .then(|| step.is_signature_required()),
            accepted_at: self
                .given
                .saved
                .as_ref()
                .and_then(|saved| saved.acceptance.as_ref())
                .map(|acceptance| acceptance.proof.accepted_at),
            acceptance: self.acceptance(),
            is_text_changed: self.is_text_changed,
            deposit: self.deposit(setup, nights),
            total_cents: fees.as_deref().map(precheck::total_of),
            fees,
            progress: self.progress().cloned(),
            files: step
                .step_type
                .takes_files()
                .then(|| self.given.files.iter().map(GuestFile::view).collect()),
            required_document_types: step
                .step_type
                .takes_files()
                .then(|| step.required_documents().to_vec()),
            is_upload_unavailable: step.step_type.file_use() == FileUse::Identity
                && !self.has_storage,
            is_inactive: !step.is_active,
            text_languages: self.text_languages(texts, language),
        }
    }

    /// Returns the languages of the step's own texts.
    fn text_languages(&self, texts: &Texts, language: &str) -> TextLanguages {
        let step = &self.step;
        let [title, subtitle] = step.agreement_heading();
        let fields = [
            ("title", step.display_title_ml_text_id),
            ("description", step.write_only.guest_description_ml_text_id),
            ("agreement.title", title),
            ("agreement.subtitle", subtitle),
            ("agreement.text", agreement_text_id(step)),
        ];
        let subtitles = charges::subtitles(step).map(|id| ("deposit.subtitle", Some(id)));
        let languages = texts.languages(language, fields.into_iter().chain(subtitles));
        match texts.of(step.display_title_ml_text_id) {
            Some(_) => languages,
            None => languages.and("title", in_language(language).1, language),
        }
    }

    /// Returns the progress that another system reported.
    pub(super) fn progress(&self) -> Option<&Progress> {
        self.given.report.as_ref().map(|report| &report.progress)
    }
}

fn question_view(
    question: &Question,
    answers: &Object,
    texts: &Texts,
    language: &str,
) -> QuestionView {
    let option = |option: &QuestionOption| OptionView {
        id: option.id,
        name: option
            .answer
            .map(|answer| in_language(language).0.yes_or_no(answer).to_owned())
            .or_else(|| texts.of(option.name_ml_text_id)),
        text_languages: match option.answer {
            Some(_) => TextLanguages::default().and("name", in_language(language).1, language),
            None => texts.languages(language, [("name", option.name_ml_text_id)]),
        },
    };
    QuestionView {
        id: question.id,
        kind: question.kind,
        text: texts.of(Some(question.text_ml_text_id)),
        is_required: question.is_required,
        options: question.options.iter().map(option).collect(),
        answer: precheck::given_answer(question, answers),
        text_languages: texts.languages(language, [("text", Some(question.text_ml_text_id))]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray as _;

    use super::*;

    proptest! {
        /// Tests one rule (rules: submissions#status, 2). A submission is approved at once when the
        /// portal's review is off. It is also approved when at least one shown step has
        /// isManualReviewEnabled and all those steps have it false.
        #[test]
        fn approval_agrees_with_the_sentences(is_waiting: bool, is_reviewed: bool, has_reviewable: bool, is_flagged: bool) {
            let judged = Judged { is_waiting, is_reviewed, has_reviewable, is_flagged };
            let is_approved = !is_waiting && (!is_reviewed || (has_reviewable && !is_flagged));
            prop_assert_eq!(judged.outcome() == PrecheckinStatus::Approved, is_approved);
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
