//! Measures the cost of growth: the same requests with 10, 100, 1,000 and 10,000 steps, manuals and
//! properties.

use std::fmt::Write as _;
use std::time::Duration;

use http::Method;
use serde_json::json;

use crate::city::{self, Kind, PROPERTY, Page, RESERVATION, length};
use crate::client::{Client, PORTALS, PRECHECK_STEPS};
use crate::measure::Bench;
use crate::report::{Line, figure, median};
use crate::setup::{self, ORGANIZATION};

/// The sizes measured, one after another: the number of steps, of manuals and of properties.
pub const SIZES: [u64; 4] = [10, 100, 1_000, 10_000];
/// How long each request is repeated, and how often at least.
const EACH: (Duration, usize) = (Duration::from_millis(500), 20);
/// The largest factor of cost for an answer ten times as long: ten, and half as much again because
/// it may outgrow the processor's caches.
const LINEAR: f64 = 15.0;
/// The largest factor of cost for an answer that stays as long.
const UNMOVED: f64 = 1.5;
/// Number of creations that are timed, one after another.
const CREATED: usize = 100;

const PORTAL_MANUALS: &str = "/api/v1/portal-manuals";

/// The cost of one request at each size, in milliseconds.
pub struct Curve {
    what: String,
    returned: String,
    /// Whether the answer grows with the organization.
    grows: bool,
    costs: Vec<f64>,
}

impl Bench {
    /// Measures the cost of each request at each size.
    pub async fn growth(&self) -> anyhow::Result<Vec<Curve>> {
        let server = self.vestibule()?;
        let (platform, client) = (
            setup::platform(&server)?,
            setup::organization(&server).await?,
        );
        let flat = PROPERTY.id(0);
        let mut requested = vec![
            Curve::of(PRECHECK_STEPS, "all steps", true),
            Curve::of(PORTAL_MANUALS, "all manuals", true),
            Curve::of("/api/v1/properties", "50 properties at the most", false),
            Curve::of(
                &format!("/api/v1/properties/{flat}/portal-manuals"),
                "the 5 manuals of a flat",
                false,
            ),
        ];
        let (mut stay, mut created) = (
            None,
            Curve::of(PORTALS, "one portal, created durably", false),
        );
        let mut there = 0;
        for size in SIZES {
            eprintln!("an organization of {size}: set-up");
            grow(&platform, &client, there..size).await?;
            there = size;
            if stay.is_none() {
                let link = format!(
                    "{ORGANIZATION}/reservations/{}/guest-link",
                    RESERVATION.id(0)
                );
                let link = platform.data(Method::POST, &link, Some(&json!({}))).await?;
                let path = format!(
                    "/guest/v1/stays/{}",
                    link["token"].as_str().unwrap_or_default()
                );
                stay = Some(path.clone());
                requested.push(Curve::of(
                    &path,
                    "the view of a stay, 5 steps and 5 manuals",
                    false,
                ));
            }
            for curve in &mut requested {
                let page = Page::seen(&client, &curve.what, length).await?;
                let latencies = page.latencies(&client, EACH.0, EACH.1).await?;
                curve.note(size, median(&latencies));
            }
            created.note(size, creation(&client, size).await?);
        }
        for curve in &mut requested {
            if stay.as_ref() == Some(&curve.what) {
                curve.what = "/guest/v1/stays/{token}".into();
            }
            curve.what = format!(
                "GET {}",
                curve.what.replace(&flat.to_string(), "{propertyId}")
            );
        }
        created.what = format!("POST {}", created.what);
        requested.push(created);
        Ok(requested)
    }
}

impl Curve {
    fn of(what: &str, returned: &str, grows: bool) -> Self {
        Self {
            what: what.into(),
            returned: returned.into(),
            grows,
            costs: Vec::new(),
        }
    }

    fn note(&mut self, size: u64, cost: f64) {
        eprintln!("{}, {size}: median {} ms", self.what, figure(cost));
        self.costs.push(cost);
    }

    /// Returns the line of the table: the last size compared with the one before.
    pub fn line(&self) -> Line {
        let [.., smaller, larger] = self.costs[..] else {
            return Line::limit(self.what.clone(), f64::NAN, "ms", None);
        };
        let [.., before, last] = SIZES;
        Line::growth(
            format!(
                "`{}`, {}, of {last} steps, {last} manuals and {last} properties",
                self.what, self.returned
            ),
            format!("{} ms", figure(larger)),
            format!("{} ms (of {before})", figure(smaller)),
            larger / smaller,
            if self.grows { LINEAR } else { UNMOVED },
        )
    }
}

