//! A form with its values: the typed values, the values that the form showed when it was opened,
//! and the reasons why it was refused.

use std::collections::{HashMap, HashSet};

use engine::operation::Operation;
use features::words::fill as fill_in;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::choice_lists::{ChoiceLists, Row, look_up};
use super::control::{FieldContext, FormView, choice_field};
use super::fill::{fill, read};
use super::layout::Layout;
use super::rules;
use super::spec::{FieldSpec, InputKind};
use crate::labels;
use crate::merge::{MergeResult, merge};
use crate::refusal::ConsoleRefusal;
use crate::request::{ConsoleFields, ConsoleRequest, first_value};

/// Maximum number of characters that the form shows of a value that another member saved. A single
/// text is never longer, but a value that consists of several texts is cut.
const MAX_SAVED_LENGTH: usize = 6_000;

/// The stored state of a resource, as operations return it.
pub struct StoredResource {
    pub id: Uuid,
    /// The resource as its read operation returns it.
    pub value: Map<String, Value>,
}

/// The outcome of sending a form.
pub enum FormOutcome<T> {
    /// The form was accepted. Contains the result of the operation.
    Done(T),
    /// The form was refused, or conflicts with a change of another member. Contains the form to
    /// show again, with the reasons or the conflicts.
    Refused(Box<FormView>),
}

impl StoredResource {
    /// Creates a `StoredResource` from the response of an operation. A response that is not an
    /// object becomes an empty object.
    pub fn of(id: Uuid, value: Value) -> Self {
        Self {
            id,
            value: if let Value::Object(value) = value {
                value
            } else {
                Map::new()
            },
        }
    }

    /// Returns the text in a field of the resource. Returns an empty text if the field has none.
    pub fn text(&self, field: &str) -> &str {
        let text = self.value.get(field).and_then(Value::as_str);
        text.unwrap_or_default()
    }

    pub(super) fn updated_at(&self) -> String {
        self.text("updatedAt").to_owned()
    }
}

/// The fields of a form, and the data needed to show them.
pub(super) struct FormFieldsView<'v> {
    pub request: &'v ConsoleRequest,
    pub operation: &'static Operation,
    pub layout: &'static Layout,
    pub action: String,
    pub fields: ConsoleFields,
    pub base: Map<String, Value>,
    pub updated_at: String,
    pub is_new: bool,
    pub problems: Problems,
    pub theirs: HashMap<String, String>,
    /// For each form field with a search for a typed name: the rows that the search found, by the
    /// name of the field.
    pub found: HashMap<String, Vec<Row>>,
    pub conflict: bool,
    /// Whether a part of the form's changes has already been saved.
    pub is_begun: bool,
    /// Whether the form is read-only for every member, whatever permissions the member has.
    pub is_locked: bool,
}

/// The reasons why a form was refused.
#[derive(Default)]
pub(super) struct Problems {
    pub status: u16,
    pub general: Vec<String>,
    /// The path of each field with a problem, and the error message about it.
    pub fields: Vec<(Vec<String>, String)>,
    pub notes: Vec<String>,
}

impl Problems {
    pub(super) fn of(request: &ConsoleRequest, refusal: &ConsoleRefusal) -> Self {
        let words = &request.texts.forms;
        let mut general = Vec::new();
        if refusal.issues.is_empty() {
            general.push(refusal.message.clone());
        }
        if let Some(seconds) = refusal.retry_after {
            general.push(fill_in(
                words.try_later,
                &[("seconds", &seconds.to_string())],
            ));
        }
        if refusal.more > 0 {
            general.push(fill_in(
                words.more_problems,
                &[("count", &refusal.more.to_string())],
            ));
        }
        let below = |path: &[String]| {
            path.strip_prefix(&["data".to_owned()])
                .unwrap_or(path)
                .to_vec()
        };
        let fields = refusal
            .issues
            .iter()
            .map(|issue| (below(&issue.path), issue.message.clone()))
            .collect();
        Self {
            status: refusal.status,
            general,
            fields,
            notes: Vec::new(),
        }
    }
}

