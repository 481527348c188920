//! How much is sent at once: so much in all, and so much to one target, to one host and for one organization, so that a
//! slow receiver delays only itself. And which deliveries these are, so that none is sent twice at a time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use uuid::Uuid;

/// Deliveries in hand at once: being sent, or sent and not yet recorded.
const IN_HAND: usize = 1_024;
/// The part of what was full that one look at what is due is to fill again: a quarter. Fewer would be many looks, more would
/// leave a receiver waiting.
const SEVERAL: usize = 4;
/// How long a place that has become free waits for others, before there are as many.
const LINGER: Duration = Duration::from_millis(1);

/// What has a share of the room.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Share {
    /// Everything an organization has sent.
    Organization(Uuid),
    /// Everything that is sent to a host, whichever port.
    Host(Arc<str>),
    /// What is sent to one port of a host.
    Target(Arc<str>, u16),
}

impl Share {
    /// How many deliveries under way it may have.
    const fn limit(&self) -> usize {
        match self {
            Self::Organization(_) => 256,
            Self::Host(_) => 64,
            Self::Target(..) => 16,
        }
    }
}

/// The places for deliveries of this process.
#[derive(Clone, Default)]
pub(super) struct Room(Arc<Inner>);

#[derive(Default)]
struct Inner {
    places: Mutex<Places>,
    /// Something that was full has a place free.
    some: Notify,
    /// Something that was full has several free.
    several: Notify,
}

#[derive(Default)]
struct Places {
    /// Deliveries in hand.
    count: usize,
    /// Which they are, by subscription.
    in_hand: HashMap<Uuid, HashSet<Uuid>>,
    /// Those that were given back since the last look began: subscription and delivery.
    given_back: Vec<(Uuid, Uuid)>,
    shares: HashMap<Share, Used>,
    /// Whether everything was in use since there were last several free.
    was_full: bool,
}

/// What is used of a share.
#[derive(Default)]
struct Used {
    count: usize,
    /// Subscriptions seen to use it.
    subscriptions: HashSet<Uuid>,
    /// Whether all of it was in use since there were last several free.
    was_full: bool,
}

/// Who sends what where to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Send<'s> {
    /// Whose delivery it is.
    pub organization: Uuid,
    /// Of which subscription.
    pub subscription: Uuid,
    /// Which it is.
    pub delivery: Uuid,
    /// The name or address it goes to.
    pub host: &'s str,
    /// The port there.
    pub port: u16,
}

/// A delivery in hand, with its place among what is sent. Given back when dropped, also by a panic.
pub(super) struct Place {
    room: Room,
    subscription: Uuid,
    delivery: Uuid,
    /// What it has a share of while it is being sent.
    shares: Option<[Share; 3]>,
}

impl Room {
    /// How many more deliveries can be taken in hand.
    pub(super) fn free(&self) -> usize {
        IN_HAND.saturating_sub(self.places().count)
    }

    /// Before a look at what is due: what has been given back by now is in hand no more. What is given back later may have
    /// been recorded after the look began, and be due as far as that can see: it stays in hand until the next one.
    pub(super) fn begin_look(&self) {
        let mut places = self.places();
        for (subscription, delivery) in std::mem::take(&mut places.given_back) {
            let Some(ids) = places.in_hand.get_mut(&subscription) else { continue };
            ids.remove(&delivery);
            if ids.is_empty() {
                places.in_hand.remove(&subscription);
            }
        }
    }

    /// The deliveries of a subscription that are in hand.
    pub(super) fn in_hand(&self, subscription: Uuid) -> Vec<Uuid> {
        self.places().in_hand.get(&subscription).map(|ids| ids.iter().copied().collect()).unwrap_or_default()
    }

    /// Takes a delivery that is not in hand, where there is a place in all and in every share.
    pub(super) fn enter(&self, send: Send<'_>) -> Option<Place> {
        let mut places = self.places();
        if places.count >= IN_HAND {
            return None;
        }
        let Send { organization, subscription, delivery, host, port } = send;
        let host: Arc<str> = host.into();
        let shares = [Share::Organization(organization), Share::Host(host.clone()), Share::Target(host, port)];
        let mut has_room = true;
        for share in &shares {
            let used = places.shares.entry(share.clone()).or_default();
            used.subscriptions.insert(subscription);
            has_room &= used.count < share.limit();
        }
        if !has_room {
            // What nothing is sent to is not kept in mind.
            places.shares.retain(|_, used| used.count > 0);
            return None;
        }
        for share in &shares {
            let Some(used) = places.shares.get_mut(share) else { continue };
            used.count += 1;
            used.was_full |= used.count >= share.limit();
        }
        places.count += 1;
        places.was_full |= places.count >= IN_HAND;
        places.in_hand.entry(subscription).or_default().insert(delivery);
        Some(Place { room: self.clone(), subscription, delivery, shares: Some(shares) })
    }

    /// Subscriptions seen to use a share that has no place left.
    pub(super) fn crowded(&self) -> HashSet<Uuid> {
        let places = self.places();
        let full = places.shares.iter().filter(|(share, used)| used.count >= share.limit());
        full.flat_map(|(_, used)| used.subscriptions.iter().copied()).collect()
    }

    /// Returns when it is worth looking for more to send: several places are free of something that was full, or one has been
    /// for a while.
    pub(super) async fn freed(&self) {
        self.0.some.notified().await;
        tokio::select! {
            () = self.0.several.notified() => {}
            () = tokio::time::sleep(LINGER) => {}
        }
    }

