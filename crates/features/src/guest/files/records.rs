//! The database rows of files that guests upload. The transaction that deletes a row also queues
//! the storage key of the file's bytes. `sweep.rs` then deletes the bytes from the storage.

use std::collections::HashMap;

use engine::app_state::WakeSignal;
use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::values;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Json, Row};
use uuid::Uuid;

use super::kind::with_extension;
use crate::guest::bounds::UploadLimits;

store::statements! {
    /// Selects the files of a stay, oldest first.
    OF_STAY = "select id, step_id, created_at, doc, key from guest_file where organization_id = ?1
        and reservation_id = ?2 order by created_at, id";
    /// Selects the files of several stays, oldest first.
    OF_STAYS = "select id, step_id, created_at, doc, key, reservation_id from guest_file
        where organization_id = ?1
        and reservation_id = any(?2) order by created_at, id";
    /// Inserts a file.
    INSERT_FILE = "insert into guest_file
        (organization_id, id, reservation_id, step_id, key, created_at, due_at, doc, size)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    /// Sums the bytes of the files of a stay, and of all files of its organization.
    STORED_BYTES = "select cast(coalesce(sum(case when reservation_id = ?2 then size end),
        0) as bigint),
        cast(coalesce(sum(size), 0) as bigint) from guest_file where organization_id = ?1";
    /// Queues a storage key whose bytes belong to no row of `guest_file`, so that the bytes are
    /// deleted from the storage.
    QUEUE_KEY = "insert into file_removal (organization_id, key) values (?1, ?2)
        on conflict do nothing";
    /// Queues the storage keys of the given files for removal.
    QUEUE_FILES = "insert into file_removal (organization_id, key) select organization_id, key
        from guest_file
        where organization_id = ?1 and id = any(?2) on conflict do nothing";
    /// Deletes the rows of the given files.
    REMOVE_FILES = "delete from guest_file where organization_id = ?1 and id = any(?2)";
    /// Queues the storage keys of all files of the given stays for removal.
    QUEUE_FILES_OF_STAYS = "insert into file_removal (organization_id, key)
        select organization_id, key from guest_file
        where organization_id = ?1 and reservation_id = any(?2) on conflict do nothing";
    /// Deletes the rows of all files of the given stays.
    REMOVE_FILES_OF_STAYS = "delete from guest_file where organization_id = ?1
        and reservation_id = any(?2)";
}

/// The wake signal that is sent when keys are queued for removal.
pub(crate) const REMOVALS: WakeSignal = WakeSignal("file_removals");

/// The JSON document in the row of a file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FileDocument {
    pub name: String,
    pub content_type: String,
    pub size: u64,
    pub document_type: Option<String>,
    /// The SHA-256 of the file's bytes, in base64.
    pub digest: Option<String>,
    /// The UUID that the sender chose for the file, by which a repeated upload is recognized.
    pub form_key: Option<Uuid>,
}

/// A file that a guest uploaded.
#[derive(Debug, Clone)]
pub(crate) struct GuestFile {
    pub(super) id: Uuid,
    pub(in crate::guest) created_at: Moment,
    pub(super) key: String,
    pub(super) document: FileDocument,
}

/// A guest's file in a response.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileView {
    /// File id.
    pub id: Uuid,
    /// The sender's file name.
    pub name: String,
    /// Media type, detected by the first bytes.
    pub content_type: String,
    /// Size in bytes.
    pub size: u64,
    /// Type of document, as the guest states it.
    pub document_type: Option<String>,
    /// Time of the upload.
    pub created_at: Moment,
}

impl GuestFile {
    /// Reads a row with the columns `id, step_id, created_at, doc, key`.
    fn from_row(row: &Row) -> Result<Self> {
        let Json(about) = row.get::<Json<FileDocument>>(3)?;
        let about = FileDocument {
            name: with_extension(&about.name, &about.content_type),
            ..about
        };
        Ok(Self {
            id: row.get(0)?,
            created_at: Moment(row.get(2)?),
            key: row.get(4)?,
            document: about,
        })
    }

    /// Returns the type of document that the guest stated for the file; `None` if the guest stated
    /// none.
    pub(crate) fn document_type(&self) -> Option<&str> {
        self.document.document_type.as_deref()
    }

    /// Returns the file as responses show it.
    pub(crate) fn view(&self) -> FileView {
        let FileDocument {
            name,
            content_type,
            size,
            document_type,
            ..
        } = self.document.clone();
        FileView {
            id: self.id,
            name,
            content_type,
            size,
            document_type,
            created_at: self.created_at,
        }
    }
}

/// Returns the files of a stay by step, oldest first.
pub(crate) fn of_stay(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
) -> Result<HashMap<Uuid, Vec<GuestFile>>> {
    let mut files = HashMap::<Uuid, Vec<GuestFile>>::new();
    for row in context.rows(&OF_STAY, values![reservation])? {
        files
            .entry(row.get(1)?)
            .or_default()
            .push(GuestFile::from_row(&row)?);
    }
    Ok(files)
}

/// Returns the files of several stays, oldest first, each with the id of its stay and the id of its
/// step.
pub(crate) fn of_stays(
    context: &mut Context<'_, '_>,
    reservations: Vec<Uuid>,
) -> Result<Vec<(Uuid, Uuid, GuestFile)>> {
    let rows = context.rows(&OF_STAYS, values![reservations])?;
    rows.iter()
        .map(|row| Ok((row.get(5)?, row.get(1)?, GuestFile::from_row(row)?)))
        .collect()
}

/// Inserts a file of a step. `due` is the time at which the file's retention is first checked.
pub(super) fn insert(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
    step: Uuid,
    file: &GuestFile,
    due: Timestamp,
) -> Result<()> {
    let doc = store::Value::json(&file.document)?;
    context.execute_deferred(
        &INSERT_FILE,
        values![
            file.id,
            reservation,
            step,
            &file.key,
            file.created_at,
            due,
            doc,
            i64::try_from(file.document.size).unwrap_or(i64::MAX)
        ],
    )
}

/// Returns the number of bytes that the files of a stay use, and the number for all files of its
/// organization.
pub(super) fn used_upload_bytes(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
) -> Result<UploadLimits> {
    let row = context.row(&STORED_BYTES, values![reservation])?;
    let bytes = |column| -> Result<u64> {
        let bytes: i64 = row.as_ref().map_or(Ok(0), |row| row.get(column))?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    };
    Ok(UploadLimits {
        per_stay: bytes(0)?,
        per_organization: bytes(1)?,
    })
}

/// Queues a storage key whose bytes belong to no row of `guest_file`, so that the bytes are deleted
/// from the storage. An example is an upload that turned out to be a duplicate.
pub(super) fn queue_file_removal(context: &mut Context<'_, '_>, key: String) -> Result<()> {
    context.execute_deferred(&QUEUE_KEY, values![key])?;
    context.wake(REMOVALS);
    Ok(())
}

/// Deletes the rows of files, and queues their bytes for removal.
pub(super) fn remove(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<()> {
    context.execute_deferred(&QUEUE_FILES, values![ids.clone()])?;
    context.execute_deferred(&REMOVE_FILES, values![ids])?;
    context.wake(REMOVALS);
    Ok(())
}

/// Deletes the rows of the files of deleted reservations, and queues their bytes for removal.
pub(crate) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_deferred(&QUEUE_FILES_OF_STAYS, values![reservations])?;
    if context.execute(&REMOVE_FILES_OF_STAYS, values![reservations])? > 0 {
        context.wake(REMOVALS);
    }
    Ok(())
}
