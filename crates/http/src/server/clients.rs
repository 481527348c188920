//! Counts the requests in progress of each client behind a trusted proxy, by the client's IP
//! address. A connection from a proxy has requests of many clients, so the limit of connections per
//! IP address cannot apply to these clients.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use super::TrustedProxies;

/// The clients behind trusted proxies.
pub(super) struct Clients {
    pub(super) proxies: TrustedProxies,
    max: Option<NonZeroUsize>,
    in_progress: Mutex<HashMap<IpAddr, usize>>,
}

/// A request of a client that counts as in progress until this value is dropped.
pub(super) struct CountedRequest {
    clients: Arc<Clients>,
    address: IpAddr,
}

impl Clients {
    /// Creates the counter. A client may have at most `max` requests in progress. `None` means no
    /// limit.
    pub(super) fn new(proxies: TrustedProxies, max: Option<NonZeroUsize>) -> Self {
        Self {
            proxies,
            max,
            in_progress: Mutex::default(),
        }
    }

    /// Counts a request of a client. Returns `None` if the client already has the maximum number of
    /// requests in progress.
    pub(super) fn count_request(self: &Arc<Self>, address: IpAddr) -> Option<CountedRequest> {
        let mut in_progress = self
            .in_progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let count = in_progress.entry(address).or_default();
        if self.max.is_some_and(|max| *count >= max.get()) {
            return None;
        }
        *count += 1;
        Some(CountedRequest {
            clients: self.clone(),
            address,
        })
    }
}

impl Drop for CountedRequest {
    fn drop(&mut self) {
        let in_progress = &self.clients.in_progress;
        let mut in_progress = in_progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = in_progress.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                in_progress.remove(&self.address);
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
        let places = [
            clients.count_request(address(1)),
            clients.count_request(address(1)),
        ];
        assert!(places.iter().all(Option::is_some));
        assert!(clients.count_request(address(1)).is_none());
        assert!(clients.count_request(address(2)).is_some());
        drop(places);
        assert!(clients.count_request(address(1)).is_some());
        assert!(clients.in_progress.lock().unwrap().is_empty());
    }
}
