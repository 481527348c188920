//! SQLite and PostgreSQL behind one set of statements.
//!
//! The rest of the program writes each statement once ([`statements!`]), runs it inside a
//! [`Transaction`] with typed [`Value`]s and reads typed columns from [`Row`]s. Work over a
//! transaction is plain synchronous code. It is moved to a thread that owns a connection. So no
//! network call other than the database's can happen while a transaction is open.
//!
//! - SQLite: three reader threads for every two cores, and one writer thread that commits many
//!   queued operations together.
//! - PostgreSQL: a pool of connections, at most half of them for one share. Each read has a
//!   transaction for itself, and queued writes of one share are committed together.
//!
//! This crate contains no word of the product's domain.

mod backup;
mod batch_lookup;
mod error;
mod examination;
mod job;
mod location;
mod many;
mod postgres;
mod queue;
mod row_arena;
mod shares;
mod sqlite;
mod statement;
mod value;
mod work_count;

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tracing::{Instrument as _, Span, info_span};
use uuid::Uuid;

pub use batch_lookup::{BatchLookup, Find};
pub use error::{Error, Result};
pub use examination::{Examination, examine};
use job::{AnyWork, Outcome};
pub use job::{Work, WorkError};
pub use location::Location;
pub use postgres::topology::citus::Sharding;
pub use statement::Statement;
use value::BorrowedColumns;
pub use value::{BorrowedRow, FromColumn, Json, JsonText, Row, Value};
use work_count::MaxWork;
pub use work_count::WorkCount;

/// Longest wait for a connection, or for another writer, before work fails with
/// [`Error::Unavailable`].
pub const WAIT_LIMIT: Duration = Duration::from_millis(4_000);

/// Time limit of ordinary work, from the call of a store method to its result. Includes the wait
/// for a connection.
pub const WORK_LIMIT: Duration = Duration::from_millis(4_800);

/// The `tracing` target of the spans that are exported as traces. No other span has this target.
pub const SPANS: &str = "vestibule::spans";

/// An open database.
#[derive(Clone)]
pub struct Store {
    backend: Backend,
    is_new: bool,
    max_work: Arc<MaxWork>,
}

#[derive(Clone)]
enum Backend {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
}

/// The organization on whose behalf work runs, for fair scheduling. `None` for work of the program
/// itself, such as a sweep.
pub type Share = Option<Uuid>;

/// The migrations of both databases. A migration has the same number in both.
pub struct Migrations {
    /// Brings a SQLite file to the newest schema.
    pub sqlite: refinery_core::Runner,
    /// Brings a PostgreSQL database to the newest schema.
    pub postgres: refinery_core::Runner,
}

impl Migrations {
    /// Builds a runner from pairs of a migration's name (`V7__deliveries`) and its SQL. The runner
    /// applies all migrations in one transaction. That costs one fsync. If an upgrade fails, the
    /// schema stays as the old release made it.
    ///
    /// # Panics
    ///
    /// If the name of a migration does not have the form `V7__deliveries`.
    #[must_use]
    pub fn runner(listed: &[(&str, &str)]) -> refinery_core::Runner {
        let unapplied = |&(name, sql): &(&str, &str)| {
            refinery_core::Migration::unapplied(name, sql)
                .expect("the name of a migration has the form V7__deliveries")
        };
        let migrations: Vec<_> = listed.iter().map(unapplied).collect();
        refinery_core::Runner::new(&migrations).set_grouped(true)
    }
}

/// Options for opening a PostgreSQL database.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Maximum number of connections.
    pub connections: Option<usize>,
    /// URL of the PostgreSQL server itself, without a pooler in between. Migrations use this URL if
    /// the database's own URL leads to a pooler.
    pub direct: Option<String>,
    /// URLs of replicas. Only [`Store::read_from_replica`] uses them.
    pub replicas: Vec<String>,
    /// How Citus distributes the tables of a distributed database. A database with only some of
    /// these tables distributed is refused.
    pub sharding: Option<&'static Sharding>,
    /// Whether opening the database fails if a pooler prevents this process from migrating the
    /// schema. If false, this process uses a schema that another process has migrated.
    pub is_to_migrate: bool,
}

/// Length in bytes of the first copy of the WAL index header. The header changes with every commit
/// of every process. See "WAL-Index Header" in SQLite's file format documentation.
const VERSION_LENGTH: usize = 48;

/// Identifies a state of a SQLite database: the WAL index header, which is read without a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version([u8; VERSION_LENGTH]);

/// Load figures of the database connections, for monitoring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Number of operations that wait for a connection or for the writer.
    pub queued: usize,
    /// Number of connections that run work now.
    pub busy: usize,
    /// Maximum number of connections.
    pub size: usize,
}

