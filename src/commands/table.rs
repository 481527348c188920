//! `vestibule import --csv`: imports all records of a CSV file, or none if a record is invalid.
//!
//! `features::tables` reads the file; `super::import` is the import of NDJSON.

use std::io::Read as _;
use std::path::Path;

use engine::clock::Clock;
use engine::error::Error;
use features::tables::{self, ImportTable, Imported, TableError};

use super::import::open_input;
use crate::config::ImportFlags;
use crate::server;

/// Maximum size of a CSV file in bytes. The operation `importRecords` has the same limit.
const LIMIT: u64 = 16 << 20;

/// Reads a CSV file and imports its records.
pub(super) async fn import(flags: &ImportFlags, path: &Path) -> Result<(), String> {
    let kind = flags.kind.ok_or("--csv needs --kind")?;
    let (input, _) = open_input(path)?;
    let mut bytes = Vec::new();
    input
        .take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LIMIT {
        return Err(format!(
            "{} is larger than 16 MiB; split it",
            path.display()
        ));
    }
    let csv = String::from_utf8(bytes).map_err(|_| {
        format!(
            "{} is not UTF-8; save it as CSV UTF-8 and import it again",
            path.display()
        )
    })?;
    let table = ImportTable {
        kind,
        csv,
        columns: flags.column.iter().cloned().collect(),
        date_format: flags.date_format.clone(),
        is_dry_run: flags.dry_run,
    };
    let service = server::offline_service(&flags.database, Clock::system()).await?;
    let imported = tables::import_file(&service, flags.organization, table)
        .await
        .map_err(|error| describe(&error))?;
    super::checkpoint_database(service.store.clone()).await?;
    if flags.json {
        let text = serde_json::to_string_pretty(&imported).map_err(|error| error.to_string())?;
        super::print_text(&format!("{text}\n"))?;
    } else {
        super::print_text(&summary(&imported, flags.dry_run))?;
    }
    if imported.errors.is_empty() {
        Ok(())
    } else {
        Err(problems(&imported))
    }
}

/// Returns the lines that the command prints after a successful import or dry run.
fn summary(imported: &Imported, is_dry_run: bool) -> String {
    let mut text = String::new();
    if imported.errors.is_empty() {
        let prefix = if is_dry_run { "would be " } else { "" };
        text = format!(
            "{} {prefix}added, {} {prefix}changed, {} unchanged, {} events\n",
            imported.added, imported.changed, imported.unchanged, imported.events
        );
    }
    if !imported.ignored_columns.is_empty() {
        text.push_str("columns left out: ");
        text.push_str(&imported.ignored_columns.join(", "));
        text.push('\n');
    }
    text
}

/// Returns the message that lists the errors of the CSV file, one on each line.
fn problems(imported: &Imported) -> String {
    let line = |error: &TableError| {
        let column = error
            .column
            .as_ref()
            .map(|column| format!(", {column}"))
            .unwrap_or_default();
        format!("line {}{column}: {}", error.line, error.message)
    };
    let lines: Vec<String> = imported.errors.iter().map(line).collect();
    let more = if imported.more_errors > 0 {
        format!("\nand {} more", imported.more_errors)
    } else {
        String::new()
    };
    format!("nothing was imported\n{}{more}", lines.join("\n"))
}

/// Describes the error of an import by its issues, or by its cause or message if there are no
/// issues.
fn describe(error: &Error) -> String {
    let (issues, _) = error.listed_issues();
    if issues.is_empty() {
        let message = error.message().to_string();
        return error.cause().map_or(message, str::to_owned);
    }
    let lines: Vec<String> = issues
        .iter()
        .map(|issue| issue.reason.to_string())
        .collect();
    lines.join("\n")
}
