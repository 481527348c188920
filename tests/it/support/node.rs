//! The binary, serving: for what shows in a process of its own only.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use engine::access::Permission;
use reqwest::{Client, Method};
use serde_json::json;
use strum::VariantArray;
use tempfile::NamedTempFile;

use super::{Api, PLATFORM_KEY, choose_tls_provider, new_id};

/// A running `vestibule serve`, killed when dropped.
pub struct Node {
    process: Child,
    pub base: String,
    log: NamedTempFile,
    http: Client,
}

impl Node {
    pub fn start(database_url: &str, flags: &[&str]) -> Self {
        Self::start_with(database_url, flags, &[])
    }

    /// With these in its environment.
    pub fn start_with(database_url: &str, flags: &[&str], environment: &[(&str, PathBuf)]) -> Self {
        choose_tls_provider();
        let log = NamedTempFile::new().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_vestibule"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--database-url", database_url, "--platform-key", PLATFORM_KEY]);
        for limit in ["--rate-limit-per-minute", "--rate-limit-per-second"] {
            if !flags.contains(&limit) {
                command.args([limit, "0"]);
            }
        }
        let mut process = command
            .args(flags)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(log.reopen().unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { process, base, log, http: Client::new() }
    }

    /// `kill -9`, and the end of it.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub fn api(&self, token: &str) -> Api {
        Api { http: self.http.clone(), base: format!("{}/api/v1", self.base), token: Some(token.into()) }
    }

    pub fn platform(&self) -> Api {
        Api { http: self.http.clone(), base: format!("{}/platform/v1", self.base), token: Some(PLATFORM_KEY.into()) }
    }

    /// A fresh organization's API key that may do everything.
    pub async fn key(&self) -> String {
        let platform = self.platform();
        let organization = format!("/organizations/{}", new_id());
        platform.ok(Method::PUT, &organization, Some(json!({ "name": "O" }))).await;
        let body = json!({ "name": "k", "permissions": Permission::VARIANTS });
        let key = platform.ok(Method::POST, &format!("{organization}/api-keys"), Some(body)).await;
        key["token"].as_str().unwrap().to_owned()
    }

    /// A page outside of the interface, as text.
    pub async fn text(&self, path: &str) -> String {
        self.http.get(format!("{}{path}", self.base)).send().await.unwrap().text().await.unwrap()
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    pub fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap().success());
    }

    /// How many threads it has, where the system tells.
    pub fn threads(&self) -> Option<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        status.lines().find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok())
    }

    /// The lines of its log in which something stands.
    pub fn lines(&self, what: &str) -> Vec<String> {
        let log = std::fs::read_to_string(self.log.path()).unwrap();
        log.lines().filter(|line| line.contains(what)).map(str::to_owned).collect()
    }

    /// How often something stands in its log.
    pub fn logged(&self, what: &str) -> usize {
        std::fs::read_to_string(self.log.path()).unwrap().matches(what).count()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
