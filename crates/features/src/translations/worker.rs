//! Background work that claims translation jobs (`queue.rs`), calls the provider (`provider.rs`)
//! and writes the results.

use std::sync::Arc;
use std::time::Duration;

use engine::background::{BackgroundTask, ClaimingWork, finish, keep_claiming};
use engine::error::{Error, Result};
use engine::pipeline::Service;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use metrics::Counter;
use strum::VariantNames as _;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::provider::{DEADLINE, TranslationClient};
use super::queue::{self, JobOutcome, TranslationClaim};
use super::{TO_TRANSLATE, retry};

/// Maximum number of translations in progress.
const MAX_CONCURRENT: usize = 8;
/// How long a lease lasts after the provider's deadline, so that the node can write the result of
/// the translation before the lease ends.
const LEASE_MARGIN: Duration = Duration::from_secs(5);
/// Maximum pause between two searches for due jobs. If another node stops, this node claims the
/// other node's jobs within this time after their leases end.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// Pause after a failed query.
const ERROR_PAUSE: Duration = Duration::from_secs(1);

/// Translates texts in the background. Every node with a translator runs one worker. A claim on
/// each job ensures that two nodes do not translate the same text.
#[derive(Clone)]
pub struct Translator(Arc<Inner>);

struct Inner {
    service: Arc<Service>,
    /// Wakes the worker when jobs are queued.
    texts: Arc<Notify>,
    provider: TranslationClient,
}

impl Translator {
    /// Creates a translator that uses the LibreTranslate-compatible service at `url`, a base
    /// address that does not end with a slash. `key` is the API key, if the service needs one. The
    /// process must have installed a default crypto provider for TLS.
    pub fn new(service: Arc<Service>, url: &str, key: Option<String>) -> Result<Self, String> {
        let provider = TranslationClient::new(url, key)?;
        let texts = service.app_state.wake_signal(TO_TRANSLATE);
        Ok(Self(Arc::new(Inner {
            service,
            texts,
            provider,
        })))
    }

    /// Translates due jobs until `stop` is cancelled, and then finishes the jobs in progress.
    #[must_use]
    pub fn run(self, stop: CancellationToken) -> BackgroundTask {
        async move {
            metrics::describe_counter!(
                "vestibule_translations_total",
                "Jobs of machine translation, by result."
            );
            for outcome in JobOutcome::VARIANTS {
                outcome_counter(outcome).increment(0);
            }
            self.take_over().await;
            keep_claiming(&self, &stop).await;
        }
        .boxed()
    }

    /// If this is the only process on the database, ends the leases of all jobs. An earlier process
    /// on the same database claimed them and has stopped.
    async fn take_over(&self) {
        if !self.0.service.store.is_only_process() {
            return;
        }
        if let Err(error) = self.0.service.store.write(queue::release_all).await {
            warn(&error);
        }
    }

    /// Processes all jobs that are due now, and waits until the last of them ends. Returns the
    /// number of processed jobs.
    pub async fn step(&self) -> usize {
        let due = self.0.service.clock.now();
        let mut count = 0;
        loop {
            let mut jobs = JoinSet::new();
            while jobs.len() < MAX_CONCURRENT {
                match self.claim(due).await {
                    Ok(Some(claim)) => {
                        jobs.spawn(self.clone().translate(claim));
                    }
                    Ok(None) => break,
                    Err(error) => {
                        warn(&error);
                        break;
                    }
                }
            }
            if jobs.is_empty() {
                return count;
            }
            count += jobs.len();
            finish::<Self>(jobs).await;
        }
    }

    /// Returns the time until the next job becomes due, up to the maximum pause.
    async fn sleep_after(&self, now: Timestamp) -> Duration {
        match self
            .0
            .service
            .store
            .read(move |tx| queue::next_due(tx, now))
            .await
        {
            Ok(Some(next)) => {
                let wait = self.0.service.clock.now().duration_until(next);
                Duration::try_from(wait)
                    .unwrap_or(Duration::ZERO)
                    .min(MAX_SLEEP)
            }
            Ok(None) => MAX_SLEEP,
            Err(error) => {
                warn(&error);
                ERROR_PAUSE
            }
        }
    }

