//! What every request passes before it comes to a route, and every answer after it: once for all routes, rather than
//! wrapped around each of them.

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
use http::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING};
use http::{HeaderValue, Method, Version};
use http_body::Body as HttpBody;
use tower::{Layer as _, Service as Tower, ServiceExt as _};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tracing::{Instrument as _, Span};
use uuid::Uuid;

use super::answers;
use super::observe::{self, Served};
use super::reading::Reading;
use super::router::{RequestId, X_REQUEST_ID, refuse};
use crate::error::Kind;
use crate::pipeline::{Requester, Service};
use crate::traces;

/// Answers at least this large are compressed, for clients that accept it.
const COMPRESS_FROM: u64 = 1_024;

/// Documents that bring their own compression.
const PDF: NotForContentType = NotForContentType::const_new("application/pdf");

/// Answers of so many bytes are given only where there is room for them.
const LARGE: u64 = 64 << 10;

/// Noted on the answers of routes that stand beside the interface's own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// What is small or shared by all, and what one asks of a server that is in trouble: not counted as waiting.
    Shared,
    /// What browsers of every origin may ask, and says everything itself: not compressed either.
    Open,
}

/// Everything that answers on the port.
#[derive(Clone)]
pub struct Interface {
    routes: Router,
    service: Arc<Service>,
}

impl Interface {
    pub(super) fn new(routes: Router, service: Arc<Service>) -> Self {
        Self { routes, service }
    }

    /// Gives a request an id, turns a panic into a logged 500, and writes the request down.
    pub async fn answer(self, mut request: HttpRequest) -> Response {
        let service = self.service;
        let id = service.kit.ids.uuid(service.clock.now());
        let started = service.clock.elapsed();
        let method = request.method().clone();
        request.extensions_mut().insert(RequestId(id));
        let span = if is_of_its_own(request.uri().path()) { Span::none() } else { traces::request(request.headers(), id) };
        let is_persistent = matches!(request.version(), Version::HTTP_10 | Version::HTTP_11);
        let accepted: Vec<HeaderValue> = request.headers().get_all(ACCEPT_ENCODING).iter().cloned().collect();
        let (request, reading) = Reading::watch(request);
        let answered = AssertUnwindSafe(self.routes.oneshot(request).instrument(span.clone())).catch_unwind().await;
        let mut response = match answered {
            Ok(Ok(response)) => response,
            Err(panic) => {
                let reason = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
                tracing::error!(request_id = %id, reason = reason.unwrap_or("unknown"), "panicked");
                refuse(&Kind::Internal.into(), id)
            }
        };
        if response.extensions().get::<Beside>().is_none() {
            response = counted(&service, response, method == Method::GET, id);
        }
        if is_to_be_compressed(&response) {
            response = Box::pin(compressed(accepted, response)).await;
        }
        if let Ok(value) = HeaderValue::from_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer())) {
            response.headers_mut().insert(X_REQUEST_ID, value);
        }
        answers::name_coding(response.headers_mut());
        if is_persistent && !reading.is_over() {
            // What is left of the body is not waited for, so the connection ends here; a client that knows opens another.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let took = service.clock.elapsed().saturating_sub(started);
        let operation = response.extensions().get::<Served>().map_or(observe::NONE, |served| served.0);
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

/// Whether a path is for who watches the server, who needs no trace of it.
fn is_of_its_own(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

/// Whether an answer is one to compress, for a client that accepts it.
fn is_to_be_compressed(response: &Response) -> bool {
    !response.headers().contains_key(CONTENT_ENCODING) && Worthwhile.should_compress(response)
}

/// Compresses an answer as it is sent, in what a client accepts. One that is not to be compressed does not come here: it would carry
/// the state of every coding from layer to layer.
async fn compressed(accepted: Vec<HeaderValue>, response: Response) -> Response {
    let mut request = http::Request::new(());
    for value in accepted {
        request.headers_mut().append(ACCEPT_ENCODING, value);
    }
    let mut response = Some(response);
    let answer = tower::service_fn(move |_| ready(Ok::<_, Infallible>(response.take().unwrap_or_default())));
    let compression = CompressionLayer::new().gzip(true).br(true).quality(CompressionLevel::Fastest).compress_when(Worthwhile);
    let Ok(response) = compression.layer(answer).oneshot(request).await;
    response.map(Body::new)
}

/// Says how large an answer is before it is compressed, and whose, of what waits to be sent: one that is compressed as it is sent does
/// not say how long it is, and what waits is what it is made of.
///
/// A request is let in while there is room, and many may be let in before the first of them is answered. So a large answer
/// that finds none is not given; what has been done is told in any case.
fn counted(service: &Service, mut response: Response, is_read: bool, id: Uuid) -> Response {
    let share = response.extensions().get::<Requester>().and_then(|requester| requester.organization);
    let bytes = response.body().size_hint().lower();
    if is_read && bytes >= LARGE && !service.unsent.has_room_now(share) {
        tracing::warn!(request_id = %id, cause = "too much that was answered waits to be sent", "not available");
        return refuse(&Kind::Unavailable.into(), id);
    }
    let held = service.unsent.hold(share, bytes);
    response.extensions_mut().insert(held);
    response
}

/// Nothing is gained with what is compressed already.
#[derive(Clone, Copy)]
struct Worthwhile;

impl Predicate for Worthwhile {
    fn should_compress<B: HttpBody>(&self, response: &http::Response<B>) -> bool {
        response.extensions().get::<Beside>() != Some(&Beside::Open)
            && SizeAbove::new(COMPRESS_FROM).and(NotForContentType::SSE).and(NotForContentType::IMAGES).and(PDF).should_compress(response)
    }
}
