//! Measures webhooks: deliveries per second, the time from an event to its arrival, the cost of a
//! backlog, and the effect of a hanging target on the others. The receivers run in this process and
//! do the counting.

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
use crate::measure::{Bench, past_warm_up, watched};
use crate::post::Poster;
use crate::receiver::{Identity, Receivers, rate};
use crate::report::{Line, figure, median, ninety_ninth};
use crate::server::{PLATFORM_KEY, Server};

/// The receivers of a throughput measurement.
struct Fan {
    receivers: usize,
    /// The limit of deliveries that the dispatcher has under way at once (`Group::limit` in
    /// `crates/delivery/src/limiter.rs`): to one quick port for a single receiver, and to one host
    /// for several.
    under_way: usize,
    /// Deliveries sent for each second of a round.
    a_second: u32,
}

const FANS: [Fan; 2] = [
    Fan {
        receivers: 1,
        under_way: 64,
        a_second: 2_500,
    },
    Fan {
        receivers: BACKLOGGED,
        under_way: 128,
        a_second: 5_000,
    },
];
/// The least rate of deliveries, as a part of the rate of a bare loop.
const THROUGHPUT_TARGET: f64 = 0.4;

/// Number of events measured on an idle server, and of events before them that are not measured.
const IDLE_EVENTS: (usize, usize) = (200, 20);
/// The pause of the server between two events, in which it records the previous outcome.
const REST: Duration = Duration::from_millis(10);
/// In milliseconds.
const IDLE_TARGET: f64 = 2.0;

/// Number of receivers of a backlog.
const BACKLOGGED: usize = 10;
/// Deliveries of a backlog for each second of a round: 100,000 in a full round.
const BACKLOG_A_SECOND: u32 = 25_000;
/// Number of syncs that make the backlog.
const BATCHES: usize = 5;
/// Longer than making a backlog takes, so that an attempt that waits for its answer meanwhile does
/// not fail.
const PATIENT: &str = "--webhook-timeout=10m";
/// The least rate of the first tenth, while the backlog is still there, as a part of the rate of
/// the last tenth.
const FLAT_TARGET: f64 = 0.8;
/// In MiB.
const BACKLOG_MEMORY_TARGET: f64 = 150.0;

/// Number of targets beside the hanging one: normally, and where this process may open fewer than
/// `FILES` files.
const TARGETS: (usize, usize) = (1_000, 200);
/// Enough files for a listener and two connections of each target, and some more.
const FILES: usize = 4_096;
/// Events per second. The pace does not depend on how fast they arrive.
const PACE: u32 = 250;
/// Deliveries that wait for the hanging target.
const WAITING: usize = 10_000;
/// The largest factor by which deliveries to the others may become slower.
const UNMOVED_TARGET: f64 = 1.5;
/// Organizations set up at the same time.
const AT_ONCE: usize = 16;

/// An organization with a subscription to new tasks.
#[derive(Clone)]
struct Tenant {
    platform: Client,
    client: Client,
    /// The path to which the platform sends records of this organization.
    sync: String,
    property: Uuid,
    keys: Keys,
}

