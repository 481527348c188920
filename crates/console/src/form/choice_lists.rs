//! The lists of rows that the reference fields of a form can refer to.
//!
//! If a list is short, the form shows all its rows. If a list is long, the form has a text field
//! for the name of a row. The console looks up the name when the form is sent, so this works
//! without a script. If exactly one row matches, the reference is set to that row. Otherwise the
//! form is shown again with the rows whose names contain the text.
//!
//! The name of the text field ends with `.find`. If the form shows the results of a search, a
//! hidden field whose name ends with `.found` has the searched text. If both texts are equal, the
//! reference is set to the row that the member selected among the results.

use std::collections::{BTreeSet, HashMap};

use engine::fold::{fold, natural};
use engine::format::is_uuid;
use features::records::RecordKind;
use features::words::fill;
use serde_json::{Value, json};

use super::spec::{FieldSpec, InputKind};
use crate::operation_calls;
use crate::refusal::ConsoleRefusal;
use crate::request::{ConsoleFields, ConsoleRequest, first_value};

/// The operation that lists records by name.
const LIST_RECORDS: &str = "listRecords";
/// The operation that reads one record by its id.
const GET_RECORD: &str = "getRecord";
/// Maximum number of rows of a short list, which a form shows completely.
const MOST_OFFERED: u32 = 300;
/// Maximum number of search results that the form shows for a name.
const MOST_FOUND: usize = 20;
/// Maximum number of records chosen in one field whose names a request reads.
const MOST_NAMES: usize = 50;

/// A row that a reference field can refer to: its id and its name.
pub type Row = (String, String);

/// The rows that the reference fields of a form can refer to.
#[derive(Default)]
pub struct ChoiceLists {
    /// The rows of each short list, by the name of the list operation.
    short: HashMap<String, Vec<Row>>,
    /// The selected rows and the search results of each field whose list is long, by the name of
    /// the field.
    long: HashMap<String, Vec<Row>>,
}

/// The rows that a reference field can refer to. They are stored only if the list is short.
enum List {
    /// The list is short: all its rows, sorted by name.
    Short(Vec<Row>),
    /// The list is too long for the form to show, but can be searched by name.
    Long,
}

/// A member's search by name for a row that a reference field can refer to.
pub struct NameSearch {
    /// The name that the member typed.
    pub text: String,
    /// The text of the last search whose results the form shows. Empty if it shows no results.
    pub searched_text: String,
}

/// The result of the search for the rows whose names the member typed into a form.
#[derive(Default)]
pub struct NameSearchResults {
    /// The rows that match a typed name, for each name that does not identify exactly one row. The
    /// key is the name of the field.
    pub found: HashMap<String, Vec<Row>>,
    /// An entry for each typed name that identifies no row or several rows: the path of the field
    /// with the name, and the error message.
    pub problems: Vec<(Vec<String>, String)>,
}

impl ChoiceLists {
    /// Reads the lists that the reference fields need. `found` has the rows that a search by the
    /// typed names has found, by the name of the field. If a list cannot be read, the field becomes
    /// a text field for an id.
    pub async fn load(
        request: &ConsoleRequest,
        specs: &[FieldSpec],
        fields: &ConsoleFields,
        found: &HashMap<String, Vec<Row>>,
    ) -> Self {
        let mut listed = Self::default();
        let mut long: BTreeSet<&str> = BTreeSet::new();
        for spec in specs {
            let Some(list) = list_of(spec) else { continue };
            if !listed.short.contains_key(list) && !long.contains(list) {
                match read(request, list).await {
                    Some(List::Short(rows)) => {
                        listed.short.insert(list.to_owned(), rows);
                    }
                    Some(List::Long) => {
                        long.insert(list);
                    }
                    None => {}
                }
            }
            if long.contains(list) {
                let found = found.get(&spec.name).cloned().unwrap_or_default();
                let rows = with_chosen(request, list, &spec.name, fields, found).await;
                listed.long.insert(spec.name.clone(), rows);
            }
        }
        listed
    }

    /// Returns all rows that the list operation `list` gives. Returns `None` if that list is too
    /// long for the form to show.
    pub fn short(&self, list: &str) -> Option<&[Row]> {
        self.short.get(list).map(Vec::as_slice)
    }

    /// Returns the selected rows and the search results of a field with a long list. Returns `None`
    /// for any other field.
    pub fn long(&self, field: &str) -> Option<&[Row]> {
        self.long.get(field).map(Vec::as_slice)
    }
}

impl NameSearch {
    /// Reads two texts from a submitted form: the text to search for, and the text of the search
    /// whose results the form showed.
    pub fn of(fields: &ConsoleFields, name: &str) -> Self {
        let text = |field: String| first_value(fields, &field).unwrap_or_default().to_owned();
        Self {
            text: text(find_of(name)),
            searched_text: text(found_of(name)),
        }
    }
}

fn find_of(name: &str) -> String {
    format!("{name}.find")
}

fn found_of(name: &str) -> String {
    format!("{name}.found")
}

