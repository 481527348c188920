//! What lists of records are filtered by: columns beside the document, written with it.
//!
//! A name is folded as the search folds it, which no database can, so records of before there were these columns get them
//! when the process starts ([`fill`]).

use engine::error::Result;
use engine::fold::fold;
use engine::operation::Object;
use engine::values;
use jiff::{Timestamp, civil};
use serde_json::Value;
use store::{Json, Row, Store, Transaction};
use uuid::Uuid;

use super::Kind;

/// Characters of a folded name that are compared. An entry of an index can be only so long.
const LONGEST: usize = 100;
/// Records filled in one transaction.
const BATCH: i64 = 1_000;

store::statements! {
    /// An organization that has records whose columns were never written.
    UNFILLED_IN = "select organization_id from record where name_key is null and kind in ('property', 'reservation') limit 1";
    /// These records, but for those that another node is writing.
    UNFILLED = "select organization_id, kind, id, doc from record where organization_id = ?1 and name_key is null
        and kind in ('property', 'reservation') limit ?2 for update skip locked";
    /// Writes them. The records are there and held, so this inserts nothing; as an insert it is run for many at once.
    FILL = "insert into record (organization_id, kind, id, created_at, updated_at, doc, status, check_in, name_key)
        values (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8)
        on conflict (organization_id, kind, id) do update set status = excluded.status, check_in = excluded.check_in,
        name_key = excluded.name_key";
}

/// What a record is found by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facets {
    /// Of a reservation.
    pub status: Option<String>,
    /// Of a reservation, as `2026-11-21`.
    pub check_in: Option<String>,
    /// The folded name of a property, or of a reservation's guest.
    pub name_key: Option<String>,
}

/// What a record of a kind is found by.
pub(crate) fn facets(kind: Kind, data: &Object) -> Facets {
    let text = |field: &str| data.get(field).and_then(Value::as_str);
    match kind {
        Kind::Property => Facets { name_key: Some(key(text("name"))), ..Facets::default() },
        Kind::Reservation => {
            let part = |field: &str| key(data.get("guest").and_then(|guest| guest.get(field)).and_then(Value::as_str));
            Facets {
                status: text("status").map(str::to_owned),
                check_in: text("checkIn").and_then(day),
                name_key: Some(full_name(&part("firstName"), &part("lastName"))),
            }
        }
        _ => Facets::default(),
    }
}

/// A day as it is compared.
pub(super) fn day(text: &str) -> Option<String> {
    text.parse::<civil::Date>().ok().map(|date| date.to_string())
}

/// A name is asked for as "Ada Lovelace" or as "Lovelace Ada": both stand in "ada lovelace ada".
fn full_name(first: &str, last: &str) -> String {
    if first.is_empty() || last.is_empty() { [first, last].concat() } else { format!("{first} {last} {first}") }
}

fn key(name: Option<&str>) -> String {
    fold(name.unwrap_or_default()).chars().take(LONGEST).collect()
}

/// The pattern that names with this part fit, for `like … escape '!'`. What folding leaves nothing of is in no folded name.
pub(crate) fn pattern(part: &str) -> String {
    let folded = Some(fold(part)).filter(|folded| !folded.is_empty()).unwrap_or_else(|| part.to_owned());
    let mut pattern = String::from("%");
    for letter in folded.chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// Writes the columns of records that were stored before there were any.
pub async fn fill(store: &Store) -> Result<()> {
    while store.write(fill_some).await? {}
    Ok(())
}

/// True when there may be more to do.
fn fill_some(tx: &mut Transaction<'_>) -> Result<bool> {
    let Some(row) = tx.row(&UNFILLED_IN, &[])? else { return Ok(false) };
    let rows = tx.rows(&UNFILLED, &values![row.get::<Uuid>(0)?, BATCH])?;
    let fill = |row: &Row| -> Result<Vec<store::Value>> {
        let (organization, kind, id): (Uuid, String, Uuid) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let Json(data) = row.get(3)?;
        let Facets { status, check_in, name_key } = kind.parse().map(|kind| facets(kind, &data)).unwrap_or_default();
        let (never, nothing) = (Timestamp::UNIX_EPOCH, store::Value::Json("{}".into()));
        Ok(values![organization, kind, id, never, nothing, status, check_in, name_key.unwrap_or_default()].into())
    };
    tx.execute_many(&FILL, &rows.iter().map(fill).collect::<Result<Vec<_>>>()?)?;
    Ok(!rows.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(kind: Kind, data: Value) -> Facets {
        facets(kind, data.as_object().unwrap())
    }

    #[test]
    fn a_guest_is_found_by_either_name_first() {
        let stay = of(
            Kind::Reservation,
            json!({ "status": "confirmed", "checkIn": "2026-12-11", "guest": { "firstName": "José ", "lastName": "GARCÍA" } }),
        );
        let wanted =
            Facets { status: Some("confirmed".into()), check_in: Some("2026-12-11".into()), name_key: Some("jose garcia jose".into()) };
        assert_eq!(stay, wanted);
        for (guest, key) in [(json!({}), ""), (json!({ "lastName": "Li" }), "li"), (json!({ "firstName": "Bo", "lastName": null }), "bo")] {
            assert_eq!(of(Kind::Reservation, json!({ "guest": guest })).name_key.as_deref(), Some(key));
        }
        assert_eq!(of(Kind::Task, json!({ "name": "x" })), Facets::default());
    }

    #[test]
    fn an_entry_of_an_index_stays_short() {
        let long = "ﷺ".repeat(1_000);
        let stay = of(Kind::Reservation, json!({ "guest": { "firstName": &long, "lastName": &long } }));
        assert!(stay.name_key.unwrap().len() <= 1_250);
        assert!(of(Kind::Property, json!({ "name": long })).name_key.unwrap().len() <= 400);
    }

    #[test]
    fn what_is_asked_for_stands_for_itself() {
        assert_eq!(pattern("100% A_b!"), "%100!% a!_b!!%");
        assert_eq!(pattern("\u{301}"), "%\u{301}%");
    }
}
