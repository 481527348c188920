//! The questions of a step, edited together: added, moved and removed in the form, saved at once.
//!
//! A question and an option go by a key: their id, or one that the form gives until they have an id. So what a condition points at stays
//! the same however they are moved about.

use std::collections::HashMap;

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{STEP, stored};
use crate::console::form::{Stored, new_text};
use crate::console::frame::{Done, Frame};
use crate::console::labels;
use crate::console::refusal::Refusal;
use crate::console::reply;
use crate::console::screens::Answering;
use crate::console::texts::texts_in;
use crate::console::visit::{Fields, Visit, first};
use crate::translations::ENGLISH;

/// The kinds of questions, and whether their options are written by hand.
const KINDS: [(&str, bool); 4] = [("single_select", true), ("multi_select", true), ("yes_no", false), ("free_form_input", false)];
/// Questions of a step, and options of one, at the most.
const MOST: usize = 100;
/// What the texts are of.
const SOURCE: &str = "precheck_question";

/// A question as the form has it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Question {
    key: String,
    id: String,
    kind: String,
    text: Text,
    is_required: bool,
    options: Vec<Choice>,
    /// The keys of the options by which it is asked.
    conditions: Vec<String>,
}

/// A text, the translation that it is in, and what it was.
#[derive(Debug, Clone, Default, PartialEq)]
struct Text {
    id: String,
    was: String,
    now: String,
}

/// Something to choose.
#[derive(Debug, Clone, Default, PartialEq)]
struct Choice {
    key: String,
    id: String,
    text: Text,
    /// `yes` or `no`, of the two that the server makes.
    answer: String,
}

/// An option of an earlier question, by which one may be asked.
struct Way {
    key: String,
    label: String,
    is_chosen: bool,
}

/// A question as it is shown.
struct Shown {
    question: Question,
    number: usize,
    /// By which its fields are named.
    name: String,
    kinds: Vec<(&'static str, String, bool)>,
    is_kept: bool,
    is_written: bool,
    ways: Vec<Way>,
    errors: Vec<String>,
}

#[derive(Template)]
#[template(path = "console/questions.html")]
struct Page<'v> {
    frame: Frame<'v>,
    action: String,
    hidden: Fields,
    questions: Vec<Shown>,
    problems: Vec<String>,
    note: Option<&'static str>,
    /// What somebody else has made of them meanwhile, in words, and the way to it.
    theirs: Option<(Vec<String>, String)>,
    may_change: bool,
}

impl Text {
    fn read(fields: &Fields, name: &str) -> Self {
        let of = |part: &str| first(fields, &format!("{name}.{part}")).unwrap_or_default().to_owned();
        Self { id: of("id"), was: of("was"), now: of("text") }
    }

    fn stored(id: &Value, texts: &HashMap<Uuid, String>) -> Self {
        let id = id.as_str().unwrap_or_default().to_owned();
        let text = id.parse().ok().and_then(|id: Uuid| texts.get(&id).cloned()).unwrap_or_default();
        Self { id, was: text.clone(), now: text }
    }

    fn is_blank(&self) -> bool {
        self.now.trim().is_empty()
    }
}

