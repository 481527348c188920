//! Callbacks of higher modules for deleted records and for records with changed links. The
//! callbacks run in the transaction that deletes or changes the records, in the order in which
//! `src/app.rs` lists the modules.

use engine::context::Context;
use engine::error::Result;
use uuid::Uuid;

use super::RecordKind;

/// A callback of a higher module. When records of a kind are deleted, the callback deletes the
/// module's data about these records. Its arguments are the kind and the ids of the records.
pub(crate) struct OnDeleted(pub fn(&mut Context<'_, '_>, RecordKind, &[Uuid]) -> Result<()>);

/// A link to a deleted record: the id of the link's source, and the kind and id of the deleted
/// record.
pub(crate) type DeletedLink = (Uuid, RecordKind, Uuid);

/// A type of configuration, such as steps, that links to records. When records are deleted, the
/// service removes the links to these records.
pub(crate) struct LinkSources {
    /// The value of the column `record_link.from_kind` in the links from configuration of this
    /// type, such as steps, to records.
    pub from_kind: &'static str,
    /// Removes the ids of the deleted records from the documents that contain them, such as steps.
    pub remove_links: fn(&mut Context<'_, '_>, &[DeletedLink]) -> Result<()>,
}

/// A callback of a higher module that updates data derived from links between records. It runs
/// after a write of records whose links may have changed, and gets the kind and the ids of these
/// records.
pub(crate) struct OnLinksChanged(pub fn(&mut Context<'_, '_>, RecordKind, &[Uuid]) -> Result<()>);

/// A callback of a higher module that updates data derived from records, such as the charges of a
/// stay. It runs after records are written, and gets the kind and the ids of the changed records.
pub(crate) struct OnChanged(pub fn(&mut Context<'_, '_>, RecordKind, &[Uuid]) -> Result<()>);
