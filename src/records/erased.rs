//! How the rows of this chapter go with their organization.

use engine::some_of;

store::statements! {
    /// What records name.
    LINKS = some_of!("record_link", "organization_id, from_kind, from_id, to_kind, to_id");
    /// How many records there are.
    BLOCKS = some_of!("record_block", "organization_id, kind, from_created_at, from_id");
    /// Records.
    RECORDS = some_of!("record", "organization_id, kind, id");
}
