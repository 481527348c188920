//! The guest view as a page: the same data as the interface, for a phone, and the forms that answer it.
//!
//! An icon that is the cover of a manual is not drawn: the page loads no script and no font, and the catalogue is names only.

use askama::Template;
use engine::error::{Error, Result};
use serde_json::Value;
use uuid::Uuid;

use super::form::{self, Fields, Form, Note, Refused, Visit};
use super::words::{self, FormWords, PageWords};
use crate::guest::{GuestView, ManualCategoryView, ManualView, PrecheckinStatus, QuestionView, StepView, language_of};
use crate::precheck::{QuestionKind, StepType};
use crate::translations::ENGLISH;

#[derive(Template)]
#[template(path = "stay.html")]
struct Stay<'v> {
    view: &'v GuestView,
    language: &'v str,
    words: PageWords,
    labels: &'v FormWords,
    is_cancelled: bool,
    tiles: Vec<&'static str>,
    contact_href: Option<String>,
    /// A refusal whose form is not on the page.
    alert: Option<&'static str>,
    asking: Option<Asking<'v>>,
    headings: Vec<Heading<'v>>,
    chat: Option<Chat<'v>>,
}

#[derive(Template)]
#[template(path = "stay_missing.html")]
struct Missing<'m> {
    language: &'m str,
    message: &'m str,
}

/// Pre-check-in, as it is shown.
struct Asking<'v> {
    prompt: &'v str,
    /// Where the guest stands; nothing where nothing is asked.
    status: Option<&'static str>,
    cards: Vec<Card<'v>>,
    /// Whether every step is done.
    is_ready: bool,
    /// What has become of it, once it has been submitted.
    outcome: Option<&'static str>,
    /// Whether it waits for nothing from the guest.
    is_submitted: bool,
    submit: Target,
}

/// Where a form stands, where it goes, and why it was refused.
struct Target {
    anchor: String,
    action: String,
    alert: Option<&'static str>,
}

/// A step.
struct Card<'v> {
    step: &'v StepView,
    target: Target,
    /// Whether there is anything in it besides its title.
    has_body: bool,
    is_open: bool,
    note: Option<&'static str>,
    /// What happens, where the organization's own words do not say it.
    sentence: Option<&'static str>,
    asks: Asks<'v>,
}

/// What a step asks.
enum Asks<'v> {
    /// Nothing any more.
    Nothing,
    Questions(Vec<Question<'v>>),
    /// To be accepted; whether it is.
    Agreement(bool),
    Details(Vec<Detail<'v>>),
    /// The names written so far.
    Guests(&'v str),
    Confirmation,
}

struct Question<'v> {
    id: Uuid,
    name: String,
    text: &'v str,
    is_required: bool,
    input: Input<'v>,
}

enum Input<'v> {
    Text(&'v str),
    One(Vec<Choice<'v>>),
    Any(Vec<Choice<'v>>),
}

struct Choice<'v> {
    id: String,
    value: String,
    label: &'v str,
    is_chosen: bool,
}

/// A field of the guest's details.
struct Detail<'v> {
    id: String,
    name: &'static str,
    label: &'v str,
    /// The type and the `autocomplete` of the input.
    kind: &'static str,
    autocomplete: &'static str,
    is_required: bool,
    value: &'v str,
}

/// A heading and what there is to read under it.
struct Heading<'v> {
    title: &'v str,
    manuals: Vec<ManualCard<'v>>,
}

/// A manual.
struct ManualCard<'v> {
    manual: &'v ManualView,
    title: &'v str,
    /// Whether there is anything in it besides its title.
    has_body: bool,
}

/// The message box.
struct Chat<'v> {
    target: Target,
    text: &'v str,
    is_sent: bool,
}

/// The page of a stay: at this path, visited so, after this refusal.
pub fn render(view: &GuestView, path: &str, visit: &Visit, refused: Option<&Refused>) -> Result<String> {
    let language = language_of(visit.language.as_deref(), &view.reservation.guest);
    let (words, labels) = (words::page(&language), words::forms(&language));
    let shown = Shown { view, path, visit, refused, language: &language, labels: &labels };
    let (asking, chat) = (shown.asking(), shown.chat());
    let headings = view.manual_categories.iter().map(|category| heading(category, words.good_to_know));
    let page = Stay {
        view,
        headings: headings.filter(|heading| !heading.manuals.is_empty()).collect(),
        words,
        labels: &labels,
        is_cancelled: view.reservation.status == crate::records::ReservationStatus::Cancelled,
        tiles: view.quick_access.iter().map(|tile| words::tile(*tile, &language)).collect(),
        contact_href: view.contact.as_ref().map(|contact| contact.method.link(&contact.value)),
        alert: shown.stray_alert(asking.as_ref(), chat.is_some()),
        asking,
        chat,
        language: &language,
    };
    page.render().map_err(Error::internal)
}

