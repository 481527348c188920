//! What a guest answers to a step, what becomes of what was saved before, and when that is enough (contract: Guest
//! interface; Steps that are really done).

mod agreement;
mod deposit;
mod guests;
mod questions;

use std::collections::HashSet;

use engine::error::{Issue, PathSegment};
use engine::field::folded;
use engine::operation::Object;
use jiff::civil::Date;
use uuid::Uuid;

use super::step::{Step, StepType};
pub use agreement::is_accepted;
pub use guests::{fault as guest_field_fault, required as required_fields};
pub use questions::{given, shown};

/// What answers are held against, besides their step.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'g> {
    /// The day it is where the flat is.
    pub today: Date,
    /// The region whose phone numbers need no prefix.
    pub country: &'g str,
    /// The damage waivers that the step offers to this stay.
    pub waivers: &'g [Uuid],
}

/// Whether a guest has done what a step asks. `documents` are the sorts of the files that were handed in with it, `others` is
/// how many guests come besides the one who booked, where that is known.
#[must_use]
pub fn is_complete(step: &Step, answers: Option<&Object>, documents: &[&str], others: Option<u32>) -> bool {
    let required = step.required_documents();
    if !required.is_empty() {
        return are_all_there(required, documents);
    }
    let Some(answers) = answers else { return false };
    match step.step_type {
        StepType::AdditionalQuestions => questions::are_answered(&step.questions, answers),
        StepType::Agreement => agreement::is_given(answers, step.is_signature_required()),
        StepType::YourDetails => guests::is_told(&required_fields(step), answers),
        StepType::OtherGuests => guests::are_told(&required_fields(step), answers, others),
        StepType::DamageDeposit => deposit::is_chosen(answers),
        _ => true,
    }
}

/// Whether each sort of document that is required is there, whatever its letters and the blanks around it.
fn are_all_there(required: &[String], documents: &[&str]) -> bool {
    let there: HashSet<String> = documents.iter().map(|sort| folded(sort)).collect();
    required.iter().all(|sort| there.contains(&folded(sort)))
}

/// What is saved once this is sent on top of what was saved before: details of guests are merged, other answers take the
/// place of the earlier ones.
#[must_use]
pub fn merged(step_type: StepType, saved: Option<&Object>, sent: Object) -> Object {
    match step_type {
        StepType::YourDetails => guests::merged(saved, sent),
        StepType::OtherGuests => guests::merged_all(saved, sent),
        _ => sent,
    }
}

/// What is wrong with what is sent of a step; paths begin below `answers`. What is missing is not wrong: it can follow.
#[must_use]
pub fn issues(step: &Step, sent: &Object, ground: &Ground<'_>) -> Vec<Issue> {
    let mut found = Found::default();
    match step.step_type {
        StepType::AdditionalQuestions => questions::judge(&step.questions, sent, &mut found),
        StepType::Agreement => agreement::judge(sent, &mut found),
        StepType::YourDetails => guests::judge(&required_fields(step), sent, &[], ground, &mut found),
        StepType::OtherGuests => guests::judge_all(&required_fields(step), sent, ground, &mut found),
        StepType::DamageDeposit => deposit::judge(sent, ground.waivers, &mut found),
        _ => {}
    }
    found.0
}

/// What was found wrong.
#[derive(Debug, Default)]
struct Found(Vec<Issue>);

impl Found {
    fn add(&mut self, path: &[&str], message: &'static str) {
        self.0.push(Issue::new(path, message));
    }

    fn add_at(&mut self, path: Vec<PathSegment>, message: &'static str) {
        self.0.push(Issue::at(path, message));
    }
}

#[cfg(test)]
mod tests {
    use engine::moment::Moment;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use strum::VariantArray;

    use super::super::step::AgreementType;
    use super::*;

    fn step(step_type: StepType) -> Step {
        Step::new(Uuid::nil(), step_type, "Step".into(), Moment("2026-11-21T09:30:00Z".parse().unwrap()))
    }

    fn object(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_agreement_is_complete_when_it_is_accepted_and_signed_where_that_is_asked() {
        let mut step = step(StepType::Agreement);
        let complete = |step: &Step, answers: Value| is_complete(step, Some(&object(answers)), &[], None);
        assert!(!is_complete(&step, None, &[], None));
        assert!(!complete(&step, json!({})));
        assert!(!complete(&step, json!({ "isAccepted": false })));
        assert!(complete(&step, json!({ "isAccepted": true, "signature": "Ada" })));
        step.agreement.agreement_type = Some(AgreementType::EsignB);
        assert!(!complete(&step, json!({ "isAccepted": true })));
        assert!(!complete(&step, json!({ "isAccepted": true, "signedName": " " })));
        assert!(!complete(&step, json!({ "isAccepted": false, "signedName": "Ada L" })));
        assert!(complete(&step, json!({ "isAccepted": true, "signedName": "Ada L" })));
    }

    #[test]
    fn documents_that_are_required_have_to_be_there_and_are_enough() {
        for step_type in [StepType::DocumentUpload, StepType::IdentityCheck, StepType::YourDetails] {
            let mut step = step(step_type);
            let saved = object(json!({}));
            assert!(!is_complete(&step, None, &["Passport"], None) && is_complete(&step, Some(&saved), &[], None), "none is required");
            step.write_only.required_document_types = Some(vec!["Passport ".into(), "VISA".into()]);
            let takes_files = step_type.takes_files();
            assert_eq!(is_complete(&step, Some(&saved), &["passport"], None), !takes_files);
            assert_eq!(is_complete(&step, None, &[" visa", "other", "PASSPORT"], None), takes_files);
        }
    }

    proptest! {
        /// The contract's sentence on the types that ask for nothing in particular: saving any object completes them.
        #[test]
        fn what_asks_for_nothing_is_completed_by_any_object(
            step_type in prop::sample::select(StepType::VARIANTS), name in "[a-z]{1,8}", value in "[a-z ]{0,8}",
        ) {
            prop_assume!(!matches!(step_type, StepType::Agreement | StepType::AdditionalQuestions));
            prop_assume!(name != "choice");
            let (step, sent) = (step(step_type), object(json!({ name: value })));
            let ground = Ground { today: "2026-11-21".parse().unwrap(), country: "ES", waivers: &[] };
            prop_assert_eq!(issues(&step, &sent, &ground), []);
            prop_assert!(!is_complete(&step, None, &[], None));
            prop_assert!(is_complete(&step, Some(&merged(step_type, None, sent)), &[], None));
        }
    }
}