/// How many operations have waited for a connection since the store was opened, and how long they
/// waited in total. Both are 0 on SQLite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitTotals {
    /// Number of operations that waited for a connection.
    pub count: u64,
    /// Sum of the times that the counted operations waited.
    pub time: Duration,
}

impl Store {
    /// Brings the schema of `sqlite:PATH` or `postgres://…` up to date, and opens the database.
    /// Blocks.
    pub fn open(url: &str, migrations: &Migrations) -> Result<Self> {
        Self::open_with(url, migrations, &Options::default())
    }

    /// Does the same as [`Store::open`], with options for PostgreSQL.
    pub fn open_with(url: &str, migrations: &Migrations, options: &Options) -> Result<Self> {
        let (backend, is_new) = match Location::of(url)? {
            Location::Sqlite(_) if !options.replicas.is_empty() => {
                return Err(Error::Configuration(
                    "replicas need a PostgreSQL database; a SQLite database has none".into(),
                ));
            }
            Location::Sqlite(path) => {
                let (sqlite, is_new) = sqlite::Sqlite::open(&path, &migrations.sqlite)?;
                (Backend::Sqlite(sqlite), is_new)
            }
            Location::Postgres(url) => {
                let (postgres, is_new) =
                    postgres::Postgres::open(&url, &migrations.postgres, options)?;
                (Backend::Postgres(postgres), is_new)
            }
        };
        Ok(Self {
            backend,
            is_new,
            max_work: Arc::default(),
        })
    }

