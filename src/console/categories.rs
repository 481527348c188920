//! The categories of manuals. They can be created, renamed, moved and removed.

use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};
use uuid::Uuid;

use super::audit::Changed;
use super::frame::{CompletedAction, ConsoleFrame};
use super::merge::{MergeResult, fate};
use super::refusal::ConsoleRefusal;
use super::reply;
use super::screens::{Screen, ScreenAnswer, ScreenGroup, ScreenPage, way};
use super::visit::ConsoleRequest;
use crate::manuals::{CategoryView, LIST_PORTAL_MANUAL_CATEGORIES, LIST_PORTAL_MANUALS, ManualRow};

/// The screen of the categories.
pub static SCREEN: Screen = Screen {
    path: "/categories",
    icon: "folders",
    title: |words| words.manuals.categories,
    group: ScreenGroup::Setup,
    needs: Some("listPortalManualCategories"),
    pages: &[
        ScreenPage::get("getCategoriesScreen", "/categories", list),
        ScreenPage::post("changeCategoriesOnScreen", "/categories", change).needing(&[
            "listPortalManualCategories",
            "createPortalManualCategory",
            "reorderPortalManualCategories",
        ]),
        ScreenPage::get("getCategoryScreen", "/categories/{id}", show),
        ScreenPage::post("renameCategoryOnScreen", "/categories/{id}", rename)
            .needing(&["listPortalManualCategories", "updatePortalManualCategory"]),
        ScreenPage::get(
            "getRemoveCategoryScreen",
            "/categories/{id}/remove",
            ask_to_remove,
        )
        .needing(&["listPortalManualCategories", "deletePortalManualCategory"]),
        ScreenPage::post("removeCategoryOnScreen", "/categories/{id}/remove", remove)
            .needing(&["listPortalManualCategories", "deletePortalManualCategory"]),
    ],
};

/// Maximum number of categories in one request to reorder (rules: categories#positions).
const MOST: usize = 200;

/// A category, as the page shows it.
struct CategoryLine {
    id: Uuid,
    title: String,
    way: String,
    /// The number of manuals in the category. `None` if the member may not read manuals.
    count: Option<usize>,
}

#[derive(Template)]
#[template(path = "console/categories.html")]
struct CategoryList<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    key: String,
    lines: Vec<CategoryLine>,
    title: String,
    note: Option<&'static str>,
    problem: Option<String>,
    may_create: bool,
    may_move: bool,
}

async fn all(
    visit: &ConsoleRequest,
    language: &str,
) -> Result<Arc<Vec<CategoryView>>, ConsoleRefusal> {
    let arguments = json!({ "language": language });
    visit.read(LIST_PORTAL_MANUAL_CATEGORIES, arguments).await
}

/// Returns how many manuals are in a category.
fn count_in(category: Uuid, manuals: &[ManualRow]) -> usize {
    manuals
        .iter()
        .filter(|row| row.manual.manual_category_id == Some(category))
        .count()
}

async fn page(
    visit: &ConsoleRequest,
    title: &str,
    problem: Option<(u16, String)>,
) -> Result<Response, ConsoleRefusal> {
    let categories = all(visit, visit.language).await?;
    let manuals = visit.read(LIST_PORTAL_MANUALS, json!({})).await.ok();
    let line = |category: &CategoryView| CategoryLine {
        way: visit.address(&format!("/categories/{}", category.id)),
        count: manuals
            .as_ref()
            .map(|manuals| count_in(category.id, manuals)),
        title: category
            .title
            .clone()
            .unwrap_or_else(|| category.id.to_string()),
        id: category.id,
    };
    let page = CategoryList {
        frame: ConsoleFrame::new(visit, visit.words.manuals.categories),
        action: visit.address("/categories"),
        key: visit.new_key(),
        may_move: visit.may("reorderPortalManualCategories") && categories.len() <= MOST,
        lines: categories.iter().map(line).collect(),
        title: title.to_owned(),
        note: (!title.is_empty() && !visit.may_write()).then_some(visit.words.frame.is_kept),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
        may_create: visit.may("createPortalManualCategory"),
    };
    Ok(reply::of(
        visit,
        problem.map_or(200, |(status, _)| status),
        &page,
    ))
}

