//! Measures a million stays: the rate at which the service syncs them, compared with bare inserts
//! of the same rows, and the time of the first and last page of their list.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bench::permissions::PERMISSIONS;
use http::Method;
use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Value as Json, json};
use store::{Migrations, Store, Value};
use uuid::Uuid;

use crate::city::{self, PROPERTY, Page, RESERVATION, RandomChoices, length};
use crate::client::Client;
use crate::measure::Bench;
use crate::report::{Line, median};
use crate::server::Server;
use crate::setup;

/// Number of stays in a full run, and number in a short run.
const STAYS: (u64, u64) = (1_000_000, 20_000);
/// Number of stays in one sync.
const STAYS_PER_SYNC: u64 = 5_000;
/// Number of stays in the short list. The measured pages of the long list are compared with the
/// first page of this list.
const BASE_STAYS: u64 = 1_000;
/// Number of properties to which the stays belong.
const PROPERTIES: u64 = 1_000;
const PAGE_SIZE: u64 = 50;
/// For how long each page is requested repeatedly, and the minimum number of requests.
const REPETITION: (Duration, usize) = (Duration::from_secs(1), 20);
/// The minimum rate of a sync, as a fraction of the rate of bare inserts.
const SYNC_TARGET: f64 = 0.5;
/// The maximum factors by which two pages of a list of a million stays may be slower than the first
/// page of a list of a thousand stays. The first factor is for the first page, the second for the
/// last page.
const PAGE_TARGETS: (f64, f64) = (1.5, 3.0);
/// The id of the organization to which all stays belong, both those that the service syncs and
/// those that the benchmark inserts without the service.
const ORGANIZATION: Uuid = Uuid::from_u64_pair(0x4001, 0x8000_0000_0000_0001);
const PATH: &str = "/api/v1/reservations";
/// The name of the PostgreSQL schema into which the benchmark inserts rows without the service. The
/// schema is in the service's database.
const BARE_SCHEMA: &str = "bare";

/// The tables and indexes into which a stay is written, as the service's migrations create them.
const SCHEMA: &str = "
create table organization (id UUID primary key);
create table record (organization_id UUID not null references organization (id),
    kind text BYTES not null, id UUID not null, property_id UUID, created_at MOMENT not null,
    updated_at MOMENT not null, doc JSON not null, status text BYTES, check_in text BYTES,
        name_key text BYTES,
    primary key (organization_id, kind, id));
create index record_in_order on record (organization_id, kind, created_at, id COVERS property_id,
    status, check_in, name_key);
create index record_by_property on record (organization_id, property_id, kind, created_at,
    id COVERS status, check_in, name_key);
create index record_by_status on record (organization_id, kind, status, created_at,
    id COVERS name_key) where status is not null;
create index record_by_check_in on record (organization_id, kind, check_in COVERS created_at, id,
    property_id, status, name_key)
    where check_in is not null;
create table record_link (organization_id UUID not null, from_kind text not null,
    from_id UUID not null, to_kind text not null,
    to_id UUID not null, primary key (organization_id, from_kind, from_id, to_kind, to_id));
create index record_link_by_target on record_link (organization_id, to_kind, to_id, from_kind,
    from_id);
create table guest_link (organization_id UUID not null references organization (id),
    token text BYTES not null, reservation_id UUID not null,
    primary key (organization_id, token), unique (organization_id, reservation_id));
";

store::statements! {
    /// Inserts the organization that the stays belong to.
    INSERT_ORGANIZATION = "insert into organization (id) values (?1)";
    /// Inserts a stay.
    INSERT_RECORD = "insert into record (organization_id, kind, id, property_id, created_at,
        updated_at, doc, status, check_in, name_key)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    /// Inserts the link from a stay to its property.
    INSERT_LINK = "insert into record_link (organization_id, from_kind, from_id, to_kind, to_id)
        values (?1, ?2, ?3, ?4, ?5)";
    /// Inserts the token of a stay's guest link.
    INSERT_TOKEN = "insert into guest_link (organization_id, token, reservation_id)
        values (?1, ?2, ?3)";
}

