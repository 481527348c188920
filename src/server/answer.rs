//! An answer on its way to a client: how long it makes no headway, and what of it has been taken.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::{Buf, Bytes};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::Service;
use tokio::time::Instant;
use tower::ServiceExt as _;

use super::connections::{Activity, Turn};
use crate::surface::{Held, Unsent};

tokio::task_local! {
    /// Whose headway the answers of this task are: that of an HTTP/1.1 connection, or of an HTTP/2 stream.
    static HEADWAY: Arc<Headway>;
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

/// How the sending of answers gets on.
#[derive(Default)]
pub(super) struct Headway {
    /// Answers of which something is to be sent.
    answers: AtomicUsize,
    moved: Since,
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
        let mut reasons = patience.unsent.reasons_to_hurry();
        loop {
            let is_hurried = *reasons.borrow_and_update() > 0;
            let limit = if is_hurried { patience.hurried } else { patience.usual };
            let until = if self.answers.load(Ordering::Relaxed) > 0 { self.moved.when() + limit } else { Instant::now() + limit };
            if until <= Instant::now() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                // Its sender is held by what patience is about.
                _ = reasons.changed() => {}
            }
        }
    }
}

/// Does `work`, whose answers are these; `None` where the client does not take one of them.
pub(super) async fn unless_lost<W: Future>(headway: Arc<Headway>, patience: &Patience, work: W) -> Option<W::Output> {
    let lost = headway.clone();
    tokio::select! {
        done = HEADWAY.scope(headway, work) => Some(done),
        () = lost.is_lost(patience) => None,
    }
}

/// Runs the streams of HTTP/2 connections, each for as long as its client takes what it asked for. What is given up is reset,
/// and the other streams of the connection go on.
#[derive(Clone)]
pub(super) struct Streams(pub Patience);

impl<S: Future<Output = ()> + Send + 'static> Executor<S> for Streams {
    fn execute(&self, stream: S) {
        let patience = self.0.clone();
        tokio::spawn(async move { unless_lost(Arc::default(), &patience, stream).await });
    }
}

/// The interface, as one connection sees it.
pub(super) struct Answering {
    pub router: Router,
    pub activity: Arc<Activity>,
}

impl Service<Request<Incoming>> for Answering {
    type Response = Response<Outgoing>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Outgoing>, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let turn = self.activity.begin();
        let answered = self.router.clone().oneshot(request);
        async move {
            let mut response = answered.await?;
            let held = response.extensions_mut().remove();
            let answer = Arc::new(Answer::begin(turn, held));
            Ok(response.map(|body| Outgoing { body, answer }))
        }
        .boxed()
    }
}

/// What lasts until the last byte of an answer has been taken from us, or is given up.
struct Answer {
    headway: Arc<Headway>,
    _turn: Turn,
    _held: Option<Arc<Held>>,
}

impl Answer {
    fn begin(turn: Turn, held: Option<Arc<Held>>) -> Self {
        let headway = HEADWAY.try_with(Arc::clone).unwrap_or_default();
        headway.moved.note();
        headway.answers.fetch_add(1, Ordering::Relaxed);
        Self { headway, _turn: turn, _held: held }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.headway.answers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer.
pub(super) struct Outgoing {
    body: Body,
    answer: Arc<Answer>,
}

impl HttpBody for Outgoing {
    type Data = Piece;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Piece>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map_ok(|frame| frame.map_data(|bytes| Piece { bytes, answer: self.answer.clone() }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A piece of a body, until it has been taken.
pub(super) struct Piece {
    bytes: Bytes,
    answer: Arc<Answer>,
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.answer.headway.moved.note();
        self.bytes.advance(count);
    }
}
