//! Pre-check-in submissions: the list, the page of a submission with answers and files, and the
//! decision of the staff about it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use features::guest::{
    AddressedFile, FlagKind, FlagView, GET_PRECHECKIN_SUBMISSION, LIST_PRECHECKIN_SUBMISSIONS,
    PrecheckinStatus, PrecheckinSubmission, ReviewedProgress, ReviewedStep, ReviewedSubmission,
};
use features::words::{fill, own_name};
use serde_json::{Value, json};
use uuid::Uuid;

use super::answers::{self, AnswerLine};
use super::audit::LatestChanges;
use super::charges::StayCharges;
use super::flats::{self, FlatFilter};
use super::frame::{CompletedAction, ConsoleFrame};
use super::labels;
use super::paging::{Paging, ROWS};
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse, resource_address};
use super::time_format::{self, FormattedTime};
use super::words::{precheckin_status, progress_status, step_state};

pub static SCREEN: Screen = Screen {
    path: "/submissions",
    icon: "clipboard-check",
    title: |words| words.submissions.submissions,
    group: ScreenGroup::Today,
    needs: Some(LIST),
    pages: &[
        ScreenPage::get("getSubmissionsScreen", "/submissions", list),
        ScreenPage::get("getSubmissionScreen", "/submissions/{id}", show)
            .with_needs(&["getPrecheckinSubmission"]),
        ScreenPage::post(
            "approveSubmissionOnScreen",
            "/submissions/{id}/approve",
            approve,
        )
        .with_needs(&["getPrecheckinSubmission", "approvePrecheckin"]),
        ScreenPage::post(
            "requestChangesOnScreen",
            "/submissions/{id}/changes",
            request_changes,
        )
        .with_needs(&["getPrecheckinSubmission", "requestPrecheckinChanges"]),
    ],
};

const LIST: &str = LIST_PRECHECKIN_SUBMISSIONS.id();
const APPROVE: &str = "approvePrecheckin";
const REQUEST: &str = "requestPrecheckinChanges";

/// The message of a flag for a failed background check. The console shows a text in the member's
/// language instead.
const FAILED: &str = "The background check failed.";

/// The statuses by which the tabs filter the list, in the order of the tabs.
const STATUSES: [&str; 4] = ["in_review", "changes_requested", "approved", "all"];

/// Reads the submission of a stay.
pub async fn read(
    request: &ConsoleRequest,
    reservation: Uuid,
) -> Result<Arc<ReviewedSubmission>, ConsoleRefusal> {
    let arguments = json!({ "id": reservation, "language": request.language });
    request.read(GET_PRECHECKIN_SUBMISSION, arguments).await
}

/// Returns a sentence on the steps that the guest can change again. Returns `None` if there are
/// none.
pub fn opened(request: &ConsoleRequest, one: &PrecheckinSubmission) -> Option<String> {
    let count = one.open_steps.len();
    let words = &request.texts.submissions;
    (count > 0).then(|| fill(words.opened, &[("n", &count.to_string())]))
}

/// Returns the number of complete steps, and the number of all steps. Counts only steps that the
/// guest sees.
pub fn progress(one: &ReviewedSubmission) -> (usize, usize) {
    let asked = || one.steps.iter().filter(|step| step.is_shown);
    (
        asked().filter(|step| step.is_complete).count(),
        asked().count(),
    )
}

/// A row of a list of submissions. `about` is a text with the flat and the day of arrival, `since`
/// is the time of the submission, and `way` is the address of its page.
pub struct SubmissionRow {
    pub guest: String,
    pub about: String,
    pub since: Option<FormattedTime>,
    /// A sentence about the steps that the guest can change again. `None` if there are none.
    pub opened: Option<String>,
    pub status: (&'static str, &'static str),
    pub way: String,
}

impl SubmissionRow {
    pub fn of(request: &ConsoleRequest, one: &PrecheckinSubmission) -> Self {
        let words = &request.texts.submissions;
        let flat = one
            .property_name
            .clone()
            .unwrap_or_else(|| words.no_flat.to_owned());
        Self {
            guest: one
                .guest_name
                .clone()
                .unwrap_or_else(|| words.unknown_guest.to_owned()),
            about: format!(
                "{flat} · {}",
                fill(
                    words.arrives,
                    &[("day", &time_format::date(request, one.check_in))]
                )
            ),
            since: time_format::of_any(request, one.submitted_at),
            opened: opened(request, one),
            status: precheckin_status(words, one.status),
            way: request.address(&format!("/submissions/{}", one.reservation_id)),
        }
    }
}

