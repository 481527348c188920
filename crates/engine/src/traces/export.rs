//! Sends spans to a collector: OTLP over HTTP, as JSON.
//!
//! The queue of spans is bounded. Spans that do not fit, or that the collector refuses, are counted
//! and dropped. No request waits for the export. The operator chooses the collector, like the
//! database, so any address is allowed.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::layer::{AttributeValue, SpanData, Spans};

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
/// The path of traces at a collector.
const PATH: &str = "v1/traces";

/// Spans that were dropped since the process started.
static LOST: AtomicU64 = AtomicU64::new(0);
/// The collector's address and the queue; unset if traces are not exported.
static ENDPOINT: OnceLock<(Url, SpanBuffer)> = OnceLock::new();

/// Returns the number of spans dropped since the process started: the queue was full, or the
/// collector refused them.
#[must_use]
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// The address of a collector.
#[derive(Debug, Clone)]
pub struct Endpoint(Url);

impl Endpoint {
    /// Parses the address of a collector, such as `http://collector:4318`. The path of traces is
    /// appended.
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

    /// Starts the export and returns the layer that collects spans. `None` on any later call in the
    /// process.
    #[must_use]
    pub fn begin(self) -> Option<Spans> {
        let buffer = SpanBuffer::default();
        let is_first = ENDPOINT.set((self.0, buffer.clone())).is_ok();
        is_first.then(|| Spans::new(buffer))
    }
}

/// The queue of spans to send.
#[derive(Clone, Default)]
pub(super) struct SpanBuffer(Arc<ExportInner>);

#[derive(Default)]
struct ExportInner {
    spans: Mutex<Vec<SpanData>>,
    /// Wakes the sender when a batch is complete.
    batch_complete: Notify,
}

impl SpanBuffer {
    fn spans(&self) -> MutexGuard<'_, Vec<SpanData>> {
        self.0.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, span_data: SpanData) {
        let mut spans = self.spans();
        if spans.len() >= MAX_WAITING {
            LOST.fetch_add(1, Ordering::Relaxed);
            return;
        }
        spans.push(span_data);
        let is_complete = spans.len() == BATCH_SIZE;
        drop(spans);
        if is_complete {
            self.0.batch_complete.notify_one();
        }
    }

    /// Takes the next batch, in the order in which the spans ended.
    fn take(&self) -> Vec<SpanData> {
        let mut spans = self.spans();
        let rest = if spans.len() > BATCH_SIZE {
            spans.split_off(BATCH_SIZE)
        } else {
            Vec::new()
        };
        mem::replace(&mut *spans, rest)
    }
}

/// Sends spans until `stop` is cancelled, then the rest of the queue within `SPAN_FLUSH_TIMEOUT`.
/// Does nothing if traces are not exported.
pub async fn keep(stop: CancellationToken) {
    let Some((url, buffer)) = ENDPOINT.get() else {
        return stop.cancelled().await;
    };
    let client = match Client::builder()
        .timeout(TIMEOUT)
        .redirect(Policy::none())
        .build()
    {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "cannot create the client that sends traces; no traces are sent until a restart");
            return stop.cancelled().await;
        }
    };
    let flush_deadline = async {
        stop.cancelled().await;
        tokio::time::sleep(SPAN_FLUSH_TIMEOUT).await;
    };
    let is_in_time = tokio::select! {
        () = send_all(&client, url, buffer, &stop) => true,
        () = flush_deadline => false,
    };
    if !is_in_time {
        LOST.fetch_add(buffer.spans().len() as u64, Ordering::Relaxed);
        tracing::warn!(
            spans_lost = lost(),
            "could not send the remaining trace spans before the stop"
        );
    }
}

