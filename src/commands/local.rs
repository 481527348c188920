//! Requests that the binary makes of itself: through the pipeline like any other, without a socket.

use std::sync::Arc;

use axum::body::Body;
use engine::operation::Surface;
use engine::pipeline::Service;
use engine::pipeline::{self, Payload, Request};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde_json::Value;

/// A caller in this process.
pub(super) struct Local<'s> {
    pub(super) service: &'s Arc<Service>,
    /// The bearer token; empty for a guest, whose token is in the path.
    pub(super) token: String,
}

impl Local<'_> {
    /// Runs an operation; the data of its answer, or its error as text.
    pub(super) async fn call(&self, operation: &str, path: &[(&str, &str)], body: Value) -> Result<Value, String> {
        self.send(operation, path, body.to_string()).await
    }

    /// The same with a body that is written already.
    pub(super) async fn send(&self, operation: &str, path: &[(&str, &str)], body: String) -> Result<Value, String> {
        let known = self.service.app.operation(operation);
        let operation = known.ok_or_else(|| format!("there is no operation {operation}"))?;
        debug_assert!((operation.surface == Surface::Guest) == self.token.is_empty(), "a guest has no bearer token");
        let headers = if self.token.is_empty() {
            HeaderMap::new()
        } else {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", self.token)).map_err(|error| error.to_string())?;
            HeaderMap::from_iter([(AUTHORIZATION, bearer)])
        };
        let request = Request {
            id: self.service.kit.ids.uuid(self.service.clock.now()),
            path: path.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            query: Vec::new(),
            headers,
            payload: Payload::Body(Body::from(body)),
            caller: None,
        };
        let outcome = pipeline::handle(self.service, operation, request).await;
        let mut envelope: Value = serde_json::from_str(&outcome.body.into_text()).map_err(|error| error.to_string())?;
        if outcome.status < 300 { Ok(envelope["data"].take()) } else { Err(envelope["error"].to_string()) }
    }
}
