//! Brandings: the list, the form, the contrast of each branding's colours, and a preview of a
//! portal with the branding.

use askama::Template;
use axum::response::Response;
use engine::field::{HexColor, StoredAs};
use features::portals::{LIST_PORTALS, PortalRow};
use page::contrast;
use serde_json::{Map, Value, json};
use uuid::Uuid;

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
    path: "/brandings",
    icon: "palette",
    title: |words| words.portals.brandings,
    group: ScreenGroup::Setup,
    needs: Some("listPortalBrandings"),
    pages: &[
        ScreenPage::get("getBrandingsScreen", "/brandings", list),
        ScreenPage::get(
            "getNewBrandingScreen",
            "/brandings/new",
            editor::new::<BrandingEditor>,
        )
        .with_needs(&["createPortalBranding"]),
        ScreenPage::post(
            "createBrandingOnScreen",
            "/brandings/new",
            editor::create::<BrandingEditor>,
        )
        .with_needs(&["createPortalBranding"]),
        ScreenPage::get(
            "getBrandingScreen",
            "/brandings/{id}",
            editor::show::<BrandingEditor>,
        ),
        ScreenPage::post(
            "updateBrandingOnScreen",
            "/brandings/{id}",
            editor::save::<BrandingEditor>,
        )
        .with_needs(&["listPortalBrandings", "updatePortalBranding"]),
        ScreenPage::post(
            "previewBrandingOnScreen",
            "/brandings/{id}/preview",
            preview,
        )
        .with_needs(&["listPortalBrandings", "createPortalPreview"]),
    ],
};

/// The operations and the layout of a branding's form.
pub static BRANDING: Resource = Resource {
    create: "createPortalBranding",
    read: "listPortalBrandings",
    stored,
    update: "updatePortalBranding",
    layout: &Layout {
        create: &["name", "calloutMessage"],
        sections: &[
            Section {
                name: "basics",
                title: |words| words.forms.basics,
            },
            Section {
                name: "colours",
                title: |words| words.portals.colours,
            },
            Section {
                name: "links",
                title: |words| words.portals.links,
            },
        ],
        omitted: &["showPoweredBy"],
        markdown: &[],
        names: &[],
        rules: &[],
    },
};

/// Minimum contrast ratio of readable text (WCAG 1.4.3).
const READABLE: f64 = 4.5;
/// White and a near-black, separated by a space. The guest page writes text on a coloured
/// background in the one of them that has the higher contrast.
const BLACK_OR_WHITE: &str = "#ffffff #050505";

/// A text colour and a background colour that the guest page shows together.
pub struct ColourPair {
    pub label: &'static str,
    /// The name of the form field with the text colour. While the member types, the script
    /// recomputes the contrast from that field. For text on a coloured background, `inks` is
    /// `BLACK_OR_WHITE` instead of a field name.
    pub inks: &'static str,
    /// The name of the form field with the background colour.
    pub ground_field: &'static str,
    pub colour: String,
    pub ground: String,
    /// The contrast ratio, such as 4.5.
    pub ratio: String,
    pub is_readable: bool,
}

/// Returns each text colour of a branding with its background colour. A colour in the submitted
/// form replaces the stored colour.
fn colour_pairs(request: &ConsoleRequest, branding: &Map<String, Value>) -> Vec<ColourPair> {
    let colour = |name: &str| {
        let colour = request
            .form_value(name)
            .or(branding.get(name).and_then(Value::as_str))
            .filter(|colour| !colour.is_empty());
        StoredAs::<String>::stored(HexColor(colour.unwrap_or("#ffffff").to_owned()))
    };
    let words = &request.texts.portals;
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
        (words.text_on_primary, BLACK_OR_WHITE, "primaryColor"),
    ];
    let pair = |(label, inks, ground_field): (&'static str, &'static str, &'static str)| {
        let ground = colour(ground_field);
        let colour = if inks == BLACK_OR_WHITE {
            contrast(&ground, &ground)?.1
        } else {
            colour(inks)
        };
        let (ratio, _) = contrast(&colour, &ground)?;
        Some(ColourPair {
            label,
            inks,
            ground_field,
            colour,
            ground,
            ratio: format!("{ratio:.1}"),
            is_readable: ratio >= READABLE,
        })
    };
    pairs.into_iter().filter_map(pair).collect()
}

/// A branding, as the list shows it.
struct BrandingRow {
    way: String,
    name: String,
    nickname: String,
    is_default: bool,
    /// The branding's colours, without those that are not valid hex colours.
    colours: Vec<String>,
}

