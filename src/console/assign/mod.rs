//! What something is assigned to: to be looked at in numbers, and to be changed where there are thousands to choose from.
//!
//! A row has a box that is ticked where it is assigned. Of what is sent the rows that were shown are compared with what they were, so
//! that nothing that somebody else has changed is touched. Searching and turning pages are buttons of the same form: what was ticked on
//! other pages goes along in it until it is saved. Everything that a search finds is assigned by a button of its own, which asks first.

mod ticked;

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use self::ticked::Ticked;
use crate::console::frame::{Done, Frame};
use crate::console::paging::{Paging, ROWS};
use crate::console::portals;
use crate::console::refusal::Refusal;
use crate::console::reply;
use crate::console::screens::{Answering, Group, Page, Screen};
use crate::console::visit::Visit;
use crate::console::words::Words;
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

    /// What lists them.
    const fn list(self) -> &'static str {
        match self {
            Self::Property => "listProperties",
            Self::Group => "listPropertyGroups",
            Self::Tag => "listTags",
            Self::Portal => "listPortals",
        }
    }

    /// How many of them are listed at once at the most.
    const fn most(self) -> usize {
        match self {
            Self::Group => 200,
            Self::Property | Self::Tag | Self::Portal => 500,
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

/// Changes that a form carries until they are saved, and what one request may name at the most.
const MOST_KEPT: usize = 500;
const MOST_AT_ONCE: usize = 25_000;

/// A row to tick.
struct Row {
    id: String,
    name: String,
    is_assigned: bool,
    /// As it is assigned, or as somebody has ticked it who has not saved that.
    is_ticked: bool,
}

/// Which part of what something can be assigned to is looked at.
struct Wanted {
    /// What was asked for; the first of what there is where nothing was.
    to: Option<&'static str>,
    query: String,
    is_assigned_only: bool,
    from: usize,
}

impl Wanted {
    /// By the address.
    fn asked(visit: &Visit, target: Target) -> Self {
        Self {
            to: visit.asks("to").map(|_| target.word()),
            query: visit.asks("query").unwrap_or_default().to_owned(),
            is_assigned_only: visit.asks("only").is_some(),
            from: Paging::offset(visit),
        }
    }

    /// By what is typed above the rows.
    fn typed(visit: &Visit, target: Target) -> Self {
        let query = visit.sent("query").unwrap_or_default().trim().to_owned();
        Self { to: Some(target.word()), query, is_assigned_only: visit.sent("only").is_some(), from: 0 }
    }

    /// The query of its address.
    fn pairs(&self) -> Vec<(&'static str, String)> {
        let only = self.is_assigned_only.then(|| ("only", "1".to_owned()));
        let query = (!self.query.is_empty()).then(|| ("query", self.query.clone()));
        let from = (self.from > 0).then(|| ("from", self.from.to_string()));
        self.to.map(|to| ("to", to.to_owned())).into_iter().chain(query).chain(only).chain(from).collect()
    }

    fn address(&self, visit: &Visit, path: &str) -> String {
        let pairs = self.pairs();
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        visit.address_with(path, &pairs)
    }
}

/// What is asked before everything that was found is assigned or taken back.
struct Question {
    text: String,
    /// What the button sends that says yes, and what it says.
    act: &'static str,
    yes: String,
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
    /// What was ticked on other pages.
    kept: [(&'static str, String); 2],
    /// What is ticked and not saved yet.
    unsaved: Option<String>,
    question: Option<Question>,
    /// All that were found, where they are more than a page: what the button sends, and what it says.
    all_found: Option<(&'static str, String)>,
    /// That they are too many for that.
    too_many: Option<String>,
}

/// What is asked for: of what, and which.
fn asked(visit: &Visit) -> Result<(Entity, Uuid, Target), Refusal> {
    let entity = Entity::of(visit.param("entity")).ok_or_else(Refusal::missing)?;
    let wanted = visit.asks("to").unwrap_or_default();
    let target = entity.targets().iter().find(|target| target.word() == wanted).unwrap_or(&entity.targets()[0]);
    Ok((entity, visit.named("id")?, *target))
}

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let (_, _, target) = asked(visit)?;
        page(visit, Wanted::asked(visit, target), Ticked::default(), Said::default()).await
    })
}

/// What is said on the page besides.
#[derive(Default)]
struct Said {
    status: u16,
    problems: Vec<String>,
    /// Whether it is asked if everything that was found is to be assigned or taken back.
    is_question: bool,
}

async fn page(visit: &Visit, wanted: Wanted, ticked: Ticked, said: Said) -> Result<Response, Refusal> {
    let (entity, id, target) = asked(visit)?;
    let thing: Value = visit.get(entity.read(), json!({ "id": id })).await?;
    let name = ["name", "nickname"].iter().find_map(|field| thing[*field].as_str()).unwrap_or_default().to_owned();
    let assigned = Assigned::read(visit, entity, id).await?;
    let path = format!("/assignments/{}/{id}", entity.word());
    let (listed, paging) = rows(visit, &path, target, &wanted, &assigned).await?;
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
    let row = |(id, name): (String, String)| {
        let is_assigned = is_on.contains(&id);
        let is_ticked = ticked.added.contains(&id) || is_assigned && !ticked.removed.contains(&id);
        Row { id, name, is_assigned, is_ticked }
    };
    let rows: Vec<Row> = listed.into_iter().map(row).collect();
    let is_shown: BTreeSet<&String> = rows.iter().map(|row| &row.id).collect();
    let elsewhere = |ids: &BTreeSet<String>| ids.iter().filter(|id| !is_shown.contains(id)).cloned().collect::<Vec<_>>().join(",");
    let kept = [("added", elsewhere(&ticked.added)), ("removed", elsewhere(&ticked.removed))];
    let counts = [("added", ticked.added.len().to_string()), ("removed", ticked.removed.len().to_string())];
    let counts: Vec<(&str, &str)> = counts.iter().map(|(name, count)| (*name, count.as_str())).collect();
    let count = paging.total.to_string();
    let of_all = |text: &str| fill(text, &[("count", &count)]);
    let (ask, act, yes, text) = if wanted.is_assigned_only {
        ("ask remove", "all remove", words.assign.remove_found, words.assign.remove_found_about)
    } else {
        ("ask add", "all add", words.assign.assign_found, words.assign.assign_found_about)
    };
    let moves = (entity, target, wanted.is_assigned_only) == (Entity::Portal, Target::Property, false);
    let text = [of_all(text), if moves { format!(" {}", words.assign.one_portal) } else { String::new() }].concat();
    let (is_many, is_too_many) = (paging.is_needed() && may_change, paging.total > MOST_AT_ONCE);
    let page = Shown {
        frame,
        about: fill(words.assign.about, &[("name", &name)]),
        kinds: entity.targets().iter().map(kind).collect(),
        action: wanted.address(visit, &path),
        path: visit.address(&path),
        to: target.word(),
        kept,
        unsaved: (ticked.count() > 0).then(|| fill(words.assign.unsaved, &counts)),
        question: said.is_question.then(|| Question { text, act, yes: of_all(yes) }),
        all_found: (is_many && !is_too_many && !said.is_question).then(|| (ask, of_all(yes))),
        too_many: (is_many && is_too_many).then(|| fill(words.assign.too_many_found, &[("most", &MOST_AT_ONCE.to_string())])),
        is_assigned_only: wanted.is_assigned_only,
        query: wanted.query,
        rows,
        paging,
        may_change,
        problems: said.problems,
        is_kept: !visit.fields.is_empty() && !visit.may_write(),
    };
    Ok(reply::of(visit, if said.status == 0 { 200 } else { said.status }, &page))
}

fn called(assigned: &Assigned, id: &str) -> String {
    let name = assigned.names.get(id).cloned().flatten().filter(|name| !name.trim().is_empty());
    name.unwrap_or_else(|| id.to_owned())
}

/// An id and what it is called.
type Named = (String, String);

fn named(row: &Value) -> Option<Named> {
    let id = row["id"].as_str()?;
    Some((id.to_owned(), row["name"].as_str().filter(|name| !name.trim().is_empty()).unwrap_or(id).to_owned()))
}

/// The rows that are wanted of what something can be assigned to.
async fn rows(visit: &Visit, path: &str, target: Target, wanted: &Wanted, assigned: &Assigned) -> Result<(Vec<Named>, Paging), Refusal> {
    let paging =
        |total: usize| Paging::at(wanted.from, total, |from| Wanted { from, query: wanted.query.clone(), ..*wanted }.address(visit, path));
    if let Some(all) = looked_through(visit, target, wanted, assigned).await? {
        let paging = paging(all.len());
        return Ok((paging.cut(all), paging));
    }
    let answer = visit.ask::<Vec<Value>>(target.list(), part(wanted, wanted.from, ROWS)).await?;
    let paging = paging(answer.total.unwrap_or(answer.data.len()));
    Ok((answer.data.iter().filter_map(named).collect(), paging))
}

/// The ids of everything that is found, as many as one request may name.
async fn found(visit: &Visit, target: Target, wanted: &Wanted, assigned: &Assigned) -> Result<Vec<String>, Refusal> {
    if let Some(all) = looked_through(visit, target, wanted, assigned).await? {
        return Ok(all.into_iter().map(|(id, _)| id).take(MOST_AT_ONCE).collect());
    }
    let (mut ids, most) = (Vec::new(), target.most());
    while ids.len() < MOST_AT_ONCE {
        let answer = visit.ask_patiently(target.list(), &part(wanted, ids.len(), most), None).await?;
        let rows = answer.understood::<Vec<Value>>()?.data;
        ids.extend(rows.iter().filter_map(named).map(|(id, _)| id));
        if rows.len() < most {
            break;
        }
    }
    Ok(ids)
}

/// What is asked of a list that is searched by the interface.
fn part(wanted: &Wanted, from: usize, most: usize) -> Value {
    let mut arguments = json!({ "limit": most, "offset": from });
    if !wanted.query.is_empty() {
        arguments["query"] = wanted.query.as_str().into();
    }
    arguments
}

/// All that is wanted of a list that is looked through here: what is assigned already, portals, and groups and tags by their names, of which
/// there are few. Nothing of what the interface searches.
async fn looked_through(visit: &Visit, target: Target, wanted: &Wanted, assigned: &Assigned) -> Result<Option<Vec<Named>>, Refusal> {
    let mut all: Vec<Named> = if wanted.is_assigned_only {
        assigned.to(target).iter().map(|id| (id.clone(), called(assigned, id))).collect()
    } else if target == Target::Portal {
        let portals: Vec<portals::Row> = visit.get(target.list(), json!({})).await?;
        portals.into_iter().map(|portal| (portal.id.to_string(), portal.called())).collect()
    } else if target == Target::Property || wanted.query.is_empty() {
        return Ok(None);
    } else {
        let (mut all, most) = (Vec::new(), target.most());
        for page in 0..MOST_PAGES {
            let rows: Vec<Value> = visit.get(target.list(), json!({ "limit": most, "offset": page * most })).await?;
            all.extend(rows.iter().filter_map(named));
            if rows.len() < most {
                break;
            }
        }
        all
    };
    let query = wanted.query.to_lowercase();
    all.retain(|(_, name)| name.to_lowercase().contains(&query));
    all.sort_by_cached_key(|(_, name)| name.to_lowercase());
    Ok(Some(all))
}

/// Pages of groups or tags that are looked through at the most.
const MOST_PAGES: usize = 10;

/// A form of the rows: it is searched, turned or ticked, and nothing is changed; or it is saved, with all that was found where that is said.
fn save(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let (_, _, target) = asked(visit)?;
        let (here, ticked) = (Wanted::asked(visit, target), Ticked::of(&visit.fields));
        let act = visit.sent("act").unwrap_or_default();
        let all_found = match act.split_once(' ').unwrap_or((act, "")) {
            ("show", _) => return turned(visit, here, Wanted::typed(visit, target), ticked).await,
            ("from", number) => {
                let there = Wanted { from: number.parse().unwrap_or(0), query: here.query.clone(), ..here };
                return turned(visit, here, there, ticked).await;
            }
            ("stay", _) => return page(visit, here, ticked, Said::default()).await,
            ("tick", which) => return page(visit, here, ticked.all(&visit.fields, which == "all"), Said::default()).await,
            ("ask", _) => return page(visit, here, ticked, Said { is_question: true, ..Said::default() }).await,
            ("all", which) => Some(which == "add"),
            _ => None,
        };
        if visit.may_write() { stored(visit, here, ticked, all_found).await } else { page(visit, here, ticked, Said::default()).await }
    })
}

