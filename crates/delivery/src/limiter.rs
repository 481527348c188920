//! How much is sent at once: so much in all, and so much to one target, to one host and for one organization, so that a
//! slow receiver delays only itself. And which deliveries these are, so that none is sent twice at a time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use uuid::Uuid;

/// Deliveries in hand at once: being sent, or sent and not yet recorded.
const IN_HAND: usize = 1_024;
/// Of these to one target, however slow it is.
const LEAST_TO_ONE: usize = 16;
/// However quick it is.
pub(super) const MOST_TO_ONE: usize = 64;
/// For one organization, where most permits are taken.
const LEAST_OF_ONE: usize = 16;
/// Where there are enough of them.
const MOST_OF_ONE: usize = 256;
/// So many free permits of what is waited for are worth looking for more to send, or half of all where these are fewer. With
/// fewer there would be many looks, with more a receiver would wait.
const SEVERAL: usize = 32;
/// How long a permit that has become free waits for others, before there are as many.
const LINGER: Duration = Duration::from_millis(1);

/// What has a share of the permits.
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
    /// How many deliveries under way it may have, where so many permits are left in all.
    fn limit(&self, used: &Used, left: usize) -> usize {
        match self {
            Self::Organization(_) => of_one(left),
            Self::Host(_) => 128,
            Self::Target(..) => to_one(used.took),
        }
    }

    /// How many more it may have.
    fn free(&self, shares: &HashMap<Self, Used>, left: usize) -> usize {
        let unused = Used::default();
        let used = shares.get(self).unwrap_or(&unused);
        self.limit(used, left).saturating_sub(used.count)
    }
}

/// How many deliveries of one organization may be under way: as many as there are permits left, so that a few whose receivers
/// hang do not have them all.
fn of_one(left: usize) -> usize {
    left.clamp(LEAST_OF_ONE, MOST_OF_ONE)
}

/// How many deliveries may be under way to one target, the last of which took so long: as many as it would answer in a
/// second one after another. A receiver that deals with one at a time has that much before it, and not what it could not
/// answer before its time is up.
fn to_one(took: Option<Duration>) -> usize {
    let in_a_second = took.map_or(0, |took| Duration::from_secs(1).as_nanos() / took.as_nanos().max(1));
    usize::try_from(in_a_second).unwrap_or(usize::MAX).clamp(LEAST_TO_ONE, MOST_TO_ONE)
}

/// The permits for deliveries of this process.
#[derive(Clone, Default)]
pub(super) struct Limiter(Arc<Inner>);

#[derive(Default)]
struct Inner {
    permits: Mutex<Permits>,
    /// Something that is waited for has a permit free.
    some: Notify,
    /// Something that is waited for has several free.
    several: Notify,
}

#[derive(Default)]
struct Permits {
    /// Deliveries in hand.
    all: Used,
    /// Which they are, by subscription.
    in_hand: HashMap<Uuid, HashSet<Uuid>>,
    /// Those that were given back since the last look began: subscription and delivery.
    given_back: Vec<(Uuid, Uuid)>,
    shares: HashMap<Share, Used>,
    /// What subscriptions have a share of, those that have something in hand or found no permit for it.
    seen: HashMap<Uuid, [Share; 3]>,
}

impl Permits {
    /// How many there are left.
    fn left(&self) -> usize {
        IN_HAND.saturating_sub(self.all.count)
    }
}

/// What is used of the permits that there are for something.
#[derive(Default)]
struct Used {
    count: usize,
    /// Whether more deliveries are waiting for some.
    are_wanted: bool,
    /// How long the last attempt took.
    took: Option<Duration>,
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

/// A delivery in hand, and leave to send it. Given back when dropped, also by a panic.
pub(super) struct Permit {
    limiter: Limiter,
    subscription: Uuid,
    delivery: Uuid,
    /// What it has a share of while it is being sent.
    shares: Option<[Share; 3]>,
}

impl Limiter {
    /// Whether no more deliveries can be taken in hand. If so, it is told when some can.
    pub(super) fn is_full(&self) -> bool {
        let all = &mut self.permits().all;
        let is_full = all.count >= IN_HAND;
        all.are_wanted |= is_full;
        is_full
    }