impl Tenant {
    /// Sets up the organization.
    async fn on(address: SocketAddr, keys: Keys) -> anyhow::Result<Self> {
        let platform = Client::new(address, PLATFORM_KEY)?;
        let (path, property) = (
            format!("/platform/v1/organizations/{}", keys.next()),
            keys.next(),
        );
        let organization = json!({ "name": "Casa Mar", "country": "ES", "languages": ["en"] });
        platform
            .ask(Method::PUT, &path, Some(&organization))
            .await?;
        let flat = json!({ "name": "Flat 1", "timezone": "Europe/Madrid", "country": "ES" });
        let flat = json!({ "isInitialSync": true, "records": [{ "kind": "property", "id": property, "data": flat }] });
        let sync = format!("{path}/sync");
        platform.ask(Method::POST, &sync, Some(&flat)).await?;
        let key = json!({ "name": "bench", "permissions": ["view_tasks"] });
        let key = platform
            .data(Method::POST, &format!("{path}/api-keys"), Some(&key))
            .await?;
        let client = Client::new(
            address,
            key["token"]
                .as_str()
                .context("an API key without its token")?,
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
            .ask(
                Method::POST,
                "/api/v1/webhook-subscriptions",
                Some(&subscription),
            )
            .await
            .map(drop)
    }

    /// Returns the body of a sync that creates tasks with these ids.
    fn tasks(&self, ids: impl IntoIterator<Item = Uuid>) -> Value {
        let data =
            json!({ "propertyId": self.property, "title": "Change the linen", "status": "open" });
        let tasks = ids
            .into_iter()
            .map(|id| json!({ "kind": "task", "id": id, "data": data }));
        json!({ "records": tasks.collect::<Vec<_>>() })
    }

    /// Fires `count` events with one sync.
    async fn fire(&self, count: usize) -> anyhow::Result<()> {
        let tasks = self.tasks((0..count).map(|_| self.keys.next()));
        self.platform
            .ask(Method::POST, &self.sync, Some(&tasks))
            .await
            .map(drop)
    }
}

impl Bench {
    /// Takes all measurements of webhooks.
    pub async fn webhooks(&self) -> anyhow::Result<Vec<Line>> {
        let identity = Identity::new(&self.scratch)?;
        let mut lines = Vec::new();
        for fan in &FANS {
            lines.extend(self.throughput(&identity, fan).await?);
        }
        lines.extend(self.arrival(&identity).await?);
        lines.extend(self.backlog(&identity).await?);
        lines.push(self.hanging(&identity).await?);
        Ok(lines)
    }

    /// Starts a service that trusts the receivers.
    fn sending(&self, identity: &Identity, more: &[&str]) -> anyhow::Result<Server> {
        let flags = identity
            .flags()
            .into_iter()
            .chain(more.iter().map(|flag| (*flag).to_owned()));
        Server::vestibule_with(&self.binary, &self.scratch, &flags.collect::<Vec<_>>())
    }