/// Returns the ids of the operations that list the rows for a reference field, such as
/// `listProperties+listTags`. Returns `None` for any other field.
fn list_of(spec: &FieldSpec) -> Option<&str> {
    match &spec.kind {
        InputKind::Reference(list) | InputKind::References(list) => Some(list),
        _ => None,
    }
}

/// Returns the kind of records that an operation lists. Returns `None` if the operation does not
/// list records in pages.
fn kind_of(list: &str) -> Option<RecordKind> {
    Some(match list {
        "listProperties" => RecordKind::Property,
        "listPropertyGroups" => RecordKind::PropertyGroup,
        "listTags" => RecordKind::Tag,
        "listReservations" => RecordKind::Reservation,
        "listDepartments" => RecordKind::Department,
        "listUpsells" => RecordKind::Upsell,
        _ => return None,
    })
}

/// Reads the rows of one or more list operations. `lists` has the ids of the operations, joined by
/// `+`. Returns `None` if a list cannot be read, or if it is too long and cannot be searched.
async fn read(request: &ConsoleRequest, lists: &str) -> Option<List> {
    let mut all = Vec::new();
    for list in lists.split('+') {
        let kind = kind_of(list).filter(|_| request.may(LIST_RECORDS));
        let (operation, arguments) = if let Some(kind) = kind {
            (LIST_RECORDS, json!({ "kind": kind, "limit": MOST_OFFERED }))
        } else {
            let paging = operation_calls::operation(&request.service, list)?.paging;
            let arguments = paging.map_or_else(
                || json!({}),
                |paging| json!({ "limit": paging.max.min(MOST_OFFERED) }),
            );
            (list, arguments)
        };
        let answer = request
            .call::<Vec<Value>>(operation, arguments)
            .await
            .ok()?;
        if answer.total.is_some_and(|total| total > answer.data.len()) {
            return kind.map(|_| List::Long);
        }
        all.extend(answer.data.iter().filter_map(named));
    }
    sort(&mut all);
    Some(List::Short(all))
}

fn sort(rows: &mut [Row]) {
    rows.sort_by(|(_, one), (_, other)| natural(one, other));
}

/// Returns the rows that are selected in a field but are not search results, followed by the search
/// results.
async fn with_chosen(
    request: &ConsoleRequest,
    lists: &str,
    field: &str,
    fields: &ConsoleFields,
    found: Vec<Row>,
) -> Vec<Row> {
    let is_found = |id: &str| found.iter().any(|(known, _)| known == id);
    let chosen = fields
        .iter()
        .filter(|(name, id)| name == field && is_uuid(id) && !is_found(id));
    let ids: Vec<&str> = chosen.map(|(_, id)| id.as_str()).collect();
    let mut rows = by_ids(request, lists, &ids).await;
    sort(&mut rows);
    rows.extend(found);
    rows
}

/// Returns the rows with these ids. Omits rows that cannot be read.
async fn by_ids(request: &ConsoleRequest, lists: &str, ids: &[&str]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for list in lists.split('+') {
        let Some(kind) = kind_of(list) else { continue };
        let is_left = |id: &&str| !rows.iter().any(|(known, _)| known == id);
        let remaining = ids.iter().copied().filter(is_left);
        // Only the list operations of these two record kinds accept ids.
        let most = match kind {
            RecordKind::Property => Some(500),
            RecordKind::Reservation => Some(100),
            _ => None,
        };
        let mut results: Vec<Value> = Vec::new();
        if let Some(most) = most {
            let remaining: Vec<&str> = remaining.take(most).collect();
            if !remaining.is_empty() {
                let arguments = json!({ "ids": remaining, "limit": most });
                results = request.get(list, arguments).await.unwrap_or_default();
            }
        } else {
            let remaining: Vec<&str> = remaining.take(MOST_FOUND).collect();
            for id in remaining {
                let arguments = json!({ "kind": kind, "id": id });
                results.extend(request.get::<Value>(GET_RECORD, arguments).await.ok());
            }
        }
        rows.extend(results.iter().filter_map(named));
    }
    rows
}

/// Returns the rows of `lists` whose names contain the text, at most [`MOST_FOUND`] of each record
/// kind. If the text is an id, returns only the row with this id. `lists` has the names of list
/// operations, separated by `+`.
async fn search(
    request: &ConsoleRequest,
    lists: &str,
    text: &str,
) -> Result<Vec<Row>, ConsoleRefusal> {
    if is_uuid(text) {
        return Ok(by_ids(request, lists, &[text]).await);
    }
    let query: String = text.chars().take(200).collect();
    let mut rows = Vec::new();
    for kind in lists.split('+').filter_map(kind_of) {
        let arguments = json!({ "kind": kind, "query": query, "limit": MOST_FOUND });
        let found: Vec<Value> = request.get(LIST_RECORDS, arguments).await?;
        rows.extend(found.iter().filter_map(named));
    }
    Ok(rows)
}

