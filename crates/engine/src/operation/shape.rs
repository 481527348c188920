//! A request against the published JSON Schema of its operation, every failing field reported at once.

mod failures;
mod issues;
mod notes;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schema::Schema;
use serde_json::{Map, Value};

use self::issues::Issues;
use self::notes::{Notes, Turn, cut};
use super::{Arguments, Operation, Rules, inline_generator};
use crate::error::{Error, PathSegment, Reason, Result};
use crate::format::{self, Contextual};
use crate::json;
use crate::moment::Moment;

/// An operation's input as it is validated: its schema compiled, and what the schema alone cannot judge.
pub struct Shape {
    fields: BTreeMap<String, Value>,
    schema: Schema,
    contextual: Vec<(Vec<String>, Contextual)>,
    trimmed: Vec<Vec<String>>,
    lists: Vec<(Vec<Turn>, usize)>,
    answer_fields: BTreeSet<String>,
    /// The fields that stand in `data`, of an operation that has them there.
    data_fields: BTreeSet<String>,
    misnomers: &'static [(&'static str, &'static str)],
}

/// An input that has been held against its schema, and not against its operation's rules yet.
pub(crate) struct Examined<'s> {
    shape: &'s Shape,
    rules: Option<&'s Rules>,
    input: Value,
    issues: Issues,
}

impl Examined<'_> {
    /// The texts of a format that is judged elsewhere in which nothing has been found wrong yet, with their places.
    pub(crate) fn open_texts(&self, format: &str) -> Vec<(Vec<PathSegment>, String)> {
        let is_wanted = |kind: &Contextual| matches!(kind, Contextual::Elsewhere(name) if name == format);
        let fields = self.shape.open_fields(&self.issues, is_wanted).into_iter();
        fields.filter_map(|(path, steps)| Some((steps, at(&self.input, path)?.as_str()?.to_owned()))).collect()
    }

    /// Notes what is wrong with a field.
    pub(crate) fn refuse(&mut self, path: Vec<PathSegment>, reason: impl Into<Reason>) {
        self.issues.add(path, reason);
    }

    /// The input, once its operation's rules have been judged as well; 400 with everything that was found wrong.
    pub(crate) fn into_input(self) -> Result<Value> {
        let Self { rules, input, mut issues, .. } = self;
        issues.judge(rules, &input);
        issues.into_result()?;
        Ok(input)
    }
}

impl Shape {
    /// Compiles the input of an operation.
    ///
    /// # Panics
    ///
    /// When a schema of the program is not one, which the first test to run finds.
    #[must_use]
    pub fn of(operation: &Operation) -> Self {
        let schema = operation.input_schema(&mut inline_generator());
        let formats: Vec<_> = format::STATIC.iter().map(|format| (format.name, format.holds)).collect();
        let compiled = Schema::compile(&schema, &formats);
        let fields = schema["properties"].as_object().cloned().unwrap_or_default().into_iter().collect();
        let notes = Notes::of(&schema);
        Self {
            fields,
            schema: compiled.unwrap_or_else(|error| panic!("the input schema of {} compiles: {error}", operation.id)),
            contextual: notes.contextual,
            trimmed: notes.trimmed,
            lists: notes.lists.into_iter().filter_map(|(path, most)| Some((path, most?))).collect(),
            answer_fields: operation.answer_fields(),
            data_fields: schema["properties"]["data"]["properties"].as_object().into_iter().flat_map(Map::keys).cloned().collect(),
            misnomers: operation.misnomers,
        }
    }

    /// The input of an operation from what was sent; 400 with every failing field, 404 for a malformed id in the path.
    pub(crate) fn validate(&self, operation: &Operation, arguments: &Arguments, country: &str, now: Timestamp) -> Result<Value> {
        self.examine(operation, arguments, country, now)?.into_input()
    }

