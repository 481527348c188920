//! What is found by its name, sorted by what it is, each with the way to its screen.

use askama::Template;
use serde::Deserialize;
use serde_json::json;

use super::frame::Frame;
use super::reply;
use super::screens::{Answering, Group, Page, Screen, way};
use super::stays;
use super::visit::Visit;
use super::when;
use super::words::Words;
use crate::words::fill;

/// The screen; the box above every screen leads to it.
pub static SCREEN: Screen = Screen {
    path: "/search",
    icon: "search",
    title: |words| words.search.search,
    group: Group::Hidden,
    needs: Some("search"),
    pages: &[Page::get("getSearchScreen", "/search", show)],
};

/// What stands between the guest, the flat and the day in the name of a stay.
const BETWEEN: &str = " · ";
/// Results of one search.
const MOST: usize = 50;

/// What can be found: its type, what several are called, and the page of one, where it has one.
type Kind = (&'static str, fn(&Words) -> &'static str, Option<&'static str>);

const KINDS: [Kind; 9] = [
    ("reservation", |words| words.search.reservation, Some("/stays/{id}")),
    ("precheck_step", |words| words.search.precheck_step, Some("/steps/{id}")),
    ("manual", |words| words.search.manual, Some("/manuals/{id}")),
    ("manual_category", |words| words.search.manual_category, Some("/categories/{id}")),
    ("portal", |words| words.search.portal, Some("/portals/{id}")),
    ("portal_branding", |words| words.search.portal_branding, Some("/brandings/{id}")),
    ("property", |words| words.search.property, None),
    ("property_group", |words| words.search.property_group, None),
    ("tag", |words| words.search.tag, None),
];

#[derive(Debug, Deserialize)]
struct Found {
    #[serde(rename = "type")]
    kind: String,
    id: String,
    name: String,
}

/// What was found of a sort: its name, and where it is.
struct Sort {
    title: &'static str,
    found: Vec<(String, Option<String>)>,
}

#[derive(Template)]
#[template(path = "console/search.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    path: String,
    query: String,
    sorts: Vec<Sort>,
    is_cut: bool,
}

/// What something is called; a stay has the day of its arrival at the end.
fn called(visit: &Visit, found: &Found) -> String {
    match found.name.rsplit_once(BETWEEN).filter(|_| found.kind == "reservation") {
        Some((name, day)) => format!("{name}{BETWEEN}{}", when::day(visit, day)),
        None => found.name.clone(),
    }
}

fn place(visit: &Visit, page: Option<&str>, found: &Found) -> Option<String> {
    if found.kind == "property" {
        // A flat has no screen of its own; its stays have.
        let query = [("flat", found.name.as_str()), ("propertyId", found.id.as_str())];
        return visit.may(stays::LIST).then(|| visit.address_with(stays::SCREEN.path, &query));
    }
    way(visit, page?, &found.id)
}

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let words = &visit.words.search;
        let query = visit.asks("query").unwrap_or_default().trim().to_owned();
        let found: Vec<Found> =
            if query.is_empty() { Vec::new() } else { visit.get("search", json!({ "query": query, "limit": MOST })).await? };
        let sort = |(kind, title, page): Kind| {
            let of_kind = found.iter().filter(|found| found.kind == kind);
            Sort { title: title(visit.words), found: of_kind.map(|found| (called(visit, found), place(visit, page, found))).collect() }
        };
        let sorts: Vec<Sort> = KINDS.map(sort).into_iter().filter(|sort| !sort.found.is_empty()).collect();
        let title = if query.is_empty() { words.search.to_owned() } else { fill(words.for_what, &[("query", &query)]) };
        let is_cut = found.len() == MOST;
        let page = Shown { frame: Frame::new(visit, title), path: visit.address(SCREEN.path), query, sorts, is_cut };
        Ok(reply::of(visit, 200, &page))
    })
}
