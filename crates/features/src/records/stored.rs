//! Storage of records: reading, writing and deleting rows of the table `record`, and the links
//! between records. One table stores the records of all kinds, because the platform defines their
//! fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use engine::access::Permission;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::operation::Object;
use engine::values;
use jiff::{Timestamp, ToSpan as _};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use store::{Json, Row};
use uuid::Uuid;

use super::blocks::{self, Position};
use super::facets::{Facets, facets};
use super::{RecordKind, RecordOrigin, photos};

store::statements! {
    /// Selects a whole record by kind and id.
    RECORD = "select id, property_id, doc, created_at, updated_at, origin from record
        where organization_id = ?1 and kind = ?2 and id = ?3";
    /// Selects whole records of a kind by id.
    RECORDS = "select id, property_id, doc, created_at, updated_at, origin from record
        where organization_id = ?1 and kind = ?2 and id = any(?3)";
    /// Selects every record of a kind that the caller can access, in the order of creation.
    ALL_WITHIN_SCOPE = "select id, property_id, doc, created_at, updated_at, origin from record
        where organization_id = ?1 and kind = ?2 and
        (?3 or property_id is null or property_id = any(?4))
        order by created_at, id";
    /// Selects the data of every record of a kind, in the order of creation.
    ALL = "select id, doc from record where organization_id = ?1 and kind = ?2
        order by created_at, id";
    /// Inserts or replaces a record.
    PUT_RECORD = "insert into record (organization_id, kind, id, property_id, created_at,
        updated_at, doc, origin, status, check_in, name_key,
        guest_email, lookup_key)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        on conflict (organization_id, kind, id) do update
        set property_id = excluded.property_id, updated_at = excluded.updated_at,
        doc = excluded.doc, origin = excluded.origin, status = excluded.status,
        check_in = excluded.check_in, name_key = excluded.name_key,
        guest_email = excluded.guest_email, lookup_key = excluded.lookup_key";
    /// Sets `records_at`, the time of the organization's last record change, to `?2`, unless a
    /// later time is stored. Returns the time that is stored afterwards.
    BEGIN_CHANGE = "update organization set records_at = case when records_at is null
        or records_at < ?2 then ?2 else records_at end
        where id = ?1 and erased_at is null returning records_at";
    /// Sets `records_at`, the time of the organization's last record change, to `?2`. A later
    /// `records_at` stays.
    END_CHANGE = "update organization set records_at = ?2 where id = ?1 and records_at < ?2
        and erased_at is null";
    /// Changes the origin of the given reservations from `calendar` to `manual`. Skips reservations
    /// with another origin.
    GIVE_TO_PEOPLE = "update record set origin = 'manual', updated_at = ?3
        where organization_id = ?1 and kind = 'reservation' and id = any(?2)
        and origin = 'calendar'";
    /// Deletes records of a kind.
    DELETE_RECORDS = "delete from record where organization_id = ?1 and kind = ?2 and id = any(?3)";
    /// Selects the sources of links to the given records of a kind.
    LINKED_FROM = "select from_kind, from_id, to_id from record_link where organization_id = ?1
        and to_kind = ?2 and to_id = any(?3)";
    /// Stores a link from a source to a record.
    INSERT_LINK = "insert into record_link (organization_id, from_kind, from_id, to_kind, to_id)
        values (?1, ?2, ?3, ?4, ?5) on conflict do nothing";
    /// Deletes the links whose sources are the given objects of a kind.
    DELETE_LINKS = "delete from record_link where organization_id = ?1 and from_kind = ?2
        and from_id = any(?3)";
    /// Deletes the links to the given records of a kind.
    DELETE_LINKS_TO = "delete from record_link where organization_id = ?1 and to_kind = ?2
        and to_id = any(?3)";
}

/// A row of the table `record`.
#[derive(Debug, Clone)]
pub(crate) struct StoredRecord {
    /// The record's id, unique within its kind.
    pub id: Uuid,
    /// The id of the record's property, if it has one. For a record of the kind `property`, its own
    /// id.
    pub property_id: Option<Uuid>,
    /// The record's data, as JSON text.
    pub doc: String,
    /// The writer of the record: the platform, a person or program of the organization, this
    /// service itself, or a calendar feed.
    pub origin: RecordOrigin,
    /// The columns that lists filter by.
    pub facets: Facets,
    /// Time of creation.
    pub created_at: Moment,
    /// Time of the last change.
    pub updated_at: Moment,
}

/// The fields of a record, each as its stored JSON text. Numbers are not parsed, so they do not
/// lose digits.
type StoredFields = BTreeMap<String, Box<RawValue>>;

/// A record as the read operations return it: `{id, …data, createdAt, updatedAt, origin}`.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Record(StoredFields);

