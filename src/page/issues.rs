//! The page where a guest reports an issue of the flat.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::error::Result;
use engine::pipeline::Service;
use engine::surface::{PathParams, note};
use http::HeaderMap;
use serde_json::Value;

use super::asking::Refusal;
use super::fault::Faults;
use super::fields::{Field, Input};
use super::form;
use super::frame::Frame;
use super::posted::{Rejection, checked};
use super::routes::read_form;
use super::sheet::{Entry, Past, Sheet};
use super::shown::Shown;
use super::step::Refused;
use super::summary::Summary;
use super::visit::Visit;
use super::{reply, sending};
use crate::guest::GuestIssue;
use crate::records::TaskStatus;
use crate::words::fill;

/// Maximum number of characters in an issue.
const TEXT_LENGTH: usize = 6000;

type Server = State<Arc<Service>>;

/// Shows the form and the issues that were reported before.
pub async fn get(State(service): Server, params: PathParams, request: HttpRequest) -> Response {
    let (mut visit, _) = Visit::of(service, params, request);
    let mut response = match visit.look().await {
        Ok(shown) => {
            let is_sent = visit.asks("sent").is_some();
            let issues = reported(&mut visit).await;
            let html = render(&shown, &issues, is_sent, None);
            reply::page_of_stay(&shown, 200, html)
        }
        Err(refusal) => visit.instead(&refusal),
    };
    note(&mut response, "getIssuesPage", visit.requester);
    response
}

/// Reports an issue. A form that is sent twice reports one.
pub async fn post(State(service): Server, params: PathParams, request: HttpRequest) -> Response {
    let (mut visit, body) = Visit::of(service, params, request);
    let mut response = report(&mut visit, body).await;
    note(&mut response, "reportIssuePage", visit.requester);
    response
}

async fn report(visit: &mut Visit, body: Body) -> Response {
    let shown = match visit.look().await {
        Ok(shown) => shown,
        Err(refusal) => return visit.instead(&refusal),
    };
    let fields = read_form(&visit.headers, body).await;
    let filled = checked(&shown, fields.as_ref(), form::issue);
    let rejection = match filled {
        Ok(input) => {
            let body = Body::from(Value::Object(input).to_string());
            let answer = visit
                .ask::<Value>("reportIssue", &[], Vec::new(), HeaderMap::new(), body)
                .await;
            match answer {
                Ok(_) => return reply::redirect(&shown.links.issue_sent()),
                Err(refusal) => refused(&shown, &refusal),
            }
        }
        Err(rejection) => rejection,
    };
    let issues = reported(visit).await;
    rejection.response(&shown, fields, |refused| {
        render(&shown, &issues, false, Some(refused))
    })
}

fn refused(shown: &Shown, refusal: &Refusal) -> Rejection {
    let words = &shown.words;
    let faults = Faults::found(refusal, None);
    let (faults, said) = match refusal.status {
        _ if refusal.is_full => (Faults::default(), Some(words.ticket.full)),
        403 => (Faults::default(), Some(words.ticket.off)),
        400 if !faults.0.is_empty() => (faults, None),
        _ => (Faults::default(), Some(sending::said(refusal, shown))),
    };
    Rejection {
        status: refusal.status,
        faults,
        said,
        retry_after: refusal.retry_after,
    }
}

/// Returns the guest's issues. Returns none where they cannot be read, so that the guest can still
/// report one.
async fn reported(visit: &mut Visit) -> Vec<GuestIssue> {
    visit
        .ask(
            "listOwnIssues",
            &[],
            Vec::new(),
            HeaderMap::new(),
            Body::empty(),
        )
        .await
        .unwrap_or_default()
}

fn render(
    shown: &Shown,
    issues: &[GuestIssue],
    is_sent: bool,
    refused: Option<&Refused>,
) -> Result<String> {
    let words = shown.words;
    let none = Refused::default();
    let Refused {
        typed,
        faults,
        said,
    } = refused.unwrap_or(&none);
    let sent = |name| typed.as_ref().and_then(|typed| form::sent(typed, name));
    let fields = vec![Field {
        languages: None,
        id: "text".into(),
        name: "text".into(),
        label: words.ticket.description,
        hint: Some(words.ticket.description_hint.into()),
        error: faults.said_of("text", words),
        is_required: true,
        is_marked: true,
        input: Input::Text {
            value: Cow::Borrowed(sent("text").unwrap_or_default()),
            most: TEXT_LENGTH,
        },
    }];
    let is_open = shown.takes_issues();
    Sheet {
        summary: Summary::of(fields.iter(), None, faults, *said, words),
        frame: Frame::of(shown, Some(words.ticket.title)),
        title: words.ticket.title,
        notice: is_sent.then_some(words.ticket.sent),
        action: (is_open && !shown.is_preview).then(|| shown.links.issue()),
        closed: (!is_open).then_some(words.ticket.off),
        key: Some(
            sent("key")
                .and_then(|key| key.parse().ok())
                .unwrap_or(shown.key),
        ),
        entries: vec![Entry::of(fields)],
        hint: None,
        buttons: vec![(None, words.common.send)],
        past_title: words.ticket.yours,
        past: issues
            .iter()
            .rev()
            .map(|issue| past(shown, issue))
            .collect(),
    }
    .html()
}

fn past<'i>(shown: &Shown, issue: &'i GuestIssue) -> Past<'i> {
    let words = shown.words;
    Past {
        text: &issue.text,
        sent: fill(
            words.messages.sent_at,
            &[("moment", &shown.moment(issue.created_at))],
        ),
        standing: match issue.status {
            Some(TaskStatus::InProgress) => Some(words.ticket.begun),
            Some(TaskStatus::Completed) => Some(words.ticket.done),
            Some(TaskStatus::Open | TaskStatus::Cancelled) | None => None,
        },
    }
}