    /// Before a look at what is due: what has been given back by now is in hand no more. What is given back later may have
    /// been recorded after the look began, and be due as far as that can see: it stays in hand until the next one.
    pub(super) fn begin_look(&self) {
        let mut permits = self.permits();
        let left = permits.left();
        let Permits { in_hand, given_back, shares, seen, .. } = &mut *permits;
        for (subscription, delivery) in given_back.drain(..) {
            let Some(ids) = in_hand.get_mut(&subscription) else { continue };
            ids.remove(&delivery);
            if ids.is_empty() {
                in_hand.remove(&subscription);
            }
        }
        seen.retain(|subscription, theirs| in_hand.contains_key(subscription) || theirs.iter().any(|share| share.free(shares, left) == 0));
    }

    /// The deliveries of a subscription that are in hand.
    pub(super) fn in_hand(&self, subscription: Uuid) -> Vec<Uuid> {
        self.permits().in_hand.get(&subscription).map(|ids| ids.iter().copied().collect()).unwrap_or_default()
    }

    /// Takes a delivery that is not in hand, where there is a permit in all and in every share.
    pub(super) fn acquire(&self, send: Send<'_>) -> Option<Permit> {
        let mut permits = self.permits();
        let left = permits.left();
        if left == 0 {
            return None;
        }
        let Send { organization, subscription, delivery, host, port } = send;
        let host: Arc<str> = host.into();
        let shares = [Share::Organization(organization), Share::Host(host.clone()), Share::Target(host, port)];
        permits.seen.entry(subscription).or_insert_with(|| shares.clone());
        if shares.iter().any(|share| share.free(&permits.shares, left) == 0) {
            return None;
        }
        for share in &shares {
            permits.shares.entry(share.clone()).or_default().count += 1;
        }
        permits.all.count += 1;
        permits.in_hand.entry(subscription).or_default().insert(delivery);
        Some(Permit { limiter: self.clone(), subscription, delivery, shares: Some(shares) })
    }

    /// How many more deliveries of a subscription there are permits for, as far as it is known what it has a share of.
    pub(super) fn free_for(&self, subscription: Uuid) -> usize {
        let permits = self.permits();
        let shares = permits.seen.get(&subscription).into_iter().flatten();
        let free = shares.map(|share| share.free(&permits.shares, permits.left())).min().unwrap_or(LEAST_TO_ONE);
        free.min(permits.left())
    }

    /// More deliveries of a subscription are waiting for permits: it is told when there are any.
    pub(super) fn want(&self, subscription: Uuid) {
        let mut permits = self.permits();
        let left = permits.left();
        let Permits { all, shares, seen, .. } = &mut *permits;
        let Some(theirs) = seen.get(&subscription) else { return };
        let fewest = theirs.iter().map(|share| share.free(shares, left)).min();
        for share in theirs {
            if Some(share.free(shares, left)) != fewest {
                continue;
            }
            // An organization may have more again when anybody gives something back.
            all.are_wanted |= matches!(share, Share::Organization(_)) && left < MOST_OF_ONE;
            let mut unused = Used::default();
            let used = shares.get_mut(share).unwrap_or(&mut unused);
            used.are_wanted = true;
            self.tell(used, share.limit(used, left));
        }
    }

    /// Returns when it is worth looking for more to send: several permits are free of something that is waited for, or one
    /// has been for a while.
    pub(super) async fn freed(&self) {
        self.0.some.notified().await;
        tokio::select! {
            () = self.0.several.notified() => {}
            () = tokio::time::sleep(LINGER) => {}
        }
    }

    /// Tells of free permits, if they are wanted; once there are several it has been told.
    fn tell(&self, used: &mut Used, limit: usize) {
        if !used.are_wanted || used.count >= limit {
            return;
        }
        self.0.some.notify_one();
        if limit - used.count >= SEVERAL.min(limit / 2) {
            self.0.several.notify_one();
            used.are_wanted = false;
        }
    }

