//! A request against the published JSON Schema of its operation, every failing field reported at once.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::BuildHasher as _;

use jiff::Timestamp;
use jsonschema::error::{TypeKind, ValidationErrorKind as Failure};
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use super::{Arguments, Findings, Operation, Rules, inline_generator};
use crate::error::{Error, Issue, MOST_ISSUES, PathSegment, Result};
use crate::format::{self, Contextual};
use crate::json;
use crate::moment::Moment;

/// An operation's input as it is validated: its schema compiled, and what the schema alone cannot judge.
pub struct Shape {
    fields: BTreeMap<String, Value>,
    validator: Validator,
    contextual: Vec<(Vec<String>, Contextual)>,
    trimmed: Vec<Vec<String>>,
    lists: Vec<(Vec<Turn>, usize)>,
    answer_fields: BTreeSet<String>,
    /// The fields that stand in `data`, of an operation that has them there.
    data_fields: BTreeSet<String>,
    misnomers: &'static [(&'static str, &'static str)],
}

/// Failing fields, one issue each: the first that is found. As many as a refusal names, and a count of the others.
struct Issues {
    /// How far down a path leads: a query parameter is named as a whole, whichever of its values fails.
    depth: usize,
    named: BTreeMap<Vec<PathSegment>, String>,
    /// The fingerprints of the paths that are only counted, so that each counts once.
    counted: HashSet<u64>,
    fingerprints: RandomState,
}

impl Issues {
    fn of(operation: &Operation) -> Self {
        let depth = if operation.has_body() { usize::MAX } else { 1 };
        Self { depth, named: BTreeMap::new(), counted: HashSet::new(), fingerprints: RandomState::new() }
    }

    fn add(&mut self, mut path: Vec<PathSegment>, message: impl Into<String>) {
        path.truncate(self.depth);
        if self.named.len() < MOST_ISSUES {
            self.named.entry(path).or_insert_with(|| message.into());
        } else if !self.named.contains_key(&path) {
            self.counted.insert(self.fingerprints.hash_one(&path));
        }
    }

    fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Whether something is wrong that is not named. What else is wrong is not looked for then.
    fn is_over(&self) -> bool {
        !self.counted.is_empty()
    }

    fn concerns(&self, path: &[PathSegment]) -> bool {
        self.named.keys().any(|failing| path.starts_with(failing) || failing.starts_with(path))
    }

    /// The names of the fields in which something was found wrong.
    fn failing(&self) -> Vec<&str> {
        let name = |path| match fields(path)[..] {
            ["data", name, ..] | [name, ..] => Some(name),
            [] => None,
        };
        self.named.keys().filter_map(|path| name(path)).collect()
    }

