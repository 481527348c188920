//! The attacked server: a process that may end and can be restarted on the same database.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, PipeReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use bench::machine;
use tempfile::TempDir;

/// The platform key of the attacked server.
pub const PLATFORM_KEY: &str = "pk_attack";
/// The time limit of an orderly stop (SIGTERM). A longer stop fails the scenario.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Texts that appear in a server's log only if the server has a defect.
const DEFECT_TEXTS: [&str; 3] = [
    "panicked",
    "\"message\":\"failed\"",
    "could not be rolled back",
];

/// The limits that the operating system sets for the server's process. `None` means no limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Maximum size of the address space, in bytes.
    pub address_space: Option<u64>,
    /// Maximum number of open files, as both the soft and the hard limit.
    pub open_files: Option<u64>,
}

impl Limits {
    /// Returns a command that sets the limits and then runs the program.
    fn command(self, program: &Path) -> Command {
        let mut limits = String::new();
        if let Some(bytes) = self.address_space {
            let kibibytes = bytes / 1024;
            limits.extend(["ulimit -v ", &kibibytes.to_string(), " && "]);
        }
        if let Some(files) = self.open_files {
            limits.extend(["ulimit -n ", &files.to_string(), " && "]);
        }
        if limits.is_empty() {
            return Command::new(program);
        }
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limits}exec \"$0\" \"$@\"")]);
        command.arg(program);
        command
    }
}

/// The address and process id of the server that is running now.
#[derive(Debug, Clone, Default)]
pub struct Target(Arc<Mutex<Option<(SocketAddr, u32)>>>);

impl Target {
    fn set(&self, address: SocketAddr, process: u32) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((address, process));
    }

    fn get(&self) -> anyhow::Result<(SocketAddr, u32)> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .context("no server was started")
    }

    /// Returns the address on which the server listens now.
    pub fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.get()?.0)
    }

    /// Returns the resident memory of the server's process, in MiB.
    pub fn resident(&self) -> anyhow::Result<f64> {
        machine::resident(self.get()?.1)
    }
}

/// A running server of the attack. Its process is killed when this value is dropped.
pub struct AttackedServer {
    /// The server's address and process id.
    pub target: Target,
    command: Command,
    running: Running,
    log: PathBuf,
    /// The reading end of the pipe to which the server writes its log, if the scenario leaves the
    /// log unread. The pipe would close if this end were dropped, and the server could no longer
    /// fill it.
    _unread: Option<PipeReader>,
    _directory: TempDir,
}

/// A process that is killed when this value is dropped.
struct Running(Child, BufReader<ChildStdout>);

impl Drop for Running {
    fn drop(&mut self) {
        // If the process has already ended, the kill fails. No kill is needed then.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl AttackedServer {
    /// Starts the server on `database`, or on a new SQLite database inside `scratch`. The server
    /// writes its log to a file, or to an unread pipe.
    pub fn start(
        binary: &Path,
        scratch: &Path,
        database: Option<&str>,
        is_log_read: bool,
        limits: Limits,
    ) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir_in(scratch)?;
        let new_database = format!("sqlite:{}", directory.path().join("vestibule.db").display());
        let mut command = limits.command(binary);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("VESTIBULE_"))
        {
            command.env_remove(name);
        }
        command
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--platform-key",
            PLATFORM_KEY,
            "--webhook-allow",
            "127.0.0.0/8",
        ]);
        command.args(["--database-url", database.unwrap_or(&new_database)]);
        // Rate limits would stop some attacks, so they are disabled. The rate limit for guests
        // stays enabled.
        command.args([
            "--rate-limit-per-minute",
            "0",
            "--rate-limit-per-second",
            "0",
            "--console-rate-limit-per-minute",
            "0",
            "--console-rate-limit-per-second",
            "0",
        ]);
        let log = directory.path().join("log");
        let file = OpenOptions::new().create(true).append(true).open(&log)?;
        let unread = if is_log_read {
            command.env("VESTIBULE_LOG", "warn").stderr(file);
            None
        } else {
            let (reader, writer) = std::io::pipe()?;
            command.env("VESTIBULE_LOG", "info").stderr(writer);
            Some(reader)
        };
        let (running, address) = start_process(&mut command)?;
        let target = Target::default();
        target.set(address, running.0.id());
        Ok(Self {
            target,
            command,
            running,
            log,
            _unread: unread,
            _directory: directory,
        })
    }

    /// Starts the server again after it has ended.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        let (running, address) = tokio::task::block_in_place(|| start_process(&mut self.command))?;
        self.target.set(address, running.0.id());
        self.running = running;
        Ok(())
    }

    /// Kills the server with SIGKILL and waits until it has ended.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.running.0.kill()?;
        self.running.0.wait()?;
        Ok(())
    }

    /// Stops the server with SIGTERM. Returns the exit status and how long the stop took.
    pub async fn terminate(&mut self) -> anyhow::Result<(ExitStatus, Duration)> {
        let started = Instant::now();
        let process = self.running.0.id().to_string();
        ensure!(
            Command::new("kill")
                .args(["-TERM", &process])
                .status()?
                .success(),
            "the signal could not be sent"
        );
        while started.elapsed() < STOP_TIMEOUT {
            if let Some(status) = self.running.0.try_wait()? {
                return Ok((status, started.elapsed()));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bail!("the server does not stop")
    }

    /// Returns the lines of the server's log that show a defect.
    pub fn trouble(&self) -> anyhow::Result<Vec<String>> {
        let log = fs::read_to_string(&self.log)?;
        let shows_defect = |line: &&str| DEFECT_TEXTS.iter().any(|text| line.contains(text));
        Ok(log
            .lines()
            .filter(shows_defect)
            .map(str::to_owned)
            .collect())
    }
}

/// Starts a process and waits until it prints its address. Blocks the thread.
fn start_process(command: &mut Command) -> anyhow::Result<(Running, SocketAddr)> {
    let mut child = command
        .spawn()
        .with_context(|| command.get_program().display().to_string())?;
    let output = child
        .stdout
        .take()
        .context("a process without standard output")?;
    let mut running = Running(child, BufReader::new(output));
    let mut line = String::new();
    while running.1.read_line(&mut line)? > 0 {
        if let Some(address) = line.trim_end().strip_prefix("listening on http://") {
            let address: SocketAddr = address.parse()?;
            ensure!(address.ip().is_loopback(), "{address} is not on loopback");
            return Ok((running, address));
        }
        line.clear();
    }
    bail!("the server ended before it listened")
}
