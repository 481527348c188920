//! Pre-check-in of one stay: which steps it gets, what was answered, where it stands (contract: Guest interface).

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::operation::Object;
use engine::values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Json;
use strum::{AsRefStr, EnumString, VariantArray};
use uuid::Uuid;

use super::acceptance::Acceptance;
use super::bounds;
use super::progress::{self, Progress, ProgressStatus};
use super::setup::{Setup, length_of};
use super::stay::{Flat, Stay};
use crate::portals::Portal;
use crate::precheck::{self, Cost, Deposit, Fee, Ground, Question, QuestionKind, QuestionOption, SortKey, Step, StepType};
use crate::scopes::{self, EntityType};
use crate::translations::Texts;
use crate::words::in_language;

store::statements! {
    /// What a guest has answered, and what was said of steps that others carry out.
    ANSWERS = "select step_id, doc, saved_at, acceptance, false from precheck_answer where organization_id = ?1 and reservation_id = ?2
        union all select step_id, doc, updated_at, null, true from step_progress where organization_id = ?1 and reservation_id = ?2";
    /// Saves the answers to a step.
    PUT_ANSWER = "insert into precheck_answer (organization_id, reservation_id, step_id, saved_at, doc, acceptance) values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (organization_id, reservation_id, step_id) do update set saved_at = excluded.saved_at, doc = excluded.doc,
        acceptance = excluded.acceptance";
    /// What became of a submission.
    SUBMISSION = "select status, submitted_at from precheckin where organization_id = ?1 and reservation_id = ?2";
    /// Submits.
    SUBMIT = "insert into precheckin (organization_id, reservation_id, status, submitted_at) values (?1, ?2, ?3, ?4)";
    /// Forgets the answers of a stay that is gone.
    FORGET_ANSWERS = "delete from precheck_answer where organization_id = ?1 and reservation_id = any(?2)";
    /// Forgets its submission.
    FORGET_SUBMISSION = "delete from precheckin where organization_id = ?1 and reservation_id = any(?2)";
}

/// Where a guest stands with what is asked before arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, AsRefStr, EnumString, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PrecheckinStatus {
    /// Nothing has been answered yet.
    NotStarted,
    /// Something has been.
    InProgress,
    /// Submitted, and held for staff.
    InReview,
    /// Submitted, and done.
    Approved,
}

/// What is saved of a step.
pub(super) struct Saved {
    /// As the guest gave them.
    pub answers: Object,
    /// When they last did.
    pub saved_at: Moment,
    /// What was shown, where the guest has accepted an agreement.
    pub acceptance: Option<Acceptance>,
}

/// A step that a stay gets, and what its guest has answered.
pub(super) struct Asked {
    pub step: Arc<Step>,
    pub answers: Option<Saved>,
    /// How it stands, where another system carries it out and has said so.
    pub progress: Option<Progress>,
    /// How many guests come besides the one who booked, where that is known.
    others: Option<u32>,
}

impl Asked {
    /// A step of a stay. What was said of it counts while it is one that others carry out.
    pub(super) fn new(step: Arc<Step>, answers: Option<Saved>, progress: Option<Progress>, stay: &Stay) -> Self {
        let progress = progress.filter(|_| step.is_carried_out_elsewhere());
        Self { step, answers, progress, others: stay.others() }
    }

    pub(super) fn answers(&self) -> Option<&Object> {
        self.answers.as_ref().map(|saved| &saved.answers)
    }

    /// Whether it is done: as another system says, where it has said anything, else as what the guest gave says.
    pub(super) fn is_complete(&self) -> bool {
        match &self.progress {
            Some(progress) => progress.status == ProgressStatus::Completed,
            None => precheck::is_complete(&self.step, self.answers(), self.others),
        }
    }

    /// What a deposit comes to in a stay of so many nights.
    fn deposit(&self, setup: &Setup, nights: i64) -> Option<Deposit> {
        match setup.costs.get(&self.step.id)? {
            Cost::Deposit(deposit) => Some(deposit.for_nights(&self.step, nights)),
            Cost::Fees(_) => None,
        }
    }
}