/// Returns the status and the messages of a refusal.
fn messages(visit: &ConsoleRequest, refusal: &ConsoleRefusal) -> (u16, String) {
    (refusal.status, refusal.sentences(visit).join(" "))
}

fn list(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move { page(visit, "", None).await })
}

/// Handles the form of the list: creates a category or moves one.
fn change(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        if let Some(title) = visit.sent("title") {
            if !visit.may_write() {
                return page(visit, title, None).await;
            }
            let created = visit
                .create::<Value>(
                    "createPortalManualCategory",
                    json!({ "title": title }),
                    &visit.key("create"),
                )
                .await;
            return match created {
                Ok(_) => Ok(reply::done(visit, "/categories", CompletedAction::Created)),
                Err(refusal) => page(visit, title, Some(messages(visit, &refusal))).await,
            };
        }
        let id = |name: &str| visit.sent(name).and_then(|text| text.parse::<Uuid>().ok());
        let before: Vec<Uuid> = all(visit, visit.language)
            .await?
            .iter()
            .map(|category| category.id)
            .collect();
        let mut order = before.clone();
        if let Some(moved) = id("up").or(id("down")) {
            let place = order
                .iter()
                .position(|known| *known == moved)
                .ok_or_else(ConsoleRefusal::missing)?;
            let other = if id("up").is_some() {
                place.checked_sub(1)
            } else {
                Some(place + 1).filter(|next| *next < order.len())
            };
            order.swap(place, other.unwrap_or(place));
        } else if let Some(sent) = visit.sent("order") {
            let sent: Vec<Uuid> = sent
                .split(',')
                .filter_map(|id| id.parse().ok())
                .filter(|id| order.contains(id))
                .collect();
            let others: Vec<Uuid> = order
                .iter()
                .copied()
                .filter(|id| !sent.contains(id))
                .collect();
            order = sent.into_iter().chain(others).collect();
        } else {
            return page(visit, "", None).await;
        }
        if order == before {
            return Ok(reply::done(
                visit,
                "/categories",
                CompletedAction::Unchanged,
            ));
        }
        match visit
            .get::<Value>(
                "reorderPortalManualCategories",
                json!({ "orderedIds": order }),
            )
            .await
        {
            Ok(_) => Ok(reply::done(visit, "/categories", CompletedAction::Moved)),
            Err(refusal) => page(visit, "", Some(messages(visit, &refusal))).await,
        }
    })
}

#[derive(Template)]
#[template(path = "console/category.html")]
struct CategoryPage<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    /// Address of the page that removes the category.
    remove: Option<String>,
    title: String,
    /// The title that the form was opened with.
    was: String,
    /// The title that another member has saved in the meantime.
    theirs: Option<String>,
    /// Address of the page with the title in all languages.
    languages: Option<String>,
    note: Option<&'static str>,
    problem: Option<String>,
    may_change: bool,
    changed: Option<Changed>,
}

/// Further content of the page, besides the category.
#[derive(Default)]
struct CategoryExtras<'v> {
    typed: Option<&'v str>,
    /// The title that the form was opened with. `None` means the stored title.
    was: Option<&'v str>,
    theirs: Option<String>,
    note: Option<&'static str>,
    problem: Option<(u16, String)>,
}

/// Reads the category that the path names, and its title in English.
async fn named(visit: &ConsoleRequest) -> Result<(CategoryView, String), ConsoleRefusal> {
    let id = visit.named("id")?;
    let all = all(visit, "en").await?;
    let category = all
        .iter()
        .find(|category| category.id == id)
        .ok_or_else(ConsoleRefusal::missing)?;
    let title = category.title.clone().unwrap_or_default();
    Ok((category.clone(), title))
}

