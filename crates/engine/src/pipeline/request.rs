//! Requests in the form in which they enter the pipeline, and the parsing of their bodies.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::incoming::{Sender, out_of_memory};
use super::service::Service;
use crate::access::{Identified, Resource};
use crate::error::{Error, Issue, Result};
use crate::json;
use crate::operation::{Answer, Arguments, LocalValue, Operation};

/// The time that a client has to send a body.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// A request for an operation, from any surface.
pub struct Request {
    /// The unique id of the request.
    pub id: Uuid,
    /// Decoded parameters of the path.
    pub path: Vec<(String, String)>,
    /// Decoded parameters of the query, in order.
    pub query: Vec<(String, String)>,
    pub headers: HeaderMap,
    /// The body or the tool's arguments.
    pub payload: Payload,
    /// The caller, if the surface has already identified the caller by token or session.
    pub caller: Option<Arc<Identified>>,
}

/// A request without its payload. Unlike a body, this part can be shared between threads.
pub(super) struct Head {
    pub(super) id: Uuid,
    pub(super) path: Vec<(String, String)>,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: HeaderMap,
    pub(super) is_tool_call: bool,
    /// Whether the request comes from code of this process. Such code gets the answer as a Rust
    /// value instead of JSON text.
    pub(super) is_local: bool,
    pub(super) caller: Option<Arc<Identified>>,
}

/// The content of a request besides its path and query.
pub enum Payload {
    /// An HTTP body that is not read yet, and the [`Receiving`] mark that the server attached to
    /// the request.
    Body(Body, Option<Receiving>),
    /// The arguments of a tool call: fields of path, query and body together.
    Arguments(Map<String, Value>),
}

/// A mark that the server attaches to a request. The mark is removed when the body is complete or
/// the sender of the request is authenticated. During shutdown, the server closes connections whose
/// requests all have this mark.
#[derive(Clone)]
pub struct Receiving(Arc<Mutex<Option<Box<dyn Send + Sync>>>>);

