//! Counts the tests that a run skips.
//!
//! If a program that a test needs is missing, the test harness reports the test as passed and hides
//! its output. A shell therefore counts these tests. After the test process has ended, the shell
//! prints their number on standard error.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Mutex;

/// Counts a test as skipped because of a missing program. Panics if the environment variable that
/// `required_by` names is set.
pub fn leave_out(program: &'static str, reason: &'static str, required_by: &'static str) {
    static COUNTERS: Mutex<BTreeMap<&str, ChildStdin>> = Mutex::new(BTreeMap::new());
    assert!(
        std::env::var_os(required_by).is_none(),
        "{program} is required by {required_by}, and {reason}"
    );
    let mut counters = COUNTERS.lock().unwrap();
    let counter = counters
        .entry(program)
        .or_insert_with(|| counter(program, reason, required_by));
    writeln!(counter).unwrap();
}

/// Starts a shell that counts the lines on its standard input. When this process ends, the input
/// ends and the shell prints the count.
#[expect(clippy::zombie_processes, reason = "it is to outlive this process")]
fn counter(program: &str, reason: &str, required_by: &str) -> ChildStdin {
    let script = format!(
        "count=$(($(wc -l))); test $count = 1 && tests=test || tests=tests; echo \"LEFT OUT: \
            $count $tests on {program}, because {reason}; {required_by}=1 makes that a failure\" \
            >&2"
    );
    let shell = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    shell.stdin.unwrap()
}
