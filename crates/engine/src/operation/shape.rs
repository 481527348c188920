//! Validation of a request against the published JSON Schema of its operation. One response reports
//! all failing fields.

mod failures;
mod issues;
mod notes;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schema::Schema;
use serde_json::{Map, Value};

use self::issues::Issues;
use self::notes::{Notes, PathStep, cut};
use super::{Arguments, Operation, Rules, inline_generator, tool_limit};
use crate::error::{Error, Issue, PathSegment, Reason, Result};
use crate::format::{self, Contextual};
use crate::json;
use crate::moment::Moment;
use crate::nearest::nearest;
use crate::typed;

/// The compiled input schema of an operation, and the checks that JSON Schema cannot express.
pub struct Shape {
    fields: BTreeMap<String, Value>,
    schema: Schema,
    /// The schema as JSON. It is used to suggest the closest name for a misspelt field, and to find
    /// the page size of a tool call.
    schema_json: Value,
    contextual: Vec<(Vec<String>, Contextual)>,
    trimmed: Vec<Vec<String>>,
    lists: Vec<(Vec<PathStep>, usize)>,
    answer_fields: BTreeSet<String>,
    /// The names of the fields inside `data`, for operations whose input has an object `data`.
    data_fields: BTreeSet<String>,
    misnomers: &'static [(&'static str, &'static str)],
}

/// Returns whether a schema accepts null. A schema without a type accepts null.
fn takes_null(schema: &Value) -> bool {
    let any = |name: &str| {
        let branches = schema[name].as_array();
        branches.map(|branches| branches.iter().any(takes_null))
    };
    match &schema["type"] {
        Value::String(name) => name == "null",
        Value::Array(names) => names.iter().any(|name| name == "null"),
        _ => {
            let enum_values = schema["enum"].as_array();
            let enum_values = enum_values.map(|values| values.iter().any(Value::is_null));
            let constant = schema.get("const").map(Value::is_null);
            any("anyOf")
                .or_else(|| any("oneOf"))
                .or(enum_values)
                .or(constant)
                .unwrap_or(true)
        }
    }
}

/// Removes, at every depth, null values of fields that are not required and do not accept null.
/// Some language models fill in every argument of a tool call, and use null for arguments that they
/// do not mean to send.
fn remove_unset_nulls(fields: &mut Map<String, Value>, schema: &Value) {
    let schema = only_branch_with(schema, "properties");
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    let is_required = |name: &str| {
        let required = schema["required"].as_array();
        required.is_some_and(|names| names.iter().any(|required_name| required_name == name))
    };
    fields.retain(|name, value| {
        !value.is_null() || is_required(name) || properties.get(name).is_none_or(takes_null)
    });
    for (name, value) in fields {
        if let Some(schema) = properties.get(name) {
            remove_unset_nulls_within(value, schema);
        }
    }
}

fn remove_unset_nulls_within(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => remove_unset_nulls(fields, schema),
        Value::Array(items) => {
            let schema = &only_branch_with(schema, "items")["items"];
            for item in items {
                remove_unset_nulls_within(item, schema);
            }
        }
        _ => {}
    }
}

/// Returns the branch of `schema` that contains `keyword`, if exactly one branch contains it.
/// Otherwise returns `schema` itself.
fn only_branch_with<'s>(schema: &'s Value, keyword: &str) -> &'s Value {
    let branches = ["anyOf", "oneOf"].map(|name| schema[name].as_array());
    let mut matching = branches
        .into_iter()
        .flatten()
        .flatten()
        .filter(|branch| branch.get(keyword).is_some());
    match (matching.next(), matching.next()) {
        (Some(branch), None) => branch,
        _ => schema,
    }
}

/// An input that was checked against its schema, but not yet against its operation's rules.
pub(crate) struct CheckedInput<'s> {
    shape: &'s Shape,
    rules: Option<&'s Rules>,
    input: Value,
    issues: Issues,
}

