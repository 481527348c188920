//! What something is assigned to: to be looked at in numbers, and to be changed where there are thousands to choose from.
//!
//! A row has a box that is ticked where it is assigned. Of what is sent the rows that were shown are compared with what they were, so
//! that nothing of another page, and nothing that somebody else has changed, is touched.

use std::collections::BTreeSet;

use askama::Template;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

use super::frame::{Done, Frame};
use super::paging::{Paging, ROWS};
use super::portals;
use super::refusal::Refusal;
use super::reply;
use super::screens::{Answering, Group, Page, Screen};
use super::visit::Visit;
use super::words::Words;
use crate::words::fill;

/// The screen; there is a way to it from whatever can be assigned.
pub static SCREEN: Screen = Screen {
    path: "/assignments",
    icon: "link",
    title: |words| words.assign.assignments,
    group: Group::Hidden,
    needs: Some("listEntityScopes"),
    pages: &[
        Page::get("getAssignmentsScreen", "/assignments/{entity}/{id}", show),
        Page::post("changeAssignmentsOnScreen", "/assignments/{entity}/{id}", save).needing(&["addEntityScopes", "removeEntityScopes"]),
    ],
};

/// What can be assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entity {
    Portal,
    Step,
    Manual,
}

impl Entity {
    /// As it stands in an address.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Portal => "portals",
            Self::Step => "steps",
            Self::Manual => "manuals",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::Portal, Self::Step, Self::Manual].into_iter().find(|entity| entity.word() == word)
    }

    /// As the interface names it.
    const fn name(self) -> &'static str {
        match self {
            Self::Portal => "portal_settings",
            Self::Step => "precheck_step",
            Self::Manual => "manual",
        }
    }

    /// What reads one of them.
    const fn read(self) -> &'static str {
        match self {
            Self::Portal => "getPortal",
            Self::Step => "getPrecheckStep",
            Self::Manual => "getPortalManual",
        }
    }

    /// What it can be assigned to.
    const fn targets(self) -> &'static [Target] {
        match self {
            Self::Step => &[Target::Property, Target::Group, Target::Tag, Target::Portal],
            Self::Portal | Self::Manual => &[Target::Property, Target::Group, Target::Tag],
        }
    }
}

/// What something can be assigned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Property,
    Group,
    Tag,
    Portal,
}

impl Target {
    /// As it stands in an address.
    const fn word(self) -> &'static str {
        match self {
            Self::Property => "properties",
            Self::Group => "groups",
            Self::Tag => "tags",
            Self::Portal => "portals",
        }
    }

    /// The field of its ids.
    const fn field(self) -> &'static str {
        match self {
            Self::Property => "propertyIds",
            Self::Group => "propertyGroupIds",
            Self::Tag => "tagIds",
            Self::Portal => "portalSettingsIds",
        }
    }

    const fn called(self, words: &Words) -> &'static str {
        match self {
            Self::Property => words.assign.properties,
            Self::Group => words.assign.groups,
            Self::Tag => words.assign.tags,
            Self::Portal => words.portals.portals,
        }
    }
}

/// What something is assigned to, as it is answered.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Assigned {
    property_ids: Vec<String>,
    property_group_ids: Vec<String>,
    tag_ids: Vec<String>,
    portal_settings_ids: Vec<String>,
    names: BTreeMap<String, Option<String>>,
}

impl Assigned {
    async fn read(visit: &Visit, entity: Entity, id: Uuid) -> Result<Self, Refusal> {
        visit.get("listEntityScopes", json!({ "entityType": entity.name(), "entityId": id })).await
    }

    fn to(&self, target: Target) -> &[String] {
        match target {
            Target::Property => &self.property_ids,
            Target::Group => &self.property_group_ids,
            Target::Tag => &self.tag_ids,
            Target::Portal => &self.portal_settings_ids,
        }
    }
}

