//! Which deliveries are due, who deals with them, and what came of it: the database side of the dispatcher.
//!
//! Where nodes share the database a delivery is claimed by a lease. It is nobody's again when the lease runs out, so what a
//! node that went down had in hand is not lost. A process that is alone needs none: what it has in hand it knows, and what
//! it had in hand when it went down is due as before. Either way a delivery whose outcome was not recorded arrives a second
//! time, under the same id.
//!
//! Nothing here takes the organization's lock. Recording outcomes touches a subscription and some of its deliveries, the
//! subscription's row first. A subscription that is deleted is marked so, in its own row alone, and has nothing claimed or
//! recorded from then on. What touches deliveries of many subscriptions, claiming, and what removes them, sweeping, waits for
//! no row that another has: it does without.

use std::collections::{BTreeMap, HashSet};
use std::mem;
use std::time::Duration;

use engine::error::{Error, Result};
use engine::sweeping::by_organization;
use engine::values;
use jiff::Timestamp;
use store::{Json, Row, Transaction};
use url::Url;
use uuid::Uuid;

use super::address::host_of;
use super::delivery::{Delivery, MAX_FAILURES, Status};
use super::disabled::DisabledReason;
use super::limiter::{Limiter, Permit, Send};

/// How many subscriptions are looked at together.
const LOOKED_AT: i64 = 256;
/// Deliveries claimed in one transaction.
const A_CLAIM: usize = 64;
/// Leases that have run out which are ended in one transaction.
const RELEASED: i64 = 1_000;
/// As many pending deliveries are counted; where there are more, the number says nothing that this one does not.
const MOST_COUNTED: i64 = 100_000;

store::statements! {
    /// Subscriptions with deliveries that are nobody's, after one of them up to another, and their organizations. A step an index for
    /// each, so that what waits for one of them costs the others nothing.
    WAITING = "with recursive waiting(id) as (
            select (select subscription_id from webhook_delivery where status = 'pending' and leased_until is null
                and subscription_id > ?1 and subscription_id <= ?2 order by subscription_id limit 1)
            union all
            select (select subscription_id from webhook_delivery where status = 'pending' and leased_until is null
                and subscription_id > waiting.id and subscription_id <= ?2 order by subscription_id limit 1)
                from waiting where waiting.id is not null)
        select (select d.organization_id from webhook_delivery d where d.subscription_id = waiting.id and d.status = 'pending'
                and d.leased_until is null limit 1), id
        from waiting where id is not null limit ?3";
    /// The same where organizations are on several servers, which can take no such steps together: it is asked of the subscriptions of
    /// those organizations that have something due at `?4`, as their queue says.
    WAITING_ANYWHERE = "select s.organization_id, s.id from webhook_due q
        join webhook_subscription s on s.organization_id = q.organization_id and s.id > ?1 and s.id <= ?2 and s.deleted_at is null
        where q.due_at <= ?4 and exists (select 1 from webhook_delivery d where d.organization_id = s.organization_id and d.subscription_id = s.id
            and d.status = 'pending' and d.leased_until is null) order by s.id limit ?3";
    /// Deliveries of a subscription that are due, nobody's and not in hand here, the oldest first, each with what it is sent by; nothing
    /// once the subscription is deleted.
    DUE = "select d.id, d.doc, s.target_url, s.credential, s.event, s.disabled_at, s.doc
        from webhook_delivery d join webhook_subscription s on s.organization_id = ?1 and s.id = ?2 and s.deleted_at is null
        where d.organization_id = ?1 and d.subscription_id = ?2 and d.status = 'pending' and d.leased_until is null
        and d.next_attempt_at <= ?3 and not (d.id = any(?5)) order by d.next_attempt_at, d.id limit ?4";
    /// Some of the leases that have run out.
    EXPIRED = "select organization_id, id from webhook_delivery where leased_until is not null and leased_until <= ?1
        order by leased_until limit ?2";
    /// Ends them.
    RELEASE_EXPIRED = "with expired as (select id from webhook_delivery where organization_id = ?1 and id = any(?2)
            and leased_until is not null and leased_until <= ?3 for update skip locked)
        update webhook_delivery set leased_until = null where organization_id = ?1 and id in (select id from expired)";
    /// Claims deliveries of an organization. The condition is that of DUE once more: of nodes that saw the same row, the first has it.
    /// Another passes over it, while the first is at it and after, rather than wait for it with rows in hand that the first may be
    /// waiting for in turn.
    CLAIM = "with free as (select id from webhook_delivery where organization_id = ?1 and id = any(?4) and status = 'pending'
            and next_attempt_at <= ?2 and leased_until is null for update skip locked)
        update webhook_delivery set leased_until = ?3 where organization_id = ?1 and id in (select id from free) returning id";
    /// When the next delivery becomes due, of those that are not due yet.
    NEXT = "select next_attempt_at from webhook_delivery
        where status = 'pending' and leased_until is null and next_attempt_at > ?1 order by next_attempt_at limit 1";
    /// When the next lease runs out: what a node left behind that went down is due again then.
    NEXT_LEASE = "select leased_until from webhook_delivery where leased_until is not null and leased_until > ?1 order by leased_until limit 1";
    /// Keeps everybody else from recording deliveries of a subscription, and from marking it as deleted.
    HOLD = "select id from webhook_subscription where organization_id = ?1 and id = ?2 and deleted_at is null for no key update";
    /// Gives a delivery back, as it stands now.
    SETTLE = "update webhook_delivery set status = ?4, next_attempt_at = ?5, leased_until = null, doc = ?6
        where organization_id = ?1 and id = ?2 and leased_until is not distinct from ?3 and status = 'pending' returning id";
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
    /// Deletes a subscription whose receiver is gone: the sweep removes what there is of it.
    DELETE = "update webhook_subscription set deleted_at = ?3, disabled_at = coalesce(disabled_at, ?3)
        where organization_id = ?1 and id = ?2";
    /// How many deliveries are pending, up to a number.
    COUNT_PENDING = "select count(*) from
        (select 1 as one from webhook_delivery where status = 'pending' order by next_attempt_at limit ?1) as pending";
    /// Since when the delivery that has waited longest has been due and nobody's.
    OLDEST_DUE = "select next_attempt_at from webhook_delivery where status = 'pending' and next_attempt_at <= ?1
        and (leased_until is null or leased_until <= ?1) order by next_attempt_at limit 1";
}

