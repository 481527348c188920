//! What of webhooks goes in the course of time: deliveries that have been over for long, and whatever is left of
//! subscriptions that were deleted.
//!
//! A log may be longer than any transaction should be, so rows go a few at a time, in transactions that end after so many
//! rows or so much time, whichever is first. Between two of them a sweep pauses for as long as the last one took: whoever
//! writes has at least half of the database. Nothing here waits for a row that another has; it is there the next time.

use std::time::Duration;

use engine::clock::Clock;
use engine::error::Result;
use engine::sweeping::by_organization;
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use uuid::Uuid;

use super::means::Means;

/// Rows that one statement removes.
const A_FEW: i64 = 100;
/// Such statements in one transaction, at the most.
const A_STEP: usize = 5;
/// After this no other is begun in it.
const STEP_TIME: Duration = Duration::from_millis(10);
/// Transactions in one go at deleted subscriptions, before something else has its turn.
const A_GO: usize = 100;
/// In one go at what is old, which comes once a minute.
const A_LONG_GO: usize = 1_000;
/// Deleted subscriptions looked up together.
const LOOKED_UP: i64 = 100;
/// How much longer a delivery stays that nobody has taken yet: time enough for the attempts at one that is sent again on its
/// last day.
const GRACE: Duration = Duration::from_secs(24 * 3_600);

store::statements! {
    /// Deleted subscriptions, behind one of them.
    DELETED = "select organization_id, id from webhook_subscription where deleted_at is not null and (organization_id, id) > (?1, ?2)
        order by organization_id, id limit ?3";
    /// Deliveries of a subscription behind a place, those left out that somebody is at.
    OF_DELETED = "select id, created_at from webhook_delivery
        where organization_id = ?1 and subscription_id = ?2 and (created_at, id) > (?3, ?4)
        order by created_at, id limit ?5 for update skip locked";
    /// Removes deliveries. Left to itself, SQLite looks through all of the organization, here and below.
    REMOVE = "delete from webhook_delivery indexed by sqlite_autoindex_webhook_delivery_1 where organization_id = ?1 and id = any(?2)";
    /// Removes a deleted subscription that has no deliveries any more, unless somebody is at it who has read it before.
    REMOVE_SUBSCRIPTION = "with bare as (select s.id from webhook_subscription s
            where s.organization_id = ?1 and s.id = ?2 and s.deleted_at is not null and not exists
                (select 1 from webhook_delivery d where d.organization_id = ?1 and d.subscription_id = s.id)
            for update skip locked)
        delete from webhook_subscription where organization_id = ?1 and id in (select id from bare)";
    /// Deliveries made after one and before another. Ids sort by the time they were made at, so it is an index of theirs that
    /// finds them.
    OLD = "select organization_id, id from webhook_delivery where id > ?1 and id < ?2 order by id limit ?3";
    /// Removes of some deliveries of an organization those that are over, and those that are older than one of their age may be.
    REMOVE_OLD = "with old as (select id from webhook_delivery where organization_id = ?1 and id = any(?2) and (status <> 'pending' or id < ?3)
            for update skip locked)
        delete from webhook_delivery indexed by sqlite_autoindex_webhook_delivery_1
        where organization_id = ?1 and id in (select id from old)";
}

/// Removes what there is of deleted subscriptions, log first: as much as is done in one go. Where there is more, the sweep is
/// woken for another.
pub async fn sweep_deleted(means: &Means) -> Result<()> {
    let (mut behind, mut steps) = ((Uuid::nil(), Uuid::nil()), 0);
    loop {
        let deleted = means.store.read(move |tx| deleted(tx, behind)).await?;
        for (organization, subscription) in &deleted {
            behind = (*organization, *subscription);
            let mut from = Some((Timestamp::UNIX_EPOCH, Uuid::nil()));
            while let Some(place) = from {
                if steps == A_GO {
                    means.deleted.notify_one();
                    return Ok(());
                }
                steps += 1;
                from = step(means, move |tx, clock| remove_log(tx, clock, behind, place)).await?;
            }
        }
        if !is_full(deleted.len(), LOOKED_UP) {
            return Ok(());
        }
    }
}

