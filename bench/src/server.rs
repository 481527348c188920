//! Starts servers in separate processes.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tempfile::TempDir;

use crate::machine;

/// The platform key of the measured service.
pub const PLATFORM_KEY: &str = "pk_bench";
/// A rate limit per second that no load reaches. With this limit, the service counts every request
/// and refuses none.
const RATE_LIMIT: &str = "1000000000";

/// A running server. Its process is killed when this value is dropped.
pub struct Server {
    /// The address on which the server listens.
    pub address: SocketAddr,
    /// The time from the start of the process until the server listened.
    pub start_up: Duration,
    process: Process,
}

/// A child process, with the pipe of its output and with its data directory.
struct Process {
    child: KillOnDrop,
    output: BufReader<ChildStdout>,
    _data: Option<TempDir>,
}

/// A child process that is killed when this value is dropped.
pub struct KillOnDrop(pub Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // If the process has already ended, the kill fails. No kill is needed then.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl KillOnDrop {
    /// Returns the processor time that the process has used so far.
    pub fn processor_time(&self) -> anyhow::Result<Duration> {
        machine::processor_time(self.0.id())
    }
}

impl Server {
    /// Starts the service on an empty database inside `scratch`.
    pub fn vestibule(binary: &Path, scratch: &Path) -> anyhow::Result<Self> {
        Self::vestibule_with(binary, scratch, &[])
    }

    /// Does the same as [`Server::vestibule`], with additional flags.
    pub fn vestibule_with(binary: &Path, scratch: &Path, flags: &[String]) -> anyhow::Result<Self> {
        let data = tempfile::tempdir_in(scratch)?;
        let database = format!("sqlite:{}", data.path().join("vestibule.db").display());
        Self::start_service(binary, data, &database, flags)
    }

    /// Starts the service on the database with this URL.
    pub fn on(binary: &Path, scratch: &Path, database: &str) -> anyhow::Result<Self> {
        Self::start_service(binary, tempfile::tempdir_in(scratch)?, database, &[])
    }

    fn start_service(
        binary: &Path,
        data: TempDir,
        database: &str,
        flags: &[String],
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(binary);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("VESTIBULE_"))
        {
            command.env_remove(name);
        }
        command
            .env("VESTIBULE_LOG", "warn")
            .env("VESTIBULE_GUEST_RATE_LIMIT_PER_MINUTE", "0")
            .current_dir(data.path());
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--database-url",
            database,
            "--platform-key",
            PLATFORM_KEY,
        ]);
        command
            .args([
                "--rate-limit-per-minute",
                "0",
                "--rate-limit-per-second",
                RATE_LIMIT,
                "--console-rate-limit-per-minute",
                "0",
                "--console-rate-limit-per-second",
                RATE_LIMIT,
            ])
            .args(flags);
        Self::start(command, Some(data))
    }

    /// Starts this program again as a bare HTTP handler, with which the service is compared. The
    /// handler answers each request with the response that is recorded in a file.
    pub fn bare(program: &Path, response: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.arg("bare-http").arg(response);
        Self::start(command, None)
    }

    /// Starts a process and waits until it has printed its address. Blocks the thread.
    fn start(mut command: Command, data: Option<TempDir>) -> anyhow::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let name = command.get_program().display().to_string();
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| name.clone())?;
        let output = child
            .stdout
            .take()
            .context("a process without standard output")?;
        let mut process = Process {
            child: KillOnDrop(child),
            output: BufReader::new(output),
            _data: data,
        };
        let mut line = String::new();
        while process.output.read_line(&mut line)? > 0 {
            if let Some(address) = line.trim_end().strip_prefix("listening on http://") {
                let start_up = started.elapsed();
                return Ok(Self {
                    address: address.parse()?,
                    start_up,
                    process,
                });
            }
            line.clear();
        }
        bail!("{name} ended before it listened")
    }

    /// Returns the resident memory of the process, in MiB.
    pub fn resident(&self) -> anyhow::Result<f64> {
        machine::resident(self.process.child.0.id())
    }

    /// Returns the processor time that the process has used so far.
    pub fn processor_time(&self) -> anyhow::Result<Duration> {
        self.process.child.processor_time()
    }
}
