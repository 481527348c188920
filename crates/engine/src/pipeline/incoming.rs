//! The memory budget of request bodies: one for the process, with a part for each address and each
//! organization.
//!
//! The bodies of one address may use at most as many bytes as are free in total. One client that
//! never completes its requests therefore gets at most half of the budget, two such clients a third
//! each, and so on. There is always space for another client. The bodies of one organization use at
//! most half of the budget, however many addresses it has. If there is no space, a body waits; if
//! no space becomes free in time, its request is refused with 503. All chunks of a body together
//! may wait only for a limited time, because the server does not notice that the connection of a
//! waiting body was closed.
//!
//! A chunk uses space until it is dropped, because its memory is in use until then.
//!
//! The number of unfinished bodies is limited by the same rules, because each one also needs memory
//! for its connection or stream. A body above this limit is refused at once: if it waited, it would
//! need that memory meanwhile.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::error::Error;

/// Number of bytes that are counted for each chunk in addition to its length. Without it, small
/// chunks would count almost nothing, although each uses memory.
const CHUNK_OVERHEAD: u64 = 128;

/// The memory budget for request bodies allows one unfinished body for each 32 KiB of the budget.
/// Each unfinished body uses about 11 KiB more for its stream. The budget does not count this
/// memory.
const BYTES_PER_BODY: u64 = 32 << 10;

/// The number of unfinished bodies that even the smallest budget allows.
const MIN_BODIES: u64 = 64;

/// The memory budget of request bodies: the limits, and their use by each sender. The limits apply
/// to the bytes of bodies in memory and to the number of unfinished bodies.
pub struct Incoming {
    limit: u64,
    max_bodies: u64,
    timeout: Duration,
    state: Mutex<IncomingState>,
    freed: Notify,
    refused: AtomicU64,
}

#[derive(Default)]
struct IncomingState {
    bytes: Usage,
    bodies: Usage,
}

impl IncomingState {
    /// Returns the usage that a part counts towards, and the part's amount.
    const fn usage_of(&mut self, part: Part) -> (&mut Usage, u64) {
        match part {
            Part::Bytes(bytes) => (&mut self.bytes, bytes),
            Part::Body => (&mut self.bodies, 1),
        }
    }
}

/// How much of one limit is in use: in total, and by each sender.
#[derive(Default)]
struct Usage {
    all: u64,
    shares: HashMap<Sender, u64>,
}

impl Usage {
    /// Adds `amount` (a number of bytes or of bodies) to the sender's use. Adds nothing if the
    /// sender may not use more of `limit`. Returns whether `amount` was added.
    fn take(&mut self, sender: Sender, amount: u64, limit: u64) -> bool {
        let own = self.shares.get(&sender).copied().unwrap_or_default();
        let has_space = match sender {
            Sender::Address(_) => has_space(own, self.all, limit),
            Sender::Organization(_) => own < limit.div_ceil(2),
        };
        if has_space {
            *self.shares.entry(sender).or_default() += amount;
            if matches!(sender, Sender::Address(_)) {
                self.all += amount;
            }
        }
        has_space
    }

    fn release(&mut self, sender: Sender, amount: u64) {
        if matches!(sender, Sender::Address(_)) {
            self.all -= amount;
        }
        if let Some(own) = self.shares.get_mut(&sender) {
            *own -= amount;
            if *own == 0 {
                self.shares.remove(&sender);
            }
        }
    }
}

/// The sender whose limits apply to a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The IP address of the connection. The memory of every body counts towards the limits of its
    /// IP address and of the whole process, even if it also counts towards the limit of an
    /// organization.
    Address(IpAddr),
    /// The organization of a caller who was authenticated before the body was read.
    Organization(Uuid),
}

/// Space within a limit that is reserved for a request body of a sender. Dropping this value
/// releases the reserved space.
struct ReservedPart {
    incoming: Arc<Incoming>,
    sender: Sender,
    part: Part,
}

#[derive(Clone, Copy)]
enum Part {
    /// The memory that a chunk of a body uses, in bytes. It counts towards the memory budget of
    /// request bodies.
    Bytes(u64),
    /// One unfinished request body. It counts towards the maximum number of unfinished bodies.
    Body,
}

