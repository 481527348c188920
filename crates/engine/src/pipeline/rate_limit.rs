//! Rolling rate limits per credential (rules: limits#rate-limits).
//!
//! The limits per minute and per second are exact. The log of a credential contains the time of
//! every accepted request of the last minute. Refused requests do not count.
//!
//! Each process has a separate log. With Redis, there is also a log that all nodes share
//! ([`super::shared_log`]). A test checks that both logs follow the same rule.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::shared_log::SharedLog;
use crate::access::Owner;
use crate::clock::Clock;

const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// The state of a caller's rate limit after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// The header `X-RateLimit-Limit`: the maximum number of requests in the window.
    pub limit: u32,
    /// The header `X-RateLimit-Remaining`: the number of requests that the window still allows.
    pub remaining: u32,
    /// The header `X-RateLimit-Reset`: when the oldest counted request leaves the window, in Unix
    /// seconds.
    pub reset: i64,
    /// Seconds until the next request may be accepted. Set only for a refused request.
    pub retry_after: Option<u64>,
}

/// The metric that counts requests which only this process counted, because Redis did not answer.
const FALLBACKS: &str = "vestibule_rate_limit_fallback_total";

/// The maximum number of requests in each window; 0 disables a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    pub(super) per_minute: u32,
    pub(super) per_second: u32,
}

/// The decision on a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decision {
    /// The time until the next request may be accepted. Set only for a refused request.
    pub(super) wait: Option<Duration>,
    /// The number of accepted requests in the window that the `X-RateLimit` headers describe.
    pub(super) used: u32,
    /// The time until the oldest accepted request leaves the window that the `X-RateLimit` headers
    /// describe.
    pub(super) oldest_leaves_in: Duration,
}

/// The rate limits, and the log of accepted requests of each credential. `shared` is the log that
/// all nodes share in Redis, if there is one.
pub struct RateLimits {
    windows: Windows,
    logs: Mutex<Logs>,
    shared: Option<Arc<SharedLog>>,
}

/// The logs of accepted requests, one for each credential, and the time at which logs without
/// recent requests were last removed.
#[derive(Default)]
struct Logs {
    by_owner: HashMap<Owner, VecDeque<Duration>>,
    cleaned_at: Duration,
}

impl RateLimits {
    /// Creates limits with these numbers of requests; 0 disables a window.
    #[must_use]
    pub fn new(per_minute: u32, per_second: u32) -> Self {
        Self {
            windows: Windows {
                per_minute,
                per_second,
            },
            logs: Mutex::default(),
            shared: None,
        }
    }

    /// Uses the Redis at `redis_url` to count requests, so that each limit applies to all nodes
    /// together. Without a limit, does not use Redis.
    pub fn shared_in(self, redis_url: &str) -> Result<Self, String> {
        let shared = SharedLog::new(redis_url)?;
        Ok(Self {
            shared: self.windows.has_limit().then(|| Arc::new(shared)),
            ..self
        })
    }

    /// Returns whether the nodes share the rate limits through Redis. If so,
    /// [`RateLimits::take_shared`] must be tried before [`RateLimits::take`].
    #[must_use]
    pub fn are_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Returns the log of requests that all nodes share in Redis; `None` without Redis. The calling
    /// function must run [`SharedLog::keep`] in a background task.
    #[must_use]
    pub fn shared_log(&self) -> Option<Arc<SharedLog>> {
        let shared = self.shared.clone()?;
        metrics::describe_counter!(
            FALLBACKS,
            "Requests counted by this process alone, without Redis."
        );
        metrics::counter!(FALLBACKS).increment(0);
        Some(shared)
    }

    /// Counts a request in the memory of this process, or refuses the request. Returns `None` if no
    /// limit is set.
    ///
    /// `elapsed` is monotonic time, by which requests are counted. `now` is the wall clock, for the
    /// header `X-RateLimit-Reset`.
    pub fn take(&self, owner: Owner, elapsed: Duration, now: Timestamp) -> Option<Quota> {
        if !self.windows.has_limit() {
            return None;
        }
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        Some(take(logs.of(owner, elapsed), self.windows, elapsed).quota(self.windows, now))
    }

