//! What an operator watches: a log line and a measurement for every request.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Method, StatusCode};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use uuid::Uuid;

use crate::service::Service;

/// Upper bounds of the latency histogram, in seconds: from a cached read to a full batch of records.
const BUCKETS: [f64; 12] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The operation that answered, noted on the response for the log and the measurements.
#[derive(Clone, Copy)]
pub(crate) struct Served(pub &'static str);

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
        INSTALLED.get_or_init(install).clone().map(Self)
    }

    /// The Prometheus text.
    pub(super) fn render(&self, service: &Arc<Service>) -> String {
        let load = service.store.load();
        let mut text = self.0.render();
        let gauges = [
            ("vestibule_database_queue", "Operations waiting for a connection or for the writer.", load.queued),
            ("vestibule_database_connections_busy", "Connections running something now.", load.busy),
            ("vestibule_database_connections", "Connections there can be.", load.size),
        ];
        for (name, help, value) in gauges {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        text
    }
}

/// Writes a request down. The path is left out: a guest's holds their token.
pub(super) fn request(operation: &'static str, method: &Method, status: StatusCode, took: Duration, id: Uuid) {
    let status = status.as_u16();
    metrics::counter!("vestibule_requests_total", "operation" => operation, "status" => status.to_string()).increment(1);
    metrics::histogram!("vestibule_request_duration_seconds", "operation" => operation).record(took.as_secs_f64());
    let milliseconds = took.as_secs_f64() * 1_000.0;
    tracing::info!(request_id = %id, operation, %method, status, milliseconds, "request");
}
