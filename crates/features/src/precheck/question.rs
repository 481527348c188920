//! The questions of a step, and the replacement of the stored list by a list in a request (rules:
//! steps#questions).

use std::collections::{HashMap, HashSet};

use engine::error::{Issue, PathSegment, Reason};
use engine::field::TextsByLanguage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::texts::{OPTION, QUESTION};

/// The kind of a question, which decides the form of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// The guest chooses one option.
    SingleSelect,
    /// The guest chooses any number of options.
    MultiSelect,
    /// The guest writes a text.
    FreeFormInput,
    /// The guest answers yes or no. The server creates both options.
    YesNo,
}

/// The meaning of an option of a yes-or-no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum YesNo {
    Yes,
    No,
}

/// A question in the database and in responses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Id that the server assigns; the stored answers of guests refer to it.
    pub id: Uuid,
    /// The kind of the question, which decides the form of its answer.
    pub kind: QuestionKind,
    /// Id of the translation of the question's text.
    pub text_ml_text_id: Uuid,
    /// Whether the step is incomplete without an answer.
    #[serde(default)]
    #[schemars(!default)]
    pub is_required: bool,
    /// The options, in order.
    #[serde(default)]
    #[schemars(!default)]
    pub options: Vec<QuestionOption>,
    /// The conditions under which a guest is asked the question. One condition that is met is
    /// enough. Without conditions, every guest is asked.
    #[serde(default)]
    #[schemars(!default)]
    pub conditions: Vec<Condition>,
}

/// An option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionOption {
    /// Id that the server assigns.
    pub id: Uuid,
    /// Id of the translation of the option's name; null for the options of a yes-or-no question.
    pub name_ml_text_id: Option<Uuid>,
    /// The answer of the option in a yes-or-no question; null in any other question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<YesNo>,
    /// Whether the submission is flagged if the guest chooses the option.
    #[serde(default)]
    #[schemars(!default)]
    pub is_flagged: bool,
}

/// A condition that is met if the guest chose an option of an earlier question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Id of the option that the guest must have chosen.
    pub option_id: Uuid,
}

/// A question in a request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend(
    "if" = { "not": { "required": ["texts"] } },
    "then" = { "required": ["textMlTextId"] }
))]
pub struct QuestionInput {
    /// Id of a stored question of this step: the question is changed, and guests' answers to it are
    /// kept. Left out or null: a new question. Any other id is a 400, and so is every id on create.
    #[serde(default)]
    pub id: Option<Uuid>,
    /// How the question is answered: by one option, by any number of options, by a text, or by yes
    /// or no. The kind of a stored question cannot change.
    pub kind: QuestionKind,
    /// Id of a `precheck_question` translation: the text of the question. A new link or a changed
    /// link needs `modify_tasks`.
    #[schemars(extend("x-text-source" = "precheck_question", "x-permission" = "modify_tasks"))]
    #[serde(default)]
    pub text_ml_text_id: Option<Uuid>,
    /// The text by language, instead of the id. The server creates a translation from it.
    #[serde(default)]
    pub texts: Option<TextsByLanguage>,
    /// Whether the step is incomplete until the question is answered. Null or left out: `false`.
    #[serde(default)]
    pub is_required: Option<bool>,
    /// The options, in order. `single_select` and `multi_select` need at least one option,
    /// `free_form_input` has none, and `yes_no` has two that the server makes. If the list leaves
    /// out an option of a stored question, the option is deleted.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub options: Option<Vec<OptionInput>>,
    /// When the question is asked: when at least one of the conditions is met. Null, `[]` or left
    /// out: always.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    pub conditions: Option<Vec<ConditionInput>>,
}

