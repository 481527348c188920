//! Tests of the binary as a process: its commands, its reaction to signals, and its data after the
//! process was killed.

use engine::access::Permission;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use strum::VariantArray;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use test_support::node::Node;
use test_support::server_process::{ServerProcess, output_of};
use test_support::waiting::in_time;
use test_support::{ApiResponse, App, PLATFORM_KEY, http_client, new_id, on_both, postgres};

/// A server process, with methods that send requests to it.
struct Running(Node);

impl Running {
    fn start(database_url: &str, flags: &[&str]) -> Self {
        Self(Node::start(database_url, flags))
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        token: &str,
        key: Option<&str>,
        body: Value,
    ) -> ApiResponse {
        let request = reqwest::Client::new()
            .request(method.parse().unwrap(), format!("{}{path}", self.0.base))
            .bearer_auth(token)
            .json(&body);
        ApiResponse::of(match key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        })
        .await
    }

    /// Creates an organization. Returns its id and the token of an API key.
    async fn organization(&self) -> (String, String) {
        let id = new_id();
        self.send(
            "PUT",
            &format!("/platform/v1/organizations/{id}"),
            PLATFORM_KEY,
            None,
            json!({ "name": "O" }),
        )
        .await
        .data();
        let body = json!({ "name": "k", "permissions": Permission::VARIANTS });
        let key = self
            .send(
                "POST",
                &format!("/platform/v1/organizations/{id}/api-keys"),
                PLATFORM_KEY,
                None,
                body,
            )
            .await
            .data();
        (id.to_string(), key["token"].as_str().unwrap().to_owned())
    }
}

/// Runs `vestibule` with these arguments until it ends. Returns whether it succeeded, its standard
/// output and its standard error.
fn run(arguments: &[&str]) -> (bool, String, String) {
    let output = output_of(Command::new(test_support::program()).args(arguments));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.success(),
        text(output.stdout),
        text(output.stderr),
    )
}

