//! The dispatcher: claims due deliveries, sends them and passes their outcomes to the recorder.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::background::{BackgroundTask, ClaimingWork, finish, keep_claiming};
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
use super::dependencies::Dependencies;
use super::disabled::DisabledReason;
use super::ledger::{self, Batch, Claim, ClaimedDelivery, Entry, SearchResult, Settlement};
use super::limiter::{Limiter, Permit};
use super::names::on_behalf_of;
use super::owner::SubscriptionOwner;
use super::prepare::{self, SendDecision};
use super::recorder::Recorder;
use super::sender::{Message, Sender};
use super::tls::ClientTls;

/// How much longer a lease lasts than the time limit for a receiver's response. The outcome is
/// recorded in this additional time.
const LEASE_MARGIN: Duration = Duration::from_secs(5);
/// The longest wait between two searches for due deliveries. If another node stops, this node finds
/// the deliveries of that node within this time after their leases expire.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// The delay after a failed query of the database, and after an internal error in a delivery.
const ERROR_DELAY: Duration = Duration::from_secs(1);
/// The delay after a search in which other nodes had already claimed all due deliveries. During the
/// delay more deliveries may become due.
const OUTRUN_DELAY: Duration = Duration::from_millis(50);

/// Sends webhooks. Every node has a dispatcher. Nodes on one database divide the work by claims on
/// deliveries.
#[derive(Clone)]
pub struct Dispatcher(Arc<DispatcherInner>);

struct DispatcherInner {
    dependencies: Arc<Dependencies>,
    owner: Arc<dyn SubscriptionOwner>,
    sender: Sender,
    recorder: Recorder,
    limiter: Limiter,
    /// The subscription whose deliveries were claimed last. The next search begins with the
    /// subscription after it.
    last: Mutex<Uuid>,
}

/// A claimed delivery with its permit. `ready` has the delivery and the decision whether to send
/// it, or an error.
struct Job {
    organization: Uuid,
    subscription: Uuid,
    claim: Claim,
    permit: Permit,
    ready: Result<(Delivery, SendDecision)>,
}

impl Dispatcher {
    /// Creates a dispatcher for the subscriptions of `owner`.
    #[must_use]
    pub fn new(
        dependencies: Arc<Dependencies>,
        owner: Arc<dyn SubscriptionOwner>,
        tls: &ClientTls,
    ) -> Self {
        let sender = Sender::new(&dependencies.targets, dependencies.settings.timeout, tls);
        let recorder = Recorder::new(dependencies.clone());
        Self(Arc::new(DispatcherInner {
            dependencies,
            owner,
            sender,
            recorder,
            limiter: Limiter::default(),
            last: Mutex::default(),
        }))
    }

    /// Sends deliveries as they become due, until `stop` is cancelled. Then finishes the deliveries
    /// that this method has begun.
    #[must_use]
    pub fn run(self, stop: CancellationToken) -> BackgroundTask {
        async move {
            metrics::describe_counter!(
                "vestibule_webhook_attempts_total",
                "Attempts to deliver a webhook, by result."
            );
            for outcome in AttemptOutcome::VARIANTS {
                attempt_counter(outcome).increment(0);
            }
            keep_claiming(&self, &stop).await;
        }
        .boxed()
    }

    /// Sends the deliveries that are due now and waits until they have ended. Returns their number.
    pub async fn step(&self) -> usize {
        let due = self.0.dependencies.clock.now();
        let mut count = 0;
        loop {
            let mut sends = JoinSet::new();
            let search = self
                .claim(due, &mut sends)
                .await
                .inspect_err(log_search_failure)
                .unwrap_or_default();
            finish::<Self>(sends).await;
            if search.count == 0 {
                return count;
            }
            count += search.count;
        }
    }

