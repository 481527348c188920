//! Tracks how far the server has read a request's body, and counts the bytes of the body.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::router::Peer;
use engine::pipeline::{Incoming, Receiving, Refusal, Sender};

/// Marks a response that was sent before the body of its request was completely read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnreadBody;

/// Whether a request body has been read to its end, and whether it was refused.
#[derive(Clone)]
pub(super) struct BodyProgress {
    is_over: Arc<AtomicBool>,
    refusal: Refusal,
}

impl BodyProgress {
    /// Wraps the body of a request. The returned [`BodyProgress`] records whether the body was
    /// completely read. The bytes of the body count toward the memory limit of the client's
    /// address.
    pub(super) fn watch(request: Request, incoming: &Arc<Incoming>) -> (Request, Self) {
        let receiving = request.extensions().get::<Receiving>().cloned();
        let is_over = request.body().is_end_stream();
        let progress = Self {
            is_over: Arc::new(AtomicBool::new(is_over)),
            refusal: Refusal::default(),
        };
        if is_over {
            if let Some(receiving) = receiving {
                receiving.release();
            }
            return (request, progress);
        }
        let peer = request.extensions().get::<Peer>().copied();
        let (parts, body) = request.into_parts();
        let (body, refusal) = match peer {
            Some(Peer(address)) => incoming.counted(Sender::Address(address), body),
            None => (body, progress.refusal),
        };
        let is_over = progress.is_over;
        let body = Body::new(WatchedBody {
            body,
            is_over: is_over.clone(),
            receiving,
        });
        (Request::from_parts(parts, body), Self { is_over, refusal })
    }

    /// Returns whether the body was completely read.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Returns whether the body was refused because there was no memory for it.
    pub(super) fn is_refused(&self) -> bool {
        self.refusal.is_refused()
    }
}

struct WatchedBody {
    body: Body,
    is_over: Arc<AtomicBool>,
    receiving: Option<Receiving>,
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.is_over.store(true, Ordering::Relaxed);
            if let Some(receiving) = self.receiving.take() {
                receiving.release();
            }
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
