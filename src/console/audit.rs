//! The audit log, a sentence an entry; and what was done to one thing, for the screens that show it.

use askama::Template;
use engine::format;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::frame::Frame;
use super::labels;
use super::reply;
use super::screens::{Answering, Group, Page, Screen, way};
use super::visit::Visit;
use super::when::{self, When};
use super::words::Words;
use crate::words::fill;

/// The screen.
pub static SCREEN: Screen = Screen {
    path: "/audit",
    icon: "scroll-text",
    title: |words| words.audit.audit,
    group: Group::Organization,
    needs: Some(LIST),
    pages: &[Page::get("getAuditScreen", "/audit", show)],
};

const LIST: &str = "listAuditLog";
/// Entries of a page, fields of an entry, and how much of a value: so a page stays one that can be read.
const MOST: usize = 25;
const FIELDS: usize = 10;
const LONGEST: usize = 120;
/// Entries on the screen of the thing itself.
const LATEST: usize = 5;

/// An entry, as it is answered.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    id: Uuid,
    occurred_at: String,
    actor: Actor,
    operation: String,
    target: Target,
    changes: Vec<Change>,
}

#[derive(Debug, Deserialize)]
struct Actor {
    kind: String,
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Target {
    #[serde(rename = "type")]
    kind: String,
    id: Option<Uuid>,
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Change {
    field: String,
    before: Value,
    after: Value,
}

/// An entry in words.
pub struct Line {
    pub at: When,
    pub said: String,
    /// Which fields: what each is called, what it was, what it became.
    fields: Vec<(String, String, String)>,
    count: String,
    more: Option<String>,
    /// The way to the thing, and to everything that was done to it.
    thing: Option<String>,
    history: Option<String>,
}

impl Line {
    fn of(visit: &Visit, entry: &Entry) -> Self {
        let words = &visit.words.audit;
        let who = entry.actor.name.as_deref().unwrap_or(if entry.actor.kind == "platform" { words.platform } else { words.somebody });
        let thing = words.thing(&entry.target.kind);
        let what = entry.target.name.as_ref().map_or_else(|| thing.to_owned(), |name| format!("{thing} {name}"));
        let said = fill(words.sentence(&entry.operation), &[("who", who), ("what", &what), ("operation", &entry.operation)]);
        let fields = entry.changes.iter().take(FIELDS).map(|change| field(visit, change)).collect();
        let more = entry.changes.len().saturating_sub(FIELDS);
        let id = entry.target.id.map(|id| id.to_string());
        Self {
            at: when::moment(visit, &entry.occurred_at),
            said,
            fields,
            count: match entry.changes.as_slice() {
                [only] => labels::label(visit.language, &only.field),
                all => fill(words.fields, &[("count", &all.len().to_string())]),
            },
            more: (more > 0).then(|| fill(words.more, &[("count", &more.to_string())])),
            thing: id.as_deref().and_then(|id| way(visit, screen_of(&entry.target.kind), id)),
            history: id.map(|id| visit.address_with(SCREEN.path, &[("target", &id)])),
        }
    }
}

/// The page of a thing of a type; none where things of it have none.
fn screen_of(kind: &str) -> &'static str {
    match kind {
        "portal" | "portal_settings" => "/portals/{id}",
        "portal_branding" => "/brandings/{id}",
        "precheck_step" => "/steps/{id}",
        "manual" => "/manuals/{id}",
        "reservation" => "/stays/{id}",
        _ => "",
    }
}

fn field(visit: &Visit, change: &Change) -> (String, String, String) {
    let words = visit.words;
    let label = labels::label(visit.language, &change.field);
    if change.before.is_null() && change.after.is_null() {
        return (label, words.audit.withheld.to_owned(), words.audit.withheld.to_owned());
    }
    (label, plain(words, &change.before), plain(words, &change.after))
}

fn plain(words: &Words, value: &Value) -> String {
    let text = match value {
        Value::Null => words.audit.nothing.to_owned(),
        Value::Bool(true) => words.frame.yes.to_owned(),
        Value::Bool(false) => words.frame.no.to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.chars().count() <= LONGEST {
        return text;
    }
    let cut: String = text.chars().take(LONGEST).collect();
    format!("{cut}…")
}

#[derive(Template)]
#[template(path = "console/audit.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    about: &'static str,
    /// Whether what is shown is about one thing.
    is_of_one: bool,
    /// Where everything is, where a part is shown.
    all: Option<String>,
    lines: Vec<Line>,
    is_behind: bool,
    older: Option<String>,
}

fn id_of<'v>(visit: &'v Visit, name: &str) -> Option<&'v str> {
    visit.asks(name).filter(|id| format::is_uuid(id))
}

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let (after, target, actor) = (id_of(visit, "after"), id_of(visit, "target"), id_of(visit, "actor"));
        // One more than is shown tells whether there is more.
        let arguments = json!({ "after": after, "targetId": target, "actorId": actor, "limit": MOST + 1 });
        let mut entries: Vec<Entry> = visit.get(LIST, arguments).await?;
        let has_more = entries.len() > MOST;
        entries.truncate(MOST);
        let last = entries.last().filter(|_| has_more).map(|entry| entry.id.to_string());
        let older = last.map(|last| {
            let narrowed = [target.map(|target| ("target", target)), actor.map(|actor| ("actor", actor))];
            let query: Vec<(&str, &str)> = narrowed.into_iter().flatten().chain([("after", last.as_str())]).collect();
            visit.address_with(SCREEN.path, &query)
        });
        let words = &visit.words.audit;
        let page = Shown {
            frame: Frame::new(visit, words.audit),
            about: match (target, actor) {
                (Some(_), _) => words.about_one,
                (None, Some(_)) => words.about_actor,
                (None, None) => words.about,
            },
            is_of_one: target.is_some(),
            all: target.or(actor).map(|_| visit.address(SCREEN.path)),
            lines: entries.iter().map(|entry| Line::of(visit, entry)).collect(),
            is_behind: after.is_some(),
            older,
        };
        Ok(reply::of(visit, 200, &page))
    })
}

/// What was done to one thing lately, for `console/changed.html` on the screen of that thing.
pub struct Changed {
    pub lines: Vec<Line>,
    pub all: String,
    pub words: &'static Words,
}

impl Changed {
    /// Nothing where nothing was done, and for whoever may not see it.
    pub async fn of(visit: &Visit, target: Uuid) -> Option<Self> {
        if !visit.may(LIST) {
            return None;
        }
        let entries: Vec<Entry> = visit.get(LIST, json!({ "targetId": target, "limit": LATEST })).await.ok()?;
        let lines: Vec<Line> = entries.iter().map(|entry| Line::of(visit, entry)).collect();
        let all = visit.address_with(SCREEN.path, &[("target", &target.to_string())]);
        (!lines.is_empty()).then_some(Self { lines, all, words: visit.words })
    }
}