async fn databases(directory: &Path) -> Vec<String> {
    let sqlite = format!("sqlite:{}", directory.join("process.db").display());
    std::iter::once(sqlite)
        .chain(
            tokio::task::spawn_blocking(postgres::fresh_database)
                .await
                .unwrap(),
        )
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_a_kill() {
    test_support::choose_tls_provider();
    let directory = tempfile::tempdir().unwrap();
    for url in databases(directory.path()).await {
        let mut running = Running::start(&url, &[]);
        let (_, token) = running.organization().await;
        let mut acknowledged = Vec::new();
        for round in 0..3 {
            let writes = (0..24).map(|number| {
                let (running, token) = (&running, &token);
                async move {
                    let name = format!("{round} {number}");
                    let request = http_client().post(format!("{}/api/v1/portals", running.0.base));
                    let sent = request
                        .bearer_auth(token)
                        .header("idempotency-key", &name)
                        .json(&json!({ "name": name }))
                        .send()
                        .await;
                    match sent {
                        Ok(response) if response.status() == 201 => {
                            response.json::<Value>().await.ok().map(|body| (name, body))
                        }
                        _ => None,
                    }
                }
            });
            let killing = async {
                tokio::time::sleep(std::time::Duration::from_millis(15 + 10 * round)).await;
                running.0.signal("-KILL");
            };
            let (answers, ()) = tokio::join!(join_all(writes), killing);
            acknowledged.extend(answers.into_iter().flatten());
            drop(running);
            running = Running::start(&url, &[]);
            let listed = running
                .send("GET", "/api/v1/portals", &token, None, json!({}))
                .await
                .data();
            let names: Vec<&str> = listed
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["name"].as_str().unwrap())
                .collect();
            for (name, body) in &acknowledged {
                assert!(names.contains(&name.as_str()), "{name} was acknowledged");
                let again = running
                    .send(
                        "POST",
                        "/api/v1/portals",
                        &token,
                        Some(name),
                        json!({ "name": name }),
                    )
                    .await;
                assert_eq!(
                    (&again.body, again.header("idempotency-replayed")),
                    (body, Some("true"))
                );
            }
            // The test sends every write again with its idempotency key. A write that the server
            // had not acknowledged is applied once.
            for number in 0..24 {
                let name = format!("{round} {number}");
                assert_eq!(
                    running
                        .send(
                            "POST",
                            "/api/v1/portals",
                            &token,
                            Some(&name),
                            json!({ "name": name })
                        )
                        .await
                        .status,
                    201,
                    "{name}"
                );
            }
        }
        let listed = running
            .send("GET", "/api/v1/portals", &token, None, json!({}))
            .await
            .data();
        assert_eq!(listed.as_array().unwrap().len(), 72);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_and_sigint_end_the_process_with_code_0() {
    test_support::choose_tls_provider();
    let directory = tempfile::tempdir().unwrap();
    for signal in ["-TERM", "-INT"] {
        let mut running = Running::start(
            &format!("sqlite:{}", directory.path().join("signal.db").display()),
            &[],
        );
        running.organization().await;
        running.0.signal(signal);
        assert_eq!(running.0.wait().code(), Some(0), "{signal}");
    }
}

#[test]
fn the_demo_refuses_a_database_url() {
    let (is_done, _, text) = run(&["demo", "--database-url", "sqlite:kept.db"]);
    assert!(
        !is_done && text.contains("demo uses a throwaway database"),
        "{text}"
    );
}

/// The open-file limit of 1,024 is too low for all 1,500 silent connections. To accept new
/// connections, the server closes those that have been silent longest.
#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_beyond_the_open_files_do_not_delay_others() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("silent.db").display());
    let script = "ulimit -n 1024; exec \"$0\" serve --listen 127.0.0.1:0 --database-url \"$1\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .arg(test_support::program())
        .arg(&url);
    let running = ServerProcess::start(&mut command);
    let address = running.address().to_owned();
    let mut silent = Vec::new();
    for _ in 0..1_500 {
        let connecting = tokio::net::TcpStream::connect(&address);
        match tokio::time::timeout(Duration::from_secs(10), connecting).await {
            Ok(Ok(stream)) => silent.push(stream),
            // The test process may have a low limit of open files too. The test then opens fewer
            // connections.
            _ => break,
        }
    }
    for _ in 0..5 {
        let begun = Instant::now();
        let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut answer = String::new();
        in_time("the response arrives", stream.read_to_string(&mut answer))
            .await
            .unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?} beside {}",
            begun.elapsed(),
            silent.len()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_connections_are_answered_after_the_signal() {
    let directory = tempfile::tempdir().unwrap();
    let mut running = Running::start(
        &format!("sqlite:{}", directory.path().join("queued.db").display()),
        &[],
    );
    // While the process is stopped, the kernel accepts connections and receives their requests.
    running.0.signal("-STOP");
    let address = running.0.base.strip_prefix("http://").unwrap().to_owned();
    let mut connections = Vec::new();
    for _ in 0..64 {
        let mut connection = tokio::net::TcpStream::connect(&address).await.unwrap();
        connection
            .write_all(format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        connections.push(connection);
    }
    running.0.signal("-TERM");
    running.0.signal("-CONT");
    for mut connection in connections {
        let mut answer = String::new();
        in_time(
            "the response arrives",
            connection.read_to_string(&mut answer),
        )
        .await
        .unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
    }
    assert_eq!(running.0.wait().code(), Some(0));
}

#[test]
fn wrong_commands_are_reported_on_standard_error() {
    for arguments in [
        vec!["serve", "--no-such-flag"],
        vec!["serve", "--webhook-timeout", "10"],
        vec!["serve", "--listen", "nowhere"],
        vec!["fly"],
        vec!["serve", "--cors-origin", "*"],
        vec!["serve", "--public-url", "ftp://x"],
        vec!["serve", "--database-url", "mysql://x"],
        vec!["serve", "--database-url", "postgres://127.0.0.1:1/x"],
        vec![
            "migrate",
            "--database-url",
            "sqlite:/no/such/directory/x.db",
        ],
        vec!["import", "--organization", "x", "-"],
        vec![
            "serve",
            "--database-url",
            "sqlite::memory-that-is-no-file/x",
            "--webhook-ca-file",
            "/no/such/file",
        ],
    ] {
        let output = output_of(Command::new(test_support::program()).args(&arguments));
        assert!(!output.status.success(), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_imported_from_a_file_and_from_standard_input() {
    test_support::choose_tls_provider();
    let directory = tempfile::tempdir().unwrap();
    for url in databases(directory.path()).await {
        let running = Running::start(&url, &[]);
        let (organization, token) = running.organization().await;
        let lines: Vec<String> = (0..4_500)
            .map(|number| {
                json!({
                    "kind": "tag",
                    "id": new_id(),
                    "data": { "name": format!("Tag {number}") },
                })
                .to_string()
            })
            .collect();
        let file = directory.path().join("records.ndjson");
        std::fs::write(&file, lines.join("\n")).unwrap();
        let import = |argument: &str| {
            let mut command = Command::new(test_support::program());
            command.args([
                "import",
                "--database-url",
                &url,
                "--organization",
                &organization,
                argument,
            ]);
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let output = import(file.to_str().unwrap()).wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "imported 4500 records, 0 events\n"
        );

        let strange = directory.path().join("strange.ndjson");
        let odd = |number: usize| {
            json!({
                "kind": "tag",
                "id": new_id(),
                "data": { "name": "Odd", "colour": number, "shade": 1 },
            })
            .to_string()
        };
        std::fs::write(&strange, [lines[0].clone(), odd(1), odd(2)].join("\n")).unwrap();
        let mut rehearsal = Command::new(test_support::program());
        rehearsal.args([
            "import",
            "--dry-run",
            "--database-url",
            &url,
            "--organization",
            &organization,
            strange.to_str().unwrap(),
        ]);
        let output = output_of(&mut rehearsal);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "would import 3 records, 0 events\n"
        );
        let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            warnings
                .lines()
                .filter(|line| line.starts_with("line 2: "))
                .count(),
            2,
            "{warnings}"
        );
        assert!(
            warnings.contains(
                r#"line 2: "colour" is not a known field of a tag; it is stored unchanged"#
            ) && !warnings.contains("line 3"),
            "{warnings}"
        );

        let mut process = import("-");
        let mut broken = lines.clone();
        broken[2_100] = json!({ "kind": "tag", "id": new_id(), "data": {} }).to_string();
        process
            .stdin
            .take()
            .unwrap()
            .write_all(broken.join("\n").as_bytes())
            .unwrap();
        let output = process.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(
            message.contains("resume at line 2001") && message.contains("\"name\""),
            "{message}"
        );
        let listed = running
            .send("GET", "/api/v1/tags?limit=1", &token, None, json!({}))
            .await;
        assert_eq!(listed.body["meta"]["pagination"]["total"], 4_500);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_keep_a_single_default_and_unique_names() {
    test_support::choose_tls_provider();
    let Some(url) = tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()
    else {
        return;
    };
    let (one, two) = (Running::start(&url, &[]), Running::start(&url, &[]));
    let (_, token) = one.organization().await;
    let create = |number: usize| {
        let node = if number.is_multiple_of(2) { &one } else { &two };
        let token = &token;
        async move {
            // Four clients create a portal with the same name at the same time, each as the default
            // portal.
            let body = json!({ "name": format!("Portal {}", number / 4), "isDefault": true });
            node.send("POST", "/api/v1/portals", token, None, body)
                .await
                .status
        }
    };
    let statuses = join_all((0..64).map(create)).await;
    assert_eq!(
        statuses.iter().filter(|status| **status == 201).count(),
        16,
        "{statuses:?}"
    );
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 48);
    let listed = two
        .send("GET", "/api/v1/portals", &token, None, json!({}))
        .await
        .data();
    let defaults = listed
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["isDefault"] == true)
        .count();
    assert_eq!((listed.as_array().unwrap().len(), defaults), (16, 1));
    let racing = join_all((0..32).map(|number| {
        let node = if number % 2 == 0 { &one } else { &two };
        let token = &token;
        async move {
            node.send(
                "POST",
                "/api/v1/portals",
                token,
                Some("raced"),
                json!({ "name": "Raced" }),
            )
            .await
            .status
        }
    }))
    .await;
    assert!(
        racing.iter().all(|status| matches!(status, 201 | 409)) && racing.contains(&201),
        "{racing:?}"
    );
    let listed = one
        .send("GET", "/api/v1/portals", &token, None, json!({}))
        .await
        .data();
    assert_eq!(listed.as_array().unwrap().len(), 17);
}

on_both!(a_second_node_sees_the_writes_of_the_first);
async fn a_second_node_sees_the_writes_of_the_first(app: App) {
    if app.database_url.starts_with("sqlite:") {
        return;
    }
    let org = app.org().await;
    let api = org.key().await;
    api.post("/portals", json!({ "name": "One" })).await.data();
    let other = app.second_node(&[]).await;
    let seen = other
        .api(api.token.as_deref().unwrap())
        .get("/portals")
        .await
        .data();
    assert_eq!(seen[0]["name"], "One");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sqlite_database_is_served_by_a_single_process() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("process.db").display());
    let running = Running::start(&url, &[]);
    let (organization, _) = running.organization().await;
    for command in ["serve", "migrate"] {
        let listen: &[&str] = if command == "serve" {
            &["--listen", "127.0.0.1:0"]
        } else {
            &[]
        };
        let (status, _, reported) = run(&[&[command, "--database-url", &url], listen].concat());
        assert!(!status, "{command}");
        assert!(
            reported.contains("another process serves or migrates"),
            "{command}: {reported}"
        );
    }
    // `import` may run while the server is using the database.
    let records = directory.path().join("records.ndjson");
    std::fs::write(
        &records,
        json!({ "kind": "tag", "id": new_id(), "data": { "name": "Sea view" } }).to_string(),
    )
    .unwrap();
    let (status, reported, _) = run(&[
        "import",
        "--database-url",
        &url,
        "--organization",
        &organization,
        records.to_str().unwrap(),
    ]);
    assert!(
        status && reported.contains("imported 1 records"),
        "{reported}"
    );
    let copy = directory.path().join("copy.db");
    assert!(run(&["backup", "--database-url", &url, copy.to_str().unwrap()]).0);
    drop(running);
    assert!(run(&["migrate", "--database-url", &url]).0);
    assert_eq!(
        std::fs::metadata(directory.path().join("process.db-wal")).map_or(0, |log| log.len()),
        0,
        "it is all in the file"
    );
}
