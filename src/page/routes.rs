//! The page of a stay at `/stay/…`: its forms are the operations of the guest interface, asked for as any other caller would.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::RawPathParams;
use axum::extract::{Request as HttpRequest, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use engine::error::{Error, Kind};
use engine::format;
use engine::pipeline::{self, Payload, Request, Requester, Service};
use engine::surface::{PathParams, not_found, note, query, readable, refuse, request_for, request_id};
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use super::form::{self, Fields, Form, Refused, Visit};
use super::render::{render, render_busy, render_missing};
use crate::guest::{GuestView, is_reached};

/// How long a browser may take to send a form.
const FORM_DEADLINE: Duration = Duration::from_secs(30);

/// The page of a stay has no script and loads nothing but pictures; its forms go to where it came from.
const PAGE_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src http: https:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The routes of the page.
pub(super) fn routes(service: &Arc<Service>) -> Router {
    Router::new()
        .route("/stay/{token}", get(stay_page))
        .route("/stay/{token}/steps/{stepId}", post(step_form))
        .route("/stay/{token}/submit", post(|state, params, request| stay_form(Form::Submit, state, params, request)))
        .route("/stay/{token}/messages", post(|state, params, request| stay_form(Form::Message, state, params, request)))
        .with_state(service.clone())
}

/// The guest view as a page: the same operation, rendered.
async fn stay_page(State(service): State<Arc<Service>>, params: PathParams, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let id = request_id(&parts);
    let Some(params) = readable(params) else { return refuse(&Error::not_found("Route"), id) };
    let path = page_path(&service, parameter(&params, "token"));
    let request = request_for(id, &params, parts, body);
    let visit = Visit::of(&request.query);
    let (requester, viewed) = ask::<GuestView>(&service, "getStay", request).await;
    let mut response = match viewed {
        Ok(view) => page(200, render(&view, &path, &visit, None), id),
        Err(refusal) => missing_page(&refusal, visit.language.as_deref(), id),
    };
    note(&mut response, "getStayPage", requester);
    response
}

/// The form of a step.
async fn step_form(state: State<Arc<Service>>, params: PathParams, request: HttpRequest) -> Response {
    let named = params.as_ref().ok().map(|params| parameter(params, "stepId")).filter(|text| format::is_uuid(text));
    match named.and_then(|text| text.parse::<Uuid>().ok()) {
        Some(step) => stay_form(Form::Step(step), state, params, request).await,
        None => not_found(request).await,
    }
}

/// A form of the page: the operation it stands for, as any other caller would ask for it, and then the page again. The view
/// comes first, since it says who may and what kind of step the fields belong to; only then is a body looked at.
async fn stay_form(form: Form, State(service): State<Arc<Service>>, params: PathParams, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let id = request_id(&parts);
    let Some(params) = readable(params) else { return refuse(&Error::not_found("Route"), id) };
    let token = parameter(&params, "token").to_owned();
    let path = page_path(&service, &token);
    // Of the address a form goes by the language only: another moment is for looking at.
    let visit = Visit { language: Visit::of(&query(&parts)).language, ..Visit::default() };
    let asked = visit.language.iter().map(|language| ("language".to_owned(), language.clone())).collect();
    let looking = page_request(id, &token, None, asked, Body::empty());
    let (requester, viewed) = ask::<GuestView>(&service, "getStay", looking).await;
    let mut response = match viewed {
        Err(refusal) => missing_page(&refusal, visit.language.as_deref(), id),
        Ok(view) => {
            let fields = read_form(&parts.headers, body).await;
            match send_form(&service, id, &token, form, &view, fields.as_deref()).await {
                Ok(answer) => {
                    let (place, note) = form::after(form, &view.precheckin.steps, answer);
                    redirect(&form::landing(&path, visit.language.as_deref(), place, note), id)
                }
                Err(Refusal { status, is_full, retry_after, .. }) => {
                    let refused = Refused { form, status, is_full, fields: fields.unwrap_or_default() };
                    retriable(page(status, render(&view, &path, &visit, Some(&refused)), id), retry_after)
                }
            }
        }
    };
    let operation = match form {
        Form::Step(_) => "saveStepAnswersPage",
        Form::Submit => "submitPrecheckinPage",
        Form::Message => "sendGuestMessagePage",
    };
    note(&mut response, operation, requester);
    response
}

/// What the operation behind a form answers, or why it, or the form, was refused.
async fn send_form(
    service: &Arc<Service>,
    id: Uuid,
    token: &str,
    form: Form,
    view: &GuestView,
    fields: Option<&[(String, String)]>,
) -> Result<Value, Refusal> {
    if view.preview.is_some() {
        return Err(Refusal::of(&Error::forbidden("The forms of a preview do nothing.")));
    }
    let fields = fields.ok_or_else(|| Refusal::of(&Kind::Validation.into()))?;
    let input = form::input(form, &view.precheckin.steps, fields).map_err(|error| Refusal::of(&error))?;
    let step = if let Form::Step(step) = form { Some(step) } else { None };
    let request = page_request(id, token, step, Vec::new(), Body::from(input.to_string()));
    ask(service, form.operation(), request).await.1
}

/// The fields of a form; nothing where the body is none, is too large or does not arrive.
async fn read_form(headers: &HeaderMap, body: Body) -> Option<Fields> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (types.next(), types.next()) else { return None };
    let kind = kind.to_str().ok()?.split(';').next()?.trim();
    if headers.contains_key(CONTENT_ENCODING) || !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return None;
    }
    let collected = tokio::time::timeout(FORM_DEADLINE, Limited::new(body, form::BODY_LIMIT).collect()).await;
    Some(form::parse(&collected.ok()?.ok()?.to_bytes()))
}

