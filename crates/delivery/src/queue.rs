//! Which organizations have something to send, where they are on several servers: a row each, so that looking for what is due costs
//! what is due, and not a question to every server about every subscription.
//!
//! No row says that a delivery is due later than it is: whoever puts a delivery into the outbox notes its organization along with it,
//! and whoever gives one back for another attempt notes it before. What a row says too early costs a look, and is put right when it
//! has been past for a while, by the first who finds nobody else at it. What was put there by a node of the version before, and what was
//! there before organizations were spread, is found by asking of every subscription, now and then.

use std::time::Duration;

use engine::error::{Error, Result};
use engine::values;
use jiff::Timestamp;
use store::Transaction;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::means::Means;

/// From one look at rows that are past to the next, and for how long they have been.
const TIDIED_EVERY: Duration = Duration::from_secs(5);
/// Rows that are put right in one go.
const A_GO: i64 = 256;
/// Goes from one question about every subscription to the next: ten minutes.
const GOES_TO_A_FILL: u32 = 120;

store::statements! {
    /// Notes that something of an organization is due at a moment.
    NOTE = "insert into webhook_due (organization_id, due_at) values (?1, ?2) on conflict (organization_id)
        do update set due_at = excluded.due_at where webhook_due.due_at > excluded.due_at";
    /// Organizations that something was due of some time ago.
    PAST = "select organization_id from webhook_due where due_at <= ?1 order by due_at limit ?2";
    /// Keeps everybody else from noting an organization.
    HOLD = "select due_at from webhook_due where organization_id = ?1 for update skip locked";
    /// When the first of an organization's deliveries is due, or its lease runs out.
    FIRST = "select min(first) from
        (select (select min(d.next_attempt_at) from webhook_delivery d where d.organization_id = ?1 and d.subscription_id = s.id
                and d.status = 'pending' and d.leased_until is null) as first
            from webhook_subscription s where s.organization_id = ?1 and s.deleted_at is null
        union all select min(leased_until) as first from webhook_delivery where organization_id = ?1 and leased_until is not null) as firsts";
    /// Has an organization wait until a moment.
    PUT_OFF = "update webhook_due set due_at = ?2 where organization_id = ?1";
    /// Has it wait for nothing.
    REMOVE = "delete from webhook_due where organization_id = ?1";
    /// Notes every organization that something is pending of.
    FILL = "insert into webhook_due (organization_id, due_at) select s.organization_id, ?1 from webhook_subscription s
        where s.deleted_at is null and exists (select 1 from webhook_delivery d where d.organization_id = s.organization_id
            and d.subscription_id = s.id and d.status = 'pending')
        group by s.organization_id on conflict (organization_id) do nothing";
}

/// Notes that something of `?1` is due at `?2`: for whoever puts it there.
pub const NOTE_DUE: &store::Statement = &NOTE;

/// Notes that something of an organization is due at a moment.
pub(super) fn note(tx: &mut Transaction<'_>, organization: Uuid, due: Timestamp) -> Result<()> {
    tx.execute(&NOTE, &values![organization, due])?;
    Ok(())
}

/// Keeps the queue right until it is told to stop.
pub async fn keep_queue(means: &Means, stop: &CancellationToken) {
    let mut goes = 0;
    let told = |error: &Error| tracing::warn!(cause = error.cause(), "the queue of webhook deliveries is not put right yet");
    loop {
        let put_right = async { if goes == 0 { fill(means).await } else { tidy(means).await } };
        // What is under way ends by itself; the next can wait for the next start.
        let Some(done) = stop.run_until_cancelled(put_right).await else { return };
        goes = if done.inspect_err(told).is_ok() { (goes + 1) % GOES_TO_A_FILL } else { 0 };
        if stop.run_until_cancelled(tokio::time::sleep(TIDIED_EVERY)).await.is_none() {
            return;
        }
    }
}

/// Notes what waits and is not noted.
pub async fn fill(means: &Means) -> Result<()> {
    let now = means.clock.now();
    if means.store.write(move |tx| Ok::<_, Error>(tx.execute(&FILL, &values![now])?)).await? > 0 {
        means.due.notify_one();
    }
    Ok(())
}

/// Puts right what has been past for a while.
pub async fn tidy(means: &Means) -> Result<()> {
    let now = means.clock.now();
    let Ok(past) = now.checked_sub(TIDIED_EVERY) else { return Ok(()) };
    let organizations = means.store.read(move |tx| {
        let rows = tx.rows(&PAST, &values![past, A_GO])?;
        Ok::<_, Error>(rows.iter().map(|row| row.get(0)).collect::<store::Result<Vec<Uuid>>>()?)
    });
    for organization in organizations.await? {
        means.store.write(move |tx| put_right(tx, organization, now)).await?;
    }
    Ok(())
}

/// Has an organization wait until its first delivery is due. Where that is so, others have their turn before it is looked at again.
fn put_right(tx: &mut Transaction<'_>, organization: Uuid, now: Timestamp) -> Result<()> {
    // Whoever is at it notes something. What they commit before this is held is read after it.
    if tx.row(&HOLD, &values![organization])?.is_none() {
        return Ok(());
    }
    let first: Option<Timestamp> = tx.row(&FIRST, &values![organization])?.map_or(Ok(None), |row| row.get(0))?;
    match first {
        Some(first) => tx.execute(&PUT_OFF, &values![organization, first.max(now)])?,
        None => tx.execute(&REMOVE, &values![organization])?,
    };
    Ok(())
}
