//! The page where a guest reports an issue with the flat.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::error::Result;
use engine::pipeline::Service;
use features::guest::{GuestIssue, LIST_OWN_ISSUES};
use features::records::TaskStatus;
use features::words::fill;
use http::HeaderMap;
use serde_json::Value;
use vestibule_http::browser::first_value;
use vestibule_http::surface::{PathParams, attach_operation};

use super::fault::Faults;
use super::fields::{FieldInput, PageField};
use super::form;
use super::form_check::{Rejection, check_form};
use super::form_page::{EarlierSubmission, FormEntry, FormPage};
use super::frame::PageFrame;
use super::operation_calls::PageRefusal;
use super::page_stay::PageStay;
use super::request::PageRequest;
use super::routes::read_form;
use super::step::RefusedForm;
use super::summary::Summary;
use super::{reply, sending};

/// Maximum number of characters in an issue.
const TEXT_LENGTH: usize = 6000;

type IssuesService = State<Arc<Service>>;

/// Handles GET: shows the form and the guest's earlier issues.
pub async fn get(
    State(service): IssuesService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut request, _) = PageRequest::of(service, params, request);
    let mut response = match request.load_stay().await {
        Ok(page_stay) => {
            let is_sent = request.query_parameter("sent").is_some();
            let issues = reported(&mut request).await;
            let html = render(&page_stay, &issues, is_sent, None);
            reply::page_of_stay(&page_stay, 200, html)
        }
        Err(refusal) => request.error_page(&refusal),
    };
    attach_operation(&mut response, "getIssuesPage", request.requester);
    response
}

/// Handles POST: reports an issue. The form has an idempotency key, so a form that is sent twice
/// reports one issue.
pub async fn post(
    State(service): IssuesService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut request, body) = PageRequest::of(service, params, request);
    let mut response = report(&mut request, body).await;
    attach_operation(&mut response, "reportIssuePage", request.requester);
    response
}

async fn report(request: &mut PageRequest, body: Body) -> Response {
    let page_stay = match request.load_stay().await {
        Ok(page_stay) => page_stay,
        Err(refusal) => return request.error_page(&refusal),
    };
    let fields = read_form(&request.headers, body).await;
    let filled = check_form(&page_stay, fields.as_ref(), form::issue);
    let rejection = match filled {
        Ok(input) => {
            let body = Body::from(Value::Object(input).to_string());
            let answer = request
                .send("reportIssue", &[], HeaderMap::new(), body)
                .await;
            match answer {
                Ok(()) => return reply::redirect(&page_stay.links.issue_sent()),
                Err(refusal) => refused(&page_stay, &refusal),
            }
        }
        Err(rejection) => rejection,
    };
    let issues = reported(request).await;
    rejection.response(&page_stay, fields, |refused| {
        render(&page_stay, &issues, false, Some(refused))
    })
}

fn refused(page_stay: &PageStay, refusal: &PageRefusal) -> Rejection {
    let words = &page_stay.texts;
    let faults = Faults::of_refusal(refusal, None);
    let (faults, text) = match refusal.status {
        _ if refusal.is_full => (Faults::default(), Some(words.ticket.full)),
        403 => (Faults::default(), Some(words.ticket.off)),
        400 if !faults.0.is_empty() => (faults, None),
        _ => (Faults::default(), Some(sending::text(refusal, page_stay))),
    };
    Rejection {
        status: refusal.status,
        faults,
        text,
        retry_after: refusal.retry_after,
    }
}

/// Returns the guest's earlier issues. Returns an empty list if they cannot be read, so that the
/// guest can still report an issue.
async fn reported(request: &mut PageRequest) -> Arc<Vec<GuestIssue>> {
    request
        .call(LIST_OWN_ISSUES, &[], Body::empty())
        .await
        .unwrap_or_default()
}

fn render(
    page_stay: &PageStay,
    issues: &[GuestIssue],
    is_sent: bool,
    refused: Option<&RefusedForm>,
) -> Result<String> {
    let words = page_stay.texts;
    let none = RefusedForm::default();
    let RefusedForm {
        typed,
        faults,
        text,
    } = refused.unwrap_or(&none);
    let sent = |name| typed.as_ref().and_then(|typed| first_value(typed, name));
    let fields = vec![PageField {
        languages: None,
        id: "text".into(),
        name: "text".into(),
        label: words.ticket.description,
        hint: Some(words.ticket.description_hint.into()),
        error: faults.message_of("text", words),
        is_required: true,
        is_marked: true,
        input: FieldInput::Text {
            value: Cow::Borrowed(sent("text").unwrap_or_default()),
            most: TEXT_LENGTH,
        },
    }];
    let is_open = page_stay.accepts_issues();
    FormPage {
        summary: Summary::of(fields.iter(), None, faults, *text, words),
        frame: PageFrame::of(page_stay, Some(words.ticket.title)),
        title: words.ticket.title,
        notice: is_sent.then_some(words.ticket.sent),
        action: (is_open && !page_stay.is_preview).then(|| page_stay.links.issue()),
        closed: (!is_open).then_some(words.ticket.off),
        key: Some(
            sent("key")
                .and_then(|key| key.parse().ok())
                .unwrap_or(page_stay.key),
        ),
        entries: vec![FormEntry::of(fields)],
        hint: None,
        buttons: vec![(None, words.common.send)],
        past_title: words.ticket.yours,
        past: issues
            .iter()
            .rev()
            .map(|issue| past(page_stay, issue))
            .collect(),
    }
    .html()
}

fn past<'i>(page_stay: &PageStay, issue: &'i GuestIssue) -> EarlierSubmission<'i> {
    let words = page_stay.texts;
    EarlierSubmission {
        text: &issue.text,
        sent: fill(
            words.messages.sent_at,
            &[("moment", &page_stay.timestamp_text(issue.created_at))],
        ),
        state: match issue.status {
            Some(TaskStatus::InProgress) => Some(words.ticket.begun),
            Some(TaskStatus::Completed) => Some(words.ticket.done),
            Some(TaskStatus::Open | TaskStatus::Cancelled) | None => None,
        },
    }
}
