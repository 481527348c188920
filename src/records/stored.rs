//! Records as they are stored and read: one table for every kind, since the platform owns their shapes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use engine::access::Permission;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::operation::Object;
use engine::values;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use store::{Json, Row};
use uuid::Uuid;

use super::blocks::{self, Position};
use super::facets::{Facets, facets};
use super::{Kind, photos};

store::statements! {
    /// A record.
    RECORD = "select id, property_id, doc, created_at, updated_at from record where organization_id = ?1 and kind = ?2 and id = ?3";
    /// Records of a kind.
    RECORDS = "select id, property_id, doc, created_at, updated_at from record where organization_id = ?1 and kind = ?2 and id = any(?3)";
    /// Every record of a kind within reach, by creation.
    ALL_WITHIN_REACH = "select id, property_id, doc, created_at, updated_at from record
        where organization_id = ?1 and kind = ?2 and (?3 or property_id is null or property_id = any(?4))
        order by created_at, id";
    /// Every record of a kind.
    ALL = "select id, doc from record where organization_id = ?1 and kind = ?2";
    /// Inserts or replaces a record.
    PUT_RECORD = "insert into record (organization_id, kind, id, property_id, created_at, updated_at, doc, status, check_in, name_key)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        on conflict (organization_id, kind, id) do update set property_id = excluded.property_id, updated_at = excluded.updated_at,
        doc = excluded.doc, status = excluded.status, check_in = excluded.check_in, name_key = excluded.name_key";
    /// Removes records of a kind.
    DELETE_RECORDS = "delete from record where organization_id = ?1 and kind = ?2 and id = any(?3)";
    /// What names these records of a kind.
    LINKED_FROM = "select from_kind, from_id, to_id from record_link where organization_id = ?1 and to_kind = ?2 and to_id = any(?3)";
    /// Notes that something names a record.
    INSERT_LINK = "insert into record_link (organization_id, from_kind, from_id, to_kind, to_id) values (?1, ?2, ?3, ?4, ?5) on conflict do nothing";
    /// Forgets what these things of a kind name.
    DELETE_LINKS = "delete from record_link where organization_id = ?1 and from_kind = ?2 and from_id = any(?3)";
    /// Forgets that anything names these records of a kind.
    DELETE_LINKS_TO = "delete from record_link where organization_id = ?1 and to_kind = ?2 and to_id = any(?3)";
}

/// A record as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredRecord {
    /// Which one, within its kind.
    pub id: Uuid,
    /// The property it is of; for a property, itself.
    pub property_id: Option<Uuid>,
    /// Its data, as JSON text.
    pub doc: String,
    /// What lists of its kind are filtered by.
    pub facets: Facets,
    /// When it first came.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
}

/// The fields of a record, each the JSON text that it is stored as: numbers are not read on the way.
type Fields = BTreeMap<String, Box<RawValue>>;

/// A record as its reads return it: `{id, …data, createdAt, updatedAt}`.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Record(Fields);

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
    /// From the columns `id, property_id, doc, created_at, updated_at`.
    pub(super) fn from_row(context: &Context<'_, '_>, kind: Kind, row: &Row) -> Result<Self> {
        let (id, created_at, updated_at): (Uuid, _, _) = (row.get(0)?, Moment(row.get(3)?), Moment(row.get(4)?));
        let Json(mut fields): Json<Fields> = row.get(2)?;
        if kind == Kind::Review {
            complete_review(context, id, &mut fields)?;
        }
        for field in kind.withheld() {
            fields.remove(field);
        }
        fields.insert("id".into(), raw(&id)?);
        fields.insert("createdAt".into(), raw(&created_at)?);
        fields.insert("updatedAt".into(), raw(&updated_at)?);
        Ok(Self(fields))
    }

    /// One of its fields as a type, where it is there and is of that.
    pub(crate) fn field<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.0.get(name)?.get()).ok()
    }

    /// The record as the type that somebody reads of it.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        let text = serde_json::to_string(self).map_err(Error::internal)?;
        serde_json::from_str(&text).map_err(Error::internal)
    }
}

fn raw(value: &impl Serialize) -> Result<Box<RawValue>> {
    to_raw_value(value).map_err(Error::internal)
}