/// Pre-check-in of one stay.
pub(super) struct Precheckin {
    /// Whether the portal asks for it, of a stay that is not cancelled.
    pub is_enabled: bool,
    /// The steps the stay gets, in guest order.
    pub steps: Vec<Asked>,
    /// What was answered to steps that the stay no longer gets.
    pub earlier: HashMap<Uuid, Saved>,
    /// What was said of steps that the stay does not get.
    pub said: HashMap<Uuid, Progress>,
    /// How long the stay is.
    nights: i64,
    /// What became of it when it was submitted.
    pub submitted: Option<(PrecheckinStatus, Moment)>,
}

impl Precheckin {
    /// Reads what was answered; `steps` are those that reach the flat, as [`reaching`] has them.
    pub(super) fn load(context: &mut Context<'_, '_>, stay: &Stay, steps: &[Arc<Step>]) -> Result<Self> {
        let is_enabled = !stay.is_cancelled() && stay.portal().is_some_and(|portal| portal.is_precheckin_enabled);
        let (mut answers, mut said) = handed_in(context, stay.id)?;
        let facts = stay.facts();
        let shown = steps.iter().filter(|step| is_enabled && precheck::decide(&step.targeting, &facts).is_shown());
        let steps = shown.map(|step| Asked::new(step.clone(), answers.remove(&step.id), said.remove(&step.id), stay)).collect();
        let nights = precheck::days(facts.check_in, facts.check_out);
        Ok(Self { is_enabled, steps, earlier: answers, said, nights, submitted: submission(context, stay.id)? })
    }

    pub(super) fn status(&self) -> PrecheckinStatus {
        match self.submitted {
            Some((status, _)) => status,
            None if self.steps.iter().any(|asked| asked.answers.is_some()) => PrecheckinStatus::InProgress,
            None => PrecheckinStatus::NotStarted,
        }
    }

    /// Submits, where everything is done; 409 where it is not, or was before.
    pub(super) fn submit(&mut self, context: &mut Context<'_, '_>, stay: &Stay) -> Result<()> {
        self.require_open()?;
        let missing = self.steps.iter().filter(|asked| !asked.is_complete()).count();
        if missing > 0 {
            return Err(Error::conflict(format!("{missing} of the steps are not complete yet.")));
        }
        let is_reviewed = stay.portal().is_none_or(|portal| portal.is_manual_review_enabled);
        let status = outcome(is_reviewed, self.steps.iter().map(|asked| asked.step.as_ref()));
        let now = Moment(context.now());
        context.execute(&SUBMIT, values![stay.id, status.as_ref(), now])?;
        self.submitted = Some((status, now));
        Ok(())
    }

    /// 403 where pre-check-in is off, 409 once it has been submitted.
    fn require_open(&self) -> Result<()> {
        if !self.is_enabled {
            return Err(Error::forbidden("Pre-check-in is switched off."));
        }
        if self.submitted.is_some() {
            return Err(Error::conflict("Pre-check-in has been submitted already."));
        }
        Ok(())
    }

    /// Whether the guest may save a step now.
    fn is_open(&self) -> bool {
        self.require_open().is_ok()
    }

    /// Bytes of all that was answered.
    fn held(&self) -> u64 {
        let earlier = self.earlier.values().map(|saved| &saved.answers);
        self.steps.iter().filter_map(Asked::answers).chain(earlier).map(length_of).sum()
    }

