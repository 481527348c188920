//! `vestibule import`: NDJSON sync records into the database, in batches, with a progress bar.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, Read};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::local::Local;
use crate::ambient::Clock;
use crate::config::ImportFlags;
use crate::server;

/// Records in a batch: large enough to be quick, small enough that a failed one is soon found.
const BATCH: usize = 2_000;
/// Bytes in a batch, well under what a request may have.
const BATCH_BYTES: usize = 8 << 20;

/// Reads records from a file or standard input, and applies them batch by batch through the sync operation.
pub async fn import(flags: ImportFlags) -> Result<(), String> {
    let (input, size) = open(&flags.file)?;
    let service = server::offline(&flags.database, Clock::system()).await?;
    let token = service.settings.platform_keys.concat();
    let platform = Local { service: &service, token };
    let bar = progress_bar(size);
    let mut lines = BufReader::new(bar.wrap_read(input)).lines();
    let (mut done, mut events) = (0_usize, 0_u64);
    loop {
        let batch = next_batch(&mut lines, done)?;
        if batch.is_empty() {
            break;
        }
        let count = batch.len();
        let applied = apply(&platform, &flags, batch).await.map_err(|error| {
            bar.abandon();
            let resume = done + 1;
            format!("the batch of lines {resume} to {} failed, nothing of it was applied: {error}\nEarlier lines stand; resume at line {resume}.", done + count)
        })?;
        events += applied["events"].as_u64().unwrap_or(0);
        done += count;
        bar.set_message(format!("{done} records"));
    }
    bar.finish_and_clear();
    super::settle(service.store.clone()).await?;
    super::print(&format!("imported {done} records, {events} events\n"))
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

fn next_batch(lines: &mut impl Iterator<Item = std::io::Result<String>>, done: usize) -> Result<Vec<Value>, String> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < BATCH && bytes < BATCH_BYTES {
        let Some(line) = lines.next() else { break };
        let number = done + batch.len() + 1;
        let line = line.map_err(|error| format!("line {number}: {error}"))?;
        if line.trim().is_empty() {
            return Err(format!("line {number}: is blank\nEarlier batches stand; resume at line {}.", done + 1));
        }
        bytes += line.len();
        let record = crate::json::parse(line.as_bytes());
        batch.push(record.map_err(|error| format!("line {number}: {error}\nEarlier batches stand; resume at line {}.", done + 1))?);
    }
    Ok(batch)
}

async fn apply(platform: &Local<'_>, flags: &ImportFlags, records: Vec<Value>) -> Result<Value, String> {
    let body = json!({ "isInitialSync": flags.initial_sync, "records": records });
    platform.call("sync", &[("organizationId", &flags.organization.to_string())], body).await
}
