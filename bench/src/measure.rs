//! The measurements of the benchmark, and the comparison of a measurement with a yardstick.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use anyhow::ensure;
use http::Method;

use crate::city::{CITY_PROPERTIES, City, Page, SMALL_CITY_PROPERTIES, STEPS};
use crate::client::{Coding, PORTALS, RepeatedRequest, Requests};
use crate::keys::Keys;
use crate::library::{Library, MANUALS};
use crate::load;
use crate::report::{Line, figure, median, ninety_ninth};
use crate::rows::Rows;
use crate::server::Server;
use crate::setup;

/// Numbers of connections that create objects, each with the minimum rate of the service as a
/// fraction of the rate of the yardstick, a bare loop over the store. `None` if there is no
/// minimum.
const CREATE_CONNECTIONS: [(u32, Option<f64>); 2] = [(1, None), (64, Some(0.7))];
/// The minimum rate of requests for a guest's view of a stay, as a fraction of the rate of a bare
/// HTTP handler that sends the same bytes.
const STAY_RATE_TARGET: f64 = 0.15;
/// The maximum resident memory of an idle service, in MiB.
const IDLE_TARGET: f64 = 25.0;
/// The maximum time from the start of the service until it listens, in milliseconds.
const START_UP_TARGET: f64 = 60.0;
/// The maximum median time of a request for a guest's view of a stay, in milliseconds.
const STAY_TARGET: f64 = 5.0;
/// The maximum median time of a request for the list of all steps, in milliseconds.
const STEPS_TARGET: f64 = 25.0;
/// The maximum median time of a request for the list of a property's manuals, in milliseconds.
const MANUALS_TARGET: f64 = 5.0;
/// The maximum median time of a search request, in milliseconds.
const SEARCH_TARGET: f64 = 20.0;
/// The maximum factor by which a response that does not depend on the properties may become slower
/// when the organization has ten times as many properties.
const GROWTH_TARGET: f64 = 1.5;
/// The minimum number of requests in a round that measures latency.
const MIN_REQUESTS: usize = 200;
/// The wait from the start of a service until its idle memory is read.
const IDLE_AFTER: Duration = Duration::from_secs(1);
/// The interval at which the memory of a server under load is read.
const MEMORY_INTERVAL: Duration = Duration::from_millis(100);

/// How long the measurements take: the number and the length of their rounds, the length of the
/// warm-up, in which nothing is measured, how often the start of the server is measured, and
/// whether this is a short run with less data.
pub struct Plan {
    rounds: usize,
    pub length: Duration,
    warm_up: Duration,
    starts: usize,
    is_short: bool,
}

impl Plan {
    /// Rounds that are long enough for reliable values.
    pub const FULL: Self = Self {
        rounds: 3,
        length: Duration::from_secs(4),
        warm_up: Duration::from_secs(2),
        starts: 10,
        is_short: false,
    };
    /// Short rounds. They only show that every measurement works, and their values mean little.
    pub const QUICK: Self = Self {
        rounds: 3,
        length: Duration::from_secs(1),
        warm_up: Duration::from_millis(500),
        starts: 10,
        is_short: true,
    };
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "medians of {} rounds of {:?} a side in turns",
            self.rounds, self.length
        )
    }
}

/// The programs, the directory and the plan of one run of the benchmark.
pub struct Bench {
    /// The path of this program.
    pub program: PathBuf,
    /// The path of the binary to measure.
    pub binary: PathBuf,
    /// The directory in which the databases are created.
    pub scratch: PathBuf,
    pub plan: Plan,
}

/// Returns the median of the values of all rounds except the first. The first round is the warm-up.
pub fn median_after_warm_up(rounds: &[f64]) -> f64 {
    median(rounds.get(1..).unwrap_or_default())
}

/// The medians of the service and of the yardstick with which it is compared, in items per second
/// or in milliseconds.
pub struct Compared {
    /// The median of the measured values of the service.
    pub ours: f64,
    /// The median of the measured values of the yardstick, which is for example a bare HTTP
    /// handler.
    pub yardstick: f64,
}

impl Compared {
    /// Returns the line of the results table that shows this comparison. The medians of the service
    /// and of the yardstick must be in items per second.
    pub fn line(&self, what: String, yardstick: &str, target: Option<f64>) -> Line {
        let Self {
            ours,
            yardstick: theirs,
        } = self;
        Line::ratio(
            what,
            format!("{ours:.0}/s"),
            format!("{theirs:.0}/s ({yardstick})"),
            ours / theirs,
            target,
        )
    }
}

impl Bench {
    /// Returns whether the plan has short rounds, which only show that every measurement works.
    /// Their values are not reliable.
    pub const fn is_short(&self) -> bool {
        self.plan.is_short
    }

