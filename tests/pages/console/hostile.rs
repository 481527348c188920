//! Tests that the console escapes all text: every text of the organization is an attempt to inject
//! HTML, and the tests check every page.

use std::collections::BTreeSet;

use reqwest::Method;
use test_support::files::uploads;
use test_support::{App, on_both};
use vestibule_console::addresses;

use super::things::{KEYS, Things, WEBHOOKS};
use super::{Form, html, page, plain};

/// A text that tries to close any surrounding tag or attribute and run a script.
pub const ATTEMPT: &str = "'\"><img src=data:x onerror=alert(1)>";
/// Addresses with query parameters that the test visits, in addition to the addresses of all pages
/// without a query.
pub const QUERIES: [&str; 9] = [
    "/console/search?query=%3Cimg+src%3Ddata",
    "/console/manuals?search=%3Cimg",
    "/console/stays?query=%3Cimg+src%3Ddata",
    "/console/stays?flat=%22%3E%3Cimg+src%3Ddata%3Ax+onerror%3Dalert(1)%3E",
    "/console/submissions?status=all&flat=%22%3E%3Cimg+src%3Ddata%3Ax+onerror%3Dalert(1)%3E",
    "/console/translations?of=steps",
    "/console/translations?of=categories",
    "/console/translations?of=brandings",
    "/console/audit?after=%22%3E%3Cimg+src%3Ddata%3Ax+onerror%3Dalert(1)%3E",
];

/// Pages that show no stored text: the search without a query, the upload of a table, and the offer
/// of ready-made texts.
const WITHOUT_STORED_TEXT: [&str; 3] = [
    "/console/search",
    "/console/flats/import",
    "/console/ready-set",
];

/// Returns the paths of all pages of the console that show these resources.
pub fn all_pages(things: &Things<'_>) -> Vec<String> {
    let looks = addresses().filter(|address| address.method == Method::GET);
    let own: Vec<String> = looks.flat_map(|address| things.at(&address)).collect();
    let more = own.iter().filter_map(|at| match at {
        at if at.ends_with("/why") => Some(format!("{at}?of=manuals")),
        at if at.contains("/assignments/") => Some(format!("{at}?to=tags")),
        _ => None,
    });
    let more: Vec<String> = more
        .chain(
            own.iter()
                .filter(|at| at.contains("/assignments/"))
                .map(|at| format!("{at}?to=groups")),
        )
        .collect();
    own.into_iter()
        .chain(more)
        .chain(QUERIES.map(str::to_owned))
        .collect()
}

/// Checks that a page contains no injected markup.
#[track_caller]
fn assert_is_text(page: &str, at: &str) {
    for started in ["<img src=data", "onerror=alert(1)>", "href=\"javascript:"] {
        assert!(
            !page.contains(started),
            "{at}: {}",
            page.split(started)
                .next()
                .unwrap()
                .chars()
                .rev()
                .take(200)
                .collect::<String>()
                .chars()
                .rev()
                .collect::<String>()
        );
    }
}

on_both!(
    stored_texts_are_escaped_on_every_page,
    WEBHOOKS,
    KEYS,
    uploads()
);
async fn stored_texts_are_escaped_on_every_page(app: App) {
    let things = Things::make(&app, ATTEMPT).await;
    let mut silent = BTreeSet::new();
    for at in all_pages(&things) {
        for language in ["en", "fr"] {
            let response = things
                .browser
                .send(
                    things
                        .browser
                        .request(Method::GET, &at)
                        .header("accept-language", language),
                )
                .await;
            assert_eq!(response.status, 200, "{at}: {}", response.body);
            let page = html(&response);
            assert_is_text(&page, &at);
            // The name of the organization contains this element, and every page shows the name at
            // most twice. A page with more matches also shows another stored text.
            if plain(&page).matches("<img src=data:x").count() <= 2 {
                silent.insert(at.clone());
            }
        }
    }
    let may_be_silent = |at: &String| {
        WITHOUT_STORED_TEXT.contains(&at.as_str())
            || ["/new", "/webhooks", "/why"]
                .iter()
                .any(|part| at.contains(part))
    };
    assert!(
        silent.iter().all(may_be_silent),
        "nothing of it is shown at {silent:?}"
    );
}

on_both!(refused_input_is_escaped, WEBHOOKS, KEYS, uploads());
async fn refused_input_is_escaped(app: App) {
    let things = Things::make(&app, "Casa").await;
    for address in addresses().filter(|address| address.method == Method::GET) {
        for at in things.at(&address) {
            let page = page(&things.browser, &at).await;
            let own = page
                .split("<form method=\"post\" action=\"")
                .skip(1)
                .map(|rest| plain(rest.split('"').next().unwrap()));
            let own = own.filter(|action| {
                ![
                    "/language",
                    "/sign-out",
                    "/remove",
                    "/delete",
                    "/end",
                    "/approve",
                ]
                .iter()
                .any(|end| action.split('?').next().unwrap().ends_with(end))
            });
            for action in own.collect::<BTreeSet<_>>() {
                let mut form = Form::of(&page, &action);
                let kept = ["form", "key", "base", "updatedAt"];
                for (name, value) in &mut form.fields {
                    if !kept.contains(&name.as_str()) {
                        // The repeated text is longer than any field allows, so the console refuses
                        // the form if it validates the field. Ids and keys of rows get the short
                        // text.
                        *value = if matches!(name.rsplit('.').next(), Some("id" | "key"))
                            && name.contains('.')
                        {
                            ATTEMPT.to_owned()
                        } else {
                            ATTEMPT.repeat(400)
                        };
                    }
                }
                let response = form.send(&things.browser).await;
                if response.status != 303 {
                    let again = response
                        .body
                        .as_str()
                        .unwrap_or_else(|| panic!("{action}: {}", response.body));
                    assert!(
                        matches!(response.status, 200 | 400 | 404 | 409 | 422),
                        "{action}: {}",
                        response.status
                    );
                    assert_is_text(again, &action);
                }
            }
        }
    }
}
