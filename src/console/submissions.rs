//! What guests hand in: the list, one of them with its answers and files, and what staff decide of it.

use std::collections::{BTreeSet, HashMap};

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::answers::{self, Given};
use super::audit::Changed;
use super::flats::Wanted;
use super::frame::{Done, Frame};
use super::paging::{Paging, ROWS};
use super::refusal::Refusal;
use super::reply;
use super::screens::{Answering, Group, Page, Screen};
use super::visit::Visit;
use super::when::{self, When};
use crate::words::fill;

/// The screen.
pub static SCREEN: Screen = Screen {
    path: "/submissions",
    icon: "clipboard-check",
    title: |words| words.submissions.submissions,
    group: Group::Today,
    needs: Some(LIST),
    pages: &[
        Page::get("getSubmissionsScreen", "/submissions", list),
        Page::get("getSubmissionScreen", "/submissions/{id}", show).needing(&["getPrecheckinSubmission"]),
        Page::post("approveSubmissionOnScreen", "/submissions/{id}/approve", approve)
            .needing(&["getPrecheckinSubmission", "approvePrecheckin"]),
        Page::post("requestChangesOnScreen", "/submissions/{id}/changes", request_changes)
            .needing(&["getPrecheckinSubmission", "requestPrecheckinChanges"]),
    ],
};

const LIST: &str = "listPrecheckinSubmissions";
const READ: &str = "getPrecheckinSubmission";
const APPROVE: &str = "approvePrecheckin";
const REQUEST: &str = "requestPrecheckinChanges";

/// What a list is kept to, in the order of the tabs; everything has no name.
const STATUSES: [&str; 4] = ["in_review", "changes_requested", "approved", "all"];

/// What a guest handed in, as it is answered.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Submission {
    pub reservation_id: Uuid,
    pub property_id: Option<Uuid>,
    pub property_name: Option<String>,
    pub guest_name: Option<String>,
    pub check_in: String,
    pub status: String,
    pub submitted_at: Option<String>,
    decided_at: Option<String>,
    decided_by: Option<String>,
    message: Option<String>,
    #[serde(default)]
    steps: Vec<Step>,
}

/// A step, and what was given.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    id: Uuid,
    step_type: String,
    title: String,
    is_shown: bool,
    is_complete: bool,
    is_open: bool,
    #[serde(default)]
    answers: Value,
    #[serde(default)]
    files: Option<Vec<File>>,
    #[serde(default)]
    progress: Option<Progress>,
}

/// How a step stands that another system carries out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    status: String,
    message: Option<String>,
    amount_cents: Option<i64>,
    currency: Option<String>,
}

/// A file that was handed in.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    name: String,
    content_type: String,
    size: u64,
    document_type: Option<String>,
    url: String,
}

impl Submission {
    /// What is known of a stay's.
    pub async fn read(visit: &Visit, reservation: Uuid) -> Result<Self, Refusal> {
        visit.get(READ, json!({ "id": reservation, "language": visit.language })).await
    }

    /// How many of the steps that are asked are complete, and how many are asked.
    pub fn progress(&self) -> (usize, usize) {
        let asked = || self.steps.iter().filter(|step| step.is_shown);
        (asked().filter(|step| step.is_complete).count(), asked().count())
    }
}

/// A row of a list of submissions.
pub struct Row {
    pub guest: String,
    pub about: String,
    pub since: Option<When>,
    pub status: (&'static str, &'static str),
    pub way: String,
}

impl Row {
    pub fn of(visit: &Visit, one: &Submission) -> Self {
        let words = &visit.words.submissions;
        let flat = one.property_name.clone().unwrap_or_else(|| words.no_flat.to_owned());
        Self {
            guest: one.guest_name.clone().unwrap_or_else(|| words.unknown_guest.to_owned()),
            about: format!("{flat} · {}", fill(words.arrives, &[("day", &when::day(visit, &one.check_in))])),
            since: when::maybe(visit, one.submitted_at.as_deref()),
            status: words.status(&one.status),
            way: visit.address(&format!("/submissions/{}", one.reservation_id)),
        }
    }
}

