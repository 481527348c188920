//! SQLite: a reader thread a core, and one writer thread with group commit.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, StatementStatus, params_from_iter};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::cells::Cells;
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::job::{self, Answer, Progress, Ran, Told, Work, WorkError};
use crate::queue::Queue;
use crate::statement::Statement;
use crate::value::{Columns, Passing, PassingColumns, Row, Value};
use crate::{Handle, Load, Share, Transaction, VERSION_LENGTH, Version, WAIT_LIMIT};

/// Pages (16 MiB) in the write-ahead log before they are written back. That is two more fsyncs, for which whoever writes then waits:
/// after SQLite's 1,000 pages a busy writer does it at every other commit, and writes the same pages each time.
const WRITTEN_BACK: u32 = 4_000;
/// Operations that are tried in one batch at the most, those that fail included: enough to fill an fsync, few enough to
/// answer soon.
const BATCH: usize = 256;
/// How long a batch takes more operations. What comes in the meantime is for the next one.
const BATCH_TIME: Duration = Duration::from_millis(5);
/// Pages of the database that a connection keeps, in KiB.
const CACHE_KIB: i64 = 8 * 1_024;
/// Prepared statements kept by a connection; more than the program has.
const STATEMENT_CACHE: usize = 512;

#[derive(Clone)]
pub(crate) struct Sqlite(Arc<Inner>);

struct Inner {
    reads: Arc<Queue<Read>>,
    writes: Arc<Queue<Write>>,
    counts: Arc<Counts>,
    path: PathBuf,
    files: Arc<Files>,
    index: Option<File>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.reads.close();
        self.writes.close();
    }
}

#[derive(Default)]
struct Counts {
    busy: AtomicUsize,
    size: usize,
}

type Read = Box<dyn FnOnce(&Connection, &Files) + Send>;

/// An operation for the writer: runs in its savepoint and hands back what to do once the commit's outcome is known.
type Write = Box<dyn FnOnce(&Connection) -> Ran + Send>;

impl Sqlite {
    pub(crate) fn open(path: &Path, migrations: &refinery_core::Runner) -> Result<Self> {
        make_private(path)?;
        let path = &real(path)?;
        let mut connection = connect(path, false)?;
        migrations.run(&mut connection)?;
        assert_durable(&connection)?;

        let cores = thread::available_parallelism().map_or(1, usize::from);
        // One share may keep every core busy, and there are readers left for the others.
        let readers = cores + cores.div_ceil(2);
        let (reads, writes) = (Arc::new(Queue::new(cores)), Arc::new(Queue::new(usize::MAX)));
        let counts = Arc::new(Counts { busy: AtomicUsize::new(0), size: readers + 1 });
        let files = Arc::new(Files::of(path)?);
        // From here on, whatever fails: the threads that have been started are let go.
        // The index is beside the database while a connection is open, and these stay open as long as the process.
        let index = File::open(beside(path, "-shm")).ok();
        let inner = Inner { reads, writes, counts, path: path.into(), files, index };
        for number in 0..readers {
            let (connection, queue, counts, files) = (connect(path, true)?, inner.reads.clone(), inner.counts.clone(), inner.files.clone());
            spawn(format!("sqlite-read-{number}"), move || serve_reads(&connection, &queue, &counts, &files))?;
        }
        let (queue, counts, files) = (inner.writes.clone(), inner.counts.clone(), inner.files.clone());
        spawn("sqlite-write".into(), move || serve_writes(&connection, &queue, &counts, &files))?;
        Ok(Self(Arc::new(inner)))
    }

    pub(crate) fn version(&self) -> Option<Version> {
        let mut header = [0; VERSION_LENGTH];
        self.0.index.as_ref()?.read_exact_at(&mut header, 0).ok()?;
        self.0.files.glance().ok()?;
        Some(Version(header))
    }

