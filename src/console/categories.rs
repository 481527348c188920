//! Categories of manuals: made, renamed, moved, removed.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::audit::Changed;
use super::frame::{Done, Frame};
use super::refusal::Refusal;
use super::reply;
use super::screens::{Answering, Group, Page, Screen, way};
use super::visit::Visit;

/// The screen.
pub static SCREEN: Screen = Screen {
    path: "/categories",
    icon: "folders",
    title: |words| words.manuals.categories,
    group: Group::Setup,
    needs: Some("listPortalManualCategories"),
    pages: &[
        Page::get("getCategoriesScreen", "/categories", list),
        Page::post("changeCategoriesOnScreen", "/categories", change).needing(&[
            "listPortalManualCategories",
            "createPortalManualCategory",
            "reorderPortalManualCategories",
        ]),
        Page::get("getCategoryScreen", "/categories/{id}", show),
        Page::post("renameCategoryOnScreen", "/categories/{id}", rename)
            .needing(&["listPortalManualCategories", "updatePortalManualCategory"]),
        Page::post("removeCategoryOnScreen", "/categories/{id}/remove", remove)
            .needing(&["listPortalManualCategories", "deletePortalManualCategory"]),
    ],
};

/// Categories that are put in order at once, at the most (spec: reorderPortalManualCategories).
const MOST: usize = 200;

/// A category as the list has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Category {
    id: Uuid,
    title: Option<String>,
    title_id: Option<Uuid>,
}

/// A category as it is shown.
struct Line {
    id: Uuid,
    title: String,
    way: String,
    /// How many manuals are filed under it, where that is known.
    count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filed {
    manual_category_id: Option<Uuid>,
}

#[derive(Template)]
#[template(path = "console/categories.html")]
struct List<'v> {
    frame: Frame<'v>,
    action: String,
    key: String,
    lines: Vec<Line>,
    title: String,
    problem: Option<String>,
    may_create: bool,
    may_move: bool,
}

async fn all(visit: &Visit, language: &str) -> Result<Vec<Category>, Refusal> {
    visit.get("listPortalManualCategories", json!({ "language": language })).await
}

async fn page(visit: &Visit, title: &str, problem: Option<(u16, String)>) -> Result<Response, Refusal> {
    let categories = all(visit, visit.language).await?;
    let filed: Option<Vec<Filed>> = visit.get("listPortalManuals", json!({})).await.ok();
    let line = |category: Category| Line {
        way: visit.address(&format!("/categories/{}", category.id)),
        count: filed.as_ref().map(|filed| filed.iter().filter(|manual| manual.manual_category_id == Some(category.id)).count()),
        title: category.title.unwrap_or_else(|| category.id.to_string()),
        id: category.id,
    };
    let page = List {
        frame: Frame::new(visit, visit.words.manuals.categories),
        action: visit.address("/categories"),
        key: visit.new_key(),
        may_move: visit.may("reorderPortalManualCategories") && categories.len() <= MOST,
        lines: categories.into_iter().map(line).collect(),
        title: title.to_owned(),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
        may_create: visit.may("createPortalManualCategory"),
    };
    Ok(reply::of(visit, problem.map_or(200, |(status, _)| status), &page))
}

/// What is refused, in the interface's words.
fn said(visit: &Visit, refusal: &Refusal) -> (u16, String) {
    (refusal.status, refusal.sentences(visit).join(" "))
}

fn list(visit: &Visit) -> Answering<'_> {
    Box::pin(async move { page(visit, "", None).await })
}

/// Makes a category, or moves one.
fn change(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        if let Some(title) = visit.sent("title") {
            let made = visit.create::<Value>("createPortalManualCategory", json!({ "title": title }), &visit.key("create")).await;
            return match made {
                Ok(_) => Ok(reply::done(visit, "/categories", Done::Created)),
                Err(refusal) => page(visit, title, Some(said(visit, &refusal))).await,
            };
        }
        let id = |name: &str| visit.sent(name).and_then(|text| text.parse::<Uuid>().ok());
        let mut order: Vec<Uuid> = all(visit, visit.language).await?.into_iter().map(|category| category.id).collect();
        if let Some(moved) = id("up").or(id("down")) {
            let place = order.iter().position(|known| *known == moved).ok_or_else(Refusal::missing)?;
            let other = if id("up").is_some() { place.checked_sub(1) } else { Some(place + 1).filter(|next| *next < order.len()) };
            let Some(other) = other else { return Ok(reply::done(visit, "/categories", Done::Unchanged)) };
            order.swap(place, other);
        } else if let Some(sent) = visit.sent("order") {
            let sent: Vec<Uuid> = sent.split(',').filter_map(|id| id.parse().ok()).filter(|id| order.contains(id)).collect();
            let others: Vec<Uuid> = order.iter().copied().filter(|id| !sent.contains(id)).collect();
            order = sent.into_iter().chain(others).collect();
        } else {
            return page(visit, "", None).await;
        }
        match visit.get::<Value>("reorderPortalManualCategories", json!({ "orderedIds": order })).await {
            Ok(_) => Ok(reply::done(visit, "/categories", Done::Moved)),
            Err(refusal) => page(visit, "", Some(said(visit, &refusal))).await,
        }
    })
}

#[derive(Template)]
#[template(path = "console/category.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    action: String,
    remove: String,
    title: String,
    /// Where its title is in other languages.
    languages: Option<String>,
    problem: Option<String>,
    may_change: bool,
    may_remove: bool,
    count: Option<usize>,
    changed: Option<Changed>,
}

async fn one(visit: &Visit, typed: Option<&str>, problem: Option<(u16, String)>) -> Result<Response, Refusal> {
    let id = visit.named("id")?;
    let category = all(visit, "en").await?.into_iter().find(|category| category.id == id).ok_or_else(Refusal::missing)?;
    let filed: Option<Vec<Filed>> = visit.get("listPortalManuals", json!({})).await.ok();
    let title = category.title.unwrap_or_default();
    let page = Shown {
        frame: Frame::new(visit, title.clone()).below(visit, visit.words.manuals.categories, "/categories"),
        action: visit.address(&format!("/categories/{id}")),
        remove: visit.address(&format!("/categories/{id}/remove")),
        title: typed.map_or(title, str::to_owned),
        languages: category.title_id.and_then(|id| way(visit, "/translations/{id}", &id.to_string())),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
        may_change: visit.may("updatePortalManualCategory"),
        may_remove: visit.may("deletePortalManualCategory"),
        changed: Changed::of(visit, id).await,
        count: filed.map(|filed| filed.iter().filter(|manual| manual.manual_category_id == Some(id)).count()),
    };
    Ok(reply::of(visit, problem.map_or(200, |(status, _)| status), &page))
}

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move { one(visit, None, None).await })
}

fn rename(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let title = visit.sent("title").unwrap_or_default();
        if !visit.may_write() {
            return one(visit, Some(title), Some((200, visit.words.frame.is_kept.to_owned()))).await;
        }
        match visit.get::<Value>("updatePortalManualCategory", json!({ "id": visit.named("id")?, "title": title })).await {
            Ok(_) => Ok(reply::done(visit, &visit.path, Done::Saved)),
            Err(refusal) => one(visit, Some(title), Some(said(visit, &refusal))).await,
        }
    })
}

fn remove(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        match visit.get::<Value>("deletePortalManualCategory", json!({ "id": visit.named("id")? })).await {
            Ok(_) => Ok(reply::done(visit, "/categories", Done::Removed)),
            Err(refusal) => one(visit, None, Some(said(visit, &refusal))).await,
        }
    })
}
