//! A guest's answers in words, for the review before submission and for a closed step.

use serde_json::{Map, Value};

use super::person::{self, Detail};
use super::shown::Shown;
use crate::guest::{DepositView, QuestionView, StepView};
use crate::precheck::{AnswerForm, DepositChoice, DepositOption, PricingBasis, QuestionKind};
use crate::words::fill;

/// An answer with its label.
pub struct Given {
    pub label: String,
    pub value: String,
}

/// Returns everything that is saved for a step.
#[must_use]
pub fn given(step: &StepView, shown: &Shown) -> Vec<Given> {
    let words = shown.words;
    let files = step.files.iter().flatten().map(|file| Given {
        label: file
            .document_type
            .as_deref()
            .map_or(words.files.uploaded.to_owned(), |kind| {
                document(kind, shown)
            }),
        value: file.name.clone(),
    });
    let answers = step.answers.as_ref();
    let said = match (step.step_type.answer_form(), answers) {
        (AnswerForm::Questions, _) => step
            .questions
            .iter()
            .flatten()
            .map(|question| answer(question, shown))
            .collect(),
        (AnswerForm::LeadGuest, Some(answers)) => {
            fields(answers, &person::asked(step, false), shown)
        }
        (AnswerForm::OtherGuests, Some(answers)) => guests(answers, step, shown),
        (AnswerForm::Agreement, Some(answers)) => agreement(answers, step, shown),
        (AnswerForm::Consent, Some(answers)) => consent(answers, shown),
        (AnswerForm::DepositChoice, Some(answers)) => deposit(answers, step, shown),
        (AnswerForm::Confirmation, _) | (_, None) => Vec::new(),
    };
    said.into_iter().chain(files).collect()
}

/// Returns the name of a type of document; an unknown type is returned unchanged.
#[must_use]
pub fn document(kind: &str, shown: &Shown) -> String {
    person::document(kind, shown.words)
        .unwrap_or(kind)
        .to_owned()
}

fn fields(answers: &Map<String, Value>, asked: &[Detail<'_>], shown: &Shown) -> Vec<Given> {
    let field = |detail: &Detail<'_>| {
        let sent = answers.get(detail.name)?.as_str()?;
        let choices = detail.choices(shown.words);
        let chosen = choices
            .iter()
            .find(|(choice, _)| *choice == sent)
            .map(|(_, label)| (*label).to_owned());
        let date = || {
            (detail.kind() == "date")
                .then(|| sent.parse().ok().map(|date| shown.dates().full(date)))
                .flatten()
        };
        let value = chosen.or_else(date).unwrap_or_else(|| sent.to_owned());
        Some(Given {
            label: detail.label(shown.words).to_owned(),
            value,
        })
    };
    asked.iter().filter_map(field).collect()
}

fn guests(answers: &Map<String, Value>, step: &StepView, shown: &Shown) -> Vec<Given> {
    let asked = person::asked(step, true);
    let guests = answers
        .get("guests")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let guest = |(place, guest): (usize, &Value)| {
        let values = guest
            .as_object()
            .map(|guest| fields(guest, &asked, shown))
            .unwrap_or_default();
        let values: Vec<String> = values.into_iter().map(|given| given.value).collect();
        Given {
            label: fill(shown.words.fields.guest, &[("n", &(place + 2).to_string())]),
            value: values.join(", "),
        }
    };
    guests.enumerate().map(guest).collect()
}

fn agreement(answers: &Map<String, Value>, step: &StepView, shown: &Shown) -> Vec<Given> {
    let words = shown.words;
    if step.is_text_changed {
        return Vec::new();
    }
    let is_accepted = answers.get("isAccepted") == Some(&Value::Bool(true));
    let value = || accepted(step, shown).unwrap_or_else(|| words.common.yes.to_owned());
    let accepted = is_accepted.then(|| Given {
        label: words.agreement.accept.to_owned(),
        value: value(),
    });
    let signed = answers.get("signedName").and_then(Value::as_str);
    let signed = signed.map(|name| Given {
        label: words.agreement.signed_name.to_owned(),
        value: name.to_owned(),
    });
    accepted.into_iter().chain(signed).collect()
}

fn consent(answers: &Map<String, Value>, shown: &Shown) -> Vec<Given> {
    let is_accepted = answers.get("isAccepted") == Some(&Value::Bool(true));
    let given = is_accepted.then(|| Given {
        label: shown.words.agreement.consent.to_owned(),
        value: shown.words.common.yes.to_owned(),
    });
    given.into_iter().collect()
}