    /// The input of an operation from what was sent, and what is wrong with it as far as that can be told without asking
    /// anybody; 404 for a malformed id in the path.
    pub(crate) fn examine<'s>(
        &'s self,
        operation: &'s Operation,
        arguments: &Arguments,
        country: &str,
        now: Timestamp,
    ) -> Result<Examined<'s>> {
        let mut issues = Issues::of(operation);
        issues.add_found(arguments.found().to_vec());
        let mut input = self.gather(operation, arguments, &mut issues)?;
        for path in &self.trimmed {
            if let Some(Value::String(text)) = at_mut(&mut input, path) {
                *text = text.trim().to_owned();
            }
        }
        json::null_characters(&input, &mut |path| issues.add(path, Reason::NullCharacter));
        for (path, most) in &self.lists {
            cut(&mut input, path, most + 1);
        }
        for failure in self.schema.failures(&input) {
            self.report(&failure, &mut issues);
        }
        for (path, steps) in self.open_fields(&issues, |kind| *kind == Contextual::Phone) {
            if let Some(Value::String(text)) = at_mut(&mut input, path) {
                match format::phone(text, country) {
                    Some(number) => *text = number,
                    None => issues.add(steps, Reason::Phone),
                }
            }
        }
        for (path, steps) in self.open_fields(&issues, |kind| *kind == Contextual::Future) {
            if let Some(Value::String(text)) = at(&input, path)
                && let Err(reason) = judge_future(text, now)
            {
                issues.add(steps, reason);
            }
        }
        Ok(Examined { shape: self, rules: operation.rules.as_deref(), input, issues })
    }

    /// The contextual fields of some kind in which nothing has been found wrong yet.
    fn open_fields(&self, issues: &Issues, wanted: impl Fn(&Contextual) -> bool) -> Vec<(&[String], Vec<PathSegment>)> {
        let fields = self.contextual.iter().filter(|(_, kind)| wanted(kind) && !issues.is_over());
        let steps = |path: &[String]| path.iter().map(|key| PathSegment::from(key.as_str())).collect::<Vec<_>>();
        fields.map(|(path, _)| (path.as_slice(), steps(path))).filter(|(_, steps)| !issues.concerns(steps)).collect()
    }

    /// Path, query and body fields side by side, each as the type its schema gives.
    fn gather(&self, operation: &Operation, arguments: &Arguments, issues: &mut Issues) -> Result<Value> {
        let mut input = Map::new();
        let fields = match arguments {
            Arguments::Tool(arguments) => arguments,
            Arguments::Http { path, query, body, .. } => {
                for (name, text) in path {
                    input.insert(name.clone(), Value::from(text.as_str()));
                }
                if !operation.has_body() {
                    self.gather_query(operation, query, &mut input, issues);
                }
                body
            }
        };
        match fields {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let is_of_the_path = operation.is_path_field(name) && matches!(arguments, Arguments::Http { .. });
                    let is_unknown = !self.fields.contains_key(name) || is_of_the_path;
                    if is_unknown || (matches!(arguments, Arguments::Tool(_)) && operation.not_for_tools.contains(&name.as_str())) {
                        issues.add(vec![PathSegment::from(name.as_str())], self.stranger(name));
                    } else {
                        input.insert(name.clone(), value.clone());
                    }
                }
            }
            _ => return Err(Error::invalid(&[], "the body must be an object")),
        }
        for (name, schema) in &self.fields {
            if let Some(Value::String(text)) = input.get_mut(name)
                && operation.is_path_field(name)
                && schema["format"] == "uuid"
            {
                if !format::is_uuid(text) {
                    return Err(Error::not_found("Identifier"));
                }
                text.make_ascii_lowercase();
            }
        }
        Ok(Value::Object(input))
    }

    fn gather_query(&self, operation: &Operation, query: &[(String, String)], input: &mut Map<String, Value>, issues: &mut Issues) {
        for (name, schema) in &self.fields {
            if operation.is_path_field(name) {
                continue;
            }
            let sent: Vec<&str> = query.iter().filter(|(key, _)| key == name).map(|(_, text)| text.as_str()).collect();
            if sent.is_empty() {
                continue;
            }
            match from_query(&sent, schema) {
                Ok(value) => drop(input.insert(name.clone(), value)),
                Err(reason) => issues.add(vec![PathSegment::from(name.as_str())], reason),
            }
        }
    }

    /// What to say of a field beside the others that the operation does not take.
    fn stranger(&self, name: &str) -> Reason {
        if self.data_fields.contains(name) {
            Reason::InsideData
        } else if self.answer_fields.contains(name) {
            Reason::ReadOnly
        } else {
            Reason::Unknown
        }
    }
}

/// A query parameter as the type its schema gives (spec: Pagination, 5).
fn from_query(sent: &[&str], schema: &Value) -> Result<Value, Reason> {
    let is = |kind: &str| match &schema["type"] {
        Value::String(name) => name == kind,
        Value::Array(names) => names.iter().any(|name| name == kind),
        _ => false,
    };
    if is("array") {
        return Ok(sent.iter().copied().map(Value::from).collect());
    }
    let [text] = sent else { return Err(Reason::Repeated) };
    if text.trim().is_empty() {
        return Err(Reason::Blank);
    }
    if is("boolean") {
        return match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Ok(Value::Bool(true)),
            "false" | "0" | "no" => Ok(Value::Bool(false)),
            _ => Err(Reason::NoSwitch),
        };
    }
    if is("integer") {
        return text.parse::<i64>().map(Value::from).map_err(|_| Reason::NoInteger);
    }
    Ok(Value::from(*text))
}

fn judge_future(text: &str, now: Timestamp) -> Result<(), Reason> {
    match text.parse::<Moment>() {
        Ok(Moment(moment)) if moment > now => Ok(()),
        Ok(_) => Err(Reason::Passed),
        Err(_) => Err(Reason::Format("date-time".into(), "a timestamp such as 2026-11-21T09:30:00.000Z")),
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn at_mut<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, key| value.get_mut(key))
}
