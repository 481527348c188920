//! SQLite: a reader thread a core, and one writer thread with group commit.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, StatementStatus, params_from_iter};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::job::{self, Answer, Progress};
use crate::statement::Statement;
use crate::value::{Columns, Row, Value};
use crate::{Handle, Load, Transaction, VERSION_LENGTH, Version, WAIT_LIMIT};

/// Operations that share one commit at the most: enough to fill an fsync, few enough to answer soon.
const BATCH: usize = 256;
/// Pages of the database that a connection keeps, in KiB.
const CACHE_KIB: i64 = 8 * 1_024;
/// Prepared statements kept by a connection; more than the program has.
const STATEMENT_CACHE: usize = 512;

#[derive(Clone)]
pub(crate) struct Sqlite {
    reads: Sender<Read>,
    writes: Sender<Write>,
    counts: Arc<Counts>,
    path: Arc<Path>,
    index: Option<Arc<File>>,
}

#[derive(Default)]
struct Counts {
    busy: AtomicUsize,
    size: usize,
}

type Read = Box<dyn FnOnce(&Connection) + Send>;

/// An operation for the writer: runs in its savepoint and hands back what to do once the commit's outcome is known.
type Write = Box<dyn FnOnce(&Connection) -> Ran + Send>;

/// What became of an operation inside a batch.
enum Ran {
    /// Its caller had gone: nothing was done.
    Skipped,
    /// It failed, or was a rehearsal, and is to be undone; its caller has been told.
    Failed,
    /// It succeeded; its caller hears so, or why not, once the batch is committed.
    Done(Box<dyn FnOnce(Result<()>) + Send>),
}

impl Sqlite {
    pub(crate) fn open(path: &Path, migrations: &refinery::Runner) -> Result<Self> {
        let mut connection = connect(path, false)?;
        migrations.run(&mut connection).map_err(|error| Error::Configuration(format!("migration failed: {error}")))?;
        assert_durable(&connection)?;

        let cores = thread::available_parallelism().map_or(1, usize::from);
        let (reads, to_read) = crossbeam_channel::unbounded();
        let (writes, to_write) = crossbeam_channel::unbounded();
        let counts = Arc::new(Counts { busy: AtomicUsize::new(0), size: cores + 1 });
        for number in 0..cores {
            let (connection, queue, counts) = (connect(path, true)?, to_read.clone(), counts.clone());
            spawn(format!("sqlite-read-{number}"), move || serve_reads(&connection, &queue, &counts))?;
        }
        let writer_counts = counts.clone();
        spawn("sqlite-write".into(), move || serve_writes(&connection, &to_write, &writer_counts))?;
        // Beside the database while a connection is open, and these stay open as long as the process.
        let index = File::open(index_path(path)).ok().map(Arc::new);
        Ok(Self { reads, writes, counts, path: path.into(), index })
    }

    pub(crate) fn version(&self) -> Option<Version> {
        let mut header = [0; VERSION_LENGTH];
        self.index.as_ref()?.read_exact_at(&mut header, 0).ok()?;
        Some(Version(header))
    }

    pub(crate) async fn read<T, E>(
        &self,
        limit: Duration,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let begun = progress.clone();
        let read: Read = Box::new(move |connection| {
            if begun.begin() {
                // A caller that has gone needs no answer.
                drop(sender.send(snapshot(connection, work)));
            }
        });
        // A closed queue drops the sender, which the receiver reports.
        drop(self.reads.send(read));
        job::answer(Instant::now(), limit, progress, receiver).await
    }

    pub(crate) async fn write<T, E>(
        &self,
        limit: Duration,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let begun = progress.clone();
        let write: Write = Box::new(move |connection| if begun.begin() { run(connection, work, sender) } else { Ran::Skipped });
        drop(self.writes.send(write));
        job::answer(Instant::now(), limit, progress, receiver).await
    }

    pub(crate) fn settle(&self) -> Result<()> {
        let connection = connect(&self.path, false)?;
        connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())).map_err(Error::from)
    }

    pub(crate) fn load(&self) -> Load {
        Load { queued: self.reads.len() + self.writes.len(), busy: self.counts.busy.load(Ordering::Relaxed), size: self.counts.size }
    }
}

