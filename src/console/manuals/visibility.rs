//! The visibility rules of a manual: one form for each category of rules, made from the schema of
//! the rule. Simultaneous changes are merged rule by rule.

use std::collections::{HashMap, HashSet};

use askama::Template;
use axum::response::Response;
use engine::operation::inline_generator;
use serde_json::{Map, Value, json};

use super::{MANUAL, sentence, stored};
use crate::console::asking;
use crate::console::form::{
    Control, Listed, Showing, Spec, Stored, fill, in_lines, of_object, read,
};
use crate::console::frame::{Done, Frame};
use crate::console::labels;
use crate::console::meanwhile::{Fate, fate};
use crate::console::refusal::Refusal;
use crate::console::reply;
use crate::console::screens::Answering;
use crate::console::visit::{Fields, Visit, first};

/// The fields of rules in lines, in the order of a sentence.
const LINES: &[&[&str]] = &[
    &["daysBefore", "daysBeforeTimeUnit", "startDateRelativeType"],
    &["daysAfter", "daysAfterTimeUnit", "endDateRelativeType"],
    &["startDate", "endDate", "isYearly"],
    &["lengthOfStayFromDays", "lengthOfStayToDays"],
    &["sourceRuleType"],
    &["includedBookingSources"],
    &["excludedBookingSources"],
];

/// A category of rules: its name in the interface, its description, and its fields in lines.
type Category = (String, String, Vec<Vec<Spec>>);

/// Returns the categories of rules.
fn categories(visit: &Visit) -> Result<Vec<Category>, Refusal> {
    let operation = asking::operation(&visit.service, MANUAL.update).ok_or_else(Refusal::broken)?;
    let schema = operation.input_schema(&mut inline_generator());
    let items = schema
        .pointer("/properties/data/properties/visibilityRules/items")
        .ok_or_else(Refusal::broken)?;
    let shapes = items["oneOf"]
        .as_array()
        .or(items["anyOf"].as_array())
        .ok_or_else(Refusal::broken)?;
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
struct Rule {
    category: String,
    title: String,
    about: String,
    is_on: bool,
    lines: Vec<Vec<Control>>,
    errors: Vec<String>,
    /// The version that another member has saved since then, if both sides changed the rule.
    theirs: Option<String>,
}

#[derive(Template)]
#[template(path = "console/visibility.html")]
struct Page<'v> {
    frame: Frame<'v>,
    action: String,
    hidden: Fields,
    rules: Vec<Rule>,
    /// A sentence that tells when guests see the manual with the stored rules.
    when: String,
    problems: Vec<String>,
    note: Option<&'static str>,
    /// A sentence about the stored rules, if another member changed them.
    theirs: Option<String>,
    may_change: bool,
}

/// Returns the name of the field that is sent if a category has a rule.
fn switch(category: &str) -> String {
    format!("use.{category}")
}

fn rules_of(stored: &Stored) -> Vec<Value> {
    stored
        .value
        .get("visibilityRules")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default()
}

