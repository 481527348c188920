//! Reads the records of a batch from the database.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use serde_json::Value;
use store::Row;
use uuid::Uuid;

use super::super::sync::OnInvalid;
use super::super::versions::RecordVersions;
use super::{BatchRecord, RecordState, SyncBatch, SyncRecord, referenced_records, references};
use crate::events;
use crate::records::{HostTally, RecordKind, RecordOrigin, stored};

impl SyncBatch {
    /// Reads the records that the batch writes, the records to which they refer, and the records
    /// that refer to a deleted record. Runs one query for each kind.
    pub(in crate::platform) fn load(
        context: &mut Context<'_, '_>,
        sent: &[SyncRecord],
        writer: RecordOrigin,
        on_invalid: OnInvalid,
    ) -> Result<Self> {
        let versioned = sent.iter().filter(|record| record.version.is_some());
        let writes_hosts = sent
            .iter()
            .any(|record| record.kind == RecordKind::CustomUrl);
        let mut batch = Self {
            tally: if writes_hosts {
                HostTally::load(context)?
            } else {
                HostTally::default()
            },
            writer,
            on_invalid,
            change_time: stored::begin_change(context)?,
            versions: RecordVersions::load(
                context,
                versioned.map(|record| (record.kind, record.id)),
            )?,
            ..Self::default()
        };
        let mut wanted: BTreeMap<RecordKind, HashSet<Uuid>> = BTreeMap::new();
        let mut doomed: BTreeMap<RecordKind, HashSet<Uuid>> = BTreeMap::new();
        for record in sent {
            wanted.entry(record.kind).or_default().insert(record.id);
            match record.data_to_write() {
                Some(data) => {
                    for (_, kind, id) in references(record.kind, data) {
                        wanted.entry(kind).or_default().insert(id);
                    }
                }
                None => drop(doomed.entry(record.kind).or_default().insert(record.id)),
            }
        }
        for (kind, ids) in doomed {
            for id in &ids {
                batch.referrers.insert((kind, *id), BTreeSet::new());
            }
            for (from_kind, from, id) in
                stored::link_sources_of_all(context, kind, ids.into_iter().collect())?
            {
                if let Ok(from_kind) = from_kind.parse::<RecordKind>() {
                    wanted.entry(from_kind).or_default().insert(from);
                    batch
                        .referrers
                        .entry((kind, id))
                        .or_default()
                        .insert((from_kind, from));
                } else {
                    batch
                        .referring_settings
                        .entry((kind, id))
                        .or_default()
                        .push((from_kind, from));
                }
            }
        }
        let reviews = wanted
            .get(&RecordKind::Review)
            .into_iter()
            .flatten()
            .copied();
        batch.known_reviews = events::arrived_reviews(context, reviews.collect())?;
        for (kind, ids) in wanted {
            for row in stored::find_rows(context, kind, ids.into_iter().collect())? {
                batch.hold(kind, &row)?;
            }
        }
        Ok(batch)
    }

    fn hold(&mut self, kind: RecordKind, row: &Row) -> Result<()> {
        let (id, text): (Uuid, store::JsonText) = (row.get(0)?, row.get(2)?);
        let Value::Object(data) = serde_json::from_str(&text.0).map_err(Error::internal)? else {
            return Err(Error::internal("a stored record is not a JSON object"));
        };
        let created_at = Moment(row.get(3)?);
        let stored = Some((created_at, referenced_records(kind, &data)));
        let now = Some(RecordState {
            data,
            origin: RecordOrigin::from_row(row)?,
            property_id: row.get(1)?,
            created_at,
            updated_at: Moment(row.get(4)?),
        });
        self.records.insert(
            (kind, id),
            BatchRecord {
                stored,
                now,
                ..BatchRecord::default()
            },
        );
        Ok(())
    }
}
