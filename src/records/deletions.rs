//! Callbacks of higher modules for deleted records and for records with changed links. They run in
//! the transaction that deletes or changes the records, in the order of the modules.

use engine::context::Context;
use engine::error::Result;
use uuid::Uuid;

use super::RecordKind;

/// Deletes the data that depends on deleted records of a kind.
pub(crate) struct OnDeleted(pub fn(&mut Context<'_, '_>, RecordKind, &[Uuid]) -> Result<()>);

/// The id of a thing, and the kind and id of a deleted record that it links.
pub(crate) type DeletedLink = (Uuid, RecordKind, Uuid);

/// Things that link records and must drop links to deleted records.
pub(crate) struct LinkingThings {
    /// The kind under which their links are stored.
    pub filed_as: &'static str,
    /// Removes the links to deleted records from the things; each entry names a thing and a record.
    pub forget: fn(&mut Context<'_, '_>, &[DeletedLink]) -> Result<()>,
}

/// Updates derived data after the links of records of a kind may have changed. The records are
/// already written.
pub(crate) struct OnRelinked(pub fn(&mut Context<'_, '_>, RecordKind, &[Uuid]) -> Result<()>);

/// Follows records of a kind that were there before and are changed. Their new data is written
/// already.
pub(crate) struct OnChanged(pub fn(&mut Context<'_, '_>, RecordKind, &[Uuid]) -> Result<()>);
