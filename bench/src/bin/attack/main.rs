//! The attack: tries on a server of its own, on loopback only, what a hostile client, a hostile
//! neighbour or a failing machine can do to others.
//!
//! In each scenario a *victim* organization writes under idempotency keys and reads, twenty times a
//! second, during an attack by others. Afterwards every acknowledged write is checked. Attacker and
//! victim share this process and this machine with the server, so times are upper bounds. The table
//! goes to standard output, progress to standard error. The exit code is 1 if anything was lost,
//! done twice or answered wrongly.

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

/// How much longer than planned a scenario may take, including its set-up and its final check.
const GRACE: Duration = Duration::from_secs(300);

/// Attack a server of its own, and report the effects on others.
#[derive(Debug, Parser)]
#[command(name = "attack", version)]
struct AttackCli {
    /// How long the attacks take together, without their set-up.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// An empty PostgreSQL database; each scenario has a new SQLite one without.
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// The binary to attack [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
    /// Only the scenarios whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

fn main() -> anyhow::Result<ExitCode> {
    let cli = AttackCli::parse();
    // Fails if a provider was installed before, which serves the same purpose.
    drop(ring::default_provider().install_default());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let (heading, rows) = runtime.block_on(async {
        let mut end = signal(SignalKind::terminate())?;
        tokio::select! {
            // A signal must also end the servers that this program has started, so it ends the
            // program in order.
            _ = end.recv() => bail!("told to end"),
            interrupted = tokio::signal::ctrl_c() => bail!("interrupted: {interrupted:?}"),
            played = play(&cli) => played,
        }
    })?;
    print!("{}", table::table(&heading, &rows));
    Ok(if rows.iter().all(Row::is_clean) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Plays all wanted scenarios. Returns the heading and the rows of the table.
async fn play(cli: &AttackCli) -> anyhow::Result<(String, Vec<Row>)> {
    let program = std::env::current_exe()?;
    let beside = program
        .parent()
        .context("this program is in no directory")?;
    let binary = cli
        .server
        .clone()
        .map_or_else(|| Ok(beside.join("vestibule")), std::path::absolute)?;
    ensure!(
        binary.is_file(),
        "{} is not there; run `cargo build --release` first",
        binary.display()
    );
    let is_wanted = |scenario: &Scenario| {
        cli.only
            .as_deref()
            .is_none_or(|only| <&str>::from(scenario).contains(only))
    };
    let scenarios: Vec<_> = Scenario::VARIANTS
        .iter()
        .copied()
        .filter(is_wanted)
        .collect();
    ensure!(!scenarios.is_empty(), "no scenario has such a name");
    let length = Duration::from_secs(cli.seconds) / u32::try_from(scenarios.len())?;
    // Not the system's directory for temporary files, which may be in memory, where a commit costs
    // nothing.
    let scratch = tempfile::Builder::new()
        .prefix("vestibule-attack-")
        .tempdir_in(beside)?;
    let plan = format!(
        "{} of {:.0} s each",
        plural(scenarios.len(), "scenario"),
        length.as_secs_f64()
    );
    let heading = machine::heading(scratch.path(), &plan)?;
    let ground = ScenarioSettings::new(
        binary,
        scratch.path().to_owned(),
        cli.postgres.clone(),
        length,
    );
    let mut rows = Vec::new();
    for scenario in scenarios {
        eprintln!("{}", <&str>::from(scenario));
        let played = tokio::time::timeout(length + GRACE, stage::play(&ground, scenario)).await;
        let row = played
            .context("it takes too long")?
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
