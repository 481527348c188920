//! How many connections one share may have in use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use uuid::Uuid;

use crate::Share;
use crate::error::{Error, Result};

/// Entries from which on those of shares that have nothing in use are looked for.
const MANY: usize = 1_024;

/// The connections that shares have in use. What is no share's is not counted.
pub(crate) struct Shares {
    most: usize,
    of: Mutex<HashMap<Uuid, Weak<Semaphore>>>,
}

impl Shares {
    /// Lets a share have so many at once.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, of: Mutex::default() }
    }

    /// One more connection for a share, as long as what is answered lives; waits for it until a moment.
    pub(crate) async fn hold(&self, share: Share, until: Instant) -> Result<Option<OwnedSemaphorePermit>> {
        let Some(share) = share else { return Ok(None) };
        match tokio::time::timeout_at(until, self.of(share).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Some(permit)),
            _ => Err(Error::Unavailable("every connection of its share is in use".into())),
        }
    }

    fn of(&self, share: Uuid) -> Arc<Semaphore> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = of.get(&share).and_then(Weak::upgrade) {
            return semaphore;
        }
        if of.len() >= MANY {
            of.retain(|_, semaphore| semaphore.strong_count() > 0);
        }
        let semaphore = Arc::new(Semaphore::new(self.most));
        of.insert(share, Arc::downgrade(&semaphore));
        semaphore
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_share_has_so_many_and_the_others_theirs() {
        let shares = Shares::new(2);
        let soon = || Instant::now() + Duration::from_secs(1);
        let (one, other) = (Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2)));
        let held = (shares.hold(one, soon()).await.unwrap(), shares.hold(one, soon()).await.unwrap());
        assert!(shares.hold(one, soon()).await.is_err());
        shares.hold(other, soon()).await.unwrap();
        assert!(shares.hold(None, soon()).await.unwrap().is_none());
        drop(held);
        shares.hold(one, soon()).await.unwrap();
    }

    #[tokio::test]
    async fn what_nobody_holds_is_forgotten() {
        let shares = Shares::new(1);
        for number in 0..10 * MANY as u128 {
            shares.hold(Some(Uuid::from_u128(number)), Instant::now() + Duration::from_secs(1)).await.unwrap();
        }
        assert!(shares.of.lock().unwrap().len() <= MANY);
    }
}
