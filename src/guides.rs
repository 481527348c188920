//! Serves the documentation of `docs/` at the same paths below `/docs/`: as pages to browsers, and
//! as Markdown to other clients. `/llms.txt` lists all documents for language models.

use std::sync::{Arc, LazyLock, OnceLock};

use askama::Template;
use axum::Router;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use comrak::Options;
use engine::pipeline::Service;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue};
use sha2::{Digest as _, Sha256};

/// A document of `docs/` that is served.
struct Guide {
    /// The path of the file below `docs/`. It is also the path of the page below `/docs/`.
    path: &'static str,
    /// The topic of the document in a few words, for its line in `/llms.txt`.
    about: &'static str,
    /// The Markdown of the file in `docs/`.
    source: &'static str,
    /// The Markdown to serve, created at the first request.
    markdown: OnceLock<String>,
    /// The HTML page, created at the first request.
    page: OnceLock<String>,
}

/// Declares a guide from a file of `docs/`, which is built into the binary.
macro_rules! guide {
    ($path:literal, $about:literal) => {
        Guide {
            path: $path,
            about: $about,
            source: include_str!(concat!("../docs/", $path)),
            markdown: OnceLock::new(),
            page: OnceLock::new(),
        }
    };
}

/// The table of contents of the documentation. `/llms.txt` does not list it.
static CONTENTS: Guide = guide!("README.md", "all pages, by what a reader wants to do");

static TUTORIALS: [Guide; 3] = [
    guide!(
        "tutorials/first-guest.md",
        "from the binary to a guest who submits pre-check-in, with the demo"
    ),
    guide!(
        "tutorials/pre-check-in.md",
        "a step, its questions, a guest who answers, and the decision"
    ),
    guide!(
        "tutorials/manuals.md",
        "a manual, its texts, its rules, and what a guest reads when"
    ),
];

static HOW_TO: [Guide; 38] = [
    guide!(
        "how-to/start-without-a-platform.md",
        "from the binary to a guest's page without another program: set-up link, flats, stays, \
            members"
    ),
    guide!(
        "how-to/import-csv-files.md",
        "flats, stays and other records from a table, in the console or from a shell"
    ),
    guide!(
        "how-to/import-exports.md",
        "bookings from exports of Hostaway, Guesty, Smoobu, Lodgify and Beds24, column by column"
    ),
    guide!(
        "how-to/connect-an-assistant.md",
        "connecting Claude, ChatGPT, Zapier or a client of your own to the tools, and tasks solved \
            by them"
    ),
    guide!(
        "how-to/connect-an-app.md",
        "how an app is let in by a member, request by request"
    ),
    guide!(
        "how-to/receive-webhooks.md",
        "subscribing, verifying signatures, receivers in five languages, a new secret"
    ),
    guide!(
        "how-to/sign-members-in.md",
        "links of a platform, and an OpenID provider"
    ),
    guide!("how-to/keycloak.md", "a Keycloak client for signing in"),
    guide!(
        "how-to/entra-id.md",
        "a Microsoft Entra ID application for signing in"
    ),
    guide!("how-to/zitadel.md", "a ZITADEL application for signing in"),
    guide!(
        "how-to/preview-a-portal.md",
        "a portal as a guest would see it, before it is used"
    ),
    guide!(
        "how-to/review-pre-check-ins.md",
        "approving submissions, and asking for changes"
    ),
    guide!("how-to/follow-guests.md", "one list of all that guests do"),
    guide!(
        "how-to/report-a-step.md",
        "telling guests how a check, a payment or a signature stands"
    ),
    guide!(
        "how-to/carry-out-charges.md",
        "collecting fees, waivers and deposits that guests agreed to"
    ),
    guide!(
        "how-to/load-first-data.md",
        "an organization, a key, and an import of records"
    ),
    guide!(
        "how-to/take-bookings-from-calendars.md",
        "calendars of booking sites, unclear entries, failures"
    ),
    guide!(
        "how-to/use-placeholders.md",
        "values of the flat and the stay in texts"
    ),
    guide!(
        "how-to/translate-texts.md",
        "machine translation by a service of your own"
    ),
    guide!(
        "how-to/run-on-a-database.md",
        "SQLite, PostgreSQL, poolers, replicas, fail-over, several nodes, Redis"
    ),
    guide!(
        "how-to/distribute-organizations.md",
        "several PostgreSQL servers, with Citus"
    ),
    guide!(
        "how-to/run-behind-a-proxy.md",
        "time-outs, limits, paths and health checks of a proxy"
    ),
    guide!(
        "how-to/caddy.md",
        "the configuration for Caddy, and a public address below a path"
    ),
    guide!(
        "how-to/nginx.md",
        "the configuration for nginx, and a public address below a path"
    ),
    guide!(
        "how-to/haproxy.md",
        "the configuration for HAProxy, and a public address below a path"
    ),
    guide!(
        "how-to/traefik.md",
        "the configuration for Traefik, and a public address below a path"
    ),
    guide!(
        "how-to/set-up-a-domain.md",
        "the guest's page under a name of your own: DNS record, certificate, test"
    ),
    guide!(
        "how-to/serve-tls.md",
        "certificates without a proxy, obtained and renewed, or in files"
    ),
    guide!(
        "how-to/run-on-a-small-server.md",
        "from an empty server to a public address, with systemd"
    ),
    guide!(
        "how-to/store-files.md",
        "a directory or a bucket for files of guests, and photos of reviews"
    ),
    guide!(
        "how-to/connect-devices.md",
        "a service that carries out commands to devices"
    ),
    guide!(
        "how-to/offer-wallet-passes.md",
        "a signing certificate for passes"
    ),
    guide!(
        "how-to/back-up-and-restore.md",
        "copies of the database, and starting from one"
    ),
    guide!("how-to/upgrade.md", "replacing one version by the next"),
    guide!(
        "how-to/erase-an-organization.md",
        "what is deleted, and when"
    ),
    guide!(
        "how-to/run-the-benchmark.md",
        "measuring a build on your machine"
    ),
    guide!(
        "how-to/run-the-long-tests.md",
        "failures, hostile clients, long loads"
    ),
    guide!("how-to/troubleshoot.md", "symptoms, causes, and what to do"),
];

