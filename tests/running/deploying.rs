//! Tests of the files in `deploy/`: metrics, variables and paths that they name exist, the alert
//! rules are valid, the proxies work, and a new version replaces a running one without an
//! interruption.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::CommandFactory as _;
use reqwest::{Method, Version};
use serde_json::json;
use test_support::files::{form, uploads};
use test_support::house::House;
use test_support::left_out::leave_out;
use test_support::node::Node;
use test_support::postgres;
use test_support::proxy::{PROXIES, PublicSide, ShippedProxy, deploy};
use test_support::{Api, ApiResponse, App, PLATFORM_KEY, new_id};
use tokio::task::JoinSet;
use vestibule::app::{INTERNAL_PATHS, PUBLIC_PATHS};
use vestibule::config::Cli;

use crate::opening::migrate_beyond;

/// Returns the paths of the files below a folder.
fn paths_below(folder: PathBuf) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the files below `deploy/` with their content.
fn files() -> Vec<(PathBuf, String)> {
    paths_below(deploy())
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

/// Returns the words of a text that begin with `prefix`.
fn words<'t>(text: &'t str, prefix: &str) -> BTreeSet<&'t str> {
    let words =
        text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    words
        .filter(|word| word.starts_with(prefix) && word.len() > prefix.len())
        .collect()
}

/// Starts a server with every optional feature and returns the names of its metrics.
async fn metrics() -> BTreeSet<String> {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = (
        directory.path().join("certificate.pem"),
        directory.path().join("key.pem"),
    );
    let created = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&certificate, created.cert.pem()).unwrap();
    std::fs::write(&key, created.signing_key.serialize_pem()).unwrap();
    let flags = [
        "--translator-url=http://127.0.0.1:9",
        "--redis-url=redis://127.0.0.1:9",
        "--rate-limit-per-minute",
        "1000",
    ]
    .map(str::to_owned);
    let tls = [("--tls-certificate", certificate), ("--tls-key", key)]
        .map(|(flag, path)| format!("{flag}={}", path.display()));
    let flags: Vec<&str> = flags.iter().chain(&tls).map(String::as_str).collect();
    let node = Node::start(
        &format!("sqlite:{}", directory.path().join("t.db").display()),
        &flags,
    );
    let trusting = reqwest::Client::builder()
        .tls_certs_only([reqwest::Certificate::from_der(created.cert.der()).unwrap()])
        .build()
        .unwrap();
    let base = node.base.replace("127.0.0.1", "localhost");
    let read = async |path: &str| {
        trusting
            .get(format!("{base}{path}"))
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    };
    // The metrics of requests exist only after the first request.
    read("/api/v1/portals").await;
    let text = read("/metrics").await;
    let named = |prefix: &str| -> BTreeSet<String> {
        let names = text
            .lines()
            .filter_map(|line| line.strip_prefix(prefix)?.split(' ').next());
        names.map(str::to_owned).collect()
    };
    // `promtool check metrics` requires a help text for every metric.
    assert_eq!(named("# TYPE "), named("# HELP "));
    named("# TYPE ")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_monitored_metric_exists_and_is_documented() {
    test_support::choose_tls_provider();
    let metrics = metrics().await;
    let parts = ["_bucket", "_sum", "_count"];
    let reported = |name: &str| {
        metrics.contains(name)
            || parts.iter().any(|part| {
                name.strip_suffix(part)
                    .is_some_and(|name| metrics.contains(name))
            })
    };
    for (path, text) in files() {
        let is_watching = ["prometheus", "grafana"]
            .iter()
            .any(|folder| path.starts_with(deploy().join(folder)));
        if is_watching {
            let named = words(&text, "vestibule_");
            assert!(!named.is_empty(), "{}", path.display());
            let unknown: Vec<_> = named.into_iter().filter(|name| !reported(name)).collect();
            assert_eq!(
                unknown,
                [""; 0],
                "{}: /metrics has {metrics:?}",
                path.display()
            );
        }
    }
    // The documentation and the dashboard contain every metric.
    let documented =
        std::fs::read_to_string(deploy().join("../docs/reference/monitoring.md")).unwrap();
    let board = std::fs::read_to_string(deploy().join("grafana/vestibule.json")).unwrap();
    for name in metrics {
        assert!(
            documented.contains(&format!("| `{name}` |")),
            "docs/reference/monitoring.md has no line for {name}"
        );
        assert!(board.contains(&name), "the dashboard leaves out {name}");
    }
}

