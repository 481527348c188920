//! The outbound buffer: response bodies that clients have not read yet. Its size is limited for the
//! process and for each organization, so that slow clients can neither fill the memory nor use the
//! space of other organizations.
//!
//! The responses of one organization may use at most as many bytes as are free in total. One
//! organization that does not read therefore gets at most half of the limit, two get a third each,
//! and so on. There is always space for another organization.
//!
//! The server gives up a response if its client reads nothing during the progress timeout. If an
//! organization has no space, this timeout is shortened for its responses. The organization's
//! requests wait until a response is sent or given up, and are refused if no space becomes free in
//! time. If the whole buffer has no space, both rules apply to every organization.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::Share;
use tokio::sync::{Notify, watch};

/// Counts the bytes of response bodies that are not sent yet, in total and for each share, and
/// limits them.
pub struct OutboundBuffer {
    limit: u64,
    timeout: Duration,
    state: Mutex<OutboundState>,
    freed: Notify,
    /// Notifies all responses whenever the progress timeout of some responses is shortened or
    /// restored.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct OutboundState {
    held: u64,
    /// The unsent bytes and the number of timeout guards of each share that has any of them.
    shares: HashMap<Share, ShareState>,
    /// The number of [`TimeoutGuard`]s that shorten the progress timeout of all responses.
    guards: usize,
}

#[derive(Default)]
struct ShareState {
    held: u64,
    /// The number of [`TimeoutGuard`]s that shorten the progress timeout of this share's responses.
    guards: usize,
}

/// The space in the outbound buffer that is reserved for a response body, until the body is sent or
/// dropped.
pub struct OutboundReservation {
    outbound: Arc<OutboundBuffer>,
    share: Share,
    bytes: u64,
}

/// The responses whose progress timeout is shortened.
#[derive(Debug, Clone, Copy)]
enum HurriedAnswers {
    All,
    Of(Share),
}

/// A guard that shortens the progress timeout of responses while it exists.
pub struct TimeoutGuard<'u>(&'u OutboundBuffer, HurriedAnswers);

/// Returns whether a share may use more bytes: its bytes must be fewer than the free bytes.
const fn has_space(own: u64, all: u64, limit: u64) -> bool {
    own < limit.saturating_sub(all)
}

impl OutboundBuffer {
    /// Creates a buffer of `limit` bytes. Responses that were begun while there was space may
    /// together exceed the limit. A request waits up to `timeout` for space.
    #[must_use]
    pub fn new(limit: u64, timeout: Duration) -> Self {
        let (state, freed, changes) = (Mutex::default(), Notify::new(), watch::Sender::new(()));
        Self {
            limit,
            timeout,
            state,
            freed,
            changes,
        }
    }

    /// Waits until the outbound buffer has space for another response of a share. Returns false
    /// after the time limit.
    pub async fn wait_for_outbound_space(&self, share: Share) -> bool {
        let Some(responses) = self.blocking_responses(share) else {
            return true;
        };
        let _hurry = self.hurried(responses);
        let space = async {
            loop {
                let freed = self.freed.notified();
                if self.blocking_responses(share).is_none() {
                    return;
                }
                freed.await;
            }
        };
        tokio::time::timeout(self.timeout, space).await.is_ok()
    }

    /// Returns whether the outbound buffer has space for another response of a share now.
    #[must_use]
    pub fn has_space_now(&self, share: Share) -> bool {
        self.blocking_responses(share).is_none()
    }

    /// Returns the responses that must be sent or given up before another response of a share can
    /// begin. Returns `None` if there is space.
    fn blocking_responses(&self, share: Share) -> Option<HurriedAnswers> {
        let state = self.state();
        let own = state
            .shares
            .get(&share)
            .map_or(0, |share_state| share_state.held);
        if has_space(own, state.held, self.limit) {
            return None;
        }
        Some(if state.held < self.limit {
            HurriedAnswers::Of(share)
        } else {
            HurriedAnswers::All
        })
    }

    /// Reserves space for a response body of `bytes` bytes, even if the buffer then exceeds its
    /// limit. The space is free again when the reservation is dropped.
    #[must_use]
    pub fn reserve(self: &Arc<Self>, share: Share, bytes: u64) -> Arc<OutboundReservation> {
        let mut state = self.state();
        state.held += bytes;
        state.shares.entry(share).or_default().held += bytes;
        Arc::new(OutboundReservation {
            outbound: self.clone(),
            share,
            bytes,
        })
    }

