//! Runs Redis for one test, if `redis-server` is installed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::left_out::leave_out;
use super::ports::on_a_free_port;
use super::waiting::block_until;

/// A running Redis that stores nothing on disk, killed when dropped.
pub struct Redis {
    process: Child,
    port: u16,
    directory: TempDir,
}

impl Redis {
    /// Starts Redis. Returns `None` if it is not installed; the test is then skipped.
    pub fn start() -> Option<Self> {
        if Command::new("redis-server")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_err()
        {
            leave_out(
                "Redis",
                "redis-server was not found",
                "VESTIBULE_REQUIRE_REDIS",
            );
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let (port, process) = on_a_free_port(|port| run(port, &directory));
        Some(Self {
            process,
            port,
            directory,
        })
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sends `kill -9` and waits until the process has ended.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts Redis again on the same port, without data.
    pub fn restart(&mut self) {
        // Another program may use the port for a moment, so several attempts may be necessary.
        let again = || {
            run(self.port, &self.directory).or_else(|| {
                std::thread::sleep(Duration::from_millis(500));
                None
            })
        };
        self.process = (0..20)
            .find_map(|_| again())
            .expect("redis-server starts again on its port");
    }

    /// Sends a signal to Redis. After `-STOP` its connections stay open, but Redis does not
    /// respond. After `-CONT` Redis responds again.
    pub fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill")
                .args([signal, &self.process.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn run(port: u16, directory: &TempDir) -> Option<Child> {
    let mut process = Command::new("redis-server")
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ])
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    block_until("redis-server answers or ends", || {
        answers(port) || process.try_wait().unwrap().is_some()
    });
    process.try_wait().unwrap().is_none().then_some(process)
}

fn answers(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    stream
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let mut answer = [0; 5];
    stream.write_all(b"PING\r\n").is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && &answer == b"+PONG"
}
