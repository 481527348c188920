//! Queries for the caller's own subscriptions. Only the credential that created a subscription can
//! read, change or delete it. For every other credential, the operations answer 404.

use engine::context::Context;
use engine::error::{Error, Result};
use engine::values;
use jiff::Timestamp;
use store::Row;
use uuid::Uuid;

store::statements! {
    /// Selects the subscription with the id `?2` if the credential `?3` created it and it is not
    /// deleted.
    ONE = "select id, event, target_url, consecutive_failures, disabled_at, disabled_reason,
        last_delivered_at, created_at, doc
        from webhook_subscription where organization_id = ?1 and id = ?2 and credential = ?3
        and deleted_at is null";
    /// Selects a subscription that the credential `?3` created, and locks its row until the end of
    /// the transaction.
    HOLD = "select disabled_at from webhook_subscription
        where organization_id = ?1 and id = ?2 and credential = ?3
        and deleted_at is null for key share";
}

/// Reads a subscription of the caller, with the columns of [`ONE`].
pub(super) fn find_subscription(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<Row>> {
    let credential = context.access.credential.key();
    context.row(&ONE, values![id, credential])
}

/// Reads a subscription of the caller, or fails with 404.
pub(super) fn require_subscription(context: &mut Context<'_, '_>, id: Uuid) -> Result<Row> {
    find_subscription(context, id)?.ok_or_else(not_found)
}

/// Locks a subscription of the caller until the end of the transaction. Returns whether it is
/// active.
pub(super) fn lock_subscription(context: &mut Context<'_, '_>, id: Uuid) -> Result<bool> {
    let credential = context.access.credential.key();
    let row = context
        .row(&HOLD, values![id, credential])?
        .ok_or_else(not_found)?;
    Ok(row.get::<Option<Timestamp>>(0)?.is_none())
}

/// Returns the 404 error for a subscription that does not exist or belongs to another credential.
pub(super) fn not_found() -> Error {
    Error::not_found("Webhook subscription")
}