#[derive(Template)]
#[template(path = "submissions.html")]
struct SubmissionList<'v> {
    frame: ConsoleFrame<'v>,
    /// The tabs. Each has its label, its address, and whether it is selected.
    tabs: Vec<(&'static str, String, bool)>,
    path: String,
    status: &'static str,
    flat: FlatFilter,
    rows: Vec<SubmissionRow>,
    paging: Paging,
    /// Label and address of the link that the page shows if the list is empty.
    next_action: Option<(&'static str, String)>,
}

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = &request.texts.submissions;
        let asked = request.query_parameter("status").unwrap_or_default();
        let status = STATUSES
            .into_iter()
            .find(|status| *status == asked)
            .unwrap_or(STATUSES[0]);
        let flat = FlatFilter::of(request, SCREEN.path).await?;
        let mut arguments =
            json!({ "limit": ROWS, "offset": Paging::offset(request), "propertyId": flat.id });
        if status != "all" {
            arguments["status"] = status.into();
        }
        let (found, total) = if flat.is_ambiguous() {
            (Arc::default(), 0)
        } else {
            let answer = request
                .read_page(LIST_PRECHECKIN_SUBMISSIONS, arguments)
                .await?;
            (answer.data, answer.total.unwrap_or_default())
        };
        let tab = |known: &'static str| {
            let id = flat.id.map(|id| id.to_string()).unwrap_or_default();
            let query: [(&str, &str); 3] =
                [("status", known), ("flat", &flat.text), ("propertyId", &id)];
            let query: Vec<_> = query
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .collect();
            let called = known
                .parse::<PrecheckinStatus>()
                .map_or(words.all, |status| precheckin_status(words, status).0);
            (
                called,
                request.address_with(SCREEN.path, &query),
                known == status,
            )
        };
        let page = SubmissionList {
            frame: ConsoleFrame::new(request, words.submissions),
            tabs: STATUSES.into_iter().map(tab).collect(),
            path: request.address(SCREEN.path),
            status,
            rows: found
                .iter()
                .map(|one| SubmissionRow::of(request, one))
                .collect(),
            paging: Paging::of(request, SCREEN.path, total),
            next_action: if flat.text.is_empty() && flat.id.is_none() {
                resource_address(request, "/stays", "")
                    .map(|way| (request.texts.records.stays, way))
            } else {
                Some((request.texts.records.clear, request.address(SCREEN.path)))
            },
            flat,
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

/// A step on the page of a submission.
struct ShownStep {
    id: String,
    title: String,
    state: (&'static str, &'static str),
    is_shown: bool,
    is_open: bool,
    /// Whether the step is completed in a system outside Vestibule, and that system has not
    /// reported any progress yet.
    is_elsewhere: bool,
    progress: Option<ShownProgress>,
    answers: Vec<AnswerLine>,
    is_truncated: bool,
    acceptance: Option<ShownAcceptance>,
    files: Vec<ShownFile>,
    /// Whether the member ticked the step, to send it back to the guest.
    is_ticked: bool,
}

/// The record of an accepted agreement, as the page shows it.
struct ShownAcceptance {
    when: FormattedTime,
    /// A line with the language and the hash of the text that the guest accepted.
    about: Option<String>,
    signed_name: Option<String>,
    /// The text that the guest accepted.
    text: Option<String>,
    /// Whether the text of the agreement has changed since the guest accepted it.
    is_outdated: bool,
}

/// A flag as the page shows it: the title of the step that caused it, and the reason.
struct ShownFlag {
    step: Option<String>,
    text: String,
}

fn shown_flag(request: &ConsoleRequest, flag: &FlagView, steps: &[ReviewedStep]) -> ShownFlag {
    let words = &request.texts.submissions;
    let step = steps.iter().find(|step| step.id == flag.step_id);
    ShownFlag {
        step: step.map(|step| step.title.clone()),
        text: match (flag.kind, &flag.key) {
            (FlagKind::Step, _) => words.flag_step.to_owned(),
            (FlagKind::Check, Some(check)) => labels::label(request.language, check),
            (FlagKind::External, _) if flag.message == FAILED => words.flag_failed.to_owned(),
            (FlagKind::Answer | FlagKind::Check | FlagKind::External, _) => flag.message.clone(),
        },
    }
}

struct ShownProgress {
    state: (&'static str, &'static str),
    message: Option<String>,
    amount: Option<String>,
}

struct ShownFile {
    name: String,
    about: String,
    url: String,
}

#[derive(Template)]
#[template(path = "submission.html")]
struct SubmissionPage<'v> {
    frame: ConsoleFrame<'v>,
    one: Arc<ReviewedSubmission>,
    status: (&'static str, &'static str),
    /// A sentence about the steps that the guest can change again. `None` if there are none.
    opened: Option<String>,
    arrival: String,
    submitted: Option<FormattedTime>,
    decided: Option<FormattedTime>,
    decided_by: Option<String>,
    stay: String,
    steps: Vec<ShownStep>,
    flags: Vec<ShownFlag>,
    /// The path to which the form that approves the submission is sent. `None` if the submission
    /// does not wait for a decision, or if the member may not decide.
    approve: Option<String>,
    /// The address to which a request for changes is sent. Staff can request changes until
    /// check-in, even after they have approved the submission.
    ask: Option<String>,
    message: String,
    problem: Option<FailureProblem>,
    is_kept: bool,
    key: String,
    charges: Option<StayCharges>,
    changed: Option<LatestChanges>,
}

