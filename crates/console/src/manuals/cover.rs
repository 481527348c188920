//! The cover of a manual. It is an icon, or a photo if the service has a photo provider. The member
//! types a word to search for icons and photos.

use askama::Template;
use axum::response::Response;
use features::manuals::{SEARCH_COVER_ICONS, SEARCH_STOCK_PHOTOS, StockPhoto, StockPhotos};
use features::words::fill;
use page::icon;
use serde_json::{Value, json};

use super::{MANUAL, stored};
use crate::form::StoredResource;
use crate::frame::{CompletedAction, ConsoleFrame};
use crate::refusal::ConsoleRefusal;
use crate::reply;
use crate::request::ConsoleRequest;
use crate::screens::ScreenResponse;

/// Maximum number of icons on the page: `MOST_ICONS` if the page shows no photos, and `FEWER_ICONS`
/// if it shows photos, too.
const MOST_ICONS: usize = 100;
const FEWER_ICONS: usize = 48;
/// `MOST_PHOTOS` is the maximum number of photos on a page of results. `MAX_PAGES` is the maximum
/// number of such pages.
const MOST_PHOTOS: usize = 12;
const MAX_PAGES: u64 = 100;
/// Maximum length in bytes of a photo's URL from the photo provider. The console does not use
/// longer URLs.
const MAX_URL_LENGTH: usize = 1_000;

/// The current cover of a manual, and the link to change it.
pub struct CurrentCover {
    /// The SVG of the manual's icon. Empty if the manual has no icon.
    pub icon: String,
    pub photo: Option<String>,
    /// Address of the page on which the member chooses another cover.
    pub change_address: String,
    /// Label of the link to `change_address`.
    pub choose: &'static str,
}

