//! Work that waits for a thread, taken in turns, so that nobody waits behind another's backlog.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::Share;
use crate::error::{Error, Result};

/// How much of one share may wait at once. Who waits does so for a bounded time, so more than this would not be reached.
const WAITING: usize = 4_096;

/// The queue of some threads. Of the shares that have something waiting each gets one turn after another, and within a
/// share what came first goes first.
pub(crate) struct Queue<W> {
    state: Mutex<State<W>>,
    ready: Condvar,
    /// How much of one share may run at once.
    most: usize,
}

struct State<W> {
    /// The shares that have something waiting and may run more, in the order of their turns.
    turns: VecDeque<Share>,
    shares: HashMap<Share, Held<W>>,
    is_closed: bool,
}

/// What is there of one share; an entry goes when there is nothing.
struct Held<W> {
    waiting: VecDeque<W>,
    running: usize,
}

impl<W> Queue<W> {
    /// A queue that lets so much of one share run at once.
    pub(crate) fn new(most: usize) -> Self {
        let state = State { turns: VecDeque::new(), shares: HashMap::new(), is_closed: false };
        Self { state: Mutex::new(state), ready: Condvar::new(), most }
    }

    /// Adds work; refused where too much of its share is waiting.
    pub(crate) fn push(&self, share: Share, work: W) -> Result<()> {
        let mut state = self.state();
        let held = state.shares.entry(share).or_insert_with(|| Held { waiting: VecDeque::new(), running: 0 });
        if held.waiting.len() >= WAITING {
            return Err(Error::Unavailable("too much is waiting for the database".into()));
        }
        held.waiting.push_back(work);
        if held.waiting.len() == 1 && held.running < self.most {
            state.turns.push_back(share);
            self.ready.notify_one();
        }
        Ok(())
    }

    /// The next work, waiting for some; `None` once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<(Share, W)> {
        let mut state = self.state();
        loop {
            if let Some(next) = state.take(self.most) {
                return Some(next);
            }
            if state.is_closed {
                return None;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next work, if there is some.
    pub(crate) fn try_pop(&self) -> Option<(Share, W)> {
        self.state().take(self.most)
    }

    /// Says that work of a share is over.
    pub(crate) fn done(&self, share: Share) {
        let mut state = self.state();
        let Some(held) = state.shares.get_mut(&share) else { return };
        held.running -= 1;
        if held.waiting.is_empty() {
            if held.running == 0 {
                state.shares.remove(&share);
            }
        } else if held.running + 1 == self.most {
            state.turns.push_back(share);
            self.ready.notify_one();
        }
    }

    /// How much is waiting.
    pub(crate) fn len(&self) -> usize {
        self.state().shares.values().map(|held| held.waiting.len()).sum()
    }

    /// Lets the threads go once what is waiting is done.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.ready.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> State<W> {
    fn take(&mut self, most: usize) -> Option<(Share, W)> {
        let share = self.turns.pop_front()?;
        let held = self.shares.get_mut(&share)?;
        let work = held.waiting.pop_front()?;
        held.running += 1;
        if !held.waiting.is_empty() && held.running < most {
            self.turns.push_back(share);
        }
        Some((share, work))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "it is what the store takes")]
    fn share(number: u128) -> Share {
        Some(Uuid::from_u128(number))
    }

    #[test]
    fn shares_take_turns() {
        let queue = Queue::new(usize::MAX);
        for number in 0..3 {
            queue.push(share(1), format!("a{number}")).unwrap();
        }
        queue.push(share(2), "b0".to_owned()).unwrap();
        queue.push(None, "c0".to_owned()).unwrap();
        let order: Vec<_> = std::iter::from_fn(|| queue.try_pop()).map(|(_, work)| work).collect();
        assert_eq!(order, ["a0", "b0", "c0", "a1", "a2"]);
    }

    #[test]
    fn a_share_runs_no_more_at_once_than_it_may() {
        let queue = Queue::new(2);
        for number in 0..4 {
            queue.push(share(1), number).unwrap();
        }
        assert_eq!([queue.try_pop(), queue.try_pop(), queue.try_pop()], [Some((share(1), 0)), Some((share(1), 1)), None]);
        queue.push(share(2), 9).unwrap();
        assert_eq!(queue.try_pop(), Some((share(2), 9)));
        queue.done(share(1));
        assert_eq!([queue.try_pop(), queue.try_pop()], [Some((share(1), 2)), None]);
    }

    #[test]
    fn the_backlog_of_one_share_is_bounded_and_nobody_elses() {
        let queue = Queue::new(1);
        for number in 0..WAITING {
            queue.push(share(1), number).unwrap();
        }
        assert!(queue.push(share(1), 0).is_err());
        queue.push(share(2), 0).unwrap();
    }

    proptest! {
        /// Whatever comes and goes: nothing is lost or given twice, a share keeps its order, none has more running than it
        /// may, and nothing waits while it might run.
        #[test]
        fn everything_is_given_once_and_in_order(steps in prop::collection::vec((0..4_u128, prop::bool::ANY), 1..200), most in 1..4_usize) {
            let queue = Queue::new(most);
            let (mut pushed, mut given) = (HashMap::<Share, usize>::new(), HashMap::<Share, usize>::new());
            let mut running: Vec<Share> = Vec::new();
            let mut take = |running: &mut Vec<Share>| {
                let Some((share, number)) = queue.try_pop() else { return false };
                let next = given.entry(share).or_default();
                assert_eq!(*next, number);
                *next += 1;
                running.push(share);
                assert!(running.iter().filter(|other| **other == share).count() <= most);
                true
            };
            for (number, pushes) in steps {
                if pushes {
                    let next = pushed.entry(share(number)).or_default();
                    queue.push(share(number), *next).unwrap();
                    *next += 1;
                } else if !take(&mut running) && !running.is_empty() {
                    queue.done(running.remove(0));
                }
            }
            while take(&mut running) || !running.is_empty() {
                if !running.is_empty() {
                    queue.done(running.remove(0));
                }
            }
            prop_assert_eq!(pushed, given);
            prop_assert_eq!(queue.len(), 0);
        }
    }
}
