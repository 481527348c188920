//! What a batch of records comes to: read by sets, applied in memory, written by sets.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use engine::access;
use engine::context::Context;
use engine::error::{Error, Issue, PathSegment, Result};
use engine::json;
use engine::moment::Moment;
use engine::operation::Object;
use engine::values;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use store::Row;
use strum::VariantArray;
use uuid::Uuid;

use crate::events::{self, Change, Happening, Timer};
use crate::records::blocks::{self, Position};
use crate::records::stored::{self, StoredRecord};
use crate::records::{Kind, Linking, OnGone, OnRelinked, Property, facets};

store::statements! {
    /// The stay token of a new reservation.
    INSERT_GUEST_LINK = "insert into guest_link (organization_id, reservation_id, token) values (?1, ?2, ?3) on conflict do nothing";
}

/// A record as the platform sends it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SyncRecord {
    pub(super) kind: Kind,
    pub(super) id: Uuid,
    #[serde(default)]
    pub(super) data: Option<Object>,
    #[serde(default)]
    pub(super) is_deleted: Option<bool>,
}

/// The records that a record's data names, each with the field that does.
fn references(kind: Kind, data: &Object) -> impl Iterator<Item = (&'static str, Kind, Uuid)> {
    kind.references().iter().flat_map(move |reference| {
        let named = match data.get(&reference.field) {
            Some(Value::Array(items)) => items.iter().collect(),
            Some(value) => vec![value],
            None => Vec::new(),
        };
        named
            .into_iter()
            .filter_map(|value| value.as_str().and_then(|text| text.parse().ok()).map(|id| (reference.field.as_str(), reference.to, id)))
    })
}

/// The same as a set.
fn named(kind: Kind, data: &Object) -> BTreeSet<(Kind, Uuid)> {
    references(kind, data).map(|(_, to, target)| (to, target)).collect()
}

/// A record's data, and what hangs on it.
#[derive(Debug, Clone)]
struct RecordState {
    data: Object,
    property_id: Option<Uuid>,
    created_at: Moment,
    updated_at: Moment,
}

impl RecordState {
    fn new(kind: Kind, id: Uuid, data: Object, created_at: Moment, updated_at: Moment) -> Self {
        let property_id = if kind == Kind::Property { Some(id) } else { named_property(&data) };
        Self { data, property_id, created_at, updated_at }
    }
}

/// A record of a batch: what there was, and what there is to be.
#[derive(Debug, Default)]
struct Slot {
    /// Since when it is in the database, and what it names there.
    stored: Option<(Moment, BTreeSet<(Kind, Uuid)>)>,
    /// As it stands now, while the batch is applied.
    now: Option<RecordState>,
    /// Whether that is to be written.
    is_changed: bool,
    /// Whether it has been removed on the way: what is there now, if anything, is another.
    was_removed: bool,
}

/// What a batch makes of the records it is about. Everything is read first, by sets; then the records are applied in memory, in
/// order; then what that comes to is written, by sets.
#[derive(Default)]
pub(super) struct Batch {
    slots: HashMap<(Kind, Uuid), Slot>,
    /// What names, or has named, a record that the batch deletes.
    naming: HashMap<(Kind, Uuid), BTreeSet<(Kind, Uuid)>>,
    /// Steps and manuals that name a record that the batch deletes.
    configured: HashMap<(Kind, Uuid), Vec<(String, Uuid)>>,
    zones: HashMap<Uuid, Option<Property>>,
    /// What is wrong with what was sent: where there is anything, nothing is to be written.
    pub(super) issues: Vec<Issue>,
    /// The events that fire.
    pub(super) happenings: Vec<Happening>,
    timers: HashMap<Uuid, Timer>,
}