impl Receiving {
    /// Creates a mark that contains `guard`. The server counts the guards that exist, so the
    /// request is no longer counted when its mark is removed and the guard is dropped.
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(guard)))))
    }

    /// Removes this mark from the request that the server attached it to. From then on, a shutdown
    /// waits until the request has ended.
    pub fn release(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Returns a body whose memory is counted for the organization of its authenticated sender, in
/// addition to the client's address.
pub fn counted_for(service: &Service, organization: Uuid, body: Body) -> Body {
    service
        .incoming
        .counted(Sender::Organization(organization), body)
        .0
}

impl Payload {
    /// If the sender's organization is known: removes the [`Receiving`] mark of a body, and counts
    /// the body's memory for this organization. Otherwise changes nothing.
    pub(super) fn within(self, service: &Service, organization: Option<Uuid>) -> Self {
        match (self, organization) {
            (Self::Body(body, receiving), Some(id)) => {
                if let Some(receiving) = &receiving {
                    receiving.release();
                }
                Self::Body(counted_for(service, id, body), receiving)
            }
            (payload, _) => payload,
        }
    }
}

impl Request {
    pub(super) fn split(self, is_local: bool) -> (Head, Payload) {
        let Self {
            id,
            path,
            query,
            headers,
            payload,
            caller,
        } = self;
        let is_tool_call = matches!(payload, Payload::Arguments(_));
        (
            Head {
                id,
                path,
                query,
                headers,
                is_tool_call,
                is_local,
                caller,
            },
            payload,
        )
    }
}

impl Head {
    /// Returns the resource (the address of an interface) for which the request's token must be
    /// valid.
    pub(super) const fn resource(&self) -> Resource {
        if self.is_tool_call {
            // The surface has already checked that the token is valid for the address of the call.
            // A token that is valid for any tool address is also valid for `McpReadOnly`.
            Resource::McpReadOnly
        } else {
            Resource::Api
        }
    }

    /// Returns the answer as a value if the request comes from code of this process. Returns `None`
    /// for a surface, which gets text.
    pub(super) fn local_value(&self, answer: &Answer) -> Option<LocalValue> {
        self.is_local.then(|| answer.local_value()).flatten()
    }

    /// Returns the values of a header, in order.
    pub(super) fn header_values(&self, name: &'static str) -> Vec<&HeaderValue> {
        self.headers.get_all(name).iter().collect()
    }

    /// Reads the arguments of the operation from the request: from a parsed tool call, or from
    /// path, query and body.
    pub(super) async fn read(&self, payload: Payload, operation: &Operation) -> Result<Arguments> {
        let (body, issues) = match payload {
            Payload::Arguments(mut arguments) => {
                if let Some(limit) = operation.shape().tool_limit() {
                    // A tool call with a null `limit` gets the same page size as a call without
                    // `limit`.
                    arguments.retain(|name, value| name != "limit" || !value.is_null());
                    arguments.entry("limit").or_insert(limit.into());
                }
                let arguments = json::normal(Value::Object(arguments));
                return arguments
                    .map(Arguments::Tool)
                    .map_err(|message| Error::invalid(&[], message));
            }
            Payload::Body(body, _) if operation.has_body() => {
                self.read_json(body, operation).await?
            }
            Payload::Body(..) => (Value::Object(Map::new()), Vec::new()),
        };
        Ok(self.arguments(body, issues))
    }

    /// Combines path, query and a parsed body. `found` has the issues that the parser found in the
    /// body.
    pub(super) fn arguments(&self, body: Value, found: Vec<Issue>) -> Arguments {
        Arguments::Http {
            path: self.path.clone(),
            query: self.query.clone(),
            body,
            found,
        }
    }

    async fn read_json(&self, body: Body, operation: &Operation) -> Result<(Value, Vec<Issue>)> {
        let limit = operation.body_limit;
        let refuse = |message: String| Err(Error::invalid(&[], message));
        if self.headers.contains_key(CONTENT_ENCODING) {
            return refuse("a Content-Encoding is not accepted; send the body uncompressed".into());
        }
        let types = self.header_values(CONTENT_TYPE.as_str());
        if types.len() > 1 || types.iter().any(|value| !is_json(value)) {
            return refuse("the Content-Type must be application/json".into());
        }
        let collected =
            tokio::time::timeout(BODY_DEADLINE, Limited::new(body, limit).collect()).await;
        let bytes = match collected {
            Err(_) => return refuse("the body did not arrive in time".into()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return refuse(format!("the body is larger than {limit} bytes"));
            }
            Ok(Err(error)) => {
                return match out_of_memory(&*error) {
                    Some(refusal) => Err(refusal),
                    None => refuse(format!("the body could not be read: {error}")),
                };
            }
            Ok(Ok(collected)) => collected.to_bytes(),
        };
        if bytes.is_empty() {
            return Ok((Value::Object(Map::new()), Vec::new()));
        }
        let body = json::parse(&bytes).map_err(|message| Error::invalid(&[], message))?;
        let overlong = if operation.keeps_numbers {
            json::overlong_numbers(&bytes)
        } else {
            Vec::new()
        };
        let issues = overlong
            .into_iter()
            .map(|path| {
                Issue::at(
                    path,
                    "has more digits than can be stored; send it as a string",
                )
            })
            .collect();
        Ok((body, issues))
    }
}

fn is_json(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    let mut parts = text.split(';').map(str::trim);
    let is_json = parts
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    is_json
        && parts
            .filter(|parameter| !parameter.is_empty())
            .all(|parameter| match parameter.split_once('=') {
                Some((name, charset)) if name.trim().eq_ignore_ascii_case("charset") => {
                    let charset = charset.trim().trim_matches('"');
                    // Some clients write `utf-8` without the hyphen.
                    ["utf-8", "utf8"]
                        .iter()
                        .any(|name| charset.eq_ignore_ascii_case(name))
                }
                Some(_) => true,
                None => false,
            })
}