async fn one(
    visit: &ConsoleRequest,
    (category, title): (CategoryView, String),
    extras: CategoryExtras<'_>,
) -> Response {
    let id = category.id;
    let status = if extras.theirs.is_some() {
        409
    } else {
        extras.problem.as_ref().map_or(200, |(status, _)| *status)
    };
    let page = CategoryPage {
        frame: ConsoleFrame::new(visit, title.clone()).below(
            visit,
            visit.words.manuals.categories,
            "/categories",
        ),
        action: visit.address(&format!("/categories/{id}")),
        remove: way(visit, "/categories/{id}/remove", &id.to_string()),
        was: extras.was.unwrap_or(&title).to_owned(),
        title: extras.typed.map_or(title, str::to_owned),
        theirs: extras.theirs,
        languages: category
            .title_id
            .and_then(|id| way(visit, "/translations/{id}", &id.to_string())),
        note: extras.note,
        problem: extras.problem.map(|(_, text)| text),
        may_change: visit.may("updatePortalManualCategory"),
        changed: Changed::of(visit, id).await,
    };
    reply::of(visit, status, &page)
}

fn show(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move { Ok(one(visit, named(visit).await?, CategoryExtras::default()).await) })
}

fn rename(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let known = named(visit).await?;
        let typed = visit.sent("title").unwrap_or_default();
        let was = visit.sent("was").unwrap_or(&known.1).to_owned();
        let extras = CategoryExtras {
            typed: Some(typed),
            ..CategoryExtras::default()
        };
        if !visit.may_write() {
            let extras = CategoryExtras {
                was: Some(&was),
                note: Some(visit.words.frame.is_kept),
                ..extras
            };
            return Ok(one(visit, known, extras).await);
        }
        let is_theirs = visit.sent("choose.title") == Some("theirs");
        match fate(was.as_str(), &known.1, typed) {
            MergeResult::Asked if !is_theirs => {
                let theirs = Some(known.1.clone());
                Ok(one(visit, known, CategoryExtras { theirs, ..extras }).await)
            }
            MergeResult::Typed if !is_theirs => {
                let arguments = json!({ "id": known.0.id, "title": typed });
                match visit
                    .get::<Value>("updatePortalManualCategory", arguments)
                    .await
                {
                    Ok(_) => Ok(reply::done(visit, &visit.path, CompletedAction::Saved)),
                    Err(refusal) => {
                        let problem = Some(self::messages(visit, &refusal));
                        Ok(one(visit, known, CategoryExtras { problem, ..extras }).await)
                    }
                }
            }
            _ => Ok(reply::done(visit, &visit.path, CompletedAction::Unchanged)),
        }
    })
}

#[derive(Template)]
#[template(path = "console/category-remove.html")]
struct CategoryConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    back: String,
    /// The number of manuals in the category. `None` if the member may not read manuals.
    count: Option<usize>,
    problem: Option<String>,
}

async fn ask(
    visit: &ConsoleRequest,
    problem: Option<(u16, String)>,
) -> Result<Response, ConsoleRefusal> {
    let (CategoryView { id, .. }, title) = named(visit).await?;
    let words = &visit.words.manuals;
    let manuals = visit.read(LIST_PORTAL_MANUALS, json!({})).await.ok();
    let frame = ConsoleFrame::new(visit, words.remove_category).below(
        visit,
        words.categories,
        "/categories",
    );
    let page = CategoryConfirmation {
        frame: frame.below(visit, title, &format!("/categories/{id}")),
        action: visit.address(&format!("/categories/{id}/remove")),
        back: visit.address(&format!("/categories/{id}")),
        count: manuals.map(|manuals| count_in(id, &manuals)),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
    };
    Ok(reply::of(
        visit,
        problem.map_or(200, |(status, _)| status),
        &page,
    ))
}

fn ask_to_remove(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(ask(visit, None))
}

fn remove(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return ask(visit, None).await;
        }
        match visit
            .get::<Value>(
                "deletePortalManualCategory",
                json!({ "id": visit.named("id")? }),
            )
            .await
        {
            Ok(_) => Ok(reply::done(visit, "/categories", CompletedAction::Removed)),
            Err(refusal) => ask(visit, Some(messages(visit, &refusal))).await,
        }
    })
}
