//! Tests of the house rules of the source: no module imports a higher one, the engine contains no
//! word of the domain, each setting is read by only one function, no line is too wide, and every
//! test that the documentation names exists.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The modules of `crates/features`, from the lowest layer to the highest. Modules of the same
/// layer may not import each other.
const FEATURES: [&[&str]; 12] = [
    &["records", "markdown"],
    &["events", "devices"],
    &["translations"],
    &["scopes"],
    &["portals"],
    &["precheck", "manuals"],
    &["words"],
    &["guest"],
    &["search"],
    &["platform"],
    &["calendars"],
    &["tables"],
];

/// The modules of `crates/access`, from the lowest layer to the highest.
const ACCESS: [&[&str]; 2] = [&["people"], &["oauth"]];

/// The modules of `crates/engine`, from the lowest layer to the highest.
const ENGINE: [&[&str]; 17] = [
    &["error"],
    &["moment", "fold", "logging", "nearest", "currency", "typed"],
    &["json", "clock", "ids", "processors", "erased", "background"],
    &["traces"],
    &["format"],
    &["language"],
    &["field"],
    &["access"],
    &["app_state", "uploads"],
    &["context"],
    &["sweeping"],
    &["audit"],
    &["operation"],
    &["app"],
    &["pipeline"],
    &["summaries", "due"],
    &["module"],
];

/// The modules of `crates/http`, from the lowest layer to the highest.
const HTTP: [&[&str]; 2] = [&["browser", "surface"], &["server"]];

/// Words of the domain that the engine may not contain. The engine does know the guest interface
/// and property scopes, so `guest` and `property` are not in the list.
const WORDS: [&str; 10] = [
    "portal",
    "portals",
    "branding",
    "brandings",
    "reservation",
    "reservations",
    "precheck",
    "precheckin",
    "review",
    "reviews",
];

/// Maximum number of characters of a line of Rust.
const MAX_WIDTH: usize = 100;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| path.extension().is_some_and(|kind| kind == "rs"))
        .collect()
}

/// Returns the code of a source file without its tests and comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("\n#[cfg(test)]\nmod tests").next().unwrap();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns, for each path in the code that begins with `crate::`, the first module after `crate::`.
/// In `crate::{a, b::c}` these are `a` and `b`.
fn named(code: &str) -> Vec<String> {
    let mut named = Vec::new();
    for (place, _) in code.match_indices("crate::") {
        // `$crate` in a macro is the crate that defines the macro, which may not be this crate.
        if code[..place].ends_with('$') {
            continue;
        }
        let rest = &code[place + "crate::".len()..];
        let name = |text: &str| {
            text.trim_start_matches([',', ' ', '\n'])
                .chars()
                .take_while(|character| character.is_alphanumeric() || *character == '_')
                .collect::<String>()
        };
        match rest.strip_prefix('{') {
            None => named.push(name(rest)),
            Some(rest) => {
                let (mut depth, mut item) = (0, String::new());
                for character in rest.chars() {
                    match character {
                        '}' if depth == 0 => break,
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 0 => named.push(name(&std::mem::take(&mut item))),
                        _ => {}
                    }
                    item.push(character);
                }
                named.push(name(&item));
            }
        }
    }
    named
}

/// Searches the files below a folder for imports. Returns the imports that lead to a higher layer
/// or to another module of the same layer.
fn upward_imports(root: &Path, layers: &[&[&str]]) -> Vec<String> {
    let layer: BTreeMap<&str, usize> = layers
        .iter()
        .enumerate()
        .flat_map(|(layer, names)| names.iter().map(move |name| (*name, layer)))
        .collect();
    let mut results = Vec::new();
    for path in sources(root) {
        let relative = path.strip_prefix(root).unwrap();
        let own = relative
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap()
            .trim_end_matches(".rs")
            .to_owned();
        let Some(at) = layer.get(own.as_str()) else {
            continue;
        };
        for name in named(&code(&path)) {
            if layer
                .get(name.as_str())
                .is_some_and(|other| other >= at && name != own)
            {
                results.push(format!("{} names {name}", relative.display()));
            }
        }
    }
    results
}

fn root() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}

#[test]
fn no_module_imports_a_higher_module() {
    for (path, layers) in [
        ("crates/features/src", FEATURES.as_slice()),
        ("crates/access/src", ACCESS.as_slice()),
        ("crates/engine/src", ENGINE.as_slice()),
        ("crates/http/src", HTTP.as_slice()),
    ] {
        let folder = root().join(path);
        assert_eq!(upward_imports(&folder, layers), [""; 0]);
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(
                name == "lib.rs" || layers.concat().contains(&name.trim_end_matches(".rs")),
                "{name} has no place in the order"
            );
        }
    }
}

