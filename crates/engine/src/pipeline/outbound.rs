//! The outbound buffer: answers that clients have not read yet. It is limited for the process and
//! for each organization, so that slow clients can neither fill the memory nor take the space of
//! others.
//!
//! An organization may hold as many bytes as are free for all. One organization that does not read
//! therefore ends at half of the limit, two at a third each, and so on, so there is always space
//! for the others. Without space for an organization, the progress timeout of its answers is
//! shortened. Its requests wait for the space that this frees, and are refused if it does not come
//! in time. Without space for all, both apply to every organization.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::Share;
use tokio::sync::{Notify, watch};

/// The response bodies that are not sent yet.
pub struct OutboundBuffer {
    limit: u64,
    timeout: Duration,
    state: Mutex<OutboundState>,
    freed: Notify,
    /// Changes whenever the progress timeout of some answers becomes shorter or longer.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct OutboundState {
    held: u64,
    /// The state of each tenant share that holds bytes or waits for space.
    parts: HashMap<Share, ShareState>,
    /// The number of reasons to shorten the progress timeout of all answers.
    reasons: usize,
}

#[derive(Default)]
struct ShareState {
    held: u64,
    /// The number of reasons to shorten the progress timeout of this share's answers.
    reasons: usize,
}

/// The space of a response body, until the body is sent or dropped.
pub struct OutboundReservation {
    outbound: Arc<OutboundBuffer>,
    share: Share,
    bytes: u64,
}

/// The answers whose progress timeout is shortened.
#[derive(Debug, Clone, Copy)]
enum HurriedAnswers {
    All,
    Of(Share),
}

/// A guard that shortens the progress timeout of answers while it exists.
pub struct TimeoutGuard<'u>(&'u OutboundBuffer, HurriedAnswers);

/// Returns whether a share may hold more bytes: it must hold less than the bytes that are free.
const fn has_room(own: u64, all: u64, limit: u64) -> bool {
    own < limit.saturating_sub(all)
}

impl OutboundBuffer {
    /// Creates a buffer of `limit` bytes. The limit can be exceeded by the answers in progress. A
    /// request waits up to `patience` for space.
    #[must_use]
    pub fn new(limit: u64, timeout: Duration) -> Self {
        let (state, freed, hurries) = (Mutex::default(), Notify::new(), watch::Sender::new(()));
        Self {
            limit,
            timeout,
            state,
            freed,
            changes: hurries,
        }
    }

    /// Waits until there is space for another answer of a share. Returns false after the time
    /// limit.
    pub async fn has_room(&self, share: Share) -> bool {
        let Some(whose) = self.in_the_way(share) else {
            return true;
        };
        let _hurry = self.hurried(whose);
        let room = async {
            loop {
                let freed = self.freed.notified();
                if self.in_the_way(share).is_none() {
                    return;
                }
                freed.await;
            }
        };
        tokio::time::timeout(self.timeout, room).await.is_ok()
    }

    /// Returns whether there is space for another answer of a share now.
    #[must_use]
    pub fn has_room_now(&self, share: Share) -> bool {
        self.in_the_way(share).is_none()
    }

    /// Returns whose answers take the space that another answer of a share needs; `None` if there
    /// is space.
    fn in_the_way(&self, share: Share) -> Option<HurriedAnswers> {
        let state = self.state();
        let own = state.parts.get(&share).map_or(0, |part| part.held);
        if has_room(own, state.held, self.limit) {
            return None;
        }
        Some(if state.held < self.limit {
            HurriedAnswers::Of(share)
        } else {
            HurriedAnswers::All
        })
    }

    /// Reserves the space of a body of this length.
    #[must_use]
    pub fn hold(self: &Arc<Self>, share: Share, bytes: u64) -> Arc<OutboundReservation> {
        let mut state = self.state();
        state.held += bytes;
        state.parts.entry(share).or_default().held += bytes;
        Arc::new(OutboundReservation {
            outbound: self.clone(),
            share,
            bytes,
        })
    }

