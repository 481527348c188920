//! The product's own texts: static tables, which the build generates from the Fluent files in
//! `texts/`.
//!
//! Each folder of `texts/` has the texts of one language. Each file is one table, which must have
//! the same texts in every language; otherwise the build fails. A text is a template with
//! placeholders in braces, filled by [`fill`], or a [`Plural`]. Callers format dates, times,
//! amounts and sizes for the language before they fill them in.
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

/// The label of a field or of a value, which is found by the name that the interface uses.
#[derive(Debug)]
pub struct Label {
    /// The label. `None` in English if the label is derived from the name.
    pub text: Option<&'static str>,
    /// The help text. `None` in English if the schema's description is the help text.
    pub hint: Option<&'static str>,
}