/// An option in a request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OptionInput {
    /// Id of a stored option of this question. Left out or null: a new option. Any other id is a
    /// 400.
    #[serde(default)]
    pub id: Option<Uuid>,
    /// Id of a `precheck_question` translation: the option's name. Required for `single_select` and
    /// `multi_select`, refused for `yes_no`; to link or change the translation needs
    /// `modify_tasks`.
    #[schemars(extend("x-text-source" = "precheck_question", "x-permission" = "modify_tasks"))]
    #[serde(default)]
    pub name_ml_text_id: Option<Uuid>,
    /// The name by language, instead of `nameMlTextId`. The server creates a translation from it.
    #[serde(default)]
    pub texts: Option<TextsByLanguage>,
    /// Read-only: the answer of an option of a stored `yes_no` question. Send it as it was read, or
    /// leave it out.
    #[serde(default)]
    pub answer: Option<YesNo>,
    /// Whether the submission is flagged if the guest chooses the option and the step has
    /// `isManualReviewEnabled`. Null or left out: `false` for a new option, unchanged for a stored
    /// option.
    #[serde(default)]
    pub is_flagged: Option<bool>,
}

impl QuestionInput {
    /// Returns the translation that the question links. Returns the nil id if the question is
    /// invalid, or if the translation is not created yet.
    fn text(&self) -> Uuid {
        self.text_ml_text_id.unwrap_or_default()
    }
}

/// For each question and option that is sent with `texts` instead of an id, creates a translation
/// and sets its id.
pub fn create_texts<E>(
    sent: &mut [QuestionInput],
    mut create: impl FnMut(&TextsByLanguage) -> Result<Uuid, E>,
) -> Result<(), E> {
    for question in sent {
        if let Some(texts) = question.texts.take() {
            question.text_ml_text_id = Some(create(&texts)?);
        }
        for option in question.options.iter_mut().flatten() {
            if let Some(texts) = option.texts.take() {
                option.name_ml_text_id = Some(create(&texts)?);
            }
        }
    }
    Ok(())
}

/// A condition in a request: `{optionId}`, or `{questionIndex, optionIndex}` for a question of the
/// same request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConditionInput {
    /// Id of a stored option of an earlier question. The condition is met when the guest has chosen
    /// the option. Send either this id or both indexes.
    #[serde(default)]
    pub option_id: Option<Uuid>,
    /// Position in `questions`, from 0, of an earlier question. Together with `optionIndex`, it
    /// refers to an option that has no id yet.
    #[serde(default)]
    #[schemars(range(max = 99))]
    pub question_index: Option<u32>,
    /// Zero-based position of the option in the `options` of the question at `questionIndex`. Of a
    /// `yes_no` question 0 is yes and 1 is no. Send it together with `questionIndex`.
    #[serde(default)]
    #[schemars(range(max = 99))]
    pub option_index: Option<u32>,
}

/// A translation that a question or an option links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedText {
    /// The path of the field that links the translation, relative to `questions` in the request.
    pub path: Vec<PathSegment>,
    /// The name of the field that links the translation: `textMlTextId` or `nameMlTextId`.
    pub field: &'static str,
    /// The id of the linked translation.
    pub id: Uuid,
    /// Whether the stored question or option already links this translation in the same field.
    pub is_kept: bool,
}

/// Returns the translations to which the questions in a request and their options refer. `stored`
/// are the questions that the step has before the request.
#[must_use]
pub fn linked_texts(inputs: &[QuestionInput], stored: &[Question]) -> Vec<LinkedText> {
    let texts: HashMap<Uuid, Uuid> = stored
        .iter()
        .map(|question| (question.id, question.text_ml_text_id))
        .collect();
    let names: HashMap<Uuid, Option<Uuid>> = stored
        .iter()
        .flat_map(|question| &question.options)
        .map(|option| (option.id, option.name_ml_text_id))
        .collect();
    let mut linked = Vec::new();
    for (question_index, question) in inputs.iter().enumerate() {
        let id = question.text();
        let is_kept = question
            .id
            .is_some_and(|question| texts.get(&question) == Some(&id));
        linked.push(LinkedText {
            path: vec![question_index.into(), QUESTION.into()],
            field: QUESTION,
            id,
            is_kept,
        });
        for (option_index, option) in question.options.iter().flatten().enumerate() {
            let Some(id) = option.name_ml_text_id else {
                continue;
            };
            let is_kept = option
                .id
                .is_some_and(|option| names.get(&option) == Some(&Some(id)));
            linked.push(LinkedText {
                path: option_path(question_index, option_index, OPTION),
                field: OPTION,
                id,
                is_kept,
            });
        }
    }
    linked
}

