//! The form for the visibility rules of a manual. Each category of rules has a section, which is
//! derived from the schema. If two members change rules at the same time, the console merges their
//! changes for each rule.

use std::collections::{HashMap, HashSet};

use askama::Template;
use axum::response::Response;
use engine::operation::inline_generator;
use serde_json::{Map, Value, json};

use super::{MANUAL, sentence, stored};
use crate::form::{
    ChoiceLists, Control, FieldContext, FieldSpec, StoredResource, fill, in_lines, of_object, read,
};
use crate::frame::{CompletedAction, ConsoleFrame};
use crate::labels;
use crate::merge::{MergeResult, merge};
use crate::operation_calls;
use crate::refusal::ConsoleRefusal;
use crate::reply;
use crate::request::{ConsoleFields, ConsoleRequest, first_value};
use crate::screens::ScreenResponse;

/// The fields of a rule, grouped into lines. The fields of a line form a sentence when they are
/// read from left to right.
const LINES: &[&[&str]] = &[
    &["daysBefore", "daysBeforeTimeUnit", "startDateRelativeType"],
    &["daysAfter", "daysAfterTimeUnit", "endDateRelativeType"],
    &["startDate", "endDate", "isYearly"],
    &["lengthOfStayFromDays", "lengthOfStayToDays"],
    &["sourceRuleType"],
    &["includedBookingSources"],
    &["excludedBookingSources"],
];

/// A category of visibility rules: its name, its description, and the fields of a rule. Each inner
/// list has the fields of one line of the form.
type RuleCategoryFields = (String, String, Vec<Vec<FieldSpec>>);

/// Returns the categories of rules.
fn categories(request: &ConsoleRequest) -> Result<Vec<RuleCategoryFields>, ConsoleRefusal> {
    let operation = operation_calls::operation(&request.service, MANUAL.update)
        .ok_or_else(ConsoleRefusal::broken)?;
    let schema = operation.input_schema(&mut inline_generator());
    let items = schema
        .pointer("/properties/data/properties/visibilityRules/items")
        .ok_or_else(ConsoleRefusal::broken)?;
    let shapes = items["oneOf"]
        .as_array()
        .or(items["anyOf"].as_array())
        .ok_or_else(ConsoleRefusal::broken)?;
    let category = |shape: &Value| {
        let category = shape
            .pointer("/properties/ruleCategory/const")?
            .as_str()?
            .to_owned();
        Some((
            category,
            shape["description"].as_str().unwrap_or_default().to_owned(),
            in_lines(of_object(shape, None), LINES),
        ))
    };
    Ok(shapes.iter().filter_map(category).collect())
}

/// A rule, as the page shows it.
struct RuleItem {
    category: String,
    title: String,
    about: String,
    is_on: bool,
    lines: Vec<Vec<Control>>,
    errors: Vec<String>,
    /// The version of the rule that another member has saved since the form was opened. Set only if
    /// this member has changed the rule as well.
    theirs: Option<String>,
}

#[derive(Template)]
#[template(path = "visibility.html")]
struct VisibilityPage<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    hidden: ConsoleFields,
    rules: Vec<RuleItem>,
    /// A sentence that says when guests see the manual, according to the stored rules.
    when: String,
    problems: Vec<String>,
    note: Option<&'static str>,
    /// A sentence about the rules that are stored now, if another member has changed them since the
    /// form was opened. `None` otherwise.
    theirs: Option<String>,
    may_change: bool,
}

/// Returns the name of the checkbox that switches a category of rules on.
fn switch(category: &str) -> String {
    format!("use.{category}")
}

fn rules_of(stored: &StoredResource) -> Vec<Value> {
    stored
        .value
        .get("visibilityRules")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default()
}