#[derive(Template)]
#[template(path = "console/submissions.html")]
struct List<'v> {
    frame: Frame<'v>,
    /// What the list may be kept to: what it is called, where it is, whether it is shown.
    tabs: Vec<(&'static str, String, bool)>,
    path: String,
    status: &'static str,
    flat: Wanted,
    rows: Vec<Row>,
    paging: Paging,
}

fn list(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let words = &visit.words.submissions;
        let asked = visit.asks("status").unwrap_or_default();
        let status = STATUSES.into_iter().find(|status| *status == asked).unwrap_or(STATUSES[0]);
        let flat = Wanted::of(visit, SCREEN.path).await?;
        let mut arguments = json!({ "limit": ROWS, "offset": Paging::offset(visit), "propertyId": flat.id });
        if status != "all" {
            arguments["status"] = status.into();
        }
        let (found, total) = if flat.is_open() {
            (Vec::new(), 0)
        } else {
            let answer = visit.ask::<Vec<Submission>>(LIST, arguments).await?;
            (answer.data, answer.total.unwrap_or_default())
        };
        let tab = |known: &'static str| {
            let id = flat.id.map(|id| id.to_string()).unwrap_or_default();
            let query: [(&str, &str); 3] = [("status", known), ("flat", &flat.text), ("propertyId", &id)];
            let query: Vec<_> = query.into_iter().filter(|(_, value)| !value.is_empty()).collect();
            let called = if known == "all" { words.all } else { words.status(known).0 };
            (called, visit.address_with(SCREEN.path, &query), known == status)
        };
        let page = List {
            frame: Frame::new(visit, words.submissions),
            tabs: STATUSES.into_iter().map(tab).collect(),
            path: visit.address(SCREEN.path),
            status,
            rows: found.iter().map(|one| Row::of(visit, one)).collect(),
            paging: Paging::of(visit, SCREEN.path, total),
            flat,
        };
        Ok(reply::of(visit, 200, &page))
    })
}

/// A step on the page of a submission.
struct ShownStep {
    id: String,
    title: String,
    state: (&'static str, &'static str),
    is_shown: bool,
    is_open: bool,
    /// Whether another system carries it out, and has said nothing of it.
    is_elsewhere: bool,
    progress: Option<ShownProgress>,
    given: Vec<Given>,
    is_cut: bool,
    files: Vec<ShownFile>,
    /// Whether it is ticked to be opened again.
    is_ticked: bool,
}

struct ShownProgress {
    standing: (&'static str, &'static str),
    message: Option<String>,
    amount: Option<String>,
}

struct ShownFile {
    name: String,
    about: String,
    url: String,
}

#[derive(Template)]
#[template(path = "console/submission.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    one: Submission,
    status: (&'static str, &'static str),
    arrival: String,
    submitted: Option<When>,
    decided: Option<When>,
    decided_by: Option<String>,
    stay: String,
    steps: Vec<ShownStep>,
    /// Where it is decided, where the member may and there is something to decide.
    decide: Option<(String, String)>,
    message: String,
    problem: Option<Problem>,
    is_kept: bool,
    key: String,
    changed: Option<Changed>,
}

/// Why something was not done: in the words of the page, and in those of the interface.
struct Problem {
    text: &'static str,
    said: Vec<String>,
}

impl Problem {
    fn of(visit: &Visit, refusal: &Refusal) -> Self {
        let words = visit.words;
        let text = match refusal.status {
            400 => words.submissions.is_wrong,
            404 => words.submissions.step_gone,
            409 => words.submissions.not_in_review,
            429 => words.frame.too_many_text,
            403 => words.frame.not_allowed_text,
            _ => words.frame.unavailable_text,
        };
        Self { text, said: refusal.sentences(visit) }
    }
}

/// Whether another system carries a step out.
fn is_elsewhere(step_type: &str) -> bool {
    ["identity_check", "background_check", "authority_reporting", "mandatory_fee", "damage_deposit", "screen_and_protect"]
        .contains(&step_type)
}

