//! Decides which steps a guest may save: before the first submission, and again after it (rules:
//! submissions#open-steps).
//!
//! The decision is computed from the submission, the steps of the stay and the time. So nothing
//! needs to be updated when a stay or the configuration changes.

use engine::moment::Moment;
use jiff::Timestamp;
use uuid::Uuid;

use super::decision::StoredSubmission;
use super::hours::StayHours;
use super::stay::Stay;

/// A stage of a stay: before check-in, between check-in and check-out, or after check-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StayStage {
    /// The check-in time has not come.
    Ahead,
    /// The check-in time has passed, but the check-out time has not.
    Begun,
    /// The check-out time has passed.
    Over,
}

impl StayStage {
    /// Returns the stage of a stay at a timestamp. A stay without a flat has not begun.
    pub(super) fn of(stay: &Stay, at: Timestamp) -> Self {
        let Some(hours) = StayHours::of(stay) else {
            return Self::Ahead;
        };
        let begins = hours.check_in();
        // The platform may synchronize a stay whose check-out time is before its check-in time.
        // Such a stay is over when it begins.
        if at >= hours.check_out().max(begins) {
            Self::Over
        } else if at >= begins {
            Self::Begun
        } else {
            Self::Ahead
        }
    }
}

/// The data of a step by which the service decides whether the step is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenStepInput {
    pub id: Uuid,
    /// Whether the step's data allows the guest to submit.
    pub is_ready: bool,
    /// Time of the last save of the step, or of the last upload in it, whichever is later. `None`
    /// if neither exists.
    pub last_input_at: Option<Moment>,
}

/// Returns the ids of the steps that are open again after a submission, in the order of `steps`.
/// Before the first submission and from the check-in time on, no step is open again.
pub(super) fn open_steps(
    submitted: Option<&StoredSubmission>,
    steps: impl IntoIterator<Item = OpenStepInput>,
    stage: StayStage,
) -> Vec<Uuid> {
    let Some(submitted) = submitted.filter(|_| stage == StayStage::Ahead) else {
        return Vec::new();
    };
    steps
        .into_iter()
        .filter(|step| is_reopened(submitted, *step))
        .map(|step| step.id)
        .collect()
}

/// Returns whether the guest may save a step now. Before the first submission, every step is open.
/// After a submission, a step is open if it is not ready, if the guest has saved it since the
/// submission, or if staff have requested changes to it. Once the check-in time has passed, a
/// submitted pre-check-in has open steps only while staff wait for requested changes. After the
/// stay, no step is open.
pub(super) fn is_open(
    submitted: Option<&StoredSubmission>,
    step: OpenStepInput,
    stage: StayStage,
) -> bool {
    match (submitted, stage) {
        (_, StayStage::Over) => false,
        (None, _) => true,
        (Some(submitted), StayStage::Begun) if submitted.request().is_none() => false,
        (Some(submitted), _) => is_reopened(submitted, step),
    }
}

/// Returns whether a step is unchanged since the last submission: nothing was saved in it, and
/// staff have not requested changes to it. Returns false if there is no submission.
pub(super) fn is_submitted(
    submitted: Option<&StoredSubmission>,
    id: Uuid,
    given_at: Option<Moment>,
) -> bool {
    submitted.is_some_and(|submitted| {
        !submitted.requests(id) && given_at.is_none_or(|at| at <= submitted.at)
    })
}

fn is_reopened(submitted: &StoredSubmission, step: OpenStepInput) -> bool {
    !step.is_ready || !is_submitted(Some(submitted), step.id, step.last_input_at)
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use proptest::prelude::*;
    use strum::VariantArray as _;

    use super::super::decision::Decision;
    use super::super::precheckin::PrecheckinStatus;
    use super::*;

    const STAGES: [StayStage; 3] = [StayStage::Ahead, StayStage::Begun, StayStage::Over];

    fn minutes_after_start(minutes: i64) -> Moment {
        let start: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        Moment(start + minutes.minutes())
    }

    proptest! {
        /// Decides with two implementations of the rules whether a step is open, and compares the
        /// two decisions (rules: submissions#open-steps).
        #[test]
        fn open_steps_agree_with_the_sentences(
            status in prop::option::of(prop::sample::select(PrecheckinStatus::VARIANTS)),
            requested in prop::collection::vec(0..4_u128, 0..4),
            is_ready: bool,
            given in prop::option::of(-2..3_i64),
            stage in prop::sample::select(&STAGES[..]),
        ) {
            let id = Uuid::from_u128(1);
            let requested_step_ids: Vec<Uuid> =
                requested.iter().copied().map(Uuid::from_u128).collect();
            let is_requested = status == Some(PrecheckinStatus::ChangesRequested)
                && requested_step_ids.contains(&id);
            let decision = Decision {
                requested_step_ids,
                ..Decision::default()
            };
            let submitted = status.map(|status| StoredSubmission {
                status,
                at: minutes_after_start(0),
                decision,
            });
            let step = OpenStepInput {
                id,
                is_ready,
                last_input_at: given.map(minutes_after_start),
            };
            let is_new = !is_ready || given.is_some_and(|minutes| minutes > 0) || is_requested;

            let open_ids = open_steps(submitted.as_ref(), [step], stage);
            let is_listed = status.is_some() && stage == StayStage::Ahead && is_new;
            prop_assert_eq!(open_ids, if is_listed { vec![id] } else { Vec::new() });

            let is_open = is_open(submitted.as_ref(), step, stage);
            let expected = match stage {
                StayStage::Ahead => status.is_none() || is_new,
                StayStage::Begun => {
                    status.is_none()
                        || (status == Some(PrecheckinStatus::ChangesRequested) && is_new)
                }
                StayStage::Over => false,
            };
            prop_assert_eq!(is_open, expected);
            prop_assert!(!is_listed || is_open, "a listed step can be saved");
        }
    }
}