/// Returns the id of the row that the name identifies: the only row of `rows`, or else the only row
/// whose whole name equals the name, ignoring case and accents. Returns `None` if there is no such
/// row.
fn meant<'r>(rows: &'r [Row], name: &str) -> Option<&'r str> {
    let folded_name = fold(name);
    let mut same = rows.iter().filter(|(_, known)| fold(known) == folded_name);
    match (rows, same.next(), same.next()) {
        ([(id, _)], ..) | (_, Some((id, _)), None) => Some(id),
        _ => None,
    }
}

/// Looks up the names that the member typed into reference fields. Sets each field to the id of the
/// row that the typed name identifies.
pub async fn look_up(
    request: &ConsoleRequest,
    specs: &[FieldSpec],
    fields: &mut ConsoleFields,
) -> Result<NameSearchResults, ConsoleRefusal> {
    let words = &request.texts.forms;
    let mut looked = NameSearchResults::default();
    for spec in specs {
        let Some(list) = list_of(spec) else { continue };
        let NameSearch {
            text,
            searched_text: found,
        } = NameSearch::of(fields, &spec.name);
        let names: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .take(MOST_NAMES)
            .collect();
        let mut remaining: Vec<&str> = Vec::new();
        for name in names {
            let rows = search(request, list, name).await?;
            let is_chosen = fields.iter().any(|(field, value)| {
                *field == spec.name && rows.iter().any(|(id, _)| id == value)
            });
            if let Some(id) = meant(&rows, name) {
                choose(spec, id, fields);
            } else if !(is_chosen && found == text) {
                let message = if rows.is_empty() {
                    words.none_named
                } else {
                    words.several_named
                };
                let message = fill(message, &[("name", name)]);
                looked.problems.push((vec![spec.name.clone()], message));
                let found = looked.found.entry(spec.name.clone()).or_default();
                found.extend(rows);
                remaining.push(name);
            }
        }
        let (find, known) = (find_of(&spec.name), found_of(&spec.name));
        fields.retain(|(field, _)| *field != find && *field != known);
        if !remaining.is_empty() {
            let remaining = remaining.join("\n");
            fields.push((find, remaining.clone()));
            fields.push((known, remaining));
        }
    }
    Ok(looked)
}

/// Selects a row in a reference field. In a field that refers to one row, the new row replaces the
/// selected one. In a field that can refer to several rows, it is added to the selected ones.
fn choose(spec: &FieldSpec, id: &str, fields: &mut ConsoleFields) {
    let row = (spec.name.clone(), id.to_owned());
    if matches!(spec.kind, InputKind::Reference(_)) {
        fields.retain(|(field, _)| *field != spec.name);
    }
    if !fields.contains(&row) {
        fields.push(row);
    }
    if spec.is_nullable && matches!(spec.kind, InputKind::References(_)) {
        let set = format!("{}.set", spec.name);
        fields.retain(|(field, _)| *field != set);
        fields.push((set, "yes".to_owned()));
    }
}

/// Returns the id and the name of a row, for an option of the form.
fn named(row: &Value) -> Option<Row> {
    let id = row["id"].as_str()?;
    let name = ["name", "title", "nickname", "host"]
        .iter()
        .find_map(|field| row[*field].as_str())
        .filter(|name| !name.trim().is_empty())
        .map(str::to_owned);
    let name = name.or_else(|| stay(row)).unwrap_or_else(|| id.to_owned());
    Some((id.to_owned(), name))
}

/// Returns the name of a stay, made of the guest's name and the dates of the stay; `None` for a row
/// without a guest.
fn stay(row: &Value) -> Option<String> {
    let guest = row["guest"].as_object()?;
    let parts = ["firstName", "lastName"].map(|part| guest.get(part).and_then(Value::as_str));
    let days = ["checkIn", "checkOut"].map(|day| row[day].as_str().unwrap_or_default());
    let guest: Vec<&str> = parts.into_iter().flatten().collect();
    Some(format!("{}, {} – {}", guest.join(" "), days[0], days[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: &[&str]) -> Vec<Row> {
        let row = |name: &&str| (format!("id of {name}"), (*name).to_owned());
        names.iter().map(row).collect()
    }

    #[test]
    fn a_name_means_the_only_row_or_the_only_row_with_exactly_this_name() {
        for (names, name, expected) in [
            (&["Flat 12"][..], "flat", Some("id of Flat 12")),
            (&["Flat 1", "Flat 12"][..], "flat 1", Some("id of Flat 1")),
            (&["Flat 1", "Flat 12"][..], "flat", None),
            (&["Flat 1", "flat 1"][..], "Flat 1", None),
            (&[][..], "Flat", None),
        ] {
            assert_eq!(meant(&rows(names), name), expected, "{name} of {names:?}");
        }
    }

    #[test]
    fn a_stay_is_named_by_its_guest_and_days() {
        let row = json!({
            "id": "1",
            "guest": { "firstName": "Ada", "lastName": "Lovelace" },
            "checkIn": "2026-12-11",
            "checkOut": "2026-12-15",
        });
        let (_, name) = named(&row).unwrap();
        assert_eq!(name, "Ada Lovelace, 2026-12-11 – 2026-12-15");
    }
}
