//! Handles the forms that a guest sends. A handler calls the operation that the form is for. The
//! response then redirects the browser to the next page, or shows the form again with its faults.
//!
//! A handler reads the guest view before the body of the request. The view decides whether the form
//! may be sent, and which fields the step has.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::pipeline::Service;
use features::guest::{SAVE_STEP_ANSWERS, STAY_OVER, StepView, TEXT_CHANGED};
use features::precheck::AnswerForm;
use features::words::Words;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_http::surface::{PathParams, attach_operation};

use super::fault::{FaultKind, Faults};
use super::form::{self, FormFields};
use super::missing_page::{self, MissingThing};
use super::operation_calls::PageRefusal;
use super::page_stay::PageStay;
use super::request::PageRequest;
use super::routes::{read_form, written};
use super::step::{RefusedForm, StepOptions, next_address};
use super::{additional_faults, messages, reply, review, step as step_page};

type SendingService = State<Arc<Service>>;

/// The response to a sent form, with the request in which the form arrived.
struct FormAnswer {
    request: PageRequest,
    response: Response,
}

impl FormAnswer {
    fn noted(mut self, operation: &'static str) -> Response {
        attach_operation(&mut self.response, operation, self.request.requester);
        self.response
    }
}

/// Handles the form of a step.
pub async fn step(
    State(service): SendingService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (request, body) = PageRequest::of(service, params, request);
    save(request, body).await.noted("saveStepAnswersPage")
}

async fn save(mut request: PageRequest, body: Body) -> FormAnswer {
    let page_stay = match request.load_stay().await {
        Ok(page_stay) => page_stay,
        Err(refusal) => return instead(request, &refusal),
    };
    let Some(step) = request.path_id("stepId").and_then(|id| page_stay.step(id)) else {
        return no_step(request, &page_stay);
    };
    let fields = read_form(&request.headers, body).await;
    if page_stay.is_preview {
        return of_step(
            request,
            &page_stay,
            step,
            403,
            fields,
            Faults::default(),
            Some(page_stay.texts.preview.forms),
        );
    }
    let filled = match fields.as_ref().map(|fields| {
        (
            fields,
            form::parse_step(step, page_stay.view.reservation.check_in, fields),
        )
    }) {
        Some((fields, Ok(filled))) => {
            let faults = if filled.guests.is_none() {
                additional_faults::of_unrequired(step, fields, &page_stay)
            } else {
                Vec::new()
            };
            Some(Faults(faults).into_result(filled))
        }
        Some((_, refused)) => Some(refused),
        None => None,
    };
    let filled = match filled {
        Some(Ok(filled)) => filled,
        Some(Err(mut faults)) => {
            faults.add_missing(
                fields
                    .iter()
                    .flat_map(|fields| additional_faults::of_values(step, fields, &page_stay)),
            );
            return of_step(request, &page_stay, step, 400, fields, faults, None);
        }
        None => {
            return of_step(
                request,
                &page_stay,
                step,
                400,
                None,
                Faults::default(),
                Some(page_stay.texts.errors.not_saved),
            );
        }
    };
    let is_change = match step.step_type.answer_form() {
        AnswerForm::Questions | AnswerForm::OtherGuests => true,
        AnswerForm::Confirmation
        | AnswerForm::LeadGuest
        | AnswerForm::Agreement
        | AnswerForm::Consent
        | AnswerForm::DepositChoice => false,
    };
    let id = step.id;
    let body = json!({
        "answers": filled.answers,
        "language": page_stay.tag,
        "isChange": is_change,
        "shownTextSha256": filled.shown_text,
    });
    let body = Body::from(body.to_string());
    let answer = request
        .call(SAVE_STEP_ANSWERS, &[("stepId", step.id)], body)
        .await;
    match answer {
        Ok(saved) => {
            let address = match filled.guests {
                Some(guests) => page_stay.links.step_with_guests(step.id, guests),
                None => after_saving(&page_stay, step, &saved),
            };
            FormAnswer {
                request,
                response: reply::redirect(&address),
            }
        }
        Err(refusal) if refusal.key.as_deref() == Some(TEXT_CHANGED) => {
            text_changed(request, page_stay, id, &refusal, fields).await
        }
        Err(refusal) => {
            let mut faults =
                Faults::of_refusal(&refusal, Some(step)).at_form_positions(&filled.positions);
            if !faults.0.is_empty() {
                faults.add_missing(
                    fields
                        .iter()
                        .flat_map(|fields| additional_faults::of_questions(step, fields)),
                );
            }
            let text = (faults.0.is_empty() || refusal.is_full).then(|| text(&refusal, &page_stay));
            let mut sent = of_step(
                request,
                &page_stay,
                step,
                refusal.status,
                fields,
                faults,
                text,
            );
            sent.response = reply::retriable(sent.response, refusal.retry_after);
            sent
        }
    }
}

