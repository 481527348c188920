//! Reads and writes manuals in the database.

use std::collections::HashMap;

use engine::context::Context;
use engine::error::Result;
use engine::field::fold_name;
use engine::values;
use store::{Json, Row};
use uuid::Uuid;

use super::manual::{Manual, WrittenManual};
use crate::records::{RecordKind, update_record_links};
use crate::translations;

store::statements! {
    /// Selects a manual.
    MANUAL = "select doc from manual where organization_id = ?1 and id = ?2";
    /// Selects all manuals in the order of nicknames, each with the address of its cover image.
    MANUALS = "select m.doc, i.doc ->> 'url' from manual m
        left join record i on i.organization_id = m.organization_id and i.kind = 'image'
        and i.id = m.image_id
        where m.organization_id = ?1 order by m.nickname_key, m.created_at, m.id";
    /// Selects the manuals with the given ids in the order of creation, each with the address of
    /// its cover image.
    AMONG = "select m.doc, i.doc ->> 'url' from manual m
        left join record i on i.organization_id = m.organization_id and i.kind = 'image'
        and i.id = m.image_id
        where m.organization_id = ?1 and m.id = any(?2) order by m.created_at, m.id";
    /// Selects the manuals that are filed under a category, each with the id of the category.
    FILED = "select category_id, id from manual where organization_id = ?1
        and category_id is not null";
    /// Inserts or updates a manual.
    PUT_MANUAL = "insert into manual (organization_id, id, nickname_key, category_id, image_id,
        is_active, created_at, updated_at, doc)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        on conflict (organization_id, id) do update
        set nickname_key = excluded.nickname_key, category_id = excluded.category_id,
        image_id = excluded.image_id, is_active = excluded.is_active,
        updated_at = excluded.updated_at, doc = excluded.doc";
}

/// The value of `record_link.from_kind` for links from manuals to records.
pub(crate) const LINKED_AS: &str = "manual";

/// A manual, and the URL of its cover image.
pub(crate) struct ManualWithCover {
    pub manual: Manual,
    /// The URL of the image; `None` if the cover is an icon.
    pub image_url: Option<String>,
}

/// Reads a manual.
pub(super) fn find(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<Manual>> {
    let row = context.row(&MANUAL, values![id])?;
    Ok(row
        .map(|row| row.get(0).map(|Json(manual)| manual))
        .transpose()?)
}

/// Returns the nickname of a manual.
pub(super) fn name(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<String>> {
    Ok(find(context, id)?.map(|manual| manual.answered.nickname))
}

/// Returns every manual of the organization, ordered by nickname.
pub(crate) fn all_manuals(context: &mut Context<'_, '_>) -> Result<Vec<ManualWithCover>> {
    with_covers(&context.rows(&MANUALS, [])?)
}

/// Returns the manuals with these ids, in the order of creation.
pub(crate) fn manuals_by_id(
    context: &mut Context<'_, '_>,
    ids: Vec<Uuid>,
) -> Result<Vec<ManualWithCover>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    with_covers(&context.rows(&AMONG, values![ids])?)
}

fn with_covers(rows: &[Row]) -> Result<Vec<ManualWithCover>> {
    let from_row = |row: &Row| -> Result<ManualWithCover> {
        let Json(manual) = row.get(0)?;
        Ok(ManualWithCover {
            manual,
            image_url: row.get(1)?,
        })
    };
    rows.iter().map(from_row).collect()
}

/// Returns the ids of the manuals in each category, by the id of the category.
pub(super) fn manuals_by_category(
    context: &mut Context<'_, '_>,
) -> Result<HashMap<Uuid, Vec<Uuid>>> {
    let mut filed = HashMap::<Uuid, Vec<Uuid>>::new();
    for row in context.rows(&FILED, [])? {
        filed.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    Ok(filed)
}

/// Writes a manual, and its links to records and texts.
pub(super) fn save(
    context: &mut Context<'_, '_>,
    before: Option<&Manual>,
    manual: &Manual,
) -> Result<()> {
    context.execute_deferred(&PUT_MANUAL, row(manual)?)?;
    let (id, before, now) = (
        manual.answered.id,
        before.map(|before| &before.answered),
        &manual.answered,
    );
    update_record_links(
        context,
        LINKED_AS,
        id,
        before.into_iter().flat_map(linked_records),
        linked_records(now),
    )?;
    translations::save_links(
        context,
        id,
        before.into_iter().flat_map(WrittenManual::linked_texts),
        now.linked_texts(),
    )
}

/// Returns the records that a manual links.
fn linked_records(manual: &WrittenManual) -> impl Iterator<Item = (RecordKind, Uuid)> + use<> {
    let image = manual.image_id.map(|id| (RecordKind::Image, id));
    image.into_iter().chain(
        manual
            .custom_field_id
            .map(|id| (RecordKind::CustomField, id)),
    )
}

/// Returns the parameters of [`PUT_MANUAL`], except the first, which is the id of the organization.
fn row(manual: &Manual) -> Result<[store::Value; 8]> {
    let answered = &manual.answered;
    let doc = store::Value::json(manual)?;
    let (key, category, image) = (
        fold_name(&answered.nickname),
        answered.manual_category_id,
        answered.image_id,
    );
    Ok(values![
        answered.id,
        key,
        category,
        image,
        answered.is_active,
        answered.created_at,
        answered.updated_at,
        doc
    ])
}

/// Removes the ids of deleted records from the documents of manuals. Each entry of `deleted` is the
/// id of a manual, and the kind and the id of a record. The calling function deletes the rows that
/// link the manuals to the records.
pub(crate) fn forget_records(
    context: &mut Context<'_, '_>,
    deleted: &[(Uuid, RecordKind, Uuid)],
) -> Result<()> {
    let mut links_by_manual = HashMap::<Uuid, Vec<(RecordKind, Uuid)>>::new();
    for (manual, kind, id) in deleted {
        links_by_manual
            .entry(*manual)
            .or_default()
            .push((*kind, *id));
    }
    let mut manuals = manuals_by_id(context, links_by_manual.keys().copied().collect())?;
    for ManualWithCover { manual, .. } in &mut manuals {
        for (kind, id) in links_by_manual
            .get(&manual.answered.id)
            .into_iter()
            .flatten()
        {
            forget_record(&mut manual.answered, *kind, *id);
        }
        manual.answered.updated_at = manual.answered.updated_at.advanced_to(context.now());
    }
    let rows = manuals
        .iter()
        .map(|covered| row(&covered.manual))
        .collect::<Result<_>>()?;
    context.execute_many(&PUT_MANUAL, rows).map(drop)
}

fn forget_record(manual: &mut WrittenManual, kind: RecordKind, gone: Uuid) {
    for (linked, id) in [
        (RecordKind::Image, &mut manual.image_id),
        (RecordKind::CustomField, &mut manual.custom_field_id),
    ] {
        if linked == kind && *id == Some(gone) {
            *id = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_forgets_each_record_that_it_links() {
        let mut manual = WrittenManual::default();
        let [image, custom_field] = [1, 2].map(Uuid::from_u128);
        manual.image_id = Some(image);
        manual.custom_field_id = Some(custom_field);
        let links: Vec<_> = linked_records(&manual).collect();
        assert_eq!(links.len(), 2);
        for (kind, id) in links {
            forget_record(&mut manual, kind, id);
        }
        assert_eq!(linked_records(&manual).count(), 0);
    }
}
