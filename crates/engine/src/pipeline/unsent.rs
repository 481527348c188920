//! What has been answered and has not been sent yet: bounded for all together and for each organization, so that clients that
//! do not read what they asked for can neither fill the memory nor take the room of others.
//!
//! An organization may have as much waiting as is left free by all. One that does not read ends at half of the whole, two come
//! to a third each, and so on: whatever they do, there is room for whoever reads. Where there is none for an organization, its
//! answers that make no headway are given up sooner; its requests wait for the room that this makes, and are refused where it
//! does not come. Where there is none for anybody, both hold for all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::Share;
use tokio::sync::{Notify, watch};

/// The bodies that wait to be sent.
pub struct Unsent {
    limit: u64,
    patience: Duration,
    state: Mutex<State>,
    freed: Notify,
    /// Changes whenever somebody begins or ceases to be in a hurry.
    hurries: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    held: u64,
    /// What there is of each share that has something waiting, or waits for room.
    parts: HashMap<Share, Part>,
    /// Reasons to hurry that concern all.
    reasons: usize,
}

#[derive(Default)]
struct Part {
    held: u64,
    /// Reasons to hurry that concern this share.
    reasons: usize,
}

/// The room of a body, as long as something of it waits.
pub struct Held {
    unsent: Arc<Unsent>,
    share: Share,
    bytes: u64,
}

/// Whose answers are to make headway sooner than otherwise.
#[derive(Debug, Clone, Copy)]
enum Whose {
    All,
    Of(Share),
}

/// A reason to hurry, as long as it lives.
pub struct Hurry<'u>(&'u Unsent, Whose);

/// Whether a share may have more waiting, by what it and all have: as much as is free.
const fn has_room(own: u64, all: u64, limit: u64) -> bool {
    own < limit.saturating_sub(all)
}

impl Unsent {
    /// Room for so many bytes, give or take what is being answered; a request waits for `patience` where there is none.
    #[must_use]
    pub fn new(limit: u64, patience: Duration) -> Self {
        let (state, freed, hurries) = (Mutex::default(), Notify::new(), watch::Sender::new(()));
        Self { limit, patience, state, freed, hurries }
    }

    /// Waits until there is room for another answer of a share; false where there is none in time.
    pub async fn has_room(&self, share: Share) -> bool {
        let Some(whose) = self.in_the_way(share) else { return true };
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
        tokio::time::timeout(self.patience, room).await.is_ok()
    }

    /// Whether there is room for another answer of a share at this moment.
    #[must_use]
    pub fn has_room_now(&self, share: Share) -> bool {
        self.in_the_way(share).is_none()
    }

    /// Whose answers are in the way of another one of a share; nothing where there is room.
    fn in_the_way(&self, share: Share) -> Option<Whose> {
        let state = self.state();
        let own = state.parts.get(&share).map_or(0, |part| part.held);
        if has_room(own, state.held, self.limit) {
            return None;
        }
        Some(if state.held < self.limit { Whose::Of(share) } else { Whose::All })
    }

    /// The room of a body of this length.
    #[must_use]
    pub fn hold(self: &Arc<Self>, share: Share, bytes: u64) -> Arc<Held> {
        let mut state = self.state();
        state.held += bytes;
        state.parts.entry(share).or_default().held += bytes;
        Arc::new(Held { unsent: self.clone(), share, bytes })
    }

    /// Bytes that wait.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.state().held
    }

    /// Has all answers that make no headway given up sooner than otherwise.
    #[must_use]
    pub fn hurry(&self) -> Hurry<'_> {
        self.hurried(Whose::All)
    }

    /// Whether the answers of a share are to be given up sooner than otherwise.
    #[must_use]
    pub fn is_hurried(&self, share: Share) -> bool {
        let state = self.state();
        state.reasons > 0 || state.parts.get(&share).is_some_and(|part| part.reasons > 0)
    }

    /// Tells when that may have become another for somebody.
    #[must_use]
    pub fn hurries(&self) -> watch::Receiver<()> {
        self.hurries.subscribe()
    }

    fn hurried(&self, whose: Whose) -> Hurry<'_> {
        let mut state = self.state();
        let reasons = state.reasons_of(whose);
        *reasons += 1;
        if *reasons == 1 {
            self.hurries.send_replace(());
        }
        Hurry(self, whose)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn reasons_of(&mut self, whose: Whose) -> &mut usize {
        match whose {
            Whose::All => &mut self.reasons,
            Whose::Of(share) => &mut self.parts.entry(share).or_default().reasons,
        }
    }

    /// Forgets a share of which there is nothing.
    fn tidy(&mut self, share: Share) {
        if self.parts.get(&share).is_some_and(|part| part.held == 0 && part.reasons == 0) {
            self.parts.remove(&share);
        }
    }
}

impl Held {
    /// Whether it is to be given up sooner than otherwise.
    #[must_use]
    pub fn is_hurried(&self) -> bool {
        self.unsent.is_hurried(self.share)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.unsent.state();
        state.held -= self.bytes;
        if let Some(part) = state.parts.get_mut(&self.share) {
            part.held -= self.bytes;
        }
        state.tidy(self.share);
        drop(state);
        // Costs next to nothing where nobody waits.
        self.unsent.freed.notify_waiters();
    }
}

impl Drop for Hurry<'_> {
    fn drop(&mut self) {
        let Self(unsent, whose) = *self;
        let mut state = unsent.state();
        let reasons = state.reasons_of(whose);
        *reasons -= 1;
        if *reasons == 0 {
            unsent.hurries.send_replace(());
        }
        if let Whose::Of(share) = whose {
            state.tidy(share);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(4);

    #[expect(clippy::unnecessary_wraps, reason = "it is what is asked for")]
    fn share(number: u128) -> Share {
        Some(Uuid::from_u128(number))
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_room_and_not_for_ever() {
        let unsent = Arc::new(Unsent::new(10, PATIENCE));
        assert!(unsent.has_room(share(1)).await);
        let held = unsent.hold(share(1), 10);
        for other in 1..=2 {
            assert!(!unsent.has_room(share(other)).await, "nothing was sent meanwhile");
        }
        let mut hurries = unsent.hurries();
        let sends = async {
            hurries.changed().await.unwrap();
            assert!(held.is_hurried());
            drop(held);
        };
        assert!(tokio::join!(unsent.has_room(share(2)), sends).0);
        assert_eq!((unsent.held(), unsent.is_hurried(share(1)), unsent.state().parts.len()), (0, false, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_takes_no_room_of_others() {
        let unsent = Arc::new(Unsent::new(100, PATIENCE));
        let unread = unsent.hold(share(1), 50);
        assert!(unsent.has_room(share(2)).await && unsent.has_room(None).await);
        let read = unsent.hold(share(2), 20);
        let mut hurries = unsent.hurries();
        let looks = async {
            hurries.changed().await.unwrap();
            assert!(unread.is_hurried(), "it is in its own way");
            assert!(!read.is_hurried() && !unsent.is_hurried(None), "and in nobody else's");
        };
        assert!(!tokio::join!(unsent.has_room(share(1)), looks).0);
    }

    proptest! {
        /// However many take all that they are given and never read, there is room for one more; and where they take it side
        /// by side, each has about as much as is left free.
        #[test]
        fn there_is_room_for_one_more(greedy in 1..12_usize, bytes in 1..2_000_u64, are_side_by_side: bool) {
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
