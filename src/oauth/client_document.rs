//! Clients described by a metadata document at an https address, which is also their id (draft
//! client-id-metadata-document). The document is fetched when a member is asked for consent and
//! kept for a day.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use delivery::{Targets, guarded};
use engine::access::Organization;
use engine::error::{Result, innermost};
use engine::moment::Moment;
use engine::pipeline::Service;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Client as Http, StatusCode};
use tokio::sync::Notify;
use url::Url;
use uuid::Uuid;

use super::client::{Client, ClientId};
use super::client_metadata::ClientMetadata;
use crate::platform::OauthApp;

store::statements! {
    /// Stores the content of a document in place of its earlier content.
    KEEP = "insert into oauth_app (id, created_at, updated_at, doc, document_url, idle_since) values (?1, ?2, ?2, ?3, ?4, ?2)
        on conflict (document_url) do update set updated_at = excluded.updated_at, doc = excluded.doc, idle_since = excluded.idle_since";
}

/// Deadline for fetching a document, from name resolution to the last byte.
const DEADLINE: Duration = Duration::from_secs(5);
/// Maximum size of a document: 64 KiB.
const LIMIT: usize = 64 << 10;
/// Time for which a fetched document is used.
const KEPT: SignedDuration = SignedDuration::from_hours(24);
/// Maximum number of concurrent fetches. An organization may take at most as many slots as it
/// leaves free, so there is always one for another organization.
const MOST: usize = 32;
/// The user agent of the requests for documents.
const USER_AGENT: &str = "Vestibule-OAuth/1";

/// Fetches documents. The application state holds it.
pub struct Documents {
    http: Http,
    targets: Targets,
    places: Arc<FetchSlots>,
}

/// The slots of running fetches, by organization.
#[derive(Default)]
struct FetchSlots {
    taken: Mutex<HashMap<Uuid, usize>>,
    freed: Notify,
}

/// A slot, held while a document is being fetched.
struct FetchSlot {
    places: Arc<FetchSlots>,
    organization: Uuid,
}

impl FetchSlots {
    /// Waits for a slot.
    async fn enter(self: &Arc<Self>, organization: Uuid) -> FetchSlot {
        loop {
            let freed = self.freed.notified();
            if let Some(place) = self.try_enter(organization) {
                return place;
            }
            freed.await;
        }
    }

    fn try_enter(self: &Arc<Self>, organization: Uuid) -> Option<FetchSlot> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = taken.values().sum();
        let own = taken.get(&organization).copied().unwrap_or_default();
        if own >= MOST.saturating_sub(all) {
            return None;
        }
        *taken.entry(organization).or_default() += 1;
        drop(taken);
        Some(FetchSlot {
            places: self.clone(),
            organization,
        })
    }
}

impl Drop for FetchSlot {
    fn drop(&mut self) {
        let mut taken = self
            .places
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.organization) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.organization);
            }
        }
        drop(taken);
        self.places.freed.notify_waiters();
    }
}

/// The reason why a document cannot be used, for the log.
type DocumentFailure = String;

impl Documents {
    /// Creates the fetcher. Documents are fetched only from targets that webhooks may be sent to.
    /// `ca` is a PEM bundle of additional trusted authorities.
    pub fn new(targets: Targets, ca: Option<&[u8]>) -> Result<Self, String> {
        let http = guarded(targets.clone(), USER_AGENT, DEADLINE, ca)?.build();
        let http = http.map_err(|error| {
            format!(
                "cannot create the client that fetches OAuth client documents: {}",
                innermost(&error)
            )
        })?;
        Ok(Self {
            http,
            targets,
            places: Arc::default(),
        })
    }

    /// Fetches the document at an address for an organization, within the deadline.
    async fn fetch(&self, url: &Url, organization: Uuid) -> Result<OauthApp, DocumentFailure> {
        let fetched = tokio::time::timeout(DEADLINE, async {
            let _place = self.places.enter(organization).await;
            self.read(url).await
        });
        parse(&fetched.await.map_err(|_| "timed out".to_owned())??, url)
    }

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
        // A redirect is not a document either (section 5).
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

/// Reads a document that was fetched from an address. It must name that address itself (section
/// 4.1) and no unsupported authentication method.
fn parse(document: &[u8], url: &Url) -> Result<OauthApp, DocumentFailure> {
    let metadata =
        ClientMetadata::read(document).map_err(|refusal| refusal.description.to_owned())?;
    if metadata.client_id.as_deref() != Some(url.as_str()) {
        return Err("its client_id differs from its address".into());
    }
    if !metadata.is_public_document() {
        return Err("its token_endpoint_auth_method is not \"none\"".into());
    }
    metadata
        .leniently()
        .map_err(|refusal| refusal.description.to_owned())
}

/// Whether a document that was fetched at this time is still used.
fn is_fresh(fetched_at: Option<Moment>, now: Timestamp) -> bool {
    fetched_at
        .and_then(|moment| moment.0.checked_add(KEPT).ok())
        .is_some_and(|until| now < until)
}

/// Returns the stored client of a document if it is fresh. `None` means that the document must be
/// fetched first.
pub(super) fn kept(found: Option<Client>, now: Timestamp) -> Option<Client> {
    found.filter(|client| is_fresh(client.about.fetched_at, now))
}

/// Fetches the current document of a client and stores it for all nodes. Returns `None` if the
/// document cannot be used; the log says why. The fetch counts against an organization's share, so
/// that slow name resolution does not delay other organizations.
pub(super) async fn fetched(
    service: &Service,
    url: &Url,
    on_behalf_of: &Organization,
) -> Result<Option<Client>> {
    let Some(documents) = service.app_state.extension::<Documents>() else {
        return Ok(None);
    };
    let about = match delivery::on_behalf_of(on_behalf_of.id, documents.fetch(url, on_behalf_of.id))
        .await
    {
        Ok(about) => about,
        Err(reason) => {
            tracing::info!(client = %url, organization = %on_behalf_of.id, reason, "cannot use the metadata document of an OAuth client");
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
            Client::find(tx, &ClientId::Document(url))
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
            let document = json!({ "client_id": client_id, "redirect_uris": ["https://app.example/cb"], "token_endpoint_auth_method": method });
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
    fn slow_documents_of_an_organization_leave_places_to_others() {
        let places = Arc::<FetchSlots>::default();
        let mut taken = Vec::new();
        for organization in 1..=4 {
            let id = Uuid::from_u128(organization);
            while let Some(place) = places.try_enter(id) {
                taken.push(place);
            }
            assert!(taken.iter().any(|place| place.organization == id));
        }
        assert_eq!(
            taken
                .iter()
                .filter(|place| place.organization == Uuid::from_u128(1))
                .count(),
            MOST / 2
        );
        drop(taken);
        assert!(places.taken.lock().unwrap().is_empty());
    }

    #[test]
    fn a_fetched_document_is_fresh_for_a_day() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert!(is_fresh(Some(Moment(at(0))), at(86_399)));
        assert!(!is_fresh(Some(Moment(at(0))), at(86_400)) && !is_fresh(None, at(0)));
    }
}
