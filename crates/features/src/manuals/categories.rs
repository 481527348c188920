//! Reads and writes manual categories, the headings of manuals, in the database (rules:
//! categories).

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::values;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use store::Row;
use uuid::Uuid;

use super::texts::TITLE;
use crate::translations::{self, Texts};

store::statements! {
    /// Selects the categories in the order in which portals show them.
    CATEGORIES = "select id, title_id, sort_order, created_at, updated_at from manual_category
        where organization_id = ?1 order by sort_order, created_at, id";
    /// Selects a category.
    CATEGORY = "select id, title_id, sort_order, created_at, updated_at from manual_category
        where organization_id = ?1 and id = ?2";
    /// Inserts or updates a category.
    PUT_CATEGORY = "insert into manual_category
        (organization_id, id, title_id, sort_order, created_at, updated_at)
        values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (organization_id, id) do update
        set title_id = excluded.title_id, sort_order = excluded.sort_order,
        updated_at = excluded.updated_at";
    /// Deletes a category.
    DELETE_CATEGORY = "delete from manual_category where organization_id = ?1 and id = ?2";
}

/// A stored category.
#[derive(Debug, Clone)]
pub(crate) struct StoredCategory {
    pub id: Uuid,
    /// The id of the translation of the title.
    pub title_id: Option<Uuid>,
    /// Position among the categories. Two categories can have the same position.
    pub sort_order: i64,
    pub created_at: Moment,
    pub updated_at: Moment,
}

/// A manual category in responses.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ManualCategory", example = json!({
    "id": "0192f0c1-2345-7abc-8def-0123456789ab",
    "title": "Getting in",
    "titleId": "0192f0c1-2345-7abc-8def-0123456789ac",
    "sortOrder": 0,
    "createdAt": "2026-11-21T09:30:00.000Z",
    "updatedAt": "2026-11-21T09:30:00.000Z",
}))]
pub struct CategoryView {
    pub id: Uuid,
    /// The title in the requested language, or else in the nearest available one; null for a
    /// category without a title.
    pub title: Option<String>,
    pub title_id: Option<Uuid>,
    sort_order: i64,
    created_at: Moment,
    updated_at: Moment,
}

impl StoredCategory {
    fn from_row(row: &Row) -> Result<Self> {
        let (created_at, updated_at) = (Moment(row.get(3)?), Moment(row.get(4)?));
        Ok(Self {
            id: row.get(0)?,
            title_id: row.get(1)?,
            sort_order: row.get(2)?,
            created_at,
            updated_at,
        })
    }

    pub(super) fn view(&self, texts: &Texts) -> CategoryView {
        let Self {
            id,
            title_id,
            sort_order,
            created_at,
            updated_at,
        } = *self;
        CategoryView {
            id,
            title: texts.of(title_id),
            title_id,
            sort_order,
            created_at,
            updated_at,
        }
    }
}

/// Returns the categories of the organization in the order in which portals show them.
pub(crate) fn in_order(context: &mut Context<'_, '_>) -> Result<Vec<StoredCategory>> {
    context
        .rows(&CATEGORIES, [])?
        .iter()
        .map(StoredCategory::from_row)
        .collect()
}

/// Reads a category.
pub(super) fn find(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<StoredCategory>> {
    context
        .row(&CATEGORY, values![id])?
        .as_ref()
        .map(StoredCategory::from_row)
        .transpose()
}

/// Writes a category and the link to its title. `before` is the id of the title that the stored
/// category links; `None` for a new category.
pub(super) fn save(
    context: &mut Context<'_, '_>,
    before: Option<Uuid>,
    category: &StoredCategory,
) -> Result<()> {
    put(context, category)?;
    translations::save_links(
        context,
        category.id,
        [(TITLE, before)],
        [(TITLE, category.title_id)],
    )
}

/// Writes the row of a category. Does not update the stored link that records where the title is
/// used. Call this function only if `title_id` has not changed.
pub(super) fn put(context: &mut Context<'_, '_>, category: &StoredCategory) -> Result<()> {
    let StoredCategory {
        id,
        title_id,
        sort_order,
        created_at,
        updated_at,
    } = *category;
    context.execute_deferred(
        &PUT_CATEGORY,
        values![id, title_id, sort_order, created_at, updated_at],
    )
}

/// Deletes a category and its title.
pub(super) fn delete(context: &mut Context<'_, '_>, category: &StoredCategory) -> Result<()> {
    context.execute_deferred(&DELETE_CATEGORY, values![category.id])?;
    category
        .title_id
        .map_or(Ok(()), |id| translations::delete(context, id))
}