/// Returns the text that says when an agreement was accepted; `None` where its text has changed
/// since, so that it has to be accepted again.
#[must_use]
pub fn accepted(step: &StepView, shown: &Shown) -> Option<String> {
    if step.is_text_changed {
        return None;
    }
    Some(fill(
        shown.words.agreement.accepted_at,
        &[("moment", &shown.moment(step.accepted_at?))],
    ))
}

/// Returns the fees of a step and their sum, for the review before submission.
#[must_use]
pub fn fees(step: &StepView, shown: &Shown) -> Vec<Given> {
    let fees = step.fees.as_deref().unwrap_or_default();
    let lines = fees.iter().map(|fee| Given {
        label: fee.name.clone(),
        value: shown
            .money(fee.total_cents, Some(&fee.currency))
            .unwrap_or_default(),
    });
    let total = total(step, shown).map(|value| Given {
        label: shown.words.deposit.total.to_owned(),
        value,
    });
    lines.chain(total).collect()
}

/// Returns the sum of the fees of a step with several of one currency.
#[must_use]
pub fn total(step: &StepView, shown: &Shown) -> Option<String> {
    let fees = step.fees.as_deref().filter(|fees| fees.len() > 1)?;
    let currency = fees.first().map(|fee| fee.currency.as_str());
    shown.money(step.total_cents.flatten(), currency)
}

fn deposit(answers: &Map<String, Value>, step: &StepView, shown: &Shown) -> Vec<Given> {
    let choice = match answers.get("choice").and_then(Value::as_str) {
        Some("waiver") => answers.get("damageWaiverId").and_then(Value::as_str),
        choice => choice,
    };
    let offered = offered(step, shown)
        .into_iter()
        .find(|(sent, ..)| Some(sent.as_str()) == choice);
    offered
        .map(|(_, label, notes)| Given {
            label: step.title.clone(),
            value: [vec![label], notes].concat().join(" · "),
        })
        .into_iter()
        .collect()
}

/// Returns the choices for a deposit: the value that is sent, the label, and notes on the
/// consequences.
#[must_use]
pub fn offered(step: &StepView, shown: &Shown) -> Vec<(String, String, Vec<String>)> {
    let Some(deposit) = &step.deposit else {
        return Vec::new();
    };
    deposit
        .choices
        .iter()
        .map(|choice| match choice.choice {
            DepositOption::Deposit => plain_deposit(deposit, choice, shown),
            DepositOption::Waiver => waiver(choice, shown),
            DepositOption::None => (
                "none".to_owned(),
                shown.words.deposit.none.to_owned(),
                Vec::new(),
            ),
        })
        .collect()
}

fn plain_deposit(
    deposit: &DepositView,
    choice: &DepositChoice,
    shown: &Shown,
) -> (String, String, Vec<String>) {
    let words = &shown.words.deposit;
    let amount = shown.money(choice.total_cents, Some(&choice.currency));
    let label = amount.map_or_else(
        || words.deposit_plain.to_owned(),
        |amount| fill(words.deposit, &[("amount", &amount)]),
    );
    let taken = deposit.days_before_checkin.map_or_else(
        || words.due_at_submission.to_owned(),
        |days| shown.words.deposit_due(days),
    );
    let days = deposit.release_days_after_checkout.unwrap_or_default();
    let released = shown.words.deposit_released(days);
    ("deposit".to_owned(), label, vec![taken, released])
}

fn waiver(choice: &DepositChoice, shown: &Shown) -> (String, String, Vec<String>) {
    let words = &shown.words.deposit;
    let currency = Some(choice.currency.as_str());
    let name = choice.name.as_deref().unwrap_or_default();
    let price =
        shown
            .money(choice.amount_cents, currency)
            .map(|price| match choice.pricing_basis {
                Some(PricingBasis::PerNight) => fill(words.per_night, &[("price", &price)]),
                Some(PricingBasis::PerStay) | None => fill(words.per_stay, &[("price", &price)]),
            });
    let label = price.map_or_else(
        || name.to_owned(),
        |price| fill(words.waiver, &[("name", name), ("price", &price)]),
    );
    let total = shown
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

fn answer(question: &QuestionView, shown: &Shown) -> Given {
    let saved = question.answer.as_ref().unwrap_or(&Value::Null);
    let said = if question.kind == QuestionKind::FreeFormInput {
        saved["text"].as_str().unwrap_or_default().trim().to_owned()
    } else {
        let chosen: Vec<&str> = saved["optionIds"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let names = question
            .options
            .iter()
            .filter(|option| chosen.contains(&option.id.to_string().as_str()));
        names
            .filter_map(|option| option.name.as_deref())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let value = if said.is_empty() {
        shown.words.precheckin.not_answered.to_owned()
    } else {
        said
    };
    Given {
        label: question.text.clone().unwrap_or_default(),
        value,
    }
}
