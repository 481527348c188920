//! Measures webhooks: deliveries per second, the time from an event to the arrival of its delivery,
//! the cost of a backlog, and the effect of a hanging receiver on the others. The receivers run in
//! this process and count the deliveries.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::client::Client;
use crate::keys::Keys;
use crate::machine;
use crate::measure::{Bench, median_after_warm_up, with_peak_memory};
use crate::post::Poster;
use crate::receiver::{Identity, Receivers, rate};
use crate::report::{Line, figure, median, ninety_ninth};
use crate::server::{PLATFORM_KEY, Server};

/// A group of receivers. The number of deliveries per second to the whole group is measured.
struct ReceiverGroup {
    receivers: usize,
    /// The number of deliveries that the dispatcher sends to the group at the same time
    /// (`Group::limit` in `crates/delivery/src/limiter.rs`). For a single receiver, this is the
    /// limit of a target that responds fast. Several receivers are ports of one host, so for them
    /// it is the limit of a host.
    concurrency: usize,
    /// Number of deliveries in a round, for each second of the round's length.
    per_second: u32,
}

const RECEIVER_GROUPS: [ReceiverGroup; 2] = [
    ReceiverGroup {
        receivers: 1,
        concurrency: 64,
        per_second: 2_500,
    },
    ReceiverGroup {
        receivers: BACKLOG_RECEIVERS,
        concurrency: 128,
        per_second: 5_000,
    },
];
/// The minimum rate of deliveries, as a fraction of the rate of a bare loop that posts the same
/// bytes.
const THROUGHPUT_TARGET: f64 = 0.4;

/// Number of measured events on an idle server, and number of events that are sent before them and
/// not measured.
const IDLE_EVENTS: (usize, usize) = (200, 20);
/// The pause before each event. In this time, the server records the outcome of the previous
/// delivery.
const PAUSE: Duration = Duration::from_millis(10);
/// The maximum median time from an event to the arrival of its delivery, in milliseconds.
const IDLE_TARGET: f64 = 2.0;

/// Number of receivers to which the backlog is sent.
const BACKLOG_RECEIVERS: usize = 10;
/// Number of deliveries in the backlog for each second of a round's length. A full round lasts four
/// seconds, so its backlog has 100,000 deliveries.
const BACKLOG_PER_SECOND: u32 = 25_000;
/// Number of syncs that create the backlog.
const BATCHES: usize = 5;
/// A timeout that is longer than the creation of the backlog takes. Until the backlog exists, the
/// receivers do not respond, and no attempt may fail.
const LONG_TIMEOUT: &str = "--webhook-timeout=10m";
/// The minimum rate at which the first tenth of the backlog is delivered, as a fraction of the rate
/// of the last tenth. During the first tenth, most of the backlog still exists.
const FIRST_TENTH_TARGET: f64 = 0.8;
/// The maximum resident memory of a service with a backlog, in MiB.
const BACKLOG_MEMORY_TARGET: f64 = 150.0;

/// Number of receivers besides the hanging one, which never responds. The second number is used if
/// this process may open fewer than `FILES` files.
const TARGETS: (usize, usize) = (1_000, 200);
/// The minimum limit of open files. It is enough for a listener and two connections of each
/// receiver, and for all other files of the process.
const FILES: usize = 4_096;
/// Number of events that the benchmark causes each second. It causes an event without waiting until
/// the previous event has been delivered.
const EVENTS_PER_SECOND: u32 = 250;
/// Number of deliveries to the hanging receiver, which never responds.
const HANGING_DELIVERIES: usize = 10_000;
/// The maximum factor by which a hanging receiver may slow down deliveries to the other receivers.
const HANGING_TARGET: f64 = 1.5;
/// Number of organizations that are set up at the same time.
const MAX_CONCURRENT: usize = 16;

/// An organization with a subscription to new tasks.
#[derive(Clone)]
struct Organization {
    platform: Client,
    client: Client,
    /// The path to which the platform sends syncs of this organization.
    sync: String,
    property: Uuid,
    keys: Keys,
}