    /// Claims due deliveries and decides what to send, in one transaction. The only process on a
    /// database sends each batch as soon as the batch is prepared. If several nodes use the
    /// database, a node begins to send after its leases are committed.
    async fn claim(&self, due: Timestamp, sends: &mut JoinSet<()>) -> Result<SearchResult> {
        let DispatcherInner {
            dependencies,
            owner,
            limiter,
            ..
        } = self.0.as_ref();
        if limiter.is_full() {
            return Ok(SearchResult::default());
        }
        limiter.begin_search();
        let (limiter, shared, owner, mut from) = (
            limiter.clone(),
            dependencies.clone(),
            owner.clone(),
            *self.last(),
        );
        let is_alone = dependencies.store.is_only_process();
        let lease = dependencies.settings.timeout.saturating_add(LEASE_MARGIN);
        let now = dependencies.clock.now();
        let until = (!is_alone).then(|| later(now, lease));
        let (decided, mut jobs) = mpsc::unbounded_channel();
        let claim = move |tx: &mut Transaction<'_>| {
            // Sending fails only if the dispatcher, which receives the jobs, was dropped. The job
            // is then not needed.
            let mut on_batch = |tx: &mut Transaction<'_>, batch: Batch| {
                for job in prepare(tx, &shared, &*owner, batch, now) {
                    drop(decided.send(job));
                }
            };
            let search = ledger::claim(tx, &limiter, &mut from, due, until, &mut on_batch)?;
            Ok::<_, Error>((search, from))
        };
        let claimed = async {
            if is_alone {
                dependencies.store.read(claim).await
            } else {
                dependencies.store.write(claim).await
            }
        };
        // A panic in one search must not end the dispatcher.
        let mut claimed = pin!(AssertUnwindSafe(claimed).catch_unwind());
        let mut begin = |job: Job| drop(sends.spawn(self.clone().deliver(job)));
        let result = loop {
            tokio::select! {
                result = &mut claimed => break result,
                Some(job) = jobs.recv(), if is_alone => begin(job),
            }
        };
        let (search, from) = result
            .unwrap_or_else(|_| Err(Error::internal("claiming webhook deliveries panicked")))?;
        while let Ok(job) = jobs.try_recv() {
            begin(job);
        }
        *self.last() = from;
        Ok(search)
    }

    fn last(&self) -> MutexGuard<'_, Uuid> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attempts one delivery and records its outcome. After an internal error, the delivery stays
    /// due and is claimed again later.
    async fn deliver(self, job: Job) {
        let Job {
            organization,
            subscription,
            claim,
            mut permit,
            ready,
        } = job;
        let result = self
            .attempt(organization, subscription, ready, &mut permit)
            .await;
        permit.release(None);
        match result {
            Ok((delivery, settlement)) => {
                let entry = Entry {
                    claim,
                    delivery,
                    settlement,
                };
                self.0
                    .recorder
                    .record(organization, subscription, entry, permit)
                    .await;
            }
            Err(error) => {
                tracing::warn!(
                    delivery = %claim.id,
                    cause = error.cause(),
                    "could not process a webhook delivery; it is claimed again later"
                );
                tokio::time::sleep(ERROR_DELAY).await;
                drop(permit);
            }
        }
    }

    /// Makes one attempt at a delivery, if there is a message to send. Returns the delivery and the
    /// outcome to record.
    async fn attempt(
        &self,
        organization: Uuid,
        subscription: Uuid,
        ready: Result<(Delivery, SendDecision)>,
        permit: &mut Permit,
    ) -> Result<(Delivery, Settlement)> {
        let (mut delivery, prepared) = ready?;
        let settlement = match prepared {
            SendDecision::Send(message) => {
                let (id, target) = (message.id, message.target.clone());
                let outcome = on_behalf_of(
                    organization,
                    self.send(organization, message, &mut delivery, permit),
                )
                .await?;
                let host = target
                    .address
                    .as_ref()
                    .and_then(host_of)
                    .unwrap_or_default();
                log_failure(
                    &Attempted {
                        organization,
                        subscription,
                        id,
                        host,
                    },
                    &delivery,
                    outcome,
                );
                self.settlement(outcome)
            }
            SendDecision::Discard => Settlement::Ended(Status::Discarded),
            SendDecision::SubscriptionDisabled => Settlement::SubscriptionDisabled,
            SendDecision::Disable(reason) => Settlement::Disabled(reason, Status::Discarded),
        };
        Ok((delivery, settlement))
    }

    /// Makes one attempt and appends it to the delivery's log. Returns the outcome of the attempt.
    async fn send(
        &self,
        organization: Uuid,
        message: Message,
        delivery: &mut Delivery,
        permit: &mut Permit,
    ) -> Result<AttemptOutcome> {
        let dependencies = &self.0.dependencies;
        let (began, started) = (dependencies.clock.now(), dependencies.clock.elapsed());
        let span = traces::delivery(message.id, organization, delivery.trace.as_deref());
        let trace = traces::of(&span);
        let reply = self
            .0
            .sender
            .post(message, trace, began)
            .instrument(span.clone())
            .await?;
        let took = dependencies.clock.elapsed().saturating_sub(started);
        permit.release(Some(took));
        delivery.attempts.push(reply.attempt(Moment(began), took));
        let outcome = delivery.outcome(
            &reply,
            dependencies.settings.retry_base,
            dependencies.ids.fraction(),
        );
        record_in_span(&span, delivery, outcome);
        attempt_counter(outcome.into()).increment(1);
        Ok(outcome)
    }

    /// Converts the outcome of an attempt into the settlement that is recorded for the delivery and
    /// its subscription.
    fn settlement(&self, outcome: AttemptOutcome) -> Settlement {
        match outcome {
            AttemptOutcome::Delivered => Settlement::Delivered,
            AttemptOutcome::Gone => Settlement::Gone,
            AttemptOutcome::Private => {
                Settlement::Disabled(DisabledReason::PrivateTarget, Status::Failed)
            }
            AttemptOutcome::Retry(delay) => {
                Settlement::Retry(later(self.0.dependencies.clock.now(), delay))
            }
            AttemptOutcome::Failed => Settlement::Failed,
            AttemptOutcome::Pinged(status) => Settlement::Ended(status),
        }
    }
}