/// The code reads files of other folders by a relative path, such as `"../../data/icons.json"` in
/// `include_str!`. The image cannot be built if its build context lacks one of these folders.
#[test]
fn build_context_of_the_image_has_every_folder_that_the_code_names() {
    let root = deploy().join("..");
    let ignored = std::fs::read_to_string(deploy().join("Dockerfile.dockerignore")).unwrap();
    let sent: BTreeSet<&str> = ignored
        .lines()
        .filter_map(|line| line.strip_prefix('!'))
        .collect();
    let code = ["src", "crates", "bench"].map(|folder| paths_below(root.join(folder)));
    let mut named = BTreeSet::new();
    for path in code.iter().flatten() {
        if path.extension().is_none_or(|kind| kind != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        for literal in text.split("\"../").skip(1) {
            let target = literal.split('"').next().unwrap().trim_start_matches("../");
            let folder = target.split('/').next().unwrap();
            if !folder.is_empty() && root.join(folder).is_dir() {
                named.insert(folder.to_owned());
            }
        }
    }
    assert!(
        named.contains("texts") && named.contains("docs"),
        "{named:?}"
    );
    // Cargo, `build.rs` and askama read these files and folders, so no path in the code names them.
    let others = ".cargo Cargo.lock Cargo.toml LICENSE askama.toml build.rs migrations src";
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("\nmembers = [").unwrap();
    let members = members.split(']').next().unwrap().split(", ");
    let members = members.map(|member| member.trim_matches('"').trim_end_matches("/*"));
    let named = named.iter().map(String::as_str);
    for name in named.chain(others.split(' ')).chain(members) {
        assert!(sent.contains(name), "Dockerfile.dockerignore lacks !{name}");
    }
}

/// The service only logs a warning about an unknown variable, so no other test would fail for a
/// misspelt one.
#[test]
fn every_variable_in_deploy_is_a_setting() {
    let command = Cli::command();
    let arguments = command
        .get_subcommands()
        .flat_map(clap::Command::get_arguments);
    let mut known: BTreeSet<String> = arguments
        .filter_map(|argument| Some(argument.get_env()?.to_str()?.to_owned()))
        .collect();
    known.insert("VESTIBULE_LOG".to_owned());
    for (path, text) in files() {
        for name in words(&text, "VESTIBULE_") {
            assert!(
                known.contains(name)
                    || name
                        .strip_suffix("_FILE")
                        .is_some_and(|name| known.contains(name)),
                "{}: {name}",
                path.display()
            );
        }
    }
}

/// Returns the regular expression with which the proxies' configurations match public paths.
fn public_expression() -> String {
    let names = PUBLIC_PATHS.map(|path| path[1..].replace('.', "[.]"));
    format!("^/($|({})(/|$))", names.join("|"))
}

/// Returns whether a path is one of `prefixes` or below one of them.
fn is_below(path: &str, prefixes: &[&str]) -> bool {
    let below = |prefix: &&str| {
        let rest = path.strip_prefix(*prefix);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    prefixes.iter().any(below)
}

/// Each route is either public or internal. If a new route were in neither list, the proxies
/// would answer 404 for it, and no test would fail.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_public_or_inside() {
    let app = App::on_sqlite(&[]).await;
    let paths = vestibule::app::paths(&app.server.service).unwrap();
    assert!(paths.len() > 200, "{paths:?}");
    for path in &paths {
        assert!(
            is_below(path, &PUBLIC_PATHS) != is_below(path, &INTERNAL_PATHS),
            "{path}: add it to PUBLIC_PATHS or INSIDE_PATHS in src/app.rs"
        );
    }
    for prefix in PUBLIC_PATHS.iter().chain(&INTERNAL_PATHS) {
        assert!(
            paths.iter().any(|path| is_below(path, &[prefix])),
            "{prefix}"
        );
    }
}

/// The configurations in `deploy/` contain the same public paths as `src/app.rs`.
#[test]
fn every_shipped_proxy_lets_the_public_paths_through() {
    let read = |name: &str| std::fs::read_to_string(deploy().join(name)).unwrap();
    let expression = public_expression();
    for name in ["Caddyfile", "nginx.conf", "haproxy.cfg", "traefik.yaml"] {
        assert!(
            read(name).contains(&expression),
            "{name} needs {expression}"
        );
    }
    // The how-to page about each proxy contains the regular expression of the public paths with the
    // prefix `/portal`.
    let below = expression.replacen('/', "/portal/", 1);
    for name in ["caddy", "nginx", "haproxy", "traefik"] {
        let page = read(&format!("../docs/how-to/{name}.md"));
        assert!(page.contains(&below), "{name}.md needs {below}");
    }
    let manifest = read("kubernetes/vestibule.yaml");
    let listed = manifest.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("- {path: ")?;
        line.split_once(", pathType: Prefix").map(|(path, _)| path)
    });
    assert_eq!(listed.collect::<Vec<_>>(), PUBLIC_PATHS.to_vec());
    assert!(manifest.contains("- {path: /, pathType: Exact, "));
    let exposed = read("../docs/how-to/run-behind-a-proxy.md");
    let exposed = exposed.split("**Exposed paths**").nth(1).unwrap();
    let exposed = exposed.split(". ").next().unwrap();
    let named: Vec<&str> = exposed.split('`').skip(1).step_by(2).collect();
    assert_eq!(named, PUBLIC_PATHS.to_vec());
}

