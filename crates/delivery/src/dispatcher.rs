//! The dispatcher: claims what is due, sends it, has it recorded what came of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::background::{Claiming, finish, keep_claiming};
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::traces;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use metrics::Counter;
use store::Transaction;
use strum::VariantNames as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};
use uuid::Uuid;

use super::address::host_of;
use super::delivery::{AttemptOutcome, Delivery, Status};
use super::disabled::DisabledReason;
use super::ledger::{self, Batch, Claim, Claimed, Entry, Look, Settlement, Subscribed};
use super::limiter::{Limiter, Permit};
use super::means::Means;
use super::names::on_behalf_of;
use super::owner::Owner;
use super::prepare::{self, Prepared};
use super::recorder::Recorder;
use super::sender::{Message, Sender};

/// What a lease leaves for recording, on top of the receiver's own time.
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
    means: Arc<Means>,
    owner: Arc<dyn Owner>,
    sender: Sender,
    recorder: Recorder,
    limiter: Limiter,
    /// The subscription that had its turn last.
    last: Mutex<Uuid>,
}

/// A claimed delivery, and what is to be done about it.
struct Job {
    organization: Uuid,
    subscription: Uuid,
    claim: Claim,
    permit: Permit,
    ready: Result<(Delivery, Prepared)>,
}

impl Dispatcher {
    /// A dispatcher of what `owner` has to tell; `ca` is a PEM bundle of authorities trusted besides the system's. TLS needs the process's default
    /// crypto provider to be installed.
    pub fn new(means: Arc<Means>, owner: Arc<dyn Owner>, ca: Option<&[u8]>) -> Result<Self, String> {
        let sender = Sender::new(means.targets.clone(), means.settings.timeout, ca)?;
        let recorder = Recorder::new(means.clone());
        Ok(Self(Arc::new(Inner { means, owner, sender, recorder, limiter: Limiter::default(), last: Mutex::default() })))
    }

    /// Sends what is due, whenever something is, until `stop` is cancelled; then finishes what it began.
    pub async fn run(self, stop: CancellationToken) {
        for outcome in AttemptOutcome::VARIANTS {
            attempts(outcome).increment(0);
        }
        keep_claiming(&self, &stop).await;
    }

    /// Sends what is due now, once, and waits for it; how many deliveries that were.
    pub async fn step(&self) -> usize {
        let due = self.0.means.clock.now();
        let mut count = 0;
        loop {
            let mut sends = JoinSet::new();
            let look = self.claim(due, &mut sends).await.inspect_err(warn).unwrap_or_default();
            finish::<Self>(sends).await;
            if look.count == 0 {
                return count;
            }
            count += look.count;
        }
    }

