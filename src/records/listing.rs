//! Lists of records, by creation: which records are on a page, and how many there are in all.
//!
//! What decides is read from an index alone, and the records of the page by their ids. A list of everything there is of a kind
//! costs the same however far back the page ([`super::blocks`]). Where something is filtered, the walk is over what the most
//! telling filter leaves: property, else check-in, else status, else everything.

use std::collections::HashMap;

use engine::access::Reach;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::operation::{Listing, Page};
use engine::values;
use store::Row;
use uuid::Uuid;

use super::blocks::{self, Start};
use super::stored::{self, Record};
use super::{Kind, within};

/// What each of these lists is held to besides; `name_key` and `status` are looked at where they are asked for.
macro_rules! select {
    ($what:literal, $($rest:literal),*) => {
        concat!(
            "select ", $what, " from record where organization_id = ?1 and kind = ?2 and (?3 or status = ?4)
                and (?5 or name_key like ?6 escape '!')",
            $($rest),*
        )
    };
}

/// Those on some properties, and where wanted those on none.
macro_rules! on {
    ($what:literal) => {
        concat!(
            select!($what, " and (?7 or (check_in >= ?8 and check_in <= ?9)) and property_id = any(?10)"),
            " union all ",
            select!($what, " and (?7 or (check_in >= ?8 and check_in <= ?9)) and property_id is null and ?11")
        )
    };
}