fn updated_at(stored: &Stored) -> String {
    stored
        .value
        .get("updatedAt")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Further content of the page, besides the form.
#[derive(Default)]
struct Said {
    status: u16,
    problems: Vec<String>,
    errors: HashMap<String, Vec<String>>,
    note: Option<&'static str>,
    theirs: Option<String>,
    /// The other member's version of each rule that both sides changed, by category.
    both: HashMap<String, String>,
}

/// Returns the fields of an untouched form with these rules.
fn filled(rules: &[Value], categories: &[Category]) -> Fields {
    let mut fields = Fields::new();
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

/// Reads a rule from a form: whether it is on, and its fields.
fn rule_in(category: &str, lines: &[Vec<Spec>], fields: &Fields) -> (bool, Map<String, Value>) {
    let said = |spec: &Spec| {
        Some((
            spec.name.clone(),
            read(spec, &format!("{category}.{}", spec.name), fields)?,
        ))
    };
    let said = lines.iter().flatten().filter_map(said);
    (
        first(fields, &switch(category)).is_some(),
        said.filter(|(_, value)| !value.is_null()).collect(),
    )
}

/// The state that the form was opened with: the rules, and the time of their last change.
struct Opened {
    rules: Vec<Value>,
    updated_at: String,
}

impl Opened {
    fn of(stored: &Stored) -> Self {
        Self {
            rules: rules_of(stored),
            updated_at: updated_at(stored),
        }
    }

    fn sent(visit: &Visit, stored: &Stored) -> Self {
        let rules = visit
            .sent("base")
            .and_then(|text| serde_json::from_str(text).ok());
        let updated_at = visit.sent("updatedAt").unwrap_or_default().to_owned();
        Self {
            rules: rules.unwrap_or_else(|| rules_of(stored)),
            updated_at,
        }
    }
}

fn page(
    visit: &Visit,
    stored: &Stored,
    fields: &Fields,
    opened: Opened,
    said: Said,
) -> Result<Response, Refusal> {
    let words = visit.words;
    let (listed, nothing, unseen) = (Listed::default(), HashMap::new(), HashSet::new());
    let base = serde_json::Map::new();
    let may_change = visit.may(MANUAL.update);
    let showing = Showing {
        visit,
        fields,
        listed: &listed,
        errors: &said.errors,
        theirs: &nothing,
        texts: &nothing,
        unseen: &unseen,
        is_read_only: !may_change,
        layout: MANUAL.layout,
        base: &base,
    };
    let rule = |(category, about, lines): Category| Rule {
        title: labels::choice(visit.language, &category),
        about: labels::rule(visit.language, &category).map_or(about, str::to_owned),
        is_on: first(fields, &switch(&category)).is_some(),
        lines: lines
            .iter()
            .map(|line| {
                line.iter()
                    .map(|spec| showing.control(spec, &format!("{category}.{}", spec.name)))
                    .collect()
            })
            .collect(),
        errors: said.errors.get(&category).cloned().unwrap_or_default(),
        theirs: said.both.get(&category).cloned(),
        category,
    };
    let rules = categories(visit)?.into_iter().map(rule).collect();
    let nickname = stored
        .value
        .get("nickname")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let frame =
        Frame::new(visit, words.manuals.visibility).below(visit, words.manuals.manuals, "/manuals");
    let page = Page {
        frame: frame.below(visit, nickname, &format!("/manuals/{}", stored.id)),
        action: visit.address(&visit.path),
        hidden: vec![
            ("form".to_owned(), visit.signed_in.form_token()),
            ("base".to_owned(), Value::Array(opened.rules).to_string()),
            ("updatedAt".to_owned(), opened.updated_at),
        ],
        rules,
        when: sentence::said(&rules_of(stored), visit),
        problems: said.problems,
        note: said.note,
        theirs: said.theirs,
        may_change,
    };
    Ok(reply::of(
        visit,
        if said.status == 0 { 200 } else { said.status },
        &page,
    ))
}

pub fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let stored = stored(visit, visit.named("id")?).await?;
        let fields = filled(&rules_of(&stored), &categories(visit)?);
        page(
            visit,
            &stored,
            &fields,
            Opened::of(&stored),
            Said::default(),
        )
    })
}

/// Merges the typed rules with the stored ones. Also returns the other member's version of each
/// rule that both sides changed.
fn merged(
    visit: &Visit,
    was: &[Value],
    stored: &[Value],
    categories: &[Category],
) -> (Fields, HashMap<String, String>) {
    let (was, is) = (filled(was, categories), filled(stored, categories));
    let (mut fields, mut both) = (Fields::new(), HashMap::new());
    for (category, _, lines) in categories {
        let of = |fields: &Fields| rule_in(category, lines, fields);
        let is_theirs = visit.sent(&format!("choose.{category}")) == Some("theirs");
        let fate = if is_theirs {
            Fate::Stored
        } else {
            fate(&of(&was), &of(&is), &of(&visit.fields))
        };
        let from = if fate == Fate::Stored {
            &is
        } else {
            &visit.fields
        };
        let (own, below) = (switch(category), format!("{category}."));
        fields.extend(
            from.iter()
                .filter(|(name, _)| *name == own || name.starts_with(&below))
                .cloned(),
        );
        if fate == Fate::Asked {
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
                    sentence::said(&theirs, visit)
                },
            );
        }
    }
    (fields, both)
}

pub fn save(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let now = stored(visit, visit.named("id")?).await?;
        let opened = Opened::sent(visit, &now);
        if !visit.may_write() {
            let note = Some(visit.words.frame.is_kept);
            return page(
                visit,
                &now,
                &visit.fields,
                opened,
                Said {
                    note,
                    ..Said::default()
                },
            );
        }
        let categories = categories(visit)?;
        let (fields, both) = merged(visit, &opened.rules, &rules_of(&now), &categories);
        if opened.updated_at != updated_at(&now) || !both.is_empty() {
            let theirs = Some(sentence::said(&rules_of(&now), visit));
            return page(
                visit,
                &now,
                &fields,
                Opened::of(&now),
                Said {
                    status: 409,
                    theirs,
                    both,
                    ..Said::default()
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
        match visit
            .get::<Value>(
                MANUAL.update,
                json!({ "id": now.id, "data": { "visibilityRules": rules } }),
            )
            .await
        {
            Ok(_) => Ok(reply::done(visit, &visit.path, Done::Saved)),
            Err(refusal) => {
                let mut said = Said {
                    status: refusal.status,
                    ..Said::default()
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
                        (Some(field), _) => labels::label(visit.language, field),
                        (None, Some(category)) => labels::choice(visit.language, category),
                        (None, None) => visit.words.manuals.visibility.to_owned(),
                    };
                    said.problems.push(format!("{label}: {}", issue.message));
                    said.errors
                        .entry(name.unwrap_or_default())
                        .or_default()
                        .push(issue.message.clone());
                }
                if said.problems.is_empty() {
                    said.problems.push(refusal.message);
                }
                page(visit, &now, &fields, opened, said)
            }
        }
    })
}
