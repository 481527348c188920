//! The `vestibule` binary: starts the log and the runtime, and runs a command of
//! `vestibule::commands`.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use engine::logging::Log;
use engine::traces::{Endpoint, SPANS};
use vestibule::commands;
use vestibule::config::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let spans = cli.command.otlp_endpoint().and_then(Endpoint::begin);
    let log = match Log::begin(SPANS, spans) {
        Ok(log) => log,
        Err(message) => {
            // A failure to write this message is ignored, because the exit code also reports the
            // failure.
            let _ = writeln!(std::io::stderr(), "vestibule: {message}");
            return ExitCode::FAILURE;
        }
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            log.write_message(&format!("vestibule: {message}"));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<(), String> {
    // Selects the cryptography library for all TLS connections of the process.
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "a TLS provider was installed twice")?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(processors) = cli.command.processors() {
        runtime.worker_threads(processors.get());
    }
    let runtime = runtime
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(commands::run(cli))
}
