//! Brandings: the list, the form with the contrast of its colours, and a preview of a portal that
//! uses the branding.

use askama::Template;
use axum::response::Response;
use engine::field::{HexColor, StoredAs};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::audit::Changed;
use super::form::{
    FormView, Layout, Outcome, Reading, Resource, Section, Stored, create_form, created, edit_form,
    saved, typed,
};
use super::frame::{Done, Frame};
use super::paging::Paging;
use super::placeholders::Placeholders;
use super::portals;
use super::preview::Preview;
use super::refusal::Refusal;
use super::reply;
use super::screens::{Answering, Group, Page, Screen};
use super::visit::Visit;
use crate::page::contrast;

/// The screen of the brandings.
pub static SCREEN: Screen = Screen {
    path: "/brandings",
    icon: "palette",
    title: |words| words.portals.brandings,
    group: Group::Setup,
    needs: Some("listPortalBrandings"),
    pages: &[
        Page::get("getBrandingsScreen", "/brandings", list),
        Page::get("getNewBrandingScreen", "/brandings/new", new).needing(&["createPortalBranding"]),
        Page::post("createBrandingOnScreen", "/brandings/new", create)
            .needing(&["createPortalBranding"]),
        Page::get("getBrandingScreen", "/brandings/{id}", show),
        Page::post("updateBrandingOnScreen", "/brandings/{id}", save)
            .needing(&["listPortalBrandings", "updatePortalBranding"]),
        Page::post(
            "previewBrandingOnScreen",
            "/brandings/{id}/preview",
            preview,
        )
        .needing(&["listPortalBrandings", "createPortalPreview"]),
    ],
};

static BRANDING: Resource = Resource {
    create: "createPortalBranding",
    read: "listPortalBrandings",
    stored,
    update: "updatePortalBranding",
    layout: &Layout {
        create: &["name", "calloutMessage"],
        sections: &[
            Section {
                title: |words| words.forms.basics,
                fields: &["name", "nickname", "isDefault", "calloutMessageId"],
            },
            Section {
                title: |words| words.portals.colours,
                fields: &[
                    "primaryColor",
                    "secondaryColor",
                    "textColor",
                    "backgroundColor",
                    "footerColor",
                ],
            },
            Section {
                title: |words| words.portals.links,
                fields: &[
                    "logoWhiteUrl",
                    "customUrlId",
                    "facebookUrl",
                    "instagramUrl",
                    "linkedinUrl",
                ],
            },
        ],
        elsewhere: &["showPoweredBy"],
        markdown: &[],
        names: &[],
        rules: &[],
    },
};

/// Minimum contrast ratio of readable text (WCAG 1.4.3).
const READABLE: f64 = 4.5;
/// The two text colours that the guest's page chooses from on a coloured background.
const READABLE_ONES: &str = "#ffffff #050505";

/// A text colour and a background colour that occur together on the guest's page.
pub struct Meeting {
    pub label: &'static str,
    /// The field of the text colour, or the colours from which the readable one is chosen. A script
    /// uses it to follow the typed values.
    pub inks: &'static str,
    /// The field of the background colour.
    pub ground_field: &'static str,
    pub colour: String,
    pub ground: String,
    /// The contrast ratio, such as 4.5.
    pub ratio: String,
    pub is_readable: bool,
}

/// Returns the pairs of colours of a branding. Typed values replace the stored ones.
fn meetings(visit: &Visit, branding: &Map<String, Value>) -> Vec<Meeting> {
    let colour = |name: &str| {
        let colour = visit
            .sent(name)
            .or(branding.get(name).and_then(Value::as_str))
            .filter(|colour| !colour.is_empty());
        StoredAs::<String>::stored(HexColor(colour.unwrap_or("#ffffff").to_owned()))
    };
    let words = &visit.words.portals;
    let pairs = [
        (words.text_on_background, "textColor", "backgroundColor"),
        (
            words.primary_on_background,
            "primaryColor",
            "backgroundColor",
        ),
        (
            words.secondary_on_background,
            "secondaryColor",
            "backgroundColor",
        ),
        (words.text_on_footer, "textColor", "footerColor"),
        (words.text_on_primary, READABLE_ONES, "primaryColor"),
    ];
    let meeting = |(label, inks, ground_field): (&'static str, &'static str, &'static str)| {
        let ground = colour(ground_field);
        let colour = if inks == READABLE_ONES {
            contrast(&ground, &ground)?.1
        } else {
            colour(inks)
        };
        let (ratio, _) = contrast(&colour, &ground)?;
        Some(Meeting {
            label,
            inks,
            ground_field,
            colour,
            ground,
            ratio: format!("{ratio:.1}"),
            is_readable: ratio >= READABLE,
        })
    };
    pairs.into_iter().filter_map(meeting).collect()
}

/// A branding in the list.
struct Row {
    way: String,
    name: String,
    nickname: String,
    is_default: bool,
    /// Its valid colours.
    colours: Vec<String>,
}