/// Returns the values that the form showed when it was opened. The browser sends them back in the
/// field `base`.
pub(super) fn sent_base(request: &ConsoleRequest) -> Map<String, Value> {
    request
        .form_value("base")
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

impl FormFieldsView<'_> {
    /// Looks up the names that the member typed to refer to rows of long lists. Returns whether
    /// each name identifies exactly one row.
    pub(super) async fn look_up(&mut self, specs: &[FieldSpec]) -> Result<bool, ConsoleRefusal> {
        let looked = look_up(self.request, specs, &mut self.fields).await?;
        if looked.problems.is_empty() {
            return Ok(true);
        }
        self.found = looked.found;
        self.problems.status = 400;
        self.problems.fields = looked.problems;
        Ok(false)
    }

    /// Returns the fields whose typed value differs from the value that the form showed when it was
    /// opened. Omits the fields in conflict for which the member chose the other member's value.
    pub(super) fn changes(&self, specs: &[FieldSpec]) -> Vec<(FieldSpec, Value)> {
        let change = |spec: &FieldSpec| {
            if first_value(&self.fields, &choice_field(&spec.name)) == Some("theirs") {
                return None;
            }
            let typed = read(spec, &spec.name, &self.fields)?;
            (self.untouched(spec) != Some(&typed).cloned()).then_some((spec.clone(), typed))
        };
        specs.iter().filter_map(change).collect()
    }

    /// Returns the value that the form sends for a field if the member does not change the field.
    pub(super) fn untouched(&self, spec: &FieldSpec) -> Option<Value> {
        value_in(spec, &self.base)
    }

    /// Records the values that were just saved: the resource as the update returned it, and the
    /// texts. The form then compares the typed values with these saved values.
    pub(super) fn rebase(&mut self, saved: Vec<(FieldSpec, Value)>, stored: &StoredResource) {
        self.updated_at = stored.updated_at();
        self.is_begun = true;
        for (spec, value) in saved {
            let answered = |name: &String| stored.value.get(name).cloned();
            if let Some(link) = &spec.linked_by {
                self.base
                    .extend(answered(link).map(|id| (link.clone(), id)));
                self.base.insert(spec.name, value);
            } else if matches!(spec.kind, InputKind::Text(_)) {
                self.base.insert(spec.name, value);
            } else {
                let now = answered(&spec.name).unwrap_or(value);
                self.base.insert(spec.name, now);
            }
        }
    }

    /// Shows the form again because another member has saved other values since the form was
    /// opened.
    pub(super) async fn conflicting(
        mut self,
        specs: &[FieldSpec],
        current: Map<String, Value>,
        now: &StoredResource,
    ) -> Result<FormOutcome<bool>, ConsoleRefusal> {
        let mut fields = ConsoleFields::new();
        for spec in specs {
            let (was, is) = (self.untouched(spec), value_in(spec, &current));
            let typed = read(spec, &spec.name, &self.fields);
            let fate = if typed.is_none() {
                MergeResult::Stored
            } else {
                merge(&was, &is, &typed)
            };
            if fate == MergeResult::Stored {
                fill(spec, current.get(&spec.name), &spec.name, &mut fields);
            } else {
                copy(spec, &self.fields, &mut fields);
            }
            if fate == MergeResult::Conflict {
                self.theirs
                    .insert(spec.name.clone(), shown(spec, current.get(&spec.name)));
            }
        }
        let key = first_value(&self.fields, "key").map(str::to_owned);
        fields.extend(key.map(|key| ("key".to_owned(), key)));
        (self.fields, self.base, self.updated_at) = (fields, current, now.updated_at());
        self.conflict = true;
        self.problems.status = 409;
        self.again(specs).await
    }

    pub(super) async fn again<T>(
        self,
        specs: &[FieldSpec],
    ) -> Result<FormOutcome<T>, ConsoleRefusal> {
        self.view(specs)
            .await
            .map(|view| FormOutcome::Refused(Box::new(view)))
    }

    pub(super) async fn view(self, specs: &[FieldSpec]) -> Result<FormView, ConsoleRefusal> {
        let (request, words) = (self.request, self.request.texts);
        let listed = ChoiceLists::load(request, specs, &self.fields, &self.found).await;
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let (mut errors, mut problems): (HashMap<String, Vec<String>>, Vec<_>) =
            (HashMap::new(), Vec::new());
        problems.extend(
            self.problems
                .general
                .iter()
                .map(|text| (text.clone(), None)),
        );
        for (path, message) in &self.problems.fields {
            let path = rules::in_row(path, specs, &self.fields);
            let place = place(&path, &names, &self.fields);
            let field = path
                .iter()
                .rfind(|segment| segment.parse::<usize>().is_err())
                .map_or("", String::as_str);
            let label = || labels::label(request.language, field);
            let wording = if field.is_empty() {
                message.clone()
            } else {
                words.frame.labelled(&label(), message)
            };
            problems.push((wording, place.clone()));
            if let Some(name) = place {
                errors.entry(name).or_default().push(message.clone());
            }
        }
        let linked = |spec: &FieldSpec| {
            let id = match &spec.linked_by {
                Some(link) => self.base.get(link)?.as_str()?,
                None => self.base.get(&spec.name)?.get("id")?.as_str()?,
            };
            Some((spec.name.clone(), id.to_owned()))
        };
        let texts: HashMap<String, String> = specs.iter().filter_map(linked).collect();
        let is_unseen = |spec: &&FieldSpec| {
            let known = self.base.get(&spec.name);
            texts.contains_key(&spec.name)
                && if spec.linked_by.is_some() {
                    known.is_none()
                } else {
                    known.is_some_and(|known| known.get("text").is_none())
                }
        };
        let unseen: HashSet<String> = specs
            .iter()
            .filter(is_unseen)
            .map(|spec| spec.name.clone())
            .collect();
        let is_read_only = self.is_locked || !request.may(self.operation.id);
        let showing = FieldContext {
            request,
            fields: &self.fields,
            listed: &listed,
            errors: &errors,
            theirs: &self.theirs,
            texts: &texts,
            unseen: &unseen,
            is_read_only,
            layout: self.layout,
            base: &self.base,
        };
        let arranged = if self.is_new || self.layout.sections.is_empty() {
            vec![("", specs.iter().collect())]
        } else {
            self.layout.arranged(specs, words)
        };
        let text = |spec: &&FieldSpec| {
            Some((
                labels::label(request.language, &spec.name),
                texts.get(&spec.name)?.parse().ok()?,
            ))
        };
        let linked = arranged
            .iter()
            .flat_map(|(_, specs)| specs.iter().copied())
            .filter_map(|spec| text(&spec))
            .collect();
        let sections = arranged.into_iter().map(|(title, specs)| {
            (
                title,
                specs
                    .into_iter()
                    .map(|spec| showing.control(spec, &spec.name))
                    .collect(),
            )
        });
        let sections = sections.collect();
        let key = first_value(&self.fields, "key").map_or_else(|| request.new_key(), str::to_owned);
        let mut hidden = vec![
            ("form".to_owned(), request.signed_in.form_token()),
            ("key".to_owned(), key),
        ];
        if !self.is_new {
            hidden.push((
                "base".to_owned(),
                Value::Object(self.base.clone()).to_string(),
            ));
            hidden.push(("updatedAt".to_owned(), self.updated_at.clone()));
        }
        let problems = problems
            .into_iter()
            .map(|(text, name)| {
                (
                    text,
                    name.map(|name| format!("f-{}", name.replace('.', "-"))),
                )
            })
            .collect();
        Ok(FormView {
            action: self.action,
            status: if self.problems.status == 0 {
                200
            } else {
                self.problems.status
            },
            hidden,
            texts: linked,
            sections,
            problems,
            notes: self.problems.notes,
            conflict: self
                .conflict
                .then_some((words.forms.conflict, words.forms.conflict_text)),
            submit: if self.is_new {
                words.forms.create
            } else {
                words.forms.save
            },
            is_read_only,
            read_only_note: is_read_only.then_some(words.forms.read_only),
            words,
        })
    }
}

