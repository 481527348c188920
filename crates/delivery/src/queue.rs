//! The search for subscriptions with waiting deliveries. On one server, a query steps along an
//! index of all pending deliveries.
//!
//! In a sharded database, that query would ask every server about every subscription. The search
//! there reads a queue instead, the table `webhook_due`, which has one row for each organization
//! with deliveries to send. The cost of a search then depends on the number of due organizations.
//! On one server the table stays empty. Only this module knows which of the two is used.
//!
//! The time in a row is never later than the due time of the organization's next delivery. A
//! transaction that adds a delivery to the outbox also updates the row. Before a retry is recorded,
//! the time of the retry is written to the row. The time in a row may be too early, which costs
//! only a useless search. [`tidy`] corrects a row that has been due for a while, unless another
//! transaction has locked the row.
//!
//! Some deliveries have no row in the queue: those that nodes of the previous version add, and
//! those that were added before the organizations were distributed. [`fill`] finds such deliveries
//! every ten minutes. It reads every subscription.

use std::sync::Arc;
use std::time::Duration;

use engine::background::BackgroundTask;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::values;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use store::{Row, Store, Transaction};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::dependencies::Dependencies;

/// The interval between two runs of `tidy`. It is also how long a row must have been due before
/// `tidy` corrects it.
const TIDY_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of rows that one run of `tidy` corrects.
const TIDY_LIMIT: i64 = 256;
/// Number of queue corrections in one cycle: one of them is a run of `fill`, and the others are
/// runs of `tidy`. With one correction every [`TIDY_INTERVAL`], `fill` runs every ten minutes.
const RUNS_BETWEEN_FILLS: u32 = 120;

store::statements! {
    /// Selects subscriptions with an id after `?1` and up to `?2` that have pending deliveries
    /// without a lease, each with its organization. The recursion makes one index seek for each
    /// subscription, so the cost does not depend on the number of deliveries.
    WAITING = "with recursive waiting(id) as (
            select (select subscription_id from webhook_delivery where status = 'pending'
            and leased_until is null
                and subscription_id > ?1 and subscription_id <= ?2 order by subscription_id limit 1)
            union all
            select (select subscription_id from webhook_delivery where status = 'pending'
            and leased_until is null
                and subscription_id > waiting.id and subscription_id <= ?2 order by subscription_id
                limit 1)
                from waiting where waiting.id is not null)
        select (select d.organization_id from webhook_delivery d
        where d.subscription_id = waiting.id and d.status = 'pending'
                and d.leased_until is null limit 1), id
        from waiting where id is not null limit ?3";
    /// Does the same as `WAITING` on a sharded database. Citus cannot run the recursion of
    /// `WAITING`, so this statement reads the subscriptions of each organization that has a row in
    /// `webhook_due` whose time is at most `?4`.
    WAITING_ANYWHERE = "select s.organization_id, s.id from webhook_due q
        join webhook_subscription s on s.organization_id = q.organization_id and s.id > ?1
        and s.id <= ?2 and s.deleted_at is null
        where q.due_at <= ?4 and exists (select 1 from webhook_delivery d
        where d.organization_id = s.organization_id and d.subscription_id = s.id
            and d.status = 'pending' and d.leased_until is null) order by s.id limit ?3";
    /// Records that an organization has a delivery that is due at a time.
    NOTE = "insert into webhook_due (organization_id, due_at) values (?1, ?2)
        on conflict (organization_id)
        do update set due_at = excluded.due_at where webhook_due.due_at > excluded.due_at";
    /// Selects the organizations whose due time is `?1` or earlier, the earliest first.
    PAST = "select organization_id from webhook_due where due_at <= ?1 order by due_at limit ?2";
    /// Locks the row of an organization in `webhook_due`, until the transaction ends. Returns no
    /// row if the organization has no row there, or if another transaction has locked the row.
    LOCK_DUE = "select due_at from webhook_due where organization_id = ?1 for update skip locked";
    /// Selects the earliest time at which a delivery of an organization becomes due or its lease
    /// ends. Due times of deliveries to deleted subscriptions do not count.
    FIRST = "select min(first) from
        (select (select min(d.next_attempt_at) from webhook_delivery d where d.organization_id = ?1
        and d.subscription_id = s.id
                and d.status = 'pending' and d.leased_until is null) as first
            from webhook_subscription s where s.organization_id = ?1 and s.deleted_at is null
        union all select min(leased_until) as first from webhook_delivery where organization_id = ?1
        and leased_until is not null) as firsts";
    /// Sets the due time in an organization's row to a later time.
    POSTPONE = "update webhook_due set due_at = ?2 where organization_id = ?1";
    /// Removes the row of an organization that has no pending delivery.
    REMOVE = "delete from webhook_due where organization_id = ?1";
    /// Adds a row for every organization that has a pending delivery to a subscription that is not
    /// deleted. Does not change rows that exist.
    FILL = "insert into webhook_due (organization_id, due_at) select s.organization_id, ?1
        from webhook_subscription s
        where s.deleted_at is null and exists
        (select 1 from webhook_delivery d where d.organization_id = s.organization_id
            and d.subscription_id = s.id and d.status = 'pending')
        group by s.organization_id on conflict (organization_id) do nothing";
}

