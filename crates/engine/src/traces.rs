//! Traces of requests, sent to an OpenTelemetry collector: spans of requests, stages, statements
//! and deliveries.
//!
//! Spans are `tracing` spans with the target [`SPANS`], which is used for nothing else. If traces
//! are disabled, the log's filter permanently disables that target, so creating a span costs one
//! comparison. Otherwise [`Spans`] collects finished spans, and [`keep`] sends them.
//!
//! A span holds only ids, operation names, and statements as written in the code. It never holds a
//! token, path, query, body or value.

mod context;
mod export;
mod layer;

use http::HeaderMap;
use tracing::Span;
use tracing_subscriber::Registry;
use tracing_subscriber::registry::LookupSpan as _;
use uuid::Uuid;

use context::Parent;
pub use export::{Endpoint, keep, lost};
pub use layer::Spans;
pub use store::SPANS;

/// The header with the trace of a request (W3C Trace Context).
pub const TRACEPARENT: &str = "traceparent";

/// Creates a span for a stage of a request, below the current span.
#[macro_export]
macro_rules! stage {
    ($name:literal) => {
        tracing::info_span!(target: $crate::traces::SPANS, $name)
    };
}

/// Creates the span of an incoming request. It belongs to the caller's trace, or else to a trace
/// with the request's id.
#[must_use]
pub fn request(headers: &HeaderMap, id: Uuid) -> Span {
    tracing::info_span!(
        target: SPANS,
        parent: None,
        "request",
        trace.kind = "server",
        trace.id = %id.simple(),
        trace.parent = traceparent_of(headers),
        trace.name = tracing::field::Empty,
        trace.failed = tracing::field::Empty,
        vestibule.request.id = %id,
        vestibule.operation = tracing::field::Empty,
        vestibule.organization.id = tracing::field::Empty,
        http.request.method = tracing::field::Empty,
        http.response.status_code = tracing::field::Empty,
    )
}

/// Returns the `traceparent` of a request. A repeated header is ignored.
fn traceparent_of(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Creates the span of a delivery attempt. It belongs to the trace of the event, or else to a trace
/// with the delivery's id.
#[must_use]
pub fn delivery(id: Uuid, organization: Uuid, trace: Option<&str>) -> Span {
    tracing::info_span!(
        target: SPANS,
        parent: None,
        "webhook",
        trace.kind = "client",
        trace.id = %id.simple(),
        trace.parent = trace,
        trace.failed = tracing::field::Empty,
        vestibule.delivery.id = %id,
        vestibule.organization.id = %organization,
        vestibule.event = tracing::field::Empty,
        vestibule.attempt = tracing::field::Empty,
        http.response.status_code = tracing::field::Empty,
    )
}

/// Returns the `traceparent` for work in the current span.
#[must_use]
pub fn current() -> Option<String> {
    of(&Span::current())
}

/// Returns the `traceparent` for work in a span. If the caller's trace is not sampled, this is the
/// caller's own value, so that later services do not sample it either. Returns `None` if traces are
/// disabled.
#[must_use]
pub fn of(span: &Span) -> Option<String> {
    span.with_subscriber(|(id, dispatch)| {
        let registry = dispatch.downcast_ref::<Registry>()?;
        let span = registry.span(id)?;
        Parent::of(&span.extensions()).map(|parent| parent.to_string())
    })
    .flatten()
}
