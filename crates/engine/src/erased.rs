//! Removal of the rows of an erased organization, table by table.

/// The SQL that removes up to `?2` rows of an organization. `$key` lists the columns of an index
/// that begins with the organization. Rows are removed in the order of this index. The index
/// entries of removed rows are then next to each other, and a later statement need not read them
/// one by one. Rows that another transaction has locked are skipped.
#[macro_export]
macro_rules! some_of {
    ($table:literal, $key:literal) => {
        concat!(
            "with doomed as (select ",
            $key,
            " from ",
            $table,
            " where organization_id = ?1 order by ",
            $key,
            " limit ?2 for update skip locked) delete from ",
            $table,
            " where organization_id = ?1 and (",
            $key,
            ") in (select ",
            $key,
            " from doomed)"
        )
    };
}

store::statements! {
    /// Deletes a batch of an organization's access tokens.
    ACCESS_TOKENS = crate::some_of!("access_token", "organization_id, member_id, oauth_app_id, id");
    /// Deletes a batch of an organization's members.
    MEMBERS = crate::some_of!("member", "organization_id, id");
    /// Deletes a batch of the hashes of an organization's revoked API keys.
    REVOKED_KEYS = crate::some_of!("revoked_key", "organization_id, token_hash");
    /// Deletes a batch of an organization's API keys.
    API_KEYS = crate::some_of!("api_key", "organization_id, created_at, id");
    /// Removes a batch of an organization's audit entries.
    AUDIT_LOG = crate::some_of!("audit_log", "organization_id, id");
    /// Removes a batch of an organization's idempotency keys, with the responses that were recorded
    /// for them.
    IDEMPOTENCY_RECORDS = crate::some_of!("idempotency_record", "organization_id, credential, key");
}
