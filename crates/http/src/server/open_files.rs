//! The limit of open files (`nofile`). Each connection needs one open file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// If the limit of open files is lower than this number, the server logs a warning.
const SUFFICIENT: u64 = 4_096;

/// Raises the soft limit of open files to the hard limit. Returns the new soft limit, or the old
/// one if it cannot be raised. Logs a warning if the limit is low.
#[must_use]
pub fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    let limit = if current != maximum && setrlimit(Resource::Nofile, raised).is_ok() {
        maximum
    } else {
        current
    };
    let limit = limit.unwrap_or(u64::MAX);
    if limit < SUFFICIENT {
        tracing::warn!(
            open_files = limit,
            "the limit of open files is low; the server accepts fewer connections (ulimit -n)"
        );
    }
    limit
}
