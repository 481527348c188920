//! How often the guest of a stay may ask: the rule of [`super::rate_limit`] over a minute, counted for each stay by this
//! process.
//!
//! It is asked once the stay is found, so a token that opens nothing leaves nothing behind, and what is kept is of stays that
//! were asked for within the last minute or two.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::rate_limit::{Logs, Standing, Windows, take};

/// The limit, and which stays have used how much of it.
pub struct GuestLimits {
    windows: Windows,
    /// By organization and reservation, because ids of reservations are each organization's own.
    logs: Mutex<Logs<(Uuid, Uuid)>>,
}

impl GuestLimits {
    /// So many requests a minute for each stay; 0 is no limit.
    #[must_use]
    pub fn new(per_minute: u32) -> Self {
        Self { windows: Windows { per_minute, per_second: 0 }, logs: Mutex::default() }
    }

    /// Counts a request of a stay, or refuses it. `None` where no limit is set.
    pub fn take(&self, organization: Uuid, reservation: Uuid, elapsed: Duration, now: Timestamp) -> Option<Standing> {
        if !self.windows.are_any() {
            return None;
        }
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        Some(take(logs.of((organization, reservation), elapsed), self.windows, elapsed).standing(self.windows, now))
    }
}
