//! Records as they are stored and read: one table for every kind, since the platform owns their shapes.

use std::borrow::Cow;
use std::collections::HashMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::{Json, Row};
use uuid::Uuid;

use super::{Kind, photos, within};
use crate::access::Permission;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::moment::Moment;
use crate::operation::{Listing, Object, Page};
use crate::values;

store::statements! {
    /// A record.
    RECORD = "select id, property_id, doc, created_at, updated_at from record where organization_id = ?1 and kind = ?2 and id = ?3";
    /// Records of a kind.
    RECORDS = "select id, property_id, doc, created_at, updated_at from record where organization_id = ?1 and kind = ?2 and id = any(?3)";
    /// A page of the records of a kind within reach.
    PAGE = "select id, property_id, doc, created_at, updated_at from record
        where organization_id = ?1 and kind = ?2 and (?3 or property_id is null or property_id = any(?4))
        order by created_at, id limit ?5 offset ?6";
    /// Every record of a kind.
    ALL = "select id, doc from record where organization_id = ?1 and kind = ?2";
    /// Inserts or replaces a record.
    PUT_RECORD = "insert into record (organization_id, kind, id, property_id, created_at, updated_at, doc) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        on conflict (organization_id, kind, id) do update set property_id = excluded.property_id, updated_at = excluded.updated_at, doc = excluded.doc";
    /// Removes a record.
    DELETE_RECORD = "delete from record where organization_id = ?1 and kind = ?2 and id = ?3";
    /// What names this record.
    LINKED_FROM = "select from_kind, from_id from record_link where organization_id = ?1 and to_kind = ?2 and to_id = ?3";
    /// Notes that something names a record.
    INSERT_LINK = "insert into record_link (organization_id, from_kind, from_id, to_kind, to_id) values (?1, ?2, ?3, ?4, ?5) on conflict do nothing";
    /// Forgets what something names.
    DELETE_LINKS = "delete from record_link where organization_id = ?1 and from_kind = ?2 and from_id = ?3";
    /// How many records of a kind there are.
    COUNT = "select count(*) from record where organization_id = ?1 and kind = ?2";
    /// How many of them are on some properties, or on none.
    COUNT_ON = "select (select count(*) from record where organization_id = ?1 and property_id is null and kind = ?2)
        + (select count(*) from record where organization_id = ?1 and property_id = any(?3) and kind = ?2)";
}

/// A record as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredRecord {
    /// Which one, within its kind.
    pub id: Uuid,
    /// The property it is of; for a property, itself.
    pub property_id: Option<Uuid>,
    /// Its data, as the platform sent it.
    pub data: Object,
    /// When it first came.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
}

impl StoredRecord {
    /// From the columns `id, property_id, doc, created_at, updated_at`.
    pub(super) fn from_row(row: &Row) -> Result<Self> {
        let Json(data) = row.get(2)?;
        Ok(Self { id: row.get(0)?, property_id: row.get(1)?, data, created_at: Moment(row.get(3)?), updated_at: Moment(row.get(4)?) })
    }
}

/// A record as its reads return it: `{id, …data, createdAt, updatedAt}`.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Record(pub Object);

impl JsonSchema for Record {
    fn schema_name() -> Cow<'static, str> {
        "Record".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["id", "createdAt", "updatedAt"],
            "properties": {
                "id": { "type": "string", "format": "uuid" },
                "createdAt": { "type": "string", "format": "date-time" },
                "updatedAt": { "type": "string", "format": "date-time" },
            },
        })
    }
}

impl Record {
    pub(super) fn new(context: &Context<'_, '_>, kind: Kind, stored: StoredRecord) -> Self {
        let StoredRecord { id, data, created_at, updated_at, .. } = stored;
        let mut fields = data;
        if kind == Kind::Review {
            withhold(context, id, &mut fields);
        }
        fields.insert("id".into(), Value::from(id.to_string()));
        fields.insert("createdAt".into(), Value::from(created_at.to_string()));
        fields.insert("updatedAt".into(), Value::from(updated_at.to_string()));
        Self(fields)
    }
}

/// A review shows its private part to those who may see analytics, and the addresses of its photos rather than their keys.
fn withhold(context: &Context<'_, '_>, id: Uuid, review: &mut Object) {
    let keys = review.remove("photoKeys");
    review.insert("photoUrls".into(), Value::Array(photos::addresses(context, id, keys.as_ref())));
    for rating in ["overallRating", "categoryRatings"] {
        review.entry(rating).or_insert(Value::Null);
    }
    if !context.access.permissions.has(Permission::ViewAnalytics) {
        review.remove("privateReview");
    }
}