/// A review shows its private part to those who may see analytics, and the addresses of its photos rather than their keys.
fn complete_review(context: &Context<'_, '_>, id: Uuid, review: &mut Fields) -> Result<()> {
    let keys = review.get("photoKeys").and_then(|keys| serde_json::from_str::<Value>(keys.get()).ok());
    review.insert("photoUrls".into(), raw(&photos::addresses(context, id, keys.as_ref())?)?);
    for rating in ["overallRating", "categoryRatings"] {
        if !review.contains_key(rating) {
            review.insert(rating.into(), raw(&Value::Null)?);
        }
    }
    if !context.access.permissions.has(Permission::ViewAnalytics) {
        review.remove("privateReview");
    }
    Ok(())
}

/// A record that the caller reaches.
pub fn find_record(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<Option<Record>> {
    let Some(row) = context.row(&RECORD, values![kind.as_ref(), id])? else { return Ok(None) };
    if context.reach().covers_record(row.get(1)?) { Record::from_row(context, kind, &row).map(Some) } else { Ok(None) }
}

/// Records of a kind that the caller reaches, by their ids. One that does not read is in nobody's way.
pub fn find_records(context: &mut Context<'_, '_>, kind: Kind, ids: Vec<Uuid>) -> Result<HashMap<Uuid, Result<Record>>> {
    let mut found = HashMap::new();
    for row in find_rows(context, kind, ids)? {
        if context.reach().covers_record(row.get(1)?) {
            found.insert(row.get(0)?, Record::from_row(context, kind, &row));
        }
    }
    Ok(found)
}

/// A record that the caller reaches, or 404.
pub fn get_record(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<Record> {
    find_record(context, kind, id)?.ok_or_else(|| Error::not_found(&kind.label()))
}

/// A record of the organization, whoever asks, as the type its rules read.
pub(crate) fn typed<T: DeserializeOwned>(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<Option<T>> {
    let row = context.row(&RECORD, values![kind.as_ref(), id])?;
    Ok(row.map(|row| row.get(2).map(|Json(data)| data)).transpose()?)
}

/// Records of the organization, whoever asks, as the type their rules read.
pub(crate) fn typed_among<T: DeserializeOwned>(context: &mut Context<'_, '_>, kind: Kind, ids: Vec<Uuid>) -> Result<HashMap<Uuid, T>> {
    let rows = find_rows(context, kind, ids)?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(2).map(|Json(data)| data)?))).collect()
}

/// Writes records, none of them twice. Those that are new have been noted in the blocks.
pub(crate) fn save_all(context: &mut Context<'_, '_>, records: Vec<(Kind, StoredRecord)>) -> Result<()> {
    for (kind, _) in &records {
        note_change(context, *kind);
    }
    let row = |(kind, record): (Kind, StoredRecord)| {
        let StoredRecord { id, property_id, doc, facets: Facets { status, check_in, name_key }, created_at, updated_at } = record;
        values![kind.as_ref(), id, property_id, created_at, updated_at, store::Value::Json(doc), status, check_in, name_key]
    };
    context.execute_many(&PUT_RECORD, records.into_iter().map(row).collect()).map(drop)
}

fn note_change(context: &mut Context<'_, '_>, kind: Kind) {
    if !kind.is_stream() {
        context.touch_configuration();
    }
}

/// Makes a record of our own among the platform's.
pub(crate) fn save_record(context: &mut Context<'_, '_>, kind: Kind, id: Uuid, data: Object) -> Result<()> {
    let now = context.now();
    let doc = serde_json::to_string(&data).map_err(Error::internal)?;
    let (created_at, updated_at) = (Moment(now), Moment(now));
    blocks::note(context, kind, vec![(now, id)], &[])?;
    save_all(context, vec![(kind, StoredRecord { id, property_id: None, doc, facets: facets(kind, &data), created_at, updated_at })])
}

