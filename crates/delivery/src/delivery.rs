//! The stored form of a delivery, and the rules for its attempts. All functions are pure.

use std::time::Duration;

use engine::moment::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{AsRefStr, EnumString, IntoStaticStr, VariantArray, VariantNames};
use uuid::Uuid;

/// Maximum number of attempts at one delivery, including the first attempt (rules:
/// webhooks#deliveries).
const MAX_ATTEMPTS: usize = 5;
/// Maximum number of earlier attempts that stay in a delivery's log when the delivery is sent
/// again. With up to 5 new attempts the log has at most 50, however often the delivery is sent
/// again.
const KEPT_ATTEMPTS: usize = 45;
/// The number of failed deliveries in a row that disables a subscription (rules: webhooks#ends).
pub(super) const MAX_FAILURES: i64 = 50;
/// The shortest delay between two attempts of a delivery. It keeps two attempts of a delivery from
/// having the same time.
const MIN_DELAY: Duration = Duration::from_millis(1);

/// The event name of a ping. An API client sends a ping to test its subscription. A ping reports no
/// change, has no subject and cannot be subscribed to.
pub const PING: &str = "ping";

/// The name of an event and the record that it is about, as the stored document and the sent
/// message of a delivery contain them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedEvent {
    /// The name of the event.
    pub event: String,
    /// The record that the event is about. `None` for a ping.
    #[serde(flatten)]
    pub subject: Option<Subject>,
}

/// The record that an event is about: its kind and its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// The record kind, such as `task`.
    pub kind: String,
    pub record_id: Uuid,
}

impl ReportedEvent {
    /// Creates the event of a ping, which is about no record.
    #[must_use]
    pub fn ping() -> Self {
        Self {
            event: PING.into(),
            subject: None,
        }
    }

    #[must_use]
    pub fn is_ping(&self) -> bool {
        self.event == PING
    }
}

/// The stored document of a delivery.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// The event that the delivery reports.
    #[serde(flatten)]
    pub reported: ReportedEvent,
    /// The time of the event.
    pub occurred_at: Moment,
    /// The attempts so far, oldest first.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    /// How many of the attempts were made before the delivery was last sent again. These attempts
    /// stay in the log but do not count toward the limit of attempts.
    #[serde(default)]
    earlier: usize,
    /// The trace of the change that caused the delivery, in the form of W3C Trace Context. `None`
    /// if tracing is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

impl Delivery {
    /// Creates a delivery without attempts.
    #[must_use]
    pub const fn new(reported: ReportedEvent, occurred_at: Moment) -> Self {
        Self {
            reported,
            occurred_at,
            attempts: Vec::new(),
            earlier: 0,
            trace: None,
        }
    }

    /// Sets the trace context of the change that caused the delivery.
    #[must_use]
    pub fn with_trace(self, trace: Option<String>) -> Self {
        Self { trace, ..self }
    }

    /// Prepares the delivery to be sent again. It may then have as many new attempts as a new
    /// delivery.
    pub fn restart(&mut self) {
        let surplus = self.attempts.len().saturating_sub(KEPT_ATTEMPTS);
        self.attempts.drain(..surplus);
        self.earlier = self.attempts.len();
    }

    /// Returns the outcome of the last attempt, which got `reply`. If a retry follows, its delay
    /// depends on `base` and `fraction`, as in [`backoff`].
    pub(super) fn outcome(&self, reply: &Reply, base: Duration, fraction: f64) -> AttemptOutcome {
        if self.reported.is_ping() {
            return AttemptOutcome::of_ping(reply);
        }
        AttemptOutcome::of(
            reply,
            self.attempts.len().saturating_sub(self.earlier),
            base,
            fraction,
        )
    }
}

/// One attempt at a delivery.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WebhookAttempt")]
pub struct Attempt {
    /// When the attempt began.
    pub attempted_at: Moment,
    /// The HTTP status of the receiver's answer. Null if no answer came.
    pub status_code: Option<u16>,
    /// The reason why no answer came, or a note that a redirect was not followed. Null otherwise.
    pub error: Option<String>,
    /// How long the attempt took, in milliseconds.
    #[serde(default)]
    #[schemars(!default)]
    pub duration_ms: u64,
}

/// State of a delivery.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, AsRefStr, EnumString, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(inline)]
pub enum Status {
    /// The service will make another attempt, or has not made the first attempt yet.
    Pending,
    /// The receiver accepted the delivery.
    Delivered,
    /// The receiver did not accept the delivery, and no further attempt follows.
    Failed,
    /// No further attempt follows, because the record was deleted, the credential cannot see the
    /// record, or the subscription is disabled.
    Discarded,
}

