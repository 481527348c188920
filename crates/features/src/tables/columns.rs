//! Matches the headers of a table to the fields of a record kind (rules: records#csv-files).

use std::collections::BTreeMap;

use engine::context::Context;
use engine::operation::Object;
use serde_json::Value;
use uuid::Uuid;

use crate::records::{RecordKind, all_records};

/// A field of a record that a column can fill.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnField {
    /// The path of the field in the record's data, such as `guest`, `firstName`.
    pub(super) path: Vec<String>,
    pub(super) cell_type: CellType,
    /// The name of the custom field; `None` for a field that the record kind defines.
    pub(super) custom: Option<String>,
}

/// The type of the values in the cells of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CellType {
    Text,
    /// A list of texts.
    TextList,
    Integer,
    Number,
    Boolean,
    Date,
    Timestamp,
    /// One of these texts. The JSON Schema of the field permits only these values.
    Choice(Vec<String>),
    /// The id of a record of this kind.
    Reference(RecordKind),
    /// The ids of several records of this kind.
    References(RecordKind),
    /// The id of a property, a property group or a tag.
    Place,
}

impl ColumnField {
    fn new(path: Vec<String>, holds: CellType) -> Self {
        Self {
            path,
            cell_type: holds,
            custom: None,
        }
    }

    /// Returns the name of the field in a header: `custom.` and the name of a custom field, or the
    /// path of any other field.
    pub(super) fn name(&self) -> String {
        self.custom
            .as_ref()
            .map_or_else(|| self.path.join("."), |name| format!("custom.{name}"))
    }
}

/// The use of a column by the import.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Column {
    /// The column has the external id of each record.
    ExternalId,
    /// The column fills a field.
    Field(ColumnField),
    /// The column matches no field.
    Ignored,
}

/// An error in the header line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeaderError {
    pub(super) header: String,
    pub(super) message: String,
}

/// The name of the field of a property that contains the values of the property's custom fields.
/// The field is an object, and its keys are the ids of custom fields.
const CUSTOM_FIELDS: &str = "customFields";

/// The name of the column that identifies the record of a line.
pub(super) const EXTERNAL_ID: &str = "external_id";

/// Returns the fields of a record kind that a column can fill.
pub(super) fn fields(kind: RecordKind) -> Vec<ColumnField> {
    let schema = kind.form_schema();
    let mut fields = Vec::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(parts) = field["properties"].as_object() {
            for (part, schema) in parts {
                let path = vec![name.clone(), part.clone()];
                fields.extend(holds(schema).map(|holds| ColumnField::new(path, holds)));
            }
        } else {
            let path = vec![name.clone()];
            let holds = reference(kind, name).or_else(|| holds(field));
            fields.extend(holds.map(|holds| ColumnField::new(path, holds)));
        }
    }
    fields
}

/// Returns the custom fields of the organization, each as a field of a property.
pub(super) fn custom_fields(
    context: &mut Context<'_, '_>,
) -> engine::error::Result<Vec<ColumnField>> {
    let field = |(id, data): (Uuid, Object)| {
        let name = data.get("name").and_then(Value::as_str)?.trim().to_owned();
        (!name.is_empty()).then(|| ColumnField {
            path: vec![CUSTOM_FIELDS.to_owned(), id.to_string()],
            cell_type: CellType::Text,
            custom: Some(name),
        })
    };
    let records = all_records::<Object>(context, RecordKind::CustomField)?;
    Ok(records.into_iter().filter_map(field).collect())
}

/// Returns the names of all columns that a table with records of this kind can have, apart from
/// custom fields.
pub fn field_names(kind: RecordKind) -> Vec<String> {
    let fields = fields(kind);
    std::iter::once(EXTERNAL_ID.to_owned())
        .chain(fields.iter().map(ColumnField::name))
        .collect()
}

/// Returns the type of a field that refers to other records; `None` if the field refers to no
/// record.
fn reference(kind: RecordKind, name: &str) -> Option<CellType> {
    if kind == RecordKind::Instruction && name == "scopeId" {
        return Some(CellType::Place);
    }
    let target = kind
        .form_references()
        .iter()
        .find(|reference| reference.field == name)?;
    Some(if name.ends_with('s') {
        CellType::References(target.to)
    } else {
        CellType::Reference(target.to)
    })
}

/// Returns the type of a field with this JSON Schema; `None` if a cell cannot express the values of
/// the field.
fn holds(schema: &Value) -> Option<CellType> {
    let schema = not_null(schema);
    let is = |expected: &str| match &schema["type"] {
        Value::Array(types) => types.iter().any(|kind| kind == expected),
        kind => kind == expected,
    };
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str).map(str::to_owned);
        return Some(CellType::Choice(values.collect()));
    }
    if is("string") {
        return Some(match schema["format"].as_str() {
            Some("date") => CellType::Date,
            Some("date-time") => CellType::Timestamp,
            _ => CellType::Text,
        });
    }
    if is("boolean") {
        Some(CellType::Boolean)
    } else if is("integer") {
        Some(CellType::Integer)
    } else if is("number") {
        Some(CellType::Number)
    } else if is("array") && schema["items"]["type"] == "string" {
        Some(CellType::TextList)
    } else {
        None
    }
}

