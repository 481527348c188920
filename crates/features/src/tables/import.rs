//! The operation `importRecords` and the command `vestibule import`: write the records of a CSV
//! file, all or none (rules: records#csv-files).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use engine::access::{Access, Permission};
use engine::audit::{self, Actor, AuditEntryRow, Audits, Change, Target};
use engine::context::{Context, RaisedRevision, System};
use engine::error::{Error, Issue, PathSegment, Result};
use engine::operation::{Needs, Object, Operation, OperationName};
use engine::pipeline::Service;
use http::Method;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Json, Row, Transaction};
use strum::VariantArray as _;
use uuid::Uuid;

use super::cells;
use super::columns::{self, CellType, Column, ColumnField, EXTERNAL_ID};
use super::dates::DateParser;
use super::names::{RecordLookup, id_of_external_id};
use super::sheet::{self, CsvLine, CsvTable};
use crate::platform::{
    MAX_RECORDS, OnInvalid, SyncRecord, SyncSettings, apply_records, issues_of_record,
    require_every_property,
};
use crate::records::{RecordKind, RecordOrigin, default_fields, stored};
use crate::scopes::TargetKind;

/// The operation that imports the records of a CSV file.
pub const IMPORT_RECORDS: OperationName<Imported> = OperationName::new("importRecords");

/// Maximum size of a request: 16 MiB.
const BODY_LIMIT: usize = 16 << 20;
/// Time limit of an import. A file of the maximum size needs more time than other requests.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum number of errors in a response.
const MAX_ERRORS: usize = 100;
/// Maximum number of lines in a response.
const MAX_LINES: usize = 1_000;

/// The CSV text to import, with the options of the import.
#[derive(Debug, Clone)]
pub struct ImportTable {
    /// The kind of the records to import.
    pub kind: RecordKind,
    /// The content of the CSV file.
    pub csv: String,
    /// The names of fields by header, for columns whose header does not match the name of the
    /// field.
    pub columns: BTreeMap<String, String>,
    /// The `strftime` pattern of dates; `None` is ISO 8601.
    pub date_format: Option<String>,
    /// Whether the import validates the file and writes nothing.
    pub is_dry_run: bool,
}

/// A request to import a table.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ImportRecords {
    kind: RecordKind,
    csv: String,
    #[serde(default)]
    columns: Option<BTreeMap<String, String>>,
    #[serde(default)]
    date_format: Option<String>,
    #[serde(default)]
    dry_run: Option<bool>,
}

impl JsonSchema for ImportRecords {
    fn schema_name() -> Cow<'static, str> {
        "ImportRecords".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": false,
            "required": ["kind", "csv"],
            "properties": {
                "kind": {
                    "type": "string",
                    "enum": RecordKind::VARIANTS,
                    "description": "Kind of the records of the table.",
                },
                "csv": {
                    "type": "string",
                    "maxLength": BODY_LIMIT,
                    "description": "Text of a CSV file: a header line, and one record a line, at \
                        most 10,000. The column `external_id` identifies a line. An empty cell \
                        leaves a field as it is.",
                },
                "columns": {
                    "type": ["object", "null"],
                    "additionalProperties": { "type": "string", "maxLength": 200 },
                    "maxProperties": 200,
                    "description": "Field of each column whose header does not name it, by header, \
                        such as `{\"Guest\": \"guest.firstName\"}`. Null or left out: headers name \
                        the fields.",
                },
                "dateFormat": {
                    "type": ["string", "null"],
                    "maxLength": 100,
                    "description": "Form of the dates, as a `strftime` pattern such as `%d/%m/%Y`. \
                        Null or left out: ISO 8601.",
                },
                "dryRun": {
                    "type": ["boolean", "null"],
                    "description": "Whether the service only checks the file. The response then \
                        says what is new, changed, unchanged and wrong, but nothing is written. \
                        Null or left out: `false`.",
                },
            },
            "examples": [{ "kind": "tag", "csv": "external_id,name\n1,Sea view\n" }],
        })
    }
}

/// An error in a cell or a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TableError {
    /// Number of the line in the file, from 1.
    pub line: u64,
    /// Header of the column; null if the error concerns the whole line.
    pub column: Option<String>,
    /// The text of the error.
    pub message: String,
}

/// The result of a line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum LineResult {
    New,
    Changed,
    Unchanged,
    Wrong,
}

