//! The texts that manuals and their categories link, and the checks that run when any operation
//! changes one of these texts.

use std::collections::HashSet;

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use uuid::Uuid;

use super::manual::WrittenManual;
use super::{categories, category_operations, visible};
use crate::translations::{SourceTable, TextChange, TextForm, TextRules};

/// The titles and bodies of manuals. Several manuals may link the same text.
pub(crate) struct ManualTexts;

/// The titles of categories. Each title belongs to one category, whose operations write and link
/// the title.
pub(crate) struct CategoryTitles;

/// The field that links the title of a manual. The title of a category is linked by a field of the
/// same name.
pub(super) const TITLE: &str = "titleId";
/// The field that links the body of a manual.
pub(super) const DESCRIPTION: &str = "descriptionId";

impl WrittenManual {
    /// Returns the name of each field that can link a text, with the id of the linked text. The id
    /// is `None` if the field links no text.
    #[must_use]
    pub fn linked_texts(&self) -> [(&'static str, Option<Uuid>); 2] {
        [(TITLE, self.title_id), (DESCRIPTION, self.description_id)]
    }
}

impl TextRules for ManualTexts {
    fn sources(&self) -> &'static [SourceTable] {
        &[SourceTable::Manual]
    }

    fn form(&self, field: &str) -> TextForm {
        TextForm::up_to(if field == TITLE { 200 } else { 5_000 })
    }

    fn is_markdown(&self, field: &str) -> bool {
        field == DESCRIPTION
    }

    fn visible(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        visible::visible_ids(context, things.iter().copied())
    }

    fn writable(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        visible::writable_ids(context, things)
    }

    fn admit(&self, context: &mut Context<'_, '_>, _: &TextChange<'_>) -> Result<()> {
        context.require(Permission::ModifyGuides)
    }
}

impl TextRules for CategoryTitles {
    fn sources(&self) -> &'static [SourceTable] {
        &[SourceTable::ManualCategory]
    }

    fn form(&self, _: &str) -> TextForm {
        TextForm::trimmed_up_to(200)
    }

    /// A limited caller may change only the titles of categories without manuals of properties
    /// outside the caller's access. Every caller can read the titles of all categories.
    fn writable(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        category_operations::writable_ids(context, things)
    }

    fn admit(&self, context: &mut Context<'_, '_>, change: &TextChange<'_>) -> Result<()> {
        context.require(Permission::ModifyGuides)?;
        let with_title = change.things(|_| true);
        if change.is_english() {
            category_operations::check_title(context, &with_title, change.text)
        } else {
            Ok(())
        }
    }

    fn changed(&self, context: &mut Context<'_, '_>, change: &TextChange<'_>) -> Result<()> {
        if !change.is_english() {
            return Ok(());
        }
        for id in change.things(|_| true) {
            let Some(mut category) = categories::find(context, id)? else {
                continue;
            };
            category.updated_at = category.updated_at.advanced_to(context.now());
            categories::put(context, &category)?;
        }
        Ok(())
    }
}