impl Question {
    /// The questions of a step.
    fn all(stored: &Stored, texts: &HashMap<Uuid, String>) -> Vec<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let option = |option: &Value| Choice {
            key: text(&option["id"]),
            id: text(&option["id"]),
            text: Text::stored(&option["nameMlTextId"], texts),
            answer: text(&option["answer"]),
        };
        let question = |question: &Value| Self {
            key: text(&question["id"]),
            id: text(&question["id"]),
            kind: text(&question["kind"]),
            text: Text::stored(&question["textMlTextId"], texts),
            is_required: question["isRequired"] == true,
            options: question["options"].as_array().into_iter().flatten().map(option).collect(),
            conditions: question["conditions"].as_array().into_iter().flatten().map(|condition| text(&condition["optionId"])).collect(),
        };
        listed(stored).iter().map(question).collect()
    }

    /// The questions of a form.
    fn sent(fields: &Fields) -> Vec<Self> {
        let one = |number: usize| {
            let name = format!("q{number}");
            let of = |part: &str| first(fields, &format!("{name}.{part}")).unwrap_or_default().to_owned();
            first(fields, &format!("{name}.key"))?;
            let option = |place: usize| {
                let name = format!("{name}.o{place}");
                let of = |part: &str| first(fields, &format!("{name}.{part}")).unwrap_or_default().to_owned();
                first(fields, &format!("{name}.key"))?;
                Some(Choice { key: of("key"), id: of("of"), text: Text::read(fields, &name), answer: of("answer") })
            };
            let condition = format!("{name}.c");
            Some(Self {
                key: of("key"),
                id: of("of"),
                kind: of("kind"),
                text: Text::read(fields, &name),
                is_required: first(fields, &format!("{name}.required")).is_some(),
                options: (0..MOST).filter_map(option).collect(),
                conditions: fields.iter().filter(|(known, _)| *known == condition).map(|(_, key)| key.clone()).collect(),
            })
        };
        (0..MOST).filter_map(one).collect()
    }

    /// Whether nobody has filled it in.
    fn is_blank(&self) -> bool {
        self.id.is_empty() && self.text.is_blank() && self.options.iter().all(|option| option.text.is_blank())
    }

    fn is_written(&self) -> bool {
        KINDS.iter().any(|(kind, is_written)| *kind == self.kind && *is_written)
    }
}