/// A line and its result.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TableLine {
    /// Number of the line in the file, from 1.
    pub line: u64,
    /// External id in the line, which identifies the record.
    pub external_id: String,
    /// Result of the line: `new`, `changed`, `unchanged` or `wrong`.
    pub state: LineResult,
    /// Names of the fields that are new or changed.
    pub fields: Vec<String>,
}

/// The result of an import.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// Number of new records.
    pub added: usize,
    /// Number of changed records.
    pub changed: usize,
    /// Number of lines that change nothing.
    pub unchanged: usize,
    /// Number of events that the import fires.
    pub events: usize,
    /// Headers of columns that match no field and are ignored.
    pub ignored_columns: Vec<String>,
    /// The errors, at most 100. Only a dry run returns errors.
    pub errors: Vec<TableError>,
    /// Number of errors beyond the first 100.
    pub more_errors: usize,
    /// The results of the first 1000 lines. Only a dry run returns them.
    pub lines: Vec<TableLine>,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            IMPORT_RECORDS.id(),
            Method::POST,
            "/records/import",
            Needs::Permission(Permission::ManageOrganization),
        )
        .summary("Import the records of a CSV file, whole or not at all")
        .tool(
            "records",
            "Import records",
            "Creates and changes records of one kind from the text of a CSV file. Try with \
                `dryRun` first: it names what is new, changed and wrong.",
        )
        .bulk(BODY_LIMIT, TIMEOUT)
        .touches_stream()
        .idempotent()
        .audited(
            Audits::acts_on(|_, _| Ok(Target::new("record", None, None)))
                .recording(&["kind", "added", "changed"]),
        )
        .run_as(IMPORT_RECORDS, |context, input: ImportRecords| {
            let is_dry_run = input.dry_run.unwrap_or(false);
            let table = ImportTable {
                kind: input.kind,
                csv: input.csv,
                columns: input.columns.unwrap_or_default(),
                date_format: input.date_format,
                is_dry_run,
            };
            let imported = import(context, &table)?;
            if is_dry_run || imported.errors.is_empty() {
                return Ok(imported);
            }
            Err(invalid_file(&imported))
        }),
    ]
}

/// Returns the 400 error for a file with errors. It has one issue for each error in `imported`. The
/// path of an issue contains the line and, if known, the column.
fn invalid_file(imported: &Imported) -> Error {
    let issue = |error: &TableError| {
        let line = usize::try_from(error.line).unwrap_or(usize::MAX);
        let path: Vec<PathSegment> = ["csv".into(), line.into()]
            .into_iter()
            .chain(error.column.as_deref().map(PathSegment::from))
            .collect();
        Issue::at(path, error.message.clone())
    };
    let issues = imported.errors.iter().map(issue).collect();
    Error::issues_and(issues, imported.more_errors)
}

/// Imports a file for the command `vestibule import`, with the rights of the platform. If the file
/// has errors, returns the errors and writes nothing.
pub async fn import_file(
    service: &Service,
    organization: Uuid,
    table: ImportTable,
) -> Result<Imported> {
    let (now, app_state) = (service.clock.now(), service.app_state.clone());
    let work = move |tx: &mut Transaction<'_>| {
        let system = System {
            tx,
            now,
            app_state: &app_state,
            wake_signals: BTreeSet::new(),
        };
        let access = Access::platform();
        let mut context =
            Context::for_writing(system, organization, &access, RaisedRevision::Configuration)?;
        let imported = import(&mut context, &table)?;
        if imported.added + imported.changed > 0 && imported.errors.is_empty() {
            let change = |name: &str, count: usize| Change::to(name, count.into());
            let entry = AuditEntryRow {
                actor: Actor::of(access.credential)?,
                operation: "importRecords",
                target: Target::new("record", None, None),
                changes: vec![
                    Change::to("kind", table.kind.as_ref().into()),
                    change("added", imported.added),
                    change("changed", imported.changed),
                ],
                request_id: context.new_id(),
                at: now,
            };
            audit::write(&mut context, entry)?;
        }
        Ok(imported)
    };
    service
        .store
        .write_for(Some(organization), TIMEOUT, work)
        .await
}

/// A valid line, with its record before and after the import.
struct LineDraft {
    line: u64,
    external_id: String,
    id: Uuid,
    before: Option<Object>,
    after: Object,
}

