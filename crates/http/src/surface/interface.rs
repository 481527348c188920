//! The processing before and after every route: request id, limits, compression, log. It is one
//! layer around all routes instead of a layer around each route.

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

/// The minimum size of a response that is compressed, in bytes.
const MIN_COMPRESSED_SIZE: u64 = 1_024;

/// The type of PDF files, which are already compressed.
const PDF: NotForContentType = NotForContentType::const_new("application/pdf");

/// Responses of at least this size are sent only if the outbound buffer has space.
const MIN_LARGE_SIZE: u64 = 64 << 10;

/// The maximum size of a request's path and query together, in bytes.
const MAX_ADDRESS: usize = 52 << 10;
/// The maximum size of all header fields of a request together, in bytes.
const MAX_HEADER_BYTES: usize = 32 << 10;
/// The maximum number of header fields of a request.
const MAX_HEADERS: usize = 100;

/// Marks the responses of routes that are exempt from the outbound buffer or from compression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteExemption {
    /// Small responses, responses that are the same for every client, and health checks. They are
    /// not counted in the outbound buffer.
    Shared,
    /// Responses of routes that browsers of every origin may call. These routes set their CORS
    /// headers themselves. The responses are not counted in the outbound buffer and not compressed.
    Open,
}

/// Marks a request that gets a 429, because its client, which is behind a proxy, has too many
/// requests in progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverLimit;

/// All routes that the service's port serves, with the processing that is common to them: request
/// id, limits, compression, log.
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

    /// Returns the paths of all routes, with `{…}` for variable parts.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        // The router has no method that lists its paths. Its debug text contains them.
        let debug_text = format!("{:?}", self.routes);
        let quoted_texts = debug_text.split('"').skip(1).step_by(2);
        let paths =
            quoted_texts.filter(|path| path.starts_with('/') && !path.contains("__private"));
        let paths: BTreeSet<&str> = paths.filter(|path| *path != "/").collect();
        paths.into_iter().map(str::to_owned).collect()
    }

    /// Handles a request: assigns an id to it, refuses it if it exceeds a limit, turns a panic into
    /// a logged 500, and logs the request.
    pub async fn respond(self, mut request: HttpRequest) -> Response {
        let service = self.service;
        let id = service.app_state.ids.uuid(service.clock.now());
        let started = service.clock.elapsed();
        let method = request.method().clone();
        request.extensions_mut().insert(RequestId(id));
        let span = if is_monitoring(request.uri().path()) {
            Span::none()
        } else {
            traces::request(request.headers(), id)
        };
        let is_persistent = matches!(request.version(), Version::HTTP_10 | Version::HTTP_11);
        let accepted_codings: Vec<HeaderValue> = request
            .headers()
            .get_all(ACCEPT_ENCODING)
            .iter()
            .cloned()
            .collect();
        let (request, progress) = BodyProgress::watch(request, &service.incoming);
        let result = if let Some(refusal) =
            check_length(&request, id).or_else(|| check_client_limit(&request, id))
        {
            Ok(Ok(refusal))
        } else {
            let handling = async {
                let request = match &self.gate {
                    Some(gate) => match gate.admit(&service, request).await {
                        Ok(request) => request,
                        Err(error) => return Ok(refuse(&error, id)),
                    },
                    None => request,
                };
                self.routes.oneshot(request).await
            };
            AssertUnwindSafe(handling.instrument(span.clone()))
                .catch_unwind()
                .await
        };
        let mut response = match result {
            Ok(Ok(response)) => response,
            Err(panic) => {
                let reason = panic
                    .downcast_ref::<&str>()
                    .copied()
                    .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
                tracing::error!(
                    request_id = %id,
                    reason = reason.unwrap_or("unknown"),
                    "a request panicked; it is answered with 500"
                );
                refuse(&ErrorKind::Internal.into(), id)
            }
        };
        if progress.is_refused() {
            response = out_of_memory(response, id);
        }
        if response.extensions().get::<RouteExemption>().is_none() {
            response = reserve_space(&service, response, method == Method::GET, id);
        }
        if should_compress_response(&response) {
            response = Box::pin(compress(accepted_codings, response)).await;
        }
        if let Ok(value) =
            HeaderValue::from_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
        {
            response.headers_mut().insert(X_REQUEST_ID, value);
        }
        answers::add_coding_to_etag(response.headers_mut());
        if is_persistent && !progress.is_over() {
            // The rest of the body is not read, so the server closes the connection after this
            // response. The client opens another connection for its next request.
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
            response.extensions_mut().insert(UnreadBody);
        }
        let elapsed = service.clock.elapsed().saturating_sub(started);
        let operation = response
            .extensions()
            .get::<ServedOperation>()
            .map_or(observe::NONE, |operation| operation.0);
        let requester = response.extensions().get::<Requester>().copied();
        observe::span(&span, operation, requester, &method, response.status());
        observe::request(
            operation,
            requester,
            &method,
            response.status(),
            elapsed,
            id,
        );
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
        Box::pin(self.clone().respond(request).map(Ok))
    }
}

