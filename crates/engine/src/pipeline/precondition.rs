//! `If-Match` on a PATCH: the change is refused if the resource no longer has the state that the
//! caller has read (rules: errors#updates).

use http::Method;
use http::header::IF_MATCH;
use serde_json::{Map, Value};

use super::memory;
use super::stages::Call;
use crate::context::Context;
use crate::error::{Error, Reason, Result};
use crate::operation::{Job, Operation, Work};

/// The content codings of compressed responses. A response in one of them has an `ETag` that ends
/// with the name of the coding, such as `"abc-gzip"`.
pub const CODINGS: [&str; 2] = ["gzip", "br"];

/// A condition on a write: the resource must have one of the `ETag`s in `If-Match`.
pub(super) struct Precondition {
    /// The `ETag` values in `If-Match`, as they were sent.
    tags: Vec<String>,
    /// The operation that reads the resource, with its input; `None` if no operation reads it.
    read: Option<Job>,
}

impl Precondition {
    /// Returns the precondition of a request, or `None` if the request has none.
    pub(super) fn of(call: &Call, input: &Value) -> Result<Option<Self>> {
        let (operation, head) = (call.operation, &call.head);
        if operation.method != Method::PATCH || head.is_tool_call {
            return Ok(None);
        }
        let sent = head.headers.get_all(IF_MATCH).iter();
        let tags: Vec<String> = sent
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .map(|tag| String::from_utf8_lossy(tag).trim().to_owned())
            .filter(|tag| !tag.is_empty())
            .collect();
        if tags.is_empty() {
            return Ok(None);
        }
        let read = call.service.app.operations.iter().find(|read| {
            read.method == Method::GET
                && read.surface == operation.surface
                && read.path == operation.path
        });
        let read = match read.map(|read| &read.work) {
            Some(Work::Organization(prepare)) => Some(prepare(path_fields(operation, input))?),
            _ => None,
        };
        Ok(Some(Self { tags, read }))
    }

    /// Returns 409 if the current `ETag` of the resource is not in `If-Match`. Returns the error of
    /// the read if the caller cannot see the resource.
    pub(super) fn check(self, context: &mut Context<'_, '_>) -> Result<()> {
        let Self { tags, read } = self;
        let etag = match read {
            Some(read) => Some(memory::etag(&read(context)?.into_text()?)),
            None => None,
        };
        let etag = etag.as_ref().and_then(|etag| etag.to_str().ok());
        if tags.iter().any(|tag| matches(tag, etag)) {
            return Ok(());
        }
        Err(Error::conflict(Reason::rule(
            "if_match",
            "The resource is not in the state that If-Match names; read it again.",
        )))
    }
}

/// Returns the fields of an input that the request sends in its path.
fn path_fields(operation: &Operation, input: &Value) -> Value {
    let fields: Map<String, Value> = input
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| operation.is_path_field(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Value::Object(fields)
}

/// Returns whether a tag in `If-Match` names the state with this `ETag`. Accepts three forms of the
/// tag: the tag itself, the weak tag (`W/`) that a proxy may have made of it, and the tag of the
/// compressed response. `*` matches every state.
fn matches(tag: &str, etag: Option<&str>) -> bool {
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    let is_coded = |etag: &str| CODINGS.iter().any(|coding| tag == coded(etag, coding));
    tag == "*" || etag.is_some_and(|etag| tag == etag || is_coded(etag))
}

/// Returns the `ETag` of a compressed response: the `ETag` of the uncompressed response, with the
/// name of the content coding before the closing quote.
#[must_use]
pub fn coded(etag: &str, coding: &str) -> String {
    format!("{}-{coding}\"", etag.strip_suffix('"').unwrap_or(etag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_a_state_in_every_form_that_an_answer_gives_it() {
        for tag in ["\"abc\"", "W/\"abc\"", "\"abc-gzip\"", "W/\"abc-br\"", "*"] {
            assert!(matches(tag, Some("\"abc\"")), "{tag}");
        }
        for tag in ["abc", "\"abcd\"", "\"abc-zip\"", "\"\""] {
            assert!(!matches(tag, Some("\"abc\"")), "{tag}");
        }
        assert!(matches("*", None) && !matches("\"abc\"", None));
    }
}
