//! Limits the number of database connections that the work of one share uses at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use uuid::Uuid;

use crate::Share;
use crate::error::{Error, Result};

/// When this many shares are stored, those that use no connection are removed from memory.
const CLEANUP_SIZE: usize = 1_024;

/// The number of connections in use, by share. Connections used by work without a share are not
/// counted.
pub(crate) struct Shares {
    limit: usize,
    of_share: Mutex<HashMap<Uuid, Weak<Semaphore>>>,
}

impl Shares {
    /// Creates the counter of connections. Each share may use `limit` connections at once.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            of_share: Mutex::default(),
        }
    }

    /// Reserves one connection for a share until the returned permit is dropped. If the share
    /// already uses as many connections as it may, waits for a free one, at the latest until
    /// `until`, and then fails. Returns `None` without a share.
    pub(crate) async fn hold(
        &self,
        share: Share,
        until: Instant,
    ) -> Result<Option<OwnedSemaphorePermit>> {
        let Some(share) = share else { return Ok(None) };
        match tokio::time::timeout_at(until, self.semaphore(share).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Some(permit)),
            _ => Err(Error::Unavailable(
                "all connections that this organization may use are in use".into(),
            )),
        }
    }

    fn semaphore(&self, share: Uuid) -> Arc<Semaphore> {
        let mut semaphores = self.of_share.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = semaphores.get(&share).and_then(Weak::upgrade) {
            return semaphore;
        }
        if semaphores.len() >= CLEANUP_SIZE {
            semaphores.retain(|_, semaphore| semaphore.strong_count() > 0);
        }
        let semaphore = Arc::new(Semaphore::new(self.limit));
        semaphores.insert(share, Arc::downgrade(&semaphore));
        semaphore
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn connections_are_limited_per_share() {
        let shares = Shares::new(2);
        let soon = || Instant::now() + Duration::from_secs(1);
        let (first, second) = (Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2)));
        let permits = (
            shares.hold(first, soon()).await.unwrap(),
            shares.hold(first, soon()).await.unwrap(),
        );
        assert!(shares.hold(first, soon()).await.is_err());
        shares.hold(second, soon()).await.unwrap();
        assert!(shares.hold(None, soon()).await.unwrap().is_none());
        drop(permits);
        shares.hold(first, soon()).await.unwrap();
    }

    #[tokio::test]
    async fn shares_without_connections_are_forgotten() {
        let shares = Shares::new(1);
        for number in 0..10 * CLEANUP_SIZE as u128 {
            shares
                .hold(
                    Some(Uuid::from_u128(number)),
                    Instant::now() + Duration::from_secs(1),
                )
                .await
                .unwrap();
        }
        assert!(shares.of_share.lock().unwrap().len() <= CLEANUP_SIZE);
    }
}
