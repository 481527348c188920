//! The clock. All other code reads the time here, so that a test can set it. `clippy.toml` forbids
//! reading the machine's clock elsewhere.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// A wall clock and a monotonic clock.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System { start: Instant },
    Manual(Arc<Mutex<(Timestamp, Duration)>>),
}

impl Clock {
    /// Returns the machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System {
            start: Instant::now(),
        })
    }

    /// Returns a clock whose time changes only through [`Clock::advance`].
    #[must_use]
    pub fn manual(now: Timestamp) -> Self {
        Self(Source::Manual(Arc::new(Mutex::new((now, Duration::ZERO)))))
    }

    /// Returns the time in whole milliseconds, which is the precision of all timestamps in requests
    /// and responses.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that reads the wall clock"
        )]
        let now = match &self.0 {
            Source::System { .. } => Timestamp::now(),
            Source::Manual(time) => time.lock().unwrap_or_else(PoisonError::into_inner).0,
        };
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }

    /// Returns the monotonic time since a fixed point. Changes of the wall clock do not affect it.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        match &self.0 {
            Source::System { start } => start.elapsed(),
            Source::Manual(time) => time.lock().unwrap_or_else(PoisonError::into_inner).1,
        }
    }

    /// Returns [`Clock::elapsed`] of a manual clock, or `None` for the machine's clock. The rate
    /// limiter sends the value to Redis, which then does not use its own clock. A test thus
    /// controls the rate limits.
    #[must_use]
    pub fn manual_elapsed(&self) -> Option<Duration> {
        matches!(self.0, Source::Manual(_)).then(|| self.elapsed())
    }

    /// Moves a clock forward that [`Clock::manual`] created. Does nothing to the machine's clock.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(time) = &self.0 {
            let mut time = time.lock().unwrap_or_else(PoisonError::into_inner);
            time.0 = time.0.checked_add(by).unwrap_or(Timestamp::MAX);
            time.1 += by;
        }
    }
}