/// The page where there is no stay to show.
pub fn render_missing(message: &str) -> Result<String> {
    Missing { language: ENGLISH, message }.render().map_err(Error::internal)
}

/// The page where it has been asked for too often, in the language that was asked for: whose stay it is has not been looked at.
pub fn render_busy(asked: Option<&str>) -> Result<String> {
    let language = asked.and_then(engine::format::language).unwrap_or_else(|| ENGLISH.into());
    Missing { language: &language, message: words::busy(&language) }.render().map_err(Error::internal)
}

/// What stands under a heading, but for what has neither a title nor anything in it; `untitled` heads what has none.
fn heading<'v>(category: &'v ManualCategoryView, untitled: &'static str) -> Heading<'v> {
    let card = |manual: &'v ManualView| {
        let has_body = manual.description_html.is_some() || manual.image_url.is_some() || manual.video_url.is_some();
        let title = manual.title.as_deref().or(has_body.then_some(untitled))?;
        Some(ManualCard { manual, title, has_body })
    };
    Heading { title: category.title.as_deref().unwrap_or(untitled), manuals: category.manuals.iter().filter_map(card).collect() }
}

/// What a page is made of.
struct Shown<'v> {
    view: &'v GuestView,
    path: &'v str,
    visit: &'v Visit,
    refused: Option<&'v Refused>,
    language: &'v str,
    labels: &'v FormWords,
}

impl<'v> Shown<'v> {
    fn is_submitted(&self) -> bool {
        matches!(self.view.precheckin.status, PrecheckinStatus::InReview | PrecheckinStatus::Approved)
    }

