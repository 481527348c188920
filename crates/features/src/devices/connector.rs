//! The client of the device connector, the service that carries out commands to devices.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::error::{Error, Reason, Result, innermost};
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::Client;
use reqwest::redirect::Policy;
use serde::Serialize;
use serde_json::Value;
use url::Url;
use uuid::Uuid;

/// Deadline of a request to the connector, from opening the connection to the head of the response.
const DEADLINE: Duration = Duration::from_secs(10);
/// The User-Agent of requests to the connector.
const USER_AGENT: &str = "Vestibule-Devices/1";
/// Maximum number of commands of one organization that wait for the connector at the same time.
const MAX_WAITING: usize = 64;

/// A client of the device connector.
pub struct DeviceConnector {
    client: Client,
    endpoint: Url,
    waiting: WaitingCommands,
}

/// The number of waiting commands by organization. Organizations without waiting commands have no
/// entry.
type WaitingCommands = Arc<Mutex<HashMap<Uuid, usize>>>;

/// The body of a request to the connector.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConnectorRequest {
    pub organization_id: Uuid,
    pub device_id: Uuid,
    pub command: &'static str,
    pub arguments: Value,
    pub idempotency_key: Uuid,
}

impl DeviceConnector {
    /// Creates a client of the connector at a URL. `key` is the bearer token of the requests.
    pub fn new(endpoint: Url, key: Option<&str>) -> Result<Self, String> {
        let failure = |reason: &str| format!("devices cannot be controlled: {reason}");
        let mut headers = HeaderMap::new();
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                .map_err(|_| failure("the key contains characters that no header can have"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let client = Client::builder()
            .user_agent(USER_AGENT)
            .default_headers(headers)
            .timeout(DEADLINE)
            // Redirects are off, so that the bearer token is sent only to `endpoint`.
            .redirect(Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| failure(&innermost(&error).to_string()))?;
        Ok(Self {
            client,
            endpoint,
            waiting: WaitingCommands::default(),
        })
    }

    /// Sends a command to the connector. Fails with 502 if the connector refuses the command. Fails
    /// with 503 for any other failure: the device may have carried out the command. The caller can
    /// send the command again with the same idempotency key, and the connector should carry it out
    /// only once.
    pub(super) async fn send(&self, order: &ConnectorRequest) -> Result<()> {
        let _slot = QueueSlot::take(&self.waiting, order.organization_id)?;
        let request = self.client.post(self.endpoint.clone()).json(order);
        let response = request.send().await.map_err(|error| {
            let error = error.without_url();
            if error.is_timeout() {
                outcome_unknown("the device connector timed out")
            } else {
                outcome_unknown(&format!("the device connector: {}", innermost(&error)))
            }
        })?;
        let status = response.status();
        let cause = format!("the device connector answered {}", status.as_u16());
        if status.is_success() {
            Ok(())
        } else if status.is_client_error() {
            Err(Error::provider(cause).with_message(Reason::rule(
                "device_refused",
                "The provider of the device refused the command.",
            )))
        } else {
            Err(outcome_unknown(&cause))
        }
    }
}

/// Returns the 503 error for a command whose outcome the connector did not report.
fn outcome_unknown(cause: &str) -> Error {
    Error::unavailable(cause).with_message(Reason::rule(
        "device_unanswered",
        "The device connector did not confirm the command; send it again with the same \
            Idempotency-Key.",
    ))
}

/// A slot for one command that waits for the connector. An organization has [`MAX_WAITING`] slots.
/// Dropping the slot frees it.
struct QueueSlot {
    waiting: WaitingCommands,
    organization: Uuid,
}

impl QueueSlot {
    /// Reserves a slot for an organization. Fails with 503 if all slots of the organization are in
    /// use.
    fn take(waiting: &WaitingCommands, organization: Uuid) -> Result<Self> {
        let mut counts = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(organization).or_default();
        if *count >= MAX_WAITING {
            return Err(Error::unavailable(
                "too many commands of one organization wait for the device connector",
            ));
        }
        *count += 1;
        Ok(Self {
            waiting: waiting.clone(),
            organization,
        })
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut counts = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.organization) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.organization);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_fits_no_header_is_not_repeated() {
        let url: Url = "https://devices.example/commands".parse().unwrap();
        let error = DeviceConnector::new(url, Some("se\ncret")).err().unwrap();
        assert!(!error.contains("cret"), "{error}");
    }

    #[test]
    fn one_organization_cannot_take_the_places_of_another() {
        let waiting = WaitingCommands::default();
        let [one, other] = [1, 2].map(Uuid::from_u128);
        let mut slots: Vec<_> = (0..MAX_WAITING)
            .map(|_| QueueSlot::take(&waiting, one).unwrap())
            .collect();
        assert!(QueueSlot::take(&waiting, one).is_err());
        assert!(QueueSlot::take(&waiting, other).is_ok());
        slots.pop();
        assert!(QueueSlot::take(&waiting, one).is_ok());
        drop(slots);
        assert!(waiting.lock().unwrap().is_empty());
    }
}