static REFERENCE: [Guide; 13] = [
    guide!(
        "reference/commands.md",
        "commands, flags, variables, secrets, shutdown"
    ),
    guide!(
        "reference/monitoring.md",
        "health checks, metrics, log lines, traces"
    ),
    guide!("reference/limits.md", "every limit and deadline"),
    guide!(
        "reference/tools.md",
        "addresses and sets of the tools for assistants"
    ),
    guide!("reference/oauth.md", "sorts of apps, connections, errors"),
    guide!(
        "reference/signing-in.md",
        "addresses, cookies, ends of sessions, log lines"
    ),
    guide!("reference/console.md", "the screens for members"),
    guide!("reference/portals.md", "which portal a property gets"),
    guide!(
        "reference/pre-check-in.md",
        "reasons, order, titles, questions, answers, activation"
    ),
    guide!(
        "reference/charges.md",
        "charges of a stay: amounts, accounts, moments, outcomes"
    ),
    guide!("reference/manuals.md", "visibility, order, texts, covers"),
    guide!(
        "reference/guest-page.md",
        "what guests see and do on their page"
    ),
    guide!(
        "reference/webhooks.md",
        "events, deliveries, attempts, the log, targets"
    ),
];

static RULES: [Guide; 27] = [
    guide!(
        "reference/rules/README.md",
        "what rules are, and which page has which"
    ),
    guide!(
        "reference/rules/errors.md",
        "requests, answers, errors, retries, idempotency keys"
    ),
    guide!(
        "reference/rules/limits.md",
        "rate limits, sizes, pages of lists"
    ),
    guide!(
        "reference/rules/access.md",
        "credentials, permissions, callers limited to some properties"
    ),
    guide!(
        "reference/rules/portals.md",
        "fields, the default, copy, which portal serves a property"
    ),
    guide!(
        "reference/rules/brandings.md",
        "names, colours, links, the default"
    ),
    guide!(
        "reference/rules/domains.md",
        "hosts of brandings, guest links, requests under a domain"
    ),
    guide!(
        "reference/rules/steps.md",
        "types, activation, targeting, titles, questions, order, deposits"
    ),
    guide!(
        "reference/rules/manuals.md",
        "texts, covers, visibility rules, order, instructions"
    ),
    guide!(
        "reference/rules/categories.md",
        "titles, positions, deletion"
    ),
    guide!(
        "reference/rules/translations.md",
        "texts, languages, fallback, placeholders, machine translation"
    ),
    guide!(
        "reference/rules/assignments.md",
        "entity scopes, and assigning a portal"
    ),
    guide!(
        "reference/rules/records.md",
        "reservations and other records: kinds, reads, search"
    ),
    guide!(
        "reference/rules/calendar-feeds.md",
        "calendars of booking sites, and which reservations follow"
    ),
    guide!(
        "reference/rules/devices.md",
        "commands to devices, their checks and outcomes"
    ),
    guide!(
        "reference/rules/sync.md",
        "how a platform writes records, and which events it fires"
    ),
    guide!(
        "reference/rules/stays.md",
        "links, the guest view, messages, explanations, previews, the page"
    ),
    guide!(
        "reference/rules/guest-requests.md",
        "issues, surveys, extras, carts, instructions, wallet passes"
    ),
    guide!(
        "reference/rules/pre-check-in.md",
        "what guests save, files, states, reports, submission"
    ),
    guide!(
        "reference/rules/submissions.md",
        "review, flags, decisions, changes of guests"
    ),
    guide!(
        "reference/rules/charges.md",
        "amounts, moments, outcomes, stays that change"
    ),
    guide!(
        "reference/rules/webhooks.md",
        "subscriptions, targets, deliveries, ends"
    ),
    guide!(
        "reference/rules/organizations.md",
        "settings, erasure, the audit log"
    ),
    guide!(
        "reference/rules/settings.md",
        "values of settings, databases, clients behind a proxy"
    ),
    guide!(
        "reference/rules/members.md",
        "members, API keys, tokens, sign-in, sessions"
    ),
    guide!(
        "reference/rules/oauth.md",
        "clients, codes, tokens, grants, connections"
    ),
    guide!("reference/rules/tools.md", "tools, sets, results, refusals"),
];