/// Requests each public route through each installed proxy that `deploy/` has a configuration for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_public_route_is_reached_through_each_shipped_proxy() {
    test_support::choose_tls_provider();
    let app = App::on_sqlite(&["--trusted-proxy=127.0.0.1", "--connections-per-address=64"]).await;
    let paths = vestibule::app::paths(&app.server.service).unwrap();
    for program in PROXIES {
        let side = PublicSide::plain();
        let Some(proxy) = ShippedProxy::in_front_of(&app.base, program, &side).await else {
            continue;
        };
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        // `/` redirects a browser to the console.
        for path in paths.iter().map(String::as_str).chain(["/"]) {
            let path = path.replace("{*rest}", "x").replace(['{', '}'], "");
            for base in [&proxy.public, &proxy.inside] {
                let response = http.get(format!("{base}{path}")).send().await.unwrap();
                let is_ours = response.headers().contains_key("x-request-id");
                let is_public = path == "/" || is_below(&path, &PUBLIC_PATHS);
                let is_wanted = base == &proxy.inside || is_public;
                assert_eq!(
                    is_ours,
                    is_wanted,
                    "{program} {base}{path}: {}",
                    response.status()
                );
                assert!(is_wanted || response.status() == 404, "{program} {path}");
            }
        }
        // The service sees the real address of the client, even if the client sends a forged
        // `X-Forwarded-For`.
        let metadata = json!({
            "redirect_uris": ["https://a.example/cb"],
            "token_endpoint_auth_method": "none",
        });
        let mut refused = 0;
        for host in [7, 8] {
            let local = std::net::IpAddr::from([127, 0, 1, host]);
            let http = reqwest::Client::builder()
                .local_address(local)
                .build()
                .unwrap();
            for forged in 0..21 {
                let request = http.post(format!("{}/oauth/register", proxy.public));
                let request = request.header("x-forwarded-for", format!("203.0.{forged}.9"));
                let request = request.header("forwarded", format!("for=203.1.{forged}.9"));
                refused +=
                    usize::from(request.json(&metadata).send().await.unwrap().status() == 429);
            }
        }
        assert_eq!(refused, 2, "{program}: 20 of each address are registered");
        app.clock.advance(Duration::from_secs(3_600));
    }
}

/// Each shipped proxy passes syncs of the maximum size, and files of guests, over HTTP/2 and with
/// compressed responses.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_pass_each_shipped_proxy_over_http_2() {
    const FILE: usize = 10 << 20;
    for program in PROXIES {
        let side = PublicSide::with_tls();
        let public_url = format!("--public-url={}", side.url());
        let app = App::on_sqlite(&[&public_url, "--trusted-proxy=127.0.0.1", uploads()]).await;
        let Some(proxy) = ShippedProxy::in_front_of(&app.base, program, &side).await else {
            continue;
        };
        let house = House::build(&app).await;
        let step = house.step("document_upload", json!({})).await;
        let http = side.client().build().unwrap();
        let stay = format!("{}/guest/v1/stays/{}", proxy.public, house.token);
        let document = http.get(format!("{}/api/v1/openapi.json", proxy.public));
        let document = document.header("accept-encoding", "gzip").send();
        let document = document.await.unwrap();
        assert_eq!(document.version(), Version::HTTP_2, "{program}");
        assert_eq!(document.headers()["content-encoding"], "gzip", "{program}");
        let mut photo = b"\xFF\xD8\xFF\xE0\0\x10JFIF\0".to_vec();
        photo.resize(FILE, 0);
        let sent = http.post(format!("{stay}/steps/{step}/files"));
        let sent = sent.header("content-type", "multipart/form-data; boundary=XX");
        let sent = sent.body(form(&[("file", Some("passport.jpg"), photo.as_slice())]));
        assert_eq!(
            ApiResponse::of(sent).await.data()["size"],
            FILE,
            "{program}"
        );
        let filled = json!({
            "name": "Flat",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "plan": "x".repeat(60_000),
        });
        let records: Vec<_> = (0..270)
            .map(|_| json!({ "kind": "property", "id": new_id(), "data": filled }))
            .collect();
        let platform = Api::at(&format!("{}/platform/v1", proxy.inside), PLATFORM_KEY);
        let path = house.org.path("/sync");
        let synced = platform.post(&path, json!({ "records": records })).await;
        assert_eq!(synced.data()["applied"], 270, "{program}");
    }
}

