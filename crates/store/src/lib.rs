//! SQLite and PostgreSQL behind one set of statements.
//!
//! The rest of the program writes each statement once ([`statements!`]), runs it inside a [`Transaction`] with typed
//! [`Value`]s and reads typed columns from [`Row`]s. Work over a transaction is plain synchronous code: it is moved to
//! a thread that owns a connection, so no network call of another kind can happen while a transaction is open.
//!
//! - SQLite: reader threads, half as many again as cores, and one writer thread that commits many queued operations together.
//! - PostgreSQL: a pool of connections; each read is a transaction of its own, and queued writes of one share are committed
//!   together.
//!
//! This crate knows no word of the product's domain.

mod backup;
mod cells;
mod effort;
mod error;
mod gather;
mod job;
mod many;
mod postgres;
mod queue;
mod several;
mod shares;
mod sqlite;
mod statement;
mod value;

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tracing::{Instrument as _, Span, info_span};
use uuid::Uuid;

pub use effort::Effort;
use effort::Heaviest;
pub use error::{Error, Result};
pub use gather::{Find, Gather};
use job::{AnyWork, Outcome};
pub use job::{Work, WorkError};
pub use postgres::spread::Spread;
pub use statement::{Ask, Statement};
use value::PassingColumns;
pub use value::{FromColumn, Json, JsonText, Passing, Row, Value};

/// How long work may wait for a connection, or for another writer, before it is refused as [`Error::Unavailable`].
pub const WAIT_LIMIT: Duration = Duration::from_millis(4_000);

/// How long ordinary work may take in all, waiting included.
pub const WORK_LIMIT: Duration = Duration::from_millis(4_800);

/// The target of spans that say what the store does, and for whom; nothing else has it.
pub const SPANS: &str = "vestibule::spans";

/// An open database.
#[derive(Clone)]
pub struct Store {
    backend: Backend,
    heaviest: Arc<Heaviest>,
}

#[derive(Clone)]
enum Backend {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
}

/// Whose work it is, where it is to take turns with that of others; `None` is the program's own.
pub type Share = Option<Uuid>;

/// The migrations of both databases, each with the same numbers.
pub struct Migrations {
    /// Brings a SQLite file to the newest schema.
    pub sqlite: refinery_core::Runner,
    /// Brings a PostgreSQL database to the newest schema.
    pub postgres: refinery_core::Runner,
}

impl Migrations {
    /// What carries out these: names (`V7__deliveries`) and their SQL, built into the program. All together or none: one
    /// fsync, and a database is never of a version between two releases.
    ///
    /// # Panics
    ///
    /// If a name is not of that form.
    #[must_use]
    pub fn runner(listed: &[(&str, &str)]) -> refinery_core::Runner {
        let unapplied =
            |&(name, sql): &(&str, &str)| refinery_core::Migration::unapplied(name, sql).expect("a migration is named V7__deliveries");
        let migrations: Vec<_> = listed.iter().map(unapplied).collect();
        refinery_core::Runner::new(&migrations).set_grouped(true)
    }
}

/// How a PostgreSQL database is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Connections at the most.
    pub connections: Option<usize>,
    /// The server itself, for migrating, where there is a pooler before it.
    pub direct: Option<String>,
    /// Servers that follow it, for reads that say themselves whether what they find is current.
    pub replicas: Vec<String>,
    /// How tables are spread where they are: a database of which only some lie so is refused.
    pub spread: Option<&'static Spread>,
    /// Refuse what cannot be migrated from here. Otherwise it is enough that somebody else has done so.
    pub is_to_migrate: bool,
}

/// The header of SQLite's index of the write-ahead log, first copy: it changes with every commit of every process.
/// See "WAL-Index Header" in SQLite's file format documentation.
const VERSION_LENGTH: usize = 48;

/// A state of the database, told from others without asking it anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version([u8; VERSION_LENGTH]);

/// What a database connection is worth watching for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Operations waiting for a connection or for the writer.
    pub queued: usize,
    /// Connections running something now.
    pub busy: usize,
    /// Connections there can be.
    pub size: usize,
}

/// How long work has waited for a connection since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waited {
    /// How much work there was.
    pub count: u64,
    /// For how long in all.
    pub time: Duration,
}

