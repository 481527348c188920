//! Compares the rate of list requests to the service with the rate of a bare HTTP handler, which
//! sends the same headers and bytes from memory.

use std::sync::Arc;

use crate::bare::Recorded;
use crate::client::{Client, Coding, PORTALS, PRECHECK_STEPS, RepeatedRequest, Requests};
use crate::load::{self, Round};
use crate::measure::{Bench, median_after_warm_up, with_peak_memory};
use crate::report::Line;
use crate::server::Server;
use crate::setup::{self, LIST_LENGTH};

/// Number of connections that read at the same time.
const CONNECTIONS: u32 = 32;
/// The minimum rate of requests for the list of steps, as a fraction of the rate of a bare HTTP
/// handler that sends the same bytes.
const LIST_TARGET: f64 = 0.7;
/// The minimum rate of requests for the list of portals, as a fraction of the rate of a bare HTTP
/// handler. The response is a tenth as long as the list of steps. The target is below
/// `LIST_TARGET`, because the fixed cost of a request has more weight in a short response.
const SHORT_TARGET: f64 = 0.25;
/// The minimum rate of requests for the gzip-compressed list of steps, as a fraction of the rate of
/// a bare HTTP handler that sends the same bytes.
const COMPRESSED_TARGET: f64 = 0.6;
/// The value of `--processors` for a server, larger than the number of processors of the machine.
const PROCESSORS: u32 = 32;
/// The minimum rate of a server that assumes too many processors, as a fraction of the rate of a
/// server that assumes the real number. Both servers use the real processors.
const PROCESSORS_TARGET: f64 = 0.7;

impl Bench {
    /// Measures the lists of portals and steps, uncompressed and compressed.
    pub async fn lists(&self) -> anyhow::Result<Vec<Line>> {
        let server = self.vestibule()?;
        let client = setup::organization(&server).await?;
        setup::create_listed_objects(&client).await?;
        let steps = format!("`GET {PRECHECK_STEPS}`, {LIST_LENGTH} steps");
        let portals = format!("`GET {PORTALS}`, {LIST_LENGTH} portals");
        let mut lines = self
            .compare_with_bare(
                &server,
                &client,
                &steps,
                PRECHECK_STEPS,
                Coding::Identity,
                LIST_TARGET,
            )
            .await?;
        let compressed = format!("{steps}, gzip accepted");
        lines.extend(
            self.compare_with_bare(
                &server,
                &client,
                &compressed,
                PRECHECK_STEPS,
                Coding::Gzip,
                COMPRESSED_TARGET,
            )
            .await?,
        );
        lines.extend(
            self.compare_with_bare(
                &server,
                &client,
                &portals,
                PORTALS,
                Coding::Identity,
                SHORT_TARGET,
            )
            .await?,
        );
        lines.push(self.lists_on_more_processors(&client, &steps).await?);
        Ok(lines)
    }

    /// Measures the list of steps on a server that assumes more processors than the machine has.
    /// The cache of responses must be as effective as on a server that assumes the real number.
    async fn lists_on_more_processors(&self, client: &Client, what: &str) -> anyhow::Result<Line> {
        let server = Server::vestibule_with(
            &self.binary,
            &self.scratch,
            &[format!("--processors={PROCESSORS}")],
        )?;
        let large_client = setup::organization(&server).await?;
        setup::create_listed_objects(&large_client).await?;
        let ask = RepeatedRequest::Read(Arc::from(PRECHECK_STEPS), Coding::Identity);
        let rate = async |client: &Client, length| {
            let requests = Requests {
                client: client.clone(),
                ask: ask.clone(),
            };
            Ok(load::round(requests, CONNECTIONS, length, &self.scratch)
                .await?
                .rate)
        };
        let what =
            format!("{what}, {CONNECTIONS} connections, reckoning with {PROCESSORS} processors");
        let compared = self
            .compare(
                &what,
                "/s",
                async |length| rate(&large_client, length).await,
                async |length| rate(client, length).await,
            )
            .await?;
        Ok(compared.line(what, "with those there are", Some(PROCESSORS_TARGET)))
    }

    /// Measures the rate at which the service answers the same GET request again and again, and the
    /// rate of a bare HTTP handler that sends the same bytes. Also measures the processor time per
    /// request on both servers.
    pub async fn compare_with_bare(
        &self,
        server: &Server,
        client: &Client,
        what: &str,
        path: &str,
        coding: Coding,
        target: f64,
    ) -> anyhow::Result<Vec<Line>> {
        // From the second request on, the response comes from the cache. A cached response is
        // compressed more strongly than the first one.
        client.get_encoded(path, coding).await?;
        let response = client.get_encoded(path, coding).await?;
        let recorded = self.scratch.join("answer.json");
        Recorded::of(&response)?.save(&recorded)?;
        let bare = Server::bare(&self.program, &recorded)?;
        let bare_client = client.at(bare.address)?;

        let ask = RepeatedRequest::Read(Arc::from(path), coding);
        let (mut costs, mut bare_costs, mut peak) = (Vec::new(), Vec::new(), 0.0_f64);
        let compared = self
            .compare(
                what,
                "/s",
                async |length| {
                    let requests = Requests {
                        client: client.clone(),
                        ask: ask.clone(),
                    };
                    let round = load::round(requests, CONNECTIONS, length, &self.scratch);
                    let (round, cost) =
                        with_cost(server, with_peak_memory(server, &mut peak, round)).await?;
                    costs.push(cost);
                    Ok(round.rate)
                },
                async |length| {
                    let requests = Requests {
                        client: bare_client.clone(),
                        ask: ask.clone(),
                    };
                    let (round, cost) = with_cost(
                        &bare,
                        load::round(requests, CONNECTIONS, length, &self.scratch),
                    )
                    .await?;
                    bare_costs.push(cost);
                    Ok(round.rate)
                },
            )
            .await?;
        let (cost, bare_cost) = (
            median_after_warm_up(&costs),
            median_after_warm_up(&bare_costs),
        );
        let what = format!(
            "{what}, {} bytes, {CONNECTIONS} connections",
            response.body().len()
        );
        Ok(vec![
            compared.line(what, "bare axum, same bytes", Some(target)),
            Line::ratio(
                "the same, processor time of the server a request".into(),
                format!("{cost:.1} µs"),
                format!("{bare_cost:.1} µs (bare axum, same bytes)"),
                bare_cost / cost,
                None,
            ),
            Line::limit("the same, most resident memory".into(), peak, "MiB", None),
        ])
    }
}

/// Runs a round. Returns the round's result, and the processor time per request that the server
/// used, in µs.
async fn with_cost(
    server: &Server,
    round: impl Future<Output = anyhow::Result<Round>>,
) -> anyhow::Result<(Round, f64)> {
    let before = server.processor_time()?;
    let round = round.await?;
    let processor_time = server.processor_time()?.saturating_sub(before);
    Ok((
        round,
        processor_time.as_secs_f64() * 1_000_000.0 / round.total,
    ))
}
