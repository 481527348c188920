//! The fields of a step's form: what each is called, what stands in it, and what is wrong with it.

use std::borrow::Cow;

use serde_json::Value;
use uuid::Uuid;

use super::fault::{Faults, Lack};
use super::form::{self, Fields, MOST_GUESTS};
use super::person::{self, Detail};
use super::seen::Step;
use crate::guest::QuestionView;
use crate::precheck::QuestionKind;
use crate::words::{Words, fill};

/// Characters in a text at the most.
const TEXT_LENGTH: usize = 6000;
/// Characters in a line at the most.
const LINE_LENGTH: usize = 500;

/// A field, or a group of boxes or buttons that is one.
pub struct Field<'v> {
    /// The id of what takes the focus.
    pub id: String,
    pub name: String,
    pub label: &'v str,
    /// What helps to fill it in.
    pub hint: Option<&'static str>,
    pub error: Option<String>,
    pub is_required: bool,
    pub input: Input<'v>,
}

/// What is filled in.
pub enum Input<'v> {
    /// A line.
    Line { kind: &'static str, autocomplete: &'static str, value: Cow<'v, str>, most: usize },
    /// Several lines.
    Text { value: Cow<'v, str>, most: usize },
    /// One of a few.
    One(Vec<Choice<'v>>),
    /// Any of a few.
    Any(Vec<Choice<'v>>),
    /// One of a list.
    Pick(Vec<Choice<'v>>),
    /// Yes, or not yet.
    Tick(bool),
}

/// What can be chosen.
pub struct Choice<'v> {
    pub id: String,
    pub value: String,
    pub label: Cow<'v, str>,
    /// What follows from it.
    pub notes: Vec<String>,
    pub is_chosen: bool,
}

/// Fields under a heading of their own.
pub struct Group<'v> {
    /// What they are of; nothing where the page's heading says it.
    pub legend: Option<String>,
    pub fields: Vec<Field<'v>>,
    /// What takes the group out: the value of the button, and what it is called.
    pub remove: Option<(usize, String)>,
}

impl Field<'_> {
    /// What describes it, by id, for who does not see it.
    #[must_use]
    pub fn described(&self) -> Option<String> {
        let hint = self.hint.map(|_| format!("{}-hint", self.id));
        let error = self.error.as_ref().map(|_| format!("{}-error", self.id));
        let ids: Vec<String> = error.into_iter().chain(hint).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }

    /// The id that a link to it leads to.
    #[must_use]
    pub fn target(&self) -> &str {
        match &self.input {
            Input::One(choices) | Input::Any(choices) => choices.first().map_or(&self.id, |choice| &choice.id),
            _ => &self.id,
        }
    }
}

/// What stands in the fields of a form: what was typed and refused, else what is saved.
pub struct Filling<'v> {
    pub words: &'static Words,
    /// What was typed, where it was refused.
    pub typed: Option<&'v Fields>,
    pub faults: &'v Faults,
}

impl<'v> Filling<'v> {
    fn error(&self, name: &str) -> Option<String> {
        let fault = self.faults.0.iter().find(|fault| fault.field == name && fault.lack != Lack::Stranger);
        fault.map(|fault| fault.lack.said(self.words))
    }

    /// What was typed into a field; nothing typed is an empty field, not the one that is saved.
    fn value(&self, name: &str, saved: Option<&'v str>) -> Cow<'v, str> {
        let value = match self.typed {
            Some(typed) => form::sent(typed, name),
            None => saved,
        };
        Cow::Borrowed(value.unwrap_or_default())
    }

    /// A field of a guest's.
    fn detail(&self, detail: &Detail<'v>, name: String, saved: Option<&'v str>, is_own: bool) -> Field<'v> {
        let value = self.value(&name, saved);
        let id = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let choices = detail.choices(self.words);
        let input = if choices.is_empty() {
            let autocomplete = if is_own { detail.autocomplete() } else { "off" };
            Input::Line { kind: detail.kind(), autocomplete, value, most: LINE_LENGTH }
        } else {
            let is_listed = value.is_empty() || choices.iter().any(|(sent, _)| *sent == value);
            let other = (!is_listed).then(|| choice(&id, &value, value.clone(), &value));
            let listed = choices.into_iter().map(|(sent, label)| choice(&id, sent, label.into(), &value));
            Input::Pick(listed.chain(other).collect())
        };
        let error = self.error(&name);
        Field { error, label: detail.label(self.words), hint: detail.hint(self.words), is_required: detail.is_required, id, name, input }
    }

