//! The answers of a guest in a step, as lines with a label and a value.

use std::collections::HashMap;

use jiff::civil::Date;
use serde_json::{Value, json};

use super::labels;
use super::visit::ConsoleRequest;
use crate::page;
use crate::words::{fill, in_language};

/// Limits that keep a page readable: `MOST` values of a step, each with at most `LONGEST`
/// characters.
const MOST: usize = 200;
const LONGEST: usize = 2_000;
const LIST_WAIVERS: &str = "listDamageWaivers";
/// Maximum depth to which nested answers are shown.
const DEEPEST: usize = 5;

/// A label, and the value that the guest gave.
#[derive(Debug, PartialEq, Eq)]
pub struct AnswerLine {
    pub label: String,
    /// Empty if the guest gave no value.
    pub value: String,
}

/// An example of the date format in answers. Only its length is used.
const DAY: &str = "1985-03-27";

/// The field that contains the id of a damage waiver.
const WAIVER: &str = "damageWaiverId";

/// Returns the names of damage waivers by their id. Returns nothing if the answers refer to none.
pub async fn waivers<'a>(
    visit: &ConsoleRequest,
    mut answers: impl Iterator<Item = &'a Value>,
) -> HashMap<String, String> {
    if !visit.may(LIST_WAIVERS) || !answers.any(|answers| answers[WAIVER].is_string()) {
        return HashMap::new();
    }
    let rows: Vec<Value> = visit.get(LIST_WAIVERS, json!({})).await.unwrap_or_default();
    rows.iter()
        .filter_map(|row| {
            Some((
                row["id"].as_str()?.to_owned(),
                row["name"].as_str()?.to_owned(),
            ))
        })
        .collect()
}

/// Returns the answers, and whether some are left out. Questions are labelled by their text, other
/// values by their field.
pub fn answer_lines(
    visit: &ConsoleRequest,
    answers: &Value,
    waivers: &HashMap<String, String>,
) -> (Vec<AnswerLine>, bool) {
    let mut given = match answers {
        Value::Array(questions) => questions.iter().map(question).collect(),
        answers => {
            let mut rows = Vec::new();
            collect_rows(visit, "", answers, 0, &mut rows);
            rows
        }
    };
    for given in &mut given {
        if let Some(name) = waivers.get(&given.value) {
            given.value.clone_from(name);
        }
    }
    let is_cut = given.len() > MOST
        || given
            .iter()
            .any(|given| given.value.chars().count() > LONGEST);
    given.truncate(MOST);
    for given in &mut given {
        given.value = given.value.chars().take(LONGEST).collect();
    }
    (given, is_cut)
}

fn question(question: &Value) -> AnswerLine {
    let chosen = question["options"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|option| option["name"].as_str());
    let value: Vec<&str> = chosen.chain(question["text"].as_str()).collect();
    AnswerLine {
        label: question["question"].as_str().unwrap_or_default().to_owned(),
        value: value.join(", "),
    }
}

fn collect_rows(
    visit: &ConsoleRequest,
    label: &str,
    value: &Value,
    depth: usize,
    rows: &mut Vec<AnswerLine>,
) {
    let below = |name: String| {
        if label.is_empty() {
            name
        } else {
            format!("{label} · {name}")
        }
    };
    match value {
        Value::Object(fields) if depth < DEEPEST => {
            for (name, value) in fields {
                let without_ids = (name == "guests").then(|| without_ids(value));
                let value = without_ids.as_ref().unwrap_or(value);
                // For a list of guests, the numbers of the guests are label enough.
                let label = if name == "guests" && value.is_array() {
                    label.to_owned()
                } else {
                    below(called(visit, name))
                };
                let chosen = value
                    .as_str()
                    .and_then(|value| in_words(visit, name, value))
                    .map(Value::from);
                collect_rows(
                    visit,
                    &label,
                    chosen.as_ref().unwrap_or(value),
                    depth + 1,
                    rows,
                );
            }
        }
        Value::Array(items) if depth < DEEPEST && items.iter().any(Value::is_object) => {
            for (place, item) in items.iter().enumerate() {
                let number = (place + 1).to_string();
                let label = below(fill(
                    visit.words.submissions.guest_number,
                    &[("number", &number)],
                ));
                collect_rows(visit, &label, item, depth + 1, rows);
            }
        }
        value if rows.len() <= MOST => rows.push(AnswerLine {
            label: label.to_owned(),
            value: plain(visit, value),
        }),
        _ => {}
    }
}

/// Returns guests without the ids that the service gave them, which say nothing to people.
fn without_ids(guests: &Value) -> Value {
    let mut guests = guests.clone();
    for guest in guests.as_array_mut().into_iter().flatten() {
        if let Some(guest) = guest.as_object_mut() {
            guest.remove("id");
        }
    }
    guests
}

fn called(visit: &ConsoleRequest, name: &str) -> String {
    let own = in_language(visit.language).0.guest_field(name);
    own.map_or_else(|| labels::label(visit.language, name), str::to_owned)
}

/// Returns the text for a choice or a day, and `None` for other values.
fn in_words(visit: &ConsoleRequest, field: &str, value: &str) -> Option<String> {
    match field {
        "choice" => Some(labels::choice(visit.language, value)),
        "documentType" => Some(document(visit, value)),
        "gender" => {
            let genders = in_language(visit.language).0.genders();
            genders
                .into_iter()
                .find(|(known, _)| *known == value)
                .map(|(_, called)| called.to_owned())
        }
        _ => value
            .parse()
            .ok()
            .map(|day: Date| visit.dates().full(day))
            .filter(|_| value.len() == DAY.len()),
    }
}

/// Returns the name of a kind of document. A kind that the organization defined is its own name.
pub fn document(visit: &ConsoleRequest, kind: &str) -> String {
    page::document(kind, in_language(visit.language).0)
        .unwrap_or(kind)
        .to_owned()
}

fn plain(visit: &ConsoleRequest, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => visit.words.frame.yes.to_owned(),
        Value::Bool(false) => visit.words.frame.no.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items
            .iter()
            .map(|item| plain(visit, item))
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    }
}
