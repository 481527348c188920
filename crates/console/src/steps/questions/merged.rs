//! Merges the questions in a form with the changes that another member has saved since the form was
//! opened. Each question of the form is compared with its state when the form was opened, and with
//! its stored state. If only one of the two members changed, added, moved or removed a question,
//! that change is applied. If both changed the same question, the member who sends the form chooses
//! a version.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::edited_questions::{EditedQuestion, RemoteChange};
use crate::merge::{MergeResult, merge};

/// The questions at the moment when the form was opened: the key and a hash of each question, in
/// order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenedQuestions(Vec<(String, String)>);

/// Returns a hash of all parts of a question that the form can change.
fn mark(question: &EditedQuestion) -> String {
    let mut conditions: Vec<&str> = question.conditions.iter().map(String::as_str).collect();
    conditions.sort_unstable();
    let options = question
        .filled_in()
        .filter(|_| question.is_written() || question.has_own_options())
        .map(|option| {
            let text = option.text.current.as_str();
            (option.key.as_str(), text, option.is_flagged)
        });
    let message = json!([
        question.kind,
        question.text.current,
        question.is_required,
        options.collect::<Vec<_>>(),
        conditions
    ]);
    URL_SAFE_NO_PAD.encode(&Sha256::digest(message.to_string())[..6])
}

impl OpenedQuestions {
    /// Records the key and the hash of each stored question, as they are when the form is opened.
    pub fn of(stored: &[EditedQuestion]) -> Self {
        Self(
            stored
                .iter()
                .map(|question| (question.key.clone(), mark(question)))
                .collect(),
        )
    }

    /// Parses the keys and hashes of the opened questions from a hidden field of the form.
    pub fn sent(text: &str) -> Self {
        Self(
            text.split(' ')
                .filter_map(|one| one.split_once('.'))
                .map(|(key, mark)| (key.to_owned(), mark.to_owned()))
                .collect(),
        )
    }

    /// Formats the keys and hashes of the questions with which the form was opened, for a hidden
    /// field of the form.
    pub fn text(&self) -> String {
        self.0
            .iter()
            .map(|(key, mark)| format!("{key}.{mark}"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns the hash that a question had when the form was opened. Returns `None` if the
    /// question did not exist then.
    fn mark(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, mark)| mark.as_str())
    }

    /// Returns whether a stored question was added or changed after the form was opened.
    pub fn is_another(&self, stored: &EditedQuestion) -> bool {
        self.mark(&stored.key) != Some(&*mark(stored))
    }
}

/// Returns whether two lists have the same questions in the same order.
pub fn are_same(some: &[EditedQuestion], others: &[EditedQuestion]) -> bool {
    OpenedQuestions::of(some) == OpenedQuestions::of(others)
}

fn find<'q>(questions: &'q [EditedQuestion], key: &str) -> Option<&'q EditedQuestion> {
    questions.iter().find(|question| question.key == key)
}

/// Merges `mine`, the questions of a form, with the questions that are stored now. `base` has the
/// questions that were stored when the member opened the form.
pub fn merged(
    base: &OpenedQuestions,
    mine: &[EditedQuestion],
    stored: &[EditedQuestion],
) -> Vec<EditedQuestion> {
    let one = |key: &str| match (find(mine, key), find(stored, key)) {
        (Some(mine), Some(stored)) if !mine.is_open => Some(EditedQuestion {
            is_open: false,
            ..stored.clone()
        }),
        (Some(mine), Some(stored)) => {
            // `is_theirs` is the member's choice between two versions of this question, from an
            // earlier conflict. That choice has been applied, so it is cleared.
            let on_theirs = || {
                EditedQuestion {
                    is_theirs: None,
                    ..mine.clone()
                }
                .on(stored)
            };
            Some(
                match merge(&base.mark(key), &Some(&*mark(stored)), &Some(&*mark(mine))) {
                    MergeResult::Stored => EditedQuestion {
                        from: mine.from.clone(),
                        is_just_edited: mine.is_just_edited,
                        ..stored.clone()
                    },
                    MergeResult::Typed => on_theirs(),
                    MergeResult::Conflict => EditedQuestion {
                        is_theirs: Some(false),
                        ..on_theirs()
                    },
                },
            )
        }
        // The other member removed the question. It is removed here too, unless this form added or
        // changed it.
        (Some(mine), None) => match base.mark(key) {
            Some(was) if was == mark(mine) => None,
            Some(_) => Some(EditedQuestion {
                conflict: Some(RemoteChange::Removed),
                ..mine.clone()
            }),
            None => Some(mine.clone()),
        },
        // Only the stored step has the question. Either this form removed it, or the other member
        // added it.
        (None, Some(stored)) => match base.mark(key) {
            Some(was) if was == mark(stored) => None,
            Some(_) => Some(EditedQuestion {
                conflict: Some(RemoteChange::Changed),
                ..stored.clone()
            }),
            None => Some(stored.clone()),
        },
        (None, None) => None,
    };
    let keys = |questions: &[EditedQuestion]| {
        questions
            .iter()
            .map(|question| question.key.clone())
            .collect::<Vec<_>>()
    };
    let (ours, theirs) = (keys(mine), keys(stored));
    let common = |keys: &[String]| {
        keys.iter()
            .filter(|key| base.mark(key).is_some() && ours.contains(key) && theirs.contains(key))
            .cloned()
            .collect::<Vec<_>>()
    };
    let opened: Vec<String> = base.0.iter().map(|(key, _)| key.clone()).collect();
    let is_moved = common(&ours) != common(&opened);
    let order = if is_moved {
        woven(ours, &theirs)
    } else {
        woven(theirs, &ours)
    };
    order.iter().filter_map(|key| one(key)).collect()
}

