//! The log: lines on standard error, written by a separate thread.
//!
//! Logging never blocks and never fails. A line that cannot be written is counted and dropped. The
//! reason may be a closed standard error, a full disk or a reader that is stuck.

use std::env::{self, VarError};
use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use tracing::{Level, Subscriber};
use tracing_subscriber::filter::{Directive, LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

/// The environment variable with the log filter.
const VARIABLE: &str = "VESTIBULE_LOG";
/// The default filter. The log shows messages of this program from level `info`, and messages of
/// verbose libraries only from level `warn`.
const DEFAULT_FILTER: &str = "info,rmcp=warn,refinery_core=warn,postgres=warn,tokio_postgres=warn";
/// The maximum number of lines in the queue.
const MAX_LINES: usize = 8_192;
/// The maximum number of bytes in the queue.
const MAX_BYTES: usize = 4 << 20;
/// How long the process waits at its end for the queued lines to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Number of log lines that were dropped since the process started.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Returns the number of log lines that were dropped since the process started.
#[must_use]
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// The running log. When dropped, it waits up to [`FLUSH_TIMEOUT`] for the lines in the queue.
pub struct Log(Queue);

impl Log {
    /// Starts the log with the filter in `VESTIBULE_LOG`. The log writes to standard error, so that
    /// standard output contains only results. It writes text on a terminal and JSON otherwise.
    /// Panics are logged as well. Only `span_layer` receives spans with the target `spans`.
    pub fn begin(
        spans: &'static str,
        span_layer: Option<impl Layer<Registry> + Send + Sync>,
    ) -> Result<Self, String> {
        let filter = match env::var(VARIABLE) {
            Ok(text) => filter(&text)?,
            Err(VarError::NotPresent) => EnvFilter::new(DEFAULT_FILTER),
            Err(VarError::NotUnicode(_)) => return Err(format!("{VARIABLE} must be UTF-8")),
        };
        let none: Directive = format!("{spans}=off")
            .parse()
            .map_err(|error| format!("{spans}: {error}"))?;
        let filter = filter.add_directive(none);
        let queue =
            Queue::begin(output()).map_err(|error| format!("cannot start the log: {error}"))?;
        match span_layer {
            // Without traces, one filter applies to all layers. `tracing` then disables the call
            // sites of spans permanently, so that a span costs almost nothing.
            None => tracing_subscriber::registry()
                .with(filter)
                .with(lines(queue.clone()))
                .init(),
            Some(span_layer) => {
                let span_layer =
                    span_layer.with_filter(Targets::new().with_target(spans, Level::INFO));
                tracing_subscriber::registry()
                    .with(span_layer)
                    .with(lines(queue.clone()).with_filter(filter))
                    .init();
            }
        }
        std::panic::set_hook(Box::new(|panic| {
            let location = panic.location().map(tracing::field::display);
            tracing::error!(
                reason = panic.payload_as_str(),
                location,
                "a thread panicked"
            );
        }));
        Ok(Self(queue))
    }

    /// Writes a message to the log as plain text. The log filter does not apply to it.
    pub fn write_message(&self, message: &str) {
        self.0.put(format!("{message}\n").as_bytes());
    }
}

/// Returns standard error. If the process was started without it, returns a writer that always
/// fails.
fn output() -> Box<dyn Write + Send> {
    if was_closed() {
        Box::new(ClosedStderr)
    } else {
        Box::new(io::stderr())
    }
}

/// Returns whether standard error was closed when the process started. Rust's runtime then opens
/// `/dev/null` as standard error, for reading and writing. This differs from a shell that discards
/// output: the shell opens `/dev/null` only for writing.
fn was_closed() -> bool {
    let null = || -> rustix::io::Result<bool> {
        let error = io::stderr();
        let is_both = rustix::fs::fcntl_getfl(&error)?.contains(rustix::fs::OFlags::RDWR);
        let about = rustix::fs::fstat(&error)?;
        let null = rustix::fs::stat("/dev/null")?;
        Ok(is_both && about.st_rdev == null.st_rdev && about.st_ino == null.st_ino)
    };
    null().unwrap_or(true)
}

/// A replacement for a closed standard error. Every write fails, so each log line is counted as
/// lost.
struct ClosedStderr;

impl Write for ClosedStderr {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the layer that formats events as lines.
fn lines<S: Subscriber + for<'l> LookupSpan<'l>>(queue: Queue) -> Box<dyn Layer<S> + Send + Sync> {
    // By default the layer reports a failed write with `eprintln!`, which panics if standard error
    // is closed.
    let lines = fmt::layer().log_internal_errors(false).with_writer(queue);
    if io::stderr().is_terminal() {
        lines.with_target(false).boxed()
    } else {
        lines.json().flatten_event(true).boxed()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.0.flush(FLUSH_TIMEOUT);
    }
}

/// Parses a filter. A blank text gives the default filter. A single word must be a level: the
/// filter syntax would treat a misspelt level as a module name, and disable all other modules.
fn filter(text: &str) -> Result<EnvFilter, String> {
    let invalid_filter = |reason: &str| {
        format!(
            "{VARIABLE} must be a filter such as info or warn,vestibule::surface=info: {reason}"
        )
    };
    if text.trim().is_empty() {
        return Ok(EnvFilter::new(DEFAULT_FILTER));
    }
    let is_level = |level: &str| level.is_empty() || level.parse::<LevelFilter>().is_ok();
    let mut levels = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.contains(['=', '[', '{', ']', '}']));
    if let Some(level) = levels.find(|level| !is_level(level)) {
        return Err(invalid_filter(&format!("{level:?} is not a level")));
    }
    if text.split(',').any(|part| part.trim_end().ends_with('=')) {
        return Err(invalid_filter("a level is missing after ="));
    }
    EnvFilter::try_new(text).map_err(|error| invalid_filter(&error.to_string()))
}

/// The queue of lines for the writing thread.
#[derive(Clone)]
struct Queue {
    sender: SyncSender<LogEntry>,
    /// The number of bytes of the lines in the queue.
    waiting: Arc<AtomicUsize>,
}

enum LogEntry {
    Line(Vec<u8>),
    /// A request to send a message on this channel when the thread has written all earlier entries
    /// of the queue.
    Mark(SyncSender<()>),
}

impl Queue {
    /// Starts the thread that writes lines to `output`.
    fn begin(output: impl Write + Send + 'static) -> io::Result<Self> {
        let (sender, entries) = mpsc::sync_channel(MAX_LINES);
        let waiting = Arc::new(AtomicUsize::new(0));
        let shared = waiting.clone();
        thread::Builder::new()
            .name("log".into())
            .spawn(move || write(&entries, output, &shared))?;
        Ok(Self { sender, waiting })
    }

    /// Adds a line to the queue, or counts it as dropped.
    fn put(&self, line: &[u8]) {
        let fits = self.waiting.fetch_add(line.len(), Ordering::Relaxed) + line.len() <= MAX_BYTES;
        if !fits || self.sender.try_send(LogEntry::Line(line.to_vec())).is_err() {
            self.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            LOST.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines in the queue are written, up to `timeout`.
    fn flush(&self, timeout: Duration) {
        let (mark, is_written) = mpsc::sync_channel(1);
        if self.sender.try_send(LogEntry::Mark(mark)).is_ok() {
            // If the queued lines are not written within `timeout`, the process ends without them.
            let _ = is_written.recv_timeout(timeout);
        }
    }
}

/// Writes the entries until all senders are dropped. After failures, logs the number of dropped
/// lines as soon as a write succeeds and the queue is empty.
fn write(entries: &Receiver<LogEntry>, mut output: impl Write, waiting: &AtomicUsize) {
    let mut reported = 0;
    for entry in entries {
        match entry {
            LogEntry::Line(line) => {
                let result = output.write_all(&line).and_then(|()| output.flush());
                let remaining = waiting.fetch_sub(line.len(), Ordering::Relaxed) - line.len();
                if result.is_err() {
                    LOST.fetch_add(1, Ordering::Relaxed);
                } else if remaining == 0 && reported < lost() {
                    reported = lost();
                    tracing::warn!(
                        lines = reported,
                        "lines of the log have been lost since the start"
                    );
                }
            }
            LogEntry::Mark(done) => drop(done.try_send(())),
        }
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

/// A writer for the line of one event. The formatter writes each line with one call.
struct Line<'a>(&'a Queue);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.put(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn invalid_log_filters_are_refused() {
        for text in [
            "",
            "info",
            " WARN ",
            "off",
            "info,rmcp=warn",
            "warn,vestibule::surface=info",
            "vestibule[request]=debug",
            "info,",
        ] {
            assert!(filter(text).is_ok(), "{text}");
        }
        for text in [
            "verbose",
            "inf",
            "loud,rmcp=warn",
            "info,vestibule=loud",
            "info;warn",
            "=[",
            "vestibule=info=warn",
            "info,vestibule=",
        ] {
            assert!(
                filter(text).is_err_and(|message| message.starts_with(VARIABLE)),
                "{text}"
            );
        }
    }

    /// A writer that blocks until its lock is released.
    struct BlockedWriter(Arc<Mutex<()>>);

    impl Write for BlockedWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            drop(self.0.lock());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_blocked_log_drops_lines_without_waiting() {
        let gate = Arc::new(Mutex::new(()));
        let guard = gate.lock();
        let (queue, before) = (Queue::begin(BlockedWriter(gate.clone())).unwrap(), lost());
        for _ in 0..2 * MAX_LINES {
            queue.put(b"a line");
        }
        // The writer thread has one line, the queue has `MAX_LINES` lines, and the rest were
        // dropped.
        assert!((lost() - before).abs_diff(MAX_LINES as u64) <= 2);
        queue.put(&vec![0; MAX_BYTES]);
        queue.flush(Duration::from_millis(1));
        drop(guard);
        queue.flush(Duration::from_secs(10));
    }
}
