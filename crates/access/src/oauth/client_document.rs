//! Clients with a metadata document at an https address, which is also their `client_id` (draft
//! client-id-metadata-document). The server fetches the document before it shows the consent page,
//! and stores it for a day.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use delivery::{ClientTls, Targets, guarded_client};
use engine::access::Organization;
use engine::error::{Result, innermost};
use engine::moment::Moment;
use engine::pipeline::Service;
use engine::values;
use features::platform::OauthApp;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Client as Http, StatusCode};
use tokio::sync::Notify;
use url::Url;
use uuid::Uuid;

use super::client::{ClientId, OauthClient};
use super::client_metadata::ClientMetadata;

store::statements! {
    /// Inserts or updates a client with the content of its metadata document.
    KEEP = "insert into oauth_app (id, created_at, updated_at, doc, document_url, idle_since)
        values (?1, ?2, ?2, ?3, ?4, ?2)
        on conflict (document_url) do update set updated_at = excluded.updated_at,
        doc = excluded.doc, idle_since = excluded.idle_since";
}

/// Deadline for fetching a metadata document, from name resolution to the last byte.
const DEADLINE: Duration = Duration::from_secs(5);
/// Maximum size of a metadata document: 64 KiB.
const LIMIT: usize = 64 << 10;
/// Time for which a stored metadata document is used without another fetch.
const CACHE_LIFETIME: SignedDuration = SignedDuration::from_hours(24);
/// Maximum number of metadata documents that are fetched at the same time. An organization gets
/// another slot only if more slots are free than the organization uses. So one organization alone
/// uses at most half of the slots.
const MAX_FETCHES: usize = 32;
/// The user agent of the requests for metadata documents.
const USER_AGENT: &str = "Vestibule-OAuth/1";

/// Fetches metadata documents. An extension of the application state.
pub struct ClientDocumentFetcher {
    http: Http,
    targets: Targets,
    slots: Arc<FetchSlots>,
}

/// The number of fetches that are in progress for each organization (`in_use`), and the
/// notification that a fetch has ended (`freed`).
#[derive(Default)]
struct FetchSlots {
    in_use: Mutex<HashMap<Uuid, usize>>,
    freed: Notify,
}

/// A slot of an organization, for one fetch of a metadata document. When this value is dropped, the
/// slot is free again.
struct FetchSlot {
    slots: Arc<FetchSlots>,
    organization: Uuid,
}

impl FetchSlots {
    /// Waits until the organization may start another fetch, and returns the slot for it.
    async fn acquire(self: &Arc<Self>, organization: Uuid) -> FetchSlot {
        loop {
            let freed = self.freed.notified();
            if let Some(slot) = self.try_acquire(organization) {
                return slot;
            }
            freed.await;
        }
    }

    fn try_acquire(self: &Arc<Self>, organization: Uuid) -> Option<FetchSlot> {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = in_use.values().sum();
        let own = in_use.get(&organization).copied().unwrap_or_default();
        if own >= MAX_FETCHES.saturating_sub(total) {
            return None;
        }
        *in_use.entry(organization).or_default() += 1;
        drop(in_use);
        Some(FetchSlot {
            slots: self.clone(),
            organization,
        })
    }
}

impl Drop for FetchSlot {
    fn drop(&mut self) {
        let mut in_use = self
            .slots
            .in_use
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = in_use.get_mut(&self.organization) {
            *count -= 1;
            if *count == 0 {
                in_use.remove(&self.organization);
            }
        }
        drop(in_use);
        self.slots.freed.notify_waiters();
    }
}

/// The reason why a metadata document cannot be used, as a text for the log.
type DocumentFailure = String;

impl ClientDocumentFetcher {
    /// Creates the fetcher. Like the sender of webhooks, it does not connect to private IP
    /// addresses.
    pub fn new(targets: Targets, tls: &ClientTls) -> Result<Self, String> {
        let http = guarded_client(targets.clone(), USER_AGENT, DEADLINE, tls).build();
        let http = http.map_err(|error| {
            format!(
                "cannot create the client that fetches OAuth client documents: {}",
                innermost(&error)
            )
        })?;
        Ok(Self {
            http,
            targets,
            slots: Arc::default(),
        })
    }

    /// Fetches a metadata document within [`DEADLINE`]. The fetch uses a slot of the organization.
    async fn fetch(&self, url: &Url, organization: Uuid) -> Result<OauthApp, DocumentFailure> {
        let fetched = tokio::time::timeout(DEADLINE, async {
            let _slot = self.slots.acquire(organization).await;
            self.read(url).await
        });
        parse(&fetched.await.map_err(|_| "timed out".to_owned())??, url)
    }

