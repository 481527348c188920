//! What a limited caller sees of the records that are of no property themselves (contract: Limited callers): groups and tags
//! that cover a property of theirs. And the properties among some.

use std::collections::BTreeSet;

use engine::access::Reach;
use engine::context::Context;
use engine::error::Result;
use engine::operation::{Listing, Page};
use engine::values;
use uuid::Uuid;

use super::Kind;
use super::stored::Record;

store::statements! {
    /// The groups or tags of some properties.
    AROUND = "select to_id from record_link
        where organization_id = ?1 and from_kind = 'property' and from_id = any(?2) and to_kind = ?3";
    /// A page of some records of a kind.
    PAGE_AMONG = "select id, property_id, doc, created_at, updated_at from record
        where organization_id = ?1 and kind = ?2 and id = any(?3) order by created_at, id limit ?4 offset ?5";
}

/// A page of the groups or tags that a limited caller sees, by creation; `None` for other kinds, and for other callers.
pub(super) fn list(context: &mut Context<'_, '_>, kind: Kind, page: Page) -> Result<Option<Listing<Record>>> {
    let (Reach::Properties(properties), Kind::PropertyGroup | Kind::Tag) = (context.reach(), kind) else { return Ok(None) };
    let properties: Vec<Uuid> = properties.iter().copied().collect();
    let rows = context.rows(&AROUND, values![properties, kind.as_ref()])?;
    let ids: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect::<Result<BTreeSet<Uuid>, _>>()?.into_iter().collect();
    // A link goes with what it leads to.
    let total = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    let rows = context.rows(&PAGE_AMONG, values![kind.as_ref(), ids, page.limit, page.offset])?;
    let items = rows.iter().map(|row| Record::from_row(context, kind, row)).collect::<Result<_>>()?;
    Ok(Some(Listing { items, total }))
}

/// A page of the properties among some within reach, by creation: they are as few as can be asked for at once.
pub(super) fn properties(context: &mut Context<'_, '_>, ids: &[Uuid], page: Page) -> Result<Listing<Record>> {
    let kind = Kind::Property;
    let rows = context.rows(&PAGE_AMONG, values![kind.as_ref(), ids, i64::try_from(ids.len()).unwrap_or(i64::MAX), 0])?;
    let (first, most) = (usize::try_from(page.offset).unwrap_or(usize::MAX), usize::try_from(page.limit).unwrap_or(usize::MAX));
    let items = rows.iter().skip(first).take(most).map(|row| Record::from_row(context, kind, row)).collect::<Result<_>>()?;
    Ok(Listing { items, total: i64::try_from(rows.len()).unwrap_or(i64::MAX) })
}
