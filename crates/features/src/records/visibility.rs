//! Decides which groups and tags a limited caller can access: the groups and tags of the properties
//! that the caller can access (rules: access#records-of-limited-callers). Also lists properties by
//! id.

use std::collections::BTreeSet;

use engine::access::PropertyScope;
use engine::context::Context;
use engine::error::Result;
use engine::operation::{Listing, Page};
use engine::values;
use uuid::Uuid;

use super::kind::{LimitedAccess, RecordKind};
use super::stored::Record;

store::statements! {
    /// Selects the ids of the groups, or of the tags, of the properties `?2`. `?3` is the kind:
    /// group or tag.
    AROUND = "select to_id from record_link
        where organization_id = ?1 and from_kind = 'property' and from_id = any(?2)
        and to_kind = ?3";
    /// Selects a page of the records with the ids `?3`, all of one kind.
    PAGE_AMONG = "select id, property_id, doc, created_at, updated_at, origin from record
        where organization_id = ?1 and kind = ?2 and id = any(?3) order by created_at, id
        limit ?4 offset ?5";
}

/// Returns the ids of the groups or tags that a limited caller can access. Returns `None` if `kind`
/// is neither groups nor tags, and for unlimited callers.
pub(super) fn visible_record_ids(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
) -> Result<Option<BTreeSet<Uuid>>> {
    let (PropertyScope::Properties(properties), LimitedAccess::LinkedToProperties) =
        (context.property_scope(), kind.limited_access())
    else {
        return Ok(None);
    };
    let properties: Vec<Uuid> = properties.iter().copied().collect();
    let rows = context.rows(&AROUND, values![properties, kind.as_ref()])?;
    let ids = rows.iter().map(|row| Ok(row.get(0)?));
    ids.collect::<Result<_>>().map(Some)
}

/// Returns a page of the groups or tags that a limited caller can access, in the order of creation.
/// Returns `None` if `kind` is neither groups nor tags, and for unlimited callers.
pub(super) fn list(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    page: Page,
) -> Result<Option<Listing<Record>>> {
    let Some(visible) = visible_record_ids(context, kind)? else {
        return Ok(None);
    };
    let ids: Vec<Uuid> = visible.into_iter().collect();
    // Every linked id belongs to an existing record, because the deletion of a record also deletes
    // the links to it. So the number of ids is the number of records.
    let total = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    let rows = context.rows(
        &PAGE_AMONG,
        values![kind.as_ref(), ids, page.limit, page.offset],
    )?;
    let items = rows
        .iter()
        .map(|row| Record::from_row(context, kind, row))
        .collect::<Result<_>>()?;
    Ok(Some(Listing { items, total }))
}

/// Returns a page of the properties with these ids, in the order of creation. Reads all these
/// properties, because a request can contain only a few hundred ids.
pub(super) fn properties(
    context: &mut Context<'_, '_>,
    ids: &[Uuid],
    page: Page,
) -> Result<Listing<Record>> {
    let kind = RecordKind::Property;
    let rows = context.rows(
        &PAGE_AMONG,
        values![
            kind.as_ref(),
            ids,
            i64::try_from(ids.len()).unwrap_or(i64::MAX),
            0
        ],
    )?;
    let (first, limit) = (
        usize::try_from(page.offset).unwrap_or(usize::MAX),
        usize::try_from(page.limit).unwrap_or(usize::MAX),
    );
    let items = rows
        .iter()
        .skip(first)
        .take(limit)
        .map(|row| Record::from_row(context, kind, row))
        .collect::<Result<_>>()?;
    Ok(Listing {
        items,
        total: i64::try_from(rows.len()).unwrap_or(i64::MAX),
    })
}