impl Store {
    /// Opens `sqlite:PATH` or `postgres://…`, after bringing its schema up to date. Blocks.
    pub fn open(url: &str, migrations: &Migrations) -> Result<Self> {
        Self::open_with(url, migrations, &Options::default())
    }

    /// The same, in a way of PostgreSQL's.
    pub fn open_with(url: &str, migrations: &Migrations, options: &Options) -> Result<Self> {
        let backend = match location(url)? {
            Location::Sqlite(_) if !options.replicas.is_empty() => {
                return Err(Error::Configuration("replicas are PostgreSQL's; a SQLite database has none".into()));
            }
            Location::Sqlite(path) => Backend::Sqlite(sqlite::Sqlite::open(path, &migrations.sqlite)?),
            Location::Postgres => Backend::Postgres(postgres::Postgres::open(url, &migrations.postgres, options)?),
        };
        Ok(Self { backend, heaviest: Arc::default() })
    }

    /// Runs `work` in a read-only transaction.
    pub async fn read<T: Send + 'static, E: WorkError>(&self, work: impl Work<T, E>) -> Result<T, E> {
        self.read_for(None, work).await
    }

    /// [`Store::read`] as part of a share: of the connections, one share gets no more than leaves some to the others.
    pub async fn read_for<T: Send + 'static, E: WorkError>(&self, share: Share, work: impl Work<T, E>) -> Result<T, E> {
        job::known(self.read_any(share, job::any(work)).await)
    }

    async fn read_any(&self, share: Share, work: AnyWork) -> Outcome {
        let span = info_span!(target: SPANS, "read from the database");
        let work = self.heaviest.of(within(span.clone(), work));
        let read = async {
            match &self.backend {
                Backend::Sqlite(sqlite) => sqlite.read(share, WORK_LIMIT, work).await,
                Backend::Postgres(postgres) => postgres.read(share, WORK_LIMIT, work).await,
            }
        };
        read.instrument(span).await
    }

    /// Whether there are servers besides that may be read from.
    #[must_use]
    pub fn has_replicas(&self) -> bool {
        match &self.backend {
            Backend::Sqlite(_) => false,
            Backend::Postgres(postgres) => postgres.has_replicas(),
        }
    }

    /// Runs `work` in a read-only transaction on a server that may be behind, which it has to find out; none where no answer
    /// can be had of one in time.
    pub async fn read_from_replica<T: Send + 'static, E: WorkError>(&self, work: impl Work<T, E>) -> Option<Result<T, E>> {
        self.read_any_from_replica(job::any(work)).await.map(job::known)
    }

    async fn read_any_from_replica(&self, work: AnyWork) -> Option<Outcome> {
        let Backend::Postgres(postgres) = &self.backend else { return None };
        let span = info_span!(target: SPANS, "read from a replica");
        let work = self.heaviest.of(within(span.clone(), work));
        postgres.read_from_replica(work).instrument(span).await
    }

    /// Runs `work` in a transaction that is durable when this returns `Ok`, and undone when `work` returns `Err`.
    pub async fn write<T: Send + 'static, E: WorkError>(&self, work: impl Work<T, E>) -> Result<T, E> {
        self.write_for(None, WORK_LIMIT, work).await
    }

    /// [`Store::write`] for work that may take longer than [`WORK_LIMIT`].
    pub async fn write_within<T: Send + 'static, E: WorkError>(&self, limit: Duration, work: impl Work<T, E>) -> Result<T, E> {
        self.write_for(None, limit, work).await
    }

    /// [`Store::write_within`] as part of a share: shares take turns.
    pub async fn write_for<T: Send + 'static, E: WorkError>(&self, share: Share, limit: Duration, work: impl Work<T, E>) -> Result<T, E> {
        job::known(self.write_any(share, limit, job::any(work)).await)
    }

    async fn write_any(&self, share: Share, limit: Duration, work: AnyWork) -> Outcome {
        let span = info_span!(target: SPANS, "write to the database");
        let work = self.heaviest.of(within(span.clone(), work));
        let written = async {
            match &self.backend {
                Backend::Sqlite(sqlite) => sqlite.write(share, limit, work).await,
                Backend::Postgres(postgres) => postgres.write(share, limit, work).await,
            }
        };
        written.instrument(span).await
    }

    /// Whether this process is the only one on the database: true for SQLite.
    #[must_use]
    pub fn is_private(&self) -> bool {
        matches!(self.backend, Backend::Sqlite(_))
    }

    /// Whether the rows of shares are on several servers.
    #[must_use]
    pub fn is_spread(&self) -> bool {
        matches!(&self.backend, Backend::Postgres(postgres) if postgres.is_spread())
    }

    /// Folds what SQLite has written beside the database file into it, so that the file alone is the database. Blocks; for
    /// when everything else is done.
    pub fn settle(&self) -> Result<()> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.settle(),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Has PostgreSQL look again at tables that have grown much since it did, so that it does not plan for what was there before;
    /// SQLite plans without.
    pub async fn refresh_statistics(&self) -> Result<()> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(postgres) => postgres.refresh_statistics().await,
        }
    }

    /// The state the database is in, where that can be told without asking it: on SQLite. As long as it stays the same,
    /// what was read before reads the same.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.version(),
            Backend::Postgres(_) => None,
        }
    }

    /// The greatest effort of a transaction since this was asked last, each number by itself: what tests of growth look at.
    #[expect(clippy::must_use_candidate, reason = "it is asked to forget, too")]
    pub fn heaviest(&self) -> Effort {
        self.heaviest.take()
    }

    /// How busy the connections are.
    #[must_use]
    pub fn load(&self) -> Load {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.load(),
            Backend::Postgres(postgres) => postgres.load(),
        }
    }

    /// How long work has waited for a connection; nothing on SQLite, where it waits for a thread.
    #[must_use]
    pub fn waited(&self) -> Waited {
        match &self.backend {
            Backend::Sqlite(_) => Waited::default(),
            Backend::Postgres(postgres) => postgres.waited(),
        }
    }

    /// How many connections have been given up since the store was opened, because one of them was silent, lost, or led to a
    /// server that takes no writes; none on SQLite.
    #[must_use]
    pub fn connections_given_up(&self) -> u64 {
        match &self.backend {
            Backend::Sqlite(_) => 0,
            Backend::Postgres(postgres) => postgres.given_up(),
        }
    }
}

