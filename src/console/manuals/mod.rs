//! House manuals: the list, the form with a preview of its text, the cover, and the rules that
//! decide when guests see a manual.

mod cover;
mod sentence;
mod visibility;

use std::collections::HashMap;

use askama::Template;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use self::cover::Cover;
use super::assign::{Entity, Use};
use super::audit::Changed;
use super::form::{
    FormView, Layout, Outcome, Reading, Resource, Section, Stored, create_form, created, edit_form,
    saved,
};
use super::frame::{Done, Frame};
use super::paging::Paging;
use super::placeholders::{Placeholders, TextPreview};
use super::reply;
use super::screens::{Answering, Group, Page, Screen};
use super::texts::texts;
use super::visit::Visit;
use crate::markdown;
use crate::page::icon;

/// The screen of the manuals.
pub static SCREEN: Screen = Screen {
    path: "/manuals",
    icon: "book-open",
    title: |words| words.manuals.manuals,
    group: Group::Setup,
    needs: Some("listPortalManuals"),
    pages: &[
        Page::get("getManualsScreen", "/manuals", list),
        Page::get("getNewManualScreen", "/manuals/new", new).needing(&["createPortalManual"]),
        Page::post("createManualOnScreen", "/manuals/new", create).needing(&["createPortalManual"]),
        Page::get("getManualScreen", "/manuals/{id}", show).needing(&["getPortalManual"]),
        Page::post("updateManualOnScreen", "/manuals/{id}", save)
            .needing(&["getPortalManual", "updatePortalManual"]),
        Page::get("getManualIconScreen", "/manuals/{id}/icon", cover::show)
            .needing(&["getPortalManual", "searchCoverIcons"]),
        Page::post(
            "updateManualIconOnScreen",
            "/manuals/{id}/icon",
            cover::choose,
        )
        .needing(&["updatePortalManual"]),
        Page::get(
            "getVisibilityScreen",
            "/manuals/{id}/visibility",
            visibility::show,
        )
        .needing(&["getPortalManual"]),
        Page::post(
            "updateVisibilityOnScreen",
            "/manuals/{id}/visibility",
            visibility::save,
        )
        .needing(&["getPortalManual", "updatePortalManual"]),
        Page::post("renderOnScreen", "/rendered", rendered),
    ],
};

static MANUAL: Resource = Resource {
    create: "createPortalManual",
    read: "getPortalManual",
    stored,
    update: "updatePortalManual",
    layout: &Layout {
        create: &["nickname", "title", "description", "manualCategoryId"],
        sections: &[
            Section {
                title: |words| words.forms.basics,
                fields: &[
                    "nickname",
                    "isActive",
                    "manualCategoryId",
                    "internalDescription",
                ],
            },
            Section {
                title: |words| words.manuals.read,
                fields: &[
                    "titleId",
                    "title",
                    "descriptionId",
                    "description",
                    "displayMode",
                    "customFieldId",
                    "videoUrl",
                ],
            },
            Section {
                title: |words| words.manuals.cover,
                fields: &["iconName", "imageUrl", "imageId"],
            },
        ],
        elsewhere: &["visibilityRules"],
        markdown: &["descriptionId", "description"],
        names: &[],
        rules: &[],
    },
};

/// A manual, as the list operation returns it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: Uuid,
    nickname: String,
    is_active: bool,
    manual_category_id: Option<Uuid>,
    title_id: Option<Uuid>,
    icon_name: Option<String>,
    visibility_rules: Vec<Value>,
}

/// A category, as far as the list of manuals needs it.
#[derive(Debug, Deserialize)]
struct Category {
    id: Uuid,
    title: Option<String>,
}

/// A manual, as the page of the list shows it.
struct Line {
    way: String,
    icon: String,
    nickname: String,
    title: Option<String>,
    category: Option<String>,
    is_active: bool,
    when: String,
    /// Whether all seasons of the manual are over.
    is_over: bool,
}

#[derive(Template)]
#[template(path = "console/manuals.html")]
struct List<'v> {
    frame: Frame<'v>,
    query: String,
    path: String,
    lines: Vec<Line>,
    paging: Paging,
    new: Option<String>,
}

