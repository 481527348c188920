//! Limits the number of deliveries that are being sent: in total, to one target, to one host and
//! for one organization. A slow receiver therefore delays only deliveries to itself. The limiter
//! also records which deliveries are in flight, so that no delivery is sent twice at the same time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use uuid::Uuid;

/// Maximum number of deliveries in flight. A delivery is in flight while it is being sent, and then
/// until its outcome is recorded.
const MAX_IN_FLIGHT: usize = 1_024;
/// Lowest limit of the deliveries in flight to one target. It applies to a target that is slow or
/// whose response time is unknown.
const LOWEST_TARGET_LIMIT: usize = 16;
/// Highest limit of the deliveries in flight to one target. It applies to a target that answers
/// quickly.
pub(super) const HIGHEST_TARGET_LIMIT: usize = 64;
/// Lowest limit of the deliveries in flight for one organization. It applies when few permits are
/// free.
const LOWEST_ORGANIZATION_LIMIT: usize = 16;
/// Highest limit of the deliveries in flight for one organization. It applies when many permits
/// are free.
const HIGHEST_ORGANIZATION_LIMIT: usize = 256;
/// The dispatcher is woken at once when this many permits of a limit are free, or half of the limit
/// if that is fewer. A smaller number would cause more database queries. With a larger number,
/// deliveries would wait longer.
const WAKE_UP_PERMITS: usize = 32;
/// The longest time from the first free permit until the dispatcher is woken, if fewer than
/// [`WAKE_UP_PERMITS`] permits become free in that time.
const LINGER: Duration = Duration::from_millis(1);

/// A group of deliveries. The permits of each group are limited.
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
    /// Returns the limit of this group when `free` permits of the total limit are free.
    fn limit(&self, used: &LimitUse, free: usize) -> usize {
        match self {
            Self::Organization(_) => organization_limit(free),
            Self::Host(_) => 128,
            Self::Target(..) => target_limit(used.took),
        }
    }

    /// Returns how many more permits this group may get.
    fn free(&self, groups: &HashMap<Self, LimitUse>, free: usize) -> usize {
        let unused = LimitUse::default();
        let used = groups.get(self).unwrap_or(&unused);
        self.limit(used, free).saturating_sub(used.count)
    }
}

/// Returns the limit for one organization: the number of free permits of the total limit, within
/// bounds. So a few organizations whose receivers hang cannot use up all permits.
fn organization_limit(free: usize) -> usize {
    free.clamp(LOWEST_ORGANIZATION_LIMIT, HIGHEST_ORGANIZATION_LIMIT)
}

/// Returns the limit to one target: the number of deliveries that the target would answer in a
/// second, one after another, within bounds. `took` is the duration of the target's last response.
/// Even a receiver that handles requests one by one can then answer all of them before they time
/// out.
fn target_limit(took: Option<Duration>) -> usize {
    let in_a_second = took.map_or(0, |took| {
        Duration::from_secs(1).as_nanos() / took.as_nanos().max(1)
    });
    usize::try_from(in_a_second)
        .unwrap_or(usize::MAX)
        .clamp(LOWEST_TARGET_LIMIT, HIGHEST_TARGET_LIMIT)
}

/// Issues permits for deliveries. This process sends a delivery only if it holds a permit for that
/// delivery. All clones of a limiter share the same permits.
#[derive(Clone, Default)]
pub(super) struct Limiter(Arc<LimiterInner>);

#[derive(Default)]
struct LimiterInner {
    permits: Mutex<Permits>,
    /// Signals that at least one permit is free in a [`Group`] whose deliveries wait for permits.
    any_free: Notify,
    /// Signals that several permits are free in a [`Group`] whose deliveries wait for permits. The
    /// dispatcher then does not wait for further permits.
    several_free: Notify,
}

#[derive(Default)]
struct Permits {
    /// How many permits are in use under `MAX_IN_FLIGHT`, the limit of all deliveries together.
    all: LimitUse,
    /// The ids of the deliveries in flight, by subscription.
    in_flight: HashMap<Uuid, HashSet<Uuid>>,
    /// Deliveries that ended since the dispatcher last began to search for due deliveries. Each is
    /// the id of the subscription and the id of the delivery.
    ended: Vec<(Uuid, Uuid)>,
    groups: HashMap<Group, LimitUse>,
    /// The groups of each subscription that has deliveries in flight, or whose deliveries wait
    /// because a group is full.
    known_groups: HashMap<Uuid, [Group; 3]>,
}

impl Permits {
    /// Returns how many permits of the total limit are free.
    fn free_permits(&self) -> usize {
        MAX_IN_FLIGHT.saturating_sub(self.all.count)
    }
}