/// The reply of a receiver, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    /// The receiver replied with this HTTP status.
    Status(u16),
    /// The receiver replied with status 429 or 503, and requested a delay before the next attempt.
    Later(u16, Duration),
    /// No reply. The target leads into a private network, so nothing was sent.
    Private,
    /// No reply, for this reason.
    Nothing(String),
}

impl Reply {
    /// Returns the reply with this status. `delay` is the delay from `Retry-After`, which is used
    /// only if the status is 429 or 503.
    pub(super) const fn of(status: u16, delay: Option<Duration>) -> Self {
        match (status, delay) {
            (429 | 503, Some(delay)) => Self::Later(status, delay),
            _ => Self::Status(status),
        }
    }

    /// Returns the entry for this reply in the delivery's log of attempts.
    pub(super) fn attempt(&self, attempted_at: Moment, duration: Duration) -> Attempt {
        let (status_code, error) = match self {
            Self::Status(status @ 300..=399) => {
                (Some(*status), Some("redirects are not followed".to_owned()))
            }
            Self::Status(status) | Self::Later(status, _) => (Some(*status), None),
            Self::Private => (
                None,
                Some("the target resolves to a private address".to_owned()),
            ),
            Self::Nothing(reason) => (None, Some(reason.clone())),
        };
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Attempt {
            attempted_at,
            status_code,
            error,
            duration_ms,
        }
    }
}

/// The outcome of an attempt. The name of a variant is a value of the label `outcome` in the metric
/// `vestibule_webhook_attempts_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(super) enum AttemptOutcome {
    /// The receiver accepted the delivery.
    Delivered,
    /// The receiver wants no more deliveries (status 410): the subscription is deleted.
    Gone,
    /// The host of the target has a private IP address, so the subscription is disabled.
    #[strum(serialize = "private_target")]
    Private,
    /// The delivery will be attempted again after this delay.
    Retry(Duration),
    /// The last permitted attempt failed, so the delivery has failed.
    Failed,
    /// The delivery was a ping, which ends with this status after one attempt. The subscription
    /// does not change.
    #[strum(serialize = "ping")]
    Pinged(Status),
}

impl AttemptOutcome {
    /// Returns the outcome of a ping. A ping is sent once. It does not change the subscription, not
    /// even if the receiver answers 410.
    fn of_ping(reply: &Reply) -> Self {
        Self::Pinged(if matches!(reply, Reply::Status(200..=299)) {
            Status::Delivered
        } else {
            Status::Failed
        })
    }

    /// Returns the outcome of attempt number `attempt`, counted from 1. If a retry follows, its
    /// delay depends on `base` and `fraction`, as in [`backoff`].
    fn of(reply: &Reply, attempt: usize, base: Duration, fraction: f64) -> Self {
        match reply {
            Reply::Status(200..=299) => Self::Delivered,
            Reply::Status(410) => Self::Gone,
            Reply::Private => Self::Private,
            _ if attempt >= MAX_ATTEMPTS => Self::Failed,
            Reply::Later(_, requested) => {
                let delay = backoff(base, attempt, fraction);
                Self::Retry(delay.max((*requested).min(MAX_REQUESTED_DELAY)))
            }
            Reply::Status(_) | Reply::Nothing(_) => Self::Retry(backoff(base, attempt, fraction)),
        }
    }
}

/// The longest delay that a receiver may request with `Retry-After`.
const MAX_REQUESTED_DELAY: Duration = Duration::from_secs(3_600);

/// Returns an upper bound of the delay between two attempts.
pub(super) fn max_delay(base: Duration) -> Duration {
    backoff(base, MAX_ATTEMPTS, 1.0).max(MAX_REQUESTED_DELAY)
}

