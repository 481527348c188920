//! Formats a guest's saved answers as labels and values, for the review before the submission and
//! for a step that the guest can no longer change.

use features::guest::{DepositView, QuestionView, StepView};
use features::precheck::{AnswerForm, DepositChoice, DepositOption, PricingBasis, QuestionKind};
use features::words::fill;
use serde_json::{Map, Value};

use super::frame::TextLanguage;
use super::guest_fields::{self, GuestField};
use super::page_stay::PageStay;

/// An answer with its label, as the page shows them.
pub struct LabelledAnswer<'v> {
    pub label: String,
    /// The language of the label if the host wrote the label; `None` if the label is a built-in
    /// text.
    pub label_language: Option<TextLanguage<'v>>,
    pub value: String,
    /// The language of the value if the host wrote the value; `None` for a value that the guest
    /// typed.
    pub value_language: Option<TextLanguage<'v>>,
}

impl LabelledAnswer<'static> {
    /// Returns an answer whose label and value have no language of their own, because the host did
    /// not write them: for example a built-in label and the guest's name.
    fn plain(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            label_language: None,
            value: value.into(),
            value_language: None,
        }
    }
}

/// Returns the saved files and answers of a step.
#[must_use]
pub fn answers<'v>(step: &'v StepView, page_stay: &PageStay) -> Vec<LabelledAnswer<'v>> {
    let words = page_stay.texts;
    let files = step.files.iter().flatten().map(|file| {
        let kind = file.document_type.as_deref();
        let label = kind.map_or_else(
            || words.files.uploaded.to_owned(),
            |kind| document(kind, page_stay),
        );
        LabelledAnswer::plain(label, &file.name)
    });
    let answers = step.answers.as_ref();
    let lines = match (step.step_type.answer_form(), answers) {
        (AnswerForm::Questions, _) => step
            .questions
            .iter()
            .flatten()
            .map(|question| answer(question, page_stay))
            .collect(),
        (AnswerForm::LeadGuest, Some(answers)) => fields(
            answers,
            &guest_fields::requested_fields(step, false),
            page_stay,
        ),
        (AnswerForm::OtherGuests, Some(answers)) => guests(answers, step, page_stay),
        (AnswerForm::Agreement, Some(answers)) => agreement(answers, step, page_stay),
        (AnswerForm::Consent, Some(answers)) => consent(answers, page_stay),
        (AnswerForm::DepositChoice, Some(answers)) => deposit(answers, step, page_stay),
        (AnswerForm::Confirmation, _) | (_, None) => Vec::new(),
    };
    lines.into_iter().chain(files).collect()
}

/// Returns the label of a document type, such as a passport. A type without a label is returned
/// unchanged.
#[must_use]
pub fn document(kind: &str, page_stay: &PageStay) -> String {
    guest_fields::document(kind, page_stay.texts)
        .unwrap_or(kind)
        .to_owned()
}

fn fields(
    answers: &Map<String, Value>,
    asked: &[GuestField<'_>],
    page_stay: &PageStay,
) -> Vec<LabelledAnswer<'static>> {
    let field = |detail: &GuestField<'_>| {
        let sent = answers.get(detail.name)?.as_str()?;
        let choices = detail.choices(page_stay.texts);
        let chosen = choices
            .iter()
            .find(|(choice, _)| *choice == sent)
            .map(|(_, label)| (*label).to_owned());
        let date = || {
            (detail.kind() == "date")
                .then(|| sent.parse().ok().map(|date| page_stay.dates().full(date)))
                .flatten()
        };
        let value = chosen.or_else(date).unwrap_or_else(|| sent.to_owned());
        Some(LabelledAnswer::plain(detail.label(page_stay.texts), value))
    };
    asked.iter().filter_map(field).collect()
}

