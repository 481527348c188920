//! Builds the fields of a step's form, with labels, values and error messages.

use std::borrow::Cow;

use features::guest::{QuestionView, StepView};
use features::precheck::{GuestFieldRules, QuestionKind};
use features::translations::TextLanguages;
use features::words::{Words, fill};
use serde_json::{Map, Value};
use uuid::Uuid;
use vestibule_http::browser::first_value;

use super::fault::{FaultKind, Faults};
use super::form::{self, FormFields, MAX_GUESTS};
use super::guest_fields::{self, GuestField, Requirement};

/// Maximum number of characters in a field with several lines.
const TEXT_LENGTH: usize = 6000;
/// Maximum number of characters in a field with a single line.
const LINE_LENGTH: usize = 500;

/// A field of the form. A group of checkboxes or of radio buttons is one field.
pub struct PageField<'v> {
    /// The id of the element that gets the focus when the guest follows a link to the field.
    pub id: String,
    pub name: String,
    pub label: &'v str,
    /// The languages of the question's texts, if `label` is the question's `text`. `None` if
    /// `label` is a built-in text.
    pub languages: Option<&'v TextLanguages>,
    pub hint: Option<Cow<'static, str>>,
    pub error: Option<String>,
    pub is_required: bool,
    /// Whether the label says that the field is required or optional. If false, the field is
    /// required only of some guests, and `hint` names these guests.
    pub is_marked: bool,
    pub input: FieldInput<'v>,
}

/// The kind of an input, such as a selection list, and the value that the input shows.
pub enum FieldInput<'v> {
    Line {
        kind: &'static str,
        autocomplete: &'static str,
        value: Cow<'v, str>,
        most: usize,
    },
    /// An input with several lines. `most` is the maximum number of characters.
    Text { value: Cow<'v, str>, most: usize },
    /// Radio buttons. The guest chooses at most one option.
    Radio(Vec<FieldChoice<'v>>),
    /// Checkboxes. The guest can tick any number of them.
    Checkboxes(Vec<FieldChoice<'v>>),
    /// A selection list.
    Select(Vec<FieldChoice<'v>>),
    /// A single checkbox. The value is true if the box is ticked.
    Checkbox(bool),
}

/// An option of a field.
pub struct FieldChoice<'v> {
    pub id: String,
    pub value: String,
    pub label: Cow<'v, str>,
    /// The languages of the option's texts, if `label` is the option's `name`. `None` if `label` is
    /// a built-in text.
    pub languages: Option<&'v TextLanguages>,
    /// Texts about the consequences for a guest who chooses this option.
    pub notes: Vec<String>,
    pub is_chosen: bool,
}

/// Fields with a common heading.
pub struct FieldGroup<'v> {
    /// The heading of the group; `None` if the group has no heading of its own.
    pub legend: Option<String>,
    pub fields: Vec<PageField<'v>>,
    /// The hidden fields of the group. They repeat the values that the other fields show at first,
    /// so that the server can tell which values the guest has changed. If the group is for a saved
    /// guest, a hidden field has the guest's id.
    pub hidden: Vec<(String, Cow<'v, str>)>,
    /// The button that removes the guest whose fields are in this group: its form value, which is
    /// the guest's number, and its label.
    pub remove: Option<(usize, String)>,
}

impl<'v> FieldGroup<'v> {
    /// Builds a group of fields without a heading, and without a button that removes a guest.
    pub const fn plain(fields: Vec<PageField<'v>>, hidden: Vec<(String, Cow<'v, str>)>) -> Self {
        Self {
            legend: None,
            fields,
            hidden,
            remove: None,
        }
    }
}

impl PageField<'_> {
    /// Returns the ids of the elements that describe the field, for `aria-describedby`.
    #[must_use]
    pub fn described_by(&self) -> Option<String> {
        let hint = self.hint.as_ref().map(|_| format!("{}-hint", self.id));
        let error = self.error.as_ref().map(|_| format!("{}-error", self.id));
        let ids: Vec<String> = error.into_iter().chain(hint).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }

    /// Returns the id of the element that gets the focus when the guest follows a link to this
    /// field.
    #[must_use]
    pub fn target(&self) -> &str {
        match &self.input {
            FieldInput::Radio(choices) | FieldInput::Checkboxes(choices) => {
                choices.first().map_or(&self.id, |choice| &choice.id)
            }
            _ => &self.id,
        }
    }
}

/// The values that the fields show. A refused form shows the values that the guest typed; any other
/// form shows the saved values.
pub struct FieldValues<'v> {
    pub words: &'static Words,
    /// The typed values of a refused form; `None` for any other form.
    pub typed: Option<&'v FormFields>,
    pub faults: &'v Faults,
}

