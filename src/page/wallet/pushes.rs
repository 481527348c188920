//! Background work that finds passes that changed, and wakes the phones that have them (rules:
//! guest-requests#passes, 6).
//!
//! Every node looks at the registered passes. A pass is built again where its organization changed
//! since the last look, or where a door code came into force or ended. [`crate::guest::pushes`]
//! lists the phones that wait for a push.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::error::{Error, Result};
use engine::pipeline::Service;
use futures_util::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::super::visit::PageRequest;
use super::PassSigner;
use super::apns::{Apns, PushResult};
use super::service::current;
use crate::guest::passes;
use crate::guest::pushes::{self, PAGE, Push, PushOutcome, Watched};

/// Pause between two looks.
const EVERY: Duration = Duration::from_secs(30);
/// Maximum number of pushes under way at one time.
const MOST_UNDER_WAY: usize = 16;
/// Time after the departure in which changes are pushed.
const AFTER_DEPARTURE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A stay, by its organization and its reservation.
type StayId = (Uuid, Uuid);

/// A look at a pass, and how long it holds.
#[derive(Clone, Copy)]
struct PassLook {
    revisions: (i64, i64),
    /// The time at which the pass changes by itself; null where it does not.
    until: Option<Timestamp>,
}

impl PassLook {
    fn holds(&self, revisions: (i64, i64), now: Timestamp) -> bool {
        self.revisions == revisions && self.until.is_none_or(|until| now < until)
    }
}

/// Notifies phones of changed passes.
#[derive(Clone)]
pub struct PassPushes {
    service: Arc<Service>,
    apns: Arc<Apns>,
    looks: Arc<Mutex<HashMap<StayId, PassLook>>>,
}

impl PassPushes {
    /// Makes the work with a client of the push service.
    #[must_use]
    pub fn new(service: Arc<Service>, apns: Apns) -> Self {
        Self {
            service,
            apns: Arc::new(apns),
            looks: Arc::default(),
        }
    }

    /// Looks and pushes until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        let mut turns = tokio::time::interval(EVERY);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = turns.tick() => {}
            }
            // A claimed push whose result is not noted is sent again later.
            if stop
                .run_until_cancelled(Box::pin(self.step()))
                .await
                .is_none()
            {
                return;
            }
        }
    }

    /// Looks at all registered passes once, and sends the pushes that are due.
    pub async fn step(&self) {
        if let Err(error) = self.look().await {
            warn(
                &error,
                "could not find the passes that changed; retrying at the next look",
            );
        }
        if let Err(error) = self.push().await {
            warn(
                &error,
                "could not send the pushes of passes; retrying at the next look",
            );
        }
    }

    async fn look(&self) -> Result<()> {
        let mut after = (Uuid::nil(), Uuid::nil());
        let mut looks = HashMap::new();
        loop {
            let page = self
                .service
                .store
                .read(move |tx| pushes::watched(tx, after))
                .await?;
            let count = page.len();
            for watched in page {
                after = (watched.pass.organization, watched.pass.reservation);
                let known = self.looks().get(&after).copied();
                let now = self.service.clock.now();
                let look = match known.filter(|look| look.holds(watched.revisions, now)) {
                    Some(look) => look,
                    None => self.look_at(watched).await,
                };
                looks.insert(after, look);
            }
            if count < PAGE {
                *self.looks() = looks;
                return Ok(());
            }
        }
    }

    /// Builds a pass, which notes whether it changed.
    async fn look_at(&self, Watched { pass, revisions }: Watched) -> PassLook {
        let (service, now) = (&self.service, self.service.clock.now());
        let stay = (pass.organization, pass.reservation);
        let mut visit = PageRequest::without_browser(service.clone(), pass.token);
        // A stay that cannot be read now is read at the next look.
        let Ok(current) = current(service, &mut visit, stay).await else {
            return PassLook {
                revisions,
                until: Some(now),
            };
        };
        if current.departs_before(now - AFTER_DEPARTURE) {
            let shared = service.clone();
            let forgotten = service
                .store
                .write(move |tx| passes::unregister(tx, &shared, stay, None))
                .await;
            if let Err(error) = forgotten {
                warn(
                    &error,
                    "could not remove the phones of a past stay; retrying at the next change",
                );
            }
        }
        PassLook {
            revisions,
            until: current.next_change_at,
        }
    }

    /// Sends the pushes that are due, a batch of each organization.
    async fn push(&self) -> Result<()> {
        let service = &self.service;
        let is_valid = service
            .app_state
            .extension::<PassSigner>()
            .is_some_and(|signer| signer.is_valid(service.clock.now()));
        if !is_valid {
            return Ok(());
        }
        let mut done = Vec::new();
        loop {
            let (now, except) = (service.clock.now(), done.clone());
            let found = service
                .store
                .read(move |tx| pushes::waiting(tx, now, except))
                .await?;
            let Some(organization) = found else {
                return Ok(());
            };
            done.push(organization);
            let shared = service.clone();
            let claimed = service
                .store
                .write(move |tx| pushes::claim(tx, &shared, organization))
                .await?;
            let results = self.send(claimed).await;
            let shared = service.clone();
            service
                .store
                .write(move |tx| pushes::settle(tx, &shared, organization, results))
                .await?;
        }
    }

    async fn send(&self, claimed: Vec<Push>) -> Vec<(Push, PushOutcome)> {
        let sent = claimed.into_iter().map(|push| async move {
            let settled = match self.apns.push(&push.token).await {
                PushResult::Taken | PushResult::Refused => PushOutcome::Over,
                PushResult::Gone => PushOutcome::Gone,
                PushResult::Failed => PushOutcome::Again,
            };
            (push, settled)
        });
        stream::iter(sent)
            .buffer_unordered(MOST_UNDER_WAY)
            .collect()
            .await
    }

    fn looks(&self) -> MutexGuard<'_, HashMap<StayId, PassLook>> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn warn(error: &Error, message: &'static str) {
    tracing::warn!(cause = error.cause().unwrap_or_default(), "{message}");
}
