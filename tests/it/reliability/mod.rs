//! What goes wrong around a server, and what its clients see of it: docs/reliability.md says what is promised.

mod clocks;
mod disk;
mod ends;
mod kills;
mod outages;
mod slow_clients;
mod soak;
mod successor;
mod two_nodes;
mod upgrade;

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use tempfile::NamedTempFile;

use crate::support::{PLATFORM_KEY, choose_tls_provider, new_id, postgres};

/// A running server process, killed when dropped.
struct Process {
    child: Child,
    base: String,
    log: NamedTempFile,
}

impl Process {
    fn start(database_url: &str) -> Self {
        Self::start_with(database_url, &[])
    }

    fn start_with(database_url: &str, environment: &[(&str, &Path)]) -> Self {
        Self::start_of(Path::new(env!("CARGO_BIN_EXE_vestibule")), database_url, environment)
    }

    /// A server of another version, by its binary.
    fn start_of(program: &Path, database_url: &str, environment: &[(&str, &Path)]) -> Self {
        choose_tls_provider();
        let log = NamedTempFile::new().unwrap();
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--database-url", database_url, "--platform-key", PLATFORM_KEY])
            .args(["--rate-limit-per-minute", "0", "--rate-limit-per-second", "0"])
            .env("VESTIBULE_LOG", "warn")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log.reopen().unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, base, log }
    }

    fn address(&self) -> &str {
        self.base.strip_prefix("http://").unwrap()
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// `kill -9`, and the end of it.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Nothing that would be a defect stands in its log.
    fn assert_sound(&self) {
        let log = std::fs::read_to_string(self.log.path()).unwrap();
        for trouble in ["panicked", "\"message\":\"failed\"", "could not be rolled back"] {
            assert!(!log.contains(trouble), "{log}");
        }
    }

    /// Resident memory in KiB, where the system tells.
    fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What was answered.
struct Heard {
    status: u16,
    is_replay: bool,
    body: Value,
}

impl Heard {
    /// Whether the same request may be answered otherwise in a moment: the database is not to be had, or the request that is
    /// repeated is still being worked on.
    fn is_passing(&self) -> bool {
        let is_in_flight = self.status == 409 && self.body["error"]["message"].as_str().unwrap().contains("in flight");
        self.status == 503 || is_in_flight
    }
}

/// An organization's API key, at whichever server has its turn.
#[derive(Clone)]
struct Client {
    http: reqwest::Client,
    base: Arc<Mutex<String>>,
    token: String,
}

impl Client {
    /// With a key to a fresh organization, which may do everything.
    async fn of(server: &Process) -> Self {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
        let mut client = Self { http, base: Arc::new(Mutex::new(server.base.clone())), token: PLATFORM_KEY.to_owned() };
        let organization = format!("/platform/v1/organizations/{}", new_id());
        client.ask(Method::PUT, &organization, None, Some(json!({ "name": "O" }))).await.unwrap();
        let body = json!({ "name": "k", "permissions": Permission::VARIANTS });
        let key = client.ask(Method::POST, &format!("{organization}/api-keys"), None, Some(body)).await.unwrap();
        key.body["data"]["token"].as_str().unwrap().clone_into(&mut client.token);
        client
    }

    /// `None` where no whole answer comes back.
    async fn ask(&self, method: Method, path: &str, key: Option<&str>, body: Option<Value>) -> Option<Heard> {
        let url = format!("{}{path}", self.base.lock().unwrap());
        let mut request = self.http.request(method, url).bearer_auth(&self.token);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.ok()?;
        let (status, is_replay) = (response.status().as_u16(), response.headers().contains_key("idempotency-replayed"));
        Some(Heard { status, is_replay, body: response.json().await.ok()? })
    }

    async fn get(&self, path: &str) -> Option<Heard> {
        self.ask(Method::GET, path, None, None).await
    }

    /// Creates a manual under a key that is its name.
    async fn create(&self, name: &str) -> Option<Heard> {
        let body = json!({ "nickname": name, "title": "Wi-Fi" });
        self.ask(Method::POST, "/api/v1/portal-manuals", Some(name), Some(body)).await
    }

    /// The manuals by name; none is there twice, though nothing but the key keeps a name from being given twice.
    async fn manuals(&self) -> HashMap<String, Value> {
        let listed = self.get("/api/v1/portal-manuals").await.unwrap();
        assert_eq!(listed.status, 200, "{}", listed.body);
        let rows = listed.body["data"].as_array().unwrap();
        let by_name: HashMap<_, _> = rows.iter().map(|row| (row["nickname"].as_str().unwrap().to_owned(), row.clone())).collect();
        assert_eq!(by_name.len(), rows.len(), "each was applied once");
        by_name
    }
}

/// A server on a database of its own, and a client of it, once on each database.
macro_rules! on_each {
    ($($(#[$meta:meta])* async fn $name:ident($database_url:ident: String) $body:block)*) => {
        $($(#[$meta])* mod $name {
            use super::*;

            async fn run($database_url: String) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn on_sqlite() {
                let directory = tempfile::tempdir().unwrap();
                run(crate::reliability::sqlite_in(directory.path())).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn on_postgres() {
                if let Some(url) = crate::reliability::fresh_postgres().await {
                    run(url).await;
                }
            }
        })*
    };
}
use on_each;

fn sqlite_in(directory: &Path) -> String {
    format!("sqlite:{}", directory.join("reliability.db").display())
}

async fn fresh_postgres() -> Option<String> {
    tokio::task::spawn_blocking(postgres::fresh_database).await.unwrap()
}

/// A number from the environment, for a run that takes longer.
fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

/// SQLite says that nothing in the file contradicts itself; the back-up reads it through.
fn assert_whole(database_url: &str) {
    if database_url.starts_with("sqlite:") {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_vestibule"));
        let output = command.args(["backup", "--database-url", database_url]).arg(directory.path().join("copy.db")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
