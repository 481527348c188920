//! The page of a step. It shows the step's form, or a refused form with its faults. If the guest
//! cannot save the step, it shows the saved answers.

use std::borrow::Cow;

use askama::Template;
use engine::error::{Error, Result};
use features::guest::{PrecheckinStatus, StepView, text_hash};
use features::precheck::{AnswerForm, Fee, FileUse, StepState};
use features::words::{fill, what_happens};

use super::answers::{self, LabelledAnswer};
use super::fault::{FaultKind, Faults, FieldFault};
use super::fields::{FieldGroup, FieldInput, FieldValues, PageField};
use super::form::{FormFields, SHOWN_TEXT};
use super::frame::{FILES_SCRIPT, PageFrame, TextLanguage};
use super::page_stay::PageStay;
use super::step_mark;
use super::summary::Summary;
use super::uploads::{self, Files};

#[derive(Template)]
#[template(path = "step.html")]
struct StepPage<'v> {
    frame: PageFrame<'v>,
    step: &'v StepView,
    position: String,
    summary: Option<Summary>,
    /// The message that staff wrote when they sent the step back for changes.
    sent_back: Option<&'v str>,
    note: Option<&'static str>,
    /// A built-in sentence about the step. If the host has written no description, the sentence
    /// explains the type of the step. If an agreement has no text, the sentence says how the guest
    /// receives or signs the agreement.
    sentence: Option<&'static str>,
    progress: Option<ProgressCard<'v>>,
    /// The name and the amount of each fee.
    fees: Vec<(&'v str, String)>,
    /// The total of the fees; `None` if there is only a single fee or the fees have different
    /// currencies.
    total: Option<String>,
    /// The text of an agreement and its language, where `None` means the requested language. A page
    /// with a form shows the current text, which the guest must accept. A page without a form shows
    /// the text that the guest has accepted.
    contract: Option<(&'v str, TextLanguage<'v>)>,
    /// A sentence that says when the guest accepted the agreement. Set only if the guest can still
    /// change the step.
    accepted: Option<String>,
    files: Option<Files<'v>>,
    form: Option<StepForm<'v>>,
    action: String,
    answers: Vec<LabelledAnswer<'v>>,
    /// The link to the next page. Set only if the step has no form.
    onward: Option<String>,
}

/// The progress of a step that another system, such as an identity provider, completes.
struct ProgressCard<'v> {
    state: &'static str,
    is_bad: bool,
    message: Option<&'v str>,
    amount: Option<String>,
    action: Option<&'v str>,
}

/// The form with which the guest fills in a step.
struct StepForm<'v> {
    groups: Vec<FieldGroup<'v>>,
    /// Whether the form has no fields. By sending it, the guest confirms the step.
    is_confirmation: bool,
    adds_guests: bool,
    footnote: Option<String>,
    submit: &'static str,
}

/// A refused form. The page shows it again, with the reasons for the refusal.
#[derive(Debug, Default)]
pub struct RefusedForm {
    /// The values that the guest typed.
    pub typed: Option<FormFields>,
    pub faults: Faults,
    /// The reason for the refusal, if it concerns the whole form; `None` if only single fields have
    /// faults.
    pub text: Option<&'static str>,
}

/// The query parameters of a step's page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepOptions {
    /// The number of guests, besides the guest who booked, for whom the form shows fields.
    pub guests: Option<usize>,
    /// Whether the page marks each required field for which no answer is saved.
    pub marks_missing: bool,
}

