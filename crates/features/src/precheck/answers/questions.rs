//! Selects the additional questions that a guest is asked, and checks the answers to them.

use std::collections::HashSet;

use engine::operation::Object;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::question::{Question, QuestionKind, QuestionOption};
use super::FoundIssues;

/// Maximum length of a text answer, in characters.
const TEXT_LENGTH: usize = 6000;

/// Returns whether the answers contain an answer to every required question that the guest is
/// asked.
pub(super) fn are_answered(questions: &[Question], answers: &Object) -> bool {
    shown_questions(questions, answers)
        .iter()
        .all(|question| !question.is_required || is_answered(question, answers))
}

/// Returns the questions that a guest with these answers is asked. An answer to a hidden question
/// does not make another question visible.
#[must_use]
pub fn shown_questions<'q>(questions: &'q [Question], answers: &Object) -> Vec<&'q Question> {
    let mut chosen = HashSet::new();
    let mut asked_questions = Vec::new();
    for question in questions {
        let is_asked = question.conditions.is_empty()
            || question
                .conditions
                .iter()
                .any(|condition| chosen.contains(&condition.option_id));
        if is_asked {
            chosen.extend(choice(question, answers));
            asked_questions.push(question);
        }
    }
    asked_questions
}

/// Returns the guest's answer to a question. Options that have since been removed from the question
/// are left out.
#[must_use]
pub fn given_answer(question: &Question, answers: &Object) -> Option<Value> {
    let answer = answers
        .get(&question.id.to_string())
        .filter(|answer| answer.is_object())?;
    Some(match question.kind {
        QuestionKind::FreeFormInput => answer.clone(),
        _ => json!({ "optionIds": choice(question, answers) }),
    })
}

/// Returns the ids of the questions whose answers flag the submission: those with a chosen option
/// that is flagged. If no option of the step is flagged, every answered question flags the
/// submission.
#[must_use]
pub fn flagged_questions(questions: &[Question], answers: &Object) -> Vec<Uuid> {
    let has_flags = has_flags(questions);
    let is_flagged = |question: &Question| {
        if !has_flags {
            return is_answered(question, answers);
        }
        let chosen = choice(question, answers);
        let is_chosen = |option: &QuestionOption| chosen.contains(&option.id);
        question
            .options
            .iter()
            .any(|option| option.is_flagged && is_chosen(option))
    };
    shown_questions(questions, answers)
        .into_iter()
        .filter(|question| is_flagged(question))
        .map(|question| question.id)
        .collect()
}

/// Returns whether any of these questions has a flagged option.
#[must_use]
pub fn has_flags(questions: &[Question]) -> bool {
    let mut options = questions.iter().flat_map(|question| &question.options);
    options.any(|option| option.is_flagged)
}

/// Returns the ids of a question's options that the guest chose.
fn choice(question: &Question, answers: &Object) -> Vec<Uuid> {
    let option_ids = answers
        .get(&question.id.to_string())
        .and_then(|answer| answer["optionIds"].as_array());
    let ids = option_ids
        .into_iter()
        .flatten()
        .filter_map(|id| id.as_str().and_then(|text| text.parse().ok()));
    // An option may have been removed since the guest answered.
    ids.filter(|id| question.options.iter().any(|option| option.id == *id))
        .collect()
}

fn is_answered(question: &Question, answers: &Object) -> bool {
    match question.kind {
        QuestionKind::FreeFormInput => answers
            .get(&question.id.to_string())
            .and_then(|answer| answer["text"].as_str())
            .is_some_and(|text| !engine::typed::is_blank(text)),
        _ => !choice(question, answers).is_empty(),
    }
}

/// Adds an issue for each answer that its question does not allow.
pub(super) fn validate_questions(
    questions: &[Question],
    answers: &Object,
    issues: &mut FoundIssues,
) {
    for (key, answer) in answers {
        let question = key
            .parse()
            .ok()
            .and_then(|id: Uuid| questions.iter().find(|question| question.id == id));
        match question {
            Some(question) if *key == question.id.to_string() => {
                validate_answer(question, key, answer, issues);
            }
            _ => issues.add(&[key.as_str()], "is not a question of this step"),
        }
    }
}

