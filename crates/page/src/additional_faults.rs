//! Adds the faults that one check of a refused form did not look for, so that a guest sees all
//! faults at once.
//!
//! Two checks find faults. The page first checks whether required values are missing. If none is
//! missing, it calls the operation, which checks the values that the guest typed. So a refusal by
//! the page names no invalid values, and a refusal by the operation names no faults that only the
//! page knows. The functions of this module find the faults of the other check.
//!
//! The operation accepts any value for a detail that the step does not require, such as a phone
//! number. So only the page checks such details.

use features::guest::StepView;
use features::precheck::{AnswerContext, GuestPart, QuestionKind, guest_field_fault};
use serde_json::json;

use super::fault::{FaultKind, FieldFault};
use super::form::{self, FormFields};
use super::guest_fields;
use super::page_stay::PageStay;

/// Returns the faults in the details of guests that the guest typed, such as an invalid e-mail
/// address. If values are missing in a form, the page refuses the form without calling the
/// operation that saves the step. It then calls this function, to find the faults that the
/// operation would have found.
#[must_use]
pub fn of_values(step: &StepView, fields: &FormFields, page_stay: &PageStay) -> Vec<FieldFault> {
    let is_other = match GuestPart::asked_in(step.step_type) {
        Some(GuestPart::Lead) => false,
        Some(GuestPart::Others) => true,
        None => return Vec::new(),
    };
    let country = page_stay.flat().map_or("", |flat| &flat.country);
    let context = AnswerContext {
        today: page_stay.now.to_zoned(page_stay.zone()).date(),
        country,
        choices: &[],
    };
    let asked = guest_fields::requested_fields(step, is_other);
    let fault = |(field, value): &(String, String)| {
        let name = if is_other {
            guest_fields::guest_of(field)?.1
        } else {
            field
        };
        let detail = asked.iter().find(|detail| detail.name == name)?;
        let message = guest_field_fault(detail.name, &json!(value.trim()), &context)?;
        Some(FieldFault {
            field: field.clone(),
            kind: FaultKind::of(detail.name, message),
        })
    };
    fields.iter().filter_map(fault).collect()
}

/// Returns the faults in the details of guests for a step that requires no field. The operation
/// does not check these details, so the page does.
#[must_use]
pub fn of_unrequired(
    step: &StepView,
    fields: &FormFields,
    page_stay: &PageStay,
) -> Vec<FieldFault> {
    if guest_fields::required(step).is_empty() {
        of_values(step, fields, page_stay)
    } else {
        Vec::new()
    }
}

/// Returns a fault for each required question without an answer. The page calls this function if
/// the operation has refused the form because values are invalid.
#[must_use]
pub fn of_questions(step: &StepView, fields: &FormFields) -> Vec<FieldFault> {
    let is_answered = |name: &str| {
        fields
            .iter()
            .any(|(field, value)| field == name && !engine::typed::is_blank(value))
    };
    let fault = |question: &features::guest::QuestionView| {
        let (field, kind) = if question.kind == QuestionKind::FreeFormInput {
            (form::text_field(question.id), FaultKind::Value)
        } else {
            (form::choice_field(question.id), FaultKind::Choice)
        };
        (question.is_required && !is_answered(&field)).then_some(FieldFault { field, kind })
    };
    step.questions.iter().flatten().filter_map(fault).collect()
}

#[cfg(test)]
mod tests {
    use features::precheck::StepType;
    use serde_json::Value;
    use uuid::Uuid;

    use super::*;

    fn step(step_type: StepType, more: Value) -> StepView {
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
    fn missing_answers_are_named_beside_invalid_answers() {
        let question = |number: u128, kind: &str, is_required: bool| {
            let id = Uuid::from_u128(number);
            json!({
                "id": id,
                "kind": kind,
                "text": null,
                "isRequired": is_required,
                "options": [],
                "answer": null,
            })
        };
        let questions = [
            question(1, "single_select", true),
            question(2, "free_form_input", true),
            question(3, "free_form_input", false),
            question(4, "yes_no", true),
        ];
        let step = step(
            StepType::AdditionalQuestions,
            json!({ "questions": questions }),
        );
        let (one, two, four) = (1, 2, 4);
        let [choice, answered] =
            [one, four].map(|number| form::choice_field(Uuid::from_u128(number)));
        let text = form::text_field(Uuid::from_u128(two));
        let sent = vec![
            (choice.clone(), String::new()),
            (text.clone(), " ".into()),
            (answered, "yes".into()),
        ];
        let faults = of_questions(&step, &sent);
        assert_eq!(
            faults,
            [
                FieldFault {
                    field: choice,
                    kind: FaultKind::Choice
                },
                FieldFault {
                    field: text,
                    kind: FaultKind::Value
                }
            ]
        );
    }
}