    /// Counts or refuses a request. The limit applies to the requests of all nodes together. If
    /// limits are not shared, or Redis does not answer, the limit applies to the requests of this
    /// process. Returns `None` if no limit is set.
    pub async fn quota(&self, owner: Owner, clock: &Clock) -> Option<Quota> {
        let now = clock.now();
        let shared = self.take_shared(owner, clock, now).await;
        shared.or_else(|| self.take(owner, clock.elapsed(), now))
    }

    /// Counts or refuses a request for all nodes. Returns `None` if limits are not shared or Redis
    /// does not answer; [`RateLimits::take`] then decides. Makes a network call, so no transaction
    /// may be open.
    pub async fn take_shared(&self, owner: Owner, clock: &Clock, now: Timestamp) -> Option<Quota> {
        let shared = self.shared.as_ref()?;
        let Some(decision) = shared
            .take(&owner.key(), self.windows, clock.manual_elapsed())
            .await
        else {
            metrics::counter!(FALLBACKS).increment(1);
            return None;
        };
        if decision.wait.is_none() {
            // An accepted request is also added to the log of requests in this process. If Redis
            // fails later, this process enforces the limit from its own log, so the log must
            // contain the earlier requests.
            let elapsed = clock.elapsed();
            let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
            let log = logs.of(owner, elapsed);
            remove_old(log, self.windows, elapsed);
            log.push_back(elapsed);
        }
        Some(decision.quota(self.windows, now))
    }
}

impl Logs {
    fn of(&mut self, owner: Owner, elapsed: Duration) -> &mut VecDeque<Duration> {
        if elapsed.saturating_sub(self.cleaned_at) >= MINUTE {
            self.by_owner.retain(|_, log| {
                log.back()
                    .is_some_and(|last| elapsed.saturating_sub(*last) < MINUTE)
            });
            self.cleaned_at = elapsed;
        }
        self.by_owner.entry(owner).or_default()
    }
}

impl Windows {
    fn has_limit(self) -> bool {
        self.per_minute > 0 || self.per_second > 0
    }

    /// Returns the limit that the `X-RateLimit` headers describe, and the length of its window: the
    /// limit per minute if there is one, otherwise the limit per second.
    fn described(self) -> (u32, Duration) {
        if self.per_minute == 0 {
            (self.per_second, SECOND)
        } else {
            (self.per_minute, MINUTE)
        }
    }
}

impl Decision {
    fn quota(self, windows: Windows, now: Timestamp) -> Quota {
        let (limit, _) = windows.described();
        let reset = now.checked_add(self.oldest_leaves_in).unwrap_or(now);
        Quota {
            limit,
            remaining: limit.saturating_sub(self.used),
            reset: reset.as_second() + i64::from(reset.subsec_nanosecond() > 0),
            retry_after: self.wait.map(|wait| whole_seconds(wait).max(1)),
        }
    }
}

/// Decides on a request, and counts it if it is accepted. `rate_limit.lua` applies the same rule to
/// the shared log.
fn take(log: &mut VecDeque<Duration>, windows: Windows, elapsed: Duration) -> Decision {
    remove_old(log, windows, elapsed);
    let wait = [(windows.per_minute, MINUTE), (windows.per_second, SECOND)]
        .into_iter()
        .filter(|(limit, _)| *limit > 0)
        .filter_map(|(limit, window)| wait(log, limit, window, elapsed))
        .max();
    if wait.is_none() {
        log.push_back(elapsed);
    }
    let (_, window) = windows.described();
    let used = u32::try_from(log.len()).unwrap_or(u32::MAX);
    let oldest_leaves_in = log.front().map_or(Duration::ZERO, |first| {
        (*first + window).saturating_sub(elapsed)
    });
    Decision {
        wait,
        used,
        oldest_leaves_in,
    }
}

