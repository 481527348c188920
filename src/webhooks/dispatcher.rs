//! The dispatcher: claims what is due, sends it, has it recorded what came of it.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use uuid::Uuid;

use super::delivery::{Delivery, Outcome, Status};
use super::ledger::{self, Batch, Claim, Claims, Entry, Settlement};
use super::payload::{self, Prepared, Ready};
use super::recorder::Recorder;
use super::room::{Place, Room};
use super::sender::{Message, Sender};
use super::subscriptions::DisabledReason;
use crate::error::{Error, Result};
use crate::moment::Moment;
use crate::service::Service;

/// What a lease leaves for reading and recording, on top of the receiver's own time.
const LEASE_MARGIN: Duration = Duration::from_secs(5);
/// The longest without a look: what another node left behind is found by then.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// How long to leave alone a database that could not be asked, and a delivery that could not be dealt with.
const RESPITE: Duration = Duration::from_secs(1);
/// How long to leave what is due to another node that was quicker with all of it; by then there may be more.
const HEADWAY: Duration = Duration::from_millis(50);

/// Sends webhooks. Every node has one; those that share a database share the work by claiming it.
#[derive(Clone)]
pub struct Dispatcher(Arc<Inner>);

struct Inner {
    service: Arc<Service>,
    sender: Sender,
    recorder: Recorder,
    room: Room,
    /// The subscription that a claim has looked at last.
    last: Mutex<Uuid>,
}

impl Dispatcher {
    /// A dispatcher; `ca` is a PEM bundle of authorities trusted besides the system's. TLS needs the process's default
    /// crypto provider to be installed.
    pub fn new(service: Arc<Service>, ca: Option<&[u8]>) -> Result<Self, String> {
        let sender = Sender::new(service.targets.clone(), service.settings.webhook_timeout, ca)?;
        let recorder = Recorder::new(service.clone());
        Ok(Self(Arc::new(Inner { service, sender, recorder, room: Room::default(), last: Mutex::default() })))
    }

