//! What this guest of this flat sees now.

mod operations;
mod page;
mod view;
mod words;

pub(crate) use operations::{operations, stay_token, stay_url};
pub use page::{render, render_missing};
pub use view::{GuestView, language_of};

pub(crate) fn statements() -> Vec<&'static store::Statement> {
    operations::STATEMENTS.to_vec()
}
