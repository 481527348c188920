//! Manuals: the list, the form with a preview of the text, the cover, and the rules that decide
//! when guests see a manual.

mod cover;
mod sentence;
mod visibility;

use std::collections::HashMap;

use askama::Template;
use axum::response::{IntoResponse as _, Response};
use features::manuals::{LIST_PORTAL_MANUAL_CATEGORIES, LIST_PORTAL_MANUALS, WrittenManual};
use features::markdown;
use page::icon;
use serde_json::{Value, json};
use uuid::Uuid;

use self::cover::CurrentCover;
use super::assign::{AssignableResource, UseCount};
use super::audit::LatestChanges;
use super::editor::{self, Editor};
use super::form::{FormView, Layout, ReadFuture, Resource, Section, StoredResource};
use super::frame::ConsoleFrame;
use super::paging::Paging;
use super::placeholders::{FlatTextPreview, Placeholders};
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse};
use super::texts::texts;

pub static SCREEN: Screen = Screen {
    path: "/manuals",
    icon: "book-open",
    title: |words| words.manuals.manuals,
    group: ScreenGroup::Setup,
    needs: Some("listPortalManuals"),
    pages: &[
        ScreenPage::get("getManualsScreen", "/manuals", list),
        ScreenPage::get(
            "getNewManualScreen",
            "/manuals/new",
            editor::new::<ManualEditor>,
        )
        .with_needs(&["createPortalManual"]),
        ScreenPage::post(
            "createManualOnScreen",
            "/manuals/new",
            editor::create::<ManualEditor>,
        )
        .with_needs(&["createPortalManual"]),
        ScreenPage::get(
            "getManualScreen",
            "/manuals/{id}",
            editor::show::<ManualEditor>,
        )
        .with_needs(&["getPortalManual"]),
        ScreenPage::post(
            "updateManualOnScreen",
            "/manuals/{id}",
            editor::save::<ManualEditor>,
        )
        .with_needs(&["getPortalManual", "updatePortalManual"]),
        ScreenPage::get("getManualIconScreen", "/manuals/{id}/icon", cover::show)
            .with_needs(&["getPortalManual", "searchCoverIcons"]),
        ScreenPage::post(
            "updateManualIconOnScreen",
            "/manuals/{id}/icon",
            cover::choose,
        )
        .with_needs(&["updatePortalManual"]),
        ScreenPage::get(
            "getVisibilityScreen",
            "/manuals/{id}/visibility",
            visibility::show,
        )
        .with_needs(&["getPortalManual"]),
        ScreenPage::post(
            "updateVisibilityOnScreen",
            "/manuals/{id}/visibility",
            visibility::save,
        )
        .with_needs(&["getPortalManual", "updatePortalManual"]),
        ScreenPage::post("renderOnScreen", "/rendered", rendered),
    ],
};

/// The operations and the layout of a manual's form.
pub static MANUAL: Resource = Resource {
    create: "createPortalManual",
    read: "getPortalManual",
    stored,
    update: "updatePortalManual",
    layout: &Layout {
        create: &["nickname", "title", "description", "manualCategoryId"],
        sections: &[
            Section {
                name: "basics",
                title: |words| words.forms.basics,
            },
            Section {
                name: "content",
                title: |words| words.manuals.read,
            },
            Section {
                name: "cover",
                title: |words| words.manuals.cover,
            },
        ],
        omitted: &["visibilityRules"],
        markdown: &["descriptionId", "description"],
        names: &[],
        rules: &[],
    },
};

/// A row of the console's list of manuals.
struct ManualLine {
    way: String,
    icon: String,
    nickname: String,
    title: Option<String>,
    category: Option<String>,
    is_active: bool,
    when: String,
    /// Whether all seasons of the manual have ended.
    has_ended: bool,
}