    /// The input without the fields in which something was found wrong.
    fn without_failing<'i>(&self, input: &'i Value) -> Cow<'i, Value> {
        if self.is_empty() {
            return Cow::Borrowed(input);
        }
        let mut rest = input.clone();
        for path in self.named.keys() {
            if let Some((name, above)) = fields(path).split_last()
                && let Some(object) = above.iter().try_fold(&mut rest, |value, key| value.get_mut(key))
            {
                object.as_object_mut().map(|object| object.remove(*name));
            }
        }
        Cow::Owned(rest)
    }

    /// Adds what the rules say of the input. What the state may change is said beside something else alone: by itself it comes
    /// after whatever the function refuses first.
    fn judge(&mut self, rules: Option<&Rules>, input: &Value) {
        let Some(rules) = rules.filter(|_| !self.is_over()) else { return };
        let Findings { sent, merged } = rules(&self.without_failing(input), &self.failing());
        self.add_found(sent);
        if !self.is_empty() && !self.is_over() {
            self.add_found(merged);
        }
    }

    /// Adds what rules found, as far as nothing is wrong with it yet.
    fn add_found(&mut self, found: Vec<Issue>) {
        for Issue { path, message } in found {
            if !self.concerns(&path) {
                self.add(path, message);
            }
        }
    }

    fn into_result(self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let issues = self.named.into_iter().map(|(path, message)| Issue { path, message });
        Err(Error::issues_and(issues.collect(), self.counted.len()))
    }
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
    pub(crate) fn refuse(&mut self, path: Vec<PathSegment>, reason: String) {
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
        let options = format::STATIC
            .iter()
            .fold(jsonschema::draft202012::options(), |options, format| options.with_format(format.name, format.holds));
        let validator = options.should_validate_formats(true).build(&schema);
        let fields = schema["properties"].as_object().cloned().unwrap_or_default().into_iter().collect();
        let mut notes = Notes::default();
        notes.collect(&schema, &mut Vec::new());
        notes.measure(&schema, &mut Vec::new());
        Self {
            fields,
            validator: validator.unwrap_or_else(|error| panic!("the input schema of {} compiles: {error}", operation.id)),
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
        json::null_characters(&input, &mut |path| issues.add(path, "must not contain U+0000"));
        for (path, most) in &self.lists {
            cut(&mut input, path, most + 1);
        }
        for error in self.validator.iter_errors(&input) {
            self.report(&error, &mut issues);
        }
        for (path, steps) in self.open_fields(&issues, |kind| *kind == Contextual::Phone) {
            if let Some(Value::String(text)) = at_mut(&mut input, path) {
                match format::phone(text, country) {
                    Some(number) => *text = number,
                    None => issues.add(steps, "is not a valid phone number"),
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
    fn stranger(&self, name: &str) -> &'static str {
        if self.data_fields.contains(name) {
            "belongs inside data"
        } else if self.answer_fields.contains(name) {
            "read-only field"
        } else {
            "unrecognized field"
        }
    }

    /// The same of a field at a path.
    fn stranger_at(&self, path: &[PathSegment]) -> &'static str {
        let keys = path.iter().filter_map(|step| if let PathSegment::Key(name) = step { Some(name.as_str()) } else { None });
        let keys: Vec<&str> = keys.collect();
        let known = self.misnomers.iter().find(|(end, _)| keys.ends_with(&end.split('.').collect::<Vec<_>>()));
        match (known, path) {
            (Some((_, words)), _) => words,
            (None, [PathSegment::Key(name)]) => self.stranger(name),
            (None, [PathSegment::Key(data), PathSegment::Key(name)]) if data == "data" && self.answer_fields.contains(name) => {
                "read-only field"
            }
            (None, _) => "unrecognized field",
        }
    }

    fn report(&self, error: &ValidationError<'_>, issues: &mut Issues) {
        let path = steps(error);
        match error.kind() {
            Failure::AdditionalProperties { unexpected } => {
                for name in unexpected {
                    let path = below(&path, name);
                    let words = self.stranger_at(&path);
                    issues.add(path, words);
                }
            }
            Failure::Required { property } => issues.add(below(&path, property.as_str().unwrap_or_default()), "is required"),
            Failure::AnyOf { context } | Failure::OneOfNotValid { context } => self.report_shapes(path, context, issues),
            kind => issues.add(path, describe(kind)),
        }
    }

    /// Of several shapes the one that was meant is the one whose tag is the value's, or else whose type fits; its failures say more.
    fn report_shapes(&self, path: Vec<PathSegment>, shapes: &[Vec<ValidationError<'_>>], issues: &mut Issues) {
        let tags: Vec<_> = shapes.iter().map(|errors| errors.iter().find_map(|error| wrong_tag(error, &path))).collect();
        if let Some(all) = tags.iter().cloned().collect::<Option<Vec<_>>>()
            && let Some((tag, _)) = all.first().cloned()
        {
            let known: Value = all.into_iter().map(|(_, value)| value).collect();
            return issues.add(tag, format!("must be one of {known}"));
        }
        let lacks = |name: &str| {
            let is_it = |error: &ValidationError<'_>| matches!(error.kind(), Failure::Required { property } if property == name);
            shapes.iter().all(|errors| errors.iter().any(is_it))
        };
        let missing = shapes.iter().flatten().find_map(|error| match error.kind() {
            Failure::Required { property } => property.as_str().filter(|name| lacks(name)),
            _ => None,
        });
        if let Some(name) = missing {
            return issues.add(below(&path, name), "is required");
        }
        let is_tagged = tags.iter().any(Option::is_some);
        let of_its_type = |errors: &[ValidationError<'_>]| {
            !errors.iter().any(|inner| steps(inner) == path && matches!(inner.kind(), Failure::Type { .. }))
        };
        let meant = shapes.iter().zip(&tags).find(
            |(errors, tag)| {
                if is_tagged { tag.is_none() } else { !errors.is_empty() && of_its_type(errors) }
            },
        );
        match meant {
            Some((errors, _)) => errors.iter().for_each(|inner| self.report(inner, issues)),
            None => issues.add(path, "has the wrong type"),
        }
    }
}

/// The place of a field that tells shapes apart, and what it would have to be for this one.
fn wrong_tag(error: &ValidationError<'_>, path: &[PathSegment]) -> Option<(Vec<PathSegment>, Value)> {
    let at = steps(error);
    let is_field = at.split_last().is_some_and(|(_, above)| above == path);
    match error.kind() {
        Failure::Constant { expected_value } if is_field => Some((at, (**expected_value).clone())),
        _ => None,
    }
}

fn below(path: &[PathSegment], name: &str) -> Vec<PathSegment> {
    path.iter().cloned().chain([PathSegment::from(name)]).collect()
}

/// The names along a path, down to the first list.
fn fields(path: &[PathSegment]) -> Vec<&str> {
    path.iter().map_while(|step| if let PathSegment::Key(name) = step { Some(name.as_str()) } else { None }).collect()
}

fn steps(error: &ValidationError<'_>) -> Vec<PathSegment> {
    use jsonschema::paths::LocationSegment as Segment;
    let step = |segment: Segment<'_>| match segment {
        Segment::Property(name) => PathSegment::Key(name.into_owned()),
        Segment::Index(index) => PathSegment::Index(index),
    };
    error.instance_path().into_iter().map(step).collect()
}

fn describe(kind: &Failure) -> Cow<'static, str> {
    match kind {
        Failure::Type { kind: TypeKind::Single(wanted) } => format!("must be of type {wanted}").into(),
        Failure::Type { kind: TypeKind::Multiple(wanted) } => {
            format!("must be of type {}", wanted.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")).into()
        }
        Failure::MinLength { limit: 1 } => "must not be empty".into(),
        Failure::MinLength { limit } => format!("must have at least {limit} characters").into(),
        Failure::MaxLength { limit } => format!("must have at most {limit} characters").into(),
        Failure::MinItems { limit } => format!("must have at least {limit} items").into(),
        Failure::MaxItems { limit } => format!("must have at most {limit} items").into(),
        Failure::MaxProperties { limit } => format!("must have at most {limit} fields").into(),
        Failure::PropertyNames { error } => format!("has a field whose name {}", describe(error.kind())).into(),
        Failure::UniqueItems => "must not name anything twice".into(),
        Failure::Minimum { limit } => format!("must be at least {limit}").into(),
        Failure::Maximum { limit } => format!("must be at most {limit}").into(),
        Failure::Enum { options } => format!("must be one of {options}").into(),
        Failure::Constant { expected_value } => format!("must be {expected_value}").into(),
        Failure::Pattern { pattern } if pattern == "\\S" => "must not be blank".into(),
        Failure::Pattern { pattern } => format!("must match {pattern}").into(),
        Failure::Format { format } => {
            let wanted = format::STATIC.iter().find(|known| known.name == format).map_or("valid", |known| known.wanted);
            format!("must be {wanted}").into()
        }
        _ => "is not valid".into(),
    }
}

/// A query parameter as the type its schema gives (spec: Pagination, 5).
fn from_query(sent: &[&str], schema: &Value) -> Result<Value, String> {
    let is = |kind: &str| match &schema["type"] {
        Value::String(name) => name == kind,
        Value::Array(names) => names.iter().any(|name| name == kind),
        _ => false,
    };
    if is("array") {
        return Ok(sent.iter().copied().map(Value::from).collect());
    }
    let [text] = sent else { return Err("is given more than once".into()) };
    if text.trim().is_empty() {
        return Err("must not be blank".into());
    }
    if is("boolean") {
        return match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Ok(Value::Bool(true)),
            "false" | "0" | "no" => Ok(Value::Bool(false)),
            _ => Err("must be true or false".into()),
        };
    }
    if is("integer") {
        return text.parse::<i64>().map(Value::from).map_err(|_| "must be a whole number".into());
    }
    Ok(Value::from(*text))
}

fn judge_future(text: &str, now: Timestamp) -> Result<(), &'static str> {
    match text.parse::<Moment>() {
        Ok(Moment(moment)) if moment > now => Ok(()),
        Ok(_) => Err("has passed"),
        Err(_) => Err("must be a timestamp such as 2026-11-21T09:30:00.000Z"),
    }
}