/// Returns the JSON Schema of a field without the alternative `null`.
fn not_null(schema: &Value) -> &Value {
    ["anyOf", "oneOf"]
        .iter()
        .find_map(|shapes| {
            let shapes = schema[*shapes].as_array()?;
            shapes.iter().find(|shape| shape["type"] != "null")
        })
        .unwrap_or(schema)
}

/// Normalizes a header for comparison: only letters and digits, in lower case.
fn normalized(header: &str) -> String {
    header
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns whether a normalized header matches a field. The header for a reference, such as
/// `propertyId`, may omit `Id`. The header for a custom field may have the field's id instead of
/// its name.
fn matches_field(header: &str, field: &ColumnField) -> bool {
    let name = normalized(&field.name());
    if field.custom.is_some() {
        return header == name || header == normalized(&field.path.join("."));
    }
    let without_id = match field.cell_type {
        CellType::Reference(_) => name.strip_suffix("id").map(str::to_owned),
        CellType::References(_) => name
            .strip_suffix("ids")
            .map(|without_id| format!("{without_id}s")),
        _ => None,
    };
    header == name || without_id.is_some_and(|without_id| header == without_id)
}

/// Returns the fields that a normalized header matches. The header of a custom field may omit
/// `custom.`, unless the record kind defines a field of the same name.
fn matching_fields<'f>(fields: &'f [ColumnField], header: &str) -> Vec<&'f ColumnField> {
    let matches: Vec<&ColumnField> = fields
        .iter()
        .filter(|field| matches_field(header, field))
        .collect();
    if !matches.is_empty() || header.is_empty() {
        return matches;
    }
    let has_custom_name = |field: &&ColumnField| {
        let custom = field.custom.as_deref();
        custom.is_some_and(|name| normalized(name) == header)
    };
    fields.iter().filter(has_custom_name).collect()
}

/// Returns the error message for a header that matches two fields.
fn ambiguous_header(first: &ColumnField, second: &ColumnField) -> String {
    let (mut one, mut other) = (first.name(), second.name());
    if normalized(&one) == normalized(&other) {
        (one, other) = (first.path.join("."), second.path.join("."));
    }
    format!("matches two fields, {one} and {other}; choose one with --column")
}

/// Returns the use of each column. `chosen` maps headers to the fields that the request chooses for
/// them; other headers are matched by name. `custom` has the custom fields.
pub(super) fn match_columns(
    kind: RecordKind,
    headers: &[String],
    chosen: &BTreeMap<String, String>,
    custom: Vec<ColumnField>,
) -> Result<Vec<Column>, Vec<HeaderError>> {
    let mut fields = fields(kind);
    fields.extend(custom);
    let mut errors = Vec::new();
    let mut columns: Vec<Option<Column>> = vec![None; headers.len()];
    for (header, field) in chosen {
        let error = |message: String| HeaderError {
            header: header.clone(),
            message,
        };
        let indices: Vec<usize> = (0..headers.len())
            .filter(|index| headers[*index].eq_ignore_ascii_case(header.trim()))
            .collect();
        match chosen_column(kind, &fields, field) {
            Err(message) => errors.push(error(message)),
            Ok(_) if indices.is_empty() => {
                errors.push(error("no column has this header".to_owned()));
            }
            Ok(column) => {
                for index in indices {
                    columns[index] = Some(column.clone());
                }
            }
        }
    }
    let chosen_columns = columns.clone();
    for (index, header) in headers.iter().enumerate() {
        if columns[index].is_some() {
            continue;
        }
        match matched_column(&fields, header) {
            Ok(column) => {
                let is_taken = column != Column::Ignored
                    && chosen_columns
                        .iter()
                        .flatten()
                        .any(|chosen| *chosen == column);
                columns[index] = Some(if is_taken { Column::Ignored } else { column });
            }
            Err(message) => errors.push(HeaderError {
                header: header.clone(),
                message,
            }),
        }
    }
    let columns: Vec<Column> = columns
        .into_iter()
        .map(|column| column.unwrap_or(Column::Ignored))
        .collect();
    errors.extend(duplicates(headers, &columns));
    if errors.is_empty() {
        Ok(columns)
    } else {
        Err(errors)
    }
}

/// Returns the column for a field that the request names. A record kind with an open schema, whose
/// fields the platform defines, accepts any name.
fn chosen_column(kind: RecordKind, fields: &[ColumnField], name: &str) -> Result<Column, String> {
    let header_key = normalized(name);
    if header_key == normalized(EXTERNAL_ID) {
        return Ok(Column::ExternalId);
    }
    match matching_fields(fields, &header_key)[..] {
        [field] => Ok(Column::Field(field.clone())),
        [first, second, ..] => Err(ambiguous_header(first, second)),
        [] if kind.has_open_schema() => {
            let path = vec![name.trim().to_owned()];
            Ok(Column::Field(ColumnField::new(path, CellType::Text)))
        }
        [] => Err(format!("{name} is no field of this kind")),
    }
}

