//! Portals: the list, and the form with a preview of the guest page. The form also shows where the
//! portal is assigned.

use askama::Template;
use axum::response::Response;
use features::portals::{LIST_PORTALS, PortalRow};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::assign::{AssignableResource, UseCount};
use super::audit::LatestChanges;
use super::editor::{self, Editor};
use super::form::{
    FormView, Layout, ReadFuture, Resource, Section, StoredResource, changed_values,
};
use super::frame::ConsoleFrame;
use super::paging::Paging;
use super::placeholders::Placeholders;
use super::preview::PreviewForm;
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse};

pub static SCREEN: Screen = Screen {
    path: "/portals",
    icon: "smartphone",
    title: |words| words.portals.portals,
    group: ScreenGroup::Setup,
    needs: Some(LIST_PORTALS.id()),
    pages: &[
        ScreenPage::get("getPortalsScreen", "/portals", list),
        ScreenPage::get(
            "getNewPortalScreen",
            "/portals/new",
            editor::new::<PortalEditor>,
        )
        .with_needs(&["createPortal"]),
        ScreenPage::post(
            "createPortalOnScreen",
            "/portals/new",
            editor::create::<PortalEditor>,
        )
        .with_needs(&["createPortal"]),
        ScreenPage::get(
            "getPortalScreen",
            "/portals/{id}",
            editor::show::<PortalEditor>,
        )
        .with_needs(&["getPortal"]),
        ScreenPage::post(
            "updatePortalOnScreen",
            "/portals/{id}",
            editor::save::<PortalEditor>,
        )
        .with_needs(&["getPortal", "updatePortal"]),
        ScreenPage::post("previewPortalOnScreen", "/portals/{id}/preview", preview)
            .with_needs(&["getPortal", "createPortalPreview"]),
    ],
};

/// The operations that create, read and change a portal, and the layout of the portal's form.
pub static PORTAL: Resource = Resource {
    create: "createPortal",
    read: "getPortal",
    stored,
    update: "updatePortal",
    layout: &Layout {
        create: &["name", "isDefault"],
        sections: &[
            Section {
                name: "basics",
                title: |words| words.forms.basics,
            },
            Section {
                name: "contact",
                title: |words| words.portals.contact,
            },
            Section {
                name: "precheckin",
                title: |words| words.portals.precheckin,
            },
            Section {
                name: "offer",
                title: |words| words.portals.offer,
            },
            Section {
                name: "stay",
                title: |words| words.portals.during,
            },
        ],
        omitted: &[],
        markdown: &[],
        names: &[],
        rules: &[],
    },
};

#[derive(Template)]
#[template(path = "portals.html")]
struct PortalList<'v> {
    frame: ConsoleFrame<'v>,
    rows: Vec<(PortalRow, String)>,
    paging: Paging,
    new: Option<String>,
}

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let mut rows = request.read_text(LIST_PORTALS, json!({})).await?;
        rows.sort_by_cached_key(|row| (!row.is_default, row.called().to_lowercase()));
        let paging = Paging::of(request, "/portals", rows.len());
        let rows = paging
            .rows_of_page(rows)
            .into_iter()
            .map(|row| (request.address(&format!("/portals/{}", row.id)), row))
            .map(|(way, row)| (row, way));
        let new = request
            .may(PORTAL.create)
            .then(|| request.address("/portals/new"));
        let page = PortalList {
            frame: ConsoleFrame::new(request, request.texts.portals.portals),
            rows: rows.collect(),
            paging,
            new,
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "portal.html")]
struct PortalPage<'v> {
    frame: ConsoleFrame<'v>,
    form: FormView,
    preview: Option<PreviewForm>,
    used: Option<UseCount>,
    changed: Option<LatestChanges>,
    placeholders: Placeholders,
}

/// The form of a portal, with a preview and the number of the portal's assignments.
struct PortalEditor;

impl Editor for PortalEditor {
    const PATH: &'static str = "/portals";
    const RESOURCE: &'static Resource = &PORTAL;

    async fn initial_values(
        request: &ConsoleRequest,
    ) -> Result<Map<String, Value>, ConsoleRefusal> {
        let portals = request.read_text(LIST_PORTALS, json!({})).await?;
        let mut values = Map::new();
        // If no portal is the default yet, the form proposes the new portal as the default. A
        // member who can access only some of the flats does not see every portal, perhaps not even
        // the default. So the form proposes nothing to that member.
        if request.manages_whole_organization() && !portals.iter().any(|portal| portal.is_default) {
            values.insert("isDefault".to_owned(), json!(true));
        }
        Ok(values)
    }

    async fn page(
        request: &ConsoleRequest,
        stored: Option<&StoredResource>,
        form: FormView,
    ) -> Response {
        let status = form.status;
        let words = &request.texts.portals;
        let title = stored.map_or_else(|| words.new.to_owned(), title);
        let frame =
            ConsoleFrame::new(request, title).with_parent(request, words.portals, "/portals");
        let (mut preview, mut used, mut changed) = (None, None, None);
        if let Some(stored) = stored {
            preview = PreviewForm::of(request, &format!("/portals/{}/preview", stored.id));
            used = UseCount::of(request, AssignableResource::Portal, stored.id).await;
            changed = LatestChanges::of(request, stored.id).await;
        }
        reply::page_of_template(
            request,
            status,
            &PortalPage {
                frame,
                form,
                preview,
                used,
                changed,
                placeholders: Placeholders::of(request).await,
            },
        )
    }
}

fn stored(request: &ConsoleRequest, id: Uuid) -> ReadFuture<'_> {
    Box::pin(async move {
        request
            .get::<Value>("getPortal", json!({ "id": id }))
            .await
            .map(|value| StoredResource::of(id, value))
    })
}

fn title(stored: &StoredResource) -> String {
    stored
        .value
        .get("name")
        .and_then(Value::as_str)
        .map_or_else(|| stored.id.to_string(), str::to_owned)
}

fn preview(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let id = request.path_id("id")?;
        super::preview::open(request, id, ("portal", changed_values(request, &PORTAL)?)).await
    })
}