/// The right to deal with a delivery.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    /// The delivery.
    pub id: Uuid,
    /// Until when this node has it, where there may be others.
    pub leased_until: Option<Timestamp>,
}

/// A claimed delivery.
pub(super) struct Claimed {
    /// The right to deal with it.
    pub claim: Claim,
    /// The delivery. One that does not read must not hold up the others.
    pub delivery: Result<Delivery>,
    /// Leave to send it.
    pub permit: Permit,
}

/// A subscription as it stands.
pub(super) struct Subscribed {
    /// Whose it is.
    pub organization: Uuid,
    /// Which it is.
    pub subscription: Uuid,
    /// Its `target_url, credential, event, disabled_at, doc`, behind two other columns.
    pub row: Row,
}

/// Claimed deliveries of a subscription.
pub(super) struct Batch {
    /// The subscription.
    pub subscribed: Subscribed,
    /// The deliveries, the oldest first.
    pub claimed: Vec<Claimed>,
}

/// What a look at what is due comes to.
#[derive(Default)]
pub(super) struct Look {
    /// How many deliveries were claimed.
    pub count: usize,
    /// Whether there may be more that are due and for which there is room.
    pub is_cut: bool,
    /// Whether another node was quicker with some. While it was at it, it could not be told whether it would keep them.
    pub is_outrun: bool,
    /// When the next delivery becomes due, unless the look was cut short.
    pub next: Option<Timestamp>,
}

/// Takes claimed deliveries over, within the same visit to the database.
pub(super) type Found<'f> = dyn FnMut(&mut Transaction<'_>, Batch) + 'f;

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

/// Claims what was due at `due`, as far as there is room to send it, and hands it to `found`. `from` is the subscription
/// that had its turn last: the others have theirs first.
///
/// Nodes that share a database lease what they take until `until`, in a transaction that writes. A process that is alone
/// has none: it takes in hand what it has not in hand, and writes nothing, so each batch is claimed as soon as it is found.
pub(super) fn claim(
    tx: &mut Transaction<'_>,
    limiter: &Limiter,
    from: &mut Uuid,
    due: Timestamp,
    until: Option<Timestamp>,
    found: &mut Found<'_>,
) -> Result<Look> {
    let look = match until {
        Some(until) => lease(tx, limiter, from, due, until, found)?,
        None => take(tx, limiter, from, due, None, found)?,
    };
    let next = if look.is_cut { None } else { next_due(tx, due, until.is_some())? };
    Ok(Look { next, ..look })
}

