//! A delivery as it is stored, and the rules of its attempts: pure.

use std::time::Duration;

use engine::moment::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{AsRefStr, EnumString, IntoStaticStr, VariantArray, VariantNames};
use uuid::Uuid;

/// Attempts at one delivery, the first included (spec: Delivery).
const MAX_ATTEMPTS: usize = 5;
/// Attempts that stay in the log of a delivery that is sent again. With those that follow it has 50 at the most, however
/// often that happens.
const KEPT_ATTEMPTS: usize = 45;
/// Failed deliveries in a row that disable a subscription (spec: States).
pub(super) const MAX_FAILURES: i64 = 50;
/// Two attempts are never at the same moment.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// How a ping is named, which has no subject: the owner of a subscription wants to see something arrive. It is no event, and
/// cannot be subscribed to.
pub const PING: &str = "ping";

/// What a delivery tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The event, as it is written.
    pub event: String,
    /// What happened to.
    #[serde(flatten)]
    pub subject: Option<Subject>,
}

/// What something happened to, as the owner of the subscription names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Something of which kind.
    pub kind: String,
    /// Which of these.
    pub record_id: Uuid,
}

impl Told {
    /// A ping.
    #[must_use]
    pub fn ping() -> Self {
        Self { event: PING.into(), subject: None }
    }

    /// Whether it is one.
    #[must_use]
    pub fn is_ping(&self) -> bool {
        self.event == PING
    }
}

/// A delivery as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// What it tells.
    #[serde(flatten)]
    pub told: Told,
    /// When that happened.
    pub occurred_at: Moment,
    /// What was tried so far, oldest first.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    /// How many of them were made before it was sent again: they are told, and count no more.
    #[serde(default)]
    earlier: usize,
    /// The trace of what caused it, as W3C Trace Context writes it, where traces are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

impl Delivery {
    /// One that was not tried yet.
    #[must_use]
    pub const fn new(told: Told, occurred_at: Moment) -> Self {
        Self { told, occurred_at, attempts: Vec::new(), earlier: 0, trace: None }
    }

    /// As part of a trace.
    #[must_use]
    pub fn traced(self, trace: Option<String>) -> Self {
        Self { trace, ..self }
    }

    /// Allows as many attempts as a new delivery has, on top of those made.
    pub fn begin_anew(&mut self) {
        let surplus = self.attempts.len().saturating_sub(KEPT_ATTEMPTS);
        self.attempts.drain(..surplus);
        self.earlier = self.attempts.len();
    }

    /// What the attempt that was noted last came to. `fraction` is the jitter, from 0 to 1.
    pub(super) fn outcome(&self, answer: &Reply, base: Duration, fraction: f64) -> AttemptOutcome {
        if self.told.is_ping() {
            return AttemptOutcome::of_ping(answer);
        }
        AttemptOutcome::of(answer, self.attempts.len().saturating_sub(self.earlier), base, fraction)
    }
}

/// One attempt at a delivery.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WebhookAttempt")]
pub struct Attempt {
    /// When it began.
    pub attempted_at: Moment,
    /// What the receiver answered, if it did.
    pub status_code: Option<u16>,
    /// Why there was no answer, or why the one there was does not count.
    pub error: Option<String>,
    /// How long it took.
    #[serde(default)]
    #[schemars(!default)]
    pub duration_ms: u64,
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, AsRefStr, EnumString, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(inline)]
pub enum Status {
    /// It will be tried, for the first time or again.
    Pending,
    /// The receiver took it.
    Delivered,
    /// The receiver did not take it, and will not be asked again.
    Failed,
    /// There was nothing to send, or nobody to send it to.
    Discarded,
}

/// What came back from a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    /// An HTTP status.
    Status(u16),
    /// Nothing: the target leads into a private network, so nothing was sent.
    Private,
    /// Nothing, for this reason.
    Nothing(String),
}

impl Reply {
    /// As the log of attempts has it.
    pub(super) fn attempt(&self, attempted_at: Moment, duration: Duration) -> Attempt {
        let (status_code, error) = match self {
            Self::Status(status @ 300..=399) => (Some(*status), Some("redirects are not followed".to_owned())),
            Self::Status(status) => (Some(*status), None),
            Self::Private => (None, Some("the target leads to a private address".to_owned())),
            Self::Nothing(reason) => (None, Some(reason.clone())),
        };
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Attempt { attempted_at, status_code, error, duration_ms }
    }
}

