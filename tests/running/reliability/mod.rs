//! Tests of failures of the server, its machine and its database, as clients see them.
//! docs/explanation/reliability.md states the guarantees.

mod clocks;
mod disk;
mod ends;
mod guests;
mod kills;
mod outages;
mod slow_clients;
mod soak;
mod successor;
mod two_nodes;
mod upgrade;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use tempfile::NamedTempFile;

use test_support::server_process::{ServerProcess, serve_by};
use test_support::{PLATFORM_KEY, new_id, postgres};

struct Process {
    server: ServerProcess,
    base: String,
    log: NamedTempFile,
}

impl Process {
    fn start(database_url: &str) -> Self {
        Self::start_with(database_url, &[])
    }

    fn start_with(database_url: &str, environment: &[(&str, &Path)]) -> Self {
        Self::start_of(&test_support::program(), database_url, environment)
    }

    /// Starts a server from the binary of another version.
    fn start_of(program: &Path, database_url: &str, environment: &[(&str, &Path)]) -> Self {
        let log = NamedTempFile::new().unwrap();
        let mut command = serve_by(program, database_url, &[]);
        command
            .env("VESTIBULE_LOG", "warn")
            .envs(environment.iter().copied());
        let server = ServerProcess::start_with_log(&mut command, log.reopen().unwrap());
        let base = server.base.clone();
        Self { server, base, log }
    }

    fn address(&self) -> &str {
        self.server.address()
    }

    fn signal(&self, signal: &str) {
        self.server.signal(signal);
    }

    /// Sends `kill -9` and waits until the process has ended.
    fn kill(&mut self) {
        self.server.kill();
    }

    /// Checks that the log has no panic and no other sign of a defect.
    fn assert_sound(&self) {
        let log = std::fs::read_to_string(self.log.path()).unwrap();
        for trouble in [
            "panicked",
            "failed with an internal error",
            "could not be rolled back",
        ] {
            assert!(!log.contains(trouble), "{log}");
        }
    }

    /// Returns the resident memory in KiB; `None` if the system has no `/proc`.
    fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.pid())).ok()?;
        status.lines().find_map(|line| {
            line.strip_prefix("VmRSS:")?
                .trim()
                .strip_suffix(" kB")?
                .trim()
                .parse()
                .ok()
        })
    }
}

/// The status and the body of a response, and whether the server repeated the recorded response of
/// an earlier request.
struct ServerResponse {
    status: u16,
    is_replay: bool,
    body: Value,
}

impl ServerResponse {
    /// Returns whether the client has to repeat the request: the database was unavailable, or a
    /// request with the same idempotency key was in progress.
    fn is_retryable(&self) -> bool {
        let is_in_flight = self.status == 409
            && self.body["error"]["message"]
                .as_str()
                .unwrap()
                .contains("still in progress");
        self.status == 503 || is_in_flight
    }
}

/// A client with an API key of one organization. Its base address changes when another server takes
/// over.
#[derive(Clone)]
struct Client {
    http: reqwest::Client,
    base: Arc<Mutex<String>>,
    token: String,
}

impl Client {
    /// Creates an organization, and a client with an API key that has every permission.
    async fn of(server: &Process) -> Self {
        let http = reqwest::Client::builder()
            .timeout(Duration::from_secs(20))
            .build()
            .unwrap();
        let mut client = Self {
            http,
            base: Arc::new(Mutex::new(server.base.clone())),
            token: PLATFORM_KEY.to_owned(),
        };
        let organization = format!("/platform/v1/organizations/{}", new_id());
        client
            .ask(
                Method::PUT,
                &organization,
                None,
                Some(json!({ "name": "O" })),
            )
            .await
            .unwrap();
        let body = json!({ "name": "k", "permissions": Permission::VARIANTS });
        let key = client
            .ask(
                Method::POST,
                &format!("{organization}/api-keys"),
                None,
                Some(body),
            )
            .await
            .unwrap();
        key.body["data"]["token"]
            .as_str()
            .unwrap()
            .clone_into(&mut client.token);
        client
    }

    /// Sends a request. Returns `None` if no complete response arrives.
    async fn ask(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Option<Value>,
    ) -> Option<ServerResponse> {
        let url = format!("{}{path}", self.base.lock().unwrap());
        let mut request = self.http.request(method, url).bearer_auth(&self.token);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.ok()?;
        let (status, is_replay) = (
            response.status().as_u16(),
            response.headers().contains_key("idempotency-replayed"),
        );
        Some(ServerResponse {
            status,
            is_replay,
            body: response.json().await.ok()?,
        })
    }

    async fn get(&self, path: &str) -> Option<ServerResponse> {
        self.ask(Method::GET, path, None, None).await
    }

    /// Creates a manual. Its name is also the idempotency key of the request. Returns `None` if
    /// there is no response.
    async fn create(&self, name: &str) -> Option<ServerResponse> {
        let body = json!({ "nickname": name, "title": "Wi-Fi" });
        self.ask(
            Method::POST,
            "/api/v1/portal-manuals",
            Some(name),
            Some(body),
        )
        .await
    }

    /// Returns the manuals by name. Checks that no two manuals have the same name. Only the
    /// idempotency keys prevent two manuals with one name.
    async fn manuals(&self) -> HashMap<String, Value> {
        let listed = self.get("/api/v1/portal-manuals").await.unwrap();
        assert_eq!(listed.status, 200, "{}", listed.body);
        let rows = listed.body["data"].as_array().unwrap();
        let by_name: HashMap<_, _> = rows
            .iter()
            .map(|row| (row["nickname"].as_str().unwrap().to_owned(), row.clone()))
            .collect();
        assert_eq!(by_name.len(), rows.len(), "each was applied once");
        by_name
    }
}

/// Runs a test on a fresh SQLite database and on a fresh PostgreSQL database.
macro_rules! on_each {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn on_sqlite() {
                let directory = tempfile::tempdir().unwrap();
                super::$name(crate::reliability::sqlite_in(directory.path())).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn on_postgres() {
                if let Some(url) = crate::reliability::fresh_postgres().await {
                    super::$name(url).await;
                }
            }
        }
    };
}
use on_each;

fn sqlite_in(directory: &Path) -> String {
    format!("sqlite:{}", directory.join("reliability.db").display())
}

async fn fresh_postgres() -> Option<String> {
    tokio::task::spawn_blocking(postgres::fresh_database)
        .await
        .unwrap()
}

/// Returns the number in an environment variable, or `default` if the variable is not set. Panics
/// if the variable contains no number.
fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is no number: {text}"))
    })
}

/// Checks the integrity of a SQLite file with `vestibule backup`, which reads the whole file.
fn assert_intact(database_url: &str) {
    if database_url.starts_with("sqlite:") {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(test_support::program());
        let output = command
            .args(["backup", "--database-url", database_url])
            .arg(directory.path().join("copy.db"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