    /// Tells of a place that has become free in what was full, of which `count` of `limit` are in use; whether it still
    /// counts as full.
    fn tell(&self, count: usize, limit: usize) -> bool {
        let are_several = count <= limit - limit / SEVERAL;
        self.0.some.notify_one();
        if are_several {
            self.0.several.notify_one();
        }
        !are_several
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The receiver has answered, or nothing is sent: another delivery may take the place. This one stays in hand.
    pub(super) fn leave(&mut self) {
        let Some(shares) = self.shares.take() else { return };
        let mut places = self.room.places();
        for share in &shares {
            let Some(used) = places.shares.get_mut(share) else { continue };
            used.count = used.count.saturating_sub(1);
            if used.was_full {
                used.was_full = self.room.tell(used.count, share.limit());
            }
            if used.count == 0 {
                places.shares.remove(share);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
        let mut places = self.room.places();
        places.count = places.count.saturating_sub(1);
        if places.was_full {
            places.was_full = self.room.tell(places.count, IN_HAND);
        }
        places.given_back.push((self.subscription, self.delivery));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> Uuid {
        Uuid::from_u128(number as u128)
    }

    /// A delivery to a host.
    fn to(host: &str, port: u16, organization: usize, number: usize) -> Send<'_> {
        Send { organization: id(organization), subscription: id(10_000 + number), delivery: id(20_000 + number), host, port }
    }

    /// Takes places one after another until there is none; how many there were.
    fn fill(room: &Room, send: impl Fn(usize) -> (usize, String, u16)) -> Vec<Place> {
        let place = |number: usize| {
            let (organization, host, port) = send(number);
            room.enter(to(&host, port, organization, number))
        };
        (0..2_000).map_while(place).collect()
    }

    /// Whether it is worth looking at once.
    async fn is_freed(room: &Room) -> bool {
        tokio::time::timeout(Duration::ZERO, room.freed()).await.is_ok()
    }

    #[test]
    fn a_target_a_host_and_an_organization_take_a_part_of_the_room_only() {
        let room = Room::default();
        let target = fill(&room, |number| (number, "slow.example".into(), 443));
        assert_eq!(target.len(), 16);
        let host = fill(&room, |number| (number, "slow.example".into(), 1_000 + u16::try_from(number).unwrap()));
        assert_eq!(host.len(), 64 - 16);
        let organization = fill(&room, |number| (7_777, format!("{number}.example"), 443));
        assert_eq!(organization.len(), 256);
        assert!(room.enter(to("quick.example", 443, 1, 1)).is_some());
    }

    #[test]
    fn the_crowded_are_those_who_share_what_is_full() {
        let room = Room::default();
        let mut places = fill(&room, |number| (number, "slow.example".into(), 443));
        let other = room.enter(to("quick.example", 443, 1, 5_000));
        let mut crowded: Vec<_> = room.crowded().into_iter().collect();
        crowded.sort();
        // The sixteen that have places, and the one that got none.
        assert_eq!(crowded, (10_000..10_017).map(id).collect::<Vec<_>>());
        places.pop();
        assert!(room.crowded().is_empty());
        drop((places, other));
        assert!(room.places().shares.is_empty());
    }

    #[test]
    fn the_room_is_full_at_some_point_and_empty_again_later() {
        let room = Room::default();
        let places = fill(&room, |number| (number % 16, format!("{}.example", number % 256), 443));
        assert_eq!((places.len(), room.free()), (IN_HAND, 0));
        drop(places);
        room.begin_look();
        assert_eq!(room.free(), IN_HAND);
        assert!(room.crowded().is_empty() && room.places().shares.is_empty() && room.places().in_hand.is_empty());
    }

    #[test]
    fn what_has_been_answered_leaves_its_place_and_stays_in_hand() {
        let room = Room::default();
        let mut places = fill(&room, |_| (1, "slow.example".into(), 443));
        places[0].leave();
        assert_eq!((room.free(), room.in_hand(id(10_000))), (IN_HAND - 16, vec![id(20_000)]));
        assert!(room.crowded().is_empty());
        let another = room.enter(to("slow.example", 443, 1, 16)).unwrap();
        assert_eq!(room.free(), IN_HAND - 17);
        places.remove(0);
        assert_eq!((room.free(), room.in_hand(id(10_000))), (IN_HAND - 16, vec![id(20_000)]), "for the look that goes on");
        room.begin_look();
        assert_eq!((room.free(), room.in_hand(id(10_000))), (IN_HAND - 16, vec![]));
        drop((places, another));
        assert_eq!(room.free(), IN_HAND);
    }

    #[tokio::test]
    async fn a_look_is_worth_it_when_several_places_of_what_was_full_are_free_or_one_has_been_for_a_while() {
        let room = Room::default();
        drop(room.enter(to("quick.example", 443, 2, 100)));
        assert!(!is_freed(&room).await, "nothing was full, so nothing waits for a place");
        let mut places = fill(&room, |_| (1, "slow.example".into(), 443));
        places.truncate(12);
        assert!(is_freed(&room).await);
        places.pop();
        assert!(!is_freed(&room).await, "it has not been full since");
        places.extend(fill(&room, |_| (1, "slow.example".into(), 443)));
        places.pop();
        assert!(!is_freed(&room).await);
        places.pop();
        room.freed().await;
    }
}
