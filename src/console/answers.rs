//! What a guest gave in a step, a line a value, in words.

use std::collections::HashMap;

use jiff::civil::Date;
use serde_json::{Value, json};

use super::labels;
use super::visit::Visit;
use crate::page;
use crate::words::{fill, in_language};

/// Values of a step that are shown at the most, and how much of each: a page stays one that can be read.
const MOST: usize = 200;
const LONGEST: usize = 2_000;
const LIST_WAIVERS: &str = "listDamageWaivers";
/// How deep answers are looked into.
const DEEPEST: usize = 5;

/// A value: what it is, and what was given.
#[derive(Debug, PartialEq, Eq)]
pub struct Given {
    pub label: String,
    /// Nothing where nothing was given.
    pub value: String,
}

/// How a day is written where guests give one.
const DAY: &str = "1985-03-27";

/// The field that names a damage waiver.
const WAIVER: &str = "damageWaiverId";

/// What the damage waivers are called that some answers name; nothing where they name none.
pub async fn waivers<'a>(visit: &Visit, mut answers: impl Iterator<Item = &'a Value>) -> HashMap<String, String> {
    if !visit.may(LIST_WAIVERS) || !answers.any(|answers| answers[WAIVER].is_string()) {
        return HashMap::new();
    }
    let rows: Vec<Value> = visit.get(LIST_WAIVERS, json!({})).await.unwrap_or_default();
    rows.iter().filter_map(|row| Some((row["id"].as_str()?.to_owned(), row["name"].as_str()?.to_owned()))).collect()
}

/// What was given, and whether there is more than is shown. Questions come with their texts, anything else by its fields.
pub fn given(visit: &Visit, answers: &Value, waivers: &HashMap<String, String>) -> (Vec<Given>, bool) {
    let mut given = match answers {
        Value::Array(questions) => questions.iter().map(question).collect(),
        answers => {
            let mut rows = Vec::new();
            gather(visit, "", answers, 0, &mut rows);
            rows
        }
    };
    for given in &mut given {
        if let Some(name) = waivers.get(&given.value) {
            given.value.clone_from(name);
        }
    }
    let is_cut = given.len() > MOST || given.iter().any(|given| given.value.chars().count() > LONGEST);
    given.truncate(MOST);
    for given in &mut given {
        given.value = given.value.chars().take(LONGEST).collect();
    }
    (given, is_cut)
}

fn question(question: &Value) -> Given {
    let chosen = question["options"].as_array().into_iter().flatten().filter_map(|option| option["name"].as_str());
    let value: Vec<&str> = chosen.chain(question["text"].as_str()).collect();
    Given { label: question["question"].as_str().unwrap_or_default().to_owned(), value: value.join(", ") }
}

fn gather(visit: &Visit, label: &str, value: &Value, depth: usize, rows: &mut Vec<Given>) {
    let below = |name: String| if label.is_empty() { name } else { format!("{label} · {name}") };
    match value {
        Value::Object(fields) if depth < DEEPEST => {
            for (name, value) in fields {
                // A list of guests is told by its guests.
                let label = if name == "guests" && value.is_array() { label.to_owned() } else { below(called(visit, name)) };
                let chosen = value.as_str().and_then(|value| in_words(visit, name, value)).map(Value::from);
                gather(visit, &label, chosen.as_ref().unwrap_or(value), depth + 1, rows);
            }
        }
        Value::Array(items) if depth < DEEPEST && items.iter().any(Value::is_object) => {
            for (place, item) in items.iter().enumerate() {
                let number = (place + 1).to_string();
                let label = below(fill(visit.words.submissions.guest_number, &[("number", &number)]));
                gather(visit, &label, item, depth + 1, rows);
            }
        }
        value if rows.len() <= MOST => rows.push(Given { label: label.to_owned(), value: plain(visit, value) }),
        _ => {}
    }
}

fn called(visit: &Visit, name: &str) -> String {
    let own = in_language(visit.language).0.guest_field(name);
    own.map_or_else(|| labels::label(visit.language, name), str::to_owned)
}

/// What a field has, in words, where that is a choice or a day.
fn in_words(visit: &Visit, field: &str, value: &str) -> Option<String> {
    match field {
        "choice" => Some(labels::choice(visit.language, value)),
        "documentType" => Some(document(visit, value)),
        "gender" => {
            let genders = in_language(visit.language).0.genders();
            genders.into_iter().find(|(known, _)| *known == value).map(|(_, called)| called.to_owned())
        }
        _ => value.parse().ok().map(|day: Date| visit.dates().full(day)).filter(|_| value.len() == DAY.len()),
    }
}

/// What a kind of document is called; one that the organization has named stands for itself.
pub fn document(visit: &Visit, kind: &str) -> String {
    page::document(kind, in_language(visit.language).0).unwrap_or(kind).to_owned()
}

fn plain(visit: &Visit, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => visit.words.frame.yes.to_owned(),
        Value::Bool(false) => visit.words.frame.no.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(|item| plain(visit, item)).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
