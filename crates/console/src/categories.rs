//! The categories of manuals. A member can create, rename, move and remove a category.

use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use features::manuals::{
    CategoryView, LIST_PORTAL_MANUAL_CATEGORIES, LIST_PORTAL_MANUALS, ManualRow,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::audit::LatestChanges;
use super::frame::{CompletedAction, ConsoleFrame};
use super::merge::{MergeResult, merge};
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse, resource_address};

pub static SCREEN: Screen = Screen {
    path: "/categories",
    icon: "folders",
    title: |words| words.manuals.categories,
    group: ScreenGroup::Setup,
    needs: Some("listPortalManualCategories"),
    pages: &[
        ScreenPage::get("getCategoriesScreen", "/categories", list),
        ScreenPage::post("changeCategoriesOnScreen", "/categories", change).with_needs(&[
            "listPortalManualCategories",
            "createPortalManualCategory",
            "reorderPortalManualCategories",
        ]),
        ScreenPage::get("getCategoryScreen", "/categories/{id}", show),
        ScreenPage::post("renameCategoryOnScreen", "/categories/{id}", rename)
            .with_needs(&["listPortalManualCategories", "updatePortalManualCategory"]),
        ScreenPage::get(
            "getRemoveCategoryScreen",
            "/categories/{id}/remove",
            ask_to_remove,
        )
        .with_needs(&["listPortalManualCategories", "deletePortalManualCategory"]),
        ScreenPage::post("removeCategoryOnScreen", "/categories/{id}/remove", remove)
            .with_needs(&["listPortalManualCategories", "deletePortalManualCategory"]),
    ],
};

/// Maximum number of categories in one request that reorders categories (rules:
/// categories#positions).
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
#[template(path = "categories.html")]
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
    request: &ConsoleRequest,
    language: &str,
) -> Result<Arc<Vec<CategoryView>>, ConsoleRefusal> {
    let arguments = json!({ "language": language });
    request.read(LIST_PORTAL_MANUAL_CATEGORIES, arguments).await
}

/// Returns how many manuals are in a category.
fn count_in(category: Uuid, manuals: &[ManualRow]) -> usize {
    manuals
        .iter()
        .filter(|row| row.manual.manual_category_id == Some(category))
        .count()
}

async fn page(
    request: &ConsoleRequest,
    title: &str,
    problem: Option<(u16, String)>,
) -> Result<Response, ConsoleRefusal> {
    let categories = all(request, request.language).await?;
    let manuals = request.read(LIST_PORTAL_MANUALS, json!({})).await.ok();
    let line = |category: &CategoryView| CategoryLine {
        way: request.address(&format!("/categories/{}", category.id)),
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
        frame: ConsoleFrame::new(request, request.texts.manuals.categories),
        action: request.address("/categories"),
        key: request.new_key(),
        may_move: request.may("reorderPortalManualCategories") && categories.len() <= MOST,
        lines: categories.iter().map(line).collect(),
        title: title.to_owned(),
        note: (!title.is_empty() && !request.may_write()).then_some(request.texts.frame.is_kept),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
        may_create: request.may("createPortalManualCategory"),
    };
    Ok(reply::page_of_template(
        request,
        problem.map_or(200, |(status, _)| status),
        &page,
    ))
}

/// Returns the status and the messages of a refusal.
fn messages(request: &ConsoleRequest, refusal: &ConsoleRefusal) -> (u16, String) {
    (refusal.status, refusal.sentences(request).join(" "))
}

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move { page(request, "", None).await })
}

/// Handles the two forms of the list: one creates a category, the other moves one.
fn change(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if let Some(title) = request.form_value("title") {
            if !request.may_write() {
                return page(request, title, None).await;
            }
            let created = request
                .create::<Value>(
                    "createPortalManualCategory",
                    json!({ "title": title }),
                    &request.key("create"),
                )
                .await;
            return match created {
                Ok(_) => Ok(reply::redirect_with_confirmation(
                    request,
                    "/categories",
                    CompletedAction::Created,
                )),
                Err(refusal) => page(request, title, Some(messages(request, &refusal))).await,
            };
        }
        let id = |name: &str| {
            request
                .form_value(name)
                .and_then(|text| text.parse::<Uuid>().ok())
        };
        let before: Vec<Uuid> = all(request, request.language)
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
        } else if let Some(sent) = request.form_value("order") {
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
            return page(request, "", None).await;
        }
        if order == before {
            return Ok(reply::redirect_with_confirmation(
                request,
                "/categories",
                CompletedAction::Unchanged,
            ));
        }
        match request
            .get::<Value>(
                "reorderPortalManualCategories",
                json!({ "orderedIds": order }),
            )
            .await
        {
            Ok(_) => Ok(reply::redirect_with_confirmation(
                request,
                "/categories",
                CompletedAction::Moved,
            )),
            Err(refusal) => page(request, "", Some(messages(request, &refusal))).await,
        }
    })
}

#[derive(Template)]
#[template(path = "category.html")]
struct CategoryPage<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    /// Address of the page that removes the category.
    remove: Option<String>,
    title: String,
    /// The title that the form showed when the member opened it.
    was: String,
    /// The title that another member has saved since the form was opened. `None` if no other member
    /// has changed the title.
    theirs: Option<String>,
    /// Address of the page that edits the title in all languages.
    languages: Option<String>,
    note: Option<&'static str>,
    problem: Option<String>,
    may_change: bool,
    changed: Option<LatestChanges>,
}

