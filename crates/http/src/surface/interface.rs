//! The processing before and after every route: request id, limits, compression, log. It runs once
//! around all routes instead of around each route.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::Request as HttpRequest;
use axum::response::Response;
use futures_util::FutureExt as _;
use http::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, StatusCode, Version};
use http_body::Body as HttpBody;
use tower::{Layer as _, Service as Tower, ServiceExt as _};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tracing::{Instrument as _, Span};
use uuid::Uuid;

use super::answers;
use super::gate::HostGate;
use super::observe::{self, ServedOperation};
use super::reading::{BodyProgress, UnreadBody};
use super::router::{RequestId, X_REQUEST_ID, refuse};
use engine::error::{Error, ErrorKind};
use engine::pipeline::{Requester, Service};
use engine::traces;

/// The least bytes of an answer that is compressed.
const COMPRESS_FROM: u64 = 1_024;

/// PDF files are compressed already.
const PDF: NotForContentType = NotForContentType::const_new("application/pdf");

/// Answers of at least this size are only sent if the outbound buffer has space.
const LARGE: u64 = 64 << 10;

/// The most bytes of a request's address, the most bytes of its header fields, and their greatest
/// number.
const MAX_ADDRESS: usize = 52 << 10;
const MAX_HEADER_BYTES: usize = 32 << 10;
const MAX_HEADERS: usize = 100;

/// Marks the answers of routes that are exempt from some processing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteExemption {
    /// Small or shared answers, and health checks: not counted in the outbound buffer.
    Shared,
    /// Answers for browsers of every origin, with their own headers: not counted and not
    /// compressed.
    Open,
}

/// Marks a request of a client behind a proxy that has too many requests under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverLimit;

/// The service behind the port: all routes with their processing.
#[derive(Clone)]
pub struct Interface {
    routes: Router,
    service: Arc<Service>,
    gate: Option<HostGate>,
}

impl Interface {
    pub(super) fn new(routes: Router, service: Arc<Service>, gate: Option<HostGate>) -> Self {
        Self {
            routes,
            service,
            gate,
        }
    }

    /// Returns the paths of all routes, with `{…}` for a part that varies.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        // The router tells its paths in this form alone.
        let reported = format!("{:?}", self.routes);
        let quoted = reported.split('"').skip(1).step_by(2);
        let paths = quoted.filter(|path| path.starts_with('/') && !path.contains("__private"));
        let paths: BTreeSet<&str> = paths.filter(|path| *path != "/").collect();
        paths.into_iter().map(str::to_owned).collect()
    }

    /// Assigns an id to a request, turns a panic into a logged 500, and logs the request.
    pub async fn answer(self, mut request: HttpRequest) -> Response {
        let service = self.service;
        let id = service.app_state.ids.uuid(service.clock.now());
        let started = service.clock.elapsed();
        let method = request.method().clone();
        request.extensions_mut().insert(RequestId(id));
        let span = if is_of_its_own(request.uri().path()) {
            Span::none()
        } else {
            traces::request(request.headers(), id)
        };
        let is_persistent = matches!(request.version(), Version::HTTP_10 | Version::HTTP_11);
        let accepted: Vec<HeaderValue> = request
            .headers()
            .get_all(ACCEPT_ENCODING)
            .iter()
            .cloned()
            .collect();
        let (request, reading) = BodyProgress::watch(request, &service.incoming);
        let answered =
            if let Some(refusal) = too_long(&request, id).or_else(|| crowded(&request, id)) {
                Ok(Ok(refusal))
            } else {
                let answering = async {
                    let request = match &self.gate {
                        Some(gate) => match gate.admit(&service, request).await {
                            Ok(request) => request,
                            Err(error) => return Ok(refuse(&error, id)),
                        },
                        None => request,
                    };
                    self.routes.oneshot(request).await
                };
                AssertUnwindSafe(answering.instrument(span.clone()))
                    .catch_unwind()
                    .await
            };
        let mut response = match answered {
            Ok(Ok(response)) => response,
            Err(panic) => {
                let reason = panic
                    .downcast_ref::<&str>()
                    .copied()
                    .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
                tracing::error!(request_id = %id, reason = reason.unwrap_or("unknown"), "a request panicked; it is answered with 500");
                refuse(&ErrorKind::Internal.into(), id)
            }
        };
        if reading.is_refused() {
            response = out_of_memory(response, id);
        }
        if response.extensions().get::<RouteExemption>().is_none() {
            response = counted(&service, response, method == Method::GET, id);
        }
        if is_to_be_compressed(&response) {
            response = Box::pin(compressed(accepted, response)).await;
        }
        if let Ok(value) =
            HeaderValue::from_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
        {
            response.headers_mut().insert(X_REQUEST_ID, value);
        }
        answers::name_coding(response.headers_mut());
        if is_persistent && !reading.is_over() {
            // The rest of the body is not read, so the connection is closed. The client opens
            // another.
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
            response.extensions_mut().insert(UnreadBody);
        }
        let took = service.clock.elapsed().saturating_sub(started);
        let operation = response
            .extensions()
            .get::<ServedOperation>()
            .map_or(observe::NONE, |served| served.0);
        let requester = response.extensions().get::<Requester>().copied();
        observe::span(&span, operation, requester, &method, response.status());
        observe::request(operation, requester, &method, response.status(), took, id);
        response
    }
}

