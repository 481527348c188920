//! The messages page: the form for a message to the host, and the guest's earlier messages.

use std::borrow::Cow;

use askama::Template;
use engine::error::{Error, Result};
use features::guest::Message;
use features::words::fill;
use uuid::Uuid;
use vestibule_http::browser::first_value;

use super::fault::Faults;
use super::fields::{FieldInput, PageField};
use super::form::FormFields;
use super::frame::PageFrame;
use super::page_stay::PageStay;
use super::step::RefusedForm;
use super::summary::Summary;

/// Maximum number of characters in a message.
const TEXT_LENGTH: usize = 6000;

#[derive(Template)]
#[template(path = "messages.html")]
struct Messages<'v> {
    frame: PageFrame<'v>,
    summary: Option<Summary>,
    /// The address to which a message is sent; `None` if the host accepts no messages.
    action: Option<String>,
    key: Uuid,
    fields: Vec<PageField<'v>>,
    written: Vec<SentMessage<'v>>,
}

/// A message that the guest has sent.
struct SentMessage<'v> {
    text: &'v str,
    sent: String,
}

/// Renders the messages page. The newest message comes first.
pub fn render(
    page_stay: &PageStay,
    messages: &[Message],
    refused: Option<&RefusedForm>,
) -> Result<String> {
    let typed = refused.and_then(|refused| refused.typed.as_ref());
    let none = Faults::default();
    let faults = refused.map_or(&none, |refused| &refused.faults);
    let words = page_stay.texts;
    let fields = vec![PageField {
        languages: None,
        id: "text".into(),
        name: "text".into(),
        label: words.messages.label,
        hint: None,
        error: faults.message_of("text", words),
        is_required: true,
        is_marked: true,
        input: FieldInput::Text {
            value: value(typed, "text"),
            most: TEXT_LENGTH,
        },
    }];
    let text = refused.and_then(|refused| refused.text);
    Messages {
        summary: Summary::of(fields.iter(), None, faults, text, words),
        frame: PageFrame::of(page_stay, Some(words.messages.title)),
        action: (page_stay.accepts_messages() && !page_stay.is_preview)
            .then(|| page_stay.links.messages()),
        key: typed
            .and_then(|typed| first_value(typed, "key")?.parse().ok())
            .unwrap_or(page_stay.key),
        fields,
        written: messages
            .iter()
            .rev()
            .map(|message| written(page_stay, message))
            .collect(),
    }
    .render()
    .map_err(Error::internal)
}

fn value<'t>(typed: Option<&'t FormFields>, name: &str) -> Cow<'t, str> {
    Cow::Borrowed(
        typed
            .and_then(|typed| first_value(typed, name))
            .unwrap_or_default(),
    )
}

fn written<'m>(page_stay: &PageStay, message: &'m Message) -> SentMessage<'m> {
    SentMessage {
        text: &message.text,
        sent: fill(
            page_stay.texts.messages.sent_at,
            &[("moment", &page_stay.timestamp_text(message.created_at))],
        ),
    }
}