static EXPLANATION: [Guide; 6] = [
    guide!(
        "explanation/scaling.md",
        "which set-up to choose: one node, several nodes, a standby"
    ),
    guide!(
        "explanation/capacity.md",
        "what bounds writes, memory and growth"
    ),
    guide!(
        "explanation/reliability.md",
        "promises in case of failures, and their tests"
    ),
    guide!(
        "explanation/stays.md",
        "what happens to a pre-check-in when the stay, the people or the texts change"
    ),
    guide!(
        "explanation/security.md",
        "who may do what, and what is stored how"
    ),
    guide!(
        "explanation/performance.md",
        "the benchmark, its figures, and the reasons for them"
    ),
];

/// The guides of each type of document, in the order in which `/llms.txt` lists them.
static KINDS: [(&str, &[Guide]); 5] = [
    ("Tutorials", &TUTORIALS),
    ("How-to guides", &HOW_TO),
    ("Reference", &REFERENCE),
    ("Rules", &RULES),
    ("Explanation", &EXPLANATION),
];

/// The text of `/llms.txt` (llmstxt.org). `{base}` stands for the public address.
const LLMS: &str = "# Vestibule

> Vestibule runs the portals that guests of short-term rentals get before and during a stay: steps \
    to complete before arrival (pre-check-in), house manuals with rules of when they are shown, \
    brandings, and which properties each of them is for.

There are two ways in. Assistants use the tools: an MCP server at {base}/mcp (streamable HTTP). \
    Programs use the REST interface below {base}/api/v1. Both take `Authorization: Bearer …` with \
    an API key (`sk_…`) or an OAuth access token (`at_…`); a 401 names the metadata of where to \
    get one. Both do the same things under the same names: a tool is named by the operationId of \
    the REST operation.

{base}/mcp/read-only has the tools that change nothing; {base}/mcp?toolsets=portals,steps has some \
    sets of them, of `portals`, `brandings`, `steps`, `manuals`, `translations`, `assignments`, \
    `reservations`, `records`, `search`.

## Main tasks

- Find an id by name: `search`, `GET /api/v1/search?query=…`
- Why does a guest (not) see something: `explainGuestView`, `GET /api/v1/reservations/{id}/explain`
- Assign a step, manual or portal to properties, groups or tags: `addEntityScopes`, `POST \
    /api/v1/entity-scopes/add`
- Change when a manual is shown: `updatePortalManual` with `visibilityRules`, `PATCH \
    /api/v1/portal-manuals/{id}`
- Review what guests handed in: `listPrecheckinSubmissions`, `approvePrecheckin`, \
    `requestPrecheckinChanges`
- See a portal as a guest would: `createPortalPreview`, `POST /api/v1/portals/{id}/preview`

{guides}## Interfaces

