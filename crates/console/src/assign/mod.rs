//! The assignments of a resource. The page of the resource shows how many there are, and a screen
//! changes them. The screen must work for an organization with thousands of rows.
//!
//! Each row of the screen is a target with a box. The box is ticked if the resource is assigned to
//! the target. The form also repeats the state in which each box was shown. Saving applies only the
//! differences, so it does not overwrite changes by other members.
//!
//! The buttons for searching and paging send the same form. The form also contains the unsaved
//! ticks of the pages that are not shown. Another button assigns the resource to all results of a
//! search, after a confirmation.

mod selection;

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use features::portals::LIST_PORTALS;
use features::records::RecordKind;
use features::scopes::{EntityScopes, LIST_ENTITY_SCOPES};
use features::words::fill;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use self::selection::Selection;
use crate::frame::{CompletedAction, ConsoleFrame};
use crate::paging::{Paging, ROWS};
use crate::records::by_name;
use crate::refusal::ConsoleRefusal;
use crate::reply;
use crate::request::ConsoleRequest;
use crate::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse};
use crate::words::ConsoleWords;

/// The screen that changes assignments. The screens of assignable resources link to it.
pub static SCREEN: Screen = Screen {
    path: "/assignments",
    icon: "link",
    title: |words| words.assign.assignments,
    group: ScreenGroup::Hidden,
    needs: Some("listEntityScopes"),
    pages: &[
        ScreenPage::get("getAssignmentsScreen", "/assignments/{entity}/{id}", show),
        ScreenPage::post(
            "changeAssignmentsOnScreen",
            "/assignments/{entity}/{id}",
            save,
        )
        .with_needs(&["addEntityScopes", "removeEntityScopes"]),
    ],
};

/// A kind of resource that can be assigned to targets, such as flats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignableResource {
    Portal,
    Step,
    Manual,
}

impl AssignableResource {
    /// Returns the path segment for this kind in the console, such as `steps` in
    /// `/assignments/steps/{id}`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Portal => "portals",
            Self::Step => "steps",
            Self::Manual => "manuals",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::Portal, Self::Step, Self::Manual]
            .into_iter()
            .find(|entity| entity.word() == word)
    }

    /// Returns the value of the parameter `entityType` in the REST interface for this kind.
    const fn name(self) -> &'static str {
        match self {
            Self::Portal => "portal_settings",
            Self::Step => "precheck_step",
            Self::Manual => "manual",
        }
    }

    /// Returns the operation that reads one resource of this kind.
    const fn read(self) -> &'static str {
        match self {
            Self::Portal => "getPortal",
            Self::Step => "getPrecheckStep",
            Self::Manual => "getPortalManual",
        }
    }

    /// Returns the kinds of targets that this kind of resource can be assigned to.
    const fn targets(self) -> &'static [AssignTarget] {
        match self {
            Self::Step => &[
                AssignTarget::Property,
                AssignTarget::Group,
                AssignTarget::Tag,
                AssignTarget::Portal,
            ],
            Self::Portal | Self::Manual => &[
                AssignTarget::Property,
                AssignTarget::Group,
                AssignTarget::Tag,
            ],
        }
    }
}

/// A kind of target that a resource can be assigned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignTarget {
    Property,
    Group,
    Tag,
    Portal,
}

impl AssignTarget {
    /// Returns the word that stands for this kind of target in the query of a console page's URL.
    const fn word(self) -> &'static str {
        match self {
            Self::Property => "properties",
            Self::Group => "groups",
            Self::Tag => "tags",
            Self::Portal => "portals",
        }
    }

    /// Returns the name of the REST interface's field that contains the ids of targets of this
    /// kind.
    const fn field(self) -> &'static str {
        match self {
            Self::Property => "propertyIds",
            Self::Group => "propertyGroupIds",
            Self::Tag => "tagIds",
            Self::Portal => "portalSettingsIds",
        }
    }

    /// Returns the operation that lists targets of this kind.
    const fn list(self) -> &'static str {
        match self {
            Self::Property | Self::Group | Self::Tag => "listRecords",
            Self::Portal => "listPortals",
        }
    }

    /// Returns the record kind of these targets. `None` for portals, which are not records.
    const fn kind(self) -> Option<RecordKind> {
        match self {
            Self::Property => Some(RecordKind::Property),
            Self::Group => Some(RecordKind::PropertyGroup),
            Self::Tag => Some(RecordKind::Tag),
            Self::Portal => None,
        }
    }

    const fn called(self, words: &ConsoleWords) -> &'static str {
        match self {
            Self::Property => words.assign.properties,
            Self::Group => words.assign.groups,
            Self::Tag => words.assign.tags,
            Self::Portal => words.portals.portals,
        }
    }
}

