//! Records by the set: a statement each, however many are asked about.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use engine::context::Context;
use engine::error::Result;
use engine::values;
use uuid::Uuid;

use super::Kind;
use super::stored::unlink_all;

store::statements! {
    /// Which of some records of a kind there are.
    AMONG = "select id from record where organization_id = ?1 and kind = ?2 and id = any(?3)";
    /// The names of some records of a kind that goes by its name.
    NAMES = "select id, name from record where organization_id = ?1 and kind = ?2 and id = any(?3)";
    /// Notes that something names some records of a kind.
    LINK = "insert into record_link (organization_id, from_kind, from_id, to_kind, to_id)
        select organization_id, ?2, ?3, kind, id from record where organization_id = ?1 and kind = ?4 and id = any(?5) on conflict do nothing";
}

/// Whether the organization has all of these records.
pub(crate) fn all_exist(context: &mut Context<'_, '_>, kind: Kind, ids: &HashSet<Uuid>) -> Result<bool> {
    if ids.is_empty() {
        return Ok(true);
    }
    let wanted: Vec<Uuid> = ids.iter().copied().collect();
    Ok(context.rows(&AMONG, values![kind.as_ref(), wanted])?.len() == ids.len())
}

/// The names of the properties, groups or tags among these.
pub(crate) fn record_names(context: &mut Context<'_, '_>, kind: Kind, ids: Vec<Uuid>) -> Result<Vec<(Uuid, Option<String>)>> {
    let rows = context.rows(&NAMES, values![kind.as_ref(), ids])?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// Notes which records something names now, where it named others before; what is new named none. When one of them is deleted, what
/// names it is told.
pub(crate) fn note_named(
    context: &mut Context<'_, '_>,
    from_kind: &str,
    from: Uuid,
    before: impl IntoIterator<Item = (Kind, Uuid)>,
    now: impl IntoIterator<Item = (Kind, Uuid)>,
) -> Result<()> {
    let (before, now) = (BTreeSet::from_iter(before), BTreeSet::from_iter(now));
    if before == now {
        return Ok(());
    }
    if !before.is_empty() {
        unlink_all(context, from_kind, vec![from])?;
    }
    let mut by_kind = BTreeMap::<Kind, Vec<Uuid>>::new();
    for (kind, id) in now {
        by_kind.entry(kind).or_default().push(id);
    }
    for (kind, ids) in by_kind {
        context.execute_along(&LINK, values![from_kind, from, kind.as_ref(), ids])?;
    }
    Ok(())
}