/// Where something is used, in numbers.
pub struct Use {
    /// What it is assigned to: what, how many, and where that is changed.
    pub ways: Vec<(&'static str, usize, String)>,
    pub is_unused: bool,
    pub words: &'static Words,
}

impl Use {
    /// Where a thing is used; nothing where that is not to be had.
    pub async fn of(visit: &Visit, entity: Entity, id: Uuid) -> Option<Self> {
        let assigned = Assigned::read(visit, entity, id).await.ok()?;
        let way = |target: &Target| {
            let path = visit.address_with(&format!("/assignments/{}/{id}", entity.word()), &[("to", target.word())]);
            (target.called(visit.words), assigned.to(*target).len(), path)
        };
        let ways: Vec<_> = entity.targets().iter().map(way).collect();
        Some(Self { is_unused: ways.iter().all(|(_, count, _)| *count == 0), ways, words: visit.words })
    }
}

/// A row to tick.
struct Row {
    id: String,
    name: String,
    is_assigned: bool,
    /// As it is assigned, or as somebody has ticked it who could not save that.
    is_ticked: bool,
}

/// What was ticked in a form: the rows that it had, those that were assigned, those that are to be.
struct Ticked<'v> {
    shown: BTreeSet<&'v str>,
    was: BTreeSet<&'v str>,
    is: BTreeSet<&'v str>,
}

impl<'v> Ticked<'v> {
    fn of(visit: &'v Visit) -> Self {
        let all = |name: &str| visit.fields.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect();
        Self { shown: all("shown"), was: all("was"), is: all("assigned") }
    }

    /// What is to be assigned that was not.
    fn added(&self) -> Vec<&'v str> {
        self.shown.iter().filter(|id| self.is.contains(*id) && !self.was.contains(*id)).copied().collect()
    }

    /// What was assigned and is not to be.
    fn removed(&self) -> Vec<&'v str> {
        self.shown.iter().filter(|id| self.was.contains(*id) && !self.is.contains(*id)).copied().collect()
    }
}

#[derive(Template)]
#[template(path = "console/assignments.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    about: String,
    /// What it can be assigned to: what, how many of them, where, whether these are shown.
    kinds: Vec<(&'static str, usize, String, bool)>,
    action: String,
    /// The path without a query.
    path: String,
    to: &'static str,
    query: String,
    is_assigned_only: bool,
    rows: Vec<Row>,
    paging: Paging,
    may_change: bool,
    problems: Vec<String>,
    /// Whether what was ticked was kept while the session ended.
    is_kept: bool,
}

/// What is asked for: of what, and which.
fn asked(visit: &Visit) -> Result<(Entity, Uuid, Target), Refusal> {
    let entity = Entity::of(visit.param("entity")).ok_or_else(Refusal::missing)?;
    let wanted = visit.asks("to").unwrap_or_default();
    let target = entity.targets().iter().find(|target| target.word() == wanted).unwrap_or(&entity.targets()[0]);
    Ok((entity, visit.named("id")?, *target))
}

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move { page(visit, None).await })
}

async fn page(visit: &Visit, refused: Option<Refusal>) -> Result<axum::response::Response, Refusal> {
    let (entity, id, target) = asked(visit)?;
    let thing: Value = visit.get(entity.read(), json!({ "id": id })).await?;
    let name = ["name", "nickname"].iter().find_map(|field| thing[*field].as_str()).unwrap_or_default().to_owned();
    let assigned = Assigned::read(visit, entity, id).await?;
    let query = visit.asks("query").unwrap_or_default().to_owned();
    let is_assigned_only = visit.asks("only").is_some();
    let path = format!("/assignments/{}/{id}", entity.word());
    let (listed, paging) = if is_assigned_only {
        let names = assigned.to(target).iter().map(|id| (id.clone(), called(&assigned, id)));
        part(visit, &path, names.collect(), &query)
    } else {
        rows(visit, &path, target, &query).await?
    };
    let is_on: BTreeSet<&String> = assigned.to(target).iter().collect();
    let may_change = visit.may("addEntityScopes") && (entity != Entity::Manual || visit.may("updatePortalManual"));
    let kind = |known: &Target| {
        let address = visit.address_with(&path, &[("to", known.word())]);
        (known.called(visit.words), assigned.to(*known).len(), address, *known == target)
    };
    let words = visit.words;
    let (above, above_path) = match entity {
        Entity::Portal => (words.portals.portals, "/portals"),
        Entity::Step => (words.assign.steps, "/steps"),
        Entity::Manual => (words.assign.manuals, "/manuals"),
    };
    let frame = Frame::new(visit, words.assign.assignments).below(visit, above, above_path);
    let frame = frame.below(visit, name.clone(), &format!("{above_path}/{id}"));
    let pairs: Vec<(&str, &str)> =
        visit.query.iter().filter(|(name, _)| name != "done").map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let ticked = Ticked::of(visit);
    let (added, removed) = (ticked.added(), ticked.removed());
    let row = |(id, name): (String, String)| {
        let is_assigned = is_on.contains(&id);
        let is_ticked = added.contains(&id.as_str()) || is_assigned && !removed.contains(&id.as_str());
        Row { id, name, is_assigned, is_ticked }
    };
    let page = Shown {
        frame,
        about: fill(words.assign.about, &[("name", &name)]),
        kinds: entity.targets().iter().map(kind).collect(),
        action: visit.address_with(&path, &pairs),
        path: visit.address(&path),
        to: target.word(),
        query,
        is_assigned_only,
        rows: listed.into_iter().map(row).collect(),
        paging,
        may_change,
        problems: refused.iter().flat_map(|refusal| refusal.sentences(visit)).collect(),
        is_kept: !ticked.shown.is_empty() && !visit.may_write(),
    };
    Ok(reply::of(visit, refused.map_or(200, |refusal| refusal.status), &page))
}