    fn permits(&self) -> MutexGuard<'_, Permits> {
        self.0.permits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// Nothing is sent, or no longer, after an attempt that took so long: another delivery may take the permit. This one
    /// stays in hand.
    pub(super) fn release(&mut self, took: Option<Duration>) {
        let Some(shares) = self.shares.take() else { return };
        let mut permits = self.limiter.permits();
        let left = permits.left();
        for share in &shares {
            let Some(used) = permits.shares.get_mut(share) else { continue };
            used.count = used.count.saturating_sub(1);
            used.took = took.or(used.took);
            self.limiter.tell(used, share.limit(used, left));
            if used.count == 0 {
                permits.shares.remove(share);
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.release(None);
        let mut permits = self.limiter.permits();
        permits.all.count = permits.all.count.saturating_sub(1);
        self.limiter.tell(&mut permits.all, IN_HAND);
        permits.given_back.push((self.subscription, self.delivery));
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

    /// Takes permits one after another until there is none; how many there were.
    fn fill(limiter: &Limiter, send: impl Fn(usize) -> (usize, String, u16)) -> Vec<Permit> {
        let permit = |number: usize| {
            let (organization, host, port) = send(number);
            limiter.acquire(to(&host, port, organization, number))
        };
        (0..2_000).map_while(permit).collect()
    }

    /// Whether it is worth looking at once.
    async fn is_freed(limiter: &Limiter) -> bool {
        tokio::time::timeout(Duration::ZERO, limiter.freed()).await.is_ok()
    }

    #[test]
    fn a_target_a_host_and_an_organization_take_a_part_of_the_room_only() {
        let limiter = Limiter::default();
        let target = fill(&limiter, |number| (number, "slow.example".into(), 443));
        assert_eq!(target.len(), 16);
        let host = fill(&limiter, |number| (number, "slow.example".into(), 1_000 + u16::try_from(number).unwrap()));
        assert_eq!(host.len(), 128 - 16);
        let organization = fill(&limiter, |number| (7_777, format!("{number}.example"), 443));
        assert_eq!(organization.len(), 256);
        assert!(limiter.acquire(to("quick.example", 443, 1, 1)).is_some());
    }

    #[test]
    fn a_few_organizations_do_not_have_all_permits() {
        assert_eq!([0, 15, 16, 200, 256, 1_024].map(of_one), [16, 16, 16, 200, 256, 256]);
        let limiter = Limiter::default();
        let hog = |organization: usize| fill(&limiter, |number| (organization, format!("{organization}-{number}.example"), 443));
        let taken: Vec<_> = (0..7).map(hog).collect();
        let counts: Vec<_> = taken.iter().map(Vec::len).collect();
        assert_eq!(counts, [256, 256, 256, 128, 64, 32, 16]);
        // As those that have much give it back, each comes to have as much as is left.
        assert!(limiter.acquire(to("quick.example", 443, 1_000, 1)).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_organization_is_told_when_others_leave_it_more() {
        let limiter = Limiter::default();
        let hog = |organization: usize| fill(&limiter, |number| (organization, format!("{organization}-{number}.example"), 443));
        let mut taken: Vec<_> = (0..4).map(hog).collect();
        assert_eq!(taken[3].len(), 128);
        // The one that found no permit waits for one.
        limiter.want(id(10_000 + 128));
        assert!(!is_freed(&limiter).await);
        taken[0].truncate(200);
        limiter.freed().await;
        assert!(hog(3).len() >= 28);
    }

    #[test]
    fn a_subscription_has_as_many_places_as_are_left_of_what_it_shares() {
        let limiter = Limiter::default();
        let free = |number: usize| limiter.free_for(id(10_000 + number));
        assert_eq!(free(0), 16, "nothing is known of it");
        let mut permits = fill(&limiter, |number| (number, "slow.example".into(), 443));
        let other = limiter.acquire(to("quick.example", 443, 1, 5_000));
        // Those that have permits, the one that got none, and one to another target.
        assert_eq!([free(0), free(15), free(16), free(5_000)], [0, 0, 0, 15]);
        limiter.begin_look();
        assert_eq!(free(16), 0, "what is full is kept in mind");
        permits.pop();
        assert_eq!([free(0), free(15), free(16)], [1, 1, 1]);
        drop((permits, other));
        limiter.begin_look();
        assert!(limiter.permits().shares.is_empty() && limiter.permits().seen.is_empty());
    }

    #[test]
    fn a_quick_target_has_more_places_than_a_slow_one() {
        let milliseconds = |number| to_one(Some(Duration::from_millis(number)));
        assert_eq!([0, 1, 15, 16, 25, 62, 63, 10_000].map(milliseconds), [64, 64, 64, 62, 40, 16, 16, 16]);
        assert_eq!(to_one(None), 16);
        let limiter = Limiter::default();
        let free = || limiter.free_for(id(10_000));
        let mut permits = fill(&limiter, |_| (1, "some.example".into(), 443));
        assert_eq!((permits.len(), free()), (16, 0));
        permits[0].release(None);
        assert_eq!(free(), 1, "nothing was sent, which says nothing");
        permits[1].release(Some(Duration::from_millis(5)));
        assert_eq!(free(), 64 - 14);
        permits.extend(fill(&limiter, |_| (1, "some.example".into(), 443)));
        permits[2].release(Some(Duration::from_millis(500)));
        assert_eq!(free(), 0, "it has become slow");
        drop(permits);
        assert_eq!(free(), 16, "and is forgotten with what is under way to it");
    }

    #[test]
    fn the_room_is_full_at_some_point_and_empty_again_later() {
        let limiter = Limiter::default();
        let permits = fill(&limiter, |number| (number % 64, format!("{}.example", number % 256), 443));
        assert_eq!((permits.len(), limiter.is_full(), limiter.free_for(id(10_000))), (IN_HAND, true, 0));
        drop(permits);
        limiter.begin_look();
        assert!(!limiter.is_full() && limiter.permits().all.count == 0);
        assert!(limiter.permits().shares.is_empty() && limiter.permits().seen.is_empty() && limiter.permits().in_hand.is_empty());
    }

    #[test]
    fn what_has_been_answered_leaves_its_place_and_stays_in_hand() {
        let limiter = Limiter::default();
        let in_hand = || {
            let ids = limiter.in_hand(id(10_000));
            (limiter.permits().all.count, ids)
        };
        let mut permits = fill(&limiter, |_| (1, "slow.example".into(), 443));
        permits[0].release(None);
        assert_eq!((in_hand(), limiter.free_for(id(10_000))), ((16, vec![id(20_000)]), 1));
        let another = limiter.acquire(to("slow.example", 443, 1, 16)).unwrap();
        assert_eq!(in_hand(), (17, vec![id(20_000)]));
        permits.remove(0);
        assert_eq!(in_hand(), (16, vec![id(20_000)]), "for the look that goes on");
        limiter.begin_look();
        assert_eq!(in_hand(), (16, vec![]));
        drop((permits, another));
        assert_eq!(in_hand(), (0, vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_is_worth_it_when_several_places_that_are_wanted_are_free_or_one_has_been_for_a_while() {
        let limiter = Limiter::default();
        let mut permits = fill(&limiter, |_| (1, "slow.example".into(), 443));
        permits.pop();
        assert!(!is_freed(&limiter).await, "nothing waits for a permit");
        limiter.want(id(10_000));
        limiter.freed().await;
        permits.truncate(9);
        assert!(!is_freed(&limiter).await, "seven are not enough to look at once");
        permits.truncate(8);
        assert!(is_freed(&limiter).await);
        permits.truncate(4);
        assert!(!is_freed(&limiter).await, "that has been told");
        limiter.want(id(10_000));
        assert!(is_freed(&limiter).await, "enough are free already");
    }

    #[tokio::test(start_paused = true)]
    async fn a_target_that_turns_out_to_be_quick_has_places_at_once() {
        let limiter = Limiter::default();
        let mut permits = fill(&limiter, |_| (1, "quick.example".into(), 443));
        limiter.want(id(10_000));
        assert!(!is_freed(&limiter).await);
        permits[0].release(Some(Duration::from_millis(1)));
        assert!(is_freed(&limiter).await);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_told_of_while_nothing_is_free() {
        let limiter = Limiter::default();
        let permits = fill(&limiter, |number| (number, "slow.example".into(), 443));
        // One that has a permit, one that got none, one that nothing is known of.
        for number in [10_000, 10_016, 10_900] {
            limiter.want(id(number));
        }
        let waited = tokio::time::timeout(2 * LINGER, limiter.freed()).await;
        assert!(waited.is_err());
        drop(permits);
        assert!(is_freed(&limiter).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_room_that_was_full_tells_when_it_has_places() {
        let limiter = Limiter::default();
        let mut permits = fill(&limiter, |number| (number % 64, format!("{}.example", number % 256), 443));
        permits.truncate(IN_HAND - 1);
        assert!(!is_freed(&limiter).await && !limiter.is_full(), "nothing waits");
        permits.extend(limiter.acquire(to("quick.example", 443, 900, 900)));
        assert!(limiter.is_full());
        permits.truncate(IN_HAND - SEVERAL);
        assert!(is_freed(&limiter).await);
    }
}
