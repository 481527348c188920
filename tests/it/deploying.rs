//! What `deploy/` names is there: metrics, variables, paths; its rules are good; and a version is replaced by the next without a
//! gap.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::CommandFactory as _;
use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;
use vestibule::config::Cli;

use crate::opening::migrate_beyond;
use crate::support::left_out::leave_out;
use crate::support::node::Node;
use crate::support::postgres;

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}

/// The files below `deploy/`, with what is in them.
fn files() -> Vec<(PathBuf, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![deploy()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

/// The words of a text that begin like this.
fn words<'t>(text: &'t str, beginning: &str) -> BTreeSet<&'t str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with(beginning) && word.len() > beginning.len()).collect()
}

/// The metrics that a server tells of which has all there is to tell of.
async fn metrics() -> BTreeSet<String> {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = (directory.path().join("certificate.pem"), directory.path().join("key.pem"));
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let flags =
        ["--translator-url=http://127.0.0.1:9", "--redis-url=redis://127.0.0.1:9", "--rate-limit-per-minute", "1000"].map(str::to_owned);
    let tls = [("--tls-certificate", certificate), ("--tls-key", key)].map(|(flag, path)| format!("{flag}={}", path.display()));
    let flags: Vec<&str> = flags.iter().chain(&tls).map(String::as_str).collect();
    let node = Node::start(&format!("sqlite:{}", directory.path().join("t.db").display()), &flags);
    let trusting = reqwest::Client::builder().tls_certs_only([reqwest::Certificate::from_der(made.cert.der()).unwrap()]).build().unwrap();
    let base = node.base.replace("127.0.0.1", "localhost");
    let read = async |path: &str| trusting.get(format!("{base}{path}")).send().await.unwrap().text().await.unwrap();
    // What requests are counted by is there once there was one.
    read("/api/v1/portals").await;
    let text = read("/metrics").await;
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    names.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_watched_exists() {
    crate::support::choose_tls_provider();
    let metrics = metrics().await;
    let parts = ["_bucket", "_sum", "_count"];
    let told =
        |name: &str| metrics.contains(name) || parts.iter().any(|part| name.strip_suffix(part).is_some_and(|name| metrics.contains(name)));
    for (path, text) in files() {
        let is_watching = ["prometheus", "grafana"].iter().any(|folder| path.starts_with(deploy().join(folder)));
        if is_watching {
            let named = words(&text, "vestibule_");
            assert!(!named.is_empty(), "{}", path.display());
            let unknown: Vec<_> = named.into_iter().filter(|name| !told(name)).collect();
            assert_eq!(unknown, [""; 0], "{}: /metrics has {metrics:?}", path.display());
        }
    }
    // And each that there is has its line in the documentation, and is looked at by the dashboard.
    let documented = std::fs::read_to_string(deploy().join("../docs/operating.md")).unwrap();
    let board = std::fs::read_to_string(deploy().join("grafana/vestibule.json")).unwrap();
    for name in metrics {
        assert!(documented.contains(&format!("| `{name}` |")), "docs/operating.md has no line for {name}");
        assert!(board.contains(&name), "the dashboard leaves out {name}");
    }
}

/// A variable that is misspelt would be passed over without a word.
#[test]
fn what_is_set_is_read() {
    let command = Cli::command();
    let arguments = command.get_subcommands().flat_map(clap::Command::get_arguments);
    let mut known: BTreeSet<String> = arguments.filter_map(|argument| Some(argument.get_env()?.to_str()?.to_owned())).collect();
    known.insert("VESTIBULE_LOG".to_owned());
    for (path, text) in files() {
        for name in words(&text, "VESTIBULE_") {
            assert!(
                known.contains(name) || name.strip_suffix("_FILE").is_some_and(|name| known.contains(name)),
                "{}: {name}",
                path.display()
            );
        }
    }
}

#[test]
fn the_dashboard_is_read() {
    let board: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(deploy().join("grafana/vestibule.json")).unwrap()).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert!(!panel["targets"].as_array().unwrap().is_empty(), "{panel}");
    }
}

#[test]
fn the_rules_say_what_they_are_to() {
    let run = |arguments: [&str; 3]| {
        let output = Command::new("promtool").args(arguments).current_dir(deploy().join("prometheus")).output().ok()?;
        assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Some(())
    };
    if run(["check", "rules", "vestibule.rules.yml"]).is_none() {
        leave_out("promtool", "it was not found", "VESTIBULE_REQUIRE_PROMTOOL");
        return;
    }
    run(["test", "rules", "vestibule.test.yml"]);
    // An alert without a test is one that nobody has seen.
    let read = |name: &str| std::fs::read_to_string(deploy().join("prometheus").join(name)).unwrap();
    let (rules, tests) = (read("vestibule.rules.yml"), read("vestibule.test.yml"));
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        let fires = tests.split("\n      - ").any(|test| test.contains(&format!("alertname: {alert}\n")) && test.contains("exp_alerts"));
        assert!(fires, "{alert} is tested for silence alone, or not at all");
    }
}

/// While a newer version brings the schema to its own, and from then on, a node of this one goes on, though the migration wants
/// tables for itself that the node is at; a node that begins is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_goes_on_beside_a_newer_one() {
    let Some(url) = tokio::task::spawn_blocking(postgres::fresh_database).await.unwrap() else { return };
    let node = Node::start(&url, &[]);
    let api = node.api(&node.key().await);
    let (is_over, mut clients) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for client in 0..8 {
        let (api, is_over) = (api.clone(), is_over.clone());
        clients.spawn(async move {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                let name = format!("{client} {count}");
                let made = api.post_with_key("/portal-manuals", &name, json!({ "nickname": name, "title": "Wi-Fi" })).await;
                assert_eq!(made.status, 201, "{}", made.body);
                let path = format!("/portal-manuals/{}", made.data()["id"].as_str().unwrap());
                assert_eq!(api.get(&path).await.data()["nickname"], name.as_str());
                api.ok(Method::PATCH, &path, Some(json!({ "data": { "iconName": "wifi" } }))).await;
                count += 1;
            }
            count
        });
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    // As CONTRIBUTING.md says: every write begins with its organization, and so does what is to pass between them.
    let later = "lock table organization in access exclusive mode; create table later (id uuid primary key); alter table manual add column later text not null default ''; \
                 alter table organization add column later bigint not null default 0";
    migrate_beyond(&url, later).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    is_over.store(true, Ordering::Relaxed);
    let made: usize = clients.join_all().await.into_iter().sum();
    assert_eq!(api.get("/portal-manuals").await.data().as_array().unwrap().len(), made);
    assert_eq!(node.logged("\"message\":\"failed\""), 0);
    let started = move || Command::new(env!("CARGO_BIN_EXE_vestibule")).args(["serve", "--database-url", &url]).output();
    let output = tokio::task::spawn_blocking(started).await.unwrap().unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("of a newer version of this program"));
}