/// Reads a table and writes its records. If there is an error, writes nothing.
fn import(context: &mut Context<'_, '_>, table: &ImportTable) -> Result<Imported> {
    require_every_property(context)?;
    let mut imported = Imported::default();
    let Some(read_lines) = read(context, table, &mut imported)? else {
        if table.is_dry_run {
            context.dry_run();
        }
        return Ok(imported);
    };
    let headers = read_lines.headers;
    let mut records = Vec::new();
    let mut record_lines = Vec::new();
    for draft in read_lines.drafts {
        let fields = differences(draft.before.as_ref(), &draft.after);
        let state = match &draft.before {
            None => LineResult::New,
            Some(_) if fields.is_empty() => LineResult::Unchanged,
            Some(_) => LineResult::Changed,
        };
        match state {
            LineResult::New => imported.added += 1,
            LineResult::Changed => imported.changed += 1,
            LineResult::Unchanged | LineResult::Wrong => imported.unchanged += 1,
        }
        imported.lines.push(TableLine {
            line: draft.line,
            external_id: draft.external_id,
            state,
            fields,
        });
        if state != LineResult::Unchanged {
            record_lines.push(draft.line);
            records.push(SyncRecord {
                kind: table.kind,
                id: draft.id,
                data: Some(draft.after),
                is_deleted: None,
                version: None,
            });
        }
    }
    let has_errors = !imported.errors.is_empty();
    let settings = SyncSettings {
        writer: RecordOrigin::Manual,
        fires: true,
        is_dry_run: table.is_dry_run || has_errors,
        on_invalid: OnInvalid::Refuse,
    };
    match apply_records(context, records, settings) {
        Ok(applied) => imported.events = applied.events,
        Err(error) if !error.listed_issues().0.is_empty() => {
            for issue in error.listed_issues().0 {
                add_issue(&mut imported, issue, &record_lines, &headers);
            }
        }
        Err(error) => return Err(error),
    }
    finish(&mut imported, table.is_dry_run);
    Ok(imported)
}

/// Adds the error for an issue that occurred when the records were written. The error names the
/// line of the record and the column of the field.
fn add_issue(imported: &mut Imported, issue: &Issue, lines: &[u64], headers: &Headers) {
    let index = issue.path.iter().find_map(|step| match step {
        PathSegment::Index(index) => Some(*index),
        PathSegment::Key(_) => None,
    });
    let line = index.and_then(|index| lines.get(index)).copied();
    let field = issue.path.iter().rev().find_map(|step| match step {
        PathSegment::Key(key) if key != "data" && key != "records" => Some(key.clone()),
        _ => None,
    });
    imported.errors.push(TableError {
        line: line.unwrap_or(1),
        column: field.map(|field| headers.of(&field)),
        message: issue.reason.to_string(),
    });
}

/// Completes the result: marks the lines with errors as wrong, no longer counts them as added,
/// changed or unchanged, sorts the lists, and cuts them to their maximum length. Only the result of
/// a dry run contains lines.
fn finish(imported: &mut Imported, is_dry_run: bool) {
    let wrong_lines: BTreeSet<u64> = imported.errors.iter().map(|error| error.line).collect();
    for line in &mut imported.lines {
        if wrong_lines.contains(&line.line) && line.state != LineResult::Wrong {
            match line.state {
                LineResult::New => imported.added -= 1,
                LineResult::Changed => imported.changed -= 1,
                LineResult::Unchanged | LineResult::Wrong => imported.unchanged -= 1,
            }
            line.state = LineResult::Wrong;
        }
    }
    imported.lines.sort_by_key(|line| line.line);
    imported
        .lines
        .truncate(if is_dry_run { MAX_LINES } else { 0 });
    imported.errors.sort_by_key(|error| error.line);
    imported.more_errors = imported.errors.len().saturating_sub(MAX_ERRORS);
    imported.errors.truncate(MAX_ERRORS);
}

/// For each field, by its name, the header of the column that fills it.
#[derive(Default)]
struct Headers(HashMap<String, String>);

impl Headers {
    /// Returns the header of the column that fills a field. Without such a column, returns the name
    /// of the field.
    fn of(&self, field: &str) -> String {
        self.0
            .get(field)
            .cloned()
            .unwrap_or_else(|| field.to_owned())
    }
}

/// The valid lines of a table, and the headers of the columns that fill the fields.
struct ReadLines {
    headers: Headers,
    drafts: Vec<LineDraft>,
}

