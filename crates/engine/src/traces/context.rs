//! The trace of a request in the form that services exchange: the header `traceparent` of W3C Trace
//! Context.

use std::fmt;

/// A span and its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpanContext {
    pub(super) trace: u128,
    pub(super) span: u64,
}

/// A span of another service, from a `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) context: SpanContext,
    /// Whether the caller samples the trace. Neither this service nor later ones collect a trace
    /// that is not sampled.
    pub(super) is_sampled: bool,
}

impl Parent {
    /// Parses `00-<trace>-<span>-<flags>`. Later versions may have more fields.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let has_valid_version =
            version.len() == 2 && version != "ff" && (version != "00" || parts.next().is_none());
        if !has_valid_version
            || hex(version)? > 0xff
            || trace.len() != 32
            || span.len() != 16
            || flags.len() != 2
        {
            return None;
        }
        let (trace, span) = (hex(trace)?, u64::try_from(hex(span)?).ok()?);
        let is_sampled = hex(flags)? & 1 == 1;
        (trace != 0 && span != 0).then_some(Self {
            context: SpanContext { trace, span },
            is_sampled,
        })
    }
}

/// Parses a number in lower-case hexadecimal digits.
fn hex(text: &str) -> Option<u128> {
    let is_hex = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if is_hex {
        u128::from_str_radix(text, 16).ok()
    } else {
        None
    }
}

impl fmt::Display for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            context: SpanContext { trace, span },
            is_sampled,
        } = self;
        write!(
            f,
            "00-{trace:032x}-{span:016x}-{:02x}",
            u8::from(*is_sampled)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_reads_back_as_written() {
        let context = SpanContext {
            trace: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
            span: 0x00f0_67aa_0ba9_02b7,
        };
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        for (text, is_sampled) in [(text.to_owned(), true), (text.replace("-01", "-00"), false)] {
            let parent = Parent {
                context,
                is_sampled,
            };
            assert_eq!(
                (Parent::read(&text), parent.to_string()),
                (Some(parent), text)
            );
        }
        assert_eq!(
            Parent::read(&text.replace("-01", "-03")),
            Some(Parent {
                context,
                is_sampled: true
            })
        );
        assert_eq!(
            Parent::read(&text.replacen("00-", "cc-", 1).replace("-01", "-01-more")),
            Some(Parent {
                context,
                is_sampled: true
            })
        );
    }

    #[test]
    fn an_invalid_traceparent_is_ignored() {
        for text in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0ü",
        ] {
            assert_eq!(Parent::read(text), None, "{text}");
        }
    }
}