/// What an attempt came to, and as what it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(super) enum AttemptOutcome {
    /// The receiver took it.
    Delivered,
    /// The receiver wants to hear no more: the subscription goes.
    Gone,
    /// The target is private: the subscription is disabled.
    #[strum(serialize = "private_target")]
    Private,
    /// It is tried again after this pause.
    Retry(Duration),
    /// That was the last attempt.
    Failed,
    /// It was a ping, and it is over, whatever the answer: it says nothing of the subscription.
    #[strum(serialize = "ping")]
    Pinged(Status),
}

impl AttemptOutcome {
    /// What a ping came to. It is tried once and counts as nothing, not even where the receiver wants to hear no more.
    fn of_ping(answer: &Reply) -> Self {
        Self::Pinged(if matches!(answer, Reply::Status(200..=299)) { Status::Delivered } else { Status::Failed })
    }

    /// What the attempt whose number is `attempt`, counted from 1, came to. `fraction` is the jitter, from 0 to 1.
    fn of(answer: &Reply, attempt: usize, base: Duration, fraction: f64) -> Self {
        match answer {
            Reply::Status(200..=299) => Self::Delivered,
            Reply::Status(410) => Self::Gone,
            Reply::Private => Self::Private,
            Reply::Status(_) | Reply::Nothing(_) if attempt < MAX_ATTEMPTS => Self::Retry(backoff(base, attempt, fraction)),
            Reply::Status(_) | Reply::Nothing(_) => Self::Failed,
        }
    }
}