fn shown_step(visit: &Visit, step: &Step, ticked: &BTreeSet<&str>, waivers: &HashMap<String, String>) -> ShownStep {
    let words = &visit.words.submissions;
    let (given, is_cut) = answers::given(visit, &step.answers, waivers);
    let progress = |progress: &Progress| ShownProgress {
        standing: words.standing(&progress.status),
        message: progress.message.clone(),
        amount: progress.amount_cents.map(|cents| visit.dates().money(cents, progress.currency.as_deref())),
    };
    let file = |file: &File| ShownFile {
        name: file.name.clone(),
        about: [
            file.document_type.as_deref().map(|kind| answers::document(visit, kind)),
            Some(file.content_type.clone()),
            Some(visit.dates().size(file.size)),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" · "),
        url: file.url.clone(),
    };
    let id = step.id.to_string();
    ShownStep {
        title: step.title.clone(),
        state: if step.is_complete { (words.complete, "on") } else { (words.incomplete, "") },
        is_shown: step.is_shown,
        is_open: step.is_open,
        is_elsewhere: is_elsewhere(&step.step_type) && step.progress.is_none(),
        progress: step.progress.as_ref().map(progress),
        given,
        is_cut,
        files: step.files.iter().flatten().map(file).collect(),
        is_ticked: ticked.contains(id.as_str()),
        id,
    }
}

/// The page of a submission; with what was typed, and why it was refused.
async fn page(visit: &Visit, refused: Option<Refusal>) -> Result<Response, Refusal> {
    let words = &visit.words.submissions;
    let one = Submission::read(visit, visit.named("id")?).await?;
    let ticked: BTreeSet<&str> = visit.fields.iter().filter(|(name, _)| name == "step").map(|(_, value)| value.as_str()).collect();
    let waivers = answers::waivers(visit, one.steps.iter().map(|step| &step.answers)).await;
    let path = format!("/submissions/{}", one.reservation_id);
    let is_kept = !visit.fields.is_empty() && !visit.may_write();
    // What was typed stays, whatever has become of the submission.
    let may_decide = visit.may(APPROVE) && visit.may(REQUEST) && (one.status == "in_review" || refused.is_some() || is_kept);
    let guest = one.guest_name.clone().unwrap_or_else(|| words.unknown_guest.to_owned());
    let page = Shown {
        frame: Frame::new(visit, guest).below(visit, words.submissions, SCREEN.path),
        status: words.status(&one.status),
        arrival: when::day(visit, &one.check_in),
        submitted: when::maybe(visit, one.submitted_at.as_deref()),
        decided: when::maybe(visit, one.decided_at.as_deref()),
        decided_by: one.decided_by.as_ref().map(|name| fill(words.decided_by, &[("name", name)])),
        stay: visit.address(&format!("/stays/{}", one.reservation_id)),
        steps: one.steps.iter().map(|step| shown_step(visit, step, &ticked, &waivers)).collect(),
        decide: may_decide.then(|| (visit.address(&format!("{path}/approve")), visit.address(&format!("{path}/changes")))),
        message: visit.sent("message").unwrap_or_default().to_owned(),
        problem: refused.as_ref().map(|refusal| Problem::of(visit, refusal)),
        is_kept,
        key: visit.new_key(),
        changed: Changed::of(visit, one.reservation_id).await,
        one,
    };
    Ok(reply::of(visit, refused.map_or(200, |refusal| refusal.status), &page))
}

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(page(visit, None))
}

/// Sends a decision: on to the submission, or back to the form with what is wrong.
async fn decide(visit: &Visit, operation: &str, arguments: Value) -> Result<Response, Refusal> {
    let id = visit.named("id")?;
    if !visit.may_write() {
        return page(visit, None).await;
    }
    match visit.create::<Value>(operation, arguments, &visit.key(operation)).await {
        Ok(_) => Ok(reply::done(visit, &format!("/submissions/{id}"), Done::Saved)),
        Err(refusal) if refusal.status == 401 => Err(refusal),
        // A submission that is not there is a page that is not there.
        Err(refusal) => page(visit, Some(refusal)).await,
    }
}

fn approve(visit: &Visit) -> Answering<'_> {
    Box::pin(async move { decide(visit, APPROVE, json!({ "id": visit.named("id")? })).await })
}

fn request_changes(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let steps: Vec<&str> = visit.fields.iter().filter(|(name, _)| name == "step").map(|(_, value)| value.as_str()).collect();
        let message = visit.sent("message").unwrap_or_default();
        decide(visit, REQUEST, json!({ "id": visit.named("id")?, "stepIds": steps, "message": message })).await
    })
}
