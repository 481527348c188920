//! Forms, made from the schemas of operations. The code states nothing about a field that the
//! schema states.
//!
//! - [`spec`] reads a schema, and [`extensions`] reads its extensions of a field (`x-…`).
//! - [`fill`] turns values into the fields that a browser sends, and back.
//! - [`control`] shows a field.
//! - [`layout`] orders the fields.
//! - [`choice_lists`] finds the rows that a field can refer to.
//! - [`rules`] finds the faults of rules by a name.
//! - [`form_view`] is a form with its values, and [`free_form`] one whose fields no operation
//!   declares.
//! - [`editing`] handles a form from its first view until it is saved.

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