    /// Claims what is due, and decides what is sent of it, in one visit to the database. A process that is alone begins to
    /// send each delivery as soon as that is decided, others once their leases are committed.
    async fn claim(&self, due: Timestamp, sends: &mut JoinSet<()>) -> Result<Look> {
        let Inner { means, owner, limiter, .. } = self.0.as_ref();
        if limiter.is_full() {
            return Ok(Look::default());
        }
        limiter.begin_look();
        let (limiter, shared, owner, mut from) = (limiter.clone(), means.clone(), owner.clone(), *self.last());
        let is_alone = means.store.is_private();
        let lease = means.settings.timeout.saturating_add(LEASE_MARGIN);
        let now = means.clock.now();
        let until = (!is_alone).then(|| later(now, lease));
        let (decided, mut jobs) = mpsc::unbounded_channel();
        let claim = move |tx: &mut Transaction<'_>| {
            // Nobody takes them where the dispatcher is gone.
            let mut found =
                |tx: &mut Transaction<'_>, batch: Batch| prepare(tx, &shared, &*owner, batch, now, &mut |job| drop(decided.send(job)));
            let look = ledger::claim(tx, &limiter, &mut from, due, until, &mut found)?;
            Ok::<_, Error>((look, from))
        };
        let claimed = async { if is_alone { means.store.read(claim).await } else { means.store.write(claim).await } };
        // A panic in one claim is not to be the end of all.
        let mut claimed = pin!(AssertUnwindSafe(claimed).catch_unwind());
        let mut begin = |job: Job| drop(sends.spawn(self.clone().deliver(job)));
        let caught = loop {
            tokio::select! {
                caught = &mut claimed => break caught,
                Some(job) = jobs.recv(), if is_alone => begin(job),
            }
        };
        let (look, from) = caught.unwrap_or_else(|_| Err(Error::internal("a claim ended abnormally")))?;
        while let Ok(job) = jobs.try_recv() {
            begin(job);
        }
        *self.last() = from;
        Ok(look)
    }

    fn last(&self) -> MutexGuard<'_, Uuid> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deals with one delivery. Where that fails it is claimed anew: nothing is lost.
    async fn deliver(self, job: Job) {
        let Job { organization, subscription, claim, mut permit, ready } = job;
        let attempted = self.attempt(organization, subscription, ready, &mut permit).await;
        permit.release(None);
        match attempted {
            Ok((delivery, settlement)) => {
                let entry = Entry { claim, delivery, settlement };
                self.0.recorder.record(organization, subscription, entry, permit).await;
            }
            Err(error) => {
                tracing::warn!(delivery = %claim.id, cause = error.cause(), "a webhook delivery is left for later");
                tokio::time::sleep(RESPITE).await;
                drop(permit);
            }
        }
    }

    /// Makes an attempt at a delivery, where there is something to send; what is to be recorded.
    async fn attempt(
        &self,
        organization: Uuid,
        subscription: Uuid,
        ready: Result<(Delivery, Prepared)>,
        permit: &mut Permit,
    ) -> Result<(Delivery, Settlement)> {
        let (mut delivery, prepared) = ready?;
        let settlement = match prepared {
            Prepared::Send(message) => {
                let (id, target) = (message.id, message.target.clone());
                let outcome = on_behalf_of(organization, self.send(organization, message, &mut delivery, permit)).await?;
                let host = target.address.as_ref().and_then(host_of).unwrap_or_default();
                tell(&Attempted { organization, subscription, id, host }, &delivery, outcome);
                self.settlement(outcome)
            }
            Prepared::Discard => Settlement::Over(Status::Discarded),
            Prepared::Disable(reason) => Settlement::Disabled(reason, Status::Discarded),
        };
        Ok((delivery, settlement))
    }

    /// Makes one attempt and notes it in the delivery; what it came to.
    async fn send(&self, organization: Uuid, message: Message, delivery: &mut Delivery, permit: &mut Permit) -> Result<AttemptOutcome> {
        let means = &self.0.means;
        let (began, started) = (means.clock.now(), means.clock.elapsed());
        let span = traces::delivery(message.id, organization, delivery.trace.as_deref());
        let trace = traces::of(&span);
        let answer = self.0.sender.post(message, trace, began).instrument(span.clone()).await?;
        let took = means.clock.elapsed().saturating_sub(started);
        permit.release(Some(took));
        delivery.attempts.push(answer.attempt(Moment(began), took));
        let outcome = delivery.outcome(&answer, means.settings.retry_base, means.ids.fraction());
        note(&span, delivery, outcome);
        attempts(outcome.into()).increment(1);
        Ok(outcome)
    }

    /// What is recorded of an attempt.
    fn settlement(&self, outcome: AttemptOutcome) -> Settlement {
        match outcome {
            AttemptOutcome::Delivered => Settlement::Delivered,
            AttemptOutcome::Gone => Settlement::Gone,
            AttemptOutcome::Private => Settlement::Disabled(DisabledReason::PrivateTarget, Status::Failed),
            AttemptOutcome::Retry(pause) => Settlement::Retry(later(self.0.means.clock.now(), pause)),
            AttemptOutcome::Failed => Settlement::Failed,
            AttemptOutcome::Pinged(status) => Settlement::Over(status),
        }
    }
}

impl Claiming for Dispatcher {
    const ABNORMAL: &str = "sending a webhook ended abnormally";
    /// Places are the limiter's, and it tells when one becomes free.
    const CLAIMS_AT_END: bool = false;