    /// Returns whether the database had no schema when it was opened.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// Runs `work` in a read-only transaction.
    pub async fn read<T: Send + 'static, E: WorkError>(
        &self,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        self.read_for(None, work).await
    }

    /// Does the same as [`Store::read`], on behalf of a share. To leave connections for other
    /// shares, one share gets at most half of PostgreSQL's connections, or one SQLite reader for
    /// each core.
    pub async fn read_for<T: Send + 'static, E: WorkError>(
        &self,
        share: Share,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        job::with_types(self.read_any(share, job::without_types(work)).await)
    }

    async fn read_any(&self, share: Share, work: AnyWork) -> Outcome {
        let span = info_span!(target: SPANS, "read from the database");
        let work = self
            .max_work
            .record_after(share, within(span.clone(), work));
        let read = async {
            match &self.backend {
                Backend::Sqlite(sqlite) => sqlite.read(share, WORK_LIMIT, work).await,
                Backend::Postgres(postgres) => postgres.read(share, WORK_LIMIT, work).await,
            }
        };
        read.instrument(span).await
    }

    /// Returns whether the store has replicas to read from.
    #[must_use]
    pub fn has_replicas(&self) -> bool {
        match &self.backend {
            Backend::Sqlite(_) => false,
            Backend::Postgres(postgres) => postgres.has_replicas(),
        }
    }

    /// Runs `work` in a read-only transaction on a replica. The replica's data may be old, and
    /// `work` has to check that. Returns `None` if no replica answers in time.
    pub async fn read_from_replica<T: Send + 'static, E: WorkError>(
        &self,
        work: impl Work<T, E>,
    ) -> Option<Result<T, E>> {
        self.read_any_from_replica(job::without_types(work))
            .await
            .map(job::with_types)
    }

    async fn read_any_from_replica(&self, work: AnyWork) -> Option<Outcome> {
        let Backend::Postgres(postgres) = &self.backend else {
            return None;
        };
        let span = info_span!(target: SPANS, "read from a replica");
        let work = within(span.clone(), work);
        postgres.read_from_replica(work).instrument(span).await
    }

    /// Runs `work` in a transaction. The transaction is durable when this returns `Ok`, and rolled
    /// back when `work` returns `Err`.
    pub async fn write<T: Send + 'static, E: WorkError>(
        &self,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        self.write_for(None, WORK_LIMIT, work).await
    }

    /// Does the same as [`Store::write`], with `limit` in place of [`WORK_LIMIT`].
    pub async fn write_within<T: Send + 'static, E: WorkError>(
        &self,
        limit: Duration,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        self.write_for(None, limit, work).await
    }

    /// Does the same as [`Store::write_within`], on behalf of a share. When writes of several
    /// shares wait, the shares take turns.
    pub async fn write_for<T: Send + 'static, E: WorkError>(
        &self,
        share: Share,
        limit: Duration,
        work: impl Work<T, E>,
    ) -> Result<T, E> {
        job::with_types(self.write_any(share, limit, job::without_types(work)).await)
    }

    async fn write_any(&self, share: Share, limit: Duration, work: AnyWork) -> Outcome {
        let span = info_span!(target: SPANS, "write to the database");
        let work = self
            .max_work
            .record_after(share, within(span.clone(), work));
        let written = async {
            match &self.backend {
                Backend::Sqlite(sqlite) => sqlite.write(share, limit, work).await,
                Backend::Postgres(postgres) => postgres.write(share, limit, work).await,
            }
        };
        written.instrument(span).await
    }

    /// Returns whether this process is the only one that uses the database. That is always so on
    /// SQLite, and never on PostgreSQL.
    #[must_use]
    pub fn is_only_process(&self) -> bool {
        matches!(self.backend, Backend::Sqlite(_))
    }

    /// Returns whether the organizations' rows are distributed over several servers.
    #[must_use]
    pub fn is_sharded(&self) -> bool {
        matches!(&self.backend, Backend::Postgres(postgres) if postgres.is_sharded())
    }

    /// Copies SQLite's write-ahead log into the database file, so that the file alone is the
    /// database. Does nothing on PostgreSQL. Blocks. Call this method after all other work is done.
    pub fn checkpoint(&self) -> Result<()> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.checkpoint(),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Makes PostgreSQL analyze the tables that have grown much since their last analysis. Its
    /// planner would otherwise choose plans for the old sizes. SQLite needs no statistics.
    pub async fn refresh_statistics(&self) -> Result<()> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(postgres) => postgres.refresh_statistics().await,
        }
    }

    /// Returns the current version of a SQLite database. As long as the version stays the same, a
    /// repeated read returns the same data. Returns `None` on PostgreSQL, where a version would
    /// need a query.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.version(),
            Backend::Postgres(_) => None,
        }
    }

    /// Returns the largest [`WorkCount`] of a transaction on behalf of a share since the last call,
    /// and resets it. Each number is a separate maximum, so two numbers may come from different
    /// transactions. Tests use this method to detect queries that read more rows as a list grows.
    #[expect(
        clippy::must_use_candidate,
        reason = "a caller may only want to reset the maxima"
    )]
    pub fn max_work(&self) -> WorkCount {
        self.max_work.take()
    }

    /// Returns how many connections are in use now, how many operations wait for a connection, and
    /// the maximum number of connections.
    #[must_use]
    pub fn load(&self) -> Load {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.load(),
            Backend::Postgres(postgres) => postgres.load(),
        }
    }

    /// Returns how long work has waited for a connection. On SQLite work waits for a thread
    /// instead, so the result is zero.
    #[must_use]
    pub fn wait_totals(&self) -> WaitTotals {
        match &self.backend {
            Backend::Sqlite(_) => WaitTotals::default(),
            Backend::Postgres(postgres) => postgres.wait_totals(),
        }
    }

    /// Returns the number of connections closed since the store was opened because they were
    /// silent, lost, or connected to a server that refuses writes. On SQLite the number is zero.
    #[must_use]
    pub fn dropped_connections(&self) -> u64 {
        match &self.backend {
            Backend::Sqlite(_) => 0,
            Backend::Postgres(postgres) => postgres.dropped_connections(),
        }
    }
}

/// Wraps work so that it runs inside a tracing span, whichever thread runs the work.
fn within<T, E>(span: Span, work: impl Work<T, E>) -> impl Work<T, E> {
    move |transaction: &mut Transaction<'_>| span.in_scope(|| work(transaction))
}

/// Returns a tracing span with the text of a statement. The parameters are omitted because they may
/// contain personal data.
fn statement_span(statement: &Statement) -> Span {
    info_span!(target: SPANS, "statement", otel.kind = "client", db.query.text = statement.text())
}

