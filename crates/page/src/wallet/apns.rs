//! A client of Apple's push service. A push makes a phone fetch the changed passes from this
//! service.
//!
//! The certificate of the pass type authenticates this service to Apple. A push has no content.

use std::time::Duration;

use engine::error::innermost;
use http::StatusCode;
use reqwest::redirect::Policy;
use reqwest::tls::{Certificate, Identity};
use reqwest::{Client, Response};
use serde::Deserialize;
use url::Url;

use super::PassSigner;

/// Time limit of a request to Apple's service.
const DEADLINE: Duration = Duration::from_secs(10);
/// The `User-Agent` of pushes.
const USER_AGENT: &str = "Vestibule-Passes/1";
/// Maximum number of bytes that the client reads from a response of Apple's service.
const MAX_RESPONSE: usize = 4 << 10;
/// Initial flow-control window of an HTTP/2 stream, in bytes.
const RECEIVE_WINDOW: u32 = 16 << 10;
/// The reasons in Apple's 400 responses that mean that the push token is not valid for passes of
/// this pass type. A retry would fail again.
const NO_TOKEN: [&str; 4] = [
    "BadDeviceToken",
    "DeviceTokenNotForTopic",
    "MissingDeviceToken",
    "Unregistered",
];

/// A client of Apple's push service.
pub struct Apns {
    client: Client,
    url: Url,
    topic: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PushResult {
    /// Apple accepted the push.
    Accepted,
    /// The phone no longer has the pass, or its push token is not valid.
    Gone,
    /// Apple refused the push and would refuse the same push again.
    Refused,
    /// There was no response, or Apple's refusal is temporary. A retry can succeed.
    Failed,
}

/// The JSON body with which Apple refuses a push.
#[derive(Default, Deserialize)]
struct PushRefusal {
    #[serde(default)]
    reason: String,
}

impl Apns {
    /// Creates a client of Apple's push service at `url`. `ca` is a PEM bundle of certificate
    /// authorities. The client trusts these authorities in addition to those of the system.
    pub fn new(url: Url, signer: &PassSigner, ca: Option<&[u8]>) -> Result<Self, String> {
        let wrong = |error: reqwest::Error| format!("--apns-url: {}", innermost(&error));
        let authorities = ca.map_or_else(|| Ok(Vec::new()), Certificate::from_pem_bundle);
        let client = Client::builder()
            .user_agent(USER_AGENT)
            .timeout(DEADLINE)
            .identity(Identity::from_pem(signer.identity()).map_err(wrong)?)
            .tls_certs_merge(authorities.map_err(wrong)?)
            .http2_prior_knowledge()
            .http2_initial_stream_window_size(RECEIVE_WINDOW)
            .redirect(Policy::none())
            .no_proxy()
            .retry(reqwest::retry::never())
            .build()
            .map_err(wrong)?;
        Ok(Self {
            client,
            url,
            topic: signer.pass_type.clone(),
        })
    }

    /// Sends a push to the phone with this push token. Logs a warning if Apple refuses the push or
    /// cannot be reached.
    pub(super) async fn push(&self, token: &str) -> PushResult {
        let mut url = self.url.clone();
        let Ok(mut path) = url.path_segments_mut() else {
            return PushResult::Refused;
        };
        path.pop_if_empty().extend(["3", "device", token]);
        drop(path);
        let request = self
            .client
            .post(url)
            .header("apns-topic", &self.topic)
            .header("apns-push-type", "background")
            .header("apns-priority", "5")
            .body("{}");
        match request.send().await {
            Ok(response) => {
                let status = response.status();
                let reason = reason(response).await;
                let pushed = result_of(status, &reason);
                if matches!(pushed, PushResult::Refused | PushResult::Failed) {
                    tracing::warn!(
                        status = status.as_u16(),
                        reason,
                        "Apple's push service refused a push; it is sent again if that can help"
                    );
                }
                pushed
            }
            Err(error) => {
                let error = error.without_url();
                tracing::warn!(
                    error = %innermost(&error),
                    "could not reach Apple's push service; the push is sent again later"
                );
                PushResult::Failed
            }
        }
    }
}

/// Returns Apple's reason for a refusal if it is a short word; otherwise an empty text.
async fn reason(mut response: Response) -> String {
    if response.status().is_success() {
        return String::new();
    }
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_RESPONSE {
            return String::new();
        }
    }
    let PushRefusal { mut reason } = serde_json::from_slice(&body).unwrap_or_default();
    reason.retain(|character| character.is_ascii_alphanumeric());
    reason.truncate(60);
    reason
}

/// Returns the result of a push to which Apple's service responded with this status and reason.
fn result_of(status: StatusCode, reason: &str) -> PushResult {
    match status.as_u16() {
        200..=299 => PushResult::Accepted,
        410 => PushResult::Gone,
        400 if NO_TOKEN.contains(&reason) => PushResult::Gone,
        // A retry can succeed: a wrong or expired certificate can be replaced, and a rate limit
        // ends.
        403 | 408 | 429 | 500..=599 => PushResult::Failed,
        _ => PushResult::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_decides_whether_a_push_is_repeated() {
        for (status, reason, expected) in [
            (200, "", PushResult::Accepted),
            (410, "Unregistered", PushResult::Gone),
            (400, "BadDeviceToken", PushResult::Gone),
            (400, "BadTopic", PushResult::Refused),
            (404, "BadPath", PushResult::Refused),
            (301, "", PushResult::Refused),
            (403, "BadCertificate", PushResult::Failed),
            (429, "TooManyRequests", PushResult::Failed),
            (503, "Shutdown", PushResult::Failed),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(result_of(status, reason), expected, "{status} {reason}");
        }
    }
}
