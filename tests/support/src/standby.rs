//! A PostgreSQL standby of the tests' cluster, with streaming replication.

use std::process::Stdio;

use tempfile::TempDir;

use super::ports::on_a_free_port;
use super::postgres::{OPTIONS, binaries, is_root, stop_with_this_process, unprivileged};
use super::waiting::block_until;

/// A running standby. When the test process ends, the standby is stopped.
pub struct Standby {
    /// URL of the database on the primary.
    primary: String,
    /// URL of the same database on the standby.
    pub database_url: String,
    _directory: TempDir,
}

impl Standby {
    /// Starts a standby of the cluster to which the database belongs. Waits until the standby has
    /// caught up.
    pub fn of(primary: &str) -> Self {
        let bin = binaries().unwrap();
        let directory = tempfile::Builder::new()
            .prefix("vestibule-standby")
            .tempdir()
            .unwrap();
        if is_root() {
            assert!(
                std::process::Command::new("chown")
                    .arg("postgres")
                    .arg(directory.path())
                    .status()
                    .unwrap()
                    .success()
            );
        }
        let data = directory.path().join("data");
        let mut url = url::Url::parse(primary).unwrap();
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
            "pg_basebackup",
            &[
                "-d",
                &primary.replace("/postgres", "/postgres?application_name=standby"),
                "-D",
                path,
                "-R",
                "-X",
                "stream",
                "-c",
                "fast",
                "--no-sync",
            ],
        ));
        let (port, ()) = on_a_free_port(|port| {
            run(
                "pg_ctl",
                &[
                    "-D",
                    path,
                    "-w",
                    "-o",
                    &format!("-p {port} {OPTIONS}"),
                    "-l",
                    log.to_str().unwrap(),
                    "start",
                ],
            )
            .then_some(())
        });
        stop_with_this_process(&data);
        url.set_port(Some(port)).unwrap();
        let standby = Self {
            primary: primary.to_owned(),
            database_url: url.into(),
            _directory: directory,
        };
        standby.until_caught_up();
        standby
    }

    /// Pauses the replay. The standby still receives changes, but queries on the standby do not see
    /// them.
    pub fn pause(&self) {
        query_text(&self.database_url, "select pg_wal_replay_pause()::text");
        block_until("the standby pauses the replay", || {
            query_text(&self.database_url, "select pg_get_wal_replay_pause_state()") == "paused"
        });
    }

    /// Resumes the replay of the primary's changes on the standby.
    pub fn resume(&self) {
        query_text(&self.database_url, "select pg_wal_replay_resume()::text");
    }

    /// Makes every commit of the primary wait until the standby has received it.
    pub fn make_synchronous(&self) {
        let mut client = postgres::Client::connect(&self.primary, postgres::NoTls).unwrap();
        let named = "alter system set synchronous_standby_names = 'standby'";
        client.execute(named, &[]).unwrap();
        query_text(&self.primary, "select pg_reload_conf()::text");
        let state = "select sync_state from pg_stat_replication where application_name = 'standby'";
        block_until("the standby is synchronous", || {
            query_text(&self.primary, state) == "sync"
        });
    }

    /// Promotes the standby to a primary.
    pub fn promote(&self) {
        assert_eq!(
            query_text(&self.database_url, "select pg_promote()::text"),
            "true"
        );
    }

    /// Waits until the standby has replayed everything that the primary has written.
    pub fn until_caught_up(&self) {
        let written = query_text(&self.primary, "select pg_current_wal_lsn()::text");
        let asked = format!("select (pg_last_wal_replay_lsn() >= '{written}'::pg_lsn)::text");
        block_until("the standby catches up", || {
            query_text(&self.database_url, &asked) == "true"
        });
    }
}

fn query_text(url: &str, sql: &str) -> String {
    let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
    let row = client.query_one(sql, &[]);
    row.map_or_else(|_| String::new(), |row| row.try_get(0).unwrap_or_default())
}
