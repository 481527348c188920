//! The statements that delete manuals and their categories when their organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes a batch of an organization's manuals.
    MANUALS = some_of!("manual", "organization_id, id");
    /// Deletes a batch of an organization's categories of manuals.
    CATEGORIES = some_of!("manual_category", "organization_id, id");
}
