//! The statements that delete portals and brandings when their organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes a batch of an organization's portals.
    PORTALS = some_of!("portal", "organization_id, id");
    /// Deletes a batch of an organization's brandings.
    BRANDINGS = some_of!("portal_branding", "organization_id, id");
}
