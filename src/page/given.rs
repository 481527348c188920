//! What a guest has answered, in words: for the page before it is submitted, and for a step that is closed.

use serde_json::{Map, Value};

use super::person::{self, Detail};
use super::seen::{Basis, Step};
use super::shown::Shown;
use crate::guest::QuestionView;
use crate::precheck::{QuestionKind, StepType};
use crate::words::fill;

/// An answer: what was asked, and what was said.
pub struct Given {
    pub label: String,
    pub value: String,
}

/// Everything that is saved of a step.
#[must_use]
pub fn given(step: &Step, shown: &Shown) -> Vec<Given> {
    let words = shown.words;
    let files = step.files.iter().map(|file| Given {
        label: file.document_type.as_deref().map_or(words.files.uploaded.to_owned(), |kind| document(kind, shown)),
        value: file.name.clone(),
    });
    let answers = step.answers.as_ref();
    let said = match (step.step_type, answers) {
        (StepType::AdditionalQuestions, _) => step.questions.iter().flatten().map(|question| answer(question, shown)).collect(),
        (StepType::YourDetails, Some(answers)) => fields(answers, &person::asked(&step.required_fields, false), shown),
        (StepType::OtherGuests, Some(answers)) => guests(answers, step, shown),
        (StepType::Agreement, Some(answers)) => agreement(answers, step, shown),
        (StepType::DamageDeposit, Some(answers)) => deposit(answers, step, shown),
        _ => Vec::new(),
    };
    said.into_iter().chain(files).collect()
}

/// What a kind of document is called; a kind that nobody knows stands for itself.
#[must_use]
pub fn document(kind: &str, shown: &Shown) -> String {
    person::document(kind, shown.words).unwrap_or(kind).to_owned()
}

fn fields(answers: &Map<String, Value>, asked: &[Detail<'_>], shown: &Shown) -> Vec<Given> {
    let field = |detail: &Detail<'_>| {
        let sent = answers.get(detail.name)?.as_str()?;
        let choices = detail.choices(shown.words);
        let chosen = choices.iter().find(|(choice, _)| *choice == sent).map(|(_, label)| (*label).to_owned());
        let date = || (detail.kind() == "date").then(|| sent.parse().ok().map(|date| shown.dates().full(date))).flatten();
        let value = chosen.or_else(date).unwrap_or_else(|| sent.to_owned());
        Some(Given { label: detail.label(shown.words).to_owned(), value })
    };
    asked.iter().filter_map(field).collect()
}

fn guests(answers: &Map<String, Value>, step: &Step, shown: &Shown) -> Vec<Given> {
    let asked = person::asked(&step.required_fields, true);
    let guests = answers.get("guests").and_then(Value::as_array).into_iter().flatten();
    let guest = |(place, guest): (usize, &Value)| {
        let values = guest.as_object().map(|guest| fields(guest, &asked, shown)).unwrap_or_default();
        let values: Vec<String> = values.into_iter().map(|given| given.value).collect();
        Given { label: fill(shown.words.fields.guest, &[("n", &(place + 2).to_string())]), value: values.join(", ") }
    };
    guests.enumerate().map(guest).collect()
}

fn agreement(answers: &Map<String, Value>, step: &Step, shown: &Shown) -> Vec<Given> {
    let words = shown.words;
    let is_accepted = answers.get("isAccepted") == Some(&Value::Bool(true));
    let value = || accepted(step, shown).unwrap_or_else(|| words.common.yes.to_owned());
    let accepted = is_accepted.then(|| Given { label: words.agreement.accept.to_owned(), value: value() });
    let signed = answers.get("signedName").and_then(Value::as_str);
    let signed = signed.map(|name| Given { label: words.agreement.signed_name.to_owned(), value: name.to_owned() });
    accepted.into_iter().chain(signed).collect()
}

/// When an agreement was accepted, in words.
#[must_use]
pub fn accepted(step: &Step, shown: &Shown) -> Option<String> {
    Some(fill(shown.words.agreement.accepted_at, &[("moment", &shown.moment(step.accepted_at?))]))
}

fn deposit(answers: &Map<String, Value>, step: &Step, shown: &Shown) -> Vec<Given> {
    let choice = match answers.get("choice").and_then(Value::as_str) {
        Some("waiver") => answers.get("damageWaiverId").and_then(Value::as_str),
        choice => choice,
    };
    let offered = offered(step, shown).into_iter().find(|(sent, ..)| Some(sent.as_str()) == choice);
    offered.map(|(_, label, _)| Given { label: step.title.clone(), value: label }).into_iter().collect()
}

/// What can be had for a deposit: the value that is sent, what it is called, and what follows from it.
#[must_use]
pub fn offered(step: &Step, shown: &Shown) -> Vec<(String, String, Vec<String>)> {
    let words = &shown.words.deposit;
    let Some(deposit) = &step.deposit else { return vec![("deposit".into(), words.deposit_plain.to_owned(), Vec::new())] };
    let currency = deposit.currency.as_deref();
    let amount = shown.money(deposit.amount_cents, currency);
    let label = amount.map_or_else(|| words.deposit_plain.to_owned(), |amount| fill(words.deposit, &[("amount", &amount)]));
    let taken = deposit.days_before_checkin.map(|days| shown.words.deposit_taken(days));
    let released = deposit.release_days_after_checkout.map(|days| shown.words.deposit_released(days));
    let first = ("deposit".to_owned(), label, taken.into_iter().chain(released).collect());
    let waivers = deposit.waivers.iter().map(|waiver| {
        let price = shown.money(waiver.price_cents, currency).map(|price| match waiver.pricing_basis {
            Some(Basis::PerNight) => fill(words.per_night, &[("price", &price)]),
            Some(Basis::PerStay) => fill(words.per_stay, &[("price", &price)]),
            None => price,
        });
        let label = price.map_or_else(|| waiver.name.clone(), |price| fill(words.waiver, &[("name", &waiver.name), ("price", &price)]));
        let covers = shown.money(waiver.cap_cents, currency).map(|amount| fill(words.covers, &[("amount", &amount)]));
        (waiver.id.to_string(), label, covers.into_iter().collect())
    });
    [first].into_iter().chain(waivers).collect()
}

fn answer(question: &QuestionView, shown: &Shown) -> Given {
    let saved = question.answer.as_ref().unwrap_or(&Value::Null);
    let said = if question.kind == QuestionKind::FreeFormInput {
        saved["text"].as_str().unwrap_or_default().trim().to_owned()
    } else {
        let chosen: Vec<&str> = saved["optionIds"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let names = question.options.iter().filter(|option| chosen.contains(&option.id.to_string().as_str()));
        names.filter_map(|option| option.name.as_deref()).collect::<Vec<_>>().join(", ")
    };
    let value = if said.is_empty() { shown.words.precheckin.not_answered.to_owned() } else { said };
    Given { label: question.text.clone().unwrap_or_default(), value }
}
