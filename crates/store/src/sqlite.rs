//! The SQLite backend: reader threads, and one writer thread with group commit.

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

use crate::error::{Error, Result};
use crate::job::{self, CommitCallback, JobAnswer, OperationResult, Progress, Work, WorkError};
use crate::queue::Queue;
use crate::row_arena::RowArena;
use crate::statement::Statement;
use crate::value::{BorrowedColumns, BorrowedRow, Columns, Row, Value};
use crate::work_count::WorkCount;
use crate::{Handle, Load, Share, Transaction, VERSION_LENGTH, Version, WAIT_LIMIT};

/// When the write-ahead log has this many pages (16 MiB), SQLite copies them to the database file.
/// This checkpoint costs two more fsyncs, and writers wait for it. With SQLite's default of 1,000
/// pages, a busy writer would do a checkpoint at every other commit and copy the same pages each
/// time.
const CHECKPOINT_PAGES: u32 = 4_000;
/// Maximum number of operations in one batch, including failed ones. With a larger batch, the first
/// operations of a batch would wait longer for their results, and few more fsyncs would be saved.
const BATCH: usize = 256;
/// How long after its start a batch accepts more operations. Later operations go into the next
/// batch.
const BATCH_TIME: Duration = Duration::from_millis(5);
/// Size of the page cache of a connection, in KiB.
const CACHE_KIB: i64 = 8 * 1_024;
/// Number of prepared statements that a connection keeps. It is greater than the number of
/// statements of the program, so that a connection never has to prepare a statement again.
const STATEMENT_CACHE: usize = 512;

#[derive(Clone)]
pub(crate) struct Sqlite(Arc<SqliteInner>);

struct SqliteInner {
    reads: Arc<Queue<Read>>,
    writes: Arc<Queue<WriterJob>>,
    counts: Arc<Counts>,
    path: PathBuf,
    files: Arc<Files>,
    index: Option<File>,
}

impl Drop for SqliteInner {
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

/// An operation for the writer. It runs in its own savepoint and returns the callback for the
/// outcome of the commit.
type WriterJob = Box<dyn FnOnce(&Connection) -> OperationResult + Send>;

impl Sqlite {
    /// Opens the database file and migrates its schema. Also returns whether the file had no schema
    /// before.
    pub(crate) fn open(path: &Path, migrations: &refinery_core::Runner) -> Result<(Self, bool)> {
        make_private(path)?;
        let path = &resolve_links(path)?;
        let mut connection = connect(path, false).map_err(|error| with_path(error, path))?;
        let is_new = !connection.table_exists(None, MIGRATIONS_TABLE)?;
        migrations.run(&mut connection)?;
        assert_durable(&connection)?;

        let cores = thread::available_parallelism().map_or(1, usize::from);
        // A share runs at most `cores` reads at once. So the readers beyond that number are always
        // available to other shares.
        let readers = cores + cores.div_ceil(2);
        let (reads, writes) = (
            Arc::new(Queue::new(cores)),
            Arc::new(Queue::new(usize::MAX)),
        );
        let counts = Arc::new(Counts {
            busy: AtomicUsize::new(0),
            size: readers + 1,
        });
        let files = Arc::new(Files::of(path)?);
        // SQLite deletes the `-shm` file when the last connection closes. The readers' connections
        // stay open until the process ends, so the file opened here stays current.
        let index = File::open(with_suffix(path, "-shm")).ok();
        // If a later step fails, `inner` is dropped, which ends the reader threads started so far.
        let inner = SqliteInner {
            reads,
            writes,
            counts,
            path: path.into(),
            files,
            index,
        };
        for number in 0..readers {
            let (connection, queue, counts, files) = (
                connect(path, true)?,
                inner.reads.clone(),
                inner.counts.clone(),
                inner.files.clone(),
            );
            spawn(format!("sqlite-read-{number}"), move || {
                serve_reads(&connection, &queue, &counts, &files);
            })?;
        }
        let (queue, counts, files) = (
            inner.writes.clone(),
            inner.counts.clone(),
            inner.files.clone(),
        );
        spawn("sqlite-write".into(), move || {
            serve_writes(&connection, &queue, &counts, &files);
        })?;
        Ok((Self(Arc::new(inner)), is_new))
    }