impl Organization {
    /// Creates the organization and its property.
    async fn on(address: SocketAddr, keys: Keys) -> anyhow::Result<Self> {
        let platform = Client::new(address, PLATFORM_KEY)?;
        let (path, property) = (
            format!("/platform/v1/organizations/{}", keys.next()),
            keys.next(),
        );
        let organization = json!({ "name": "Casa Mar", "country": "ES", "languages": ["en"] });
        platform
            .request_ok(Method::PUT, &path, Some(&organization))
            .await?;
        let flat = json!({ "name": "Flat 1", "timezone": "Europe/Madrid", "country": "ES" });
        let flat = json!({
            "isInitialSync": true,
            "records": [{ "kind": "property", "id": property, "data": flat }],
        });
        let sync = format!("{path}/sync");
        platform
            .request_ok(Method::POST, &sync, Some(&flat))
            .await?;
        let key = json!({ "name": "bench", "permissions": ["view_tasks"] });
        let key = platform
            .data(Method::POST, &format!("{path}/api-keys"), Some(&key))
            .await?;
        let client = Client::new(
            address,
            key["token"]
                .as_str()
                .context("an API key without a token")?,
        )?;
        Ok(Self {
            platform,
            client,
            sync,
            property,
            keys,
        })
    }

    /// Subscribes a receiver to new tasks.
    async fn subscribe(&self, url: &str) -> anyhow::Result<()> {
        let subscription = json!({ "event": "task.created", "targetUrl": url });
        self.client
            .request_ok(
                Method::POST,
                "/api/v1/webhook-subscriptions",
                Some(&subscription),
            )
            .await
            .map(drop)
    }

    /// Returns the body of a sync that creates the tasks with these ids.
    fn tasks(&self, ids: impl IntoIterator<Item = Uuid>) -> Value {
        let data =
            json!({ "propertyId": self.property, "title": "Change the linen", "status": "open" });
        let tasks = ids
            .into_iter()
            .map(|id| json!({ "kind": "task", "id": id, "data": data }));
        json!({ "records": tasks.collect::<Vec<_>>() })
    }

    /// Causes `count` events by one sync.
    async fn cause_events(&self, count: usize) -> anyhow::Result<()> {
        let tasks = self.tasks((0..count).map(|_| self.keys.next()));
        self.platform
            .request_ok(Method::POST, &self.sync, Some(&tasks))
            .await
            .map(drop)
    }
}

impl Bench {
    /// Makes all measurements of webhooks.
    pub async fn webhooks(&self) -> anyhow::Result<Vec<Line>> {
        let identity = Identity::new(&self.scratch)?;
        let mut lines = Vec::new();
        for group in &RECEIVER_GROUPS {
            lines.extend(self.throughput(&identity, group).await?);
        }
        lines.extend(self.arrival(&identity).await?);
        lines.extend(self.backlog(&identity).await?);
        lines.push(self.hanging(&identity).await?);
        Ok(lines)
    }

    /// Starts a service that trusts the receivers' certificate and may send to them.
    fn start_service(&self, identity: &Identity, additional: &[&str]) -> anyhow::Result<Server> {
        let flags = identity
            .flags()
            .into_iter()
            .chain(additional.iter().map(|flag| (*flag).to_owned()));
        Server::vestibule_with(&self.binary, &self.scratch, &flags.collect::<Vec<_>>())
    }

