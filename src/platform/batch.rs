//! A batch of records: read by sets (load), applied in memory, written by sets (write).

mod load;
mod write;

use std::collections::{BTreeSet, HashMap, HashSet};

use engine::context::Context;
use engine::error::{Error, Issue, PathSegment, Reason, Result};
use engine::moment::Moment;
use engine::operation::Object;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

pub(super) use self::write::STATEMENTS;
use super::sync::{OnInvalid, Rejected, Warning};
use super::versions::{RecordVersion, Versions};
use crate::events::{self, RecordChange, RecordEvent, Timer};
use crate::records::{
    HostTally, Oddity, Property, RecordKind, RecordOrigin, Reservation, claimable_host, oddity,
    settle_language,
};

/// The key of a refusal to change a record of the platform.
const MANAGED_BY_PLATFORM: &str = "record.managed_by_platform";
/// The number of changed records of a kind whose times of change differ.
const SINGLE: u32 = 100;
/// The number of further records that share a millisecond. It is below the size of a page.
const JOINT_RECORDS: u32 = 10;

/// A record as it is sent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SyncRecord {
    pub(crate) kind: RecordKind,
    pub(crate) id: Uuid,
    #[serde(default)]
    pub(crate) data: Option<Object>,
    #[serde(default)]
    pub(crate) is_deleted: Option<bool>,
    /// The sender's version of the record.
    #[serde(default)]
    pub(crate) version: Option<RecordVersion>,
}

impl SyncRecord {
    /// Returns the data that is written; `None` for a deletion.
    pub(super) fn written(&self) -> Option<&Object> {
        self.data.as_ref().filter(|_| self.is_deleted != Some(true))
    }
}

/// Returns the records that a record's data names, each with the naming field.
fn references(
    kind: RecordKind,
    data: &Object,
) -> impl Iterator<Item = (&'static str, RecordKind, Uuid)> {
    kind.references().iter().flat_map(move |reference| {
        let named = match data.get(&reference.field) {
            Some(Value::Array(items)) => items.iter().collect(),
            Some(value) => vec![value],
            None => Vec::new(),
        };
        named.into_iter().filter_map(|value| {
            value
                .as_str()
                .and_then(|text| text.parse().ok())
                .map(|id| (reference.field.as_str(), reference.to, id))
        })
    })
}

/// Returns the set of records that a record's data names.
fn named(kind: RecordKind, data: &Object) -> BTreeSet<(RecordKind, Uuid)> {
    references(kind, data)
        .map(|(_, to, target)| (to, target))
        .collect()
}

/// The data of a record and the columns derived from it.
#[derive(Debug, Clone)]
struct RecordState {
    data: Object,
    origin: RecordOrigin,
    property_id: Option<Uuid>,
    created_at: Moment,
    updated_at: Moment,
}

impl RecordState {
    fn new(
        (kind, id): (RecordKind, Uuid),
        data: Object,
        origin: RecordOrigin,
        created_at: Moment,
        updated_at: Moment,
    ) -> Self {
        let property_id = if kind == RecordKind::Property {
            Some(id)
        } else {
            named_property(&data)
        };
        Self {
            data,
            origin,
            property_id,
            created_at,
            updated_at,
        }
    }
}

/// A record of a batch, before and after the batch.
#[derive(Debug, Default)]
struct BatchRecord {
    /// The time of creation and the named records in the database; `None` for a new record.
    stored: Option<(Moment, BTreeSet<(RecordKind, Uuid)>)>,
    /// The current state while the batch is applied; `None` if there is no such record.
    now: Option<RecordState>,
    /// Whether the current state must be written.
    is_changed: bool,
    /// Whether the batch deletes the record and writes it again later. If the later record is left
    /// out, the record is deleted in the end.
    is_awaited: bool,
    /// Whether the batch has deleted the record.
    was_removed: bool,
}

