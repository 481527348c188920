//! Portals: the list, and the form with a preview of the guest's page and the portal's assignments.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::assign::{Entity, Use};
use super::audit::Changed;
use super::form::{
    FormView, Layout, Outcome, Reading, Resource, Section, Stored, create_form_with, created,
    edit_form, saved, typed,
};
use super::frame::{Done, Frame};
use super::paging::Paging;
use super::placeholders::Placeholders;
use super::preview::Preview;
use super::reply;
use super::screens::{Answering, Group, Page, Screen};
use super::visit::Visit;

/// The screen of the portals.
pub static SCREEN: Screen = Screen {
    path: "/portals",
    icon: "smartphone",
    title: |words| words.portals.portals,
    group: Group::Setup,
    needs: Some("listPortals"),
    pages: &[
        Page::get("getPortalsScreen", "/portals", list),
        Page::get("getNewPortalScreen", "/portals/new", new).needing(&["createPortal"]),
        Page::post("createPortalOnScreen", "/portals/new", create).needing(&["createPortal"]),
        Page::get("getPortalScreen", "/portals/{id}", show).needing(&["getPortal"]),
        Page::post("updatePortalOnScreen", "/portals/{id}", save)
            .needing(&["getPortal", "updatePortal"]),
        Page::post("previewPortalOnScreen", "/portals/{id}/preview", preview)
            .needing(&["getPortal", "createPortalPreview"]),
    ],
};

static PORTAL: Resource = Resource {
    create: "createPortal",
    read: "getPortal",
    stored,
    update: "updatePortal",
    layout: &Layout {
        create: &["name", "isDefault"],
        sections: &[
            Section {
                title: |words| words.forms.basics,
                fields: &["name", "isDefault", "brandingId"],
            },
            Section {
                title: |words| words.portals.contact,
                fields: &[
                    "communicationMethod",
                    "supportWhatsapp",
                    "supportPhone",
                    "supportTextPhone",
                    "supportEmail",
                    "supportNotes",
                    "isChatEnabled",
                    "isTicketingEnabled",
                ],
            },
            Section {
                title: |words| words.portals.precheckin,
                fields: &[
                    "isPrecheckinEnabled",
                    "precheckinPromptMessage",
                    "isPrecheckOrderAutomatic",
                    "isManualReviewEnabled",
                    "isConfettiEnabled",
                ],
            },
            Section {
                title: |words| words.portals.offer,
                fields: &[
                    "isSpecialOfferActive",
                    "specialOfferTitle",
                    "specialOfferType",
                    "specialOfferCtaText",
                    "specialOfferUrl",
                ],
            },
            Section {
                title: |words| words.portals.during,
                fields: &[
                    "excludedQuickAccessTypes",
                    "isUnlockHintShown",
                    "isWalletPassEnabled",
                    "isReviewRequestCheckinEnabled",
                    "isReviewRequestCheckoutEnabled",
                    "isCartAbandonmentEnabled",
                ],
            },
        ],
        elsewhere: &[],
        markdown: &[],
        names: &[],
        rules: &[],
    },
};

/// A portal, as the list operation returns it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub id: Uuid,
    pub name: Option<String>,
    pub is_default: bool,
    pub support_email: Option<String>,
    pub branding_id: Option<Uuid>,
}

impl Row {
    /// Returns its name, or its id: an old portal may have no name.
    pub fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.to_string())
    }
}

#[derive(Template)]
#[template(path = "console/portals.html")]
struct List<'v> {
    frame: Frame<'v>,
    rows: Vec<(Row, String)>,
    paging: Paging,
    new: Option<String>,
}

fn list(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let mut rows: Vec<Row> = visit.get("listPortals", json!({})).await?;
        rows.sort_by_cached_key(|row| (!row.is_default, row.called().to_lowercase()));
        let paging = Paging::of(visit, "/portals", rows.len());
        let rows = paging
            .cut(rows)
            .into_iter()
            .map(|row| (visit.address(&format!("/portals/{}", row.id)), row))
            .map(|(way, row)| (row, way));
        let new = visit
            .may(PORTAL.create)
            .then(|| visit.address("/portals/new"));
        let page = List {
            frame: Frame::new(visit, visit.words.portals.portals),
            rows: rows.collect(),
            paging,
            new,
        };
        Ok(reply::of(visit, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "console/portal.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    form: FormView,
    preview: Option<Preview>,
    used: Option<Use>,
    changed: Option<Changed>,
    placeholders: Placeholders,
}

async fn page(visit: &Visit, id: Option<Uuid>, title: String, form: FormView) -> Response {
    let status = form.status;
    let frame = Frame::new(visit, title).below(visit, visit.words.portals.portals, "/portals");
    let (mut preview, mut used, mut changed) = (None, None, None);
    if let Some(id) = id {
        preview = Preview::of(visit, &format!("/portals/{id}/preview"));
        used = Use::of(visit, Entity::Portal, id).await;
        changed = Changed::of(visit, id).await;
    }
    reply::of(
        visit,
        status,
        &Shown {
            frame,
            form,
            preview,
            used,
            changed,
            placeholders: Placeholders::of(visit).await,
        },
    )
}

fn new(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let portals: Vec<Row> = visit.get("listPortals", json!({})).await?;
        let mut values = Map::new();
        // The first portal is meant for all flats. A limited member does not see every portal.
        if visit.answers_for_organization() && !portals.iter().any(|portal| portal.is_default) {
            values.insert("isDefault".to_owned(), json!(true));
        }
        let action = visit.address("/portals/new");
        let form = create_form_with(visit, &PORTAL, action, &values).await?;
        Ok(page(visit, None, visit.words.portals.new.to_owned(), form).await)
    })
}

fn create(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        match created(visit, &PORTAL, visit.address("/portals/new")).await? {
            Outcome::Done(made) => Ok(reply::done(
                visit,
                &format!("/portals/{}", made["id"].as_str().unwrap_or_default()),
                Done::Created,
            )),
            Outcome::Again(form) => {
                Ok(page(visit, None, visit.words.portals.new.to_owned(), *form).await)
            }
        }
    })
}

fn stored(visit: &Visit, id: Uuid) -> Reading<'_> {
    Box::pin(async move {
        visit
            .get::<Value>("getPortal", json!({ "id": id }))
            .await
            .map(|value| Stored::of(id, value))
    })
}

fn title(stored: &Stored) -> String {
    stored
        .value
        .get("name")
        .and_then(Value::as_str)
        .map_or_else(|| stored.id.to_string(), str::to_owned)
}

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let stored = stored(visit, visit.named("id")?).await?;
        let form = edit_form(visit, &PORTAL, &stored, visit.address(&visit.path)).await?;
        Ok(page(visit, Some(stored.id), title(&stored), form).await)
    })
}

fn save(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let id = visit.named("id")?;
        let before = stored(visit, id).await?;
        match saved(visit, &PORTAL, &before, visit.address(&visit.path)).await? {
            Outcome::Done(is_changed) => Ok(reply::done(
                visit,
                &visit.path,
                if is_changed {
                    Done::Saved
                } else {
                    Done::Unchanged
                },
            )),
            Outcome::Again(form) => Ok(page(visit, Some(id), title(&before), *form).await),
        }
    })
}

fn preview(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let id = visit.named("id")?;
        super::preview::open(visit, id, ("portal", typed(visit, &PORTAL)?)).await
    })
}
