//! Removes old rows of webhooks: deliveries that ended long ago, and the rows of deleted
//! subscriptions.
//!
//! A subscription may have more deliveries than one transaction should remove. Rows are therefore
//! removed a few at a time, in transactions with a limit of rows and of time. After each
//! transaction the sweep waits for as long as that transaction took, so other writers get at least
//! half of the database's time. A statement skips a locked row instead of waiting for it, and the
//! next sweep tries to remove that row again.

use std::time::Duration;

use engine::clock::Clock;
use engine::error::Result;
use engine::sweeping::{self, by_organization};
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use uuid::Uuid;

use super::delivery::max_delay;
use super::dependencies::Dependencies;
use super::queue;

/// Maximum number of rows that one statement removes.
const ROWS_A_STATEMENT: i64 = 100;
/// Maximum number of statements that remove rows in one transaction.
const STATEMENTS_A_TRANSACTION: usize = 5;
/// A transaction that has lasted this long starts no more statements.
const TRANSACTION_TIME: Duration = Duration::from_millis(10);
/// Maximum number of transactions in one run of [`sweep_deleted`] or [`bring_forward`]. With this
/// limit, other background work gets a turn.
const TRANSACTIONS_A_RUN: usize = 100;
/// Maximum number of transactions in one run that removes old deliveries. A run starts once a
/// minute.
const TRANSACTIONS_A_LONG_RUN: usize = 1_000;
/// Maximum number of deleted subscriptions that one query reads.
const LOOKUP_LIMIT: i64 = 100;
/// How much longer a pending delivery stays in the log than one that has ended. A delivery that is
/// sent again on its last day needs this time for its attempts.
const GRACE: Duration = Duration::from_secs(24 * 3_600);

store::statements! {
    /// Selects the deleted subscriptions after a given subscription, in the order of their ids.
    DELETED = "select organization_id, id from webhook_subscription where deleted_at is not null
        and (organization_id, id) > (?1, ?2)
        order by organization_id, id limit ?3";
    /// Selects deliveries of a deleted subscription, beginning after the delivery with the creation
    /// time `?3` and the id `?4`. Skips deliveries that another transaction has locked.
    OF_DELETED = "select id, created_at from webhook_delivery
        where organization_id = ?1 and subscription_id = ?2 and (created_at, id) > (?3, ?4)
        order by created_at, id limit ?5 for update skip locked";
    /// Removes deliveries. The statement names the index, because SQLite would otherwise scan all
    /// deliveries of the organization.
    REMOVE = "delete from webhook_delivery indexed by sqlite_autoindex_webhook_delivery_1
        where organization_id = ?1 and id = any(?2)";
    /// Removes a deleted subscription that has no deliveries. Skips the row while another
    /// transaction has locked it, because that transaction may have read the subscription as
    /// active.
    REMOVE_SUBSCRIPTION = "with bare as (select s.id from webhook_subscription s
            where s.organization_id = ?1 and s.id = ?2 and s.deleted_at is not null and not exists
                (select 1 from webhook_delivery d where d.organization_id = ?1
                and d.subscription_id = s.id)
            for update skip locked)
        delete from webhook_subscription
            where organization_id = ?1 and id in (select id from bare)";
    /// Selects the pending deliveries that are due later than `?1`, the latest due time first.
    LATE = "select organization_id, id from webhook_delivery where status = 'pending'
        and next_attempt_at > ?1
        order by next_attempt_at desc limit ?2";
    /// Makes the deliveries that `LATE` returned due at time `?3`.
    BRING_FORWARD = "with late as (select id from webhook_delivery where organization_id = ?1
        and id = any(?2) and status = 'pending'
            and next_attempt_at > ?3 for update skip locked)
        update webhook_delivery set next_attempt_at = ?3 where organization_id = ?1
        and id in (select id from late)";
    /// Selects the deliveries whose lease ends later than `?1`, the latest end first.
    LEASED_LONG = "select organization_id, id from webhook_delivery where leased_until is not null
        and leased_until > ?1
        order by leased_until desc limit ?2";
    /// Ends the leases of a batch of deliveries, if these leases would end after `?3`.
    END_LEASES = engine::some_late!("webhook_delivery", "id", "id", "leased_until", "null");
    /// Selects deliveries with ids between `?1` and `?2`. Ids sort by creation time, so a range of
    /// ids is a range of creation times.
    OLD = "select organization_id, id from webhook_delivery where id > ?1 and id < ?2 order by id
        limit ?3";
    /// Removes deliveries that `OLD` returned: those that have ended, and pending ones whose id is
    /// below `?3`.
    REMOVE_OLD = "with old as (select id from webhook_delivery where organization_id = ?1
        and id = any(?2) and (status <> 'pending' or id < ?3)
            for update skip locked)
        delete from webhook_delivery indexed by sqlite_autoindex_webhook_delivery_1
        where organization_id = ?1 and id in (select id from old)";
}

