//! Pre-check-in steps: the list in the order in which guests see them, moving a step, and the forms
//! that create and change a step.

mod guest_rules;
mod moving;
mod questions;
mod sentence;

use std::collections::HashMap;

use askama::Template;
use axum::response::Response;
use features::portals::{LIST_PORTALS, PortalRow};
use features::precheck::{ConfigurationIssue, ScopeCounts, StepType, Targeting, is_together};
use features::scopes::COUNT_REACHED_PROPERTIES;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use self::sentence::{assignments, audience};
use super::assign::{AssignableResource, UseCount};
use super::audit::LatestChanges;
use super::editor::{self, Editor};
use super::form::{
    FormView, Layout, ReadFuture, Resource, RuleLayout, Section, StoredResource, unreadable_texts,
};
use super::frame::{CompletedAction, ConsoleFrame};
use super::labels;
use super::operation_calls;
use super::paging::Paging;
use super::placeholders::Placeholders;
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse};
use super::texts::{TextWithVersions, texts, texts_of};

pub static SCREEN: Screen = Screen {
    path: "/steps",
    icon: "list-checks",
    title: |words| words.steps.steps,
    group: ScreenGroup::Setup,
    needs: Some("listPrecheckSteps"),
    pages: &[
        ScreenPage::get("getStepsScreen", "/steps", list),
        ScreenPage::post("moveStepOnScreen", "/steps", move_one).with_needs(&[
            PORTALS,
            "listPrecheckSteps",
            "updatePrecheckStep",
        ]),
        ScreenPage::get("getNewStepScreen", "/steps/new", editor::new::<StepEditor>)
            .with_needs(&["createPrecheckStep"]),
        ScreenPage::post(
            "createStepOnScreen",
            "/steps/new",
            editor::create::<StepEditor>,
        )
        .with_needs(&["createPrecheckStep"]),
        ScreenPage::get("getStepScreen", "/steps/{id}", editor::show::<StepEditor>)
            .with_needs(&["getPrecheckStep"]),
        ScreenPage::post(
            "updateStepOnScreen",
            "/steps/{id}",
            editor::save::<StepEditor>,
        )
        .with_needs(&["getPrecheckStep", "updatePrecheckStep"]),
        ScreenPage::get(
            "getQuestionsScreen",
            "/steps/{id}/questions",
            questions::show,
        )
        .with_needs(&["getPrecheckStep"]),
        ScreenPage::post(
            "updateQuestionsOnScreen",
            "/steps/{id}/questions",
            questions::save,
        )
        .with_needs(&["getPrecheckStep", "updatePrecheckStep"]),
    ],
};

const PORTALS: &str = LIST_PORTALS.id();

/// The guest details for which the guest page has a label.
const GUEST_FIELDS: &[&str] = &[
    "firstName",
    "lastName",
    "secondLastName",
    "email",
    "phone",
    "birthDate",
    "gender",
    "nationality",
    "documentType",
    "documentNumber",
    "address",
    "city",
    "postalCode",
    "country",
];

/// The operations and the layout of a step's form.
pub static STEP: Resource = Resource {
    create: "createPrecheckStep",
    read: "getPrecheckStep",
    stored,
    update: "updatePrecheckStep",
    layout: &Layout {
        create: &["stepType", "nickname", "displayTitle"],
        sections: &[
            Section {
                name: "basics",
                title: |words| words.forms.basics,
            },
            Section {
                name: "task",
                title: |words| words.steps.what,
            },
            Section {
                name: "audience",
                title: |words| words.steps.who,
            },
        ],
        omitted: &["questions", "displayTitleMlTextId", "displayTitleLanguage"],
        markdown: &[],
        names: &[
            ("requiredGuestFields", GUEST_FIELDS),
            ("guestFieldRules", GUEST_FIELDS),
            (
                "requiredDocumentTypes",
                &[
                    "passport",
                    "identity_card",
                    "driving_licence",
                    "residence_permit",
                ],
            ),
        ],
        rules: &[RuleLayout {
            field: "guestFieldRules",
            list: "requiredGuestFields",
            describe: guest_rules::describe,
        }],
    },
};

/// The operation that reads which details a step asks guests for.
const GUEST_FIELDS_OF: &str = "getPrecheckStepGuestFields";
/// The types of steps that ask guests for details.
const ASKING: [&str; 2] = ["your_details", "other_guests"];

/// Maximum number of steps whose position one move may change.
const MOST_MOVED: usize = 200;

/// A step of the list. The list operation returns steps as JSON text. For most steps, the page
/// needs only the fields that decide the position.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Box<RawValue>")]
struct PositionedStep {
    place: StepPosition,
    /// The JSON of the whole step. It is parsed only if the step is on the page that is shown.
    row: Box<RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StepPosition {
    id: Uuid,
    step_type: StepType,
    sort_order: Option<u32>,
}

impl TryFrom<Box<RawValue>> for PositionedStep {
    type Error = serde_json::Error;

