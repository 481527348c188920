//! The questions of a step, edited together: added, moved and removed in the form, saved at once.

mod edited;

use std::collections::HashMap;

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};

use self::edited::{KINDS, Question, Text, acted, condition, fold};
use super::{STEP, stored};
use crate::console::form::{Stored, new_text};
use crate::console::frame::{Done, Frame};
use crate::console::labels;
use crate::console::refusal::Refusal;
use crate::console::reply;
use crate::console::screens::{Answering, way};
use crate::console::texts::texts_of_form;
use crate::console::visit::{Fields, Visit};
use crate::translations::ENGLISH;
use crate::words::fill;

/// What the texts are of.
const SOURCE: &str = "precheck_question";
/// Options of earlier questions that are all there to be chosen from; where there are more, those of one question at a time.
const FEW: usize = 12;
/// Letters of a text by which it is told from others.
const BRIEF: usize = 60;

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
    /// The earlier questions whose options are there for the asking: the key, what it is called, whether it is chosen.
    from: Vec<(String, String, bool)>,
    errors: Vec<String>,
    /// In a few words, while it is folded.
    brief: String,
    about: String,
}

#[derive(Template)]
#[template(path = "console/questions.html")]
struct Page<'v> {
    frame: Frame<'v>,
    action: String,
    hidden: Fields,
    questions: Vec<Shown>,
    /// What is wrong, and the question that it is about.
    problems: Vec<(String, Option<usize>)>,
    note: Option<&'static str>,
    /// What somebody else has made of them meanwhile, in words, and the way to it.
    theirs: Option<(Vec<String>, String)>,
    /// Where texts are in all languages, without their ids.
    languages: Option<String>,
    may_change: bool,
}

impl Page<'_> {
    /// Where a text is in all languages.
    fn way_to(&self, id: &str) -> Option<String> {
        self.languages.as_ref().filter(|_| !id.is_empty()).map(|way| format!("{way}{id}"))
    }
}

