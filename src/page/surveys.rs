//! The page where a guest answers a survey about the stay.

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

use super::fault::Faults;
use super::fields::{Choice, Field, Input};
use super::form;
use super::frame::Frame;
use super::notice::{self, Missing};
use super::posted::{Rejection, checked};
use super::routes::read_form;
use super::sheet::{Entry, Sheet};
use super::shown::Shown;
use super::step::Refused;
use super::summary::Summary;
use super::visit::Visit;
use super::{reply, sending};
use crate::records::SurveyKind;
use crate::words::Words;

/// Maximum number of characters in a text.
const TEXT_LENGTH: usize = 6000;
/// The fields of a survey's texts.
const TEXTS: [&str; 2] = ["publicText", "privateReview"];

type Server = State<Arc<Service>>;

/// Shows the form of a survey, or a thank-you once it was sent.
pub async fn get(
    kind: SurveyKind,
    State(service): Server,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut visit, _) = Visit::of(service, params, request);
    let mut response = match visit.look().await {
        Ok(shown) => {
            let is_sent = visit.asks("sent").is_some();
            page(&shown, kind, is_sent)
        }
        Err(refusal) => visit.instead(&refusal),
    };
    note(&mut response, "getReviewRequestPage", visit.requester);
    response
}

fn page(shown: &Shown, kind: SurveyKind, is_sent: bool) -> Response {
    if is_sent || is_open(shown, kind) {
        reply::page_of_stay(shown, 200, render(shown, kind, is_sent, None))
    } else {
        reply::page_of_stay(shown, 404, notice::missing(shown, Missing::Manual))
    }
}

/// Sends the answer of a survey.
pub async fn post(
    kind: SurveyKind,
    State(service): Server,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut visit, body) = Visit::of(service, params, request);
    let mut response = give(&mut visit, kind, body).await;
    note(&mut response, "giveReviewPage", visit.requester);
    response
}

async fn give(visit: &mut Visit, kind: SurveyKind, body: Body) -> Response {
    let shown = match visit.look().await {
        Ok(shown) => shown,
        Err(refusal) => return visit.instead(&refusal),
    };
    let fields = read_form(&visit.headers, body).await;
    let filled = checked(&shown, fields.as_ref(), |fields| form::survey(kind, fields));
    let rejection = match filled {
        Ok(input) => {
            let body = Body::from(Value::Object(input).to_string());
            let answer = visit
                .ask::<Value>("giveReview", &[], Vec::new(), HeaderMap::new(), body)
                .await;
            match answer {
                Ok(_) => return reply::redirect(&shown.links.survey_sent(kind)),
                // It was given just now, by the same form.
                Err(refusal) if refusal.status == 409 => {
                    return reply::redirect(&shown.links.survey_sent(kind));
                }
                Err(refusal) if refusal.status == 403 => {
                    return reply::page(
                        403,
                        notice::missing(&shown, Missing::Manual),
                        shown.language,
                    );
                }
                Err(refusal) => {
                    let faults = Faults::found(&refusal, None);
                    let said = faults.0.is_empty().then(|| sending::said(&refusal, &shown));
                    Rejection {
                        status: refusal.status,
                        faults,
                        said,
                        retry_after: refusal.retry_after,
                    }
                }
            }
        }
        Err(rejection) => rejection,
    };
    rejection.response(&shown, fields, |refused| {
        render(&shown, kind, false, Some(refused))
    })
}

/// Returns whether a survey can be answered.
fn is_open(shown: &Shown, kind: SurveyKind) -> bool {
    shown.view.review_requests.contains(&kind)
}

/// Returns the question that a survey asks.
#[must_use]
pub const fn question(words: &Words, kind: SurveyKind) -> &'static str {
    match kind {
        SurveyKind::Checkin => words.offer.review_checkin,
        SurveyKind::Checkout => words.offer.review_checkout,
    }
}

fn render(
    shown: &Shown,
    kind: SurveyKind,
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
    let sent = |name: &str| {
        typed
            .as_ref()
            .and_then(|typed| form::sent(typed, name))
            .unwrap_or_default()
    };
    let choices = |name: &str| -> Vec<Choice<'static>> {
        let chosen = sent(name);
        let choice = |rating: u8| Choice {
            languages: None,
            id: format!("{name}-{rating}"),
            value: rating.to_string(),
            label: rating.to_string().into(),
            notes: Vec::new(),
            is_chosen: chosen == rating.to_string(),
        };
        (1..=5).map(choice).collect()
    };
    let field = |name: &'static str, label, hint: Option<&'static str>, is_required, input| Field {
        languages: None,
        id: name.into(),
        name: name.into(),
        label,
        hint: hint.map(Cow::Borrowed),
        error: faults.said_of(name, words),
        is_required,
        is_marked: true,
        input,
    };
    let survey = &words.survey;
    let overall = field(
        form::OVERALL,
        survey.overall,
        Some(survey.rating_hint),
        true,
        Input::One(choices(form::OVERALL)),
    );
    let labels = [
        survey.cleanliness,
        survey.communication,
        survey.location,
        survey.accuracy,
        survey.value,
        survey.checkin,
    ];
    let categories = form::CATEGORIES
        .into_iter()
        .zip(labels)
        .map(|(name, label)| field(name, label, None, false, Input::Pick(choices(name))));
    let texts = TEXTS
        .into_iter()
        .zip([survey.public_text, survey.private_text])
        .map(|(name, label)| {
            let value = Cow::Owned(sent(name).to_owned());
            let input = Input::Text {
                value,
                most: TEXT_LENGTH,
            };
            field(name, label, None, false, input)
        });
    let fields: Vec<Field<'_>> = [overall]
        .into_iter()
        .chain(categories)
        .chain(texts)
        .collect();
    let title = question(words, kind);
    Sheet {
        summary: Summary::of(fields.iter(), None, faults, *said, words),
        frame: Frame::of(shown, Some(title)),
        title,
        notice: is_sent.then_some(survey.sent),
        action: (!is_sent && !shown.is_preview).then(|| shown.links.survey(kind)),
        closed: None,
        key: None,
        entries: vec![Entry::of(fields)],
        hint: None,
        buttons: vec![(None, words.common.send)],
        past_title: "",
        past: Vec::new(),
    }
    .html()
}
