//! The `vestibule` binary.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;
use vestibule::commands;
use vestibule::config::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log();
    // The one place that chooses: every TLS connection of the process uses this provider.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        eprintln!("vestibule: a TLS provider was chosen twice");
        return ExitCode::FAILURE;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = runtime.map_err(|error| error.to_string()).and_then(|runtime| runtime.block_on(commands::run(cli)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("vestibule: {message}");
            ExitCode::FAILURE
        }
    }
}

/// What is logged where `VESTIBULE_LOG` does not say: this program from `info`, the libraries that talk much from `warn`.
const LOGGED: &str = "info,rmcp=warn,refinery_core=warn,postgres=warn,tokio_postgres=warn";

/// Pretty on a terminal, JSON otherwise; on standard error, so that standard output stays for answers.
fn log() {
    let filter = EnvFilter::try_from_env("VESTIBULE_LOG").unwrap_or_else(|_| EnvFilter::new(LOGGED));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if std::io::stderr().is_terminal() {
        builder.with_target(false).init();
    } else {
        builder.json().flatten_event(true).init();
    }
}
