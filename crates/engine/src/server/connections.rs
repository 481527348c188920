//! Connections: how many there may be, and how long each may be of no use.
//!
//! Three rules, whichever protocol a client speaks, and also where it never says which:
//!
//! - A connection without a request under way is closed after a while. A request is under way from the end of its headers until
//!   the last byte of its answer is taken.
//! - An answer whose client does not take it is given up ([`super::answer`]).
//! - Where all places are taken, or all of one address, those that have been silent for longest give way.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv6Addr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Limits;
use super::answer::{Answering, Headway, Patience, Since, Streams};
use super::tls::Tls;
use crate::pipeline::Unsent;
use crate::surface::Interface;

/// HTTP/2 streams of one connection.
const STREAMS: u32 = 32;
/// Bytes that a connection reads ahead, which is also the most that the headers of a request may have.
const BUFFER: usize = 64 << 10;
/// Bytes of an HTTP/2 stream that are handed on before its client has taken those before them.
const SEND_BUFFER: usize = 64 << 10;
/// How often an HTTP/2 client is asked whether it is there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(10);
/// How long a connection that has been told that it ends may take to end by itself.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// From the last connection to the end of all that have nothing to say: a request that is there is read by then.
const READ_PAUSE: Duration = Duration::from_millis(100);
/// A pause after a failed accept, such as one for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often connections that could give way are looked for while one waits for a place.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The part of all connections that gives way at once, so that looking for them is not done for each.
const BATCH: usize = 128;

/// Lets connections in until `stop` is cancelled, and sees them to their end.
pub async fn accept(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    interface: Interface,
    limits: Limits,
    unsent: Arc<Unsent>,
    stop: CancellationToken,
) {
    let closing = CancellationToken::new().drop_guard();
    let connections = Arc::new(Connections::new(limits, tls, interface, unsent.clone(), closing.token().clone()));
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, peer)) => {
                let place = stop.run_until_cancelled(connections.place()).await;
                connections.admit(stream, peer.ip(), place);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    for (stream, address) in queued(listener) {
        connections.admit(stream, address, None);
    }
    let _hurry = unsent.hurry();
    if !connections.serving.is_empty() {
        // A connection that has not been read from yet would end without an answer.
        tokio::time::sleep(READ_PAUSE).await;
    }
    drop(closing);
    connections.serving.close();
    connections.serving.wait().await;
}

/// The connections that the kernel has taken and nobody has accepted: closing the listener would reset them.
fn queued(listener: TcpListener) -> Vec<(TcpStream, IpAddr)> {
    let Ok(listener) = listener.into_std() else { return Vec::new() };
    let accepted = std::iter::from_fn(|| listener.accept().ok());
    let opened = |stream: std::net::TcpStream| stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
    accepted.filter_map(|(stream, peer)| Some((opened(stream).ok()?, peer.ip()))).collect()
}

/// A connection, whichever protocol it turns out to speak.
type Connection<'b> = auto::Connection<'b, TokioIo<Way>, Answering, Streams>;

/// What a connection is spoken over, without TLS or with it.
type Way = Either<Socket, TlsStream<Socket>>;

/// The connections there are.
struct Connections {
    limits: Limits,
    tls: Option<Arc<Tls>>,
    interface: Interface,
    builder: auto::Builder<Streams>,
    patience: Patience,
    places: Arc<Semaphore>,
    open: Mutex<Open>,
    closing: CancellationToken,
    serving: TaskTracker,
}

/// Who has a connection, and who how many.
#[derive(Default)]
struct Open {
    next: u64,
    activities: HashMap<u64, Arc<Activity>>,
    of_address: HashMap<IpAddr, usize>,
}

/// A connection's entry among those there are.
struct Entry {
    connections: Arc<Connections>,
    number: u64,
    activity: Arc<Activity>,
}

