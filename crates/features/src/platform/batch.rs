//! A batch of records that a request writes. First the batch reads all records that it needs, with
//! one query for each kind. Then it applies the changes in memory. Finally it writes the result,
//! with statements that each write many rows.

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
use super::versions::{RecordVersion, RecordVersions};
use crate::events::{self, RecordChange, RecordEvent, TimerEffect};
use crate::records::{
    HostTally, ImplausibleDates, Property, RecordKind, RecordOrigin, Reservation, claimable_host,
    implausible_dates, normalize_guest_language,
};

/// The value of `details.key` in the 409 error for a write to a record that only the platform may
/// change.
const MANAGED_BY_PLATFORM: &str = "record.managed_by_platform";
/// Number of changed records of each kind in a batch that each get an `updatedAt` of their own.
/// After these records, groups of [`RECORDS_PER_MILLISECOND`] records share an `updatedAt`.
const DISTINCT_TIMES: u32 = 100;
/// Number of records that share an `updatedAt`, after the first [`DISTINCT_TIMES`] records. It must
/// be below the size of a page. Otherwise all records of a page could have the same `updatedAt`,
/// and a client that continues from that time would read the same page again.
const RECORDS_PER_MILLISECOND: u32 = 10;

/// A record in a request that writes records.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SyncRecord {
    pub(crate) kind: RecordKind,
    pub(crate) id: Uuid,
    #[serde(default)]
    pub(crate) data: Option<Object>,
    #[serde(default)]
    pub(crate) is_deleted: Option<bool>,
    /// The version that the sender gave the record. An older version does not replace a newer one.
    #[serde(default)]
    pub(crate) version: Option<RecordVersion>,
}

impl SyncRecord {
    /// Returns the data to write; `None` for a deletion.
    pub(super) fn data_to_write(&self) -> Option<&Object> {
        self.data.as_ref().filter(|_| self.is_deleted != Some(true))
    }
}

/// Returns the records to which a record's data refers, each with the field of the reference.
fn references(
    kind: RecordKind,
    data: &Object,
) -> impl Iterator<Item = (&'static str, RecordKind, Uuid)> {
    kind.references().iter().flat_map(move |reference| {
        let values = match data.get(&reference.field) {
            Some(Value::Array(items)) => items.iter().collect(),
            Some(value) => vec![value],
            None => Vec::new(),
        };
        values.into_iter().filter_map(|value| {
            value
                .as_str()
                .and_then(|text| text.parse().ok())
                .map(|id| (reference.field.as_str(), reference.to, id))
        })
    })
}

/// Returns the set of records to which a record's data refers.
fn referenced_records(kind: RecordKind, data: &Object) -> BTreeSet<(RecordKind, Uuid)> {
    references(kind, data)
        .map(|(_, to, target)| (to, target))
        .collect()
}

/// The data of a record, and the values of the other columns of its row.
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
            property_id_of(&data)
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

/// A record of a batch: its stored version, and its state after the changes that the batch has
/// applied so far.
#[derive(Debug, Default)]
struct BatchRecord {
    /// The record in the database: its time of creation, and the records to which it refers. `None`
    /// for a new record.
    stored: Option<(Moment, BTreeSet<(RecordKind, Uuid)>)>,
    /// The state after the changes that the batch has applied so far; `None` if the record does not
    /// exist.
    now: Option<RecordState>,
    /// Whether `now` must be written to the database.
    is_changed: bool,
    /// Whether the request has deleted the record and writes it again later. The batch does not
    /// delete the record yet. If the later write is skipped, [`SyncBatch::finish`] deletes it.
    awaits_rewrite: bool,
    /// Whether the batch has deleted the record.
    was_deleted: bool,
}

