//! Observability: a log line and metrics for every request.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use http::{Method, StatusCode};
use metrics::{Counter, Histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use store::WaitTotals;
use tokio_util::sync::CancellationToken;
use tracing::Span;
use tracing::field::display;
use uuid::Uuid;

use engine::app::{Gauge, Gauges};
use engine::background::BackgroundTask;
use engine::logging;
use engine::pipeline::{self, Requester, Service};
use engine::traces;

/// How long `/metrics` waits for the measurements of a module that queries the database. A
/// measurement that arrives later is omitted.
const MEASURE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often measurements are aggregated. Between two aggregations, the measurements of 100,000
/// requests a second need a few megabytes of memory.
const AGGREGATION_INTERVAL: Duration = Duration::from_secs(5);
/// Upper bounds of the buckets of the latency histogram, in seconds. They range from the time of a
/// cached read to the time of a request with a full batch of records.
const BUCKETS: [f64; 12] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

/// The `tracing` target of the log line of each request.
const TARGET: &str = "vestibule::surface::observe";

/// The name in the log and in the metrics for a request that matches no operation.
pub(super) const NONE: &str = "-";

/// The operation of a request. It is attached to the response, for the log and the metrics.
#[derive(Clone, Copy)]
pub struct ServedOperation(pub &'static str);

/// The recorder of the process's metrics.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Starts the metrics recorder. Later calls return the same recorder.
    pub fn install() -> Result<Self, String> {
        static INSTALLED: OnceLock<Result<PrometheusHandle, String>> = OnceLock::new();
        let install = || {
            let builder = PrometheusBuilder::new()
                .set_buckets(&BUCKETS)
                .map_err(|error| error.to_string())?;
            builder
                .install_recorder()
                .map_err(|error| error.to_string())
        };
        let installed = INSTALLED.get_or_init(install).clone().map(Self);
        metrics::describe_counter!(
            "vestibule_requests_total",
            "Requests, by operation and status."
        );
        metrics::describe_histogram!(
            "vestibule_request_duration_seconds",
            "How long requests took, by operation."
        );
        pipeline::count_replicas();
        installed
    }

    /// Aggregates measurements until `stop` is cancelled. Otherwise the process would store every
    /// single measurement until the next request for `/metrics`.
    #[must_use]
    pub fn aggregate(self, stop: CancellationToken) -> BackgroundTask {
        async move {
            let aggregate = async {
                loop {
                    tokio::time::sleep(AGGREGATION_INTERVAL).await;
                    self.0.run_upkeep();
                }
            };
            stop.run_until_cancelled(aggregate).await;
        }
        .boxed()
    }

    /// Returns the metrics as Prometheus text.
    pub(super) async fn render(&self, service: &Arc<Service>) -> String {
        // The load of the store is read before the gauges of modules, whose queries would add to
        // it.
        let load = service.store.load();
        let module_gauges = gauges_of_modules(service).await;
        let mut text = self.0.render();
        let cache = service.memory.tally();
        let mut gauges = vec![
            (
                "vestibule_database_queue",
                "Operations that wait for a database connection or for the writer.",
                load.queued.to_string(),
            ),
            (
                "vestibule_database_connections_busy",
                "Database connections in use.",
                load.busy.to_string(),
            ),
            (
                "vestibule_database_connections",
                "Maximum number of database connections.",
                load.size.to_string(),
            ),
            (
                "vestibule_kept_answers_bytes",
                "Memory used by cached answers to reads.",
                cache.bytes.to_string(),
            ),
            (
                "vestibule_unsent_bytes",
                "Size of the answers that wait to be sent.",
                service.outbound.bytes().to_string(),
            ),
            (
                "vestibule_incomplete_requests_bytes",
                "Memory held by the bodies of requests in progress.",
                service.incoming.used().to_string(),
            ),
            (
                "vestibule_background_down",
                "Background jobs that ended unexpectedly and wait for their restart.",
                service.background.down().len().to_string(),
            ),
        ];
        gauges.extend(
            module_gauges
                .into_iter()
                .map(|Gauge { name, help, value }| (name, help, value)),
        );
        for (name, help, value) in gauges {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}"
            );
        }
        let name = "vestibule_requests_out_of_memory_total";
        let refused = service.incoming.refused();
        let _ = writeln!(
            text,
            "# HELP {name} Requests refused because the memory for request bodies was full.\n# \
                TYPE {name} counter\n{name} {refused}"
        );
        let WaitTotals { count, time } = service.store.wait_totals();
        let name = "vestibule_database_wait_seconds";
        let (help, time) = (
            "Time that operations waited for a database connection.",
            time.as_secs_f64(),
        );
        let _ = writeln!(
            text,
            "# HELP {name} {help}\n# TYPE {name} summary\n{name}_sum {time}\n{name}_count {count}"
        );
        let counters = [
            (
                "vestibule_kept_answers_hits_total",
                "Reads answered from the cache.",
                cache.hits,
            ),
            (
                "vestibule_kept_answers_misses_total",
                "Reads that may be cached and were not in the cache.",
                cache.misses,
            ),
            (
                "vestibule_kept_answers_refusals_total",
                "Answers not cached because they were too large or requested less often than \
                    others.",
                cache.refusals,
            ),
            (
                "vestibule_database_connections_given_up_total",
                "Database connections closed because they were silent, lost, or led to a read-only \
                    server.",
                service.store.dropped_connections(),
            ),
            (
                "vestibule_log_lines_lost_total",
                "Log lines that could not be written.",
                logging::lost(),
            ),
            (
                "vestibule_spans_lost_total",
                "Trace spans that could not be delivered to the collector.",
                traces::lost(),
            ),
        ];
        for (name, help, value) in counters {
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}"
            );
        }
        text
    }
}

