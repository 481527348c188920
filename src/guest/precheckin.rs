//! Pre-check-in of one stay: which steps it gets, what was answered, where it stands (contract: Guest interface).

use std::borrow::Borrow;
use std::collections::HashMap;
use std::ops::Not;
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
use super::decision::{Hold, Submitted};
use super::files::{self, FileView, GuestFile};
use super::progress::{self, Progress, ProgressStatus};
use super::setup::{Setup, Which, length_of};
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
    SUBMISSION = "select status, submitted_at, doc from precheckin where organization_id = ?1 and reservation_id = ?2";
    /// Submits, for the first time or again.
    SUBMIT = "insert into precheckin (organization_id, reservation_id, status, submitted_at, property_id, doc)
        values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (organization_id, reservation_id) do update set status = excluded.status, submitted_at = excluded.submitted_at,
        property_id = excluded.property_id, doc = excluded.doc";
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
    /// Submitted, and sent back for some of its steps.
    ChangesRequested,
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

/// What there is of a step of a stay.
#[derive(Default)]
pub(super) struct Given {
    /// What the guest saved.
    pub saved: Option<Saved>,
    /// The files that were handed in with it, oldest first.
    pub files: Vec<GuestFile>,
    /// How it stands, where another system carries it out and has said so.
    pub progress: Option<Progress>,
}

impl Given {
    /// Whether any of it is from the guest.
    pub(super) fn is_of_guest(&self) -> bool {
        self.saved.is_some() || !self.files.is_empty()
    }
}

/// A step that a stay gets, and what its guest has answered.
pub(super) struct Asked {
    pub step: Arc<Step>,
    /// What there is of it.
    pub given: Given,
    /// How many guests come besides the one who booked, where that is known.
    others: Option<u32>,
    /// What keeps the guest from saving it.
    hold: Hold,
}

impl Asked {
    /// A step of a stay. What was said of it counts while it is one that others carry out.
    pub(super) fn new(step: Arc<Step>, mut given: Given, stay: &Stay, hold: Hold) -> Self {
        given.progress = given.progress.filter(|_| step.is_carried_out_elsewhere());
        Self { step, given, others: stay.others(), hold }
    }

    pub(super) fn answers(&self) -> Option<&Object> {
        self.given.saved.as_ref().map(|saved| &saved.answers)
    }

    /// Whether it is done: as another system says, where it has said anything, else as what the guest gave says.
    pub(super) fn is_complete(&self) -> bool {
        let documents: Vec<&str> = self.given.files.iter().filter_map(GuestFile::document_type).collect();
        match &self.given.progress {
            Some(progress) => progress.status == ProgressStatus::Completed,
            None => precheck::is_complete(&self.step, self.answers(), &documents, self.others),
        }
    }

    /// What a deposit comes to in a stay of so many nights.
    fn deposit(&self, setup: &Setup, nights: i64) -> Option<Deposit> {
        match setup.costs.get(&self.step.id)? {
            Cost::Deposit(deposit) => Some(deposit.for_nights(&self.step, nights)),
            Cost::Fees(_) => None,
        }
    }

    /// Whether the guest may save it now.
    pub(super) fn is_open(&self) -> bool {
        self.hold.is_open(self.is_complete())
    }
}

/// Pre-check-in of one stay.
pub(super) struct Precheckin {
    /// Whether the portal asks for it, of a stay that is not cancelled.
    pub is_enabled: bool,
    /// The steps the stay gets, in guest order.
    pub steps: Vec<Asked>,
    /// What there is of steps that the stay does not get, or no longer.
    pub earlier: HashMap<Uuid, Given>,
    /// How long the stay is.
    nights: i64,
    /// What has become of it, once it was submitted.
    pub submitted: Option<Submitted>,
}

impl Precheckin {
    /// Reads what was answered; `steps` are those that reach the flat, as [`reaching`] has them.
    pub(super) fn load(context: &mut Context<'_, '_>, stay: &Stay, steps: &[Arc<Step>]) -> Result<Self> {
        let mut given = handed_in(context, stay.id)?;
        if steps.iter().any(|step| step.step_type.takes_files()) {
            add_files(context, stay.id, &mut given)?;
        }
        Ok(Self::of(stay, steps, given, submission(context, stay.id)?))
    }

    /// The same where nothing has been answered.
    pub(super) fn unanswered(stay: &Stay, steps: &[Arc<Step>]) -> Self {
        Self::of(stay, steps, HashMap::new(), None)
    }

    fn of(stay: &Stay, steps: &[Arc<Step>], mut given: HashMap<Uuid, Given>, submitted: Option<Submitted>) -> Self {
        let is_enabled = !stay.is_cancelled() && stay.portal().is_some_and(|portal| portal.is_precheckin_enabled);
        let facts = stay.facts();
        let shown = steps.iter().filter(|step| is_enabled && precheck::decide(&step.targeting, &facts).is_shown());
        let asked = |step: &Arc<Step>| {
            let hold = Hold::of(submitted.as_ref(), step.id);
            Asked::new(step.clone(), given.remove(&step.id).unwrap_or_default(), stay, hold)
        };
        let steps = shown.map(asked).collect();
        let nights = precheck::days(facts.check_in, facts.check_out);
        Self { is_enabled, steps, earlier: given, nights, submitted }
    }