    fn try_from(row: Box<RawValue>) -> Result<Self, serde_json::Error> {
        Ok(Self {
            place: serde_json::from_str(row.get())?,
            row,
        })
    }
}

/// The fields of a step that a row of the list shows.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedConsoleStep {
    id: Uuid,
    nickname: String,
    step_type: StepType,
    is_active: bool,
    display_title_ml_text_id: Option<Uuid>,
    configuration_issue: Option<ConfigurationIssue>,
    scope: ScopeCounts,
    #[serde(flatten)]
    rules: Targeting,
}

/// A step in the list of steps. `way` is the address of the page that changes the step, and `who`
/// describes the stays that get it.
struct StepLine {
    number: usize,
    id: Uuid,
    way: String,
    nickname: String,
    title: Option<String>,
    kind: String,
    is_active: bool,
    issue: Option<&'static str>,
    who: String,
    assigned: String,
}

/// A portal that the member can choose, to filter the list of steps by this portal.
struct PortalChoice {
    id: String,
    name: String,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "steps.html")]
struct StepList<'v> {
    frame: ConsoleFrame<'v>,
    portals: Vec<PortalChoice>,
    path: String,
    /// The address of the form that moves a step.
    action: String,
    order: &'static str,
    /// Groups of steps. A step can swap its position only with another step of its group.
    groups: Vec<Vec<StepLine>>,
    paging: Paging,
    new: Option<String>,
    may_move: bool,
    /// Whether the list contains only the steps of one portal.
    is_filtered: bool,
    problem: Option<String>,
}

/// The steps in the order in which guests see them. If the member chose a portal, the list contains
/// only the steps of that portal, and that portal decides the order; otherwise the default portal
/// does. `is_automatic` means that the deciding portal sorts steps by type before position.
struct Ordered {
    rows: Vec<PositionedStep>,
    portals: Vec<PortalRow>,
    chosen: Option<Uuid>,
    is_automatic: bool,
}

impl Ordered {
    async fn read(request: &ConsoleRequest) -> Result<Self, ConsoleRefusal> {
        let portals = request.read_text(LIST_PORTALS, json!({})).await?;
        let chosen = request
            .query_parameter("portal")
            .and_then(|id| id.parse::<Uuid>().ok())
            .filter(|id| portals.iter().any(|portal| portal.id == *id));
        let arguments = chosen.map_or_else(|| json!({}), |id| json!({ "portalSettingsIds": [id] }));
        let rows = request.get("listPrecheckSteps", arguments).await?;
        let deciding = chosen.or_else(|| {
            portals
                .iter()
                .find(|portal| portal.is_default)
                .map(|portal| portal.id)
        });
        let is_automatic = match deciding {
            // If the member cannot access the portal, the list assumes that the portal sorts its
            // steps automatically.
            Some(id) => {
                let portal = request.get::<Value>("getPortal", json!({ "id": id })).await;
                portal.map_or(true, |portal| portal["isPrecheckOrderAutomatic"] != false)
            }
            None => true,
        };
        Ok(Self {
            rows,
            portals,
            chosen,
            is_automatic,
        })
    }

    /// Returns whether two consecutive steps can swap their positions. In the automatic order, only
    /// steps in the same group can.
    fn is_movable(&self, one: &StepPosition, other: &StepPosition) -> bool {
        !self.is_automatic || is_together(one.step_type, other.step_type)
    }

    /// Returns the steps with which a step can swap its position.
    fn around(&self, id: Uuid) -> Vec<&StepPosition> {
        let places = self.rows.iter().map(|row| &row.place);
        let Some(own) = places.clone().find(|place| place.id == id) else {
            return Vec::new();
        };
        places.filter(|place| self.is_movable(own, place)).collect()
    }
}

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move { page(request, None).await })
}