/// The use of one limit: the number of permits in use, whether more are needed, and the duration of
/// the last attempt.
#[derive(Default)]
struct LimitUse {
    count: usize,
    /// Whether more deliveries wait for permits of this limit.
    is_wanted: bool,
    /// The duration of the last attempt, among the attempts whose permits count for this limit.
    /// `None` before the first of these attempts.
    took: Option<Duration>,
}

/// A delivery that needs a permit.
#[derive(Debug, Clone, Copy)]
pub(super) struct PermitRequest<'s> {
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

/// A delivery in flight, and its permit. Dropping this value, also during a panic, releases the
/// permit and marks the delivery as ended.
pub(super) struct Permit {
    limiter: Limiter,
    subscription: Uuid,
    delivery: Uuid,
    /// The groups whose permits the delivery uses while it is being sent. `None` after the permits
    /// were released.
    groups: Option<[Group; 3]>,
}

impl Limiter {
    /// Returns whether the total limit is reached. If it is, records that a permit is wanted, so
    /// that `until_free` returns when a permit is free.
    pub(super) fn is_full(&self) -> bool {
        let all = &mut self.permits().all;
        let is_full = all.count >= MAX_IN_FLIGHT;
        all.is_wanted |= is_full;
        is_full
    }

    /// Prepares a search for due deliveries. Deliveries that ended before this call are then no
    /// longer in flight. A delivery that ends later stays in flight until the next search, because
    /// this search may read it as due before its outcome is recorded, and would then send it twice.
    pub(super) fn begin_search(&self) {
        let mut permits = self.permits();
        let free = permits.free_permits();
        let Permits {
            in_flight: in_hand,
            ended,
            groups,
            known_groups,
            ..
        } = &mut *permits;
        for (subscription, delivery) in ended.drain(..) {
            let Some(ids) = in_hand.get_mut(&subscription) else {
                continue;
            };
            ids.remove(&delivery);
            if ids.is_empty() {
                in_hand.remove(&subscription);
            }
        }
        known_groups.retain(|subscription, groups_of_subscription| {
            in_hand.contains_key(subscription)
                || groups_of_subscription
                    .iter()
                    .any(|group| group.free(groups, free) == 0)
        });
    }

    /// Returns the ids of a subscription's deliveries that are in flight.
    pub(super) fn ids_in_flight(&self, subscription: Uuid) -> Vec<Uuid> {
        self.permits()
            .in_flight
            .get(&subscription)
            .map(|ids| ids.iter().copied().collect())
            .unwrap_or_default()
    }