/// The assignments of one resource, as the operation `listEntityScopes` returns them.
struct ResourceAssignments(Arc<EntityScopes>);

impl ResourceAssignments {
    async fn read(
        request: &ConsoleRequest,
        entity: AssignableResource,
        id: Uuid,
    ) -> Result<Self, ConsoleRefusal> {
        let arguments = json!({ "entityType": entity.name(), "entityId": id });
        request.read(LIST_ENTITY_SCOPES, arguments).await.map(Self)
    }

    fn to(&self, target: AssignTarget) -> &[Uuid] {
        match target {
            AssignTarget::Property => &self.0.property_ids,
            AssignTarget::Group => &self.0.property_group_ids,
            AssignTarget::Tag => &self.0.tag_ids,
            AssignTarget::Portal => &self.0.portal_settings_ids,
        }
    }

    /// Returns, as text, the ids of the assigned targets of a kind.
    fn ids_to(&self, target: AssignTarget) -> BTreeSet<String> {
        self.to(target).iter().map(ToString::to_string).collect()
    }

    /// Returns the name of an assigned target. Returns its id if the name is unknown.
    fn name_of(&self, id: Uuid) -> String {
        let name = self.0.names.get(&id).and_then(Option::as_ref);
        let name = name.filter(|name| !name.trim().is_empty());
        name.map_or_else(|| id.to_string(), String::clone)
    }
}

/// The number of targets that a resource is assigned to. The page of the resource shows it.
pub struct UseCount {
    /// One entry for each kind of target: the name of the kind, the number of assigned targets, and
    /// the address of the page that changes these assignments.
    pub links: Vec<(&'static str, usize, String)>,
    pub is_unused: bool,
    pub words: &'static ConsoleWords,
}

impl UseCount {
    /// Counts the targets that a resource is assigned to. Returns `None` if the assignments cannot
    /// be read.
    pub async fn of(
        request: &ConsoleRequest,
        entity: AssignableResource,
        id: Uuid,
    ) -> Option<Self> {
        let assigned = ResourceAssignments::read(request, entity, id).await.ok()?;
        let way = |target: &AssignTarget| {
            let path = request.address_with(
                &format!("/assignments/{}/{id}", entity.word()),
                &[("to", target.word())],
            );
            (
                target.called(request.texts),
                assigned.to(*target).len(),
                path,
            )
        };
        let ways: Vec<_> = entity.targets().iter().map(way).collect();
        Some(Self {
            is_unused: ways.iter().all(|(_, count, _)| *count == 0),
            links: ways,
            words: request.texts,
        })
    }
}

/// `MOST_KEPT` is the maximum number of unsaved ticks in one form. `MOST_AT_ONCE` is the maximum
/// number of ids in one call that adds or removes assignments.
const MOST_KEPT: usize = 500;
const MOST_AT_ONCE: usize = 25_000;

/// A row of the page: a target, and the checkbox that assigns the resource to it.
struct TargetRow {
    id: String,
    name: String,
    is_assigned: bool,
    /// Whether the checkbox is ticked. If the member changed the checkbox and has not saved yet,
    /// this is the member's choice. Otherwise it is whether the resource is assigned to the target.
    is_ticked: bool,
}

/// The filter of the targets on the page: the kind of target, the search text, whether the page
/// shows only the assigned targets, and the offset.
struct TargetFilter {
    /// The kind of target in the query parameter `to`. `None` if the query lacks it, and then the
    /// page shows the first kind of target that the resource can be assigned to.
    to: Option<&'static str>,
    query: String,
    is_assigned_only: bool,
    from: usize,
}

impl TargetFilter {
    /// Reads the filter from the query string of the request's URL.
    fn requested(request: &ConsoleRequest, target: AssignTarget) -> Self {
        Self {
            to: request.query_parameter("to").map(|_| target.word()),
            query: request
                .query_parameter("query")
                .unwrap_or_default()
                .to_owned(),
            is_assigned_only: request.query_parameter("only").is_some(),
            from: Paging::offset(request),
        }
    }

