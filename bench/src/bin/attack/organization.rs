//! Organizations in an attack: the victim, and the neighbours that attack it.

use anyhow::Context as _;
use bench::keys::Keys;
use bench::permissions::PERMISSIONS;
use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::caller::Caller;

/// The maximum number of records in one sync.
const BATCH: usize = 10_000;

/// An organization with one property, and callers with its credentials.
#[derive(Debug, Clone)]
pub struct Organization {
    /// The path of the organization in the platform interface.
    pub path: String,
    /// A caller of the platform interface, with the platform's key.
    pub platform: Caller,
    /// A caller with an API key that has all permissions.
    pub key: Caller,
    /// The id of the organization's property.
    pub flat: Uuid,
    keys: Keys,
}

impl Organization {
    /// Creates the organization, its property and its API key.
    pub async fn new(platform: Caller, keys: Keys) -> anyhow::Result<Self> {
        let (path, flat) = (
            format!("/platform/v1/organizations/{}", keys.next()),
            keys.next(),
        );
        let settings = json!({ "name": "Casa Mar", "country": "ES", "languages": ["en"] });
        platform.ok(Method::PUT, &path, settings).await?;
        let key = platform.with("");
        let mut organization = Self {
            path,
            platform,
            key,
            flat,
            keys,
        };
        organization.key = organization.key_with(&PERMISSIONS).await?;
        organization
            .sync(&[record("property", flat, property("Flat 0"))])
            .await?;
        Ok(organization)
    }

    /// Creates another API key with these permissions. Returns a caller with this key.
    pub async fn key_with(&self, permissions: &[&str]) -> anyhow::Result<Caller> {
        let key = json!({ "name": "attack", "permissions": permissions });
        let key = self
            .platform
            .ok(Method::POST, &format!("{}/api-keys", self.path), key)
            .await?;
        Ok(self.key.with(
            key["token"]
                .as_str()
                .context("an API key without a token")?,
        ))
    }

    /// Sends records in the platform's name, in syncs of at most `BATCH` records.
    pub async fn sync(&self, records: &[Value]) -> anyhow::Result<()> {
        for records in records.chunks(BATCH) {
            self.platform
                .ok(
                    Method::POST,
                    &format!("{}/sync", self.path),
                    json!({ "records": records }),
                )
                .await?;
        }
        Ok(())
    }

    /// Creates properties. Returns their ids.
    pub async fn flats(&self, count: usize) -> anyhow::Result<Vec<Uuid>> {
        let ids: Vec<_> = (0..count).map(|_| self.keys.next()).collect();
        let flats = ids
            .iter()
            .enumerate()
            .map(|(number, id)| record("property", *id, property(&format!("Flat {number}"))));
        self.sync(&flats.collect::<Vec<_>>()).await?;
        Ok(ids)
    }

    /// Creates `count` tasks. Each creation causes an event for webhooks.
    pub async fn tasks(&self, count: usize) -> anyhow::Result<()> {
        let data =
            json!({ "propertyId": self.flat, "title": "Change the linen", "status": "open" });
        let tasks: Vec<_> = (0..count)
            .map(|_| record("task", self.keys.next(), data.clone()))
            .collect();
        self.sync(&tasks).await
    }

    /// Creates a reservation. Returns its id and the token of the guest link.
    pub async fn stay(&self) -> anyhow::Result<(Uuid, String)> {
        let id = self.keys.next();
        let data = json!({
            "propertyId": self.flat,
            "status": "confirmed",
            "channel": "direct",
            "bookedAt": "2026-11-02T10:00:00.000Z",
            "checkIn": "2026-12-11",
            "checkOut": "2026-12-15",
            "guest": {
                "firstName": "Ada",
                "lastName": "L",
                "email": "ada@example.com",
                "phone": null,
                "language": "en",
            },
        });
        self.sync(&[record("reservation", id, data)]).await?;
        let link = self
            .platform
            .ok(
                Method::POST,
                &format!("{}/reservations/{id}/guest-link", self.path),
                json!({}),
            )
            .await?;
        Ok((
            id,
            link["token"]
                .as_str()
                .context("a guest link without a token")?
                .to_owned(),
        ))
    }

    /// Creates a subscription to new tasks, with `url` as its receiver. Returns the id of the
    /// subscription.
    pub async fn subscribe(&self, url: &str) -> anyhow::Result<String> {
        self.key
            .create(
                "/api/v1/webhook-subscriptions",
                json!({ "event": "task.created", "targetUrl": url }),
            )
            .await
    }

    /// Returns an id that was not used before.
    pub fn new_id(&self) -> Uuid {
        self.keys.next()
    }
}

/// Returns a record in the form in which a sync sends it.
pub fn record(kind: &str, id: Uuid, data: Value) -> Value {
    json!({ "kind": kind, "id": id, "data": data })
}

fn property(name: &str) -> Value {
    json!({ "name": name, "timezone": "Europe/Madrid", "country": "ES" })
}
