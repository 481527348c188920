//! Statements that erase the rows of this module with their organization.

use engine::some_of;

store::statements! {
    /// Manuals.
    MANUALS = some_of!("manual", "organization_id, id");
    /// Categories of manuals.
    CATEGORIES = some_of!("manual_category", "organization_id, id");
}
