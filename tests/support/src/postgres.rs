//! Runs a PostgreSQL cluster for all tests of a run, if `initdb` is installed.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use tempfile::TempDir;

use super::left_out::leave_out;
use super::ports::on_a_free_port;
use super::server_process::output_of;

/// Options of the PostgreSQL server. The port is not one of them, because each cluster has another
/// port.
pub(super) const OPTIONS: &str = "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c \
    fsync=off -c max_connections=500 -c shared_buffers=64MB";

/// Additional options of the cluster that all tests share. With these options PostgreSQL writes
/// little to the write-ahead log. A cluster with these options cannot have standbys.
const SHARED: &str = "-c full_page_writes=off -c wal_level=minimal -c max_wal_senders=0";

/// The number of free bytes in the in-memory file system from which clusters are in memory.
const MIN_MEMORY: u64 = 8 << 30;

/// A running PostgreSQL cluster in a temporary directory. A shell stops the cluster when the test
/// process ends.
struct Cluster {
    _directory: TempDir,
    url: String,
}

/// Creates an empty database. Returns `None` if PostgreSQL is not installed; the test is then
/// skipped.
pub fn fresh_database() -> Option<String> {
    fresh_database_with("")
}

/// Number of databases of ended tests that stay on the disk. Beyond it the oldest are removed,
/// because the databases of all tests together need several GiB. Below it none are removed, because
/// removing a database takes as long as creating one.
const ENDED_DATABASES: usize = 150;

/// The database of one test. Dropping this value allows the database to be removed.
pub struct TestDatabase {
    pub url: String,
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        static ENDED: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());
        let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push_back(self.url.clone());
        if ended.len() > ENDED_DATABASES
            && let Some(url) = ended.pop_front()
        {
            // This thread can be one of the asynchronous runtime, in which the client must not run.
            std::thread::spawn(move || remove_database(&url));
        }
    }
}

/// Removes a database. Does nothing if its cluster has been stopped: the files of the cluster are
/// then removed.
fn remove_database(url: &str) {
    let Some((cluster, name)) = url.rsplit_once('/') else {
        return;
    };
    let client = postgres::Client::connect(&format!("{cluster}/postgres"), postgres::NoTls);
    if let Ok(mut client) = client {
        client
            .batch_execute(&format!("drop database {name} with (force)"))
            .ok();
    }
}

/// Creates a database with all tables, as a copy of a migrated database. PostgreSQL copies the
/// files, because a copy through the write-ahead log would take more than twice as long. On Citus,
/// returns an empty database. Returns `None` if PostgreSQL is not installed.
pub fn migrated_database() -> Option<TestDatabase> {
    static TEMPLATE: OnceLock<Option<String>> = OnceLock::new();
    if std::env::var_os("VESTIBULE_ON_CITUS").is_some() {
        return fresh_database().map(|url| TestDatabase { url });
    }
    let template = TEMPLATE.get_or_init(|| {
        let url = fresh_database()?;
        let output =
            output_of(Command::new(super::program()).args(["migrate", "--database-url", &url]));
        assert!(output.status.success(), "{output:?}");
        url.rsplit('/').next().map(str::to_owned)
    });
    let url = fresh_database_with(&format!(
        "template {} strategy file_copy",
        template.as_ref()?
    ))?;
    Some(TestDatabase { url })
}

/// Creates a database with this encoding, such as `LATIN1`.
pub fn fresh_database_of(encoding: &str) -> Option<String> {
    fresh_database_with(&format!(
        "encoding '{encoding}' lc_collate 'C' lc_ctype 'C' template template0"
    ))
}