/// Returns 414 in the envelope if the path and query of a request are too long. Returns 431 if the
/// header fields of the request are too long.
fn check_length(request: &HttpRequest, id: Uuid) -> Option<Response> {
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
            "The headers have more than {MAX_HEADER_BYTES} bytes, or there are more than \
                {MAX_HEADERS}; send fewer, such as cookies."
        );
        (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, message)
    } else {
        return None;
    };
    let mut response = refuse(&Error::new(ErrorKind::Validation, message), id);
    *response.status_mut() = status;
    Some(response)
}

/// Returns a 429 with an error body and `Retry-After: 1` if the client has too many requests in
/// progress.
fn check_client_limit(request: &HttpRequest, id: Uuid) -> Option<Response> {
    request.extensions().get::<OverLimit>()?;
    let mut response = refuse(&ErrorKind::RateLimit.into(), id);
    response.headers_mut().insert(RETRY_AFTER, 1.into());
    Some(response)
}

/// Returns a 503 instead of the response if there was no memory for the request's body. A web page
/// keeps its content, because a person reads it, and only gets the status 503.
fn out_of_memory(mut response: Response, id: Uuid) -> Response {
    let error = Error::unavailable("the memory for incomplete requests is full");
    tracing::warn!(
        request_id = %id,
        cause = "the memory for incomplete requests is \
        full",
        "refused a request with 503"
    );
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

/// Returns whether a path is for monitoring. Such requests need no trace.
fn is_monitoring(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

/// Returns whether compression of a response is useful.
fn should_compress_response(response: &Response) -> bool {
    !response.headers().contains_key(CONTENT_ENCODING)
        && CompressionPredicate.should_compress(response)
}

/// Compresses a response while it is sent, in a coding that the client accepts. The server does not
/// call this function for a response that stays uncompressed, because the compression layer would
/// allocate the state of every encoder for it.
async fn compress(accepted_codings: Vec<HeaderValue>, response: Response) -> Response {
    let mut request = http::Request::new(());
    for value in accepted_codings {
        request.headers_mut().append(ACCEPT_ENCODING, value);
    }
    let status = response.status();
    let mut response = Some(response);
    let service =
        tower::service_fn(move |_| ready(Ok::<_, Infallible>(response.take().unwrap_or_default())));
    let compression = CompressionLayer::new()
        .gzip(true)
        .br(true)
        .quality(CompressionLevel::Fastest)
        .compress_when(CompressionPredicate);
    let Ok(mut response) = compression.layer(service).oneshot(request).await;
    // If a client refuses every coding, even an uncompressed response, the compression layer leaves
    // the response uncompressed and sets its status to 406. The client gets the uncompressed
    // response with its own status instead.
    *response.status_mut() = status;
    response.map(Body::new)
}

/// Reserves space for a response in the outbound buffer, by its size before compression. The
/// compressed size is not known yet.
///
/// Many requests can be admitted before the first of them reserves space for its response. So a
/// large response to a read becomes a 503 if there is no space for it. The response to a write is
/// always sent, because the write is done.
fn reserve_space(service: &Service, mut response: Response, is_read: bool, id: Uuid) -> Response {
    let share = response
        .extensions()
        .get::<Requester>()
        .and_then(|requester| requester.organization);
    let bytes = response.body().size_hint().lower();
    if is_read && bytes >= MIN_LARGE_SIZE && !service.outbound.has_space_now(share) {
        tracing::warn!(
            request_id = %id,
            cause = "the buffer of unsent answers is full",
            "refused a request with 503"
        );
        return refuse(&ErrorKind::Unavailable.into(), id);
    }
    let reserved_space = service.outbound.reserve(share, bytes);
    response.extensions_mut().insert(reserved_space);
    response
}

/// Excludes from compression the responses that it would not make much smaller, such as short
/// responses, images and PDF files. Also excludes server-sent events, and the responses of routes
/// with [`RouteExemption::Open`].
#[derive(Clone, Copy)]
struct CompressionPredicate;

impl Predicate for CompressionPredicate {
    fn should_compress<B: HttpBody>(&self, response: &http::Response<B>) -> bool {
        response.extensions().get::<RouteExemption>() != Some(&RouteExemption::Open)
            && SizeAbove::new(MIN_COMPRESSED_SIZE)
                .and(NotForContentType::SSE)
                .and(NotForContentType::IMAGES)
                .and(PDF)
                .should_compress(response)
    }
}
