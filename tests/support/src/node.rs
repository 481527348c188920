//! Runs `vestibule serve` as a process, for tests that kill, freeze or configure a real process.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use engine::access::Permission;
use reqwest::{Client, Method};
use serde_json::json;
use strum::VariantArray;
use tempfile::NamedTempFile;

use super::server_process::{ServerProcess, serve};
use super::{Api, PLATFORM_KEY, http_client, new_id};

/// A running `vestibule serve`, killed when dropped.
pub struct Node {
    process: ServerProcess,
    pub base: String,
    log: NamedTempFile,
    http: Client,
}

impl Node {
    pub fn start(database_url: &str, flags: &[&str]) -> Self {
        Self::start_with(database_url, flags, &[])
    }

    /// Starts the binary with these flags and environment variables.
    pub fn start_with(database_url: &str, flags: &[&str], environment: &[(&str, PathBuf)]) -> Self {
        let mut command = serve(database_url, flags);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        Self::run(&mut command)
    }

    /// Runs a command that starts a server.
    pub fn run(command: &mut Command) -> Self {
        let log = NamedTempFile::new().unwrap();
        let process = ServerProcess::start_with_log(command, log.reopen().unwrap());
        let base = process.base.clone();
        Self {
            process,
            base,
            log,
            http: http_client(),
        }
    }

    /// Returns the resident memory of the process that is not mapped from a file, in MiB. Returns
    /// `None` if the system has no `/proc`.
    pub fn resident(&self) -> Option<u64> {
        let status = format!("/proc/{}/status", self.process.pid());
        let status = std::fs::read_to_string(status).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))?;
        let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kibibytes >> 10)
    }

    /// Sends `kill -9` and waits until the process has ended.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Waits until the process has ended.
    pub fn wait(&mut self) -> ExitStatus {
        self.process.wait()
    }

    pub fn api(&self, token: &str) -> Api {
        Api {
            http: self.http.clone(),
            base: format!("{}/api/v1", self.base),
            token: Some(token.into()),
        }
    }

    pub fn platform(&self) -> Api {
        Api {
            http: self.http.clone(),
            base: format!("{}/platform/v1", self.base),
            token: Some(PLATFORM_KEY.into()),
        }
    }

    /// Creates an organization and an API key with every permission. Returns the token.
    pub async fn key(&self) -> String {
        let platform = self.platform();
        let organization = format!("/organizations/{}", new_id());
        platform
            .ok(Method::PUT, &organization, Some(json!({ "name": "O" })))
            .await;
        let body = json!({ "name": "k", "permissions": Permission::VARIANTS });
        let key = platform
            .ok(
                Method::POST,
                &format!("{organization}/api-keys"),
                Some(body),
            )
            .await;
        key["token"].as_str().unwrap().to_owned()
    }

    /// Returns the text of a page outside the REST interface, such as `/metrics`.
    pub async fn text(&self, path: &str) -> String {
        self.http
            .get(format!("{}{path}", self.base))
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    }

    /// Returns whether the process is still running.
    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    pub fn signal(&self, signal: &str) {
        self.process.signal(signal);
    }

    /// Returns the number of threads of the process; `None` if the system has no `/proc`.
    pub fn threads(&self) -> Option<usize> {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.pid())).ok()?;
        status
            .lines()
            .find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok())
    }

    /// Returns the whole log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }

    /// Returns the lines of the log that contain the text `what`.
    pub fn lines(&self, what: &str) -> Vec<String> {
        self.log()
            .lines()
            .filter(|line| line.contains(what))
            .map(str::to_owned)
            .collect()
    }

    /// Returns how often the text `what` occurs in the log.
    pub fn logged(&self, what: &str) -> usize {
        self.log().matches(what).count()
    }
}