- [OpenAPI 3.1 document]({base}/api/v1/openapi.json): every operation of the REST interface, with \
    examples
- [API reference]({base}/docs): the same as a page
";

/// The style sheet of the pages.
static STYLE: LazyLock<String> =
    LazyLock::new(|| include_str!("guides/guide.css").replace('\n', ""));

/// The content security policy of the pages, which allows the style sheet [`STYLE`] and nothing
/// else.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = BASE64_STANDARD.encode(Sha256::digest(&*STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; \
            frame-ancestors 'none'"
    )
});

/// The options of the Markdown renderer: headings get ids, which links refer to.
///
/// The renderer of manuals in `markdown` has other options. Hosts type the texts of manuals, so
/// each line break of a manual is shown. The headings of a manual rank below those of the page
/// around it.
static OPTIONS: LazyLock<Options<'static>> = LazyLock::new(|| {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.header_id_prefix = Some(String::new());
    options
});

/// The HTML page that shows a guide.
#[derive(Template)]
#[template(path = "guides/guide.html")]
struct GuidePage<'p> {
    title: &'p str,
    /// The relative path from the guide to `/docs/`, such as `../`.
    up: String,
    body: String,
    style: &'p str,
}

impl Guide {
    /// Returns the text of the first heading.
    fn title(&self) -> &'static str {
        let first = self.source.lines().next().unwrap_or_default();
        first.trim_start_matches("# ")
    }

    /// Returns the Markdown without pictures, and without links to pages that are not served.
    fn markdown(&self) -> &str {
        self.markdown
            .get_or_init(|| remove_unserved_links(self.path, self.source))
    }

    /// Returns the HTML page. If rendering fails, returns the Markdown, so that the page is not
    /// empty.
    fn page(&self) -> &str {
        self.page.get_or_init(|| {
            let page = GuidePage {
                title: self.title(),
                up: "../".repeat(self.path.matches('/').count()),
                body: comrak::markdown_to_html(self.markdown(), &OPTIONS),
                style: &STYLE,
            };
            page.render().unwrap_or_else(|_| self.markdown().to_owned())
        })
    }
}

/// Returns all guides that are served.
fn guides() -> impl Iterator<Item = &'static Guide> {
    let listed = KINDS.iter().flat_map(|(_, guides)| guides.iter());
    std::iter::once(&CONTENTS).chain(listed)
}

/// Returns the routes of the guides.
pub(crate) fn router(service: &Arc<Service>) -> Router {
    let llms = HeaderValue::from_static("text/plain; charset=utf-8");
    let llms_index = index(&service.app_state.public_url);
    let mut router = Router::new().route(
        "/llms.txt",
        get(async move || text_response(llms, llms_index)),
    );
    for guide in guides() {
        router = router.route(
            &format!("/docs/{}", guide.path),
            get(async move |headers: HeaderMap| guide_response(guide, &headers)),
        );
    }
    router
}

/// Returns the response with a guide: the page for a client that accepts `text/html`, or else the
/// Markdown.
fn guide_response(guide: &'static Guide, headers: &HeaderMap) -> Response {
    let accepts_pages = headers.get_all(ACCEPT).iter().any(|kinds| {
        kinds
            .to_str()
            .is_ok_and(|kinds| kinds.contains("text/html"))
    });
    let mut response = if accepts_pages {
        let kind = HeaderValue::from_static("text/html; charset=utf-8");
        let mut response = text_response(kind, guide.page());
        let headers = response.headers_mut();
        if let Ok(policy) = HeaderValue::from_str(&POLICY) {
            headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    } else {
        let kind = HeaderValue::from_static("text/markdown; charset=utf-8");
        text_response(kind, guide.markdown())
    };
    let vary = HeaderValue::from_static("accept");
    response.headers_mut().insert(VARY, vary);
    response
}

/// Returns a response with a text of this content type.
fn text_response(kind: HeaderValue, body: impl Into<axum::body::Body>) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, body.into()).into_response()
}

/// Returns the text of `/llms.txt` with links that begin with `base`.
fn index(base: &str) -> String {
    let line = |guide: &Guide| {
        let Guide { path, about, .. } = guide;
        format!("- [{}]({base}/docs/{path}): {about}\n", guide.title())
    };
    let section = |(kind, guides): (&str, &[Guide])| {
        format!(
            "## {kind}\n\n{}\n",
            guides.iter().map(line).collect::<String>()
        )
    };
    LLMS.replace(
        "{guides}",
        &KINDS.into_iter().map(section).collect::<String>(),
    )
    .replace("{base}", base)
}

