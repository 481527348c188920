//! A page with one form: the form for an issue, for a survey or for extras. The forms of steps are
//! on other pages.

use askama::Template;
use engine::error::{Error, Result};
use uuid::Uuid;

use super::fields::{FieldInput, PageField};
use super::frame::PageFrame;
use super::summary::Summary;

/// A page with one form, and a list of the guest's earlier entries in this form, such as issues
/// that the guest has reported.
#[derive(Template)]
#[template(path = "sheet.html")]
pub struct FormPage<'v> {
    pub frame: PageFrame<'v>,
    pub summary: Option<Summary>,
    pub title: &'static str,
    /// The notice that the page shows after the form was sent.
    pub notice: Option<&'static str>,
    /// The address to which the form is sent; `None` if the guest cannot send the form now.
    pub action: Option<String>,
    /// The reason why the guest cannot send the form; `None` if the guest can send it.
    pub closed: Option<&'static str>,
    /// The idempotency key of the form, so that sending it twice has one effect.
    pub key: Option<Uuid>,
    pub entries: Vec<FormEntry<'v>>,
    pub hint: Option<&'static str>,
    /// For each button of the form: the HTML attribute `name`, if the button has one, and the
    /// label.
    pub buttons: Vec<(Option<&'static str>, &'static str)>,
    pub past_title: &'static str,
    pub past: Vec<EarlierSubmission<'v>>,
}

/// A group of related fields in the form. For example, an entry for an extra has the extra's image,
/// price and description.
pub struct FormEntry<'v> {
    pub image: Option<&'v str>,
    pub fields: Vec<PageField<'v>>,
    pub price: Option<String>,
    pub text: Option<&'v str>,
}

/// An earlier submission of the same form by the guest.
pub struct EarlierSubmission<'v> {
    pub text: &'v str,
    /// The time of the submission, in words.
    pub sent: String,
    pub state: Option<&'static str>,
}

impl<'v> FormEntry<'v> {
    /// Builds an entry that has only fields.
    #[must_use]
    pub const fn of(fields: Vec<PageField<'v>>) -> Self {
        Self {
            image: None,
            fields,
            price: None,
            text: None,
        }
    }
}

impl FormPage<'_> {
    pub fn html(&self) -> Result<String> {
        self.render().map_err(Error::internal)
    }
}
