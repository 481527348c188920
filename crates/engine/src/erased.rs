//! How the rows of an erased organization are removed, table by table.

/// Removes some rows of a table, named by the columns of an index that begins with the organization: in its order, so that
/// what has been removed before is not passed over again. What others have in hand is left for the next time.
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
    /// Access tokens.
    ACCESS_TOKENS = crate::some_of!("access_token", "organization_id, member_id, oauth_app_id, id");
    /// Members.
    MEMBERS = crate::some_of!("member", "organization_id, id");
    /// API keys.
    API_KEYS = crate::some_of!("api_key", "organization_id, created_at, id");
    /// What was done in it.
    AUDIT_LOG = crate::some_of!("audit_log", "organization_id, id");
    /// Answers to retries.
    IDEMPOTENCY_RECORDS = crate::some_of!("idempotency_record", "organization_id, credential, key");
}