impl CurrentCover {
    pub fn of(request: &ConsoleRequest, stored: &StoredResource) -> Self {
        let text = |field: &str| {
            stored
                .value
                .get(field)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        Self {
            icon: text("iconName").map(icon).unwrap_or_default(),
            photo: text("imageUrl").map(str::to_owned),
            change_address: request.address(&format!("/manuals/{}/icon", stored.id)),
            choose: if has_photos(request) {
                request.texts.manuals.choose_cover
            } else {
                request.texts.manuals.icon
            },
        }
    }
}

/// Returns whether the service has a photo provider.
fn has_photos(request: &ConsoleRequest) -> bool {
    request
        .service
        .app_state
        .extension::<StockPhotos>()
        .is_some()
}

/// A photo, as the page shows it.
struct ShownPhoto {
    url: String,
    thumbnail: String,
    /// The description of the photo.
    about: String,
    /// The name of the photographer.
    by: String,
    /// The address of the photographer's page. `None` if the provider sent no address, or one that
    /// is not safe to link to.
    photographer: Option<String>,
}

/// The result of a search for photos: the photos of one page, a sentence with the number of all
/// found photos, the address of the next page, and the error text of a failed search.
#[derive(Default)]
struct FoundCovers {
    photos: Vec<ShownPhoto>,
    count: String,
    more: Option<String>,
    problem: Option<&'static str>,
}

#[derive(Template)]
#[template(path = "icons.html")]
struct CoverPage<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    query: String,
    /// Label of the search field.
    find: &'static str,
    /// The SVG and the name of each icon.
    icons: Vec<(String, &'static str)>,
    total: usize,
    /// The photos that the search found. `None` if there is no photo provider, or if the member
    /// typed no search text.
    found: Option<FoundCovers>,
    /// Whether the current cover is a photo. The page then offers to remove it.
    has_photo: bool,
    problem: Option<String>,
    may_change: bool,
}

/// Returns `url` if a page may link to it, otherwise `None`. The URL must be http or https and must
/// not be longer than `MAX_URL_LENGTH`.
fn safe(url: &str) -> Option<String> {
    let is_web = ["https://", "http://"]
        .iter()
        .any(|scheme| url.starts_with(scheme));
    (is_web && url.len() <= MAX_URL_LENGTH).then(|| url.to_owned())
}

async fn photos(request: &ConsoleRequest, query: &str) -> FoundCovers {
    let words = &request.texts.manuals;
    let number = request
        .query_parameter("page")
        .and_then(|page| page.parse::<u64>().ok())
        .unwrap_or(1)
        .clamp(1, MAX_PAGES);
    let arguments = json!({ "query": query, "perPage": MOST_PHOTOS, "page": number });
    let Ok(photos) = request.read(SEARCH_STOCK_PHOTOS, arguments).await else {
        return FoundCovers {
            problem: Some(words.photos_failed),
            ..FoundCovers::default()
        };
    };
    let is_more = number < photos.total_pages.min(MAX_PAGES);
    let shown = |photo: &StockPhoto| {
        Some(ShownPhoto {
            url: safe(&photo.image_url)?,
            thumbnail: safe(&photo.thumbnail_url)?,
            about: photo
                .description
                .as_deref()
                .unwrap_or_default()
                .chars()
                .take(200)
                .collect(),
            by: fill(
                words.photo_by,
                &[(
                    "name",
                    &photo
                        .photographer_name
                        .chars()
                        .take(100)
                        .collect::<String>(),
                )],
            ),
            photographer: safe(&photo.photographer_url),
        })
    };
    let more = || {
        request.address_with(
            &request.path,
            &[("query", query), ("page", &(number + 1).to_string())],
        )
    };
    FoundCovers {
        count: fill(words.photos_found, &[("count", &photos.total.to_string())]),
        photos: photos
            .items
            .iter()
            .take(MOST_PHOTOS)
            .filter_map(shown)
            .collect(),
        more: is_more.then(more),
        problem: None,
    }
}

async fn page(
    request: &ConsoleRequest,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    let words = &request.texts.manuals;
    let stored = stored(request, request.path_id("id")?).await?;
    let query = request
        .query_parameter("query")
        .unwrap_or_default()
        .trim()
        .to_owned();
    let has_photos = has_photos(request);
    let mut arguments = json!({ "limit": if has_photos { FEWER_ICONS } else { MOST_ICONS } });
    if !query.is_empty() {
        arguments["query"] = query.as_str().into();
    }
    let icons = request.read(SEARCH_COVER_ICONS, arguments).await?;
    let found = if has_photos && !query.is_empty() {
        Some(photos(request, &query).await)
    } else {
        None
    };
    let nickname = stored
        .value
        .get("nickname")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let cover = CurrentCover::of(request, &stored);
    let frame =
        ConsoleFrame::new(request, cover.choose).with_parent(request, words.manuals, "/manuals");
    let page = CoverPage {
        frame: frame.with_parent(request, nickname, &format!("/manuals/{}", stored.id)),
        action: request.address(&request.path),
        query,
        find: if has_photos {
            words.find_cover
        } else {
            words.find_icon
        },
        icons: icons
            .items
            .iter()
            .map(|found| (icon(found.name), found.name))
            .collect(),
        total: icons.total,
        found,
        has_photo: cover.photo.is_some(),
        problem: refused
            .as_ref()
            .map(|refusal| refusal.sentences(request).join(" ")),
        may_change: request.may(MANUAL.update),
    };
    Ok(reply::page_of_template(
        request,
        refused.map_or(200, |refusal| refusal.status),
        &page,
    ))
}

pub fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(page(request, None))
}

/// Handles the choice of a cover: makes the chosen icon or photo the cover of the manual.
pub fn choose(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let id = request.path_id("id")?;
        let field = if request.form_value("imageUrl").is_some() {
            "imageUrl"
        } else {
            "iconName"
        };
        let value = request.form_value(field).filter(|value| !value.is_empty());
        match request
            .get::<Value>(MANUAL.update, json!({ "id": id, "data": { field: value } }))
            .await
        {
            Ok(_) => Ok(reply::redirect_with_confirmation(
                request,
                &format!("/manuals/{id}"),
                CompletedAction::Saved,
            )),
            Err(refusal) if matches!(refusal.status, 400 | 409) => {
                page(request, Some(refusal)).await
            }
            Err(refusal) => Err(refusal),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_links_are_shown_for_photos() {
        for (url, is_safe) in [
            ("https://i.example/a", true),
            ("http://i.example/a", true),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("/console", false),
            ("", false),
        ] {
            assert_eq!(safe(url).is_some(), is_safe, "{url}");
        }
        assert_eq!(
            safe(&format!("https://{}", "a".repeat(MAX_URL_LENGTH))),
            None
        );
    }
}
