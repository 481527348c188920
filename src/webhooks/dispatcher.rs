//! The dispatcher: claims what is due, sends it, records what came of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use uuid::Uuid;

use super::delivery::{Delivery, Outcome, Status};
use super::ledger::{self, Claim, Claimed, Claims, Settlement};
use super::payload::{self, Prepared};
use super::room::Room;
use super::sender::{Message, Sender};
use super::subscriptions::{DisabledReason, tell_disabled};
use crate::error::{Error, Result};
use crate::moment::Moment;
use crate::service::Service;

/// What a claim leaves for reading and recording, on top of the receiver's own time.
const LEASE_MARGIN: Duration = Duration::from_secs(5);
/// The longest without a look: what another node left behind is found by then.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// How long to leave a database alone that could not be asked.
const RESPITE: Duration = Duration::from_secs(1);
/// How long to leave what is due to another node that was quicker with all of it; by then there may be more.
const HEADWAY: Duration = Duration::from_millis(50);

/// Sends webhooks. Every node has one; they share the work by claiming it.
#[derive(Clone)]
pub struct Dispatcher(Arc<Inner>);

struct Inner {
    service: Arc<Service>,
    sender: Sender,
    room: Room,
    /// The subscription that a claim has looked at last.
    last: Mutex<Uuid>,
}

impl Dispatcher {
    /// A dispatcher; `ca` is a PEM bundle of authorities trusted besides the system's. TLS needs the process's default
    /// crypto provider to be installed.
    pub fn new(service: Arc<Service>, ca: Option<&[u8]>) -> Result<Self, String> {
        let sender = Sender::new(service.targets.clone(), service.settings.webhook_timeout, ca)?;
        Ok(Self(Arc::new(Inner { service, sender, room: Room::default(), last: Mutex::default() })))
    }

