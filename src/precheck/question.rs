//! The questions of a step, and what becomes of them when a list is sent (spec: Question; updatePrecheckStep, 2).

use std::collections::{HashMap, HashSet};

use engine::error::{Issue, PathSegment, Reason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::texts::{OPTION, QUESTION};

/// How a question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// By one of its options.
    SingleSelect,
    /// By any of its options.
    MultiSelect,
    /// By a text.
    FreeFormInput,
    /// By one of two options that the server makes.
    YesNo,
}

/// What an option of a yes-or-no question stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum YesNo {
    Yes,
    No,
}

/// A question, as it is stored and answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Server-assigned; collected answers are attached to it.
    pub id: Uuid,
    /// How it is answered.
    pub kind: QuestionKind,
    /// Translation of its text.
    pub text_ml_text_id: Uuid,
    /// Whether the step is incomplete without an answer.
    #[serde(default)]
    #[schemars(!default)]
    pub is_required: bool,
    /// What can be chosen.
    #[serde(default)]
    #[schemars(!default)]
    pub options: Vec<QuestionOption>,
    /// Any one of them holding shows the question; none shows it always.
    #[serde(default)]
    #[schemars(!default)]
    pub conditions: Vec<Condition>,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionOption {
    /// Server-assigned.
    pub id: Uuid,
    /// Translation of its name; null for the two of a yes-or-no question.
    pub name_ml_text_id: Option<Uuid>,
    /// For the two of a yes-or-no question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<YesNo>,
}

/// Holds when an option of an earlier question was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The option.
    pub option_id: Uuid,
}

/// A question as it is sent.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuestionInput {
    /// Id of a question of this step to keep, with its answers. Left out or null: a new question; an id that is not of the step, and any id
    /// on create, is a 400.
    #[serde(default)]
    pub id: Option<Uuid>,
    /// How the question is answered: by one option, by any number of options, by a text, or by yes or no. A kept question keeps its kind.
    pub kind: QuestionKind,
    /// Id of a `precheck_question` translation: what is asked. Linking a new or another one needs `modify_tasks`.
    pub text_ml_text_id: Uuid,
    /// Whether the step is incomplete until the question is answered. Null or left out: `false`.
    #[serde(default)]
    pub is_required: Option<bool>,
    /// What can be chosen, in order. `single_select` and `multi_select` need at least one, `free_form_input` has none, and `yes_no` has two
    /// that the server makes. Options left out of a kept question are deleted.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub options: Option<Vec<OptionInput>>,
    /// When the question is asked: any one condition that holds shows it. Null, `[]` or left out: always.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    pub conditions: Option<Vec<ConditionInput>>,
}

/// An option as it is sent.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OptionInput {
    /// Id of an option of this question to keep. Left out or null: a new option; an id that is not of the question is a 400.
    #[serde(default)]
    pub id: Option<Uuid>,
    /// Id of a `precheck_question` translation: what the option is called. Required for `single_select` and `multi_select`, refused for
    /// `yes_no`; linking a new or another one needs `modify_tasks`.
    #[serde(default)]
    pub name_ml_text_id: Option<Uuid>,
    /// Read-only: what an option of a kept `yes_no` question stands for. Send it as it was read, or leave it out.
    #[serde(default)]
    pub answer: Option<YesNo>,
}

/// A condition as it is sent: `{optionId}`, or `{questionIndex, optionIndex}` for a question of the same request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConditionInput {
    /// Id of an option of an earlier question that is kept: the condition holds when the guest has chosen it. Send either this or both
    /// indexes.
    #[serde(default)]
    pub option_id: Option<Uuid>,
    /// Position in `questions`, from 0, of an earlier question; to point at an option that has no id yet. Goes with `optionIndex`.
    #[serde(default)]
    #[schemars(range(max = 99))]
    pub question_index: Option<u32>,
    /// Zero-based position of the option in that question's `options`; of a `yes_no` question 0 is yes and 1 is no. Goes with
    /// `questionIndex`.
    #[serde(default)]
    #[schemars(range(max = 99))]
    pub option_index: Option<u32>,
}

/// A translation that a question or an option links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedText {
    /// Below `questions`.
    pub path: Vec<PathSegment>,
    /// The name of the field that links it.
    pub field: &'static str,
    /// The translation.
    pub id: Uuid,
    /// Whether the same question or option links it already.
    pub is_kept: bool,
}

