//! Tests of the console's lists in an organization that has no data.

use std::collections::BTreeSet;

use serde_json::json;
use test_support::{App, on_both};
use vestibule_console::addresses;

use super::{marta, page};

/// The kinds of records whose list is at `/console/flats` with the query parameter `kind`. Without
/// this parameter, the page lists flats.
const KINDS: [&str; 12] = [
    "property_group",
    "tag",
    "reservation",
    "lock_code",
    "instruction",
    "upsell",
    "fee_product",
    "damage_waiver",
    "payment_account",
    "custom_field",
    "custom_url",
    "background_check_account",
];
/// The resources whose texts the screen of translations can list.
const TEXTS: [&str; 6] = [
    "manuals",
    "categories",
    "steps",
    "questions",
    "portals",
    "brandings",
];

/// Returns the addresses of links that look like a primary button.
fn primary_links(html: &str) -> Vec<&str> {
    html.split("<a class=\"button\" href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect()
}

on_both!(every_empty_list_links_to_the_next_action);
async fn every_empty_list_links_to_the_next_action(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let screens = addresses()
        .filter(|address| address.is_in_navigation && address.path != "/console")
        .map(|address| address.path);
    let lists: Vec<String> = screens
        .chain(["/console/access/members", "/console/access/keys"].map(str::to_owned))
        .chain(KINDS.map(|kind| format!("/console/flats?kind={kind}")))
        .chain(TEXTS.map(|of| format!("/console/translations?of={of}")))
        .collect();
    let mut empty = 0;
    for list in &lists {
        let html = page(&browser, list).await;
        for card in html.split("class=\"card empty\"").skip(1) {
            empty += 1;
            let card = card.lines().next().unwrap();
            let card = card.split("</div>").next().unwrap();
            assert!(card.contains("href=\""), "{list} ends here: {card}");
        }
        let buttons = primary_links(&html);
        let distinct: BTreeSet<&&str> = buttons.iter().collect();
        assert_eq!(
            distinct.len(),
            buttons.len(),
            "{list} has a button twice: {buttons:?}"
        );
    }
    assert!(empty >= 25, "{empty} of {} lists are empty", lists.len());
}

on_both!(a_filter_that_finds_nothing_can_be_cleared);
async fn a_filter_that_finds_nothing_can_be_cleared(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    assert!(
        page(&browser, "/console/stays")
            .await
            .contains("href=\"/console/flats/import?kind=reservation\"")
    );
    let api = org.key().await;
    let portal = api
        .post("/portals", json!({ "name": "Casa", "isDefault": true }))
        .await
        .data();
    let portal = portal["id"].as_str().unwrap();
    for (list, plain) in [
        ("/console/flats?query=nothing".to_owned(), "/console/flats"),
        (
            "/console/flats?kind=tag&query=nothing".to_owned(),
            "/console/flats?kind=tag",
        ),
        ("/console/stays?query=nothing".to_owned(), "/console/stays"),
        (
            "/console/manuals?search=nothing".to_owned(),
            "/console/manuals",
        ),
        (format!("/console/steps?portal={portal}"), "/console/steps"),
        (
            "/console/submissions?flat=nothing".to_owned(),
            "/console/submissions",
        ),
        (
            "/console/webhooks?host=nothing.example".to_owned(),
            "/console/webhooks",
        ),
    ] {
        let html = page(&browser, &list).await;
        let clear = format!("<a class=\"button plain\" href=\"{plain}\">Clear filters</a>");
        assert!(html.contains(&clear), "{list}: {html}");
    }
}
