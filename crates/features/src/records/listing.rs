//! Lists of records, ordered by creation: the ids on a page, and the total.
//!
//! A list reads the ids and the total from an index alone, and then reads the records of the page
//! by id. An unfiltered list of a kind costs the same at every offset ([`super::blocks`]). A
//! filtered list walks the index of its most selective filter: property, else check-in day, else
//! status. For each of these indexes there is a pair of statements below: `COUNT_…` returns the
//! total, and `PAGE_…` returns the ids on a page.

use std::collections::HashMap;

use engine::access::PropertyScope;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::operation::{Listing, Page};
use engine::values;
use jiff::Timestamp;
use store::{Row, Statement, Value};
use uuid::Uuid;

use super::blocks::{self, PageStart};
use super::facets::reference_pattern;
use super::stored::{self, Record};
use super::{RecordKind, visibility};

/// The beginning of every statement with filters. `?4` is the status, and `?6` to `?8` are name
/// patterns. `?3` is true if the list has no filter by status, and `?5` is true if it has no filter
/// by name.
macro_rules! select {
    ($what:literal, $($rest:literal),*) => {
        concat!(
            "select ", $what, " from record where organization_id = ?1 and kind = ?2
                and (?3 or status = ?4)
                and (?5 or (name_key like ?6 escape '!' and name_key like ?7 escape '!'
                and name_key like ?8 escape '!'))",
            $($rest),*
        )
    };
}

/// Builds a statement that selects `$what` of the records of the properties `?12` and, if `?13` is
/// true, of the records without a property. Unless `?9` is true, the statement omits records whose
/// check-in is not between the days `?10` and `?11`.
macro_rules! on {
    ($what:literal) => {
        concat!(
            select!(
                $what,
                " and (?9 or (check_in >= ?10 and check_in <= ?11)) and property_id = any(?12)"
            ),
            " union all ",
            select!(
                $what,
                " and (?9 or (check_in >= ?10 and check_in <= ?11)) and property_id is null and ?13"
            )
        )
    };
}