/// The state of the category form beside the stored category: the title that the member typed, the
/// title that the form showed, the title that another member saved (`theirs`), a note, and the
/// status and text of a problem.
#[derive(Default)]
struct CategoryExtras<'v> {
    typed: Option<&'v str>,
    /// The title that the form showed when the member opened it. `None` means that the form showed
    /// the stored title.
    was: Option<&'v str>,
    theirs: Option<String>,
    note: Option<&'static str>,
    problem: Option<(u16, String)>,
}

/// Reads the category that the path names, and its title in English.
async fn named(request: &ConsoleRequest) -> Result<(CategoryView, String), ConsoleRefusal> {
    let id = request.path_id("id")?;
    let all = all(request, "en").await?;
    let category = all
        .iter()
        .find(|category| category.id == id)
        .ok_or_else(ConsoleRefusal::missing)?;
    let title = category.title.clone().unwrap_or_default();
    Ok((category.clone(), title))
}

async fn one(
    request: &ConsoleRequest,
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
        frame: ConsoleFrame::new(request, title.clone()).with_parent(
            request,
            request.texts.manuals.categories,
            "/categories",
        ),
        action: request.address(&format!("/categories/{id}")),
        remove: resource_address(request, "/categories/{id}/remove", &id.to_string()),
        was: extras.was.unwrap_or(&title).to_owned(),
        title: extras.typed.map_or(title, str::to_owned),
        theirs: extras.theirs,
        languages: category
            .title_id
            .and_then(|id| resource_address(request, "/translations/{id}", &id.to_string())),
        note: extras.note,
        problem: extras.problem.map(|(_, text)| text),
        may_change: request.may("updatePortalManualCategory"),
        changed: LatestChanges::of(request, id).await,
    };
    reply::page_of_template(request, status, &page)
}

fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(
        async move { Ok(one(request, named(request).await?, CategoryExtras::default()).await) },
    )
}

fn rename(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let known = named(request).await?;
        let typed = request.form_value("title").unwrap_or_default();
        let was = request.form_value("was").unwrap_or(&known.1).to_owned();
        let extras = CategoryExtras {
            typed: Some(typed),
            ..CategoryExtras::default()
        };
        if !request.may_write() {
            let extras = CategoryExtras {
                was: Some(&was),
                note: Some(request.texts.frame.is_kept),
                ..extras
            };
            return Ok(one(request, known, extras).await);
        }
        let is_theirs = request.form_value("choose.title") == Some("theirs");
        match merge(was.as_str(), &known.1, typed) {
            MergeResult::Conflict if !is_theirs => {
                let theirs = Some(known.1.clone());
                Ok(one(request, known, CategoryExtras { theirs, ..extras }).await)
            }
            MergeResult::Typed if !is_theirs => {
                let arguments = json!({ "id": known.0.id, "title": typed });
                match request
                    .get::<Value>("updatePortalManualCategory", arguments)
                    .await
                {
                    Ok(_) => Ok(reply::redirect_with_confirmation(
                        request,
                        &request.path,
                        CompletedAction::Saved,
                    )),
                    Err(refusal) => {
                        let problem = Some(self::messages(request, &refusal));
                        Ok(one(request, known, CategoryExtras { problem, ..extras }).await)
                    }
                }
            }
            _ => Ok(reply::redirect_with_confirmation(
                request,
                &request.path,
                CompletedAction::Unchanged,
            )),
        }
    })
}

#[derive(Template)]
#[template(path = "category-remove.html")]
struct CategoryConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    back: String,
    /// The number of manuals in the category. `None` if the member may not read manuals.
    count: Option<usize>,
    problem: Option<String>,
}

async fn ask(
    request: &ConsoleRequest,
    problem: Option<(u16, String)>,
) -> Result<Response, ConsoleRefusal> {
    let (CategoryView { id, .. }, title) = named(request).await?;
    let words = &request.texts.manuals;
    let manuals = request.read(LIST_PORTAL_MANUALS, json!({})).await.ok();
    let frame = ConsoleFrame::new(request, words.remove_category).with_parent(
        request,
        words.categories,
        "/categories",
    );
    let page = CategoryConfirmation {
        frame: frame.with_parent(request, title, &format!("/categories/{id}")),
        action: request.address(&format!("/categories/{id}/remove")),
        back: request.address(&format!("/categories/{id}")),
        count: manuals.map(|manuals| count_in(id, &manuals)),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
    };
    Ok(reply::page_of_template(
        request,
        problem.map_or(200, |(status, _)| status),
        &page,
    ))
}

fn ask_to_remove(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(ask(request, None))
}

fn remove(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !request.may_write() {
            return ask(request, None).await;
        }
        match request
            .get::<Value>(
                "deletePortalManualCategory",
                json!({ "id": request.path_id("id")? }),
            )
            .await
        {
            Ok(_) => Ok(reply::redirect_with_confirmation(
                request,
                "/categories",
                CompletedAction::Removed,
            )),
            Err(refusal) => ask(request, Some(messages(request, &refusal))).await,
        }
    })
}