    /// Returns the bytes that are not sent yet.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.state().held
    }

    /// Shortens the progress timeout of all answers while the guard exists.
    #[must_use]
    pub fn shorten_timeouts(&self) -> TimeoutGuard<'_> {
        self.hurried(HurriedAnswers::All)
    }

    /// Returns whether the progress timeout of a share's answers is shortened.
    #[must_use]
    pub fn is_hurried(&self, share: Share) -> bool {
        let state = self.state();
        state.reasons > 0 || state.parts.get(&share).is_some_and(|part| part.reasons > 0)
    }

    /// Returns a receiver that is notified when [`OutboundBuffer::is_hurried`] may have changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn hurried(&self, whose: HurriedAnswers) -> TimeoutGuard<'_> {
        let mut state = self.state();
        let reasons = state.reasons_of(whose);
        *reasons += 1;
        if *reasons == 1 {
            self.changes.send_replace(());
        }
        TimeoutGuard(self, whose)
    }

    fn state(&self) -> MutexGuard<'_, OutboundState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutboundState {
    fn reasons_of(&mut self, whose: HurriedAnswers) -> &mut usize {
        match whose {
            HurriedAnswers::All => &mut self.reasons,
            HurriedAnswers::Of(share) => &mut self.parts.entry(share).or_default().reasons,
        }
    }

    /// Removes a share that holds nothing and has no reason to hurry.
    fn tidy(&mut self, share: Share) {
        if self
            .parts
            .get(&share)
            .is_some_and(|part| part.held == 0 && part.reasons == 0)
        {
            self.parts.remove(&share);
        }
    }
}

impl OutboundReservation {
    /// Returns whether the progress timeout of this answer is shortened.
    #[must_use]
    pub fn is_hurried(&self) -> bool {
        self.outbound.is_hurried(self.share)
    }
}

impl Drop for OutboundReservation {
    fn drop(&mut self) {
        let mut state = self.outbound.state();
        state.held -= self.bytes;
        if let Some(part) = state.parts.get_mut(&self.share) {
            part.held -= self.bytes;
        }
        state.tidy(self.share);
        drop(state);
        // Costs almost nothing without waiters.
        self.outbound.freed.notify_waiters();
    }
}

impl Drop for TimeoutGuard<'_> {
    fn drop(&mut self) {
        let Self(outbound, whose) = *self;
        let mut state = outbound.state();
        let reasons = state.reasons_of(whose);
        *reasons -= 1;
        if *reasons == 0 {
            outbound.changes.send_replace(());
        }
        if let HurriedAnswers::Of(share) = whose {
            state.tidy(share);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(4);

    #[expect(clippy::unnecessary_wraps, reason = "it is what is asked for")]
    fn share(number: u128) -> Share {
        Some(Uuid::from_u128(number))
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_buffer_space_until_a_timeout() {
        let outbound = Arc::new(OutboundBuffer::new(10, TIMEOUT));
        assert!(outbound.has_room(share(1)).await);
        let held = outbound.hold(share(1), 10);
        for other in 1..=2 {
            assert!(
                !outbound.has_room(share(other)).await,
                "nothing was sent meanwhile"
            );
        }
        let mut hurries = outbound.changes();
        let sends = async {
            hurries.changed().await.unwrap();
            assert!(held.is_hurried());
            drop(held);
        };
        assert!(tokio::join!(outbound.has_room(share(2)), sends).0);
        assert_eq!(
            (
                outbound.bytes(),
                outbound.is_hurried(share(1)),
                outbound.state().parts.len()
            ),
            (0, false, 0)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_hurries_only_its_own_organization() {
        let outbound = Arc::new(OutboundBuffer::new(100, TIMEOUT));
        let unread = outbound.hold(share(1), 50);
        assert!(outbound.has_room(share(2)).await && outbound.has_room(None).await);
        let read = outbound.hold(share(2), 20);
        let mut hurries = outbound.changes();
        let looks = async {
            hurries.changed().await.unwrap();
            assert!(unread.is_hurried(), "it is in its own way");
            assert!(
                !read.is_hurried() && !outbound.is_hurried(None),
                "and in nobody else's"
            );
        };
        assert!(!tokio::join!(outbound.has_room(share(1)), looks).0);
    }

    proptest! {
        /// Any number of shares take all that they may and never read. There is still space for one
        /// more share, and shares that take turns each hold about as much as is free.
        #[test]
        fn shares_always_leave_buffer_space_for_another_share(greedy in 1..12_usize, bytes in 1..2_000_u64, are_side_by_side: bool) {
            let limit = 50_000_000;
            let mut held = vec![0; greedy];
            loop {
                let all: u64 = held.iter().sum();
                let mut wanting = held.iter_mut().filter(|own| has_room(**own, all, limit));
                let next = if are_side_by_side { wanting.min() } else { wanting.next() };
                let Some(own) = next else { break };
                *own += bytes;
            }
            let free = limit - held.iter().sum::<u64>();
            prop_assert!(has_room(0, limit - free, limit));
            if are_side_by_side {
                prop_assert!(held.iter().all(|own| own.abs_diff(free) <= (greedy as u64 + 1) * bytes), "{} free beside {:?}", free, held);
            }
        }
    }
}