async fn page(
    request: &ConsoleRequest,
    problem: Option<(u16, String)>,
) -> Result<Response, ConsoleRefusal> {
    let words = request.texts;
    let mut ordered = Ordered::read(request).await?;
    let paging = Paging::of(request, "/steps", ordered.rows.len());
    let placed = paging.rows_of_page(std::mem::take(&mut ordered.rows));
    let rows = placed
        .iter()
        .map(|placed| serde_json::from_str(placed.row.get()))
        .collect::<Result<Vec<ListedConsoleStep>, _>>();
    let rows =
        rows.map_err(|error| operation_calls::unparsable(request.id, "listPrecheckSteps", &error))?;
    let titles = texts(
        request,
        rows.iter().filter_map(|row| row.display_title_ml_text_id),
    );
    let (titles, reached) = tokio::join!(
        titles,
        reached(request, rows.iter().map(|row| row.id).collect())
    );
    let mut groups: Vec<Vec<StepLine>> = Vec::new();
    let mut before: Option<&StepPosition> = None;
    for (number, (PositionedStep { place, .. }, row)) in placed.iter().zip(&rows).enumerate() {
        let is_beside = before.is_some_and(|before| ordered.is_movable(before, place));
        let line = line(
            request,
            row,
            paging.first + number,
            &titles,
            reached.get(&row.id).copied(),
        );
        match groups.last_mut().filter(|_| is_beside) {
            Some(group) => group.push(line),
            None => groups.push(vec![line]),
        }
        before = Some(place);
    }
    let portals = ordered.portals.iter().map(|portal| PortalChoice {
        id: portal.id.to_string(),
        name: portal.called(),
        is_chosen: ordered.chosen == Some(portal.id),
    });
    let chosen = ordered.chosen.map(|id| id.to_string());
    let from = Paging::offset(request).to_string();
    let query: Vec<(&str, &str)> = chosen
        .iter()
        .map(|id| ("portal", id.as_str()))
        .chain([("from", from.as_str())])
        .collect();
    let page = StepList {
        frame: ConsoleFrame::new(request, words.steps.steps),
        portals: portals.collect(),
        path: request.address("/steps"),
        action: request.address_with("/steps", &query),
        order: if ordered.is_automatic {
            words.steps.automatic
        } else {
            words.steps.by_position
        },
        groups,
        paging,
        new: request
            .may(STEP.create)
            .then(|| request.address("/steps/new")),
        may_move: request.may(STEP.update),
        is_filtered: ordered.chosen.is_some(),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
    };
    Ok(reply::page_of_template(
        request,
        problem.map_or(200, |(status, _)| status),
        &page,
    ))
}

/// Returns the number of flats to which each step is assigned, either directly or by their group, a
/// tag or their portal. The key is the id of the step. The result is empty if the numbers cannot be
/// read.
async fn reached(request: &ConsoleRequest, ids: Vec<Uuid>) -> HashMap<Uuid, usize> {
    if ids.is_empty() {
        return HashMap::new();
    }
    let arguments = json!({ "entityType": "precheck_step", "entityIds": ids });
    let reached = request.read(COUNT_REACHED_PROPERTIES, arguments).await;
    reached
        .unwrap_or_default()
        .iter()
        .map(|reached| (reached.entity_id, reached.property_count))
        .collect()
}

fn line(
    request: &ConsoleRequest,
    row: &ListedConsoleStep,
    number: usize,
    titles: &HashMap<Uuid, String>,
    flats: Option<usize>,
) -> StepLine {
    let words = request.texts;
    StepLine {
        number,
        id: row.id,
        way: request.address(&format!("/steps/{}", row.id)),
        nickname: row.nickname.clone(),
        title: row
            .display_title_ml_text_id
            .and_then(|id| titles.get(&id).cloned()),
        kind: labels::choice(request.language, row.step_type.as_ref()),
        is_active: row.is_active,
        issue: row.configuration_issue.map(|issue| match issue {
            ConfigurationIssue::MissingPaymentAccount => words.steps.missing_payment_account,
            ConfigurationIssue::MissingAuthenticateAccount => words.steps.missing_account,
        }),
        who: audience(&row.rules, words, flats, row.is_active),
        assigned: assignments(&row.scope, words),
    }
}

/// Moves a step. A button moves it by one position, and dragging moves it to any position.
fn move_one(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let id = |name: &str| {
            request
                .form_value(name)
                .and_then(|text| text.parse::<Uuid>().ok())
        };
        let (up, down) = (id("up"), id("down"));
        let Some(moved) = up.or(down).or_else(|| id("moved")) else {
            return page(request, None).await;
        };
        let ordered = Ordered::read(request).await?;
        let around = ordered.around(moved);
        let before: Vec<Uuid> = around.iter().map(|row| row.id).collect();
        let order = match request
            .form_value("order")
            .filter(|_| up.is_none() && down.is_none())
        {
            Some(part) => moving::dragged(
                &before,
                &part
                    .split(',')
                    .filter_map(|id| id.parse().ok())
                    .collect::<Vec<_>>(),
                moved,
            ),
            None => moving::stepped(before.clone(), moved, up.is_some()),
        };
        let query = ["portal", "from"]
            .iter()
            .filter_map(|name| Some((*name, request.query_parameter(name)?)));
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(query)
            .finish();
        let back = format!("/steps?{query}#s-{moved}");
        if order == before {
            return Ok(reply::redirect_with_confirmation(
                request,
                &back,
                CompletedAction::Unchanged,
            ));
        }
        let position = |id: &Uuid| {
            around
                .iter()
                .find(|row| row.id == *id)
                .and_then(|row| row.sort_order)
        };
        let wanted: Vec<(Uuid, Option<u32>)> = order.iter().map(|id| (*id, position(id))).collect();
        let changes = moving::changes(&wanted, moved);
        if changes.len() > MOST_MOVED {
            return page(
                request,
                Some((409, request.texts.steps.too_many.to_owned())),
            )
            .await;
        }
        for (id, position) in changes {
            let arguments = json!({ "id": id, "data": { "sortOrder": position } });
            if let Err(refusal) = request.change(STEP.update, arguments).await {
                return page(
                    request,
                    Some((refusal.status, refusal.sentences(request).join(" "))),
                )
                .await;
            }
        }
        Ok(reply::redirect_with_confirmation(
            request,
            &back,
            CompletedAction::Moved,
        ))
    })
}