/// The pause after a failed attempt: anything up to `base`, doubled for each attempt before it. Full jitter, so that what
/// failed together does not come back together.
fn backoff(base: Duration, attempt: usize, fraction: f64) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let longest = base.saturating_mul(2_u32.saturating_pow(doublings));
    Duration::try_from_secs_f64(longest.as_secs_f64() * fraction).unwrap_or(longest).clamp(LEAST_PAUSE, longest.max(LEAST_PAUSE))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const BASE: Duration = Duration::from_secs(30);

    fn moment() -> Moment {
        Moment("2026-11-21T09:30:00Z".parse().unwrap())
    }

    /// A delivery after so many attempts.
    fn tried(told: Told, attempts: usize) -> Delivery {
        let mut delivery = Delivery::new(told, moment());
        for _ in 0..attempts {
            delivery.attempts.push(Reply::Status(500).attempt(moment(), Duration::ZERO));
        }
        delivery
    }

    fn event() -> Told {
        Told { event: "task.created".into(), subject: Some(Subject { kind: "task".into(), record_id: Uuid::from_u128(1) }) }
    }

    #[test]
    fn only_a_2xx_counts_as_delivered() {
        for status in [200, 201, 204, 299] {
            assert_eq!(AttemptOutcome::of(&Reply::Status(status), 1, BASE, 1.0), AttemptOutcome::Delivered);
        }
        for status in [100, 199, 300, 301, 304, 399, 400, 404, 409, 429, 500, 503, 600] {
            assert_eq!(AttemptOutcome::of(&Reply::Status(status), 1, BASE, 1.0), AttemptOutcome::Retry(BASE), "{status}");
            assert_eq!(AttemptOutcome::of(&Reply::Status(status), 5, BASE, 1.0), AttemptOutcome::Failed, "{status}");
        }
    }

    #[test]
    fn five_attempts_are_made_and_no_more() {
        let answer = Reply::Nothing("timed out".into());
        let pauses: Vec<_> = (1..=4).map(|attempt| AttemptOutcome::of(&answer, attempt, BASE, 1.0)).collect();
        assert_eq!(pauses, [30, 60, 120, 240].map(|seconds| AttemptOutcome::Retry(Duration::from_secs(seconds))));
        assert_eq!(AttemptOutcome::of(&answer, 5, BASE, 1.0), AttemptOutcome::Failed);
    }

    #[test]
    fn some_answers_are_final_at_once() {
        assert_eq!(AttemptOutcome::of(&Reply::Status(410), 1, BASE, 1.0), AttemptOutcome::Gone);
        assert_eq!(AttemptOutcome::of(&Reply::Private, 1, BASE, 1.0), AttemptOutcome::Private);
        assert_eq!(AttemptOutcome::of(&Reply::Status(410), 5, BASE, 1.0), AttemptOutcome::Gone);
        assert_eq!(AttemptOutcome::of(&Reply::Status(204), 5, BASE, 1.0), AttemptOutcome::Delivered);
    }

    #[test]
    fn a_delivery_that_is_sent_again_has_five_attempts_more_and_keeps_its_log() {
        let refused = Reply::Status(500);
        let mut delivery = tried(event(), 5);
        assert_eq!(delivery.outcome(&refused, BASE, 1.0), AttemptOutcome::Failed);
        delivery.begin_anew();
        for made in 6..=10 {
            delivery.attempts.push(refused.attempt(moment(), Duration::ZERO));
            assert_eq!(delivery.attempts.len(), made);
            assert_eq!(delivery.outcome(&refused, BASE, 1.0) == AttemptOutcome::Failed, made == 10, "{made}");
        }
    }

    #[test]
    fn a_log_has_an_end() {
        let mut delivery = tried(event(), 3);
        for _ in 0..100 {
            delivery.begin_anew();
            delivery.attempts.extend(tried(event(), MAX_ATTEMPTS).attempts);
            assert_eq!(delivery.outcome(&Reply::Status(500), BASE, 1.0), AttemptOutcome::Failed);
        }
        assert_eq!(delivery.attempts.len(), KEPT_ATTEMPTS + MAX_ATTEMPTS);
    }

    #[test]
    fn a_ping_is_over_after_one_attempt() {
        let ping = tried(Told::ping(), 1);
        assert_eq!(ping.outcome(&Reply::Status(204), BASE, 1.0), AttemptOutcome::Pinged(Status::Delivered));
        for answer in [Reply::Status(500), Reply::Status(410), Reply::Private, Reply::Nothing("timed out".into())] {
            assert_eq!(ping.outcome(&answer, BASE, 1.0), AttemptOutcome::Pinged(Status::Failed), "{answer:?}");
        }
    }

    #[test]
    fn a_delivery_is_stored_with_what_it_tells_beside_the_rest() {
        let stored = json!({
            "event": "task.created", "kind": "task", "recordId": Uuid::from_u128(1), "occurredAt": "2026-11-21T09:30:00.000Z",
            "attempts": [], "earlier": 0,
        });
        assert_eq!(serde_json::to_value(Delivery::new(event(), moment())).unwrap(), stored);
        let read = |stored: &Value| serde_json::from_value::<Delivery>(stored.clone()).unwrap();
        assert_eq!(read(&stored).told, event());
        // As it was stored before deliveries could be sent again.
        let mut old = stored;
        old.as_object_mut().unwrap().remove("earlier");
        assert_eq!((read(&old).told.event.as_str(), read(&old).earlier), ("task.created", 0));
        let ping = json!({ "event": "ping", "occurredAt": "2026-11-21T09:30:00.000Z", "attempts": [], "earlier": 0 });
        assert_eq!(serde_json::to_value(Delivery::new(Told::ping(), moment())).unwrap(), ping);
        assert_eq!(read(&ping).told, Told::ping());
    }

    #[test]
    fn a_status_and_its_name_find_each_other() {
        for status in Status::VARIANTS {
            assert_eq!(status.as_ref().parse(), Ok(*status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_ref());
        }
    }

    #[test]
    fn an_attempt_says_what_happened() {
        let attempt = |answer: Reply| answer.attempt(moment(), Duration::from_millis(12));
        let ok = attempt(Reply::Status(204));
        assert_eq!((ok.status_code, ok.error, ok.duration_ms), (Some(204), None, 12));
        let moved = attempt(Reply::Status(302));
        assert_eq!((moved.status_code, moved.error.as_deref()), (Some(302), Some("redirects are not followed")));
        let lost = attempt(Reply::Nothing("timed out".into()));
        assert_eq!((lost.status_code, lost.error.as_deref()), (None, Some("timed out")));
    }

    proptest! {
        #[test]
        fn a_pause_is_positive_and_within_its_bound(base in 1_u64..10_000_000, attempt in 1_usize..100, fraction in 0.0_f64..=1.0) {
            let base = Duration::from_millis(base);
            let pause = backoff(base, attempt, fraction);
            prop_assert!(pause > Duration::ZERO);
            let doublings = u32::try_from(attempt - 1).unwrap();
            prop_assert!(pause <= base.saturating_mul(2_u32.saturating_pow(doublings)));
        }
    }
}
