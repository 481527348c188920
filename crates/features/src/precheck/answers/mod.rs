//! The answers of a guest to a step: validation, merging with saved answers, and completion (rules:
//! pre-check-in). This file selects the rules by the step's `AnswerForm`, and each form has its
//! rules in a separate file. `guest/precheckin.rs` saves the answers.

mod agreement;
mod deposit;
mod guests;
mod questions;

use std::collections::HashSet;

use engine::error::{Issue, PathSegment};
use engine::field::fold_name;
use engine::operation::Object;
use jiff::civil::Date;
use uuid::Uuid;

use super::costs::DepositChoice;
use super::guest_fields::{GuestCategory, GuestFieldRules, GuestPart, field_rules};
use super::step::Step;
use super::step_type::{AnswerForm, FileUse, StepType};
pub use agreement::is_accepted;
pub use deposit::{chosen_deposit, deposit_choice};
pub use guests::{FIRST_BIRTH_DATE, guest_field_fault, required_fields};
pub use questions::{flagged_questions, given_answer, has_flags, shown_questions};

/// The data that answers are checked against, in addition to the step.
#[derive(Debug, Clone, Copy)]
pub struct AnswerContext<'g> {
    /// Today's date at the flat.
    pub today: Date,
    /// The organization's country, as an ISO 3166 code. A phone number without a country code is
    /// read as a number of this country.
    pub country: &'g str,
    /// The choices that a step of type `damage_deposit` offers for this stay.
    pub choices: &'g [DepositChoice],
}

/// The data that decides whether a guest has completed one step of the pre-check-in.
#[derive(Debug, Clone, Copy, Default)]
pub struct GuestInput<'h> {
    /// The answers that the guest saved in the step; `None` if the guest has saved none.
    pub answers: Option<&'h Object>,
    /// The type of each uploaded file; `None` for a file without a type.
    pub documents: &'h [Option<&'h str>],
    /// The number of other guests, in addition to the guest who booked; `None` if it is not known.
    pub others: Option<u32>,
    /// Whether the service can store files.
    pub has_storage: bool,
    /// The check-in date, if known.
    pub check_in: Option<Date>,
}

/// The saved answers, and the settings for merging sent answers into them.
pub struct MergeContext<'m> {
    /// The answers that are stored for the step; `None` if none are stored yet.
    pub saved: Option<&'m Object>,
    /// Whether the request contains only the changed answers, instead of all answers.
    pub is_change: bool,
    /// Makes the id of a new guest.
    pub new_id: &'m mut dyn FnMut() -> Uuid,
}

/// The fields that a step requires of guests, and the data that decides whether the step requires a
/// field of one guest: the rules for fields, the guest's role in the booking, and the check-in
/// date, on which the guest's age is computed.
struct Requirements<'r> {
    required: Vec<&'r str>,
    rules: GuestFieldRules,
    part: GuestPart,
    check_in: Option<Date>,
}

impl<'r> Requirements<'r> {
    fn of(step: &'r Step, part: GuestPart, check_in: Option<Date>) -> Self {
        Self {
            required: required_fields(step),
            rules: field_rules(step),
            part,
            check_in,
        }
    }

    /// Returns the fields that are required of a guest with the details in `fields`.
    fn of_guest(&self, fields: &Object) -> impl Iterator<Item = &'r str> {
        let guest = GuestCategory {
            part: self.part,
            fields,
            check_in: self.check_in,
        };
        self.required
            .iter()
            .copied()
            .filter(move |field| self.rules.is_required_of(field, &guest))
    }
}

