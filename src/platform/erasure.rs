//! What is left of an organization that has been erased: removed little by little.
//!
//! Erasing marks the organization and nothing else, so that it takes no longer for a million records than for none. Whatever
//! finds an organization, or something by a secret of one, passes over those that are marked; so nobody adds to their rows
//! any more, and nobody waits for them. They are removed a few at a time, those that name others first.

use std::time::Duration;

use engine::app::App;
use engine::clock::Clock;
use engine::error::Result;
use engine::values;
use store::Transaction;
use uuid::Uuid;

/// Rows that one statement removes.
const STEP: u32 = 50;
/// Rows removed in one transaction.
const MOST: u64 = 500;
/// How long one transaction goes on removing.
const LONGEST: Duration = Duration::from_millis(5);
/// The lock by which one node at a time is at it.
const LOCK: i64 = 0x0065_7261_7365;

store::statements! {
    /// The organization that was erased first of those that are still there.
    ERASED = "select id from organization where erased_at is not null order by erased_at, id limit 1";
    /// The organization itself, once nothing names it any more.
    ORGANIZATION = "delete from organization where id = ?1 and erased_at is not null
        and not exists (select 1 from webhook_subscription where organization_id = ?1)
        and not exists (select 1 from audit_log where organization_id = ?1)
        and not exists (select 1 from file_removal where organization_id = ?1)";
}

/// Removes some of what is left of an organization that has been erased; true when there may be more.
pub fn sweep(tx: &mut Transaction<'_>, app: &App, clock: &Clock) -> Result<bool> {
    if !tx.try_lock(LOCK)? {
        return Ok(false);
    }
    let Some(row) = tx.row(&ERASED, &[])? else { return Ok(false) };
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
        tracing::info!(%organization, "nothing is left of an organization that was erased");
    }
    Ok(is_gone)
}
