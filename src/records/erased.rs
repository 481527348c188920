//! Deletion of this module's rows when their organization is erased.

use engine::some_of;

store::statements! {
    /// Links from and to records.
    LINKS = some_of!("record_link", "organization_id, from_kind, from_id, to_kind, to_id");
    /// The counts of records.
    BLOCKS = some_of!("record_block", "organization_id, kind, from_created_at, from_id");
    /// The versions of records.
    VERSIONS = some_of!("record_version", "organization_id, kind, record_id");
    RECORDS = some_of!("record", "organization_id, kind, id");
}
