//! How rows that have had their time are removed: what is old is found whosever it is, and removed organization by organization.

use std::collections::BTreeMap;

use jiff::Timestamp;
use store::{FromColumn, Row, Statement, Transaction, Value};
use uuid::Uuid;

use crate::error::Result;
use crate::values;

/// Removes some rows of an organization that are as old as a moment: the organization, what names the rows within it, and the moment
/// are its parameters. What others have in hand is left for the next time. Where SQLite would look through all of an organization, the
/// index that it is to use stands last.
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

/// Removes a batch of what is as old as a moment. `found` tells the organization and the name of each row, by the moment and how many
/// there may be; `remove` is made by [`crate::some_old!`]. How many rows are gone.
pub fn remove<T: FromColumn>(
    tx: &mut Transaction<'_>,
    found: &'static Statement,
    remove: &'static Statement,
    moment: Timestamp,
    batch: u32,
) -> Result<u64>
where
    Vec<T>: Into<Value>,
{
    let rows = tx.rows(found, &values![moment, batch])?;
    let mut removed = 0;
    for (organization, names) in by_organization::<T>(&rows)? {
        removed += tx.execute(remove, &[organization.into(), names.into(), moment.into()])?;
    }
    Ok(removed)
}

/// What the second column of rows says, by the organization in the first.
pub fn by_organization<T: FromColumn>(rows: &[Row]) -> Result<BTreeMap<Uuid, Vec<T>>> {
    let mut of = BTreeMap::<Uuid, Vec<T>>::new();
    for row in rows {
        of.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    Ok(of)
}
