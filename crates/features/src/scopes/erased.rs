//! The statement that deletes assignments when their organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes a batch of the assignments of an organization's steps, manuals and portals.
    SCOPES = some_of!(
        "entity_scope",
        "organization_id, entity_type, entity_id, target_kind, target_id"
    );
}
