//! Which deliveries are due, who deals with them, and what came of it: the database side of the dispatcher.
//!
//! A delivery is claimed by a lease. It is nobody's again when the lease runs out, so what a node that went down had in
//! hand is not lost; a delivery whose outcome could not be recorded arrives a second time, under the same id.
//!
//! Nothing here takes the organization's lock. Recording an outcome touches a subscription and one of its deliveries, the
//! subscription's row first, which is also the order in which deleting a subscription goes about it. What touches many
//! deliveries at once, claiming and sweeping, waits for no row that another has: it does without.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use store::{RawJson, Row, Transaction};
use url::Url;
use uuid::Uuid;

use super::delivery::{Delivery, MAX_FAILURES, Status};
use super::room::{Place, Room, Send};
use super::subscriptions::DisabledReason;
use crate::error::Result;
use crate::values;

/// How many subscriptions are looked at together.
const LOOKED_AT: i64 = 256;
/// Deliveries of one subscription that are claimed together: as many as may be under way to one target.
const A_SUBSCRIPTION: i64 = 8;
/// Deliveries claimed in one transaction.
const A_CLAIM: usize = 256;
/// Deliveries removed in one transaction, so that a sweep holds up no one.
const SWEEP_BATCH: i64 = 500;
/// As many pending deliveries are counted; where there are more, the number says nothing that this one does not.
const MOST_COUNTED: i64 = 100_000;

store::statements! {
    /// Subscriptions with deliveries that are nobody's, after one of them. A step an index for each, so that what waits
    /// for one of them costs the others nothing.
    WAITING = "with recursive waiting(id) as (
            select (select subscription_id from webhook_delivery where status = 'pending' and leased_until is null
                and subscription_id > ?1 order by subscription_id limit 1)
            union all
            select (select subscription_id from webhook_delivery where status = 'pending' and leased_until is null
                and subscription_id > waiting.id order by subscription_id limit 1) from waiting where waiting.id is not null)
        select id from waiting where id is not null limit ?2";
    /// Deliveries of a subscription that are due and nobody's, the oldest first.
    DUE = "select d.id, d.organization_id, d.subscription_id, s.target_url, d.doc from webhook_delivery d
        join webhook_subscription s on s.organization_id = d.organization_id and s.id = d.subscription_id
        where d.subscription_id = ?2 and d.status = 'pending' and d.leased_until is null and d.next_attempt_at <= ?1
        order by d.next_attempt_at, d.id limit ?3";
    /// Ends the leases that have run out.
    RELEASE_EXPIRED = "with expired as (select id from webhook_delivery where leased_until is not null and leased_until <= ?1
            for update skip locked)
        update webhook_delivery set leased_until = null where id in (select id from expired)";
    /// Whether one has.
    EXPIRED = "select 1 from webhook_delivery where leased_until is not null and leased_until <= ?1 limit 1";
    /// Claims deliveries. The condition is that of DUE once more: of nodes that saw the same row, the first has it. Another
    /// passes over it, while the first is at it and after, rather than wait for it with rows in hand that the first, or
    /// somebody who deletes a subscription, may be waiting for in turn.
    CLAIM = "with free as (select id from webhook_delivery where id = any(?3) and status = 'pending' and next_attempt_at <= ?1
            and leased_until is null for update skip locked)
        update webhook_delivery set leased_until = ?2 where id in (select id from free) returning id";
    /// Ends every lease.
    RELEASE_ALL = "update webhook_delivery set leased_until = null where status = 'pending' and leased_until is not null";
    /// When the next delivery becomes due, of those that are not due yet.
    NEXT = "select next_attempt_at from webhook_delivery
        where status = 'pending' and leased_until is null and next_attempt_at > ?1 order by next_attempt_at limit 1";
    /// When the next lease runs out: what a node left behind that went down is due again then.
    NEXT_LEASE = "select leased_until from webhook_delivery where leased_until is not null and leased_until > ?1 order by leased_until limit 1";
    /// Whether a claim still holds.
    HELD = "select id from webhook_delivery where organization_id = ?1 and id = ?2 and leased_until = ?3 and status = 'pending'";
    /// Gives a delivery back, as it stands now.
    SETTLE = "update webhook_delivery set status = ?4, next_attempt_at = ?5, leased_until = null, doc = ?6
        where organization_id = ?1 and id = ?2 and leased_until = ?3 and status = 'pending'";
    /// Notes that a subscription was delivered to. A disabled one keeps the count that says why.
    DELIVERED = "update webhook_subscription set last_delivered_at = ?3,
        consecutive_failures = case when disabled_at is null then 0 else consecutive_failures end
        where organization_id = ?1 and id = ?2";
    /// Notes that a delivery to a subscription failed for good.
    FAILED = "update webhook_subscription set consecutive_failures = consecutive_failures + 1
        where organization_id = ?1 and id = ?2 and disabled_at is null returning consecutive_failures";
    /// Disables a subscription.
    DISABLE = "update webhook_subscription set disabled_at = ?3, disabled_reason = ?4
        where organization_id = ?1 and id = ?2 and disabled_at is null";
    /// Deletes a subscription whose receiver is gone.
    DELETE = "delete from webhook_subscription where organization_id = ?1 and id = ?2";
    /// Removes a batch of deliveries that are over, the oldest first. Ids sort by the time they were made at, so it is the
    /// primary key that finds them.
    SWEEP = "with old as (select id from webhook_delivery where id < ?1 and status <> 'pending' order by id limit ?2
            for update skip locked)
        delete from webhook_delivery where id in (select id from old)";
    /// How many deliveries are pending, up to a number.
    COUNT_PENDING = "select count(*) from
        (select 1 as one from webhook_delivery where status = 'pending' order by next_attempt_at limit ?1) as pending";
    /// Since when the delivery that has waited longest has been due and nobody's.
    OLDEST_DUE = "select next_attempt_at from webhook_delivery where status = 'pending' and next_attempt_at <= ?1
        and (leased_until is null or leased_until <= ?1) order by next_attempt_at limit 1";
}

