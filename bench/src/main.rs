//! Measures the cost of Vestibule in one run on one machine. Where possible, the result is a ratio
//! to a yardstick.
//!
//! The release binary is measured over loopback beside two yardsticks: a bare handler that sends
//! the same bytes, and a loop over the store that writes the same rows. Both sides of a ratio are
//! measured in turns, so that other load on the machine affects both. The response times of guests'
//! requests are measured in an organization of the size of a city, as absolute values and in
//! comparison with a smaller organization. Webhooks are sent to receivers in this process. The
//! yardstick for webhooks is a bare loop of the same HTTP client, in another process, that posts to
//! the same receivers. The table is written to standard output, the progress to standard error.

mod bare;
mod city;
mod client;
mod console;
mod growth;
mod guest_page;
mod library;
mod load;
mod measure;
mod post;
mod postgres;
mod reads;
mod receiver;
mod rows;
mod server;
mod setup;
mod stays;
mod webhooks;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use bench::{keys, machine, report};
use clap::{Parser, Subcommand, ValueEnum};

use growth::Curve;
use measure::{Bench, Plan};
use report::Line;
use tempfile::TempDir;

/// Measures Vestibule, and compares it with a bare HTTP handler and with Vestibule's own database
/// layer.
#[derive(Debug, Parser)]
#[command(name = "bench", version)]
struct Cli {
    /// Short rounds, which only show that everything runs.
    #[arg(long)]
    quick: bool,
    /// Measure only this group.
    #[arg(long, value_enum)]
    only: Option<Group>,
    /// Write the curves of growth to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// An empty PostgreSQL database; without it, PostgreSQL is not measured.
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// The binary to measure [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// An action to run instead of the measurements.
    #[command(subcommand)]
    command: Option<Command>,
}

/// A group of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    StartUp,
    List,
    GuestPage,
    Writes,
    City,
    Growth,
    Stays,
    Postgres,
    Webhooks,
}

/// An action to run instead of the measurements.
#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a recorded answer from a bare handler.
    #[command(hide = true)]
    BareHttp {
        /// The file with the recorded answer.
        answer: PathBuf,
    },
    /// Post a recorded delivery repeatedly. Each line of standard input has the number of requests
    /// to send.
    #[command(hide = true)]
    BarePost {
        /// The file with the delivery and its targets.
        job: PathBuf,
    },
    /// Measure time and size of every page of the console in an organization of the size of a city.
    ConsoleSizes,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    match &cli.command {
        Some(Command::BareHttp { answer }) => runtime.block_on(bare::serve(answer))?,
        Some(Command::BarePost { job }) => runtime.block_on(post::serve(job))?,
        Some(Command::ConsoleSizes) => {
            let is_within = runtime.block_on(async {
                let (_, binary, scratch) = prepare(&cli)?;
                let heading = machine::heading(scratch.path(), "every page of the console")?;
                console::sizes(&binary, scratch.path(), &heading).await
            })?;
            return Ok(if is_within {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        None => print!("{}", runtime.block_on(measure(&cli))?),
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the path of this program, the path of the binary to measure, and a directory for its
/// data.
fn prepare(cli: &Cli) -> anyhow::Result<(PathBuf, PathBuf, TempDir)> {
    let program = std::env::current_exe()?;
    let directory = program.parent().context("this program has no directory")?;
    let binary = cli
        .binary
        .clone()
        .map_or_else(|| Ok(directory.join("vestibule")), std::path::absolute)?;
    ensure!(
        binary.is_file(),
        "{} does not exist; run `cargo build --release` first",
        binary.display()
    );
    // The system's directory for temporary files may be in memory. A commit would cost nothing
    // there, so another directory is used.
    let scratch = tempfile::Builder::new()
        .prefix("vestibule-bench-")
        .tempdir_in(directory)?;
    Ok((program, binary, scratch))
}

/// Makes the selected measurements. Returns the table of the results.
async fn measure(cli: &Cli) -> anyhow::Result<String> {
    ensure!(
        !cfg!(debug_assertions),
        "build with --release: the times of a debug build mean nothing"
    );
    let (program, binary, scratch) = prepare(cli)?;
    let plan = if cli.quick { Plan::QUICK } else { Plan::FULL };
    let heading = machine::heading(scratch.path(), &plan.to_string())?;
    let bench = Bench {
        program,
        binary,
        scratch: scratch.path().to_owned(),
        plan,
    };
    let is_selected = |group| cli.only.is_none_or(|only| only == group);
    let mut lines: Vec<Line> = Vec::new();
    if is_selected(Group::StartUp) {
        lines.extend(bench.start_up()?);
    }
    if is_selected(Group::List) {
        lines.extend(bench.lists().await?);
    }
    if is_selected(Group::GuestPage) {
        lines.extend(bench.guest_page().await?);
    }
    if is_selected(Group::Writes) {
        lines.extend(bench.writes().await?);
    }
    if is_selected(Group::City) {
        lines.extend(bench.city().await?);
    }
    let mut curves = Vec::new();
    if is_selected(Group::Growth) {
        curves = bench.growth().await?;
        lines.extend(curves.iter().map(Curve::line));
    }
    // A million stays take longer than all other measurements. So a full run measures them only if
    // they are the selected group.
    if cli.only == Some(Group::Stays) || cli.quick && cli.only.is_none() {
        lines.extend(bench.stays(None).await?);
        if let Some(url) = &cli.postgres {
            lines.extend(bench.stays(Some(url)).await?);
        }
    }
    if let Some(file) = &cli.plot {
        std::fs::write(file, growth::plot(&curves)).with_context(|| file.display().to_string())?;
    }
    if is_selected(Group::Postgres)
        && let Some(url) = &cli.postgres
    {
        lines.extend(bench.postgres(url).await?);
    }
    if is_selected(Group::Webhooks) {
        lines.extend(bench.webhooks().await?);
    }
    let curves = if curves.is_empty() {
        String::new()
    } else {
        growth::table(&curves)
    };
    Ok(report::table(&heading, &lines) + &curves)
}