/// Shows the form of an agreement again, because the text of the agreement has changed since the
/// guest opened the form. The checkbox is not ticked.
async fn text_changed(
    mut request: PageRequest,
    page_stay: PageStay,
    step: Uuid,
    refusal: &PageRefusal,
    fields: Option<FormFields>,
) -> FormAnswer {
    let page_stay = request.load_stay().await.unwrap_or(page_stay);
    let Some(step) = page_stay.step(step) else {
        return no_step(request, &page_stay);
    };
    let typed = fields.map(|mut fields| {
        fields.retain(|(name, _)| name != "isAccepted");
        fields
    });
    let text = Some(text(refusal, &page_stay));
    of_step(
        request,
        &page_stay,
        step,
        refusal.status,
        typed,
        Faults::default(),
        text,
    )
}

/// Returns the path of the page that the browser opens after a step was saved. If the saved step is
/// incomplete or has new questions, this is the page of the same step. Otherwise it is the page of
/// the next incomplete step. If every step is complete, it is the review page.
fn after_saving(page_stay: &PageStay, step: &StepView, saved: &StepView) -> String {
    let mut asked = saved.questions.iter().flatten();
    let asks_anew = asked.any(|question| {
        let mut before = step.questions.iter().flatten();
        !before.any(|before| before.id == question.id)
    });
    if asks_anew {
        page_stay.links.step(step.id)
    } else if !saved.state.is_ready() {
        page_stay.links.step_with_missing_marked(step.id)
    } else {
        next_address(page_stay, step)
    }
}

/// Submits the pre-check-in. If it has already been submitted, the guest is redirected to the same
/// page as after the first submission.
pub async fn submit(
    State(service): SendingService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (request, body) = PageRequest::of(service, params, request);
    hand_in(request, body).await.noted("submitPrecheckinPage")
}

async fn hand_in(mut request: PageRequest, body: Body) -> FormAnswer {
    let page_stay = match request.load_stay().await {
        Ok(page_stay) => page_stay,
        Err(refusal) => return instead(request, &refusal),
    };
    let of_review =
        |request: PageRequest, page_stay: &PageStay, status: u16, text: &'static str| {
            let response = reply::page(
                status,
                review::render(page_stay, Some(text)),
                page_stay.language,
            );
            FormAnswer { request, response }
        };
    let fields = read_form(&request.headers, body).await;
    if page_stay.is_preview {
        return of_review(request, &page_stay, 403, page_stay.texts.preview.forms);
    }
    if fields.is_none_or(|fields| form::parse_empty(&fields).is_err()) {
        return of_review(request, &page_stay, 400, page_stay.texts.errors.not_saved);
    }
    let answer = request
        .send("submitPrecheckin", &[], HeaderMap::new(), Body::empty())
        .await;
    let Err(refusal) = answer else {
        let response = reply::redirect(&page_stay.links.home_submitted());
        return FormAnswer { request, response };
    };
    // The operation returns 409, for example, if the guest has already submitted the pre-check-in
    // on another device. So the stay is read again.
    let page_stay = if refusal.status == 409 {
        request.load_stay().await.unwrap_or(page_stay)
    } else {
        page_stay
    };
    let is_submitted = page_stay.view.precheckin.status.is_submitted() && !page_stay.is_reopened();
    if refusal.status == 409 && is_submitted && refusal.key.is_none() {
        let response = reply::redirect(&page_stay.links.home());
        return FormAnswer { request, response };
    }
    let text = text(&refusal, &page_stay);
    let mut sent = of_review(request, &page_stay, refusal.status, text);
    sent.response = reply::retriable(sent.response, refusal.retry_after);
    sent
}

/// Sends a message to the host. The form has an idempotency key, so a form that is sent twice sends
/// one message.
pub async fn message(
    State(service): SendingService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (request, body) = PageRequest::of(service, params, request);
    write(request, body).await.noted("sendGuestMessagePage")
}

async fn write(mut request: PageRequest, body: Body) -> FormAnswer {
    let page_stay = match request.load_stay().await {
        Ok(page_stay) => page_stay,
        Err(refusal) => return instead(request, &refusal),
    };
    let fields = read_form(&request.headers, body).await;
    let input = match fields.as_deref().map(form::message) {
        _ if page_stay.is_preview => Err((
            403,
            Faults::default(),
            Some(page_stay.texts.preview.forms),
            None,
        )),
        Some(Ok(input)) => Ok(Value::Object(input)),
        Some(Err(faults)) => Err((400, faults, None, None)),
        None => Err((
            400,
            Faults::default(),
            Some(page_stay.texts.errors.message),
            None,
        )),
    };
    let answer = match input {
        Ok(input) => {
            let body = Body::from(input.to_string());
            let answer = request
                .send("sendGuestMessage", &[], HeaderMap::new(), body)
                .await;
            answer.map_err(|refusal: PageRefusal| {
                let faults = Faults::of_refusal(&refusal, None);
                let text = match refusal.status {
                    _ if refusal.is_full => Some(page_stay.texts.errors.message_full),
                    403 => Some(page_stay.texts.errors.chat_off),
                    400 if !faults.0.is_empty() => None,
                    400 => Some(page_stay.texts.errors.message),
                    _ => Some(text(&refusal, &page_stay)),
                };
                (
                    refusal.status,
                    if refusal.is_full {
                        Faults::default()
                    } else {
                        faults
                    },
                    text,
                    refusal.retry_after,
                )
            })
        }
        Err(refused) => Err(refused),
    };
    let response = match answer {
        Ok(()) => reply::redirect(&page_stay.links.messages()),
        Err((status, faults, text, retry_after)) => {
            let messages = written(&mut request).await;
            let refused = RefusedForm {
                typed: fields,
                faults,
                text,
            };
            let html = messages::render(&page_stay, &messages, Some(&refused));
            reply::retriable(reply::page(status, html, page_stay.language), retry_after)
        }
    };
    FormAnswer { request, response }
}

