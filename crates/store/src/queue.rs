//! A fair queue of work that waits for a thread. Shares take turns, so that no share waits behind
//! another's backlog.
//!
//! Turns are measured in time, not in number. The next turn goes to the waiting share that has used
//! the least time lately (start-time fair queueing, Goyal, Vin and Cheng, SIGCOMM 1996). A share
//! with slow work waits longer. A share with fast work does not wait behind each piece of slow
//! work.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Share;
use crate::error::{Error, Result};

/// Maximum number of waiting items of one share. The wait is bounded in time, so this number is
/// hardly ever reached.
const WAITING: usize = 4_096;
/// The least time that one turn is charged.
const TURN: Duration = Duration::from_micros(100);
/// The most time that a share may be charged ahead of the others. Any more is waived, so that the
/// share gets its turn before its wait is too long.
const DEBT: Duration = Duration::from_millis(50);
/// The number of known shares from which on shares with little charged time are removed.
const REMEMBERED: usize = 1_024;

/// The queue of a group of threads. The work of one share stays in order.
pub(crate) struct Queue<W> {
    state: Mutex<QueueState<W>>,
    ready: Condvar,
    /// Maximum number of running items of one share.
    most: usize,
}

struct QueueState<W> {
    /// The shares that have waiting work and may run more, in the order of their turns.
    turns: BTreeSet<QueueTurn>,
    shares: HashMap<Share, ShareQueue<W>>,
    /// The virtual time of the queue. A share with this charged time is neither ahead nor behind.
    now: Duration,
    /// Number of turns so far. It breaks ties between shares with the same charged time.
    count: u64,
    /// The number of shares at which those with little charged time are removed.
    forget_at: usize,
    /// Threads that wait for work.
    idle: usize,
    is_closed: bool,
}

/// A turn: charged time, tie breaker and share.
type QueueTurn = (Duration, u64, Share);

/// The state of one share.
struct ShareQueue<W> {
    waiting: VecDeque<W>,
    running: usize,
    /// The time charged to the share.
    had: Duration,
    /// Duration of its last finished work.
    last: Duration,
    /// Its turn, if it has one.
    turn: Option<QueueTurn>,
}

impl<W> Queue<W> {
    /// Makes a queue that runs at most `most` items of one share at once.
    pub(crate) fn new(most: usize) -> Self {
        let (turns, shares) = (BTreeSet::new(), HashMap::new());
        let state = QueueState {
            turns,
            shares,
            now: Duration::ZERO,
            count: 0,
            forget_at: REMEMBERED,
            idle: 0,
            is_closed: false,
        };
        Self {
            state: Mutex::new(state),
            ready: Condvar::new(),
            most,
        }
    }

    /// Adds work. Returns whether the share got a turn by this. Fails if too much work of the share
    /// is waiting.
    pub(crate) fn push(&self, share: Share, work: W) -> Result<bool> {
        let mut state = self.state();
        state.forget();
        let now = state.now;
        let held = state.shares.entry(share).or_insert_with(ShareQueue::new);
        if held.waiting.len() >= WAITING {
            return Err(Error::Unavailable(
                "too many operations wait for the database".into(),
            ));
        }
        held.had = held.had.max(now);
        held.waiting.push_back(work);
        let is_new = state.line_up(share, self.most);
        // Wake a thread for each item: a woken thread takes one item and leaves the rest to other
        // threads.
        self.tell(&state);
        Ok(is_new)
    }

