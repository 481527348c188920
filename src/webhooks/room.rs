//! How much is sent at once: so much in all, and so much to one target, to one host and for one organization, so that a
//! slow receiver delays only itself.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

/// Deliveries under way at once.
const SENDS: usize = 1_024;

/// What has a share of the room.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Share {
    /// Everything an organization has sent.
    Organization(Uuid),
    /// Everything that is sent to a host, whichever port.
    Host(String),
    /// What is sent to one port of a host.
    Target(String),
}

impl Share {
    /// How many deliveries under way it may have.
    const fn limit(&self) -> usize {
        match self {
            Self::Organization(_) => 256,
            Self::Host(_) => 64,
            Self::Target(_) => 8,
        }
    }
}

/// The places for sends of this process.
#[derive(Clone, Default)]
pub(super) struct Room(Arc<Mutex<Sends>>);

#[derive(Default)]
struct Sends {
    count: usize,
    shares: HashMap<Share, Used>,
}

/// What is used of a share.
#[derive(Default)]
struct Used {
    count: usize,
    /// Subscriptions seen to use it.
    subscriptions: HashSet<Uuid>,
}

/// Who sends where to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Send<'s> {
    /// Whose delivery it is.
    pub organization: Uuid,
    /// Of which subscription.
    pub subscription: Uuid,
    /// The name or address it goes to.
    pub host: &'s str,
    /// The port there.
    pub port: u16,
}

/// A place taken; given back when dropped, also by a panic.
pub(super) struct Place {
    room: Room,
    shares: [Share; 3],
}

impl Room {
    /// How many places are left in all.
    pub(super) fn free(&self) -> usize {
        SENDS.saturating_sub(self.sends().count)
    }

    /// Takes a place, where there is one in all and in every share.
    pub(super) fn enter(&self, send: Send<'_>) -> Option<Place> {
        let mut sends = self.sends();
        if sends.count >= SENDS {
            return None;
        }
        let Send { organization, subscription, host, port } = send;
        let shares = [Share::Organization(organization), Share::Host(host.to_owned()), Share::Target(format!("{host}:{port}"))];
        let mut has_room = true;
        for share in &shares {
            let used = sends.shares.entry(share.clone()).or_default();
            used.subscriptions.insert(subscription);
            has_room &= used.count < share.limit();
        }
        if !has_room {
            // What nothing is sent to is not kept in mind.
            sends.shares.retain(|_, used| used.count > 0);
            return None;
        }
        for share in &shares {
            sends.shares.entry(share.clone()).or_default().count += 1;
        }
        sends.count += 1;
        Some(Place { room: self.clone(), shares })
    }

    /// Subscriptions seen to use a share that has no place left.
    pub(super) fn crowded(&self) -> Vec<Uuid> {
        let sends = self.sends();
        let full = sends.shares.iter().filter(|(share, used)| used.count >= share.limit());
        let crowded: HashSet<Uuid> = full.flat_map(|(_, used)| used.subscriptions.iter().copied()).collect();
        crowded.into_iter().collect()
    }

    fn sends(&self) -> MutexGuard<'_, Sends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut sends = self.room.sends();
        sends.count = sends.count.saturating_sub(1);
        for share in &self.shares {
            let Some(used) = sends.shares.get_mut(share) else { continue };
            used.count = used.count.saturating_sub(1);
            if used.count == 0 {
                sends.shares.remove(share);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> Uuid {
        Uuid::from_u128(number as u128)
    }

    /// Takes places one after another until there is none; how many there were.
    fn fill(room: &Room, send: impl Fn(usize) -> (usize, String, u16)) -> Vec<Place> {
        let place = |number: usize| {
            let (organization, host, port) = send(number);
            room.enter(Send { organization: id(organization), subscription: id(10_000 + number), host: &host, port })
        };
        (0..2_000).map_while(place).collect()
    }

    #[test]
    fn a_target_a_host_and_an_organization_take_a_part_of_the_room_only() {
        let room = Room::default();
        let target = fill(&room, |number| (number, "slow.example".into(), 443));
        assert_eq!(target.len(), 8);
        let host = fill(&room, |number| (number, "slow.example".into(), 1_000 + u16::try_from(number).unwrap()));
        assert_eq!(host.len(), 64 - 8);
        let organization = fill(&room, |number| (7_777, format!("{number}.example"), 443));
        assert_eq!(organization.len(), 256);
        assert!(room.enter(Send { organization: id(1), subscription: id(1), host: "quick.example", port: 443 }).is_some());
    }

    #[test]
    fn the_crowded_are_those_who_share_what_is_full() {
        let room = Room::default();
        let mut places = fill(&room, |number| (number, "slow.example".into(), 443));
        let other = room.enter(Send { organization: id(1), subscription: id(1), host: "quick.example", port: 443 });
        let mut crowded = room.crowded();
        crowded.sort();
        // The eight that have places, and the one that got none.
        assert_eq!(crowded, (10_000..10_009).map(id).collect::<Vec<_>>());
        places.pop();
        assert!(room.crowded().is_empty());
        drop((places, other));
        assert!(room.sends().shares.is_empty());
    }

    #[test]
    fn the_room_is_full_at_some_point_and_empty_again_later() {
        let room = Room::default();
        let places = fill(&room, |number| (number % 16, format!("{}.example", number % 256), 443));
        assert_eq!((places.len(), room.free()), (SENDS, 0));
        drop(places);
        assert_eq!(room.free(), SENDS);
        assert!(room.crowded().is_empty() && room.sends().shares.is_empty());
    }
}
