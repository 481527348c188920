//! Statements that delete this module's rows when an organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes a batch of the links from and to an organization's records.
    LINKS = some_of!("record_link", "organization_id, from_kind, from_id, to_kind, to_id");
    /// Deletes a batch of an organization's blocks, which contain counts of its records.
    BLOCKS = some_of!("record_block", "organization_id, kind, from_created_at, from_id");
    /// Deletes a batch of the versions of an organization's records.
    VERSIONS = some_of!("record_version", "organization_id, kind, record_id");
    /// Deletes a batch of an organization's records.
    RECORDS = some_of!("record", "organization_id, kind, id");
}
