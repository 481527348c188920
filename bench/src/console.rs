//! Measures the time and size of each page of the console, in an organization of the size of a
//! city.
//!
//! The pages are found by following links from the first page, as a person does. Of pages that
//! differ only in the object that they show, two are measured. The configuration changes before
//! each request, so that no part of a response comes from the cache.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use bench::permissions::PERMISSIONS;
use http::Method;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use jiff::{Timestamp, ToSpan as _};
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tokio_rustls::rustls::crypto::ring;
use uuid::Uuid;

use crate::city::{self, CITY_PROPERTIES, City, Kind, PROPERTY, RandomChoices};
use crate::client::{ChangingPortal, Client};
use crate::library::Library;
use crate::report::{figure, median};
use crate::server::Server;
use crate::setup::{self, ORGANIZATION};

/// Number of stays.
const STAYS: u64 = 100_000;
/// Length in days of the period in which the guests arrive. Today is in the middle of this period.
const DAYS: u64 = 730;
/// Number of stays in one sync.
const BATCH: u64 = 10_000;
const STAY: Kind = Kind("reservation", 11);
/// Number of requests for each measured page.
const REQUESTS_PER_PAGE: usize = 15;
/// Number of measured pages of each type.
const PAGES_PER_KIND: usize = 2;
/// The maximum median time of a page, in milliseconds.
const MAX_MILLISECONDS: f64 = 50.0;
/// The maximum size of a page, in bytes.
const MAX_BYTES: usize = 100 << 10;
/// Pages to which no link leads. A person gets to them by a form or by typing a URL.
const TYPED_PAGES: [&str; 6] = [
    "/console/search?query=flat",
    "/console/search?query=balcony+77",
    "/console/stays?query=Ada",
    "/console/stays?flat=Flat+77",
    "/console/submissions?status=all",
    "/console/manuals?search=how+it+works",
];

/// The measurements of one type of page.
struct PageMeasurement {
    bytes: usize,
    milliseconds: Vec<f64>,
}

/// The browser of a signed-in member: an HTTP client with the cookie of the session.
struct Browser {
    http: reqwest::Client,
    root: String,
    cookie: String,
}

impl Browser {
    /// Creates a member with all permissions and signs the member in.
    async fn sign_in(server: &Server, platform: &Client) -> anyhow::Result<Self> {
        // This call fails if the process already has a default TLS provider. The process then uses
        // that provider.
        drop(ring::default_provider().install_default());
        let http = reqwest::Client::builder()
            .redirect(Policy::none())
            .build()?;
        let root = format!("http://{}", server.address);
        let member = format!("{ORGANIZATION}/members/{}", Kind("member", 12).id(0));
        let body = json!({
            "name": "Marta",
            "email": "marta@example.com",
            "permissions": PERMISSIONS,
            "propertyIds": null,
            "isActive": true,
            "isTwoFactorEnrolled": true,
        });
        platform
            .request_ok(Method::PUT, &member, Some(&body))
            .await?;
        let link = platform
            .data(
                Method::POST,
                &format!("{member}/sign-in-links"),
                Some(&json!({ "returnTo": "/console" })),
            )
            .await?;
        let url = link["url"].as_str().context("a link without an address")?;
        let path = url
            .find("/sign-in")
            .map(|start| &url[start..])
            .context("the link does not lead to the sign-in page")?;
        let mut browser = Self {
            http,
            root,
            cookie: String::new(),
        };
        let (_, page) = browser.get(path).await?;
        let field = |name: &str| {
            let value = page
                .split(&format!("name=\"{name}\" value=\""))
                .nth(1)?
                .split('"')
                .next()?;
            Some((name.to_owned(), value.to_owned()))
        };
        let fields = [field("form"), field("ticket")]
            .into_iter()
            .flatten()
            .map(|(name, value)| format!("{name}={value}"));
        let request = browser
            .http
            .post(format!("{}/sign-in", browser.root))
            .header("origin", &browser.root);
        let request = request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(fields.collect::<Vec<_>>().join("&"));
        let response = request.header(COOKIE, &browser.cookie).send().await?;
        ensure!(
            response.headers().contains_key(LOCATION),
            "nobody is signed in: {}",
            response.status()
        );
        browser.store_cookies(&response);
        Ok(browser)
    }

