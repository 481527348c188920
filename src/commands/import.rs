//! `vestibule import`: imports NDJSON sync records in batches, with a progress bar.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, Read};
use std::path::Path;

use engine::clock::Clock;
use engine::error::MOST_ISSUES;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::local::LocalCaller;
use crate::config::ImportFlags;
use crate::platform::MAX_RECORDS;
use crate::server;

/// Maximum size of a batch: large enough to be fast, small enough that an error is found soon.
const BATCH: ImportLimits = ImportLimits {
    records: 2_000,
    bytes: 8 << 20,
};
/// Maximum size of the batch of a dry run. There is only one, because a batch that is not applied
/// cannot be referred to by the next. So it may be as large as a request.
const DRY_BATCH: ImportLimits = ImportLimits {
    records: MAX_RECORDS,
    bytes: 15 << 20,
};

/// Maximum size of the batch of an import that leaves out invalid records. An answer names at most
/// that many.
const SKIPPING_BATCH: ImportLimits = ImportLimits {
    records: MOST_ISSUES,
    bytes: 8 << 20,
};

/// Limits of a batch.
#[derive(Clone, Copy)]
struct ImportLimits {
    records: usize,
    /// The last record may exceed this.
    bytes: usize,
}

/// Reads records from a file or standard input, and applies them batch by batch through the sync
/// operation.
pub async fn import(flags: ImportFlags) -> Result<(), String> {
    let file = match (&flags.csv, &flags.file) {
        (Some(csv), _) => return super::table::import(&flags, csv).await,
        (None, Some(file)) => file,
        (None, None) => return Err("name a file to import".to_owned()),
    };
    let (input, size) = open(file)?;
    let service = server::offline(&flags.database, Clock::system()).await?;
    let token = service.settings.platform_keys.concat();
    let platform = LocalCaller {
        service: &service,
        token,
    };
    let bar = progress_bar(size);
    let mut lines = BufReader::new(bar.wrap_read(input)).lines();
    let (mut done, mut events, mut left_out) = (0_usize, 0_u64, 0_u64);
    let mut warned = HashSet::new();
    loop {
        let batch = next_batch(
            &mut lines,
            done,
            flags.skip_invalid,
            match (flags.dry_run, flags.skip_invalid) {
                (true, _) => DRY_BATCH,
                (false, true) => SKIPPING_BATCH,
                (false, false) => BATCH,
            },
        )?;
        if batch.is_empty() {
            break;
        }
        if flags.dry_run && done > 0 {
            return Err(format!(
                "a dry run checks one batch only; lines 1 to {done} are valid"
            ));
        }
        let count = batch.len();
        let applied = apply(&platform, &flags, &batch).await.map_err(|error| {
            bar.abandon();
            let resume = done + 1;
            format!("the batch of lines {resume} to {} failed, and none of it was applied: {error}\nEarlier lines are imported; resume at line {resume}.", done + count)
        })?;
        events += applied["events"].as_u64().unwrap_or(0);
        left_out += applied["rejectedCount"].as_u64().unwrap_or(0);
        for rejected in applied["rejected"].as_array().into_iter().flatten() {
            let line = left_out_line(rejected, done, &batch);
            bar.suspend(|| eprintln!("{line}"));
        }
        for warning in applied["warnings"].as_array().into_iter().flatten() {
            let (field, message) = (
                warning["path"][3].as_str().unwrap_or_default(),
                warning["message"].as_str().unwrap_or_default(),
            );
            // Printed once for each field of a kind, because a misspelt field is misspelt on every
            // line.
            if warned.insert((field.to_owned(), message.to_owned())) {
                let line = done + 1 + index(&warning["path"][1]);
                let text = if flags.skip_invalid {
                    json!({ "line": line, "field": field, "warning": message }).to_string()
                } else {
                    format!("line {line}: {field:?} {message}")
                };
                bar.suspend(|| eprintln!("{text}"));
            }
        }
        done += count;
        // The next batch needs statistics that include the rows of this one.
        server::refresh_statistics(&service.store).await;
        bar.set_message(format!("{done} records"));
    }
    bar.finish_and_clear();
    super::settle(service.store.clone()).await?;
    let what = if flags.dry_run {
        "would import"
    } else {
        "imported"
    };
    let imported = u64::try_from(done)
        .unwrap_or(u64::MAX)
        .saturating_sub(left_out);
    let besides = if flags.skip_invalid {
        format!(", {left_out} left out")
    } else {
        String::new()
    };
    super::print(&format!(
        "{what} {imported} records, {events} events{besides}\n"
    ))
}

fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap_or(0)).unwrap_or(0)
}

/// Returns the line about a record that was left out: its place in the file, its issues, and the
/// record itself.
fn left_out_line(rejected: &Value, done: usize, batch: &[String]) -> String {
    let place = index(&rejected["index"]);
    let record = batch.get(place).map_or("null", |line| line.trim());
    format!(
        r#"{{"line":{},"id":{},"issues":{},"record":{record}}}"#,
        done + 1 + place,
        rejected["id"],
        rejected["issues"],
    )
}

pub(super) fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>), String> {
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
    let template = if size.is_some() {
        "{bar:40} {percent:>3}% {msg} {elapsed} (eta {eta})"
    } else {
        "{spinner} {msg} {elapsed}"
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn next_batch(
    lines: &mut impl Iterator<Item = std::io::Result<String>>,
    done: usize,
    skips_invalid: bool,
    most: ImportLimits,
) -> Result<Vec<String>, String> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < most.records && bytes < most.bytes {
        let Some(line) = lines.next() else { break };
        let number = done + batch.len() + 1;
        let line = line.map_err(|error| format!("line {number}: {error}"))?;
        if skips_invalid && engine::json::parse(line.as_bytes()).is_err() {
            // A text is no record, so it is left out like other invalid records.
            batch.push(Value::from(line).to_string());
            continue;
        }
        if line.trim().is_empty() {
            return Err(format!(
                "line {number}: is blank\nEarlier batches are imported; resume at line {}.",
                done + 1
            ));
        }
        bytes += line.len();
        // The JSON is checked here so that an error names its line. The line is sent unchanged, so
        // that numbers beyond double precision are kept.
        let wrong = |error| {
            format!(
                "line {number}: {error}\nEarlier batches are imported; resume at line {}.",
                done + 1
            )
        };
        engine::json::parse(line.as_bytes()).map_err(wrong)?;
        batch.push(line);
    }
    Ok(batch)
}

async fn apply(
    platform: &LocalCaller<'_>,
    flags: &ImportFlags,
    records: &[String],
) -> Result<Value, String> {
    let ImportFlags {
        initial_sync,
        dry_run,
        organization,
        ..
    } = flags;
    let on_invalid = if flags.skip_invalid { "skip" } else { "refuse" };
    let body = format!(
        r#"{{"isInitialSync":{initial_sync},"dryRun":{dry_run},"onInvalid":"{on_invalid}","records":[{}]}}"#,
        records.join(",")
    );
    platform
        .send(
            "sync",
            &[("organizationId", &organization.to_string())],
            body,
        )
        .await
}