/// Sends batches until `stop` is cancelled, then the rest of the queue.
async fn send_all(client: &Client, url: &Url, buffer: &SpanBuffer, stop: &CancellationToken) {
    let mut is_accepting = true;
    let mut is_stopped = false;
    while !is_stopped {
        is_stopped = stop
            .run_until_cancelled(tokio::time::timeout(
                BATCH_DELAY,
                buffer.0.batch_complete.notified(),
            ))
            .await
            .is_none();
        loop {
            let spans = buffer.take();
            if spans.is_empty() {
                break;
            }
            let is_full = spans.len() == BATCH_SIZE;
            send(client, url, spans, &mut is_accepting).await;
            if !is_full && !is_stopped {
                break;
            }
        }
    }
}

/// A guard for spans that are being sent. Counts them as dropped unless the collector accepts them.
struct SendingSpans(u64);

impl Drop for SendingSpans {
    fn drop(&mut self) {
        LOST.fetch_add(self.0, Ordering::Relaxed);
    }
}

/// Sends a batch. The first failure and the first success after failures are logged.
async fn send(client: &Client, url: &Url, spans: Vec<SpanData>, is_accepting: &mut bool) {
    let mut sending = SendingSpans(spans.len() as u64);
    let body = otlp(&spans).to_string();
    let response = client
        .post(url.clone())
        .header(CONTENT_TYPE, "application/json")
        .body(body)
        .send()
        .await;
    let outcome = response
        .and_then(reqwest::Response::error_for_status)
        .map_err(reqwest::Error::without_url);
    if outcome.is_ok() {
        sending.0 = 0;
    }
    match (&outcome, *is_accepting) {
        (Ok(_), false) => tracing::info!(
            spans_lost = lost(),
            "the trace collector accepts spans again"
        ),
        (Err(error), true) => {
            tracing::warn!(cause = %crate::error::innermost(error), "the trace collector does not accept spans; spans are dropped until it does");
        }
        _ => {}
    }
    *is_accepting = outcome.is_ok();
}

/// Returns spans as OTLP in JSON: ids as hexadecimal digits, 64-bit numbers as text.
fn otlp(spans: &[SpanData]) -> Value {
    static RESOURCE: LazyLock<Value> = LazyLock::new(|| {
        let text =
            |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
        let host = std::env::var("HOSTNAME").unwrap_or_default();
        let mut attributes = vec![
            text("service.name", "vestibule"),
            text("service.version", env!("CARGO_PKG_VERSION")),
        ];
        attributes.push(json!({ "key": "process.pid", "value": { "intValue": std::process::id().to_string() } }));
        if !host.is_empty() {
            attributes.push(text("host.name", &host));
        }
        json!({ "attributes": attributes })
    });
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{ "resource": *RESOURCE, "scopeSpans": [{ "scope": { "name": "vestibule" }, "spans": spans }] }] })
}

fn span(span_data: &SpanData) -> Value {
    let attributes: Vec<Value> = span_data
        .attributes
        .iter()
        .map(|(key, text)| json!({ "key": key, "value": value(text) }))
        .collect();
    json!({
        "traceId": format!("{:032x}", span_data.context.trace),
        "spanId": format!("{:016x}", span_data.context.span),
        "parentSpanId": span_data.parent.map(|parent| format!("{parent:016x}")).unwrap_or_default(),
        "name": span_data.name,
        "kind": span_data.kind as u8,
        "startTimeUnixNano": span_data.started.to_string(),
        "endTimeUnixNano": span_data.started.saturating_add(span_data.nanoseconds).to_string(),
        "attributes": attributes,
        "status": if span_data.has_failed { json!({ "code": 2 }) } else { json!({}) },
    })
}

