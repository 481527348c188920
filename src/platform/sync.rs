//! Sync: the platform pushes records, all or nothing, and what changed becomes events.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::records::{self, StoredRecord, link_records, remove_record, unlink_records};
use super::{Kind, Property};
use crate::access;
use crate::context::Context;
use crate::error::{Error, Issue, Result, Step};
use crate::events::{self, Change};
use crate::moment::Moment;
use crate::operation::{Object, Operation};
use crate::{guest, manuals, portals, precheck, scopes, values};

/// Records in one request at the most.
pub const MAX_RECORDS: usize = 10_000;
/// 16 MiB: the greatest body of a sync.
const BODY_LIMIT: usize = 16 << 20;
/// How long a full batch may take on a slow disk.
const PATIENCE: Duration = Duration::from_secs(120);

store::statements! {
    /// The stay token of a new reservation.
    INSERT_GUEST_LINK = "insert into guest_link (organization_id, reservation_id, token) values (?1, ?2, ?3) on conflict do nothing";
    /// Closes the stay of a deleted reservation.
    DELETE_GUEST_LINK = "delete from guest_link where organization_id = ?1 and reservation_id = ?2";
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Sync {
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    #[serde(default)]
    is_initial_sync: Option<bool>,
    records: Vec<SyncRecord>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SyncRecord {
    kind: Kind,
    id: Uuid,
    #[serde(default)]
    data: Option<Object>,
    #[serde(default)]
    is_deleted: Option<bool>,
}

impl JsonSchema for Sync {
    fn schema_name() -> Cow<'static, str> {
        "Sync".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // A branch a kind, so that a failing field is reported where it stands and not as "none of 23 shapes".
        let shapes: Vec<Value> = Kind::ALL
            .into_iter()
            .map(|kind| {
                json!({
                    "if": { "properties": { "kind": { "const": kind.name() } }, "required": ["kind"] },
                    "then": { "properties": { "data": kind.schema() } },
                })
            })
            .chain([json!({
                "if": { "properties": { "isDeleted": { "const": true } }, "required": ["isDeleted"] },
                "else": { "required": ["data"] },
            })])
            .collect();
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": false,
            "required": ["organizationId", "records"],
            "properties": {
                "organizationId": { "type": "string", "format": "uuid" },
                "isInitialSync": { "type": ["boolean", "null"], "description": "History: fires no events." },
                "records": {
                    "type": "array",
                    "maxItems": MAX_RECORDS,
                    "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["kind", "id"],
                        "properties": {
                            "kind": { "type": "string", "enum": Kind::ALL.map(Kind::name) },
                            "id": { "type": "string", "format": "uuid" },
                            "data": { "type": "object" },
                            "isDeleted": { "type": ["boolean", "null"] },
                        },
                        "allOf": shapes,
                    },
                },
            },
            "examples": [{
                "records": [{
                    "kind": "property", "id": "0192f0c1-2345-7abc-8def-0123456789ab",
                    "data": { "name": "Casa Azul 2-1", "timezone": "Europe/Madrid", "country": "ES" },
                }],
            }],
        })
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Synced {
    /// Records that were sent and now stand as they were sent.
    applied: usize,
    /// Events that fired.
    events: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneReservation {
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    reservation_id: Uuid,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StayLink {
    /// Where the guest's browser goes.
    url: String,
    /// What the guest interface takes.
    token: String,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform("sync", Method::POST, "/organizations/{organizationId}/sync")
            .summary("Insert, replace and delete records, all or nothing")
            .bulk(BODY_LIMIT, PATIENCE)
            .touches_stream()
            .run(sync),
        Operation::platform("createGuestLink", Method::POST, "/organizations/{organizationId}/reservations/{reservationId}/guest-link")
            .summary("The guest's link to a stay; the same one each time")
            .run(|context, input: OneReservation| {
                let token = crate::guest::stay_token(context, input.reservation_id)?;
                Ok(StayLink { url: crate::guest::stay_url(context, &token), token })
            }),
    ]
}

/// The records of a batch as they stand while it is applied, in order.
struct Batch {
    records: HashMap<(Kind, Uuid), StoredRecord>,
    zones: HashMap<Uuid, Option<Property>>,
    issues: Vec<Issue>,
    events: usize,
}

fn sync(context: &mut Context<'_, '_>, input: Sync) -> Result<Synced> {
    let applied = input.records.len();
    let fires = !input.is_initial_sync.unwrap_or(false);
    let mut batch = Batch::load(context, &input.records)?;
    for (index, record) in input.records.into_iter().enumerate() {
        match record.data {
            Some(data) if record.is_deleted != Some(true) => batch.put(context, index, record.kind, record.id, data, fires)?,
            _ => batch.delete(context, record.kind, record.id)?,
        }
    }
    if !batch.issues.is_empty() {
        return Err(Error::issues(batch.issues));
    }
    Ok(Synced { applied, events: batch.events })
}

/// The records that a record's data names, each with the field that does.
fn references(kind: Kind, data: &Object) -> impl Iterator<Item = (&'static str, Kind, Uuid)> {
    kind.references().iter().flat_map(move |reference| {
        let named = match data.get(reference.field) {
            Some(Value::Array(items)) => items.iter().collect(),
            Some(value) => vec![value],
            None => Vec::new(),
        };
        named
            .into_iter()
            .filter_map(|value| value.as_str().and_then(|text| text.parse().ok()).map(|id| (reference.field, reference.to, id)))
    })
}

impl Batch {
    /// Reads, a query a kind, every record that the batch writes or names.
    fn load(context: &mut Context<'_, '_>, sent: &[SyncRecord]) -> Result<Self> {
        let mut wanted: BTreeMap<Kind, HashSet<Uuid>> = BTreeMap::new();
        for record in sent {
            wanted.entry(record.kind).or_default().insert(record.id);
            for (_, kind, id) in record.data.iter().flat_map(|data| references(record.kind, data)) {
                wanted.entry(kind).or_default().insert(id);
            }
        }
        let mut records = HashMap::with_capacity(sent.len());
        for (kind, ids) in wanted {
            for row in records::find_rows(context, kind, ids.into_iter().collect())? {
                let stored = StoredRecord::from_row(&row)?;
                records.insert((kind, stored.id), stored);
            }
        }
        Ok(Self { records, zones: HashMap::new(), issues: Vec::new(), events: 0 })
    }

    fn put(&mut self, context: &mut Context<'_, '_>, index: usize, kind: Kind, id: Uuid, data: Object, fires: bool) -> Result<()> {
        let before = self.records.get(&(kind, id)).cloned();
        let mut named = HashSet::new();
        for (field, to, target) in references(kind, &data) {
            if self.records.contains_key(&(to, target)) {
                named.insert((to, target));
            } else {
                let path = vec!["records".into(), index.into(), "data".into(), Step::from(field)];
                self.issues.push(Issue { path, message: format!("names an unknown {}", to.name()) });
            }
        }
        if before.as_ref().is_some_and(|before| before.data == data) {
            return Ok(());
        }
        let now = context.now();
        let after = StoredRecord {
            id,
            property_id: if kind == Kind::Property { Some(id) } else { named_property(&data) },
            created_at: before.as_ref().map_or(Moment(now), |before| before.created_at),
            updated_at: before.as_ref().map_or(Moment(now), |before| before.updated_at.advanced_to(now)),
            data,
        };
        if !self.issues.is_empty() {
            // Nothing will be applied; what is left to find out is which other references are wrong.
            self.records.insert((kind, id), after);
            return Ok(());
        }
        records::save(context, kind, &after)?;
        if before.is_some() && !kind.references().is_empty() {
            unlink_records(context, kind.name(), id)?;
        }
        link_records(context, kind.name(), id, &named.into_iter().collect::<Vec<_>>())?;
        if kind == Kind::Reservation && before.is_none() {
            let token = access::token("", context.ids());
            context.execute(&INSERT_GUEST_LINK, values![id, token])?;
        }
        self.follow_up(context, kind, before.as_ref(), &after, fires)?;
        if kind == Kind::Property {
            self.zones.remove(&id);
        }
        self.records.insert((kind, id), after);
        Ok(())
    }

    /// Removes a record, what is assigned to it, and what points at it.
    fn delete(&mut self, context: &mut Context<'_, '_>, kind: Kind, id: Uuid) -> Result<()> {
        self.records.remove(&(kind, id));
        if !remove_record(context, kind, id)? {
            return Ok(());
        }
        for (from, of) in records::linked_from(context, kind, id)? {
            match Kind::named(&from) {
                Some(from) => self.release(context, from, of, kind, id)?,
                None if from == precheck::LINKED_AS => precheck::forget_record(context, of, kind, id)?,
                None if from == manuals::LINKED_AS => manuals::forget_record(context, of, kind, id)?,
                None => return Err(Error::internal("a link from an unknown kind")),
            }
        }
        match kind {
            Kind::Reservation => {
                context.execute(&DELETE_GUEST_LINK, values![id])?;
                guest::forget_stay(context, id)?;
            }
            Kind::Device => events::disarm(context, id)?,
            Kind::CustomUrl => portals::forget_custom_url(context, id)?,
            _ => scopes::forget_target(context, kind, id)?,
        }
        Ok(())
    }

    /// Makes a record point at nothing where it pointed at one that is gone.
    fn release(&mut self, context: &mut Context<'_, '_>, kind: Kind, id: Uuid, gone_kind: Kind, gone: Uuid) -> Result<()> {
        let known = match self.records.get(&(kind, id)) {
            Some(record) => Some(record.clone()),
            None => records::find(context, kind, id)?,
        };
        let Some(mut record) = known else { return Ok(()) };
        let is_gone = |value: &Value| value.as_str().and_then(|text| text.parse().ok()) == Some(gone);
        for reference in kind.references().iter().filter(|reference| reference.to == gone_kind) {
            match record.data.get_mut(reference.field) {
                Some(Value::Array(items)) => items.retain(|item| !is_gone(item)),
                Some(value) if is_gone(value) => *value = Value::Null,
                _ => {}
            }
        }
        record.property_id = if kind == Kind::Property { Some(id) } else { named_property(&record.data) };
        record.updated_at = record.updated_at.advanced_to(context.now());
        records::save(context, kind, &record)?;
        let named: Vec<_> = references(kind, &record.data).map(|(_, to, target)| (to, target)).collect();
        unlink_records(context, kind.name(), id)?;
        link_records(context, kind.name(), id, &named)?;
        self.records.insert((kind, id), record);
        Ok(())
    }

    /// Does what a change leads to. History leads to nothing, but ends what it makes untrue.
    fn follow_up(
        &mut self,
        context: &mut Context<'_, '_>,
        kind: Kind,
        before: Option<&StoredRecord>,
        after: &StoredRecord,
        fires: bool,
    ) -> Result<()> {
        if !fires && !events::has_timers(kind) {
            return Ok(());
        }
        let property = after.property_id.and_then(|id| self.property(id));
        let change = Change { before: before.map(|record| &record.data), after: &after.data, property: property.as_ref() };
        let derived = events::derive(kind, &change, context.now())?;
        let derived = if fires { derived } else { derived.of_history() };
        for event in derived.fires {
            self.events += 1;
            events::fire(context, event, kind, after.id, after.property_id)?;
        }
        events::set_timer(context, after.id, derived.timer)
    }

    fn property(&mut self, id: Uuid) -> Option<Property> {
        let record = self.records.get(&(Kind::Property, id));
        let read = || record.and_then(|record| serde_json::from_value(Value::Object(record.data.clone())).ok());
        self.zones.entry(id).or_insert_with(read).clone()
    }
}

fn named_property(data: &Object) -> Option<Uuid> {
    data.get("propertyId").and_then(Value::as_str).and_then(|text| text.parse().ok())
}