    pub(crate) fn version(&self) -> Option<Version> {
        let mut header = [0; VERSION_LENGTH];
        self.0.index.as_ref()?.read_exact_at(&mut header, 0).ok()?;
        self.0.files.check_recent().ok()?;
        Some(Version(header))
    }

    pub(crate) async fn read<T: Send + 'static, E: WorkError>(
        &self,
        share: Share,
        limit: Duration,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let thread_progress = progress.clone();
        let read: Read = Box::new(move |connection, files| {
            if thread_progress.begin() {
                // If no function waits for the result of the read any more, the result is dropped.
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
        let thread_progress = progress.clone();
        let requested_at = Instant::now();
        let until = requested_at + limit;
        let write: WriterJob = Box::new(move |connection| {
            if thread_progress.begin() {
                run(connection, until, work, sender)
            } else {
                OperationResult::Skipped
            }
        });
        self.0.writes.push(share, write)?;
        job::answer(requested_at, limit, false, progress, receiver).await
    }

    pub(crate) fn checkpoint(&self) -> Result<()> {
        let connection = connect(&self.0.path, false)?;
        connection
            .query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
            .map_err(Error::from)
    }

    pub(crate) fn load(&self) -> Load {
        let SqliteInner {
            reads,
            writes,
            counts,
            ..
        } = &*self.0;
        Load {
            queued: reads.len() + writes.len(),
            busy: counts.busy.load(Ordering::Relaxed),
            size: counts.size,
        }
    }
}

/// The files of an open database: the database and its write-ahead log. If a file is
/// deleted or replaced, a connection continues to use the file that it opened. Data that the
/// connection writes after that is lost.
struct Files {
    files: [(PathBuf, Identity); 2],
    opened: Instant,
    /// Time of the last check that found both files in place, neither deleted nor replaced. In
    /// microseconds since `opened`.
    checked_at_micros: AtomicU64,
}

/// How long a read relies on the last successful check that the database file and its write-ahead
/// log were neither deleted nor replaced, in microseconds.
const CHECK_VALIDITY_MICROS: u64 = 1_000;

/// Device and inode of a file.
type Identity = (u64, u64);

impl Files {
    fn of(database: &Path) -> Result<Self> {
        let with_identity = |path: PathBuf| match identity(&path) {
            Ok(identity) => Ok((path, identity)),
            Err(error) => Err(Error::Configuration(format!("{}: {error}", path.display()))),
        };
        let files = [
            with_identity(database.into())?,
            with_identity(with_suffix(database, "-wal"))?,
        ];
        Ok(Self {
            files,
            opened: Instant::now(),
            checked_at_micros: AtomicU64::new(0),
        })
    }

    /// Does the same as [`Files::check`], but accepts a successful check that is at most a
    /// millisecond old. Every read calls this method, so it must be fast.
    fn check_recent(&self) -> Result<()> {
        let now = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
        if now.saturating_sub(self.checked_at_micros.load(Ordering::Relaxed))
            < CHECK_VALIDITY_MICROS
        {
            return Ok(());
        }
        self.check()?;
        self.checked_at_micros.store(now, Ordering::Relaxed);
        Ok(())
    }

    /// Fails if the database file or its write-ahead log was deleted or replaced after it was
    /// opened.
    fn check(&self) -> Result<()> {
        let is_in_place = |(path, opened): &(PathBuf, Identity)| {
            identity(path).is_ok_and(|current| current == *opened)
        };
        match self.files.iter().find(|file| !is_in_place(file)) {
            None => Ok(()),
            Some((path, _)) => Err(Error::Unavailable(format!(
                "{} was deleted or replaced by another file",
                path.display()
            ))),
        }
    }
}

fn identity(path: &Path) -> std::io::Result<Identity> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Returns the path of the database with a suffix appended, such as `-wal`.
fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Resolves symbolic links in the path of an existing database. SQLite puts its other files beside
/// the resolved path.
fn resolve_links(path: &Path) -> Result<PathBuf> {
    path.canonicalize()
        .map_err(|error| Error::Configuration(format!("{}: {error}", path.display())))
}

/// Creates an empty database file that only its owner may read, if there is no file. SQLite gives
/// its other files the same permissions.
pub(crate) fn make_private(path: &Path) -> Result<()> {
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(Error::Configuration(format!("{}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Returns whether a file has a schema of this program. Opens the file read-only.
pub(crate) fn has_schema(path: &Path) -> Result<bool> {
    let opened = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    opened
        .and_then(|connection| connection.table_exists(None, MIGRATIONS_TABLE))
        .map_err(|error| with_path(error.into(), path))
}

/// The table in which the migration library lists the applied migrations.
const MIGRATIONS_TABLE: &str = "refinery_schema_history";

/// Adds the path to an error that occurred when a file was opened. Also mentions the directory,
/// because SQLite creates two more files there.
fn with_path(error: Error, path: &Path) -> Error {
    let displayed = path.display();
    let text = match error {
        Error::Unavailable(text) => format!(
            "{displayed}: {text}; this process must be able to write the file and its directory"
        ),
        Error::Configuration(text) if !text.contains(&*path.to_string_lossy()) => {
            format!("{displayed}: {text}")
        }
        other => return other,
    };
    Error::Configuration(text)
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new()
        .name(name)
        .spawn(work)
        .map(drop)
        .map_err(|error| Error::Configuration(error.to_string()))
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
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    // With this setting, SQLite stores the rollback data of savepoints in memory instead of a
    // temporary file.
    connection.pragma_update(None, "temp_store", "memory")?;
    rusqlite::vtab::array::load_module(&connection)?;
    // With this setting (query planner stability guarantee), a plan does not depend on parameter
    // values. Without it, SQLite compares some parameters with the conditions of partial indexes,
    // and plans the statement again when such a parameter changes.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Checks the settings that make an acknowledged write survive a power cut. Some builds and file
/// systems silently ignore these settings.
fn assert_durable(connection: &Connection) -> Result<()> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    if mode == "wal" && synchronous == 2 {
        return Ok(());
    }
    Err(Error::Configuration(format!(
        "SQLite must use journal_mode wal and synchronous 2 (FULL), but uses {mode} and \
            {synchronous}"
    )))
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

fn snapshot<T, E: WorkError>(
    connection: &Connection,
    files: &Files,
    work: impl Work<T, E>,
) -> Result<Result<T, E>, job::Panic> {
    if let Err(error) = files
        .check_recent()
        .and_then(|()| execute_control(connection, "begin"))
    {
        return Ok(Err(error.into()));
    }
    let outcome = job::catch_panics(
        work,
        &mut Transaction::new(Handle::Sqlite(connection), true),
    );
    if let Err(error) = execute_control(connection, "commit") {
        tracing::warn!(%error, "could not end a read transaction");
    }
    outcome
}

fn serve_writes(connection: &Connection, queue: &Queue<WriterJob>, counts: &Counts, files: &Files) {
    while let Some((share, first)) = queue.pop() {
        counts.busy.fetch_add(1, Ordering::Relaxed);
        commit_group(connection, (share, first), queue, files);
        counts.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `first` and the operations queued behind it in one transaction, so that they need only one
/// fsync.
fn commit_group(
    connection: &Connection,
    first: (Share, WriterJob),
    queue: &Queue<WriterJob>,
    files: &Files,
) {
    if let Err(error) = files
        .check()
        .and_then(|()| execute_control(connection, "begin immediate"))
    {
        // This return drops the operation, which closes its channel, so the code that waits for its
        // result gets `Error::Unavailable`. The next operation tries to begin a transaction again.
        tracing::warn!(
            %error,
            "could not begin a write; its caller is told that the database is unavailable"
        );
        queue.done(first.0, Duration::ZERO);
        return;
    }
    let begun = Instant::now();
    let (mut attempts, mut answers) = (0, Vec::new());
    let mut next = Some(first);
    let mut outcome = Ok(());
    let mut spent = Duration::ZERO;
    while let Some((share, write)) = next.take() {
        outcome = in_savepoint(connection, write, &mut answers);
        let before = std::mem::replace(&mut spent, begun.elapsed());
        queue.done(share, spent.saturating_sub(before));
        attempts += 1;
        if outcome.is_ok() && attempts < BATCH && spent < BATCH_TIME {
            // Completed operations of this batch must not wait for an operation that is likely to
            // exceed the batch time.
            next = queue.pop_if_brief(BATCH_TIME);
        }
    }
    if outcome.is_ok() {
        // If the database file was deleted, `files.check` fails. The data written to it is lost, so
        // the operations of this batch must not be acknowledged.
        outcome = execute_control(connection, "commit").and_then(|()| files.check());
    }
    if !connection.is_autocommit() && execute_control(connection, "rollback").is_err() {
        tracing::error!("a failed batch could not be rolled back");
    }
    if outcome.is_err() {
        overwrite(connection);
    }
    for answer in answers {
        answer(outcome.clone());
    }
}

/// Overwrites the remains of a failed batch in the write-ahead log with an empty commit. If the
/// disk did not confirm the batch, all pages and the commit mark of the batch may still be in the
/// log. After a crash, the next process would then treat the batch as committed.
fn overwrite(connection: &Connection) {
    let version = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
    let overwritten = version.and_then(|version| {
        connection.pragma_update(None, "user_version", version.wrapping_add(1))
    });
    if let Err(error) = overwritten {
        // Even if the disk did not confirm the empty commit, the empty commit has replaced the
        // failed batch in the write-ahead log. So the failure only causes a log line.
        tracing::debug!(
            %error,
            "the empty commit that overwrites a failed batch was not confirmed"
        );
    }
}

/// Runs one operation in a savepoint, so that its failure undoes only this operation. Returns an
/// error if SQLite rolled back the whole batch.
fn in_savepoint(
    connection: &Connection,
    write: WriterJob,
    answers: &mut Vec<CommitCallback>,
) -> Result<()> {
    execute_control(connection, "savepoint operation")?;
    let ran = write(connection);
    if connection.is_autocommit() {
        // When the disk is full or an I/O error occurs, SQLite rolls back the whole transaction,
        // including the savepoints of earlier operations.
        if let OperationResult::Done(answer) | OperationResult::RolledBack(answer) = ran {
            answers.push(answer);
        }
        return Err(Error::Unavailable(
            "SQLite rolled back the group commit".into(),
        ));
    }
    match ran {
        OperationResult::Done(answer) => {
            answers.push(answer);
            execute_control(connection, "release operation")
        }
        OperationResult::RolledBack(answer) => {
            if answers.is_empty() {
                // No earlier operation of the batch has changed anything, so everything that this
                // operation read is committed.
                answer(Ok(()));
            } else {
                answers.push(answer);
            }
            execute_control(connection, "rollback to operation")?;
            execute_control(connection, "release operation")
        }
        OperationResult::Skipped => execute_control(connection, "release operation"),
    }
}

fn run<T: Send + 'static, E: WorkError>(
    connection: &Connection,
    until: Instant,
    work: impl Work<T, E>,
    sender: JobAnswer<T, E>,
) -> OperationResult {
    let is_in_time = |_: &mut Transaction<'_>| {
        // After this deadline, the function that queued the operation has got a timeout error. So
        // the operation must not be committed.
        if Instant::now() < until {
            Ok(())
        } else {
            Err(Error::Unavailable(
                "the operation took too long and was rolled back".into(),
            ))
        }
    };
    job::run(
        Transaction::new(Handle::Sqlite(connection), false),
        work,
        sender,
        is_in_time,
    )
}

fn execute_control(connection: &Connection, sql: &str) -> Result<()> {
    connection
        .prepare_cached(sql)?
        .execute([])
        .map(drop)
        .map_err(Error::from)
}

pub(crate) fn rows(
    connection: &Connection,
    statement: &Statement,
    params: &[Value],
    work: &mut WorkCount,
) -> Result<Vec<Row>> {
    let mut prepared = connection.prepare_cached(statement.sqlite())?;
    let width = prepared.column_count();
    let mut cursor = prepared.query(params_from_iter(params))?;
    let mut arena = RowArena::default();
    while let Some(row) = cursor.next()? {
        arena.add(row, width)?;
    }
    drop(cursor);
    work.instructions += steps(&prepared);
    Ok(arena
        .rows(width)
        .map(|row| Row(Columns::Sqlite(row)))
        .collect())
}

/// Passes the rows of a query to `take` one after the other. Returns the number of rows.
pub(crate) fn each<E: From<Error>>(
    connection: &Connection,
    statement: &Statement,
    params: &[Value],
    work: &mut WorkCount,
    take: &mut impl FnMut(&BorrowedRow<'_>) -> Result<(), E>,
) -> Result<u64, E> {
    let mut prepared = connection
        .prepare_cached(statement.sqlite())
        .map_err(Error::from)?;
    let mut cursor = prepared
        .query(params_from_iter(params))
        .map_err(Error::from)?;
    let mut count = 0;
    while let Some(row) = cursor.next().map_err(Error::from)? {
        count += 1;
        take(&BorrowedRow(BorrowedColumns::Sqlite(row)))?;
    }
    drop(cursor);
    work.instructions += steps(&prepared);
    Ok(count)
}

pub(crate) fn execute(
    connection: &Connection,
    statement: &Statement,
    params: &[Value],
    work: &mut WorkCount,
) -> Result<u64> {
    let mut prepared = connection.prepare_cached(statement.sqlite())?;
    let touched = prepared.execute(params_from_iter(params))? as u64;
    work.instructions += steps(&prepared);
    Ok(touched)
}

pub(crate) fn execute_many(
    connection: &Connection,
    statement: &Statement,
    rows: &[Vec<Value>],
    work: &mut WorkCount,
) -> Result<u64> {
    let mut prepared = connection.prepare_cached(statement.sqlite())?;
    let mut touched = 0;
    for params in rows {
        touched += prepared.execute(params_from_iter(params))? as u64;
    }
    work.instructions += steps(&prepared);
    Ok(touched)
}

/// Returns the number of SQLite instructions that the statement has run since the last call.
fn steps(prepared: &rusqlite::Statement<'_>) -> u64 {
    u64::try_from(prepared.reset_status(StatementStatus::VmStep)).unwrap_or(0)
}

pub(crate) fn prepare(connection: &Connection, statement: &Statement) -> Result<()> {
    connection
        .prepare(statement.sqlite())
        .map(drop)
        .map_err(|error| Error::Defect(format!("{error}: {}", statement.text())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_values_do_not_cause_replanning() {
        let folder = tempfile::tempdir().unwrap();
        let connection = connect(&folder.path().join("planned.db"), false).unwrap();
        connection
            .execute_batch(
                "create table job (id integer primary key, owner integer, status text, due integer);
                create index job_waiting on job (owner, due) where status = 'waiting';",
            )
            .unwrap();
        let due = "select id from job where owner = ?1 and status = 'waiting' and due <= ?2 order \
            by due limit ?3";
        let mut statement = connection.prepare(due).unwrap();
        for number in 0..3 {
            assert!(!statement.exists([number, number, number]).unwrap());
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