/// Changes the data of a record that names no other.
pub(crate) fn replace_record(context: &mut Context<'_, '_>, kind: Kind, id: Uuid, data: Object) -> Result<()> {
    let row = context.row(&RECORD, values![kind.as_ref(), id])?.ok_or_else(|| Error::not_found(&kind.label()))?;
    let (property_id, created_at, updated_at) = (row.get(1)?, Moment(row.get(3)?), Moment(row.get(4)?));
    let updated_at = updated_at.advanced_to(context.now());
    let doc = serde_json::to_string(&data).map_err(Error::internal)?;
    save_all(context, vec![(kind, StoredRecord { id, property_id, doc, facets: facets(kind, &data), created_at, updated_at })])
}

/// Removes records of a kind, what they name and who names them. The blocks are told by the caller.
pub(crate) fn remove_all(context: &mut Context<'_, '_>, kind: Kind, ids: &[Uuid]) -> Result<()> {
    context.execute_along(&DELETE_RECORDS, values![kind.as_ref(), ids])?;
    note_change(context, kind);
    context.execute_along(&DELETE_LINKS, values![kind.as_ref(), ids])?;
    context.execute_along(&DELETE_LINKS_TO, values![kind.as_ref(), ids])
}

/// Removes a record and what it names; whether it was there.
pub(crate) fn remove_record(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<bool> {
    let Some(row) = context.row(&RECORD, values![kind.as_ref(), id])? else { return Ok(false) };
    let place: Position = (row.get(3)?, id);
    context.execute_along(&DELETE_RECORDS, values![kind.as_ref(), vec![id]])?;
    note_change(context, kind);
    unlink_all(context, kind.as_ref(), vec![id])?;
    blocks::note(context, kind, Vec::new(), &[place])?;
    Ok(true)
}

/// What names a record: the kind of thing it is, and which one.
pub(crate) fn linked_from(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<Vec<(String, Uuid)>> {
    Ok(linked_from_among(context, kind, vec![id])?.into_iter().map(|(kind, from, _)| (kind, from)).collect())
}

/// What names some records of a kind: the kind of thing it is, which one, and which of them it names.
pub(crate) fn linked_from_among(context: &mut Context<'_, '_>, kind: Kind, ids: Vec<Uuid>) -> Result<Vec<(String, Uuid, Uuid)>> {
    let rows = context.rows(&LINKED_FROM, values![kind.as_ref(), ids])?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).collect()
}

/// Every record of a kind of the organization, whoever asks, as the type its rules read.
pub(crate) fn all_records<T: DeserializeOwned>(context: &mut Context<'_, '_>, kind: Kind) -> Result<Vec<(Uuid, T)>> {
    let rows = context.rows(&ALL, values![kind.as_ref()])?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1).map(|Json(data)| data)?))).collect()
}

/// Notes which records things name: when one of them is deleted, what names it is told.
pub(crate) fn link_all<'k>(context: &mut Context<'_, '_>, links: impl Iterator<Item = (&'k str, Uuid, Kind, Uuid)>) -> Result<()> {
    let rows = links.map(|(from_kind, from, to, target)| values![from_kind, from, to.as_ref(), target]).collect();
    context.execute_many(&INSERT_LINK, rows).map(drop)
}

/// Forgets which records things name.
pub(crate) fn unlink_all(context: &mut Context<'_, '_>, from_kind: &str, from: Vec<Uuid>) -> Result<()> {
    context.execute_along(&DELETE_LINKS, values![from_kind, from])
}

/// Whether the organization has the record.
pub(crate) fn exists(context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<bool> {
    context.exists(&RECORD, values![kind.as_ref(), id])
}

/// The rows of records of a kind: `id, property_id, doc, created_at, updated_at`.
pub(crate) fn find_rows(context: &mut Context<'_, '_>, kind: Kind, ids: Vec<Uuid>) -> Result<Vec<Row>> {
    context.rows(&RECORDS, values![kind.as_ref(), ids])
}

/// Every record of a kind that the caller reaches, by creation.
pub(crate) fn list_all(context: &mut Context<'_, '_>, kind: Kind) -> Result<Vec<Record>> {
    let [all, ids] = context.reach().parameters();
    let rows = context.rows(&ALL_WITHIN_REACH, values![kind.as_ref(), all, ids])?;
    rows.iter().map(|row| Record::from_row(context, kind, row)).collect()
}
