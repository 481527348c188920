//! HTTP: every operation as a route, and what stands around all of them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request as HttpRequest, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get, on, post};
use futures_util::FutureExt as _;
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, LOCATION, REFERRER_POLICY,
    RETRY_AFTER,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};
use tower_http::cors::CorsLayer;
use uuid::Uuid;

use super::answers::{self, Wishes};
use super::observe::{self, Metrics, Served};
use super::reading::Reading;
use super::{docs, files, openapi, tools};
use crate::error::{Error, Kind};
use crate::format;
use crate::guest::form::{self, Fields, Form, Refused, Visit};
use crate::guest::{self, GuestView};
use crate::operation::{Operation, Surface};
use crate::pipeline::{self, Outcome, Payload, Request, Requester, Standing, error_body};
use crate::service::Service;

/// Answers at least this large are compressed, for clients that accept it.
const COMPRESS_FROM: u64 = 1_024;

/// How long a browser may take to send a form.
const FORM_DEADLINE: Duration = Duration::from_secs(30);

/// The page of a stay has no script and loads nothing but pictures; its forms go to where it came from.
const PAGE_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src http: https:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Headers of the interface (spec: Response envelope).
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const X_RATELIMIT_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_RATELIMIT_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RATELIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The request's id, given at the door.
#[derive(Clone, Copy)]
pub(crate) struct RequestId(pub Uuid);

/// Everything that answers on the port.
pub fn router(service: &Arc<Service>, metrics: Metrics, origins: &[String]) -> Result<Router, String> {
    let mut routes = Router::new();
    for operation in crate::operations() {
        let path = format!("{}{}", operation.surface.base(), operation.path);
        routes = routes.route(&path, on(filter(&operation.method), move |state, params, request| serve(operation, state, params, request)));
    }
    let compression = CompressionLayer::new()
        .gzip(true)
        .br(true)
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(COMPRESS_FROM).and(NotForContentType::SSE));
    let routes = routes
        .route("/stay/{token}", get(stay_page))
        .route("/stay/{token}/steps/{stepId}", post(step_form))
        .route("/stay/{token}/submit", post(|state, params, request| stay_form(Form::Submit, state, params, request)))
        .route("/stay/{token}/messages", post(|state, params, request| stay_form(Form::Message, state, params, request)))
        .with_state(service.clone())
        .merge(tools::router(service.clone(), origins))
        .merge(files::router(service.clone()))
        .layer(middleware::from_fn_with_state(service.clone(), counted));
    // What is small or shared by all, and what one asks of a server that is in trouble, is not counted.
    let beside = Router::new()
        .route("/api/v1/openapi.json", get(openapi_document))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(move |State(service): State<Arc<Service>>| async move { metrics.render(&service).await }))
        .with_state(service.clone())
        .merge(docs::router());
    let routes = routes.merge(beside).fallback(not_found).method_not_allowed_fallback(not_found).layer(compression);
    // Without an origin to let in, a preflight is a method that is no route, like any other.
    let routes = if origins.is_empty() { routes } else { routes.layer(cors(origins)?) };
    Ok(routes.layer(middleware::from_fn_with_state(service.clone(), door)))
}

fn cors(origins: &[String]) -> Result<CorsLayer, String> {
    let origins = origins.iter().map(|origin| HeaderValue::from_str(origin).map_err(|error| error.to_string()));
    let exposed = [X_REQUEST_ID, X_RATELIMIT_LIMIT, X_RATELIMIT_REMAINING, X_RATELIMIT_RESET, IDEMPOTENCY_REPLAYED, RETRY_AFTER, ETAG];
    Ok(CorsLayer::new()
        .allow_origin(origins.collect::<Result<Vec<_>, _>>()?)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE, HeaderName::from_static("idempotency-key")])
        .expose_headers(exposed))
}

fn filter(method: &Method) -> MethodFilter {
    MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET)
}

/// Gives every request an id, turns a panic into a logged 500, and writes the request down.
async fn door(State(service): State<Arc<Service>>, mut request: HttpRequest, next: Next) -> Response {
    let id = service.kit.ids.uuid(service.clock.now());
    let started = service.clock.elapsed();
    let method = request.method().clone();
    request.extensions_mut().insert(RequestId(id));
    let is_persistent = matches!(request.version(), Version::HTTP_10 | Version::HTTP_11);
    let (request, reading) = Reading::watch(request);
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|panic| {
        let reason = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        tracing::error!(request_id = %id, reason = reason.unwrap_or("unknown"), "panicked");
        refuse(&Kind::Internal.into(), id)
    });
    if let Ok(value) = HeaderValue::from_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer())) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    answers::name_coding(response.headers_mut());
    if is_persistent && !reading.is_over() {
        // What is left of the body is not waited for, so the connection ends here; a client that knows opens another.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let took = service.clock.elapsed().saturating_sub(started);
    let operation = response.extensions().get::<Served>().map_or("-", |served| served.0);
    let requester = response.extensions().get::<Requester>().copied();
    observe::request(operation, requester, &method, response.status(), took, id);
    response
}

