//! Tests of the service's log, and of a server whose log cannot be written.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use tempfile::TempDir;

use test_support::server_process::{ServerProcess, serve};
use test_support::{ApiResponse, PLATFORM_KEY, new_id};

/// Time limit of a wait for an event that takes milliseconds on an idle machine.
const SOON: Duration = Duration::from_secs(20);

/// A running server process. It is killed when this value is dropped.
struct Server {
    process: ServerProcess,
    base: String,
    http: reqwest::Client,
    _directory: TempDir,
}

impl Server {
    fn start(log: impl Into<Stdio>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let process = ServerProcess::start_with_log(&mut command_in(&directory), log);
        let base = process.base.clone();
        Self {
            process,
            base,
            http: reqwest::Client::new(),
            _directory: directory,
        }
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: Option<Value>,
    ) -> ApiResponse {
        let request = self
            .http
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(token)
            .timeout(SOON);
        ApiResponse::of(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }

    /// Creates an organization with an API key. Returns the ids of both, and the token of the key.
    async fn key(&self) -> [String; 3] {
        let organization = format!("/platform/v1/organizations/{}", new_id());
        self.ask(
            Method::PUT,
            &organization,
            PLATFORM_KEY,
            Some(json!({ "name": "O" })),
        )
        .await
        .data();
        let body = json!({ "name": "k", "permissions": Permission::VARIANTS });
        let key = self
            .ask(
                Method::POST,
                &format!("{organization}/api-keys"),
                PLATFORM_KEY,
                Some(body),
            )
            .await
            .data();
        let id = organization.rsplit('/').next().unwrap().to_owned();
        [
            id,
            key["id"].as_str().unwrap().to_owned(),
            key["token"].as_str().unwrap().to_owned(),
        ]
    }

    /// Creates `requests` portals and sends as many invalid requests, checks the responses, and
    /// stops the server with SIGTERM. Returns the text of `/metrics` from before the stop.
    async fn serves(mut self, requests: usize) -> String {
        let [_, _, token] = self.key().await;
        for number in 0..requests {
            self.ask(
                Method::POST,
                "/api/v1/portals",
                &token,
                Some(json!({ "name": format!("P{number}") })),
            )
            .await
            .data();
            self.ask(
                Method::POST,
                "/api/v1/portals",
                &token,
                Some(json!({ "name": "" })),
            )
            .await
            .error(400);
        }
        let listed = self
            .ask(Method::GET, "/api/v1/portals", &token, None)
            .await
            .data();
        assert_eq!(listed.as_array().unwrap().len(), requests);
        assert_eq!(
            self.ask(Method::GET, "/readyz", "", None).await.body,
            "ready\n"
        );
        let metrics = self
            .ask(Method::GET, "/metrics", "", None)
            .await
            .body
            .as_str()
            .unwrap()
            .to_owned();
        let start = Instant::now();
        self.process.signal("-TERM");
        assert_eq!(self.process.wait().code(), Some(0));
        assert!(start.elapsed() < SOON);
        metrics
    }
}

/// Returns a command that starts a server with its database in this directory.
fn command_in(directory: &TempDir) -> Command {
    let path = directory.path().join("logging.db");
    serve(&format!("sqlite:{}", path.display()), &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_or_full_log_loses_lines_without_affecting_requests() {
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    // If standard error is closed at the start, the Rust runtime opens `/dev/null` in its place.
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .unwrap();
    for log in [Stdio::from(closed), Stdio::from(full), Stdio::from(null)] {
        let metrics = Server::start(log).serves(20).await;
        let lost = metrics
            .lines()
            .find_map(|line| line.strip_prefix("vestibule_log_lines_lost_total "))
            .unwrap();
        assert!(lost.parse::<u64>().unwrap() > 20, "{lost}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_log_does_not_block_requests() {
    let (reader, log) = std::io::pipe().unwrap();
    // The log lines of these requests take more than twice the capacity of a pipe.
    Server::start(log).serves(250).await;
    drop(reader);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_runs_with_standard_output_closed() {
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let log = tempfile::NamedTempFile::new().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut command = command_in(&directory);
    let process = ServerProcess::start_with_output(&mut command, closed, log.reopen().unwrap());
    let mut server = Server {
        process,
        base: String::new(),
        http: reqwest::Client::new(),
        _directory: directory,
    };
    let start = Instant::now();
    while server.base.is_empty() {
        assert!(start.elapsed() < SOON, "it listens");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let lines = lines(&mut log.reopen().unwrap());
        let listening = lines.iter().find(|line| line["message"] == "listening");
        server.base = listening
            .map(|line| format!("http://{}", line["address"].as_str().unwrap()))
            .unwrap_or_default();
    }
    server.serves(1).await;
}

fn lines(log: &mut File) -> Vec<Value> {
    let mut text = String::new();
    log.rewind().unwrap();
    log.read_to_string(&mut text).unwrap();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn request_log_lines_name_the_credential_without_its_token() {
    let mut log = tempfile::tempfile().unwrap();
    let server = Server::start(log.try_clone().unwrap());
    let [organization, key, token] = server.key().await;
    server
        .ask(Method::GET, "/api/v1/portals", &token, None)
        .await
        .data();
    server
        .ask(Method::GET, "/api/v1/portals", &token, None)
        .await
        .data();
    server
        .ask(Method::POST, "/api/v1/portals", &token, Some(json!({})))
        .await
        .error(400);
    server
        .ask(Method::GET, "/api/v1/portals", "sk_nobody", None)
        .await
        .error(401);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let request = server
        .http
        .post(format!("{}/mcp", server.base))
        .bearer_auth(&token)
        .json(&ping);
    ApiResponse::of(request.header("accept", "application/json, text/event-stream")).await;
    server.serves(1).await;
    let lines = lines(&mut log);
    let credential = format!("key:{key}");
    for (operation, status, count) in [
        ("listPortals", 200, 2),
        ("createPortal", 400, 1),
        ("mcp", 200, 1),
    ] {
        let of = |line: &&Value| {
            line["operation"] == operation
                && line["status"] == status
                && line["credential"] == credential.as_str()
        };
        let found: Vec<_> = lines.iter().filter(of).collect();
        assert_eq!(found.len(), count, "{operation}: {lines:#?}");
        assert!(
            found
                .iter()
                .all(|line| line["organization"] == organization.as_str()),
            "{found:?}"
        );
    }
    let created = lines
        .iter()
        .find(|line| line["operation"] == "createApiKey")
        .unwrap();
    assert_eq!(
        (&created["credential"], &created["organization"]),
        (&json!("platform"), &json!(organization))
    );
    let refused = lines.iter().find(|line| line["status"] == 401).unwrap();
    assert_eq!(
        (refused.get("credential"), refused.get("organization")),
        (None, None)
    );
    assert!(!format!("{lines:?}").contains(&token), "{lines:?}");
}

#[test]
fn an_invalid_log_filter_is_refused_at_start() {
    let run = |filter: &str| {
        Command::new(test_support::program())
            .arg("openapi")
            .env("VESTIBULE_LOG", filter)
            .output()
            .unwrap()
    };
    for filter in ["verbose", "info,vestibule=loud", "=["] {
        let output = run(filter);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{filter}"
        );
        assert!(
            message.starts_with("vestibule: VESTIBULE_LOG must be a filter"),
            "{message}"
        );
    }
    assert!(run("").status.success() && run("warn,vestibule::surface=info").status.success());
}
