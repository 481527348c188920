//! House manuals: texts for guests, filed under categories (rules: manuals; categories).
//!
//! `manual.rs` declares the fields, `rule.rs` the visibility rules, and `visibility.rs` applies
//! these rules to a stay. `guest/manuals.rs` builds the guest's view of the manuals.

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
use engine::module::Module;

use crate::records::LinkSources;
use crate::scopes::{Assignable, EntityType};
use crate::translations::TextRules;
pub use categories::CategoryView;
pub(crate) use categories::{StoredCategory, in_order as categories_in_order};
pub use category_operations::LIST_PORTAL_MANUAL_CATEGORIES;
pub use icons::SEARCH_COVER_ICONS;
pub use manual::{DisplayMode, WrittenManual};
pub use manual_operations::{LIST_PORTAL_MANUALS, LIST_PORTAL_MANUALS_BY_PROPERTY, ManualRow};
pub use photos::StockPhotos;
pub use photos::{SEARCH_STOCK_PHOTOS, StockPhoto};
pub(crate) use records::{ManualWithCover, all_manuals, manuals_by_id};
pub use rule::{VisibilityRule, VisibilityRules, seasons_are_over};
pub use upcoming::{changes_at, shown_from};
pub use visibility::{Visibility, VisibilityInput, decide};
pub(crate) use visible::visible_ids;

/// The registration of this module.
pub static MODULE: Module = Module {
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
        lists.add::<&'static dyn TextRules>(&texts::ManualTexts);
        lists.add::<&'static dyn TextRules>(&texts::CategoryTitles);
        lists.add(LinkSources {
            from_kind: records::LINKED_AS,
            remove_links: records::forget_records,
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
    ..Module::new("manuals")
};
