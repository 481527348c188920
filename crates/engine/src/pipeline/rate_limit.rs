//! Rolling rate limits per credential (spec: Limits).
//!
//! Both windows roll exactly: a credential's log keeps the moment of every accepted request of the last minute, and the
//! second window is the log's tail. Refused requests do not count.
//!
//! The log is this process's own, and with Redis one that all nodes share ([`super::shared_log`]). A test holds one rule
//! against the other.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::shared_log::SharedLog;
use crate::access::Owner;
use crate::clock::Clock;

const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// How a caller stands with its limit after this request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// `X-RateLimit-Limit`
    pub limit: u32,
    /// `X-RateLimit-Remaining`
    pub remaining: u32,
    /// `X-RateLimit-Reset`, Unix seconds: when the oldest counted request leaves the window.
    pub reset: i64,
    /// Set on a refusal: whole seconds until the next request may be accepted.
    pub retry_after: Option<u64>,
}

/// Requests that were judged by this process alone because Redis did not answer.
const FALLBACKS: &str = "vestibule_rate_limit_fallback_total";

/// How many requests each window holds; 0 switches it off.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    pub(super) per_minute: u32,
    pub(super) per_second: u32,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decision {
    /// Set on a refusal: how long until the next request may be accepted.
    pub(super) wait: Option<Duration>,
    /// Accepted requests in the window that is told.
    pub(super) used: u32,
    /// How long until the oldest of them leaves it.
    pub(super) leaves: Duration,
}

/// The limits, and who has used how much of them.
pub struct RateLimits {
    windows: Windows,
    logs: Mutex<Logs>,
    shared: Option<Arc<SharedLog>>,
}

/// Who has used how much, and when those that fell silent were last forgotten.
#[derive(Default)]
struct Logs {
    of: HashMap<Owner, VecDeque<Duration>>,
    swept: Duration,
}

impl RateLimits {
    /// Limits of so many requests; 0 switches a window off.
    #[must_use]
    pub fn new(per_minute: u32, per_second: u32) -> Self {
        Self { windows: Windows { per_minute, per_second }, logs: Mutex::default(), shared: None }
    }

    /// The same limits, shared by all nodes with this Redis.
    pub fn shared_in(self, redis_url: &str) -> Result<Self, String> {
        let shared = SharedLog::new(redis_url)?;
        Ok(Self { shared: self.windows.are_any().then(|| Arc::new(shared)), ..self })
    }

    /// Whether [`RateLimits::take_shared`] is to be asked first.
    #[must_use]
    pub fn are_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The log that is shared, for which somebody has to keep a connection.
    #[must_use]
    pub fn shared_log(&self) -> Option<Arc<SharedLog>> {
        let shared = self.shared.clone()?;
        metrics::counter!(FALLBACKS).increment(0);
        Some(shared)
    }

    /// Counts a request, or refuses it, in this process alone. `None` where no limit is set.
    ///
    /// `elapsed` is time that only ever passes; `now` is what the wall clock shows, for the header.
    pub fn take(&self, owner: Owner, elapsed: Duration, now: Timestamp) -> Option<Quota> {
        if !self.windows.are_any() {
            return None;
        }
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        Some(take(logs.of(owner, elapsed), self.windows, elapsed).quota(self.windows, now))
    }

    /// Counts a request, or refuses it, for all nodes if they share limits and that can be asked, else in this process alone.
    pub async fn quota(&self, owner: Owner, clock: &Clock) -> Option<Quota> {
        let now = clock.now();
        let agreed = self.take_shared(owner, clock, now).await;
        agreed.or_else(|| self.take(owner, clock.elapsed(), now))
    }

    /// Counts a request, or refuses it, for all nodes. `None` where nodes share no limit, and where it could not be asked:
    /// then [`RateLimits::take`] decides. It is asked over the network, so no transaction may be open.
    pub async fn take_shared(&self, owner: Owner, clock: &Clock, now: Timestamp) -> Option<Quota> {
        let shared = self.shared.as_ref()?;
        let Some(decision) = shared.take(&owner.key(), self.windows, clock.staged()).await else {
            metrics::counter!(FALLBACKS).increment(1);
            return None;
        };
        if decision.wait.is_none() {
            // What this process accepted counts here, too, so that it does not start from nothing when Redis goes.
            let elapsed = clock.elapsed();
            let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
            let log = logs.of(owner, elapsed);
            forget(log, self.windows, elapsed);
            log.push_back(elapsed);
        }
        Some(decision.quota(self.windows, now))
    }
}

impl Logs {
    fn of(&mut self, owner: Owner, elapsed: Duration) -> &mut VecDeque<Duration> {
        if elapsed.saturating_sub(self.swept) >= MINUTE {
            self.of.retain(|_, log| log.back().is_some_and(|last| elapsed.saturating_sub(*last) < MINUTE));
            self.swept = elapsed;
        }
        self.of.entry(owner).or_default()
    }
}

impl Windows {
    fn are_any(self) -> bool {
        self.per_minute > 0 || self.per_second > 0
    }

    /// The window that headers describe, which is the longer one: its limit and its length.
    fn told(self) -> (u32, Duration) {
        if self.per_minute == 0 { (self.per_second, SECOND) } else { (self.per_minute, MINUTE) }
    }
}

