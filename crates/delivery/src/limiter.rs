//! Limits the deliveries under way: in total, to one target, to one host and for one organization.
//! A slow receiver therefore delays only itself. The limiter also knows which deliveries are in
//! hand, so that none is sent twice at the same time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use uuid::Uuid;

/// The limit of deliveries in hand: being sent, or sent and not yet recorded.
const IN_HAND: usize = 1_024;
/// The limit to one target that is slow or whose response time is unknown.
const LEAST_TO_ONE: usize = 16;
/// The limit to one target that answers quickly.
pub(super) const MOST_TO_ONE: usize = 64;
/// The limit for one organization while few permits are left.
const LEAST_OF_ONE: usize = 16;
/// The limit for one organization while many permits are left.
const MOST_OF_ONE: usize = 256;
/// The number of free permits at which the dispatcher is woken at once. Where a limit is below
/// twice this number, half of that limit is enough. A smaller number would cause many database
/// queries, a larger one would make receivers wait.
const BATCH: usize = 32;
/// How long a free permit waits for further ones before the dispatcher is woken anyway.
const LINGER: Duration = Duration::from_millis(1);

/// A group of deliveries with a limit of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Group {
    /// All deliveries of an organization.
    Organization(Uuid),
    /// All deliveries to a host, on any port.
    Host(Arc<str>),
    /// All deliveries to one port of a host.
    Target(Arc<str>, u16),
}

impl Group {
    /// Returns the limit of this group while `remaining` permits are free in total.
    fn limit(&self, used: &Used, left: usize) -> usize {
        match self {
            Self::Organization(_) => of_one(left),
            Self::Host(_) => 128,
            Self::Target(..) => to_one(used.took),
        }
    }

    /// Returns how many more deliveries this group may have under way.
    fn free(&self, groups: &HashMap<Self, Used>, left: usize) -> usize {
        let unused = Used::default();
        let used = groups.get(self).unwrap_or(&unused);
        self.limit(used, left).saturating_sub(used.count)
    }
}

/// Returns how many deliveries of one organization may be under way: as many as there are permits
/// left, within bounds. A few organizations whose receivers hang therefore cannot take all permits.
fn of_one(left: usize) -> usize {
    left.clamp(LEAST_OF_ONE, MOST_OF_ONE)
}

/// Returns how many deliveries may be under way to one target whose last response took `took`. This
/// is the number that it would answer within a second, one after another, within bounds. Even a
/// receiver that handles requests one by one can then answer them all before they time out.
fn to_one(took: Option<Duration>) -> usize {
    let in_a_second = took.map_or(0, |took| {
        Duration::from_secs(1).as_nanos() / took.as_nanos().max(1)
    });
    usize::try_from(in_a_second)
        .unwrap_or(usize::MAX)
        .clamp(LEAST_TO_ONE, MOST_TO_ONE)
}

/// The permits for deliveries of this process.
#[derive(Clone, Default)]
pub(super) struct Limiter(Arc<LimiterInner>);

#[derive(Default)]
struct LimiterInner {
    permits: Mutex<Permits>,
    /// Signals that a group with waiting deliveries has a free permit.
    some: Notify,
    /// Signals that a group with waiting deliveries has several free permits.
    several: Notify,
}

#[derive(Default)]
struct Permits {
    /// The use of the total limit.
    all: Used,
    /// The ids of the deliveries in hand, by subscription.
    in_hand: HashMap<Uuid, HashSet<Uuid>>,
    /// Deliveries given back since the last search began, as subscription and delivery.
    returned: Vec<(Uuid, Uuid)>,
    groups: HashMap<Group, Used>,
    /// The groups of each subscription that has deliveries in hand, or that waits for a permit of a
    /// full group.
    seen: HashMap<Uuid, [Group; 3]>,
}

impl Permits {
    /// Returns how many permits are left in total.
    fn remaining(&self) -> usize {
        IN_HAND.saturating_sub(self.all.count)
    }
}

/// The use of one limit.
#[derive(Default)]
struct Used {
    count: usize,
    /// Whether further deliveries wait for permits of this limit.
    are_wanted: bool,
    /// The duration of the last attempt; none if there was none.
    took: Option<Duration>,
}

/// A delivery that needs a permit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Send<'s> {
    /// The organization that owns the delivery.
    pub organization: Uuid,
    /// The subscription of the delivery.
    pub subscription: Uuid,
    /// The id of the delivery.
    pub delivery: Uuid,
    /// The host name or address of the target.
    pub host: &'s str,
    /// The port of the target.
    pub port: u16,
}

