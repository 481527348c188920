//! Connections: how many may be open, and how long each may stay unused.
//!
//! Three rules hold for every protocol, also before the client has shown which protocol it speaks:
//!
//! - A connection without a request in progress is closed after a timeout. A request is in progress
//!   from the end of its headers until the last byte of its answer is taken.
//! - An answer is aborted if its client does not read it ([`super::answer`]).
//! - When all connection slots are taken, or all slots of one address, the connections that have
//!   been idle the longest are closed.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv6Addr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

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
use engine::pipeline::OutboundBuffer;

/// The most HTTP/2 streams of one connection.
const STREAMS: u32 = 32;
/// Bytes that an HTTP/2 client may send on a stream before the server reads them.
const STREAM_WINDOW: u32 = 64 << 10;
/// Bytes that an HTTP/2 client may send on all streams of a connection before the server reads
/// them. Unread bytes are held in memory, up to this limit for each connection.
const CONNECTION_WINDOW: u32 = 128 << 10;
/// Bytes that are read and discarded of a request that was answered early. Without that, the client
/// could get a reset before it reads the answer (RFC 9112, section 9.6).
const DROPPED: usize = 16 << 20;
/// Time limit for discarding the rest of such a request.
const DROPPING: Duration = Duration::from_secs(5);
/// Interval of checks for incomplete requests during shutdown.
const LOOK_AT_END: Duration = Duration::from_millis(100);
/// The most bytes that a connection's read buffer may hold. It is also the limit of a request's
/// headers.
const BUFFER: usize = 64 << 10;
/// Bytes that one read takes from a connection. A read of 8 KiB that is filled would let the HTTP
/// library double its buffer, up to [`BUFFER`], for every connection with a body that arrives
/// faster than it is read. Large buffers between small ones also keep the C library from returning
/// memory when they are freed.
const READ: usize = (8 << 10) - 1;
/// The most header fields that are read, and the most bytes of an HTTP/2 header list. The surface
/// has lower limits and answers with an explanation.
const HEADERS: usize = 256;
const HEADER_LIST: u32 = 64 << 10;
/// Bytes of an HTTP/2 stream that are buffered before its client has taken the bytes before them.
const SEND_BUFFER: usize = 64 << 10;
/// Interval of HTTP/2 keep-alive pings, and the time that the client has to answer one.
const PING: Duration = Duration::from_secs(10);
/// Time that a connection has to end by itself after the server has asked it to close.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Pause between the last accepted connection and closing the idle ones. A request that has already
/// arrived is read in that time.
const READ_PAUSE: Duration = Duration::from_millis(100);
/// Pause after a failed accept, for example when file descriptors are used up.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Interval of searches for idle connections while a new connection waits for a slot.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Divisor of the connection limit: `limit / BATCH` idle connections are closed at once, so that
/// the search does not run for each new connection.
const BATCH: usize = 128;

/// Accepts connections until `stop` is cancelled, then waits for all connections to end.
pub async fn accept(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    interface: Interface,
    limits: Limits,
    outbound: Arc<OutboundBuffer>,
    stop: CancellationToken,
) {
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
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, peer)) => {
                let place = stop.run_until_cancelled(connections.place()).await;
                connections.admit(stream, peer.ip(), place);
            }
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection; trying again shortly");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    for (stream, address) in queued(listener) {
        connections.admit(stream, address, None);
    }
    let _hurry = outbound.shorten_timeouts();
    if !connections.serving.is_empty() {
        // Read pending requests first: a connection that was never read would close without an
        // answer.
        tokio::time::sleep(READ_PAUSE).await;
    }
    drop(closing);
    connections.serving.close();
    connections.serving.wait().await;
}