store::statements! {
    /// Selects the ids of records of a kind, beginning at a position, in the order of creation,
    /// then by id.
    FOLLOWING = "select id from record where organization_id = ?1 and kind = ?2
        and (created_at, id) >= (?3, ?4)
        order by created_at, id limit ?5 offset ?6";
    /// Counts the records of a kind.
    COUNT = select!("count(*)",);
    /// Selects a page of records of a kind.
    PAGE = select!("id", " order by created_at, id limit ?9 offset ?10");
    /// Counts the records of a kind with the status `?9`.
    COUNT_STANDING = select!("count(*)", " and status = ?9");
    /// Selects a page of records with a status.
    PAGE_STANDING = select!("id", " and status = ?9 order by created_at, id limit ?10 offset ?11");
    /// Counts the reservations whose check-in is between two days, or on one of them.
    COUNT_COMING = select!("count(*)", " and check_in >= ?9 and check_in <= ?10");
    /// Selects a page of the reservations whose check-in is between two days, or on one of them.
    /// `materialized` makes SQLite find the reservations by day and sort them afterwards. Otherwise
    /// SQLite would walk through all records in order.
    PAGE_COMING = concat!(
        "with found as materialized (",
        select!("id, created_at", " and check_in >= ?9 and check_in <= ?10"),
        ") select id from found order by created_at, id limit ?11 offset ?12"
    );
    /// Counts the records of the given properties.
    COUNT_ON = concat!("select count(*) from (", on!("id"), ") as found");
    /// Selects a page of records of the given properties.
    PAGE_ON = concat!("select id from (", on!("id, created_at"), ") as found order by created_at, id
        limit ?14 offset ?15");
    /// Counts those records with the ids `?9` that match all other filters and that the caller can
    /// access.
    COUNT_THESE = select!("count(*)", " and id = any(?9)
        and (?10 or property_id = any(?11) or property_id is null)
        and (?12 or property_id = ?13) and (?14 or (check_in >= ?15 and check_in <= ?16))");
    /// Selects a page of the records with the ids `?9`, without the records that the caller cannot
    /// access.
    PAGE_THESE = select!("id", " and id = any(?9) and
        (?10 or property_id = any(?11) or property_id is null)
        and (?12 or property_id = ?13) and (?14 or (check_in >= ?15 and check_in <= ?16))
        order by created_at, id limit ?17 offset ?18");
    /// Counts the properties that match all filters: a name, a group and a tag. Each filter can be
    /// absent.
    COUNT_PROPERTIES = select!("count(*)", " and (?9 or property_id = any(?10))
        and (?11 or exists (select 1 from record_link l where l.organization_id = ?1
        and l.to_kind = 'property_group' and l.to_id = ?12
            and l.from_kind = 'property' and l.from_id = record.id))
        and (?13 or exists (select 1 from record_link l where l.organization_id = ?1
        and l.to_kind = 'tag' and l.to_id = ?14
            and l.from_kind = 'property' and l.from_id = record.id))");
    /// Selects a page of the properties that the caller can access and that match all filters: a
    /// name, a group and a tag. Each filter can be absent.
    PAGE_PROPERTIES = select!("id", " and (?9 or property_id = any(?10))
        and (?11 or exists (select 1 from record_link l where l.organization_id = ?1
        and l.to_kind = 'property_group' and l.to_id = ?12
            and l.from_kind = 'property' and l.from_id = record.id))
        and (?13 or exists (select 1 from record_link l where l.organization_id = ?1
        and l.to_kind = 'tag' and l.to_id = ?14
            and l.from_kind = 'property' and l.from_id = record.id))
        order by created_at, id limit ?15 offset ?16");
    /// Counts the records that changed at or after a time.
    COUNT_SINCE = select!("count(*)", " and updated_at >= ?9
        and (?10 or property_id is null or property_id = any(?11))
        and (?12 or property_id = ?13) and (?14 or (check_in >= ?15 and check_in <= ?16))
        and (?17 or id = any(?18))");
    /// Selects a page of records that changed at or after a time, ordered by the time of the
    /// change.
    PAGE_SINCE = select!("id", " and updated_at >= ?9
        and (?10 or property_id is null or property_id = any(?11))
        and (?12 or property_id = ?13) and (?14 or (check_in >= ?15 and check_in <= ?16))
        and (?17 or id = any(?18))
        order by updated_at, id limit ?19 offset ?20");
    /// Selects the properties in a group, or with a tag.
    LINKED = "select from_id from record_link where organization_id = ?1 and from_kind = 'property'
        and to_kind = ?2 and to_id = ?3";
    /// Selects the records of a kind whose lookup key matches the pattern `?3`. The lookup key
    /// contains the references of a record, such as booking codes.
    REFERRED = "select id from record where organization_id = ?1 and kind = ?2
        and lookup_key like ?3 escape '!' order by id limit ?4";
}

/// Maximum number of records that a search by a reference returns.
const MAX_REFERENCE_HITS: i64 = 200;

/// The filters of a list of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// Only records with these ids.
    pub among: Option<Vec<Uuid>>,
    /// Patterns of names, as [`super::facets::name_patterns`] builds them.
    pub name: Option<[String; 3]>,
    /// Only records that belong to this property.
    pub property: Option<Uuid>,
    /// Only records with this status.
    pub status: Option<String>,
    /// Only reservations that check in on this day or later.
    pub from: Option<String>,
    /// Only reservations that check in on this day or earlier.
    pub to: Option<String>,
    /// Only records that changed at or after this time. The list is then ordered by time of change.
    pub since: Option<Timestamp>,
}

/// The filters of a list of properties.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PropertyFilter {
    /// Patterns of names, as [`super::facets::name_patterns`] builds them.
    pub name: Option<[String; 3]>,
    /// Only properties in this group.
    pub group: Option<Uuid>,
    /// Only properties with this tag.
    pub tag: Option<Uuid>,
    /// Only properties that changed at or after this time. The list is then ordered by time of
    /// change.
    pub since: Option<Timestamp>,
}

/// Returns the three name patterns as statement parameters. Returns three empty texts if the list
/// has no filter by name; the statement then ignores them.
fn pattern_parameters(patterns: Option<&[String; 3]>) -> [&str; 3] {
    patterns.map_or([""; 3], |patterns| patterns.each_ref().map(String::as_str))
}

/// The values that stand for a missing first day and a missing last day in a filter by check-in
/// day. Days are compared as texts: the first value sorts before every date, the second after every
/// date.
const DAYS: (&str, &str) = ("", "~");

/// Returns three parameters of a statement: whether the list has no filter by check-in day, the
/// first check-in day, and the last check-in day.
fn day_parameters(filter: &Filter) -> [Value; 3] {
    values![
        filter.from.is_none() && filter.to.is_none(),
        filter.from.as_deref().unwrap_or(DAYS.0),
        filter.to.as_deref().unwrap_or(DAYS.1)
    ]
}

/// The statements of a list and their parameters. `count` counts the records, and `page` returns
/// the ids on a page. After `params`, `page` takes limit and offset as two more parameters.
struct ListQuery {
    count: &'static Statement,
    page: &'static Statement,
    params: Vec<Value>,
}

impl ListQuery {
    /// Builds the parameters of the two statements of a list. The first parameters of every such
    /// statement are the kind, the status and the name. The parameters in `others` follow them.
    fn new(
        (count, page): (&'static Statement, &'static Statement),
        kind: RecordKind,
        status: Option<&str>,
        name: Option<&[String; 3]>,
        others: impl IntoIterator<Item = Value>,
    ) -> Self {
        let status = values![status.is_none(), status.unwrap_or_default()];
        let mut params = vec![Value::from(kind.as_ref())];
        params.extend(status);
        params.push(name.is_none().into());
        params.extend(pattern_parameters(name).map(Value::from));
        params.extend(others);
        Self {
            count,
            page,
            params,
        }
    }

    /// Builds the query for the records that match a filter and that a caller can access.
    fn filtered(kind: RecordKind, filter: &Filter, property_scope: &PropertyScope) -> Self {
        let (status, name, property) = (
            filter.status.as_deref(),
            filter.name.as_ref(),
            filter.property,
        );
        let asks_for_days = filter.from.is_some() || filter.to.is_some();
        let [any_day, first, last] = day_parameters(filter);
        if let Some(ids) = &filter.among {
            let [all, scope_ids] = property_scope.parameters();
            let (any_property, property) = (property.is_none(), property.unwrap_or_default());
            let others = values![
                ids.clone(),
                all,
                scope_ids,
                any_property,
                property,
                any_day,
                first,
                last
            ];
            return Self::new((&COUNT_THESE, &PAGE_THESE), kind, status, name, others);
        }
        // Every caller can access records that belong to no property. So a list for a limited
        // caller includes these records (`or_none`). A list that is filtered by a property omits
        // them.
        let (on, or_none) = match (property_scope, property) {
            (PropertyScope::Everything, None) if asks_for_days => {
                let others = [first, last];
                return Self::new((&COUNT_COMING, &PAGE_COMING), kind, status, name, others);
            }
            (PropertyScope::Everything, None) => {
                return match status {
                    Some(status) => {
                        let others = values![status];
                        Self::new((&COUNT_STANDING, &PAGE_STANDING), kind, None, name, others)
                    }
                    None => Self::new((&COUNT, &PAGE), kind, None, name, []),
                };
            }
            (property_scope, Some(property)) if property_scope.covers(property) => {
                (vec![property], false)
            }
            (_, Some(_)) => (Vec::new(), false),
            (PropertyScope::Properties(ids), None) => (ids.iter().copied().collect(), true),
        };
        let others = values![any_day, first, last, on, or_none];
        Self::new((&COUNT_ON, &PAGE_ON), kind, status, name, others)
    }

    /// Returns a page of the list, and the total number of records in the list.
    fn run(
        self,
        context: &mut Context<'_, '_>,
        kind: RecordKind,
        page: Page,
    ) -> Result<Listing<Record>> {
        let Self {
            count,
            page: statement,
            mut params,
        } = self;
        let total = context.rows_by(count, params.clone())?;
        let total: i64 = total.first().map_or(Ok(0), |row| row.get(0))?;
        params.extend(values![page.limit, page.offset]);
        let rows = context.rows_by(statement, params)?;
        Ok(Listing {
            items: records_in_order(context, kind, &rows)?,
            total,
        })
    }
}

/// Returns a page of a kind's records, in the order of creation. Omits records that the caller
/// cannot access.
pub(super) fn list(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    filter: &Filter,
    page: Page,
) -> Result<Listing<Record>> {
    if let Some(since) = filter.since {
        return changed(context, kind, filter, since, page);
    }
    if *filter == Filter::default() {
        if let Some(listing) = visibility::list(context, kind, page)? {
            return Ok(listing);
        }
        if !context.property_scope().is_limited() {
            return whole(context, kind, page);
        }
    }
    ListQuery::filtered(kind, filter, context.property_scope()).run(context, kind, page)
}

/// Returns a page of all records of a kind, in the order of creation.
fn whole(context: &mut Context<'_, '_>, kind: RecordKind, page: Page) -> Result<Listing<Record>> {
    let PageStart {
        from,
        skipped,
        total,
    } = blocks::start(context, kind, page.offset)?;
    let items = if page.offset >= total {
        Vec::new()
    } else {
        let params = values![kind.as_ref(), from.0, from.1, page.limit, skipped];
        let rows = context.rows(&FOLLOWING, params)?;
        records_in_order(context, kind, &rows)?
    };
    Ok(Listing { items, total })
}

/// Returns a page of the records that changed at or after `since`, ordered by the time of the last
/// change, then by id. Omits records that the caller cannot access.
fn changed(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    filter: &Filter,
    since: Timestamp,
    page: Page,
) -> Result<Listing<Record>> {
    let mut among = filter.among.clone();
    if let Some(visible) = visibility::visible_record_ids(context, kind)? {
        among = Some(match among {
            Some(ids) => ids.into_iter().filter(|id| visible.contains(id)).collect(),
            None => visible.into_iter().collect(),
        });
    }
    let [all, scope_ids] = context.property_scope().parameters();
    let [any_day, first, last] = day_parameters(filter);
    let (any_property, property) = (
        filter.property.is_none(),
        filter.property.unwrap_or_default(),
    );
    let (any_id, among) = (among.is_none(), among.unwrap_or_default());
    let others = values![
        since,
        all,
        scope_ids,
        any_property,
        property,
        any_day,
        first,
        last,
        any_id,
        among
    ];
    let (status, name) = (filter.status.as_deref(), filter.name.as_ref());
    ListQuery::new((&COUNT_SINCE, &PAGE_SINCE), kind, status, name, others).run(context, kind, page)
}

/// Returns the ids of the records whose id or reference matches a query. Returns `None` if no
/// record matches. The calling function then searches by name.
pub(crate) fn find_by_reference(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    query: &str,
) -> Result<Option<Vec<Uuid>>> {
    let query = query.trim();
    if engine::format::is_uuid(query)
        && let Ok(id) = query.parse::<Uuid>()
        && stored::exists(context, kind, id)?
    {
        return Ok(Some(vec![id]));
    }
    let Some(pattern) = reference_pattern(query) else {
        return Ok(None);
    };
    let rows = context.rows(
        &REFERRED,
        values![kind.as_ref(), pattern, MAX_REFERENCE_HITS],
    )?;
    let ids = rows
        .iter()
        .map(|row| Ok(row.get(0)?))
        .collect::<Result<Vec<Uuid>>>()?;
    Ok(Some(ids).filter(|ids| !ids.is_empty()))
}

/// Returns the ids that are in both lists. For `ids`, `None` means all ids, so the result is
/// `others`.
pub(super) fn intersect_ids(ids: Option<Vec<Uuid>>, others: Vec<Uuid>) -> Vec<Uuid> {
    match ids {
        Some(ids) => ids.into_iter().filter(|id| others.contains(id)).collect(),
        None => others,
    }
}

/// Returns the ids of the properties in a group, or with a tag.
fn linked(context: &mut Context<'_, '_>, kind: RecordKind, id: Uuid) -> Result<Vec<Uuid>> {
    let rows = context.rows(&LINKED, values![kind.as_ref(), id])?;
    rows.iter().map(|row| Ok(row.get(0)?)).collect()
}

/// Returns a page of the properties that changed at or after a time, ordered by the time of the
/// change.
fn changed_properties(
    context: &mut Context<'_, '_>,
    filter: &PropertyFilter,
    mut among: Option<Vec<Uuid>>,
    page: Page,
) -> Result<Listing<Record>> {
    let links = [
        (RecordKind::PropertyGroup, filter.group),
        (RecordKind::Tag, filter.tag),
    ];
    for (kind, id) in links {
        if let Some(id) = id {
            let linked = linked(context, kind, id)?;
            among = Some(intersect_ids(among, linked));
        }
    }
    let filter = Filter {
        among,
        name: filter.name.clone(),
        since: filter.since,
        ..Filter::default()
    };
    list(context, RecordKind::Property, &filter, page)
}

/// Returns a page of the properties that the caller can access, in the order of creation. With
/// `only`, the list contains only properties with these ids.
pub(super) fn properties(
    context: &mut Context<'_, '_>,
    filter: &PropertyFilter,
    only: Option<Vec<Uuid>>,
    page: Page,
) -> Result<Listing<Record>> {
    let among: Option<Vec<Uuid>> = only.map(|ids| {
        ids.into_iter()
            .filter(|id| context.property_scope().covers(*id))
            .collect()
    });
    if filter.since.is_some() {
        return changed_properties(context, filter, among, page);
    }
    match &among {
        Some(ids) if *filter == PropertyFilter::default() => {
            return visibility::properties(context, ids, page);
        }
        None if *filter == PropertyFilter::default() => {
            return list(context, RecordKind::Property, &Filter::default(), page);
        }
        _ => {}
    }
    let [all, ids] = among.map_or_else(
        || context.property_scope().parameters(),
        |ids| [false.into(), ids.into()],
    );
    let PropertyFilter {
        name, group, tag, ..
    } = filter;
    let (any_group, group) = (group.is_none(), group.unwrap_or_default());
    let (any_tag, tag) = (tag.is_none(), tag.unwrap_or_default());
    let others = values![all, ids, any_group, group, any_tag, tag];
    let (statements, kind) = ((&COUNT_PROPERTIES, &PAGE_PROPERTIES), RecordKind::Property);
    ListQuery::new(statements, kind, None, name.as_ref(), others).run(context, kind, page)
}

/// Reads the records whose ids are in the first column of `rows`. The result has the order of
/// `rows`.
fn records_in_order(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    rows: &[Row],
) -> Result<Vec<Record>> {
    let ids = rows
        .iter()
        .map(|row| Ok(row.get(0)?))
        .collect::<Result<Vec<Uuid>>>()?;
    let mut records_by_id = HashMap::with_capacity(ids.len());
    for row in stored::find_rows(context, kind, ids.clone())? {
        records_by_id.insert(row.get::<Uuid>(0)?, Record::from_row(context, kind, &row)?);
    }
    ids.iter()
        .map(|id| {
            records_by_id
                .remove(id)
                .ok_or_else(|| Error::internal("an index names a record that does not exist"))
        })
        .collect()
}
