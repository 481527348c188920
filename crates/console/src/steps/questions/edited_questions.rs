//! The questions of a form. They are read from the stored step or from a submitted form, and the
//! form's buttons change them.
//!
//! Each question and each option has a key: the id if it is stored, otherwise a key that the form
//! assigns. Conditions refer to keys, so they are still valid after questions were moved.
//!
//! For a collapsed question, the form contains only the key, because the question is unchanged. So
//! the form of a step with many questions is small.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::request::ConsoleFields;

/// The kinds of questions. The second value is true if the member writes the options of a question
/// of this kind.
pub const KINDS: [(&str, bool); 4] = [
    ("single_select", true),
    ("multi_select", true),
    ("yes_no", false),
    ("free_form_input", false),
];
/// Maximum number of questions of a step, and maximum number of options of a question.
const MOST: usize = 100;
/// Approximate number of bytes that expanded questions may need on a page. If they need more,
/// unchanged questions are collapsed.
const ROOM: usize = 24 << 10;

/// A question as the form edits it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EditedQuestion {
    pub key: String,
    /// The id of the stored question; empty if the question is not stored yet.
    pub id: String,
    pub kind: String,
    pub text: EditedText,
    pub is_required: bool,
    pub options: Vec<EditedOption>,
    /// The keys of options of earlier questions. If there are any, the guest sees the question only
    /// after choosing one of these options.
    pub conditions: Vec<String>,
    /// The key of an earlier question. The form offers the options of that question as conditions.
    pub from: String,
    pub is_open: bool,
    /// Whether the member pressed a button of this question to send the form.
    pub is_just_edited: bool,
    /// Whether the member chose the stored version of a question in conflict. `None` if the
    /// question is not in conflict.
    pub is_theirs: Option<bool>,
    /// Set if one of two members changed the question and the other one removed it. The form then
    /// offers no choice between versions, because only one version exists.
    pub conflict: Option<RemoteChange>,
}

/// A conflict in which one member changed a question and the other member removed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteChange {
    /// The other member changed the question, but this form removed it.
    Changed,
    /// The other member removed the question, but this form changed it.
    Removed,
}

/// The text of a question or an option: the id of the stored text, a hash of the stored text, and
/// the text in the form. The id is empty if the text is not stored yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EditedText {
    pub id: String,
    pub was: String,
    pub current: String,
}

/// An option of a question as the form edits it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EditedOption {
    pub key: String,
    /// The id of the stored option; empty if the option is not stored yet.
    pub id: String,
    pub text: EditedText,
    /// `yes` or `no` for the two options that the service creates for a yes/no question. Empty for
    /// any other option.
    pub answer: String,
    /// Whether a submission is flagged if the guest chooses the option.
    pub is_flagged: bool,
}

/// Returns a short hash of a text. With the hash, a form detects whether the text has changed.
fn mark(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(text)[..6])
}

impl EditedText {
    fn stored(id: &Value, texts: &HashMap<Uuid, String>) -> Self {
        let id = id.as_str().unwrap_or_default().to_owned();
        let text = id
            .parse()
            .ok()
            .and_then(|id: Uuid| texts.get(&id))
            .map_or("", String::as_str);
        // The input field has a single line, so each line end becomes a space.
        let now = text.replace(['\r', '\n'], " ");
        Self {
            id,
            was: mark(&now),
            current: now,
        }
    }

    pub fn is_blank(&self) -> bool {
        self.current.trim().is_empty()
    }

    /// Returns whether the member changed the text. Returns false for a text that is not stored
    /// yet.
    pub fn is_changed(&self) -> bool {
        !self.id.is_empty() && self.was != mark(&self.current)
    }

    /// Records that the service has stored the current text, so that the text no longer counts as
    /// changed.
    pub fn mark_saved(&mut self) {
        self.was = mark(&self.current);
    }

    /// Copies the id of the stored text, but not the text itself. If the typed text has no id, the
    /// service has just stored that text, so this method marks it as saved.
    fn adopt(&mut self, stored: Self) {
        if self.id.is_empty() {
            self.mark_saved();
        }
        self.id = stored.id;
    }
}

