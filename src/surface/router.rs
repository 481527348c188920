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
use axum::routing::{MethodFilter, get, on};
use futures_util::FutureExt as _;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};
use tower_http::cors::CorsLayer;
use uuid::Uuid;

use super::observe::{self, Metrics, Served};
use super::{docs, openapi, tools};
use crate::error::{Error, Kind};
use crate::guest::{self, GuestView};
use crate::operation::{Operation, Surface};
use crate::pipeline::{self, Outcome, Payload, Request, error_body};
use crate::service::Service;

/// Answers at least this large are compressed, for clients that accept it.
const COMPRESS_FROM: u64 = 1_024;

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
        .route("/api/v1/openapi.json", get(openapi_document))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(move |State(service): State<Arc<Service>>| async move { metrics.render(&service) }))
        .with_state(service.clone())
        .merge(docs::router())
        .merge(tools::router(service.clone()))
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
        .layer(compression);
    // Without an origin to let in, a preflight is a method that is no route, like any other.
    let routes = if origins.is_empty() { routes } else { routes.layer(cors(origins)?) };
    Ok(routes.layer(middleware::from_fn_with_state(service.clone(), door)))
}

fn cors(origins: &[String]) -> Result<CorsLayer, String> {
    let origins = origins.iter().map(|origin| HeaderValue::from_str(origin).map_err(|error| error.to_string()));
    let exposed =
        ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "idempotency-replayed", "retry-after"];
    Ok(CorsLayer::new()
        .allow_origin(origins.collect::<Result<Vec<_>, _>>()?)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE, HeaderName::from_static("idempotency-key")])
        .expose_headers(exposed.map(HeaderName::from_static)))
}

fn filter(method: &Method) -> MethodFilter {
    MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET)
}

/// Gives every request an id, turns a panic into a logged 500, and writes the request down.
async fn door(State(service): State<Arc<Service>>, mut request: HttpRequest, next: Next) -> Response {
    let id = service.ids.uuid(service.clock.now());
    let started = service.clock.elapsed();
    let method = request.method().clone();
    request.extensions_mut().insert(RequestId(id));
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|panic| {
        let reason = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        tracing::error!(request_id = %id, reason = reason.unwrap_or("unknown"), "panicked");
        refuse(&Kind::Internal.into(), id)
    });
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert("x-request-id", value);
    }
    let took = service.clock.elapsed().saturating_sub(started);
    let operation = response.extensions().get::<Served>().map_or("-", |served| served.0);
    observe::request(operation, &method, response.status(), took, id);
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
    let request = request_for(id, &params, parts, body);
    let outcome = pipeline::handle(&service, operation, request).await;
    let mut response = respond(outcome, operation.surface);
    response.extensions_mut().insert(Served(operation.id));
    response
}

fn request_id(parts: &Parts) -> Uuid {
    parts.extensions.get::<RequestId>().map_or(Uuid::nil(), |id| id.0)
}

fn request_for(id: Uuid, params: &RawPathParams, parts: Parts, body: Body) -> Request {
    let path = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let query = parts.uri.query().unwrap_or_default();
    let query = form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    Request { id, path, query, headers: parts.headers, payload: Payload::Body(body) }
}

fn respond(outcome: Outcome, surface: Surface) -> Response {
    let mut response = json(outcome.status, outcome.body);
    let headers = response.headers_mut();
    if let Some(standing) = outcome.standing {
        headers.insert("x-ratelimit-limit", standing.limit.into());
        headers.insert("x-ratelimit-remaining", standing.remaining.into());
        headers.insert("x-ratelimit-reset", standing.reset.into());
    }
    if let Some(seconds) = outcome.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if outcome.is_replay {
        headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
    if surface != Surface::Public {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

fn json(status: u16, body: String) -> Response {
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

async fn openapi_document() -> Response {
    json(200, openapi::json())
}

/// Whether the database answers.
async fn ready(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let answered = tokio::time::timeout(Duration::from_secs(5), service.store.read(|_| Ok::<_, store::Error>(()))).await;
    if matches!(answered, Ok(Ok(()))) {
        return "ready\n".into_response();
    }
    let (parts, _) = request.into_parts();
    refuse(&Kind::Unavailable.into(), request_id(&parts))
}

/// The guest view as a page: the same operation, rendered.
async fn stay_page(State(service): State<Arc<Service>>, params: PathParams, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let id = request_id(&parts);
    let Some(params) = readable(params) else { return refuse(&Error::not_found("Route"), id) };
    let Some(operation) = crate::operations().iter().find(|operation| operation.id == "getStay") else {
        return refuse(&Error::internal("no guest view"), id);
    };
    let request = request_for(id, &params, parts, body);
    let asked = request.query.iter().find(|(name, _)| name == "language").map(|(_, value)| value.clone());
    let outcome = pipeline::handle(&service, operation, request).await;
    let mut envelope: serde_json::Value = serde_json::from_str(&outcome.body).unwrap_or_default();
    let view = serde_json::from_value::<GuestView>(envelope["data"].take());
    let page = match view {
        Ok(view) => guest::render(&view, asked.as_deref()),
        Err(_) => guest::render_missing(envelope["error"]["message"].as_str().unwrap_or_default()),
    };
    let Ok(page) = page else { return refuse(&Error::internal("a page did not render"), id) };
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; img-src http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
    ];
    let status = StatusCode::from_u16(outcome.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, headers, page).into_response();
    response.extensions_mut().insert(Served("getStayPage"));
    response
}
