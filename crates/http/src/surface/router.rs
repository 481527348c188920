//! Builds the HTTP router: a route for every operation, and the other routes of the port, such as
//! `/readyz`. Also reads the headers of requests and sets those of responses.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, RawQuery, Request as HttpRequest, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get, on};
use http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, ORIGIN, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use strum::VariantArray as _;
use tower_http::cors::CorsLayer;
use uuid::Uuid;

use super::answers::{self, ClientPreferences};
use super::docs;
use super::gate::{Gate, HostGate};
use super::interface::{Interface, RouteExemption};
use super::observe::{Metrics, ServedOperation};
use super::openapi::{self, Document};
use engine::access::Resource;
use engine::app::App;
use engine::error::{Error, ErrorKind};
use engine::nearest::nearest;
use engine::operation::{Operation, Surface};
use engine::pipeline::{
    self, Outcome, Payload, Quota, Receiving, Request, Requester, Service, error_body,
};

/// The names of the headers that this service defines (rules: errors#answers).
pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const X_RATELIMIT_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_RATELIMIT_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RATELIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Headers that a page of an allowed origin may send.
const ALLOWED_REQUEST_HEADERS: [HeaderName; 9] = [
    AUTHORIZATION,
    CONTENT_TYPE,
    ACCEPT,
    HeaderName::from_static("idempotency-key"),
    IF_NONE_MATCH,
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("mcp-protocol-version"),
    MCP_SESSION_ID,
    HeaderName::from_static("traceparent"),
];

/// Headers that a page of an allowed origin may read.
pub const EXPOSED_HEADERS: [HeaderName; 9] = [
    ETAG,
    WWW_AUTHENTICATE,
    X_REQUEST_ID,
    RETRY_AFTER,
    IDEMPOTENCY_REPLAYED,
    X_RATELIMIT_LIMIT,
    X_RATELIMIT_REMAINING,
    X_RATELIMIT_RESET,
    MCP_SESSION_ID,
];

/// The id of a request. It is assigned when the request arrives.
#[derive(Clone, Copy)]
pub struct RequestId(pub Uuid);

/// The network address by which a client is counted. For IPv4 this is the client's address, and for
/// IPv6 the first 64 bits of it. Behind a trusted proxy, the client's address is the one that the
/// proxy reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Routes other than those of operations.
#[derive(Default)]
pub struct OtherRoutes {
    /// Routes with the same processing as operations: CORS, limits and the 404 response.
    pub within: Vec<Router>,
    /// Routes for browsers of every origin. They set their CORS headers themselves.
    pub open: Vec<Router>,
    /// Decides how requests under hosts other than the public URL's are handled. Without a gate,
    /// they are handled like requests under the public URL's host.
    pub gate: Option<Gate>,
}

/// Builds the router for all requests to the server's port: operations, their documents, health
/// checks, and other routes.
pub fn router(
    service: &Arc<Service>,
    metrics: Metrics,
    origins: &[String],
    other_routes: OtherRoutes,
) -> Result<Interface, String> {
    let app = service.app;
    let mut routes = Router::new();
    for operation in &app.operations {
        let path = format!("{}{}", operation.surface.base(), operation.path);
        let mut add = |path: &str| {
            let handler = on(filter(&operation.method), move |state, params, request| {
                serve(operation, state, params, request)
            });
            routes = std::mem::take(&mut routes).route(path, handler);
        };
        add(&path);
        if operation.surface == Surface::Guest {
            // Some clients append an empty relative path to a stay's link, and then request the
            // path with a slash at its end.
            add(&format!("{path}/"));
        }
    }
    let routes = routes.with_state(service.clone());
    let routes = other_routes.within.into_iter().fold(routes, Router::merge);
    let shared = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route(
            "/metrics",
            get(move |State(service): State<Arc<Service>>| async move {
                metrics.render(&service).await
            }),
        )
        .merge(documents(service))
        .with_state(service.clone())
        .merge(docs::router());
    let routes = routes
        .merge(with_exemption(shared, RouteExemption::Shared))
        .fallback(move |request| async move { unknown_route(app, &request) })
        .method_not_allowed_fallback(
            move |request| async move { wrong_method(app, request).await },
        );
    // If no origin is allowed, a preflight request (OPTIONS) gets 404, like a request with any
    // other method that the path does not accept.
    let routes = if origins.is_empty() {
        routes
    } else {
        let allowed: Arc<[String]> = origins.into();
        let refuse_others = move |request: HttpRequest, next: Next| {
            let allowed = allowed.clone();
            async move { refuse_foreign_preflight(app, &allowed, request, next).await }
        };
        routes
            .layer(cors(origins)?)
            .layer(middleware::from_fn(refuse_others))
    };
    let open = other_routes
        .open
        .into_iter()
        .fold(Router::new(), Router::merge);
    Ok(Interface::new(
        routes.merge(with_exemption(open, RouteExemption::Open)),
        service.clone(),
        other_routes
            .gate
            .map(|gate| HostGate::new(gate, &service.app_state.public_url)),
    ))
}

