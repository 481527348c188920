//! What has been answered and has not been sent yet, of all connections together: bounded, so that clients that do not read
//! what they asked for cannot fill the memory.
//!
//! At the bound, answers that make no headway are given up sooner ([`Unsent::hurry`]); requests wait for the room that this
//! makes, and are refused where it does not come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};

/// The bodies that wait to be sent.
pub struct Unsent {
    limit: u64,
    patience: Duration,
    held: AtomicU64,
    freed: Notify,
    /// How many have a reason to hurry.
    reasons: watch::Sender<usize>,
}

/// The place of a body, as long as something of it waits.
pub struct Held {
    unsent: Arc<Unsent>,
    bytes: u64,
}

/// A reason to hurry, as long as it lives.
pub struct Hurry<'u>(&'u Unsent);

impl Unsent {
    /// Room for so many bytes, give or take what is being answered; a request waits for `patience` when it is full.
    #[must_use]
    pub fn new(limit: u64, patience: Duration) -> Self {
        Self { limit, patience, held: AtomicU64::new(0), freed: Notify::new(), reasons: watch::Sender::new(0) }
    }

    /// Waits until there is room for another answer; false where there is none in time.
    pub async fn has_room(&self) -> bool {
        if !self.is_full() {
            return true;
        }
        let _hurry = self.hurry();
        let room = async {
            loop {
                let freed = self.freed.notified();
                if !self.is_full() {
                    return;
                }
                freed.await;
            }
        };
        tokio::time::timeout(self.patience, room).await.is_ok()
    }

    /// A place for a body of this length.
    #[must_use]
    pub fn hold(self: &Arc<Self>, bytes: u64) -> Arc<Held> {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Arc::new(Held { unsent: self.clone(), bytes })
    }

    /// Bytes that wait.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Has answers that make no headway given up sooner than otherwise.
    #[must_use]
    pub fn hurry(&self) -> Hurry<'_> {
        self.reasons.send_if_modified(|reasons| {
            *reasons += 1;
            *reasons == 1
        });
        Hurry(self)
    }

    /// How many have a reason to hurry; whoever waits for a change hears of the first and of the last.
    #[must_use]
    pub fn reasons_to_hurry(&self) -> watch::Receiver<usize> {
        self.reasons.subscribe()
    }

    fn is_full(&self) -> bool {
        self.held() >= self.limit
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let before = self.unsent.held.fetch_sub(self.bytes, Ordering::Relaxed);
        if before >= self.unsent.limit {
            self.unsent.freed.notify_waiters();
        }
    }
}

impl Drop for Hurry<'_> {
    fn drop(&mut self) {
        self.0.reasons.send_if_modified(|reasons| {
            *reasons -= 1;
            *reasons == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_room_and_not_for_ever() {
        let unsent = Arc::new(Unsent::new(10, Duration::from_secs(4)));
        assert!(unsent.has_room().await);
        let held = unsent.hold(10);
        assert!(!unsent.has_room().await, "nothing was sent meanwhile");
        let mut reasons = unsent.reasons_to_hurry();
        let sends = async {
            reasons.wait_for(|reasons| *reasons == 1).await.unwrap();
            drop(held);
        };
        assert!(tokio::join!(unsent.has_room(), sends).0);
        assert_eq!((unsent.held(), *reasons.borrow_and_update()), (0, 0));
    }
}