/// The effect of a batch on its records. First all records are read, by sets. Then the changes are
/// applied in memory, in order. Finally the result is written, by sets.
#[derive(Default)]
pub(super) struct SyncBatch {
    /// Who writes.
    writer: RecordOrigin,
    /// The refusal to change a record of the platform. If there is one, nothing may be written.
    pub(super) conflict: Option<Error>,
    slots: HashMap<(RecordKind, Uuid), BatchRecord>,
    /// Records that name, or have named, a record that the batch deletes.
    naming: HashMap<(RecordKind, Uuid), BTreeSet<(RecordKind, Uuid)>>,
    /// Steps and manuals that name a record that the batch deletes.
    configured: HashMap<(RecordKind, Uuid), Vec<(String, Uuid)>>,
    zones: HashMap<Uuid, Option<Property>>,
    /// The treatment of a record with an issue.
    on_invalid: OnInvalid,
    /// The issues of the request. If there is any, nothing may be written.
    pub(super) issues: Vec<Issue>,
    /// The records that are left out because of their issues.
    pub(super) rejected: Vec<Rejected>,
    /// The ids of these records, as long as no valid record with the same id follows.
    refused: HashSet<(RecordKind, Uuid)>,
    /// Number of records that are left out because a newer version is known.
    pub(super) stale: usize,
    versions: Versions,
    /// The time of this change of records.
    begun: Timestamp,
    /// Number of changed records of each kind.
    changes: HashMap<RecordKind, u32>,
    /// The events that fire.
    pub(super) happenings: Vec<RecordEvent>,
    /// Warnings about accepted values that may be unintended.
    pub(super) warnings: Vec<Warning>,
    timers: HashMap<Uuid, Timer>,
    /// Hosts of custom URLs that the batch writes, each with the place of its record.
    hosts: HashMap<String, usize>,
    /// The hosts of all custom URLs; empty if the batch writes none.
    tally: HostTally,
    /// The place of the last record that brings a new host.
    last_host: usize,
    /// Reviews that arrived before, at any time.
    arrived: HashSet<Uuid>,
    /// Reviews that arrive with the batch.
    arriving: HashSet<Uuid>,
}

impl SyncBatch {
    fn current(&self, kind: RecordKind, id: Uuid) -> Option<&RecordState> {
        self.slots.get(&(kind, id))?.now.as_ref()
    }

    /// Applies a record of the batch. `is_rewritten` tells of a deletion that the batch writes the
    /// record again later.
    pub(super) fn apply(
        &mut self,
        context: &mut Context<'_, '_>,
        index: usize,
        record: SyncRecord,
        is_rewritten: bool,
        fires: bool,
    ) -> Result<()> {
        let place = (record.kind, record.id);
        if self.versions.is_stale(place, record.version) {
            self.stale += 1;
            return Ok(());
        }
        match record.data.filter(|_| record.is_deleted != Some(true)) {
            Some(data) => {
                let issues = self.put(context, index, place, data, fires)?;
                if self.is_left_out(index, place, issues) {
                    return Ok(());
                }
            }
            None if is_rewritten => {
                if let Some(slot) = self.slots.get_mut(&place) {
                    slot.is_awaited = true;
                }
            }
            None => self.delete(place),
        }
        self.versions.note(place, record.version);
        Ok(())
    }

    /// Returns whether a record is left out because of its issues. Otherwise the issues refuse the
    /// request.
    fn is_left_out(&mut self, index: usize, place: (RecordKind, Uuid), issues: Vec<Issue>) -> bool {
        if self.on_invalid == OnInvalid::Refuse {
            self.issues.extend(issues);
            return false;
        }
        if issues.is_empty() {
            self.refused.remove(&place);
            return false;
        }
        self.refused.insert(place);
        self.rejected.push(Rejected::of(index, place.1, &issues));
        true
    }

    /// Notes that a record was left out before it came here. Records that follow cannot refer to
    /// it.
    pub(super) fn refuse(&mut self, place: Option<(RecordKind, Uuid)>) {
        self.refused.extend(place);
    }