impl CheckedInput<'_> {
    /// Returns the path and the text of each field whose schema has the format `format`. This is a
    /// format that a module defines and checks with a network call
    /// ([`crate::app::NetworkFormat`]). Omits fields that already have an issue.
    pub(crate) fn open_texts(&self, format: &str) -> Vec<(Vec<PathSegment>, String)> {
        let has_format =
            |kind: &Contextual| matches!(kind, Contextual::Other(name) if name == format);
        let fields = self
            .shape
            .fields_without_issue(&self.issues, has_format)
            .into_iter();
        fields
            .filter_map(|(path, segments)| {
                Some((segments, at(&self.input, path)?.as_str()?.to_owned()))
            })
            .collect()
    }

    /// Adds an issue for a field.
    pub(crate) fn refuse(&mut self, path: Vec<PathSegment>, reason: impl Into<Reason>) {
        self.issues.add(path, reason);
    }

    /// Applies the operation's rules and returns the input. Returns 400 with every issue that was
    /// found.
    pub(crate) fn into_input(self) -> Result<Value> {
        let Self {
            rules,
            mut input,
            mut issues,
            ..
        } = self;
        issues.apply_rules(rules, &input);
        issues.take_invalid_items(&mut input);
        issues.into_result()?;
        Ok(input)
    }
}

impl Shape {
    /// Compiles the input schema of an operation.
    ///
    /// # Panics
    ///
    /// Panics if the schema is invalid. Any test that uses the operation would show this panic.
    #[must_use]
    pub fn of(operation: &Operation) -> Self {
        let schema = operation.input_schema(&mut inline_generator());
        let formats: Vec<_> = format::STATIC
            .iter()
            .map(|format| (format.name, format.accepts))
            .collect();
        let compiled = Schema::compile(&schema, &formats);
        let fields = schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .collect();
        let notes = Notes::of(&schema);
        Self {
            fields,
            schema: compiled.unwrap_or_else(|error| {
                panic!("the input schema of {} compiles: {error}", operation.id)
            }),
            contextual: notes.contextual,
            trimmed: notes.trimmed,
            lists: notes
                .lists
                .into_iter()
                .filter_map(|(path, max_length)| Some((path, max_length?)))
                .collect(),
            answer_fields: operation.answer_fields(),
            data_fields: schema["properties"]["data"]["properties"]
                .as_object()
                .into_iter()
                .flat_map(Map::keys)
                .cloned()
                .collect(),
            misnomers: operation.field_hints,
            schema_json: schema,
        }
    }

    /// Returns the page size of a tool call that sends no `limit` ([`tool_limit`]).
    pub(crate) fn tool_limit(&self) -> Option<u64> {
        tool_limit(&self.schema_json)
    }

    /// Builds the input of an operation from the sent values. Returns 400 with every failing field,
    /// or 404 for a malformed id in the path.
    pub(crate) fn validate(
        &self,
        operation: &Operation,
        arguments: &Arguments,
        country: &str,
        now: Timestamp,
    ) -> Result<Value> {
        self.examine(operation, arguments, country, now)?
            .into_input()
    }

