//! What the guest writes to the host, and what they wrote before.

use std::borrow::Cow;

use askama::Template;
use engine::error::{Error, Result};
use uuid::Uuid;

use super::fault::Faults;
use super::fields::{Field, Input};
use super::form::{self, Fields};
use super::frame::Frame;
use super::shown::Shown;
use super::step::Refused;
use super::summary::Summary;
use crate::guest::Message;
use crate::words::fill;

/// Characters in a message at the most, and in what it is about.
const TEXT_LENGTH: usize = 6000;
const SUBJECT_LENGTH: usize = 120;

#[derive(Template)]
#[template(path = "page/messages.html")]
struct Messages<'v> {
    frame: Frame<'v>,
    summary: Option<Summary>,
    /// Where a message goes, where the host takes any.
    action: Option<String>,
    /// Whether it is about something that is broken.
    is_issue: bool,
    key: Uuid,
    fields: Vec<Field<'v>>,
    written: Vec<Written<'v>>,
}

/// A message that was sent.
struct Written<'v> {
    text: &'v str,
    sent: String,
}

/// The page of the messages, the latest first; `is_issue` for what is broken.
pub fn render(shown: &Shown, messages: &[Message], is_issue: bool, refused: Option<&Refused>) -> Result<String> {
    let portal = shown.view.portal.as_ref();
    let typed = refused.and_then(|refused| refused.typed.as_ref());
    let is_ticket = portal.is_some_and(|portal| portal.is_ticketing_enabled)
        && (is_issue || typed.is_some_and(|typed| form::sent(typed, "subject").is_some()));
    let none = Faults::default();
    let faults = refused.map_or(&none, |refused| &refused.faults);
    let words = shown.words;
    let error = |name: &str| faults.0.iter().find(|fault| fault.field == name).map(|fault| fault.lack.said(words));
    let subject = is_ticket.then(|| Field {
        id: "subject".into(),
        name: "subject".into(),
        label: words.ticket.subject,
        hint: None,
        error: error("subject"),
        is_required: false,
        input: Input::Line { kind: "text", autocomplete: "off", value: value(typed, "subject"), most: SUBJECT_LENGTH },
    });
    let text = Field {
        id: "text".into(),
        name: "text".into(),
        label: if is_ticket { words.ticket.description } else { words.messages.label },
        hint: is_ticket.then_some(words.ticket.description_hint),
        error: error("text"),
        is_required: true,
        input: Input::Text { value: value(typed, "text"), most: TEXT_LENGTH },
    };
    let fields: Vec<Field<'_>> = subject.into_iter().chain([text]).collect();
    let said = refused.and_then(|refused| refused.said);
    let title = if is_issue { words.ticket.title } else { words.messages.title };
    Messages {
        summary: Summary::of(fields.iter(), None, faults, said, words),
        frame: Frame::of(shown, Some(title)),
        action: (shown.takes_messages() && !shown.is_preview).then(|| shown.links.messages()),
        is_issue,
        key: typed.and_then(|typed| form::sent(typed, "key")?.parse().ok()).unwrap_or(shown.key),
        fields,
        written: messages.iter().rev().map(|message| written(shown, message)).collect(),
    }
    .render()
    .map_err(Error::internal)
}

fn value<'t>(typed: Option<&'t Fields>, name: &str) -> Cow<'t, str> {
    Cow::Borrowed(typed.and_then(|typed| form::sent(typed, name)).unwrap_or_default())
}

fn written<'m>(shown: &Shown, message: &'m Message) -> Written<'m> {
    Written { text: &message.text, sent: fill(shown.words.messages.sent_at, &[("moment", &shown.moment(message.created_at))]) }
}