    pub(crate) async fn read<T: Send + 'static, E: WorkError>(&self, share: Share, limit: Duration, work: impl Work<T, E>) -> Result<T, E> {
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let begun = progress.clone();
        let read: Read = Box::new(move |connection, files| {
            if begun.begin() {
                // A caller that has gone needs no answer.
                drop(sender.send(snapshot(connection, files, work)));
            }
        });
        self.0.reads.push(share, read)?;
        job::answer(Instant::now(), limit, true, progress, receiver).await
    }

    pub(crate) async fn write<T: Send + 'static, E: WorkError>(
        &self,
        share: Share,
        limit: Duration,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let begun = progress.clone();
        let asked = Instant::now();
        let until = asked + limit;
        let write: Write = Box::new(move |connection| if begun.begin() { run(connection, until, work, sender) } else { Ran::Skipped });
        self.0.writes.push(share, write)?;
        job::answer(asked, limit, false, progress, receiver).await
    }

    pub(crate) fn settle(&self) -> Result<()> {
        let connection = connect(&self.0.path, false)?;
        connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())).map_err(Error::from)
    }

    pub(crate) fn load(&self) -> Load {
        let Inner { reads, writes, counts, .. } = &*self.0;
        Load { queued: reads.len() + writes.len(), busy: counts.busy.load(Ordering::Relaxed), size: counts.size }
    }
}

/// The files of an open database: itself and its write-ahead log. A connection goes on with the files it has opened, also
/// when their names are gone or lead to others, and what it writes then is lost.
struct Files {
    files: [(PathBuf, Identity); 2],
    opened: Instant,
    /// Microseconds from then to the last time they were found in place.
    found: AtomicU64,
}

/// How long what was found of the files holds for a look that writes nothing.
const GLANCE: u64 = 1_000;

/// Device and inode of a file.
type Identity = (u64, u64);

impl Files {
    fn of(database: &Path) -> Result<Self> {
        let found = |path: PathBuf| match identity(&path) {
            Ok(identity) => Ok((path, identity)),
            Err(error) => Err(Error::Configuration(format!("{}: {error}", path.display()))),
        };
        let files = [found(database.into())?, found(beside(database, "-wal"))?];
        Ok(Self { files, opened: Instant::now(), found: AtomicU64::new(0) })
    }

    /// The same as [`Files::check`], as of a millisecond ago at the most: for what is asked with every request.
    fn glance(&self) -> Result<()> {
        let now = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
        if now.saturating_sub(self.found.load(Ordering::Relaxed)) < GLANCE {
            return Ok(());
        }
        self.check()?;
        self.found.store(now, Ordering::Relaxed);
        Ok(())
    }

    /// Refuses where one of the files is not where it was.
    fn check(&self) -> Result<()> {
        let is_in_place = |(path, opened): &(PathBuf, Identity)| identity(path).is_ok_and(|found| found == *opened);
        match self.files.iter().find(|file| !is_in_place(file)) {
            None => Ok(()),
            Some((path, _)) => Err(Error::Unavailable(format!("{} is gone, or another file has its name", path.display()))),
        }
    }
}

fn identity(path: &Path) -> std::io::Result<Identity> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// A file that stands beside a database.
fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Where a database is that is there, by whatever links it is named: the files beside it are beside that.
fn real(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|error| Error::Configuration(format!("{}: {error}", path.display())))
}

/// Makes an empty database that its owner alone may read, where there is none. SQLite gives the files beside it the same
/// rights.
pub(crate) fn make_private(path: &Path) -> Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(Error::Configuration(format!("{}: {error}", path.display()))),
        _ => Ok(()),
    }
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().name(name).spawn(work).map(drop).map_err(|error| Error::Configuration(error.to_string()))
}

fn connect(path: &Path, is_reader: bool) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::default())
        .map_err(|error| Error::Configuration(format!("{}: {error}", path.display())))?;
    connection.busy_timeout(WAIT_LIMIT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "query_only", is_reader)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", WRITTEN_BACK)?;
    // What a savepoint keeps to undo an operation is kept in memory rather than in a file of its own.
    connection.pragma_update(None, "temp_store", "memory")?;
    rusqlite::vtab::array::load_module(&connection)?;
    // Without this guarantee SQLite plans a statement anew, from its text, each time other values are bound to it: wherever
    // it held them against the condition of a partial index.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// An acknowledged write must survive a power cut; a build or a file system that quietly disagrees is refused.