/// Returns the questions that result from a list in a request, or the issues of that list. The path
/// of an issue is relative to `questions`.
///
/// A question or option that is sent with an id updates the stored question or option. Without an
/// id, it is created. Stored questions and options that the list does not contain are deleted.
pub fn replace(
    inputs: &[QuestionInput],
    stored: &[Question],
    mut new_id: impl FnMut() -> Uuid,
) -> Result<Vec<Question>, Vec<Issue>> {
    let mut issues = Issues::default();
    let mut questions = Vec::with_capacity(inputs.len());
    let mut seen = HashSet::new();
    for (number, input) in inputs.iter().enumerate() {
        let existing_question = input
            .id
            .and_then(|id| stored.iter().find(|question| question.id == id));
        if let Some(id) = input.id {
            if existing_question.is_none() {
                issues.add(
                    vec![number.into(), "id".into()],
                    Reason::rule("not_of_step", "does not belong to the step"),
                );
            } else if !seen.insert(id) {
                issues.add(
                    vec![number.into(), "id".into()],
                    Reason::rule("given_twice", "must not be sent twice"),
                );
            }
        }
        if existing_question.is_some_and(|existing_question| existing_question.kind != input.kind) {
            issues.add(
                vec![number.into(), "kind".into()],
                Reason::rule("kind_stays", "must not change for an existing question"),
            );
        }
        text_issues(number, input, &mut issues);
        let options = match input.kind {
            QuestionKind::YesNo => {
                yes_and_no(number, input, existing_question, &mut issues, &mut new_id)
            }
            QuestionKind::FreeFormInput => no_options(number, input, &mut issues),
            QuestionKind::SingleSelect | QuestionKind::MultiSelect => {
                choices(number, input, existing_question, &mut issues, &mut new_id)
            }
        };
        let conditions = conditions(number, input, &questions, &mut issues);
        questions.push(Question {
            id: input.id.unwrap_or_else(&mut new_id),
            kind: input.kind,
            text_ml_text_id: input.text(),
            is_required: input.is_required.unwrap_or(false),
            options,
            conditions,
        });
    }
    if issues.0.is_empty() {
        Ok(questions)
    } else {
        Err(issues.0)
    }
}

/// Returns those issues of a request's list of questions that do not depend on the stored
/// questions. For a new step, these are all its issues. The path of an issue is relative to
/// `questions`.
#[must_use]
pub fn question_input_issues(inputs: &[QuestionInput], is_new: bool) -> Vec<Issue> {
    let stored: Vec<Question> = if is_new {
        Vec::new()
    } else {
        inputs.iter().filter_map(stored_question).collect()
    };
    let issues = replace(inputs, &stored, Uuid::nil)
        .err()
        .unwrap_or_default();
    // On an update, a condition may name an option of a stored question that the request does not
    // contain. Only the transaction reads the stored questions and can check this condition, so its
    // issue is dropped here. A condition of the first question is always wrong, because no question
    // precedes it.
    let depends_on_stored = |path: &[PathSegment]| match path {
        [
            PathSegment::Index(question_index),
            PathSegment::Key(field),
            PathSegment::Index(condition_index),
        ] if field == "conditions" => {
            let conditions = inputs
                .get(*question_index)
                .and_then(|question| question.conditions.as_deref())
                .unwrap_or_default();
            *question_index > 0
                && conditions.get(*condition_index).is_some_and(|input| {
                    input.option_id.is_some() && input.question_index.is_none()
                })
        }
        _ => false,
    };
    issues
        .into_iter()
        .filter(|issue| is_new || !depends_on_stored(&issue.path))
        .collect()
}

