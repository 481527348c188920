//! The server that is attacked: a process of its own, which may end and be started again on the same database.

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

/// The platform interface's key.
pub const PLATFORM_KEY: &str = "pk_attack";
/// Longer than an orderly end may take.
const END: Duration = Duration::from_secs(30);
/// What stands in the log of a server that has a defect.
const TROUBLE: [&str; 3] = ["panicked", "\"message\":\"failed\"", "could not be rolled back"];

/// Where the server is at this moment.
#[derive(Debug, Clone, Default)]
pub struct Target(Arc<Mutex<Option<(SocketAddr, u32)>>>);

impl Target {
    fn set(&self, address: SocketAddr, process: u32) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((address, process));
    }

    fn get(&self) -> anyhow::Result<(SocketAddr, u32)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).context("no server was started")
    }

    /// Where it listens.
    pub fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.get()?.0)
    }

    /// Memory that it occupies, in MiB.
    pub fn resident(&self) -> anyhow::Result<f64> {
        machine::resident(self.get()?.1)
    }
}

/// A server; killed when dropped.
pub struct Server {
    /// Where it is.
    pub target: Target,
    command: Command,
    running: Running,
    log: PathBuf,
    /// A log that nobody reads, as long as it is there.
    _unread: Option<PipeReader>,
    _directory: TempDir,
}

/// A process that does not outlive this value.
struct Running(Child, BufReader<ChildStdout>);

impl Drop for Running {
    fn drop(&mut self) {
        // It fails when the process has ended by itself, which is as good.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Server {
    /// Starts it, on a new SQLite database inside `scratch` if no other is given. The log goes to a file, or to a pipe that
    /// is never emptied.
    pub fn start(binary: &Path, scratch: &Path, database: Option<&str>, is_log_read: bool) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir_in(scratch)?;
        let own = format!("sqlite:{}", directory.path().join("vestibule.db").display());
        let mut command = Command::new(binary);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("VESTIBULE_")) {
            command.env_remove(name);
        }
        command.current_dir(directory.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        command.args(["serve", "--listen", "127.0.0.1:0", "--platform-key", PLATFORM_KEY, "--webhook-allow", "127.0.0.0/8"]);
        command.args(["--database-url", database.unwrap_or(&own)]);
        // Nothing that a limit of requests would keep away; that of a guest stays.
        command.args(["--rate-limit-per-minute", "0", "--rate-limit-per-second", "0"]);
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
        let (running, address) = run(&mut command)?;
        let target = Target::default();
        target.set(address, running.0.id());
        Ok(Self { target, command, running, log, _unread: unread, _directory: directory })
    }

    /// Starts it again, after it has ended.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        let (running, address) = tokio::task::block_in_place(|| run(&mut self.command))?;
        self.target.set(address, running.0.id());
        self.running = running;
        Ok(())
    }

    /// `kill -9`, and the end of it.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.running.0.kill()?;
        self.running.0.wait()?;
        Ok(())
    }

    /// SIGTERM, and the end of it: how, and how long it took.
    pub async fn terminate(&mut self) -> anyhow::Result<(ExitStatus, Duration)> {
        let begun = Instant::now();
        let process = self.running.0.id().to_string();
        ensure!(Command::new("kill").args(["-TERM", &process]).status()?.success(), "no signal could be sent");
        while begun.elapsed() < END {
            if let Some(status) = self.running.0.try_wait()? {
                return Ok((status, begun.elapsed()));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bail!("it does not end")
    }

    /// The lines of its log that tell of a defect.
    pub fn trouble(&self) -> anyhow::Result<Vec<String>> {
        let log = fs::read_to_string(&self.log)?;
        let is_trouble = |line: &&str| TROUBLE.iter().any(|trouble| line.contains(trouble));
        Ok(log.lines().filter(is_trouble).map(str::to_owned).collect())
    }
}

/// Starts a process, and waits until it says where it listens. Blocks.
fn run(command: &mut Command) -> anyhow::Result<(Running, SocketAddr)> {
    let mut child = command.spawn().with_context(|| command.get_program().display().to_string())?;
    let output = child.stdout.take().context("a process without standard output")?;
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
