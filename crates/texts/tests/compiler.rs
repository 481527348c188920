//! Tests of the compiler of the texts: the faults that it reports, and properties that the texts of
//! all languages must have.

#[path = "../build/catalog.rs"]
mod catalog;
#[path = "../build/checks.rs"]
mod checks;
#[path = "../build/code.rs"]
mod code;
#[path = "../build/languages.rs"]
mod languages;
#[path = "../build/tables.rs"]
mod tables;

use std::collections::BTreeMap;
use std::path::Path;

use catalog::TextFile;
use languages::LANGUAGES;

fn files() -> Vec<TextFile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../texts");
    catalog::read(&folder).unwrap().unwrap()
}

/// Compiles all text files, with `source` in place of one file. Returns the compiler's problems.
fn problems(language: &str, name: &str, source: &str) -> Vec<String> {
    let mut files = files();
    files.retain(|file| file.language != language || file.name != name);
    match catalog::parse(language, name, source) {
        Ok(file) => files.push(file),
        Err(problems) => return problems,
    }
    tables::compile(&files).err().unwrap_or_default()
}

/// Applies `change` to the source of the German `page.ftl` in memory, and compiles the result.
/// Returns the compiler's problems.
fn german(change: impl Fn(&str) -> String) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../texts/de/page.ftl");
    let source = std::fs::read_to_string(path).unwrap();
    let changed = change(&source);
    assert_ne!(source, changed);
    problems("de", "page", &changed)
}

/// Returns the templates of each text of a file, by the id of the text.
fn templates(file: &TextFile) -> BTreeMap<&str, Vec<&str>> {
    file.texts
        .iter()
        .map(|(id, text)| {
            let attribute = text.attribute.iter().map(|(_, value)| value);
            let values = text.value.iter().chain(attribute);
            (
                id.as_str(),
                values.flat_map(|value| value.forms()).collect(),
            )
        })
        .collect()
}

#[test]
fn a_table_is_made_of_each_file() {
    let tables = tables::compile(&files()).unwrap_or_else(|problems| panic!("{problems:?}"));
    for table in tables {
        let has_lookup = ["pub fn table(", "pub fn label("]
            .iter()
            .any(|lookup| table.code.contains(lookup));
        assert!(has_lookup, "{}", table.file);
    }
}

#[test]
fn a_missing_text_is_named_with_its_file() {
    let problems = german(|source| source.replace("common-yes = Ja\n", ""));
    assert_eq!(problems, ["texts/de/page.ftl: `common-yes` is missing"]);
}

#[test]
fn a_superfluous_text_is_named_with_its_file() {
    let problems = german(|source| format!("{source}common-maybe = Vielleicht\n"));
    assert_eq!(
        problems,
        ["texts/de/page.ftl: `common-maybe` is superfluous: there is no such text in English"]
    );
}

#[test]
fn placeholders_are_those_of_english() {
    let problems = german(|source| source.replace("{ $date }", "{ $day }"));
    assert!(!problems.is_empty());
    for problem in problems {
        assert!(
            problem.ends_with("has the placeholders {\"day\"}, and in English {\"date\"}"),
            "{problem}"
        );
    }
}

#[test]
fn a_text_that_cannot_be_a_table_is_refused() {
    let file = |text: &str| catalog::parse("de", "page", text).unwrap_err();
    assert_eq!(
        file("a = 1\na = 2\n"),
        ["texts/de/page.ftl: `a` is there twice"]
    );
    assert_eq!(
        file("## steps: Titles.\nstep-one = 1\n"),
        ["texts/de/page.ftl: `step-one` has to begin with `steps-`"]
    );
    assert_eq!(
        file("a = for { NUMBER($n) }\n"),
        ["texts/de/page.ftl: `a` has something in braces that is neither a variable nor a text"]
    );
    assert_eq!(
        file("a = for { $n ->\n    [one] one\n   *[other] more\n}\n"),
        ["texts/de/page.ftl: `a` chooses in the middle of a text"]
    );
    assert_eq!(
        file("a = { $n ->\n   *[one] one\n    [other] more\n}\n"),
        ["texts/de/page.ftl: `a` needs `*[other]`, and no other default"]
    );
    assert_eq!(file("-a = term\n"), ["texts/de/page.ftl: `-a` is a term"]);
    assert!(file("a = 1\nb = { $n } }\n")[0].starts_with("texts/de/page.ftl:2: "));
}

