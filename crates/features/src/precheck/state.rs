//! The state of a step for a guest. It depends on the guest's input and on the last report of the
//! provider that carries the step out, such as a provider of identity checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::answers::{GuestInput, is_complete};
use super::step::Step;

/// The state of a step for the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// The guest has not done their part.
    Todo,
    /// The step is complete.
    Done,
    /// The guest has done their part. The result of the provider that carries the step out is
    /// missing.
    Pending,
    /// The guest must act, either on the provider's site or again in this step.
    ActionRequired,
}

impl StepState {
    /// Returns whether a step in this state lets the guest submit the pre-check-in.
    #[must_use]
    pub const fn is_ready(self) -> bool {
        matches!(self, Self::Done | Self::Pending)
    }
}

/// The last report about a step by the provider that carries the step out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub enum StepReport {
    /// The provider is still working on the step.
    Pending,
    /// The guest must act on the provider's site.
    ActionRequired,
    /// The provider reported a result, which may flag the submission.
    Result,
    /// The step failed, and the guest must act.
    Failed,
    /// The identity check of the guest failed, and the guest is asked to repeat it.
    Returned,
    /// The identity check of the guest failed, and the guest has uploaded new files since then.
    HandedInAgain,
}

/// Returns the state of a step. `reported` is `None` if no provider has reported on the step.
#[must_use]
pub fn state(step: &Step, input: &GuestInput<'_>, reported: Option<StepReport>) -> StepState {
    let must_be_signed_first = step.is_signature_required() && step.is_signed_elsewhere();
    match reported {
        Some(StepReport::Result) => StepState::Done,
        Some(StepReport::ActionRequired | StepReport::Failed | StepReport::Returned) => {
            StepState::ActionRequired
        }
        // The guest must sign at an e-signature provider and has not signed yet. The step stays
        // open, because the guest cannot submit without the signature.
        Some(StepReport::Pending | StepReport::HandedInAgain) | None if must_be_signed_first => {
            StepState::Todo
        }
        Some(StepReport::Pending) => StepState::Pending,
        _ if !is_complete(step, input) => match reported {
            Some(_) => StepState::ActionRequired,
            None => StepState::Todo,
        },
        Some(StepReport::HandedInAgain) => StepState::Pending,
        None if step.step_type.checks_background() || step.is_signed_elsewhere() => {
            StepState::Pending
        }
        None => StepState::Done,
    }
}

#[cfg(test)]
mod tests {
    use engine::moment::Moment;
    use engine::operation::Object;
    use proptest::prelude::*;
    use serde_json::json;
    use uuid::Uuid;

    use super::super::step::AgreementType;
    use super::super::step_type::StepType;
    use super::*;

    fn step(step_type: StepType) -> Step {
        let now = Moment("2026-11-21T09:30:00Z".parse().unwrap());
        Step::new(Uuid::nil(), step_type, "Step".into(), now)
    }

    fn accepted() -> Object {
        serde_json::from_value(json!({ "isAccepted": true, "signedName": "Ada L" })).unwrap()
    }

    fn of(step: &Step, is_accepted: bool, reported: Option<StepReport>) -> StepState {
        let answers = accepted();
        let input = GuestInput {
            answers: is_accepted.then_some(&answers),
            ..GuestInput::default()
        };
        state(step, &input, reported)
    }

    #[test]
    fn consent_waits_for_the_background_check() {
        let step = step(StepType::BackgroundCheck);
        for (is_accepted, reported, expected) in [
            (false, None, StepState::Todo),
            (true, None, StepState::Pending),
            (false, Some(StepReport::Pending), StepState::Pending),
            (true, Some(StepReport::Result), StepState::Done),
            (
                true,
                Some(StepReport::ActionRequired),
                StepState::ActionRequired,
            ),
        ] {
            assert_eq!(of(&step, is_accepted, reported), expected);
        }
    }

    #[test]
    fn a_mandatory_signature_elsewhere_is_waited_for_before_the_submission() {
        let mut step = step(StepType::Agreement);
        step.agreement.agreement_type = Some(AgreementType::EsignA);
        assert_eq!(of(&step, false, None), StepState::Todo);
        assert_eq!(of(&step, true, None), StepState::Pending);
        assert_eq!(of(&step, true, Some(StepReport::Result)), StepState::Done);
        step.agreement.is_mandatory_signing = true;
        for is_accepted in [false, true] {
            for reported in [None, Some(StepReport::Pending)] {
                assert_eq!(of(&step, is_accepted, reported), StepState::Todo);
            }
            assert_eq!(
                of(&step, is_accepted, Some(StepReport::Result)),
                StepState::Done
            );
        }
        step.write_only.contract_template_text = Some("No parties.".into());
        assert_eq!(of(&step, false, None), StepState::Todo);
        assert_eq!(of(&step, true, None), StepState::Done);
    }

    proptest! {
        /// The last report decides the state of a step, unless the guest has uploaded files after
        /// the report.
        #[test]
        fn a_report_decides(
            step_type in prop::sample::select(StepType::VARIANTS),
            reported in prop::sample::select(StepReport::VARIANTS),
            is_accepted: bool,
        ) {
            let state = of(&step(step_type), is_accepted, Some(reported));
            let expected: &[StepState] = match reported {
                StepReport::Pending => &[StepState::Pending],
                StepReport::Result => &[StepState::Done],
                StepReport::ActionRequired | StepReport::Failed | StepReport::Returned => {
                    &[StepState::ActionRequired]
                }
                StepReport::HandedInAgain => &[StepState::Pending, StepState::ActionRequired],
            };
            prop_assert!(expected.contains(&state), "{state:?}");
        }
    }
}