    /// Ends the batch: deletes the records that it has deleted and not written again, and judges
    /// what depends on all records.
    pub(super) fn finish(&mut self) {
        let awaited = self.slots.iter().filter(|(_, slot)| slot.is_awaited);
        let mut awaited: Vec<_> = awaited.map(|(place, _)| *place).collect();
        awaited.sort_unstable();
        for place in awaited {
            self.delete(place);
        }
        // Where records are left out, each host is judged with its record.
        if let Some(refused) = self.tally.excess() {
            let place = path(self.last_host, Some("host"));
            self.issues.push(Issue::at(place, refused.message()));
        }
    }

    /// Inserts or replaces a record. Returns the issues of its data. With an issue, nothing of the
    /// batch is applied, or the record is left out.
    fn put(
        &mut self,
        context: &mut Context<'_, '_>,
        index: usize,
        (kind, id): (RecordKind, Uuid),
        mut data: Object,
        fires: bool,
    ) -> Result<Vec<Issue>> {
        self.settle(index, kind, &mut data);
        let before = self.current(kind, id).cloned();
        let mut issues = self.unknown_references(index, kind, &data);
        if issues.is_empty() && before.as_ref().is_some_and(|before| before.data == data) {
            self.keep(kind, id);
            self.take_over(kind, id);
            return Ok(issues);
        }
        let Some(origin) =
            RecordOrigin::after(before.as_ref().map(|before| before.origin), self.writer)
        else {
            self.refuse_change((kind, id));
            return Ok(issues);
        };
        self.judge(context, index, (kind, id), &data, &mut issues)?;
        if !issues.is_empty() && self.on_invalid == OnInvalid::Skip {
            return Ok(issues);
        }
        let is_arriving = kind == RecordKind::Review && before.is_none();
        let fires = fires && !(is_arriving && self.arrived.contains(&id));
        if is_arriving && self.arrived.insert(id) {
            self.arriving.insert(id);
        }
        let now = context.now();
        let created_at = before
            .as_ref()
            .map_or(Moment(now), |before| before.created_at);
        let updated_at = self.changed_at(kind, before.as_ref());
        let after = RecordState::new((kind, id), data, origin, created_at, updated_at);
        // With an issue, nothing will be applied; the rest of the batch is only checked for more
        // issues.
        if self.issues.is_empty() && issues.is_empty() {
            self.follow_up(now, (kind, id), before.as_ref(), &after, fires)?;
        }
        for target in named(kind, &after.data) {
            // Links are tracked only for records that the batch deletes.
            if let Some(naming) = self.naming.get_mut(&target) {
                naming.insert((kind, id));
            }
        }
        if kind == RecordKind::Property {
            self.zones.remove(&id);
        }
        if kind == RecordKind::CustomUrl {
            let host = after.data.get("host").and_then(Value::as_str);
            if self.tally.note(id, host) {
                self.last_host = index;
            }
        }
        let slot = self.slots.entry((kind, id)).or_default();
        slot.now = Some(after);
        slot.is_changed = true;
        slot.is_awaited = false;
        Ok(issues)
    }

    /// Brings the language of a reservation's guest into the form that is stored. Warns of a text
    /// that is no language tag.
    fn settle(&mut self, index: usize, kind: RecordKind, data: &mut Object) {
        if kind == RecordKind::Reservation
            && let Some(sent) = settle_language(data)
        {
            let mut path: Vec<PathSegment> = path(index, Some("guest"));
            path.push("language".into());
            self.warnings.push(Warning {
                path,
                message: format!("is no language tag ({sent:.40}); it is stored as null"),
            });
        }
    }

    /// Notes that a record stays as it is.
    fn keep(&mut self, kind: RecordKind, id: Uuid) {
        if let Some(slot) = self.slots.get_mut(&(kind, id)) {
            slot.is_awaited = false;
        }
    }

