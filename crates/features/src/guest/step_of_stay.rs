//! A step that a stay's guest gets, with the data that is stored for the step, and the step's
//! state.

use std::sync::Arc;

use engine::operation::Object;
use jiff::civil::Date;
use serde_json::Value;

use super::acceptance::AcceptanceView;
use super::charges::{self, DepositView};
use super::files::GuestFile;
use super::openness::OpenStepInput;
use super::setup::GuestSetup;
use super::stay::Stay;
use super::stored_answers::StoredAnswers;
use crate::precheck::{self, GuestInput, Step, StepReport, StepState};

/// A step that the stay gets, with the data stored for it.
pub(super) struct StepOfStay {
    pub step: Arc<Step>,
    /// The data stored for the step.
    pub stored: StoredAnswers,
    /// The number of guests besides the guest who booked; `None` if this number is unknown.
    pub other_guests: Option<u32>,
    /// Whether the service can store files.
    pub has_storage: bool,
    /// The check-in date. The age of a guest is the guest's age on this date.
    check_in: Date,
    /// Whether the step offers choices and the saved answers contain none of them. For a submitted
    /// choice the value is `false`, even if the step no longer offers that choice.
    pub is_choice_missing: bool,
    /// Whether the accepted text is still the text of the agreement, in the language in which it
    /// was accepted.
    pub is_text_current: bool,
    /// Whether the text of an agreement has changed since the guest accepted it. `false` once the
    /// guest has submitted the acceptance.
    pub is_text_changed: bool,
}

impl StepOfStay {
    /// Combines a step with its stored data. Ignores a stored report of another system if the step
    /// is now done in this service alone.
    pub(super) fn new(
        step: Arc<Step>,
        mut given: StoredAnswers,
        stay: &Stay,
        has_storage: bool,
    ) -> Self {
        given.report = given.report.filter(|_| step.is_carried_out_elsewhere());
        Self {
            step,
            stored: given,
            other_guests: stay.other_guests(),
            has_storage,
            check_in: stay.reservation.check_in,
            is_choice_missing: false,
            is_text_current: true,
            is_text_changed: false,
        }
    }

    pub(super) fn answers(&self) -> Option<&Object> {
        self.stored.saved.as_ref().map(|saved| &saved.answers)
    }

    /// Returns the state of the step. If another system has reported on the step, the report
    /// decides; otherwise the guest's data decides.
    pub(super) fn state(&self) -> StepState {
        let documents: Vec<Option<&str>> = self
            .stored
            .files
            .iter()
            .map(GuestFile::document_type)
            .collect();
        if (self.is_choice_missing || self.is_text_changed) && self.reported().is_none() {
            return StepState::Todo;
        }
        let input = GuestInput {
            answers: self.answers(),
            documents: &documents,
            others: self.other_guests,
            has_storage: self.has_storage,
            check_in: Some(self.check_in),
        };
        precheck::state(&self.step, &input, self.reported())
    }

    /// Returns the result of the last report of another system about the step. After a retake was
    /// requested, the result depends on whether the guest has uploaded a file since the report.
    /// `None` if no system has reported.
    pub(super) fn reported(&self) -> Option<StepReport> {
        let report = self.stored.report.as_ref()?;
        let is_later = |file: &GuestFile| Some(file.created_at) > self.stored.reported_at;
        let is_handed_in_again = self.stored.files.iter().any(is_later);
        Some(report.reported(self.step.step_type, is_handed_in_again))
    }

    /// Returns whether the step is complete: nothing is missing from the guest or from another
    /// system.
    pub(super) fn is_complete(&self) -> bool {
        self.state() == StepState::Done
    }

    /// Returns the choices of a deposit for a stay of this many nights; `None` for a step without a
    /// deposit.
    pub(super) fn deposit(&self, setup: &GuestSetup, nights: i64) -> Option<DepositView> {
        charges::deposit(
            &self.step,
            setup.costs.get(&self.step.id),
            &setup.texts,
            nights,
        )
    }

    /// Returns whether the saved answers contain a choice: the guest pays the deposit, takes a
    /// waiver, or takes neither of them.
    pub(super) fn has_chosen_deposit(&self) -> bool {
        self.answers()
            .is_some_and(|answers| precheck::deposit_choice(answers).is_some())
    }

    /// Returns whether the saved answers contain none of the offered choices: no choice at all, or
    /// one that is no longer offered. If nothing is offered and nothing is chosen, no choice is
    /// missing.
    pub(super) fn lacks_offered_choice(&self, setup: &GuestSetup, nights: i64) -> bool {
        let (Some(answers), Some(deposit)) = (self.answers(), self.deposit(setup, nights)) else {
            return false;
        };
        let needs_choice =
            !deposit.choices.is_empty() || precheck::deposit_choice(answers).is_some();
        needs_choice && precheck::chosen_deposit(answers, &deposit.choices).is_none()
    }

    /// Returns the guest's acceptance of the step's agreement, with the text that was accepted;
    /// `None` if the guest has not accepted it.
    pub(super) fn acceptance(&self) -> Option<AcceptanceView> {
        let saved = self.stored.saved.as_ref()?;
        let acceptance = saved.acceptance.clone()?.proof;
        let signed_name = saved.answers.get("signedName").and_then(Value::as_str);
        Some(AcceptanceView {
            accepted_at: acceptance.accepted_at,
            language: acceptance.language,
            text_sha256: acceptance.text_sha256,
            signed_name: signed_name.map(str::to_owned),
            text: saved.accepted_text.clone(),
            is_current: self.is_text_current,
        })
    }

    pub(super) fn open_step_input(&self) -> OpenStepInput {
        OpenStepInput {
            id: self.step.id,
            is_ready: self.state().is_ready(),
            last_input_at: self.stored.last_input_at(),
        }
    }
}