/// Removes the deliveries of deleted subscriptions and then the subscriptions, up to the limit of
/// one run. If that limit was reached, wakes the sweep again for the rest.
pub async fn sweep_deleted(dependencies: &Dependencies) -> Result<()> {
    let (mut last, mut transactions) = ((Uuid::nil(), Uuid::nil()), 0);
    loop {
        let deleted = dependencies.store.read(move |tx| deleted(tx, last)).await?;
        for (organization, subscription) in &deleted {
            last = (*organization, *subscription);
            let mut from = Some((Timestamp::UNIX_EPOCH, Uuid::nil()));
            while let Some(position) = from {
                if transactions == TRANSACTIONS_A_RUN {
                    dependencies.deleted.notify_one();
                    return Ok(());
                }
                transactions += 1;
                from = run_transaction(dependencies, move |tx, clock| {
                    remove_log(tx, clock, last, position)
                })
                .await?;
            }
        }
        if !is_full(deleted.len(), LOOKUP_LIMIT) {
            return Ok(());
        }
    }
}

/// Removes deliveries that are too old: ended deliveries after the retention period, and pending
/// deliveries a day later. The number of transactions of a run is limited. The next run, a minute
/// later, removes the rest.
pub async fn sweep_old(dependencies: &Dependencies) -> Result<()> {
    let retention = dependencies.settings.retention;
    let Ok(ended_before) = dependencies.clock.now().checked_sub(retention) else {
        return Ok(());
    };
    let pending = ended_before.checked_sub(GRACE).unwrap_or(Timestamp::MIN);
    let (ended_before, pending) = (first_id_at(ended_before), first_id_at(pending));
    let mut from = Some(Uuid::nil());
    for _ in 0..TRANSACTIONS_A_LONG_RUN {
        let Some(position) = from else { break };
        from = run_transaction(dependencies, move |tx, clock| {
            remove_old(tx, clock, position, ended_before, pending)
        })
        .await?;
    }
    Ok(())
}

