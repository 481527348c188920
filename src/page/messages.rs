//! The page of messages: the form for a message to the host, and the guest's earlier messages.

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

/// Maximum number of characters in a message.
const TEXT_LENGTH: usize = 6000;

#[derive(Template)]
#[template(path = "page/messages.html")]
struct Messages<'v> {
    frame: Frame<'v>,
    summary: Option<Summary>,
    /// The address to which a message is sent, where the host takes messages.
    action: Option<String>,
    key: Uuid,
    fields: Vec<Field<'v>>,
    written: Vec<Written<'v>>,
}

/// A message that was sent.
struct Written<'v> {
    text: &'v str,
    sent: String,
}

/// Renders the page of messages, the latest first.
pub fn render(shown: &Shown, messages: &[Message], refused: Option<&Refused>) -> Result<String> {
    let typed = refused.and_then(|refused| refused.typed.as_ref());
    let none = Faults::default();
    let faults = refused.map_or(&none, |refused| &refused.faults);
    let words = shown.words;
    let fields = vec![Field {
        languages: None,
        id: "text".into(),
        name: "text".into(),
        label: words.messages.label,
        hint: None,
        error: faults.said_of("text", words),
        is_required: true,
        is_marked: true,
        input: Input::Text {
            value: value(typed, "text"),
            most: TEXT_LENGTH,
        },
    }];
    let said = refused.and_then(|refused| refused.said);
    Messages {
        summary: Summary::of(fields.iter(), None, faults, said, words),
        frame: Frame::of(shown, Some(words.messages.title)),
        action: (shown.takes_messages() && !shown.is_preview).then(|| shown.links.messages()),
        key: typed
            .and_then(|typed| form::sent(typed, "key")?.parse().ok())
            .unwrap_or(shown.key),
        fields,
        written: messages
            .iter()
            .rev()
            .map(|message| written(shown, message))
            .collect(),
    }
    .render()
    .map_err(Error::internal)
}

fn value<'t>(typed: Option<&'t Fields>, name: &str) -> Cow<'t, str> {
    Cow::Borrowed(
        typed
            .and_then(|typed| form::sent(typed, name))
            .unwrap_or_default(),
    )
}

fn written<'m>(shown: &Shown, message: &'m Message) -> Written<'m> {
    Written {
        text: &message.text,
        sent: fill(
            shown.words.messages.sent_at,
            &[("moment", &shown.moment(message.created_at))],
        ),
    }
}