fn called(assigned: &Assigned, id: &str) -> String {
    let name = assigned.names.get(id).cloned().flatten().filter(|name| !name.trim().is_empty());
    name.unwrap_or_else(|| id.to_owned())
}

/// The part of a list that is asked for, of what contains the query.
fn part(visit: &Visit, path: &str, mut all: Vec<(String, String)>, query: &str) -> (Vec<(String, String)>, Paging) {
    let wanted = query.to_lowercase();
    all.retain(|(_, name)| name.to_lowercase().contains(&wanted));
    all.sort_by_cached_key(|(_, name)| name.to_lowercase());
    let paging = Paging::of(visit, path, all.len());
    (paging.cut(all), paging)
}

/// The rows of what something can be assigned to: as the interface searches them, where it does.
async fn rows(visit: &Visit, path: &str, target: Target, query: &str) -> Result<(Vec<(String, String)>, Paging), Refusal> {
    let operation = match target {
        Target::Property => "listProperties",
        Target::Group => "listPropertyGroups",
        Target::Tag => "listTags",
        Target::Portal => {
            let portals: Vec<portals::Row> = visit.get("listPortals", json!({})).await?;
            return Ok(part(visit, path, portals.into_iter().map(|portal| (portal.id.to_string(), portal.called())).collect(), query));
        }
    };
    let named = |row: &Value| {
        let id = row["id"].as_str()?;
        Some((id.to_owned(), row["name"].as_str().filter(|name| !name.trim().is_empty()).unwrap_or(id).to_owned()))
    };
    if target == Target::Property || query.is_empty() {
        let mut arguments = json!({ "limit": ROWS, "offset": Paging::offset(visit) });
        if !query.is_empty() {
            arguments["query"] = query.into();
        }
        let answer = visit.ask::<Vec<Value>>(operation, arguments).await?;
        let paging = Paging::of(visit, path, answer.total.unwrap_or(answer.data.len()));
        return Ok((answer.data.iter().filter_map(named).collect(), paging));
    }
    // Groups and tags are not searched by the interface: there are few.
    let most = if target == Target::Group { 200 } else { 500 };
    let mut all = Vec::new();
    for page in 0..MOST_PAGES {
        let answer = visit.ask::<Vec<Value>>(operation, json!({ "limit": most, "offset": page * most })).await?;
        let count = answer.data.len();
        all.extend(answer.data.iter().filter_map(named));
        if count < most {
            break;
        }
    }
    Ok(part(visit, path, all, query))
}

/// Pages of groups or tags that are looked through at the most.
const MOST_PAGES: usize = 10;

fn save(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let (entity, id, target) = asked(visit)?;
        visit.get::<Value>(entity.read(), json!({ "id": id })).await?;
        let ticked = Ticked::of(visit);
        let (added, removed) = (ticked.added(), ticked.removed());
        if !visit.may_write() {
            return page(visit, None).await;
        }
        let pairs: Vec<(&str, &str)> =
            visit.query.iter().filter(|(name, _)| name != "done").map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let back = format!("{}?{query}", visit.path);
        if added.is_empty() && removed.is_empty() {
            return Ok(reply::done(visit, &back, Done::Unchanged));
        }
        for (operation, ids) in [("addEntityScopes", added), ("removeEntityScopes", removed)] {
            if ids.is_empty() {
                continue;
            }
            let mut arguments = Map::from_iter([("entityType".to_owned(), json!(entity.name())), ("entityId".to_owned(), json!(id))]);
            arguments.insert(target.field().to_owned(), json!(ids));
            if let Err(refusal) = visit.get::<Value>(operation, arguments.into()).await {
                return page(visit, Some(refusal)).await;
            }
        }
        Ok(reply::done(visit, &back, Done::Assigned))
    })
}