    fn store_cookies(&mut self, response: &reqwest::Response) {
        for cookie in response
            .headers()
            .get_all(SET_COOKIE)
            .iter()
            .filter_map(|cookie| cookie.to_str().ok())
        {
            let pair = cookie.split(';').next().unwrap_or_default();
            self.cookie = if self.cookie.is_empty() {
                pair.to_owned()
            } else {
                format!("{}; {pair}", self.cookie)
            };
        }
    }

    /// Requests a page. Returns the status and the body.
    async fn get(&mut self, path: &str) -> anyhow::Result<(u16, String)> {
        let request = self
            .http
            .get(format!("{}{path}", self.root))
            .header("accept", "text/html");
        let response = request.header(COOKIE, &self.cookie).send().await?;
        if self.cookie.is_empty() {
            self.store_cookies(&response);
        }
        Ok((response.status().as_u16(), response.text().await?))
    }
}

/// Sets up a city, measures every page and prints a table of the results. Returns whether all pages
/// are within the limits of time and size.
pub async fn sizes(binary: &Path, scratch: &Path, heading: &str) -> anyhow::Result<bool> {
    let server = Server::vestibule(binary, scratch)?;
    let city = City::on(&server, CITY_PROPERTIES).await?;
    Library::of(&city).await?;
    let platform = setup::platform(&server)?;
    eprintln!("{STAYS} stays: set-up");
    for first in (0..STAYS).step_by(usize::try_from(BATCH)?) {
        let records: Vec<Value> = (first..first + BATCH).map(stay).collect();
        let batch = json!({ "isInitialSync": true, "records": records });
        platform
            .request_ok(Method::POST, &format!("{ORGANIZATION}/sync"), Some(&batch))
            .await?;
    }
    let mut browser = Browser::sign_in(&server, &platform).await?;
    city::create_object(
        &city.client,
        "/api/v1/portal-brandings",
        &json!({ "name": "Casa Mar" }),
    )
    .await?;
    let changing = ChangingPortal::create(&city.client).await?;
    let measurements = walk(&mut browser, &city.client, &changing).await?;
    let (text, is_within) = table(heading, &measurements);
    print!("{text}");
    Ok(is_within)
}

/// Returns a stay in a random property on random days.
fn stay(number: u64) -> Value {
    let mut chance = RandomChoices::of(STAY, number);
    #[expect(
        clippy::disallowed_methods,
        reason = "the service that is measured runs by the wall clock"
    )]
    let today = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |days: u64| {
        today
            .saturating_add(i64::try_from(days).unwrap_or_default().days())
            .saturating_sub(365.days())
    };
    let arrival_day = chance.below(DAYS);
    let data = json!({
        "propertyId": PROPERTY.id(chance.below(CITY_PROPERTIES)),
        "status": if chance.below(20) == 0 { "cancelled" } else { "confirmed" },
        "channel": "direct",
        "bookedAt": "2025-01-02T10:00:00.000Z",
        "checkIn": day(arrival_day).to_string(),
        "checkOut": day(arrival_day + 1 + chance.below(14)).to_string(),
        "adults": 2,
        "guest": {
            "firstName": "Ada",
            "lastName": format!("Guest {number}"),
            "email": "ada@example.com",
            "phone": null,
            "language": "en",
        },
    });
    json!({ "kind": STAY.0, "id": STAY.id(number), "data": data })
}

/// Returns the type of a page: its path without ids, and the names of its query parameters.
fn page_kind(path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts = path.split('/').map(|part| {
        if part.parse::<Uuid>().is_ok() {
            "{id}"
        } else {
            part
        }
    });
    let names: BTreeSet<&str> = query
        .split('&')
        .filter_map(|pair| pair.split('=').next())
        .filter(|name| !name.is_empty())
        .collect();
    let path = parts.collect::<Vec<_>>().join("/");
    if names.is_empty() {
        path
    } else {
        format!("{path}?{}", names.into_iter().collect::<Vec<_>>().join("&"))
    }
}