fn validate_answer(question: &Question, key: &str, answer: &Value, issues: &mut FoundIssues) {
    let fields = match answer {
        Value::Null => return,
        Value::Object(fields) => fields,
        _ => return issues.add(&[key], "must be of type object"),
    };
    let takes_text = question.kind == QuestionKind::FreeFormInput;
    for (name, value) in fields {
        match name.as_str() {
            "text" if takes_text => validate_text_answer(key, value, issues),
            "optionIds" if !takes_text => validate_choice_answer(question, key, value, issues),
            "text" | "optionIds" => {
                issues.add(&[key, name], "must not be sent for this kind of question");
            }
            _ => issues.add(&[key, name], "unrecognized field"),
        }
    }
}

fn validate_text_answer(key: &str, value: &Value, issues: &mut FoundIssues) {
    match value.as_str() {
        None => issues.add(&[key, "text"], "must be of type string"),
        Some(text) if text.chars().count() > TEXT_LENGTH => {
            issues.add(&[key, "text"], "must have at most 6000 characters");
        }
        Some(_) => {}
    }
}

fn validate_choice_answer(question: &Question, key: &str, value: &Value, issues: &mut FoundIssues) {
    let Some(ids) = value.as_array() else {
        return issues.add(&[key, "optionIds"], "must be of type array");
    };
    let is_own = |id: &Value| {
        let id = id.as_str().and_then(|text| text.parse::<Uuid>().ok());
        id.is_some_and(|id| question.options.iter().any(|option| option.id == id))
    };
    for (index, _) in ids.iter().enumerate().filter(|(_, id)| !is_own(id)) {
        issues.add_at(
            vec![key.into(), "optionIds".into(), index.into()],
            "is not an option of this question",
        );
    }
    if question.kind != QuestionKind::MultiSelect && ids.len() > 1 {
        issues.add(&[key, "optionIds"], "must have at most 1 item");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::question::Condition;
    use super::*;

    fn id(number: usize) -> Uuid {
        Uuid::from_u128(number as u128)
    }

    /// Builds a question with three options, or a free-form question without options. The id of an
    /// option is ten times the question's number plus the option's position.
    fn question(
        number: usize,
        kind: QuestionKind,
        is_required: bool,
        conditions: &[usize],
    ) -> Question {
        let option = |place| QuestionOption {
            id: id(number * 10 + place),
            name_ml_text_id: Some(id(9)),
            answer: None,
            is_flagged: false,
        };
        let is_free = kind == QuestionKind::FreeFormInput;
        Question {
            id: id(number),
            kind,
            text_ml_text_id: id(8),
            is_required,
            options: if is_free {
                Vec::new()
            } else {
                (0..3).map(option).collect()
            },
            conditions: conditions
                .iter()
                .map(|option| Condition {
                    option_id: id(*option),
                })
                .collect(),
        }
    }

    fn object(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn every_wrong_answer_is_named() {
        use QuestionKind::{FreeFormInput, MultiSelect, SingleSelect};
        let asked = [
            question(1, SingleSelect, true, &[]),
            question(2, MultiSelect, true, &[]),
            question(3, FreeFormInput, true, &[]),
        ];
        let issues = |answers: &Object| {
            let mut issues = FoundIssues::default();
            validate_questions(&asked, answers, &mut issues);
            issues.0
        };
        let key = |number: usize| id(number).to_string();
        let fine = json!({
            key(1): { "optionIds": [id(10)] },
            key(2): { "optionIds": [id(20), id(22)] },
            key(3): { "text": "at noon" },
        });
        assert_eq!(issues(&object(fine.clone())), []);
        assert!(are_answered(&asked, &object(fine)));
        let partial = json!({ key(1): null, key(2): { "optionIds": [] }, key(3): { "text": " " } });
        assert_eq!(issues(&object(partial.clone())), []);
        assert!(!are_answered(&asked, &object(partial)));
        let wrong = json!({
            key(1): { "optionIds": [id(10), id(20)] },
            key(2): { "text": "both" },
            key(3): { "text": 5, "colour": 1 },
            key(4): {},
            "x": {},
        });
        let paths: Vec<String> = issues(&object(wrong))
            .iter()
            .map(|issue| serde_json::to_string(&issue.path).unwrap())
            .collect();
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

    #[test]
    fn a_flagged_option_flags_where_any_is_flagged() {
        use QuestionKind::{FreeFormInput, MultiSelect, SingleSelect};
        let mut asked = [
            question(1, SingleSelect, true, &[]),
            question(2, MultiSelect, false, &[11]),
            question(3, FreeFormInput, false, &[]),
        ];
        let key = |number: usize| id(number).to_string();
        let answers = object(json!({
            key(1): { "optionIds": [id(10)] },
            key(2): { "optionIds": [id(20), id(22)] },
            key(3): { "text": "late" },
        }));
        assert_eq!(
            flagged_questions(&asked, &answers),
            [id(1), id(3)],
            "the second is not asked"
        );
        asked[1].options[2].is_flagged = true;
        assert!(flagged_questions(&asked, &answers).is_empty());
        asked[1].conditions.clear();
        assert_eq!(flagged_questions(&asked, &answers), [id(2)]);
        asked[0].options[1].is_flagged = true;
        assert_eq!(
            flagged_questions(&asked, &answers),
            [id(2)],
            "another option was chosen"
        );
    }

    /// Returns whether the guest is asked a question: if it has no conditions, or if the guest
    /// chose the option of one of its conditions in an earlier question that the guest is asked,
    /// too.
    fn is_asked(number: usize, questions: &[Question], answers: &Object) -> bool {
        let question = &questions[number];
        question.conditions.is_empty()
            || (0..number).any(|earlier| {
                let chosen = answers
                    .get(&questions[earlier].id.to_string())
                    .map(|answer| answer["optionIds"].to_string())
                    .unwrap_or_default();
                is_asked(earlier, questions, answers)
                    && question.conditions.iter().any(|condition| {
                        let is_its_option = questions[earlier]
                            .options
                            .iter()
                            .any(|option| option.id == condition.option_id);
                        is_its_option && chosen.contains(&condition.option_id.to_string())
                    })
            })
    }

    proptest! {
        #[test]
        fn asked_questions_agree_with_their_conditions(
            // For each question: its conditions, each as the position of a question and of an
            // option, and the positions of the options that the guest chose.
            shape in prop::collection::vec(
                (
                    prop::collection::vec((0..6_usize, 0..3_usize), 0..3),
                    prop::collection::vec(0..3_usize, 0..3),
                ),
                1..7,
            ),
        ) {
            let questions: Vec<Question> = shape
                .iter()
                .enumerate()
                .map(|(index, (conditions, _))| {
                    let earlier: Vec<usize> = conditions
                        .iter()
                        .filter(|(other, _)| *other < index)
                        .map(|(other, place)| (other + 1) * 10 + place)
                        .collect();
                    question(index + 1, QuestionKind::MultiSelect, true, &earlier)
                })
                .collect();
            let answers: Object = shape
                .iter()
                .enumerate()
                .map(|(index, (_, chosen))| {
                    let ids: Vec<Uuid> = chosen
                        .iter()
                        .map(|place| id((index + 1) * 10 + place))
                        .collect();
                    (id(index + 1).to_string(), json!({ "optionIds": ids }))
                })
                .collect();
            let expected: Vec<&Question> = (0..questions.len())
                .filter(|number| is_asked(*number, &questions, &answers))
                .map(|number| &questions[number])
                .collect();
            prop_assert_eq!(shown_questions(&questions, &answers), expected);
        }
    }
}
