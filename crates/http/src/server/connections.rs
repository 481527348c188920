//! Connections: the limit of their number, and how long each may stay unused.
//!
//! Three rules apply to every protocol, and also before the server knows the protocol:
//!
//! - A connection without a request in progress is closed after a timeout. A request is in progress
//!   from the end of its headers until the client has read the last byte of the response.
//! - A response is aborted if its client does not read it ([`super::answer`]).
//! - If all connection slots are taken, or all slots of one address, the server closes the
//!   connections that have been idle the longest.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv6Addr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::FutureExt as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Limits;
use super::answer::{ConnectionService, LastEvent, ProgressLimits, ProgressTracker, Streams};
use super::clients::Clients;
use super::memory::Work;
use super::tls::Tls;
use crate::surface::Interface;
use engine::background::BackgroundTask;
use engine::pipeline::OutboundBuffer;

/// The maximum number of HTTP/2 streams of one connection.
const MAX_STREAMS: u32 = 32;
/// Bytes that an HTTP/2 client may send on a stream before the server reads them.
const STREAM_WINDOW: u32 = 64 << 10;
/// Bytes that an HTTP/2 client may send on all streams of a connection before the server reads
/// them. Unread bytes take memory, up to this limit for each connection.
const CONNECTION_WINDOW: u32 = 128 << 10;
/// If the server responds before it has read the whole request, it then reads and discards up to
/// this many bytes of the rest. Otherwise the client could get a reset before it reads the response
/// (RFC 9112, section 9.6).
const MAX_DISCARDED: usize = 16 << 20;
/// Time limit for discarding the rest of a request after the server has responded to it.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of checks for incomplete requests during shutdown.
const INCOMPLETE_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The maximum size of a connection's read buffer in bytes. It also limits the headers of a
/// request.
const MAX_BUFFER: usize = 64 << 10;
/// The maximum number of bytes of one read from a connection. If a read filled 8 KiB, the HTTP
/// library would double its buffer, up to [`MAX_BUFFER`]. That would happen for every connection
/// with a body that arrives faster than the server reads it. Large buffers between small ones also
/// prevent the C library from returning freed memory.
const MAX_READ: usize = (8 << 10) - 1;
/// The maximum number of header fields, and the maximum size of an HTTP/2 header list in bytes.
/// Above these limits, the HTTP library responds with an empty 431. The surface has lower limits,
/// and its 431 explains them.
const MAX_HEADERS: usize = 256;
const MAX_HEADER_LIST: u32 = 64 << 10;
/// The maximum number of bytes of an HTTP/2 stream that the server buffers until the client has
/// taken the earlier bytes of the stream.
const SEND_BUFFER: usize = 64 << 10;
/// Interval of HTTP/2 keep-alive pings, and the time limit for the client's reply.
const PING_INTERVAL: Duration = Duration::from_secs(10);
/// Time in which a connection may end normally after the server has asked the client to close it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Delay at shutdown between the last accepted connection and the closing of idle connections. In
/// this time the server reads requests that have already arrived.
const READ_DELAY: Duration = Duration::from_millis(100);
/// Delay after a failed accept, for example when there are no free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// Interval of searches for idle connections while a new connection waits for a slot.
const IDLE_SEARCH_INTERVAL: Duration = Duration::from_millis(100);
/// When all connection slots are taken, the server closes this fraction of the connection limit at
/// once: `limit / CLOSED_DIVISOR` idle connections. So the server need not search for an idle
/// connection for each new connection.
const CLOSED_DIVISOR: usize = 128;