    /// Reads the filter from the search fields of the form.
    fn typed(request: &ConsoleRequest, target: AssignTarget) -> Self {
        let query = request
            .form_value("query")
            .unwrap_or_default()
            .trim()
            .to_owned();
        Self {
            to: Some(target.word()),
            query,
            is_assigned_only: request.form_value("only").is_some(),
            from: 0,
        }
    }

    /// Returns the query parameters of the filter.
    fn pairs(&self) -> Vec<(&'static str, String)> {
        let only = self.is_assigned_only.then(|| ("only", "1".to_owned()));
        let query = (!self.query.is_empty()).then(|| ("query", self.query.clone()));
        let from = (self.from > 0).then(|| ("from", self.from.to_string()));
        self.to
            .map(|to| ("to", to.to_owned()))
            .into_iter()
            .chain(query)
            .chain(only)
            .chain(from)
            .collect()
    }

    fn address(&self, request: &ConsoleRequest, path: &str) -> String {
        let pairs = self.pairs();
        let pairs: Vec<(&str, &str)> = pairs
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        request.address_with(path, &pairs)
    }
}

/// The confirmation that the page asks for before it assigns or unassigns all results of a search.
struct AssignConfirmation {
    text: String,
    /// The form value of the button that confirms the change. `yes` is the label of that button.
    act: &'static str,
    yes: String,
}

#[derive(Template)]
#[template(path = "assignments.html")]
struct AssignmentPage<'v> {
    frame: ConsoleFrame<'v>,
    about: String,
    /// One entry for each kind of target: the name of the kind, the number of assignments to
    /// targets of this kind, the URL that shows them, and whether the page shows them now.
    kinds: Vec<(&'static str, usize, String, bool)>,
    action: String,
    /// The path of the page without its query.
    path: String,
    to: &'static str,
    query: String,
    is_assigned_only: bool,
    rows: Vec<TargetRow>,
    paging: Paging,
    may_change: bool,
    problems: Vec<String>,
    /// Whether the page shows again a form that the member sent after the session had ended.
    is_kept: bool,
    /// The unsaved ticks of the pages that are not shown, as hidden fields.
    kept: [(&'static str, String); 2],
    /// A sentence with the numbers of targets that the member has ticked and unticked on all pages
    /// of the list, but has not saved. `None` if no tick is unsaved.
    unsaved: Option<String>,
    question: Option<AssignConfirmation>,
    /// The button that assigns or unassigns all results: its form value and its label. `None` if
    /// one page shows all results.
    all_found: Option<(&'static str, String)>,
    /// A sentence that the page shows instead of the button `all_found`, if the search has too many
    /// results for one request.
    too_many: Option<String>,
}

/// Reads the kind and the id of the resource from the path. Reads the kind of target from the
/// query.
fn requested(
    request: &ConsoleRequest,
) -> Result<(AssignableResource, Uuid, AssignTarget), ConsoleRefusal> {
    let entity = AssignableResource::of(request.path_parameter("entity"))
        .ok_or_else(ConsoleRefusal::missing)?;
    let name = request.query_parameter("to").unwrap_or_default();
    let target = entity
        .targets()
        .iter()
        .find(|target| target.word() == name)
        .unwrap_or(&entity.targets()[0]);
    Ok((entity, request.path_id("id")?, *target))
}

fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let (_, _, target) = requested(request)?;
        page(
            request,
            TargetFilter::requested(request, target),
            Selection::default(),
            AssignmentExtras::default(),
        )
        .await
    })
}

/// The HTTP status of the page, and the parts that the page shows in addition to the rows:
/// messages, and a question that asks the member to confirm.
#[derive(Default)]
struct AssignmentExtras {
    status: u16,
    problems: Vec<String>,
    /// Whether the page asks the member for a confirmation instead of saving at once, because the
    /// member assigns or unassigns all results of a search.
    is_question: bool,
}

async fn page(
    request: &ConsoleRequest,
    filter: TargetFilter,
    ticked: Selection,
    extras: AssignmentExtras,
) -> Result<Response, ConsoleRefusal> {
    let (entity, id, target) = requested(request)?;
    let thing: Value = request.get(entity.read(), json!({ "id": id })).await?;
    let name = ["name", "nickname"]
        .iter()
        .find_map(|field| thing[*field].as_str())
        .unwrap_or_default()
        .to_owned();
    let assigned = ResourceAssignments::read(request, entity, id).await?;
    let path = format!("/assignments/{}/{id}", entity.word());
    let (listed, paging) = rows(request, &path, target, &filter, &assigned).await?;
    let is_on = assigned.ids_to(target);
    let may_change = request.may("addEntityScopes")
        && (entity != AssignableResource::Manual || request.may("updatePortalManual"));
    let kind = |known: &AssignTarget| {
        let address = request.address_with(&path, &[("to", known.word())]);
        (
            known.called(request.texts),
            assigned.to(*known).len(),
            address,
            *known == target,
        )
    };
    let words = request.texts;
    let (above, above_path) = match entity {
        AssignableResource::Portal => (words.portals.portals, "/portals"),
        AssignableResource::Step => (words.assign.steps, "/steps"),
        AssignableResource::Manual => (words.assign.manuals, "/manuals"),
    };
    let frame = ConsoleFrame::new(request, words.assign.assignments)
        .with_parent(request, above, above_path);
    let frame = frame.with_parent(request, name.clone(), &format!("{above_path}/{id}"));
    let row = |(id, name): (String, String)| {
        let is_assigned = is_on.contains(&id);
        let is_ticked = ticked.added.contains(&id) || is_assigned && !ticked.removed.contains(&id);
        TargetRow {
            id,
            name,
            is_assigned,
            is_ticked,
        }
    };
    let rows: Vec<TargetRow> = listed.into_iter().map(row).collect();
    let is_shown: BTreeSet<&String> = rows.iter().map(|row| &row.id).collect();
    let elsewhere = |ids: &BTreeSet<String>| {
        ids.iter()
            .filter(|id| !is_shown.contains(id))
            .cloned()
            .collect::<Vec<_>>()
            .join(",")
    };
    let kept = [
        ("added", elsewhere(&ticked.added)),
        ("removed", elsewhere(&ticked.removed)),
    ];
    let counts = [
        ("added", ticked.added.len().to_string()),
        ("removed", ticked.removed.len().to_string()),
    ];
    let counts: Vec<(&str, &str)> = counts
        .iter()
        .map(|(name, count)| (*name, count.as_str()))
        .collect();
    let count = paging.total.to_string();
    let of_all = |text: &str| fill(text, &[("count", &count)]);
    let (ask, act, yes, text) = if filter.is_assigned_only {
        (
            "ask remove",
            "all remove",
            words.assign.remove_found,
            words.assign.remove_found_about,
        )
    } else {
        (
            "ask add",
            "all add",
            words.assign.assign_found,
            words.assign.assign_found_about,
        )
    };
    let moves = (entity, target, filter.is_assigned_only)
        == (AssignableResource::Portal, AssignTarget::Property, false);
    let text = [
        of_all(text),
        if moves {
            format!(" {}", words.assign.one_portal)
        } else {
            String::new()
        },
    ]
    .concat();
    let (is_many, is_too_many) = (
        paging.is_needed() && may_change,
        paging.total > MOST_AT_ONCE,
    );
    let page = AssignmentPage {
        frame,
        about: fill(words.assign.about, &[("name", &name)]),
        kinds: entity.targets().iter().map(kind).collect(),
        action: filter.address(request, &path),
        path: request.address(&path),
        to: target.word(),
        kept,
        unsaved: (ticked.count() > 0).then(|| fill(words.assign.unsaved, &counts)),
        question: extras.is_question.then(|| AssignConfirmation {
            text,
            act,
            yes: of_all(yes),
        }),
        all_found: (is_many && !is_too_many && !extras.is_question).then(|| (ask, of_all(yes))),
        too_many: (is_many && is_too_many).then(|| {
            fill(
                words.assign.too_many_found,
                &[("most", &MOST_AT_ONCE.to_string())],
            )
        }),
        is_assigned_only: filter.is_assigned_only,
        query: filter.query,
        rows,
        paging,
        may_change,
        problems: extras.problems,
        is_kept: !request.fields.is_empty() && !request.may_write(),
    };
    Ok(reply::page_of_template(
        request,
        if extras.status == 0 {
            200
        } else {
            extras.status
        },
        &page,
    ))
}

/// The id of a target as text, and its name.
type NamedTarget = (String, String);

fn named(row: &Value) -> Option<NamedTarget> {
    let id = row["id"].as_str()?;
    Some((
        id.to_owned(),
        row["name"]
            .as_str()
            .filter(|name| !name.trim().is_empty())
            .unwrap_or(id)
            .to_owned(),
    ))
}

/// Returns the rows of the targets that the page shows.
async fn rows(
    request: &ConsoleRequest,
    path: &str,
    target: AssignTarget,
    filter: &TargetFilter,
    assigned: &ResourceAssignments,
) -> Result<(Vec<NamedTarget>, Paging), ConsoleRefusal> {
    let paging = |total: usize| {
        Paging::at(filter.from, total, |from| {
            TargetFilter {
                from,
                query: filter.query.clone(),
                ..*filter
            }
            .address(request, path)
        })
    };
    if let Some(all) = search_rows(request, target, filter, assigned).await? {
        let paging = paging(all.len());
        return Ok((paging.rows_of_page(all), paging));
    }
    let answer = request
        .call::<Vec<Value>>(target.list(), part(target, filter, filter.from, ROWS))
        .await?;
    let paging = paging(answer.total.unwrap_or(answer.data.len()));
    Ok((answer.data.iter().filter_map(named).collect(), paging))
}

/// Returns the ids of all targets that the search finds, at most `MOST_AT_ONCE`.
async fn found(
    request: &ConsoleRequest,
    target: AssignTarget,
    filter: &TargetFilter,
    assigned: &ResourceAssignments,
) -> Result<Vec<String>, ConsoleRefusal> {
    if let Some(all) = search_rows(request, target, filter, assigned).await? {
        return Ok(all
            .into_iter()
            .map(|(id, _)| id)
            .take(MOST_AT_ONCE)
            .collect());
    }
    let mut ids = Vec::new();
    while ids.len() < MOST_AT_ONCE {
        let arguments = part(target, filter, ids.len(), MOST_ROWS);
        let rows: Vec<Value> = request.get_with_retries(target.list(), &arguments).await?;
        ids.extend(rows.iter().filter_map(named).map(|(id, _)| id));
        if rows.len() < MOST_ROWS {
            break;
        }
    }
    Ok(ids)
}

/// Returns the arguments with which a list operation returns one page of the search results: at
/// most `most` rows, from the offset `from`.
fn part(target: AssignTarget, filter: &TargetFilter, from: usize, most: usize) -> Value {
    let mut arguments = json!({ "limit": most, "offset": from });
    if let Some(kind) = target.kind() {
        arguments["kind"] = json!(kind);
    }
    if !filter.query.is_empty() {
        arguments["query"] = filter.query.as_str().into();
    }
    arguments
}

/// Searches a list in the console itself: the assigned targets, or all portals. Returns all
/// matching rows, sorted by name, which the console then divides into pages. Returns `None` for the
/// lists of all flats, all groups and all tags, because the operations that return these lists
/// search and divide them.
async fn search_rows(
    request: &ConsoleRequest,
    target: AssignTarget,
    filter: &TargetFilter,
    assigned: &ResourceAssignments,
) -> Result<Option<Vec<NamedTarget>>, ConsoleRefusal> {
    let mut all: Vec<NamedTarget> = if filter.is_assigned_only {
        assigned
            .to(target)
            .iter()
            .map(|id| (id.to_string(), assigned.name_of(*id)))
            .collect()
    } else if target == AssignTarget::Portal {
        let portals = request.read_text(LIST_PORTALS, json!({})).await?;
        portals
            .into_iter()
            .map(|portal| (portal.id.to_string(), portal.called()))
            .collect()
    } else {
        return Ok(None);
    };
    let query = filter.query.to_lowercase();
    all.retain(|(_, name)| name.to_lowercase().contains(&query));
    by_name(&mut all, |(_, name)| name);
    Ok(Some(all))
}

/// Maximum number of rows in one response of the list operation.
const MOST_ROWS: usize = 500;

/// Handles the form. The buttons for searching, for paging and for ticking all rows save nothing.
/// The save button saves the ticks. The button for all results saves the ticks, and also assigns or
/// unassigns all results.
fn save(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let (_, _, target) = requested(request)?;
        let (here, ticked) = (
            TargetFilter::requested(request, target),
            Selection::of(&request.fields),
        );
        let act = request.form_value("act").unwrap_or_default();
        let all_found = match act.split_once(' ').unwrap_or((act, "")) {
            ("show", _) => {
                return show_other_rows(
                    request,
                    here,
                    TargetFilter::typed(request, target),
                    ticked,
                )
                .await;
            }
            ("from", number) => {
                let there = TargetFilter {
                    from: number.parse().unwrap_or(0),
                    query: here.query.clone(),
                    ..here
                };
                return show_other_rows(request, here, there, ticked).await;
            }
            ("stay", _) => return page(request, here, ticked, AssignmentExtras::default()).await,
            ("tick", which) => {
                return page(
                    request,
                    here,
                    ticked.all(&request.fields, which == "all"),
                    AssignmentExtras::default(),
                )
                .await;
            }
            ("ask", _) => {
                return page(
                    request,
                    here,
                    ticked,
                    AssignmentExtras {
                        is_question: true,
                        ..AssignmentExtras::default()
                    },
                )
                .await;
            }
            ("all", which) => Some(which == "add"),
            _ => None,
        };
        if request.may_write() {
            stored(request, here, ticked, all_found).await
        } else {
            page(request, here, ticked, AssignmentExtras::default()).await
        }
    })
}

