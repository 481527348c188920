//! A request as the pipeline takes it, and the reading of its body.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::access::{Identified, Resource};
use crate::error::{Error, Issue, Result};
use crate::json::{self, Exact};
use crate::operation::{Arguments, Operation};

/// How long a client may take to send a body.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// A request for one operation, from whichever surface.
pub struct Request {
    /// Unique per request.
    pub id: Uuid,
    /// Parameters of the path, decoded.
    pub path: Vec<(String, String)>,
    /// Parameters of the query, decoded, in order.
    pub query: Vec<(String, String)>,
    /// The request's headers.
    pub headers: HeaderMap,
    /// What else was sent.
    pub payload: Payload,
    /// Who asks, where that has just been found out: by their token, or by the session that they are signed in with.
    pub caller: Option<Arc<Identified>>,
}

/// A request without what else was sent. Unlike a body, it may be looked at from several threads.
pub(super) struct Head {
    pub(super) id: Uuid,
    pub(super) path: Vec<(String, String)>,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: HeaderMap,
    pub(super) is_tool_call: bool,
    pub(super) caller: Option<Arc<Identified>>,
}

/// What a request carries besides path and query.
pub enum Payload {
    /// An HTTP body, not read yet.
    Body(Body),
    /// A tool's arguments: path, query and body fields side by side.
    Arguments(Map<String, Value>),
}

impl Request {
    pub(super) fn split(self) -> (Head, Payload) {
        let Self { id, path, query, headers, payload, caller } = self;
        let is_tool_call = matches!(payload, Payload::Arguments(_));
        (Head { id, path, query, headers, is_tool_call, caller }, payload)
    }
}

impl Head {
    /// The resource that is asked for something.
    pub(super) const fn resource(&self) -> Resource {
        if self.is_tool_call { Resource::Mcp } else { Resource::Api }
    }

    /// The values of a header, in order.
    pub(super) fn header_values(&self, name: &'static str) -> Vec<&HeaderValue> {
        self.headers.get_all(name).iter().collect()
    }

    /// Reads and parses what else was sent.
    pub(super) async fn read(&self, payload: Payload, operation: &Operation) -> Result<Arguments> {
        let (body, exact) = match payload {
            Payload::Arguments(arguments) => {
                let arguments = json::normal(Value::Object(arguments));
                return arguments.map(Arguments::Tool).map_err(|message| Error::invalid(&[], message));
            }
            Payload::Body(body) if operation.has_body() => self.read_json(body, operation).await?,
            Payload::Body(_) => (Value::Object(Map::new()), Vec::new()),
        };
        Ok(self.arguments(body, exact, Vec::new()))
    }

    /// Path, query and a body that has been read, side by side.
    pub(super) fn arguments(&self, body: Value, exact: Vec<Exact>, found: Vec<Issue>) -> Arguments {
        Arguments::Http { path: self.path.clone(), query: self.query.clone(), body, exact, found }
    }

    async fn read_json(&self, body: Body, operation: &Operation) -> Result<(Value, Vec<Exact>)> {
        let limit = operation.body_limit;
        let refuse = |message: String| Err(Error::invalid(&[], message));
        if self.headers.contains_key(CONTENT_ENCODING) {
            return refuse("a Content-Encoding is not accepted".into());
        }
        let types = self.header_values(CONTENT_TYPE.as_str());
        if types.len() > 1 || types.iter().any(|value| !is_json(value)) {
            return refuse("the Content-Type must be application/json".into());
        }
        let collected = tokio::time::timeout(BODY_DEADLINE, Limited::new(body, limit).collect()).await;
        let bytes = match collected {
            Err(_) => return refuse("the body did not arrive in time".into()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return refuse(format!("the body is larger than {limit} bytes"));
            }
            Ok(Err(error)) => return refuse(format!("the body could not be read: {error}")),
            Ok(Ok(collected)) => collected.to_bytes(),
        };
        if bytes.is_empty() {
            return Ok((Value::Object(Map::new()), Vec::new()));
        }
        let body = json::parse(&bytes).map_err(|message| Error::invalid(&[], message))?;
        let exact = if operation.keeps_numbers { json::exact(&bytes) } else { Vec::new() };
        Ok((body, exact))
    }
}

fn is_json(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    let mut parts = text.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    is_json
        && parts.filter(|parameter| !parameter.is_empty()).all(|parameter| match parameter.split_once('=') {
            Some((name, charset)) if name.trim().eq_ignore_ascii_case("charset") => {
                charset.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            Some(_) => true,
            None => false,
        })
}
