//! The questions of a form: as they are stored, as a browser sends them, and what its buttons do to them.
//!
//! A question and an option go by a key: their id, or one that the form gives until they have an id. So what a condition points at stays
//! the same however they are moved about. Of a question that is folded the form has its key alone: it is as it is stored. So a form is not
//! larger for all the questions that nobody is about to change.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::console::visit::Fields;

/// The kinds of questions, and whether their options are written by hand.
pub const KINDS: [(&str, bool); 4] = [("single_select", true), ("multi_select", true), ("yes_no", false), ("free_form_input", false)];
/// Questions of a step, and options of one, at the most.
const MOST: usize = 100;
/// Bytes that the questions which are open take of a page, about, before those that nobody has touched are folded.
const ROOM: usize = 24 << 10;

/// A question as the form has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    pub key: String,
    /// Nothing while it is not stored.
    pub id: String,
    pub kind: String,
    pub text: Text,
    pub is_required: bool,
    pub options: Vec<Choice>,
    /// The keys of the options by which it is asked.
    pub conditions: Vec<String>,
    /// The key of the earlier question whose options are there to be chosen from for conditions.
    pub from: String,
    pub is_open: bool,
    /// Whether a button was just pressed for it.
    pub is_in_hand: bool,
    /// Whether the stored version is chosen, where somebody else has changed it as well.
    pub is_theirs: Option<bool>,
    /// What else somebody has done to it meanwhile.
    pub meanwhile: Option<Meanwhile>,
}

/// What somebody else has done to a question that cannot be chosen from two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    /// Changed it, where it was removed here.
    Changed,
    /// Removed it, where it was changed here.
    Removed,
}

/// A text, the translation that it is in, and a mark of what it was.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text {
    pub id: String,
    pub was: String,
    pub now: String,
}

/// Something to choose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    pub key: String,
    /// Nothing while it is not stored.
    pub id: String,
    pub text: Text,
    /// `yes` or `no`, of the two that the server makes.
    pub answer: String,
}

/// By which it is told whether a text is another: as long for any text.
fn mark(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(text)[..6])
}

impl Text {
    fn stored(id: &Value, texts: &HashMap<Uuid, String>) -> Self {
        let id = id.as_str().unwrap_or_default().to_owned();
        let text = id.parse().ok().and_then(|id: Uuid| texts.get(&id)).map_or("", String::as_str);
        // A line has no ends.
        let now = text.replace(['\r', '\n'], " ");
        Self { id, was: mark(&now), now }
    }

    pub fn is_blank(&self) -> bool {
        self.now.trim().is_empty()
    }

    /// Whether it is there already, and another by now.
    pub fn is_changed(&self) -> bool {
        !self.id.is_empty() && self.was != mark(&self.now)
    }

    /// It is saved as it is.
    pub fn settle(&mut self) {
        self.was = mark(&self.now);
    }

    /// Is the one that is stored from now on.
    fn adopt(&mut self, stored: Self) {
        if self.id.is_empty() {
            self.settle();
        }
        self.id = stored.id;
    }
}

impl Choice {
    fn stored(option: &Value, texts: &HashMap<Uuid, String>) -> Self {
        let id = text(&option["id"]);
        Self { key: id.clone(), id, text: Text::stored(&option["nameMlTextId"], texts), answer: text(&option["answer"]) }
    }

