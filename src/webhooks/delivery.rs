//! A delivery as it is stored, and the rules of its attempts: pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::events::Event;
use crate::moment::Moment;
use crate::platform::Kind;

/// Attempts at one delivery, the first included (spec: Delivery).
const MAX_ATTEMPTS: usize = 5;
/// Failed deliveries in a row that disable a subscription (spec: States).
pub(super) const MAX_FAILURES: i64 = 50;
/// Two attempts are never at the same moment.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// A delivery as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Delivery {
    /// What happened.
    pub event: Event,
    /// To a record of which kind.
    pub kind: Kind,
    /// To which record.
    pub record_id: Uuid,
    /// When.
    pub occurred_at: Moment,
    /// What was tried so far, oldest first.
    pub attempts: Vec<Attempt>,
}

/// One attempt at a delivery.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attempt {
    /// When it began.
    pub attempted_at: Moment,
    /// What the receiver answered, if it did.
    pub status_code: Option<u16>,
    /// Why there was no answer, or why the one there was does not count.
    pub error: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// It will be tried, for the first time or again.
    Pending,
    /// The receiver took it.
    Delivered,
    /// The receiver did not take it, and will not be asked again.
    Failed,
    /// There was nothing to send, or nobody to send it to.
    Discarded,
}

impl Status {
    /// As it is stored.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Discarded => "discarded",
        }
    }
}

/// What came back from a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// An HTTP status.
    Status(u16),
    /// Nothing: the target leads into a private network, so nothing was sent.
    Private,
    /// Nothing, for this reason.
    Nothing(String),
}

impl Answer {
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

/// What an attempt came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The receiver took it.
    Delivered,
    /// The receiver wants to hear no more: the subscription goes.
    Gone,
    /// The target is private: the subscription is disabled.
    Private,
    /// It is tried again after this pause.
    Retry(Duration),
    /// That was the last attempt.
    Failed,
}

impl Outcome {
    /// What the attempt whose number is `attempt`, counted from 1, came to. `fraction` is the jitter, from 0 to 1.
    pub(super) fn of(answer: &Answer, attempt: usize, base: Duration, fraction: f64) -> Self {
        match answer {
            Answer::Status(200..=299) => Self::Delivered,
            Answer::Status(410) => Self::Gone,
            Answer::Private => Self::Private,
            Answer::Status(_) | Answer::Nothing(_) if attempt < MAX_ATTEMPTS => Self::Retry(backoff(base, attempt, fraction)),
            Answer::Status(_) | Answer::Nothing(_) => Self::Failed,
        }
    }

    /// As it is counted.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Gone => "gone",
            Self::Private => "private_target",
            Self::Retry(_) => "retry",
            Self::Failed => "failed",
        }
    }
}

/// The pause after a failed attempt: anything up to `base`, doubled for each attempt before it. Full jitter, so that what
/// failed together does not come back together.
pub(super) fn backoff(base: Duration, attempt: usize, fraction: f64) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let longest = base.saturating_mul(2_u32.saturating_pow(doublings));
    Duration::try_from_secs_f64(longest.as_secs_f64() * fraction).unwrap_or(longest).clamp(LEAST_PAUSE, longest.max(LEAST_PAUSE))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: Duration = Duration::from_secs(30);

    #[test]
    fn only_a_2xx_counts_as_delivered() {
        for status in [200, 201, 204, 299] {
            assert_eq!(Outcome::of(&Answer::Status(status), 1, BASE, 1.0), Outcome::Delivered);
        }
        for status in [100, 199, 300, 301, 304, 399, 400, 404, 409, 429, 500, 503, 600] {
            assert_eq!(Outcome::of(&Answer::Status(status), 1, BASE, 1.0), Outcome::Retry(BASE), "{status}");
            assert_eq!(Outcome::of(&Answer::Status(status), 5, BASE, 1.0), Outcome::Failed, "{status}");
        }
    }

    #[test]
    fn five_attempts_are_made_and_no_more() {
        let answer = Answer::Nothing("timed out".into());
        let pauses: Vec<_> = (1..=4).map(|attempt| Outcome::of(&answer, attempt, BASE, 1.0)).collect();
        assert_eq!(pauses, [30, 60, 120, 240].map(|seconds| Outcome::Retry(Duration::from_secs(seconds))));
        assert_eq!(Outcome::of(&answer, 5, BASE, 1.0), Outcome::Failed);
    }

    #[test]
    fn some_answers_are_final_at_once() {
        assert_eq!(Outcome::of(&Answer::Status(410), 1, BASE, 1.0), Outcome::Gone);
        assert_eq!(Outcome::of(&Answer::Private, 1, BASE, 1.0), Outcome::Private);
        assert_eq!(Outcome::of(&Answer::Status(410), 5, BASE, 1.0), Outcome::Gone);
        assert_eq!(Outcome::of(&Answer::Status(204), 5, BASE, 1.0), Outcome::Delivered);
    }

    #[test]
    fn an_attempt_says_what_happened() {
        let at = Moment("2026-11-21T09:30:00Z".parse().unwrap());
        let attempt = |answer: Answer| answer.attempt(at, Duration::from_millis(12));
        let ok = attempt(Answer::Status(204));
        assert_eq!((ok.status_code, ok.error, ok.duration_ms), (Some(204), None, 12));
        let moved = attempt(Answer::Status(302));
        assert_eq!((moved.status_code, moved.error.as_deref()), (Some(302), Some("redirects are not followed")));
        let lost = attempt(Answer::Nothing("timed out".into()));
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