/// Builds a stored question from `input`, a question in a request that names a stored question by
/// its id. Reads no stored data, so the result is not required, and has no conditions, no flagged
/// options and no names of options. Returns `None` if `input` has no id.
fn stored_question(input: &QuestionInput) -> Option<Question> {
    let options = input.options.iter().flatten().filter_map(|option| {
        Some(QuestionOption {
            id: option.id?,
            name_ml_text_id: None,
            answer: option.answer,
            is_flagged: false,
        })
    });
    Some(Question {
        id: input.id?,
        kind: input.kind,
        text_ml_text_id: input.text(),
        is_required: false,
        options: options.collect(),
        conditions: Vec::new(),
    })
}

#[derive(Default)]
struct Issues(Vec<Issue>);

impl Issues {
    fn add(&mut self, path: Vec<PathSegment>, reason: Reason) {
        self.0.push(Issue::at(path, reason));
    }
}

/// Adds an issue for a question without a text, and for a text that is sent both as an id and as
/// `texts`.
fn text_issues(number: usize, input: &QuestionInput, issues: &mut Issues) {
    let both = || {
        Reason::rule(
            "text_or_texts",
            "is sent beside the other form; send either the id of a translation or texts",
        )
    };
    match (input.text_ml_text_id, &input.texts) {
        (None, None) => issues.add(vec![number.into(), QUESTION.into()], Reason::Required),
        (Some(_), Some(_)) => issues.add(vec![number.into(), "texts".into()], both()),
        _ => {}
    }
    let repeated = |texts: &Option<TextsByLanguage>| {
        let tag = texts.as_ref().and_then(TextsByLanguage::repeated);
        tag.map(PathSegment::from)
    };
    if let Some(tag) = repeated(&input.texts) {
        issues.add(vec![number.into(), "texts".into(), tag], Reason::Twice);
    }
    for (option_index, option) in input.options.iter().flatten().enumerate() {
        if let Some(tag) = repeated(&option.texts) {
            let path = [option_path(number, option_index, "texts"), vec![tag]].concat();
            issues.add(path, Reason::Twice);
        }
        if option.name_ml_text_id.is_some() && option.texts.is_some() {
            issues.add(option_path(number, option_index, "texts"), both());
        }
    }
}

fn option_path(question: usize, option: usize, field: &str) -> Vec<PathSegment> {
    vec![
        question.into(),
        "options".into(),
        option.into(),
        field.into(),
    ]
}

/// Returns the two options of a yes-or-no question. The options of a stored question keep their
/// ids.
fn yes_and_no(
    number: usize,
    input: &QuestionInput,
    existing_question: Option<&Question>,
    issues: &mut Issues,
    new_id: &mut impl FnMut() -> Uuid,
) -> Vec<QuestionOption> {
    let mut existing = existing_question
        .filter(|existing_question| existing_question.kind == QuestionKind::YesNo)
        .map(|existing_question| existing_question.options.clone());
    for (option_index, option_input) in input.options.iter().flatten().enumerate() {
        let option = existing
            .iter_mut()
            .flatten()
            .find(|option| Some(option.id) == option_input.id);
        match option {
            None => {
                issues.add(
                    vec![number.into(), "options".into(), option_index.into()],
                    Reason::rule(
                        "yes_no_options",
                        "must be one of the two options that the server creates for a yes_no \
                            question",
                    ),
                );
            }
            Some(option) => {
                if option_input.name_ml_text_id.is_some() || option_input.texts.is_some() {
                    issues.add(
                        option_path(number, option_index, "nameMlTextId"),
                        Reason::rule(
                            "yes_no_names",
                            "must not be set for an option of a yes_no question",
                        ),
                    );
                }
                if option_input.answer.is_some() && option_input.answer != option.answer {
                    issues.add(
                        option_path(number, option_index, "answer"),
                        Reason::ReadOnly,
                    );
                }
                option.is_flagged = option_input.is_flagged.unwrap_or(option.is_flagged);
            }
        }
    }
    let mut make = |answer| QuestionOption {
        id: new_id(),
        name_ml_text_id: None,
        answer: Some(answer),
        is_flagged: false,
    };
    existing.unwrap_or_else(|| vec![make(YesNo::Yes), make(YesNo::No)])
}

