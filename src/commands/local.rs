//! Requests that a command makes to its own process. They pass through the pipeline like requests
//! of clients, but not through HTTP. `vestibule demo` and `vestibule import` use them.

use std::sync::Arc;

use axum::body::Body;
use engine::operation::Surface;
use engine::pipeline::Service;
use engine::pipeline::{self, Payload, Request};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde_json::Value;

/// Runs operations in this process with the rights of one credential.
pub(super) struct LocalCaller<'s> {
    pub(super) service: &'s Arc<Service>,
    /// The bearer token; empty for a guest, who sends a token in the path instead.
    pub(super) token: String,
}

impl LocalCaller<'_> {
    /// Runs an operation. Returns the field `data` of the response body. If the operation fails,
    /// returns the field `error` of the body as a text.
    pub(super) async fn call(
        &self,
        operation: &str,
        path: &[(&str, &str)],
        body: Value,
    ) -> Result<Value, String> {
        self.call_with_json(operation, path, body.to_string()).await
    }

    /// Does the same as [`LocalCaller::call`], with a body that is already serialized.
    pub(super) async fn call_with_json(
        &self,
        operation: &str,
        path: &[(&str, &str)],
        body: String,
    ) -> Result<Value, String> {
        self.request(operation, path, &[], body).await
    }

    /// Runs an operation without a body or path parameters, with these query parameters.
    pub(super) async fn query(
        &self,
        operation: &str,
        query: &[(&str, &str)],
    ) -> Result<Value, String> {
        self.request(operation, &[], query, String::new()).await
    }

    async fn request(
        &self,
        operation: &str,
        path: &[(&str, &str)],
        query: &[(&str, &str)],
        body: String,
    ) -> Result<Value, String> {
        let registered = self.service.app.operation(operation);
        let operation = registered.ok_or_else(|| format!("there is no operation {operation}"))?;
        debug_assert!(
            (operation.surface == Surface::Guest) == self.token.is_empty(),
            "a guest has no bearer token"
        );
        let headers = if self.token.is_empty() {
            HeaderMap::new()
        } else {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", self.token))
                .map_err(|error| error.to_string())?;
            HeaderMap::from_iter([(AUTHORIZATION, bearer)])
        };
        let request = Request {
            id: self.service.app_state.ids.uuid(self.service.clock.now()),
            path: to_owned_pairs(path),
            query: to_owned_pairs(query),
            headers,
            payload: Payload::Body(Body::from(body), None),
            caller: None,
        };
        let outcome = pipeline::handle(self.service, operation, request).await;
        let mut envelope: Value =
            serde_json::from_str(&outcome.body.into_text()).map_err(|error| error.to_string())?;
        if outcome.status < 300 {
            Ok(envelope["data"].take())
        } else {
            Err(envelope["error"].to_string())
        }
    }
}

fn to_owned_pairs<C: FromIterator<(String, String)>>(pairs: &[(&str, &str)]) -> C {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}