/// Claims by leases.
fn lease(
    tx: &mut Transaction<'_>,
    limiter: &Limiter,
    from: &mut Uuid,
    due: Timestamp,
    until: Timestamp,
    found: &mut Found<'_>,
) -> Result<Look> {
    let expired = tx.rows(&EXPIRED, &values![due, RELEASED])?;
    for (organization, ids) in by_organization::<Uuid>(&expired)? {
        tx.execute(&RELEASE_EXPIRED, &values![organization, ids, due])?;
    }
    let mut seen = Vec::new();
    let mut look = take(tx, limiter, from, due, Some(until), &mut |_, batch| seen.push(batch))?;
    if look.count > 0 {
        let mut wanted = BTreeMap::<Uuid, Vec<Uuid>>::new();
        for Batch { subscribed, claimed } in &seen {
            wanted.entry(subscribed.organization).or_default().extend(claimed.iter().map(|claimed| claimed.claim.id));
        }
        let mut granted = HashSet::new();
        for (organization, ids) in wanted {
            for row in tx.rows(&CLAIM, &values![organization, due, until, ids])? {
                granted.insert(row.get::<Uuid>(0)?);
            }
        }
        (look.is_outrun, look.count) = (granted.len() < look.count, granted.len());
        for mut batch in seen {
            batch.claimed.retain(|claimed| granted.contains(&claimed.claim.id));
            if !batch.claimed.is_empty() {
                found(tx, batch);
            }
        }
    }
    Ok(look)
}

/// Finds room for what is due, subscription by subscription, until there is no more of either.
fn take(
    tx: &mut Transaction<'_>,
    limiter: &Limiter,
    from: &mut Uuid,
    due: Timestamp,
    leased_until: Option<Timestamp>,
    found: &mut Found<'_>,
) -> Result<Look> {
    let last = *from;
    let mut count = 0;
    for (mut after, until) in [(last, Uuid::max()), (Uuid::nil(), last)] {
        let mut has_more = after < until;
        while has_more {
            let waiting = waiting(tx, after, until, due)?;
            for row in &waiting {
                after = row.get(1)?;
                // The last of its deliveries may have gone meanwhile.
                let Some(organization) = row.get(0)? else { continue };
                if let Some(batch) = fitting(tx, limiter, (organization, after), due, leased_until)? {
                    *from = after;
                    count += batch.claimed.len();
                    found(tx, batch);
                }
                if limiter.is_full() || count >= A_CLAIM {
                    return Ok(Look { count, is_cut: true, ..Look::default() });
                }
            }
            has_more = i64::try_from(waiting.len()).is_ok_and(|count| count >= LOOKED_AT);
        }
    }
    Ok(Look { count, ..Look::default() })
}

/// Some of the subscriptions that something waits for, after one of them up to another, by their organizations and ids.
fn waiting(tx: &mut Transaction<'_>, after: Uuid, until: Uuid, due: Timestamp) -> Result<Vec<Row>> {
    Ok(if tx.is_spread() {
        tx.rows(&WAITING_ANYWHERE, &values![after, until, LOOKED_AT, due])?
    } else {
        tx.rows(&WAITING, &values![after, until, LOOKED_AT])?
    })
}

/// The deliveries of a subscription that are due and for which there is room.
fn fitting(
    tx: &mut Transaction<'_>,
    limiter: &Limiter,
    (organization, subscription): (Uuid, Uuid),
    due: Timestamp,
    leased_until: Option<Timestamp>,
) -> Result<Option<Batch>> {
    let free = limiter.free_for(subscription);
    if free == 0 {
        limiter.want(subscription);
        return Ok(None);
    }
    let most = i64::try_from(free).unwrap_or(i64::MAX);
    let rows = tx.rows(&DUE, &values![organization, subscription, due, most, limiter.in_hand(subscription)])?;
    let count = rows.len();
    let Some(first) = rows.first() else { return Ok(None) };
    let target: String = first.get(2)?;
    let url = Url::parse(&target).ok();
    // A URL that leads nowhere is a host of its own, which the guard will refuse.
    let host = url.as_ref().and_then(host_of).unwrap_or(target);
    let port = url.as_ref().and_then(Url::port_or_known_default).unwrap_or_default();
    let mut claimed = Vec::new();
    for row in &rows {
        let id = row.get(0)?;
        let Some(permit) = limiter.acquire(Send { organization, subscription, delivery: id, host: &host, port }) else { break };
        let delivery = row.get(1).map(|Json(delivery)| delivery).map_err(Error::from);
        claimed.push(Claimed { claim: Claim { id, leased_until }, delivery, permit });
    }
    // There are more, or have become fewer places meanwhile.
    if count >= free || claimed.len() < count {
        limiter.want(subscription);
    }
    let row = rows.into_iter().next().filter(|_| !claimed.is_empty());
    Ok(row.map(|row| Batch { subscribed: Subscribed { organization, subscription, row }, claimed }))
}

/// When the next delivery becomes due after `now`, where there are leases also by the end of one.
fn next_due(tx: &mut Transaction<'_>, now: Timestamp, are_leased: bool) -> Result<Option<Timestamp>> {
    let mut first = |statement| tx.row(statement, &values![now])?.map(|row| row.get(0)).transpose();
    let (next, released): (Option<Timestamp>, _) = (first(&NEXT)?, if are_leased { first(&NEXT_LEASE)? } else { None });
    Ok([next, released].into_iter().flatten().min())
}