    /// Sends what is due, whenever something is, until `stop` says so or its sender is gone; then finishes what it began.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut sends = JoinSet::new();
        self.take_over().await;
        while !*stop.borrow() {
            let sleep = self.begin_due(&mut sends).await;
            tokio::select! {
                () = stopped(&mut stop) => break,
                () = self.0.service.dispatch.notified() => {}
                Some(ended) = sends.join_next() => note(ended),
                () = tokio::time::sleep(sleep) => {}
            }
            // One claim for all the places that have become free meanwhile.
            while let Some(ended) = sends.try_join_next() {
                note(ended);
            }
        }
        finish(&mut sends).await;
    }

    /// Takes over what an earlier process on this database was about to send when it ended, where there can be no other.
    async fn take_over(&self) {
        if !self.0.service.store.is_private() {
            return;
        }
        if let Err(error) = self.0.service.store.write(ledger::release_all).await {
            warn(&error);
        }
    }

    /// Sends what is due now, once, and waits for it; how many deliveries that were.
    pub async fn step(&self) -> usize {
        let due = self.0.service.clock.now();
        let mut count = 0;
        loop {
            let taken = match self.claim(due).await {
                Ok(claims) => claims.taken,
                Err(error) => {
                    warn(&error);
                    Vec::new()
                }
            };
            if taken.is_empty() {
                return count;
            }
            count += taken.len();
            let mut sends = JoinSet::new();
            for claimed in taken {
                sends.spawn(self.clone().deliver(claimed));
            }
            finish(&mut sends).await;
        }
    }

    /// Begins to send what is due, as far as there is room; how long until there may be more.
    async fn begin_due(&self, sends: &mut JoinSet<()>) -> Duration {
        loop {
            let now = self.0.service.clock.now();
            match self.claim(now).await {
                Ok(Claims { taken, is_outrun }) if taken.is_empty() => {
                    return if is_outrun { HEADWAY } else { self.sleep_after(now).await };
                }
                Ok(Claims { taken, .. }) => {
                    for claimed in taken {
                        sends.spawn(self.clone().deliver(claimed));
                    }
                }
                Err(error) => {
                    warn(&error);
                    return RESPITE;
                }
            }
        }
    }

    /// How long until something becomes due that was not at `now`. What was due and had no place is taken up when a send
    /// ends.
    async fn sleep_after(&self, now: Timestamp) -> Duration {
        match self.0.service.store.read(move |tx| ledger::next_due(tx, now)).await {
            Ok(Some(next)) => {
                let wait = self.0.service.clock.now().duration_until(next);
                Duration::try_from(wait).unwrap_or(Duration::ZERO).min(LONGEST_SLEEP)
            }
            Ok(None) => LONGEST_SLEEP,
            Err(error) => {
                warn(&error);
                RESPITE
            }
        }
    }

    async fn claim(&self, due: Timestamp) -> Result<Claims> {
        if self.0.room.free() == 0 {
            return Ok(Claims { taken: Vec::new(), is_outrun: false });
        }
        let service = &self.0.service;
        let until = later(service.clock.now(), service.settings.webhook_timeout.saturating_add(LEASE_MARGIN));
        let room = self.0.room.clone();
        let mut from = *self.last();
        let (claims, from) = service
            .store
            .write(move |tx| {
                let claims = ledger::claim(tx, &room, &mut from, due, until)?;
                Ok::<_, Error>((claims, from))
            })
            .await?;
        *self.last() = from;
        Ok(claims)
    }

    fn last(&self) -> MutexGuard<'_, Uuid> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deals with one delivery. Where that fails the claim runs out and the delivery is claimed anew: nothing is lost.
    async fn deliver(self, claimed: Claimed) {
        let Claimed { claim, doc, place } = claimed;
        if let Err(error) = self.try_deliver(claim, &doc).await {
            let cause = error.cause().unwrap_or_default();
            tracing::warn!(delivery = %claim.id, cause, "a webhook delivery is left for later");
        }
        drop(place);
    }

    async fn try_deliver(&self, claim: Claim, doc: &str) -> Result<()> {
        let mut delivery: Delivery = serde_json::from_str(doc).map_err(Error::internal)?;
        let service = &self.0.service;
        let (shared, read, now) = (service.clone(), delivery.clone(), service.clock.now());
        let prepared = service.store.read(move |tx| payload::prepare(tx, &shared, claim, &read, now)).await?;
        let settlement = match prepared {
            Prepared::Send(message) => self.send(&message, &mut delivery).await?,
            Prepared::Discard => Settlement::Over(Status::Discarded),
            Prepared::Disable(reason) => Settlement::Disabled(reason, Status::Discarded),
        };
        let now = service.clock.now();
        let disabled = service.store.write(move |tx| ledger::settle(tx, claim, &delivery, settlement, now)).await?;
        if let Some(reason) = disabled {
            tell_disabled(claim.organization, claim.subscription, reason);
        }
        Ok(())
    }

    /// Makes one attempt and notes it in the delivery; what is to be recorded.
    async fn send(&self, message: &Message, delivery: &mut Delivery) -> Result<Settlement> {
        let service = &self.0.service;
        let (began, started) = (service.clock.now(), service.clock.elapsed());
        let answer = self.0.sender.post(message, began).await?;
        let took = service.clock.elapsed().saturating_sub(started);
        delivery.attempts.push(answer.attempt(Moment(began), took));
        let outcome = delivery.outcome(&answer, service.settings.webhook_retry_base, service.ids.fraction());
        metrics::counter!("vestibule_webhook_attempts_total", "outcome" => outcome.name()).increment(1);
        Ok(match outcome {
            Outcome::Delivered => Settlement::Delivered,
            Outcome::Gone => Settlement::Gone,
            Outcome::Private => Settlement::Disabled(DisabledReason::PrivateTarget, Status::Failed),
            Outcome::Retry(pause) => Settlement::Retry(later(service.clock.now(), pause)),
            Outcome::Failed => Settlement::Failed,
            Outcome::Pinged(status) => Settlement::Over(status),
        })
    }
}

/// Returns when the dispatcher is to stop, or nobody is left to say so.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|is_stopping| *is_stopping).await);
}

async fn finish(sends: &mut JoinSet<()>) {
    while let Some(ended) = sends.join_next().await {
        note(ended);
    }
}

/// A panic ends one delivery's attempt, not the dispatcher; its claim runs out like any other.
fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "sending a webhook ended abnormally");
    }
}

fn warn(error: &Error) {
    tracing::warn!(cause = error.cause().unwrap_or_default(), "the database cannot be asked for webhook deliveries");
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}
