//! What this guest of this flat sees now.

mod bounds;
mod explain;
pub mod form;
mod handed_in;
mod manuals;
mod markdown;
mod messages;
mod operations;
mod page;
mod precheckin;
mod setup;
mod stay;
mod view;
mod words;

pub use bounds::is_reached;
pub use manuals::{ManualCategoryView, ManualView};
pub(crate) use operations::{forget_stays, operations, stay_token, stay_url};
pub use page::{render, render_busy, render_missing};
pub use precheckin::{OptionView, PrecheckinStatus, QuestionView, StepView};

pub use view::{GuestView, language_of};

pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [messages::STATEMENTS, operations::STATEMENTS, precheckin::STATEMENTS].concat()
}