    /// Sends what is due, whenever something is, until `stop` says so or its sender is gone; then finishes what it began.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut sends = JoinSet::new();
        while !*stop.borrow() {
            let sleep = self.begin_due(&mut sends).await;
            tokio::select! {
                () = stopped(&mut stop) => break,
                () = self.0.service.dispatch.notified() => {}
                () = self.0.room.freed() => {}
                () = tokio::time::sleep(sleep) => {}
            }
            while let Some(ended) = sends.try_join_next() {
                note(ended);
            }
        }
        finish(&mut sends).await;
    }

    /// Sends what is due now, once, and waits for it; how many deliveries that were.
    pub async fn step(&self) -> usize {
        let due = self.0.service.clock.now();
        let mut count = 0;
        loop {
            let taken = self.claim(due).await.unwrap_or_else(|error| warn(&error)).taken;
            if taken.is_empty() {
                return count;
            }
            count += taken.iter().map(|batch| batch.claimed.len()).sum::<usize>();
            let mut sends = JoinSet::new();
            for batch in taken {
                sends.spawn(self.clone().deliver(batch));
            }
            finish(&mut sends).await;
        }
    }

    /// Begins to send what is due, as far as there is room; how long until there may be more. What has no place is taken up
    /// when one becomes free.
    async fn begin_due(&self, sends: &mut JoinSet<()>) -> Duration {
        loop {
            let now = self.0.service.clock.now();
            let Claims { taken, is_cut, is_outrun, next } = match self.claim(now).await {
                Ok(claims) => claims,
                Err(error) => {
                    warn(&error);
                    return RESPITE;
                }
            };
            if is_outrun && taken.is_empty() {
                return HEADWAY;
            }
            for batch in taken {
                sends.spawn(self.clone().deliver(batch));
            }
            if !is_cut && !is_outrun {
                let wait = next.map(|next| self.0.service.clock.now().duration_until(next));
                return wait.map_or(LONGEST_SLEEP, |wait| Duration::try_from(wait).unwrap_or_default()).min(LONGEST_SLEEP);
            }
        }
    }

    /// Claims what is due.
    async fn claim(&self, due: Timestamp) -> Result<Claims> {
        let Inner { service, room, .. } = self.0.as_ref();
        if room.free() == 0 {
            return Ok(Claims::default());
        }
        room.begin_look();
        let (room, mut from, is_alone) = (room.clone(), *self.last(), service.store.is_private());
        let lease = service.settings.webhook_timeout.saturating_add(LEASE_MARGIN);
        let until = (!is_alone).then(|| later(service.clock.now(), lease));
        let claim = move |tx: &mut store::Transaction<'_>| {
            let claims = ledger::claim(tx, &room, &mut from, due, until)?;
            Ok::<_, Error>((claims, from))
        };
        let claimed = async { if is_alone { service.store.read(claim).await } else { service.store.write(claim).await } };
        // A panic in one claim is not to be the end of all.
        let caught = AssertUnwindSafe(claimed).catch_unwind().await;
        let (claims, from) = caught.unwrap_or_else(|_| Err(Error::internal("a claim ended abnormally")))?;
        *self.last() = from;
        Ok(claims)
    }

    fn last(&self) -> MutexGuard<'_, Uuid> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deals with claimed deliveries of a subscription. What fails is claimed anew: nothing is lost.
    async fn deliver(self, batch: Batch) {
        let Batch { organization, subscription, claimed } = batch;
        let (mut docs, mut held) = (Vec::new(), Vec::new());
        for claimed in claimed {
            docs.push((claimed.claim.id, claimed.doc));
            held.push((claimed.claim, claimed.place));
        }
        let (service, now) = (self.0.service.clone(), self.0.service.clock.now());
        let read = self.0.service.store.read(move |tx| payload::prepare(tx, &service, organization, subscription, &docs, now));
        match read.await {
            Ok(ready) => {
                let attempts = held.into_iter().zip(ready).map(async |((claim, mut place), ready)| {
                    let attempted = self.attempt(ready).await;
                    place.leave();
                    match attempted {
                        Ok((delivery, settlement)) => {
                            let entry = Entry { claim, delivery, settlement };
                            self.0.recorder.record(organization, subscription, entry, place).await;
                        }
                        Err(error) => put_off(claim, place, &error).await,
                    }
                });
                join_all(attempts).await;
            }
            Err(error) => {
                join_all(held.into_iter().map(|(claim, place)| put_off(claim, place, &error))).await;
            }
        }
    }

    /// Makes an attempt at a delivery, where there is something to send; what is to be recorded.
    async fn attempt(&self, ready: Result<Ready>) -> Result<(Delivery, Settlement)> {
        let Ready { mut delivery, prepared } = ready?;
        let settlement = match prepared {
            Prepared::Send(message) => self.send(message, &mut delivery).await?,
            Prepared::Discard => Settlement::Over(Status::Discarded),
            Prepared::Disable(reason) => Settlement::Disabled(reason, Status::Discarded),
        };
        Ok((delivery, settlement))
    }

    /// Makes one attempt and notes it in the delivery; what is to be recorded.
    async fn send(&self, message: Message, delivery: &mut Delivery) -> Result<Settlement> {
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

/// Leaves a delivery alone for a while.
async fn put_off(claim: Claim, mut place: Place, error: &Error) {
    place.leave();
    tracing::warn!(delivery = %claim.id, cause = error.cause(), "a webhook delivery is left for later");
    tokio::time::sleep(RESPITE).await;
    drop(place);
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

/// A panic ends the attempts at a few deliveries, not the dispatcher; they are claimed anew.
fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "sending a webhook ended abnormally");
    }
}

fn warn(error: &Error) -> Claims {
    tracing::warn!(cause = error.cause(), "the database cannot be asked for webhook deliveries");
    Claims::default()
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}