/// A batch of records: [`Self::load`] reads them, [`Self::apply`] changes them in memory one by
/// one, and [`Self::write`] writes the result.
#[derive(Default)]
pub(super) struct SyncBatch {
    /// The writer of the batch, which becomes the origin of new records.
    writer: RecordOrigin,
    /// The 409 error for a write to a record that only the platform may change. If it is set, the
    /// batch must not be written.
    pub(super) conflict: Option<Error>,
    /// All records that the batch writes or refers to.
    records: HashMap<(RecordKind, Uuid), BatchRecord>,
    /// For each record that the batch deletes, the records that refer to it in the database or in
    /// the batch.
    referrers: HashMap<(RecordKind, Uuid), BTreeSet<(RecordKind, Uuid)>>,
    /// For each record that the batch deletes, the steps and manuals that refer to it.
    referring_settings: HashMap<(RecordKind, Uuid), Vec<(String, Uuid)>>,
    /// The parsed properties, by their id.
    properties: HashMap<Uuid, Option<Property>>,
    /// Whether a record with an issue makes the whole request fail, or whether the batch skips only
    /// that record.
    on_invalid: OnInvalid,
    /// The issues of the request. If there is an issue, the batch must not be written.
    pub(super) issues: Vec<Issue>,
    /// The records that the batch skips because of their issues.
    pub(super) rejected: Vec<Rejected>,
    /// The kinds and ids of the skipped records. If a later record of the request has the same kind
    /// and id and is valid, the pair is removed from this set.
    rejected_keys: HashSet<(RecordKind, Uuid)>,
    /// Number of records that the batch skips because the database has a newer version.
    pub(super) stale: usize,
    versions: RecordVersions,
    /// The `updatedAt` of the first changed record of each kind.
    change_time: Timestamp,
    /// Number of changed records of each kind.
    change_counts: HashMap<RecordKind, u32>,
    /// The webhook events that the changes of the batch fire.
    pub(super) record_events: Vec<RecordEvent>,
    /// Warnings about accepted values that may be unintended.
    pub(super) warnings: Vec<Warning>,
    /// For each device whose timer starts or ends: the effect on the timer.
    timers: HashMap<Uuid, TimerEffect>,
    /// Hosts of custom URLs that the batch writes, each with the index of its record in the
    /// request.
    hosts: HashMap<String, usize>,
    /// The hosts of all custom URLs of the organization; empty if the batch writes no custom URL.
    tally: HostTally,
    /// The index, in the request, of the last custom URL whose host name is new to the
    /// organization. If the batch gives the organization too many host names, the issue is reported
    /// at this record.
    last_host: usize,
    /// The ids of reviews that arrived before, even if they were deleted since. A review with such
    /// an id fires no `review.submitted`.
    known_reviews: HashSet<Uuid>,
    /// Ids of the reviews that arrive for the first time in this batch.
    new_reviews: HashSet<Uuid>,
}

impl SyncBatch {
    fn current(&self, kind: RecordKind, id: Uuid) -> Option<&RecordState> {
        self.records.get(&(kind, id))?.now.as_ref()
    }

    /// Applies a record of the request. `is_rewritten` is true if the record is a deletion, and the
    /// request writes the same record again later.
    pub(super) fn apply(
        &mut self,
        context: &mut Context<'_, '_>,
        index: usize,
        record: SyncRecord,
        is_rewritten: bool,
        fires: bool,
    ) -> Result<()> {
        let key = (record.kind, record.id);
        if self.versions.is_stale(key, record.version) {
            self.stale += 1;
            return Ok(());
        }
        match record.data.filter(|_| record.is_deleted != Some(true)) {
            Some(data) => {
                let issues = self.put(context, index, key, data, fires)?;
                if self.skip_invalid(index, key, issues) {
                    return Ok(());
                }
            }
            None if is_rewritten => {
                if let Some(entry) = self.records.get_mut(&key) {
                    entry.awaits_rewrite = true;
                }
            }
            None => self.delete(key),
        }
        self.versions.set(key, record.version);
        Ok(())
    }

    /// Handles the issues of a record. If the request skips invalid records and there are issues,
    /// skips the record and returns true. If the request does not skip invalid records, adds the
    /// issues to those of the request. Returns false for every record that is not skipped.
    fn skip_invalid(&mut self, index: usize, key: (RecordKind, Uuid), issues: Vec<Issue>) -> bool {
        if self.on_invalid == OnInvalid::Refuse {
            self.issues.extend(issues);
            return false;
        }
        if issues.is_empty() {
            self.rejected_keys.remove(&key);
            return false;
        }
        self.rejected_keys.insert(key);
        self.rejected
            .push(Rejected::from_issues(index, key.1, &issues));
        true
    }