impl Batch {
    /// Reads, a query a kind, every record that the batch writes or names, and those that name one that it deletes.
    pub(super) fn load(context: &mut Context<'_, '_>, sent: &[SyncRecord]) -> Result<Self> {
        let mut batch = Self::default();
        let mut wanted: BTreeMap<Kind, HashSet<Uuid>> = BTreeMap::new();
        let mut doomed: BTreeMap<Kind, HashSet<Uuid>> = BTreeMap::new();
        for record in sent {
            wanted.entry(record.kind).or_default().insert(record.id);
            match &record.data {
                Some(data) if record.is_deleted != Some(true) => {
                    for (_, kind, id) in references(record.kind, data) {
                        wanted.entry(kind).or_default().insert(id);
                    }
                }
                _ => drop(doomed.entry(record.kind).or_default().insert(record.id)),
            }
        }
        for (kind, ids) in doomed {
            for id in &ids {
                batch.naming.insert((kind, *id), BTreeSet::new());
            }
            for (from_kind, from, id) in stored::linked_from_among(context, kind, ids.into_iter().collect())? {
                if let Ok(from_kind) = from_kind.parse::<Kind>() {
                    wanted.entry(from_kind).or_default().insert(from);
                    batch.naming.entry((kind, id)).or_default().insert((from_kind, from));
                } else {
                    batch.configured.entry((kind, id)).or_default().push((from_kind, from));
                }
            }
        }
        for (kind, ids) in wanted {
            for row in stored::find_rows(context, kind, ids.into_iter().collect())? {
                batch.hold(kind, &row)?;
            }
        }
        Ok(batch)
    }

    fn hold(&mut self, kind: Kind, row: &Row) -> Result<()> {
        let (id, text): (Uuid, store::JsonText) = (row.get(0)?, row.get(2)?);
        let Value::Object(data) = json::read_kept(&text.0).map_err(Error::internal)? else {
            return Err(Error::internal("a record is no object"));
        };
        let created_at = Moment(row.get(3)?);
        let stored = Some((created_at, named(kind, &data)));
        let now = Some(RecordState { data, property_id: row.get(1)?, created_at, updated_at: Moment(row.get(4)?) });
        self.slots.insert((kind, id), Slot { stored, now, ..Slot::default() });
        Ok(())
    }

    fn standing(&self, kind: Kind, id: Uuid) -> Option<&RecordState> {
        self.slots.get(&(kind, id))?.now.as_ref()
    }

    /// Inserts a record or replaces it, or notes what is wrong with it.
    pub(super) fn put(
        &mut self,
        context: &Context<'_, '_>,
        index: usize,
        kind: Kind,
        id: Uuid,
        mut data: Object,
        fires: bool,
    ) -> Result<()> {
        // What the kind defines is read by rules, and is what they read.
        for (_, value) in data.iter_mut().filter(|(field, _)| kind.defines(field)) {
            if let Some(rounded) = json::rounded(value) {
                *value = rounded;
            }
        }
        let path =
            |field: Option<&str>| ["records".into(), index.into(), "data".into()].into_iter().chain(field.map(PathSegment::from)).collect();
        for (field, to, target) in references(kind, &data) {
            if self.standing(to, target).is_none() {
                self.issues.push(Issue::at(path(Some(field)), format!("names an unknown {}", to.as_ref())));
            }
        }
        let before = self.standing(kind, id).cloned();
        if before.as_ref().is_some_and(|before| before.data == data) {
            return Ok(());
        }
        if json::write_kept(&data).map_err(Error::internal)?.len() > kind.data_limit() {
            let message = format!("must be at most {} bytes as JSON", kind.data_limit());
            self.issues.push(Issue::at(path(None), message));
        }
        let now = context.now();
        let created_at = before.as_ref().map_or(Moment(now), |before| before.created_at);
        let updated_at = before.as_ref().map_or(Moment(now), |before| before.updated_at.advanced_to(now));
        let after = RecordState::new(kind, id, data, created_at, updated_at);
        // Where something is wrong nothing will be applied; what is left to find out is what else is.
        if self.issues.is_empty() {
            self.follow_up(now, (kind, id), before.as_ref(), &after, fires)?;
        }
        for target in named(kind, &after.data) {
            // Who names what is not going to be deleted is of no interest.
            if let Some(naming) = self.naming.get_mut(&target) {
                naming.insert((kind, id));
            }
        }
        if kind == Kind::Property {
            self.zones.remove(&id);
        }
        let slot = self.slots.entry((kind, id)).or_default();
        slot.now = Some(after);
        slot.is_changed = true;
        Ok(())
    }