/// Returns a table of all sizes, to read the curves from.
pub fn table(curves: &[Curve]) -> String {
    let mut text = String::from(
        "\n| milliseconds, with so many steps, manuals and properties | 10 | 100 | 1,000 | 10,000 |\n|---|---:|---:|---:|---:|\n",
    );
    for Curve {
        what,
        returned,
        costs,
        ..
    } in curves
    {
        let costs: Vec<_> = costs.iter().map(|cost| figure(*cost)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{what}`, {returned} | {} |", costs.join(" | "));
    }
    text
}

/// Returns the curves as an SVG image with two logarithmic axes.
pub fn plot(curves: &[Curve]) -> String {
    const COLOURS: [&str; 6] = [
        "#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#475569",
    ];
    let x = |place: usize| 70 + 150 * place;
    // From 0.1 ms at the bottom to 1 s at the top.
    let y = |cost: f64| 340.0 - 80.0 * (cost.log10() + 1.0);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 500\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"760\" height=\"500\" fill=\"#ffffff\"/>\n",
    );
    for (power, name) in ["0.1 ms", "1 ms", "10 ms", "100 ms", "1 s"]
        .iter()
        .enumerate()
    {
        let height = 340 - 80 * power;
        let _ = writeln!(
            svg,
            "<path d=\"M70 {height}H520\" stroke=\"#e2e8f0\"/><text x=\"62\" y=\"{}\" text-anchor=\"end\">{name}</text>",
            height + 4
        );
    }
    for (place, name) in ["10", "100", "1,000", "10,000"].iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"360\" text-anchor=\"middle\">{name}</text>",
            x(place)
        );
    }
    for (number, (curve, colour)) in curves.iter().zip(COLOURS).enumerate() {
        let points: Vec<_> = curve
            .costs
            .iter()
            .enumerate()
            .map(|(place, cost)| format!("{},{:.1}", x(place), y(*cost)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        let height = 390 + 18 * number;
        let _ = writeln!(
            svg,
            "<path d=\"M70 {}h24\" stroke=\"{colour}\" stroke-width=\"3\"/><text x=\"102\" y=\"{height}\">{}: {}</text>",
            height - 4,
            curve.what,
            curve.returned
        );
    }
    svg + "</svg>\n"
}

/// Adds properties, steps and manuals with these numbers. The first five steps and manuals belong
/// to the flat; each other one is assigned to a property of its own.
async fn grow(
    platform: &Client,
    client: &Client,
    numbers: std::ops::Range<u64>,
) -> anyhow::Result<()> {
    let mut records: Vec<_> = numbers.clone().map(city::property).collect();
    if numbers.start == 0 {
        records.push(city::stay());
    }
    let batch = json!({ "isInitialSync": true, "records": records });
    platform
        .ask(Method::POST, &format!("{ORGANIZATION}/sync"), Some(&batch))
        .await?;
    city::all(numbers.map(|number| furnish(client.clone(), number))).await
}

async fn furnish(client: Client, number: u64) -> anyhow::Result<()> {
    let property = PROPERTY.id(if number < 5 { 0 } else { number });
    let manual = json!({
        "nickname": format!("Manual {number}"), "title": format!("How it works, part {number}"), "propertyId": property, "isActive": true,
    });
    city::created(&client, PORTAL_MANUALS, &manual).await?;
    let step = city::created(
        &client,
        PRECHECK_STEPS,
        &setup::step(usize::try_from(number)?),
    )
    .await?;
    city::assign(
        &client,
        Kind("precheck_step", 9),
        step,
        "propertyIds",
        &[property],
    )
    .await
}

/// Returns the median time of creating a portal, in milliseconds.
async fn creation(client: &Client, size: u64) -> anyhow::Result<f64> {
    let mut connection = client.connect().await?;
    let mut latencies = Vec::new();
    for number in 0..CREATED {
        let portal = setup::portal(&format!("{size} {number}"));
        let requested = std::time::Instant::now();
        client
            .ask_on(&mut connection, Method::POST, PORTALS, Some(&portal))
            .await?;
        latencies.push(requested.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(median(&latencies))
}