    pub fn vestibule(&self) -> anyhow::Result<Server> {
        Server::vestibule(&self.binary, &self.scratch)
    }

    /// Measures how long the service takes from its start until it listens, and its resident memory
    /// at that time. Blocks the thread.
    pub fn start_up(&self) -> anyhow::Result<Vec<Line>> {
        eprintln!("start-up");
        // The first start is not counted, because it reads the binary from disk. For later starts
        // the binary is already in memory.
        drop(self.vestibule()?);
        let starts =
            (0..self.plan.starts).map(|_| Ok(self.vestibule()?.start_up.as_secs_f64() * 1_000.0));
        let starts: Vec<f64> = starts.collect::<anyhow::Result<_>>()?;
        let server = self.vestibule()?;
        std::thread::sleep(IDLE_AFTER);
        Ok(vec![
            Line::limit(
                format!(
                    "start-up on an empty database until it listens, median of {}",
                    starts.len()
                ),
                median(&starts),
                "ms",
                Some(START_UP_TARGET),
            ),
            Line::limit(
                "resident memory after start, idle".into(),
                server.resident()?,
                "MiB",
                Some(IDLE_TARGET),
            ),
        ])
    }

    /// Measures how many portals the service creates per second, each with a durable commit. For
    /// comparison, also measures a loop that executes the same statements directly in the store,
    /// with rows of the same length.
    pub async fn writes(&self) -> anyhow::Result<Vec<Line>> {
        let server = self.vestibule()?;
        let client = setup::organization(&server).await?;
        let response = client
            .request_ok(Method::POST, PORTALS, Some(&setup::portal("Azul")))
            .await?;
        let directory = tempfile::tempdir_in(&self.scratch)?;
        let rows = Rows::open(directory.path(), response.body()).await?;
        let (document_length, response_length) = rows.lengths();
        let requests = Requests {
            client,
            ask: RepeatedRequest::Create(Keys::default()),
        };
        let mut lines = Vec::new();
        for (connections, target) in CREATE_CONNECTIONS {
            let compared = self
                .compare(
                    &format!("create, {connections} connections"),
                    "/s",
                    async |length| {
                        Ok(
                            load::round(requests.clone(), connections, length, &self.scratch)
                                .await?
                                .rate,
                        )
                    },
                    async |length| {
                        Ok(
                            load::round(rows.clone(), connections, length, &self.scratch)
                                .await?
                                .rate,
                        )
                    },
                )
                .await?;
            let what = format!(
                "durable `POST {PORTALS}`, a key each, {connections} connection{}",
                if connections == 1 { "" } else { "s" }
            );
            let yardstick = format!(
                "the store's loop, the same statements, rows of {document_length} and \
                    {response_length} bytes"
            );
            lines.push(compared.line(what, &yardstick, target));
        }
        Ok(lines)
    }

    /// Measures three kinds of requests: a guest's view of a stay, lists, and a search. Compares
    /// their times in two organizations: a large one, which has as many properties as a city, and a
    /// small one.
    pub async fn city(&self) -> anyhow::Result<Vec<Line>> {
        let (large, small) = (self.vestibule()?, self.vestibule()?);
        let (city, town) = (
            City::on(&large, CITY_PROPERTIES).await?,
            City::on(&small, SMALL_CITY_PROPERTIES).await?,
        );
        let steps = format!("of {STEPS} steps");
        let stay = "GET /guest/v1/stays/{token}";
        let mut lines = Vec::new();
        let what = format!(
            "`{stay}`, {} {steps}, {CITY_PROPERTIES} properties",
            city.stay.count
        );
        lines.extend(
            self.compare_with_bare(
                &large,
                &city.client,
                &what,
                city.stay.path(),
                Coding::Identity,
                STAY_RATE_TARGET,
            )
            .await?,
        );
        lines.extend(
            self.compare_equal_organizations(
                stay,
                &steps,
                STAY_TARGET,
                (&city, &city.stay),
                (&town, &town.stay),
            )
            .await?,
        );
        let list = "GET /api/v1/precheck-steps";
        lines.extend(
            self.compare_equal_organizations(
                list,
                &steps,
                STEPS_TARGET,
                (&city, &city.list),
                (&town, &town.list),
            )
            .await?,
        );

        // The manuals are created only now. If they had existed earlier, they would have affected
        // the measurements of steps.
        let (library, small_library) = (Library::of(&city).await?, Library::of(&town).await?);
        let manuals = format!("of {MANUALS} manuals");
        let list = "GET /api/v1/properties/{propertyId}/portal-manuals";
        lines.extend(
            self.compare_equal_organizations(
                list,
                &manuals,
                MANUALS_TARGET,
                (&city, &library.list),
                (&town, &small_library.list),
            )
            .await?,
        );
        lines.extend(
            self.compare_equal_organizations(
                stay,
                &manuals,
                STAY_TARGET,
                (&city, &library.stay),
                (&town, &small_library.stay),
            )
            .await?,
        );
        // A search reads every name, so its time grows with the number of properties.
        let searches = ((&city, &library.search), (&town, &small_library.search));
        let [search, _] = self
            .compare_organizations(
                "GET /api/v1/search",
                "results",
                SEARCH_TARGET,
                searches.0,
                searches.1,
            )
            .await?;
        lines.push(search);
        Ok(lines)
    }

