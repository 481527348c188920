//! How much is sent at once: so much in all, and so much to one host, so that a slow receiver delays only itself.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

/// Deliveries under way at once.
const SENDS: usize = 64;
/// Deliveries under way at once to one host.
const SENDS_A_HOST: usize = 8;

/// The places for sends of this process.
#[derive(Clone, Default)]
pub(super) struct Room(Arc<Mutex<Sends>>);

#[derive(Default)]
struct Sends {
    count: usize,
    /// Hosts that something is being sent to.
    hosts: HashMap<String, Host>,
}

#[derive(Default)]
struct Host {
    count: usize,
    /// Subscriptions seen to lead there.
    subscriptions: HashSet<Uuid>,
}

/// A place taken; given back when dropped, also by a panic.
pub(super) struct Place {
    room: Room,
    host: String,
}

impl Room {
    /// How many places are left in all.
    pub(super) fn free(&self) -> usize {
        SENDS.saturating_sub(self.sends().count)
    }

    /// Takes a place for a delivery of a subscription to its host, where there is one.
    pub(super) fn enter(&self, host: &str, subscription: Uuid) -> Option<Place> {
        let mut sends = self.sends();
        if sends.count >= SENDS {
            return None;
        }
        let there = sends.hosts.entry(host.to_owned()).or_default();
        there.subscriptions.insert(subscription);
        if there.count >= SENDS_A_HOST {
            return None;
        }
        there.count += 1;
        sends.count += 1;
        Some(Place { room: self.clone(), host: host.to_owned() })
    }

    /// Subscriptions seen to lead to a host that has no place left.
    pub(super) fn crowded(&self) -> Vec<Uuid> {
        let sends = self.sends();
        let full = sends.hosts.values().filter(|host| host.count >= SENDS_A_HOST);
        full.flat_map(|host| host.subscriptions.iter().copied()).collect()
    }

    fn sends(&self) -> MutexGuard<'_, Sends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut sends = self.room.sends();
        sends.count = sends.count.saturating_sub(1);
        let Some(there) = sends.hosts.get_mut(&self.host) else { return };
        there.count = there.count.saturating_sub(1);
        if there.count == 0 {
            sends.hosts.remove(&self.host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    #[test]
    fn one_host_takes_a_part_of_the_room_only() {
        let room = Room::default();
        let mut places: Vec<_> = (0..8).map(|number| room.enter("slow.example", id(number)).unwrap()).collect();
        assert!(room.enter("slow.example", id(8)).is_none());
        assert!(room.enter("quick.example", id(9)).is_some());
        let mut crowded = room.crowded();
        crowded.sort();
        assert_eq!(crowded, (0..9).map(id).collect::<Vec<_>>());
        places.pop();
        assert!(room.crowded().is_empty());
        assert!(room.enter("slow.example", id(8)).is_some());
    }

    #[test]
    fn the_room_is_full_at_some_point_and_empty_again_later() {
        let room = Room::default();
        let places: Vec<_> = (0..64).map(|number| room.enter(&format!("{}.example", number % 16), id(number)).unwrap()).collect();
        assert_eq!(room.free(), 0);
        assert!(room.enter("another.example", id(64)).is_none());
        drop(places);
        assert_eq!(room.free(), 64);
        assert!(room.crowded().is_empty() && room.sends().hosts.is_empty());
    }
}