/// Ends every lease: for the only process there can be on a database, before it claims anything itself.
pub(super) fn release_all(tx: &mut Transaction<'_>) -> Result<()> {
    tx.execute(&RELEASE_ALL, &[])?;
    Ok(())
}

/// The right to deal with a delivery.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    /// The delivery.
    pub id: Uuid,
    /// Whose it is.
    pub organization: Uuid,
    /// The subscription it is for.
    pub subscription: Uuid,
    /// Until when.
    pub until: Timestamp,
}

/// A claimed delivery.
pub(super) struct Claimed {
    /// The right to deal with it.
    pub claim: Claim,
    /// The delivery, not read yet: one that does not read must not hold up the others.
    pub doc: String,
    /// Its place among what is being sent.
    pub place: Place,
}

/// What a look at what is due comes to.
pub(super) struct Claims {
    /// The deliveries claimed.
    pub taken: Vec<Claimed>,
    /// Whether another node was quicker with some. While it was at it, it could not be told whether it would keep them.
    pub is_outrun: bool,
}

/// What is recorded of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settlement {
    /// The receiver took it.
    Delivered,
    /// The receiver is gone: so is the subscription, with all its deliveries.
    Gone,
    /// It is tried again at this time.
    Retry(Timestamp),
    /// The last attempt failed.
    Failed,
    /// It is over like this, which says nothing of the subscription.
    Over(Status),
    /// The subscription is disabled, and the delivery ends like this.
    Disabled(DisabledReason, Status),
}

/// What waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Deliveries that are pending, due or not, 100,000 at the most.
    pub pending: i64,
    /// How long the one that has waited longest has been due.
    pub oldest_due: Duration,
}

/// Claims what was due at `due` until `until`, as far as there is room to send it. `from` is the subscription that was
/// looked at last: the others have their turn first.
pub(super) fn claim(tx: &mut Transaction<'_>, room: &Room, from: &mut Uuid, due: Timestamp, until: Timestamp) -> Result<Claims> {
    if tx.row(&EXPIRED, &values![due])?.is_some() {
        tx.execute(&RELEASE_EXPIRED, &values![due])?;
    }
    let crowded: HashSet<Uuid> = room.crowded().into_iter().collect();
    let (begin, mut has_wrapped) = (*from, false);
    let mut fitting = Vec::new();
    'look: loop {
        let waiting = tx.rows(&WAITING, &values![*from, LOOKED_AT])?;
        for row in &waiting {
            *from = row.get(0)?;
            if has_wrapped && *from > begin {
                break 'look;
            }
            if !crowded.contains(from) {
                for row in tx.rows(&DUE, &values![due, *from, A_SUBSCRIPTION])? {
                    match claimed(&row, room, until)? {
                        Some(claimed) => fitting.push(claimed),
                        None => break,
                    }
                }
            }
            if room.free() == 0 || fitting.len() >= A_CLAIM {
                break 'look;
            }
        }
        if i64::try_from(waiting.len()).is_ok_and(|count| count < LOOKED_AT) {
            if has_wrapped || begin.is_nil() {
                break;
            }
            (*from, has_wrapped) = (Uuid::nil(), true);
        }
    }
    if fitting.is_empty() {
        return Ok(Claims { taken: fitting, is_outrun: false });
    }
    let ids: Vec<Uuid> = fitting.iter().map(|claimed: &Claimed| claimed.claim.id).collect();
    let seen = ids.len();
    let won = tx.rows(&CLAIM, &values![due, until, ids])?;
    let granted: HashSet<Uuid> = won.iter().map(|row| row.get(0)).collect::<store::Result<_>>()?;
    fitting.retain(|claimed| granted.contains(&claimed.claim.id));
    Ok(Claims { is_outrun: fitting.len() < seen, taken: fitting })
}

