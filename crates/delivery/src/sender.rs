//! The POST itself, through a client that goes nowhere it should not.

use std::sync::Arc;
use std::time::Duration;

use engine::error::{Result, innermost};
use engine::traces::TRACEPARENT;
use http::HeaderName;
use http::header::CONTENT_TYPE;
use jiff::Timestamp;
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder};
use url::Url;
use uuid::Uuid;

use super::delivery::Reply;
use super::limiter::MOST_TO_ONE;
use super::peer::PeerGuard;
use super::signature::Secrets;
use super::target::{Refusal, Targets};

/// How the service introduces itself to receivers.
const USER_AGENT: &str = "Vestibule-Webhooks/1";
/// The headers of Standard Webhooks 1.0.
const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// How long a connection that has nothing to do is kept.
const LONGEST_IDLE: Duration = Duration::from_secs(15);
/// As much of the body of an answer as a receiver may send unread, over HTTP/2.
const UNREAD: u32 = 16 * 1024;
/// Of all bodies on one connection.
const MOST_UNREAD: u32 = 1024 * 1024;
/// As much of an error's text as the log of attempts keeps.
const ERROR_LENGTH: usize = 200;

/// Sends messages to receivers.
pub(super) struct Sender {
    client: Client,
}

/// Where messages of a subscription are sent to.
#[derive(Debug)]
pub(super) struct Target {
    /// The address; none where it is not let through.
    pub address: Option<Url>,
    /// What they are signed with.
    pub secrets: Secrets,
}

/// What is sent, and where to.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// The delivery's id, the same for every attempt.
    pub id: Uuid,
    /// Where to.
    pub target: Arc<Target>,
    /// The body, serialized.
    pub body: String,
}

impl Sender {
    /// A sender; `ca` is a PEM bundle of authorities trusted besides the system's.
    pub(super) fn new(targets: Targets, timeout: Duration, ca: Option<&[u8]>) -> Result<Self, String> {
        let client = guarded(targets, USER_AGENT, timeout, ca)?
            // As many as there may be under way to one target, for as long as a burst has gaps.
            .pool_max_idle_per_host(MOST_TO_ONE)
            .pool_idle_timeout(LONGEST_IDLE)
            // Nothing of a body is read, so nothing much of it needs to arrive.
            .http2_initial_stream_window_size(UNREAD)
            .http2_initial_connection_window_size(MOST_UNREAD)
            .build()
            .map_err(|error| format!("webhooks cannot be sent: {}", innermost(&error)))?;
        Ok(Self { client })
    }

    /// Makes one attempt. Only the status of the answer is read.
    pub(super) async fn post(&self, message: Message, trace: Option<String>, now: Timestamp) -> Result<Reply> {
        let Message { id, target, body } = message;
        let Some(address) = target.address.clone() else { return Ok(Reply::Private) };
        let (id, timestamp) = (id.to_string(), now.as_second());
        let signature = target.secrets.sign(&id, now, &body)?;
        let asked = self.client.post(address);
        let sent = trace.into_iter().fold(asked, |asked, trace| asked.header(TRACEPARENT, trace));
        let sent = sent
            .header(CONTENT_TYPE, "application/json")
            .header(WEBHOOK_ID, id)
            .header(WEBHOOK_TIMESTAMP, timestamp)
            .header(WEBHOOK_SIGNATURE, signature)
            .body(body)
            .send()
            .await;
        Ok(match sent {
            Ok(response) => Reply::Status(response.status().as_u16()),
            Err(error) => answer(error),
        })
    }
}

/// A client that asks, over https alone, what the guard lets through, goes where it is sent and nowhere else, and asks once; `ca` is
/// a PEM bundle of authorities trusted besides the system's.
pub fn guarded(targets: Targets, user_agent: &str, timeout: Duration, ca: Option<&[u8]>) -> Result<ClientBuilder, String> {
    let authorities = match ca {
        Some(pem) => authorities(pem)?,
        None => Vec::new(),
    };
    Ok(Client::builder()
        .user_agent(user_agent)
        .timeout(timeout)
        .https_only(true)
        .redirect(Policy::none())
        // A proxy would resolve the name itself, past the guard.
        .no_proxy()
        .dns_resolver(targets.clone())
        .connector_layer(PeerGuard::new(targets))
        // Attempts are counted; none is made behind the count.
        .retry(reqwest::retry::never())
        .tls_certs_merge(authorities))
}

fn authorities(pem: &[u8]) -> Result<Vec<Certificate>, String> {
    match Certificate::from_pem_bundle(pem) {
        Ok(found) if found.is_empty() => Err("the file of webhook authorities holds no certificate".into()),
        Ok(found) => Ok(found),
        Err(error) => Err(format!("the file of webhook authorities does not read: {}", innermost(&error))),
    }
}

/// What an attempt without a response came to.
fn answer(error: reqwest::Error) -> Reply {
    // The owner of the subscription knows the URL; whoever else reads of the error need not.
    let error = error.without_url();
    let cause = innermost(&error);
    if matches!(cause.downcast_ref::<Refusal>(), Some(Refusal::Private)) {
        return Reply::Private;
    }
    let reason = if error.is_timeout() { "timed out".to_owned() } else { cause.to_string() };
    Reply::Nothing(reason.chars().take(ERROR_LENGTH).collect())
}
