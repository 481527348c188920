//! The looking-up of names: what a name leads to, asked on behalf of an organization, of which none is in another's way.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// How long a name may take to resolve.
const LOOKUP_LIMIT: Duration = Duration::from_secs(2);
/// Names looked up at once.
const LOOKUPS: usize = 128;
/// Of these for one organization.
const LOOKUPS_OF_ONE: usize = 16;

/// Who is asked for the addresses of a name.
#[derive(Debug, Clone, Default)]
pub enum Names {
    /// The system's resolver.
    #[default]
    System,
    /// A table that can be rewritten at any time: to names what a manual clock is to time.
    Written(Arc<Mutex<HashMap<String, Vec<IpAddr>>>>),
}

impl Names {
    /// A table without a name in it.
    #[must_use]
    pub fn written() -> Self {
        Self::Written(Arc::default())
    }

    /// Writes down what a name leads to from now on; the system's resolver knows better, and is not told.
    pub fn write(&self, name: &str, addresses: &[IpAddr]) {
        if let Self::Written(table) = self {
            table.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), addresses.to_vec());
        }
    }

    /// The addresses of a name, for an organization; none where there are none, or not in time.
    pub(super) async fn ask(&self, name: &str, organization: Uuid) -> Vec<SocketAddr> {
        match self {
            Self::System => tokio::time::timeout(LOOKUP_LIMIT, look_up(name.to_owned(), organization)).await.unwrap_or_default(),
            Self::Written(table) => {
                let table = table.lock().unwrap_or_else(PoisonError::into_inner);
                table.get(name).into_iter().flatten().map(|ip| SocketAddr::new(*ip, 0)).collect()
            }
        }
    }
}

tokio::task_local! {
    /// For whom names are looked up.
    static ORGANIZATION: Uuid;
}

/// Does something, names looked up on the way, for an organization.
pub async fn on_behalf_of<W: Future>(organization: Uuid, work: W) -> W::Output {
    ORGANIZATION.scope(organization, work).await
}

/// The organization that names are looked up for here; nil where that was not said.
pub(super) fn organization() -> Uuid {
    ORGANIZATION.try_with(|organization| *organization).unwrap_or_default()
}

/// The addresses of a name, as the system has them. A lookup blocks a thread for as long as the name's server likes,
/// whoever still waits for it: so there are no more than some at once.
async fn look_up(name: String, organization: Uuid) -> Vec<SocketAddr> {
    static UNDER_WAY: LazyLock<Lookups> = LazyLock::new(Lookups::default);
    let permits = UNDER_WAY.begin(organization).await;
    let looked_up = tokio::task::spawn_blocking(move || {
        let found = (name.as_str(), 0).to_socket_addrs().map(Iterator::collect);
        drop(permits);
        found
    });
    looked_up.await.ok().and_then(Result::ok).unwrap_or_default()
}

/// The lookups under way: so many in all, and so many for one organization, so that names whose servers do not answer are
/// in nobody else's way.
struct Lookups {
    all: Arc<Semaphore>,
    /// Of organizations that have some.
    of: Mutex<HashMap<Uuid, Weak<Semaphore>>>,
}

impl Default for Lookups {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(LOOKUPS)), of: Mutex::default() }
    }
}

impl Lookups {
    /// Waits until another lookup may begin for an organization. It is over when what this returns is dropped.
    async fn begin(&self, organization: Uuid) -> [Option<OwnedSemaphorePermit>; 2] {
        let own = self.share_of(organization).acquire_owned().await;
        let any = self.all.clone().acquire_owned().await;
        // Nobody closes either.
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
    async fn names_that_take_long_are_in_the_way_of_one_organization_only() {
        let lookups = Lookups::default();
        let soon = async |organization: u128| tokio::time::timeout(Duration::ZERO, lookups.begin(Uuid::from_u128(organization))).await;
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
        assert_eq!(lookups.of.lock().unwrap().len(), 1, "whoever has none is forgotten");
    }
}
