//! Tests of references in documents and comments. Every file, document and rule that they name must
//! exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders of the repository. The test treats a word in backticks as a path if it begins with one
/// of them.
const FOLDERS: [&str; 11] = [
    ".ci/",
    "bench/",
    "crates/",
    "data/",
    "deploy/",
    "docs/",
    "migrations/",
    "src/",
    "tests/",
    "texts/",
    "examples/",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Adds to `files` all files below `folder` whose names end with `ending`. Skips build folders.
fn files_of(folder: &Path, ending: &str, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && name != ".git" && name != "node_modules" {
                files_of(&path, ending, files);
            }
        } else if name.ends_with(ending) {
            files.push(path);
        }
    }
}

/// Returns a text without its code blocks. Code blocks show commands and output.
fn prose(text: &str) -> String {
    text.split("\n```")
        .enumerate()
        .filter(|(number, _)| number % 2 == 0)
        .map(|(_, part)| part)
        .collect()
}

fn quoted(prose: &str) -> impl Iterator<Item = &str> {
    prose.split('`').skip(1).step_by(2)
}

/// Returns the targets of a text's links, except links to other sites.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

/// Returns whether a path exists. For a path with `*`, returns whether the folder that contains the
/// first name with `*` exists.
fn exists(path: &Path) -> bool {
    let text = path.to_string_lossy();
    match text.split_once('*') {
        None => path.exists(),
        Some((before, _)) => Path::new(before).parent().is_some_and(Path::exists),
    }
}

#[test]
fn every_path_named_in_a_document_exists() {
    let mut files = Vec::new();
    files_of(&root(), ".md", &mut files);
    assert!(files.len() > 20, "{files:?}");
    let mut missing = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let prose = prose(&text);
        for name in quoted(&prose) {
            let is_path = FOLDERS.iter().any(|folder| name.starts_with(folder))
                && !name.contains([' ', '{', '<', '…', '(']);
            if is_path && !exists(&root().join(name)) {
                missing.push(format!("{}: {name}", file.display()));
            }
        }
        for target in links(&prose) {
            let (target, _) = target.split_once('#').unwrap_or((target, ""));
            if !target.is_empty() && !exists(&file.parent().unwrap().join(target)) {
                missing.push(format!("{}: link to {target}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Returns the anchors of a document's headings, in the form in which links contain them.
fn anchors(text: &str) -> BTreeSet<String> {
    let prose = prose(text);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter })
            .collect()
    };
    headings.map(anchor).collect()
}

/// Returns the text of all comments of a Rust file in one line.
fn comments(code: &str) -> String {
    let lines = code.lines().map(str::trim_start);
    let comments = lines.filter_map(|line| line.strip_prefix("//"));
    comments
        .map(|line| line.trim_start_matches(['/', '!']).trim())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn every_heading_that_a_link_names_exists() {
    let mut files = Vec::new();
    files_of(&root().join("docs"), ".md", &mut files);
    let mut missing = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let prose = prose(&text);
        for (target, anchor) in links(&prose).filter_map(|target| target.split_once('#')) {
            let there = match target {
                "" => file.clone(),
                target => file.parent().unwrap().join(target),
            };
            let is_there = std::fs::read_to_string(there).is_ok_and(|text| {
                let numbered = anchor.rsplit_once('-').map(|(before, _)| before.to_owned());
                let anchors = anchors(&text);
                anchors.contains(anchor) || numbered.is_some_and(|anchor| anchors.contains(&anchor))
            });
            if !is_there {
                missing.push(format!("{}: {target}#{anchor}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_rule_and_document_that_a_comment_names_exists() {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "bench"] {
        files_of(&root().join(folder), ".rs", &mut files);
    }
    let (mut missing, mut count) = (Vec::new(), 0);
    for file in files {
        let comments = comments(&std::fs::read_to_string(&file).unwrap());
        let references = comments.split("rules: ").skip(1);
        let references = references.filter_map(|rest| rest.split_once(')'));
        for reference in references.flat_map(|(rules, _)| rules.split("; ")) {
            let rule = reference.split(',').next().unwrap_or_default();
            let (page, anchor) = rule.split_once('#').unwrap_or((rule, ""));
            let is_name = |character: char| character.is_ascii_lowercase() || character == '-';
            if page.is_empty() || !page.chars().all(is_name) {
                continue;
            }
            count += 1;
            let path = root().join(format!("docs/reference/rules/{page}.md"));
            let is_there = std::fs::read_to_string(path)
                .is_ok_and(|text| anchor.is_empty() || anchors(&text).contains(anchor));
            if !is_there {
                missing.push(format!("{}: {rule}", file.display()));
            }
        }
        let words = comments.split([' ', '(', ')', ';', ',']);
        for word in words.filter(|word| word.starts_with("docs/") && word.contains(".md")) {
            let path = word.split(".md").next().unwrap_or_default();
            if !exists(&root().join(format!("{path}.md"))) {
                missing.push(format!("{}: {word}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(count > 100, "{count}");
}
