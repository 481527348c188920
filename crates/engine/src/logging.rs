//! The log: lines on standard error, written by a thread of its own.
//!
//! Whoever has something to log never waits for it and never fails by it. What cannot be written, because standard error is
//! closed, its disk is full or nobody reads it, is left out and counted.

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

/// The variable that says what is logged.
const VARIABLE: &str = "VESTIBULE_LOG";
/// What is logged where it does not say: this program from `info`, the libraries that talk much from `warn`.
const LOGGED: &str = "info,rmcp=warn,refinery_core=warn,postgres=warn,tokio_postgres=warn";
/// Lines that wait to be written.
const LINES: usize = 8_192;
/// Bytes of them.
const BYTES: usize = 4 << 20;
/// How long the end of the process waits for the last lines.
const PATIENCE: Duration = Duration::from_secs(1);

/// Lines that were left out since the process started.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Lines that were left out since the process started, because they could not be written.
#[must_use]
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// The log that has begun. Dropped, it waits a moment for the lines that have not been written yet.
pub struct Log(Queue);

impl Log {
    /// Begins to log as `VESTIBULE_LOG` says, for people on a terminal, JSON otherwise. On standard error, so that standard
    /// output stays for answers. A panic is logged like everything else. What is made of spans of the target `spans` is for `gathering`.
    pub fn begin(spans: &'static str, gathering: Option<impl Layer<Registry> + Send + Sync>) -> Result<Self, String> {
        let filter = match env::var(VARIABLE) {
            Ok(text) => filter(&text)?,
            Err(VarError::NotPresent) => EnvFilter::new(LOGGED),
            Err(VarError::NotUnicode(_)) => return Err(format!("{VARIABLE} is not UTF-8")),
        };
        let none: Directive = format!("{spans}=off").parse().map_err(|error| format!("{spans}: {error}"))?;
        let filter = filter.add_directive(none);
        let queue = Queue::begin(io::stderr()).map_err(|error| format!("there can be no log: {error}"))?;
        match gathering {
            // One filter for all, so that nobody is asked about a span that nobody wants.
            None => tracing_subscriber::registry().with(filter).with(lines(queue.clone())).init(),
            Some(gathering) => {
                let gathering = gathering.with_filter(Targets::new().with_target(spans, Level::INFO));
                tracing_subscriber::registry().with(gathering).with(lines(queue.clone()).with_filter(filter)).init();
            }
        }
        std::panic::set_hook(Box::new(|panic| {
            let location = panic.location().map(tracing::field::display);
            tracing::error!(reason = panic.payload_as_str(), location, "a thread panicked");
        }));
        Ok(Self(queue))
    }

    /// Says something in words of its own, whatever is logged.
    pub fn say(&self, message: &str) {
        self.0.put(format!("{message}\n").as_bytes());
    }
}

/// Writes what is logged, a line each.
fn lines<S: Subscriber + for<'l> LookupSpan<'l>>(queue: Queue) -> Box<dyn Layer<S> + Send + Sync> {
    // What it had to say of a line that it cannot write would go to standard error, by a macro that panics.
    let lines = fmt::layer().log_internal_errors(false).with_writer(queue);
    if io::stderr().is_terminal() { lines.with_target(false).boxed() } else { lines.json().flatten_event(true).boxed() }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.0.flush(PATIENCE);
    }
}

/// The filter that a text says, where it says one. A word alone is a level: as the name of a module, which the syntax allows,
/// a misspelt level would switch everything else off.
fn filter(text: &str) -> Result<EnvFilter, String> {
    let wrong = |what: &str| format!("{VARIABLE} is no filter such as info or warn,vestibule::surface=info: {what}");
    if text.trim().is_empty() {
        return Ok(EnvFilter::new(LOGGED));
    }
    let is_level = |word: &str| word.is_empty() || word.parse::<LevelFilter>().is_ok();
    let mut words = text.split(',').map(str::trim).filter(|part| !part.contains(['=', '[', '{', ']', '}']));
    if let Some(word) = words.find(|word| !is_level(word)) {
        return Err(wrong(&format!("{word:?} is no level")));
    }
    if text.split(',').any(|part| part.trim_end().ends_with('=')) {
        return Err(wrong("a level is missing behind ="));
    }
    EnvFilter::try_new(text).map_err(|error| wrong(&error.to_string()))
}

