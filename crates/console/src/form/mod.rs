//! Forms, built from the schemas of operations. The code does not repeat facts that the schema
//! states about a field.
//!
//! - [`spec`] reads a schema, and [`extensions`] reads the keywords `x-…` of a field in a schema.
//! - [`fill`] converts values into the fields that a browser sends, and back.
//! - [`control`] builds the controls that the template shows.
//! - [`layout`] sorts the fields into sections.
//! - [`choice_lists`] finds the rows that a field can refer to.
//! - [`rules`] finds faults in fields that have a rule for each of several names, such as a rule
//!   for each detail that guests are asked for.
//! - [`form_view`] is a form with its values. [`free_form`] is a form whose fields are not derived
//!   from an operation.
//! - [`editing`] shows, checks and saves a form.

mod choice_lists;
mod control;
mod editing;
pub mod extensions;
mod fill;
mod form_view;
mod free_form;
mod layout;
mod rules;
mod spec;

pub use choice_lists::ChoiceLists;
pub use control::{Control, FieldContext, FormView};
pub use editing::{
    ReadFuture, Resource, changed_values, create_form, create_form_with, create_from_form,
    edit_form, new_text, save_form, unreadable_texts,
};
pub use fill::{fill, read};
pub use form_view::{FormOutcome, StoredResource};
pub use free_form::FreeForm;
pub use layout::{Layout, RuleLayout, Section, in_lines};
pub use spec::{FieldSpec, InputKind, of_object, specs};