#[derive(Template)]
#[template(path = "manuals.html")]
struct ManualList<'v> {
    frame: ConsoleFrame<'v>,
    query: String,
    path: String,
    lines: Vec<ManualLine>,
    paging: Paging,
    new: Option<String>,
}

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let query = request
            .query_parameter("search")
            .unwrap_or_default()
            .to_owned();
        let arguments = if query.is_empty() {
            json!({})
        } else {
            json!({ "search": query })
        };
        let rows = request.read(LIST_PORTAL_MANUALS, arguments).await?;
        let paging = Paging::of(request, "/manuals", rows.len());
        let rows = paging.rows_of_page(rows.iter().map(|row| &row.manual).collect());
        let titles = texts(request, rows.iter().filter_map(|row| row.title_id)).await;
        let arguments = json!({ "language": request.language });
        let categories = request.read(LIST_PORTAL_MANUAL_CATEGORIES, arguments).await;
        let categories = categories.unwrap_or_default();
        let categories: HashMap<Uuid, Option<&str>> = categories
            .iter()
            .map(|category| (category.id, category.title.as_deref()))
            .collect();
        let line = |row: &WrittenManual| ManualLine {
            way: request.address(&format!("/manuals/{}", row.id)),
            icon: row
                .icon_name
                .as_deref()
                .map(icon)
                .filter(|svg| !svg.is_empty())
                .unwrap_or_else(|| icon("file-text")),
            title: row.title_id.and_then(|id| titles.get(&id).cloned()),
            category: row
                .manual_category_id
                .and_then(|id| categories.get(&id).copied().flatten())
                .map(str::to_owned),
            is_active: row.is_active,
            when: sentence::of_typed(&row.visibility_rules, request),
            has_ended: sentence::are_over(&row.visibility_rules, request),
            nickname: row.nickname.clone(),
        };
        let lines = rows.into_iter().map(line).collect();
        let new = request
            .may(MANUAL.create)
            .then(|| request.address("/manuals/new"));
        let frame = ConsoleFrame::new(request, request.texts.manuals.manuals);
        Ok(reply::page_of_template(
            request,
            200,
            &ManualList {
                frame,
                query,
                path: request.address("/manuals"),
                lines,
                paging,
                new,
            },
        ))
    })
}

#[derive(Template)]
#[template(path = "manual.html")]
struct ManualEditorPage<'v> {
    frame: ConsoleFrame<'v>,
    form: FormView,
    used: Option<UseCount>,
    /// A sentence that says when the visibility rules show the manual to guests, and the address of
    /// the page that changes these rules.
    when: Option<(String, String)>,
    /// Whether all seasons of the manual have ended.
    has_ended: bool,
    /// The cover, and the address of the page that changes it.
    cover: Option<CurrentCover>,
    changed: Option<LatestChanges>,
    placeholders: Placeholders,
    text_preview: Option<FlatTextPreview>,
}

/// The form of a manual, with its cover and a sentence about its rules.
struct ManualEditor;

impl Editor for ManualEditor {
    const PATH: &'static str = "/manuals";
    const RESOURCE: &'static Resource = &MANUAL;

    async fn page(
        request: &ConsoleRequest,
        stored: Option<&StoredResource>,
        form: FormView,
    ) -> Response {
        let status = form.status;
        let words = &request.texts.manuals;
        let title = stored.map_or(words.new, |stored| stored.text("nickname"));
        let frame =
            ConsoleFrame::new(request, title).with_parent(request, words.manuals, "/manuals");
        let (mut used, mut when, mut cover, mut changed) = (None, None, None, None);
        let mut has_ended = false;
        let mut text_preview = None;
        if let Some(stored) = stored {
            let text = stored.text("descriptionId").parse().ok();
            let path = format!("/manuals/{}", stored.id);
            // The member can use the form even if the preview of the description cannot be read.
            text_preview = FlatTextPreview::of(request, text, &path)
                .await
                .unwrap_or_default();
            used = UseCount::of(request, AssignableResource::Manual, stored.id).await;
            changed = LatestChanges::of(request, stored.id).await;
            let rules = stored
                .value
                .get("visibilityRules")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            has_ended = sentence::is_over(&rules, request);
            when = Some((
                sentence::sentence(&rules, request),
                request.address(&format!("/manuals/{}/visibility", stored.id)),
            ));
            cover = Some(CurrentCover::of(request, stored));
        }
        reply::page_of_template(
            request,
            status,
            &ManualEditorPage {
                frame,
                form,
                used,
                when,
                has_ended,
                cover,
                changed,
                placeholders: Placeholders::of(request).await,
                text_preview,
            },
        )
    }
}

fn stored(request: &ConsoleRequest, id: Uuid) -> ReadFuture<'_> {
    Box::pin(async move {
        request
            .get::<Value>("getPortalManual", json!({ "id": id }))
            .await
            .map(|value| StoredResource::of(id, value))
    })
}

/// Renders a Markdown text as guests see it. Marks the parts of the text that guests do not see.
fn rendered(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        Ok(
            markdown::to_marked_html(request.form_value("text").unwrap_or_default())
                .unwrap_or_default()
                .into_response(),
        )
    })
}