    /// Builds the input of an operation from the sent values, and finds all issues except those
    /// that only a network call finds. Returns 404 for a malformed id in the path.
    pub(crate) fn examine<'s>(
        &'s self,
        operation: &'s Operation,
        arguments: &Arguments,
        country: &str,
        now: Timestamp,
    ) -> Result<CheckedInput<'s>> {
        let mut issues = Issues::of(operation);
        issues.filter_invalid_items(operation.filtered_list.as_ref(), arguments.body());
        issues.add_all(arguments.issues().to_vec());
        let mut input = self.collect_input(operation, arguments, &mut issues)?;
        for path in &self.trimmed {
            if let Some(Value::String(text)) = at_mut(&mut input, path) {
                *text = typed::trim(text).to_owned();
            }
        }
        json::null_characters(&input, &mut |path| issues.add(path, Reason::NullCharacter));
        for (path, max_length) in &self.lists {
            cut(&mut input, path, max_length + 1);
        }
        for failure in self.schema.failures(&input) {
            self.report(&failure, &mut issues);
        }
        for (path, segments) in
            self.fields_without_issue(&issues, |kind| *kind == Contextual::Phone)
        {
            if let Some(Value::String(text)) = at_mut(&mut input, path) {
                match format::phone(text, country) {
                    Some(number) => *text = number,
                    None => issues.add(segments, Reason::Phone),
                }
            }
        }
        for (path, segments) in
            self.fields_without_issue(&issues, |kind| *kind == Contextual::Future)
        {
            if let Some(Value::String(text)) = at(&input, path)
                && let Err(reason) = check_future(text, now)
            {
                issues.add(segments, reason);
            }
        }
        Ok(CheckedInput {
            shape: self,
            rules: operation.rules.as_deref(),
            input,
            issues,
        })
    }

    /// Returns the issues that the schema finds in an input that code of this process has created.
    pub(crate) fn issues_of(&self, operation: &Operation, input: &Value) -> Vec<Issue> {
        let mut issues = Issues::of(operation);
        for failure in self.schema.failures(input) {
            self.report(&failure, &mut issues);
        }
        issues.into_issues()
    }

    /// Returns the fields whose format cannot be checked by the schema alone ([`Contextual`]) and
    /// satisfies `is_of_kind`. Omits fields that already have an issue.
    fn fields_without_issue(
        &self,
        issues: &Issues,
        is_of_kind: impl Fn(&Contextual) -> bool,
    ) -> Vec<(&[String], Vec<PathSegment>)> {
        let fields = self
            .contextual
            .iter()
            .filter(|(_, kind)| is_of_kind(kind) && !issues.is_over());
        let segments = |path: &[String]| {
            path.iter()
                .map(|key| PathSegment::from(key.as_str()))
                .collect::<Vec<_>>()
        };
        fields
            .map(|(path, _)| (path.as_slice(), segments(path)))
            .filter(|(_, segments)| !issues.concerns(segments))
            .collect()
    }

    /// Collects the fields of path, query and body in one object, each with the type of its schema.
    fn collect_input(
        &self,
        operation: &Operation,
        arguments: &Arguments,
        issues: &mut Issues,
    ) -> Result<Value> {
        let mut input = Map::new();
        let fields = match arguments {
            Arguments::Tool(arguments) => arguments,
            Arguments::Http {
                path, query, body, ..
            } => {
                for (name, text) in path {
                    input.insert(name.clone(), Value::from(text.as_str()));
                }
                if !operation.has_body() {
                    self.collect_query(operation, query, &mut input, issues);
                }
                body
            }
        };
        match fields {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let is_of_the_path = operation.is_path_field(name)
                        && matches!(arguments, Arguments::Http { .. });
                    let is_unknown = !self.fields.contains_key(name) || is_of_the_path;
                    if is_unknown
                        || (matches!(arguments, Arguments::Tool(_))
                            && operation.not_for_tools.contains(&name.as_str()))
                    {
                        let path = vec![PathSegment::from(name.as_str())];
                        issues.add_with(path, |_| self.unknown_field(name));
                    } else {
                        input.insert(name.clone(), value.clone());
                    }
                }
            }
            _ => return Err(Error::invalid(&[], "the body must be an object")),
        }
        if matches!(arguments, Arguments::Tool(_)) {
            remove_unset_nulls(&mut input, &self.schema_json);
        }
        for (name, schema) in &self.fields {
            if let Some(Value::String(text)) = input.get_mut(name)
                && operation.is_path_field(name)
                && schema["format"] == "uuid"
            {
                if !format::is_uuid(text) {
                    return Err(Error::malformed_id("Identifier", name));
                }
                text.make_ascii_lowercase();
            }
        }
        Ok(Value::Object(input))
    }

    fn collect_query(
        &self,
        operation: &Operation,
        query: &[(String, String)],
        input: &mut Map<String, Value>,
        issues: &mut Issues,
    ) {
        for (name, schema) in &self.fields {
            if operation.is_path_field(name) {
                continue;
            }
            let sent: Vec<&str> = query
                .iter()
                .filter(|(key, _)| key == name)
                .map(|(_, text)| text.as_str())
                .collect();
            if sent.is_empty() {
                continue;
            }
            match from_query(&sent, schema) {
                Ok(value) => drop(input.insert(name.clone(), value)),
                Err(reason) => issues.add(vec![PathSegment::from(name.as_str())], reason),
            }
        }
    }

    /// Returns the message for a field that the operation does not accept.
    fn unknown_field(&self, name: &str) -> Reason {
        if self.data_fields.contains(name) {
            Reason::InsideData
        } else if self.answer_fields.contains(name) {
            Reason::ReadOnly
        } else {
            unknown(name, self.fields.keys().chain(&self.data_fields))
        }
    }

    /// Returns the unknown query parameters, each with a message.
    pub(crate) fn unknown_parameters(
        &self,
        operation: &Operation,
        query: &[(String, String)],
    ) -> Vec<(String, String)> {
        let names: Vec<&str> = self
            .fields
            .keys()
            .map(String::as_str)
            .filter(|name| !operation.has_body() && !operation.is_path_field(name))
            .collect();
        let unknown: BTreeSet<&str> = query
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| !names.contains(name))
            .collect();
        let message = |name: &str| match nearest(name, names.iter().copied()) {
            Some(nearest_name) => {
                format!("unknown parameter, which was ignored; did you mean \"{nearest_name}\"?")
            }
            None => "unknown parameter, which was ignored".to_owned(),
        };
        unknown
            .into_iter()
            .take(MAX_UNKNOWN_PARAMETERS)
            .map(|name| {
                (
                    name.chars().take(MAX_PARAMETER_LENGTH).collect(),
                    message(name),
                )
            })
            .collect()
    }
}