    /// Notes that the validation of the request has skipped this record. Later records cannot refer
    /// to it.
    pub(super) fn add_rejected_key(&mut self, key: Option<(RecordKind, Uuid)>) {
        self.rejected_keys.extend(key);
    }

    /// Completes the batch after the last record of the request. Deletes each record whose deletion
    /// waited for a later write in the same request, if that write was skipped. Then checks how
    /// many host names the custom URLs of the organization have, which depends on all records.
    pub(super) fn finish(&mut self) {
        let pending = self
            .records
            .iter()
            .filter(|(_, entry)| entry.awaits_rewrite);
        let mut pending: Vec<_> = pending.map(|(key, _)| *key).collect();
        pending.sort_unstable();
        for key in pending {
            self.delete(key);
        }
        // In a request that skips invalid records, `validate` has checked the limit on the number
        // of hosts for each record. So this check finds a problem only in a request that fails as a
        // whole if one record is invalid.
        if let Some(problem) = self.tally.check_limit() {
            let path = path(self.last_host, Some("host"));
            self.issues.push(Issue::at(path, problem.message()));
        }
    }

    /// Inserts or replaces a record. Returns the issues of its data. If there are issues,
    /// [`Self::apply`] skips the record or refuses the request.
    fn put(
        &mut self,
        context: &mut Context<'_, '_>,
        index: usize,
        (kind, id): (RecordKind, Uuid),
        mut data: Object,
        fires: bool,
    ) -> Result<Vec<Issue>> {
        self.normalize_language(index, kind, &mut data);
        let before = self.current(kind, id).cloned();
        let mut issues = self.unknown_references(index, kind, &data);
        if issues.is_empty() && before.as_ref().is_some_and(|before| before.data == data) {
            self.mark_unchanged(kind, id);
            self.assign_to_platform(kind, id);
            return Ok(issues);
        }
        let Some(origin) =
            RecordOrigin::after(before.as_ref().map(|before| before.origin), self.writer)
        else {
            self.refuse_change((kind, id));
            return Ok(issues);
        };
        self.validate(context, index, (kind, id), &data, &mut issues)?;
        if !issues.is_empty() && self.on_invalid == OnInvalid::Skip {
            return Ok(issues);
        }
        let is_new_review = kind == RecordKind::Review && before.is_none();
        let fires = fires && !(is_new_review && self.known_reviews.contains(&id));
        if is_new_review && self.known_reviews.insert(id) {
            self.new_reviews.insert(id);
        }
        let now = context.now();
        let created_at = before
            .as_ref()
            .map_or(Moment(now), |before| before.created_at);
        let updated_at = self.changed_at(kind, before.as_ref());
        let after = RecordState::new((kind, id), data, origin, created_at, updated_at);
        // If a record has an issue, the batch is not written. So the events of further records are
        // not needed, and the code only looks for further issues.
        if self.issues.is_empty() && issues.is_empty() {
            self.collect_events(now, (kind, id), before.as_ref(), &after, fires)?;
        }
        for target in referenced_records(kind, &after.data) {
            // `referrers` has an entry only for a record that the batch deletes. References to
            // other records need no entry.
            if let Some(referrers) = self.referrers.get_mut(&target) {
                referrers.insert((kind, id));
            }
        }
        if kind == RecordKind::Property {
            self.properties.remove(&id);
        }
        if kind == RecordKind::CustomUrl {
            let host = after.data.get("host").and_then(Value::as_str);
            if self.tally.set_host(id, host) {
                self.last_host = index;
            }
        }
        let entry = self.records.entry((kind, id)).or_default();
        entry.now = Some(after);
        entry.is_changed = true;
        entry.awaits_rewrite = false;
        Ok(issues)
    }

    /// Normalizes the language of a reservation's guest. Warns if the text is not a language tag.
    fn normalize_language(&mut self, index: usize, kind: RecordKind, data: &mut Object) {
        if kind == RecordKind::Reservation
            && let Some(text) = normalize_guest_language(data)
        {
            let mut path: Vec<PathSegment> = path(index, Some("guest"));
            path.push("language".into());
            self.warnings.push(Warning {
                path,
                message: format!("is no language tag ({text:.40}); it is stored as null"),
            });
        }
    }