/// Inserts into `order` each key of `other` that `order` lacks. A key is inserted after the key
/// that precedes it in `other`, and the first key of `other` at the beginning.
fn woven(mut order: Vec<String>, other: &[String]) -> Vec<String> {
    for (place, key) in other.iter().enumerate() {
        if !order.contains(key) {
            let before = place
                .checked_sub(1)
                .and_then(|before| order.iter().position(|known| *known == other[before]));
            order.insert(before.map_or(0, |before| before + 1), key.clone());
        }
    }
    order
}

/// The questions that lose conditions because the member removed or moved other questions.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LostConditions {
    /// The positions of the questions that lose all their conditions. Every guest then sees these
    /// questions.
    pub of_all: Vec<usize>,
    /// The positions of the questions that lose some of their conditions, but not all. Such a
    /// question is then shown to other guests than before.
    pub of_more: Vec<usize>,
}

/// Returns the questions that lose conditions because no earlier question offers the required
/// option any more. `before` has the earlier versions of the questions.
pub fn lost_conditions(before: &[&[EditedQuestion]], after: &[EditedQuestion]) -> LostConditions {
    let mut loosened = LostConditions::default();
    for (number, question) in after.iter().enumerate() {
        let is_offered = |key: &String| {
            after[..number]
                .iter()
                .any(|earlier| earlier.filled_in().any(|option| option.key == *key))
        };
        let had = before
            .iter()
            .filter_map(|questions| find(questions, &question.key))
            .flat_map(|question| &question.conditions);
        if had.chain(&question.conditions).all(is_offered) {
            continue;
        }
        let is_left = question.conditions.iter().any(is_offered);
        if is_left {
            loosened.of_more.push(number);
        } else {
            loosened.of_all.push(number);
        }
    }
    loosened
}

#[cfg(test)]
mod tests {
    use super::super::edited_questions::{EditedOption, EditedText};
    use super::*;

    fn question(key: &str, text: &str, options: &[&str], conditions: &[&str]) -> EditedQuestion {
        let message = |text: &str| EditedText {
            id: format!("t-{text}"),
            current: text.into(),
            ..EditedText::default()
        };
        let option = |key: &&str| EditedOption {
            key: (*key).into(),
            id: (*key).into(),
            text: message(key),
            answer: String::new(),
            is_flagged: false,
        };
        EditedQuestion {
            key: key.into(),
            id: key.into(),
            kind: "single_select".into(),
            text: message(text),
            options: options.iter().map(option).collect(),
            conditions: conditions.iter().map(|key| (*key).to_owned()).collect(),
            is_open: true,
            ..EditedQuestion::default()
        }
    }

    fn texts(questions: &[EditedQuestion]) -> Vec<&str> {
        questions
            .iter()
            .map(|question| question.text.current.as_str())
            .collect()
    }

