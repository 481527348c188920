//! A PostgreSQL cluster of the tests' own, made once a run where `initdb` is found.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use tempfile::TempDir;

use super::left_out::leave_out;

/// How a server is started, but for its port.
pub(super) const OPTIONS: &str =
    "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c max_connections=500 -c shared_buffers=64MB";

/// A running cluster. It is stopped when the test process ends, by the shell that watches for that.
struct Cluster {
    _directory: TempDir,
    url: String,
}

/// A fresh database; `None` where there is no PostgreSQL to be had, and the run may go on without.
pub fn fresh_database() -> Option<String> {
    static CLUSTER: OnceLock<Option<Cluster>> = OnceLock::new();
    static NUMBER: Mutex<u32> = Mutex::new(0);
    if std::env::var_os("VESTIBULE_ON_CITUS").is_some() {
        return super::citus::fresh_database();
    }
    let cluster = found(CLUSTER.get_or_init(start).as_ref())?;
    // One at a time: databases are made by copying a template, which must be idle.
    let mut number = NUMBER.lock().unwrap_or_else(PoisonError::into_inner);
    *number += 1;
    let name = format!("test_{number}");
    let mut client = postgres::Client::connect(&format!("{}/postgres", cluster.url), postgres::NoTls).unwrap();
    client.batch_execute(&format!("create database {name}")).unwrap();
    Some(format!("{}/{name}", cluster.url))
}

/// The database of a cluster of a test's own, which may do with all of it what it likes.
pub fn fresh_cluster() -> Option<String> {
    static CLUSTERS: Mutex<Vec<Cluster>> = Mutex::new(Vec::new());
    let cluster = found(start())?;
    let url = format!("{}/postgres", cluster.url);
    CLUSTERS.lock().unwrap_or_else(PoisonError::into_inner).push(cluster);
    Some(url)
}

fn found<C>(cluster: Option<C>) -> Option<C> {
    if cluster.is_none() {
        leave_out("PostgreSQL", "initdb was not found", "VESTIBULE_REQUIRE_POSTGRES");
    }
    cluster
}

fn start() -> Option<Cluster> {
    let bin = binaries()?;
    let directory = tempfile::Builder::new().prefix("vestibule-postgres").tempdir().unwrap();
    let data = directory.path().join("data");
    if is_root() {
        assert!(Command::new("chown").arg("postgres").arg(directory.path()).status().unwrap().success());
    }
    let run = |program: &str, arguments: &[&str]| {
        let mut command = unprivileged(&bin.join(program));
        command.args(arguments).current_dir(directory.path()).stdout(Stdio::null()).stdin(Stdio::null()).status().unwrap().success()
    };
    let (path, log) = (data.to_str().unwrap(), directory.path().join("log"));
    assert!(run("initdb", &["-D", path, "-U", "vestibule", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]));
    let port = on_a_free_port(|port| {
        run("pg_ctl", &["-D", path, "-w", "-o", &format!("-p {port} {OPTIONS}"), "-l", log.to_str().unwrap(), "start"])
    });
    stop_with_this_process(&data);
    Some(Cluster { url: format!("postgres://vestibule@127.0.0.1:{port}"), _directory: directory })
}

/// Starts a server on a port that is free; something else may take it in the moment before.
pub fn on_a_free_port(mut starts: impl FnMut(u16) -> bool) -> u16 {
    for _ in 0..5 {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if starts(port) {
            return port;
        }
    }
    panic!("a server does not start");
}

pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.starts_with(b"0\n"))
}

/// A program that is not run as root: PostgreSQL and what comes with it refuse to, and its package brings a user for it.
pub fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

/// Where PostgreSQL's programs are.
pub fn binaries() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").into_iter().flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut installed: Vec<PathBuf> =
        std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin")).collect();
    installed.sort();
    installed.into_iter().rev().chain(on_path).find(|directory| directory.join("initdb").exists())
}

/// A test process ends without running destructors, so a shell outlives it to stop the cluster and remove its files.
#[expect(clippy::zombie_processes, reason = "it is to outlive this process")]
pub(super) fn stop_with_this_process(data: &Path) {
    let script = format!(
        "while kill -0 {} 2>/dev/null; do sleep 0.5; done; kill -INT $(head -1 {data}/postmaster.pid); sleep 1; rm -rf {parent}",
        std::process::id(),
        data = data.display(),
        parent = data.parent().unwrap().display(),
    );
    let nothing = || Stdio::null();
    Command::new("setsid").args(["sh", "-c", &script]).stdin(nothing()).stdout(nothing()).stderr(nothing()).spawn().unwrap();
}
