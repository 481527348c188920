//! Background work that finds abandoned carts and records a `cart_abandoned` change for the
//! platform. After each change of a cart, the work records the cart at most once. It records no
//! cart of a stay whose portal does not report abandoned carts (`is_cart_abandonment_enabled`).
//! `extras.rs` stores the carts, and `changes.rs` defines the recorded changes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use engine::access::Access;
use engine::background::BackgroundTask;
use engine::context::{Context, RaisedRevision};
use engine::error::Result;
use engine::pipeline::Service;
use engine::sweeping;
use engine::values;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use store::Transaction;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::changes::{self, ChangeKind};
use super::hours::StayHours;
use super::stay::Stay;

/// Maximum pause between two searches for abandoned carts.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Minimum pause between two searches for abandoned carts. A shorter [`CartAbandonmentDelay`] does
/// not shorten the pause.
const MIN_PAUSE: Duration = Duration::from_millis(50);
/// Maximum time until a cart is checked again, if the portal of its stay does not report abandoned
/// carts to the platform (`is_cart_abandonment_enabled`).
const MAX_RECHECK_DELAY: Duration = Duration::from_secs(3_600);
/// Maximum number of carts that one query returns.
const BATCH_SIZE: i64 = 100;
/// Maximum number of batches of carts in one search. After these batches the search ends, so that
/// other writes do not wait for long.
const MAX_BATCHES: usize = 100;

store::statements! {
    /// Selects the carts whose due time has come, the earliest first. A cart without further
    /// changes is abandoned at its due time.
    DUE = "select c.organization_id, c.reservation_id from guest_cart c
        join organization o on o.id = c.organization_id
        where c.due_at <= ?1 and o.erased_at is null order by c.due_at limit ?2";
    /// Selects those of the stays `?2` whose carts have a due time of `?3` or earlier.
    DUE_AMONG = "select reservation_id from guest_cart where organization_id = ?1
        and reservation_id = any(?2) and due_at <= ?3";
    /// Selects carts whose due time is after the timestamp `?1`, the latest first. With the latest
    /// possible due time as `?1`, these are carts that were written while the clock was ahead.
    LATE = "select organization_id, reservation_id from guest_cart where due_at > ?1
        order by due_at desc limit ?2";
    /// Sets the due time of a cart to a timestamp, if the stored due time is after that timestamp.
    BRING_FORWARD = engine::some_late!("guest_cart", "reservation_id", "due_at");
    /// Sets the time at which a cart is checked again. Null: the cart is never checked again.
    SET_DUE_TIME = "update guest_cart set due_at = ?3 where organization_id = ?1
        and reservation_id = ?2";
}

/// The time without a change after which a cart is abandoned.
#[derive(Debug, Clone, Copy)]
pub struct CartAbandonmentDelay(pub Duration);

impl Default for CartAbandonmentDelay {
    /// Returns the default delay of one day.
    fn default() -> Self {
        Self(Duration::from_secs(24 * 3_600))
    }
}

/// Records abandoned carts until `stop` is cancelled. Every node runs this function. The lock on
/// the organization ensures that only one node records a cart.
pub fn run(service: Arc<Service>, stop: CancellationToken) -> BackgroundTask {
    async move {
        let pause = delay(&service).clamp(MIN_PAUSE, MAX_PAUSE);
        let mut ticks = tokio::time::interval(pause);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            // Cancelling a sweep is safe: a transaction that the sweep has begun still commits.
            if stop.run_until_cancelled(sweep(&service)).await.is_none() {
                return;
            }
        }
    }
    .boxed()
}

/// Corrects the due times of carts that the service wrote while its clock was ahead. Such a due
/// time is later than `delay` from now, the latest due time that a correct clock gives. Returns
/// true if carts with a wrong due time may remain.
fn bring_forward(tx: &mut Transaction<'_>, delay: Duration, now: Timestamp) -> Result<bool> {
    let latest = now.checked_add(delay).unwrap_or(Timestamp::MAX);
    sweeping::bring_forward(tx, &LATE, &BRING_FORWARD, latest)
}

/// Records as abandoned the carts whose delay since the last change is over. Logs a failure.
pub async fn sweep(service: &Arc<Service>) {
    if let Err(error) = record_abandoned(service).await {
        tracing::warn!(
            cause = error.cause(),
            "could not record abandoned carts; retrying at the next search"
        );
    }
}

fn delay(service: &Service) -> Duration {
    service
        .app_state
        .extension::<CartAbandonmentDelay>()
        .map_or(MAX_PAUSE, |delay| delay.0)
}

async fn record_abandoned(service: &Arc<Service>) -> Result<()> {
    let (delay, now) = (delay(service), service.clock.now());
    let forward = move |tx: &mut Transaction<'_>| bring_forward(tx, delay, now);
    while service.store.write(forward).await? {}
    for _ in 0..MAX_BATCHES {
        let now = service.clock.now();
        let due = service
            .store
            .read(move |tx| tx.rows(&DUE, &values![now, BATCH_SIZE]))
            .await?;
        let mut carts = HashMap::<Uuid, Vec<Uuid>>::new();
        for row in &due {
            carts.entry(row.get(0)?).or_default().push(row.get(1)?);
        }
        for (organization, stays) in carts {
            let shared = service.clone();
            service
                .store
                .write(move |tx| record_in_organization(tx, &shared, organization, stays, now))
                .await?;
        }
        if due.len() < usize::try_from(BATCH_SIZE).unwrap_or(usize::MAX) {
            return Ok(());
        }
    }
    Ok(())
}

fn record_in_organization(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
    stays: Vec<Uuid>,
    now: Timestamp,
) -> Result<()> {
    let access = Access::platform();
    let mut context = Context::for_writing(
        service.system(tx, now),
        organization,
        &access,
        RaisedRevision::Stream,
    )?;
    let rows = context.rows(&DUE_AMONG, values![stays, now])?;
    for row in &rows {
        let id: Uuid = row.get(0)?;
        let due = match outcome_of(&mut context, id, now)? {
            CartOutcome::Record => {
                changes::record(&mut context, ChangeKind::CartAbandoned, id, None)?;
                None
            }
            CartOutcome::Wait => now.checked_add(delay(service).min(MAX_RECHECK_DELAY)).ok(),
            CartOutcome::Over => None,
        };
        context.execute_deferred(&SET_DUE_TIME, values![id, due])?;
    }
    Ok(())
}

/// The outcome of the check of a cart whose due time has come. The guest has not changed the cart
/// for the configured delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CartOutcome {
    /// The cart is recorded as abandoned.
    Record,
    /// The portal does not report abandoned carts (`is_cart_abandonment_enabled`). The cart is
    /// checked again later.
    Wait,
    /// The stay has ended or is cancelled, so the cart is never checked again.
    Over,
}

fn outcome_of(context: &mut Context<'_, '_>, id: Uuid, now: Timestamp) -> Result<CartOutcome> {
    // A cart is deleted together with its reservation, so the reservation of this cart exists.
    let stay = Stay::load(context, id)?;
    let has_ended = StayHours::of(&stay).is_none_or(|hours| hours.check_out() <= now);
    let has_reminders = stay
        .portal()
        .is_some_and(|portal| portal.is_cart_abandonment_enabled);
    Ok(match (stay.is_cancelled() || has_ended, has_reminders) {
        (true, _) => CartOutcome::Over,
        (false, true) => CartOutcome::Record,
        (false, false) => CartOutcome::Wait,
    })
}
