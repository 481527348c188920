//! Sends spans to a collector: OTLP over HTTP, as JSON.
//!
//! The queue of spans is bounded. Spans that do not fit, or that the collector refuses, are counted
//! and dropped. No request waits for the export. The operator chooses the collector, so it may have
//! a private address.

use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt as _;
use opentelemetry::trace::{SpanId, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    Protocol, RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    Sampler, SdkTracer, SdkTracerProvider, Span, SpanData, SpanExporter as _, SpanProcessor,
};
use reqwest::Client;
use reqwest::redirect::Policy;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::Registry;
use url::Url;

use super::NO_PARENT;
use crate::background::BackgroundTask;

/// The maximum number of spans in the queue.
const MAX_WAITING: usize = 8_192;
/// The maximum number of spans of one batch.
const BATCH_SIZE: usize = 512;
/// How long an incomplete batch waits for more spans.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// Time limit of a request to the collector.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for sending the rest of the queue at the end of the process.
const SPAN_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// The path of the collector's endpoint for traces, below the collector's address.
const PATH: &str = "v1/traces";

/// Number of spans that were dropped since the process started.
static LOST: AtomicU64 = AtomicU64::new(0);
/// The collector's address, and the end of the queue from which spans are read. Unset if traces are
/// not exported.
static QUEUE: OnceLock<(Url, Mutex<Receiver<SpanData>>)> = OnceLock::new();

/// Returns the number of spans that were dropped since the process started, because the queue was
/// full or the collector refused them.
#[must_use]
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

fn count_lost(spans: usize) {
    LOST.fetch_add(spans as u64, Ordering::Relaxed);
}

/// The URL to which spans are sent: the collector's URL, with the path of its endpoint for traces.
#[derive(Debug, Clone)]
pub struct Endpoint(Url);

impl Endpoint {
    /// Parses the URL of a collector, such as `http://collector:4318`. Appends the path of the
    /// endpoint for traces.
    pub fn at(address: &str) -> Result<Self, String> {
        let invalid_address =
            || format!("{address:?} is not an address such as http://127.0.0.1:4318");
        let mut url = Url::parse(address).map_err(|_| invalid_address())?;
        if !matches!(url.scheme(), "http" | "https")
            || !url.has_host()
            || url.query().is_some()
            || url.fragment().is_some()
        {
            return Err(invalid_address());
        }
        let path = format!("{}/{PATH}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        Ok(Self(url))
    }

    /// Starts the export and returns the layer that collects spans. Returns `None` if the export
    /// was already started in this process.
    #[must_use]
    pub fn begin(self) -> Option<OpenTelemetryLayer<Registry, SdkTracer>> {
        let (sender, receiver) = channel(MAX_WAITING);
        QUEUE.set((self.0, Mutex::new(receiver))).ok()?;
        Some(layer(sender))
    }
}

/// Returns the layer that puts finished spans into a queue. It collects only the spans of sampled
/// requests and deliveries, and the spans below them.
fn layer(queue: Sender<SpanData>) -> OpenTelemetryLayer<Registry, SdkTracer> {
    let provider = SdkTracerProvider::builder()
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOff)))
        .with_span_processor(SpanQueue(queue))
        .build();
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("vestibule"))
        .with_context_activation(false)
        .with_location(false)
        .with_target(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
}

/// The sending end of the queue. The SDK's own queue is not used, because it does not publish how
/// many spans it drops.
#[derive(Debug)]
struct SpanQueue(Sender<SpanData>);

