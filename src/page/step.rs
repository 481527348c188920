//! A step by itself: what it asks, what was typed and refused, or, once it is closed, what was answered.

use askama::Template;
use engine::error::{Error, Result};

use super::fault::{Fault, Faults, Lack};
use super::fields::{Field, Filling, Group, Input};
use super::form::Fields;
use super::frame::Frame;
use super::given::{self, Given};
use super::seen::{Standing, Status, Step};
use super::shown::Shown;
use super::summary::Summary;
use super::uploads::{self, Files};
use crate::precheck::StepType;
use crate::words::fill;

#[derive(Template)]
#[template(path = "page/step.html")]
struct StepPage<'v> {
    frame: Frame<'v>,
    step: &'v Step,
    position: String,
    summary: Option<Summary>,
    /// What staff wrote, of a step that was sent back.
    sent_back: Option<&'v str>,
    note: Option<&'static str>,
    /// What happens, where the organization's own words do not say it.
    sentence: Option<&'static str>,
    progress: Option<ProgressCard<'v>>,
    /// What each fee is called, and what it comes to.
    fees: Vec<(&'v str, String)>,
    /// When an agreement was accepted that can still be changed.
    accepted: Option<String>,
    files: Option<Files<'v>>,
    form: Option<StepForm<'v>>,
    action: String,
    given: Vec<Given>,
    /// Where it goes on without this form.
    onward: Option<String>,
}

/// How a step stands that others carry out.
struct ProgressCard<'v> {
    standing: &'static str,
    is_bad: bool,
    message: Option<&'v str>,
    amount: Option<String>,
    action: Option<&'v str>,
}

/// What a step asks.
struct StepForm<'v> {
    groups: Vec<Group<'v>>,
    /// Whether sending it is all there is to it.
    is_confirmation: bool,
    adds_guests: bool,
    footnote: Option<String>,
    submit: &'static str,
}

/// What of a form was refused, and why.
#[derive(Debug, Default)]
pub struct Refused {
    /// What was typed.
    pub typed: Option<Fields>,
    /// What is wrong with it.
    pub faults: Faults,
    /// What is wrong with all of it.
    pub said: Option<&'static str>,
}

/// How a step is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// How many guests are to be filled in.
    pub guests: Option<usize>,
    /// Whether what it lacks is pointed out.
    pub shows_lacks: bool,
}

/// The page of a step.
pub fn render(shown: &Shown, step: &Step, asked: Asked, refused: Option<&Refused>) -> Result<String> {
    let is_open = shown.is_open(step);
    let lacking = if asked.shows_lacks && is_open && refused.is_none() { lacks(step) } else { Faults::default() };
    let faults = refused.map_or(&lacking, |refused| &refused.faults);
    let filling = Filling { words: shown.words, typed: refused.and_then(|refused| refused.typed.as_ref()), faults };
    let form = if is_open { form(shown, step, asked, &filling) } else { None };
    let files = takes_files(step).then(|| uploads::files(shown, step, is_open, faults)).flatten();
    let words = shown.words;
    let fields = form.iter().flat_map(|form| &form.groups).flat_map(|group| &group.fields);
    let said = refused.and_then(|refused| refused.said);
    let summary = Summary::of(fields, files.as_ref(), faults, said, words);
    let position = shown.position(step.id);
    let is_textless = step.step_type == StepType::Agreement && step.agreement_text.is_none();
    let is_done_by_files = takes_files(step) && is_open && form.is_none();
    StepPage {
        frame: Frame::of(shown, Some(&format!("{position}: {}", step.title))),
        position,
        sent_back: (is_open && shown.view.precheckin.status == Status::ChangesRequested)
            .then_some(shown.view.precheckin.message.as_deref())
            .flatten(),
        note: note(shown, step, is_open, summary.is_some()),
        sentence: words
            .what_happens(step.step_type)
            .filter(|_| step.description.is_none())
            .or(is_textless.then_some(words.agreement.elsewhere)),
        progress: progress(shown, step),
        fees: fees(shown, step),
        accepted: given::accepted(step, shown).filter(|_| is_open),
        action: shown.links.step(step.id),
        given: if is_open { Vec::new() } else { given::given(step, shown) },
        onward: (step.is_complete && (is_done_by_files || form.is_none()) && is_open).then(|| onward(shown, step)),
        summary,
        files,
        form,
        step,
    }
    .render()
    .map_err(Error::internal)
}

/// Where a guest goes on behind a step.
#[must_use]
pub fn onward(shown: &Shown, step: &Step) -> String {
    shown.next(Some(step.id)).map_or_else(|| shown.links.review(), |next| shown.links.step(next.id))
}

const fn takes_files(step: &Step) -> bool {
    matches!(step.step_type, StepType::DocumentUpload | StepType::IdentityCheck)
}

/// What is said of it before anything else: that it is handed in or done, or that there is more to it than was saved.
fn note(shown: &Shown, step: &Step, is_open: bool, has_summary: bool) -> Option<&'static str> {
    let words = shown.words;
    if shown.view.precheckin.status.is_submitted() {
        return Some(words.errors.already_submitted);
    }
    if !is_open && step.is_complete && !shown.is_preview {
        return Some(words.precheckin.done);
    }
    let has_begun = step.answers.is_some() || step.questions.iter().flatten().any(|question| question.answer.is_some());
    (is_open && has_begun && !step.is_complete && !has_summary).then_some(words.precheckin.more)
}

