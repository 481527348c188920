//! Runs `vestibule serve` as a process, and reads the address that it prints.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::waiting::PAUSE;
use super::{PLATFORM_KEY, choose_tls_provider};

/// Time limit of a process to print its address, to refuse its settings, or to end after a signal.
const PROCESS_LIMIT: Duration = Duration::from_mins(2);

/// Returns a command that starts a server on this database, with the tests' platform key. The
/// server listens on a free port unless `flags` name an address. It has no rate limits except those
/// in `flags`.
pub fn serve(database_url: &str, flags: &[&str]) -> Command {
    serve_by(super::program(), database_url, flags)
}

/// Returns the same command as [`serve`], but for the binary `program`.
pub fn serve_by(program: impl AsRef<OsStr>, database_url: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.arg("serve");
    if !flags.iter().any(|flag| flag.starts_with("--listen")) {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command
        .args(["--database-url", database_url])
        .args(["--platform-key", PLATFORM_KEY])
        .args(flags);
    for limit in [
        "--rate-limit-per-minute",
        "--rate-limit-per-second",
        "--console-rate-limit-per-minute",
        "--console-rate-limit-per-second",
    ] {
        if !flags.contains(&limit) {
            command.args([limit, "0"]);
        }
    }
    command
}

/// Returns a command that starts a server in this directory. Its environment variables are
/// `variables`, which set the database and all other settings. Unless they name an address, the
/// server listens on a free port.
pub fn serve_in(directory: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(super::program());
    command
        .arg("serve")
        .current_dir(directory)
        .env("VESTIBULE_LISTEN", "127.0.0.1:0")
        .envs(variables.iter().copied());
    command
}

/// Runs a command without input until it ends, and returns its exit status and its output. Kills
/// the command and panics if it does not end in time, for example because a server accepts settings
/// that it should refuse.
#[track_caller]
pub fn output_of(command: &mut Command) -> Output {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (pid, (has_ended, end)) = (child.id().to_string(), mpsc::channel::<()>());
    let watch = std::thread::spawn(move || {
        let is_late = end.recv_timeout(PROCESS_LIMIT) == Err(mpsc::RecvTimeoutError::Timeout);
        if is_late {
            drop(Command::new("kill").args(["-KILL", &pid]).status());
        }
        is_late
    });
    let output = child.wait_with_output().unwrap();
    drop(has_ended);
    let is_late = watch.join().unwrap();
    assert!(!is_late, "{command:?} did not end within {PROCESS_LIMIT:?}");
    output
}

/// Waits until a process has ended. Kills the process and panics if it does not end in time.
pub fn wait_for_end(process: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > PROCESS_LIMIT {
            process.kill().ok();
            panic!("the process did not end within {PROCESS_LIMIT:?}");
        }
        std::thread::sleep(PAUSE);
    }
}

/// A running server, killed when dropped.
pub struct ServerProcess {
    child: Child,
    /// The base URL that the server has printed after its start.
    pub base: String,
    /// The reading end of the pipe to which the server prints. This field keeps the pipe open, so
    /// that the server can print after its start.
    _output: Option<BufReader<ChildStdout>>,
}

impl ServerProcess {
    /// Runs a command, discards its log, and waits until the server listens.
    pub fn start(command: &mut Command) -> Self {
        Self::start_with_log(command, Stdio::null())
    }

    /// Runs a command, writes its log to a file or pipe, and waits until the server listens.
    pub fn start_with_log(command: &mut Command, log: impl Into<Stdio>) -> Self {
        Self::start_reading(command, log, |output| {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            line.trim()
                .strip_prefix("listening on ")
                .unwrap_or_else(|| panic!("the server prints no address, but {line:?}"))
                .to_owned()
        })
    }

    /// Runs a command, and reads its standard output until `read` has found the server's address.
    /// Kills the process if that takes too long. `read` then reaches the end of the output.
    pub fn start_reading(
        command: &mut Command,
        log: impl Into<Stdio>,
        read: impl FnOnce(&mut BufReader<ChildStdout>) -> String,
    ) -> Self {
        choose_tls_provider();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let watched = &mut child;
        let base = std::thread::scope(|scope| {
            let (done, is_done) = mpsc::channel();
            scope.spawn(move || {
                // If `read` panics, `done` is dropped and this thread kills the process at once.
                if is_done.recv_timeout(PROCESS_LIMIT).is_err() {
                    watched.kill().ok();
                }
            });
            let base = read(&mut output);
            done.send(())
                .expect("the process prints its address in time");
            base
        });
        Self {
            child,
            base,
            _output: Some(output),
        }
    }

    /// Runs a command whose standard output goes to `output`. This process cannot read the address
    /// that the server prints there, so `base` is empty.
    pub fn start_with_output(
        command: &mut Command,
        output: impl Into<Stdio>,
        log: impl Into<Stdio>,
    ) -> Self {
        choose_tls_provider();
        Self {
            child: command.stdout(output).stderr(log).spawn().unwrap(),
            base: String::new(),
            _output: None,
        }
    }

    /// Returns the host and the port of the server.
    pub fn address(&self) -> &str {
        self.base.strip_prefix("http://").unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the process, for example `-TERM`.
    pub fn signal(&self, signal: &str) {
        let pid = self.pid().to_string();
        let status = Command::new("kill").args([signal, &pid]).status();
        assert!(status.unwrap().success());
    }

    /// Sends `kill -9` and waits until the process has ended.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the process has ended.
    pub fn wait(&mut self) -> ExitStatus {
        wait_for_end(&mut self.child)
    }

    /// Returns the exit status of the process, if the process has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    pub fn is_running(&mut self) -> bool {
        self.try_wait().is_none()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
