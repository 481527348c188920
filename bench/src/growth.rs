//! Measures how the cost of requests grows with the size of the organization: the same requests
//! with 10, 100, 1,000 and 10,000 steps, manuals and properties.

use std::fmt::Write as _;
use std::time::Duration;

use http::Method;
use serde_json::json;

use crate::city::{self, Kind, PROPERTY, Page, RESERVATION, length};
use crate::client::{Client, PORTALS, PRECHECK_STEPS};
use crate::measure::Bench;
use crate::report::{Line, figure, median};
use crate::setup::{self, ORGANIZATION};

/// The sizes at which the requests are measured, in this order. At a size, the organization has
/// this number of steps, of manuals and of properties.
pub const SIZES: [u64; 4] = [10, 100, 1_000, 10_000];
/// For how long each request is repeated, and the minimum number of repetitions.
const REPETITION: (Duration, usize) = (Duration::from_millis(500), 20);
/// The maximum ratio between the costs of the same request in two organizations, if the larger
/// organization has ten times as much data and its response is ten times as long. A cost that grows
/// linearly has the ratio ten. The maximum is one half higher, because the data of the larger
/// organization may no longer fit into the processor's caches.
const MAX_LINEAR_RATIO: f64 = 15.0;
/// The maximum ratio between the costs of the same request in two organizations, if the larger
/// organization has ten times as much data and both responses have the same length.
const MAX_CONSTANT_RATIO: f64 = 1.5;
/// Number of portals that are created one after another, to measure the time of a creation.
const CREATIONS: usize = 100;

const PORTAL_MANUALS: &str = "/api/v1/portal-manuals";

/// A request, what its response contains, and its cost in milliseconds at each of the [`SIZES`].
pub struct Curve {
    what: String,
    returned: String,
    /// Whether the response becomes longer as the organization grows.
    grows: bool,
    costs: Vec<f64>,
}

impl Bench {
    /// Measures how long each request takes when the organization has each of the [`SIZES`].
    pub async fn growth(&self) -> anyhow::Result<Vec<Curve>> {
        let server = self.vestibule()?;
        let (platform, client) = (
            setup::platform(&server)?,
            setup::organization(&server).await?,
        );
        let first_property = PROPERTY.id(0);
        let mut curves = vec![
            Curve::of(PRECHECK_STEPS, "all steps", true),
            Curve::of(PORTAL_MANUALS, "all manuals", true),
            Curve::of("/api/v1/properties", "50 properties at the most", false),
            Curve::of(
                &format!("/api/v1/properties/{first_property}/portal-manuals"),
                "the 5 manuals of a flat",
                false,
            ),
        ];
        let (mut stay_path, mut creation_curve) = (
            None,
            Curve::of(PORTALS, "one portal, created durably", false),
        );
        let mut current_size = 0;
        for size in SIZES {
            eprintln!("an organization of {size}: set-up");
            add_objects(&platform, &client, current_size..size).await?;
            current_size = size;
            if stay_path.is_none() {
                let link = format!(
                    "{ORGANIZATION}/reservations/{}/guest-link",
                    RESERVATION.id(0)
                );
                let link = platform.data(Method::POST, &link, Some(&json!({}))).await?;
                let path = format!(
                    "/guest/v1/stays/{}",
                    link["token"].as_str().unwrap_or_default()
                );
                stay_path = Some(path.clone());
                curves.push(Curve::of(
                    &path,
                    "the view of a stay, 5 steps and 5 manuals",
                    false,
                ));
            }
            for curve in &mut curves {
                let page = Page::measure(&client, &curve.what, length).await?;
                let latencies = page.latencies(&client, REPETITION.0, REPETITION.1).await?;
                curve.add(size, median(&latencies));
            }
            creation_curve.add(size, creation(&client, size).await?);
        }
        for curve in &mut curves {
            if stay_path.as_ref() == Some(&curve.what) {
                curve.what = "/guest/v1/stays/{token}".into();
            }
            curve.what = format!(
                "GET {}",
                curve
                    .what
                    .replace(&first_property.to_string(), "{propertyId}")
            );
        }
        creation_curve.what = format!("POST {}", creation_curve.what);
        curves.push(creation_curve);
        Ok(curves)
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

    fn add(&mut self, size: u64, cost: f64) {
        eprintln!("{}, {size}: median {} ms", self.what, figure(cost));
        self.costs.push(cost);
    }

    /// Returns a line for the table of results. The line compares the costs of the request at the
    /// largest and at the second largest size of the organization.
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
            if self.grows {
                MAX_LINEAR_RATIO
            } else {
                MAX_CONSTANT_RATIO
            },
        )
    }
}