    /// Measures deliveries per second beside a bare loop of the same HTTP client that posts the
    /// same bytes. Also measures the processor time of a delivery, including the receiver's part.
    async fn throughput(&self, identity: &Identity, fan: &Fan) -> anyhow::Result<[Line; 2]> {
        let Fan {
            receivers: count,
            under_way,
            a_second,
        } = *fan;
        let server = self.sending(identity, &[])?;
        let receivers = Receivers::start(identity, count, true).await?;
        let tenant = Tenant::on(server.address, Keys::default()).await?;
        for url in receivers.urls.iter() {
            tenant.subscribe(url).await?;
        }
        tenant.fire(1).await?;
        let sample = receivers.next().await?;
        receivers.times(count - 1).await?;
        let mut poster = Poster::start(
            &self.program,
            &self.scratch,
            &receivers.urls,
            &sample,
            under_way,
            identity.authority(),
        )?;
        let (mut costs, mut bare_costs) = (Vec::new(), Vec::new());
        let whose = if count == 1 {
            "one receiver".to_owned()
        } else {
            format!("{count} receivers")
        };
        let compared = self
            .compare(
                &format!("deliveries to {whose}"),
                "/s",
                async |length| {
                    let events = in_time(length, a_second)? / count;
                    tenant.fire(events).await?;
                    let before = server.processor_time()? + machine::own_processor_time()?;
                    let times = receivers.times(events * count).await?;
                    costs.push(each(
                        server.processor_time()? + machine::own_processor_time()?,
                        before,
                        &times,
                    )?);
                    rate(&times)
                },
                async |length| {
                    let posts = in_time(length, a_second)?;
                    let before = poster.processor_time()? + machine::own_processor_time()?;
                    poster.post(posts)?;
                    let times = receivers.times(posts).await?;
                    bare_costs.push(each(
                        poster.processor_time()? + machine::own_processor_time()?,
                        before,
                        &times,
                    )?);
                    rate(&times)
                },
            )
            .await?;
        let (cost, bare_cost) = (past_warm_up(&costs), past_warm_up(&bare_costs));
        let round = in_time(self.plan.length, a_second)?;
        let what = format!(
            "deliveries over kept-alive HTTPS (HTTP/1.1) to {whose}, {round} committed at once, {under_way} under way"
        );
        let yardstick = format!("bare reqwest, same bytes, {under_way} under way");
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

    /// Measures the time from an event to its arrival on a server that does nothing else.
    async fn arrival(&self, identity: &Identity) -> anyhow::Result<Vec<Line>> {
        eprintln!("event to arrival");
        let server = self.sending(identity, &[])?;
        let receivers = Receivers::start(identity, 1, true).await?;
        let tenant = Tenant::on(server.address, Keys::default()).await?;
        tenant.subscribe(&receivers.urls[0]).await?;
        let mut connection = tenant.platform.connect().await?;
        let (mut latencies, mut after_answer) = (Vec::new(), Vec::new());
        let (events, unseen) = IDLE_EVENTS;
        for number in 0..unseen + events {
            tokio::time::sleep(REST).await;
            let task = tenant.tasks([tenant.keys.next()]);
            let fired = Instant::now();
            tenant
                .platform
                .ask_on(&mut connection, Method::POST, &tenant.sync, Some(&task))
                .await?;
            let answered = milliseconds(fired, Instant::now());
            let arrived = milliseconds(fired, receivers.next().await?.at);
            if number >= unseen {
                latencies.push(arrived);
                after_answer.push(arrived - answered);
            }
        }
        let (middle, high) = (median(&latencies), ninety_ninth(&latencies));
        eprintln!(
            "event to arrival: {events} events, median {} ms, p99 {} ms",
            figure(middle),
            figure(high)
        );
        let what = format!(
            "event to arrival on an idle server, from sending the sync of one task, median of {events}"
        );
        Ok(vec![
            Line::limit(what, middle, "ms", Some(IDLE_TARGET)),
            Line::limit(
                "the same, from the answer to that sync".into(),
                median(&after_answer),
                "ms",
                None,
            ),
        ])
    }

    /// Measures whether deliveries are as fast with a large backlog as with a small one, and how
    /// much memory the backlog takes.
    async fn backlog(&self, identity: &Identity) -> anyhow::Result<Vec<Line>> {
        let each = in_time(self.plan.length, BACKLOG_A_SECOND)? / BACKLOGGED / BATCHES;
        let count = each * BACKLOGGED * BATCHES;
        eprintln!("a backlog of {count} deliveries");
        let server = self.sending(identity, &[PATIENT])?;
        let receivers = Receivers::start(identity, BACKLOGGED, false).await?;
        let tenant = Tenant::on(server.address, Keys::default()).await?;
        for url in receivers.urls.iter() {
            tenant.subscribe(url).await?;
        }
        let mut peak = 0.0_f64;
        let draining = async {
            for _ in 0..BATCHES {
                tenant.fire(each).await?;
            }
            receivers.open();
            receivers.times(count).await
        };
        let times = watched(&server, &mut peak, draining).await?;
        let tenth = count / 10;
        let (first, last) = (rate(&times[..tenth])?, rate(&times[count - tenth..])?);
        eprintln!(
            "a backlog of {count} deliveries: {}/s in all",
            figure(rate(&times)?)
        );
        Ok(vec![
            Line::ratio(
                format!(
                    "{count} due deliveries to {BACKLOGGED} receivers, the first tenth of them"
                ),
                format!("{first:.0}/s"),
                format!("{last:.0}/s (the last tenth)"),
                first / last,
                Some(FLAT_TARGET),
            ),
            Line::limit(
                "the same, most resident memory".into(),
                peak,
                "MiB",
                Some(BACKLOG_MEMORY_TARGET),
            ),
        ])
    }

    /// Measures how much longer deliveries take when one of many targets hangs, compared with a
    /// server where none hangs.
    async fn hanging(&self, identity: &Identity) -> anyhow::Result<Line> {
        let (many, few) = TARGETS;
        let targets = if machine::open_files()? < FILES {
            few
        } else {
            many
        };
        eprintln!("{targets} targets and one that hangs: set-up");
        let receivers = Receivers::start(identity, targets, true).await?;
        let (beside, alone) = (self.sending(identity, &[])?, self.sending(identity, &[])?);
        let (others, alike) = (
            tenants(&beside, &receivers).await?,
            tenants(&alone, &receivers).await?,
        );
        let hanging = Receivers::start(identity, 1, false).await?;
        // The keys continue those of the others, so that this is an organization of its own.
        let keys = others.first().context("no targets")?.keys.clone();
        let tenant = Tenant::on(beside.address, keys).await?;
        tenant.subscribe(&hanging.urls[0]).await?;
        tenant.fire(WAITING).await?;
        let compared = self
            .compare(
                "event to arrival, p99, one hangs",
                " ms",
                async |length| latency(&others, &receivers, in_time(length, PACE)?).await,
                async |length| latency(&alike, &receivers, in_time(length, PACE)?).await,
            )
            .await?;
        let size = format!(
            "{targets} targets, {PACE} events a second, one more target hangs with {WAITING} deliveries waiting"
        );
        Ok(Line::growth(
            format!("event to arrival, p99, {size}"),
            format!("{} ms", figure(compared.ours)),
            format!("{} ms (none hangs)", figure(compared.yardstick)),
            compared.ours / compared.yardstick,
            UNMOVED_TARGET,
        ))
    }
}

/// Returns the number of items in a round of this length.
fn in_time(length: Duration, a_second: u32) -> anyhow::Result<usize> {
    Ok(usize::try_from(
        length.as_millis() * u128::from(a_second) / 1_000,
    )?)
}

/// Returns the processor time of each item, in microseconds.
fn each(after: Duration, before: Duration, times: &[Instant]) -> anyhow::Result<f64> {
    Ok(after.saturating_sub(before).as_secs_f64() * 1e6 / f64::from(u32::try_from(times.len())?))
}

fn milliseconds(from: Instant, to: Instant) -> f64 {
    to.duration_since(from).as_secs_f64() * 1_000.0
}

/// Sets up an organization for each receiver. Each receives one delivery, so that its connection is
/// open.
async fn tenants(server: &Server, receivers: &Receivers) -> anyhow::Result<Vec<Tenant>> {
    let (address, keys) = (server.address, Keys::default());
    let (mut tenants, mut tasks) = (Vec::new(), JoinSet::new());
    for url in receivers.urls.iter() {
        let url = url.clone();
        if tasks.len() >= AT_ONCE
            && let Some(done) = tasks.join_next().await
        {
            tenants.push(done??);
        }
        let keys = keys.clone();
        tasks.spawn(async move {
            let tenant = Tenant::on(address, keys).await?;
            tenant.subscribe(&url).await?;
            tenant.fire(1).await?;
            anyhow::Ok(tenant)
        });
    }
    while let Some(done) = tasks.join_next().await {
        tenants.push(done??);
    }
    receivers.times(tenants.len()).await?;
    Ok(tenants)
}

/// Fires `count` events at an even pace, each in the next organization. Returns the 99th percentile
/// of the times to arrival in milliseconds, counted from before the sync was sent.
async fn latency(tenants: &[Tenant], receivers: &Receivers, count: usize) -> anyhow::Result<f64> {
    let mut pace = tokio::time::interval(Duration::from_secs(1) / PACE);
    let mut firing = JoinSet::new();
    for tenant in tenants.iter().cycle().take(count).cloned() {
        pace.tick().await;
        firing.spawn(async move {
            let id = tenant.keys.next();
            let task = tenant.tasks([id]);
            let mut connection = tenant.platform.connect().await?;
            let fired = Instant::now();
            tenant
                .platform
                .ask_on(&mut connection, Method::POST, &tenant.sync, Some(&task))
                .await?;
            anyhow::Ok((id, fired))
        });
    }
    let mut fired = HashMap::new();
    while let Some(done) = firing.join_next().await {
        let (id, at) = done??;
        fired.insert(id, at);
    }
    let (mut latencies, mut strays) = (Vec::new(), 0);
    while !fired.is_empty() {
        let arrival = receivers.next().await?;
        let delivery: Value = serde_json::from_slice(&arrival.body)?;
        let id: Uuid = delivery["data"]["id"]
            .as_str()
            .context("a delivery without its task")?
            .parse()?;
        // A delivery may arrive twice; only its first arrival counts.
        match fired.remove(&id) {
            Some(fired) => latencies.push(milliseconds(fired, arrival.at)),
            None => strays += 1,
        }
    }
    if strays > 0 {
        eprintln!("{strays} of {count} deliveries arrived more than once, or late from before");
    }
    let (middle, high) = (median(&latencies), ninety_ninth(&latencies));
    eprintln!(
        "event to arrival: {count} events, median {} ms, p99 {} ms",
        figure(middle),
        figure(high)
    );
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_round_sends_more_deliveries() {
        assert_eq!(in_time(Duration::from_secs(4), 25_000).unwrap(), 100_000);
        assert_eq!(in_time(Duration::from_millis(500), 250).unwrap(), 125);
    }
}
