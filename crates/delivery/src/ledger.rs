//! The database side of the dispatcher: finds due deliveries, claims them and records their
//! outcomes.
//!
//! If several nodes use the database, a node claims a delivery by a lease. When the lease runs out,
//! any node may claim the delivery again, so deliveries of a node that crashed are not lost. A
//! process that is alone on the database needs no lease, because it knows which deliveries it has
//! in flight. If it crashes, these deliveries are due again after the next start. In both cases a
//! delivery whose outcome was not recorded arrives a second time, under the same id.
//!
//! Nothing in this file takes the organization's lock. A transaction that records outcomes locks
//! the subscription's row first and then some of its deliveries. A transaction that deletes a
//! subscription only marks the subscription's row. After that, none of the subscription's
//! deliveries is claimed or recorded. Claiming and sweeping change deliveries of many
//! subscriptions. Both skip rows that another transaction has locked, instead of waiting for them.

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
use super::limiter::{Limiter, Permit, PermitRequest};
use super::queue;

/// Maximum number of subscriptions that one query reads.
const SCAN_LIMIT: i64 = 256;
/// A transaction that has claimed this many deliveries claims from no further subscription.
const CLAIM_LIMIT: usize = 64;
/// Maximum number of expired leases that one transaction removes.
const RELEASE_LIMIT: i64 = 1_000;
/// The largest number of pending deliveries that the program counts. A larger backlog is reported
/// as this number.
const COUNT_LIMIT: i64 = 100_000;

store::statements! {
    /// Deliveries of a subscription that are due, have no lease and are not in flight in this
    /// process. The oldest come first. Each row also has the columns of the subscription that are
    /// needed to send the delivery. Returns no rows if the subscription was deleted.
    DUE = "select d.id, d.doc, s.target_url, s.credential, s.event, s.disabled_at, s.doc
        from webhook_delivery d join webhook_subscription s on s.organization_id = ?1 and s.id = ?2
        and s.deleted_at is null
        where d.organization_id = ?1 and d.subscription_id = ?2 and d.status = 'pending'
        and d.leased_until is null
        and d.next_attempt_at <= ?3 and not (d.id = any(?5)) order by d.next_attempt_at, d.id
        limit ?4";
    /// Lists up to `?2` deliveries whose leases have expired, those with the earliest end first.
    EXPIRED = "select organization_id, id from webhook_delivery where leased_until is not null
        and leased_until <= ?1
        order by leased_until limit ?2";
    /// Removes the expired leases of the deliveries that `EXPIRED` returned. Skips deliveries that
    /// another transaction has locked.
    RELEASE_EXPIRED = "with expired as (select id from webhook_delivery where organization_id = ?1
        and id = any(?2)
            and leased_until is not null and leased_until <= ?3 for update skip locked)
        update webhook_delivery set leased_until = null where organization_id = ?1
        and id in (select id from expired)";
    /// Claims deliveries of an organization. Repeats the condition of `DUE`: if several nodes have
    /// read the same row, only the first node claims it. The other nodes skip a locked row. If they
    /// waited, two nodes that each wait for a row of the other would deadlock.
    CLAIM = "with free as (select id from webhook_delivery where organization_id = ?1
        and id = any(?4) and status = 'pending'
            and next_attempt_at <= ?2 and leased_until is null for update skip locked)
        update webhook_delivery set leased_until = ?3 where organization_id = ?1
        and id in (select id from free) returning id";
    /// Selects the earliest due time after `?1` among pending deliveries without a lease.
    NEXT = "select next_attempt_at from webhook_delivery
        where status = 'pending' and leased_until is null and next_attempt_at > ?1
        order by next_attempt_at limit 1";
    /// Selects the first time after `?1` at which a lease expires. Deliveries that a crashed node
    /// claimed can be claimed again when their leases expire.
    NEXT_LEASE = "select leased_until from webhook_delivery where leased_until is not null
        and leased_until > ?1 order by leased_until limit 1";
    /// Locks a subscription against other transactions that record its deliveries or mark it as
    /// deleted.
    LOCK_SUBSCRIPTION = "select id from webhook_subscription where organization_id = ?1 and id = ?2
        and deleted_at is null for no key update";
    /// Ends the claim on a delivery and writes the delivery's new state. Returns no row if the
    /// claim is no longer valid. `ended_by_disabling` is true if the delivery was discarded because
    /// its subscription is disabled.
    SETTLE = "update webhook_delivery set status = ?4, next_attempt_at = ?5, leased_until = null,
        doc = ?6, ended_by_disabling = ?7
        where organization_id = ?1 and id = ?2 and leased_until is not distinct from ?3
        and status = 'pending' returning id";
    /// Records that a delivery to a subscription succeeded. The failure count of a disabled
    /// subscription is not reset, because that count explains why the subscription was disabled.
    DELIVERED = "update webhook_subscription set last_delivered_at = ?3,
        consecutive_failures = case when disabled_at is null then 0 else consecutive_failures end
        where organization_id = ?1 and id = ?2";
    /// Adds one to the failure count of an active subscription, after a delivery has failed.
    FAILED = "update webhook_subscription set consecutive_failures = consecutive_failures + 1
        where organization_id = ?1 and id = ?2 and disabled_at is null
        returning consecutive_failures";
    DISABLE = "update webhook_subscription set disabled_at = ?3, disabled_reason = ?4
        where organization_id = ?1 and id = ?2 and disabled_at is null";
    /// Marks a subscription as deleted because its receiver answered 410. The sweep removes the
    /// subscription's rows.
    DELETE = "update webhook_subscription set deleted_at = ?3,
        disabled_at = coalesce(disabled_at, ?3)
        where organization_id = ?1 and id = ?2";
    /// The number of pending deliveries, up to a limit.
    COUNT_PENDING = "select count(*) from
        (select 1 as one from webhook_delivery where status = 'pending' order by next_attempt_at
        limit ?1) as pending";
    /// The earliest due time among the deliveries that are due and have no valid lease.
    OLDEST_DUE = "select next_attempt_at from webhook_delivery where status = 'pending'
        and next_attempt_at <= ?1
        and (leased_until is null or leased_until <= ?1) order by next_attempt_at limit 1";
}

