//! Statements that erase the rows of this module with their organization.

use engine::some_of;

store::statements! {
    /// Assignments.
    SCOPES = some_of!("entity_scope", "organization_id, entity_type, entity_id, target_kind, target_id");
}