/// Marks the responses of `routes` with `exemption`.
fn with_exemption(routes: Router, exemption: RouteExemption) -> Router {
    let mark = move |mut response: Response| async move {
        response.extensions_mut().insert(exemption);
        response
    };
    routes.layer(middleware::map_response(mark))
}

fn cors(origins: &[String]) -> Result<CorsLayer, String> {
    let origins = origins
        .iter()
        .map(|origin| HeaderValue::from_str(origin).map_err(|error| error.to_string()));
    Ok(CorsLayer::new()
        .allow_origin(origins.collect::<Result<Vec<_>, _>>()?)
        .allow_methods([
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ])
        .allow_headers(ALLOWED_REQUEST_HEADERS)
        .expose_headers(EXPOSED_HEADERS))
}

/// Returns 404 for OPTIONS requests from origins that are not allowed (rules: errors#requests, 12).
/// The CORS layer would respond to every OPTIONS request with 200.
async fn refuse_foreign_preflight(
    app: &App,
    allowed: &[String],
    request: HttpRequest,
    next: Next,
) -> Response {
    let is_allowed = request
        .headers()
        .get(ORIGIN)
        .is_some_and(|origin| allowed.iter().any(|allowed| origin == allowed.as_str()));
    if request.method() == Method::OPTIONS && !is_allowed {
        return unknown_route(app, &request);
    }
    next.run(request).await
}

fn filter(method: &Method) -> MethodFilter {
    MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET)
}

/// The parameters of a path, or an error if they are not UTF-8.
pub type PathParams = Result<RawPathParams, RawPathParamsRejection>;

/// Returns the parameters. Returns `None` if a parameter is not UTF-8 or contains U+0000, because
/// no id of an object contains such characters.
#[must_use]
pub fn readable(params: PathParams) -> Option<RawPathParams> {
    params
        .ok()
        .filter(|params| params.iter().all(|(_, value)| !value.contains('\0')))
}

/// Serves a request for an operation through the pipeline.
async fn serve(
    operation: &'static Operation,
    State(service): State<Arc<Service>>,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let id = request_id(&parts);
    let Some(params) = readable(params) else {
        return refuse(&Error::not_found("Route"), id);
    };
    let preferences = ClientPreferences::of(&parts.headers);
    let request = request_for(id, &params, parts, body);
    let outcome = pipeline::handle(&service, operation, request).await;
    let (requester, error) = (outcome.requester, outcome.error.clone());
    let mut response = respond(outcome, operation.surface, &preferences);
    if operation.surface == Surface::Public {
        response = with_challenge(
            response,
            Resource::Api,
            &service.app_state.public_url,
            error.as_ref(),
        );
    }
    attach_operation(&mut response, operation.id, requester);
    response
}

/// Adds the operation and the requester to a response, for the log and the metrics.
pub fn attach_operation(
    response: &mut Response,
    operation: &'static str,
    requester: Option<Requester>,
) {
    let extensions = response.extensions_mut();
    extensions.insert(ServedOperation(operation));
    if let Some(requester) = requester {
        extensions.insert(requester);
    }
}

