//! An answer on its way to a client: how long it makes no headway, and what of it has been taken.

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
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::Service;
use tokio::time::Instant;

use super::connections::{Activity, Turn};
use crate::pipeline::{Held, Unsent};
use crate::surface::{Interface, Peer};

tokio::task_local! {
    /// The headway of the HTTP/2 stream that this task is.
    static STREAM: Arc<Headway>;
}

/// When something happened last.
pub(super) struct Since {
    start: Instant,
    nanoseconds: AtomicU64,
}

impl Since {
    /// It happens now.
    pub(super) fn note(&self) {
        self.nanoseconds.store(nanoseconds(self.start.elapsed()), Ordering::Relaxed);
    }

    /// When it was.
    pub(super) fn when(&self) -> Instant {
        self.start + Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

impl Default for Since {
    fn default() -> Self {
        Self { start: Instant::now(), nanoseconds: AtomicU64::new(0) }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// How the sending of answers gets on, those of a connection or that of a stream.
#[derive(Default)]
pub(super) struct Headway {
    /// Answers of which something is to be sent.
    answers: AtomicUsize,
    moved: Since,
    /// The room that the last of them takes: whose it is decides whether there is a reason to hurry.
    held: Mutex<Weak<Held>>,
    /// Whether there are streams, each of which is given up by itself: the whole has twice the time.
    has_streams: AtomicBool,
}

/// How long an answer may make no headway.
#[derive(Clone)]
pub(super) struct Patience {
    /// Ordinarily.
    pub usual: Duration,
    /// Where there is a reason to hurry.
    pub hurried: Duration,
    /// Knows whether there is.
    pub unsent: Arc<Unsent>,
}

impl Headway {
    /// Returns when there is an answer that has made none for too long.
    pub(super) async fn is_lost(&self, patience: &Patience) {
        let mut hurries = patience.unsent.hurries();
        loop {
            hurries.mark_unchanged();
            let is_hurried = self.held().upgrade().map_or_else(|| patience.unsent.is_hurried(None), |held| held.is_hurried());
            let times = if self.has_streams.load(Ordering::Relaxed) { 2 } else { 1 };
            let limit = times * if is_hurried { patience.hurried } else { patience.usual };
            let until = if self.answers.load(Ordering::Relaxed) > 0 { self.moved.when() + limit } else { Instant::now() + limit };
            if until <= Instant::now() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                // Its sender is held by what patience is about.
                _ = hurries.changed() => {}
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Weak<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the streams of HTTP/2 connections, each for as long as its client takes what it asked for. What is given up is reset,
/// and the other streams of the connection go on.
#[derive(Clone)]
pub(super) struct Streams(pub Patience);

impl<S: Future<Output = ()> + Send + 'static> Executor<S> for Streams {
    fn execute(&self, stream: S) {
        let (patience, headway) = (self.0.clone(), Arc::<Headway>::default());
        tokio::spawn(async move {
            tokio::select! {
                () = STREAM.scope(headway.clone(), stream) => {}
                () = headway.is_lost(&patience) => {}
            }
        });
    }
}

/// The interface, as one connection sees it.
pub(super) struct Answering {
    pub interface: Interface,
    pub activity: Arc<Activity>,
}

impl Service<Request<Incoming>> for Answering {
    type Response = Response<Outgoing>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Outgoing>, Infallible>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let turn = self.activity.begin();
        request.extensions_mut().insert(Peer(self.activity.address()));
        let answered = self.interface.clone().answer(request.map(Body::new));
        async move {
            let mut response = answered.await;
            let held = response.extensions_mut().remove();
            let sending = Arc::new(Sending::begin(turn, held));
            Ok(response.map(|body| Outgoing { body, sending, has_begun: false, is_over: false }))
        }
        .boxed()
    }
}

/// What lasts until the last byte of an answer has been taken from us, or is given up.
struct Sending {
    turn: Turn,
    stream: Option<Arc<Headway>>,
    held: Option<Arc<Held>>,
    /// Pieces that have not been taken yet.
    pieces: AtomicUsize,
    /// Waits until there is none.
    waits: AtomicWaker,
}

impl Sending {
    fn begin(turn: Turn, held: Option<Arc<Held>>) -> Self {
        let stream = STREAM.try_with(Arc::clone).ok();
        if stream.is_some() {
            turn.headway().has_streams.store(true, Ordering::Relaxed);
        }
        let sending = Self { turn, stream, held, pieces: AtomicUsize::new(0), waits: AtomicWaker::new() };
        for headway in sending.headways() {
            headway.moved.note();
            *headway.held() = sending.held.as_ref().map_or_else(Weak::new, Arc::downgrade);
            headway.answers.fetch_add(1, Ordering::Relaxed);
        }
        sending
    }

    fn headways(&self) -> impl Iterator<Item = &Headway> {
        [self.turn.headway()].into_iter().chain(self.stream.as_deref())
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        for headway in self.headways() {
            headway.answers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The body of an answer. That of a stream ends only once all of it has been taken: until then the stream can be given up, and
/// what waits is dropped.
pub(super) struct Outgoing {
    body: Body,
    sending: Arc<Sending>,
    has_begun: bool,
    is_over: bool,
}

impl HttpBody for Outgoing {
    type Data = Piece;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Piece>, axum::Error>>> {
        if !self.is_over {
            self.has_begun = true;
            if let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) {
                return Poll::Ready(Some(frame.map(|frame| frame.map_data(|bytes| Piece::new(bytes, &self.sending)))));
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

/// A piece of a body, until it has been taken.
pub(super) struct Piece {
    bytes: Bytes,
    sending: Arc<Sending>,
}

impl Piece {
    fn new(bytes: Bytes, sending: &Arc<Sending>) -> Self {
        sending.pieces.fetch_add(1, Ordering::Relaxed);
        Self { bytes, sending: sending.clone() }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.sending.pieces.fetch_sub(1, Ordering::Release) == 1 {
            self.sending.waits.wake();
        }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.sending.headways().for_each(|headway| headway.moved.note());
        self.bytes.advance(count);
    }
}
