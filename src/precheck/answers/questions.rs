//! Additional questions: which are asked, and what answers them.

use std::collections::HashSet;

use engine::operation::Object;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::question::{Question, QuestionKind};
use super::Found;

/// Characters in a text at the most.
const TEXT_LENGTH: usize = 6000;

/// Whether every question that is asked and required is answered.
pub(super) fn are_answered(questions: &[Question], answers: &Object) -> bool {
    shown(questions, answers).iter().all(|question| !question.is_required || is_answered(question, answers))
}

/// The questions that are asked, given what has been answered. An answer to a question that is not asked shows nothing.
#[must_use]
pub fn shown<'q>(questions: &'q [Question], answers: &Object) -> Vec<&'q Question> {
    let mut chosen = HashSet::new();
    let mut shown = Vec::new();
    for question in questions {
        let is_asked = question.conditions.is_empty() || question.conditions.iter().any(|condition| chosen.contains(&condition.option_id));
        if is_asked {
            chosen.extend(choice(question, answers));
            shown.push(question);
        }
    }
    shown
}

/// What a guest answered to a question, as far as it still fits: options that were removed since are left out.
#[must_use]
pub fn given(question: &Question, answers: &Object) -> Option<Value> {
    let answer = answers.get(&question.id.to_string()).filter(|answer| answer.is_object())?;
    Some(match question.kind {
        QuestionKind::FreeFormInput => answer.clone(),
        _ => json!({ "optionIds": choice(question, answers) }),
    })
}

/// The options of a question that a guest chose.
fn choice(question: &Question, answers: &Object) -> Vec<Uuid> {
    let sent = answers.get(&question.id.to_string()).and_then(|answer| answer["optionIds"].as_array());
    let ids = sent.into_iter().flatten().filter_map(|id| id.as_str().and_then(|text| text.parse().ok()));
    // An option may have been removed since.
    ids.filter(|id| question.options.iter().any(|option| option.id == *id)).collect()
}

fn is_answered(question: &Question, answers: &Object) -> bool {
    match question.kind {
        QuestionKind::FreeFormInput => {
            answers.get(&question.id.to_string()).and_then(|answer| answer["text"].as_str()).is_some_and(|text| !text.trim().is_empty())
        }
        _ => !choice(question, answers).is_empty(),
    }
}

/// Notes what is wrong with answers to these questions.
pub(super) fn judge(questions: &[Question], answers: &Object, found: &mut Found) {
    for (key, answer) in answers {
        let question = key.parse().ok().and_then(|id: Uuid| questions.iter().find(|question| question.id == id));
        match question {
            Some(question) if *key == question.id.to_string() => judge_answer(question, key, answer, found),
            _ => found.add(&[key.as_str()], "is not a question of this step"),
        }
    }
}

fn judge_answer(question: &Question, key: &str, answer: &Value, found: &mut Found) {
    let fields = match answer {
        Value::Null => return,
        Value::Object(fields) => fields,
        _ => return found.add(&[key], "must be of type object"),
    };
    let takes_text = question.kind == QuestionKind::FreeFormInput;
    for (name, value) in fields {
        match name.as_str() {
            "text" if takes_text => judge_text(key, value, found),
            "optionIds" if !takes_text => judge_choice(question, key, value, found),
            "text" | "optionIds" => found.add(&[key, name], "does not answer this kind of question"),
            _ => found.add(&[key, name], "unrecognized field"),
        }
    }
}

fn judge_text(key: &str, value: &Value, found: &mut Found) {
    match value.as_str() {
        None => found.add(&[key, "text"], "must be of type string"),
        Some(text) if text.chars().count() > TEXT_LENGTH => found.add(&[key, "text"], "must have at most 6000 characters"),
        Some(_) => {}
    }
}

