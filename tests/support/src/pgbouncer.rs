//! Runs PgBouncer in front of one database, for one test.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::left_out::leave_out;
use super::ports::on_a_free_port;
use super::postgres::{is_root, unprivileged};
use super::waiting::block_until;

/// A running PgBouncer in front of one database, with its settings and its port. Dropping this
/// value kills the process.
pub struct PgBouncer {
    process: Child,
    program: &'static str,
    settings: PathBuf,
    port: u16,
    /// The URL with which a node connects to the database through PgBouncer.
    pub database_url: String,
    _directory: TempDir,
}

impl PgBouncer {
    /// Starts PgBouncer. Returns `None` if it is not installed; the test is then skipped. `pool`
    /// contains additional settings of PgBouncer.
    pub fn in_front_of(database_url: &str, pool: &str) -> Option<Self> {
        let Some(program) = [
            "/usr/sbin/pgbouncer",
            "/usr/bin/pgbouncer",
            "/usr/local/bin/pgbouncer",
        ]
        .into_iter()
        .find(|path| Path::new(path).exists()) else {
            leave_out(
                "PgBouncer",
                "pgbouncer was not found",
                "VESTIBULE_REQUIRE_PGBOUNCER",
            );
            return None;
        };
        let url = url::Url::parse(database_url).unwrap();
        let (server, database, user) = (
            url.port().unwrap(),
            url.path().trim_start_matches('/'),
            url.username(),
        );
        let directory = tempfile::tempdir().unwrap();
        let settings = directory.path().join("pgbouncer.ini");
        let (port, process) = on_a_free_port(|port| {
            let text = format!(
                "[databases]\n{database} = host=127.0.0.1 port={server} dbname={database} \
                    user={user}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = \
                    {port}\nunix_socket_dir =\nauth_type = any\n{pool}\n"
            );
            std::fs::write(&settings, text).unwrap();
            run(program, &settings, port)
        });
        let database_url = format!("postgres://{user}@127.0.0.1:{port}/{database}");
        Some(Self {
            process,
            program,
            settings,
            port,
            database_url,
            _directory: directory,
        })
    }

    /// Sends `kill -9`. All connections through PgBouncer end, and new connections are refused.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts PgBouncer again on the same port.
    pub fn restart(&mut self) {
        self.process =
            run(self.program, &self.settings, self.port).expect("pgbouncer starts again");
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn run(program: &str, settings: &Path, port: u16) -> Option<Child> {
    if is_root() {
        assert!(
            Command::new("chown")
                .arg("-R")
                .arg("postgres")
                .arg(settings.parent().unwrap())
                .status()
                .unwrap()
                .success()
        );
    }
    let mut command = unprivileged(Path::new(program));
    let mut process = command
        .arg(settings)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    block_until("pgbouncer listens or ends", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok() || process.try_wait().unwrap().is_some()
    });
    process.try_wait().unwrap().is_none().then_some(process)
}
