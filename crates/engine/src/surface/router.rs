//! HTTP: every operation as a route, and what stands around all of them.

use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request as HttpRequest, State};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get, on};
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, ETAG, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use strum::VariantArray as _;
use tower_http::cors::CorsLayer;
use uuid::Uuid;

use super::answers::{self, Wishes};
use super::interface::{Beside, Interface};
use super::observe::{Metrics, Served};
use super::openapi::{self, Document};
use super::{docs, tools};
use crate::access::Resource;
use crate::error::{Error, Kind};
use crate::operation::{Operation, Surface};
use crate::pipeline::{self, Outcome, Payload, Quota, Request, Requester, Service, error_body};

/// Headers of the interface (spec: Response envelope).
pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const X_RATELIMIT_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_RATELIMIT_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RATELIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The request's id, given as it comes in.
#[derive(Clone, Copy)]
pub struct RequestId(pub Uuid);

/// Who is at the other end of the connection: the address alone, of IPv6 the network of 64 bits. Headers that name another are not
/// looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Routes besides those of operations.
#[derive(Default)]
pub struct Others {
    /// Those that belong to the interface as the operations do.
    pub within: Vec<Router>,
    /// Those that browsers of every origin may ask, and that say so themselves.
    pub open: Vec<Router>,
}

/// Everything that answers on the port: the operations and what there is beside them, and other routes besides.
pub fn router(service: &Arc<Service>, metrics: Metrics, origins: &[String], others: Others) -> Result<Interface, String> {
    let app = service.app;
    let mut routes = Router::new();
    for operation in &app.operations {
        let path = format!("{}{}", operation.surface.base(), operation.path);
        let mut add = |path: &str| {
            let answer = on(filter(&operation.method), move |state, params, request| serve(operation, state, params, request));
            routes = std::mem::take(&mut routes).route(path, answer);
        };
        add(&path);
        if operation.surface == Surface::Guest {
            // A stay's link is a base that clients join the rest to, and what they join may be nothing.
            add(&format!("{path}/"));
        }
    }
    let routes = routes.with_state(service.clone()).merge(tools::router(service.clone(), origins));
    let routes = others.within.into_iter().fold(routes, Router::merge);
    let shared = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(move |State(service): State<Arc<Service>>| async move { metrics.render(&service).await }))
        .merge(documents(service))
        .with_state(service.clone())
        .merge(docs::router());
    let routes = routes.merge(noted(shared, Beside::Shared)).fallback(not_found).method_not_allowed_fallback(not_found);
    // Without an origin to let in, a preflight is a method that is no route, like any other.
    let routes = if origins.is_empty() { routes } else { routes.layer(cors(origins)?) };
    let open = others.open.into_iter().fold(Router::new(), Router::merge);
    Ok(Interface::new(routes.merge(noted(open, Beside::Open)), service.clone()))
}

/// Routes whose answers say where they stand.
fn noted(routes: Router, beside: Beside) -> Router {
    let note = move |mut response: Response| async move {
        response.extensions_mut().insert(beside);
        response
    };
    routes.layer(middleware::map_response(note))
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

/// Parameters of a path, or that they are not UTF-8.
pub type PathParams = Result<RawPathParams, RawPathParamsRejection>;

/// The parameters, where they could name anything: what is not text, or has U+0000 in it, does not.
#[must_use]
pub fn readable(params: PathParams) -> Option<RawPathParams> {
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
    if operation.surface == Surface::Public {
        response = challenged(response, Resource::Api, &service.kit.public_url);
    }
    note(&mut response, operation.id, requester);
    response
}

/// Notes on a response what the log and the measurements say of it.
pub fn note(response: &mut Response, operation: &'static str, requester: Option<Requester>) {
    let extensions = response.extensions_mut();
    extensions.insert(Served(operation));
    if let Some(requester) = requester {
        extensions.insert(requester);
    }
}

/// The id that a request was given as it came in.
#[must_use]
pub fn request_id(parts: &Parts) -> Uuid {
    parts.extensions.get::<RequestId>().map_or(Uuid::nil(), |id| id.0)
}

/// The request for an operation that an HTTP request is.
#[must_use]
pub fn request_for(id: Uuid, params: &RawPathParams, parts: Parts, body: Body) -> Request {
    let path = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Request { id, path, query: query(&parts), headers: parts.headers, payload: Payload::Body(body), caller: None }
}

/// The parameters of a query, in order.
#[must_use]
pub fn query(parts: &Parts) -> Vec<(String, String)> {
    let query = parts.uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn respond(outcome: Outcome, surface: Surface, wishes: &Wishes) -> Response {
    let mut response = match outcome.etag {
        Some(etag) => answers::of_state(outcome.body, etag, wishes),
        None => json(outcome.status, outcome.body.into_text()),
    };
    let headers = response.headers_mut();
    if let Some(quota) = outcome.quota {
        tell(quota, headers);
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
pub(super) fn tell(quota: Quota, headers: &mut HeaderMap) {
    headers.insert(X_RATELIMIT_LIMIT, quota.limit.into());
    headers.insert(X_RATELIMIT_REMAINING, quota.remaining.into());
    headers.insert(X_RATELIMIT_RESET, quota.reset.into());
    if let Some(seconds) = quota.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
}

pub(super) fn json(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

/// What is answered to a caller without a good token says where to get one.
pub(super) fn challenged(mut response: Response, resource: Resource, public_url: &str) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED
        && let Ok(challenge) = HeaderValue::try_from(resource.challenge(public_url))
    {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

/// An error in the envelope.
#[must_use]
pub fn refuse(error: &Error, id: Uuid) -> Response {
    let mut response = json(error.kind().status(), error_body(error, id));
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// The refusal of what is served under a name without being an operation, written down as an operation's is.
#[must_use]
pub fn refuse_as(operation: &str, error: &Error, id: Uuid) -> Response {
    pipeline::log_failure(error, operation, id);
    refuse(error, id)
}

/// Every path and every method that is no route.
pub async fn not_found(request: HttpRequest) -> Response {
    let id = request.extensions().get::<RequestId>().map_or(Uuid::nil(), |id| id.0);
    refuse(&Error::not_found("Route"), id)
}

/// A document for each interface, made when it is first asked for.
fn documents(service: &Arc<Service>) -> Router<Arc<Service>> {
    let route = |router: Router<Arc<Service>>, surface: &Surface| {
        let (app, surface, public_url) = (service.app, *surface, service.kit.public_url.clone());
        let document = Arc::new(LazyLock::new(move || Document::of(app, surface, &public_url)));
        let answer = move |headers: HeaderMap| async move { openapi_document(&document, headers).await };
        router.route(&format!("{}{}", surface.base(), openapi::PATH), get(answer))
    };
    Surface::VARIANTS.iter().fold(Router::new(), route)
}

async fn openapi_document(document: &Document, headers: HeaderMap) -> Response {
    answers::of_packed(&document.packed, document.etag.clone(), &headers).await
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
