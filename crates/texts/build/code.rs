//! Writes the tables of texts as Rust code.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::catalog::{Template, Text, TextFile};
use crate::languages::{categories, pattern};

/// Keywords of Rust. A field whose name would be a keyword gets an underscore at its end.
const KEYWORDS: &[&str] = &[
    "as", "async", "await", "break", "const", "continue", "dyn", "else", "enum", "extern", "false",
    "fn", "for", "gen", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub",
    "ref", "return", "static", "struct", "trait", "true", "type", "unsafe", "use", "where",
    "while",
];

/// Returns the code of a table: its structs, the texts in each language, and the function that
/// finds the texts in a language.
pub fn table(title: &str, english: &TextFile, files: &[&TextFile]) -> String {
    let stem = title.strip_suffix("Words").unwrap_or(title);
    let mut code = languages(files);
    for (group, texts) in grouped(english, english) {
        code += &structure(stem, group, &texts, english);
    }
    for file in files {
        code += &texts(title, stem, file, english);
    }
    code + "/// Returns the texts in a language, or in English if the table does not have it.\n"
        + "#[must_use]\n"
        + &format!(
            "pub fn table(language: &str) -> &'static {title} {{ {} }}\n",
            choice(files)
        )
}

/// Returns the generated Rust code of the labels: for each language a list of labels that is sorted
/// by name, and a function that finds a label by its name.
pub fn labels(files: &[&TextFile]) -> String {
    let mut code = languages(files);
    for file in files {
        let count = file.texts.len();
        let title = file.language.to_uppercase();
        let _ = writeln!(code, "static {title}: [(&str, crate::Label); {count}] = [");
        for (id, text) in &file.texts {
            let attribute = text.attribute.as_ref().map(|(_, value)| value);
            let (label, hint) = (optional(text.value.as_ref()), optional(attribute));
            let _ = writeln!(
                code,
                "({id:?}, crate::Label {{ text: {label}, hint: {hint} }}),"
            );
        }
        code += "];\n";
    }
    code + "/// Returns the label of a name in a language, or in English if there are no labels in \
        it.\n"
        + "#[must_use]\n"
        + "pub fn label(language: &str, name: &str) -> Option<&'static crate::Label> {\n"
        + &format!("let labels: &[(&str, crate::Label)] = {};\n", choice(files))
        + "let place = labels.binary_search_by_key(&name, |(known, _)| known).ok()?;\n"
        + "Some(&labels[place].1)\n}\n"
}

fn languages(files: &[&TextFile]) -> String {
    let languages: Vec<&str> = files.iter().map(|file| file.language.as_str()).collect();
    format!(
        "/// The languages of the table, English first.\npub const LANGUAGES: [&str; {}] = \
            {languages:?};\n",
        languages.len()
    )
}

/// Returns the code of a `match` that selects the `static` with the texts of a language. For an
/// unknown language the code selects English.
fn choice(files: &[&TextFile]) -> String {
    let mut code = String::from("match language {");
    for file in &files[1..] {
        let _ = write!(
            code,
            " {:?} => &{},",
            file.language,
            file.language.to_uppercase()
        );
    }
    code + " _ => &EN }"
}

/// Returns the code of a group's struct. If the group's name is empty, returns the struct of the
/// whole table. That struct contains the groups and the texts without a group.
fn structure(stem: &str, group: &str, texts: &BTreeMap<&str, &Text>, english: &TextFile) -> String {
    let about = english.groups.get(group);
    let mut code = comment(about.map_or("All texts in a language.", String::as_str));
    let _ = writeln!(
        code,
        "#[derive(Debug)]\npub struct {} {{",
        type_name(stem, group)
    );
    for (name, text) in texts {
        code += &comment(&text.comment);
        let _ = writeln!(code, "pub {}: {},", field(name), type_of(text));
    }
    let groups = english.groups.iter().filter(|_| group.is_empty());
    for (name, about) in groups {
        code += &comment(about);
        let _ = writeln!(code, "pub {}: {},", field(name), type_name(stem, name));
    }
    code + "}\n"
}

fn comment(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("/// {text}\n")
    }
}

/// Returns the code of the `static` item that contains the texts of a language.
fn texts(title: &str, stem: &str, file: &TextFile, english: &TextFile) -> String {
    let mut code = format!(
        "static {}: {title} = {title} {{\n",
        file.language.to_uppercase()
    );
    for (group, texts) in grouped(file, english) {
        if !group.is_empty() {
            let _ = writeln!(code, "{}: {} {{", field(group), type_name(stem, group));
        }
        for (name, text) in texts {
            let _ = writeln!(code, "{}: {},", field(name), value(text, &file.language));
        }
        if !group.is_empty() {
            code += "},\n";
        }
    }
    code + "};\n"
}

/// Returns the texts of a file by group and name. The groups are those of the English file. Texts
/// without a group have the empty group name.
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

/// Returns the name of a group's struct: the name of the table, with the name of the group inserted
/// before `Words`.
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

fn optional(template: Option<&Template>) -> String {
    match template {
        Some(Template::Plain(text)) => format!("Some({text:?})"),
        _ => "None".into(),
    }
}
