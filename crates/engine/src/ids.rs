//! Fresh ids and random bytes. All other code uses this source; `clippy.toml` forbids random
//! numbers elsewhere.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use rand::Rng as _;
use uuid::{ContextV7, Uuid};

/// A source of fresh ids and random bytes.
#[derive(Clone)]
pub struct Ids(Arc<Mutex<ContextV7>>);

impl Default for Ids {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(ContextV7::new())))
    }
}

impl Ids {
    /// Returns a version 7 UUID. Ids sort in the order of their creation.
    #[must_use]
    pub fn uuid(&self, now: Timestamp) -> Uuid {
        let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or(0);
        let nanoseconds = u32::try_from(milliseconds % 1_000 * 1_000_000).unwrap_or(0);
        Uuid::new_v7(uuid::Timestamp::from_unix(
            &*self.0,
            milliseconds / 1_000,
            nanoseconds,
        ))
    }

    /// Returns `N` random bytes for a secret.
    #[must_use]
    pub fn secret<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        random().fill_bytes(&mut bytes);
        bytes
    }

    /// Returns a random number by which a revision is raised: at least 1 and at most 2³¹. A
    /// revision can therefore be raised 2³² times.
    #[must_use]
    pub fn revision_increment(&self) -> i64 {
        i64::from(random().next_u32() >> 1) + 1
    }

    /// Returns a random number between 0 and 1, for jitter.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        f64::from(random().next_u32()) / f64::from(u32::MAX)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that draws random numbers"
)]
fn random() -> rand::rngs::ThreadRng {
    rand::rng()
}