/// A delivery in hand, with the permit to send it. Dropping it gives both back, also during a
/// panic.
pub(super) struct Permit {
    limiter: Limiter,
    subscription: Uuid,
    delivery: Uuid,
    /// The groups that count it while it is being sent; none once it was sent.
    groups: Option<[Group; 3]>,
}

impl Limiter {
    /// Returns whether the total limit is reached. If so, notes that permits are wanted, so that
    /// `freed` returns when some are free.
    pub(super) fn is_full(&self) -> bool {
        let all = &mut self.permits().all;
        let is_full = all.count >= IN_HAND;
        all.are_wanted |= is_full;
        is_full
    }

    /// Prepares a search for due deliveries: deliveries given back by now are no longer in hand. A
    /// delivery that is given back later stays in hand until the next search. Its outcome may be
    /// recorded after this search has read the database, so the search could still see it as due.
    pub(super) fn begin_search(&self) {
        let mut permits = self.permits();
        let left = permits.remaining();
        let Permits {
            in_hand,
            returned: given_back,
            groups,
            seen,
            ..
        } = &mut *permits;
        for (subscription, delivery) in given_back.drain(..) {
            let Some(ids) = in_hand.get_mut(&subscription) else {
                continue;
            };
            ids.remove(&delivery);
            if ids.is_empty() {
                in_hand.remove(&subscription);
            }
        }
        seen.retain(|subscription, theirs| {
            in_hand.contains_key(subscription)
                || theirs.iter().any(|group| group.free(groups, left) == 0)
        });
    }

    /// Returns the ids of a subscription's deliveries that are in hand.
    pub(super) fn in_hand(&self, subscription: Uuid) -> Vec<Uuid> {
        self.permits()
            .in_hand
            .get(&subscription)
            .map(|ids| ids.iter().copied().collect())
            .unwrap_or_default()
    }

    /// Takes a delivery that is not yet in hand. Returns none if the total limit or the limit of
    /// one of its groups is reached.
    pub(super) fn acquire(&self, send: Send<'_>) -> Option<Permit> {
        let mut permits = self.permits();
        let left = permits.remaining();
        if left == 0 {
            return None;
        }
        let Send {
            organization,
            subscription,
            delivery,
            host,
            port,
        } = send;
        let host: Arc<str> = host.into();
        let groups = [
            Group::Organization(organization),
            Group::Host(host.clone()),
            Group::Target(host, port),
        ];
        permits
            .seen
            .entry(subscription)
            .or_insert_with(|| groups.clone());
        if groups
            .iter()
            .any(|group| group.free(&permits.groups, left) == 0)
        {
            return None;
        }
        for group in &groups {
            permits.groups.entry(group.clone()).or_default().count += 1;
        }
        permits.all.count += 1;
        permits
            .in_hand
            .entry(subscription)
            .or_default()
            .insert(delivery);
        Some(Permit {
            limiter: self.clone(),
            subscription,
            delivery,
            groups: Some(groups),
        })
    }

    /// Returns how many more deliveries of a subscription may be sent. If its groups are not known
    /// yet, assumes the least limit of a target.
    pub(super) fn free_for(&self, subscription: Uuid) -> usize {
        let permits = self.permits();
        let groups = permits.seen.get(&subscription).into_iter().flatten();
        let free = groups
            .map(|group| group.free(&permits.groups, permits.remaining()))
            .min()
            .unwrap_or(LEAST_TO_ONE);
        free.min(permits.remaining())
    }

    /// Notes that more deliveries of a subscription wait for permits, so that `freed` returns when
    /// there are some.
    pub(super) fn want(&self, subscription: Uuid) {
        let mut permits = self.permits();
        let left = permits.remaining();
        let Permits {
            all, groups, seen, ..
        } = &mut *permits;
        let Some(theirs) = seen.get(&subscription) else {
            return;
        };
        let fewest = theirs.iter().map(|group| group.free(groups, left)).min();
        for group in theirs {
            if Some(group.free(groups, left)) != fewest {
                continue;
            }
            // An organization's limit depends on the total number of free permits. Any permit given
            // back may therefore help it.
            all.are_wanted |= matches!(group, Group::Organization(_)) && left < MOST_OF_ONE;
            let mut unused = Used::default();
            let used = groups.get_mut(group).unwrap_or(&mut unused);
            used.are_wanted = true;
            self.tell(used, group.limit(used, left));
        }
    }

    /// Returns when a search for more deliveries is worthwhile: several permits that are wanted are
    /// free, or one has been free for `LINGER`.
    pub(super) async fn freed(&self) {
        self.0.some.notified().await;
        tokio::select! {
            () = self.0.several.notified() => {}
            () = tokio::time::sleep(LINGER) => {}
        }
    }