fn updated_at(stored: &StoredResource) -> String {
    stored
        .value
        .get("updatedAt")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The data that the page shows in addition to the form: its status, messages, and the rules that
/// another member has saved since the form was opened.
#[derive(Default)]
struct VisibilityExtras {
    status: u16,
    problems: Vec<String>,
    errors: HashMap<String, Vec<String>>,
    note: Option<&'static str>,
    theirs: Option<String>,
    /// For each rule that this member and another member have both changed, the version that the
    /// other member saved. The key is the category of the rule.
    both: HashMap<String, String>,
}

/// Returns the form fields that show these rules.
fn filled(rules: &[Value], categories: &[RuleCategoryFields]) -> ConsoleFields {
    let mut fields = ConsoleFields::new();
    for (category, _, lines) in categories {
        let rule = rules
            .iter()
            .find(|rule| rule["ruleCategory"] == category.as_str());
        if rule.is_some() {
            fields.push((switch(category), "1".to_owned()));
        }
        for spec in lines.iter().flatten() {
            fill(
                spec,
                rule.and_then(|rule| rule.get(&spec.name)),
                &format!("{category}.{}", spec.name),
                &mut fields,
            );
        }
    }
    fields
}

/// Reads a rule from a form. Returns whether the rule is switched on, and the rule with its fields.
fn rule_in(
    category: &str,
    lines: &[Vec<FieldSpec>],
    fields: &ConsoleFields,
) -> (bool, Map<String, Value>) {
    let extras = |spec: &FieldSpec| {
        Some((
            spec.name.clone(),
            read(spec, &format!("{category}.{}", spec.name), fields)?,
        ))
    };
    let extras = lines.iter().flatten().filter_map(extras);
    (
        first_value(fields, &switch(category)).is_some(),
        extras.filter(|(_, value)| !value.is_null()).collect(),
    )
}

/// The rules that the form showed when the member opened it, and the `updatedAt` that the manual
/// had then.
struct OpenedRules {
    rules: Vec<Value>,
    updated_at: String,
}

impl OpenedRules {
    fn of(stored: &StoredResource) -> Self {
        Self {
            rules: rules_of(stored),
            updated_at: updated_at(stored),
        }
    }

    fn sent(request: &ConsoleRequest, stored: &StoredResource) -> Self {
        let rules = request
            .form_value("base")
            .and_then(|text| serde_json::from_str(text).ok());
        let updated_at = request
            .form_value("updatedAt")
            .unwrap_or_default()
            .to_owned();
        Self {
            rules: rules.unwrap_or_else(|| rules_of(stored)),
            updated_at,
        }
    }
}

fn page(
    request: &ConsoleRequest,
    stored: &StoredResource,
    fields: &ConsoleFields,
    opened: OpenedRules,
    extras: VisibilityExtras,
) -> Result<Response, ConsoleRefusal> {
    let words = request.texts;
    let (listed, nothing, unseen) = (ChoiceLists::default(), HashMap::new(), HashSet::new());
    let base = serde_json::Map::new();
    let may_change = request.may(MANUAL.update);
    let showing = FieldContext {
        request,
        fields,
        listed: &listed,
        errors: &extras.errors,
        theirs: &nothing,
        texts: &nothing,
        unseen: &unseen,
        is_read_only: !may_change,
        layout: MANUAL.layout,
        base: &base,
    };
    let rule = |(category, about, lines): RuleCategoryFields| RuleItem {
        title: labels::choice(request.language, &category),
        about: labels::rule(request.language, &category).map_or(about, str::to_owned),
        is_on: first_value(fields, &switch(&category)).is_some(),
        lines: lines
            .iter()
            .map(|line| {
                line.iter()
                    .map(|spec| showing.control(spec, &format!("{category}.{}", spec.name)))
                    .collect()
            })
            .collect(),
        errors: extras.errors.get(&category).cloned().unwrap_or_default(),
        theirs: extras.both.get(&category).cloned(),
        category,
    };
    let rules = categories(request)?.into_iter().map(rule).collect();
    let nickname = stored
        .value
        .get("nickname")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let frame = ConsoleFrame::new(request, words.manuals.visibility).with_parent(
        request,
        words.manuals.manuals,
        "/manuals",
    );
    let page = VisibilityPage {
        frame: frame.with_parent(request, nickname, &format!("/manuals/{}", stored.id)),
        action: request.address(&request.path),
        hidden: vec![
            ("form".to_owned(), request.signed_in.form_token()),
            ("base".to_owned(), Value::Array(opened.rules).to_string()),
            ("updatedAt".to_owned(), opened.updated_at),
        ],
        rules,
        when: sentence::sentence(&rules_of(stored), request),
        problems: extras.problems,
        note: extras.note,
        theirs: extras.theirs,
        may_change,
    };
    Ok(reply::page_of_template(
        request,
        if extras.status == 0 {
            200
        } else {
            extras.status
        },
        &page,
    ))
}

pub fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let stored = stored(request, request.path_id("id")?).await?;
        let fields = filled(&rules_of(&stored), &categories(request)?);
        page(
            request,
            &stored,
            &fields,
            OpenedRules::of(&stored),
            VisibilityExtras::default(),
        )
    })
}