/// Lines on their way to the thread that writes them.
#[derive(Clone)]
struct Queue {
    sender: SyncSender<Entry>,
    /// Bytes of the lines that wait.
    waiting: Arc<AtomicUsize>,
}

enum Entry {
    Line(Vec<u8>),
    /// Asks to be told when everything before it is written.
    Mark(SyncSender<()>),
}

impl Queue {
    /// Begins to write lines to `output`.
    fn begin(output: impl Write + Send + 'static) -> io::Result<Self> {
        let (sender, entries) = mpsc::sync_channel(LINES);
        let waiting = Arc::new(AtomicUsize::new(0));
        let shared = waiting.clone();
        thread::Builder::new().name("log".into()).spawn(move || write(&entries, output, &shared))?;
        Ok(Self { sender, waiting })
    }

    /// Has a line written, or counts it as lost.
    fn put(&self, line: &[u8]) {
        let fits = self.waiting.fetch_add(line.len(), Ordering::Relaxed) + line.len() <= BYTES;
        if !fits || self.sender.try_send(Entry::Line(line.to_vec())).is_err() {
            self.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            LOST.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until what was put in so far is written, but not for long.
    fn flush(&self, patience: Duration) {
        let (done, is_done) = mpsc::sync_channel(1);
        if self.sender.try_send(Entry::Mark(done)).is_ok() {
            // Whoever does not read what is written has had their time.
            let _ = is_done.recv_timeout(patience);
        }
    }
}

/// Writes what comes until nobody is left to send anything. Once lines can be written again, one says how many were lost.
fn write(entries: &Receiver<Entry>, mut output: impl Write, waiting: &AtomicUsize) {
    let mut told = 0;
    for entry in entries {
        match entry {
            Entry::Line(line) => {
                let written = output.write_all(&line).and_then(|()| output.flush());
                let left = waiting.fetch_sub(line.len(), Ordering::Relaxed) - line.len();
                if written.is_err() {
                    LOST.fetch_add(1, Ordering::Relaxed);
                } else if left == 0 && told < lost() {
                    told = lost();
                    tracing::warn!(lines = told, "lines of the log were lost since the start");
                }
            }
            Entry::Mark(done) => drop(done.try_send(())),
        }
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

/// Takes the line of an event, which is written whole by one call.
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
    fn a_filter_is_told_from_a_mistake() {
        for text in ["", "info", " WARN ", "off", "info,rmcp=warn", "warn,vestibule::surface=info", "vestibule[request]=debug", "info,"] {
            assert!(filter(text).is_ok(), "{text}");
        }
        for text in ["verbose", "inf", "loud,rmcp=warn", "info,vestibule=loud", "info;warn", "=[", "vestibule=info=warn", "info,vestibule="]
        {
            assert!(filter(text).is_err_and(|message| message.starts_with(VARIABLE)), "{text}");
        }
    }

    /// Takes nothing until it is let go.
    struct Stuck(Arc<Mutex<()>>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            drop(self.0.lock());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nobody_waits_for_a_log_that_is_not_read() {
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock();
        let (queue, before) = (Queue::begin(Stuck(gate.clone())).unwrap(), lost());
        for _ in 0..2 * LINES {
            queue.put(b"a line");
        }
        // One is being written, and the queue is full.
        assert!((lost() - before).abs_diff(LINES as u64) <= 2);
        queue.put(&vec![0; BYTES]);
        queue.flush(Duration::from_millis(1));
        drop(held);
        queue.flush(Duration::from_secs(10));
    }
}
