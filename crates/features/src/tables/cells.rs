//! Parses the text of a cell as the value of a field.

use engine::moment::Moment;
use serde_json::{Value, json};
use uuid::Uuid;

use super::columns::CellType;
use super::dates::DateParser;
use super::names::RecordLookup;
use crate::scopes::TargetKind;

/// The character that separates the items of a list in one cell.
const SEPARATOR: char = ';';

/// Parses a cell that is not empty. Returns the value, or the error message.
pub(super) fn parse_cell(
    holds: &CellType,
    cell: &str,
    dates: &DateParser,
    names: &RecordLookup,
) -> Result<Value, String> {
    match holds {
        CellType::Text => Ok(json!(cell)),
        CellType::TextList => Ok(items(cell).map(Value::from).collect()),
        CellType::Integer => integer(cell).ok_or_else(|| "must be a whole number".to_owned()),
        CellType::Number => number(cell).ok_or_else(|| "must be a number".to_owned()),
        CellType::Boolean => boolean(cell).ok_or_else(|| "must be yes or no".to_owned()),
        CellType::Date => dates
            .day(cell)
            .map(|day| json!(day.to_string()))
            .ok_or_else(|| format!("must be a date of the form {}", dates.pattern())),
        CellType::Timestamp => dates
            .timestamp(cell)
            .map(|timestamp| json!(Moment(timestamp)))
            .ok_or_else(|| format!("must be a date and a time of the form {}", dates.pattern())),
        CellType::Choice(values) => {
            let normalized = cell.to_lowercase().replace([' ', '-'], "_");
            let choice = values
                .iter()
                .find(|value| value.to_lowercase() == normalized);
            choice
                .map(|value| json!(value))
                .ok_or_else(|| format!("must be one of {}", values.join(", ")))
        }
        CellType::Reference(kind) => names.find([*kind], cell).map(|id| json!(id)),
        CellType::References(kind) => {
            let ids = items(cell).map(|item| names.find([*kind], item));
            let ids = ids.collect::<Result<Vec<Uuid>, _>>()?;
            Ok(json!(ids))
        }
        CellType::Place => names
            .find(TargetKind::record_kinds(), cell)
            .map(|id| json!(id)),
    }
}

fn items(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(SEPARATOR)
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

fn integer(cell: &str) -> Option<Value> {
    cell.parse::<i64>().ok().map(Value::from)
}

fn number(cell: &str) -> Option<Value> {
    integer(cell).or_else(|| {
        let number = cell.parse::<f64>().ok()?;
        serde_json::Number::from_f64(number).map(Value::Number)
    })
}

fn boolean(cell: &str) -> Option<Value> {
    match cell.to_lowercase().as_str() {
        "true" | "yes" | "1" => Some(Value::Bool(true)),
        "false" | "no" | "0" => Some(Value::Bool(false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn cells_are_parsed_by_the_type_of_their_field() {
        let read = |holds: CellType, cell: &str| {
            let dates = DateParser::new(None, TimeZone::UTC).unwrap();
            parse_cell(&holds, cell, &dates, &RecordLookup::default())
        };
        let status = || CellType::Choice(vec!["confirmed".into(), "in_progress".into()]);
        for (holds, cell, expected) in [
            (CellType::Text, "a; b", json!("a; b")),
            (CellType::TextList, "a; b;;", json!(["a", "b"])),
            (CellType::Integer, "12", json!(12)),
            (CellType::Number, "2.5", json!(2.5)),
            (CellType::Boolean, "Yes", json!(true)),
            (CellType::Date, "2026-12-11", json!("2026-12-11")),
            (
                CellType::Timestamp,
                "2026-11-02T10:00:00Z",
                json!("2026-11-02T10:00:00.000Z"),
            ),
            (status(), "Confirmed", json!("confirmed")),
            (status(), "in progress", json!("in_progress")),
        ] {
            assert_eq!(read(holds.clone(), cell), Ok(expected), "{holds:?} {cell}");
        }
        for (holds, cell) in [
            (CellType::Integer, "1.5"),
            (CellType::Number, "many"),
            (CellType::Number, "inf"),
            (CellType::Boolean, "maybe"),
            (CellType::Date, "11/12/2026"),
            (status(), "gone"),
        ] {
            assert!(read(holds.clone(), cell).is_err(), "{holds:?} {cell}");
        }
    }
}