/// The reason why a decision was refused: a sentence of the console, and the messages of the
/// operation.
struct FailureProblem {
    text: &'static str,
    messages: Vec<String>,
}

impl FailureProblem {
    fn of(request: &ConsoleRequest, refusal: &ConsoleRefusal, status: PrecheckinStatus) -> Self {
        let words = request.texts;
        let text = match refusal.status {
            400 => words.submissions.is_wrong,
            404 => words.submissions.step_gone,
            409 if status == PrecheckinStatus::Approved => words.submissions.has_arrived,
            409 => words.submissions.not_in_review,
            429 => words.frame.too_many_text,
            403 => words.frame.not_allowed_text,
            _ => words.frame.unavailable_text,
        };
        Self {
            text,
            messages: refusal.sentences(request),
        }
    }
}

fn shown_step(
    request: &ConsoleRequest,
    (step, answers): (&ReviewedStep, &Value),
    ticked: &BTreeSet<&str>,
    waivers: &HashMap<String, String>,
) -> ShownStep {
    let words = &request.texts.submissions;
    let (given, is_truncated) = answers::answer_lines(request, answers, waivers);
    let progress = |progress: &ReviewedProgress| ShownProgress {
        state: progress_status(words, progress.status),
        message: progress.message.clone(),
        amount: progress
            .amount_cents
            .and_then(|cents| i64::try_from(cents).ok())
            .map(|cents| request.dates().money(cents, progress.currency.as_deref())),
    };
    let file = |AddressedFile { file, url }: &AddressedFile| ShownFile {
        name: file.name.clone(),
        about: [
            file.document_type
                .as_deref()
                .map(|kind| answers::document_label(request, kind)),
            Some(file.content_type.clone()),
            Some(request.dates().size(file.size)),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" · "),
        url: url.clone(),
    };
    let id = step.id.to_string();
    ShownStep {
        title: step.title.clone(),
        state: step_state(words, step.state),
        is_shown: step.is_shown,
        is_open: step.is_open,
        is_elsewhere: step.step_type.is_carried_out_elsewhere() && step.progress.is_none(),
        progress: step.progress.as_ref().map(progress),
        answers: given,
        is_truncated,
        acceptance: step.acceptance.as_ref().map(|accepted| {
            let text = accepted
                .language
                .as_deref()
                .zip(accepted.text_sha256.as_deref());
            let about = text.map(|(language, hash)| {
                let values = [("language", own_name(language)), ("hash", hash)];
                fill(words.accepted_text, &values)
            });
            ShownAcceptance {
                when: time_format::of(request, accepted.accepted_at),
                about,
                signed_name: accepted.signed_name.clone(),
                text: accepted.text.clone(),
                is_outdated: !accepted.is_current,
            }
        }),
        files: step.files.iter().flatten().map(file).collect(),
        is_ticked: ticked.contains(id.as_str()),
        id,
    }
}