/// A row of DUE with a place to send it, if there is one.
fn claimed(row: &Row, room: &Room, until: Timestamp) -> Result<Option<Claimed>> {
    let claim = Claim { id: row.get(0)?, organization: row.get(1)?, subscription: row.get(2)?, until };
    let target: String = row.get(3)?;
    let url = Url::parse(&target).ok();
    // A URL that leads nowhere is a host of its own, which the guard will refuse.
    let host = url.as_ref().and_then(Url::host_str).unwrap_or(&target);
    let port = url.as_ref().and_then(Url::port_or_known_default).unwrap_or_default();
    let send = Send { organization: claim.organization, subscription: claim.subscription, host, port };
    let Some(place) = room.enter(send) else { return Ok(None) };
    let RawJson(doc) = row.get(4)?;
    Ok(Some(Claimed { claim, doc, place }))
}

/// When the next delivery becomes due after `now`.
pub(super) fn next_due(tx: &mut Transaction<'_>, now: Timestamp) -> Result<Option<Timestamp>> {
    let mut next: Option<Timestamp> = None;
    for statement in [&NEXT, &NEXT_LEASE] {
        let found = tx.row(statement, &values![now])?.map(|row| row.get(0)).transpose()?;
        next = [next, found].into_iter().flatten().min();
    }
    Ok(next)
}

/// Records what came of a delivery; the reason where that disabled its subscription.
///
/// Nothing is recorded where the claim no longer holds: another node has the delivery by now, or it went with its
/// subscription.
pub(super) fn settle(
    tx: &mut Transaction<'_>,
    claim: Claim,
    delivery: &Delivery,
    settlement: Settlement,
    now: Timestamp,
) -> Result<Option<DisabledReason>> {
    let Claim { id, organization, subscription, until } = claim;
    if tx.row(&HELD, &values![organization, id, until])?.is_none() {
        return Ok(None);
    }
    let (status, next, reason) = match settlement {
        Settlement::Delivered => {
            tx.execute(&DELIVERED, &values![organization, subscription, now])?;
            (Status::Delivered, None, None)
        }
        Settlement::Gone => {
            tx.execute(&DELETE, &values![organization, subscription])?;
            return Ok(None);
        }
        Settlement::Retry(next) => (Status::Pending, Some(next), None),
        Settlement::Failed => {
            let failures: i64 = tx.row(&FAILED, &values![organization, subscription])?.map_or(Ok(0), |row| row.get(0))?;
            (Status::Failed, None, (failures >= MAX_FAILURES).then_some(DisabledReason::Failures))
        }
        Settlement::Over(status) => (status, None, None),
        Settlement::Disabled(reason, status) => (status, None, Some(reason)),
    };
    let mut disabled = None;
    if let Some(reason) = reason
        && disable(tx, organization, subscription, reason, now)?
    {
        disabled = Some(reason);
    }
    let doc = store::Value::json(delivery)?;
    tx.execute(&SETTLE, &values![organization, id, until, status.name(), next, doc])?;
    Ok(disabled)
}

/// Disables a subscription; whether it was active.
pub(super) fn disable(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    subscription: Uuid,
    reason: DisabledReason,
    now: Timestamp,
) -> Result<bool> {
    Ok(tx.execute(&DISABLE, &values![organization, subscription, now, reason.name()])? > 0)
}

/// Removes a batch of deliveries that are over and were made longer ago than `retention`; true when there may be more.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp, retention: Duration) -> Result<bool> {
    let Ok(oldest) = now.checked_sub(retention) else { return Ok(false) };
    let removed = tx.execute(&SWEEP, &values![first_id_at(oldest), SWEEP_BATCH])?;
    Ok(i64::try_from(removed).unwrap_or(0) >= SWEEP_BATCH)
}

/// The least id that can be made at a moment: version 7 begins with the milliseconds.
fn first_id_at(moment: Timestamp) -> Uuid {
    let milliseconds = u64::try_from(moment.as_millisecond()).unwrap_or(0);
    Uuid::from_u128(u128::from(milliseconds) << 80)
}

/// What waits to be sent now.
pub fn backlog(tx: &mut Transaction<'_>, now: Timestamp) -> Result<Backlog> {
    let pending = tx.row(&COUNT_PENDING, &values![MOST_COUNTED])?.map_or(Ok(0), |row| row.get(0))?;
    let since: Option<Timestamp> = tx.row(&OLDEST_DUE, &values![now])?.map(|row| row.get(0)).transpose()?;
    let waited = since.and_then(|since| Duration::try_from(now.duration_since(since)).ok());
    Ok(Backlog { pending, oldest_due: waited.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ambient::Ids;

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