#[test]
fn engine_http_tools_and_delivery_name_no_concept_of_the_service() {
    let mut results = Vec::new();
    for path in [
        "crates/engine/src",
        "crates/http/src",
        "crates/tools/src",
        "crates/delivery/src",
    ]
    .iter()
    .flat_map(|folder| sources(&root().join(folder)))
    {
        // This file has the names of permissions. They are part of the public interface, so they
        // contain words of the domain, which this test forbids in all other files.
        if path.ends_with("access/permission.rs") {
            continue;
        }
        for line in code(&path).lines() {
            let lower = line.to_lowercase();
            let words = lower.split(|character: char| !character.is_alphanumeric());
            results.extend(
                words
                    .filter(|word| WORDS.contains(word))
                    .map(|word| format!("{}: {word}", path.display())),
            );
        }
    }
    assert_eq!(results, [""; 0]);
}

/// A change of a text compiles the crate `texts` and the crates that depend on it. `texts` depends
/// on no crate, so a change of other code never compiles it.
#[test]
fn texts_depends_on_no_crate() {
    let manifest = std::fs::read_to_string(root().join("crates/texts/Cargo.toml")).unwrap();
    assert!(manifest.contains("\n[build-dependencies]"));
    assert!(!manifest.contains("\n[dependencies"));
}

#[test]
fn imported_modules_are_found_in_code() {
    let code = "use crate::{a::{b, c}, d, e::f};\nuse crate::g::h; crate::i::j(); $crate::k";
    assert_eq!(named(code), ["a", "d", "e", "g", "i"]);
}

/// Expressions that read a setting, a database URL or a forwarding header, each with the files that
/// may contain it. Other code that read the same value could interpret it differently.
const READERS: [(&[&str], &[&str]); 3] = [
    (
        &[
            "strip_prefix(\"sqlite",
            "starts_with(\"sqlite",
            "starts_with(\"postgres",
            "\"sqlite\" =>",
        ],
        &["crates/store/src/location.rs"],
    ),
    (
        &["x-forwarded-for", "header::FORWARDED", "\"forwarded\""],
        &["crates/http/src/server/client_address.rs"],
    ),
    (
        &["env::var_os(", "env::var("],
        &[
            "src/config.rs",
            "src/config/secrets.rs",
            "src/config/text.rs",
            // `logging.rs` reads an environment variable before the settings are read. `export.rs`
            // reads the name of the machine (`HOSTNAME`) for the traces.
            "crates/engine/src/logging.rs",
            "crates/engine/src/traces/export.rs",
        ],
    ),
];

#[test]
fn one_function_reads_each_setting_url_and_address() {
    let folders = [
        "src",
        "crates/access/src",
        "crates/console/src",
        "crates/delivery/src",
        "crates/engine/src",
        "crates/features/src",
        "crates/files/src",
        "crates/http/src",
        "crates/page/src",
        "crates/schema/src",
        "crates/store/src",
        "crates/texts/src",
        "crates/tools/src",
    ];
    let files = folders
        .iter()
        .flat_map(|folder| sources(&root().join(folder)));
    for path in files {
        let relative = path.strip_prefix(root()).unwrap().to_str().unwrap();
        let code = code(&path);
        for (needles, allowed) in READERS {
            let found = needles.iter().find(|needle| code.contains(**needle));
            assert!(
                found.is_none() || allowed.contains(&relative),
                "{relative} has {found:?}, which only {allowed:?} may have"
            );
        }
    }
}

/// rustfmt leaves macros, attributes and statements that contain a wide string unchanged and
/// reports no error.
#[test]
fn no_line_of_rust_is_wider_than_100_characters() {
    let mut results = Vec::new();
    for path in ["src", "crates", "bench", "tests"]
        .iter()
        .flat_map(|folder| sources(&root().join(folder)))
        .chain([root().join("build.rs")])
    {
        let text = std::fs::read_to_string(&path).unwrap();
        for (index, line) in text.lines().enumerate() {
            let width = line.chars().count();
            if width > MAX_WIDTH {
                let (path, number) = (path.display(), index + 1);
                results.push(format!("{path}:{number} has {width} characters"));
            }
        }
    }
    assert_eq!(results, [""; 0]);
}

/// docs/explanation/reliability.md names a test for each guarantee. This test fails if such a test
/// is renamed.
#[test]
fn every_test_that_the_page_on_reliability_names_exists() {
    let page = std::fs::read_to_string(root().join("docs/explanation/reliability.md")).unwrap();
    let tests = [
        "tests/api",
        "tests/pages",
        "tests/running",
        "crates/store/tests",
    ]
    .map(|folder| sources(&root().join(folder)));
    let tests: Vec<(String, String)> = tests
        .concat()
        .iter()
        .map(|path| {
            (
                path.to_string_lossy().into_owned(),
                std::fs::read_to_string(path).unwrap(),
            )
        })
        .collect();
    let mut checked = 0;
    for name in page.split('`').skip(1).step_by(2) {
        let exists = if Path::new(name).extension().is_some_and(|kind| kind == "rs") {
            tests
                .iter()
                .any(|(path, _)| path.ends_with(&format!("/{name}")))
        } else if name.matches('_').count() >= 3 && !name.contains(' ') {
            tests
                .iter()
                .any(|(_, text)| text.contains(&format!("fn {name}(")))
        } else {
            continue;
        };
        assert!(exists, "the page names {name}, which is not there");
        checked += 1;
    }
    assert!(checked >= 50, "{checked}");
}
