//! The product's own texts: static tables, which the build makes of the Fluent files in `texts/`.
//!
//! A folder of `texts/` is a language. Each file is a table with the same texts in every language;
//! otherwise the build fails. A text is a template with placeholders in braces, filled by [`fill`],
//! or a [`Plural`]. Dates, times, amounts and sizes in a template are already formatted for the
//! language.
//!
//! The crate depends on no other crate.

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

/// A message: a heading, with its meaning or the next action.
pub type Notice = (&'static str, &'static str);

/// The label of a field or of a value, which has a name in the interface.
#[derive(Debug)]
pub struct Label {
    /// The label. `None` in English if the label is derived from the name.
    pub text: Option<&'static str>,
    /// The help text. `None` in English if the help text is in the schema.
    pub hint: Option<&'static str>,
}