impl<'v> FieldValues<'v> {
    fn error(&self, name: &str) -> Option<String> {
        let fault = self
            .faults
            .0
            .iter()
            .find(|fault| fault.field == name && fault.kind != FaultKind::UnknownField);
        fault.map(|fault| fault.kind.message(self.words))
    }

    /// Returns the value that a field shows: the typed value in a refused form, otherwise the saved
    /// value. In a refused form, a field that the guest emptied stays empty.
    fn value(&self, name: &str, saved: Option<&'v str>) -> Cow<'v, str> {
        let value = match self.typed {
            Some(typed) => first_value(typed, name),
            None => saved,
        };
        Cow::Borrowed(value.unwrap_or_default())
    }

    /// Returns the hidden fields that tell the server which value the form showed in field `name`.
    /// In a refused form, they contain the same values as in the form that was sent. In any other
    /// form, they contain `saved`. An empty value gets no hidden field.
    fn hidden(&self, name: &str, saved: Vec<Cow<'v, str>>) -> Vec<(String, Cow<'v, str>)> {
        let was = form::shown_value_field(name);
        let values = match self.typed {
            Some(typed) => typed
                .iter()
                .filter(|(field, _)| *field == was)
                .map(|(_, value)| Cow::Borrowed(value.as_str()))
                .collect(),
            None => saved,
        };
        let values = values.into_iter().filter(|value| !value.is_empty());
        values.map(|value| (was.clone(), value)).collect()
    }

    /// Builds the field for one detail of a guest.
    fn detail(
        &self,
        detail: &GuestField<'v>,
        rules: &GuestFieldRules,
        name: String,
        saved: Option<&'v str>,
        is_own: bool,
    ) -> PageField<'v> {
        let value = self.value(&name, saved);
        let id = name.replace(|character: char| !character.is_ascii_alphanumeric(), "-");
        let choices = detail.choices(self.words);
        let input = if choices.is_empty() {
            let autocomplete = if is_own { detail.autocomplete() } else { "off" };
            FieldInput::Line {
                kind: detail.kind(),
                autocomplete,
                value,
                most: LINE_LENGTH,
            }
        } else {
            let is_listed = value.is_empty() || choices.iter().any(|(sent, _)| *sent == value);
            let other = (!is_listed).then(|| choice(&id, &value, value.clone(), &value));
            let listed = choices
                .into_iter()
                .map(|(sent, label)| choice(&id, sent, label.into(), &value));
            FieldInput::Select(listed.chain(other).collect())
        };
        let error = self.error(&name);
        PageField {
            languages: None,
            error,
            label: detail.label(self.words),
            hint: detail.hint(rules, self.words),
            is_required: detail.need == Requirement::Always,
            is_marked: matches!(detail.need, Requirement::Always | Requirement::Never),
            id,
            name,
            input,
        }
    }