store::statements! {
    /// Ids of what follows in the order of a kind.
    FOLLOWING = "select id from record where organization_id = ?1 and kind = ?2 and (created_at, id) >= (?3, ?4)
        order by created_at, id limit ?5 offset ?6";
    /// How many there are in the whole order.
    COUNT = select!("count(*)",);
    /// A page of them.
    PAGE = select!("id", " order by created_at, id limit ?7 offset ?8");
    /// How many stand somewhere.
    COUNT_STANDING = select!("count(*)", " and status = ?7");
    /// A page of them.
    PAGE_STANDING = select!("id", " and status = ?7 order by created_at, id limit ?8 offset ?9");
    /// How many check in between two days.
    COUNT_COMING = select!("count(*)", " and check_in >= ?7 and check_in <= ?8");
    /// A page of them. They are found first and put in order then: SQLite would rather walk through everything in order.
    PAGE_COMING = concat!(
        "with found as materialized (",
        select!("id, created_at", " and check_in >= ?7 and check_in <= ?8"),
        ") select id from found order by created_at, id limit ?9 offset ?10"
    );
    /// How many there are on some properties.
    COUNT_ON = concat!("select count(*) from (", on!("id"), ") as found");
    /// A page of them.
    PAGE_ON = concat!("select id from (", on!("id, created_at"), ") as found order by created_at, id limit ?12 offset ?13");
    /// How many there are of these.
    COUNT_THESE = select!("count(*)", " and id = any(?7) and (?8 or property_id = any(?9) or property_id is null)
        and (?10 or property_id = ?11) and (?12 or (check_in >= ?13 and check_in <= ?14))");
    /// A page of them.
    PAGE_THESE = select!("id", " and id = any(?7) and (?8 or property_id = any(?9) or property_id is null)
        and (?10 or property_id = ?11) and (?12 or (check_in >= ?13 and check_in <= ?14)) order by created_at, id limit ?15 offset ?16");
    /// How many properties there are with a name, in a group, with a tag.
    COUNT_PROPERTIES = select!("count(*)", " and (?7 or property_id = any(?8))
        and (?9 or exists (select 1 from record_link l where l.organization_id = ?1 and l.to_kind = 'property_group' and l.to_id = ?10
            and l.from_kind = 'property' and l.from_id = record.id))
        and (?11 or exists (select 1 from record_link l where l.organization_id = ?1 and l.to_kind = 'tag' and l.to_id = ?12
            and l.from_kind = 'property' and l.from_id = record.id))");
    /// A page of them.
    PAGE_PROPERTIES = select!("id", " and (?7 or property_id = any(?8))
        and (?9 or exists (select 1 from record_link l where l.organization_id = ?1 and l.to_kind = 'property_group' and l.to_id = ?10
            and l.from_kind = 'property' and l.from_id = record.id))
        and (?11 or exists (select 1 from record_link l where l.organization_id = ?1 and l.to_kind = 'tag' and l.to_id = ?12
            and l.from_kind = 'property' and l.from_id = record.id))
        order by created_at, id limit ?13 offset ?14");
}

/// What a list of records is narrowed down to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// These alone.
    pub among: Option<Vec<Uuid>>,
    /// A pattern of names, as [`super::facets::pattern`] makes it.
    pub name: Option<String>,
    /// The property they are on.
    pub property: Option<Uuid>,
    /// Where they stand.
    pub status: Option<String>,
    /// The first day of check-in.
    pub from: Option<String>,
    /// The last day of check-in.
    pub to: Option<String>,
}

/// What a list of properties is narrowed down to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PropertyFilter {
    /// A pattern of names.
    pub name: Option<String>,
    /// The group they are in.
    pub group: Option<Uuid>,
    /// The tag they have.
    pub tag: Option<Uuid>,
}

/// Before and after every day there is.
const DAYS: (&str, &str) = ("", "~");

/// A page of the records of a kind within reach, by creation.
pub(super) fn list(context: &mut Context<'_, '_>, kind: Kind, filter: &Filter, page: Page) -> Result<Listing<Record>> {
    let Filter { among, name, property, status, from, to } = filter;
    let reach = context.reach();
    let is_whole = *filter == Filter::default();
    if is_whole && let Some(listing) = within::list(context, kind, page)? {
        return Ok(listing);
    }
    let asks_for_days = from.is_some() || to.is_some();
    let (first, last) = (from.as_deref().unwrap_or(DAYS.0), to.as_deref().unwrap_or(DAYS.1));
    let (any_status, status) = (status.is_none(), status.as_deref().unwrap_or_default());
    let (any_name, pattern) = (name.is_none(), name.as_deref().unwrap_or_default());
    if let Some(ids) = among {
        let [all, reached] = reach.parameters();
        let (any_property, property) = (property.is_none(), property.unwrap_or_default());
        let (kind_name, ids, any_day) = (kind.as_ref(), ids.clone(), !asks_for_days);
        let counted = values![
            kind_name,
            any_status,
            status,
            any_name,
            pattern,
            ids.clone(),
            all.clone(),
            reached.clone(),
            any_property,
            property,
            any_day,
            first,
            last
        ];
        let total = count(context.row(&COUNT_THESE, counted)?)?;
        let params = values![
            kind_name,
            any_status,
            status,
            any_name,
            pattern,
            ids,
            all,
            reached,
            any_property,
            property,
            any_day,
            first,
            last,
            page.limit,
            page.offset
        ];
        let rows = context.rows(&PAGE_THESE, params)?;
        return Ok(Listing { items: in_order(context, kind, &rows)?, total });
    }
    let (total, rows) = match (reach, property) {
        (Reach::Everything, None) if is_whole => {
            let Start { from: place, skipped, total } = blocks::start(context, kind, page.offset)?;
            if page.offset >= total {
                return Ok(Listing { items: Vec::new(), total });
            }
            (total, context.rows(&FOLLOWING, values![kind.as_ref(), place.0, place.1, page.limit, skipped])?)
        }
        (Reach::Everything, None) if asks_for_days => {
            let total = context.row(&COUNT_COMING, values![kind.as_ref(), any_status, status, any_name, pattern, first, last])?;
            let params = values![kind.as_ref(), any_status, status, any_name, pattern, first, last, page.limit, page.offset];
            (count(total)?, context.rows(&PAGE_COMING, params)?)
        }
        (Reach::Everything, None) if !any_status => {
            let total = context.row(&COUNT_STANDING, values![kind.as_ref(), true, "", any_name, pattern, status])?;
            let params = values![kind.as_ref(), true, "", any_name, pattern, status, page.limit, page.offset];
            (count(total)?, context.rows(&PAGE_STANDING, params)?)
        }
        (Reach::Everything, None) => {
            let total = context.row(&COUNT, values![kind.as_ref(), any_status, status, any_name, pattern])?;
            let params = values![kind.as_ref(), any_status, status, any_name, pattern, page.limit, page.offset];
            (count(total)?, context.rows(&PAGE, params)?)
        }
        _ => {
            // What is on no property is within everybody's reach, and on none that is asked for.
            let (on, or_none) = match (reach, property) {
                (reach, Some(property)) => (if reach.covers(*property) { vec![*property] } else { Vec::new() }, false),
                (Reach::Properties(ids), None) => (ids.iter().copied().collect(), true),
                (Reach::Everything, None) => (Vec::new(), true),
            };
            let total = context.row(
                &COUNT_ON,
                values![kind.as_ref(), any_status, status, any_name, pattern, !asks_for_days, first, last, on.clone(), or_none],
            )?;
            let params = values![
                kind.as_ref(),
                any_status,
                status,
                any_name,
                pattern,
                !asks_for_days,
                first,
                last,
                on,
                or_none,
                page.limit,
                page.offset
            ];
            (count(total)?, context.rows(&PAGE_ON, params)?)
        }
    };
    Ok(Listing { items: in_order(context, kind, &rows)?, total })
}

/// A page of the properties within reach, by creation; of these alone, where some are named.
pub(super) fn properties(
    context: &mut Context<'_, '_>,
    filter: &PropertyFilter,
    named: Option<Vec<Uuid>>,
    page: Page,
) -> Result<Listing<Record>> {
    let among: Option<Vec<Uuid>> = named.map(|ids| ids.into_iter().filter(|id| context.reach().covers(*id)).collect());
    match &among {
        Some(ids) if *filter == PropertyFilter::default() => return within::properties(context, ids, page),
        None if *filter == PropertyFilter::default() => return list(context, Kind::Property, &Filter::default(), page),
        _ => {}
    }
    let PropertyFilter { name, group, tag } = filter;
    let kind = Kind::Property;
    let [all, ids] = among.map_or_else(|| context.reach().parameters(), |ids| [false.into(), ids.into()]);
    let (any_name, pattern) = (name.is_none(), name.as_deref().unwrap_or_default());
    let (any_group, group) = (group.is_none(), group.unwrap_or_default());
    let (any_tag, tag) = (tag.is_none(), tag.unwrap_or_default());
    let counted = values![kind.as_ref(), true, "", any_name, pattern, all.clone(), ids.clone(), any_group, group, any_tag, tag];
    let total = context.row(&COUNT_PROPERTIES, counted)?;
    let params = values![kind.as_ref(), true, "", any_name, pattern, all, ids, any_group, group, any_tag, tag, page.limit, page.offset];
    let rows = context.rows(&PAGE_PROPERTIES, params)?;
    Ok(Listing { items: in_order(context, kind, &rows)?, total: count(total)? })
}

fn count(row: Option<Row>) -> Result<i64> {
    Ok(row.map_or(Ok(0), |row| row.get(0))?)
}

/// The records of these ids, in this order.
fn in_order(context: &mut Context<'_, '_>, kind: Kind, rows: &[Row]) -> Result<Vec<Record>> {
    let ids = rows.iter().map(|row| Ok(row.get(0)?)).collect::<Result<Vec<Uuid>>>()?;
    let mut found = HashMap::with_capacity(ids.len());
    for row in stored::find_rows(context, kind, ids.clone())? {
        found.insert(row.get::<Uuid>(0)?, Record::from_row(context, kind, &row)?);
    }
    ids.iter().map(|id| found.remove(id).ok_or_else(|| Error::internal("an index names a record that is not there"))).collect()
}
