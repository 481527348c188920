//! Whether the body of a request was read to its end.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// How far the reading of a body has come.
#[derive(Clone)]
pub(super) struct Reading(Arc<AtomicBool>);

impl Reading {
    /// The request with its body watched.
    pub(super) fn watch(request: Request) -> (Request, Self) {
        let is_over = request.body().is_end_stream();
        let reading = Self(Arc::new(AtomicBool::new(is_over)));
        if is_over {
            return (request, reading);
        }
        let watched = reading.clone();
        (request.map(|body| Body::new(Watched { body, reading: watched })), reading)
    }

    /// Whether there was nothing left of it.
    pub(super) fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Watched {
    body: Body,
    reading: Reading,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.reading.0.store(true, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