fn listed(stored: &Stored) -> &[Value] {
    stored.value.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The questions of a step, with their texts in English.
async fn questions_of(visit: &Visit, stored: &Stored) -> Result<Vec<Question>, Refusal> {
    let questions = listed(stored);
    let options = questions.iter().flat_map(|question| question["options"].as_array().into_iter().flatten());
    let ids = questions.iter().map(|question| &question["textMlTextId"]).chain(options.map(|option| &option["nameMlTextId"]));
    let texts = texts_of_form(visit, ENGLISH, ids.filter_map(|id| id.as_str()?.parse().ok())).await?;
    Ok(questions.iter().map(|question| Question::stored(question, &texts)).collect())
}

fn brief(text: &str) -> String {
    if text.chars().count() > BRIEF { text.chars().take(BRIEF).chain(['…']).collect() } else { text.to_owned() }
}

/// The page of some questions.
struct Drawn {
    questions: Vec<Question>,
    updated_at: String,
    key: String,
    status: u16,
    problems: Vec<(String, Option<usize>)>,
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

    /// What is wrong, each at its question. What nobody filled in was not sent.
    fn refused(&mut self, visit: &Visit, refusal: &Refusal) {
        self.status = refusal.status;
        let sent: Vec<usize> = (0..self.questions.len()).filter(|number| !self.questions[*number].is_blank()).collect();
        for issue in &refusal.issues {
            let number = issue.path.iter().find_map(|segment| segment.parse::<usize>().ok());
            let Some(place) = number.and_then(|number| sent.get(number)).copied() else {
                self.problems.push((issue.message.clone(), None));
                continue;
            };
            self.problems.push((format!("{} {}: {}", visit.words.steps.question, place + 1, issue.message), Some(place)));
            self.errors.entry(place).or_default().push(issue.message.clone());
            (self.questions[place].is_open, self.questions[place].is_in_hand) = (true, true);
        }
        if self.problems.is_empty() {
            self.problems.push((refusal.message.clone(), None));
        }
    }

    /// The page on a step that has these questions.
    fn page(mut self, visit: &Visit, stored: &Stored, known: &[Question]) -> Response {
        let words = visit.words;
        fold(&mut self.questions, known);
        let mut earlier: Vec<Offered> = Vec::new();
        let mut shown = Vec::new();
        for (number, question) in std::mem::take(&mut self.questions).into_iter().enumerate() {
            let offered = Offered::of(visit, &question, number);
            let errors = self.errors.remove(&number).unwrap_or_default();
            shown.push(show_one(visit, question, number, &earlier, errors));
            earlier.push(offered);
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
            languages: way(visit, "/translations/{id}", ""),
            may_change: visit.may(STEP.update),
        };
        reply::of(visit, self.status, &page)
    }
}

/// What a question offers those after it to be asked by.
struct Offered {
    key: String,
    name: String,
    /// Its options: the key of each, and what it is called.
    options: Vec<(String, String)>,
}

impl Offered {
    fn of(visit: &Visit, question: &Question, number: usize) -> Self {
        let words = visit.words;
        let name = if question.text.is_blank() { format!("{} {}", words.steps.question, number + 1) } else { brief(&question.text.now) };
        let label = |answer: &str, text: &str| match answer {
            "yes" => words.frame.yes.to_owned(),
            "no" => words.frame.no.to_owned(),
            _ => brief(text),
        };
        let options = question.options.iter().map(|option| (option.key.clone(), label(&option.answer, &option.text.now)));
        Self { key: question.key.clone(), name, options: options.filter(|(_, label)| !label.trim().is_empty()).collect() }
    }
}

fn show_one(visit: &Visit, question: Question, number: usize, earlier: &[Offered], errors: Vec<String>) -> Shown {
    let words = visit.words;
    let is_few = earlier.iter().map(|offered| offered.options.len()).sum::<usize>() <= FEW;
    let (mut ways, mut from) = (Vec::new(), Vec::new());
    for offered in earlier.iter().filter(|_| question.is_open) {
        for (key, label) in &offered.options {
            let is_chosen = question.conditions.contains(key);
            if is_few || is_chosen || question.from == offered.key {
                ways.push(Way { key: key.clone(), label: format!("{}: {label}", offered.name), is_chosen });
            }
        }
        if !is_few && !offered.options.is_empty() {
            from.push((offered.key.clone(), offered.name.clone(), question.from == offered.key));
        }
    }
    let kind = labels::choice(visit.language, &question.kind);
    let count = question.options.len().to_string();
    let about = if question.is_written() { format!("{kind} · {}", fill(words.steps.options_count, &[("count", &count)])) } else { kind };
    let is_asked_when = (!question.conditions.is_empty()).then_some(words.steps.is_conditional);
    Shown {
        name: format!("q{number}"),
        number,
        kinds: KINDS.iter().map(|(kind, _)| (*kind, labels::choice(visit.language, kind), *kind == question.kind)).collect(),
        is_kept: !question.id.is_empty(),
        is_written: question.is_written(),
        ways,
        from,
        errors,
        brief: brief(&question.text.now),
        about: is_asked_when.map_or_else(|| about.clone(), |when| format!("{about} · {when}")),
        question,
    }
}

fn updated_at(stored: &Stored) -> String {
    stored.value.get("updatedAt").and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let stored = stored(visit, visit.named("id")?).await?;
        let known = questions_of(visit, &stored).await?;
        Ok(Drawn::of(visit, known.clone(), updated_at(&stored)).page(visit, &stored, &known))
    })
}

