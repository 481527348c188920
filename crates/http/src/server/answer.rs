//! The sending of answers: progress timeouts, and the data that clients have not taken yet.

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

use super::clients::{Clients, Place};
use super::connections::{Activity, RequestGuard, network};
use crate::surface::{Interface, OverLimit, Peer, UnreadBody};
use engine::pipeline::Receiving;
use engine::pipeline::{OutboundBuffer, OutboundReservation};

tokio::task_local! {
    /// The progress of the HTTP/2 stream that this task serves.
    static STREAM: Arc<ProgressTracker>;
}

/// The time of the last event.
pub(super) struct LastEvent {
    start: Instant,
    nanoseconds: AtomicU64,
}

impl LastEvent {
    /// Records that the event happens now.
    pub(super) fn note(&self) {
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

/// The progress of sending answers, of a connection or of a stream.
#[derive(Default)]
pub(super) struct ProgressTracker {
    /// The number of answers that are not completely sent.
    answers: AtomicUsize,
    moved: LastEvent,
    /// The outbound buffer space of the last answer. Its organization decides whether the timeout
    /// is shortened.
    held: Mutex<Weak<OutboundReservation>>,
    /// Whether the connection has streams. Each stream has its own timeout, so the connection has
    /// twice the time.
    has_streams: AtomicBool,
}

/// The progress timeout of an answer.
#[derive(Clone)]
pub(super) struct ProgressLimits {
    /// The usual timeout.
    pub usual: Duration,
    /// The shortened timeout.
    pub hurried: Duration,
    /// Decides whether the timeout is shortened.
    pub outbound: Arc<OutboundBuffer>,
}

impl ProgressTracker {
    /// Returns when an answer has made no progress for the timeout.
    pub(super) async fn is_lost(&self, limits: &ProgressLimits) {
        let mut hurries = limits.outbound.changes();
        loop {
            hurries.mark_unchanged();
            let is_hurried = self.held().upgrade().map_or_else(
                || limits.outbound.is_hurried(None),
                |held| held.is_hurried(),
            );
            let times = if self.has_streams.load(Ordering::Relaxed) {
                2
            } else {
                1
            };
            let limit = times
                * if is_hurried {
                    limits.hurried
                } else {
                    limits.usual
                };
            let until = if self.answers.load(Ordering::Relaxed) > 0 {
                self.moved.when() + limit
            } else {
                Instant::now() + limit
            };
            if until <= Instant::now() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                // `limits` owns the sender, so the channel stays open.
                _ = hurries.changed() => {}
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Weak<OutboundReservation>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the streams of HTTP/2 connections, each until its client stops taking the answer. An
/// aborted stream is reset, and the other streams of the connection continue.
#[derive(Clone)]
pub(super) struct Streams(pub ProgressLimits);

impl<S: Future<Output = ()> + Send + 'static> Executor<S> for Streams {
    fn execute(&self, stream: S) {
        let (limits, progress) = (self.0.clone(), Arc::<ProgressTracker>::default());
        tokio::spawn(async move {
            tokio::select! {
                () = STREAM.scope(progress.clone(), stream) => {}
                () = progress.is_lost(&limits) => {}
            }
        });
    }
}

/// The lifetime of the browser's note that this host is reached by TLS alone: a year.
const TLS_ALONE: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The interface, as one connection uses it.
pub(super) struct ConnectionService {
    pub interface: Interface,
    /// Whether the connection is encrypted.
    pub is_secure: bool,
    pub activity: Arc<Activity>,
    pub clients: Arc<Clients>,
}

impl ConnectionService {
    /// Notes on a request whose it is. Takes a place among the requests of a client behind a
    /// trusted proxy, and notes where there is none.
    fn place(&self, request: &mut Request<Incoming>) -> Option<Place> {
        let (peer, proxies) = (self.activity.peer(), &self.clients.proxies);
        let address = network(proxies.client(peer, request.headers()));
        let extensions = request.extensions_mut();
        extensions.insert(Peer(address));
        if !proxies.has(peer) {
            return None;
        }
        let place = self.clients.enter(address);
        if place.is_none() {
            extensions.insert(OverLimit);
        }
        place
    }
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response<Outgoing>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Outgoing>, Infallible>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let turn = self.activity.begin();
        let extensions = request.extensions_mut();
        extensions.insert(Receiving::new(self.activity.receive()));
        let place = self.place(&mut request);
        let activity = self.activity.clone();
        let is_secure = self.is_secure;
        let answered = self.interface.clone().answer(request.map(Body::new));
        async move {
            let mut response = answered.await;
            if response.extensions_mut().remove::<UnreadBody>().is_some() {
                activity.close_in_stages();
            }
            if is_secure {
                response
                    .headers_mut()
                    .insert(STRICT_TRANSPORT_SECURITY, TLS_ALONE);
            }
            let held = response.extensions_mut().remove();
            let sending = Arc::new(Sending::begin(turn, held, place));
            Ok(response.map(|body| Outgoing {
                body,
                sending,
                has_begun: false,
                is_over: false,
            }))
        }
        .boxed()
    }
}

/// State that exists until the last byte of an answer is taken or the answer is aborted.
struct Sending {
    turn: RequestGuard,
    stream: Option<Arc<ProgressTracker>>,
    held: Option<Arc<OutboundReservation>>,
    _place: Option<Place>,
    /// The number of chunks that the connection has not taken yet.
    pieces: AtomicUsize,
    /// Wakes the body when the last chunk is taken.
    waits: AtomicWaker,
}

impl Sending {
    fn begin(
        turn: RequestGuard,
        held: Option<Arc<OutboundReservation>>,
        place: Option<Place>,
    ) -> Self {
        let stream = STREAM.try_with(Arc::clone).ok();
        if stream.is_some() {
            turn.progress().has_streams.store(true, Ordering::Relaxed);
        }
        let sending = Self {
            turn,
            stream,
            held,
            _place: place,
            pieces: AtomicUsize::new(0),
            waits: AtomicWaker::new(),
        };
        for progress in sending.trackers() {
            progress.moved.note();
            *progress.held() = sending.held.as_ref().map_or_else(Weak::new, Arc::downgrade);
            progress.answers.fetch_add(1, Ordering::Relaxed);
        }
        sending
    }

    fn trackers(&self) -> impl Iterator<Item = &ProgressTracker> {
        [self.turn.progress()]
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

/// The body of an answer. On a stream it ends only after all of it was taken. Until then the stream
/// can be aborted, which drops the unsent chunks.
pub(super) struct Outgoing {
    body: Body,
    sending: Arc<Sending>,
    has_begun: bool,
    is_over: bool,
}

impl HttpBody for Outgoing {
    type Data = AnswerChunk;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<AnswerChunk>, axum::Error>>> {
        if !self.is_over {
            self.has_begun = true;
            if let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) {
                return Poll::Ready(Some(frame.map(|frame| {
                    frame.map_data(|bytes| AnswerChunk::new(bytes, &self.sending))
                })));
            }
            self.is_over = true;
        }
        if self.sending.stream.is_some() {
            self.sending.waits.register(context.waker());
            if self.sending.pieces.load(Ordering::Acquire) > 0 {
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

/// A chunk of a body, until the connection has taken it.
pub(super) struct AnswerChunk {
    bytes: Bytes,
    sending: Arc<Sending>,
}

impl AnswerChunk {
    fn new(bytes: Bytes, sending: &Arc<Sending>) -> Self {
        sending.pieces.fetch_add(1, Ordering::Relaxed);
        Self {
            bytes,
            sending: sending.clone(),
        }
    }
}

impl Drop for AnswerChunk {
    fn drop(&mut self) {
        if self.sending.pieces.fetch_sub(1, Ordering::Release) == 1 {
            self.sending.waits.wake();
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
            .for_each(|progress| progress.moved.note());
        self.bytes.advance(count);
    }
}