/// The right to send a delivery and to record its outcome.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    /// The id of the delivery.
    pub id: Uuid,
    /// The end of this node's lease. `None` for the only process on the database.
    pub leased_until: Option<Timestamp>,
}

/// A delivery that this process has claimed, with the permit to send it.
pub(super) struct ClaimedDelivery {
    /// The claim on the delivery's row. While it is valid, no other node sends the delivery.
    pub claim: Claim,
    /// The delivery, or an error if its document cannot be parsed. This error must not prevent the
    /// other deliveries of the batch.
    pub delivery: Result<Delivery>,
    /// The permit with which the limiter counts the delivery as in flight.
    pub permit: Permit,
}

/// The state of a subscription's row at the time when deliveries of the subscription were claimed.
pub(super) struct SubscriptionState {
    /// The organization that owns the subscription.
    pub organization: Uuid,
    /// The id of the subscription.
    pub subscription: Uuid,
    /// The row that `DUE` returned. After two columns of the delivery it has those of the
    /// subscription: `target_url, credential, event, disabled_at, doc`.
    pub row: Row,
}

/// The deliveries of one subscription that were claimed in one search.
pub(super) struct Batch {
    /// The subscription to which all of the `deliveries` belong.
    pub subscription_state: SubscriptionState,
    /// The deliveries, the oldest first.
    pub deliveries: Vec<ClaimedDelivery>,
}

/// The result of one search for due deliveries.
#[derive(Default)]
pub(super) struct SearchResult {
    /// How many deliveries were claimed.
    pub count: usize,
    /// Whether the search stopped before it had looked at every subscription. There may then be
    /// more due deliveries, and free permits for them.
    pub is_incomplete: bool,
    /// Whether another node had locked or claimed some of the due deliveries first. If that node's
    /// transaction is rolled back, these deliveries are free again.
    pub was_claimed_elsewhere: bool,
    /// The next time at which a delivery becomes due or, if nodes use leases, a lease ends. `None`
    /// if there is no such time, or if the search stopped before it had looked at every
    /// subscription.
    pub next: Option<Timestamp>,
}

/// A function that receives the claimed deliveries of one subscription, within the transaction that
/// claims them.
pub(super) type OnBatch<'f> = dyn FnMut(&mut Transaction<'_>, Batch) + 'f;

