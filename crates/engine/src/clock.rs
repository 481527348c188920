//! The time. Everything else asks here, so that a test can say what time it is: `clippy.toml` forbids to ask the machine.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// What the machine's wall clock shows, in nanoseconds since 1970: for what is told to those who watch it, and decides nothing.
#[must_use]
pub(crate) fn nanoseconds() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "this file reads the wall clock for all")]
    let now = Timestamp::now();
    u64::try_from(now.as_nanosecond()).unwrap_or(0)
}

/// The time, as the wall shows it and as it passes.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System { start: Instant },
    Manual(Arc<Mutex<(Timestamp, Duration)>>),
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System { start: Instant::now() })
    }

    /// A clock that stands still until [`Clock::advance`] moves it.
    #[must_use]
    pub fn manual(now: Timestamp) -> Self {
        Self(Source::Manual(Arc::new(Mutex::new((now, Duration::ZERO)))))
    }

    /// Now, in whole milliseconds: the precision of every timestamp of the interface.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
        let now = match &self.0 {
            Source::System { .. } => Timestamp::now(),
            Source::Manual(time) => time.lock().unwrap_or_else(PoisonError::into_inner).0,
        };
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }

    /// Time since some fixed moment. Never goes back, whatever happens to the wall clock.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        match &self.0 {
            Source::System { start } => start.elapsed(),
            Source::Manual(time) => time.lock().unwrap_or_else(PoisonError::into_inner).1,
        }
    }

    /// [`Clock::elapsed`] of a manual clock: what other machines are told instead of asking their own. `None` of the machine's.
    #[must_use]
    pub fn staged(&self) -> Option<Duration> {
        matches!(self.0, Source::Manual(_)).then(|| self.elapsed())
    }

    /// Moves a manual clock forward; the machine's clock cannot be moved.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(time) = &self.0 {
            let mut time = time.lock().unwrap_or_else(PoisonError::into_inner);
            time.0 = time.0.checked_add(by).unwrap_or(Timestamp::MAX);
            time.1 += by;
        }
    }
}
