//! What a limited caller sees of the records that are of no property themselves (contract: Limited callers): groups and tags
//! that cover a property of theirs, and instructions as what they are of.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use uuid::Uuid;

use super::Kind;
use super::records::Record;
use crate::access::Reach;
use crate::context::Context;
use crate::error::Result;
use crate::operation::{Listing, Object, Page};
use crate::portals::Coverage;
use crate::scopes::{Target, TargetKind};
use crate::values;

store::statements! {
    /// The groups or tags of some properties.
    AROUND = "select to_id from record_link
        where organization_id = ?1 and from_kind = 'property' and from_id = any(?2) and to_kind = ?3";
    /// A page of some records of a kind.
    PAGE_AMONG = "select id, property_id, doc, created_at, updated_at from record
        where organization_id = ?1 and kind = ?2 and id = any(?3) order by created_at, id limit ?4 offset ?5";
    /// Which of some ids are properties, groups or tags.
    PLACES = "select kind, id from record
        where organization_id = ?1 and kind in ('property', 'property_group', 'tag') and id = any(?2)";
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

/// Takes away the instructions that a limited caller does not see.
pub(super) fn retain_visible(context: &mut Context<'_, '_>, instructions: &mut Vec<Record>) -> Result<()> {
    if !context.reach().is_limited() {
        return Ok(());
    }
    let mut places = HashMap::<Uuid, Vec<TargetKind>>::new();
    for (kind, id) in self::places(context, instructions.iter().filter_map(scope).collect())? {
        places.entry(id).or_default().push(kind);
    }
    let coverage = Coverage::load(context)?;
    instructions.retain(|record| {
        let of = scope(record).and_then(|id| places.get(&id).map(|kinds| (id, kinds)));
        of.is_none_or(|(id, kinds)| kinds.iter().any(|kind| coverage.is_visible(*kind, id)))
    });
    Ok(())
}

/// Whether the caller may change an instruction: what it is of is theirs to write, or is no property, group or tag.
pub(crate) fn may_change_instruction(context: &mut Context<'_, '_>, instruction: &Object) -> Result<bool> {
    if !context.reach().is_limited() {
        return Ok(true);
    }
    let scope = instruction.get("scopeId").and_then(Value::as_str).and_then(|text| text.parse().ok());
    let places = places(context, scope.into_iter().collect())?;
    let coverage = Coverage::load(context)?;
    Ok(places.is_empty() || places.iter().any(|(kind, id)| coverage.is_writable(*kind, *id)))
}

/// What an instruction is of.
fn scope(instruction: &Record) -> Option<Uuid> {
    instruction.field("scopeId")
}

/// The properties, groups and tags with these ids, which are unique within a kind only.
fn places(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<Vec<Target>> {
    let mut places = Vec::new();
    for row in context.rows(&PLACES, values![ids])? {
        if let Ok(kind) = row.get::<String>(0)?.parse::<TargetKind>() {
            places.push((kind, row.get(1)?));
        }
    }
    Ok(places)
}
