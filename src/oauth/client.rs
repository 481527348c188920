//! Clients: the apps that ask (RFC 6749, section 2). What an app is called outside is its `client_id`: its id, or of an app that is
//! described by a metadata document the address of that.

use std::fmt;

use engine::context::Context;
use engine::error::Result;
use engine::format::is_uuid;
use engine::values;
use jiff::Timestamp;
use store::{Json, Row, Transaction};
use url::Url;
use uuid::Uuid;

use crate::platform::OauthApp;

store::statements! {
    /// An app by its id; one that is described by a document is not called by that.
    BY_ID = "select id, document_url, idle_since, secret_hash, replaced_hash, replaced_until, doc from oauth_app
        where id = ?1 and document_url is null";
    /// An app by the address of its document.
    BY_DOCUMENT = "select id, document_url, idle_since, secret_hash, replaced_hash, replaced_until, doc from oauth_app where document_url = ?1";
    /// Holds an app where it is until the transaction ends.
    HOLD = "select a.id from oauth_app a join organization o on o.id = ?1 where a.id = ?2 and o.erased_at is null for key share";
}

/// Bytes of the address of a metadata document.
const LONGEST_URL: usize = 2_000;

/// What a client calls itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientId {
    /// The id of an app of the platform, or of one that has registered itself.
    App(Uuid),
    /// The address of a metadata document.
    Document(Url),
}

impl ClientId {
    /// What a text names, whether or not there is such a client.
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

/// The address of a metadata document (draft client-id-metadata-document, section 3): https, with a path, without dot segments,
/// fragment, name or password; and written as it is read, since it is compared letter by letter.
fn document_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= LONGEST_URL)?;
    let has_path = url.path().len() > 1 && url.host_str().is_some_and(|host| !host.is_empty());
    let is_nobodys = url.username().is_empty() && url.password().is_none();
    (url.scheme() == "https" && has_path && is_nobodys && url.fragment().is_none() && url.as_str() == text).then_some(url)
}

/// How an app came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The platform knows it: its name can be believed.
    Platform,
    /// It has registered itself.
    Registered,
    /// It is described by a document, at an address that only its owner can write to.
    Document,
}

/// A client.
#[derive(Debug, Clone)]
pub(super) struct Client {
    /// The app's id.
    pub(super) app: Uuid,
    /// What it is called outside.
    pub(super) id: ClientId,
    /// How it came.
    pub(super) origin: Origin,
    /// What is known of it.
    pub(super) about: OauthApp,
    secret: Option<Vec<u8>>,
    replaced: Option<(Vec<u8>, Timestamp)>,
}

impl Client {
    /// A client as it is stored.
    pub(super) fn find(tx: &mut Transaction<'_>, id: &ClientId) -> Result<Option<Self>> {
        let row = match id {
            ClientId::App(app) => tx.row(&BY_ID, &[(*app).into()])?,
            ClientId::Document(url) => tx.row(&BY_DOCUMENT, &[url.as_str().into()])?,
        };
        row.map(|row| Self::of_row(&row, id.clone())).transpose()
    }

    fn of_row(row: &Row, id: ClientId) -> Result<Self> {
        let (is_idle, Json(about)) = (row.get::<Option<Timestamp>>(2)?.is_some(), row.get(6)?);
        let origin = match id {
            ClientId::Document(_) => Origin::Document,
            ClientId::App(_) if is_idle => Origin::Registered,
            ClientId::App(_) => Origin::Platform,
        };
        let replaced = row.get::<Option<Vec<u8>>>(4)?.zip(row.get(5)?);
        Ok(Self { app: row.get(0)?, id, origin, about, secret: row.get(3)?, replaced })
    }

    /// Keeps the app from being forgotten until the transaction ends; false where that has happened.
    pub(super) fn hold(context: &mut Context<'_, '_>, app: Uuid) -> Result<bool> {
        context.exists(&HOLD, values![app])
    }

    /// Whether it has to show a secret (RFC 6749, section 2.1).
    pub(super) const fn is_confidential(&self) -> bool {
        self.secret.is_some()
    }

    /// Whether a secret of this hash is its own now. Hashes are compared, of which nobody can choose the beginning: how long that
    /// takes tells nothing of the secret.
    pub(super) fn has_secret(&self, hash: &[u8], now: Timestamp) -> bool {
        let replaced = self.replaced.as_ref().filter(|(_, until)| now < *until).map(|(hash, _)| hash.as_slice());
        self.secret.as_deref() == Some(hash) || replaced == Some(hash)
    }

    /// What people are told that it is called: its own name, or where it has none what tells it from others.
    pub(super) fn name(&self) -> String {
        match (self.about.name.trim(), &self.id) {
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
    fn a_client_is_named_by_an_id_or_by_the_address_of_its_document() {
        let id = "0192f0c1-2345-7abc-8def-0123456789ab";
        assert_eq!(ClientId::parse(id), ClientId::parse(&id.to_uppercase()));
        for url in ["https://app.example/client.json", "https://app.example:8443/a/b?c=d"] {
            assert_eq!(ClientId::parse(url).unwrap().to_string(), url);
        }
        for wrong in [
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
            assert_eq!(ClientId::parse(wrong), None, "{wrong:?}");
        }
        assert_eq!(ClientId::parse(&format!("https://app.example/{}", "a".repeat(LONGEST_URL))), None);
    }

    #[test]
    fn a_secret_that_was_replaced_is_good_for_a_while() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let client = Client {
            app: Uuid::nil(),
            id: ClientId::App(Uuid::nil()),
            origin: Origin::Platform,
            about: OauthApp::default(),
            secret: Some(vec![2]),
            replaced: Some((vec![1], at(10))),
        };
        assert!(client.has_secret(&[2], at(99)) && client.has_secret(&[1], at(9)));
        assert!(!client.has_secret(&[1], at(10)) && !client.has_secret(&[3], at(0)) && !client.has_secret(&[], at(0)));
        assert!(!Client { secret: None, replaced: None, ..client }.has_secret(&[], at(0)));
    }

    proptest! {
        #[test]
        fn what_a_client_is_called_is_written_as_it_was_sent(text in prop_oneof!["https://[a-z.]{1,9}/[a-z/.%2#?:@]{0,9}", any::<String>()]) {
            if let Some(ClientId::Document(url)) = ClientId::parse(&text) {
                prop_assert_eq!(url.as_str(), text);
            }
        }
    }
}
