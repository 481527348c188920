//! Lists of records of any kind in natural order of their names: Flat 2 before Flat 11. The console
//! shows records in this order.

use engine::context::Context;
use engine::error::{Error, Result};
use engine::fold::{fold, natural};
use engine::operation::{Listing, Page};
use engine::values;
use jiff::Timestamp;
use uuid::Uuid;

use super::kind::{LimitedAccess, RecordKind};
use super::stored::{self, Record};
use super::visibility;

store::statements! {
    /// Selects id, property, name and last change of all records of a kind, in the order of
    /// creation.
    NAMES = "select id, property_id, coalesce(doc ->> 'name', doc ->> 'title', doc ->> 'host',
        name_key), updated_at from record
        where organization_id = ?1 and kind = ?2 order by created_at, id";
}

/// Returns a page of a kind's records, ordered by name. Omits records that the caller cannot
/// access. With `part`, the list contains only records whose name contains `part`. With `since`,
/// the list contains only records that changed at or after this time, ordered by time of the
/// change.
pub(super) fn list(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    part: Option<&str>,
    since: Option<Timestamp>,
    page: Page,
) -> Result<Listing<Record>> {
    let property_scope = context.property_scope();
    if property_scope.is_limited() && kind.limited_access() == LimitedAccess::None {
        // A limited caller may read an instruction only if it is for a property, group or tag that
        // the caller can access. This list cannot check that, so it contains no instructions for a
        // limited caller. `listInstructions` checks it.
        return Ok(Listing {
            items: Vec::new(),
            total: 0,
        });
    }
    let visible_ids = visibility::visible_record_ids(context, kind)?;
    let part = part.map(fold);
    let mut matches: Vec<(String, Timestamp, Uuid)> = Vec::new();
    for row in context.rows(&NAMES, values![kind.as_ref()])? {
        let (id, property, name): (Uuid, Option<Uuid>, Option<String>) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let changed: Timestamp = row.get(3)?;
        let name = name.unwrap_or_default();
        let matches_name = part
            .as_ref()
            .is_none_or(|part| fold(&name).contains(part.as_str()));
        let is_accessible = match &visible_ids {
            Some(visible_ids) => visible_ids.contains(&id),
            None => property_scope.covers_record(property),
        };
        let is_new = since.is_none_or(|since| changed >= since);
        if matches_name && is_accessible && is_new {
            matches.push((name, changed, id));
        }
    }
    if since.is_some() {
        matches.sort_by_key(|(_, changed, id)| (*changed, *id));
    } else {
        // The sort is stable: records with equal names remain in order of creation.
        matches.sort_by(|(one, ..), (other, ..)| natural(one, other));
    }
    let total = i64::try_from(matches.len()).unwrap_or(i64::MAX);
    let (first, limit) = (
        usize::try_from(page.offset).unwrap_or(usize::MAX),
        usize::try_from(page.limit).unwrap_or(usize::MAX),
    );
    let ids: Vec<Uuid> = matches
        .into_iter()
        .skip(first)
        .take(limit)
        .map(|(.., id)| id)
        .collect();
    let mut records = stored::find_records(context, kind, ids.clone())?;
    let items = ids.iter().filter_map(|id| records.remove(id));
    Ok(Listing {
        items: items.collect::<Result<_>>()?,
        total,
    })
}

/// Returns a record of any kind. Returns 404 if the record does not exist, or if the caller cannot
/// access it.
pub(super) fn get_any_record(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    id: Uuid,
) -> Result<Record> {
    let is_hidden = match kind.limited_access() {
        LimitedAccess::None => context.property_scope().is_limited(),
        LimitedAccess::OnProperties | LimitedAccess::LinkedToProperties => {
            visibility::visible_record_ids(context, kind)?
                .is_some_and(|visible_ids| !visible_ids.contains(&id))
        }
    };
    if is_hidden {
        return Err(Error::not_found(&kind.label()));
    }
    stored::get_record(context, kind, id)
}
