//! Measures repeated requests for the guest's page, and compares their rate with that of a bare
//! HTTP handler that sends the same bytes.

use http::Method;
use serde_json::json;

use crate::city::{self, Kind, PROPERTY, property, stay};
use crate::client::{Client, Coding, PORTALS, PRECHECK_STEPS};
use crate::library::{BODY, PORTAL_MANUALS};
use crate::measure::Bench;
use crate::report::Line;
use crate::server::Server;
use crate::setup::{self, ORGANIZATION};

/// The minimum rate of requests for the guest's page, as a fraction of the rate of a bare HTTP
/// handler that sends the same bytes.
const TARGET: f64 = 0.25;
/// Number of manuals that the measured guest gets.
const MANUALS: u64 = 12;
/// Number of steps that the measured guest gets.
const STEPS: usize = 6;

/// The content of the guest's page that [`create_guest`] sets up, as the report describes it.
pub const GUEST_PAGE_CONTENT: &str = "6 steps and 12 manuals";

impl Bench {
    /// Measures the first page that a guest sees, uncompressed and compressed.
    pub async fn guest_page(&self) -> anyhow::Result<Vec<Line>> {
        let server = self.vestibule()?;
        let client = setup::organization(&server).await?;
        let path = format!("/stay/{}", create_guest(&server, &client).await?);
        let what = format!("`GET /stay/…`, the guest's page of {GUEST_PAGE_CONTENT}");
        let compressed = format!("{what}, gzip accepted");
        let mut lines = self
            .compare_with_bare(&server, &client, &what, &path, Coding::Identity, TARGET)
            .await?;
        lines.extend(
            self.compare_with_bare(&server, &client, &compressed, &path, Coding::Gzip, TARGET)
                .await?,
        );
        Ok(lines)
    }
}

/// Creates a guest in the client's organization, and steps and manuals for the guest's property.
/// Returns the token of the guest link.
pub async fn create_guest(server: &Server, client: &Client) -> anyhow::Result<String> {
    let platform = setup::platform(server)?;
    let records = json!({ "records": [property(0), stay()] });
    platform
        .request_ok(
            Method::POST,
            &format!("{ORGANIZATION}/sync"),
            Some(&records),
        )
        .await?;
    let mut portal = setup::portal("page");
    portal["isDefault"] = true.into();
    city::create_object(client, PORTALS, &portal).await?;
    for number in 0..MANUALS {
        let manual = json!({
            "nickname": format!("Manual {number}"),
            "title": format!("How it works, part {number}"),
            "description": BODY,
            "iconName": "heater",
            "isActive": true,
        });
        let id = city::create_object(client, PORTAL_MANUALS, &manual).await?;
        city::assign(
            client,
            Kind("manual", 0),
            id,
            "propertyIds",
            &[PROPERTY.id(0)],
        )
        .await?;
    }
    for number in 0..STEPS {
        let id = city::create_object(client, PRECHECK_STEPS, &setup::step(number)).await?;
        city::assign(
            client,
            Kind("precheck_step", 0),
            id,
            "propertyIds",
            &[PROPERTY.id(0)],
        )
        .await?;
    }
    city::guest_token(&platform).await
}