/// Corrects deliveries that were delayed or leased while the clock was ahead: ends all their
/// leases, and makes them due earlier. Only a wrong clock can make a delivery due later than the
/// longest delay allows. A run changes due times in a limited number of transactions, and the next
/// sweep changes the rest.
pub async fn bring_forward(dependencies: &Dependencies) -> Result<()> {
    let max_delay = max_delay(dependencies.settings.retry_base);
    let Ok(latest) = dependencies.clock.now().checked_add(max_delay) else {
        return Ok(());
    };
    let end_leases = move |tx: &mut Transaction<'_>| {
        sweeping::bring_forward(tx, &LEASED_LONG, &END_LEASES, latest)
    };
    while dependencies.store.write(end_leases).await? {}
    let mut from = Some(());
    for _ in 0..TRANSACTIONS_A_RUN {
        if from.is_none() {
            break;
        }
        from = run_transaction(dependencies, move |tx, _| {
            let rows = tx.rows(&LATE, &values![latest, ROWS_A_STATEMENT])?;
            let mut moved = 0;
            for (organization, ids) in by_organization::<Uuid>(&rows)? {
                moved += tx.execute(&BRING_FORWARD, &values![organization, ids, latest])?;
                queue::note_due(tx, organization, latest)?;
            }
            // If no row was changed, other transactions have locked all rows that were read. The
            // next sweep tries these rows again.
            Ok((moved > 0 && is_full(rows.len(), ROWS_A_STATEMENT)).then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// Runs one transaction of a sweep. If rows remain, then waits for as long as the transaction took.
/// Returns the position from which the next transaction continues, or `None` if no rows remain.
async fn run_transaction<P: Send + 'static>(
    dependencies: &Dependencies,
    remove: impl FnOnce(&mut Transaction<'_>, &Clock) -> Result<Option<P>> + Send + 'static,
) -> Result<Option<P>> {
    let (clock, began) = (dependencies.clock.clone(), dependencies.clock.elapsed());
    let next = dependencies
        .store
        .write(move |tx| remove(tx, &clock))
        .await?;
    if next.is_some() {
        tokio::time::sleep(dependencies.clock.elapsed().saturating_sub(began)).await;
    }
    Ok(next)
}

/// Returns deleted subscriptions after a given one, as pairs of the organization's and the
/// subscription's id.
fn deleted(tx: &mut Transaction<'_>, last: (Uuid, Uuid)) -> Result<Vec<(Uuid, Uuid)>> {
    let rows = tx.rows(&DELETED, &values![last.0, last.1, LOOKUP_LIMIT])?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// Removes the next deliveries of a deleted subscription, and the subscription itself after its
/// last delivery. Returns the position of the last removed delivery if there may be more
/// deliveries. The next query starts from that position, because PostgreSQL would otherwise read
/// the removed rows again for a while.
fn remove_log(
    tx: &mut Transaction<'_>,
    clock: &Clock,
    (organization, subscription): (Uuid, Uuid),
    mut position: (Timestamp, Uuid),
) -> Result<Option<(Timestamp, Uuid)>> {
    let began = clock.elapsed();
    for _ in 0..STATEMENTS_A_TRANSACTION {
        let rows = tx.rows(
            &OF_DELETED,
            &values![
                organization,
                subscription,
                position.0,
                position.1,
                ROWS_A_STATEMENT
            ],
        )?;
        if let Some(last) = rows.last() {
            position = (last.get(1)?, last.get(0)?);
            let ids: Vec<Uuid> = rows
                .iter()
                .map(|row| row.get(0))
                .collect::<store::Result<_>>()?;
            tx.execute(&REMOVE, &values![organization, ids])?;
        }
        if !is_full(rows.len(), ROWS_A_STATEMENT) {
            tx.execute(&REMOVE_SUBSCRIPTION, &values![organization, subscription])?;
            return Ok(None);
        }
        if clock.elapsed().saturating_sub(began) >= TRANSACTION_TIME {
            break;
        }
    }
    Ok(Some(position))
}

/// Reads deliveries after a position, and removes those that are too old. Returns the id of the
/// last delivery that was read, if there may be more deliveries.
fn remove_old(
    tx: &mut Transaction<'_>,
    clock: &Clock,
    mut position: Uuid,
    ended_before: Uuid,
    pending: Uuid,
) -> Result<Option<Uuid>> {
    let began = clock.elapsed();
    for _ in 0..STATEMENTS_A_TRANSACTION {
        let rows = tx.rows(&OLD, &values![position, ended_before, ROWS_A_STATEMENT])?;
        let Some(last) = rows.last() else {
            return Ok(None);
        };
        position = last.get(1)?;
        for (organization, ids) in by_organization::<Uuid>(&rows)? {
            tx.execute(&REMOVE_OLD, &values![organization, ids, pending])?;
        }
        if !is_full(rows.len(), ROWS_A_STATEMENT) {
            return Ok(None);
        }
        if clock.elapsed().saturating_sub(began) >= TRANSACTION_TIME {
            break;
        }
    }
    Ok(Some(position))
}

/// Returns whether a query returned as many rows as its limit, so that there may be more.
fn is_full(rows: usize, limit: i64) -> bool {
    i64::try_from(rows).is_ok_and(|rows| rows >= limit)
}

/// Returns the smallest id that a delivery created at `time` can have. An id of UUID version 7
/// begins with the time in milliseconds.
fn first_id_at(time: Timestamp) -> Uuid {
    let milliseconds = u64::try_from(time.as_millisecond()).unwrap_or(0);
    Uuid::from_u128(u128::from(milliseconds) << 80)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ids::Ids;

    #[test]
    fn ids_sort_by_creation_time() {
        let ids = Ids::default();
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let next = now.checked_add(Duration::from_millis(1)).unwrap();
        for _ in 0..100 {
            let id = ids.uuid(now);
            assert!(first_id_at(now) <= id && id < first_id_at(next), "{id}");
        }
        assert_eq!(first_id_at(Timestamp::MIN), Uuid::nil());
    }
}
