//! Tests of a full disk, and of a disk whose fsync fails. A refused write leaves no data, and reads
//! still succeed.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use futures_util::future::join_all;
use tempfile::TempDir;
use test_support::left_out::leave_out;

use super::{Client, Process, assert_intact, sqlite_in};

/// A small file system for one test, unmounted when dropped. It is a little larger than the largest
/// write-ahead log.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts a file system of 32 MiB in a temporary directory. Returns `None` if this process may
    /// not mount; the test is then skipped.
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=32m", "tmpfs"])
            .arg(directory.path())
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(directory));
        }
        leave_out(
            "a full disk",
            "a tmpfs cannot be mounted, which takes root",
            "VESTIBULE_REQUIRE_TMPFS",
        );
        None
    }

    /// Fills the free space with a file. Returns the file's path. Removing the file frees the
    /// space.
    fn fill(&self) -> PathBuf {
        let path = self.0.path().join("ballast");
        let mut file = std::fs::File::create(&path).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount")
            .arg("-l")
            .arg(self.0.path())
            .status()
            .ok();
    }
}

/// On a full disk, writes get a 503 and leave no data, while reads still succeed. After space has
/// been freed, writes succeed without a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_refuses_writes_completely_and_still_serves_reads() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let database_url = sqlite_in(disk.0.path());
    let server = Process::start(&database_url);
    let fill = || {
        let ballast = disk.fill();
        move || std::fs::remove_file(ballast).unwrap()
    };
    // Writes that fit into the existing write-ahead log may still succeed, so only half of the 200
    // writes must be refused.
    assert_writes_refused_completely(server, &database_url, 100, fill).await;
}

/// Source of a library for `LD_PRELOAD`. The library makes `fsync` and `fdatasync` fail as long as
/// the file that `VESTIBULE_TEST_BROKEN` names exists.
const NO_FSYNC: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int is_broken(void) {
    const char *path = getenv("VESTIBULE_TEST_BROKEN");
    return path && access(path, F_OK) == 0;
}
static int ask(const char *name, int file) {
    if (is_broken()) { errno = EIO; return -1; }
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}
int fsync(int file) { return ask("fsync", file); }
int fdatasync(int file) { return ask("fdatasync", file); }
"#;

/// While fsync fails, the server acknowledges no write.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failing_fsync_refuses_writes_and_still_serves_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("no_fsync.c"), NO_FSYNC).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([path("no_fsync.so"), path("no_fsync.c")])
        .arg("-ldl")
        .status();
    assert!(
        built.unwrap().success(),
        "a C compiler builds SQLite, and this"
    );
    let database_url = sqlite_in(directory.path());
    let broken = path("broken");
    let server = Process::start_with(
        &database_url,
        &[
            ("LD_PRELOAD", &path("no_fsync.so")),
            ("VESTIBULE_TEST_BROKEN", &broken),
        ],
    );
    let break_it = || {
        std::fs::write(&broken, "").unwrap();
        || std::fs::remove_file(&broken).unwrap()
    };
    assert_writes_refused_completely(server, &database_url, 200, break_it).await;
}

/// Sends writes before, during and after a disk failure. `break_it` starts the failure and returns
/// a function that ends it. The server must refuse at least `least_refused` of the 200 writes
/// during the failure.
async fn assert_writes_refused_completely<Mend: FnOnce()>(
    mut server: Process,
    database_url: &str,
    least_refused: usize,
    break_it: impl FnOnce() -> Mend,
) {
    const BEFORE: usize = 20;
    const DURING: usize = 200;
    let client = Client::of(&server).await;
    let name = |number: usize| format!("manual {number}");
    for number in 0..BEFORE {
        assert_eq!(client.create(&name(number)).await.unwrap().status, 201);
    }
    let mend = break_it();
    let (mut acknowledged, mut refused) = ((0..BEFORE).map(name).collect::<Vec<_>>(), Vec::new());
    // The test sends ten requests at once, so that some of their writes share a commit.
    for first in (BEFORE..BEFORE + DURING).step_by(10) {
        let names: Vec<_> = (first..first + 10).map(name).collect();
        for (answer, name) in join_all(names.iter().map(|name| client.create(name)))
            .await
            .into_iter()
            .zip(&names)
        {
            let answer = answer.expect("an answer");
            match answer.status {
                201 => acknowledged.push(name.clone()),
                503 => refused.push(name.clone()),
                status => panic!("{status} {}", answer.body),
            }
        }
        assert_eq!(client.get("/api/v1/portals").await.unwrap().status, 200);
    }
    assert!(
        refused.len() >= least_refused,
        "{} of {DURING} were refused",
        refused.len()
    );
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    assert_eq!(
        sorted(client.manuals().await.into_keys().collect()),
        sorted(acknowledged.clone()),
        "all or nothing"
    );
    assert_eq!(
        client
            .http
            .get(format!("{}/readyz", server.base))
            .send()
            .await
            .unwrap()
            .status(),
        200
    );

    mend();
    for name in &refused {
        let answer = client.create(name).await.unwrap();
        assert_eq!(
            (answer.status, answer.is_replay),
            (201, false),
            "{}",
            answer.body
        );
    }
    assert_eq!(client.manuals().await.len(), BEFORE + DURING);
    server.assert_sound();
    server.kill();
    let server = Process::start(database_url);
    client.base.lock().unwrap().clone_from(&server.base);
    assert_eq!(client.manuals().await.len(), BEFORE + DURING);
    assert_intact(database_url);
}