    /// Signals free permits if they are wanted. Once several are free, they no longer count as
    /// wanted.
    fn tell(&self, used: &mut Used, limit: usize) {
        if !used.are_wanted || used.count >= limit {
            return;
        }
        self.0.some.notify_one();
        if limit - used.count >= BATCH.min(limit / 2) {
            self.0.several.notify_one();
            used.are_wanted = false;
        }
    }

    fn permits(&self) -> MutexGuard<'_, Permits> {
        self.0
            .permits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// Gives the permit back to other deliveries; this delivery stays in hand until the drop.
    /// `took` is the duration of the attempt; none if nothing was sent.
    pub(super) fn release(&mut self, took: Option<Duration>) {
        let Some(groups) = self.groups.take() else {
            return;
        };
        let mut permits = self.limiter.permits();
        let left = permits.remaining();
        for group in &groups {
            let Some(used) = permits.groups.get_mut(group) else {
                continue;
            };
            used.count = used.count.saturating_sub(1);
            used.took = took.or(used.took);
            self.limiter.tell(used, group.limit(used, left));
            if used.count == 0 {
                permits.groups.remove(group);
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
        permits.returned.push((self.subscription, self.delivery));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> Uuid {
        Uuid::from_u128(number as u128)
    }

    /// A delivery of a subscription of this number to a host.
    fn to(host: &str, port: u16, organization: usize, number: usize) -> Send<'_> {
        Send {
            organization: id(organization),
            subscription: id(10_000 + number),
            delivery: id(20_000 + number),
            host,
            port,
        }
    }

    /// Acquires permits one after another until one is refused. Returns the permits.
    fn fill(limiter: &Limiter, send: impl Fn(usize) -> (usize, String, u16)) -> Vec<Permit> {
        let permit = |number: usize| {
            let (organization, host, port) = send(number);
            limiter.acquire(to(&host, port, organization, number))
        };
        (0..2_000).map_while(permit).collect()
    }

    /// Returns whether a search is worthwhile at once.
    async fn is_freed(limiter: &Limiter) -> bool {
        tokio::time::timeout(Duration::ZERO, limiter.freed())
            .await
            .is_ok()
    }

    #[test]
    fn a_target_host_or_organization_gets_only_part_of_the_permits() {
        let limiter = Limiter::default();
        let target = fill(&limiter, |number| (number, "slow.example".into(), 443));
        assert_eq!(target.len(), 16);
        let host = fill(&limiter, |number| {
            (
                number,
                "slow.example".into(),
                1_000 + u16::try_from(number).unwrap(),
            )
        });
        assert_eq!(host.len(), 128 - 16);
        let organization = fill(&limiter, |number| (7_777, format!("{number}.example"), 443));
        assert_eq!(organization.len(), 256);
        assert!(limiter.acquire(to("quick.example", 443, 1, 1)).is_some());
    }

    #[test]
    fn a_few_organizations_cannot_take_all_permits() {
        assert_eq!(
            [0, 15, 16, 200, 256, 1_024].map(of_one),
            [16, 16, 16, 200, 256, 256]
        );
        let limiter = Limiter::default();
        let hog = |organization: usize| {
            fill(&limiter, |number| {
                (
                    organization,
                    format!("{organization}-{number}.example"),
                    443,
                )
            })
        };
        let taken: Vec<_> = (0..7).map(hog).collect();
        let counts: Vec<_> = taken.iter().map(Vec::len).collect();
        assert_eq!(counts, [256, 256, 256, 128, 64, 32, 16]);
        // Once the large holders give permits back, every organization can have as many as are
        // left.
        assert!(
            limiter
                .acquire(to("quick.example", 443, 1_000, 1))
                .is_some()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn permits_freed_by_an_organization_go_to_another() {
        let limiter = Limiter::default();
        let hog = |organization: usize| {
            fill(&limiter, |number| {
                (
                    organization,
                    format!("{organization}-{number}.example"),
                    443,
                )
            })
        };
        let mut taken: Vec<_> = (0..4).map(hog).collect();
        assert_eq!(taken[3].len(), 128);
        // The delivery that was refused a permit waits for one.
        limiter.want(id(10_000 + 128));
        assert!(!is_freed(&limiter).await);
        taken[0].truncate(200);
        limiter.freed().await;
        assert!(hog(3).len() >= 28);
    }

    #[test]
    fn free_permits_of_a_subscription_depend_on_its_target() {
        let limiter = Limiter::default();
        let free = |number: usize| limiter.free_for(id(10_000 + number));
        assert_eq!(free(0), 16, "nothing is known of it");
        let mut permits = fill(&limiter, |number| (number, "slow.example".into(), 443));
        let other = limiter.acquire(to("quick.example", 443, 1, 5_000));
        // Two subscriptions with permits, one that was refused, and one with another target.
        assert_eq!([free(0), free(15), free(16), free(5_000)], [0, 0, 0, 15]);
        limiter.begin_search();
        assert_eq!(free(16), 0, "what is full is kept in mind");
        permits.pop();
        assert_eq!([free(0), free(15), free(16)], [1, 1, 1]);
        drop((permits, other));
        limiter.begin_search();
        assert!(limiter.permits().groups.is_empty() && limiter.permits().seen.is_empty());
    }

    #[test]
    fn a_fast_target_gets_more_permits_than_a_slow_target() {
        let milliseconds = |number| to_one(Some(Duration::from_millis(number)));
        assert_eq!(
            [0, 1, 15, 16, 25, 62, 63, 10_000].map(milliseconds),
            [64, 64, 64, 62, 40, 16, 16, 16]
        );
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
    fn a_full_limiter_is_empty_after_all_permits_are_dropped() {
        let limiter = Limiter::default();
        let permits = fill(&limiter, |number| {
            (number % 64, format!("{}.example", number % 256), 443)
        });
        assert_eq!(
            (
                permits.len(),
                limiter.is_full(),
                limiter.free_for(id(10_000))
            ),
            (IN_HAND, true, 0)
        );
        drop(permits);
        limiter.begin_search();
        assert!(!limiter.is_full() && limiter.permits().all.count == 0);
        assert!(
            limiter.permits().groups.is_empty()
                && limiter.permits().seen.is_empty()
                && limiter.permits().in_hand.is_empty()
        );
    }

    #[test]
    fn an_answered_delivery_frees_its_permit_and_stays_in_hand() {
        let limiter = Limiter::default();
        let in_hand = || {
            let ids = limiter.in_hand(id(10_000));
            (limiter.permits().all.count, ids)
        };
        let mut permits = fill(&limiter, |_| (1, "slow.example".into(), 443));
        permits[0].release(None);
        assert_eq!(
            (in_hand(), limiter.free_for(id(10_000))),
            ((16, vec![id(20_000)]), 1)
        );
        let another = limiter.acquire(to("slow.example", 443, 1, 16)).unwrap();
        assert_eq!(in_hand(), (17, vec![id(20_000)]));
        permits.remove(0);
        assert_eq!(
            in_hand(),
            (16, vec![id(20_000)]),
            "for the search that goes on"
        );
        limiter.begin_search();
        assert_eq!(in_hand(), (16, vec![]));
        drop((permits, another));
        assert_eq!(in_hand(), (0, vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_deliveries_are_notified_of_freed_permits_in_groups() {
        let limiter = Limiter::default();
        let mut permits = fill(&limiter, |_| (1, "slow.example".into(), 443));
        permits.pop();
        assert!(!is_freed(&limiter).await, "nothing waits for a permit");
        limiter.want(id(10_000));
        limiter.freed().await;
        permits.truncate(9);
        assert!(
            !is_freed(&limiter).await,
            "seven are not enough to search at once"
        );
        permits.truncate(8);
        assert!(is_freed(&limiter).await);
        permits.truncate(4);
        assert!(!is_freed(&limiter).await, "that has been told");
        limiter.want(id(10_000));
        assert!(is_freed(&limiter).await, "enough are free already");
    }

    #[tokio::test(start_paused = true)]
    async fn a_target_that_proves_fast_gets_more_permits_at_once() {
        let limiter = Limiter::default();
        let mut permits = fill(&limiter, |_| (1, "quick.example".into(), 443));
        limiter.want(id(10_000));
        assert!(!is_freed(&limiter).await);
        permits[0].release(Some(Duration::from_millis(1)));
        assert!(is_freed(&limiter).await);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_deliveries_are_not_notified_while_no_permit_is_free() {
        let limiter = Limiter::default();
        let permits = fill(&limiter, |number| (number, "slow.example".into(), 443));
        // A subscription with a permit, one that was refused, and an unknown one.
        for number in [10_000, 10_016, 10_900] {
            limiter.want(id(number));
        }
        let waited = tokio::time::timeout(2 * LINGER, limiter.freed()).await;
        assert!(waited.is_err());
        drop(permits);
        assert!(is_freed(&limiter).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_limiter_notifies_when_permits_are_freed() {
        let limiter = Limiter::default();
        let mut permits = fill(&limiter, |number| {
            (number % 64, format!("{}.example", number % 256), 443)
        });
        permits.truncate(IN_HAND - 1);
        assert!(
            !is_freed(&limiter).await && !limiter.is_full(),
            "nothing waits"
        );
        permits.extend(limiter.acquire(to("quick.example", 443, 900, 900)));
        assert!(limiter.is_full());
        permits.truncate(IN_HAND - BATCH);
        assert!(is_freed(&limiter).await);
    }
}