    async fn claim(&self, due: Timestamp) -> Result<Option<TranslationClaim>> {
        let service = &self.0.service;
        let until = later(service.clock.now(), DEADLINE.saturating_add(LEASE_MARGIN));
        service
            .store
            .write(move |tx| queue::claim(tx, due, until))
            .await
    }

    /// Processes one job. If the result of the job cannot be written, the claim expires and a
    /// worker claims the job again.
    async fn translate(self, claim: TranslationClaim) {
        let job = claim.job.clone();
        match self.try_translate(claim).await {
            Ok(outcome) => {
                outcome_counter(outcome.into()).increment(1);
                if outcome == JobOutcome::TooLong {
                    let (organization, translation, language) =
                        (job.organization, job.translation, job.language);
                    tracing::warn!(
                        %organization,
                        %translation,
                        %language,
                        "a translation is too long for its field; the English text is shown \
                            instead"
                    );
                }
            }
            Err(error) => {
                let cause = error.cause().unwrap_or_default();
                let (organization, translation, language) =
                    (job.organization, job.translation, job.language);
                tracing::warn!(
                    %organization,
                    %translation,
                    %language,
                    cause,
                    "could not store a translation; the text is translated again later"
                );
            }
        }
    }

    async fn try_translate(&self, claim: TranslationClaim) -> Result<JobOutcome> {
        let service = &self.0.service;
        let result = self
            .0
            .provider
            .translate(&claim.text, &claim.job.language)
            .await;
        match result {
            Ok(text) => {
                let (shared, now) = (service.clone(), service.clock.now());
                service
                    .store
                    .write(move |tx| queue::write_translation(tx, &shared, &claim, &text, now))
                    .await
            }
            Err(failure) => {
                let (organization, translation, language) = (
                    claim.job.organization,
                    claim.job.translation,
                    &claim.job.language,
                );
                let (status, cause) = (failure.status, failure.cause.as_str());
                tracing::warn!(
                    %organization,
                    %translation,
                    %language,
                    status,
                    cause,
                    "a text was not translated; trying again later"
                );
                let pause = retry::pause(
                    claim.failures.saturating_add(1),
                    service.app_state.ids.fraction(),
                );
                let next = later(service.clock.now(), pause);
                service
                    .store
                    .write(move |tx| queue::postpone_job(tx, &claim, next))
                    .await?;
                Ok(JobOutcome::Retry)
            }
        }
    }
}

impl ClaimingWork for Translator {
    const PANIC_MESSAGE: &str =
        "a task that translates a text panicked; the text is claimed again later";
    const CLAIMS_AT_END: bool = true;

    /// Starts due translations up to the limit. Returns the pause before the next search.
    async fn begin_due(&self, jobs: &mut JoinSet<()>) -> Duration {
        while jobs.len() < MAX_CONCURRENT {
            let now = self.0.service.clock.now();
            match self.claim(now).await {
                Ok(Some(claim)) => {
                    jobs.spawn(self.clone().translate(claim));
                }
                Ok(None) => return self.sleep_after(now).await,
                Err(error) => {
                    warn(&error);
                    return ERROR_PAUSE;
                }
            }
        }
        // The maximum number of translations is in progress. The next due job starts when one of
        // them ends.
        MAX_SLEEP
    }

    async fn until_due(&self) {
        self.0.texts.notified().await;
    }
}

/// Returns the counter of jobs with this outcome. The worker creates the counters of all outcomes
/// when it starts, so that the first job with an outcome is visible as an increase.
fn outcome_counter(outcome: &'static str) -> Counter {
    metrics::counter!("vestibule_translations_total", "outcome" => outcome)
}

fn warn(error: &Error) {
    tracing::warn!(
        cause = error.cause().unwrap_or_default(),
        "could not read the texts to translate; retrying shortly"
    );
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}
