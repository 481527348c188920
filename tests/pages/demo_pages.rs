//! Records the HTML of the pages of the demo. A change of any byte shows as a change of the
//! snapshot, which has a line with a checksum for each page.
//!
//! The test also writes the HTML itself to `target/tmp/demo-pages`. The folder of a run before a
//! change of the code and the folder of a run after it show the difference that the change made.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use test_support::{App, Org, temporary_directory};
use vestibule::commands::demo;

use crate::people::{Browser, link};

/// Number of pages of the same kind that are recorded, such as the pages of single stays.
const OF_ONE_KIND: usize = 3;

/// A word with digits or capital letters counts as an id or a token if it has at least this number
/// of characters.
const ID_LENGTH: usize = 20;

/// Replaces each id and each token by a number, because they differ from run to run. The number
/// counts the different ids and tokens of the text, in the order of their first occurrence.
fn without_ids(html: &str) -> String {
    let is_part = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let mut numbers = BTreeMap::new();
    let mut text = String::with_capacity(html.len());
    for word in html.split_inclusive(|character| !is_part(character)) {
        let (name, end) = match word.char_indices().last() {
            Some((at, character)) if !is_part(character) => word.split_at(at),
            _ => (word, ""),
        };
        let is_id = name.len() >= ID_LENGTH
            && name
                .bytes()
                .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        if is_id {
            let number = numbers.len();
            let number = numbers.entry(name).or_insert(number);
            write!(text, "[id {number}]{end}").unwrap();
        } else {
            text.push_str(word);
        }
    }
    text
}

/// Returns the paths of the console pages and guest pages that the page links, without their
/// fragments.
fn linked(html: &str) -> impl Iterator<Item = String> {
    html.split("href=\"").skip(1).filter_map(|rest| {
        let path = rest.split('"').next()?.split('#').next()?;
        let is_page = path.starts_with("/console") || path.starts_with("/stay/");
        is_page.then(|| path.replace("&amp;", "&"))
    })
}

/// The pages do not depend on the database, so this test runs on only one database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn html_of_the_demo_is_recorded() {
    let app = App::on_sqlite(&[]).await;
    let data = demo::build(&app.server.service).await.unwrap();
    let org = Org {
        app: &app,
        id: data.organization,
        oauth_app: data.organization,
    };
    let browser = Browser::new(&app);
    browser.sign_in(&link(&org, data.member).await).await;

    let host = app.base.trim_start_matches("http://");
    let folder = temporary_directory().join("demo-pages");
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).unwrap();
    let mut open: VecDeque<String> =
        ["/console".to_owned(), format!("/stay/{}", data.stay_token)].into();
    let mut seen: BTreeSet<String> = open.iter().cloned().collect();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut lines = String::new();
    while let Some(path) = open.pop_front() {
        let kind = without_ids(&path);
        let count = kinds.entry(kind.clone()).or_default();
        *count += 1;
        if *count > OF_ONE_KIND {
            continue;
        }
        let name = format!("{kind} {count}");
        let response = browser.get(&path).await;
        let content_type = response.header("content-type").unwrap_or_default();
        if !content_type.starts_with("text/html") {
            continue;
        }
        let html = response.body.as_str().unwrap();
        for path in linked(html) {
            if seen.insert(path.clone()) {
                open.push_back(path);
            }
        }
        let html = without_ids(&html.replace(host, "[host]"));
        let digest = Sha256::digest(&html);
        let short: String = digest[..6]
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let (status, size) = (response.status, html.len());
        writeln!(lines, "{name}: {status}, {size} bytes, {short}").unwrap();
        std::fs::write(folder.join(name.replace('/', "_")), html).unwrap();
    }
    insta::assert_snapshot!("demo_pages", lines);
}