fn judge_choice(question: &Question, key: &str, value: &Value, found: &mut Found) {
    let Some(ids) = value.as_array() else { return found.add(&[key, "optionIds"], "must be of type array") };
    let is_own = |id: &Value| {
        let id = id.as_str().and_then(|text| text.parse::<Uuid>().ok());
        id.is_some_and(|id| question.options.iter().any(|option| option.id == id))
    };
    for (place, _) in ids.iter().enumerate().filter(|(_, id)| !is_own(id)) {
        found.add_at(vec![key.into(), "optionIds".into(), place.into()], "is not an option of this question");
    }
    if question.kind != QuestionKind::MultiSelect && ids.len() > 1 {
        found.add(&[key, "optionIds"], "must have at most 1 item");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::question::{Condition, QuestionOption};
    use super::*;

    fn id(number: usize) -> Uuid {
        Uuid::from_u128(number as u128)
    }

    /// A question with three options, or a free one; its options are numbered from ten times its own number.
    fn question(number: usize, kind: QuestionKind, is_required: bool, conditions: &[usize]) -> Question {
        let option = |place| QuestionOption { id: id(number * 10 + place), name_ml_text_id: Some(id(9)), answer: None };
        let is_free = kind == QuestionKind::FreeFormInput;
        Question {
            id: id(number),
            kind,
            text_ml_text_id: id(8),
            is_required,
            options: if is_free { Vec::new() } else { (0..3).map(option).collect() },
            conditions: conditions.iter().map(|option| Condition { option_id: id(*option) }).collect(),
        }
    }

    fn object(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn every_wrong_answer_is_named() {
        use QuestionKind::{FreeFormInput, MultiSelect, SingleSelect};
        let asked = [question(1, SingleSelect, true, &[]), question(2, MultiSelect, true, &[]), question(3, FreeFormInput, true, &[])];
        let issues = |answers: &Object| {
            let mut found = Found::default();
            judge(&asked, answers, &mut found);
            found.0
        };
        let key = |number: usize| id(number).to_string();
        let fine = json!({ key(1): { "optionIds": [id(10)] }, key(2): { "optionIds": [id(20), id(22)] }, key(3): { "text": "at noon" } });
        assert_eq!(issues(&object(fine.clone())), []);
        assert!(are_answered(&asked, &object(fine)));
        let partial = json!({ key(1): null, key(2): { "optionIds": [] }, key(3): { "text": " " } });
        assert_eq!(issues(&object(partial.clone())), []);
        assert!(!are_answered(&asked, &object(partial)));
        let wrong = json!({
            key(1): { "optionIds": [id(10), id(20)] }, key(2): { "text": "both" }, key(3): { "text": 5, "colour": 1 }, key(4): {}, "x": {},
        });
        let paths: Vec<String> = issues(&object(wrong)).iter().map(|issue| serde_json::to_string(&issue.path).unwrap()).collect();
        let mut expected = vec![
            json!([key(1), "optionIds", 1]).to_string(),
            json!([key(1), "optionIds"]).to_string(),
            json!([key(2), "text"]).to_string(),
            json!([key(3), "text"]).to_string(),
            json!([key(3), "colour"]).to_string(),
            json!([key(4)]).to_string(),
            json!(["x"]).to_string(),
        ];
        let mut paths = paths;
        paths.sort();
        expected.sort();
        assert_eq!(paths, expected);
    }

    /// Whether a question is asked, found by going back along its conditions.
    fn is_asked(number: usize, questions: &[Question], answers: &Object) -> bool {
        let question = &questions[number];
        question.conditions.is_empty()
            || (0..number).any(|earlier| {
                let chosen =
                    answers.get(&questions[earlier].id.to_string()).map(|answer| answer["optionIds"].to_string()).unwrap_or_default();
                is_asked(earlier, questions, answers)
                    && question.conditions.iter().any(|condition| {
                        let is_its_option = questions[earlier].options.iter().any(|option| option.id == condition.option_id);
                        is_its_option && chosen.contains(&condition.option_id.to_string())
                    })
            })
    }

    proptest! {
        #[test]
        fn agrees_with_going_back_along_the_conditions(
            // For each question the options it depends on (by question and place), and what was chosen.
            shape in prop::collection::vec((prop::collection::vec((0..6_usize, 0..3_usize), 0..3), prop::collection::vec(0..3_usize, 0..3)), 1..7),
        ) {
            let questions: Vec<Question> = shape.iter().enumerate().map(|(index, (conditions, _))| {
                let earlier: Vec<usize> = conditions.iter().filter(|(other, _)| *other < index).map(|(other, place)| (other + 1) * 10 + place).collect();
                question(index + 1, QuestionKind::MultiSelect, true, &earlier)
            }).collect();
            let answers: Object = shape.iter().enumerate().map(|(index, (_, chosen))| {
                let ids: Vec<Uuid> = chosen.iter().map(|place| id((index + 1) * 10 + place)).collect();
                (id(index + 1).to_string(), json!({ "optionIds": ids }))
            }).collect();
            let expected: Vec<&Question> = (0..questions.len()).filter(|number| is_asked(*number, &questions, &answers)).map(|number| &questions[number]).collect();
            prop_assert_eq!(shown(&questions, &answers), expected);
        }
    }
}
