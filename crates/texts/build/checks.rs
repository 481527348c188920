//! Checks a file of texts by itself, and compares it with the English file.

use std::collections::BTreeSet;

use crate::catalog::{Template, Text, TextFile};
use crate::languages::{categories, pattern};

/// Returns the faults of one file of texts, such as an empty text. Does not compare the file with
/// the files of other languages.
pub fn faults(file: &TextFile) -> Vec<String> {
    let mut problems = Vec::new();
    let known = categories(&file.language).unwrap_or_default();
    for (id, text) in &file.texts {
        let mut problem =
            |problem: String| problems.push(format!("{}: `{id}` {problem}", file.path()));
        let Some(value) = &text.value else {
            problem("has no text".into());
            continue;
        };
        if value.forms().iter().any(|text| text.trim().is_empty()) {
            problem("has an empty text".into());
        }
        if let Template::Counted { forms, .. } = value {
            let mut patterns = BTreeSet::new();
            for (form, _) in forms {
                match pattern(form, known) {
                    None => problem(format!(
                        "has a form [{form}], which the plurals of `{}` do not have",
                        file.language
                    )),
                    Some(pattern) if !patterns.insert(pattern) => {
                        problem(format!("has another form for the numbers of [{form}]"));
                    }
                    Some(_) => {}
                }
            }
        }
        if let Some((name, Template::Counted { .. })) = &text.attribute {
            problem(format!("has a choice in `.{name}`"));
        }
    }
    problems
}

/// Returns the differences between a file and the English file: in the ids of the texts, in their
/// types, and in their placeholders.
pub fn differences(english: &TextFile, file: &TextFile) -> Vec<String> {
    let mut problems = Vec::new();
    let mut problem =
        |id: &str, problem: String| problems.push(format!("{}: `{id}` {problem}", file.path()));
    for (id, original) in &english.texts {
        let Some(text) = file.texts.get(id) else {
            problem(id, "is missing".into());
            continue;
        };
        if shape(text) != shape(original) {
            let (expected, found) = (shape(original), shape(text));
            problem(id, format!("is {found}, and in English {expected}"));
        }
        let (expected, found) = (placeholders(original), placeholders(text));
        if expected != found {
            problem(
                id,
                format!("has the placeholders {found:?}, and in English {expected:?}"),
            );
        }
    }
    for id in file.texts.keys() {
        if !english.texts.contains_key(id) {
            problem(
                id,
                "is superfluous: there is no such text in English".into(),
            );
        }
    }
    problems
}

/// Returns the problems of label files. A language other than English must have each label that any
/// language has, and each hint that another of these languages has. English may lack a label or a
/// hint: a label can be derived from the field's name, and a hint from the schema's description. No
/// label or hint may have a placeholder, and the only permitted attribute is `.hint`.
pub fn missing_labels(files: &[&TextFile]) -> Vec<String> {
    let others = || files.iter().filter(|file| file.language != "en");
    let ids: BTreeSet<&String> = files.iter().flat_map(|file| file.texts.keys()).collect();
    let mut problems = Vec::new();
    for id in ids {
        let has_hint = |file: &TextFile| {
            let attribute = file.texts.get(id).and_then(|text| text.attribute.as_ref());
            attribute.is_some_and(|(_, hint)| hint.forms() != [""])
        };
        let is_hinted = others().any(|file| has_hint(file));
        for file in others() {
            let path = file.path();
            if file.texts.get(id).is_none_or(|text| text.value.is_none()) {
                problems.push(format!("{path}: `{id}` is missing"));
            } else if is_hinted && !has_hint(file) {
                problems.push(format!("{path}: `{id}` has no hint"));
            }
        }
    }
    let texts = files
        .iter()
        .flat_map(|file| file.texts.iter().map(move |text| (file, text)));
    for (file, (id, text)) in texts {
        let attribute = text.attribute.iter();
        let values = text
            .value
            .iter()
            .chain(attribute.clone().map(|(_, value)| value));
        if !placeholders(text).is_empty() || values.clone().any(|value| value.forms().len() > 1) {
            problems.push(format!("{}: `{id}` has a placeholder", file.path()));
        }
        if attribute.clone().any(|(name, _)| name != "hint") {
            problems.push(format!(
                "{}: `{id}` has an attribute other than `.hint`",
                file.path()
            ));
        }
    }
    problems
}

/// Describes a text for an error message: the type of its value, and the name of its attribute if
/// it has one.
fn shape(text: &Text) -> String {
    let value = match text.value {
        None => "no text",
        Some(Template::Plain(_)) => "a text",
        Some(Template::Counted { .. }) => "a choice by a number",
    };
    match &text.attribute {
        Some((name, _)) => format!("{value} with `.{name}`"),
        None => value.to_owned(),
    }
}

/// Returns the names of a text's placeholders. They include the variable by which the text chooses
/// a template.
fn placeholders(text: &Text) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let attribute = text.attribute.as_ref().map(|(_, value)| value);
    for template in text.value.iter().chain(attribute) {
        if let Template::Counted { variable, .. } = template {
            names.insert(variable.clone());
        }
        for form in template.forms() {
            let places = form
                .split('{')
                .skip(1)
                .filter_map(|rest| rest.split_once('}'));
            names.extend(places.map(|(name, _)| name.to_owned()));
        }
    }
    names
}
