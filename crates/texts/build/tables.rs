//! Decides which files a language must have, and compiles them into tables.

use crate::catalog::TextFile;
use crate::languages::{LANGUAGES, categories};
use crate::{checks, code};

/// The files with texts for guests, and the names of their tables. Every language has these files.
const FOR_GUESTS: &[(&str, &str)] = &[("page", "Words"), ("ready", "ReadyWords")];

/// The files with texts for members, and the names of their tables. A language has either all of
/// these files and all of `LABELS`, or none of them.
const FOR_MEMBERS: &[(&str, &str)] = &[
    ("console", "ConsoleWords"),
    ("sign-in", "SignInWords"),
    ("consent", "ConsentWords"),
];
const LABELS: &[&str] = &["fields", "values"];

/// A generated file with the Rust code of one table of texts.
pub struct Table {
    pub file: String,
    pub code: String,
}

/// Compiles the files into tables. If there are problems, returns all of them, each with the file
/// and the text that it concerns.
pub fn compile(files: &[TextFile]) -> Result<Vec<Table>, Vec<String>> {
    let mut problems = misplaced(files);
    let mut tables = Vec::new();
    for (name, title) in FOR_GUESTS.iter().chain(FOR_MEMBERS) {
        let Some((english, files)) = named(files, name) else {
            continue;
        };
        problems.extend(files.iter().flat_map(|file| checks::faults(file)));
        problems.extend(
            files
                .iter()
                .flat_map(|file| checks::differences(english, file)),
        );
        tables.push(Table {
            file: format!("{name}.rs"),
            code: code::table(title, english, &files),
        });
    }
    for name in LABELS {
        let Some((_, files)) = named(files, name) else {
            continue;
        };
        problems.extend(checks::missing_labels(&files));
        tables.push(Table {
            file: format!("{name}.rs"),
            code: code::labels(&files),
        });
    }
    if problems.is_empty() {
        Ok(tables)
    } else {
        Err(problems)
    }
}

/// Returns the English file with a name, and the files with that name in every language, English
/// first.
fn named<'f>(files: &'f [TextFile], name: &str) -> Option<(&'f TextFile, Vec<&'f TextFile>)> {
    let file = |language: &str| {
        files
            .iter()
            .find(|file| file.language == language && file.name == name)
    };
    let all = LANGUAGES.iter().filter_map(|(language, _)| file(language));
    Some((file("en")?, all.collect()))
}

/// Returns a problem for each missing file of a language, and for each file that belongs to no
/// table.
fn misplaced(files: &[TextFile]) -> Vec<String> {
    let names = |tables: &[(&'static str, &str)]| -> Vec<&str> {
        tables.iter().map(|(name, _)| *name).collect()
    };
    let (guests, members) = (
        names(FOR_GUESTS),
        [names(FOR_MEMBERS), LABELS.to_vec()].concat(),
    );
    let mut problems = Vec::new();
    for file in files {
        let (path, language, name) = (file.path(), &file.language, file.name.as_str());
        if categories(language).is_none() {
            problems.push(format!(
                "{path}: the language `{language}` is not in crates/texts/build/languages.rs"
            ));
        }
        if !guests.contains(&name) && !members.contains(&name) {
            problems.push(format!("{path}: no table is made of this file"));
        }
    }
    for (language, _) in LANGUAGES {
        let has = |name: &&&str| {
            files
                .iter()
                .any(|file| file.language == *language && file.name == **name)
        };
        let is_for_members = members.iter().any(|name| has(&name));
        let members = members.iter().filter(|_| is_for_members);
        let missing = guests.iter().chain(members).filter(|name| !has(name));
        problems.extend(missing.map(|name| format!("texts/{language}/{name}.ftl is missing")));
    }
    problems
}