    fn steps(&self) -> &'v [StepView] {
        &self.view.precheckin.steps
    }

    fn asking(&self) -> Option<Asking<'v>> {
        let status = self.view.precheckin.status;
        let open = self.open_step();
        let is_asked = !self.steps().is_empty() || self.is_submitted();
        Some(Asking {
            prompt: self.view.precheckin.prompt_message.as_deref()?,
            status: is_asked.then(|| words::status(status, self.language)),
            cards: self.steps().iter().map(|step| self.card(step, open == Some(step.id))).collect(),
            is_ready: self.steps().iter().all(|step| step.is_complete),
            outcome: words::outcome(status, self.language),
            is_submitted: self.is_submitted(),
            submit: self.target(Form::Submit),
        })
    }

    fn chat(&self) -> Option<Chat<'v>> {
        let is_on = self.view.portal.as_ref().is_some_and(|portal| portal.is_chat_enabled);
        is_on.then(|| Chat {
            target: self.target(Form::Message),
            text: self.typed(Form::Message, "text").unwrap_or_default(),
            is_sent: self.visit.note == Some(Note::Sent),
        })
    }

    fn target(&self, form: Form) -> Target {
        let alert = self.refused.filter(|refused| refused.form == form).map(|refused| self.alert(refused));
        Target { anchor: form.anchor(), action: form.action(self.path, self.visit.language.as_deref()), alert }
    }

    fn alert(&self, refused: &Refused) -> &'static str {
        words::refusal(refused, self.is_submitted(), self.language)
    }

    /// What to say of a refusal at the head of the page, for want of its form.
    fn stray_alert(&self, asking: Option<&Asking<'_>>, has_chat: bool) -> Option<&'static str> {
        let refused = self.refused?;
        let has_place = match refused.form {
            Form::Step(id) => asking.is_some_and(|asking| asking.cards.iter().any(|card| card.step.id == id)),
            Form::Submit => asking.is_some_and(|asking| asking.status.is_some()),
            Form::Message => has_chat,
        };
        (!has_place).then(|| self.alert(refused))
    }

    /// What was filled into a form that was refused, so that it need not be filled in again.
    fn filled_in(&self, form: Form) -> Option<&'v Fields> {
        self.refused.filter(|refused| refused.form == form && !refused.fields.is_empty()).map(|refused| &refused.fields)
    }

    fn typed(&self, form: Form, wanted: &str) -> Option<&'v str> {
        self.filled_in(form)?.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }

    /// The one card that is unfolded: that of a refusal, else the one the address names, else the first that is not done.
    fn open_step(&self) -> Option<Uuid> {
        let refused = self.refused.and_then(|refused| if let Form::Step(id) = refused.form { Some(id) } else { None });
        let named = refused.or(self.visit.step).filter(|id| self.steps().iter().any(|step| step.id == *id));
        let next = || self.steps().iter().find(|step| !step.is_complete && step.is_open).map(|step| step.id);
        named.or_else(next)
    }

    fn card(&self, step: &'v StepView, is_open: bool) -> Card<'v> {
        let asks = if step.is_open { self.asks(step) } else { Asks::Nothing };
        let is_textless = step.step_type == StepType::Agreement && step.agreement_text.is_none();
        let sentence = words::what_happens(step.step_type, self.language).or(is_textless.then_some(self.labels.agreement_elsewhere));
        let has_text = step.description.is_some() || step.agreement_text.is_some() || sentence.is_some();
        Card {
            step,
            target: self.target(Form::Step(step.id)),
            has_body: has_text || !matches!(asks, Asks::Nothing),
            is_open,
            note: (self.visit.note == Some(Note::More) && self.visit.step == Some(step.id)).then_some(self.labels.more),
            sentence,
            asks,
        }
    }

    fn asks(&self, step: &'v StepView) -> Asks<'v> {
        let form = Form::Step(step.id);
        match step.step_type {
            StepType::AdditionalQuestions => {
                Asks::Questions(step.questions.iter().flatten().map(|question| self.question(form, question)).collect())
            }
            StepType::Agreement => Asks::Agreement(step.is_complete),
            StepType::YourDetails => Asks::Details(self.details(form, step)),
            StepType::OtherGuests => Asks::Guests(self.typed(form, "guests").unwrap_or_default()),
            _ if step.is_complete => Asks::Nothing,
            _ => Asks::Confirmation,
        }
    }

    fn question(&self, form: Form, question: &'v QuestionView) -> Question<'v> {
        let saved = question.answer.as_ref().unwrap_or(&Value::Null);
        let (id, is_required) = (question.id, question.is_required);
        let text = question.text.as_deref().unwrap_or_default();
        if question.kind == QuestionKind::FreeFormInput {
            let name = form::text_field(id);
            let written = self.typed(form, &name).or(saved["text"].as_str()).unwrap_or_default();
            return Question { id, name, text, is_required, input: Input::Text(written) };
        }
        let name = form::choice_field(id);
        let chosen: Vec<Uuid> = match self.filled_in(form) {
            Some(fields) => fields.iter().filter(|(other, _)| *other == name).filter_map(|(_, value)| value.parse().ok()).collect(),
            None => saved["optionIds"].as_array().into_iter().flatten().filter_map(|id| id.as_str()?.parse().ok()).collect(),
        };
        let choices = question.options.iter().map(|option| Choice {
            id: format!("o-{}", option.id),
            value: option.id.to_string(),
            label: option.name.as_deref().unwrap_or_default(),
            is_chosen: chosen.contains(&option.id),
        });
        let mut choices: Vec<Choice<'v>> = choices.collect();
        if question.kind == QuestionKind::MultiSelect {
            return Question { id, name, text, is_required, input: Input::Any(choices) };
        }
        if !is_required {
            // A radio button cannot be taken back, but by choosing another.
            let is_chosen = !choices.iter().any(|choice| choice.is_chosen);
            choices.push(Choice { id: format!("n-{id}"), value: String::new(), label: self.labels.no_answer, is_chosen });
        }
        Question { id, name, text, is_required, input: Input::One(choices) }
    }

    /// What is saved is not in the view. What was booked is offered until something is, and then no more: it would be taken
    /// for it.
    fn details(&self, form: Form, step: &'v StepView) -> Vec<Detail<'v>> {
        let guest = &self.view.reservation.guest;
        let booked = |text: Option<&'v str>| text.filter(|_| !step.is_complete);
        let fields = [
            ("firstName", self.labels.first_name, "text", "given-name", true, booked(guest.first_name.as_deref())),
            ("lastName", self.labels.last_name, "text", "family-name", true, booked(guest.last_name.as_deref())),
            ("email", self.labels.email, "email", "email", true, None),
            ("phone", self.labels.phone, "tel", "tel", false, None),
        ];
        let detail = |(name, label, kind, autocomplete, is_required, booked): (_, _, _, _, _, Option<&'v str>)| Detail {
            id: format!("{name}-{}", step.id),
            name,
            label,
            kind,
            autocomplete,
            is_required,
            value: self.typed(form, name).or(booked).unwrap_or_default(),
        };
        fields.into_iter().map(detail).collect()
    }
}