/// What keeps a step that was saved from being complete.
fn lacks(step: &Step) -> Faults {
    let mut faults = Faults::default();
    if step.is_complete {
        return faults;
    }
    for question in step.questions.iter().flatten().filter(|question| question.is_required) {
        let saved = question.answer.as_ref().unwrap_or(&serde_json::Value::Null);
        let is_text = question.kind == crate::precheck::QuestionKind::FreeFormInput;
        let is_said = saved["text"].as_str().is_some_and(|text| !text.trim().is_empty());
        let is_chosen = saved["optionIds"].as_array().is_some_and(|chosen| !chosen.is_empty());
        if is_text && !is_said {
            faults.add(&super::form::text_field(question.id), Lack::Value);
        } else if !is_text && !is_chosen {
            faults.add(&super::form::choice_field(question.id), Lack::Choice);
        }
    }
    if step.step_type == StepType::OtherGuests {
        faults.0.push(Fault { field: "guests".to_owned(), lack: Lack::Guests });
    }
    faults
}

fn form<'v>(shown: &'v Shown, step: &'v Step, asked: Asked, filling: &Filling<'v>) -> Option<StepForm<'v>> {
    let words = shown.words;
    let of = |fields: Vec<Field<'v>>| StepForm {
        groups: vec![Group { legend: None, fields, remove: None }],
        is_confirmation: false,
        adds_guests: false,
        footnote: None,
        submit: words.precheckin.save_and_continue,
    };
    let guest = &shown.view.reservation.guest;
    let booked = |name: &str| match name {
        "firstName" => guest.first_name.as_deref(),
        "lastName" => guest.last_name.as_deref(),
        _ => None,
    };
    Some(match step.step_type {
        StepType::AdditionalQuestions => of(filling.questions(step)),
        StepType::Agreement => of(filling.agreement(step)),
        StepType::YourDetails => StepForm { groups: vec![filling.details(step, booked)], ..of(Vec::new()) },
        StepType::OtherGuests => {
            let groups = filling.guests(step, asked.guests);
            let hint = match step.expected_guests {
                Some(0) | None => words.fields.guests_hint.to_owned(),
                Some(expected) => fill(words.fields.guests_expected, &[("n", &expected.to_string())]),
            };
            let adds_guests = groups.len() < super::form::MOST_GUESTS;
            StepForm { groups, adds_guests, footnote: Some(hint), ..of(Vec::new()) }
        }
        StepType::DamageDeposit if carried_out(step) => return None,
        StepType::DamageDeposit => StepForm {
            footnote: Some(words.deposit.not_charged.to_owned()),
            ..of(vec![filling.deposit(step, given::offered(step, shown))])
        },
        // What files complete needs no word besides.
        StepType::DocumentUpload | StepType::IdentityCheck if !step.required_document_types.is_empty() => return None,
        _ if step.is_complete || carried_out(step) => return None,
        _ => StepForm {
            groups: Vec::new(),
            is_confirmation: true,
            footnote: is_carried_out(step.step_type).then(|| words.progress.host_sees_to_it.to_owned()),
            submit: words.precheckin.confirm,
            ..of(Vec::new())
        },
    })
}

/// Whether others carry out a step of a type.
const fn is_carried_out(step_type: StepType) -> bool {
    matches!(
        step_type,
        StepType::IdentityCheck
            | StepType::BackgroundCheck
            | StepType::AuthorityReporting
            | StepType::MandatoryFee
            | StepType::DamageDeposit
            | StepType::ScreenAndProtect
    )
}

/// Whether others have said how it stands: then a guest's word adds nothing.
const fn carried_out(step: &Step) -> bool {
    step.progress.is_some()
}

fn progress<'v>(shown: &Shown, step: &'v Step) -> Option<ProgressCard<'v>> {
    let progress = step.progress.as_ref()?;
    let words = &shown.words.progress;
    let amount = shown.money(progress.amount_cents, progress.currency.as_deref());
    Some(ProgressCard {
        standing: match progress.status {
            Standing::Pending => words.pending,
            Standing::ActionRequired => words.action_required,
            Standing::Completed => words.completed,
            Standing::Failed => words.failed,
        },
        is_bad: matches!(progress.status, Standing::ActionRequired | Standing::Failed),
        message: progress.message.as_deref(),
        amount: amount.map(|amount| fill(words.amount, &[("amount", &amount)])),
        action: progress.action_url.as_deref().filter(|_| progress.status != Standing::Completed && !shown.is_preview),
    })
}

fn fees<'v>(shown: &Shown, step: &'v Step) -> Vec<(&'v str, String)> {
    let amount = |fee: &super::seen::Fee| shown.money(fee.amount_cents, fee.currency.as_deref()).unwrap_or_default();
    step.fees.iter().map(|fee| (fee.name.as_str(), amount(fee))).collect()
}
