//! Writes the result of a batch to the database.

use std::collections::{BTreeMap, HashMap};

use engine::access;
use engine::context::Context;
use engine::error::{Error, Issue, Result};
use engine::moment::Moment;
use engine::values;
use strum::VariantArray;
use uuid::Uuid;

use super::{BatchRecord, RecordState, SyncBatch, referenced_records};
use crate::events;
use crate::records::blocks::{self, Position};
use crate::records::stored::{self, StoredRecord};
use crate::records::{
    LinkSources, OnChanged, OnDeleted, OnLinksChanged, RecordKind, facets, follow_domains,
};

store::statements! {
    /// Inserts the guest link of a reservation, with its token. Does nothing if the reservation
    /// already has a guest link.
    INSERT_GUEST_LINK = "insert into guest_link (organization_id, reservation_id, token)
        values (?1, ?2, ?3) on conflict do nothing";
}

impl SyncBatch {
    /// Writes the batch to the database: the versions of records, the deletions, and the new and
    /// changed records with their links.
    pub(in crate::platform) fn write(mut self, context: &mut Context<'_, '_>) -> Result<()> {
        std::mem::take(&mut self.versions).write(context)?;
        let has_domains = self.records.iter().any(|((kind, _), slot)| {
            *kind == RecordKind::CustomUrl && (slot.is_changed || slot.was_deleted)
        });
        let removed = self.removed();
        self.remove(context, &removed)?;
        let mut written: Vec<_> = self
            .records
            .drain()
            .filter(|(_, slot)| slot.is_changed && slot.now.is_some())
            .collect();
        // `self.records` is a hash map without an order. Sorting makes every batch write its rows
        // in the same order.
        written.sort_unstable_by_key(|(record, _)| *record);
        let mut added: BTreeMap<RecordKind, Vec<Position>> = BTreeMap::new();
        let (mut rows, mut links, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
        let mut relinked: BTreeMap<RecordKind, Vec<Uuid>> = BTreeMap::new();
        let mut changed: BTreeMap<RecordKind, Vec<Uuid>> = BTreeMap::new();
        let mut last = self.change_time;
        for ((kind, id), slot) in written {
            let BatchRecord { stored, now, .. } = slot;
            let Some(RecordState {
                data,
                origin,
                property_id,
                created_at,
                updated_at,
            }) = now
            else {
                continue;
            };
            last = last.max(updated_at.0);
            let names = referenced_records(kind, &data);
            if stored.is_some() {
                changed.entry(kind).or_default().push(id);
            } else {
                added.entry(kind).or_default().push((created_at.0, id));
                if kind == RecordKind::Reservation {
                    tokens.push(values![
                        id,
                        access::token_of("", context.organization.id, context.ids())
                    ]);
                }
            }
            if stored.as_ref().is_none_or(|(_, before)| *before != names) {
                if stored.is_some() && !kind.references().is_empty() {
                    relinked.entry(kind).or_default().push(id);
                }
                links.extend(
                    names
                        .into_iter()
                        .map(|(to, target)| (<&str>::from(kind), id, to, target)),
                );
            }
            let doc = serde_json::to_string(&data).map_err(Error::internal)?;
            rows.push((
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
            ));
        }
        let mut gone: BTreeMap<RecordKind, Vec<Position>> = BTreeMap::new();
        for ((kind, id), created_at) in &removed {
            gone.entry(*kind).or_default().push((created_at.0, *id));
        }
        for kind in RecordKind::VARIANTS.iter().copied() {
            blocks::update_block_counts(
                context,
                kind,
                added.remove(&kind).unwrap_or_default(),
                &gone.remove(&kind).unwrap_or_default(),
            )?;
        }
        stored::save_all(context, rows)?;
        if last > self.change_time {
            stored::end_change(context, last)?;
        }
        if has_domains && let Err((host, refused)) = follow_domains(context)? {
            let index = self.hosts.get(&host).copied().unwrap_or_default();
            let path = vec!["records".into(), index.into(), "data".into(), "host".into()];
            return Err(Error::issues(vec![Issue::at(path, refused.message())]));
        }
        for (kind, ids) in changed {
            for OnChanged(follow) in context.listed() {
                follow(context, kind, &ids)?;
            }
        }
        for (kind, ids) in relinked {
            for OnLinksChanged(note) in context.listed() {
                note(context, kind, &ids)?;
            }
            stored::unlink_all(context, kind.as_ref(), ids)?;
        }
        stored::link_all(context, links.into_iter())?;
        context.execute_many(&INSERT_GUEST_LINK, tokens)?;
        events::record_arrived_reviews(context, std::mem::take(&mut self.new_reviews))?;
        events::set_timers(context, &self.timers)?;
        events::fire_all(context, &self.record_events)
    }

    /// Returns the stored records to delete, with their time of creation.
    fn removed(&self) -> Vec<((RecordKind, Uuid), Moment)> {
        let removed = self.records.iter().filter(|(_, slot)| slot.was_deleted);
        let mut removed: Vec<_> = removed
            .filter_map(|(record, slot)| Some((*record, slot.stored.as_ref()?.0)))
            .collect();
        removed.sort_unstable();
        removed
    }

    /// Deletes records and their assignments, and removes the references to these records from
    /// steps and manuals.
    fn remove(
        &mut self,
        context: &mut Context<'_, '_>,
        removed: &[((RecordKind, Uuid), Moment)],
    ) -> Result<()> {
        let mut by_kind: BTreeMap<RecordKind, Vec<Uuid>> = BTreeMap::new();
        let mut linking: HashMap<&str, Vec<(Uuid, RecordKind, Uuid)>> = HashMap::new();
        let known = context.listed::<LinkSources>();
        for ((kind, id), _) in removed {
            by_kind.entry(*kind).or_default().push(*id);
            for (from, of) in self
                .referring_settings
                .remove(&(*kind, *id))
                .unwrap_or_default()
            {
                let module = known.iter().find(|module| module.from_kind == from);
                let module = module.ok_or_else(|| {
                    Error::internal("a record of an unknown kind refers to this one")
                })?;
                linking
                    .entry(module.from_kind)
                    .or_default()
                    .push((of, *kind, *id));
            }
        }
        for (kind, ids) in by_kind {
            stored::remove_all(context, kind, &ids)?;
            for OnDeleted(forget) in context.listed() {
                forget(context, kind, &ids)?;
            }
        }
        for module in known {
            if let Some(links) = linking.get(module.from_kind) {
                (module.remove_links)(context, links)?;
            }
        }
        Ok(())
    }
}