fn guests(
    answers: &Map<String, Value>,
    step: &StepView,
    page_stay: &PageStay,
) -> Vec<LabelledAnswer<'static>> {
    let asked = guest_fields::requested_fields(step, true);
    let guests = answers
        .get("guests")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let guest = |(place, guest): (usize, &Value)| {
        let values = guest
            .as_object()
            .map(|guest| fields(guest, &asked, page_stay))
            .unwrap_or_default();
        let values: Vec<String> = values.into_iter().map(|given| given.value).collect();
        let label = fill(
            page_stay.texts.fields.guest,
            &[("n", &(place + 2).to_string())],
        );
        LabelledAnswer::plain(label, values.join(", "))
    };
    guests.enumerate().map(guest).collect()
}

fn agreement(
    answers: &Map<String, Value>,
    step: &StepView,
    page_stay: &PageStay,
) -> Vec<LabelledAnswer<'static>> {
    let words = page_stay.texts;
    if step.is_text_changed {
        return Vec::new();
    }
    let is_accepted = answers.get("isAccepted") == Some(&Value::Bool(true));
    let value = || accepted(step, page_stay).unwrap_or_else(|| words.common.yes.to_owned());
    let accepted = is_accepted.then(|| LabelledAnswer::plain(words.agreement.accept, value()));
    let signed = answers.get("signedName").and_then(Value::as_str);
    let signed = signed.map(|name| LabelledAnswer::plain(words.agreement.signed_name, name));
    accepted.into_iter().chain(signed).collect()
}

fn consent(answers: &Map<String, Value>, page_stay: &PageStay) -> Vec<LabelledAnswer<'static>> {
    let is_accepted = answers.get("isAccepted") == Some(&Value::Bool(true));
    let words = page_stay.texts;
    let given =
        is_accepted.then(|| LabelledAnswer::plain(words.agreement.consent, words.common.yes));
    given.into_iter().collect()
}

/// Returns a sentence that says when the guest accepted an agreement. Returns `None` if the guest
/// has not accepted it, or if its text has changed since then, because the guest must accept the
/// new text.
#[must_use]
pub fn accepted(step: &StepView, page_stay: &PageStay) -> Option<String> {
    if step.is_text_changed {
        return None;
    }
    Some(fill(
        page_stay.texts.agreement.accepted_at,
        &[("moment", &page_stay.timestamp_text(step.accepted_at?))],
    ))
}

/// Returns the fees of a step and their total, for the review before submission.
#[must_use]
pub fn fees(step: &StepView, page_stay: &PageStay) -> Vec<LabelledAnswer<'static>> {
    let fees = step.fees.as_deref().unwrap_or_default();
    let lines = fees.iter().map(|fee| {
        let amount = page_stay.money(fee.total_cents, Some(&fee.currency));
        LabelledAnswer::plain(&fee.name, amount.unwrap_or_default())
    });
    let total = total(step, page_stay)
        .map(|value| LabelledAnswer::plain(page_stay.texts.deposit.total, value));
    lines.chain(total).collect()
}

/// Returns the total of a step's fees; `None` for a single fee or fees in different currencies.
#[must_use]
pub fn total(step: &StepView, page_stay: &PageStay) -> Option<String> {
    let fees = step.fees.as_deref().filter(|fees| fees.len() > 1)?;
    let currency = fees.first().map(|fee| fee.currency.as_str());
    page_stay.money(step.total_cents.flatten(), currency)
}

fn deposit<'v>(
    answers: &Map<String, Value>,
    step: &'v StepView,
    page_stay: &PageStay,
) -> Vec<LabelledAnswer<'v>> {
    let choice = match answers.get("choice").and_then(Value::as_str) {
        Some("waiver") => answers.get("damageWaiverId").and_then(Value::as_str),
        choice => choice,
    };
    let offered = offered(step, page_stay)
        .into_iter()
        .find(|(sent, ..)| Some(sent.as_str()) == choice);
    offered
        .map(|(_, label, notes)| LabelledAnswer {
            label: step.title.clone(),
            label_language: Some(TextLanguage(step.text_languages.of("title"))),
            value: [vec![label], notes].concat().join(" · "),
            value_language: None,
        })
        .into_iter()
        .collect()
}

