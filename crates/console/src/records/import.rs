//! The import of a CSV file. The member uploads the file, checks a preview of the changes, and
//! starts the import.

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;
use features::records::RecordKind;
use features::tables::{self, IMPORT_RECORDS, Imported, LineResult, TableError, TableLine};
use features::words::fill;
use serde_json::{Value, json};

use super::{SCREEN, address, frame, kind_of, require};
use crate::frame::ConsoleFrame;
use crate::refusal::ConsoleRefusal;
use crate::reply;
use crate::request::ConsoleRequest;
use crate::screens::ScreenResponse;

/// Maximum number of lines of the file that the preview shows.
const MOST_LINES: usize = 100;

#[derive(Template)]
#[template(path = "import.html")]
struct Import<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    columns: String,
    dates: String,
    /// The names of the fields that the member can assign to a column of the file.
    fields: String,
    problem: Option<String>,
}

async fn form(
    request: &ConsoleRequest,
    kind: RecordKind,
    problem: Option<(u16, String)>,
) -> Response {
    let words = &request.texts.records;
    let mut fields = tables::field_names(kind);
    if kind == RecordKind::Property {
        fields.extend(custom_names(request).await);
    }
    let page = Import {
        frame: frame(request, kind, words.import.to_owned()),
        action: address(request, "/flats/import", kind),
        columns: request.form_value("columns").unwrap_or_default().to_owned(),
        dates: request.form_value("dates").unwrap_or_default().to_owned(),
        fields: fields.join(", "),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
    };
    reply::page_of_template(request, problem.map_or(200, |(status, _)| status), &page)
}

/// Returns the column headers that stand for custom fields in an uploaded file, such as
/// `custom.Parking`.
async fn custom_names(request: &ConsoleRequest) -> Vec<String> {
    let fields: Result<Vec<Value>, ConsoleRefusal> =
        request.get("listCustomFields", json!({})).await;
    // The names of custom fields only help the member to assign columns. So the form is shown even
    // if the custom fields cannot be read.
    let fields = fields.unwrap_or_default().into_iter();
    fields
        .filter_map(|field| Some(format!("custom.{}", field["name"].as_str()?)))
        .collect()
}

/// Shows the upload form.
pub(super) fn ask(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        Ok(form(request, kind_of(request)?, None).await)
    })
}

#[derive(Template)]
#[template(path = "import-look.html")]
struct ImportPreview<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    again: String,
    csv: String,
    columns: String,
    dates: String,
    counts: [String; 4],
    errors: Vec<(String, String)>,
    lines: Vec<(String, &'static str, String)>,
    ignored: Option<String>,
    /// The label of the import button. `None` if the file contains nothing to import.
    submit: Option<String>,
}

#[derive(Template)]
#[template(path = "import-done.html")]
struct ImportDonePage<'v> {
    frame: ConsoleFrame<'v>,
    text: String,
    ignored: Option<String>,
    way: String,
}

/// Shows the preview of an uploaded file, or imports the file.
pub(super) fn import(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        require(request)?;
        let kind = kind_of(request)?;
        let words = &request.texts.records;
        let csv = request.form_value("csv").unwrap_or_default();
        if csv.trim().is_empty() || !request.may_write() {
            let problem = words.no_file.to_owned();
            return Ok(form(request, kind, Some((400, problem))).await);
        }
        if csv.contains('\u{fffd}') {
            let problem = words.no_text.to_owned();
            return Ok(form(request, kind, Some((400, problem))).await);
        }
        let is_final = request.form_value("import").is_some();
        let dates = request.form_value("dates").unwrap_or_default().trim();
        let arguments = json!({
            "kind": kind, "csv": csv, "columns": columns(request), "dryRun": !is_final,
            "dateFormat": (!dates.is_empty()).then_some(dates),
        });
        match request.read(IMPORT_RECORDS, arguments).await {
            Ok(imported) if is_final => Ok(finished(request, kind, &imported)),
            Ok(imported) => Ok(look(request, kind, csv, &imported)),
            Err(refusal) => Ok(refused(request, kind, &refusal).await),
        }
    })
}

async fn refused(request: &ConsoleRequest, kind: RecordKind, refusal: &ConsoleRefusal) -> Response {
    let problem = refusal.sentences(request).join(" ");
    form(request, kind, Some((refusal.status, problem))).await
}

/// Returns the field for each column that the member assigned. The member types one `column=field`
/// per line.
fn columns(request: &ConsoleRequest) -> BTreeMap<String, Value> {
    request
        .form_value("columns")
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.rsplit_once('='))
        .map(|(header, field)| (header.trim().to_owned(), json!(field.trim())))
        .collect()
}

fn ignored(request: &ConsoleRequest, imported: &Imported) -> Option<String> {
    let names = imported.ignored_columns.join(", ");
    (!names.is_empty()).then(|| fill(request.texts.records.ignored, &[("names", &names)]))
}

fn look(request: &ConsoleRequest, kind: RecordKind, csv: &str, imported: &Imported) -> Response {
    let words = &request.texts.records;
    let count = |text: &str, count: usize| fill(text, &[("count", &count.to_string())]);
    let line = |line: u64| fill(words.line, &[("line", &line.to_string())]);
    let place = |error: &TableError| match &error.column {
        Some(column) => format!("{}, {column}", line(error.line)),
        None => line(error.line),
    };
    let wrong = imported.errors.len() + imported.more_errors;
    let total = imported.added + imported.changed;
    let change = |line: &TableLine| match line.state {
        LineResult::New => Some(words.is_new),
        LineResult::Changed => Some(words.is_changed),
        LineResult::Unchanged | LineResult::Wrong => None,
    };
    let page = ImportPreview {
        frame: frame(request, kind, words.import.to_owned()),
        action: address(request, "/flats/import", kind),
        again: address(request, "/flats/import", kind),
        csv: csv.to_owned(),
        columns: request.form_value("columns").unwrap_or_default().to_owned(),
        dates: request.form_value("dates").unwrap_or_default().to_owned(),
        counts: [
            count(words.count_new, imported.added),
            count(words.count_changed, imported.changed),
            count(words.count_unchanged, imported.unchanged),
            count(words.count_wrong, wrong),
        ],
        errors: imported
            .errors
            .iter()
            .map(|error| (place(error), error.message.clone()))
            .collect(),
        lines: imported
            .lines
            .iter()
            .filter_map(|row| Some((row, change(row)?)))
            .take(MOST_LINES)
            .map(|(row, change)| {
                let name = format!("{}: {}", line(row.line), row.external_id);
                (name, change, row.fields.join(", "))
            })
            .collect(),
        ignored: ignored(request, imported),
        submit: (wrong == 0 && total > 0).then(|| count(words.do_import, total)),
    };
    reply::page_of_template(request, if wrong > 0 { 400 } else { 200 }, &page)
}

fn finished(request: &ConsoleRequest, kind: RecordKind, imported: &Imported) -> Response {
    let words = &request.texts.records;
    let [added, changed, unchanged] =
        [imported.added, imported.changed, imported.unchanged].map(|count| count.to_string());
    let page = ImportDonePage {
        frame: frame(request, kind, words.import.to_owned()),
        text: fill(
            words.imported,
            &[
                ("added", &added),
                ("changed", &changed),
                ("unchanged", &unchanged),
            ],
        ),
        ignored: ignored(request, imported),
        way: address(request, SCREEN.path, kind),
    };
    reply::page_of_template(request, 200, &page)
}