    /// Builds the fields of the guest who booked. `booked` returns the value that the reservation
    /// has for a field. The form shows these values until the guest has saved values.
    pub fn details(
        &self,
        step: &'v StepView,
        booked: impl Fn(&str) -> Option<&'v str>,
    ) -> FieldGroup<'v> {
        let rules = &step.guest_field_rules;
        let saved = |name: &str| {
            let answers = step.answers.as_ref()?;
            answers.get(name).and_then(Value::as_str)
        };
        let value = |name: &str| match &step.answers {
            Some(_) => saved(name),
            None => booked(name),
        };
        let field = |detail: &GuestField<'v>| {
            let name = detail.name.to_owned();
            self.detail(detail, rules, name, value(detail.name), true)
        };
        let hidden = |detail: &GuestField<'v>| {
            let shown = value(detail.name).map(Cow::Borrowed);
            self.hidden(detail.name, shown.into_iter().collect())
        };
        let asked = guest_fields::requested_fields(step, false);
        FieldGroup::plain(
            asked.iter().map(field).collect(),
            asked.iter().flat_map(hidden).collect(),
        )
    }

    /// Builds one group of fields for each guest other than the guest who booked. A refused form
    /// shows as many groups as were sent. Any other form shows `asked_for` groups, by default one
    /// for each guest that the step expects. It shows at least one group for each saved guest.
    pub fn guests(&self, step: &'v StepView, asked_for: Option<usize>) -> Vec<FieldGroup<'v>> {
        let saved = form::saved_guests(step);
        let typed = self
            .typed
            .into_iter()
            .flatten()
            .filter_map(|(name, _)| guest_fields::guest_of(name))
            .map(|(guest, _)| guest + 1)
            .max();
        let expected = step
            .expected_guests
            .flatten()
            .and_then(|expected| usize::try_from(expected).ok())
            .unwrap_or_else(|| usize::from(step.answers.is_none()));
        let count = typed
            .unwrap_or_else(|| asked_for.unwrap_or(expected).max(saved.len()))
            .min(MAX_GUESTS);
        let asked = guest_fields::requested_fields(step, true);
        let group = |guest: usize| {
            let before = saved.get(guest).and_then(Value::as_object);
            let value = |name: &str| {
                before
                    .and_then(|before| before.get(name))
                    .and_then(Value::as_str)
            };
            let field = |detail: &GuestField<'v>| {
                let name = guest_fields::field_of(guest, detail.name);
                let rules = &step.guest_field_rules;
                self.detail(detail, rules, name, value(detail.name), false)
            };
            let hidden = |detail: &GuestField<'v>| {
                let saved = value(detail.name).map(Cow::Borrowed);
                let name = guest_fields::field_of(guest, detail.name);
                self.hidden(&name, saved.into_iter().collect())
            };
            let id = form::id_field(guest);
            let known = match self.typed {
                Some(typed) => first_value(typed, &id),
                None => value("id"),
            };
            let id = known.map(|known| (id, Cow::Borrowed(known)));
            // The guest who booked has the number 1, so the first of the other guests has the
            // number 2.
            let number = (guest + 2).to_string();
            FieldGroup {
                legend: Some(fill(self.words.fields.guest, &[("n", &number)])),
                fields: asked.iter().map(field).collect(),
                hidden: asked.iter().flat_map(hidden).chain(id).collect(),
                remove: Some((
                    guest,
                    fill(self.words.fields.remove_guest, &[("n", &number)]),
                )),
            }
        };
        (0..count).map(group).collect()
    }

    /// Builds the fields of the step's questions. Hidden fields tell the server which answers the
    /// form showed.
    pub fn questions(&self, step: &'v StepView) -> FieldGroup<'v> {
        let questions = || step.questions.iter().flatten();
        FieldGroup::plain(
            questions()
                .map(|question| self.question(question))
                .collect(),
            questions()
                .flat_map(|question| self.answered(question))
                .collect(),
        )
    }

    /// Returns the hidden fields that repeat the saved answer to a question, as the form shows it.
    /// With these fields, the server can tell whether the guest has changed the answer.
    fn answered(&self, question: &'v QuestionView) -> Vec<(String, Cow<'v, str>)> {
        let saved = question.answer.as_ref().unwrap_or(&Value::Null);
        if question.kind == QuestionKind::FreeFormInput {
            let text = saved["text"].as_str().map(Cow::Borrowed);
            return self.hidden(&form::text_field(question.id), text.into_iter().collect());
        }
        let chosen = saved["optionIds"].as_array().into_iter().flatten();
        let shown = chosen.filter_map(Value::as_str).filter(|id| {
            let mut options = question.options.iter();
            options.any(|option| option.id.to_string() == *id)
        });
        let saved = shown.map(Cow::Borrowed).collect();
        self.hidden(&form::choice_field(question.id), saved)
    }

    fn question(&self, question: &'v QuestionView) -> PageField<'v> {
        let saved = question.answer.as_ref().unwrap_or(&Value::Null);
        let (id, is_required) = (question.id, question.is_required);
        let label = question.text.as_deref().unwrap_or_default();
        let (text, choice_name) = (form::text_field(id), form::choice_field(id));
        let error = self.error(&text).or_else(|| self.error(&choice_name));
        let field = |id: String, name, hint: Option<&'static str>, input| PageField {
            languages: Some(&question.text_languages),
            id,
            name,
            label,
            hint: hint.map(Cow::Borrowed),
            error,
            is_required,
            is_marked: true,
            input,
        };
        if question.kind == QuestionKind::FreeFormInput {
            let value = self.value(&text, saved["text"].as_str());
            return field(
                format!("t-{id}"),
                text,
                None,
                FieldInput::Text {
                    value,
                    most: TEXT_LENGTH,
                },
            );
        }
        let chosen: Vec<Uuid> = match self.typed {
            Some(typed) => typed
                .iter()
                .filter(|(name, _)| *name == choice_name)
                .filter_map(|(_, value)| value.parse().ok())
                .collect(),
            None => saved["optionIds"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|id| id.as_str()?.parse().ok())
                .collect(),
        };
        let options = question.options.iter().map(|option| FieldChoice {
            languages: Some(&option.text_languages),
            id: format!("o-{}", option.id),
            value: option.id.to_string(),
            label: option.name.as_deref().unwrap_or_default().into(),
            notes: Vec::new(),
            is_chosen: chosen.contains(&option.id),
        });
        let mut choices: Vec<FieldChoice<'v>> = options.collect();
        let id_of_group = format!("q-{id}");
        if question.kind == QuestionKind::MultiSelect {
            return field(
                id_of_group,
                choice_name,
                Some(self.words.common.choose_any),
                FieldInput::Checkboxes(choices),
            );
        }
        if !is_required {
            // A browser cannot unselect a radio button, so the form adds an option with which the
            // guest gives no answer.
            let is_chosen = !choices.iter().any(|choice| choice.is_chosen);
            let label = self.words.common.no_answer.into();
            choices.push(FieldChoice {
                languages: None,
                id: format!("n-{id}"),
                value: String::new(),
                label,
                notes: Vec::new(),
                is_chosen,
            });
        }
        field(id_of_group, choice_name, None, FieldInput::Radio(choices))
    }

    /// Builds the fields with which the guest accepts an agreement.
    pub fn agreement(&self, step: &'v StepView) -> Vec<PageField<'v>> {
        let saved = step.answers.as_ref();
        let is_ticked = if let Some(typed) = self.typed {
            first_value(typed, "isAccepted").is_some()
        } else {
            let is_accepted = |answers: &Map<String, Value>| {
                answers.get("isAccepted") == Some(&Value::Bool(true))
            };
            !step.is_text_changed && (saved.is_some_and(is_accepted) || step.state.is_ready())
        };
        let words = &self.words.agreement;
        let tick = PageField {
            languages: None,
            id: "isAccepted".into(),
            name: "isAccepted".into(),
            label: words.accept,
            hint: None,
            error: self.error("isAccepted"),
            is_required: true,
            is_marked: true,
            input: FieldInput::Checkbox(is_ticked),
        };
        let is_signed_here = step
            .agreement
            .as_ref()
            .is_none_or(|agreement| !agreement.is_signed_elsewhere);
        let is_signed = step.is_signature_required.unwrap_or_default() && is_signed_here;
        let signature = is_signed.then(|| {
            let value = self.value(
                "signedName",
                saved
                    .and_then(|answers| answers.get("signedName"))
                    .and_then(Value::as_str),
            );
            PageField {
                languages: None,
                id: "signedName".into(),
                name: "signedName".into(),
                label: words.signed_name,
                hint: Some(words.signed_name_hint.into()),
                error: self.error("signedName"),
                is_required: true,
                is_marked: true,
                input: FieldInput::Line {
                    kind: "text",
                    autocomplete: "name",
                    value,
                    most: 200,
                },
            }
        });
        [tick].into_iter().chain(signature).collect()
    }

    /// Builds the checkbox with which a guest agrees to a background check.
    pub fn consent(&self, step: &'v StepView) -> PageField<'v> {
        let is_ticked = match self.typed {
            Some(typed) => first_value(typed, "isAccepted").is_some(),
            None => step.state.is_ready(),
        };
        PageField {
            languages: None,
            id: "isAccepted".into(),
            name: "isAccepted".into(),
            label: self.words.agreement.consent,
            hint: None,
            error: self.error("isAccepted"),
            is_required: true,
            is_marked: true,
            input: FieldInput::Checkbox(is_ticked),
        }
    }

    /// Builds the choice between paying a damage deposit and buying a waiver. `offered` has the
    /// form value, the label and the notes of each choice.
    pub fn deposit(
        &self,
        step: &'v StepView,
        offered: Vec<(String, String, Vec<String>)>,
    ) -> PageField<'v> {
        let saved = step.answers.as_ref().and_then(|answers| {
            match answers.get("choice").and_then(Value::as_str) {
                Some("waiver") => answers.get("damageWaiverId").and_then(Value::as_str),
                choice => choice,
            }
        });
        let value = self.value("choice", saved);
        let choices = offered.into_iter().map(|(sent, label, notes)| FieldChoice {
            notes,
            ..choice("c", &sent, label.into(), &value)
        });
        PageField {
            languages: None,
            id: "choice".into(),
            name: "choice".into(),
            label: self.words.deposit.question,
            hint: None,
            error: self.error("choice"),
            is_required: true,
            is_marked: true,
            input: FieldInput::Radio(choices.collect()),
        }
    }
}

fn choice<'v>(field: &str, sent: &str, label: Cow<'v, str>, value: &str) -> FieldChoice<'v> {
    FieldChoice {
        languages: None,
        id: format!("{field}-{sent}"),
        value: sent.to_owned(),
        label,
        notes: Vec::new(),
        is_chosen: sent == value,
    }
}