impl Bench {
    /// Measures the service with a large number of stays ([`STAYS`]) in one organization. Uses the
    /// PostgreSQL database at `url`, or SQLite without `url`.
    pub async fn stays(&self, url: Option<&str>) -> anyhow::Result<Vec<Line>> {
        let database = if url.is_some() { " on PostgreSQL" } else { "" };
        let stays = if self.is_short() { STAYS.1 } else { STAYS.0 };
        eprintln!("{stays} stays{database}");
        let directory = tempfile::tempdir_in(&self.scratch)?;
        let node = url.map_or_else(
            || self.vestibule(),
            |url| Server::on(&self.binary, &self.scratch, url),
        )?;
        let bare = match url {
            None => format!("sqlite:{}", directory.path().join("bare.db").display()),
            Some(url) => sibling_schema(url)?,
        };
        let bare = tokio::task::spawn_blocking(move || Store::open(&bare, &migrations())).await??;
        bare.write(|tx| tx.execute(&INSERT_ORGANIZATION, &[ORGANIZATION.into()]))
            .await?;
        let (platform, client) = organization_with_properties(&node).await?;
        let (mut sync_time, mut insert_time, mut base_time) =
            (Duration::ZERO, Duration::ZERO, None);
        let mut synced = 0;
        while synced < stays {
            let end = if synced == 0 {
                BASE_STAYS
            } else {
                stays.min(synced + STAYS_PER_SYNC)
            };
            let batch: Vec<Json> = (synced..end).map(stay).collect();
            let [records, links, tokens] = rows(&batch)?;
            let started = Instant::now();
            let body = json!({ "isInitialSync": true, "records": batch });
            platform
                .request_ok(
                    Method::POST,
                    &format!("/platform/v1/organizations/{ORGANIZATION}/sync"),
                    Some(&body),
                )
                .await?;
            sync_time += started.elapsed();
            let started = Instant::now();
            bare.write(move |tx| {
                tx.execute_many(&INSERT_RECORD, &records)?;
                tx.execute_many(&INSERT_LINK, &links)?;
                tx.execute_many(&INSERT_TOKEN, &tokens).map(drop)
            })
            .await?;
            insert_time += started.elapsed();
            if base_time.is_none() {
                base_time = Some(page_time(&client, 0).await?);
            }
            synced = end;
        }
        #[expect(clippy::cast_precision_loss, reason = "a few digits are printed")]
        let rate = |elapsed: Duration| stays as f64 / elapsed.as_secs_f64();
        let (sync_rate, insert_rate, base_time) = (
            rate(sync_time),
            rate(insert_time),
            base_time.context("no stay")?,
        );
        let mut lines = vec![Line::ratio(
            format!("sync of {stays} reservations{database}, {STAYS_PER_SYNC} a request, history"),
            format!("{sync_rate:.0}/s"),
            format!(
                "{insert_rate:.0}/s (bare multi-row inserts of the same rows, as many a \
                    transaction)"
            ),
            sync_rate / insert_rate,
            Some(SYNC_TARGET),
        )];
        for (name, offset, target) in [
            ("first", 0, PAGE_TARGETS.0),
            ("last", stays - PAGE_SIZE, PAGE_TARGETS.1),
        ] {
            let time = page_time(&client, offset).await?;
            lines.push(Line::growth(
                format!("`GET {PATH}`{database}, the {name} page of {stays} reservations"),
                format!("{} ms", crate::report::figure(time)),
                format!(
                    "{} ms (first page of {BASE_STAYS})",
                    crate::report::figure(base_time)
                ),
                time / base_time,
                target,
            ));
        }
        Ok(lines)
    }
}

/// Returns the median time of requests for a page of stays, in milliseconds. The configuration
/// changes before each request, so that no part of a response comes from the cache.
async fn page_time(client: &Client, offset: u64) -> anyhow::Result<f64> {
    let page = Page::measure(
        client,
        &format!("{PATH}?limit={PAGE_SIZE}&offset={offset}"),
        length,
    )
    .await?;
    ensure!(
        page.count as u64 == PAGE_SIZE,
        "a page of {} stays",
        page.count
    );
    Ok(median(
        &page.latencies(client, REPETITION.0, REPETITION.1).await?,
    ))
}

/// Creates an organization that has properties but no stays. Returns a client of the platform
/// interface and a client of the organization.
async fn organization_with_properties(node: &Server) -> anyhow::Result<(Client, Client)> {
    let platform = setup::platform(node)?;
    let path = format!("/platform/v1/organizations/{ORGANIZATION}");
    let organization = json!({ "name": "Casa Mar", "country": "ES", "languages": ["en", "es"] });
    platform
        .request_ok(Method::PUT, &path, Some(&organization))
        .await?;
    let key = platform
        .data(
            Method::POST,
            &format!("{path}/api-keys"),
            Some(&json!({ "name": "bench", "permissions": PERMISSIONS })),
        )
        .await?;
    let client = Client::new(
        node.address,
        key["token"]
            .as_str()
            .context("an API key without a token")?,
    )?;
    let flats = json!({
        "isInitialSync": true,
        "records": (0..PROPERTIES).map(city::property).collect::<Vec<_>>(),
    });
    platform
        .request_ok(Method::POST, &format!("{path}/sync"), Some(&flats))
        .await?;
    Ok((platform, client))
}

