//! What a program would otherwise take from thin air: the time, fresh ids, random bytes.
//!
//! Everything else asks here, so that a test can say what time it is. `clippy.toml` forbids the direct calls elsewhere.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rand::Rng as _;
use uuid::{ContextV7, Uuid};

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

/// Fresh ids and random bytes.
#[derive(Clone)]
pub struct Ids(Arc<Mutex<ContextV7>>);

impl Default for Ids {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(ContextV7::new())))
    }
}

impl Ids {
    /// A version 7 UUID: ids made one after another sort in that order.
    #[must_use]
    pub fn uuid(&self, now: Timestamp) -> Uuid {
        let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or(0);
        let nanoseconds = u32::try_from(milliseconds % 1_000 * 1_000_000).unwrap_or(0);
        Uuid::new_v7(uuid::Timestamp::from_unix(&*self.0, milliseconds / 1_000, nanoseconds))
    }

    /// `N` bytes nobody can guess.
    #[must_use]
    pub fn secret<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        random().fill_bytes(&mut bytes);
        bytes
    }

    /// A step forward of a revision: at least 1 and at most 2³¹, so that 2³² of them fit into a revision.
    #[must_use]
    pub fn step(&self) -> i64 {
        i64::from(random().next_u32() >> 1) + 1
    }

    /// A number between 0 and 1, for jitter.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        f64::from(random().next_u32()) / f64::from(u32::MAX)
    }
}

/// How many processors this process has.
#[must_use]
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that draws random numbers")]
fn random() -> rand::rngs::ThreadRng {
    rand::rng()
}