/// A lock on a database for this process. Dropping it releases the lock.
pub struct Claim(#[expect(dead_code, reason = "dropping the file releases the lock")] Option<File>);

/// Locks a SQLite database for this process. The lock applies to the file, so the file is locked
/// under its other paths too. Fails if another process has the lock. Many processes may use one
/// PostgreSQL database, so this function locks nothing there.
///
/// Closing the locked file would also release the locks that SQLite itself has on it. Call this
/// function before the database is opened, and do not drop the claim until the process ends.
pub fn claim(url: &str) -> Result<Claim> {
    let Location::Sqlite(path) = Location::of(url)? else {
        return Ok(Claim(None));
    };
    let unusable =
        |error: std::io::Error| Error::Configuration(format!("{}: {error}", path.display()));
    sqlite::make_private(&path)?;
    let file = File::open(&path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(Claim(Some(file))),
        Err(TryLockError::Error(error)) => Err(unusable(error)),
        Err(TryLockError::WouldBlock) => Err(Error::Configuration(format!(
            "another process serves or migrates {}; only one process at a time can use a SQLite \
                database",
            path.display()
        ))),
    }
}

/// Brings the schema of a PostgreSQL database up to date, and distributes its tables over the
/// servers that Citus knows. Returns the number of tables that this call distributed. Fails for a
/// SQLite database. Blocks.
pub fn distribute(
    url: &str,
    migrations: &Migrations,
    sharding: &'static Sharding,
) -> Result<usize> {
    match Location::of(url)? {
        Location::Postgres(url) => {
            postgres::topology::citus::distribute(&url, &migrations.postgres, sharding)
        }
        Location::Sqlite(_) => Err(Error::Configuration(
            "Citus distributes PostgreSQL databases only; a SQLite database is one file".into(),
        )),
    }
}

/// Copies the committed contents of a SQLite database into `file`, which must be empty. Other
/// processes may write to the database meanwhile. Blocks.
pub fn back_up(url: &str, file: &Path) -> Result<()> {
    match Location::of(url)? {
        Location::Sqlite(path) => backup::back_up(&path, file),
        Location::Postgres(_) => Err(Error::Configuration(
            "back up a PostgreSQL database with pg_dump: pg_dump -Fc -f FILE URL".into(),
        )),
    }
}

/// An open transaction on either database.
pub struct Transaction<'a> {
    handle: Handle<'a>,
    work: WorkCount,
    is_read_only: bool,
    is_dry_run: bool,
}