#[derive(Template)]
#[template(path = "brandings.html")]
struct BrandingList<'v> {
    frame: ConsoleFrame<'v>,
    rows: Vec<BrandingRow>,
    paging: Paging,
    new: Option<String>,
}

async fn all(request: &ConsoleRequest) -> Result<Vec<Value>, ConsoleRefusal> {
    request.get("listPortalBrandings", json!({})).await
}

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let all = all(request).await?;
        let paging = Paging::of(request, "/brandings", all.len());
        let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let row = |row: &Value| BrandingRow {
            way: request.address(&format!("/brandings/{}", text(row, "id"))),
            name: text(row, "name"),
            nickname: text(row, "nickname"),
            is_default: row["isDefault"] == true,
            colours: ["primaryColor", "secondaryColor", "textColor"]
                .map(|field| text(row, field))
                .into_iter()
                .filter(|colour| contrast(colour, colour).is_some())
                .collect(),
        };
        let rows = paging.rows_of_page(all).iter().map(row).collect();
        let new = request
            .may(BRANDING.create)
            .then(|| request.address("/brandings/new"));
        Ok(reply::page_of_template(
            request,
            200,
            &BrandingList {
                frame: ConsoleFrame::new(request, request.texts.portals.brandings),
                rows,
                paging,
                new,
            },
        ))
    })
}

#[derive(Template)]
#[template(path = "branding.html")]
struct BrandingPage<'v> {
    frame: ConsoleFrame<'v>,
    form: FormView,
    colour_pairs: Vec<ColourPair>,
    preview: Option<PreviewForm>,
    /// Name and console address of each portal that uses the branding.
    portals: Vec<(String, String)>,
    changed: Option<LatestChanges>,
    placeholders: Placeholders,
}

/// Returns the portals that use a branding. A portal without an explicit branding uses the default
/// branding.
async fn portals_of(request: &ConsoleRequest, stored: &StoredResource) -> Vec<PortalRow> {
    let is_default = stored.value.get("isDefault") == Some(&Value::Bool(true));
    let rows = request.read_text(LIST_PORTALS, json!({})).await;
    rows.unwrap_or_default()
        .into_iter()
        .filter(|row| row.branding_id.map_or(is_default, |id| id == stored.id))
        .collect()
}

/// The form of a branding, with the contrast of its colours and a preview.
struct BrandingEditor;

impl Editor for BrandingEditor {
    const PATH: &'static str = "/brandings";
    const RESOURCE: &'static Resource = &BRANDING;

    async fn page(
        request: &ConsoleRequest,
        stored: Option<&StoredResource>,
        form: FormView,
    ) -> Response {
        let status = form.status;
        let words = &request.texts.portals;
        let title = stored.map_or(words.new_branding, |stored| stored.text("name"));
        let frame =
            ConsoleFrame::new(request, title).with_parent(request, words.brandings, "/brandings");
        let (mut used, mut colours, mut preview, mut changed) =
            (Vec::new(), Vec::new(), None, None);
        if let Some(stored) = stored {
            used = portals_of(request, stored).await;
            colours = colour_pairs(request, &stored.value);
            preview = PreviewForm::of(request, &format!("/brandings/{}/preview", stored.id))
                .filter(|_| !used.is_empty());
            changed = LatestChanges::of(request, stored.id).await;
        }
        let portals = used
            .iter()
            .take(20)
            .map(|row| {
                (
                    row.called(),
                    request.address(&format!("/portals/{}", row.id)),
                )
            })
            .collect();
        reply::page_of_template(
            request,
            status,
            &BrandingPage {
                frame,
                form,
                colour_pairs: colours,
                preview,
                portals,
                changed,
                placeholders: Placeholders::of(request).await,
            },
        )
    }
}

fn stored(request: &ConsoleRequest, id: Uuid) -> ReadFuture<'_> {
    Box::pin(async move {
        let id_text = id.to_string();
        let one = all(request)
            .await?
            .into_iter()
            .find(|row| row["id"].as_str() == Some(&id_text))
            .ok_or_else(ConsoleRefusal::missing)?;
        Ok(StoredResource::of(id, one))
    })
}

fn preview(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let stored = stored(request, request.path_id("id")?).await?;
        let portal = portals_of(request, &stored)
            .await
            .into_iter()
            .next()
            .ok_or_else(ConsoleRefusal::missing)?;
        let mut typed = changed_values(request, &BRANDING)?;
        // A new callout text is not stored yet and has no id, so the preview gets the text itself.
        if let Some(callout) = typed.remove("calloutMessageId") {
            typed.insert("calloutMessage".to_owned(), callout["text"].clone());
        }
        super::preview::open(request, portal.id, ("branding", typed)).await
    })
}
