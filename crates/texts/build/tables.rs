//! Compares the languages, and writes the tables as Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::catalog::{Template, Text, TextFile};
use crate::languages::{LANGUAGES, categories};

/// The files that every language has, with the names of their tables. Guests read them.
const FOR_GUESTS: &[(&str, &str)] = &[("page", "Words"), ("ready", "ReadyWords")];

/// The files that a language has all or none of, with the names of their tables. Members read them.
const FOR_MEMBERS: &[(&str, &str)] = &[("console", "ConsoleWords")];

/// Words of Rust that a text may be named. Their fields end in an underscore.
const KEYWORDS: [&str; 6] = ["continue", "for", "in", "move", "type", "use"];

/// A file of Rust.
pub struct Table {
    pub file: String,
    pub code: String,
}

/// Compiles the files. Returns every problem, each with its file and its text.
pub fn compile(files: &[TextFile]) -> Result<Vec<Table>, Vec<String>> {
    let mut problems = misplaced(files);
    let mut tables = Vec::new();
    for &(name, title) in FOR_GUESTS.iter().chain(FOR_MEMBERS) {
        let files: Vec<_> = LANGUAGES
            .iter()
            .filter_map(|(language, _)| {
                files
                    .iter()
                    .find(|file| file.language == *language && file.name == name)
            })
            .collect();
        let Some((english, others)) = files
            .split_first()
            .filter(|(file, _)| file.language == "en")
        else {
            continue;
        };
        problems.extend(files.iter().flat_map(|file| faults(file)));
        problems.extend(others.iter().flat_map(|file| differences(english, file)));
        tables.push(Table {
            file: format!("{name}.rs"),
            code: rust(title, english, &files),
        });
    }
    if problems.is_empty() {
        Ok(tables)
    } else {
        Err(problems)
    }
}

/// Returns the files that are missing, and those that no table is made of.
fn misplaced(files: &[TextFile]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files {
        if categories(&file.language).is_none() {
            problems.push(format!(
                "{}: the language `{}` is not in crates/texts/build/languages.rs",
                file.path(),
                file.language
            ));
        }
        let mut names = FOR_GUESTS.iter().chain(FOR_MEMBERS);
        if !names.any(|(name, _)| *name == file.name) {
            problems.push(format!("{}: no table is made of this file", file.path()));
        }
    }
    for (language, _) in LANGUAGES {
        let has = |name: &str| {
            files
                .iter()
                .any(|file| file.language == *language && file.name == name)
        };
        let is_for_members = FOR_MEMBERS.iter().any(|(name, _)| has(name));
        let members = FOR_MEMBERS.iter().filter(|_| is_for_members);
        for (name, _) in FOR_GUESTS
            .iter()
            .chain(members)
            .filter(|(name, _)| !has(name))
        {
            problems.push(format!("texts/{language}/{name}.ftl is missing"));
        }
    }
    problems
}

