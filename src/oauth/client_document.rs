//! Clients that are described by a document at an https address, which is what they are called (draft
//! client-id-metadata-document): fetched when a member is asked, kept for a day.

use std::time::Duration;

use delivery::{Targets, guarded};
use engine::access::Organization;
use engine::error::{Result, innermost};
use engine::moment::Moment;
use engine::pipeline::Service;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Client as Http, StatusCode};
use tokio::sync::Semaphore;
use url::Url;

use super::client::{Client, ClientId};
use super::client_metadata::Metadata;
use crate::platform::OauthApp;

store::statements! {
    /// Keeps what a document says, in the place of what it said before.
    KEEP = "insert into oauth_app (id, created_at, updated_at, doc, document_url, idle_since) values (?1, ?2, ?2, ?3, ?4, ?2)
        on conflict (document_url) do update set updated_at = excluded.updated_at, doc = excluded.doc, idle_since = excluded.idle_since";
}

/// How long a document may take in all, from the name to the last byte.
const DEADLINE: Duration = Duration::from_secs(5);
/// 64 KiB: the greatest document that is read.
const LIMIT: usize = 64 << 10;
/// How long what a document says is taken for true.
const KEPT: SignedDuration = SignedDuration::from_hours(24);
/// Documents fetched at once.
const MOST: usize = 16;
/// How the service introduces itself to those who have such documents.
const USER_AGENT: &str = "Vestibule-OAuth/1";

/// Fetches documents; a part of the kit.
pub struct Documents {
    http: Http,
    targets: Targets,
    places: Semaphore,
}

/// Why a document is of no use, for the log.
type Unfit = String;

impl Documents {
    /// Documents are asked for where webhooks may go, and nowhere else; `ca` is a PEM bundle of authorities trusted besides.
    pub fn new(targets: Targets, ca: Option<&[u8]>) -> Result<Self, String> {
        let http = guarded(targets.clone(), USER_AGENT, DEADLINE, ca)?.build();
        let http = http.map_err(|error| format!("documents of clients cannot be fetched: {}", innermost(&error)))?;
        Ok(Self { http, targets, places: Semaphore::new(MOST) })
    }

    /// What the document at an address says, within the deadline.
    async fn fetch(&self, url: &Url) -> Result<OauthApp, Unfit> {
        let fetched = tokio::time::timeout(DEADLINE, async {
            let _place = self.places.acquire().await.map_err(|error| error.to_string())?;
            self.read(url).await
        });
        said(&fetched.await.map_err(|_| "timed out".to_owned())??, url)
    }

    async fn read(&self, url: &Url) -> Result<Vec<u8>, Unfit> {
        let address = self.targets.address(url.as_str()).ok_or("the address is not let through")?;
        let mut response = self.http.get(address).header(http::header::ACCEPT, "application/json").send().await.map_err(reason)?;
        // A redirect is no document either (section 5).
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

fn reason(error: reqwest::Error) -> Unfit {
    if error.is_timeout() { "timed out".into() } else { innermost(&error).to_string() }
}

/// What a document says that was fetched from an address: it must name that address itself (section 4.1), and no way to show who the
/// client is that there is not.
fn said(document: &[u8], url: &Url) -> Result<OauthApp, Unfit> {
    let metadata = Metadata::read(document).map_err(|refusal| refusal.description.to_owned())?;
    if metadata.client_id.as_deref() != Some(url.as_str()) {
        return Err("its client_id is another address".into());
    }
    if !metadata.is_public_document() {
        return Err("its token_endpoint_auth_method is not none".into());
    }
    metadata.leniently().map_err(|refusal| refusal.description.to_owned())
}

/// Whether what was fetched at a moment is still taken for true.
fn is_fresh(fetched_at: Option<Moment>, now: Timestamp) -> bool {
    fetched_at.and_then(|moment| moment.0.checked_add(KEPT).ok()).is_some_and(|until| now < until)
}

/// The client of a document: as it is kept, where that is fresh. None where it has to be fetched first.
pub(super) fn kept(found: Option<Client>, now: Timestamp) -> Option<Client> {
    found.filter(|client| is_fresh(client.about.fetched_at, now))
}

/// The client of a document as the document is now, which is kept for all nodes; none where it is of no use, which the log says. It is
/// fetched on behalf of an organization: names that take long are in nobody else's way.
pub(super) async fn fetched(service: &Service, url: &Url, on_behalf_of: &Organization) -> Result<Option<Client>> {
    let Some(documents) = service.kit.part::<Documents>() else { return Ok(None) };
    let about = match delivery::on_behalf_of(on_behalf_of.id, documents.fetch(url)).await {
        Ok(about) => about,
        Err(reason) => {
            tracing::info!(client = %url, organization = %on_behalf_of.id, reason, "the document of a client is of no use");
            return Ok(None);
        }
    };
    let now = service.clock.now();
    let (app, url) = (service.kit.ids.uuid(now), url.clone());
    let doc = store::Value::json(&OauthApp { fetched_at: Some(Moment(now)), ..about })?;
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
    fn a_document_speaks_for_its_own_address_alone() {
        let url = Url::parse("https://app.example/client.json").unwrap();
        let document = |client_id: &str, method: &str| {
            let document =
                json!({ "client_id": client_id, "redirect_uris": ["https://app.example/cb"], "token_endpoint_auth_method": method });
            said(document.to_string().as_bytes(), &url)
        };
        assert!(document(url.as_str(), "none").is_ok());
        for other in ["https://app.example/other.json", "https://app.example/client.json?", "https://APP.example/client.json", ""] {
            assert!(document(other, "none").is_err(), "{other}");
        }
        assert!(document(url.as_str(), "private_key_jwt").is_err());
        assert!(said(b"<!doctype html>", &url).is_err());
    }

    #[test]
    fn what_was_fetched_is_taken_for_true_for_a_day() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert!(is_fresh(Some(Moment(at(0))), at(86_399)));
        assert!(!is_fresh(Some(Moment(at(0))), at(86_400)) && !is_fresh(None, at(0)));
    }
}
