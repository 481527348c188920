//! Marks each connection on which the receiver has answered a request. When a later request on the
//! connection fails, this mark tells the HTTP client whether the receiver had already closed the
//! idle connection, or whether the request was cut off.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper::rt;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower::Service;

/// The marks of one connection to a receiver ([`State`]): whether the receiver has answered a
/// request on the connection, whether bytes have arrived since the last send, and whether the
/// connection uses HTTP/2. Clones share the same marks.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionMarks(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether a request on this connection has been answered.
    has_answered: AtomicBool,
    /// Whether bytes have arrived since the last bytes were sent. Over HTTP/1.1 the arrived bytes
    /// are part of a response. Over HTTP/2 they may come from another stream.
    has_received: AtomicBool,
    /// Whether the connection uses HTTP/2. Bytes that have arrived then do not show that a response
    /// has begun.
    is_http2: AtomicBool,
}

impl ConnectionMarks {
    /// Records that a request was answered.
    pub(super) fn mark_answered(&self) {
        self.0.has_answered.store(true, Ordering::Relaxed);
    }

    /// Returns whether a request on this connection was answered before, and no byte of the
    /// response to the last request has arrived. Over HTTP/2, does not check the second condition,
    /// because the arrived bytes may belong to another stream.
    pub(super) fn is_reused_and_silent(&self) -> bool {
        let is_set = |mark: &AtomicBool| mark.load(Ordering::Relaxed);
        is_set(&self.0.has_answered) && (is_set(&self.0.is_http2) || !is_set(&self.0.has_received))
    }
}

/// A connector that adds [`ConnectionMarks`] to its connections.
#[derive(Clone)]
pub(super) struct MarkingConnector<S>(S);

impl<S> MarkingConnector<S> {
    pub(super) fn new(connector: S) -> Self {
        Self(connector)
    }
}

impl<S, R> Service<R> for MarkingConnector<S>
where
    S: Service<R>,
    S::Response: Connection,
    S::Future: Send + 'static,
    S::Error: 'static,
{
    type Response = TokioIo<MarkedConnection<S::Response>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, destination: R) -> Self::Future {
        let connecting = self.0.call(destination);
        Box::pin(async move {
            Ok(TokioIo::new(MarkedConnection {
                inner: TokioIo::new(connecting.await?),
                marks: ConnectionMarks::default(),
            }))
        })
    }
}

/// A connection with its [`ConnectionMarks`].
pub(super) struct MarkedConnection<C> {
    inner: TokioIo<C>,
    marks: ConnectionMarks,
}

impl<C: Connection> Connection for MarkedConnection<C> {
    fn connected(&self) -> Connected {
        let connected = self.inner.inner().connected();
        let is_http2 = connected.is_negotiated_h2();
        self.marks.0.is_http2.store(is_http2, Ordering::Relaxed);
        connected.extra(self.marks.clone())
    }
}

impl<C: rt::Read + Unpin> AsyncRead for MarkedConnection<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.marks.0.has_received.store(true, Ordering::Relaxed);
        }
        polled
    }
}

impl<C: rt::Write + Unpin> AsyncWrite for MarkedConnection<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.marks.0.has_received.store(false, Ordering::Relaxed);
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.marks.0.has_received.store(false, Ordering::Relaxed);
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_connection_that_answered_before_and_is_silent_now_counts_as_closed_early() {
        let marks = ConnectionMarks::default();
        assert!(!marks.is_reused_and_silent(), "a new connection");
        marks.mark_answered();
        assert!(marks.is_reused_and_silent());
        marks.0.has_received.store(true, Ordering::Relaxed);
        assert!(!marks.is_reused_and_silent(), "a part of a response");
        marks.0.is_http2.store(true, Ordering::Relaxed);
        assert!(marks.is_reused_and_silent(), "bytes of other streams");
    }
}