/// A record that the caller reaches.
pub fn find_record(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<Option<Record>> {
    let stored = find(context, kind, id)?.filter(|stored| context.reach().covers_record(stored.property_id));
    Ok(stored.map(|stored| Record::new(context, kind, stored)))
}

/// Records of a kind that the caller reaches, by their ids. One that does not read is in nobody's way.
pub fn find_records(context: &mut Context<'_, '_>, kind: Kind, ids: Vec<Uuid>) -> Result<HashMap<Uuid, Result<Record>>> {
    let mut found = HashMap::new();
    for row in find_rows(context, kind, ids)? {
        let stored = StoredRecord::from_row(&row);
        if stored.as_ref().is_ok_and(|stored| !context.reach().covers_record(stored.property_id)) {
            continue;
        }
        found.insert(row.get(0)?, stored.map(|stored| Record::new(context, kind, stored)));
    }
    Ok(found)
}

/// A record that the caller reaches, or 404.
pub fn get_record(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<Record> {
    find_record(context, kind, id)?.ok_or_else(|| Error::not_found(&kind.label()))
}

/// A record of the organization, whoever asks, as the type its rules read.
pub(crate) fn typed<T: DeserializeOwned>(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<Option<T>> {
    let Some(stored) = find(context, kind, id)? else { return Ok(None) };
    serde_json::from_value(Value::Object(stored.data)).map(Some).map_err(Error::internal)
}

/// Writes a record.
pub(super) fn save(context: &mut Context<'_, '_>, kind: Kind, record: &StoredRecord) -> Result<()> {
    let doc = store::Value::json(&record.data)?;
    let params = values![kind.name(), record.id, record.property_id, record.created_at, record.updated_at, doc];
    note_change(context, kind);
    context.execute(&PUT_RECORD, params).map(drop)
}

fn note_change(context: &mut Context<'_, '_>, kind: Kind) {
    if !kind.is_stream() {
        context.touch_configuration();
    }
}

/// Makes a record of our own among the platform's.
pub(crate) fn save_record(context: &mut Context<'_, '_>, kind: Kind, id: Uuid, data: Object) -> Result<()> {
    let now = Moment(context.now());
    save(context, kind, &StoredRecord { id, property_id: None, data, created_at: now, updated_at: now })
}

/// Changes the data of a record that names no other.
pub(crate) fn replace_record(context: &mut Context<'_, '_>, kind: Kind, id: Uuid, data: Object) -> Result<()> {
    let stored = find(context, kind, id)?.ok_or_else(|| Error::not_found(&kind.label()))?;
    let updated_at = stored.updated_at.advanced_to(context.now());
    save(context, kind, &StoredRecord { data, updated_at, ..stored })
}

/// Removes a record and what it names; whether it was there.
pub(crate) fn remove_record(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<bool> {
    let is_removed = context.execute(&DELETE_RECORD, values![kind.name(), id])? > 0;
    if is_removed {
        note_change(context, kind);
        unlink_records(context, kind.name(), id)?;
    }
    Ok(is_removed)
}

/// What names a record: the kind of thing it is, and which one.
pub(crate) fn linked_from(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<Vec<(String, Uuid)>> {
    let rows = context.rows(&LINKED_FROM, values![kind.name(), id])?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// Every record of a kind of the organization, whoever asks, as the type its rules read.
pub(crate) fn all_records<T: DeserializeOwned>(context: &mut Context<'_, '_>, kind: Kind) -> Result<Vec<(Uuid, T)>> {
    let rows = context.rows(&ALL, values![kind.name()])?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1).map(|Json(data)| data)?))).collect()
}

/// Notes which records something names: when one of them is deleted, what names it is told.
pub(crate) fn link_records(context: &mut Context<'_, '_>, from_kind: &str, from: Uuid, named: &[(Kind, Uuid)]) -> Result<()> {
    for (to, target) in named {
        context.execute(&INSERT_LINK, values![from_kind, from, to.name(), *target])?;
    }
    Ok(())
}

/// Forgets which records something names.
pub(crate) fn unlink_records(context: &mut Context<'_, '_>, from_kind: &str, from: Uuid) -> Result<()> {
    context.execute(&DELETE_LINKS, values![from_kind, from]).map(drop)
}

/// Whether the organization has the record.
pub(crate) fn exists(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<bool> {
    context.exists(&RECORD, values![kind.name(), id])
}

/// A record of the organization, whoever asks.
pub(super) fn find(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<Option<StoredRecord>> {
    context.row(&RECORD, values![kind.name(), id])?.as_ref().map(StoredRecord::from_row).transpose()
}

/// The rows of records of a kind, as [`StoredRecord::from_row`] reads them.
pub(super) fn find_rows(context: &mut Context<'_, '_>, kind: Kind, ids: Vec<Uuid>) -> Result<Vec<Row>> {
    context.rows(&RECORDS, values![kind.name(), ids])
}

/// A page of the records of a kind that the caller reaches, by creation.
pub(super) fn list(context: &mut Context<'_, '_>, kind: Kind, page: Page) -> Result<Listing<Record>> {
    if let Some(listing) = within::list(context, kind, page)? {
        return Ok(listing);
    }
    let [all, ids] = context.reach().parameters();
    let counted = if context.reach().is_limited() {
        context.row(&COUNT_ON, values![kind.name(), ids.clone()])?
    } else {
        context.row(&COUNT, values![kind.name()])?
    };
    let total = counted.map_or(Ok(0), |row| row.get(0))?;
    let rows = context.rows(&PAGE, values![kind.name(), all, ids, page.limit, page.offset])?;
    let items = rows.iter().map(|row| Ok(Record::new(context, kind, StoredRecord::from_row(row)?))).collect::<Result<_>>()?;
    Ok(Listing { items, total })
}

/// Every record of a kind that the caller reaches.
pub(crate) fn list_all(context: &mut Context<'_, '_>, kind: Kind) -> Result<Vec<Record>> {
    let mut records = list(context, kind, Page { limit: u32::MAX, offset: 0 })?.items;
    if kind == Kind::Instruction {
        within::retain_visible(context, &mut records)?;
    }
    Ok(records)
}
