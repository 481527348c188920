//! Guest portals and their brandings (spec: Guest portals and brandings).

mod branding;
mod branding_operations;
mod portal;
mod portal_operations;
mod resolution;
mod serving;
mod texts;

pub use branding::Branding;
pub(crate) use branding_operations::{default_branding, find as find_branding, forget_custom_urls};
pub use portal::{CommunicationMethod, Portal, Tile, contact, tiles};
pub(crate) use portal_operations::{SUMMARY, all_exist, default_portal, find as find_portal, names};
pub use resolution::{Assignments, Placement, Resolved, Route, resolve};
pub(crate) use serving::{Coverage, effective_portal, may_assign};
pub(crate) use texts::{Callouts, PortalCopy};

use crate::operation::Operation;

pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [branding_operations::STATEMENTS, portal_operations::STATEMENTS, serving::STATEMENTS].concat()
}

pub(crate) fn operations() -> Vec<Operation> {
    [portal_operations::operations(), branding_operations::operations()].into_iter().flatten().collect()
}
