//! Runs `vestibule serve` as a process, and reads the address that it prints.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use super::{PLATFORM_KEY, choose_tls_provider};

/// Returns a command that starts a server on this database, with the tests' platform key. The
/// server listens on a free port unless `flags` name an address. It has no rate limits except those
/// in `flags`.
pub fn serve(database_url: &str, flags: &[&str]) -> Command {
    serve_by(env!("CARGO_BIN_EXE_vestibule"), database_url, flags)
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

/// A running server, killed when dropped.
pub struct ServerProcess {
    child: Child,
    /// The address that the server has printed.
    pub base: String,
    /// The reading end of the pipe to which the server prints. If the pipe closed, the server could
    /// not print any more.
    _output: Option<BufReader<ChildStdout>>,
}

impl ServerProcess {
    /// Runs a command, discards its log, and waits until it listens.
    pub fn start(command: &mut Command) -> Self {
        Self::start_with_log(command, Stdio::null())
    }

    /// Runs a command, writes its log to a file or pipe, and waits until it listens.
    pub fn start_with_log(command: &mut Command, log: impl Into<Stdio>) -> Self {
        Self::start_reading(command, log, |output| {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            line.trim()
                .strip_prefix("listening on ")
                .unwrap_or_else(|| panic!("{line:?}"))
                .to_owned()
        })
    }

    /// Runs a command, and reads its standard output until `read` has found the server's address.
    pub fn start_reading(
        command: &mut Command,
        log: impl Into<Stdio>,
        read: impl FnOnce(&mut BufReader<ChildStdout>) -> String,
    ) -> Self {
        choose_tls_provider();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let base = read(&mut output);
        Self {
            child,
            base,
            _output: Some(output),
        }
    }

    /// Runs a command whose standard output goes elsewhere. The address of the server is therefore
    /// unknown.
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
        self.child.wait().unwrap()
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
