//! A fair queue of work that waits for a thread. Shares take turns, so that no share waits behind
//! another's backlog.
//!
//! The next turn goes to the waiting share whose work has taken the least time lately (start-time
//! fair queueing, Goyal, Vin and Cheng, SIGCOMM 1996). A share with slow work therefore gets fewer
//! turns, and hardly delays the fast work of other shares.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Share;
use crate::error::{Error, Result};

/// Maximum number of waiting items of one share; more items are refused. A share hardly ever has so
/// many, because the time that an item may wait is limited too.
const WAITING: usize = 4_096;
/// Minimum time that the queue charges to a share for one turn, even if the work of the turn took
/// less.
const TURN: Duration = Duration::from_micros(100);
/// The most by which the charged time of a share may exceed the queue's virtual time
/// (`QueueState::now`). Without this limit, a share with very slow work would wait so long for its
/// next turn that its waiting work would time out.
const DEBT: Duration = Duration::from_millis(50);
/// Minimum number of stored shares at which the queue removes the shares that have no item waiting
/// or running, and have used little time lately.
const REMEMBERED: usize = 1_024;

/// Items of work that wait for a group of threads. The items of one share start in the order in
/// which they were added.
pub(crate) struct Queue<W> {
    state: Mutex<QueueState<W>>,
    ready: Condvar,
    /// Maximum number of items of one share that run at the same time.
    max_running: usize,
}

struct QueueState<W> {
    /// The turns of the shares that have waiting items and run fewer than `max_running` items, the
    /// next turn first.
    turns: BTreeSet<QueueTurn>,
    shares: HashMap<Share, ShareQueue<W>>,
    /// The virtual time of the queue: the charged time of the share that had the last turn. When an
    /// idle share adds an item, its charged time is raised to this value, so that the share cannot
    /// save up turns.
    now: Duration,
    /// The number for the next turn. It grows with each queued turn. Of two turns with the same
    /// charged time, the turn with the lower number comes first.
    count: u64,
    /// The number of stored shares at which [`QueueState::remove_idle_shares`] runs.
    forget_at: usize,
    /// Number of threads that wait for work.
    idle: usize,
    is_closed: bool,
}

/// The turn of a share in the order of the queue: the share's charged time, a number that orders
/// turns with equal times, and the share.
type QueueTurn = (Duration, u64, Share);

/// The queued and the running work of one share, and its place in the order of turns.
struct ShareQueue<W> {
    waiting: VecDeque<W>,
    running: usize,
    /// The time charged to the share. It is compared with the queue's virtual time
    /// (`QueueState::now`).
    charged: Duration,
    /// Duration of the share's last finished work.
    last: Duration,
    /// The turn that the share waits for. `None` if the share waits for no turn.
    turn: Option<QueueTurn>,
}

