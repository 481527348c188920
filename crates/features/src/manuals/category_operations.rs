//! The operations on manual categories: list, create, rename, reorder and delete.

use std::collections::HashSet;

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, Reason, Result};
use engine::field::{CategoryTitle, Language, fold_name};
use engine::moment::Moment;
use engine::operation::{ById, CacheBasis, Findings, Needs, Operation, OperationName};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::categories::{self, CategoryView, StoredCategory};
use super::{audited, records, visible};
use crate::translations::{self, ENGLISH, OtherLanguages, SourceTable};

/// Lists the categories in the order in which portals show them.
pub const LIST_PORTAL_MANUAL_CATEGORIES: OperationName<Vec<CategoryView>> =
    OperationName::new("listPortalManualCategories");

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListCategories {
    /// Language of the titles, as a BCP 47 tag such as `fr` or `pt-BR`. Left out: English. A title
    /// that is missing in this language is returned in the nearest available language.
    #[serde(default)]
    language: Option<Language>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "title": "Getting in" }))]
struct CreateCategory {
    /// Title of the category in English, which guests read above the manuals of the category: 1 to
    /// 200 characters after trimming. Other languages are translated in the background. The English
    /// title of another category, ignoring case and surrounding spaces, is a 409.
    title: CategoryTitle,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "title": "Arrival" }))]
