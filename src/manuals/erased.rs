//! How the rows of this chapter go with their organization.

use engine::some_of;

store::statements! {
    /// Manuals.
    MANUALS = some_of!("manual", "organization_id, id");
    /// Their headings.
    CATEGORIES = some_of!("manual_category", "organization_id, id");
}