/// Returns up to `limit` subscriptions with waiting deliveries. Each row has the ids of the
/// organization and the subscription. Subscription ids are above `after` and at most `until`. `due`
/// is the latest due time of a delivery that counts as waiting.
pub(super) fn waiting(
    tx: &mut Transaction<'_>,
    (after, until): (Uuid, Uuid),
    due: Timestamp,
    limit: i64,
) -> Result<Vec<Row>> {
    Ok(if tx.is_sharded() {
        tx.rows(&WAITING_ANYWHERE, &values![after, until, limit, due])?
    } else {
        tx.rows(&WAITING, &values![after, until, limit])?
    })
}

/// Records that the organization of an operation has a delivery that is due now. Modules that add
/// deliveries to the outbox call this function.
pub fn note_due_now(context: &mut Context<'_, '_>) -> Result<()> {
    if context.is_sharded() {
        context.execute_deferred(&NOTE, values![context.now()])?;
    }
    Ok(())
}

/// Records in the queue that a delivery of an organization becomes due at the time `due`. Changes
/// nothing if the queue has an earlier time for the organization.
pub(super) fn note_due(tx: &mut Transaction<'_>, organization: Uuid, due: Timestamp) -> Result<()> {
    if tx.is_sharded() {
        tx.execute(&NOTE, &values![organization, due])?;
    }
    Ok(())
}

/// Does the same as [`note_due`], in a transaction of its own. The caller then changes the
/// deliveries in a second transaction. A single transaction would lock the row of the queue and the
/// subscription's row, while another transaction may lock the same rows in the opposite order.
pub(super) async fn note_due_first(
    store: &Store,
    organization: Uuid,
    due: Timestamp,
) -> Result<()> {
    if store.is_sharded() {
        store
            .write(move |tx| note_due(tx, organization, due))
            .await?;
    }
    Ok(())
}

/// Adds missing rows and corrects due times in the queue, at regular intervals until `stop` is
/// cancelled. If the queue is not used, only waits for `stop`.
#[must_use]
pub fn keep_queue(dependencies: Arc<Dependencies>, stop: CancellationToken) -> BackgroundTask {
    async move {
        if !dependencies.store.is_sharded() {
            return stop.cancelled().await;
        }
        let mut runs = 0;
        let log_failure = |error: &Error| {
            tracing::warn!(
                cause = error.cause(),
                "could not correct the queue of webhook deliveries; retrying shortly"
            );
        };
        loop {
            let correction = async {
                if runs == 0 {
                    fill(&dependencies).await
                } else {
                    tidy(&dependencies).await
                }
            };
            // If `stop` is cancelled, a transaction that has begun is still completed. The
            // remaining rows are corrected after the next start.
            let Some(result) = stop.run_until_cancelled(correction).await else {
                return;
            };
            runs = if result.inspect_err(log_failure).is_ok() {
                (runs + 1) % RUNS_BETWEEN_FILLS
            } else {
                0
            };
            if stop
                .run_until_cancelled(tokio::time::sleep(TIDY_INTERVAL))
                .await
                .is_none()
            {
                return;
            }
        }
    }
    .boxed()
}

/// Adds a row for each organization that has pending deliveries but no row.
pub async fn fill(dependencies: &Dependencies) -> Result<()> {
    let now = dependencies.clock.now();
    if dependencies
        .store
        .write(move |tx| Ok::<_, Error>(tx.execute(&FILL, &values![now])?))
        .await?
        > 0
    {
        dependencies.due.notify_one();
    }
    Ok(())
}

/// Corrects rows of the queue whose due time was at least `TIDY_INTERVAL` ago, at most `TIDY_LIMIT`
/// rows. The queue has one row for each organization.
pub async fn tidy(dependencies: &Dependencies) -> Result<()> {
    let now = dependencies.clock.now();
    let Ok(due_before) = now.checked_sub(TIDY_INTERVAL) else {
        return Ok(());
    };
    let organizations = dependencies.store.read(move |tx| {
        let rows = tx.rows(&PAST, &values![due_before, TIDY_LIMIT])?;
        Ok::<_, Error>(
            rows.iter()
                .map(|row| row.get(0))
                .collect::<store::Result<Vec<Uuid>>>()?,
        )
    });
    for organization in organizations.await? {
        dependencies
            .store
            .write(move |tx| correct_row(tx, organization, now))
            .await?;
    }
    Ok(())
}

/// Corrects the due time in an organization's row of `webhook_due`: sets it to the due time of the
/// organization's first delivery. If that delivery is already due, sets it to now, so that the row
/// comes after rows that have been due longer.
fn correct_row(tx: &mut Transaction<'_>, organization: Uuid, now: Timestamp) -> Result<()> {
    // If another transaction has locked the organization's row in `webhook_due`, that transaction
    // updates the row, and this function changes nothing. Otherwise this transaction locks the row,
    // and the queries below see everything that was committed before the lock.
    if tx.row(&LOCK_DUE, &values![organization])?.is_none() {
        return Ok(());
    }
    let first: Option<Timestamp> = tx
        .row(&FIRST, &values![organization])?
        .map_or(Ok(None), |row| row.get(0))?;
    match first {
        Some(first) => tx.execute(&POSTPONE, &values![organization, first.max(now)])?,
        None => tx.execute(&REMOVE, &values![organization])?,
    };
    Ok(())
}