/// Work as part of a span, on whichever thread it is done.
fn within<T, E>(span: Span, work: impl Work<T, E>) -> impl Work<T, E> {
    move |transaction: &mut Transaction<'_>| span.in_scope(|| work(transaction))
}

/// A statement, as it is written: what it is run with is nobody's business.
fn spanned(statement: &Statement) -> Span {
    info_span!(target: SPANS, "statement", trace.kind = "client", db.query.text = statement.text())
}

/// Holds a database for this process, as long as it lives.
pub struct Claim(#[expect(dead_code, reason = "the lock goes with the file")] Option<File>);

/// Claims a SQLite database for this process alone, by whatever name; refused where another one holds it. PostgreSQL is for
/// many.
///
/// Closing the file again would let go of SQLite's own locks on it. So a claim is made before the database is opened, and
/// lives until the process ends.
pub fn claim(url: &str) -> Result<Claim> {
    let Location::Sqlite(path) = location(url)? else { return Ok(Claim(None)) };
    let unusable = |error: std::io::Error| Error::Configuration(format!("{}: {error}", path.display()));
    sqlite::make_private(path)?;
    let file = File::open(path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(Claim(Some(file))),
        Err(TryLockError::Error(error)) => Err(unusable(error)),
        Err(TryLockError::WouldBlock) => Err(Error::Configuration(format!(
            "another process serves or migrates {}; a SQLite database is for one process at a time",
            path.display()
        ))),
    }
}

/// Spreads a PostgreSQL database over the servers that Citus knows, after bringing its schema up to date: the number of tables that
/// were not spread yet. Blocks.
pub fn distribute(url: &str, migrations: &Migrations, spread: &Spread) -> Result<usize> {
    match location(url)? {
        Location::Postgres => postgres::spread::distribute(url, &migrations.postgres, spread),
        Location::Sqlite(_) => Err(Error::Configuration("SQLite is one file; what Citus spreads is a PostgreSQL database".into())),
    }
}

/// Copies a SQLite database as it is now into `file`, which must be empty, while others may be writing to it. Blocks.
pub fn back_up(url: &str, file: &Path) -> Result<()> {
    match location(url)? {
        Location::Sqlite(path) => backup::back_up(path, file),
        Location::Postgres => Err(Error::Configuration("PostgreSQL is backed up by its own pg_dump: pg_dump -Fc -f FILE URL".into())),
    }
}

/// Where a URL says that a database is.
enum Location<'u> {
    Sqlite(&'u Path),
    Postgres,
}

fn location(url: &str) -> Result<Location<'_>> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        return Ok(Location::Sqlite(Path::new(if path.is_empty() { "vestibule.db" } else { path })));
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Location::Postgres);
    }
    Err(Error::Configuration("a database URL begins with sqlite: or postgres://".into()))
}

