//! Runs a round of load with the library `rlt`. In a round, a number of workers each repeat an
//! action without a pause, for a fixed time.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Parser as _;
use rlt::BenchSuite;
use rlt::cli::BenchCli;
use serde::Deserialize;

/// How much longer than planned a round may last. After this time the benchmark fails, because the
/// round is stuck.
const GRACE_PERIOD: Duration = Duration::from_secs(30);
/// The minimum length of a round, as a fraction of its planned length. A shorter round was
/// interrupted.
const MIN_FRACTION: f64 = 0.95;

/// The result of a round.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Round {
    /// Number of actions that the workers completed.
    pub total: f64,
    /// Number of actions per second that the workers completed.
    pub rate: f64,
}

#[derive(Deserialize)]
struct Report {
    summary: Summary,
    status: BTreeMap<String, u64>,
    errors: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Summary {
    success_ratio: f64,
    total_time: f64,
    iters: Round,
}

/// Runs a round. A failed action, or an interruption of the round, is an error.
pub async fn round<S>(
    suite: S,
    workers: u32,
    length: Duration,
    scratch: &Path,
) -> anyhow::Result<Round>
where
    S: BenchSuite + Send + 'static,
    S::WorkerState: Send + 'static,
{
    // The load-test library `rlt` can be configured only by command-line flags. Without a terminal,
    // it writes its results only to a file.
    let file = scratch.join("round.json");
    let (workers, duration) = (workers.to_string(), format!("{}ms", length.as_millis()));
    let flags = [
        "load",
        "--quiet",
        "--concurrency",
        &workers,
        "--duration",
        &duration,
        "--output",
        "json",
        "--output-file",
    ];
    let cli = BenchCli::try_parse_from(
        flags
            .map(OsString::from)
            .into_iter()
            .chain([file.clone().into_os_string()]),
    )?;
    tokio::time::timeout(length + GRACE_PERIOD, rlt::cli::run(cli, suite))
        .await
        .context("a round got stuck")??;
    let Report {
        summary,
        status,
        errors,
    } = serde_json::from_reader(BufReader::new(File::open(&file)?))?;
    let is_clean = errors.is_empty() && summary.success_ratio >= 1.0;
    ensure!(
        is_clean,
        "an action of the round failed: {status:?} {errors:?}"
    );
    ensure!(
        summary.total_time >= MIN_FRACTION * length.as_secs_f64(),
        "the round was interrupted"
    );
    Ok(summary.iters)
}
