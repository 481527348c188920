//! The flags of a submission: the reasons for which staff should look at it.
//!
//! The service raises flags when a guest submits, and stores these flags with the submission. It
//! reads the flags of other systems from their last reports, so a new report changes them.
//! `precheckin.rs` decides whether a submission with flags waits for review by staff.

use engine::operation::Object;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::progress::{ProgressReport, ProgressStatus};
use super::step_of_stay::StepOfStay;
use super::step_view::QuestionView;
use crate::precheck::{self, AnswerForm, ReviewRule, Step, UNDERAGE};

/// The reason for a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlagKind {
    /// Staff check this step for every guest.
    Step,
    /// The answer to a question raised the flag.
    Answer,
    /// A check of the guest's identity, such as the minimum age, raised the flag.
    Check,
    /// Another system raised the flag, by a message or by the report of a failure.
    External,
}

/// A flag as it is stored with the submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredFlag {
    /// The step that raised the flag.
    pub step_id: Uuid,
    pub kind: FlagKind,
    /// For `Answer`, the id of the question. For `Check`, the name of the identity check.
    #[serde(default)]
    pub key: Option<String>,
    /// The message that another system sent with its flag. `None` if it sent none, or if this
    /// service raised the flag.
    #[serde(default)]
    pub message: Option<String>,
}

/// A flag, as staff read it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlagView {
    /// Step that raised the flag.
    pub step_id: Uuid,
    /// Reason: `step` for a step that staff always look at, `answer` for an answer, `check` for an
    /// identity check, `external` for another system's report.
    pub kind: FlagKind,
    /// For `answer`, the id of the question; for `check`, the name of the identity check; otherwise
    /// null.
    pub key: Option<String>,
    /// The reason for the flag, as a sentence.
    pub message: String,
}

impl StoredFlag {
    const fn new(step_id: Uuid, kind: FlagKind, key: Option<String>) -> Self {
        Self {
            step_id,
            kind,
            key,
            message: None,
        }
    }

    /// Returns the flag as staff read it. `questions` are the questions of the flag's step, in the
    /// language of the reader.
    pub(super) fn view(self, questions: &[QuestionView]) -> FlagView {
        let key = self.key.as_deref().unwrap_or_default();
        let message = match self.kind {
            FlagKind::Step => "This step is looked at for every guest.".to_owned(),
            FlagKind::Answer => questions
                .iter()
                .find(|question| question.id.to_string() == key)
                .map_or_else(|| "An answer of the guest.".to_owned(), question_and_answer),
            FlagKind::Check => precheck::finding(key).unwrap_or(key).to_owned(),
            FlagKind::External => self
                .message
                .unwrap_or_else(|| "The background check failed.".to_owned()),
        };
        FlagView {
            step_id: self.step_id,
            kind: self.kind,
            key: self.key,
            message,
        }
    }
}

/// Returns a question and its answer as one line.
fn question_and_answer(question: &QuestionView) -> String {
    let answer = question.answer.as_ref().unwrap_or(&Value::Null);
    let is_chosen = |id: Uuid| {
        let chosen = answer["optionIds"].as_array();
        chosen.is_some_and(|chosen| chosen.contains(&Value::String(id.to_string())))
    };
    let names = question
        .options
        .iter()
        .filter(|option| is_chosen(option.id))
        .filter_map(|option| option.name.as_deref());
    let answers: Vec<&str> = names.chain(answer["text"].as_str()).collect();
    let text = question.text.as_deref().unwrap_or_default();
    format!("“{text}”: {}", answers.join(", "))
}

/// Returns the flags that a submission raises: those for answers, and those for guests who are
/// below the minimum age on the check-in date.
pub(super) fn raised_flags(steps: &[StepOfStay], check_in: Date) -> Vec<StoredFlag> {
    let dates: Vec<Date> = steps.iter().flat_map(birth_dates).collect();
    let of_step = |stay_step: &StepOfStay| {
        let step = &stay_step.step;
        let own = if step.is_manual_review_enabled {
            of_answers(step, stay_step.answers())
        } else {
            Vec::new()
        };
        let youngest = dates
            .iter()
            .map(|birth| precheck::age_on(*birth, check_in))
            .min();
        let is_underage = youngest
            .zip(minimum_age(step))
            .is_some_and(|(age, minimum)| i64::from(age) < i64::from(minimum));
        let underage = is_underage
            .then(|| StoredFlag::new(step.id, FlagKind::Check, Some(UNDERAGE.to_owned())));
        own.into_iter().chain(underage).collect::<Vec<_>>()
    };
    steps.iter().flat_map(of_step).collect()
}

