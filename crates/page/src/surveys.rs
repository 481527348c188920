//! The page where a guest answers a survey about the stay.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::error::Result;
use engine::pipeline::Service;
use features::records::SurveyKind;
use features::words::Words;
use http::HeaderMap;
use serde_json::Value;
use vestibule_http::browser::first_value;
use vestibule_http::surface::{PathParams, attach_operation};

use super::fault::Faults;
use super::fields::{FieldChoice, FieldInput, PageField};
use super::form;
use super::form_check::{Rejection, check_form};
use super::form_page::{FormEntry, FormPage};
use super::frame::PageFrame;
use super::missing_page::{self, MissingThing};
use super::page_stay::PageStay;
use super::request::PageRequest;
use super::routes::read_form;
use super::step::RefusedForm;
use super::summary::Summary;
use super::{reply, sending};

/// Maximum number of characters in one text of a survey.
const TEXT_LENGTH: usize = 6000;
/// The fields of a survey that contain texts.
const TEXTS: [&str; 2] = ["publicText", "privateReview"];

type SurveysService = State<Arc<Service>>;

/// Handles GET: shows the form of a survey. After the guest has answered the survey, the page
/// thanks the guest instead.
pub async fn get(
    kind: SurveyKind,
    State(service): SurveysService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut request, _) = PageRequest::of(service, params, request);
    let mut response = match request.load_stay().await {
        Ok(page_stay) => {
            let is_sent = request.query_parameter("sent").is_some();
            page(&page_stay, kind, is_sent)
        }
        Err(refusal) => request.error_page(&refusal),
    };
    attach_operation(&mut response, "getReviewRequestPage", request.requester);
    response
}

fn page(page_stay: &PageStay, kind: SurveyKind, is_sent: bool) -> Response {
    if is_sent || is_open(page_stay, kind) {
        reply::page_of_stay(page_stay, 200, render(page_stay, kind, is_sent, None))
    } else {
        reply::page_of_stay(
            page_stay,
            404,
            missing_page::missing(page_stay, MissingThing::Manual),
        )
    }
}

/// Handles POST: saves the answer to a survey.
pub async fn post(
    kind: SurveyKind,
    State(service): SurveysService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut request, body) = PageRequest::of(service, params, request);
    let mut response = give(&mut request, kind, body).await;
    attach_operation(&mut response, "giveReviewPage", request.requester);
    response
}

async fn give(request: &mut PageRequest, kind: SurveyKind, body: Body) -> Response {
    let page_stay = match request.load_stay().await {
        Ok(page_stay) => page_stay,
        Err(refusal) => return request.error_page(&refusal),
    };
    let fields = read_form(&request.headers, body).await;
    let filled = check_form(&page_stay, fields.as_ref(), |fields| {
        form::survey(kind, fields)
    });
    let rejection = match filled {
        Ok(input) => {
            let body = Body::from(Value::Object(input).to_string());
            let answer = request
                .send("giveReview", &[], HeaderMap::new(), body)
                .await;
            match answer {
                Ok(()) => return reply::redirect(&page_stay.links.survey_sent(kind)),
                // The guest has already answered this survey, for example by sending this form
                // twice.
                Err(refusal) if refusal.status == 409 => {
                    return reply::redirect(&page_stay.links.survey_sent(kind));
                }
                Err(refusal) if refusal.status == 403 => {
                    return reply::page(
                        403,
                        missing_page::missing(&page_stay, MissingThing::Manual),
                        page_stay.language,
                    );
                }
                Err(refusal) => {
                    let faults = Faults::of_refusal(&refusal, None);
                    let text = faults
                        .0
                        .is_empty()
                        .then(|| sending::text(&refusal, &page_stay));
                    Rejection {
                        status: refusal.status,
                        faults,
                        text,
                        retry_after: refusal.retry_after,
                    }
                }
            }
        }
        Err(rejection) => rejection,
    };
    rejection.response(&page_stay, fields, |refused| {
        render(&page_stay, kind, false, Some(refused))
    })
}

/// Returns whether the guest can answer a survey now.
fn is_open(page_stay: &PageStay, kind: SurveyKind) -> bool {
    page_stay.view.review_requests.contains(&kind)
}

/// Returns the question of a survey.
#[must_use]
pub const fn question(words: &Words, kind: SurveyKind) -> &'static str {
    match kind {
        SurveyKind::Checkin => words.offer.review_checkin,
        SurveyKind::Checkout => words.offer.review_checkout,
    }
}

fn render(
    page_stay: &PageStay,
    kind: SurveyKind,
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
    let sent = |name: &str| {
        typed
            .as_ref()
            .and_then(|typed| first_value(typed, name))
            .unwrap_or_default()
    };
    let choices = |name: &str| -> Vec<FieldChoice<'static>> {
        let chosen = sent(name);
        let choice = |rating: u8| FieldChoice {
            languages: None,
            id: format!("{name}-{rating}"),
            value: rating.to_string(),
            label: rating.to_string().into(),
            notes: Vec::new(),
            is_chosen: chosen == rating.to_string(),
        };
        (1..=5).map(choice).collect()
    };
    let field =
        |name: &'static str, label, hint: Option<&'static str>, is_required, input| PageField {
            languages: None,
            id: name.into(),
            name: name.into(),
            label,
            hint: hint.map(Cow::Borrowed),
            error: faults.message_of(name, words),
            is_required,
            is_marked: true,
            input,
        };
    let survey = &words.survey;
    let overall = field(
        form::OVERALL_RATING_FIELD,
        survey.overall,
        Some(survey.rating_hint),
        true,
        FieldInput::Radio(choices(form::OVERALL_RATING_FIELD)),
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
        .map(|(name, label)| field(name, label, None, false, FieldInput::Select(choices(name))));
    let texts = TEXTS
        .into_iter()
        .zip([survey.public_text, survey.private_text])
        .map(|(name, label)| {
            let value = Cow::Owned(sent(name).to_owned());
            let input = FieldInput::Text {
                value,
                most: TEXT_LENGTH,
            };
            field(name, label, None, false, input)
        });
    let fields: Vec<PageField<'_>> = [overall]
        .into_iter()
        .chain(categories)
        .chain(texts)
        .collect();
    let title = question(words, kind);
    FormPage {
        summary: Summary::of(fields.iter(), None, faults, *text, words),
        frame: PageFrame::of(page_stay, Some(title)),
        title,
        notice: is_sent.then_some(survey.sent),
        action: (!is_sent && !page_stay.is_preview).then(|| page_stay.links.survey(kind)),
        closed: None,
        key: None,
        entries: vec![FormEntry::of(fields)],
        hint: None,
        buttons: vec![(None, words.common.send)],
        past_title: "",
        past: Vec::new(),
    }
    .html()
}
