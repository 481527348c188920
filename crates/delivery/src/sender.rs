//! Sends the POST request of a delivery, through an HTTP client that connects only to permitted
//! targets.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::error::Result;
use engine::traces::TRACEPARENT;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderName, Request};
use http_body_util::Full;
use jiff::Timestamp;
use reqwest::ClientBuilder;
use reqwest::redirect::Policy;
use url::Url;
use uuid::Uuid;

use super::client::Client;
use super::delivery::Reply;
use super::failure::{cause, describe};
use super::peer::PeerGuard;
use super::signature::Secrets;
use super::target::{Refusal, Targets};
use super::tls::ClientTls;

/// The `User-Agent` of deliveries.
const SENDER_NAME: &str = "Vestibule-Webhooks/1";
/// The names of the headers that Standard Webhooks 1.0 defines.
const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// Maximum number of characters of an error message in the log of attempts.
const ERROR_LENGTH: usize = 200;

/// Sends messages to receivers.
pub(super) struct Sender {
    client: Client,
    timeout: Duration,
}

/// The target of a subscription's messages.
#[derive(Debug)]
pub(super) struct Target {
    /// The URL to which the message is sent. `None` if the target is not permitted.
    pub address: Option<Url>,
    /// The secrets that sign the message.
    pub secrets: Secrets,
}

/// A message and its target.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// The id of the delivery, which is the same at every attempt.
    pub id: Uuid,
    /// The receiver's URL and the signing secrets, the same for all messages of a batch.
    pub target: Arc<Target>,
    /// The serialized JSON body.
    pub body: String,
}

impl Sender {
    pub(super) fn new(targets: &Targets, timeout: Duration, tls: &ClientTls) -> Self {
        Self {
            client: Client::new(targets, tls),
            timeout,
        }
    }

    /// Makes one attempt to send a message. Only the status and `Retry-After` of the response are
    /// read.
    pub(super) async fn post(
        &self,
        message: Message,
        trace: Option<String>,
        now: Timestamp,
    ) -> Result<Reply> {
        let Message { id, target, body } = message;
        let Some(address) = target.address.clone() else {
            return Ok(Reply::Private);
        };
        let (id, timestamp) = (id.to_string(), now.as_second());
        let signature = target.secrets.sign(&id, now, &body)?;
        let request = Request::post(address.as_str());
        let request = trace
            .into_iter()
            .fold(request, |request, trace| request.header(TRACEPARENT, trace))
            .header(USER_AGENT, SENDER_NAME)
            .header(ACCEPT, "*/*")
            .header(CONTENT_TYPE, "application/json")
            .header(WEBHOOK_ID, id)
            .header(WEBHOOK_TIMESTAMP, timestamp)
            .header(WEBHOOK_SIGNATURE, signature)
            .body(Full::new(Bytes::from(body)));
        let Ok(request) = request else {
            return Ok(Reply::Nothing("the address is not valid".to_owned()));
        };
        // The HTTP client sends the request again on a new connection if the receiver has not
        // processed the first one. This time limit covers both requests together.
        let result = tokio::time::timeout(self.timeout, self.client.send(request)).await;
        Ok(match result {
            Ok(Ok(response)) => Reply::of(
                response.status().as_u16(),
                requested_delay(response.headers(), now),
            ),
            Ok(Err(error)) => reply_of(&error),
            Err(_) => Reply::Nothing("timed out".to_owned()),
        })
    }
}

/// Returns the delay that `Retry-After` asks for. The header has either a number of seconds or a
/// date.
fn requested_delay(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = Timestamp::try_from(httpdate::parse_http_date(value).ok()?).ok()?;
    Duration::try_from(now.duration_until(until)).ok()
}

/// Returns the builder of a client that uses only https and connects only to the hosts that
/// `targets` permits. The client follows no redirects and never sends a request again.
pub fn guarded_client(
    targets: Targets,
    user_agent: &str,
    timeout: Duration,
    tls: &ClientTls,
) -> ClientBuilder {
    reqwest::Client::builder()
        .user_agent(user_agent)
        .timeout(timeout)
        .https_only(true)
        .redirect(Policy::none())
        // A proxy would resolve the host name itself, so `PeerGuard` could not check the IP address
        // of the target.
        .no_proxy()
        .dns_resolver(targets.clone())
        .connector_layer(PeerGuard::new(targets))
        .retry(reqwest::retry::never())
        .tls_backend_preconfigured(tls.with_http_versions())
}

/// Returns whether a request failed because the IP address of its target is not permitted.
#[must_use]
pub fn is_private(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(
        cause(error).downcast_ref::<Refusal>(),
        Some(Refusal::Private)
    )
}

/// Returns the reply for an attempt that failed with this error. A text of the reply is cut to
/// [`ERROR_LENGTH`] characters.
fn reply_of(error: &(dyn std::error::Error + 'static)) -> Reply {
    if is_private(error) {
        return Reply::Private;
    }
    Reply::Nothing(describe(error).chars().take(ERROR_LENGTH).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_seconds_and_as_a_date() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        for (value, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sat, 21 Nov 2026 09:31:00 GMT", Some(60)),
            ("Sat, 21 Nov 2026 09:29:00 GMT", None),
            ("soon", None),
            ("-5", None),
            ("1.5", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(requested_delay(&headers, now), expected, "{value}");
        }
        assert_eq!(requested_delay(&HeaderMap::new(), now), None);
    }
}