impl SpanProcessor for SpanQueue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, mut span: SpanData) {
        if span.parent_span_id == NO_PARENT {
            (span.parent_span_id, span.parent_span_is_remote) = (SpanId::INVALID, false);
        }
        if self.0.try_send(span).is_err() {
            count_lost(1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Sends spans until `stop` is cancelled, then the rest of the queue within `SPAN_FLUSH_TIMEOUT`.
/// Does nothing if traces are not exported.
#[must_use]
pub fn keep(stop: CancellationToken) -> BackgroundTask {
    async move {
        let Some((url, queue)) = QUEUE.get() else {
            return stop.cancelled().await;
        };
        let exporter = match exporter(url) {
            Ok(exporter) => exporter,
            Err(error) => {
                tracing::error!(
                    %error,
                    "cannot create the client that sends traces; no traces are sent until a restart"
                );
                return stop.cancelled().await;
            }
        };
        let mut queue = queue.lock().await;
        let mut flush_deadline = pin!(async {
            stop.cancelled().await;
            tokio::time::sleep(SPAN_FLUSH_TIMEOUT).await;
        });
        loop {
            let mut batch = Vec::new();
            let filling = tokio::time::timeout(BATCH_DELAY, fill(&mut queue, &mut batch));
            let is_stopped = stop.run_until_cancelled(filling).await.is_none();
            if is_stopped {
                // Spans that end from now on are counted as lost.
                queue.close();
                fill(&mut queue, &mut batch).await;
            }
            let count = batch.len();
            if count == 0 && is_stopped {
                return;
            }
            if count == 0 {
                continue;
            }
            tokio::select! {
                result = exporter.export(batch) => if result.is_err() {
                    count_lost(count);
                },
                () = &mut flush_deadline => {
                    count_lost(count + queue.len());
                    tracing::warn!(
                        spans_lost = lost(),
                        "could not send the remaining trace spans before the stop"
                    );
                    return;
                }
            }
        }
    }
    .boxed()
}

/// Fills a batch, in the order in which the spans ended. Returns early if the queue is closed and
/// empty.
async fn fill(queue: &mut Receiver<SpanData>, batch: &mut Vec<SpanData>) {
    while batch.len() < BATCH_SIZE && queue.recv_many(batch, BATCH_SIZE - batch.len()).await > 0 {}
}

/// Returns an exporter that sends each batch once, without retries.
fn exporter(url: &Url) -> Result<SpanExporter, HttpError> {
    let client = Client::builder()
        .timeout(TIMEOUT)
        .redirect(Policy::none())
        .build()?;
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpJson)
        .with_endpoint(url.as_str())
        .with_retry_policy(RetryPolicy::disabled())
        .with_http_client(Collector {
            client,
            url: url.clone(),
            is_accepting: AtomicBool::new(true),
        })
        .build()?;
    exporter.set_resource(&resource());
    Ok(exporter)
}

/// Returns the attributes of this process, which the collector gets with every batch.
fn resource() -> Resource {
    let host = std::env::var("HOSTNAME")
        .ok()
        .filter(|host| !host.is_empty());
    Resource::builder_empty()
        .with_service_name("vestibule")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("process.pid", i64::from(std::process::id())))
        .with_attributes(host.map(|host| KeyValue::new("host.name", host)))
        .build()
}

/// The client of the exporter. The errors of the exporter do not tell why a request failed. This
/// client therefore logs the first failure, and the first success after failures.
#[derive(Debug)]
struct Collector {
    client: Client,
    /// The collector's address with its user name and password, which the exporter's request lacks.
    url: Url,
    is_accepting: AtomicBool,
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let outcome = self
            .client
            .post(self.url.clone())
            .headers(head.headers)
            .body(body)
            .send()
            .await
            .and_then(reqwest::Response::error_for_status)
            .map_err(reqwest::Error::without_url);
        let was_accepting = self.is_accepting.swap(outcome.is_ok(), Ordering::Relaxed);
        match &outcome {
            Ok(_) if !was_accepting => tracing::info!(
                spans_lost = lost(),
                "the trace collector accepts spans again"
            ),
            Err(error) if was_accepting => {
                tracing::warn!(
                    cause = %crate::error::innermost(error),
                    "the trace collector does not accept spans; spans are dropped until it does"
                );
            }
            _ => {}
        }
        outcome?;
        Ok(Response::new(Bytes::new()))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use opentelemetry::Value;
    use opentelemetry::trace::{SpanKind, Status};
    use tracing_subscriber::Layer as _;
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::traces::SPANS;

    fn exported_by(work: impl FnOnce()) -> Vec<SpanData> {
        let (sender, mut receiver) = channel(MAX_WAITING);
        let layer =
            layer(sender).with_filter(Targets::new().with_target(SPANS, tracing::Level::INFO));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        std::iter::from_fn(|| receiver.try_recv().ok()).collect()
    }

    fn request(traceparent: Option<&str>) -> tracing::Span {
        let mut headers = http::HeaderMap::new();
        traceparent.map(|text| headers.insert(super::super::TRACEPARENT, text.parse().unwrap()));
        super::super::request(&headers, uuid::Uuid::from_u128(0x77))
    }

