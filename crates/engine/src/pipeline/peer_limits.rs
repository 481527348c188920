//! Rate limits for clients without a credential, per address and per network.
//!
//! A client with many addresses usually has them in one network, so the requests of each network
//! are counted too. An IPv4 network is the /24, the smallest one that is routed separately. An IPv6
//! network is the /48 of a site, which contains the /64 of each customer. The limit of one network
//! never affects another network.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The rate limit of a network, as a multiple of the rate limit of an IP address.
const NETWORK_FACTOR: usize = 3;
/// The maximum number of networks that are stored. Before another network is added, the network
/// whose last request is oldest is removed.
const MAX_NETWORKS: usize = 16_384;

/// A limit on the number of requests of an address, and of its network, within a rolling window.
/// For each network, `networks` has the time and the address of each request in the window.
pub struct PeerLimits {
    limit: usize,
    window: Duration,
    networks: Mutex<HashMap<IpAddr, VecDeque<(Duration, IpAddr)>>>,
}

impl PeerLimits {
    /// Creates a limit of `limit` requests per window for an address, and three times as many for
    /// its network.
    #[must_use]
    pub fn new(limit: u32, window: Duration) -> Self {
        Self {
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            window,
            networks: Mutex::default(),
        }
    }

    /// Counts a request from an address. If the address or its network has reached its limit, does
    /// not count the request, and returns the number of seconds until the next request is allowed.
    pub fn take(&self, address: IpAddr, now: Duration) -> Result<(), u64> {
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        let network = network(address);
        if networks.len() >= MAX_NETWORKS && !networks.contains_key(&network) {
            evict(&mut networks, now, self.window);
        }
        let requests = networks.entry(network).or_default();
        while requests
            .front()
            .is_some_and(|(at, _)| now.saturating_sub(*at) >= self.window)
        {
            requests.pop_front();
        }
        let mut own = requests.iter().filter(|(_, other)| *other == address);
        let first_of_own = own.next().map(|(at, _)| *at);
        let first = match (first_of_own, requests.front()) {
            (Some(first), _) if own.count() + 1 >= self.limit => first,
            (_, Some((first, _))) if requests.len() >= NETWORK_FACTOR * self.limit => *first,
            _ => {
                requests.push_back((now, address));
                return Ok(());
            }
        };
        Err((first + self.window).saturating_sub(now).as_secs().max(1))
    }
}

/// Returns the network of a client's IP address: the first 24 bits of an IPv4 address, or the first
/// 48 bits of an IPv6 address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() >> 8 << 8).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 80 << 80).into(),
    }
}

/// Removes all networks without requests in the window. If every network has requests in the
/// window, removes the network whose last request is oldest.
fn evict(
    networks: &mut HashMap<IpAddr, VecDeque<(Duration, IpAddr)>>,
    now: Duration,
    window: Duration,
) {
    let latest = |requests: &VecDeque<(Duration, IpAddr)>| requests.back().map(|(at, _)| *at);
    networks
        .retain(|_, requests| latest(requests).is_some_and(|at| now.saturating_sub(at) < window));
    if networks.len() < MAX_NETWORKS {
        return;
    }
    let oldest = networks
        .iter()
        .min_by_key(|(_, requests)| latest(requests))
        .map(|(network, _)| *network);
    if let Some(network) = oldest {
        networks.remove(&network);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn v4(network: u8, host: u8) -> IpAddr {
        Ipv4Addr::new(198, 51, network, host).into()
    }

    #[test]
    fn an_address_is_limited_per_window() {
        let limits = PeerLimits::new(20, HOUR);
        let minute = |number: u64| Duration::from_mins(number);
        for number in 0..20 {
            assert_eq!(limits.take(v4(1, 1), minute(number)), Ok(()));
        }
        assert_eq!(limits.take(v4(1, 1), minute(20)), Err(40 * 60));
        assert_eq!(limits.take(v4(1, 2), minute(20)), Ok(()));
        assert_eq!(limits.take(v4(1, 1), minute(60)), Ok(()));
        assert!(limits.take(v4(1, 1), minute(60)).is_err());
    }

    #[test]
    fn a_network_is_limited_without_affecting_other_networks() {
        let limits = PeerLimits::new(20, HOUR);
        let accepted = (0..=255)
            .flat_map(|host| [v4(1, host); 20])
            .filter(|address| limits.take(*address, Duration::ZERO).is_ok())
            .count();
        assert_eq!(accepted, 60);
        assert_eq!(limits.take(v4(2, 1), Duration::ZERO), Ok(()));
        let v6 = |site: u16, customer: u16| -> IpAddr {
            Ipv6Addr::new(0x2001, 0xdb8, site, customer, 0, 0, 0, 1).into()
        };
        let accepted = (0..1_000)
            .filter(|customer| limits.take(v6(1, *customer), Duration::ZERO).is_ok())
            .count();
        assert_eq!(accepted, 60);
        assert_eq!(limits.take(v6(2, 0), Duration::ZERO), Ok(()));
    }

    proptest! {
        #[test]
        fn no_window_exceeds_the_limit_of_an_address(
            mut times in prop::collection::vec((0_u64..20_000, 0_u8..3), 0..200),
        ) {
            times.sort_unstable();
            let limits = PeerLimits::new(20, HOUR);
            let mut accepted = Vec::new();
            for (second, host) in times {
                if limits
                    .take(v4(1, host), Duration::from_secs(second))
                    .is_ok()
                {
                    accepted.push((second, host));
                }
            }
            for (second, host) in &accepted {
                let within = accepted
                    .iter()
                    .filter(|(other, of)| of == host && other <= second && second - other < 3_600)
                    .count();
                prop_assert!(within <= 20);
            }
        }
    }

    #[test]
    fn the_number_of_remembered_networks_is_bounded() {
        let limits = PeerLimits::new(1, HOUR);
        for number in 0..u32::try_from(MAX_NETWORKS).unwrap() + 100 {
            let address = Ipv4Addr::from_bits(number << 8).into();
            assert_eq!(
                limits.take(address, Duration::from_millis(number.into())),
                Ok(())
            );
        }
        assert_eq!(limits.networks.lock().unwrap().len(), MAX_NETWORKS);
    }
}