/// Shows another page of the list, or the results of another search. If there are unsaved ticks,
/// the new form contains them. If there are more than [`MOST_KEPT`] of them, shows the same page
/// again with an error.
async fn show_other_rows(
    request: &ConsoleRequest,
    here: TargetFilter,
    there: TargetFilter,
    ticked: Selection,
) -> Result<Response, ConsoleRefusal> {
    if ticked.count() > MOST_KEPT {
        let problem = fill(
            request.texts.assign.too_many_kept,
            &[("most", &MOST_KEPT.to_string())],
        );
        return page(
            request,
            here,
            ticked,
            AssignmentExtras {
                status: 400,
                problems: vec![problem],
                ..AssignmentExtras::default()
            },
        )
        .await;
    }
    if ticked.count() > 0 || !request.may_write() {
        return page(request, there, ticked, AssignmentExtras::default()).await;
    }
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(there.pairs())
        .finish();
    Ok(reply::redirect(
        request,
        &format!("{}?{query}", request.path),
    ))
}

/// Saves the ticks. If `all_found` is set, also changes all results of the search: `true` assigns
/// the resource to them, `false` unassigns it.
async fn stored(
    request: &ConsoleRequest,
    here: TargetFilter,
    mut ticked: Selection,
    all_found: Option<bool>,
) -> Result<Response, ConsoleRefusal> {
    let (entity, id, target) = requested(request)?;
    request
        .get::<Value>(entity.read(), json!({ "id": id }))
        .await?;
    if let Some(is) = all_found {
        let assigned = ResourceAssignments::read(request, entity, id).await?;
        let was = assigned.ids_to(target);
        for id in found(request, target, &here, &assigned).await? {
            ticked.set(&id, was.contains(&id), is);
        }
    }
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(here.pairs())
        .finish();
    let back = format!("{}?{query}", request.path);
    if ticked.count() == 0 {
        return Ok(reply::redirect_with_confirmation(
            request,
            &back,
            CompletedAction::Unchanged,
        ));
    }
    for (operation, ids) in [
        ("addEntityScopes", &ticked.added),
        ("removeEntityScopes", &ticked.removed),
    ] {
        let ids: Vec<&String> = ids.iter().collect();
        for ids in ids.chunks(MOST_AT_ONCE) {
            let mut arguments = Map::from_iter([
                ("entityType".to_owned(), json!(entity.name())),
                ("entityId".to_owned(), json!(id)),
            ]);
            arguments.insert(target.field().to_owned(), json!(ids));
            if let Err(refusal) = request.change(operation, arguments.into()).await {
                let extras = AssignmentExtras {
                    status: refusal.status,
                    problems: refusal.sentences(request),
                    ..AssignmentExtras::default()
                };
                return page(request, here, Selection::of(&request.fields), extras).await;
            }
        }
    }
    Ok(reply::redirect_with_confirmation(
        request,
        &back,
        CompletedAction::Assigned,
    ))
}
