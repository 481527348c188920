//! What is written for people and for language models: `/llms.txt`, and the guides as Markdown at `/docs/*.md`.

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use engine::pipeline::Service;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

/// A guide, as it stands in `docs/`.
struct Guide {
    name: &'static str,
    /// What it is called where it is linked.
    title: &'static str,
    about: &'static str,
    text: &'static str,
}

/// The guide in a file of `docs/`.
macro_rules! guide {
    ($name:literal, $title:literal, $about:literal) => {
        Guide { name: $name, title: $title, about: $about, text: include_str!(concat!("../docs/", $name)) }
    };
}

/// Those that users of the service need, what is asked for first standing first.
const GUIDES: [Guide; 11] = [
    guide!(
        "assistants.md",
        "Assistants",
        "connecting Claude, ChatGPT, Zapier or a client of your own to the tools, and tasks solved by them"
    ),
    guide!("oauth.md", "OAuth", "how an app is let in by a member, step by step"),
    guide!("signing-in.md", "Signing in", "how members come in: links, an OpenID provider, sessions"),
    guide!("console.md", "The console", "setting up what guests get, in the browser"),
    guide!("portals.md", "Portals", "which portal a property gets, and what it has"),
    guide!("precheckin.md", "Pre-check-in", "steps, questions, answers, reviews"),
    guide!("manuals.md", "House manuals", "texts, covers, visibility rules, assignments"),
    guide!("guest-page.md", "The guest's page", "what guests see and do"),
    guide!("webhooks.md", "Webhooks", "events, signatures, retries, the log"),
    guide!("security.md", "Security", "who may do what, and what is stored how"),
    guide!("operating.md", "Operating", "settings, databases, limits, backups, metrics"),
];

/// What a language model is told first (llmstxt.org); `{base}` stands for the public address.
const LLMS: &str = "\
# Vestibule

> Vestibule runs the portals that guests of short-term rentals get before and during a stay: steps to complete before arrival \
(pre-check-in), house manuals with rules of when they are shown, brandings, and which properties each of them is for.

There are two ways in. Assistants use the tools: an MCP server at {base}/mcp (streamable HTTP). Programs use the REST interface below \
{base}/api/v1. Both take `Authorization: Bearer …` with an API key (`sk_…`) or an OAuth access token (`at_…`); a 401 names the metadata of \
where to get one. Both do the same things under the same names: a tool is named by the operationId of the REST operation.

{base}/mcp/read-only has the tools that change nothing; {base}/mcp?toolsets=portals,steps has some sets of them, of `portals`, `brandings`, \
`steps`, `manuals`, `translations`, `assignments`, `reservations`, `records`, `search`.

## Main tasks

- Find an id by name: `search`, `GET /api/v1/search?query=…`
- Why does a guest (not) see something: `explainGuestView`, `GET /api/v1/reservations/{id}/explain`
- Assign a step, manual or portal to properties, groups or tags: `addEntityScopes`, `POST /api/v1/entity-scopes/add`
- Change when a manual is shown: `updatePortalManual` with `visibilityRules`, `PATCH /api/v1/portal-manuals/{id}`
- Review what guests handed in: `listPrecheckinSubmissions`, `approvePrecheckin`, `requestPrecheckinChanges`
- See a portal as a guest would: `createPortalPreview`, `POST /api/v1/portals/{id}/preview`

## Guides

{guides}
## Reference

- [OpenAPI 3.1 document]({base}/api/v1/openapi.json): every operation of the REST interface, with examples
- [API reference]({base}/docs): the same as a page
";

/// Their routes.
pub(crate) fn router(service: &Arc<Service>) -> Router {
    let llms = HeaderValue::from_static("text/plain; charset=utf-8");
    let markdown = HeaderValue::from_static("text/markdown; charset=utf-8");
    let index = index(&service.kit.public_url);
    let mut router = Router::new().route("/llms.txt", get(async move || text(llms, index)));
    for guide in &GUIDES {
        let (kind, body) = (markdown.clone(), standing_alone(guide.text));
        router = router.route(&format!("/docs/{}", guide.name), get(async move || text(kind, body)));
    }
    router
}

fn text(kind: HeaderValue, body: String) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, body).into_response()
}

fn index(base: &str) -> String {
    let line = |Guide { name, title, about, .. }: &Guide| format!("- [{title}]({base}/docs/{name}): {about}\n");
    LLMS.replace("{guides}", &GUIDES.iter().map(line).collect::<String>()).replace("{base}", base)
}

/// A guide whose links lead to what is served: of what is not, what the link said is left, and nothing of a picture.
fn standing_alone(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, said, target, after)) = next_link(rest) {
        let is_picture = before.ends_with('!');
        told.push_str(if is_picture { &before[..before.len() - 1] } else { before });
        let page = target.split('#').next().unwrap_or_default();
        let is_served = page.is_empty() || page.contains("://") || page.starts_with('/') || GUIDES.iter().any(|guide| guide.name == page);
        match (is_picture, is_served) {
            (true, _) => {}
            (false, true) => told.extend(["[", said, "](", target, ")"]),
            (false, false) => told.push_str(said),
        }
        rest = after;
    }
    told + rest
}

/// The next link of a text: what stands before it, what it says, where it leads, what follows.
fn next_link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = text.find("](")?;
    let start = text[..middle].rfind('[')?;
    let end = middle + text[middle..].find(')')?;
    Some((&text[..start], &text[start + 1..middle], &text[middle + 2..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_what_is_served() {
        let text = "See [it](manuals.md#rules), [why](decisions/0001.md), [a\npage](https://a.example/b), ![a picture](a.svg) and [below](#here) `[x]`.";
        let alone = "See [it](manuals.md#rules), why, [a\npage](https://a.example/b),  and [below](#here) `[x]`.";
        assert_eq!(standing_alone(text), alone);
    }

    #[test]
    fn no_guide_leads_nowhere_and_they_are_not_too_long() {
        let mut size = 0;
        for guide in &GUIDES {
            let text = standing_alone(guide.text);
            size += text.len();
            assert!(text.starts_with("# "), "{}", guide.name);
            assert!(!text.contains("](../") && !text.contains("](decisions"), "{}", guide.name);
        }
        assert!(size < 250_000, "{size}");
    }

    #[test]
    fn the_index_names_every_guide_where_it_is() {
        let index = index("https://stay.example");
        for guide in &GUIDES {
            assert!(index.contains(&format!("(https://stay.example/docs/{})", guide.name)));
        }
        assert!(!index.contains("{base}") && !index.contains("{guides}"));
    }
}
