//! Tests of the documentation that the service serves: HTML for browsers, Markdown for other
//! clients, and working links.

use std::collections::{BTreeMap, BTreeSet};

use test_support::{App, on_both};

/// `Accept` header of a browser.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// Returns the paths of all guides that `/llms.txt` lists.
async fn listed(app: &App) -> Vec<String> {
    let index = read(app, "/llms.txt", "*/*").await.1;
    let base = format!("]({}/docs/", app.base);
    let paths = index.split(&base).skip(1);
    paths
        .map(|rest| format!("/docs/{}", rest.split(')').next().unwrap()))
        .collect()
}

/// Returns whether a path ends with `.md`, the extension of Markdown files.
fn is_markdown(path: &str) -> bool {
    std::path::Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "md")
}

async fn read(app: &App, path: &str, accept: &str) -> (String, String) {
    let request = app.http.get(format!("{}{path}", app.base));
    let response = request.header("accept", accept).send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    assert!(
        path == "/llms.txt"
            || !is_markdown(path)
            || response.headers()["vary"]
                .to_str()
                .unwrap()
                .contains("accept"),
        "{path}"
    );
    let kind = response.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    (kind, response.text().await.unwrap())
}

/// Returns the values of an attribute in an HTML page. `attribute` is the name of the attribute
/// with the characters before the value, such as `href="`.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let parts = page.split(attribute).skip(1);
    parts.filter_map(|rest| rest.split('"').next()).collect()
}

on_both!(guides_are_pages_for_browsers_and_markdown_for_others);
async fn guides_are_pages_for_browsers_and_markdown_for_others(app: App) {
    let path = "/docs/how-to/receive-webhooks.md";
    for accept in ["*/*", "text/markdown", "text/plain"] {
        let (kind, text) = read(&app, path, accept).await;
        assert_eq!(kind, "text/markdown; charset=utf-8", "{accept}");
        assert!(text.starts_with("# Receive webhooks\n"), "{accept}");
    }
    let (kind, page) = read(&app, path, BROWSER).await;
    assert_eq!(kind, "text/html; charset=utf-8");
    assert!(
        page.contains("<title>Receive webhooks · Vestibule</title>")
            && page.contains("<h1 id=\"receive-webhooks\">"),
        "{page}"
    );
    let request = app
        .http
        .get(format!("{}{path}", app.base))
        .header("accept", BROWSER);
    let headers = request.send().await.unwrap().headers().clone();
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    assert_eq!(headers["x-content-type-options"], "nosniff");
}

on_both!(every_link_of_every_guide_has_a_target);
async fn every_link_of_every_guide_has_a_target(app: App) {
    let base = reqwest::Url::parse(&app.base).unwrap();
    let mut waiting = listed(&app).await;
    assert!(waiting.len() > 40, "{waiting:?}");
    waiting.push("/docs/README.md".to_owned());
    // `ids` has the ids of the elements on each page. `links` has the fragments that links
    // refer to.
    let (mut ids, mut links) = (BTreeMap::new(), BTreeSet::new());
    while let Some(path) = waiting.pop() {
        if ids.contains_key(&path) {
            continue;
        }
        let (_, page) = read(&app, &path, BROWSER).await;
        assert!(
            !page.contains("<img") && !page.contains("raw HTML omitted"),
            "{path}"
        );
        for target in values(&page, "href=\"") {
            let there = base.join(&path).unwrap().join(target).unwrap();
            if there.origin() == base.origin() {
                let place = there.fragment().map(str::to_owned);
                links.insert((path.clone(), there.path().to_owned(), place));
                if is_markdown(there.path()) {
                    waiting.push(there.path().to_owned());
                } else {
                    read(&app, there.path(), BROWSER).await;
                }
            }
        }
        let here: BTreeSet<String> = values(&page, " id=\"")
            .into_iter()
            .map(str::to_owned)
            .collect();
        ids.insert(path, here);
    }
    assert!(links.len() > 150, "{}", links.len());
    let lost: Vec<_> = links
        .iter()
        .filter(|(_, there, place)| {
            let place = place.as_deref();
            place.is_some_and(|place| ids.get(there).is_some_and(|ids| !ids.contains(place)))
        })
        .collect();
    assert!(lost.is_empty(), "{lost:#?}");
}

on_both!(markdown_has_the_links_of_its_page);
async fn markdown_has_the_links_of_its_page(app: App) {
    for path in listed(&app).await {
        let (_, text) = read(&app, &path, "*/*").await;
        let prose: String = text.split("\n```").step_by(2).collect();
        let here = reqwest::Url::parse(&format!("{}{path}", app.base)).unwrap();
        for target in prose
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let there = here.join(target).unwrap();
            if there.origin() == here.origin() {
                read(&app, there.path(), "*/*").await;
            }
        }
    }
}