/// Returns the choices that the step offers for a damage deposit: to pay the deposit, to buy a
/// waiver, or neither. Each has its form value, its label, and notes on its consequences. The list
/// is empty if the step has no deposit.
#[must_use]
pub fn offered(step: &StepView, page_stay: &PageStay) -> Vec<(String, String, Vec<String>)> {
    let Some(deposit) = &step.deposit else {
        return Vec::new();
    };
    deposit
        .choices
        .iter()
        .map(|choice| match choice.choice {
            DepositOption::Deposit => plain_deposit(deposit, choice, page_stay),
            DepositOption::Waiver => waiver(choice, page_stay),
            DepositOption::None => (
                "none".to_owned(),
                page_stay.texts.deposit.none.to_owned(),
                Vec::new(),
            ),
        })
        .collect()
}

fn plain_deposit(
    deposit: &DepositView,
    choice: &DepositChoice,
    page_stay: &PageStay,
) -> (String, String, Vec<String>) {
    let words = &page_stay.texts.deposit;
    let amount = page_stay.money(choice.total_cents, Some(&choice.currency));
    let label = amount.map_or_else(
        || words.deposit_plain.to_owned(),
        |amount| fill(words.deposit, &[("amount", &amount)]),
    );
    let taken = deposit.days_before_checkin.map_or_else(
        || words.due_at_submission.to_owned(),
        |days| words.due.of(days),
    );
    let days = deposit.release_days_after_checkout.unwrap_or_default();
    let released = words.released.of(days);
    ("deposit".to_owned(), label, vec![taken, released])
}

fn waiver(choice: &DepositChoice, page_stay: &PageStay) -> (String, String, Vec<String>) {
    let words = &page_stay.texts.deposit;
    let currency = Some(choice.currency.as_str());
    let name = choice.name.as_deref().unwrap_or_default();
    let price =
        page_stay
            .money(choice.amount_cents, currency)
            .map(|price| match choice.pricing_basis {
                Some(PricingBasis::PerNight) => fill(words.per_night, &[("price", &price)]),
                Some(PricingBasis::PerStay) | None => fill(words.per_stay, &[("price", &price)]),
            });
    let label = price.map_or_else(
        || name.to_owned(),
        |price| fill(words.waiver, &[("name", name), ("price", &price)]),
    );
    let total = page_stay
        .money(choice.total_cents, currency)
        .filter(|_| choice.total_cents != choice.amount_cents)
        .map(|amount| fill(words.in_total, &[("amount", &amount)]));
    let notes = total
        .into_iter()
        .chain([words.due_at_submission.to_owned()])
        .collect();
    let value = choice.damage_waiver_id.unwrap_or_default().to_string();
    (value, label, notes)
}

fn answer<'v>(question: &'v QuestionView, page_stay: &PageStay) -> LabelledAnswer<'v> {
    let saved = question.answer.as_ref().unwrap_or(&Value::Null);
    let (answers, value_language) = if question.kind == QuestionKind::FreeFormInput {
        let text = saved["text"].as_str().unwrap_or_default().trim();
        (text.to_owned(), None)
    } else {
        let chosen: Vec<&str> = saved["optionIds"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        names(question, &chosen)
    };
    let (value, value_language) = if answers.is_empty() {
        (page_stay.texts.precheckin.not_answered.to_owned(), None)
    } else {
        (answers, value_language)
    };
    LabelledAnswer {
        label: question.text.clone().unwrap_or_default(),
        label_language: Some(TextLanguage(question.text_languages.of("text"))),
        value,
        value_language,
    }
}

/// Returns the names of the options that the guest chose for a question. Also returns the language
/// of the names if all names have the same language.
fn names<'v>(question: &'v QuestionView, chosen: &[&str]) -> (String, Option<TextLanguage<'v>>) {
    let options = question
        .options
        .iter()
        .filter(|option| chosen.contains(&option.id.to_string().as_str()));
    let (names, languages): (Vec<&str>, Vec<Option<&str>>) = options
        .filter_map(|option| Some((option.name.as_deref()?, option.text_languages.of("name"))))
        .unzip();
    let first = languages.first().copied();
    let language = first.filter(|first| languages.iter().all(|language| language == first));
    (names.join(", "), language.map(TextLanguage))
}