    /// Acquires a permit for a delivery that is not yet in flight. Returns `None` if the total
    /// limit or the limit of one of the delivery's groups is reached.
    pub(super) fn acquire(&self, send: PermitRequest<'_>) -> Option<Permit> {
        let mut permits = self.permits();
        let free = permits.free_permits();
        if free == 0 {
            return None;
        }
        let PermitRequest {
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
            .known_groups
            .entry(subscription)
            .or_insert_with(|| groups.clone());
        if groups
            .iter()
            .any(|group| group.free(&permits.groups, free) == 0)
        {
            return None;
        }
        for group in &groups {
            permits.groups.entry(group.clone()).or_default().count += 1;
        }
        permits.all.count += 1;
        permits
            .in_flight
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

    /// Returns how many more deliveries of a subscription may be sent: the minimum of the free
    /// permits of its groups, and of all free permits. If the limiter does not know the groups of
    /// the subscription, it uses [`LOWEST_TARGET_LIMIT`] in place of their free permits.
    pub(super) fn free_for(&self, subscription: Uuid) -> usize {
        let permits = self.permits();
        let groups = permits
            .known_groups
            .get(&subscription)
            .into_iter()
            .flatten();
        let free = groups
            .map(|group| group.free(&permits.groups, permits.free_permits()))
            .min()
            .unwrap_or(LOWEST_TARGET_LIMIT);
        free.min(permits.free_permits())
    }

    /// Records that more deliveries of a subscription wait for permits. `until_free` then returns
    /// when a permit of the subscription's most limited groups is free.
    pub(super) fn want(&self, subscription: Uuid) {
        let mut permits = self.permits();
        let free = permits.free_permits();
        let Permits {
            all,
            groups,
            known_groups,
            ..
        } = &mut *permits;
        let Some(groups_of_subscription) = known_groups.get(&subscription) else {
            return;
        };
        let fewest = groups_of_subscription
            .iter()
            .map(|group| group.free(groups, free))
            .min();
        for group in groups_of_subscription {
            if Some(group.free(groups, free)) != fewest {
                continue;
            }
            // An organization's limit depends on the total number of free permits, so any released
            // permit may raise that limit.
            all.is_wanted |=
                matches!(group, Group::Organization(_)) && free < HIGHEST_ORGANIZATION_LIMIT;
            let mut unused = LimitUse::default();
            let used = groups.get_mut(group).unwrap_or(&mut unused);
            used.is_wanted = true;
            self.signal(used, group.limit(used, free));
        }
    }

    /// Waits until another search for due deliveries is worthwhile: until several permits are free
    /// for which deliveries wait, or until `LINGER` has passed since the first such permit became
    /// free.
    pub(super) async fn until_free(&self) {
        self.0.any_free.notified().await;
        tokio::select! {
            () = self.0.several_free.notified() => {}
            () = tokio::time::sleep(LINGER) => {}
        }
    }

    /// If a delivery waits for a permit of this limit and a permit is free, wakes
    /// [`Limiter::until_free`], which then waits until more permits are free or `LINGER` has
    /// passed. If at least [`WAKE_UP_PERMITS`] permits or half of the limit are free already, also
    /// sends `several_free`, which ends that wait, and clears `is_wanted`.
    fn signal(&self, used: &mut LimitUse, limit: usize) {
        if !used.is_wanted || used.count >= limit {
            return;
        }
        self.0.any_free.notify_one();
        if limit - used.count >= WAKE_UP_PERMITS.min(limit / 2) {
            self.0.several_free.notify_one();
            used.is_wanted = false;
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
    /// Releases the permit, so that another delivery can use it. This delivery stays in flight
    /// until this value is dropped. `took` is the duration of the attempt, or `None` if nothing was
    /// sent.
    pub(super) fn release(&mut self, took: Option<Duration>) {
        let Some(groups) = self.groups.take() else {
            return;
        };
        let mut permits = self.limiter.permits();
        let free = permits.free_permits();
        for group in &groups {
            let Some(used) = permits.groups.get_mut(group) else {
                continue;
            };
            used.count = used.count.saturating_sub(1);
            used.took = took.or(used.took);
            self.limiter.signal(used, group.limit(used, free));
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
        self.limiter.signal(&mut permits.all, MAX_IN_FLIGHT);
        permits.ended.push((self.subscription, self.delivery));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> Uuid {
        Uuid::from_u128(number as u128)
    }

    /// Returns a request for a permit to send to a host. `organization` identifies the
    /// organization. `number` identifies the delivery and its subscription.
    fn to(host: &str, port: u16, organization: usize, number: usize) -> PermitRequest<'_> {
        PermitRequest {
            organization: id(organization),
            subscription: id(10_000 + number),
            delivery: id(20_000 + number),
            host,
            port,
        }
    }

    /// Acquires permits one after another until the limiter refuses one. Returns the acquired
    /// permits.
    fn fill(limiter: &Limiter, send: impl Fn(usize) -> (usize, String, u16)) -> Vec<Permit> {
        let permit = |number: usize| {
            let (organization, host, port) = send(number);
            limiter.acquire(to(&host, port, organization, number))
        };
        (0..2_000).map_while(permit).collect()
    }

    /// Returns whether [`Limiter::until_free`] returns at once when it is called now.
    async fn is_freed(limiter: &Limiter) -> bool {
        tokio::time::timeout(Duration::ZERO, limiter.until_free())
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
            [0, 15, 16, 200, 256, 1_024].map(organization_limit),
            [16, 16, 16, 200, 256, 256]
        );
        let limiter = Limiter::default();
        let fill_for = |organization: usize| {
            fill(&limiter, |number| {
                (
                    organization,
                    format!("{organization}-{number}.example"),
                    443,
                )
            })
        };
        let permits: Vec<_> = (0..7).map(fill_for).collect();
        let counts: Vec<_> = permits.iter().map(Vec::len).collect();
        assert_eq!(counts, [256, 256, 256, 128, 64, 32, 16]);
        // When the organizations with many permits release them, each organization may get more
        // permits again.
        assert!(
            limiter
                .acquire(to("quick.example", 443, 1_000, 1))
                .is_some()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn permits_freed_by_an_organization_go_to_another() {
        let limiter = Limiter::default();
        let fill_for = |organization: usize| {
            fill(&limiter, |number| {
                (
                    organization,
                    format!("{organization}-{number}.example"),
                    443,
                )
            })
        };
        let mut permits: Vec<_> = (0..4).map(fill_for).collect();
        assert_eq!(permits[3].len(), 128);
        // The refused delivery now waits for a permit.
        limiter.want(id(10_000 + 128));
        assert!(!is_freed(&limiter).await);
        permits[0].truncate(200);
        limiter.until_free().await;
        assert!(fill_for(3).len() >= 28);
    }

    #[test]
    fn free_permits_of_a_subscription_depend_on_its_target() {
        let limiter = Limiter::default();
        let free = |number: usize| limiter.free_for(id(10_000 + number));
        assert_eq!(free(0), 16, "its groups are not known");
        let mut permits = fill(&limiter, |number| (number, "slow.example".into(), 443));
        let other = limiter.acquire(to("quick.example", 443, 1, 5_000));
        // `fill` took all 16 permits of the target `slow.example`, for the subscriptions 0 to 15.
        // Subscription 16 was refused a permit for this target. Subscription 5,000 uses one of the
        // 16 permits of another target.
        assert_eq!([free(0), free(15), free(16), free(5_000)], [0, 0, 0, 15]);
        limiter.begin_search();
        assert_eq!(free(16), 0, "a full group is remembered");
        permits.pop();
        assert_eq!([free(0), free(15), free(16)], [1, 1, 1]);
        drop((permits, other));
        limiter.begin_search();
        assert!(limiter.permits().groups.is_empty() && limiter.permits().known_groups.is_empty());
    }

    #[test]
    fn a_fast_target_gets_more_permits_than_a_slow_target() {
        let milliseconds = |number| target_limit(Some(Duration::from_millis(number)));
        assert_eq!(
            [0, 1, 15, 16, 25, 62, 63, 10_000].map(milliseconds),
            [64, 64, 64, 62, 40, 16, 16, 16]
        );
        assert_eq!(target_limit(None), 16);
        let limiter = Limiter::default();
        let free = || limiter.free_for(id(10_000));
        let mut permits = fill(&limiter, |_| (1, "some.example".into(), 443));
        assert_eq!((permits.len(), free()), (16, 0));
        permits[0].release(None);
        assert_eq!(free(), 1, "without an attempt the limit does not change");
        permits[1].release(Some(Duration::from_millis(5)));
        assert_eq!(free(), 64 - 14);
        permits.extend(fill(&limiter, |_| (1, "some.example".into(), 443)));
        permits[2].release(Some(Duration::from_millis(500)));
        assert_eq!(free(), 0, "the target has become slow");
        drop(permits);
        assert_eq!(
            free(),
            16,
            "the duration is forgotten when no permit is in use"
        );
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
            (MAX_IN_FLIGHT, true, 0)
        );
        drop(permits);
        limiter.begin_search();
        assert!(!limiter.is_full() && limiter.permits().all.count == 0);
        assert!(
            limiter.permits().groups.is_empty()
                && limiter.permits().known_groups.is_empty()
                && limiter.permits().in_flight.is_empty()
        );
    }

    #[test]
    fn an_answered_delivery_frees_its_permit_and_stays_in_flight() {
        let limiter = Limiter::default();
        let in_hand = || {
            let ids = limiter.ids_in_flight(id(10_000));
            (limiter.permits().all.count, ids)
        };
        let mut permits = fill(&limiter, |_| (1, "slow.example".into(), 443));
        permits[0].release(None);
        assert_eq!(
            (in_hand(), limiter.free_for(id(10_000))),
            ((16, vec![id(20_000)]), 1)
        );
        let other = limiter.acquire(to("slow.example", 443, 1, 16)).unwrap();
        assert_eq!(in_hand(), (17, vec![id(20_000)]));
        permits.remove(0);
        assert_eq!(
            in_hand(),
            (16, vec![id(20_000)]),
            "it stays in flight for the current search"
        );
        limiter.begin_search();
        assert_eq!(in_hand(), (16, vec![]));
        drop((permits, other));
        assert_eq!(in_hand(), (0, vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_deliveries_are_notified_of_freed_permits_in_groups() {
        let limiter = Limiter::default();
        let mut permits = fill(&limiter, |_| (1, "slow.example".into(), 443));
        permits.pop();
        assert!(!is_freed(&limiter).await, "nothing waits for a permit");
        limiter.want(id(10_000));
        limiter.until_free().await;
        permits.truncate(9);
        assert!(
            !is_freed(&limiter).await,
            "seven are not enough to search at once"
        );
        permits.truncate(8);
        assert!(is_freed(&limiter).await);
        permits.truncate(4);
        assert!(!is_freed(&limiter).await, "the signal was already sent");
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
        // The first subscription has a permit, and the second was refused a permit. The limiter
        // does not know the third.
        for number in [10_000, 10_016, 10_900] {
            limiter.want(id(number));
        }
        let waited = tokio::time::timeout(2 * LINGER, limiter.until_free()).await;
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
        permits.truncate(MAX_IN_FLIGHT - 1);
        assert!(
            !is_freed(&limiter).await && !limiter.is_full(),
            "nothing waits"
        );
        permits.extend(limiter.acquire(to("quick.example", 443, 900, 900)));
        assert!(limiter.is_full());
        permits.truncate(MAX_IN_FLIGHT - WAKE_UP_PERMITS);
        assert!(is_freed(&limiter).await);
    }
}