impl ClaimingWork for Dispatcher {
    const PANIC_MESSAGE: &str =
        "a task that sends a webhook panicked; the delivery is claimed again later";
    /// The end of a delivery does not start a search for due deliveries. The dispatcher searches
    /// when the limiter signals a free permit.
    const CLAIMS_AT_END: bool = false;

    /// Claims as many due deliveries as there are free permits, and begins to send them. Returns
    /// how long to wait until more deliveries may be due. If permits run out, the limiter's
    /// `until_free` returns when some are free again.
    async fn begin_due(&self, sends: &mut JoinSet<()>) -> Duration {
        loop {
            let now = self.0.dependencies.clock.now();
            let SearchResult {
                count,
                is_incomplete,
                was_claimed_elsewhere,
                next,
            } = match self.claim(now, sends).await {
                Ok(search) => search,
                Err(error) => {
                    log_search_failure(&error);
                    return ERROR_DELAY;
                }
            };
            if was_claimed_elsewhere && count == 0 {
                return OUTRUN_DELAY;
            }
            if !is_incomplete && !was_claimed_elsewhere {
                let wait = next.map(|next| self.0.dependencies.clock.now().duration_until(next));
                return wait
                    .map_or(MAX_WAIT, |wait| {
                        Duration::try_from(wait).unwrap_or_default()
                    })
                    .min(MAX_WAIT);
            }
        }
    }

    async fn until_due(&self) {
        tokio::select! {
            () = self.0.dependencies.due.notified() => {}
            () = self.0.limiter.until_free() => {}
        }
    }
}

/// Records the outcome of an attempt in the attempt's trace span.
fn record_in_span(span: &Span, delivery: &Delivery, outcome: AttemptOutcome) {
    if span.is_disabled() {
        return;
    }
    span.record("vestibule.event", delivery.reported.event.as_str())
        .record(
            "vestibule.attempt",
            i64::try_from(delivery.attempts.len()).ok(),
        );
    if let Some(status) = delivery
        .attempts
        .last()
        .and_then(|attempt| attempt.status_code)
    {
        span.record("http.response.status_code", i64::from(status));
    }
    if !matches!(
        outcome,
        AttemptOutcome::Delivered | AttemptOutcome::Pinged(Status::Delivered)
    ) {
        span.record("otel.status_code", "error");
    }
}

/// The ids and the target's host of an attempted delivery, for the log. Only the host of the target
/// is logged, because path and query may be secret.
struct Attempted {
    organization: Uuid,
    subscription: Uuid,
    id: Uuid,
    host: String,
}