fn assert_durable(connection: &Connection) -> Result<()> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    if mode == "wal" && synchronous == 2 {
        return Ok(());
    }
    Err(Error::Configuration(format!("wanted journal_mode wal and synchronous 2 (FULL), got {mode} and {synchronous}")))
}

fn serve_reads(connection: &Connection, queue: &Queue<Read>, counts: &Counts, files: &Files) {
    while let Some((share, read)) = queue.pop() {
        counts.busy.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        read(connection, files);
        counts.busy.fetch_sub(1, Ordering::Relaxed);
        queue.done(share, begun.elapsed());
    }
}

fn snapshot<T, E: WorkError>(connection: &Connection, files: &Files, work: impl Work<T, E>) -> Result<Result<T, E>, job::Panic> {
    if let Err(error) = files.glance().and_then(|()| control(connection, "begin")) {
        return Ok(Err(error.into()));
    }
    let outcome = job::guarded(work, &mut Transaction::new(Handle::Sqlite(connection), true));
    if let Err(error) = control(connection, "commit") {
        tracing::warn!(%error, "a read transaction did not end");
    }
    outcome
}

fn serve_writes(connection: &Connection, queue: &Queue<Write>, counts: &Counts, files: &Files) {
    while let Some((share, first)) = queue.pop() {
        counts.busy.fetch_add(1, Ordering::Relaxed);
        commit_together(connection, (share, first), queue, files);
        counts.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `first` and what has queued up behind it in one transaction: many operations, one fsync.
fn commit_together(connection: &Connection, first: (Share, Write), queue: &Queue<Write>, files: &Files) {
    if let Err(error) = files.check().and_then(|()| control(connection, "begin immediate")) {
        // Dropping the operation closes its channel, which its caller reads as unavailable; the next one tries again.
        tracing::warn!(%error, "a write could not begin");
        queue.done(first.0, Duration::ZERO);
        return;
    }
    let begun = Instant::now();
    let (mut attempts, mut told) = (0, Vec::new());
    let mut next = Some(first);
    let mut outcome = Ok(());
    let mut spent = Duration::ZERO;
    while let Some((share, write)) = next.take() {
        outcome = in_savepoint(connection, write, &mut told);
        let before = std::mem::replace(&mut spent, begun.elapsed());
        queue.done(share, spent.saturating_sub(before));
        attempts += 1;
        if outcome.is_ok() && attempts < BATCH && spent < BATCH_TIME {
            // What is done is not to wait for what takes longer than that.
            next = queue.pop_within(BATCH_TIME);
        }
    }
    if outcome.is_ok() {
        // What went into a file that is no longer there is not acknowledged.
        outcome = control(connection, "commit").and_then(|()| files.check());
    }
    if !connection.is_autocommit() && control(connection, "rollback").is_err() {
        tracing::error!("a failed batch could not be rolled back");
    }
    if outcome.is_err() {
        overwrite(connection);
    }
    for answer in told {
        answer(outcome.clone());
    }
}

/// Makes what a failed batch has left in the write-ahead log unreadable, by a commit of nothing in its place. It may be there
/// whole, its commit mark included, if it was the disk that did not confirm it: were the process killed now, whoever opens
/// the database next would find it committed.
fn overwrite(connection: &Connection) {
    let version = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
    let overwritten = version.and_then(|version| connection.pragma_update(None, "user_version", version.wrapping_add(1)));
    if let Err(error) = overwritten {
        // It is in the file all the same, where the disk does not confirm this either.
        tracing::debug!(%error, "a commit of nothing was not confirmed");
    }
}

/// Runs one operation so that its failure undoes it alone. An error means that SQLite gave up the whole batch.
fn in_savepoint(connection: &Connection, write: Write, told: &mut Vec<Told>) -> Result<()> {
    control(connection, "savepoint operation")?;
    let ran = write(connection);
    if connection.is_autocommit() {
        // A full disk or an I/O error rolls back everything at once, savepoints included.
        if let Ran::Done(answer) | Ran::Undone(answer) = ran {
            told.push(answer);
        }
        return Err(Error::Unavailable("the batch was rolled back".into()));
    }
    match ran {
        Ran::Done(answer) => {
            told.push(answer);
            control(connection, "release operation")
        }
        Ran::Undone(answer) => {
            if told.is_empty() {
                // What it has read was committed.
                answer(Ok(()));
            } else {
                told.push(answer);
            }
            control(connection, "rollback to operation")?;
            control(connection, "release operation")
        }
        Ran::Skipped => control(connection, "release operation"),
    }
}

fn run<T: Send + 'static, E: WorkError>(connection: &Connection, until: Instant, work: impl Work<T, E>, sender: Answer<T, E>) -> Ran {
    let is_awaited = |_: &mut Transaction<'_>| {
        // Its caller has been told that it takes too long.
        if Instant::now() < until { Ok(()) } else { Err(Error::Unavailable("it took too long, and is undone".into())) }
    };
    job::run(Transaction::new(Handle::Sqlite(connection), false), work, sender, is_awaited)
}