/// The translations that a list links.
#[must_use]
pub fn linked_texts(sent: &[QuestionInput], stored: &[Question]) -> Vec<LinkedText> {
    let texts: HashMap<Uuid, Uuid> = stored.iter().map(|question| (question.id, question.text_ml_text_id)).collect();
    let names: HashMap<Uuid, Option<Uuid>> =
        stored.iter().flat_map(|question| &question.options).map(|option| (option.id, option.name_ml_text_id)).collect();
    let mut linked = Vec::new();
    for (number, question) in sent.iter().enumerate() {
        let id = question.text_ml_text_id;
        let is_kept = question.id.is_some_and(|question| texts.get(&question) == Some(&id));
        linked.push(LinkedText { path: vec![number.into(), QUESTION.into()], field: QUESTION, id, is_kept });
        for (place, option) in question.options.iter().flatten().enumerate() {
            let Some(id) = option.name_ml_text_id else { continue };
            let is_kept = option.id.is_some_and(|option| names.get(&option) == Some(&Some(id)));
            linked.push(LinkedText { path: of_option(number, place, OPTION), field: OPTION, id, is_kept });
        }
    }
    linked
}

/// The list that a sent one makes of the stored one, or what is wrong with it; paths begin below `questions`.
///
/// What is sent with an id is kept, what is sent without one is created, what is left out is gone.
pub fn replace(sent: &[QuestionInput], stored: &[Question], mut new_id: impl FnMut() -> Uuid) -> Result<Vec<Question>, Vec<Issue>> {
    let mut issues = Issues::default();
    let mut questions = Vec::with_capacity(sent.len());
    let mut seen = HashSet::new();
    for (number, input) in sent.iter().enumerate() {
        let kept = input.id.and_then(|id| stored.iter().find(|question| question.id == id));
        if let Some(id) = input.id {
            if kept.is_none() {
                issues.add(vec![number.into(), "id".into()], Reason::rule("not_of_step", "does not belong to the step"));
            } else if !seen.insert(id) {
                issues.add(vec![number.into(), "id".into()], Reason::rule("given_twice", "is given twice"));
            }
        }
        if kept.is_some_and(|kept| kept.kind != input.kind) {
            issues.add(vec![number.into(), "kind".into()], Reason::rule("kind_stays", "a kept question keeps its kind"));
        }
        let options = match input.kind {
            QuestionKind::YesNo => yes_and_no(number, input, kept, &mut issues, &mut new_id),
            QuestionKind::FreeFormInput => no_options(number, input, &mut issues),
            QuestionKind::SingleSelect | QuestionKind::MultiSelect => choices(number, input, kept, &mut issues, &mut new_id),
        };
        let conditions = conditions(number, input, &questions, &mut issues);
        questions.push(Question {
            id: input.id.unwrap_or_else(&mut new_id),
            kind: input.kind,
            text_ml_text_id: input.text_ml_text_id,
            is_required: input.is_required.unwrap_or(false),
            options,
            conditions,
        });
    }
    if issues.0.is_empty() { Ok(questions) } else { Err(issues.0) }
}

/// What is wrong with a list whatever the step has stored, where it is not new; paths begin below `questions`.
#[must_use]
pub fn issues_alone(sent: &[QuestionInput], is_new: bool) -> Vec<Issue> {
    let stored: Vec<Question> = if is_new { Vec::new() } else { sent.iter().filter_map(as_named).collect() };
    let issues = replace(sent, &stored, Uuid::nil).err().unwrap_or_default();
    // An option that is named may be one that is stored and not sent; the first question has none before it.
    let is_open = |path: &[PathSegment]| match path {
        [PathSegment::Index(number), PathSegment::Key(field), PathSegment::Index(place)] if field == "conditions" => {
            let conditions = sent.get(*number).and_then(|question| question.conditions.as_deref()).unwrap_or_default();
            *number > 0 && conditions.get(*place).is_some_and(|sent| sent.option_id.is_some() && sent.question_index.is_none())
        }
        _ => false,
    };
    issues.into_iter().filter(|issue| is_new || !is_open(&issue.path)).collect()
}