struct RenameCategory {
    /// Id of the category to rename; manuals stay filed under it.
    id: Uuid,
    /// New title in English, 1 to 200 characters after trimming. The English title of another
    /// category is a 409. Other languages are translated again only if they are all machine
    /// translations.
    title: CategoryTitle,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Reorder {
    /// Ids of categories in the new order, each once: they take the positions 0, 1, 2 and so on. A
    /// category that is left out keeps its position, so two categories can get the same one. If any
    /// category is unknown or not writable, nothing changes.
    #[schemars(length(min = 1, max = 200), extend("uniqueItems" = true))]
    ordered_ids: Vec<Uuid>,
}

impl Reorder {
    fn issue(&self) -> Option<Issue> {
        let distinct: HashSet<&Uuid> = self.ordered_ids.iter().collect();
        (distinct.len() < self.ordered_ids.len())
            .then(|| Issue::new(&["orderedIds"], Reason::Twice))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Reordered {
    /// Number of categories with a new position.
    reordered: usize,
}

/// The result of a deletion. `success` is always true.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DeletedObject {
    success: bool,
}

impl DeletedObject {
    pub(super) const DONE: Self = Self { success: true };
}

pub(super) fn operations() -> Vec<Operation> {
    use Permission::{ModifyGuides, ViewGuides};
    vec![
        Operation::public(
            LIST_PORTAL_MANUAL_CATEGORIES.id(),
            Method::GET,
            "/portal-manual-categories",
            Needs::Permission(ViewGuides),
        )
        .summary("List manual categories in portal order")
        .tool(
            "manuals",
            "List manual categories",
            "The headings that house manuals are filed under, in the order guests see them: id, \
                title.",
        )
        .cached(CacheBasis::Configuration)
        .run_as(LIST_PORTAL_MANUAL_CATEGORIES, list),
        Operation::public(
            "createPortalManualCategory",
            Method::POST,
            "/portal-manual-categories",
            Needs::Permission(ModifyGuides),
        )
        .summary("Create a manual category, after the others")
        .tool(
            "manuals",
            "Create a manual category",
            "Creates a heading for house manuals, after the others. File a manual under it by \
                `manualCategoryId`.",
        )
        .creates()
        .audited(Audits::makes("manual_category", "title"))
        .run(create),
        Operation::public(
            "updatePortalManualCategory",
            Method::PATCH,
            "/portal-manual-categories/{id}",
            Needs::Permission(ModifyGuides),
        )
        .summary("Rename a manual category")
        .tool(
            "manuals",
            "Rename a manual category",
            "Gives a heading of house manuals another English title.",
        )
        .audited(Audits::changes(audited::category))
        .run(rename),
        Operation::public(
            "reorderPortalManualCategories",
            Method::POST,
            "/portal-manual-categories/reorder",
            Needs::Permission(ModifyGuides),
        )
        .summary("Give manual categories positions")
        .tool(
            "manuals",
            "Order manual categories",
            "Puts headings of house manuals in the order of `orderedIds`.",
        )
        .idempotent()
        .rules(|input: Reorder, _| Findings::sent(input.issue()))
        .audited(Audits::changes(audited::order))
        .run(reorder),
        Operation::public(
            "deletePortalManualCategory",
            Method::DELETE,
            "/portal-manual-categories/{id}",
            Needs::Permission(ModifyGuides),
        )
        .summary("Delete a manual category that no manual is filed under")
        .tool(
            "manuals",
            "Delete a manual category",
            "Deletes a heading; refused (409) while manuals are filed under it: move them with \
                `updatePortalManual` first.",
        )
        .audited(Audits::changes(audited::category))
        .run(delete),
    ]
}

fn list(context: &mut Context<'_, '_>, input: ListCategories) -> Result<Vec<CategoryView>> {
    let categories = categories::in_order(context)?;
    let language = input
        .language
        .map_or_else(|| ENGLISH.to_owned(), |language| language.0);
    let texts = translations::texts(
        context,
        categories.iter().filter_map(|category| category.title_id),
        &language,
    )?;
    Ok(categories
        .iter()
        .map(|category| category.view(&texts))
        .collect())
}

fn create(context: &mut Context<'_, '_>, input: CreateCategory) -> Result<CategoryView> {
    check_title(context, &[], &input.title)?;
    translations::check_placeholders(context, &["title"], &input.title)?;
    let others = categories::in_order(context)?;
    let now = Moment(context.now());
    let title_id =
        translations::create(context, SourceTable::ManualCategory, ENGLISH, &input.title)?;
    let sort_order = others
        .iter()
        .map(|category| category.sort_order + 1)
        .max()
        .unwrap_or(0);
    let category = StoredCategory {
        id: context.new_id(),
        title_id: Some(title_id),
        sort_order,
        created_at: now,
        updated_at: now,
    };
    categories::save(context, None, &category)?;
    english_view(context, &category)
}

fn rename(context: &mut Context<'_, '_>, input: RenameCategory) -> Result<CategoryView> {
    let mut category = categories::find(context, input.id)?.ok_or_else(not_found)?;
    check_writable(context, &[category.id])?;
    check_title(context, &[category.id], &input.title)?;
    let title_before = category.title_id;
    let stored = match category.title_id {
        Some(id) => translations::written(context, id, ENGLISH)?,
        None => None,
    };
    if stored.as_deref() == Some(&*input.title) {
        return english_view(context, &category);
    }
    translations::check_placeholders(context, &["title"], &input.title)?;
    match category.title_id {
        // Other languages are translated again only if all of them are machine translations.
        Some(id) => {
            let others = if translations::are_others_machine_made(context, id)? {
                OtherLanguages::Renew
            } else {
                OtherLanguages::Keep
            };
            translations::put(context, id, ENGLISH, &input.title, others)?;
        }
        None => {
            category.title_id = Some(translations::create(
                context,
                SourceTable::ManualCategory,
                ENGLISH,
                &input.title,
            )?);
        }
    }
    category.updated_at = category.updated_at.advanced_to(context.now());
    categories::save(context, title_before, &category)?;
    english_view(context, &category)
}

/// Changes the positions of all categories in the request, or none. Fails with 404 for an unknown
/// category, and with 403 for a category that the caller must not change.
fn reorder(context: &mut Context<'_, '_>, input: Reorder) -> Result<Reordered> {
    let mut categories = categories::in_order(context)?;
    if !input
        .ordered_ids
        .iter()
        .all(|id| categories.iter().any(|category| category.id == *id))
    {
        return Err(not_found());
    }
    check_writable(context, &input.ordered_ids)?;
    for (position, id) in (0..).zip(&input.ordered_ids) {
        let moved = categories
            .iter_mut()
            .find(|category| category.id == *id && category.sort_order != position);
        if let Some(category) = moved {
            category.sort_order = position;
            category.updated_at = category.updated_at.advanced_to(context.now());
            categories::put(context, category)?;
        }
    }
    Ok(Reordered {
        reordered: input.ordered_ids.len(),
    })
}

fn delete(context: &mut Context<'_, '_>, input: ById) -> Result<DeletedObject> {
    let category = categories::find(context, input.id)?.ok_or_else(not_found)?;
    if records::manuals_by_category(context)?.contains_key(&category.id) {
        return Err(Error::conflict(Reason::rule(
            "category_in_use",
            "Manuals are filed under this category; move them to another one first.",
        )));
    }
    categories::delete(context, &category)?;
    Ok(DeletedObject::DONE)
}

fn not_found() -> Error {
    Error::not_found("Manual category")
}

fn english_view(context: &mut Context<'_, '_>, category: &StoredCategory) -> Result<CategoryView> {
    let texts = translations::texts(context, category.title_id, ENGLISH)?;
    Ok(category.view(&texts))
}

/// Fails with 409 if another category has this English title, ignoring case and surrounding spaces.
/// `own` has the ids of the categories that may have the title, such as the category that is
/// renamed.
pub(super) fn check_title(context: &mut Context<'_, '_>, own: &[Uuid], title: &str) -> Result<()> {
    let others = categories::in_order(context)?
        .into_iter()
        .filter(|category| !own.contains(&category.id));
    let titles = translations::texts_in_language(
        context,
        others.filter_map(|other| other.title_id).collect(),
        ENGLISH,
    )?;
    let title = fold_name(title);
    if titles.values().any(|taken| fold_name(taken) == title) {
        return Err(Error::conflict(Reason::rule(
            "category_title_taken",
            "Another category has this title.",
        )));
    }
    Ok(())
}

/// Fails with 403 if the caller may not change one of these categories. A limited caller may not
/// change a category with manuals of properties outside the caller's access.
fn check_writable(context: &mut Context<'_, '_>, ids: &[Uuid]) -> Result<()> {
    let writable = writable_ids(context, ids)?;
    if ids.iter().any(|id| !writable.contains(id)) {
        return Err(Error::forbidden(Reason::rule(
            "category_of_others",
            "Manuals of properties that you cannot access are filed under this category.",
        )));
    }
    Ok(())
}

/// Returns the categories in `ids` that the caller may change: those without manuals of properties
/// outside the caller's access.
pub(super) fn writable_ids(context: &mut Context<'_, '_>, ids: &[Uuid]) -> Result<HashSet<Uuid>> {
    if !context.property_scope().is_limited() {
        return Ok(ids.iter().copied().collect());
    }
    let of_others = visible::manuals_outside_access(context)?;
    let filed = records::manuals_by_category(context)?;
    let is_shared = |id: &Uuid| {
        filed
            .get(id)
            .is_some_and(|manuals| manuals.iter().any(|manual| of_others.contains(manual)))
    };
    Ok(ids.iter().copied().filter(|id| !is_shared(id)).collect())
}