/// Returns whether the guest's input completes a step. The type of the step decides which input is
/// needed: files, answers, or both.
#[must_use]
pub fn is_complete(step: &Step, input: &GuestInput<'_>) -> bool {
    let GuestInput {
        answers,
        documents,
        others,
        has_storage,
        check_in,
    } = *input;
    let required = step.required_documents();
    match step.step_type.file_use() {
        FileUse::Identity if has_storage => {
            return !documents.is_empty() && are_all_uploaded(required, documents);
        }
        FileUse::Identity => return answers.is_some(),
        FileUse::Documents if !required.is_empty() => return are_all_uploaded(required, documents),
        FileUse::Documents | FileUse::None => {}
    }
    let form = step.step_type.answer_form();
    // A guest who travels alone has no other guests to name.
    if form == AnswerForm::OtherGuests && others == Some(0) {
        return true;
    }
    let Some(answers) = answers else { return false };
    let requirements = |part| Requirements::of(step, part, check_in);
    match form {
        AnswerForm::Consent => is_accepted(answers),
        AnswerForm::Questions => questions::are_answered(&step.questions, answers),
        AnswerForm::Agreement => {
            agreement::is_accepted_and_signed(answers, step.is_signature_required())
        }
        AnswerForm::LeadGuest => guests::is_complete(&requirements(GuestPart::Lead), answers),
        AnswerForm::OtherGuests => {
            guests::are_complete(&requirements(GuestPart::Others), answers, others)
        }
        AnswerForm::DepositChoice => deposit::is_deposit_answered(answers),
        AnswerForm::Confirmation => true,
    }
}

/// Returns whether the guest has uploaded a document of each required type. The comparison of types
/// ignores letter case and surrounding blanks.
fn are_all_uploaded(required: &[String], documents: &[Option<&str>]) -> bool {
    let uploaded_types = documents.iter().copied().flatten();
    let uploaded: HashSet<String> = uploaded_types.map(fold_name).collect();
    required
        .iter()
        .all(|document_type| uploaded.contains(&fold_name(document_type)))
}

/// Returns sent answers with normalized details of guests. Answers are checked and stored in this
/// form.
#[must_use]
pub fn normalize_answers(step_type: StepType, answers: Object) -> Object {
    match step_type.answer_form() {
        AnswerForm::LeadGuest => guests::normalize_guest(answers),
        AnswerForm::OtherGuests => guests::normalize_other_guests(answers),
        AnswerForm::Confirmation
        | AnswerForm::Questions
        | AnswerForm::Agreement
        | AnswerForm::Consent
        | AnswerForm::DepositChoice => answers,
    }
}

/// Merges sent answers into the saved answers and returns the result. Details of guests are merged.
/// Answers to questions are merged if the request contains only the changed answers. All other sent
/// answers replace the saved answers. Fails if an item in a list of guests has the id of no saved
/// guest.
pub fn merged_answers(
    step_type: StepType,
    merging: MergeContext<'_>,
    answers: Object,
) -> Result<Object, Vec<Issue>> {
    match step_type.answer_form() {
        AnswerForm::OtherGuests => guests::merge_other_guests(merging, answers),
        AnswerForm::Questions if !merging.is_change => Ok(answers),
        AnswerForm::LeadGuest | AnswerForm::Questions => {
            Ok(guests::merge_guest_fields(merging.saved, answers))
        }
        AnswerForm::Confirmation
        | AnswerForm::Agreement
        | AnswerForm::Consent
        | AnswerForm::DepositChoice => Ok(answers),
    }
}

/// Returns the issues of the answers sent for a step. The path of an issue is relative to the
/// answers. A missing answer is not an issue, because the guest can send it later.
#[must_use]
pub fn answer_issues(step: &Step, answers: &Object, context: &AnswerContext<'_>) -> Vec<Issue> {
    let mut issues = FoundIssues::default();
    match step.step_type.answer_form() {
        AnswerForm::Questions => {
            questions::validate_questions(&step.questions, answers, &mut issues);
        }
        AnswerForm::Agreement => agreement::validate_agreement(answers, &mut issues),
        AnswerForm::Consent => agreement::validate_consent(answers, &[], &mut issues),
        AnswerForm::LeadGuest => {
            guests::validate_guest(&required_fields(step), answers, &[], context, &mut issues);
        }
        AnswerForm::OtherGuests => {
            guests::validate_other_guests(&required_fields(step), answers, context, &mut issues);
        }
        AnswerForm::DepositChoice => {
            deposit::validate_deposit_choice(answers, context.choices, &mut issues);
        }
        AnswerForm::Confirmation => {}
    }
    issues.0
}

/// The issues that the checks of the sent answers have found so far.
#[derive(Debug, Default)]
struct FoundIssues(Vec<Issue>);

impl FoundIssues {
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
    use uuid::Uuid;

    use super::*;