/// Returns the connections in the kernel's accept queue. Closing the listener would reset them.
fn queued(listener: TcpListener) -> Vec<(TcpStream, IpAddr)> {
    let Ok(listener) = listener.into_std() else {
        return Vec::new();
    };
    let accepted = std::iter::from_fn(|| listener.accept().ok());
    let opened = |stream: std::net::TcpStream| {
        stream
            .set_nonblocking(true)
            .and_then(|()| TcpStream::from_std(stream))
    };
    accepted
        .filter_map(|(stream, peer)| Some((opened(stream).ok()?, peer.ip())))
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
    places: Arc<Semaphore>,
    open: Mutex<Open>,
    work: Arc<Work>,
    closing: CancellationToken,
    serving: TaskTracker,
}

/// The open connections, and how many of them each address has.
#[derive(Default)]
struct Open {
    next: u64,
    activities: HashMap<u64, Arc<Activity>>,
    of_address: HashMap<IpAddr, usize>,
}

/// The registration of an open connection. Dropping it removes the connection from [`Open`].
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
            hurried: limits.hurried_progress_timeout,
            outbound,
        };
        let mut builder = auto::Builder::new(Streams(timeout.clone()));
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.idle)
            .max_buf_size(BUFFER)
            .max_headers(HEADERS);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(Some(PING))
            .keep_alive_timeout(PING);
        builder
            .http2()
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HEADER_LIST)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(SEND_BUFFER);
        let places = Arc::new(Semaphore::new(limits.connections));
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
            places,
            open: Mutex::default(),
            work: Arc::default(),
            closing,
            serving: TaskTracker::new(),
        }
    }

    /// Waits for a connection slot. While all slots are taken, idle connections are closed, and
    /// answers whose clients do not read get a shorter progress timeout.
    async fn place(&self) -> OwnedSemaphorePermit {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return place;
        }
        let _hurry = self.progress_limits.outbound.shorten_timeouts();
        loop {
            dismiss(
                self.open().activities.values(),
                (self.limits.connections / BATCH).max(1),
            );
            if let Ok(Ok(place)) =
                tokio::time::timeout(LOOK_EVERY, self.places.clone().acquire_owned()).await
            {
                return place;
            }
        }
    }

    /// Serves a connection in its own task. If its address is at the limit, an idle connection of
    /// the same address is closed; without one the new connection is dropped.
    fn admit(
        self: &Arc<Self>,
        stream: TcpStream,
        address: IpAddr,
        place: Option<OwnedSemaphorePermit>,
    ) {
        let Some(entry) = self.enter(address) else {
            return;
        };
        self.serving.spawn(async move {
            entry.connections.serve(stream, &entry.activity).await;
            drop(entry);
            drop(place);
        });
    }

    fn enter(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionEntry> {
        let address = network(peer);
        let mut open = self.open();
        let Open {
            next,
            activities,
            of_address,
        } = &mut *open;
        let count = of_address.entry(address).or_default();
        let is_one_too_many = self
            .limits
            .connections_per_address
            .is_some_and(|limit| *count >= limit.get())
            && !self.clients.proxies.has(peer);
        if is_one_too_many
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
            tracing::debug!(%error, "could not set TCP_NODELAY on a connection; its small packets may be delayed");
        }
        let socket = Socket {
            stream,
            activity: activity.clone(),
            work: self.work.clone(),
            dropping: None,
        };
        let Some(way) = self.way(socket, activity).await else {
            return;
        };
        let answering = ConnectionService {
            interface: self.interface.clone(),
            is_secure: self.tls.is_some(),
            activity: activity.clone(),
            clients: self.clients.clone(),
        };
        let mut connection = pin!(
            self.builder
                .serve_connection(TokioIo::new(SmallReads(way)), answering)
        );
        tokio::select! {
            () = self.see_to_its_end(connection.as_mut(), activity) => {}
            () = activity.progress.is_lost(&self.progress_limits) => {
                // Discard also the bytes of the unread answer that the kernel still buffers.
                activity.is_cut.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Does the TLS handshake, if TLS is configured. A client that does not complete the handshake
    /// in time is treated as an idle connection.
    async fn way(&self, socket: Socket, activity: &Activity) -> Option<Transport> {
        let Some(tls) = &self.tls else {
            return Some(Either::Left(socket));
        };
        let closes = async {
            self.closing.cancelled().await;
            tokio::time::sleep(LAST_WORDS).await;
        };
        tokio::select! {
            agreed = tls.agree(socket, LAST_WORDS) => agreed.map(Either::Right),
            () = tokio::time::sleep(self.limits.idle) => None,
            () = activity.gives_way() => None,
            () = closes => None,
        }
    }

    async fn see_to_its_end(&self, mut connection: Pin<&mut Connection<'_>>, activity: &Activity) {
        let mut closes_since = None;
        let closing = async {
            // Read a pending request first. Over TLS it may have arrived with the end of the
            // handshake.
            let begun = Instant::now();
            self.closing.cancelled().await;
            tokio::time::sleep_until(begun + READ_PAUSE).await;
        };
        let mut closing = pin!(closing);
        loop {
            let idle = if closes_since.is_some() {
                LAST_WORDS
            } else {
                self.limits.idle
            };
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended with an error");
                    }
                    return;
                }
                () = activity.is_idle_for(idle, closes_since) => {
                    if closes_since.is_some() {
                        return;
                    }
                }
                () = &mut closing, if closes_since.is_none() => {}
                () = activity.gives_way() => return,
                // An incomplete request has changed nothing, and its client could keep it open for
                // long.
                () = activity.only_receives(), if closes_since.is_some() => return,
            }
            connection.as_mut().graceful_shutdown();
            closes_since = Some(Instant::now());
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

/// Asks up to `count` of the longest idle connections to close. Returns whether there was any.
fn dismiss<'a>(among: impl Iterator<Item = &'a Arc<Activity>>, count: usize) -> bool {
    let is_silent = |activity: &&Arc<Activity>| {
        activity.is_idle() && !activity.is_dismissed.load(Ordering::Relaxed)
    };
    let mut silent: Vec<_> = among
        .filter(is_silent)
        .map(|activity| (activity.silent.when(), activity))
        .collect();
    if count < silent.len() {
        silent.select_nth_unstable_by_key(count, |(since, _)| *since);
        silent.truncate(count);
    }
    for (_, activity) in &silent {
        activity.is_dismissed.store(true, Ordering::Relaxed);
        activity.dismissed.notify_one();
    }
    !silent.is_empty()
}

/// What counts as one address: of IPv6, the network of 64 bits that a customer is given.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// The activity of a connection.
pub(super) struct Activity {
    peer: IpAddr,
    address: IpAddr,
    /// Requests in progress.
    turns: AtomicUsize,
    /// Requests in progress whose body is incomplete.
    receiving: AtomicUsize,
    /// Whether a request was answered before its body was read. If so, the connection is closed in
    /// stages.
    closes_in_stages: AtomicBool,
    /// When the last request ended. Only meaningful while no request is in progress.
    silent: LastEvent,
    /// The progress of the answers of the connection.
    progress: ProgressTracker,
    is_dismissed: AtomicBool,
    dismissed: Notify,
    is_cut: AtomicBool,
}

/// A guard for a request in progress.
pub(super) struct RequestGuard(Arc<Activity>);

impl Activity {
    fn new(peer: IpAddr) -> Self {
        Self {
            peer,
            address: network(peer),
            turns: AtomicUsize::new(0),
            receiving: AtomicUsize::new(0),
            closes_in_stages: AtomicBool::new(false),
            silent: LastEvent::default(),
            progress: ProgressTracker::default(),
            is_dismissed: AtomicBool::new(false),
            dismissed: Notify::new(),
            is_cut: AtomicBool::new(false),
        }
    }

    /// Returns the address at the other end of the connection, which may be that of a proxy.
    pub(super) const fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Counts a request as in progress until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> RequestGuard {
        self.turns.fetch_add(1, Ordering::Relaxed);
        RequestGuard(self.clone())
    }

    /// Counts the body of a request as incomplete until the guard is dropped.
    pub(super) fn receive(self: &Arc<Self>) -> Incomplete {
        self.receiving.fetch_add(1, Ordering::Relaxed);
        Incomplete(self.clone())
    }

    /// Makes the connection read and discard the rest of the request before it is closed.
    pub(super) fn close_in_stages(&self) {
        self.closes_in_stages.store(true, Ordering::Relaxed);
    }

    /// Returns when all requests in progress have been incomplete for [`LAST_WORDS`].
    async fn only_receives(&self) {
        let mut since = None;
        loop {
            let turns = self.turns.load(Ordering::Relaxed);
            since = if turns > 0 && self.receiving.load(Ordering::Relaxed) >= turns {
                since.or_else(|| Some(Instant::now()))
            } else {
                None
            };
            if since.is_some_and(|since| since.elapsed() >= LAST_WORDS) {
                return;
            }
            tokio::time::sleep(LOOK_AT_END).await;
        }
    }

    fn is_idle(&self) -> bool {
        self.turns.load(Ordering::Relaxed) == 0
    }

    /// Returns when no request has been in progress for the duration `long`. Time before `since`
    /// does not count.
    async fn is_idle_for(&self, long: Duration, since: Option<Instant>) {
        loop {
            let now = Instant::now();
            let silent = if self.is_idle() {
                self.silent.when()
            } else {
                now
            };
            let until = since.map_or(silent, |since| since.max(silent)) + long;
            if until <= now {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    /// Returns when the connection is asked to make room for another and has no request in
    /// progress.
    async fn gives_way(&self) {
        loop {
            self.dismissed.notified().await;
            if self.is_idle() {
                return;
            }
            // A request arrived first, so the connection stays.
            self.is_dismissed.store(false, Ordering::Relaxed);
        }
    }
}

impl RequestGuard {
    /// Returns the progress of the answers of the connection.
    pub(super) fn progress(&self) -> &ProgressTracker {
        &self.0.progress
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.silent.note();
        self.0.turns.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A guard for a request whose body is incomplete.
pub(super) struct Incomplete(Arc<Activity>);

impl Drop for Incomplete {
    fn drop(&mut self) {
        self.0.receiving.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Limits for discarding the rest of a request before its connection is closed.
struct Dropping {
    left: usize,
    until: Pin<Box<Sleep>>,
}

/// The socket of a connection. If the connection is aborted, closing the socket discards all unsent
/// data.
pub(super) struct Socket {
    stream: TcpStream,
    activity: Arc<Activity>,
    work: Arc<Work>,
    dropping: Option<Dropping>,
}

impl Socket {
    /// Reads and discards the bytes that the client still sends, within the limits of bytes and
    /// time.
    fn poll_drop(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let dropping = self.dropping.get_or_insert_with(|| Dropping {
            left: DROPPED,
            until: Box::pin(tokio::time::sleep(DROPPING)),
        });
        let mut bytes = [0; 8 << 10];
        while dropping.left > 0 && dropping.until.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {
                    dropping.left = dropping.left.saturating_sub(buffer.filled().len());
                }
                _ => break,
            }
        }
        Poll::Ready(())
    }

    /// Returns the client's first byte without consuming it; `None` if the client has closed its
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
        if self.activity.is_cut.load(Ordering::Relaxed) {
            // A socket that is already closed makes this fail, without consequence.
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
        if socket.dropping.is_none() {
            ready!(Pin::new(&mut socket.stream).poll_shutdown(context))?;
        }
        if socket.activity.closes_in_stages.load(Ordering::Relaxed) {
            ready!(socket.poll_drop(context));
        }
        Poll::Ready(Ok(()))
    }
}

/// A transport of which each read takes at most [`READ`] bytes.
struct SmallReads<T>(T);

impl<T: AsyncRead + Unpin> AsyncRead for SmallReads<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = buffer.remaining().min(READ);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.0).poll_read(context, &mut part))?;
        let count = part.filled().len();
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