    pub(super) fn status(&self) -> PrecheckinStatus {
        match &self.submitted {
            Some(submitted) => submitted.status,
            None if self.steps.iter().any(|asked| asked.given.is_of_guest()) => PrecheckinStatus::InProgress,
            None => PrecheckinStatus::NotStarted,
        }
    }

    /// Submits, where everything is done; 409 where it is not, or was before and nobody has asked for changes since.
    pub(super) fn submit(&mut self, context: &mut Context<'_, '_>, stay: &Stay) -> Result<()> {
        self.require_open(None)?;
        let missing = self.steps.iter().filter(|asked| !asked.is_complete()).count();
        if missing > 0 {
            return Err(Error::conflict(format!("{missing} of the steps are not complete yet.")));
        }
        let is_reviewed = stay.portal().is_none_or(|portal| portal.is_manual_review_enabled);
        let status = outcome(is_reviewed, self.steps.iter().map(|asked| asked.step.as_ref()));
        let at = Moment(context.now());
        let decision = self.submitted.take().map(|before| before.decision.superseded()).unwrap_or_default();
        let doc = store::Value::json(&decision)?;
        context.execute_along(&SUBMIT, values![stay.id, status.as_ref(), at, stay.reservation.property_id, doc])?;
        self.submitted = Some(Submitted { status, at, decision });
        for asked in &mut self.steps {
            asked.hold = Hold::Submitted;
        }
        Ok(())
    }

    /// 403 where pre-check-in is off, 409 once it has been submitted; while changes are requested, 409 for a step that stays
    /// as it is.
    pub(super) fn require_open(&self, step: Option<Uuid>) -> Result<()> {
        if !self.is_enabled {
            return Err(Error::forbidden("Pre-check-in is switched off."));
        }
        if self.submitted.as_ref().is_some_and(|submitted| submitted.status != PrecheckinStatus::ChangesRequested) {
            return Err(Error::conflict("Pre-check-in has been submitted already."));
        }
        if self.steps.iter().any(|asked| Some(asked.step.id) == step && !asked.is_open()) {
            return Err(Error::conflict("Changes are asked of other steps; this one stays as it was submitted."));
        }
        Ok(())
    }

    /// Bytes of all that was answered.
    fn held(&self) -> u64 {
        let earlier = self.earlier.values().filter_map(|given| given.saved.as_ref()).map(|saved| &saved.answers);
        self.steps.iter().filter_map(Asked::answers).chain(earlier).map(length_of).sum()
    }

    /// Saves the answers to a step on top of what was saved of it: 404 for one that is not shown, 409 for one that is submitted,
    /// 400 for answers that do not fit it, and where the stay would hold more of them than it may. What makes it less is always
    /// taken.
    pub(super) fn save(&mut self, context: &mut Context<'_, '_>, stay: &Stay, setup: &Setup, step: Uuid, sent: Object) -> Result<()> {
        let is_shown = self.steps.iter().any(|asked| asked.step.id == step);
        if is_shown {
            self.require_open(Some(step))?;
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
        context.execute_along(&PUT_ANSWER, values![stay.id, step, now, store::Value::json(&answers)?, noted])?;
        precheck::mark_used(context, step)?;
        asked.given.saved = Some(Saved { answers, saved_at: now, acceptance });
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
        asked.view(setup, self.nights)
    }
}

/// What a submission comes to: held for staff, unless the portal reviews nothing or none of the steps that could be held
/// is to be.
fn outcome<'s>(is_reviewed: bool, steps: impl Iterator<Item = &'s Step>) -> PrecheckinStatus {
    let mut reviewable = steps.filter(|step| step.step_type.is_reviewable()).peekable();
    let is_waived = reviewable.peek().is_some() && reviewable.all(|step| !step.is_manual_review_enabled);
    if !is_reviewed || is_waived { PrecheckinStatus::Approved } else { PrecheckinStatus::InReview }
}