/// A chunk of a body, and its reserved space.
struct ReservedChunk {
    bytes: Bytes,
    _reserved_space: ReservedPart,
}

impl AsRef<[u8]> for ReservedChunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns whether a client address may use more of a limited resource, such as bytes or unfinished
/// bodies. The amount that the address uses (`own`) must be smaller than the free amount: `limit`
/// without the amount that all addresses use (`all`).
const fn has_space(own: u64, all: u64, limit: u64) -> bool {
    own < limit.saturating_sub(all)
}

/// The error of a body for which there was no space.
#[derive(Debug)]
struct NoSpace;

impl std::fmt::Display for NoSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the memory for incomplete requests is full")
    }
}

impl std::error::Error for NoSpace {}

/// Returns a 503 error if `error` or one of its causes says that the memory for request bodies was
/// full. Returns `None` for any other error.
pub fn out_of_memory(error: &(dyn std::error::Error + 'static)) -> Option<Error> {
    std::iter::successors(Some(error), |error| error.source())
        .any(<dyn std::error::Error>::is::<NoSpace>)
        .then(|| Error::unavailable(NoSpace))
}

impl Incoming {
    /// Creates a budget of `limit` bytes, which also limits the number of unfinished bodies. The
    /// chunks of a body wait for space for up to `timeout` together.
    #[must_use]
    pub fn new(limit: u64, timeout: Duration) -> Self {
        Self {
            limit,
            max_bodies: (limit / BYTES_PER_BODY).max(MIN_BODIES),
            timeout,
            state: Mutex::default(),
            freed: Notify::new(),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns the number of bytes of request bodies in memory.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.state().bytes.all
    }

    /// Returns the number of request bodies that were refused since the process started.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Applies the limits of a sender to a request body. Returns the limited body, and a flag that
    /// is set if the body is refused.
    pub fn counted(self: &Arc<Self>, sender: Sender, body: Body) -> (Body, Refusal) {
        let refusal = Refusal::default();
        let is_empty = body.is_end_stream();
        let place = if is_empty {
            None
        } else {
            self.reserve(sender, Part::Body)
        };
        let body = Body::new(CountedBody {
            body,
            is_over_limit: !is_empty && place.is_none(),
            place,
            incoming: self.clone(),
            sender,
            waiting: None,
            since: Instant::now(),
            time_left: self.timeout,
            refusal: refusal.clone(),
        });
        (body, refusal)
    }

    fn reserve(self: &Arc<Self>, sender: Sender, part: Part) -> Option<ReservedPart> {
        let limit = match part {
            Part::Bytes(_) => self.limit,
            Part::Body => self.max_bodies,
        };
        let mut state = self.state();
        let (usage, amount) = state.usage_of(part);
        usage.take(sender, amount, limit).then(|| ReservedPart {
            incoming: self.clone(),
            sender,
            part,
        })
    }

    fn refuse(&self, refusal: &Refusal) -> axum::Error {
        refusal.0.store(true, Ordering::Relaxed);
        self.refused.fetch_add(1, Ordering::Relaxed);
        axum::Error::new(NoSpace)
    }

    /// Reserves space in the memory budget for a chunk, and returns the chunk. Returns `None` if no
    /// space becomes free within `limit`.
    async fn reserve_within(
        self: Arc<Self>,
        limit: Duration,
        sender: Sender,
        bytes: Bytes,
    ) -> Option<Bytes> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX) + CHUNK_OVERHEAD;
        let reserved_space = async {
            loop {
                let freed = self.freed.notified();
                if let Some(reserved_space) = self.reserve(sender, Part::Bytes(size)) {
                    return reserved_space;
                }
                freed.await;
            }
        };
        let reserved_space = timeout(limit, reserved_space).await.ok()?;
        Some(Bytes::from_owner(ReservedChunk {
            bytes,
            _reserved_space: reserved_space,
        }))
    }

    fn state(&self) -> MutexGuard<'_, IncomingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ReservedPart {
    fn drop(&mut self) {
        let mut state = self.incoming.state();
        let (usage, amount) = state.usage_of(self.part);
        usage.release(self.sender, amount);
        drop(state);
        // Only chunks wait for space. A new body is refused at once if too many bodies are
        // unfinished, so the end of a body needs no notification.
        if matches!(self.part, Part::Bytes(_)) {
            self.incoming.freed.notify_waiters();
        }
    }
}