/// The service may respond before it has read the whole body. The response reaches the client
/// through each proxy. If the service closed the connection at once, a proxy would answer 502
/// instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_answers_pass_each_shipped_proxy() {
    const SIZE: usize = 5 << 20;
    test_support::choose_tls_provider();
    let app = App::on_sqlite(&["--trusted-proxy=127.0.0.1"]).await;
    let unknown = new_id();
    for program in PROXIES {
        let side = PublicSide::plain();
        let Some(proxy) = ShippedProxy::in_front_of(&app.base, program, &side).await else {
            continue;
        };
        let upload = format!("/guest/v1/stays/gt_unknown/steps/{unknown}/files");
        let sync = format!("/platform/v1/organizations/{unknown}/sync");
        for (base, path, status) in [
            (&proxy.public, upload.as_str(), 404),
            (&proxy.public, "/api/v1/portals", 401),
            (&proxy.inside, sync.as_str(), 401),
        ] {
            for _ in 0..5 {
                // A new client opens a new connection, like a new guest.
                let http = reqwest::Client::new();
                let request = http.post(format!("{base}{path}")).bearer_auth("sk_unknown");
                let request = request.header("content-type", "multipart/form-data; boundary=XX");
                let response = request.body(vec![b'x'; SIZE]).send().await;
                let answered = response.map(|response| response.status().as_u16());
                assert!(
                    answered.as_ref().is_ok_and(|answered| *answered == status),
                    "{program} {base}{path}: {answered:?}"
                );
            }
        }
    }
}

#[test]
fn the_dashboard_is_valid() {
    let board: serde_json::Value = serde_json::from_str(
        &std::fs::read_to_string(deploy().join("grafana/vestibule.json")).unwrap(),
    )
    .unwrap();
    let panels = board["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert!(!panel["targets"].as_array().unwrap().is_empty(), "{panel}");
    }
}

#[test]
fn every_alert_rule_is_valid_and_tested() {
    let run = |arguments: [&str; 3]| {
        let output = Command::new("promtool")
            .args(arguments)
            .current_dir(deploy().join("prometheus"))
            .output()
            .ok()?;
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Some(())
    };
    if run(["check", "rules", "vestibule.rules.yml"]).is_none() {
        leave_out("promtool", "it was not found", "VESTIBULE_REQUIRE_PROMTOOL");
        return;
    }
    run(["test", "rules", "vestibule.test.yml"]);
    // Each alert has a test in which it fires.
    let read =
        |name: &str| std::fs::read_to_string(deploy().join("prometheus").join(name)).unwrap();
    let (rules, tests) = (read("vestibule.rules.yml"), read("vestibule.test.yml"));
    for alert in rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
    {
        let fires = tests.split("\n      - ").any(|test| {
            test.contains(&format!("alertname: {alert}\n")) && test.contains("exp_alerts")
        });
        assert!(fires, "{alert} is tested for silence alone, or not at all");
    }
}

/// A node of the old version continues to serve requests during and after a migration by a newer
/// version. The migration locks tables that the node uses. A node of the old version does not start
/// after the migration, because the schema is newer.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_older_node_keeps_serving_during_a_migration() {
    let Some(url) = tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()
    else {
        return;
    };
    let node = Node::start(&url, &[]);
    let api = node.api(&node.key().await);
    let (is_over, mut clients) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for client in 0..8 {
        let (api, is_over) = (api.clone(), is_over.clone());
        clients.spawn(async move {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                let name = format!("{client} {count}");
                let created = api
                    .post_with_key(
                        "/portal-manuals",
                        &name,
                        json!({ "nickname": name, "title": "Wi-Fi" }),
                    )
                    .await;
                assert_eq!(created.status, 201, "{}", created.body);
                let path = format!("/portal-manuals/{}", created.data()["id"].as_str().unwrap());
                assert_eq!(api.get(&path).await.data()["nickname"], name.as_str());
                api.ok(
                    Method::PATCH,
                    &path,
                    Some(json!({ "data": { "iconName": "wifi" } })),
                )
                .await;
                count += 1;
            }
            count
        });
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    // Every write locks its organization first, so a migration takes the same lock (see
    // CONTRIBUTING.md).
    let later = "lock table organization in access exclusive mode; create table later (id uuid \
        primary key); alter table manual add column later text not null default ''; alter table \
        organization add column later bigint not null default 0";
    migrate_beyond(&url, later).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    is_over.store(true, Ordering::Relaxed);
    let created: usize = clients.join_all().await.into_iter().sum();
    assert_eq!(
        api.get("/portal-manuals")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        created
    );
    assert_eq!(node.logged("\"message\":\"failed\""), 0);
    let started = move || {
        Command::new(test_support::program())
            .args(["serve", "--database-url", &url])
            .output()
    };
    let output = tokio::task::spawn_blocking(started).await.unwrap().unwrap();
    assert!(
        !output.status.success()
            && String::from_utf8_lossy(&output.stderr)
                .contains("a newer version of this program has migrated it")
    );
}
