//! Resolves host names on behalf of organizations, with a limit for each, so that none delays
//! another.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// The time limit for resolving a name.
const LOOKUP_LIMIT: Duration = Duration::from_secs(2);
/// The limit of simultaneous lookups.
const LOOKUPS: usize = 128;
/// The limit of simultaneous lookups for one organization.
const LOOKUPS_OF_ONE: usize = 16;

/// The source of the addresses of names.
#[derive(Debug, Clone, Default)]
pub enum Names {
    /// The system's resolver.
    #[default]
    System,
    /// A table for tests that can be rewritten at any time, as a manual clock can be set.
    Written(Arc<Mutex<HashMap<String, Vec<IpAddr>>>>),
}

impl Names {
    /// Creates an empty table.
    #[must_use]
    pub fn written() -> Self {
        Self::Written(Arc::default())
    }

    /// Sets the addresses of a name in the table. Does nothing for the system's resolver.
    pub fn write(&self, name: &str, addresses: &[IpAddr]) {
        if let Self::Written(table) = self {
            table
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(name.to_owned(), addresses.to_vec());
        }
    }

    /// Returns the addresses of a name, looked up for an organization. Empty if there are none or
    /// the lookup takes too long.
    pub(super) async fn ask(&self, name: &str, organization: Uuid) -> Vec<SocketAddr> {
        match self {
            Self::System => {
                tokio::time::timeout(LOOKUP_LIMIT, look_up(name.to_owned(), organization))
                    .await
                    .unwrap_or_default()
            }
            Self::Written(table) => {
                let table = table.lock().unwrap_or_else(PoisonError::into_inner);
                table
                    .get(name)
                    .into_iter()
                    .flatten()
                    .map(|ip| SocketAddr::new(*ip, 0))
                    .collect()
            }
        }
    }
}

tokio::task_local! {
    /// The organization that names are looked up for.
    static ORGANIZATION: Uuid;
}

/// Runs a future whose name lookups count for an organization.
pub async fn on_behalf_of<W: Future>(organization: Uuid, work: W) -> W::Output {
    ORGANIZATION.scope(organization, work).await
}

/// Returns the organization that names are looked up for in this task; nil if none was set.
pub(super) fn organization() -> Uuid {
    ORGANIZATION
        .try_with(|organization| *organization)
        .unwrap_or_default()
}

/// Returns the addresses of a name from the system's resolver. A lookup blocks a thread until the
/// name server answers, even if nobody waits for it any more, so their number is limited.
async fn look_up(name: String, organization: Uuid) -> Vec<SocketAddr> {
    static UNDER_WAY: LazyLock<Lookups> = LazyLock::new(Lookups::default);
    let permits = UNDER_WAY.begin(organization).await;
    let looked_up = tokio::task::spawn_blocking(move || {
        let found = (name.as_str(), 0).to_socket_addrs().map(Iterator::collect);
        drop(permits);
        found
    });
    looked_up
        .await
        .ok()
        .and_then(Result::ok)
        .unwrap_or_default()
}

/// The lookups under way, limited in total and for each organization. Name servers that do not
/// answer therefore delay only the organization that uses them.
struct Lookups {
    all: Arc<Semaphore>,
    /// The semaphores of organizations that have lookups under way.
    of: Mutex<HashMap<Uuid, Weak<Semaphore>>>,
}

impl Default for Lookups {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(LOOKUPS)),
            of: Mutex::default(),
        }
    }
}

impl Lookups {
    /// Waits until another lookup may begin for an organization. Dropping the permits ends the
    /// lookup.
    async fn begin(&self, organization: Uuid) -> [Option<OwnedSemaphorePermit>; 2] {
        let own = self.share_of(organization).acquire_owned().await;
        let any = self.all.clone().acquire_owned().await;
        // `acquire_owned` fails only on a closed semaphore, and these are never closed.
        [own.ok(), any.ok()]
    }

    fn share_of(&self, organization: Uuid) -> Arc<Semaphore> {
        let mut shares = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, share| share.strong_count() > 0);
        if let Some(share) = shares.get(&organization).and_then(Weak::upgrade) {
            return share;
        }
        let share = Arc::new(Semaphore::new(LOOKUPS_OF_ONE));
        shares.insert(organization, Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn slow_lookups_of_an_organization_do_not_block_another() {
        let lookups = Lookups::default();
        let soon = async |organization: u128| {
            tokio::time::timeout(Duration::ZERO, lookups.begin(Uuid::from_u128(organization))).await
        };
        let mut taken = Vec::new();
        while let Ok(permits) = soon(1).await {
            taken.push(permits);
        }
        assert_eq!(taken.len(), LOOKUPS_OF_ONE);
        let other = soon(2).await;
        assert!(other.is_ok());
        taken.pop();
        assert!(soon(1).await.is_ok());
        drop((taken, other));
        assert!(soon(3).await.is_ok());
        assert_eq!(lookups.all.available_permits(), LOOKUPS);
        drop(lookups.share_of(Uuid::nil()));
        assert_eq!(
            lookups.of.lock().unwrap().len(),
            1,
            "whoever has none is forgotten"
        );
    }
}