impl<W> Queue<W> {
    /// Makes a queue that runs at most `max_running` items of one share at the same time.
    pub(crate) fn new(max_running: usize) -> Self {
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
            max_running,
        }
    }

    /// Adds an item of a share. Returns true if the share now waits for a turn and did not before.
    /// Fails if too many items of the share wait already.
    pub(crate) fn push(&self, share: Share, work: W) -> Result<bool> {
        let mut state = self.state();
        state.remove_idle_shares();
        let now = state.now;
        let queue_of_share = state.shares.entry(share).or_insert_with(ShareQueue::new);
        if queue_of_share.waiting.len() >= WAITING {
            return Err(Error::Unavailable(
                "too many operations wait for the database".into(),
            ));
        }
        queue_of_share.charged = queue_of_share.charged.max(now);
        queue_of_share.waiting.push_back(work);
        let is_new = state.update_turn(share, self.max_running);
        // Wake one thread for each item, because a woken thread takes only one item.
        self.wake_thread(&state);
        Ok(is_new)
    }

    /// Removes the next item from the queue and returns it. Waits if there is none. Returns `None`
    /// once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<(Share, W)> {
        let mut state = self.state();
        loop {
            if let Some(next) = state.take(self.max_running) {
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

    /// Takes the next item as [`Queue::pop`] does, but without waiting. Returns `None` if no item
    /// waits, or if the last finished item of the share whose turn it is took longer than `time`.
    pub(crate) fn pop_if_brief(&self, time: Duration) -> Option<(Share, W)> {
        let mut state = self.state();
        let (_, _, share) = state.turns.first()?;
        if state.shares.get(share)?.last > time {
            None
        } else {
            state.take(self.max_running)
        }
    }

    /// Returns whether any share waits for a turn.
    pub(crate) fn has_turn(&self) -> bool {
        !self.state().turns.is_empty()
    }

    /// Returns whether a share has a waiting item, and the first of its waiting items satisfies a
    /// condition. [`Queue::follow`] returns that item.
    pub(crate) fn is_followed(&self, share: Share, condition: impl FnOnce(&W) -> bool) -> bool {
        self.state()
            .shares
            .get(&share)
            .and_then(|queue_of_share| queue_of_share.waiting.front())
            .is_some_and(condition)
    }

    /// Records that an item of a share has ended, and how long it took. Returns the share's next
    /// item, which the same thread can run at once, without a new turn of the share. Returns `None`
    /// if no item of the share waits.
    pub(crate) fn follow(&self, share: Share, took: Duration) -> Option<W> {
        let mut state = self.state();
        let queue_of_share = state.charge(share, took)?;
        queue_of_share.charged += TURN;
        queue_of_share.waiting.pop_front()
    }

    /// Records that an item of a share has ended, and that it took the time `took`. Returns true if
    /// the share now waits for a turn and did not wait for one before.
    pub(crate) fn done(&self, share: Share, took: Duration) -> bool {
        let mut state = self.state();
        let Some(queue_of_share) = state.charge(share, took) else {
            return false;
        };
        queue_of_share.running -= 1;
        let is_new = state.update_turn(share, self.max_running);
        if is_new {
            self.wake_thread(&state);
        }
        is_new
    }

    /// Returns the number of waiting items of all shares.
    pub(crate) fn len(&self) -> usize {
        self.state()
            .shares
            .values()
            .map(|queue_of_share| queue_of_share.waiting.len())
            .sum()
    }

    /// Closes the queue. The threads end when no item waits any more.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.ready.notify_all();
    }

    /// Wakes a waiting thread, if there is any. If none waits, `idle` is 0, and no system call is
    /// needed.
    fn wake_thread(&self, state: &QueueState<W>) {
        if state.idle > 0 {
            self.ready.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> QueueState<W> {
    fn take(&mut self, max_running: usize) -> Option<(Share, W)> {
        let (turn, _, share) = self.turns.pop_first()?;
        self.now = self.now.max(turn);
        let queue_of_share = self.shares.get_mut(&share)?;
        queue_of_share.turn = None;
        let work = queue_of_share.waiting.pop_front()?;
        queue_of_share.running += 1;
        queue_of_share.charged += TURN;
        self.update_turn(share, max_running);
        Some((share, work))
    }

    /// Charges a share for its item that took the time `took`. One [`TURN`] of this time was
    /// already charged when the item left the queue. An addition never raises the charged time
    /// above the queue's virtual time plus [`DEBT`]. Returns the queue of the share.
    fn charge(&mut self, share: Share, took: Duration) -> Option<&mut ShareQueue<W>> {
        let max_charged = self.now + DEBT;
        let queue_of_share = self.shares.get_mut(&share)?;
        queue_of_share.last = took;
        queue_of_share.charged = (queue_of_share.charged + took.saturating_sub(TURN))
            .min(max_charged.max(queue_of_share.charged));
        Some(queue_of_share)
    }

    /// Updates the turn of a share after a change of its charged time, of its waiting items or of
    /// its running items. Returns true if the share now waits for a turn and did not before.
    fn update_turn(&mut self, share: Share, max_running: usize) -> bool {
        let Some(queue_of_share) = self.shares.get_mut(&share) else {
            return false;
        };
        let old_turn = queue_of_share.turn.take();
        if let Some(turn) = &old_turn {
            self.turns.remove(turn);
        }
        if queue_of_share.waiting.is_empty() || queue_of_share.running >= max_running {
            return false;
        }
        let count = old_turn.map_or(self.count, |(_, count, _)| count);
        self.count += 1;
        let turn = (queue_of_share.charged, count, share);
        queue_of_share.turn = Some(turn);
        self.turns.insert(turn);
        old_turn.is_none()
    }

    /// If many shares are stored, removes those that are idle and have used little time lately.
    /// This bounds the memory of the queue.
    fn remove_idle_shares(&mut self) {
        if self.shares.len() >= self.forget_at {
            let threshold = self.now + DEBT / 2;
            self.shares.retain(|_, queue_of_share| {
                !queue_of_share.waiting.is_empty()
                    || queue_of_share.running > 0
                    || queue_of_share.charged > threshold
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
            charged: Duration::ZERO,
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

    #[expect(clippy::unnecessary_wraps, reason = "the store takes an option")]
    fn share(number: u128) -> Share {
        Some(Uuid::from_u128(number))
    }

    /// Takes the next item of work from the queue, even if the last item of the same share took
    /// long.
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
            "slow work is not brief"
        );
        assert_eq!(now(&queue).unwrap().1, "long 1");
        queue.done(share(1), long);
        // The queue charges a share for at most [`DEBT`] of the time of slow work. So share 1 gets
        // a turn again after a limited number of turns, although share 2 always has work waiting.
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
        /// For any sequence of pushes and ends: no item is lost or returned twice, the items of a
        /// share start in order, no share exceeds its limit of running items, and no item waits
        /// while it could run.
        #[test]
        fn work_is_given_once_and_in_the_order_of_its_share(
            steps in prop::collection::vec((0..4_u128, prop::bool::ANY), 1..200),
            max_running in 1..4_usize,
            took in (0..500_000_u64).prop_map(Duration::from_micros),
        ) {
            let queue = Queue::new(max_running);
            let (mut pushed, mut returned) = (
                HashMap::<Share, usize>::new(),
                HashMap::<Share, usize>::new(),
            );
            let mut running: Vec<Share> = Vec::new();
            let mut take = |running: &mut Vec<Share>| {
                let Some((share, number)) = now(&queue) else {
                    return false;
                };
                let next = returned.entry(share).or_default();
                assert_eq!(*next, number);
                *next += 1;
                running.push(share);
                assert!(running.iter().filter(|other| **other == share).count() <= max_running);
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
            prop_assert_eq!(pushed, returned);
            prop_assert_eq!(queue.len(), 0);
        }
    }
}
