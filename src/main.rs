//! The `vestibule` binary: starts the log and runs a command of `vestibule::commands`.

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
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            log.write_message(&format!("vestibule: {message}"));
            ExitCode::FAILURE
        }
    }
}