/// Returns the flags that the answers to a step raise.
fn of_answers(step: &Step, answers: Option<&Object>) -> Vec<StoredFlag> {
    let whole = || StoredFlag::new(step.id, FlagKind::Step, None);
    match (step.step_type.review_rule(), answers) {
        (ReviewRule::Always, _) => vec![whole()],
        (ReviewRule::Questions, Some(answers)) => {
            let flagged = precheck::flagged_questions(&step.questions, answers);
            // If no option of the step's questions is marked for review, any answers flag the step
            // as a whole.
            if flagged.is_empty() && !precheck::has_flags(&step.questions) {
                return vec![whole()];
            }
            let flag = |id: Uuid| StoredFlag::new(step.id, FlagKind::Answer, Some(id.to_string()));
            flagged.into_iter().map(flag).collect()
        }
        (ReviewRule::Questions, None) | (ReviewRule::Never, _) => Vec::new(),
    }
}

/// Returns the minimum age of guests in an identity check. The submission is flagged if a guest is
/// younger. Returns `None` if the step checks no identity, or if its policy ignores the age.
fn minimum_age(step: &Step) -> Option<u32> {
    let settings = &step.write_only;
    precheck::flagged_below(
        settings.identity_flag_policy.as_ref(),
        settings.minimum_guest_age,
    )
    .filter(|_| step.step_type.checks_identity())
}

/// Returns the birth date of a guest, if it is a valid date.
fn birth(guest: &Object) -> Option<Date> {
    guest.get("birthDate")?.as_str()?.trim().parse().ok()
}

/// Returns the birth dates of the guests in the answers to a step.
fn birth_dates(stay_step: &StepOfStay) -> Vec<Date> {
    let Some(answers) = stay_step.answers() else {
        return Vec::new();
    };
    match stay_step.step.step_type.answer_form() {
        AnswerForm::LeadGuest => birth(answers).into_iter().collect(),
        AnswerForm::OtherGuests => {
            let guests = answers.get("guests").and_then(Value::as_array);
            let guests = guests.into_iter().flatten().filter_map(Value::as_object);
            guests.filter_map(birth).collect()
        }
        AnswerForm::Confirmation
        | AnswerForm::Questions
        | AnswerForm::Agreement
        | AnswerForm::Consent
        | AnswerForm::DepositChoice => Vec::new(),
    }
}

/// Returns the flags that follow from the last report of another system on a step: one for each
/// check that raised a flag, one for a failed background check, and one for each message of the
/// report.
pub(super) fn reported_flags(step: &Step, report: Option<&ProgressReport>) -> Vec<StoredFlag> {
    let Some(report) = report else {
        return Vec::new();
    };
    let check = |name: &String| StoredFlag::new(step.id, FlagKind::Check, Some(name.clone()));
    let has_failed =
        step.step_type.checks_background() && report.progress.status == ProgressStatus::Failed;
    let failure = has_failed.then(|| StoredFlag::new(step.id, FlagKind::External, None));
    let sentence = |sentence: &String| StoredFlag {
        message: Some(sentence.clone()),
        ..StoredFlag::new(step.id, FlagKind::External, None)
    };
    let checks = report.raised.iter().map(check);
    let sentences = report.flags.iter().map(sentence);
    checks.chain(failure).chain(sentences).collect()
}

/// Returns all flags of a submission, each once: in the order of the steps, and at the end those of
/// steps that the stay no longer gets.
pub(super) fn all_flags(steps: &[StepOfStay], stored: &[StoredFlag]) -> Vec<StoredFlag> {
    let of_step = |stay_step: &StepOfStay| {
        let id = stay_step.step.id;
        let stored = stored
            .iter()
            .filter(move |flag| flag.step_id == id)
            .cloned();
        let reported = reported_flags(&stay_step.step, stay_step.stored.report.as_ref());
        stored.chain(reported).collect::<Vec<_>>()
    };
    let is_of_removed_step = |flag: &&StoredFlag| {
        steps
            .iter()
            .all(|stay_step| stay_step.step.id != flag.step_id)
    };
    let of_removed_steps = stored.iter().filter(is_of_removed_step).cloned();
    let mut flags = Vec::new();
    for flag in steps.iter().flat_map(of_step).chain(of_removed_steps) {
        if !flags.contains(&flag) {
            flags.push(flag);
        }
    }
    flags
}