impl JsonSchema for Record {
    fn schema_name() -> Cow<'static, str> {
        "Record".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["id", "createdAt", "updatedAt", "origin"],
            "properties": {
                "id": { "type": "string", "format": "uuid" },
                "createdAt": { "type": "string", "format": "date-time" },
                "updatedAt": { "type": "string", "format": "date-time" },
                "origin": RecordOrigin::view_schema(),
            },
        })
    }
}

impl Record {
    /// Reads a record from the columns `id, property_id, doc, created_at, updated_at, origin`.
    pub(super) fn from_row(context: &Context<'_, '_>, kind: RecordKind, row: &Row) -> Result<Self> {
        let (id, created_at, updated_at): (Uuid, _, _) =
            (row.get(0)?, Moment(row.get(3)?), Moment(row.get(4)?));
        let Json(mut fields): Json<StoredFields> = row.get(2)?;
        if kind == RecordKind::Review {
            complete_review(context, id, &mut fields)?;
        }
        for field in kind.withheld_fields() {
            fields.remove(field);
        }
        fields.insert("id".into(), raw(&id)?);
        fields.insert("createdAt".into(), raw(&created_at)?);
        fields.insert("updatedAt".into(), raw(&updated_at)?);
        fields.insert("origin".into(), raw(&RecordOrigin::from_row(row)?)?);
        Ok(Self(fields))
    }

    /// Returns a field as the given type; `None` if it is missing or of another type.
    pub(crate) fn field<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.0.get(name)?.get()).ok()
    }

    /// Converts the record to the type `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        let text = serde_json::to_string(self).map_err(Error::internal)?;
        serde_json::from_str(&text).map_err(Error::internal)
    }
}

fn raw(value: &impl Serialize) -> Result<Box<RawValue>> {
    to_raw_value(value).map_err(Error::internal)
}

/// Prepares a review for reading: adds signed addresses of the photos, and removes the private part
/// unless the caller has the permission to view analytics.
fn complete_review(context: &Context<'_, '_>, id: Uuid, review: &mut StoredFields) -> Result<()> {
    let keys = review
        .get("photoKeys")
        .and_then(|keys| serde_json::from_str::<Value>(keys.get()).ok());
    review.insert(
        "photoUrls".into(),
        raw(&photos::addresses(context, id, keys.as_ref())?)?,
    );
    for field in ["overallRating", "categoryRatings", "publicText"] {
        if !review.contains_key(field) {
            review.insert(field.into(), raw(&Value::Null)?);
        }
    }
    if !context.access.permissions.has(Permission::ViewAnalytics) {
        review.remove("privateReview");
    }
    Ok(())
}

/// Returns a record if the caller can access it.
pub fn find_record(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    id: Uuid,
) -> Result<Option<Record>> {
    let Some(row) = context.row(&RECORD, values![kind.as_ref(), id])? else {
        return Ok(None);
    };
    if context.property_scope().covers_record(row.get(1)?) {
        Record::from_row(context, kind, &row).map(Some)
    } else {
        Ok(None)
    }
}

/// Returns records of a kind with the given ids. Omits records that the caller cannot access. If a
/// record cannot be decoded, its value in the map is the error.
pub fn find_records(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    ids: Vec<Uuid>,
) -> Result<HashMap<Uuid, Result<Record>>> {
    let mut records = HashMap::new();
    for row in find_rows(context, kind, ids)? {
        if context.property_scope().covers_record(row.get(1)?) {
            records.insert(row.get(0)?, Record::from_row(context, kind, &row));
        }
    }
    Ok(records)
}

/// Returns a record that the caller can access, or 404.
pub fn get_record(context: &mut Context<'_, '_>, kind: RecordKind, id: Uuid) -> Result<Record> {
    find_record(context, kind, id)?.ok_or_else(|| Error::not_found(&kind.label()))
}

/// Returns a record of the organization, deserialized to `T`. Does not check the caller's access.
pub(crate) fn record_as<T: DeserializeOwned>(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    id: Uuid,
) -> Result<Option<T>> {
    let row = context.row(&RECORD, values![kind.as_ref(), id])?;
    Ok(row
        .map(|row| row.get(2).map(|Json(data)| data))
        .transpose()?)
}

/// Returns records of the organization by id, deserialized to `T`. Does not check the caller's
/// access.
pub(crate) fn records_as<T: DeserializeOwned>(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    ids: Vec<Uuid>,
) -> Result<HashMap<Uuid, T>> {
    let rows = find_rows(context, kind, ids)?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(2).map(|Json(data)| data)?)))
        .collect()
}