    /// Measures deliveries per second, and compares this rate with that of a bare loop, which posts
    /// the same bytes with the same HTTP client. Also measures the processor time per delivery, of
    /// sender and receiver together.
    async fn throughput(
        &self,
        identity: &Identity,
        group: &ReceiverGroup,
    ) -> anyhow::Result<[Line; 2]> {
        let ReceiverGroup {
            receivers: count,
            concurrency,
            per_second,
        } = *group;
        let server = self.start_service(identity, &[])?;
        let receivers = Receivers::start(identity, count, true).await?;
        let organization = Organization::on(server.address, Keys::default()).await?;
        for url in receivers.urls.iter() {
            organization.subscribe(url).await?;
        }
        organization.cause_events(1).await?;
        let sample = receivers.next().await?;
        receivers.times(count - 1).await?;
        let mut poster = Poster::start(
            &self.program,
            &self.scratch,
            &receivers.urls,
            &sample,
            concurrency,
            identity.authority(),
        )?;
        let (mut costs, mut bare_costs) = (Vec::new(), Vec::new());
        let receiver_text = if count == 1 {
            "one receiver".to_owned()
        } else {
            format!("{count} receivers")
        };
        let compared = self
            .compare(
                &format!("deliveries to {receiver_text}"),
                "/s",
                async |length| {
                    let events = count_in(length, per_second)? / count;
                    organization.cause_events(events).await?;
                    let before = server.processor_time()? + machine::own_processor_time()?;
                    let times = receivers.times(events * count).await?;
                    costs.push(processor_time_per_item(
                        server.processor_time()? + machine::own_processor_time()?,
                        before,
                        &times,
                    )?);
                    rate(&times)
                },
                async |length| {
                    let posts = count_in(length, per_second)?;
                    let before = poster.processor_time()? + machine::own_processor_time()?;
                    poster.post(posts)?;
                    let times = receivers.times(posts).await?;
                    bare_costs.push(processor_time_per_item(
                        poster.processor_time()? + machine::own_processor_time()?,
                        before,
                        &times,
                    )?);
                    rate(&times)
                },
            )
            .await?;
        let (cost, bare_cost) = (
            median_after_warm_up(&costs),
            median_after_warm_up(&bare_costs),
        );
        let round = count_in(self.plan.length, per_second)?;
        let what = format!(
            "deliveries over kept-alive HTTPS (HTTP/1.1) to {receiver_text}, {round} committed at \
                once, {concurrency} under way"
        );
        let yardstick = format!("bare reqwest, same bytes, {concurrency} under way");
        Ok([
            compared.line(what, &yardstick, Some(THROUGHPUT_TARGET)),
            Line::ratio(
                "the same, processor time of sender and receiver a delivery".into(),
                format!("{cost:.0} µs"),
                format!("{bare_cost:.0} µs (bare reqwest, same bytes)"),
                bare_cost / cost,
                None,
            ),
        ])
    }

    /// Measures the time from an event to the arrival of its delivery, on a server that is
    /// otherwise idle.
    async fn arrival(&self, identity: &Identity) -> anyhow::Result<Vec<Line>> {
        eprintln!("event to arrival");
        let server = self.start_service(identity, &[])?;
        let receivers = Receivers::start(identity, 1, true).await?;
        let organization = Organization::on(server.address, Keys::default()).await?;
        organization.subscribe(&receivers.urls[0]).await?;
        let mut connection = organization.platform.connect().await?;
        let (mut latencies, mut after_response) = (Vec::new(), Vec::new());
        let (events, unmeasured) = IDLE_EVENTS;
        for number in 0..unmeasured + events {
            tokio::time::sleep(PAUSE).await;
            let task = organization.tasks([organization.keys.next()]);
            let started = Instant::now();
            organization
                .platform
                .request_ok_on(
                    &mut connection,
                    Method::POST,
                    &organization.sync,
                    Some(&task),
                )
                .await?;
            let response_time = milliseconds(started, Instant::now());
            let arrival_time = milliseconds(started, receivers.next().await?.at);
            if number >= unmeasured {
                latencies.push(arrival_time);
                after_response.push(arrival_time - response_time);
            }
        }
        let (p50, p99) = (median(&latencies), ninety_ninth(&latencies));
        eprintln!(
            "event to arrival: {events} events, median {} ms, p99 {} ms",
            figure(p50),
            figure(p99)
        );
        let what = format!(
            "event to arrival on an idle server, from sending the sync of one task, median of \
                {events}"
        );
        Ok(vec![
            Line::limit(what, p50, "ms", Some(IDLE_TARGET)),
            Line::limit(
                "the same, from the answer to that sync".into(),
                median(&after_response),
                "ms",
                None,
            ),
        ])
    }