/// Returns the links from a page to other pages of the console.
fn links(page: &str) -> impl Iterator<Item = String> {
    let hrefs = page
        .split(" href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    let console_links = hrefs.filter(|href| href.starts_with("/console"));
    console_links.map(|href| {
        href.replace("&#38;", "&")
            .replace("&amp;", "&")
            .split('#')
            .next()
            .unwrap_or_default()
            .to_owned()
    })
}

/// Measures the pages of the console. Begins with the home page and `TYPED_PAGES`, follows all
/// links, and measures at most `PAGES_PER_KIND` pages of each kind.
async fn walk(
    browser: &mut Browser,
    client: &Client,
    changing: &ChangingPortal,
) -> anyhow::Result<BTreeMap<String, PageMeasurement>> {
    let mut queue: VecDeque<String> = std::iter::once("/console".to_owned())
        .chain(TYPED_PAGES.map(str::to_owned))
        .collect();
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut measurements: BTreeMap<String, PageMeasurement> = BTreeMap::new();
    while let Some(path) = queue.pop_front() {
        let page_kind = page_kind(&path);
        let addresses = seen.entry(page_kind.clone()).or_default();
        if addresses.len() >= PAGES_PER_KIND || !addresses.insert(path.clone()) {
            continue;
        }
        let measurement = measurements.entry(page_kind).or_insert(PageMeasurement {
            bytes: 0,
            milliseconds: Vec::new(),
        });
        for number in 0..REQUESTS_PER_PAGE {
            changing.change(client).await?;
            let started = Instant::now();
            let (status, page) = browser.get(&path).await?;
            let elapsed = started.elapsed().as_secs_f64() * 1_000.0;
            ensure!(status == 200, "GET {path}: {status}");
            measurement.milliseconds.push(elapsed);
            measurement.bytes = measurement.bytes.max(page.len());
            if number == 0 {
                queue.extend(links(&page));
            }
        }
        eprintln!(
            "{path}: {} bytes, {} ms",
            measurement.bytes,
            figure(median(&measurement.milliseconds))
        );
    }
    Ok(measurements)
}

/// Returns a table of the measurements, and whether all pages are within the limits of time and
/// size.
fn table(heading: &str, measurements: &BTreeMap<String, PageMeasurement>) -> (String, bool) {
    let mut text =
        format!("{heading}\n\n| page | KiB | median | p95 | within |\n|---|---:|---:|---:|---|\n");
    let mut is_within = true;
    for (page_kind, measurement) in measurements {
        let mut sorted = measurement.milliseconds.clone();
        sorted.sort_by(f64::total_cmp);
        let (median, p95) = (
            median(&sorted),
            sorted[(sorted.len() * 95).div_ceil(100).saturating_sub(1)],
        );
        let is_page_within = median <= MAX_MILLISECONDS && measurement.bytes <= MAX_BYTES;
        is_within &= is_page_within;
        let size = measurement.bytes.div_ceil(1 << 10);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| `{page_kind}` | {size} | {} ms | {} ms | {} |",
            figure(median),
            figure(p95),
            if is_page_within { "yes" } else { "**no**" }
        );
    }
    (text, is_within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_addresses_are_grouped_without_ids_and_values() {
        let id = Uuid::from_u128(7);
        assert_eq!(
            page_kind(&format!("/console/stays/{id}/why?of=steps&from=50")),
            "/console/stays/{id}/why?from&of"
        );
        assert_eq!(page_kind("/console"), "/console");
    }

    #[test]
    fn only_links_to_the_console_are_followed() {
        let page = concat!(
            r#"<a href="/console/steps?a=1&#38;b=2#s-1">"#,
            r#"<a class="x" href="https://example.com"><link rel="x" href="/stay/x">"#
        );
        assert_eq!(links(page).collect::<Vec<_>>(), ["/console/steps?a=1&b=2"]);
    }
}