impl Decision {
    fn quota(self, windows: Windows, now: Timestamp) -> Quota {
        let (limit, _) = windows.told();
        let reset = now.checked_add(self.leaves).unwrap_or(now);
        Quota {
            limit,
            remaining: limit.saturating_sub(self.used),
            reset: reset.as_second() + i64::from(reset.subsec_nanosecond() > 0),
            retry_after: self.wait.map(|wait| whole_seconds(wait).max(1)),
        }
    }
}

/// Judges a request, and counts it if it is accepted. `rate_limit.lua` is this rule for the log that is shared.
fn take(log: &mut VecDeque<Duration>, windows: Windows, elapsed: Duration) -> Decision {
    forget(log, windows, elapsed);
    let wait = [(windows.per_minute, MINUTE), (windows.per_second, SECOND)]
        .into_iter()
        .filter(|(limit, _)| *limit > 0)
        .filter_map(|(limit, window)| wait(log, limit, window, elapsed))
        .max();
    if wait.is_none() {
        log.push_back(elapsed);
    }
    let (_, window) = windows.told();
    let used = u32::try_from(log.len()).unwrap_or(u32::MAX);
    let leaves = log.front().map_or(Duration::ZERO, |first| (*first + window).saturating_sub(elapsed));
    Decision { wait, used, leaves }
}

/// Drops what no window counts any more.
fn forget(log: &mut VecDeque<Duration>, windows: Windows, elapsed: Duration) {
    let (_, window) = windows.told();
    while log.front().is_some_and(|first| elapsed.saturating_sub(*first) >= window) {
        log.pop_front();
    }
}

/// How long until a window has room for one more; `None` when it has.
fn wait(log: &VecDeque<Duration>, limit: u32, window: Duration, elapsed: Duration) -> Option<Duration> {
    if log.len() < limit as usize {
        return None;
    }
    let begins = log.partition_point(|moment| elapsed.saturating_sub(*moment) >= window);
    let used = log.len() - begins;
    let excess = (used + 1).checked_sub(limit as usize).filter(|excess| *excess > 0)?;
    let leaves = log.get(begins + excess - 1)?;
    Some((*leaves + window).saturating_sub(elapsed))
}

fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::access::Credential;

    fn owner(number: u128) -> Owner {
        let id = Uuid::from_u128(number);
        Owner { organization: id, credential: Credential::Connection { app: Uuid::nil(), member: Uuid::nil() } }
    }

    fn at(milliseconds: u64) -> (Duration, Timestamp) {
        let elapsed = Duration::from_millis(milliseconds);
        (elapsed, Timestamp::UNIX_EPOCH.checked_add(elapsed).unwrap())
    }

    #[test]
    fn a_window_rolls_rather_than_starting_over() {
        let limits = RateLimits::new(2, 0);
        let key = owner(0);
        let take = |ms| {
            let (elapsed, now) = at(ms);
            limits.take(key, elapsed, now).unwrap()
        };
        assert_eq!(take(0), Quota { limit: 2, remaining: 1, reset: 60, retry_after: None });
        assert_eq!(take(30_500), Quota { limit: 2, remaining: 0, reset: 60, retry_after: None });
        assert_eq!(take(59_001), Quota { limit: 2, remaining: 0, reset: 60, retry_after: Some(1) });
        assert_eq!(take(60_000), Quota { limit: 2, remaining: 0, reset: 91, retry_after: None });
        assert_eq!(take(60_001).retry_after, Some(31));
    }

    #[test]
    fn organizations_do_not_share_and_no_limit_says_nothing() {
        let limits = RateLimits::new(0, 1);
        let (elapsed, now) = at(0);
        assert_eq!(limits.take(owner(0), elapsed, now).unwrap().retry_after, None);
        assert_eq!(limits.take(owner(0), elapsed, now).unwrap().retry_after, Some(1));
        assert_eq!(limits.take(owner(1), elapsed, now).unwrap().retry_after, None);
        assert_eq!(RateLimits::new(0, 0).take(owner(0), elapsed, now), None);
    }

    proptest! {
        /// Against the definition: a request is accepted exactly when fewer than the limit were accepted in each window.
        #[test]
        fn agrees_with_counting(steps in prop::collection::vec(0..5_000_u64, 1..200), per_minute in 0..20_u32, per_second in 0..5_u32) {
            prop_assume!(per_minute + per_second > 0);
            let limits = RateLimits::new(per_minute, per_second);
            let (mut time, mut accepted) = (0, Vec::<u64>::new());
            for step in steps {
                time += step;
                let (elapsed, now) = at(time);
                let quota = limits.take(owner(0), elapsed, now).unwrap();
                let within = |window: u64| accepted.iter().filter(|moment| time - **moment < window).count();
                let fits = |limit: u32, window| limit == 0 || within(window) < limit as usize;
                let expected = fits(per_minute, 60_000) && fits(per_second, 1_000);
                prop_assert_eq!(quota.retry_after.is_none(), expected);
                if expected {
                    accepted.push(time);
                }
            }
        }
    }
}
