//! Files that guests hand in, as the database knows them. Their bytes are removed after their rows: the keys of what is to go are
//! noted in the transaction that removes the rows.

use std::collections::HashMap;

use engine::context::Context;
use engine::error::Result;
use engine::kit::Bell;
use engine::moment::Moment;
use engine::values;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Json, Row};
use uuid::Uuid;

store::statements! {
    /// The files of a stay, oldest first.
    OF_STAY = "select id, step_id, created_at, doc, key from guest_file where organization_id = ?1 and reservation_id = ?2 order by created_at, id";
    /// A new file.
    INSERT_FILE = "insert into guest_file (organization_id, id, reservation_id, step_id, key, created_at, due_at, doc)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    /// Notes the keys of some files, for their bytes to be removed.
    NOTE_REMOVAL = "insert into file_removal (organization_id, key) select organization_id, key from guest_file
        where organization_id = ?1 and id = any(?2) on conflict do nothing";
    /// Removes some files.
    REMOVE_FILES = "delete from guest_file where organization_id = ?1 and id = any(?2)";
    /// The same for all files of some stays.
    NOTE_REMOVAL_OF_STAYS = "insert into file_removal (organization_id, key) select organization_id, key from guest_file
        where organization_id = ?1 and reservation_id = any(?2) on conflict do nothing";
    /// Removes all files of some stays.
    REMOVE_FILES_OF_STAYS = "delete from guest_file where organization_id = ?1 and reservation_id = any(?2)";
}

/// Rings when there are bytes to remove.
pub(crate) const REMOVALS: Bell = Bell("file_removals");

/// What is kept of a file beside its row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct About {
    pub name: String,
    pub content_type: String,
    pub size: u64,
    pub document_type: Option<String>,
}

/// A file that a guest has handed in.
#[derive(Debug, Clone)]
pub(crate) struct GuestFile {
    pub(super) id: Uuid,
    pub(super) created_at: Moment,
    pub(super) key: String,
    pub(super) about: About,
}

/// A file as it is answered.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileView {
    /// Which file.
    pub id: Uuid,
    /// What its sender called it.
    pub name: String,
    /// What it is by its first bytes, as a media type.
    pub content_type: String,
    /// Its bytes.
    pub size: u64,
    /// Which sort of document it is to be, as the guest says.
    pub document_type: Option<String>,
    /// When it was handed in.
    pub created_at: Moment,
}

impl GuestFile {
    /// From the columns `id, step_id, created_at, doc, key`.
    fn from_row(row: &Row) -> Result<Self> {
        let Json(about) = row.get(3)?;
        Ok(Self { id: row.get(0)?, created_at: Moment(row.get(2)?), key: row.get(4)?, about })
    }

    /// Which sort of document it is to be.
    pub(crate) fn document_type(&self) -> Option<&str> {
        self.about.document_type.as_deref()
    }

    /// As it is answered.
    pub(crate) fn view(&self) -> FileView {
        let About { name, content_type, size, document_type } = self.about.clone();
        FileView { id: self.id, name, content_type, size, document_type, created_at: self.created_at }
    }
}

/// The files of a stay by step, oldest first.
pub(crate) fn of_stay(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<HashMap<Uuid, Vec<GuestFile>>> {
    let mut files = HashMap::<Uuid, Vec<GuestFile>>::new();
    for row in context.rows(&OF_STAY, values![reservation])? {
        files.entry(row.get(1)?).or_default().push(GuestFile::from_row(&row)?);
    }
    Ok(files)
}

/// Notes a file of a step; `due` is when it is first looked at whether it has been kept for long enough.
pub(super) fn insert(context: &mut Context<'_, '_>, reservation: Uuid, step: Uuid, file: &GuestFile, due: Timestamp) -> Result<()> {
    let doc = store::Value::json(&file.about)?;
    context.execute_along(&INSERT_FILE, values![file.id, reservation, step, &file.key, file.created_at, due, doc])
}

/// Removes files, and their bytes after that.
pub(super) fn remove(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<()> {
    context.execute_along(&NOTE_REMOVAL, values![ids.clone()])?;
    context.execute_along(&REMOVE_FILES, values![ids])?;
    context.ring(REMOVALS);
    Ok(())
}

/// Removes the files of stays that are gone, and their bytes after that.
pub(crate) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_along(&NOTE_REMOVAL_OF_STAYS, values![reservations])?;
    if context.execute(&REMOVE_FILES_OF_STAYS, values![reservations])? > 0 {
        context.ring(REMOVALS);
    }
    Ok(())
}