fn value(attribute: &AttributeValue) -> Value {
    match attribute {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        AttributeValue::Number(number) => json!({ "intValue": number.to_string() }),
        AttributeValue::Bool(flag) => json!({ "boolValue": flag }),
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::Layer as _;
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::traces::SPANS;

    fn exported_by(work: impl FnOnce()) -> Vec<Value> {
        let buffer = SpanBuffer::default();
        let layer = Spans::new(buffer.clone())
            .with_filter(Targets::new().with_target(SPANS, tracing::Level::INFO));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        buffer.take().iter().map(span).collect()
    }

    fn request(traceparent: Option<&str>) -> tracing::Span {
        let mut headers = http::HeaderMap::new();
        traceparent.map(|text| headers.insert(super::super::TRACEPARENT, text.parse().unwrap()));
        super::super::request(&headers, uuid::Uuid::from_u128(0x77))
    }

    #[test]
    fn stages_of_a_request_are_child_spans_of_the_request() {
        let mut propagated = None;
        let span_data = exported_by(|| {
            let request = request(None);
            request.in_scope(|| {
                crate::stage!("validate").in_scope(|| propagated = super::super::current());
                // A span of another target is ignored.
                tracing::info_span!("something else").in_scope(|| {});
            });
            request
                .record("http.response.status_code", 503)
                .record("trace.failed", true)
                .record("trace.name", "createThing");
        });
        let [validate, request] = span_data.as_slice() else {
            panic!("{span_data:?}")
        };
        assert_eq!(
            (
                &request["name"],
                &request["kind"],
                &request["status"]["code"]
            ),
            (&json!("createThing"), &json!(2), &json!(2))
        );
        assert_eq!(
            (&request["traceId"], &request["parentSpanId"]),
            (&json!(format!("{:032x}", 0x77)), &json!(""))
        );
        assert_eq!(
            (&validate["name"], &validate["kind"], &validate["status"]),
            (&json!("validate"), &json!(1), &json!({}))
        );
        assert_eq!(
            (&validate["traceId"], &validate["parentSpanId"]),
            (&request["traceId"], &request["spanId"])
        );
        let attributes = request["attributes"].as_array().unwrap();
        assert!(
            attributes.contains(
                &json!({ "key": "http.response.status_code", "value": { "intValue": "503" } })
            ),
            "{attributes:?}"
        );
        let expected = format!(
            "00-{:032x}-{}-01",
            0x77,
            validate["spanId"].as_str().unwrap()
        );
        assert_eq!(propagated.as_deref(), Some(expected.as_str()));
    }

    #[test]
    fn a_sampled_trace_of_the_caller_is_continued() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let span_data = exported_by(|| {
            request(Some(text)).in_scope(|| crate::stage!("validate").in_scope(|| {}));
        });
        let ids = |span_data: &Value| {
            (
                span_data["traceId"].clone(),
                span_data["parentSpanId"].clone(),
            )
        };
        assert_eq!(
            ids(&span_data[1]),
            (
                json!("4bf92f3577b34da6a3ce929d0e0e4736"),
                json!("00f067aa0ba902b7")
            )
        );
        let unsampled_spans = exported_by(|| {
            request(Some(&text.replace("-01", "-00")))
                .in_scope(|| crate::stage!("validate").in_scope(|| {}));
        });
        assert_eq!(unsampled_spans, Vec::<Value>::new());
        let mut propagated = None;
        let unsampled = text.replace("-01", "-00");
        exported_by(|| {
            request(Some(&unsampled)).in_scope(|| {
                crate::stage!("run").in_scope(|| propagated = super::super::current())
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
        assert_eq!(delivered, Vec::<Value>::new());
        let none = exported_by(|| request(Some("of no use")).in_scope(|| {}));
        assert_eq!(none[0]["parentSpanId"], "");
    }

    #[test]
    fn spans_outside_of_requests_are_not_exported() {
        assert_eq!(
            exported_by(|| crate::stage!("sweep").in_scope(|| {})),
            Vec::<Value>::new()
        );
        assert_eq!(
            super::super::current(),
            None,
            "outside of a request there is no trace"
        );
    }

    #[test]
    fn the_queue_of_spans_is_bounded() {
        let (buffer, before) = (SpanBuffer::default(), lost());
        let layer = Spans::new(buffer.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            for _ in 0..MAX_WAITING + 10 {
                drop(request(None));
            }
        });
        assert_eq!((buffer.spans().len(), lost() - before), (MAX_WAITING, 10));
        assert_eq!(
            (buffer.take().len(), buffer.spans().len()),
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
