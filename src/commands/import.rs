//! `vestibule import`: imports sync records from an NDJSON file in batches, with a progress bar.
//!
//! Each batch is a request to the operation `sync` (`features::platform`). `super::table` imports
//! CSV.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, Read};
use std::path::Path;

use engine::clock::Clock;
use engine::error::MAX_ISSUES;
use features::platform::MAX_RECORDS;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::local::LocalCaller;
use crate::config::ImportFlags;
use crate::server;

/// Limits of a batch in an import. Larger batches are hardly faster, and the import would report an
/// invalid record later.
const BATCH: ImportLimits = ImportLimits {
    records: 2_000,
    bytes: 8 << 20,
};
/// Limits of a dry run, which has only one batch, as large as a request may be. With several
/// batches, a record could refer to a record of an earlier batch, which the dry run did not store.
const DRY_BATCH: ImportLimits = ImportLimits {
    records: MAX_RECORDS,
    bytes: 15 << 20,
};

/// Limits of a batch with `--skip-invalid`. A batch has at most as many records as a response can
/// list invalid records, so the response lists every invalid record of the batch.
const SKIPPING_BATCH: ImportLimits = ImportLimits {
    records: MAX_ISSUES,
    bytes: 8 << 20,
};

/// The limits of a batch of records from the file: a number of records, and a size. A batch is
/// complete when it reaches one of them.
#[derive(Clone, Copy)]
struct ImportLimits {
    records: usize,
    /// Size of a batch in bytes, at which it is complete. The line that reaches this size is still
    /// part of the batch.
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
    let (input, size) = open_input(file)?;
    let service = server::offline_service(&flags.database, Clock::system()).await?;
    let token = service.settings.platform_keys.concat();
    let platform = LocalCaller {
        service: &service,
        token,
    };
    let bar = progress_bar(size);
    let mut lines = BufReader::new(bar.wrap_read(input)).lines();
    let (mut imported_lines, mut events, mut skipped) = (0_usize, 0_u64, 0_u64);
    let mut printed_warnings = HashSet::new();
    loop {
        let batch = next_batch(
            &mut lines,
            imported_lines,
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
        if flags.dry_run && imported_lines > 0 {
            return Err(format!(
                "a dry run checks one batch only; lines 1 to {imported_lines} are valid"
            ));
        }
        let count = batch.len();
        let applied = apply(&platform, &flags, &batch).await.map_err(|error| {
            bar.abandon();
            let resume = imported_lines + 1;
            format!(
                "the batch of lines {resume} to {} failed, and none of it was applied: \
                    {error}\nEarlier lines are imported; resume at line {resume}.",
                imported_lines + count
            )
        })?;
        events += applied["events"].as_u64().unwrap_or(0);
        skipped += applied["rejectedCount"].as_u64().unwrap_or(0);
        for rejected in applied["rejected"].as_array().into_iter().flatten() {
            let line = skipped_record_line(rejected, imported_lines, &batch);
            bar.suspend(|| eprintln!("{line}"));
        }
        for warning in applied["warnings"].as_array().into_iter().flatten() {
            let (field, message) = (
                warning["path"][3].as_str().unwrap_or_default(),
                warning["message"].as_str().unwrap_or_default(),
            );
            // Prints a warning once for each field, because a misspelt field is usually misspelt on
            // every line.
            if printed_warnings.insert((field.to_owned(), message.to_owned())) {
                let line = imported_lines + 1 + index(&warning["path"][1]);
                let text = if flags.skip_invalid {
                    json!({ "line": line, "field": field, "warning": message }).to_string()
                } else {
                    format!("line {line}: {field:?} {message}")
                };
                bar.suspend(|| eprintln!("{text}"));
            }
        }
        imported_lines += count;
        // PostgreSQL needs statistics that include the rows of this batch, so that it plans the
        // statements of the next batch well.
        server::refresh_statistics(&service.store).await;
        bar.set_message(format!("{imported_lines} records"));
    }
    bar.finish_and_clear();
    super::checkpoint_database(service.store.clone()).await?;
    let verb = if flags.dry_run {
        "would import"
    } else {
        "imported"
    };
    let imported = u64::try_from(imported_lines)
        .unwrap_or(u64::MAX)
        .saturating_sub(skipped);
    let suffix = if flags.skip_invalid {
        format!(", {skipped} left out")
    } else {
        String::new()
    };
    super::print_text(&format!(
        "{verb} {imported} records, {events} events{suffix}\n"
    ))
}

/// Converts the index of a record in a JSON response to a number. Returns 0 if the value is not an
/// index.
fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap_or(0)).unwrap_or(0)
}

/// Returns the JSON line about a record that the import skipped: the line number in the file, the
/// issues, and the record itself.
fn skipped_record_line(rejected: &Value, imported_lines: usize, batch: &[String]) -> String {
    let position = index(&rejected["index"]);
    let record = batch.get(position).map_or("null", |line| line.trim());
    format!(
        r#"{{"line":{},"id":{},"issues":{},"record":{record}}}"#,
        imported_lines + 1 + position,
        rejected["id"],
        rejected["issues"],
    )
}

/// Opens a file, or standard input for the path `-`. Also returns the size of the file in bytes;
/// `None` for standard input.
pub(super) fn open_input(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>), String> {
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

/// Reads and checks the lines of the next batch. Returns no lines at the end of the file. Fails on
/// a blank line, and on a line that is not JSON unless `skips_invalid` is set.
fn next_batch(
    lines: &mut impl Iterator<Item = std::io::Result<String>>,
    imported_lines: usize,
    skips_invalid: bool,
    limits: ImportLimits,
) -> Result<Vec<String>, String> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < limits.records && bytes < limits.bytes {
        let Some(line) = lines.next() else { break };
        let number = imported_lines + batch.len() + 1;
        let line = line.map_err(|error| format!("line {number}: {error}"))?;
        if skips_invalid && engine::json::parse(line.as_bytes()).is_err() {
            // The line is not valid JSON, so it is sent as a JSON string. The operation then skips
            // it like any other invalid record, and reports it.
            batch.push(Value::from(line).to_string());
            continue;
        }
        if line.trim().is_empty() {
            return Err(format!(
                "line {number}: is blank\nEarlier batches are imported; resume at line {}.",
                imported_lines + 1
            ));
        }
        bytes += line.len();
        // The JSON is checked here so that the error names its line. The import sends the line
        // unchanged, because serializing would lose digits of long numbers.
        let describe = |error| {
            format!(
                "line {number}: {error}\nEarlier batches are imported; resume at line {}.",
                imported_lines + 1
            )
        };
        engine::json::parse(line.as_bytes()).map_err(describe)?;
        batch.push(line);
    }
    Ok(batch)
}

/// Sends a batch to the operation `sync`. Returns the data of the response.
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
        "{{\"isInitialSync\":{initial_sync},\"dryRun\":{dry_run},\
            \"onInvalid\":\"{on_invalid}\",\"records\":[{}]}}",
        records.join(",")
    );
    platform
        .call_with_json(
            "sync",
            &[("organizationId", &organization.to_string())],
            body,
        )
        .await
}
