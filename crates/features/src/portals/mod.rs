//! Guest portals and their brandings (rules: portals; brandings).
//!
//! `portal.rs` and `branding.rs` declare the fields, and the files named `…_operations.rs` have the
//! operations. `scopes/resolution.rs` decides which portal a property gets.

mod assign;
mod audited;
mod branding;
mod branding_operations;
mod erased;
mod portal;
mod portal_operations;
mod texts;

use engine::module::Module;

use crate::records::{Dependents, OnDeleted};
use crate::scopes::{Assignable, EntityType, TargetKind, TargetSource};
use crate::translations::TextRules;
pub(crate) use audited::named_portal;
pub use branding::Branding;
pub(crate) use branding::BrandingFields;
pub(crate) use branding_operations::all_brandings as brandings;
pub(crate) use branding_operations::{default_branding, find as find_branding};
pub(crate) use portal::PortalFields;
pub use portal::{CommunicationMethod, Portal, Tile, contact, tiles};
pub use portal_operations::{LIST_PORTALS, PortalRow};
pub(crate) use portal_operations::{
    default_portal, find as find_portal, readable as readable_portal,
};

/// The registration of this module.
pub static MODULE: Module = Module {
    operations: || {
        [
            portal_operations::operations(),
            branding_operations::operations(),
            assign::operations(),
        ]
        .into_iter()
        .flatten()
        .collect()
    },
    statements: || {
        [
            assign::STATEMENTS,
            branding_operations::STATEMENTS,
            portal_operations::STATEMENTS,
        ]
        .concat()
    },
    erased: erased::STATEMENTS,
    summaries: &[&portal_operations::SUMMARY],
    lists: |lists| {
        lists.add::<&'static dyn TextRules>(&texts::PortalCopy);
        lists.add::<&'static dyn TextRules>(&texts::Callouts);
        lists.add(Assignable {
            entity_type: EntityType::PortalSettings,
            check: assign::check,
            name: portal_operations::name,
            needs: None,
        });
        let (names, first_missing) = (portal_operations::names, portal_operations::first_missing);
        lists.add(TargetSource {
            kind: TargetKind::Portal,
            names,
            first_missing,
        });
        lists.add(OnDeleted(|context, kind, ids| match kind.dependents() {
            Dependents::Brandings => branding_operations::forget_custom_urls(context, ids),
            Dependents::Flat | Dependents::Assignments | Dependents::Stay | Dependents::None => {
                Ok(())
            }
        }));
    },
    subjects: &[
        (
            "portals",
            "Guest portals: what guests of some flats see, whom they can ask, what they are \
                offered.",
        ),
        (
            "portal-brandings",
            "Colours, words and links that a portal is dressed in.",
        ),
        ("properties", "Flats, and which portal serves each."),
    ],
    ..Module::new("portals")
};
