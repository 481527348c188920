//! Gives the engine two parts of the crate `delivery`: a schema format that checks target URLs, and
//! metrics of the deliveries that are waiting to be sent.

use delivery::{Backlog, Targets, backlog};
use engine::app::{Gauge, Gauges, NetworkFormat};

/// The schema format that refuses a private target URL. A process without [`Targets`] sends no
/// deliveries, so it accepts every URL.
pub(super) const FORMAT: NetworkFormat = NetworkFormat {
    name: "webhook-target",
    check: |app_state, url| {
        Box::pin(async move {
            match app_state.extension::<Targets>() {
                Some(targets) => targets.check(&url).await,
                None => Ok(()),
            }
        })
    },
};

/// The metrics of deliveries that are waiting to be sent.
pub(super) const BACKLOG: Gauges = Gauges(|store, now| {
    Box::pin(async move {
        let Ok(Backlog {
            pending,
            oldest_due,
        }) = store.read(move |tx| backlog(tx, now)).await
        else {
            return Vec::new();
        };
        let gauge = |name, help, value| Gauge { name, help, value };
        vec![
            gauge(
                "vestibule_webhook_deliveries_pending",
                "Webhook deliveries that wait to be sent, of all nodes; counted up to 100000.",
                pending.to_string(),
            ),
            gauge(
                "vestibule_webhook_oldest_due_seconds",
                "Time since the oldest waiting webhook delivery became due.",
                oldest_due.as_secs_f64().to_string(),
            ),
        ]
    })
});