fn listed(stored: &Stored) -> &[Value] {
    stored.value.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts of questions, in English.
async fn texts_of(visit: &Visit, stored: &Stored) -> HashMap<Uuid, String> {
    let questions = listed(stored);
    let options = questions.iter().flat_map(|question| question["options"].as_array().into_iter().flatten());
    let ids = questions.iter().map(|question| &question["textMlTextId"]).chain(options.map(|option| &option["nameMlTextId"]));
    texts_in(visit, ENGLISH, ids.filter_map(|id| id.as_str()?.parse().ok())).await
}

/// A key that nothing of the form has.
fn fresh(questions: &[Question]) -> String {
    let keys =
        questions.iter().flat_map(|question| std::iter::once(&question.key).chain(question.options.iter().map(|option| &option.key)));
    let last = keys.filter_map(|key| key.strip_prefix('n')?.parse::<u32>().ok()).max().unwrap_or(0);
    format!("n{}", last.saturating_add(1))
}

/// What a button of the form does to the questions; false where it is none of those.
fn acted(questions: &mut Vec<Question>, act: &str) -> bool {
    let (what, place) = act.split_once(' ').unwrap_or((act, ""));
    let (number, option) = place.split_once(' ').unwrap_or((place, ""));
    let (number, option) = (number.parse::<usize>().ok().filter(|number| *number < questions.len()), option.parse::<usize>().ok());
    let key = fresh(questions);
    match (what, number) {
        ("add", _) if questions.len() < MOST => {
            questions.push(Question { key, kind: "single_select".into(), ..Question::default() });
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
        ("add" | "up" | "down" | "option" | "drop", _) => {}
        _ => return false,
    }
    true
}

/// The page of some questions.
struct Drawn {
    questions: Vec<Question>,
    updated_at: String,
    key: String,
    status: u16,
    problems: Vec<String>,
    /// By the number of the question.
    errors: HashMap<usize, Vec<String>>,
    note: Option<&'static str>,
    theirs: Option<Vec<String>>,
}

impl Drawn {
    fn of(visit: &Visit, questions: Vec<Question>, updated_at: String) -> Self {
        let key = visit.sent("key").map_or_else(|| visit.new_key(), str::to_owned);
        Self { questions, updated_at, key, status: 200, problems: Vec::new(), errors: HashMap::new(), note: None, theirs: None }
    }

    fn page(mut self, visit: &Visit, stored: &Stored) -> Response {
        let words = visit.words;
        let called = |question: &Question, number: usize| {
            if question.text.is_blank() { format!("{} {}", words.steps.question, number + 1) } else { question.text.now.clone() }
        };
        let mut ways: Vec<(String, String)> = Vec::new();
        let mut shown = Vec::new();
        let all = std::mem::take(&mut self.questions);
        for (number, question) in all.into_iter().enumerate() {
            let is_kept = !question.id.is_empty();
            let kinds = KINDS.iter().map(|(kind, _)| (*kind, labels::choice(visit.language, kind), *kind == question.kind)).collect();
            let way = |(key, label): &(String, String)| Way {
                key: key.clone(),
                label: label.clone(),
                is_chosen: question.conditions.contains(key),
            };
            let earlier = ways.iter().map(way).collect();
            let name = called(&question, number);
            let label = |option: &Choice| match option.answer.as_str() {
                "yes" => words.frame.yes.to_owned(),
                "no" => words.frame.no.to_owned(),
                _ => option.text.now.clone(),
            };
            ways.extend(
                question
                    .options
                    .iter()
                    .filter(|option| !label(option).is_empty())
                    .map(|option| (option.key.clone(), format!("{name}: {}", label(option)))),
            );
            let errors = self.errors.remove(&number).unwrap_or_default();
            let is_written = question.is_written();
            shown.push(Shown { name: format!("q{number}"), number, kinds, is_kept, is_written, ways: earlier, errors, question });
        }
        let id = stored.id;
        let title = stored.value.get("nickname").and_then(Value::as_str).unwrap_or_default();
        let frame =
            Frame::new(visit, words.steps.questions).below(visit, words.steps.steps, "/steps").below(visit, title, &format!("/steps/{id}"));
        let action = visit.address(&format!("/steps/{id}/questions"));
        let hidden = [("form", visit.signed_in.form_token()), ("key", self.key), ("updatedAt", self.updated_at)];
        let page = Page {
            frame,
            action: action.clone(),
            hidden: hidden.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            questions: shown,
            problems: self.problems,
            note: self.note,
            theirs: self.theirs.map(|theirs| (theirs, action)),
            may_change: visit.may(STEP.update),
        };
        reply::of(visit, self.status, &page)
    }
}

fn updated_at(stored: &Stored) -> String {
    stored.value.get("updatedAt").and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let stored = stored(visit, visit.named("id")?).await?;
        let questions = Question::all(&stored, &texts_of(visit, &stored).await);
        Ok(Drawn::of(visit, questions, updated_at(&stored)).page(visit, &stored))
    })
}

pub fn save(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let now = stored(visit, visit.named("id")?).await?;
        let mut questions = Question::sent(&visit.fields);
        let is_act = acted(&mut questions, visit.sent("act").unwrap_or_default());
        let expected = visit.sent("updatedAt").unwrap_or_default().to_owned();
        let mut drawn = Drawn::of(visit, questions.clone(), expected.clone());
        if is_act || !visit.may_write() {
            drawn.note = Some(if is_act { visit.words.steps.not_saved } else { visit.words.frame.is_kept });
            return Ok(drawn.page(visit, &now));
        }
        questions.retain(|question| !question.is_blank());
        if expected != updated_at(&now) {
            // Both versions are there; saving again is the choice of this one.
            let theirs = Question::all(&now, &texts_of(visit, &now).await);
            drawn.theirs = Some(theirs.into_iter().map(|question| question.text.now).collect());
            (drawn.updated_at, drawn.status) = (updated_at(&now), 409);
            return Ok(drawn.page(visit, &now));
        }
        match written(visit, &now, &questions, &expected).await {
            Ok(()) => Ok(reply::done(visit, &visit.path, Done::Saved)),
            Err(refusal) => {
                drawn.status = refusal.status;
                for issue in &refusal.issues {
                    let number = issue.path.iter().find_map(|segment| segment.parse::<usize>().ok());
                    // What nobody filled in was not sent.
                    let place = number.and_then(|number| {
                        drawn.questions.iter().enumerate().filter(|(_, question)| !question.is_blank()).nth(number).map(|(place, _)| place)
                    });
                    match place {
                        Some(place) => drawn.errors.entry(place).or_default().push(issue.message.clone()),
                        None => drawn.problems.push(issue.message.clone()),
                    }
                }
                if drawn.problems.is_empty() {
                    drawn.problems.push(refusal.message);
                }
                Ok(drawn.page(visit, &now))
            }
        }
    })
}