/// Writes records. Each record may occur only once in the list. Before this call, the calling
/// function must call [`update_block_counts`](super::blocks::update_block_counts) for new records.
pub(crate) fn save_all(
    context: &mut Context<'_, '_>,
    records: Vec<(RecordKind, StoredRecord)>,
) -> Result<()> {
    for (kind, _) in &records {
        note_change(context, *kind);
    }
    let row = |(kind, record): (RecordKind, StoredRecord)| {
        let StoredRecord {
            id,
            property_id,
            doc,
            origin,
            facets:
                Facets {
                    status,
                    check_in,
                    name_key,
                    guest_email,
                    lookup_key,
                },
            created_at,
            updated_at,
        } = record;
        values![
            kind.as_ref(),
            id,
            property_id,
            created_at,
            updated_at,
            store::Value::Json(doc),
            origin.as_ref(),
            status,
            check_in,
            name_key,
            guest_email,
            lookup_key
        ]
    };
    context
        .execute_many(&PUT_RECORD, records.into_iter().map(row).collect())
        .map(drop)
}

/// Returns the `updatedAt` for a change of records. Within an organization this time never goes
/// back, even if a request waited for the lock or the clocks of the nodes differ. So a client that
/// polls with `updatedSince` and the latest time that it has seen misses no change.
///
/// If the clock is behind the last change, each change gets a time one millisecond after the
/// previous change. If many changes had the same time, a client that reads small pages would read
/// the same page again and again.
pub(crate) fn begin_change(context: &mut Context<'_, '_>) -> Result<Timestamp> {
    let now = context.now();
    let Some(row) = context.row(&BEGIN_CHANGE, values![now])? else {
        return Ok(now);
    };
    let last: Timestamp = row.get(0)?;
    if last <= now {
        return Ok(now);
    }
    let next = last.checked_add(1_i64.millisecond()).unwrap_or(last);
    end_change(context, next)?;
    Ok(next)
}

/// Stores the latest `updatedAt` of a change that began with [`begin_change`].
pub(crate) fn end_change(context: &mut Context<'_, '_>, at: Timestamp) -> Result<()> {
    context.execute_deferred(&END_CHANGE, values![at])
}

/// Invalidates cached responses about the configuration if the kind belongs to the configuration.
fn note_change(context: &mut Context<'_, '_>, kind: RecordKind) {
    if !kind.is_stream() {
        context.touch_configuration();
    }
}

/// Inserts a record that the service creates and that refers to no other record.
pub(crate) fn save_record(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    id: Uuid,
    data: Object,
) -> Result<()> {
    add_record(context, kind, id, data, &[])
}

/// Inserts a record that the service creates. `references` lists the records to which its data
/// refers. The calling function has checked that these records exist.
pub(crate) fn add_record(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    id: Uuid,
    data: Object,
    references: &[(RecordKind, Uuid)],
) -> Result<()> {
    let now = context.now();
    let property_id = references
        .iter()
        .find(|(kind, _)| *kind == RecordKind::Property)
        .map(|(_, id)| *id);
    let doc = serde_json::to_string(&data).map_err(Error::internal)?;
    let (created_at, updated_at) = (Moment(now), Moment(begin_change(context)?));
    blocks::update_block_counts(context, kind, vec![(now, id)], &[])?;
    save_all(
        context,
        vec![(
            kind,
            StoredRecord {
                id,
                property_id,
                doc,
                origin: RecordOrigin::Manual,
                facets: facets(kind, &data),
                created_at,
                updated_at,
            },
        )],
    )?;
    link_all(
        context,
        references
            .iter()
            .map(|(to, target)| (kind.into(), id, *to, *target)),
    )
}

/// Replaces the data of a record that has no links to other records.
pub(crate) fn replace_record(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    id: Uuid,
    data: Object,
) -> Result<()> {
    let row = context
        .row(&RECORD, values![kind.as_ref(), id])?
        .ok_or_else(|| Error::not_found(&kind.label()))?;
    let (property_id, created_at, updated_at) =
        (row.get(1)?, Moment(row.get(3)?), Moment(row.get(4)?));
    let origin = RecordOrigin::from_row(&row)?;
    let change_time = begin_change(context)?;
    let updated_at = updated_at.advanced_to(change_time);
    if updated_at.0 > change_time {
        end_change(context, updated_at.0)?;
    }
    let doc = serde_json::to_string(&data).map_err(Error::internal)?;
    save_all(
        context,
        vec![(
            kind,
            StoredRecord {
                id,
                property_id,
                doc,
                origin,
                facets: facets(kind, &data),
                created_at,
                updated_at,
            },
        )],
    )
}

/// Maximum number of records that get the same `updatedAt` in one change. A page of the default
/// size has more records than this, so the last `updatedAt` of a page is later than the first. A
/// client that polls with `updatedSince` therefore advances.
const RECORDS_PER_TIMESTAMP: usize = 10;