/// Merges the typed rules with the stored rules. `was` has the rules that were stored when the form
/// was opened. For each rule that this member and another member changed, also returns the version
/// of the other member as a sentence, by the category of the rule.
fn merged(
    request: &ConsoleRequest,
    was: &[Value],
    stored: &[Value],
    categories: &[RuleCategoryFields],
) -> (ConsoleFields, HashMap<String, String>) {
    let (was, is) = (filled(was, categories), filled(stored, categories));
    let (mut fields, mut both) = (ConsoleFields::new(), HashMap::new());
    for (category, _, lines) in categories {
        let of = |fields: &ConsoleFields| rule_in(category, lines, fields);
        let is_theirs = request.form_value(&format!("choose.{category}")) == Some("theirs");
        let fate = if is_theirs {
            MergeResult::Stored
        } else {
            merge(&of(&was), &of(&is), &of(&request.fields))
        };
        let from = if fate == MergeResult::Stored {
            &is
        } else {
            &request.fields
        };
        let (own, below) = (switch(category), format!("{category}."));
        fields.extend(
            from.iter()
                .filter(|(name, _)| *name == own || name.starts_with(&below))
                .cloned(),
        );
        if fate == MergeResult::Conflict {
            let theirs: Vec<Value> = stored
                .iter()
                .filter(|rule| rule["ruleCategory"] == category.as_str())
                .cloned()
                .collect();
            both.insert(
                category.clone(),
                if theirs.is_empty() {
                    String::new()
                } else {
                    sentence::sentence(&theirs, request)
                },
            );
        }
    }
    (fields, both)
}

pub fn save(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let now = stored(request, request.path_id("id")?).await?;
        let opened = OpenedRules::sent(request, &now);
        if !request.may_write() {
            let note = Some(request.texts.frame.is_kept);
            return page(
                request,
                &now,
                &request.fields,
                opened,
                VisibilityExtras {
                    note,
                    ..VisibilityExtras::default()
                },
            );
        }
        let categories = categories(request)?;
        let (fields, both) = merged(request, &opened.rules, &rules_of(&now), &categories);
        if opened.updated_at != updated_at(&now) || !both.is_empty() {
            let theirs = Some(sentence::sentence(&rules_of(&now), request));
            return page(
                request,
                &now,
                &fields,
                OpenedRules::of(&now),
                VisibilityExtras {
                    status: 409,
                    theirs,
                    both,
                    ..VisibilityExtras::default()
                },
            );
        }
        let (mut rules, mut chosen) = (Vec::new(), Vec::new());
        for (category, _, lines) in categories {
            let (is_on, mut rule) = rule_in(&category, &lines, &fields);
            if !is_on {
                continue;
            }
            rule.insert("ruleCategory".to_owned(), category.as_str().into());
            rules.push(rule);
            chosen.push(category);
        }
        match request
            .get::<Value>(
                MANUAL.update,
                json!({ "id": now.id, "data": { "visibilityRules": rules } }),
            )
            .await
        {
            Ok(_) => Ok(reply::redirect_with_confirmation(
                request,
                &request.path,
                CompletedAction::Saved,
            )),
            Err(refusal) => {
                let mut extras = VisibilityExtras {
                    status: refusal.status,
                    ..VisibilityExtras::default()
                };
                for issue in &refusal.issues {
                    let place = issue
                        .path
                        .iter()
                        .position(|segment| segment == "visibilityRules")
                        .unwrap_or(0);
                    let category = issue
                        .path
                        .get(place + 1)
                        .and_then(|number| chosen.get(number.parse::<usize>().ok()?));
                    let name = category.map(|category| {
                        issue
                            .path
                            .get(place + 2)
                            .map_or(category.clone(), |field| format!("{category}.{field}"))
                    });
                    let field = issue
                        .path
                        .iter()
                        .skip(place + 2)
                        .rfind(|segment| segment.parse::<usize>().is_err());
                    let label = match (field, category) {
                        (Some(field), _) => labels::label(request.language, field),
                        (None, Some(category)) => labels::choice(request.language, category),
                        (None, None) => request.texts.manuals.visibility.to_owned(),
                    };
                    extras.problems.push(format!("{label}: {}", issue.message));
                    extras
                        .errors
                        .entry(name.unwrap_or_default())
                        .or_default()
                        .push(issue.message.clone());
                }
                if extras.problems.is_empty() {
                    extras.problems.push(refusal.message);
                }
                page(request, &now, &fields, opened, extras)
            }
        }
    })
}
