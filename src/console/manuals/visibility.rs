//! When guests see a manual: a form a category of rule, each made of the schema of its rule.

use std::collections::{HashMap, HashSet};

use askama::Template;
use axum::response::Response;
use engine::operation::inline_generator;
use serde_json::{Map, Value, json};

use super::{MANUAL, sentence, stored};
use crate::console::asking;
use crate::console::form::{Control, Showing, Spec, Stored, fill, in_lines, of_object, read};
use crate::console::frame::{Done, Frame};
use crate::console::labels;
use crate::console::refusal::Refusal;
use crate::console::reply;
use crate::console::screens::Answering;
use crate::console::visit::{Fields, Visit, first};

/// The fields of rules in the order of the sentences that they make.
const LINES: &[&[&str]] = &[
    &["daysBefore", "daysBeforeTimeUnit", "startDateRelativeType"],
    &["daysAfter", "daysAfterTimeUnit", "endDateRelativeType"],
    &["startDate", "endDate"],
    &["lengthOfStayFromDays", "lengthOfStayToDays"],
    &["sourceRuleType"],
    &["includedBookingSources"],
    &["excludedBookingSources"],
];

/// A category of rules: what it is called in the interface, what is said of it, and its fields in lines.
type Category = (String, String, Vec<Vec<Spec>>);

/// The rules that there are.
fn categories(visit: &Visit) -> Result<Vec<Category>, Refusal> {
    let operation = asking::operation(&visit.service, MANUAL.update).ok_or_else(Refusal::broken)?;
    let schema = operation.input_schema(&mut inline_generator());
    let items = schema.pointer("/properties/data/properties/visibilityRules/items").ok_or_else(Refusal::broken)?;
    let shapes = items["oneOf"].as_array().or(items["anyOf"].as_array()).ok_or_else(Refusal::broken)?;
    let category = |shape: &Value| {
        let category = shape.pointer("/properties/ruleCategory/const")?.as_str()?.to_owned();
        Some((category, shape["description"].as_str().unwrap_or_default().to_owned(), in_lines(of_object(shape, None), LINES)))
    };
    Ok(shapes.iter().filter_map(category).collect())
}

/// A rule as it is shown.
struct Rule {
    category: String,
    title: String,
    about: String,
    is_on: bool,
    lines: Vec<Vec<Control>>,
    errors: Vec<String>,
}

#[derive(Template)]
#[template(path = "console/visibility.html")]
struct Page<'v> {
    frame: Frame<'v>,
    action: String,
    hidden: Fields,
    rules: Vec<Rule>,
    /// When guests see it, as it is stored.
    when: String,
    problems: Vec<String>,
    note: Option<&'static str>,
    /// What is stored meanwhile, where somebody else has changed it.
    theirs: Option<String>,
    may_change: bool,
}

/// By which a form says that there is a rule of a category.
fn switch(category: &str) -> String {
    format!("use.{category}")
}

