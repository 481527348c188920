//! Clients: the apps that request access (RFC 6749, section 2). The `client_id` of an app is the
//! URL of its metadata document. If an app has no such document, its `client_id` is the id that
//! this server assigned.

use std::fmt;

use engine::context::Context;
use engine::error::Result;
use engine::format::is_uuid;
use engine::values;
use jiff::Timestamp;
use store::{Json, Row, Transaction};
use url::Url;
use uuid::Uuid;

use features::platform::OauthApp;

store::statements! {
    /// Selects the app with an id, if it has no metadata document.
    BY_ID = "select id, document_url, idle_since, secret_hash, replaced_hash, replaced_until, doc
        from oauth_app
        where id = ?1 and document_url is null";
    /// Selects the app whose metadata document has this address.
    BY_DOCUMENT = "select id, document_url, idle_since, secret_hash, replaced_hash, replaced_until,
        doc from oauth_app where document_url = ?1";
    /// Locks an app against deletion until the transaction ends.
    HOLD = "select a.id from oauth_app a join organization o on o.id = ?1 where a.id = ?2
        and o.erased_at is null for key share";
}

/// Maximum length of an address that names a metadata document, in bytes.
const MAX_URL_BYTES: usize = 2_000;

/// The `client_id` of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientId {
    /// The id of an app that the platform created or that has registered itself.
    App(Uuid),
    /// The address of a metadata document, for an app that has one.
    Document(Url),
}

impl ClientId {
    /// Parses a `client_id`. Does not check whether a client with this id exists.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if is_uuid(text) {
            return text.parse().ok().map(Self::App);
        }
        document_url(text).map(Self::Document)
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::App(id) => id.fmt(f),
            Self::Document(url) => url.fmt(f),
        }
    }
}

/// Parses the URL of a client's metadata document (draft client-id-metadata-document, section 3).
/// The URL must be https with a path, without dot segments, fragment, user name and password. It
/// must be normalized, because two clients are compared by their URLs, character by character.
fn document_url(text: &str) -> Option<Url> {
    let url = Url::parse(text)
        .ok()
        .filter(|_| text.len() <= MAX_URL_BYTES)?;
    let has_path = url.path().len() > 1 && url.host_str().is_some_and(|host| !host.is_empty());
    let has_no_user = url.username().is_empty() && url.password().is_none();
    (url.scheme() == "https"
        && has_path
        && has_no_user
        && url.fragment().is_none()
        && url.as_str() == text)
        .then_some(url)
}

/// The way in which this server learned of the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppOrigin {
    /// The platform created the app, so its name is trustworthy.
    Platform,
    /// The app has registered itself.
    Registered,
    /// The app publishes a metadata document. The URL of this document is the client id, and only
    /// the app's owner controls it.
    Document,
}

/// A client with its stored data and its secrets.
#[derive(Debug, Clone)]
pub(super) struct OauthClient {
    pub(super) app: Uuid,
    pub(super) id: ClientId,
    pub(super) origin: AppOrigin,
    pub(super) data: OauthApp,
    /// The hash of the client's secret; `None` for a public client, which has no secret.
    secret: Option<Vec<u8>>,
    /// The hash of the client's previous secret, and the time until which that secret is valid;
    /// `None` if the secret was never replaced.
    replaced: Option<(Vec<u8>, Timestamp)>,
}

impl OauthClient {
    /// Reads a client from the database; `None` if the database has no client with this id.
    pub(super) fn find(tx: &mut Transaction<'_>, id: &ClientId) -> Result<Option<Self>> {
        let row = match id {
            ClientId::App(app) => tx.row(&BY_ID, &[(*app).into()])?,
            ClientId::Document(url) => tx.row(&BY_DOCUMENT, &[url.as_str().into()])?,
        };
        row.map(|row| Self::from_row(&row, id.clone())).transpose()
    }

    fn from_row(row: &Row, id: ClientId) -> Result<Self> {
        let (is_idle, Json(about)) = (row.get::<Option<Timestamp>>(2)?.is_some(), row.get(6)?);
        let origin = match id {
            ClientId::Document(_) => AppOrigin::Document,
            ClientId::App(_) if is_idle => AppOrigin::Registered,
            ClientId::App(_) => AppOrigin::Platform,
        };
        let replaced = row.get::<Option<Vec<u8>>>(4)?.zip(row.get(5)?);
        Ok(Self {
            app: row.get(0)?,
            id,
            origin,
            data: about,
            secret: row.get(3)?,
            replaced,
        })
    }

