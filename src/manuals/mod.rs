//! House manuals: texts for guests, filed under categories (rules: manuals; categories).

mod audited;
mod categories;
mod category_operations;
mod erased;
mod icons;
mod instructions;
mod manual;
mod manual_operations;
mod photos;
mod records;
mod rule;
mod rule_schema;
mod texts;
mod upcoming;
mod visibility;
mod visible;

use engine::access::Permission;
use engine::chapter::Chapter;

use crate::records::Linking;
use crate::scopes::{Assignable, EntityType};
use crate::translations::Shows;
pub(crate) use categories::{Category, in_order as categories_in_order};
pub use manual::{DisplayMode, ManualView};
pub use photos::StockPhotos;
pub(crate) use records::{Covered, all, among};
pub use rule::{Rule, VisibilityRules, seasons_are_over};
pub use upcoming::{changes_at, shown_from};
pub use visibility::{StayFacts, Visibility, decide};
pub(crate) use visible::visible_ids;

/// The chapter of the house manuals.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: || {
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
    },
    statements: || {
        [
            categories::STATEMENTS,
            instructions::STATEMENTS,
            records::STATEMENTS,
        ]
        .concat()
    },
    erased: erased::STATEMENTS,
    lists: |lists| {
        lists.add::<&'static dyn Shows>(&texts::ManualTexts);
        lists.add::<&'static dyn Shows>(&texts::CategoryTitles);
        lists.add(Linking {
            filed_as: records::LINKED_AS,
            forget: records::forget_records,
        });
        let needs = Some(Permission::ModifyGuides);
        lists.add(Assignable {
            entity_type: EntityType::Manual,
            check: visible::check_exists,
            name: records::name,
            needs,
        });
    },
    subjects: &[
        (
            "portal-manuals",
            "House manuals: what guests read, with the rules that say when it is shown.",
        ),
        (
            "portal-manual-categories",
            "Headings that manuals stand under.",
        ),
        ("cover-icons", "Icons for the covers of manuals."),
        (
            "stock-photos",
            "Photos for the covers of manuals, from a provider.",
        ),
        (
            "instructions",
            "Instructions that the platform pushes for properties, groups and tags.",
        ),
    ],
    ..Chapter::new("manuals")
};