    /// Notes that the request writes a record with data that equals the stored data. An earlier
    /// item of the request may delete the same record. In that case, [`Self::finish`] no longer
    /// deletes the record, because the write restores it.
    fn mark_unchanged(&mut self, kind: RecordKind, id: Uuid) {
        if let Some(entry) = self.records.get_mut(&(kind, id)) {
            entry.awaits_rewrite = false;
        }
    }

    /// Returns an issue for each field that refers to a record that does not exist, or that the
    /// batch skips.
    fn unknown_references(&self, index: usize, kind: RecordKind, data: &Object) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (field, to, target) in references(kind, data) {
            let message = if self.rejected_keys.contains(&(to, target)) {
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

    /// Checks the changed data for errors that the schema cannot express. Adds them as issues or
    /// warnings.
    fn validate(
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
            let problem = match claimable_host(context, host)? {
                Ok(host) => {
                    let skips = self.on_invalid == OnInvalid::Skip;
                    let problem = skips
                        .then(|| self.tally.check_limit_with(id, &host))
                        .flatten();
                    self.hosts.insert(host, index);
                    problem
                }
                Err(problem) => Some(problem),
            };
            if let Some(problem) = problem {
                issues.push(Issue::at(path(index, Some("host")), problem.message()));
            }
        }
        match self.oddity(kind, data) {
            Some(ImplausibleDates::NoNight) => issues.push(Issue::at(
                path(index, Some("checkOut")),
                "must be after checkIn",
            )),
            Some(ImplausibleDates::BookedLate) => self.warnings.push(Warning {
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

    /// Sets the origin of an unchanged record to the platform, if the platform writes the batch and
    /// the record has another origin. This change fires no event.
    fn assign_to_platform(&mut self, kind: RecordKind, id: Uuid) {
        let current = self.current(kind, id).cloned();
        let Some(current) = current.filter(|current| {
            self.writer == RecordOrigin::Platform && current.origin != RecordOrigin::Platform
        }) else {
            return;
        };
        let updated_at = self.changed_at(kind, Some(&current));
        if let Some(entry) = self.records.get_mut(&(kind, id)) {
            entry.now = Some(RecordState {
                origin: RecordOrigin::Platform,
                updated_at,
                ..current
            });
            entry.is_changed = true;
        }
    }

    /// Sets `conflict` to the 409 error for a write to a record that only the platform may change.
    /// Keeps an earlier error, so the response contains the first one.
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

    /// Returns the `updatedAt` for the next changed record of a kind.
    ///
    /// A client reads changes in small pages. Each page starts at the last `updatedAt` of the
    /// previous page. A page with only equal times would make the client read the same page
    /// forever, so the times within a batch differ.
    ///
    /// The times of a large batch must not be far ahead of the clock. After the first
    /// [`DISTINCT_TIMES`] records, [`RECORDS_PER_MILLISECOND`] records share each millisecond.
    fn changed_at(&mut self, kind: RecordKind, before: Option<&RecordState>) -> Moment {
        let count = self.change_counts.entry(kind).or_default();
        let step = if *count < DISTINCT_TIMES {
            *count
        } else {
            DISTINCT_TIMES + (*count - DISTINCT_TIMES) / RECORDS_PER_MILLISECOND
        };
        *count += 1;
        let timestamp = self
            .change_time
            .checked_add(i64::from(step).milliseconds())
            .unwrap_or(self.change_time);
        before.map_or(Moment(timestamp), |before| {
            before.updated_at.advanced_to(timestamp)
        })
    }

    /// Deletes a record, and the references of other records to it. Refuses the deletion if the
    /// writer may not change records of the record's origin.
    fn delete(&mut self, (kind, id): (RecordKind, Uuid)) {
        let origin = self.current(kind, id).map(|current| current.origin);
        if RecordOrigin::after(origin, self.writer).is_none() {
            return self.refuse_change((kind, id));
        }
        let Some(entry) = self.records.get_mut(&(kind, id)) else {
            return;
        };
        entry.awaits_rewrite = false;
        if entry.now.take().is_none() {
            return;
        }
        entry.was_deleted = true;
        if kind == RecordKind::Property {
            self.properties.remove(&id);
        }
        if kind == RecordKind::Device {
            self.timers.insert(id, TimerEffect::Disarm);
        }
        if kind == RecordKind::CustomUrl {
            self.tally.set_host(id, None);
        }
        for (from_kind, from) in self.referrers.get(&(kind, id)).cloned().unwrap_or_default() {
            self.clear_references((from_kind, from), (kind, id));
        }
    }

    /// Removes from a record every reference to a deleted record. If the writer may not change the
    /// record, refuses the change instead.
    fn clear_references(&mut self, (kind, id): (RecordKind, Uuid), deleted: (RecordKind, Uuid)) {
        let Some(before) = self.current(kind, id).cloned() else {
            return;
        };
        if !referenced_records(kind, &before.data).contains(&deleted) {
            return;
        }
        if RecordOrigin::after(Some(before.origin), self.writer).is_none() {
            return self.refuse_change((kind, id));
        }
        let updated_at = self.changed_at(kind, Some(&before));
        let is_deleted =
            |value: &Value| value.as_str().and_then(|text| text.parse().ok()) == Some(deleted.1);
        let mut data = before.data;
        for reference in kind
            .references()
            .iter()
            .filter(|reference| reference.to == deleted.0)
        {
            match data.get_mut(&reference.field) {
                Some(Value::Array(items)) => items.retain(|item| !is_deleted(item)),
                Some(value) if is_deleted(value) => *value = Value::Null,
                _ => {}
            }
        }
        if let Some(entry) = self.records.get_mut(&(kind, id)) {
            entry.now = Some(RecordState::new(
                (kind, id),
                data,
                before.origin,
                before.created_at,
                updated_at,
            ));
            entry.is_changed = true;
        }
    }

    /// Collects the events that a change of a record fires, and the effect of the change on the
    /// timer of a device. With `fires` false, as in an initial sync, the change fires no event and
    /// starts no timer. It can still end a timer.
    fn collect_events(
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
        let derived = events::derive_events(kind, &change, now)?;
        let derived = if fires {
            derived
        } else {
            derived.without_events()
        };
        let to_record_event = |event| RecordEvent {
            event,
            kind,
            record_id: id,
            property_id,
        };
        self.record_events
            .extend(derived.events.into_iter().map(to_record_event));
        if derived.timer != TimerEffect::Keep {
            self.timers.insert(id, derived.timer);
        }
        Ok(())
    }

    /// Returns a property with the changes that the batch has applied so far.
    fn property(&mut self, id: Uuid) -> Option<Property> {
        let current = self
            .records
            .get(&(RecordKind::Property, id))
            .and_then(|entry| entry.now.as_ref());
        let parse = || {
            current.and_then(|current| {
                serde_json::from_value(Value::Object(current.data.clone())).ok()
            })
        };
        self.properties.entry(id).or_insert_with(parse).clone()
    }

    /// Returns the reason why the dates of a reservation are implausible, if there is one. Returns
    /// `None` for data that is not a valid reservation, because validation has already reported an
    /// issue.
    fn oddity(&mut self, kind: RecordKind, data: &Object) -> Option<ImplausibleDates> {
        if kind != RecordKind::Reservation {
            return None;
        }
        let reservation: Reservation = serde_json::from_value(Value::Object(data.clone())).ok()?;
        let flat = reservation.property_id.and_then(|id| self.property(id));
        let zone = flat.and_then(|flat| TimeZone::get(&flat.timezone).ok());
        implausible_dates(&reservation, &zone.unwrap_or(TimeZone::UTC))
    }
}

/// Returns the path of a field of a record's data, from the root of the body. Without a field,
/// returns the path of the data.
fn path(index: usize, field: Option<&str>) -> Vec<PathSegment> {
    ["records".into(), index.into(), "data".into()]
        .into_iter()
        .chain(field.map(PathSegment::from))
        .collect()
}

/// Returns the property to which a record's data refers.
fn property_id_of(data: &Object) -> Option<Uuid> {
    data.get("propertyId")
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok())
}
