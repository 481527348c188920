//! The sweeps: once a minute, the server deletes expired data. If the system clock was ahead, the
//! sweeps also correct the times of work that is scheduled too late (rules: settings#clock).

use std::sync::Arc;
use std::time::Duration;

use access::{oauth, people};
use delivery::Dependencies;
use engine::audit;
use engine::error::Result;
use engine::pipeline::{self, Service};
use features::calendars::{self, CalendarFetcher};
use features::{events, guest, platform, translations};
use jiff::Timestamp;
use store::Transaction;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::app::app;

/// How often the sweeps run.
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// A function that runs one transaction of a sweep. The timestamp is the current time. Returns
/// whether the sweep needs another transaction.
type Batch = fn(&mut Transaction<'_>, &Service, Timestamp) -> Result<bool>;

/// The sweeps that work in batches, in the order in which they run. Each has a text: if the sweep
/// fails, the server logs `could not` followed by this text.
const SWEEPS: [(&str, Batch); 11] = [
    (
        "delete the data of erased organizations",
        |tx, service, _| platform::sweep(tx, app(), &service.clock),
    ),
    ("delete expired idempotency records", |tx, service, now| {
        pipeline::sweep(tx, now, service.settings.idempotency_retention)
    }),
    ("delete old entries of the audit log", |tx, service, now| {
        audit::sweep(tx, now, service.settings.audit_retention)
    }),
    ("delete old changes by guests", |tx, _, now| {
        guest::sweep(tx, now)
    }),
    ("delete expired previews", |tx, _, now| {
        guest::sweep_previews(tx, now)
    }),
    ("delete expired sign-in links", |tx, _, now| {
        people::sweep_tickets(tx, now)
    }),
    ("delete ended sessions", |tx, _, now| {
        people::sweep_sessions(tx, now)
    }),
    ("delete ended grants and tokens of apps", |tx, _, now| {
        oauth::sweep_oauth(tx, now)
    }),
    (
        "bring forward timers of a clock that was ahead",
        |tx, _, now| events::bring_timers_forward(tx, now),
    ),
    (
        "bring forward translations of a clock that was ahead",
        |tx, _, now| translations::bring_forward(tx, now),
    ),
    (
        "bring forward calendar feeds of a clock that was ahead",
        |tx, service, now| match service.app_state.extension::<CalendarFetcher>() {
            Some(fetcher) => calendars::repair_future_feeds(tx, fetcher.interval(), now),
            None => Ok(false),
        },
    ),
];

/// Runs all sweeps every minute until `stop` is cancelled. The deletion of a webhook subscription
/// also starts the sweep of deleted subscriptions immediately.
pub(super) async fn run(
    service: Arc<Service>,
    dependencies: Arc<Dependencies>,
    stop: CancellationToken,
) {
    let mut minute = tokio::time::interval_at(Instant::now() + SWEEP_EVERY, SWEEP_EVERY);
    minute.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_minute = tokio::select! {
            () = stop.cancelled() => return,
            _ = minute.tick() => true,
            () = dependencies.deleted.notified() => false,
        };
        let swept = async {
            if is_minute {
                run_once(&service, &dependencies).await;
            } else {
                sweep_deleted(&dependencies).await;
            }
        };
        // After `stop`, the current transaction still finishes on its own thread. The rows that
        // remain wait for the next start of the server.
        if stop.run_until_cancelled(swept).await.is_none() {
            return;
        }
    }
}

/// Runs every sweep once, and stores when API keys were last used. If one of these tasks fails, the
/// others still run.
pub(super) async fn run_once(service: &Arc<Service>, dependencies: &Dependencies) {
    let now = service.clock.now();
    for (task, batch) in SWEEPS {
        warn_of(task, in_batches(service, batch, now).await);
    }
    let uses = service.app_state.last_uses.store_all(&service.store).await;
    warn_of("store when API keys were last used", uses);
    let old = delivery::sweep_old(dependencies).await;
    warn_of("delete old webhook deliveries", old);
    let late = delivery::bring_forward(dependencies).await;
    warn_of(
        "bring forward webhook deliveries of a clock that was ahead",
        late,
    );
    sweep_deleted(dependencies).await;
    let lapsed = events::disable_lapsed(service).await;
    warn_of(
        "disable webhook subscriptions of lapsed credentials",
        lapsed,
    );
}

/// Deletes the remaining rows of deleted webhook subscriptions, up to the maximum number of rows of
/// one run.
async fn sweep_deleted(dependencies: &Dependencies) {
    let deleted = delivery::sweep_deleted(dependencies).await;
    warn_of("remove deleted webhook subscriptions", deleted);
}

/// Runs a batch repeatedly, each time in its own transaction, until the batch returns false.
async fn in_batches(service: &Arc<Service>, batch: Batch, now: Timestamp) -> Result<()> {
    let mut has_more = true;
    while has_more {
        let within = service.clone();
        let run = move |tx: &mut Transaction<'_>| batch(tx, &within, now);
        has_more = service.store.write(run).await?;
    }
    Ok(())
}

/// Logs the failure of a sweep.
fn warn_of(task: &str, result: Result<()>) {
    if let Err(error) = result {
        tracing::warn!(
            cause = error.cause(),
            "could not {task}; retrying at the next sweep"
        );
    }
}