/// Returns the value that a form sends for a field if the member does not change it. `base` has the
/// values that the form showed.
pub(super) fn value_in(spec: &FieldSpec, base: &Map<String, Value>) -> Option<Value> {
    let mut fields = ConsoleFields::new();
    fill(spec, base.get(&spec.name), &spec.name, &mut fields);
    read(spec, &spec.name, &fields)
}

/// Copies the typed values of a field. If the field is an object, copies the values of its fields.
fn copy(spec: &FieldSpec, from: &ConsoleFields, to: &mut ConsoleFields) {
    let below = format!("{}.", spec.name);
    to.extend(
        from.iter()
            .filter(|(name, _)| *name == spec.name || name.starts_with(&below))
            .cloned(),
    );
}

/// Formats a value briefly, so that the member can compare two versions.
fn shown(spec: &FieldSpec, value: Option<&Value>) -> String {
    let mut fields = ConsoleFields::new();
    fill(spec, value, &spec.name, &mut fields);
    let is_mark = |name: &str| matches!(name.rsplit_once('.'), Some((_, "here" | "set")));
    let message = fields
        .into_iter()
        .filter(|(name, value)| !is_mark(name) && !value.is_empty());
    let text = message
        .map(|(_, value)| value)
        .collect::<Vec<_>>()
        .join(", ");
    text.chars().take(MAX_SAVED_LENGTH).collect()
}

/// Returns the form field that an issue is about: the field whose name is the longest beginning of
/// the issue's path.
fn place(path: &[String], names: &[&str], fields: &ConsoleFields) -> Option<String> {
    let is_known = |name: &String| {
        names.contains(&name.as_str()) || fields.iter().any(|(known, _)| known == name)
    };
    (1..=path.len())
        .rev()
        .map(|length| path[..length].join("."))
        .find(is_known)
}