/// Reads a table, and adds its errors to the result. Returns `None` if the file cannot be parsed or
/// its headers are wrong.
fn read(
    context: &mut Context<'_, '_>,
    table: &ImportTable,
    imported: &mut Imported,
) -> Result<Option<ReadLines>> {
    let mut add_error = |line: u64, column: Option<String>, message: String| {
        imported.errors.push(TableError {
            line,
            column,
            message,
        });
    };
    let grid = match sheet::parse_csv(&table.csv) {
        Ok(grid) => grid,
        Err(malformed) => {
            add_error(malformed.line, None, malformed.message);
            return Ok(None);
        }
    };
    if grid.lines.len() > MAX_RECORDS {
        let message = format!("a file has at most {MAX_RECORDS} lines; split it");
        add_error(grid.lines[MAX_RECORDS].number, None, message);
        return Ok(None);
    }
    let custom = if table.kind == RecordKind::Property {
        columns::custom_fields(context)?
    } else {
        Vec::new()
    };
    let columns =
        match columns::match_columns(table.kind, &grid.header.cells, &table.columns, custom) {
            Ok(columns) => columns,
            Err(errors) => {
                for error in errors {
                    add_error(grid.header.number, Some(error.header), error.message);
                }
                return Ok(None);
            }
        };
    if !columns.contains(&Column::ExternalId) {
        let message = "the column that identifies a line is missing".to_owned();
        add_error(grid.header.number, Some(EXTERNAL_ID.to_owned()), message);
        return Ok(None);
    }
    let zone = context.organization.settings.timezone.as_deref();
    let zone = zone.and_then(|name| TimeZone::get(name).ok());
    let dates = DateParser::new(table.date_format.as_deref(), zone.unwrap_or(TimeZone::UTC));
    let Some(dates) = dates else {
        return Err(Error::invalid(
            &["dateFormat"],
            "must be a pattern with day, month and year, such as %d/%m/%Y",
        ));
    };
    let ignored = grid.header.cells.iter().zip(&columns);
    imported.ignored_columns = ignored
        .filter(|(header, column)| **column == Column::Ignored && !header.is_empty())
        .map(|(header, _)| header.clone())
        .collect();
    let drafts = read_drafts(context, table.kind, &grid, &columns, &dates, imported)?;
    let headers = grid.header.cells.iter().zip(&columns);
    let headers = headers.filter_map(|(header, column)| match column {
        Column::Field(field) => Some((field.path.last()?.clone(), header.clone())),
        Column::ExternalId | Column::Ignored => None,
    });
    Ok(Some(ReadLines {
        headers: Headers(headers.collect()),
        drafts,
    }))
}

/// Reads the lines of a table. Adds the errors of invalid lines to the result.
fn read_drafts(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    grid: &CsvTable,
    columns: &[Column],
    dates: &DateParser,
    imported: &mut Imported,
) -> Result<Vec<LineDraft>> {
    let names = RecordLookup::load(context, referenced_kinds(columns))?;
    let id_column = columns
        .iter()
        .position(|column| *column == Column::ExternalId);
    let external_id_of = |line: &CsvLine| {
        let cell = id_column.and_then(|index| line.cells.get(index));
        cell.cloned().unwrap_or_default()
    };
    let organization = context.organization.id;
    let ids = grid
        .lines
        .iter()
        .map(|line| id_of_external_id(organization, kind, &external_id_of(line)));
    let stored_records = stored_records(context, kind, ids.collect())?;
    let defaults = default_fields(kind, &context.organization.settings, context.now());
    let (mut seen, mut drafts) = (HashMap::<String, u64>::new(), Vec::new());
    let id_header = id_column.and_then(|index| grid.header.cells.get(index));
    for line in &grid.lines {
        let external_id = external_id_of(line);
        let mut errors = Vec::new();
        let mut add_error = |column: Option<&String>, message: String| {
            errors.push(TableError {
                line: line.number,
                column: column.cloned(),
                message,
            });
        };
        if external_id.is_empty() {
            add_error(id_header, "must not be empty".to_owned());
        } else if let Some(first) = seen.insert(external_id.clone(), line.number) {
            let message = format!(
                "{external_id} stands on line {first} and on line {}",
                line.number
            );
            add_error(id_header, message);
        }
        if line.cells.len() > columns.len() {
            add_error(None, "has more cells than the header line".to_owned());
        }
        let id = id_of_external_id(organization, kind, &external_id);
        let stored = stored_records.get(&id);
        let mut after = stored.map_or_else(|| defaults.clone(), |stored| stored.data.clone());
        for ((cell, column), header) in line.cells.iter().zip(columns).zip(&grid.header.cells) {
            let Column::Field(field) = column else {
                continue;
            };
            if cell.is_empty() {
                continue;
            }
            match cells::parse_cell(&field.cell_type, cell, dates, &names) {
                Ok(value) => set(&mut after, field, value),
                Err(message) => add_error(Some(header), message),
            }
        }
        let before = stored.map(|stored| stored.data.clone());
        if stored.is_some_and(|stored| stored.origin == RecordOrigin::Platform)
            && before.as_ref() != Some(&after)
        {
            let message = "is managed by the platform; change it there".to_owned();
            add_error(id_header, message);
        }
        if errors.is_empty() {
            errors = issues(kind, id, &after, line.number, (columns, &grid.header.cells));
        }
        if errors.is_empty() {
            drafts.push(LineDraft {
                line: line.number,
                external_id,
                id,
                before,
                after,
            });
        } else {
            imported.lines.push(TableLine {
                line: line.number,
                external_id,
                state: LineResult::Wrong,
                fields: Vec::new(),
            });
            imported.errors.append(&mut errors);
        }
    }
    Ok(drafts)
}