/// The question that one with an id would be kept of, as far as it names it.
fn as_named(sent: &QuestionInput) -> Option<Question> {
    let options = sent
        .options
        .iter()
        .flatten()
        .filter_map(|option| Some(QuestionOption { id: option.id?, name_ml_text_id: None, answer: option.answer }));
    Some(Question {
        id: sent.id?,
        kind: sent.kind,
        text_ml_text_id: sent.text_ml_text_id,
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

fn of_option(number: usize, place: usize, field: &str) -> Vec<PathSegment> {
    vec![number.into(), "options".into(), place.into(), field.into()]
}

/// The two options of a yes-or-no question: they stay as they are for as long as the question does.
fn yes_and_no(
    number: usize,
    input: &QuestionInput,
    kept: Option<&Question>,
    issues: &mut Issues,
    new_id: &mut impl FnMut() -> Uuid,
) -> Vec<QuestionOption> {
    let own = kept.filter(|kept| kept.kind == QuestionKind::YesNo).map(|kept| kept.options.clone());
    for (place, sent) in input.options.iter().flatten().enumerate() {
        let option = own.iter().flatten().find(|option| Some(option.id) == sent.id);
        match option {
            None => {
                issues.add(
                    vec![number.into(), "options".into(), place.into()],
                    Reason::rule("yes_no_options", "a yes_no question has two options of the server's own"),
                );
            }
            Some(option) => {
                if sent.name_ml_text_id.is_some() {
                    issues.add(
                        of_option(number, place, "nameMlTextId"),
                        Reason::rule("yes_no_names", "the options of a yes_no question have no names of their own"),
                    );
                }
                if sent.answer.is_some() && sent.answer != option.answer {
                    issues.add(of_option(number, place, "answer"), Reason::ReadOnly);
                }
            }
        }
    }
    let mut make = |answer| QuestionOption { id: new_id(), name_ml_text_id: None, answer: Some(answer) };
    own.unwrap_or_else(|| vec![make(YesNo::Yes), make(YesNo::No)])
}

fn no_options(number: usize, input: &QuestionInput, issues: &mut Issues) -> Vec<QuestionOption> {
    if input.options.as_ref().is_some_and(|options| !options.is_empty()) {
        issues.add(vec![number.into(), "options".into()], Reason::rule("no_options", "a free_form_input question has no options"));
    }
    Vec::new()
}

fn choices(
    number: usize,
    input: &QuestionInput,
    kept: Option<&Question>,
    issues: &mut Issues,
    new_id: &mut impl FnMut() -> Uuid,
) -> Vec<QuestionOption> {
    let sent = input.options.as_deref().unwrap_or_default();
    if sent.is_empty() {
        issues.add(vec![number.into(), "options".into()], Reason::MinItems(1));
    }
    let own: HashSet<Uuid> = kept.iter().flat_map(|kept| &kept.options).map(|option| option.id).collect();
    let mut seen = HashSet::new();
    let mut options = Vec::with_capacity(sent.len());
    for (place, option) in sent.iter().enumerate() {
        if let Some(id) = option.id {
            if !own.contains(&id) {
                issues.add(of_option(number, place, "id"), Reason::rule("not_of_question", "does not belong to the question"));
            } else if !seen.insert(id) {
                issues.add(of_option(number, place, "id"), Reason::rule("given_twice", "is given twice"));
            }
        }
        if option.name_ml_text_id.is_none() {
            issues.add(of_option(number, place, "nameMlTextId"), Reason::Required);
        }
        if option.answer.is_some() {
            issues.add(of_option(number, place, "answer"), Reason::ReadOnly);
        }
        options.push(QuestionOption { id: option.id.unwrap_or_else(&mut *new_id), name_ml_text_id: option.name_ml_text_id, answer: None });
    }
    options
}

/// What a question depends on: options of the questions before it.
fn conditions(number: usize, input: &QuestionInput, earlier: &[Question], issues: &mut Issues) -> Vec<Condition> {
    let mut conditions = Vec::new();
    for (place, condition) in input.conditions.iter().flatten().enumerate() {
        let path = vec![number.into(), "conditions".into(), place.into()];
        let option_id = match (condition.option_id, condition.question_index, condition.option_index) {
            (Some(id), None, None) => earlier.iter().flat_map(|question| &question.options).find(|option| option.id == id).map(|_| id),
            (None, Some(question), Some(option)) => {
                at(earlier, question).and_then(|question| at(&question.options, option)).map(|option| option.id)
            }
            _ => {
                issues.add(path, Reason::rule("condition_form", "must be {optionId} or {questionIndex, optionIndex}"));
                continue;
            }
        };
        match option_id {
            Some(option_id) => conditions.push(Condition { option_id }),
            None => issues.add(path, Reason::rule("earlier_option", "must point at an option of an earlier question")),
        }
    }
    conditions
}

fn at<T>(items: &[T], index: u32) -> Option<&T> {
    usize::try_from(index).ok().and_then(|index| items.get(index))
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
                { "kind": "single_select", "textMlTextId": id(2), "isRequired": true, "options": [{ "nameMlTextId": id(3) }, { "nameMlTextId": id(4) }],
                  "conditions": [{ "questionIndex": 0, "optionIndex": 0 }] },
            ]),
            &[],
        )
        .unwrap()
    }

    #[test]
    fn what_was_read_can_be_sent_back() {
        let stored = two();
        assert_eq!(stored[0].options.iter().map(|option| option.answer).collect::<Vec<_>>(), [Some(YesNo::Yes), Some(YesNo::No)]);
        assert_eq!(stored[1].conditions, [Condition { option_id: stored[0].options[0].id }]);
        let read = serde_json::to_value(&stored).unwrap();
        assert_eq!(replaced(read, &stored).unwrap(), stored);
    }

    #[test]
    fn conditions_point_backwards() {
        let stored = two();
        let mut read = serde_json::to_value(&stored).unwrap();
        read.as_array_mut().unwrap().reverse();
        assert_eq!(replaced(read.clone(), &stored).unwrap_err(), [r#"[0,"conditions",0]"#]);
        read[0]["conditions"] = json!([{ "questionIndex": 0, "optionIndex": 0 }, { "optionId": id(7) }, {}, { "questionIndex": 1 }]);
        assert_eq!(replaced(read, &stored).unwrap_err().len(), 4);
        // The question it depends on is left out.
        let alone = json!([serde_json::to_value(&stored[1]).unwrap()]);
        assert_eq!(replaced(alone, &stored).unwrap_err(), [r#"[0,"conditions",0]"#]);
    }

    #[test]
    fn every_wrong_field_is_named() {
        let stored = two();
        let (first, second) = (&stored[0], &stored[1]);
        let wrong = json!([
            { "id": first.id, "kind": "free_form_input", "textMlTextId": id(1), "options": [{}] },
            { "id": second.id, "kind": "single_select", "textMlTextId": id(2), "options": [
                { "id": first.options[0].id, "nameMlTextId": id(3) }, { "id": second.options[0].id, "nameMlTextId": id(3) },
                { "id": second.options[0].id }, { "nameMlTextId": id(3), "answer": "yes" },
            ] },
            { "id": second.id, "kind": "single_select", "textMlTextId": id(2), "options": [{ "nameMlTextId": id(3) }] },
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
    fn a_text_is_kept_where_the_same_question_has_it() {
        let stored = two();
        let read = sent(serde_json::to_value(&stored).unwrap());
        assert!(linked_texts(&read, &stored).iter().all(|text| text.is_kept));
        assert!(linked_texts(&read, &[]).iter().all(|text| !text.is_kept));
        let mut swapped = read;
        swapped[1].options.as_mut().unwrap().swap(0, 1);
        assert!(linked_texts(&swapped, &stored).iter().all(|text| text.is_kept), "the place does not matter");
        swapped[1].options.as_mut().unwrap()[0].name_ml_text_id = Some(id(3));
        assert_eq!(linked_texts(&swapped, &stored).iter().filter(|text| !text.is_kept).count(), 1);
    }

    proptest! {
        /// Whatever part of a list is sent back in its order, without conditions, is kept with its ids.
        #[test]
        fn what_is_left_out_is_gone_and_the_rest_is_kept(kept in prop::collection::vec(any::<bool>(), 2), options in prop::collection::vec(any::<bool>(), 2)) {
            prop_assume!(options.contains(&true));
            let stored = two();
            let mut expected: Vec<Question> = stored.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(question, _)| question.clone()).collect();
            for question in &mut expected {
                question.conditions.clear();
                if question.kind == QuestionKind::SingleSelect {
                    let mut keep = options.iter();
                    question.options.retain(|_| *keep.next().unwrap());
                }
            }
            prop_assert_eq!(replaced(serde_json::to_value(&expected).unwrap(), &stored).unwrap(), expected);
        }
    }
}