/// The outcome to record for a delivery and its subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settlement {
    /// The receiver accepted the delivery.
    Delivered,
    /// The receiver answered 410. The subscription is deleted with all its deliveries.
    Gone,
    /// The delivery will be attempted again at this time.
    Retry(Timestamp),
    /// The last permitted attempt failed, so the delivery has failed.
    Failed,
    /// The delivery ends with this status. The failure count of the subscription does not change.
    Ended(Status),
    /// The subscription was disabled earlier, so this delivery is discarded. An API client can
    /// later send the delivery again, to another subscription to the same event.
    SubscriptionDisabled,
    /// The delivery ends with this status, and its subscription becomes disabled for this reason.
    Disabled(DisabledReason, Status),
}

/// Figures about the deliveries that wait to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// The number of pending deliveries, due or not; at most 100,000.
    pub pending: i64,
    /// How long the oldest due delivery has been due.
    pub oldest_due: Duration,
}

/// Claims deliveries that are due at `due`, if there are permits for them, and passes them to
/// `found`. `from` is the subscription whose deliveries were claimed last. The search begins after
/// it, so that every subscription gets a turn.
///
/// If several nodes use the database, the deliveries are leased until `until`, in a writing
/// transaction. The only process on a database passes no `until`. The search then skips deliveries
/// that are in flight and writes nothing, so `found` gets each batch as soon as the batch is found.
pub(super) fn claim(
    tx: &mut Transaction<'_>,
    limiter: &Limiter,
    from: &mut Uuid,
    due: Timestamp,
    until: Option<Timestamp>,
    found: &mut OnBatch<'_>,
) -> Result<SearchResult> {
    let search = match until {
        Some(until) => lease(tx, limiter, from, due, until, found)?,
        None => take(tx, limiter, from, due, None, found)?,
    };
    let next = if search.is_incomplete {
        None
    } else {
        next_due(tx, due, until.is_some())?
    };
    Ok(SearchResult { next, ..search })
}

/// Claims deliveries by a lease on each row, if several nodes use the database.
fn lease(
    tx: &mut Transaction<'_>,
    limiter: &Limiter,
    from: &mut Uuid,
    due: Timestamp,
    until: Timestamp,
    found: &mut OnBatch<'_>,
) -> Result<SearchResult> {
    let expired = tx.rows(&EXPIRED, &values![due, RELEASE_LIMIT])?;
    for (organization, ids) in by_organization::<Uuid>(&expired)? {
        tx.execute(&RELEASE_EXPIRED, &values![organization, ids, due])?;
    }
    let mut batches = Vec::new();
    let mut search = take(tx, limiter, from, due, Some(until), &mut |_, batch| {
        batches.push(batch);
    })?;
    if search.count > 0 {
        let mut ids_by_organization = BTreeMap::<Uuid, Vec<Uuid>>::new();
        for Batch {
            subscription_state: subscribed,
            deliveries: claimed,
        } in &batches
        {
            ids_by_organization
                .entry(subscribed.organization)
                .or_default()
                .extend(claimed.iter().map(|claimed| claimed.claim.id));
        }
        let mut granted = HashSet::new();
        for (organization, ids) in ids_by_organization {
            for row in tx.rows(&CLAIM, &values![organization, due, until, ids])? {
                granted.insert(row.get::<Uuid>(0)?);
            }
        }
        (search.was_claimed_elsewhere, search.count) =
            (granted.len() < search.count, granted.len());
        for mut batch in batches {
            batch
                .deliveries
                .retain(|claimed| granted.contains(&claimed.claim.id));
            if !batch.deliveries.is_empty() {
                found(tx, batch);
            }
        }
    }
    Ok(search)
}

/// Acquires permits for due deliveries, one subscription after another, until permits or deliveries
/// run out.
fn take(
    tx: &mut Transaction<'_>,
    limiter: &Limiter,
    from: &mut Uuid,
    due: Timestamp,
    leased_until: Option<Timestamp>,
    found: &mut OnBatch<'_>,
) -> Result<SearchResult> {
    let last = *from;
    let mut count = 0;
    for (mut after, until) in [(last, Uuid::max()), (Uuid::nil(), last)] {
        let mut has_more = after < until;
        while has_more {
            let waiting = queue::waiting(tx, (after, until), due, SCAN_LIMIT)?;
            for row in &waiting {
                after = row.get(1)?;
                // If the subscription's last delivery was removed between the two subqueries of the
                // statement, the row has no organization.
                let Some(organization) = row.get(0)? else {
                    continue;
                };
                if let Some(batch) =
                    due_with_permits(tx, limiter, (organization, after), due, leased_until)?
                {
                    *from = after;
                    count += batch.deliveries.len();
                    found(tx, batch);
                }
                if limiter.is_full() || count >= CLAIM_LIMIT {
                    return Ok(SearchResult {
                        count,
                        is_incomplete: true,
                        ..SearchResult::default()
                    });
                }
            }
            has_more = i64::try_from(waiting.len()).is_ok_and(|count| count >= SCAN_LIMIT);
        }
    }
    Ok(SearchResult {
        count,
        ..SearchResult::default()
    })
}