    /// Removes a record, and has what points at it point at nothing.
    pub(super) fn delete(&mut self, now: Timestamp, kind: Kind, id: Uuid) {
        let Some(slot) = self.slots.get_mut(&(kind, id)) else { return };
        if slot.now.take().is_none() {
            return;
        }
        slot.was_removed = true;
        if kind == Kind::Property {
            self.zones.remove(&id);
        }
        if kind == Kind::Device {
            self.timers.insert(id, Timer::Disarm);
        }
        for (from_kind, from) in self.naming.get(&(kind, id)).cloned().unwrap_or_default() {
            self.release(now, (from_kind, from), (kind, id));
        }
    }

    /// Makes a record point at nothing where it points at one that is gone.
    fn release(&mut self, now: Timestamp, (kind, id): (Kind, Uuid), gone: (Kind, Uuid)) {
        let Some(slot) = self.slots.get_mut(&(kind, id)) else { return };
        let Some(standing) = &mut slot.now else { return };
        if !named(kind, &standing.data).contains(&gone) {
            return;
        }
        let is_gone = |value: &Value| value.as_str().and_then(|text| text.parse().ok()) == Some(gone.1);
        let mut data = std::mem::take(&mut standing.data);
        for reference in kind.references().iter().filter(|reference| reference.to == gone.0) {
            match data.get_mut(&reference.field) {
                Some(Value::Array(items)) => items.retain(|item| !is_gone(item)),
                Some(value) if is_gone(value) => *value = Value::Null,
                _ => {}
            }
        }
        *standing = RecordState::new(kind, id, data, standing.created_at, standing.updated_at.advanced_to(now));
        slot.is_changed = true;
    }

    /// Notes what a change leads to. History leads to nothing, but ends what it makes untrue.
    fn follow_up(
        &mut self,
        now: Timestamp,
        (kind, id): (Kind, Uuid),
        before: Option<&RecordState>,
        after: &RecordState,
        fires: bool,
    ) -> Result<()> {
        if !fires && !events::has_timers(kind) {
            return Ok(());
        }
        let property_id = after.property_id;
        let property = property_id.and_then(|id| self.property(id));
        let change = Change { before: before.map(|standing| &standing.data), after: &after.data, property: property.as_ref() };
        let derived = events::derive(kind, &change, now)?;
        let derived = if fires { derived } else { derived.of_history() };
        let happening = |event| Happening { event, kind, record_id: id, property_id };
        self.happenings.extend(derived.fires.into_iter().map(happening));
        if derived.timer != Timer::Keep {
            self.timers.insert(id, derived.timer);
        }
        Ok(())
    }

    fn property(&mut self, id: Uuid) -> Option<Property> {
        let standing = self.slots.get(&(Kind::Property, id)).and_then(|slot| slot.now.as_ref());
        let read = || standing.and_then(|standing| serde_json::from_value(Value::Object(standing.data.clone())).ok());
        self.zones.entry(id).or_insert_with(read).clone()
    }