/// Sends the questions: new texts first, then the list, then texts that are there already.
async fn written(visit: &Visit, step: &Stored, questions: &[Question], expected: &str) -> Result<(), Refusal> {
    let mut sent = Vec::new();
    for (number, question) in questions.iter().enumerate() {
        let text = linked(visit, &question.text, number).await?;
        let mut options = Vec::new();
        for option in question.options.iter().filter(|option| question.is_written() && !(option.id.is_empty() && option.text.is_blank())) {
            let name = linked(visit, &option.text, number).await?;
            options.push(if option.id.is_empty() {
                json!({ "nameMlTextId": name })
            } else {
                json!({ "id": option.id, "nameMlTextId": name })
            });
        }
        let conditions: Vec<Value> = question.conditions.iter().filter_map(|key| condition(&questions[..number], key)).collect();
        let mut body = json!({ "kind": question.kind, "textMlTextId": text, "isRequired": question.is_required, "conditions": conditions });
        if question.is_written() {
            body["options"] = options.into();
        }
        if !question.id.is_empty() {
            body["id"] = question.id.as_str().into();
        }
        sent.push(body);
    }
    let arguments = json!({ "id": step.id, "data": { "questions": sent }, "expectedUpdatedAt": expected });
    visit.change(STEP.update, arguments).await?;
    for text in changed(questions) {
        let entry = json!({ "id": text.id, "language": ENGLISH, "text": text.now });
        visit.change("setTranslationEntry", entry).await?;
    }
    Ok(())
}

/// The texts that are there already and are another by now.
fn changed(questions: &[Question]) -> Vec<&Text> {
    let mut texts = Vec::new();
    for question in questions {
        texts.push(&question.text);
        texts.extend(question.options.iter().map(|option| &option.text));
    }
    texts.retain(|text| !text.id.is_empty() && text.was != text.now);
    texts
}

/// The translation of a text, which is made where there is none.
async fn linked(visit: &Visit, text: &Text, number: usize) -> Result<Value, Refusal> {
    if !text.id.is_empty() {
        return Ok(json!(text.id));
    }
    let made = new_text(visit, SOURCE, &text.now).await;
    made.map(Value::from).map_err(|mut refusal| {
        refusal.issues.iter_mut().for_each(|issue| issue.path = vec![number.to_string()]);
        refusal
    })
}

/// A condition that points at an option of an earlier question: by its id, or by its place where it has none yet.
fn condition(earlier: &[Question], key: &str) -> Option<Value> {
    let find = |(number, question): (usize, &Question)| {
        let place = question
            .options
            .iter()
            .filter(|option| !(option.id.is_empty() && option.text.is_blank()))
            .position(|option| option.key == key)?;
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
    }

    #[test]
    fn a_condition_points_at_what_is_before() {
        let mut earlier = vec![question("a", &["n1", "n2"]), question("b", &["n3"])];
        assert_eq!(condition(&earlier, "n3"), Some(json!({ "questionIndex": 1, "optionIndex": 0 })));
        earlier[0].options[1].id = "7".into();
        assert_eq!(condition(&earlier, "n2"), Some(json!({ "optionId": "7" })));
        assert_eq!(condition(&earlier, "n9"), None);
    }
}