/// On to other rows, with what is ticked on these.
async fn turned(visit: &Visit, here: Wanted, there: Wanted, ticked: Ticked) -> Result<Response, Refusal> {
    if ticked.count() > MOST_KEPT {
        let problem = fill(visit.words.assign.too_many_kept, &[("most", &MOST_KEPT.to_string())]);
        return page(visit, here, ticked, Said { status: 400, problems: vec![problem], ..Said::default() }).await;
    }
    if ticked.count() > 0 || !visit.may_write() {
        return page(visit, there, ticked, Said::default()).await;
    }
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(there.pairs()).finish();
    Ok(reply::to(visit, &format!("{}?{query}", visit.path)))
}

/// Saves what was ticked, and where wanted that all that was found is assigned, or taken back.
async fn stored(visit: &Visit, here: Wanted, mut ticked: Ticked, all_found: Option<bool>) -> Result<Response, Refusal> {
    let (entity, id, target) = asked(visit)?;
    visit.get::<Value>(entity.read(), json!({ "id": id })).await?;
    if let Some(is) = all_found {
        let assigned = Assigned::read(visit, entity, id).await?;
        let was: BTreeSet<&String> = assigned.to(target).iter().collect();
        for id in found(visit, target, &here, &assigned).await? {
            ticked.set(&id, was.contains(&id), is);
        }
    }
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(here.pairs()).finish();
    let back = format!("{}?{query}", visit.path);
    if ticked.count() == 0 {
        return Ok(reply::done(visit, &back, Done::Unchanged));
    }
    for (operation, ids) in [("addEntityScopes", &ticked.added), ("removeEntityScopes", &ticked.removed)] {
        let ids: Vec<&String> = ids.iter().collect();
        for ids in ids.chunks(MOST_AT_ONCE) {
            let mut arguments = Map::from_iter([("entityType".to_owned(), json!(entity.name())), ("entityId".to_owned(), json!(id))]);
            arguments.insert(target.field().to_owned(), json!(ids));
            if let Err(refusal) = visit.change(operation, arguments.into()).await {
                let said = Said { status: refusal.status, problems: refusal.sentences(visit), ..Said::default() };
                return page(visit, here, Ticked::of(&visit.fields), said).await;
            }
        }
    }
    Ok(reply::done(visit, &back, Done::Assigned))
}