/// What became of a subscription as outcomes were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It was disabled, for this reason.
    Disabled(DisabledReason),
    /// It was deleted.
    Deleted,
}

/// What is recorded of one delivery.
#[derive(Debug)]
pub(super) struct Entry {
    /// The right to.
    pub claim: Claim,
    /// The delivery, as it stands now.
    pub delivery: Delivery,
    /// What became of it.
    pub settlement: Settlement,
}

/// Records what came of deliveries of one subscription, in this order; what became of the subscription, if anything did.
///
/// Nothing is recorded where a claim no longer holds: another node has the delivery by now, or it went with its
/// subscription.
pub(super) fn settle(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    subscription: Uuid,
    entries: &[Entry],
    now: Timestamp,
) -> Result<Option<Turn>> {
    if tx.row(&HOLD, &values![organization, subscription])?.is_none() {
        return Ok(None);
    }
    let mut turn = None;
    let is_gone = |entry: &Entry| entry.settlement == Settlement::Gone;
    for entries in entries.split_inclusive(is_gone) {
        let (mut was_reached, settled) = (false, give_back(tx, organization, entries)?);
        for Entry { claim, settlement, .. } in entries {
            if !settled.contains(&claim.id) {
                continue;
            }
            let reason = match *settlement {
                Settlement::Retry(_) | Settlement::Over(_) => continue,
                Settlement::Delivered => {
                    was_reached = true;
                    continue;
                }
                Settlement::Gone => {
                    tx.execute_along(&DELETE, values![organization, subscription, now].into())?;
                    return Ok(Some(Turn::Deleted));
                }
                Settlement::Failed => {
                    reached(tx, organization, subscription, mem::take(&mut was_reached), now)?;
                    let failures: i64 = tx.row(&FAILED, &values![organization, subscription])?.map_or(Ok(0), |row| row.get(0))?;
                    if failures < MAX_FAILURES {
                        continue;
                    }
                    DisabledReason::Failures
                }
                Settlement::Disabled(reason, _) => reason,
            };
            reached(tx, organization, subscription, mem::take(&mut was_reached), now)?;
            if disable(tx, organization, subscription, reason, now)? {
                turn = Some(Turn::Disabled(reason));
            }
        }
        reached(tx, organization, subscription, was_reached, now)?;
    }
    Ok(turn)
}

/// Gives deliveries back, as they stand now; those whose claims held.
fn give_back(tx: &mut Transaction<'_>, organization: Uuid, entries: &[Entry]) -> Result<HashSet<Uuid>> {
    let row = |Entry { claim, delivery, settlement }: &Entry| {
        let (status, next) = match *settlement {
            Settlement::Delivered | Settlement::Gone => (Status::Delivered, None),
            Settlement::Retry(next) => (Status::Pending, Some(next)),
            Settlement::Failed => (Status::Failed, None),
            Settlement::Over(status) | Settlement::Disabled(_, status) => (status, None),
        };
        let doc = store::Value::json(delivery)?;
        Ok(values![organization, claim.id, claim.leased_until, status.as_ref(), next, doc].into())
    };
    let rows: Vec<Vec<store::Value>> = entries.iter().map(row).collect::<Result<_>>()?;
    Ok(tx.rows_of_many(&SETTLE, &rows)?.iter().map(|row| row.get(0)).collect::<store::Result<_>>()?)
}

/// Notes that a subscription was delivered to, if it was: once for several deliveries in a row.
fn reached(tx: &mut Transaction<'_>, organization: Uuid, subscription: Uuid, was_reached: bool, now: Timestamp) -> Result<()> {
    if was_reached {
        tx.execute_along(&DELIVERED, values![organization, subscription, now].into())?;
    }
    Ok(())
}

/// Disables a subscription; whether it was active.
pub fn disable(tx: &mut Transaction<'_>, organization: Uuid, subscription: Uuid, reason: DisabledReason, now: Timestamp) -> Result<bool> {
    Ok(tx.execute(&DISABLE, &values![organization, subscription, now, reason.as_ref()])? > 0)
}

/// What waits to be sent now.
pub fn backlog(tx: &mut Transaction<'_>, now: Timestamp) -> Result<Backlog> {
    let pending = tx.row(&COUNT_PENDING, &values![MOST_COUNTED])?.map_or(Ok(0), |row| row.get(0))?;
    let since: Option<Timestamp> = tx.row(&OLDEST_DUE, &values![now])?.map(|row| row.get(0)).transpose()?;
    let waited = since.and_then(|since| Duration::try_from(now.duration_since(since)).ok());
    Ok(Backlog { pending, oldest_due: waited.unwrap_or_default() })
}