/// Removes pictures. A link to a page that is not served becomes plain text: the text of the link.
fn remove_unserved_links(path: &str, text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut remaining = text;
    while let Some((before, message, target, after)) = next_link(remaining) {
        let is_picture = before.ends_with('!');
        result.push_str(if is_picture {
            &before[..before.len() - 1]
        } else {
            before
        });
        match (is_picture, is_served(path, target)) {
            (true, _) => {}
            (false, true) => result.extend(["[", message, "](", target, ")"]),
            (false, false) => result.push_str(message),
        }
        remaining = after;
    }
    // Also removes pictures and comments that are written in HTML.
    remove_ranges(
        &remove_ranges(&(result + remaining), "<img", ">"),
        "<!--",
        "-->",
    )
}

/// Returns whether a link leads to a guide, to a heading on the same page, to a path of this
/// service that begins with `/`, or to another site.
fn is_served(from: &str, target: &str) -> bool {
    let page = target.split('#').next().unwrap_or_default();
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    page.is_empty()
        || page.contains("://")
        || page.starts_with('/')
        || guides().any(|guide| guide.path == join_path(folder, page))
}

/// Joins a folder and a relative path, and resolves `.` and `..`.
fn join_path(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // At the root, `..` stays a part of the path. No guide has such a path, because nothing
            // above `docs/` is served.
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Removes each range of the text from a `beginning` to the next `end`, with both of them. If a
/// `beginning` has no `end`, removes all text up to the next `beginning` or the end of the text.
fn remove_ranges(text: &str, beginning: &str, end: &str) -> String {
    let mut parts = text.split(beginning);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |result, part| {
        result + part.split_once(end).map_or("", |(_, after)| after)
    })
}

/// Splits a text at its next link: the text before, the link's text, its target, and the text
/// after.
fn next_link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = text.find("](")?;
    let start = text[..middle].rfind('[')?;
    let end = middle + text[middle..].find(')')?;
    Some((
        &text[..start],
        &text[start + 1..middle],
        &text[middle + 2..end],
        &text[end + 1..],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maximum size of a page in bytes, because a language model reads a page as a whole.
    const MAX_PAGE_BYTES: usize = 40_000;

    #[test]
    fn links_lead_to_served_pages() {
        let text = "See [it](manuals.md#rules), [why](../decisions/0001.md), \
            [a\npage](https://a.example/b), ![a picture](a.svg) and [below](#here) `[x]`, \
            <img\nsrc=\"a.png\"><!-- note -->[up](../README.md).";
        let expected = "See [it](manuals.md#rules), why, [a\npage](https://a.example/b),  and \
            [below](#here) `[x]`, [up](../README.md).";
        assert_eq!(
            remove_unserved_links("reference/portals.md", text),
            expected
        );
    }

    #[test]
    fn paths_are_joined_as_browsers_join_them() {
        for (folder, path, expected) in [
            ("", "how-to/upgrade.md", "how-to/upgrade.md"),
            ("reference/rules", "../limits.md", "reference/limits.md"),
            ("how-to", "./upgrade.md", "how-to/upgrade.md"),
            ("how-to", "../../src/app.rs", "../src/app.rs"),
        ] {
            assert_eq!(join_path(folder, path), expected);
        }
    }

    #[test]
    fn no_guide_is_too_long() {
        for guide in guides() {
            let text = guide.markdown();
            assert!(
                text.len() < MAX_PAGE_BYTES,
                "{}: {}",
                guide.path,
                text.len()
            );
            assert!(text.starts_with("# "), "{}", guide.path);
        }
    }

    #[test]
    fn every_document_is_served_but_decisions() {
        let served: Vec<&str> = guides().map(|guide| guide.path).collect();
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let mut folders = vec![docs.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path
                    .strip_prefix(&docs)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                if path.is_dir() && name != "decisions" {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    assert!(served.contains(&name.as_str()), "{name} is not served");
                }
            }
        }
    }

    #[test]
    fn the_index_names_every_guide_where_it_is() {
        let index = index("https://stay.example");
        for (_, guides) in KINDS {
            for guide in guides {
                assert!(index.contains(&format!("(https://stay.example/docs/{})", guide.path)));
            }
        }
        assert!(!index.contains("{base}") && !index.contains("{guides}"));
    }
}