/// Removes from the log the requests that are too old to count in any window.
fn remove_old(log: &mut VecDeque<Duration>, windows: Windows, elapsed: Duration) {
    let (_, window) = windows.described();
    while log
        .front()
        .is_some_and(|first| elapsed.saturating_sub(*first) >= window)
    {
        log.pop_front();
    }
}

/// Returns the time until a window has room for one more request, or `None` if it has room now.
fn wait(
    log: &VecDeque<Duration>,
    limit: u32,
    window: Duration,
    elapsed: Duration,
) -> Option<Duration> {
    if log.len() < limit as usize {
        return None;
    }
    let start = log.partition_point(|time| elapsed.saturating_sub(*time) >= window);
    let used = log.len() - start;
    let excess = (used + 1)
        .checked_sub(limit as usize)
        .filter(|excess| *excess > 0)?;
    let blocking = log.get(start + excess - 1)?;
    Some((*blocking + window).saturating_sub(elapsed))
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
        Owner {
            organization: id,
            credential: Credential::Connection {
                app: Uuid::nil(),
                member: Uuid::nil(),
            },
        }
    }

    fn at(milliseconds: u64) -> (Duration, Timestamp) {
        let elapsed = Duration::from_millis(milliseconds);
        (elapsed, Timestamp::UNIX_EPOCH.checked_add(elapsed).unwrap())
    }

    #[test]
    fn rate_limit_windows_roll() {
        let limits = RateLimits::new(2, 0);
        let key = owner(0);
        let take = |ms| {
            let (elapsed, now) = at(ms);
            limits.take(key, elapsed, now).unwrap()
        };
        assert_eq!(
            take(0),
            Quota {
                limit: 2,
                remaining: 1,
                reset: 60,
                retry_after: None
            }
        );
        assert_eq!(
            take(30_500),
            Quota {
                limit: 2,
                remaining: 0,
                reset: 60,
                retry_after: None
            }
        );
        assert_eq!(
            take(59_001),
            Quota {
                limit: 2,
                remaining: 0,
                reset: 60,
                retry_after: Some(1)
            }
        );
        assert_eq!(
            take(60_000),
            Quota {
                limit: 2,
                remaining: 0,
                reset: 91,
                retry_after: None
            }
        );
        assert_eq!(take(60_001).retry_after, Some(31));
    }

    #[test]
    fn owners_have_separate_limits_and_zero_means_unlimited() {
        let limits = RateLimits::new(0, 1);
        let (elapsed, now) = at(0);
        assert_eq!(
            limits.take(owner(0), elapsed, now).unwrap().retry_after,
            None
        );
        assert_eq!(
            limits.take(owner(0), elapsed, now).unwrap().retry_after,
            Some(1)
        );
        assert_eq!(
            limits.take(owner(1), elapsed, now).unwrap().retry_after,
            None
        );
        assert_eq!(RateLimits::new(0, 0).take(owner(0), elapsed, now), None);
    }

    proptest! {
        /// Checks the definition of a rate limit: a request is accepted if and only if each window
        /// contains fewer accepted requests than its limit.
        #[test]
        fn rate_limits_agree_with_counted_requests(
            delays in prop::collection::vec(0..5_000_u64, 1..200),
            per_minute in 0..20_u32,
            per_second in 0..5_u32,
        ) {
            prop_assume!(per_minute + per_second > 0);
            let limits = RateLimits::new(per_minute, per_second);
            let (mut time, mut accepted) = (0, Vec::<u64>::new());
            for delay in delays {
                time += delay;
                let (elapsed, now) = at(time);
                let quota = limits.take(owner(0), elapsed, now).unwrap();
                let within = |window: u64| {
                    accepted
                        .iter()
                        .filter(|accepted_at| time - **accepted_at < window)
                        .count()
                };
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