    #[test]
    fn changes_of_a_single_side_are_merged() {
        let opened = [
            question("a", "A", &["1"], &[]),
            question("b", "B", &[], &["1"]),
            question("c", "C", &[], &[]),
        ];
        let base = OpenedQuestions::sent(&OpenedQuestions::of(&opened).text());
        assert_eq!(base, OpenedQuestions::of(&opened));
        let mut mine = opened.to_vec();
        mine[0].text.current = "My A".into();
        mine.remove(2);
        mine.push(EditedQuestion {
            id: String::new(),
            ..question("n1", "My own", &[], &[])
        });
        let mut theirs = opened.to_vec();
        theirs[1].is_required = true;
        theirs.insert(1, question("d", "Their own", &[], &[]));
        let both = merged(&base, &mine, &theirs);
        assert_eq!(texts(&both), ["My A", "Their own", "B", "My own"]);
        assert!(
            both[2].is_required
                && both
                    .iter()
                    .all(|question| question.is_theirs.is_none() && question.conflict.is_none())
        );
        assert!(
            !base.is_another(&opened[0])
                && base.is_another(&theirs[1])
                && base.is_another(&theirs[2])
        );
        // If only one member changed the order of the questions, the merge uses the new order.
        let moved = [opened[1].clone(), opened[0].clone(), opened[2].clone()];
        assert_eq!(
            texts(&merged(&base, &moved, &theirs)),
            ["B", "A", "Their own", "C"]
        );
        assert_eq!(texts(&merged(&base, &opened, &moved)), ["B", "A", "C"]);
        assert_eq!(texts(&merged(&base, &opened, &[])), Vec::<&str>::new());
        assert!(are_same(&opened, &opened) && !are_same(&opened, &moved));
    }

    #[test]
    fn questions_changed_by_both_sides_are_conflicts() {
        let opened = [
            question("a", "A", &["1"], &[]),
            question("b", "B", &[], &[]),
            question("c", "C", &[], &[]),
        ];
        let base = OpenedQuestions::of(&opened);
        let (mut mine, mut theirs) = (opened.to_vec(), opened.to_vec());
        (mine[0].text.current, theirs[0].is_required) = ("My A".into(), true);
        (mine[1].text.current, theirs[2].text.current) = ("My B".into(), "Their C".into());
        mine.remove(2);
        theirs.remove(1);
        let both = merged(&base, &mine, &theirs);
        assert_eq!(texts(&both), ["My A", "My B", "Their C"]);
        assert_eq!(both[0].is_theirs, Some(false), "both versions are there");
        assert_eq!(
            both[1].conflict,
            Some(RemoteChange::Removed),
            "what they removed is there with what was typed"
        );
        assert_eq!(
            both[2].conflict,
            Some(RemoteChange::Changed),
            "what was removed here is back with what they wrote"
        );
        // If both members made the same change, there is no conflict.
        assert!(
            merged(&base, &theirs, &theirs)
                .iter()
                .all(|question| question.is_theirs.is_none())
        );
        // After the member has chosen a version, there is no conflict any more.
        let chosen = merged(&OpenedQuestions::of(&theirs), &both[..1], &theirs);
        assert_eq!(
            (chosen[0].text.current.as_str(), chosen[0].is_theirs),
            ("My A", None)
        );
        // The form does not say which questions it was opened with. So the member must choose a
        // version, and nothing is overwritten without asking.
        assert_eq!(
            merged(&OpenedQuestions::default(), &mine, &theirs)[0].is_theirs,
            Some(false)
        );
    }

    #[test]
    fn removing_a_question_removes_conditions_on_its_options() {
        let known = [
            question("a", "A", &["1", "2"], &[]),
            question("b", "B", &["3"], &["1"]),
            question("c", "C", &[], &["2", "3"]),
            question("d", "D", &[], &["3"]),
        ];
        assert_eq!(
            lost_conditions(&[&known], &known),
            LostConditions::default()
        );
        let after = &known[1..];
        assert_eq!(
            lost_conditions(&[&known], after),
            LostConditions {
                of_all: vec![0],
                of_more: vec![1]
            }
        );
        // A question that loses all its conditions is also reported if the form has already removed
        // them.
        let mut after = after.to_vec();
        after[0].conditions.clear();
        assert_eq!(lost_conditions(&[&known], &after).of_all, [0]);
        // A condition refers to an option of an earlier question. A question that is moved above
        // that question loses the condition.
        let moved = [known[1].clone(), known[0].clone()];
        assert_eq!(lost_conditions(&[&known], &moved).of_all, [0]);
        // A question loses a condition if the option that the condition refers to is removed.
        let mut less = known.to_vec();
        less[0].options.remove(0);
        assert_eq!(lost_conditions(&[&known], &less).of_all, [1]);
        // A condition that the member removed on purpose is not reported as lost.
        let mut freed = known.to_vec();
        freed[3].conditions.clear();
        assert_eq!(
            lost_conditions(&[&known], &freed),
            LostConditions::default()
        );
    }
}