/// The maximum number of unknown parameters in the warnings of a response.
const MAX_UNKNOWN_PARAMETERS: usize = 10;
/// The maximum number of characters of an unknown parameter's name in a warning.
const MAX_PARAMETER_LENGTH: usize = 100;

/// Returns the reason for an unknown field, with the closest known name as a suggestion.
fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n String>) -> Reason {
    nearest(name, known.map(String::as_str))
        .map_or(Reason::Unknown, |known| Reason::Misspelt(known.to_owned()))
}

/// Parses a query parameter as the type of its schema (rules: errors#requests, 5 and 6).
fn from_query(values: &[&str], schema: &Value) -> Result<Value, Reason> {
    let is = |kind: &str| match &schema["type"] {
        Value::String(name) => name == kind,
        Value::Array(names) => names.iter().any(|name| name == kind),
        _ => false,
    };
    if is("array") {
        return Ok(values.iter().copied().map(Value::from).collect());
    }
    let [text] = values else {
        return Err(Reason::Repeated);
    };
    if typed::is_blank(text) {
        return Err(Reason::Blank);
    }
    if schema["format"] == "date-time" && has_space_for_plus(text) {
        return Err(Reason::rule(
            "blank_for_plus",
            "has a blank where the offset begins; in a query a + must be written as %2B",
        ));
    }
    if is("boolean") {
        return match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Ok(Value::Bool(true)),
            "false" | "0" | "no" => Ok(Value::Bool(false)),
            _ => Err(Reason::NoSwitch),
        };
    }
    if is("integer") {
        return text
            .parse::<i64>()
            .map(Value::from)
            .map_err(|_| Reason::NoInteger);
    }
    Ok(Value::from(*text))
}

/// Returns whether a text would be a timestamp if a space were a plus sign. A plus sign in a query
/// arrives as a space unless it is encoded.
fn has_space_for_plus(text: &str) -> bool {
    text.rsplit_once(' ').is_some_and(|(time, offset)| {
        time.contains(['T', 't']) && format!("{time}+{offset}").parse::<Moment>().is_ok()
    })
}

fn check_future(text: &str, now: Timestamp) -> Result<(), Reason> {
    match text.parse::<Moment>() {
        Ok(Moment(time)) if time > now => Ok(()),
        Ok(_) => Err(Reason::Passed),
        Err(_) => Err(Reason::Format(
            "date-time".into(),
            "a timestamp such as 2026-11-21T09:30:00.000Z",
        )),
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn at_mut<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, key| value.get_mut(key))
}
