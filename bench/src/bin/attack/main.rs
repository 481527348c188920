//! The attack: starts its own server, on loopback only, and simulates what a hostile client, a
//! hostile neighbour or a failing machine can do to other organizations.
//!
//! In each scenario, a *victim* organization writes with idempotency keys and reads, twenty times a
//! second, while others attack. Afterwards, every acknowledged write is checked. The attacker and
//! the victim run in this process, on the same machine as the server, so all measured times are
//! upper bounds. The table is written to standard output, the progress to standard error. The exit
//! code is 1 if an acknowledged write was lost or applied twice, or if a response was wrong.

mod caller;
mod connections;
mod crowd;
mod ends;
mod limits;
mod neighbours;
mod organization;
mod server;
mod stage;
mod swapped;
mod table;
mod victim;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use bench::machine;
use clap::Parser;
use strum::VariantArray;
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::rustls::crypto::ring;

use crate::stage::{Scenario, ScenarioSettings};
use crate::table::Row;

/// How much longer than planned a scenario may take. This time includes the scenario's set-up and
/// its final check.
const GRACE_PERIOD: Duration = Duration::from_secs(300);

/// Attack a server that this program starts, and report the effects on other organizations.
#[derive(Debug, Parser)]
#[command(name = "attack", version)]
struct AttackCli {
    /// How long the attacks take together, without their set-up.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// An empty PostgreSQL database; without it, each scenario has a new SQLite database.
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// The binary to attack [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
    /// Run only the scenarios whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

fn main() -> anyhow::Result<ExitCode> {
    let cli = AttackCli::parse();
    // This call fails if the process already has a default TLS provider. The process then uses that
    // provider.
    drop(ring::default_provider().install_default());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let (heading, rows) = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            // A signal makes this function return an error instead of killing the process. So the
            // servers that this program has started are stopped as well.
            _ = terminate.recv() => bail!("terminated by a signal"),
            interrupted = tokio::signal::ctrl_c() => bail!("interrupted: {interrupted:?}"),
            result = run_scenarios(&cli) => result,
        }
    })?;
    print!("{}", table::table(&heading, &rows));
    Ok(if rows.iter().all(Row::is_clean) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs all selected scenarios. Returns the heading and the rows of the results table.
async fn run_scenarios(cli: &AttackCli) -> anyhow::Result<(String, Vec<Row>)> {
    let program = std::env::current_exe()?;
    let directory = program.parent().context("this program has no directory")?;
    let binary = cli
        .server
        .clone()
        .map_or_else(|| Ok(directory.join("vestibule")), std::path::absolute)?;
    ensure!(
        binary.is_file(),
        "{} does not exist; run `cargo build --release` first",
        binary.display()
    );
    let is_selected = |scenario: &Scenario| {
        cli.only
            .as_deref()
            .is_none_or(|only| <&str>::from(scenario).contains(only))
    };
    let scenarios: Vec<_> = Scenario::VARIANTS
        .iter()
        .copied()
        .filter(is_selected)
        .collect();
    ensure!(!scenarios.is_empty(), "no scenario has such a name");
    let length = Duration::from_secs(cli.seconds) / u32::try_from(scenarios.len())?;
    // The system's directory for temporary files may be in memory. A commit would cost nothing
    // there, so another directory is used.
    let scratch = tempfile::Builder::new()
        .prefix("vestibule-attack-")
        .tempdir_in(directory)?;
    let plan = format!(
        "{} of {:.0} s each",
        plural(scenarios.len(), "scenario"),
        length.as_secs_f64()
    );
    let heading = machine::heading(scratch.path(), &plan)?;
    let settings = ScenarioSettings::new(
        binary,
        scratch.path().to_owned(),
        cli.postgres.clone(),
        length,
    );
    let mut rows = Vec::new();
    for scenario in scenarios {
        eprintln!("{}", <&str>::from(scenario));
        let result = tokio::time::timeout(
            length + GRACE_PERIOD,
            stage::run_scenario(&settings, scenario),
        )
        .await;
        let row = result
            .context("the scenario takes too long")?
            .with_context(|| <&str>::from(scenario))?;
        eprintln!("{row}");
        rows.push(row);
    }
    Ok((heading, rows))
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}