/// Returns the kinds of records to which cells can refer.
fn referenced_kinds(columns: &[Column]) -> BTreeSet<RecordKind> {
    let mut kinds = BTreeSet::new();
    for column in columns {
        let Column::Field(field) = column else {
            continue;
        };
        match field.cell_type {
            CellType::Reference(kind) | CellType::References(kind) => drop(kinds.insert(kind)),
            CellType::Place => kinds.extend(TargetKind::record_kinds()),
            _ => {}
        }
    }
    kinds
}

/// The data and the origin of a stored record.
struct ExistingRecord {
    data: Object,
    origin: RecordOrigin,
}

/// Reads the stored records with these ids.
fn stored_records(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    ids: Vec<Uuid>,
) -> Result<HashMap<Uuid, ExistingRecord>> {
    let rows = stored::find_rows(context, kind, ids)?;
    let record = |row: &Row| {
        let (id, Json(data)) = (row.get(0)?, row.get(2)?);
        let origin = RecordOrigin::from_row(row)?;
        Ok((id, ExistingRecord { data, origin }))
    };
    rows.iter().map(record).collect()
}

/// Sets a field in the data of a record. If the path of the field has two names, such as `guest`,
/// `firstName`, sets the second field inside the object of the first.
fn set(data: &mut Object, field: &ColumnField, value: Value) {
    match &field.path[..] {
        [name] => drop(data.insert(name.clone(), value)),
        [parent, name] => {
            let parent = data.entry(parent.clone()).or_insert_with(|| json!({}));
            if !parent.is_object() {
                *parent = json!({});
            }
            parent[name.as_str()] = value;
        }
        _ => {}
    }
}

/// Validates a record's data. Returns an error for each issue, with the column of its field.
fn issues(
    kind: RecordKind,
    id: Uuid,
    data: &Object,
    line: u64,
    (columns, headers): (&[Column], &[String]),
) -> Vec<TableError> {
    let header = |path: &[PathSegment]| {
        let keys: Vec<&str> = path
            .iter()
            .filter_map(|step| match step {
                PathSegment::Key(key) => Some(key.as_str()),
                PathSegment::Index(_) => None,
            })
            .collect();
        let index = columns.iter().position(|column| {
            matches!(
                column,
                Column::Field(field)
                    if field.path.iter().map(String::as_str).eq(keys.iter().copied())
            )
        });
        match index.and_then(|index| headers.get(index)) {
            Some(header) => Some(header.clone()),
            None if keys.is_empty() => None,
            None => Some(keys.join(".")),
        }
    };
    issues_of_record(kind, id, data)
        .into_iter()
        .map(|issue| TableError {
            line,
            column: header(&issue.path),
            message: issue.reason.to_string(),
        })
        .collect()
}

/// Returns the names of the fields whose values differ before and after the import.
fn differences(before: Option<&Object>, after: &Object) -> Vec<String> {
    after
        .iter()
        .filter(|(name, value)| before.and_then(|before| before.get(*name)) != Some(*value))
        .map(|(name, _)| name.clone())
        .collect()
}