    /// Measures whether deliveries are as fast with a large backlog as with a small one, and the
    /// resident memory of the service with a backlog.
    async fn backlog(&self, identity: &Identity) -> anyhow::Result<Vec<Line>> {
        let per_receiver =
            count_in(self.plan.length, BACKLOG_PER_SECOND)? / BACKLOG_RECEIVERS / BATCHES;
        let count = per_receiver * BACKLOG_RECEIVERS * BATCHES;
        eprintln!("a backlog of {count} deliveries");
        let server = self.start_service(identity, &[LONG_TIMEOUT])?;
        let receivers = Receivers::start(identity, BACKLOG_RECEIVERS, false).await?;
        let organization = Organization::on(server.address, Keys::default()).await?;
        for url in receivers.urls.iter() {
            organization.subscribe(url).await?;
        }
        let mut peak = 0.0_f64;
        let draining = async {
            for _ in 0..BATCHES {
                organization.cause_events(per_receiver).await?;
            }
            receivers.open();
            receivers.times(count).await
        };
        let times = with_peak_memory(&server, &mut peak, draining).await?;
        let tenth = count / 10;
        let (first, last) = (rate(&times[..tenth])?, rate(&times[count - tenth..])?);
        eprintln!(
            "a backlog of {count} deliveries: {}/s in all",
            figure(rate(&times)?)
        );
        Ok(vec![
            Line::ratio(
                format!(
                    "{count} due deliveries to {BACKLOG_RECEIVERS} receivers, the first tenth of \
                        them"
                ),
                format!("{first:.0}/s"),
                format!("{last:.0}/s (the last tenth)"),
                first / last,
                Some(FIRST_TENTH_TARGET),
            ),
            Line::limit(
                "the same, most resident memory".into(),
                peak,
                "MiB",
                Some(BACKLOG_MEMORY_TARGET),
            ),
        ])
    }

    /// Measures how much longer deliveries take when one of many receivers never responds. The
    /// comparison is with a server that has no such receiver.
    async fn hanging(&self, identity: &Identity) -> anyhow::Result<Line> {
        let (normal, reduced) = TARGETS;
        let targets = if machine::open_files()? < FILES {
            reduced
        } else {
            normal
        };
        eprintln!("{targets} targets and one that hangs: set-up");
        let receivers = Receivers::start(identity, targets, true).await?;
        let (with_hanging, without_hanging) = (
            self.start_service(identity, &[])?,
            self.start_service(identity, &[])?,
        );
        let (others, same_without_hanging) = (
            organizations(&with_hanging, &receivers).await?,
            organizations(&without_hanging, &receivers).await?,
        );
        let hanging = Receivers::start(identity, 1, false).await?;
        // A clone of the generator of UUIDs that made the ids of the other organizations never
        // returns one of these ids again.
        let keys = others.first().context("no targets")?.keys.clone();
        let organization = Organization::on(with_hanging.address, keys).await?;
        organization.subscribe(&hanging.urls[0]).await?;
        organization.cause_events(HANGING_DELIVERIES).await?;
        let compared = self
            .compare(
                "event to arrival, p99, one hangs",
                " ms",
                async |length| {
                    latency(&others, &receivers, count_in(length, EVENTS_PER_SECOND)?).await
                },
                async |length| {
                    latency(
                        &same_without_hanging,
                        &receivers,
                        count_in(length, EVENTS_PER_SECOND)?,
                    )
                    .await
                },
            )
            .await?;
        let size = format!(
            "{targets} targets, {EVENTS_PER_SECOND} events a second, one more target hangs with \
                {HANGING_DELIVERIES} deliveries waiting"
        );
        Ok(Line::growth(
            format!("event to arrival, p99, {size}"),
            format!("{} ms", figure(compared.ours)),
            format!("{} ms (none hangs)", figure(compared.yardstick)),
            compared.ours / compared.yardstick,
            HANGING_TARGET,
        ))
    }
}