impl Connections {
    fn new(limits: Limits, tls: Option<Arc<Tls>>, interface: Interface, unsent: Arc<Unsent>, closing: CancellationToken) -> Self {
        let patience = Patience { usual: limits.headway, hurried: limits.hurried_headway, unsent };
        let mut builder = auto::Builder::new(Streams(patience.clone()));
        builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.idle).max_buf_size(BUFFER);
        builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(PING)).keep_alive_timeout(PING);
        builder.http2().max_concurrent_streams(STREAMS).max_send_buf_size(SEND_BUFFER);
        let places = Arc::new(Semaphore::new(limits.connections));
        Self { limits, tls, interface, builder, patience, places, open: Mutex::default(), closing, serving: TaskTracker::new() }
    }

    /// A place for one more, once there is one. Where all are taken, idle connections are made to give way, and answers that make
    /// no headway are given up sooner.
    async fn place(&self) -> OwnedSemaphorePermit {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return place;
        }
        let _hurry = self.patience.unsent.hurry();
        loop {
            dismiss(self.open().activities.values(), (self.limits.connections / BATCH).max(1));
            if let Ok(Ok(place)) = tokio::time::timeout(LOOK_EVERY, self.places.clone().acquire_owned()).await {
                return place;
            }
        }
    }

    /// Serves a connection beside all others; one too many of its address only if another of these gives way.
    fn admit(self: &Arc<Self>, stream: TcpStream, address: IpAddr, place: Option<OwnedSemaphorePermit>) {
        let Some(entry) = self.enter(network(address)) else { return };
        self.serving.spawn(async move {
            entry.connections.serve(stream, &entry.activity).await;
            drop(entry);
            drop(place);
        });
    }

    fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Entry> {
        let mut open = self.open();
        let Open { next, activities, of_address } = &mut *open;
        let count = of_address.entry(address).or_default();
        let is_one_too_many = self.limits.connections_per_address.is_some_and(|limit| *count >= limit.get());
        if is_one_too_many && !dismiss(activities.values().filter(|activity| activity.address == address), 1) {
            return None;
        }
        *count += 1;
        *next += 1;
        let activity = Arc::new(Activity::new(address));
        activities.insert(*next, activity.clone());
        Some(Entry { connections: self.clone(), number: *next, activity })
    }

    /// Serves a connection to its end, whoever brings that about.
    async fn serve(&self, stream: TcpStream, activity: &Arc<Activity>) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
        let socket = Socket { stream, activity: activity.clone() };
        let Some(way) = self.way(socket, activity).await else { return };
        let answering = Answering { interface: self.interface.clone(), activity: activity.clone() };
        let mut connection = pin!(self.builder.serve_connection(TokioIo::new(way), answering));
        tokio::select! {
            () = self.see_to_its_end(connection.as_mut(), activity) => {}
            () = activity.headway.is_lost(&self.patience) => {
                // What the kernel still has of an answer that its client does not take goes with it.
                activity.is_cut.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Agrees with the client on TLS, where that is asked of it. A client that has not by then is as one without a request.
    async fn way(&self, socket: Socket, activity: &Activity) -> Option<Way> {
        let Some(tls) = &self.tls else { return Some(Either::Left(socket)) };
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
            // A request that is there is read first, and over TLS it may have come with the end of the handshake.
            let begun = Instant::now();
            self.closing.cancelled().await;
            tokio::time::sleep_until(begun + READ_PAUSE).await;
        };
        let mut closing = pin!(closing);
        loop {
            let idle = if closes_since.is_some() { LAST_WORDS } else { self.limits.idle };
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended early");
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
            }
            connection.as_mut().graceful_shutdown();
            closes_since = Some(Instant::now());
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entry {
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

/// Has the connections that have been silent for longest give way, so many at the most; whether there was any.
fn dismiss<'a>(among: impl Iterator<Item = &'a Arc<Activity>>, count: usize) -> bool {
    let is_silent = |activity: &&Arc<Activity>| activity.is_idle() && !activity.is_dismissed.load(Ordering::Relaxed);
    let mut silent: Vec<_> = among.filter(is_silent).map(|activity| (activity.silent.when(), activity)).collect();
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
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// What a connection is doing.
pub(super) struct Activity {
    address: IpAddr,
    /// Requests under way.
    turns: AtomicUsize,
    /// Since when there is none, where there is none.
    silent: Since,
    /// How the answers to them get on.
    headway: Headway,
    is_dismissed: AtomicBool,
    dismissed: Notify,
    is_cut: AtomicBool,
}

/// A request under way.
pub(super) struct Turn(Arc<Activity>);

impl Activity {
    fn new(address: IpAddr) -> Self {
        Self {
            address,
            turns: AtomicUsize::new(0),
            silent: Since::default(),
            headway: Headway::default(),
            is_dismissed: AtomicBool::new(false),
            dismissed: Notify::new(),
            is_cut: AtomicBool::new(false),
        }
    }

    /// Whose connection it is.
    pub(super) const fn address(&self) -> IpAddr {
        self.address
    }

    /// A request is under way.
    pub(super) fn begin(self: &Arc<Self>) -> Turn {
        self.turns.fetch_add(1, Ordering::Relaxed);
        Turn(self.clone())
    }

    fn is_idle(&self) -> bool {
        self.turns.load(Ordering::Relaxed) == 0
    }

    /// Returns when no request has been under way for so long, counted from `since` at the earliest.
    async fn is_idle_for(&self, long: Duration, since: Option<Instant>) {
        loop {
            let now = Instant::now();
            let silent = if self.is_idle() { self.silent.when() } else { now };
            let until = since.map_or(silent, |since| since.max(silent)) + long;
            if until <= now {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    /// Returns when the connection is to give way to another and has no request under way.
    async fn gives_way(&self) {
        loop {
            self.dismissed.notified().await;
            if self.is_idle() {
                return;
            }
            // It was quicker.
            self.is_dismissed.store(false, Ordering::Relaxed);
        }
    }
}

impl Turn {
    /// How the answers of its connection get on.
    pub(super) fn headway(&self) -> &Headway {
        &self.0.headway
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.silent.note();
        self.0.turns.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The socket of a connection. Where the connection is cut, nothing is sent any more, and the kernel keeps nothing.
pub(super) struct Socket {
    stream: TcpStream,
    activity: Arc<Activity>,
}

impl Socket {
    /// What its client says first, which is still to be read; `None` where it says nothing any more.
    pub(super) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        let count = self.stream.peek(&mut byte).await?;
        Ok((count > 0).then_some(byte[0]))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.activity.is_cut.load(Ordering::Relaxed) {
            // A socket that is gone already needs nothing.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