impl Tower<HttpRequest> for Interface {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest) -> Self::Future {
        Box::pin(self.clone().answer(request).map(Ok))
    }
}

/// Returns 414 or 431 in the envelope, if the address or the header fields of a request are too
/// long.
fn too_long(request: &HttpRequest, id: Uuid) -> Option<Response> {
    let address = request
        .uri()
        .path_and_query()
        .map_or(0, |path| path.as_str().len());
    let headers = request.headers();
    let bytes: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    let (status, message) = if address > MAX_ADDRESS {
        let message =
            format!("The address has more than {MAX_ADDRESS} bytes; send fewer parameters.");
        (StatusCode::URI_TOO_LONG, message)
    } else if bytes > MAX_HEADER_BYTES || headers.len() > MAX_HEADERS {
        let message = format!(
            "The headers have more than {MAX_HEADER_BYTES} bytes, or there are more than {MAX_HEADERS}; send fewer, such as cookies."
        );
        (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, message)
    } else {
        return None;
    };
    let mut response = refuse(&Error::new(ErrorKind::Validation, message), id);
    *response.status_mut() = status;
    Some(response)
}

/// Refuses a request whose client has too many under way: 429, in the envelope.
fn crowded(request: &HttpRequest, id: Uuid) -> Option<Response> {
    request.extensions().get::<OverLimit>()?;
    let mut response = refuse(&ErrorKind::RateLimit.into(), id);
    response.headers_mut().insert(RETRY_AFTER, 1.into());
    Some(response)
}

/// Returns the answer to a request whose body found no memory. A web page keeps its content,
/// because a person sees it.
fn out_of_memory(mut response: Response, id: Uuid) -> Response {
    let error = Error::unavailable("the memory for incomplete requests is full");
    tracing::warn!(request_id = %id, cause = "the memory for incomplete requests is full", "refused a request with 503");
    let is_page = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    let refusal = refuse(&error, id);
    if !is_page {
        return refusal;
    }
    *response.status_mut() = refusal.status();
    if let Some(seconds) = refusal.headers().get(RETRY_AFTER) {
        response.headers_mut().insert(RETRY_AFTER, seconds.clone());
    }
    response
}

/// Returns whether a path is for monitoring, which needs no trace.
fn is_of_its_own(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

/// Returns whether an answer is worth compressing.
fn is_to_be_compressed(response: &Response) -> bool {
    !response.headers().contains_key(CONTENT_ENCODING)
        && CompressionPredicate.should_compress(response)
}

/// Compresses an answer while it is sent, in a coding that the client accepts. Other answers skip
/// this function, because the layer would give them the state of every encoder.
async fn compressed(accepted: Vec<HeaderValue>, response: Response) -> Response {
    let mut request = http::Request::new(());
    for value in accepted {
        request.headers_mut().append(ACCEPT_ENCODING, value);
    }
    let status = response.status();
    let mut response = Some(response);
    let answer =
        tower::service_fn(move |_| ready(Ok::<_, Infallible>(response.take().unwrap_or_default())));
    let compression = CompressionLayer::new()
        .gzip(true)
        .br(true)
        .quality(CompressionLevel::Fastest)
        .compress_when(CompressionPredicate);
    let Ok(mut response) = compression.layer(answer).oneshot(request).await;
    // A client that accepts no coding at all, not even none, gets the plain answer: the layer would
    // send it as a 406.
    *response.status_mut() = status;
    response.map(Body::new)
}

/// Counts an answer in the outbound buffer, by its size before compression. The compressed size is
/// unknown, and the buffer holds the uncompressed data.
///
/// Many requests can be admitted before the first of them is answered. So a large answer of a read
/// is refused if it finds no space. The result of a write is always sent.
fn counted(service: &Service, mut response: Response, is_read: bool, id: Uuid) -> Response {
    let share = response
        .extensions()
        .get::<Requester>()
        .and_then(|requester| requester.organization);
    let bytes = response.body().size_hint().lower();
    if is_read && bytes >= LARGE && !service.outbound.has_room_now(share) {
        tracing::warn!(request_id = %id, cause = "the buffer of unsent answers is full", "refused a request with 503");
        return refuse(&ErrorKind::Unavailable.into(), id);
    }
    let held = service.outbound.hold(share, bytes);
    response.extensions_mut().insert(held);
    response
}

/// Selects answers that compression makes smaller.
#[derive(Clone, Copy)]
struct CompressionPredicate;

impl Predicate for CompressionPredicate {
    fn should_compress<B: HttpBody>(&self, response: &http::Response<B>) -> bool {
        response.extensions().get::<RouteExemption>() != Some(&RouteExemption::Open)
            && SizeAbove::new(COMPRESS_FROM)
                .and(NotForContentType::SSE)
                .and(NotForContentType::IMAGES)
                .and(PDF)
                .should_compress(response)
    }
}
