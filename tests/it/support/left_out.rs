//! Reports the tests that a run leaves out.
//!
//! A test that cannot run counts as passed, and the test harness hides its output. A shell
//! therefore counts these tests and prints their number on standard error after this process has
//! ended.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Mutex;

/// Records that a test is left out. Panics if the environment variable `required_by` is set.
pub fn leave_out(on: &'static str, because: &'static str, required_by: &'static str) {
    static COUNTING: Mutex<BTreeMap<&str, ChildStdin>> = Mutex::new(BTreeMap::new());
    assert!(
        std::env::var_os(required_by).is_none(),
        "{on} is required by {required_by}, and {because}"
    );
    let mut counting = COUNTING.lock().unwrap();
    let counter = counting
        .entry(on)
        .or_insert_with(|| counter(on, because, required_by));
    writeln!(counter).unwrap();
}

/// Starts a shell that counts lines until this process ends and then prints the count.
#[expect(clippy::zombie_processes, reason = "it is to outlive this process")]
fn counter(on: &str, because: &str, required_by: &str) -> ChildStdin {
    let script = format!(
        "count=$(($(wc -l))); test $count = 1 && tests=test || tests=tests; \
         echo \"LEFT OUT: $count $tests on {on}, because {because}; {required_by}=1 makes that a failure\" >&2"
    );
    let shell = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    shell.stdin.unwrap()
}
