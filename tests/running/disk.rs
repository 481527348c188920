//! Tests of a service whose disk does not confirm writes, or confirms them late. They check the
//! meaning of a 503 for a write, and the ways in which a client learns the outcome of the write.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use test_support::node::Node;
use test_support::waiting::wait_until;
use test_support::{Api, ApiResponse};

/// C source of a library that is loaded before the C library and replaces its functions that flush
/// files to the disk. `VESTIBULE_TEST_FAILS` and `VESTIBULE_TEST_HANGS` each name a file. While the
/// first file exists, flushes fail. While the second file exists, flushes wait.
const DISK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static int is_there(const char *name) {
    const char *path = getenv(name);
    return path && access(path, F_OK) == 0;
}
static void note(const char *name) {
    const char *path = getenv(name);
    if (path) close(open(path, O_CREAT | O_WRONLY, 0600));
}
static int ask(const char *name, int file) {
    while (is_there("VESTIBULE_TEST_HANGS")) { note("VESTIBULE_TEST_WAITS"); usleep(1000); }
    if (is_there("VESTIBULE_TEST_FAILS")) { errno = EIO; return -1; }
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}
int fsync(int file) { return ask("fsync", file); }
int fdatasync(int file) { return ask("fdatasync", file); }
"#;

struct Disk(TempDir);

impl Disk {
    fn new() -> Self {
        let disk = Self(tempfile::tempdir().unwrap());
        std::fs::write(disk.path("disk.c"), DISK).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([disk.path("disk.so"), disk.path("disk.c")])
            .arg("-ldl")
            .status();
        assert!(
            built.unwrap().success(),
            "a C compiler builds SQLite, and this"
        );
        disk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn database_url(&self) -> String {
        format!("sqlite:{}", self.path("disk.db").display())
    }

    fn node(&self) -> Node {
        let environment = [
            ("LD_PRELOAD", self.path("disk.so")),
            ("VESTIBULE_TEST_FAILS", self.path("fails")),
            ("VESTIBULE_TEST_HANGS", self.path("hangs")),
            ("VESTIBULE_TEST_WAITS", self.path("waits")),
        ];
        Node::start_with(&self.database_url(), &[], &environment)
    }

    fn begin(&self, what: &str) {
        std::fs::write(self.path(what), "").unwrap();
    }

    fn end(&self, what: &str) {
        std::fs::remove_file(self.path(what)).unwrap();
    }
}

async fn create(api: &Api, name: &str) -> ApiResponse {
    api.post_with_key("/portals", name, json!({ "name": name }))
        .await
}

async fn names(api: &Api) -> Vec<Value> {
    api.get("/portals")
        .await
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].clone())
        .collect()
}

/// The write-ahead log contains a commit that the disk did not confirm. After the process was
/// killed, the write of that commit must be gone.
#[tokio::test(flavor = "multi_thread")]
async fn unconfirmed_writes_are_gone_after_a_kill() {
    let disk = Disk::new();
    let node = disk.node();
    let token = node.key().await;
    let api = node.api(&token);
    create(&api, "Confirmed").await.data();
    disk.begin("fails");
    for number in 0..3 {
        let refused = create(&api, &format!("Refused {number}")).await.error(503);
        assert_eq!(refused["details"]["key"], Value::Null, "{refused}");
    }
    drop(node);
    disk.end("fails");
    let node = disk.node();
    assert_eq!(names(&node.api(&token)).await, ["Confirmed"]);
}

/// A write whose commit is not confirmed in time gets `outcome_unknown`. A write that waits behind
/// it is refused and never applied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_refused_behind_a_slow_disk_is_not_applied() {
    let disk = Disk::new();
    let node = disk.node();
    let api = node.api(&node.key().await);
    create(&api, "Before").await.data();
    disk.begin("hangs");
    let first = tokio::spawn({
        let api = api.clone();
        async move { create(&api, "In the commit").await }
    });
    // No other write is in the commit of the first write. When that commit waits for the disk, the
    // preloaded library creates the file `waits`.
    let waits = disk.path("waits");
    wait_until("the commit waits for the disk", async || waits.exists()).await;
    let waiting = tokio::spawn({
        let api = api.clone();
        async move { create(&api, "Behind it").await }
    });
    assert_eq!(
        waiting.await.unwrap().error(503)["details"]["key"],
        Value::Null
    );
    assert_eq!(
        first.await.unwrap().error(503)["details"]["key"],
        "outcome_unknown"
    );
    disk.end("hangs");
    // The repeated request gets a 409 or a 503 until the first request has ended, and then the
    // outcome of the first request.
    let mut again = create(&api, "In the commit").await;
    wait_until("the outcome of the first request is known", async || {
        if again.status == 409 || again.status == 503 {
            again = create(&api, "In the commit").await;
        }
        again.status != 409 && again.status != 503
    })
    .await;
    assert_eq!(
        (again.status, again.header("idempotency-replayed")),
        (201, Some("true")),
        "{}",
        again.body
    );
    assert_eq!(names(&api).await, ["Before", "In the commit"]);
    let behind = create(&api, "Behind it").await;
    assert_eq!(
        (behind.status, behind.header("idempotency-replayed")),
        (201, None)
    );
}