#[must_use]
pub fn request_id(parts: &Parts) -> Uuid {
    parts
        .extensions
        .get::<RequestId>()
        .map_or(Uuid::nil(), |id| id.0)
}

/// Converts an HTTP request to a request for an operation.
#[must_use]
pub fn request_for(id: Uuid, params: &RawPathParams, parts: Parts, body: Body) -> Request {
    let path = params
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Request {
        id,
        path,
        query: query(&parts),
        headers: parts.headers,
        payload: Payload::Body(body, parts.extensions.get::<Receiving>().cloned()),
        caller: None,
    }
}

/// Returns the names and values of the query parameters of a request, decoded and in the order in
/// which they were sent.
#[must_use]
pub fn query(parts: &Parts) -> Vec<(String, String)> {
    let query = parts.uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

fn respond(outcome: Outcome, surface: Surface, preferences: &ClientPreferences) -> Response {
    let mut response = match outcome.etag {
        Some(etag) => answers::read_response(outcome.body, etag, preferences),
        None => json(outcome.status, outcome.body.into_text()),
    };
    let headers = response.headers_mut();
    if let Some(quota) = outcome.quota {
        add_quota_headers(quota, headers);
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

/// Adds the headers of a caller's rate limit quota.
pub fn add_quota_headers(quota: Quota, headers: &mut HeaderMap) {
    headers.insert(X_RATELIMIT_LIMIT, quota.limit.into());
    headers.insert(X_RATELIMIT_REMAINING, quota.remaining.into());
    headers.insert(X_RATELIMIT_RESET, quota.reset.into());
    if let Some(seconds) = quota.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
}

pub(super) fn json(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (
        status,
        [(CONTENT_TYPE, HeaderValue::from_static("application/json"))],
        body,
    )
        .into_response()
}

/// Adds `WWW-Authenticate` to a 401. The header tells the client where to get a token, and whether
/// the request had an invalid token (RFC 6750, section 3).
pub fn with_challenge(
    mut response: Response,
    resource: Resource,
    public_url: &str,
    error: Option<&Error>,
) -> Response {
    if response.status() != StatusCode::UNAUTHORIZED {
        return response;
    }
    let mut challenge = resource.challenge(public_url);
    if error.is_some_and(pipeline::was_sent) {
        challenge.push_str(", error=\"invalid_token\"");
    }
    if let Ok(challenge) = HeaderValue::try_from(challenge) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

/// Returns the response for an error: the HTTP status of the error, and a JSON body with the error
/// and the request's id.
#[must_use]
pub fn refuse(error: &Error, id: Uuid) -> Response {
    let mut response = json(error.kind().status(), error_body(error, id));
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Returns an error in the envelope, and logs it under the name `operation`. Routes that are not
/// operations but have a name in the log use this function.
#[must_use]
pub fn refuse_as(operation: &str, error: &Error, id: Uuid) -> Response {
    pipeline::log_failure(error, operation, id);
    refuse(error, id)
}

/// Returns 404 for a path or method without a route, with a suggestion.
fn unknown_route(app: &App, request: &HttpRequest) -> Response {
    route_not_found(
        request,
        &suggest_route(app, request.method(), request.uri().path()),
    )
}

/// Returns 404 for a method that a path does not accept. If an operation has this path, the message
/// lists the methods that the path accepts.
async fn wrong_method(app: &App, request: HttpRequest) -> Response {
    if methods(app, request.uri().path()).is_empty() {
        method_not_found(request).await
    } else {
        unknown_route(app, &request)
    }
}

/// Returns a suggestion for the route that the client may have meant.
fn suggest_route(app: &App, method: &Method, path: &str) -> String {
    let methods = methods(app, path);
    if !methods.is_empty() {
        return format!(
            "{path} accepts {}; {method} is not supported.",
            methods.join(", ")
        );
    }
    let without_slash = path.trim_end_matches('/');
    if without_slash != path && !self::methods(app, without_slash).is_empty() {
        return format!(
            "Leave out the slash at the end: {without_slash}. The routes are described at /docs."
        );
    }
    let routes: Vec<String> = app
        .operations
        .iter()
        .map(|operation| format!("{}{}", operation.surface.base(), operation.path))
        .collect();
    let suggestion = nearest(without_slash, routes.iter().map(String::as_str));
    let suggestion = suggestion.map_or(String::new(), |suggestion| {
        format!("Did you mean {suggestion}? ")
    });
    format!("{suggestion}The routes are described at /docs.")
}

/// Returns the methods that a path accepts.
fn methods(app: &App, path: &str) -> Vec<String> {
    let has_path = |operation: &&Operation| {
        let rest = path.strip_prefix(operation.surface.base());
        rest.is_some_and(|rest| {
            let (template, parts) = (operation.path.split('/'), rest.split('/'));
            template.clone().count() == parts.clone().count()
                && template.zip(parts).all(|(part, segment)| {
                    part == segment || (part.starts_with('{') && !segment.is_empty())
                })
        })
    };
    let methods: BTreeSet<String> = app
        .operations
        .iter()
        .filter(has_path)
        .map(|operation| operation.method.to_string())
        .collect();
    methods.into_iter().collect()
}

/// Returns 404 with a reference to `/docs` instead of a suggested route.
pub async fn not_found(request: HttpRequest) -> Response {
    route_not_found(&request, "The routes are described at /docs.")
}

/// Returns 404 for a method that an existing path does not accept. The header `Allow`, which the
/// path's routes set, lists the accepted methods.
pub async fn method_not_found(request: HttpRequest) -> Response {
    let suggestion = format!(
        "This address does not accept {}; the header Allow names the methods that it accepts.",
        request.method()
    );
    route_not_found(&request, &suggestion)
}

fn route_not_found(request: &HttpRequest, suggestion: &str) -> Response {
    let id = request
        .extensions()
        .get::<RequestId>()
        .map_or(Uuid::nil(), |id| id.0);
    let message = format!("Route not found. {suggestion}");
    refuse(&Error::not_found("Route").with_message(message), id)
}

/// Returns the routes of the OpenAPI documents. Each document is built on its first request.
fn documents(service: &Arc<Service>) -> Router<Arc<Service>> {
    let route = |router: Router<Arc<Service>>, surface: &Surface| {
        let (app, surface, public_url) =
            (service.app, *surface, service.app_state.public_url.clone());
        let with_webhooks = [true, false].map(|has_webhooks| {
            let public_url = public_url.clone();
            LazyLock::new(move || Document::of(app, surface, &public_url, has_webhooks))
        });
        let documents = Arc::new(with_webhooks);
        let handler = move |headers: HeaderMap, RawQuery(query): RawQuery| async move {
            // Some client generators treat webhooks as operations. So `?webhooks=false` omits them.
            let omits_webhooks = query.is_some_and(|query| {
                form_urlencoded::parse(query.as_bytes())
                    .any(|(name, value)| name == "webhooks" && value == "false")
            });
            openapi_document(&documents[usize::from(omits_webhooks)], headers).await
        };
        router.route(
            &format!("{}{}", surface.base(), openapi::PATH),
            get(handler),
        )
    };
    Surface::VARIANTS.iter().fold(Router::new(), route)
}

async fn openapi_document(document: &Document, headers: HeaderMap) -> Response {
    answers::shared_response(&document.text, document.etag.clone(), &headers).await
}

/// Returns 200 if the database responds within five seconds and all background tasks run.
async fn ready(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let result = tokio::time::timeout(
        Duration::from_secs(5),
        service.store.read(|_| Ok::<_, store::Error>(())),
    )
    .await;
    let down = service.background.down();
    let error = match result {
        Ok(Ok(())) if down.is_empty() => return "ready\n".into_response(),
        Ok(Ok(())) => Error::new(
            ErrorKind::Unavailable,
            format!("Background work is down: {}.", down.join(", ")),
        ),
        _ => Error::new(ErrorKind::Unavailable, "The database does not answer."),
    };
    let (parts, _) = request.into_parts();
    refuse(&error, request_id(&parts))
}
