//! Records the headers of the pages of all four surfaces for browsers: guest, console, sign-in and
//! consent. A change of a header shows as a change of the snapshot.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use test_support::files::uploads;
use test_support::{ApiResponse, App};
use vestibule_console::addresses;

use crate::console::things::{KEYS, Things, WEBHOOKS};
use crate::oauth::{MemberScene, encoded, with};
use crate::people::Browser;

/// Headers whose value differs from response to response. The snapshot has only their names.
const CHANGING: [&str; 5] = [
    "etag",
    "last-modified",
    "location",
    "set-cookie",
    "x-request-id",
];

/// Removes the hashes of scripts and styles, which change with every edit of a script or style.
fn without_hashes(policy: &str) -> String {
    let mut parts = policy.split("'sha256-");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, part| {
        let (_, rest) = part.split_once('\'').unwrap();
        text + "'sha256-…'" + rest
    })
}

/// The pages, grouped by their headers. The key is the text of the headers, and the value contains
/// the pages that have these headers.
#[derive(Default)]
struct PagesByHeaders(BTreeMap<String, BTreeSet<String>>);

impl PagesByHeaders {
    fn add(&mut self, page: &str, response: &ApiResponse) {
        let mut lines: Vec<String> = response
            .headers
            .iter()
            .filter(|(name, _)| !["date", "content-length"].contains(&name.as_str()))
            .map(|(name, value)| {
                if CHANGING.contains(&name.as_str()) {
                    format!("    {name}")
                } else {
                    format!("    {name}: {}", without_hashes(value.to_str().unwrap()))
                }
            })
            .collect();
        lines.sort();
        lines.dedup();
        self.0
            .entry(lines.join("\n"))
            .or_default()
            .insert(format!("{} {page}", response.status));
    }

    fn text(&self) -> String {
        let groups = self.0.iter().map(|(headers, pages)| {
            let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
            format!("{}\n{headers}\n", pages.join("\n"))
        });
        groups.collect::<Vec<_>>().join("\n")
    }
}

/// The headers do not depend on the database, so this test runs on only one database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_of_all_pages_are_recorded() {
    let uploads = uploads();
    let app = App::on_sqlite(&[WEBHOOKS, KEYS, uploads]).await;
    let things = Things::make(&app, "Casa").await;
    let nobody = Browser::new(&app);
    let mut pages = PagesByHeaders::default();

    for address in addresses() {
        for at in things.at(&address) {
            let query = at.split_once('?').map(|(_, query)| query.split('=').next());
            let page = match query {
                Some(Some(name)) => format!("{} {}?{name}", address.method, address.path),
                _ => format!("{} {}", address.method, address.path),
            };
            if address.method == Method::GET {
                pages.add(&page, &things.browser.get(&at).await);
                pages.add(&format!("{page} (signed out)"), &nobody.get(&at).await);
            } else {
                pages.add(
                    &format!("{page} (no token)"),
                    &things.browser.post(&at, &[]).await,
                );
            }
        }
    }

    let stay = format!("/stay/{}", things.house.token);
    let step = format!("steps/{}", things.steps[0]);
    for (page, path) in [
        ("/stay/{token}", String::new()),
        ("/stay/{token}/steps/{stepId}", format!("/{step}")),
        (
            "/stay/{token}/steps/{stepId}/files",
            format!("/{step}/files"),
        ),
        ("/stay/{token}/review", "/review".to_owned()),
        ("/stay/{token}/submit", "/submit".to_owned()),
        ("/stay/{token}/messages", "/messages".to_owned()),
        ("/stay/{token}/issues", "/issues".to_owned()),
        (
            "/stay/{token}/reviews/checkin",
            "/reviews/checkin".to_owned(),
        ),
        (
            "/stay/{token}/reviews/checkout",
            "/reviews/checkout".to_owned(),
        ),
        ("/stay/{token}/extras", "/extras".to_owned()),
        (
            "/stay/{token}/manuals/{manualId}",
            format!("/manuals/{}", things.manual),
        ),
        ("/stay/{token}/stay.ics", "/stay.ics".to_owned()),
        (
            "/stay/{token}/manifest.webmanifest",
            "/manifest.webmanifest".to_owned(),
        ),
        ("/stay/{token}/worker.js", "/worker.js".to_owned()),
        ("/stay/{token}/", "/".to_owned()),
        ("/stay/{token}/unknown", "/unknown".to_owned()),
    ] {
        pages.add(
            &format!("GET {page}"),
            &nobody.get(&format!("{stay}{path}")).await,
        );
        let posted = nobody.post(&format!("{stay}{path}"), &[]).await;
        pages.add(&format!("POST {page} (no fields)"), &posted);
    }
    for path in ["/stay", "/stay/unknown", "/favicon.ico"] {
        pages.add(&format!("GET {path}"), &nobody.get(path).await);
    }

    for path in [
        "/sign-in",
        "/sign-in/provider",
        "/sign-in/unknown",
        "/sign-out",
        "/setup/unknown",
        "/setup",
    ] {
        pages.add(&format!("GET {path}"), &nobody.get(path).await);
        pages.add(
            &format!("POST {path} (no fields)"),
            &nobody.post(path, &[]).await,
        );
    }
    pages.add(
        "GET /sign-out (signed in)",
        &things.browser.get("/sign-out").await,
    );

    let scene = MemberScene::build(&app).await;
    for (page, ask) in [
        ("consent", scene.ask()),
        (
            "consent, unknown client",
            with(scene.ask(), "client_id", "unknown"),
        ),
        (
            "consent, unknown response type",
            with(scene.ask(), "response_type", "unknown"),
        ),
    ] {
        let path = format!("/oauth/authorize?{}", encoded(&ask));
        for (who, browser) in [("signed in", &scene.browser), ("signed out", &nobody)] {
            let response = browser.get(&path).await;
            assert_ne!(response.status, 404, "{page}");
            pages.add(&format!("GET /oauth/authorize ({page}, {who})"), &response);
        }
    }
    let posted = scene.browser.post("/oauth/authorize", &[]).await;
    pages.add("POST /oauth/authorize (no fields)", &posted);

    let text = pages.text().replace(&things.house.token, "[token]");
    insta::assert_snapshot!("page_headers", text);
}
