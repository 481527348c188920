//! Gradual deletion of the rows of erased organizations.
//!
//! Erasing only marks the organization, so it takes the same time for any number of records.
//! Queries that find an organization, or a thing by one of its secrets, skip marked organizations.
//! No request can therefore add rows to them or wait for their deletion. Rows are deleted a few at
//! a time; rows that name others are deleted first.

use std::time::Duration;

use engine::app::App;
use engine::clock::Clock;
use engine::error::Result;
use engine::values;
use store::Transaction;
use uuid::Uuid;

/// Number of rows that one statement deletes.
const STEP: u32 = 50;
/// Maximum number of rows deleted in one transaction.
const MOST: u64 = 500;
/// Time after which a transaction stops deleting.
const LONGEST: Duration = Duration::from_millis(5);
/// The lock that lets only one node delete at a time.
const LOCK: i64 = 0x0065_7261_7365;

store::statements! {
    /// The organization that was erased first among those that still have rows.
    ERASED = "select id from organization where erased_at is not null order by erased_at, id limit 1";
    /// Deletes the organization itself once no row names it any more.
    ORGANIZATION = "delete from organization where id = ?1 and erased_at is not null
        and not exists (select 1 from webhook_subscription where organization_id = ?1)
        and not exists (select 1 from audit_log where organization_id = ?1)
        and not exists (select 1 from file_removal where organization_id = ?1)";
}

/// Deletes some rows of an erased organization. Returns true if there may be more.
pub fn sweep(tx: &mut Transaction<'_>, app: &App, clock: &Clock) -> Result<bool> {
    if !tx.try_lock(LOCK)? {
        return Ok(false);
    }
    let Some(row) = tx.row(&ERASED, &[])? else {
        return Ok(false);
    };
    let organization: Uuid = row.get(0)?;
    let (began, mut removed) = (clock.elapsed(), 0);
    for table in &app.erased {
        loop {
            let gone = tx.execute(table, &values![organization, STEP])?;
            removed += gone;
            if gone < u64::from(STEP) {
                break;
            }
            if removed >= MOST || clock.elapsed().saturating_sub(began) >= LONGEST {
                return Ok(true);
            }
        }
    }
    let is_gone = tx.execute(&ORGANIZATION, &values![organization])? > 0;
    if is_gone {
        tracing::info!(%organization, "deleted the last data of an erased organization");
    }
    Ok(is_gone)
}