#[test]
fn a_label_is_in_every_language_but_english() {
    let found = problems("en", "values", "surprise = Surprise\n");
    for language in ["es", "fr"] {
        let expected = format!("texts/{language}/values.ftl: `surprise` is missing");
        assert!(found.contains(&expected), "{found:?}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../texts/es/values.ftl");
    let source = std::fs::read_to_string(path).unwrap();
    let hint = source
        .lines()
        .find(|line| line.starts_with("    .hint"))
        .unwrap();
    let changed = source.replacen(&format!("{hint}\n"), "", 1);
    assert_eq!(
        problems("es", "values", &changed),
        ["texts/es/values.ftl: `relative_date` has no hint"]
    );
    let changed = format!("{source}surprise = {{ $name }}\n");
    let found = problems("es", "values", &changed);
    for expected in [
        "texts/fr/values.ftl: `surprise` is missing",
        "texts/es/values.ftl: `surprise` has a placeholder",
    ] {
        assert!(found.iter().any(|found| found == expected), "{found:?}");
    }
}

#[test]
fn help_texts_of_fields_are_sentences() {
    for file in files().iter().filter(|file| file.name == "fields") {
        for (id, text) in &file.texts {
            let forms = text.attribute.iter().flat_map(|(_, hint)| hint.forms());
            for hint in forms {
                assert!(
                    hint.is_empty() || hint.ends_with('.'),
                    "{}: {id}",
                    file.path()
                );
            }
        }
    }
}

#[test]
fn a_form_is_of_the_plurals_of_its_language() {
    let singular = |form: &str| {
        let text = format!("[{form}] 1 Nacht");
        german(|source| source.replace("[one] 1 Nacht", &text))
    };
    assert_eq!(
        singular("few"),
        [
            "texts/de/page.ftl: `phase-nights` has a form [few], which the plurals of `de` do not \
             have"
        ]
    );
    assert_eq!(singular("1"), [""; 0]);
    let twice = |source: &str| source.replace("[one] 1 Nacht", "[1] 1 Nacht\n    [one] 1 Nacht");
    assert_eq!(
        german(twice),
        ["texts/de/page.ftl: `phase-nights` has another form for the numbers of [one]"]
    );
}

/// The French category `one` contains 0, so two forms match 0 in this text.
#[test]
fn an_exact_number_wins_over_a_category_above_it() {
    let source = "nights = { $n ->\n    [one] little\n    [0] none\n   *[other] some\n}\n";
    let file = catalog::parse("fr", "page", source).unwrap();
    let code = code::table("Words", &file, &[&file]);
    let expected = r#"match n { 0 => "none", 0 | 1 => "little", _ => "some", }"#;
    assert!(code.contains(expected), "{code}");
}

#[test]
fn a_text_of_another_type_is_refused() {
    let problems =
        german(|source| source.replace("common-yes = Ja", "common-yes = Ja\n    .b = c"));
    assert_eq!(
        problems,
        ["texts/de/page.ftl: `common-yes` is a text with `.b`, and in English a text"]
    );
    let problems = german(|source| source.replace("common-yes = Ja", "common-yes = { \" \" }"));
    assert_eq!(
        problems,
        ["texts/de/page.ftl: `common-yes` has an empty text"]
    );
}

/// A language has either all files with texts for members, or none of them.
#[test]
fn a_language_has_all_files_for_members_or_none() {
    let mut files = files();
    files.retain(|file| file.language != "es" || ["page", "ready"].contains(&file.name.as_str()));
    assert!(tables::compile(&files).is_ok());
}

#[test]
fn files_and_languages_belong_together() {
    let mut files = files();
    files.retain(|file| file.language != "de" || file.name != "page");
    files.push(catalog::parse("xx", "page", "").unwrap());
    files.push(catalog::parse("en", "pages", "").unwrap());
    let problems = tables::compile(&files).err().unwrap();
    assert_eq!(
        problems,
        [
            "texts/xx/page.ftl: the language `xx` is not in crates/texts/build/languages.rs",
            "texts/en/pages.ftl: no table is made of this file",
            "texts/de/page.ftl is missing",
        ]
    );
}

/// If a file is a copy of the file of another language by mistake, most texts of the two languages
/// are equal.
#[test]
fn no_two_languages_share_most_texts() {
    let files = files();
    for one in &files {
        let same_table = |file: &&TextFile| file.name == one.name && file.language != one.language;
        for other in files.iter().filter(same_table) {
            let (one_texts, other_texts) = (templates(one), templates(other));
            let common = one_texts
                .iter()
                .filter(|(id, texts)| other_texts.get(*id) == Some(texts))
                .count();
            assert!(
                common <= one_texts.len() / 8,
                "{} and {}: {common}",
                one.path(),
                other.path()
            );
        }
    }
}

#[test]
fn arabic_and_hebrew_texts_use_their_scripts() {
    /// The ids of texts that are names, such as `WhatsApp`. These texts are the same in every
    /// language.
    const NAMES: [&str; 3] = ["contact-whatsapp", "wifi-title", "deposit-waiver"];
    let scripts = [("ar", '\u{600}'..='\u{6ff}'), ("he", '\u{590}'..='\u{5ff}')];
    for file in files() {
        for (id, texts) in templates(&file) {
            for (language, letters) in &scripts {
                let is_in_script = |text: &&str| text.contains(|letter| letters.contains(&letter));
                let (path, is_own) = (file.path(), file.language == *language);
                if is_own && !NAMES.contains(&id) {
                    assert!(texts.iter().all(is_in_script), "{path}: {id}");
                } else if !is_own {
                    assert!(!texts.iter().any(is_in_script), "{path}: {id}");
                }
            }
        }
    }
}

/// A text of one word may be the same in English and another language. A text of several words must
/// differ.
#[test]
fn sentences_for_members_are_translated() {
    let files = files();
    let is_for_members = |file: &&TextFile| file.name == "console";
    for file in files
        .iter()
        .filter(is_for_members)
        .filter(|file| file.language != "en")
    {
        let english = files
            .iter()
            .find(|english| english.language == "en" && english.name == file.name)
            .unwrap();
        let originals = templates(english);
        for (id, texts) in templates(file) {
            let is_sentence = texts.iter().any(|text| text.contains(' '));
            assert!(
                !is_sentence || originals.get(id) != Some(&texts),
                "{}: {id} is not translated",
                file.path()
            );
        }
    }
}

#[test]
fn texts_neither_begin_nor_end_with_a_blank() {
    for file in files().iter().filter(|file| file.name != "console") {
        for (id, texts) in templates(file) {
            let is_trimmed = |text: &&str| text.trim() == *text;
            assert!(texts.iter().all(is_trimmed), "{}: {id}", file.path());
        }
    }
}

#[test]
fn english_is_the_first_language() {
    assert_eq!(LANGUAGES[0].0, "en");
    assert!(
        texts::page::LANGUAGES
            .iter()
            .eq(LANGUAGES.iter().map(|(language, _)| language))
    );
    let english = texts::page::table("");
    assert_eq!(english.common.yes, "Yes");
    for language in &texts::page::LANGUAGES[1..] {
        assert!(
            !std::ptr::eq(texts::page::table(language), english),
            "{language}"
        );
    }
}