enum Handle<'a> {
    Sqlite(&'a rusqlite::Connection),
    Postgres(&'a mut postgres::connection::Connection),
}

impl<'a> Transaction<'a> {
    fn new(handle: Handle<'a>, is_read_only: bool) -> Self {
        Self {
            handle,
            work: WorkCount::default(),
            is_read_only,
            is_dry_run: false,
        }
    }

    /// Returns whether the transaction is read-only. A read-only transaction sees only committed
    /// data. All its reads see one snapshot. In a [`BatchLookup`], however, each query may see a
    /// separate snapshot.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Returns whether the organizations' rows are distributed over several servers. If so, a query
    /// without an organization's id is sent to all servers.
    #[must_use]
    pub fn is_sharded(&self) -> bool {
        match &self.handle {
            Handle::Sqlite(_) => false,
            Handle::Postgres(connection) => connection.is_sharded(),
        }
    }

    /// Makes this transaction a dry run: it is rolled back in the end even if the work succeeds.
    /// The function that waits for the work still gets the result of the work.
    pub fn dry_run(&mut self) {
        self.is_dry_run = true;
    }

    /// Returns all rows of a query.
    pub fn rows(&mut self, statement: &'static Statement, params: &[Value]) -> Result<Vec<Row>> {
        let _span = statement_span(statement).entered();
        self.work.statements += 1;
        let rows = match &mut self.handle {
            Handle::Sqlite(connection) => {
                sqlite::rows(connection, statement, params, &mut self.work)
            }
            Handle::Postgres(connection) => connection.rows(statement, params),
        }?;
        self.work.rows += rows.len() as u64;
        Ok(rows)
    }

    /// Passes the rows of a query to `take` one after the other. Use this method for many small
    /// rows that are needed only once, because it does not copy the rows.
    pub fn each<E: From<Error>>(
        &mut self,
        statement: &'static Statement,
        params: &[Value],
        mut take: impl FnMut(&BorrowedRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Handle::Sqlite(connection) = &self.handle {
            let _span = statement_span(statement).entered();
            self.work.statements += 1;
            let count = sqlite::each(connection, statement, params, &mut self.work, &mut take)?;
            self.work.rows += count;
            return Ok(());
        }
        self.rows(statement, params)?
            .iter()
            .try_for_each(|row| take(&BorrowedRow(BorrowedColumns::Postgres(row))))
    }

    /// Returns the first row of a query; `None` if the query returns no row.
    pub fn row(&mut self, statement: &'static Statement, params: &[Value]) -> Result<Option<Row>> {
        Ok(self.rows(statement, params)?.into_iter().next())
    }

    /// Runs a change and returns the number of rows that it inserted, updated or deleted.
    pub fn execute(&mut self, statement: &'static Statement, params: &[Value]) -> Result<u64> {
        let _span = statement_span(statement).entered();
        self.work.statements += 1;
        match &mut self.handle {
            Handle::Sqlite(connection) => {
                sqlite::execute(connection, statement, params, &mut self.work)
            }
            Handle::Postgres(connection) => connection.execute(statement, params),
        }
    }

    /// Runs a statement once for each row of parameters. The statement must insert or update one
    /// row: `insert … values (…)` or `update … where …`. Returns the number of rows that were
    /// changed. For many rows this costs far less than as many calls of [`Transaction::execute`].
    /// The first parameter is the organization that owns the rows, and must be the same in all of
    /// them. No two rows may conflict with each other, for example by having the same key.
    pub fn execute_many(
        &mut self,
        statement: &'static Statement,
        rows: &[Vec<Value>],
    ) -> Result<u64> {
        let _span = statement_span(statement).entered();
        let mut touched = 0;
        for rows in rows.chunks(many::ROWS) {
            self.work.statements += 1;
            touched += match &mut self.handle {
                Handle::Sqlite(connection) => {
                    sqlite::execute_many(connection, statement, rows, &mut self.work)
                }
                Handle::Postgres(connection) => connection.execute_many(statement, rows),
            }?;
        }
        Ok(touched)
    }

    /// Does the same as [`Transaction::execute_many`] for a statement that ends in `returning …`.
    /// Returns the rows that the statement returns, in any order.
    pub fn rows_of_many(
        &mut self,
        statement: &'static Statement,
        rows: &[Vec<Value>],
    ) -> Result<Vec<Row>> {
        let _span = statement_span(statement).entered();
        let mut touched = Vec::new();
        for rows in rows.chunks(many::ROWS) {
            self.work.statements += 1;
            match &mut self.handle {
                Handle::Sqlite(connection) => {
                    for row in rows {
                        touched.extend(sqlite::rows(connection, statement, row, &mut self.work)?);
                    }
                }
                Handle::Postgres(connection) => {
                    touched.extend(connection.rows_of_many(statement, rows)?);
                }
            }
        }
        self.work.rows += touched.len() as u64;
        Ok(touched)
    }

    /// Runs a change whose number of changed rows is not needed. PostgreSQL gets the statement
    /// together with the next one, or with the commit. If the statement fails, the next statement
    /// or the commit returns the error.
    pub fn execute_deferred(
        &mut self,
        statement: &'static Statement,
        params: Vec<Value>,
    ) -> Result<()> {
        let _span = statement_span(statement).entered();
        self.work.statements += 1;
        match &mut self.handle {
            Handle::Sqlite(connection) => {
                sqlite::execute(connection, statement, &params, &mut self.work).map(drop)
            }
            Handle::Postgres(connection) => connection.execute_deferred(statement, params),
        }
    }

    /// Tries to lock `key` until the end of this transaction. All transactions on this database see
    /// the lock. Returns false if another transaction has it.
    ///
    /// On SQLite a writing transaction is always alone, so the result is always true.
    pub fn try_lock(&mut self, key: i64) -> Result<bool> {
        match &mut self.handle {
            Handle::Sqlite(_) => Ok(true),
            Handle::Postgres(connection) => connection.try_lock(key),
        }
    }

    /// Tries to take a lock, as [`Transaction::try_lock`] does, and then runs a query. Returns
    /// `None` if another transaction has the lock.
    ///
    /// On SQLite a writing transaction is always alone, so the lock is always free.
    pub fn rows_under_lock(
        &mut self,
        key: i64,
        statement: &'static Statement,
        params: &[Value],
    ) -> Result<Option<Vec<Row>>> {
        match &mut self.handle {
            Handle::Sqlite(_) => self.rows(statement, params).map(Some),
            Handle::Postgres(connection) => {
                let _span = statement_span(statement).entered();
                self.work.statements += 1;
                let rows = connection.rows_under_lock(key, statement, params)?;
                self.work.rows += rows.as_ref().map_or(0, Vec::len) as u64;
                Ok(rows)
            }
        }
    }

    /// Checks that the changes of this transaction may be committed. On PostgreSQL, returns an
    /// error if a statement has failed or the deadline has passed. On SQLite, never returns an
    /// error.
    fn assert_sound(&mut self) -> Result<()> {
        match &self.handle {
            Handle::Sqlite(_) => Ok(()),
            Handle::Postgres(connection) => connection.assert_sound(),
        }
    }

    /// Marks the connection as broken, because work on this transaction panicked.
    fn mark_broken(&mut self) {
        if let Handle::Postgres(connection) = &mut self.handle {
            connection.mark_broken();
        }
    }

    /// Prepares a statement without running it. A test uses this to find statements that do not fit
    /// the schema.
    pub fn prepare(&mut self, statement: &'static Statement) -> Result<()> {
        match &mut self.handle {
            Handle::Sqlite(connection) => sqlite::prepare(connection, statement),
            Handle::Postgres(connection) => connection.prepare(statement),
        }
    }
}
