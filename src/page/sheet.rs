//! A page with one form that is no step: an issue, a survey, or the extras.

use askama::Template;
use engine::error::{Error, Result};
use uuid::Uuid;

use super::fields::{FieldInput, PageField};
use super::frame::PageFrame;
use super::summary::Summary;

/// A page with one form, and the list of earlier submissions of that form.
#[derive(Template)]
#[template(path = "page/sheet.html")]
pub struct FormPage<'v> {
    pub frame: PageFrame<'v>,
    pub summary: Option<Summary>,
    pub title: &'static str,
    /// The notice after sending.
    pub notice: Option<&'static str>,
    /// The address to which the form is sent; `None` where it cannot be sent.
    pub action: Option<String>,
    /// The reason why the form cannot be sent.
    pub closed: Option<&'static str>,
    /// The key that makes two sendings of the form one.
    pub key: Option<Uuid>,
    pub entries: Vec<FormEntry<'v>>,
    pub hint: Option<&'static str>,
    /// The name of each button, where it has one, and its label.
    pub buttons: Vec<(Option<&'static str>, &'static str)>,
    pub past_title: &'static str,
    pub past: Vec<EarlierSubmission<'v>>,
}

/// Fields of a form, with what there is to know about them.
pub struct FormEntry<'v> {
    pub image: Option<&'v str>,
    pub fields: Vec<PageField<'v>>,
    pub price: Option<String>,
    pub text: Option<&'v str>,
}

/// Something that was sent before.
pub struct EarlierSubmission<'v> {
    pub text: &'v str,
    /// When it was sent.
    pub sent: String,
    pub state: Option<&'static str>,
}

impl<'v> FormEntry<'v> {
    /// Builds an entry of fields alone.
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
    /// Renders the page.
    pub fn html(&self) -> Result<String> {
        self.render().map_err(Error::internal)
    }
}
