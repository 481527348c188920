//! The built-in texts of this service: static tables, which the build generates from the Fluent
//! files in `texts/`.
//!
//! Each folder of `texts/` has the texts of one language. The files with the same name in all
//! folders make one table, and must have the same texts; otherwise the build fails. A text is a
//! template with placeholders in braces, filled by [`fill`], or a [`Plural`]. Before code fills a
//! template, it formats dates, times, amounts and sizes in the template's language.
//!
//! This crate depends on no other crate.

pub mod consent;
pub mod console;
pub mod fields;
mod fill;
pub mod page;
mod plural;
pub mod ready;
pub mod sign_in;
pub mod values;

pub use fill::fill;
pub use plural::Plural;

/// A message to the user: a heading, and a sentence that explains it or names the next action.
pub type Notice = (&'static str, &'static str);

/// The label of a field or of a value. It is found by the name that the field or value has in the
/// interface.
#[derive(Debug)]
pub struct Label {
    /// The label. `None` in English if the label is derived from the field's name.
    pub text: Option<&'static str>,
    /// The help text below the field. `None` in English if the description in the schema is the
    /// help text.
    pub hint: Option<&'static str>,
}
