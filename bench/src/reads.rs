//! Measures reads beside a bare handler that sends the same headers and bytes from memory.

use std::sync::Arc;

use crate::bare::Recorded;
use crate::client::{Ask, Client, Coding, PORTALS, PRECHECK_STEPS, Requests};
use crate::load::{self, Round};
use crate::measure::{Bench, past_warm_up, watched};
use crate::report::Line;
use crate::server::Server;
use crate::setup::{self, LISTED};

/// Number of connections that read.
const CONNECTIONS: u32 = 32;
/// The least rate of the list of steps, as a part of the rate of a bare handler.
const LIST_TARGET: f64 = 0.7;
/// The same for a list a tenth as long, where the fixed cost of a request weighs more.
const SHORT_TARGET: f64 = 0.25;
/// The same for the compressed list.
const COMPRESSED_TARGET: f64 = 0.6;
/// The number of processors that the second server is told to assume.
const PROCESSORS: u32 = 32;
/// The least rate of a server that assumes too many processors, as a part of the rate of a normal
/// server. Its threads share the real processors.
const PROCESSORS_TARGET: f64 = 0.7;

impl Bench {
    /// Measures lists, uncompressed and compressed.
    pub async fn lists(&self) -> anyhow::Result<Vec<Line>> {
        let server = self.vestibule()?;
        let client = setup::organization(&server).await?;
        setup::listed(&client).await?;
        let steps = format!("`GET {PRECHECK_STEPS}`, {LISTED} steps");
        let portals = format!("`GET {PORTALS}`, {LISTED} portals");
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
        lines.push(self.on_more_processors(&client, &steps).await?);
        Ok(lines)
    }

    /// Measures the list of steps on a server that assumes more processors, as on a larger machine.
    /// Answers in memory must stay as effective there.
    async fn on_more_processors(&self, client: &Client, what: &str) -> anyhow::Result<Line> {
        let server = Server::vestibule_with(
            &self.binary,
            &self.scratch,
            &[format!("--processors={PROCESSORS}")],
        )?;
        let theirs = setup::organization(&server).await?;
        setup::listed(&theirs).await?;
        let ask = Ask::Read(Arc::from(PRECHECK_STEPS), Coding::Identity);
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
                async |length| rate(&theirs, length).await,
                async |length| rate(client, length).await,
            )
            .await?;
        Ok(compared.line(what, "with those there are", Some(PROCESSORS_TARGET)))
    }

    /// Measures a repeated read beside a bare handler that sends the same bytes, and the processor
    /// time of a request on both.
    pub async fn compare_with_bare(
        &self,
        server: &Server,
        client: &Client,
        what: &str,
        path: &str,
        coding: Coding,
        target: f64,
    ) -> anyhow::Result<Vec<Line>> {
        // The second answer comes from memory, like all later ones. Answers in memory are
        // compressed harder.
        client.coded(path, coding).await?;
        let answer = client.coded(path, coding).await?;
        let recorded = self.scratch.join("answer.json");
        Recorded::of(&answer)?.save(&recorded)?;
        let bare = Server::bare(&self.program, &recorded)?;
        let bare_client = client.at(bare.address)?;

        let ask = Ask::Read(Arc::from(path), coding);
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
                    let (round, cost) = costed(server, watched(server, &mut peak, round)).await?;
                    costs.push(cost);
                    Ok(round.rate)
                },
                async |length| {
                    let requests = Requests {
                        client: bare_client.clone(),
                        ask: ask.clone(),
                    };
                    let (round, cost) = costed(
                        &bare,
                        load::round(requests, CONNECTIONS, length, &self.scratch),
                    )
                    .await?;
                    bare_costs.push(cost);
                    Ok(round.rate)
                },
            )
            .await?;
        let (cost, bare_cost) = (past_warm_up(&costs), past_warm_up(&bare_costs));
        let what = format!(
            "{what}, {} bytes, {CONNECTIONS} connections",
            answer.body().len()
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

/// Runs a round. Returns it with the processor time of the server for each request, in µs.
async fn costed(
    server: &Server,
    round: impl Future<Output = anyhow::Result<Round>>,
) -> anyhow::Result<(Round, f64)> {
    let before = server.processor_time()?;
    let round = round.await?;
    let used = server.processor_time()?.saturating_sub(before);
    Ok((round, used.as_secs_f64() * 1_000_000.0 / round.total))
}