#[derive(Template)]
#[template(path = "step.html")]
struct StepEditorPage<'v> {
    frame: ConsoleFrame<'v>,
    form: FormView,
    used: Option<UseCount>,
    /// A sentence that says which guests get the step.
    who: Option<String>,
    /// The address of the page with the step's questions, and the number of questions.
    questions: Option<(String, usize)>,
    changed: Option<LatestChanges>,
    /// The texts of the step that guests read, in all languages.
    texts: Vec<TextWithVersions>,
    placeholders: Placeholders,
}

/// The form of a step. The page also says which guests get the step, and shows the step's texts in
/// all languages.
struct StepEditor;

impl Editor for StepEditor {
    const PATH: &'static str = "/steps";
    const RESOURCE: &'static Resource = &STEP;

    async fn page(
        request: &ConsoleRequest,
        stored: Option<&StoredResource>,
        form: FormView,
    ) -> Response {
        let status = form.status;
        let words = &request.texts.steps;
        let title = stored.map_or(words.new, |stored| stored.text("nickname"));
        let frame = ConsoleFrame::new(request, title).with_parent(request, words.steps, "/steps");
        let (mut used, mut who, mut questions, mut changed, mut spoken) =
            (None, None, None, None, Vec::new());
        if let Some(stored) = stored {
            changed = LatestChanges::of(request, stored.id).await;
            used = UseCount::of(request, AssignableResource::Step, stored.id).await;
            let flats = reached(request, vec![stored.id])
                .await
                .get(&stored.id)
                .copied();
            let rules = Targeting::deserialize(Value::Object(stored.value.clone())).ok();
            let is_active = stored.value["isActive"] == true;
            who = rules.map(|rules| audience(&rules, request.texts, flats, is_active));
            let title = stored.text("displayTitleMlTextId").parse().ok();
            let title = title.map(|id| (labels::label(request.language, "displayTitle"), id));
            spoken = TextWithVersions::all(
                request,
                &title
                    .into_iter()
                    .chain(form.texts.iter().cloned())
                    .collect::<Vec<_>>(),
            )
            .await;
            if stored.text("stepType") == "additional_questions" {
                let count = stored
                    .value
                    .get("questions")
                    .and_then(Value::as_array)
                    .map_or(0, Vec::len);
                questions = Some((
                    request.address(&format!("/steps/{}/questions", stored.id)),
                    count,
                ));
            }
        }
        reply::page_of_template(
            request,
            status,
            &StepEditorPage {
                frame,
                form,
                used,
                who,
                questions,
                changed,
                texts: spoken,
                placeholders: Placeholders::of(request).await,
            },
        )
    }
}

fn stored(request: &ConsoleRequest, id: Uuid) -> ReadFuture<'_> {
    Box::pin(async move {
        let mut stored = StoredResource::of(
            id,
            request.get("getPrecheckStep", json!({ "id": id })).await?,
        );
        // The read operation returns only some of the step's texts. So the page reads all of them
        // here.
        let shown = texts_of(request, "precheck_step_detail", id).await?;
        let unreadable = unreadable_texts(request, &STEP)?
            .into_iter()
            .map(|field| (field, Value::Null));
        let step_type = stored.value.get("stepType").and_then(Value::as_str);
        let asks = step_type.is_some_and(|known| ASKING.contains(&known));
        let asked: Map<String, Value> = if asks && request.may(GUEST_FIELDS_OF) {
            request.get(GUEST_FIELDS_OF, json!({ "id": id })).await?
        } else {
            Map::new()
        };
        stored.value.extend(asked);
        stored.value.extend(
            unreadable.chain(
                shown
                    .iter()
                    .map(|text| (text.field.clone(), json!(text.id))),
            ),
        );
        Ok(stored)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_checkbox_of_a_step_has_a_label() {
        for (_, names) in STEP.layout.names {
            for language in ["en", "es", "fr"] {
                assert!(
                    names
                        .iter()
                        .all(|name| labels::asked(language, name) != *name),
                    "{names:?}"
                );
            }
        }
    }
}