    /// Whether nobody has filled it in.
    pub fn is_blank(&self) -> bool {
        self.id.is_empty() && self.text.is_blank()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Question {
    /// One as it is stored, with the texts there are.
    pub fn stored(question: &Value, texts: &HashMap<Uuid, String>) -> Self {
        let id = text(&question["id"]);
        let listed = |field: &str| question[field].as_array().into_iter().flatten();
        Self {
            key: id.clone(),
            id,
            kind: text(&question["kind"]),
            text: Text::stored(&question["textMlTextId"], texts),
            is_required: question["isRequired"] == true,
            options: listed("options").map(|option| Choice::stored(option, texts)).collect(),
            conditions: listed("conditions").map(|condition| text(&condition["optionId"])).collect(),
            is_open: true,
            ..Self::default()
        }
    }

    /// The questions of a form, of a step that has these. What is not stored any more is a new one.
    pub fn sent(fields: &Fields, known: &[Self]) -> Vec<Self> {
        let mut values: HashMap<&str, &str> = HashMap::new();
        for (name, value) in fields {
            values.entry(name).or_insert(value);
        }
        let of = |name: &str, part: &str| values.get(&*format!("{name}.{part}")).copied();
        let text = |name: &str, known: Option<&Text>| Text {
            id: known.map(|text| text.id.clone()).unwrap_or_default(),
            was: of(name, "was").unwrap_or_default().to_owned(),
            now: of(name, "text").unwrap_or_default().to_owned(),
        };
        let one = |number: usize| {
            let name = format!("q{number}");
            let key = of(&name, "key")?;
            let stored = known.iter().find(|question| question.key == key);
            let Some(kind) = of(&name, "kind") else {
                return stored.map(|stored| Self { is_open: false, ..stored.clone() });
            };
            let option = |place: usize| {
                let name = format!("{name}.o{place}");
                let key = of(&name, "key")?;
                let stored = stored.and_then(|stored| stored.options.iter().find(|option| option.key == key));
                let id = stored.map(|stored| stored.id.clone()).unwrap_or_default();
                Some(Choice { key: key.to_owned(), id, text: text(&name, stored.map(|stored| &stored.text)), answer: String::new() })
            };
            let condition = format!("{name}.c");
            let mut question = Self {
                key: key.to_owned(),
                id: stored.map(|stored| stored.id.clone()).unwrap_or_default(),
                kind: kind.to_owned(),
                text: text(&name, stored.map(|stored| &stored.text)),
                is_required: of(&name, "required").is_some(),
                options: (0..MOST).filter_map(option).collect(),
                conditions: fields.iter().filter(|(known, _)| *known == condition).map(|(_, key)| key.clone()).collect(),
                from: of(&name, "from").unwrap_or_default().to_owned(),
                is_open: true,
                is_theirs: of(&name, "choose").filter(|_| stored.is_some()).map(|chosen| chosen == "theirs"),
                ..Self::default()
            };
            // Those that the server makes are no part of the form.
            if let (false, Some(stored)) = (question.is_written(), stored) {
                question.options.clone_from(&stored.options);
            }
            Some(question)
        };
        // Those of two who each have as many as there may be.
        (0..2 * MOST).filter_map(one).collect()
    }

    /// Whether nobody has filled it in.
    pub fn is_blank(&self) -> bool {
        self.id.is_empty() && self.text.is_blank() && self.options.iter().all(|option| option.text.is_blank())
    }

    /// Whether its options are written by hand.
    pub fn is_written(&self) -> bool {
        KINDS.iter().any(|(kind, is_written)| *kind == self.kind && *is_written)
    }

    /// Its options, as far as they are sent.
    pub fn filled_in(&self) -> impl Iterator<Item = &Choice> {
        self.options.iter().filter(|option| !option.is_blank())
    }

    /// Its texts, that of the question first.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        std::iter::once(&mut self.text).chain(self.options.iter_mut().map(|option| &mut option.text))
    }

    /// The same, where this one is stored: what is written over is what that says.
    pub fn on(mut self, stored: &Self) -> Self {
        self.text.was.clone_from(&stored.text.was);
        for option in &mut self.options {
            if let Some(stored) = stored.options.iter().find(|known| known.key == option.key) {
                option.text.was.clone_from(&stored.text.was);
            }
        }
        self
    }

    /// Is the one that is stored from now on, with the texts that were typed.
    pub fn adopt(&mut self, stored: Self) {
        self.text.adopt(stored.text);
        (self.key, self.id, self.conditions, self.is_theirs) = (stored.key, stored.id, stored.conditions, None);
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

    /// How many bytes it takes of a page while it is open, about.
    fn weight(&self) -> usize {
        let options = self.options.iter().map(|option| 500 + option.text.now.len()).sum::<usize>();
        2_500 + self.text.now.len() + options + 150 * self.conditions.len()
    }

    /// Whether it is as it is stored.
    fn is_untouched(&self, known: &[Self]) -> bool {
        let is_same = |stored: &Self| Self { from: String::new(), is_open: true, ..self.clone() } == *stored;
        known.iter().find(|stored| stored.key == self.key).is_some_and(is_same)
    }
}

/// Folds questions that nobody has touched where more are open than a page has room for.
pub fn fold(questions: &mut [Question], known: &[Question]) {
    if questions.iter().filter(|question| question.is_open).map(Question::weight).sum::<usize>() > ROOM {
        for question in questions.iter_mut().filter(|question| !question.is_in_hand) {
            question.is_open &= !question.is_untouched(known);
        }
    }
}

/// A key that nothing of the form has.
fn fresh(questions: &[Question]) -> String {
    let keys =
        questions.iter().flat_map(|question| std::iter::once(&question.key).chain(question.options.iter().map(|option| &option.key)));
    let last = keys.filter_map(|key| key.strip_prefix('n')?.parse::<u32>().ok()).max().unwrap_or(0);
    format!("n{}", last.saturating_add(1))
}

/// What a button of the form does to the questions; false where it is none of those.
pub fn acted(questions: &mut Vec<Question>, act: &str) -> bool {
    let (what, place) = act.split_once(' ').unwrap_or((act, ""));
    let (number, option) = place.split_once(' ').unwrap_or((place, ""));
    let (number, option) = (number.parse::<usize>().ok().filter(|number| *number < questions.len()), option.parse::<usize>().ok());
    let key = fresh(questions);
    if let (Some(number), "open" | "ways" | "option" | "drop") = (number, what) {
        (questions[number].is_open, questions[number].is_in_hand) = (true, true);
    }
    match (what, number) {
        ("add", _) if questions.len() < MOST => {
            questions.push(Question { key, kind: "single_select".into(), is_open: true, ..Question::default() });
        }
        ("up", Some(number)) if number > 0 => questions.swap(number, number - 1),
        ("down", Some(number)) if number + 1 < questions.len() => questions.swap(number, number + 1),
        ("remove", Some(number)) => drop(questions.remove(number)),
        ("option", Some(number)) if questions[number].options.len() < MOST => {
            questions[number].options.push(Choice { key, ..Choice::default() });
        }
        ("drop", Some(number)) if option.is_some_and(|option| option < questions[number].options.len()) => {
            questions[number].options.remove(option.unwrap_or_default());
        }
        ("add" | "up" | "down" | "option" | "drop" | "open" | "ways", _) => {}
        _ => return false,
    }
    true
}

/// A condition that points at an option of an earlier question: by its id, or by its place where it has none yet.
pub fn condition(earlier: &[Question], key: &str) -> Option<Value> {
    let find = |(number, question): (usize, &Question)| {
        let place = question.filled_in().position(|option| option.key == key)?;
        Some((number, place))
    };
    let (number, place) = earlier.iter().enumerate().find_map(find)?;
    let option = earlier[number].options.iter().find(|option| option.key == key)?;
    Some(if option.id.is_empty() { json!({ "questionIndex": number, "optionIndex": place }) } else { json!({ "optionId": option.id }) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(key: &str, options: &[&str]) -> Question {
        let option = |key: &&str| Choice { key: (*key).into(), text: Text { now: "x".into(), ..Text::default() }, ..Choice::default() };
        Question { key: key.into(), kind: "single_select".into(), options: options.iter().map(option).collect(), ..Question::default() }
    }

    /// One that is stored, with as many options.
    fn stored(number: u128, options: u128) -> Question {
        let id = |id: u128| Uuid::from_u128(id).to_string();
        let options: Vec<Value> = (0..options).map(|number| json!({ "id": id(1_000 + number), "nameMlTextId": id(2_000) })).collect();
        let question = json!({ "id": id(1 + number), "kind": "multi_select", "textMlTextId": id(3_000), "isRequired": true, "options": options, "conditions": [] });
        Question::stored(
            &question,
            &HashMap::from([(Uuid::from_u128(2_000), "An\noption".into()), (Uuid::from_u128(3_000), "Which?".into())]),
        )
    }

    #[test]
    fn buttons_change_the_form() {
        let mut questions = vec![question("n1", &["n2"]), question("n3", &[])];
        assert!(acted(&mut questions, "down 0"));
        assert_eq!(questions[1].key, "n1");
        assert!(acted(&mut questions, "option 0") && questions[0].options[0].key == "n4");
        assert!(acted(&mut questions, "drop 1 0") && questions[1].options.is_empty());
        assert!(acted(&mut questions, "add") && questions.len() == 3 && questions[2].key == "n5");
        assert!(acted(&mut questions, "remove 0") && questions.len() == 2);
        assert!(acted(&mut questions, "up 0") && acted(&mut questions, "down 1"));
        assert!(!acted(&mut questions, "save") && !acted(&mut questions, "remove 7"));
        assert!(acted(&mut questions, "open 0") && questions[0].is_open && !acted(&mut questions, ""));
    }

    #[test]
    fn a_condition_points_at_what_is_before() {
        let mut earlier = vec![question("a", &["n1", "n2"]), question("b", &["n3"])];
        assert_eq!(condition(&earlier, "n3"), Some(json!({ "questionIndex": 1, "optionIndex": 0 })));
        earlier[0].options[1].id = "7".into();
        assert_eq!(condition(&earlier, "n2"), Some(json!({ "optionId": "7" })));
        assert_eq!(condition(&earlier, "n9"), None);
    }

    #[test]
    fn what_is_folded_is_as_it_is_stored() {
        let known = vec![stored(1, 2)];
        let key = known[0].key.clone();
        let folded = Question::sent(&vec![("q0.key".into(), key.clone())], &known);
        assert_eq!(folded, [Question { is_open: false, ..known[0].clone() }]);
        assert!(Question::sent(&vec![("q0.key".into(), key.clone())], &[]).is_empty(), "and nothing where it is gone");
        // What is sent whole and is gone meanwhile is a new one.
        let whole = vec![("q0.key".into(), key), ("q0.kind".into(), "yes_no".into()), ("q0.text".into(), "Which?".into())];
        let sent = Question::sent(&whole, &[]);
        assert!(sent[0].id.is_empty() && sent[0].text.id.is_empty() && sent[0].text.now == "Which?");
        assert!(Question::sent(&whole, &known)[0].text.is_changed(), "what does not say what it was is another");
    }

    #[test]
    fn what_nobody_touches_is_folded_where_there_is_no_room() {
        let known: Vec<Question> = (0..20).map(|number| stored(number, 5)).collect();
        let mut few = known[..2].to_vec();
        fold(&mut few, &known);
        assert!(few.iter().all(|question| question.is_open));
        let mut many = known.clone();
        many[3].options[1].text.now = "Another".into();
        acted(&mut many, "open 7");
        fold(&mut many, &known);
        assert_eq!(many.iter().enumerate().filter(|(_, question)| question.is_open).map(|(number, _)| number).collect::<Vec<_>>(), [3, 7]);
        assert!(many[3].options[1].text.is_changed() && !many[3].options[0].text.is_changed());
    }
}