/// Logs a failed attempt, at the level warning if it was the delivery's last attempt, otherwise at
/// the level debug.
fn log_failure(attempted: &Attempted, delivery: &Delivery, outcome: AttemptOutcome) {
    let Attempted {
        organization,
        subscription,
        id,
        host,
    } = attempted;
    let last = delivery.attempts.last();
    let (status, error) = (
        last.and_then(|attempt| attempt.status_code),
        last.and_then(|attempt| attempt.error.as_deref()),
    );
    let (event, attempts) = (&delivery.reported.event, delivery.attempts.len());
    match outcome {
        AttemptOutcome::Failed | AttemptOutcome::Private => {
            tracing::warn!(
                %organization,
                %subscription,
                delivery = %id,
                event,
                host,
                attempts,
                status,
                error,
                "a webhook delivery failed and is not repeated"
            );
        }
        AttemptOutcome::Retry(_) | AttemptOutcome::Pinged(Status::Failed) => {
            tracing::debug!(
                %organization,
                %subscription,
                delivery = %id,
                event,
                host,
                attempts,
                status,
                error,
                "an attempt at a webhook delivery failed"
            );
        }
        AttemptOutcome::Delivered | AttemptOutcome::Gone | AttemptOutcome::Pinged(_) => {}
    }
}

/// Decides which deliveries of a batch to send, and prepares their messages. A delivery whose
/// message cannot be prepared is claimed again later.
fn prepare(
    tx: &mut Transaction<'_>,
    dependencies: &Dependencies,
    owner: &dyn SubscriptionOwner,
    batch: Batch,
    now: Timestamp,
) -> Vec<Job> {
    let Batch {
        subscription_state: subscribed,
        deliveries,
    } = batch;
    let prepared = isolate_failures(&deliveries, |deliveries| {
        prepare::prepare(tx, dependencies, owner, &subscribed, deliveries, now)
    });
    let job = |(claimed, prepared): (ClaimedDelivery, Result<SendDecision>)| {
        let ClaimedDelivery {
            claim,
            delivery,
            permit,
        } = claimed;
        Job {
            organization: subscribed.organization,
            subscription: subscribed.subscription,
            claim,
            permit,
            ready: delivery.and_then(|delivery| Ok((delivery, prepared?))),
        }
    };
    deliveries.into_iter().zip(prepared).map(job).collect()
}

/// Prepares deliveries together. If `prepare` fails or panics, prepares each delivery alone, so
/// that only the deliveries that cause the failure fail. Returns one result for each delivery, in
/// order.
fn isolate_failures<D, P>(
    deliveries: &[D],
    mut prepare: impl FnMut(&[D]) -> Result<Vec<Result<P>>>,
) -> Vec<Result<P>> {
    let mut prepare = |deliveries: &[D]| {
        catch_unwind(AssertUnwindSafe(|| prepare(deliveries)))
            .unwrap_or_else(|_| Err(Error::internal("preparing webhook deliveries panicked")))
    };
    prepare(deliveries).unwrap_or_else(|_| {
        deliveries
            .chunks(1)
            .flat_map(|delivery| prepare(delivery).unwrap_or_else(|error| vec![Err(error)]))
            .collect()
    })
}

/// Returns the counter of attempts with this outcome. [`Dispatcher::run`] creates every counter
/// with the value 0. Otherwise monitoring would not see the first attempt as an increase.
fn attempt_counter(outcome: &'static str) -> Counter {
    metrics::counter!("vestibule_webhook_attempts_total", "outcome" => outcome)
}

fn log_search_failure(error: &Error) {
    tracing::warn!(
        cause = error.cause(),
        "could not read due webhook deliveries; retrying shortly"
    );
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivery_whose_preparation_fails_or_panics_does_not_stop_the_others() {
        let prepare = |deliveries: &[u32]| -> Result<Vec<Result<u32>>> {
            assert!(!deliveries.contains(&2), "2 panics");
            if deliveries.contains(&3) {
                return Err(Error::internal("3 fails"));
            }
            Ok(deliveries.iter().copied().map(Ok).collect())
        };
        let prepared = isolate_failures(&[1, 2, 3, 4], prepare);
        let prepared: Vec<Option<u32>> = prepared.into_iter().map(Result::ok).collect();
        assert_eq!(prepared, [Some(1), None, None, Some(4)]);
    }
}
