//! `vestibule import`: NDJSON sync records into the database, in batches, with a progress bar.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, Read};
use std::path::Path;

use engine::clock::Clock;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use super::local::Local;
use crate::config::ImportFlags;
use crate::platform::MAX_RECORDS;
use crate::server;

/// How much goes into a batch: large enough to be quick, small enough that a failed one is soon found.
const BATCH: Batch = Batch { records: 2_000, bytes: 8 << 20 };
/// A batch that is not applied is the only one, because the next could not name its records: as much as a request may have.
const DRY_BATCH: Batch = Batch { records: MAX_RECORDS, bytes: 15 << 20 };

/// How much goes into a batch at the most.
#[derive(Clone, Copy)]
struct Batch {
    records: usize,
    /// The last record may go beyond.
    bytes: usize,
}

/// Reads records from a file or standard input, and applies them batch by batch through the sync operation.
pub async fn import(flags: ImportFlags) -> Result<(), String> {
    let (input, size) = open(&flags.file)?;
    let service = server::offline(&flags.database, Clock::system()).await?;
    let token = service.settings.platform_keys.concat();
    let platform = Local { service: &service, token };
    let bar = progress_bar(size);
    let mut lines = BufReader::new(bar.wrap_read(input)).lines();
    let (mut done, mut events) = (0_usize, 0_u64);
    let mut warned = HashSet::new();
    loop {
        let batch = next_batch(&mut lines, done, if flags.dry_run { DRY_BATCH } else { BATCH })?;
        if batch.is_empty() {
            break;
        }
        if flags.dry_run && done > 0 {
            return Err(format!("a dry run takes what goes into one batch; lines 1 to {done} are fine"));
        }
        let count = batch.len();
        let applied = apply(&platform, &flags, batch).await.map_err(|error| {
            bar.abandon();
            let resume = done + 1;
            format!("the batch of lines {resume} to {} failed, nothing of it was applied: {error}\nEarlier lines stand; resume at line {resume}.", done + count)
        })?;
        events += applied["events"].as_u64().unwrap_or(0);
        for warning in applied["warnings"].as_array().into_iter().flatten() {
            let (field, message) = (warning["path"][3].as_str().unwrap_or_default(), warning["message"].as_str().unwrap_or_default());
            // Once for each field of a kind: what is misspelt is misspelt on every line.
            if warned.insert((field.to_owned(), message.to_owned())) {
                let line = done + 1 + usize::try_from(warning["path"][1].as_u64().unwrap_or(0)).unwrap_or(0);
                bar.suspend(|| eprintln!("line {line}: {field:?} {message}"));
            }
        }
        done += count;
        // The next batch is planned for what there is by then.
        server::refresh_statistics(&service.store).await;
        bar.set_message(format!("{done} records"));
    }
    bar.finish_and_clear();
    super::settle(service.store.clone()).await?;
    let what = if flags.dry_run { "would import" } else { "imported" };
    super::print(&format!("{what} {done} records, {events} events\n"))
}

fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>), String> {
    if path == Path::new("-") {
        return Ok((Box::new(std::io::stdin()), None));
    }
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let size = file.metadata().map(|metadata| metadata.len()).ok();
    Ok((Box::new(file), size))
}

fn progress_bar(size: Option<u64>) -> ProgressBar {
    let bar = size.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let template = if size.is_some() { "{bar:40} {percent:>3}% {msg} {elapsed} (eta {eta})" } else { "{spinner} {msg} {elapsed}" };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn next_batch(lines: &mut impl Iterator<Item = std::io::Result<String>>, done: usize, most: Batch) -> Result<Vec<String>, String> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < most.records && bytes < most.bytes {
        let Some(line) = lines.next() else { break };
        let number = done + batch.len() + 1;
        let line = line.map_err(|error| format!("line {number}: {error}"))?;
        if line.trim().is_empty() {
            return Err(format!("line {number}: is blank\nEarlier batches stand; resume at line {}.", done + 1));
        }
        bytes += line.len();
        // What is wrong with a line is said of the line. It is sent as it is: numbers past double precision are.
        let wrong = |error| format!("line {number}: {error}\nEarlier batches stand; resume at line {}.", done + 1);
        engine::json::parse(line.as_bytes()).map_err(wrong)?;
        batch.push(line);
    }
    Ok(batch)
}

async fn apply(platform: &Local<'_>, flags: &ImportFlags, records: Vec<String>) -> Result<Value, String> {
    let ImportFlags { initial_sync, dry_run, organization, .. } = flags;
    let body = format!(r#"{{"isInitialSync":{initial_sync},"dryRun":{dry_run},"records":[{}]}}"#, records.join(","));
    platform.send("sync", &[("organizationId", &organization.to_string())], body).await
}
