//! Statements that delete this module's rows when an organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes links from and to records.
    LINKS = some_of!("record_link", "organization_id, from_kind, from_id, to_kind, to_id");
    /// Deletes the blocks with the counts of records.
    BLOCKS = some_of!("record_block", "organization_id, kind, from_created_at, from_id");
    /// Deletes the versions of records.
    VERSIONS = some_of!("record_version", "organization_id, kind, record_id");
    /// Deletes the records.
    RECORDS = some_of!("record", "organization_id, kind, id");
}