/// The steps that reach a flat, in guest order, whoever stays there; none where its portal does not ask for any.
pub(super) fn reaching(context: &mut Context<'_, '_>, flat: &Flat, which: Which) -> Result<Vec<Arc<Step>>> {
    if !flat.portal().is_some_and(|portal| portal.is_precheckin_enabled) {
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

/// Puts steps in the order in which a guest of this portal meets them.
pub(super) fn sort<S: Borrow<Step>>(steps: &mut [S], portal: Option<&Portal>) {
    let is_automatic = portal.is_none_or(|portal| portal.is_precheck_order_automatic);
    let key = |step: &Step| SortKey { step_type: step.step_type, sort_order: step.sort_order, created_at: step.created_at, id: step.id };
    steps.sort_by(|one, other| precheck::compare(&key(one.borrow()), &key(other.borrow()), is_automatic));
}

/// What is saved of a stay, and what was said of its steps, by step; the files stand elsewhere.
fn handed_in(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<HashMap<Uuid, Given>> {
    let mut given = HashMap::<Uuid, Given>::new();
    for row in context.rows(&ANSWERS, values![reservation])? {
        let of_step = given.entry(row.get(0)?).or_default();
        if row.get(4)? {
            let Json(progress) = row.get(1)?;
            of_step.progress = Some(progress);
        } else {
            let (Json(answers), acceptance): (_, Option<Json<Acceptance>>) = (row.get(1)?, row.get(3)?);
            let acceptance = acceptance.map(|Json(acceptance)| acceptance);
            of_step.saved = Some(Saved { answers, saved_at: Moment(row.get(2)?), acceptance });
        }
    }
    Ok(given)
}

/// Adds the files of a stay to what there is of its steps.
pub(super) fn add_files(context: &mut Context<'_, '_>, reservation: Uuid, given: &mut HashMap<Uuid, Given>) -> Result<()> {
    for (step, files) in files::of_stay(context, reservation)? {
        given.entry(step).or_default().files = files;
    }
    Ok(())
}

/// What has become of a stay's pre-check-in, once it was submitted.
pub(super) fn submission(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<Option<Submitted>> {
    context.row(&SUBMISSION, values![reservation])?.map(|row| Submitted::from_row(&row, 0)).transpose()
}

/// Forgets what the guests of deleted reservations handed in.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_along(&FORGET_ANSWERS, values![reservations])?;
    progress::forget(context, reservations)?;
    context.execute_along(&FORGET_SUBMISSION, values![reservations])
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
    /// Whether the guest may save it now: until everything is submitted, and again once it is sent back.
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
    /// When it was accepted, for an agreement that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Moment>,
    /// What is to be left, or taken in its place, for a damage deposit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deposit: Option<Deposit>,
    /// What is to be paid, for mandatory fees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fees: Option<Vec<Fee>>,
    /// How it stands with the system that carries it out, where that has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// What was handed in with it, oldest first, for document uploads and identity checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<FileView>>,
    /// The sorts of documents of which each has to be handed in, for the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_document_types: Option<Vec<String>>,
    /// Whether guests do not get it, because it is not active: in a preview only; absent otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_inactive: bool,
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
    /// What the guest reads above it.
    pub(super) fn title(&self, texts: &Texts, language: &str) -> String {
        let step = &self.step;
        texts.of(step.display_title_ml_text_id).unwrap_or_else(|| in_language(language).0.step_title(step.step_type).to_owned())
    }

    /// The questions that are asked now, of a step that asks any.
    pub(super) fn questions(&self, texts: &Texts, language: &str) -> Option<Vec<QuestionView>> {
        let given = self.answers().cloned().unwrap_or_default();
        (self.step.step_type == StepType::AdditionalQuestions).then(|| {
            let shown = precheck::shown_questions(&self.step.questions, &given);
            shown.into_iter().map(|question| question_view(question, &given, texts, language)).collect()
        })
    }

    /// The step in the guest's language, in a stay of so many nights.
    fn view(&self, setup: &Setup, nights: i64) -> StepView {
        let Setup { texts, language, costs, .. } = setup;
        let step = &self.step;
        let of_type = |step_type| step.step_type == step_type;
        let questions = self.questions(texts, language);
        let required = || precheck::required_fields(step).into_iter().map(str::to_owned).collect();
        let fees = costs.get(&step.id).and_then(|cost| if let Cost::Fees(fees) = cost { Some(fees.clone()) } else { None });
        StepView {
            id: step.id,
            step_type: step.step_type,
            title: self.title(texts, language),
            is_complete: self.is_complete(),
            is_open: self.is_open(),
            description: texts.of(step.write_only.guest_description_ml_text_id),
            answers: self.answers().filter(|_| questions.is_none()).cloned(),
            agreement_text: agreement_text(step, texts),
            questions,
            required_fields: (of_type(StepType::YourDetails) || of_type(StepType::OtherGuests)).then(required),
            expected_guests: of_type(StepType::OtherGuests).then_some(self.others),
            is_signature_required: of_type(StepType::Agreement).then(|| step.is_signature_required()),
            accepted_at: self.given.saved.as_ref().and_then(|saved| saved.acceptance.as_ref()).map(|acceptance| acceptance.accepted_at),
            deposit: self.deposit(setup, nights),
            fees,
            progress: self.given.progress.clone(),
            files: step.step_type.takes_files().then(|| self.given.files.iter().map(GuestFile::view).collect()),
            required_document_types: step.step_type.takes_files().then(|| step.required_documents().to_vec()),
            is_inactive: !step.is_active,
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
