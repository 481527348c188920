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

use super::context::{Context, Parent};
use super::export::Gathered;
use crate::clock;
use crate::ids::Ids;

/// The prefix of fields that describe the span itself. Other fields become attributes.
const OF_ITSELF: &str = "trace.";

/// A span, in progress or finished.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) context: Context,
    pub(super) parent: Option<u64>,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) has_failed: bool,
    pub(super) attributes: Vec<(&'static str, Said)>,
    /// The start, in nanoseconds since 1970.
    pub(super) started: u64,
    pub(super) nanoseconds: u64,
    began: Instant,
}

/// The kind of a span, with the numbers of OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Text(String),
    Number(i64),
    Bool(bool),
}

/// Collects finished spans.
pub struct Spans {
    gathered: Gathered,
    /// The seed of the sequence of span numbers, and how many were used.
    seed: u64,
    count: AtomicU64,
}

impl Spans {
    pub(super) fn new(gathered: Gathered) -> Self {
        Self {
            gathered,
            seed: u64::from_ne_bytes(Ids::default().secret()),
            count: AtomicU64::default(),
        }
    }

    /// Returns a number that no other span of the process has. The sequence visits each 64-bit
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
    /// Returns the parent for spans below this span. A span of an unsampled trace stores its own
    /// parent.
    pub(super) fn of(span: &Extensions<'_>) -> Option<Self> {
        let told = span.get::<Told>().map(|told| Self {
            context: told.context,
            is_kept: true,
        });
        told.or_else(|| span.get().copied())
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: layer::Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let above = || {
            span.parent()
                .and_then(|parent| Parent::of(&parent.extensions()))
        };
        let (trace, parent) = match (
            fields
                .parent
                .as_deref()
                .and_then(Parent::read)
                .or_else(above),
            fields.trace,
        ) {
            (
                Some(Parent {
                    context,
                    is_kept: true,
                }),
                _,
            ) => (context.trace, Some(context.span)),
            (Some(unkept), _) => {
                span.extensions_mut().insert(unkept);
                return;
            }
            (None, Some(trace)) => (trace, None),
            // A span without a trace, from a background task.
            (None, None) => return,
        };
        let told = Told {
            context: Context {
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
        span.extensions_mut().insert(told);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: layer::Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        let Some(told) = extensions.get_mut::<Told>() else {
            return;
        };
        let mut fields = Fields::default();
        values.record(&mut fields);
        told.has_failed |= fields.has_failed;
        told.attributes.append(&mut fields.attributes);
        if let Some(name) = fields.name {
            told.name = name;
        }
    }

    fn on_close(&self, id: Id, context: layer::Context<'_, S>) {
        let told = context
            .span(&id)
            .and_then(|span| span.extensions_mut().remove::<Told>());
        if let Some(mut told) = told {
            told.nanoseconds = u64::try_from(told.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.gathered.put(told);
        }
    }
}

/// The fields of a span.
struct Fields {
    trace: Option<u128>,
    parent: Option<String>,
    name: Option<String>,
    kind: Kind,
    has_failed: bool,
    attributes: Vec<(&'static str, Said)>,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            trace: None,
            parent: None,
            name: None,
            kind: Kind::Internal,
            has_failed: false,
            attributes: Vec::new(),
        }
    }
}

impl Fields {
    fn take(&mut self, field: &Field, said: Said) {
        match (field.name().strip_prefix(OF_ITSELF), said) {
            (Some("id"), Said::Text(text)) => {
                self.trace = u128::from_str_radix(&text, 16)
                    .ok()
                    .filter(|trace| *trace != 0);
            }
            (Some("parent"), Said::Text(text)) => self.parent = Some(text),
            (Some("name"), Said::Text(text)) => self.name = Some(text),
            (Some("kind"), Said::Text(text)) => {
                self.kind = if text == "server" {
                    Kind::Server
                } else {
                    Kind::Client
                }
            }
            (Some("failed"), Said::Bool(has_failed)) => self.has_failed = has_failed,
            (_, said) => self.attributes.push((field.name(), said)),
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, Said::Text(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, Said::Number(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take(
            field,
            Said::Number(i64::try_from(value).unwrap_or(i64::MAX)),
        );
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.take(field, Said::Bool(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, Said::Text(format!("{value:?}")));
    }
}
