//! Rolling rate limits per credential (spec: Limits).
//!
//! Both windows roll exactly: a credential's log keeps the moment of every accepted request of the last minute, and the
//! second window is the log's tail. Refused requests do not count.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::access::Credential;

const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// How a caller stands with its limit after this request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// `X-RateLimit-Limit`
    pub limit: u32,
    /// `X-RateLimit-Remaining`
    pub remaining: u32,
    /// `X-RateLimit-Reset`, Unix seconds: when the oldest counted request leaves the window.
    pub reset: i64,
    /// Set on a refusal: whole seconds until the next request may be accepted.
    pub retry_after: Option<u64>,
}

/// The limits, and who has used how much of them.
pub struct RateLimits {
    per_minute: u32,
    per_second: u32,
    logs: Mutex<Logs>,
}

/// Who has used how much, and when those that fell silent were last forgotten.
#[derive(Default)]
struct Logs {
    of: HashMap<Credential, VecDeque<Duration>>,
    swept: Duration,
}

impl RateLimits {
    /// Limits of so many requests; 0 switches a window off.
    #[must_use]
    pub fn new(per_minute: u32, per_second: u32) -> Self {
        Self { per_minute, per_second, logs: Mutex::default() }
    }

    /// Counts a request, or refuses it. `None` where no limit is set.
    ///
    /// `elapsed` is time that only ever passes; `now` is what the wall clock shows, for the header.
    pub fn take(&self, credential: Credential, elapsed: Duration, now: Timestamp) -> Option<Standing> {
        if self.per_minute == 0 && self.per_second == 0 {
            return None;
        }
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if elapsed.saturating_sub(logs.swept) >= MINUTE {
            logs.of.retain(|_, log| log.back().is_some_and(|last| elapsed.saturating_sub(*last) < MINUTE));
            logs.swept = elapsed;
        }
        let log = logs.of.entry(credential).or_default();
        Some(take(log, self.per_minute, self.per_second, elapsed, now))
    }
}

fn take(log: &mut VecDeque<Duration>, per_minute: u32, per_second: u32, elapsed: Duration, now: Timestamp) -> Standing {
    let kept = if per_minute == 0 { SECOND } else { MINUTE };
    while log.front().is_some_and(|first| elapsed.saturating_sub(*first) >= kept) {
        log.pop_front();
    }
    let wait = [(per_minute, MINUTE), (per_second, SECOND)]
        .into_iter()
        .filter(|(limit, _)| *limit > 0)
        .filter_map(|(limit, window)| wait(log, limit, window, elapsed))
        .max();
    if wait.is_none() {
        log.push_back(elapsed);
    }
    let (limit, window) = if per_minute == 0 { (per_second, SECOND) } else { (per_minute, MINUTE) };
    let used = u32::try_from(log.len()).unwrap_or(u32::MAX);
    let leaves = log.front().map_or(Duration::ZERO, |first| (*first + window).saturating_sub(elapsed));
    let reset = now.checked_add(leaves).unwrap_or(now);
    Standing {
        limit,
        remaining: limit.saturating_sub(used),
        reset: reset.as_second() + i64::from(reset.subsec_nanosecond() > 0),
        retry_after: wait.map(|wait| whole_seconds(wait).max(1)),
    }
}

/// How long until a window has room for one more; `None` when it has.
fn wait(log: &VecDeque<Duration>, limit: u32, window: Duration, elapsed: Duration) -> Option<Duration> {
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

    fn at(milliseconds: u64) -> (Duration, Timestamp) {
        let elapsed = Duration::from_millis(milliseconds);
        (elapsed, Timestamp::UNIX_EPOCH.checked_add(elapsed).unwrap())
    }

    #[test]
    fn a_window_rolls_rather_than_starting_over() {
        let limits = RateLimits::new(2, 0);
        let key = Credential::ApiKey(Uuid::nil());
        let take = |ms| {
            let (elapsed, now) = at(ms);
            limits.take(key, elapsed, now).unwrap()
        };
        assert_eq!(take(0), Standing { limit: 2, remaining: 1, reset: 60, retry_after: None });
        assert_eq!(take(30_500), Standing { limit: 2, remaining: 0, reset: 60, retry_after: None });
        assert_eq!(take(59_001), Standing { limit: 2, remaining: 0, reset: 60, retry_after: Some(1) });
        assert_eq!(take(60_000), Standing { limit: 2, remaining: 0, reset: 91, retry_after: None });
        assert_eq!(take(60_001).retry_after, Some(31));
    }

    #[test]
    fn credentials_do_not_share_and_no_limit_says_nothing() {
        let limits = RateLimits::new(0, 1);
        let (elapsed, now) = at(0);
        assert_eq!(limits.take(Credential::ApiKey(Uuid::nil()), elapsed, now).unwrap().retry_after, None);
        assert_eq!(limits.take(Credential::ApiKey(Uuid::nil()), elapsed, now).unwrap().retry_after, Some(1));
        assert_eq!(limits.take(Credential::ApiKey(Uuid::max()), elapsed, now).unwrap().retry_after, None);
        assert_eq!(RateLimits::new(0, 0).take(Credential::ApiKey(Uuid::nil()), elapsed, now), None);
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
                let standing = limits.take(Credential::Platform, elapsed, now).unwrap();
                let within = |window: u64| accepted.iter().filter(|moment| time - **moment < window).count();
                let fits = |limit: u32, window| limit == 0 || within(window) < limit as usize;
                let expected = fits(per_minute, 60_000) && fits(per_second, 1_000);
                prop_assert_eq!(standing.retry_after.is_none(), expected);
                if expected {
                    accepted.push(time);
                }
            }
        }
    }
}