    /// Saves the answers to a step on top of what was saved of it: 404 for one that is not shown, 409 once submitted, 400 for
    /// answers that do not fit it, and where the stay would hold more of them than it may. What makes it less is always taken.
    pub(super) fn save(&mut self, context: &mut Context<'_, '_>, stay: &Stay, setup: &Setup, step: Uuid, sent: Object) -> Result<()> {
        let is_shown = self.steps.iter().any(|asked| asked.step.id == step);
        if is_shown {
            self.require_open()?;
        }
        let (held, nights, now) = (self.held(), self.nights, Moment(context.now()));
        let asked = self.steps.iter_mut().find(|asked| asked.step.id == step).ok_or_else(|| Error::not_found("Step"))?;
        let offered = asked.deposit(setup, nights).map(|deposit| deposit.waivers).unwrap_or_default();
        let waivers: Vec<Uuid> = offered.iter().map(|waiver| waiver.id).collect();
        let today = now.0.to_zoned(stay.zone()).date();
        let ground = Ground { today, country: &context.organization.settings.country, waivers: &waivers };
        let mut issues = precheck::answer_issues(&asked.step, &sent, &ground);
        if !issues.is_empty() {
            for issue in &mut issues {
                issue.path.insert(0, "answers".into());
            }
            return Err(Error::issues(issues));
        }
        let answers = precheck::merged_answers(asked.step.step_type, asked.answers(), sent);
        let (before, after) = (asked.answers().map_or(0, length_of), length_of(&answers));
        if after > before && held - before + after > bounds::ANSWERS {
            return Err(bounds::too_long_answers());
        }
        let is_accepted = asked.step.step_type == StepType::Agreement && precheck::is_accepted(&answers);
        let acceptance = is_accepted.then(|| Acceptance::of(&asked.step, setup, now));
        let noted = acceptance.as_ref().map(store::Value::json).transpose()?.unwrap_or(store::Value::Null);
        context.execute(&PUT_ANSWER, values![stay.id, step, now, store::Value::json(&answers)?, noted])?;
        precheck::mark_used(context, step)?;
        asked.answers = Some(Saved { answers, saved_at: now, acceptance });
        Ok(())
    }

    /// The steps as the guest sees them.
    pub(super) fn views(&self, setup: &Setup) -> Vec<StepView> {
        self.steps.iter().map(|asked| self.view_of(asked, setup)).collect()
    }

    /// A step as the guest sees it; 404 for one that is not shown.
    pub(super) fn view(&self, step: Uuid, setup: &Setup) -> Result<StepView> {
        let asked = self.steps.iter().find(|asked| asked.step.id == step).ok_or_else(|| Error::not_found("Step"))?;
        Ok(self.view_of(asked, setup))
    }

    fn view_of(&self, asked: &Asked, setup: &Setup) -> StepView {
        asked.view(setup, self.nights, self.is_open())
    }
}

/// What a submission comes to: held for staff, unless the portal reviews nothing or none of the steps that could be held
/// is to be.
fn outcome<'s>(is_reviewed: bool, steps: impl Iterator<Item = &'s Step>) -> PrecheckinStatus {
    let mut reviewable = steps.filter(|step| step.step_type.is_reviewable()).peekable();
    let is_waived = reviewable.peek().is_some() && reviewable.all(|step| !step.is_manual_review_enabled);
    if !is_reviewed || is_waived { PrecheckinStatus::Approved } else { PrecheckinStatus::InReview }
}

/// The active steps that reach a flat, in guest order, whoever stays there; none where its portal does not ask for any.
pub(super) fn reaching(context: &mut Context<'_, '_>, flat: &Flat) -> Result<Vec<Arc<Step>>> {
    if !flat.portal().is_some_and(|portal| portal.is_precheckin_enabled) {
        return Ok(Vec::new());
    }
    let ids = scopes::reaching_ids(context, EntityType::PrecheckStep, &flat.targets())?;
    let mut steps: Vec<Arc<Step>> = precheck::among(context, ids)?.into_iter().map(Arc::new).collect();
    sort(&mut steps, flat.portal());
    Ok(steps)
}

/// Puts steps in the order in which a guest of this portal meets them.
pub(super) fn sort<S: Borrow<Step>>(steps: &mut [S], portal: Option<&Portal>) {
    let is_automatic = portal.is_none_or(|portal| portal.is_precheck_order_automatic);
    let key = |step: &Step| SortKey { step_type: step.step_type, sort_order: step.sort_order, created_at: step.created_at, id: step.id };
    steps.sort_by(|one, other| precheck::compare(&key(one.borrow()), &key(other.borrow()), is_automatic));
}