    /// Returns the total size of the responses in this buffer that are not sent yet, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.state().held
    }

    /// Shortens the progress timeout of all responses until the returned guard is dropped.
    #[must_use]
    pub fn shorten_timeouts(&self) -> TimeoutGuard<'_> {
        self.hurried(HurriedAnswers::All)
    }

    /// Returns whether the progress timeout of a share's responses is shortened.
    #[must_use]
    pub fn has_short_timeout(&self, share: Share) -> bool {
        let state = self.state();
        state.guards > 0
            || state
                .shares
                .get(&share)
                .is_some_and(|share_state| share_state.guards > 0)
    }

    /// Returns a receiver that is notified when the result of
    /// [`OutboundBuffer::has_short_timeout`] may have changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn hurried(&self, responses: HurriedAnswers) -> TimeoutGuard<'_> {
        let mut state = self.state();
        let guards = state.guards_of(responses);
        *guards += 1;
        if *guards == 1 {
            self.changes.send_replace(());
        }
        TimeoutGuard(self, responses)
    }

    fn state(&self) -> MutexGuard<'_, OutboundState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutboundState {
    fn guards_of(&mut self, responses: HurriedAnswers) -> &mut usize {
        match responses {
            HurriedAnswers::All => &mut self.guards,
            HurriedAnswers::Of(share) => &mut self.shares.entry(share).or_default().guards,
        }
    }

    /// Removes the entry of a share that has no unsent bytes and for which no guard shortens the
    /// timeout of responses.
    fn remove_if_unused(&mut self, share: Share) {
        if self
            .shares
            .get(&share)
            .is_some_and(|share_state| share_state.held == 0 && share_state.guards == 0)
        {
            self.shares.remove(&share);
        }
    }
}

impl OutboundReservation {
    /// Returns whether the progress timeout of this response is shortened.
    #[must_use]
    pub fn has_short_timeout(&self) -> bool {
        self.outbound.has_short_timeout(self.share)
    }
}

impl Drop for OutboundReservation {
    fn drop(&mut self) {
        let mut state = self.outbound.state();
        state.held -= self.bytes;
        if let Some(share_state) = state.shares.get_mut(&self.share) {
            share_state.held -= self.bytes;
        }
        state.remove_if_unused(self.share);
        drop(state);
        // Wakes the tasks that wait for space, because this response has freed some. If no task
        // waits, the call costs almost nothing.
        self.outbound.freed.notify_waiters();
    }
}

impl Drop for TimeoutGuard<'_> {
    fn drop(&mut self) {
        let Self(outbound, responses) = *self;
        let mut state = outbound.state();
        let guards = state.guards_of(responses);
        *guards -= 1;
        if *guards == 0 {
            outbound.changes.send_replace(());
        }
        if let HurriedAnswers::Of(share) = responses {
            state.remove_if_unused(share);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(4);

    #[expect(clippy::unnecessary_wraps, reason = "the buffer takes an option")]
    fn share(number: u128) -> Share {
        Some(Uuid::from_u128(number))
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_buffer_space_until_a_timeout() {
        let outbound = Arc::new(OutboundBuffer::new(10, TIMEOUT));
        assert!(outbound.wait_for_outbound_space(share(1)).await);
        let reservation = outbound.reserve(share(1), 10);
        for other in 1..=2 {
            assert!(
                !outbound.wait_for_outbound_space(share(other)).await,
                "no bytes were sent meanwhile"
            );
        }
        let mut changes = outbound.changes();
        let send_all = async {
            changes.changed().await.unwrap();
            assert!(reservation.has_short_timeout());
            drop(reservation);
        };
        assert!(tokio::join!(outbound.wait_for_outbound_space(share(2)), send_all).0);
        assert_eq!(
            (
                outbound.bytes(),
                outbound.has_short_timeout(share(1)),
                outbound.state().shares.len()
            ),
            (0, false, 0)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_hurries_only_its_own_organization() {
        let outbound = Arc::new(OutboundBuffer::new(100, TIMEOUT));
        let unread = outbound.reserve(share(1), 50);
        assert!(
            outbound.wait_for_outbound_space(share(2)).await
                && outbound.wait_for_outbound_space(None).await
        );
        let sent = outbound.reserve(share(2), 20);
        let mut changes = outbound.changes();
        let check = async {
            changes.changed().await.unwrap();
            assert!(
                unread.has_short_timeout(),
                "the organization itself uses too much"
            );
            assert!(
                !sent.has_short_timeout() && !outbound.has_short_timeout(None),
                "other organizations are not affected"
            );
        };
        assert!(!tokio::join!(outbound.wait_for_outbound_space(share(1)), check).0);
    }

    proptest! {
        /// The clients of `greedy` shares never read, and each share reserves space until it gets
        /// no more. There is then still space for another share. If the share with the fewest bytes
        /// always reserves next, each share ends with about as many bytes as are still free.
        #[test]
        fn shares_always_leave_buffer_space_for_another_share(
            greedy in 1..12_usize,
            bytes in 1..2_000_u64,
            take_turns: bool,
        ) {
            let limit = 50_000_000;
            let mut used = vec![0; greedy];
            loop {
                let all: u64 = used.iter().sum();
                let mut with_space = used.iter_mut().filter(|own| has_space(**own, all, limit));
                let next = if take_turns {
                    with_space.min()
                } else {
                    with_space.next()
                };
                let Some(own) = next else { break };
                *own += bytes;
            }
            let free = limit - used.iter().sum::<u64>();
            prop_assert!(has_space(0, limit - free, limit));
            if take_turns {
                prop_assert!(
                    used.iter()
                        .all(|own| own.abs_diff(free) <= (greedy as u64 + 1) * bytes),
                    "{} free beside {:?}",
                    free,
                    used
                );
            }
        }
    }
}
