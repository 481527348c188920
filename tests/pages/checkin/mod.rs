//! Tests of pre-check-in over the guest interface (rules: pre-check-in).

mod after;
mod agreements;
mod answers;
mod details;
mod flags;
mod guest_rules;
mod guest_view;
mod messages;
mod random;
mod reviews;
mod several_people;
mod steps;
mod steps_done;
mod submission;
mod waiting;
mod without_steps;

use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::House;

/// A step with five questions. DRIVE is required. CAR is asked, and is required, if the guest
/// drives. BED is optional. EXTRAS is asked if the guest does not drive or chose twin beds. AGE of
/// the child is asked if the guest wants a crib.
struct QuestionStep {
    step: Uuid,
    questions: Value,
}

/// Chosen options: the number of each question, with the positions of its chosen options.
type Chosen = &'static [(usize, &'static [usize])];
/// Written answers: the number of each question, and the text that the guest writes as the answer.
type Written = &'static [(usize, &'static str)];

const DRIVE: usize = 0;
const CAR: usize = 1;
const BED: usize = 2;
const EXTRAS: usize = 3;
const AGE: usize = 4;

impl QuestionStep {
    async fn build(house: &House<'_>) -> Self {
        let drive = house
            .text(&[("en", "Will you drive?"), ("es", "¿Vienes en coche?")])
            .await;
        let car = house.text(&[("en", "Which car?")]).await;
        let bed = house
            .text(&[("en", "Which bed?"), ("fr", "Quel lit ?")])
            .await;
        let double = house
            .text(&[
                ("en", "Double"),
                ("es", "Doble"),
                ("fr", "Double, bien sûr"),
            ])
            .await;
        let twins = house.text(&[("en", "Twins"), ("es", "Dos camas")]).await;
        let (extras, crib) = (
            house.text(&[("en", "Extras?")]).await,
            house.text(&[("en", "Crib")]).await,
        );
        let sauna = house.text(&[("en", "Sauna")]).await;
        let age = house.text(&[("en", "How old is the child?")]).await;
        let when = |question: usize, option: usize| {
            json!({
                "questionIndex": question,
                "optionIndex": option,
            })
        };
        let questions = json!([
            { "kind": "yes_no", "textMlTextId": drive, "isRequired": true },
            {
                "kind": "free_form_input",
                "textMlTextId": car,
                "isRequired": true,
                "conditions": [when(DRIVE, 0)],
            },
            {
                "kind": "single_select",
                "textMlTextId": bed,
                "options": [{ "nameMlTextId": double }, { "nameMlTextId": twins }],
            },
            {
                "kind": "multi_select",
                "textMlTextId": extras,
                "options": [{ "nameMlTextId": crib }, { "nameMlTextId": sauna }],
                "conditions": [when(DRIVE, 1), when(BED, 1)],
            },
            { "kind": "free_form_input", "textMlTextId": age, "conditions": [when(EXTRAS, 0)] },
        ]);
        let step = house
            .step("additional_questions", json!({ "questions": questions }))
            .await;
        let read = house
            .api
            .get(&format!("/precheck-steps/{step}"))
            .await
            .data();
        Self {
            step,
            questions: read["questions"].clone(),
        }
    }

    fn question(&self, number: usize) -> &str {
        self.questions[number]["id"].as_str().unwrap()
    }

    fn option(&self, number: usize, place: usize) -> &str {
        self.questions[number]["options"][place]["id"]
            .as_str()
            .unwrap()
    }

    /// Builds the answers to the step. An entry of `chosen` has the number of a question and the
    /// positions of the chosen options. An entry of `written` has the number of a question and the
    /// text of the answer.
    fn answers(&self, chosen: &[(usize, &[usize])], written: &[(usize, &str)]) -> Value {
        let mut answers = json!({});
        for (number, places) in chosen {
            let ids: Vec<&str> = places
                .iter()
                .map(|place| self.option(*number, *place))
                .collect();
            answers[self.question(*number)] = json!({ "optionIds": ids });
        }
        for (number, text) in written {
            answers[self.question(*number)] = json!({ "text": text });
        }
        answers
    }

    /// Returns the numbers of the questions that a view of the step shows.
    fn shown_questions(&self, view: &Value) -> Vec<usize> {
        let number = |question: &Value| {
            (0..5)
                .find(|number| question["id"] == self.question(*number))
                .unwrap()
        };
        view["questions"]
            .as_array()
            .unwrap()
            .iter()
            .map(number)
            .collect()
    }
}
