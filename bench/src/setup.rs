//! What the measured service is given first: an organization, a key, portals.

use anyhow::{Context as _, ensure};
use http::Method;
use serde_json::{Value, json};

use crate::client::{Client, PORTALS, PRECHECK_STEPS};
use crate::keys::Keys;
use crate::server::{PLATFORM_KEY, Server};

/// Portals and steps in their lists.
pub const LISTED: usize = 100;
/// The organization, as the platform finds it. Any id will do on a database of its own.
pub const ORGANIZATION: &str = "/platform/v1/organizations/7f8c5a52-3d0e-4b8e-9d55-1c6f0e2a9b47";
/// Makes a portal as long as one that is in use, somewhat over a kilobyte.
const NOTES: &str = "Reception is open from 8:00 to 22:00. After that, ring the night bell to the left of the door and have your \
    booking number at hand. For lost keys, leaks and power cuts call at any hour; for everything else a message is quicker. \
    The lift is out of service on the first Monday of the month, and parcels wait at the bakery on the corner.";

/// A client of the platform interface.
pub fn platform(server: &Server) -> anyhow::Result<Client> {
    Client::new(server.address, PLATFORM_KEY)
}

/// A client of the public interface, in a new organization, that may read and change portals, steps, manuals and texts.
pub async fn organization(server: &Server) -> anyhow::Result<Client> {
    organization_at(server, ORGANIZATION).await
}

/// The same, where the platform finds it at another path.
pub async fn organization_at(server: &Server, path: &str) -> anyhow::Result<Client> {
    let platform = platform(server)?;
    let organization = json!({ "name": "Casa Mar", "country": "ES", "languages": ["en", "es"] });
    platform.ask(Method::PUT, path, Some(&organization)).await?;
    let permissions = ["view_properties", "modify_properties", "modify_tasks", "view_guides", "modify_guides"];
    let key = json!({ "name": "bench", "permissions": permissions });
    let key = platform.data(Method::POST, &format!("{path}/api-keys"), Some(&key)).await?;
    Client::new(server.address, key["token"].as_str().context("an API key without its token")?)
}

/// The body that creates a portal; `key` makes its name unlike the others.
pub fn portal(key: &str) -> Value {
    json!({
        "name": format!("Casa {key}"), "supportEmail": "hello@example.com", "supportPhone": "93 412 34 56",
        "communicationMethod": "phone", "supportNotes": NOTES,
    })
}

/// The body that creates a step whose agreement is as long as the rules of a house are.
pub fn step(number: usize) -> Value {
    json!({
        "stepType": "agreement", "nickname": format!("Step {number}"), "sortOrder": number, "isActive": true,
        "agreementType": "text", "contractTemplateText": NOTES.repeat(2), "isMandatorySigning": true,
    })
}

/// Creates the portals and steps to list.
pub async fn listed(client: &Client) -> anyhow::Result<()> {
    let keys = Keys::default();
    for number in 0..LISTED {
        client.ask(Method::POST, PORTALS, Some(&portal(&keys.next().to_string()))).await?;
        client.ask(Method::POST, PRECHECK_STEPS, Some(&step(number))).await?;
    }
    for path in [PORTALS, PRECHECK_STEPS] {
        let found = client.data(Method::GET, path, None).await?.as_array().map(Vec::len);
        ensure!(found == Some(LISTED), "GET {path} has {found:?} in place of {LISTED}");
    }
    Ok(())
}
