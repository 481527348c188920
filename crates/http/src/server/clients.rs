//! Counts the requests under way of clients behind trusted proxies. Connections from a proxy carry
//! requests of many clients, so the limit of connections from one address cannot hold for them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use super::TrustedProxies;

/// The clients behind trusted proxies.
pub(super) struct Clients {
    /// The proxies that are trusted.
    pub(super) proxies: TrustedProxies,
    most: Option<NonZeroUsize>,
    under_way: Mutex<HashMap<IpAddr, usize>>,
}

/// A request under way of a client. Dropping it counts the request no longer.
pub(super) struct Place {
    clients: Arc<Clients>,
    address: IpAddr,
}

impl Clients {
    /// Lets each client have at most so many requests under way; `None` is no limit.
    pub(super) fn new(proxies: TrustedProxies, most: Option<NonZeroUsize>) -> Self {
        Self {
            proxies,
            most,
            under_way: Mutex::default(),
        }
    }

    /// Counts a request of a client. Returns `None` where the client has too many already.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut under_way = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let count = under_way.entry(address).or_default();
        if self.most.is_some_and(|most| *count >= most.get()) {
            return None;
        }
        *count += 1;
        Some(Place {
            clients: self.clone(),
            address,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let under_way = &self.clients.under_way;
        let mut under_way = under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = under_way.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_so_many_requests_under_way() {
        let clients = Arc::new(Clients::new(
            TrustedProxies::default(),
            NonZeroUsize::new(2),
        ));
        let address = |last: u8| IpAddr::from([203, 0, 113, last]);
        let places = [clients.enter(address(1)), clients.enter(address(1))];
        assert!(places.iter().all(Option::is_some));
        assert!(clients.enter(address(1)).is_none());
        assert!(clients.enter(address(2)).is_some());
        drop(places);
        assert!(clients.enter(address(1)).is_some());
        assert!(clients.under_way.lock().unwrap().is_empty());
    }
}
