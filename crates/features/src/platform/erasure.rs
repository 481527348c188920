//! Gradual deletion of the rows of erased organizations.
//!
//! `eraseOrganization` only marks the organization as erased, so it is fast for any number of
//! records. Every query that finds an organization, or finds a row by a secret, skips marked
//! organizations. No request can therefore add rows to them or wait for their deletion. This sweep
//! deletes their rows a few at a time, in the order of the foreign keys.

use std::time::Duration;

use engine::app::App;
use engine::clock::Clock;
use engine::error::Result;
use engine::values;
use store::Transaction;
use uuid::Uuid;

/// Maximum number of rows that one statement deletes.
const ROWS_PER_STATEMENT: u32 = 50;
/// Maximum number of rows deleted in one transaction.
const MAX_ROWS: u64 = 500;
/// Time after which a transaction deletes no more rows.
const MAX_TIME: Duration = Duration::from_millis(5);
/// The key of the lock that a node must hold while it deletes rows of erased organizations. So only
/// one node at a time deletes such rows.
const SWEEP_LOCK: i64 = 0x0065_7261_7365;

store::statements! {
    /// Selects the organization that was erased first, among the erased organizations that still
    /// have a row.
    ERASED = "select id from organization where erased_at is not null order by erased_at, id
        limit 1";
    /// Deletes the row of an erased organization, once the organization has no more rows in the
    /// three tables that this statement names.
    ORGANIZATION = "delete from organization where id = ?1 and erased_at is not null
        and not exists (select 1 from webhook_subscription where organization_id = ?1)
        and not exists (select 1 from audit_log where organization_id = ?1)
        and not exists (select 1 from file_removal where organization_id = ?1)";
}

/// Deletes a batch of rows of an erased organization. Returns true if this call must be repeated,
/// because rows of erased organizations may remain. Returns false without any deletion while
/// another node deletes such rows.
pub fn sweep(tx: &mut Transaction<'_>, app: &App, clock: &Clock) -> Result<bool> {
    if !tx.try_lock(SWEEP_LOCK)? {
        return Ok(false);
    }
    let Some(row) = tx.row(&ERASED, &[])? else {
        return Ok(false);
    };
    let organization: Uuid = row.get(0)?;
    let (start, mut total) = (clock.elapsed(), 0);
    for table in &app.erased {
        loop {
            let deleted = tx.execute(table, &values![organization, ROWS_PER_STATEMENT])?;
            total += deleted;
            if deleted < u64::from(ROWS_PER_STATEMENT) {
                break;
            }
            if total >= MAX_ROWS || clock.elapsed().saturating_sub(start) >= MAX_TIME {
                return Ok(true);
            }
        }
    }
    let is_complete = tx.execute(&ORGANIZATION, &values![organization])? > 0;
    if is_complete {
        tracing::info!(%organization, "deleted the last data of an erased organization");
    }
    Ok(is_complete)
}