/// A refusal, as far as the page makes use of it.
struct Refusal {
    status: u16,
    message: String,
    /// Whether the stay holds as much as it may.
    is_full: bool,
    /// Whole seconds to wait before trying again.
    retry_after: Option<u64>,
}

impl Refusal {
    fn of(error: &Error) -> Self {
        Self { status: error.kind().status(), message: error.to_string(), is_full: false, retry_after: error.retry_after() }
    }
}

/// What an operation answers the page, and whom.
async fn ask<T: DeserializeOwned>(service: &Arc<Service>, operation: &str, request: Request) -> (Option<Requester>, Result<T, Refusal>) {
    let broken = || Refusal::of(&Kind::Internal.into());
    let Some(operation) = service.app.operation(operation) else { return (None, Err(broken())) };
    let outcome = pipeline::handle(service, operation, request).await;
    let mut envelope: Value = serde_json::from_str(&outcome.body.into_text()).unwrap_or_default();
    let answer = if outcome.status >= 400 {
        let error = &envelope["error"];
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        let is_full = error["details"]["key"].as_str().is_some_and(is_reached);
        Err(Refusal { status: outcome.status, message, is_full, retry_after: outcome.retry_after })
    } else {
        serde_json::from_value(envelope["data"].take()).map_err(|_| broken())
    };
    (outcome.requester, answer)
}

/// A request of the page's own. It has no headers: what the browser sent is for the page, and the token is the credential.
fn page_request(id: Uuid, token: &str, step: Option<Uuid>, query: Vec<(String, String)>, body: Body) -> Request {
    let step = step.map(|step| ("stepId".to_owned(), step.to_string()));
    let path = [("token".to_owned(), token.to_owned())].into_iter().chain(step).collect();
    Request { id, path, query, headers: HeaderMap::new(), payload: Payload::Body(body) }
}

/// A parameter of the path.
fn parameter<'p>(params: &'p RawPathParams, wanted: &str) -> &'p str {
    params.iter().find(|(name, _)| *name == wanted).map_or("", |(_, value)| value)
}

/// Where a browser finds the page of a stay, below whatever the proxy in front puts before the path.
fn page_path(service: &Service, token: &str) -> String {
    let prefix = url::Url::parse(&service.kit.public_url).map(|url| url.path().trim_end_matches('/').to_owned());
    format!("{}/stay/{token}", prefix.unwrap_or_default())
}

fn missing_page(refusal: &Refusal, language: Option<&str>, id: Uuid) -> Response {
    let is_busy = refusal.status == Kind::RateLimit.status();
    let html = if is_busy { render_busy(language) } else { render_missing(&refusal.message) };
    retriable(page(refusal.status, html, id), refusal.retry_after)
}

/// An answer that says when to try again, where there is something to say.
fn retriable(mut response: Response, retry_after: Option<u64>) -> Response {
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// A page, and what keeps it and its address to the guest.
fn page(status: u16, html: engine::error::Result<String>, id: Uuid) -> Response {
    let Ok(html) = html else { return refuse(&Error::internal("a page did not render"), id) };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY)),
    ];
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, headers, html).into_response()
}

/// To the page, by GET: going back or loading it again sends no form twice.
fn redirect(address: &str, id: Uuid) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else { return refuse(&Error::internal("an address is no header"), id) };
    let headers = [
        (LOCATION, location),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}