fn rules_of(stored: &Stored) -> Vec<Value> {
    stored.value.get("visibilityRules").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn updated_at(stored: &Stored) -> String {
    stored.value.get("updatedAt").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What is said beside the form.
#[derive(Default)]
struct Said {
    status: u16,
    problems: Vec<String>,
    errors: HashMap<String, Vec<String>>,
    note: Option<&'static str>,
    theirs: Option<String>,
}

fn page(visit: &Visit, stored: &Stored, fields: &Fields, updated_at: String, said: Said) -> Result<Response, Refusal> {
    let words = visit.words;
    let (listed, nothing, unseen) = (HashMap::new(), HashMap::new(), HashSet::new());
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
        markdown: &[],
    };
    let rule = |(category, about, lines): Category| Rule {
        title: labels::choice(visit.language, &category),
        about: labels::rule(visit.language, &category).map_or(about, str::to_owned),
        is_on: first(fields, &switch(&category)).is_some(),
        lines: lines
            .iter()
            .map(|line| line.iter().map(|spec| showing.control(spec, &format!("{category}.{}", spec.name))).collect())
            .collect(),
        errors: said.errors.get(&category).cloned().unwrap_or_default(),
        category,
    };
    let rules = categories(visit)?.into_iter().map(rule).collect();
    let nickname = stored.value.get("nickname").and_then(Value::as_str).unwrap_or_default().to_owned();
    let frame = Frame::new(visit, words.manuals.visibility).below(visit, words.manuals.manuals, "/manuals");
    let page = Page {
        frame: frame.below(visit, nickname, &format!("/manuals/{}", stored.id)),
        action: visit.address(&visit.path),
        hidden: vec![("form".to_owned(), visit.signed_in.form_token()), ("updatedAt".to_owned(), updated_at)],
        rules,
        when: sentence::said(&rules_of(stored), visit),
        problems: said.problems,
        note: said.note,
        theirs: said.theirs,
        may_change,
    };
    Ok(reply::of(visit, if said.status == 0 { 200 } else { said.status }, &page))
}

pub fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let stored = stored(visit, visit.named("id")?).await?;
        let rules = rules_of(&stored);
        let mut fields = Fields::new();
        for (category, _, lines) in categories(visit)? {
            let rule = rules.iter().find(|rule| rule["ruleCategory"] == category.as_str());
            if rule.is_some() {
                fields.push((switch(&category), "1".to_owned()));
            }
            for spec in lines.iter().flatten() {
                fill(spec, rule.and_then(|rule| rule.get(&spec.name)), &format!("{category}.{}", spec.name), &mut fields);
            }
        }
        page(visit, &stored, &fields, updated_at(&stored), Said::default())
    })
}

pub fn save(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let now = stored(visit, visit.named("id")?).await?;
        let expected = visit.sent("updatedAt").unwrap_or_default().to_owned();
        if !visit.may_write() {
            let note = Some(visit.words.frame.is_kept);
            return page(visit, &now, &visit.fields, expected, Said { note, ..Said::default() });
        }
        if expected != updated_at(&now) {
            let theirs = Some(sentence::said(&rules_of(&now), visit));
            return page(visit, &now, &visit.fields, updated_at(&now), Said { status: 409, theirs, ..Said::default() });
        }
        let (mut rules, mut chosen) = (Vec::new(), Vec::new());
        for (category, _, lines) in categories(visit)? {
            if visit.sent(&switch(&category)).is_none() {
                continue;
            }
            let said = |spec: &Spec| Some((spec.name.clone(), read(spec, &format!("{category}.{}", spec.name), &visit.fields)?));
            let said = lines.iter().flatten().filter_map(said);
            let mut rule: Map<String, Value> = said.filter(|(_, value)| !value.is_null()).collect();
            rule.insert("ruleCategory".to_owned(), category.as_str().into());
            rules.push(rule);
            chosen.push(category);
        }
        match visit.get::<Value>(MANUAL.update, json!({ "id": now.id, "data": { "visibilityRules": rules } })).await {
            Ok(_) => Ok(reply::done(visit, &visit.path, Done::Saved)),
            Err(refusal) => {
                let mut said = Said { status: refusal.status, ..Said::default() };
                for issue in &refusal.issues {
                    let place = issue.path.iter().position(|segment| segment == "visibilityRules").unwrap_or(0);
                    let category = issue.path.get(place + 1).and_then(|number| chosen.get(number.parse::<usize>().ok()?));
                    let name =
                        category.map(|category| issue.path.get(place + 2).map_or(category.clone(), |field| format!("{category}.{field}")));
                    let field = issue.path.iter().skip(place + 2).rfind(|segment| segment.parse::<usize>().is_err());
                    let label = match (field, category) {
                        (Some(field), _) => labels::label(visit.language, field),
                        (None, Some(category)) => labels::choice(visit.language, category),
                        (None, None) => visit.words.manuals.visibility.to_owned(),
                    };
                    said.problems.push(format!("{label}: {}", issue.message));
                    said.errors.entry(name.unwrap_or_default()).or_default().push(issue.message.clone());
                }
                if said.problems.is_empty() {
                    said.problems.push(refusal.message);
                }
                page(visit, &now, &visit.fields, expected, said)
            }
        }
    })
}
