//! Sets up the measured service: an organization, an API key, portals and steps.

use anyhow::{Context as _, ensure};
use http::Method;
use serde_json::{Value, json};

use crate::client::{Client, PORTALS, PRECHECK_STEPS};
use crate::keys::Keys;
use crate::server::{PLATFORM_KEY, Server};

/// Number of portals, and number of steps, in the lists that are measured.
pub const LIST_LENGTH: usize = 100;
/// The organization's path in the platform interface. The id can be any id, because the database is
/// new.
pub const ORGANIZATION: &str = "/platform/v1/organizations/7f8c5a52-3d0e-4b8e-9d55-1c6f0e2a9b47";
/// A text that brings a portal to the length of a typical portal, which is a little more than a
/// kilobyte.
const NOTES: &str = "Reception is open from 8:00 to 22:00. After that, ring the night bell to the \
    left of the door and have your booking number at hand. For lost keys, leaks and power cuts \
    call at any hour; for everything else a message is quicker. The lift is out of service on the \
    first Monday of the month, and parcels wait at the bakery on the corner.";

/// Returns a client of the platform interface, with the platform's key.
pub fn platform(server: &Server) -> anyhow::Result<Client> {
    Client::new(server.address, PLATFORM_KEY)
}

/// Creates an organization. Returns a client of the public interface that may read and change
/// portals, steps, manuals and texts.
pub async fn organization(server: &Server) -> anyhow::Result<Client> {
    organization_at(server, ORGANIZATION).await
}

/// Does the same as [`organization`]. `path` is the path of the new organization in the platform
/// interface, in place of [`ORGANIZATION`].
pub async fn organization_at(server: &Server, path: &str) -> anyhow::Result<Client> {
    let platform = platform(server)?;
    let organization = json!({ "name": "Casa Mar", "country": "ES", "languages": ["en", "es"] });
    platform
        .request_ok(Method::PUT, path, Some(&organization))
        .await?;
    let permissions = [
        "view_properties",
        "modify_properties",
        "modify_tasks",
        "view_guides",
        "modify_guides",
    ];
    let key = json!({ "name": "bench", "permissions": permissions });
    let key = platform
        .data(Method::POST, &format!("{path}/api-keys"), Some(&key))
        .await?;
    Client::new(
        server.address,
        key["token"]
            .as_str()
            .context("an API key without a token")?,
    )
}

/// Returns the body that creates a portal. `key` makes the portal's name unique.
pub fn portal(key: &str) -> Value {
    json!({
        "name": format!("Casa {key}"),
        "supportEmail": "hello@example.com",
        "supportPhone": "93 412 34 56",
        "communicationMethod": "phone",
        "supportNotes": NOTES,
    })
}

/// Returns the body that creates a step whose agreement is as long as typical house rules.
pub fn step(number: usize) -> Value {
    json!({
        "stepType": "agreement",
        "nickname": format!("Step {number}"),
        "sortOrder": number,
        "isActive": true,
        "agreementType": "text",
        "contractTemplateText": NOTES.repeat(2),
        "isMandatorySigning": true,
    })
}

/// Creates the portals and steps that the measured lists contain.
pub async fn create_listed_objects(client: &Client) -> anyhow::Result<()> {
    let keys = Keys::default();
    for number in 0..LIST_LENGTH {
        client
            .request_ok(
                Method::POST,
                PORTALS,
                Some(&portal(&keys.next().to_string())),
            )
            .await?;
        client
            .request_ok(Method::POST, PRECHECK_STEPS, Some(&step(number)))
            .await?;
    }
    for path in [PORTALS, PRECHECK_STEPS] {
        let count = client
            .data(Method::GET, path, None)
            .await?
            .as_array()
            .map(Vec::len);
        ensure!(
            count == Some(LIST_LENGTH),
            "GET {path} has {count:?} items instead of {LIST_LENGTH}"
        );
    }
    Ok(())
}