    /// Writes what the batch comes to.
    pub(super) fn write(mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let removed = self.removed();
        self.remove(context, &removed)?;
        let mut written: Vec<_> = self.slots.drain().filter(|(_, slot)| slot.is_changed && slot.now.is_some()).collect();
        // Rows in one order for everyone, and for a reader of the log.
        written.sort_unstable_by_key(|(record, _)| *record);
        let mut added: BTreeMap<Kind, Vec<Position>> = BTreeMap::new();
        let (mut rows, mut links, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
        let mut relinked: BTreeMap<Kind, Vec<Uuid>> = BTreeMap::new();
        for ((kind, id), slot) in written {
            let Slot { stored, now, was_removed, .. } = slot;
            let Some(RecordState { data, property_id, created_at, updated_at }) = now else { continue };
            let stored = stored.filter(|_| !was_removed);
            let names = named(kind, &data);
            if stored.is_none() {
                added.entry(kind).or_default().push((created_at.0, id));
                if kind == Kind::Reservation {
                    tokens.push(values![id, access::token_of("", context.organization.id, context.ids())]);
                }
            }
            // Where records are removed, links to them are, and one of them may have come back.
            if stored.as_ref().is_none_or(|(_, before)| *before != names || !removed.is_empty()) {
                if stored.is_some() && !kind.references().is_empty() {
                    relinked.entry(kind).or_default().push(id);
                }
                links.extend(names.into_iter().map(|(to, target)| (<&str>::from(kind), id, to, target)));
            }
            let doc = json::write_kept(&data).map_err(Error::internal)?;
            rows.push((kind, StoredRecord { id, property_id, doc, facets: facets(kind, &data), created_at, updated_at }));
        }
        let mut gone: BTreeMap<Kind, Vec<Position>> = BTreeMap::new();
        for ((kind, id), created_at) in &removed {
            gone.entry(*kind).or_default().push((created_at.0, *id));
        }
        for kind in Kind::VARIANTS.iter().copied() {
            blocks::note(context, kind, added.remove(&kind).unwrap_or_default(), &gone.remove(&kind).unwrap_or_default())?;
        }
        stored::save_all(context, rows)?;
        for (kind, ids) in relinked {
            for OnRelinked(note) in context.listed() {
                note(context, kind, &ids)?;
            }
            stored::unlink_all(context, kind.as_ref(), ids)?;
        }
        stored::link_all(context, links.into_iter())?;
        context.execute_many(&INSERT_GUEST_LINK, tokens)?;
        events::set_timers(context, &self.timers)?;
        events::fire_all(context, &self.happenings)
    }

    /// The records of the database that are to go from it, and since when they are there.
    fn removed(&self) -> Vec<((Kind, Uuid), Moment)> {
        let removed = self.slots.iter().filter(|(_, slot)| slot.was_removed);
        let mut removed: Vec<_> = removed.filter_map(|(record, slot)| Some((*record, slot.stored.as_ref()?.0))).collect();
        removed.sort_unstable();
        removed
    }

    /// Removes records, what is assigned to them, and what steps and manuals have of them.
    fn remove(&mut self, context: &mut Context<'_, '_>, removed: &[((Kind, Uuid), Moment)]) -> Result<()> {
        let mut by_kind: BTreeMap<Kind, Vec<Uuid>> = BTreeMap::new();
        let mut linking: HashMap<&str, Vec<(Uuid, Kind, Uuid)>> = HashMap::new();
        let known = context.listed::<Linking>();
        for ((kind, id), _) in removed {
            by_kind.entry(*kind).or_default().push(*id);
            for (from, of) in self.configured.remove(&(*kind, *id)).unwrap_or_default() {
                let chapter = known.iter().find(|chapter| chapter.filed_as == from);
                let chapter = chapter.ok_or_else(|| Error::internal("a link from an unknown kind"))?;
                linking.entry(chapter.filed_as).or_default().push((of, *kind, *id));
            }
        }
        for (kind, ids) in by_kind {
            stored::remove_all(context, kind, &ids)?;
            for OnGone(forget) in context.listed() {
                forget(context, kind, &ids)?;
            }
        }
        for chapter in known {
            if let Some(links) = linking.get(chapter.filed_as) {
                (chapter.forget)(context, links)?;
            }
        }
        Ok(())
    }
}

fn named_property(data: &Object) -> Option<Uuid> {
    data.get("propertyId").and_then(Value::as_str).and_then(|text| text.parse().ok())
}