pub fn render(
    page_stay: &PageStay,
    step: &StepView,
    asked: StepOptions,
    refused: Option<&RefusedForm>,
) -> Result<String> {
    let is_open = page_stay.is_open(step);
    let lacking = if asked.marks_missing && is_open && refused.is_none() {
        lacks(step)
    } else {
        Faults::default()
    };
    let faults = refused.map_or(&lacking, |refused| &refused.faults);
    let filling = FieldValues {
        words: page_stay.texts,
        typed: refused.and_then(|refused| refused.typed.as_ref()),
        faults,
    };
    let form = if is_open {
        form(page_stay, step, asked, &filling)
    } else {
        None
    };
    let files = step
        .step_type
        .takes_files()
        .then(|| uploads::files(page_stay, step, is_open, faults))
        .flatten();
    let words = page_stay.texts;
    let fields = form
        .iter()
        .flat_map(|form| &form.groups)
        .flat_map(|group| &group.fields);
    let text = refused.and_then(|refused| refused.text);
    let summary = Summary::of(fields, files.as_ref(), faults, text, words);
    let position = page_stay.position(step.id);
    let agreement = step.agreement.as_ref();
    let elsewhere = agreement
        .filter(|agreement| agreement.text.is_none())
        .map(|agreement| {
            if agreement.is_signed_elsewhere {
                words.agreement.sign_elsewhere
            } else {
                words.agreement.elsewhere
            }
        });
    let is_done_by_files = step.step_type.takes_files() && is_open && form.is_none();
    let mut frame = PageFrame::of(page_stay, Some(&format!("{position}: {}", step.title)));
    if files.is_some() {
        frame.script = FILES_SCRIPT;
    }
    StepPage {
        frame,
        position,
        sent_back: (is_open
            && page_stay.view.precheckin.status == PrecheckinStatus::ChangesRequested)
            .then_some(page_stay.view.precheckin.message.as_deref())
            .flatten(),
        note: note(page_stay, step, is_open, summary.is_some()),
        sentence: what_happens(words, step.step_type)
            .filter(|_| step.description.is_none())
            .or(elsewhere),
        progress: progress(page_stay, step),
        fees: fees(page_stay, step),
        total: answers::total(step, page_stay),
        contract: contract(step, form.is_some()),
        accepted: answers::accepted(step, page_stay)
            .filter(|_| is_open && (form.is_none() || is_accepted_text(step))),
        action: page_stay.links.step(step.id),
        answers: if is_open {
            Vec::new()
        } else {
            answers::answers(step, page_stay)
        },
        onward: (step.state.is_ready() && (is_done_by_files || form.is_none()) && is_open)
            .then(|| next_address(page_stay, step)),
        summary,
        files,
        form,
        step,
    }
    .render()
    .map_err(Error::internal)
}

/// Returns the path of the page that the browser opens after this step: the page of the next
/// incomplete step that the guest can save. If there is no such step, returns the path of the
/// review page.
#[must_use]
pub fn next_address(page_stay: &PageStay, step: &StepView) -> String {
    page_stay.next(Some(step.id)).map_or_else(
        || page_stay.links.review(),
        |next| page_stay.links.step(next.id),
    )
}

/// Returns the note above a step. The note describes the state of the step, for example that
/// answers are missing.
fn note(
    page_stay: &PageStay,
    step: &StepView,
    is_open: bool,
    has_summary: bool,
) -> Option<&'static str> {
    let words = page_stay.texts;
    if !is_open && page_stay.view.precheckin.status.is_submitted() {
        return Some(words.errors.already_submitted);
    }
    if is_open && step.is_text_changed && !has_summary {
        return Some(words.agreement.text_changed);
    }
    if !is_open && step.is_complete && !page_stay.is_preview {
        return Some(words.precheckin.done);
    }
    if step.state == StepState::Pending && step.progress.is_none() {
        return Some(words.progress.host_sees_to_it);
    }
    let has_begun = step.answers.is_some()
        || step
            .questions
            .iter()
            .flatten()
            .any(|question| question.answer.is_some());
    (is_open && has_begun && !step.state.is_ready() && !has_summary)
        .then_some(words.precheckin.more)
}

/// Returns the text of an agreement. If the page has no form, and the agreement has not changed
/// since the guest accepted it, this is the text that the guest accepted. In all other cases it is
/// the current text.
fn contract(step: &StepView, has_form: bool) -> Option<(&str, TextLanguage<'_>)> {
    let accepted = step.acceptance.as_ref().filter(|_| !step.is_text_changed);
    let today = step.agreement.as_ref()?.text.as_deref();
    match accepted {
        Some(accepted) if !has_form => Some((
            accepted.text.as_deref()?,
            accepted.language.as_deref().into(),
        )),
        _ => Some((today?, step.text_languages.of("agreement.text").into())),
    }
}

