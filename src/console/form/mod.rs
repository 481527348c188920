//! Forms, made from the schemas of operations: nothing is said of a field that the schema says.
//!
//! [`spec`] reads a schema (with [`said`], what its descriptions say of conditions), [`fill`] turns values into what a browser sends and
//! back, [`control`] is how a field is shown, [`layout`] what stands beside what, [`editing`] the way of a form: shown, sent, refused, saved.

mod control;
mod editing;
mod fill;
mod layout;
mod said;
mod spec;

pub use control::{Control, FormView, Showing};
pub use editing::{Outcome, Reading, Resource, Stored, create_form, created, edit_form, new_text, saved, typed, untold_texts};
pub use fill::{fill, read};
pub use layout::{Layout, Section, in_lines};
pub use said::brief;
pub use spec::{Kind, Spec, of_object, specs};