/// Returns the number of events or deliveries in a round of this length, with `per_second` of them
/// in each second.
fn count_in(length: Duration, per_second: u32) -> anyhow::Result<usize> {
    Ok(usize::try_from(
        length.as_millis() * u128::from(per_second) / 1_000,
    )?)
}

/// Returns the processor time per item in microseconds. `after` and `before` are the processor
/// times at the end and at the start, and `times` has one entry for each item.
fn processor_time_per_item(
    after: Duration,
    before: Duration,
    times: &[Instant],
) -> anyhow::Result<f64> {
    Ok(after.saturating_sub(before).as_secs_f64() * 1e6 / f64::from(u32::try_from(times.len())?))
}

fn milliseconds(from: Instant, to: Instant) -> f64 {
    to.duration_since(from).as_secs_f64() * 1_000.0
}

/// Sets up an organization for each receiver. Sends one delivery to each receiver, so that the
/// connection to it is open.
async fn organizations(
    server: &Server,
    receivers: &Receivers,
) -> anyhow::Result<Vec<Organization>> {
    let (address, keys) = (server.address, Keys::default());
    let (mut organizations, mut tasks) = (Vec::new(), JoinSet::new());
    for url in receivers.urls.iter() {
        let url = url.clone();
        if tasks.len() >= MAX_CONCURRENT
            && let Some(result) = tasks.join_next().await
        {
            organizations.push(result??);
        }
        let keys = keys.clone();
        tasks.spawn(async move {
            let organization = Organization::on(address, keys).await?;
            organization.subscribe(&url).await?;
            organization.cause_events(1).await?;
            anyhow::Ok(organization)
        });
    }
    while let Some(result) = tasks.join_next().await {
        organizations.push(result??);
    }
    receivers.times(organizations.len()).await?;
    Ok(organizations)
}

/// Causes `count` events at a constant rate, each in the next organization. Returns the 99th
/// percentile of the times from an event to the arrival of its delivery, in milliseconds. Each time
/// is counted from just before the request that syncs the event's task.
async fn latency(
    organizations: &[Organization],
    receivers: &Receivers,
    count: usize,
) -> anyhow::Result<f64> {
    let mut pace = tokio::time::interval(Duration::from_secs(1) / EVENTS_PER_SECOND);
    let mut syncs = JoinSet::new();
    for organization in organizations.iter().cycle().take(count).cloned() {
        pace.tick().await;
        syncs.spawn(async move {
            let id = organization.keys.next();
            let task = organization.tasks([id]);
            let mut connection = organization.platform.connect().await?;
            let started = Instant::now();
            organization
                .platform
                .request_ok_on(
                    &mut connection,
                    Method::POST,
                    &organization.sync,
                    Some(&task),
                )
                .await?;
            anyhow::Ok((id, started))
        });
    }
    let mut start_times = HashMap::new();
    while let Some(result) = syncs.join_next().await {
        let (id, time) = result??;
        start_times.insert(id, time);
    }
    let (mut latencies, mut repeats) = (Vec::new(), 0);
    while !start_times.is_empty() {
        let arrival = receivers.next().await?;
        let delivery: Value = serde_json::from_slice(&arrival.body)?;
        let id: Uuid = delivery["data"]["id"]
            .as_str()
            .context("a delivery without a task")?
            .parse()?;
        // A delivery may arrive twice. Only its first arrival counts.
        match start_times.remove(&id) {
            Some(started) => latencies.push(milliseconds(started, arrival.at)),
            None => repeats += 1,
        }
    }
    if repeats > 0 {
        eprintln!("{repeats} of {count} deliveries arrived more than once, or late from before");
    }
    let (p50, p99) = (median(&latencies), ninety_ninth(&latencies));
    eprintln!(
        "event to arrival: {count} events, median {} ms, p99 {} ms",
        figure(p50),
        figure(p99)
    );
    Ok(p99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_round_sends_more_deliveries() {
        assert_eq!(count_in(Duration::from_secs(4), 25_000).unwrap(), 100_000);
        assert_eq!(count_in(Duration::from_millis(500), 250).unwrap(), 125);
    }
}