/// Adds a file to a step. Streams the body to the operation while it arrives.
pub async fn file(
    State(service): SendingService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (request, body) = PageRequest::of(service, params, request);
    hand_over(request, body, "addStepFile")
        .await
        .noted("addStepFilePage")
}

/// Handles the button that removes an uploaded file from a step.
pub async fn remove_file(
    State(service): SendingService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (request, _) = PageRequest::of(service, params, request);
    hand_over(request, Body::empty(), "removeStepFile")
        .await
        .noted("removeStepFilePage")
}

async fn hand_over(mut request: PageRequest, body: Body, operation: &'static str) -> FormAnswer {
    let page_stay = match request.load_stay().await {
        Ok(page_stay) => page_stay,
        Err(refusal) => return instead(request, &refusal),
    };
    let Some(step) = request
        .path_id("stepId")
        .and_then(|id| page_stay.step(id))
        .filter(|_| request.has_valid_ids())
    else {
        return no_step(request, &page_stay);
    };
    if page_stay.is_preview {
        return of_step(
            request,
            &page_stay,
            step,
            403,
            None,
            Faults::default(),
            Some(page_stay.texts.preview.forms),
        );
    }
    let path: Vec<(&str, Uuid)> = [
        ("stepId", Some(step.id)),
        ("fileId", request.path_id("fileId")),
    ]
    .into_iter()
    .filter_map(|(name, id)| Some((name, id?)))
    .collect();
    let mut headers = HeaderMap::new();
    for name in [CONTENT_TYPE, CONTENT_LENGTH] {
        for value in request.headers.get_all(&name) {
            headers.append(name.clone(), value.clone());
        }
    }
    match request.send(operation, &path, headers, body).await {
        Ok(()) => {
            let response = reply::redirect(&page_stay.links.step(step.id));
            FormAnswer { request, response }
        }
        // The file has already been removed. The guest sees the same page as after a removal.
        Err(refusal) if refusal.status == 404 && operation == "removeStepFile" => {
            let response = reply::redirect(&page_stay.links.step(step.id));
            FormAnswer { request, response }
        }
        Err(refusal) => {
            let mut faults = Faults::of_refusal(&refusal, Some(step));
            if refusal.status == 400 && faults.0.is_empty() {
                faults.add("file", FaultKind::Invalid);
            }
            let text = match refusal.status {
                503 => Some(page_stay.texts.errors.uploads_off),
                _ => faults.0.is_empty().then(|| text(&refusal, &page_stay)),
            };
            let mut sent = of_step(
                request,
                &page_stay,
                step,
                refusal.status,
                None,
                faults,
                text,
            );
            sent.response = reply::retriable(sent.response, refusal.retry_after);
            sent
        }
    }
}

/// Responds with the page of a step. The page contains the refused form.
fn of_step(
    request: PageRequest,
    page_stay: &PageStay,
    step: &StepView,
    status: u16,
    typed: Option<FormFields>,
    faults: Faults,
    text: Option<&'static str>,
) -> FormAnswer {
    let refused = RefusedForm {
        typed,
        faults,
        text,
    };
    let response = reply::page(
        status,
        step_page::render(page_stay, step, StepOptions::default(), Some(&refused)),
        page_stay.language,
    );
    FormAnswer { request, response }
}

fn instead(request: PageRequest, refusal: &PageRefusal) -> FormAnswer {
    let response = request.error_page(refusal);
    FormAnswer { request, response }
}

fn no_step(request: PageRequest, page_stay: &PageStay) -> FormAnswer {
    let response = reply::page(
        404,
        missing_page::missing(page_stay, MissingThing::Step),
        page_stay.language,
    );
    FormAnswer { request, response }
}

/// Returns the text that explains a refusal to the guest. The page does not show the refusal's own
/// message, which is in English and meant for developers.
pub(super) fn text(refusal: &PageRefusal, page_stay: &PageStay) -> &'static str {
    let words: &'static Words = page_stay.texts;
    let errors = &words.errors;
    match refusal.status {
        400 if refusal.is_full => errors.full,
        400 => errors.not_saved,
        403 => errors.precheckin_off,
        404 => errors.step_gone,
        409 if refusal.key.as_deref() == Some(STAY_OVER) => errors.stay_over,
        409 if refusal.key.as_deref() == Some(TEXT_CHANGED) => words.agreement.text_changed,
        409 if page_stay.view.precheckin.status.is_submitted() && !page_stay.is_reopened() => {
            errors.already_submitted
        }
        409 => errors.not_ready,
        429 => words.pages.busy,
        _ => errors.retry,
    }
}