/// What is saved of a stay, and what was said of its steps, by step.
fn handed_in(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<(HashMap<Uuid, Saved>, HashMap<Uuid, Progress>)> {
    let (mut answers, mut said) = (HashMap::new(), HashMap::new());
    for row in context.rows(&ANSWERS, values![reservation])? {
        let step = row.get(0)?;
        if row.get(4)? {
            let Json(progress) = row.get(1)?;
            said.insert(step, progress);
        } else {
            let (Json(given), acceptance): (_, Option<Json<Acceptance>>) = (row.get(1)?, row.get(3)?);
            let acceptance = acceptance.map(|Json(acceptance)| acceptance);
            answers.insert(step, Saved { answers: given, saved_at: Moment(row.get(2)?), acceptance });
        }
    }
    Ok((answers, said))
}

fn submission(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<Option<(PrecheckinStatus, Moment)>> {
    let Some(row) = context.row(&SUBMISSION, values![reservation])? else { return Ok(None) };
    let status = row.get::<String>(0)?.parse().map_err(|_| Error::internal("a submission of an unknown status"))?;
    Ok(Some((status, Moment(row.get(1)?))))
}

/// Forgets what the guests of deleted reservations handed in.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute(&FORGET_ANSWERS, values![reservations])?;
    progress::forget(context, reservations)?;
    context.execute(&FORGET_SUBMISSION, values![reservations]).map(drop)
}

/// A step as the guest sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// Which step.
    pub id: Uuid,
    /// What it asks.
    pub step_type: StepType,
    /// Its own title, or else the built-in one of its type.
    pub title: String,
    /// Whether it is done: what the guest had to do, and what another system was to carry out where that has said anything.
    pub is_complete: bool,
    /// Whether the guest may save it now.
    pub is_open: bool,
    /// What to know about it, where the organization has written something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is agreed to, for an agreement in text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement_text: Option<String>,
    /// What is asked now, for additional questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<Vec<QuestionView>>,
    /// What is saved, where anything is. What was answered to a question stands beside that question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Object>,
    /// What each guest has to tell, for details of guests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_fields: Option<Vec<String>>,
    /// How many others come, for details of other guests; null where the reservation does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_guests: Option<Option<u32>>,
    /// Whether a name has to sign, for an agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_signature_required: Option<bool>,
    /// What is to be left, or taken in its place, for a damage deposit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deposit: Option<Deposit>,
    /// What is to be paid, for mandatory fees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fees: Option<Vec<Fee>>,
    /// How it stands with the system that carries it out, where that has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// A question as the guest sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionView {
    /// Which question.
    pub id: Uuid,
    /// How it is answered.
    pub kind: QuestionKind,
    /// What is asked.
    pub text: Option<String>,
    /// Whether the step is incomplete without an answer.
    pub is_required: bool,
    /// What can be chosen.
    pub options: Vec<OptionView>,
    /// What the guest has answered: `{optionIds}` or `{text}`.
    pub answer: Option<Value>,
}

/// An option as the guest sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OptionView {
    /// Which option.
    pub id: Uuid,
    /// What it is called.
    pub name: Option<String>,
}

/// The translations that showing a step takes.
pub(super) fn linked_texts(step: &Step) -> impl Iterator<Item = Uuid> {
    let own = [step.display_title_ml_text_id, step.write_only.guest_description_ml_text_id, agreement_text_id(step)];
    let questions: &[Question] = if step.step_type == StepType::AdditionalQuestions { &step.questions } else { &[] };
    let of_questions = questions.iter().flat_map(|question| {
        let names = question.options.iter().filter_map(|option| option.name_ml_text_id);
        [question.text_ml_text_id].into_iter().chain(names)
    });
    own.into_iter().flatten().chain(of_questions)
}

fn agreement_text_id(step: &Step) -> Option<Uuid> {
    if step.step_type == StepType::Agreement { step.agreement.contract_template_text_ml_text_id } else { None }
}