/// Where SQLite keeps the index of the write-ahead log.
fn index_path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-shm");
    path.into()
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

fn serve_reads(connection: &Connection, queue: &Receiver<Read>, counts: &Counts) {
    for read in queue {
        counts.busy.fetch_add(1, Ordering::Relaxed);
        read(connection);
        counts.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

fn snapshot<T, E: From<Error>>(
    connection: &Connection,
    work: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
) -> Result<Result<T, E>, job::Panic> {
    if let Err(error) = control(connection, "begin") {
        return Ok(Err(error.into()));
    }
    let outcome = job::guarded(work, &mut Transaction::new(Handle::Sqlite(connection)));
    if let Err(error) = control(connection, "commit") {
        tracing::warn!(%error, "a read transaction did not end");
    }
    outcome
}

fn serve_writes(connection: &Connection, queue: &Receiver<Write>, counts: &Counts) {
    while let Ok(first) = queue.recv() {
        counts.busy.fetch_add(1, Ordering::Relaxed);
        commit_together(connection, first, queue);
        counts.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `first` and what has queued up behind it in one transaction: many operations, one fsync.
fn commit_together(connection: &Connection, first: Write, queue: &Receiver<Write>) {
    if let Err(error) = control(connection, "begin immediate") {
        // Dropping the operation closes its channel, which its caller reads as unavailable; the next one tries again.
        tracing::warn!(%error, "a write could not begin");
        return;
    }
    let mut done = Vec::new();
    let mut next = Some(first);
    let mut outcome = Ok(());
    while let Some(write) = next.take() {
        outcome = in_savepoint(connection, write, &mut done);
        if outcome.is_ok() && done.len() < BATCH {
            next = queue.try_recv().ok();
        }
    }
    if outcome.is_ok() {
        outcome = control(connection, "commit");
    }
    if !connection.is_autocommit() && control(connection, "rollback").is_err() {
        tracing::error!("a failed batch could not be rolled back");
    }
    for answer in done {
        answer(outcome.clone());
    }
}

/// Runs one operation so that its failure undoes it alone. An error means that SQLite gave up the whole batch.
fn in_savepoint(connection: &Connection, write: Write, done: &mut Vec<Box<dyn FnOnce(Result<()>) + Send>>) -> Result<()> {
    control(connection, "savepoint operation")?;
    let ran = write(connection);
    if connection.is_autocommit() {
        // A full disk or an I/O error rolls back everything at once, savepoints included.
        if let Ran::Done(answer) = ran {
            done.push(answer);
        }
        return Err(Error::Unavailable("the batch was rolled back".into()));
    }
    match ran {
        Ran::Done(answer) => {
            done.push(answer);
            control(connection, "release operation")
        }
        Ran::Failed => {
            control(connection, "rollback to operation")?;
            control(connection, "release operation")
        }
        Ran::Skipped => control(connection, "release operation"),
    }
}

fn run<T, E>(connection: &Connection, work: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>, sender: Answer<T, E>) -> Ran
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let mut transaction = Transaction::new(Handle::Sqlite(connection));
    match job::guarded(work, &mut transaction) {
        Ok(Ok(value)) if !transaction.is_rehearsal => {
            Ran::Done(Box::new(move |committed| drop(sender.send(Ok(committed.map(|()| value).map_err(E::from))))))
        }
        undone => {
            drop(sender.send(undone));
            Ran::Failed
        }
    }
}

fn control(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop).map_err(Error::from)
}

pub(crate) fn rows(connection: &Connection, statement: &Statement, params: &[Value], effort: &mut Effort) -> Result<Vec<Row>> {
    let mut prepared = connection.prepare_cached(statement.sqlite())?;
    let width = prepared.column_count();
    let mut cursor = prepared.query(params_from_iter(params))?;
    let mut rows = Vec::new();
    while let Some(row) = cursor.next()? {
        let columns = (0..width).map(|index| row.get(index)).collect::<rusqlite::Result<_>>()?;
        rows.push(Row(Columns::Sqlite(columns)));
    }
    drop(cursor);
    effort.steps += steps(&prepared);
    Ok(rows)
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
