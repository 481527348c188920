//! Three PostgreSQL servers with Citus: a coordinator and two workers. They start once per test
//! run, if the extension is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use postgres::{Client, NoTls};
use tempfile::TempDir;

use super::left_out::leave_out;
use super::ports::on_a_free_port;
use super::postgres::{binaries, is_root, unprivileged};

/// Number of shards of a table. With four shards a table, no worker has all of them, and the
/// creation of a database takes about a second.
const SHARDS: u32 = 4;

/// The three servers. A shell stops them when the test process ends.
pub struct Servers {
    bin: PathBuf,
    directory: TempDir,
    /// The ports of the coordinator and of the workers.
    ports: [u16; 3],
}

impl Servers {
    /// Starts the servers. Returns `None` if Citus is not installed; the test is then skipped.
    pub fn start() -> Option<Self> {
        let Some(bin) = binaries().filter(|bin| has_extension(bin)) else {
            leave_out(
                "Citus",
                "its extension or initdb was not found",
                "VESTIBULE_REQUIRE_CITUS",
            );
            return None;
        };
        let directory = tempfile::Builder::new()
            .prefix("vestibule-citus")
            .tempdir()
            .unwrap();
        if is_root() {
            assert!(
                Command::new("chown")
                    .arg("postgres")
                    .arg(directory.path())
                    .status()
                    .unwrap()
                    .success()
            );
        }
        let mut servers = Self {
            bin,
            directory,
            ports: [0; 3],
        };
        for server in 0..servers.ports.len() {
            let data = servers.data(server);
            let settings = [
                "-D",
                data.to_str().unwrap(),
                "-U",
                "vestibule",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
            ];
            assert!(servers.run("initdb", &settings));
            (servers.ports[server], ()) =
                on_a_free_port(|port| servers.try_start(server, port).then_some(()));
        }
        stop_with_this_process(servers.directory.path());
        Some(servers)
    }

    /// Creates a database without tables on all three servers, and registers the workers at the
    /// coordinator. Returns the URL of the database on the coordinator.
    pub fn database(&self, name: &str) -> String {
        for server in 0..self.ports.len() {
            self.client(server, "postgres")
                .batch_execute(&format!("create database {name}"))
                .unwrap();
            self.client(server, name)
                .batch_execute("create extension citus")
                .unwrap();
        }
        let [coordinator, one, two] = self.ports;
        let nodes = format!(
            "select citus_set_coordinator_host('127.0.0.1', {coordinator}); select \
                citus_add_node('127.0.0.1', {one}); select citus_add_node('127.0.0.1', {two})"
        );
        self.client(0, name).batch_execute(&nodes).unwrap();
        format!("postgres://vestibule@127.0.0.1:{coordinator}/{name}")
    }

    /// Stops a server immediately, without a clean shutdown, and starts it again.
    pub fn crash(&self, server: usize) {
        assert!(self.run(
            "pg_ctl",
            &[
                "-D",
                self.data(server).to_str().unwrap(),
                "-m",
                "immediate",
                "-w",
                "stop"
            ]
        ));
        // Another program may use the port for a moment, so several attempts may be necessary.
        let mut attempts = 0;
        while !self.try_start(server, self.ports[server]) {
            attempts += 1;
            assert!(attempts < 20, "the server does not rise again");
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// Closes every connection to this worker that comes from another server.
    pub fn cut(&self, worker: usize) {
        let cut = "select pg_terminate_backend(pid) from pg_stat_activity where application_name \
            like 'citus%gpid=%'";
        self.client(worker, "postgres").batch_execute(cut).unwrap();
    }

    fn client(&self, server: usize, database: &str) -> Client {
        Client::connect(
            &format!(
                "postgres://vestibule@127.0.0.1:{}/{database}",
                self.ports[server]
            ),
            NoTls,
        )
        .unwrap()
    }

    fn data(&self, server: usize) -> PathBuf {
        self.directory.path().join(format!("data{server}"))
    }

    fn try_start(&self, server: usize, port: u16) -> bool {
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c \
                max_connections=400 -c shared_buffers=64MB -c shared_preload_libraries=citus -c \
                citus.node_conninfo=sslmode=disable -c citus.shard_count={SHARDS} -c \
                max_prepared_transactions=400"
        );
        let log = self.directory.path().join(format!("log{server}"));
        self.run(
            "pg_ctl",
            &[
                "-D",
                self.data(server).to_str().unwrap(),
                "-w",
                "-o",
                &options,
                "-l",
                log.to_str().unwrap(),
                "start",
            ],
        )
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        let mut command = unprivileged(&self.bin.join(program));
        // The servers connect to each other with libpq, which reads credentials from the home
        // directory. This directory contains none.
        command
            .env("HOME", self.directory.path())
            .args(arguments)
            .current_dir(self.directory.path());
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .status()
            .unwrap()
            .success()
    }
}

/// Creates a database with distributed tables. Returns its URL; `None` if Citus is not installed.
pub fn fresh_database() -> Option<String> {
    let url = fresh_undistributed()?;
    store::distribute(&url, &vestibule::migrations(), &vestibule::SHARDING).unwrap();
    Some(url)
}

/// Creates a database with the Citus extension. Its tables are not distributed yet.
pub fn fresh_undistributed() -> Option<String> {
    static SERVERS: OnceLock<Option<Servers>> = OnceLock::new();
    static NUMBER: Mutex<u32> = Mutex::new(0);
    let servers = SERVERS.get_or_init(Servers::start).as_ref()?;
    let mut number = NUMBER
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    *number += 1;
    Some(servers.database(&format!("test_{number}")))
}

fn has_extension(bin: &Path) -> bool {
    let shared_directory = Command::new(bin.join("pg_config"))
        .arg("--sharedir")
        .output()
        .ok();
    let shared = shared_directory
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    let beside = bin
        .parent()
        .and_then(Path::file_name)
        .map(|version| Path::new("/usr/share/postgresql").join(version));
    [Some(PathBuf::from(shared.trim())), beside]
        .into_iter()
        .flatten()
        .any(|folder| folder.join("extension/citus.control").exists())
}

/// Starts a shell that waits until this process has ended. The shell then stops the servers and
/// removes their files. Destructors cannot do this, because a test process ends without running
/// destructors.
#[expect(clippy::zombie_processes, reason = "it is to outlive this process")]
fn stop_with_this_process(directory: &Path) {
    let script = format!(
        "while kill -0 {} 2>/dev/null; do sleep 0.5; done; for pid in \
            {directory}/data*/postmaster.pid; do kill -INT $(head -1 $pid); done; sleep 2; rm -rf \
            {directory}",
        std::process::id(),
        directory = directory.display(),
    );
    let nothing = || Stdio::null();
    Command::new("setsid")
        .args(["sh", "-c", &script])
        .stdin(nothing())
        .stdout(nothing())
        .stderr(nothing())
        .spawn()
        .unwrap();
}
