//! What a request went through, told to a collector of OpenTelemetry's: spans of requests, stages, statements and deliveries.
//!
//! Spans are those of `tracing`, with the target [`SPANS`], which nothing else has. Where nobody has asked for them the log's filter
//! switches that target off for good, and making one is a comparison. Otherwise [`Spans`] gathers each that has ended, and
//! [`keep`] sends what has been gathered.
//!
//! What a span says is what is written in the code beside it: ids, names of operations, statements as they are written. No token,
//! path, query, body or value gets near one.

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

/// The header that says which trace a request is part of (W3C Trace Context).
pub const TRACEPARENT: &str = "traceparent";

/// A stage of a request, as part of what goes on at the moment.
#[macro_export]
macro_rules! stage {
    ($name:literal) => {
        tracing::info_span!(target: $crate::traces::SPANS, $name)
    };
}

/// A request that has come in, as part of the trace that its caller names, or else of one that is called as the request is.
#[must_use]
pub fn request(headers: &HeaderMap, id: Uuid) -> Span {
    tracing::info_span!(
        target: SPANS,
        parent: None,
        "request",
        trace.kind = "server",
        trace.id = %id.simple(),
        trace.parent = named(headers),
        trace.name = tracing::field::Empty,
        trace.failed = tracing::field::Empty,
        vestibule.request.id = %id,
        vestibule.operation = tracing::field::Empty,
        vestibule.organization.id = tracing::field::Empty,
        http.request.method = tracing::field::Empty,
        http.response.status_code = tracing::field::Empty,
    )
}

/// The trace that a request's caller names; two name none.
fn named(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// An attempt to deliver something, as part of the trace of what it tells of, or else of one of its own.
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

/// What goes on at the moment, as others are told that are to be part of it.
#[must_use]
pub fn current() -> Option<String> {
    of(&Span::current())
}

/// A span, as others are told that are to be part of it: what its caller does not keep, in that caller's words, so that they do not keep
/// it either. None where nobody has asked for it.
#[must_use]
pub fn of(span: &Span) -> Option<String> {
    span.with_subscriber(|(id, dispatch)| {
        let registry = dispatch.downcast_ref::<Registry>()?;
        let span = registry.span(id)?;
        Parent::of(&span.extensions()).map(|parent| parent.to_string())
    })
    .flatten()
}