#[derive(Template)]
#[template(path = "console/brandings.html")]
struct List<'v> {
    frame: Frame<'v>,
    rows: Vec<Row>,
    paging: Paging,
    new: Option<String>,
}

async fn all(visit: &Visit) -> Result<Vec<Value>, Refusal> {
    visit.get("listPortalBrandings", json!({})).await
}

fn list(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let all = all(visit).await?;
        let paging = Paging::of(visit, "/brandings", all.len());
        let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let row = |row: &Value| Row {
            way: visit.address(&format!("/brandings/{}", text(row, "id"))),
            name: text(row, "name"),
            nickname: text(row, "nickname"),
            is_default: row["isDefault"] == true,
            colours: ["primaryColor", "secondaryColor", "textColor"]
                .map(|field| text(row, field))
                .into_iter()
                .filter(|colour| contrast(colour, colour).is_some())
                .collect(),
        };
        let rows = paging.cut(all).iter().map(row).collect();
        let new = visit
            .may(BRANDING.create)
            .then(|| visit.address("/brandings/new"));
        Ok(reply::of(
            visit,
            200,
            &List {
                frame: Frame::new(visit, visit.words.portals.brandings),
                rows,
                paging,
                new,
            },
        ))
    })
}

#[derive(Template)]
#[template(path = "console/branding.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    form: FormView,
    meetings: Vec<Meeting>,
    preview: Option<Preview>,
    /// Name of each portal that uses the branding, and address of its console page.
    portals: Vec<(String, String)>,
    changed: Option<Changed>,
    placeholders: Placeholders,
}

/// Returns the portals that use a branding. A portal without a branding uses the default one.
async fn portals_of(visit: &Visit, stored: &Stored) -> Vec<portals::Row> {
    let is_default = stored.value.get("isDefault") == Some(&Value::Bool(true));
    let rows: Vec<portals::Row> = visit
        .get("listPortals", json!({}))
        .await
        .unwrap_or_default();
    rows.into_iter()
        .filter(|row| row.branding_id.map_or(is_default, |id| id == stored.id))
        .collect()
}

async fn page(visit: &Visit, stored: Option<&Stored>, form: FormView) -> Response {
    let status = form.status;
    let name = |stored: &Stored| {
        stored
            .value
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let title = stored.map_or_else(|| visit.words.portals.new_branding.to_owned(), name);
    let frame = Frame::new(visit, title).below(visit, visit.words.portals.brandings, "/brandings");
    let (mut used, mut colours, mut preview, mut changed) = (Vec::new(), Vec::new(), None, None);
    if let Some(stored) = stored {
        used = portals_of(visit, stored).await;
        colours = meetings(visit, &stored.value);
        preview = Preview::of(visit, &format!("/brandings/{}/preview", stored.id))
            .filter(|_| !used.is_empty());
        changed = Changed::of(visit, stored.id).await;
    }
    let portals = used
        .iter()
        .take(20)
        .map(|row| (row.called(), visit.address(&format!("/portals/{}", row.id))))
        .collect();
    reply::of(
        visit,
        status,
        &Shown {
            frame,
            form,
            meetings: colours,
            preview,
            portals,
            changed,
            placeholders: Placeholders::of(visit).await,
        },
    )
}

fn new(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let form = create_form(visit, &BRANDING, visit.address("/brandings/new")).await?;
        Ok(page(visit, None, form).await)
    })
}

fn create(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        match created(visit, &BRANDING, visit.address("/brandings/new")).await? {
            Outcome::Done(made) => Ok(reply::done(
                visit,
                &format!("/brandings/{}", made["id"].as_str().unwrap_or_default()),
                Done::Created,
            )),
            Outcome::Again(form) => Ok(page(visit, None, *form).await),
        }
    })
}

fn stored(visit: &Visit, id: Uuid) -> Reading<'_> {
    Box::pin(async move {
        let wanted = id.to_string();
        let one = all(visit)
            .await?
            .into_iter()
            .find(|row| row["id"].as_str() == Some(&wanted))
            .ok_or_else(Refusal::missing)?;
        Ok(Stored::of(id, one))
    })
}

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let stored = stored(visit, visit.named("id")?).await?;
        let form = edit_form(visit, &BRANDING, &stored, visit.address(&visit.path)).await?;
        Ok(page(visit, Some(&stored), form).await)
    })
}

fn save(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let before = stored(visit, visit.named("id")?).await?;
        match saved(visit, &BRANDING, &before, visit.address(&visit.path)).await? {
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

fn preview(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let stored = stored(visit, visit.named("id")?).await?;
        let portal = portals_of(visit, &stored)
            .await
            .into_iter()
            .next()
            .ok_or_else(Refusal::missing)?;
        let mut typed = typed(visit, &BRANDING)?;
        // A new text has no id yet, so the preview gets the text itself.
        if let Some(callout) = typed.remove("calloutMessageId") {
            typed.insert("calloutMessage".to_owned(), callout["text"].clone());
        }
        super::preview::open(visit, portal.id, ("branding", typed)).await
    })
}