fn no_options(number: usize, input: &QuestionInput, issues: &mut Issues) -> Vec<QuestionOption> {
    if input
        .options
        .as_ref()
        .is_some_and(|options| !options.is_empty())
    {
        issues.add(
            vec![number.into(), "options".into()],
            Reason::rule("no_options", "must be empty for a free_form_input question"),
        );
    }
    Vec::new()
}

fn choices(
    number: usize,
    input: &QuestionInput,
    existing_question: Option<&Question>,
    issues: &mut Issues,
    new_id: &mut impl FnMut() -> Uuid,
) -> Vec<QuestionOption> {
    let inputs = input.options.as_deref().unwrap_or_default();
    if inputs.is_empty() {
        issues.add(vec![number.into(), "options".into()], Reason::MinItems(1));
    }
    let existing: HashMap<Uuid, bool> = existing_question
        .iter()
        .flat_map(|existing_question| &existing_question.options)
        .map(|option| (option.id, option.is_flagged))
        .collect();
    let mut seen = HashSet::new();
    let mut options = Vec::with_capacity(inputs.len());
    for (option_index, option) in inputs.iter().enumerate() {
        if let Some(id) = option.id {
            if !existing.contains_key(&id) {
                issues.add(
                    option_path(number, option_index, "id"),
                    Reason::rule("not_of_question", "does not belong to the question"),
                );
            } else if !seen.insert(id) {
                issues.add(
                    option_path(number, option_index, "id"),
                    Reason::rule("given_twice", "must not be sent twice"),
                );
            }
        }
        if option.name_ml_text_id.is_none() && option.texts.is_none() {
            issues.add(
                option_path(number, option_index, "nameMlTextId"),
                Reason::Required,
            );
        }
        if option.answer.is_some() {
            issues.add(
                option_path(number, option_index, "answer"),
                Reason::ReadOnly,
            );
        }
        options.push(QuestionOption {
            id: option.id.unwrap_or_else(&mut *new_id),
            name_ml_text_id: option.name_ml_text_id,
            answer: None,
            is_flagged: option.is_flagged.unwrap_or_else(|| {
                let existing_flag = option.id.and_then(|id| existing.get(&id));
                existing_flag.copied().unwrap_or(false)
            }),
        });
    }
    options
}

/// Returns the conditions of a question. Adds an issue for each condition that does not refer to an
/// option of an earlier question.
fn conditions(
    number: usize,
    input: &QuestionInput,
    earlier: &[Question],
    issues: &mut Issues,
) -> Vec<Condition> {
    let mut conditions = Vec::new();
    for (condition_index, condition) in input.conditions.iter().flatten().enumerate() {
        let path = vec![number.into(), "conditions".into(), condition_index.into()];
        let option_id = match (
            condition.option_id,
            condition.question_index,
            condition.option_index,
        ) {
            (Some(id), None, None) => earlier
                .iter()
                .flat_map(|question| &question.options)
                .find(|option| option.id == id)
                .map(|_| id),
            (None, Some(question), Some(option)) => item_at(earlier, question)
                .and_then(|question| item_at(&question.options, option))
                .map(|option| option.id),
            _ => {
                issues.add(
                    path,
                    Reason::rule(
                        "condition_form",
                        "must be {optionId} or {questionIndex, optionIndex}",
                    ),
                );
                continue;
            }
        };
        match option_id {
            Some(option_id) => conditions.push(Condition { option_id }),
            None => issues.add(
                path,
                Reason::rule(
                    "earlier_option",
                    "must point at an option of an earlier question",
                ),
            ),
        }
    }
    conditions
}