/// Shows a submission. If a decision was refused, the page contains the typed values and the reason
/// for the refusal.
async fn page(
    request: &ConsoleRequest,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    let words = &request.texts.submissions;
    let one = read(request, request.path_id("id")?).await?;
    let item = &one.item;
    let ticked: BTreeSet<&str> = request
        .fields
        .iter()
        .filter(|(name, _)| name == "step")
        .map(|(_, value)| value.as_str())
        .collect();
    let answers: Vec<Value> = one
        .steps
        .iter()
        .map(|step| serde_json::to_value(&step.answers).unwrap_or_default())
        .collect();
    let waivers = answers::waivers(request, answers.iter()).await;
    let path = format!("/submissions/{}", item.reservation_id);
    let is_kept = !request.fields.is_empty() && !request.may_write();
    // If the member has typed a decision, the page shows the form of the decision even if another
    // member has decided since.
    let is_typed = refused.is_some() || is_kept;
    let may_decide = request.may(APPROVE) && request.may(REQUEST);
    let is_approved_ahead = item.status == PrecheckinStatus::Approved && {
        let zone = flats::zone(request, item.property_id).await;
        let today = request.service.clock.now().to_zoned(zone).date();
        item.check_in >= today
    };
    let is_waiting = item.status == PrecheckinStatus::InReview || is_typed;
    let guest = item
        .guest_name
        .clone()
        .unwrap_or_else(|| words.unknown_guest.to_owned());
    let page = SubmissionPage {
        frame: ConsoleFrame::new(request, guest).with_parent(
            request,
            words.submissions,
            SCREEN.path,
        ),
        status: precheckin_status(words, item.status),
        opened: opened(request, item),
        arrival: time_format::date(request, item.check_in),
        submitted: time_format::of_any(request, item.submitted_at),
        decided: time_format::of_any(request, item.decided_at),
        decided_by: item
            .decided_by
            .as_ref()
            .map(|name| fill(words.decided_by, &[("name", name)])),
        stay: request.address(&format!("/stays/{}", item.reservation_id)),
        steps: one
            .steps
            .iter()
            .zip(&answers)
            .map(|step| shown_step(request, step, &ticked, &waivers))
            .collect(),
        flags: one
            .flags
            .iter()
            .map(|flag| shown_flag(request, flag, &one.steps))
            .collect(),
        approve: (may_decide && is_waiting && !is_approved_ahead)
            .then(|| request.address(&format!("{path}/approve"))),
        ask: (may_decide && (is_waiting || is_approved_ahead))
            .then(|| request.address(&format!("{path}/changes"))),
        message: request.form_value("message").unwrap_or_default().to_owned(),
        problem: refused
            .as_ref()
            .map(|refusal| FailureProblem::of(request, refusal, item.status)),
        is_kept,
        key: request.new_key(),
        charges: StayCharges::of(request, item.reservation_id).await,
        changed: LatestChanges::of(request, item.reservation_id).await,
        one,
    };
    Ok(reply::page_of_template(
        request,
        refused.map_or(200, |refusal| refusal.status),
        &page,
    ))
}

fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(page(request, None))
}

/// Sends a decision to the operation. If the operation accepts it, redirects to the submission.
/// Otherwise shows the form again with the error.
async fn decide(
    request: &ConsoleRequest,
    operation: &str,
    arguments: Value,
) -> Result<Response, ConsoleRefusal> {
    let id = request.path_id("id")?;
    if !request.may_write() {
        return page(request, None).await;
    }
    match request
        .create::<Value>(operation, arguments, &request.key(operation))
        .await
    {
        Ok(_) => Ok(reply::redirect_with_confirmation(
            request,
            &format!("/submissions/{id}"),
            CompletedAction::Saved,
        )),
        Err(refusal) if refusal.status == 401 => Err(refusal),
        // If the submission does not exist, `page` responds with 404.
        Err(refusal) => page(request, Some(refusal)).await,
    }
}

fn approve(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move { decide(request, APPROVE, json!({ "id": request.path_id("id")? })).await })
}

fn request_changes(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let steps: Vec<&str> = request
            .fields
            .iter()
            .filter(|(name, _)| name == "step")
            .map(|(_, value)| value.as_str())
            .collect();
        let message = request.form_value("message").unwrap_or_default();
        decide(
            request,
            REQUEST,
            json!({ "id": request.path_id("id")?, "stepIds": steps, "message": message }),
        )
        .await
    })
}