/// A turn on the way to a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// A field.
    Key(String),
    /// Every item of a list.
    Each,
}

/// Cuts the lists at a path to a length.
///
/// It is one more than a list may have, so that the schema finds it too long, and does not find fault with each of however
/// many items there are.
fn cut(value: &mut Value, path: &[Turn], length: usize) {
    match (path.split_first(), value) {
        (None, Value::Array(items)) => items.truncate(length),
        (Some((Turn::Key(name), rest)), Value::Object(fields)) => {
            if let Some(field) = fields.get_mut(name) {
                cut(field, rest, length);
            }
        }
        (Some((Turn::Each, rest)), Value::Array(items)) => items.iter_mut().for_each(|item| cut(item, rest, length)),
        _ => {}
    }
}

/// What a schema notes beside the vocabulary of JSON Schema, by the path of the field; and how long lists may be.
#[derive(Default)]
struct Notes {
    contextual: Vec<(Vec<String>, Contextual)>,
    trimmed: Vec<Vec<String>>,
    /// None where a list of any length may stand.
    lists: BTreeMap<Vec<Turn>, Option<usize>>,
}

impl Notes {
    /// Notes the greatest length that a schema allows lists to have, outer ones first.
    fn measure(&mut self, schema: &Value, path: &mut Vec<Turn>) {
        let names_array = |kind: &Value| kind == "array" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"));
        if names_array(&schema["type"]) {
            let most = schema["maxItems"].as_u64().and_then(|most| usize::try_from(most).ok());
            let noted = self.lists.entry(path.clone()).or_insert(most);
            *noted = (*noted).zip(most).map(|(one, other)| one.max(other));
        }
        let mut below = |turn: Turn, schema: &Value| {
            path.push(turn);
            self.measure(schema, path);
            path.pop();
        };
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            below(Turn::Key(name.clone()), field);
        }
        if schema["items"].is_object() {
            below(Turn::Each, &schema["items"]);
        }
        for branch in ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|part| schema[part].as_array()).flatten() {
            self.measure(branch, path);
        }
        if schema["then"].is_object() {
            self.measure(&schema["then"], path);
        }
    }

    fn collect(&mut self, schema: &Value, path: &mut Vec<String>) {
        if let Some(kind) = schema["format"].as_str().and_then(Contextual::named) {
            self.contextual.push((path.clone(), kind));
        }
        if schema["x-trimmed"] == true {
            self.trimmed.push(path.clone());
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            path.push(name.clone());
            self.collect(field, path);
            path.pop();
        }
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn at_mut<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, key| value.get_mut(key))
}