/// Changes the origin of reservations from `calendar` to `manual`, so that people can edit the
/// reservations.
pub(crate) fn make_manual(context: &mut Context<'_, '_>, mut ids: Vec<Uuid>) -> Result<()> {
    ids.sort_unstable();
    let mut at = begin_change(context)?;
    for ids in ids.chunks(RECORDS_PER_TIMESTAMP) {
        context.execute_deferred(&GIVE_TO_PEOPLE, values![ids, at])?;
        at = at.checked_add(1_i64.millisecond()).unwrap_or(at);
    }
    end_change(context, at)
}

/// Deletes records of a kind and all links from and to them. The calling function must then call
/// [`update_block_counts`](super::blocks::update_block_counts) for the deleted records.
pub(crate) fn remove_all(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    ids: &[Uuid],
) -> Result<()> {
    context.execute_deferred(&DELETE_RECORDS, values![kind.as_ref(), ids])?;
    note_change(context, kind);
    context.execute_deferred(&DELETE_LINKS, values![kind.as_ref(), ids])?;
    context.execute_deferred(&DELETE_LINKS_TO, values![kind.as_ref(), ids])
}

/// Deletes a record and its links to other records. Returns whether the record existed.
pub(crate) fn remove_record(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    id: Uuid,
) -> Result<bool> {
    let Some(row) = context.row(&RECORD, values![kind.as_ref(), id])? else {
        return Ok(false);
    };
    let position: Position = (row.get(3)?, id);
    context.execute_deferred(&DELETE_RECORDS, values![kind.as_ref(), vec![id]])?;
    note_change(context, kind);
    unlink_all(context, kind.as_ref(), vec![id])?;
    blocks::update_block_counts(context, kind, Vec::new(), &[position])?;
    Ok(true)
}

/// Returns the objects that link to a record, such as steps, each as its kind and its id.
pub(crate) fn link_sources(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    id: Uuid,
) -> Result<Vec<(String, Uuid)>> {
    Ok(link_sources_of_all(context, kind, vec![id])?
        .into_iter()
        .map(|(kind, from, _)| (kind, from))
        .collect())
}

/// Returns the links to some records of a kind: kind and id of the source, and id of the linked
/// record.
pub(crate) fn link_sources_of_all(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    ids: Vec<Uuid>,
) -> Result<Vec<(String, Uuid, Uuid)>> {
    let rows = context.rows(&LINKED_FROM, values![kind.as_ref(), ids])?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .collect()
}

/// Returns every record of a kind in the organization, deserialized to `T`. Does not check the
/// caller's access.
pub(crate) fn all_records<T: DeserializeOwned>(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
) -> Result<Vec<(Uuid, T)>> {
    let rows = context.rows(&ALL, values![kind.as_ref()])?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1).map(|Json(data)| data)?)))
        .collect()
}

/// Stores links. A link has the kind and id of its source, and the kind and id of the linked
/// record. When a linked record is deleted, the service reads these links to update the sources.
pub(crate) fn link_all<'k>(
    context: &mut Context<'_, '_>,
    links: impl Iterator<Item = (&'k str, Uuid, RecordKind, Uuid)>,
) -> Result<()> {
    let rows = links
        .map(|(from_kind, from, to, target)| values![from_kind, from, to.as_ref(), target])
        .collect();
    context.execute_many(&INSERT_LINK, rows).map(drop)
}

/// Deletes all links that lead away from the objects of the kind `from_kind` with the ids `from`.
pub(crate) fn unlink_all(
    context: &mut Context<'_, '_>,
    from_kind: &str,
    from: Vec<Uuid>,
) -> Result<()> {
    context.execute_deferred(&DELETE_LINKS, values![from_kind, from])
}

/// Returns whether the organization has the record. Does not check the caller's access.
pub fn exists(context: &mut Context<'_, '_>, kind: RecordKind, id: Uuid) -> Result<bool> {
    context.exists(&RECORD, values![kind.as_ref(), id])
}

/// Returns the rows of the records of a kind that have these ids. The columns are `id, property_id,
/// doc, created_at, updated_at, origin`.
pub(crate) fn find_rows(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    ids: Vec<Uuid>,
) -> Result<Vec<Row>> {
    context.rows(&RECORDS, values![kind.as_ref(), ids])
}

/// Returns every record of a kind, in the order of creation. Omits records that the caller cannot
/// access.
pub(crate) fn list_all(context: &mut Context<'_, '_>, kind: RecordKind) -> Result<Vec<Record>> {
    let [all, ids] = context.property_scope().parameters();
    let rows = context.rows(&ALL_WITHIN_SCOPE, values![kind.as_ref(), all, ids])?;
    rows.iter()
        .map(|row| Record::from_row(context, kind, row))
        .collect()
}