impl EditedOption {
    fn stored(option: &Value, texts: &HashMap<Uuid, String>) -> Self {
        let id = text(&option["id"]);
        Self {
            key: id.clone(),
            id,
            text: EditedText::stored(&option["nameMlTextId"], texts),
            answer: text(&option["answer"]),
            is_flagged: option["isFlagged"] == true,
        }
    }

    /// Returns whether the option is not stored yet and has no text.
    pub fn is_blank(&self) -> bool {
        self.id.is_empty() && self.text.is_blank()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl EditedQuestion {
    /// Builds a question from its stored JSON and its texts.
    pub fn stored(question: &Value, texts: &HashMap<Uuid, String>) -> Self {
        let id = text(&question["id"]);
        let listed = |field: &str| question[field].as_array().into_iter().flatten();
        Self {
            key: id.clone(),
            id,
            kind: text(&question["kind"]),
            text: EditedText::stored(&question["textMlTextId"], texts),
            is_required: question["isRequired"] == true,
            options: listed("options")
                .map(|option| EditedOption::stored(option, texts))
                .collect(),
            conditions: listed("conditions")
                .map(|condition| text(&condition["optionId"]))
                .collect(),
            is_open: true,
            ..Self::default()
        }
    }

    /// Reads the questions from a submitted form. `known` has the stored questions. A question that
    /// was removed from the stored step becomes a new question.
    pub fn sent(fields: &ConsoleFields, known: &[Self]) -> Vec<Self> {
        let mut values: HashMap<&str, &str> = HashMap::new();
        for (name, value) in fields {
            values.entry(name).or_insert(value);
        }
        let of = |name: &str, part: &str| values.get(&*format!("{name}.{part}")).copied();
        let text = |name: &str, known: Option<&EditedText>| EditedText {
            id: known.map(|text| text.id.clone()).unwrap_or_default(),
            was: of(name, "was").unwrap_or_default().to_owned(),
            current: of(name, "text").unwrap_or_default().to_owned(),
        };
        let one = |number: usize| {
            let name = format!("q{number}");
            let key = of(&name, "key")?;
            let stored = known.iter().find(|question| question.key == key);
            let Some(kind) = of(&name, "kind") else {
                return stored.map(|stored| Self {
                    is_open: false,
                    ..stored.clone()
                });
            };
            let option = |place: usize| {
                let name = format!("{name}.o{place}");
                let key = of(&name, "key")?;
                let stored = stored
                    .and_then(|stored| stored.options.iter().find(|option| option.key == key));
                let id = stored.map(|stored| stored.id.clone()).unwrap_or_default();
                Some(EditedOption {
                    key: key.to_owned(),
                    id,
                    text: text(&name, stored.map(|stored| &stored.text)),
                    answer: String::new(),
                    is_flagged: of(&name, "flagged").is_some(),
                })
            };
            let condition = format!("{name}.c");
            let mut question = Self {
                key: key.to_owned(),
                id: stored.map(|stored| stored.id.clone()).unwrap_or_default(),
                kind: kind.to_owned(),
                text: text(&name, stored.map(|stored| &stored.text)),
                is_required: of(&name, "required").is_some(),
                options: (0..MOST).filter_map(option).collect(),
                conditions: fields
                    .iter()
                    .filter(|(known, _)| *known == condition)
                    .map(|(_, key)| key.clone())
                    .collect(),
                from: of(&name, "from").unwrap_or_default().to_owned(),
                is_open: true,
                is_theirs: of(&name, "choose")
                    .filter(|_| stored.is_some())
                    .map(|chosen| chosen == "theirs"),
                ..Self::default()
            };
            // The form does not contain the texts of options that the service creates. So these
            // options are copied from the stored question.
            if let (false, Some(stored)) = (question.is_written(), stored) {
                question.options.clone_from(&stored.options);
                for (place, option) in question.options.iter_mut().enumerate() {
                    let name = format!("{name}.o{place}");
                    // The service creates the two options of a yes/no question when it stores the
                    // question. A form that was opened before the question was stored contains no
                    // flags of these options, so the stored flags do not change.
                    if of(&name, "key").is_some() {
                        option.is_flagged = of(&name, "flagged").is_some();
                    }
                }
            }
            Some(question)
        };
        // After a merge, a form can contain the questions of two members, and each member can have
        // added the maximum number of questions.
        (0..2 * MOST).filter_map(one).collect()
    }

    /// Returns whether the question is not stored yet and is empty.
    pub fn is_blank(&self) -> bool {
        self.id.is_empty()
            && self.text.is_blank()
            && self.options.iter().all(|option| option.text.is_blank())
    }

    /// Returns whether the member writes the options of this kind of question.
    pub fn is_written(&self) -> bool {
        KINDS
            .iter()
            .any(|(kind, is_written)| *kind == self.kind && *is_written)
    }

    /// Returns whether the form shows the options yes and no, which the service creates when it
    /// stores a yes/no question.
    pub fn has_own_options(&self) -> bool {
        self.kind == "yes_no" && !self.id.is_empty()
    }

    /// Returns the options that are not blank. Only these are sent to the service.
    pub fn filled_in(&self) -> impl Iterator<Item = &EditedOption> {
        self.options.iter().filter(|option| !option.is_blank())
    }

    /// Returns the texts of the question and of its options.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut EditedText> {
        std::iter::once(&mut self.text)
            .chain(self.options.iter_mut().map(|option| &mut option.text))
    }

    /// Sets the hash `was` of each text to the hash of the same text in `stored`. The console then
    /// compares the typed texts with the texts of `stored`, as if the form had been opened with the
    /// texts of `stored`.
    pub fn on(mut self, stored: &Self) -> Self {
        self.text.was.clone_from(&stored.text.was);
        for option in &mut self.options {
            if let Some(stored) = stored.options.iter().find(|known| known.key == option.key) {
                option.text.was.clone_from(&stored.text.was);
            }
        }
        self
    }

    /// Copies the key, the ids and the conditions of the stored question, and removes blank
    /// options. The typed texts do not change. If the service writes the options of this kind of
    /// question, the stored options replace the options in the form.
    pub fn adopt(&mut self, stored: Self) {
        self.text.adopt(stored.text);
        (self.key, self.id, self.conditions, self.is_theirs) =
            (stored.key, stored.id, stored.conditions, None);
        self.options.retain(|option| !option.is_blank());
        if !self.is_written() {
            self.options = stored.options;
            return;
        }
        for (own, stored) in self.options.iter_mut().zip(stored.options) {
            own.text.adopt(stored.text);
            (own.key, own.id) = (stored.key, stored.id);
        }
    }

    /// Returns the approximate number of bytes that the expanded question needs on a page.
    fn weight(&self) -> usize {
        let options = self
            .options
            .iter()
            .map(|option| 500 + option.text.current.len())
            .sum::<usize>();
        2_500 + self.text.current.len() + options + 150 * self.conditions.len()
    }

    /// Returns whether the question is equal to its stored version.
    fn is_untouched(&self, known: &[Self]) -> bool {
        let is_same = |stored: &Self| {
            Self {
                from: String::new(),
                is_open: true,
                ..self.clone()
            } == *stored
        };
        known
            .iter()
            .find(|stored| stored.key == self.key)
            .is_some_and(is_same)
    }
}

/// If all expanded questions together need more than [`ROOM`] bytes, collapses the questions that
/// equal their stored version in `known`. A question that the member has just edited stays
/// expanded.
pub fn fold(questions: &mut [EditedQuestion], known: &[EditedQuestion]) {
    if questions
        .iter()
        .filter(|question| question.is_open)
        .map(EditedQuestion::weight)
        .sum::<usize>()
        > ROOM
    {
        for question in questions
            .iter_mut()
            .filter(|question| !question.is_just_edited)
        {
            question.is_open &= !question.is_untouched(known);
        }
    }
}

/// Returns a key that no question and no option of the form has.
fn fresh(questions: &[EditedQuestion]) -> String {
    let keys = questions.iter().flat_map(|question| {
        std::iter::once(&question.key).chain(question.options.iter().map(|option| &option.key))
    });
    let last = keys
        .filter_map(|key| key.strip_prefix('n')?.parse::<u32>().ok())
        .max()
        .unwrap_or(0);
    format!("n{}", last.saturating_add(1))
}

/// Changes the questions after a button was pressed. `act` is the form value of the button. Returns
/// false if no button that changes questions has this value.
pub fn apply_button(questions: &mut Vec<EditedQuestion>, act: &str) -> bool {
    let (what, place) = act.split_once(' ').unwrap_or((act, ""));
    let (number, option) = place.split_once(' ').unwrap_or((place, ""));
    let (number, option) = (
        number
            .parse::<usize>()
            .ok()
            .filter(|number| *number < questions.len()),
        option.parse::<usize>().ok(),
    );
    let key = fresh(questions);
    if let (Some(number), "open" | "ways" | "option" | "drop") = (number, what) {
        (questions[number].is_open, questions[number].is_just_edited) = (true, true);
    }
    match (what, number) {
        ("add", _) if questions.len() < MOST => {
            questions.push(EditedQuestion {
                key,
                kind: "single_select".into(),
                is_open: true,
                ..EditedQuestion::default()
            });
        }
        ("up", Some(number)) if number > 0 => questions.swap(number, number - 1),
        ("down", Some(number)) if number + 1 < questions.len() => {
            questions.swap(number, number + 1);
        }
        ("remove", Some(number)) => drop(questions.remove(number)),
        ("option", Some(number)) if questions[number].options.len() < MOST => {
            questions[number].options.push(EditedOption {
                key,
                ..EditedOption::default()
            });
        }
        ("drop", Some(number))
            if option.is_some_and(|option| option < questions[number].options.len()) =>
        {
            questions[number].options.remove(option.unwrap_or_default());
        }
        ("add" | "up" | "down" | "option" | "drop" | "open" | "ways", _) => {}
        _ => return false,
    }
    true
}

/// Returns a condition on an option of an earlier question. It refers to the option by its id. If
/// the option has no id yet, it refers to the option by its position.
pub fn condition(earlier: &[EditedQuestion], key: &str) -> Option<Value> {
    let find = |(number, question): (usize, &EditedQuestion)| {
        let place = question.filled_in().position(|option| option.key == key)?;
        Some((number, place))
    };
    let (number, place) = earlier.iter().enumerate().find_map(find)?;
    let option = earlier[number]
        .options
        .iter()
        .find(|option| option.key == key)?;
    Some(if option.id.is_empty() {
        json!({ "questionIndex": number, "optionIndex": place })
    } else {
        json!({ "optionId": option.id })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(key: &str, options: &[&str]) -> EditedQuestion {
        let option = |key: &&str| EditedOption {
            key: (*key).into(),
            text: EditedText {
                current: "x".into(),
                ..EditedText::default()
            },
            ..EditedOption::default()
        };
        EditedQuestion {
            key: key.into(),
            kind: "single_select".into(),
            options: options.iter().map(option).collect(),
            ..EditedQuestion::default()
        }
    }

    /// Builds a stored question with this number of options.
    fn stored(number: u128, options: u128) -> EditedQuestion {
        let id = |id: u128| Uuid::from_u128(id).to_string();
        let options: Vec<Value> = (0..options)
            .map(|number| json!({ "id": id(1_000 + number), "nameMlTextId": id(2_000) }))
            .collect();
        let question = json!({
            "id": id(1 + number),
            "kind": "multi_select",
            "textMlTextId": id(3_000),
            "isRequired": true,
            "options": options,
            "conditions": [],
        });
        EditedQuestion::stored(
            &question,
            &HashMap::from([
                (Uuid::from_u128(2_000), "An\noption".into()),
                (Uuid::from_u128(3_000), "Which?".into()),
            ]),
        )
    }

    #[test]
    fn buttons_change_the_questions_of_the_form() {
        let mut questions = vec![question("n1", &["n2"]), question("n3", &[])];
        assert!(apply_button(&mut questions, "down 0"));
        assert_eq!(questions[1].key, "n1");
        assert!(apply_button(&mut questions, "option 0") && questions[0].options[0].key == "n4");
        assert!(apply_button(&mut questions, "drop 1 0") && questions[1].options.is_empty());
        assert!(
            apply_button(&mut questions, "add") && questions.len() == 3 && questions[2].key == "n5"
        );
        assert!(apply_button(&mut questions, "remove 0") && questions.len() == 2);
        assert!(apply_button(&mut questions, "up 0") && apply_button(&mut questions, "down 1"));
        assert!(!apply_button(&mut questions, "save") && !apply_button(&mut questions, "remove 7"));
        assert!(
            apply_button(&mut questions, "open 0")
                && questions[0].is_open
                && !apply_button(&mut questions, "")
        );
    }

    #[test]
    fn the_options_of_the_server_take_flags() {
        let id = |id: u128| Uuid::from_u128(id).to_string();
        let options = json!([
            { "id": id(2), "answer": "yes", "isFlagged": true },
            { "id": id(3), "answer": "no" },
        ]);
        let known = [EditedQuestion::stored(
            &json!({ "id": id(1), "kind": "yes_no", "textMlTextId": id(4), "options": options }),
            &HashMap::new(),
        )];
        let flags = |more: &[(&str, &str)]| {
            let key = [("q0.key", id(1)), ("q0.kind", "yes_no".to_owned())];
            let more = more
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()));
            let fields = key.into_iter().chain(more);
            let fields = fields
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            let sent = EditedQuestion::sent(&fields, &known);
            sent[0]
                .options
                .iter()
                .map(|option| option.is_flagged)
                .collect::<Vec<_>>()
        };
        assert_eq!(flags(&[]), [true, false]);
        assert_eq!(
            flags(&[
                ("q0.o0.key", "a"),
                ("q0.o1.key", "b"),
                ("q0.o1.flagged", "1")
            ]),
            [false, true]
        );
    }

    #[test]
    fn a_condition_refers_to_an_option_of_an_earlier_question() {
        let mut earlier = vec![question("a", &["n1", "n2"]), question("b", &["n3"])];
        assert_eq!(
            condition(&earlier, "n3"),
            Some(json!({ "questionIndex": 1, "optionIndex": 0 }))
        );
        earlier[0].options[1].id = "7".into();
        assert_eq!(condition(&earlier, "n2"), Some(json!({ "optionId": "7" })));
        assert_eq!(condition(&earlier, "n9"), None);
    }

    #[test]
    fn a_folded_question_keeps_its_stored_values() {
        let known = vec![stored(1, 2)];
        let key = known[0].key.clone();
        let folded = EditedQuestion::sent(&vec![("q0.key".into(), key.clone())], &known);
        assert_eq!(
            folded,
            [EditedQuestion {
                is_open: false,
                ..known[0].clone()
            }]
        );
        assert!(
            EditedQuestion::sent(&vec![("q0.key".into(), key.clone())], &[]).is_empty(),
            "and nothing where it is gone"
        );
        // The form contains the whole question, but the question was removed from the stored step.
        // So it becomes a new question.
        let whole = vec![
            ("q0.key".into(), key),
            ("q0.kind".into(), "yes_no".into()),
            ("q0.text".into(), "Which?".into()),
        ];
        let sent = EditedQuestion::sent(&whole, &[]);
        assert!(
            sent[0].id.is_empty() && sent[0].text.id.is_empty() && sent[0].text.current == "Which?"
        );
        assert!(
            EditedQuestion::sent(&whole, &known)[0].text.is_changed(),
            "what does not say what it was is another"
        );
    }

    #[test]
    fn unchanged_questions_are_folded_in_a_long_form() {
        let known: Vec<EditedQuestion> = (0..20).map(|number| stored(number, 5)).collect();
        let mut few = known[..2].to_vec();
        fold(&mut few, &known);
        assert!(few.iter().all(|question| question.is_open));
        let mut many = known.clone();
        many[3].options[1].text.current = "Another".into();
        apply_button(&mut many, "open 7");
        fold(&mut many, &known);
        assert_eq!(
            many.iter()
                .enumerate()
                .filter(|(_, question)| question.is_open)
                .map(|(number, _)| number)
                .collect::<Vec<_>>(),
            [3, 7]
        );
        assert!(many[3].options[1].text.is_changed() && !many[3].options[0].text.is_changed());
    }
}
