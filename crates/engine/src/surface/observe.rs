//! What an operator watches: a log line and a measurement for every request.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use http::{Method, StatusCode};
use metrics::{Counter, Histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use store::Waited;
use tokio_util::sync::CancellationToken;
use tracing::Span;
use tracing::field::display;
use uuid::Uuid;

use crate::app::{Gauge, Gauges};
use crate::logging;
use crate::pipeline::{self, Requester, Service};
use crate::traces;

/// How long a reading waits for the database; without an answer it is one of what the process knows by itself.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often measurements are folded together: at a hundred thousand requests a second, some megabytes.
const FOLD_EVERY: Duration = Duration::from_secs(5);
/// Upper bounds of the latency histogram, in seconds: from a cached read to a full batch of records.
const BUCKETS: [f64; 12] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The target of the line that each request leaves in the log.
const TARGET: &str = "vestibule::surface::observe";

/// What is said of a request that was for no operation.
pub(super) const NONE: &str = "-";

/// The operation that answered, noted on the response for the log and the measurements.
#[derive(Clone, Copy)]
pub struct Served(pub &'static str);

/// What has been measured since the process started.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Begins to measure; once a process, however often it is called.
    pub fn install() -> Result<Self, String> {
        static INSTALLED: OnceLock<Result<PrometheusHandle, String>> = OnceLock::new();
        let install = || {
            let builder = PrometheusBuilder::new().set_buckets(&BUCKETS).map_err(|error| error.to_string())?;
            builder.install_recorder().map_err(|error| error.to_string())
        };
        let installed = INSTALLED.get_or_init(install).clone().map(Self);
        pipeline::count_replicas();
        installed
    }

    /// Folds what is measured into what is told, until `stop` is cancelled. Without that, every measured request would be kept
    /// until somebody reads `/metrics`.
    pub async fn keep(self, stop: CancellationToken) {
        let fold = async {
            loop {
                tokio::time::sleep(FOLD_EVERY).await;
                self.0.run_upkeep();
            }
        };
        stop.run_until_cancelled(fold).await;
    }

    /// The Prometheus text.
    pub(super) async fn render(&self, service: &Arc<Service>) -> String {
        // Before anything is asked, so that the asking is not counted.
        let load = service.store.load();
        let of_chapters = of_chapters(service).await;
        let mut text = self.0.render();
        let kept = service.memory.tally();
        let mut gauges = vec![
            ("vestibule_database_queue", "Operations waiting for a connection or for the writer.", load.queued.to_string()),
            ("vestibule_database_connections_busy", "Connections running something now.", load.busy.to_string()),
            ("vestibule_database_connections", "Connections there can be.", load.size.to_string()),
            ("vestibule_kept_answers_bytes", "What is kept of answers to reads.", kept.bytes.to_string()),
            ("vestibule_unsent_bytes", "Answers that wait to be sent.", service.unsent.held().to_string()),
            (
                "vestibule_background_down",
                "Background work that has ended and is begun again.",
                service.background.down().len().to_string(),
            ),
        ];
        gauges.extend(of_chapters.into_iter().map(|Gauge { name, help, value }| (name, help, value)));
        for (name, help, value) in gauges {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        let Waited { count, time } = service.store.waited();
        let name = "vestibule_database_wait_seconds";
        let (help, time) = ("How long work waited for a connection.", time.as_secs_f64());
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} summary\n{name}_sum {time}\n{name}_count {count}");
        let counters = [
            ("vestibule_kept_answers_hits_total", "Reads that were answered from memory.", kept.hits),
            ("vestibule_kept_answers_misses_total", "Reads that could have been and were not.", kept.misses),
            ("vestibule_kept_answers_refusals_total", "Answers there was no room to keep.", kept.refusals),
            (
                "vestibule_database_connections_given_up_total",
                "Connections given up as silent, lost or leading to a server that takes no writes.",
                service.store.connections_given_up(),
            ),
            ("vestibule_log_lines_lost_total", "Lines of the log that could not be written.", logging::lost()),
            ("vestibule_spans_lost_total", "Spans of traces that no collector has taken.", traces::lost()),
        ];
        for (name, help, value) in counters {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}");
        }
        text
    }
}

/// What the chapters measure, as far as it comes in time.
async fn of_chapters(service: &Arc<Service>) -> Vec<Gauge> {
    let mut gauges = Vec::new();
    for Gauges(measure) in service.app.lists.all() {
        let measured = measure(service.store.clone(), service.clock.now());
        gauges.extend(tokio::time::timeout(PATIENCE, measured).await.unwrap_or_default());
    }
    gauges
}

/// Where the requests of an operation that were answered with one status are measured. Kept, because finding it by its
/// name costs as much as the measuring does.
#[derive(Clone)]
struct Measured {
    answered: Counter,
    took: Histogram,
}

impl Measured {
    fn of(operation: &'static str, status: u16) -> Self {
        static KEPT: LazyLock<RwLock<HashMap<(&'static str, u16), Measured>>> = LazyLock::new(RwLock::default);
        let kept = KEPT.read().unwrap_or_else(PoisonError::into_inner).get(&(operation, status)).cloned();
        kept.unwrap_or_else(|| {
            let measured = Self {
                answered: metrics::counter!("vestibule_requests_total", "operation" => operation, "status" => status.to_string()),
                took: metrics::histogram!("vestibule_request_duration_seconds", "operation" => operation),
            };
            KEPT.write().unwrap_or_else(PoisonError::into_inner).insert((operation, status), measured.clone());
            measured
        })
    }
}

/// Says in the span of a request what came of it.
pub(super) fn span(span: &Span, operation: &'static str, requester: Option<Requester>, method: &Method, status: StatusCode) {
    if span.is_disabled() {
        return;
    }
    if operation != NONE {
        span.record("trace.name", operation).record("vestibule.operation", operation);
    }
    span.record("http.request.method", method.as_str()).record("http.response.status_code", status.as_u16());
    if let Some(organization) = requester.and_then(|requester| requester.organization) {
        span.record("vestibule.organization.id", display(organization));
    }
    if status.is_server_error() {
        span.record("trace.failed", true);
    }
}

/// Writes a request down, with whose it was where that is known. The path is left out: a guest's holds their token.
pub(super) fn request(
    operation: &'static str,
    requester: Option<Requester>,
    method: &Method,
    status: StatusCode,
    took: Duration,
    id: Uuid,
) {
    let status = status.as_u16();
    let Measured { answered, took: durations } = Measured::of(operation, status);
    answered.increment(1);
    durations.record(took.as_secs_f64());
    let milliseconds = took.as_secs_f64() * 1_000.0;
    let organization = requester.and_then(|requester| requester.organization).map(display);
    let credential = requester.map(|requester| display(requester.credential));
    // A filter of the log may name this target, wherever the code is.
    tracing::info!(target: TARGET, request_id = %id, operation, organization, credential, %method, status, milliseconds, "request");
}