    /// Returns the next work and waits until there is some. Returns `None` after the queue is
    /// closed and empty.
    pub(crate) fn pop(&self) -> Option<(Share, W)> {
        let mut state = self.state();
        loop {
            if let Some(next) = state.take(self.most) {
                return Some(next);
            }
            if state.is_closed {
                return None;
            }
            state.idle += 1;
            state = self
                .ready
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Returns the next work at once, unless the last work of its share took longer than `time`.
    pub(crate) fn pop_if_brief(&self, time: Duration) -> Option<(Share, W)> {
        let mut state = self.state();
        let (_, _, share) = state.turns.first()?;
        if state.shares.get(share)?.last > time {
            None
        } else {
            state.take(self.most)
        }
    }

    /// Returns whether a share has a turn.
    pub(crate) fn has_turn(&self) -> bool {
        !self.state().turns.is_empty()
    }

    /// Returns whether the next waiting work of a share satisfies `is_wanted`.
    pub(crate) fn is_followed(&self, share: Share, is_wanted: impl FnOnce(&W) -> bool) -> bool {
        self.state()
            .shares
            .get(&share)
            .and_then(|held| held.waiting.front())
            .is_some_and(is_wanted)
    }

    /// Notes that work of a share is over and how long it took. Returns the share's next work,
    /// which runs in its place.
    pub(crate) fn follow(&self, share: Share, took: Duration) -> Option<W> {
        let mut state = self.state();
        let held = state.account(share, took)?;
        held.had += TURN;
        held.waiting.pop_front()
    }

    /// Notes that work of a share is over and how long it took. Returns whether the share got a
    /// turn by this.
    pub(crate) fn done(&self, share: Share, took: Duration) -> bool {
        let mut state = self.state();
        let Some(held) = state.account(share, took) else {
            return false;
        };
        held.running -= 1;
        let is_new = state.line_up(share, self.most);
        if is_new {
            self.tell(&state);
        }
        is_new
    }

    /// Returns the number of waiting items.
    pub(crate) fn len(&self) -> usize {
        self.state()
            .shares
            .values()
            .map(|held| held.waiting.len())
            .sum()
    }

    /// Closes the queue. The threads end once the waiting work is done.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.ready.notify_all();
    }

    /// Wakes a thread, if one waits. The count of idle threads saves a system call otherwise.
    fn tell(&self, state: &QueueState<W>) {
        if state.idle > 0 {
            self.ready.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> QueueState<W> {
    fn take(&mut self, most: usize) -> Option<(Share, W)> {
        let (turn, _, share) = self.turns.pop_first()?;
        self.now = self.now.max(turn);
        let held = self.shares.get_mut(&share)?;
        held.turn = None;
        let work = held.waiting.pop_front()?;
        held.running += 1;
        held.had += TURN;
        self.line_up(share, most);
        Some((share, work))
    }

    /// Charges a share for the time that its work took.
    fn account(&mut self, share: Share, took: Duration) -> Option<&mut ShareQueue<W>> {
        let most_owed = self.now + DEBT;
        let held = self.shares.get_mut(&share)?;
        held.last = took;
        held.had = (held.had + took.saturating_sub(TURN)).min(most_owed.max(held.had));
        Some(held)
    }

    /// Updates the turn of a share. Returns whether the share had none before.
    fn line_up(&mut self, share: Share, most: usize) -> bool {
        let Some(held) = self.shares.get_mut(&share) else {
            return false;
        };
        let had = held.turn.take();
        if let Some(turn) = &had {
            self.turns.remove(turn);
        }
        if held.waiting.is_empty() || held.running >= most {
            return false;
        }
        let count = had.map_or(self.count, |(_, count, _)| count);
        self.count += 1;
        let turn = (held.had, count, share);
        held.turn = Some(turn);
        self.turns.insert(turn);
        had.is_none()
    }

    /// Removes idle shares with little charged time, once there are many shares.
    fn forget(&mut self) {
        if self.shares.len() >= self.forget_at {
            let little = self.now + DEBT / 2;
            self.shares.retain(|_, held| {
                !held.waiting.is_empty() || held.running > 0 || held.had > little
            });
            self.forget_at = REMEMBERED.max(2 * self.shares.len());
        }
    }
}

impl<W> ShareQueue<W> {
    fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            running: 0,
            had: Duration::ZERO,
            last: Duration::ZERO,
            turn: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "it is what the store takes")]
    fn share(number: u128) -> Share {
        Some(Uuid::from_u128(number))
    }

    /// Returns the next work, whatever its duration.
    fn now<W>(queue: &Queue<W>) -> Option<(Share, W)> {
        queue.pop_if_brief(Duration::MAX)
    }

    #[test]
    fn shares_take_turns() {
        let queue = Queue::new(usize::MAX);
        for number in 0..3 {
            queue.push(share(1), format!("a{number}")).unwrap();
        }
        queue.push(share(2), "b0".to_owned()).unwrap();
        queue.push(None, "c0".to_owned()).unwrap();
        let order: Vec<_> = std::iter::from_fn(|| now(&queue))
            .map(|(_, work)| work)
            .collect();
        assert_eq!(order, ["a0", "b0", "c0", "a1", "a2"]);
    }

    #[test]
    fn shares_get_turns_of_equal_time() {
        let queue = Queue::new(usize::MAX);
        let long = Duration::from_millis(300);
        for number in 0..5 {
            queue.push(share(1), format!("long {number}")).unwrap();
        }
        assert_eq!(now(&queue).unwrap().1, "long 0");
        for number in 0..3 {
            queue.push(share(2), format!("short {number}")).unwrap();
        }
        queue.done(share(1), long);
        for number in 0..3 {
            assert_eq!(
                queue.pop_if_brief(Duration::from_millis(5)).unwrap().1,
                format!("short {number}")
            );
            queue.done(share(2), TURN);
        }
        assert!(
            queue.pop_if_brief(Duration::from_millis(5)).is_none(),
            "what takes long goes by itself"
        );
        assert_eq!(now(&queue).unwrap().1, "long 1");
        queue.done(share(1), long);
        // The charged time is bounded, so that the share gets a turn while others go on.
        let turns = DEBT.as_micros() / TURN.as_micros() + 1;
        let mut before = 0;
        loop {
            queue.push(share(2), "short".to_owned()).unwrap();
            if now(&queue).unwrap().1 == "long 2" {
                break;
            }
            queue.done(share(2), TURN);
            before += 1;
        }
        assert!(before > turns / 2 && before <= turns, "{before}");
    }

    #[test]
    fn no_thread_sleeps_while_work_can_run() {
        let queue = Queue::new(2);
        let (running, alone) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some((share, round)) = queue.pop() {
                        running.fetch_add(1, Ordering::Relaxed);
                        let start = Instant::now();
                        while running.load(Ordering::Relaxed) < 2 * round {
                            if start.elapsed() > Duration::from_secs(5) {
                                alone.fetch_add(1, Ordering::Relaxed);
                                return queue.close();
                            }
                            std::thread::yield_now();
                        }
                        queue.done(share, TURN);
                    }
                });
            }
            for round in 1..=1_000 {
                for _ in 0..2 {
                    queue.push(share(1), round).unwrap();
                }
                while running.load(Ordering::Relaxed) < 2 * round
                    && alone.load(Ordering::Relaxed) == 0
                {
                    std::thread::yield_now();
                }
            }
            queue.close();
        });
        assert_eq!(
            alone.load(Ordering::Relaxed),
            0,
            "a thread sleeps while there is work"
        );
    }

    #[test]
    fn the_number_of_remembered_shares_is_bounded() {
        let queue = Queue::new(1);
        for number in 0..100_000 {
            queue.push(share(number), ()).unwrap();
            let (share, ()) = now(&queue).unwrap();
            queue.done(share, TURN);
        }
        assert!(queue.state().shares.len() <= REMEMBERED + 1);
    }

    #[test]
    fn a_share_is_limited_in_concurrent_work() {
        let queue = Queue::new(2);
        for number in 0..4 {
            queue.push(share(1), number).unwrap();
        }
        assert_eq!(
            [now(&queue), now(&queue), now(&queue)],
            [Some((share(1), 0)), Some((share(1), 1)), None]
        );
        queue.push(share(2), 9).unwrap();
        assert_eq!(now(&queue), Some((share(2), 9)));
        queue.done(share(1), TURN);
        assert_eq!([now(&queue), now(&queue)], [Some((share(1), 2)), None]);
    }

    #[test]
    fn a_full_backlog_of_a_share_does_not_affect_others() {
        let queue = Queue::new(1);
        for number in 0..WAITING {
            queue.push(share(1), number).unwrap();
        }
        assert!(queue.push(share(1), 0).is_err());
        queue.push(share(2), 0).unwrap();
    }

    proptest! {
        /// For any sequence of pushes and ends: no work is lost or given twice, a share keeps its
        /// order, no share runs more than it may, and no work waits while it could run.
        #[test]
        fn work_is_given_once_and_in_the_order_of_its_share(
            steps in prop::collection::vec((0..4_u128, prop::bool::ANY), 1..200),
            most in 1..4_usize,
            took in (0..500_000_u64).prop_map(Duration::from_micros),
        ) {
            let queue = Queue::new(most);
            let (mut pushed, mut given) = (HashMap::<Share, usize>::new(), HashMap::<Share, usize>::new());
            let mut running: Vec<Share> = Vec::new();
            let mut take = |running: &mut Vec<Share>| {
                let Some((share, number)) = now(&queue) else { return false };
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
                    queue.done(running.remove(0), took);
                }
            }
            while take(&mut running) || !running.is_empty() {
                if !running.is_empty() {
                    queue.done(running.remove(0), took);
                }
            }
            prop_assert_eq!(pushed, given);
            prop_assert_eq!(queue.len(), 0);
        }
    }
}
