//! Sends responses. Tracks how much of each response its client has read, and aborts a response of
//! which the client reads nothing during the progress timeout.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::{Buf, Bytes};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use http::header::STRICT_TRANSPORT_SECURITY;
use http::{HeaderValue, Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::Service;
use tokio::time::Instant;

use super::clients::{Clients, CountedRequest};
use super::connections::{Activity, RequestGuard, network};
use crate::surface::{Interface, OverLimit, Peer, UnreadBody};
use engine::pipeline::Receiving;
use engine::pipeline::{OutboundBuffer, OutboundReservation};

tokio::task_local! {
    /// The progress of the response on one HTTP/2 stream. It is set only in the task that runs
    /// this stream.
    static STREAM: Arc<ProgressTracker>;
}

/// The time at which an event last happened. Several threads may set and read it.
pub(super) struct LastEvent {
    start: Instant,
    nanoseconds: AtomicU64,
}

impl LastEvent {
    /// Records the current time as the time of the last event.
    pub(super) fn record(&self) {
        self.nanoseconds
            .store(nanoseconds(self.start.elapsed()), Ordering::Relaxed);
    }

    /// Returns the time of the last event.
    pub(super) fn when(&self) -> Instant {
        self.start + Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

impl Default for LastEvent {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            nanoseconds: AtomicU64::new(0),
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The progress of the responses of a connection or of a stream.
#[derive(Default)]
pub(super) struct ProgressTracker {
    /// The number of responses that are not completely sent.
    answers: AtomicUsize,
    /// When the client last took a part of a response.
    last_progress: LastEvent,
    /// The space that the last response has reserved in the outbound buffer. If other responses of
    /// the same organization wait for space, the short progress timeout applies to this response.
    reserved_space: Mutex<Weak<OutboundReservation>>,
    /// Whether the connection has HTTP/2 streams. Each stream has a separate timeout, so the
    /// timeout of the connection is twice as long.
    has_streams: AtomicBool,
}

/// The progress timeouts: how long a response may wait while its client reads none of it.
#[derive(Clone)]
pub(super) struct ProgressLimits {
    /// The timeout outside of the three situations in which `short` applies.
    pub usual: Duration,
    /// The timeout while a connection waits for a slot, while a response of the same organization
    /// waits for space in the outbound buffer, and during shutdown.
    pub short: Duration,
    /// The buffer of the responses that wait to be sent. It decides for each response whether the
    /// timeout `short` or `usual` applies.
    pub outbound: Arc<OutboundBuffer>,
}

impl ProgressTracker {
    /// Waits until a response is pending and the progress timeout has passed since the client last
    /// read a part of it.
    pub(super) async fn until_stalled(&self, limits: &ProgressLimits) {
        let mut changes = limits.outbound.changes();
        loop {
            changes.mark_unchanged();
            let is_hurried = self.reserved_space().upgrade().map_or_else(
                || limits.outbound.has_short_timeout(None),
                |reserved_space| reserved_space.has_short_timeout(),
            );
            let factor = if self.has_streams.load(Ordering::Relaxed) {
                2
            } else {
                1
            };
            let limit = factor
                * if is_hurried {
                    limits.short
                } else {
                    limits.usual
                };
            let deadline = if self.answers.load(Ordering::Relaxed) > 0 {
                self.last_progress.when() + limit
            } else {
                Instant::now() + limit
            };
            if deadline <= Instant::now() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => {}
                // `limits` owns the sender of this channel. So `changed` never returns the error
                // for a closed channel.
                _ = changes.changed() => {}
            }
        }
    }

    fn reserved_space(&self) -> MutexGuard<'_, Weak<OutboundReservation>> {
        self.reserved_space
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the streams of HTTP/2 connections. Aborts a stream whose client does not read the response:
/// the stream is reset, and the other streams of the connection continue.
#[derive(Clone)]
pub(super) struct Streams(pub ProgressLimits);

impl<S: Future<Output = ()> + Send + 'static> Executor<S> for Streams {
    fn execute(&self, stream: S) {
        let (limits, progress) = (self.0.clone(), Arc::<ProgressTracker>::default());
        tokio::spawn(async move {
            tokio::select! {
                () = STREAM.scope(progress.clone(), stream) => {}
                () = progress.until_stalled(&limits) => {}
            }
        });
    }
}

/// The header that tells browsers to use only TLS for this host, for a year.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Passes the requests of one connection to the [`Interface`], and tracks the progress of their
/// responses.
pub(super) struct ConnectionService {
    pub interface: Interface,
    /// Whether the connection is encrypted.
    pub is_secure: bool,
    pub activity: Arc<Activity>,
    pub clients: Arc<Clients>,
}

impl ConnectionService {
    /// Adds the client's address to a request. If the client is behind a trusted proxy, also counts
    /// the request as in progress until the returned value is dropped. Marks a request that is not
    /// counted because the client has too many requests in progress.
    fn identify_client(&self, request: &mut Request<Incoming>) -> Option<CountedRequest> {
        let (peer, proxies) = (self.activity.peer(), &self.clients.proxies);
        let address = network(proxies.client(peer, request.headers()));
        let extensions = request.extensions_mut();
        extensions.insert(Peer(address));
        if !proxies.has(peer) {
            return None;
        }
        let client_request = self.clients.count_request(address);
        if client_request.is_none() {
            extensions.insert(OverLimit);
        }
        client_request
    }
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response<Outgoing>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Outgoing>, Infallible>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let request_guard = self.activity.begin();
        let extensions = request.extensions_mut();
        extensions.insert(Receiving::new(self.activity.begin_body()));
        let client_request = self.identify_client(&mut request);
        let activity = self.activity.clone();
        let is_secure = self.is_secure;
        let response_future = self.interface.clone().respond(request.map(Body::new));
        async move {
            let mut response = response_future.await;
            if response.extensions_mut().remove::<UnreadBody>().is_some() {
                activity.close_in_stages();
            }
            if is_secure {
                response
                    .headers_mut()
                    .insert(STRICT_TRANSPORT_SECURITY, HSTS);
            }
            let reserved_space = response.extensions_mut().remove();
            let sending = Arc::new(Sending::begin(
                request_guard,
                reserved_space,
                client_request,
            ));
            Ok(response.map(|body| Outgoing {
                body,
                sending,
                has_begun: false,
                has_ended: false,
            }))
        }
        .boxed()
    }
}

/// The data of a response in progress. It exists until the client has read the last byte of the
/// response, or the response is aborted.
struct Sending {
    request_guard: RequestGuard,
    stream: Option<Arc<ProgressTracker>>,
    reserved_space: Option<Arc<OutboundReservation>>,
    _client_request: Option<CountedRequest>,
    /// The number of chunks that are not yet written to the connection.
    pending_chunks: AtomicUsize,
    /// Wakes the task that polls the response body, when the last chunk of the body is written to
    /// the connection.
    body_waker: AtomicWaker,
}

impl Sending {
    fn begin(
        request_guard: RequestGuard,
        reserved_space: Option<Arc<OutboundReservation>>,
        client_request: Option<CountedRequest>,
    ) -> Self {
        let stream = STREAM.try_with(Arc::clone).ok();
        if stream.is_some() {
            request_guard
                .progress()
                .has_streams
                .store(true, Ordering::Relaxed);
        }
        let sending = Self {
            request_guard,
            stream,
            reserved_space,
            _client_request: client_request,
            pending_chunks: AtomicUsize::new(0),
            body_waker: AtomicWaker::new(),
        };
        for progress in sending.trackers() {
            progress.last_progress.record();
            *progress.reserved_space() = sending
                .reserved_space
                .as_ref()
                .map_or_else(Weak::new, Arc::downgrade);
            progress.answers.fetch_add(1, Ordering::Relaxed);
        }
        sending
    }

    fn trackers(&self) -> impl Iterator<Item = &ProgressTracker> {
        [self.request_guard.progress()]
            .into_iter()
            .chain(self.stream.as_deref())
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        for progress in self.trackers() {
            progress.answers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The body of a response. On an HTTP/2 stream, the body ends only after all its chunks are written
/// to the connection. Until then, the stream can be aborted, which drops the unsent chunks.
pub(super) struct Outgoing {
    body: Body,
    sending: Arc<Sending>,
    has_begun: bool,
    has_ended: bool,
}

impl HttpBody for Outgoing {
    type Data = AnswerChunk;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<AnswerChunk>, axum::Error>>> {
        if !self.has_ended {
            self.has_begun = true;
            if let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) {
                return Poll::Ready(Some(frame.map(|frame| {
                    frame.map_data(|bytes| AnswerChunk::new(bytes, &self.sending))
                })));
            }
            self.has_ended = true;
        }
        if self.sending.stream.is_some() {
            self.sending.body_waker.register(context.waker());
            if self.sending.pending_chunks.load(Ordering::Acquire) > 0 {
                return Poll::Pending;
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && !(self.has_begun && self.sending.stream.is_some())
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A chunk of a body, until it is written to the connection.
pub(super) struct AnswerChunk {
    bytes: Bytes,
    sending: Arc<Sending>,
}

impl AnswerChunk {
    fn new(bytes: Bytes, sending: &Arc<Sending>) -> Self {
        sending.pending_chunks.fetch_add(1, Ordering::Relaxed);
        Self {
            bytes,
            sending: sending.clone(),
        }
    }
}

impl Drop for AnswerChunk {
    fn drop(&mut self) {
        if self.sending.pending_chunks.fetch_sub(1, Ordering::Release) == 1 {
            self.sending.body_waker.wake();
        }
    }
}

impl Buf for AnswerChunk {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.sending
            .trackers()
            .for_each(|progress| progress.last_progress.record());
        self.bytes.advance(count);
    }
}