/// Returns whether the guest has accepted exactly the text that the page shows. Returns false if
/// the text has changed since then, or if the guest accepted the text in another language.
fn is_accepted_text(step: &StepView) -> bool {
    let today = step.agreement.as_ref();
    let today = today.and_then(|agreement| agreement.text.as_deref());
    step.acceptance
        .as_ref()
        .is_some_and(|accepted| accepted.text_sha256 == today.map(text_hash))
}

/// Returns whether the guest accepted the agreement in a language other than the language of the
/// page. The page then shows the accepted text.
fn is_accepted_otherwise(step: &StepView) -> bool {
    step.acceptance.is_some()
        && step.state.is_ready()
        && !step.is_text_changed
        && !is_accepted_text(step)
}

/// Returns a hidden field with the hash of the text that the form shows and the guest accepts.
/// Returns no field if the step has no such text.
fn shown_text(step: &StepView) -> Vec<(String, Cow<'_, str>)> {
    let text = step.agreement.as_ref();
    let text = text.and_then(|agreement| agreement.text.as_deref());
    text.map(|text| (SHOWN_TEXT.to_owned(), Cow::Owned(text_hash(text))))
        .into_iter()
        .collect()
}

/// Returns one fault for each required answer that is missing in the saved step.
fn lacks(step: &StepView) -> Faults {
    let mut faults = Faults::default();
    if step.state.is_ready() {
        return faults;
    }
    for question in step
        .questions
        .iter()
        .flatten()
        .filter(|question| question.is_required)
    {
        let saved = question.answer.as_ref().unwrap_or(&serde_json::Value::Null);
        let is_text = question.kind == features::precheck::QuestionKind::FreeFormInput;
        let is_said = saved["text"]
            .as_str()
            .is_some_and(|text| !engine::typed::is_blank(text));
        let is_chosen = saved["optionIds"]
            .as_array()
            .is_some_and(|chosen| !chosen.is_empty());
        if is_text && !is_said {
            faults.add(&super::form::text_field(question.id), FaultKind::Value);
        } else if !is_text && !is_chosen {
            faults.add(&super::form::choice_field(question.id), FaultKind::Choice);
        }
    }
    if step.step_type.answer_form() == AnswerForm::OtherGuests {
        faults.0.push(FieldFault {
            field: "guests".to_owned(),
            kind: FaultKind::Guests,
        });
    }
    faults
}

fn form<'v>(
    page_stay: &'v PageStay,
    step: &'v StepView,
    asked: StepOptions,
    filling: &FieldValues<'v>,
) -> Option<StepForm<'v>> {
    let words = page_stay.texts;
    let of = |fields: Vec<PageField<'v>>| StepForm {
        groups: vec![FieldGroup::plain(fields, Vec::new())],
        is_confirmation: false,
        adds_guests: false,
        footnote: None,
        submit: words.precheckin.save_and_continue,
    };
    let guest = &page_stay.view.reservation.guest;
    let booked = |name: &str| match name {
        "firstName" => guest.first_name.as_deref(),
        "lastName" => guest.last_name.as_deref(),
        _ => None,
    };
    Some(match step.step_type.answer_form() {
        AnswerForm::Questions => StepForm {
            groups: vec![filling.questions(step)],
            ..of(Vec::new())
        },
        AnswerForm::Agreement if is_signed_elsewhere(step) && is_signed_first(step) => return None,
        AnswerForm::Agreement if is_accepted_otherwise(step) => return None,
        AnswerForm::Agreement => StepForm {
            groups: vec![FieldGroup::plain(filling.agreement(step), shown_text(step))],
            ..of(Vec::new())
        },
        AnswerForm::Consent | AnswerForm::DepositChoice if carried_out(step) => return None,
        AnswerForm::Consent => StepForm {
            footnote: (step.state == StepState::Todo)
                .then(|| words.progress.host_sees_to_it.to_owned()),
            submit: words.precheckin.confirm,
            ..of(vec![filling.consent(step)])
        },
        AnswerForm::LeadGuest => StepForm {
            groups: vec![filling.details(step, booked)],
            ..of(Vec::new())
        },
        AnswerForm::OtherGuests => {
            let groups = filling.guests(step, asked.guests);
            let hint = match step.expected_guests.flatten() {
                Some(0) | None => words.fields.guests_hint.to_owned(),
                Some(expected) => fill(
                    words.fields.guests_expected,
                    &[("n", &expected.to_string())],
                ),
            };
            let adds_guests = groups.len() < super::form::MAX_GUESTS;
            StepForm {
                groups,
                adds_guests,
                footnote: Some(hint),
                ..of(Vec::new())
            }
        }
        AnswerForm::DepositChoice if !super::form::has_no_choice(step) => StepForm {
            footnote: Some(words.deposit.not_charged.to_owned()),
            ..of(vec![
                filling.deposit(step, answers::offered(step, page_stay)),
            ])
        },
        AnswerForm::DepositChoice | AnswerForm::Confirmation
            if is_completed_by_files(step) || step.state.is_ready() || carried_out(step) =>
        {
            return None;
        }
        AnswerForm::DepositChoice | AnswerForm::Confirmation => StepForm {
            groups: Vec::new(),
            is_confirmation: true,
            footnote: if step.step_type.checks_identity() {
                Some(words.progress.document_checked.to_owned())
            } else {
                step.step_type
                    .is_carried_out_elsewhere()
                    .then(|| words.progress.host_sees_to_it.to_owned())
            },
            submit: words.precheckin.confirm,
            ..of(Vec::new())
        },
    })
}