/// Acquires permits for the due deliveries of a subscription. Returns the deliveries that got a
/// permit, or `None` if none did.
fn due_with_permits(
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
    let limit = i64::try_from(free).unwrap_or(i64::MAX);
    let rows = tx.rows(
        &DUE,
        &values![
            organization,
            subscription,
            due,
            limit,
            limiter.ids_in_flight(subscription)
        ],
    )?;
    let count = rows.len();
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    let target: String = first.get(2)?;
    let url = Url::parse(&target).ok();
    // If a URL cannot be parsed, its whole text is used as the host. The target guard refuses that
    // URL later.
    let host = url.as_ref().and_then(host_of).unwrap_or(target);
    let port = url
        .as_ref()
        .and_then(Url::port_or_known_default)
        .unwrap_or_default();
    let mut claimed = Vec::new();
    for row in &rows {
        let id = row.get(0)?;
        let Some(permit) = limiter.acquire(PermitRequest {
            organization,
            subscription,
            delivery: id,
            host: &host,
            port,
        }) else {
            break;
        };
        let delivery = row
            .get(1)
            .map(|Json(delivery)| delivery)
            .map_err(Error::from);
        claimed.push(ClaimedDelivery {
            claim: Claim { id, leased_until },
            delivery,
            permit,
        });
    }
    // More deliveries of the subscription may be due than were claimed. The limiter wakes the
    // dispatcher when it has a permit for them.
    if count >= free || claimed.len() < count {
        limiter.want(subscription);
    }
    let row = rows.into_iter().next().filter(|_| !claimed.is_empty());
    Ok(row.map(|row| Batch {
        subscription_state: SubscriptionState {
            organization,
            subscription,
            row,
        },
        deliveries: claimed,
    }))
}

/// Returns the first time after `now` at which a delivery becomes due or, if nodes use leases, a
/// lease ends.
fn next_due(
    tx: &mut Transaction<'_>,
    now: Timestamp,
    has_leases: bool,
) -> Result<Option<Timestamp>> {
    let mut first = |statement| {
        tx.row(statement, &values![now])?
            .map(|row| row.get(0))
            .transpose()
    };
    let (next, next_lease): (Option<Timestamp>, _) = (
        first(&NEXT)?,
        if has_leases {
            first(&NEXT_LEASE)?
        } else {
            None
        },
    );
    Ok([next, next_lease].into_iter().flatten().min())
}

/// The change to a subscription that followed from recorded outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubscriptionChange {
    /// The subscription was disabled, for this reason.
    Disabled(DisabledReason),
    /// The subscription was deleted.
    Deleted,
}

/// The outcome of one delivery, to be recorded.
#[derive(Debug)]
pub(super) struct Entry {
    /// The claim that permits this node to record the outcome.
    pub claim: Claim,
    /// The delivery in its state after the attempt.
    pub delivery: Delivery,
    /// The outcome to record for the delivery and its subscription.
    pub settlement: Settlement,
}