fn item_at<T>(items: &[T], index: u32) -> Option<&T> {
    usize::try_from(index)
        .ok()
        .and_then(|index| items.get(index))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn sent(questions: Value) -> Vec<QuestionInput> {
        serde_json::from_value(questions).unwrap()
    }

    fn replaced(questions: Value, stored: &[Question]) -> Result<Vec<Question>, Vec<String>> {
        let mut next = 1000;
        let ids = || {
            next += 1;
            id(next)
        };
        replace(&sent(questions), stored, ids).map_err(|issues| {
            let steps = |issue: &Issue| serde_json::to_string(&issue.path).unwrap();
            issues.iter().map(steps).collect()
        })
    }

    fn two() -> Vec<Question> {
        replaced(
            json!([
                { "kind": "yes_no", "textMlTextId": id(1) },
                {
                    "kind": "single_select",
                    "textMlTextId": id(2),
                    "isRequired": true,
                    "options": [{ "nameMlTextId": id(3) }, { "nameMlTextId": id(4) }],
                    "conditions": [{ "questionIndex": 0, "optionIndex": 0 }],
                },
            ]),
            &[],
        )
        .unwrap()
    }

    #[test]
    fn questions_can_be_sent_back_as_read() {
        let stored = two();
        assert_eq!(
            stored[0]
                .options
                .iter()
                .map(|option| option.answer)
                .collect::<Vec<_>>(),
            [Some(YesNo::Yes), Some(YesNo::No)]
        );
        assert_eq!(
            stored[1].conditions,
            [Condition {
                option_id: stored[0].options[0].id
            }]
        );
        let read = serde_json::to_value(&stored).unwrap();
        assert_eq!(replaced(read, &stored).unwrap(), stored);
    }

    #[test]
    fn a_flag_is_kept_until_another_is_sent() {
        let mut stored = two();
        let read = serde_json::to_value(&stored).unwrap();
        assert_eq!(read[1]["options"][0]["isFlagged"], false);
        for (question, place) in [(0, 1), (1, 0)] {
            let mut flagged = read.clone();
            flagged[question]["options"][place]["isFlagged"] = json!(true);
            stored = replaced(flagged.clone(), &two()).unwrap();
            assert!(stored[question].options[place].is_flagged);
            for (sent, expected) in [
                (None, true),
                (Some(json!(null)), true),
                (Some(json!(false)), false),
            ] {
                let option = flagged[question]["options"][place].as_object_mut().unwrap();
                option.remove("isFlagged");
                option.extend(sent.map(|sent| ("isFlagged".to_owned(), sent)));
                let saved = replaced(flagged.clone(), &stored).unwrap();
                assert_eq!(saved[question].options[place].is_flagged, expected);
            }
        }
        let mut short = read;
        short[0].as_object_mut().unwrap().remove("options");
        stored[0].options[0].is_flagged = true;
        assert!(replaced(short, &stored).unwrap()[0].options[0].is_flagged);
    }

    #[test]
    fn conditions_refer_only_to_earlier_questions() {
        let stored = two();
        let mut read = serde_json::to_value(&stored).unwrap();
        read.as_array_mut().unwrap().reverse();
        assert_eq!(
            replaced(read.clone(), &stored).unwrap_err(),
            [r#"[0,"conditions",0]"#]
        );
        read[0]["conditions"] = json!([
            { "questionIndex": 0, "optionIndex": 0 },
            { "optionId": id(7) },
            {},
            { "questionIndex": 1 },
        ]);
        assert_eq!(replaced(read, &stored).unwrap_err().len(), 4);
        // The request contains the second question alone. Its condition refers to the first
        // question, which the request does not contain.
        let alone = json!([serde_json::to_value(&stored[1]).unwrap()]);
        assert_eq!(
            replaced(alone, &stored).unwrap_err(),
            [r#"[0,"conditions",0]"#]
        );
    }

    #[test]
    fn every_wrong_field_of_a_question_is_named() {
        let stored = two();
        let (first, second) = (&stored[0], &stored[1]);
        let wrong = json!([
            { "id": first.id, "kind": "free_form_input", "textMlTextId": id(1), "options": [{}] },
            {
                "id": second.id,
                "kind": "single_select",
                "textMlTextId": id(2),
                "options": [
                    { "id": first.options[0].id, "nameMlTextId": id(3) },
                    { "id": second.options[0].id, "nameMlTextId": id(3) },
                    { "id": second.options[0].id },
                    { "nameMlTextId": id(3), "answer": "yes" },
                ],
            },
            {
                "id": second.id,
                "kind": "single_select",
                "textMlTextId": id(2),
                "options": [{ "nameMlTextId": id(3) }],
            },
            { "id": id(9), "kind": "multi_select", "textMlTextId": id(2) },
            { "kind": "yes_no", "textMlTextId": id(2), "options": [{ "nameMlTextId": id(3) }] },
        ]);
        let expected = [
            r#"[0,"kind"]"#,
            r#"[0,"options"]"#,
            r#"[1,"options",0,"id"]"#,
            r#"[1,"options",2,"id"]"#,
            r#"[1,"options",2,"nameMlTextId"]"#,
            r#"[1,"options",3,"answer"]"#,
            r#"[2,"id"]"#,
            r#"[3,"id"]"#,
            r#"[3,"options"]"#,
            r#"[4,"options",0]"#,
        ];
        assert_eq!(replaced(wrong, &stored).unwrap_err(), expected);
    }

    #[test]
    fn a_text_link_is_kept_if_the_same_question_had_it() {
        let stored = two();
        let read = sent(serde_json::to_value(&stored).unwrap());
        assert!(linked_texts(&read, &stored).iter().all(|text| text.is_kept));
        assert!(linked_texts(&read, &[]).iter().all(|text| !text.is_kept));
        let mut swapped = read;
        swapped[1].options.as_mut().unwrap().swap(0, 1);
        assert!(
            linked_texts(&swapped, &stored)
                .iter()
                .all(|text| text.is_kept),
            "the place does not matter"
        );
        swapped[1].options.as_mut().unwrap()[0].name_ml_text_id = Some(id(3));
        assert_eq!(
            linked_texts(&swapped, &stored)
                .iter()
                .filter(|text| !text.is_kept)
                .count(),
            1
        );
    }

    proptest! {
        /// A client sends back some of the stored questions, in their order and without conditions.
        /// These questions have the same ids as before, and all others are deleted.
        #[test]
        fn omitted_questions_are_removed_and_others_keep_their_ids(
            kept in prop::collection::vec(any::<bool>(), 2),
            options in prop::collection::vec(any::<bool>(), 2),
        ) {
            prop_assume!(options.contains(&true));
            let stored = two();
            let mut expected: Vec<Question> = stored
                .iter()
                .zip(&kept)
                .filter(|(_, kept)| **kept)
                .map(|(question, _)| question.clone())
                .collect();
            for question in &mut expected {
                question.conditions.clear();
                if question.kind == QuestionKind::SingleSelect {
                    let mut keep = options.iter();
                    question.options.retain(|_| *keep.next().unwrap());
                }
            }
            prop_assert_eq!(
                replaced(serde_json::to_value(&expected).unwrap(), &stored).unwrap(),
                expected
            );
        }
    }
}
