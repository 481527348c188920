//! Queries and updates for sets of records, with one statement per kind for any number of records.

use std::collections::{BTreeMap, BTreeSet};

use engine::context::Context;
use engine::error::Result;
use engine::values;
use uuid::Uuid;

use super::RecordKind;
use super::stored::unlink_all;

store::statements! {
    /// Selects the ids among `?3` that are ids of existing records of a kind.
    AMONG = "select id from record where organization_id = ?1 and kind = ?2 and id = any(?3)";
    /// Selects the names of the records of a kind with the given ids.
    NAMES = "select id, name from record where organization_id = ?1 and kind = ?2 and id = any(?3)";
    /// Stores links from one source, such as a step, to several records of a kind. Skips ids
    /// without a record.
    LINK = "insert into record_link (organization_id, from_kind, from_id, to_kind, to_id)
        select organization_id, ?2, ?3, kind, id from record where organization_id = ?1
        and kind = ?4 and id = any(?5) on conflict do nothing";
}

/// Returns the smallest of these ids for which the organization has no record of the kind. Returns
/// `None` if all records exist.
pub(crate) fn first_missing(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    ids: &BTreeSet<Uuid>,
) -> Result<Option<Uuid>> {
    if ids.is_empty() {
        return Ok(None);
    }
    let id_list: Vec<Uuid> = ids.iter().copied().collect();
    let rows = context.rows(&AMONG, values![kind.as_ref(), id_list])?;
    if rows.len() == ids.len() {
        return Ok(None);
    }
    let existing = rows
        .iter()
        .map(|row| Ok(row.get(0)?))
        .collect::<Result<BTreeSet<Uuid>>>()?;
    Ok(ids.difference(&existing).next().copied())
}

/// Returns the names of the properties, groups or tags with these ids.
pub(crate) fn record_names(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    ids: Vec<Uuid>,
) -> Result<Vec<(Uuid, Option<String>)>> {
    let rows = context.rows(&NAMES, values![kind.as_ref(), ids])?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// Updates the links from a source, such as a step, to records. `before` has the links before the
/// write, and `now` has the links after it. `before` is empty for a new source. If a linked record
/// is deleted later, the service finds the source by the link
/// ([`LinkSources`](super::LinkSources)).
pub(crate) fn update_record_links(
    context: &mut Context<'_, '_>,
    from_kind: &str,
    from: Uuid,
    before: impl IntoIterator<Item = (RecordKind, Uuid)>,
    now: impl IntoIterator<Item = (RecordKind, Uuid)>,
) -> Result<()> {
    let (before, now) = (BTreeSet::from_iter(before), BTreeSet::from_iter(now));
    if before == now {
        return Ok(());
    }
    if !before.is_empty() {
        unlink_all(context, from_kind, vec![from])?;
    }
    let mut by_kind = BTreeMap::<RecordKind, Vec<Uuid>>::new();
    for (kind, id) in now {
        by_kind.entry(kind).or_default().push(id);
    }
    for (kind, ids) in by_kind {
        context.execute_deferred(&LINK, values![from_kind, from, kind.as_ref(), ids])?;
    }
    Ok(())
}