/// Returns the delay after a failed attempt, between half of a bound and the bound. The bound is
/// `base` after the first attempt and doubles with each attempt. `fraction`, a random number from 0
/// to 1, decides where between the two the delay is, so that deliveries that failed at the same
/// time are not retried at the same time. Each delay is at least half of the bound, so that five
/// attempts outlast a short outage.
fn backoff(base: Duration, attempt: usize, fraction: f64) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let bound = base.saturating_mul(2_u32.saturating_pow(doublings));
    let half = bound / 2;
    Duration::try_from_secs_f64(half.as_secs_f64() * (1.0 + fraction))
        .unwrap_or(bound)
        .clamp(half.max(MIN_DELAY), bound.max(MIN_DELAY))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const BASE: Duration = Duration::from_secs(30);

    fn time() -> Moment {
        Moment("2026-11-21T09:30:00Z".parse().unwrap())
    }

    /// Returns a delivery with this number of failed attempts.
    fn delivery_after(reported: ReportedEvent, attempts: usize) -> Delivery {
        let mut delivery = Delivery::new(reported, time());
        for _ in 0..attempts {
            delivery
                .attempts
                .push(Reply::Status(500).attempt(time(), Duration::ZERO));
        }
        delivery
    }

    fn event() -> ReportedEvent {
        ReportedEvent {
            event: "task.created".into(),
            subject: Some(Subject {
                kind: "task".into(),
                record_id: Uuid::from_u128(1),
            }),
        }
    }

    #[test]
    fn only_a_2xx_counts_as_delivered() {
        for status in [200, 201, 204, 299] {
            assert_eq!(
                AttemptOutcome::of(&Reply::Status(status), 1, BASE, 1.0),
                AttemptOutcome::Delivered
            );
        }
        for status in [
            100, 199, 300, 301, 304, 399, 400, 404, 409, 429, 500, 503, 600,
        ] {
            assert_eq!(
                AttemptOutcome::of(&Reply::Status(status), 1, BASE, 1.0),
                AttemptOutcome::Retry(BASE),
                "{status}"
            );
            assert_eq!(
                AttemptOutcome::of(&Reply::Status(status), 5, BASE, 1.0),
                AttemptOutcome::Failed,
                "{status}"
            );
        }
    }

    #[test]
    fn a_delivery_fails_after_five_attempts() {
        let reply = Reply::Nothing("timed out".into());
        let delays: Vec<_> = (1..=4)
            .map(|attempt| AttemptOutcome::of(&reply, attempt, BASE, 1.0))
            .collect();
        assert_eq!(
            delays,
            [30, 60, 120, 240].map(|seconds| AttemptOutcome::Retry(Duration::from_secs(seconds)))
        );
        assert_eq!(
            AttemptOutcome::of(&reply, 5, BASE, 1.0),
            AttemptOutcome::Failed
        );
    }

    #[test]
    fn five_attempts_outlast_an_outage_of_three_minutes() {
        let reply = Reply::Status(503);
        let shortest: Duration = (1..=4)
            .map(
                |attempt| match AttemptOutcome::of(&reply, attempt, BASE, 0.0) {
                    AttemptOutcome::Retry(delay) => delay,
                    other => panic!("{other:?}"),
                },
            )
            .sum();
        assert_eq!(shortest, Duration::from_secs(225));
    }

    #[test]
    fn retry_after_puts_the_next_attempt_off_by_at_most_an_hour() {
        let later = |seconds| Reply::of(503, Some(Duration::from_secs(seconds)));
        for (requested, attempt, expected) in [
            (0, 1, 30),
            (20, 1, 30),
            (90, 1, 90),
            (90, 3, 120),
            (3_600, 1, 3_600),
            (u64::MAX, 4, 3_600),
        ] {
            assert_eq!(
                AttemptOutcome::of(&later(requested), attempt, BASE, 1.0),
                AttemptOutcome::Retry(Duration::from_secs(expected)),
                "{requested} s"
            );
        }
        assert_eq!(
            AttemptOutcome::of(&later(90), 5, BASE, 1.0),
            AttemptOutcome::Failed
        );
        let busy = Some(Duration::from_secs(9));
        assert_eq!(
            Reply::of(429, busy),
            Reply::Later(429, Duration::from_secs(9))
        );
        for status in [200, 400, 500, 502] {
            assert_eq!(Reply::of(status, busy), Reply::Status(status));
        }
        assert_eq!(Reply::of(429, None), Reply::Status(429));
    }

    #[test]
    fn a_410_a_private_address_and_a_2xx_end_a_delivery_at_once() {
        assert_eq!(
            AttemptOutcome::of(&Reply::Status(410), 1, BASE, 1.0),
            AttemptOutcome::Gone
        );
        assert_eq!(
            AttemptOutcome::of(&Reply::Private, 1, BASE, 1.0),
            AttemptOutcome::Private
        );
        assert_eq!(
            AttemptOutcome::of(&Reply::Status(410), 5, BASE, 1.0),
            AttemptOutcome::Gone
        );
        assert_eq!(
            AttemptOutcome::of(&Reply::Status(204), 5, BASE, 1.0),
            AttemptOutcome::Delivered
        );
    }

    #[test]
    fn a_resent_delivery_gets_five_more_attempts_and_keeps_its_log() {
        let refused = Reply::Status(500);
        let mut delivery = delivery_after(event(), 5);
        assert_eq!(
            delivery.outcome(&refused, BASE, 1.0),
            AttemptOutcome::Failed
        );
        delivery.restart();
        for attempt_number in 6..=10 {
            delivery
                .attempts
                .push(refused.attempt(time(), Duration::ZERO));
            assert_eq!(delivery.attempts.len(), attempt_number);
            assert_eq!(
                delivery.outcome(&refused, BASE, 1.0) == AttemptOutcome::Failed,
                attempt_number == 10,
                "{attempt_number}"
            );
        }
    }

    #[test]
    fn the_attempt_log_of_a_delivery_is_bounded() {
        let mut delivery = delivery_after(event(), 3);
        for _ in 0..100 {
            delivery.restart();
            delivery
                .attempts
                .extend(delivery_after(event(), MAX_ATTEMPTS).attempts);
            assert_eq!(
                delivery.outcome(&Reply::Status(500), BASE, 1.0),
                AttemptOutcome::Failed
            );
        }
        assert_eq!(delivery.attempts.len(), KEPT_ATTEMPTS + MAX_ATTEMPTS);
    }

    #[test]
    fn a_ping_ends_after_one_attempt() {
        let ping = delivery_after(ReportedEvent::ping(), 1);
        assert_eq!(
            ping.outcome(&Reply::Status(204), BASE, 1.0),
            AttemptOutcome::Pinged(Status::Delivered)
        );
        for reply in [
            Reply::Status(500),
            Reply::Status(410),
            Reply::Private,
            Reply::Nothing("timed out".into()),
        ] {
            assert_eq!(
                ping.outcome(&reply, BASE, 1.0),
                AttemptOutcome::Pinged(Status::Failed),
                "{reply:?}"
            );
        }
    }

    #[test]
    fn the_event_fields_of_a_delivery_are_stored_beside_its_attempts() {
        let stored = json!({
            "event": "task.created",
            "kind": "task",
            "recordId": Uuid::from_u128(1),
            "occurredAt": "2026-11-21T09:30:00.000Z",
            "attempts": [],
            "earlier": 0,
        });
        assert_eq!(
            serde_json::to_value(Delivery::new(event(), time())).unwrap(),
            stored
        );
        let read = |stored: &Value| serde_json::from_value::<Delivery>(stored.clone()).unwrap();
        assert_eq!(read(&stored).reported, event());
        // Deliveries that were stored without the field `earlier` must still be readable.
        let mut old = stored;
        old.as_object_mut().unwrap().remove("earlier");
        assert_eq!(
            (read(&old).reported.event.as_str(), read(&old).earlier),
            ("task.created", 0)
        );
        let ping = json!({
            "event": "ping",
            "occurredAt": "2026-11-21T09:30:00.000Z",
            "attempts": [],
            "earlier": 0,
        });
        assert_eq!(
            serde_json::to_value(Delivery::new(ReportedEvent::ping(), time())).unwrap(),
            ping
        );
        assert_eq!(read(&ping).reported, ReportedEvent::ping());
    }

    #[test]
    fn every_status_parses_from_its_name() {
        for status in Status::VARIANTS {
            assert_eq!(status.as_ref().parse(), Ok(*status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_ref());
        }
    }

    #[test]
    fn an_attempt_records_status_error_and_duration() {
        let attempt = |reply: Reply| reply.attempt(time(), Duration::from_millis(12));
        let ok = attempt(Reply::Status(204));
        assert_eq!(
            (ok.status_code, ok.error, ok.duration_ms),
            (Some(204), None, 12)
        );
        let moved = attempt(Reply::Status(302));
        assert_eq!(
            (moved.status_code, moved.error.as_deref()),
            (Some(302), Some("redirects are not followed"))
        );
        let no_reply = attempt(Reply::Nothing("timed out".into()));
        assert_eq!(
            (no_reply.status_code, no_reply.error.as_deref()),
            (None, Some("timed out"))
        );
    }

    proptest! {
        #[test]
        fn a_retry_pause_is_positive_and_bounded(
            base in 1_u64..10_000_000,
            attempt in 1_usize..100,
            fraction in 0.0_f64..=1.0,
        ) {
            let base = Duration::from_millis(base);
            let delay = backoff(base, attempt, fraction);
            prop_assert!(delay > Duration::ZERO);
            let doublings = u32::try_from(attempt - 1).unwrap();
            let bound = base.saturating_mul(2_u32.saturating_pow(doublings));
            prop_assert!(
                delay >= bound / 2 && delay <= bound,
                "{delay:?} of {bound:?}"
            );
        }
    }
}
