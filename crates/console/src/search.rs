//! The search by name. The page groups the results by type, and each result links to its page.

use std::sync::Arc;

use askama::Template;
use features::search::{FoundRow, FoundType, SEARCH};
use features::words::fill;
use serde_json::json;

use super::frame::ConsoleFrame;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse, resource_address};
use super::stays;
use super::time_format;
use super::words::ConsoleWords;

/// The screen of the search. The search field on every page opens this screen.
pub static SCREEN: Screen = Screen {
    path: "/search",
    icon: "search",
    title: |words| words.search.search,
    group: ScreenGroup::Hidden,
    needs: Some("search"),
    pages: &[ScreenPage::get("getSearchScreen", "/search", show)],
};

/// The separator between the guest, the flat and the date in the name of a stay.
const SEPARATOR: &str = " · ";
/// Maximum number of results that the page shows.
const MOST: usize = 50;

/// A type of result, the title of its group, and the path of the page that shows a result of this
/// type. Some types have no page.
type ResultKind = (
    FoundType,
    fn(&ConsoleWords) -> &'static str,
    Option<&'static str>,
);

const KINDS: [ResultKind; 9] = [
    (
        FoundType::Reservation,
        |words| words.search.reservation,
        Some("/stays/{id}"),
    ),
    (
        FoundType::PrecheckStep,
        |words| words.search.precheck_step,
        Some("/steps/{id}"),
    ),
    (
        FoundType::Manual,
        |words| words.search.manual,
        Some("/manuals/{id}"),
    ),
    (
        FoundType::ManualCategory,
        |words| words.search.manual_category,
        Some("/categories/{id}"),
    ),
    (
        FoundType::Portal,
        |words| words.search.portal,
        Some("/portals/{id}"),
    ),
    (
        FoundType::PortalBranding,
        |words| words.search.portal_branding,
        Some("/brandings/{id}"),
    ),
    (FoundType::Property, |words| words.search.property, None),
    (
        FoundType::PropertyGroup,
        |words| words.search.property_group,
        None,
    ),
    (FoundType::Tag, |words| words.search.tag, None),
];

/// A group of results of one type. Each result has its name, and its address if a page shows it.
struct ResultGroup {
    title: &'static str,
    found: Vec<(String, Option<String>)>,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage<'v> {
    frame: ConsoleFrame<'v>,
    path: String,
    query: String,
    sorts: Vec<ResultGroup>,
    is_truncated: bool,
}

/// Returns the name of a result. For a stay, the search operation returns a name that ends with the
/// day of arrival. This function formats that day in the member's language.
fn called(request: &ConsoleRequest, found: &FoundRow) -> String {
    match found
        .name
        .rsplit_once(SEPARATOR)
        .filter(|_| found.found_type == FoundType::Reservation)
    {
        Some((name, day)) => format!("{name}{SEPARATOR}{}", time_format::day(request, day)),
        None => found.name.clone(),
    }
}

fn place(request: &ConsoleRequest, page: Option<&str>, found: &FoundRow) -> Option<String> {
    if found.found_type == FoundType::Property {
        // The link of a flat leads to the list of the flat's stays.
        let id = found.id.to_string();
        let query = [("flat", found.name.as_str()), ("propertyId", id.as_str())];
        return request
            .may(stays::LIST)
            .then(|| request.address_with(stays::SCREEN.path, &query));
    }
    resource_address(request, page?, &found.id.to_string())
}

fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = &request.texts.search;
        let query = request
            .query_parameter("query")
            .unwrap_or_default()
            .trim()
            .to_owned();
        let found = if query.is_empty() {
            Arc::default()
        } else {
            let arguments = json!({ "query": query, "limit": MOST });
            request.read(SEARCH, arguments).await?
        };
        let group = |(kind, title, page): ResultKind| {
            let of_kind = found.iter().filter(|found| found.found_type == kind);
            ResultGroup {
                title: title(request.texts),
                found: of_kind
                    .map(|found| (called(request, found), place(request, page, found)))
                    .collect(),
            }
        };
        let sorts: Vec<ResultGroup> = KINDS
            .map(group)
            .into_iter()
            .filter(|group| !group.found.is_empty())
            .collect();
        let title = if query.is_empty() {
            words.search.to_owned()
        } else {
            fill(words.for_what, &[("query", &query)])
        };
        let is_truncated = found.len() == MOST;
        let page = SearchPage {
            frame: ConsoleFrame::new(request, title),
            path: request.address(SCREEN.path),
            query,
            sorts,
            is_truncated,
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}