/// What is agreed to in a step, in the guest's language; nothing where the text is kept elsewhere.
pub(super) fn agreement_text(step: &Step, texts: &Texts) -> Option<String> {
    let written = || (step.step_type == StepType::Agreement).then(|| step.write_only.contract_template_text.clone()).flatten();
    texts.of(agreement_text_id(step)).or_else(written)
}

impl Asked {
    /// The step in the guest's language, in a stay of so many nights.
    fn view(&self, setup: &Setup, nights: i64, is_open: bool) -> StepView {
        let Setup { texts, language, costs, .. } = setup;
        let step = &self.step;
        let of_type = |step_type| step.step_type == step_type;
        let asks_questions = of_type(StepType::AdditionalQuestions);
        let given = || self.answers().cloned().unwrap_or_default();
        let questions = |answers: &Object| {
            let shown = precheck::shown_questions(&step.questions, answers);
            shown.into_iter().map(|question| question_view(question, answers, texts, language)).collect()
        };
        let required = || precheck::required_fields(step).into_iter().map(str::to_owned).collect();
        let fees = costs.get(&step.id).and_then(|cost| if let Cost::Fees(fees) = cost { Some(fees.clone()) } else { None });
        StepView {
            id: step.id,
            step_type: step.step_type,
            title: texts.of(step.display_title_ml_text_id).unwrap_or_else(|| in_language(language).0.step_title(step.step_type).to_owned()),
            is_complete: self.is_complete(),
            is_open,
            description: texts.of(step.write_only.guest_description_ml_text_id),
            agreement_text: agreement_text(step, texts),
            questions: asks_questions.then(|| questions(&given())),
            answers: self.answers().filter(|_| !asks_questions).cloned(),
            required_fields: (of_type(StepType::YourDetails) || of_type(StepType::OtherGuests)).then(required),
            expected_guests: of_type(StepType::OtherGuests).then_some(self.others),
            is_signature_required: of_type(StepType::Agreement).then(|| step.is_signature_required()),
            deposit: self.deposit(setup, nights),
            fees,
            progress: self.progress.clone(),
        }
    }
}

fn question_view(question: &Question, answers: &Object, texts: &Texts, language: &str) -> QuestionView {
    let option = |option: &QuestionOption| OptionView {
        id: option.id,
        name: option.answer.map(|answer| in_language(language).0.yes_or_no(answer).to_owned()).or_else(|| texts.of(option.name_ml_text_id)),
    };
    QuestionView {
        id: question.id,
        kind: question.kind,
        text: texts.of(Some(question.text_ml_text_id)),
        is_required: question.is_required,
        options: question.options.iter().map(option).collect(),
        answer: precheck::given_answer(question, answers),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The contract's sentence: approved at once when the portal's review is off, or when the shown steps that have
        /// isManualReviewEnabled all have it false (and there is one).
        #[test]
        fn approval_agrees_with_the_sentence(is_reviewed: bool, steps in prop::collection::vec((prop::sample::select(StepType::VARIANTS), any::<bool>()), 0..5)) {
            let now = Moment("2026-11-21T09:30:00Z".parse().unwrap());
            let shown: Vec<Step> = steps.iter().map(|(step_type, is_enabled)| Step {
                is_manual_review_enabled: *is_enabled, ..Step::new(Uuid::nil(), *step_type, "Step".into(), now)
            }).collect();
            let mut held = Vec::new();
            for (step_type, is_enabled) in steps {
                if ["additional_questions", "document_upload", "damage_deposit"].contains(&step_type.as_ref()) {
                    held.push(is_enabled);
                }
            }
            let is_approved = !is_reviewed || (!held.is_empty() && !held.contains(&true));
            prop_assert_eq!(outcome(is_reviewed, shown.iter()) == PrecheckinStatus::Approved, is_approved);
        }
    }

    #[test]
    fn a_name_and_its_status_find_each_other() {
        for status in PrecheckinStatus::VARIANTS {
            assert_eq!(status.as_ref().parse(), Ok(*status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_ref());
        }
    }
}