    #[test]
    fn stages_of_a_request_are_child_spans_of_the_request() {
        let mut propagated = None;
        let spans = exported_by(|| {
            let request = request(None);
            request.in_scope(|| {
                crate::stage!("validate").in_scope(|| propagated = super::super::current());
                // This span has the default target, so the export layer ignores it.
                tracing::info_span!("something else").in_scope(|| {});
            });
            super::super::set_operation(&request, "createThing");
            request
                .record("http.response.status_code", 503)
                .record("otel.status_code", "error");
        });
        let [validate, request] = spans.as_slice() else {
            panic!("{spans:?}")
        };
        assert_eq!(
            (&*request.name, &request.span_kind, &request.status),
            ("createThing", &SpanKind::Server, &Status::error(""))
        );
        assert_eq!(
            (
                request.span_context.trace_id().to_string(),
                request.parent_span_id
            ),
            (format!("{:032x}", 0x77), SpanId::INVALID)
        );
        assert_eq!(
            (&*validate.name, &validate.span_kind, &validate.status),
            ("validate", &SpanKind::Internal, &Status::Unset)
        );
        assert_eq!(
            (validate.span_context.trace_id(), validate.parent_span_id),
            (
                request.span_context.trace_id(),
                request.span_context.span_id()
            )
        );
        let attributes: Vec<_> = request
            .attributes
            .iter()
            .map(|attribute| (attribute.key.as_str(), &attribute.value))
            .collect();
        assert_eq!(
            attributes,
            [
                (
                    "vestibule.request.id",
                    &Value::from("00000000-0000-0000-0000-000000000077")
                ),
                ("vestibule.operation", &Value::from("createThing")),
                ("http.response.status_code", &Value::from(503)),
            ]
        );
        assert_eq!(validate.attributes, []);
        let expected = format!("00-{:032x}-{}-01", 0x77, validate.span_context.span_id());
        assert_eq!(propagated, Some(expected));
    }

    #[test]
    fn a_sampled_trace_of_the_caller_is_continued() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let spans = exported_by(|| {
            request(Some(text)).in_scope(|| crate::stage!("validate").in_scope(|| {}));
        });
        assert_eq!(
            (
                spans[1].span_context.trace_id().to_string().as_str(),
                spans[1].parent_span_id.to_string().as_str()
            ),
            ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
        );
        let unsampled_spans = exported_by(|| {
            request(Some(&text.replace("-01", "-00")))
                .in_scope(|| crate::stage!("validate").in_scope(|| {}));
        });
        assert_eq!(unsampled_spans, []);
        let mut propagated = None;
        let unsampled = text.replace("-01", "-00");
        exported_by(|| {
            request(Some(&unsampled)).in_scope(|| {
                crate::stage!("run").in_scope(|| propagated = super::super::current());
            });
        });
        assert_eq!(
            propagated.as_ref(),
            Some(&unsampled),
            "later services must not sample the trace either"
        );
        let delivered = exported_by(|| {
            let delivery = super::super::delivery(
                uuid::Uuid::from_u128(1),
                uuid::Uuid::from_u128(2),
                propagated.as_deref(),
            );
            assert_eq!(super::super::of(&delivery), propagated);
        });
        assert_eq!(delivered, []);
        let none = exported_by(|| request(Some("of no use")).in_scope(|| {}));
        assert_eq!(none[0].parent_span_id, SpanId::INVALID);
    }

    #[test]
    fn spans_outside_of_requests_are_not_exported() {
        let mut propagated = None;
        let spans = exported_by(|| {
            crate::stage!("sweep").in_scope(|| {
                crate::stage!("run").in_scope(|| propagated = super::super::current());
            });
        });
        assert_eq!(spans, []);
        assert_eq!(propagated, None, "outside of a request there is no trace");
        assert_eq!(super::super::current(), None);
    }

    #[test]
    fn the_queue_of_spans_is_bounded() {
        let ((sender, mut receiver), before) = (channel(MAX_WAITING), lost());
        let layer = layer(sender);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            for _ in 0..MAX_WAITING + 10 {
                drop(request(None));
            }
        });
        assert_eq!((receiver.len(), lost() - before), (MAX_WAITING, 10));
        let mut batch = Vec::new();
        assert_eq!(fill(&mut receiver, &mut batch).now_or_never(), Some(()));
        assert_eq!(
            (batch.len(), receiver.len()),
            (BATCH_SIZE, MAX_WAITING - BATCH_SIZE)
        );
    }

    #[test]
    fn a_collector_is_given_by_its_http_url() {
        let at = |text: &str| Endpoint::at(text).map(|Endpoint(url)| url.to_string());
        assert_eq!(
            at("http://127.0.0.1:4318").as_deref(),
            Ok("http://127.0.0.1:4318/v1/traces")
        );
        assert_eq!(
            at("https://collector.example/otlp/").as_deref(),
            Ok("https://collector.example/otlp/v1/traces")
        );
        for text in [
            "",
            "collector:4318",
            "ftp://collector",
            "http://collector/?a=b",
            "grpc://collector:4317",
        ] {
            assert!(
                at(text).is_err_and(|message| message.contains("is not an address such as")),
                "{text}"
            );
        }
    }
}