/// Measures and returns the gauges of all modules. Omits the gauges of a measurement that takes
/// longer than [`MEASURE_TIMEOUT`].
async fn gauges_of_modules(service: &Arc<Service>) -> Vec<Gauge> {
    let mut gauges = Vec::new();
    for Gauges(measure) in service.app.lists.all() {
        let measured = measure(service.store.clone(), service.clock.now());
        gauges.extend(
            tokio::time::timeout(MEASURE_TIMEOUT, measured)
                .await
                .unwrap_or_default(),
        );
    }
    gauges
}

/// The metrics of an operation and a status. They are cached, because finding a metric by its name
/// costs as much as the measurement.
#[derive(Clone)]
struct RequestMetrics {
    requests: Counter,
    duration: Histogram,
}

impl RequestMetrics {
    fn of(operation: &'static str, status: u16) -> Self {
        static CACHE: LazyLock<RwLock<HashMap<(&'static str, u16), RequestMetrics>>> =
            LazyLock::new(RwLock::default);
        let cached = CACHE
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&(operation, status))
            .cloned();
        cached.unwrap_or_else(|| {
            let measured = Self {
                requests: metrics::counter!(
                    "vestibule_requests_total",
                    "operation" => operation,
                    "status" => status.to_string()
                ),
                duration: metrics::histogram!(
                    "vestibule_request_duration_seconds",
                    "operation" => operation
                ),
            };
            CACHE
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .insert((operation, status), measured.clone());
            measured
        })
    }
}

/// Adds the result of a request to its span.
pub(super) fn span(
    span: &Span,
    operation: &'static str,
    requester: Option<Requester>,
    method: &Method,
    status: StatusCode,
) {
    if span.is_disabled() {
        return;
    }
    if operation != NONE {
        traces::set_operation(span, operation);
    }
    span.record("http.request.method", method.as_str())
        .record("http.response.status_code", i64::from(status.as_u16()));
    if let Some(organization) = requester.and_then(|requester| requester.organization) {
        span.record("vestibule.organization.id", display(organization));
    }
    if status.is_server_error() {
        span.record("otel.status_code", "error");
    }
}

/// Logs and measures a request, with its organization and credential. The path is not logged,
/// because a guest's path contains the guest's token.
pub(super) fn request(
    operation: &'static str,
    requester: Option<Requester>,
    method: &Method,
    status: StatusCode,
    elapsed: Duration,
    id: Uuid,
) {
    let status = status.as_u16();
    let RequestMetrics { requests, duration } = RequestMetrics::of(operation, status);
    requests.increment(1);
    duration.record(elapsed.as_secs_f64());
    let milliseconds = elapsed.as_secs_f64() * 1_000.0;
    let organization = requester
        .and_then(|requester| requester.organization)
        .map(display);
    let credential = requester.map(|requester| display(requester.credential));
    // The target is constant, so that log filters still work if this code moves.
    tracing::info!(
        target: TARGET,
        request_id = %id,
        operation,
        organization,
        credential,
        %method,
        status,
        milliseconds,
        "request"
    );
}
