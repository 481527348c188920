//! The floors of the house: what is lower knows nothing of what is higher.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The chapters, from below to above; those of one floor know nothing of each other.
const CHAPTERS: [&[&str]; 14] = [
    &["records"],
    &["events"],
    &["translations"],
    &["scopes"],
    &["portals"],
    &["precheck", "manuals"],
    &["words"],
    &["guest"],
    &["page"],
    &["search"],
    &["platform"],
    &["people"],
    &["oauth"],
    &["console"],
];

/// What puts the chapters together.
const ABOVE: [&str; 6] = ["app", "guides", "server", "config", "commands", "main"];

/// The modules of the engine, from below to above.
const ENGINE: [&[&str]; 17] = [
    &["error"],
    &["moment", "fold", "logging"],
    &["json", "clock", "ids", "processors", "erased", "background"],
    &["traces"],
    &["format"],
    &["field"],
    &["access"],
    &["kit", "uploads"],
    &["context"],
    &["sweeping"],
    &["audit"],
    &["operation"],
    &["app"],
    &["pipeline"],
    &["summaries", "surface"],
    &["server"],
    &["chapter"],
];

/// Words of what the chapters are about. The engine has three interfaces, one of them the guests', and credentials that reach
/// properties; of nothing else it has heard.
const WORDS: [&str; 10] =
    ["portal", "portals", "branding", "brandings", "reservation", "reservations", "precheck", "precheckin", "review", "reviews"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|kind| kind == "rs"))
        .collect()
}

/// A source without its tests and its comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("\n#[cfg(test)]\nmod tests").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The first module of each path that begins with `crate::`, also of those in braces.
fn named(code: &str) -> Vec<String> {
    let mut named = Vec::new();
    for (place, _) in code.match_indices("crate::") {
        // `$crate` is a macro's, and leads elsewhere.
        if code[..place].ends_with('$') {
            continue;
        }
        let rest = &code[place + "crate::".len()..];
        let name = |text: &str| {
            text.trim_start_matches([',', ' ', '\n'])
                .chars()
                .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                .collect::<String>()
        };
        match rest.strip_prefix('{') {
            None => named.push(name(rest)),
            Some(rest) => {
                let (mut depth, mut item) = (0, String::new());
                for letter in rest.chars() {
                    match letter {
                        '}' if depth == 0 => break,
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 0 => named.push(name(&std::mem::take(&mut item))),
                        _ => {}
                    }
                    item.push(letter);
                }
                named.push(name(&item));
            }
        }
    }
    named
}

/// Imports that run up, or that lead from a floor to another thing on it, among the files below a folder.
fn running_up(root: &Path, floors: &[&[&str]]) -> Vec<String> {
    let floor: BTreeMap<&str, usize> =
        floors.iter().enumerate().flat_map(|(floor, names)| names.iter().map(move |name| (*name, floor))).collect();
    let mut found = Vec::new();
    for path in sources(root) {
        let relative = path.strip_prefix(root).unwrap();
        let own = relative.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
        let Some(at) = floor.get(own.as_str()) else { continue };
        for name in named(&code(&path)) {
            if floor.get(name.as_str()).is_some_and(|other| other >= at && name != own) {
                found.push(format!("{} names {name}", relative.display()));
            }
        }
    }
    found
}

fn root() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}

#[test]
fn no_chapter_names_one_above_it() {
    let mut floors = CHAPTERS.to_vec();
    floors.push(&ABOVE[..1]);
    assert_eq!(running_up(&root().join("src"), &floors), [""; 0]);
    // Nothing is left out: what is no chapter is above them.
    let known: Vec<&str> = CHAPTERS.concat().into_iter().chain(ABOVE).chain(["lib"]).collect();
    for entry in std::fs::read_dir(root().join("src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name.trim_end_matches(".rs")), "{name} has no floor");
    }
}

#[test]
fn the_engine_has_an_order_too() {
    let folder = root().join("crates/engine/src");
    assert_eq!(running_up(&folder, &ENGINE), [""; 0]);
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "lib.rs" || ENGINE.concat().contains(&name.trim_end_matches(".rs")), "{name} has no floor");
    }
}

#[test]
fn neither_the_engine_nor_the_deliveries_know_what_they_serve() {
    let mut found = Vec::new();
    for path in ["crates/engine/src", "crates/delivery/src"].iter().flat_map(|folder| sources(&root().join(folder))) {
        // The names of permissions are the interface's.
        if path.ends_with("access/permission.rs") {
            continue;
        }
        for line in code(&path).lines() {
            let lower = line.to_lowercase();
            let words = lower.split(|letter: char| !letter.is_alphanumeric());
            found.extend(words.filter(|word| WORDS.contains(word)).map(|word| format!("{}: {word}", path.display())));
        }
    }
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_path_is_read_to_its_module() {
    let code = "use crate::{a::{b, c}, d, e::f};\nuse crate::g::h; crate::i::j(); $crate::k";
    assert_eq!(named(code), ["a", "d", "e", "g", "i"]);
}