fn control(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop).map_err(Error::from)
}

pub(crate) fn rows(connection: &Connection, statement: &Statement, params: &[Value], effort: &mut Effort) -> Result<Vec<Row>> {
    let mut prepared = connection.prepare_cached(statement.sqlite())?;
    let width = prepared.column_count();
    let mut cursor = prepared.query(params_from_iter(params))?;
    let mut answer = Cells::default();
    while let Some(row) = cursor.next()? {
        answer.add(row, width)?;
    }
    drop(cursor);
    effort.steps += steps(&prepared);
    Ok(answer.rows(width).map(|row| Row(Columns::Sqlite(row))).collect())
}

/// Hands over the rows of a query one after the other; how many they were.
pub(crate) fn each<E: From<Error>>(
    connection: &Connection,
    statement: &Statement,
    params: &[Value],
    effort: &mut Effort,
    take: &mut impl FnMut(&Passing<'_>) -> Result<(), E>,
) -> Result<u64, E> {
    let mut prepared = connection.prepare_cached(statement.sqlite()).map_err(Error::from)?;
    let mut cursor = prepared.query(params_from_iter(params)).map_err(Error::from)?;
    let mut count = 0;
    while let Some(row) = cursor.next().map_err(Error::from)? {
        count += 1;
        take(&Passing(PassingColumns::Sqlite(row)))?;
    }
    drop(cursor);
    effort.steps += steps(&prepared);
    Ok(count)
}

pub(crate) fn execute(connection: &Connection, statement: &Statement, params: &[Value], effort: &mut Effort) -> Result<u64> {
    let mut prepared = connection.prepare_cached(statement.sqlite())?;
    let touched = prepared.execute(params_from_iter(params))? as u64;
    effort.steps += steps(&prepared);
    Ok(touched)
}

pub(crate) fn execute_many(connection: &Connection, statement: &Statement, rows: &[Vec<Value>], effort: &mut Effort) -> Result<u64> {
    let mut prepared = connection.prepare_cached(statement.sqlite())?;
    let mut touched = 0;
    for params in rows {
        touched += prepared.execute(params_from_iter(params))? as u64;
    }
    effort.steps += steps(&prepared);
    Ok(touched)
}

/// The instructions a statement took since this was asked of it last.
fn steps(prepared: &rusqlite::Statement<'_>) -> u64 {
    u64::try_from(prepared.reset_status(StatementStatus::VmStep)).unwrap_or(0)
}

pub(crate) fn prepare(connection: &Connection, statement: &Statement) -> Result<()> {
    connection.prepare(statement.sqlite()).map(drop).map_err(|error| Error::Defect(format!("{error}: {}", statement.text())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_planned_once_whatever_is_bound_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let connection = connect(&folder.path().join("planned.db"), false).unwrap();
        connection
            .execute_batch(
                "create table job (id integer primary key, owner integer, status text, due integer);
                create index job_waiting on job (owner, due) where status = 'waiting';",
            )
            .unwrap();
        let due = "select id from job where owner = ?1 and status = 'waiting' and due <= ?2 order by due limit ?3";
        let mut statement = connection.prepare(due).unwrap();
        for number in 0..3 {
            assert!(!statement.exists([number, number, number]).unwrap());
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