    /// Measures the same kind of page in a large and in a smaller organization. Both pages have the
    /// same number of items, so a difference in time comes from the size of the organization.
    async fn compare_equal_organizations(
        &self,
        what: &str,
        items: &str,
        target: f64,
        (city, page): (&City, &Page),
        (town, other): (&City, &Page),
    ) -> anyhow::Result<[Line; 2]> {
        ensure!(
            page.count == other.count,
            "{what}: {} {items}, but {} in the smaller organization",
            page.count,
            other.count
        );
        self.compare_organizations(what, items, target, (city, page), (town, other))
            .await
    }

    /// Measures a response in one organization, and compares it with the same response in a smaller
    /// organization.
    async fn compare_organizations(
        &self,
        what: &str,
        items: &str,
        target: f64,
        (city, page): (&City, &Page),
        (town, other): (&City, &Page),
    ) -> anyhow::Result<[Line; 2]> {
        let compared = self
            .compare(
                what,
                " ms",
                async |length| latency(what, city, page, length).await,
                async |length| latency(what, town, other, length).await,
            )
            .await?;
        let Compared { ours, yardstick } = compared;
        let size = format!(
            "{} {items}, {} bytes, {CITY_PROPERTIES} properties",
            page.count, page.bytes
        );
        Ok([
            Line::limit(
                format!(
                    "`{what}`, {size}, 1 connection, each after a change of configuration, latency \
                        end to end over loopback"
                ),
                ours,
                "ms",
                Some(target),
            ),
            Line::growth(
                format!("the same beside {SMALL_CITY_PROPERTIES} properties"),
                format!("{} ms", figure(ours)),
                format!(
                    "{} ms ({SMALL_CITY_PROPERTIES} properties)",
                    figure(yardstick)
                ),
                ours / yardstick,
                GROWTH_TARGET,
            ),
        ])
    }

    /// Measures the service (`ours`) and the program that it is compared with (`yardstick`) in
    /// alternate rounds, after a warm-up of each. `unit` is the unit of the results.
    pub async fn compare(
        &self,
        what: &str,
        unit: &str,
        mut ours: impl AsyncFnMut(Duration) -> anyhow::Result<f64>,
        mut yardstick: impl AsyncFnMut(Duration) -> anyhow::Result<f64>,
    ) -> anyhow::Result<Compared> {
        eprintln!("{what}: warm-up");
        ours(self.plan.warm_up).await?;
        yardstick(self.plan.warm_up).await?;
        let mut rounds = (Vec::new(), Vec::new());
        for number in 1..=self.plan.rounds {
            let (ours, theirs) = (
                ours(self.plan.length).await?,
                yardstick(self.plan.length).await?,
            );
            eprintln!(
                "{what}: round {number}: {}{unit} beside {}{unit}",
                figure(ours),
                figure(theirs)
            );
            rounds.0.push(ours);
            rounds.1.push(theirs);
        }
        Ok(Compared {
            ours: median(&rounds.0),
            yardstick: median(&rounds.1),
        })
    }
}

/// Returns the median latency of the requests in a round, in milliseconds. Prints the 99th
/// percentile to standard error.
async fn latency(what: &str, city: &City, page: &Page, length: Duration) -> anyhow::Result<f64> {
    let latencies = page.latencies(&city.client, length, MIN_REQUESTS).await?;
    let (median, p99) = (median(&latencies), ninety_ninth(&latencies));
    let (count, properties) = (latencies.len(), city.properties);
    eprintln!(
        "{what}, {properties} properties: {count} requests, median {} ms, p99 {} ms",
        figure(median),
        figure(p99)
    );
    Ok(median)
}

/// Runs `work`. If the resident memory of `server` exceeds `peak` while `work` runs, raises `peak`
/// to the highest value.
pub async fn with_peak_memory<T>(
    server: &Server,
    peak: &mut f64,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let mut work = pin!(work);
    let mut interval = tokio::time::interval(MEMORY_INTERVAL);
    loop {
        tokio::select! {
            outcome = &mut work => return outcome,
            _ = interval.tick() => *peak = peak.max(server.resident()?),
        }
    }
}
