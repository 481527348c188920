//! A background task that finds passes that have changed, and sends a push to each phone that has
//! such a pass (rules: guest-requests#passes, 6).
//!
//! Every node checks the registered passes. A node rebuilds a pass if the organization's data has
//! changed since the last check. It also rebuilds a pass whose door code has become valid or has
//! expired. The queue of phones that wait for a push is in [`features::guest::pushes`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::background::BackgroundTask;
use engine::error::{Error, Result};
use engine::pipeline::Service;
use features::guest::passes;
use features::guest::pushes::{self, PAGE, Push, PushOutcome, RegisteredPassState};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::super::request::PageRequest;
use super::PassSigner;
use super::apns::{Apns, PushResult};
use super::service::current;

/// Time between the starts of two checks of all registered passes for changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// Maximum number of concurrent pushes.
const MAX_CONCURRENT: usize = 16;
/// How long after the departure the service still pushes changes of a pass. When a pass is rebuilt
/// after this time, the registrations of the phones with this pass are deleted.
const AFTER_DEPARTURE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The id of a stay: the id of its organization, and the id of its reservation.
type StayId = (Uuid, Uuid);

/// The result of a check of a pass. The next checks rebuild the pass only if the organization's
/// `revisions` have changed, or from the time `until` on.
#[derive(Clone, Copy)]
struct PassCheck {
    revisions: (i64, i64),
    /// The next time at which the pass changes although no data changes, for example because a door
    /// code becomes valid. `None` if there is no such time.
    until: Option<Timestamp>,
}

impl PassCheck {
    fn holds(&self, revisions: (i64, i64), now: Timestamp) -> bool {
        self.revisions == revisions && self.until.is_none_or(|until| now < until)
    }
}

/// Finds changed passes and sends pushes to the phones that have them. `checks` has the last check
/// of each stay's pass.
#[derive(Clone)]
pub struct PassPushes {
    service: Arc<Service>,
    apns: Arc<Apns>,
    checks: Arc<Mutex<HashMap<StayId, PassCheck>>>,
}

impl PassPushes {
    #[must_use]
    pub fn new(service: Arc<Service>, apns: Apns) -> Self {
        Self {
            service,
            apns: Arc::new(apns),
            checks: Arc::default(),
        }
    }

    /// Checks passes and sends pushes about changed passes until `stop` is cancelled.
    #[must_use]
    pub fn run(self, stop: CancellationToken) -> BackgroundTask {
        async move {
            let mut turns = tokio::time::interval(CHECK_INTERVAL);
            turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = turns.tick() => {}
                }
                // If `stop` interrupts a run, the results of some sent pushes have not been
                // recorded. Those pushes are sent again later.
                if stop
                    .run_until_cancelled(Box::pin(self.step()))
                    .await
                    .is_none()
                {
                    return;
                }
            }
        }
        .boxed()
    }

    /// Searches once for registered passes whose content has changed, and sends the pushes that are
    /// due.
    pub async fn step(&self) {
        if let Err(error) = self.check().await {
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

    async fn check(&self) -> Result<()> {
        let mut after = (Uuid::nil(), Uuid::nil());
        let mut checks = HashMap::new();
        loop {
            let page = self
                .service
                .store
                .read(move |tx| pushes::registered_passes(tx, after))
                .await?;
            let count = page.len();
            for watched in page {
                after = (watched.pass.organization, watched.pass.reservation);
                let known = self.checks().get(&after).copied();
                let now = self.service.clock.now();
                let check = match known.filter(|check| check.holds(watched.revisions, now)) {
                    Some(check) => check,
                    None => self.check_pass(watched).await,
                };
                checks.insert(after, check);
            }
            if count < PAGE {
                *self.checks() = checks;
                return Ok(());
            }
        }
    }

    /// Builds a pass. If its content has changed, records the change. The phones with this pass are
    /// then due for a push. Removes the registrations of these phones if the departure is more than
    /// [`AFTER_DEPARTURE`] ago.
    async fn check_pass(
        &self,
        RegisteredPassState { pass, revisions }: RegisteredPassState,
    ) -> PassCheck {
        let (service, now) = (&self.service, self.service.clock.now());
        let stay = (pass.organization, pass.reservation);
        let mut request = PageRequest::without_browser(service.clone(), pass.token);
        // The stay cannot be read now, so the next run checks this pass again.
        let Ok(current) = current(service, &mut request, stay).await else {
            return PassCheck {
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
        PassCheck {
            revisions,
            until: current.next_change_at,
        }
    }

    /// Sends the pushes that are due, one organization after the other.
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
                .read(move |tx| pushes::next_due_organization(tx, now, except))
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
                .write(move |tx| pushes::save_push_outcomes(tx, &shared, organization, results))
                .await?;
        }
    }

    async fn send(&self, claimed: Vec<Push>) -> Vec<(Push, PushOutcome)> {
        let sent = claimed.into_iter().map(|push| async move {
            let settled = match self.apns.push(&push.token).await {
                PushResult::Accepted | PushResult::Refused => PushOutcome::Over,
                PushResult::Gone => PushOutcome::Gone,
                PushResult::Failed => PushOutcome::Again,
            };
            (push, settled)
        });
        stream::iter(sent)
            .buffer_unordered(MAX_CONCURRENT)
            .collect()
            .await
    }

    fn checks(&self) -> MutexGuard<'_, HashMap<StayId, PassCheck>> {
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn warn(error: &Error, message: &'static str) {
    tracing::warn!(cause = error.cause().unwrap_or_default(), "{message}");
}
