//! A `tracing` layer that collects finished spans.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer;
use tracing_subscriber::registry::{Extensions, LookupSpan};

use super::context::{Parent, SpanContext};
use super::export::SpanBuffer;
use crate::clock;
use crate::ids::Ids;

/// The prefix of fields that describe the span itself. Other fields become attributes.
const SPAN_FIELD_PREFIX: &str = "trace.";

/// A span, in progress or finished.
#[derive(Debug)]
pub(super) struct SpanData {
    pub(super) context: SpanContext,
    pub(super) parent: Option<u64>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) has_failed: bool,
    pub(super) attributes: Vec<(&'static str, AttributeValue)>,
    /// The start, in nanoseconds since 1970.
    pub(super) started: u64,
    pub(super) nanoseconds: u64,
    began: Instant,
}

/// The kind of a span, with the numbers of OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AttributeValue {
    Text(String),
    Number(i64),
    Bool(bool),
}

/// Collects finished spans.
pub struct Spans {
    buffer: SpanBuffer,
    /// The seed of the sequence of span numbers.
    seed: u64,
    /// How many span numbers were used.
    count: AtomicU64,
}

impl Spans {
    pub(super) fn new(buffer: SpanBuffer) -> Self {
        Self {
            buffer,
            seed: u64::from_ne_bytes(Ids::default().secret()),
            count: AtomicU64::default(),
        }
    }

    /// Returns a number that no other span of the process has. The sequence contains each 64-bit
    /// number once.
    fn number(&self) -> u64 {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let mixed = self
            .seed
            .wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).max(1)
    }
}

impl Parent {
    /// Returns the parent for spans inside this span. A span of an unsampled trace stores only the
    /// caller's parent.
    pub(super) fn of(span: &Extensions<'_>) -> Option<Self> {
        let span_data = span.get::<SpanData>().map(|span_data| Self {
            context: span_data.context,
            is_sampled: true,
        });
        span_data.or_else(|| span.get().copied())
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: layer::Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = SpanFields::default();
        attributes.record(&mut fields);
        let enclosing_parent = || {
            span.parent()
                .and_then(|parent| Parent::of(&parent.extensions()))
        };
        let (trace, parent) = match (
            fields
                .parent
                .as_deref()
                .and_then(Parent::read)
                .or_else(enclosing_parent),
            fields.trace,
        ) {
            (
                Some(Parent {
                    context,
                    is_sampled: true,
                }),
                _,
            ) => (context.trace, Some(context.span)),
            (Some(unsampled), _) => {
                span.extensions_mut().insert(unsampled);
                return;
            }
            (None, Some(trace)) => (trace, None),
            // A span of a background task, which belongs to no trace.
            (None, None) => return,
        };
        let span_data = SpanData {
            context: SpanContext {
                trace,
                span: self.number(),
            },
            parent,
            name: fields
                .name
                .unwrap_or_else(|| attributes.metadata().name().to_owned()),
            kind: fields.kind,
            has_failed: fields.has_failed,
            attributes: fields.attributes,
            started: clock::nanoseconds(),
            nanoseconds: 0,
            began: Instant::now(),
        };
        span.extensions_mut().insert(span_data);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: layer::Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        let Some(span_data) = extensions.get_mut::<SpanData>() else {
            return;
        };
        let mut fields = SpanFields::default();
        values.record(&mut fields);
        span_data.has_failed |= fields.has_failed;
        span_data.attributes.append(&mut fields.attributes);
        if let Some(name) = fields.name {
            span_data.name = name;
        }
    }

    fn on_close(&self, id: Id, context: layer::Context<'_, S>) {
        let span_data = context
            .span(&id)
            .and_then(|span| span.extensions_mut().remove::<SpanData>());
        if let Some(mut span_data) = span_data {
            span_data.nanoseconds =
                u64::try_from(span_data.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.buffer.put(span_data);
        }
    }
}

/// The fields of a span.
struct SpanFields {
    trace: Option<u128>,
    parent: Option<String>,
    name: Option<String>,
    kind: SpanKind,
    has_failed: bool,
    attributes: Vec<(&'static str, AttributeValue)>,
}

impl Default for SpanFields {
    fn default() -> Self {
        Self {
            trace: None,
            parent: None,
            name: None,
            kind: SpanKind::Internal,
            has_failed: false,
            attributes: Vec::new(),
        }
    }
}

impl SpanFields {
    fn take(&mut self, field: &Field, value: AttributeValue) {
        match (field.name().strip_prefix(SPAN_FIELD_PREFIX), value) {
            (Some("id"), AttributeValue::Text(text)) => {
                self.trace = u128::from_str_radix(&text, 16)
                    .ok()
                    .filter(|trace| *trace != 0);
            }
            (Some("parent"), AttributeValue::Text(text)) => self.parent = Some(text),
            (Some("name"), AttributeValue::Text(text)) => self.name = Some(text),
            (Some("kind"), AttributeValue::Text(text)) => {
                self.kind = if text == "server" {
                    SpanKind::Server
                } else {
                    SpanKind::Client
                }
            }
            (Some("failed"), AttributeValue::Bool(has_failed)) => self.has_failed = has_failed,
            (_, value) => self.attributes.push((field.name(), value)),
        }
    }
}

impl Visit for SpanFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, AttributeValue::Text(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, AttributeValue::Number(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take(
            field,
            AttributeValue::Number(i64::try_from(value).unwrap_or(i64::MAX)),
        );
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.take(field, AttributeValue::Bool(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, AttributeValue::Text(format!("{value:?}")));
    }
}
