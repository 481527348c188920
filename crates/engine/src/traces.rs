//! Traces of requests, sent to an OpenTelemetry collector: spans of requests, stages, statements
//! and deliveries.
//!
//! Spans are `tracing` spans with the target [`SPANS`], which is used for nothing else. If traces
//! are disabled, the log's filter permanently disables that target, so creating a span costs one
//! comparison. Otherwise the layer of [`Endpoint::begin`] collects finished spans, and [`keep`]
//! sends them.
//!
//! A span contains only ids, operation names, and statements as written in the code. It never
//! contains a token, path, query, body or value. Numbers are recorded as `i64`, because the layer
//! writes other integers as text.

mod export;

use std::sync::LazyLock;

use http::HeaderMap;
use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use regex::Regex;
use tracing::Span;
use tracing::field::Empty;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use uuid::Uuid;

pub use export::{Endpoint, keep, lost};
pub use store::SPANS;

/// The header with the trace of a request (W3C Trace Context).
pub const TRACEPARENT: &str = "traceparent";

/// The placeholder id of the parent of a span that begins a trace. The SDK takes the id of a trace
/// only from a parent, so such a span needs one. The export removes the placeholder when the span
/// ends.
const NO_PARENT: SpanId = SpanId::from_bytes([0xff; 8]);

/// The trace context of the caller of a request, or of the event of a delivery. All spans of the
/// request or delivery can read it, and [`of`] returns it if the trace is not sampled.
struct Origin(SpanContext);

/// Creates a span for a stage of a request, below the current span.
#[macro_export]
macro_rules! stage {
    ($name:literal) => {
        tracing::info_span!(target: $crate::traces::SPANS, $name)
    };
}

/// Creates the span of an incoming request. The span belongs to the trace of the request's
/// `traceparent`, or else to a new trace whose id is the request's id.
#[must_use]
pub fn request(headers: &HeaderMap, id: Uuid) -> Span {
    let span = tracing::info_span!(
        target: SPANS,
        parent: None,
        "request",
        otel.kind = "server",
        otel.status_code = Empty,
        vestibule.request.id = %id,
        vestibule.operation = Empty,
        vestibule.organization.id = Empty,
        http.request.method = Empty,
        http.response.status_code = Empty,
    );
    set_parent(&span, || traceparent_of(headers), id);
    span
}

/// Returns the `traceparent` of a request. Returns `None` if the header is missing or repeated.
fn traceparent_of(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Names the span of a request after its operation.
pub fn set_operation(span: &Span, operation: &'static str) {
    span.context().span().update_name(operation);
    span.record("vestibule.operation", operation);
}

/// Creates the span of a delivery attempt. The span belongs to the trace of the event, or else to a
/// new trace whose id is the delivery's id.
#[must_use]
pub fn delivery(id: Uuid, organization: Uuid, trace: Option<&str>) -> Span {
    let span = tracing::info_span!(
        target: SPANS,
        parent: None,
        "webhook",
        otel.kind = "client",
        otel.status_code = Empty,
        vestibule.delivery.id = %id,
        vestibule.organization.id = %organization,
        vestibule.event = Empty,
        vestibule.attempt = Empty,
        http.response.status_code = Empty,
    );
    set_parent(&span, || trace, id);
    span
}

/// Puts a span into the trace that the function `traceparent` returns. If it returns none or an
/// invalid one, puts the span into a new trace whose id is `id`. If traces are disabled, does not
/// call `traceparent`.
fn set_parent<'a>(span: &Span, traceparent: impl FnOnce() -> Option<&'a str>, id: Uuid) {
    if span.is_disabled() {
        return;
    }
    let origin = traceparent().and_then(parse).unwrap_or_else(|| {
        let trace = TraceId::from(id.as_u128());
        SpanContext::new(
            trace,
            NO_PARENT,
            TraceFlags::SAMPLED,
            true,
            TraceState::NONE,
        )
    });
    let context = Context::new().with_value(Origin(origin.clone()));
    // `set_parent` fails only for a span that was already entered, and this span is new.
    let _ = span.set_parent(context.with_remote_span_context(origin));
}

/// Parses `00-<trace>-<span>-<flags>`, and later versions, which may have more fields. The
/// library's parser is not used, because it accepts ids of other lengths.
fn parse(traceparent: &str) -> Option<SpanContext> {
    static FORMAT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$")
            .expect("the expression is constant, and the tests of this module use it")
    });
    let fields = FORMAT.captures(traceparent.trim())?;
    let is_valid_version = match &fields[1] {
        "00" => fields.get(5).is_none(),
        version => version != "ff",
    };
    let flags = TraceFlags::new(u8::from_str_radix(&fields[4], 16).ok()?) & TraceFlags::SAMPLED;
    let (trace, span) = (
        TraceId::from_hex(&fields[2]).ok()?,
        SpanId::from_hex(&fields[3]).ok()?,
    );
    let context = SpanContext::new(trace, span, flags, true, TraceState::NONE);
    (is_valid_version && context.is_valid()).then_some(context)
}

/// Returns the `traceparent` value of the current span ([`of`]). The value is stored with the
/// deliveries that a request causes, so that their spans join the trace of the request.
#[must_use]
pub fn current() -> Option<String> {
    of(&Span::current())
}

/// Returns the `traceparent` value for work that a span causes, such as a delivery. If the caller's
/// trace is not sampled, returns the value that the caller sent, so that later services do not
/// sample the trace either. Returns `None` if traces are disabled.
#[must_use]
pub fn of(span: &Span) -> Option<String> {
    let context = span.context();
    let span = context.span();
    let own = Some(span.span_context()).filter(|own| own.is_sampled());
    let parent = own.or_else(|| context.get().map(|Origin(caller)| caller))?;
    let (trace, span, flags) = (parent.trace_id(), parent.span_id(), parent.trace_flags());
    Some(format!("00-{trace}-{span}-{flags:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traceparent_is_not_read_if_traces_are_disabled() {
        set_parent(&Span::none(), || panic!("it was read"), Uuid::nil());
    }

    #[test]
    fn a_valid_traceparent_is_parsed() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        for (text, is_sampled) in [
            (text.to_owned(), true),
            (text.replace("-01", "-00"), false),
            (text.replace("-01", "-03"), true),
            (
                text.replacen("00-", "cc-", 1).replace("-01", "-01-more"),
                true,
            ),
        ] {
            let context = parse(&text).unwrap();
            assert_eq!(
                (context.trace_id(), context.span_id(), context.is_sampled()),
                (
                    TraceId::from(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736),
                    SpanId::from(0x00f0_67aa_0ba9_02b7),
                    is_sampled
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn an_invalid_traceparent_is_ignored() {
        for text in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0ü",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