    fn step(step_type: StepType) -> Step {
        Step::new(
            Uuid::nil(),
            step_type,
            "Step".into(),
            Moment("2026-11-21T09:30:00Z".parse().unwrap()),
        )
    }

    fn object(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_agreement_is_complete_once_accepted_and_signed_if_required() {
        let mut step = step(StepType::Agreement);
        let complete = |step: &Step, answers: Value| {
            let answers = object(answers);
            let input = GuestInput {
                answers: Some(&answers),
                ..GuestInput::default()
            };
            is_complete(step, &input)
        };
        assert!(!is_complete(&step, &GuestInput::default()));
        assert!(!complete(&step, json!({})));
        assert!(!complete(&step, json!({ "isAccepted": false })));
        assert!(complete(
            &step,
            json!({ "isAccepted": true, "signedName": "" })
        ));
        step.agreement.is_mandatory_signing = true;
        assert!(!complete(&step, json!({ "isAccepted": true })));
        assert!(!complete(
            &step,
            json!({ "isAccepted": true, "signedName": " " })
        ));
        assert!(!complete(
            &step,
            json!({ "isAccepted": false, "signedName": "Ada L" })
        ));
        assert!(complete(
            &step,
            json!({ "isAccepted": true, "signedName": "Ada L" })
        ));
    }

    #[test]
    fn required_documents_complete_a_step() {
        let saved = object(json!({}));
        let complete = |step: &Step, is_saved: bool, documents: &[Option<&str>], has_storage| {
            let input = GuestInput {
                answers: is_saved.then_some(&saved),
                documents,
                has_storage,
                ..GuestInput::default()
            };
            is_complete(step, &input)
        };
        let some = [Some("passport")];
        let all = [Some(" visa"), None, Some("PASSPORT")];
        for step_type in [StepType::DocumentUpload, StepType::YourDetails] {
            let mut step = step(step_type);
            assert!(
                !complete(&step, false, &some, true) && complete(&step, true, &[], true),
                "none is required"
            );
            step.write_only.required_document_types = Some(vec!["Passport ".into(), "VISA".into()]);
            let takes_files = step_type.takes_files();
            assert_eq!(complete(&step, true, &some, true), !takes_files);
            assert_eq!(complete(&step, false, &all, true), takes_files);
        }
        let mut identity = step(StepType::IdentityCheck);
        for (types, documents, is_enough) in [
            (None, &[][..], false),
            (None, &[None], true),
            (Some(vec!["Passport".into(), "VISA".into()]), &some, false),
            (Some(vec!["Passport".into(), "VISA".into()]), &all, true),
        ] {
            identity.write_only.required_document_types = types;
            assert_eq!(complete(&identity, true, documents, true), is_enough);
            assert_eq!(complete(&identity, false, documents, true), is_enough);
            assert!(
                complete(&identity, true, documents, false),
                "saving is enough"
            );
            assert!(!complete(&identity, false, documents, false));
        }
    }

    proptest! {
        /// A step that requires nothing is complete as soon as the guest has saved any object as
        /// its answers (rules: pre-check-in#details-of-guests, 5).
        #[test]
        fn any_answer_completes_a_step_without_requirements(
            step_type in prop::sample::select(StepType::VARIANTS),
            name in "[a-z]{1,8}",
            value in "[a-z ]{0,8}",
        ) {
            prop_assume!(!matches!(
                step_type.answer_form(),
                AnswerForm::Agreement | AnswerForm::Consent | AnswerForm::Questions
            ));
            prop_assume!(name != "choice");
            let (step, sent) = (step(step_type), object(json!({ name: value })));
            let context = AnswerContext {
                today: "2026-11-21".parse().unwrap(),
                country: "ES",
                choices: &[],
            };
            prop_assert_eq!(answer_issues(&step, &sent, &context), []);
            prop_assert!(!is_complete(&step, &GuestInput::default()));
            let merging = MergeContext {
                saved: None,
                is_change: false,
                new_id: &mut Uuid::nil,
            };
            let saved = merged_answers(step_type, merging, sent).unwrap();
            let input = GuestInput {
                answers: Some(&saved),
                ..GuestInput::default()
            };
            prop_assert!(is_complete(&step, &input));
        }
    }
}
