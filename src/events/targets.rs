//! What events have from the crate `delivery`: the guard of targets as a format, and the backlog as a measure.

use delivery::{Backlog, Targets, backlog};
use engine::app::{Gauge, Gauges, NetworkFormat};

/// A URL that deliveries may go to. Where nobody guards targets, nothing is delivered.
pub(super) const FORMAT: NetworkFormat = NetworkFormat {
    name: "webhook-target",
    check: |kit, url| {
        Box::pin(async move {
            match kit.part::<Targets>() {
                Some(targets) => targets.check(&url).await,
                None => Ok(()),
            }
        })
    },
};

/// What waits to be sent.
pub(super) const BACKLOG: Gauges = Gauges(|store, now| {
    Box::pin(async move {
        let Ok(Backlog { pending, oldest_due }) = store.read(move |tx| backlog(tx, now)).await else { return Vec::new() };
        let gauge = |name, help, value| Gauge { name, help, value };
        vec![
            gauge("vestibule_webhook_deliveries_pending", "Deliveries to be sent, of all nodes, 100000 at the most.", pending.to_string()),
            gauge(
                "vestibule_webhook_oldest_due_seconds",
                "How long the delivery that has waited longest has been due.",
                oldest_due.as_secs_f64().to_string(),
            ),
        ]
    })
});