    /// Locks the app against deletion until the transaction ends. Returns false if the app no
    /// longer exists.
    pub(super) fn lock(context: &mut Context<'_, '_>, app: Uuid) -> Result<bool> {
        context.exists(&HOLD, values![app])
    }

    /// Returns whether the client must send a secret (RFC 6749, section 2.1).
    pub(super) const fn is_confidential(&self) -> bool {
        self.secret.is_some()
    }

    /// Returns whether `hash` is the hash of a secret that is valid for the client now. The
    /// comparison does not take constant time, but its duration reveals nothing about the secret:
    /// an attacker cannot choose the beginning of a hash.
    pub(super) fn has_secret(&self, hash: &[u8], now: Timestamp) -> bool {
        let replaced = self
            .replaced
            .as_ref()
            .filter(|(_, until)| now < *until)
            .map(|(hash, _)| hash.as_slice());
        self.secret.as_deref() == Some(hash) || replaced == Some(hash)
    }

    /// Returns the client's name for display. If the name is empty, returns the host of the
    /// metadata document, or the app's id.
    pub(super) fn name(&self) -> String {
        match (self.data.name.trim(), &self.id) {
            ("", ClientId::Document(url)) => url.host_str().unwrap_or_default().to_owned(),
            ("", ClientId::App(id)) => id.to_string(),
            (name, _) => name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_client_id_is_a_uuid_or_the_url_of_its_document() {
        let id = "0192f0c1-2345-7abc-8def-0123456789ab";
        assert_eq!(ClientId::parse(id), ClientId::parse(&id.to_uppercase()));
        for url in [
            "https://app.example/client.json",
            "https://app.example:8443/a/b?c=d",
        ] {
            assert_eq!(ClientId::parse(url).unwrap().to_string(), url);
        }
        for invalid in [
            "",
            "app",
            "0192f0c123457abc8def0123456789ab",
            "http://app.example/client.json",
            "https://app.example",
            "https://app.example/",
            "https://app.example/client.json#x",
            "https://a@app.example/client.json",
            "https://a:b@app.example/client.json",
            "https://app.example/a/../client.json",
            "https://app.example/./client.json",
            "https://app.example/%2e%2e/client.json",
            "https://App.example/client.json",
            "HTTPS://app.example/client.json",
            "https://app.example:443/client.json",
            "https:app.example/client.json",
            "https://app.example\\client.json",
            " https://app.example/client.json",
            "https://app.example/cl\0ient",
        ] {
            assert_eq!(ClientId::parse(invalid), None, "{invalid:?}");
        }
        assert_eq!(
            ClientId::parse(&format!(
                "https://app.example/{}",
                "a".repeat(MAX_URL_BYTES)
            )),
            None
        );
    }

    #[test]
    fn a_replaced_client_secret_is_valid_for_its_grace_period() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let client = OauthClient {
            app: Uuid::nil(),
            id: ClientId::App(Uuid::nil()),
            origin: AppOrigin::Platform,
            data: OauthApp::default(),
            secret: Some(vec![2]),
            replaced: Some((vec![1], at(10))),
        };
        assert!(client.has_secret(&[2], at(99)) && client.has_secret(&[1], at(9)));
        assert!(
            !client.has_secret(&[1], at(10))
                && !client.has_secret(&[3], at(0))
                && !client.has_secret(&[], at(0))
        );
        assert!(
            !OauthClient {
                secret: None,
                replaced: None,
                ..client
            }
            .has_secret(&[], at(0))
        );
    }

    proptest! {
        #[test]
        fn a_document_client_id_is_kept_as_sent(
            text in prop_oneof!["https://[a-z.]{1,9}/[a-z/.%2#?:@]{0,9}", any::<String>()],
        ) {
            if let Some(ClientId::Document(url)) = ClientId::parse(&text) {
                prop_assert_eq!(url.as_str(), text);
            }
        }
    }
}