/// Whether a request body was refused because the memory budget had no space.
#[derive(Clone, Default)]
pub struct Refusal(Arc<AtomicBool>);

impl Refusal {
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A request body whose chunks reserve space in the memory budget before they are returned.
struct CountedBody {
    body: Body,
    /// Whether too many other bodies were unfinished when this body began. In that case each read
    /// of this body fails.
    is_over_limit: bool,
    /// The place that the body takes among the unfinished bodies, whose number is limited. `None`
    /// if the body has ended or is over the limit.
    place: Option<ReservedPart>,
    incoming: Arc<Incoming>,
    sender: Sender,
    /// A chunk that waits for space in the memory budget.
    waiting: Option<BoxFuture<'static, Option<Bytes>>>,
    /// When the waiting chunk began to wait.
    since: Instant,
    /// How long the remaining chunks of the body may still wait for space in the memory budget, all
    /// together.
    time_left: Duration,
    refusal: Refusal,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.is_over_limit {
            return Poll::Ready(Some(Err(self.incoming.refuse(&self.refusal))));
        }
        loop {
            if let Some(waiting) = &mut self.waiting {
                let chunk = ready!(waiting.as_mut().poll(context));
                self.waiting = None;
                self.time_left = self.time_left.saturating_sub(self.since.elapsed());
                return Poll::Ready(Some(
                    chunk
                        .map(Frame::data)
                        .ok_or_else(|| self.incoming.refuse(&self.refusal)),
                ));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => {
                        let incoming = self.incoming.clone();
                        let admitted = incoming.reserve_within(self.time_left, self.sender, bytes);
                        self.since = Instant::now();
                        self.waiting = Some(Box::pin(admitted));
                    }
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => {
                    self.place = None;
                    return Poll::Ready(other);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.waiting.is_none() {
            self.body.size_hint()
        } else {
            SizeHint::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use proptest::prelude::*;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(4);

    impl Incoming {
        async fn admit(self: Arc<Self>, sender: Sender, bytes: Bytes) -> Option<Bytes> {
            self.reserve_within(TIMEOUT, sender, bytes).await
        }
    }

    fn address(last_byte: u8) -> Sender {
        Sender::Address([192, 0, 2, last_byte].into())
    }

    fn size(bytes: u64) -> Bytes {
        vec![0; usize::try_from(bytes).unwrap()].into()
    }

    #[tokio::test(start_paused = true)]
    async fn memory_of_a_chunk_is_released_with_its_last_slice() {
        let incoming = Arc::new(Incoming::new(2_000, TIMEOUT));
        let chunk = incoming
            .clone()
            .admit(address(1), size(1_000))
            .await
            .unwrap();
        assert_eq!(incoming.used(), 1_000 + CHUNK_OVERHEAD);
        let slice = chunk.slice(..10);
        drop(chunk);
        assert!(
            incoming.used() > 0,
            "a slice keeps the memory of the whole chunk"
        );
        drop(slice);
        assert_eq!(
            (incoming.used(), incoming.state().bytes.shares.len()),
            (0, 0)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_waits_for_memory_and_is_refused_at_the_timeout() {
        let incoming = Arc::new(Incoming::new(1_000, TIMEOUT));
        let chunk = incoming.clone().admit(address(1), size(900)).await.unwrap();
        let started = tokio::time::Instant::now();
        let (body, refusal) = incoming.counted(address(1), Body::from("more"));
        assert!(body.collect().await.is_err() && refusal.is_refused());
        assert_eq!((started.elapsed(), incoming.refused()), (TIMEOUT, 1));
        let (body, refusal) = incoming.counted(address(1), Body::from("more"));
        let release = async {
            tokio::time::sleep(TIMEOUT / 2).await;
            drop(chunk);
        };
        let (collected, ()) = tokio::join!(body.collect(), release);
        assert_eq!(collected.unwrap().to_bytes(), "more");
        assert!(!refusal.is_refused());
    }

    #[tokio::test(start_paused = true)]
    async fn all_chunks_of_a_body_share_the_timeout() {
        let incoming = Arc::new(Incoming::new(1_000, TIMEOUT));
        let chunk = incoming.clone().admit(address(1), size(900)).await.unwrap();
        let started = Instant::now();
        let chunks = [size(900), size(900)].map(Ok::<_, std::convert::Infallible>);
        let body = Body::from_stream(futures_util::stream::iter(chunks));
        let (body, refusal) = incoming.counted(address(1), body);
        let release = async {
            tokio::time::sleep(TIMEOUT / 4 * 3).await;
            drop(chunk);
        };
        // The limit has space for one chunk of the body. The first chunk leaves too little memory
        // for the second.
        let (collected, ()) = tokio::join!(body.collect(), release);
        assert!(collected.is_err() && refusal.is_refused());
        assert!(
            (TIMEOUT..TIMEOUT / 4 * 5).contains(&started.elapsed()),
            "{:?}",
            started.elapsed()
        );
        drop(collected);
        assert_eq!(incoming.used(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_leaves_memory_for_others() {
        let incoming = Arc::new(Incoming::new(100_000, TIMEOUT));
        let mut chunks = Vec::new();
        while let Some(chunk) = incoming.clone().admit(address(1), size(1_000)).await {
            chunks.push(chunk);
        }
        assert!((45_000..55_000).contains(&incoming.used()));
        assert!(
            incoming
                .clone()
                .admit(address(2), size(1_000))
                .await
                .is_some()
        );
        let sender = Sender::Organization(Uuid::nil());
        assert!(incoming.clone().admit(sender, size(1_000)).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_unfinished_body_too_many_is_refused_at_once() {
        let incoming = Arc::new(Incoming::new(0, TIMEOUT));
        let begin = |sender| {
            let never_ends = Body::from_stream(futures_util::stream::pending::<
                Result<Bytes, std::convert::Infallible>,
            >());
            incoming.counted(sender, never_ends).0
        };
        let count = usize::try_from(MIN_BODIES / 2).unwrap();
        let unfinished: Vec<Body> = (0..count).map(|_| begin(address(1))).collect();
        let started = Instant::now();
        let (body, refusal) = incoming.counted(address(1), Body::from("more"));
        assert!(body.collect().await.is_err() && refusal.is_refused());
        assert_eq!((started.elapsed(), incoming.refused()), (Duration::ZERO, 1));
        let empty = incoming.counted(address(1), Body::empty()).0;
        assert!(empty.collect().await.is_ok());
        let other = begin(address(2));
        drop(unfinished);
        let unfinished: Vec<Body> = (0..count - 1).map(|_| begin(address(1))).collect();
        assert_eq!(incoming.state().bodies.all, u64::try_from(count).unwrap());
        drop((other, unfinished));
        assert_eq!(incoming.state().bodies.all, 0);
        assert!(incoming.state().bodies.shares.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_has_ended_leaves_its_place() {
        let incoming = Arc::new(Incoming::new(1_000, TIMEOUT));
        let (mut body, _refusal) = incoming.counted(address(1), Body::from("all"));
        assert_eq!(incoming.state().bodies.all, 1);
        assert!(body.frame().await.unwrap().is_ok() && body.frame().await.is_none());
        assert_eq!(incoming.state().bodies.all, 0);
    }

    proptest! {
        /// Several senders add bytes until none of them may add more. Even then, a new sender may
        /// still send.
        #[test]
        fn senders_always_leave_memory_for_another_sender(
            greedy in 1..12_usize,
            bytes in 1..2_000_u64,
        ) {
            let limit = 50_000_000;
            let mut used = vec![0; greedy];
            loop {
                let all: u64 = used.iter().sum();
                let Some(own) = used.iter_mut().find(|own| has_space(**own, all, limit)) else {
                    break;
                };
                *own += bytes;
            }
            prop_assert!(has_space(0, used.iter().sum(), limit));
        }
    }
}