/// Returns whether the guest completes the step only by uploading files. The page then shows no
/// form for a confirmation.
fn is_completed_by_files(step: &StepView) -> bool {
    match step.step_type.file_use() {
        FileUse::Identity => !step.is_upload_unavailable,
        FileUse::Documents => {
            let required = step.required_document_types.as_ref();
            required.is_some_and(|types| !types.is_empty())
        }
        FileUse::None => false,
    }
}

/// Returns whether the guest signs an agreement at an e-signature provider.
fn is_signed_elsewhere(step: &StepView) -> bool {
    let agreement = step.agreement.as_ref();
    agreement.is_some_and(|agreement| agreement.is_signed_elsewhere)
}

/// Returns whether the guest cannot accept an agreement on this page, because it is signed at an
/// e-signature provider: the guest must sign it there first, or the provider has already reported
/// progress.
fn is_signed_first(step: &StepView) -> bool {
    step.is_signature_required == Some(true) || carried_out(step)
}

/// Returns whether another system, such as an identity or e-signature provider, has reported
/// progress of the step. If so, the page does not ask the guest to confirm the step.
const fn carried_out(step: &StepView) -> bool {
    step.progress.is_some()
}

fn progress<'v>(page_stay: &PageStay, step: &'v StepView) -> Option<ProgressCard<'v>> {
    let progress = step.progress.as_ref()?;
    let words = &page_stay.texts.progress;
    let amount = page_stay.money(progress.amount_cents, progress.currency.as_deref());
    Some(ProgressCard {
        state: match step.state {
            StepState::Pending | StepState::Todo => words.pending,
            StepState::ActionRequired if step_mark::has_failed(step) => words.failed,
            StepState::ActionRequired => words.action_required,
            StepState::Done => words.completed,
        },
        is_bad: step.state == StepState::ActionRequired,
        message: progress.message.as_deref(),
        amount: amount.map(|amount| fill(words.amount, &[("amount", &amount)])),
        action: progress
            .action_url
            .as_deref()
            .filter(|_| step.state != StepState::Done && !page_stay.is_preview),
    })
}

fn fees<'v>(page_stay: &PageStay, step: &'v StepView) -> Vec<(&'v str, String)> {
    let amount = |fee: &Fee| {
        page_stay
            .money(fee.total_cents, Some(&fee.currency))
            .unwrap_or_default()
    };
    step.fees
        .iter()
        .flatten()
        .map(|fee| (fee.name.as_str(), amount(fee)))
        .collect()
}