/// Removes deliveries that were made longer ago than they are kept: those that are over after the retention, the others a
/// day after that. What is not done in one go is done in the next minute's.
pub async fn sweep_old(means: &Means) -> Result<()> {
    let retention = means.settings.retention;
    let Ok(over) = means.clock.now().checked_sub(retention) else { return Ok(()) };
    let pending = over.checked_sub(GRACE).unwrap_or(Timestamp::MIN);
    let (over, pending) = (first_id_at(over), first_id_at(pending));
    let mut from = Some(Uuid::nil());
    for _ in 0..A_LONG_GO {
        let Some(place) = from else { break };
        from = step(means, move |tx, clock| remove_old(tx, clock, place, over, pending)).await?;
    }
    Ok(())
}

/// One transaction of a sweep, and the pause after it; where the next one begins.
async fn step<P: Send + 'static>(
    means: &Means,
    remove: impl FnOnce(&mut Transaction<'_>, &Clock) -> Result<Option<P>> + Send + 'static,
) -> Result<Option<P>> {
    let (clock, began) = (means.clock.clone(), means.clock.elapsed());
    let next = means.store.write(move |tx| remove(tx, &clock)).await?;
    if next.is_some() {
        tokio::time::sleep(means.clock.elapsed().saturating_sub(began)).await;
    }
    Ok(next)
}

/// Deleted subscriptions behind one of them, by organization and id.
fn deleted(tx: &mut Transaction<'_>, behind: (Uuid, Uuid)) -> Result<Vec<(Uuid, Uuid)>> {
    let rows = tx.rows(&DELETED, &values![behind.0, behind.1, LOOKED_UP])?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// Removes the next deliveries of a deleted subscription, and with the last of them itself; the place of the last one removed
/// where there may be more. What is behind it is not looked at again: on PostgreSQL it would be found there for a while.
fn remove_log(
    tx: &mut Transaction<'_>,
    clock: &Clock,
    (organization, subscription): (Uuid, Uuid),
    mut place: (Timestamp, Uuid),
) -> Result<Option<(Timestamp, Uuid)>> {
    let began = clock.elapsed();
    for _ in 0..A_STEP {
        let rows = tx.rows(&OF_DELETED, &values![organization, subscription, place.0, place.1, A_FEW])?;
        if let Some(last) = rows.last() {
            place = (last.get(1)?, last.get(0)?);
            let ids: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect::<store::Result<_>>()?;
            tx.execute(&REMOVE, &values![organization, ids])?;
        }
        if !is_full(rows.len(), A_FEW) {
            tx.execute(&REMOVE_SUBSCRIPTION, &values![organization, subscription])?;
            return Ok(None);
        }
        if clock.elapsed().saturating_sub(began) >= STEP_TIME {
            break;
        }
    }
    Ok(Some(place))
}

/// Removes what is too old among the next deliveries; the last of them where there may be more.
fn remove_old(tx: &mut Transaction<'_>, clock: &Clock, mut place: Uuid, over: Uuid, pending: Uuid) -> Result<Option<Uuid>> {
    let began = clock.elapsed();
    for _ in 0..A_STEP {
        let rows = tx.rows(&OLD, &values![place, over, A_FEW])?;
        let Some(last) = rows.last() else { return Ok(None) };
        place = last.get(1)?;
        for (organization, ids) in by_organization::<Uuid>(&rows)? {
            tx.execute(&REMOVE_OLD, &values![organization, ids, pending])?;
        }
        if !is_full(rows.len(), A_FEW) {
            return Ok(None);
        }
        if clock.elapsed().saturating_sub(began) >= STEP_TIME {
            break;
        }
    }
    Ok(Some(place))
}

/// Whether as much was found as was asked for, so that there may be more.
fn is_full(found: usize, asked: i64) -> bool {
    i64::try_from(found).is_ok_and(|found| found >= asked)
}

/// The least id that can be made at a moment: version 7 begins with the milliseconds.
fn first_id_at(moment: Timestamp) -> Uuid {
    let milliseconds = u64::try_from(moment.as_millisecond()).unwrap_or(0);
    Uuid::from_u128(u128::from(milliseconds) << 80)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ids::Ids;

    #[test]
    fn ids_sort_by_the_time_they_were_made_at() {
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
