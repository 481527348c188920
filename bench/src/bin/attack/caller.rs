//! An HTTP client that sends a credential. If the server restarts at another address, the client
//! uses the new address.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::Value;

use crate::server::Target;

/// The time limit of a response. It is longer than the service's own limit, after which the service
/// responds with an error.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of a sync. A sync may be large and then takes longer than other requests.
const SYNC_TIMEOUT: Duration = Duration::from_secs(130);

/// An HTTP client that sends its requests with one credential.
#[derive(Debug, Clone)]
pub struct Caller {
    http: reqwest::Client,
    target: Target,
    token: Arc<str>,
    failures: Arc<AtomicU64>,
}

/// The parts of a response that the attack checks.
#[derive(Debug)]
pub struct CallResponse {
    pub status: u16,
    pub is_replay: bool,
    pub body: Bytes,
}

impl CallResponse {
    /// Returns whether the same request may get a different response when it is sent again.
    pub fn is_temporary(&self) -> bool {
        matches!(self.status, 429 | 503)
            || (self.status == 409 && self.text().contains("still in progress"))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the `data` of the response's envelope, or null if the response has no envelope.
    pub fn data(&self) -> Value {
        let envelope = serde_json::from_slice::<Value>(&self.body).ok();
        envelope
            .and_then(|mut envelope| envelope.get_mut("data").map(Value::take))
            .unwrap_or_default()
    }
}

impl Caller {
    /// Creates a caller with a new pool of connections.
    pub fn new(target: Target, token: &str) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none());
        Ok(Self {
            http: http.build()?,
            target,
            token: token.into(),
            failures: Arc::default(),
        })
    }

    /// Returns a caller that uses the same connections and sends `token` as its credential.
    pub fn with(&self, token: &str) -> Self {
        Self {
            token: token.into(),
            ..self.clone()
        }
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the target, which always contains the address and the process id of the server that
    /// runs now.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the number of responses so far with a 5xx status other than 503. The service must
    /// not send such a response.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Makes a request with this body. If `key` is given, it is the idempotency key of the request.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Bytes,
    ) -> anyhow::Result<CallResponse> {
        let timeout = if path.ends_with("/sync") {
            SYNC_TIMEOUT
        } else {
            TIMEOUT
        };
        let request = self
            .http
            .request(method, format!("http://{}{path}", self.target.address()?))
            .timeout(timeout);
        let mut request = request.bearer_auth(&self.token);
        if !body.is_empty() {
            request = request
                .header("content-type", "application/json")
                .body(body);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let response = request.send().await?;
        let (status, is_replay) = (
            response.status().as_u16(),
            response.headers().contains_key("idempotency-replayed"),
        );
        if status >= 500 && status != 503 {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        Ok(CallResponse {
            status,
            is_replay,
            body: response.bytes().await?,
        })
    }

    /// Sends a form by POST. `form` is the complete body.
    pub async fn send_form(
        &self,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> anyhow::Result<u16> {
        let url = format!("http://{}{path}", self.target.address()?);
        let request = self.http.post(url).timeout(TIMEOUT);
        let request = request.header("content-type", content_type).body(body);
        Ok(request.send().await?.status().as_u16())
    }

    /// Makes a GET request.
    pub async fn get(&self, path: &str) -> anyhow::Result<CallResponse> {
        self.send(Method::GET, path, None, Bytes::new()).await
    }

    /// Makes a request to which the server must respond with success. Returns the data of the
    /// response.
    pub async fn ok(&self, method: Method, path: &str, body: Value) -> anyhow::Result<Value> {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let response = self
            .send(method.clone(), path, None, body.into())
            .await
            .with_context(|| format!("{method} {path}"))?;
        ensure!(
            (200..300).contains(&response.status),
            "{method} {path}: {} {:.500}",
            response.status,
            response.text()
        );
        Ok(response.data())
    }

    /// Makes a POST request like [`Caller::ok`]. Returns the id of the created object.
    pub async fn create(&self, path: &str, body: Value) -> anyhow::Result<String> {
        let created = self.ok(Method::POST, path, body).await?;
        Ok(created["id"]
            .as_str()
            .with_context(|| format!("POST {path}: no id"))?
            .to_owned())
    }
}