/// Returns a table with the cost of each request at each size of the organization.
pub fn table(curves: &[Curve]) -> String {
    let mut text = String::from(
        "\n| milliseconds, with so many steps, manuals and properties | 10 | 100 | 1,000 | 10,000 \
            |\n|---|---:|---:|---:|---:|\n",
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

/// Returns an image of the curves as SVG, with two logarithmic axes.
pub fn plot(curves: &[Curve]) -> String {
    const COLOURS: [&str; 6] = [
        "#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#475569",
    ];
    let x = |index: usize| 70 + 150 * index;
    // The vertical axis begins with 0.1 ms at the bottom and ends with 1 s at the top.
    let y = |cost: f64| 340.0 - 80.0 * (cost.log10() + 1.0);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 500\" \
            font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"760\" height=\"500\" \
            fill=\"#ffffff\"/>\n",
    );
    for (power, name) in ["0.1 ms", "1 ms", "10 ms", "100 ms", "1 s"]
        .iter()
        .enumerate()
    {
        let height = 340 - 80 * power;
        let _ = writeln!(
            svg,
            "<path d=\"M70 {height}H520\" stroke=\"#e2e8f0\"/><text x=\"62\" y=\"{}\" \
                text-anchor=\"end\">{name}</text>",
            height + 4
        );
    }
    for (index, name) in ["10", "100", "1,000", "10,000"].iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"360\" text-anchor=\"middle\">{name}</text>",
            x(index)
        );
    }
    for (number, (curve, colour)) in curves.iter().zip(COLOURS).enumerate() {
        let points: Vec<_> = curve
            .costs
            .iter()
            .enumerate()
            .map(|(index, cost)| format!("{},{:.1}", x(index), y(*cost)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        let height = 390 + 18 * number;
        let _ = writeln!(
            svg,
            "<path d=\"M70 {}h24\" stroke=\"{colour}\" stroke-width=\"3\"/><text x=\"102\" \
                y=\"{height}\">{}: {}</text>",
            height - 4,
            curve.what,
            curve.returned
        );
    }
    svg + "</svg>\n"
}

/// Adds the properties, steps and manuals with these numbers. The first five steps and manuals are
/// assigned to the first property. Each later step and manual is assigned to a separate property.
async fn add_objects(
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
        .request_ok(Method::POST, &format!("{ORGANIZATION}/sync"), Some(&batch))
        .await?;
    city::run_all(numbers.map(|number| add_manual_and_step(client.clone(), number))).await
}

/// Creates the manual and the step with this number, and assigns both to a property.
async fn add_manual_and_step(client: Client, number: u64) -> anyhow::Result<()> {
    let property = PROPERTY.id(if number < 5 { 0 } else { number });
    let manual = json!({
        "nickname": format!("Manual {number}"),
        "title": format!("How it works, part {number}"),
        "propertyId": property,
        "isActive": true,
    });
    city::create_object(&client, PORTAL_MANUALS, &manual).await?;
    let step = city::create_object(
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

/// Returns the median time that the creation of a portal takes, in milliseconds.
async fn creation(client: &Client, size: u64) -> anyhow::Result<f64> {
    let mut connection = client.connect().await?;
    let mut latencies = Vec::new();
    for number in 0..CREATIONS {
        let portal = setup::portal(&format!("{size} {number}"));
        let started = std::time::Instant::now();
        client
            .request_ok_on(&mut connection, Method::POST, PORTALS, Some(&portal))
            .await?;
        latencies.push(started.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(median(&latencies))
}