    /// Requests the metadata document at `url`. Reads at most [`LIMIT`] bytes.
    async fn read(&self, url: &Url) -> Result<Vec<u8>, DocumentFailure> {
        let address = self
            .targets
            .address(url.as_str())
            .ok_or("the address is not allowed")?;
        let mut response = self
            .http
            .get(address)
            .header(http::header::ACCEPT, "application/json")
            .send()
            .await
            .map_err(reason)?;
        // The draft forbids following redirects (client-id-metadata-document, section 5). So a
        // redirect is an error.
        if response.status() != StatusCode::OK {
            return Err(format!("answered {}", response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reason)? {
            if body.len() + chunk.len() > LIMIT {
                return Err("is too large".into());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

fn reason(error: reqwest::Error) -> DocumentFailure {
    if error.is_timeout() {
        "timed out".into()
    } else {
        innermost(&error).to_string()
    }
}

/// Parses a metadata document. Its `client_id` must be the address from which it was fetched, and
/// its `token_endpoint_auth_method` must be missing or `none` (draft client-id-metadata-document,
/// section 4.1).
fn parse(document: &[u8], url: &Url) -> Result<OauthApp, DocumentFailure> {
    let metadata = ClientMetadata::read(document).map_err(|error| error.description.to_owned())?;
    if metadata.client_id.as_deref() != Some(url.as_str()) {
        return Err("its client_id differs from its address".into());
    }
    if !metadata.is_public_document() {
        return Err("its token_endpoint_auth_method is not \"none\"".into());
    }
    metadata
        .into_document_app()
        .map_err(|error| error.description.to_owned())
}

/// Returns whether a document that was fetched at `fetched_at` can still be used.
fn is_fresh(fetched_at: Option<Moment>, now: Timestamp) -> bool {
    fetched_at
        .and_then(|fetched_at| fetched_at.0.checked_add(CACHE_LIFETIME).ok())
        .is_some_and(|until| now < until)
}

/// Returns the client if its stored document can still be used. Returns `None` if the document must
/// be fetched first.
pub(super) fn if_fresh(client: Option<OauthClient>, now: Timestamp) -> Option<OauthClient> {
    client.filter(|client| is_fresh(client.data.fetched_at, now))
}

/// Fetches the current document of a client and stores it for all nodes. Returns `None` if the
/// document cannot be used, and logs the reason. The DNS query of the fetch counts against the
/// organization's limit, so that slow DNS answers do not delay other organizations.
pub(super) async fn fetch_client(
    service: &Service,
    url: &Url,
    on_behalf_of: &Organization,
) -> Result<Option<OauthClient>> {
    let Some(documents) = service.app_state.extension::<ClientDocumentFetcher>() else {
        return Ok(None);
    };
    let about = match delivery::on_behalf_of(on_behalf_of.id, documents.fetch(url, on_behalf_of.id))
        .await
    {
        Ok(about) => about,
        Err(reason) => {
            tracing::info!(
                client = %url,
                organization = %on_behalf_of.id,
                reason,
                "cannot use the metadata document of an OAuth client"
            );
            return Ok(None);
        }
    };
    let now = service.clock.now();
    let (app, url) = (service.app_state.ids.uuid(now), url.clone());
    let doc = store::Value::json(&OauthApp {
        fetched_at: Some(Moment(now)),
        ..about
    })?;
    service
        .store
        .write(move |tx| {
            tx.execute(&KEEP, &values![app, now, doc, url.as_str()])?;
            OauthClient::find(tx, &ClientId::Document(url))
        })
        .await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_valid_only_for_its_own_url() {
        let url = Url::parse("https://app.example/client.json").unwrap();
        let document = |client_id: &str, method: &str| {
            let document = json!({
                "client_id": client_id,
                "redirect_uris": ["https://app.example/cb"],
                "token_endpoint_auth_method": method,
            });
            parse(document.to_string().as_bytes(), &url)
        };
        assert!(document(url.as_str(), "none").is_ok());
        for other in [
            "https://app.example/other.json",
            "https://app.example/client.json?",
            "https://APP.example/client.json",
            "",
        ] {
            assert!(document(other, "none").is_err(), "{other}");
        }
        assert!(document(url.as_str(), "private_key_jwt").is_err());
        assert!(parse(b"<!doctype html>", &url).is_err());
    }

    #[test]
    fn slow_documents_of_an_organization_leave_slots_to_others() {
        let slots = Arc::<FetchSlots>::default();
        let mut acquired = Vec::new();
        for organization in 1..=4 {
            let id = Uuid::from_u128(organization);
            while let Some(slot) = slots.try_acquire(id) {
                acquired.push(slot);
            }
            assert!(acquired.iter().any(|slot| slot.organization == id));
        }
        assert_eq!(
            acquired
                .iter()
                .filter(|slot| slot.organization == Uuid::from_u128(1))
                .count(),
            MAX_FETCHES / 2
        );
        drop(acquired);
        assert!(slots.in_use.lock().unwrap().is_empty());
    }

    #[test]
    fn a_fetched_document_is_fresh_for_a_day() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert!(is_fresh(Some(Moment(at(0))), at(86_399)));
        assert!(!is_fresh(Some(Moment(at(0))), at(86_400)) && !is_fresh(None, at(0)));
    }
}