fn fresh_database_with(options: &str) -> Option<String> {
    static CLUSTER: OnceLock<Option<Cluster>> = OnceLock::new();
    static NUMBER: Mutex<u32> = Mutex::new(0);
    if std::env::var_os("VESTIBULE_ON_CITUS").is_some() {
        return super::citus::fresh_database();
    }
    let cluster = or_skip(CLUSTER.get_or_init(|| start(SHARED)).as_ref())?;
    // PostgreSQL creates a database as a copy of a template, and refuses while another session uses
    // the template. The tests therefore create databases one at a time.
    let mut number = NUMBER.lock().unwrap_or_else(PoisonError::into_inner);
    *number += 1;
    let name = format!("test_{number}");
    let mut client =
        postgres::Client::connect(&format!("{}/postgres", cluster.url), postgres::NoTls).unwrap();
    client
        .batch_execute(&format!("create database {name} {options}"))
        .unwrap();
    Some(format!("{}/{name}", cluster.url))
}

/// Starts a separate cluster for one test, which may change settings of the whole cluster. Returns
/// the URL of a database in it; `None` if PostgreSQL is not installed.
pub fn fresh_cluster() -> Option<String> {
    static CLUSTERS: Mutex<Vec<Cluster>> = Mutex::new(Vec::new());
    let cluster = or_skip(start(""))?;
    let url = format!("{}/postgres", cluster.url);
    CLUSTERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(cluster);
    Some(url)
}

fn or_skip<C>(cluster: Option<C>) -> Option<C> {
    if cluster.is_none() {
        leave_out(
            "PostgreSQL",
            "initdb was not found",
            "VESTIBULE_REQUIRE_POSTGRES",
        );
    }
    cluster
}

fn start(options: &str) -> Option<Cluster> {
    let bin = binaries()?;
    let directory = tempfile::Builder::new()
        .prefix("vestibule-postgres")
        .tempdir_in(cluster_folder())
        .unwrap();
    let data = directory.path().join("data");
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
    let run = |program: &str, arguments: &[&str]| {
        let mut command = unprivileged(&bin.join(program));
        command
            .args(arguments)
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .stdin(Stdio::null())
            .status()
            .unwrap()
            .success()
    };
    let (path, log) = (data.to_str().unwrap(), directory.path().join("log"));
    assert!(run(
        "initdb",
        &[
            "-D",
            path,
            "-U",
            "vestibule",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync"
        ]
    ));
    let (port, ()) = on_a_free_port(|port| {
        run(
            "pg_ctl",
            &[
                "-D",
                path,
                "-w",
                "-o",
                &format!("-p {port} {OPTIONS} {options}"),
                "-l",
                log.to_str().unwrap(),
                "start",
            ],
        )
        .then_some(())
    });
    stop_with_this_process(&data);
    Some(Cluster {
        url: format!("postgres://vestibule@127.0.0.1:{port}"),
        _directory: directory,
    })
}

/// The folder for the files of clusters: in memory, if there is room for the databases of all test
/// binaries. Each test's database is a copy of 600 files, and the file system of a disk takes long
/// to create and remove them: the tests on PostgreSQL then take about half as long again.
fn cluster_folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let has_room = rustix::fs::statvfs(memory)
        .is_ok_and(|state| state.f_bavail * state.f_frsize >= MIN_MEMORY);
    if has_room {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

pub fn is_root() -> bool {
    Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.starts_with(b"0\n"))
}

/// Returns a command that does not run as root, because PostgreSQL's programs refuse root. It runs
/// as the user `postgres`, which the PostgreSQL package creates.
pub fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
        .arg(program);
    command
}

/// Returns the directory of PostgreSQL's programs; `None` if PostgreSQL is not installed.
pub fn binaries() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut installed: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .collect();
    installed.sort();
    installed
        .into_iter()
        .rev()
        .chain(on_path)
        .find(|directory| directory.join("initdb").exists())
}

/// Starts a shell that waits until this process has ended. The shell then stops the cluster and
/// removes its files. Destructors cannot do this, because a test process ends without running
/// destructors.
#[expect(clippy::zombie_processes, reason = "it is to outlive this process")]
pub(super) fn stop_with_this_process(data: &Path) {
    let script = format!(
        "while kill -0 {} 2>/dev/null; do sleep 0.5; done; kill -INT $(head -1 \
            {data}/postmaster.pid); sleep 1; rm -rf {parent}",
        std::process::id(),
        data = data.display(),
        parent = data.parent().unwrap().display(),
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
