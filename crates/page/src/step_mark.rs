//! The mark of a step: an icon and a text that show the step's state. Every list of steps shows the
//! mark beside each step.

use features::guest::{PrecheckinStatus, ProgressStatus, StepView};
use features::precheck::{AnswerForm, StepState};
use features::words::fill;

use super::answers;
use super::page_stay::PageStay;

/// The icon and the text with which a list of steps shows the state of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepMark {
    /// The icon; `None` if the page shows the number of the step instead.
    pub icon: Option<&'static str>,
    /// The CSS classes of the icon, which differ by the state of the step.
    pub classes: &'static str,
    /// The state of the step in words.
    pub text: &'static str,
}

impl StepMark {
    /// Returns the icon and the text for the current state of a step.
    #[must_use]
    pub fn of(page_stay: &PageStay, step: &StepView) -> Self {
        let words = &page_stay.texts.precheckin;
        let is_back =
            page_stay.view.precheckin.status == PrecheckinStatus::ChangesRequested && step.is_open;
        let (sign, kind, text) = match step.state {
            StepState::ActionRequired if has_failed(step) => {
                (Some("×"), " back", words.did_not_work)
            }
            StepState::ActionRequired => (Some("!"), " back", words.needs_you),
            _ if is_back => (Some("!"), " back", words.sent_back),
            StepState::Todo if page_stay.is_reopened() => (Some("!"), " back", words.to_do),
            StepState::Done => (Some("✓"), " on", words.done),
            StepState::Pending => (Some("…"), "", words.with_host),
            StepState::Todo => (None, "", words.to_do),
        };
        Self {
            icon: sign,
            classes: kind,
            text,
        }
    }
}

/// Returns whether another system, such as an e-signature provider, reported that the step failed.
/// Returns false for identity checks, because the guest can repeat a failed check.
#[must_use]
pub fn has_failed(step: &StepView) -> bool {
    let progress = step.progress.as_ref();
    let is_failed = progress.is_some_and(|progress| progress.status == ProgressStatus::Failed);
    is_failed && !step.step_type.checks_identity()
}

/// Returns a text that names the missing parts of a step; `None` if the step does not prevent the
/// submission.
#[must_use]
pub fn missing(page_stay: &PageStay, step: &StepView) -> Option<String> {
    if step.state.is_ready() {
        return None;
    }
    let words = page_stay.texts;
    let mark = || StepMark::of(page_stay, step).text.to_owned();
    if step.state == StepState::ActionRequired {
        return Some(mark());
    }
    if step.step_type.takes_files() {
        let names: Vec<String> = documents(step)
            .into_iter()
            .map(|kind| answers::document(kind, page_stay))
            .collect();
        if !names.is_empty() {
            return Some(fill(words.files.missing, &[("types", &names.join(", "))]));
        }
    }
    Some(match step.step_type.answer_form() {
        AnswerForm::OtherGuests => match step.expected_guests.flatten() {
            None | Some(0) => mark(),
            Some(expected) => fill(
                words.fields.guests_expected,
                &[("n", &expected.to_string())],
            ),
        },
        AnswerForm::Agreement if step.is_text_changed => words.agreement.text_changed.to_owned(),
        AnswerForm::Agreement if step.is_signature_required == Some(true) && is_accepted(step) => {
            words.errors.sign.to_owned()
        }
        AnswerForm::Confirmation
        | AnswerForm::LeadGuest
        | AnswerForm::Questions
        | AnswerForm::Agreement
        | AnswerForm::Consent
        | AnswerForm::DepositChoice => mark(),
    })
}

/// Returns whether the guest has accepted an agreement.
fn is_accepted(step: &StepView) -> bool {
    step.accepted_at.is_some()
}

/// Returns the document types that a step requires and that the guest has not uploaded.
fn documents(step: &StepView) -> Vec<&str> {
    let files = step.files.as_deref().unwrap_or_default();
    let required = step.required_document_types.as_deref().unwrap_or_default();
    let is_there = |kind: &str| {
        files
            .iter()
            .any(|file| file.document_type.as_deref() == Some(kind))
    };
    required
        .iter()
        .map(String::as_str)
        .filter(|kind| !is_there(kind))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    fn step(step_type: &str, more: Value) -> StepView {
        let mut step = json!({
            "id": Uuid::nil(),
            "stepType": step_type,
            "title": "Step",
            "state": "todo",
            "isComplete": false,
            "isOpen": true,
        });
        step.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        serde_json::from_value(step).unwrap()
    }

    #[test]
    fn a_failure_of_another_system_differs_from_a_failed_check() {
        let progress =
            |status: &str| json!({ "state": "action_required", "progress": { "status": status } });
        for (step_type, status, expected) in [
            ("mandatory_fee", "failed", true),
            ("mandatory_fee", "action_required", false),
            ("identity_check", "failed", false),
        ] {
            assert_eq!(has_failed(&step(step_type, progress(status))), expected);
        }
        assert!(!has_failed(&step("main", json!({}))));
    }

    #[test]
    fn documents_without_a_file_are_missing() {
        let file = |kind: Value| {
            json!({
                "id": Uuid::nil(),
                "name": "a.pdf",
                "contentType": "application/pdf",
                "size": 1,
                "documentType": kind,
                "createdAt": "2026-11-21T09:30:00.000Z",
            })
        };
        let more = json!({
            "requiredDocumentTypes": ["passport", "visa"],
            "files": [file(json!("visa")), file(Value::Null)],
        });
        assert_eq!(documents(&step("identity_check", more)), ["passport"]);
    }
}
