//! Measures a million stays: how fast they are synced, compared with bare inserts of the same rows,
//! and how long their first and last page take.

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

use crate::city::{self, Chance, PROPERTY, Page, RESERVATION, length};
use crate::client::Client;
use crate::measure::Bench;
use crate::report::{Line, median};
use crate::server::Server;
use crate::setup;

/// Number of stays: in a full plan, and in a short one.
const STAYS: (u64, u64) = (1_000_000, 20_000);
/// Stays in one sync.
const TOGETHER: u64 = 5_000;
/// Number of stays in the first measurement of the first page, the basis of the comparison.
const FEW: u64 = 1_000;
/// Number of properties.
const FLATS: u64 = 1_000;
const A_PAGE: u64 = 50;
/// How long each page is requested repeatedly, and how often at least.
const EACH: (Duration, usize) = (Duration::from_secs(1), 20);
/// The least rate of a sync, as a part of the rate of bare inserts.
const SYNC_TARGET: f64 = 0.5;
/// The largest factor by which the first and the last page of a million stays may be slower than
/// the first page of a thousand.
const PAGE_TARGETS: (f64, f64) = (1.5, 3.0);
/// The organization's id, both for the platform and in the bare rows.
const ORGANIZATION: Uuid = Uuid::from_u64_pair(0x4001, 0x8000_0000_0000_0001);
const PATH: &str = "/api/v1/reservations";
/// The schema of the bare rows in the service's own database.
const BESIDE: &str = "bare";

/// The tables and indexes that hold a stay, as the service's migrations leave them.
const SCHEMA: &str = "
create table organization (id UUID primary key);
create table record (organization_id UUID not null references organization (id), kind text BYTES not null, id UUID not null, property_id UUID, created_at MOMENT not null,
    updated_at MOMENT not null, doc JSON not null, status text BYTES, check_in text BYTES, name_key text BYTES,
    primary key (organization_id, kind, id));
create index record_in_order on record (organization_id, kind, created_at, id COVERS property_id, status, check_in, name_key);
create index record_by_property on record (organization_id, property_id, kind, created_at, id COVERS status, check_in, name_key);
create index record_by_status on record (organization_id, kind, status, created_at, id COVERS name_key) where status is not null;
create index record_by_check_in on record (organization_id, kind, check_in COVERS created_at, id, property_id, status, name_key)
    where check_in is not null;
create table record_link (organization_id UUID not null, from_kind text not null, from_id UUID not null, to_kind text not null,
    to_id UUID not null, primary key (organization_id, from_kind, from_id, to_kind, to_id));
create index record_link_by_target on record_link (organization_id, to_kind, to_id, from_kind, from_id);
create table guest_link (organization_id UUID not null references organization (id), token text BYTES not null, reservation_id UUID not null,
    primary key (organization_id, token), unique (organization_id, reservation_id));
";

store::statements! {
    /// The organization of the rows.
    OWNER = "insert into organization (id) values (?1)";
    /// A stay.
    RECORD = "insert into record (organization_id, kind, id, property_id, created_at, updated_at, doc, status, check_in, name_key)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    /// The link from a stay to its property.
    LINK = "insert into record_link (organization_id, from_kind, from_id, to_kind, to_id) values (?1, ?2, ?3, ?4, ?5)";
    /// The token of the stay's guest link.
    TOKEN = "insert into guest_link (organization_id, token, reservation_id) values (?1, ?2, ?3)";
}

