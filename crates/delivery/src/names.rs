//! Resolves host names on behalf of organizations. The number of lookups of each organization is
//! limited, so that no organization delays another.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// The time limit for resolving a host name.
const LOOKUP_LIMIT: Duration = Duration::from_secs(2);
/// Maximum number of simultaneous lookups for all organizations.
const MAX_LOOKUPS: usize = 128;
/// Maximum number of simultaneous lookups for one organization.
const MAX_LOOKUPS_PER_ORGANIZATION: usize = 16;

/// The source of the IP addresses of host names.
#[derive(Debug, Clone, Default)]
pub enum Names {
    /// The system's resolver.
    #[default]
    System,
    /// A table of host names with their addresses. Tests use it and can change it at any time.
    Table(Arc<Mutex<HashMap<String, Vec<IpAddr>>>>),
}

impl Names {
    /// Creates a source of IP addresses that looks up host names in a table instead of in DNS. The
    /// table is empty at first.
    #[must_use]
    pub fn table() -> Self {
        Self::Table(Arc::default())
    }

    /// Sets the addresses of a host name in the table. Has no effect on [`Names::System`].
    pub fn set(&self, name: &str, addresses: &[IpAddr]) {
        if let Self::Table(table) = self {
            table
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(name.to_owned(), addresses.to_vec());
        }
    }

    /// Looks up the addresses of a host name on behalf of an organization. The list is empty if the
    /// name has no address or the lookup takes too long.
    pub(super) async fn addresses(&self, name: &str, organization: Uuid) -> Vec<SocketAddr> {
        match self {
            Self::System => {
                tokio::time::timeout(LOOKUP_LIMIT, look_up(name.to_owned(), organization))
                    .await
                    .unwrap_or_default()
            }
            Self::Table(table) => {
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
    /// The organization on whose behalf host names are looked up.
    static ORGANIZATION: Uuid;
}

/// Runs a future whose name lookups count toward the limit of an organization.
pub async fn on_behalf_of<W: Future>(organization: Uuid, work: W) -> W::Output {
    ORGANIZATION.scope(organization, work).await
}

/// Returns the organization on whose behalf this task looks up names. Returns the nil id if none
/// was set.
pub(super) fn organization() -> Uuid {
    ORGANIZATION
        .try_with(|organization| *organization)
        .unwrap_or_default()
}

/// Returns the addresses of a host name from the system's resolver. A lookup blocks a thread until
/// the name server answers, even if the calling function has stopped waiting. The number of lookups
/// is therefore limited.
async fn look_up(name: String, organization: Uuid) -> Vec<SocketAddr> {
    static LOOKUPS: LazyLock<Lookups> = LazyLock::new(Lookups::default);
    let permits = LOOKUPS.begin(organization).await;
    let lookup = tokio::task::spawn_blocking(move || {
        let addresses = (name.as_str(), 0).to_socket_addrs().map(Iterator::collect);
        drop(permits);
        addresses
    });
    lookup.await.ok().and_then(Result::ok).unwrap_or_default()
}

/// The lookups in progress, limited in total and for each organization. Name servers that do not
/// answer therefore delay only the organizations that use these name servers.
struct Lookups {
    all: Arc<Semaphore>,
    /// The semaphores of organizations that have lookups in progress.
    by_organization: Mutex<HashMap<Uuid, Weak<Semaphore>>>,
}

impl Default for Lookups {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_LOOKUPS)),
            by_organization: Mutex::default(),
        }
    }
}

impl Lookups {
    /// Waits until another lookup for an organization may begin. The lookup counts toward the limit
    /// of the organization and the limit of all lookups until the permits are dropped.
    async fn begin(&self, organization: Uuid) -> [Option<OwnedSemaphorePermit>; 2] {
        let own = self.semaphore_of(organization).acquire_owned().await;
        let any = self.all.clone().acquire_owned().await;
        // `acquire_owned` fails only on a closed semaphore, and these semaphores are never closed.
        [own.ok(), any.ok()]
    }

    fn semaphore_of(&self, organization: Uuid) -> Arc<Semaphore> {
        let mut semaphores = self
            .by_organization
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        semaphores.retain(|_, semaphore| semaphore.strong_count() > 0);
        if let Some(semaphore) = semaphores.get(&organization).and_then(Weak::upgrade) {
            return semaphore;
        }
        let semaphore = Arc::new(Semaphore::new(MAX_LOOKUPS_PER_ORGANIZATION));
        semaphores.insert(organization, Arc::downgrade(&semaphore));
        semaphore
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
        let mut permits = Vec::new();
        while let Ok(permit) = soon(1).await {
            permits.push(permit);
        }
        assert_eq!(permits.len(), MAX_LOOKUPS_PER_ORGANIZATION);
        let other = soon(2).await;
        assert!(other.is_ok());
        permits.pop();
        assert!(soon(1).await.is_ok());
        drop((permits, other));
        assert!(soon(3).await.is_ok());
        assert_eq!(lookups.all.available_permits(), MAX_LOOKUPS);
        drop(lookups.semaphore_of(Uuid::nil()));
        assert_eq!(
            lookups.by_organization.lock().unwrap().len(),
            1,
            "the semaphore of an organization without lookups is removed"
        );
    }
}
