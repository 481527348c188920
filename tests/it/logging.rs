//! The log, and what becomes of a server whose log cannot be written.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use tempfile::TempDir;

use crate::support::{Answer, PLATFORM_KEY, choose_tls_provider, new_id};

/// Long enough for what happens soon.
const SOON: Duration = Duration::from_secs(20);

/// A running server, killed when dropped.
struct Server {
    process: Child,
    base: String,
    http: reqwest::Client,
    _directory: TempDir,
}

impl Server {
    fn start(log: impl Into<Stdio>) -> Self {
        let (mut process, directory) = spawn(Stdio::piped(), log);
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { process, base, http: reqwest::Client::new(), _directory: directory }
    }

    async fn ask(&self, method: Method, path: &str, token: &str, body: Option<Value>) -> Answer {
        let request = self.http.request(method, format!("{}{path}", self.base)).bearer_auth(token).timeout(SOON);
        Answer::of(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }

    /// The id of a fresh organization, that of a key, and its token.
    async fn key(&self) -> [String; 3] {
        let organization = format!("/platform/v1/organizations/{}", new_id());
        self.ask(Method::PUT, &organization, PLATFORM_KEY, Some(json!({ "name": "O" }))).await.data();
        let body = json!({ "name": "k", "permissions": Permission::VARIANTS });
        let key = self.ask(Method::POST, &format!("{organization}/api-keys"), PLATFORM_KEY, Some(body)).await.data();
        let id = organization.rsplit('/').next().unwrap().to_owned();
        [id, key["id"].as_str().unwrap().to_owned(), key["token"].as_str().unwrap().to_owned()]
    }

    /// Reads and writes, each answered; then an orderly end.
    async fn serves(mut self, requests: usize) -> String {
        let [_, _, token] = self.key().await;
        for number in 0..requests {
            self.ask(Method::POST, "/api/v1/portals", &token, Some(json!({ "name": format!("P{number}") }))).await.data();
            self.ask(Method::POST, "/api/v1/portals", &token, Some(json!({ "name": "" }))).await.error(400);
        }
        let listed = self.ask(Method::GET, "/api/v1/portals", &token, None).await.data();
        assert_eq!(listed.as_array().unwrap().len(), requests);
        assert_eq!(self.ask(Method::GET, "/readyz", "", None).await.body, "ready\n");
        let metrics = self.ask(Method::GET, "/metrics", "", None).await.body.as_str().unwrap().to_owned();
        let began = Instant::now();
        assert!(Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status().unwrap().success());
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
        assert!(began.elapsed() < SOON);
        metrics
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn spawn(output: impl Into<Stdio>, log: impl Into<Stdio>) -> (Child, TempDir) {
    choose_tls_provider();
    let directory = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", directory.path().join("logging.db").display());
    let process = Command::new(env!("CARGO_BIN_EXE_vestibule"))
        .args(["serve", "--listen", "127.0.0.1:0", "--database-url", &database, "--platform-key", PLATFORM_KEY])
        .args(["--rate-limit-per-minute", "0", "--rate-limit-per-second", "0"])
        .stdout(output)
        .stderr(log)
        .spawn()
        .unwrap();
    (process, directory)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_closed_or_full_costs_lines_and_nothing_else() {
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    for log in [Stdio::from(closed), Stdio::from(full)] {
        let metrics = Server::start(log).serves(20).await;
        let lost = metrics.lines().find_map(|line| line.strip_prefix("vestibule_log_lines_lost_total ")).unwrap();
        assert!(lost.parse::<u64>().unwrap() > 20, "{lost}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_whoever_does_not_read_the_log() {
    let (reader, log) = std::io::pipe().unwrap();
    // More than twice what a pipe holds.
    Server::start(log).serves(250).await;
    drop(reader);
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_output_may_be_closed() {
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let log = tempfile::NamedTempFile::new().unwrap();
    let (process, directory) = spawn(closed, log.reopen().unwrap());
    let mut server = Server { process, base: String::new(), http: reqwest::Client::new(), _directory: directory };
    let began = Instant::now();
    while server.base.is_empty() {
        assert!(began.elapsed() < SOON, "it listens");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let lines = lines(&mut log.reopen().unwrap());
        let listening = lines.iter().find(|line| line["message"] == "listening");
        server.base = listening.map(|line| format!("http://{}", line["address"].as_str().unwrap())).unwrap_or_default();
    }
    server.serves(1).await;
}

fn lines(log: &mut File) -> Vec<Value> {
    let mut text = String::new();
    log.rewind().unwrap();
    log.read_to_string(&mut text).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_line_of_a_request_says_whose_it_was_and_no_token() {
    let mut log = tempfile::tempfile().unwrap();
    let server = Server::start(log.try_clone().unwrap());
    let [organization, key, token] = server.key().await;
    server.ask(Method::GET, "/api/v1/portals", &token, None).await.data();
    server.ask(Method::GET, "/api/v1/portals", &token, None).await.data();
    server.ask(Method::POST, "/api/v1/portals", &token, Some(json!({}))).await.error(400);
    server.ask(Method::GET, "/api/v1/portals", "sk_nobody", None).await.error(401);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let request = server.http.post(format!("{}/mcp", server.base)).bearer_auth(&token).json(&ping);
    Answer::of(request.header("accept", "application/json, text/event-stream")).await;
    server.serves(1).await;
    let lines = lines(&mut log);
    let credential = format!("key:{key}");
    for (operation, status, count) in [("listPortals", 200, 2), ("createPortal", 400, 1), ("mcp", 200, 1)] {
        let of = |line: &&Value| line["operation"] == operation && line["status"] == status && line["credential"] == credential.as_str();
        let found: Vec<_> = lines.iter().filter(of).collect();
        assert_eq!(found.len(), count, "{operation}: {lines:#?}");
        assert!(found.iter().all(|line| line["organization"] == organization.as_str()), "{found:?}");
    }
    let made = lines.iter().find(|line| line["operation"] == "createApiKey").unwrap();
    assert_eq!((&made["credential"], &made["organization"]), (&json!("platform"), &json!(organization)));
    let refused = lines.iter().find(|line| line["status"] == 401).unwrap();
    assert_eq!((refused.get("credential"), refused.get("organization")), (None, None));
    assert!(!format!("{lines:?}").contains(&token), "{lines:?}");
}

#[test]
fn a_bad_filter_is_a_bad_value() {
    let run = |filter: &str| Command::new(env!("CARGO_BIN_EXE_vestibule")).arg("openapi").env("VESTIBULE_LOG", filter).output().unwrap();
    for filter in ["verbose", "info,vestibule=loud", "=["] {
        let output = run(filter);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty(), "{filter}");
        assert!(message.starts_with("vestibule: VESTIBULE_LOG is no filter"), "{message}");
    }
    assert!(run("").status.success() && run("warn,vestibule::surface=info").status.success());
}