pub fn save(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let now = stored(visit, visit.named("id")?).await?;
        let known = questions_of(visit, &now).await?;
        let mut questions = Question::sent(&visit.fields, &known);
        let act = visit.sent("act").unwrap_or_default();
        // What says nothing changes nothing.
        let is_act = acted(&mut questions, act) || act != "save";
        let expected = visit.sent("updatedAt").unwrap_or_default().to_owned();
        let mut drawn = Drawn::of(visit, questions.clone(), expected.clone());
        if is_act || !visit.may_write() {
            drawn.note = Some(if is_act { visit.words.steps.not_saved } else { visit.words.frame.is_kept });
            return Ok(drawn.page(visit, &now, &known));
        }
        if expected != updated_at(&now) {
            // Both versions are there; saving again is the choice of this one.
            drawn.theirs = Some(known.iter().map(|question| question.text.now.clone()).collect());
            (drawn.updated_at, drawn.status) = (updated_at(&now), 409);
            return Ok(drawn.page(visit, &now, &known));
        }
        questions.retain(|question| !question.is_blank());
        match written(visit, &now, &mut questions, &expected).await {
            Ok(()) => Ok(reply::done(visit, &visit.path, Done::Saved)),
            Err(Failed { refusal, saved }) => {
                if let Some(saved) = &saved {
                    // It goes on from what is saved; what is new from now on has keys of another form.
                    (drawn.questions, drawn.updated_at, drawn.key) = (questions, updated_at(saved), visit.new_key());
                    drawn.note = Some(visit.words.forms.rest_saved);
                }
                drawn.refused(visit, &refusal);
                Ok(drawn.page(visit, saved.as_ref().unwrap_or(&now), &known))
            }
        }
    })
}

/// Why questions are not saved, and the step where the list of them is.
struct Failed {
    refusal: Refusal,
    saved: Option<Stored>,
}

/// Sends the questions: new texts first, then the list, then texts that are there already.
async fn written(visit: &Visit, step: &Stored, questions: &mut [Question], expected: &str) -> Result<(), Failed> {
    let unsaved = |refusal| Failed { refusal, saved: None };
    let mut sent = Vec::new();
    for (number, question) in questions.iter().enumerate() {
        let text = linked(visit, &question.key, &question.text, number).await.map_err(unsaved)?;
        let mut options = Vec::new();
        for option in question.filled_in().filter(|_| question.is_written()) {
            let name = linked(visit, &option.key, &option.text, number).await.map_err(unsaved)?;
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
    let saved = Stored::of(step.id, visit.change(STEP.update, arguments).await.map_err(unsaved)?);
    let mut refused = None;
    'texts: for (number, question) in questions.iter_mut().enumerate() {
        for text in question.texts_mut().filter(|text| text.is_changed()) {
            let entry = json!({ "id": text.id, "language": ENGLISH, "text": text.now });
            if let Err(refusal) = visit.change("setTranslationEntry", entry).await {
                refused = Some(about(refusal, number));
                break 'texts;
            }
            text.settle();
        }
    }
    match refused {
        Some(refusal) => Err(Failed { refusal, saved: Some(followed(visit, saved, questions).await) }),
        None => Ok(()),
    }
}

/// The step where the list is saved; the questions are those that it has from then on.
async fn followed(visit: &Visit, saved: Stored, questions: &mut [Question]) -> Stored {
    // What an update answers is without questions.
    let Ok(now) = visit.change(STEP.read, json!({ "id": saved.id })).await else { return saved };
    let now = Stored::of(saved.id, now);
    for (question, stored) in questions.iter_mut().zip(listed(&now)) {
        question.adopt(Question::stored(stored, &HashMap::new()));
    }
    now
}

/// A refusal of a text, as one of its question.
fn about(mut refusal: Refusal, number: usize) -> Refusal {
    refusal.issues.iter_mut().for_each(|issue| issue.path = vec![number.to_string()]);
    refusal
}

/// The translation of a text of what goes by a key, which is made where there is none.
async fn linked(visit: &Visit, key: &str, text: &Text, number: usize) -> Result<Value, Refusal> {
    if !text.id.is_empty() {
        return Ok(json!(text.id));
    }
    new_text(visit, SOURCE, key, &text.now).await.map(Value::from).map_err(|refusal| about(refusal, number))
}