    /// The fields of the guest who booked; `booked` is what the reservation says until something is saved.
    pub fn details(&self, step: &'v Step, booked: impl Fn(&str) -> Option<&'v str>) -> Group<'v> {
        let field = |detail: Detail<'v>| {
            let saved = match &step.answers {
                Some(answers) => answers.get(detail.name).and_then(Value::as_str),
                None => booked(detail.name),
            };
            self.detail(&detail, detail.name.to_owned(), saved, true)
        };
        Group { legend: None, fields: person::asked(&step.required_fields, false).into_iter().map(field).collect(), remove: None }
    }

    /// The fields of the others: of as many as are saved, come, or are asked for, whichever is most.
    pub fn guests(&self, step: &'v Step, asked_for: Option<usize>) -> Vec<Group<'v>> {
        let saved = step.answers.as_ref().and_then(|answers| answers.get("guests")).and_then(Value::as_array).map(Vec::as_slice);
        let saved = saved.unwrap_or_default();
        let typed = self.typed.into_iter().flatten().filter_map(|(name, _)| person::guest_of(name)).map(|(guest, _)| guest + 1).max();
        let expected = step.expected_guests.unwrap_or_else(|| usize::from(step.answers.is_none()));
        let shown = typed.or(asked_for).unwrap_or_else(|| saved.len().max(expected)).max(saved.len()).min(MOST_GUESTS);
        let group = |guest: usize| {
            let before = saved.get(guest).and_then(Value::as_object);
            let field = |detail: Detail<'v>| {
                let value = before.and_then(|before| before.get(detail.name)).and_then(Value::as_str);
                self.detail(&detail, person::field_of(guest, detail.name), value, false)
            };
            // The one who booked is the first.
            let number = (guest + 2).to_string();
            Group {
                legend: Some(fill(self.words.fields.guest, &[("n", &number)])),
                fields: person::asked(&step.required_fields, true).into_iter().map(field).collect(),
                remove: Some((guest, fill(self.words.fields.remove_guest, &[("n", &number)]))),
            }
        };
        (0..shown).map(group).collect()
    }

    /// The questions that are asked now.
    pub fn questions(&self, step: &'v Step) -> Vec<Field<'v>> {
        step.questions.iter().flatten().map(|question| self.question(question)).collect()
    }

    fn question(&self, question: &'v QuestionView) -> Field<'v> {
        let saved = question.answer.as_ref().unwrap_or(&Value::Null);
        let (id, is_required) = (question.id, question.is_required);
        let label = question.text.as_deref().unwrap_or_default();
        let (text, choice_name) = (form::text_field(id), form::choice_field(id));
        let error = self.error(&text).or_else(|| self.error(&choice_name));
        let field = |id: String, name, hint, input| Field { id, name, label, hint, error, is_required, input };
        if question.kind == QuestionKind::FreeFormInput {
            let value = self.value(&text, saved["text"].as_str());
            return field(format!("t-{id}"), text, None, Input::Text { value, most: TEXT_LENGTH });
        }
        let chosen: Vec<Uuid> = match self.typed {
            Some(typed) => typed.iter().filter(|(name, _)| *name == choice_name).filter_map(|(_, value)| value.parse().ok()).collect(),
            None => saved["optionIds"].as_array().into_iter().flatten().filter_map(|id| id.as_str()?.parse().ok()).collect(),
        };
        let options = question.options.iter().map(|option| Choice {
            id: format!("o-{}", option.id),
            value: option.id.to_string(),
            label: option.name.as_deref().unwrap_or_default().into(),
            notes: Vec::new(),
            is_chosen: chosen.contains(&option.id),
        });
        let mut choices: Vec<Choice<'v>> = options.collect();
        let id_of_group = format!("q-{id}");
        if question.kind == QuestionKind::MultiSelect {
            return field(id_of_group, choice_name, Some(self.words.common.choose_any), Input::Any(choices));
        }
        if !is_required {
            // A radio button cannot be taken back, but by choosing another.
            let is_chosen = !choices.iter().any(|choice| choice.is_chosen);
            let label = self.words.common.no_answer.into();
            choices.push(Choice { id: format!("n-{id}"), value: String::new(), label, notes: Vec::new(), is_chosen });
        }
        field(id_of_group, choice_name, None, Input::One(choices))
    }

    /// What an agreement takes.
    pub fn agreement(&self, step: &'v Step) -> Vec<Field<'v>> {
        let saved = step.answers.as_ref();
        let is_ticked = match self.typed {
            Some(typed) => form::sent(typed, "isAccepted").is_some(),
            None => saved.is_some_and(|answers| answers.get("isAccepted") == Some(&Value::Bool(true))) || step.is_complete,
        };
        let words = &self.words.agreement;
        let tick = Field {
            id: "isAccepted".into(),
            name: "isAccepted".into(),
            label: words.accept,
            hint: None,
            error: self.error("isAccepted"),
            is_required: true,
            input: Input::Tick(is_ticked),
        };
        let signature = step.is_signature_required.then(|| {
            let value = self.value("signedName", saved.and_then(|answers| answers.get("signedName")).and_then(Value::as_str));
            Field {
                id: "signedName".into(),
                name: "signedName".into(),
                label: words.signed_name,
                hint: Some(words.signed_name_hint),
                error: self.error("signedName"),
                is_required: true,
                input: Input::Line { kind: "text", autocomplete: "name", value, most: 200 },
            }
        });
        [tick].into_iter().chain(signature).collect()
    }

    /// The choice between what can be had for a deposit: the value that is sent, what it is called, what follows from it.
    pub fn deposit(&self, step: &'v Step, offered: Vec<(String, String, Vec<String>)>) -> Field<'v> {
        let saved = step.answers.as_ref().and_then(|answers| match answers.get("choice").and_then(Value::as_str) {
            Some("waiver") => answers.get("damageWaiverId").and_then(Value::as_str),
            choice => choice,
        });
        let value = self.value("choice", saved);
        let choices = offered.into_iter().map(|(sent, label, notes)| Choice { notes, ..choice("c", &sent, label.into(), &value) });
        Field {
            id: "choice".into(),
            name: "choice".into(),
            label: self.words.deposit.question,
            hint: None,
            error: self.error("choice"),
            is_required: true,
            input: Input::One(choices.collect()),
        }
    }
}

fn choice<'v>(field: &str, sent: &str, label: Cow<'v, str>, value: &str) -> Choice<'v> {
    Choice { id: format!("{field}-{sent}"), value: sent.to_owned(), label, notes: Vec::new(), is_chosen: sent == value }
}