/// Says how large an answer is, and whose, of what waits to be sent.
async fn counted(State(service): State<Arc<Service>>, request: HttpRequest, next: Next) -> Response {
    let mut response = next.run(request).await;
    let share = response.extensions().get::<Requester>().and_then(|requester| requester.organization);
    let held = service.unsent.hold(share, response.body().size_hint().lower());
    response.extensions_mut().insert(held);
    response
}

/// Parameters of a path, or that they are not UTF-8.
type PathParams = Result<RawPathParams, RawPathParamsRejection>;

/// The parameters, where they could name anything: what is not text, or has U+0000 in it, does not.
fn readable(params: PathParams) -> Option<RawPathParams> {
    params.ok().filter(|params| params.iter().all(|(_, value)| !value.contains('\0')))
}

/// A request for an operation, through the pipeline and back.
async fn serve(operation: &'static Operation, State(service): State<Arc<Service>>, params: PathParams, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let id = request_id(&parts);
    let Some(params) = readable(params) else { return refuse(&Error::not_found("Route"), id) };
    let wishes = Wishes::of(&parts.headers);
    let request = request_for(id, &params, parts, body);
    let outcome = pipeline::handle(&service, operation, request).await;
    let requester = outcome.requester;
    let mut response = respond(outcome, operation.surface, &wishes);
    note(&mut response, operation.id, requester);
    response
}

/// Notes on a response what the log and the measurements say of it.
pub(super) fn note(response: &mut Response, operation: &'static str, requester: Option<Requester>) {
    let extensions = response.extensions_mut();
    extensions.insert(Served(operation));
    if let Some(requester) = requester {
        extensions.insert(requester);
    }
}

fn request_id(parts: &Parts) -> Uuid {
    parts.extensions.get::<RequestId>().map_or(Uuid::nil(), |id| id.0)
}

fn request_for(id: Uuid, params: &RawPathParams, parts: Parts, body: Body) -> Request {
    let path = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Request { id, path, query: query(&parts), headers: parts.headers, payload: Payload::Body(body) }
}

fn query(parts: &Parts) -> Vec<(String, String)> {
    let query = parts.uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn respond(outcome: Outcome, surface: Surface, wishes: &Wishes) -> Response {
    let mut response = match outcome.etag {
        Some(etag) => answers::of_state(outcome.body, etag, wishes),
        None => json(outcome.status, outcome.body.into_text()),
    };
    let headers = response.headers_mut();
    if let Some(standing) = outcome.standing {
        tell(standing, headers);
    }
    if let Some(seconds) = outcome.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if outcome.is_replay {
        headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    if surface != Surface::Public {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Says how a caller stands with its limit.
pub(super) fn tell(standing: Standing, headers: &mut HeaderMap) {
    headers.insert(X_RATELIMIT_LIMIT, standing.limit.into());
    headers.insert(X_RATELIMIT_REMAINING, standing.remaining.into());
    headers.insert(X_RATELIMIT_RESET, standing.reset.into());
    if let Some(seconds) = standing.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
}

pub(super) fn json(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

/// An error in the envelope.
pub(crate) fn refuse(error: &Error, id: Uuid) -> Response {
    let mut response = json(error.kind().status(), error_body(error, id));
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Every path and every method that is no route.
async fn not_found(request: HttpRequest) -> Response {
    let id = request.extensions().get::<RequestId>().map_or(Uuid::nil(), |id| id.0);
    refuse(&Error::not_found("Route"), id)
}

async fn openapi_document(headers: HeaderMap) -> Response {
    answers::of_packed(openapi::packed(), openapi::etag(), &headers).await
}

/// Whether the database answers, and all background work goes on.
async fn ready(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let answered = tokio::time::timeout(Duration::from_secs(5), service.store.read(|_| Ok::<_, store::Error>(()))).await;
    let down = service.background.down();
    let error = match answered {
        Ok(Ok(())) if down.is_empty() => return "ready\n".into_response(),
        Ok(Ok(())) => Error::new(Kind::Unavailable, format!("Background work is down: {}.", down.join(", "))),
        _ => Error::new(Kind::Unavailable, "The database does not answer."),
    };
    let (parts, _) = request.into_parts();
    refuse(&error, request_id(&parts))
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
        Ok(view) => page(200, guest::render(&view, &path, &visit, None), id),
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
                    retriable(page(status, guest::render(&view, &path, &visit, Some(&refused)), id), retry_after)
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
    let Some(operation) = crate::operations().iter().find(|known| known.id == operation) else { return (None, Err(broken())) };
    let outcome = pipeline::handle(service, operation, request).await;
    let mut envelope: Value = serde_json::from_str(&outcome.body.into_text()).unwrap_or_default();
    let answer = if outcome.status >= 400 {
        let error = &envelope["error"];
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        let is_full = error["details"]["key"].as_str().is_some_and(guest::is_reached);
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
    let html = if is_busy { guest::render_busy(language) } else { guest::render_missing(&refusal.message) };
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
fn page(status: u16, html: crate::error::Result<String>, id: Uuid) -> Response {
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