/// Records the outcomes of one subscription's deliveries, in the order of the entries. Returns the
/// change to the subscription, if any.
///
/// Skips an entry whose claim is no longer valid. The claim ends when another node claims the
/// delivery, or when the delivery is deleted with its subscription.
pub(super) fn settle(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    subscription: Uuid,
    entries: &[Entry],
    now: Timestamp,
) -> Result<Option<SubscriptionChange>> {
    if tx
        .row(&LOCK_SUBSCRIPTION, &values![organization, subscription])?
        .is_none()
    {
        return Ok(None);
    }
    let mut change = None;
    let is_gone = |entry: &Entry| entry.settlement == Settlement::Gone;
    for entries in entries.split_inclusive(is_gone) {
        let (mut was_reached, settled) = (false, write_states(tx, organization, entries)?);
        for Entry {
            claim, settlement, ..
        } in entries
        {
            if !settled.contains(&claim.id) {
                continue;
            }
            let reason = match *settlement {
                Settlement::Retry(_) | Settlement::Ended(_) | Settlement::SubscriptionDisabled => {
                    continue;
                }
                Settlement::Delivered => {
                    was_reached = true;
                    continue;
                }
                Settlement::Gone => {
                    tx.execute_deferred(&DELETE, values![organization, subscription, now].into())?;
                    return Ok(Some(SubscriptionChange::Deleted));
                }
                Settlement::Failed => {
                    record_success(
                        tx,
                        organization,
                        subscription,
                        mem::take(&mut was_reached),
                        now,
                    )?;
                    let failures: i64 = tx
                        .row(&FAILED, &values![organization, subscription])?
                        .map_or(Ok(0), |row| row.get(0))?;
                    if failures < MAX_FAILURES {
                        continue;
                    }
                    DisabledReason::Failures
                }
                Settlement::Disabled(reason, _) => reason,
            };
            record_success(
                tx,
                organization,
                subscription,
                mem::take(&mut was_reached),
                now,
            )?;
            if disable(tx, organization, subscription, reason, now)? {
                change = Some(SubscriptionChange::Disabled(reason));
            }
        }
        record_success(tx, organization, subscription, was_reached, now)?;
    }
    Ok(change)
}

/// Ends claims and writes the new states of their deliveries. Returns the ids of the deliveries
/// whose claims were still valid.
fn write_states(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    entries: &[Entry],
) -> Result<HashSet<Uuid>> {
    let row = |Entry {
                   claim,
                   delivery,
                   settlement,
               }: &Entry| {
        let (status, next) = match *settlement {
            Settlement::Delivered | Settlement::Gone => (Status::Delivered, None),
            Settlement::Retry(next) => (Status::Pending, Some(next)),
            Settlement::Failed => (Status::Failed, None),
            Settlement::SubscriptionDisabled => (Status::Discarded, None),
            Settlement::Ended(status) | Settlement::Disabled(_, status) => (status, None),
        };
        let ended_by_disabling = matches!(
            settlement,
            Settlement::SubscriptionDisabled | Settlement::Disabled(_, Status::Discarded)
        );
        let doc = store::Value::json(delivery)?;
        Ok(values![
            organization,
            claim.id,
            claim.leased_until,
            status.as_ref(),
            next,
            doc,
            ended_by_disabling
        ]
        .into())
    };
    let rows: Vec<Vec<store::Value>> = entries.iter().map(row).collect::<Result<_>>()?;
    Ok(tx
        .rows_of_many(&SETTLE, &rows)?
        .iter()
        .map(|row| row.get(0))
        .collect::<store::Result<_>>()?)
}

/// Records that the receiver of a subscription accepted one or more deliveries: stores the time,
/// and resets the subscription's failure count. Does nothing if `was_reached` is false, because
/// then no delivery succeeded.
fn record_success(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    subscription: Uuid,
    was_reached: bool,
    now: Timestamp,
) -> Result<()> {
    if was_reached {
        tx.execute_deferred(&DELIVERED, values![organization, subscription, now].into())?;
    }
    Ok(())
}

/// Disables a subscription. Returns whether it was active before.
pub fn disable(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    subscription: Uuid,
    reason: DisabledReason,
    now: Timestamp,
) -> Result<bool> {
    Ok(tx.execute(
        &DISABLE,
        &values![organization, subscription, now, reason.as_ref()],
    )? > 0)
}

/// Returns the number of deliveries that wait to be sent, and how long the oldest due delivery has
/// been due.
pub fn backlog(tx: &mut Transaction<'_>, now: Timestamp) -> Result<Backlog> {
    let pending = tx
        .row(&COUNT_PENDING, &values![COUNT_LIMIT])?
        .map_or(Ok(0), |row| row.get(0))?;
    let since: Option<Timestamp> = tx
        .row(&OLDEST_DUE, &values![now])?
        .map(|row| row.get(0))
        .transpose()?;
    let waited = since.and_then(|since| Duration::try_from(now.duration_since(since)).ok());
    Ok(Backlog {
        pending,
        oldest_due: waited.unwrap_or_default(),
    })
}