impl Bench {
    /// Takes all measurements of a million stays: on SQLite, or on PostgreSQL in an organization of
    /// its own.
    pub async fn stays(&self, url: Option<&str>) -> anyhow::Result<Vec<Line>> {
        let where_it_is = if url.is_some() { " on PostgreSQL" } else { "" };
        let stays = if self.is_short() { STAYS.1 } else { STAYS.0 };
        eprintln!("{stays} stays{where_it_is}");
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
        bare.write(|tx| tx.execute(&OWNER, &[ORGANIZATION.into()]))
            .await?;
        let (platform, client) = furnished(&node).await?;
        let (mut ours, mut theirs, mut few) = (Duration::ZERO, Duration::ZERO, None);
        let mut there = 0;
        while there < stays {
            let end = if there == 0 {
                FEW
            } else {
                stays.min(there + TOGETHER)
            };
            let batch: Vec<Json> = (there..end).map(stay).collect();
            let [records, links, tokens] = rows(&batch)?;
            let begun = Instant::now();
            let sent = json!({ "isInitialSync": true, "records": batch });
            platform
                .ask(
                    Method::POST,
                    &format!("/platform/v1/organizations/{ORGANIZATION}/sync"),
                    Some(&sent),
                )
                .await?;
            ours += begun.elapsed();
            let begun = Instant::now();
            bare.write(move |tx| {
                tx.execute_many(&RECORD, &records)?;
                tx.execute_many(&LINK, &links)?;
                tx.execute_many(&TOKEN, &tokens).map(drop)
            })
            .await?;
            theirs += begun.elapsed();
            if few.is_none() {
                few = Some(took(&client, 0).await?);
            }
            there = end;
        }
        #[expect(clippy::cast_precision_loss, reason = "a few digits are printed")]
        let rate = |took: Duration| stays as f64 / took.as_secs_f64();
        let (ours, theirs, few) = (rate(ours), rate(theirs), few.context("no stay")?);
        let mut lines = vec![Line::ratio(
            format!("sync of {stays} reservations{where_it_is}, {TOGETHER} a request, history"),
            format!("{ours:.0}/s"),
            format!(
                "{theirs:.0}/s (bare multi-row inserts of the same rows, as many a transaction)"
            ),
            ours / theirs,
            Some(SYNC_TARGET),
        )];
        for (name, offset, target) in [
            ("first", 0, PAGE_TARGETS.0),
            ("last", stays - A_PAGE, PAGE_TARGETS.1),
        ] {
            let took = took(&client, offset).await?;
            lines.push(Line::growth(
                format!("`GET {PATH}`{where_it_is}, the {name} page of {stays} reservations"),
                format!("{} ms", crate::report::figure(took)),
                format!("{} ms (first page of {FEW})", crate::report::figure(few)),
                took / few,
                target,
            ));
        }
        Ok(lines)
    }
}

/// Returns the median time of a page in milliseconds. The configuration is changed before each
/// request.
async fn took(client: &Client, offset: u64) -> anyhow::Result<f64> {
    let page = Page::seen(
        client,
        &format!("{PATH}?limit={A_PAGE}&offset={offset}"),
        length,
    )
    .await?;
    ensure!(
        page.count as u64 == A_PAGE,
        "a page of {} stays",
        page.count
    );
    Ok(median(&page.latencies(client, EACH.0, EACH.1).await?))
}

/// Creates an organization with properties and no stay. Returns a client of the platform and one of
/// the organization.
async fn furnished(node: &Server) -> anyhow::Result<(Client, Client)> {
    let platform = setup::platform(node)?;
    let path = format!("/platform/v1/organizations/{ORGANIZATION}");
    let organization = json!({ "name": "Casa Mar", "country": "ES", "languages": ["en", "es"] });
    platform
        .ask(Method::PUT, &path, Some(&organization))
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
            .context("an API key without its token")?,
    )?;
    let flats = json!({ "isInitialSync": true, "records": (0..FLATS).map(city::property).collect::<Vec<_>>() });
    platform
        .ask(Method::POST, &format!("{path}/sync"), Some(&flats))
        .await?;
    Ok((platform, client))
}

/// Returns a stay in one of the properties.
fn stay(number: u64) -> Json {
    let mut chance = Chance::of(RESERVATION, number);
    let arrival = Date::constant(2025, 1, 1).saturating_add(
        jiff::Span::new().days(i64::try_from(chance.below(700)).unwrap_or_default()),
    );
    let departure = arrival.saturating_add(
        jiff::Span::new().days(1 + i64::try_from(chance.below(9)).unwrap_or_default()),
    );
    let mut stay = city::stay();
    stay["id"] = json!(RESERVATION.id(number));
    stay["data"]["propertyId"] = json!(PROPERTY.id(chance.below(FLATS)));
    stay["data"]["checkIn"] = json!(arrival.to_string());
    stay["data"]["checkOut"] = json!(departure.to_string());
    stay["data"]["guest"]["email"] = json!(format!("guest{number}@example.com"));
    stay
}

/// Returns the rows that the service stores for these stays: the records, their links to
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
    let of = |words: [(&str, &str); 5]| {
        words.iter().fold(SCHEMA.to_owned(), |schema, (name, own)| {
            schema.replace(name, own)
        })
    };
    let sqlite = of([
        ("UUID", "blob"),
        ("MOMENT", "integer"),
        ("JSON", "text"),
        ("BYTES", ""),
        (" COVERS", ","),
    ]);
    let postgres = of([
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

/// Creates a schema beside the service's in the same database. Returns its URL.
fn sibling_schema(url: &str) -> anyhow::Result<String> {
    let made = Command::new("psql")
        .args([
            url,
            "-qc",
            &format!("drop schema if exists {BESIDE} cascade; create schema {BESIDE}"),
        ])
        .status();
    ensure!(
        made.context("psql, of PostgreSQL's own package")?.success(),
        "no schema could be made"
    );
    let separator = if url.contains('?') { '&' } else { '?' };
    Ok(format!("{url}{separator}options=-csearch_path%3D{BESIDE}"))
}
