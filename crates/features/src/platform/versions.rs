//! Versions of records. An older version that arrives late does not replace a newer version. The
//! platform increases the version, a number or a timestamp, with each change (rules:
//! sync#versions).

use std::collections::HashMap;

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::values;
use jiff::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use crate::records::RecordKind;

store::statements! {
    /// The versions of records of a kind.
    VERSIONS = "select record_id, version from record_version where organization_id = ?1
        and kind = ?2 and record_id = any(?3)";
    /// Stores the version of a record.
    PUT_VERSION = "insert into record_version (organization_id, kind, record_id, version)
        values (?1, ?2, ?3, ?4)
        on conflict (organization_id, kind, record_id) do update set version = excluded.version";
}

/// The version of a record, as the platform sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum RecordVersion {
    Number(i64),
    Time(Moment),
}

impl RecordVersion {
    /// Parses the text of a stored version, which is a number or a timestamp. Returns `None` for
    /// any other text.
    fn from_text(text: &str) -> Option<Self> {
        let number = text.parse().ok().map(Self::Number);
        number.or_else(|| Some(Self::Time(Moment(text.parse::<Timestamp>().ok()?))))
    }

    /// Returns the version as the text that the database stores.
    fn to_text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Time(timestamp) => timestamp.0.to_string(),
        }
    }

    /// Returns whether this version is older than `other`. A number and a timestamp are not
    /// comparable, so neither is older than the other.
    fn is_before(self, other: Self) -> bool {
        match (self, other) {
            (Self::Number(own), Self::Number(other)) => own < other,
            (Self::Time(own), Self::Time(other)) => own < other,
            _ => false,
        }
    }
}

/// The versions of the records in a batch.
#[derive(Default)]
pub(super) struct RecordVersions {
    /// The current version of each record.
    current: HashMap<(RecordKind, Uuid), RecordVersion>,
    /// The records whose new version `write` stores.
    changed: Vec<(RecordKind, Uuid)>,
}

impl RecordVersions {
    /// Reads the stored versions of records.
    pub(super) fn load(
        context: &mut Context<'_, '_>,
        records: impl Iterator<Item = (RecordKind, Uuid)>,
    ) -> Result<Self> {
        let mut ids_by_kind = HashMap::<RecordKind, Vec<Uuid>>::new();
        for (kind, id) in records {
            ids_by_kind.entry(kind).or_default().push(id);
        }
        let mut versions = Self::default();
        for (kind, ids) in ids_by_kind {
            for row in context.rows(&VERSIONS, values![kind.as_ref(), ids])? {
                if let Some(version) = RecordVersion::from_text(&row.get::<String>(1)?) {
                    versions.current.insert((kind, row.get(0)?), version);
                }
            }
        }
        Ok(versions)
    }

    /// Returns whether the stored version of the record is newer than `version`.
    pub(super) fn is_stale(
        &self,
        record: (RecordKind, Uuid),
        version: Option<RecordVersion>,
    ) -> bool {
        let current = self.current.get(&record);
        version.is_some_and(|version| current.is_some_and(|current| version.is_before(*current)))
    }

    /// Sets the version of a record, and notes whether it must be written. `None` leaves the
    /// version unchanged.
    pub(super) fn set(&mut self, record: (RecordKind, Uuid), version: Option<RecordVersion>) {
        if let Some(version) = version
            && self.current.insert(record, version) != Some(version)
        {
            self.changed.push(record);
        }
    }

    /// Writes the versions that have changed.
    pub(super) fn write(mut self, context: &mut Context<'_, '_>) -> Result<()> {
        self.changed.sort_unstable();
        self.changed.dedup();
        let row = |(kind, id): &(RecordKind, Uuid)| {
            let version = self.current.get(&(*kind, *id))?;
            Some(values![kind.as_ref(), *id, version.to_text()])
        };
        let rows = self.changed.iter().filter_map(row).collect();
        context.execute_many(&PUT_VERSION, rows).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time(text: &str) -> RecordVersion {
        RecordVersion::Time(text.parse().unwrap())
    }

    #[test]
    fn versions_of_one_sort_are_compared() {
        let early = time("2026-11-21T09:30:00.000001Z");
        let late = time("2026-11-21T10:30:00.000002+01:00");
        assert!(early.is_before(late) && !late.is_before(early) && !late.is_before(late));
        let (one, two) = (RecordVersion::Number(1), RecordVersion::Number(2));
        assert!(one.is_before(two) && !two.is_before(one) && !one.is_before(one));
        assert!(!one.is_before(late) && !early.is_before(two));
    }

    #[test]
    fn a_record_without_a_version_keeps_the_stored_one() {
        let record = (RecordKind::Tag, Uuid::nil());
        let mut versions = RecordVersions::default();
        versions.set(record, Some(RecordVersion::Number(7)));
        versions.set(record, None);
        assert!(!versions.is_stale(record, None));
        assert!(versions.is_stale(record, Some(RecordVersion::Number(6))));
        assert!(!versions.is_stale(record, Some(RecordVersion::Number(7))));
        assert!(!versions.is_stale(record, Some(time("2020-01-01T00:00:00Z"))));
    }

    proptest! {
        #[test]
        fn a_stored_version_reads_back(
            number: i64,
            second in -60_000_000_000_i64..250_000_000_000,
            nanosecond in 0..1_000_000_000_i32,
        ) {
            let time = RecordVersion::Time(Moment(Timestamp::new(second, nanosecond).unwrap()));
            for version in [RecordVersion::Number(number), time] {
                prop_assert_eq!(RecordVersion::from_text(&version.to_text()), Some(version));
            }
        }
    }
}
