//! Removal of old rows, and correction of times that are too far in the future because the clock of
//! a node was ahead when it wrote them. The rows are listed across all organizations, and changed
//! for one organization at a time.

use std::collections::BTreeMap;

use jiff::Timestamp;
use store::{FromColumn, Row, Statement, Transaction, Value};
use uuid::Uuid;

use crate::error::Result;
use crate::values;

/// Returns the SQL that deletes old rows of an organization. The parameters of the SQL are the
/// organization, the keys of the rows, and a timestamp. A row is old if the timestamp in its column
/// `$moment` is the same or earlier. The SQL skips rows that another transaction has locked; the
/// next sweep tries them again. The last argument of the macro chooses an index, for tables where
/// SQLite would otherwise scan all rows of the organization.
#[macro_export]
macro_rules! some_old {
    ($table:literal, $key:literal, $moment:literal) => {
        $crate::some_old!($table, $key, $moment, "")
    };
    ($table:literal, $key:literal, $moment:literal, $index:literal) => {
        concat!(
            "with old as (select ",
            $key,
            " from ",
            $table,
            " where organization_id = ?1 and ",
            $key,
            " = any(?2) and ",
            $moment,
            " <= ?3 for update skip locked) delete from ",
            $table,
            $index,
            " where organization_id = ?1 and ",
            $key,
            " in (select ",
            $key,
            " from old) and ",
            $moment,
            " <= ?3"
        )
    };
}

/// Removes a batch of rows whose time is `moment` or earlier. Returns the number of removed rows.
///
/// `list` is a statement that returns the organization and the key of each row. Its parameters are
/// a time and a limit. [`crate::some_old!`] makes the statement `remove`.
pub fn remove<T: FromColumn>(
    tx: &mut Transaction<'_>,
    list: &'static Statement,
    remove: &'static Statement,
    moment: Timestamp,
    batch: u32,
) -> Result<u64>
where
    Vec<T>: Into<Value>,
{
    let rows = tx.rows(list, &values![moment, batch])?;
    let mut removed = 0;
    for (organization, keys) in by_organization::<T>(&rows)? {
        removed += tx.execute(remove, &[organization.into(), keys.into(), moment.into()])?;
    }
    Ok(removed)
}

/// The maximum number of rows that [`bring_forward`] changes in one transaction.
const BRING_FORWARD_LIMIT: u32 = 100;

/// The SQL that sets the time of some rows of an organization to `?3` if their time is later than
/// `?3`. The other parameters are the organization and the keys of the rows. Skips rows that
/// another transaction has locked; the next sweep tries them again.
#[macro_export]
macro_rules! some_late {
    ($table:literal, $key:literal, $moment:literal) => {
        $crate::some_late!($table, $key, $key, $moment, "?3")
    };
    ($table:literal, $key:literal, $row:literal, $moment:literal, $value:literal) => {
        concat!(
            "with late as (select ",
            $row,
            " from ",
            $table,
            " where organization_id = ?1 and ",
            $key,
            " = any(?2) and ",
            $moment,
            " > ?3 for update skip locked) update ",
            $table,
            " set ",
            $moment,
            " = ",
            $value,
            " where organization_id = ?1 and (",
            $row,
            ") in (select ",
            $row,
            " from late)"
        )
    };
}

/// Corrects a batch of rows whose time is later than `latest`. Only a clock that was ahead can have
/// caused such a time (rules: settings#clock). Returns whether there may be more such rows.
///
/// `list` is a statement that returns the organization and the key of each row. Its parameters are
/// a time and a limit. [`crate::some_late!`] makes the statement `correct`.
pub fn bring_forward(
    tx: &mut Transaction<'_>,
    list: &'static Statement,
    correct: &'static Statement,
    latest: Timestamp,
) -> Result<bool> {
    let rows = tx.rows(list, &values![latest, BRING_FORWARD_LIMIT])?;
    let mut moved = 0;
    for (organization, keys) in by_organization::<Uuid>(&rows)? {
        moved += tx.execute(correct, &[organization.into(), keys.into(), latest.into()])?;
    }
    Ok(moved > 0 && rows.len() >= BRING_FORWARD_LIMIT as usize)
}

/// Groups the values in the second column by the organization in the first column.
pub fn by_organization<T: FromColumn>(rows: &[Row]) -> Result<BTreeMap<Uuid, Vec<T>>> {
    let mut values = BTreeMap::<Uuid, Vec<T>>::new();
    for row in rows {
        values.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    Ok(values)
}
