//! The checklist of first steps on the home page. The home page shows it until every step is done.
//! A step is done if the organization has stored its result, such as a portal.

use features::guest::CREATE_PORTAL_PREVIEW;
use features::platform::LIST_AUDIT_LOG;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::request::ConsoleRequest;
use super::screens::resource_address;
use super::words::ConsoleBeginWords;

/// A step of the checklist: a list operation, a path and a label. The step is done if the list is
/// not empty. The path leads to the page on which the member does the step.
type FirstStepTask = (
    &'static str,
    &'static str,
    fn(&ConsoleBeginWords) -> &'static str,
);

static TASKS: [FirstStepTask; 6] = [
    ("listPortalBrandings", "/brandings/new", |words| {
        words.first_branding
    }),
    ("listPortals", "/portals/new", |words| words.first_portal),
    ("listProperties", "/flats/new", |words| words.first_flat),
    ("listPrecheckSteps", "/steps/new", |words| words.first_step),
    ("listPortalManuals", "/manuals/new", |words| {
        words.first_manual
    }),
    ("listReservations", "/stays", |words| words.first_stay),
];

/// The path of the list of portals, from which a member gets to a preview of the guest page.
const PORTALS: &str = "/portals";

pub struct FirstStep {
    pub label: &'static str,
    pub is_done: bool,
    pub way: String,
}

/// Returns the checklist. It is empty if every step is done, or if the member does not manage the
/// whole organization.
pub async fn first_steps(request: &ConsoleRequest) -> Vec<FirstStep> {
    if !request.manages_whole_organization() {
        return Vec::new();
    }
    let tasks = TASKS
        .iter()
        .filter_map(|task| Some((task, resource_address(request, task.1, "")?)));
    let steps = join_all(tasks.map(|(task, way)| line(request, task, way))).await;
    let mut steps: Vec<FirstStep> = steps.into_iter().flatten().collect();
    if steps.iter().all(|step| step.is_done) {
        return Vec::new();
    }
    if let Some(way) = resource_address(request, PORTALS, "") {
        let preview = FirstStep {
            label: request.texts.begin.first_preview,
            is_done: is_previewed(request).await,
            way,
        };
        // In the last step, the member sends a guest the link of the guest page. Before that, the
        // member should see a preview of the page.
        steps.insert(steps.len().saturating_sub(1), preview);
    }
    steps
}

/// Returns whether the audit log has a recent entry about a preview. No other data shows that a
/// member has created a preview.
async fn is_previewed(request: &ConsoleRequest) -> bool {
    let entries = request.read(LIST_AUDIT_LOG, json!({ "limit": 100 })).await;
    entries.is_ok_and(|entries| {
        entries
            .iter()
            .any(|entry| entry.operation == CREATE_PORTAL_PREVIEW.id())
    })
}

/// Returns a line of the checklist. Returns `None` if the operation that lists the task's
/// resources, such as `listPortals`, does not exist or fails.
async fn line(
    request: &ConsoleRequest,
    (list, _, label): &FirstStepTask,
    way: String,
) -> Option<FirstStep> {
    let operation = request.service.app.operation(list)?;
    let arguments = match operation.paging {
        Some(_) => json!({ "limit": 1 }),
        None => json!({}),
    };
    let rows: Vec<Value> = request.get(list, arguments).await.ok()?;
    Some(FirstStep {
        label: label(&request.texts.begin),
        is_done: !rows.is_empty(),
        way,
    })
}