/// Accepts connections until `stop` is cancelled, then waits for all connections to end.
pub fn accept(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    interface: Interface,
    limits: Limits,
    outbound: Arc<OutboundBuffer>,
    stop: CancellationToken,
) -> BackgroundTask {
    async move {
        let closing = CancellationToken::new().drop_guard();
        let connections = Arc::new(Connections::new(
            limits,
            tls,
            interface,
            outbound.clone(),
            closing.token().clone(),
        ));
        let work = connections.work.clone();
        let returning = async move { work.return_memory().await };
        tokio::spawn(closing.token().clone().run_until_cancelled_owned(returning));
        while let Some(result) = stop.run_until_cancelled(listener.accept()).await {
            match result {
                Ok((stream, peer)) => {
                    let permit = stop.run_until_cancelled(connections.slot_permit()).await;
                    connections.admit(stream, peer.ip(), permit);
                }
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection; trying again shortly");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
        for (stream, address) in queued_connections(listener) {
            connections.admit(stream, address, None);
        }
        let _hurry = outbound.shorten_timeouts();
        if !connections.serving.is_empty() {
            // Wait for the connections to read requests that have already arrived. A connection
            // that has read nothing would be closed without a response.
            tokio::time::sleep(READ_DELAY).await;
        }
        drop(closing);
        connections.serving.close();
        connections.serving.wait().await;
    }
    .boxed()
}

/// Returns the connections in the kernel's accept queue. Closing the listener would reset them.
fn queued_connections(listener: TcpListener) -> Vec<(TcpStream, IpAddr)> {
    let Ok(listener) = listener.into_std() else {
        return Vec::new();
    };
    let connections = std::iter::from_fn(|| listener.accept().ok());
    let to_tokio_stream = |stream: std::net::TcpStream| {
        stream
            .set_nonblocking(true)
            .and_then(|()| TcpStream::from_std(stream))
    };
    connections
        .filter_map(|(stream, peer)| Some((to_tokio_stream(stream).ok()?, peer.ip())))
        .collect()
}

/// A connection of either HTTP version.
type Connection<'b> =
    auto::Connection<'b, TokioIo<SmallReads<Transport>>, ConnectionService, Streams>;

/// The transport of a connection: plain TCP or TLS.
type Transport = Either<Socket, TlsStream<Socket>>;

/// The state that all connections share.
struct Connections {
    limits: Limits,
    tls: Option<Arc<Tls>>,
    interface: Interface,
    clients: Arc<Clients>,
    builder: auto::Builder<Streams>,
    progress_limits: ProgressLimits,
    slots: Arc<Semaphore>,
    open: Mutex<Open>,
    work: Arc<Work>,
    closing: CancellationToken,
    serving: TaskTracker,
}

/// The open connections, each with its number, and the number of open connections from each client
/// IP address. `next` is the number of the next connection.
#[derive(Default)]
struct Open {
    next: u64,
    activities: HashMap<u64, Arc<Activity>>,
    of_address: HashMap<IpAddr, usize>,
}

/// The registration of an open connection. Dropping this value removes the connection from
/// [`Open`].
struct ConnectionEntry {
    connections: Arc<Connections>,
    number: u64,
    activity: Arc<Activity>,
}

impl Connections {
    fn new(
        limits: Limits,
        tls: Option<Arc<Tls>>,
        interface: Interface,
        outbound: Arc<OutboundBuffer>,
        closing: CancellationToken,
    ) -> Self {
        let timeout = ProgressLimits {
            usual: limits.progress_timeout,
            short: limits.short_progress_timeout,
            outbound,
        };
        let mut builder = auto::Builder::new(Streams(timeout.clone()));
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.idle)
            .max_buf_size(MAX_BUFFER)
            .max_headers(MAX_HEADERS);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(Some(PING_INTERVAL))
            .keep_alive_timeout(PING_INTERVAL);
        builder
            .http2()
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HEADER_LIST)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(SEND_BUFFER);
        let slots = Arc::new(Semaphore::new(limits.connections));
        let clients = Arc::new(Clients::new(
            limits.trusted_proxies.clone(),
            limits.connections_per_address,
        ));
        Self {
            limits,
            clients,
            tls,
            interface,
            builder,
            progress_limits: timeout,
            slots,
            open: Mutex::default(),
            work: Arc::default(),
            closing,
            serving: TaskTracker::new(),
        }
    }

    /// Waits for a connection slot. While all slots are taken, closes idle connections, and
    /// shortens the progress timeout of responses.
    async fn slot_permit(&self) -> OwnedSemaphorePermit {
        if let Ok(permit) = self.slots.clone().try_acquire_owned() {
            return permit;
        }
        let _hurry = self.progress_limits.outbound.shorten_timeouts();
        loop {
            dismiss(
                self.open().activities.values(),
                (self.limits.connections / CLOSED_DIVISOR).max(1),
            );
            if let Ok(Ok(permit)) =
                tokio::time::timeout(IDLE_SEARCH_INTERVAL, self.slots.clone().acquire_owned()).await
            {
                return permit;
            }
        }
    }

    /// Serves a connection in a separate task. If the client's address already has the maximum
    /// number of connections, closes one of them that is idle. If none of them is idle, drops the
    /// new connection. Connections of trusted proxies have no such maximum.
    fn admit(
        self: &Arc<Self>,
        stream: TcpStream,
        address: IpAddr,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        let Some(entry) = self.enter(address) else {
            return;
        };
        self.serving.spawn(async move {
            entry.connections.serve(stream, &entry.activity).await;
            drop(entry);
            drop(permit);
        });
    }

    /// Registers a connection. Returns `None` if its address has the maximum number of connections
    /// and none of them is idle.
    fn enter(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionEntry> {
        let address = network(peer);
        let mut open = self.open();
        let Open {
            next,
            activities,
            of_address,
        } = &mut *open;
        let count = of_address.entry(address).or_default();
        let is_at_limit = self
            .limits
            .connections_per_address
            .is_some_and(|limit| *count >= limit.get())
            && !self.clients.proxies.has(peer);
        if is_at_limit
            && !dismiss(
                activities
                    .values()
                    .filter(|activity| activity.address == address),
                1,
            )
        {
            return None;
        }
        *count += 1;
        *next += 1;
        let activity = Arc::new(Activity::new(peer));
        activities.insert(*next, activity.clone());
        Some(ConnectionEntry {
            connections: self.clone(),
            number: *next,
            activity,
        })
    }

    /// Serves a connection until it ends or is aborted.
    async fn serve(&self, stream: TcpStream, activity: &Arc<Activity>) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(
                %error,
                "could not set TCP_NODELAY on a connection; its small packets may be delayed"
            );
        }
        let socket = Socket {
            stream,
            activity: activity.clone(),
            work: self.work.clone(),
            discard_limits: None,
        };
        let Some(transport) = self.transport(socket, activity).await else {
            return;
        };
        let service = ConnectionService {
            interface: self.interface.clone(),
            is_secure: self.tls.is_some(),
            activity: activity.clone(),
            clients: self.clients.clone(),
        };
        let mut connection = pin!(
            self.builder
                .serve_connection(TokioIo::new(SmallReads(transport)), service)
        );
        tokio::select! {
            () = self.run_to_end(connection.as_mut(), activity) => {}
            () = activity.progress.until_stalled(&self.progress_limits) => {
                // This flag makes the socket discard the unread bytes of the response that the
                // kernel still buffers.
                activity.is_aborted.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Does the TLS handshake, if TLS is configured. If a client does not complete the handshake in
    /// the time that a connection may be idle, the connection is closed.
    async fn transport(&self, socket: Socket, activity: &Activity) -> Option<Transport> {
        let Some(tls) = &self.tls else {
            return Some(Either::Left(socket));
        };
        let shutdown = async {
            self.closing.cancelled().await;
            tokio::time::sleep(CLOSE_TIMEOUT).await;
        };
        tokio::select! {
            stream = tls.handshake(socket, CLOSE_TIMEOUT) => stream.map(Either::Right),
            () = tokio::time::sleep(self.limits.idle) => None,
            () = activity.until_dismissed() => None,
            () = shutdown => None,
        }
    }

    /// Serves a connection until it ends. Closes it when it is idle for too long, or at shutdown.
    async fn run_to_end(&self, mut connection: Pin<&mut Connection<'_>>, activity: &Activity) {
        let mut closing_since = None;
        let closing = async {
            // Before the connection closes, read the requests that have already arrived. With TLS,
            // a request may have arrived with the end of the handshake.
            let started = Instant::now();
            self.closing.cancelled().await;
            tokio::time::sleep_until(started + READ_DELAY).await;
        };
        let mut closing = pin!(closing);
        loop {
            let idle = if closing_since.is_some() {
                CLOSE_TIMEOUT
            } else {
                self.limits.idle
            };
            tokio::select! {
                result = connection.as_mut() => {
                    if let Err(error) = result {
                        tracing::debug!(%error, "a connection ended with an error");
                    }
                    return;
                }
                () = activity.until_idle_for(idle, closing_since) => {
                    if closing_since.is_some() {
                        return;
                    }
                }
                () = &mut closing, if closing_since.is_none() => {}
                () = activity.until_dismissed() => return,
                // An incomplete request does not delay the shutdown: it has changed nothing, and
                // its client could leave it incomplete for a long time.
                () = activity.until_only_incomplete(), if closing_since.is_some() => return,
            }
            connection.as_mut().graceful_shutdown();
            closing_since = Some(Instant::now());
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.activities.remove(&self.number);
        if let Some(count) = open.of_address.get_mut(&self.activity.address) {
            *count -= 1;
            if *count == 0 {
                open.of_address.remove(&self.activity.address);
            }
        }
    }
}

/// Asks the connections that have been idle the longest to close, at most `count`. Returns whether
/// there was an idle connection that had not been asked before.
fn dismiss<'a>(activities: impl Iterator<Item = &'a Arc<Activity>>, count: usize) -> bool {
    let is_dismissible = |activity: &&Arc<Activity>| {
        activity.is_idle() && !activity.is_dismissed.load(Ordering::Relaxed)
    };
    let mut idle: Vec<_> = activities
        .filter(is_dismissible)
        .map(|activity| (activity.last_request_end.when(), activity))
        .collect();
    if count < idle.len() {
        idle.select_nth_unstable_by_key(count, |(since, _)| *since);
        idle.truncate(count);
    }
    for (_, activity) in &idle {
        activity.is_dismissed.store(true, Ordering::Relaxed);
        activity.dismissed.notify_one();
    }
    !idle.is_empty()
}

/// Returns the address under which connections are counted for the limit per address. For IPv6,
/// this is the network of 64 bits that a customer usually gets.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// The activity of a connection. The server uses it to find idle connections and to close them.
pub(super) struct Activity {
    peer: IpAddr,
    address: IpAddr,
    /// The number of requests of this connection that are in progress.
    requests: AtomicUsize,
    /// The number of requests in progress whose body has not arrived completely.
    incomplete_bodies: AtomicUsize,
    /// Whether the server responded to a request before it had read the body. If so, the server
    /// reads and discards the rest of the request before it closes the connection.
    closes_in_stages: AtomicBool,
    /// When the last request ended. Only meaningful while no request is in progress.
    last_request_end: LastEvent,
    progress: ProgressTracker,
    is_dismissed: AtomicBool,
    dismissed: Notify,
    is_aborted: AtomicBool,
}

/// Counts a request as in progress until this value is dropped.
pub(super) struct RequestGuard(Arc<Activity>);

impl Activity {
    fn new(peer: IpAddr) -> Self {
        Self {
            peer,
            address: network(peer),
            requests: AtomicUsize::new(0),
            incomplete_bodies: AtomicUsize::new(0),
            closes_in_stages: AtomicBool::new(false),
            last_request_end: LastEvent::default(),
            progress: ProgressTracker::default(),
            is_dismissed: AtomicBool::new(false),
            dismissed: Notify::new(),
            is_aborted: AtomicBool::new(false),
        }
    }

    /// Returns the address at the other end of the connection, which may be that of a proxy.
    pub(super) const fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Counts a request as in progress until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> RequestGuard {
        self.requests.fetch_add(1, Ordering::Relaxed);
        RequestGuard(self.clone())
    }

    /// Counts the body of a request as incomplete until the guard is dropped.
    pub(super) fn begin_body(self: &Arc<Self>) -> IncompleteBody {
        self.incomplete_bodies.fetch_add(1, Ordering::Relaxed);
        IncompleteBody(self.clone())
    }

    /// Makes the connection read and discard the rest of the request before it is closed.
    pub(super) fn close_in_stages(&self) {
        self.closes_in_stages.store(true, Ordering::Relaxed);
    }

    /// Waits until all requests in progress on the connection have had incomplete bodies for
    /// [`CLOSE_TIMEOUT`] without a break. Requests may begin and end during that time.
    async fn until_only_incomplete(&self) {
        let mut since = None;
        loop {
            let requests = self.requests.load(Ordering::Relaxed);
            since = if requests > 0 && self.incomplete_bodies.load(Ordering::Relaxed) >= requests {
                since.or_else(|| Some(Instant::now()))
            } else {
                None
            };
            if since.is_some_and(|since| since.elapsed() >= CLOSE_TIMEOUT) {
                return;
            }
            tokio::time::sleep(INCOMPLETE_CHECK_INTERVAL).await;
        }
    }

    fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0
    }

    /// Waits until the connection has had no request in progress for `duration`. Idle time before
    /// `since` does not count.
    async fn until_idle_for(&self, duration: Duration, since: Option<Instant>) {
        loop {
            let now = Instant::now();
            let idle_since = if self.is_idle() {
                self.last_request_end.when()
            } else {
                now
            };
            let deadline = since.map_or(idle_since, |since| since.max(idle_since)) + duration;
            if deadline <= now {
                return;
            }
            tokio::time::sleep_until(deadline).await;
        }
    }

    /// Waits until the connection is asked to close and has no request in progress.
    async fn until_dismissed(&self) {
        loop {
            self.dismissed.notified().await;
            if self.is_idle() {
                return;
            }
            // A request arrived before the connection was closed, so the connection stays open.
            self.is_dismissed.store(false, Ordering::Relaxed);
        }
    }
}

impl RequestGuard {
    /// Returns the progress of the responses of the connection.
    pub(super) fn progress(&self) -> &ProgressTracker {
        &self.0.progress
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.last_request_end.record();
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts the body of a request as incomplete until this value is dropped.
pub(super) struct IncompleteBody(Arc<Activity>);

impl Drop for IncompleteBody {
    fn drop(&mut self) {
        self.0.incomplete_bodies.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Limits for discarding the rest of a request before its connection is closed: a number of bytes,
/// and a deadline.
struct DiscardLimits {
    remaining: usize,
    deadline: Pin<Box<Sleep>>,
}

/// The socket of a connection. If the connection is aborted, closing the socket discards all unsent
/// data.
pub(super) struct Socket {
    stream: TcpStream,
    activity: Arc<Activity>,
    work: Arc<Work>,
    discard_limits: Option<DiscardLimits>,
}

impl Socket {
    /// Reads and discards the bytes that the client still sends, within the limits of bytes and
    /// time.
    fn poll_discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let discard_limits = self.discard_limits.get_or_insert_with(|| DiscardLimits {
            remaining: MAX_DISCARDED,
            deadline: Box::pin(tokio::time::sleep(DISCARD_TIMEOUT)),
        });
        let mut bytes = [0; 8 << 10];
        while discard_limits.remaining > 0
            && discard_limits.deadline.as_mut().poll(context).is_pending()
        {
            let mut buffer = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {
                    discard_limits.remaining = discard_limits
                        .remaining
                        .saturating_sub(buffer.filled().len());
                }
                _ => break,
            }
        }
        Poll::Ready(())
    }

    /// Returns the client's first byte without consuming it, or `None` if the client has closed its
    /// side.
    pub(super) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        let count = self.stream.peek(&mut byte).await?;
        Ok((count > 0).then_some(byte[0]))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.work.add_connection();
        if self.activity.is_aborted.load(Ordering::Relaxed) {
            // The call fails if the socket is already closed. Then there is no unsent data.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.work.add(buffer.filled().len() - before);
        polled
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = self.get_mut();
        if socket.discard_limits.is_none() {
            ready!(Pin::new(&mut socket.stream).poll_shutdown(context))?;
        }
        if socket.activity.closes_in_stages.load(Ordering::Relaxed) {
            ready!(socket.poll_discard(context));
        }
        Poll::Ready(Ok(()))
    }
}

/// A transport whose reads take at most [`MAX_READ`] bytes.
struct SmallReads<T>(T);

impl<T: AsyncRead + Unpin> AsyncRead for SmallReads<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let max = buffer.remaining().min(MAX_READ);
        let mut limited = ReadBuf::new(buffer.initialize_unfilled_to(max));
        ready!(Pin::new(&mut self.0).poll_read(context, &mut limited))?;
        let count = limited.filled().len();
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for SmallReads<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