/// Returns the column for a header, compared by name. A header that matches no field gives
/// [`Column::Ignored`]. A header that matches several fields is an error.
fn matched_column(fields: &[ColumnField], header: &str) -> Result<Column, String> {
    let header_key = normalized(header);
    if header_key == normalized(EXTERNAL_ID) {
        return Ok(Column::ExternalId);
    }
    match matching_fields(fields, &header_key)[..] {
        [] => Ok(Column::Ignored),
        [field] => Ok(Column::Field(field.clone())),
        [first, second, ..] => Err(ambiguous_header(first, second)),
    }
}

/// Returns an error for each column that fills the same field as an earlier column.
fn duplicates(headers: &[String], columns: &[Column]) -> Vec<HeaderError> {
    let mut errors = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let earlier = columns[..index].iter().position(|other| other == column);
        if let (Some(earlier), false) = (earlier, *column == Column::Ignored) {
            let field = match column {
                Column::Field(field) => field.name(),
                _ => EXTERNAL_ID.to_owned(),
            };
            errors.push(HeaderError {
                header: headers[index].clone(),
                message: format!("is for {field}, as the column {} is", headers[earlier]),
            });
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn custom() -> Vec<ColumnField> {
        let field = |number: u128, name: &str| ColumnField {
            path: vec![
                CUSTOM_FIELDS.to_owned(),
                Uuid::from_u128(number).to_string(),
            ],
            cell_type: CellType::Text,
            custom: Some(name.to_owned()),
        };
        vec![
            field(1, "Door code"),
            field(2, "Name"),
            field(3, "Floor"),
            field(4, "floor"),
        ]
    }

    fn of(kind: RecordKind, headers: &[&str], chosen: &[(&str, &str)]) -> Vec<String> {
        let headers: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
        let chosen = chosen
            .iter()
            .map(|(header, field)| ((*header).to_owned(), (*field).to_owned()))
            .collect();
        match match_columns(kind, &headers, &chosen, custom()) {
            Ok(columns) => columns
                .into_iter()
                .map(|column| match column {
                    Column::ExternalId => EXTERNAL_ID.to_owned(),
                    Column::Field(field) => field.name(),
                    Column::Ignored => "-".to_owned(),
                })
                .collect(),
            Err(wrong) => wrong
                .into_iter()
                .map(|wrong| format!("{}: {}", wrong.header, wrong.message))
                .collect(),
        }
    }

    #[test]
    fn headers_name_fields_in_any_case_and_with_any_separator() {
        let headers = [
            "External ID",
            "guest.firstName",
            "Guest last name",
            "guest_email",
            "CHECK_IN",
            "Property",
            "Colour",
        ];
        assert_eq!(
            of(RecordKind::Reservation, &headers, &[]),
            [
                "external_id",
                "guest.firstName",
                "guest.lastName",
                "guest.email",
                "checkIn",
                "propertyId",
                "-"
            ]
        );
        assert_eq!(
            of(
                RecordKind::Property,
                &["property group", "tags", "Tag ids"],
                &[]
            ),
            ["Tag ids: is for tagIds, as the column tags is"]
        );
    }

    #[test]
    fn a_chosen_field_wins_over_the_name_of_a_header() {
        assert_eq!(
            of(
                RecordKind::Property,
                &["Title", "Name", "Time zone"],
                &[("Title", "name")]
            ),
            ["name", "-", "timezone"]
        );
        assert_eq!(
            of(RecordKind::Property, &["Title"], &[("Titel", "name")]),
            ["Titel: no column has this header"]
        );
        assert_eq!(
            of(RecordKind::Tag, &["Title"], &[("Title", "colour")]),
            ["Title: colour is no field of this kind"]
        );
        assert_eq!(
            of(RecordKind::Upsell, &["Title"], &[("Title", "colour")]),
            ["colour"]
        );
    }

    #[test]
    fn headers_name_custom_fields_by_name_or_id() {
        let id = Uuid::from_u128(4);
        assert_eq!(
            of(
                RecordKind::Property,
                &[
                    "door_code",
                    "Name",
                    "custom.name",
                    &format!("customFields.{id}")
                ],
                &[]
            ),
            ["custom.Door code", "name", "custom.Name", "custom.floor"]
        );
        assert_eq!(
            of(
                RecordKind::Property,
                &["Code"],
                &[("Code", "custom.door code")]
            ),
            ["custom.Door code"]
        );
        let [first, second] =
            [3, 4].map(|number| format!("customFields.{}", Uuid::from_u128(number)));
        let message =
            format!("Floor: matches two fields, {first} and {second}; choose one with --column");
        assert_eq!(
            of(RecordKind::Property, &["Floor"], &[]),
            std::slice::from_ref(&message)
        );
        let chosen = of(
            RecordKind::Property,
            &["Floor"],
            &[("Floor", "custom.floor")],
        );
        assert_eq!(chosen[0], message);
        assert_eq!(
            of(
                RecordKind::Property,
                &["Floor"],
                &[("Floor", first.as_str())]
            ),
            ["custom.Floor"]
        );
    }
}