fn list(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let query = visit.asks("search").unwrap_or_default().to_owned();
        let arguments = if query.is_empty() {
            json!({})
        } else {
            json!({ "search": query })
        };
        let rows: Vec<Row> = visit.get("listPortalManuals", arguments).await?;
        let paging = Paging::of(visit, "/manuals", rows.len());
        let rows = paging.cut(rows);
        let titles = texts(visit, rows.iter().filter_map(|row| row.title_id)).await;
        let categories: Vec<Category> = visit
            .get(
                "listPortalManualCategories",
                json!({ "language": visit.language }),
            )
            .await
            .unwrap_or_default();
        let categories: HashMap<Uuid, Option<String>> = categories
            .into_iter()
            .map(|category| (category.id, category.title))
            .collect();
        let line = |row: Row| Line {
            way: visit.address(&format!("/manuals/{}", row.id)),
            icon: row
                .icon_name
                .as_deref()
                .map(icon)
                .filter(|svg| !svg.is_empty())
                .unwrap_or_else(|| icon("file-text")),
            title: row.title_id.and_then(|id| titles.get(&id).cloned()),
            category: row
                .manual_category_id
                .and_then(|id| categories.get(&id).cloned().flatten()),
            is_active: row.is_active,
            when: sentence::said(&row.visibility_rules, visit),
            is_over: sentence::is_over(&row.visibility_rules, visit),
            nickname: row.nickname,
        };
        let lines = rows.into_iter().map(line).collect();
        let new = visit
            .may(MANUAL.create)
            .then(|| visit.address("/manuals/new"));
        let frame = Frame::new(visit, visit.words.manuals.manuals);
        Ok(reply::of(
            visit,
            200,
            &List {
                frame,
                query,
                path: visit.address("/manuals"),
                lines,
                paging,
                new,
            },
        ))
    })
}

#[derive(Template)]
#[template(path = "console/manual.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    form: FormView,
    used: Option<Use>,
    /// A sentence that tells when guests see the manual, and the address where that is changed.
    when: Option<(String, String)>,
    /// Whether all seasons of the manual are over.
    is_over: bool,
    /// The cover, and the address where another one is chosen.
    cover: Option<Cover>,
    changed: Option<Changed>,
    placeholders: Placeholders,
    text_preview: Option<TextPreview>,
}

async fn page(visit: &Visit, stored: Option<&Stored>, form: FormView) -> Response {
    let status = form.status;
    let text = |stored: &Stored, field: &str| {
        stored
            .value
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let title = stored.map_or_else(
        || visit.words.manuals.new.to_owned(),
        |stored| text(stored, "nickname"),
    );
    let frame = Frame::new(visit, title).below(visit, visit.words.manuals.manuals, "/manuals");
    let (mut used, mut when, mut cover, mut changed) = (None, None, None, None);
    let mut is_over = false;
    let mut text_preview = None;
    if let Some(stored) = stored {
        let text = text(stored, "descriptionId").parse().ok();
        let path = format!("/manuals/{}", stored.id);
        // The form matters more than the preview.
        text_preview = TextPreview::of(visit, text, &path)
            .await
            .unwrap_or_default();
        used = Use::of(visit, Entity::Manual, stored.id).await;
        changed = Changed::of(visit, stored.id).await;
        let rules = stored
            .value
            .get("visibilityRules")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        is_over = sentence::is_over(&rules, visit);
        when = Some((
            sentence::said(&rules, visit),
            visit.address(&format!("/manuals/{}/visibility", stored.id)),
        ));
        cover = Some(Cover::of(visit, stored));
    }
    reply::of(
        visit,
        status,
        &Shown {
            frame,
            form,
            used,
            when,
            is_over,
            cover,
            changed,
            placeholders: Placeholders::of(visit).await,
            text_preview,
        },
    )
}

fn new(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let form = create_form(visit, &MANUAL, visit.address("/manuals/new")).await?;
        Ok(page(visit, None, form).await)
    })
}

fn create(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        match created(visit, &MANUAL, visit.address("/manuals/new")).await? {
            Outcome::Done(made) => Ok(reply::done(
                visit,
                &format!("/manuals/{}", made["id"].as_str().unwrap_or_default()),
                Done::Created,
            )),
            Outcome::Again(form) => Ok(page(visit, None, *form).await),
        }
    })
}

fn stored(visit: &Visit, id: Uuid) -> Reading<'_> {
    Box::pin(async move {
        visit
            .get::<Value>("getPortalManual", json!({ "id": id }))
            .await
            .map(|value| Stored::of(id, value))
    })
}

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let stored = stored(visit, visit.named("id")?).await?;
        let form = edit_form(visit, &MANUAL, &stored, visit.address(&visit.path)).await?;
        Ok(page(visit, Some(&stored), form).await)
    })
}

fn save(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let before = stored(visit, visit.named("id")?).await?;
        match saved(visit, &MANUAL, &before, visit.address(&visit.path)).await? {
            Outcome::Done(is_changed) => Ok(reply::done(
                visit,
                &visit.path,
                if is_changed {
                    Done::Saved
                } else {
                    Done::Unchanged
                },
            )),
            Outcome::Again(form) => Ok(page(visit, Some(&before), *form).await),
        }
    })
}

/// Renders Markdown in the way in which guests see it. Parts that guests do not see are marked.
fn rendered(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        Ok(
            markdown::to_marked_html(visit.sent("text").unwrap_or_default())
                .unwrap_or_default()
                .into_response(),
        )
    })
}
