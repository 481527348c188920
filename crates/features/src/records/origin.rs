//! The origin of a record, which decides who may change the record (rules: records#origin).

use engine::error::{Error, Result};
use serde_json::{Value, json};
use store::Row;
use strum::VariantArray;

/// The position of the column `origin` in the statements that read whole records.
const COLUMN: usize = 5;

engine::stored_enum! {
    /// The writer of a record.
    #[derive(Default)]
    pub enum RecordOrigin {
        /// The platform, over its interface.
        #[default]
        Platform,
        /// A person or program of the organization, through `putRecords`, the console or a CSV
        /// file; or the service itself, for example a task for an issue that a guest reported.
        Manual,
        /// A calendar feed.
        Calendar,
    }
}

impl RecordOrigin {
    /// Returns the origin of a record after a write, or `None` if the writer may not change the
    /// record. The platform may change any record, and its change makes the platform the origin.
    /// Other writers may not change a record whose origin is the platform.
    #[must_use]
    pub fn after(before: Option<Self>, writer: Self) -> Option<Self> {
        match (before, writer) {
            (_, Self::Platform) => Some(Self::Platform),
            (Some(Self::Platform), _) => None,
            (Some(origin), _) => Some(origin),
            (None, writer) => Some(writer),
        }
    }

    /// Reads the origin of a record from a row of `id, property_id, doc, created_at, updated_at,
    /// origin`.
    pub(crate) fn from_row(row: &Row) -> Result<Self> {
        let name: String = row.get(COLUMN)?;
        name.parse().map_err(Error::internal)
    }

    /// Returns the JSON Schema of the field `origin` in reads.
    pub(crate) fn view_schema() -> Value {
        json!({
            "type": "string",
            "enum": Self::VARIANTS,
            "description": "Who wrote the record: the platform, somebody of the organization, or a \
                calendar feed.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_platform_changes_its_own_records() {
        use RecordOrigin::{Calendar, Manual, Platform};
        for (before, writer, after) in [
            (None, Platform, Some(Platform)),
            (None, Manual, Some(Manual)),
            (None, Calendar, Some(Calendar)),
            (Some(Platform), Platform, Some(Platform)),
            (Some(Platform), Manual, None),
            (Some(Platform), Calendar, None),
            (Some(Manual), Platform, Some(Platform)),
            (Some(Manual), Manual, Some(Manual)),
            (Some(Calendar), Manual, Some(Calendar)),
            (Some(Calendar), Platform, Some(Platform)),
        ] {
            assert_eq!(
                RecordOrigin::after(before, writer),
                after,
                "{before:?} {writer:?}"
            );
        }
    }
}
