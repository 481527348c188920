//! House manuals: what guests read, filed under headings (spec: House manual, Manual category).

mod categories;
mod category_operations;
mod icons;
mod instructions;
mod manual;
mod manual_operations;
mod photos;
mod records;
mod rule;
mod texts;
mod visibility;
mod visible;

pub(crate) use categories::{Category, in_order as categories_in_order};
pub use manual::{DisplayMode, ManualView};
pub use photos::StockPhotos;
pub(crate) use records::{Covered, LINKED_AS, all, among, forget_records};
pub use rule::{Rule, VisibilityRules};
pub(crate) use texts::{CategoryTitles, ManualTexts};
pub use visibility::{StayFacts, Visibility, decide};
pub(crate) use visible::{check_exists, visible_ids};

use crate::operation::Operation;

pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [categories::STATEMENTS, instructions::STATEMENTS, records::STATEMENTS].concat()
}

pub(crate) fn operations() -> Vec<Operation> {
    [
        manual_operations::operations(),
        category_operations::operations(),
        icons::operations(),
        photos::operations(),
        instructions::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