/// Generates the record of the stay with this number, in a flat chosen at random.
fn stay(number: u64) -> Json {
    let mut chance = RandomChoices::of(RESERVATION, number);
    let arrival = Date::constant(2025, 1, 1).saturating_add(
        jiff::Span::new().days(i64::try_from(chance.below(700)).unwrap_or_default()),
    );
    let departure = arrival.saturating_add(
        jiff::Span::new().days(1 + i64::try_from(chance.below(9)).unwrap_or_default()),
    );
    let mut stay = city::stay();
    stay["id"] = json!(RESERVATION.id(number));
    stay["data"]["propertyId"] = json!(PROPERTY.id(chance.below(PROPERTIES)));
    stay["data"]["checkIn"] = json!(arrival.to_string());
    stay["data"]["checkOut"] = json!(departure.to_string());
    stay["data"]["guest"]["email"] = json!(format!("guest{number}@example.com"));
    stay
}

/// Returns the rows that the service would store for these stays: the records, their links to
/// properties, and the guest tokens.
fn rows(stays: &[Json]) -> anyhow::Result<[Vec<Vec<Value>>; 3]> {
    let now = Timestamp::constant(1_796_000_000, 0);
    let [mut records, mut links, mut tokens] = [(); 3].map(|()| Vec::with_capacity(stays.len()));
    for stay in stays {
        let (id, data) = (
            Uuid::parse_str(stay["id"].as_str().unwrap_or_default())?,
            &stay["data"],
        );
        let flat = Uuid::parse_str(data["propertyId"].as_str().unwrap_or_default())?;
        let text = |value: &Json| Value::from(value.as_str().unwrap_or_default().to_owned());
        let kind = || Value::from("reservation".to_owned());
        records.push(vec![
            ORGANIZATION.into(),
            kind(),
            id.into(),
            flat.into(),
            now.into(),
            now.into(),
            Value::Json(data.to_string()),
            text(&data["status"]),
            text(&data["checkIn"]),
            Value::from("ada l ada".to_owned()),
        ]);
        links.push(vec![
            ORGANIZATION.into(),
            kind(),
            id.into(),
            Value::from("property".to_owned()),
            flat.into(),
        ]);
        tokens.push(vec![
            ORGANIZATION.into(),
            Value::from(format!("{:a<33}{}", "", id.simple())),
            id.into(),
        ]);
    }
    Ok([records, links, tokens])
}

fn migrations() -> Migrations {
    let with_types = |types: [(&str, &str); 5]| {
        types
            .iter()
            .fold(SCHEMA.to_owned(), |schema, (name, sql_type)| {
                schema.replace(name, sql_type)
            })
    };
    let sqlite = with_types([
        ("UUID", "blob"),
        ("MOMENT", "integer"),
        ("JSON", "text"),
        ("BYTES", ""),
        (" COVERS", ","),
    ]);
    let postgres = with_types([
        ("UUID", "uuid"),
        ("MOMENT", "timestamptz"),
        ("JSON", "jsonb"),
        ("BYTES", "collate \"C\""),
        (" COVERS", ") include ("),
    ]);
    Migrations {
        sqlite: Migrations::runner(&[("V1__rows", &sqlite)]),
        postgres: Migrations::runner(&[("V1__rows", &postgres)]),
    }
}

/// Creates a schema in the database of the service, beside the service's schema. Returns a URL for
/// the new schema.
fn sibling_schema(url: &str) -> anyhow::Result<String> {
    let status = Command::new("psql")
        .args([
            url,
            "-qc",
            &format!("drop schema if exists {BARE_SCHEMA} cascade; create schema {BARE_SCHEMA}"),
        ])
        .status();
    ensure!(
        status
            .context("psql, of PostgreSQL's own package")?
            .success(),
        "psql could not create a schema"
    );
    let separator = if url.contains('?') { '&' } else { '?' };
    Ok(format!(
        "{url}{separator}options=-csearch_path%3D{BARE_SCHEMA}"
    ))
}