    /// Returns an issue for each field that names a record that is not there or is left out.
    fn unknown_references(&self, index: usize, kind: RecordKind, data: &Object) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (field, to, target) in references(kind, data) {
            let message = if self.refused.contains(&(to, target)) {
                format!("refers to a {} that was rejected", to.as_ref())
            } else if self.current(to, target).is_none() {
                format!("refers to an unknown {}", to.as_ref())
            } else {
                continue;
            };
            issues.push(Issue::at(path(index, Some(field)), message));
        }
        issues
    }

    /// Adds the issues and warnings of data that fits its schema and is new.
    fn judge(
        &mut self,
        context: &mut Context<'_, '_>,
        index: usize,
        (kind, id): (RecordKind, Uuid),
        data: &Object,
        issues: &mut Vec<Issue>,
    ) -> Result<()> {
        if kind == RecordKind::CustomUrl
            && let Some(host) = data.get("host").and_then(Value::as_str)
        {
            let refused = match claimable_host(context, host)? {
                Ok(host) => {
                    let skips = self.on_invalid == OnInvalid::Skip;
                    let refused = skips.then(|| self.tally.refusal(id, &host)).flatten();
                    self.hosts.insert(host, index);
                    refused
                }
                Err(refused) => Some(refused),
            };
            if let Some(refused) = refused {
                issues.push(Issue::at(path(index, Some("host")), refused.message()));
            }
        }
        match self.oddity(kind, data) {
            Some(Oddity::NoNight) => issues.push(Issue::at(
                path(index, Some("checkOut")),
                "must be after checkIn",
            )),
            Some(Oddity::BookedLate) => self.warnings.push(Warning {
                path: path(index, Some("bookedAt")),
                message: "is after checkIn; the reservation is stored unchanged".into(),
            }),
            None => {}
        }
        if serde_json::to_string(data).map_err(Error::internal)?.len() > kind.data_limit() {
            let message = format!("must have at most {} bytes as JSON", kind.data_limit());
            issues.push(Issue::at(path(index, None), message));
        }
        Ok(())
    }

    /// Notes that the platform manages a record from now on, if it sends the same data as another
    /// writer before. This is no event.
    fn take_over(&mut self, kind: RecordKind, id: Uuid) {
        let current = self.current(kind, id).cloned();
        let Some(current) = current.filter(|current| {
            self.writer == RecordOrigin::Platform && current.origin != RecordOrigin::Platform
        }) else {
            return;
        };
        let updated_at = self.changed_at(kind, Some(&current));
        if let Some(slot) = self.slots.get_mut(&(kind, id)) {
            slot.now = Some(RecordState {
                origin: RecordOrigin::Platform,
                updated_at,
                ..current
            });
            slot.is_changed = true;
        }
    }

    /// Notes the refusal to change a record of the platform. The first refusal is answered.
    fn refuse_change(&mut self, (kind, id): (RecordKind, Uuid)) {
        let message = format!(
            "{} {id} is managed by the platform; change it there.",
            kind.label()
        );
        self.conflict.get_or_insert_with(|| {
            Error::conflict(Reason::rule("managed_by_platform", message))
                .with_key(MANAGED_BY_PLATFORM)
        });
    }

    /// Returns the time of the next change of a record of a kind. Times of one batch differ, so
    /// that a reader who asks for everything since the last time that it has seen comes forward
    /// with small pages. Beyond the first [`SINGLE`] records, [`JOINT_RECORDS`] of them share a
    /// millisecond, so that the times of large batches do not run ahead of the clock.
    fn changed_at(&mut self, kind: RecordKind, before: Option<&RecordState>) -> Moment {
        let count = self.changes.entry(kind).or_default();
        let step = if *count < SINGLE {
            *count
        } else {
            SINGLE + (*count - SINGLE) / JOINT_RECORDS
        };
        *count += 1;
        let at = self
            .begun
            .checked_add(i64::from(step).milliseconds())
            .unwrap_or(self.begun);
        before.map_or(Moment(at), |before| before.updated_at.advanced_to(at))
    }

    /// Deletes a record and empties the references to it.
    fn delete(&mut self, (kind, id): (RecordKind, Uuid)) {
        let origin = self.current(kind, id).map(|current| current.origin);
        if RecordOrigin::after(origin, self.writer).is_none() {
            return self.refuse_change((kind, id));
        }
        let Some(slot) = self.slots.get_mut(&(kind, id)) else {
            return;
        };
        slot.is_awaited = false;
        if slot.now.take().is_none() {
            return;
        }
        slot.was_removed = true;
        if kind == RecordKind::Property {
            self.zones.remove(&id);
        }
        if kind == RecordKind::Device {
            self.timers.insert(id, Timer::Disarm);
        }
        if kind == RecordKind::CustomUrl {
            self.tally.note(id, None);
        }
        for (from_kind, from) in self.naming.get(&(kind, id)).cloned().unwrap_or_default() {
            self.release((from_kind, from), (kind, id));
        }
    }

    /// Empties the references of a record to a deleted one.
    fn release(&mut self, (kind, id): (RecordKind, Uuid), gone: (RecordKind, Uuid)) {
        let Some(before) = self.current(kind, id).cloned() else {
            return;
        };
        if !named(kind, &before.data).contains(&gone) {
            return;
        }
        if RecordOrigin::after(Some(before.origin), self.writer).is_none() {
            return self.refuse_change((kind, id));
        }
        let updated_at = self.changed_at(kind, Some(&before));
        let is_gone =
            |value: &Value| value.as_str().and_then(|text| text.parse().ok()) == Some(gone.1);
        let mut data = before.data;
        for reference in kind
            .references()
            .iter()
            .filter(|reference| reference.to == gone.0)
        {
            match data.get_mut(&reference.field) {
                Some(Value::Array(items)) => items.retain(|item| !is_gone(item)),
                Some(value) if is_gone(value) => *value = Value::Null,
                _ => {}
            }
        }
        if let Some(slot) = self.slots.get_mut(&(kind, id)) {
            slot.now = Some(RecordState::new(
                (kind, id),
                data,
                before.origin,
                before.created_at,
                updated_at,
            ));
            slot.is_changed = true;
        }
    }

    /// Collects the events and timers of a change. History fires no events, but stops timers that
    /// no longer hold.
    fn follow_up(
        &mut self,
        now: Timestamp,
        (kind, id): (RecordKind, Uuid),
        before: Option<&RecordState>,
        after: &RecordState,
        fires: bool,
    ) -> Result<()> {
        if !fires && !events::has_timers(kind) {
            return Ok(());
        }
        let property_id = after.property_id;
        let property = property_id.and_then(|id| self.property(id));
        let change = RecordChange {
            before: before.map(|current| &current.data),
            after: &after.data,
            property: property.as_ref(),
        };
        let derived = events::derive(kind, &change, now)?;
        let derived = if fires { derived } else { derived.of_history() };
        let happening = |event| RecordEvent {
            event,
            kind,
            record_id: id,
            property_id,
        };
        self.happenings
            .extend(derived.fires.into_iter().map(happening));
        if derived.timer != Timer::Keep {
            self.timers.insert(id, derived.timer);
        }
        Ok(())
    }

    fn property(&mut self, id: Uuid) -> Option<Property> {
        let current = self
            .slots
            .get(&(RecordKind::Property, id))
            .and_then(|slot| slot.now.as_ref());
        let read = || {
            current.and_then(|current| {
                serde_json::from_value(Value::Object(current.data.clone())).ok()
            })
        };
        self.zones.entry(id).or_insert_with(read).clone()
    }

    /// Returns the implausible date of a reservation, if any. Validation has already refused data
    /// that is no reservation.
    fn oddity(&mut self, kind: RecordKind, data: &Object) -> Option<Oddity> {
        if kind != RecordKind::Reservation {
            return None;
        }
        let reservation: Reservation = serde_json::from_value(Value::Object(data.clone())).ok()?;
        let flat = reservation.property_id.and_then(|id| self.property(id));
        let zone = flat.and_then(|flat| TimeZone::get(&flat.timezone).ok());
        oddity(&reservation, &zone.unwrap_or(TimeZone::UTC))
    }
}

/// Returns the path of a field of a record's data, or of the data itself.
fn path(index: usize, field: Option<&str>) -> Vec<PathSegment> {
    ["records".into(), index.into(), "data".into()]
        .into_iter()
        .chain(field.map(PathSegment::from))
        .collect()
}

fn named_property(data: &Object) -> Option<Uuid> {
    data.get("propertyId")
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok())
}