/// An open transaction.
pub struct Transaction<'a> {
    handle: Handle<'a>,
    effort: Effort,
    is_read_only: bool,
    is_rehearsal: bool,
}

enum Handle<'a> {
    Sqlite(&'a rusqlite::Connection),
    Postgres(&'a mut postgres::connection::Connection),
}

impl<'a> Transaction<'a> {
    fn new(handle: Handle<'a>, is_read_only: bool) -> Self {
        Self { handle, effort: Effort::default(), is_read_only, is_rehearsal: false }
    }

    /// Whether it can only read, and all of it reads one state that is committed.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Whether the rows of shares are on several servers, so that what is not of one share is asked of all of them.
    #[must_use]
    pub fn is_spread(&self) -> bool {
        match &self.handle {
            Handle::Sqlite(_) => false,
            Handle::Postgres(connection) => connection.is_spread(),
        }
    }

    /// Has everything that is done here undone in the end, also where the work succeeds: its answer is given, and nothing of
    /// it has happened.
    pub fn rehearse(&mut self) {
        self.is_rehearsal = true;
    }

    /// All rows of a query.
    pub fn rows(&mut self, statement: &'static Statement, params: &[Value]) -> Result<Vec<Row>> {
        let _span = spanned(statement).entered();
        self.effort.statements += 1;
        let rows = match &mut self.handle {
            Handle::Sqlite(connection) => sqlite::rows(connection, statement, params, &mut self.effort),
            Handle::Postgres(connection) => connection.rows(statement, params),
        }?;
        self.effort.rows += rows.len() as u64;
        Ok(rows)
    }

    /// Hands over the rows of a query one after the other: for many that are small, each of which is needed but once.
    pub fn each<E: From<Error>>(
        &mut self,
        statement: &'static Statement,
        params: &[Value],
        mut take: impl FnMut(&Passing<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Handle::Sqlite(connection) = &self.handle {
            let _span = spanned(statement).entered();
            self.effort.statements += 1;
            let count = sqlite::each(connection, statement, params, &mut self.effort, &mut take)?;
            self.effort.rows += count;
            return Ok(());
        }
        self.rows(statement, params)?.iter().try_for_each(|row| take(&Passing(PassingColumns::Postgres(row))))
    }

    /// The first row of a query.
    pub fn row(&mut self, statement: &'static Statement, params: &[Value]) -> Result<Option<Row>> {
        Ok(self.rows(statement, params)?.into_iter().next())
    }

    /// Runs a change; the number of rows it touched.
    pub fn execute(&mut self, statement: &'static Statement, params: &[Value]) -> Result<u64> {
        let _span = spanned(statement).entered();
        self.effort.statements += 1;
        match &mut self.handle {
            Handle::Sqlite(connection) => sqlite::execute(connection, statement, params, &mut self.effort),
            Handle::Postgres(connection) => connection.execute(statement, params),
        }
    }

    /// Runs a statement that inserts or updates one row, `insert … values (…)` or `update … where …`, for each of these rows; the
    /// number of rows it touched. For many rows that is far less than as many statements. The first value, which says whose they are,
    /// is the same in all, and no two rows may be in conflict with one another.
    pub fn execute_many(&mut self, statement: &'static Statement, rows: &[Vec<Value>]) -> Result<u64> {
        let _span = spanned(statement).entered();
        let mut touched = 0;
        for rows in rows.chunks(many::ROWS) {
            self.effort.statements += 1;
            touched += match &mut self.handle {
                Handle::Sqlite(connection) => sqlite::execute_many(connection, statement, rows, &mut self.effort),
                Handle::Postgres(connection) => connection.execute_many(statement, rows),
            }?;
        }
        Ok(touched)
    }

    /// [`Transaction::execute_many`] of a statement that tells of each row it touches, `… returning …`: these, in any order.
    pub fn rows_of_many(&mut self, statement: &'static Statement, rows: &[Vec<Value>]) -> Result<Vec<Row>> {
        let _span = spanned(statement).entered();
        let mut touched = Vec::new();
        for rows in rows.chunks(many::ROWS) {
            self.effort.statements += 1;
            match &mut self.handle {
                Handle::Sqlite(connection) => {
                    for row in rows {
                        touched.extend(sqlite::rows(connection, statement, row, &mut self.effort)?);
                    }
                }
                Handle::Postgres(connection) => touched.extend(connection.rows_of_many(statement, rows)?),
            }
        }
        self.effort.rows += touched.len() as u64;
        Ok(touched)
    }

    /// Runs a change of which nobody asks how many rows it touched. On PostgreSQL it is sent along with the next statement, and
    /// what is wrong with it is told by that one, or at the end.
    pub fn execute_along(&mut self, statement: &'static Statement, params: Vec<Value>) -> Result<()> {
        let _span = spanned(statement).entered();
        self.effort.statements += 1;
        match &mut self.handle {
            Handle::Sqlite(connection) => sqlite::execute(connection, statement, &params, &mut self.effort).map(drop),
            Handle::Postgres(connection) => connection.execute_along(statement, params),
        }
    }

    /// Takes a lock that other transactions on this database see, and that dies with this one; false when it is taken.
    ///
    /// On SQLite a writing transaction is alone as it is, so the answer is always true.
    pub fn try_lock(&mut self, key: i64) -> Result<bool> {
        match &mut self.handle {
            Handle::Sqlite(_) => Ok(true),
            Handle::Postgres(connection) => connection.try_lock(key),
        }
    }

    /// Takes a lock that other transactions on this database see, and that dies with this one; what a query finds once it is
    /// taken, or `None` when another has it.
    ///
    /// On SQLite a writing transaction is alone as it is, so it is always to be had.
    pub fn rows_under_lock(&mut self, key: i64, statement: &'static Statement, params: &[Value]) -> Result<Option<Vec<Row>>> {
        match &mut self.handle {
            Handle::Sqlite(_) => self.rows(statement, params).map(Some),
            Handle::Postgres(connection) => {
                let _span = spanned(statement).entered();
                self.effort.statements += 1;
                let rows = connection.rows_under_lock(key, statement, params)?;
                self.effort.rows += rows.as_ref().map_or(0, Vec::len) as u64;
                Ok(rows)
            }
        }
    }

    /// Notes that it has taken what the writes of its share wait for.
    pub fn hold(&mut self) {
        if let Handle::Postgres(connection) = &mut self.handle {
            connection.is_held = true;
        }
    }

    /// Whether those that share its commit have taken that already, so that taking it again waits for nobody.
    #[must_use]
    pub fn is_held(&self) -> bool {
        match &self.handle {
            Handle::Sqlite(_) => false,
            Handle::Postgres(connection) => connection.is_held,
        }
    }

    /// Says what is going to be asked next, in this order: on PostgreSQL it is asked at once then, along with the first of it. What is
    /// not asked as it was said, or after a change, is asked anew.
    pub fn foresee(&mut self, asks: Vec<Ask>) {
        if let Handle::Postgres(connection) = &mut self.handle {
            connection.foresee(asks);
        }
    }

    /// Whether what it has done may be committed.
    fn assert_sound(&mut self) -> Result<()> {
        match &self.handle {
            Handle::Sqlite(_) => Ok(()),
            Handle::Postgres(connection) => connection.assert_sound(),
        }
    }

    /// Notes that work was broken off on it.
    fn doubt(&mut self) {
        if let Handle::Postgres(connection) = &mut self.handle {
            connection.doubt();
        }
    }

    /// Prepares a statement without running it: how a test finds one that does not fit the schema.
    pub fn prepare(&mut self, statement: &'static Statement) -> Result<()> {
        match &mut self.handle {
            Handle::Sqlite(connection) => sqlite::prepare(connection, statement),
            Handle::Postgres(connection) => connection.prepare(statement),
        }
    }
}