/// Returns what is wrong with a file by itself.
fn faults(file: &TextFile) -> Vec<String> {
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

/// Returns how a file differs from the English one in its texts and their placeholders.
fn differences(english: &TextFile, file: &TextFile) -> Vec<String> {
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

/// Describes the type of a text.
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

/// Returns the names in braces, and the variable of a choice.
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

/// Returns the pattern for the numbers of a form. Returns `None` for a category that the language
/// does not have.
fn pattern<'f>(form: &'f str, known: &[(&str, &'f str)]) -> Option<&'f str> {
    if form == "other" {
        return Some("_");
    }
    if form.parse::<u32>().is_ok() {
        return Some(form);
    }
    let category = known.iter().find(|(name, _)| *name == form);
    category.map(|(_, pattern)| *pattern)
}

/// Writes the structs of a table, the table in each language, and the function that finds it.
fn rust(title: &str, english: &TextFile, files: &[&TextFile]) -> String {
    let languages: Vec<&str> = files.iter().map(|file| file.language.as_str()).collect();
    let stem = title.strip_suffix("Words").unwrap_or(title);
    let mut code = String::new();
    let mut line = |text: String| {
        code.push_str(&text);
        code.push('\n');
    };

    line("/// The languages of the table, English first.".into());
    line(format!(
        "pub const LANGUAGES: [&str; {}] = {languages:?};",
        languages.len()
    ));
    let groups = grouped(english, english);
    for (group, texts) in &groups {
        if let Some(about) = english.groups.get(*group) {
            line(format!("/// {about}"));
        } else {
            line("/// All texts in a language.".into());
        }
        line("#[derive(Debug)]".into());
        line(format!("pub struct {} {{", type_name(stem, group)));
        for (name, text) in texts {
            if !text.comment.is_empty() {
                line(format!("    /// {}", text.comment));
            }
            line(format!("    pub {}: {},", field(name), type_of(text)));
        }
        if group.is_empty() {
            for name in english.groups.keys() {
                line(format!("    /// {}", english.groups[name]));
                line(format!("    pub {name}: {},", type_name(stem, name)));
            }
        }
        line("}".into());
    }

    line(
        "/// Returns the texts in a language, or in English if the table does not have it.".into(),
    );
    line("#[must_use]".into());
    line(format!(
        "pub fn table(language: &str) -> &'static {title} {{"
    ));
    line("    match language {".into());
    for language in &languages[1..] {
        line(format!(
            "        {language:?} => &{},",
            language.to_uppercase()
        ));
    }
    line("        _ => &EN,".into());
    line("    }".into());
    line("}".into());

    for file in files {
        let groups = grouped(file, english);
        line(format!(
            "static {}: {title} = {title} {{",
            file.language.to_uppercase()
        ));
        let values = |texts: &BTreeMap<&str, &Text>, line: &mut dyn FnMut(String)| {
            for (name, text) in texts {
                line(format!("{}: {},", field(name), value(text, &file.language)));
            }
        };
        for (group, texts) in &groups {
            if group.is_empty() {
                values(texts, &mut line);
            } else {
                line(format!("{group}: {} {{", type_name(stem, group)));
                values(texts, &mut line);
                line("},".into());
            }
        }
        line("};".into());
    }
    code
}

/// Returns the texts by the groups of English and by name, those without a group under the empty name.
fn grouped<'f>(
    file: &'f TextFile,
    english: &'f TextFile,
) -> BTreeMap<&'f str, BTreeMap<&'f str, &'f Text>> {
    let mut groups = BTreeMap::from([("", BTreeMap::new())]);
    for (id, text) in &file.texts {
        let (group, name) = match id.split_once('-') {
            Some((group, name)) if english.groups.contains_key(group) => (group, name),
            _ => ("", id.as_str()),
        };
        groups
            .entry(group)
            .or_insert_with(BTreeMap::new)
            .insert(name, text);
    }
    groups
}

/// Returns the name of a group's struct: the table's, with the group's name before `Words`.
fn type_name(stem: &str, group: &str) -> String {
    let mut letters = group.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let group: String = first.into_iter().chain(letters).collect();
    format!("{stem}{group}Words")
}

fn field(name: &str) -> String {
    let name = name.replace('-', "_");
    if KEYWORDS.contains(&name.as_str()) {
        name + "_"
    } else {
        name
    }
}

fn type_of(text: &Text) -> &'static str {
    match (&text.value, &text.attribute) {
        (Some(Template::Counted { .. }), _) => "crate::Plural",
        (_, Some(_)) => "crate::Notice",
        _ => "&'static str",
    }
}

fn value(text: &Text, language: &str) -> String {
    match (&text.value, &text.attribute) {
        (Some(Template::Counted { variable, forms }), _) => counted(variable, forms, language),
        (Some(Template::Plain(value)), Some((_, Template::Plain(attribute)))) => {
            format!("({value:?}, {attribute:?})")
        }
        (Some(Template::Plain(value)), _) => format!("{value:?}"),
        (None, _) => String::new(),
    }
}

fn counted(variable: &str, forms: &[(String, String)], language: &str) -> String {
    let known = categories(language).unwrap_or_default();
    let mut code = format!("crate::Plural::new({variable:?}, |n| match n {{");
    for (form, text) in forms {
        let pattern = pattern(form, known).unwrap_or_default();
        let _ = write!(code, " {pattern} => {text:?},");
    }
    code + " })"
}
