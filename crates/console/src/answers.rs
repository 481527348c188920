//! Formats a guest's answers to a step as lines with a label and a value.

use std::collections::HashMap;

use features::words::{fill, in_language};
use jiff::civil::Date;
use serde_json::{Value, json};

use super::labels;
use super::request::ConsoleRequest;

/// Limits that keep a console page with a guest's answers short. `MAX_ANSWERS` is the maximum
/// number of answer lines. `MAX_ANSWER_LENGTH` is the maximum number of characters of an answer.
const MAX_ANSWERS: usize = 200;
const MAX_ANSWER_LENGTH: usize = 2_000;
const LIST_WAIVERS: &str = "listDamageWaivers";
/// Maximum depth at which the parts of an answer get lines of their own. A deeper part is one line
/// with its JSON text.
const DEEPEST: usize = 5;

/// An answer of the guest with its label.
#[derive(Debug, PartialEq, Eq)]
pub struct AnswerLine {
    pub label: String,
    /// The answer in words. Empty if the guest gave no answer.
    pub value: String,
}

/// An example of a date in an answer. A text is parsed as a date only if it has the same length.
const DAY: &str = "1985-03-27";

/// The field that contains the id of a damage waiver.
const WAIVER: &str = "damageWaiverId";

/// Returns the names of the organization's damage waivers, by the id of the waiver. Returns an
/// empty map if no answer refers to a waiver, or if the member may not list the waivers.
pub async fn waivers<'a>(
    request: &ConsoleRequest,
    mut answers: impl Iterator<Item = &'a Value>,
) -> HashMap<String, String> {
    if !request.may(LIST_WAIVERS) || !answers.any(|answers| answers[WAIVER].is_string()) {
        return HashMap::new();
    }
    let rows: Vec<Value> = request
        .get(LIST_WAIVERS, json!({}))
        .await
        .unwrap_or_default();
    rows.iter()
        .filter_map(|row| {
            Some((
                row["id"].as_str()?.to_owned(),
                row["name"].as_str()?.to_owned(),
            ))
        })
        .collect()
}

/// Returns the answers of a step as lines for the submission's page, and whether there are more
/// answers than the page shows. An answer to a question has the question's text as its label; an
/// answer of another step has the label of its field.
pub fn answer_lines(
    request: &ConsoleRequest,
    answers: &Value,
    waivers: &HashMap<String, String>,
) -> (Vec<AnswerLine>, bool) {
    let mut given = match answers {
        Value::Array(questions) => questions.iter().map(question).collect(),
        answers => {
            let mut rows = Vec::new();
            collect_rows(request, "", answers, 0, &mut rows);
            rows
        }
    };
    for given in &mut given {
        if let Some(name) = waivers.get(&given.value) {
            given.value.clone_from(name);
        }
    }
    let is_truncated = given.len() > MAX_ANSWERS
        || given
            .iter()
            .any(|given| given.value.chars().count() > MAX_ANSWER_LENGTH);
    given.truncate(MAX_ANSWERS);
    for given in &mut given {
        given.value = given.value.chars().take(MAX_ANSWER_LENGTH).collect();
    }
    (given, is_truncated)
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
    request: &ConsoleRequest,
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
                // A guest of the list `guests` has a label such as "Guest 2". So the label of the
                // list, "Guests", is not repeated before it.
                let label = if name == "guests" && value.is_array() {
                    label.to_owned()
                } else {
                    below(called(request, name))
                };
                let chosen = value
                    .as_str()
                    .and_then(|value| in_words(request, name, value))
                    .map(Value::from);
                collect_rows(
                    request,
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
                    request.texts.submissions.guest_number,
                    &[("number", &number)],
                ));
                collect_rows(request, &label, item, depth + 1, rows);
            }
        }
        value if rows.len() <= MAX_ANSWERS => rows.push(AnswerLine {
            label: label.to_owned(),
            value: plain(request, value),
        }),
        _ => {}
    }
}

/// Returns the guests without their ids, which mean nothing to the member.
fn without_ids(guests: &Value) -> Value {
    let mut guests = guests.clone();
    for guest in guests.as_array_mut().into_iter().flatten() {
        if let Some(guest) = guest.as_object_mut() {
            guest.remove("id");
        }
    }
    guests
}

fn called(request: &ConsoleRequest, name: &str) -> String {
    let own = in_language(request.language).0.guest_field(name);
    own.map_or_else(|| labels::label(request.language, name), str::to_owned)
}

/// Returns the label of a value of the field `choice`, `documentType` or `gender`, or a date in
/// words. Returns `None` for any other value.
fn in_words(request: &ConsoleRequest, field: &str, value: &str) -> Option<String> {
    match field {
        "choice" => Some(labels::choice(request.language, value)),
        "documentType" => Some(document_label(request, value)),
        "gender" => {
            let genders = in_language(request.language).0.genders();
            genders
                .into_iter()
                .find(|(known, _)| *known == value)
                .map(|(_, called)| called.to_owned())
        }
        _ => value
            .parse()
            .ok()
            .map(|day: Date| request.dates().full(day))
            .filter(|_| value.len() == DAY.len()),
    }
}

/// Returns the label of a document type. A type that the organization defined is returned
/// unchanged, because its name is its label.
pub fn document_label(request: &ConsoleRequest, kind: &str) -> String {
    page::document(kind, in_language(request.language).0)
        .unwrap_or(kind)
        .to_owned()
}

fn plain(request: &ConsoleRequest, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => request.texts.frame.yes.to_owned(),
        Value::Bool(false) => request.texts.frame.no.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items
            .iter()
            .map(|item| plain(request, item))
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    }
}