    /// Begins to send what is due, as far as there is room; how long until there may be more. What has no permit is taken up
    /// when one becomes free.
    async fn begin_due(&self, sends: &mut JoinSet<()>) -> Duration {
        loop {
            let now = self.0.means.clock.now();
            let Look { count, is_cut, is_outrun, next } = match self.claim(now, sends).await {
                Ok(look) => look,
                Err(error) => {
                    warn(&error);
                    return RESPITE;
                }
            };
            if is_outrun && count == 0 {
                return HEADWAY;
            }
            if !is_cut && !is_outrun {
                let wait = next.map(|next| self.0.means.clock.now().duration_until(next));
                return wait.map_or(LONGEST_SLEEP, |wait| Duration::try_from(wait).unwrap_or_default()).min(LONGEST_SLEEP);
            }
        }
    }

    async fn woken(&self) {
        tokio::select! {
            () = self.0.means.due.notified() => {}
            () = self.0.limiter.freed() => {}
        }
    }
}

/// Says in the span of an attempt what came of it.
fn note(span: &Span, delivery: &Delivery, outcome: AttemptOutcome) {
    if span.is_disabled() {
        return;
    }
    span.record("vestibule.event", delivery.told.event.as_str()).record("vestibule.attempt", delivery.attempts.len());
    if let Some(status) = delivery.attempts.last().and_then(|attempt| attempt.status_code) {
        span.record("http.response.status_code", status);
    }
    if !matches!(outcome, AttemptOutcome::Delivered | AttemptOutcome::Pinged(Status::Delivered)) {
        span.record("trace.failed", true);
    }
}

/// Whose delivery was attempted, and to whom. Of the target no more than its host: the path and the query may be secret.
struct Attempted {
    organization: Uuid,
    subscription: Uuid,
    id: Uuid,
    host: String,
}

/// Writes down an attempt that failed: as a warning where it was the last one, for whoever looks closely where it was not.
fn tell(attempted: &Attempted, delivery: &Delivery, outcome: AttemptOutcome) {
    let Attempted { organization, subscription, id, host } = attempted;
    let last = delivery.attempts.last();
    let (status, error) = (last.and_then(|attempt| attempt.status_code), last.and_then(|attempt| attempt.error.as_deref()));
    let (event, attempts) = (&delivery.told.event, delivery.attempts.len());
    match outcome {
        AttemptOutcome::Failed | AttemptOutcome::Private => {
            tracing::warn!(%organization, %subscription, delivery = %id, event, host, attempts, status, error, "a webhook delivery failed");
        }
        AttemptOutcome::Retry(_) | AttemptOutcome::Pinged(Status::Failed) => {
            tracing::debug!(%organization, %subscription, delivery = %id, event, host, attempts, status, error, "a webhook was not taken");
        }
        AttemptOutcome::Delivered | AttemptOutcome::Gone | AttemptOutcome::Pinged(_) => {}
    }
}

/// Decides what is to be done about the deliveries of a batch, one after another. What fails for all that are left, be it
/// by a panic, is a failure of each: it holds up no other batch.
fn prepare(tx: &mut Transaction<'_>, means: &Means, owner: &dyn Owner, batch: Batch, now: Timestamp, decided: &mut dyn FnMut(Job)) {
    let Batch { subscribed, claimed } = batch;
    let Subscribed { organization, subscription, .. } = subscribed;
    let mut decide = |claimed: Claimed, prepared: Result<Prepared>| {
        let Claimed { claim, delivery, permit } = claimed;
        decided(Job { organization, subscription, claim, permit, ready: delivery.and_then(|delivery| Ok((delivery, prepared?))) });
    };
    let mut left = claimed.into_iter();
    let prepare = AssertUnwindSafe(|| prepare::prepare(tx, means, owner, &subscribed, &mut left, now, &mut decide));
    let prepared = catch_unwind(prepare).unwrap_or_else(|_| Err(Error::internal("reading ended abnormally")));
    if let Err(error) = prepared {
        left.for_each(|claimed| decide(claimed, Err(error.clone())));
    }
}

/// Where attempts that came to this are counted. Each is there before the first, so that the first is an increase.
fn attempts(outcome: &'static str) -> Counter {
    metrics::counter!("vestibule_webhook_attempts_total", "outcome" => outcome)
}

fn warn(error: &Error) {
    tracing::warn!(cause = error.cause(), "the database cannot be asked for webhook deliveries");
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}
